/* json.c - tests of the tree: looking, making, changing, comparing */
#include "json/json.h"

#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "json/test/quoted.h"

static struct arena arena;

static int done(void **state)
{
    arena_done(&arena);
    return 0;
}

/* The list is sound: 'n' children, 'last' is the last one. */
static void check(const struct json *j)
{
    const struct json *last = NULL;
    size_t n = 0;

    JSON_FOREACH(c, j) {
        check(c);
        last = c;
        n++;
    }
    if (j->type < JSON_ARRAY)
        return;
    assert_int_equal(n, j->n);
    assert_ptr_equal(last, j->last);
}

static void assert_tree(const struct json *j, const char *want)
{
    autobuf out = { 0 };

    check(j);
    json_print(&out, j);
    for (size_t i = 0; i < out.n; i++)
        if (out.p[i] == '"')
            out.p[i] = '\'';
    assert_string_equal(out.p, want);
}

static void names_types(void **state)
{
    assert_string_equal(json_type_name(JSON_NULL), "null");
    assert_string_equal(json_type_name(JSON_ARRAY), "list");
    assert_string_equal(json_type_name(JSON_OBJECT), "object");
    assert_string_equal(json_type_name(JSON_TYPE_MAX), "?");
}

static void looks(void **state)
{
    struct json *j = tree(&arena, "{'a':{'b':[10,20,30]},'':1,'t':'text','yes':true}");

    assert_int_equal(json_i64(json_at(json_find(j, "a", "b", NULL), 2), 0), 30);
    assert_null(json_at(json_find(j, "a", "b", NULL), 3));
    assert_null(json_at(j, 0));
    assert_null(json_at(NULL, 0));
    assert_null(json_find(j, "a", "x", "y", NULL));
    assert_ptr_equal(json_find(j, NULL), j);
    assert_null(json_get(json_get(json_get(j, "no"), "such"), "thing"));
    assert_null(json_get(json_get(j, "t"), "a"));
    assert_int_equal(json_i64(json_get_str(j, STR_NULL), 0), 1);
    assert_int_equal(json_i64(json_get(j, ""), 0), 1);
    assert_true(str_is(json_member_text(j, "t"), "text"));
    assert_true(str_empty(json_member_text(j, "yes")));
    assert_true(str_is(json_text(json_get(j, "yes"), STR("fallback")), "fallback"));
    assert_true(json_bool(json_get(j, "yes"), false));
    assert_true(json_bool(json_get(j, "t"), true));
    assert_int_equal(json_count(j), 4);
    assert_int_equal(json_count(json_get(j, "t")), 0);
    assert_int_equal(json_count(NULL), 0);
    assert_null(json_first(json_get(j, "t")));
}

static void get_finds_the_last(void **state)
{
    struct json *j = json_object(&arena);

    json_add(j, STR("k"), json_int(&arena, 1));
    json_add(j, STR("k"), json_int(&arena, 2));
    assert_int_equal(json_i64(json_get(j, "k"), 0), 2);
}

static const struct {
    const char *text;
    int64_t want;
    bool fits;
} i64_cases[] = {
    { "0", 0, true },
    { "-0", 0, true },
    { "-0.0e5", 0, true },
    { "0e99999999999999999999", 0, true },
    { "3", 3, true },
    { "3.0", 3, true },
    { "3e2", 300, true },
    { "3E+2", 300, true },
    { "300e-2", 3, true },
    { "0.3e1", 3, true },
    { "1.50e1", 15, true },
    { "0.000000000000000001e18", 1, true },
    { "100000000000000000000e-20", 1, true },
    { "9007199254740993", 9007199254740993, true },
    { "9223372036854775807", INT64_MAX, true },
    { "9223372036854775807.000", INT64_MAX, true },
    { "922337203685477580.7e1", INT64_MAX, true },
    { "-9223372036854775808", INT64_MIN, true },
    { "-9.223372036854775808e18", INT64_MIN, true },
    { "1e18", 1000000000000000000, true },
    { "9223372036854775808", 0, false },
    { "9223372036854775808.0", 0, false },
    { "-9223372036854775809", 0, false },
    { "-9.223372036854775809e18", 0, false },
    { "1e19", 0, false },
    { "18446744073709551616e0", 0, false },
    { "99999999999999999999.0", 0, false },
    { "0.5", 0, false },
    { "1e-1", 0, false },
    { "3.0000000000000000000000001", 0, false },
    { "1e400", 0, false },
    { "1e-99999999999999999999", 0, false },
    { "1e99999999999999999999", 0, false },
};

