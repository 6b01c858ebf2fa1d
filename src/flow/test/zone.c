/* zone.c - tests: offsets as the C library has them, the rule behind the table, files that are none */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rand.h"
#include "base/util.h"
#include "flow/zone.h"
#include "os/zoneinfo.h"

static const char *const names[] = { "Europe/Berlin",       "America/New_York", "America/Sao_Paulo", "Asia/Kolkata",
                                     "Australia/Lord_Howe", "Pacific/Apia",     "Africa/Casablanca", "Etc/UTC",
                                     "Asia/Tehran",         "America/St_Johns", "Europe/Dublin",     "Asia/Gaza" };

static struct zone *load(struct arena *a, const char *name)
{
    autobuf bytes = { 0 };
    struct zone *z = NULL;
    struct err e;

    if (zoneinfo_read(str_of(name), &bytes) < 0)
        return NULL; /* a machine without zones */
    if (zone_parse(a, buf_view(&bytes), &z, &e) < 0)
        fail_msg("%s: %s", name, e.text);
    return z;
}

static void offsets_are_those_of_the_c_library(void **state)
{
    struct rand r;

    rand_seed(&r, 7);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        autoarena a = { 0 };
        struct zone *z = load(&a, names[i]);

        if (!z)
            skip();
        assert_int_equal(setenv("TZ", names[i], 1), 0);
        tzset();
        for (int n = 0; n < 2000; n++) { /* up to the year 2106: far behind every table */
            time_t at = (time_t)rand_below(&r, UINT32_MAX);
            int64_t until;
            struct tm tm;

            assert_non_null(localtime_r(&at, &tm));
            if (zone_offset(z, at, &until) != tm.tm_gmtoff)
                fail_msg("%s at %lld: want %ld, got %d", names[i], (long long)at, tm.tm_gmtoff,
                         zone_offset(z, at, NULL));
            assert_true(until > at);
            if (until != INT64_MAX) { /* the second before is of the same stretch */
                at = (time_t)until - 1;
                assert_non_null(localtime_r(&at, &tm));
                assert_int_equal(zone_offset(z, at, NULL), tm.tm_gmtoff);
            }
        }
    }
    assert_int_equal(unsetenv("TZ"), 0);
}

static void times_are_printed_in_local_time(void **state)
{
    autoarena a = { 0 };
    struct zone *z = load(&a, "Europe/Berlin");
    autobuf out = { 0 };

    if (!z)
        skip();
    zone_print(&out, z, 1772357400);
    buf_char(&out, ' ');
    zone_print(&out, z, 1782000000);
    buf_char(&out, ' ');
    zone_print(&out, NULL, 1772357400);
    assert_string_equal(out.p, "2026-03-01T10:30:00+01:00 2026-06-21T02:00:00+02:00 2026-03-01T09:30:00Z");
}

static void names_have_a_form(void **state)
{
    static const char *const good[] = { "UTC", "Europe/Berlin", "America/Argentina/Ushuaia", "Etc/GMT+5" };
    static const char *const bad[] = {
        "",   "Local",          "LOCAL", "/etc/passwd",     "../x",           "Europe/..", "a//b",
        "-x", "Europe/Berlin ", "x/",    "abcdefghijklmno", "Europe\\Berlin",
    };

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_null(zone_check_name(str_of(good[i])));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_non_null(zone_check_name(str_of(bad[i])));
}

static void files_that_are_none_are_refused(void **state)
{
    autoarena a = { 0 };
    autobuf bytes = { 0 };
    struct zone *z;
    struct err e;

    assert_int_equal(zone_parse(&a, STR(""), &z, &e), -1);
    assert_int_equal(zone_parse(&a, STR("TZif2"), &z, &e), -1);
    if (zoneinfo_read(STR("Europe/Berlin"), &bytes) < 0)
        skip();
    for (size_t n = 0; n + 1 < bytes.n; n++) /* cut anywhere: refused, or without the rule at its end */
        (void)zone_parse(&a, (struct str){ bytes.p, n }, &z, &e);
    assert_int_equal(zoneinfo_read(STR("../../../etc/passwd"), &bytes), -1);
    assert_int_equal(zoneinfo_read(STR("Europe"), &bytes), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_are_those_of_the_c_library),
        cmocka_unit_test(times_are_printed_in_local_time),
        cmocka_unit_test(names_have_a_form),
        cmocka_unit_test(files_that_are_none_are_refused),
    };

    return cmocka_run_group_tests_name("flow/zone", tests, NULL, NULL);
}
