/* relay.c - pairs of sockets, and one epoll for all of them */
#include "os/relay.h"

#include "base/list.h"
#include "base/util.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS_PER_TURN = 256 };

struct relay_side {
    struct relay_pair *pair;
    struct relay_side *other;
    int fd;
    uint32_t events;    /* as epoll knows them */
    char *bytes;        /* read from the other, not written here yet */
    size_t at, n;       /* of 'bytes': at < n while there are some */
    bool has_ended;     /* it sends no more */
    bool was_told;      /* that the other sends no more */
    bool is_on_its_way; /* not connected yet */
};

struct relay_pair {
    struct list_link link;
    struct relay *relay;
    struct relay_side sides[2];
};

struct relay {
    int epoll;
    struct list pairs;
    size_t n;
};

struct relay *relay_new(void)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    struct relay *r;

    if (fd < 0)
        return NULL;
    r = xcalloc(1, sizeof(*r));
    r->epoll = fd;
    list_init(&r->pairs);
    return r;
}

static void pair_free(struct relay_pair *p)
{
    for (int i = 0; i < 2; i++) {
        close(p->sides[i].fd); /* epoll forgets it with that */
        free(p->sides[i].bytes);
    }
    list_remove(&p->link);
    p->relay->n--;
    free(p);
}

void relay_free(struct relay *r)
{
    if (!r)
        return;
    LIST_FOREACH(struct relay_pair, p, &r->pairs, link)
        pair_free(p);
    close(r->epoll);
    free(r);
}

int relay_fd(const struct relay *r)
{
    return r->epoll;
}

size_t relay_count(const struct relay *r)
{
    return r->n;
}

/* ---- one side ---- each returns false if the pair is over ---- */

static bool is_later(void)
{
    return errno == EAGAIN || errno == EINTR;
}

static bool relay_receive(struct relay_side *from)
{
    struct relay_side *to = from->other;
    ssize_t n;

    if (from->has_ended || to->at < to->n)
        return true;
    n = recv(from->fd, to->bytes, RELAY_BYTES, MSG_DONTWAIT);
    if (n < 0)
        return is_later();
    from->has_ended = n == 0;
    to->at = 0;
    to->n = (size_t)n;
    return true;
}

static bool relay_give(struct relay_side *to)
{
    ssize_t n = 0;

    if (to->at < to->n)
        n = send(to->fd, to->bytes + to->at, to->n - to->at, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && !is_later())
        return false;
    to->at += n > 0 ? (size_t)n : 0;
    if (to->at == to->n && to->other->has_ended && !to->was_told) {
        to->was_told = true;
        (void)shutdown(to->fd, SHUT_WR); /* a read will show that the peer has closed */
    }
    return true;
}

static bool relay_connected(struct relay_side *s)
{
    int why = 0;
    socklen_t n = sizeof(why);

    s->is_on_its_way = false;
    return getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &why, &n) == 0 && why == 0;
}

/* Take a side with nothing to do out of the epoll, which would report its hang-up all the time. */
static bool listen_to(struct relay_side *s)
{
    uint32_t want = s->is_on_its_way || s->at < s->n ? EPOLLOUT : 0;
    struct epoll_event ev = { .data = { .ptr = s } };
    int op;

    if (!s->is_on_its_way && !s->other->is_on_its_way && !s->has_ended && s->other->at == s->other->n)
        want |= EPOLLIN;
    if (want == s->events)
        return true;
    op = !s->events ? EPOLL_CTL_ADD : want ? EPOLL_CTL_MOD : EPOLL_CTL_DEL;
    ev.events = s->events = want;
    return epoll_ctl(s->pair->relay->epoll, op, s->fd, &ev) == 0;
}

static void side_ready(struct relay_side *s)
{
    struct relay_pair *p = s->pair;
    bool is_well = !s->is_on_its_way || relay_connected(s);

    if (is_well && !s->other->is_on_its_way)
        is_well = relay_receive(s) && relay_give(s->other) && relay_receive(s->other) && relay_give(s);
    if (!is_well || (s->was_told && s->other->was_told) || !listen_to(s) || !listen_to(s->other))
        pair_free(p);
}

void relay_turn(struct relay *r)
{
    struct epoll_event ev;

    /* One by one: what is next may be of a pair that this one has ended. */
    for (int i = 0; i < EVENTS_PER_TURN && epoll_wait(r->epoll, &ev, 1, 0) == 1; i++)
        side_ready(ev.data.ptr);
}

/* ---- a new pair ---- */

void relay_add(struct relay *r, int take_from, int take_to)
{
    struct relay_pair *p = xcalloc(1, sizeof(*p));
    int fds[2] = { take_from, take_to };

    p->relay = r;
    for (int i = 0; i < 2; i++) {
        p->sides[i] =
            (struct relay_side){ .pair = p, .other = &p->sides[1 - i], .fd = fds[i], .is_on_its_way = i == 1 };
        p->sides[i].bytes = xmalloc(RELAY_BYTES);
    }
    list_push(&r->pairs, &p->link);
    r->n++;
    if (!listen_to(&p->sides[1])) /* the other when this one is connected */
        pair_free(p);
}
