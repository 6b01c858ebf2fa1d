/* jax.c - tests of coordinator address and process ids */
#include "plugin/test/fixture.h"

#define JAX(args) QUIET_SVC ", jax: [" args "]"
#define TWO       TASK("a", "1") TASK("b", "2")
#define GPUS                                                                                                           \
    "- {name: a, replicas: 1, " POD_OF("containers: [{name: c, resources: {limits: {nvidia.com/gpu: 4}}}]") "}\n"
#define VARS(host, n, id) "JAX_COORDINATOR_ADDRESS=" host ":1234 JAX_NUM_PROCESSES=" n " JAX_PROCESS_ID=" id

static const struct plugin_case jax_cases[] = {
    { "first", JAX(""), TWO, "a/0 env:0", "", VARS("j-a-0.j", "3", "0") },
    { "last", JAX(""), TWO, "b/1 env:0", "", VARS("j-a-0.j", "3", "2") },
    { "init containers too", JAX(""),
      "- {name: a, replicas: 1, " POD_OF("initContainers: [{name: i}], containers: [{name: c}]") "}\n", "a/0 init:0",
      "", VARS("j-a-0.j", "1", "0") },
    { "tasks in the order given", JAX("'--tasks=b,a'"), TWO, "a/0 env:0", "", VARS("j-b-0.j", "3", "2") },
    { "a task that is not listed", JAX("--tasks=b"), TWO, "a/0 env:0", "", "" },
    { "rank 0 is in the first task with pods", JAX(""), TASK("a", "0") TASK("b", "2"), "b/1 env:0", "",
      VARS("j-b-0.j", "2", "1") },
    { "several processes", JAX("--processes-per-node=4"), TWO, "b/0 env:0", "", VARS("j-a-0.j", "12", "4") },
    { "port", JAX("--port=9"), TASK("a", "1"), "a/0 env:0", "",
      "JAX_COORDINATOR_ADDRESS=j-a-0.j:9 JAX_NUM_PROCESSES=1 JAX_PROCESS_ID=0" },
    { "port is opened at the coordinator", JAX(""), TWO, "a/0", "spec.containers[0].ports",
      "[{\"name\":\"jax-coordinator\",\"containerPort\":1234}]" },
    { "and nowhere else", JAX(""), TWO, "b/0", "spec.containers[0].ports", NULL },
    { "slurm", JAX("--slurm-env"), TWO, "b/0 env:0", "",
      VARS("j-a-0.j", "3", "1") " SLURM_JOB_ID=3700369788 SLURM_STEP_NODELIST=j-a-0.j,j-b-0.j,j-b-1.j SLURM_NTASKS=3 "
                                "SLURM_PROCID=1 SLURM_LOCALID=0" },
    { "slurm: a list that does not fit", JAX("--slurm-env"), TASK("a", "12000"), "a/7 env:0", "",
      "~ SLURM_STEP_NODELIST=j-a-0.j SLURM_NTASKS=12000 SLURM_PROCID=7 " },
    { "slurm: one process takes all devices", JAX("--slurm-env"), GPUS, "a/0 env:0", "",
      "~ SLURM_LOCALID=0 JAX_LOCAL_DEVICE_IDS=0,1,2,3" },
    { "slurm: each process its own", JAX("'--slurm-env', '--processes-per-node=4'"), GPUS, "a/0 env:0", "",
      VARS("j-a-0.j", "4", "0") " SLURM_JOB_ID=3700369788 SLURM_STEP_NODELIST=j-a-0.j SLURM_NTASKS=4 SLURM_PROCID=0 "
                                "SLURM_LOCALID=0" },
    { "user's variable wins", JAX(""),
      "- {name: a, replicas: 1, " POD_OF("containers: [{name: c, env: [{name: JAX_PROCESS_ID, value: x}]}]") "}\n",
      "a/0 env:0", "", "JAX_PROCESS_ID=x JAX_COORDINATOR_ADDRESS=j-a-0.j:1234 JAX_NUM_PROCESSES=1" },
    { "unless overridden", JAX("--override"),
      "- {name: a, replicas: 1, " POD_OF("containers: [{name: c, env: [{name: JAX_PROCESS_ID, value: x}]}]") "}\n",
      "a/0 env:0", "", "JAX_PROCESS_ID=0 JAX_COORDINATOR_ADDRESS=j-a-0.j:1234 JAX_NUM_PROCESSES=1" },
    { "forces svc", "jax: []", TWO, "a/0", "spec.subdomain", "j" },
    { "unknown task", JAX("--tasks=z"), TWO, "error", "", "~argument tasks: task \"z\" does not exist" },
    { "no process", JAX("--processes-per-node=0"), TWO, "error", "", "~argument processes-per-node" },
    { "a good job", JAX("'--tasks=a,b', --processes-per-node=2"), TWO, "error", "", NULL },
};

static void test_jax(void **state)
{
    RUN_CASES(jax_cases);
}

static void test_jax_odd_jobs(void **state)
{
    fixture_survives(JAX(""));
    fixture_survives(JAX("--slurm-env, --tasks=worker"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_jax), cmocka_unit_test(test_jax_odd_jobs) };

    return cmocka_run_group_tests_name("plugin/jax", tests, NULL, NULL);
}
