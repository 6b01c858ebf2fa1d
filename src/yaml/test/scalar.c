/* scalar.c - what plain words mean, as numbers, as keys and for the printer */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "yaml/yaml_internal.h"

#include "base/util.h"

/* What the reader of Kubernetes makes of each word. 'number' is the JSON text, or NULL if it is text for it. */
static const struct {
    const char *in;
    enum yaml_kind kind;
    const char *number;
} cases[] = {
    { "", YAML_NULL, NULL },
    { "~", YAML_NULL, NULL },
    { "null", YAML_NULL, NULL },
    { "Null", YAML_NULL, NULL },
    { "NULL", YAML_NULL, NULL },
    { "nUll", YAML_TEXT, NULL },
    { "true", YAML_BOOL, NULL },
    { "True", YAML_BOOL, NULL },
    { "TrUe", YAML_TEXT, NULL },
    { "yes", YAML_BOOL, NULL },
    { "YES", YAML_BOOL, NULL },
    { "yEs", YAML_TEXT, NULL },
    { "on", YAML_BOOL, NULL },
    { "Off", YAML_BOOL, NULL },
    { "y", YAML_TEXT, NULL },
    { "N", YAML_TEXT, NULL },
    { ".inf", YAML_NOT_FINITE, NULL },
    { "-.INF", YAML_NOT_FINITE, NULL },
    { "+.Inf", YAML_NOT_FINITE, NULL },
    { ".NaN", YAML_NOT_FINITE, NULL },
    { ".Nan", YAML_TEXT, NULL },
    { "0", YAML_INT, "0" },
    { "-0", YAML_INT, "0" },
    { "+5", YAML_INT, "5" },
    { "-12", YAML_INT, "-12" },
    { "1_000", YAML_INT, "1000" },
    { "1__0_", YAML_INT, "10" },
    { "_1", YAML_TEXT, NULL },
    { "0777", YAML_INT, "511" },
    { "-0777", YAML_INT, "-511" },
    { "0o17", YAML_INT, "15" },
    { "0o18", YAML_TEXT, NULL },
    { "00", YAML_INT, "0" },
    { "08", YAML_INT, "8" },
    { "0789", YAML_INT, "789" },
    { "0x1F", YAML_INT, "31" },
    { "0X1f", YAML_INT, "31" },
    { "-0x1F", YAML_INT, "-31" },
    { "0x", YAML_TEXT, NULL },
    { "0xG", YAML_TEXT, NULL },
    { "0b11", YAML_INT, "3" },
    { "0b12", YAML_TEXT, NULL },
    { "-0b11", YAML_INT, "-3" },
    { "9223372036854775807", YAML_INT, "9223372036854775807" },
    { "-9223372036854775808", YAML_INT, "-9223372036854775808" },
    { "18446744073709551615", YAML_INT, "18446744073709551615" },
    { "123456789012345678901234567890", YAML_INT, "123456789012345678901234567890" },
    { "0xFFFFFFFFFFFFFFFF", YAML_INT, "18446744073709551615" },
    { "0x1FFFFFFFFFFFFFFFF", YAML_INT, NULL }, /* looks like a number, is text */
    { "-0x8000000000000000", YAML_INT, "-9223372036854775808" },
    { "-0x8000000000000001", YAML_INT, NULL },
    { "0777777777777777777777777777", YAML_INT, "777777777777777777777777777" },
    { "1.0", YAML_FLOAT, "1" },
    { "1.", YAML_FLOAT, "1" },
    { ".5", YAML_FLOAT, "0.5" },
    { "+.5", YAML_FLOAT, "0.5" },
    { "-.5", YAML_FLOAT, "-0.5" },
    { ".", YAML_TEXT, NULL },
    { ".e3", YAML_TEXT, NULL },
    { ".5_0", YAML_FLOAT, "0.5" },
    { ".5_", YAML_TEXT, NULL },
    { "1_0.5_0", YAML_FLOAT, "10.5" },
    { "1.50", YAML_FLOAT, "1.5" },
    { "007.5", YAML_FLOAT, "7.5" },
    { "-0.0", YAML_FLOAT, "-0" },
    { "0e5", YAML_FLOAT, "0" },
    { "1e3", YAML_FLOAT, "1000" },
    { "1E+3", YAML_FLOAT, "1000" },
    { "12.5e1", YAML_FLOAT, "125" },
    { "12.34e1", YAML_FLOAT, "123.4" },
    { "1e20", YAML_FLOAT, "100000000000000000000" },
    { "1e21", YAML_FLOAT, "1e+21" },
    { "123.456e30", YAML_FLOAT, "1.23456e+32" },
    { "0.000001", YAML_FLOAT, "0.000001" },
    { "0.00000012", YAML_FLOAT, "1.2e-7" },
    { "100e-2", YAML_FLOAT, "1" },
    { "0.1234567890123456789012345", YAML_FLOAT, "0.1234567890123456789012345" },
    { "1.7976931348623157e308", YAML_FLOAT, "1.7976931348623157e+308" },
    { "1.8e308", YAML_FLOAT, NULL },
    { "1e400", YAML_FLOAT, NULL },
    { "1e99999999999999999999", YAML_FLOAT, NULL },
    { "0e99999999999999999999", YAML_FLOAT, "0" },
    { "1e-400", YAML_FLOAT, "1e-400" },
    { "1e", YAML_TEXT, NULL },
    { "1e+", YAML_TEXT, NULL },
    { "1e3.5", YAML_TEXT, NULL },
    { "1.2.3", YAML_TEXT, NULL },
    { "1:30", YAML_TEXT, NULL },
    { "2001-01-01", YAML_TEXT, NULL },
    { "+", YAML_TEXT, NULL },
    { "-", YAML_TEXT, NULL },
    { "--1", YAML_TEXT, NULL },
    { "100Mi", YAML_TEXT, NULL },
    { "5m", YAML_TEXT, NULL },
};

