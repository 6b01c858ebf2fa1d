/* page_chart.c - the charts as SVG */
#include "cli/page_internal.h"

#include "base/util.h"
#include "cli/gantt.h"

enum {
    LEFT = 210, /* labels */
    RIGHT = 24, /* air */
    ROW = 24,   /* height of a job */
    BAR = 14,   /* … of its bar */
    AXIS = 34,  /* time axis above a chart */
    AREA = 110, /* height of an area chart */
    NODE_ROW = 14,
    COLOURS = 8,
    NODES_SHOWN = 100,
    HEAT_CELLS = 160,
};

/* Without CSS variables: viewers other than browsers do not know them. */
const char page_style[] =
    "svg{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
    "svg text{fill:#1c2430}svg .d{fill:#6b7685}svg .e{text-anchor:end}svg .m{text-anchor:middle}"
    "svg .h{font-weight:600;font-size:13px}svg .t{font-weight:600;font-size:18px}svg .bg{fill:#fff}"
    "svg .g{stroke:#e3e7ec}svg .cap{stroke:#6b7685;stroke-dasharray:4 3}"
    "svg .w{fill:#c9d0d8}svg .a{fill:#e8c268}svg .x{fill:#d1495b}svg .p{opacity:.45}svg .u{fill:#4e79a7}"
    "svg .q0{fill:#4e79a7}svg .q1{fill:#f28e2b}svg .q2{fill:#59a14f}svg .q3{fill:#b07aa1}svg .q4{fill:#76b7b2}"
    "svg .q5{fill:#e15759}svg .q6{fill:#9c755f}svg .q7{fill:#edc948}"
    "@media(prefers-color-scheme:dark){svg text{fill:#e6eaf0}svg .d{fill:#8d98a7}svg .bg{fill:#14181e}"
    "svg .g{stroke:#2a313b}svg .cap{stroke:#8d98a7}svg .w{fill:#465060}svg .a{fill:#8f7431}svg .x{fill:#ef6f7f}}";

void markup_text(struct buf *out, struct str text)
{
    for (size_t at = 0, n; at < text.n; at += n) {
        unsigned char c = (unsigned char)text.p[at];
        size_t good = str_utf8_front(str_from(text, at));

        n = MAX_OF(good, 1);
        if (c == '&')
            buf_str(out, STR("&amp;"));
        else if (c == '<')
            buf_str(out, STR("&lt;"));
        else if (c == '>')
            buf_str(out, STR("&gt;"));
        else if (c == '"')
            buf_str(out, STR("&quot;"));
        else if (c == '\'')
            buf_str(out, STR("&#39;"));
        else if (!good || (c < 0x20 && c != '\t' && c != '\n') || c == 0x7f)
            buf_str(out, STR("\xef\xbf\xbd"));
        else
            buf_append(out, text.p + at, n);
    }
}

void page_span(struct buf *out, int64_t ms)
{
    if (ms < 0)
        buf_str(out, STR("–"));
    else
        span_print(out, ms);
}

/* ---- geometry ---- */

static int64_t span_ms(const struct timeline *t)
{
    return MAX_OF(t->end_ms - t->begin_ms, 1);
}

static double x_of(const struct timeline *t, int64_t at_ms)
{
    double part = (double)(at_ms - t->begin_ms) / (double)span_ms(t);

    return LEFT + (PAGE_WIDTH - LEFT - RIGHT) * (part < 0 ? 0 : part > 1 ? 1 : part);
}

static size_t colour_of(const struct timeline *t, struct str queue)
{
    for (size_t i = 0; i < t->queues.n; i++)
        if (str_eq(t->queues.v[i]->name, queue))
            return i % COLOURS;
    return 0;
}

static void begin(struct buf *out, int y, int height)
{
    buf_fmt(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" y=\"%d\">\n",
            PAGE_WIDTH, height, PAGE_WIDTH, height, y);
}

