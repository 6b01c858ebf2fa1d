/* trace.c - a history as Trace Event Format (chrome://tracing, ui.perfetto.dev)
 *
 * A process for each job, thread 0 with its phases, then a thread for each pod name. Spans of one thread are nested or
 * apart, never crossed: a container that does not fit among the pod's phases gets a thread of its own. Process 1 is the
 * run itself, with its notices.
 */
#include "report/report_internal.h"

#include "base/util.h"
#include "json/json.h"

enum { PID_RUN = 1, COUNTERS_MAX = 64 /* pods with counters of their own */ };

struct trace {
    struct buf *out;
    const struct history *h;
    bool has_one;
};

struct track {
    struct trace *t;
    size_t pid, tid, extra; /* extra: the next free thread */
    VEC(struct history_span) spans;
    struct arena arena;
};

/* ---- events ---- */

static int64_t us(const struct trace *t, int64_t at_ms)
{
    return (at_ms - t->h->begin_ms) * 1000;
}

/* The front of an event; the caller adds members and "}". */
static void trace_begin(struct trace *t, char kind, size_t pid, size_t tid, struct str name)
{
    buf_str(t->out, t->has_one ? STR(",\n") : STR("\n"));
    t->has_one = true;
    buf_fmt(t->out, "{\"ph\":\"%c\",\"pid\":%zu,\"tid\":%zu,\"name\":", kind, pid, tid);
    json_print_str(t->out, name);
}

static void text_arg(struct trace *t, bool *has_args, const char *key, struct str text)
{
    if (str_empty(text))
        return;
    buf_fmt(t->out, "%s\"%s\":", *has_args ? "," : ",\"args\":{", key);
    json_print_str(t->out, text);
    *has_args = true;
}

static void close_event(struct trace *t, bool has_args)
{
    buf_str(t->out, has_args ? STR("}}") : STR("}"));
}

/* The name of a process or, if 'what' is "thread", of a thread, and its place among the others. */
static void name(struct trace *t, const char *what, size_t pid, size_t tid, struct str text)
{
    size_t order = strcmp(what, "process") == 0 ? pid : tid;

    buf_str(t->out, t->has_one ? STR(",\n") : STR("\n"));
    t->has_one = true;
    buf_fmt(t->out, "{\"ph\":\"M\",\"pid\":%zu,\"tid\":%zu,\"name\":\"%s_name\",\"args\":{\"name\":", pid, tid, what);
    json_print_str(t->out, text);
    buf_fmt(t->out,
            "}},\n{\"ph\":\"M\",\"pid\":%zu,\"tid\":%zu,\"name\":\"%s_sort_index\",\"args\":{\"sort_index\":%zu}}", pid,
            tid, what, order);
}

/* 'd': the decision that it shows, NULL for a notice. */
static void instant(struct trace *t, size_t pid, int64_t at_ms, struct str text, const struct history_decision *d)
{
    bool has_args = false;

    trace_begin(t, 'i', pid, 0, text);
    buf_fmt(t->out, ",\"s\":\"%c\",\"ts\":%lld", d ? 'p' : 'g', (long long)us(t, at_ms));
    if (d) {
        text_arg(t, &has_args, "because", d->because);
        text_arg(t, &has_args, "policy", d->policy);
    }
    close_event(t, has_args);
}

/* ---- spans ---- */

/* Does it lie inside or beside each of the spans there are? */
static bool nests(const struct track *k, struct history_span span)
{
    VEC_FOREACH(s, &k->spans) {
        bool is_beside = span.until_ms <= s->from_ms || span.from_ms >= s->until_ms;
        bool is_inside = span.from_ms >= s->from_ms && span.until_ms <= s->until_ms;

        if (!is_beside && !is_inside)
            return false;
    }
    return true;
}

static void trace_span(struct track *k, size_t tid, struct str what, struct history_span span, struct str why)
{
    bool has_args = false;

    if (span.until_ms < span.from_ms)
        return;
    if (tid == k->tid)
        *vec_push(&k->arena, &k->spans) = span;
    trace_begin(k->t, 'X', k->pid, tid, what);
    buf_fmt(k->t->out, ",\"ts\":%lld,\"dur\":%lld", (long long)us(k->t, span.from_ms),
            (long long)((span.until_ms - span.from_ms) * 1000));
    text_arg(k->t, &has_args, "result", why);
    close_event(k->t, has_args);
}

