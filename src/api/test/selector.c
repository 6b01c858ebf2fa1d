/* selector.c - tests of label and field selectors */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/selector.h"

#include "base/rand.h"
#include "base/util.h"

static struct json *json_of(struct arena *a, const char *text)
{
    struct json *j;
    struct err e;

    if (json_parse(a, str_of(text), NULL, &j, &e) < 0)
        fail_msg("%s: %s", text, e.text);
    return j;
}

static const struct {
    const char *text, *canonical;
} good[] = {
    { "", "" },
    { "  ", "" },
    { "a", "a" },
    { "!a", "!a" },
    { " ! a ", "!a" },
    { "a=b", "a=b" },
    { "a==b", "a=b" },
    { "a = b", "a=b" },
    { "a!=b", "a!=b" },
    { "a=", "a=" },
    { "a=,b", "a=,b" },
    { "a!=", "a!=" },
    { "a>1", "a>1" },
    { "a < 07", "a<07" },
    { "a in (b)", "a in (b)" },
    { "a in(b)", "a in (b)" },
    { "a in (c,b,c)", "a in (b,c)" },
    { "a notin ( b , c )", "a notin (b,c)" },
    { "a in (,)", "a in ()" },
    { "a in ()", "a in ()" },
    { "a notin ( )", "a notin ()" },
    { "a in (b,)", "a in (,b)" },
    { "a in (,b)", "a in (,b)" },
    { "a in (b,,c)", "a in (,b,c)" },
    { "b,a", "a,b" },
    { "a=2,a=1,A", "A,a=2,a=1" }, /* by key, then as written */
    { "in", "in" },
    { "in in (in,notin)", "in in (in,notin)" },
    { "notin notin (in)", "notin notin (in)" },
    { "a=in", "a=in" },
    { "a=notin,in=a", "a=notin,in=a" },
    { "volcano.sh/job-name=x.y_z", "volcano.sh/job-name=x.y_z" },
    { "app=web,tier in (a,b),!canary,cpu>4", "app=web,!canary,cpu>4,tier in (a,b)" },
    { "\ta\n=\r\nb\t", "a=b" },
};

static void good_texts(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        autoarena a = { 0 };
        struct selector *s;
        struct err e = { 0 };
        autobuf b = { 0 }, again = { 0 };

        if (selector_parse(&a, str_of(good[i].text), &s, &e) < 0)
            fail_msg("\"%s\": %s", good[i].text, e.text);
        selector_print(&b, s);
        if (!str_is(buf_view(&b), good[i].canonical))
            fail_msg("\"%s\" printed as %s", good[i].text, b.p);
        assert_int_equal(selector_parse(&a, buf_view(&b), &s, &e), 0);
        selector_print(&again, s);
        assert_true(str_eq(buf_view(&again), buf_view(&b)));
    }
}

