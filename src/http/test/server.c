/* server.c - tests: questions, nonsense, slow, greedy and vanishing clients, streams */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/util.h"
#include "http/server.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#define HOST "Host: x\r\n\r\n"

enum { BIG = 4 << 20 };

/* ---- a server that notes what happens to it ---- */

static struct {
    struct http_server *server;
    struct clock_manual clock;
    struct http_call *held; /* one that is answered later */
    struct http_stream *stream;
    struct buf seen;
    int asked, gone, ready, ended;
    bool takes_back; /* in on_heard */
} t;

static void on_call_ready(void *ctx, struct http_call *call)
{
    (void)ctx;
    (void)call;
    t.ready++;
}

static void on_call_gone(void *ctx, struct http_call *call)
{
    (void)ctx;
    assert_ptr_equal(call, t.held);
    t.held = NULL;
    t.gone++;
}

static void on_data(void *ctx, struct http_stream *s, struct str bytes)
{
    (void)ctx;
    buf_str(&t.seen, bytes);
    if (str_has(bytes, STR("echo")))
        http_stream_write(s, bytes);
    if (str_has(bytes, STR("bye"))) {
        http_stream_write(s, STR("good bye"));
        http_stream_end(s);
        t.stream = NULL;
    }
}

static void on_stream_end(void *ctx, struct http_stream *s)
{
    (void)ctx;
    t.ended++;
    http_stream_write(s, STR("[the end]"));
    http_stream_end(s);
    t.stream = NULL;
}

static void on_stream_gone(void *ctx, struct http_stream *s)
{
    (void)ctx;
    (void)s;
    t.stream = NULL;
    t.gone++;
}

static void upgrade(struct http_call *call)
{
    static const char *const headers[] = { "Upgrade: echo", "X: a\r\nInjected: b", NULL };
    static const struct http_stream_events events = { .on_data = on_data,
                                                      .on_end = on_stream_end,
                                                      .on_gone = on_stream_gone };

    t.stream = http_upgrade(call, headers, &events);
}

static void answer_text(struct http_call *call)
{
    autobuf body = { 0 }, param = { 0 };
    size_t at = 0;

    buf_fmt(&body, "%.*s %.*s %.*s", STR_ARG(call->method), STR_ARG(call->path), STR_ARG(call->body));
    while (http_call_next_param(call, "p", &at, &param))
        buf_fmt(&body, " [%s]", param.p);
    buf_fmt(&body, "\n");
    http_answer(call, &(struct http_reply){ .status = 200 }, buf_view(&body));
}

static void on_request(void *ctx, struct http_call *call)
{
    static const struct http_call_events events = { .on_ready = on_call_ready, .on_gone = on_call_gone };
    autobuf big = { 0 };

    (void)ctx;
    t.asked++;
    if (str_is(call->path, "/hold") || str_is(call->path, "/stream")) {
        t.held = call;
        http_call_watch(call, &events);
        if (str_is(call->path, "/stream"))
            http_answer_begin(call, &(struct http_reply){ .status = 200, .type = "text/x" });
    } else if (str_is(call->path, "/big")) {
        buf_repeat(&big, 'x', BIG);
        http_answer(call, &(struct http_reply){ .status = 200 }, buf_view(&big));
    } else if (str_is(call->path, "/up")) {
        upgrade(call);
    } else if (str_is(call->path, "/cut")) {
        http_answer_cut(call);
    } else if (str_is(call->path, "/none")) {
        http_answer(call, &(struct http_reply){ .status = 204 }, STR("must not be seen"));
    } else {
        answer_text(call);
    }
}

static void answer_again(void *ctx, struct http_call *call)
{
    assert_int_equal(call->path.n, 0);
    http_answer(call, &(struct http_reply){ .status = 500 }, str_of(ctx));
}

static void on_heard(void *ctx)
{
    if (t.takes_back)
        http_server_take_back(t.server, answer_again, "not kept\n");
}

