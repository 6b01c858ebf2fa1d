/* pool.c - libcurl's multi handles inside our epoll, and time
 *
 * libcurl says which sockets it waits for and when it wants to be called next. The sockets go into one epoll, together
 * with a timer that stands for whatever is due first: libcurl's own time or a limit of a request. What is due at once,
 * as every new request is, wakes by an event: setting a timer costs ten times as much. So one descriptor says it all to
 * the loop outside.
 */
#include "http/client_internal.h"

#include "base/clock.h"
#include "base/util.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

enum { EVENTS = 64, ROUNDS = 16 }; /* of one turn: others want to work as well */

int64_t http_mono_ms(void)
{
    return clock_mono_ms(&clock_real);
}

/* ---- what libcurl tells us ---- */

static struct http_pool **fd_slot(struct http_client *c, int fd)
{
    size_t n = c->n_fds;

    if ((size_t)fd >= n) {
        c->n_fds = MAX_OF((size_t)fd + 1, n * 2);
        c->fds = xrealloc(c->fds, c->n_fds * sizeof(*c->fds));
        memset(c->fds + n, 0, (c->n_fds - n) * sizeof(*c->fds));
    }
    return &c->fds[fd];
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *unused)
{
    struct http_pool *p = ctx;
    struct http_pool **slot = fd_slot(p->client, fd);
    struct epoll_event ev = { .data.fd = fd };

    (void)easy, (void)unused;
    if (what == CURL_POLL_REMOVE) {
        (void)epoll_ctl(p->client->epoll, EPOLL_CTL_DEL, fd, NULL); /* it may be closed already */
        *slot = NULL;
        return 0;
    }
    if (what & CURL_POLL_IN)
        ev.events |= EPOLLIN;
    if (what & CURL_POLL_OUT)
        ev.events |= EPOLLOUT;
    /* The number may have been another socket's, which the kernel took out when it was closed. */
    if (epoll_ctl(p->client->epoll, *slot ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &ev) < 0 &&
        epoll_ctl(p->client->epoll, errno == ENOENT ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &ev) < 0)
        return -1;
    *slot = p;
    return 0;
}

static int on_timer(CURLM *multi, long ms, void *ctx)
{
    struct http_pool *p = ctx;

    (void)multi;
    p->due_ms = ms < 0 ? INT64_MAX : http_mono_ms() + ms;
    return 0;
}

/* ---- pools ---- */

static struct http_pool *pool_new(struct http_client *c)
{
    struct http_pool *p = xcalloc(1, sizeof(*p));

