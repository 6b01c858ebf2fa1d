/* native.c - the gang of a job in the words of scheduling.k8s.io */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

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
    w = native_workload_new(&f.arena, &f.job);
    g = native_group_new(&f.arena, &f.job);
    assert_text(json_get(w, "apiVersion"), "scheduling.k8s.io/v1alpha2");
    assert_text(json_get(g, "apiVersion"), "scheduling.k8s.io/v1alpha2");
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
    assert_json(json_get(g, "spec"),
                "{\"podGroupTemplateRef\":{\"workload\":{\"workloadName\":\"j-u-1\",\"podGroupTemplateName\":\"job\"}},"
                "\"schedulingPolicy\":{\"gang\":{\"minCount\":3}},\"priorityClassName\":\"pc\"}");
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
        assert_json(json_find(native_group_new(&f.arena, &f.job), "spec", "schedulingPolicy", NULL), cases[i].policy);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects),
        cmocka_unit_test(test_gang_sizes),
        cmocka_unit_test(test_pods_join),
    };

    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
