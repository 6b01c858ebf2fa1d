/* quantity.c - tests of quantities: tables, and laws over random ones */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/quantity.h"

#include "base/rand.h"
#include "base/util.h"
#include "json/json.h"

#define SI QUANTITY_DECIMAL_SI
#define BI QUANTITY_BINARY_SI
#define EX QUANTITY_DECIMAL_EXPONENT

static const int64_t one = 1000000000;

/* Each line was checked against Kubernetes' own code. */
static const struct {
    const char *text, *canonical;
    int64_t units, milli;
    enum quantity_format format;
} good[] = {
    { "0", "0", 0, 0, SI },
    { "-0", "0", 0, 0, SI },
    { "0.0", "0", 0, 0, SI },
    { "0Ki", "0", 0, 0, BI },
    { "0e5", "0", 0, 0, EX },
    { "0e999999999", "0", 0, 0, EX },
    { "1", "1", 1, 1000, SI },
    { "+1", "1", 1, 1000, SI },
    { "-1", "-1", -1, -1000, SI },
    { "007", "7", 7, 7000, SI },
    { "1.", "1", 1, 1000, SI },
    { "1.G", "1G", 1000000000, 1000000000000, SI },
    { ".5", "500m", 1, 500, SI },
    { "-.5", "-500m", -1, -500, SI },
    { "0.5", "500m", 1, 500, SI },
    { "1.500", "1500m", 2, 1500, SI },
    { "1500m", "1500m", 2, 1500, SI },
    { "1000m", "1", 1, 1000, SI },
    { "100m", "100m", 1, 100, SI },
    { "0.1m", "100u", 1, 1, SI },
    { "1n", "1n", 1, 1, SI },
    { "1u", "1u", 1, 1, SI },
    { "0.1n", "1n", 1, 1, SI }, /* finer than nano: up */
    { "1.1n", "2n", 1, 1, SI },
    { "-1.1n", "-2n", -1, -1, SI },
    { "1.0000000001", "1000000001n", 2, 1001, SI },
    { "0.000000000000000000000000000000000000000000000000000000000001", "1n", 1, 1, SI },
    { "10", "10", 10, 10000, SI },
    { "100", "100", 100, 100000, SI },
    { "1000", "1k", 1000, 1000000, SI },
    { "1024", "1024", 1024, 1024000, SI },
    { "100000", "100k", 100000, 100000000, SI },
    { "123456", "123456", 123456, 123456000, SI },
    { "1k", "1k", 1000, 1000000, SI },
    { "1M", "1M", 1000000, 1000000000, SI },
    { "1G", "1G", 1000000000, 1000000000000, SI },
    { "1T", "1T", 1000000000000, 1000000000000000, SI },
    { "1P", "1P", 1000000000000000, 1000000000000000000, SI },
    { "1E", "1E", 1000000000000000000, INT64_MAX, SI },
    { "1000k", "1M", 1000000, 1000000000, SI },
    { "1.5k", "1500", 1500, 1500000, SI },
    { "1Ki", "1Ki", 1024, 1024000, BI },
    { "1Mi", "1Mi", 1048576, 1048576000, BI },
    { "1Gi", "1Gi", 1073741824, 1073741824000, BI },
    { "1Ti", "1Ti", 1099511627776, 1099511627776000, BI },
    { "1Pi", "1Pi", 1125899906842624, 1125899906842624000, BI },
    { "1Ei", "1Ei", 1152921504606846976, INT64_MAX, BI },
    { "1024Ki", "1Mi", 1048576, 1048576000, BI },
    { "1025Ki", "1025Ki", 1049600, 1049600000, BI },
    { "1.5Gi", "1536Mi", 1610612736, 1610612736000, BI },
    { "0.5Ki", "512", 512, 512000, BI }, /* below 1024 no suffix is left */
    { "-0.5Ki", "-512", -512, -512000, BI },
    { "-1Ki", "-1Ki", -1024, -1024000, BI },
    { "0.1Gi", "107374182400m", 107374183, 107374182400, BI }, /* not whole: decimal */
    { "0.0001Ki", "102400u", 1, 103, SI },                     /* below one byte the family changes for good */
    { "1e3", "1e3", 1000, 1000000, EX },
    { "1E3", "1e3", 1000, 1000000, EX },
    { "1e+3", "1e3", 1000, 1000000, EX },
    { "1e4", "10e3", 10000, 10000000, EX },
    { "12e6", "12e6", 12000000, 12000000000, EX },
    { "1e0", "1", 1, 1000, EX },
    { "1e-3", "1e-3", 1, 1, EX },
    { "1.5e3", "1500", 1500, 1500000, EX },
    { "1e-10", "1e-9", 1, 1, EX },
    { "1e-999999999", "1e-9", 1, 1, EX },
    { "9223372036854775807", "9223372036854775807", INT64_MAX, INT64_MAX, SI },
    { "8Ei", "9223372036854775807", INT64_MAX, INT64_MAX, BI }, /* cut from here on */
    { "7Ei", "7Ei", 8070450532247928832, INT64_MAX, BI },
    { "-9Ei", "-9223372036854775807", -INT64_MAX, INT64_MIN, BI },
    { "9223372036854775808", "9223372036854775807", INT64_MAX, INT64_MAX, SI },
    { "100E", "9223372036854775807", INT64_MAX, INT64_MAX, SI },
    { "1e400", "9223372036854775807", INT64_MAX, INT64_MAX, EX },
    { "-1e9223372036854775807", "-9223372036854775807", -INT64_MAX, INT64_MIN, EX },
};

