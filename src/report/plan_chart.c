/* plan_chart.c - the charts as SVG */
#include "report/plan_page_internal.h"

#include "base/span.h"
#include "base/util.h"

enum {
    LEFT = DRAW_LEFT,
    RIGHT = DRAW_RIGHT,
    ROW = 24,   /* height of a job */
    BAR = 14,   /* … of its bar */
    AXIS = 34,  /* time axis above a chart */
    AREA = 110, /* height of an area chart */
    NODE_ROW = 14,
    COLOURS = 8,
    NODES_SHOWN = 100,
    HEAT_CELLS = 160,
};

void page_span(struct buf *out, int64_t ms)
{
    if (ms < 0)
        buf_str(out, STR("–"));
    else
        span_print(out, ms);
}

/* ---- geometry ---- */

static int64_t plan_chart_span_ms(const struct history *h)
{
    return MAX_OF(h->end_ms - h->begin_ms, 1);
}

static double x_of(const struct history *h, int64_t at_ms)
{
    return draw_x(&(struct draw_span){ h->begin_ms, h->end_ms }, at_ms);
}

static size_t colour_of(const struct history *h, struct str queue)
{
    for (size_t i = 0; i < h->queues.n; i++)
        if (str_eq(h->queues.v[i]->name, queue))
            return i % COLOURS;
    return 0;
}

static void plan_chart_axis(struct buf *out, const struct history *h, int top, int bottom)
{
    draw_axis(out, &(struct draw_span){ h->begin_ms, h->end_ms }, top, bottom);
}

/* ---- jobs ---- */

static void plan_chart_tooltip(struct buf *out, const struct history *h, const struct history_job *j)
{
    buf_str(out, STR("<title>"));
    markup_text(out, j->name);
    buf_str(out, STR(" · queue "));
    markup_text(out, j->queue);
    buf_str(out, STR("\nstarts "));
    offset_print(out, h, j->started_ms);
    buf_str(out, STR(", ends "));
    offset_print(out, h, j->finished_ms);
    buf_str(out, STR("\nwaits "));
    page_span(out, job_wait_ms(h, j));
    buf_str(out, STR(", runs "));
    page_span(out, job_run_ms(h, j));
    VEC_FOREACH(w, &j->waits)
        if (w->message.n) {
            buf_char(out, '\n');
            offset_print(out, h, w->from_ms);
            buf_str(out, STR(": "));
            markup_text(out, w->message);
        }
    buf_str(out, STR("</title>"));
}

static void bar(struct buf *out, const struct history *h, const struct history_job *j, size_t i, double y)
{
    static const char *const classes[JOB_STATE_MAX] = { "w", "a", "p", "", NULL, NULL };
    const struct history_step *s = &j->steps.v[i];
    int64_t until_ms = i + 1 < j->steps.n ? s[1].at_ms : h->end_ms;
    double x = x_of(h, s->at_ms), width = MAX_OF(x_of(h, until_ms) - x, s->state == STATE_RUNS ? 2 : 0);
    bool is_thin = s->state < STATE_PARTLY;

    if (s->state >= STATE_DONE || width <= 0)
        return;
    buf_fmt(out, "<rect class=\"%s", classes[s->state]);
    if (s->state >= STATE_PARTLY)
        buf_fmt(out, " q%zu", colour_of(h, j->queue));
    buf_fmt(out, "\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"%d\">", x, y + (is_thin ? 4 : 0), width,
            is_thin ? BAR - 8 : BAR, width > 6 ? 2 : 0);
    plan_chart_tooltip(out, h, j);
    buf_str(out, STR("</rect>\n"));
}

/* Steps that differ only in the number of pods are one bar. */
static void bars(struct buf *out, const struct history *h, const struct history_job *j, double y)
{
    struct history_job merged = *j;
    autoarena a = { 0 };

    merged.steps.v = NULL;
    merged.steps.n = merged.steps.cap = 0;
    VEC_FOREACH(s, &j->steps)
        if (!merged.steps.n || merged.steps.v[merged.steps.n - 1].state != s->state)
            *vec_push(&a, &merged.steps) = *s;
    for (size_t i = 0; i < merged.steps.n; i++)
        bar(out, h, &merged, i, y);
}

int chart_jobs(struct buf *out, const struct history *h, int y)
{
    int height = AXIS + (int)h->jobs.n * ROW + 8;

    draw_begin(out, y, height);
    plan_chart_axis(out, h, AXIS - 8, height - 8);
    for (size_t i = 0; i < h->jobs.n; i++) {
        const struct history_job *j = h->jobs.v[i];
        double top = AXIS + (double)i * ROW;

        draw_label(out, j->name, top + BAR, "e");
        bars(out, h, j, top + 3);
        if (j->steps.n && j->steps.v[j->steps.n - 1].state == STATE_FAILED && j->finished_ms >= 0) {
            buf_fmt(out, "<circle class=\"x\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\">", x_of(h, j->finished_ms), top + 10);
            plan_chart_tooltip(out, h, j);
            buf_str(out, STR("</circle>\n"));
        }
    }
    buf_str(out, STR("</svg>\n"));
    return height;
}

