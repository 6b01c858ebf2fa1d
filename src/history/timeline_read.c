/* timeline_read.c - questions about time to the history of a cluster, and times as words */
#include "history/timeline.h"

#include "base/span.h"
#include "base/util.h"

static const struct amounts nothing;

/* ---- reading ---- */

/* The time between the beginning and the end of the history in which it was in one of the states [from, to]. */
static int64_t time_in(const struct history *h, const struct history_job *j, enum job_state from, enum job_state to)
{
    int64_t sum = 0;

    for (size_t i = 0; i < j->steps.n; i++) {
        const struct history_step *s = &j->steps.v[i];
        int64_t until_ms = MIN_OF(i + 1 < j->steps.n ? s[1].at_ms : INT64_MAX, h->end_ms);

        if (s->state >= from && s->state <= to && until_ms > s->at_ms)
            sum += until_ms - s->at_ms;
    }
    return sum;
}

int64_t job_wait_ms(const struct history *h, const struct history_job *j)
{
    return j->was_over ? -1 : time_in(h, j, STATE_WAITS, STATE_PARTLY);
}

int64_t job_run_ms(const struct history *h, const struct history_job *j)
{
    return j->was_over || j->started_ms < 0 ? -1 : time_in(h, j, STATE_RUNS, STATE_RUNS);
}

enum job_state job_state_between(const struct history_job *j, int64_t from_ms, int64_t to_ms)
{
    int64_t held[JOB_STATE_MAX] = { 0 };
    enum job_state best = JOB_STATE_MAX;

    for (size_t i = 0; i < j->steps.n; i++) {
        const struct history_step *s = &j->steps.v[i];
        int64_t until_ms = i + 1 < j->steps.n ? s[1].at_ms : INT64_MAX;
        int64_t a = MAX_OF(s->at_ms, from_ms), b = MIN_OF(until_ms, MAX_OF(to_ms, from_ms + 1));

        if (s->at_ms >= to_ms && s->at_ms > from_ms)
            break;
        if (b > a)
            held[s->state] += b - a;
    }
    for (int s = 0; s < JOB_STATE_MAX; s++)
        if (held[s] > 0 && (best == JOB_STATE_MAX || held[s] > held[best]))
            best = (enum job_state)s;
    return best;
}

/* The last step at or before a time; -1: none. */
static ptrdiff_t step_at(const struct history_place *p, int64_t at_ms)
{
    size_t low = 0, high = p->steps.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (p->steps.v[middle].at_ms <= at_ms)
            low = middle + 1;
        else
            high = middle;
    }
    return (ptrdiff_t)low - 1;
}

const struct amounts *place_at(const struct history_place *p, int64_t at_ms)
{
    ptrdiff_t i = step_at(p, at_ms);

    return i < 0 ? &nothing : &p->steps.v[i].used;
}

double place_mean(const struct history_place *p, int dim, int64_t from_ms, int64_t to_ms)
{
    double sum = 0;

    if (to_ms <= from_ms)
        return (double)place_at(p, from_ms)->v[dim];
    for (ptrdiff_t i = MAX_OF(step_at(p, from_ms), 0); i < (ptrdiff_t)p->steps.n; i++) {
        const struct history_use *s = &p->steps.v[i];
        int64_t until_ms = i + 1 < (ptrdiff_t)p->steps.n ? s[1].at_ms : INT64_MAX;
        int64_t a = MAX_OF(s->at_ms, from_ms), b = MIN_OF(until_ms, to_ms);

        if (s->at_ms >= to_ms)
            break;
        if (b > a)
            sum += (double)s->used.v[dim] * (double)(b - a);
    }
    return sum / (double)(to_ms - from_ms);
}

int64_t place_peak(const struct history_place *p, int dim, int64_t from_ms, int64_t to_ms)
{
    int64_t peak = place_at(p, from_ms)->v[dim];

    for (ptrdiff_t i = step_at(p, from_ms) + 1; i < (ptrdiff_t)p->steps.n && p->steps.v[i].at_ms < to_ms; i++)
        peak = MAX_OF(peak, p->steps.v[i].used.v[dim]);
    return peak;
}

int history_dims(const struct history *h, int ret[AMOUNT_DIMS])
{
    bool is_used[AMOUNT_DIMS] = { false };
    int n = 0;

    for (size_t i = 0; i < h->queues.n; i++)
        VEC_FOREACH(s, &h->queues.v[i]->steps)
            for (int d = 0; d < h->dims.n; d++)
                is_used[d] |= s->used.v[d] != 0;
    for (int d = 0; d < h->dims.n; d++)
        if (is_used[d] && d != DIM_PODS)
            ret[n++] = d;
    if (n == 0)
        ret[n++] = DIM_PODS;
    return n;
}

/* ---- words ---- */

static bool is_bytes(struct str name)
{
    return str_is(name, "memory") || str_is(name, "ephemeral-storage") || str_starts(name, STR("hugepages-"));
}

void size_print(struct buf *out, const struct dims *dims, int dim, int64_t v)
{
    static const char units[] = "KMGTPE";
    double size = (double)v;
    int unit = -1;

    if (!is_bytes(dims->names[dim]) || v < 1024) {
        amount_print(out, dims, dim, v);
        return;
    }
    for (; size >= 1024 && units[unit + 1]; unit++)
        size /= 1024;
    if (size < 100 && (int64_t)(size * 10 + 0.5) % 10)
        buf_fmt(out, "%.1f%ci", size, units[unit]);
    else
        buf_fmt(out, "%.0f%ci", size, units[unit]);
}

void offset_print(struct buf *out, const struct history *h, int64_t at_ms)
{
    if (at_ms < 0) {
        buf_char(out, '-');
        return;
    }
    buf_char(out, at_ms < h->begin_ms ? '-' : '+');
    span_print(out, at_ms < h->begin_ms ? h->begin_ms - at_ms : at_ms - h->begin_ms);
}

/* ---- two plans ---- */

int64_t history_last_end(const struct history *h)
{
    int64_t end = -1;

    for (size_t i = 0; i < h->jobs.n; i++)
        if (!h->jobs.v[i]->was_over)
            end = MAX_OF(end, h->jobs.v[i]->finished_ms);
    return end;
}

void gain_print(struct buf *out, const struct history *h, const struct history_job *j, const struct history *before,
                const struct history_job *old)
{
    int64_t sooner_ms;

    if (!old) {
        buf_str(out, STR("new"));
    } else if (old->finished_ms < 0 || j->finished_ms < 0) {
        buf_str(out, j->finished_ms >= 0 ? STR("now ends") : old->finished_ms >= 0 ? STR("no longer ends") : STR(""));
    } else if ((sooner_ms = old->finished_ms - before->begin_ms - (j->finished_ms - h->begin_ms)) != 0) {
        span_print(out, sooner_ms < 0 ? -sooner_ms : sooner_ms);
        buf_str(out, sooner_ms < 0 ? STR(" later") : STR(" sooner"));
    }
}
