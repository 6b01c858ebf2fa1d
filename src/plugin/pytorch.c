/* pytorch.c - MASTER_ADDR and its friends, and the variables of torchrun
 *
 * Ranks run over masters, then workers; other tasks learn where the master is but have no rank.
 */
#include "plugin/launch.h"
#include "plugin/plugin_internal.h"
#include "plugin/waitscript.h"

#include "base/util.h"

struct torch_args {
    struct str master, worker;
    int64_t port;
    bool wait_enabled;
    int64_t wait_timeout;
    struct str wait_image;
    bool torchrun;
    struct str nproc, elastic;
    int64_t rdzv_port, max_restarts;
    bool expose_node_rank;
    bool keep_user_env, override;
};

#define TORCH_ARG(field) offsetof(struct torch_args, field)

static const struct plugin_arg torch_arg_table[] = {
    { "master", ARG_STR, TORCH_ARG(master), "master", .doc = "task of the master; empty: worker 0 is the master" },
    { "worker", ARG_STR, TORCH_ARG(worker), "worker", .doc = "task of the workers" },
    { "port", ARG_PORT, TORCH_ARG(port), "23456", .doc = "MASTER_PORT, opened in every container" },
    { "wait-master-enabled", ARG_BOOL, TORCH_ARG(wait_enabled), "false",
      .doc = "wait in an init container of the workers until the master's port answers" },
    { "wait-master-timeout", ARG_INT, TORCH_ARG(wait_timeout), "300", .doc = "seconds to wait before the pod fails" },
    { "wait-master-image", ARG_STR, TORCH_ARG(wait_image), "busybox:1.36.1",
      .doc = "image of the init container; pod: that of the first container, with its resources" },
    { "torchrun", ARG_BOOL, TORCH_ARG(torchrun), "false",
      .doc = "also the PET_ variables, so that a bare torchrun finds its nodes" },
    { "nproc-per-node", ARG_STR, TORCH_ARG(nproc), "",
      .doc = "processes in a pod: a number, or auto for its accelerators (the default with --torchrun and --elastic)" },
    { "elastic", ARG_STR, TORCH_ARG(elastic), "",
      .doc = "min:max nodes: torchrun finds ranks by c10d rendezvous; no WORLD_SIZE, no RANK" },
    { "rdzv-port", ARG_PORT, TORCH_ARG(rdzv_port), "29400", .doc = "port of the rendezvous with --elastic" },
    { "max-restarts", ARG_INT, TORCH_ARG(max_restarts), NULL, .doc = "PET_MAX_RESTARTS, if given" },
    { "expose-node-rank", ARG_BOOL, TORCH_ARG(expose_node_rank), "true",
      .doc = "with --torchrun also NNODES, NODE_RANK and NPROC_PER_NODE, for command lines" },
    { "keep-user-env", ARG_BOOL, TORCH_ARG(keep_user_env), "false",
      .doc = "keep MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK that the template sets" },
    { "override", ARG_BOOL, TORCH_ARG(override), "false", .doc = "replace the other variables that the template sets" },
};

struct torch_state {
    bool is_active;
    bool has_master;       /* a task of its own; else worker 0 is the master */
    uint32_t n_master;     /* pods with the first ranks */
    struct str master;     /* host of rank 0 */
    struct str port, size; /* as text */
    struct str rendezvous;
};

/* "min:max", both at least 1. */
static int elastic_range(struct str text, int64_t *ret_min, int64_t *ret_max)
{
    struct str rest = text, low;

    (void)str_split(&rest, ':', &low);
    return low.n < text.n && str_to_i64(low, ret_min) == 0 && str_to_i64(rest, ret_max) == 0 && *ret_min >= 1 &&
                   *ret_max >= *ret_min && *ret_max <= PLUGIN_PODS_MAX
               ? 0
               : -1;
}

static const struct job_task *master_task(const struct plugin_call *call)
{
    const struct torch_args *args = call->args;

    return job_task_by_name(call->job, str_empty(args->master) ? args->worker : args->master, NULL);
}

static uint32_t master_count(const struct plugin_call *call)
{
    const struct torch_args *args = call->args;
    const struct job_task *task = str_empty(args->master) ? NULL : job_task_by_name(call->job, args->master, NULL);

    return task ? task_pods(task) : 0;
}