static void bad_texts(void **state)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        { ",", "column 1: expected a label key or '!' (got \",\")" },
        { "a,", "column 3: expected a label key or '!' after ',', but the selector ends here" },
        { "a, ", "column 4: expected a label key" },
        { ",a", "column 1: " },
        { "a,,b", "column 3: expected a label key or '!' (got \",\")" },
        { "=", "column 1: " },
        { "!", "column 2: expected a label key, but the selector ends here" },
        { "!!a", "column 2: expected a label key (got \"!\")" },
        { "!a=b", "column 3: expected ',' or the end (got \"=\")" },
        { "!a in (b)", "column 4: " },
        { "a b", "column 3: expected one of" },
        { "a=b c", "column 5: expected ',' or the end (got \"c\")" },
        { "a===b", "column 4: expected a value (got \"=\")" },
        { "a=!b", "column 3: expected a value" },
        { "a!b", "column 2: expected one of" },
        { "a=(b)", "column 3: expected a value (got \"(\")" },
        { "a in", "column 5: expected '(', but the selector ends here" },
        { "a in b", "column 6: expected '(' (got \"b\")" },
        { "a in (", "column 7: expected ',' or ')', but the selector ends here" },
        { "a in (b", "column 8: expected ',' or ')', but the selector ends here" },
        { "a in (b c)", "column 9: expected ',' or ')' (got \"c\")" },
        { "a in (b))", "column 9: expected ',' or the end" },
        { "a in ((b))", "column 7: " },
        { "a IN (b)", "column 3: " },
        { "(a)", "column 1: " },
        { "a>", "column 3: after '>' must stand a whole number" },
        { "a>b", "column 3: after '>' must stand a whole number" },
        { "a<1.5", "column 3: after '<' must stand a whole number" },
        { "a>-1", "column 3: must be a label value" }, /* so says Kubernetes too */
        { "a>99999999999999999999", "column 3: after" },
        { "a>(1)", "column 3: expected a value" },
        { "-a", "column 1: label key: must be" },
        { "x,a/b/c", "column 3: label key: the part after '/' must be" },
        { "a=-b", "column 3: must be a label value" },
        { "a=b/c", "column 3: must be a label value" },
        { "a in (b, c/d)", "column 10: must be a label value" },
        { "\xc3\xa9=b", "column 1: label key" },
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        autoarena a = { 0 };
        struct selector *s = NULL;
        struct err e = { 0 };

        if (selector_parse(&a, str_of(bad[i].text), &s, &e) == 0)
            fail_msg("accepted \"%s\"", bad[i].text);
        assert_null(s);
        assert_int_equal(e.code, ERR_SYNTAX);
        if (!strstr(e.text, bad[i].why))
            fail_msg("\"%s\" gave: %s", bad[i].text, e.text);
    }
}

static void matching(void **state)
{
    static const struct {
        const char *selector, *labels;
        bool want;
    } cases[] = {
        { "", "{}", true },
        { "", "{\"a\":\"1\"}", true },
        { "a", "{\"a\":\"1\"}", true },
        { "a", "{\"a\":\"\"}", true },
        { "a", "{\"b\":\"1\"}", false },
        { "!a", "{\"a\":\"1\"}", false },
        { "!a", "{}", true },
        { "a=1", "{\"a\":\"1\"}", true },
        { "a=1", "{\"a\":\"2\"}", false },
        { "a=1", "{}", false },
        { "a=", "{\"a\":\"\"}", true },
        { "a=", "{}", false },
        { "a!=1", "{\"a\":\"1\"}", false },
        { "a!=1", "{\"a\":\"2\"}", true },
        { "a!=1", "{}", true },
        { "a in (x,y,z)", "{\"a\":\"x\"}", true },
        { "a in (x,y,z)", "{\"a\":\"z\"}", true },
        { "a in (x,y,z)", "{\"a\":\"w\"}", false },
        { "a in (x,y,z)", "{}", false },
        { "a in (,x)", "{\"a\":\"\"}", true },
        { "a notin (x,y)", "{\"a\":\"x\"}", false },
        { "a notin (x,y)", "{\"a\":\"z\"}", true },
        { "a notin (x,y)", "{}", true },
        { "a>4", "{\"a\":\"5\"}", true },
        { "a>4", "{\"a\":\"4\"}", false },
        { "a>4", "{\"a\":\"10\"}", true }, /* by value, not by text */
        { "a<4", "{\"a\":\"3\"}", true },
        { "a<4", "{\"a\":\"4\"}", false },
        { "a<4", "{\"a\":\"x\"}", false },
        { "a>4", "{\"a\":\"5.0\"}", false },
        { "a<4", "{}", false },
        { "a=1,b=2", "{\"a\":\"1\",\"b\":\"2\"}", true },
        { "a=1,b=2", "{\"a\":\"1\",\"b\":\"3\"}", false },
        { "a,a=1,a in (1,2),a>0,!b", "{\"a\":\"1\"}", true },
        { "a=1,a=2", "{\"a\":\"1\"}", false },
        { "a", "null", false },
        { "!a", "null", true },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct selector *s;

        assert_int_equal(selector_parse(&a, str_of(cases[i].selector), &s, NULL), 0);
        if (selector_matches(s, json_of(&a, cases[i].labels)) != cases[i].want)
            fail_msg("\"%s\" on %s is wrong", cases[i].selector, cases[i].labels);
    }
}

