/* ensure.c - claims, plugin objects and the PodGroup */
#include "job/ensure.h"

#include "api/meta.h"
#include "api/types.h"
#include "base/util.h"
#include "job/foreign.h"
#include "job/native.h"
#include "job/volume.h"
#include "job/wanted.h"
#include "json/members.h"

static const struct resource_type *ensure_type_of(const struct json *obj)
{
    return type_by_kind(object_api_version(obj), object_kind(obj));
}

/* Label the objects that are deleted when the job has ended, so that one request deletes those of many jobs. Not
 * Secrets: the right to delete a collection of them shows their data. */
static struct json *with_label(struct status_draft *d, struct json *obj)
{
    static const char *const kinds[] = { "PodGroup", "ConfigMap", "Service", "NetworkPolicy" };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_is(object_kind(obj), kinds[i]))
            object_set_label(d->arena, obj, GATHER_LABEL, d->o->job->meta.uid);
    return obj;
}

static enum ensured blocked(struct status_draft *d, const char *reason, struct str message, struct plan *plan,
                            const char *event)
{
    status_explain(d, reason, "%.*s", STR_ARG(message));
    plan_event_warning(plan, d->o->job->raw, event, "%.*s", STR_ARG(message));
    return ENSURED_BLOCKED;
}

/* ---- dependsOn ---- */

static bool dependency_is_ready(const struct job_observed *o, struct str name)
{
    size_t pos;
    const struct job_task *task = job_task_by_name(o->job, name, &pos);
    const struct task_pods *t;
    uint32_t done_only = 0;

    if (!task || pos >= o->pods->n_tasks) /* B51: admission refuses it; the wait for an unknown task would never end */
        return true;
    t = &o->pods->tasks[pos];
    for (uint32_t i = 0; i < (t->n + 63) / 64; i++) /* succeeded, and its pod was deleted */
        done_only += (uint32_t)__builtin_popcountll(t->done[i] & ~t->present[i]);
    return (int64_t)t->ready + done_only >= (task->min_available ? *task->min_available : 0);
}

bool task_is_released(const struct job_observed *o, size_t task)
{
    const struct job_depends *d = o->job->spec.tasks.v[task].depends_on;
    size_t ready = 0;

    if (!d || d->name.n == 0)
        return true;
    for (size_t i = 0; i < d->name.n; i++)
        ready += dependency_is_ready(o, d->name.v[i]);
    return d->name.n >= 2 && str_is(d->iteration, "any") ? ready > 0 : ready == d->name.n;
}

static bool has_dependencies(const struct job *job)
{
    for (size_t i = 0; i < job->spec.tasks.n; i++)
        if (job->spec.tasks.v[i].depends_on)
            return true;
    return false;
}

/* B43: the gang grows with the stages that are released; what is held back cannot be placed. A task that has pods was
 * released once and stays so. */
static void mask_held_back(struct arena *a, const struct job_observed *o, struct job *ret)
{
    struct job_task *tasks = arena_array(a, struct job_task, o->job->spec.tasks.n + 1);
    static const int32_t none = 0;
    int64_t released = 0;
    bool any = false;

    *ret = *o->job;
    for (size_t i = 0; i < o->job->spec.tasks.n; i++) {
        tasks[i] = o->job->spec.tasks.v[i];
        if (!task_is_released(o, i) && (i >= o->pods->n_tasks || o->pods->tasks[i].n_present == 0)) {
            tasks[i].replicas = 0;
            tasks[i].min_available = (int32_t *)&none;
            any = true;
        }
        released += tasks[i].replicas;
    }
    ret->spec.tasks.v = tasks;
    if (any)
        ret->spec.min_available = (int32_t)MIN_OF(ret->spec.min_available, MAX_OF(released, 1));
}

/* ---- differences as merge patches ---- */

/* The merge patch that turns 'have' into 'want' and removes members that are not wanted; NULL: they are equal. */
static struct json *difference(struct arena *a, const struct json *want, const struct json *have)
{
    struct json *patch = NULL;
    autojson_members wanted = { 0 }, there = { 0 };

