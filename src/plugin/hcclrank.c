/* hcclrank.c - the rank of a pod for Ascend HCCL, as an annotation
 *
 * Runs last: a RANK that another plugin (pytorch) or the user set is taken over.
 */
#include "plugin/plugin_internal.h"
#include "plugin/pod.h"

#include "base/util.h"

#define RANK_ANNOTATION "hccl/rankIndex"

struct hccl_args {
    struct str master, worker;
};

static const struct plugin_arg hccl_arg_table[] = {
    { "master", ARG_STR, offsetof(struct hccl_args, master), "master", .doc = "task whose pods have the first ranks" },
    { "worker", ARG_STR, offsetof(struct hccl_args, worker), "worker", .doc = "task whose pods come after them" },
};

/* The last entry named RANK of the first container that has one: that is what Kubernetes gives to the process. An
 * entry with valueFrom has an empty value for us. */
static struct str rank_of_env(const struct pod_draft *pod)
{
    POD_FOREACH_CONTAINER(c, pod, POD_MAIN) {
        const struct json *found = NULL;

        JSON_FOREACH(env, json_get(c, "env"))
            if (str_eq(json_member_text(env, "name"), STR("RANK")))
                found = env;
        if (found)
            return json_member_text(found, "value");
    }
    return STR_NULL;
}

static int hccl_on_pod(struct plugin_call *call, struct pod_draft *pod, struct err *e)
{
    const struct hccl_args *args = call->args;
    const struct job_task *master = job_task_by_name(call->job, args->master, NULL);
    bool is_master = str_eq(pod->task->name, args->master);
    struct str rank = rank_of_env(pod);
    struct str label;
    int64_t index;

    if (!str_empty(json_member_text(json_get(pod->meta, "annotations"), RANK_ANNOTATION)))
        return 0;
    if (!str_empty(rank)) {
        pod_set_annotation(call, pod, RANK_ANNOTATION, rank);
        return 0;
    }
    if (!is_master && !str_eq(pod->task->name, args->worker))
        return 0;
    label = json_member_text(json_get(pod->meta, "labels"), "volcano.sh/task-index");
    if (str_to_i64(label, &index) < 0)
        return err_set(e, ERR_INVALID, "pod %.*s: label volcano.sh/task-index is \"%.*s\", not a number",
                       STR_ARG(pod->name), STR_ARG(label));
    if (!is_master && master)
        index += task_pods(master);
    pod_set_annotation(call, pod, RANK_ANNOTATION, arena_fmt(call->arena, "%lld", (long long)index));
    return 0;
}

static const char *const hccl_adds[] = {
    "annotation " RANK_ANNOTATION ": the variable RANK if a container has it, else the rank among masters and workers",
    NULL,
};

const struct job_plugin plugin_hcclrank = {
    .name = "hcclrank",
    .summary = "rank of each pod for Ascend HCCL",
    .args = hccl_arg_table,
    .n_args = ARRAY_LEN(hccl_arg_table),
    .args_size = sizeof(struct hccl_args),
    .adds = hccl_adds,
    .on_pod = hccl_on_pod,
};