static void no_labels_at_all(void **state)
{
    autoarena a = { 0 };
    struct selector *s;

    assert_int_equal(selector_parse(&a, STR("!a"), &s, NULL), 0);
    assert_true(selector_matches(s, NULL));
    assert_int_equal(selector_parse(&a, STR("a"), &s, NULL), 0);
    assert_false(selector_matches(s, NULL));
}

static void objects(void **state)
{
    static const struct {
        const char *json, *canonical;
    } cases[] = {
        { "null", "" },
        { "{}", "" },
        { "{\"matchLabels\":null,\"matchExpressions\":null}", "" },
        { "{\"matchLabels\":{\"b\":\"2\",\"a\":\"1\"}}", "a=1,b=2" },
        { "{\"matchLabels\":{\"a\":\"\"}}", "a=" },
        { "{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"In\",\"values\":[\"b\",\"a\"]}]}", "k in (a,b)" },
        { "{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"NotIn\",\"values\":[\"\"]}]}", "k notin ()" },
        { "{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"Exists\"},{\"key\":\"c\",\"operator\":\"DoesNotExist\","
          "\"values\":[]}]}",
          "!c,k" },
        { "{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"Exists\"}],\"matchLabels\":{\"k\":\"v\"}}", "k=v,k" },
    };
    struct selector *s;
    autoarena a = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err e = { 0 };
        autobuf b = { 0 };

        if (selector_from_json(&a, json_of(&a, cases[i].json), &s, &e) < 0)
            fail_msg("%s: %s", cases[i].json, e.text);
        selector_print(&b, s);
        if (!str_is(buf_view(&b), cases[i].canonical))
            fail_msg("%s printed as %s", cases[i].json, b.p);
    }
    assert_int_equal(selector_from_json(&a, NULL, &s, NULL), 0);
    assert_true(selector_matches(s, NULL));
}

