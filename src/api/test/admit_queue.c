/* admit_queue.c - Queues: the nine rules of their admission */
#include "api/test/admit_fixture.h"

static const char base_queue[] = "apiVersion: scheduling.volcano.sh/v1beta1\n"
                                 "kind: Queue\n"
                                 "metadata: {name: q}\n"
                                 "spec: {weight: 1}\n";

/* root ─ default, busy, team ─ a, b ─ b1;  deep: d1 ─ d2 ─ d3 ─ d4 ─ d5;  loop: l1 ─ l2 ─ l1;  orphan of nobody */
static const char cluster[] =
    "- {metadata: {name: root}, spec: {capability: {cpu: 1}}}\n"
    "- {metadata: {name: default}, status: {allocated: {pods: 3}}}\n"
    "- {metadata: {name: busy}, spec: {parent: root}, status: {allocated: {pods: 3}}}\n"
    "- {metadata: {name: team}, spec: {parent: root, capability: {cpu: 10}, deserved: {cpu: 8}, guarantee: {resource: "
    "{cpu: 4}}}, status: {allocated: {pods: 3}}}\n"
    "- {metadata: {name: a}, spec: {parent: team, capability: {cpu: 6}, deserved: {cpu: 3}, guarantee: {resource: "
    "{cpu: "
    "1}}}}\n"
    "- {metadata: {name: b}, spec: {parent: team, deserved: {cpu: 2}}}\n"
    "- {metadata: {name: b1}, spec: {parent: b, capability: {cpu: 5}, deserved: {cpu: 1}}}\n"
    "- {metadata: {name: d1}}\n"
    "- {metadata: {name: d2}, spec: {parent: d1}}\n"
    "- {metadata: {name: d3}, spec: {parent: d2}}\n"
    "- {metadata: {name: d4}, spec: {parent: d3}}\n"
    "- {metadata: {name: d5}, spec: {parent: d4}}\n"
    "- {metadata: {name: l1}, spec: {parent: l2}}\n"
    "- {metadata: {name: l2}, spec: {parent: l1}}\n"
    "- {metadata: {name: orphan}, spec: {parent: nobody}}\n"
    "- {metadata: {name: h, annotations: {volcano.sh/hierarchy: root/eng/dev, volcano.sh/hierarchy-weights: 1/2/8}}}\n";

static struct problems admit(struct json *queue, const struct json *old)
{
    struct fake_cluster fake = { .queues = doc(cluster) };
    struct admit_env env = fake_env(&fake);
    struct problems ps = { .arena = &arena };

    admit_queue(&arena, queue, old, &env, &ps);
    return ps;
}

static void run(const struct admit_row *rows, size_t n)
{
    size_t bad = 0;

    for (size_t i = 0; i < n; i++) {
        struct problems ps = admit(edited(base_queue, &rows[i]), NULL);

        bad += !row_holds(&rows[i], &ps);
    }
    assert_int_equal(bad, 0);
}
#define RUN(rows) run(rows, ARRAY_LEN(rows))

struct update_row {
    const char *queue;
    struct admit_row row;
};

static void run_updates(const struct update_row *rows, size_t n)
{
    size_t bad = 0;

    for (size_t i = 0; i < n; i++) {
        const struct json *old = fake_find(doc(cluster), str_of(rows[i].queue));
        struct json *new = json_copy(&arena, old);
        struct problems ps;

        for (size_t k = 0; k < EDITS_MAX && rows[i].row.edits[k]; k++)
            edit(new, rows[i].row.edits[k]);
        ps = admit(new, old);
        bad += !row_holds(&rows[i].row, &ps);
    }
    assert_int_equal(bad, 0);
}

#define HIERARCHY "volcano.sh/hierarchy"
#define WEIGHTS   "volcano.sh/hierarchy-weights"

