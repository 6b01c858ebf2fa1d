/* ray.c - tests of the commands, the Service and the policy of a Ray cluster */
#include "plugin/test/shell.h"

#define RAY(args) QUIET_SVC ", ray: [" args "]"
#define RAY_TASK(name, n, more)                                                                                        \
    "- {name: " name ", replicas: " n ", " POD_OF("containers: [{name: " name ", image: i" more "}]") "}\n"
#define CLUSTER RAY_TASK("head", "1", "") RAY_TASK("worker", "2", "")
#define DRIVER                                                                                                         \
    RAY_TASK("head", "1", ", command: [python, 'a b.py'], args: ['it''s']")                                            \
    RAY_TASK("worker", "2", "")

#define RAY_OTHER(more) "- {name: head, replicas: 1, " POD_OF("containers: [{name: main, image: i, " more "}]") "}\n"

#define OWN_COMMAND RAY_OTHER("command: [python]")
#define GPUS        ", resources: {limits: {nvidia.com/gpu: 8, nvidia.com/gpumem: 3}}"

#define HEAD_PORTS " --dashboard-host=0.0.0.0 --port=6379 --dashboard-port=8265 --ray-client-server-port=10001"

#define HEAD_START           "ray start --head --block" HEAD_PORTS
#define WORKER_START         "ray start --block --address=j-head-0.j:6379"
#define COMMAND              "spec.containers[0].command"
#define SERVICE              "object:Service/j-head-svc"
#define POLICY               "object:NetworkPolicy/j-head-svc"
#define PORT_OF(name, n, to) "{\"name\":\"" name "\",\"protocol\":\"TCP\",\"port\":" n ",\"targetPort\":" to "}"

