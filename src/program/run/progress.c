/* progress.c - what a person sees of a run: a block that is redrawn below the log, or a line for each change
 *
 * The block is only on the screen while nothing else is written: a writer hides it first, and the next turn draws
 * it again. So it never mixes with log lines, whichever of standard output and standard error is a terminal.
 */
#include "program/run/progress.h"

#include "base/util.h"
#include "cli/hint.h"
#include "program/run/logs.h"
#include "program/run/out.h"
#include "program/run/words.h"
#include "base/term.h"

#include <sys/ioctl.h>

enum {
    DRAW_MS = 100,   /* at most so often when things change … */
    CLOCK_MS = 1000, /* … and when only time passes; */
    AGAIN_MS = 20,   /* after a line of a log, before the eye notices that the block was hidden */
    FEW_PODS = 20,   /* of a job with more pods, lines tell of tasks, not pods */
    COLUMNS = 80,
    ROWS = 24,
};

void run_progress_init(struct run_progress *p, const struct history *h, struct run_out *out,
                       enum run_progress_kind kind, int64_t now_ms)
{
    const char *term = getenv("TERM");
    bool is_screen = isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);

    *p = (struct run_progress){ .history = h, .out = out, .begin_ms = now_ms };
    p->is_live = is_screen && kind == RUN_PROGRESS_ALL;
    p->is_plain = !is_screen && kind == RUN_PROGRESS_ALL;
    p->is_quiet = kind == RUN_PROGRESS_QUIET;
    p->has_colour = term_has_colour(stderr);
    p->shares_screen = p->is_live && isatty(STDOUT_FILENO);
    map_init(&p->waits, map_seed_default());
    run_failures_init(&p->failures);
}

void run_progress_done(struct run_progress *p)
{
    run_progress_hide(p);
    buf_done(&p->block);
    buf_done(&p->pulling);
    map_done(&p->waits);
    run_failures_done(&p->failures);
    arena_done(&p->arena);
}

/* A broken stderr cannot be reported. */
static void progress_put(const struct buf *text)
{
    (void)term_draw(stderr, text);
}

/* ---- lines ---- */

static int64_t pods_of(const struct history_job *j)
{
    int64_t n = 0;

    VEC_FOREACH(t, &j->tasks)
        n += (*t)->replicas;
    return n;
}

/* Has each pod of its job lines of its own, where nothing is redrawn? */
static bool has_line(const struct history_pod *pod)
{
    return !pod->job || pods_of(pod->job) <= FEW_PODS;
}

static void progress_line(struct run_progress *p, const struct buf *text)
{
    autobuf out = { 0 };

    run_progress_hide(p);
    if (p->out)
        (void)run_out_flush(p->out); /* what was written before stands before it, where both go to one place */
    buf_str(&out, STR("pumice: "));
    buf_str(&out, buf_view(text));
    buf_char(&out, '\n');
    progress_put(&out);
}

void run_progress_say(struct run_progress *p, struct str sentence)
{
    autobuf text = { 0 };

    term_text(&text, sentence);
    progress_line(p, &text);
}

void run_progress_lines(struct run_progress *p, struct str lines)
{
    autobuf out = { 0 };

    run_progress_hide(p);
    buf_str(&out, lines);
    progress_put(&out);
}

static void phase_words(struct buf *out, const struct run_progress *p, const struct history_job *j)
{
    term_text(out, j->label);
    buf_char(out, ' ');
    term_style(out, p->has_colour, run_phase_style(j), str_of(job_phase_shown(j)));
    if (j->message.n && !job_is_ok(j) && !str_eq(j->message, j->told)) {
        buf_str(out, STR(": "));
        term_text(out, j->message);
    }
}

/* On a terminal the block shows it; only what a log should keep is written above it. */
void run_progress_job(struct run_progress *p, const struct history_job *j, int64_t now_ms)
{
    autobuf text = { 0 };

    if (!p->is_plain)
        return;
    buf_str(&text, STR("job "));
    phase_words(&text, p, j);
    run_job_timer(&text, p, j, now_ms);
    progress_line(p, &text);
}

