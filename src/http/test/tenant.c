/* tenant.c - tests: clients that do not read, and bodies that do not end, by user and by address */
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
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

enum { CLIENTS = 16, BLOCK = 64 << 10 };

#define HOST "Host: x\r\n\r\n"

/* ---- a server: the first part of the path is the user ---- */

static struct {
    struct http_server *server;
    struct clock_manual clock;
    struct http_call *calls[CLIENTS]; /* "/ann/stream": answered bit by bit */
    struct http_stream *streams[CLIENTS];
    size_t n_calls, n_streams;
    int asked, heads, ready;
    size_t received; /* bytes of streams */
} t;

static void on_ready(void *ctx, struct http_call *call)
{
    (void)ctx;
    (void)call;
    t.ready++;
}

static void on_gone(void *ctx, struct http_call *call)
{
    (void)ctx;
    for (size_t i = 0; i < t.n_calls; i++)
        if (t.calls[i] == call)
            t.calls[i] = NULL;
}

static void on_stream_gone(void *ctx, struct http_stream *s)
{
    (void)ctx;
    for (size_t i = 0; i < t.n_streams; i++)
        if (t.streams[i] == s)
            t.streams[i] = NULL;
}

static void on_data(void *ctx, struct http_stream *s, struct str bytes)
{
    (void)ctx;
    t.received += bytes.n;
    http_stream_write(s, bytes);
}

static void charge(struct http_call *call)
{
    struct str rest = str_from(call->path, 1), user;

    if (str_split(&rest, '/', &user) && rest.n)
        http_call_charge(call, user, str_is(user, "root"));
}

static void on_head(void *ctx, struct http_call *call)
{
    (void)ctx;
    t.heads++;
    assert_int_equal(call->body.n, 0);
    if (str_starts(call->path, STR("/nobody/")))
        http_answer(call, &(struct http_reply){ .status = 401 }, STR("who?\n"));
    else
        charge(call);
}

static void on_request(void *ctx, struct http_call *call)
{
    static const struct http_call_events events = { .on_ready = on_ready, .on_gone = on_gone };
    static const struct http_stream_events stream = { .on_data = on_data, .on_gone = on_stream_gone };
    static const char *const headers[] = { "Upgrade: echo", NULL };
    autobuf big = { 0 };

    (void)ctx;
    t.asked++;
    charge(call);
    if (str_ends(call->path, STR("/stream"))) {
        http_call_watch(call, &events);
        http_answer_begin(call, &(struct http_reply){ .status = 200 });
        t.calls[t.n_calls++] = call;
    } else if (str_ends(call->path, STR("/up"))) {
        t.streams[t.n_streams++] = http_upgrade(call, headers, &stream);
    } else {
        buf_repeat(&big, 'x', str_ends(call->path, STR("/big")) ? 32 << 20 : 1);
        http_answer(call, &(struct http_reply){ .status = 200 }, buf_view(&big));
    }
}

static void start(struct http_server_limits limits)
{
    struct http_server_options opt = {
        .address = "127.0.0.1:0", .limits = limits, .on_head = on_head, .on_request = on_request
    };
    struct err e;

    clock_manual_init(&t.clock, 1700000000000);
    opt.clock = &t.clock.clock;
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
    return 0;
}

/* ---- clients ---- */

static void turns(void)
{
    for (int i = 0; i < 20; i++)
        http_server_turn(t.server);
}

static void pass(int64_t ms)
{
    clock_manual_advance(&t.clock, ms);
    turns();
}

static int client(void)
{
    static const int yes = 1, little = 4096; /* what the kernel holds says nothing about us */
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)http_server_port(t.server)) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    turns();
}

/* As much as is taken without anybody reading, of at most 'n' bytes. */
static size_t pour(int fd, size_t n)
{
    static char block[BLOCK];
    size_t at = 0;

    for (int idle = 0; at < n && idle < 50;) {
        ssize_t put = send(fd, block, MIN_OF(n - at, sizeof(block)), MSG_NOSIGNAL | MSG_DONTWAIT);

        idle = put > 0 ? 0 : idle + 1;
        at += put > 0 ? (size_t)put : 0;
        if (put <= 0)
            (void)poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, 5);
        turns();
    }
    return at;
}

/* All that comes, until there are 'want' bytes; true: and then the end. A machine that is busy takes its time, so whoever
 * wants something waits for it; for silence nobody waits long. */
static bool drain(int fd, struct buf *out, size_t want)
{
    enum { STEP_MS = 5, SILENCE = 20, PATIENCE = 4000 };
    char piece[BLOCK];

    for (int idle = 0; idle < (want == SIZE_MAX ? SILENCE : PATIENCE) && out->n < want;) {
        ssize_t n = recv(fd, piece, sizeof(piece), MSG_DONTWAIT);

        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return true;
        if (n > 0)
            buf_append(out, piece, (size_t)n);
        else
            (void)poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, STEP_MS);
        idle = n > 0 ? 0 : idle + 1;
        turns();
    }
    return false;
}