/* ---- queues ---- */

struct area {
    struct buf *out;
    const struct history *h;
    int dim;
    double top, whole; /* of the chart; what its full height means */
};

static double y_of(const struct area *a, double v)
{
    return a->top + AREA * (1 - (a->whole > 0 ? MIN_OF(v / a->whole, 1.0) : 0));
}

/* What the queues up to 'last' use together at a time. */
static double stacked(const struct area *a, size_t last, int64_t at_ms)
{
    double sum = 0;

    for (size_t i = 0; i <= last; i++)
        sum += (double)place_at(a->h->queues.v[i], at_ms)->v[a->dim];
    return sum;
}

static int plan_chart_by_number(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

    return a < b ? -1 : a > b;
}

/* All times at which any queue changes, each once; with thousands of them one for each pixel is enough. */
static size_t all_times(const struct area *a, struct arena *arena, int64_t **ret)
{
    VEC(int64_t) v = { 0 };
    size_t n = 0, most = 2 * PAGE_WIDTH;

    *vec_push(arena, &v) = a->h->begin_ms;
    for (size_t i = 0; i < a->h->queues.n; i++)
        VEC_FOREACH(s, &a->h->queues.v[i]->steps)
            *vec_push(arena, &v) = s->at_ms;
    qsort(v.v, v.n, sizeof(*v.v), plan_chart_by_number);
    for (size_t i = 0; i < v.n; i++) {
        bool is_near = n && (double)(v.v[i] - v.v[n - 1]) * (double)most < (double)plan_chart_span_ms(a->h);

        if (n && (v.v[i] == v.v[n - 1] || (v.n > most && is_near)))
            continue;
        v.v[n++] = v.v[i];
    }
    *ret = v.v;
    return n;
}

/* The area of one queue lies on those before it. */
static void area_of(const struct area *a, size_t queue, const int64_t *times, size_t n)
{
    struct str name = a->h->queues.v[queue]->name;

    buf_fmt(a->out, "<path class=\"q%zu\" d=\"M%.1f %.1f", queue % COLOURS, x_of(a->h, times[0]), y_of(a, 0));
    for (size_t i = 0; i < n; i++)
        buf_fmt(a->out, "V%.1fH%.1f", y_of(a, stacked(a, queue, times[i])),
                x_of(a->h, i + 1 < n ? times[i + 1] : a->h->end_ms));
    for (size_t i = n; i-- > 0;)
        buf_fmt(a->out, "V%.1fH%.1f", queue ? y_of(a, stacked(a, queue - 1, times[i])) : y_of(a, 0),
                x_of(a->h, times[i]));
    buf_str(a->out, STR("Z\"><title>queue "));
    markup_text(a->out, name);
    buf_str(a->out, STR("</title></path>\n"));
}

static void area_chart(const struct area *a)
{
    autoarena arena = { 0 };
    autobuf whole = { 0 };
    int64_t *times;
    size_t n = all_times(a, &arena, &times);

    draw_label(a->out, a->h->dims.names[a->dim], a->top + 14, "h e");
    size_print(&whole, &a->h->dims, a->dim, (int64_t)a->whole);
    draw_text(a->out, "d e", LEFT - 10, a->top + 32, arena_fmt(&arena, "of %.*s", (int)whole.n, whole.p));
    for (size_t i = 0; i < a->h->queues.n; i++)
        if (place_peak(a->h->queues.v[i], a->dim, a->h->begin_ms, a->h->end_ms + 1) > 0)
            area_of(a, i, times, n);
    buf_fmt(a->out, "<line class=\"cap\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT, PAGE_WIDTH - RIGHT,
            a->top, a->top);
    buf_fmt(a->out, "<line class=\"g\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT, PAGE_WIDTH - RIGHT,
            a->top + AREA, a->top + AREA);
}

static void queue_legend(struct buf *out, const struct history *h, int y)
{
    double x = LEFT;

    for (size_t i = 0; i < h->queues.n && x < PAGE_WIDTH - 120; i++) {
        if (!h->queues.v[i]->steps.n)
            continue;
        buf_fmt(out, "<rect class=\"q%zu\" x=\"%.1f\" y=\"%d\" width=\"11\" height=\"11\" rx=\"2\"/>\n", i % COLOURS, x,
                y - 10);
        draw_text(out, "d", x + 16, y, h->queues.v[i]->name);
        x += 34 + 7.0 * (double)h->queues.v[i]->name.n;
    }
}

