/* hcclrank.c - tests of the rank annotation */
#include "plugin/test/fixture.h"

#define RANK          "metadata.annotations[hccl/rankIndex]"
#define HCCL          "hcclrank: []"
#define WITH_ENV(env) "- {name: x, replicas: 1, " POD_OF("containers: [{name: a}, {name: b, env: [" env "]}]") "}\n"

static const struct plugin_case hccl_cases[] = {
    { "master", HCCL, TASK("master", "2") TASK("worker", "2"), "master/1", RANK, "1" },
    { "worker counts after masters", HCCL, TASK("master", "2") TASK("worker", "2"), "worker/1", RANK, "3" },
    { "no master task", HCCL, TASK("worker", "2"), "worker/1", RANK, "1" },
    { "another task", HCCL, TASK("master", "2") TASK("logger", "1"), "logger/0", RANK, NULL },
    { "names by argument", "hcclrank: [--master=a, --worker=b]", TASK("a", "3") TASK("b", "1"), "b/0", RANK, "3" },
    { "RANK of any container, any task", HCCL, WITH_ENV("{name: RANK, value: '7'}"), "x/0", RANK, "7" },
    { "the last RANK", HCCL, WITH_ENV("{name: RANK, value: '7'}, {name: RANK, value: '8'}"), "x/0", RANK, "8" },
    { "valueFrom counts as empty", HCCL,
      "- {name: master, replicas: 2, " POD_OF("containers: [{name: a, env: [{name: RANK, valueFrom: {}}]}, "
                                              "{name: b, env: [{name: RANK, value: '9'}]}]") "}\n",
      "master/1", RANK, "1" },
    { "init containers are not looked at", HCCL,
      "- {name: x, replicas: 1, " POD_OF("initContainers: [{name: i, env: [{name: RANK, value: '7'}]}], containers: "
                                         "[{name: a}]") "}\n",
      "x/0", RANK, NULL },
    { "an annotation is kept", HCCL,
      "- {name: master, replicas: 1, template: {metadata: {annotations: {hccl/rankIndex: '5'}}, spec: {containers: "
      "[{name: a, env: [{name: RANK, value: '7'}]}]}}}\n",
      "master/0", RANK, "5" },
    { "an empty annotation is not", HCCL,
      "- {name: master, replicas: 1, template: {metadata: {annotations: {hccl/rankIndex: ''}}, spec: {containers: "
      "[{name: a}]}}}\n",
      "master/0", RANK, "0" },
    { "takes what pytorch wrote", "hcclrank: [], pytorch: [--master=lead, --worker=crew]",
      TASK("lead", "1") TASK("crew", "2"), "crew/1", RANK, "2" },
    { "elastic pytorch writes none", "hcclrank: [], pytorch: [--elastic=1:3]", TASK("master", "1") TASK("worker", "2"),
      "worker/1", RANK, "2" },
    { "forces nothing", HCCL, TASK("master", "1"), "master/0", "spec.subdomain", NULL },
};

static void test_hccl(void **state)
{
    RUN_CASES(hccl_cases);
}

static void test_hccl_label(void **state)
{
    static const char *const labels[] = { "", "x", "1x" };

    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        struct fixture f;
        struct pod_draft pod;
        struct err e = { 0 };

        fixture_open(&f, HCCL, TASK("master", "1"));
        pod = fixture_draft(&f, &f.job.spec.tasks.v[0], 0, 0);
        object_set_label(&f.arena, pod.root, "volcano.sh/task-index", str_of(labels[i]));
        assert_int_equal(plugin_set_pod(f.set, &f.arena, &pod, &e), -1);
        assert_non_null(strstr(e.text, "volcano.sh/task-index"));
        fixture_done(&f);
    }
}

static void test_hccl_odd_jobs(void **state)
{
    fixture_survives(HCCL);
    fixture_survives("hcclrank: [--master=, --worker=]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hccl),
        cmocka_unit_test(test_hccl_label),
        cmocka_unit_test(test_hccl_odd_jobs),
    };

    return cmocka_run_group_tests_name("plugin/hcclrank", tests, NULL, NULL);
}
