/* print.c - YAML as kubectl writes it, and whatever is written reads back the same */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "yaml/yaml.h"

#include "base/util.h"

/* JSON in, exact YAML out. */
static const struct {
    const char *in, *want;
} cases[] = {
    { "null", "null\n" },
    { "{}", "{}\n" },
    { "[]", "[]\n" },
    { "\"x\"", "x\n" },
    { "\"\"", "\"\"\n" },
    { "\"a\\nb\"", "|-\n  a\n  b\n" },
    { "{\"a\":1,\"b\":true,\"c\":null,\"d\":{},\"e\":[]}", "a: 1\nb: true\nc: null\nd: {}\ne: []\n" },
    { "{\"spec\":{\"containers\":[{\"name\":\"x\",\"args\":[\"-c\",\"--flag\"]},{\"name\":\"z\"}]}}",
      "spec:\n  containers:\n  - name: x\n    args:\n    - -c\n    - --flag\n  - name: z\n" },
    { "[[1,[2]],[],[{}],[{\"a\":[1]}]]", "- - 1\n  - - 2\n- []\n- - {}\n- - a:\n    - 1\n" },
    { "[\"yes\",\"y\",\"1\",\"1e3\",\"~\",\"null\",\"0777\",\"1:30\",\"2001-01-01\",\"<<\"]",
      "- \"yes\"\n- \"y\"\n- \"1\"\n- \"1e3\"\n- \"~\"\n- \"null\"\n- \"0777\"\n- \"1:30\"\n- \"2001-01-01\"\n- "
      "\"<<\"\n" },
    { "[\"- a\",\"a: b\",\"#x\",\"a #x\",\"*\",\"&a\",\"a:\",\" a\",\"a "
      "\",\"it's\",\"'\",\"{\",\"---\",\"-\",\"?\",\"%\"]",
      "- '- a'\n- 'a: b'\n- '#x'\n- 'a #x'\n- '*'\n- '&a'\n- 'a:'\n- ' a'\n- 'a '\n- it's\n- ''''\n- '{'\n- '---'\n- "
      "'-'\n- "
      "'?'\n- '%'\n" },
    { "[\"10.0.0.1\",\"1.2.3\",\"100Mi\",\":8080\",\"a:1\",\"a#b\",\"-c\",\"$(X)\",\"a,b\",\"x?\",\"\xc3\xa9\"]",
      "- 10.0.0.1\n- 1.2.3\n- 100Mi\n- :8080\n- a:1\n- a#b\n- -c\n- $(X)\n- a,b\n- x?\n- \xc3\xa9\n" },
    { "[\"a\\tb\",\"\\u0000\",\"\\u0085\",\"\\u2028\",\"a\\r\\nb\",\"\\ufeff\",\"\\u007f\"]",
      "- \"a\\tb\"\n- \"\\0\"\n- \"\\N\"\n- \"\\L\"\n- \"a\\r\\nb\"\n- \"\\uFEFF\"\n- \"\\x7F\"\n" },
    { "{\"a\":\"x\\ny\",\"b\":\"x\\ny\\n\",\"c\":\"x\\ny\\n\\n\",\"d\":1}",
      "a: |-\n  x\n  y\nb: |\n  x\n  y\nc: |+\n  x\n  y\n\nd: 1\n" },
    { "{\"a\":\"  x\\ny\",\"b\":\"\\nx\\n\",\"c\":\"\\tx\\n\",\"d\":\"\\n\\n\"}",
      "a: |2-\n    x\n  y\nb: |2\n\n  x\nc: |2\n  \tx\nd: \"\\n\\n\"\n" },
    { "{\"a\":[\"x\\n  y\\n\\nz \\n\"]}", "a:\n- |\n  x\n    y\n\n  z \n" },
    { "{\"TF_CONFIG\":\"{\\\"cluster\\\":{\\\"ps\\\":[\\\"a:1\\\"]}}\"}",
      "TF_CONFIG: '{\"cluster\":{\"ps\":[\"a:1\"]}}'\n" },
    { "{\"\":1,\"yes\":2,\"a: b\":3,\"1\":4,\"a\\nb\":5,\"<<\":{}}",
      "\"\": 1\n\"yes\": 2\n'a: b': 3\n\"1\": 4\n\"a\\nb\": 5\n\"<<\": {}\n" },
    { "[1e400,1.50,-0.0,123456789012345678901234567890]",
      "- !!float 1e400\n- 1.50\n- -0.0\n- 123456789012345678901234567890\n" },
};

static struct json *from_json(struct arena *a, struct str text)
{
    struct json *j = NULL;
    struct err e;

    if (json_parse(a, text, NULL, &j, &e) < 0)
        fail_msg("%.*s: %s", STR_ARG(text), e.text);
    return j;
}