static const struct plugin_case ray_cases[] = {
    { "head", RAY(""), CLUSTER, "head/0", COMMAND, "[\"sh\",\"-c\",\"" HEAD_START "\"]" },
    { "worker", RAY(""), CLUSTER, "worker/1", COMMAND, "[\"sh\",\"-c\",\"" WORKER_START "\"]" },
    { "no variable in mode start", RAY(""), CLUSTER, "worker/1 env:0", "", "" },
    { "head ports", RAY(""), CLUSTER, "head/0", "spec.containers[0].ports",
      "[{\"name\":\"gcs\",\"containerPort\":6379},{\"name\":\"dashboard\",\"containerPort\":8265},{\"name\":"
      "\"client-server\",\"containerPort\":10001}]" },
    { "worker ports", RAY(""), CLUSTER, "worker/0", "spec.containers[0].ports", NULL },
    { "args stay", RAY(""), DRIVER, "head/0", "spec.containers[0].args", "[\"it's\"]" },
    { "another task", RAY(""), CLUSTER TASK("x", "1"), "x/0", COMMAND, NULL },
    { "names and ports",
      RAY("--head=a, --worker=b, --headContainer=a, --workerContainer=b, --port=1, --dashboardPort=2, --clientPort=3"),
      RAY_TASK("a", "1", "") RAY_TASK("b", "1", ""), "a/0", COMMAND "[2]",
      "ray start --head --block --dashboard-host=0.0.0.0 --port=1 --dashboard-port=2 --ray-client-server-port=3" },
    { "clientServerPort", RAY("--clientServerPort=3"), CLUSTER, "head/0", "spec.containers[0].ports[2].containerPort",
      "3" },
    { "the named container of several", RAY(""),
      "- {name: head, replicas: 1, " POD_OF("containers: [{name: side}, {name: head}]") "}\n", "head/0",
      "spec.containers[1].command[2]", HEAD_START },
    { "not the others", RAY(""),
      "- {name: head, replicas: 1, " POD_OF("containers: [{name: side}, {name: head}]") "}\n", "head/0",
      "spec.containers[0].command", NULL },
    { "a single container of another name", RAY(""), TASK("head", "1"), "head/0", COMMAND "[2]", HEAD_START },
    { "no such container: nothing", RAY(""),
      "- {name: head, replicas: 1, " POD_OF("containers: [{name: a}, {name: b}]") "}\n", "head/0",
      "spec.containers[0].command", NULL },
    { "and a warning", RAY(""), "- {name: head, replicas: 1, " POD_OF("containers: [{name: a}, {name: b}]") "}\n",
      "warning", "", "~task head has no container head" },
    { "a single container with a command of its own", RAY(""), OWN_COMMAND, "head/0", COMMAND, "[\"python\"]" },
    { "is left alone with a word", RAY(""), OWN_COMMAND, "warning", "",
      "~--headContainer=main starts Ray in its place" },
    { "args are a command too", RAY(""), RAY_OTHER("args: [x]"), "head/0", COMMAND, NULL },
    { "prefix keeps the command, so it is taken", RAY("--mode=prefix"), OWN_COMMAND, "head/0", COMMAND "[0]", "sh" },
    /* Service and policy */
    { "service selector", RAY(""), CLUSTER, SERVICE, "spec.selector",
      "{\"volcano.sh/job-name\":\"j\",\"volcano.sh/job-namespace\":\"ns\",\"volcano.sh/task-spec\":\"head\"}" },
    { "service ports", RAY(""), CLUSTER, SERVICE, "spec.ports",
      "[" PORT_OF("gcs", "6379", "\"gcs\"") "," PORT_OF("dashboard", "8265", "\"dashboard\"") "," PORT_OF(
          "client-server", "10001", "\"client-server\"") "]" },
    { "number under another name", RAY(""),
      RAY_TASK("head", "1", ", ports: [{name: redis, containerPort: 6379}, {containerPort: 8265}]"), SERVICE,
      "spec.ports",
      "[" PORT_OF("gcs", "6379", "6379") "," PORT_OF("dashboard", "8265", "8265") "," PORT_OF(
          "client-server", "10001", "\"client-server\"") "]" },
    { "name for another number", RAY(""), RAY_TASK("head", "1", ", ports: [{name: gcs, containerPort: 7}]"), SERVICE,
      "spec.ports[0].targetPort", "6379" },
    { "not headless", RAY(""), CLUSTER, SERVICE, "spec.clusterIP", NULL },
    { "no policy by default", RAY(""), CLUSTER, POLICY, "", NULL },
    { "policy for the namespace", RAY("--expose=namespace"), CLUSTER, POLICY, "spec.ingress",
      "[{\"from\":[{\"podSelector\":{}}],\"ports\":[{\"protocol\":\"TCP\",\"port\":6379},{\"protocol\":\"TCP\","
      "\"port\":"
      "8265},{\"protocol\":\"TCP\",\"port\":10001}]}]" },
    { "policy for the cluster", RAY("--expose=cluster"), CLUSTER, POLICY, "spec.ingress[0].from",
      "[{\"namespaceSelector\":{}}]" },
    { "policy selects the head", RAY("--expose=cluster"), CLUSTER, POLICY,
      "spec.podSelector.matchLabels[volcano.sh/task-spec]", "head" },
    { "no policy where svc makes none", "svc: [--disable-network-policy], ray: [--expose=cluster]", CLUSTER, POLICY, "",
      NULL },
    /* options */
    { "more options", RAY("--head-args=--a --b, --worker-args=--c"), CLUSTER, "head/0", COMMAND "[2]",
      HEAD_START " --a --b" },
    { "more options of workers", RAY("--head-args=--a, --worker-args=--c"), CLUSTER, "worker/0", COMMAND "[2]",
      WORKER_START " --c" },
    { "gpus", RAY("--num-gpus=auto"), RAY_TASK("head", "1", GPUS), "head/0", COMMAND "[2]",
      HEAD_START " --num-gpus=8" },
    { "no gpus", RAY("--num-gpus=auto"), CLUSTER, "head/0", COMMAND "[2]", HEAD_START },
    { "gpus by number", RAY("--num-gpus=0"), RAY_TASK("head", "1", GPUS), "head/0", COMMAND "[2]",
      HEAD_START " --num-gpus=0" },
    { "waiting in mode start", RAY("--wait-head"), CLUSTER, "worker/0", COMMAND "[2]", "~hosts='j-head-0.j'\n" },
    { "then the same command", RAY("--wait-head"), CLUSTER, "worker/0", COMMAND "[2]", "~) || exit 1\n" WORKER_START },
    { "prefix: address in all pods", RAY("--mode=prefix"), DRIVER TASK("x", "1"), "x/0 env:0", "",
      "RAY_ADDRESS=j-head-0.j:6379" },
    { "user's address wins", RAY("--mode=prefix"),
      DRIVER RAY_TASK("x", "1", ", env: [{name: RAY_ADDRESS, value: own}]"), "x/0 env:0", "", "RAY_ADDRESS=own" },
    { "unless overridden", RAY("--mode=prefix, --override"),
      DRIVER RAY_TASK("x", "1", ", env: [{name: RAY_ADDRESS, value: own}]"), "x/0 env:0", "",
      "RAY_ADDRESS=j-head-0.j:6379" },
    { "prefix: command", RAY("--mode=prefix"), DRIVER, "head/0", COMMAND,
      "[\"sh\",\"-c\",\"ray start --head" HEAD_PORTS " && exec \\\"$@\\\"\",\"sh\",\"python\",\"a b.py\"]" },
    { "prefix: worker without waiting", RAY("--mode=prefix, --wait-head=false"), DRIVER, "worker/0", COMMAND,
      "[\"sh\",\"-c\",\"" WORKER_START "\"]" },
    { "symmetric: limit", RAY("--mode=symmetric, --wait-timeout=9"), DRIVER, "worker/0 env:0", "",
      "RAY_ADDRESS=j-head-0.j:6379 RAY_SYMMETRIC_RUN_CLUSTER_WAIT_TIMEOUT=9" },
    /* admission */
    { "no head", RAY("--head=z"), CLUSTER, "error", "", "~job j doesn't have head task z" },
    { "two heads", RAY(""), RAY_TASK("head", "2", ""), "error", "", "~one head" },
    { "one task, two roles", RAY("--worker=head"), CLUSTER, "error", "", "~two roles" },
    { "equal ports", RAY("--port=8265"), CLUSTER, "error", "", "~ports gcs and dashboard are both 8265" },
    { "prefix without a command", RAY("--mode=prefix"), CLUSTER, "error", "",
      "~prefix needs a command in container head" },
    { "prefix with args alone", RAY("--mode=prefix"), RAY_TASK("head", "1", ", args: [x]"), "error", "",
      "~the entrypoint of the image cannot be known" },
    { "submit beside a command", RAY("--mode=prefix, --submit=x"), DRIVER, "error", "", "~argument submit" },
    { "bad mode", RAY("--mode=up"), CLUSTER, "error", "", "~up" },
    { "bad expose", RAY("--expose=world"), CLUSTER, "error", "", "~world" },
    { "bad gpus", RAY("--num-gpus=x"), CLUSTER, "error", "", "~argument num-gpus" },
    { "bad timeout", RAY("--wait-timeout=-1"), CLUSTER, "error", "", "~argument wait-timeout" },
    { "head alone is fine", RAY(""), RAY_TASK("head", "1", ""), "warning", "", NULL },
};

