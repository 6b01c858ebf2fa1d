/* conlog.c - tests: every byte a container wrote can be read again, in order, over turns and full disks */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "node/shim/conlog.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

static const int64_t AT = 1772357400000250123; /* 2026-03-01T09:30:00.000250123Z */

static char dir[64];
static char path[96];

static void clean(void)
{
    DIR *d = opendir(dir);

    for (struct dirent *f; d && (f = readdir(d));)
        (void)unlinkat(dirfd(d), f->d_name, 0);
    if (d)
        closedir(d);
}

static int setup(void **state)
{
    clean();
    return 0;
}

static void read_file(struct buf *out, const char *suffix)
{
    char name[128];

    (void)snprintf(name, sizeof(name), "%s%s", path, suffix);
    autoclose int fd = open(name, O_RDONLY | O_CLOEXEC);
    for (ssize_t n = 1; fd >= 0 && n > 0; out->n += n > 0 ? (size_t)n : 0)
        n = read(fd, buf_reserve(out, 4096), 4096);
    buf_append(out, "", 0);
}

/* ---- what is on disk ---- */

#define T "2026-03-01T09:30:00.000250123Z "

static const struct {
    const char *name;
    struct {
        enum conlog_stream stream;
        const char *text; /* NULL: the end of the stream */
    } puts[6];
    size_t n;
    const char *want;
} cases[] = {
    { "a line", { { 0, "hello\n" } }, 1, T "stdout F hello\n" },
    { "stderr", { { 1, "oops\n" } }, 1, T "stderr F oops\n" },
    { "empty line", { { 0, "\n\n" } }, 1, T "stdout F \n" T "stdout F \n" },
    { "in pieces",
      { { 0, "hel" }, { 0, "lo" }, { 0, "\nwor" }, { 0, "ld\n" } },
      4,
      T "stdout F hello\n" T "stdout F world\n" },
    { "both", { { 0, "a" }, { 1, "b" }, { 0, "1\n" }, { 1, "2\n" } }, 4, T "stdout F a1\n" T "stderr F b2\n" },
    { "not finished", { { 0, "hello" }, { 0, NULL } }, 2, T "stdout F:U hello\n" },
    { "finished", { { 0, "hello\n" }, { 0, NULL } }, 2, T "stdout F hello\n" },
    { "not ended", { { 0, "hello" } }, 1, "" },
    { "carriage return", { { 0, "50%\r100%\r\n" } }, 1, T "stdout F 50%\r100%\r\n" },
    { "a bar",
      { { 0, "\r10%" }, { 0, "\r20%" }, { 0, "\r99%\ndone\n" } },
      3,
      T "stdout P \r10%\n" T "stdout P \r20%\n" T "stdout F \r99%\n" T "stdout F done\n" },
    { "a bar, cut in a character",
      { { 0, "\r\xe2\x96" }, { 0, "\x88\xe2" }, { 0, "\x96\x88\n" } },
      3,
      T "stdout P \r\n" T "stdout P \xe2\x96\x88\n" T "stdout F \xe2\x96\x88\n" },
    { "a bar that ends", { { 0, "10%\r" }, { 0, NULL }, { 1, NULL } }, 3, T "stdout P 10%\r\n" T "stdout F:U \n" },
    { "a line after a bar",
      { { 0, "1\r" }, { 0, "2\nab" }, { 0, "c\n" } },
      3,
      T "stdout P 1\r\n" T "stdout F 2\n" T "stdout F abc\n" },
    { "nothing", { { 0, "" }, { 0, NULL }, { 1, NULL } }, 3, "" },
};

static void test_records(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct conlog *l;
        autobuf got = { 0 };

        clean();
        assert_int_equal(conlog_open(path, 0, &l, NULL), 0);
        for (size_t k = 0; k < cases[i].n; k++) {
            if (cases[i].puts[k].text)
                conlog_put(l, cases[i].puts[k].stream, str_of(cases[i].puts[k].text), AT);
            else
                conlog_end(l, cases[i].puts[k].stream, AT);
        }
        conlog_close(l);
        read_file(&got, "");
        if (!str_is(buf_view(&got), cases[i].want))
            fail_msg("%s: got %s, not %s", cases[i].name, got.p, cases[i].want);
    }
}