/* What 'j' prints as must read as 'j'; the words of the failure are what to fix. */
static void check_round_trip(const struct json *j, const struct yaml_print_options *opt, const char *name)
{
    autoarena a = { 0 };
    autobuf yaml = { 0 }, json = { 0 };
    struct yaml_docs docs;
    struct err e;

    yaml_print(&yaml, j, opt);
    json_print(&json, j);
    if (yaml_parse(&a, buf_view(&yaml), NULL, &docs, &e) < 0)
        fail_msg("%s: %s\n%s\n%s", name, e.text, json.p, yaml.p);
    if (docs.n != 1 || !json_equal(docs.v[0], j))
        fail_msg("%s: reads back as something else\n%s\n%s", name, json.p, yaml.p);
}

static void test_table(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        autobuf got = { 0 };
        struct json *j = from_json(&a, str_of(cases[i].in));

        yaml_print(&got, j, NULL);
        if (!str_is(buf_view(&got), cases[i].want))
            fail_msg("%s: got\n%s", cases[i].in, got.p);
        check_round_trip(j, NULL, "table");
    }
}

static void test_long_text_is_not_folded(void **state)
{
    autoarena a = { 0 };
    autobuf text = { 0 }, got = { 0 };

    for (int i = 0; i < 1000; i++)
        buf_str(&text, STR("some words "));
    buf_char(&text, '.');
    yaml_print(&got, json_str(&a, buf_view(&text)), NULL);
    assert_int_equal(got.n, text.n + 1);
    assert_memory_equal(got.p, text.p, text.n);
}

static void test_long_keys(void **state)
{
    static const size_t sizes[] = { 999, 1000, 1001, 1024, 1025, 5000 };

    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        autoarena a = { 0 };
        struct json *j = json_object(&a), *list = json_array(&a);
        char *key = arena_alloc(&a, sizes[i]);

        memset(key, 'k', sizes[i]);
        json_add(json_push(list, json_object(&a)), (struct str){ key, sizes[i] }, json_int(&a, 1));
        json_add(j, (struct str){ key, sizes[i] }, list);
        json_add(json_set(j, "nested", json_object(&a)), (struct str){ key, sizes[i] }, json_str(&a, STR("a\nb")));
        check_round_trip(j, NULL, "long key");
    }
}

static void test_invalid_bytes(void **state)
{
    autoarena a = { 0 };
    autobuf got = { 0 };

    yaml_print(&got, json_str(&a, STR("a\xff\nb")), NULL);
    assert_string_equal(got.p, "\"a\xef\xbf\xbd\\nb\"\n");
}

/* ---- comments ---- */

/* The 'mark' of a node picks its comment. */
static struct str comment_by_mark(void *ctx, const struct json *j)
{
    static const char *const texts[] = { "", "one", "two", "# three\nlines\x01", " \n", "a: b" };

    return str_of(texts[j->mark % ARRAY_LEN(texts)]);
}

static const struct yaml_print_options with_comments = { .comment = comment_by_mark };

static void test_comments(void **state)
{
    autoarena a = { 0 };
    autobuf got = { 0 };
    struct json *j = from_json(
        &a, STR("{\"a\":1,\"b\":\"x\\ny\\n\",\"c\":{\"d\":[]},\"e\":[{\"f\":1,\"g\":2},[3],\"z\"]}"));

    json_get(j, "a")->mark = 1;
    json_get(j, "b")->mark = 2;
    json_get(j, "c")->mark = 1;
    json_find(j, "c", "d", NULL)->mark = 3;
    json_at(json_get(j, "e"), 0)->mark = 1;
    json_at(json_get(j, "e"), 1)->mark = 1;
    json_at(json_at(json_get(j, "e"), 1), 0)->mark = 2; /* its own, so the list's is not shown */
    json_at(json_get(j, "e"), 2)->mark = 1;
    yaml_print(&got, j, &with_comments);
    assert_string_equal(got.p, "a: 1 # one\n"
                               "b: | # two\n  x\n  y\n"
                               "c: # one\n  d: [] # # three lines \n"
                               "e:\n"
                               "- f: 1 # one\n  g: 2\n"
                               "- - 3 # two\n"
                               "- z # one\n");
    check_round_trip(j, &with_comments, "comments");
}

/* ---- any tree ---- */

static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed << 13, *seed ^= *seed >> 7, *seed ^= *seed << 17;
    return *seed;
}

static size_t below(uint64_t *seed, size_t n)
{
    return (size_t)(next(seed) >> 16) % n;
}

