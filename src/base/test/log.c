/* log.c - tests of log lines in both forms */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/rand.h"
#include "base/util.h"

/* What was logged since the last call, read back from a file in memory. */
static struct {
    int fd;
    struct clock_manual clock;
    struct log_config old;
    char text[64 * 1024];
} fake;

static int setup(void **state)
{
    fake.fd = memfd_create("log", MFD_CLOEXEC);
    clock_manual_init(&fake.clock, 1772357400123); /* 2026-03-01T09:30:00.123Z */
    fake.old = log_setup((struct log_config){ fake.fd, LOG_LEVEL_INFO, LOG_FORMAT_TEXT, &fake.clock.clock });
    return fake.fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    (void)log_setup(fake.old);
    close(fake.fd);
    return 0;
}

static void use(enum log_level level, enum log_format format)
{
    (void)log_setup((struct log_config){ fake.fd, level, format, &fake.clock.clock });
}

static const char *logged(void)
{
    ssize_t n = pread(fake.fd, fake.text, sizeof(fake.text) - 1, 0);

    assert_true(n >= 0);
    fake.text[n] = '\0';
    assert_int_equal(ftruncate(fake.fd, 0), 0);
    assert_int_equal(lseek(fake.fd, 0, SEEK_SET), 0);
    return fake.text;
}

static void lines_of_text(void **state)
{
    log_info("job synced", LOG_STR("job", STR("default/mnist")), LOG_INT("created", -3), LOG_MS("took", 12));
    assert_string_equal(logged(), "time=2026-03-01T09:30:00.123Z level=info msg=\"job synced\" job=default/mnist "
                                  "created=-3 took=12ms\n");
    log_error("gone", LOG_U64("rev", UINT64_MAX), LOG_BOOL("yes", true), LOG_BOOL("no", false), LOG_TEXT("none", NULL));
    assert_string_equal(logged(), "time=2026-03-01T09:30:00.123Z level=error msg=gone rev=18446744073709551615 "
                                  "yes=true no=false none=\"\"\n");
    log_warn("no fields");
    assert_string_equal(logged(), "time=2026-03-01T09:30:00.123Z level=warn msg=\"no fields\"\n");
}

static void lines_of_json(void **state)
{
    use(LOG_LEVEL_INFO, LOG_FORMAT_JSON);
    log_info("job synced", LOG_STR("job", STR("default/mnist")), LOG_INT("created", -3), LOG_MS("took", 12),
             LOG_BOOL("ok", true), LOG_U64("rev", 7));
    assert_string_equal(logged(), "{\"time\":\"2026-03-01T09:30:00.123Z\",\"level\":\"info\",\"msg\":\"job synced\","
                                  "\"job\":\"default/mnist\",\"created\":-3,\"took_ms\":12,\"ok\":true,\"rev\":7}\n");
    log_info("alone");
    assert_string_equal(logged(), "{\"time\":\"2026-03-01T09:30:00.123Z\",\"level\":\"info\",\"msg\":\"alone\"}\n");
}

