/* check.c - the invariants: what must hold after every change of the store and at every write of a controller
 *
 * Two kinds of truth. What was done is judged against the store. What a controller wants is judged against what it was
 * told: with late events and a second controller nobody can do better than act on what he knows, and nobody may do
 * worse.
 */
#include "world.h"

#include "api/meta.h"

#include <inttypes.h>

static const char *const ctl_names[MAX_CONTROLLERS] = { "ctl0", "ctl1" };
static const char *const verbs[OP_KIND_MAX] = { "create",          "update", "update status of", "patch", "delete",
                                                "patch status of", "bind" };

static void copy(char *to, size_t size, struct str from)
{
    size_t n = MIN_OF(from.n, size - 1);

    if (n)
        memcpy(to, from.p, n);
    to[n] = '\0';
}

static bool is_kind(const struct resource_type *type, enum kind kind)
{
    return type == sim_types[kind];
}

static int64_t to_i64(struct str text, int64_t fallback)
{
    int64_t v;

    return str_to_i64(text, &v) < 0 ? fallback : v;
}

static bool is_deleting(const struct object *o)
{
    return json_find(o->root, "metadata", "deletionTimestamp", NULL) != NULL;
}

/* ---- the truth: what is in the store ---- */

/* Has the status (or spec) condemned this pod, so that a controller may delete it? */
static bool is_condemned(const struct sim_job *job, const struct sim_pod *pod)
{
    if (!job || job->is_gone || job->is_deleting || pod->is_surplus || pod->is_excused || pod->is_victim)
        return true;
    if (job->phase != PHASE_NONE && job->phase != PHASE_PENDING && job->phase != PHASE_RUNNING)
        return true;
    return pod->version >= 0 && pod->version < job->version;
}

static bool is_beyond(const struct sim_task *tasks, size_t n, const struct sim_pod *pod)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(str_of(pod->task), tasks[i].name))
            return pod->index >= tasks[i].replicas;
    return true;
}

static void mark_surplus(struct world *w, const struct sim_job *job)
{
    MAP_FOREACH(struct sim_pod *, pod, &w->pods)
        if (str_is(str_of(pod->job_uid), job->uid) && is_beyond(job->tasks, job->n_tasks, pod))
            pod->is_surplus = true;
}

static bool has_active_pods(struct world *w, const struct sim_job *job)
{
    MAP_FOREACH(struct sim_pod *, pod, &w->pods) {
        bool is_active = str_is(str_of(pod->phase), "Pending") || str_is(str_of(pod->phase), "Running");

        if (!pod->is_gone && is_active && str_is(str_of(pod->job_uid), job->uid))
            return true;
    }
    return false;
}

static void check_conditions(struct world *w, const struct sim_job *job, const struct json *status)
{
    unsigned seen[PHASE_MAX + 1] = { 0 };

    JSON_FOREACH(c, json_get(status, "conditions"))
        if (seen[phase_of(json_member_text(c, "status"))]++)
            world_break(w, "job %s: two conditions for phase %.*s", job->name, STR_ARG(json_member_text(c, "status")));
}

