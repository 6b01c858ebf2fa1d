/* run_chart.c - the pods over time as SVG: a row for each name, grouped by job and task, with marks for decisions
 *
 * Folded, a task is one band: how many of its pods run, and in red how many have just failed.
 */
#include "report/report_internal.h"

#include "base/util.h"
#include "report/draw.h"
#include "base/term.h"

enum {
    AXIS = 30,        /* above the rows, and again below many of them */
    TALL = 900,       /* from here on the axis stands below too */
    MARKS = 20,       /* the numbers of decisions, above a job */
    STRIP = 7,        /* its phases */
    ROWS_MAX = 2500,  /* more are only counted */
    LABEL_ROW = 12,   /* lower rows have no labels of their own */
    LABEL_BLOCK = 15, /* the label of a task needs as much */
    BAND = 34,        /* a folded one */
};

struct gantt {
    struct buf *out;
    const struct history *h;
    struct draw_span span;
    double row, bar; /* heights */
    size_t left;     /* rows that may still be drawn */
    bool is_folded;
};

static double x_of(const struct gantt *g, int64_t at_ms)
{
    return draw_x(&g->span, at_ms);
}

/* As many as fit on a page stay easy to read; many get thin. */
static void set_rows(struct gantt *g, size_t n)
{
    static const struct {
        size_t most;
        double row, bar;
    } sizes[] = { { 40, 22, 13 }, { 100, 15, 10 }, { 300, 8, 6 }, { 1000, 3.5, 2.8 }, { SIZE_MAX, 2.5, 2 } };
    size_t i = 0;

    while (n > sizes[i].most)
        i++;
    g->row = sizes[i].row;
    g->bar = sizes[i].bar;
}

/* ---- a pod ---- */

struct chart_bar {
    double y, height;
    double least; /* the width of one that would not be seen */
};

static void box(const struct gantt *g, const char *class, struct history_span span, struct chart_bar bar)
{
    double x = x_of(g, span.from_ms), width = MAX_OF(x_of(g, span.until_ms) - x, bar.least);

    if (span.until_ms < span.from_ms || width <= 0.05)
        return;
    x = MIN_OF(x, DRAW_WIDTH - DRAW_RIGHT - width + 2); /* what is widened at the end of the history stays inside */
    buf_fmt(g->out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"", class, x, bar.y, width,
            bar.height);
    if (width > 5 && bar.height > 5)
        buf_str(g->out, STR(" rx=\"2\""));
    buf_str(g->out, STR("/>"));
}

static const char *const end_classes[POD_END_MAX] = { "op", "ok", "fa", "ki" };

/* The reason: beside the cross, or in the bar where something else follows at once; without room: the tooltip. */
static void end_reason(const struct gantt *g, const struct history_pod *p, double x, double y, double until)
{
    struct str words = str_cut(p->failure.words.n ? p->failure.words : p->reason, 60);
    double width = 6.6 * (double)words.n, bar = x_of(g, p->ended_ms) - x_of(g, MAX_OF(p->started_ms, p->created_ms));

    if (words.n && x + width < until)
        draw_text(g->out, "why", x, y, words);
    else if (words.n && width + 6 < bar)
        draw_text(g->out, "why on e", x_of(g, p->ended_ms) - 4, y, words);
}

static void end_mark(const struct gantt *g, const struct history_pod *p, double y, double until)
{
    double x = x_of(g, p->ended_ms) + 9, mid = y + g->bar / 2;

    if (g->row < LABEL_ROW || p->end != END_FAILED)
        return;
    if (x > DRAW_WIDTH - 6)
        x = DRAW_WIDTH - 6;
    buf_fmt(g->out, "<path class=\"cross\" d=\"M%.1f %.1fl7 7m0 -7l-7 7\"/>", x - 3.5, mid - 3.5);
    end_reason(g, p, x + 10, mid + 4, until);
}

static void ticks(const struct gantt *g, const struct history_pod *p, double y)
{
    VEC_FOREACH(c, &p->containers)
        VEC_FOREACH(a, &(*c)->attempts)
            if (a->number > 0) {
                double x = x_of(g, a->started_ms);

                buf_fmt(g->out, "<path class=\"tick\" d=\"M%.1f %.1fv%.1f\"/>", x, y - 2, g->bar + 4);
            }
}

