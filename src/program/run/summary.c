/* summary.c - the closing words: what became of each pod and job, and the last words of what failed */
#include "program/run/summary.h"

#include "base/span.h"
#include "base/util.h"
#include "cli/hint.h"
#include "cli/options.h"
#include "base/term.h"

enum {
    ROWS_MAX = 30, /* more pods than this: only those that did not succeed, and the tasks in numbers */
    SAME_MIN = 4,  /* so many neighbours that did not succeed in the same way are one row */
    WORDS_MAX = 5, /* failed containers whose last words are shown */
    LINES_MAX = 10,
};

struct summary {
    struct arena *a;
    struct buf *out;
    const struct history *h;
    const struct hints *hints;
    bool has_colour;
};

/* ---- pods ---- */

static bool summary_is_shown(const struct history_pod *p, bool only_odd)
{
    if (p->is_replaced)
        return false;
    return !only_odd || p->state != HISTORY_SUCCEEDED;
}

static size_t count_shown(const struct history *h, bool only_odd)
{
    size_t n = 0;

    VEC_FOREACH(p, &h->pods)
        n += summary_is_shown(*p, only_odd);
    return n;
}

static int by_place(const void *x, const void *y)
{
    const struct history_pod *a = *(struct history_pod *const *)x, *b = *(struct history_pod *const *)y;
    int by_name = str_cmp(a->label, b->label);

    if (a->job != b->job)
        return !a->job || !b->job ? (a->job ? -1 : 1) : str_cmp(a->job->label, b->job->label);
    if (a->task != b->task || a->index == b->index)
        return a->task && b->task ? str_cmp(a->task->name, b->task->name) : by_name;
    return a->index < b->index ? -1 : 1;
}

static struct str summary_span(struct arena *a, int64_t ms)
{
    autobuf text = { 0 };

    span_print(&text, MAX_OF(ms, 0));
    return arena_str(a, buf_view(&text));
}

static struct str harmless(struct arena *a, struct str s)
{
    autobuf text = { 0 };

    term_text(&text, s);
    return arena_str(a, buf_view(&text));
}

static struct str result_of(struct summary *s, const struct history_pod *p)
{
    struct str result = str_of(history_state_names[p->state]);

    if (p->state == HISTORY_FAILED && p->failure.words.n)
        result = arena_fmt(s->a, "failed: %.*s", STR_ARG(p->failure.words));
    else if (!state_is_over(p->state) && p->waits.n)
        result = arena_fmt(s->a, "%s: %.*s", history_state_names[p->state], STR_ARG(p->waits));
    if (pod_main_restarts(p))
        result = arena_fmt(s->a, "%.*s (%.*s)", STR_ARG(result),
                           STR_ARG(plural(s->a, pod_main_restarts(p), "restart")));
    return harmless(s->a, result);
}

/* How many of the rows from here on say the same of neighbours: what did not succeed, many times over, is one row. */
static size_t same_rows(struct summary *s, const struct history_pod **rows, size_t n)
{
    struct str result = result_of(s, rows[0]);
    size_t same = 1;

    if (rows[0]->state == HISTORY_SUCCEEDED || !rows[0]->task)
        return 1;
    while (same < n && rows[same]->task == rows[0]->task && str_eq(result_of(s, rows[same]), result))
        same++;
    return same < SAME_MIN ? 1 : same;
}

/* For the pods from 'p' to 'last', which may be one. */
static void pod_row(struct summary *s, struct table *t, const struct history_pod *p, const struct history_pod *last)
{
    struct str label = p == last ? p->label : arena_fmt(s->a, "%.*s to %.*s", STR_ARG(p->label), STR_ARG(last->label));
    bool has_span = p == last && p->running_ms >= 0 && p->ended_ms >= 0;

    table_cell(t, harmless(s->a, label));
    table_cell(t, has_span ? summary_span(s->a, p->ended_ms - p->running_ms) : STR("-"));
    table_cell(t, result_of(s, p));
}

