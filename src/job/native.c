/* native.c - Workload and PodGroup of scheduling.k8s.io */
#include "job/native.h"

#include "api/meta.h"
#include "api/pod/status.h"
#include "api/types.h"
#include "base/util.h"
#include "job/pod.h"

#define TEMPLATE   "job"
#define PROTECTION "scheduling.k8s.io/podgroup-protection"

/* ---- what is wanted ---- */

/* A task that depends on another comes later, and the gang would wait for it in vain; when it comes, the gang has been
 * placed and its pods join one by one. */
int64_t native_gang_size(const struct job *job)
{
    int64_t first = 0;

    for (size_t i = 0; i < job->spec.tasks.n; i++)
        if (!job->spec.tasks.v[i].depends_on)
            first += job->spec.tasks.v[i].replicas;
    return MIN_OF((int64_t)job->spec.min_available, first);
}

/* Of a template and of a PodGroup alike. The class counts where the cluster has groups of a priority; else the server
 * leaves it out. */
static void native_add_policy(struct arena *a, const struct job *job, int64_t size, struct json *to)
{
    struct json *policy = json_add(to, STR("schedulingPolicy"), json_object(a));

    if (size > 0)
        json_add(json_add(policy, STR("gang"), json_object(a)), STR("minCount"), json_int(a, size));
    else
        json_add(policy, STR("basic"), json_object(a));
    if (!str_empty(job->spec.priority_class_name))
        json_add(to, STR("priorityClassName"), json_str(a, job->spec.priority_class_name));
}

static struct json *object_for(struct arena *a, const struct job *job, const char *kind)
{
    const char *version = arena_cstr(a, type_api_version(a, type_native(kind)));
    struct json *o = object_new(a, version, kind, job->meta.namespace, job_group_name(a, job));
    struct json *labels = json_add(json_get(o, "metadata"), STR("labels"), json_object(a));

    json_add(labels, STR("volcano.sh/job-name"), json_str(a, job->meta.name));
    object_set_controller(a, o, job->raw);
    return json_mark(o, MARK_JOB);
}

struct json *native_workload_new(struct arena *a, const struct job *job, int64_t size)
{
    struct json *w = object_for(a, job, "Workload"), *spec = json_add(w, STR("spec"), json_object(a)), *ref, *template;

    ref = json_add(spec, STR("controllerRef"), json_object(a));
    json_add(ref, STR("apiGroup"), json_str(a, STR("batch.volcano.sh")));
    json_add(ref, STR("kind"), json_str(a, STR(JOB_KIND)));
    json_add(ref, STR("name"), json_str(a, job->meta.name));
    template = json_push(json_add(spec, STR("podGroupTemplates"), json_array(a)), json_object(a));
    json_add(template, STR("name"), json_str(a, STR(TEMPLATE)));
    native_add_policy(a, job, size, template);
    return w;
}

/* What the PodGroup is made from. */
static void add_origin(struct arena *a, const struct job *job, struct json *spec)
{
    bool is_old = type_native_version() == NATIVE_V1ALPHA2;
    struct json *ref = json_add(spec, is_old ? STR("podGroupTemplateRef") : STR("workloadRef"), json_object(a));

    if (is_old)
        ref = json_add(ref, STR("workload"), json_object(a));
    json_add(ref, STR("workloadName"), json_str(a, job_group_name(a, job)));
    json_add(ref, is_old ? STR("podGroupTemplateName") : STR("templateName"), json_str(a, STR(TEMPLATE)));
}

struct json *native_group_new(struct arena *a, const struct job *job, int64_t size)
{
    struct json *g = object_for(a, job, "PodGroup"), *spec = json_add(g, STR("spec"), json_object(a));

    add_origin(a, job, spec);
    native_add_policy(a, job, size, spec);
    return g;
}

void native_join(struct arena *a, struct json *pod, struct str group, struct str own_scheduler)
{
    struct json *spec = json_need_object(a, pod, "spec");

    if (!spec)
        return;
    json_set(json_mark(json_set(spec, "schedulingGroup", json_object(a)), MARK_JOB), "podGroupName",
             json_mark(json_str(a, group), MARK_JOB));
    if (str_eq(json_member_text(spec, "schedulerName"), own_scheduler))
        json_mark(json_set(spec, "schedulerName", json_str(a, STR("default-scheduler"))), MARK_JOB);
}

const struct json *native_refusal(const struct json *group)
{
    const struct json *status = json_get(group, "status");
    const struct json *c = condition_with(status, "PodGroupInitiallyScheduled", "False");

    return c ? c : condition_with(status, "PodGroupScheduled", "False"); /* v1alpha2 */
}

/* ---- how many pods can be counted ---- */

struct native_census {
    int64_t ended; /* pods that have succeeded or failed: kube-scheduler has forgotten them */
    int64_t left;  /* those that are there or may come */
    bool waits;    /* one of them may have no place yet */
};

static struct native_census take_census(const struct job_observed *o)
{
    struct native_census c = { 0 };

    for (size_t i = 0; i < o->pods->n_tasks; i++) {
        const struct task_pods *t = &o->pods->tasks[i];
        int64_t ended = (int64_t)t->n_done + t->live[POD_FAILED];
        bool is_released = t->n_present || task_is_released(o, i);

        c.ended += ended;
        c.left += is_released ? MAX_OF((int64_t)t->n - ended, 0) : 0;
        c.waits |= t->live[POD_PENDING] || t->n_creating || (is_released && pods_next_missing(t, 0) != UINT32_MAX);
    }
    return c;
}