    if (!json_is(want, JSON_OBJECT) || !json_is(have, JSON_OBJECT))
        return json_equal(want, have) ? NULL : json_copy(a, want);
    json_members_init(&wanted, want, json_count(have));
    json_members_init(&there, have, json_count(want));
    JSON_FOREACH(w, want) {
        const struct json *h = json_members_get(&there, json_key(w));
        struct json *part = h ? difference(a, w, h) : json_copy(a, w);

        if (part)
            json_add(patch ? patch : (patch = json_object(a)), json_key(w), part);
    }
    JSON_FOREACH(h, have)
        if (!json_members_get(&wanted, json_key(h)))
            json_add(patch ? patch : (patch = json_object(a)), json_key(h), json_null(a));
    return patch;
}

/* ---- the PodGroup ---- */

/* B45: labels and annotations that mean something to the scheduler follow the Job's. None is removed: the scheduler
 * writes some of its own. */
static struct json *group_meta_patch(struct arena *a, const struct json *want, const struct json *have)
{
    static const char *const maps[] = { "labels", "annotations" };
    struct json *patch = NULL;

    for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
        struct json *part = NULL;

        JSON_FOREACH(w, json_get(want, maps[i]))
            if (str_has(json_key(w), STR("volcano.sh/")) &&
                !json_equal(w, json_get_str(json_get(have, maps[i]), json_key(w))))
                json_set_key(part ? part : (part = json_object(a)), json_key(w), json_copy(a, w));
        if (part)
            json_set(patch ? patch : (patch = json_object(a)), maps[i], part);
    }
    return patch;
}

/* Only what we own of its spec; the scheduler and users may add to the rest. */
static struct json *group_patch(struct arena *a, const struct json *want, const struct json *have)
{
    static const char *const ours[] = { "minMember",         "minTaskMember",   "minResources",
                                        "priorityClassName", "networkTopology", "subGroupPolicy" };
    const struct json *want_spec = json_get(want, "spec"), *have_spec = json_get(have, "spec");
    struct json *spec = NULL, *patch = NULL, *meta;

    for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
        const struct json *w = json_get(want_spec, ours[i]), *h = json_get(have_spec, ours[i]);
        struct json *part = w && h ? difference(a, w, h) : w ? json_copy(a, w) : h && h->type ? json_null(a) : NULL;

        if (part)
            json_set(spec ? spec : (spec = json_object(a)), ours[i], part);
    }
    meta = group_meta_patch(a, json_get(want, "metadata"), json_get(have, "metadata"));
    if (spec || meta)
        patch = json_object(a);
    if (meta)
        json_set(patch, "metadata", meta);
    if (spec)
        json_set(patch, "spec", spec);
    return patch;
}

static enum ensured ensure_volcano_group(struct status_draft *d, struct plan *plan)
{
    const struct podgroup_view *g = &d->o->group;
    struct json *want, *patch;
    struct job masked;

    if (g->is_deleting)
        return ENSURED_WORKING; /* the old one must go first (B21) */
    mask_held_back(d->arena, d->o, &masked);
    want = job_podgroup_new(d->arena, &masked, d->o->priorities);
    if (!g->exists) { /* its phase comes along: it has no status subresource, and that saves a write */
        json_set(json_set(want, "status", json_object(d->arena)), "phase", json_str(d->arena, STR("Pending")));
        plan_create(plan, ensure_type_of(want), with_label(d, want));
        return ENSURED_WORKING;
    }
    patch = group_patch(d->arena, want, g->raw);
    if (!patch)
        return ENSURED_FINE;
    plan_patch(plan, (struct object_id){ ensure_type_of(want), d->o->job->meta.namespace, object_name(g->raw), g->uid },
               patch);
    return ENSURED_FINE; /* pods need not wait for it */
}

static enum ensured ensure_group(struct status_draft *d, struct plan *plan)
{
    const struct podgroup_view *g = &d->o->group;

