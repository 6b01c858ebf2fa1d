/* codec.c - tests of hexadecimal digits, percent and octal escapes, UUIDs */
#include "base/codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/util.h"

static void hex_goes_there_and_back(void **state)
{
    unsigned char all[256], back[256];
    autobuf text = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(all); i++)
        all[i] = (unsigned char)i;
    buf_str(&text, STR("x"));
    buf_hex(&text, all, sizeof(all));
    assert_int_equal(text.n, 1 + 512);
    assert_memory_equal(text.p, "x000102030405060708090a0b0c0d0e0f10", 35);
    assert_int_equal(text.p[text.n], '\0');
    assert_true(hex_is_small(str_from(buf_view(&text), 1), 512));
    assert_int_equal(hex_parse(str_from(buf_view(&text), 1), back, sizeof(back)), 0);
    assert_memory_equal(all, back, sizeof(all));
    assert_int_equal(hex_parse(STR("FFfe"), back, 2), 0);
    assert_memory_equal(back, "\xff\xfe", 2);
    assert_int_equal(hex_parse(STR_NULL, back, 0), 0);
}

static void hex_refuses_anything_else(void **state)
{
    static const char *const bad[] = { "",     "0",    "00", "000",  "00000", "0g00",      "g000",
                                       "00 0", "0x00", "-1", "+0a0", "00:0",  "\303\25100" };
    unsigned char ret[2];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (hex_parse(str_of(bad[i]), ret, sizeof(ret)) == 0)
            fail_msg("\"%s\" is taken", bad[i]);
    assert_int_equal(hex_parse((struct str){ "00\0", 4 }, ret, sizeof(ret)), -1);
    assert_true(hex_is_small(STR("00ff"), 4));
    assert_false(hex_is_small(STR("00fF"), 4));
    assert_false(hex_is_small(STR("00ff"), 3));
    assert_false(hex_is_small(STR("00f"), 4));
    assert_false(hex_is_small(STR("00fg"), 4));
    assert_false(hex_is_small(STR_NULL, 1));
}

static void percent_goes_there_and_back(void **state)
{
    static const struct {
        const char *text, *kept, *printed;
    } cases[] = {
        { "", "", "" },
        { "az-AZ_09.~", "", "az-AZ_09.~" },
        { "a/b c", "", "a%2Fb%20c" },
        { "a/b c", "/", "a/b%20c" },
        { "100%+1", "", "100%25%2B1" },
        { "\xc3\xa9\x7f", "", "%C3%A9%7F" },
    };
    autobuf out = { 0 }, back = { 0 };
    char all[255];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf_reset(&out);
        buf_str(&out, STR_NULL);
        percent_print(&out, str_of(cases[i].text), cases[i].kept);
        assert_string_equal(out.p, cases[i].printed);
        assert_int_equal(percent_parse(buf_view(&out), false, &back), 0);
        assert_string_equal(back.p, cases[i].text);
    }
    for (size_t i = 0; i < sizeof(all); i++)
        all[i] = (char)(i + 1);
    buf_reset(&out);
    percent_print(&out, (struct str){ all, sizeof(all) }, "");
    assert_int_equal(percent_parse(buf_view(&out), true, &back), 0);
    assert_int_equal(back.n, sizeof(all));
    assert_memory_equal(back.p, all, sizeof(all));
}

static void percent_reads_what_others_write(void **state)
{
    autobuf out = { 0 };

    (void)state;
    assert_int_equal(percent_parse(STR("%2f%2F"), false, &out), 0);
    assert_string_equal(out.p, "//");
    assert_int_equal(percent_parse(STR("a+b"), false, &out), 0);
    assert_string_equal(out.p, "a+b");
    assert_int_equal(percent_parse(STR("a+b%2B"), true, &out), 0);
    assert_string_equal(out.p, "a b+");
    assert_int_equal(percent_parse(STR_NULL, false, &out), 0);
    assert_string_equal(out.p, "");
}

static void percent_refuses_anything_else(void **state)
{
    static const char *const bad[] = { "%", "%2", "a%", "%zz", "%2g", "%g2", "%%20", "% 2", "%00", "a%00b", "%2" };
    autobuf out = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (percent_parse(str_of(bad[i]), false, &out) == 0)
            fail_msg("\"%s\" is taken", bad[i]);
    assert_int_equal(percent_parse((struct str){ "%20", 2 }, false, &out), -1); /* what lies behind it does not count */
}

static void octal_takes_bytes_only(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        { "", "" },
        { "/plain", "/plain" },
        { "/my\\040dir\\011x", "/my dir\tx" },
        { "\\134040", "\\040" }, /* read once */
        { "\\377", "\xff" },
        { "\\400", "\\400" }, /* no byte */
        { "\\089", "\\089" },
        { "\\04", "\\04" },
        { "\\", "\\" },
        { "\\\\040", "\\ " },
    };
    autoarena a = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str s = octal_unescape(&a, str_of(cases[i].in));

        assert_string_equal(s.p, cases[i].out);
        assert_int_equal(s.n, strlen(cases[i].out));
    }
    assert_int_equal(octal_unescape(&a, (struct str){ "\\040", 3 }).n, 3); /* what lies behind it does not count */
}

static void uuid_has_five_parts(void **state)
{
    static const unsigned char bytes[UUID_BYTES] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0x7c, 0xde,
                                                     0x8f, 0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0xff };
    char room[UUID_CHARS + 1] = { 0 };

    (void)state;
    assert_int_equal(uuid_print(bytes, room).n, UUID_CHARS);
    assert_string_equal(room, "01234567-89ab-7cde-8f00-1020304050ff");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hex_goes_there_and_back),       cmocka_unit_test(hex_refuses_anything_else),
        cmocka_unit_test(percent_goes_there_and_back),   cmocka_unit_test(percent_reads_what_others_write),
        cmocka_unit_test(percent_refuses_anything_else), cmocka_unit_test(octal_takes_bytes_only),
        cmocka_unit_test(uuid_has_five_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