static void start_with(struct http_server_options opt)
{
    struct err e;

    clock_manual_init(&t.clock, 1700000000000);
    opt.clock = &t.clock.clock;
    opt.on_request = on_request;
    opt.on_heard = on_heard;
    if (!opt.address)
        opt.address = "127.0.0.1:0";
    if (http_server_new(&opt, &t.server, &e) < 0)
        fail_msg("%s", e.text);
}

static int begin(void **state)
{
    (void)state;
    memset(&t, 0, sizeof(t));
    return 0;
}

static int end(void **state)
{
    (void)state;
    http_server_free(t.server);
    buf_done(&t.seen);
    return 0;
}

/* ---- clients ---- */

static void turns(void)
{
    for (int i = 0; i < 20; i++)
        http_server_turn(t.server);
}

static int client(void)
{
    static const int yes = 1;
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)http_server_port(t.server)) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)); /* what is said is there */
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    turns();
}

/* What it answers until it closes or is silent. True: it has closed. */
static bool hear(int fd, struct buf *out)
{
    for (int idle = 0; idle < 8; idle++) {
        struct pollfd both[] = { { fd, POLLIN, 0 }, { http_server_fd(t.server), POLLIN, 0 } };
        char piece[65536];
        ssize_t n = recv(fd, piece, sizeof(piece), MSG_DONTWAIT);

        if (n > 0) {
            buf_append(out, piece, (size_t)n);
            idle = 0;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            return true;
        } else {
            (void)poll(both, 2, 5);
        }
        http_server_turn(t.server);
    }
    return false;
}

/* One connection: what is said, what must be in the answer, and whether the connection ends. */
static void check(const char *request, const char *wanted, bool closes)
{
    autoclose int fd = client();
    autobuf out = { 0 };
    bool is_closed;

    say(fd, request);
    is_closed = hear(fd, &out);
    if (!out.p || !strstr(out.p, wanted) || is_closed != closes)
        fail_msg("%s: %s (%s)", request, out.p ? out.p : "nothing", is_closed ? "closed" : "open");
}

static bool is_closed(int fd)
{
    autobuf out = { 0 };

    return hear(fd, &out);
}

static struct http_server_stats stats(void)
{
    struct http_server_stats s;

    http_server_stats(t.server, &s);
    return s;
}

/* ---- answers ---- */

static void answers(void **state)
{
    (void)state;
    start_with((struct http_server_options){ 0 });
    check("GET /a HTTP/1.1\r\n" HOST,
          "HTTP/1.1 200 OK\r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\nContent-Type: text/plain", false);
    check("GET /a?p=1&q=2&p=a%2Fb+c&p HTTP/1.1\r\n" HOST, "GET /a  [1] [a/b c] []\n", false);
    check("GET /a HTTP/1.0\r\n\r\n", "Connection: close\r\n\r\nGET /a", true);
    check("GET /a HTTP/1.1\r\nConnection: close\r\n" HOST, "\r\n\r\nGET /a", true);
    check("HEAD /a HTTP/1.1\r\nConnection: close\r\n" HOST, "Content-Length: 9\r\nConnection: close\r\n\r\n", true);
    check("GET /none HTTP/1.1\r\nConnection: close\r\n" HOST,
          "204 No Content\r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\nConnection: close\r\n\r\n", true);
    check("POST /a HTTP/1.1\r\nContent-Length: 5\r\n" HOST "hello", "POST /a hello\n", false);
    check("POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "5\r\nhello\r\n0\r\n\r\n", "POST /a hello\n",
          false);
    turns();
    assert_int_equal(stats().connections, 0);
}

