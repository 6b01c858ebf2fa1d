/* datagrams.c - a socket for each sender, the one that was silent for longest first */
#include "os/datagrams.h"

#include "base/list.h"
#include "base/map.h"
#include "base/util.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PER_TURN = 64, DATAGRAM_BYTES = 64 << 10 };

struct sender {
    struct list_link link;
    struct sockaddr_in at;
    int fd; /* towards the other side */
    int64_t last_ms;
};

struct datagrams {
    int fd, epoll;
    int (*open)(void *ctx);
    void *ctx;
    struct list senders;
    struct map_u64 by_address;
    char bytes[DATAGRAM_BYTES];
};

static uint64_t address_key(const struct sockaddr_in *at)
{
    return (uint64_t)ntohl(at->sin_addr.s_addr) << 16 | ntohs(at->sin_port);
}

static bool add_fd(struct datagrams *d, int fd, struct sender *s)
{
    struct epoll_event ev = { .events = EPOLLIN, .data = { .ptr = s } };

    return epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd, &ev) == 0;
}

struct datagrams *datagrams_new(int take_fd, int (*open)(void *ctx), void *ctx)
{
    struct datagrams *d = xcalloc(1, sizeof(*d));

    d->fd = take_fd;
    d->open = open;
    d->ctx = ctx;
    list_init(&d->senders);
    map_u64_init(&d->by_address, map_seed_default());
    d->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (d->epoll >= 0 && add_fd(d, d->fd, NULL))
        return d;
    datagrams_free(d);
    return NULL;
}

/* ---- senders ---- */

static void datagrams_forget(struct datagrams *d, struct sender *s)
{
    close(s->fd); /* epoll forgets it with that */
    map_u64_remove(&d->by_address, address_key(&s->at));
    list_remove(&s->link);
    free(s);
}

static void forget_silent(struct datagrams *d, int64_t now_ms)
{
    LIST_FOREACH(struct sender, s, &d->senders, link)
        if (map_count(&d->by_address.map) >= DATAGRAMS_MAX || s->last_ms + DATAGRAMS_IDLE_MS <= now_ms)
            datagrams_forget(d, s);
        else
            return;
}

static struct sender *sender_new(struct datagrams *d, const struct sockaddr_in *at, int64_t now_ms)
{
    struct sender *s;
    int fd;

    forget_silent(d, now_ms);
    fd = d->open(d->ctx);
    if (fd < 0)
        return NULL;
    s = xcalloc(1, sizeof(*s));
    *s = (struct sender){ .at = *at, .fd = fd };
    list_push(&d->senders, &s->link);
    map_u64_put(&d->by_address, address_key(at), s);
    if (add_fd(d, fd, s))
        return s;
    datagrams_forget(d, s);
    return NULL;
}

static struct sender *sender_at(struct datagrams *d, const struct sockaddr_in *at, int64_t now_ms)
{
    struct sender *s = map_u64_get(&d->by_address, address_key(at));

    if (!s && !(s = sender_new(d, at, now_ms)))
        return NULL;
    s->last_ms = now_ms;
    list_remove(&s->link);
    list_push(&d->senders, &s->link);
    return s;
}

/* ---- both ways ---- */

static void take_there(struct datagrams *d, int64_t now_ms)
{
    for (int i = 0; i < PER_TURN; i++) {
        struct sockaddr_in from;
        socklen_t from_n = sizeof(from);
        ssize_t n = recvfrom(d->fd, d->bytes, sizeof(d->bytes), 0, (struct sockaddr *)&from, &from_n);
        struct sender *s = n < 0 ? NULL : sender_at(d, &from, now_ms);

        if (n < 0)
            return;
        /* ECONNREFUSED is about the datagram before, and this one was not sent: send it again. */
        if (s && send(s->fd, d->bytes, (size_t)n, MSG_NOSIGNAL) < 0 && errno == ECONNREFUSED)
            (void)send(s->fd, d->bytes, (size_t)n, MSG_NOSIGNAL);
    }
}

static void datagrams_take_back(struct datagrams *d, const struct sender *s)
{
    for (int i = 0; i < PER_TURN; i++) {
        ssize_t n = recv(s->fd, d->bytes, sizeof(d->bytes), 0);

        if (n < 0)
            return;
        (void)sendto(d->fd, d->bytes, (size_t)n, MSG_NOSIGNAL, (const struct sockaddr *)&s->at, sizeof(s->at));
    }
}

int datagrams_fd(const struct datagrams *d)
{
    return d->epoll;
}

/* Answers first: who comes anew may push out a sender whose turn it is. */
void datagrams_turn(struct datagrams *d, int64_t now_ms)
{
    struct epoll_event events[PER_TURN];
    int n = epoll_wait(d->epoll, events, ARRAY_LEN(events), 0);
    bool has_come = false;

    for (int i = 0; i < n; i++)
        if (events[i].data.ptr)
            datagrams_take_back(d, events[i].data.ptr);
        else
            has_come = true;
    if (has_come)
        take_there(d, now_ms);
}

void datagrams_free(struct datagrams *d)
{
    if (!d)
        return;
    LIST_FOREACH(struct sender, s, &d->senders, link)
        datagrams_forget(d, s);
    map_u64_done(&d->by_address);
    if (d->epoll >= 0)
        close(d->epoll);
    close(d->fd);
    free(d);
}
