/* making.c - the invariants of what makes Jobs: each vertex and each slot once, in its time, and nothing is taken away
 * that was to stay
 *
 * By the truth of the store. With two controllers one may act on what the other has not told it yet: of what only a
 * single writer can promise nothing is asked then.
 */
#include "world.h"

#include "api/meta.h"
#include "flow/flow.h"

#include <inttypes.h>

struct made { /* a job of a maker, by uid; kept when gone */
    char uid[UID_MAX], maker[UID_MAX], name[NAME_MAX_];
    enum phase phase;
    bool is_gone, is_deleting, was_aborted, has_ttl;
};

struct sim_maker { /* a JobFlow or CronJob, by uid; kept when gone */
    char uid[UID_MAX];
    struct object *object; /* as it is, or was */
    bool is_flow, is_gone;
};

static struct str text_of(const struct json *object, const char *part, const char *key)
{
    return json_text(json_find(object, part, key, NULL), STR(""));
}

static struct str phase_text(const struct json *object)
{
    return json_text(json_find(object, "status", "state", "phase", NULL), STR(""));
}

static bool is_single(const struct world *w)
{
    return w->profile.controllers == 1;
}

static bool is_deleting(const struct json *object)
{
    return json_find(object, "metadata", "deletionTimestamp", NULL) != NULL;
}

void making_init(struct world *w)
{
    map_init(&w->makers, w->seed);
    map_init(&w->made, w->seed);
}

void making_done(struct world *w)
{
    MAP_FOREACH(struct sim_maker *, m, &w->makers) {
        object_unref(m->object);
        free(m);
    }
    MAP_FOREACH(struct made *, j, &w->made)
        free(j);
    map_done(&w->makers);
    map_done(&w->made);
}

/* ---- flows ---- */

static const struct json *row_of(const struct json *flow, struct str job)
{
    JSON_FOREACH(row, json_find(flow, "status", "jobStatusList", NULL))
        if (str_eq(json_member_text(row, "name"), job))
            return row;
    return NULL;
}

/* Has a job of this name and maker ever been in that phase? */
static bool ever(struct world *w, const struct sim_maker *m, struct str job, enum phase phase)
{
    const struct json *row = row_of(m->object->root, job);

    MAP_FOREACH(const struct made *, j, &w->made)
        if (j->phase == phase && str_is(job, j->name) && str_is(str_of(m->uid), j->maker))
            return true;
    return str_is(json_member_text(row, "state"), phase_names[phase]);
}

static void check_vertex(struct world *w, const struct sim_maker *m, const struct json *vertex, struct str job)
{
    const struct json *flow = m->object->root, *row = row_of(flow, job);
    autoarena a = { 0 };

    JSON_FOREACH(target, json_find(vertex, "dependsOn", "targets", NULL)) {
        struct str before = jobflow_job_name(&a, object_name(flow), json_text(target, STR("")));

        if (!ever(w, m, before, PHASE_COMPLETED))
            world_break(w, "job %.*s of a flow is made, and %.*s before it has not completed", STR_ARG(job),
                        STR_ARG(before));
    }
    if (is_single(w) && phase_is_final(phase_of(json_member_text(row, "state"))))
        world_break(w, "job %.*s of a flow is made again, and the status says that it is over", STR_ARG(job));
    if (is_single(w) && (str_is(phase_text(flow), "Succeed") || str_is(phase_text(flow), "Failed")))
        world_break(w, "job %.*s is made, and its flow has ended", STR_ARG(job));
}

static void check_flow_job(struct world *w, const struct sim_maker *m, struct str job)
{
    const struct json *flow = m->object->root;
    autoarena a = { 0 };

    JSON_FOREACH(vertex, json_find(flow, "spec", "flows", NULL))
        if (str_eq(jobflow_job_name(&a, object_name(flow), json_member_text(vertex, "name")), job)) {
            check_vertex(w, m, vertex, job);
            return;
        }
    world_break(w, "job %.*s is of no vertex of its flow", STR_ARG(job));
}