static void check_counters(struct world *w, const struct sim_job *job, const struct json *status)
{
    static const char *const names[] = { "pending",     "running", "succeeded", "failed",
                                         "terminating", "unknown", "version",   "retryCount" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (json_i64(json_get(status, names[i]), 0) < 0)
            world_break(w, "job %s: status.%s is negative", job->name, names[i]);
}

/* The phase in which a job waits for its pods to go; Completed may also follow from Running. */
static enum phase released_from(enum phase p)
{
    return p == PHASE_ABORTED      ? PHASE_ABORTING
           : p == PHASE_COMPLETED  ? PHASE_COMPLETING
           : p == PHASE_TERMINATED ? PHASE_TERMINATING
                                   : PHASE_MAX;
}

/* One status after another of the same job. */
static void check_transition(struct world *w, const struct sim_job *old, const struct sim_job *new)
{
    bool was_releasing = old->phase == PHASE_ABORTING || old->phase == PHASE_COMPLETING ||
                         old->phase == PHASE_TERMINATING;

    if (new->phase == PHASE_MAX)
        world_break(w, "job %s: a phase that does not exist", new->name);
    if (phase_is_final(old->phase) && new->phase != old->phase)
        world_break(w, "job %s: finished as %s, then %s", new->name, phase_names[old->phase], phase_names[new->phase]);
    if ((new->phase == PHASE_ABORTED || new->phase == PHASE_TERMINATED) && old->phase != new->phase &&
        old->phase != released_from(new->phase))
        world_break(w, "job %s: %s right after %s", new->name, phase_names[new->phase], phase_names[old->phase]);
    if (new->version < old->version || new->version > old->version + 1)
        world_break(w, "job %s: version goes from %" PRId64 " to %" PRId64, new->name, old->version, new->version);
    if (new->retry < old->retry || new->retry > old->retry + 1)
        world_break(w, "job %s: retryCount goes from %" PRId64 " to %" PRId64, new->name, old->retry, new->retry);
    if (new->retry > new->max_retry)
        world_break(w, "job %s: retryCount %" PRId64 " is above maxRetry %" PRId64, new->name, new->retry,
                    new->max_retry);
    if (w->profile.is_exact && was_releasing &&
        new->phase != old->phase &&new->phase != PHASE_RESTARTING &&has_active_pods(w, new))
        world_break(w, "job %s: %s while pods are left", new->name, phase_names[new->phase]);
}

/* A command acts once. A kill by command bumps the version and says so. */
static void check_obeyed(struct world *w, const struct sim_job *old, struct sim_job *job, const struct json *status)
{
    struct str message = json_text(json_find(status, "state", "message", NULL), STR(""));

    job->obeyed += job->version > old->version && str_starts(message, STR("CommandIssued"));
    if (job->obeyed > job->issued)
        world_break(w, "job %s: a command was obeyed twice", job->name);
}

static void see_command(struct world *w, const struct object *o)
{
    struct sim_job *job = map_get(&w->jobs, json_text(json_find(o->root, "target", "uid", NULL), STR("")));

    if (job)
        job->issued++;
}

static size_t read_tasks(const struct object *o, struct sim_task ret[MAX_TASKS])
{
    size_t n = 0;

    JSON_FOREACH(task, json_find(o->root, "spec", "tasks", NULL))
        if (n < MAX_TASKS) {
            copy(ret[n].name, sizeof(ret[n].name), json_member_text(task, "name"));
            ret[n].replicas = json_i64(json_get(task, "replicas"), 0);
            ret[n].done = indices_count(job_task_done(json_get(o->root, "status"), str_of(ret[n].name)));
            ret[n].done = MIN_OF(ret[n].done, ret[n].replicas);
            n++;
        }
    return n;
}

static void read_job(const struct object *o, struct sim_job *ret)
{
    const struct json *status = json_get(o->root, "status");

    ret->phase = phase_of(json_text(json_find(status, "state", "phase", NULL), STR("")));
    ret->version = json_i64(json_get(status, "version"), 0);
    ret->retry = json_i64(json_get(status, "retryCount"), 0);
    ret->max_retry = json_i64(json_find(o->root, "spec", "maxRetry", NULL), 3);
    ret->is_deleting = is_deleting(o);
    ret->says_ending = json_i64(json_get(status, "terminating"), 0) > 0;
    ret->n_tasks = read_tasks(o, ret->tasks);
}

static void see_job(struct world *w, const struct watch_event *ev)
{
    const struct object *o = ev->object;
    struct sim_job *job = map_get(&w->jobs, o->uid), old;
    const struct json *status = json_get(o->root, "status");

    if (!job) {
        job = xcalloc(1, sizeof(*job));
        copy(job->uid, sizeof(job->uid), o->uid);
        copy(job->name, sizeof(job->name), o->name);
        map_put(&w->jobs, str_of(job->uid), job);
        w->n_jobs++;
    }
    old = *job;
    read_job(o, job);
    job->is_gone = ev->kind == WATCH_DELETED;
    world_log(w, w->actor,
              "job %s %s: %s v%" PRId64 " r%" PRId64 " p%" PRId64 " R%" PRId64 " S%" PRId64 " F%" PRId64 " T%" PRId64
              " %.*s (%.*s)%s",
              job->name,
              job->is_gone              ? "gone"
              : ev->kind == WATCH_ADDED ? "new"
                                        : "changed",
              job->phase < PHASE_MAX ? phase_names[job->phase] : "?", job->version, job->retry,
              json_i64(json_get(status, "pending"), 0), json_i64(json_get(status, "running"), 0),
              json_i64(json_get(status, "succeeded"), 0), json_i64(json_get(status, "failed"), 0),
              json_i64(json_get(status, "terminating"), 0),
              STR_ARG(json_text(json_find(status, "state", "reason", NULL), STR(""))),
              STR_ARG(json_text(json_find(status, "state", "message", NULL), STR(""))),
              job->is_deleting ? " (deleting)" : "");
    making_job_changed(w, o, job->is_gone);
    job->restarts += job->phase == PHASE_RESTARTING && old.phase != PHASE_RESTARTING;
    check_transition(w, &old, job);
    check_obeyed(w, &old, job, status);
    check_conditions(w, job, status);
    check_counters(w, job, status);
    mark_surplus(w, job);
}

/* B12: what has succeeded is not run again because somebody removed the pod. With faults a controller may never have
 * seen it succeed. */
static void check_rerun(struct world *w, const struct sim_job *job, struct sim_pod *pod)
{
    pod->job_restarts = job->restarts;
    if (!w->profile.is_exact)
        return;
    MAP_FOREACH(struct sim_pod *, p, &w->pods)
        if (p != pod && p->is_gone && !p->is_surplus && p->index == pod->index && p->version == pod->version &&
            p->job_restarts == job->restarts && str_is(str_of(p->phase), "Succeeded") &&
            str_is(str_of(p->task), pod->task) && str_is(str_of(p->job_uid), pod->job_uid))
            world_break(w, "pod %s has succeeded and is run again", pod->name);
}

static void check_new_pod(struct world *w, struct sim_pod *pod)
{
    struct sim_job *job = map_get(&w->jobs, str_of(pod->job_uid));

    w->n_pods++;
    if (!job) {
        world_break(w, "pod %s: its owner never was", pod->name);
        return;
    }
    if (pod->version > job->version)
        world_break(w, "pod %s: of version %" PRId64 ", the job has %" PRId64, pod->name, pod->version, job->version);
    MAP_FOREACH(struct sim_pod *, p, &w->pods)
        if (p != pod && !p->is_gone && !p->is_deleting && p->index == pod->index && p->version == pod->version &&
            str_is(str_of(p->task), pod->task) && str_is(str_of(p->job_uid), pod->job_uid))
            world_break(w, "pods %s and %s are the same task, index and version", p->name, pod->name);
    pod->is_surplus = is_beyond(job->tasks, job->n_tasks, pod);
    check_rerun(w, job, pod);
}

static struct sim_pod *add_pod(struct world *w, const struct object *o)
{
    struct sim_pod *pod = xcalloc(1, sizeof(*pod));

    copy(pod->uid, sizeof(pod->uid), o->uid);
    copy(pod->name, sizeof(pod->name), o->name);
    copy(pod->job_uid, sizeof(pod->job_uid), object_controller_uid(o->root));
    copy(pod->task, sizeof(pod->task), object_annotation(o->root, "volcano.sh/task-spec"));
    copy(pod->group, sizeof(pod->group), object_annotation(o->root, "scheduling.k8s.io/group-name"));
    pod->index = to_i64(object_annotation(o->root, "volcano.sh/task-index"), -1);
    pod->version = to_i64(object_annotation(o->root, "volcano.sh/job-version"), -1);
    pod->ask = amount_of_pod(o->root);
    pod->charged = pod->node = -1;
    map_put(&w->pods, str_of(pod->uid), pod);
    check_new_pod(w, pod);
    return pod;
}

static bool is_controller(const char *actor)
{
    return actor == ctl_names[0] || actor == ctl_names[1];
}

static void note_lost_success(struct world *w, const struct sim_pod *pod)
{
    struct sim_job *job = map_get(&w->jobs, str_of(pod->job_uid));

    if (job)
        job->lost_successes++;
}

static void see_pod(struct world *w, const struct watch_event *ev)
{
    const struct object *o = ev->object;
    struct sim_pod *pod = map_get(&w->pods, o->uid);

    if (!pod)
        pod = add_pod(w, o);
    copy(pod->phase, sizeof(pod->phase), json_text(json_find(o->root, "status", "phase", NULL), STR("Pending")));
    pod->is_deleting = is_deleting(o);
    pod->is_bound = !str_empty(json_member_text(json_get(o->root, "spec"), "nodeName"));
    pod->is_gone = ev->kind == WATCH_DELETED;
    world_log(w, w->actor, "pod %s v%" PRId64 " %s: %s%s%s", pod->name, pod->version,
              pod->is_gone              ? "gone"
              : ev->kind == WATCH_ADDED ? "new"
                                        : "changed",
              pod->phase, pod->is_bound ? " bound" : "", pod->is_deleting ? " deleting" : "");
    if (!w->profile.has_placer)
        placing_pod_changed(w, pod, o);
    /* With late news a controller may delete a pod it does not know to have succeeded. */
    if (pod->is_gone && str_is(str_of(pod->phase), "Succeeded") && !(w->profile.is_exact && is_controller(w->actor)))
        note_lost_success(w, pod);
    node_pod_changed(w, pod);
    placer_wake(w);
}

static void see_other(struct world *w, enum kind kind, const struct watch_event *ev)
{
    static const char *const what[] = { "new", "changed", "gone" };
    const struct json *j = ev->object->root;
    struct str phase = json_text(json_find(j, "status", "phase", NULL), STR(""));
    struct str more = kind == KIND_COMMAND ? json_member_text(j, "action") : json_member_text(j, "reason");

    if (kind == KIND_PODGROUP)
        more = json_member_text(json_at(json_find(j, "status", "conditions", NULL), 0), "reason");
    world_log(w, w->actor, "%s %.*s %s %.*s %.*s%s", ev->object->type->kind, STR_ARG(ev->object->name), what[ev->kind],
              STR_ARG(phase), STR_ARG(more), is_deleting(ev->object) ? " deleting" : "");
    if (kind == KIND_COMMAND && ev->kind == WATCH_ADDED)
        see_command(w, ev->object);
    if (kind == KIND_FLOW || kind == KIND_CRON)
        making_changed(w, ev->object, ev->kind == WATCH_DELETED);
    if (kind == KIND_NODE)
        fleet_node_changed(w, ev->object, ev->kind == WATCH_DELETED);
    if (kind == KIND_PODGROUP) {
        if (ev->kind != WATCH_DELETED)
            placer_group_changed(w, ev->object);
        placer_wake(w);
    }
}

void check_observe(struct world *w)
{
    struct watch_event ev;

    for (size_t i = 0; i < KIND_MAX; i++)
        while (watch_next(w->watches[i], &ev, NULL) > 0) {
            if (ev.kind == WATCH_BOOKMARK)
                continue;
            if (i == KIND_JOB)
                see_job(w, &ev);
            else if (i == KIND_POD)
                see_pod(w, &ev);
            else
                see_other(w, (enum kind)i, &ev);
        }
}

/* ---- what a controller was told ---- */

static void told_put(const struct controller *c, struct map *m, const struct object *o, bool is_job)
{
    struct told *t = map_get(m, o->uid);
    struct str phase = json_text(json_find(o->root, "status", "phase", NULL), STR("Pending"));

    if (!t) {
        MAP_FOREACH(struct told *, other, m) /* one object has a name at a time: the older one must be gone */
            other->is_gone |= !is_job && str_is(o->name, other->name) && other->rev < o->rev;
        t = xcalloc(1, sizeof(*t));
        copy(t->uid, sizeof(t->uid), o->uid);
        copy(t->name, sizeof(t->name), o->name);
        copy(t->job_uid, sizeof(t->job_uid), object_controller_uid(o->root));
        t->since_turn = c->turn;
        map_put(m, str_of(t->uid), t);
    }
    t->is_fresh = true;
    if (t->is_gone || o->rev < t->rev)
        return;
    t->rev = o->rev;
    t->is_vague = false;
    t->is_deleting = is_deleting(o);
    t->is_active = !is_job && (str_is(phase, "Pending") || str_is(phase, "Running"));
    t->n_tasks = is_job ? read_tasks(o, t->tasks) : 0;
    if (!is_job)
        placing_told_pod(t, o);
    t->phase = is_job ? phase_of(json_text(json_find(o->root, "status", "state", "phase", NULL), STR(""))) : PHASE_NONE;
}

static void told_gone(struct map *m, struct str uid)
{
    struct told *t = map_get(m, uid);

    if (t)
        t->is_gone = true;
}

/* A read shows what is under a name; whatever else was told under that name, before it was asked for, is gone. What was
 * told since may have come before or after. */
static void told_read(struct map *m, const struct flight *f, const struct object *o)
{
    MAP_FOREACH(struct told *, t, m) {
        if (!str_is(str_of(f->name), t->name) || (o && str_is(o->uid, t->uid)))
            continue;
        if (t->since_turn <= f->turn)
            t->is_gone = t->is_read_gone = true;
        else
            t->is_vague = true;
    }
}

static void end_creates(struct controller *c, struct str pod_name)
{
    struct map_iter it = map_u64_iter(&c->flights);

    for (struct flight *f; (f = map_next(&it));)
        f->is_over |= f->type == KIND_POD && f->kind == OP_CREATE && str_is(pod_name, f->name);
}

/* A controller waits this long for an answer, by the wall clock; later it is as if there was none. */

static bool is_given_up(const struct world *w, const struct flight *f)
{
    return world_ms(w) - f->sent_ms >= GIVEN_UP_MS || (w->jumped_ms && f->sent_ms <= w->jumped_ms);
}

/* It may go by what this says is done, or by what was said before. */
static void told_done(struct told *job, const struct object *o)
{
    struct sim_task tasks[MAX_TASKS];
    size_t n = MIN_OF(read_tasks(o, tasks), job->n_tasks);

    for (size_t i = 0; i < n; i++)
        job->tasks[i].done = MAX_OF(job->tasks[i].done, tasks[i].done);
}

/* What an answer tells: the object, or that it is gone. */
static void told_answer(struct world *w, struct controller *c, const struct cluster_event *ev, struct map *m,
                        bool is_job)
{
    struct flight *f = map_u64_remove(&c->flights, ev->token);
    bool is_gone = f && f->kind == OP_DELETE &&
                   ((ev->err.code == ERR_OK && !ev->object) || ev->err.code == ERR_NOT_FOUND);

    if (f && !is_job)
        placing_answered(c, f, ev);
    if (f && is_given_up(w, f)) { /* it may have listened or not */
        if (ev->object && !map_get(m, ev->object->uid))
            told_put(c, m, ev->object, is_job);
        MAP_FOREACH(struct told *, t, m)
            if (str_is(str_of(f->name), t->name)) {
                t->is_active = false;
                t->phase = PHASE_NONE;
                t->node[0] = t->wish[0] = '\0';
                t->is_troubled = t->is_vague = true;
                if (ev->object && str_is(ev->object->uid, t->uid)) {
                    t->rev = MAX_OF(t->rev, ev->object->rev); /* older news tell nothing any more */
                    told_done(t, ev->object);
                }
            }
        free(f);
        return;
    }
    if (f && f->kind == OP_KIND_MAX && ev->err.code == ERR_OK)
        told_read(m, f, ev->object);
    if (is_gone)
        told_gone(m, str_of(f->uid));
    else if (ev->object)
        told_put(c, m, ev->object, is_job);
    free(f);
}

void check_forget_told(struct controller *c)
{
    struct map *maps[] = { &c->jobs, &c->pods };
    struct map_iter it = map_u64_iter(&c->flights);

    for (struct flight *f; (f = map_next(&it));) {
        map_u64_remove(&c->flights, it.id);
        free(f);
    }

    for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
        MAP_FOREACH(struct told *, t, maps[i])
            free(t);
        map_clear(maps[i]);
    }
    placing_forget(c);
}

