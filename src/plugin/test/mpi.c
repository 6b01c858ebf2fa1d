/* mpi.c - tests of host lists, host file and launcher variables */
#include "plugin/test/fixture.h"

#include <sys/stat.h>
#include <sys/wait.h>

#define ON_HOST                                                                                                        \
    "- {name: master, replicas: 1, " POD_OF(                                                                           \
        "hostNetwork: true, initContainers: [{name: i}], containers: [{name: c}, {name: d}]") "}\n"
#define MPI(args) QUIET_SVC ", mpi: [" args "]"
#define ONE_TWO   TASK("master", "1") TASK("worker", "2")
#define HOSTS     "MPI_HOST=j-worker-0.j,j-worker-1.j"
#define GPU_WORKERS                                                                                                    \
    TASK("master", "1")                                                                                                \
    "- {name: worker, replicas: 2, " POD_OF("containers: [{name: c, resources: {limits: {nvidia.com/gpu: 4}}}]") "}\n"
#define PORT "[{\"name\":\"mpijob-port\",\"containerPort\":22}]"
#define OMPI(n)                                                                                                        \
    "OMPI_MCA_orte_default_hostfile=/etc/volcano/hostfile OMPI_MCA_orte_keep_fqdn_hostnames=true "                     \
    "OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10 OMPI_MCA_orte_set_default_slots=" n " OMPI_ALLOW_RUN_AS_ROOT=1 "   \
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
#define PRTE(n)                                                                                                        \
    "PRTE_MCA_prte_default_hostfile=/etc/volcano/hostfile PRTE_MCA_prte_keep_fqdn_hostnames=true "                     \
    "PRTE_MCA_plm_ssh_args=-o ConnectionAttempts=10 PRTE_MCA_prte_set_default_slots=" n " PRTE_ALLOW_RUN_AS_ROOT=1 "   \
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1"
#define APART                                                                                                          \
    "{\"labelSelector\":{\"matchLabels\":{\"volcano.sh/job-name\":\"j\",\"volcano.sh/job-namespace\":\"ns\"}},"        \
    "\"topologyKey\":\"kubernetes.io/hostname\"}"
#define TERMS "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"