    if (!d->o->wants_native)
        return ensure_volcano_group(d, plan);
    if (g->exists && !g->is_native) { /* from before it was said of which kind they are to be */
        job_group_delete(d, plan);
        return ENSURED_WORKING;
    }
    return g->exists && !g->raw ? ENSURED_FINE : native_ensure(d, plan);
}

/* ---- claims ---- */

static enum ensured ensure_claim_names(struct status_draft *d, struct plan *plan)
{
    struct job named;
    struct json *copy;

    for (size_t i = 0; i < d->o->job->spec.volumes.n; i++) {
        const struct job_volume *v = &d->o->job->spec.volumes.v[i];

        if (!str_empty(v->claim_name) || !v->claim)
            continue;
        copy = json_copy(d->arena, d->o->job->raw); /* B47: the names are stored before any claim is made */
        job_decode(d->arena, copy, &named);
        job_volumes_name(d->arena, &named);
        plan_update(plan, ensure_type_of(copy), copy);
        return ENSURED_WORKING;
    }
    return ENSURED_FINE;
}

static enum ensured ensure_foreign_claims(struct status_draft *d, struct plan *plan)
{
    for (size_t i = 0; i < d->o->job->spec.volumes.n; i++) {
        const struct job_volume *v = &d->o->job->spec.volumes.v[i];

        if (v->claim || str_empty(v->claim_name) || d->o->find(d->o->find_ctx, "PersistentVolumeClaim", v->claim_name))
            continue;
        return blocked(d, "WaitingForClaim",
                       arena_fmt(d->arena, "the PersistentVolumeClaim %.*s does not exist; the job starts when it does",
                                 STR_ARG(v->claim_name)),
                       plan, "PVCError");
    }
    return ENSURED_FINE;
}

/* ---- everything else ---- */

static bool is_older_job(const struct job *job, const struct json *obj)
{
    JSON_FOREACH(ref, json_find(obj, "metadata", "ownerReferences", NULL))
        if (json_bool(json_get(ref, "controller"), false))
            return str_is(json_member_text(ref, "kind"), JOB_KIND) &&
                   str_eq(json_member_text(ref, "name"), job->meta.name);
    return false;
}

/* An object has the name, but is not ours, or is being deleted. */
static enum ensured ensure_foreign(struct status_draft *d, const struct json *want, const struct json *have,
                                   struct plan *plan)
{
    struct str kind = object_kind(want), name = object_name(want);
    bool is_ours = str_eq(object_controller_uid(have), d->o->job->meta.uid);
    const char *why;

    if (is_ours || is_older_job(d->o->job, have))
        return blocked(
            d, "WaitingForCleanup",
            arena_fmt(d->arena, "the %.*s %.*s of an earlier job is still there", STR_ARG(kind), STR_ARG(name)), plan,
            "PluginError");
    if (json_find(have, "metadata", "deletionTimestamp", NULL))
        return blocked(d, "WaitingForCleanup",
                       arena_fmt(d->arena, "the %.*s %.*s is being deleted", STR_ARG(kind), STR_ARG(name)), plan,
                       "PluginError");
    why = foreign_problem(d->arena, d->o->job, want, have);
    if (!why)
        return ENSURED_FINE;
    return blocked(d, "WaitingForName",
                   arena_fmt(d->arena,
                             "%.*s %.*s exists, is not owned by this job and cannot replace its own: %s; change or "
                             "delete it, or rename the job",
                             STR_ARG(kind), STR_ARG(name), why),
                   plan, "PluginError");
}

/* The merge patch for a ConfigMap whose files change; NULL: none. The generation alone is no reason to write.
 * Earlier versions had it as a file too: where it exists, pods may read it, so it stays and follows. */
static struct json *files_patch(struct arena *a, const struct json *want, const struct json *have)
{
    const struct json *files = json_get(have, "data");
    struct json *patch = difference(a, json_get(want, "data"), files), *whole;
    struct str generation = object_annotation(want, PLUGIN_GENERATION_ANNOTATION);

