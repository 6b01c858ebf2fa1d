/* types.c - the table of kinds: unique, complete, findable */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/types.h"

#include "base/arena.h"
#include "base/util.h"
#include "json/schema.h"

static struct arena arena;

static int forget(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static void rows_are_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_resource_types; i++) {
        const struct resource_type *t = &resource_types[i];

        if (!t->group || !t->version || !t->kind || !t->plural)
            fail_msg("row %zu has a hole", i);
        if (t->short_names[ARRAY_LEN(t->short_names) - 1] || t->subresources[ARRAY_LEN(t->subresources) - 1])
            fail_msg("%s: no NULL at the end of a list", t->plural);
        if (t->schema && strcmp(t->schema->name, t->kind) != 0)
            fail_msg("%s: schema is of %s", t->kind, t->schema->name);
        for (const char *p = t->plural; *p; p++)
            if (*p < 'a' || *p > 'z')
                fail_msg("%s: not in lower case", t->plural);
    }
}

/* Within a group nothing is called the same; between groups whole kinds are (Event), and what they are asked for by
 * (pods, and what pods use). */
static void names_are_unique(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_resource_types; i++) {
        for (size_t j = i + 1; j < n_resource_types; j++) {
            const struct resource_type *a = &resource_types[i], *b = &resource_types[j];

            if (strcmp(a->group, b->group) != 0 && (strcmp(a->kind, b->kind) == 0 || strcmp(a->plural, b->plural) == 0))
                continue; /* told apart by ".group" */
            if (strcmp(a->kind, b->kind) == 0 || strcmp(a->plural, b->plural) == 0)
                fail_msg("%s.%s is there twice", a->plural, a->group);
            for (size_t k = 0; a->short_names[k]; k++)
                for (size_t m = 0; b->short_names[m]; m++)
                    if (strcmp(a->short_names[k], b->short_names[m]) == 0)
                        fail_msg("%s is short for %s and %s", a->short_names[k], a->plural, b->plural);
        }
    }
}

static void every_row_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_resource_types; i++) {
        const struct resource_type *t = &resource_types[i];

        assert_ptr_equal(type_by_kind(type_api_version(&arena, t), str_of(t->kind)), t);
        if (t->group[0]) {
            assert_ptr_equal(type_by_name(arena_fmt(&arena, "%s.%s", t->plural, t->group)), t);
            assert_ptr_equal(type_by_name(arena_fmt(&arena, "%s.%s.%s", t->kind, t->version, t->group)), t);
        } else {
            assert_ptr_equal(type_by_name(str_of(t->plural)), t);
        }
        for (size_t k = 0; t->short_names[k] && t->group[0]; k++)
            assert_ptr_equal(type_by_name(arena_fmt(&arena, "%s.%s", t->short_names[k], t->group)), t);
    }
}