void run_progress_pod(struct run_progress *p, const struct history_pod *pod, int64_t now_ms)
{
    autobuf text = { 0 };
    bool is_failed = pod->state == HISTORY_FAILED, is_many = !has_line(pod);
    struct history_timer t;

    if (!p->is_plain || (is_failed && is_many) ||
        (!state_is_over(pod->state) && str_is(pod->waits, "CrashLoopBackOff")))
        return; /* run_failures reports them, grouped */
    if (!is_failed && !pod->waits.n && (is_many || pod->state == HISTORY_PENDING || pod->state == HISTORY_STARTING))
        return;
    term_text(&text, pod->label);
    buf_char(&text, ' ');
    term_style(&text, p->has_colour, is_failed ? STYLE_RED : STYLE_PLAIN, str_of(history_state_names[pod->state]));
    if (is_failed && pod->failure.words.n) {
        buf_str(&text, STR(": "));
        term_text(&text, pod->failure.words);
    } else if (!state_is_over(pod->state) && pod->waits.n) {
        buf_fmt(&text, ": %.*s%s", STR_ARG(pod->waits), pod->waits_why.n ? ": " : "");
        term_text(&text, pod->waits_why);
    }
    if (!state_is_over(pod->state) && pod_timer(pod, &t)) {
        buf_str(&text, STR(", "));
        timer_words(&text, &t, now_ms);
    }
    progress_line(p, &text);
}

void run_progress_failure(struct run_progress *p, const struct history_failure *w, bool is_seen, int64_t now_ms)
{
    const struct history_pod *pod = history_pod(p->history, w->uid);
    struct run_kind *k = run_failures_add(&p->failures, w, pod, now_ms);
    autobuf hint = { 0 };

    if (!k)
        return;
    k->is_seen |= is_seen && p->shares_screen;
    if (!k->told_times && !k->hint.n) {
        hint_failure(&hint, p->hints, w);
        k->hint = arena_str(&p->failures.arena, buf_view(&hint));
    }
    if (p->is_plain && pod && has_line(pod) && pod->state == HISTORY_FAILED)
        run_kind_name(k);
}

static void tell_kind(struct run_progress *p, struct run_kind *k, int64_t now_ms)
{
    autobuf text = { 0 };

    run_kind_tell(&text, k, now_ms);
    if (text.n)
        progress_line(p, &text);
}

/* Returns when there is more to tell. */
static int64_t progress_tell_failures(struct run_progress *p, int64_t now_ms)
{
    int64_t due_ms = INT64_MAX;

    if (p->is_ending || !(p->is_live || p->is_plain || p->is_quiet))
        return due_ms;
    VEC_FOREACH(k, &p->failures.kinds) {
        if (now_ms >= run_kind_due(*k))
            tell_kind(p, *k, now_ms);
        due_ms = MIN_OF(due_ms, run_kind_due(*k));
    }
    return due_ms;
}

void run_progress_decision(struct run_progress *p, const struct history_job *j, struct str message, int64_t now_ms)
{
    autobuf text = { 0 };

    if (!p->is_live && !p->is_plain)
        return;
    VEC_FOREACH(k, &p->failures.kinds) /* what failed stands before what is done about it */
        if ((*k)->job == j && !(*k)->told_times)
            tell_kind(p, *k, now_ms);
    buf_str(&text, STR("job "));
    term_text(&text, j->label);
    buf_str(&text, STR(": "));
    term_text(&text, message);
    progress_line(p, &text);
}

/* Where nothing is redrawn, a word when it begins. */
void run_progress_pulling(struct run_progress *p, struct str sentence)
{
    bool was = p->pulling.n > 0;

    buf_reset(&p->pulling);
    term_text(&p->pulling, sentence);
    p->moved = true;
    if (p->is_plain && !was && sentence.n)
        progress_line(p, &p->pulling);
}

/* How long it may: the first of its pods that does not start has a policy's time. */
static void wait_timer_words(struct buf *out, const struct run_progress *p, const struct history_job *j, int64_t now_ms)
{
    struct history_timer first = { 0 }, own;

    VEC_FOREACH(t, &j->tasks)
        if ((*t)->pending_ms && task_timer(p->history, j, *t, &own) && (!first.action || own.at_ms < first.at_ms))
            first = own;
    if (!first.action)
        return;
    buf_str(out, STR("; "));
    timer_words(out, &first, now_ms);
}

