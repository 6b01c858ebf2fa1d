/* ending.c - when a run is over, and how it is brought there
 *
 * A run goes; when all its jobs are over it closes (what still runs is deleted and waited for); on the first Ctrl-C
 * it deletes its jobs and waits; on the second, or after a time-out, it kills.
 */
#include "program/run/ending.h"

#include "base/clock.h"
#include "base/util.h"
#include "cli/hint.h"
#include "program/run/flows.h"
#include "program/run/recorder.h"
#include "program/run/run.h"
#include "driver/cache.h"

enum {
    PATIENCE_MS = 10000, /* beyond the grace of the pods, before they are killed */
    KILL_MS = 5000,      /* until killed pods have ended */
};

enum { EXIT_TIMED_OUT = 124 }; /* as timeout(1) has it */

static int64_t ending_now_of(const struct run *r)
{
    return clock_now_ms(r->clock);
}

void run_delete(struct run *r, const struct resource_type *type, struct str namespace, struct str name, struct str uid)
{
    struct op op = { .kind = OP_DELETE, .type = type, .namespace = namespace, .name = name, .uid = uid, .grace_s = -1 };

    (void)cluster_write(r->eyes, &op); /* gone already is as good */
}

/* Delete what pods are left, of the jobs too: one that failed may have kept some. Returns the longest grace of all that
 * run. */
static int64_t delete_pods(struct run *r, bool only_own)
{
    int64_t grace_s = 0;

    VEC_FOREACH(at, &r->history->pods) {
        const struct history_pod *p = *at;

        if (p->gone_ms >= 0 || state_is_over(p->state))
            continue;
        grace_s = MAX_OF(grace_s, MIN_OF(p->grace_s, 24 * 3600));
        if (p->deleting_ms < 0 && (!only_own || !p->job))
            run_delete(r, known_types()->pod, p->namespace, p->name, p->uid);
    }
    return grace_s;
}

static void ending_enter(struct run *r, enum run_stage stage, int64_t patience_ms)
{
    r->stage = stage;
    r->is_kicked = true;
    r->stage_due_ms = ending_now_of(r) + patience_ms;
    r->progress.is_stopping = stage == RUN_STOPS;
    r->progress.is_ending = true;
}

static void ending_kill_all(struct run *r)
{
    if (r->stage == RUN_KILLED)
        return;
    r->node.kill_all(r->node.ctx);
    ending_enter(r, RUN_KILLED, KILL_MS);
}

void run_stop(struct run *r, int status, struct str reason)
{
    if (r->stage != RUN_GOES) {
        ending_kill_all(r);
        return;
    }
    r->end.status = status;
    r->end.reason = arena_str(r->arena, reason);
    run_note(r, reason);
    run_flows_delete(r);
    VEC_FOREACH(j, &r->history->jobs)
        if (!job_is_over(*j)) {
            history_stopped(*j);
            run_record_stopped(r, *j);
            run_delete(r, known_types()->job, (*j)->namespace, (*j)->name, (*j)->uid);
        }
    ending_enter(r, RUN_STOPS, delete_pods(r, true) * 1000 + PATIENCE_MS);
}

static bool ending_is_empty(const struct run *r)
{
    if (r->node.pods(r->node.ctx))
        return false;
    if (r->stage == RUN_KILLED)
        return true;
    VEC_FOREACH(p, &r->history->pods)
        if ((*p)->gone_ms < 0 && !state_is_over((*p)->state) &&
            ((*p)->state != HISTORY_PENDING || (*p)->deleting_ms >= 0))
            return false;
    return r->stage != RUN_STOPS || history_is_over(r->history) || r->history->jobs.n == 0;
}

/* The change that would let jobs start that this machine is too small for. */
static struct str stuck_hint(const struct run *r)
{
    autobuf hint = { 0 };

    VEC_FOREACH(j, &r->history->jobs)
        if (!job_is_over(*j) && (*j)->why_text.n && !hint.n)
            hint_wait(&hint, r->hints, (*j)->namespace, (*j)->name, (*j)->why_text);
    return arena_str(r->arena, buf_view(&hint));
}

