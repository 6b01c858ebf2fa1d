/* What reaches a terminal of what programs and servers write. */
#include "os/test/testing.h"

#include "base/term.h"

/* Begins that a terminal takes for an order: OSC (title, clipboard, links), DCS, APC, PM, CSI, C1, single keys. */
static const char *const evil[] = {
    "\033]0;title\a",
    "\033]52;c;AAAA\033\\",
    "\033]8;;http://x\033\\x\033]8;;\033\\",
    "\033P+q\033\\",
    "\033_x\033\\",
    "\033^x\033\\",
    "\033[2J",
    "\033[10;10H",
    "\033[?1049h",
    "\033[>4m",
    "\033[6n",
    "\033[c",
    "\033[5i",
    "\033c",
    "\033(0",
    "\033[1",
    "\033",
    "\033[0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0m",
    "\xc2\x9b\x32J",
    "\xc2\x9d\x30;x\xc2\x9c",
    "\x9b\x32J",
    "\x90q\x9c",
    "\b\b\b",
    "\v\f",
    "\x7f\x05\x0e\x0f",
    "\a",
    "\xff\xfe\xc0\x80",
    "\xe2\x82",
    "\xf0\x9f\x98",
    "\xed\xa0\x80",
};

static bool is_sgr(struct str s, size_t *ret_n)
{
    size_t n = 2;

    if (s.n < 3 || s.p[1] != '[')
        return false;
    while (n < s.n && strchr("0123456789;:", s.p[n]))
        n++;
    *ret_n = n + 1;
    return n < s.n && s.p[n] == 'm' && n < 32;
}

static void check_harmless(struct str out, bool has_returns)
{
    assert_true(str_is_utf8(out));
    for (size_t i = 0, n; i < out.n; i += n) {
        unsigned char c = (unsigned char)out.p[i];

        n = 1;
        if (c == 0x1b && is_sgr(str_from(out, i), &n))
            continue;
        if ((c < 0x20 && c != '\n' && c != '\t' && (c != '\r' || !has_returns)) || c == 0x7f ||
            (c == 0xc2 && (unsigned char)out.p[i + 1] < 0xa0))
            fail_msg("byte %02x of \"%.*s\"", c, STR_ARG(out));
    }
}

static void stream(struct buf *out, struct str text, size_t at, struct term_stream how)
{
    term_stream(out, str_sub(text, 0, at), &how);
    term_stream(out, str_from(text, at), &how);
    term_stream_end(out, &how);
}

/* Wherever it is cut in two. */
static void check_text(struct str text)
{
    autobuf whole = { 0 };

    for (size_t at = 0; at <= text.n; at++) {
        autobuf out = { 0 }, plain = { 0 };

        stream(&out, text, at, (struct term_stream){ .colour = true });
        check_harmless(buf_view(&out), true);
        if (at == 0)
            buf_str(&whole, buf_view(&out));
        assert_true(str_eq(buf_view(&out), buf_view(&whole)));
        stream(&plain, text, at, (struct term_stream){ .has_no_returns = true });
        check_harmless(buf_view(&plain), false);
        assert_int_equal(str_find_char(buf_view(&plain), 0x1b), -1);
    }
}

static void nothing_moves_the_cursor(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(evil); i++) {
        autobuf text = { 0 };

        check_text(str_of(evil[i]));
        buf_fmt(&text, "a\033[31mb%sc\033[0m\r\nd\te%s", evil[i], evil[i]);
        check_text(buf_view(&text));
    }
    for (unsigned a = 0; a < 256; a++)
        for (unsigned b = 0; b < 256; b++)
            check_text((struct str){ (char[]){ (char)a, (char)b, 'x' }, 3 });
}

static void text_and_colours_pass(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        { "plain\ttext\n", "plain\ttext\n" },
        { "10%\r20%\r\n", "10%\r20%\r\n" },
        { "\033[1;31mred\033[0m", "\033[1;31mred\033[0m" },
        { "\033[38:5:9mred", "\033[38:5:9mred\033[0m" }, /* what was switched on is switched off */
        { "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80" },
        { "\033[2J", "\\x1b[2J" },
        { "\033]0;x\a", "\\x1b]0;x\\x07" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t at = 0; at <= strlen(cases[i].in); at++) {
            autobuf out = { 0 };

            stream(&out, str_of(cases[i].in), at, (struct term_stream){ .colour = true });
            buf_char(&out, '\0');
            assert_string_equal(out.p, cases[i].out);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_moves_the_cursor),
        cmocka_unit_test(text_and_colours_pass),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
