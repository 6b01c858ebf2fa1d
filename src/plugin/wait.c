/* wait.c - start pods only when the others can be reached
 *
 * One init container, wait-for-peers, that looks names up (--for=dns) or connects (--for=tcp).
 *
 * Waiting can lock up a job: a pod whose init container waits listens on no port, and is not ready, so that its name
 * is in DNS only with svc --publish-not-ready-addresses. Therefore --for=tcp needs --tasks, the pods of those tasks do
 * not wait themselves, and --for=dns warns when names would be missing.
 */
#include "plugin/launch.h"
#include "plugin/plugin_internal.h"
#include "plugin/waitscript.h"

#include "base/util.h"

struct wait_args {
    struct str what, tasks;
    int64_t port, timeout;
    struct str image;
    int64_t min;
};

static const char *const wait_kinds[] = { "dns", "tcp", NULL };

#define WAIT_ARG(field) offsetof(struct wait_args, field)

static const struct plugin_arg wait_arg_table[] = {
    { "for", ARG_STR, WAIT_ARG(what), "dns", .values = wait_kinds,
      .doc = "dns: until names resolve; tcp: until --port answers" },
    { "tasks", ARG_LIST, WAIT_ARG(tasks), "",
      .doc = "tasks to wait for; empty: all but the pod's own. With --for=tcp their pods do not wait" },
    { "port", ARG_PORT, WAIT_ARG(port), NULL, .doc = "port to connect to, with --for=tcp" },
    { "timeout", ARG_INT, WAIT_ARG(timeout), "300", .doc = "seconds to wait before the pod fails" },
    { "image", ARG_STR, WAIT_ARG(image), "", .doc = "image of the init container; empty: that of the first container" },
    { "min", ARG_INT, WAIT_ARG(min), "0", .doc = "number of hosts to wait for; 0: all" },
};

static bool wait_is_tcp(const struct wait_args *args)
{
    return str_eq(args->what, STR("tcp"));
}

static void check_tcp(const struct wait_args *args, const struct place *at, struct problems *ps)
{
    if (!args->port)
        problem_error(ps, at, "plugin wait: argument port: needed with --for=tcp");
    if (str_empty(args->tasks))
        problem_error(ps, at,
                      "plugin wait: argument tasks: needed with --for=tcp; tasks that wait for each other never start");
}

static void wait_check(struct plugin_call *call, const struct place *at, struct problems *ps)
{
    const struct wait_args *args = call->args;
    struct rank_order order;
    struct err e = { 0 };

    if (rank_order_init(call->arena, call->job, args->tasks, &order, &e) < 0)
        problem_error(ps, at, "plugin wait: argument tasks: %s", e.text);
    timeout_check(at, "timeout", args->timeout, ps);
    if (args->min < 0 || args->min > PLUGIN_PODS_MAX)
        problem_error(ps, at, "plugin wait: argument min: bad value \"%lld\" (must be a number from 0 to %d)",
                      (long long)args->min, PLUGIN_PODS_MAX);
    if (wait_is_tcp(args))
        check_tcp(args, at, ps);
    else if (call->job->spec.tasks.n > 1 && !plugin_set_flag(call->set, "svc", "publish-not-ready-addresses", false))
        problem_warn(ps, at,
                     "plugin wait: pods that wait are not ready, and names of such pods are not in DNS: tasks that "
                     "wait for each "
                     "other need svc --publish-not-ready-addresses=true");
}

struct wait_state {
    bool *is_listed; /* by position of the task */
};

static int wait_prepare(struct plugin_call *call, struct err *e)
{
    const struct wait_args *args = call->args;
    struct wait_state *state = arena_new(call->arena, struct wait_state);
    struct rank_order order;

    call->state = state;
    if (rank_order_init(call->arena, call->job, args->tasks, &order, e) < 0)
        return -1;
    state->is_listed = arena_array(call->arena, bool, call->job->spec.tasks.n);
    for (size_t i = 0; i < order.n; i++)
        state->is_listed[order.task_pos[i]] = true;
    return 0;
}

/* The host files that pods of the task at 'own' wait for; none: they do not wait. */
static struct str_list wait_files(struct plugin_call *call, size_t own)
{
    const struct wait_args *args = call->args;
    const struct wait_state *state = call->state;
    size_t n = call->job->spec.tasks.n;
    struct str_list files = { arena_array(call->arena, struct str, n), 0 };

    if (wait_is_tcp(args) && state->is_listed[own])
        return files;
    for (size_t i = 0; i < n; i++) {
        const struct job_task *task = &call->job->spec.tasks.v[i];
        bool wanted = str_empty(args->tasks) ? i != own : state->is_listed[i];

        if (wanted && task_pods(task))
            files.v[files.n++] = host_file_name(call->arena, task->name);
    }
    return files;
}

static int wait_on_pod(struct plugin_call *call, struct pod_draft *pod, struct err *e)
{
    const struct wait_args *args = call->args;
    struct wait_script wait = {
        .dns_only = !wait_is_tcp(args),
        .files = wait_files(call, pod->task_pos),
        .skip = job_pod_domain(call->arena, call->job, pod->task, pod->index),
        .port = args->port,
        .timeout_s = args->timeout,
        .min = args->min,
    };

    (void)e;
    if (wait.files.n)
        pod_add_wait(call, pod, STR("wait-for-peers"), args->image, &wait);
    return 0;
}

static const char *const wait_adds[] = {
    "init container wait-for-peers after those of the template, in pods that wait for others",
    NULL,
};

const struct job_plugin plugin_wait = {
    .name = "wait",
    .summary = "start pods only when the others can be reached",
    .args = wait_arg_table,
    .n_args = ARRAY_LEN(wait_arg_table),
    .args_size = sizeof(struct wait_args),
    .forces = { "svc" },
    .adds = wait_adds,
    .check = wait_check,
    .prepare = wait_prepare,
    .on_pod = wait_on_pod,
};
