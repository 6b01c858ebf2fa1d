/* server.c - one turn of the HTTP server: ready connections, time limits, new connections */
#include "http/server.h"

#include "base/util.h"
#include "http/server_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

enum { EVENTS = 256, ACCEPTS = 64, DEAF_MS = 200 };

/* ---- time ---- */

int64_t server_mono(const struct http_server *s)
{
    return clock_mono_ms(s->clock);
}

static int by_due(const struct heap_node *a, const struct heap_node *b)
{
    int64_t x = HEAP_ITEM(a, struct conn, node)->due_ms, y = HEAP_ITEM(b, struct conn, node)->due_ms;

    return (x > y) - (x < y);
}

void conn_set_due(struct conn *c, int64_t at_ms)
{
    struct heap *h = &c->server->timers;

    c->due_ms = at_ms;
    if (at_ms == INT64_MAX)
        heap_remove(h, &c->node);
    else if (heap_has(&c->node))
        heap_moved(h, &c->node);
    else
        heap_push(h, &c->node);
}

static struct conn *first_due(const struct http_server *s)
{
    struct heap_node *node = heap_first(&s->timers);

    return node ? HEAP_ITEM(node, struct conn, node) : NULL;
}

static void arm(struct http_server *s)
{
    const struct conn *c = first_due(s);
    int64_t at_ms = MIN_OF(c ? c->due_ms : INT64_MAX, s->deaf_until_ms ? s->deaf_until_ms : INT64_MAX);
    int64_t ms = at_ms == INT64_MAX ? 0 : MAX_OF(at_ms - server_mono(s), 0);
    struct itimerspec at = { .it_value = { ms / 1000, ms % 1000 * 1000000 + (at_ms != INT64_MAX) } };

    if (at_ms == s->armed_ms)
        return;
    s->armed_ms = at_ms;
    (void)timerfd_settime(s->timer.fd, 0, &at, NULL); /* all is valid */
}

const char *server_date(struct http_server *s)
{
    static const char *const days[] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
    static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    time_t now = (time_t)(clock_now_ms(s->clock) / 1000);
    struct tm t;

    if (now != s->date_s && gmtime_r(&now, &t)) {
        s->date_s = now;
        (void)snprintf(s->date, sizeof(s->date), "%s, %02d %s %04d %02d:%02d:%02d GMT", days[t.tm_wday % 7],
                       t.tm_mday % 100, months[t.tm_mon % 12], (t.tm_year + 1900) % 10000, t.tm_hour % 100,
                       t.tm_min % 100, t.tm_sec % 100);
    }
    return s->date;
}

/* ---- who has something to do ---- */

void server_wake(struct http_server *s)
{
    uint64_t one = 1;

    if (s->is_awake || s->is_turning)
        return;
    s->is_awake = true;
    (void)!write(s->wake.fd, &one, sizeof(one)); /* its counter cannot be full */
}

void conn_set_dirty(struct conn *c)
{
    if (c->state == CONN_DEAD || list_is_linked(&c->ready))
        return;
    list_push(&c->server->ready, &c->ready);
    server_wake(c->server);
}

void conn_set_ready(struct conn *c)
{
    c->got |= EPOLLIN;
    c->is_again = list_is_linked(&c->ready);
    conn_set_dirty(c);
}

/* ---- coming in ---- */

/* One that waits for a request makes room. */
static bool server_make_room(struct http_server *s)
{
    struct conn *oldest = LIST_FIRST(&s->idle, struct conn, waiting);

    if (oldest)
        conn_close(oldest);
    return oldest != NULL;
}

static void welcome(struct http_server *s, int fd)
{
    struct conn *c = xcalloc(1, sizeof(*c));
    struct epoll_event ev = { .events = EPOLLIN, .data.ptr = &c->source };
    bool is_tls;

    c->source = (struct source){ SOURCE_CONN, fd };
    c->server = s;
    c->is_first = true;
    peer_name(fd, &c->peer);
    is_tls = s->tls && c->peer.port;
    s->stats.accepted++;
    if ((s->stats.connections >= s->limits.connections && !server_make_room(s)) || !conn_join_address(c)) {
        s->stats.refused++;
        close(c->source.fd);
        free(c);
        return;
    }
    s->stats.connections++;
    list_push(&s->conns, &c->link);
    conn_enter(c, is_tls ? CONN_SHAKES : CONN_HEAD);
    c->events = EPOLLIN;
    if ((is_tls && tls_begin(c, s->tls) < 0) || epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev) < 0)
        c->is_doomed = true;
    conn_set_dirty(c);
}

static void listen_for(struct http_server *s, bool is_on)
{
    LIST_FOREACH(struct listener, l, &s->listeners, link) {
        struct epoll_event ev = { .events = is_on ? EPOLLIN : 0, .data.ptr = &l->source };

        (void)epoll_ctl(s->epoll, EPOLL_CTL_MOD, l->source.fd, &ev); /* it was added, and is open */
    }
    s->deaf_until_ms = is_on ? 0 : server_mono(s) + DEAF_MS;
}

