/* native.c - the gang of a job in the words of scheduling.k8s.io */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/types.h"
#include "base/util.h"
#include "job/native.h"
#include "fixture.h"

#define HEAD "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j, namespace: ns}\nspec:\n"
#define TASK(name, replicas, more)                                                                                     \
    "  - name: " name "\n    replicas: " replicas "\n" more                                                            \
    "    template:\n      spec:\n        containers: [{name: c, image: i}]\n"
#define AFTER_A "    dependsOn: {name: [a]}\n"

static void test_objects(void **state)
{
    struct fixture f;
    struct json *w, *g;

    (void)state;
    fixture_init(&f, HEAD "  minAvailable: 3\n  priorityClassName: pc\n  tasks:\n" TASK("a", "4", ""));
    w = native_workload_new(&f.arena, &f.job, native_gang_size(&f.job));
    g = native_group_new(&f.arena, &f.job, native_gang_size(&f.job));
    assert_text(json_get(w, "apiVersion"), "scheduling.k8s.io/v1beta1");
    assert_text(json_get(g, "apiVersion"), "scheduling.k8s.io/v1beta1");
    assert_text(json_find(w, "metadata", "name", NULL), "j-u-1");
    assert_text(json_find(g, "metadata", "name", NULL), "j-u-1");
    assert_json(json_find(g, "metadata", "labels", NULL), "{\"volcano.sh/job-name\":\"j\"}");
    assert_json(json_find(w, "metadata", "ownerReferences", NULL),
                "[{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"u-1\","
                "\"controller\":true,\"blockOwnerDeletion\":true}]");
    assert_json(json_get(w, "spec"),
                "{\"controllerRef\":{\"apiGroup\":\"batch.volcano.sh\",\"kind\":\"Job\",\"name\":\"j\"},"
                "\"podGroupTemplates\":[{\"name\":\"job\",\"schedulingPolicy\":{\"gang\":{\"minCount\":3}},"
                "\"priorityClassName\":\"pc\"}]}");
    assert_json(json_get(g, "spec"), "{\"workloadRef\":{\"workloadName\":\"j-u-1\",\"templateName\":\"job\"},"
                                     "\"schedulingPolicy\":{\"gang\":{\"minCount\":3}},\"priorityClassName\":\"pc\"}");
    type_native_choose(NATIVE_V1ALPHA2);
    g = native_group_new(&f.arena, &f.job, native_gang_size(&f.job));
    assert_text(json_get(g, "apiVersion"), "scheduling.k8s.io/v1alpha2");
    assert_json(json_get(g, "spec"),
                "{\"podGroupTemplateRef\":{\"workload\":{\"workloadName\":\"j-u-1\",\"podGroupTemplateName\":\"job\"}},"
                "\"schedulingPolicy\":{\"gang\":{\"minCount\":3}},\"priorityClassName\":\"pc\"}");
    type_native_choose(NATIVE_V1BETA1);
    fixture_done(&f);
}

static void test_gang_sizes(void **state)
{
    static const struct {
        const char *yaml, *policy;
    } cases[] = {
        { "  minAvailable: 5\n  tasks:\n" TASK("a", "2", "") TASK("b", "3", ""), "{\"gang\":{\"minCount\":5}}" },
        { "  minAvailable: 2\n  tasks:\n" TASK("a", "2", "") TASK("b", "3", ""), "{\"gang\":{\"minCount\":2}}" },
        /* What comes later cannot be waited for. */
        { "  minAvailable: 5\n  tasks:\n" TASK("a", "2", "") TASK("b", "3", AFTER_A), "{\"gang\":{\"minCount\":2}}" },
        { "  minAvailable: 1\n  tasks:\n" TASK("a", "2", "") TASK("b", "3", AFTER_A), "{\"gang\":{\"minCount\":1}}" },
        /* A gang of none is none. */
        { "  tasks:\n" TASK("a", "0", ""), "{\"basic\":{}}" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        autobuf yaml = { 0 };

        buf_fmt(&yaml, "%s%s", HEAD, cases[i].yaml);
        fixture_init(&f, yaml.p);
        assert_json(
            json_find(native_group_new(&f.arena, &f.job, native_gang_size(&f.job)), "spec", "schedulingPolicy", NULL),
            cases[i].policy);
        fixture_done(&f);
    }
}

static void test_pods_join(void **state)
{
    static const struct {
        const char *named, *becomes;
    } cases[] = { { "volcano", "default-scheduler" },
                  { "mine", "mine" },
                  { "default-scheduler", "default-scheduler" } };
    autoarena a = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json *pod = json_object(&a), *spec = json_set(pod, "spec", json_object(&a));

        json_set(spec, "schedulerName", json_str(&a, str_of(cases[i].named)));
        native_join(&a, pod, STR("j-u-1"), STR("volcano"));
        assert_text(json_get(spec, "schedulerName"), cases[i].becomes);
        assert_json(json_get(spec, "schedulingGroup"), "{\"podGroupName\":\"j-u-1\"}");
    }
}