/* What could not be made to last was never answered: nobody hears a byte of it. */
static void takes_answers_back(void **state)
{
    autoclose int old = -1, fd = -1;
    autobuf out = { 0 }, more = { 0 };

    (void)state;
    start_with((struct http_server_options){ 0 });
    old = client();
    say(old, "GET /stream HTTP/1.1\r\n" HOST);
    http_answer_write(t.held, STR("what was told"));
    (void)hear(old, &more);
    t.takes_back = true;
    check("GET /a HTTP/1.1\r\nConnection: close\r\n" HOST, "HTTP/1.1 500 Internal", true);
    check("HEAD /a HTTP/1.0\r\n\r\n", "Content-Length: 9\r\nConnection: close\r\n\r\n", true);
    check("GET /big HTTP/1.1\r\n" HOST, "\r\n\r\nnot kept\n", false);
    check("POST /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n" HOST "x", "HTTP/1.1 500", false);
    assert_int_equal(t.gone, 0);
    http_answer_write(t.held, STR(" goes on")); /* it was begun before */
    (void)hear(old, &more);
    assert_true(strstr(more.p, "what was told") && strstr(more.p, " goes on") && !strstr(more.p, "500"));
    http_answer_end(t.held);
    fd = client();
    say(fd, "GET /stream HTTP/1.1\r\n" HOST);
    assert_int_equal(t.gone, 1);
    assert_false(hear(fd, &out));
    assert_true(strstr(out.p, "HTTP/1.1 500") && !strstr(out.p, "chunked"));
    t.takes_back = false;
    say(fd, "GET /a HTTP/1.1\r\n" HOST); /* the connection is as good as ever */
    (void)hear(fd, &out);
    assert_non_null(strstr(out.p, "GET /a \n"));
}

static void sends_nothing_after_a_head(void **state)
{
    autoclose int fd = -1;
    autobuf out = { 0 };

    (void)state;
    start_with((struct http_server_options){ 0 });
    fd = client();
    say(fd, "HEAD /a HTTP/1.1\r\n" HOST "GET /none HTTP/1.1\r\n" HOST);
    (void)hear(fd, &out);
    assert_non_null(strstr(out.p, "\r\n\r\nHTTP/1.1 204"));
    assert_null(strstr(out.p, "must not be seen"));
}

static void answers_in_order(void **state)
{
    autoclose int fd = -1;
    autobuf out = { 0 };

    (void)state;
    start_with((struct http_server_options){ 0 });
    fd = client();
    say(fd,
        "GET /hold HTTP/1.1\r\n" HOST "POST /2 HTTP/1.1\r\nContent-Length: 2\r\n" HOST "hiGET /3 HTTP/1.1\r\n" HOST);
    assert_int_equal(t.asked, 1);
    (void)hear(fd, &out);
    assert_int_equal(out.n, 0);
    http_answer(t.held, &(struct http_reply){ .status = 404 }, STR("first\n"));
    assert_int_equal(poll(&(struct pollfd){ http_server_fd(t.server), POLLIN, 0 }, 1, 0), 1); /* it is woken */
    (void)hear(fd, &out);
    assert_int_equal(t.asked, 3);
    assert_true(strstr(out.p, "first\n") < strstr(out.p, "POST /2 hi\n"));
    assert_true(strstr(out.p, "POST /2 hi\n") < strstr(out.p, "GET /3 \n"));
}

