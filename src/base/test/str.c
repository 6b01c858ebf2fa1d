/* str.c - tests of looking at text */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/str.h"

#include <limits.h>
#include <string.h>

#include "base/rand.h"
#include "base/util.h"

static void comparing(void **state)
{
    static const char *const sorted[] = { "", "A", "a", "a\x01", "ab", "abc", "b", "\x7f", "\x80", "\xff" };

    for (size_t i = 0; i < ARRAY_LEN(sorted); i++)
        for (size_t k = 0; k < ARRAY_LEN(sorted); k++) {
            int c = str_cmp(str_of(sorted[i]), str_of(sorted[k]));

            assert_int_equal((c > 0) - (c < 0), (i > k) - (i < k));
            assert_int_equal(str_eq(str_of(sorted[i]), str_of(sorted[k])), i == k);
            assert_int_equal(str_is(str_of(sorted[i]), sorted[k]), i == k);
        }
    assert_int_equal(str_cmp(STR_NULL, STR("")), 0);
    assert_true(str_eq(STR_NULL, STR("")));
    assert_true(str_is(STR_NULL, "") && str_empty(STR_NULL) && !str_is(STR("a"), ""));
    assert_false(str_is_text(STR("a\0b"), sorted[2]) || str_is_text(STR("a"), NULL)); /* a NUL is a byte like others */
    assert_true(str_is_text(STR_NULL, NULL) && str_is_text(STR_NULL, sorted[0]));
    assert_true(str_eq_nocase(STR("Ab-Z@["), STR("aB-z@[")));
    assert_false(str_eq_nocase(STR("@"), STR("\x60"))); /* 32 apart, but no letters */
    assert_false(str_eq_nocase(STR("a"), STR("ab")));
}

static void searching(void **state)
{
    struct str s = STR("volcano.sh/task");

    assert_true(str_starts(s, STR("volcano.sh/")) && str_starts(s, STR("")) && str_starts(s, s));
    assert_false(str_starts(STR("vol"), s));
    assert_true(str_ends(s, STR("/task")) && str_ends(s, STR_NULL) && str_ends(s, s));
    assert_false(str_ends(STR("task"), s));
    assert_true(str_has(s, STR("no.sh")) && str_has(s, STR("")) && str_has(STR_NULL, STR_NULL));
    assert_false(str_has(s, STR("no-sh")) || str_has(STR(""), s));
    assert_int_equal(str_find_char(STR("abcabc"), 'b'), 1);
    assert_int_equal(str_rfind_char(STR("abcabc"), 'b'), 4);
    assert_int_equal(str_find_char(STR("abc"), 'x'), -1);
    assert_int_equal(str_rfind_char(STR_NULL, 'x'), -1);
    assert_true(str_has_char(STR("a\0b"), '\0'));
    assert_false(str_has_char(STR_NULL, '\0'));
}

static void cutting(void **state)
{
    assert_true(str_is(str_from(STR("abc"), 1), "bc"));
    assert_true(str_is(str_from(STR("abc"), 99), ""));
    assert_true(str_is(str_sub(STR("abc"), 1, 1), "b"));
    assert_true(str_is(str_sub(STR("abc"), 1, SIZE_MAX), "bc"));
    assert_true(str_is(str_sub(STR_NULL, 3, 3), ""));
    assert_true(str_is(str_trim(STR(" \t\r\n\v\f a b \n")), "a b"));
    assert_true(str_is(str_trim(STR(" \n ")), ""));
    assert_true(str_is(str_trim(STR_NULL), ""));
}

static void splitting(void **state)
{
    static const struct {
        const char *text;
        const char *parts[5];
    } cases[] = {
        { "a,b,c", { "a", "b", "c" } }, { "a,,b", { "a", "", "b" } }, { "", { "" } }, { ",", { "", "" } },
        { "a,", { "a", "" } },          { "abc", { "abc" } },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str rest = str_of(cases[i].text), part;
        size_t n = 0;

        while (str_split(&rest, ',', &part)) {
            assert_non_null(cases[i].parts[n]);
            assert_true(str_is(part, cases[i].parts[n++]));
        }
        assert_null(cases[i].parts[n]);
    }
    assert_false(str_split(&(struct str){ 0 }, ',', &(struct str){ 0 }));
}

