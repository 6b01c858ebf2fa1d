/* duration.c - tests of durations, the tables as Go has them */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/duration.h"

#include "base/rand.h"
#include "base/util.h"

#define US ((int64_t)1000)
#define MS (1000 * US)
#define S  (1000 * MS)
#define M  (60 * S)
#define H  (60 * M)

static const struct {
    const char *text;
    int64_t ns;
    const char *printed;
} good[] = {
    { "0", 0, "0s" },
    { "-0", 0, "0s" },
    { "+0", 0, "0s" },
    { "0s", 0, "0s" },
    { "-0h", 0, "0s" },
    { "5s", 5 * S, "5s" },
    { "+5s", 5 * S, "5s" },
    { "-5s", -5 * S, "-5s" },
    { "1478s", 1478 * S, "24m38s" },
    { "5.0s", 5 * S, "5s" },
    { "5.6s", 5600 * MS, "5.6s" },
    { "5.s", 5 * S, "5s" },
    { ".5s", 500 * MS, "500ms" },
    { "-.5s", -500 * MS, "-500ms" },
    { "1.004s", 1004 * MS, "1.004s" },
    { "100.00100s", 100001 * MS, "1m40.001s" },
    { "10ns", 10, "10ns" },
    { "11us", 11 * US, "11\xc2\xb5s" },
    { "12\xc2\xb5s", 12 * US, "12\xc2\xb5s" },
    { "12\xce\xbcs", 12 * US, "12\xc2\xb5s" },
    { "13ms", 13 * MS, "13ms" },
    { "15m", 15 * M, "15m0s" },
    { "16h", 16 * H, "16h0m0s" },
    { "1h30m", 90 * M, "1h30m0s" },
    { "3h30m", 210 * M, "3h30m0s" },
    { "1.5h", 90 * M, "1h30m0s" },
    { "10.5s4m", 4 * M + 10500 * MS, "4m10.5s" },
    { "-2m3.4s", -(2 * M + 3400 * MS), "-2m3.4s" },
    { "1h2m3s4ms5us6ns", H + 2 * M + 3 * S + 4 * MS + 5 * US + 6, "1h2m3.004005006s" },
    { "1s1s1s", 3 * S, "3s" },
    { "1.1us", 1100, "1.1\xc2\xb5s" },
    { "2.2ms", 2200 * US, "2.2ms" },
    { "0.9ns", 0, "0s" }, /* finer than a nanosecond is dropped */
    { "52763797000ns", 52763797000, "52.763797s" },
    { "0.3333333333333333333h", 20 * M, "20m0s" }, /* the fraction is floating point */
    { "0.100000000000000000000h", 6 * M, "6m0s" }, /* more digits than fit */
    { "0.830103483285477580700h", 49 * M + 48372539827, "49m48.372539827s" },
    { "9007199254740993ns", 9007199254740993, "2501h59m59.254740993s" },
    { "9223372036854775807ns", INT64_MAX, "2562047h47m16.854775807s" },
    { "9223372036854775.807us", INT64_MAX, "2562047h47m16.854775807s" },
    { "9223372036s854ms775us807ns", INT64_MAX, "2562047h47m16.854775807s" },
    { "-9223372036854775808ns", INT64_MIN, "-2562047h47m16.854775808s" },
};

static void good_texts(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct err e = { 0 };
        autobuf b = { 0 };
        int64_t ns;

        if (duration_parse(str_of(good[i].text), &ns, &e) < 0)
            fail_msg("\"%s\": %s", good[i].text, e.text);
        if (ns != good[i].ns)
            fail_msg("\"%s\" is %lld", good[i].text, (long long)ns);
        duration_print(&b, ns);
        assert_string_equal(b.p, good[i].printed);
    }
}

static void bad_texts(void **state)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        { "", "a number is missing" },
        { "-", "a number is missing" },
        { "+", "a number is missing" },
        { "s", "a number is missing" },
        { ".", "a number is missing" },
        { ".s", "a number is missing" },
        { "-.s", "a number is missing" },
        { "+.s", "a number is missing" },
        { " 1s", "a number is missing" },
        { "--1s", "a number is missing" },
        { "3", "a unit is missing" },
        { "1s3", "a unit is missing" },
        { "1.5", "a unit is missing" },
        { "00", "a unit is missing" },
        { "1d", "units" },
        { "1 s", "units" },
        { "1s ", "units" },
        { "1H", "units" },
        { "1h-5m", "units" },
        { "1..5s", "units" },
        { "1e3s", "units" },
        { "\x85\x85", "a number is missing" },
        { "1\xb5s", "units" },
        { "3000000h", "292 years" },
        { "9223372036854775808ns", "292 years" },
        { "9223372036854775.808us", "292 years" },
        { "9223372036854ms775us808ns", "292 years" },
        { "-9223372036854775809ns", "292 years" },
        { "99999999999999999999s", "292 years" },
        { "9223372036854775808ns9223372036854775808ns", "292 years" }, /* wraps to 0 in 64 bits */
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err e = { 0 };
        int64_t ns = 77;

        if (duration_parse(str_of(bad[i].text), &ns, &e) == 0)
            fail_msg("accepted \"%s\"", bad[i].text);
        assert_int_equal(ns, 77);
        assert_int_equal(e.code, ERR_INVALID);
        if (!strstr(e.text, bad[i].why))
            fail_msg("\"%s\" gave: %s", bad[i].text, e.text);
    }
    assert_int_equal(duration_parse(STR("1s\0"), &(int64_t){ 0 }, NULL), -1);
}

/* Below 2^53 parts of a second survive floating point. */
static void round_trip(void **state)
{
    struct rand r;

    rand_seed(&r, 1);
    for (int i = 0; i < 100000; i++) {
        int64_t ns = (int64_t)(rand_u64(&r) >> rand_below(&r, 64)), back;
        autobuf b = { 0 };

        duration_print(&b, ns);
        if (duration_parse(buf_view(&b), &back, NULL) < 0 || back != ns)
            fail_msg("%s is %lld, not %lld", b.p, (long long)back, (long long)ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_texts),
        cmocka_unit_test(bad_texts),
        cmocka_unit_test(round_trip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
