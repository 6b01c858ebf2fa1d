/* pytorch.c - tests of master address, ranks and torchrun */
#include "plugin/test/fixture.h"

#define TORCH(args) QUIET_SVC ", pytorch: [" args "]"
#define ONE_THREE   TASK("master", "1") TASK("worker", "3")
#define BASE(n)     "MASTER_ADDR=j-master-0.j MASTER_PORT=23456 WORLD_SIZE=" n
#define GPUS        "resources: {limits: {nvidia.com/gpu: 8, cpu: 4}}"
#define GPU_TASKS                                                                                                      \
    "- {name: master, replicas: 1, " POD_OF(                                                                           \
        "initContainers: [{name: i}], containers: [{name: c, " GPUS                                                    \
        "}]") "}\n"                                                                                                    \
              "- {name: worker, replicas: 2, " POD_OF("containers: [{name: c, " GPUS "}, {name: d}]") "}\n"

static const struct plugin_case torch_cases[] = {
    { "master", TORCH(""), ONE_THREE, "master/0 env:0", "", BASE("4") " RANK=0" },
    { "worker", TORCH(""), ONE_THREE, "worker/2 env:0", "", BASE("4") " RANK=3" },
    { "another task has no rank and does not count", TORCH(""), ONE_THREE TASK("x", "5"), "x/1 env:0", "", BASE("4") },
    { "no worker task", TORCH(""), TASK("master", "1"), "master/0 env:0", "", BASE("1") " RANK=0" },
    { "no workers", TORCH(""), TASK("master", "1") TASK("worker", "0"), "master/0 env:0", "", BASE("1") " RANK=0" },
    { "several masters", TORCH(""), TASK("master", "2") TASK("worker", "2"), "master/1 env:0", "",
      BASE("4") " RANK=1" },
    { "workers after several masters", TORCH(""), TASK("master", "2") TASK("worker", "2"), "worker/0 env:0", "",
      BASE("4") " RANK=2" },
    { "names and port", TORCH("--master=a, --worker=b, --port=99"), TASK("a", "1") TASK("b", "1"), "b/0 env:0", "",
      "MASTER_ADDR=j-a-0.j MASTER_PORT=99 WORLD_SIZE=2 RANK=1" },
    { "port is opened", TORCH(""), ONE_THREE, "worker/0", "spec.containers[0].ports",
      "[{\"name\":\"pytorchjob-port\",\"containerPort\":23456}]" },
    { "a declared port stays", TORCH("--port=80"),
      "- {name: master, replicas: 1, " POD_OF("containers: [{name: c, ports: [{containerPort: 80}]}]") "}\n",
      "master/0", "spec.containers[0].ports", "[{\"containerPort\":80}]" },
    { "no init container", TORCH(""),
      "- {name: master, replicas: 1, " POD_OF("initContainers: [{name: i}], containers: [{name: c}]") "}\n",
      "master/0 init:0", "", "" },
    { "second container", TORCH(""),
      "- {name: master, replicas: 1, " POD_OF("containers: [{name: c}, {name: d}]") "}\n", "master/0 env:1", "",
      BASE("1") " RANK=0" },
    { "hostNetwork: the port once", TORCH(""),
      "- {name: master, replicas: 1, " POD_OF("hostNetwork: true, containers: [{name: c}, {name: d}]") "}\n",
      "master/0", "spec.containers[1].ports", NULL },
    { "the template's variables are replaced", TORCH(""),
      "- {name: master, replicas: 1, " POD_OF("containers: [{name: c, env: [{name: RANK, value: '9'}]}]") "}\n",
      "master/0 env:0", "", "RANK=0 " BASE("1") },
    { "or kept", TORCH("--keep-user-env"),
      "- {name: master, replicas: 1, " POD_OF("containers: [{name: c, env: [{name: RANK, value: '9'}]}]") "}\n",
      "master/0 env:0", "", "RANK=9 " BASE("1") },
    { "template hostname", TORCH(""),
      "- {name: master, replicas: 1, " POD_OF("hostname: h, subdomain: s, containers: [{name: c}]") "}\n",
      "master/0 env:0", "", "MASTER_ADDR=h.s MASTER_PORT=23456 WORLD_SIZE=1 RANK=0" },
    { "no master task: nothing", TORCH(""), TASK("worker", "2"), "worker/0 env:0", "", "" },
    { "and no port", TORCH(""), TASK("worker", "2"), "worker/0", "spec.containers[0].ports", NULL },
    { "but a warning", TORCH(""), TASK("worker", "2"), "warning", "", "~there is no task master for the master" },
    { "empty master: worker 0", TORCH("--master="), TASK("worker", "2"), "worker/1 env:0", "",
      "MASTER_ADDR=j-worker-0.j MASTER_PORT=23456 WORLD_SIZE=2 RANK=1" },
    { "empty master, rank 0", TORCH("--master="), TASK("worker", "2"), "worker/0 env:0", "",
      "MASTER_ADDR=j-worker-0.j MASTER_PORT=23456 WORLD_SIZE=2 RANK=0" },
    { "empty master, no worker", TORCH("--master="), TASK("x", "2"), "warning", "", "~there is no task worker" },
    { "master without pods", TORCH(""), TASK("master", "0") TASK("worker", "1"), "warning", "", "~has no pods" },
    { "one task, two roles", TORCH("--worker=master"), TASK("master", "2"), "error", "", "~two roles" },
    /* waiting */
    { "no waiting by default", TORCH(""), ONE_THREE, "worker/0", "spec.initContainers", NULL },
    { "the master does not wait", TORCH("--wait-master-enabled"), ONE_THREE, "master/0", "spec.initContainers", NULL },
    { "workers wait", TORCH("--wait-master-enabled"), ONE_THREE, "worker/0", "spec.initContainers[0].name",
      "wait-for-master" },
    { "image", TORCH("--wait-master-enabled"), ONE_THREE, "worker/0", "spec.initContainers[0].image",
      "busybox:1.36.1" },
    { "image given", TORCH("--wait-master-enabled, --wait-master-image=r/x:1"), ONE_THREE, "worker/0",
      "spec.initContainers[0].image", "r/x:1" },
    { "image of the pod", TORCH("--wait-master-enabled, --wait-master-image=pod"),
      TASK("master", "1") "- {name: worker, replicas: 1, " POD_OF("containers: [{name: c, image: own, imagePullPolicy: "
                                                                  "Never, " GPUS
                                                                  ", securityContext: {runAsUser: 7}}]") "}\n",
      "worker/0", "spec.initContainers[0]",
      "~\"image\":\"own\",\"imagePullPolicy\":\"Never\",\"command\":[\"sh\",\"-c\"" },
    { "and its resources", TORCH("--wait-master-enabled, --wait-master-image=pod"),
      TASK("master", "1") "- {name: worker, replicas: 1, " POD_OF("containers: [{name: c, image: own, " GPUS
                                                                  ", securityContext: {runAsUser: 7}}]") "}\n",
      "worker/0", "spec.initContainers[0]",
      "~\"resources\":{\"limits\":{\"nvidia.com/gpu\":8,\"cpu\":4}},\"securityContext\":{\"runAsUser\":7}}" },
    { "after the user's", TORCH("--wait-master-enabled"),
      TASK("master",
           "1") "- {name: worker, replicas: 1, " POD_OF("initContainers: [{name: i}], containers: [{name: c}]") "}\n",
      "worker/0", "spec.initContainers[1].name", "wait-for-master" },
    { "one of that name is enough", TORCH("--wait-master-enabled"),
      TASK("master",
           "1") "- {name: worker, replicas: 1, " POD_OF("initContainers: [{name: wait-for-master, image: x}], "
                                                        "containers: [{name: c}]") "}\n",
      "worker/0", "spec.initContainers[0].image", "x" },
    { "no env of its own", TORCH("--wait-master-enabled, --torchrun"), ONE_THREE, "worker/0 init:0", "", "" },
    { "script: host", TORCH("--wait-master-enabled, --wait-master-timeout=77"), ONE_THREE, "worker/0",
      "spec.initContainers[0].command[2]", "~hosts='j-master-0.j'" },
    { "script: port and limit", TORCH("--wait-master-enabled, --wait-master-timeout=77"), ONE_THREE, "worker/0",
      "spec.initContainers[0].command[2]", "~port=23456 limit=77 " },
    { "worker 0 as master does not wait", TORCH("--master=, --wait-master-enabled"), TASK("worker", "2"), "worker/0",
      "spec.initContainers", NULL },
    { "worker 1 does", TORCH("--master=, --wait-master-enabled"), TASK("worker", "2"), "worker/1",
      "spec.initContainers[0].name", "wait-for-master" },
    { "bad timeout", TORCH("--wait-master-timeout=-1"), ONE_THREE, "error", "", "~argument wait-master-timeout" },
    /* torchrun */
    { "torchrun", TORCH("--torchrun"), GPU_TASKS, "worker/1 env:0", "",
      BASE("3") " RANK=2 PET_NNODES=3 NNODES=3 PET_NODE_RANK=2 NODE_RANK=2 PET_MASTER_ADDR=j-master-0.j "
                "PET_MASTER_PORT=23456 PET_NPROC_PER_NODE=8 NPROC_PER_NODE=8" },
    { "torchrun: init containers too", TORCH("--torchrun, --expose-node-rank=false"), GPU_TASKS, "master/0 init:0", "",
      "PET_NNODES=3 PET_NODE_RANK=0 PET_MASTER_ADDR=j-master-0.j PET_MASTER_PORT=23456 PET_NPROC_PER_NODE=8" },
    { "torchrun: others have no node rank", TORCH("--torchrun"), GPU_TASKS TASK("x", "1"), "x/0 env:0", "", BASE("3") },
    { "torchrun without accelerators", TORCH("--torchrun, --expose-node-rank=false"), TASK("master", "1"),
      "master/0 env:0", "",
      BASE("1") " RANK=0 PET_NNODES=1 PET_NODE_RANK=0 PET_MASTER_ADDR=j-master-0.j PET_MASTER_PORT=23456 "
                "PET_NPROC_PER_NODE=1" },
    { "user's PET wins", TORCH("--nproc-per-node=4, --expose-node-rank=false"),
      "- {name: master, replicas: 1, " POD_OF(
          "containers: [{name: c, env: [{name: PET_NPROC_PER_NODE, value: '2'}]}]") "}\n",
      "master/0 env:0", "", "PET_NPROC_PER_NODE=2 " BASE("1") " RANK=0" },
    { "unless overridden", TORCH("--nproc-per-node=4, --override, --expose-node-rank=false"),
      "- {name: master, replicas: 1, " POD_OF(
          "containers: [{name: c, env: [{name: PET_NPROC_PER_NODE, value: '2'}]}]") "}\n",
      "master/0 env:0", "", "PET_NPROC_PER_NODE=4 " BASE("1") " RANK=0" },
    { "elastic", TORCH("--elastic=1:3, --max-restarts=5"), GPU_TASKS, "worker/0 env:0", "",
      "MASTER_ADDR=j-master-0.j MASTER_PORT=23456 PET_NNODES=1:3 PET_RDZV_BACKEND=c10d "
      "PET_RDZV_ENDPOINT=j-master-0.j:29400 PET_RDZV_ID=u-1 PET_NPROC_PER_NODE=8 NPROC_PER_NODE=8 PET_MAX_RESTARTS=5" },
    { "elastic wins over torchrun", TORCH("--elastic=1:3, --torchrun, --nproc-per-node=2, --rdzv-port=7"), GPU_TASKS,
      "worker/0 env:0", "",
      "MASTER_ADDR=j-master-0.j MASTER_PORT=23456 PET_NNODES=1:3 PET_RDZV_BACKEND=c10d "
      "PET_RDZV_ENDPOINT=j-master-0.j:7 PET_RDZV_ID=u-1 PET_NPROC_PER_NODE=2 NPROC_PER_NODE=2" },
    { "rendezvous port", TORCH("--elastic=1:3"), GPU_TASKS, "worker/0", "spec.containers[0].ports",
      "[{\"name\":\"pytorchjob-port\",\"containerPort\":23456},{\"name\":\"torch-rdzv\",\"containerPort\":29400}]" },
    { "rendezvous port only once", TORCH("--elastic=1:3"), GPU_TASKS, "worker/0", "spec.containers[1].ports",
      "[{\"name\":\"pytorchjob-port\",\"containerPort\":23456}]" },
    { "elastic: bad", TORCH("--elastic=3"), ONE_THREE, "error", "", "~argument elastic: bad value \"3\"" },
    { "elastic: reversed", TORCH("'--elastic=3:1'"), ONE_THREE, "error", "", "~argument elastic" },
    { "elastic: empty end", TORCH("'--elastic=3:'"), ONE_THREE, "error", "", "~argument elastic" },
    { "elastic: never enough", TORCH("'--elastic=9:10'"), ONE_THREE, "warning", "", "~at least 9 nodes" },
    { "nproc: bad", TORCH("--nproc-per-node=0"), ONE_THREE, "error", "", "~argument nproc-per-node" },
    { "nproc: bad word", TORCH("--nproc-per-node=all"), ONE_THREE, "error", "", "~argument nproc-per-node" },
    { "restarts: bad", TORCH("--max-restarts=-2"), ONE_THREE, "error", "", "~argument max-restarts" },
    { "good words", TORCH("--nproc-per-node=auto, '--elastic=1:4'"), ONE_THREE, "error", "", NULL },
};

