/* clock.c - tests of clocks and of RFC 3339 text */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"

#include <inttypes.h>
#include <time.h>

#include "base/rand.h"
#include "base/util.h"

static void the_real_clock_runs(void **state)
{
    int64_t now = clock_now_us(&clock_real), mono = clock_mono_us(&clock_real);

    assert_true(now > (int64_t)1700000000 * 1000000); /* after 2023 */
    assert_true(clock_mono_us(&clock_real) >= mono);
    assert_true(clock_now_ms(&clock_real) >= now / 1000 - 1000);
    assert_true(clock_mono_ms(&clock_real) >= mono / 1000);
}

static void the_manual_clock_moves_when_told(void **state)
{
    struct clock_manual m;

    clock_manual_init(&m, 5000);
    assert_int_equal(clock_now_ms(&m.clock), 5000);
    assert_int_equal(clock_mono_ms(&m.clock), 0);
    clock_manual_advance(&m, 250);
    assert_int_equal(clock_now_us(&m.clock), 5250000);
    assert_int_equal(clock_mono_us(&m.clock), 250000);
    clock_manual_set(&m, 1000);
    assert_int_equal(clock_now_ms(&m.clock), 1000);
    assert_int_equal(clock_mono_ms(&m.clock), 250);
    m.now_us = -1;
    assert_int_equal(clock_now_ms(&m.clock), -1);
}

static const struct {
    const char *text;
    int64_t us;
} known[] = {
    { "1970-01-01T00:00:00.000000Z", 0 },
    { "1969-12-31T23:59:59.999999Z", -1 },
    { "1970-01-01T00:00:00.000001Z", 1 },
    { "2000-02-29T12:00:00.000000Z", 951825600000000 },
    { "2001-09-09T01:46:40.000000Z", 1000000000000000 },
    { "2038-01-19T03:14:08.000000Z", 2147483648000000 },
    { "2100-03-01T00:00:00.000000Z", 4107542400000000 },
    { "0001-01-01T00:00:00.000000Z", -62135596800000000 },
    { "9999-12-31T23:59:59.999999Z", 253402300799999999 },
    { "0000-01-01T00:00:00.000000Z", -62167219200000000 },
};

static void the_steady_clock_is_not_set(void **state)
{
    struct clock_steady s;
    struct clock_manual m;

    clock_manual_init(&m, 5000);
    clock_manual_advance(&m, 100);
    clock_steady_init(&s, &m.clock);
    assert_int_equal(clock_now_ms(&s.clock), 5100);
    clock_manual_set(&m, 9000000);
    assert_int_equal(clock_now_ms(&s.clock), 5100);
    clock_manual_advance(&m, 50);
    assert_int_equal(clock_now_ms(&s.clock), 5150);
    clock_manual_set(&m, 0);
    assert_int_equal(clock_now_us(&s.clock), 5150000);
    assert_int_equal(clock_mono_us(&s.clock), clock_mono_us(&m.clock));
}

static void the_follower_goes_after_the_wall_clock(void **state)
{
    struct clock_follower f;
    struct clock_manual m;

    clock_manual_init(&m, 5000);
    clock_follower_init(&f, &m.clock);
    clock_manual_advance(&m, 100);
    assert_int_equal(clock_now_ms(&f.clock), 5100);
    clock_manual_set(&m, 9000000); /* ahead: at once */
    assert_int_equal(clock_now_ms(&f.clock), 9000000);
    clock_manual_set(&m, 8999000); /* back: it stands until time goes, and goes slowly then */
    assert_int_equal(clock_now_ms(&f.clock), 9000000);
    clock_manual_advance(&m, 400);
    assert_int_equal(clock_now_ms(&f.clock), 9000200);
    clock_manual_advance(&m, 2000); /* caught up: as the wall clock */
    assert_int_equal(clock_now_ms(&f.clock), 9001400);
    clock_manual_advance(&m, 10);
    assert_int_equal(clock_now_ms(&f.clock), 9001410);
    assert_int_equal(clock_mono_us(&f.clock), clock_mono_us(&m.clock));
}

static void known_times(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        autobuf b = { 0 };
        int64_t us;

        clock_print_us(&b, known[i].us);
        assert_string_equal(b.p, known[i].text);
        assert_int_equal(clock_parse_us(str_of(known[i].text), &us, NULL), 0);
        assert_true(us == known[i].us);
    }
}

/* Every day from 1970 to 9999: one after the other, and as the C library has it now and then. */
static void every_day(void **state)
{
    int64_t days = 0;
    autobuf b = { 0 };

    for (int year = 1970; year <= 9999; year++)
        for (int month = 1; month <= 12; month++)
            for (int day = 1; day <= 31; day++) {
                struct tm tm = { .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day };
                char want[32];
                int64_t ms;

                (void)snprintf(want, sizeof(want), "%04d-%02d-%02dT00:00:00Z", year, month, day);
                if (clock_parse(str_of(want), &ms, NULL) < 0) {
                    assert_true(day > 28);
                    continue;
                }
                if (ms != days++ * 86400000)
                    fail_msg("%s is not the next day", want);
                if (day == 28 && timegm(&tm) != ms / 1000)
                    fail_msg("%s: the C library differs", want);
                buf_reset(&b);
                clock_print(&b, ms + 999);
                if (!str_is(buf_view(&b), want))
                    fail_msg("%s printed as %s", want, b.p);
            }
    assert_int_equal(days, 2932897); /* 8030 years */
}

