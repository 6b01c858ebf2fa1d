/* turn.c - one turn of the client: ready connections, time limits
 *
 * All connections are in one epoll, together with a timer that stands for the limit that is due first. What is due at
 * once wakes by an event: setting a timer costs ten times as much. So one descriptor says it all to the loop outside.
 */
#include "http/client_internal.h"

#include "base/clock.h"
#include "base/util.h"

#include <assert.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { EVENTS = 64, ROUNDS = 16 }; /* of one turn: others want to work as well */

int64_t http_mono_ms(void)
{
    return clock_mono_ms(&clock_real);
}

int turn_init(struct http_client *c, struct err *e)
{
    struct epoll_event timer = { .events = EPOLLIN, .data.ptr = &c->timer }, event = timer;

    event.data.ptr = &c->event;
    c->armed_ms = INT64_MAX;
    c->epoll = epoll_create1(EPOLL_CLOEXEC);
    c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    c->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (c->epoll < 0 || c->timer < 0 || c->event < 0 || epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->timer, &timer) < 0 ||
        epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->event, &event) < 0)
        return err_errno(e, "wait for %s", c->shown);
    return 0;
}

void turn_done(struct http_client *c)
{
    autoclose_done(&c->timer);
    autoclose_done(&c->event);
    autoclose_done(&c->epoll);
}

int http_fd(const struct http_client *c)
{
    return c->epoll;
}

/* ---- time ---- */

static void turn_wake(struct http_client *c)
{
    uint64_t one = 1;

    if (!c->is_awake)
        (void)!write(c->event, &one, sizeof(one)); /* there is room for it */
    c->is_awake = true;
}

void turn_arm(struct http_client *c)
{
    struct heap_node *first = heap_first(&c->timers);
    int64_t due_ms = first ? HEAP_ITEM(first, struct http_exchange, node)->due_ms : INT64_MAX;
    struct itimerspec at = { 0 };

    if (!list_is_empty(&c->failed) || !list_is_empty(&c->more)) {
        turn_wake(c);
        return;
    }
    if (due_ms >= c->armed_ms) /* waking too early at times is cheaper than setting it for every request */
        return;
    c->armed_ms = due_ms;
    due_ms = MAX_OF(due_ms, 1); /* 0 would mean: never */
    at.it_value = (struct timespec){ due_ms / 1000, due_ms % 1000 * 1000000 };
    (void)timerfd_settime(c->timer, TFD_TIMER_ABSTIME, &at, NULL); /* all is valid */
}

/* The timer or the event: it has been heard. */
static void signal_take(struct http_client *c, int fd)
{
    uint64_t times;

    (void)!read(fd, &times, sizeof(times)); /* it was set anew meanwhile: nothing to take */
    if (fd == c->timer)
        c->armed_ms = INT64_MAX;
    else
        c->is_awake = false;
}

static void turn_expire(struct http_client *c, int64_t now_ms)
{
    struct heap_node *first;

    while ((first = heap_first(&c->timers)) && HEAP_ITEM(first, struct http_exchange, node)->due_ms <= now_ms)
        exchange_expire(HEAP_ITEM(first, struct http_exchange, node), now_ms);
}

/* ---- links ---- */

static void link_write_more(struct link *l)
{
    struct http_exchange *x = l->exchange;

    link_write(l);
    if (l->exchange == x && x->answer.status == 101 && x->out_at == x->out.n && x->request.on_sent)
        x->request.on_sent(x->request.ctx);
}

static void link_ready(struct link *l, uint32_t events)
{
    if (l->state == LINK_CLOSED) /* one before it in this batch has closed it */
        return;
    if (l->state < LINK_WORKS) {
        link_go_on(l);
        return;
    }
    if ((events & EPOLLOUT) && l->exchange && l->exchange->out_at < l->exchange->out.n)
        link_write_more(l);
    else if (events & EPOLLOUT)
        link_watch(l, link_events(l));
    if ((l->state == LINK_WORKS || l->state == LINK_RESTS) && !(l->exchange && l->exchange->is_paused) &&
        (events & (EPOLLIN | EPOLLERR | EPOLLHUP) || l->wants_out))
        link_read(l);
}

static void links_turn(struct http_client *c, const struct epoll_event *evs, int n)
{
    for (int i = 0; i < n; i++) {
        void *what = evs[i].data.ptr;

        if (what == &c->timer || what == &c->event)
            signal_take(c, what == &c->timer ? c->timer : c->event);
        else if (what == &c->resolver && c->resolver.lookup)
            resolve_heard(c);
        else if (what != &c->resolver)
            link_ready(what, evs[i].events);
    }
}

/* Those that were read in part, once each. */
static void more_turn(struct http_client *c)
{
    struct list now;

    list_init(&now);
    list_append(&now, &c->more);
    for (struct list_link *m; (m = list_pop_front(&now));)
        link_read(LIST_ITEM(m, struct link, more));
}

static void tell_failed(struct http_client *c)
{
    for (struct list_link *m; (m = list_pop_front(&c->failed));) {
        struct http_exchange *x = LIST_ITEM(m, struct http_exchange, link);

        list_push(&c->exchanges, &x->link);
        if (x->failure != FAILURE_NONE)
            failure_tell(x);
        exchange_end(x);
    }
}

static void turn_sweep(struct http_client *c)
{
    LIST_FOREACH(struct http_exchange, x, &c->dead, link)
        exchange_free(x);
    LIST_FOREACH(struct link, l, &c->closed, link)
        link_free(l);
}

void http_turn(struct http_client *c)
{
    struct epoll_event evs[EVENTS];
    int n;

    assert(!c->is_turning);
    c->is_turning = true;
    for (int round = 0; round < ROUNDS; round++) {
        more_turn(c);
        n = epoll_wait(c->epoll, evs, EVENTS, 0);
        links_turn(c, evs, n);
        tell_failed(c);
        turn_expire(c, http_mono_ms());
        turn_sweep(c);
        if (n < EVENTS && list_is_empty(&c->more) && list_is_empty(&c->failed))
            break;
    }
    c->is_turning = false;
    turn_arm(c);
}