static const struct str nasty[] = {
    STR_INIT("yes"),
    STR_INIT("y"),
    STR_INIT("0777"),
    STR_INIT("1e3"),
    STR_INIT("~"),
    STR_INIT("null"),
    STR_INIT("- a"),
    STR_INIT("a: b"),
    STR_INIT("#x"),
    STR_INIT(" #x"),
    STR_INIT("multi\nline"),
    STR_INIT("trail \n"),
    STR_INIT("\n\n"),
    STR_INIT("\n"),
    STR_INIT("\t"),
    STR_INIT("\xc2\x85"),
    STR_INIT("\xe2\x80\xa8"),
    STR_INIT("\xe2\x80\xa9"),
    STR_INIT("\xf0\x9f\x98\x80"),
    STR_INIT("\xef\xbb\xbf"),
    STR_INIT("\xef\xbf\xbe"),
    STR_INIT("\0"),
    STR_INIT("\x01"),
    STR_INIT("\x7f"),
    STR_INIT("---"),
    STR_INIT("..."),
    STR_INIT(""),
    STR_INIT(" "),
    STR_INIT("  "),
    STR_INIT("\r"),
    STR_INIT("'"),
    STR_INIT("\""),
    STR_INIT("\\"),
    STR_INIT("?"),
    STR_INIT(":"),
    STR_INIT("-"),
    STR_INIT(","),
    STR_INIT("["),
    STR_INIT("{}"),
    STR_INIT("|"),
    STR_INIT(">"),
    STR_INIT("%"),
    STR_INIT("@"),
    STR_INIT("`"),
    STR_INIT("*a"),
    STR_INIT("&a"),
    STR_INIT("!x"),
    STR_INIT("<<"),
    STR_INIT("="),
    STR_INIT(".inf"),
    STR_INIT("1:30"),
    STR_INIT("2001-01-01"),
    STR_INIT("x"),
    STR_INIT("word"),
    STR_INIT("\n  a"),
    STR_INIT("a\n\tb"),
    STR_INIT("\xc3\xa9"),
    STR_INIT("1_0"),
    STR_INIT("08"),
};

static struct str random_text(struct arena *a, uint64_t *seed)
{
    size_t parts = below(seed, 4) ? 1 + below(seed, 2) : 1 + below(seed, 6);
    struct str s = STR("");

    for (size_t i = 0; i < parts; i++)
        s = arena_cat(a, s, nasty[below(seed, ARRAY_LEN(nasty))]);
    if (below(seed, 200) == 0) /* very long */
        while (s.n && s.n < 3000)
            s = arena_cat(a, s, s);
    return s;
}

static struct json *random_tree(struct arena *a, uint64_t *seed, size_t depth)
{
    static const char *const numbers[] = { "0",
                                           "-1",
                                           "1.5",
                                           "1e5",
                                           "1E-7",
                                           "1e400",
                                           "-1e-99999999999",
                                           "-0.0",
                                           "18446744073709551616",
                                           "15e99999999999999999999" };
    struct json *j;

    switch (below(seed, depth > 5 ? 5 : 9)) {
    case 0:
        return json_null(a);
    case 1:
        return json_bool_new(a, below(seed, 2));
    case 2:
        return from_json(a, str_of(numbers[below(seed, ARRAY_LEN(numbers))]));
    case 3:
    case 4:
        return json_str(a, random_text(a, seed));
    case 5:
    case 6:
        j = json_array(a);
        for (size_t n = below(seed, 5); n; n--)
            json_push(j, random_tree(a, seed, depth + 1));
        return j;
    default:
        j = json_object(a);
        for (size_t n = below(seed, 5); n; n--)
            json_set_key(j, random_text(a, seed), random_tree(a, seed, depth + 1));
        return j;
    }
}

static void mark_at_random(struct json *j, uint64_t *seed)
{
    j->mark = (uint8_t)below(seed, 6);
    JSON_FOREACH(c, j)
        mark_at_random(c, seed);
}

static void test_random_trees(void **state)
{
    uint64_t seed = 0x9e3779b97f4a7c15u;

    for (int i = 0; i < 4000; i++) {
        autoarena a = { 0 };
        struct json *j = random_tree(&a, &seed, 0);
        char name[32];

        snprintf(name, sizeof(name), "tree %d", i);
        check_round_trip(j, NULL, name);
        mark_at_random(j, &seed);
        check_round_trip(j, &with_comments, name);
    }
}

/* Each pair of nasty parts, as a value, a key and an item; this finds what a random draw may miss. */
static void test_all_pairs(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(nasty); i++) {
        autoarena a = { 0 };
        struct json *j = json_object(&a), *list = json_array(&a);

        for (size_t k = 0; k < ARRAY_LEN(nasty); k++) {
            struct str s = arena_cat(&a, nasty[i], nasty[k]);

            json_set_key(j, s, json_str(&a, s));
            json_push(list, json_str(&a, s));
            check_round_trip(json_str(&a, s), NULL, "pair at the root");
        }
        json_set(j, "list", list);
        check_round_trip(j, NULL, "pairs");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),     cmocka_unit_test(test_long_text_is_not_folded),
        cmocka_unit_test(test_long_keys), cmocka_unit_test(test_invalid_bytes),
        cmocka_unit_test(test_comments),  cmocka_unit_test(test_random_trees),
        cmocka_unit_test(test_all_pairs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
