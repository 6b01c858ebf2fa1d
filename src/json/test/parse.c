/* parse.c - tests of the JSON parser: what it takes, what it refuses and where it says the error is */
#include "json/json.h"

#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

/* Input in a block of its own size, so that the sanitizer sees a read beyond its end. */
static int parse_exact(struct arena *a, struct str text, const struct json_parse_options *opt, char **ret_copy,
                       struct json **ret, struct err *e)
{
    *ret_copy = xmalloc(text.n ? text.n : 1);
    if (text.n)
        memcpy(*ret_copy, text.p, text.n);
    return json_parse(a, (struct str){ *ret_copy, text.n }, opt, ret, e);
}

#define T(s) STR_INIT(s) /* may hold NUL bytes */

/* ---- must be taken ---- */

static const struct accept_case {
    struct str in, want; /* 'want' empty: prints as it came */
} accept_cases[] = {
    /* one value of each kind, at the top */
    { T("null"), T("") },
    { T("true"), T("") },
    { T("false"), T("") },
    { T("0"), T("") },
    { T("\"\""), T("") },
    { T("\"text\""), T("") },
    { T("[]"), T("") },
    { T("{}"), T("") },
    /* arrays */
    { T("[[]]"), T("") },
    { T("[[],[[]],{}]"), T("") },
    { T("[\"\"]"), T("") },
    { T("[1,null,true,false,\"a\",{},[]]"), T("") },
    { T("[1,null,null,null,2]"), T("") },
    { T("[] "), T("[]") },
    { T(" [ ] "), T("[]") },
    { T("[1\n,\r\n2\t]"), T("[1,2]") },
    { T(" [1]"), T("[1]") },
    /* objects */
    { T("{\"\":0}"), T("") },
    { T("{\"a\":{}}"), T("") },
    { T("{\"a\":[]}"), T("") },
    { T("{\"a\":1,\"b\":2,\"A\":3}"), T("") },
    { T("{ \"a\" : 1 , \"b\" : [ 2 ] }"), T("{\"a\":1,\"b\":[2]}") },
    { T("{\n\t\"a\"\r\n:\n1\n}\n"), T("{\"a\":1}") },
    { T("{\"a\\u0000b\":1}"), T("") },
    { T("{\"\\u0061\":1}"), T("{\"a\":1}") },
    { T("{\"asd\":\"sdf\",\"dfg\":\"fgh\"}"), T("") },
    /* numbers stay as written */
    { T("-0"), T("") },
    { T("-1"), T("") },
    { T("0.0"), T("") },
    { T("0e1"), T("") },
    { T("0e+1"), T("") },
    { T("1E22"), T("") },
    { T("1e-2"), T("") },
    { T("1E+2"), T("") },
    { T("123.456e78"), T("") },
    { T("-123"), T("") },
    { T("-0.0000000000000000000000000000000000000000000000000000000000000000001"), T("") },
    { T("9007199254740993"), T("") },
    { T("100000000000000000000000000000000000000000000000000"), T("") },
    { T("1e400"), T("") }, /* the standard leaves the range open; text has none */
    { T("-1e99999999999999999999"), T("") },
    { T("[0,1 ,2]"), T("[0,1,2]") },
    /* text: escapes */
    { T("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), T("\"\\\"\\\\/\\b\\f\\n\\r\\t\"") },
    { T("\"\\u0041\""), T("\"A\"") },
    { T("\"\\u00e9\\u20AC\""), T("\"\xc3\xa9\xe2\x82\xac\"") },
    { T("\"\\uD834\\uDD1E\""), T("\"\xf0\x9d\x84\x9e\"") },
    { T("\"\\uDBFF\\uDFFF\""), T("\"\xf4\x8f\xbf\xbf\"") },
    { T("\"\\ud800\\udc00\""), T("\"\xf0\x90\x80\x80\"") },
    { T("\"\\u0000\""), T("") },
    { T("\"\\u0000\\u0000x\""), T("") },
    { T("\"\\uFFFF\""), T("\"\xef\xbf\xbf\"") },
    { T("\"\\u0012\""), T("") },
    { T("\"\\\\u0000\""), T("") },
    { T("\"\\\\n\""), T("") },
    { T("\"\\\\\\\"\""), T("") },
    { T("\"\\u0022\""), T("\"\\\"\"") },
    { T("\"\\u005C\""), T("\"\\\\\"") },
    { T("\"\\u007f\""), T("\"\x7f\"") },
    /* text: bytes */
    { T("\"/* no comment */ // \""), T("") },
    { T("\" !#'&<>\x7f\""), T("") },
    { T("\"\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""),
      T("") },
    { T("\"\xe2\x80\xa8\xe2\x80\xa9\""), T("") }, /* U+2028 and U+2029 are plain in JSON */
    { T("\"\xef\xbb\xbf\""), T("") },             /* a BOM inside text is a character */
    { T("\"0123456789abcdef\""), T("") },
    { T("\"0123456789abcdef0123456789abcdef0123\xc3\xa9 tail that goes on for a while\""), T("") },
    { T("\"0123456789abcde\\n0123456789abcdef\\\\\""), T("") },
};

static void accepts(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(accept_cases); i++) {
        const struct accept_case *c = &accept_cases[i];
        struct str want = c->want.n ? c->want : c->in;
        autoarena a = { 0 };
        autobuf out = { 0 };
        autofree char *copy = NULL;
        struct json *j;
        struct err e = { 0 };

        if (parse_exact(&a, c->in, NULL, &copy, &j, &e) < 0)
            fail_msg("%.*s: refused: %s", STR_ARG(c->in), e.text);
        json_print(&out, j);
        if (!str_eq(buf_view(&out), want))
            fail_msg("%.*s: printed %.*s", STR_ARG(c->in), STR_ARG(buf_view(&out)));
    }
}

