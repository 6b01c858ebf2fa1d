/* loop.c - one thread, one loop: controllers and scheduler, the node, what is shown, signals and time
 *
 * A turn lets the driver, then the node work, then looks at what changed. While anything was done the next turn follows
 * at once; else the loop sleeps until the node has news, a signal comes, the reader of the output is ready, or
 * something is due.
 *
 * A run goes; when all its jobs are over it closes (what still runs is deleted and waited for); when it is told to stop
 * it deletes its jobs and waits; told again, or out of patience, it kills.
 */
#include "cli/run/run.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "cli/hint.h"
#include "cli/run/control.h"
#include "cli/run/flows.h"
#include "cli/run/recorder.h"
#include "driver/cache.h"
#include "driver/driver.h"
#include "os/signals.h"
#include "sched/sched.h"
#include "store/store.h"

#include <poll.h>
#include <signal.h>

enum {
    STUCK_MS = 3000,      /* nothing can happen for so long: nothing will */
    PATIENCE_MS = 10000,  /* beyond the grace of the pods, before they are killed */
    KILL_MS = 5000,       /* for what was killed to be gone */
    ASK_MS = 250,         /* the scheduler is asked so often while things go on */
    SLEEP_MAX_MS = 60000, /* clocks are set */
};

enum { EXIT_TIMED_OUT = 124 }; /* as timeout(1) has it */

static int64_t now_of(const struct run *r)
{
    return clock_now_ms(r->clock);
}

static void note(struct run *r, struct str sentence)
{
    int64_t now_ms = now_of(r);

    history_note(r->history, sentence, now_ms);
    run_record_note(r, sentence, now_ms);
}

void run_say(struct run *r, struct str sentence)
{
    note(r, sentence);
    if (r->is_json)
        run_event_notice(&r->events, sentence, now_of(r));
    else
        run_progress_say(&r->progress, sentence);
}

void run_tell_text(struct run *r, struct str head, struct str lines)
{
    if (r->is_json) {
        run_event_notice(&r->events, arena_fmt(r->arena, "%.*s\n%.*s", STR_ARG(head), STR_ARG(lines)), now_of(r));
        return;
    }
    run_progress_say(&r->progress, head);
    run_progress_lines(&r->progress, lines);
}

void run_notice(struct run *r, struct str sentence)
{
    if (!r->o->quiet || r->is_json)
        run_say(r, sentence);
    else
        note(r, sentence);
}

/* ---- news ---- */

static void on_job(void *ctx, const struct history_job *j)
{
    struct run *r = ctx;

    run_progress_job(&r->progress, j, now_of(r));
    if (r->is_json)
        run_event_job(&r->events, j, now_of(r));
}

static void on_pod(void *ctx, const struct history_pod *p)
{
    struct run *r = ctx;

    run_heard(r);
    run_logs_pod(&r->logs, p);
    run_record_pod(r, p);
    run_progress_pod(&r->progress, p, now_of(r));
    if (r->is_json)
        run_event_pod(&r->events, p, now_of(r));
}

static void on_decision(void *ctx, const struct history_job *j, struct str reason, struct str message)
{
    struct run *r = ctx;

    run_progress_decision(&r->progress, j, message, now_of(r));
    if (r->is_json)
        run_event_decision(&r->events, j, reason, message, now_of(r));
}

static void on_timer(void *ctx, const struct history_decision *d)
{
    struct run *r = ctx;
    autobuf sentence = { 0 };

    decision_sentence(&sentence, d);
    run_progress_decision(&r->progress, d->job, buf_view(&sentence), now_of(r));
    if (r->is_json)
        run_event_timer(&r->events, d, now_of(r));
}

static void tell_wait(struct run *r, const struct history_job *j)
{
    if (r->is_json && j->why_text.n && job_is_waiting(j))
        run_event_wait(&r->events, j, now_of(r));
}

static void tell_failures(struct run *r)
{
    struct history_failure w;

    while (history_next_failure(r->history, &w)) {
        if (r->is_json)
            run_event_failure(&r->events, r->history, &w, now_of(r));
        else
            run_progress_failure(&r->progress, &w, run_logs_is_last(&r->logs, w.uid, w.container), now_of(r));
        run_crashes_add(r, &w);
    }
}

/* On a server others can do so, too. */
static void tell_deleted(struct run *r, const struct object *o)
{
    const struct history_job *j = history_job(r->history, o->namespace, o->name);

    if (o->type == known_types()->job && r->stage == RUN_GOES && j && !job_is_final(j) && !j->is_stopped)
        run_say(r, arena_fmt(r->arena, "job %.*s was deleted by somebody else", STR_ARG(j->label)));
}