static void reads_integers(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(i64_cases); i++) {
        struct json *j = tree(&arena, i64_cases[i].text);
        int64_t v = 77;

        if ((json_to_i64(j, &v) == 0) != i64_cases[i].fits)
            fail_msg("%s: fits should be %d", i64_cases[i].text, i64_cases[i].fits);
        if (v != (i64_cases[i].fits ? i64_cases[i].want : 77))
            fail_msg("%s: %lld", i64_cases[i].text, (long long)v);
        assert_int_equal(json_i64(j, 77), i64_cases[i].fits ? i64_cases[i].want : 77);
    }
    assert_int_equal(json_i64(tree(&arena, "'3'"), 5), 5);
    assert_int_equal(json_i64(NULL, 5), 5);
}

static const struct {
    const char *a, *b;
    bool want;
} equal_cases[] = {
    { "1", "1.0", true },
    { "1", "10e-1", true },
    { "1.0", "0.1E1", true },
    { "-0", "0", true },
    { "0e5", "0.00", true },
    { "1e400", "10e399", true },
    { "1e400", "1e401", false },
    { "1e99999999999999999999", "1e99999999999999999999", true },
    { "1e99999999999999999999", "1e99999999999999999998", false },
    { "1e99999999999999999999", "1", false },
    { "0e99999999999999999999", "0", true },
    { "9007199254740993", "9007199254740992", false },
    { "0.1", "0.10000000000000000000000001", false },
    { "1", "-1", false },
    { "12", "120e-1", true },
    { "12", "21", false },
    { "1", "'1'", false },
    { "null", "false", false },
    { "null", "null", true },
    { "true", "true", true },
    { "true", "false", false },
    { "''", "''", true },
    { "'a'", "'b'", false },
    { "'a'", "'ab'", false },
    { "[]", "{}", false },
    { "[1,2]", "[1,2]", true },
    { "[1,2]", "[2,1]", false },
    { "[1,2]", "[1,2,3]", false },
    { "{'a':1,'b':[2]}", "{'b':[2.0],'a':1}", true },
    { "{'a':1,'b':2}", "{'a':1,'c':2}", false },
    { "{'a':1,'b':2}", "{'a':2,'b':1}", false },
    { "{'a':1}", "{'a':1,'b':2}", false },
    { "{'c':{'y':1,'x':2},'b':1,'a':0}", "{'a':0,'b':1,'c':{'x':2,'y':1}}", true },
};

static void compares(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(equal_cases); i++) {
        struct json *a = tree(&arena, equal_cases[i].a), *b = tree(&arena, equal_cases[i].b);

        if (json_equal(a, b) != equal_cases[i].want || json_equal(b, a) != equal_cases[i].want)
            fail_msg("%s and %s", equal_cases[i].a, equal_cases[i].b);
        assert_true(json_equal(a, a));
    }
    assert_false(json_equal(NULL, tree(&arena, "null")));
    assert_true(json_equal(NULL, NULL));
}

static void equality_ignores_places_and_marks(void **state)
{
    struct json *a = tree(&arena, "{'a':[1]}"), *b = tree(&arena, "\n\n{'a':\n[1]}");

    json_mark(b, 7);
    assert_true(json_equal(a, b));
}