/* The largest sum there ever is, for clusters that do not say how much they have. */
static double peak_of_all(const struct history *h, int dim)
{
    double sum = 0;

    for (size_t i = 0; i < h->queues.n; i++)
        sum += (double)place_peak(h->queues.v[i], dim, h->begin_ms, h->end_ms + 1);
    return sum;
}

int chart_queues(struct buf *out, const struct history *h, int y)
{
    int dims[AMOUNT_DIMS], n = history_dims(h, dims), height = AXIS + 24 + n * (AREA + 22);

    draw_begin(out, y, height);
    queue_legend(out, h, 14);
    plan_chart_axis(out, h, AXIS + 10, height - 22);
    for (int i = 0; i < n; i++) {
        struct area a = { out, h, dims[i], AXIS + 16 + i * (AREA + 22), (double)h->total.v[dims[i]] };

        if (a.whole <= 0)
            a.whole = MAX_OF(peak_of_all(h, dims[i]), 1);
        area_chart(&a);
    }
    buf_str(out, STR("</svg>\n"));
    return height;
}

/* ---- nodes ---- */

/* How full a node is: the resource it has least left of. */
static double fullness(const struct history_place *p, const int *dims, int n, int64_t from_ms, int64_t to_ms)
{
    double most = 0;

    for (int i = 0; i < n; i++)
        if (p->total.v[dims[i]] > 0) {
            double part = place_mean(p, dims[i], from_ms, to_ms) / (double)p->total.v[dims[i]];

            most = MAX_OF(most, part);
        }
    return MIN_OF(most, 1.0);
}

struct heat_map {
    struct buf *out;
    const struct history *h;
    int dims[AMOUNT_DIMS], n_dims;
};

static void heat_cell(const struct heat_map *m, struct history_span span, int y, int percent)
{
    double x = x_of(m->h, span.from_ms);

    if (percent > 0)
        buf_fmt(m->out,
                "<rect class=\"u\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill-opacity=\"%.2f\"><title>%d%%"
                "</title></rect>\n",
                x, y, x_of(m->h, span.until_ms) - x, NODE_ROW - 3, 0.08 + 0.92 * percent / 100.0, percent);
}

/* The times at which a row may change: its own steps, or, if they are too many to be seen, cells of equal width. */
static size_t heat_times(struct arena *a, const struct history *h, const struct history_place *p, int64_t **ret)
{
    VEC(int64_t) v = { 0 };

    *vec_push(a, &v) = h->begin_ms;
    if (p->steps.n <= HEAT_CELLS)
        VEC_FOREACH(s, &p->steps)
            *vec_push(a, &v) = MAX_OF(s->at_ms, h->begin_ms);
    else
        for (int i = 1; i < HEAT_CELLS; i++)
            *vec_push(a, &v) = h->begin_ms + plan_chart_span_ms(h) * i / HEAT_CELLS;
    *vec_push(a, &v) = h->end_ms;
    *ret = v.v;
    return v.n;
}

/* Neighbours of the same fullness are one rectangle. */
static void heat_row(const struct heat_map *m, const struct history_place *p, int y)
{
    autoarena a = { 0 };
    int64_t *times, from_ms = m->h->begin_ms;
    size_t n_times = heat_times(&a, m->h, p, &times);
    int last = -1;

    for (size_t i = 0; i + 1 < n_times; i++) {
        int percent = (int)(100 * fullness(p, m->dims, m->n_dims, times[i], times[i + 1]) + 0.5);

        if (percent == last || times[i] >= times[i + 1])
            continue;
        if (last >= 0)
            heat_cell(m, (struct history_span){ from_ms, times[i] }, y, last);
        last = percent;
        from_ms = times[i];
    }
    heat_cell(m, (struct history_span){ from_ms, m->h->end_ms }, y, last);
}

int chart_nodes(struct buf *out, const struct history *h, int y)
{
    size_t shown = MIN_OF(h->nodes.n, (size_t)NODES_SHOWN);
    int height = AXIS + (int)shown * NODE_ROW + (shown < h->nodes.n ? 30 : 12);
    struct heat_map map = { .out = out, .h = h };

    map.n_dims = history_dims(h, map.dims);
    draw_begin(out, y, height);
    plan_chart_axis(out, h, AXIS - 8, AXIS + (int)shown * NODE_ROW);
    for (size_t i = 0; i < shown; i++) {
        int top = AXIS + (int)i * NODE_ROW;

        draw_label(out, h->nodes.v[i]->name, top + 10, "d e");
        heat_row(&map, h->nodes.v[i], top);
    }
    if (shown < h->nodes.n) {
        autobuf text = { 0 };

        buf_fmt(&text, "and %zu more nodes", h->nodes.n - shown);
        draw_text(out, "d e", LEFT - 10, height - 10, buf_view(&text));
    }
    buf_str(out, STR("</svg>\n"));
    return height;
}