/* What has changed goes into the history; false: nothing has. */
static bool feed(struct run *r)
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
        now_ms = now_of(r);
        history_changed(r->history, ev.object, ev.kind == CLUSTER_GONE, now_ms);
        run_record_object(r, ev.object, ev.kind == CLUSTER_GONE, now_ms);
        tell_failures(r);
        any = true;
    }
    return any;
}

/* The machine comes later than the driver. */
static int open_socket(void *ctx)
{
    struct run *r = ctx;

    return r->node.open_socket ? r->node.open_socket(r->node.ctx) : -1;
}

/* All of it is in this process. */
static void begin_here(struct run *r)
{
    struct driver_options opt = {
        .schedules = true, .collects_garbage = true, .open_socket = open_socket, .socket_ctx = r
    };

    r->sink = run_sink_store(r->store);
    r->door = cluster_embedded_new(r->store, r->clock);
    cluster_embedded_complete(r->door, run_complete, r);
    r->driver = driver_new(r->door, &opt);
    r->eyes = cluster_embedded_new(r->store, r->clock);
    for (size_t i = 0; i < n_resource_types; i++)
        if (resource_types[i].schema)
            cluster_want(r->eyes, &resource_types[i]);
}

void run_begin(struct run *r, int64_t from_ms, size_t n_jobs, bool has_namespaces)
{
    struct history_options history = { from_ms, n_jobs, has_namespaces, { r, on_job, on_pod, on_decision, on_timer } };

    history.is_shared = !r->store;
    r->begin_ms = now_of(r);
    if (!r->stuck_after_ms)
        r->stuck_after_ms = STUCK_MS;
    r->stuck_ms = r->stage_due_ms = r->control_due_ms = INT64_MAX;
    map_init(&r->flows, map_seed_default());
    if (r->store)
        begin_here(r);
    r->history = history_new(&history);
    if (r->eyes)
        (void)feed(r); /* the lists are empty yet: from here on everything comes as a change, in order */
}

void run_finish(struct run *r)
{
    run_crashes_done(&r->crashes);
    run_flows_done(r);
    history_free(r->history);
    driver_free(r->driver);
    cluster_free(r->eyes);
    cluster_free(r->door);
}

/* ---- what containers write ---- */

void run_output(struct run *r, const struct agent_output *line)
{
    run_heard(r);
    history_output(r->history, line->uid, line->container, line->text, line->is_partial);
    run_record_line(r, line);
    if (run_attach_shows(r, line->uid))
        return;
    if (r->stage != RUN_KILLED || run_out_left(&r->out) < RUN_OUT_MAX) /* killed: nobody waits any more */
        run_logs_line(&r->logs, line);
}

size_t run_output_room(const struct run *r)
{
    size_t left = run_out_left(&r->out);

    return r->stage == RUN_KILLED ? RUN_OUT_MAX : left < RUN_OUT_MAX ? RUN_OUT_MAX - left : 0;
}

/* ---- ending ---- */

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

static void enter(struct run *r, enum run_stage stage, int64_t patience_ms)
{
    r->stage = stage;
    r->is_kicked = true;
    r->stage_due_ms = now_of(r) + patience_ms;
    r->progress.is_stopping = stage == RUN_STOPS;
    r->progress.is_ending = true;
}

static void kill_all(struct run *r)
{
    if (r->stage == RUN_KILLED)
        return;
    r->node.kill_all(r->node.ctx);
    enter(r, RUN_KILLED, KILL_MS);
}

void run_stop(struct run *r, int status, struct str reason)
{
    if (r->stage != RUN_GOES) {
        kill_all(r);
        return;
    }
    r->end.status = status;
    r->end.reason = arena_str(r->arena, reason);
    note(r, reason);
    run_flows_delete(r);
    VEC_FOREACH(j, &r->history->jobs)
        if (!job_is_over(*j)) {
            history_stopped(*j);
            run_record_stopped(r, *j);
            run_delete(r, known_types()->job, (*j)->namespace, (*j)->name, (*j)->uid);
        }
    enter(r, RUN_STOPS, delete_pods(r, true) * 1000 + PATIENCE_MS);
}

static bool is_empty(const struct run *r)
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

/* What would let them start, where it is the machine that is too small. */
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
        buf_fmt(why, "JobFlow %.*s has jobs that nothing will start", STR_ARG(flows.open->name));
    return flows.open;
}