static void pods_table(struct summary *s)
{
    bool only_odd = count_shown(s->h, false) > ROWS_MAX;
    size_t n = count_shown(s->h, only_odd), at = 0, n_rows = 0;
    const struct history_pod **rows = arena_array(s->a, const struct history_pod *, n + 1);
    struct table t = { .arena = s->a, .columns = 3 };

    if (n == 0)
        return;
    VEC_FOREACH(p, &s->h->pods)
        if (summary_is_shown(*p, only_odd))
            rows[at++] = *p;
    qsort(rows, n, sizeof(*rows), by_place);
    table_cell(&t, STR("POD"));
    table_cell(&t, STR("RAN FOR"));
    table_cell(&t, STR("RESULT"));
    for (at = 0; at < n && n_rows < ROWS_MAX; n_rows++) {
        size_t same = same_rows(s, rows + at, n - at);

        pod_row(s, &t, rows[at], rows[at + same - 1]);
        at += same;
    }
    table_print(s->out, &t, "  ");
    if (at < n)
        buf_fmt(s->out, "  and %zu more that did not succeed\n", n - at);
}

/* "  worker  499 succeeded, 1 failed" for jobs whose pods are too many to name. */
static void tasks_table(struct summary *s)
{
    if (count_shown(s->h, false) <= ROWS_MAX)
        return;
    VEC_FOREACH(j, &s->h->jobs)
        VEC_FOREACH(t, &(*j)->tasks) {
            bool any = false;

            if (s->h->jobs.n > 1)
                buf_fmt(s->out, "  %.*s/%.*s  ", STR_ARG((*j)->label), STR_ARG((*t)->name));
            else
                buf_fmt(s->out, "  %.*s  ", STR_ARG((*t)->name));
            for (int k = HISTORY_STATE_MAX - 1; k >= 0; k--)
                if ((*t)->n[k]) {
                    buf_fmt(s->out, "%s%u %s", any ? ", " : "", (*t)->n[k], history_state_names[k]);
                    any = true;
                }
            buf_str(s->out, any ? STR("\n") : STR("no pods\n"));
        }
}

/* ---- last words ---- */

/* The name that its lines had. */
static struct str summary_label_of(const struct history *h, const struct history_failure *w)
{
    VEC_FOREACH(p, &h->pods)
        if (str_eq((*p)->name, w->pod) && str_eq((*p)->namespace, w->namespace))
            return (*p)->label;
    return w->pod;
}

static struct str who_failed(struct summary *s, const struct history_alike *k)
{
    const struct history_failure *w = &k->first;
    struct str who = harmless(s->a, summary_label_of(s->h, w));

    if (k->others.n)
        who = arena_fmt(s->a, "%zu pods%s%.*s", k->others.n + 1, w->task.n ? " of " : "",
                        STR_ARG(harmless(s->a, w->task)));
    if (w->container.n && !w->is_only)
        who = arena_fmt(s->a, "%.*s, container %.*s", STR_ARG(who), STR_ARG(harmless(s->a, w->container)));
    if (k->failures > (int64_t)k->others.n + 1)
        who = arena_fmt(s->a, "%.*s, %lld times", STR_ARG(who), (long long)k->failures);
    return who;
}

static void hint_line(struct summary *s, const struct history_failure *w)
{
    autobuf hint = { 0 };

    hint_failure(&hint, s->hints, w);
    if (hint.n)
        buf_fmt(s->out, "    hint: %.*s\n", STR_ARG(harmless(s->a, buf_view(&hint))));
}

