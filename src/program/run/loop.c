/* loop.c - one thread, one loop: controllers and scheduler, the node, what is shown, signals and time
 *
 * A turn lets the driver, then the node work, then looks at what changed. While anything was done the next turn follows
 * at once; else the loop sleeps until the node has news, a signal comes, the reader of the output is ready, or
 * something is due.
 */
#include "program/run/run.h"

#include "base/clock.h"
#include "base/util.h"
#include "program/run/control.h"
#include "program/run/ending.h"
#include "program/run/flows.h"
#include "program/run/news.h"
#include "program/run/recorder.h"
#include "driver/driver.h"
#include "os/signals.h"
#include "store/store.h"

#include <poll.h>
#include <signal.h>

enum {
    STUCK_MS = 3000,      /* nothing can happen for so long: nothing will */
    SLEEP_MAX_MS = 60000, /* clocks are set */
};

static int64_t loop_now_of(const struct run *r)
{
    return clock_now_ms(r->clock);
}

/* The machine comes later than the driver. */
static int loop_open_socket(void *ctx)
{
    struct run *r = ctx;

    return r->node.open_socket ? r->node.open_socket(r->node.ctx) : -1;
}

/* All of it is in this process. */
static void begin_here(struct run *r)
{
    struct driver_options opt = {
        .schedules = true, .collects_garbage = true, .open_socket = loop_open_socket, .socket_ctx = r
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
    struct history_options history = { from_ms, n_jobs, has_namespaces, run_news(r) };

    history.is_shared = !r->store;
    r->begin_ms = loop_now_of(r);
    if (!r->stuck_after_ms)
        r->stuck_after_ms = STUCK_MS;
    r->stuck_ms = r->stage_due_ms = r->control_due_ms = INT64_MAX;
    map_init(&r->flows, map_seed_default());
    if (r->store)
        begin_here(r);
    r->history = history_new(&history);
    if (r->eyes)
        (void)run_feed(r); /* the lists are empty yet: from here on everything comes as a change, in order */
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
    if (r->stage != RUN_KILLED || run_out_left(&r->out) < RUN_OUT_MAX) /* killed: the rest of a full queue is dropped */
        run_logs_line(&r->logs, line);
}

size_t run_output_room(const struct run *r)
{
    size_t left = run_out_left(&r->out);

    return r->stage == RUN_KILLED ? RUN_OUT_MAX : left < RUN_OUT_MAX ? RUN_OUT_MAX - left : 0;
}

/* ---- signals ---- */

/* Ctrl-Z: the pods stop too, for who takes a run off the processors means these; 'fg' has them go on. */
static void loop_rest(struct run *r)
{
    bool is_frozen = r->node.freeze && r->node.freeze(r->node.ctx, true) == 0;

    if (r->node.freeze && !is_frozen)
        run_say(r, STR("the pods keep running: they cannot be frozen here; 'pumice doctor' says why"));
    run_progress_hide(&r->progress);
    run_control_rest(r->control, true);
    (void)kill(getpid(), SIGSTOP);
    run_control_rest(r->control, false);
    if (r->node.freeze)
        (void)r->node.freeze(r->node.ctx, false);
    r->history->changes++;
}

static void run_loop_take_signals(struct run *r)
{
    int number;

    while ((number = signals_next(r->signal_fd)) > 0) {
        bool is_key = number == SIGINT && r->has_keyboard;

        if (number == SIGWINCH) {
            r->history->changes++;
            continue;
        }
        if (number == SIGQUIT || number == SIGTSTP) {
            (number == SIGQUIT ? run_stacks : loop_rest)(r);
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
        (void)!write(STDERR_FILENO, text, (size_t)n); /* a broken stderr cannot be reported */
    }
}

/* ---- waiting ---- */

enum { WAIT_NODE, WAIT_SIGNAL, WAIT_OUT, WAIT_LOG, WAIT_CONTROL, WAIT_PORTS, WAIT_MAX };

static void turn_control(struct run *r)
{
    int64_t ms = r->control ? run_control_turn(r->control) : INT64_MAX;

    r->control_due_ms = ms == INT64_MAX ? ms : loop_now_of(r) + ms;
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
    int64_t ms = MAX_OF(due_ms - loop_now_of(r), 0);

    (void)poll(p, WAIT_MAX, (int)MIN_OF(ms, (int64_t)SLEEP_MAX_MS));
    if (p[WAIT_SIGNAL].revents)
        run_loop_take_signals(r);
    if (p[WAIT_LOG].revents)
        take_log(r);
    if (p[WAIT_CONTROL].revents || r->control_due_ms <= loop_now_of(r))
        turn_control(r);
    if (p[WAIT_PORTS].revents)
        run_publishes_turn(&r->publishes);
}

/* Give the reader what it takes. Where it is far behind the node reads no more output, and containers wait. */
static void loop_flush(struct run *r)
{
    if (r->progress.shares_screen && run_out_left(&r->out))
        run_progress_hide(&r->progress);
    run_logs_flush(&r->logs);
    run_record_flush(r);
    (void)run_out_flush(&r->out);
}

/* ---- turns ---- */

static bool loop_turn(struct run *r, int64_t *ret_due_ms)
{
    bool is_driver_busy = false, is_node_busy = false, any;
    int64_t driver_ms = r->driver ? driver_turn(r->driver, &is_driver_busy) : INT64_MAX,
            node_ms = r->node.turn(r->node.ctx, &is_node_busy);

    any = run_feed(r);
    *ret_due_ms = MIN_OF(driver_ms, node_ms);
    return any || is_driver_busy || is_node_busy;
}

/* No watch needs the old revisions of the store now. */
static void loop_compact(struct run *r)
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
        is_busy = loop_turn(r, &due_ms);
        if (is_busy || was_busy)
            run_ask_why(r, !is_busy);
        if (!is_busy)
            loop_compact(r);
        run_silence_turn(r);
        run_attach_turn(r);
        is_over = run_advance(r, !is_busy);
        loop_flush(r);
        shown_ms = run_progress_turn(&r->progress, loop_now_of(r));
        if (is_over)
            break;
        due_ms = MIN_OF(due_ms, shown_ms);
        due_ms = MIN_OF(due_ms, run_advance_due(r));
        due_ms = MIN_OF(due_ms, run_silence_due(r));
        due_ms = MIN_OF(due_ms, r->control_due_ms);
        sleep_until(r, is_busy || r->is_kicked ? 0 : due_ms);
    }
    run_attach_end(r);
    r->end.begin_ms = r->begin_ms;
    r->end.end_ms = loop_now_of(r);
}