static void phase(struct track *k, const char *what, int64_t from_ms, int64_t until_ms)
{
    if (from_ms >= 0 && until_ms > from_ms)
        trace_span(k, k->tid, str_of(what), (struct history_span){ from_ms, until_ms }, STR(""));
}

static void ready(struct track *k, const struct history_pod *p, int64_t from_ms, int64_t until_ms)
{
    VEC_FOREACH(s, &p->ready)
        phase(k, "ready", MAX_OF(s->from_ms, from_ms), MIN_OF(s->until_ms < 0 ? until_ms : s->until_ms, until_ms));
}

static void trace_phases(struct track *k, const struct history_pod *p, struct history_span queued)
{
    int64_t until_ms = pod_until_ms(k->t->h, p), admitted_ms = queued.from_ms < 0 ? p->created_ms : queued.until_ms;
    int64_t scheduled_ms = p->scheduled_ms < 0 ? until_ms : p->scheduled_ms;
    int64_t started_ms = p->started_ms < 0 ? until_ms : p->started_ms;
    int64_t stop_ms = p->deleting_ms >= started_ms && p->deleting_ms < until_ms ? p->deleting_ms : until_ms;

    if (queued.from_ms >= 0)
        phase(k, "queued", queued.from_ms, queued.until_ms);
    phase(k, "admitted", admitted_ms, scheduled_ms);
    if (p->scheduled_ms >= 0)
        phase(k, "starting", scheduled_ms, started_ms);
    if (p->started_ms >= 0) {
        phase(k, "running", started_ms, stop_ms);
        ready(k, p, started_ms, stop_ms);
        phase(k, "stopping", stop_ms, until_ms);
    }
}

/* On the pod's thread where they nest, else on one of their own. */
static void trace_container(struct track *k, const struct history_pod *p, const struct history_container *c)
{
    size_t own = 0;

    VEC_FOREACH(a, &c->attempts) {
        struct history_span span = { a->started_ms, a->ended_ms < 0 ? pod_until_ms(k->t->h, p) : a->ended_ms };
        autobuf text = { 0 }, end = { 0 };

        buf_fmt(&text, "%s%.*s", c->is_init ? "init " : "", STR_ARG(c->name));
        if (a->number)
            buf_fmt(&text, " (restart %lld)", (long long)a->number);
        if (a->ended_ms >= 0)
            attempt_reason(&end, a);
        if (nests(k, span)) {
            trace_span(k, k->tid, buf_view(&text), span, buf_view(&end));
            continue;
        }
        if (!own) {
            autobuf title = { 0 };

            own = k->extra++;
            buf_fmt(&title, "%.*s · %.*s", STR_ARG(p->name), STR_ARG(c->name));
            name(k->t, "thread", k->pid, own, buf_view(&title));
        }
        trace_span(k, own, buf_view(&text), span, buf_view(&end));
    }
}

static void trace_pod(struct track *k, const struct history_pod *p, struct history_span queued)
{
    struct history_span span = { queued.from_ms < 0 ? p->created_ms : queued.from_ms, pod_until_ms(k->t->h, p) };
    autobuf result = { 0 };

    k->spans.n = 0;
    if (p->end == END_FAILED)
        pod_story(&result, p);
    else
        buf_str(&result, str_of(pod_end_names[p->end]));
    trace_span(k, k->tid, p->name, span, buf_view(&result));
    trace_phases(k, p, queued);
    VEC_FOREACH(c, &p->containers)
        trace_container(k, p, *c);
}

/* ---- counters ---- */

struct trace_counter {
    size_t pid;
    struct str name;
    const char *unit;
};

static void counter(struct trace *t, const struct trace_counter *c, int64_t at_ms, double value)
{
    trace_begin(t, 'C', c->pid, 0, c->name);
    buf_fmt(t->out, ",\"ts\":%lld,\"args\":{\"%s\":%.3f}}", (long long)us(t, at_ms), c->unit, value);
}

static void pod_counters(struct trace *t, size_t pid, const struct history_pod *p)
{
    autoarena a = { 0 };
    struct trace_counter cpu = { pid, arena_fmt(&a, "cpu %.*s", STR_ARG(p->name)), "cores" };
    struct trace_counter memory = { pid, arena_fmt(&a, "memory %.*s", STR_ARG(p->name)), "bytes" };
    int64_t from_ms = p->started_ms >= 0 ? p->started_ms : p->created_ms;
    double before = 0;

    VEC_FOREACH(s, &p->samples) {
        if (s->at_ms > from_ms)
            counter(t, &cpu, from_ms, ((double)s->cpu_us - before) / 1000 / (double)(s->at_ms - from_ms));
        counter(t, &memory, s->at_ms, (double)s->memory_bytes);
        before = (double)s->cpu_us;
        from_ms = MAX_OF(from_ms, s->at_ms);
    }
    if (p->samples.n && p->ended_ms >= 0) {
        counter(t, &cpu, MAX_OF(p->ended_ms, from_ms), 0);
        counter(t, &memory, MAX_OF(p->ended_ms, from_ms), 0);
    }
}

