/* crd.c - the definitions we give to clusters: every row used, every node one that the server takes */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "crd/crd.h"

#include "api/job.h"
#include "api/schema/schemas.h"
#include "api/types.h"
#include "base/util.h"

static struct arena arena;

static int forget(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

/* ---- rows ---- */

/* Is the row about something in this schema, or below it? */
static bool is_used(const struct crd_row *row, const struct schema *s)
{
    if (strcmp(row->schema, s->name) == 0 && (!row->field || schema_field(s, str_of(row->field))))
        return true;
    for (size_t i = 0; i < s->n_fields; i++)
        if (s->fields[i].sub && is_used(row, s->fields[i].sub))
            return true;
    return false;
}

static void rows_are_about_fields(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_crd_rows; i++) {
        bool found = false;

        for (size_t t = 0; t < n_resource_types && !found; t++)
            found = crd_is_needed(&resource_types[t]) && is_used(&crd_rows[i], resource_types[t].schema);
        if (!found)
            fail_msg("row %zu: no %s.%s anywhere", i, crd_rows[i].schema, crd_rows[i].field ? crd_rows[i].field : "");
    }
}

static void rows_have_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_crd_rows; i++) {
        const struct crd_row *row = &crd_rows[i];
        struct json *j;
        struct err e;

        if ((row->what == CRD_DEFAULT || row->what == CRD_MAX_ITEMS || row->what == CRD_MAX_TEXT) &&
            json_parse(&arena, str_of(row->text), NULL, &j, &e) < 0)
            fail_msg("row %zu: %s: %s", i, row->text, e.text);
        if (row->what == CRD_RULE && (!row->text || !row->message))
            fail_msg("row %zu: a rule and what it says belong together", i);
        if (row->what == CRD_ENUM && !row->values)
            fail_msg("row %zu: no values", i);
    }
}

/* The rules about policies list the events once more. */
static void rules_know_all_events(void **state)
{
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < n_crd_rows; i++) {
        if (crd_rows[i].what != CRD_RULE || !str_starts(str_of(crd_rows[i].text), STR("['*'")))
            continue;
        n++;
        for (const char *const *event = job_policy_events; *event; event++)
            if (!strstr(crd_rows[i].text, arena_fmt(&arena, "'%s'", *event).p))
                fail_msg("a rule forgets %s", *event);
    }
    assert_int_equal(n, 2); /* of the job, of a task */
}

/* … and the actions, so that a wrong one is refused in Volcano's words. */
static void a_rule_knows_all_actions(void **state)
{
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < n_crd_rows; i++) {
        if (crd_rows[i].what != CRD_RULE || !str_starts(str_of(crd_rows[i].message), STR("invalid policy action")))
            continue;
        n++;
        for (const char *const *action = job_actions; *action; action++)
            if (!strstr(crd_rows[i].text, arena_fmt(&arena, "'%s'", *action).p))
                fail_msg("the rule forgets %s", *action);
    }
    assert_int_equal(n, 1);
}

/* ---- nodes ---- */

static void check_node(const struct json *node, struct str path)
{
    bool is_untyped = json_get(node, "x-kubernetes-int-or-string") ||
                      json_get(node, "x-kubernetes-preserve-unknown-fields");
    const char *const below[] = { "items", "additionalProperties" };

    if (!json_get(node, "type") && !is_untyped)
        fail_msg("%.*s: has no type", STR_ARG(path));
    JSON_FOREACH(p, json_get(node, "properties"))
        check_node(p, arena_fmt(&arena, "%.*s.%.*s", STR_ARG(path), STR_ARG(json_key(p))));
    for (size_t i = 0; i < ARRAY_LEN(below); i++)
        if (json_get(node, below[i]))
            check_node(json_get(node, below[i]), arena_fmt(&arena, "%.*s[]", STR_ARG(path)));
}

static const struct json *schema_of(const struct json *crd)
{
    return json_find(json_first(json_find(crd, "spec", "versions", NULL)), "schema", "openAPIV3Schema", NULL);
}

static void schemas_are_structural(void **state)
{
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < n_resource_types; i++) {
        if (!crd_is_needed(&resource_types[i]))
            continue;
        check_node(schema_of(crd_make(&arena, &resource_types[i])), str_of(resource_types[i].kind));
        n++;
    }
    assert_int_equal(n, 8);
}

/* Kept below a pod template, pruned everywhere else: a misspelt field of a job is reported. */
static void only_templates_keep_what_they_do_not_know(void **state)
{
    static const char keep[] = "x-kubernetes-preserve-unknown-fields";
    const struct json *job, *spec, *task, *template;

    (void)state;
    job = schema_of(crd_make(&arena, type_by_name(STR("vcjob"))));
    spec = json_find(job, "properties", "spec", NULL);
    task = json_find(spec, "properties", "tasks", "items", NULL);
    template = json_find(task, "properties", "template", NULL);
    assert_null(json_get(job, keep));
    assert_null(json_get(spec, keep));
    assert_null(json_get(task, keep));
    assert_null(json_get(json_find(task, "properties", "partitionPolicy", NULL), keep));
    assert_non_null(json_get(template, keep));
    assert_non_null(
        json_get(json_find(template, "properties", "spec", "properties", "containers", "items", NULL), keep));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(rows_are_about_fields, forget),
        cmocka_unit_test_teardown(rows_have_values, forget),
        cmocka_unit_test_teardown(rules_know_all_events, forget),
        cmocka_unit_test_teardown(a_rule_knows_all_actions, forget),
        cmocka_unit_test_teardown(schemas_are_structural, forget),
        cmocka_unit_test_teardown(only_templates_keep_what_they_do_not_know, forget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
