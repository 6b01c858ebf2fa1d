/* status_server.c - tests: questions, nonsense, slow and greedy clients */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "http/status_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { BIG = 4 << 20 };

static void on_request(void *ctx, struct str path, struct status_answer *ret)
{
    int *asked = ctx;

    (*asked)++;
    if (str_is(path, "/big")) {
        ret->status = 200;
        buf_repeat(ret->body, 'x', BIG);
        return;
    }
    ret->status = str_is(path, "/down") ? 503 : 200;
    buf_fmt(ret->body, "you asked for %.*s\n", STR_ARG(path));
}

static int asked;
static struct status_server *server;

static int begin(void **state)
{
    struct err e;

    (void)state;
    asked = 0;
    return status_server_open("127.0.0.1:0", on_request, &asked, &server, &e);
}

static int end(void **state)
{
    (void)state;
    status_server_close(server);
    return 0;
}

static int client(void)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)status_server_port(server)) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

/* What it answers until it closes; the server works in between. */
static void hear(int fd, struct buf *out)
{
    for (;;) {
        char piece[65536];
        ssize_t n = recv(fd, piece, sizeof(piece), MSG_DONTWAIT);

        if (n > 0)
            buf_append(out, piece, (size_t)n);
        else if (n == 0 || (errno != EAGAIN && errno != EINTR))
            return;
        status_server_turn(server);
    }
}

static void check(const char *request, const char *answer)
{
    autoclose int fd = client();
    autobuf out = { 0 };

    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
    hear(fd, &out);
    if (!out.p || !strstr(out.p, answer))
        fail_msg("%s: %s", request, out.p ? out.p : "nothing");
}

static void answers(void **state)
{
    (void)state;
    check("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Type: text/plain");
    check("GET /metrics?x=1 HTTP/1.1\r\n\r\n", "\r\n\r\nyou asked for /metrics\n");
    check("GET /metrics HTTP/1.0\n\n", "Content-Length: 23\r\n");
    check("GET /down HTTP/1.1\r\n\r\n", "HTTP/1.1 503 Service Unavailable\r\n");
    check("HEAD /a HTTP/1.1\r\n\r\n", "Content-Length: 17\r\n");
}

static void refuses(void **state)
{
    autobuf longest = { 0 };

    (void)state;
    check("POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405 ");
    check("GET http://evil/ HTTP/1.1\r\n\r\n", "HTTP/1.1 400 ");
    check("GET /a\r\n\r\n", "HTTP/1.1 400 ");
    check("\r\n\r\n", "HTTP/1.1 400 ");
    check("\x16\x03\x01\x02\n\n", "HTTP/1.1 400 "); /* a client that tries TLS */
    buf_fmt(&longest, "GET /");
    buf_repeat(&longest, 'a', 9000);
    check(longest.p, "HTTP/1.1 431 ");
    assert_int_equal(asked, 0);
}

static void takes_it_in_pieces(void **state)
{
    static const char request[] = "GET /a HTTP/1.1\r\n\r\n";
    autoclose int fd = client();
    autobuf out = { 0 };

    (void)state;
    for (size_t i = 0; request[i]; i++) {
        assert_int_equal(send(fd, request + i, 1, MSG_NOSIGNAL), 1);
        status_server_turn(server);
    }
    hear(fd, &out);
    assert_non_null(strstr(out.p, "you asked for /a"));
    assert_int_equal(asked, 1);
}

static void gives_it_in_pieces(void **state)
{
    static const char request[] = "GET /big HTTP/1.1\r\n\r\n";
    autoclose int fd = client(), gone = client();
    autobuf out = { 0 };

    (void)state;
    assert_true(send(fd, request, strlen(request), MSG_NOSIGNAL) > 0);
    assert_true(send(gone, request, strlen(request), MSG_NOSIGNAL) > 0);
    for (int i = 0; i < 5; i++)
        status_server_turn(server);
    (void)shutdown(gone, SHUT_RDWR); /* in the middle of its answer */
    hear(fd, &out);
    assert_true(out.n > BIG && out.p[out.n - 1] == 'x');
}

/* Those who only hold a place lose it. */
static void has_room_for_one_more(void **state)
{
    int idle[100];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(idle); i++) {
        idle[i] = client();
        status_server_turn(server);
    }
    check("GET /a HTTP/1.1\r\n\r\n", "you asked for /a");
    for (size_t i = 0; i < ARRAY_LEN(idle); i++)
        close(idle[i]);
}

static void addresses(void **state)
{
    static const char *const bad[] = { "8081", "", "localhost:", "localhost:http", "[::1:80", "256.1.1.1:80" };
    struct status_server *other;
    struct err e;
    char taken[32];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        e.text[0] = '\0';
        assert_int_equal(status_server_open(bad[i], on_request, &asked, &other, &e), -1);
        assert_non_null(strstr(e.text, bad[i]));
    }
    (void)snprintf(taken, sizeof(taken), "127.0.0.1:%u", status_server_port(server));
    assert_int_equal(status_server_open(taken, on_request, &asked, &other, &e), -1);
    assert_non_null(strstr(e.text, "Address already in use"));
    assert_int_equal(status_server_open(":0", on_request, &asked, &other, &e), 0);
    status_server_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers, begin, end),
        cmocka_unit_test_setup_teardown(refuses, begin, end),
        cmocka_unit_test_setup_teardown(takes_it_in_pieces, begin, end),
        cmocka_unit_test_setup_teardown(gives_it_in_pieces, begin, end),
        cmocka_unit_test_setup_teardown(has_room_for_one_more, begin, end),
        cmocka_unit_test_setup_teardown(addresses, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
