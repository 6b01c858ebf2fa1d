/* settle.c - faults stop and users are idle: everything must come to rest, and the rest must be right */
#include "world.h"

#include "api/meta.h"

#include <inttypes.h>

enum { QUIET_MS = 30 * MINUTE_MS, PATIENCE_MS = 8 * HOUR_MS, LONG_QUIET_MS = 6 * HOUR_MS, REST_TRIES = 16 };

static bool is_active_phase(enum phase p)
{
    return p == PHASE_PENDING || p == PHASE_RUNNING;
}

/* ---- one job at rest ---- */

struct tally {
    int64_t pending, running, succeeded, failed;       /* of the current version */
    int64_t old_succeeded, old_failed, old_unfinished; /* of earlier ones */
};

static void tally_pod(struct world *w, const struct sim_job *job, const struct sim_pod *pod, struct tally *t)
{
    bool is_old = pod->version >= 0 && pod->version < job->version;
    struct str phase = str_of(pod->phase);

    if (pod->is_deleting)
        world_break(w, "at rest: pod %s was asked to go and is still there", pod->name);
    if (str_is(phase, "Succeeded"))
        (*(is_old ? &t->old_succeeded : &t->succeeded))++;
    else if (str_is(phase, "Failed"))
        (*(is_old ? &t->old_failed : &t->failed))++;
    else if (is_old)
        t->old_unfinished++;
    else
        (*(str_is(phase, "Running") ? &t->running : &t->pending))++;
}

static struct tally tally_job(struct world *w, const struct sim_job *job)
{
    struct tally t = { 0 };

    MAP_FOREACH(struct sim_pod *, pod, &w->pods)
        if (!pod->is_gone && str_is(str_of(pod->job_uid), job->uid)) {
            bool is_wanted = false;

            tally_pod(w, job, pod, &t);
            for (size_t i = 0; i < job->n_tasks; i++)
                is_wanted |= str_is(str_of(job->tasks[i].name), pod->task) && pod->index < job->tasks[i].replicas;
            if (!is_wanted)
                world_break(w, "at rest: pod %s is beyond the replicas of its task", pod->name);
        }
    return t;
}

static void check_counter(struct world *w, const struct sim_job *job, const struct json *status, const char *key,
                          int64_t low, int64_t high)
{
    int64_t v = json_i64(json_get(status, key), 0);

    if (v < low || v > high)
        world_break(w, "at rest: job %s is %s, status.%s is %" PRId64 ", the pods say %" PRId64 " to %" PRId64,
                    job->name, phase_names[job->phase], key, v, low, high);
}

static void check_counters(struct world *w, const struct sim_job *job, const struct json *status)
{
    struct tally t = tally_job(w, job);
    bool is_active = is_active_phase(job->phase);

    if (t.old_unfinished)
        world_break(w, "at rest: job %s has unfinished pods of an old version", job->name);
    if (!is_active && t.pending + t.running)
        world_break(w, "at rest: job %s is %s and has pods that run", job->name, phase_names[job->phase]);
    check_counter(w, job, status, "pending", t.pending, t.pending);
    check_counter(w, job, status, "running", t.running, t.running);
    check_counter(w, job, status, "failed", t.failed + (is_active ? 0 : t.old_failed),
                  t.failed + (is_active ? 0 : t.old_failed));
    check_counter(w, job, status, "succeeded", t.succeeded,
                  job->lost_successes ? INT64_MAX : t.succeeded + t.old_succeeded);
    check_counter(w, job, status, "terminating", 0, 0);
    check_counter(w, job, status, "unknown", 0, 0);
}

static bool has_pod(struct world *w, const struct sim_job *job, const char *task, int64_t index)
{
    MAP_FOREACH(struct sim_pod *, pod, &w->pods)
        if (!pod->is_gone && pod->index == index && str_is(str_of(pod->task), task) &&
            str_is(str_of(pod->job_uid), job->uid))
            return true;
    return false;
}

/* An active job whose PodGroup was admitted has all its pods, but for those of tasks that wait for others, and those
 * that have succeeded and were removed by somebody. */
static void check_complete(struct world *w, const struct sim_job *job, const struct object *o)
{
    size_t pos = 0;

    if (job->lost_successes)
        return;
    JSON_FOREACH(task, json_find(o->root, "spec", "tasks", NULL)) {
        const struct sim_task *t = &job->tasks[pos++];

        for (int64_t i = 0; i < t->replicas && !json_get(task, "dependsOn"); i++)
            if (!has_pod(w, job, t->name, i))
                world_break(w, "at rest: job %s is %s and pod %" PRId64 " of task %s is missing", job->name,
                            phase_names[job->phase], i, t->name);
        if (pos == job->n_tasks)
            break;
    }
}

static bool exists(struct world *w, enum kind kind, const struct sim_job *job, const char *suffix)
{
    char name[NAME_MAX_ + UID_MAX];
    const struct object *o;

    snprintf(name, sizeof(name), "%s%s%s", job->name, suffix, kind == KIND_PODGROUP ? job->uid : "");
    o = world_get(w, kind, str_of(name));
    return o && str_is(object_controller_uid(o->root), job->uid);
}

/* What the job keeps beside its pods is there while it is active and gone when it is over. */
static void check_objects(struct world *w, const struct sim_job *job, const struct object *o)
{
    static const struct {
        enum kind kind;
        const char *suffix, *plugin;
    } rows[] = {
        { KIND_PODGROUP, "-", NULL }, { KIND_CONFIGMAP, "-svc", "svc" }, { KIND_SERVICE, "", "svc" },
        { KIND_NETPOL, "", "svc" },   { KIND_SECRET, "-ssh", "ssh" },
    };
    const struct json *plugins = json_find(o->root, "spec", "plugins", NULL);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool is_wanted = is_active_phase(job->phase) && (!rows[i].plugin || json_get(plugins, rows[i].plugin));
        bool is_there = exists(w, rows[i].kind, job, rows[i].suffix);

        if (is_wanted != is_there)
            world_break(w, "at rest: job %s is %s and its %s is %s", job->name, phase_names[job->phase],
                        sim_types[rows[i].kind]->kind, is_there ? "still there" : "missing");
    }
}