static void bad_objects(void **state)
{
    static const struct {
        const char *json, *why;
    } cases[] = {
        { "[]", "selector: must be an object, not list" },
        { "\"a=b\"", "selector: must be an object, not string" },
        { "{\"matchLabels\":[]}", "matchLabels: must be an object, not list" },
        { "{\"matchLabels\":{\"a\":1}}", "matchLabels[a]: must be a string, not number" },
        { "{\"matchLabels\":{\"a\":null}}", "matchLabels[a]: must be a string, not null" },
        { "{\"matchLabels\":{\"-a\":\"1\"}}", "matchLabels: label key: must be a qualified name" },
        { "{\"matchLabels\":{\"a\":\"b c\"}}", "matchLabels[a]: must be a label value" },
        { "{\"matchExpressions\":{}}", "matchExpressions: must be a list, not object" },
        { "{\"matchExpressions\":[1]}", "matchExpressions[0]: must be an object, not number" },
        { "{\"matchExpressions\":[{}]}", "matchExpressions[0].key: must be a label key, not missing" },
        { "{\"matchExpressions\":[{\"key\":\"\"}]}", "matchExpressions[0].key: must not be empty" },
        { "{\"matchExpressions\":[{\"key\":\"k\"}]}", "matchExpressions[0].operator: must be one of In, NotIn" },
        { "{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"in\"}]}",
          "matchExpressions[0].operator: must be one of In, NotIn, Exists, DoesNotExist (got \"in\")" },
        { "{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"Exists\"},{\"key\":\"k\",\"operator\":\"In\"}]}",
          "matchExpressions[1].values: must not be empty for operator In" },
        { "{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"Exists\",\"values\":[\"a\"]}]}",
          "matchExpressions[0].values: must be empty for operator Exists" },
        { "{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"In\",\"values\":\"a\"}]}",
          "matchExpressions[0].values: must be a list, not string" },
        { "{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"In\",\"values\":[\"a\",2]}]}",
          "matchExpressions[0].values[1]: must be a string, not number" },
        { "{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"In\",\"values\":[\"a\",\"/\"]}]}",
          "matchExpressions[0].values[1]: must be a label value" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct selector *s = NULL;
        struct err e = { 0 };

        if (selector_from_json(&a, json_of(&a, cases[i].json), &s, &e) == 0)
            fail_msg("accepted %s", cases[i].json);
        assert_null(s);
        assert_int_equal(e.code, ERR_INVALID);
        if (!str_starts(str_of(e.text), str_of(cases[i].why)))
            fail_msg("%s gave: %s", cases[i].json, e.text);
    }
}

/* The text of a selector may go once it is parsed. */
static void nothing_is_borrowed(void **state)
{
    autoarena a = { 0 };
    char labels[] = "a in (x,y),b=1", fields[] = "spec.x=1";
    struct selector *s;
    struct field_selector *f;
    autobuf b = { 0 };

    assert_int_equal(selector_parse(&a, str_of(labels), &s, NULL), 0);
    assert_int_equal(field_selector_parse(&a, str_of(fields), NULL, &f, NULL), 0);
    memset(labels, '#', sizeof(labels));
    memset(fields, '#', sizeof(fields));
    selector_print(&b, s);
    field_selector_print(&b, f);
    assert_string_equal(b.p, "a in (x,y),b=1spec.x=1");
}

static void many_values(void **state)
{
    autoarena a = { 0 };
    autobuf b = { 0 };
    struct selector *s;

    buf_str(&b, STR("a in ("));
    for (int i = 0; i < 50000; i++)
        buf_fmt(&b, "%sv%d", i ? "," : "", i * 7919 % 50021);
    buf_str(&b, STR(")"));
    assert_int_equal(selector_parse(&a, buf_view(&b), &s, NULL), 0);
    assert_true(selector_matches(s, json_of(&a, "{\"a\":\"v7919\"}")));
    assert_false(selector_matches(s, json_of(&a, "{\"a\":\"v50021\"}")));
}

/* What NotIn says is always the opposite of In, != of =, and !key of key. */
static void opposites(void **state)
{
    static const char *const pairs[][2] = {
        { "a in (x,y)", "a notin (x,y)" },
        { "a=x", "a!=x" },
        { "a", "!a" },
        { "a in (,)", "a notin (,)" },
    };
    static const char *const labels[] = { "{}", "{\"a\":\"\"}", "{\"a\":\"x\"}", "{\"a\":\"y\"}", "{\"b\":\"x\"}" };
    autoarena a = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
        for (size_t k = 0; k < ARRAY_LEN(labels); k++) {
            struct selector *yes, *no;
            struct json *j = json_of(&a, labels[k]);

            assert_int_equal(selector_parse(&a, str_of(pairs[i][0]), &yes, NULL), 0);
            assert_int_equal(selector_parse(&a, str_of(pairs[i][1]), &no, NULL), 0);
            assert_true(selector_matches(yes, j) != selector_matches(no, j));
        }
}

/* ---- fields ---- */

static const char pod[] = "{\"metadata\":{\"name\":\"web-0\",\"n\":3},\"spec\":{\"nodeName\":\"n=1,\\\\\","
                          "\"hostNetwork\":true},\"status\":{\"phase\":\"Running\",\"podIPs\":[]}}";

static void field_matching(void **state)
{
    static const struct {
        const char *text;
        bool want;
        const char *printed;
    } cases[] = {
        { "", true, "" },
        { ",", true, "" },
        { "metadata.name=web-0", true, "metadata.name=web-0" },
        { "metadata.name==web-0", true, "metadata.name=web-0" },
        { "metadata.name!=web-0", false, "metadata.name!=web-0" },
        { "metadata.name=web-1", false, "metadata.name=web-1" },
        { "status.phase!=Failed,metadata.name=web-0,", true, "metadata.name=web-0,status.phase!=Failed" },
        { "status.phase=Running,status.phase!=Running", false, "status.phase=Running,status.phase!=Running" },
        { "spec.nodeName=n\\=1\\,\\\\", true, "spec.nodeName=n\\=1\\,\\\\" },
        { "spec.missing=", true, "spec.missing=" },
        { "spec.missing!=", false, "spec.missing!=" },
        { "spec.missing.deeper!=x", true, "spec.missing.deeper!=x" },
        { "metadata.name.x=", true, "metadata.name.x=" },
        { "spec.hostNetwork=true", true, "spec.hostNetwork=true" },
        { "metadata.n=3", true, "metadata.n=3" },
        { "spec=", true, "spec=" },
        { "status.podIPs=", true, "status.podIPs=" },
        { "metadata.name= web-0", false, "metadata.name= web-0" }, /* blanks count */
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct field_selector *s;
        struct err e = { 0 };
        autobuf b = { 0 };

        if (field_selector_parse(&a, str_of(cases[i].text), NULL, &s, &e) < 0)
            fail_msg("\"%s\": %s", cases[i].text, e.text);
        if (field_selector_matches(s, json_of(&a, pod)) != cases[i].want)
            fail_msg("\"%s\" matched wrongly", cases[i].text);
        field_selector_print(&b, s);
        assert_true(str_is(buf_view(&b), cases[i].printed));
    }
}

static void bad_fields(void **state)
{
    static const char *const allowed[] = { "metadata.name", "status.phase", NULL };
    static const struct {
        const char *text;
        enum err_code code;
        const char *why;
    } cases[] = {
        { "metadata.name", ERR_SYNTAX,
          "column 1: expected field=value, field==value or field!=value (got \"metadata.name\")" },
        { "metadata.name=a,x", ERR_SYNTAX, "column 17: expected field=value" },
        { "=x", ERR_SYNTAX, "column 1: expected field=value" },
        { "metadata.name\\=x", ERR_INVALID, "field label not supported: \"metadata.name\\\\\"" },
        { "metadata.name=a=b", ERR_SYNTAX, "column 16: '=' in a value needs a backslash before it" },
        { "metadata.name===b", ERR_SYNTAX, "column 16: '='" },
        { "metadata.name=a\\b", ERR_SYNTAX, "column 17: after a backslash may stand only '\\', ',' or '='" },
        { "metadata.name=a\\", ERR_SYNTAX, "column 17: after a backslash" },
        { "spec.nodeName=a", ERR_INVALID, "field label not supported: \"spec.nodeName\"" },
        { "metadata.nam=a", ERR_INVALID, "field label not supported: \"metadata.nam\"" },
        { " metadata.name=a", ERR_INVALID, "field label not supported: \" metadata.name\"" },
        { "status.phase=a,other!=b", ERR_INVALID, "field label not supported: \"other\"" },
    };
    struct field_selector *s = NULL;
    autoarena a = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err e = { 0 };

        if (field_selector_parse(&a, str_of(cases[i].text), allowed, &s, &e) == 0)
            fail_msg("accepted \"%s\"", cases[i].text);
        assert_null(s);
        if (e.code != cases[i].code || !str_starts(str_of(e.text), str_of(cases[i].why)))
            fail_msg("\"%s\" gave: %s", cases[i].text, e.text);
    }
    assert_int_equal(field_selector_parse(&a, STR("status.phase=a,metadata.name!=b"), allowed, &s, NULL), 0);
}

