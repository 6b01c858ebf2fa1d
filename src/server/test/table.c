/* table.c - ages, columns, what a pod's state is called, and what a selection takes */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "server/server_internal.h"
#include "yaml/yaml.h"

static struct arena arena;

static struct json *yaml(const char *text)
{
    struct yaml_docs docs = { 0 };
    struct err e;

    if (yaml_parse(&arena, str_of(text), NULL, &docs, &e) < 0 || docs.n != 1)
        fail_msg("%s: %s", text, e.text);
    return docs.v[0];
}

static void ages(void **state)
{
    static const struct {
        int64_t s;
        const char *text;
    } rows[] = {
        { -5, "<invalid>" },     { 0, "0s" },
        { 119, "119s" },         { 120, "2m" },
        { 125, "2m5s" },         { 599, "9m59s" },
        { 600, "10m" },          { 10799, "179m" },
        { 10800, "3h" },         { 3 * 3600 + 60, "3h1m" },
        { 8 * 3600, "8h" },      { 172799, "47h" },
        { 172800, "2d" },        { 2 * 86400 + 3600, "2d1h" },
        { 8 * 86400, "8d" },     { 730 * 86400, "2y" },
        { 731 * 86400, "2y1d" }, { 2920LL * 86400, "8y" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autobuf out = { 0 };

        print_age(&out, rows[i].s * 1000);
        assert_string_equal(out.p, rows[i].text);
    }
    assert_true(str_is(json_text(cell_age(&arena, STR_NULL, 0), STR_NULL), "<unknown>"));
}

static void pod_states(void **state)
{
    static const struct {
        const char *pod, *ready, *status, *restarts;
    } rows[] = {
        { "{spec: {containers: [{name: a}]}, status: {phase: Pending}}", "0/1", "Pending", "0" },
        { "{spec: {containers: [{name: a}, {name: b}]}, status: {phase: Running, containerStatuses: [{name: a, ready: "
          "true, state: {running: {}}}, {name: b, state: {waiting: {reason: CrashLoopBackOff}}, restartCount: 4}]}}",
          "1/2", "CrashLoopBackOff", "4" },
        { "{spec: {containers: [{name: a}]}, status: {phase: Succeeded, containerStatuses: [{name: a, state: "
          "{terminated: {exitCode: 0, reason: Completed}}}]}}",
          "0/1", "Completed", "0" },
        { "{spec: {containers: [{name: a}]}, status: {phase: Failed, containerStatuses: [{name: a, state: {terminated: "
          "{exitCode: 3}}}]}}",
          "0/1", "ExitCode:3", "0" },
        { "{spec: {containers: [{name: a}]}, status: {phase: Failed, reason: Evicted}}", "0/1", "Evicted", "0" },
        { "{spec: {containers: [{name: a}], initContainers: [{name: i}, {name: j}]}, status: {phase: Pending, "
          "initContainerStatuses: [{name: i, state: {terminated: {exitCode: 0}}}, {name: j, state: {running: {}}}]}}",
          "0/1", "Init:1/2", "0" },
        { "{spec: {containers: [{name: a}], initContainers: [{name: i}]}, status: {phase: Pending, "
          "initContainerStatuses: [{name: i, state: {terminated: {exitCode: 1, reason: Error}}}]}}",
          "0/1", "Init:Error", "0" },
        { "{metadata: {deletionTimestamp: x}, spec: {containers: [{name: a}]}, status: {phase: Running}}", "0/1",
          "Terminating", "0" },
        { "{spec: {containers: [{name: a}]}, status: {phase: Pending, conditions: [{type: PodScheduled, status: "
          "'False', reason: SchedulingGated}]}}",
          "0/1", "SchedulingGated", "0" },
        { "{spec: {containers: [{name: a}]}, status: {phase: Running, containerStatuses: [{name: a, ready: true, "
          "restartCount: 2, state: {running: {}}, lastState: {terminated: {finishedAt: '1970-01-01T00:00:01Z'}}}]}}",
          "1/1", "Running", "2 (9s ago)" },
        { "{}", "0/0", "", "0" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct json *pod = yaml(rows[i].pod);
        struct str ready = json_text(pod_cell_ready(&arena, pod, 10000), STR_NULL);
        struct str status = json_text(pod_cell_status(&arena, pod, 10000), STR_NULL);
        struct str restarts = json_text(pod_cell_restarts(&arena, pod, 10000), STR_NULL);

        if (!str_is(ready, rows[i].ready) || !str_is(status, rows[i].status) || !str_is(restarts, rows[i].restarts))
            fail_msg("%s: %.*s %.*s %.*s", rows[i].pod, STR_ARG(ready), STR_ARG(status), STR_ARG(restarts));
    }
}

/* Every kind has a table, and an object of which nothing is known has a row in it. */
static void all_kinds(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_resource_types; i++) {
        struct json *table = table_new(&arena, &resource_types[i], true);
        size_t n = json_count(json_get(table, "columnDefinitions"));

        assert_true(n >= 2);
        table_add(&arena, table, yaml("{metadata: {name: x}}"),
                  &(struct table_look){ &resource_types[i], STR("Metadata"), 0 });
        assert_int_equal(json_count(json_get(json_at(json_get(table, "rows"), 0), "cells")), n);
    }
}

static int parse_selection(const struct resource_type *type, const char *labels, const char *fields,
                           struct selection *ret, struct err *e)
{
    *ret = (struct selection){ .labels_text = str_of(labels), .fields_text = str_of(fields) };
    return selection_parse(&arena, type, ret, e);
}

static void selections(void **state)
{
    const struct resource_type *pods = type_by_name(STR("pods")), *jobs = type_by_name(STR("jobs"));
    const struct json *pod = yaml("{metadata: {name: p, namespace: n, labels: {a: b}}, spec: {nodeName: x}}");
    static const struct {
        const char *labels, *fields;
        bool takes;
    } rows[] = {
        { "", "", true },
        { "a=b", "", true },
        { "a!=b", "", false },
        { "", "spec.nodeName=x", true },
        { "", "spec.nodeName=y", false },
        { "a", "metadata.name=p,metadata.namespace=n,status.phase!=Failed", true },
        { "!a", "metadata.name=p", false },
    };
    struct selection sel;
    struct err e;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(parse_selection(pods, rows[i].labels, rows[i].fields, &sel, &e), 0);
        if (selection_has(&sel, pod) != rows[i].takes)
            fail_msg("%s %s", rows[i].labels, rows[i].fields);
    }
    assert_int_equal(parse_selection(jobs, "", "spec.nodeName=x", &sel, &e), -1);
    assert_non_null(strstr(e.text, "field label not supported"));
    assert_int_equal(parse_selection(jobs, "a b", "", &sel, &e), -1);
}