static void test_defaults(void **state)
{
    static const struct {
        const char *edits[2], *path, *want;
    } rows[] = {
        { { 0 }, "spec.reclaimable", "true" },
        { { "spec.reclaimable: false" }, "spec.reclaimable", "false" },
        { { "spec.weight: 0" }, "spec.weight", "1" },
        { { "spec.weight: <gone>" }, "spec.weight", "1" },
        { { "spec.weight: 5" }, "spec.weight", "5" },
        { { "spec: <gone>" }, "spec.weight", "1" },
        { { "spec: x" }, "spec", "\"x\"" },
        { { "metadata.annotations: {" HIERARCHY ": eng/x, " WEIGHTS ": 2/8}" },
          "metadata.annotations[" HIERARCHY "]",
          "\"root/eng/x\"" },
        { { "metadata.annotations: {" HIERARCHY ": eng/x, " WEIGHTS ": 2/8}" },
          "metadata.annotations[" WEIGHTS "]",
          "\"1/2/8\"" },
        { { "metadata.annotations: {" HIERARCHY ": root/x, " WEIGHTS ": 1/8}" },
          "metadata.annotations[" WEIGHTS "]",
          "\"1/8\"" },
        { { "metadata.annotations: {" HIERARCHY ": eng/x}" }, "metadata.annotations[" HIERARCHY "]", "\"eng/x\"" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct admit_row row = { .edits = { rows[i].edits[0], rows[i].edits[1] } };
        struct json *queue = edited(base_queue, &row), *node;
        struct str once;

        (void)admit(queue, NULL);
        node = json_path(queue, str_of(rows[i].path), NULL);
        assert_string_equal(node ? printed(node).p : "", rows[i].want);
        once = printed(queue);
        (void)admit(queue, NULL);
        assert_string_equal(printed(queue).p, once.p);
    }
}

static void test_amounts_and_state(void **state)
{
    static const struct admit_row rows[] = {
        { "base", { 0 }, NULL },
        { "weight", { "spec.weight: 65536" }, "spec.weight: 65535" },
        { "quantity", { "spec.capability: {cpu: x}" }, "spec.capability.cpu: quantity" },
        { "negative", { "spec.deserved: {cpu: -1}" }, "spec.deserved.cpu: negative" },
        { "whole", { "spec.capability: {nvidia.com/gpu: 500m}" }, "spec.capability[nvidia.com/gpu]: whole" },
        { "any name", { "spec.capability: {pods: 10, storage: 1Gi}" }, NULL },
        { "fine", { "spec.guarantee: {resource: {cpu: 1}}", "spec.deserved: {cpu: 1}" }, NULL },
        { "no deserved",
          { "spec.guarantee: {resource: {cpu: 1}}" },
          "spec.deserved.cpu: deserved[cpu] must be >= guarantee[cpu]=1" },
        { "more than deserved",
          { "spec.guarantee: {resource: {cpu: 2}}", "spec.deserved: {cpu: 1500m}" },
          "spec.deserved.cpu: deserved[cpu]=1500m must be >= guarantee[cpu]=2" },
        { "fine", { "spec.deserved: {cpu: 1}", "spec.capability: {cpu: 1, memory: 1}" }, NULL },
        { "more than capability",
          { "spec.deserved: {cpu: 2}", "spec.capability: {cpu: 1}" },
          "spec.deserved.cpu: deserved[cpu]=2 must be <= capability[cpu]=1" },
        { "no capability", { "spec.deserved: {cpu: 2}" }, NULL },
        { "open", { "status: {state: Open}" }, NULL },
        { "closing", { "status: {state: Closing}" }, "status.state: must be in [Open Closed]" },
        { "nonsense", { "status: {state: Ajar}" }, "status.state: one of" },
        { "long name",
          { "metadata.name: aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg" },
          "W metadata.name: 63 characters" },
        { "bad name", { "metadata.name: Q_1" }, "metadata.name: Q_1" },
        { "wrong types", { "spec.capability: 3", "spec.guarantee: []" }, "spec.capability: object", 2 },
    };

    RUN(rows);
}

/* An update carries the stored state along. */
static void test_state_update(void **state)
{
    static const struct {
        const char *was, *is, *want;
    } rows[] = {
        { "Closing", "Closing", NULL },
        { "Unknown", "Unknown", NULL },
        { "Open", "Closed", NULL },
        { "Open", "Closing", "status.state: must be in [Open Closed]" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct admit_row row = { .name = rows[i].was, .want = rows[i].want };
        struct json *old = doc(base_queue), *new = doc(base_queue);
        struct problems ps;

        edit(old, arena_fmt(&arena, "status: {state: %s}", rows[i].was).p);
        edit(new, arena_fmt(&arena, "status: {state: %s}", rows[i].is).p);
        edit(new, "spec.weight: 7");
        ps = admit(new, old);
        assert_true(row_holds(&row, &ps));
    }
}

static void test_hierarchy(void **state)
{
    static const struct admit_row rows[] = {
        { "fine", { "metadata.annotations: {" HIERARCHY ": root/ops, " WEIGHTS ": 1/2.5}" }, NULL },
        { "parts",
          { "metadata.annotations: {" HIERARCHY ": root/ops/x, " WEIGHTS ": 1/2}" },
          "metadata.annotations[" WEIGHTS "]: must have the same length with" },
        { "only one",
          { "metadata.annotations: {" HIERARCHY ": root/ops}" },
          "metadata.annotations[" WEIGHTS "]: parts" },
        { "no number",
          { "metadata.annotations: {" HIERARCHY ": root/ops, " WEIGHTS ": 1/x}" },
          "metadata.annotations[" WEIGHTS "]: is invalid number" },
        { "zero",
          { "metadata.annotations: {" HIERARCHY ": root/ops, " WEIGHTS ": 1/0}" },
          "metadata.annotations[" WEIGHTS "]: must be larger than 0" },
        { "prefix",
          { "metadata.annotations: {" HIERARCHY ": root/eng, " WEIGHTS ": 1/2}" },
          "metadata.annotations[" HIERARCHY "]: not allowed to be in the sub path of root/eng/dev of queue h" },
        { "beginning of a word", { "metadata.annotations: {" HIERARCHY ": root/en, " WEIGHTS ": 1/2}" }, NULL },
        { "the same path", { "metadata.annotations: {" HIERARCHY ": root/eng/dev, " WEIGHTS ": 1/2/8}" }, NULL },
    };

    RUN(rows);
}

static void test_parent(void **state)
{
    static const struct admit_row rows[] = {
        { "root", { "spec.parent: root" }, NULL },
        { "itself", { "spec.parent: q" }, "spec.parent: queue q cannot use itself as parent" },
        { "missing", { "spec.parent: nobody" }, "spec.parent: \"nobody\" not found" },
        { "first child of a busy queue",
          { "spec.parent: busy" },
          "spec.parent: queue busy cannot be the parent queue of queue q" },
        { "next child of a busy queue", { "spec.parent: team" }, NULL },
        { "depth 5", { "spec.parent: d4" }, NULL },
        { "depth 6",
          { "spec.parent: d5" },
          "spec.parent: queue q exceeds the maximum allowed depth of 5: it would be 6 deep" },
        { "below an orphan", { "spec.parent: orphan" }, NULL },
        { "below a circle", { "spec.parent: l1" }, "spec.parent: ancestor" },
    };

    RUN(rows);
}

static void test_parent_update(void **state)
{
    static const struct update_row rows[] = {
        { "d1", { "below its own child", { "spec: {parent: d3}" }, "spec.parent: would be its own ancestor" } },
        { "d3", { "its children get too deep", { "spec.parent: d2", "spec.weight: 2" }, NULL } },
        { "team",
          { "its children get too deep", { "spec.parent: d3", "spec.capability: <gone>" }, "spec.parent: 6 deep", 3 } },
        { "d5", { "unmoved", { "spec.weight: 3" }, NULL } },
        { "l1", { "an old circle can be edited", { "spec.weight: 3" }, NULL } },
        { "l1", { "and be mended", { "spec.parent: root" }, NULL } },
    };

    run_updates(rows, ARRAY_LEN(rows));
}

static void test_root(void **state)
{
    static const struct update_row rows[] = {
        { "root",
          { "capability",
            { "spec.capability: {cpu: 2}" },
            "spec.capability: root queue's resource attributes (capability, deserved, guarantee) cannot be "
            "modified" } },
        { "root", { "the same in other words", { "spec.capability: {cpu: 1000m}" }, NULL } },
        { "root", { "deserved", { "spec.deserved: {cpu: 1}" }, "spec.deserved: root queue" } },
        { "root",
          { "guarantee",
            { "spec.guarantee: {resource: {cpu: 1}}", "spec.deserved: {cpu: 1}" },
            "spec.guarantee: root queue",
            2 } },
        { "root", { "weight", { "spec.weight: 3" }, NULL } },
    };

    run_updates(rows, ARRAY_LEN(rows));
}

static void test_sums(void **state)
{
    static const struct admit_row rows[] = {
        { "capability", { "spec.parent: team", "spec.capability: {cpu: 10}" }, NULL },
        { "capability over the parent's",
          { "spec.parent: team", "spec.capability: {cpu: 11}" },
          "spec.capability.cpu: queue q capability[cpu]=11 exceeds its ancestor's capability=10 (queue team)" },
        { "over the nearest that has one",
          { "spec.parent: b", "spec.capability: {cpu: 11}" },
          "spec.capability.cpu: (queue team)" },
        { "nobody has one", { "spec.parent: team", "spec.capability: {memory: 11Gi}" }, NULL },
        { "root does not count", { "spec.parent: root", "spec.capability: {cpu: 100}" }, NULL },
        { "deserved fits", { "spec.parent: team", "spec.deserved: {cpu: 3}" }, NULL },
        { "deserved does not",
          { "spec.parent: team", "spec.deserved: {cpu: 3001m}" },
          "spec.deserved.cpu: sum of children's deserved (cpu 8001m) exceeds parent's deserved limit (cpu 8)" },
        { "the parent has none",
          { "spec.parent: team", "spec.deserved: {memory: 1}" },
          "spec.deserved.memory: limit (memory 0)" },
        { "guarantee",
          { "spec.parent: team", "spec.deserved: {cpu: 3}", "spec.guarantee: {resource: {cpu: 3}}" },
          NULL },
        { "guarantee does not",
          { "spec.parent: team", "spec.deserved: {cpu: 4}", "spec.guarantee: {resource: {cpu: 4}}" },
          "spec.guarantee.resource.cpu: limit (cpu 4)",
          2 },
    };
    static const struct update_row updates[] = {
        { "team",
          { "capability below a grandchild's",
            { "spec.capability: {cpu: 4}", "spec.deserved: {cpu: 4}" },
            "spec.capability.cpu: is smaller than its descendants' max capability=6",
            2 } },
        { "team", { "capability as large as any", { "spec.capability: {cpu: 8}" }, NULL } },
        { "team",
          { "deserved below the children's",
            { "spec.deserved: {cpu: 4}" },
            "spec.deserved.cpu: sum of children's deserved (cpu 5)" } },
        { "team",
          { "guarantee below the children's",
            { "spec.guarantee: {resource: {cpu: 500m}}" },
            "spec.guarantee.resource.cpu: limit (cpu 500m)" } },
        { "a", { "its own old value does not count twice", { "spec.deserved: {cpu: 6}" }, NULL } },
        { "a",
          { "too much",
            { "spec.deserved: {cpu: 6001m}", "spec.capability: {cpu: 7}" },
            "spec.deserved.cpu: limit (cpu 8)" } },
    };

    RUN(rows);
    run_updates(updates, ARRAY_LEN(updates));
}

/* A queue that breaks a newer rule can still be edited where the rule does not look. */
static void test_sums_only_on_change(void **state)
{
    static const char *const stored = "{metadata: {name: a}, spec: {parent: team, capability: {cpu: 99}}}";
    struct json *old = doc(stored), *new = doc(stored);
    struct problems ps;

    edit(new, "spec.weight: 3");
    ps = admit(new, old);
    assert_int_equal(ps.n_errors, 0);
    edit(new, "spec.capability: {cpu: 98}");
    ps = admit(new, old);
    assert_int_equal(ps.n_errors, 1);
}

static void test_delete(void **state)
{
    static const struct {
        const char *name, *want;
    } rows[] = {
        { "default", ": can not be deleted" },
        { "root", ": can not be deleted" },
        { "team", ": has 2 child queues: a, b" },
        { "a", NULL },
        { "busy", NULL },
    };
    struct fake_cluster fake = { .queues = doc(cluster) };
    struct admit_env env = fake_env(&fake), blind = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct admit_row row = { .name = rows[i].name, .want = rows[i].want };
        struct problems ps = { .arena = &arena };

        admit_queue_delete(fake_find(fake.queues, str_of(rows[i].name)), &env, &ps);
        assert_true(row_holds(&row, &ps));
    }
    {
        struct problems ps = { .arena = &arena };

        admit_queue_delete(fake_find(fake.queues, STR("team")), &blind, &ps);
        assert_int_equal(ps.n_errors, 0);
    }
}

/* Without a cluster only the queue itself is checked. */
static void test_without_cluster(void **state)
{
    struct admit_row row = { .edits = { "spec.parent: anything", "spec.capability: {cpu: 5}" } };
    struct problems ps = { .arena = &arena };
    struct admit_env env = { 0 };

    admit_queue(&arena, edited(base_queue, &row), NULL, &env, &ps);
    assert_int_equal(ps.n_errors, 0);
}

/* Property: a queue admitted below 'team' never takes the sum over what the parent has. */
static void test_sums_hold(void **state)
{
    uint32_t seed = 99;

    for (int i = 0; i < 300; i++) {
        int deserved = (int)((seed = seed * 1664525u + 1013904223u) >> 20) % 6000;
        struct json *queue = doc(base_queue);

        edit(queue, "spec.parent: team");
        edit(queue, arena_fmt(&arena, "spec.deserved: {cpu: %dm}", deserved).p);
        assert_int_equal(admit(queue, NULL).n_errors, deserved > 3000);
        arena_reset(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_defaults, forget),
        cmocka_unit_test_teardown(test_amounts_and_state, forget),
        cmocka_unit_test_teardown(test_state_update, forget),
        cmocka_unit_test_teardown(test_hierarchy, forget),
        cmocka_unit_test_teardown(test_parent, forget),
        cmocka_unit_test_teardown(test_parent_update, forget),
        cmocka_unit_test_teardown(test_root, forget),
        cmocka_unit_test_teardown(test_sums, forget),
        cmocka_unit_test_teardown(test_sums_only_on_change, forget),
        cmocka_unit_test_teardown(test_delete, forget),
        cmocka_unit_test_teardown(test_without_cluster, forget),
        cmocka_unit_test_teardown(test_sums_hold, forget),
    };

    return cmocka_run_group_tests_name("admit_queue", tests, NULL, NULL);
}