static void good_texts(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct quantity q;
        struct err e = { 0 };
        autobuf b = { 0 };

        if (quantity_parse(str_of(good[i].text), &q, &e) < 0)
            fail_msg("\"%s\": %s", good[i].text, e.text);
        quantity_print(&b, q);
        if (!str_is(buf_view(&b), good[i].canonical))
            fail_msg("\"%s\" printed as %s", good[i].text, b.p);
        if (quantity_units(q) != good[i].units || quantity_milli(q) != good[i].milli || q.format != good[i].format)
            fail_msg("\"%s\" is %lld units, %lld milli, format %d", good[i].text, (long long)quantity_units(q),
                     (long long)quantity_milli(q), (int)q.format);
    }
}

static void bad_texts(void **state)
{
    static const char *const bad[] = {
        "",         "+",         "-",    ".",    "+.",  "-.k",  "m",   "Gi",    "e3",   "1.5.2",
        "1 Gi",     " 1",        "1 ",   "1\n",  "1e",  "1E+",  "1e-", "1e3.5", "1Kii", "1K",
        "1ki",      "1KI",       "1gi",  "1mi",  "1GB", "1Gib", "1i",  "1B",    "1e3k", "1ke3",
        "1,5",      "--1",       "+-1",  "0x10", "1_0", "inf",  "NaN", "1%",    "1m m", "1e99999999999999999999",
        "\xd9\xa1", "1\xc2\xb5", "1e 3", "1 e3",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct quantity q = { 77, SI };
        struct err e = { 0 };

        if (quantity_parse(str_of(bad[i]), &q, &e) == 0)
            fail_msg("accepted \"%s\"", bad[i]);
        assert_true(q.nano == 77);
        assert_int_equal(e.code, ERR_INVALID);
        assert_true(str_starts(str_of(e.text), STR("not a quantity: ")));
    }
    assert_int_equal(quantity_parse(STR("1\0"), &(struct quantity){ 0 }, NULL), -1);
}

static void errors_say_what_is_wrong(void **state)
{
    struct quantity q;
    struct err e;

    (void)quantity_parse(STR("Gi"), &q, &e);
    assert_string_equal(e.text, "not a quantity: it must begin with a number (got \"Gi\")");
    (void)quantity_parse(STR("1GB\n"), &q, &e);
    assert_string_equal(e.text,
                        "not a quantity: after the number may stand one of n u m k M G T P E, Ki Mi Gi Ti Pi Ei "
                        "or an exponent such as e3 (got \"1GB\\n\")");
}

/* Many digits cost time in proportion, and lose nothing. */
static void long_texts(void **state)
{
    struct quantity q;
    autobuf b = { 0 };

    buf_repeat(&b, '0', 1000000);
    buf_str(&b, STR("2."));
    buf_repeat(&b, '0', 1000000);
    buf_str(&b, STR("1Ei"));
    assert_int_equal(quantity_parse(buf_view(&b), &q, NULL), 0);
    assert_true(q.nano == ((__int128)one << 61) + 1);
    buf_reset(&b);
    buf_str(&b, STR("0."));
    buf_repeat(&b, '9', 1000000);
    assert_int_equal(quantity_parse(buf_view(&b), &q, NULL), 0);
    assert_true(q.nano == one);
    buf_reset(&b);
    buf_repeat(&b, '9', 1000000);
    buf_str(&b, STR("e-1000000"));
    assert_int_equal(quantity_parse(buf_view(&b), &q, NULL), 0);
    assert_true(q.nano == one);
}

static __int128 random_nano(struct rand *r)
{
    __int128 v = (__int128)(rand_u64(r) >> rand_below(r, 64));

    for (uint64_t n = rand_below(r, 4); n; n--)
        v *= rand_chance(r, 1, 2) ? 1000 : 1024;
    if (rand_chance(r, 1, 2))
        v = v / one * one;
    if (v > (__int128)INT64_MAX * one)
        v %= (__int128)INT64_MAX * one;
    return rand_chance(r, 1, 3) ? -v : v;
}

static struct quantity random_quantity(struct rand *r)
{
    return (struct quantity){ random_nano(r), (enum quantity_format)rand_below(r, 3) };
}

/* As in Kubernetes, a binary number that needs no suffix (1623000) reads as a decimal one (1623k): the text may change
 * once, together with the family, and never the value. */