static int64_t native_size_of(const struct json *group)
{
    return json_i64(json_find(group, "spec", "schedulingPolicy", "gang", "minCount", NULL), 0);
}

bool native_is_short(const struct job_observed *o)
{
    struct native_census c;

    if (!o->group.exists || !o->group.is_native || !o->group.raw)
        return false;
    c = take_census(o);
    return c.waits && c.ended && native_size_of(o->group.raw) > c.left;
}

/* Once pods have ended, what is there is left alone as long as it can be met, and a smaller one takes its place when it
 * cannot: not a new one for each pod that ends. */
static int64_t wanted_size(const struct job_observed *o)
{
    int64_t size = native_gang_size(o->job), have = native_size_of(o->group.raw), most;
    struct native_census c = take_census(o);

    if (!c.ended)
        return size;
    most = MIN_OF(size, c.left);
    if (have && (!c.waits || have <= most))
        return have;
    return MAX_OF(most, 1);
}

/* ---- what is there ---- */

/* All else is the same by the name, or filled in by the server. */
static bool same_gang(const struct json *want, const struct json *have)
{
    return json_equal(json_get(want, "schedulingPolicy"), json_get(have, "schedulingPolicy"));
}

static const struct json *template_of(const struct json *workload)
{
    return json_first(json_find(workload, "spec", "podGroupTemplates", NULL));
}

/* Those who were asked not to let it go, but the one. The version keeps out who comes at the same moment. */
static void native_let_go(struct status_draft *d, const struct json *group, struct plan *plan)
{
    const struct json *meta = json_get(group, "metadata");
    struct json *patch = json_object(d->arena), *to = json_set(patch, "metadata", json_object(d->arena)), *rest;

    rest = json_set(to, "finalizers", json_array(d->arena));
    JSON_FOREACH(f, json_get(meta, "finalizers"))
        if (!str_is(json_text(f, STR_NULL), PROTECTION))
            json_push(rest, json_copy(d->arena, f));
    if (json_count(rest) == json_count(json_get(meta, "finalizers")))
        return; /* others hold it */
    json_set(to, "resourceVersion", json_str(d->arena, json_member_text(meta, "resourceVersion")));
    plan_patch(
        plan,
        (struct object_id){ type_native("PodGroup"), d->o->job->meta.namespace, object_name(group), object_uid(group) },
        patch);
}

static enum ensured ensure_workload(struct status_draft *d, const struct json *want, struct plan *plan)
{
    const struct json *have = d->o->find(d->o->find_ctx, "Workload", object_name(want));

    if (!have) {
        plan_create(plan, type_native("Workload"), (struct json *)want);
        return ENSURED_WORKING;
    }
    if (!str_eq(object_controller_uid(have), d->o->job->meta.uid)) {
        status_explain(d, "WaitingForName", "the Workload %.*s exists and is not owned by this job; delete it",
                       STR_ARG(object_name(want)));
        plan_event_warning(plan, d->o->job->raw, "PodGroupError",
                           "the Workload %.*s exists and is not owned by this job; delete it",
                           STR_ARG(object_name(want)));
        return ENSURED_BLOCKED;
    }
    if (json_find(have, "metadata", "deletionTimestamp", NULL))
        return ENSURED_WORKING;
    if (same_gang(template_of(want), template_of(have)))
        return ENSURED_FINE;
    plan_delete(plan, (struct object_id){ type_native("Workload"), d->o->job->meta.namespace, object_name(have),
                                          object_uid(have) });
    return ENSURED_WORKING;
}

/* Volcano's scheduler admits a PodGroup to its queue; here we do. A job that has pods was admitted already. */
static bool waits_for_queue(struct status_draft *d)
{
    const struct job_observed *o = d->o;

    if (o->queue == QUEUE_OPEN || o->group.exists || o->pods->n_class[POD_LIVE])
        return false;
    status_explain(d, "WaitingForQueue", "the queue %.*s %s", STR_ARG(o->job->spec.queue),
                   o->queue == QUEUE_UNKNOWN ? "does not exist" : "is closed");
    return true;
}

enum ensured native_ensure(struct status_draft *d, struct plan *plan)
{
    const struct podgroup_view *g = &d->o->group;
    int64_t size = wanted_size(d->o);
    struct json *want = native_group_new(d->arena, d->o->job, size);
    enum ensured workload;

    if (waits_for_queue(d))
        return ENSURED_BLOCKED;
    if (g->exists && g->is_deleting) {
        native_let_go(d, g->raw, plan);
        return ENSURED_WORKING;
    }
    if (g->exists && !same_gang(json_get(want, "spec"), json_get(g->raw, "spec"))) {
        job_group_delete(d, plan);
        return ENSURED_WORKING;
    }
    workload = ensure_workload(d, native_workload_new(d->arena, d->o->job, size), plan);
    if (workload != ENSURED_FINE || g->exists) /* a PodGroup is refused where its template is not */
        return workload;
    plan_create(plan, type_native("PodGroup"), want);
    return ENSURED_WORKING;
}
