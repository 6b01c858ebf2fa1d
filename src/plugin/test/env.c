/* env.c - index variables */
#include "jobtest.h"

static const char tasks[] =
    "[{name: a, replicas: 2, template: {spec: {initContainers: [{name: i}], containers: [{name: "
    "c, env: [{name: MODE, value: fast}, {name: VC_TASK_INDEX, value: mine}]}, {name: d}]}}},"
    " {name: b-c, replicas: 3, template: {spec: {containers: [{name: c, env: [{name: "
    "VC_JOB_RANK, value: mine}]}]}}}]";

static void test_index(void **state)
{
    autojobtest t = { 0 };
    struct json *pod;

    (void)state;
    jobtest_job(&t, "{env: []}", tasks);
    jobtest_must_be_good(&t);
    assert_int_equal(t.objects.list.n, 0);
    pod = jobtest_pod(&t, 0, 1);
    assert_at(&t, pod, "spec",
              "{\"initContainers\":[{\"name\":\"i\",\"env\":[{\"name\":\"VK_TASK_INDEX\",\"value\":\"1\"},{\"name\":"
              "\"VC_TASK_INDEX\",\"value\":\"1\"}]}],\"containers\":[{\"name\":\"c\",\"env\":[{\"name\":\"MODE\","
              "\"value\":\"fast\"},{\"name\":\"VC_TASK_INDEX\",\"value\":\"1\"},{\"name\":\"VK_TASK_INDEX\",\"value\":"
              "\"1\"}]},{\"name\":\"d\",\"env\":[{\"name\":\"VK_TASK_INDEX\",\"value\":\"1\"},{\"name\":"
              "\"VC_TASK_INDEX\",\"value\":\"1\"}]}]}");
}

static void test_keep_user(void **state)
{
    autojobtest t = { 0 };

    (void)state;
    jobtest_job(&t, "{env: ['--keep-user-env']}", tasks);
    assert_at(&t, jobtest_pod(&t, 0, 1), "spec.containers[0].env[1].value", "\"mine\"");
}

static void test_extended(void **state)
{
    static const struct {
        const char *name, *value;
    } want[] = {
        { "VC_JOB_NAME", "job" },    { "VC_JOB_NAMESPACE", "ns" }, { "VC_JOB_UID", "u1" }, { "VC_TASK_NAME", "b-c" },
        { "VC_TASK_REPLICAS", "3" }, { "VC_JOB_RANK", "mine" },    { "VC_JOB_SIZE", "5" }, { "VC_RETRY_COUNT", "0" },
    };
    autojobtest t = { 0 };
    struct json *c;

    (void)state;
    jobtest_job(&t, "{env: ['--extended']}", tasks);
    c = json_path(jobtest_pod(&t, 1, 2), STR("spec.containers[0]"), NULL);
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        if (!str_is(jobtest_env(c, want[i].name), want[i].value))
            fail_msg("%s is %.*s", want[i].name, STR_ARG(jobtest_env(c, want[i].name)));
    jobtest_job(&t, "{env: ['--extended', '--override']}", tasks);
    c = json_path(jobtest_pod(&t, 1, 2), STR("spec.containers[0]"), NULL);
    assert_true(str_is(jobtest_env(c, "VC_JOB_RANK"), "4"));
    c = json_path(jobtest_pod(&t, 0, 1), STR("spec.initContainers[0]"), NULL);
    assert_true(str_is(jobtest_env(c, "VC_JOB_RANK"), "1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index),
        cmocka_unit_test(test_keep_user),
        cmocka_unit_test(test_extended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
