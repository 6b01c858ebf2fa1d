/* budget.c - tests of what PodDisruptionBudgets allow and of their status */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fixture.h"

#include "controller/control_plane.h"

enum { PODS = 16 };

/* One of the letters of test_count(). */
static const struct json *pod_new(struct arena *a, char kind, size_t i)
{
    static const struct {
        char kind;
        const char *label, *phase, *ready, *more;
    } kinds[] = {
        { 'r', "web", "Running", "True", "" },   { 'n', "web", "Running", "False", "" },
        { 's', "web", "Succeeded", "True", "" }, { 'f', "web", "Failed", "False", "" },
        { 'o', "db", "Running", "True", "" },    { 'd', "web", "Running", "True", ",\"deletionTimestamp\":\"x\"" },
    };

    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        if (kinds[k].kind == kind)
            return parse(a, arena_fmt(a,
                                      "{\"metadata\":{\"name\":\"p%zu\",\"labels\":{\"app\":\"%s\"}%s},\"status\":{"
                                      "\"phase\":\"%s\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"}]}}",
                                      i, kinds[k].label, kinds[k].more, kinds[k].phase, kinds[k].ready)
                                .p);
    fail_msg("the test's own pod: %c", kind);
    return NULL;
}

static struct budget_observed observed(struct arena *a, const char *spec, const char *status, const char *pods)
{
    const struct json **list = arena_array(a, const struct json *, PODS);
    struct budget_observed seen = { .pods = list };

    seen.budget = parse(a, arena_fmt(a,
                                     "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\",\"metadata\":{"
                                     "\"name\":\"b\",\"namespace\":\"n\",\"generation\":2,\"resourceVersion\":\"7\"},"
                                     "\"spec\":{%s}%s}",
                                     spec, status)
                               .p);
    for (; *pods; pods++)
        list[seen.n_pods] = pod_new(a, *pods, seen.n_pods), seen.n_pods++;
    return seen;
}

#define WEB "\"selector\":{\"matchLabels\":{\"app\":\"web\"}}"

static void test_count(void **state)
{
    /* pods: r ready, n not ready, s succeeded, f failed, o of others, d being deleted */
    static const struct {
        const char *label, *spec, *pods;
        struct budget want;
    } cases[] = {
        { "no pods", WEB ",\"minAvailable\":1", "", { 0, 0, 1, 0 } },
        { "enough", WEB ",\"minAvailable\":1", "rr", { 2, 2, 1, 1 } },
        { "just enough", WEB ",\"minAvailable\":2", "rr", { 2, 2, 2, 0 } },
        { "too few are healthy", WEB ",\"minAvailable\":2", "rnn", { 3, 1, 2, 0 } },
        { "only running pods that it selects count", WEB ",\"minAvailable\":1", "rrsfo", { 2, 2, 1, 1 } },
        { "one that is being deleted is not healthy", WEB ",\"minAvailable\":1", "rrd", { 3, 2, 1, 1 } },
        { "shares are rounded up", WEB ",\"minAvailable\":\"50%\"", "rrr", { 3, 3, 2, 1 } },
        { "all of them", WEB ",\"minAvailable\":\"100%\"", "rrr", { 3, 3, 3, 0 } },
        { "so many may be missing", WEB ",\"maxUnavailable\":1", "rrr", { 3, 3, 2, 1 } },
        { "one is missing already", WEB ",\"maxUnavailable\":1", "rrn", { 3, 2, 2, 0 } },
        { "more may be missing than there are", WEB ",\"maxUnavailable\":9", "rr", { 2, 2, 0, 2 } },
        { "a share may be missing", WEB ",\"maxUnavailable\":\"30%\"", "rrrr", { 4, 4, 2, 2 } },
        { "it says nothing", WEB, "rn", { 2, 1, 0, 1 } },
        { "an empty selector has all", "\"minAvailable\":1,\"selector\":{}", "ro", { 2, 2, 1, 1 } },
        { "nonsense is nothing", WEB ",\"minAvailable\":\"some\"", "r", { 1, 1, 0, 1 } },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct budget_observed seen = observed(&a, cases[i].spec, "", cases[i].pods);
        struct budget got;

        assert_int_equal(budget_count(&seen, &got), 0);
        if (memcmp(&got, &cases[i].want, sizeof(got)) != 0)
            fail_msg("%s: expected %lld healthy %lld desired %lld allowed %lld", cases[i].label,
                     (long long)got.expected, (long long)got.healthy, (long long)got.desired, (long long)got.allowed);
    }
}

#define STATUS(allowed, more)                                                                                          \
    "{" more "\"observedGeneration\":2,\"disruptionsAllowed\":" #allowed                                               \
    ",\"currentHealthy\":2,\"desiredHealthy\":1,\"expectedPods\":2}"
#define WRITTEN "status PodDisruptionBudget n/b "

static void test_plan(void **state)
{
    static const struct {
        const char *label, *spec, *status, *pods, *want;
    } cases[] = {
        { "a new one", WEB ",\"minAvailable\":1", "", "rr", WRITTEN STATUS(1, "") "\n" },
        { "idle", WEB ",\"minAvailable\":1", ",\"status\":" STATUS(1, ""), "rr", "" },
        { "changed", WEB ",\"minAvailable\":1", ",\"status\":" STATUS(0, ""), "rr", WRITTEN STATUS(1, "") "\n" },
        { "what others wrote stays", WEB ",\"minAvailable\":1", ",\"status\":{\"conditions\":[]}", "rr",
          WRITTEN STATUS(1, "\"conditions\":[],") "\n" },
        { "evicted pods that are gone go", WEB ",\"minAvailable\":1",
          ",\"status\":" STATUS(1, "\"disruptedPods\":{\"p0\":\"x\",\"gone\":\"x\"},"), "rr",
          WRITTEN STATUS(1, "\"disruptedPods\":{\"p0\":\"x\"},") "\n" },
        { "evicted pods that are there stay", WEB ",\"minAvailable\":1",
          ",\"status\":" STATUS(1, "\"disruptedPods\":{\"p0\":\"x\"},"), "rr", "" },
        { "no selector that can be read",
          "\"minAvailable\":1,\"selector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Near\"}]}", "", "rr",
          "" },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct plan plan = { .arena = &a };
        struct budget_observed seen = observed(&a, cases[i].spec, cases[i].status, cases[i].pods);

        budget_plan(&seen, &plan);
        assert_plan(cases[i].label, &plan, cases[i].want);
        for (size_t k = 0; k < plan.ops.n; k++) /* whichever it is now */
            assert_null(json_find(plan.ops.v[k].body, "metadata", "resourceVersion", NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_count), cmocka_unit_test(test_plan) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
