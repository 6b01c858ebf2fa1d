/* feed_group.c - PodGroups and the Jobs they belong to
 *
 * A group is put together from three sides: its PodGroup, its Job, and pods that name it. Each side keeps what it said;
 * feed_group_settle() works out what holds, so that the order in which they come does not matter.
 */
#include "api/job.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "sched/fit/class.h"
#include "sched/model/feed_internal.h"

/* ---- both ---- */

bool group_set_priority(const struct sched_model *m, struct sched_group *g)
{
    const struct sched_priority *class = map_get(&m->priorities, g->spec.priority_class);
    int32_t priority = class ? class->value : m->default_priority;
    bool never = class && class->never_preempts;
    bool is_changed = g->spec.priority != priority || g->spec.never_preempts != never;

    g->spec.priority = priority;
    g->spec.never_preempts = never;
    model_priority_changed(g);
    return is_changed;
}

static void feed_group_settle(struct sched_model *m, struct sched_group *g)
{
    struct str queue = g->podgroup.exists ? g->podgroup.queue : g->job.exists ? g->job.queue : STR_NULL;

    g->spec.owner_job = g->job.exists ? g->job.job_name : g->podgroup.job_name;
    g->spec.runtime_ms = g->podgroup.runtime_ms ? g->podgroup.runtime_ms : g->job.runtime_ms;
    g->spec.came_ms = g->job.created_ms > 0 ? MIN_OF(g->job.created_ms, g->spec.created_ms) : g->spec.created_ms;
    (void)group_set_priority(m, g);
    group_settle_minima(g);
    model_set_queue(m, g, str_empty(queue) ? STR("default") : queue);
    model_touch(m, g);
}

/* ---- PodGroup ---- */

static struct str owner_of(const struct json *meta)
{
    JSON_FOREACH(ref, json_get(meta, "ownerReferences"))
        if (str_is(json_member_text(ref, "kind"), "Job") &&
            str_starts(json_member_text(ref, "apiVersion"), STR("batch.volcano.sh/")))
            return json_member_text(ref, "name");
    return STR_NULL;
}

static void read_minima(struct sched_group *g, const struct json *members)
{
    VEC_FOREACH(r, &g->roles)
        (*r)->told_min = 0;
    if (json_is(members, JSON_OBJECT))
        JSON_FOREACH(member, members)
            group_need_role(g, json_key(member))->told_min = number_of(member, 0, INT32_MAX, 0);
}

static void read_subgroups(struct sched_group *g, const struct json *policies)
{
    g->spec.subgroups = tree_keep(&g->spec.arena, policies, JSON_ARRAY);
    g->spec.subgroups_min = g->spec.subgroups_more = 0;
    JSON_FOREACH(policy, g->spec.subgroups) {
        int64_t size = number_of(json_get(policy, "subGroupSize"), 1, INT32_MAX, 1);
        int64_t min = number_of(json_get(policy, "minSubGroups"), 0, INT32_MAX, 0);

        g->spec.subgroups_min = MIN_OF(g->spec.subgroups_min + size * min, INT32_MAX);
        g->spec.subgroups_more = MIN_OF(g->spec.subgroups_more + size, INT32_MAX);
    }
}

static void feed_group_read_text(struct sched_group *g, const struct json *meta, const struct json *spec)
{
    g->uid = json_member_text(meta, "uid");
    g->podgroup.queue = json_member_text(spec, "queue");
    g->podgroup.job_name = owner_of(meta);
    g->spec.priority_class = json_member_text(spec, "priorityClassName");
    text_pack(&g->podgroup.text,
              (struct str *const[]){ &g->uid, &g->podgroup.queue, &g->podgroup.job_name, &g->spec.priority_class }, 4);
}

/* Few groups have such texts; the others need no memory for them. */
static struct str keep_text(struct sched_group *g, struct str text)
{
    return str_empty(text) ? STR_NULL : arena_str(&g->spec.arena, text);
}