static void compares_large_objects_quickly(void **state)
{
    struct json *a = json_object(&arena), *b = json_object(&arena);

    for (int i = 0; i < 200000; i++) {
        json_add(a, arena_fmt(&arena, "%d", i), json_int(&arena, i));
        json_add(b, arena_fmt(&arena, "%d", 199999 - i), json_int(&arena, 199999 - i));
    }
    assert_true(json_equal(a, b));
    b->last->text = "5"; /* was "0" */
    assert_false(json_equal(a, b));
}

static void makes(void **state)
{
    struct json *j = json_object(&arena);

    json_set(j, "n", json_null(&arena));
    json_set(j, "t", json_bool_new(&arena, true));
    json_set(j, "f", json_bool_new(&arena, false));
    json_set(j, "min", json_int(&arena, INT64_MIN));
    json_set(j, "max", json_int(&arena, INT64_MAX));
    json_set(j, "s", json_str(&arena, STR("x\ny")));
    json_set(j, "e", json_str(&arena, STR_NULL));
    json_set(j, "fmt", json_fmt(&arena, "%s-%d", "a", 5));
    json_push(json_set(j, "list", json_array(&arena)), json_object(&arena));
    assert_tree(j, "{'n':null,'t':true,'f':false,'min':-9223372036854775808,'max':9223372036854775807,"
                   "'s':'x\\ny','e':'','fmt':'a-5','list':[{}]}");
}

static void sets(void **state)
{
    struct json *j = tree(&arena, "{'a':1,'b':2,'c':3}"), *v;

    v = json_int(&arena, 20);
    assert_ptr_equal(json_set(j, "b", v), v);
    assert_tree(j, "{'a':1,'b':20,'c':3}");
    json_set(j, "c", json_int(&arena, 30));
    json_set(j, "d", json_int(&arena, 40));
    assert_tree(j, "{'a':1,'b':20,'c':30,'d':40}");
    json_set_key(j, STR_NULL, json_int(&arena, 0));
    json_set_key(j, STR(""), json_int(&arena, 1));
    assert_tree(j, "{'a':1,'b':20,'c':30,'d':40,'':1}");
}

/* A key that needs escaping must not be printed raw because an older key of the node was plain. */
static void forgets_that_an_old_key_was_plain(void **state)
{
    struct json *j = tree(&arena, "{'plain':1}"), *m = j->first, *other = json_object(&arena),
                *list = json_array(&arena);

    json_unlink(j, m);
    json_add(other, STR("a\nb"), m);
    assert_tree(other, "{'a\\nb':1}");
    json_unlink(other, m);
    json_push(list, m);
    json_add(other, STR("c\nd"), json_int(&arena, 2));
    json_unlink(list, m);
    json_replace(other, other->first, m);
    assert_tree(other, "{'c\\nd':1}");
}

/* Whoever wrote a document decides what its nodes are: nothing of it ends the program, and nothing is half done. */
static void refuses_other_types(void **state)
{
    static const char *const texts[] = { "null", "true", "7", "\"x\"", "[1]", "{\"a\":1}" };
    uint64_t n = json_refused(), want = n;

    for (size_t i = 0; i <= ARRAY_LEN(texts); i++) {
        struct json *j = NULL;
        bool is_list = false, is_object = false;

        if (i < ARRAY_LEN(texts))
            assert_int_equal(json_parse(&arena, str_of(texts[i]), NULL, &j, NULL), 0);
        is_list = json_is(j, JSON_ARRAY), is_object = json_is(j, JSON_OBJECT);
        assert_int_equal(json_set(j, "a", json_null(&arena)) != NULL, is_object);
        assert_int_equal(json_add(j, STR("b"), json_null(&arena)) != NULL, is_object);
        assert_int_equal(json_push(j, json_null(&arena)) != NULL, is_list);
        assert_int_equal(json_insert(j, 0, json_null(&arena)) != NULL, is_list);
        want += 4 - 2 * (is_list || is_object);
        assert_null(json_set(j, "a", NULL));
        assert_null(json_push(j, NULL));
        assert_null(json_insert(j, 0, NULL));
        want += 3;
        assert_null(json_push(json_set(json_get(j, "none"), "a", json_array(&arena)), json_null(&arena)));
        want += 2;
        if (j)
            check(j);
        assert_int_equal(json_refused(), want);
    }
    assert_null(json_copy(&arena, NULL));
    assert_null(json_mark(NULL, 1));
}