static void on_event(void *ctx, uint32_t client, const struct cluster_event *ev)
{
    struct world *w = ctx;
    struct controller *c = &w->controllers[client];
    bool is_job = is_kind(ev->type, KIND_JOB);
    struct map *m = is_job ? &c->jobs : &c->pods;

    if (!is_job && !is_kind(ev->type, KIND_POD)) {
        placing_told(w, c, ev);
        return;
    }
    if (!is_job && ev->object)
        end_creates(c, ev->object->name);
    switch (ev->kind) {
    case CLUSTER_PUT:
        told_put(c, m, ev->object, is_job);
        break;
    case CLUSTER_GONE:
        told_gone(m, ev->object->uid);
        break;
    case CLUSTER_RELIST:
        MAP_FOREACH(struct told *, t, m)
            t->is_fresh = false;
        break;
    case CLUSTER_SYNCED:
        MAP_FOREACH(struct told *, t, m)
            t->is_gone |= !t->is_fresh && t->rev <= ev->rev;
        break;
    case CLUSTER_RESULT:
        told_answer(w, c, ev, m, is_job);
        break;
    default:
        break;
    }
}

/* ---- what a controller wants ---- */

static const struct told *told_job(const struct controller *c, struct str uid)
{
    const struct told *t = map_get(&c->jobs, uid);

    return t && !t->is_gone && !t->is_vague ? t : NULL;
}