/* Any value survives printing and parsing; so does any text that is accepted. */
static void field_round_trip(void **state)
{
    static const char alphabet[] = "ab.,=\\!\0 ";
    struct rand r;
    int accepted = 0;

    rand_seed(&r, 1);
    for (int i = 0; i < 50000; i++) {
        autoarena a = { 0 };
        struct field_selector *s;
        autobuf b = { 0 }, again = { 0 };
        char text[10];
        struct str in = { text, rand_below(&r, sizeof(text)) };

        for (size_t k = 0; k < in.n; k++)
            text[k] = alphabet[rand_below(&r, sizeof(alphabet) - 1)];
        if (field_selector_parse(&a, in, NULL, &s, NULL) < 0)
            continue;
        accepted++;
        field_selector_print(&b, s);
        assert_int_equal(field_selector_parse(&a, buf_view(&b), NULL, &s, NULL), 0);
        field_selector_print(&again, s);
        assert_true(str_eq(buf_view(&again), buf_view(&b)));
    }
    assert_true(accepted > 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_texts),          cmocka_unit_test(bad_texts),   cmocka_unit_test(matching),
        cmocka_unit_test(no_labels_at_all),    cmocka_unit_test(objects),     cmocka_unit_test(bad_objects),
        cmocka_unit_test(nothing_is_borrowed), cmocka_unit_test(many_values), cmocka_unit_test(opposites),
        cmocka_unit_test(field_matching),      cmocka_unit_test(bad_fields),  cmocka_unit_test(field_round_trip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
