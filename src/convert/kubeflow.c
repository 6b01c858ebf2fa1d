/* kubeflow.c - PyTorchJob and MPIJob: replica specs that become tasks, and a plugin that tells them of each other */
#include "convert/convert_internal.h"

#include "base/util.h"

/* ---- runPolicy ---- */

static void kubeflow_take_backoff(void *to, const struct place *at)
{
    ((struct conversion *)to)->retries = json_i64(at->node, -1);
}

static void take_clean(void *to, const struct place *at)
{
    struct conversion *c = to;

    if (!str_is(json_text(at->node, STR_NULL), "Running"))
        problem_warn(c->problems, at,
                     "at the end running pods are stopped and the others stay, until ttlSecondsAfterFinished");
}

static void take_queue(void *to, const struct place *at)
{
    struct conversion *c = to;

    json_set(c->spec, "queue", json_copy(c->arena, at->node));
}

static void take_priority(void *to, const struct place *at)
{
    struct conversion *c = to;

    json_set(c->spec, "priorityClassName", json_copy(c->arena, at->node));
}

static void take_min_available(void *to, const struct place *at)
{
    struct conversion *c = to;

    json_set(c->spec, "minAvailable", json_copy(c->arena, at->node));
}

static const struct row scheduling_rows[] = {
    { "queue", take_queue, NULL },
    { "priorityClass", take_priority, NULL },
    { "minAvailable", take_min_available, NULL },
    { "minResources", NULL, "it is the sum of what minAvailable pods ask for" },
    { "scheduleTimeoutSeconds", NULL,
      "a job waits until there is room; a policy on PodPending with a timeout ends it" },
};

static void take_scheduling(void *to, const struct place *at)
{
    convert_rows(to, at, scheduling_rows, ARRAY_LEN(scheduling_rows), to);
}

static const struct row run_rows[] = {
    { "backoffLimit", kubeflow_take_backoff, NULL },
    { "cleanPodPolicy", take_clean, NULL },
    { "ttlSecondsAfterFinished", take_ttl, NULL },
    { "suspend", take_suspend, NULL },
    { "schedulingPolicy", take_scheduling, NULL },
    { "activeDeadlineSeconds", NULL, "a Volcano Job has no such limit; activeDeadlineSeconds of its pods is one" },
    { "managedBy", NULL, "the controller of Volcano Jobs manages it" },
};

static void take_run_policy(void *to, const struct place *at)
{
    convert_rows(to, at, run_rows, ARRAY_LEN(run_rows), to);
}

/* ---- replicas ---- */

static const struct row replica_rows[] = {
    { "replicas", NULL, NULL },
    { "template", NULL, NULL },
    { "restartPolicy", NULL, NULL },
    { "scale", NULL, "the number of pods is replicas" },
};

/* Exit codes of signals that come from outside; the others above 127 are as rare. */
static const int64_t retryable[] = { 130, 137, 138, 143 };

/* 'usual': what the operator takes where nothing is said. */
static void set_restart(struct part *p, const struct place *restart, const char *usual)
{
    struct str policy = json_text(restart->node, str_of(usual));
    struct conversion *c = p->all;

    if (str_is(policy, "ExitCode")) {
        for (size_t i = 0; i < ARRAY_LEN(retryable); i++)
            part_policy(p, NULL, retryable[i], "RestartPod");
        part_policy(p, "PodFailed", 0, "TerminateJob");
        problem_warn(c->problems, restart,
                     "exit codes 130, 137, 138 and 143 restart the pod, every other ends the job");
        policy = STR("Never");
    } else if (str_is(policy, "Never")) {
        part_on_failure(p, c->retries < 0 ? "TerminateJob" : "RestartJob");
    } else if (str_is(policy, "OnFailure") && c->retries >= 0) {
        part_never_in_place(p, restart);
        part_on_failure(p, "RestartPod");
        return;
    }
    json_set(p->pod, "restartPolicy", json_str(c->arena, policy));
}

struct replica_kind {
    const char *theirs, *ours; /* the replica spec "Worker" becomes the task "worker" */
    const char *restart;       /* the operator's defaults */
    int64_t replicas;
};
static const struct replica_kind pytorch_master = { "Master", "master", "OnFailure", 1 },
                                 pytorch_worker = { "Worker", "worker", "OnFailure", 1 },
                                 mpi_launcher = { "Launcher", "launcher", "OnFailure", 1 },
                                 mpi_worker = { "Worker", "worker", "Never", 0 };

/* False: there is none. */
static bool take_replicas(struct conversion *c, const struct place *specs, const struct replica_kind *kind,
                          struct part *ret)
{
    struct place spec = place_member(specs, kind->theirs), template = place_member(&spec, "template"),
                 restart = place_member(&spec, "restartPolicy");