static void numbers(void **state)
{
    static const struct {
        const char *text;
        int rc;
        int64_t want;
    } cases[] = {
        { "0", 0, 0 },
        { "-0", 0, 0 },
        { "+7", 0, 7 },
        { "007", 0, 7 },
        { "9007199254740993", 0, 9007199254740993 },
        { "9223372036854775807", 0, INT64_MAX },
        { "9223372036854775808", -1, 0 },
        { "-9223372036854775808", 0, INT64_MIN },
        { "-9223372036854775809", -1, 0 },
        { "18446744073709551616", -1, 0 },
        { "99999999999999999999999", -1, 0 },
        { "0000000000000000000000000001", 0, 1 },
        { "", -1, 0 },
        { "-", -1, 0 },
        { "+", -1, 0 },
        { "--1", -1, 0 },
        { "+-1", -1, 0 },
        { " 1", -1, 0 },
        { "1 ", -1, 0 },
        { "1.0", -1, 0 },
        { "1e3", -1, 0 },
        { "0x10", -1, 0 },
        { "1,000", -1, 0 },
    };
    uint64_t u = 77;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t v = 77;

        if (str_to_i64(str_of(cases[i].text), &v) != cases[i].rc || v != (cases[i].rc ? 77 : cases[i].want))
            fail_msg("\"%s\" gave %lld", cases[i].text, (long long)v);
    }
    assert_int_equal(str_to_u64(STR("18446744073709551616"), &u), -1);
    assert_int_equal(str_to_u64(STR("+1"), &u), -1);
    assert_int_equal(str_to_u64(STR("-1"), &u), -1);
    assert_int_equal(str_to_u64(STR("1\0"), &u), -1);
    assert_int_equal(u, 77);
    assert_int_equal(str_to_u64(STR("18446744073709551615"), &u), 0);
    assert_true(u == UINT64_MAX);
}

/* The definition itself, slow: the least number of edits, where swapped neighbours are not edited again. */
static size_t plain_distance(struct str a, struct str b)
{
    size_t best;

    if (a.n == 0 || b.n == 0)
        return a.n + b.n;
    best = plain_distance(str_from(a, 1), str_from(b, 1)) + (a.p[0] != b.p[0]);
    best = MIN_OF(best, plain_distance(str_from(a, 1), b) + 1);
    best = MIN_OF(best, plain_distance(a, str_from(b, 1)) + 1);
    if (a.n > 1 && b.n > 1 && a.p[0] == b.p[1] && a.p[1] == b.p[0])
        best = MIN_OF(best, plain_distance(str_from(a, 2), str_from(b, 2)) + 1);
    return best;
}

static void distance_is_as_defined(void **state)
{
    struct rand r;

    rand_seed(&r, 5);
    for (int i = 0; i < 1500; i++) {
        char p[2][6];
        struct str a = { p[0], rand_below(&r, 7) }, b = { p[1], rand_below(&r, 7) };
        size_t limit = rand_below(&r, 7), want;

        for (size_t k = 0; k < 6; k++) {
            p[0][k] = (char)('a' + rand_below(&r, 3));
            p[1][k] = (char)('a' + rand_below(&r, 3));
        }
        want = MIN_OF(plain_distance(a, b), limit + 1);
        if (str_distance(a, b, limit) != want)
            fail_msg("%.*s and %.*s: %zu, not %zu", STR_ARG(a), STR_ARG(b), str_distance(a, b, limit), want);
    }
}

static void distance_of_words(void **state)
{
    char long_word[64];

    memset(long_word, 'a', sizeof(long_word));
    assert_int_equal(str_distance(STR("replicas"), STR("replcias"), 3), 1);
    assert_int_equal(str_distance(STR("queue"), STR("que"), 3), 2);
    assert_int_equal(str_distance(STR("tasks"), STR("plugins"), 2), 3);
    assert_int_equal(str_distance(STR_NULL, STR_NULL, 2), 0);
    assert_int_equal(str_distance((struct str){ long_word, 63 }, (struct str){ long_word, 62 }, 2), 1);
    assert_int_equal(str_distance((struct str){ long_word, 64 }, (struct str){ long_word, 64 }, 2), 3); /* too long */
}

