/* cronjob.c - a job for each slot of a schedule
 *
 * The name of a job is the minute of its slot, so a slot has one job however often it is planned. What the status says
 * follows from the jobs that are there: which are active, which slot was the last. It is written before anything else is
 * done, so that a job which goes does not take with it that its slot is over.
 */
#include "flow/flow_internal.h"

#include "base/util.h"
#include "flow/cron.h"
#include "flow/zone.h"
#include "job/phase.h"

enum { DAY_MS = 86400000 };

struct cronjob_view {
    const struct cronjob_observed *o;
    struct arena *arena;
    const struct json *spec, *status;
    const struct json **jobs; /* oldest first */
    size_t n_jobs;
};

/* ---- jobs ---- */

static bool cronjob_is_finished(const struct json *job)
{
    return phase_is_final(job_phase_of(job_phase_text(job)));
}

/* One that was suspended holds nothing up: it may stay so for ever. */
static bool is_active(const struct json *job)
{
    return !cronjob_is_finished(job) && !str_is(job_phase_text(job), "Aborted");
}

static int cronjob_by_age(const void *x, const void *y)
{
    const struct json *a = *(const struct json *const *)x, *b = *(const struct json *const *)y;
    int order = str_cmp(json_member_text(json_get(a, "metadata"), "creationTimestamp"),
                        json_member_text(json_get(b, "metadata"), "creationTimestamp"));

    return order ? order : str_cmp(object_name(a), object_name(b));
}

static struct cronjob_view cronjob_look(const struct cronjob_observed *o, struct arena *a)
{
    struct cronjob_view v = { .o = o, .arena = a, .n_jobs = o->n_jobs };

    v.spec = json_get(o->cron, "spec");
    v.status = json_get(o->cron, "status");
    v.jobs = arena_array(a, const struct json *, o->n_jobs + 1);
    for (size_t i = 0; i < o->n_jobs; i++)
        v.jobs[i] = o->jobs[i];
    qsort(v.jobs, v.n_jobs, sizeof(const struct json *), cronjob_by_age);
    return v;
}

static bool cronjob_is_listed(const struct cronjob_view *v, struct str uid)
{
    JSON_FOREACH(ref, json_get(v->status, "active"))
        if (str_eq(json_member_text(ref, "uid"), uid))
            return true;
    return false;
}

/* ---- status ---- */

static struct json *reference(struct arena *a, const struct json *job)
{
    struct json *ref = json_object(a);

    json_set(ref, "apiVersion", json_str(a, STR(JOB_API_VERSION)));
    json_set(ref, "kind", json_str(a, STR(JOB_KIND)));
    json_set(ref, "name", json_str(a, object_name(job)));
    json_set(ref, "namespace", json_str(a, object_namespace(job)));
    json_set(ref, "uid", json_str(a, object_uid(job)));
    return ref;
}

static int64_t cronjob_slot_of(const struct json *job)
{
    struct json text = { .type = JSON_STRING };
    struct str slot = object_annotation(job, SLOT_KEY);

    text.text = slot.p;
    text.n = (uint32_t)slot.n;
    return flow_time(&text);
}

/* Times only go forward. */
static void cronjob_advance(struct json *status, struct arena *a, const char *key, int64_t ms)
{
    if (ms > flow_time(json_get(status, key)))
        json_set(status, key, flow_json_time(a, ms));
}

/* A slot of the day after tomorrow was run by a clock that was wrong. One that was set back by less waits for what it has
 * done already. */
static bool is_real(int64_t slot_ms, int64_t now_ms)
{
    return slot_ms && slot_ms <= now_ms + DAY_MS;
}

static struct json *new_status(const struct cronjob_view *v, int64_t now_ms)
{
    struct arena *a = v->arena;
    struct json *status = json_is(v->status, JSON_OBJECT) ? json_copy(a, v->status) : json_object(a);
    struct json *active = json_set(status, "active", json_array(a));
    int64_t last_ms = flow_time(json_get(status, "lastScheduleTime"));

    if (last_ms && !is_real(last_ms, now_ms))
        json_set(status, "lastScheduleTime", flow_json_time(a, now_ms));
    for (size_t i = 0; i < v->n_jobs; i++) {
        if (is_active(v->jobs[i]))
            json_push(active, reference(a, v->jobs[i]));
        if (is_real(cronjob_slot_of(v->jobs[i]), now_ms))
            cronjob_advance(status, a, "lastScheduleTime", cronjob_slot_of(v->jobs[i]));
        if (str_is(job_phase_text(v->jobs[i]), "Completed"))
            cronjob_advance(status, a, "lastSuccessfulTime",
                            flow_time(json_find(v->jobs[i], "status", "state", "lastTransitionTime", NULL)));
    }
    if (!json_count(active))
        json_remove(status, "active");
    return status;
}