static void read_group(struct sched_model *m, struct sched_group *g, const struct json *root)
{
    const struct json *meta = json_get(root, "metadata"), *spec = json_get(root, "spec");
    const struct json *min = json_get(spec, "minResources"), *notes = json_get(meta, "annotations");
    struct str sla = json_member_text(notes, "volcano.sh/sla-waiting-time");
    bool was_safe;

    feed_group_read_text(g, meta, spec);
    arena_reset(&g->spec.arena);
    g->spec.topology = tree_keep(&g->spec.arena, json_get(spec, "networkTopology"), JSON_OBJECT);
    read_subgroups(g, json_get(spec, "subGroupPolicy"));
    g->spec.near = keep_text(g, json_member_text(notes, "volcano.sh/task-topology-affinity"));
    g->spec.apart = keep_text(g, json_member_text(notes, "volcano.sh/task-topology-anti-affinity"));
    g->spec.task_order = keep_text(g, json_member_text(notes, "volcano.sh/task-topology-task-order"));
    g->spec.min_member = number_of(json_get(spec, "minMember"), 0, INT32_MAX, 0);
    read_minima(g, json_get(spec, "minTaskMember"));
    g->spec.has_min_resources = json_is(min, JSON_OBJECT);
    g->spec.min_resources = (struct amounts){ 0 };
    amounts_from_json(&m->dims, min, &g->spec.min_resources, NULL);
    g->spec.created_ms = time_of(json_get(meta, "creationTimestamp"));
    g->spec.is_deleting = !str_empty(json_member_text(meta, "deletionTimestamp"));
    was_safe = !g->spec.is_preemptable;
    g->spec.is_preemptable = truth_of(annotation_of(meta, "volcano.sh/preemptable"), true);
    if (was_safe && g->spec.is_preemptable)
        m->room_gen++; /* for groups that could use its places */
    g->spec.sla_ms = duration_of(str_empty(sla) ? json_member_text(notes, "sla-waiting-time") : sla);
    g->podgroup.runtime_ms = duration_of(json_member_text(notes, "pumice.dev/runtime"));
}

static void read_phase(struct sched_group *g, struct str text)
{
    g->status.has_phase = false;
    g->status.phase = GROUP_PENDING;
    for (int i = 0; i < GROUP_PHASE_MAX; i++)
        if (str_is(text, group_phase_names[i])) {
            g->status.phase = (enum group_phase)i;
            g->status.has_phase = true;
        }
}

/* Mostly the echo of what we said ourselves: then there is nothing to do. */
static void group_read_status(struct sched_model *m, struct sched_group *g, const struct json *status)
{
    uint64_t said = hash_of_status(status);
    enum group_phase old = g->status.phase;
    bool had_phase = g->status.has_phase;

    read_phase(g, json_member_text(status, "phase"));
    if (said == g->status.written && old == g->status.phase && had_phase == g->status.has_phase)
        return;
    g->status.written = said;
    g->status.condition = hash_of_status(json_get(status, "conditions"));
    g->status.condition_ms = 0;
    (void)clock_parse(json_member_text(json_at(json_get(status, "conditions"), 0), "lastTransitionTime"),
                      &g->status.condition_ms, NULL); /* none: long ago */
    model_touch(m, g);
}

void group_put(struct sched_model *m, const struct json *root)
{
    static const char *const skip[] = { "resourceVersion", "generation", "managedFields", NULL };
    struct head head;
    struct sched_group *g;
    uint64_t hash; /* of everything that read_group() looks at */

    if (!head_read(root, &head))
        return;
    hash = hash_mix(tree_hash(json_get(root, "metadata"), skip), tree_hash(json_get(root, "spec"), NULL));
    g = model_need_group(m, head.namespace, head.name);
    if (g->podgroup.exists && is_old_news(head.rev, g->podgroup.rev))
        return;
    if (g->podgroup.exists && !str_eq(g->uid, head.uid)) /* another one of the same name */
        model_forget_group(m, g);
    g->podgroup.rev = head.rev;
    if (!g->podgroup.exists || g->podgroup.hash != hash) {
        read_group(m, g, root);
        g->podgroup.exists = true;
        g->podgroup.hash = hash;
        feed_group_settle(m, g);
    }
    group_read_status(m, g, json_get(root, "status"));
}