/* ---- must be refused ---- */

static const struct refuse_case {
    struct str in;
    const char *want; /* beginning of the message */
} refuse_cases[] = {
    /* nothing, or more than one value */
    { T(""), "line 1, column 1: expected a value, found the end of the input" },
    { T(" \n "), "line 2, column 2: expected a value, found the end of the input" },
    { T("1 2"), "line 1, column 3: expected the end of the input, found '2'" },
    { T("[]]"), "line 1, column 3: expected the end of the input, found ']'" },
    { T("{}}"), "line 1, column 3: expected the end of the input" },
    { T("{}#"), "line 1, column 3: expected the end of the input, found '#'; JSON has no comments" },
    { T("\"a\"x"), "line 1, column 4: expected the end of the input" },
    { T("[1]\0"), "line 1, column 4: expected the end of the input, found byte 0x00" },
    { T("null\xc2\xa0"), "line 1, column 5: expected the end of the input, found byte 0xc2" },
    { T("\x0c[]"), "line 1, column 1: expected a value, found byte 0x0c" },
    { T("\xe2\x81\xa0"), "line 1, column 1: expected a value, found byte 0xe2" },
    { T("\0"), "line 1, column 1: expected a value, found byte 0x00" },
    { T("\xef\xbb\xbf[]"), "line 1, column 1: the text begins with a byte order mark" },
    { T("\xff\xfe[\0]\0"), "line 1, column 1: expected a value, found byte 0xff" },
    { T("*"), "line 1, column 1: expected a value, found '*'" },
    { T("<.>"), "line 1, column 1: expected a value, found '<'" },
    { T("// c\n1"), "line 1, column 1: expected a value, found '/'; JSON has no comments" },
    { T("/* c */ 1"), "line 1, column 1: expected a value, found '/'; JSON has no comments" },
    /* words */
    { T("nul"), "line 1, column 4: expected 'null', found the end of the input" },
    { T("nulL"), "line 1, column 4: expected 'null', found 'L'" },
    { T("tru]"), "line 1, column 4: expected 'true', found ']'" },
    { T("falsy"), "line 1, column 5: expected 'false', found 'y'" },
    { T("True"), "line 1, column 1: expected a value, found 'T'; JSON writes true" },
    { T("NaN"), "line 1, column 1: expected a value, found 'N'; JSON has no NaN" },
    { T("Infinity"), "line 1, column 1: expected a value, found 'I'; JSON has no NaN and no Infinity" },
    { T("undefined"), "line 1, column 1: expected a value, found 'u'" },
    { T("nullx"), "line 1, column 5: expected the end of the input" },
    /* arrays */
    { T("["), "line 1, column 2: expected a value, found the end" },
    { T("[1"), "line 1, column 3: expected ',' or ']', found the end" },
    { T("[1,"), "line 1, column 4: expected a value, found the end" },
    { T("[1,]"), "line 1, column 4: expected a value, found ']'; remove the comma before it" },
    { T("[1,\n  ]"), "line 2, column 3: expected a value, found ']'; remove the comma before it" },
    { T("[,1]"), "line 1, column 2: expected a value, found ','" },
    { T("[1,,2]"), "line 1, column 4: expected a value, found ','" },
    { T("[,]"), "line 1, column 2: expected a value, found ','" },
    { T("[1 2]"), "line 1, column 4: expected ',' or ']', found '2'" },
    { T("[1:2]"), "line 1, column 3: expected ',' or ']', found ':'" },
    { T("[1}"), "line 1, column 3: expected ',' or ']', found '}'" },
    { T("[\"a\",\n4\n,1,"), "line 3, column 4: expected a value" },
    { T("[*]"), "line 1, column 2: expected a value" },
    { T("[a"), "line 1, column 2: expected a value, found 'a'" },
    /* objects */
    { T("{"), "line 1, column 2: expected a key in double quotes, found the end" },
    { T("{\"a\""), "line 1, column 5: expected ':' after the key, found the end" },
    { T("{\"a\":"), "line 1, column 6: expected a value, found the end" },
    { T("{\"a\":1"), "line 1, column 7: expected ',' or '}', found the end" },
    { T("{\"a\":1,"), "line 1, column 8: expected a key in double quotes, found the end" },
    { T("{\"a\":1,}"), "line 1, column 8: expected a key in double quotes, found '}'; remove the comma before it" },
    { T("{,\"a\":1}"), "line 1, column 2: expected a key in double quotes, found ','" },
    { T("{\"a\":1,,\"b\":2}"), "line 1, column 8: expected a key in double quotes, found ','" },
    { T("{\"a\" 1}"), "line 1, column 6: expected ':' after the key, found '1'" },
    { T("{\"a\",1}"), "line 1, column 5: expected ':' after the key, found ','" },
    { T("{\"a\"::1}"), "line 1, column 6: expected a value, found ':'" },
    { T("{a:1}"), "line 1, column 2: expected a key in double quotes, found 'a'" },
    { T("{'a':1}"), "line 1, column 2: expected a key in double quotes, found '''" },
    { T("{1:1}"), "line 1, column 2: expected a key in double quotes, found '1'" },
    { T("{null:1}"), "line 1, column 2: expected a key in double quotes" },
    { T("{[:1}"), "line 1, column 2: expected a key in double quotes" },
    { T("{\"a\":1 \"b\":2}"), "line 1, column 8: expected ',' or '}', found '\"'" },
    { T("{\"a\":1]"), "line 1, column 7: expected ',' or '}', found ']'" },
    { T("{\"a\":'b'}"), "line 1, column 6: expected a value, found '''; JSON text needs double quotes" },
    { T("{\"a\":1/**/}"), "line 1, column 7: expected ',' or '}', found '/'; JSON has no comments" },
    { T("{\"a\":b}"), "line 1, column 6: expected a value, found 'b'" },
    { T("{\n  \"a\": 1,\n  \"b\" 2\n}"), "line 3, column 7: expected ':' after the key, found '2'" },
    /* numbers */
    { T("-"), "line 1, column 2: expected a digit after '-', found the end" },
    { T("--1"), "line 1, column 2: expected a digit after '-', found '-'" },
    { T("-a"), "line 1, column 2: expected a digit after '-', found 'a'" },
    { T("-Infinity"), "line 1, column 2: expected a digit after '-', found 'I'" },
    { T("- 1"), "line 1, column 2: expected a digit after '-', found byte 0x20" },
    { T("+1"), "line 1, column 1: expected a value, found '+'; a JSON number has no plus sign" },
    { T(".5"), "line 1, column 1: expected a value, found '.'; a JSON number needs a digit before the point" },
    { T("-.5"), "line 1, column 2: expected a digit after '-', found '.'" },
    { T("5."), "line 1, column 3: expected a digit after '.', found the end" },
    { T("[5.]"), "line 1, column 4: expected a digit after '.', found ']'" },
    { T("5.e1"), "line 1, column 3: expected a digit after '.', found 'e'" },
    { T("01"), "line 1, column 1: a number must not begin with 0" },
    { T("-01"), "line 1, column 2: a number must not begin with 0" },
    { T("00"), "line 1, column 1: a number must not begin with 0" },
    { T("1e"), "line 1, column 3: expected a digit in the exponent, found the end" },
    { T("1e+"), "line 1, column 4: expected a digit in the exponent" },
    { T("1E-x"), "line 1, column 4: expected a digit in the exponent, found 'x'" },
    { T("1ee2"), "line 1, column 3: expected a digit in the exponent" },
    { T("1e1.5"), "line 1, column 4: expected the end of the input" },
    { T("1.2.3"), "line 1, column 4: expected the end of the input" },
    { T("0x42"), "line 1, column 2: expected the end of the input, found 'x'" },
    { T("1_000"), "line 1, column 2: expected the end of the input" },
    { T("1 000"), "line 1, column 3: expected the end of the input" },
    { T("[1a]"), "line 1, column 3: expected ',' or ']', found 'a'" },
    { T("[1+2]"), "line 1, column 3: expected ',' or ']', found '+'" },
    { T("\xef\xbc\x91"), "line 1, column 1: expected a value, found byte 0xef" }, /* full-width 1 */
    /* text */
    { T("\""), "line 1, column 2: the string that begins in column 1 is not closed" },
    { T("\"abc"), "line 1, column 5: the string that begins in column 1 is not closed" },
    { T("[\"abc\n\"]"), "line 1, column 6: the string that begins in column 2 is not closed" },
    { T("\"a\tb\""), "line 1, column 3: control character 0x09 in a string must be escaped" },
    { T("\"a\0b\""), "line 1, column 3: control character 0x00" },
    { T("\"\x1f\""), "line 1, column 2: control character 0x1f" },
    { T("\"0123456789abcdef\x01\""), "line 1, column 18: control character 0x01" },
    { T("\"\\"), "line 1, column 3: the string that begins in column 1 is not closed" },
    { T("\"\\\""), "line 1, column 4: the string that begins in column 1 is not closed" },
    { T("\"\\x41\""), "line 1, column 2: invalid escape" },
    { T("\"ab\\a\""), "line 1, column 4: invalid escape" },
    { T("\"\\'\""), "line 1, column 2: invalid escape" },
    { T("\"\\U0041\""), "line 1, column 2: invalid escape" },
    { T("\"\\\0\""), "line 1, column 2: invalid escape" },
    { T("\"\\\n\""), "line 1, column 2: invalid escape" },
    { T("\"\\\xc3\xa9\""), "line 1, column 2: invalid escape" },
    { T("\"\\u\""), "line 1, column 2: expected four hex digits after '\\u'" },
    { T("\"\\u00\""), "line 1, column 2: expected four hex digits" },
    { T("\"\\u00A\""), "line 1, column 2: expected four hex digits" },
    { T("\"\\u00gg\""), "line 1, column 2: expected four hex digits" },
    { T("\"\\u-001\""), "line 1, column 2: expected four hex digits" },
    { T("\"\\u 041\""), "line 1, column 2: expected four hex digits" },
    { T("\"\\u"), "line 1, column 4: the string that begins in column 1 is not closed" },
    { T("\"\\uD800\""), "line 1, column 2: high surrogate without a low surrogate after it" },
    { T("\"\\uDBFFx\""), "line 1, column 2: high surrogate without a low surrogate after it" },
    { T("\"\\uD800\\n\""), "line 1, column 2: high surrogate without a low surrogate after it" },
    { T("\"\\uD800\\u\""), "line 1, column 2: high surrogate without a low surrogate after it" },
    { T("\"\\uD800\\u0041\""), "line 1, column 2: high surrogate without a low surrogate after it" },
    { T("\"\\uD800\\uD800\\uDC00\""), "line 1, column 2: high surrogate without a low surrogate after it" },
    { T("\"\\uDC00\""), "line 1, column 2: low surrogate without a high surrogate before it" },
    { T("\"\\uDC00\\uD800\""), "line 1, column 2: low surrogate without a high surrogate before it" },
    /* not UTF-8; the column is that of the first bad byte */
    { T("\"\xff\""), "line 1, column 2: invalid UTF-8" },
    { T("\"ab\x80\""), "line 1, column 4: invalid UTF-8" },
    { T("\"\xc3\""), "line 1, column 2: invalid UTF-8" },
    { T("\"\xc3\xa9\xc0\xaf\""), "line 1, column 4: invalid UTF-8" },          /* overlong */
    { T("\"\xe0\x80\xaf\""), "line 1, column 2: invalid UTF-8" },              /* overlong */
    { T("\"\xf0\x80\x80\xaf\""), "line 1, column 2: invalid UTF-8" },          /* overlong */
    { T("\"\xed\xa0\x80\""), "line 1, column 2: invalid UTF-8" },              /* surrogate */
    { T("\"\xf4\x90\x80\x80\""), "line 1, column 2: invalid UTF-8" },          /* beyond U+10FFFF */
    { T("\"\xe2\x82\""), "line 1, column 2: invalid UTF-8" },                  /* cut */
    { T("\"\\n\xe9\""), "line 1, column 4: invalid UTF-8" },                   /* Latin-1 after an escape */
    { T("{\"0123456789abcdef\xff\":1}"), "line 1, column 19: invalid UTF-8" }, /* in a key */
    /* duplicate keys */
    { T("{\"a\":1,\"a\":1}"), "line 1, column 8: duplicate key \"a\"" },
    { T("{\"\":1,\"\":2}"), "line 1, column 7: duplicate key \"\"" },
    { T("{\"a\":1,\n \"b\":[\n],\n  \"b\":2,\"a\":3}"), "line 4, column 3: duplicate key \"b\"" },
    { T("[{\"x\":{\"k\":1,\n\n\"k\":\n2}}]"), "line 3, column 1: duplicate key \"k\"" },
    { T("{\"a\":1,\"\\u0061\":2}"), "line 1, column 17: duplicate key \"a\"" }, /* escaped: of the value */
};

