/* tensorflow.c - tests of TF_CONFIG */
#include "plugin/test/fixture.h"

#define TF(args)  QUIET_SVC ", tensorflow: [" args "]"
#define CLUSTER   "{\"cluster\":{\"ps\":[\"j-ps-0.j:2222\"],\"worker\":[\"j-worker-0.j:2222\",\"j-worker-1.j:2222\"]},"
#define TWO_ROLES TASK("worker", "2") TASK("ps", "1") TASK("board", "1")

static const struct plugin_case tf_cases[] = {
    { "ps", TF(""), TWO_ROLES, "ps/0 env:0", "", "TF_CONFIG=" CLUSTER "\"task\":{\"type\":\"ps\",\"index\":0}}" },
    { "worker", TF(""), TWO_ROLES, "worker/1 env:0", "",
      "TF_CONFIG=" CLUSTER "\"task\":{\"type\":\"worker\",\"index\":1}}" },
    { "a stranger keeps its name", TF(""), TWO_ROLES, "board/0 env:0", "",
      "TF_CONFIG=" CLUSTER "\"task\":{\"type\":\"board\",\"index\":0}}" },
    { "order of roles is fixed", TF("--port=1"), TASK("evaluator", "1") TASK("chief", "1") TASK("ps", "1"),
      "chief/0 env:0", "",
      "TF_CONFIG={\"cluster\":{\"ps\":[\"j-ps-0.j:1\"],\"chief\":[\"j-chief-0.j:1\"],\"evaluator\":"
      "[\"j-evaluator-0.j:1\"]},\"task\":{\"type\":\"chief\",\"index\":0}}" },
    { "role by argument", TF("--ps=store"), TASK("store", "1") TASK("x", "1"), "store/0 env:0", "",
      "TF_CONFIG={\"cluster\":{\"ps\":[\"j-store-0.j:2222\"]},\"task\":{\"type\":\"ps\",\"index\":0}}" },
    { "no replicas: not in the cluster", TF(""), TASK("ps", "0") TASK("x", "1"), "x/0 env:0", "",
      "TF_CONFIG={\"cluster\":{},\"task\":{\"type\":\"x\",\"index\":0}}" },
    { "one pod alone: nothing", TF(""), TASK("worker", "1"), "worker/0 env:0", "", "" },
    { "one task of two pods", TF(""), TASK("worker", "2"), "worker/0 env:0", "",
      "TF_CONFIG={\"cluster\":{\"worker\":[\"j-worker-0.j:2222\",\"j-worker-1.j:2222\"]},\"task\":{\"type\":\"worker\","
      "\"index\":0}}" },
    { "own hostname repeats", TF(""), "- {name: ps, replicas: 2, " POD_OF("hostname: h, containers: [{name: c}]") "}\n",
      "ps/1 env:0", "",
      "TF_CONFIG={\"cluster\":{\"ps\":[\"h.j:2222\",\"h.j:2222\"]},\"task\":{\"type\":\"ps\",\"index\":1}}" },
    { "escaped as Go does", TF(""),
      "- {name: ps, replicas: 2, " POD_OF("hostname: '<&>', containers: [{name: c}]") "}\n", "ps/0 env:0", "",
      "TF_CONFIG={\"cluster\":{\"ps\":[\"\\u003c\\u0026\\u003e.j:2222\",\"\\u003c\\u0026\\u003e.j:2222\"]},\"task\":"
      "{\"type\":\"ps\",\"index\":0}}" },
    { "the template's own is replaced", TF(""),
      "- {name: x, replicas: 2, " POD_OF("containers: [{name: c, env: [{name: TF_CONFIG, value: old}]}]") "}\n",
      "x/0 env:0", "", "TF_CONFIG={\"cluster\":{},\"task\":{\"type\":\"x\",\"index\":0}}" },
    { "unless it is kept", TF("--keep-user-env"),
      "- {name: x, replicas: 2, " POD_OF("containers: [{name: c, env: [{name: TF_CONFIG, value: old}]}]") "}\n",
      "x/0 env:0", "", "TF_CONFIG=old" },
    { "every container, no init container", TF(""),
      "- {name: x, replicas: 2, " POD_OF("initContainers: [{name: i}], containers: [{name: a}, {name: b}]") "}\n",
      "x/0 env:1", "", "TF_CONFIG={\"cluster\":{},\"task\":{\"type\":\"x\",\"index\":0}}" },
    { "init container", TF(""),
      "- {name: x, replicas: 2, " POD_OF("initContainers: [{name: i}], containers: [{name: a}]") "}\n", "x/0 init:0",
      "", "" },
    { "no port is opened", TF(""), TWO_ROLES, "ps/0", "spec.containers[0].ports", NULL },
    { "forces svc", "tensorflow: []", TWO_ROLES, "ps/0", "spec.subdomain", "j" },
    { "two roles for one task", TF("--chief=worker"), TWO_ROLES, "error", "",
      "~task worker is given two roles, worker and chief" },
    { "equal names without such a task", TF("--chief=z, --ps=z"), TWO_ROLES, "error", "", NULL },
    { "bad port", TF("--port=0"), TWO_ROLES, "error", "", "~bad value \"0\"" },
    { "few hosts: no warning", TF(""), TASK("worker", "500"), "warning", "", NULL },
    { "many hosts", TF(""), TASK("worker", "501"), "warning", "", "~TF_CONFIG holds all 501 hosts" },
    { "too many hosts", TF(""), TASK("worker", "6000"), "error", "", "~TF_CONFIG for 6000 hosts would be over 96 KiB" },
    { "too many times one host", TF(""),
      "- {name: ps, replicas: 1000000, " POD_OF("hostname: h, containers: [{name: c}]") "}\n", "error", "",
      "~TF_CONFIG for 1000000 hosts" },
};

static void test_tf(void **state)
{
    RUN_CASES(tf_cases);
}

static void test_tf_odd_jobs(void **state)
{
    fixture_survives(TF(""));
    fixture_survives("tensorflow: [--worker=]");
}

/* What is admitted fits into a variable. */
static void test_tf_limit(void **state)
{
    for (unsigned n = 4000; n < 6000; n += 97) {
        struct fixture f;
        autoarena a = { 0 };

        fixture_open(&f, TF(""), fixture_big_task(&a, "worker", n));
        if (!f.ps.n_errors)
            assert_true(fixture_get(&f, "worker/0 env:0", "").n <= 96 * 1024 + strlen("TF_CONFIG="));
        fixture_done(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tf),
        cmocka_unit_test(test_tf_odd_jobs),
        cmocka_unit_test(test_tf_limit),
    };

    return cmocka_run_group_tests_name("plugin/tensorflow", tests, NULL, NULL);
}