/* A pod may be asked for only if the job, as the controller was told, is there and wants pods. */
static void check_pod_create(struct world *w, const struct controller *c, const struct op *op)
{
    struct str uid = object_controller_uid(op->body);
    const struct told *job = told_job(c, uid), *any = map_get(&c->jobs, uid);
    const struct sim_job *truth = map_get(&w->jobs, uid);

    /* A read on behalf of an older job of that name: if it shows the new one, that is not on record here; if it shows
     * none, the driver does not take that for an answer about the new one, which may have been made since. */
    if ((!job && truth && !truth->is_gone) || (any && (any->is_read_gone || any->is_vague)))
        return;
    if (!job)
        world_break(w, "%s creates pod %.*s of a job that is gone, or that it never heard of", ctl_names[c->id],
                    STR_ARG(op->name));
    else if (job->is_deleting)
        world_break(w, "%s creates pod %.*s of a job it knows to be deleted", ctl_names[c->id], STR_ARG(op->name));
    else if (job->phase >= PHASE_ABORTING)
        world_break(w, "%s creates pod %.*s of a job it knows to be %s", ctl_names[c->id], STR_ARG(op->name),
                    phase_names[job->phase]);
}

/* Aborted, Completed and Terminated wait for the pods the controller knows of. */
static void check_release(struct world *w, const struct controller *c, const struct op *op)
{
    enum phase to = phase_of(json_text(json_find(op->body, "status", "state", "phase", NULL), STR("")));
    struct str uid = object_uid(op->body);
    const struct told *job = told_job(c, uid);
    const struct sim_job *truth = map_get(&w->jobs, uid);

    if (!job || to == PHASE_NONE || released_from(to) != job->phase || (truth && truth->phase == to))
        return;
    MAP_FOREACH(const struct told *, pod, &c->pods)
        if (pod->is_active && !pod->is_gone && str_is(uid, pod->job_uid)) {
            world_break(w, "%s says %s of job %.*s but knows of pod %s", ctl_names[c->id], phase_names[to],
                        STR_ARG(op->name), pod->name);
            return;
        }
}