static void test_ray(void **state)
{
    RUN_CASES(ray_cases);
}

static void test_ray_odd_jobs(void **state)
{
    fixture_survives(RAY(""));
    fixture_survives(RAY("--mode=prefix"));
    fixture_survives(RAY("--mode=symmetric, --expose=cluster"));
    fixture_survives(RAY("--submit=x, --num-gpus=auto, --wait-head"));
}

/* Run command and args of a pod with a ray that prints how it was called. 'symmetric-run' runs what follows "--", as
 * the real one does on the head; so does 'job submit'. */
static const char fake_ray[] = "#!/bin/sh\n"
                               "echo \"ray[$RAY_ADDRESS] $*\"\n"
                               "case $1 in start) exit ${FAIL:-0} ;; esac\n"
                               "while [ \"$1\" != -- ]; do shift; done\n"
                               "shift\n"
                               "exec \"$@\"\n";

static const struct {
    const char *name, *args, *pod, *want;
} run_cases[] = {
    { "prefix, head", "--mode=prefix", "head/0",
      "ray[head:1] start --head" HEAD_PORTS "\npython[head:1] <a b.py> <it's>\n" },
    { "prefix, worker", "--mode=prefix", "worker/0", "ray[head:1] start --block --address=j-head-0.j:6379\n" },
    { "symmetric, head", "--mode=symmetric, --head-args=--x", "head/0",
      "ray[] symmetric-run --address=j-head-0.j:6379 --min-nodes=3 --dashboard-host=0.0.0.0 --dashboard-port=8265 "
      "--ray-client-server-port=10001 --x -- env RAY_ADDRESS=head:1 python a b.py it's\npython[head:1] <a b.py> "
      "<it's>\n" },
    { "symmetric, worker", "--mode=symmetric, --worker-args=--x", "worker/0",
      "ray[] symmetric-run --address=j-head-0.j:6379 --min-nodes=3 --x -- env RAY_ADDRESS=head:1 true\n" },
    { "submit", "'--submit=python \"c d\" && echo \"it''s\"', --dashboardPort=@", "head/0",
      "ray[head:1] start --head --dashboard-host=0.0.0.0 --port=6379 --dashboard-port=@ "
      "--ray-client-server-port=10001\n"
      "ray[head:1] job submit --address=http://127.0.0.1:@ -- sh -c python \"c d\" && echo \"it's\"\n"
      "python[head:1] <c d>\nit's\n" },
};