void group_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid)
{
    struct sched_group *g = model_group(m, namespace, name);

    if (!g || !g->podgroup.exists || (!str_empty(uid) && !str_eq(uid, g->uid)))
        return;
    if (!amounts_is_zero(&g->admitted, m->dims.n))
        m->room_gen++; /* what was promised to it is free for others */
    model_forget_group(m, g);
    read_group(m, g, NULL);
    g->podgroup.exists = false;
    g->podgroup.rev = g->podgroup.hash = g->status.written = 0;
    read_phase(g, STR_NULL);
    feed_group_settle(m, g);
    model_release_group(m, g);
}

/* ---- Job ---- */

static struct str task_name(const struct json *task)
{
    struct str name = json_member_text(task, "name");

    return str_empty(name) ? STR("default") : name; /* what the label of its pods says */
}

/* The template with the labels that all pods of the task will get: others may look for them. */
static struct json *template_pod(struct arena *a, const struct head *job, const struct json *spec,
                                 const struct json *task)
{
    const struct json *template = json_get(task, "template"), *own = json_find(template, "metadata", "labels", NULL);
    const struct json *template_spec = json_get(template, "spec");
    struct json *pod = json_object(a), *meta = json_add(pod, STR("metadata"), json_object(a)), *labels, *body;

    labels = json_add(meta, STR("labels"), json_is(own, JSON_OBJECT) ? json_copy(a, own) : json_object(a));
    json_set(labels, "volcano.sh/job-name", json_str(a, job->name));
    json_set(labels, "volcano.sh/job-namespace", json_str(a, job->namespace));
    json_set(labels, "volcano.sh/task-spec", json_str(a, task_name(task)));
    json_set(labels, "volcano.sh/queue-name", json_str(a, json_member_text(spec, "queue")));
    body = json_object(a);
    if (json_is(template_spec, JSON_OBJECT)) { /* the children are shared: they are only read */
        *body = *template_spec;
        body->next = NULL;
    }
    json_add(pod, STR("spec"), body);
    return pod;
}

bool role_set_priority(const struct sched_model *m, struct sched_role *r)
{
    const struct sched_priority *class = map_get(&m->priorities, r->priority_class);
    int32_t old = r->priority;

    if (!r->has_own_priority)
        r->priority = class ? class->value : 1;
    return r->class && r->priority != old;
}

static void read_role_priority(struct sched_model *m, struct sched_role *r, const struct json *template)
{
    struct str note = json_member_text(json_find(template, "metadata", "annotations", NULL),
                                       "volcano.sh/task-priority");
    int64_t v;

    r->has_own_priority = str_to_i64(note, &v) == 0 && v == int32_of(v);
    if (!r->has_own_priority)
        r->has_own_priority = json_to_i64(json_find(template, "spec", "priority", NULL), &v) == 0;
    if (r->has_own_priority)
        r->priority = int32_of(v);
    (void)role_set_priority(m, r);
}

static void read_role(struct sched_model *m, struct sched_group *g, const struct head *job, const struct json *spec,
                      const struct json *task)
{
    struct sched_role *r = group_need_role(g, task_name(task));
    struct json *pod = template_pod(&m->scratch_arena, job, spec, task);
    const struct pod_class *old = r->class;

    r->class = class_ref(m, job->namespace, pod);
    class_unref(m, old);
    r->labels = labels_text(&m->scratch_arena, json_find(pod, "metadata", "labels", NULL));
    r->priority_class = json_member_text(json_get(pod, "spec"), "priorityClassName");
    text_pack(&r->text, (struct str *const[]){ &r->labels, &r->priority_class }, 2);
    r->replicas = number_of(json_get(task, "replicas"), 0, INT32_MAX, 0);
    r->has_dependencies = json_is(json_get(task, "dependsOn"), JSON_OBJECT);
    read_role_priority(m, r, json_get(task, "template"));
}