static void refuses(void **state)
{
    autobuf longest = { 0 };

    (void)state;
    start_with((struct http_server_options){ .limits = { .head_bytes = 8 << 10, .body_bytes = 10 } });
    check("GET /a\r\n\r\n", "HTTP/1.1 400 ", true);
    check("\x16\x03\x01\x02", "HTTP/1.1 400 ", true); /* a client that tries TLS */
    check("GET / HTTP/1.1\r\nX: y\nZ: w\r\n" HOST, "HTTP/1.1 400 ", true);
    check("POST / HTTP/1.1\r\nContent-Length: 11\r\n" HOST, "HTTP/1.1 413 ", true);
    check("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "b\r\n", "HTTP/1.1 413 ", true);
    check("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "x\r\n", "HTTP/1.1 400 ", true);
    check("POST / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n" HOST
          "0\r\n\r\nGET /smuggled HTTP/1.1\r\n" HOST,
          "HTTP/1.1 400 ", true);
    buf_fmt(&longest, "GET /");
    buf_repeat(&longest, 'a', 9000);
    check(longest.p, "HTTP/1.1 431 ", true);
    assert_int_equal(t.asked, 0);
    assert_int_equal(stats().bad_requests, 8);
}

static void says_that_it_goes_on(void **state)
{
    autoclose int fd = -1;
    autobuf out = { 0 };

    (void)state;
    start_with((struct http_server_options){ .limits = { .body_bytes = 10 } });
    fd = client();
    say(fd, "POST /a HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n" HOST);
    (void)hear(fd, &out);
    assert_string_equal(out.p, "HTTP/1.1 100 Continue\r\n\r\n");
    say(fd, "hello");
    (void)hear(fd, &out);
    assert_non_null(strstr(out.p, "POST /a hello\n"));
    check("POST /a HTTP/1.1\r\nContent-Length: 50\r\nExpect: 100-continue\r\n" HOST, "HTTP/1.1 413 ", true);
}

static void takes_it_in_pieces(void **state)
{
    static const char request[] = "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "5\r\nhello\r\n0\r\n\r\n";
    autoclose int fd = -1;
    autobuf out = { 0 };

    (void)state;
    start_with((struct http_server_options){ 0 });
    fd = client();
    for (size_t i = 0; request[i]; i++) {
        assert_int_equal(send(fd, request + i, 1, MSG_NOSIGNAL), 1);
        http_server_turn(t.server);
    }
    (void)hear(fd, &out);
    assert_non_null(strstr(out.p, "POST /a hello\n"));
    assert_int_equal(t.asked, 1);
}

static void gives_it_in_pieces(void **state)
{
    autoclose int fd = -1, gone = -1;
    autobuf out = { 0 };

    (void)state;
    start_with((struct http_server_options){ 0 });
    fd = client();
    gone = client();
    say(fd, "GET /big HTTP/1.1\r\nConnection: close\r\n" HOST);
    say(gone, "GET /big HTTP/1.1\r\n" HOST);
    (void)shutdown(gone, SHUT_RDWR); /* in the middle of its answer */
    assert_true(hear(fd, &out));
    assert_true(out.n > BIG && out.p[out.n - 1] == 'x');
}

/* ---- bit by bit ---- */

static void streams(void **state)
{
    autoclose int fd = -1;
    autobuf out = { 0 };

    (void)state;
    start_with((struct http_server_options){ 0 });
    fd = client();
    say(fd, "GET /stream HTTP/1.1\r\n" HOST);
    http_answer_write(t.held, STR("one"));
    http_answer_write(t.held, STR(""));
    (void)hear(fd, &out);
    assert_true(t.ready > 0);
    http_answer_write(t.held, STR("twelve bytes"));
    http_answer_end(t.held);
    say(fd, "GET /a HTTP/1.1\r\n" HOST);
    (void)hear(fd, &out);
    assert_non_null(
        strstr(out.p, "Transfer-Encoding: chunked\r\n\r\n3\r\none\r\nc\r\ntwelve bytes\r\n0\r\n\r\nHTTP/1.1 200"));
    assert_int_equal(t.gone, 0);
}

static void streams_to_an_old_client(void **state)
{
    autoclose int fd = -1;
    autobuf out = { 0 };

    (void)state;
    start_with((struct http_server_options){ 0 });
    fd = client();
    say(fd, "GET /stream HTTP/1.0\r\n\r\n");
    http_answer_write(t.held, STR("one"));
    http_answer_write(t.held, STR("two"));
    http_answer_end(t.held);
    assert_true(hear(fd, &out));
    assert_non_null(strstr(out.p, "\r\n\r\nonetwo"));
}

static void is_told_that_a_reader_left(void **state)
{
    int fd;

    (void)state;
    start_with((struct http_server_options){ 0 });
    fd = client();
    say(fd, "GET /stream HTTP/1.1\r\n" HOST);
    assert_non_null(t.held);
    close(fd);
    turns();
    assert_int_equal(t.gone, 1);
    assert_int_equal(stats().connections, 0);
}

static void answers_who_ends_its_side(void **state)
{
    autoclose int fd = -1;
    autobuf out = { 0 };

    (void)state;
    start_with((struct http_server_options){ 0 });
    fd = client();
    say(fd, "GET /hold HTTP/1.1\r\n" HOST);
    (void)shutdown(fd, SHUT_WR);
    turns();
    assert_non_null(t.held);
    http_answer(t.held, &(struct http_reply){ .status = 200 }, STR("late\n"));
    assert_true(hear(fd, &out));
    assert_non_null(strstr(out.p, "late\n"));
}

/* Whoever does not read makes us hold so much and no more. */
static void bounds_what_a_slow_reader_holds(void **state)
{
    static char block[64 << 10];
    autoclose int fd = -1;
    size_t most = 0;

    (void)state;
    start_with((struct http_server_options){ .limits = { .queue_bytes = 1 << 20 } });
    fd = client();
    say(fd, "GET /stream HTTP/1.1\r\n" HOST);
    for (int i = 0; i < 1000 && t.held; i++) {
        http_answer_write(t.held, (struct str){ block, sizeof(block) });
        most = MAX_OF(most, http_call_queued(t.held));
        http_server_turn(t.server);
    }
    assert_null(t.held);
    assert_int_equal(t.gone, 1);
    assert_true(most <= 1 << 20);
}

static void cuts(void **state)
{
    autoclose int fd = -1;

    (void)state;
    start_with((struct http_server_options){ 0 });
    fd = client();
    say(fd, "GET /cut HTTP/1.1\r\n" HOST);
    assert_true(is_closed(fd));
    assert_int_equal(t.gone, 0);
}

/* ---- upgrades ---- */

static void upgrades(void **state)
{
    autoclose int fd = -1;
    autobuf out = { 0 };

    (void)state;
    start_with((struct http_server_options){ 0 });
    fd = client();
    say(fd, "GET /up HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: echo\r\n" HOST "sent ahead: echo");
    (void)hear(fd, &out);
    assert_non_null(strstr(
        out.p, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nsent ahead: echo"));
    assert_int_equal(stats().streams, 1);
    http_stream_pause(t.stream, true);
    say(fd, "unheard");
    assert_null(strstr(t.seen.p, "unheard"));
    http_stream_pause(t.stream, false);
    turns();
    assert_non_null(strstr(t.seen.p, "unheard"));
    say(fd, "bye");
    assert_true(hear(fd, &out));
    assert_true(str_ends(buf_view(&out), STR("good bye")));
    assert_int_equal(t.gone, 0);
}

static void hears_the_end_of_a_stream(void **state)
{
    autoclose int fd = -1;
    autobuf out = { 0 };

    (void)state;
    start_with((struct http_server_options){ 0 });
    fd = client();
    say(fd, "GET /up HTTP/1.1\r\n" HOST);
    (void)shutdown(fd, SHUT_WR);
    assert_true(hear(fd, &out));
    assert_true(str_ends(buf_view(&out), STR("[the end]")));
    assert_int_equal(t.ended, 1);
}

static void hears_that_a_stream_broke(void **state)
{
    static const struct linger at_once = { 1, 0 };
    int fd;

    (void)state;
    start_with((struct http_server_options){ 0 });
    fd = client();
    say(fd, "GET /up HTTP/1.1\r\n" HOST);
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)); /* a reset */
    close(fd);
    turns();
    assert_int_equal(t.gone, 1);
}

/* ---- patience ---- */

static void pass(int64_t ms)
{
    clock_manual_advance(&t.clock, ms);
    turns();
}

static void loses_patience(void **state)
{
    autoclose int silent = -1, slow = -1, idle = -1, body = -1, held = -1;
    autobuf out = { 0 };

    (void)state;
    start_with((struct http_server_options){ .limits = { .head_ms = 1000, .idle_ms = 5000, .body_ms = 2000 } });
    silent = client();
    slow = client();
    idle = client();
    body = client();
    held = client();
    say(slow, "GET / HT");
    say(idle, "GET / HTTP/1.1\r\n" HOST);
    say(body, "POST / HTTP/1.1\r\nContent-Length: 5\r\n" HOST "he");
    say(held, "GET /hold HTTP/1.1\r\n" HOST);
    pass(500);
    say(slow, "TP"); /* another byte buys no time */
    pass(600);
    assert_true(is_closed(silent));
    assert_true(hear(slow, &out) && strstr(out.p, "HTTP/1.1 408 "));
    assert_false(is_closed(idle));
    say(body, "l");
    pass(1000);
    buf_reset(&out);
    assert_true(hear(body, &out) && strstr(out.p, "HTTP/1.1 408 "));
    pass(3000);
    assert_true(is_closed(idle));
    pass(1000000);
    assert_false(is_closed(held)); /* that is between the handler and the client */
    http_answer(t.held, &(struct http_reply){ .status = 200 }, STR("x"));
}

static void gives_up_on_who_does_not_read(void **state)
{
    autoclose int fd = -1;

    (void)state;
    start_with((struct http_server_options){ .limits = { .send_ms = 1000 } });
    fd = client();
    for (int i = 0; i < 4; i++) /* more than the kernel keeps */
        assert_true(send(fd, "GET /big HTTP/1.1\r\n" HOST, strlen("GET /big HTTP/1.1\r\n" HOST), MSG_NOSIGNAL) > 0);
    turns();
    assert_int_equal(stats().connections, 1);
    pass(1100);
    pass(1100);
    assert_int_equal(stats().connections, 0);
}

/* ---- room ---- */

/* Those who only hold a place lose it, those who are being served do not. */
static void has_room_for_one_more(void **state)
{
    autoclose int held = -1;
    int idle[20];

    (void)state;
    start_with((struct http_server_options){ .limits = { .connections = 10, .per_address = 100 } });
    held = client();
    say(held, "GET /hold HTTP/1.1\r\n" HOST);
    for (size_t i = 0; i < ARRAY_LEN(idle); i++) {
        idle[i] = client();
        turns();
    }
    assert_int_equal(stats().connections, 10);
    check("GET /a HTTP/1.1\r\n" HOST, "200 OK", false);
    assert_non_null(t.held);
    for (size_t i = 0; i < ARRAY_LEN(idle); i++)
        close(idle[i]);
    turns();
}

static void bounds_one_address(void **state)
{
    autoclose int a = -1, b = -1, c = -1;

    (void)state;
    start_with((struct http_server_options){ .limits = { .connections = 10, .per_address = 2 } });
    a = client();
    b = client();
    c = client();
    turns();
    assert_true(is_closed(c));
    assert_false(is_closed(a));
    close(a);
    a = -1;
    turns();
    check("GET /a HTTP/1.1\r\n" HOST, "200 OK", false);
    assert_int_equal(stats().refused, 1);
}

/* Without descriptors nobody comes in, but the loop sleeps. */
static void survives_without_descriptors(void **state)
{
    struct rlimit old, low;
    autoclose int fd = -1, next = -1, probe = -1;

    (void)state;
    start_with((struct http_server_options){ 0 });
    fd = client();
    say(fd, "GET /hold HTTP/1.1\r\n" HOST);
    next = client();
    probe = dup(0);
    (void)getrlimit(RLIMIT_NOFILE, &old);
    low = old;
    low.rlim_cur = (rlim_t)probe + 1;
    (void)setrlimit(RLIMIT_NOFILE, &low);
    turns();
    assert_int_equal(poll(&(struct pollfd){ http_server_fd(t.server), POLLIN, 0 }, 1, 0), 0);
    (void)setrlimit(RLIMIT_NOFILE, &old);
    pass(1000);
    say(next, "GET /a HTTP/1.1\r\n" HOST);
    assert_int_equal(t.asked, 2);
}

/* ---- other doors, the end ---- */

static void listens_at_a_unix_socket(void **state)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    char address[128];

    (void)state;
    (void)snprintf(to.sun_path, sizeof(to.sun_path), "/tmp/pumice-test-%d.sock", (int)getpid());
    (void)snprintf(address, sizeof(address), "unix:%s", to.sun_path);
    for (int i = 0; i < 2; i++) { /* the second time one is left of a server that died */
        autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), dead = -1;
        autobuf out = { 0 };

        if (i) {
            dead = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
            assert_int_equal(bind(dead, (struct sockaddr *)&to, sizeof(to)), 0);
            close(dead);
            dead = -1;
        }
        start_with((struct http_server_options){ .address = address });
        assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
        say(fd, "GET /a HTTP/1.1\r\n" HOST);
        (void)hear(fd, &out);
        assert_non_null(strstr(out.p, "GET /a"));
        http_server_free(t.server);
        t.server = NULL;
        assert_int_equal(access(to.sun_path, F_OK), -1);
    }
}

