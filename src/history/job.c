/* job.c - taking in jobs and their PodGroups */
#include "history/history_internal.h"

#include "api/meta.h"
#include "api/pod/status.h"
#include "base/util.h"

/* ---- jobs ---- */

static struct history_job *job_new(struct history *h, const struct object *o, int64_t now_ms)
{
    struct history_job *j = arena_new(&h->arena, struct history_job);

    j->kind = history_text(h, object_kind(o->root));
    j->namespace = history_text(h, o->namespace);
    j->name = history_text(h, o->name);
    j->uid = history_text(h, o->uid);
    j->label = history_label(h, o->namespace, o->name);
    j->submitted_ms = h->is_cluster ? history_made_ms(o, now_ms) : now_ms;
    j->admitted_ms = j->started_ms = j->finished_ms = j->gone_ms = j->why_ms = -1;
    j->why = WHY_NOT;
    map_put(&h->jobs_uid, j->uid, j);
    map_put(&h->jobs_name, history_text(h, history_name_key(h, j->namespace, j->name)), j);
    *vec_push(&h->arena, &j->queued) = (struct history_span){ now_ms, -1 };
    *vec_push(&h->arena, &h->jobs) = j;
    return j;
}

struct history_task *history_task(struct history *h, struct history_job *j, struct str name)
{
    struct history_task *task;

    VEC_FOREACH(t, &j->tasks)
        if (str_eq((*t)->name, name))
            return *t;
    task = arena_new(&h->arena, struct history_task);
    task->name = history_text(h, name);
    *vec_push(&h->arena, &j->tasks) = task;
    return task;
}

void history_job_phase(struct history *h, struct history_job *j, struct str phase, int64_t now_ms)
{
    if (str_eq(phase, j->phase))
        return;
    j->phase = history_keep(h, phase);
    if (j->phases.n && j->phases.v[j->phases.n - 1].at_ms == now_ms) /* it lasted no time at all */
        j->phases.v[j->phases.n - 1].name = j->phase;
    else if (j->phases.n < HISTORY_PHASES)
        *vec_push(&h->arena, &j->phases) = (struct history_phase){ now_ms, j->phase };
    if (!job_is_final(j))
        j->finished_ms = -1; /* restarted */
    else if (j->finished_ms < 0)
        j->finished_ms = now_ms;
}

static void close_wait(struct history_job *j, int64_t now_ms)
{
    struct history_wait *last = j->waits.n ? &j->waits.v[j->waits.n - 1] : NULL;

    if (last && last->until_ms < 0)
        last->until_ms = now_ms;
}

/* The order in which jobs are over is kept: the exit status is that of the first that failed. */
static void note_over(struct history *h, struct history_job *j)
{
    if (!job_is_over(j)) {
        j->over_seq = 0;
    } else if (!j->over_seq) {
        j->over_seq = ++h->feed->over_seq;
        j->why_text = STR_NULL;
    }
}

static void tell_job(struct history *h, struct history_job *j, bool is_new)
{
    bool is_decision = !is_new && job_action_of(j->reason) != ACTION_NONE && !job_is_over(j);

    if (is_decision && h->feed->hooks.decision) {
        j->told = j->message;
        h->feed->hooks.decision(h->feed->hooks.ctx, j, j->reason, j->message);
    }
    if (h->feed->hooks.job)
        h->feed->hooks.job(h->feed->hooks.ctx, j);
}

static void job_read(struct history *h, struct history_job *j, const struct object *o)
{
    const struct json *spec = json_get(o->root, "spec"), *status = json_get(o->root, "status"),
                      *state = json_get(status, "state");

    history_set(h, &j->queue, json_text(json_get(spec, "queue"), STR("default")));
    history_set(h, &j->priority_class, json_member_text(spec, "priorityClassName"));
    j->min = json_i64(json_get(spec, "minAvailable"), 1);
    j->ttl_s = json_i64(json_get(spec, "ttlSecondsAfterFinished"), -1);
    j->n_pods = 0;
    JSON_FOREACH(task, json_get(spec, "tasks")) {
        struct history_task *own = history_task(h, j, json_member_text(task, "name"));

        own->replicas = json_i64(json_get(task, "replicas"), 0);
        own->min = json_i64(json_get(task, "minAvailable"), own->replicas);
        j->n_pods += own->replicas;
    }
    history_set(h, &j->reason, json_member_text(state, "reason"));
    history_set(h, &j->message, json_member_text(state, "message"));
    j->retries = json_i64(json_get(status, "retryCount"), 0);
    if (j->retries && j->retries >= json_i64(json_get(spec, "maxRetry"), INT64_MAX))
        j->retries--; /* the one that reaches maxRetry is counted and not made */
}