static const struct json *job_of(const struct cronjob_view *v, struct str uid)
{
    for (size_t i = 0; i < v->n_jobs; i++)
        if (str_eq(object_uid(v->jobs[i]), uid))
            return v->jobs[i];
    return NULL;
}

static void tell_changes(const struct cronjob_view *v, struct plan *plan)
{
    bool replaces = str_is(json_member_text(v->spec, "concurrencyPolicy"), "Replace");

    for (size_t i = 0; i < v->n_jobs; i++)
        if (is_active(v->jobs[i]) && !cronjob_is_listed(v, object_uid(v->jobs[i])))
            plan_event_normal(plan, v->o->cron, "SuccessfulCreate", "Created job %.*s",
                              STR_ARG(object_name(v->jobs[i])));
    JSON_FOREACH(ref, json_get(v->status, "active")) {
        const struct json *job = job_of(v, json_member_text(ref, "uid"));
        struct str name = json_member_text(ref, "name");

        if (job && cronjob_is_finished(job))
            plan_event_normal(plan, v->o->cron, "SawCompletedJob", "Saw completed job: %.*s, status: %.*s",
                              STR_ARG(name), STR_ARG(job_phase_text(job)));
        else if (!job && !replaces)
            plan_event_warning(plan, v->o->cron, "StaleReference", "job %.*s was deleted before it ended",
                               STR_ARG(name));
    }
}

/* True: it has to be written before anything else. */
static bool plan_status(const struct cronjob_view *v, struct plan *plan)
{
    struct json *status = new_status(v, plan->now_ms);

    if (flow_same(v->status, status, "active") && flow_same(v->status, status, "lastScheduleTime") &&
        flow_same(v->status, status, "lastSuccessfulTime"))
        return false;
    flow_write_status(v->o->cron, CRON_API_VERSION, "CronJob", status, plan);
    tell_changes(v, plan);
    return true;
}

/* ---- history ---- */

/* Delete the oldest of those that ended so, down to the limit; no limit: keep all. */
static void cronjob_trim(const struct cronjob_view *v, const char *limit, bool are_completed, struct plan *plan)
{
    const struct json *most = json_get(v->spec, limit);
    int64_t n = 0, max;

    if (json_to_i64(most, &max) < 0 || max < 0)
        return;
    for (size_t i = v->n_jobs; i-- > 0;) { /* newest first */
        const struct json *job = v->jobs[i];

        if (!cronjob_is_finished(job) || str_is(job_phase_text(job), "Completed") != are_completed ||
            is_deleting(job) || n++ < max)
            continue;
        plan_delete(plan, object_id_of(job_type(), job));
        plan_event_normal(plan, v->o->cron, "SuccessfulDelete", "Deleted job %.*s", STR_ARG(object_name(job)));
    }
}

/* ---- slots ---- */

struct cronjob_slots {
    int64_t due_s, next_s; /* CRON_NEVER: there is none */
    unsigned n_missed;
};

/* Where counting begins. */
static int64_t start_s(const struct cronjob_view *v)
{
    int64_t last_ms = flow_time(json_get(v->status, "lastScheduleTime"));

    return (last_ms ? last_ms : flow_time(json_find(v->o->cron, "metadata", "creationTimestamp", NULL))) / 1000;
}

static struct cronjob_slots cronjob_slots_of(const struct cronjob_view *v, const struct cron *c, int64_t now_ms)
{
    int64_t start = start_s(v), from = MAX_OF(start, v->o->since_ms / 1000), now = now_ms / 1000, deadline;
    struct cronjob_slots s;

    if (json_to_i64(json_get(v->spec, "startingDeadlineSeconds"), &deadline) == 0 && deadline >= 0)
        from = MAX_OF(from, deadline > now ? 0 : now - deadline);
    if (!c->every_s) {
        s.due_s = cron_last(c, v->o->zone, from, now, &s.n_missed);
        s.next_s = cron_next(c, v->o->zone, MAX_OF(now, start));
        return s;
    }
    s.due_s = cron_last(c, NULL, start, now, &s.n_missed);
    s.next_s = cron_next(c, NULL, s.due_s == CRON_NEVER ? start : s.due_s);
    if (s.due_s != CRON_NEVER && s.due_s <= from)
        s.due_s = CRON_NEVER;
    return s;
}

static struct str job_name(const struct cronjob_view *v, int64_t slot_s)
{
    return arena_fmt(v->arena, "%.*s-%lld", STR_ARG(object_name(v->o->cron)), (long long)(slot_s / 60));
}

/* ---- starting ---- */

static void copy_notes(struct arena *a, struct json *to, const struct json *template, const char *key)
{
    const struct json *notes = json_find(template, "metadata", key, NULL);

    if (json_count(notes))
        json_set(json_get(to, "metadata"), key, json_copy(a, notes));
}

