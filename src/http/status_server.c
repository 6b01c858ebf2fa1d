/* status_server.c - accept, read a request, answer, close */
#include "http/status_server.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/util.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

enum { HEAD_MAX = 8 << 10, CLIENTS_MAX = 64, PATIENCE_MS = 10000, EVENTS = 16 };

struct client {
    struct list_link link; /* status_server.clients, the oldest first */
    int fd;
    int64_t until_ms;
    bool is_answered;
    struct buf in, out;
    size_t sent;
};

struct status_server {
    int listener, epoll, timer;
    unsigned port;
    struct list clients;
    size_t n_clients;
    status_answer_f answer;
    void *ctx;
};

static const struct {
    int status;
    const char *reason;
} reasons[] = { { 200, "OK" },
                { 400, "Bad Request" },
                { 404, "Not Found" },
                { 405, "Method Not Allowed" },
                { 431, "Request Header Fields Too Large" },
                { 503, "Service Unavailable" } };

static const char *reason_of(int status)
{
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Error";
}

static int64_t mono(void)
{
    return clock_mono_ms(&clock_real);
}

/* ---- clients ---- */

static void client_free(struct status_server *s, struct client *c)
{
    close(c->fd); /* which takes it out of the epoll */
    list_remove(&c->link);
    s->n_clients--;
    buf_done(&c->in);
    buf_done(&c->out);
    free(c);
}

static void timer_set(struct status_server *s)
{
    struct client *first = LIST_FIRST(&s->clients, struct client, link);
    int64_t ms = first ? MAX_OF(first->until_ms - mono(), 0) : 0;
    struct itimerspec at = { .it_value = { ms / 1000, ms % 1000 * 1000000 + (first ? 1 : 0) } };

    (void)timerfd_settime(s->timer, 0, &at, NULL); /* all is valid */
}

static void client_watch(struct status_server *s, struct client *c, uint32_t events, int how)
{
    struct epoll_event ev = { .events = events, .data.ptr = c };

    if (epoll_ctl(s->epoll, how, c->fd, &ev) < 0)
        c->until_ms = 0; /* it goes with the next turn */
}

static void accept_all(struct status_server *s)
{
    int fd;

    while ((fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        struct client *c = xcalloc(1, sizeof(*c));

        if (s->n_clients >= CLIENTS_MAX)
            client_free(s, LIST_FIRST(&s->clients, struct client, link));
        c->fd = fd;
        c->until_ms = mono() + PATIENCE_MS;
        list_push(&s->clients, &c->link);
        s->n_clients++;
        client_watch(s, c, EPOLLIN, EPOLL_CTL_ADD);
    }
}

/* ---- answers ---- */

static void put_answer(struct client *c, const struct status_answer *a, bool is_head)
{
    buf_fmt(&c->out,
            "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n"
            "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
            a->status, reason_of(a->status), a->type ? a->type : "text/plain; charset=utf-8", a->body->n);
    if (!is_head)
        buf_str(&c->out, buf_view(a->body));
    c->is_answered = true;
}

static void put_error(struct client *c, int status)
{
    autobuf body = { 0 };

    buf_fmt(&body, "%s\n", reason_of(status));
    put_answer(c, &(struct status_answer){ .status = status, .body = &body }, false);
}

static void answer(struct status_server *s, struct client *c)
{
    struct str line = buf_view(&c->in), rest, method, target, path;
    autobuf body = { 0 };
    struct status_answer a = { .status = 404, .body = &body };
    ptrdiff_t end = str_find_char(line, '\n');

    rest = str_trim(str_sub(line, 0, (size_t)MAX_OF(end, 0)));
    if (!str_split(&rest, ' ', &method) || !str_split(&rest, ' ', &target) || !str_starts(rest, STR("HTTP/1.")) ||
        !str_starts(target, STR("/"))) {
        put_error(c, 400);
        return;
    }
    if (!str_is(method, "GET") && !str_is(method, "HEAD")) {
        put_error(c, 405);
        return;
    }
    if (!str_split(&target, '?', &path))
        path = target;
    s->answer(s->ctx, path, &a);
    put_answer(c, &a, str_is(method, "HEAD"));
}

static bool is_whole(const struct buf *in)
{
    return in->n && (memmem(in->p, in->n, "\r\n\r\n", 4) || memmem(in->p, in->n, "\n\n", 2));
}

/* False: it is over. */
static bool client_read(struct status_server *s, struct client *c)
{
    ssize_t n = read(c->fd, buf_reserve(&c->in, HEAD_MAX), HEAD_MAX);

    if (n <= 0)
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    c->in.n += (size_t)n;
    if (is_whole(&c->in))
        answer(s, c);
    else if (c->in.n > HEAD_MAX)
        put_error(c, 431);
    return true;
}

static bool client_write(struct client *c)
{
    ssize_t n = send(c->fd, c->out.p + c->sent, c->out.n - c->sent, MSG_NOSIGNAL);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    c->sent += (size_t)n;
    return c->sent < c->out.n;
}

static void client_turn(struct status_server *s, struct client *c)
{
    bool was_answered = c->is_answered, goes_on = true;

    if (!c->is_answered)
        goes_on = client_read(s, c);
    if (goes_on && c->is_answered)
        goes_on = client_write(c);
    if (goes_on && c->is_answered && !was_answered)
        client_watch(s, c, EPOLLOUT, EPOLL_CTL_MOD);
    if (!goes_on) {
        (void)shutdown(c->fd, SHUT_WR); /* the answer is in the kernel's hands */
        client_free(s, c);
    }
}

void status_server_turn(struct status_server *s)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(s->epoll, events, EVENTS, 0);
    bool has_news = false;
    uint64_t times;

    for (int i = 0; i < n; i++)
        if (events[i].data.ptr == &s->listener)
            has_news = true; /* after the others: one of them may have to go */
        else if (events[i].data.ptr != &s->timer)
            client_turn(s, events[i].data.ptr);
    (void)!read(s->timer, &times, sizeof(times)); /* it is set anew below */
    LIST_FOREACH(struct client, c, &s->clients, link)
        if (mono() >= c->until_ms)
            client_free(s, c);
    if (has_news)
        accept_all(s);
    timer_set(s);
}

