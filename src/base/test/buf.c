/* buf.c - tests of growing text and base64 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"

#include "base/rand.h"
#include "base/util.h"

#include <inttypes.h>

static void appends_and_keeps_a_nul(void **state)
{
    autobuf b = { 0 };

    buf_append(&b, NULL, 0);
    assert_string_equal(b.p, "");
    buf_char(&b, 'a');
    buf_str(&b, STR("bc"));
    buf_str(&b, STR_NULL);
    buf_fmt(&b, "%d%s", 12, "x");
    buf_repeat(&b, '-', 3);
    buf_repeat(&b, '-', 0);
    assert_string_equal(b.p, "abc12x---");
    assert_int_equal(b.n, 9);
    buf_reset(&b);
    assert_string_equal(b.p, "");
    assert_int_equal(buf_view(&b).n, 0);
    buf_done(&b);
    buf_done(&b);
    buf_reset(&b);
    assert_null(b.p);
}

static void grows_by_any_steps(void **state)
{
    autobuf b = { 0 };
    struct rand r;
    size_t total = 0;

    rand_seed(&r, 2);
    for (int i = 0; i < 2000; i++) {
        size_t n = rand_below(&r, rand_chance(&r, 1, 100) ? 5000 : 20);

        if (rand_chance(&r, 1, 2))
            buf_repeat(&b, (char)('a' + i % 26), n);
        else
            buf_fmt(&b, "%*s", (int)n, "");
        total += n;
        assert_int_equal(b.n, total);
        assert_int_equal(b.p[b.n], 0);
        assert_true(b.cap > b.n);
    }
}

static void drops_what_was_used(void **state)
{
    autobuf b = { 0 };
    size_t at = 0;

    (void)state;
    buf_drop(&b, 0);
    buf_str(&b, STR("0123456789"));
    buf_drop(&b, 3);
    assert_string_equal(b.p, "3456789");
    at = 3;
    buf_used(&b, &at); /* less than half */
    assert_int_equal(at, 3);
    at = 4;
    buf_used(&b, &at);
    assert_int_equal(at, 0);
    assert_string_equal(b.p, "789");
    buf_drop(&b, 3);
    assert_int_equal(b.cap, 0);
    for (int i = 0; i < 1000; i++) { /* a reader that is never quite done */
        buf_str(&b, STR("0123456789"));
        at = b.n - 5;
        buf_used(&b, &at);
    }
    assert_true(b.cap < 100);
}

static void numbers_at_the_limits(void **state)
{
    static const int64_t values[] = { 0, 1, -1, 9, 10, -10, INT64_MAX, INT64_MIN, INT64_MIN + 1 };

    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        char want[32];
        autobuf b = { 0 };

        (void)snprintf(want, sizeof(want), "%" PRId64, values[i]);
        buf_i64(&b, values[i]);
        assert_string_equal(b.p, want);
    }
}

static void quotes_what_a_message_shows(void **state)
{
    static const struct {
        struct str text;
        size_t max;
        const char *want;
    } cases[] = {
        { STR_INIT("plain text"), 60, "\"plain text\"" },
        { STR_INIT(""), 60, "\"\"" },
        { STR_INIT("a\"b\\c"), 60, "\"a\\\"b\\\\c\"" },
        { STR_INIT("\n\r\t\0\x1b\x7f"), 60, "\"\\n\\r\\t\\x00\\x1b\\x7f\"" },
        { STR_INIT("\xc3\xa9\xff\xc3"), 60, "\"\xc3\xa9\\xff\\xc3\"" },
        { STR_INIT("abcdef"), 6, "\"abcdef\"" },
        { STR_INIT("abcdefg"), 6, "\"abcdef\"..." },
        { STR_INIT("abcde\xe2\x82\xac"), 6, "\"abcde\"..." }, /* whole characters only */
        { STR_INIT("x"), 0, "\"\"..." },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf b = { 0 };

        buf_quote(&b, cases[i].text, cases[i].max);
        assert_string_equal(b.p, cases[i].want);
    }
}

