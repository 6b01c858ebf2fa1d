/* jax.c - coordinator address and process ids for JAX
 *
 * jax.distributed.initialize() reads only the coordinator address from the environment; the script
 * passes the other two. With --slurm-env the pod looks like a Slurm step, which JAX detects by itself. There it gives
 * each process one device, number SLURM_LOCALID, unless JAX_LOCAL_DEVICE_IDS says otherwise: a process that is alone in
 * its pod must set that to use all.
 */
#include "plugin/launch.h"
#include "plugin/plugin_internal.h"

#include "base/util.h"

struct jax_args {
    struct str tasks;
    int64_t port, per_node;
    bool slurm_env, override;
};

static const struct plugin_arg jax_arg_table[] = {
    { "tasks", ARG_LIST, offsetof(struct jax_args, tasks), "", .doc = "tasks in order of rank; empty: all" },
    { "port", ARG_PORT, offsetof(struct jax_args, port), "1234", .doc = "port of the coordinator, opened in its pod" },
    { "processes-per-node", ARG_INT, offsetof(struct jax_args, per_node), "1",
      .doc = "processes that a pod starts; JAX_PROCESS_ID is the id of its first" },
    { "slurm-env", ARG_BOOL, offsetof(struct jax_args, slurm_env), "false",
      .doc = "also the SLURM_ variables JAX looks for, so that a bare jax.distributed.initialize() works" },
    { "override", ARG_BOOL, offsetof(struct jax_args, override), "false",
      .doc = "replace variables that the template sets" },
};

enum { JAX_PER_NODE_MAX = 65536, JAX_DEVICES_MAX = 1024 };

struct jax_state {
    struct rank_order order;
    struct str first, address, size; /* host of rank 0, with its port; number of processes */
    struct str nodes;                /* all hosts, joined by ',' */
    struct str slurm_id;
};

/* SLURM_JOB_ID must be a positive number that all pods agree on: CRC-32 of the job's uid. */
static uint32_t crc32_of(struct str s)
{
    uint32_t crc = 0xffffffff;

    for (size_t i = 0; i < s.n; i++) {
        crc ^= (uint8_t)s.p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

static void jax_check(struct plugin_call *call, const struct place *at, struct problems *ps)
{
    const struct jax_args *args = call->args;
    struct rank_order order;
    struct err e = { 0 };

    if (rank_order_init(call->arena, call->job, args->tasks, &order, &e) < 0)
        problem_error(ps, at, "plugin jax: argument tasks: %s", e.text);
    if (args->per_node < 1 || args->per_node > JAX_PER_NODE_MAX)
        problem_error(ps, at,
                      "plugin jax: argument processes-per-node: bad value \"%lld\" (must be a number from 1 to %d)",
                      (long long)args->per_node, JAX_PER_NODE_MAX);
}

/* JAX takes the coordinator's host from the first of the list. When the list does not fit, that one must do. */
static struct str node_list(struct plugin_call *call, const struct jax_state *state)
{
    autobuf list = { 0 };

    for (size_t i = 0; i < state->order.n; i++) {
        struct str more = plugin_set_hosts(call->set, state->order.task_pos[i])->comma;

        if (list.n && more.n)
            buf_char(&list, ',');
        buf_str(&list, more);
        if (list.n > ENV_TEXT_MAX)
            return state->first;
    }
    return arena_str(call->arena, buf_view(&list));
}

static int jax_prepare(struct plugin_call *call, struct err *e)
{
    const struct jax_args *args = call->args;
    struct jax_state *state = arena_new(call->arena, struct jax_state);
    uint32_t id = crc32_of(call->job->meta.uid);

    call->state = state;
    if (rank_order_init(call->arena, call->job, args->tasks, &state->order, e) < 0)
        return -1;
    state->first = rank_order_host0(call->set, &state->order);
    state->address = arena_fmt(call->arena, "%.*s:%lld", STR_ARG(state->first), (long long)args->port);
    state->size = arena_fmt(call->arena, "%lld", (long long)state->order.size * args->per_node);
    state->slurm_id = arena_fmt(call->arena, "%u", id ? id : 1);
    if (args->slurm_env)
        state->nodes = node_list(call, state);
    return 0;
}

/* "0,1,2,3": all accelerators of the pod, for a process that is alone in it. Empty: JAX finds the same by itself. */
static struct str device_ids(struct plugin_call *call, const struct job_task *task)
{
    const struct jax_args *args = call->args;
    int64_t n = MIN_OF(task_accelerators(task), JAX_DEVICES_MAX);
    autobuf ids = { 0 };

    for (int64_t i = 0; args->slurm_env && args->per_node == 1 && n > 1 && i < n; i++)
        buf_fmt(&ids, "%s%lld", i ? "," : "", (long long)i);
    return arena_str(call->arena, buf_view(&ids));
}

static int jax_on_pod(struct plugin_call *call, struct pod_draft *pod, struct err *e)
{
    const struct jax_args *args = call->args;
    const struct jax_state *state = call->state;
    int64_t rank = rank_order_of(&state->order, pod->task_pos, pod->index);
    struct str id = arena_fmt(call->arena, "%lld", (long long)(rank * args->per_node));
    struct str devices = device_ids(call, pod->task);
    const struct {
        const char *name;
        struct str value;
        bool is_wanted;
    } vars[] = {
        { "JAX_COORDINATOR_ADDRESS", state->address, true },
        { "JAX_NUM_PROCESSES", state->size, true },
        { "JAX_PROCESS_ID", id, true },
        { "SLURM_JOB_ID", state->slurm_id, args->slurm_env },
        { "SLURM_STEP_NODELIST", state->nodes, args->slurm_env },
        { "SLURM_NTASKS", state->size, args->slurm_env },
        { "SLURM_PROCID", id, args->slurm_env },
        { "SLURM_LOCALID", STR("0"), args->slurm_env },
        { "JAX_LOCAL_DEVICE_IDS", devices, !str_empty(devices) },
    };

    (void)e;
    if (rank < 0)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(vars); i++)
        if (vars[i].is_wanted)
            pod_set_env(call, pod, vars[i].name, vars[i].value, !args->override);
    if (rank == 0)
        pod_open_first_port(call, pod, "jax-coordinator", args->port);
    return 0;
}

static const char *const jax_adds[] = {
    "variables JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID in all containers and init containers of "
    "the listed tasks",
    "port jax-coordinator in the first container of the first pod",
    "variables SLURM_JOB_ID, SLURM_STEP_NODELIST, SLURM_NTASKS, SLURM_PROCID and SLURM_LOCALID, with --slurm-env; "
    "JAX_LOCAL_DEVICE_IDS too, where one process has several accelerators",
    NULL,
};

const struct job_plugin plugin_jax = {
    .name = "jax",
    .summary = "coordinator and process ids for JAX",
    .args = jax_arg_table,
    .n_args = ARRAY_LEN(jax_arg_table),
    .args_size = sizeof(struct jax_args),
    .forces = { "svc" },
    .adds = jax_adds,
    .check = jax_check,
    .prepare = jax_prepare,
    .on_pod = jax_on_pod,
};
