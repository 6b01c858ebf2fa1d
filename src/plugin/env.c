/* env.c - tells every container its index inside the task, and more of the job if asked */
#include "plugin/plugin_internal.h"

#include "base/util.h"
#include "plugin/pod.h"

struct env_args {
    bool extended, keep_user_env, override;
};

static const struct plugin_arg env_table[] = {
    { "extended", ARG_BOOL, offsetof(struct env_args, extended), "false", NULL, NULL,
      "also VC_JOB_NAME, VC_JOB_NAMESPACE, VC_JOB_UID, VC_TASK_NAME, VC_TASK_REPLICAS, VC_JOB_RANK, VC_JOB_SIZE, "
      "VC_RETRY_COUNT" },
    { "keep-user-env", ARG_BOOL, offsetof(struct env_args, keep_user_env), "false", NULL, NULL,
      "keep index variables that the template sets" },
    { "override", ARG_BOOL, offsetof(struct env_args, override), "false", NULL, NULL,
      "replace variables of --extended that the template sets" },
};

static const char *const env_adds[] = {
    "env VK_TASK_INDEX, VC_TASK_INDEX in all containers and initContainers",
    "with --extended: VC_JOB_* and VC_TASK_* variables",
    NULL,
};

static int env_prepare(struct plugin_call *call, struct err *e)
{
    struct rank_order *order = arena_new(call->arena, struct rank_order);

    call->state = order;
    return rank_order_init(call->arena, call->job, STR_NULL, order, e);
}

static void add_extended(struct plugin_call *call, const struct pod_draft *pod, struct json *container)
{
    const struct env_args *args = call->args;
    const struct rank_order *order = call->state;
    const struct job *job = call->job;
    struct arena *a = call->arena;
    const struct {
        const char *name;
        struct str value;
    } vars[] = {
        { "VC_JOB_NAME", job->meta.name },
        { "VC_JOB_NAMESPACE", plugin_namespace(job) },
        { "VC_JOB_UID", job->meta.uid },
        { "VC_TASK_NAME", pod->task->name },
        { "VC_TASK_REPLICAS", arena_fmt(a, "%u", task_pods(pod->task)) },
        { "VC_JOB_RANK", arena_fmt(a, "%lld", (long long)rank_order_of(order, pod->task_pos, pod->index)) },
        { "VC_JOB_SIZE", arena_fmt(a, "%u", order->size) },
        { "VC_RETRY_COUNT", arena_fmt(a, "%d", job->status.retry_count) },
    };

    for (size_t i = 0; i < ARRAY_LEN(vars); i++)
        container_set_env(call, container, vars[i].name, vars[i].value, !args->override);
}

static int env_on_pod(struct plugin_call *call, struct pod_draft *pod, struct err *e)
{
    const struct env_args *args = call->args;
    struct str index = arena_fmt(call->arena, "%u", pod->index);

    (void)e;
    POD_FOREACH_CONTAINER(c, pod, POD_ALL) {
        container_set_env(call, c, "VK_TASK_INDEX", index, args->keep_user_env);
        container_set_env(call, c, "VC_TASK_INDEX", index, args->keep_user_env);
        if (args->extended)
            add_extended(call, pod, c);
    }
    return 0;
}

const struct job_plugin plugin_env = {
    .name = "env",
    .summary = "the pod's index inside its task as an environment variable",
    .args = env_table,
    .n_args = ARRAY_LEN(env_table),
    .args_size = sizeof(struct env_args),
    .adds = env_adds,
    .prepare = env_prepare,
    .on_pod = env_on_pod,
};
