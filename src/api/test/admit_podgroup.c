/* admit_podgroup.c - PodGroups: defaults and rules */
#include "api/test/admit_fixture.h"

static const char base_group[] = "apiVersion: scheduling.volcano.sh/v1beta1\n"
                                 "kind: PodGroup\n"
                                 "metadata: {name: g, namespace: ns}\n"
                                 "spec: {minMember: 2}\n";

static const char cluster_queues[] = "- {metadata: {name: default}, status: {state: Open}}\n"
                                     "- {metadata: {name: new}}\n"
                                     "- {metadata: {name: team}, status: {state: Open}}\n"
                                     "- {metadata: {name: shut}, status: {state: Closed}}\n";
static const char cluster_namespaces[] =
    "- {metadata: {name: ns}}\n"
    "- {metadata: {name: rich, annotations: {scheduling.volcano.sh/queue-name: team}}}\n";

static struct problems admit(struct json *pg, const struct json *old)
{
    struct fake_cluster cluster = { doc(cluster_queues), doc(cluster_namespaces) };
    struct admit_env env = fake_env(&cluster);
    struct problems ps = { .arena = &arena };

    admit_podgroup(&arena, pg, old, &env, &ps);
    return ps;
}

static void run(const struct admit_row *rows, size_t n, bool is_update)
{
    size_t bad = 0;

    for (size_t i = 0; i < n; i++) {
        struct problems ps = admit(edited(base_group, &rows[i]), is_update ? doc(base_group) : NULL);

        bad += !row_holds(&rows[i], &ps);
    }
    assert_int_equal(bad, 0);
}

static void test_rules(void **state)
{
    static const struct admit_row rows[] = {
        { "base", { 0 }, NULL },
        { "no spec", { "spec: <gone>" }, NULL },
        { "negative", { "spec.minMember: -1" }, "spec.minMember: at least 0" },
        { "missing queue",
          { "spec.queue: nowhere" },
          "spec.queue: unable to find queue: queue.scheduling.volcano.sh \"nowhere\" not found" },
        { "closed queue",
          { "spec.queue: shut" },
          "spec.queue: can only submit PodGroup to queue with state `Open`, queue `shut` status is `Closed`" },
        { "new queue", { "spec.queue: new" }, NULL },
        { "topology", { "spec.networkTopology: {highestTierAllowed: 1, mode: soft}" }, NULL },
        { "topology, both",
          { "spec.networkTopology: {highestTierAllowed: 1, highestTierName: rack}" },
          "spec.networkTopology.highestTierName: must not specify 'highestTierAllowed' and 'highestTierName'" },
        { "policy", { "spec.subGroupPolicy: [{name: p, matchLabelKeys: [a]}]" }, NULL },
        { "policy topology",
          { "spec.subGroupPolicy: [{name: p, matchLabelKeys: [a], networkTopology: {highestTierAllowed: 1, "
            "highestTierName: rack}}]" },
          "spec.subGroupPolicy[0].networkTopology.highestTierName: in subGroupPolicy 'p': must not specify" },
        { "policy without keys",
          { "spec.subGroupPolicy: [{name: p}]" },
          "W spec.subGroupPolicy[0].matchLabelKeys: catches no pods" },
        { "policy selector",
          { "spec.subGroupPolicy: [{name: p, matchLabelKeys: [a], labelSelector: {matchExpressions: [{key: a, "
            "operator: "
            "In}]}}]" },
          "spec.subGroupPolicy[0].labelSelector.matchExpressions[0].values: at least one" },
        { "two at once",
          { "spec.queue: shut", "spec.networkTopology: {highestTierAllowed: 1, highestTierName: rack}" },
          "spec.queue: Open",
          2 },
        { "wrong types", { "spec.queue: 3", "spec.subGroupPolicy: x" }, "spec.queue: must be a string", 2 },
    };
    static const struct admit_row updates[] = {
        { "closed queue", { "spec.queue: shut" }, NULL },
        { "schema all the same", { "spec.minMember: x" }, "spec.minMember: whole number" },
    };

    run(rows, ARRAY_LEN(rows), false);
    run(updates, ARRAY_LEN(updates), true);
}

static void test_redirect(void **state)
{
    static const struct {
        const char *edits[2], *want;
        bool is_update;
    } rows[] = {
        { { "metadata.namespace: rich" }, "team", false },
        { { "metadata.namespace: rich", "spec.queue: default" }, "team", false },
        { { "metadata.namespace: rich", "spec.queue: new" }, "new", false },
        { { "metadata.namespace: ns" }, "default", false },
        { { "metadata.namespace: unknown" }, "default", false },
        { { "metadata.namespace: rich", "spec.queue: default" }, "default", true },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct admit_row row = { .edits = { rows[i].edits[0], rows[i].edits[1] } };
        struct json *pg = edited(base_group, &row);
        struct problems ps = admit(pg, rows[i].is_update ? doc(base_group) : NULL);

        assert_int_equal(ps.n_errors, 0);
        assert_string_equal(arena_cstr(&arena, json_member_text(json_get(pg, "spec"), "queue")), rows[i].want);
    }
}

static void test_defaults(void **state)
{
    struct admit_row row = { .edits = { "metadata.namespace: <gone>", "spec.networkTopology: {highestTierAllowed: 2}",
                                        "spec.subGroupPolicy: [{networkTopology: {}, matchLabelKeys: [a]}]" } };
    struct json *pg = edited(base_group, &row);
    struct str once;

    assert_int_equal(admit(pg, NULL).n_errors, 0);
    assert_true(str_is(json_member_text(json_get(pg, "metadata"), "namespace"), "default"));
    assert_true(str_is(json_text(json_path(pg, STR("spec.networkTopology.mode"), NULL), STR("")), "hard"));
    assert_true(
        str_is(json_text(json_path(pg, STR("spec.subGroupPolicy[0].networkTopology.mode"), NULL), STR("")), "hard"));
    assert_int_equal(json_path(pg, STR("spec.queue"), NULL)->mark, 5);
    once = printed(pg);
    (void)admit(pg, NULL);
    assert_string_equal(printed(pg).p, once.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_rules, forget),
        cmocka_unit_test_teardown(test_redirect, forget),
        cmocka_unit_test_teardown(test_defaults, forget),
    };

    return cmocka_run_group_tests_name("admit_podgroup", tests, NULL, NULL);
}