    if (!json_is(spec.node, JSON_OBJECT))
        return false;
    convert_rows(c, &spec, replica_rows, ARRAY_LEN(replica_rows), c);
    *ret = convert_task(c, str_of(kind->ours), &template);
    part_replicas(ret, json_i64(json_get(spec.node, "replicas"), kind->replicas));
    set_restart(ret, &restart, kind->restart);
    return true;
}

static void check_replicas(struct conversion *c, const struct place *specs, const char *one, const char *other)
{
    JSON_FOREACH(member, specs->node) {
        struct place at = { specs, member, json_key(member), 0 };

        if (!str_is(at.key, one) && !str_is(at.key, other))
            problem_error(c->problems, &at, "these are %s and %s", one, other);
    }
    if (json_count(specs->node) == 0)
        problem_error(c->problems, specs, "missing: pods come from %s and %s in it", one, other);
}

/* ---- PyTorchJob ---- */

static const struct row elastic_rows[] = {
    { "minReplicas", NULL, NULL },
    { "maxReplicas", NULL, NULL },
    { "nProcPerNode", NULL, NULL },
    { "maxRestarts", NULL, NULL },
    { "rdzvPort", NULL, NULL },
    { "rdzvBackend", NULL, "ranks are found by c10d" },
    { "rdzvHost", NULL, "it is the first worker" },
    { "rdzvId", NULL, "it is made from the job's uid" },
    { "rdzvConf", NULL, "arguments of torchrun belong in the command" },
    { "standalone", NULL, "arguments of torchrun belong in the command" },
    { "metrics", NULL, "nothing scales a Volcano Job by metrics" },
};

static void add_elastic(struct conversion *c, struct json *arguments, const struct place *elastic, int64_t workers)
{
    int64_t max = json_i64(json_get(elastic->node, "maxReplicas"),
                           json_i64(json_get(elastic->node, "minReplicas"), workers)),
            min = json_i64(json_get(elastic->node, "minReplicas"), max),
            restarts = json_i64(json_get(elastic->node, "maxRestarts"), -1),
            port = json_i64(json_get(elastic->node, "rdzvPort"), -1);

    convert_rows(c, elastic, elastic_rows, ARRAY_LEN(elastic_rows), c);
    convert_argument(c, arguments, "--elastic=%lld:%lld", (long long)min, (long long)max);
    if (restarts >= 0)
        convert_argument(c, arguments, "--max-restarts=%lld", (long long)restarts);
    if (port > 0)
        convert_argument(c, arguments, "--rdzv-port=%lld", (long long)port);
    if (!json_get(c->spec, "minAvailable"))
        json_set(c->spec, "minAvailable", json_int(c->arena, min));
}

/* A number or text ("auto", "gpu"). */
static void add_nproc(struct conversion *c, struct json *arguments, const struct json *nproc, bool is_elastic)
{
    struct str text = nproc ? (struct str){ nproc->text, nproc->n } : STR_NULL;

    if (!is_elastic) /* the operator has variables for torchrun in every job; plain Python does not read them */
        convert_argument(c, arguments, "--torchrun=true");
    if (!nproc)
        return; /* auto, in the plugin too */
    convert_argument(c, arguments, "--nproc-per-node=%.*s", STR_ARG(str_is(text, "gpu") ? STR("auto") : text));
}

static int64_t port_named(const struct part *p, const char *name)
{
    JSON_FOREACH(container, json_get(p->pod, "containers"))
        JSON_FOREACH(port, json_get(container, "ports"))
            if (str_is(json_member_text(port, "name"), name))
                return json_i64(json_get(port, "containerPort"), 0);
    return 0;
}

static const struct row pytorch_rows[] = {
    { "runPolicy", take_run_policy, NULL },
    { "pytorchReplicaSpecs", NULL, NULL },
    { "elasticPolicy", NULL, NULL },
    { "nprocPerNode", NULL, NULL },
};

void convert_pytorch(struct conversion *c, const struct place *root)
{
    struct place spec = place_member(root, "spec"), specs = place_member(&spec, "pytorchReplicaSpecs"),
                 elastic = place_member(&spec, "elasticPolicy");
    const struct json *nproc = json_get(spec.node, "nprocPerNode");
    struct json *arguments = convert_plugin(c, "pytorch");
    struct part master = { 0 }, worker = { 0 };
    bool has_master, has_worker;
    int64_t port;

    check_replicas(c, &specs, "Master", "Worker");
    convert_rows(c, &spec, pytorch_rows, ARRAY_LEN(pytorch_rows), c);
    has_master = take_replicas(c, &specs, &pytorch_master, &master);
    has_worker = take_replicas(c, &specs, &pytorch_worker, &worker);
    convert_argument(c, arguments, "--master=%s", has_master ? "master" : "");
    if (has_worker)
        convert_argument(c, arguments, "--worker=worker");
    port = has_master   ? port_named(&master, "pytorchjob-port")
           : has_worker ? port_named(&worker, "pytorchjob-port")
                        : 0;
    if (port > 0)
        convert_argument(c, arguments, "--port=%lld", (long long)port);
    if (elastic.node)
        add_elastic(c, arguments, &elastic, has_worker ? worker.replicas : 1);
    add_nproc(c, arguments, nproc ? nproc : json_get(elastic.node, "nProcPerNode"), elastic.node);
    if (has_master)
        part_policy(&master, "TaskCompleted", 0, "CompleteJob");
}