static bool is_over(int fd)
{
    autobuf unused = { 0 };

    return drain(fd, &unused, SIZE_MAX);
}

static bool hears(int fd, const char *text)
{
    autobuf out = { 0 };

    (void)drain(fd, &out, strlen(text));
    return out.n && strstr(out.p, text);
}

static struct http_server_stats stats(void)
{
    struct http_server_stats s;

    http_server_stats(t.server, &s);
    return s;
}

/* A request whose body is announced, and of which so much comes. */
static int post_half(const char *user, size_t n)
{
    autobuf head = { 0 };
    int fd = client();

    buf_fmt(&head, "POST /%s/x HTTP/1.1\r\nContent-Length: %d\r\n" HOST, user, 1 << 20);
    say(fd, head.p);
    assert_int_equal(pour(fd, n), n);
    return fd;
}

/* ---- bodies ---- */

static void refuses_by_the_head(void **state)
{
    autoclose int fd = -1, whole = -1, waits = -1;

    (void)state;
    start((struct http_server_limits){ 0 });
    fd = client();
    say(fd, "POST /nobody/x HTTP/1.1\r\nContent-Length: 4000000\r\n" HOST "a part of it");
    assert_int_equal(stats().held_bytes, 0);
    assert_int_equal(t.asked, 0);
    assert_true(hears(fd, "HTTP/1.1 401 Unauthorized\r\n"));
    assert_true(is_over(fd)); /* what follows is not taken for a request */
    waits = client();
    say(waits, "POST /nobody/x HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 40\r\n" HOST);
    assert_true(hears(waits, "HTTP/1.1 401 Unauthorized\r\n"));
    whole = client();
    say(whole, "POST /ann/x HTTP/1.1\r\nContent-Length: 5\r\n" HOST "whole");
    assert_int_equal(t.heads, 2); /* what is there already is asked about once */
    assert_true(hears(whole, "HTTP/1.1 200 OK\r\n"));
}

/* The one that has been silent longest goes, and only one of the same user. */
static void drops_the_stalest_of_a_user(void **state)
{
    autoclose int bob = -1, old = -1, middle = -1, fresh = -1;

    (void)state;
    start((struct http_server_limits){ .tenant_bytes = 5 << 19 }); /* there is room for two and a half */
    bob = post_half("bob", 300 << 10);
    old = post_half("ann", 300 << 10);
    pass(1000);
    middle = post_half("ann", 300 << 10);
    assert_int_equal(pour(old, 1000), 1000); /* it moves again, and is not the stalest any more */
    fresh = post_half("ann", 500 << 10);
    assert_true(is_over(middle));
    assert_false(is_over(old));
    assert_false(is_over(bob));
    assert_int_equal(stats().dropped_room, 1);
    assert_int_equal(pour(fresh, (1 << 20) - (500 << 10)), (1 << 20) - (500 << 10));
    assert_int_equal(t.asked, 1);
    assert_true(hears(fresh, "HTTP/1.1 200 OK\r\n"));
}

/* Together too much: those who have more than an equal part give, not those who have less. */
static void shares_what_there_is(void **state)
{
    autoclose int a = -1, b = -1, c = -1, d = -1, small = -1;

    (void)state;
    start((struct http_server_limits){ .held_bytes = 9 << 19 }); /* four and a half */
    a = post_half("ann", 500 << 10);
    b = post_half("ann", 500 << 10);
    c = post_half("ann", 500 << 10);
    small = post_half("bob", 500 << 10);
    assert_int_equal(stats().dropped_room, 0);
    d = post_half("ann", 500 << 10); /* now it is too much, and two and a quarter are the part of each */
    assert_true(is_over(a));
    assert_false(is_over(b)); /* one was enough */
    assert_false(is_over(c));
    assert_false(is_over(d));
    assert_false(is_over(small));
}

static void bodies_must_come_steadily(void **state)
{
    autoclose int steady = -1, silent = -1;

    (void)state;
    start((struct http_server_limits){ 0 });
    steady = post_half("ann", 1000);
    silent = post_half("ann", 1000);
    for (int i = 0; i < 20; i++) {
        pass(1000);
        (void)pour(steady, 20 << 10);
        if (i == 9)
            assert_false(is_over(silent)); /* and a second for its thousand bytes */
    }
    assert_true(is_over(silent));
    assert_false(is_over(steady));
    pass(40000);
    assert_true(hears(steady, "HTTP/1.1 408 "));
}

/* ---- answers and streams ---- */

