/* podgroup.c - what a job's PodGroup says, and the sums in it */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "job/podgroup.h"
#include "fixture.h"

#define HEAD                                                                                                           \
    "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j, labels: {l: v}, annotations: {n: "          \
    "w}}\nspec:\n"
#define TASK(name, replicas, more, cpu)                                                                                \
    "  - name: " name "\n    replicas: " replicas "\n" more                                                            \
    "    template:\n      spec:\n        priorityClassName: " name                                                     \
    "\n        containers: [{name: c, image: i, resources: {requests: {cpu: '" cpu "'}}}]\n"

/* Classes "a" … are worth 1 …; so "c" goes before "b" goes before "a". */
static int64_t letter_value(void *ctx, struct str name)
{
    (void)ctx;
    return name.p[0] - 'a' + 1;
}
static const struct priority_source by_letter = { .value = letter_value };

static void check_cpu(const char *yaml, const struct priority_source *priorities, const char *want)
{
    struct fixture f;
    struct json *min;

    fixture_init(&f, yaml);
    min = json_find(job_podgroup_new(&f.arena, &f.job, priorities), "spec", "minResources", NULL);
    assert_text(json_get(min, "cpu"), want);
    assert_text(json_get(min, "requests.cpu"), want);
    fixture_done(&f);
}

static void test_gang_smaller_than_minima_fills_task_by_task(void **state)
{
    (void)state;
    /* minAvailable 3 < 2 + 4: the two of b (10 each), then one of a. */
    check_cpu(HEAD "  minAvailable: 3\n  tasks:\n" TASK("a", "4", "", "1") TASK("b", "2", "", "10"), &by_letter, "21");
    /* Without classes: in the order of the spec. */
    check_cpu(HEAD "  minAvailable: 3\n  tasks:\n" TASK("a", "4", "", "1") TASK("b", "2", "", "10"), NULL, "3");
}

static void test_gang_of_minima_takes_each_minimum_first(void **state)
{
    (void)state;
    /* Minima 1 + 1 ≤ 3: one of each, and the third from b, which goes first. */
    check_cpu(HEAD "  minAvailable: 3\n  tasks:\n" TASK("a", "4", "    minAvailable: 1\n", "1")
                  TASK("b", "2", "    minAvailable: 1\n", "10"),
              &by_letter, "21");
}

static void test_fields(void **state)
{
    struct fixture f;
    struct json *pg;

    (void)state;
    fixture_init(&f, HEAD "  queue: q\n  priorityClassName: pc\n  minAvailable: 2\n"
                          "  networkTopology: {mode: soft, highestTierAllowed: 2}\n  tasks:\n" TASK("a", "3", "", "1"));
    pg = job_podgroup_new(&f.arena, &f.job, NULL);
    assert_text(json_find(pg, "metadata", "name", NULL), "j-u-1");
    assert_json(json_find(pg, "metadata", "labels", NULL), "{\"l\":\"v\"}");
    assert_json(json_find(pg, "metadata", "annotations", NULL), "{\"n\":\"w\"}");
    assert_json(json_get(pg, "spec"),
                "{\"minMember\":2,\"minTaskMember\":{\"a\":3},\"queue\":\"q\",\"priorityClassName\":\"pc\","
                "\"minResources\":{\"count/pods\":\"2\",\"cpu\":\"2\",\"pods\":\"2\",\"requests.cpu\":\"2\"},"
                "\"networkTopology\":{\"mode\":\"soft\",\"highestTierAllowed\":2}}");
    fixture_done(&f);
}

static void test_partitions_become_sub_groups(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f,
                 HEAD "  tasks:\n" TASK("a", "6",
                                        "    partitionPolicy: {totalPartitions: 3, partitionSize: 2, minPartitions: 2,"
                                        " networkTopology: {highestTierName: rack}}\n",
                                        "1"));
    assert_json(json_find(job_podgroup_new(&f.arena, &f.job, NULL), "spec", "subGroupPolicy", NULL),
                "[{\"name\":\"a\",\"subGroupSize\":2,\"minSubGroups\":2,"
                "\"labelSelector\":{\"matchLabels\":{\"volcano.sh/task-spec\":\"a\"}},"
                "\"matchLabelKeys\":[\"volcano.sh/partition-id\"],"
                "\"networkTopology\":{\"mode\":\"hard\",\"highestTierName\":\"rack\"}}]");
    fixture_done(&f);
}