static void test_long_lines(void **state)
{
    static const struct {
        size_t line;
        const char *tags; /* of its records */
    } lines[] = {
        { CONLOG_LINE - 1, "F" },  { CONLOG_LINE, "F" },           { CONLOG_LINE + 1, "PF" },
        { CONLOG_LINE * 2, "PF" }, { CONLOG_LINE * 2 + 1, "PPF" },
    };

    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        for (size_t piece = 1000; piece <= 100000; piece *= 10) {
            struct conlog_line line;
            struct conlog *l;
            autobuf text = { 0 }, tags = { 0 }, all = { 0 };

            clean();
            for (size_t k = 0; k < lines[i].line; k++)
                buf_char(&text, (char)('a' + k % 26));
            buf_char(&text, '\n');
            assert_int_equal(conlog_open(path, 0, &l, NULL), 0);
            for (size_t at = 0; at < text.n; at += piece)
                conlog_put(l, CONLOG_STDOUT, str_sub(buf_view(&text), at, piece), AT);
            conlog_close(l);
            struct conlog_reader *r = conlog_reader_new(path);
            while (conlog_next(r, &line)) {
                buf_char(&tags, line.is_partial ? 'P' : 'F');
                buf_str(&all, line.text);
                assert_true(line.text.n <= CONLOG_LINE);
            }
            conlog_reader_free(r);
            buf_char(&all, '\n');
            if (!str_is(buf_view(&tags), lines[i].tags) || !str_eq(buf_view(&all), buf_view(&text)))
                fail_msg("line of %zu in pieces of %zu: tags %s", lines[i].line, piece, tags.p);
        }
}

static void test_binary(void **state)
{
    char bytes[512];
    struct conlog_line line;
    struct conlog *l;
    autobuf all = { 0 };
    bool is_begun = true;

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)i;
    assert_int_equal(conlog_open(path, 0, &l, NULL), 0);
    conlog_put(l, CONLOG_STDERR, (struct str){ bytes, sizeof(bytes) }, AT);
    conlog_end(l, CONLOG_STDERR, AT);
    conlog_close(l);
    struct conlog_reader *r = conlog_reader_new(path);
    while (conlog_next(r, &line)) {
        assert_int_equal(line.at_ns, AT);
        assert_int_equal(line.stream, CONLOG_STDERR);
        if (!is_begun)
            buf_char(&all, '\n');
        is_begun = line.is_partial;
        buf_str(&all, line.text);
    }
    conlog_reader_free(r);
    assert_true(str_eq(buf_view(&all), (struct str){ bytes, sizeof(bytes) }));
}

static void test_parse(void **state)
{
    static const struct {
        const char *text;
        bool is_record;
    } records[] = {
        { T "stdout F x", true },
        { T "stderr P ", true },
        { "2026-03-01T09:30:00Z stdout F x y z", true },
        { T "stdout F", false },
        { T "stdin F x", false },
        { T "stdout X x", false },
        { "yesterday stdout F x", false },
        { "4052-02-22T09:30:01Z stdout F x", false }, /* more nanoseconds than there are */
        { "", false },
        { " ", false },
        { "   ", false },
        { "hello world of text", false },
    };
    struct conlog_line line;

    for (size_t i = 0; i < ARRAY_LEN(records); i++) {
        bool is_record = conlog_parse(str_of(records[i].text), &line);

        if (is_record != records[i].is_record || (!is_record && !str_is(line.text, records[i].text)))
            fail_msg("\"%s\": %d", records[i].text, is_record);
    }
}

/* ---- turning over ---- */

static void put_numbers(struct conlog *l, int from, int to)
{
    for (int i = from; i < to; i++) {
        char text[32];

        conlog_put(l, CONLOG_STDOUT, (struct str){ text, (size_t)snprintf(text, sizeof(text), "line %d\n", i) },
                   AT + i);
    }
    conlog_flush(l);
}

/* Numbers as far as they are there; each is one more than the last. */
static int take_numbers(struct conlog_reader *r, int next)
{
    struct conlog_line line;

    while (conlog_next(r, &line)) {
        char want[32];

        (void)snprintf(want, sizeof(want), "line %d", next);
        if (!str_is(line.text, want) || line.at_ns != AT + next)
            fail_msg("got \"%.*s\", not \"%s\"", STR_ARG(line.text), want);
        next++;
    }
    return next;
}

