/* datagrams.c - answers find their senders; the silent are forgotten, and so are the oldest of too many */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "os/datagrams.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct world {
    struct sockaddr_in near, far; /* where senders send, and where it is led */
    int service;                  /* is at 'far' */
    size_t n_opened;
    bool is_shut; /* nothing is opened */
    struct datagrams *d;
};

static int bound(struct sockaddr_in *ret)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t n = sizeof(*ret);

    *ret = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)ret, n) == 0 &&
                getsockname(fd, (struct sockaddr *)ret, &n) == 0);
    return fd;
}

static int connected(const struct sockaddr_in *to)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0 && connect(fd, (const struct sockaddr *)to, sizeof(*to)) == 0);
    return fd;
}

static int reach(void *ctx)
{
    struct world *w = ctx;

    if (w->is_shut)
        return -1;
    w->n_opened++;
    return connected(&w->far);
}

static void world_init(struct world *w)
{
    int fd;

    *w = (struct world){ .service = -1 };
    w->service = bound(&w->far);
    fd = bound(&w->near);
    w->d = datagrams_new(fd, reach, w);
    assert_non_null(w->d);
}

static void world_done(struct world *w)
{
    datagrams_free(w->d);
    if (w->service >= 0)
        close(w->service);
}

static void turn(struct world *w, int64_t now_ms)
{
    struct pollfd p = { .fd = datagrams_fd(w->d), .events = POLLIN };

    for (int i = 0; i < 1000 && poll(&p, 1, 0) == 1; i++)
        datagrams_turn(w->d, now_ms);
    assert_int_equal(poll(&p, 1, 0), 0);
}

/* The service says each word back with a '!'. */
static void answer_all(const struct world *w)
{
    struct sockaddr_in from;
    socklen_t n_from = sizeof(from);
    char word[8];

    for (ssize_t n; (n = recvfrom(w->service, word, sizeof(word) - 1, 0, (struct sockaddr *)&from, &n_from)) >= 0;) {
        word[n++] = '!';
        assert_int_equal(sendto(w->service, word, (size_t)n, 0, (struct sockaddr *)&from, n_from), n);
    }
}

/* What comes back, "" if nothing does. */
static const char *ask(struct world *w, int fd, const char *word, int64_t now_ms)
{
    static char back[16];
    ssize_t n;

    assert_int_equal(send(fd, word, strlen(word), 0), strlen(word));
    turn(w, now_ms);
    if (w->service >= 0)
        answer_all(w);
    turn(w, now_ms);
    n = recv(fd, back, sizeof(back) - 1, 0);
    back[n < 0 ? 0 : n] = '\0';
    return back;
}

static void answers_find_their_senders(void **state)
{
    struct world w;
    int a, b;

    (void)state;
    world_init(&w);
    a = connected(&w.near);
    b = connected(&w.near);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(ask(&w, a, "a", 0), "a!");
        assert_string_equal(ask(&w, b, "bb", 0), "bb!");
        assert_string_equal(ask(&w, a, "", 0), "!");
    }
    assert_int_equal(w.n_opened, 2);
    close(a);
    close(b);
    world_done(&w);
}

static void the_silent_are_forgotten(void **state)
{
    struct world w;
    int a, b;

    (void)state;
    world_init(&w);
    a = connected(&w.near);
    b = connected(&w.near);
    assert_string_equal(ask(&w, a, "a", 0), "a!");
    assert_string_equal(ask(&w, a, "a", DATAGRAMS_IDLE_MS - 1), "a!");
    assert_string_equal(ask(&w, b, "b", DATAGRAMS_IDLE_MS + 1), "b!");
    assert_string_equal(ask(&w, a, "a", DATAGRAMS_IDLE_MS + 1), "a!");
    assert_int_equal(w.n_opened, 2);
    close(b);
    b = connected(&w.near); /* another sender: the first two are silent by now */
    assert_string_equal(ask(&w, b, "b", 3 * DATAGRAMS_IDLE_MS), "b!");
    assert_string_equal(ask(&w, a, "a", 3 * DATAGRAMS_IDLE_MS), "a!");
    assert_int_equal(w.n_opened, 4);
    close(a);
    close(b);
    world_done(&w);
}

static void too_many_push_out_the_oldest(void **state)
{
    struct world w;
    int fds[DATAGRAMS_MAX + 1];

    (void)state;
    world_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = connected(&w.near);
        assert_string_equal(ask(&w, fds[i], "a", (int64_t)i), "a!");
    }
    assert_int_equal(w.n_opened, DATAGRAMS_MAX + 1);
    assert_string_equal(ask(&w, fds[1], "a", 1000), "a!"); /* is there still */
    assert_int_equal(w.n_opened, DATAGRAMS_MAX + 1);
    assert_string_equal(ask(&w, fds[0], "a", 1000), "a!"); /* was the first */
    assert_int_equal(w.n_opened, DATAGRAMS_MAX + 2);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        close(fds[i]);
    world_done(&w);
}

/* The first datagram to nobody is answered by the kernel with an error, which must not cost the next one. */
static void nobody_and_then_somebody(void **state)
{
    struct world w;
    int a;

    (void)state;
    world_init(&w);
    a = connected(&w.near);
    w.is_shut = true;
    assert_string_equal(ask(&w, a, "a", 0), "");
    w.is_shut = false;
    close(w.service);
    w.service = -1;
    for (int i = 0; i < 3; i++)
        assert_string_equal(ask(&w, a, "a", 0), "");
    w.service = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(w.service, (struct sockaddr *)&w.far, sizeof(w.far)), 0);
    assert_string_equal(ask(&w, a, "a", 0), "a!");
    assert_int_equal(w.n_opened, 1);
    close(a);
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_find_their_senders),
        cmocka_unit_test(the_silent_are_forgotten),
        cmocka_unit_test(too_many_push_out_the_oldest),
        cmocka_unit_test(nobody_and_then_somebody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