static void round_trip(void **state)
{
    struct rand r;
    autobuf b = { 0 };

    rand_seed(&r, 1);
    for (int i = 0; i < 50000; i++) {
        int64_t us = rand_between(&r, -62167219200000000, 253402300799999999), back, ms;

        buf_reset(&b);
        clock_print_us(&b, us);
        assert_int_equal(clock_parse_us(buf_view(&b), &back, NULL), 0);
        if (back != us)
            fail_msg("%s", b.p);
        buf_reset(&b);
        clock_print(&b, us / 1000000 * 1000);
        assert_int_equal(clock_parse(buf_view(&b), &ms, NULL), 0);
        assert_true(ms == us / 1000000 * 1000);
    }
}

static void other_forms(void **state)
{
    static const struct {
        const char *text;
        int64_t us;
    } cases[] = {
        { "1970-01-01T00:00:01Z", 1000000 },
        { "1970-01-01T00:00:00.5Z", 500000 },
        { "1970-01-01T00:00:00.1234567891234567Z", 123456 },
        { "1970-01-01T01:00:00+01:00", 0 },
        { "1969-12-31T19:00:00.25-05:00", 250000 },
        { "1970-01-01T00:00:00-00:00", 0 },
        { "1970-01-01T05:45:00+05:45", 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err e;
        int64_t us;

        if (clock_parse_us(str_of(cases[i].text), &us, &e) < 0 || us != cases[i].us)
            fail_msg("%s", cases[i].text);
    }
}

static void bad_times(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        { "", "date" },
        { "now", "date" },
        { "2026-3-01T00:00:00Z", "date" },
        { "26-03-01T00:00:00Z", "date" },
        { "2026-00-01T00:00:00Z", "date" },
        { "2026-13-01T00:00:00Z", "date" },
        { "2026-03-00T00:00:00Z", "date" },
        { "2026-04-31T00:00:00Z", "date" },
        { "2026-02-29T00:00:00Z", "date" },
        { "1900-02-29T00:00:00Z", "date" },
        { "-026-02-01T00:00:00Z", "date" },
        { "2026-03-01", "'T'" },
        { "2026-03-01 00:00:00Z", "'T'" },
        { "2026-03-01t00:00:00Z", "'T'" },
        { "2026-03-01T24:00:00Z", "time of day" },
        { "2026-03-01T00:60:00Z", "time of day" },
        { "2026-03-01T00:00:60Z", "time of day" },
        { "2026-03-01T00:00Z", "time of day" },
        { "2026-03-01T00:00:0", "time of day" },
        { "2026-03-01T00:00:00.Z", "digits" },
        { "2026-03-01T00:00:00", "offset" },
        { "2026-03-01T00:00:00z", "offset" },
        { "2026-03-01T00:00:00+1:00", "offset" },
        { "2026-03-01T00:00:00+0100", "offset" },
        { "2026-03-01T00:00:00+24:00", "offset" },
        { "2026-03-01T00:00:00Z ", "more text" },
        { "2026-03-01T00:00:00+01:00Z", "more text" },
        { "0000-01-01T00:00:00+00:01", "years" },
        { "9999-12-31T23:59:59-00:01", "years" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t ms = 77;
        struct err e = { 0 };

        if (clock_parse(str_of(cases[i].text), &ms, &e) == 0 || ms != 77)
            fail_msg("accepted \"%s\"", cases[i].text);
        assert_int_equal(e.code, ERR_INVALID);
        if (!strstr(e.text, cases[i].why) || !strstr(e.text, cases[i].text))
            fail_msg("\"%s\" gave: %s", cases[i].text, e.text);
    }
}

static void beyond_the_years_is_cut(void **state)
{
    static const struct {
        int64_t ms;
        const char *want;
    } cases[] = {
        { INT64_MAX, "9999-12-31T23:59:59Z" },
        { 253402300800000, "9999-12-31T23:59:59Z" },
        { INT64_MIN, "0000-01-01T00:00:00Z" },
        { -62167219200001, "0000-01-01T00:00:00Z" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf b = { 0 };

        clock_print(&b, cases[i].ms);
        assert_string_equal(b.p, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_real_clock_runs),
        cmocka_unit_test(the_manual_clock_moves_when_told),
        cmocka_unit_test(the_steady_clock_is_not_set),
        cmocka_unit_test(the_follower_goes_after_the_wall_clock),
        cmocka_unit_test(known_times),
        cmocka_unit_test(every_day),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(other_forms),
        cmocka_unit_test(bad_times),
        cmocka_unit_test(beyond_the_years_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