static void accept_some(struct http_server *s, const struct listener *l)
{
    for (int i = 0; i < ACCEPTS; i++) {
        int fd = accept4(l->source.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd >= 0) {
            welcome(s, fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            if (!server_make_room(s))
                listen_for(s, false); /* waiting connections would wake us again and again */
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

/* ---- the turn ---- */

static void server_gather(struct http_server *s, struct list *ret_doors)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(s->epoll, events, EVENTS, 0);
    uint64_t times;

    for (int i = 0; i < n; i++) {
        struct source *source = events[i].data.ptr;

        if (source->kind == SOURCE_CONN) {
            struct conn *c = (struct conn *)source;

            c->got |= events[i].events;
            conn_set_dirty(c);
        } else if (source->kind == SOURCE_LISTENER) {
            list_push(ret_doors, &((struct listener *)source)->ready);
        } else {
            (void)!read(source->fd, &times, sizeof(times));
        }
    }
    s->is_awake = false;
}

static void server_expire(struct http_server *s)
{
    int64_t now_ms = server_mono(s);

    for (struct conn *c; (c = first_due(s)) && c->due_ms <= now_ms;)
        conn_late(c);
    if (s->deaf_until_ms && now_ms >= s->deaf_until_ms)
        listen_for(s, true);
}

static void conn_free(struct conn *c)
{
    tls_free(c);
    buf_done(&c->in);
    buf_done(&c->out);
    buf_done(&c->text);
    buf_done(&c->body);
    free(c);
}

static void server_sweep(struct http_server *s)
{
    for (struct list_link *link; (link = list_pop_front(&s->dead));)
        conn_free(LIST_ITEM(link, struct conn, link));
}

/* Clients that have cost least first. The others are served in the next turn, after those that come until then. Answers
 * go out at the end of the turn, so a large request has one to itself: the answers to small ones do not wait for it. */
static void server_serve(struct http_server *s)
{
    int64_t begin_us = clock_mono_us(s->clock);
    size_t n_served = 0;

    for (struct fair_ticket *t; (t = fair_first(&s->fair));) {
        struct conn *c = LIST_ITEM(t, struct conn, ticket);
        bool is_large = c->body.n >= HTTP_LARGE_BODY;

        if (is_large && n_served)
            return;
        (void)fair_pop(&s->fair);
        conn_serve(c);
        n_served++;
        if (is_large || clock_mono_us(s->clock) - begin_us >= HTTP_SERVE_US)
            return;
    }
}

/* First all are heard, then all are answered: what one of them caused goes out to the others in the same turn. */
void http_server_turn(struct http_server *s)
{
    struct list doors, now;

    list_init(&doors);
    list_init(&now);
    s->is_turning = s->is_hearing = true;
    server_gather(s, &doors);
    list_append(&now, &s->ready);
    LIST_FOREACH(struct conn, c, &now, ready)
        conn_turn(c);
    server_serve(s);
    server_expire(s);
    for (struct list_link *link; (link = list_pop_front(&doors));)
        accept_some(s, LIST_ITEM(link, struct listener, ready));
    s->is_hearing = false;
    if (s->on_heard)
        s->on_heard(s->ctx);
    list_append(&now, &s->ready);
    for (struct list_link *link; (link = list_pop_front(&now));) {
        struct conn *c = LIST_ITEM(link, struct conn, ready);
        bool is_again = c->is_again;

        c->is_again = false;
        conn_flush(c);
        if (is_again)
            conn_set_ready(c);
    }
    server_sweep(s);
    s->is_turning = false;
    arm(s);
    if (!list_is_empty(&s->ready) || !fair_is_empty(&s->fair))
        server_wake(s);
}

/* ---- life ---- */

static void server_set_limits(struct http_server_limits *l)
{
#define DEFAULT(field, value) l->field = l->field ? l->field : (value)
    DEFAULT(connections, 1024);
    DEFAULT(per_address, MAX_OF(l->connections / 2, 1));
    DEFAULT(head_bytes, 32 << 10);
    DEFAULT(body_bytes, 4 << 20);
    DEFAULT(queue_bytes, 16 << 20);
    DEFAULT(tenant_bytes, 64 << 20);
    DEFAULT(held_bytes, (size_t)512 << 20);
    DEFAULT(head_ms, 10000);
    DEFAULT(body_ms, 10000);
    DEFAULT(body_rate, 16 << 10);
    DEFAULT(idle_ms, 180000);
    DEFAULT(send_ms, 30000);
#undef DEFAULT
}

static int server_watch(struct http_server *s, struct source *source)
{
    struct epoll_event ev = { .events = EPOLLIN, .data.ptr = source };

    return source->fd < 0 ? -1 : epoll_ctl(s->epoll, EPOLL_CTL_ADD, source->fd, &ev);
}

static int add_listener(struct http_server *s, int fd, const struct listener_path *path, struct err *e)
{
    struct listener *l = xcalloc(1, sizeof(*l));

    l->source = (struct source){ SOURCE_LISTENER, fd };
    l->path = *path;
    list_push(&s->listeners, &l->link);
    if (!s->port)
        s->port = listen_port(fd);
    return server_watch(s, &l->source) < 0 ? err_errno(e, "wait for connections") : 0;
}

int http_server_listen(struct http_server *s, const char *address, struct err *e)
{
    struct listener_path path = { 0 };
    int fd = listen_open(address, &path, e);

    return fd < 0 ? -1 : add_listener(s, fd, &path, e);
}

static int take_socket(int take_fd, struct err *e)
{
    int flags = fcntl(take_fd, F_GETFL);

    if (flags >= 0 && fcntl(take_fd, F_SETFL, flags | O_NONBLOCK) == 0)
        return 0;
    (void)err_errno(e, "take a socket");
    close(take_fd);
    return -1;
}

int http_server_listen_at(struct http_server *s, int take_fd, struct err *e)
{
    return take_socket(take_fd, e) < 0 ? -1 : add_listener(s, take_fd, &(struct listener_path){ 0 }, e);
}

int http_server_add(struct http_server *s, int take_fd, struct err *e)
{
    if (take_socket(take_fd, e) < 0)
        return -1;
    welcome(s, take_fd);
    return 0;
}

static int server_begin(struct http_server *s, const struct http_server_options *opt, struct err *e)
{
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->timer = (struct source){ SOURCE_TIMER, timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK) };
    s->wake = (struct source){ SOURCE_WAKE, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
    if (s->epoll < 0 || server_watch(s, &s->timer) < 0 || server_watch(s, &s->wake) < 0)
        return err_errno(e, "an HTTP server");
    if (opt->tls && http_server_set_tls(s, opt->tls, e) < 0)
        return -1;
    return opt->address ? http_server_listen(s, opt->address, e) : 0;
}

int http_server_new(const struct http_server_options *opt, struct http_server **ret, struct err *e)
{
    struct http_server *s = xcalloc(1, sizeof(*s));

    s->clock = opt->clock ? opt->clock : &clock_real;
    s->limits = opt->limits;
    server_set_limits(&s->limits);
    s->ctx = opt->ctx;
    s->on_head = opt->on_head;
    s->on_request = opt->on_request;
    s->on_heard = opt->on_heard;
    s->armed_ms = INT64_MAX;
    s->timer.fd = s->wake.fd = -1;
    list_init(&s->listeners);
    list_init(&s->conns);
    list_init(&s->idle);
    list_init(&s->ready);
    list_init(&s->dead);
    heap_init(&s->timers, by_due);
    map_init(&s->tenants, map_seed_default());
    fair_init(&s->fair);
    s->seed = map_seed_default();
    if (server_begin(s, opt, e) < 0) {
        http_server_free(s);
        return -1;
    }
    *ret = s;
    return 0;
}

int http_server_set_tls(struct http_server *s, const struct http_server_tls *tls, struct err *e)
{
    SSL_CTX *fresh;

    if (tls_context(tls, &fresh, e) < 0)
        return -1;
    SSL_CTX_free(s->tls); /* connections keep what they began with */
    s->tls = fresh;
    return 0;
}

static void close_listeners(struct http_server *s)
{
    LIST_FOREACH(struct listener, l, &s->listeners, link) {
        close(l->source.fd);
        if (l->path.text[0])
            (void)unlink(l->path.text); /* it may be removed already */
        list_remove(&l->link);
        free(l);
    }
}

void http_server_stop(struct http_server *s)
{
    s->is_stopping = true;
    close_listeners(s);
    LIST_FOREACH(struct conn, c, &s->conns, link)
        if (c->state == CONN_SHAKES || (c->state == CONN_HEAD && !c->in.n)) {
            c->is_doomed = true;
            conn_set_dirty(c);
        }
}

void http_server_free(struct http_server *s)
{
    if (!s)
        return;
    close_listeners(s);
    while (!list_is_empty(&s->conns))
        conn_close(LIST_FIRST(&s->conns, struct conn, link));
    server_sweep(s);
    autoclose_done(&s->epoll);
    autoclose_done(&s->timer.fd);
    autoclose_done(&s->wake.fd);
    heap_done(&s->timers);
    map_done(&s->tenants);
    fair_done(&s->fair);
    SSL_CTX_free(s->tls);
    free(s);
}

unsigned http_server_port(const struct http_server *s)
{
    return s->port;
}

int http_server_fd(const struct http_server *s)
{
    return s->epoll;
}

void http_server_stats(const struct http_server *s, struct http_server_stats *ret)
{
    *ret = s->stats;
}
