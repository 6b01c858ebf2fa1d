/* block.c - the block on a terminal: progress bars of programs, then each job with its pods or tasks, what fails and
 * what it waits for
 */
#include "program/run/progress.h"

#include "base/span.h"
#include "base/util.h"
#include "program/run/logs.h"
#include "program/run/rows.h"
#include "program/run/words.h"

enum {
    BARS_SHOWN = 8,
    PODS_SHOWN = 8,  /* of a job, a row each */
    KINDS_SHOWN = 3, /* of failures */
};

static size_t visible(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\033')
            while (i < s.n && s.p[i] != 'm')
                i++;
        else
            n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    }
    return n;
}

/* Lines that are wider than the screen would wrap, and the block could not be taken back. */
static void cut_line(struct buf *out, struct str s, size_t columns)
{
    size_t shown = 0;
    bool is_cut = visible(s) > columns;

    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\033') {
            size_t from = i;

            while (i < s.n && s.p[i] != 'm')
                i++;
            buf_str(out, str_sub(s, from, i + 1 - from));
            continue;
        }
        if (((unsigned char)s.p[i] & 0xc0) != 0x80)
            shown++;
        if (!is_cut || shown < columns)
            buf_char(out, s.p[i]);
    }
    if (is_cut)
        buf_str(out, STR("…"));
    buf_char(out, '\n');
}

struct drawing {
    const struct run_progress *p;
    struct buf *out;
    size_t columns, left, n;
};

static bool draw_line(struct drawing *d, const struct buf *text)
{
    if (d->left == 0)
        return false;
    cut_line(d->out, buf_view(text), d->columns);
    d->left--;
    d->n++;
    return true;
}

static void draw_pods(struct drawing *d, const struct history_job *j, int64_t now_ms)
{
    const struct history *h = d->p->history;
    size_t width = 0;

    for (size_t i = 0; i < h->pods.n; i++)
        if (h->pods.v[i]->job == j)
            width = MAX_OF(width, h->pods.v[i]->label.n);
    for (size_t i = 0; i < h->pods.n; i++) {
        autobuf text = { 0 };

        if (h->pods.v[i]->job != j || h->pods.v[i]->is_replaced)
            continue;
        run_row(&text, h->pods.v[i], width, d->p->has_colour, now_ms);
        if (!draw_line(d, &text))
            return;
    }
}

/* A row for each pod where there are few of them, else for each task. */
static void draw_tasks(struct drawing *d, const struct history_job *j, int64_t now_ms)
{
    size_t width = 0;

    if (run_rows_fit(j, MIN_OF((size_t)PODS_SHOWN, d->left))) {
        draw_pods(d, j, now_ms);
        return;
    }

    VEC_FOREACH(t, &j->tasks)
        width = MAX_OF(width, (*t)->name.n);
    VEC_FOREACH(t, &j->tasks) {
        autobuf text = { 0 }, timer = { 0 };

        buf_str(&text, STR("  "));
        term_text(&text, (*t)->name);
        buf_repeat(&text, ' ', width - (*t)->name.n + 2);
        run_task_states(&text, d->p, *t);
        run_task_timer(&timer, d->p->history, j, *t, now_ms);
        if (timer.n)
            buf_fmt(&text, "  %s", timer.p);
        if (!draw_line(d, &text))
            return;
    }
}

/* Why its pods fail: the kinds with most of them stand first in time, and that is mostly where to look. */
static void draw_failures(struct drawing *d, const struct history_job *j)
{
    size_t left = KINDS_SHOWN;

    VEC_FOREACH(at, &d->p->failures.kinds) {
        const struct run_kind *k = *at;
        autobuf head = { 0 }, text = { 0 };

        if (k->job != j || !left--)
            continue;
        run_kind_head(&head, k);
        if (k->tail.n) {
            struct str tail = str_trim(k->tail);

            buf_str(&head, STR(": "));
            term_text(&head, str_from(tail, (size_t)(str_rfind_char(tail, '\n') + 1)));
        }
        buf_str(&text, STR("  "));
        term_style(&text, d->p->has_colour, STYLE_RED, buf_view(&head));
        if (!draw_line(d, &text))
            return;
    }
}

static void draw_wait(struct drawing *d, const struct history_job *j, int64_t now_ms)
{
    autobuf text = { 0 };
    struct str why = j->why_text;

    if (!why.n && phase_is_active(job_phase_now(j)) && job_phase_now(j) != PHASE_RUNNING && j->message.n)
        why = j->message;
    if (!why.n || now_ms < (j->why_text.n ? j->why_ms : j->submitted_ms) + RUN_WAIT_MS)
        return;
    buf_fmt(&text, "  %s: ", run_wait_words(j));
    term_text(&text, why);
    draw_line(d, &text);
}

static void draw_job(struct drawing *d, const struct history_job *j, int64_t now_ms)
{
    bool is_ending = j->is_stopped && run_job_is_busy(j); /* it is deleted, but its pods have their grace period */
    autobuf text = { 0 };

    term_style(&text, d->p->has_colour, STYLE_BOLD, j->label);
    buf_char(&text, ' ');
    term_style(&text, d->p->has_colour, run_phase_style(j), str_of(is_ending ? "Stopping" : job_phase_shown(j)));
    buf_char(&text, ' ');
    span_print(&text,
               MAX_OF(((job_is_over(j) && !is_ending ? job_over_ms(j) : now_ms) - j->submitted_ms) / 1000 * 1000, 0));
    if (j->retries)
        buf_fmt(&text, ", retry %lld", (long long)j->retries);
    if (d->p->until_ms && !d->p->is_stopping) {
        buf_str(&text, STR(", times out in "));
        span_print(&text, MAX_OF(d->p->until_ms - now_ms, 0) / 1000 * 1000);
    }
    run_job_timer(&text, d->p, j, now_ms);
    if (d->p->is_stopping)
        buf_str(&text, STR("  (Ctrl-C: stop at once)"));
    if (!draw_line(d, &text) || (job_is_over(j) && !run_job_is_busy(j)))
        return;
    draw_tasks(d, j, now_ms);
    draw_failures(d, j);
    draw_wait(d, j, now_ms);
}

/* Progress bars of programs: where they stand now. */
static void draw_bars(struct drawing *d)
{
    for (size_t i = 0; d->p->logs && i < BARS_SHOWN; i++) {
        autobuf text = { 0 };

        if (!run_logs_bar(d->p->logs, i, &text) || !draw_line(d, &text))
            return;
    }
}

size_t run_progress_block(const struct run_progress *p, struct buf *out, size_t columns, size_t rows, int64_t now_ms)
{
    struct drawing d = { p, out, columns, rows, 0 };

    draw_bars(&d);
    if (p->pulling.n)
        draw_line(&d, &p->pulling);
    VEC_FOREACH(j, &p->history->jobs)
        if (!job_is_over(*j)) /* those at work first: the screen may be small */
            draw_job(&d, *j, now_ms);
    VEC_FOREACH(j, &p->history->jobs)
        if (job_is_over(*j))
            draw_job(&d, *j, now_ms);
    return d.n;
}