/* Of its status only this: whether it wants pods, and which pods are done and not made again. */
static void job_read_status(struct sched_model *m, struct sched_group *g, const struct json *status)
{
    static const char *const wants_pods[] = { "", "Pending", "Inqueue", "Running" };
    struct str phase = json_member_text(json_get(status, "state"), "phase");

    g->job.is_ending = true;
    for (size_t i = 0; i < ARRAY_LEN(wants_pods); i++)
        g->job.is_ending &= !str_is(phase, wants_pods[i]);
    VEC_FOREACH(r, &g->roles)
        model_set_done(m, *r, (*r)->class ? job_task_done(status, (*r)->name) : STR_NULL);
}

static void clear_role(struct sched_model *m, struct sched_role *r)
{
    class_unref(m, r->class);
    free(r->text);
    r->class = NULL;
    r->text = NULL;
    r->labels = r->priority_class = STR_NULL;
    r->replicas = 0;
    r->priority = 0;
    r->has_own_priority = r->has_dependencies = false;
}

static void read_roles(struct sched_model *m, struct sched_group *g, const struct head *job, const struct json *spec)
{
    const int64_t not_named = -1;
    const struct json *tasks = json_get(spec, "tasks");

    VEC_FOREACH(r, &g->roles)
        (*r)->replicas = not_named;
    if (json_is(tasks, JSON_ARRAY))
        JSON_FOREACH(task, tasks)
            read_role(m, g, job, spec, task);
    VEC_FOREACH(r, &g->roles)
        if ((*r)->replicas == not_named)
            clear_role(m, *r);
}

/* Tasks that wait for others are left out of the PodGroup's minimum until it is their turn: it alone knows. */
static bool has_dependencies(const struct json *spec)
{
    JSON_FOREACH(task, json_get(spec, "tasks"))
        if (json_is(json_get(task, "dependsOn"), JSON_OBJECT))
            return true;
    return false;
}

static void feed_group_read_job(struct sched_model *m, struct sched_group *g, const struct head *job,
                                const struct json *spec)
{
    g->job.job_name = job->name;
    g->job.queue = json_member_text(spec, "queue");
    text_pack(&g->job.text, (struct str *const[]){ &g->job.job_name, &g->job.queue }, 2);
    g->spec.job_min = has_dependencies(spec) ? 0 : number_of(json_get(spec, "minAvailable"), 0, INT32_MAX, 0);
    g->job.created_ms = time_of(json_get(job->meta, "creationTimestamp"));
    g->job.runtime_ms = duration_of(json_member_text(json_get(job->meta, "annotations"), "pumice.dev/runtime"));
    read_roles(m, g, job, spec);
}

static struct str feed_group_job(struct sched_model *m, struct str name, struct str uid)
{
    return arena_fmt(&m->scratch_arena, "%.*s-%.*s", STR_ARG(name), STR_ARG(uid));
}

void job_put(struct sched_model *m, const struct json *root)
{
    const struct json *spec = json_get(root, "spec");
    struct head head;
    struct sched_group *g;
    uint64_t hash;

    if (!head_read(root, &head))
        return;
    g = model_need_group(m, head.namespace, feed_group_job(m, head.name, head.uid));
    if (g->job.exists && is_old_news(head.rev, g->job.rev))
        return;
    g->job.rev = head.rev;
    hash = hash_mix(tree_hash(spec, NULL), tree_hash(json_get(head.meta, "annotations"), NULL));
    if (!g->job.exists || g->job.hash != hash) { /* its status changes all the time */
        g->job.hash = hash;
        g->job.exists = true;
        feed_group_read_job(m, g, &head, spec);
        feed_group_settle(m, g);
    }
    job_read_status(m, g, json_get(root, "status"));
}

void job_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid)
{
    struct sched_group *g = model_group(m, namespace, feed_group_job(m, name, uid));

    if (!g || !g->job.exists)
        return;
    feed_group_read_job(m, g, &(struct head){ 0 }, NULL);
    job_read_status(m, g, NULL);
    g->job.exists = false;
    g->job.rev = g->job.hash = 0;
    feed_group_settle(m, g);
    model_release_group(m, g);
}
