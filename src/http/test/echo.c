/* echo.c - a program around the server, for tests with real clients (tests/http_server.py)
 *
 *     http_echo ADDRESS [CERT KEY [CLIENT_CA]]     prints "port N", serves until its stdin ends; SIGHUP: reads the files
 *
 *     /echo                    the request, and who asks
 *     /stream?n=N&size=S       N pieces of S bytes, as fast as the client takes them
 *     /watch                   one piece, then silence
 *     /exec…?…                 stdin goes to stdout; "fail" on stdin ends it with a message, a new size of the terminal
 *                              is told on stdout; the end of stdin ends it with status exit=N (command=exit&command=N), and
 *                              so does its beginning where there is none; big=N (or as a command): N bytes, status 0
 *     /portForward…            port 1: refused; others: what comes goes back, until its end
 *
 * Paths and queries are those of a kubelet, so that an API server takes it for one (tests/kube/streams.py).
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/util.h"
#include "http/channels.h"
#include "http/forward.h"
#include "http/server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>

static volatile sig_atomic_t is_reloading;
static char block[1 << 20];

static uint64_t number(struct http_call *call, const char *name)
{
    autobuf text = { 0 };
    uint64_t n = 0;

    if (http_call_param(call, name, &text))
        (void)str_to_u64(buf_view(&text), &n); /* 0, then */
    return n;
}

/* "command=NAME&command=N" as well as "NAME=N". */
static uint64_t order(struct http_call *call, const char *name)
{
    autobuf word = { 0 };
    uint64_t n = number(call, name);
    size_t at = 0;

    if (http_call_next_param(call, "command", &at, &word) && str_is(buf_view(&word), name) &&
        http_call_next_param(call, "command", &at, &word))
        (void)str_to_u64(buf_view(&word), &n);
    return n;
}

/* ---- plain ---- */

static void answer_echo(struct http_call *call)
{
    autobuf body = { 0 };

    buf_fmt(&body, "%.*s %.*s?%.*s\nfrom %s tls=%d cn=%.*s o=", STR_ARG(call->method), STR_ARG(call->path),
            STR_ARG(call->query), call->peer->address, call->peer->is_tls, STR_ARG(call->peer->common_name));
    for (size_t i = 0; i < call->peer->n_organizations; i++)
        buf_fmt(&body, "%.*s,", STR_ARG(call->peer->organizations[i]));
    buf_fmt(&body, "\nbody %zu %.*s\n", call->body.n, (int)MIN_OF(call->body.n, (size_t)200),
            call->body.p ? call->body.p : "");
    http_answer(call, &(struct http_reply){ .status = 200 }, buf_view(&body));
}

struct flow {
    uint64_t n, size;
    size_t most;
};

static void flow_on(void *ctx, struct http_call *call)
{
    struct flow *f = ctx;

    while (f->n && http_call_queued(call) < 256 << 10) {
        http_answer_write(call, (struct str){ block, (size_t)f->size });
        f->n--;
        f->most = MAX_OF(f->most, http_call_queued(call));
    }
    if (!f->n) {
        http_answer_end(call);
        free(f);
    }
}

static void flow_gone(void *ctx, struct http_call *call)
{
    (void)call;
    free(ctx);
}

static void begin_flow(struct http_call *call, bool is_watch)
{
    struct flow *f = xcalloc(1, sizeof(*f));
    struct http_call_events events = { .ctx = f, .on_ready = is_watch ? NULL : flow_on, .on_gone = flow_gone };

    f->n = number(call, "n");
    f->size = MIN_OF(number(call, "size"), (uint64_t)sizeof(block));
    http_call_watch(call, &events);
    http_answer_begin(call, &(struct http_reply){ .status = 200 });
    if (is_watch)
        http_answer_write(call, STR("{\"type\":\"BOOKMARK\"}\n"));
    else
        flow_on(f, call);
}

/* ---- exec ---- */

struct process {
    uint64_t exit_status, big;
    bool has_stdin;
};

static void give_more(void *ctx, struct channels *c)
{
    struct process *p = ctx;
    bool was_big = p->big > 0;

    while (p->big && channels_queued(c) < 64 << 10) {
        size_t n = (size_t)MIN_OF(p->big, (uint64_t)32 << 10);

        channels_write(c, CHANNEL_STDOUT, (struct str){ block, n });
        p->big -= n;
    }
    if (was_big && !p->big) {
        channels_exit(c, 0);
        free(p);
    }
}

static void on_open(void *ctx, struct channels *c)
{
    struct process *p = ctx;

    channels_write(c, CHANNEL_STDERR, STR("begun\n"));
    if (p->big) {
        give_more(p, c);
    } else if (!p->has_stdin) {
        channels_exit(c, (int)p->exit_status);
        free(p);
    }
}

static void on_stdin(void *ctx, struct channels *c, struct str bytes)
{
    if (str_has(bytes, STR("fail"))) {
        channels_fail(c, STR("it \"failed\""));
        free(ctx);
        return;
    }
    channels_write(c, CHANNEL_STDOUT, bytes);
}

static void on_stdin_end(void *ctx, struct channels *c)
{
    struct process *p = ctx;

    channels_exit(c, (int)p->exit_status);
    free(p);
}

