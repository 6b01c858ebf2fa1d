/* read.c - questions to a history, and its answers in words */
#include "history/history_internal.h"

#include "base/span.h"
#include "base/util.h"
#include "history/timeline.h"
#include "job/phase.h"

const char *const pod_end_names[POD_END_MAX] = { "not over", "succeeded", "failed", "stopped" };

int64_t history_end_ms(const struct history *h)
{
    return MAX_OF(h->end_ms, h->begin_ms + 1);
}

int64_t pod_until_ms(const struct history *h, const struct history_pod *p)
{
    return p->ended_ms < 0 ? history_end_ms(h) : p->ended_ms;
}

/* ---- use ---- */

int64_t pod_cpu_us(const struct history_pod *p)
{
    return p->samples.n ? p->samples.v[p->samples.n - 1].cpu_us : 0;
}

int64_t pod_peak_bytes(const struct history_pod *p)
{
    int64_t peak = p->memory_peak_bytes;

    VEC_FOREACH(s, &p->samples)
        peak = MAX_OF(peak, s->memory_bytes);
    return MAX_OF(peak, 0);
}

int64_t pod_restarts(const struct history_pod *p)
{
    int64_t n = 0;

    VEC_FOREACH(c, &p->containers)
        n += (*c)->restarts;
    return n;
}

int64_t pod_main_restarts(const struct history_pod *p)
{
    int64_t n = 0;

    VEC_FOREACH(c, &p->containers)
        n += (*c)->is_init ? 0 : (*c)->restarts;
    return n;
}

bool pod_is_restarting(const struct history_pod *p)
{
    return p->state == HISTORY_RUNNING && str_is(p->waits, "CrashLoopBackOff");
}

const struct history_pod *history_pod(const struct history *h, struct str uid)
{
    return map_get(&h->pods_uid, uid);
}

const struct history_job *history_job(const struct history *h, struct str namespace, struct str name)
{
    autobuf key = { 0 };

    buf_fmt(&key, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(name));
    return map_get(&h->jobs_name, buf_view(&key));
}

const struct history_pod *history_pod_named(const struct history *h, struct str namespace, struct str name)
{
    autobuf key = { 0 };

    buf_fmt(&key, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(name));
    return map_get(&h->pods_name, buf_view(&key));
}