/* Before the main containers: queued, admitted, starting with the init containers inside. */
static void before_run(const struct gantt *g, const struct history_pod *p, struct history_span queued, double y)
{
    double thin = g->bar > 6 ? g->bar - 7 : g->bar, mid = g->bar > 6 ? g->bar - 4 : g->bar;
    int64_t until_ms = pod_until_ms(g->h, p), admitted_ms = queued.from_ms < 0 ? p->created_ms : queued.until_ms;
    int64_t scheduled_ms = p->scheduled_ms < 0 ? until_ms : p->scheduled_ms;
    int64_t started_ms = p->started_ms < 0 ? until_ms : p->started_ms;

    if (queued.from_ms >= 0)
        box(g, "w", queued, (struct chart_bar){ y + (g->bar - thin) / 2, thin });
    box(g, "a", (struct history_span){ admitted_ms, scheduled_ms },
        (struct chart_bar){ y + (g->bar - thin) / 2, thin });
    if (p->scheduled_ms < 0)
        return;
    box(g, p->started_ms < 0 && p->end == END_FAILED ? "fa" : "st", (struct history_span){ scheduled_ms, started_ms },
        (struct chart_bar){ y + (g->bar - mid) / 2, mid, p->started_ms < 0 ? 2 : 0 });
    VEC_FOREACH(c, &p->containers)
        VEC_FOREACH(a, &(*c)->attempts)
            if ((*c)->is_init && g->bar > 6)
                box(g, a->is_failed ? "fa" : "in",
                    (struct history_span){ a->started_ms,
                                           MIN_OF(a->ended_ms < 0 ? until_ms : a->ended_ms, started_ms) },
                    (struct chart_bar){ y + g->bar / 2 - 1.5, 3, 1 });
}

/* Pale while it is not ready, full while it is, paler still while it is being stopped. */
static void run_chart_run(const struct gantt *g, const struct history_pod *p, double y, double until)
{
    int64_t until_ms = pod_until_ms(g->h, p);
    int64_t stop_ms = p->deleting_ms >= 0 && p->deleting_ms < until_ms ? p->deleting_ms : until_ms;
    char class[16];

    if (p->started_ms < 0)
        return;
    (void)snprintf(class, sizeof(class), "%s p", end_classes[p->end]);
    box(g, class, (struct history_span){ p->started_ms, stop_ms }, (struct chart_bar){ y, g->bar, 2 });
    VEC_FOREACH(s, &p->ready)
        box(g, end_classes[p->end],
            (struct history_span){ s->from_ms, MIN_OF(s->until_ms < 0 ? until_ms : s->until_ms, stop_ms) },
            (struct chart_bar){ y, g->bar });
    box(g, "sp", (struct history_span){ stop_ms, until_ms }, (struct chart_bar){ y + g->bar / 4, g->bar / 2 });
    ticks(g, p, y);
    end_mark(g, p, y, until);
}

static void step_words(const struct gantt *g, const char *what, int64_t at_ms)
{
    if (at_ms < 0)
        return;
    buf_fmt(g->out, ", %s ", what);
    history_offset(g->out, g->h, at_ms);
}

static void run_chart_tooltip(const struct gantt *g, const struct history_pod *p)
{
    autobuf story = { 0 };

    buf_str(g->out, STR("created "));
    history_offset(g->out, g->h, p->created_ms);
    step_words(g, "scheduled", p->scheduled_ms);
    step_words(g, "started", p->started_ms);
    step_words(g, "ready", p->ready.n ? p->ready.v[0].from_ms : -1);
    step_words(g, pod_end_names[p->end], p->ended_ms);
    if (pod_restarts(p))
        buf_fmt(g->out, ", %lld restarts", (long long)pod_restarts(p));
    if (p->end == END_FAILED) {
        pod_story(&story, p);
        buf_str(g->out, STR("\n"));
        markup_text(g->out, str_cut(buf_view(&story), 200));
    }
}

