/* relay.c - bytes both ways, ends one by one, and sides that fail or are slow */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "os/relay.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct ends { /* what two programs have in their hands */
    int left, right;
};

static struct ends open_pair(struct relay *r)
{
    int a[2], b[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, a), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, b), 0);
    relay_add(r, a[1], b[1]);
    return (struct ends){ a[0], b[0] };
}

/* Is there nothing to do, so that a loop would sleep? */
static bool is_quiet(struct relay *r)
{
    struct pollfd p = { .fd = relay_fd(r), .events = POLLIN };

    for (int i = 0; i < 1000 && poll(&p, 1, 0) == 1; i++)
        relay_turn(r);
    return poll(&p, 1, 0) == 0;
}

static void much_goes_both_ways(void **state)
{
    enum { N = 3 << 20 };
    struct relay *r = relay_new();
    struct ends e = open_pair(r);
    size_t sent[2] = { 0 }, got[2] = { 0 };
    int fds[2] = { e.left, e.right };
    char piece[5000], back[7000];

    (void)state;
    while (got[0] < N || got[1] < N) {
        for (int i = 0; i < 2; i++) {
            size_t want = MIN_OF(sizeof(piece), N - sent[i]);
            ssize_t n;

            for (size_t k = 0; k < want; k++)
                piece[k] = (char)((sent[i] + k) * 31 >> 4);
            n = want ? send(fds[i], piece, want, MSG_NOSIGNAL) : 0;
            sent[i] += n > 0 ? (size_t)n : 0;
            relay_turn(r);
            n = recv(fds[i], back, sizeof(back), 0);
            for (ssize_t k = 0; k < n; k++)
                assert_int_equal(back[k], (char)((got[i] + (size_t)k) * 31 >> 4));
            got[i] += n > 0 ? (size_t)n : 0;
        }
    }
    assert_true(is_quiet(r));
    shutdown(e.left, SHUT_WR);
    assert_true(is_quiet(r));
    assert_int_equal(recv(e.right, back, 1, 0), 0); /* the end is told */
    assert_int_equal(send(e.right, "x", 1, 0), 1);  /* the other side goes on */
    assert_true(is_quiet(r));
    assert_int_equal(recv(e.left, back, 1, 0), 1);
    assert_int_equal(relay_count(r), 1);
    shutdown(e.right, SHUT_WR);
    assert_true(is_quiet(r));
    assert_int_equal(relay_count(r), 0);
    close(e.left);
    close(e.right);
    relay_free(r);
}

/* One that reads nothing holds little, and nothing turns round meanwhile; nor when the other side has left. */
static void a_slow_side_waits(void **state)
{
    struct relay *r = relay_new();
    struct ends e = open_pair(r);
    char piece[65536] = { 0 };
    size_t sent = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        ssize_t n = send(e.left, piece, sizeof(piece), MSG_NOSIGNAL);

        sent += n > 0 ? (size_t)n : 0;
        assert_true(is_quiet(r));
    }
    assert_true(sent < 4 << 20);
    close(e.left);
    assert_true(is_quiet(r));
    assert_int_equal(relay_count(r), 1);
    close(e.right);
    assert_true(is_quiet(r));
    assert_int_equal(relay_count(r), 0);
    relay_free(r);
}

static void nobody_is_there(void **state)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    int to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), pair[2];
    autoclose int taken = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* bound, and nobody listens */
    struct relay *r = relay_new();
    struct pollfd p = { .events = POLLIN };
    socklen_t n = sizeof(at);
    char byte;

    (void)state;
    assert_int_equal(bind(taken, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(getsockname(taken, (struct sockaddr *)&at, &n), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    assert_true(connect(to, (struct sockaddr *)&at, sizeof(at)) == 0 || errno == EINPROGRESS || errno == ECONNREFUSED);
    relay_add(r, pair[1], to);
    (void)open_pair(r); /* cut at the end */
    p.fd = pair[0];
    while (poll(&p, 1, 10) == 0)
        relay_turn(r);
    assert_int_equal(recv(pair[0], &byte, 1, 0), 0);
    close(pair[0]);
    assert_int_equal(relay_count(r), 1);
    relay_free(r);
    relay_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(much_goes_both_ways),
        cmocka_unit_test(a_slow_side_waits),
        cmocka_unit_test(nobody_is_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