/* Nothing runs and nothing can: say so and end, unless somebody wants to wait for it. */
static void watch_for_stuck(struct run *r)
{
    autobuf why = { 0 };

    if (r->o->wait || (!history_is_stuck(r->history, &why) && !flow_is_stuck(r, &why))) {
        r->stuck_ms = INT64_MAX;
        return;
    }
    if (r->stuck_ms == INT64_MAX)
        r->stuck_ms = now_of(r);
    if (now_of(r) < r->stuck_ms + r->stuck_after_ms)
        return;
    r->end.hint = stuck_hint(r);
    run_stop(r, EXIT_FAILED,
             arena_fmt(r->arena, "nothing runs, and what waits cannot start: %.*s (with --wait the run waits on)",
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
    int64_t upto_ms = now_of(r) - r->begin_ms;
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

/* What follows from how things are. True: it is over. */
static bool advance(struct run *r, bool is_settled)
{
    int64_t now_ms = now_of(r);

    if (later_ms(r) <= now_ms)
        put_in_later(r);
    if (r->stage == RUN_GOES && later_ms(r) == INT64_MAX)
        forget_jobs(r);
    if (r->stage == RUN_GOES && later_ms(r) == INT64_MAX && !r->is_kicked && history_is_over(r->history)) {
        r->end.status = history_status(r->history, r->o->fail_on_any);
        enter(r, RUN_CLOSES, delete_pods(r, false) * 1000 + PATIENCE_MS);
        return false; /* the deletions have not been seen yet */
    }
    if (r->stage == RUN_GOES && now_ms >= r->timeout_ms)
        time_out(r);
    else if (r->stage == RUN_GOES && is_settled && later_ms(r) == INT64_MAX)
        watch_for_stuck(r);
    else if (r->stage != RUN_GOES && is_settled && is_empty(r))
        return true;
    else if (r->stage != RUN_GOES && now_ms >= r->stage_due_ms) {
        if (r->stage == RUN_KILLED)
            return true;
        kill_all(r);
    }
    return false;
}

/* ---- signals ---- */

/* Ctrl-Z: the pods stop too, for who takes a run off the processors means these; 'fg' has them go on. */
static void rest(struct run *r)
{
    bool is_frozen = r->node.freeze && r->node.freeze(r->node.ctx, true) == 0;

    if (r->node.freeze && !is_frozen)
        run_say(r, STR("the pods go on: they cannot be frozen here (`pumice doctor` says why)"));
    run_progress_hide(&r->progress);
    run_control_rest(r->control, true);
    (void)kill(getpid(), SIGSTOP);
    run_control_rest(r->control, false);
    if (r->node.freeze)
        (void)r->node.freeze(r->node.ctx, false);
    r->history->changes++;
}

static void take_signals(struct run *r)
{
    int number;

    while ((number = signals_next(r->signal_fd)) > 0) {
        bool is_key = number == SIGINT && r->has_keyboard;

        if (number == SIGWINCH) {
            r->history->changes++;
            continue;
        }
        if (number == SIGQUIT || number == SIGTSTP) {
            (number == SIGQUIT ? run_stacks : rest)(r);
            continue;
        }
        if (r->stage == RUN_GOES && is_key)
            run_say(r, STR("stopping; press Ctrl-C again to stop at once"));
        else if (r->stage == RUN_GOES)
            run_say(r, arena_fmt(r->arena, "stopping; a second SIG%s stops at once", sigabbrev_np(number)));
        else if (r->stage != RUN_KILLED)
            run_say(r, STR("stopping at once"));
        run_stop(r, 128 + number,
                 is_key ? STR("stopped by Ctrl-C") : arena_fmt(r->arena, "stopped by SIG%s", sigabbrev_np(number)));
    }
}

/* Our own log goes through a pipe while there is a block on the screen. */
static void take_log(struct run *r)
{
    char text[4096];
    ssize_t n;

    while (r->log_fd >= 0 && (n = read(r->log_fd, text, sizeof(text))) > 0) {
        run_progress_hide(&r->progress);
        (void)!write(STDERR_FILENO, text, (size_t)n); /* nobody is left to tell */
    }
}

/* ---- waiting ---- */

enum { WAIT_NODE, WAIT_SIGNAL, WAIT_OUT, WAIT_LOG, WAIT_CONTROL, WAIT_PORTS, WAIT_MAX };

static void turn_control(struct run *r)
{
    int64_t ms = r->control ? run_control_turn(r->control) : INT64_MAX;

    r->control_due_ms = ms == INT64_MAX ? ms : now_of(r) + ms;
}

static void sleep_until(struct run *r, int64_t due_ms)
{
    struct pollfd p[WAIT_MAX] = {
        [WAIT_NODE] = { .fd = r->node.fd, .events = POLLIN },
        [WAIT_SIGNAL] = { .fd = r->signal_fd, .events = POLLIN },
        [WAIT_OUT] = { .fd = run_out_left(&r->out) ? r->out.fd : -1, .events = POLLOUT },
        [WAIT_LOG] = { .fd = r->log_fd, .events = POLLIN },
        [WAIT_CONTROL] = { .fd = r->control ? run_control_fd(r->control) : -1, .events = POLLIN },
        [WAIT_PORTS] = { .fd = r->publishes.run ? r->publishes.epoll : -1, .events = POLLIN },
    };
    int64_t ms = MAX_OF(due_ms - now_of(r), 0);

    (void)poll(p, WAIT_MAX, (int)MIN_OF(ms, (int64_t)SLEEP_MAX_MS));
    if (p[WAIT_SIGNAL].revents)
        take_signals(r);
    if (p[WAIT_LOG].revents)
        take_log(r);
    if (p[WAIT_CONTROL].revents || r->control_due_ms <= now_of(r))
        turn_control(r);
    if (p[WAIT_PORTS].revents)
        run_publishes_turn(&r->publishes);
}

/* Give the reader what it takes. Where it is far behind the node reads no more output, and containers wait. */
static void flush(struct run *r)
{
    if (r->progress.shares_screen && run_out_left(&r->out))
        run_progress_hide(&r->progress);
    run_logs_flush(&r->logs);
    run_record_flush(r);
    (void)run_out_flush(&r->out);
}

/* ---- turns ---- */

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

static void ask(struct run *r, bool is_settled)
{
    int64_t now_ms = now_of(r);

    if (!is_settled && now_ms < r->asked_ms + ASK_MS)
        return;
    r->asked_ms = now_ms;
    VEC_FOREACH(j, &r->history->jobs)
        if (r->driver)
            ask_why(r, *j, driver_sched(r->driver), now_ms);
        else
            read_why(r, *j, now_ms);
}

static bool turn(struct run *r, int64_t *ret_due_ms)
{
    bool is_driver_busy = false, is_node_busy = false, any;
    int64_t driver_ms = r->driver ? driver_turn(r->driver, &is_driver_busy) : INT64_MAX,
            node_ms = r->node.turn(r->node.ctx, &is_node_busy);

    any = feed(r);
    *ret_due_ms = MIN_OF(driver_ms, node_ms);
    return any || is_driver_busy || is_node_busy;
}

/* What nobody has to read any more is forgotten. */
static void compact(struct run *r)
{
    uint64_t rev = r->store ? store_revision(r->store) : r->compacted_rev;

    if (rev != r->compacted_rev)
        store_compact(r->store, rev);
    r->compacted_rev = rev;
}

void run_loop(struct run *r)
{
    bool is_busy = true, was_busy, is_over = false;
    int64_t due_ms, shown_ms;

    while (!is_over) {
        was_busy = is_busy;
        r->is_kicked = false;
        is_busy = turn(r, &due_ms);
        if (is_busy || was_busy)
            ask(r, !is_busy);
        if (!is_busy)
            compact(r);
        run_silence_turn(r);
        run_attach_turn(r);
        is_over = advance(r, !is_busy);
        flush(r);
        shown_ms = run_progress_turn(&r->progress, now_of(r));
        if (is_over)
            break;
        due_ms = MIN_OF(due_ms, shown_ms);
        due_ms = MIN_OF(due_ms, r->stage_due_ms);
        due_ms = MIN_OF(due_ms, later_ms(r));
        due_ms = MIN_OF(due_ms, run_silence_due(r));
        due_ms = MIN_OF(due_ms, r->control_due_ms);
        if (r->stage == RUN_GOES)
            due_ms = MIN_OF(due_ms, r->timeout_ms);
        if (r->stuck_ms != INT64_MAX && r->stage == RUN_GOES)
            due_ms = MIN_OF(due_ms, r->stuck_ms + r->stuck_after_ms);
        sleep_until(r, is_busy || r->is_kicked ? 0 : due_ms);
    }
    run_attach_end(r);
    r->end.begin_ms = r->begin_ms;
    r->end.end_ms = now_of(r);
}