static void test_turn_over(void **state)
{
    struct stat st;
    struct conlog *l;
    char name[128];

    assert_int_equal(conlog_open(path, 1000, &l, NULL), 0);
    put_numbers(l, 0, 1000);
    conlog_close(l);
    for (int i = 1; i < CONLOG_KEPT + 2; i++) {
        (void)snprintf(name, sizeof(name), "%s.%d", path, i);
        if (i >= CONLOG_KEPT) {
            assert_int_equal(stat(name, &st), -1);
        } else {
            assert_int_equal(stat(name, &st), 0);
            assert_in_range(st.st_size, 1001, 1100);
        }
    }
    struct conlog_reader *r = conlog_reader_new(path); /* of what is kept, all, in order */
    struct conlog_line line;
    int n = 0;
    int64_t last = 0;
    while (conlog_next(r, &line)) {
        assert_true(!last || line.at_ns == last + 1);
        last = line.at_ns;
        n++;
    }
    assert_int_equal(last, AT + 999);
    assert_in_range(n, 80, 140);
    conlog_reader_free(r);
}

/* A reader in step with the writer misses nothing, whatever the turns do between. */
static void test_follow(void **state)
{
    for (int step = 1; step < 70; step += 3) {
        struct conlog *l;
        struct conlog_reader *r;
        int next = 0;

        clean();
        r = conlog_reader_new(path);
        assert_int_equal(take_numbers(r, 0), 0); /* not there yet */
        assert_int_equal(conlog_open(path, 1000, &l, NULL), 0);
        for (int i = 0; i < 500; i += step) {
            put_numbers(l, i, i + step);
            next = take_numbers(r, next);
            if (next != i + step)
                fail_msg("step %d: %d of %d lines", step, next, i + step);
        }
        conlog_close(l);
        conlog_reader_free(r);
    }
}

/* A reader that is too slow goes on with the oldest file there is. */
static void test_left_behind(void **state)
{
    struct conlog *l;
    struct conlog_reader *r = conlog_reader_new(path);
    struct conlog_line line;
    int64_t last = 0;

    assert_int_equal(conlog_open(path, 1000, &l, NULL), 0);
    put_numbers(l, 0, 5);
    assert_int_equal(take_numbers(r, 0), 5);
    put_numbers(l, 5, 1000);
    while (conlog_next(r, &line)) {
        assert_true(line.at_ns > last);
        last = line.at_ns;
    }
    assert_int_equal(last, AT + 999);
    conlog_close(l);
    conlog_reader_free(r);
}

static void test_not_ours(void **state)
{
    static const char begin[] = "just text\n" T "stdout F re";
    struct conlog_reader *r = conlog_reader_new(path);
    struct conlog_line line;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    size_t n = 0;
    autobuf long_line = { 0 };

    assert_int_equal(write(fd, begin, sizeof(begin) - 1), sizeof(begin) - 1);
    assert_true(conlog_next(r, &line) && str_is(line.text, "just text") && line.stream == CONLOG_STDOUT);
    assert_false(conlog_next(r, &line));
    assert_int_equal(write(fd, "st\n", 3), 3);
    assert_true(conlog_next(r, &line) && str_is(line.text, "rest"));
    buf_repeat(&long_line, 'x', 200000);
    assert_int_equal(write(fd, long_line.p, long_line.n), (ssize_t)long_line.n);
    while (conlog_next(r, &line))
        n += line.text.n;
    assert_in_range(n, 190000 - (64 << 10), 200000);
    close(fd);
    conlog_reader_free(r);
}

/* ---- the tail ---- */

static void test_tail(void **state)
{
    static const struct {
        size_t max;
        int lines;
        const char *want;
    } tails[] = {
        { 100, 1, "line 299\n" }, { 100, 2, "line 298\nline 299\n" }, { 100, 0, "" }, { 0, 10, "" },
        { 4, 10, "299\n" },       { 12, 10, "98\nline 299\n" },
    };
    struct conlog *l;
    autobuf all = { 0 };

    conlog_tail(path, 100, 10, &all);
    assert_int_equal(all.n, 0);
    assert_int_equal(conlog_open(path, 2000, &l, NULL), 0);
    put_numbers(l, 0, 300);
    for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
        autobuf got = { 0 };

        conlog_tail(path, tails[i].max, tails[i].lines, &got);
        if (!str_is(buf_view(&got), tails[i].want))
            fail_msg("%zu bytes, %d lines: got \"%s\"", tails[i].max, tails[i].lines, got.p ? got.p : "");
    }
    conlog_tail(path, 2048, 80, &all); /* more than the current file has */
    assert_true(str_ends(buf_view(&all), STR("line 299\n")) && all.n > 300);
    conlog_close(l);
}