/* ---- MPIJob ---- */

static const struct {
    const char *theirs, *ours;
} implementations[] = { { "OpenMPI", "openmpi" }, { "Intel", "intel" }, { "MPICH", "mpich" } };

static void add_implementation(struct conversion *c, struct json *arguments, const struct place *at)
{
    struct str theirs = json_text(at->node, STR("OpenMPI"));

    for (size_t i = 0; i < ARRAY_LEN(implementations); i++)
        if (str_is(theirs, implementations[i].theirs)) {
            convert_argument(c, arguments, "--impl=%s", implementations[i].ours);
            return;
        }
    problem_warn(c->problems, at, "not carried over: the mpi plugin knows OpenMPI, Intel and MPICH");
}

static void add_ssh(struct conversion *c, const struct place *path)
{
    struct json *arguments = convert_plugin(c, "ssh");
    struct str dir = json_text(path->node, STR("/root/.ssh"));

    if (str_is(dir, "/root/.ssh"))
        return;
    convert_argument(c, arguments, "--ssh-key-file-path=%.*s", STR_ARG(dir));
    problem_warn(c->problems, path,
                 "an sshd that does not run as root cannot listen on port 22; give the mpi plugin --port");
}

/* As the operator does: a worker that says nothing is an ssh server. */
static void serve_ssh(struct part *worker)
{
    static const char *const words[] = { "/bin/sh", "-c", "mkdir -p /run/sshd && exec /usr/sbin/sshd -De" };
    struct arena *a = worker->all->arena;
    struct json *first = json_first(json_get(worker->pod, "containers")), *command;

    if (!first || json_get(first, "command") || json_get(first, "args"))
        return;
    command = json_set(first, "command", json_array(a));
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        json_push(command, json_str(a, str_of(words[i])));
}

static const struct row mpi_rows[] = {
    { "runPolicy", take_run_policy, NULL },
    { "mpiReplicaSpecs", NULL, NULL },
    { "slotsPerWorker", NULL, NULL },
    { "sshAuthMountPath", NULL, NULL },
    { "mpiImplementation", NULL, NULL },
    { "runLauncherAsWorker", NULL, NULL },
    { "launcherCreationPolicy", NULL, NULL },
    { "cleanPodPolicy", take_clean, NULL },
    { "mainContainer", NULL, "the plugin configures all containers" },
};

void convert_mpi(struct conversion *c, const struct place *root)
{
    struct place spec = place_member(root, "spec"), specs = place_member(&spec, "mpiReplicaSpecs"),
                 implementation = place_member(&spec, "mpiImplementation"),
                 ssh = place_member(&spec, "sshAuthMountPath");
    struct json *arguments = convert_plugin(c, "mpi");
    struct part launcher = { 0 }, worker = { 0 };
    int64_t given;

    check_replicas(c, &specs, "Launcher", "Worker");
    convert_rows(c, &spec, mpi_rows, ARRAY_LEN(mpi_rows), c);
    add_ssh(c, &ssh);
    (void)convert_plugin(c, "svc");
    convert_argument(c, arguments, "--master=launcher");
    convert_argument(c, arguments, "--worker=worker");
    convert_argument(c, arguments, "--slots=%lld", (long long)json_i64(json_get(spec.node, "slotsPerWorker"), 1));
    convert_argument(c, arguments, "--wait-workers=true");
    add_implementation(c, arguments, &implementation);
    if (json_bool(json_get(spec.node, "runLauncherAsWorker"), false))
        convert_argument(c, arguments, "--launcher-as-worker=true");
    given = c->retries;
    c->retries = given < 0 ? BACKOFF_LIMIT : given; /* the launcher is a Job of batch/v1, with its default */
    if (take_replicas(c, &specs, &mpi_launcher, &launcher))
        part_policy(&launcher, "TaskCompleted", 0, "CompleteJob");
    c->retries = given;
    if (take_replicas(c, &specs, &mpi_worker, &worker))
        serve_ssh(&worker);
    c->retries = given < 0 ? BACKOFF_LIMIT : given;
}