/* What a scheduler does to a pod: it need not wait for the job's controller, nor the other way round. */
static bool is_of_scheduler(struct world *w, const struct flight *f)
{
    const struct sim_pod *pod = f->type == KIND_POD && f->uid[0] ? map_get(&w->pods, str_of(f->uid)) : NULL;

    return f->kind == OP_BIND || f->kind == OP_PATCH_STATUS || (f->kind == OP_DELETE && pod && pod->is_victim);
}

/* One write at a time: no pod is asked for twice, and nothing is done to a job's pods while its status is on its way.
 * */
static void check_flights(struct world *w, const struct controller *c, const struct flight *new)
{
    struct map_iter it = map_u64_iter(&c->flights);
    const struct told *job;

    if (is_of_scheduler(w, new))
        return;
    for (const struct flight *f; (f = map_next(&it));) {
        bool is_status = f->type == KIND_JOB && f->kind == OP_UPDATE_STATUS;

        if (f->type == KIND_JOB && f->kind == OP_DELETE && making_is_made(w, str_of(f->uid)))
            continue; /* what made it, and the end of its time to live: two who ask */
        if (f->is_over || is_given_up(w, f) || !(job = told_job(c, str_of(f->job_uid))) || job->is_deleting)
            continue; /* the garbage collector, who takes over then, is another */
        if (f->kind == new->kind && f->type == new->type &&str_is(str_of(f->name), new->name) &&
            str_is(str_of(f->uid), new->uid) && str_is(str_of(f->job_uid), new->job_uid))
            world_break(w, "%s asks twice at a time: op %d, %s %s", ctl_names[c->id], f->kind, sim_types[f->type]->kind,
                        f->name);
        if (is_status && new->type == KIND_POD && str_is(str_of(f->job_uid), new->job_uid))
            world_break(w, "%s acts on pod %s while the status of its job is on its way", ctl_names[c->id], new->name);
    }
}