/* Why jobs wait, once for each reason. Returns when the next one is worth a word. */
static int64_t tell_waits(struct run_progress *p, int64_t now_ms)
{
    int64_t due_ms = INT64_MAX;

    VEC_FOREACH(at, &p->history->jobs) {
        struct history_job *j = *at;
        struct str *told = map_get(&p->waits, j->uid);
        autobuf text = { 0 };

        if (!j->why_text.n || job_is_over(j) || j->is_stopped || (told && str_eq(*told, j->why_text)))
            continue;
        if (now_ms < j->why_ms + RUN_WAIT_MS) {
            due_ms = MIN_OF(due_ms, j->why_ms + RUN_WAIT_MS);
            continue;
        }
        if (!told) {
            told = arena_new(&p->arena, struct str);
            map_put(&p->waits, j->uid, told);
        }
        *told = arena_str(&p->arena, j->why_text);
        buf_str(&text, STR("job "));
        term_text(&text, j->label);
        buf_fmt(&text, " %s: ", run_wait_words(j));
        term_text(&text, j->why_text);
        wait_timer_words(&text, p, j, now_ms);
        progress_line(p, &text);
    }
    return due_ms;
}

/* Large jobs: how far each task is, at most once a second. */
static int64_t tell_tasks(struct run_progress *p, int64_t now_ms)
{
    bool any = false;

    if (p->changes == p->history->changes)
        return INT64_MAX;
    if (now_ms < p->told_ms + CLOCK_MS)
        return p->told_ms + CLOCK_MS;
    p->changes = p->history->changes;
    p->told_ms = now_ms;
    VEC_FOREACH(at, &p->history->jobs) {
        struct history_job *j = *at;

        if (pods_of(j) <= FEW_PODS || job_is_over(j) || !run_job_is_busy(j))
            continue;
        VEC_FOREACH(t, &j->tasks) {
            autobuf text = { 0 }, timer = { 0 };

            if (p->history->jobs.n > 1) {
                term_text(&text, j->label);
                buf_char(&text, '/');
            }
            buf_fmt(&text, "%.*s: ", STR_ARG((*t)->name));
            run_task_states(&text, p, *t);
            run_task_timer(&timer, p->history, j, *t, now_ms);
            if (timer.n)
                buf_fmt(&text, ", %s", timer.p);
            progress_line(p, &text);
            any = true;
        }
    }
    return any ? now_ms + CLOCK_MS : INT64_MAX;
}

/* ---- the block ---- */

void run_progress_hide(struct run_progress *p)
{
    autobuf out = { 0 };

    if (!p->n_lines)
        return;
    buf_fmt(&out, "\r\033[%zuA\033[J", p->n_lines);
    p->n_lines = 0;
    progress_put(&out);
}

static void draw(struct run_progress *p, int64_t now_ms)
{
    struct winsize size = { 0 };
    size_t columns = COLUMNS, rows = ROWS, n;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row) {
        columns = size.ws_col;
        rows = size.ws_row;
    }
    buf_reset(&p->block);
    if (p->n_lines)
        buf_fmt(&p->block, "\r\033[%zuA\033[J", p->n_lines);
    n = run_progress_block(p, &p->block, MAX_OF(columns, 20u), MAX_OF(rows / 2, 2u), now_ms);
    p->n_lines = n;
    p->drawn_ms = now_ms;
    p->moved = false;
    p->changes = p->history->changes;
    p->moves = p->logs ? p->logs->n_moves : 0;
    progress_put(&p->block);
}

int64_t run_progress_turn(struct run_progress *p, int64_t now_ms)
{
    int64_t due_ms, wait_ms, fail_ms;
    bool is_new;

    fail_ms = progress_tell_failures(p, now_ms);
    if (p->is_plain) {
        wait_ms = tell_waits(p, now_ms);
        due_ms = tell_tasks(p, now_ms);
        return MIN_OF(MIN_OF(due_ms, wait_ms), fail_ms);
    }
    if (!p->is_live)
        return fail_ms;
    if (p->shares_screen && run_out_left(p->out)) /* it is drawn when the log stands still */
        return fail_ms;
    is_new = p->moved || p->changes != p->history->changes || (p->logs && p->moves != p->logs->n_moves);
    due_ms = p->drawn_ms + (!p->n_lines ? AGAIN_MS : is_new ? DRAW_MS : CLOCK_MS);
    if (now_ms < due_ms)
        return MIN_OF(due_ms, fail_ms);
    draw(p, now_ms);
    return MIN_OF(now_ms + CLOCK_MS, fail_ms);
}