static void check_flow_phase(struct world *w, const struct sim_maker *m, struct str before)
{
    const struct json *flow = m->object->root;
    struct str now = phase_text(flow);
    bool has_failed = false;
    autoarena a = { 0 };

    if ((str_is(before, "Succeed") || str_is(before, "Failed")) && !str_eq(before, now))
        world_break(w, "flow %.*s was %.*s, then %.*s", STR_ARG(object_name(flow)), STR_ARG(before), STR_ARG(now));
    JSON_FOREACH(vertex, json_find(flow, "spec", "flows", NULL)) {
        struct str job = jobflow_job_name(&a, object_name(flow), json_member_text(vertex, "name"));

        if (str_is(now, "Succeed") && !ever(w, m, job, PHASE_COMPLETED))
            world_break(w, "flow %.*s has succeeded, and job %.*s has not completed", STR_ARG(object_name(flow)),
                        STR_ARG(job));
        has_failed |= ever(w, m, job, PHASE_FAILED) || ever(w, m, job, PHASE_TERMINATED);
    }
    if (str_is(now, "Failed") && !has_failed)
        world_break(w, "flow %.*s has failed, and no job of it has", STR_ARG(object_name(flow)));
}

/* ---- schedules ---- */

static int64_t slot_of(const struct object *job)
{
    int64_t ms = 0;

    (void)clock_parse(object_annotation(job->root, SLOT_KEY), &ms, NULL); /* none: 0 */
    return ms;
}

static int64_t last_slot(const struct sim_maker *m)
{
    int64_t ms = 0;

    (void)clock_parse(text_of(m->object->root, "status", "lastScheduleTime"), &ms, NULL); /* none: 0 */
    return ms;
}

static void check_cron_job(struct world *w, const struct sim_maker *m, const struct object *job)
{
    struct str policy = text_of(m->object->root, "spec", "concurrencyPolicy");
    int64_t slot = slot_of(job), now = clock_now_ms(&w->clock.clock);
    bool was_set_back = world_ms(w) - w->jumped_ms < ON_WAY_MS;

    /* A write that was on its way when the clock was set back comes by the time before. */
    if (!slot || slot > now + (was_set_back ? w->ahead_ms : 0))
        world_break(w, "job %.*s is made before its time", STR_ARG(job->name));
    if (is_single(w) && last_slot(m) == slot)
        world_break(w, "job %.*s is made, and its CronJob says that this was done", STR_ARG(job->name));
    MAP_FOREACH(const struct made *, j,
                &w->made) /* late news aside: somebody may delete it before its maker hears of it */
        if (w->profile.is_exact && str_is(str_of(m->uid), j->maker) && str_is(job->name, j->name) &&
            !str_is(job->uid, j->uid))
            world_break(w, "job %.*s is made for the second time", STR_ARG(job->name));
    if (!is_single(w) || !str_is(policy, "Forbid"))
        return;
    MAP_FOREACH(const struct made *, j, &w->made)
        if (str_is(str_of(m->uid), j->maker) && !str_is(job->uid, j->uid) && !j->is_gone && !j->is_deleting &&
            !j->was_aborted && !phase_is_final(j->phase))
            world_break(w, "job %.*s is made beside %s, and the CronJob forbids that", STR_ARG(job->name), j->name);
}

/* ---- what happens ---- */

static struct sim_maker *maker_of(struct world *w, const struct object *job)
{
    return map_get(&w->makers, object_controller_uid(job->root));
}

