/* pod.c - from a task's template to a pod */
#include "job/pod.h"

#include "api/meta.h"
#include "base/util.h"
#include "job/volume.h"

struct str job_group_name(struct arena *a, const struct job *job)
{
    return arena_fmt(a, "%.*s-%.*s", STR_ARG(job->meta.name), STR_ARG(job->meta.uid));
}

static void pod_set_text(struct arena *a, struct json *map, const char *key, struct str value)
{
    json_set(map, key, json_mark(json_str(a, value), MARK_JOB));
}

/* Copied from the Job to its pods as they stand; the scheduler reads them there. */
static void pod_inherit(struct arena *a, struct json *to, const struct json *from, const char *key)
{
    const struct json *value = json_get(from, key);

    if (json_is(value, JSON_STRING))
        pod_set_text(a, to, key, json_text(value, STR_NULL));
}

static struct str task_label(const struct job_task *task)
{
    return str_empty(task->name) ? STR("default") : task->name;
}

static bool is_forwarded(const struct job *job)
{
    return str_is(json_member_text(job->meta.annotations, "volcano.sh/job-forwarding"), "true");
}

static void pod_add_labels(struct arena *a, const struct job *job, const struct pod_draft *pod, struct json *labels)
{
    pod_set_text(a, labels, "volcano.sh/task-index", arena_fmt(a, "%u", pod->index));
    pod_set_text(a, labels, "volcano.sh/job-name", job->meta.name);
    pod_set_text(a, labels, "volcano.sh/task-spec", task_label(pod->task));
    pod_set_text(a, labels, "volcano.sh/job-namespace", job->meta.namespace);
    pod_set_text(a, labels, "volcano.sh/queue-name", job->spec.queue);
    pod_inherit(a, labels, job->meta.labels, "volcano.sh/preemptable");
    pod_inherit(a, labels, job->meta.labels, "volcano.sh/cooldown-time");
    if (is_forwarded(job))
        pod_set_text(a, labels, "volcano.sh/job-forwarding", STR("true"));
    if (pod->task->partition) {
        int32_t size = pod->task->partition->partition_size;

        pod_set_text(a, labels, "volcano.sh/partition-id",
                     arena_fmt(a, "%u", size > 0 ? pod->index / (uint32_t)size : 0));
    }
}

static void add_annotations(struct arena *a, const struct job *job, const struct pod_draft *pod, struct json *notes)
{
    const struct json *own = job->meta.annotations;
    struct str task = task_label(pod->task);

    pod_set_text(a, notes, "volcano.sh/task-index", arena_fmt(a, "%u", pod->index));
    pod_set_text(a, notes, "volcano.sh/task-spec", task);
    pod_set_text(a, notes, "scheduling.k8s.io/group-name", job_group_name(a, job));
    pod_set_text(a, notes, "volcano.sh/job-name", job->meta.name);
    pod_set_text(a, notes, "volcano.sh/queue-name", job->spec.queue);
    pod_set_text(a, notes, "volcano.sh/job-version", arena_fmt(a, "%d", job->status.version));
    pod_set_text(a, notes, "volcano.sh/template-uid",
                 arena_fmt(a, "%.*s-%.*s", STR_ARG(job->meta.name), STR_ARG(task)));
    pod_set_text(a, notes, "volcano.sh/job-retry-count", arena_fmt(a, "%d", job->status.retry_count));
    if (!str_empty(pod->task->topology_policy))
        pod_set_text(a, notes, "volcano.sh/numa-topology-policy", pod->task->topology_policy);
    pod_inherit(a, notes, own, "volcano.sh/preemptable");
    pod_inherit(a, notes, own, "volcano.sh/cooldown-time");
    pod_inherit(a, notes, own, "volcano.sh/revocable-zone");
    pod_inherit(a, notes, own,
                json_get(own, "volcano.sh/jdb-min-available") ? "volcano.sh/jdb-min-available"
                                                              : "volcano.sh/jdb-max-unavailable");
    if (is_forwarded(job))
        pod_set_text(a, notes, "volcano.sh/job-forwarding", STR("true"));
}

/* An object member of the template, copied into 'to' (or a new one), as something that can be added to. */
static struct json *copied_map(struct arena *a, struct json *to, const struct json *template_meta, const char *key)
{
    const struct json *from = json_get(template_meta, key);

    if (json_is(from, JSON_OBJECT))
        return json_add(to, str_of(key), json_copy(a, from));
    return json_add(to, str_of(key), json_mark(json_object(a), MARK_JOB));
}

struct json *job_task_labels(struct arena *a, const struct job *job, const struct job_task *task)
{
    static const char *const of_one_pod[] = { "volcano.sh/task-index", "volcano.sh/partition-id" };
    struct pod_draft pod = { .task = task };
    struct json *labels = copied_map(a, json_object(a), json_get(task->template, "metadata"), "labels");

    pod_add_labels(a, job, &pod, labels);
    for (size_t i = 0; i < ARRAY_LEN(of_one_pod); i++)
        json_remove(labels, of_one_pod[i]);
    return labels;
}

static void job_pod_default_text(struct arena *a, struct json *spec, const char *key, struct str value)
{
    if (!str_empty(value) && str_empty(json_member_text(spec, key)))
        pod_set_text(a, spec, key, value);
}

static void draft_init(struct arena *a, const struct job *job, struct pod_draft *pod)
{
    const struct json *template_meta = json_get(pod->task->template, "metadata");
    const struct json *template_spec = job_task_pod_spec(pod->task);

    pod->name = job_pod_name(a, job, pod->task, pod->index);
    pod->root = json_mark(object_new(a, "v1", "Pod", job->meta.namespace, pod->name), MARK_JOB);
    pod->meta = json_get(pod->root, "metadata");
    pod_add_labels(a, job, pod, copied_map(a, pod->meta, template_meta, "labels"));
    add_annotations(a, job, pod, copied_map(a, pod->meta, template_meta, "annotations"));
    object_set_controller(a, pod->root, job->raw);
    json_mark(json_get(pod->meta, "ownerReferences"), MARK_JOB);

    pod->spec = json_is(template_spec, JSON_OBJECT) ? json_copy(a, template_spec) : json_object(a);
    json_add(pod->root, STR("spec"), pod->spec);
    job_pod_default_text(a, pod->spec, "schedulerName", job->spec.scheduler_name);
    job_pod_default_text(a, pod->spec, "priorityClassName", job->spec.priority_class_name);
}

int job_pod_new(struct arena *a, const struct job *job, const struct plugin_set *set, struct pod_draft *pod,
                struct err *e)
{
    pod->task = &job->spec.tasks.v[pod->task_pos];
    draft_init(a, job, pod);
    job_volumes_mount(a, job, pod->spec);
    return plugin_set_pod(set, a, pod, e) < 0 ? err_wrap(e, "pod %.*s", STR_ARG(pod->name)) : 0;
}