static void note_flight(struct world *w, struct controller *c, const struct op *op, uint64_t token)
{
    bool is_job = is_kind(op->type, KIND_JOB);
    struct flight *f;
    struct sim_pod *pod;

    if (!is_job && !is_kind(op->type, KIND_POD))
        return;
    f = xcalloc(1, sizeof(*f));
    f->token = token;
    f->sent_ms = world_ms(w);
    f->turn = c->turn;
    f->kind = op->kind;
    f->type = is_job ? KIND_JOB : KIND_POD;
    copy(f->name, sizeof(f->name), op->name);
    copy(f->uid, sizeof(f->uid), op->uid);
    if (op->body && op->kind != OP_BIND && op->kind != OP_PATCH_STATUS)
        copy(f->job_uid, sizeof(f->job_uid), is_job ? object_uid(op->body) : object_controller_uid(op->body));
    else if (is_job)
        copy(f->job_uid, sizeof(f->job_uid), op->uid);
    else if ((pod = map_get(&w->pods, op->uid)))
        copy(f->job_uid, sizeof(f->job_uid), str_of(pod->job_uid));
    check_flights(w, c, f);
    map_u64_put(&c->flights, token, f);
}

/* Those who wait for a job that is restarted or ended see that its pods are ending, however quickly they go. Judged when it is sent: a request may take
 * its time, and another kill be decided meanwhile. A second controller may act on a status that the first has replaced. */