/* ---- made and mended ---- */

struct seen { /* what is there, in JSON; NULL: nothing */
    const char *workload, *group;
    enum queue_state queue;
    uint32_t done; /* of the four pods, which have succeeded; the others are not there */
};

#define META(owner, more)                                                                                              \
    "\"metadata\":{\"name\":\"j-u-1\",\"uid\":\"x\",\"resourceVersion\":\"7\"" more                                    \
    ",\"ownerReferences\":[{\"uid\":\"" owner "\",\"controller\":true}]}"
#define GANG(n)            "\"schedulingPolicy\":{\"gang\":{\"minCount\":" n "}}"
#define WORKLOAD(owner, n) "{" META(owner, "") ",\"spec\":{\"podGroupTemplates\":[{\"name\":\"job\"," GANG(n) "}]}}"
#define GROUP(more, n)     "{" META("u-1", more) ",\"spec\":{" GANG(n) "}}"
#define GOING(finalizers)  ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"finalizers\":[" finalizers "]"
#define GUARD              "\"scheduling.k8s.io/podgroup-protection\""

static const struct json *find_workload(void *ctx, const char *kind, struct str name)
{
    assert_string_equal(kind, "Workload");
    assert_true(str_is(name, "j-u-1"));
    return ctx;
}

static struct json *tree_of(struct arena *a, const char *text)
{
    struct json *tree = NULL;
    struct err e;

    if (text && json_parse(a, str_of(text), NULL, &tree, &e) < 0)
        fail_msg("%s: %s", text, e.text);
    return tree;
}

/* "create Workload", or what else is next. */
static void next_of(const struct plan *plan, struct buf *out)
{
    static const char *const verbs[OP_KIND_MAX] = {
        [OP_CREATE] = "create", [OP_DELETE] = "delete", [OP_MERGE_PATCH] = "patch"
    };

    VEC_FOREACH(op, &plan->ops) {
        if (strcmp(op->type->kind, "Event") == 0)
            continue;
        assert_string_equal(op->type->group, "scheduling.k8s.io");
        buf_fmt(out, "%s%s %s", out->n ? ", " : "", verbs[op->kind], op->type->kind);
        if (op->kind == OP_MERGE_PATCH)
            json_print(out, json_get(op->body, "metadata"));
    }
}

static void check_ensure(const struct seen *seen, enum ensured want, const char *next)
{
    struct job_observed o = { .queue = seen->queue, .wants_native = true, .find = find_workload };
    struct status_draft d;
    struct job_pods pods;
    struct fixture f;
    struct plan plan;
    autobuf text = { 0 };

    fixture_init(&f, HEAD "  minAvailable: 3\n  tasks:\n" TASK("a", "4", ""));
    pods_init(&pods);
    pods_set_job(&pods, &f.job);
    for (uint32_t i = 0; i < seen->done; i++) {
        struct pod_view v = { .rev = i + 1, .version = -1, .phase = POD_SUCCEEDED };

        (void)snprintf(v.uid, sizeof(v.uid), "p%u", i);
        pods_put(&pods, arena_fmt(&f.arena, "j-a-%u", i), STR("a"), i, &v);
    }
    plan = (struct plan){ .arena = &f.arena };
    o.job = &f.job;
    o.pods = &pods;
    o.find_ctx = tree_of(&f.arena, seen->workload);
    o.group.raw = tree_of(&f.arena, seen->group);
    o.group.exists = o.group.is_native = seen->group != NULL;
    o.group.is_deleting = json_find(o.group.raw, "metadata", "deletionTimestamp", NULL);
    status_begin(&d, &f.arena, &o);
    assert_int_equal(native_ensure(&d, &plan), want);
    next_of(&plan, &text);
    if (!str_is(buf_view(&text), next))
        fail_msg("want \"%s\", got \"%.*s\"", next, STR_ARG(buf_view(&text)));
    pods_done(&pods);
    fixture_done(&f);
}

