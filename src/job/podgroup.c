/* podgroup.c - building the PodGroup */
#include "job/podgroup.h"

#include "api/meta.h"
#include "base/map.h"
#include "base/util.h"
#include "job/pod.h"

struct podgroup_ranked { /* a task with the priority of its pods */
    const struct job_task *task;
    int64_t priority;
    size_t pos;
    int64_t counted; /* pods of it that are in the gang */
};

static int by_priority(const void *x, const void *y)
{
    const struct podgroup_ranked *a = x, *b = y;

    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    return (a->pos > b->pos) - (a->pos < b->pos);
}

static struct podgroup_ranked *rank_tasks(struct arena *a, const struct job *job,
                                          const struct priority_source *priorities)
{
    struct podgroup_ranked *r = arena_array(a, struct podgroup_ranked, job->spec.tasks.n + 1);

    for (size_t i = 0; i < job->spec.tasks.n; i++) {
        const struct job_task *task = &job->spec.tasks.v[i];
        struct str class = json_member_text(job_task_pod_spec(task), "priorityClassName");

        r[i] = (struct podgroup_ranked){ .task = task, .pos = i };
        if (priorities && priorities->value && !str_empty(class))
            r[i].priority = priorities->value(priorities->ctx, class);
    }
    qsort(r, job->spec.tasks.n, sizeof(*r), by_priority);
    return r;
}

static int64_t podgroup_take(struct podgroup_ranked *r, int64_t most, int64_t *left)
{
    int64_t n = MAX_OF(MIN_OF(most, *left), 0);

    r->counted += n;
    *left -= n;
    return n;
}

/* Which pods make up the gang. A job that wants fewer than its tasks' minima together fills task by task; else each
 * task first gets its own minimum, and what is still missing comes from the rest in the same order. */
static void count_gang(const struct job *job, struct podgroup_ranked *r)
{
    int64_t left = job->spec.min_available, minima = 0;
    size_t n = job->spec.tasks.n;

    for (size_t i = 0; i < n; i++)
        minima += r[i].task->min_available ? *r[i].task->min_available : r[i].task->replicas;
    if (left < minima) {
        for (size_t i = 0; i < n; i++)
            podgroup_take(&r[i], r[i].task->replicas, &left);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (r[i].task->min_available)
            podgroup_take(&r[i], *r[i].task->min_available, &left);
    for (size_t i = 0; i < n; i++)
        podgroup_take(&r[i], r[i].task->replicas - r[i].counted, &left);
}

void job_min_resources(struct arena *a, const struct job *job, const struct priority_source *priorities,
                       struct resources *ret)
{
    struct podgroup_ranked *r = rank_tasks(a, job, priorities);

    *ret = (struct resources){ 0 };
    count_gang(job, r);
    for (size_t i = 0; i < job->spec.tasks.n; i++) {
        struct resources one;

        pod_quota_usage(a, job_task_pod_spec(r[i].task), &one);
        resources_add_times(a, ret, &one, r[i].counted);
    }
}

static struct json *topology_new(struct arena *a, const struct network_topology *t)
{
    struct json *j = json_object(a);

    json_add(j, STR("mode"), json_str(a, str_empty(t->mode) ? STR("hard") : t->mode));
    if (t->highest_tier_allowed)
        json_add(j, STR("highestTierAllowed"), json_int(a, *t->highest_tier_allowed));
    else if (!str_empty(t->highest_tier_name))
        json_add(j, STR("highestTierName"), json_str(a, t->highest_tier_name));
    return j;
}

/* One entry for each task that is split into partitions: its pods are grouped by their partition-id. */
static struct json *sub_groups_new(struct arena *a, const struct job *job)
{
    struct json *list = json_array(a);

    for (size_t i = 0; i < job->spec.tasks.n; i++) {
        const struct job_task *task = &job->spec.tasks.v[i];
        const struct job_partition *p = task->partition;
        struct json *item, *labels, *keys;

        if (!p)
            continue;
        item = json_push(list, json_object(a));
        json_add(item, STR("name"), json_str(a, task->name));
        json_add(item, STR("subGroupSize"), json_int(a, p->partition_size));
        json_add(item, STR("minSubGroups"), json_int(a, p->min_partitions));
        labels = json_add(json_add(item, STR("labelSelector"), json_object(a)), STR("matchLabels"), json_object(a));
        json_add(labels, STR("volcano.sh/task-spec"), json_str(a, task->name));
        keys = json_add(item, STR("matchLabelKeys"), json_array(a));
        json_push(keys, json_str(a, STR("volcano.sh/partition-id")));
        if (p->network_topology)
            json_add(item, STR("networkTopology"), topology_new(a, p->network_topology));
    }
    return list;
}

/* All but kubectl's copy of the manifest: on the PodGroup it is wrong (it describes a Job), large, and may hold a
 * private key given as an argument. */
static void copy_member(struct arena *a, struct json *to, const char *key, const struct json *from)
{
    struct json *copy;

    if (!json_is(from, JSON_OBJECT))
        return;
    copy = json_copy(a, from);
    json_remove(copy, "kubectl.kubernetes.io/last-applied-configuration");
    if (json_count(copy))
        json_add(to, str_of(key), copy);
}

struct json *job_podgroup_new(struct arena *a, const struct job *job, const struct priority_source *priorities)
{
    struct json *pg = object_new(a, "scheduling.volcano.sh/v1beta1", "PodGroup", job->meta.namespace,
                                 job_group_name(a, job));
    struct json *meta = json_get(pg, "metadata"), *spec, *members, *groups;
    struct resources min;
    struct map names;

    copy_member(a, meta, "labels", job->meta.labels);
    copy_member(a, meta, "annotations", job->meta.annotations);
    object_set_controller(a, pg, job->raw);

    spec = json_add(pg, STR("spec"), json_object(a));
    json_add(spec, STR("minMember"), json_int(a, job->spec.min_available));
    members = json_add(spec, STR("minTaskMember"), json_object(a));
    map_init(&names, (uint64_t)(uintptr_t)members);
    for (size_t i = 0; i < job->spec.tasks.n; i++)
        if (map_add(&names, a, job->spec.tasks.v[i].name)) /* always, unless admission was passed by */
            json_add(members, job->spec.tasks.v[i].name, json_int(a, job_task_minimum(&job->spec.tasks.v[i])));
    map_done(&names);
    json_add(spec, STR("queue"), json_str(a, job->spec.queue));
    if (!str_empty(job->spec.priority_class_name))
        json_add(spec, STR("priorityClassName"), json_str(a, job->spec.priority_class_name));
    job_min_resources(a, job, priorities, &min);
    json_add(spec, STR("minResources"), resources_to_json(a, &min));
    if (job->spec.network_topology)
        json_add(spec, STR("networkTopology"), topology_new(a, job->spec.network_topology));
    groups = sub_groups_new(a, job);
    if (json_count(groups))
        json_add(spec, STR("subGroupPolicy"), groups);
    return json_mark(pg, MARK_JOB);
}
