/* keeper.c - tests: the keeper finishes when the last of a family is gone, and only then */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "node/shim/keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char path[64]; /* there: finished */

static void finish(void *ctx)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd >= 0)
        close(fd);
}

static bool is_finished(void)
{
    return access(path, F_OK) == 0;
}

static int set_up(void **state)
{
    (void)snprintf(path, sizeof(path), "/tmp/pumice-keeper-%d", (int)getpid());
    (void)unlink(path);
    return prctl(PR_SET_CHILD_SUBREAPER, 1); /* the keeper becomes our child: its end is seen */
}

static int tear_down(void **state)
{
    (void)unlink(path);
    return 0;
}

struct family {
    pid_t program, heir;
};

/* A program with a keeper and one child that outlives it. */
static void make_family(struct family *f, int patience_ms)
{
    int pair[2];

    assert_int_equal(pipe(pair), 0);
    f->program = fork();
    if (f->program == 0) {
        struct keeper_options opt = { .name = "test", .finish = finish, .patience_ms = patience_ms };
        struct keeper *k;
        pid_t heir;

        if (keeper_start(&opt, &k, NULL) < 0)
            _exit(1);
        heir = fork();
        while (heir == 0)
            pause();
        if (write(pair[1], &heir, sizeof(heir)) != sizeof(heir))
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(pair[0], &f->heir, sizeof(f->heir)), sizeof(f->heir));
    close(pair[0]);
    close(pair[1]);
}

static void kill_one(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void wait_for_keeper(void)
{
    int status;

    assert_true(waitpid(-1, &status, 0) > 0);
    assert_int_equal(status, 0);
    assert_int_equal(waitpid(-1, &status, WNOHANG), -1); /* nobody else */
}

static void waits_for_the_last(void **state)
{
    struct family f;

    make_family(&f, 60000);
    kill_one(f.program);
    usleep(20000); /* time to be wrong in */
    assert_false(is_finished());
    kill_one(f.heir);
    wait_for_keeper();
    assert_true(is_finished());
}

static void waits_for_the_program(void **state)
{
    struct family f;

    make_family(&f, 0);
    assert_int_equal(kill(f.heir, SIGKILL), 0);
    usleep(20000);
    assert_false(is_finished());
    kill_one(f.program);
    assert_int_equal(waitpid(f.heir, NULL, 0), f.heir); /* it was the program's to reap */
    wait_for_keeper();
    assert_true(is_finished());
}

/* A stopped process never goes by itself. */
static void kills_who_does_not_go(void **state)
{
    struct family f;

    make_family(&f, 50);
    assert_int_equal(kill(f.heir, SIGSTOP), 0);
    kill_one(f.program);
    assert_int_equal(waitpid(f.heir, NULL, 0), f.heir);
    wait_for_keeper();
    assert_true(is_finished());
}

static void goes_without_a_word(void **state)
{
    struct keeper_options opt = { .name = "test", .finish = finish };
    struct keeper *k;

    assert_int_equal(keeper_start(&opt, &k, NULL), 0);
    keeper_stop(k);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_false(is_finished());
    keeper_stop(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(waits_for_the_last, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waits_for_the_program, set_up, tear_down),
        cmocka_unit_test_setup_teardown(kills_who_does_not_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(goes_without_a_word, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