static void refuses(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(refuse_cases); i++) {
        const struct refuse_case *c = &refuse_cases[i];
        autoarena a = { 0 };
        autofree char *copy = NULL;
        struct json *j = NULL;
        struct err e = { 0 };

        if (parse_exact(&a, c->in, NULL, &copy, &j, &e) == 0)
            fail_msg("case %zu, %.*s: taken", i, STR_ARG(c->in));
        if (!str_starts(str_of(e.text), str_of(c->want)))
            fail_msg("case %zu, %.*s: says %s", i, STR_ARG(c->in), e.text);
        assert_int_equal(e.code, ERR_SYNTAX);
        assert_null(j);
    }
}

/* Every beginning of a document is no document, wherever a token is cut. */
static void refuses_every_cut(void **state)
{
    struct str text = STR(
        "{\"a\":[1,-2.5e+3,\"x\\u00e9\\uD834\\uDD1E\\n\xc3\xa9\",true,false,null],\"b\":{\"c\":\"0123456789abcdef\"}}");

    for (size_t n = 0; n <= text.n; n++) {
        autoarena a = { 0 };
        autofree char *copy = NULL;
        struct json *j;
        int r = parse_exact(&a, str_sub(text, 0, n), NULL, &copy, &j, NULL);

        if ((r == 0) != (n == text.n))
            fail_msg("cut at %zu: %d", n, r);
    }
}