void making_job_changed(struct world *w, const struct object *o, bool is_gone)
{
    struct made *j = map_get(&w->made, o->uid);
    struct sim_maker *m = maker_of(w, o);
    bool is_new = !j;

    if (!m)
        return;
    if (!j) {
        j = xcalloc(1, sizeof(*j));
        snprintf(j->uid, sizeof(j->uid), "%.*s", STR_ARG(o->uid));
        snprintf(j->maker, sizeof(j->maker), "%s", m->uid);
        snprintf(j->name, sizeof(j->name), "%.*s", STR_ARG(o->name));
        map_put(&w->made, str_of(j->uid), j);
    }
    j->phase = phase_of(phase_text(o->root));
    j->was_aborted |= j->phase == PHASE_ABORTED || j->phase == PHASE_ABORTING;
    j->is_deleting = is_deleting(o->root);
    j->is_gone = is_gone;
    j->has_ttl = json_find(o->root, "spec", "ttlSecondsAfterFinished", NULL);
    if (!is_new)
        return;
    w->n_made++;
    if (m->is_flow)
        check_flow_job(w, m, o->name);
    else
        check_cron_job(w, m, o);
}

void making_changed(struct world *w, const struct object *o, bool is_gone)
{
    struct sim_maker *m = map_get(&w->makers, o->uid);
    autoarena a = { 0 };
    struct str before = m ? arena_str(&a, phase_text(m->object->root)) : STR("");

    if (!m) {
        m = xcalloc(1, sizeof(*m));
        snprintf(m->uid, sizeof(m->uid), "%.*s", STR_ARG(o->uid));
        m->is_flow = o->type == sim_types[KIND_FLOW];
        map_put(&w->makers, str_of(m->uid), m);
    }
    object_unref(m->object);
    m->object = object_ref(o);
    m->is_gone = is_gone;
    if (m->is_flow && !is_gone)
        check_flow_phase(w, m, before);
}

/* May a controller delete this job, whatever its phase is? */
bool making_may_delete(struct world *w, struct str uid)
{
    const struct made *j = map_get(&w->made, uid);
    const struct sim_maker *m = j ? map_get(&w->makers, str_of(j->maker)) : NULL;
    bool is_final = j && phase_is_final(j->phase);

    if (!m)
        return false;
    if (m->is_gone || is_deleting(m->object->root) || (j->has_ttl && is_final))
        return true;
    if (m->is_flow)
        return str_is(text_of(m->object->root, "spec", "jobRetainPolicy"), "delete") &&
               str_is(phase_text(m->object->root), "Succeed");
    return is_final || str_is(text_of(m->object->root, "spec", "concurrencyPolicy"), "Replace");
}

bool making_is_made(struct world *w, struct str uid)
{
    return map_get(&w->made, uid);
}

void making_delete_newest(struct world *w, struct str cron)
{
    const struct made *last = NULL;

    MAP_FOREACH(const struct made *, j, &w->made)
        if (!j->is_gone && str_starts(str_of(j->name), cron) && j->name[cron.n] == '-' &&
            (!last || strcmp(j->name, last->name) > 0))
            last = j;
    if (last)
        (void)world_delete(w, "user", KIND_JOB, str_of(last->name), -1, PROPAGATE_BACKGROUND); /* gone is fine */
}

/* ---- at rest ---- */

static bool is_there(const struct made *j)
{
    return !j->is_gone && !j->is_deleting;
}

static const struct made *job_named(struct world *w, const struct sim_maker *m, struct str name)
{
    MAP_FOREACH(const struct made *, j, &w->made)
        if (!j->is_gone && str_is(name, j->name) && str_is(str_of(m->uid), j->maker))
            return j;
    return NULL;
}

/* A vertex that may start has its job, or had it to its end. */
static void rest_vertex(struct world *w, const struct sim_maker *m, const struct json *vertex)
{
    const struct json *flow = m->object->root;
    autoarena a = { 0 };
    struct str job = jobflow_job_name(&a, object_name(flow), json_member_text(vertex, "name"));
    bool is_over = phase_is_final(phase_of(json_member_text(row_of(flow, job), "state")));

    if (job_named(w, m, job) || is_over || !world_get(w, KIND_TEMPLATE, json_member_text(vertex, "name")))
        return;
    JSON_FOREACH(target, json_find(vertex, "dependsOn", "targets", NULL)) {
        struct str before = jobflow_job_name(&a, object_name(flow), json_text(target, STR("")));

        if (!str_is(json_member_text(row_of(flow, before), "state"), "Completed"))
            return;
    }
    world_break(w, "at rest: flow %.*s could have made job %.*s", STR_ARG(object_name(flow)), STR_ARG(job));
}

