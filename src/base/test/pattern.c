/* pattern.c - tests: what is a regular expression, and what is one for us */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/pattern.h"
#include "base/util.h"

static const struct {
    const char *text, *wrong; /* wrong NULL: it is one */
    bool is_beyond;           /* … that we cannot match */
} cases[] = {
    { "node-[1-5]", NULL, false },
    { "^rack-(a|b)\\d+$", NULL, false },
    { "[[:digit:]]+", NULL, false },
    { "[^]]x", NULL, false },
    { "(?:a|b)+", NULL, false },
    { "(?i)node", NULL, true },
    { "(?P<n>a)", NULL, true },
    { "a{2000}", NULL, true },
    { "a(b", "missing closing ): `a(b`", true },
    { "a)b", "unexpected ): `a)b`", true },
    { "a[b", "missing closing ]: `a[b`", true },
    { "*a", "missing argument to repetition operator: `*`", true },
    { "a|+b", "missing argument to repetition operator: `+`", true },
    { "(?", "missing closing ): `(?`", true },
    { "a\\", "trailing backslash at end of expression: ``", true },
    { "\\(a\\)", NULL, false },
    { "[(]", NULL, false },
};

static void what_is_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        const char *wrong = pattern_wrong(&a, str_of(cases[i].text));
        struct pattern *p;
        bool is_read = pattern_parse(&a, str_of(cases[i].text), &p) == 0;

        if (is_read)
            pattern_done(p);
        if (!wrong != !cases[i].wrong || (wrong && strcmp(wrong, cases[i].wrong) != 0))
            fail_msg("%s: %s", cases[i].text, wrong ? wrong : "nothing is wrong");
        if (!wrong && is_read == cases[i].is_beyond)
            fail_msg("%s: is %sread", cases[i].text, is_read ? "" : "not ");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_wrong) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