/* All jobs that there are have ended, and a flow has not: what it waits for does not come. */
static bool flow_is_stuck(const struct run *r, struct buf *why)
{
    struct run_flows flows = run_flows(r);

    VEC_FOREACH(j, &r->history->jobs)
        if (!job_is_over(*j))
            return false;
    if (flows.open)
        buf_fmt(why, "JobFlow %.*s has jobs that can never start", STR_ARG(flows.open->name));
    return flows.open;
}

/* Nothing runs and nothing can start: say so and end, unless the user asked to wait. */
static void watch_for_stuck(struct run *r)
{
    autobuf why = { 0 };

    if (r->o->wait || (!history_is_stuck(r->history, &why) && !flow_is_stuck(r, &why))) {
        r->stuck_ms = INT64_MAX;
        return;
    }
    if (r->stuck_ms == INT64_MAX)
        r->stuck_ms = ending_now_of(r);
    if (ending_now_of(r) < r->stuck_ms + r->stuck_after_ms)
        return;
    r->end.hint = stuck_hint(r);
    run_stop(r, EXIT_FAILED,
             arena_fmt(r->arena, "nothing runs, and waiting jobs cannot start: %.*s (--wait: keep waiting)",
                       STR_ARG(buf_view(&why))));
}

static void time_out(struct run *r)
{
    run_say(r, arena_fmt(r->arena, "timed out after %s; stopping", r->o->timeout));
    run_stop(r, EXIT_TIMED_OUT, arena_fmt(r->arena, "timed out after %s", r->o->timeout));
}

/* When something is still to be put in; INT64_MAX: nothing is. */
static int64_t later_ms(const struct run *r)
{
    int64_t due_ms = r->load && r->stage == RUN_GOES ? run_create_due(r->load, r->created_ms) : INT64_MAX;

    return due_ms == INT64_MAX ? due_ms : r->begin_ms + due_ms;
}

static void put_in_later(struct run *r)
{
    int64_t upto_ms = ending_now_of(r) - r->begin_ms;
    struct err e;

    if (run_create_later(&r->sink, r->load, r->created_ms, upto_ms, &e) < 0)
        run_say(r, arena_fmt(r->arena, "%s", e.text));
    r->created_ms = upto_ms;
    r->is_kicked = true;
}

/* A flow that has failed makes no more jobs. */
static void forget_jobs(struct run *r)
{
    size_t left = r->history->n_jobs - MIN_OF(r->history->jobs.n, r->history->n_jobs);
    struct run_flows flows;

    if (!left)
        return;
    flows = run_flows(r);
    if (!flows.n || flows.open)
        return;
    r->history->n_jobs = r->history->jobs.n;
    if (flows.failed)
        r->end.reason = arena_fmt(r->arena, "JobFlow %.*s has failed: %zu of its jobs %s not started",
                                  STR_ARG(flows.failed->name), left, left == 1 ? "was" : "were");
}

bool run_advance(struct run *r, bool is_settled)
{
    int64_t now_ms = ending_now_of(r);

    if (later_ms(r) <= now_ms)
        put_in_later(r);
    if (r->stage == RUN_GOES && later_ms(r) == INT64_MAX)
        forget_jobs(r);
    if (r->stage == RUN_GOES && later_ms(r) == INT64_MAX && !r->is_kicked && history_is_over(r->history)) {
        r->end.status = history_status(r->history, r->o->fail_on_any);
        ending_enter(r, RUN_CLOSES, delete_pods(r, false) * 1000 + PATIENCE_MS);
        return false; /* the deletions have not been seen yet */
    }
    if (r->stage == RUN_GOES && now_ms >= r->timeout_ms)
        time_out(r);
    else if (r->stage == RUN_GOES && is_settled && later_ms(r) == INT64_MAX)
        watch_for_stuck(r);
    else if (r->stage != RUN_GOES && is_settled && ending_is_empty(r))
        return true;
    else if (r->stage != RUN_GOES && now_ms >= r->stage_due_ms) {
        if (r->stage == RUN_KILLED)
            return true;
        ending_kill_all(r);
    }
    return false;
}

int64_t run_advance_due(const struct run *r)
{
    int64_t due_ms = MIN_OF(r->stage_due_ms, later_ms(r));

    if (r->stage != RUN_GOES)
        return due_ms;
    due_ms = MIN_OF(due_ms, r->timeout_ms);
    return r->stuck_ms == INT64_MAX ? due_ms : MIN_OF(due_ms, r->stuck_ms + r->stuck_after_ms);
}
