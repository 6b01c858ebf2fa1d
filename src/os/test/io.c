/* io.c - tests: all of the bytes, whatever comes between; what is no plain file; orders to the kernel */
#include "os/test/place.h"

#include <pthread.h>
#include <signal.h>

enum { MUCH = 3 << 20 };

/* ---- interruptions ---- */

static void on_signal(int signo)
{
    (void)signo;
}

struct writer {
    int fd;
    struct str bytes;
    int rc;
};

static void *write_in_thread(void *ctx)
{
    struct writer *w = ctx;

    w->rc = write_all(w->fd, w->bytes);
    close(w->fd);
    return NULL;
}

static char *pattern(size_t n)
{
    char *p = xmalloc(n);

    for (size_t i = 0; i < n; i++)
        p[i] = (char)(i * 31 + i / 4096);
    return p;
}

/* A pipe takes 64 KiB at once: every write is short, and signals without SA_RESTART come in between. */
static void test_pipe_with_signals(void **state)
{
    struct sigaction action = { .sa_handler = on_signal }, old;
    autofree char *bytes = pattern(MUCH);
    struct writer w = { .bytes = { bytes, MUCH } };
    autobuf got = { 0 };
    int pipes[2], n = 0;
    pthread_t thread;
    struct stat st;

    assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    w.fd = pipes[1];
    assert_int_equal(pthread_create(&thread, NULL, write_in_thread, &w), 0);
    while (got.n < MUCH) { /* the reader is slow, so that the writer waits when the signal comes */
        ssize_t more;

        for (int i = 0; i < 2; i++) { /* the first cuts a write short, the second finds one that wrote nothing yet */
            (void)usleep(1000);
            (void)pthread_kill(thread, SIGUSR1);
        }
        more = read(pipes[0], buf_reserve(&got, 70000), 70000);
        if (more <= 0)
            break;
        got.n += (size_t)more;
        n++;
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(n > 10);
    assert_int_equal(w.rc, 0);
    assert_int_equal(got.n, MUCH);
    assert_memory_equal(got.p, bytes, MUCH);
    assert_int_equal(fstat(pipes[0], &st), 0);
    close(pipes[0]);
    (void)sigaction(SIGUSR1, &old, NULL);
}

static void test_read_pipe(void **state)
{
    autofree char *bytes = pattern(MUCH);
    struct writer w = { .bytes = { bytes, MUCH } };
    autobuf got = { 0 };
    int pipes[2];
    pthread_t thread;

    buf_str(&got, STR("before "));
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    w.fd = pipes[1];
    assert_int_equal(pthread_create(&thread, NULL, write_in_thread, &w), 0);
    assert_int_equal(read_all(pipes[0], MUCH, &got), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    close(pipes[0]);
    assert_int_equal(got.n, 7 + MUCH);
    assert_memory_equal(got.p + 7, bytes, MUCH);
}

static void test_write_fails(void **state)
{
    autoclose int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

    assert_int_equal(write_all(full, STR("x")), -1);
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(write_all(full, STR_NULL), 0); /* nothing is always written */
    assert_int_equal(write_all(-1, STR("x")), -1);
    assert_int_equal(errno, EBADF);
}

static void test_write_at(void **state)
{
    autobuf got = { 0 };

    put("file", "0123456789");
    {
        autoclose int fd = openat(place, "file", O_WRONLY | O_CLOEXEC);

        assert_int_equal(pwrite_all(fd, STR("ab"), 4), 0);
        assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
    }
    assert_int_equal(file_read(place, "file", 0, 100, &got), 0);
    assert_string_equal(got.p, "0123ab6789");
}

/* ---- bounds ---- */

static void test_bounds(void **state)
{
    static const struct {
        size_t max;
        int rc;
        const char *text;
    } cases[] = { { 6, 0, "abcdef" }, { 7, 0, "abcdef" }, { 5, 1, "abcde" },
                  { 1, 1, "a" },      { 0, 1, "" },       { SIZE_MAX, 0, "abcdef" } };

    put("file", "abcdef");
    put("empty", "");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf got = { 0 };

        assert_int_equal(file_read(place, "file", 0, cases[i].max, &got), cases[i].rc);
        assert_string_equal(got.p, cases[i].text);
        assert_int_equal(got.n, strlen(cases[i].text));
        buf_reset(&got);
        assert_int_equal(file_read(place, "empty", 0, cases[i].max, &got), 0);
        assert_string_equal(got.p, ""); /* there is a NUL, also for nothing */
    }
}

/* A length that is a multiple of every step. */
static void test_long_file(void **state)
{
    autofree char *bytes = pattern(MUCH);
    autobuf got = { 0 };

    assert_int_equal(file_write(place, "file", O_EXCL, 0600, (struct str){ bytes, MUCH }), 0);
    assert_int_equal(file_read(place, "file", 0, MUCH, &got), 0);
    assert_int_equal(got.n, MUCH);
    assert_memory_equal(got.p, bytes, MUCH);
    buf_reset(&got);
    assert_int_equal(file_read(place, "file", 0, MUCH - 1, &got), 1);
    assert_int_equal(got.n, MUCH - 1);
}

/* ---- what is no file ---- */

static void test_read_refuses(void **state)
{
    static const struct {
        const char *path;
        int flags, no;
    } cases[] = {
        { "nowhere", 0, ENOENT }, { "fifo", 0, EINVAL }, { "dir", 0, EINVAL }, { "link", O_NOFOLLOW, ELOOP }
    };
    autoarena a = { 0 };

    put("file", "text");
    assert_int_equal(mkfifoat(place, "fifo", 0600), 0); /* nobody writes: a read that waits would wait for ever */
    assert_int_equal(mkdirat(place, "dir", 0700), 0);
    assert_int_equal(symlinkat("file", place, "link"), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf got = { 0 };

        assert_int_equal(file_read(place, cases[i].path, cases[i].flags, 100, &got), -1);
        assert_int_equal(errno, cases[i].no);
        assert_int_equal(file_text(&a, place, cases[i].flags ? "nowhere" : cases[i].path, 100).n, 0);
    }
    assert_string_equal(file_text(&a, place, "link", 100).p, "text");
    assert_string_equal(file_text(&a, place, "link", 3).p, "tex");
    assert_true(file_text(&a, AT_FDCWD, "/proc/self/stat", 4096).n > 10); /* says it has no bytes */
}

static void test_write_file(void **state)
{
    mode_t old = umask(027);
    autobuf got = { 0 };

    put("target", "kept");
    assert_int_equal(symlinkat("target", place, "link"), 0);
    assert_int_equal(file_write(place, "new", O_EXCL, 0666, STR("a longer text")), 0);
    (void)umask(old);
    assert_int_equal(mode_of("new"), 0640);
    assert_int_equal(file_write(place, "new", O_EXCL, 0666, STR("x")), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(file_write(place, "new", O_TRUNC, 0666, STR("short")), 0);
    assert_int_equal(file_read(place, "new", 0, 100, &got), 0);
    assert_string_equal(got.p, "short");
    assert_int_equal(file_write(place, "link", O_TRUNC, 0666, STR("x")), -1);
    assert_int_equal(errno, ELOOP);
    buf_reset(&got);
    assert_int_equal(file_read(place, "target", 0, 100, &got), 0);
    assert_string_equal(got.p, "kept");
}

static void test_control(void **state)
{
    put("control", "0123456789");
    assert_int_equal(control_write(place, "control", STR("+cpu")), 0);
    assert_int_equal(control_write(place, "nowhere", STR("+cpu")), -1);
    assert_int_equal(errno, ENOENT); /* it is never made */
    assert_false(is_there("nowhere"));
    assert_int_equal(control_write(AT_FDCWD, "/proc/self/oom_score_adj", STR("no number")), -1);
    assert_int_equal(errno, EINVAL);
}

static void test_memory_file(void **state)
{
    autofree char *bytes = pattern(MUCH);
    autoclose int fd = memory_file("test", (struct str){ bytes, MUCH });
    autobuf got = { 0 };

    assert_closes_on_exec(fd);
    assert_int_equal(read_all(fd, MUCH, &got), 0); /* from its beginning */
    assert_int_equal(got.n, MUCH);
    assert_memory_equal(got.p, bytes, MUCH);
}

static void test_errno(void **state)
{
    struct err e = { 0 };

    errno = ENOENT;
    assert_int_equal(io_errno(&e, "look for %s", "it"), -1);
    assert_int_equal(e.code, ERR_IO);
    assert_string_equal(e.text, "look for it: No such file or directory");
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, place_make, place_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pipe_with_signals),
        cmocka_unit_test(test_read_pipe),
        cmocka_unit_test(test_write_fails),
        WITH_PLACE(test_write_at),
        WITH_PLACE(test_bounds),
        WITH_PLACE(test_long_file),
        WITH_PLACE(test_read_refuses),
        WITH_PLACE(test_write_file),
        WITH_PLACE(test_control),
        cmocka_unit_test(test_memory_file),
        cmocka_unit_test(test_errno),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