static void an_answer_in_one_piece_goes_out(void **state)
{
    autoclose int fd = -1, other = -1;
    autobuf out = { 0 };

    (void)state;
    start((struct http_server_limits){ .tenant_bytes = 3 << 20 });
    other = post_half("ann", 300 << 10);
    fd = client();
    say(fd, "GET /ann/big HTTP/1.1\r\n" HOST);
    assert_true(is_over(other));
    (void)drain(fd, &out, (32 << 20) + 1);
    assert_true(out.n > 32 << 20);
}

static void drops_who_takes_nothing(void **state)
{
    static char block[4 << 20];
    autoclose int deaf = -1, slow = -1, quiet = -1;
    char some[BLOCK];

    (void)state;
    start((struct http_server_limits){ 0 });
    deaf = client();
    say(deaf, "GET /root/stream HTTP/1.1\r\n" HOST); /* administrators too */
    slow = client();
    say(slow, "GET /ann/stream HTTP/1.1\r\n" HOST);
    quiet = client();
    say(quiet, "GET /ann/stream HTTP/1.1\r\n" HOST);
    http_answer_write(t.calls[0], (struct str){ block, sizeof(block) });
    http_answer_write(t.calls[1], (struct str){ block, sizeof(block) });
    turns();
    for (int i = 0; i < 4; i++) {
        (void)!recv(slow, some, sizeof(some), MSG_DONTWAIT); /* less than makes the kernel ask us for more */
        pass(10000);
    }
    assert_null(t.calls[0]);
    assert_non_null(t.calls[1]);
    assert_non_null(t.calls[2]); /* to whom nothing is said owes nothing */
    assert_int_equal(stats().dropped_slow, 1);
}

/* What input causes is not made while much of it waits. */
static void reads_no_more_while_replies_wait(void **state)
{
    autoclose int fd = -1;
    autobuf out = { 0 };
    size_t sent;

    (void)state;
    start((struct http_server_limits){ 0 });
    fd = client();
    say(fd, "GET /ann/up HTTP/1.1\r\n" HOST);
    sent = pour(fd, 256 << 20);
    assert_non_null(t.streams[0]);
    assert_true(stats().held_bytes < 1 << 20);
    (void)drain(fd, &out, sent + 1);
    assert_int_equal(t.received, sent);
    assert_true(out.n > sent);
}

/* Much is queued for others of this user: who asks before he writes is told to wait, and when to go on. */
static void writers_wait_for_each_other(void **state)
{
    static char block[600 << 10];
    autoclose int full = -1, next = -1, bob = -1;
    autobuf out = { 0 };
    size_t written = 0;

    (void)state;
    start((struct http_server_limits){ .tenant_bytes = 32 << 20, .queue_bytes = 64 << 20 });
    full = client();
    say(full, "GET /ann/stream HTTP/1.1\r\n" HOST);
    next = client();
    say(next, "GET /ann/stream HTTP/1.1\r\n" HOST);
    bob = client();
    say(bob, "GET /bob/stream HTTP/1.1\r\n" HOST);
    for (int i = 0; i < 40 && http_call_queued(t.calls[0]) != SIZE_MAX; i++) {
        http_answer_write(t.calls[0], (struct str){ block, sizeof(block) });
        written += sizeof(block);
        turns();
    }
    t.ready = 0;
    assert_int_equal(http_call_queued(t.calls[2]), 0);
    assert_true(http_call_queued(t.calls[1]) == SIZE_MAX);
    turns();
    assert_int_equal(t.ready, 0);
    assert_false(drain(full, &out, written));
    turns();
    assert_int_equal(t.ready, 2); /* of the one that has sent all, and the one that waited */
    assert_int_equal(http_call_queued(t.calls[1]), 0);
}

/* What those above hold counts as well. */
static void counts_what_is_held_elsewhere(void **state)
{
    autoclose int a = -1, b = -1;

    (void)state;
    start((struct http_server_limits){ .tenant_bytes = 1 << 20 });
    a = client();
    say(a, "GET /ann/up HTTP/1.1\r\n" HOST);
    b = client();
    say(b, "GET /ann/up HTTP/1.1\r\n" HOST);
    http_stream_hold(t.streams[0], 700 << 10);
    http_stream_hold(t.streams[1], 700 << 10);
    turns();
    assert_null(t.streams[0]);
    assert_non_null(t.streams[1]);
    http_stream_hold(t.streams[1], 2 << 20);
    turns();
    assert_null(t.streams[1]);
    assert_int_equal(stats().held_bytes, 0);
    assert_int_equal(stats().dropped_room, 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(refuses_by_the_head),
        TEST(drops_the_stalest_of_a_user),
        TEST(shares_what_there_is),
        TEST(bodies_must_come_steadily),
        TEST(an_answer_in_one_piece_goes_out),
        TEST(drops_who_takes_nothing),
        TEST(reads_no_more_while_replies_wait),
        TEST(writers_wait_for_each_other),
        TEST(counts_what_is_held_elsewhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