static void run_chart_row(struct gantt *g, const struct report_row *row, double top)
{
    const struct history_pod *newest = row->pods.v[row->pods.n - 1];
    double y = top + (g->row - g->bar) / 2;

    buf_str(g->out, STR("<a href=\"#p-"));
    markup_text(g->out, newest->uid);
    buf_str(g->out, STR("\"><g class=\"row\""));
    page_id(g->out, 'b', newest);
    buf_str(g->out, STR(" data-pod=\""));
    markup_text(g->out, row->pods.v[0]->namespace);
    buf_char(g->out, '/');
    markup_text(g->out, row->pods.v[0]->name);
    buf_str(g->out, STR("\"><title>"));
    markup_text(g->out, row->pods.v[0]->name);
    for (size_t i = 0; i < row->pods.n; i++) {
        buf_char(g->out, '\n');
        run_chart_tooltip(g, row->pods.v[i]);
    }
    buf_str(g->out, STR("</title>"));
    for (size_t i = 0; i < row->pods.n; i++) {
        before_run(g, row->pods.v[i], row->queued.v[i], y);
        run_chart_run(g, row->pods.v[i], y, i + 1 < row->pods.n ? x_of(g, row->pods.v[i + 1]->created_ms) : DRAW_WIDTH);
    }
    buf_str(g->out, STR("</g></a>\n"));
    if (g->row >= LABEL_ROW)
        draw_label(g->out, row->label, top + g->row / 2 + 4, "e");
}

/* ---- tasks ---- */

struct band { /* of a folded task, in each cell of the width */
    uint32_t running[REPORT_CELLS], failed[REPORT_CELLS];
    size_t ends[POD_END_MAX];
};

static size_t cell_of(const struct gantt *g, int64_t at_ms)
{
    double part = (x_of(g, at_ms) - DRAW_LEFT) / (DRAW_WIDTH - DRAW_LEFT - DRAW_RIGHT);

    return MIN_OF((size_t)(part * REPORT_CELLS), (size_t)REPORT_CELLS - 1);
}

static void add_to_band(const struct gantt *g, struct band *b, const struct history_pod *p)
{
    b->ends[p->end]++;
    if (p->started_ms >= 0)
        for (size_t i = cell_of(g, p->started_ms); i <= cell_of(g, pod_until_ms(g->h, p)); i++)
            b->running[i]++;
    if (p->end == END_FAILED)
        b->failed[cell_of(g, p->ended_ms)]++;
}