static void inserts(void **state)
{
    struct json *j = json_array(&arena);

    json_insert(j, 5, json_int(&arena, 1));
    json_insert(j, 0, json_int(&arena, 0));
    json_insert(j, 2, json_int(&arena, 3));
    json_insert(j, 2, json_int(&arena, 2));
    assert_tree(j, "[0,1,2,3]");
    json_push(j, json_int(&arena, 4));
    assert_tree(j, "[0,1,2,3,4]");
}

static void removes(void **state)
{
    struct json *j = tree(&arena, "{'a':1,'b':2,'c':3}");

    assert_false(json_remove(j, "x"));
    assert_true(json_remove(j, "c"));
    assert_tree(j, "{'a':1,'b':2}");
    json_add(j, STR("a"), json_int(&arena, 9));
    assert_true(json_remove(j, "a")); /* both */
    assert_tree(j, "{'b':2}");
    assert_true(json_remove(j, "b"));
    assert_tree(j, "{}");
    json_set(j, "n", json_int(&arena, 1));
    assert_tree(j, "{'n':1}");
    assert_false(json_remove(json_array(&arena), "a"));
    assert_false(json_remove(NULL, "a"));
}

static void unlinks_and_replaces(void **state)
{
    struct json *j = tree(&arena, "[1,2,3]"), *three = json_at(j, 2);

    json_unlink(j, three);
    assert_tree(j, "[1,2]");
    assert_null(three->next);
    json_unlink(j, j->first);
    assert_tree(j, "[2]");
    json_replace(j, j->first, three);
    assert_tree(j, "[3]");
    json_push(j, tree(&arena, "4"));
    json_replace(j, j->first, tree(&arena, "{'x':1}"));
    assert_tree(j, "[{'x':1},4]");
    json_replace(j->first, j->first->first, tree(&arena, "[5]"));
    assert_tree(j, "[{'x':[5]},4]");
}

static void copies(void **state)
{
    struct json *j = tree(&arena, "{'a':[1,{'b':'x'}],'c':null,'d':[]}"), *copy;

    json_mark(json_get(j, "a"), 5);
    copy = json_copy(&arena, json_get(j, "a"));
    assert_null(copy->next);
    assert_true(str_is(json_key(copy), "a"));
    assert_int_equal(copy->mark, 5);
    assert_int_equal(copy->line, 1);
    assert_int_equal(copy->col, json_get(j, "a")->col);
    copy = json_copy(&arena, j);
    assert_tree(copy, "{'a':[1,{'b':'x'}],'c':null,'d':[]}");
    json_push(json_get(copy, "a"), tree(&arena, "2"));
    json_push(json_get(copy, "d"), tree(&arena, "3"));
    json_remove(copy, "c");
    assert_tree(j, "{'a':[1,{'b':'x'}],'c':null,'d':[]}");
    assert_tree(copy, "{'a':[1,{'b':'x'},2],'d':[3]}");
}

static void needs(void **state)
{
    struct json *j = tree(&arena, "{'o':{'x':1},'n':null,'s':'text','z':0}");

    assert_ptr_equal(json_need_object(&arena, j, "o"), json_get(j, "o"));
    assert_non_null(json_need_object(&arena, j, "n"));
    assert_non_null(json_need_array(&arena, j, "new"));
    assert_null(json_need_object(&arena, j, "s"));
    assert_null(json_need_array(&arena, j, "o"));
    assert_null(json_need_array(&arena, NULL, "o"));
    assert_null(json_need_array(&arena, json_get(j, "s"), "o"));
    assert_tree(j, "{'o':{'x':1},'n':{},'s':'text','z':0,'new':[]}");
}