static const struct plugin_case mpi_cases[] = {
    { "master", MPI(""), ONE_TWO, "master/0 env:0", "", HOSTS },
    { "master's init container", MPI(""),
      "- {name: master, replicas: 1, " POD_OF("initContainers: [{name: i}], containers: [{name: c}]") "}\n" TASK(
          "worker", "2"),
      "master/0 init:0", "", HOSTS },
    { "worker", MPI(""), ONE_TWO, "worker/1 env:0", "", "" },
    { "names", MPI("--master=a, --worker=b"), TASK("a", "1") TASK("b", "1"), "a/0 env:0", "", "MPI_HOST=j-b-0.j" },
    { "no workers: empty", MPI(""), TASK("master", "1") TASK("worker", "0"), "master/0 env:0", "", "MPI_HOST=" },
    { "no worker task: none", MPI(""), TASK("master", "1"), "master/0 env:0", "", "" },
    { "no worker task: the port", MPI(""), TASK("master", "1"), "master/0", "spec.containers[0].ports", PORT },
    { "hostname of the template: once", MPI(""),
      TASK("master", "1") "- {name: worker, replicas: 3, " POD_OF("hostname: h, containers: [{name: c}]") "}\n",
      "master/0 env:0", "", "MPI_HOST=h.j" },
    { "port", MPI(""), ONE_TWO TASK("x", "1"), "x/0", "spec.containers[0].ports", PORT },
    { "port of init containers", MPI(""),
      "- {name: master, replicas: 1, " POD_OF("initContainers: [{name: i}], containers: [{name: c}]") "}\n", "master/0",
      "spec.initContainers[0].ports", PORT },
    { "port declared", MPI(""),
      "- {name: master, replicas: 1, " POD_OF(
          "containers: [{name: c, ports: [{name: sshd, containerPort: 22}]}]") "}\n",
      "master/0", "spec.containers[0].ports", "[{\"name\":\"sshd\",\"containerPort\":22}]" },
    { "port by number", MPI("--port=2222"), ONE_TWO, "worker/0", "spec.containers[0].ports",
      "[{\"name\":\"mpijob-port\",\"containerPort\":2222}]" },
    { "hostNetwork: the port once among main containers", MPI("--port=2222"), ON_HOST, "master/0",
      "spec.containers[1].ports", NULL },
    { "hostNetwork: init containers by themselves", MPI("--port=2222"), ON_HOST, "master/0",
      "spec.initContainers[0].ports", "[{\"name\":\"mpijob-port\",\"containerPort\":2222}]" },
    { "the template's MPI_HOST is replaced", MPI(""),
      "- {name: master, replicas: 1, " POD_OF("containers: [{name: c, env: [{name: MPI_HOST, value: x}]}]") "}\n" TASK(
          "worker", "2"),
      "master/0 env:0", "", HOSTS },
    { "or kept", MPI("--keep-user-env"),
      "- {name: master, replicas: 1, " POD_OF("containers: [{name: c, env: [{name: MPI_HOST, value: x}]}]") "}\n" TASK(
          "worker", "2"),
      "master/0 env:0", "", "MPI_HOST=x" },
    { "forces ssh", MPI(""), ONE_TWO, "master/0", "spec.volumes[1].name", "j-ssh" },
    /* files */
    { "host file", MPI(""), ONE_TWO, "file:hostfile", "", "j-worker-0.j slots=1\nj-worker-1.j slots=1\n" },
    { "host file: accelerators", MPI(""), GPU_WORKERS, "file:hostfile", "",
      "j-worker-0.j slots=4\nj-worker-1.j slots=4\n" },
    { "host file: slots", MPI("--slots=2"), GPU_WORKERS, "file:hostfile", "",
      "j-worker-0.j slots=2\nj-worker-1.j slots=2\n" },
    { "host file: intel", MPI("--impl=intel"), GPU_WORKERS, "file:hostfile", "", "j-worker-0.j:4\nj-worker-1.j:4\n" },
    { "host file: mpich", MPI("--impl=mpich"), ONE_TWO, "file:hostfile", "", "j-worker-0.j:1\nj-worker-1.j:1\n" },
    { "host file: launcher too", MPI("--launcher-as-worker"), GPU_WORKERS, "file:hostfile", "",
      "j-master-0.j slots=1\nj-worker-0.j slots=4\nj-worker-1.j slots=4\n" },
    { "MPI_HOST: launcher too", MPI("--launcher-as-worker"), ONE_TWO, "master/0 env:0", "",
      "MPI_HOST=j-master-0.j,j-worker-0.j,j-worker-1.j" },
    { "launcher alone", MPI("--launcher-as-worker"), TASK("master", "1"), "master/0 env:0", "",
      "MPI_HOST=j-master-0.j" },
    { "host file: no workers", MPI(""), TASK("master", "1"), "file:hostfile", "", "" },
    { "discovery reads the live file", MPI(""), TASK("master", "1") TASK("a-b", "1"), "file:discover_hosts.sh", "",
      "~#!/bin/sh\n" },
    { "discovery: file name", MPI("--worker=a-b"), TASK("master", "1") TASK("a-b", "1"), "file:discover_hosts.sh", "",
      "~list 'a_b.host' 1\n" },
    { "both are in the ConfigMap", MPI(""), ONE_TWO, "object:ConfigMap/j-svc", "data.hostfile",
      "j-worker-0.j slots=1\nj-worker-1.j slots=1\n" },
    /* launcher variables */
    { "openmpi", MPI("--impl=openmpi"), GPU_WORKERS, "master/0 env:0", "", HOSTS " " OMPI("4") },
    { "openmpi5", MPI("--impl=openmpi5"), GPU_WORKERS, "master/0 env:0", "", HOSTS " " OMPI("4") " " PRTE("4") },
    { "intel", MPI("--impl=intel, --hostfile=/h"), GPU_WORKERS, "master/0 env:0", "",
      HOSTS
      " I_MPI_HYDRA_HOST_FILE=/h I_MPI_PERHOST=4 I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS=-o ConnectionAttempts=10" },
    { "mpich", MPI("--impl=mpich"), ONE_TWO, "master/0 env:0", "",
      HOSTS " HYDRA_HOST_FILE=/etc/volcano/hostfile HYDRA_LAUNCHER_EXTRA_ARGS=-o ConnectionAttempts=10" },
    { "slots alone bring them", MPI("--slots=3"), ONE_TWO, "master/0 env:0", "", HOSTS " " OMPI("3") },
    { "workers have none", MPI("--slots=3"), ONE_TWO, "worker/0 env:0", "", "" },
    { "user's launcher variable wins", MPI("--impl=mpich"),
      "- {name: master, replicas: 1, " POD_OF(
          "containers: [{name: c, env: [{name: HYDRA_HOST_FILE, value: x}]}]") "}\n" TASK("worker", "2"),
      "master/0 env:0", "", "HYDRA_HOST_FILE=x " HOSTS " HYDRA_LAUNCHER_EXTRA_ARGS=-o ConnectionAttempts=10" },
    { "unless overridden", MPI("--impl=mpich, --override"),
      "- {name: master, replicas: 1, " POD_OF(
          "containers: [{name: c, env: [{name: HYDRA_HOST_FILE, value: x}]}]") "}\n" TASK("worker", "2"),
      "master/0 env:0", "",
      "HYDRA_HOST_FILE=/etc/volcano/hostfile " HOSTS " HYDRA_LAUNCHER_EXTRA_ARGS=-o ConnectionAttempts=10" },
    { "MPI_HOST too long: the host file", MPI(""), TASK("master", "1") TASK("worker", "8000"), "master/0 env:0", "",
      OMPI("1") },
    { "and a warning", MPI(""), TASK("master", "1") TASK("worker", "8000"), "warning", "", "~MPI_HOST is left out" },
    { "MPI_HOST just fits", MPI(""), TASK("master", "1") TASK("worker", "5000"), "warning", "", NULL },
    /* waiting, placing */
    { "no waiting by default", MPI(""), ONE_TWO, "master/0", "spec.initContainers", NULL },
    { "waiting", MPI("--wait-workers, --wait-timeout=9"), ONE_TWO, "master/0", "spec.initContainers[0].name",
      "wait-for-workers" },
    { "waiting: script", MPI("--wait-workers, --wait-timeout=9"), ONE_TWO, "master/0",
      "spec.initContainers[0].command[2]", "~probe=tcp port=22 limit=9 min=0\n" },
    { "waiting: files", MPI("--wait-workers"), ONE_TWO, "master/0", "spec.initContainers[0].command[2]",
      "~files='worker.host'\n" },
    { "waiting: mount", MPI("--wait-workers"), ONE_TWO, "master/0", "spec.initContainers[0].volumeMounts",
      "[{\"name\":\"j-svc\",\"mountPath\":\"/etc/volcano\"}]" },
    { "waiting: image", MPI("--wait-workers"), ONE_TWO, "master/0", "spec.initContainers[0].image", "i" },
    { "workers do not wait", MPI("--wait-workers"), ONE_TWO, "worker/0", "spec.initContainers", NULL },
    { "nobody to wait for", MPI("--wait-workers"), TASK("master", "1"), "master/0", "spec.initContainers", NULL },
    { "exclusive nodes", MPI("--exclusive-nodes"), ONE_TWO, "worker/0", TERMS, "[" APART "]" },
    { "exclusive nodes, after the user's", MPI("--exclusive-nodes"),
      "- {name: master, replicas: 1, " POD_OF(
          "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution"
          ": [{topologyKey: z}]}}, containers: [{name: c}]") "}\n",
      "master/0", TERMS, "[{\"topologyKey\":\"z\"}," APART "]" },
    { "not by default", MPI(""), ONE_TWO, "worker/0", "spec.affinity", NULL },
    /* admission */
    { "master missing", MPI("--master=captain"), ONE_TWO, "error", "", "The specified mpi master task was not found" },
    { "bad impl", MPI("--impl=lam"), ONE_TWO, "error", "", "~lam" },
    { "bad slots", MPI("--slots=-1"), ONE_TWO, "error", "", "~argument slots: bad value \"-1\"" },
    { "bad hostfile", MPI("--hostfile=x"), ONE_TWO, "error", "", "~absolute path" },
    { "hostNetwork and port 22", MPI(""),
      "- {name: master, replicas: 1, " POD_OF("hostNetwork: true, containers: [{name: c}]") "}\n", "warning", "",
      "~port 22 is usually taken" },
    { "hostNetwork and another port", MPI("--port=2222"),
      "- {name: master, replicas: 1, " POD_OF("hostNetwork: true, containers: [{name: c}]") "}\n", "warning", "",
      NULL },
};