static void test_kubectl_annotation_stays_behind(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(
        &f, "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j, annotations: "
            "{kubectl.kubernetes.io/last-applied-configuration: '{}'}}\nspec:\n  tasks:\n" TASK("a", "1", "", "1"));
    assert_null(json_find(job_podgroup_new(&f.arena, &f.job, NULL), "metadata", "annotations", NULL));
    fixture_done(&f);
}

/* Sums over one pod: { template spec, cpu the pod asks for }. */
static const struct {
    const char *spec, *cpu;
} pod_cases[] = {
    { "containers: [{resources: {requests: {cpu: 1}}}, {resources: {requests: {cpu: 500m}}}]", "1500m" },
    { "containers: [{resources: {limits: {cpu: 2}}}]", "2" }, /* B44 */
    { "containers: [{resources: {limits: {cpu: 2}, requests: {cpu: 1}}}]", "1" },
    { "initContainers: [{resources: {requests: {cpu: 4}}}]\ncontainers: [{resources: {requests: {cpu: 1}}}]", "4" },
    { "initContainers: [{restartPolicy: Always, resources: {requests: {cpu: 1}}}]\n"
      "containers: [{resources: {requests: {cpu: 1}}}]",
      "2" },
    { "initContainers: [{restartPolicy: Always, resources: {requests: {cpu: 1}}}, {resources: {requests: {cpu: 3}}}]\n"
      "containers: [{resources: {requests: {cpu: 1}}}]",
      "4" },
    { "initContainers: [{resources: {requests: {cpu: 3}}}, {restartPolicy: Always, resources: {requests: {cpu: 1}}}]\n"
      "containers: [{resources: {requests: {cpu: 1}}}]",
      "3" },
    { "overhead: {cpu: 250m}\ncontainers: [{resources: {requests: {cpu: 1}}}]", "1250m" },
    { "resources: {requests: {cpu: 8}}\ncontainers: [{resources: {requests: {cpu: 1}}}]", "8" },
};

static void test_pod_requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(pod_cases) / sizeof(pod_cases[0]); i++) {
        autoarena a = { 0 };
        struct yaml_docs docs = { 0 };
        struct resources r;

        assert_int_equal(yaml_parse(&a, str_of(pod_cases[i].spec), NULL, &docs, NULL), 0);
        pod_requests(&a, docs.v[0], &r);
        assert_text(json_get(resources_to_json(&a, &r), "cpu"), pod_cases[i].cpu);
    }
}

static void test_quota_usage_names(void **state)
{
    autoarena a = { 0 };
    struct yaml_docs docs = { 0 };
    struct resources r;

    (void)state;
    assert_int_equal(yaml_parse(&a,
                                STR("containers: [{resources: {limits: {cpu: 1, nvidia.com/gpu: 2, hugepages-2Mi: 4Mi,"
                                    " memory: 1Gi}}}]"),
                                NULL, &docs, NULL),
                     0);
    pod_quota_usage(&a, docs.v[0], &r);
    assert_json(
        resources_to_json(&a, &r),
        "{\"count/pods\":\"1\",\"cpu\":\"1\",\"hugepages-2Mi\":\"4Mi\",\"limits.cpu\":\"1\",\"limits.memory\":\"1Gi\","
        "\"memory\":\"1Gi\",\"nvidia.com/gpu\":\"2\",\"pods\":\"1\",\"requests.cpu\":\"1\","
        "\"requests.hugepages-2Mi\":\"4Mi\",\"requests.memory\":\"1Gi\",\"requests.nvidia.com/gpu\":\"2\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gang_smaller_than_minima_fills_task_by_task),
        cmocka_unit_test(test_gang_of_minima_takes_each_minimum_first),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_partitions_become_sub_groups),
        cmocka_unit_test(test_kubectl_annotation_stays_behind),
        cmocka_unit_test(test_pod_requests),
        cmocka_unit_test(test_quota_usage_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