static void utf8(void **state)
{
    static const struct {
        struct str text;
        bool is_good;
    } cases[] = {
        { STR_INIT(""), true },
        { STR_INIT("plain\0text"), true },
        { STR_INIT("\x7f"), true },
        { STR_INIT("\x80"), false },
        { STR_INIT("\xbf"), false },
        { STR_INIT("\xc0\x80"), false }, /* overlong NUL */
        { STR_INIT("\xc1\xbf"), false },
        { STR_INIT("\xc2\x80"), true },
        { STR_INIT("\xc2"), false },
        { STR_INIT("\xc2\x41"), false },
        { STR_INIT("\xc2\xc0"), false },
        { STR_INIT("\xdf\xbf"), true },
        { STR_INIT("\xe0\x80\x80"), false }, /* overlong */
        { STR_INIT("\xe0\x9f\xbf"), false },
        { STR_INIT("\xe0\xa0\x80"), true },
        { STR_INIT("\xe2\x82"), false },
        { STR_INIT("\xe2\x82\xac"), true },
        { STR_INIT("\xed\x9f\xbf"), true },
        { STR_INIT("\xed\xa0\x80"), false }, /* surrogates */
        { STR_INIT("\xed\xbf\xbf"), false },
        { STR_INIT("\xee\x80\x80"), true },
        { STR_INIT("\xef\xbf\xbf"), true },
        { STR_INIT("\xf0\x80\x80\x80"), false }, /* overlong */
        { STR_INIT("\xf0\x8f\xbf\xbf"), false },
        { STR_INIT("\xf0\x90\x80\x80"), true },
        { STR_INIT("\xf0\x9f\x8c\x8b!"), true },
        { STR_INIT("\xf0\x9f\x8c"), false },
        { STR_INIT("\xf4\x8f\xbf\xbf"), true },
        { STR_INIT("\xf4\x90\x80\x80"), false }, /* beyond U+10FFFF */
        { STR_INIT("\xf5\x80\x80\x80"), false },
        { STR_INIT("\xf8\x88\x80\x80\x80"), false },
        { STR_INIT("\xff"), false },
        { STR_INIT("a\xe2\x82\xac\x80"), false },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (str_is_utf8(cases[i].text) != cases[i].is_good)
            fail_msg("case %zu is %s", i, cases[i].is_good ? "good" : "bad");
    assert_true(str_is_utf8(STR_NULL));
}

/* All code points, encoded by the book, are good; a surrogate is not. */
static void utf8_all_code_points(void **state)
{
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        char p[4];
        size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
        uint32_t rest = c;

        for (size_t i = n - 1; i > 0; i--, rest >>= 6)
            p[i] = (char)(0x80 | (rest & 0x3f));
        p[0] = (char)(lead[n] | rest);
        if (str_is_utf8((struct str){ p, n }) != !(c >= 0xd800 && c <= 0xdfff))
            fail_msg("U+%04X", c);
        if (n > 1 && str_is_utf8((struct str){ p, n - 1 }))
            fail_msg("half of U+%04X", c);
    }
}

static void hash_depends_on_everything(void **state)
{
    char bytes[40] = { 0 };
    uint64_t seen[41];

    for (size_t n = 0; n <= 40; n++) {
        seen[n] = str_hash((struct str){ bytes, n }, 9);
        for (size_t k = 0; k < n; k++)
            assert_true(seen[n] != seen[k]);
        assert_true(seen[n] != str_hash((struct str){ bytes, n }, 10));
    }
    for (size_t bit = 0; bit < 40 * 8; bit++) {
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        assert_true(str_hash((struct str){ bytes, 40 }, 9) != seen[40]);
        bytes[bit / 8] ^= (char)(1 << bit % 8);
    }
    assert_true(str_hash(STR_NULL, 1) == str_hash(STR(""), 1));
}

/* A character of several bytes is kept whole or left out. */
static void cut(void **state)
{
    assert_true(str_is(str_cut(STR("abc"), 5), "abc"));
    assert_true(str_is(str_cut(STR("abc"), 2), "ab"));
    assert_true(str_is(str_cut(STR("a\xe2\x80\xa6"), 4), "a\xe2\x80\xa6"));
    assert_true(str_is(str_cut(STR("a\xe2\x80\xa6"), 3), "a"));
    assert_true(str_is(str_cut(STR("\xe2\x80\xa6"), 1), ""));
}

static void last_lines(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        const char *want;
    } cases[] = {
        { "a\nb\nc\n", 2, "b\nc" }, { "a\nb\nc", 1, "c" },    { "a\n", 5, "a" }, { "\n\n", 1, "" }, { "", 3, "" },
        { "a\nb", 0, "" },          { "a\n\nb\n", 2, "\nb" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_true(str_is(str_last_lines(str_of(cases[i].text), cases[i].n), cases[i].want));
}

static void reads_hex_digits(void **state)
{
    static const char digits[] = "0123456789abcdef", capitals[] = "0123456789ABCDEF";

    (void)state;
    for (int c = CHAR_MIN; c <= CHAR_MAX; c++) {
        const char *small = c ? strchr(digits, c) : NULL, *capital = c ? strchr(capitals, c) : NULL;

        assert_int_equal(hex_digit((char)c), small ? small - digits : capital ? capital - capitals : -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_hex_digits),
        cmocka_unit_test(comparing),
        cmocka_unit_test(searching),
        cmocka_unit_test(cutting),
        cmocka_unit_test(splitting),
        cmocka_unit_test(numbers),
        cmocka_unit_test(distance_is_as_defined),
        cmocka_unit_test(distance_of_words),
        cmocka_unit_test(last_lines),
        cmocka_unit_test(cut),
        cmocka_unit_test(utf8),
        cmocka_unit_test(utf8_all_code_points),
        cmocka_unit_test(hash_depends_on_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