/* ---- life ---- */

static int split_address(const char *address, char host[256], const char **ret_port, struct err *e)
{
    const char *colon = strrchr(address, ':');
    size_t n = colon ? (size_t)(colon - address) : 0;

    if (!colon || !colon[1] || n >= 256)
        return err_set(e, ERR_INVALID, "%s: must be HOST:PORT or :PORT", address);
    if (n >= 2 && address[0] == '[' && address[n - 1] == ']') {
        address++;
        n -= 2;
    }
    memcpy(host, address, n);
    host[n] = '\0';
    *ret_port = colon + 1;
    return 0;
}

static int listen_at(const struct addrinfo *a)
{
    static const int yes = 1, no = 0;
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (a->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, CLIENTS_MAX) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Everybody means both families where there are both: the newer one takes the older along. */
static int open_listener(const char *address, struct err *e)
{
    struct addrinfo want = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV }, *list;
    char host[256];
    const char *port;
    int fd = -1, rc;

    if (split_address(address, host, &port, e) < 0)
        return -1;
    rc = getaddrinfo(host[0] ? host : NULL, port, &want, &list);
    if (rc)
        return err_set(e, ERR_INVALID, "%s: %s", address, gai_strerror(rc));
    for (int newer = 1; newer >= 0 && fd < 0; newer--)
        for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next)
            if ((a->ai_family == AF_INET6) == newer)
                fd = listen_at(a);
    if (fd < 0)
        (void)err_errno(e, "listen at %s", address);
    freeaddrinfo(list);
    return fd;
}

static unsigned port_of(int fd)
{
    struct sockaddr_storage at;
    socklen_t n = sizeof(at);

    if (getsockname(fd, (struct sockaddr *)&at, &n) < 0)
        return 0;
    return ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
                                          : ((struct sockaddr_in *)&at)->sin_port);
}

int status_server_open(const char *address, status_answer_f on_request, void *ctx, struct status_server **ret,
                       struct err *e)
{
    struct epoll_event listens = { .events = EPOLLIN }, times = { .events = EPOLLIN };
    struct status_server *s;
    int fd = open_listener(address, e);

    if (fd < 0)
        return -1;
    s = xcalloc(1, sizeof(*s));
    *s = (struct status_server){ .listener = fd, .port = port_of(fd), .answer = on_request, .ctx = ctx };
    list_init(&s->clients);
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    listens.data.ptr = &s->listener;
    times.data.ptr = &s->timer;
    if (s->epoll < 0 || s->timer < 0 || epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->listener, &listens) < 0 ||
        epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->timer, &times) < 0) {
        (void)err_errno(e, "wait at %s", address);
        status_server_close(s);
        return -1;
    }
    *ret = s;
    return 0;
}

void status_server_close(struct status_server *s)
{
    if (!s)
        return;
    LIST_FOREACH(struct client, c, &s->clients, link)
        client_free(s, c);
    autoclose_done(&s->listener);
    autoclose_done(&s->epoll);
    autoclose_done(&s->timer);
    free(s);
}

unsigned status_server_port(const struct status_server *s)
{
    return s->port;
}

int status_server_fd(const struct status_server *s)
{
    return s->epoll;
}
