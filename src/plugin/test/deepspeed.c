/* deepspeed.c - tests of host file and master address */
#include "plugin/test/fixture.h"

#define DS(args) QUIET_SVC ", deepspeed: [" args "]"
#define GPU_TASK                                                                                                       \
    "- {name: a, replicas: 2, " POD_OF("initContainers: [{name: i}], containers: [{name: c, resources: {limits: "      \
                                       "{nvidia.com/gpu: 8}}}]") "}\n"
#define VARS(rank) "MASTER_ADDR=j-a-0.j MASTER_PORT=29500 NODE_RANK=" rank " DS_HOSTFILE=/job/hostfile"

static const struct plugin_case ds_cases[] = {
    { "first", DS(""), GPU_TASK, "a/0 env:0", "", VARS("0") },
    { "second", DS(""), GPU_TASK, "a/1 env:0", "", VARS("1") },
    { "init containers too", DS(""), GPU_TASK, "a/1 init:0", "", VARS("1") },
    { "second task", DS(""), GPU_TASK TASK("b", "1"), "b/0 env:0", "", VARS("2") },
    { "not listed", DS("--tasks=a"), GPU_TASK TASK("b", "1"), "b/0 env:0", "", "" },
    { "not listed: no mount", DS("--tasks=a, --ssh=false"), GPU_TASK TASK("b", "1"), "b/0",
      "spec.containers[0].volumeMounts", "[{\"name\":\"j-svc\",\"mountPath\":\"/etc/volcano\"}]" },
    { "host file", DS(""), GPU_TASK TASK("b", "1"), "file:deepspeed.hostfile", "",
      "j-a-0.j slots=8\nj-a-1.j slots=8\nj-b-0.j slots=1\n" },
    { "host file: slots", DS("--slots=2, --tasks=a"), GPU_TASK TASK("b", "1"), "file:deepspeed.hostfile", "",
      "j-a-0.j slots=2\nj-a-1.j slots=2\n" },
    { "host file is mounted", DS("--ssh=false"), GPU_TASK, "a/0", "spec.containers[0].volumeMounts",
      "[{\"name\":\"j-svc\",\"mountPath\":\"/etc/volcano\"},{\"name\":\"j-svc\",\"mountPath\":\"/job/hostfile\","
      "\"subPath\":\"deepspeed.hostfile\"}]" },
    { "port of the master", DS("--port=7"), GPU_TASK, "a/0", "spec.containers[0].ports",
      "[{\"name\":\"deepspeed\",\"containerPort\":7}]" },
    { "and of no other", DS("--port=7"), GPU_TASK, "a/1", "spec.containers[0].ports", NULL },
    { "ssh", DS(""), GPU_TASK, "a/0", "spec.volumes[1].name", "j-ssh" },
    { "no ssh", DS("--ssh=false"), GPU_TASK, "a/0", "spec.volumes[1].name", NULL },
    { "beside mpi", QUIET_SVC ", deepspeed: [--tasks=w], mpi: [--master=m, --worker=w]", TASK("m", "1") TASK("w", "1"),
      "file:hostfile", "", "j-w-0.j slots=1\n" },
    { "beside pytorch: its address stays", QUIET_SVC ", deepspeed: [], pytorch: [--master=, --worker=a]", GPU_TASK,
      "a/1 env:0", "",
      "MASTER_ADDR=j-a-0.j MASTER_PORT=23456 WORLD_SIZE=2 RANK=1 NODE_RANK=1 DS_HOSTFILE=/job/hostfile" },
    { "user's variable wins", DS(""),
      "- {name: a, replicas: 1, " POD_OF("containers: [{name: c, env: [{name: MASTER_ADDR, value: x}]}]") "}\n",
      "a/0 env:0", "", "MASTER_ADDR=x MASTER_PORT=29500 NODE_RANK=0 DS_HOSTFILE=/job/hostfile" },
    { "unless overridden", DS("--override"),
      "- {name: a, replicas: 1, " POD_OF("containers: [{name: c, env: [{name: MASTER_ADDR, value: x}]}]") "}\n",
      "a/0 env:0", "", VARS("0") },
    { "unknown task", DS("--tasks=z"), GPU_TASK, "error", "", "~argument tasks: task \"z\" does not exist" },
    { "bad slots", DS("--slots=many"), GPU_TASK, "error", "", "~argument slots" },
};

static void test_ds(void **state)
{
    RUN_CASES(ds_cases);
}

static void test_ds_odd_jobs(void **state)
{
    fixture_survives(DS(""));
    fixture_survives(DS("--tasks=worker, --ssh=false"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_ds), cmocka_unit_test(test_ds_odd_jobs) };

    return cmocka_run_group_tests_name("plugin/deepspeed", tests, NULL, NULL);
}