static void sorts(void **state)
{
    struct json *j = tree(&arena, "{'b':{'z':1,'y':[{'q':1,'p':2}]},'a':2,'ab':3,'':4,'B':5}"),
                *flat = json_copy(&arena, j);

    json_sort_keys(flat, false);
    assert_tree(flat, "{'':4,'B':5,'a':2,'ab':3,'b':{'z':1,'y':[{'q':1,'p':2}]}}");
    json_sort_keys(j, true);
    assert_tree(j, "{'':4,'B':5,'a':2,'ab':3,'b':{'y':[{'p':2,'q':1}],'z':1}}");
    json_sort_keys(NULL, true);
}

static void sorting_keeps_the_order_of_equal_keys(void **state)
{
    struct json *j = json_object(&arena), *before = NULL;

    for (int i = 0; i < 1000; i++)
        json_add(j, arena_fmt(&arena, "%d", i * 7 % 10), json_int(&arena, i));
    json_sort_keys(j, false);
    check(j);
    JSON_FOREACH(m, j) {
        if (before && str_eq(json_key(before), json_key(m)))
            assert_true(json_i64(before, 0) < json_i64(m, 0));
        else if (before)
            assert_true(str_cmp(json_key(before), json_key(m)) < 0);
        before = m;
    }
}

static void marks(void **state)
{
    struct json *j = tree(&arena, "{'a':[1,{'b':2}],'c':3}");

    assert_ptr_equal(json_mark(json_get(j, "a"), 63), json_get(j, "a"));
    assert_int_equal(json_find(json_at(json_get(j, "a"), 1), "b", NULL)->mark, 63);
    assert_int_equal(json_get(j, "c")->mark, 0);
    assert_int_equal(j->mark, 0);
    json_mark(j, 1);
    assert_int_equal(json_at(json_get(j, "a"), 0)->mark, 1);
}

/* Everything that the original had its text in is gone. */
static void clones_outlive_their_original(void **state)
{
    static const char text[] = "{\"a\":[1,\"x\",{\"k\\n\":null}],\"b\":true,\"c\":{}}";
    autoarena kept = { 0 }, other = { 0 };
    autobuf source = { 0 }, printed = { 0 };
    struct json *j, *clone;

    (void)state;
    buf_fmt(&source, "%s", text);
    assert_int_equal(json_parse(&other, buf_view(&source), NULL, &j, NULL), 0);
    json_mark(json_get(j, "b"), 5);
    clone = json_clone(&kept, j);
    assert_int_equal(json_get(clone, "b")->mark, 5);
    arena_done(&other);
    memset(source.p, 'z', source.n);
    json_print(&printed, clone);
    assert_true(str_is(buf_view(&printed), text));
    assert_null(json_clone(&kept, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(names_types, done),
        cmocka_unit_test(clones_outlive_their_original),
        cmocka_unit_test_teardown(looks, done),
        cmocka_unit_test_teardown(get_finds_the_last, done),
        cmocka_unit_test_teardown(reads_integers, done),
        cmocka_unit_test_teardown(compares, done),
        cmocka_unit_test_teardown(equality_ignores_places_and_marks, done),
        cmocka_unit_test_teardown(compares_large_objects_quickly, done),
        cmocka_unit_test_teardown(makes, done),
        cmocka_unit_test_teardown(sets, done),
        cmocka_unit_test_teardown(forgets_that_an_old_key_was_plain, done),
        cmocka_unit_test_teardown(refuses_other_types, done),
        cmocka_unit_test_teardown(inserts, done),
        cmocka_unit_test_teardown(removes, done),
        cmocka_unit_test_teardown(unlinks_and_replaces, done),
        cmocka_unit_test_teardown(copies, done),
        cmocka_unit_test_teardown(needs, done),
        cmocka_unit_test_teardown(sorts, done),
        cmocka_unit_test_teardown(sorting_keeps_the_order_of_equal_keys, done),
        cmocka_unit_test_teardown(marks, done),
    };

    return cmocka_run_group_tests_name("json/json", tests, NULL, NULL);
}
