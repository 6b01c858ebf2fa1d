/* step.c - jobs of a cluster: their states over time, and why they wait */
#include "history/history_internal.h"

#include "api/meta.h"
#include "api/pod/status.h"
#include "base/clock.h"
#include "base/util.h"
#include "sched/sched.h"

const char *const job_state_names[JOB_STATE_MAX] = {
    "Waiting", "Admitted", "Partly", "Running", "Completed", "Failed"
};

int64_t history_made_ms(const struct object *o, int64_t now_ms)
{
    int64_t made_ms;

    if (clock_parse(json_member_text(json_get(o->root, "metadata"), "creationTimestamp"), &made_ms, NULL) < 0)
        return now_ms;
    /* Whole seconds in the object: what was made in this moment was made now. */
    return made_ms <= now_ms && now_ms - made_ms < 1000 ? now_ms : made_ms;
}

/* ---- states ---- */

static void set_open(struct history *h, struct history_job *j, bool is_open)
{
    h->n_open += (size_t)is_open - (size_t)j->is_open;
    j->is_open = is_open;
}

enum job_state history_state_now(const struct history_job *j)
{
    if (job_is_final(j))
        return job_is_ok(j) ? STATE_DONE : STATE_FAILED;
    if (j->running > 0 && j->running + j->succeeded >= j->min)
        return STATE_RUNS;
    if (j->running > 0)
        return STATE_PARTLY;
    return str_empty(j->group_phase) || str_is(j->group_phase, "Pending") ? STATE_WAITS : STATE_ADMITTED;
}

static struct history_wait *open_wait(struct history_job *j)
{
    struct history_wait *last = j->waits.n ? &j->waits.v[j->waits.n - 1] : NULL;

    return last && last->until_ms < 0 ? last : NULL;
}

static void close_wait(struct history_job *j, int64_t now_ms)
{
    struct history_wait *w = open_wait(j);

    if (!w)
        return;
    w->until_ms = now_ms;
    if (w->from_ms == now_ms) /* it lasted no time at all */
        j->waits.n--;
}

/* One entry for as long as the same is said. */
static void note_wait(struct history *h, struct history_job *j, enum job_state state, int64_t now_ms)
{
    struct history_wait *w = open_wait(j);
    int64_t from_ms = w || j->waits.n || j->started_ms >= 0 ? now_ms : MIN_OF(j->submitted_ms, now_ms);

    if (state >= STATE_RUNS) {
        close_wait(j, now_ms);
        return;
    }
    if (w && str_eq(w->reason, j->told_reason) && str_eq(w->message, j->told_message))
        return;
    if (w && w->from_ms < now_ms && !str_empty(w->message)) {
        w->until_ms = now_ms;
        w = NULL;
    }
    if (!w) {
        w = vec_push(&h->arena, &j->waits);
        w->from_ms = MAX_OF(from_ms, h->begin_ms);
        w->until_ms = -1;
    }
    w->reason = j->told_reason;
    w->message = j->told_message;
    if (j->waits.n > 1 && w[-1].until_ms == w->from_ms && str_eq(w[-1].reason, w->reason) &&
        str_eq(w[-1].message, w->message)) { /* it was said otherwise for no time */
        w[-1].until_ms = -1;
        j->waits.n--;
    }
}

static void note_times(struct history_job *j, enum job_state state, int64_t now_ms)
{
    if (state >= STATE_DONE)
        return;
    if (state >= STATE_ADMITTED && j->admitted_ms < 0)
        j->admitted_ms = now_ms;
    if (state == STATE_RUNS && j->started_ms < 0)
        j->started_ms = now_ms;
}

/* Steps of one time are one. */
static void note_state(struct history *h, struct history_job *j, enum job_state state, int64_t now_ms)
{
    struct history_step *last = j->steps.n ? &j->steps.v[j->steps.n - 1] : NULL;

    if (last && last->state == state && last->running == j->running)
        return;
    if (!last && state >= STATE_DONE)
        j->was_over = true;
    if (!last || last->state != state)
        h->changed_ms = now_ms;
    note_times(j, state, now_ms);
    set_open(h, j, state < STATE_DONE);
    if (!last || last->at_ms != now_ms)
        last = vec_push(&h->arena, &j->steps);
    *last = (struct history_step){ now_ms, state, j->running };
}

void history_step(struct history *h, struct history_job *j, int64_t now_ms)
{
    enum job_state state = history_state_now(j);

    note_wait(h, j, state, now_ms);
    note_state(h, j, state, now_ms);
    if (j->gone_ms >= 0)
        set_open(h, j, false);
}

/* ---- PodGroups ---- */

/* People know jobs by their names, not their PodGroups. */
static void step_name_other(struct history *h, struct why *w)
{
    const struct history_job *other = map_get(&h->feed->groups, str_of(w->other));

    if (other)
        (void)snprintf(w->other, sizeof(w->other), "%.*s/%.*s", STR_ARG(other->namespace), STR_ARG(other->name));
}

