/* signals.c - what was sent is told once, and nothing ends the program */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "os/signals.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

static void test_news(void **state)
{
    struct pollfd news = { .events = POLLIN };
    struct err e = { 0 };

    (void)state;
    assert_int_equal(signals_open((int[]){ SIGTERM, SIGHUP, 0 }, &news.fd, &e), 0);
    assert_int_equal(signals_next(news.fd), 0);
    assert_int_equal(poll(&news, 1, 0), 0);
    (void)raise(SIGHUP);
    (void)raise(SIGTERM);
    assert_int_equal(poll(&news, 1, 0), 1);
    assert_int_equal(signals_next(news.fd), SIGHUP); /* the lower number first */
    assert_int_equal(signals_next(news.fd), SIGTERM);
    assert_int_equal(signals_next(news.fd), 0);
    close(news.fd);
}

static void test_no_reader(void **state)
{
    int pair[2], fd;
    struct err e = { 0 };

    (void)state;
    assert_int_equal(signals_open((int[]){ 0 }, &fd, &e), 0);
    assert_int_equal(pipe(pair), 0);
    close(pair[0]);
    assert_int_equal(write(pair[1], "x", 1), -1);
    close(pair[1]);
    close(fd);
    assert_int_equal(signals_next(-1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_news), cmocka_unit_test(test_no_reader) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
