/* timer.c - what happens by itself when its time is there: delayed policies, deadlines of pods, jobs that are deleted */
#include "history/history_internal.h"

#include "base/span.h"
#include "base/util.h"

#include <string.h>

static const char *const deadline_why = "activeDeadlineSeconds";

/* ---- one of several ---- */

static void history_timer_take(struct history_timer *best, const struct history_timer *t)
{
    if (!best->action || t->at_ms < best->at_ms)
        *best = *t;
}

static void take_about(struct history_timer *best, const struct history_job *j, struct str about)
{
    VEC_FOREACH(t, &j->timers)
        if (str_eq(t->about, about))
            history_timer_take(best, t);
}

bool pod_timer(const struct history_pod *p, struct history_timer *ret)
{
    struct history_timer best = { 0 };
    const struct history_task *t = p->task;

    if (p->job && !job_is_over(p->job))
        take_about(&best, p->job, p->name);
    if (p->deadline_s && p->taken_ms >= 0 && !state_is_over(p->state) && p->deleting_ms < 0)
        history_timer_take(
            &best, &(struct history_timer){ p->taken_ms + p->deadline_s * 1000, p->name, "fails", deadline_why });
    if (t && t->pending_ms && p->state < HISTORY_RUNNING && p->deleting_ms < 0)
        history_timer_take(&best, &(struct history_timer){ p->created_ms + t->pending_ms, p->name, t->pending_action,
                                                           job_event_name(EVENT_POD_PENDING) });
    *ret = best;
    return best.action;
}

bool task_timer(const struct history *h, const struct history_job *j, const struct history_task *t,
                struct history_timer *ret)
{
    struct history_timer best = { 0 }, own;
    bool has_pods = t->has_deadlines || t->pending_ms || j->timers.n; /* else no pod matters */

    VEC_FOREACH(timer, &j->timers)
        if (str_starts(timer->about, STR("task/")) && str_eq(str_from(timer->about, 5), t->name))
            history_timer_take(&best, timer);
    for (size_t i = 0; has_pods && i < h->pods.n; i++)
        if (h->pods.v[i]->task == t && !h->pods.v[i]->is_replaced && pod_timer(h->pods.v[i], &own))
            history_timer_take(&best, &own);
    if (best.action && best.why == deadline_why)
        best.action = "the first fails";
    *ret = best;
    return best.action;
}

bool job_timer(const struct history_job *j, struct history_timer *ret)
{
    struct history_timer best = { 0 };

    if (!job_is_over(j))
        take_about(&best, j, STR(""));
    else if (job_is_final(j) && j->ttl_s >= 0 && j->gone_ms < 0 && !str_is(j->phase, "Aborted")) /* that may go on */
        best = (struct history_timer){ j->finished_ms + j->ttl_s * 1000, STR(""), "is deleted",
                                       "ttlSecondsAfterFinished" };
    *ret = best;
    return best.action;
}

void timer_words(struct buf *out, const struct history_timer *t, int64_t now_ms)
{
    int64_t left_ms = MAX_OF(t->at_ms - now_ms, 0);

    buf_fmt(out, "%s in ", t->action);
    span_print(out, (left_ms + 999) / 1000 * 1000);
    buf_fmt(out, " (%s)", t->why);
}

/* ---- taking in ---- */

void history_task_pending(struct history_job *j, const struct object *o)
{
    autoarena a = { 0 };
    struct job job;

    job_decode(&a, json_copy(&a, o->root), &job);
    VEC_FOREACH(t, &j->tasks) {
        const struct job_task *task = job_task_by_name(&job, (*t)->name, NULL);

        (*t)->pending_ms = task ? policy_pending_ms(&job, task) : 0;
        if ((*t)->pending_ms)
            (*t)->pending_action = job_action_name(policy_choose(&job, task, EVENT_POD_PENDING, NULL, 0).action);
    }
}