/* Wait lines depend on time; what matters is that the script got past them. */
static struct str without_wait(struct shell *s, struct str text)
{
    autobuf out = { 0 };
    struct str line;

    while (!str_empty(text) && str_split(&text, '\n', &line))
        if (!str_starts(line, STR("wait: ")))
            buf_fmt(&out, "%.*s\n", STR_ARG(line));
    return arena_str(&s->arena, buf_view(&out));
}

static struct str with_port(struct shell *s, const char *text, int port)
{
    autobuf out = { 0 };

    for (; *text; text++) {
        if (*text == '@')
            buf_i64(&out, port);
        else
            buf_char(&out, *text);
    }
    return arena_str(&s->arena, buf_view(&out));
}

static const char **argv_of(struct shell *s, const struct json *container)
{
    static const char *const parts[] = { "command", "args" };
    size_t n = 0;
    const char **argv = arena_array(&s->arena, const char *,
                                    json_count(json_get(container, "command")) +
                                        json_count(json_get(container, "args")) + 1);

    for (size_t p = 0; p < 2; p++)
        JSON_FOREACH(word, json_get(container, parts[p]))
            argv[n++] = arena_cstr(&s->arena, json_text(word, STR_NULL));
    return argv;
}

static void test_ray_run(void **state)
{
    int port, fd = shell_socket(&port);
    struct shell s;

    shell_open(&s);
    assert_int_equal(listen(fd, 64), 0);
    shell_tool(&s, "perl"); /* for connections; names and the port of the head are answered by fakes */
    shell_write(&s, "bin/ray", fake_ray, 0700);
    shell_write(&s, "bin/getent", "#!/bin/sh\nexit 0\n", 0700);
    shell_write(&s, "bin/bash", "#!/bin/sh\nexit 0\n", 0700);
    shell_write(&s, "bin/python",
                "#!/bin/sh\nprintf 'python[%s]' \"$RAY_ADDRESS\"\nfor a; do printf ' <%s>' \"$a\"; done\necho\n", 0700);
    for (size_t i = 0; i < ARRAY_LEN(run_cases); i++) {
        const char *args = with_port(&s, run_cases[i].args, port).p;
        struct str want = with_port(&s, run_cases[i].want, port), task = str_of(run_cases[i].pod), rest = task, out;
        struct fixture f;
        struct pod_draft pod;
        int status;

        fixture_open(&f, arena_fmt(&s.arena, RAY("%s"), args).p, DRIVER);
        if (f.ps.n_errors)
            fail_msg("%s: %.*s", run_cases[i].name, STR_ARG(fixture_problems(&f, PROBLEM_ERROR)));
        (void)str_split(&rest, '/', &task);
        pod = fixture_pod(&f, task, 0);
        status = shell_end(&s, shell_start(&s, argv_of(&s, json_at(json_get(pod.spec, "containers"), 0))), &out);
        out = without_wait(&s, out);
        if (status != 0 || !str_eq(out, want))
            fail_msg("%s\n  want %.*s\n  got  %.*s", run_cases[i].name, STR_ARG(want), STR_ARG(out));
        fixture_done(&f);
    }
    close(fd);
    shell_done(&s);
}

/* A head that does not start does not run the driver. */
static void test_ray_failed_start(void **state)
{
    struct shell s;
    struct fixture f;
    struct pod_draft pod;
    struct str out;

    shell_open(&s);
    shell_write(&s, "bin/ray", "#!/bin/sh\nexit 3\n", 0700);
    shell_write(&s, "bin/python", "#!/bin/sh\necho never\n", 0700);
    fixture_open(&f, RAY("--mode=prefix"), DRIVER);
    pod = fixture_pod(&f, STR("head"), 0);
    assert_int_equal(shell_end(&s, shell_start(&s, argv_of(&s, json_at(json_get(pod.spec, "containers"), 0))), &out),
                     3);
    assert_false(str_has(out, STR("never")));
    fixture_done(&f);
    shell_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ray),
        cmocka_unit_test(test_ray_odd_jobs),
        cmocka_unit_test(test_ray_run),
        cmocka_unit_test(test_ray_failed_start),
    };

    return cmocka_run_group_tests_name("plugin/ray", tests, NULL, NULL);
}