/* Each single byte in place of the first character of a text, and in place of a whole document. */
static void knows_every_byte(void **state)
{
    for (int c = 0; c < 256; c++) {
        autoarena a = { 0 };
        char text[] = { '"', (char)c, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', '"' };
        char one[] = { (char)c };
        bool in_text = c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
        struct json *j;

        if ((json_parse(&a, (struct str){ text, sizeof(text) }, NULL, &j, NULL) == 0) != in_text)
            fail_msg("byte 0x%02x in a long text", c);
        text[2] = '"'; /* short: the word-wise and byte-wise loops */
        if ((json_parse(&a, (struct str){ text, 3 }, NULL, &j, NULL) == 0) != in_text)
            fail_msg("byte 0x%02x in a short text", c);
        if ((json_parse(&a, (struct str){ one, 1 }, NULL, &j, NULL) == 0) != (c >= '0' && c <= '9'))
            fail_msg("byte 0x%02x alone", c);
    }
}

/* A special byte at each offset of texts of each length around the block sizes of the scanner. */
static void finds_special_bytes_anywhere(void **state)
{
    static const char *const specials[] = { "\x01", "\\n", "\xc3\xa9", "\xff", "\x1f" };
    static const bool is_good[] = { false, true, true, false, false };

    for (size_t k = 0; k < ARRAY_LEN(specials); k++)
        for (size_t n = 0; n < 40; n++)
            for (size_t at = 0; at <= n; at++) {
                autoarena a = { 0 };
                autobuf text = { 0 }, out = { 0 };
                autofree char *copy = NULL;
                struct json *j;
                int r;

                buf_char(&text, '"');
                buf_repeat(&text, 'x', at);
                buf_str(&text, str_of(specials[k]));
                buf_repeat(&text, 'y', n - at);
                buf_char(&text, '"');
                r = parse_exact(&a, buf_view(&text), NULL, &copy, &j, NULL);
                if ((r == 0) != is_good[k])
                    fail_msg("special %zu at %zu of %zu: %d", k, at, n, r);
                if (r < 0)
                    continue;
                json_print(&out, j);
                assert_true(str_eq(buf_view(&out), buf_view(&text)));
            }
}

/* ---- places, flags, limits ---- */

static void tells_places(void **state)
{
    struct str text = STR("{\n  \"a\": 1,\r\n\t\"b\": [true,\n\n  {\"c\": \"x\"}]\n}");
    autoarena a = { 0 };
    struct json *j, *b;

    assert_int_equal(json_parse(&a, text, NULL, &j, NULL), 0);
    assert_int_equal(j->line, 1);
    assert_int_equal(j->col, 1);
    assert_int_equal(json_get(j, "a")->line, 2);
    assert_int_equal(json_get(j, "a")->col, 8);
    b = json_get(j, "b");
    assert_int_equal(b->line, 3);
    assert_int_equal(b->col, 7);
    assert_int_equal(json_at(b, 0)->col, 8);
    assert_int_equal(json_at(b, 1)->line, 5);
    assert_int_equal(json_at(b, 1)->col, 3);
    assert_int_equal(json_find(json_at(b, 1), "c", NULL)->col, 9);
}

static void clips_columns(void **state)
{
    autoarena a = { 0 };
    autobuf text = { 0 };
    struct json *j;
    struct err e;

    buf_repeat(&text, ' ', 70000);
    buf_str(&text, STR("[1]"));
    assert_int_equal(json_parse(&a, buf_view(&text), NULL, &j, NULL), 0);
    assert_int_equal(j->col, 65535);
    assert_int_equal(j->first->col, 65535);
    buf_char(&text, '!');
    assert_int_equal(json_parse(&a, buf_view(&text), NULL, &j, &e), -1);
    assert_true(str_starts(str_of(e.text), STR("line 1, column 70004:"))); /* messages are not clipped */
}

static void borrows_plain_text(void **state)
{
    struct str text = STR("{\"plain\":\"text\",\"\\u006b\":\"a\\nb\",\"n\":12}");
    autoarena a = { 0 };
    struct json *j;

    assert_int_equal(json_parse(&a, text, NULL, &j, NULL), 0);
    assert_ptr_equal(j->first->key, text.p + 2);
    assert_ptr_equal(j->first->text, text.p + 10);
    assert_int_equal(j->first->flags, JSON_PLAIN_KEY | JSON_PLAIN_TEXT);
    assert_int_equal(json_get(j, "k")->flags, 0);
    assert_true(str_eq(json_member_text(j, "k"), STR("a\nb")));
    assert_ptr_equal(json_get(j, "n")->text, text.p + text.n - 3);
    assert_int_equal(j->n, 3);
}

static int parse_nested(size_t depth, const char *open, const char *close, const struct json_parse_options *opt,
                        struct err *e)
{
    autoarena a = { 0 };
    autobuf text = { 0 };
    struct json *j;

    for (size_t i = 0; i < depth; i++)
        buf_str(&text, str_of(open));
    buf_char(&text, '1');
    for (size_t i = 0; i < depth; i++)
        buf_str(&text, str_of(close));
    return json_parse(&a, buf_view(&text), opt, &j, e);
}

static void limits_depth(void **state)
{
    struct json_parse_options three = { .limits.max_depth = 3 }, endless = { .limits.max_depth = SIZE_MAX };
    struct err e;

    assert_int_equal(parse_nested(256, "[", "]", NULL, &e), 0);
    assert_int_equal(parse_nested(256, "{\"a\":", "}", NULL, &e), 0);
    assert_int_equal(parse_nested(257, "[", "]", NULL, &e), -1);
    assert_int_equal(e.code, ERR_TOO_BIG);
    assert_string_equal(e.text, "line 1, column 257: nested deeper than 256 levels");
    assert_int_equal(parse_nested(257, "{\"a\":", "}", NULL, &e), -1);
    assert_int_equal(parse_nested(3, "[", "]", &three, &e), 0);
    assert_int_equal(parse_nested(4, "[", "]", &three, &e), -1);
    assert_int_equal(parse_nested(4096, "[", "]", &endless, &e), 0);
    assert_int_equal(parse_nested(100000, "[", "]", &endless, &e), -1);
    /* siblings do not add up */
    {
        autoarena a = { 0 };
        struct json *j;

        assert_int_equal(json_parse(&a, STR("[[1],[1],{},{\"a\":[]},[[]]]"), &three, &j, &e), 0);
    }
}

static void limits_size(void **state)
{
    struct json_parse_options ten = { .limits.max_bytes = 10 };
    autoarena a = { 0 };
    struct json *j;
    struct err e;

    assert_int_equal(json_parse(&a, STR("[123456,7]"), &ten, &j, &e), 0);
    assert_int_equal(json_parse(&a, STR("[123456,78]"), &ten, &j, &e), -1);
    assert_int_equal(e.code, ERR_TOO_BIG);
    /* the default; the text is not looked at, so it need not be there */
    assert_int_equal(json_parse(&a, (struct str){ "1", 64 * 1024 * 1024 + 1 }, NULL, &j, &e), -1);
    assert_int_equal(e.code, ERR_TOO_BIG);
    assert_int_equal(json_parse(&a, STR_NULL, NULL, &j, &e), -1);
    assert_int_equal(e.code, ERR_SYNTAX);
}

/* ---- duplicate keys with a callback ---- */

struct seen {
    struct buf text;
    size_t n;
};

static void on_duplicate(void *ctx, struct json_duplicate dup)
{
    struct seen *s = ctx;

    s->n++;
    buf_fmt(&s->text, "%.*s%s%.*s@%u:%u ", STR_ARG(dup.path), dup.path.n ? "." : "", STR_ARG(dup.key), dup.line,
            dup.col);
}

static const struct {
    struct str in;
    const char *want, *calls;
} duplicate_cases[] = {
    { T("{\"a\":1,\"b\":2}"), "{\"a\":1,\"b\":2}", "" },
    { T("{\"a\":1,\"b\":2,\"a\":3}"), "{\"a\":3,\"b\":2}", "a@1:14 " },
    { T("{\"a\":1,\"a\":2,\"a\":3}"), "{\"a\":3}", "a@1:8 a@1:14 " },
    { T("{\"a\":1,\"b\":2,\"b\":[4],\"a\":{\"x\":1}}"), "{\"a\":{\"x\":1},\"b\":[4]}", "b@1:14 a@1:22 " },
    { T("{\"a\":{\"x\":1,\n\"x\":2},\n \"a\":{\"y\":1,\"y\":2}}"), "{\"a\":{\"y\":2}}", "a.x@2:1 a.y@3:13 a@3:2 " },
    { T("[{\"k\":1},{\"k\":2}]"), "[{\"k\":1},{\"k\":2}]", "" },
    { T("{\"a\":[1,[],{\"b\":[[{\"c\":1,\"c\":2}]]}]}"), "{\"a\":[1,[],{\"b\":[[{\"c\":2}]]}]}",
      "a[2].b[0][0].c@1:26 " },
    { T("[{},{\"k\":1,\"k\":2}]"), "[{},{\"k\":2}]", "[1].k@1:12 " },
};

static void last_duplicate_wins(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(duplicate_cases); i++) {
        struct seen seen = { 0 };
        struct json_parse_options opt = { .on_duplicate = on_duplicate, .ctx = &seen };
        autoarena a = { 0 };
        autobuf out = { 0 };
        struct json *j;

        assert_int_equal(json_parse(&a, duplicate_cases[i].in, &opt, &j, NULL), 0);
        json_print(&out, j);
        assert_string_equal(out.p, duplicate_cases[i].want);
        assert_string_equal(seen.text.p ? seen.text.p : "", duplicate_cases[i].calls);
        buf_done(&seen.text);
    }
}