static void summary_words_of(struct summary *s, const struct history_alike *k)
{
    const struct history_failure *w = &k->first;
    bool never_ran = w->exit_code < 0;
    autobuf plain = { 0 };
    struct str rest, line;

    plain_lines(&plain, w->tail);
    rest = str_last_lines(buf_view(&plain), LINES_MAX);
    term_style(s->out, s->has_colour, STYLE_RED,
               arena_fmt(s->a, "%.*s: %.*s", STR_ARG(who_failed(s, k)), STR_ARG(harmless(s->a, w->words))));
    if (never_ran && !str_empty(rest)) { /* what never ran has its reason for last words */
        buf_str(s->out, STR(": "));
        term_text(s->out, rest);
    }
    if (never_ran || str_empty(rest) || str_ends(w->words, rest)) {
        buf_str(s->out, !never_ran && str_empty(rest) ? STR("; no output\n") : STR("\n"));
        return;
    }
    if (k->others.n)
        buf_fmt(s->out, "; the last lines of %.*s:\n", STR_ARG(harmless(s->a, summary_label_of(s->h, w))));
    else
        buf_str(s->out, STR("; its last lines:\n"));
    while (str_split(&rest, '\n', &line)) {
        buf_str(s->out, STR("    "));
        term_text(s->out, line);
        buf_char(s->out, '\n');
    }
}

static void last_words(struct summary *s)
{
    struct history_alikes all;
    size_t n = 0;

    history_alikes(s->a, s->h, &all);
    VEC_FOREACH(k, &all.list)
        if (n++ < WORDS_MAX) {
            summary_words_of(s, *k);
            hint_line(s, &(*k)->first);
        }
    if (n > WORDS_MAX)
        buf_fmt(s->out, "and %zu more kinds of failures (--report FILE.html shows all)\n", n - WORDS_MAX);
}

/* ---- jobs ---- */

/* A stopped job is deleted at once; its pods have their grace period. */
static int64_t summary_end_of(const struct history *h, const struct history_job *j)
{
    int64_t ms = job_over_ms(j);

    VEC_FOREACH(p, &h->pods)
        if ((*p)->job == j && j->is_stopped)
            ms = MAX_OF(ms, (*p)->ended_ms);
    return ms;
}

static void job_line(struct summary *s, const struct history_job *j)
{
    bool is_fine = job_is_ok(j);
    size_t all, n_failed = job_failed_pods(s->h, j, &all);

    buf_str(s->out, STR("job "));
    term_text(s->out, j->label);
    buf_char(s->out, ' ');
    term_style(s->out, s->has_colour, is_fine ? STYLE_GREEN : STYLE_RED, str_of(job_phase_shown(j)));
    if (job_is_over(j))
        buf_fmt(s->out, " after %.*s", STR_ARG(summary_span(s->a, summary_end_of(s->h, j) - j->submitted_ms)));
    if (j->retries)
        buf_fmt(s->out, ", %lld %s", (long long)j->retries, j->retries == 1 ? "retry" : "retries");
    if (is_fine && n_failed)
        term_style(s->out, s->has_colour, STYLE_YELLOW, arena_fmt(s->a, "; %zu of %zu pods failed", n_failed, all));
    if (j->message.n && !is_fine) {
        buf_str(s->out, STR(": "));
        term_text(s->out, j->message);
    } else if (j->why_text.n && !job_is_over(j)) {
        buf_str(s->out, STR(": "));
        term_text(s->out, j->why_text);
    }
    buf_char(s->out, '\n');
}

void run_summary(struct buf *out, const struct history *h, const struct run_end *end,
                 const struct run_summary_options *opt)
{
    autoarena a = { 0 };
    struct summary s = { &a, out, h, opt->hints, opt->has_colour };
    size_t all, n_failed = 0;

    VEC_FOREACH(j, &h->jobs)
        n_failed += job_failed_pods(h, *j, &all);
    if (opt->is_quiet && end->status == EXIT_FINE && !n_failed)
        return;
    if (!opt->is_quiet) {
        buf_char(out, '\n'); /* the log is over */
        pods_table(&s);
        tasks_table(&s);
    }
    if (end->status != EXIT_FINE || n_failed)
        last_words(&s);
    VEC_FOREACH(j, &h->jobs)
        if (!opt->is_quiet || !job_is_ok(*j) || job_failed_pods(h, *j, &all))
            job_line(&s, *j);
    if (end->reason.n) {
        buf_str(out, STR("pumice: "));
        term_text(out, end->reason);
        buf_char(out, '\n');
    }
    if (end->hint.n) {
        buf_str(out, STR("    hint: "));
        term_text(out, end->hint);
        buf_char(out, '\n');
    }
}
