/* run_use.c - cpu and memory: of all pods together, and of each as a small line */
#include "report/report_internal.h"

#include "base/util.h"
#include "report/draw.h"

enum { FAR_ABOVE = 4, AREA = 84, GAP = 26, AXIS = 30, SPARK_WIDTH = 96, SPARK_HEIGHT = 18 };

struct series {
    size_t n;
    double v[REPORT_CELLS];
    double peak;
};

bool report_has_use(const struct history *h)
{
    for (size_t i = 0; i < h->pods.n; i++)
        if (h->pods.v[i]->samples.n)
            return true;
    return false;
}

/* ---- series ---- */

static int64_t edge_ms(int64_t from_ms, int64_t until_ms, size_t n, size_t i)
{
    return from_ms + (until_ms - from_ms) * (int64_t)i / (int64_t)n;
}

static size_t cells_of(int64_t ms)
{
    return (size_t)MAX_OF(MIN_OF(ms, REPORT_CELLS), 1);
}

/* Cores in use on average in each cell. */
static void add_cpu(struct series *s, const struct history *h, const struct history_pod *p, int64_t from_ms,
                    int64_t until_ms)
{
    double before = pod_cpu_at(p, from_ms);

    for (size_t i = 0; p->samples.n && i < s->n; i++) {
        int64_t a = edge_ms(from_ms, until_ms, s->n, i), b = edge_ms(from_ms, until_ms, s->n, i + 1);
        double now = pod_cpu_at(p, b);

        s->v[i] += b > a ? (now - before) / (double)(b - a) / 1000 : 0;
        before = now;
    }
}

static void add_memory(struct series *s, const struct history *h, const struct history_pod *p, int64_t from_ms,
                       int64_t until_ms)
{
    for (size_t i = 0; p->samples.n && i < s->n; i++)
        s->v[i] += (double)pod_memory_at(h, p, edge_ms(from_ms, until_ms, 2 * s->n, 2 * i + 1));
}

typedef void add_f(struct series *s, const struct history *h, const struct history_pod *p, int64_t from_ms,
                   int64_t until_ms);

static void find_peak(struct series *s)
{
    s->peak = 0;
    for (size_t i = 0; i < s->n; i++)
        s->peak = MAX_OF(s->peak, s->v[i]);
}

/* ---- all pods ---- */

static void area(struct buf *out, const struct series *s, double top, double scale, const char *class)
{
    double width = (double)(DRAW_WIDTH - DRAW_LEFT - DRAW_RIGHT) / (double)s->n;

    buf_fmt(out, "<path class=\"%s\" d=\"M%d %.1f", class, DRAW_LEFT, top + AREA);
    for (size_t i = 0; i < s->n; i++)
        buf_fmt(out, "V%.1fH%.1f", top + AREA * (1 - (scale > 0 ? s->v[i] / scale : 0)),
                DRAW_LEFT + width * (double)(i + 1));
    buf_fmt(out, "V%.1fZ\"/>\n", top + AREA);
}

static void print_use(struct buf *out, double v, bool is_cpu)
{
    if (is_cpu)
        cores_print(out, v);
    else
        bytes_print(out, v < 0x1p62 ? (int64_t)v : INT64_C(1) << 62); /* a sum of all pods */
}

static double use_share_of(const struct history_pod *p, bool is_cpu, bool is_limit)
{
    const struct history_share *share = is_limit ? &p->may : &p->asks;

    return is_cpu ? (double)share->cpu_milli / 1000 : (double)share->memory_bytes;
}

/* Sums the requests, or the limits, of the pods that have a node. False: one of them has no limit, so there is none. */
static bool sum_shares(struct series *s, const struct history *h, bool is_cpu, bool is_limit)
{
    for (size_t k = 0; k < h->pods.n; k++) {
        const struct history_pod *p = h->pods.v[k];
        double amount = use_share_of(p, is_cpu, is_limit);

        if (p->scheduled_ms < 0)
            continue;
        if (is_limit && amount <= 0)
            return false;
        for (size_t i = 0; i < s->n; i++) {
            int64_t at_ms = edge_ms(h->begin_ms, history_end_ms(h), 2 * s->n, 2 * i + 1);

            if (at_ms >= p->scheduled_ms && at_ms < pod_until_ms(h, p))
                s->v[i] += amount;
        }
    }
    find_peak(s);
    return s->peak > 0;
}