static void draw_band(const struct gantt *g, const struct band *b, size_t n, double top)
{
    double width = (double)(DRAW_WIDTH - DRAW_LEFT - DRAW_RIGHT) / REPORT_CELLS;

    buf_fmt(g->out, "<path class=\"op\" d=\"M%d %.1f", DRAW_LEFT, top + BAND);
    for (size_t i = 0; i < REPORT_CELLS; i++)
        if (i == 0 || b->running[i] != b->running[i - 1] || i + 1 == REPORT_CELLS)
            buf_fmt(g->out, "H%.1fV%.1f", DRAW_LEFT + width * (double)i,
                    top + BAND * (1 - MIN_OF((double)b->running[i] / (double)n, 1.0)));
    buf_fmt(g->out, "H%dV%.1fZ\"/>", DRAW_WIDTH - DRAW_RIGHT, top + BAND);
    for (size_t i = 0; i < REPORT_CELLS; i++)
        if (b->failed[i]) {
            double height = MAX_OF(BAND * MIN_OF((double)b->failed[i] / (double)n, 1.0), 4.0);

            buf_fmt(g->out, "<rect class=\"fa\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                    DRAW_LEFT + width * (double)i, top, width, height);
        }
}

static double folded_task(const struct gantt *g, const struct report_task *t, double top)
{
    struct band b = { 0 };
    autobuf label = { 0 };

    VEC_FOREACH(r, &t->rows)
        VEC_FOREACH(p, &(*r)->pods)
            add_to_band(g, &b, *p);
    buf_fmt(&label, "%.*s × %zu", STR_ARG(t->name), t->rows.n);
    draw_label(g->out, buf_view(&label), top + BAND / 2.0 + 4, "e");
    buf_str(g->out, STR("<g class=\"band\"><title>"));
    markup_text(g->out, buf_view(&label));
    for (size_t i = 0; i < POD_END_MAX; i++)
        if (b.ends[i])
            buf_fmt(g->out, ", %zu %s", b.ends[i], pod_end_names[i]);
    buf_str(g->out, STR("</title>"));
    draw_band(g, &b, t->rows.n, top);
    buf_fmt(g->out, "<path class=\"g\" d=\"M%d %.1fH%d\"/></g>\n", DRAW_LEFT, top + BAND, DRAW_WIDTH - DRAW_RIGHT);
    return top + BAND + 8;
}

/* Low rows have one label for all of a task. */
static double task(struct gantt *g, const struct report_task *t, double top)
{
    autobuf label = { 0 };
    size_t n = MIN_OF(t->rows.n, g->left);
    double height = (double)n * g->row;

    if (g->is_folded)
        return folded_task(g, t, top);
    if (n == 0)
        return top;
    for (size_t i = 0; i < n; i++)
        run_chart_row(g, t->rows.v[i], top + (double)i * g->row);
    g->left -= n;
    if (g->row >= LABEL_ROW)
        return top + height + 5;
    buf_fmt(&label, "%.*s × %zu", STR_ARG(t->name), t->rows.n);
    draw_label(g->out, buf_view(&label), top + 11, "e");
    buf_fmt(g->out, "<path class=\"brace\" d=\"M%d %.1fv%.1f\"/>\n", DRAW_LEFT - 5, top, height);
    return top + MAX_OF(height, LABEL_BLOCK) + 6;
}

/* ---- jobs ---- */

static const char *phase_class(struct str phase)
{
    static const struct {
        const char *phase, *class;
    } classes[] = { { "Pending", "w" },    { "Running", "op" },   { "Restarting", "re" },  { "Completing", "ok" },
                    { "Completed", "ok" }, { "Aborting", "fa" },  { "Terminating", "fa" }, { "Failed", "fa" },
                    { "Aborted", "fa" },   { "Terminated", "fa" } };

    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        if (str_is(phase, classes[i].phase))
            return classes[i].class;
    return "w";
}

static void run_chart_phases(const struct gantt *g, const struct history_job *j, double y)
{
    for (size_t i = 0; i < j->phases.n; i++) {
        int64_t until_ms = i + 1 < j->phases.n ? j->phases.v[i + 1].at_ms : history_end_ms(g->h);
        bool is_rest = i + 1 == j->phases.n && job_is_final(j);

        buf_str(g->out, STR("<g><title>"));
        markup_text(g->out, j->phases.v[i].name);
        buf_str(g->out, STR(" from "));
        history_offset(g->out, g->h, j->phases.v[i].at_ms);
        buf_str(g->out, STR("</title>"));
        box(g, phase_class(j->phases.v[i].name), (struct history_span){ j->phases.v[i].at_ms, until_ms },
            (struct chart_bar){ y + (is_rest ? 2 : 0), is_rest ? STRIP - 4 : STRIP, 1 });
        buf_str(g->out, STR("</g>\n"));
    }
}

const char *decision_class(const struct history_decision *d)
{
    if (str_starts(d->action, STR("Complete")))
        return "good";
    if (str_starts(d->action, STR("Restart")) || str_is(d->action, "ResumeJob") || str_is(d->action, "Evict"))
        return "warn";
    return "bad";
}

struct chart_mark {
    size_t first, last; /* decisions, from 1; 0: no mark */
    double x, width;    /* of its middle */
};

static void run_chart_mark(const struct gantt *g, const struct chart_mark *m, double y)
{
    size_t first = m->first, last = m->last;

    buf_fmt(g->out, "<a href=\"#d%zu\" class=\"mark %s\" data-first=\"%zu\" data-last=\"%zu\"><title>", first,
            decision_class(&g->h->decisions.v[last - 1]), first, last);
    for (size_t i = first; i <= last && i < first + 8; i++) {
        autobuf text = { 0 };

        decision_sentence(&text, &g->h->decisions.v[i - 1]);
        buf_fmt(g->out, "%s%zu: ", i > first ? "\n" : "", i);
        markup_text(g->out, buf_view(&text));
    }
    buf_fmt(
        g->out,
        "</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"15\" rx=\"7.5\"/><text x=\"%.1f\" y=\"%.1f\">%zu",
        m->x - m->width / 2, y, m->width, m->x, y + 11, first);
    if (last > first)
        buf_fmt(g->out, "–%zu", last);
    buf_str(g->out, STR("</text></a>\n"));
}

static double mark_width(size_t first, size_t last)
{
    autobuf text = { 0 };

    buf_fmt(&text, "%zu", first);
    if (last > first)
        buf_fmt(&text, "-%zu", last);
    return MAX_OF(9 + 6.6 * (double)text.n, 15.0);
}

/* Numbers that would lie on each other are one: "3–5". Those of other jobs between them stand at their own. */
static void marks(const struct gantt *g, const struct history_job *j, double y, double bottom)
{
    struct chart_mark m = { 0 };

    for (size_t i = 1; i <= g->h->decisions.n; i++) {
        const struct history_decision *d = &g->h->decisions.v[i - 1];
        double at = x_of(g, d->at_ms);

        if (d->job != j)
            continue;
        buf_fmt(g->out, "<path class=\"dl\" d=\"M%.1f %.1fV%.1f\"/>\n", at, y + 15, bottom);
        if (m.first && at - mark_width(i, i) / 2 < m.x + m.width / 2 + 2) {
            m.last = i;
            m.width = mark_width(m.first, m.last);
            continue;
        }
        if (m.first)
            run_chart_mark(g, &m, y);
        m = (struct chart_mark){ i, i, .width = mark_width(i, i) };
        m.x = MIN_OF(at, DRAW_WIDTH - m.width / 2 - 1);
    }
    m.x = MIN_OF(m.x, DRAW_WIDTH - m.width / 2 - 1);
    if (m.first)
        run_chart_mark(g, &m, y);
}

static bool has_decisions(const struct history *h, const struct history_job *j)
{
    VEC_FOREACH(d, &h->decisions)
        if (d->job == j)
            return true;
    return false;
}

static double run_chart_group(struct gantt *g, const struct report_group *group, double top)
{
    bool has_marks = has_decisions(g->h, group->job);
    double strip = top + (has_marks ? MARKS : 4), y = strip + STRIP + 8;

    draw_label(g->out, group->job ? group->job->name : STR("pods of no job"), strip + STRIP, "h e");
    if (group->job)
        run_chart_phases(g, group->job, strip);
    VEC_FOREACH(t, &group->tasks)
        y = task(g, *t, y);
    if (has_marks)
        marks(g, group->job, top, y - 4);
    return y + 10;
}

/* ---- all ---- */

static void more_rows(const struct gantt *g, const struct report_rows *v, double y)
{
    autobuf text = { 0 };

    buf_fmt(&text, "and %zu more pods", v->n_rows - ROWS_MAX);
    draw_text(g->out, "d", DRAW_LEFT, y, buf_view(&text));
}

void report_gantt(struct buf *out, const struct history *h, const struct report_rows *v, bool is_folded)
{
    autobuf body = { 0 };
    struct gantt g = {
        .out = &body, .h = h, .span = { h->begin_ms, history_end_ms(h) }, .left = ROWS_MAX, .is_folded = is_folded
    };
    double y = AXIS;

    set_rows(&g, v->n_rows);
    for (size_t i = 0; i < v->groups.n; i++)
        y = run_chart_group(&g, v->groups.v[i], y);
    if (v->n_rows > ROWS_MAX && !is_folded) {
        more_rows(&g, v, y + 8);
        y += 20;
    }
    draw_begin(out, 0, (int)y + (y > TALL ? AXIS : 4));
    draw_axis(out, &g.span, AXIS - 10, (int)y);
    if (y > TALL)
        draw_axis(out, &g.span, (int)y + 24, (int)y + 24);
    buf_str(out, buf_view(&body));
    buf_str(out, STR("</svg>\n"));
}