    json_remove(patch, PLUGIN_GENERATION_FILE);
    if (!json_count(patch))
        return NULL;
    if (json_get(files, PLUGIN_GENERATION_FILE))
        json_set(patch, PLUGIN_GENERATION_FILE, json_str(a, generation));
    whole = json_object(a);
    json_set(whole, "data", patch);
    if (generation.n)
        object_set_annotation(a, whole, PLUGIN_GENERATION_ANNOTATION, generation);
    return whole;
}

static enum ensured ensure_one(struct status_draft *d, struct json *want, struct plan *plan)
{
    struct str kind = object_kind(want), name = object_name(want);
    const struct json *have = d->o->find(d->o->find_ctx, arena_cstr(d->arena, kind), name);
    struct json *patch;

    if (!have) {
        plan_create(plan, ensure_type_of(want), with_label(d, want));
        return ENSURED_WORKING;
    }
    if (!str_eq(object_controller_uid(have), d->o->job->meta.uid) ||
        json_find(have, "metadata", "deletionTimestamp", NULL))
        return ensure_foreign(d, want, have, plan);
    if (!str_is(kind, "ConfigMap")) /* keys are never replaced, and a Service is as good as new */
        return ENSURED_FINE;
    patch = files_patch(d->arena, want, have);
    if (patch)
        plan_patch(plan, (struct object_id){ ensure_type_of(want), d->o->job->meta.namespace, name, object_uid(have) },
                   patch);
    return ENSURED_FINE; /* mounted files follow by themselves */
}

enum ensured job_ensure(struct status_draft *d, struct plan *plan)
{
    struct plugin_objects wanted = { .arena = d->arena };
    enum ensured result = ensure_claim_names(d, plan);
    struct job job = *d->o->job;
    struct err e;

    if (result != ENSURED_FINE)
        return result;
    if (d->o->objects_are_fine)
        return has_dependencies(d->o->job) || !d->o->group.exists || native_is_short(d->o) ? ensure_group(d, plan)
                                                                                           : ENSURED_FINE;
    result = ensure_foreign_claims(d, plan);
    if (plugin_set_objects(d->o->set, &wanted, &e) < 0)
        return blocked(d, "WaitingForPlugin", str_of(e.text), plan, "PluginError");
    if (wanted.is_waiting)
        result = ENSURED_WORKING; /* the key maker says when to plan again */
    job_volumes_claims(&job, &wanted);
    VEC_FOREACH(want, &wanted.list) {
        enum ensured one = ensure_one(d, *want, plan);

        result = MAX_OF(result, one); /* the worst */
    }
    return result == ENSURED_FINE ? ensure_group(d, plan) : result;
}

/* Once the job has ended its deletions may be delayed and gathered. */
static void may_gather(const struct status_draft *d, bool is_labelled, struct op *op)
{
    if (is_labelled && phase_is_final(d->phase))
        op->gather = arena_str(d->arena, d->o->job->meta.uid);
}

void job_group_delete(struct status_draft *d, struct plan *plan)
{
    const struct podgroup_view *g = &d->o->group;
    const struct resource_type *type;

    if (!g->exists || !g->raw || g->is_deleting)
        return;
    type = g->is_native ? type_native("PodGroup") : type_by_kind(STR("scheduling.volcano.sh/v1beta1"), STR("PodGroup"));
    may_gather(d, str_eq(object_label(g->raw, GATHER_LABEL), d->o->job->meta.uid),
               plan_delete(plan, (struct object_id){ type, d->o->job->meta.namespace, object_name(g->raw), g->uid }));
}

void job_dismantle(struct status_draft *d, struct plan *plan)
{
    job_group_delete(d, plan);
    for (size_t i = 0; i < d->o->n_owned; i++) {
        const struct owned_object *o = &d->o->owned[i];

        if (!o->is_deleting)
            may_gather(d, o->is_labelled,
                       plan_delete(plan, (struct object_id){ o->type, d->o->job->meta.namespace, o->name, o->uid }));
    }
}