static void test_tail_long(void **state)
{
    struct conlog *l;
    autobuf text = { 0 }, got = { 0 };

    buf_repeat(&text, 'x', 100000);
    buf_str(&text, STR("the end"));
    assert_int_equal(conlog_open(path, 0, &l, NULL), 0);
    conlog_put(l, CONLOG_STDOUT, buf_view(&text), AT);
    conlog_end(l, CONLOG_STDOUT, AT);
    conlog_close(l);
    conlog_tail(path, 30000, 5, &got);
    assert_int_equal(got.n, 30000);
    assert_true(str_ends(buf_view(&got), STR("xxthe end")));
    assert_false(str_has(buf_view(&got), STR("stdout")));
}

/* ---- a full disk ---- */

static int own_mounts(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 ? 0 : -1;
}

static void test_full_disk(void **state)
{
    struct conlog *l;
    struct conlog_line line;
    autobuf rest = { 0 };
    char filler[96];
    int fd, n = 0, lost = 0;

    if (own_mounts() < 0 || mount("none", dir, "tmpfs", 0, "size=64k") < 0)
        skip();
    assert_int_equal(conlog_open(path, 0, &l, NULL), 0);
    put_numbers(l, 0, 100);
    (void)snprintf(filler, sizeof(filler), "%s/filler", dir);
    fd = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    buf_repeat(&rest, 'x', 64 << 10);
    while (write(fd, rest.p, rest.n) > 0)
        ;
    assert_int_equal(errno, ENOSPC);
    put_numbers(l, 100, 1000); /* fills what is left of the page, then is lost */
    assert_true(str_ends(conlog_unwritten(l), STR("line 998\nline 999\n")));
    assert_int_equal(unlink(filler), 0);
    close(fd);
    put_numbers(l, 1000, 1010);
    assert_int_equal(conlog_unwritten(l).n, 0);
    struct conlog_reader *r = conlog_reader_new(path);
    while (conlog_next(r, &line)) {
        char want[32];

        (void)snprintf(want, sizeof(want), "line %d", n);
        if (str_has(line.text, STR("bytes of output were lost: No space left on device"))) {
            lost++;
            n = 1000;
        } else if (str_is(line.text, want)) {
            n++;
        } else {
            fail_msg("got \"%.*s\", not \"%s\"", STR_ARG(line.text), want);
        }
    }
    assert_int_equal(lost, 1);
    assert_int_equal(n, 1010);
    conlog_reader_free(r);
    conlog_close(l);
    assert_int_equal(umount2(dir, MNT_DETACH), 0);
}

static void test_no_directory(void **state)
{
    struct conlog *l;
    struct err e;

    assert_int_equal(conlog_open("/nowhere/at/all.log", 0, &l, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    conlog_close(NULL);
    conlog_reader_free(NULL);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_records, setup),     cmocka_unit_test_setup(test_long_lines, setup),
        cmocka_unit_test_setup(test_binary, setup),      cmocka_unit_test_setup(test_parse, setup),
        cmocka_unit_test_setup(test_turn_over, setup),   cmocka_unit_test_setup(test_follow, setup),
        cmocka_unit_test_setup(test_left_behind, setup), cmocka_unit_test_setup(test_not_ours, setup),
        cmocka_unit_test_setup(test_tail, setup),        cmocka_unit_test_setup(test_tail_long, setup),
        cmocka_unit_test_setup(test_full_disk, setup),   cmocka_unit_test_setup(test_no_directory, setup),
    };
    int r;

    (void)snprintf(dir, sizeof(dir), "/tmp/pumice-conlog-%d", (int)getpid());
    (void)snprintf(path, sizeof(path), "%s/0.log", dir);
    if (mkdir(dir, 0700) < 0)
        return 1;
    r = cmocka_run_group_tests(tests, NULL, NULL);
    clean();
    (void)rmdir(dir);
    return r;
}