/* The first sample not before 'at_ms'. */
static size_t sample_after(const struct history_pod *p, int64_t at_ms)
{
    size_t low = 0, high = p->samples.n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (p->samples.v[mid].at_ms < at_ms)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* A straight line between samples, from 0 at the start of the pod. */
double pod_cpu_at(const struct history_pod *p, int64_t at_ms)
{
    size_t i = sample_after(p, at_ms);
    int64_t from_ms, from_us;

    if (i >= p->samples.n)
        return (double)pod_cpu_us(p);
    from_ms = i ? p->samples.v[i - 1].at_ms : p->started_ms >= 0 ? p->started_ms : p->created_ms;
    from_us = i ? p->samples.v[i - 1].cpu_us : 0;
    if (at_ms <= from_ms || p->samples.v[i].at_ms <= from_ms)
        return (double)from_us;
    return (double)from_us + (double)(p->samples.v[i].cpu_us - from_us) * (double)(at_ms - from_ms) /
                                 (double)(p->samples.v[i].at_ms - from_ms);
}

int64_t pod_memory_at(const struct history *h, const struct history_pod *p, int64_t at_ms)
{
    size_t i = sample_after(p, at_ms);
    int64_t from_ms = p->started_ms >= 0 ? p->started_ms : p->created_ms;

    if (p->samples.n == 0 || at_ms < from_ms || at_ms >= pod_until_ms(h, p))
        return 0;
    return p->samples.v[MIN_OF(i, p->samples.n - 1)].memory_bytes;
}

/* ---- verdicts ---- */

enum job_phase job_phase_now(const struct history_job *j)
{
    enum job_phase phase = job_phase_of(j->phase);

    return phase == PHASE_NONE ? PHASE_PENDING : phase;
}

const char *job_phase_shown(const struct history_job *j)
{
    if (j->is_stopped && !job_is_final(j))
        return j->gone_ms >= 0 ? "Stopped" : "Stopping";
    return job_phase_name(job_phase_now(j));
}

bool job_is_ok(const struct history_job *j)
{
    return job_phase_now(j) == PHASE_COMPLETED;
}

bool job_is_final(const struct history_job *j)
{
    return phase_is_final(job_phase_now(j)) || job_phase_now(j) == PHASE_ABORTED;
}

bool job_is_over(const struct history_job *j)
{
    return j->gone_ms >= 0 || job_is_final(j);
}

int64_t job_over_ms(const struct history_job *j)
{
    return j->finished_ms >= 0 ? j->finished_ms : j->gone_ms;
}

size_t job_failed_pods(const struct history *h, const struct history_job *j, size_t *ret_all)
{
    size_t n = 0;

    *ret_all = 0;
    VEC_FOREACH(p, &h->pods)
        if ((*p)->job == j && !(*p)->is_replaced) {
            ++*ret_all;
            n += (*p)->end == END_FAILED;
        }
    return n;
}

static void why_not(struct buf *out, const struct history *h, const struct history_job *j)
{
    const struct history_decision *last = j->last_decision ? &h->decisions.v[j->last_decision - 1] : NULL;
    autoarena a = { 0 };
    struct history_cause *all, *first = NULL;
    size_t n = history_causes(&a, h, &all);

    if (last && last->because.n)
        buf_fmt(out, ": %.*s", STR_ARG(last->because));
    else if (j->message.n && job_is_final(j))
        buf_fmt(out, ": %.*s", STR_ARG(str_cut(j->message, HISTORY_TEXT)));
    for (size_t i = 0; i < n; i++)
        if (all[i].pod->job == j)
            first = &all[i];
    if (first && (!last || !last->policy.n) && !(last && str_has(last->because, first->pod->name))) {
        buf_str(out, job_is_final(j) ? STR("; first, ") : STR(": "));
        pod_story(out, first->pod);
    }
}

void job_verdict(struct buf *out, const struct history *h, const struct history_job *j)
{
    size_t all;
    int64_t until_ms = job_over_ms(j) >= 0 ? job_over_ms(j) : history_end_ms(h);

    if (job_is_final(j))
        buf_fmt(out, "%.*s %s ", STR_ARG(j->phase), job_is_ok(j) ? "in" : "after");
    else if (j->gone_ms >= 0)
        buf_str(out, STR("Stopped after "));
    else
        buf_fmt(out, "Not over: %.*s after ", STR_ARG(j->phase.n ? j->phase : STR("new")));
    span_print_fine(out, until_ms - j->submitted_ms);
    if (!job_is_final(j) && j->waits.n && j->waits.v[j->waits.n - 1].until_ms < 0)
        buf_fmt(out, ": waits, %.*s", STR_ARG(j->waits.v[j->waits.n - 1].message));
    else if (!job_is_ok(j))
        why_not(out, h, j);
    else if (job_failed_pods(h, j, &all))
        buf_fmt(out, "; %zu of %zu pods failed", job_failed_pods(h, j, &all), all);
}

void history_verdict(struct buf *out, const struct history *h, bool *ret_ok, bool *ret_over)
{
    size_t ok = 0, over = 0;
    const struct history_job *bad = NULL;

    for (size_t i = 0; i < h->jobs.n; i++) {
        ok += job_is_ok(h->jobs.v[i]);
        over += job_is_final(h->jobs.v[i]);
        if (!bad && !job_is_ok(h->jobs.v[i]))
            bad = h->jobs.v[i];
    }
    *ret_ok = ok == h->jobs.n;
    *ret_over = over == h->jobs.n;
    if (h->jobs.n == 1) {
        job_verdict(out, h, h->jobs.v[0]);
        return;
    }
    if (h->jobs.n == 0)
        buf_str(out, STR("No jobs were seen in "));
    else if (*ret_ok && h->jobs.n == 2)
        buf_str(out, STR("Both jobs completed in "));
    else if (*ret_ok)
        buf_fmt(out, "All %zu jobs completed in ", h->jobs.n);
    else
        buf_fmt(out, "%zu of %zu jobs completed in ", ok, h->jobs.n);
    span_print_fine(out, history_end_ms(h) - h->begin_ms);
    if (bad) {
        buf_fmt(out, "; %.*s: ", STR_ARG(bad->name));
        job_verdict(out, h, bad);
    }
}

/* ---- words ---- */

/* The length of a terminal's control sequence at the front; 0: there is none. */
static size_t escape_length(struct str s)
{
    size_t n = 2;

    if (s.n < 2 || s.p[0] != '\x1b')
        return 0;
    if (s.p[1] == '[') {
        while (n < s.n && (unsigned char)s.p[n] >= 0x20 && (unsigned char)s.p[n] < 0x40)
            n++;
        return MIN_OF(n + 1, s.n);
    }
    if (s.p[1] == ']') { /* a title: up to BEL or ESC \ */
        while (n < s.n && s.p[n] != '\a' && s.p[n] != '\x1b' && s.p[n] != '\n')
            n++;
        return n < s.n && s.p[n] == '\a' ? n + 1 : n < s.n && s.p[n] == '\x1b' ? MIN_OF(n + 2, s.n) : n;
    }
    return 2;
}

void plain_lines(struct buf *out, struct str text)
{
    size_t line = out->n;

    for (size_t at = 0, n; at < text.n; at += n) {
        n = escape_length(str_from(text, at));
        if (n)
            continue;
        n = 1;
        if (text.p[at] == '\r') {
            if (at + 1 < text.n && text.p[at + 1] != '\n') /* the line is written again from its front */
                out->n = line;
            continue;
        }
        buf_char(out, text.p[at]);
        if (text.p[at] == '\n')
            line = out->n;
    }
}

void history_offset(struct buf *out, const struct history *h, int64_t at_ms)
{
    int64_t ms = at_ms - h->begin_ms, whole_ms = history_end_ms(h) - h->begin_ms;

    if (at_ms < 0) {
        buf_str(out, STR("–"));
        return;
    }
    buf_char(out, ms < 0 ? '-' : '+');
    ms = ms < 0 ? -ms : ms;
    if (whole_ms < 100000)
        buf_fmt(out, whole_ms < 10000 ? "%.3fs" : "%.2fs", (double)ms / 1000);
    else
        span_print(out, ms);
}

void bytes_print(struct buf *out, int64_t bytes)
{
    static const char *const units[] = { "B", "Ki", "Mi", "Gi", "Ti", "Pi" };
    double size = (double)bytes;
    size_t unit = 0;

    for (; size >= 1000 && unit + 1 < ARRAY_LEN(units); unit++)
        size /= 1024;
    buf_fmt(out, size < 10 && unit ? "%.1f%s" : "%.0f%s", size, units[unit]);
}

void cores_print(struct buf *out, double cores)
{
    buf_fmt(out, cores < 0.995 ? "%.2f" : cores < 9.95 ? "%.1f" : "%.0f", cores);
}