static void check_told(struct world *w, const struct controller *c, const struct sim_job *job,
                       const struct sim_pod *pod)
{
    bool is_killing = job->phase == PHASE_RESTARTING || job->phase == PHASE_ABORTING ||
                      job->phase == PHASE_COMPLETING || job->phase == PHASE_TERMINATING;

    if (w->profile.controllers == 1 && is_killing && !job->says_ending)
        world_break(w, "%s deletes pod %s: the job is %s, and its status does not say that pods are ending",
                    ctl_names[c->id], pod->name, phase_names[job->phase]);
}

/* With two controllers one may see a pod the other made before it sees the status or spec that called for it. Then it
 * acts on an older one; nobody told it better. So does one that may have heard the answer which it no longer waited
 * for. */
static void check_pod_delete(struct world *w, const struct controller *c, const struct op *op)
{
    struct sim_pod *pod = map_get(&w->pods, op->uid);
    const struct told *job = pod ? map_get(&c->jobs, str_of(pod->job_uid)) : NULL;
    const struct sim_job *truth = pod ? map_get(&w->jobs, str_of(pod->job_uid)) : NULL;

    if (truth && !truth->is_gone && !truth->is_deleting && !pod->is_deleting && !pod->is_gone)
        check_told(w, c, truth, pod);
    if (str_empty(op->uid))
        world_break(w, "%s deletes pod %.*s by name only", ctl_names[c->id], STR_ARG(op->name));
    if (job && !job->is_gone && w->profile.controllers > 1)
        pod->is_excused = job->is_vague || job->phase >= PHASE_RESTARTING || is_beyond(job->tasks, job->n_tasks, pod);
}

static void on_read(void *ctx, uint32_t client, const struct resource_type *type, struct str name, uint64_t token)
{
    struct world *w = ctx;
    struct flight *f;

    if (!is_kind(type, KIND_JOB) && !is_kind(type, KIND_POD))
        return;
    f = xcalloc(1, sizeof(*f));
    f->kind = OP_KIND_MAX;
    f->type = is_kind(type, KIND_JOB) ? KIND_JOB : KIND_POD;
    f->sent_ms = world_ms(w);
    f->turn = w->controllers[client].turn;
    copy(f->name, sizeof(f->name), name);
    map_u64_put(&w->controllers[client].flights, token, f);
}

static enum sim_fate on_send(void *ctx, uint32_t client, const struct op *op, uint64_t token)
{
    struct world *w = ctx;
    struct controller *c = &w->controllers[client];

    w->writes++;
    c->writes++;
    w->last_write_ms = world_ms(w);
    if (op->kind == OP_CREATE && is_kind(op->type, KIND_POD))
        check_pod_create(w, c, op);
    if (op->kind == OP_UPDATE_STATUS && is_kind(op->type, KIND_JOB))
        check_release(w, c, op);
    if (op->kind == OP_DELETE && is_kind(op->type, KIND_POD))
        check_pod_delete(w, c, op);
    placing_sent(w, c, op);
    note_flight(w, c, op, token);
    if (c->crash_at != c->writes)
        return SIM_GO;
    return c->crash_after ? SIM_CRASH_AFTER : SIM_CRASH_BEFORE;
}