    p->client = c;
    p->due_ms = INT64_MAX;
    p->multi = curl.multi_init();
    assert(p->multi); /* memory */
    curl.multi_setopt(p->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl.multi_setopt(p->multi, CURLMOPT_SOCKETDATA, p);
    curl.multi_setopt(p->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl.multi_setopt(p->multi, CURLMOPT_TIMERDATA, p);
    curl.multi_setopt(p->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    curl.multi_setopt(p->multi, CURLMOPT_MAXCONNECTS, 64L);
    list_push(&c->pools, &p->link);
    return p;
}

static void pool_free(struct http_pool *p)
{
    list_remove(&p->link);
    curl.multi_cleanup(p->multi); /* tells of the sockets it closes */
    free(p);
}

struct http_pool *pool_newest(struct http_client *c)
{
    return LIST_LAST(&c->pools, struct http_pool, link);
}

static void pools_sweep(struct http_client *c)
{
    LIST_FOREACH(struct http_pool, p, &c->pools, link)
        if (!p->n && p != pool_newest(c))
            pool_free(p);
}

void pools_retire(struct http_client *c)
{
    (void)pool_new(c);
    if (!c->is_inside && !c->is_turning) /* else the turn does it when it is through with them */
        pools_sweep(c);
}

void http_client_cut(struct http_client *c)
{
    for (size_t fd = 0; fd < c->n_fds; fd++)
        if (c->fds[fd])
            (void)shutdown((int)fd, SHUT_RDWR); /* libcurl notices and closes it */
    pools_retire(c);
}

int pools_init(struct http_client *c, struct err *e)
{
    struct epoll_event timer = { .events = EPOLLIN }, event = timer;

    c->armed_ms = INT64_MAX;
    c->epoll = epoll_create1(EPOLL_CLOEXEC);
    timer.data.fd = c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    event.data.fd = c->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (c->epoll < 0 || c->timer < 0 || c->event < 0 || epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->timer, &timer) < 0 ||
        epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->event, &event) < 0)
        return err_errno(e, "wait for %s", c->shown);
    (void)pool_new(c);
    return 0;
}

void pools_done(struct http_client *c)
{
    LIST_FOREACH(struct http_pool, p, &c->pools, link)
        pool_free(p);
    autoclose_done(&c->timer);
    autoclose_done(&c->event);
    autoclose_done(&c->epoll);
    free(c->fds);
}

int pool_add(struct http_pool *p, struct http_exchange *x, struct err *e)
{
    CURLMcode code;

    p->client->is_inside = true;
    code = curl.multi_add_handle(p->multi, x->easy);
    p->client->is_inside = false;
    if (code != CURLM_OK)
        return err_set(e, ERR_INTERNAL, "%s: %s", p->client->shown, curl.multi_strerror(code));
    x->pool = p;
    p->n++;
    return 0;
}

void pool_remove(struct http_exchange *x)
{
    struct http_client *c = x->client;

    if (!x->pool)
        return;
    c->is_inside = true;
    (void)curl.multi_remove_handle(x->pool->multi, x->easy); /* fails only for handles that are not there */
    c->is_inside = false;
    x->pool->n--;
    x->pool = NULL;
}

/* ---- time ---- */

static void wake(struct http_client *c)
{
    uint64_t one = 1;

    if (!c->is_awake)
        (void)!write(c->event, &one, sizeof(one)); /* there is room for it */
    c->is_awake = true;
}

void pools_arm(struct http_client *c)
{
    struct heap_node *first = heap_first(&c->timers);
    int64_t due_ms = first ? HEAP_ITEM(first, struct http_exchange, node)->due_ms : INT64_MAX;
    struct itimerspec at = { 0 };

    LIST_FOREACH(struct http_pool, p, &c->pools, link)
        due_ms = MIN_OF(due_ms, p->due_ms);
    if (!list_is_empty(&c->starting))
        due_ms = 0;
    if (due_ms <= http_mono_ms()) {
        wake(c);
        return;
    }
    if (due_ms >= c->armed_ms) /* a wake for nothing now and then is cheaper than setting it for every request */
        return;
    c->armed_ms = due_ms;
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

/* ---- a turn ---- */

static void act(struct http_pool *p, int fd, int mask)
{
    int running;

    p->client->is_inside = true;
    (void)curl.multi_socket_action(p->multi, fd, mask, &running); /* what goes wrong is told for each exchange */
    p->client->is_inside = false;
}

static void sockets_act(struct http_client *c, const struct epoll_event *evs, int n)
{
    for (int i = 0; i < n; i++) {
        int fd = evs[i].data.fd, mask = 0;

        if (fd == c->timer || fd == c->event) {
            signal_take(c, fd);
            continue;
        }
        mask |= evs[i].events & EPOLLIN ? CURL_CSELECT_IN : 0;
        mask |= evs[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0;
        mask |= evs[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0;
        if ((size_t)fd < c->n_fds && c->fds[fd]) /* one before it in this batch may have closed it */
            act(c->fds[fd], fd, mask);
    }
}

static void take_ends(struct http_pool *p)
{
    int left;

    for (CURLMsg *m; (m = curl.multi_info_read(p->multi, &left));) {
        struct http_exchange *x = NULL;
        CURLcode code = m->data.result;

        if (m->msg == CURLMSG_DONE && curl.easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &x) == CURLE_OK && x)
            exchange_finish(x, code);
    }
}

static void expire(struct http_client *c, int64_t now_ms)
{
    struct heap_node *first;

    while ((first = heap_first(&c->timers)) && HEAP_ITEM(first, struct http_exchange, node)->due_ms <= now_ms)
        exchange_expire(HEAP_ITEM(first, struct http_exchange, node), now_ms);
}

/* Requests that were sent from callbacks are begun in the same turn. */
static bool is_due(const struct http_client *c)
{
    LIST_FOREACH(struct http_pool, p, &c->pools, link)
        if (p->due_ms <= http_mono_ms())
            return true;
    return false;
}

void http_turn(struct http_client *c)
{
    struct epoll_event evs[EVENTS];
    int n;

    assert(!c->is_inside && !c->is_turning);
    c->is_turning = true;
    for (int round = 0; round < ROUNDS; round++) {
        n = epoll_wait(c->epoll, evs, EVENTS, 0);
        sockets_act(c, evs, n);
        LIST_FOREACH(struct http_pool, p, &c->pools, link)
            if (p->due_ms <= http_mono_ms()) {
                p->due_ms = INT64_MAX;
                act(p, CURL_SOCKET_TIMEOUT, 0);
            }
        LIST_FOREACH(struct http_pool, p, &c->pools, link)
            take_ends(p);
        expire(c, http_mono_ms());
        exchanges_sweep(c);
        pools_sweep(c);
        if (n < EVENTS && !is_due(c))
            break;
    }
    c->is_turning = false;
    pools_arm(c);
}

int http_fd(const struct http_client *c)
{
    return c->epoll;
}
