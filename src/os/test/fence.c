/* fence.c - tests: nothing is done after the moment, also by a program that was stopped before it */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "os/fence.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

static volatile uint64_t *deeds; /* shared with the child */

static int64_t boot_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_BOOTTIME, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A child that does something all the time, until 'after_ms' from now; 'ret_words': what it says in the end. */
static pid_t make_child(int64_t after_ms, int *ret_words)
{
    struct err e;
    int words[2];
    pid_t pid;

    assert_int_equal(pipe(words), 0);
    *deeds = 0;
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (fence_open(words[1], STR("the end\n"), 7, &e) < 0)
            _exit(99);
        fence_set(INT64_MAX);
        fence_set(boot_ms() + after_ms);
        for (;;)
            ++*deeds;
    }
    close(words[1]);
    *ret_words = words[0];
    return pid;
}

static void check_end(pid_t pid, int words)
{
    char text[32] = "";
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(read(words, text, sizeof(text) - 1), 8);
    assert_string_equal(text, "the end\n");
    close(words);
}

static void test_ends_what_runs(void **state)
{
    int words;
    pid_t pid = make_child(20, &words);

    check_end(pid, words);
    assert_true(*deeds > 0);
}

static void test_no_deed_after_a_stop(void **state)
{
    int words, status;
    pid_t pid = make_child(200, &words);
    uint64_t before;

    while (!*deeds)
        (void)poll(NULL, 0, 1);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    if (!WIFSTOPPED(status)) /* so busy a machine that it was too late */
        skip();
    before = *deeds;
    (void)poll(NULL, 0, 300);
    assert_int_equal(kill(pid, SIGCONT), 0);
    check_end(pid, words);
    assert_true(*deeds == before);
}

static void test_a_moment_that_is_put_off(void **state)
{
    struct err e;

    assert_int_equal(fence_open(2, STR("too early\n"), 7, &e), 0);
    fence_set(boot_ms() + 20);
    fence_set(INT64_MAX);
    (void)poll(NULL, 0, 40);
    fence_set(boot_ms() + 20);
    fence_close();
    fence_close();
    (void)poll(NULL, 0, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_what_runs),
        cmocka_unit_test(test_no_deed_after_a_stop),
        cmocka_unit_test(test_a_moment_that_is_put_off),
    };

    deeds = mmap(NULL, sizeof(*deeds), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return cmocka_run_group_tests_name("os/fence", tests, NULL, NULL);
}