/* Around the size where the check changes its method: two equal keys at any two places are found. */
static void finds_duplicates_in_objects_of_any_size(void **state)
{
    for (size_t n = 2; n < 36; n++)
        for (size_t twin = 1; twin < n; twin += 1 + n / 7) {
            struct seen seen = { 0 };
            struct json_parse_options opt = { .on_duplicate = on_duplicate, .ctx = &seen };
            size_t first = (n * 31 + twin * 7) % twin;
            autoarena a = { 0 };
            autobuf text = { 0 };
            struct json *j;
            size_t count = 0;

            for (size_t i = 0; i < n; i++)
                buf_fmt(&text, "%s\"key%zu\":%zu", i ? "," : "{", i == twin ? first : i, i);
            buf_char(&text, '}');
            assert_int_equal(json_parse(&a, buf_view(&text), NULL, &j, NULL), -1);
            assert_int_equal(json_parse(&a, buf_view(&text), &opt, &j, NULL), 0);
            assert_int_equal(seen.n, 1);
            assert_int_equal(j->n, n - 1);
            JSON_FOREACH(m, j) { /* the others keep their order, the twin stands where the first stood */
                size_t want = count == first ? twin : count < twin ? count : count + 1;

                assert_int_equal(json_i64(m, -1), want);
                assert_true((m->next == NULL) == (m == j->last));
                count++;
            }
            assert_int_equal(count, n - 1);
            buf_done(&seen.text);
        }
}