static void stops_gracefully(void **state)
{
    autoclose int idle = -1, held = -1;
    autobuf out = { 0 };

    (void)state;
    start_with((struct http_server_options){ 0 });
    idle = client();
    held = client();
    say(idle, "GET /a HTTP/1.1\r\n" HOST);
    say(held, "GET /hold HTTP/1.1\r\n" HOST);
    http_server_stop(t.server);
    turns();
    assert_true(is_closed(idle));
    assert_int_equal(stats().connections, 1);
    http_answer(t.held, &(struct http_reply){ .status = 200 }, STR("last\n"));
    assert_true(hear(held, &out));
    assert_non_null(strstr(out.p, "Connection: close\r\n\r\nlast\n"));
    close(held);
    held = -1;
    turns();
    assert_int_equal(stats().connections, 0);
}

static void tells_those_who_are_cut_off(void **state)
{
    autoclose int fd = -1;

    (void)state;
    start_with((struct http_server_options){ 0 });
    fd = client();
    say(fd, "GET /hold HTTP/1.1\r\n" HOST);
    http_server_free(t.server);
    t.server = NULL;
    assert_int_equal(t.gone, 1);
}

static void refuses_addresses(void **state)
{
    static const char *const bad[] = {
        "", "localhost", "127.0.0.1:", "unix:x", "unix:", "[::1", "127.0.0.1:http-alt-none"
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct http_server_options opt = { .address = bad[i], .on_request = on_request };
        struct err e;

        assert_int_equal(http_server_new(&opt, &t.server, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answers),
        TEST(takes_answers_back),
        TEST(sends_nothing_after_a_head),
        TEST(answers_in_order),
        TEST(refuses),
        TEST(says_that_it_goes_on),
        TEST(takes_it_in_pieces),
        TEST(gives_it_in_pieces),
        TEST(streams),
        TEST(streams_to_an_old_client),
        TEST(is_told_that_a_reader_left),
        TEST(answers_who_ends_its_side),
        TEST(bounds_what_a_slow_reader_holds),
        TEST(cuts),
        TEST(upgrades),
        TEST(hears_the_end_of_a_stream),
        TEST(hears_that_a_stream_broke),
        TEST(loses_patience),
        TEST(gives_up_on_who_does_not_read),
        TEST(has_room_for_one_more),
        TEST(bounds_one_address),
        TEST(survives_without_descriptors),
        TEST(listens_at_a_unix_socket),
        TEST(stops_gracefully),
        TEST(tells_those_who_are_cut_off),
        TEST(refuses_addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
