/* supervisor.c - sockets that are given, words that arrive, and what is not for us */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "os/supervisor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void set_number(const char *name, long n)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%ld", n);
    setenv(name, text, 1);
}

/* At descriptors 3 and 4: one that listens, one that does not. */
static void give_sockets(long pid)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), other = socket(AF_UNIX, SOCK_STREAM, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(sa_family_t)), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(dup2(fd, 100), 100);
    assert_int_equal(dup2(other, 101), 101);
    close(fd);
    close(other);
    assert_int_equal(dup2(100, 3), 3);
    assert_int_equal(dup2(101, 4), 4);
    close(100);
    close(101);
    set_number("LISTEN_PID", pid);
    set_number("LISTEN_FDS", 2);
}

static void sockets(void **state)
{
    struct supervisor s;

    give_sockets(getpid());
    supervisor_init(&s);
    assert_int_equal(s.n_sockets, 1);
    assert_int_equal(s.sockets[0], 3);
    assert_int_equal(s.sockets[1], -1);
    assert_int_equal(fcntl(3, F_GETFD), FD_CLOEXEC);
    assert_null(getenv("LISTEN_FDS"));
    give_sockets(getpid() + 1);
    supervisor_init(&s);
    assert_int_equal(s.n_sockets, 0);
    setenv("LISTEN_FDS", "99999999999999999999", 1);
    set_number("LISTEN_PID", getpid());
    supervisor_init(&s);
    assert_int_equal(s.n_sockets, 0);
    supervisor_tell(&s, "READY=1"); /* to nobody */
    assert_true(supervisor_turn(&s, 1) == INT64_MAX);
}

static void hear(int fd, const char *wanted)
{
    char text[200] = { 0 };
    ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

    assert_int_equal(n < 0 ? 0 : n, (ssize_t)strlen(text));
    if (!strstr(text, wanted) || (!wanted[0] && n > 0))
        fail_msg("\"%s\" instead of \"%s\"", text, wanted);
}

static void words(void **state)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    autoclose int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    char name[64];
    struct supervisor s;

    (void)snprintf(name, sizeof(name), "@pumice-supervisor-%d", (int)getpid());
    memcpy(at.sun_path + 1, name + 1, strlen(name) - 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, (socklen_t)(sizeof(sa_family_t) + strlen(name))), 0);
    setenv("NOTIFY_SOCKET", name, 1);
    setenv("WATCHDOG_USEC", "2000000", 1);
    set_number("WATCHDOG_PID", getpid());
    supervisor_init(&s);
    assert_null(getenv("NOTIFY_SOCKET"));
    supervisor_tell(&s, "READY=1\nSTATUS=x");
    hear(fd, "READY=1\nSTATUS=x");
    supervisor_tell_reload(&s);
    hear(fd, "RELOADING=1\nMONOTONIC_USEC=");
    assert_true(supervisor_turn(&s, 5000) == 1000);
    hear(fd, "WATCHDOG=1");
    assert_true(supervisor_turn(&s, 5999) == 1);
    hear(fd, "");
    assert_true(supervisor_turn(&s, 6000) == 1000);
    hear(fd, "WATCHDOG=1");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sockets), cmocka_unit_test(words) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