void history_job_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct history_job *j = map_get(&h->jobs_uid, o->uid);
    enum job_phase before = j ? job_phase_now(j) : PHASE_NONE;
    bool is_new = !j, was_gone = j && j->gone_ms >= 0;

    if (!j && is_gone)
        return;
    if (!j)
        j = job_new(h, o, now_ms);
    if (is_gone)
        j->gone_ms = now_ms;
    else
        history_job_decided(h, j, o, now_ms);
    job_read(h, j, o);
    if (is_new && !h->is_cluster) /* policies do not change */
        history_task_pending(j, o);
    history_job_phase(h, j, json_text(json_find(o->root, "status", "state", "phase", NULL), STR("")), now_ms);
    if (h->is_cluster)
        history_step(h, j, now_ms);
    else if (job_is_over(j))
        close_wait(j, now_ms);
    note_over(h, j);
    h->changes++;
    object_unref(j->object);
    j->object = object_ref(o);
    if (is_new || job_phase_now(j) != before || was_gone != is_gone)
        tell_job(h, j, is_new);
}

/* ---- PodGroups: when the job stood in line, and why ---- */

static void note_wait(struct history *h, struct history_job *j, const struct json *why, int64_t now_ms)
{
    struct history_wait *last = j->waits.n ? &j->waits.v[j->waits.n - 1] : NULL;
    struct str reason = history_keep(h, json_member_text(why, "reason"));
    struct str message = history_keep(h, json_member_text(why, "message"));

    if (last && last->until_ms < 0 && str_eq(last->reason, reason) && str_eq(last->message, message))
        return;
    close_wait(j, now_ms);
    if (last && last->from_ms == now_ms) /* said and taken back in one moment */
        j->waits.n--;
    if (j->waits.n < HISTORY_WAITS)
        *vec_push(&h->arena, &j->waits) = (struct history_wait){ now_ms, -1, reason, message };
}

/* From the creation of its PodGroup to its admission. A restart makes a new PodGroup: it stands in line again. */
static void note_queued(struct history *h, struct history_job *j, const struct object *o, struct str phase,
                        int64_t now_ms)
{
    struct history_span *last;

    if (!str_eq(j->group_uid, o->uid) && !str_empty(j->group_uid))
        *vec_push(&h->arena, &j->queued) = (struct history_span){ now_ms, -1 };
    history_set(h, &j->group_uid, o->uid);
    last = &j->queued.v[j->queued.n - 1];
    if (last->until_ms < 0 && !str_empty(phase) && !str_is(phase, "Pending"))
        last->until_ms = now_ms;
}

/* In a cluster a PodGroup without an owner is a job of its own. */
static struct history_job *group_job(struct history *h, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct history_job *j = map_get(&h->jobs_uid, object_controller_uid(o->root));

    if (j || !h->is_cluster)
        return j;
    j = map_get(&h->jobs_uid, o->uid);
    if (!j && !is_gone && json_count(json_find(o->root, "metadata", "ownerReferences", NULL)) == 0)
        j = job_new(h, o, now_ms);
    return j;
}

void history_group_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct history_job *j = group_job(h, o, is_gone, now_ms);
    struct str phase = json_member_text(json_get(o->root, "status"), "phase");
    const struct json *why = condition_with(json_get(o->root, "status"), "Unschedulable", "True");
    bool is_old;

    if (!j)
        return;
    is_old = is_gone && !str_eq(j->group_uid, o->uid); /* the job has another by now */
    if (!is_gone)
        history_set(h, &j->group, o->name);
    else if (str_eq(j->group, o->name))
        j->group = STR("");
    if (!is_old)
        note_queued(h, j, o, phase, now_ms);
    if (h->is_cluster)
        history_group_step(h, j, o, is_gone, now_ms);
    else if (why && !is_gone && !str_is(phase, "Running") && !job_is_final(j))
        note_wait(h, j, why, now_ms);
    else if (!is_old)
        close_wait(j, now_ms);
}

/* ---- what others say of a job ---- */

bool history_why(struct history *h, struct history_job *j, enum why_kind why, struct str text, int64_t now_ms)
{
    j->why = why;
    if (str_eq(j->why_text, text))
        return false;
    if (!j->why_text.n)
        j->why_ms = now_ms;
    j->why_text = history_text(h, text);
    h->changes++;
    return true;
}

void history_stopped(struct history_job *j)
{
    j->is_stopped = true;
}