/* The reason comes from the scheduler itself where it can be asked: the words in the object may be older. */
static void read_why(struct history *h, struct history_job *j, const struct object *group)
{
    const struct json *condition = condition_with(json_get(group->root, "status"), "Unschedulable", "True");
    struct str reason = json_member_text(condition, "reason"), text = json_member_text(condition, "message");
    struct sched_group_view view;
    autobuf said = { 0 };

    if (h->feed->sched && sched_group_view(h->feed->sched, group->namespace, group->name, &view) && view.why &&
        view.why->kind != WHY_NOT) {
        struct why why = *view.why;

        step_name_other(h, &why);
        reason = str_of(why_names[why.kind]);
        why_print(&said, sched_dims(h->feed->sched), &why);
        if (said.n)
            text = buf_view(&said);
    }
    history_set(h, &j->told_reason, reason);
    history_set(h, &j->told_message, text);
}

static void read_group(struct history *h, struct history_job *j, const struct object *o)
{
    const struct json *spec = json_get(o->root, "spec");
    struct str key = history_name_key(h, o->namespace, o->name);

    if (map_get(&h->feed->groups, key) != j)
        map_put(&h->feed->groups, history_text(h, key), j);
    history_set(h, &j->queue, json_text(json_get(spec, "queue"), STR("default")));
    history_set(h, &j->priority_class, json_member_text(spec, "priorityClassName"));
    history_set(h, &j->group_phase, json_member_text(json_get(o->root, "status"), "phase"));
    read_why(h, j, o);
}

void history_group_step(struct history *h, struct history_job *j, const struct object *o, bool is_gone, int64_t now_ms)
{
    bool is_alone = str_is(j->kind, "PodGroup");

    if (is_gone) {
        map_remove(&h->feed->groups, history_name_key(h, o->namespace, o->name));
        j->group_phase = STR("");
    } else {
        read_group(h, j, o);
        if (is_alone)
            j->min = json_i64(json_find(o->root, "spec", "minMember", NULL), 1);
    }
    if (is_alone && is_gone)
        j->gone_ms = now_ms;
    if (is_alone && str_is(j->group_phase, "Completed"))
        history_job_phase(h, j, STR("Completed"), now_ms);
    history_step(h, j, now_ms);
}

/* ---- pods ---- */

static void count_phase(struct history_pod *p, int64_t by)
{
    if (!p->job)
        return;
    if (str_is(p->phase, "Running")) {
        p->job->running += by;
        p->task->running += by;
    } else if (str_is(p->phase, "Succeeded")) {
        p->job->succeeded += by;
        p->task->succeeded += by;
    } else if (str_is(p->phase, "Failed")) {
        p->task->failed += by;
    }
}

static void set_phase(struct history_pod *p, struct str phase)
{
    static const char *const known[] = { "Running", "Succeeded", "Failed" };

    count_phase(p, -1);
    p->phase = STR("");
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_is(phase, known[i]))
            p->phase = str_of(known[i]);
    count_phase(p, 1);
}

/* It may have its places again in the same moment, on other nodes; its work is lost all the same. */
static void note_stop(struct history_job *j, bool ran, int64_t now_ms)
{
    j->stopped++;
    if (!ran || history_state_now(j) >= STATE_RUNS || (j->stops && j->stopped_ms == now_ms))
        return;
    j->stops++;
    j->stopped_ms = now_ms;
}

void history_pod_step(struct history *h, struct history_pod *p, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct str phase = json_member_text(json_get(o->root, "status"), "phase");
    bool is_ended = pod_phase_has_ended(phase);
    bool is_stopped = is_gone && p->job && p->place && !is_ended;
    bool ran = is_stopped && history_state_now(p->job) == STATE_RUNS;

    set_phase(p, is_gone ? STR("") : phase);
    if (is_stopped)
        note_stop(p->job, ran, now_ms);
    history_place_pod(h, p, o->root, is_gone || is_ended, now_ms);
    if (p->job)
        history_step(h, p->job, now_ms);
}

/* ---- the end ---- */

static int by_start(const void *x, const void *y)
{
    const struct history_job *a = *(struct history_job *const *)x, *b = *(struct history_job *const *)y;
    int64_t a_ms = a->was_over ? -1 : a->started_ms < 0 ? INT64_MAX : a->started_ms;
    int64_t b_ms = b->was_over ? -1 : b->started_ms < 0 ? INT64_MAX : b->started_ms;
    int c;

    if (a_ms != b_ms)
        return a_ms < b_ms ? -1 : 1;
    if (a->submitted_ms != b->submitted_ms)
        return a->submitted_ms < b->submitted_ms ? -1 : 1;
    c = str_cmp(a->namespace, b->namespace);
    return c ? c : str_cmp(a->name, b->name);
}

void history_steps_end(struct history *h, int64_t end_ms)
{
    for (size_t i = 0; i < h->jobs.n; i++) {
        struct history_job *j = h->jobs.v[i];
        const int64_t *value = map_get(&h->feed->priorities, j->priority_class);

        j->priority = value ? *value : h->feed->default_priority;
        if (open_wait(j) && open_wait(j)->from_ms == end_ms && j->waits.n > 1)
            j->waits.n--;
    }
    if (h->jobs.n)
        qsort(h->jobs.v, h->jobs.n, sizeof(*h->jobs.v), by_start);
}