/* Half a million members, all different and then all equal: no n × n. */
static void large_objects_are_quick(void **state)
{
    for (int same = 0; same < 2; same++) {
        struct seen seen = { 0 };
        struct json_parse_options opt = { .on_duplicate = on_duplicate, .ctx = &seen };
        autoarena a = { 0 };
        autobuf text = { 0 };
        struct json *j;

        for (int i = 0; i < 500000; i++)
            buf_fmt(&text, "%s\"k%d\":0", i ? "," : "{", same ? 0 : i);
        buf_char(&text, '}');
        assert_int_equal(json_parse(&a, buf_view(&text), &opt, &j, NULL), 0);
        assert_int_equal(j->n, same ? 1 : 500000);
        assert_int_equal(seen.n, same ? 499999 : 0);
        buf_done(&seen.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts),
        cmocka_unit_test(refuses),
        cmocka_unit_test(refuses_every_cut),
        cmocka_unit_test(knows_every_byte),
        cmocka_unit_test(finds_special_bytes_anywhere),
        cmocka_unit_test(tells_places),
        cmocka_unit_test(clips_columns),
        cmocka_unit_test(borrows_plain_text),
        cmocka_unit_test(limits_depth),
        cmocka_unit_test(limits_size),
        cmocka_unit_test(last_duplicate_wins),
        cmocka_unit_test(finds_duplicates_in_objects_of_any_size),
        cmocka_unit_test(large_objects_are_quick),
    };

    return cmocka_run_group_tests_name("json/parse", tests, NULL, NULL);
}