static void cronjob_make_job(const struct cronjob_view *v, int64_t slot_s, struct plan *plan)
{
    const struct json *cron = v->o->cron, *template = json_get(v->spec, "jobTemplate");
    struct arena *a = v->arena;
    struct json *job = object_new(a, JOB_API_VERSION, JOB_KIND, object_namespace(cron), job_name(v, slot_s));
    autobuf slot = { 0 };

    copy_notes(a, job, template, "labels");
    copy_notes(a, job, template, "annotations");
    zone_print(&slot, json_member_text(v->spec, "timeZone").n ? v->o->zone : NULL, slot_s);
    object_set_annotation(a, job, SLOT_KEY, arena_str(a, buf_view(&slot)));
    flow_set_authors(a, job, cron, NULL);
    object_set_controller(a, job, cron);
    json_set(job, "spec", json_get(template, "spec") ? json_copy(a, json_get(template, "spec")) : json_object(a));
    flow_create_job(job, v->o->scheduler_name, plan);
}

/* True: the slot may have its job. */
static bool cronjob_make_room(const struct cronjob_view *v, struct plan *plan)
{
    struct str policy = json_member_text(v->spec, "concurrencyPolicy");

    for (size_t i = 0; i < v->n_jobs; i++) {
        const struct json *job = v->jobs[i];

        if (!is_active(job))
            continue;
        if (str_is(policy, "Forbid")) {
            plan_event_warning(
                plan, v->o->cron, "ForbidConcurrent",
                "Not starting job because prior execution is running and concurrency policy is Forbid: %.*s",
                STR_ARG(object_name(job)));
            return false;
        }
        if (!str_is(policy, "Replace") || is_deleting(job))
            continue;
        plan_event_warning(plan, v->o->cron, "ReplaceConcurrent", "Job %.*s is deleted to start the next one",
                           STR_ARG(object_name(job)));
        plan_delete(plan, object_id_of(job_type(), job));
    }
    return true;
}

/* The slot's job is there already: as ours it is known by its slot, unless that was taken off it. */
static bool cronjob_is_taken(const struct cronjob_view *v, int64_t slot_s, struct plan *plan)
{
    const struct json *other = v->o->find_job(v->o->ctx, job_name(v, slot_s));

    if (flow_time(json_get(v->status, "lastScheduleTime")) / 1000 == slot_s)
        return true;
    if (other && !job_of(v, object_uid(other)))
        plan_event_warning(plan, v->o->cron, "ForeignJob",
                           "job %.*s exists and is not owned by this CronJob; skipped this start",
                           STR_ARG(object_name(other)));
    return other != NULL;
}

static void plan_slot(const struct cronjob_view *v, const struct cronjob_slots *s, struct plan *plan)
{
    if (s->n_missed > CRON_MANY)
        plan_event_warning(plan, v->o->cron, "TooManyMissedTimes",
                           "missed more than %d starts since %.*s; starting only the last one", CRON_MANY,
                           STR_ARG(json_text(json_get(v->status, "lastScheduleTime"), STR("its creation"))));
    if (!cronjob_is_taken(v, s->due_s, plan) && cronjob_make_room(v, plan))
        cronjob_make_job(v, s->due_s, plan);
}

/* ---- the plan ---- */

static bool read_schedule(const struct cronjob_view *v, struct cron *ret, struct plan *plan)
{
    struct str text = json_member_text(v->spec, "schedule");
    struct err e;

    if (v->o->zone_problem.n)
        plan_event_warning(plan, v->o->cron, "InvalidTimeZone", "spec.timeZone: %.*s", STR_ARG(v->o->zone_problem));
    else if (cron_parse(text, ret, &e) < 0)
        plan_event_warning(plan, v->o->cron, "UnsupportedSchedule", "spec.schedule: %s", e.text);
    else
        return true;
    return false; /* until the user writes another */
}

void cronjob_plan(const struct cronjob_observed *o, struct plan *plan)
{
    struct cronjob_view v = cronjob_look(o, plan->arena);
    struct cronjob_slots s;
    struct cron c;

    if (is_deleting(o->cron) || plan_status(&v, plan))
        return;
    cronjob_trim(&v, "successfulJobsHistoryLimit", true, plan);
    cronjob_trim(&v, "failedJobsHistoryLimit", false, plan);
    if (json_bool(json_get(v.spec, "suspend"), false) || !read_schedule(&v, &c, plan))
        return;
    s = cronjob_slots_of(&v, &c, plan->now_ms);
    if (s.next_s != CRON_NEVER)
        plan_wake(plan, s.next_s * 1000);
    else
        plan_event_warning(plan, o->cron, "InvalidSchedule", "spec.schedule matches no date");
    if (s.due_s != CRON_NEVER)
        plan_slot(&v, &s, plan);
    flow_tell_trouble(o->cron, o->trouble, plan);
}