static uint32_t worker_count(const struct plugin_call *call)
{
    const struct torch_args *args = call->args;
    const struct job_task *task = job_task_by_name(call->job, args->worker, NULL);

    return task ? task_pods(task) : 0;
}

static void check_words(struct plugin_call *call, const struct place *at, struct problems *ps)
{
    const struct torch_args *args = call->args;
    int64_t low, high;

    timeout_check(at, "wait-master-timeout", args->wait_timeout, ps);
    if (!str_empty(args->nproc))
        slots_check(at, "nproc-per-node", args->nproc, ps);
    if (args->max_restarts < 0)
        problem_error(ps, at, "plugin pytorch: argument max-restarts: bad value \"%lld\" (must not be negative)",
                      (long long)args->max_restarts);
    if (str_empty(args->elastic))
        return;
    if (elastic_range(args->elastic, &low, &high) < 0)
        problem_error(ps, at,
                      "plugin pytorch: argument elastic: bad value \"%.*s\" (must be min:max nodes, such as 2:4)",
                      STR_ARG(args->elastic));
    else if (low > (int64_t)master_count(call) + worker_count(call))
        problem_warn(ps, at, "plugin pytorch: argument elastic: at least %lld nodes are wanted, but the job has %u",
                     (long long)low, master_count(call) + worker_count(call));
    if (args->rdzv_port == args->port)
        problem_warn(ps, at, "plugin pytorch: arguments port and rdzv-port are both %lld", (long long)args->port);
}

static void torch_check(struct plugin_call *call, const struct place *at, struct problems *ps)
{
    const struct torch_args *args = call->args;

    check_words(call, at, ps);
    if (!master_task(call) && str_empty(args->master) && str_empty(args->worker))
        problem_warn(ps, at, "plugin pytorch: neither --master= nor --worker= names a task: the plugin adds nothing");
    else if (!master_task(call))
        problem_warn(
            ps, at,
            "plugin pytorch: there is no task %.*s for the master: the plugin adds nothing. Name it by --master=, or "
            "give an empty --master= to make worker 0 the master",
            STR_ARG(str_empty(args->master) ? args->worker : args->master));
    else if (str_eq(args->master, args->worker))
        problem_error(ps, at, "plugin pytorch: task %.*s is given two roles, master and worker", STR_ARG(args->master));
    else if (!task_pods(master_task(call)))
        problem_warn(ps, at, "plugin pytorch: task %.*s has no pods, so there is no master",
                     STR_ARG(master_task(call)->name));
}

static int torch_prepare(struct plugin_call *call, struct err *e)
{
    const struct torch_args *args = call->args;
    const struct job_task *master = master_task(call);
    struct torch_state *state = arena_new(call->arena, struct torch_state);

    (void)e;
    call->state = state;
    if (!master)
        return 0;
    state->is_active = true;
    state->has_master = !str_empty(args->master);
    state->n_master = master_count(call);
    state->master = job_pod_domain(call->arena, call->job, master, 0);
    state->port = arena_fmt(call->arena, "%lld", (long long)args->port);
    state->size = arena_fmt(call->arena, "%u", state->n_master + worker_count(call));
    state->rendezvous = arena_fmt(call->arena, "%.*s:%lld", STR_ARG(state->master), (long long)args->rdzv_port);
    return 0;
}

/* -1: the pod is neither master nor worker. */
static int64_t torch_rank(const struct torch_args *args, const struct torch_state *state, const struct pod_draft *pod)
{
    if (state->has_master && str_eq(pod->task->name, args->master))
        return pod->index;
    return str_eq(pod->task->name, args->worker) ? (int64_t)state->n_master + pod->index : -1;
}

static void add_wait(struct plugin_call *call, struct pod_draft *pod)
{
    const struct torch_args *args = call->args;
    const struct torch_state *state = call->state;
    struct wait_script wait = { .host = state->master, .port = args->port, .timeout_s = args->wait_timeout };

    pod_add_wait(call, pod, STR("wait-for-master"), args->wait_image, &wait);
}

static void put_pet(struct plugin_call *call, struct pod_draft *pod, const char *pet, const char *bare,
                    struct str value)
{
    const struct torch_args *args = call->args;

    pod_set_env(call, pod, pet, value, !args->override);
    if (bare && args->expose_node_rank)
        pod_set_env(call, pod, bare, value, !args->override);
}

