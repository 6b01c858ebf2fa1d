/* name.c - tests of the name checks: tables of good and bad for each kind */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/name.h"

#include "base/buf.h"
#include "base/util.h"

#define X10 "xxxxxxxxxx"
#define X60 X10 X10 X10 X10 X10 X10
#define L63 X60 "xxx"

typedef const char *check_f(struct arena *a, struct str s);

static const struct {
    const char *what;
    check_f *check;
    const char *good[12], *bad[24];
} kinds[] = {
    { "label",
      name_check_dns_label,
      { "a", "0", "a-b", "web-0", "a--b", L63 },
      { "", "-", "-a", "a-", "A", "aB", "a.b", "a_b", "a b", " a", "a ", "a/b", "\xc3\xa9", "a\n", L63 "x" } },
    { "1035 label",
      name_check_dns1035_label,
      { "a", "a0", "a-b", L63 },
      { "", "0a", "-a", "a-", "A", "a.b", "a_b", L63 "x" } },
    { "subdomain",
      name_check_dns_subdomain,
      { "a", "a.b", "0.1", "a-b.c-d.e", L63 "x.y", L63 "." L63 "." L63 "." X60 "x" },
      { "", ".", "a.", ".a", "a..b", "a.-b", "a-.b", "A.b", "a_b", "a/b", "a b", L63 "." L63 "." L63 "." X60 "xx" } },
    { "qualified",
      name_check_qualified,
      { "a", "A_b.c-D", "volcano.sh/task-spec", "a/b", L63, "x.y/" L63, "0" },
      { "", "/", "a/", "/a", "a/b/c", "A/b", "a_b/c", "-a", "a-", ".a", "a.", "a b", "a/-b", "\xc3\xa9", L63 "x",
        "a/" L63 "x", L63 "." L63 "." L63 "." X60 "xx/a" } },
    { "label value",
      name_check_label_value,
      { "", "a", "A_b.c-D", "0", "1.0", L63 },
      { "-", "-a", "a-", "_", ".", "a b", "a/b", "a,b", "a=b", "\xc3\xa9", L63 "x" } },
    { "env",
      name_check_env,
      { "PATH", "a", "_x", "A.B", "a-b", "with blank", "1", "~!" },
      { "", "=", "A=B", "a\tb", "a\n", "\xc3\xa9", "\x7f" } },
    { "config key",
      name_check_config_key,
      { "a", "A.b_c-d", ".hidden", "-", "_", "a..b", L63 "x" },
      { "", ".", "..", "..a", "...", "a/b", "a b", "\xc3\xa9", L63 L63 L63 L63 "xx" } },
    { "port",
      name_check_port,
      { "http", "a", "8a", "a-b-c", "x12345678901234" },
      { "", "80", "0-1", "-a", "a-", "a--b", "HTTP", "a_b", "a.b", "x123456789012345" } },
    { "path segment",
      name_check_path_segment,
      { "a", "A b", "a.b", "...", ".a", "\xc3\xa9", L63 L63 L63 L63 L63 },
      { "", ".", "..", "a/b", "/", "a%2f", "%" } },
};

static void tables(void **state)
{
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        autoarena a = { 0 };

        for (const char *const *p = kinds[k].good; p == kinds[k].good || *p; p++) {
            const char *why = kinds[k].check(&a, str_of(*p));

            if (why)
                fail_msg("%s \"%s\": %s", kinds[k].what, *p, why);
        }
        for (const char *const *p = kinds[k].bad; p == kinds[k].bad || *p; p++)
            if (!kinds[k].check(&a, str_of(*p)))
                fail_msg("%s \"%s\" is bad", kinds[k].what, *p);
    }
}

/* A NUL ends no name early. */
static void nul_is_never_allowed(void **state)
{
    for (size_t k = 0; k + 1 < ARRAY_LEN(kinds); k++) { /* all but the path segment */
        autoarena a = { 0 };

        assert_non_null(kinds[k].check(&a, STR("a\0b")));
        assert_non_null(kinds[k].check(&a, STR("\0")));
    }
}

static void sentences_show_rule_and_text(void **state)
{
    static const struct {
        check_f *check;
        const char *text, *want;
    } cases[] = {
        { name_check_dns_label, "My_Job",
          "must be a DNS label: lower-case letters, digits and '-', beginning and ending with a letter or digit "
          "(got \"My_Job\")" },
        { name_check_dns_label, "",
          "must not be empty; it must be a DNS label: lower-case letters, digits and '-', beginning and ending with a "
          "letter or digit" },
        { name_check_dns_label, L63 "x", "must be no more than 63 bytes (got 64: \"" X60 "\"...)" },
        { name_check_label_value, "a\nb\x1b",
          "must be a label value: empty, or letters, digits, '-', '_' and '.', beginning and ending with a letter or "
          "digit (got \"a\\nb\\x1b\")" },
        { name_check_qualified, "A/b",
          "the part before '/' must be a DNS subdomain: lower-case letters, digits, '-' and '.', each part between "
          "dots "
          "beginning and ending with a letter or digit (got \"A\")" },
        { name_check_port, "x123456789012345", "must be no more than 15 bytes (got 16: \"x123456789012345\")" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };

        assert_string_equal(cases[i].check(&a, str_of(cases[i].text)), cases[i].want);
    }
}

/* However long and odd the text, the sentence is short, one line and good UTF-8. */
static void sentences_stay_short(void **state)
{
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        autoarena a = { 0 };
        autobuf b = { 0 };
        const char *why;

        buf_repeat(&b, '/', 1000);
        buf_repeat(&b, '\n', 1000);
        buf_repeat(&b, '\xff', 1000);
        why = kinds[k].check(&a, buf_view(&b));
        assert_non_null(why);
        assert_true(strlen(why) < 600);
        assert_null(strchr(why, '\n'));
        assert_true(str_is_utf8(str_of(why)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables),
        cmocka_unit_test(nul_is_never_allowed),
        cmocka_unit_test(sentences_show_rule_and_text),
        cmocka_unit_test(sentences_stay_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
