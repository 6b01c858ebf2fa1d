/* gantt.c - bars of half a character, and an axis that fits */
#include "report/gantt.h"

#include "base/util.h"
#include "base/term.h"

#include <sys/ioctl.h>

enum { WIDTH_MIN = 40, WIDTH_MAX = 1000, WIDTH_DEFAULT = 100, NAME_MAX_COLUMNS = 28, QUEUE_MAX_COLUMNS = 14 };

struct chart {
    const struct history *h;
    struct buf *out;
    struct arena arena;
    bool colour;
    size_t name_n, queue_n, n; /* columns of the labels, and of the time */
    int64_t step_ms;           /* of the axis */
};

size_t gantt_width(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size = { 0 };
    int64_t n;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        return size.ws_col;
    if (columns && str_to_i64(str_of(columns), &n) == 0 && n >= WIDTH_MIN && n <= WIDTH_MAX)
        return (size_t)n;
    return WIDTH_DEFAULT;
}

struct str spark(double part)
{
    static const struct str levels[] = { STR_INIT(" "), STR_INIT("▁"), STR_INIT("▂"), STR_INIT("▃"), STR_INIT("▄"),
                                         STR_INIT("▅"), STR_INIT("▆"), STR_INIT("▇"), STR_INIT("█") };
    int i;

    if (!(part > 0)) /* not a number either */
        return levels[0];
    i = (int)(MIN_OF(part, 1.0) * 8 + 0.5);
    return levels[MAX_OF(i, 1)];
}

int64_t axis_step(int64_t span_ms, size_t n)
{
    static const int64_t steps_s[] = { 1,   2,    5,    10,   15,    30,    60,    120,   300,    600,
                                       900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800 };
    int64_t step_ms = 1000;

    for (size_t i = 0; i < ARRAY_LEN(steps_s); i++) {
        step_ms = steps_s[i] * 1000;
        if (span_ms / step_ms < (int64_t)MAX_OF(n, 1u))
            return step_ms;
    }
    while (span_ms / step_ms >= (int64_t)MAX_OF(n, 1u))
        step_ms *= 2;
    return step_ms;
}

/* ---- columns ---- */