static bool is_admitted(struct world *w, const struct sim_job *job)
{
    char name[NAME_MAX_ + UID_MAX];
    const struct object *o;
    struct str phase;

    snprintf(name, sizeof(name), "%s-%s", job->name, job->uid);
    o = world_get(w, KIND_PODGROUP, str_of(name));
    phase = o ? json_text(json_find(o->root, "status", "phase", NULL), STR("")) : STR_NULL;
    return !str_empty(phase) && !str_is(phase, "Pending");
}

static void check_job(void *ctx, const struct object *o)
{
    struct world *w = ctx;
    struct sim_job *job = map_get(&w->jobs, o->uid);
    struct str reason = json_text(json_find(o->root, "status", "state", "reason", NULL), STR(""));

    if (!job || job->is_gone)
        world_break(w, "the simulation lost job %.*s", STR_ARG(o->name));
    else if (job->is_deleting)
        world_break(w, "at rest: job %s was deleted and is still there", job->name);
    else if (!is_active_phase(job->phase) && !phase_is_final(job->phase) && job->phase != PHASE_ABORTED)
        world_break(w, "at rest: job %s is still \"%s\"", job->name, phase_names[job->phase]);
    if (world_is_broken(w))
        return;
    check_counters(w, job, json_get(o->root, "status"));
    check_objects(w, job, o);
    if (is_active_phase(job->phase) && is_admitted(w, job))
        check_complete(w, job, o);
    if (str_starts(reason, STR("Waiting")))
        world_break(w, "at rest: job %s says %.*s, and nothing is in its way", job->name, STR_ARG(reason));
}

/* ---- nothing left over ---- */

static void check_owner(void *ctx, const struct object *o)
{
    struct world *w = ctx;

    JSON_FOREACH(ref, json_find(o->root, "metadata", "ownerReferences", NULL)) {
        struct sim_job *job = map_get(&w->jobs, json_member_text(ref, "uid"));

        if (!job || job->is_gone)
            world_break(w, "at rest: %s %.*s is left over from a job that is gone", o->type->kind, STR_ARG(o->name));
    }
}

static void check_command(void *ctx, const struct object *o)
{
    struct world *w = ctx;
    struct sim_job *job = map_get(&w->jobs, json_text(json_find(o->root, "target", "uid", NULL), STR("")));

    if (job && !job->is_gone)
        world_break(w, "at rest: command %.*s was never obeyed", STR_ARG(o->name));
}

static void check_rest(struct world *w)
{
    static const enum kind owned[] = { KIND_POD,    KIND_PODGROUP, KIND_CONFIGMAP, KIND_SERVICE,
                                       KIND_SECRET, KIND_NETPOL,   KIND_PVC };

    store_list(w->store, sim_types[KIND_JOB], STR_NULL, check_job, w);
    for (size_t i = 0; i < ARRAY_LEN(owned); i++)
        store_list(w->store, sim_types[owned[i]], STR_NULL, check_owner, w);
    store_list(w->store, sim_types[KIND_COMMAND], STR_NULL, check_command, w);
    making_rest(w);
    if (!w->profile.has_placer && !world_is_broken(w))
        rest_check(w);
}

/* ---- */

static void calm_down(struct world *w)
{
    w->is_calm = true;
    w->faults = (struct sim_faults){ .latency_ms = w->profile.faults.latency_ms ? 5 : 0 };
    for (int i = 0; i < w->profile.controllers; i++)
        w->controllers[i].crash_at = 0;
    world_log(w, "sim", "no more faults%s", w->all_ends ? ", and every pod ends" : "");
    fleet_calm(w);
    maker_calm(w);
    node_calm(w);
}

/* Nothing is written for a while. */
static void come_to_rest(struct world *w)
{
    int64_t start_ms = world_ms(w), quiet_ms = start_ms;
    uint64_t rev;

    do {
        rev = store_revision(w->store);
        world_run(w, world_ms(w) + 5 * MINUTE_MS);
        if (store_revision(w->store) != rev || w->last_write_ms > quiet_ms)
            quiet_ms = world_ms(w);
        if (world_ms(w) - start_ms > PATIENCE_MS)
            world_break(w, "eight hours without faults, and it has not come to rest");
    } while (!world_is_broken(w) && world_ms(w) - quiet_ms < QUIET_MS);
    if (world_is_broken(w))
        return;
    world_log(w, "sim", "at rest");
    check_rest(w);
}

/* A job that waits may evict one that started later only after an hour, and one that was stopped before after ever longer
 * (patience, docs/scheduling.md): until then it only seems to rest. */
void world_settle(struct world *w)
{
    uint64_t rev, evictions;
    int64_t start_ms;
    int left = REST_TRIES;

    calm_down(w);
    do {
        come_to_rest(w);
        if (world_is_broken(w))
            return;
        rev = store_revision(w->store);
        evictions = w->evictions;
        start_ms = world_ms(w);
        world_run(w, start_ms + LONG_QUIET_MS);
    } while (w->evictions != evictions && --left > 0 && !world_is_broken(w));
    if (store_revision(w->store) != rev || w->last_write_ms > start_ms)
        world_break(w, "it was at rest, then something was written");
}
