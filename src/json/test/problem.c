/* problem.c - paths, places, order, limits of the list of problems */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "json/problem.h"

#include "base/util.h"

#define assert_text(got, want) assert_string_equal(arena_cstr(&arena, got), want)

static struct arena arena;

static int forget(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static struct json *placed(struct json *j, uint32_t line, uint16_t col)
{
    j->line = line;
    j->col = col;
    return j;
}

/* ---- paths ---- */

static void path_of_members_and_items(void **state)
{
    struct json *list = json_array(&arena), *item = json_push(list, json_object(&arena));
    struct json *doc = json_object(&arena);
    struct place root = { .node = doc }, spec, tasks, task, name;

    (void)state;
    json_set(json_set(doc, "spec", json_object(&arena)), "tasks", list);
    spec = place_member(&root, "spec");
    tasks = place_member(&spec, "tasks");
    task = place_item(&tasks, item, 0);
    name = place_member(&task, "name");
    assert_text(place_path(&arena, &root), "");
    assert_text(place_path(&arena, &spec), "spec");
    assert_text(place_path(&arena, &task), "spec.tasks[0]");
    assert_text(place_path(&arena, &name), "spec.tasks[0].name");
    assert_null(name.node);
}

static void path_of_odd_keys(void **state)
{
    static const struct {
        const char *key, *want;
    } cases[] = {
        { "app", "labels.app" },
        { "with-dash_and_bar", "labels.with-dash_and_bar" },
        { "app.kubernetes.io/name", "labels[app.kubernetes.io/name]" },
        { "a.b", "labels[a.b]" },
        { "a/b", "labels[a/b]" },
        { "a[0]", "labels[a[0]]" },
        { "", "labels[]" },
        { "*", "labels.*" },
    };
    struct place root = { 0 }, labels = place_member(&root, "labels");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct place at = place_member(&labels, cases[i].key);

        assert_text(place_path(&arena, &at), cases[i].want);
    }
}

static void path_begins_with_an_item(void **state)
{
    struct json *list = json_array(&arena);
    struct place root = { .node = list }, item = place_item(&root, json_push(list, json_null(&arena)), 7);
    struct place key = place_member(&item, "k");

    (void)state;
    assert_text(place_path(&arena, &key), "[7].k");
}

/* Elements come with an empty key from the tree, be it NULL or "". */
static void path_of_item_with_empty_key(void **state)
{
    struct json *list = json_array(&arena);
    struct place root = { .node = list }, item = { &root, NULL, STR(""), 3 };

    (void)state;
    assert_text(place_path(&arena, &item), "[3]");
}

/* ---- the list ---- */

static void missing_node_takes_the_place_above(void **state)
{
    struct json *doc = placed(json_object(&arena), 1, 1);
    struct place root = { .node = doc }, spec, tasks, item;
    struct problems ps = { .arena = &arena };

    (void)state;
    placed(json_set(doc, "spec", json_object(&arena)), 4, 7);
    spec = place_member(&root, "spec");
    tasks = place_member(&spec, "tasks");
    item = place_item(&tasks, NULL, 0);
    problem_error(&ps, &item, "is required");
    assert_int_equal(ps.list.v[0].line, 4);
    assert_int_equal(ps.list.v[0].col, 7);
    assert_text(ps.list.v[0].path, "spec.tasks[0]");
}

static void no_node_at_all(void **state)
{
    struct place root = { 0 };
    struct problems ps = { .arena = &arena };

    (void)state;
    problem_error(&ps, &root, "nothing there");
    assert_int_equal(ps.list.v[0].line, 0);
    assert_text(problems_join(&arena, &ps), "nothing there");
}

static void sorted_by_place_then_order(void **state)
{
    static const struct {
        uint32_t line;
        uint16_t col;
        const char *text;
    } in[] = { { 9, 1, "f" }, { 3, 9, "d" }, { 3, 2, "b" }, { 3, 2, "c" }, { 0, 0, "a" }, { 3, 10, "e" } };
    struct problems ps = { .arena = &arena };
    char order[ARRAY_LEN(in) + 1] = "";

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(in); i++) {
        struct place at = { .node = placed(json_null(&arena), in[i].line, in[i].col) };

        problem_warn(&ps, &at, "%s", in[i].text);
    }
    problems_sort(&ps);
    for (size_t i = 0; i < ps.list.n; i++)
        order[i] = ps.list.v[i].text.p[0];
    assert_string_equal(order, "abcdef");
}

static void join_has_errors_only(void **state)
{
    struct place root = { 0 }, a = place_member(&root, "a"), b = place_member(&a, "b");
    struct problems ps = { .arena = &arena };

    (void)state;
    problems_sort(&ps);
    assert_text(problems_join(&arena, &ps), "");
    problem_error(&ps, &a, "must be %d", 1);
    problem_warn(&ps, &a, "hm");
    problem_error(&ps, &b, "no");
    assert_text(problems_join(&arena, &ps), "a: must be 1; a.b: no");
    assert_int_equal(ps.n_errors, 2);
    assert_int_equal(ps.list.n, 3);
}

/* A flood of warnings hides no error, and the other way round. */
static void list_is_bounded(void **state)
{
    struct place root = { 0 }, at = place_member(&root, "x");
    struct problems ps = { .arena = &arena };
    size_t n_errors = 0;

    (void)state;
    for (int i = 0; i < 3 * PROBLEMS_MAX; i++)
        problem_warn(&ps, &at, "w");
    for (int i = 0; i < 3 * PROBLEMS_MAX; i++)
        problem_error(&ps, &at, "e");
    problem_warn(&ps, &at, "w");
    for (size_t i = 0; i < ps.list.n; i++)
        n_errors += ps.list.v[i].level == PROBLEM_ERROR;
    assert_int_equal(ps.list.n, 2 * PROBLEMS_MAX);
    assert_int_equal(n_errors, PROBLEMS_MAX);
    assert_int_equal(ps.n_errors, 3 * PROBLEMS_MAX);
    assert_true(str_ends(problems_join(&arena, &ps), STR("; and 2000 more")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_of_members_and_items),
        cmocka_unit_test(path_of_odd_keys),
        cmocka_unit_test(path_begins_with_an_item),
        cmocka_unit_test(path_of_item_with_empty_key),
        cmocka_unit_test(missing_node_takes_the_place_above),
        cmocka_unit_test(no_node_at_all),
        cmocka_unit_test(sorted_by_place_then_order),
        cmocka_unit_test(join_has_errors_only),
        cmocka_unit_test(list_is_bounded),
    };

    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, forget);
}