/* Requests and limits are lines over the use; those far above it would make it flat and are only named. */
static void use_of(struct buf *out, const struct history *h, add_f *add, bool is_cpu, double top)
{
    static const char *const classes[] = { "ask", "lim" }, *const names[] = { "requested ", "limit " };
    struct series use = { .n = cells_of(history_end_ms(h) - h->begin_ms) }, shares[] = { use, use };
    bool is_drawn[ARRAY_LEN(shares)];
    autobuf peak = { 0 }, words = { 0 };
    double scale;

    for (size_t i = 0; i < h->pods.n; i++)
        add(&use, h, h->pods.v[i], h->begin_ms, history_end_ms(h));
    find_peak(&use);
    scale = use.peak;
    for (size_t k = 0; k < ARRAY_LEN(shares); k++) {
        bool is_there = sum_shares(&shares[k], h, is_cpu, k);

        is_drawn[k] = is_there && shares[k].peak <= FAR_ABOVE * use.peak;
        scale = is_drawn[k] ? MAX_OF(scale, shares[k].peak) : scale;
        if (is_there) {
            buf_fmt(&words, "%s%s", words.n ? ", " : "", names[k]);
            print_use(&words, shares[k].peak, is_cpu);
        }
    }
    buf_str(&peak, STR("peak "));
    print_use(&peak, use.peak, is_cpu);
    buf_str(&peak, is_cpu ? STR(" cores") : STR(""));
    draw_label(out, is_cpu ? STR("cpu") : STR("memory"), top + 12, "h e");
    draw_label(out, buf_view(&peak), top + 30, "d e");
    draw_label(out, buf_view(&words), top + 46, "d e");
    buf_fmt(out, "<path class=\"cap\" d=\"M%d %.1fH%d\"/>\n", DRAW_LEFT, top, DRAW_WIDTH - DRAW_RIGHT);
    area(out, &use, top, scale, is_cpu ? "cpu" : "mem");
    for (size_t k = 0; k < ARRAY_LEN(shares); k++)
        if (is_drawn[k])
            area(out, &shares[k], top, scale, classes[k]);
    buf_fmt(out, "<path class=\"g\" d=\"M%d %.1fH%d\"/>\n", DRAW_LEFT, top + AREA, DRAW_WIDTH - DRAW_RIGHT);
}

void report_use_chart(struct buf *out, const struct history *h)
{
    struct draw_span span = { h->begin_ms, history_end_ms(h) };
    int height = AXIS + 2 * AREA + GAP + 8;

    draw_begin(out, 0, height);
    draw_axis(out, &span, AXIS - 10, AXIS + 2 * AREA + GAP);
    use_of(out, h, add_cpu, true, AXIS);
    use_of(out, h, add_memory, false, AXIS + AREA + GAP);
    buf_str(out, STR("</svg>\n"));
}

/* ---- one pod ---- */

static void use_spark(struct buf *out, const struct history *h, const struct history_pod *p, bool is_cpu)
{
    int64_t from_ms = p->started_ms >= 0 ? p->started_ms : p->created_ms, until_ms = pod_until_ms(h, p);
    struct series s = { .n = MIN_OF(cells_of(until_ms - from_ms), (size_t)SPARK_WIDTH / 2) };
    double limit = use_share_of(p, is_cpu, true);

    (is_cpu ? add_cpu : add_memory)(&s, h, p, from_ms, until_ms);
    find_peak(&s);
    if (limit <= FAR_ABOVE * s.peak)
        s.peak = MAX_OF(s.peak, limit);
    buf_fmt(out, "<svg class=\"spark\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\"><path class=\"%s\" d=\"M0 %d",
            SPARK_WIDTH, SPARK_HEIGHT, SPARK_WIDTH, SPARK_HEIGHT, is_cpu ? "cpu" : "mem", SPARK_HEIGHT);
    for (size_t i = 0; i < s.n; i++)
        buf_fmt(out, "V%.1fH%.1f", SPARK_HEIGHT - (SPARK_HEIGHT - 1) * (s.peak > 0 ? s.v[i] / s.peak : 0),
                (double)SPARK_WIDTH * (double)(i + 1) / (double)s.n);
    buf_fmt(out, "V%dZ\"/>", SPARK_HEIGHT);
    if (limit > 0 && limit <= s.peak)
        buf_fmt(out, "<path class=\"lim\" d=\"M0 %.1fH%d\"/>", SPARK_HEIGHT - (SPARK_HEIGHT - 1) * limit / s.peak,
                SPARK_WIDTH);
    buf_str(out, STR("</svg>"));
}

void report_sparks(struct buf *out, const struct history *h, const struct history_pod *p)
{
    buf_str(out, STR("<td class=\"n\">"));
    if (p->samples.n) {
        buf_fmt(out, "%.1fs", (double)pod_cpu_us(p) / 1e6);
        buf_str(out, STR("</td><td class=\"sp\">"));
        use_spark(out, h, p, true);
    } else {
        buf_str(out, STR("–</td><td class=\"sp\">"));
    }
    buf_str(out, STR("</td><td class=\"n\">"));
    if (pod_peak_bytes(p) > 0) {
        bytes_print(out, pod_peak_bytes(p));
        if (p->may.memory_bytes) {
            buf_str(out, STR("<span class=\"d\"> of "));
            bytes_print(out, p->may.memory_bytes);
            buf_str(out, STR("</span>"));
        }
        buf_str(out, STR("</td><td class=\"sp\">"));
        use_spark(out, h, p, false);
    } else {
        buf_str(out, STR("–</td><td class=\"sp\">"));
    }
    buf_str(out, STR("</td>"));
}