static void on_resize(void *ctx, struct channels *c, unsigned columns, unsigned rows)
{
    autobuf text = { 0 };

    (void)ctx;
    buf_fmt(&text, "size %ux%u\n", columns, rows);
    channels_write(c, CHANNEL_STDOUT, buf_view(&text));
}

static void on_gone(void *ctx, struct channels *c)
{
    (void)c;
    free(ctx);
}

static void begin_exec(struct http_call *call)
{
    struct process *p = xcalloc(1, sizeof(*p));
    struct channels_wanted wanted = { .stdin_ = number(call, "input"),
                                      .stdout_ = number(call, "output"),
                                      .stderr_ = number(call, "error"),
                                      .is_tty = number(call, "tty") };
    struct channels_events events = { .ctx = p,
                                      .on_open = on_open,
                                      .on_stdin = on_stdin,
                                      .on_stdin_end = on_stdin_end,
                                      .on_resize = on_resize,
                                      .on_ready = give_more,
                                      .on_gone = on_gone };

    *p = (struct process){ order(call, "exit"), order(call, "big"), wanted.stdin_ };
    if (!channels_open(call, &wanted, &events))
        free(p);
}

/* ---- port-forward ---- */

static void *on_tunnel(void *ctx, struct forward_tunnel *t, unsigned port)
{
    (void)ctx;
    if (port == 1)
        forward_fail(t, STR("nobody listens at port 1"));
    return NULL;
}

static void on_tunnel_data(void *ctx, struct forward_tunnel *t, struct str bytes)
{
    (void)ctx;
    forward_write(t, bytes);
    if (str_eq(bytes, STR("bye")))
        forward_finish(t);
}

static void on_tunnel_end(void *ctx, struct forward_tunnel *t)
{
    (void)ctx;
    forward_write(t, STR("[end]"));
    forward_finish(t);
}

static void on_tunnel_gone(void *ctx, struct forward_tunnel *t)
{
    (void)ctx;
    (void)t;
}

static void on_closed(void *ctx, struct forward *f)
{
    (void)ctx;
    (void)f;
}

static void begin_forward(struct http_call *call)
{
    static const struct forward_events events = { .on_tunnel = on_tunnel,
                                                  .on_data = on_tunnel_data,
                                                  .on_end = on_tunnel_end,
                                                  .on_gone = on_tunnel_gone,
                                                  .on_closed = on_closed };

    (void)forward_open(call, &events); /* it answers itself */
}

/* ---- the program ---- */

static void on_request(void *ctx, struct http_call *call)
{
    struct str upgrade = http_call_header(call, "Upgrade");

    (void)ctx;
    if (upgrade.n) {
        printf("upgrade %.*s\n", STR_ARG(upgrade));
        (void)fflush(stdout);
    }
    if (str_is(call->path, "/stream") || str_is(call->path, "/watch"))
        begin_flow(call, str_is(call->path, "/watch"));
    else if (str_starts(call->path, STR("/exec")) || str_starts(call->path, STR("/attach")))
        begin_exec(call);
    else if (str_starts(call->path, STR("/portForward")))
        begin_forward(call);
    else
        answer_echo(call);
}

static void on_hup(int signal_)
{
    (void)signal_;
    is_reloading = 1;
}

static struct str file(struct arena *a, const char *path)
{
    autofile FILE *f = fopen(path, "re");
    size_t n = f ? fread(block, 1, sizeof(block), f) : 0;

    return arena_str(a, (struct str){ block, n });
}

static void read_tls(struct arena *a, int argc, char **argv, struct http_server_tls *ret)
{
    *ret = (struct http_server_tls){ file(a, argv[2]), file(a, argv[3]), argc > 4 ? file(a, argv[4]) : STR_NULL };
}

static bool reload(struct http_server *s, int argc, char **argv)
{
    autoarena a = { 0 };
    struct http_server_tls tls;
    struct err e;
    bool ok;

    is_reloading = 0;
    read_tls(&a, argc, argv, &tls);
    ok = http_server_set_tls(s, &tls, &e) == 0;
    printf("%s\n", ok ? "reloaded" : e.text);
    return fflush(stdout) == 0;
}

int main(int argc, char **argv)
{
    autoarena a = { 0 };
    struct http_server_tls tls;
    struct http_server_options opt = { .address = argv[1], .on_request = on_request };
    struct http_server *s;
    struct err e;

    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGHUP, on_hup);
    opt.limits.connections = opt.limits.per_address = 20000;
    if (argc > 3) {
        read_tls(&a, argc, argv, &tls);
        opt.tls = &tls;
    }
    if (argc < 2 || http_server_new(&opt, &s, &e) < 0) {
        fprintf(stderr, "%s\n", argc < 2 ? "http_echo ADDRESS [CERT KEY [CLIENT_CA]]" : e.text);
        return 1;
    }
    printf("port %u\n", http_server_port(s));
    (void)fflush(stdout);
    for (;;) {
        struct pollfd p[] = { { http_server_fd(s), POLLIN, 0 }, { STDIN_FILENO, POLLIN, 0 } };

        (void)poll(p, 2, -1);
        if (p[1].revents || (is_reloading && !reload(s, argc, argv)))
            break;
        http_server_turn(s);
    }
    http_server_free(s);
    return 0;
}
