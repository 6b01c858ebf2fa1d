/* scrub.c - tests: secrets are taken out of texts, longer ones first, and nothing else is */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "history/scrub.h"

static void check(const struct scrub *s, const char *in, const char *want)
{
    autobuf out = { 0 };

    scrub_text(s, &out, str_of(in));
    buf_char(&out, '\0');
    assert_string_equal(out.p, want);
}

static void test_texts(void **state)
{
    struct scrub s = { 0 };

    map_init(&s.known, 1);
    check(&s, "none are known", "none are known");
    scrub_add(&s, STR("hunter"));
    scrub_add(&s, STR("hunter22\n abc \nline two\n"));
    check(&s, "hunter22 hunter hunterhunter22!", "(hidden) (hidden) (hidden)(hidden)!");
    check(&s, "line two", "(hidden)");
    check(&s, "abc is too short", "abc is too short");
    check(&s, "hunte", "hunte");
    check(&s, "", "");
    scrub_done(&s);
}

static void test_objects(void **state)
{
    autoarena a = { 0 };
    struct scrub s = { 0 };
    struct json *secret, *tree;
    autobuf out = { 0 };

    map_init(&s.known, 1);
    assert_int_equal(json_parse(&a, STR("{\"data\":{\"k\":\"c2VjcmV0LXZhbHVl\"},\"stringData\":{\"m\":\"plain-one\"}}"),
                                NULL, &secret, NULL),
                     0);
    scrub_add_secret(&s, secret);
    assert_int_equal(
        json_parse(&a, STR("{\"x\":[\"a secret-value b\",{\"y\":\"plain-one\"}],\"z\":\"c2VjcmV0LXZhbHVl\",\"n\":1}"),
                   NULL, &tree, NULL),
        0);
    scrub_tree(&s, &a, tree);
    json_print(&out, tree);
    assert_string_equal(out.p, "{\"x\":[\"a (hidden) b\",{\"y\":\"(hidden)\"}],\"z\":\"(hidden)\",\"n\":1}");
    scrub_done(&s);
}

static void test_names(void **state)
{
    static const char *const yes[] = { "HF_TOKEN", "db-password", "AWS_SECRET_ACCESS_KEY", "apiKey", "PGPASSWORD" };
    static const char *const no[] = { "PATH", "KEY", "MONKEY", "RATE", "" };

    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        assert_true(scrub_is_private(str_of(yes[i])));
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        assert_false(scrub_is_private(str_of(no[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_texts), cmocka_unit_test(test_objects),
                                        cmocka_unit_test(test_names) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
