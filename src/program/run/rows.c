/* rows.c - the pods of a small job in the block: a row for each, with what it uses */
#include "program/run/rows.h"

#include "base/util.h"

enum {
    NEARLY = 90, /* percent of a limit that are worth a colour */
    PENDING_MS = 1000,
};

const enum style run_state_styles[HISTORY_STATE_MAX] = { STYLE_DIM,   STYLE_YELLOW, STYLE_CYAN,
                                                         STYLE_GREEN, STYLE_RED,    STYLE_DIM };

bool run_rows_fit(const struct history_job *j, size_t most)
{
    int64_t wanted = 0, n = 0;

    VEC_FOREACH(t, &j->tasks) {
        wanted += (*t)->replicas;
        for (int s = 0; s < HISTORY_STATE_MAX; s++)
            n += (*t)->n[s];
    }
    return n <= (int64_t)most && n == wanted; /* some are still to come: their task says how many */
}

/* Cores since the sample before the last. Negative: there are no two. */
static double cores_now(const struct history_pod *p)
{
    const struct history_sample *last = p->samples.n > 1 ? &p->samples.v[p->samples.n - 1] : NULL;

    if (!last || last->at_ms <= last[-1].at_ms || last->cpu_us < 0 || last[-1].cpu_us < 0)
        return -1;
    return (double)(last->cpu_us - last[-1].cpu_us) / (double)(last->at_ms - last[-1].at_ms) / 1000;
}

static void put_use(struct buf *out, const struct history_pod *p, bool has_colour)
{
    int64_t memory = p->samples.n ? p->samples.v[p->samples.n - 1].memory_bytes : -1;
    double cores = cores_now(p);
    autobuf text = { 0 };

    if (cores >= 0) {
        buf_str(out, STR("  cpu "));
        cores_print(out, cores);
        if (p->may.cpu_milli) {
            buf_str(out, STR(" of "));
            cores_print(out, (double)p->may.cpu_milli / 1000);
        }
    }
    if (memory < 0)
        return;
    buf_str(&text, STR("memory "));
    bytes_print(&text, memory);
    if (p->may.memory_bytes) {
        buf_str(&text, STR(" of "));
        bytes_print(&text, p->may.memory_bytes);
    }
    buf_str(out, STR("  "));
    term_style(out, has_colour && p->may.memory_bytes && memory / NEARLY >= p->may.memory_bytes / 100, STYLE_RED,
               buf_view(&text));
}

/* What time will do to it. That a pod does not start is not worth a word in its first second. */
static void put_timer(struct buf *out, const struct history_pod *p, int64_t now_ms)
{
    struct history_timer t;

    if (!pod_timer(p, &t) || (p->state < HISTORY_RUNNING && now_ms < p->created_ms + PENDING_MS))
        return;
    buf_str(out, STR("  "));
    timer_words(out, &t, now_ms);
}

void run_row(struct buf *out, const struct history_pod *p, size_t width, bool has_colour, int64_t now_ms)
{
    int64_t restarts = pod_restarts(p);
    bool is_restarting = pod_is_restarting(p);
    const char *state = is_restarting ? "failed and restarting" : history_state_names[p->state];

    buf_str(out, STR("  "));
    term_text(out, p->label);
    buf_repeat(out, ' ', width - p->label.n + 2);
    term_style(out, has_colour, is_restarting ? STYLE_RED : run_state_styles[p->state], str_of(state));
    buf_repeat(out, ' ', MAX_OF(9, strlen(state)) - strlen(state));
    if (restarts)
        buf_fmt(out, "  %lld %s", (long long)restarts, restarts == 1 ? "restart" : "restarts");
    if (p->state == HISTORY_RUNNING)
        put_use(out, p, has_colour);
    if (p->waits.n && !is_restarting && !state_is_over(p->state)) {
        buf_str(out, STR("  "));
        term_text(out, p->waits);
    }
    put_timer(out, p, now_ms);
    while (out->n && out->p[out->n - 1] == ' ') /* nothing stands in the next column */
        out->n--;
}