static void test_resolve(void **state)
{
    autoarena a = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str in = str_of(cases[i].in), got = STR_NULL;
        struct yaml_scalar s = yaml_resolve(in);

        if (s.kind != cases[i].kind)
            fail_msg("'%s': kind %d", cases[i].in, s.kind);
        if ((s.kind == YAML_INT || s.kind == YAML_FLOAT) && !s.is_extreme)
            got = yaml_number(&a, in);
        if (!cases[i].number ? got.n != 0 : !str_is(got, cases[i].number))
            fail_msg("'%s': number '%.*s'", cases[i].in, STR_ARG(got));
        if (got.n && !yaml_is_json_number(got))
            fail_msg("'%s': '%.*s' is not JSON", cases[i].in, STR_ARG(got));
    }
}

static void test_truth(void **state)
{
    static const char *const yes[] = { "yes", "true", "TRUE", "on", "ON" };
    static const char *const no[] = { "no", "false", "False", "off", "OFF" };

    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        if (!yaml_resolve(str_of(yes[i])).truth || yaml_resolve(str_of(no[i])).truth)
            fail_msg("%s, %s", yes[i], no[i]);
}

static void test_float_keys(void **state)
{
    static const struct {
        const char *in, *want;
    } keys[] = {
        { "1.5", "1.5" },
        { "1000", "1000" },
        { "1000000", "1e+06" },
        { "0.0001", "0.0001" },
        { "0", "0" },
        { "0.00001", "1e-05" },
        { "123456.7", "123456.7" },
        { "1.23456789", "1.2345679" },
        { "-2.25", "-2.25" },
        { "1e-7", "1e-07" },
        { "1.2345675e+6", "1.2345675e+06" },
        { "0.1", "0.1" },
    };
    autoarena a = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct str got = yaml_float_key(&a, str_of(keys[i].in));

        if (!str_is(got, keys[i].want))
            fail_msg("%s: %.*s, not %s", keys[i].in, STR_ARG(got), keys[i].want);
    }
}

static void test_ambiguous(void **state)
{
    static const char *const yes[] = { "",
                                       "yes",
                                       "0777",
                                       "1e400",
                                       "=",
                                       "<<",
                                       "1:30",
                                       "12:30:45.5",
                                       ".5__",
                                       "2001-01-01",
                                       "2001-1-1 x",
                                       "2001-01-01T00:00:00Z",
                                       "0x1FFFFFFFFFFFFFFFFF" };
    static const char *const no[] = { "a",  "1.2.3", "10.0.0.1",  "5m", "2001-01", "2001-01-01x", "a:1",
                                      "v1", "1:x",   "image:1.2", "-c", "--flag",  ":8080" };

    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        if (!yaml_is_ambiguous(str_of(yes[i])))
            fail_msg("'%s' should be quoted", yes[i]);
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        if (yaml_is_ambiguous(str_of(no[i])))
            fail_msg("'%s' needs no quotes", no[i]);
}

static void test_json_number(void **state)
{
    static const char *const yes[] = { "0", "-0", "1", "10.5", "1e5", "1E-5", "1e+99999999999999999999" };
    static const char *const no[] = { "", "-", "+1", "01", "1.", ".5", "1e", "1_0", "0x1", "1 ", "inf" };

    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        if (!yaml_is_json_number(str_of(yes[i])))
            fail_msg("'%s'", yes[i]);
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        if (yaml_is_json_number(str_of(no[i])))
            fail_msg("'%s'", no[i]);
}

static void test_char(void **state)
{
    static const struct {
        const char *in;
        size_t n;
        uint32_t code;
    } chars[] = {
        { "a", 1, 'a' },
        { "\xc2\x85", 2, 0x85 },
        { "\xe2\x80\xa8", 3, 0x2028 },
        { "\xf0\x9f\x98\x80", 4, 0x1f600 },
        { "\x80", 0, 0 },
        { "\xc1\x81", 0, 0 },
        { "\xe0\x80\x80", 0, 0 },
        { "\xed\xa0\x80", 0, 0 },
        { "\xf4\x90\x80\x80", 0, 0 },
        { "\xe2\x80", 0, 0 },
        { "\xff", 0, 0 },
        { "\xc3x", 0, 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(chars); i++) {
        uint32_t code = 0;

        if (yaml_char(str_of(chars[i].in), &code) != chars[i].n || code != chars[i].code)
            fail_msg("case %zu: %x", i, code);
    }
    assert_int_equal(yaml_char(STR_NULL, &(uint32_t){ 0 }), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resolve),   cmocka_unit_test(test_truth),       cmocka_unit_test(test_float_keys),
        cmocka_unit_test(test_ambiguous), cmocka_unit_test(test_json_number), cmocka_unit_test(test_char),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