static void values_are_escaped(void **state)
{
    static const struct {
        struct str value;
        const char *text, *json;
    } cases[] = {
        { STR_INIT("plain-1.2/x:y"), "plain-1.2/x:y", "\"plain-1.2/x:y\"" },
        { STR_INIT(""), "\"\"", "\"\"" },
        { STR_INIT("a b"), "\"a b\"", "\"a b\"" },
        { STR_INIT("a=b"), "\"a=b\"", "\"a=b\"" },
        { STR_INIT("say \"hi\""), "\"say \\\"hi\\\"\"", "\"say \\\"hi\\\"\"" },
        { STR_INIT("back\\slash"), "\"back\\\\slash\"", "\"back\\\\slash\"" },
        { STR_INIT("one\ntwo\r\t"), "\"one\\ntwo\\r\\t\"", "\"one\\u000atwo\\u000d\\u0009\"" },
        { STR_INIT("\x1b[0m"), "\"\\x1b[0m\"", "\"\\u001b[0m\"" },
        { STR_INIT("nul\0!"), "\"nul\\x00!\"", "\"nul\\u0000!\"" },
        { STR_INIT("del\x7f"), "\"del\\x7f\"", "\"del\\u007f\"" },
        { STR_INIT("\xc3\xa9\xe2\x82\xac"), "\xc3\xa9\xe2\x82\xac", "\"\xc3\xa9\xe2\x82\xac\"" },
        { STR_INIT("bad\xff\xc3"), "\"bad\\xff\\xc3\"", "\"bad\xef\xbf\xbd\xef\xbf\xbd\"" },
        { STR_INIT("\xe2\x82"), "\"\\xe2\\x82\"", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf want = { 0 };

        use(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
        log_info("m", LOG_STR("v", cases[i].value));
        buf_fmt(&want, "time=2026-03-01T09:30:00.123Z level=info msg=m v=%s\n", cases[i].text);
        assert_string_equal(logged(), want.p);
        use(LOG_LEVEL_INFO, LOG_FORMAT_JSON);
        log_info("m", LOG_STR("v", cases[i].value));
        buf_reset(&want);
        buf_fmt(&want, "{\"time\":\"2026-03-01T09:30:00.123Z\",\"level\":\"info\",\"msg\":\"m\",\"v\":%s}\n",
                cases[i].json);
        assert_string_equal(logged(), want.p);
    }
}

/* Whatever the bytes are, a line is one line of good UTF-8 without control characters. */
static void any_bytes_make_one_line(void **state)
{
    struct rand r;

    rand_seed(&r, 1);
    for (int i = 0; i < 2000; i++) {
        char bytes[30];
        struct str v = { bytes, rand_below(&r, sizeof(bytes)) }, line;

        rand_bytes(&r, bytes, sizeof(bytes));
        use(LOG_LEVEL_INFO, i % 2 ? LOG_FORMAT_TEXT : LOG_FORMAT_JSON);
        log_info("m", LOG_STR("v", v), LOG_INT("end", 1));
        line = str_of(logged());
        assert_true(str_is_utf8(line));
        assert_true(str_ends(line, i % 2 ? STR(" end=1\n") : STR(",\"end\":1}\n")));
        for (size_t k = 0; k + 1 < line.n; k++)
            assert_true((unsigned char)line.p[k] >= 0x20 && line.p[k] != 0x7f);
    }
}

static void long_values_are_cut(void **state)
{
    for (size_t shift = 0; shift < 3; shift++) { /* the cut falls on each byte of a character */
        autobuf text = { 0 };
        struct str line;

        buf_repeat(&text, 'x', shift);
        while (text.n <= LOG_VALUE_MAX)
            buf_str(&text, STR("\xe2\x82\xac"));
        log_info("m", LOG_STR("v", buf_view(&text)));
        line = str_of(logged());
        assert_in_range(line.n, LOG_VALUE_MAX, LOG_VALUE_MAX + 100);
        assert_true(str_is_utf8(line));
        assert_true(str_ends(line, STR("\xac...\n")));
    }
}

static int evaluated;
static int64_t costly(void)
{
    return ++evaluated;
}

static void levels_filter(void **state)
{
    for (int level = 0; level < LOG_LEVEL_MAX; level++) {
        int lines = 0;

        evaluated = 0;
        use((enum log_level)level, LOG_FORMAT_TEXT);
        log_debug("x", LOG_INT("n", costly()));
        log_info("x", LOG_INT("n", costly()));
        log_warn("x", LOG_INT("n", costly()));
        log_error("x", LOG_INT("n", costly()));
        for (const char *p = logged(); *p; p++)
            lines += *p == '\n';
        assert_int_equal(lines, LOG_LEVEL_MAX - level);
        assert_int_equal(evaluated, lines);
    }
}

static void levels_have_names(void **state)
{
    static const char *const names[LOG_LEVEL_MAX] = { "debug", "info", "warn", "error" };

    for (int i = 0; i < LOG_LEVEL_MAX; i++)
        assert_string_equal(log_level_name((enum log_level)i), names[i]);
}

static void a_closed_file_loses_the_line_only(void **state)
{
    (void)log_setup((struct log_config){ .fd = -1 });
    errno = ENOENT;
    log_error("nobody reads this");
    assert_int_equal(errno, ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_of_text, setup, teardown),
        cmocka_unit_test_setup_teardown(lines_of_json, setup, teardown),
        cmocka_unit_test_setup_teardown(values_are_escaped, setup, teardown),
        cmocka_unit_test_setup_teardown(any_bytes_make_one_line, setup, teardown),
        cmocka_unit_test_setup_teardown(long_values_are_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(levels_filter, setup, teardown),
        cmocka_unit_test_setup_teardown(levels_have_names, setup, teardown),
        cmocka_unit_test_setup_teardown(a_closed_file_loses_the_line_only, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
