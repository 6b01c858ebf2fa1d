/* news.c - feeds changes to the history and reports its events: as lines, as JSON, to the record */
#include "program/run/news.h"

#include "base/clock.h"
#include "base/util.h"
#include "program/run/flows.h"
#include "program/run/recorder.h"
#include "program/run/run.h"
#include "driver/cache.h"
#include "driver/driver.h"
#include "sched/sched.h"

enum { ASK_MS = 250 }; /* the scheduler is asked so often while things go on */

static int64_t news_now_of(const struct run *r)
{
    return clock_now_ms(r->clock);
}

/* ---- as it happens ---- */

static void on_job(void *ctx, const struct history_job *j)
{
    struct run *r = ctx;

    run_progress_job(&r->progress, j, news_now_of(r));
    if (r->is_json)
        run_event_job(&r->events, j, news_now_of(r));
}

static void on_pod(void *ctx, const struct history_pod *p)
{
    struct run *r = ctx;

    run_heard(r);
    run_logs_pod(&r->logs, p);
    run_record_pod(r, p);
    run_progress_pod(&r->progress, p, news_now_of(r));
    if (r->is_json)
        run_event_pod(&r->events, p, news_now_of(r));
}

static void on_decision(void *ctx, const struct history_job *j, struct str reason, struct str message)
{
    struct run *r = ctx;

    run_progress_decision(&r->progress, j, message, news_now_of(r));
    if (r->is_json)
        run_event_decision(&r->events, j, reason, message, news_now_of(r));
}

static void on_timer(void *ctx, const struct history_decision *d)
{
    struct run *r = ctx;
    autobuf sentence = { 0 };

    decision_sentence(&sentence, d);
    run_progress_decision(&r->progress, d->job, buf_view(&sentence), news_now_of(r));
    if (r->is_json)
        run_event_timer(&r->events, d, news_now_of(r));
}

static void tell_wait(struct run *r, const struct history_job *j)
{
    if (r->is_json && j->why_text.n && job_is_waiting(j))
        run_event_wait(&r->events, j, news_now_of(r));
}

static void news_tell_failures(struct run *r)
{
    struct history_failure w;

    while (history_next_failure(r->history, &w)) {
        if (r->is_json)
            run_event_failure(&r->events, r->history, &w, news_now_of(r));
        else
            run_progress_failure(&r->progress, &w, run_logs_is_last(&r->logs, w.uid, w.container), news_now_of(r));
        run_crashes_add(r, &w);
    }
}

/* On a server others can do so, too. */
static void tell_deleted(struct run *r, const struct object *o)
{
    const struct history_job *j = history_job(r->history, o->namespace, o->name);

    if (o->type == known_types()->job && r->stage == RUN_GOES && j && !job_is_final(j) && !j->is_stopped)
        run_say(r, arena_fmt(r->arena, "job %.*s was deleted by another client", STR_ARG(j->label)));
}

struct history_hooks run_news(struct run *r)
{
    return (struct history_hooks){ r, on_job, on_pod, on_decision, on_timer };
}

bool run_feed(struct run *r)
{
    struct cluster_event ev;
    bool any = false;
    int64_t now_ms;

    while (cluster_next(r->eyes, &ev)) {
        if (ev.kind != CLUSTER_PUT && ev.kind != CLUSTER_GONE)
            continue;
        if (ev.type == known_types()->flow)
            run_flows_seen(r, ev.object, ev.kind == CLUSTER_GONE);
        if (ev.kind == CLUSTER_GONE && !r->store)
            tell_deleted(r, ev.object);
        now_ms = news_now_of(r);
        history_changed(r->history, ev.object, ev.kind == CLUSTER_GONE, now_ms);
        run_record_object(r, ev.object, ev.kind == CLUSTER_GONE, now_ms);
        news_tell_failures(r);
        any = true;
    }
    return any;
}

/* ---- why jobs wait ---- */

/* Why a job waits; the scheduler knows it better than what it has written so far. */
static void ask_why(struct run *r, struct history_job *j, struct sched *s, int64_t now_ms)
{
    struct sched_group_view g;
    enum why_kind why = WHY_NOT;
    autobuf text = { 0 };

    if (!job_is_over(j) && !str_empty(j->group) && sched_group_view(s, j->namespace, j->group, &g))
        why = g.why->kind;
    if (why != WHY_NOT)
        why_print(&text, sched_dims(s), g.why);
    if (history_why(r->history, j, why, buf_view(&text), now_ms)) {
        run_record_why(r, j, now_ms);
        tell_wait(r, j);
    }
}

/* Where the scheduler is a server's, the condition of the PodGroup tells. */
static void read_why(struct run *r, struct history_job *j, int64_t now_ms)
{
    struct str text;
    enum why_kind why = job_why_written(j, &text);

    if (history_why(r->history, j, why, text, now_ms))
        tell_wait(r, j);
}

void run_ask_why(struct run *r, bool is_settled)
{
    int64_t now_ms = news_now_of(r);

    if (!is_settled && now_ms < r->asked_ms + ASK_MS)
        return;
    r->asked_ms = now_ms;
    VEC_FOREACH(j, &r->history->jobs)
        if (r->driver)
            ask_why(r, *j, driver_sched(r->driver), now_ms);
        else
            read_why(r, *j, now_ms);
}