static void test_mpi(void **state)
{
    RUN_CASES(mpi_cases);
}

static void test_mpi_odd_jobs(void **state)
{
    fixture_survives(MPI(""));
    fixture_survives(MPI("--impl=openmpi5, --launcher-as-worker, --wait-workers, --exclusive-nodes"));
    fixture_survives(MPI("--master=worker"));
}

static void write_file(const char *dir, const char *name, struct str text)
{
    autoarena a = { 0 };
    FILE *f = fopen(arena_fmt(&a, "%s/%s", dir, name).p, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(text.p, 1, text.n, f), text.n);
    assert_int_equal(fclose(f), 0);
}

/* Run the script for real: it reads the files that lie beside it, with and without a newline at the end. */
static void test_mpi_discover(void **state)
{
    static const struct {
        const char *hosts, *want;
    } cases[] = {
        { "a.j\nb.j", "j-master-0.j:1\na.j:4\nb.j:4\n" },
        { "a.j\nb.j\n", "j-master-0.j:1\na.j:4\nb.j:4\n" },
        { "", "j-master-0.j:1\n" },
    };
    char dir[] = P_tmpdir "/pumice-mpi-XXXXXX";
    struct plugin_file script;
    struct fixture f;

    assert_non_null(mkdtemp(dir));
    fixture_open(&f, MPI("--launcher-as-worker"), GPU_WORKERS);
    assert_true(fixture_file(&f, STR("discover_hosts.sh"), &script));
    assert_false(script.is_executable); /* a plain mpi job keeps upstream's file modes */
    write_file(dir, "discover_hosts.sh", script.text);
    write_file(dir, "master.host", STR("j-master-0.j"));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char out[200] = { 0 };
        FILE *p;

        write_file(dir, "worker.host", str_of(cases[i].hosts));
        p = popen(arena_fmt(&f.arena, "sh %s/discover_hosts.sh", dir).p, "r");
        assert_non_null(p);
        (void)!fread(out, 1, sizeof(out) - 1, p);
        assert_int_equal(pclose(p), 0);
        assert_string_equal(out, cases[i].want);
    }
    assert_int_equal(system(arena_fmt(&f.arena, "rm -r %s", dir).p), 0);
    fixture_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mpi),
        cmocka_unit_test(test_mpi_odd_jobs),
        cmocka_unit_test(test_mpi_discover),
    };

    return cmocka_run_group_tests_name("plugin/mpi", tests, NULL, NULL);
}