static void test_torch(void **state)
{
    RUN_CASES(torch_cases);
}

static void test_torch_odd_jobs(void **state)
{
    fixture_survives(TORCH(""));
    fixture_survives(TORCH("--master=, --wait-master-enabled, --torchrun"));
    fixture_survives(TORCH("--wait-master-enabled, --wait-master-image=pod, '--elastic=1:9'"));
}

/* WORLD_SIZE is the number of ranks, and each rank is there once. */
static void test_torch_ranks(void **state)
{
    for (unsigned m = 1; m < 4; m++)
        for (unsigned w = 0; w < 4; w++) {
            autoarena a = { 0 };
            struct fixture f;
            unsigned seen = 0;

            fixture_open(&f, TORCH(""),
                         arena_fmt(&a, "%s%s", fixture_big_task(&a, "master", m), fixture_big_task(&a, "worker", w)).p);
            for (unsigned i = 0; i < m + w; i++) {
                struct str place = arena_fmt(&a, "%s/%u env:0", i < m ? "master" : "worker", i < m ? i : i - m);
                struct str text = fixture_get(&f, place.p, "");

                for (unsigned r = 0; r < m + w; r++)
                    if (str_ends(text, arena_fmt(&a, "WORLD_SIZE=%u RANK=%u", m + w, r)))
                        seen |= 1u << r;
            }
            assert_int_equal(seen, (1u << (m + w)) - 1);
            fixture_done(&f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_torch),
        cmocka_unit_test(test_torch_odd_jobs),
        cmocka_unit_test(test_torch_ranks),
    };

    return cmocka_run_group_tests_name("plugin/pytorch", tests, NULL, NULL);
}
