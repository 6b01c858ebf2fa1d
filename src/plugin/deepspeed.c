/* deepspeed.c - host file and master address for DeepSpeed
 *
 * The file is one more key of svc (deepspeed.hostfile, because mpi has a "hostfile" too) and appears a
 * second time at /job/hostfile, where the launcher looks by default. That mount is a sub-path of the volume of svc: it
 * works whichever ConfigMap holds the key, and leaves the rest of /job as the image has it.
 */
#include "plugin/launch.h"
#include "plugin/plugin_internal.h"

#include "base/util.h"

#define HOSTFILE_KEY  "deepspeed.hostfile"
#define HOSTFILE_PATH "/job/hostfile"

struct ds_args {
    struct str tasks, slots;
    int64_t port;
    bool ssh, override;
};

static const struct plugin_arg ds_arg_table[] = {
    { "tasks", ARG_LIST, offsetof(struct ds_args, tasks), "", .doc = "tasks in order of rank; empty: all" },
    { "slots", ARG_STR, offsetof(struct ds_args, slots), "auto",
      .doc = "processes in a pod: a number, or auto for its accelerators" },
    { "port", ARG_PORT, offsetof(struct ds_args, port), "29500", .doc = "MASTER_PORT, opened in the first pod" },
    { "ssh", ARG_BOOL, offsetof(struct ds_args, ssh), "true",
      .doc = "also use the plugin ssh; false for deepspeed --no_ssh" },
    { "override", ARG_BOOL, offsetof(struct ds_args, override), "false",
      .doc = "replace variables that the template sets" },
};

struct ds_state {
    struct rank_order order;
    struct str master, port;
};

static bool ds_needs(const void *args, const char *forced)
{
    return strcmp(forced, "ssh") != 0 || ((const struct ds_args *)args)->ssh;
}

static void ds_check(struct plugin_call *call, const struct place *at, struct problems *ps)
{
    const struct ds_args *args = call->args;
    struct rank_order order;
    struct err e = { 0 };

    if (rank_order_init(call->arena, call->job, args->tasks, &order, &e) < 0)
        problem_error(ps, at, "plugin deepspeed: argument tasks: %s", e.text);
    slots_check(at, "slots", args->slots, ps);
}

static int ds_prepare(struct plugin_call *call, struct err *e)
{
    const struct ds_args *args = call->args;
    struct ds_state *state = arena_new(call->arena, struct ds_state);

    call->state = state;
    if (rank_order_init(call->arena, call->job, args->tasks, &state->order, e) < 0)
        return -1;
    state->master = rank_order_host0(call->set, &state->order);
    state->port = arena_fmt(call->arena, "%lld", (long long)args->port);
    return 0;
}

static int ds_files(struct plugin_call *call, struct plugin_files *out, struct err *e)
{
    const struct ds_args *args = call->args;
    const struct ds_state *state = call->state;
    autobuf text = { 0 };

    (void)e;
    for (size_t i = 0; i < state->order.n; i++) {
        size_t pos = state->order.task_pos[i];
        const struct task_hosts *hosts = plugin_set_hosts(call->set, pos);
        int64_t slots = slots_of(args->slots, &call->job->spec.tasks.v[pos]);

        for (size_t k = 0; k < hosts->n; k++)
            buf_fmt(&text, "%.*s slots=%lld\n", STR_ARG(hosts->host[k]), (long long)slots);
    }
    *vec_push(call->arena, &out->list) = (struct plugin_file){ STR(HOSTFILE_KEY),
                                                               arena_str(call->arena, buf_view(&text)), false };
    return 0;
}

static int ds_on_pod(struct plugin_call *call, struct pod_draft *pod, struct err *e)
{
    const struct ds_args *args = call->args;
    const struct ds_state *state = call->state;
    int64_t rank = rank_order_of(&state->order, pod->task_pos, pod->index);
    struct str volume = arena_fmt(call->arena, "%.*s-svc", STR_ARG(call->job->meta.name));
    const struct {
        const char *name;
        struct str value;
    } vars[] = {
        { "MASTER_ADDR", state->master },
        { "MASTER_PORT", state->port },
        { "NODE_RANK", arena_fmt(call->arena, "%lld", (long long)rank) },
        { "DS_HOSTFILE", STR(HOSTFILE_PATH) },
    };

    (void)e;
    if (rank < 0)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(vars); i++)
        pod_set_env(call, pod, vars[i].name, vars[i].value, !args->override);
    POD_FOREACH_CONTAINER(c, pod, POD_ALL)
        container_mount(call, c, volume, STR(HOSTFILE_PATH), HOSTFILE_KEY);
    if (rank == 0)
        pod_open_first_port(call, pod, "deepspeed", args->port);
    return 0;
}

static const char *const ds_adds[] = {
    "file " HOSTFILE_PATH " (also /etc/volcano/" HOSTFILE_KEY ") in the listed tasks",
    "variables MASTER_ADDR, MASTER_PORT, NODE_RANK and DS_HOSTFILE in all their containers and init containers",
    "port deepspeed in the first container of the first pod",
    NULL,
};

const struct job_plugin plugin_deepspeed = {
    .name = "deepspeed",
    .summary = "host file and master address for DeepSpeed",
    .args = ds_arg_table,
    .n_args = ARRAY_LEN(ds_arg_table),
    .args_size = sizeof(struct ds_args),
    .forces = { "svc", "ssh" },
    .needs = ds_needs,
    .adds = ds_adds,
    .check = ds_check,
    .prepare = ds_prepare,
    .files = ds_files,
    .on_pod = ds_on_pod,
};