static void test_ensure(void **state)
{
    static const struct {
        struct seen seen;
        enum ensured want;
        const char *next;
    } cases[] = {
        { { NULL, NULL, QUEUE_OPEN }, ENSURED_WORKING, "create Workload" },
        { { WORKLOAD("u-1", "3"), NULL, QUEUE_OPEN }, ENSURED_WORKING, "create PodGroup" },
        { { WORKLOAD("u-1", "3"), GROUP("", "3"), QUEUE_OPEN }, ENSURED_FINE, "" },
        /* Another size: first the one that pods name, then its template. */
        { { WORKLOAD("u-1", "2"), GROUP("", "2"), QUEUE_OPEN }, ENSURED_WORKING, "delete PodGroup" },
        { { WORKLOAD("u-1", "2"), NULL, QUEUE_OPEN }, ENSURED_WORKING, "delete Workload" },
        { { WORKLOAD("u-1", "2"), GROUP("", "3"), QUEUE_OPEN }, ENSURED_WORKING, "delete Workload" },
        { { NULL, GROUP("", "3"), QUEUE_OPEN }, ENSURED_WORKING, "create Workload" },
        /* Pods that have ended are not counted there: four less those must be enough, if one of them waits. */
        { { WORKLOAD("u-1", "3"), GROUP("", "3"), QUEUE_OPEN, 1 }, ENSURED_FINE, "" },
        { { WORKLOAD("u-1", "3"), GROUP("", "3"), QUEUE_OPEN, 2 }, ENSURED_WORKING, "delete PodGroup" },
        { { WORKLOAD("u-1", "2"), GROUP("", "2"), QUEUE_OPEN, 2 }, ENSURED_FINE, "" },
        { { WORKLOAD("u-1", "2"), GROUP("", "2"), QUEUE_OPEN, 1 }, ENSURED_FINE, "" },
        { { WORKLOAD("u-1", "3"), GROUP("", "3"), QUEUE_OPEN, 4 }, ENSURED_FINE, "" },
        /* On its way out: the cluster's guard is sent away, others are not. */
        { { WORKLOAD("u-1", "3"), GROUP(GOING(GUARD ",\"mine\""), "3"), QUEUE_OPEN },
          ENSURED_WORKING,
          "patch PodGroup{\"finalizers\":[\"mine\"],\"resourceVersion\":\"7\"}" },
        { { WORKLOAD("u-1", "3"), GROUP(GOING("\"mine\""), "3"), QUEUE_OPEN }, ENSURED_WORKING, "" },
        /* What belongs to somebody else is not touched. */
        { { WORKLOAD("u-2", "3"), NULL, QUEUE_OPEN }, ENSURED_BLOCKED, "" },
        /* A queue lets in who has not begun. */
        { { NULL, NULL, QUEUE_CLOSED }, ENSURED_BLOCKED, "" },
        { { NULL, NULL, QUEUE_UNKNOWN }, ENSURED_BLOCKED, "" },
        { { NULL, GROUP("", "3"), QUEUE_CLOSED }, ENSURED_WORKING, "create Workload" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_ensure(&cases[i].seen, cases[i].want, cases[i].next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects),
        cmocka_unit_test(test_gang_sizes),
        cmocka_unit_test(test_pods_join),
        cmocka_unit_test(test_ensure),
    };

    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