static size_t gantt_columns_of(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

/* Text in exactly 'n' columns: cut with "…", filled with blanks. */
static void gantt_cell(struct chart *c, struct str text, size_t n, enum style style)
{
    autobuf safe = { 0 };
    struct str shown;
    size_t width;

    term_text(&safe, text);
    shown = buf_view(&safe);
    width = gantt_columns_of(shown);
    if (width > n) {
        size_t at = 0;

        for (size_t k = 0; k + 1 < n && at < shown.n; k++)
            at += MAX_OF(str_utf8_front(str_from(shown, at)), 1);
        shown = arena_fmt(&c->arena, "%.*s…", (int)at, shown.p);
        width = n;
    }
    term_style(c->out, c->colour, style, shown);
    buf_repeat(c->out, ' ', n - width);
}

static int64_t gantt_span_ms(const struct chart *c)
{
    return MAX_OF(c->h->end_ms - c->h->begin_ms, 1);
}

/* Where the half 'i' of the time line begins. */
static int64_t half_ms(const struct chart *c, size_t i)
{
    return c->h->begin_ms + (int64_t)((double)gantt_span_ms(c) * (double)i / (double)(2 * c->n));
}

/* The column of a time; c->n: beyond. */
static size_t column_of(const struct chart *c, int64_t at_ms)
{
    double part = (double)(at_ms - c->h->begin_ms) / (double)gantt_span_ms(c);

    return part < 0 ? 0 : MIN_OF((size_t)(part * (double)c->n), c->n);
}

/* No line ends with blanks. */
static void end_line(struct chart *c)
{
    while (c->out->n && c->out->p[c->out->n - 1] == ' ')
        c->out->n--;
    buf_char(c->out, '\n');
}

/* ---- jobs ---- */

static const struct {
    struct str glyph;
    enum style style;
} looks[JOB_STATE_MAX + 1] = {
    [STATE_WAITS] = { STR_INIT("░"), STYLE_DIM },     [STATE_ADMITTED] = { STR_INIT("▒"), STYLE_YELLOW },
    [STATE_PARTLY] = { STR_INIT("▓"), STYLE_YELLOW }, [STATE_RUNS] = { STR_INIT("█"), STYLE_GREEN },
    [STATE_DONE] = { STR_INIT(" "), STYLE_PLAIN },    [STATE_FAILED] = { STR_INIT(" "), STYLE_PLAIN },
    [JOB_STATE_MAX] = { STR_INIT(" "), STYLE_PLAIN },
};

/* A job that runs for less than half a character still shows that it ran. */
static void show_short(const struct chart *c, const struct history_job *j, enum job_state *halves)
{
    size_t at = MIN_OF(2 * column_of(c, j->started_ms), 2 * c->n - 2);

    if (j->started_ms < 0 || j->was_over)
        return;
    for (size_t i = 0; i < 2 * c->n; i++)
        if (halves[i] == STATE_RUNS)
            return;
    halves[at] = STATE_RUNS;
}

static void draw_cell(struct chart *c, enum job_state left, enum job_state right)
{
    if (left == STATE_RUNS && right != STATE_RUNS)
        term_style(c->out, c->colour, STYLE_GREEN, STR("▌"));
    else if (left != STATE_RUNS && right == STATE_RUNS)
        term_style(c->out, c->colour, STYLE_GREEN, STR("▐"));
    else
        term_style(c->out, c->colour, looks[left].style, looks[left].glyph);
}

static bool is_tick(const struct chart *c, size_t column)
{
    for (int64_t at = 0; at <= gantt_span_ms(c); at += c->step_ms) {
        size_t here = column_of(c, c->h->begin_ms + at);

        if (here >= column)
            return here == column;
    }
    return false;
}

static void job_row(struct chart *c, const struct history_job *j)
{
    enum job_state *halves = arena_array(&c->arena, enum job_state, 2 * c->n + 1);
    size_t end_column = j->finished_ms < 0 ? c->n : column_of(c, MAX_OF(j->finished_ms - 1, c->h->begin_ms));
    bool has_failed = j->steps.n && j->steps.v[j->steps.n - 1].state == STATE_FAILED;

    for (size_t i = 0; i < 2 * c->n; i++)
        halves[i] = job_state_between(j, half_ms(c, i), half_ms(c, i + 1));
    show_short(c, j, halves);
    gantt_cell(c, j->name, c->name_n, STYLE_PLAIN);
    buf_str(c->out, STR("  "));
    gantt_cell(c, j->queue, c->queue_n, STYLE_DIM);
    buf_str(c->out, STR(" "));
    for (size_t i = 0; i < c->n; i++) {
        enum job_state left = halves[2 * i], right = halves[2 * i + 1];

        if (has_failed && i == end_column)
            term_style(c->out, c->colour, STYLE_RED, STR("✗"));
        else if (left >= STATE_DONE && right >= STATE_DONE && is_tick(c, i))
            term_style(c->out, c->colour, STYLE_DIM, STR("┊"));
        else
            draw_cell(c, left, right);
    }
    end_line(c);
}

/* ---- the axis ---- */

static void gantt_axis(struct chart *c)
{
    size_t at = 0;

    buf_repeat(c->out, ' ', c->name_n + c->queue_n + 3);
    for (int64_t ms = 0; ms <= gantt_span_ms(c); ms += c->step_ms) {
        size_t column = column_of(c, c->h->begin_ms + ms);
        autobuf text = { 0 };

        offset_print(&text, c->h, c->h->begin_ms + ms);
        if (column < at + (at > 0) || column + text.n > c->n)
            continue;
        buf_repeat(c->out, ' ', column - at);
        term_style(c->out, c->colour, STYLE_DIM, buf_view(&text));
        at = column + text.n;
    }
    buf_char(c->out, '\n');
}

/* ---- queues ---- */

/* The most a place can use: its own limit, or all nodes. */
static int64_t most(const struct chart *c, const struct history_place *q, int dim)
{
    int64_t all = c->h->total.v[dim], own = q->total.v[dim];

    return own > 0 && own < all ? own : all;
}

static void use_row(struct chart *c, const struct history_place *q, int dim)
{
    int64_t whole = MAX_OF(most(c, q, dim), 1);

    gantt_cell(c, arena_fmt(&c->arena, "queue %.*s", STR_ARG(q->name)), c->name_n, STYLE_PLAIN);
    buf_str(c->out, STR("  "));
    gantt_cell(c, c->h->dims.names[dim], c->queue_n, STYLE_DIM);
    buf_str(c->out, STR(" "));
    for (size_t i = 0; i < c->n; i++) {
        struct str s = spark(place_mean(q, dim, half_ms(c, 2 * i), half_ms(c, 2 * i + 2)) / (double)whole);

        term_style(c->out, c->colour && !str_is(s, " "), STYLE_CYAN, s);
    }
    end_line(c);
}

/* The resource it takes the largest part of; -1: it uses nothing. */
static int main_dim(const struct chart *c, const struct history_place *q)
{
    int dims[AMOUNT_DIMS], n = history_dims(c->h, dims), best = -1;
    double part, largest = 0;

    for (int i = 0; i < n; i++) {
        part = (double)place_peak(q, dims[i], c->h->begin_ms, c->h->end_ms + 1) /
               (double)MAX_OF(most(c, q, dims[i]), 1);
        if (part > largest) {
            largest = part;
            best = dims[i];
        }
    }
    return best;
}

static void gantt_queues(struct chart *c)
{
    buf_char(c->out, '\n');
    for (size_t i = 0; i < c->h->queues.n; i++)
        if (main_dim(c, c->h->queues.v[i]) >= 0)
            use_row(c, c->h->queues.v[i], main_dim(c, c->h->queues.v[i]));
}

static void legend(struct chart *c, size_t width)
{
    static const struct {
        struct str glyph;
        enum style style;
        const char *text;
    } items[] = { { STR_INIT("░"), STYLE_DIM, "waits" },
                  { STR_INIT("▒"), STYLE_YELLOW, "admitted" },
                  { STR_INIT("▓"), STYLE_YELLOW, "partly" },
                  { STR_INIT("█"), STYLE_GREEN, "runs" },
                  { STR_INIT("✗"), STYLE_RED, "failed" } };
    size_t at = 0;

    buf_char(c->out, '\n');
    for (size_t i = 0; i < ARRAY_LEN(items); i++) {
        size_t n = 2 + strlen(items[i].text);

        if (at && at + 3 + n > width) {
            buf_char(c->out, '\n');
            at = 0;
        }
        buf_repeat(c->out, ' ', at ? 3 : 0);
        term_style(c->out, c->colour, items[i].style, items[i].glyph);
        buf_fmt(c->out, " %s", items[i].text);
        at += n + (at ? 3 : 0);
    }
    buf_char(c->out, '\n');
}

static void gantt_measure(struct chart *c, size_t width)
{
    size_t labels;

    c->name_n = c->queue_n = 4;
    for (size_t i = 0; i < c->h->jobs.n; i++) {
        c->name_n = MAX_OF(c->name_n, gantt_columns_of(c->h->jobs.v[i]->name));
        c->queue_n = MAX_OF(c->queue_n, gantt_columns_of(c->h->jobs.v[i]->queue));
    }
    for (size_t i = 0; i < c->h->queues.n; i++) {
        int dim = main_dim(c, c->h->queues.v[i]);

        if (dim < 0)
            continue;
        c->name_n = MAX_OF(c->name_n, strlen("queue ") + gantt_columns_of(c->h->queues.v[i]->name));
        c->queue_n = MAX_OF(c->queue_n, gantt_columns_of(c->h->dims.names[dim]));
    }
    c->name_n = MIN_OF(c->name_n, MIN_OF((size_t)NAME_MAX_COLUMNS, width / 3));
    c->queue_n = MIN_OF(c->queue_n, MIN_OF((size_t)QUEUE_MAX_COLUMNS, width / 6));
    labels = c->name_n + c->queue_n + 3;
    c->n = width - labels;
    c->step_ms = axis_step(gantt_span_ms(c), c->n / 9); /* "+12m30s" and room */
}

void gantt_print(struct buf *out, const struct history *h, const struct gantt_options *opt)
{
    struct chart c = { .h = h, .out = out, .colour = opt->colour };

    size_t width = MIN_OF(MAX_OF(opt->width, (size_t)WIDTH_MIN), (size_t)WIDTH_MAX);

    gantt_measure(&c, width);
    gantt_axis(&c);
    for (size_t i = 0; i < h->jobs.n; i++)
        job_row(&c, h->jobs.v[i]);
    gantt_queues(&c);
    legend(&c, width);
    arena_done(&c.arena);
}