/* Options of torchrun: each may come from PET_<OPTION>; the command line wins. */
static void add_torchrun(struct plugin_call *call, struct pod_draft *pod, int64_t rank)
{
    const struct torch_args *args = call->args;
    const struct torch_state *state = call->state;
    const struct meta *job = &call->job->meta;
    bool is_elastic = !str_empty(args->elastic);

    if (is_elastic) {
        put_pet(call, pod, "PET_NNODES", NULL, args->elastic);
        put_pet(call, pod, "PET_RDZV_BACKEND", NULL, STR("c10d"));
        put_pet(call, pod, "PET_RDZV_ENDPOINT", NULL, state->rendezvous);
        put_pet(call, pod, "PET_RDZV_ID", NULL, str_empty(job->uid) ? job->name : job->uid);
        pod_open_first_port(call, pod, "torch-rdzv", args->rdzv_port);
    } else if (args->torchrun) {
        put_pet(call, pod, "PET_NNODES", "NNODES", state->size);
        put_pet(call, pod, "PET_NODE_RANK", "NODE_RANK", arena_fmt(call->arena, "%lld", (long long)rank));
        put_pet(call, pod, "PET_MASTER_ADDR", NULL, state->master);
        put_pet(call, pod, "PET_MASTER_PORT", NULL, state->port);
    }
    if (is_elastic || args->torchrun || !str_empty(args->nproc))
        put_pet(call, pod, "PET_NPROC_PER_NODE", "NPROC_PER_NODE",
                arena_fmt(call->arena, "%lld", (long long)slots_of(args->nproc, pod->task)));
    if (plugin_set_given(call->set, "pytorch", "max-restarts"))
        put_pet(call, pod, "PET_MAX_RESTARTS", NULL, arena_fmt(call->arena, "%lld", (long long)args->max_restarts));
}

static int torch_on_pod(struct plugin_call *call, struct pod_draft *pod, struct err *e)
{
    const struct torch_args *args = call->args;
    const struct torch_state *state = call->state;
    int64_t rank;

    (void)e;
    if (!state->is_active)
        return 0;
    rank = torch_rank(args, state, pod);
    pod_open_port(call, pod, POD_MAIN, "pytorchjob-port", args->port);
    pod_set_main_env(call, pod, "MASTER_ADDR", state->master, args->keep_user_env);
    pod_set_main_env(call, pod, "MASTER_PORT", state->port, args->keep_user_env);
    if (str_empty(args->elastic)) {
        pod_set_main_env(call, pod, "WORLD_SIZE", state->size, args->keep_user_env);
        if (rank >= 0)
            pod_set_main_env(call, pod, "RANK", arena_fmt(call->arena, "%lld", (long long)rank), args->keep_user_env);
    }
    if (rank >= 0)
        add_torchrun(call, pod, rank);
    /* Last, so that it gets no variables. Worker 0 is the master itself when there is no master task. */
    if (args->wait_enabled && str_eq(pod->task->name, args->worker) && (state->has_master || pod->index > 0))
        add_wait(call, pod);
    return 0;
}

static const char *const torch_adds[] = {
    "variables MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK in every container",
    "port pytorchjob-port in every container",
    "init container wait-for-master in workers, with --wait-master-enabled",
    "variables PET_NNODES, PET_NODE_RANK, PET_MASTER_ADDR, PET_MASTER_PORT, PET_NPROC_PER_NODE and NNODES, NODE_RANK, "
    "NPROC_PER_NODE in every container and init container, with --torchrun",
    "variables PET_NNODES, PET_RDZV_BACKEND, PET_RDZV_ENDPOINT, PET_RDZV_ID, PET_NPROC_PER_NODE and port torch-rdzv, "
    "with --elastic",
    "variable PET_MAX_RESTARTS, with --max-restarts",
    NULL,
};

const struct job_plugin plugin_pytorch = {
    .name = "pytorch",
    .summary = "master address, ranks and torchrun for PyTorch",
    .args = torch_arg_table,
    .n_args = ARRAY_LEN(torch_arg_table),
    .args_size = sizeof(struct torch_args),
    .forces = { "svc" },
    .adds = torch_adds,
    .check = torch_check,
    .prepare = torch_prepare,
    .on_pod = torch_on_pod,
};
