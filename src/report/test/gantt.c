/* gantt.c - tests of the chart in the terminal */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "report/gantt.h"
#include "history/test/timeline_story.h"

static void story_two(struct story *s)
{
    story_begin(s);
    story_node(s, "n1", 4);
    story_life(s, "first", "ml", 0, 600);
    story_life(s, "second", "ml", 600, 1200);
    history_finish(s->h, s->h->begin_ms + 1200000);
}

static size_t columns(struct str line)
{
    size_t n = 0;

    for (size_t i = 0; i < line.n; i++)
        n += ((unsigned char)line.p[i] & 0xc0) != 0x80;
    return n;
}

static void test_picture(void **state)
{
    static const char want[] = "               +0s  +5m  +10m +15m     \n"
                               "first     ml   ████████████▌           \n"
                               "second    ml   ░░░░░░░░░░░░▐███████████\n";
    struct story s;
    autobuf out = { 0 };

    (void)state;
    story_two(&s);
    gantt_print(&out, s.h, &(struct gantt_options){ .width = 40 });
    if (!str_has(buf_view(&out), STR("░░░░░░░░░░░░")) || !str_has(buf_view(&out), STR("████████████")))
        fail_msg("got\n%s\nwant something like\n%s", out.p, want);
    assert_true(str_has(buf_view(&out), STR("queue ml")));
    story_done(&s);
}

/* Whatever the names and the width, no line is wider, and all bytes are UTF-8. */
static void test_fits(void **state)
{
    static const size_t widths[] = { 0, 40, 41, 57, 80, 100, 133, 240 };
    struct story s;

    (void)state;
    story_begin(&s);
    story_node(&s, "n1", 4);
    story_life(&s, "a", "q", 0, 1);
    story_life(&s, "a-name-that-is-much-too-long-for-any-chart-in-a-terminal", "and-a-queue-like-it", 3, 90000);
    story_life(&s, "ümläüte-ünd-möhr-ünd-nöch-möhr", "q", 50000, 90000);
    history_finish(s.h, s.h->begin_ms + 90000000);
    for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
        autobuf out = { 0 };
        struct str rest, line;

        gantt_print(&out, s.h, &(struct gantt_options){ .width = widths[i] });
        rest = buf_view(&out);
        assert_true(str_is_utf8(rest));
        while (str_split(&rest, '\n', &line))
            if (columns(line) > MAX_OF(widths[i], 40u))
                fail_msg("width %zu, but %zu columns: %.*s", widths[i], columns(line), STR_ARG(line));
    }
    story_done(&s);
}

static void test_short_jobs_are_seen(void **state)
{
    struct story s;
    autobuf out = { 0 };
    struct str rest, line;

    (void)state;
    story_begin(&s);
    story_life(&s, "blink", "q", 100000, 100001);
    story_life(&s, "whole", "q", 0, 900000);
    history_finish(s.h, s.h->begin_ms + 900000000);
    gantt_print(&out, s.h, &(struct gantt_options){ .width = 60 });
    rest = buf_view(&out);
    while (str_split(&rest, '\n', &line))
        if (str_starts(line, STR("blink")) && !str_has(line, STR("▌")))
            fail_msg("not seen: %.*s", STR_ARG(line));
    story_done(&s);
}

static void test_colour_only_if_wanted(void **state)
{
    struct story s;
    autobuf plain = { 0 }, colour = { 0 };

    (void)state;
    story_two(&s);
    gantt_print(&plain, s.h, &(struct gantt_options){ .width = 80 });
    gantt_print(&colour, s.h, &(struct gantt_options){ .width = 80, .colour = true });
    assert_false(str_has_char(buf_view(&plain), '\033'));
    assert_true(str_has_char(buf_view(&colour), '\033'));
    story_done(&s);
}

static void test_empty(void **state)
{
    struct story s;
    autobuf out = { 0 };

    (void)state;
    story_begin(&s);
    history_finish(s.h, s.h->begin_ms);
    gantt_print(&out, s.h, &(struct gantt_options){ .width = 80 });
    assert_true(out.n > 0);
    story_done(&s);
}

static void test_axis(void **state)
{
    static const struct {
        int64_t span_s;
        size_t n;
        int64_t want_s;
    } cases[] = {
        { 0, 5, 1 },      { 10, 5, 5 },         { 1200, 5, 300 },
        { 3600, 6, 900 }, { 86400, 10, 10800 }, { 86400 * 365, 4, 604800 * 16 },
        { 60, 0, 120 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t got = axis_step(cases[i].span_s * 1000, cases[i].n);

        if (got != cases[i].want_s * 1000)
            fail_msg("%lld s in %zu: %lld s, not %lld s", (long long)cases[i].span_s, cases[i].n, (long long)got / 1000,
                     (long long)cases[i].want_s);
    }
}

static void test_spark(void **state)
{
    (void)state;
    assert_true(str_is(spark(0), " "));
    assert_true(str_is(spark(-3), " "));
    assert_true(str_is(spark(0.001), "▁"));
    assert_true(str_is(spark(0.5), "▄"));
    assert_true(str_is(spark(1), "█"));
    assert_true(str_is(spark(7), "█"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_picture),
        cmocka_unit_test(test_fits),
        cmocka_unit_test(test_short_jobs_are_seen),
        cmocka_unit_test(test_colour_only_if_wanted),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_axis),
        cmocka_unit_test(test_spark),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