static void base64_known_answers(void **state)
{
    static const char *const cases[][2] = {
        { "", "" },
        { "f", "Zg==" },
        { "fo", "Zm8=" },
        { "foo", "Zm9v" },
        { "foob", "Zm9vYg==" },
        { "fooba", "Zm9vYmE=" },
        { "foobar", "Zm9vYmFy" },
        { "\xff\xfe\xfb", "//77" },
        { "\xfb\xef", "++8=" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf b = { 0 }, back = { 0 };

        buf_base64(&b, str_of(cases[i][0]));
        assert_true(str_is(buf_view(&b), cases[i][1]));
        assert_int_equal(buf_unbase64(&back, str_of(cases[i][1])), 0);
        assert_true(str_is(buf_view(&back), cases[i][0]));
    }
}

static void base64_round_trip(void **state)
{
    struct rand r;

    rand_seed(&r, 3);
    for (int i = 0; i < 3000; i++) {
        char bytes[100];
        struct str in = { bytes, rand_below(&r, sizeof(bytes)) };
        autobuf b = { 0 }, back = { 0 };

        rand_bytes(&r, bytes, in.n);
        buf_str(&b, STR("x"));
        buf_base64(&b, in);
        assert_int_equal(b.n, 1 + (in.n + 2) / 3 * 4);
        buf_str(&back, STR("y"));
        assert_int_equal(buf_unbase64(&back, str_from(buf_view(&b), 1)), 0);
        assert_int_equal(back.p[0], 'y');
        assert_true(str_eq(str_from(buf_view(&back), 1), in));
    }
}

static void base64_refuses_anything_else(void **state)
{
    static const char *const bad[] = {
        "Z",
        "Zg",
        "Zg=",
        "=",
        "====",
        "Z===",
        "Zg==Zg==",
        "Zg=a",
        "=g==",
        "Z=g=",
        "Zm9v\n",
        "Zm9v\nYg==",
        " Zg=",
        "Zm 9v",
        "Zm9-",
        "Zm9_",
        "Zh==" /* stray bits */,
        "Zm9=" /* stray bits */,
        "Zm9vY===",
        "Zm9\x80",
        "Zg==\n\n\n\n",
    };
    autobuf b = { 0 };

    buf_str(&b, STR("kept"));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (buf_unbase64(&b, str_of(bad[i])) == 0)
            fail_msg("accepted \"%s\"", bad[i]);
        assert_string_equal(b.p, "kept");
    }
    assert_int_equal(buf_unbase64(&b, (struct str){ "Zg=\0", 4 }), -1);
    assert_int_equal(buf_unbase64(&b, (struct str){ "\0\0\0\0", 4 }), -1);
}

/* Decoding is one to one: whatever is accepted is what encoding would have written. */
static void base64_has_one_form(void **state)
{
    static const char alphabet[] = "AQgwZ+/=9";
    struct rand r;
    int accepted = 0;

    rand_seed(&r, 4);
    for (int i = 0; i < 20000; i++) {
        char text[8];
        struct str in = { text, 4 * rand_below(&r, 3) };
        autobuf b = { 0 }, back = { 0 };

        for (size_t k = 0; k < in.n; k++)
            text[k] = alphabet[rand_below(&r, sizeof(alphabet) - 1)];
        if (buf_unbase64(&b, in) < 0)
            continue;
        accepted++;
        buf_base64(&back, buf_view(&b));
        assert_true(str_eq(buf_view(&back), in));
    }
    assert_true(accepted > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appends_and_keeps_a_nul),     cmocka_unit_test(grows_by_any_steps),
        cmocka_unit_test(drops_what_was_used),         cmocka_unit_test(numbers_at_the_limits),
        cmocka_unit_test(quotes_what_a_message_shows), cmocka_unit_test(base64_known_answers),
        cmocka_unit_test(base64_round_trip),           cmocka_unit_test(base64_refuses_anything_else),
        cmocka_unit_test(base64_has_one_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