/* What the pods of a job use together. */
static void job_counters(struct trace *t, size_t pid, const struct history_job *j)
{
    int64_t begin_ms = t->h->begin_ms, ms = history_end_ms(t->h) - begin_ms,
            n = MAX_OF(MIN_OF(ms / 10, REPORT_CELLS), 1);
    struct trace_counter cpu_counter = { pid, STR("cpu"), "cores" }, memory_counter = { pid, STR("memory"), "bytes" };

    for (int64_t i = 0; i < n; i++) {
        int64_t a = begin_ms + ms * i / n, b = begin_ms + ms * (i + 1) / n;
        double cpu = 0, memory = 0;

        for (size_t k = 0; k < t->h->pods.n; k++) {
            const struct history_pod *p = t->h->pods.v[k];

            if (p->job != j || !p->samples.n)
                continue;
            cpu += pod_cpu_at(p, b) - pod_cpu_at(p, a);
            memory += (double)pod_memory_at(t->h, p, (a + b) / 2);
        }
        counter(t, &cpu_counter, a, b > a ? cpu / 1000 / (double)(b - a) : 0);
        counter(t, &memory_counter, a, memory);
    }
}

/* ---- jobs ---- */

static void job_phases(struct trace *t, size_t pid, const struct history_job *j)
{
    struct track k = { .t = t, .pid = pid };

    for (size_t i = 0; i < j->phases.n; i++) {
        int64_t until_ms = i + 1 < j->phases.n ? j->phases.v[i + 1].at_ms : history_end_ms(t->h);

        trace_span(&k, 0, j->phases.v[i].name, (struct history_span){ j->phases.v[i].at_ms, until_ms }, STR(""));
    }
    arena_done(&k.arena);
}

static void trace_decisions(struct trace *t, size_t pid, const struct history_job *j)
{
    VEC_FOREACH(d, &t->h->decisions)
        if (d->job == j) {
            autobuf text = { 0 };

            buf_str(&text, d->action);
            if (d->when.n)
                buf_fmt(&text, " %.*s", STR_ARG(d->when));
            instant(t, pid, d->at_ms, buf_view(&text), d);
        }
}

static void trace_group(struct trace *t, const struct report_group *g, size_t pid, bool with_counters)
{
    struct track k = { .t = t, .pid = pid, .extra = g->n_rows + 1 };

    name(t, "process", pid, 0, g->job ? g->job->name : STR("pods of no job"));
    if (g->job) {
        name(t, "thread", pid, 0, STR("job"));
        job_phases(t, pid, g->job);
    }
    trace_decisions(t, pid, g->job);
    VEC_FOREACH(task, &g->tasks)
        VEC_FOREACH(row, &(*task)->rows) {
            k.tid++;
            name(t, "thread", pid, k.tid, (*row)->label);
            for (size_t i = 0; i < (*row)->pods.n; i++) {
                trace_pod(&k, (*row)->pods.v[i], (*row)->queued.v[i]);
                if (with_counters)
                    pod_counters(t, pid, (*row)->pods.v[i]);
            }
        }
    if (report_has_use(t->h))
        job_counters(t, pid, g->job);
    arena_done(&k.arena);
}

void report_trace(struct buf *out, const struct history *h)
{
    struct trace t = { .out = out, .h = h };
    autoarena a = { 0 };
    struct report_rows v;

    report_rows(&a, h, &v);
    buf_str(out, STR("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"version\":\"pumice " PUMICE_VERSION
                     "\"},\"traceEvents\":["));
    name(&t, "process", PID_RUN, 0, STR("run"));
    VEC_FOREACH(n, &h->notes)
        instant(&t, PID_RUN, n->at_ms, n->text, NULL);
    for (size_t i = 0; i < v.groups.n; i++)
        trace_group(&t, v.groups.v[i], PID_RUN + 1 + i, h->pods.n <= COUNTERS_MAX);
    buf_str(out, STR("\n]}\n"));
}
