/* span.c - tests: every unit, what rounds up into the next one, and the finer form */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/span.h"
#include "base/util.h"

static void test_spans(void **state)
{
    static const struct {
        int64_t ms;
        const char *want;
    } cases[] = {
        { 0, "0s" },        { 1, "1ms" },      { 999, "999ms" },    { 1000, "1s" },        { 1500, "1.5s" },
        { 59000, "59s" },   { 60000, "1m" },   { 90000, "1m30s" },  { 3599000, "59m59s" }, { 3599499, "59m59s" },
        { 3599600, "1h" },  { 3600000, "1h" }, { 3900000, "1h5m" }, { 86400000, "1d" },    { 90000000, "1d1h" },
        { 86399000, "1d" }, { 59950, "1m" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf out = { 0 };

        span_print(&out, cases[i].ms);
        if (!str_is(buf_view(&out), cases[i].want))
            fail_msg("%lld ms is %s, not %s", (long long)cases[i].ms, out.p, cases[i].want);
    }
}

static void test_fine(void **state)
{
    static const struct {
        int64_t ms;
        const char *want;
    } cases[] = { { -5, "0s" },       { 0, "0.00s" },     { 4, "0.00s" },     { 4200, "4.20s" },  { 9999, "10.00s" },
                  { 10000, "10.0s" }, { 42000, "42.0s" }, { 99949, "99.9s" }, { 100000, "1m40s" } };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf out = { 0 };

        span_print_fine(&out, cases[i].ms);
        if (!str_is(buf_view(&out), cases[i].want))
            fail_msg("%lld ms is %s, not %s", (long long)cases[i].ms, out.p, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_spans), cmocka_unit_test(test_fine) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