static void causes(void **state)
{
    struct server_request rq = { .arena = &arena, .type = type_by_name(STR("jobs")), .target.name = STR("j") };
    struct problems ps = { .arena = &arena };
    const struct json *object = yaml("{spec: {queue: 1}}"), *status;
    struct place root = { .node = object }, spec = place_member(&root, "spec"), queue = place_member(&spec, "queue"),
                 tasks = place_member(&spec, "tasks");

    (void)state;
    problem_error(&ps, &queue, "must be text, not a number");
    problem_of(&ps, PROBLEM_REQUIRED, &tasks, "is required");
    problem_warn(&ps, &root, "is odd");
    assert_int_equal(fail_problems(&rq, &ps), -1);
    status = status_of(&rq);
    assert_int_equal(json_i64(json_get(status, "code"), 0), 422);
    assert_true(str_is(json_member_text(status, "message"),
                       "Job.batch.volcano.sh \"j\" is invalid: [spec.queue: Invalid value: must be text, not a number, "
                       "spec.tasks: Required value: is required]"));
    assert_true(str_is(json_member_text(json_get(status, "details"), "kind"), "Job"));
    assert_int_equal(json_count(json_find(status, "details", "causes", NULL)), 2);
    assert_true(str_is(json_member_text(json_at(json_find(status, "details", "causes", NULL), 1), "reason"),
                       "FieldValueRequired"));
    assert_int_equal(fail_err(&rq, &(struct err){ ERR_CONFLICT, "no" }), -1);
    assert_int_equal(status_code(&rq), 409);
    assert_int_equal(fail_err(&rq, &(struct err){ ERR_INVALID, "metadata.name: is bad" }), -1);
    assert_true(str_is(json_member_text(status_of(&rq), "message"),
                       "Job.batch.volcano.sh \"j\" is invalid: metadata.name: is bad"));
}

static int forget(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ages),       cmocka_unit_test(pod_states), cmocka_unit_test(all_kinds),
        cmocka_unit_test(selections), cmocka_unit_test(causes),
    };

    return cmocka_run_group_tests_name("server/table", tests, NULL, forget);
}
