/* print.c - tests of the JSON printer, and that printing and parsing undo each other */
#include "json/json.h"

#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static const struct {
    struct str in;
    const char *want;
} str_cases[] = {
    { STR_INIT(""), "\"\"" },
    { STR_INIT("plain"), "\"plain\"" },
    { STR_INIT("\"\\/"), "\"\\\"\\\\/\"" },
    { STR_INIT("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"" },
    { STR_INIT("\0\1\x0b\x0e\x1f\x7f"), "\"\\u0000\\u0001\\u000b\\u000e\\u001f\x7f\"" },
    { STR_INIT("<a href='x'>&amp;</a>"), "\"<a href='x'>&amp;</a>\"" },
    { STR_INIT("\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e"), "\"\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e\"" },
    { STR_INIT("\xe2\x80\xa8\xe2\x80\xa9"), "\"\xe2\x80\xa8\xe2\x80\xa9\"" },
    /* not UTF-8: one U+FFFD for each bad byte, the good ones stay */
    { STR_INIT("\xff"), "\"\xef\xbf\xbd\"" },
    { STR_INIT("a\xc3"), "\"a\xef\xbf\xbd\"" },
    { STR_INIT("\xc3(\xc3\xa9"), "\"\xef\xbf\xbd(\xc3\xa9\"" },
    { STR_INIT("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
    { STR_INIT("\xe2\x82\n"), "\"\xef\xbf\xbd\xef\xbf\xbd\\n\"" },
    { STR_INIT("0123456789abcdef\"0123456789abcdef0123456789abcdef\\"),
      "\"0123456789abcdef\\\"0123456789abcdef0123456789abcdef\\\\\"" },
};

static void escapes(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(str_cases); i++) {
        autoarena a = { 0 };
        autobuf out = { 0 }, tree_out = { 0 };

        json_print_str(&out, str_cases[i].in);
        assert_string_equal(out.p, str_cases[i].want);
        json_print(&tree_out, json_str(&a, str_cases[i].in));
        assert_string_equal(tree_out.p, str_cases[i].want);
    }
}

/* Text that nobody looked at before: of any length, with something odd anywhere in it, or nothing. */
static void finds_what_to_escape_anywhere(void **state)
{
    static const char odd[] = { '"', '\\', '\n', '\x1f', '\xff' };
    char text[40];

    for (size_t n = 0; n < sizeof(text); n++)
        for (size_t at = 0; at <= n; at++)
            for (size_t k = 0; k < sizeof(odd); k++) {
                autoarena a = { 0 };
                autobuf out = { 0 }, want = { 0 };

                memset(text, 'x', sizeof(text));
                if (at < n)
                    text[at] = odd[k];
                json_print_str(&want, (struct str){ text, n });
                json_print(&out, json_str(&a, (struct str){ text, n }));
                assert_string_equal(out.p, want.p);
                assert_int_equal(out.n, want.n);
            }
}

static void appends(void **state)
{
    autoarena a = { 0 };
    autobuf out = { 0 };

    buf_str(&out, STR("x="));
    json_print(&out, json_int(&a, 5));
    buf_char(&out, ',');
    json_print_str(&out, STR_NULL);
    json_print(&out, NULL);
    assert_string_equal(out.p, "x=5,\"\"null");
    assert_int_equal(out.n, strlen(out.p));
}

static const struct {
    const char *in, *want;
} pretty_cases[] = {
    { "1", "1" },
    { "[]", "[]" },
    { "{}", "{}" },
    { "[1,2]", "[\n    1,\n    2\n]" },
    { "{\"a\":1,\"b\":{}}", "{\n    \"a\": 1,\n    \"b\": {}\n}" },
    { "{\"a\":[{\"b\":null},[],[[]]]}", "{\n    \"a\": [\n        {\n            \"b\": null\n        },\n        "
                                        "[],\n        [\n            []\n        ]\n    "
                                        "]\n}" },
};

static void prints_pretty(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(pretty_cases); i++) {
        autoarena a = { 0 };
        autobuf out = { 0 };
        struct json *j;

        assert_int_equal(json_parse(&a, str_of(pretty_cases[i].in), NULL, &j, NULL), 0);
        json_print_pretty(&out, j, 4);
        assert_string_equal(out.p, pretty_cases[i].want);
    }
}

static void honours_indent(void **state)
{
    autoarena a = { 0 };
    autobuf out = { 0 };
    struct json *j;

    assert_int_equal(json_parse(&a, STR("{\"a\":[1]}"), NULL, &j, NULL), 0);
    json_print_pretty(&out, j, 2);
    assert_string_equal(out.p, "{\n  \"a\": [\n    1\n  ]\n}");
    buf_reset(&out);
    json_print_pretty(&out, j, 0);
    assert_string_equal(out.p, "{\n\"a\": [\n1\n]\n}");
}

/* Text of each length, plain and not: the copy loops have a case for each size. */
static void copies_any_length(void **state)
{
    for (size_t n = 0; n < 70; n++) {
        autoarena a = { 0 };
        autobuf text = { 0 }, out = { 0 };
        struct json *j;

        buf_char(&text, '"');
        for (size_t i = 0; i < n; i++)
            buf_char(&text, (char)('a' + i % 26));
        buf_char(&text, '"');
        assert_int_equal(json_parse(&a, buf_view(&text), NULL, &j, NULL), 0);
        json_print(&out, j);
        assert_string_equal(out.p, text.p);
        buf_reset(&out);
        j->flags = 0;
        json_print(&out, j);
        assert_string_equal(out.p, text.p);
    }
}

/* ---- property: parse(print(tree)) = tree ---- */

struct random {
    uint64_t state;
};

static uint32_t draw(struct random *r, uint32_t below)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((r->state >> 33) % below);
}

static struct str random_text(struct arena *a, struct random *r)
{
    static const char *const pieces[] = {
        "a", "key", "\"", "\\", "\n", "\x01", "\x7f", "\xc3\xa9", "/", "\xf0\x9f\x98\x80", "long piece of text here",
        " "
    };
    autobuf b = { 0 };

    for (uint32_t i = draw(r, 8); i > 0; i--)
        buf_str(&b, str_of(pieces[draw(r, ARRAY_LEN(pieces))]));
    if (draw(r, 20) == 0)
        buf_char(&b, '\0');
    return arena_str(a, buf_view(&b));
}

static struct json *random_scalar(struct arena *a, struct random *r)
{
    static const char *const numbers[] = { "0", "-0", "1.0", "1e5", "-12.75E-3", "9007199254740993", "1e400" };
    struct json *j;

    switch (draw(r, 5)) {
    case 0:
        return json_null(a);
    case 1:
        return json_bool_new(a, draw(r, 2));
    case 2:
        return json_int(a, (int64_t)r->state);
    case 3:
        j = json_str(a, str_of(numbers[draw(r, ARRAY_LEN(numbers))]));
        j->type = JSON_NUMBER;
        return j;
    default:
        return json_str(a, random_text(a, r));
    }
}

static struct json *random_tree(struct arena *a, struct random *r, unsigned depth)
{
    struct json *j;

    if (depth == 0 || draw(r, 3) == 0)
        return random_scalar(a, r);
    if (draw(r, 2)) {
        j = json_array(a);
        for (uint32_t i = draw(r, 6); i > 0; i--)
            json_push(j, random_tree(a, r, depth - 1));
        return j;
    }
    j = json_object(a);
    for (uint32_t i = draw(r, draw(r, 10) ? 6 : 40); i > 0; i--)
        json_set_key(j, random_text(a, r), random_tree(a, r, depth - 1));
    return j;
}

static void parse_undoes_print(void **state)
{
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct random r = { seed };
        autoarena a = { 0 };
        autobuf compact = { 0 }, again = { 0 }, pretty = { 0 };
        struct json *tree = random_tree(&a, &r, 5), *back, *back2;
        struct err e = { 0 };

        json_print(&compact, tree);
        json_print_pretty(&pretty, tree, (unsigned)seed % 5);
        if (json_parse(&a, buf_view(&compact), NULL, &back, &e) < 0 ||
            json_parse(&a, buf_view(&pretty), NULL, &back2, &e) < 0)
            fail_msg("seed %llu: %s", (unsigned long long)seed, e.text);
        if (!json_equal(tree, back) || !json_equal(tree, back2))
            fail_msg("seed %llu: another tree came back", (unsigned long long)seed);
        json_print(&again, back);
        if (!str_eq(buf_view(&compact), buf_view(&again)))
            fail_msg("seed %llu: another text came back", (unsigned long long)seed);
        if (!json_equal(json_copy(&a, tree), tree))
            fail_msg("seed %llu: the copy differs", (unsigned long long)seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes),
        cmocka_unit_test(finds_what_to_escape_anywhere),
        cmocka_unit_test(appends),
        cmocka_unit_test(prints_pretty),
        cmocka_unit_test(honours_indent),
        cmocka_unit_test(copies_any_length),
        cmocka_unit_test(parse_undoes_print),
    };

    return cmocka_run_group_tests_name("json/print", tests, NULL, NULL);
}
