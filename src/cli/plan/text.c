/* text.c - a plan as tables for people */
#include "cli/plan/plan.h"

#include "base/clock.h"
#include "base/span.h"
#include "base/util.h"
#include "report/gantt.h"
#include "base/term.h"

void plan_title(struct buf *out, const struct history *h)
{
    int dims[AMOUNT_DIMS], n = history_dims(h, dims);
    size_t nodes = 0;

    for (size_t i = 0; i < h->nodes.n; i++)
        nodes += !h->nodes.v[i]->is_gone;
    buf_fmt(out, "%zu job%s on %zu node%s", h->jobs.n, h->jobs.n == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s");
    for (int i = 0; i < n; i++) {
        buf_str(out, i ? STR(", ") : STR(" ("));
        size_print(out, &h->dims, dims[i], h->total.v[dims[i]]);
        buf_fmt(out, " %.*s", STR_ARG(h->dims.names[dims[i]]));
    }
    buf_char(out, ')');
}

/* ---- cells ---- */

struct text {
    struct arena *a;
    const struct plan_report *r;
    struct buf *out;
    bool shows_namespace; /* only where there is more than one */
};

static struct str offset(struct text *x, const struct history *h, int64_t at_ms)
{
    autobuf b = { 0 };

    offset_print(&b, h, at_ms);
    return arena_str(x->a, buf_view(&b));
}

static struct str text_span(struct text *x, int64_t ms)
{
    autobuf b = { 0 };

    if (ms < 0)
        return STR("-");
    span_print(&b, ms);
    return arena_str(x->a, buf_view(&b));
}

static struct str safe(struct text *x, struct str s)
{
    autobuf b = { 0 };

    term_text(&b, s);
    return arena_str(x->a, buf_view(&b));
}

static struct str job_name(struct text *x, const struct history_job *j)
{
    if (x->shows_namespace)
        return safe(x, arena_fmt(x->a, "%.*s/%.*s", STR_ARG(j->namespace), STR_ARG(j->name)));
    return safe(x, j->name);
}

static bool has_namespaces(const struct history *h)
{
    for (size_t i = 0; i < h->jobs.n; i++)
        if (!str_eq(h->jobs.v[i]->namespace, h->jobs.v[0]->namespace))
            return true;
    return false;
}

static enum job_state last_state(const struct history_job *j)
{
    return j->steps.n ? j->steps.v[j->steps.n - 1].state : STATE_WAITS;
}

/* ---- jobs ---- */

/* "+10m → +0s" where a change moved it. */
static struct str text_moved(struct text *x, int64_t now_ms, int64_t old_ms, bool has_old)
{
    const struct history *h = x->r->h, *before = x->r->before;
    struct str now = offset(x, h, now_ms), old;

    if (!before)
        return now;
    old = has_old ? offset(x, before, old_ms) : STR("(none)");
    return str_eq(now, old) ? now : arena_fmt(x->a, "%.*s → %.*s", STR_ARG(old), STR_ARG(now));
}

static struct str gain(struct text *x, const struct history_job *j, const struct history_job *old)
{
    autobuf b = { 0 };

    gain_print(&b, x->r->h, j, x->r->before, old);
    return arena_str(x->a, buf_view(&b));
}

static struct str pods_text(struct text *x, const struct history_job *j)
{
    if (j->min == j->n_pods || j->n_pods == 0)
        return arena_fmt(x->a, "%lld", (long long)MAX_OF(j->n_pods, j->min));
    return arena_fmt(x->a, "%lld (min %lld)", (long long)j->n_pods, (long long)j->min);
}

/* "Completed", "Completed, stopped twice": a job that lost its places to others should not look like one that did not. */
static struct str text_state(struct text *x, const struct history_job *j)
{
    const char *state = job_state_names[last_state(j)];
    size_t stops = j->stops;

    if (stops == 0)
        return str_of(state);
    if (stops <= 2)
        return arena_fmt(x->a, "%s, stopped %s", state, stops == 1 ? "once" : "twice");
    return arena_fmt(x->a, "%s, stopped %zu times", state, stops);
}

static void job_cells(struct text *x, struct table *table, const struct history_job *j)
{
    const struct history *before = x->r->before;
    const struct history_job *old = before ? history_job(before, j->namespace, j->name) : NULL;
    bool waits_for_ever = !x->r->is_cut && !j->was_over && last_state(j) < STATE_RUNS;

    table_cell(table, job_name(x, j));
    table_cell(table, safe(x, j->queue));
    table_cell(table, arena_fmt(x->a, "%lld", (long long)j->priority));
    table_cell(table, pods_text(x, j));
    table_cell(table, j->was_over ? STR("before") : text_moved(x, j->started_ms, old ? old->started_ms : -1, old));
    table_cell(table, j->was_over ? STR("before") : text_moved(x, j->finished_ms, old ? old->finished_ms : -1, old));
    if (before)
        table_cell(table, gain(x, j, old));
    table_cell(table, waits_for_ever ? STR("no end") : text_span(x, job_wait_ms(x->r->h, j)));
    table_cell(table, text_span(x, job_run_ms(x->r->h, j)));
    table_cell(table, text_state(x, j));
}

/* A job that is only in the plan without the change. */
static void missing_cells(struct text *x, struct table *table, const struct history_job *old)
{
    struct str start = offset(x, x->r->before, old->started_ms), end = offset(x, x->r->before, old->finished_ms);

    table_cell(table, job_name(x, old));
    table_cell(table, safe(x, old->queue));
    table_cell(table, arena_fmt(x->a, "%lld", (long long)old->priority));
    table_cell(table, pods_text(x, old));
    table_cell(table, arena_fmt(x->a, "%.*s → (none)", STR_ARG(start)));
    table_cell(table, arena_fmt(x->a, "%.*s → (none)", STR_ARG(end)));
    for (int i = 0; i < 3; i++)
        table_cell(table, i ? STR("-") : STR(""));
    table_cell(table, STR("left out"));
}

static void jobs(struct text *x)
{
    static const char *const heads[] = { "JOB", "QUEUE",  "PRIORITY", "PODS", "START",
                                         "END", "CHANGE", "WAITS",    "RUNS", "AT THE END" };
    const struct history *before = x->r->before;
    struct table table = { .arena = x->a, .columns = before ? 10 : 9 };

    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        if (before || strcmp(heads[i], "CHANGE") != 0)
            table_cell(&table, str_of(heads[i]));
    for (size_t i = 0; i < x->r->h->jobs.n; i++)
        job_cells(x, &table, x->r->h->jobs.v[i]);
    for (size_t i = 0; before && i < before->jobs.n; i++)
        if (!history_job(x->r->h, before->jobs.v[i]->namespace, before->jobs.v[i]->name))
            missing_cells(x, &table, before->jobs.v[i]);
    table_print(x->out, &table, "");
}

/* ---- why ---- */

/* Text in lines of at most 'width' columns, later lines indented. */
static void text_wrap(struct text *x, struct str text, size_t indent)
{
    size_t room = x->r->width > indent + 20 ? x->r->width - indent : 20;
    struct str rest = safe(x, text);

    while (rest.n > room) {
        size_t n = str_cut(rest, room).n, at = n;

        while (at > room / 2 && rest.p[at] != ' ')
            at--;
        if (at <= room / 2)
            at = n;
        buf_str(x->out, str_sub(rest, 0, at));
        rest = str_trim(str_from(rest, at));
        buf_char(x->out, '\n');
        buf_repeat(x->out, ' ', indent);
    }
    buf_str(x->out, rest);
    buf_char(x->out, '\n');
}

/* From here on the same reason holds, whatever its numbers. */
static size_t same_reason(const struct history_job *j, size_t i)
{
    size_t end = i + 1;

    while (end < j->waits.n && j->waits.v[i].reason.n && str_eq(j->waits.v[end].reason, j->waits.v[i].reason) &&
           j->waits.v[end].from_ms == j->waits.v[end - 1].until_ms)
        end++;
    return end;
}

static void job_waits(struct text *x, const struct history_job *j)
{
    bool is_first = true;

    for (size_t i = 0, end; i < j->waits.n; i = end) {
        const struct history_wait *w = &j->waits.v[i], *last;
        struct str until;

        end = same_reason(j, i);
        last = &j->waits.v[end - 1];
        until = last->until_ms < 0 ? STR("the end of the plan") : offset(x, x->r->h, last->until_ms);
        if (is_first) {
            buf_str(x->out, STR("  "));
            term_style(x->out, x->r->colour, STYLE_BOLD, job_name(x, j));
            buf_char(x->out, '\n');
        }
        is_first = false;
        buf_fmt(x->out, "    %.*s to %.*s", STR_ARG(offset(x, x->r->h, w->from_ms)), STR_ARG(until));
        if (w->reason.n) {
            buf_str(x->out, STR("  "));
            term_style(x->out, x->r->colour, STYLE_YELLOW, safe(x, w->reason));
        }
        buf_str(x->out, STR("\n      "));
        text_wrap(x, w->message.n ? w->message : STR("no reason is given"), 6);
    }
}

static void text_waits(struct text *x)
{
    bool any = false;

    for (size_t i = 0; i < x->r->h->jobs.n; i++) {
        const struct history_job *j = x->r->h->jobs.v[i];

        if (j->waits.n == 0 || j->was_over)
            continue;
        if (!any)
            buf_str(x->out, STR("\nWhat waits, and why:\n"));
        any = true;
        job_waits(x, j);
    }
}

/* ---- queues ---- */

static void spark_line(struct text *x, struct buf *out, const struct history_place *q, int dim, int64_t whole)
{
    enum { CELLS = 24 };
    const struct history *h = x->r->h;
    int64_t span_ms = MAX_OF(h->end_ms - h->begin_ms, 1);

    for (int i = 0; i < CELLS; i++) {
        double mean = place_mean(q, dim, h->begin_ms + span_ms * i / CELLS, h->begin_ms + span_ms * (i + 1) / CELLS);

        buf_str(out, spark(whole > 0 ? mean / (double)whole : 0));
    }
}

static struct str percent(struct text *x, double part, int64_t whole)
{
    return whole > 0 ? arena_fmt(x->a, "%.0f%%", 100 * part / (double)whole) : STR("-");
}

static void queue_cells(struct text *x, struct table *table, const struct history_place *q, int dim, bool is_first)
{
    const struct history *h = x->r->h;
    int64_t whole = h->total.v[dim], peak = place_peak(q, dim, h->begin_ms, h->end_ms + 1);
    autobuf line = { 0 }, amount = { 0 };

    spark_line(x, &line, q, dim, whole);
    size_print(&amount, &h->dims, dim, peak);
    table_cell(table, is_first ? safe(x, q->name) : STR(""));
    table_cell(table, safe(x, h->dims.names[dim]));
    table_cell(table, arena_str(x->a, buf_view(&amount)));
    table_cell(table, percent(x, (double)peak, whole));
    table_cell(table, percent(x, place_mean(q, dim, h->begin_ms, h->end_ms), whole));
    while (line.n && line.p[line.n - 1] == ' ')
        line.n--;
    table_cell(table, arena_str(x->a, buf_view(&line)));
}

static void text_queues(struct text *x)
{
    static const char *const heads[] = { "QUEUE", "RESOURCE", "PEAK", "OF ALL", "MEAN", "OVER TIME" };
    const struct history *h = x->r->h;
    int dims[AMOUNT_DIMS], n = history_dims(h, dims);
    struct table table = { .arena = x->a, .columns = ARRAY_LEN(heads) };

    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        table_cell(&table, str_of(heads[i]));
    for (size_t i = 0; i < h->queues.n; i++) {
        bool is_first = true;

        for (int d = 0; d < n; d++)
            if (place_peak(h->queues.v[i], dims[d], h->begin_ms, h->end_ms + 1) > 0) {
                queue_cells(x, &table, h->queues.v[i], dims[d], is_first);
                is_first = false;
            }
    }
    if (table.cells.n == ARRAY_LEN(heads))
        return;
    buf_char(x->out, '\n');
    table_print(x->out, &table, "");
}

/* ---- the whole ---- */

/* "the last job ends at +2h", or how many do. */
static struct str end_text(struct text *x, const struct history *h)
{
    size_t ended = 0, all = 0;

    for (size_t i = 0; i < h->jobs.n; i++)
        if (!h->jobs.v[i]->was_over) {
            all++;
            ended += h->jobs.v[i]->finished_ms >= 0;
        }
    if (ended == 0)
        return all ? STR("no job ends") : STR_NULL;
    if (ended == all)
        return arena_fmt(x->a, "the last job ends at %.*s", STR_ARG(offset(x, h, history_last_end(h))));
    return arena_fmt(x->a, "%zu of %zu jobs end%s, the last at %.*s", ended, all, ended == 1 ? "s" : "",
                     STR_ARG(offset(x, h, history_last_end(h))));
}

static void summary(struct text *x)
{
    const struct history *h = x->r->h, *before = x->r->before;
    struct str now = end_text(x, h), old = before ? end_text(x, before) : now;
    const struct str all = STR("the last job ends at ");

    plan_title(x->out, h);
    buf_str(x->out, STR(", from "));
    clock_print(x->out, h->begin_ms);
    buf_char(x->out, '\n');
    if (before)
        buf_fmt(x->out, "if: %.*s\n", STR_ARG(safe(x, x->r->change)));
    if (str_starts(now, all) && str_starts(old, all) && !str_eq(now, old))
        buf_fmt(x->out, "%.*s → %.*s\n", STR_ARG(old), STR_ARG(str_from(now, all.n)));
    else if (!str_eq(now, old))
        buf_fmt(x->out, "%.*s → %.*s\n", STR_ARG(old), STR_ARG(now));
    else if (now.n)
        buf_fmt(x->out, "%.*s\n", STR_ARG(now));
    buf_char(x->out, '\n');
}

static void open_ends(struct text *x)
{
    const struct history *h = x->r->h;
    size_t running = 0;

    for (size_t i = 0; i < h->jobs.n; i++)
        running += h->jobs.v[i]->finished_ms < 0 && h->jobs.v[i]->started_ms >= 0;
    if (x->r->is_cut)
        buf_fmt(x->out, "\nThe plan ends at %.*s (--until).\n", STR_ARG(offset(x, h, h->end_ms)));
    else if (running)
        buf_fmt(x->out,
                "\n%.*s without end: say how long with --runtime JOB=10m or the annotation pumice.dev/runtime.\n",
                STR_ARG(plural(x->a, (int64_t)running, "job")));
}

void plan_print_table(struct buf *out, const struct plan_report *r)
{
    autoarena a = { 0 };
    struct text x = { &a, r, out, has_namespaces(r->h) };

    summary(&x);
    jobs(&x);
    text_waits(&x);
    text_queues(&x);
    open_ends(&x);
}