static void text_at(struct buf *out, const char *class, double x, double y, struct str text)
{
    buf_fmt(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
    markup_text(out, text);
    buf_str(out, STR("</text>\n"));
}

/* Names that do not fit into the margin are cut; the whole name is in the tooltip. */
static void label(struct buf *out, struct str text, double y, const char *class)
{
    size_t at = 0, n = 0;

    for (; at < text.n && n < 28; n++)
        at += MAX_OF(str_utf8_front(str_from(text, at)), 1);
    buf_fmt(out, "<text class=\"%s\" x=\"%d\" y=\"%.1f\"><title>", class, LEFT - 10, y);
    markup_text(out, text);
    buf_str(out, STR("</title>"));
    markup_text(out, str_sub(text, 0, at));
    if (at < text.n)
        buf_str(out, STR("…"));
    buf_str(out, STR("</text>\n"));
}

static void axis(struct buf *out, const struct timeline *t, int top, int bottom)
{
    int64_t step_ms = axis_step(span_ms(t), 12);

    for (int64_t ms = 0; ms <= span_ms(t); ms += step_ms) {
        double x = x_of(t, t->begin_ms + ms);
        autobuf text = { 0 };

        offset_print(&text, t, t->begin_ms + ms);
        buf_fmt(out, "<line class=\"g\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", x, x, top, bottom);
        text_at(out, "d m", x, top - 6, buf_view(&text));
    }
}

/* ---- jobs ---- */

static void tooltip(struct buf *out, const struct timeline *t, const struct timeline_job *j)
{
    buf_str(out, STR("<title>"));
    markup_text(out, j->name);
    buf_str(out, STR(" · queue "));
    markup_text(out, j->queue);
    buf_str(out, STR("\nstarts "));
    offset_print(out, t, j->started_ms);
    buf_str(out, STR(", ends "));
    offset_print(out, t, j->finished_ms);
    buf_str(out, STR("\nwaits "));
    page_span(out, job_wait_ms(t, j));
    buf_str(out, STR(", runs "));
    page_span(out, job_run_ms(t, j));
    VEC_FOREACH(w, &j->waits)
        if (w->message.n) {
            buf_char(out, '\n');
            offset_print(out, t, w->from_ms);
            buf_str(out, STR(": "));
            markup_text(out, w->message);
        }
    buf_str(out, STR("</title>"));
}

static void bar(struct buf *out, const struct timeline *t, const struct timeline_job *j, size_t i, double y)
{
    static const char *const classes[JOB_STATE_MAX] = { "w", "a", "p", "", NULL, NULL };
    const struct timeline_step *s = &j->steps.v[i];
    int64_t until_ms = i + 1 < j->steps.n ? s[1].at_ms : t->end_ms;
    double x = x_of(t, s->at_ms), width = MAX_OF(x_of(t, until_ms) - x, s->state == STATE_RUNS ? 2 : 0);
    bool is_thin = s->state < STATE_PARTLY;

    if (s->state >= STATE_DONE || width <= 0)
        return;
    buf_fmt(out, "<rect class=\"%s", classes[s->state]);
    if (s->state >= STATE_PARTLY)
        buf_fmt(out, " q%zu", colour_of(t, j->queue));
    buf_fmt(out, "\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"%d\">", x, y + (is_thin ? 4 : 0), width,
            is_thin ? BAR - 8 : BAR, width > 6 ? 2 : 0);
    tooltip(out, t, j);
    buf_str(out, STR("</rect>\n"));
}

/* Steps that differ only in the number of pods are one bar. */
static void bars(struct buf *out, const struct timeline *t, const struct timeline_job *j, double y)
{
    struct timeline_job merged = *j;
    autoarena a = { 0 };

    merged.steps.v = NULL;
    merged.steps.n = merged.steps.cap = 0;
    VEC_FOREACH(s, &j->steps)
        if (!merged.steps.n || merged.steps.v[merged.steps.n - 1].state != s->state)
            *vec_push(&a, &merged.steps) = *s;
    for (size_t i = 0; i < merged.steps.n; i++)
        bar(out, t, &merged, i, y);
}

int chart_jobs(struct buf *out, const struct timeline *t, int y)
{
    int height = AXIS + (int)t->jobs.n * ROW + 8;

    begin(out, y, height);
    axis(out, t, AXIS - 8, height - 8);
    for (size_t i = 0; i < t->jobs.n; i++) {
        const struct timeline_job *j = t->jobs.v[i];
        double top = AXIS + (double)i * ROW;

        label(out, j->name, top + BAR, "e");
        bars(out, t, j, top + 3);
        if (j->steps.n && j->steps.v[j->steps.n - 1].state == STATE_FAILED && j->finished_ms >= 0) {
            buf_fmt(out, "<circle class=\"x\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\">", x_of(t, j->finished_ms), top + 10);
            tooltip(out, t, j);
            buf_str(out, STR("</circle>\n"));
        }
    }
    buf_str(out, STR("</svg>\n"));
    return height;
}

/* ---- queues ---- */

struct area {
    struct buf *out;
    const struct timeline *t;
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
        sum += (double)place_at(a->t->queues.v[i], at_ms)->v[a->dim];
    return sum;
}

static int by_number(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

    return a < b ? -1 : a > b;
}

/* All times at which any queue changes, each once; with thousands of them one for each pixel is enough. */
static size_t all_times(const struct area *a, struct arena *arena, int64_t **ret)
{
    VEC(int64_t) v = { 0 };
    size_t n = 0, most = 2 * PAGE_WIDTH;

    *vec_push(arena, &v) = a->t->begin_ms;
    for (size_t i = 0; i < a->t->queues.n; i++)
        VEC_FOREACH(s, &a->t->queues.v[i]->steps)
            *vec_push(arena, &v) = s->at_ms;
    qsort(v.v, v.n, sizeof(*v.v), by_number);
    for (size_t i = 0; i < v.n; i++) {
        bool is_near = n && (double)(v.v[i] - v.v[n - 1]) * (double)most < (double)span_ms(a->t);

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
    struct str name = a->t->queues.v[queue]->name;

    buf_fmt(a->out, "<path class=\"q%zu\" d=\"M%.1f %.1f", queue % COLOURS, x_of(a->t, times[0]), y_of(a, 0));
    for (size_t i = 0; i < n; i++)
        buf_fmt(a->out, "V%.1fH%.1f", y_of(a, stacked(a, queue, times[i])),
                x_of(a->t, i + 1 < n ? times[i + 1] : a->t->end_ms));
    for (size_t i = n; i-- > 0;)
        buf_fmt(a->out, "V%.1fH%.1f", queue ? y_of(a, stacked(a, queue - 1, times[i])) : y_of(a, 0),
                x_of(a->t, times[i]));
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

    label(a->out, a->t->dims.names[a->dim], a->top + 14, "h e");
    size_print(&whole, &a->t->dims, a->dim, (int64_t)a->whole);
    text_at(a->out, "d e", LEFT - 10, a->top + 32, arena_fmt(&arena, "of %.*s", (int)whole.n, whole.p));
    for (size_t i = 0; i < a->t->queues.n; i++)
        if (place_peak(a->t->queues.v[i], a->dim, a->t->begin_ms, a->t->end_ms + 1) > 0)
            area_of(a, i, times, n);
    buf_fmt(a->out, "<line class=\"cap\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT, PAGE_WIDTH - RIGHT,
            a->top, a->top);
    buf_fmt(a->out, "<line class=\"g\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT, PAGE_WIDTH - RIGHT,
            a->top + AREA, a->top + AREA);
}

static void queue_legend(struct buf *out, const struct timeline *t, int y)
{
    double x = LEFT;

    for (size_t i = 0; i < t->queues.n && x < PAGE_WIDTH - 120; i++) {
        if (!t->queues.v[i]->steps.n)
            continue;
        buf_fmt(out, "<rect class=\"q%zu\" x=\"%.1f\" y=\"%d\" width=\"11\" height=\"11\" rx=\"2\"/>\n", i % COLOURS, x,
                y - 10);
        text_at(out, "d", x + 16, y, t->queues.v[i]->name);
        x += 34 + 7.0 * (double)t->queues.v[i]->name.n;
    }
}

/* The largest sum there ever is, for clusters that do not say how much they have. */
static double peak_of_all(const struct timeline *t, int dim)
{
    double sum = 0;

    for (size_t i = 0; i < t->queues.n; i++)
        sum += (double)place_peak(t->queues.v[i], dim, t->begin_ms, t->end_ms + 1);
    return sum;
}

int chart_queues(struct buf *out, const struct timeline *t, int y)
{
    int dims[AMOUNT_DIMS], n = timeline_dims(t, dims), height = AXIS + 24 + n * (AREA + 22);

    begin(out, y, height);
    queue_legend(out, t, 14);
    axis(out, t, AXIS + 10, height - 22);
    for (int i = 0; i < n; i++) {
        struct area a = { out, t, dims[i], AXIS + 16 + i * (AREA + 22), (double)t->total.v[dims[i]] };

        if (a.whole <= 0)
            a.whole = MAX_OF(peak_of_all(t, dims[i]), 1);
        area_chart(&a);
    }
    buf_str(out, STR("</svg>\n"));
    return height;
}

/* ---- nodes ---- */

/* How full a node is: the resource it has least left of. */
static double fullness(const struct timeline_place *p, const int *dims, int n, int64_t from_ms, int64_t to_ms)
{
    double most = 0;

    for (int i = 0; i < n; i++)
        if (p->total.v[dims[i]] > 0) {
            double part = place_mean(p, dims[i], from_ms, to_ms) / (double)p->total.v[dims[i]];

            most = MAX_OF(most, part);
        }
    return MIN_OF(most, 1.0);
}

static void heat_cell(struct buf *out, const struct timeline *t, int64_t from_ms, int64_t to_ms, int y, int percent)
{
    double x = x_of(t, from_ms);

    if (percent > 0)
        buf_fmt(out,
                "<rect class=\"u\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill-opacity=\"%.2f\"><title>%d%%"
                "</title></rect>\n",
                x, y, x_of(t, to_ms) - x, NODE_ROW - 3, 0.08 + 0.92 * percent / 100.0, percent);
}

/* The times at which a row may change: its own steps, or, if they are too many to be seen, cells of equal width. */
static size_t heat_times(struct arena *a, const struct timeline *t, const struct timeline_place *p, int64_t **ret)
{
    VEC(int64_t) v = { 0 };

    *vec_push(a, &v) = t->begin_ms;
    if (p->steps.n <= HEAT_CELLS)
        VEC_FOREACH(s, &p->steps)
            *vec_push(a, &v) = MAX_OF(s->at_ms, t->begin_ms);
    else
        for (int i = 1; i < HEAT_CELLS; i++)
            *vec_push(a, &v) = t->begin_ms + span_ms(t) * i / HEAT_CELLS;
    *vec_push(a, &v) = t->end_ms;
    *ret = v.v;
    return v.n;
}

/* Neighbours of the same fullness are one rectangle. */
static void heat_row(struct buf *out, const struct timeline *t, const struct timeline_place *p, const int *dims, int n,
                     int y)
{
    autoarena a = { 0 };
    int64_t *times, from_ms = t->begin_ms;
    size_t n_times = heat_times(&a, t, p, &times);
    int last = -1;

    for (size_t i = 0; i + 1 < n_times; i++) {
        int percent = (int)(100 * fullness(p, dims, n, times[i], times[i + 1]) + 0.5);

        if (percent == last || times[i] >= times[i + 1])
            continue;
        if (last >= 0)
            heat_cell(out, t, from_ms, times[i], y, last);
        last = percent;
        from_ms = times[i];
    }
    heat_cell(out, t, from_ms, t->end_ms, y, last);
}

int chart_nodes(struct buf *out, const struct timeline *t, int y)
{
    int dims[AMOUNT_DIMS], n = timeline_dims(t, dims);
    size_t shown = MIN_OF(t->nodes.n, (size_t)NODES_SHOWN);
    int height = AXIS + (int)shown * NODE_ROW + (shown < t->nodes.n ? 30 : 12);

    begin(out, y, height);
    axis(out, t, AXIS - 8, AXIS + (int)shown * NODE_ROW);
    for (size_t i = 0; i < shown; i++) {
        int top = AXIS + (int)i * NODE_ROW;

        label(out, t->nodes.v[i]->name, top + 10, "d e");
        heat_row(out, t, t->nodes.v[i], dims, n, top);
    }
    if (shown < t->nodes.n) {
        autobuf text = { 0 };

        buf_fmt(&text, "and %zu more nodes", t->nodes.n - shown);
        text_at(out, "d e", LEFT - 10, height - 10, buf_view(&text));
    }
    buf_str(out, STR("</svg>\n"));
    return height;
}
