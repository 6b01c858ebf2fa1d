/* lock.c - tests: who holds a lock, when it is free again, and what is not taken for one */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "os/lock.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char top[64];
static int dir;

static int set_up(void **state)
{
    (void)snprintf(top, sizeof(top), "/tmp/pumice-lock.XXXXXX");
    if (!mkdtemp(top))
        return -1;
    dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = { "lock", "target" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        (void)unlinkat(dir, names[i], 0);
    close(dir);
    return rmdir(top);
}

static enum err_code try(int wait_ms)
{
    struct err e = { 0 };
    int fd;

    if (lock_take(dir, "lock", wait_ms, &fd, &e) < 0)
        return e.code;
    close(fd);
    return ERR_OK;
}

/* A child that lives until it is killed, with all that is open now. */
static pid_t make_child(void)
{
    pid_t pid = fork();

    if (pid == 0)
        for (;;)
            pause();
    assert_true(pid > 0);
    return pid;
}

static void kill_child(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void is_held_until_the_last_is_gone(void **state)
{
    pid_t heirs[2];
    int fd;

    assert_int_equal(lock_take(dir, "lock", 0, &fd, NULL), 0);
    assert_int_equal(try(0), ERR_CONFLICT);
    assert_int_equal(try(5), ERR_CONFLICT);
    for (int i = 0; i < 2; i++)
        heirs[i] = make_child();
    close(fd);
    assert_int_equal(try(0), ERR_CONFLICT);
    kill_child(heirs[0]);
    assert_int_equal(try(0), ERR_CONFLICT);
    kill_child(heirs[1]);
    assert_int_equal(try(0), ERR_OK);
    assert_int_equal(try(0), ERR_OK); /* the file that stays is free */
}

static void is_seen_from_other_namespaces(void **state)
{
    int fd, status;
    pid_t pid;

    assert_int_equal(lock_take(dir, "lock", 0, &fd, NULL), 0);
    pid = fork();
    if (pid == 0) {
        close(fd);
        if (unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC) < 0)
            _exit(77);
        _exit(try(0) == ERR_CONFLICT ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(fd);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip(); /* not root */
    assert_int_equal(status, 0);
}

static void refuses_what_others_made(void **state)
{
    int fd = openat(dir, "target", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    struct stat st;

    close(fd);
    assert_int_equal(symlinkat("target", dir, "lock"), 0);
    assert_int_not_equal(try(0), ERR_OK);
    assert_int_equal(unlinkat(dir, "lock", 0), 0);
    assert_int_equal(symlinkat("nowhere", dir, "lock"), 0);
    assert_int_not_equal(try(0), ERR_OK);
    assert_int_equal(fstatat(dir, "nowhere", &st, 0), -1); /* nothing was made behind it */
    assert_int_equal(unlinkat(dir, "lock", 0), 0);
    assert_int_equal(mkfifoat(dir, "lock", 0600), 0);
    assert_int_equal(try(0), ERR_FORBIDDEN);
    assert_int_equal(unlinkat(dir, "lock", 0), 0);
    fd = openat(dir, "lock", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(fchmod(fd, 0644), 0); /* others could hold it */
    assert_int_equal(try(0), ERR_FORBIDDEN);
    assert_int_equal(fchmod(fd, 0600), 0);
    assert_int_equal(try(0), ERR_OK);
    if (geteuid() == 0) {
        assert_int_equal(fchown(fd, 65534, 65534), 0);
        assert_int_equal(try(0), ERR_FORBIDDEN);
    }
    close(fd);
}

static enum err_code try_dir(const char *path)
{
    struct err e = { 0 };
    int fd;

    if (lock_dir_open(path, &fd, &e) < 0)
        return e.code;
    close(fd);
    return ERR_OK;
}

static void refuses_directories_of_others(void **state)
{
    static const mode_t open_to_others[] = { 0770, 0707, 01777, 0777 };
    char link[80];

    assert_int_equal(try_dir(top), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(open_to_others); i++) {
        assert_int_equal(fchmod(dir, open_to_others[i]), 0);
        assert_int_equal(try_dir(top), ERR_FORBIDDEN);
    }
    assert_int_equal(fchmod(dir, 0755), 0);
    assert_int_equal(try_dir(top), ERR_OK);
    (void)snprintf(link, sizeof(link), "%s/target", top);
    assert_int_equal(symlink(top, link), 0);
    assert_int_not_equal(try_dir(link), ERR_OK);
    if (geteuid() == 0) {
        assert_int_equal(fchown(dir, 65534, 65534), 0);
        assert_int_equal(try_dir(top), ERR_FORBIDDEN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(is_held_until_the_last_is_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(is_seen_from_other_namespaces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_what_others_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_directories_of_others, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