static void rest_flow(struct world *w, const struct sim_maker *m)
{
    const struct json *flow = m->object->root;
    struct str phase = phase_text(flow);
    size_t n = 0, n_completed = 0;

    MAP_FOREACH(const struct made *, j, &w->made)
        if (str_is(str_of(m->uid), j->maker) && is_there(j)) {
            n++;
            if (!str_is(json_member_text(row_of(flow, str_of(j->name)), "state"), phase_names[j->phase]))
                world_break(w, "at rest: job %s is %s, and its flow does not say so", j->name, phase_names[j->phase]);
        }
    if (str_is(phase, "Succeed") && str_is(text_of(flow, "spec", "jobRetainPolicy"), "delete") && n)
        world_break(w, "at rest: flow %.*s has succeeded, and %zu jobs that were to go are there",
                    STR_ARG(object_name(flow)), n);
    if (str_is(phase, "Succeed") || str_is(phase, "Failed"))
        return;
    JSON_FOREACH(vertex, json_find(flow, "spec", "flows", NULL)) {
        autoarena a = { 0 };
        struct str job = jobflow_job_name(&a, object_name(flow), json_member_text(vertex, "name"));
        enum phase last = phase_of(json_member_text(row_of(flow, job), "state"));

        n_completed += last == PHASE_COMPLETED;
        if (last == PHASE_FAILED || last == PHASE_TERMINATED)
            world_break(w, "at rest: job %.*s has failed, and its flow has not", STR_ARG(job));
        rest_vertex(w, m, vertex);
    }
    if (n_completed == json_count(json_find(flow, "spec", "flows", NULL)))
        world_break(w, "at rest: all jobs of flow %.*s have completed, and it has not succeeded",
                    STR_ARG(object_name(flow)));
}

static void rest_cron(struct world *w, const struct sim_maker *m)
{
    const struct json *cron = m->object->root;
    int64_t n_completed = 0, n_failed = 0, n_active = 0;

    MAP_FOREACH(const struct made *, j, &w->made) {
        if (!str_is(str_of(m->uid), j->maker) || !is_there(j))
            continue;
        n_completed += j->phase == PHASE_COMPLETED;
        n_failed += j->phase == PHASE_FAILED || j->phase == PHASE_TERMINATED;
        n_active += !phase_is_final(j->phase) && j->phase != PHASE_ABORTED;
    }
    if (n_completed > json_i64(json_find(cron, "spec", "successfulJobsHistoryLimit", NULL), 3) ||
        n_failed > json_i64(json_find(cron, "spec", "failedJobsHistoryLimit", NULL), 1))
        world_break(w, "at rest: CronJob %.*s keeps %" PRId64 " completed and %" PRId64 " failed jobs",
                    STR_ARG(object_name(cron)), n_completed, n_failed);
    if ((int64_t)json_count(json_find(cron, "status", "active", NULL)) != n_active)
        world_break(w, "at rest: CronJob %.*s says that %zu jobs are active, and %" PRId64 " are",
                    STR_ARG(object_name(cron)), json_count(json_find(cron, "status", "active", NULL)), n_active);
}

void making_rest(struct world *w)
{
    MAP_FOREACH(const struct sim_maker *, m, &w->makers) {
        if (!m->is_gone && is_deleting(m->object->root))
            world_break(w, "at rest: %s %.*s was deleted and is still there", m->object->type->kind,
                        STR_ARG(m->object->name));
        else if (!m->is_gone && m->is_flow)
            rest_flow(w, m);
        else if (!m->is_gone)
            rest_cron(w, m);
    }
    MAP_FOREACH(const struct made *, j, &w->made) {
        const struct sim_maker *m = map_get(&w->makers, str_of(j->maker));

        if (!j->is_gone && m->is_gone)
            world_break(w, "at rest: job %s is left over from what made it", j->name);
    }
}
