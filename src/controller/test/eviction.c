/* eviction.c - tests of pods that must leave their node */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fixture.h"

#include "base/clock.h"
#include "controller/control_plane.h"

#define NOW "2026-03-01T09:30:00Z"

static struct json *pod_new(struct arena *a, const char *meta, const char *spec, const char *phase)
{
    return parse(a,
                 arena_fmt(a,
                           "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"n\","
                           "\"uid\":\"u\",\"generation\":3%s},\"spec\":{\"nodeName\":\"x\"%s},\"status\":{\"phase\":"
                           "\"%s\"}}",
                           meta, spec, phase)
                     .p);
}

/* ---- taints ---- */

#define TAINT(key, effect) "{\"key\":\"" key "\",\"effect\":\"" effect "\"}"
#define FOR(key, more)     "{\"key\":\"" key "\",\"operator\":\"Exists\",\"effect\":\"NoExecute\"" more "}"
#define SECONDS(n)         ",\"tolerationSeconds\":" #n
#define TOLERATES(list)    ",\"tolerations\":[" list "]"
#define A                  TAINT("a", "NoExecute")
#define B                  TAINT("b", "NoExecute")
#define DELETING           ",\"deletionTimestamp\":\"x\""
#define EVICTED                                                                                                        \
    "event Normal TaintManagerEviction: Marking for deletion Pod n/p\n"                                                \
    "statuspatch Pod n/p uid u {\"conditions\":[{\"type\":\"DisruptionTarget\",\"observedGeneration\":3,\"status\":"   \
    "\"True\",\"reason\":\"DeletionByTaintManager\",\"message\":\"Taint manager: deleting due to NoExecute taint\","   \
    "\"lastTransitionTime\":\"" NOW "\"}]}\n"                                                                          \
    "delete Pod n/p uid u background\n"

static void test_taints(void **state)
{
    /* wake: milliseconds from now */
    static const struct {
        const char *label, *taints, *meta, *spec, *phase;
        int64_t together_ms;
        bool waits;
        const char *want;
    } cases[] = {
        { "no taints", "", "", "", "Running", 0, false, "" },
        { "a taint that only keeps others away", TAINT("a", "NoSchedule"), "", "", "Running", 0, false, "" },
        { "it is not tolerated", A, "", "", "Running", 0, false, EVICTED },
        { "a pod that waits goes too", A, "", "", "Pending", 0, false, EVICTED },
        { "it is tolerated", A, "", TOLERATES(FOR("a", "")), "Running", 0, false, "" },
        { "one of two is not", A "," B, "", TOLERATES(FOR("a", SECONDS(60))), "Running", 0, false, EVICTED },
        { "it is tolerated for a while", A, "", TOLERATES(FOR("a", SECONDS(60))), "Running", 0, true, "wake 60000\n" },
        { "some of it has passed", A, "", TOLERATES(FOR("a", SECONDS(60))), "Running", 59999, true, "wake 1\n" },
        { "its time is up", A, "", TOLERATES(FOR("a", SECONDS(60))), "Running", 60000, true, EVICTED },
        { "the shortest counts", A "," B, "", TOLERATES(FOR("a", SECONDS(60)) "," FOR("b", SECONDS(5))), "Running", 0,
          true, "wake 5000\n" },
        { "tolerated for no time", A, "", TOLERATES(FOR("a", SECONDS(0))), "Running", 0, false, EVICTED },
        { "a pod that is going goes by itself", A, DELETING, "", "Running", 0, false, "" },
        { "a pod that has ended stays", A, "", "", "Succeeded", 0, false, "" },
        { "so does one that has failed", A, "", "", "Failed", 0, false, "" },
    };
    int64_t now_ms = 0;
    (void)state;

    assert_int_equal(clock_parse(STR(NOW), &now_ms, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct plan plan = { .arena = &a, .now_ms = now_ms };
        struct taint_observed seen = { .together_ms = cases[i].together_ms };

        seen.pod = pod_new(&a, cases[i].meta, cases[i].spec, cases[i].phase);
        seen.taints = cases[i].taints[0] ? parse(&a, arena_fmt(&a, "[%s]", cases[i].taints).p) : NULL;
        if (taint_plan(&seen, &plan) != cases[i].waits)
            fail_msg("%s: waits: %d", cases[i].label, !cases[i].waits);
        if (plan.wake_ms)
            plan.wake_ms -= now_ms;
        assert_plan(cases[i].label, &plan, cases[i].want);
    }
}

static void test_cancel(void **state)
{
    static const struct {
        const char *label;
        bool exists;
        const char *meta, *want;
    } cases[] = {
        { "it stays", true, "", "event Normal TaintManagerEviction: Cancelling deletion of Pod n/p\n" },
        { "it is going for another reason", true, DELETING, "" },
        { "it is gone", false, "", "" },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct plan plan = { .arena = &a, .now_ms = 1 };

        taint_cancel_plan(cases[i].exists ? pod_new(&a, cases[i].meta, "", "Running") : NULL, &plan);
        assert_plan(cases[i].label, &plan, cases[i].want);
    }
}

/* ---- nodes that are gone ---- */

static void test_orphans(void **state)
{
    static const struct {
        int64_t missing_ms;
        const char *want;
    } cases[] = { { 0, "" }, { 39999, "" }, { 40000, "delete Pod n/p uid u background\n" } };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct plan plan = { .arena = &a };

        orphan_plan(pod_new(&a, DELETING, "", "Running"), cases[i].missing_ms, &plan);
        assert_plan("missing", &plan, cases[i].want);
        if (plan.ops.n)
            assert_int_equal(plan.ops.v[0].grace_s, 0); /* nobody would confirm a longer one */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taints),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_orphans),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