/* ---- what a controller did ---- */

static void check_pod_deleted(struct world *w, const struct controller *c, const struct op *op)
{
    struct sim_pod *pod = map_get(&w->pods, op->uid);
    struct sim_job *job = pod ? map_get(&w->jobs, str_of(pod->job_uid)) : NULL;
    const struct told *t = map_get(&c->pods, op->uid);

    if (pod && !pod->is_gone && str_is(str_of(pod->phase), "Succeeded") && t && !t->is_gone && !t->is_succeeded &&
        !t->is_troubled)
        world_break(w, "%s deletes pod %s, which has Succeeded: it has not heard", ctl_names[c->id], pod->name);
    if (pod && !pod->is_deleting && !pod->is_gone && !is_condemned(job, pod))
        world_break(w, "%s deletes pod %s: the job is %s, version %" PRId64 ", and the pod is of version %" PRId64,
                    ctl_names[c->id], pod->name, phase_names[job->phase], job->version, pod->version);
}

/* Only the end of its time to live lets a controller delete a job, or what made it does. */
static void check_job_deleted(struct world *w, const struct controller *c, const struct op *op)
{
    struct sim_job *job = map_get(&w->jobs, op->uid);
    bool may = making_is_made(w, op->uid) ? making_may_delete(w, op->uid) : job && phase_is_final(job->phase);

    if (job && !job->is_deleting && !may)
        world_break(w, "%s deletes job %s, which is %s", ctl_names[c->id], job->name, phase_names[job->phase]);
}

/* Two controllers that answer each other at once make a storm of it. The status of a pod has other writers too. */
static void check_storm(struct world *w, const struct controller *c, const struct op *op)
{
    enum { ANSWERS_MAX = 100, SPAN_MS = 10 * SECOND_MS };
    char name[sizeof(((struct wrote *)NULL)->name)];
    struct wrote *wrote;

    if (is_kind(op->type, KIND_EVENT) ||
        (is_kind(op->type, KIND_POD) && op->kind != OP_CREATE && op->kind != OP_DELETE))
        return;
    snprintf(name, sizeof(name), "%s %.*s", op->type->kind, STR_ARG(op->name));
    if (!(wrote = map_get(&w->wrote, str_of(name)))) {
        wrote = xcalloc(1, sizeof(*wrote));
        memcpy(wrote->name, name, sizeof(name));
        map_put(&w->wrote, str_of(wrote->name), wrote);
    }
    if (world_ms(w) - wrote->since_ms > SPAN_MS)
        wrote->n = 0, wrote->since_ms = world_ms(w);
    wrote->n += wrote->last != c->id;
    wrote->last = c->id;
    if (wrote->n > ANSWERS_MAX)
        world_break(w, "two controllers answer each other: %s, %u times within %d seconds", name, wrote->n,
                    SPAN_MS / SECOND_MS);
}

static void on_effect(void *ctx, uint32_t client, const struct op *op, const struct err *e)
{
    struct world *w = ctx;
    struct controller *c = &w->controllers[client];

    if (e) {
        check_observe(w); /* another writer may have come first */
        world_log(w, ctl_names[client], "%s %s %.*s: %s", verbs[op->kind], op->type->kind, STR_ARG(op->name), e->text);
        return;
    }
    if (op->kind == OP_DELETE && is_kind(op->type, KIND_POD))
        check_pod_deleted(w, c, op);
    if (op->kind == OP_DELETE && is_kind(op->type, KIND_JOB))
        check_job_deleted(w, c, op);
    if (op->kind == OP_BIND)
        placing_bound(w, c, op);
    check_storm(w, c, op);
    w->actor = ctl_names[client];
    check_observe(w);
    w->actor = "?";
}

static void on_fault(void *ctx, uint32_t client, const char *what, const struct op *op)
{
    struct world *w = ctx;

    w->n_faults++;
    if (op)
        world_log(w, "fault", "%s: %s: %s %s %.*s", ctl_names[client], what, verbs[op->kind], op->type->kind,
                  STR_ARG(op->name));
    else
        world_log(w, "fault", "%s: %s", ctl_names[client], what);
}

void check_hooks(struct world *w, struct sim_hooks *ret)
{
    *ret = (struct sim_hooks){ w, on_send, on_read, on_effect, on_event, on_fault };
}