static void what_users_type(void **state)
{
    static const struct {
        const char *word, *kind, *group;
    } cases[] = {
        { "jobs", "Job", "batch.volcano.sh" },
        { "job", "Job", "batch.volcano.sh" },
        { "Job", "Job", "batch.volcano.sh" },
        { "JOBS", "Job", "batch.volcano.sh" },
        { "vcjob", "Job", "batch.volcano.sh" },
        { "VJ", "Job", "batch.volcano.sh" },
        { "jobs.batch.volcano.sh", "Job", "batch.volcano.sh" },
        { "vj.batch.volcano.sh", "Job", "batch.volcano.sh" },
        { "jobs.v1alpha1.batch.volcano.sh", "Job", "batch.volcano.sh" },
        { "jobs.v1.batch.volcano.sh", NULL, NULL },
        { "jobs.batch", NULL, NULL },
        { "q", "Queue", "scheduling.volcano.sh" },
        { "pg", "PodGroup", "scheduling.volcano.sh" },
        { "podgroup-v1beta1", "PodGroup", "scheduling.volcano.sh" },
        { "cronvj", "CronJob", "batch.volcano.sh" },
        { "jf", "JobFlow", "flow.volcano.sh" },
        { "jt", "JobTemplate", "flow.volcano.sh" },
        { "po", "Pod", "" },
        { "pods.v1.", "Pod", "" },
        { "netpol", "NetworkPolicy", "networking.k8s.io" },
        { "networkpolicy", "NetworkPolicy", "networking.k8s.io" },
        { "ev", "Event", "" },
        { "events.events.k8s.io", "Event", "events.k8s.io" },
        { "pdb", "PodDisruptionBudget", "policy" },
        { "jobs.", NULL, NULL },
        { ".batch.volcano.sh", NULL, NULL },
        { "", NULL, NULL },
        { ".", NULL, NULL },
        { "zebras", NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct resource_type *t = type_by_name(str_of(cases[i].word));
        const char *kind = t ? t->kind : NULL;

        if (!t != !cases[i].kind || (t && (strcmp(kind, cases[i].kind) != 0 || strcmp(t->group, cases[i].group) != 0)))
            fail_msg("\"%s\" found %s", cases[i].word, kind ? kind : "nothing");
    }
}

static void what_stands_in_manifests(void **state)
{
    static const struct {
        const char *api_version, *kind, *plural;
    } cases[] = {
        { "batch.volcano.sh/v1alpha1", "Job", "jobs" },
        { "v1", "Pod", "pods" },
        { "policy/v1", "PodDisruptionBudget", "poddisruptionbudgets" },
        { "batch.volcano.sh/v1alpha1", "job", NULL },
        { "batch/v1", "Job", NULL },
        { "/v1", "Pod", NULL },
        { "", "Pod", NULL },
        { "v1", "", NULL },
        { "v1/", "Pod", NULL },
        { "v2", "Pod", NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct resource_type *t = type_by_kind(str_of(cases[i].api_version), str_of(cases[i].kind));

        if (!t != !cases[i].plural || (t && strcmp(t->plural, cases[i].plural) != 0))
            fail_msg("%s %s found %s", cases[i].api_version, cases[i].kind, t ? t->plural : "nothing");
    }
}

/* Two kinds have the name PodGroup: whoever does not ask for the native one gets Volcano's. */
static void native_is_never_meant(void **state)
{
    static const char *const words[] = { "PodGroup", "podgroup", "podgroups", "pg" };
    const struct resource_type *native = type_native("PodGroup");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        assert_string_equal(type_by_name(str_of(words[i]))->group, "scheduling.volcano.sh");
    assert_null(type_by_kind(STR("scheduling.k8s.io/v1beta1"), STR("PodGroup")));
    assert_null(type_by_name(STR("podgroups.scheduling.k8s.io")));
    assert_null(type_foreign(STR("scheduling.k8s.io/v1beta1"), STR("PodGroup")));
    assert_false(type_is_foreign(native));
    assert_string_equal(native->group, "scheduling.k8s.io");
    assert_string_equal(native->plural, "podgroups");
    assert_string_equal(type_native("Workload")->plural, "workloads");
    assert_null(type_native("PriorityClass"));
    assert_string_equal(native->version, "v1beta1");
    type_native_choose(NATIVE_V1ALPHA2);
    assert_string_equal(type_native("PodGroup")->version, "v1alpha2");
    assert_string_equal(type_native("Workload")->version, "v1alpha2");
    type_native_choose(NATIVE_V1BETA1);
}

static void what_stands_in_urls(void **state)
{
    autoarena a = { 0 };
    const struct resource_type *t = type_by_plural(STR("batch.volcano.sh"), STR("v1alpha1"), STR("jobs"));

    (void)state;
    assert_true(str_is(type_singular(&a, t), "job"));
    assert_true(str_is(type_list_kind(&a, t), "JobList"));
    assert_true(str_is(type_resource(&a, t), "jobs.batch.volcano.sh"));
    assert_true(type_has_subresource(t, STR("status")) && !type_has_subresource(t, STR("log")));
    assert_true(type_by_plural(STR(""), STR("v1"), STR("pods")) == type_by_name(STR("pods")));
    assert_null(type_by_plural(STR(""), STR("v2"), STR("pods")));
    assert_null(type_by_plural(STR(""), STR("v1"), STR("pod")));
    assert_null(type_by_plural(STR("apps"), STR("v1"), STR("replicasets"))); /* nothing here has them */
    assert_null(type_by_plural(STR("admissionregistration.k8s.io"), STR("v1"), STR("mutatingwebhookconfigurations")));
}

static void scopes(void **state)
{
    static const char *const cluster[] = { "queues", "namespaces", "nodes", "persistentvolumes", "priorityclasses" };
    static const char *const namespaced[] = { "jobs", "podgroups", "pods", "commands", "leases", "events" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cluster); i++)
        assert_int_equal(type_by_name(str_of(cluster[i]))->scope, SCOPE_CLUSTER);
    for (size_t i = 0; i < ARRAY_LEN(namespaced); i++)
        assert_int_equal(type_by_name(str_of(namespaced[i]))->scope, SCOPE_NAMESPACED);
    assert_null(type_by_name(STR("podgroups"))->subresources[0]); /* its status is written on the main resource */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(every_row_is_found),
        cmocka_unit_test(what_users_type),
        cmocka_unit_test(what_stands_in_manifests),
        cmocka_unit_test(what_stands_in_urls),
        cmocka_unit_test(scopes),
        cmocka_unit_test(native_is_never_meant),
    };

    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, forget);
}