static void printing_loses_nothing(void **state)
{
    struct rand r;

    rand_seed(&r, 1);
    for (int i = 0; i < 100000; i++) {
        struct quantity q = random_quantity(&r), back, last;
        autobuf b = { 0 }, again = { 0 }, third = { 0 };

        quantity_print(&b, q);
        assert_int_equal(quantity_parse(buf_view(&b), &back, NULL), 0);
        if (back.nano != q.nano)
            fail_msg("%s came back as another", b.p);
        quantity_print(&again, back);
        if (back.format == q.format)
            assert_string_equal(again.p, b.p);
        assert_int_equal(quantity_parse(buf_view(&again), &last, NULL), 0);
        quantity_print(&third, last);
        assert_string_equal(third.p, again.p);
    }
}

/* The text is as short as its family allows: one suffix up would need a fraction. */
static void printing_uses_the_largest_suffix(void **state)
{
    struct rand r;

    rand_seed(&r, 2);
    for (int i = 0; i < 20000; i++) {
        struct quantity q = random_quantity(&r);
        autobuf b = { 0 };

        quantity_print(&b, q);
        if (q.format == QUANTITY_DECIMAL_SI && q.nano)
            assert_false(str_ends(str_trim(buf_view(&b)), STR("000")) || strstr(b.p, "000k"));
        assert_false(str_has_char(buf_view(&b), '.'));
    }
}

static void arithmetic_is_exact(void **state)
{
    struct rand r;

    rand_seed(&r, 3);
    for (int i = 0; i < 50000; i++) {
        struct quantity a = random_quantity(&r), b = random_quantity(&r);
        int c = (a.nano > b.nano) - (a.nano < b.nano);
        __int128 limit = (__int128)INT64_MAX * one;
        int64_t n = rand_between(&r, -9, 9);

        assert_int_equal(quantity_cmp(a, b), c);
        assert_int_equal(quantity_cmp(b, a), -c);
        a.nano /= 16; /* so that nothing is cut */
        b.nano /= 16;
        assert_true(quantity_add(a, b).nano == quantity_add(b, a).nano);
        assert_true(quantity_mul(a, n).nano == a.nano * n);
        assert_int_equal(quantity_add(a, b).format, a.nano ? a.format : b.format);
        assert_int_equal(quantity_is_whole(a), a.nano % one == 0);
        assert_true(quantity_mul(a, (int64_t)rand_u64(&r)).nano <= limit);
    }
}

static void rounding_goes_away_from_zero(void **state)
{
    struct rand r;

    rand_seed(&r, 4);
    for (int i = 0; i < 50000; i++) {
        struct quantity q = random_quantity(&r);
        __int128 units = quantity_units(q), size = q.nano < 0 ? -q.nano : q.nano, got = units < 0 ? -units : units;

        assert_true(got * one >= size && (got - 1) * one < size);
        assert_true(units == 0 || (units < 0) == (q.nano < 0));
    }
}

static void sums_are_cut_at_the_end_of_the_range(void **state)
{
    struct quantity most = quantity_of_i64(INT64_MAX, QUANTITY_BINARY_SI), least = quantity_of_i64(INT64_MIN, BI);

    assert_int_equal(quantity_units(least), -INT64_MAX);
    assert_int_equal(quantity_cmp(quantity_add(most, most), most), 0);
    assert_int_equal(quantity_cmp(quantity_add(least, least), least), 0);
    assert_int_equal(quantity_cmp(quantity_mul(most, INT64_MAX), most), 0);
    assert_int_equal(quantity_cmp(quantity_mul(most, INT64_MIN), least), 0);
    assert_int_equal(quantity_cmp(quantity_mul(least, INT64_MIN), most), 0);
    assert_true(quantity_mul(most, 0).nano == 0);
}

static void reads_text_and_numbers(void **state)
{
    autoarena a = { 0 };
    struct quantity q;

    (void)state;
    assert_true(quantity_from_json(json_str(&a, STR("500m")), &q));
    assert_int_equal(quantity_milli(q), 500);
    assert_true(quantity_from_json(json_int(&a, 2), &q));
    assert_int_equal(quantity_units(q), 2);
    assert_false(quantity_from_json(json_str(&a, STR("much")), &q));
    assert_false(quantity_from_json(json_bool_new(&a, true), &q));
    assert_false(quantity_from_json(NULL, &q));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_texts),
        cmocka_unit_test(reads_text_and_numbers),
        cmocka_unit_test(bad_texts),
        cmocka_unit_test(errors_say_what_is_wrong),
        cmocka_unit_test(long_texts),
        cmocka_unit_test(printing_loses_nothing),
        cmocka_unit_test(printing_uses_the_largest_suffix),
        cmocka_unit_test(arithmetic_is_exact),
        cmocka_unit_test(rounding_goes_away_from_zero),
        cmocka_unit_test(sums_are_cut_at_the_end_of_the_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
