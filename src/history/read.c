/* read.c - the record in order, for pages, traces and summaries */
#include "history/history_internal.h"

#include "base/util.h"
#include "history/timeline.h"
#include "job/phase.h"

const char *const pod_end_names[POD_END_MAX] = { "not over", "succeeded", "failed", "stopped" };

const char *decision_class(const struct record_decision *d)
{
    if (str_starts(d->action, STR("Complete")))
        return "good";
    if (str_starts(d->action, STR("Restart")) || str_is(d->action, "ResumeJob") || str_is(d->action, "Evict"))
        return "warn";
    return "bad";
}

int64_t record_end_ms(const struct record *r)
{
    return MAX_OF(r->end_ms, r->begin_ms + 1);
}

int64_t pod_until_ms(const struct record *r, const struct record_pod *p)
{
    return p->ended_ms < 0 ? record_end_ms(r) : p->ended_ms;
}

/* ---- rows ---- */

static struct record_group *group_of(struct arena *a, struct record_view *v, const struct record_job *j)
{
    struct record_group *g;

    for (size_t i = 0; i < v->groups.n; i++)
        if (v->groups.v[i]->job == j)
            return v->groups.v[i];
    g = arena_new(a, struct record_group);
    g->job = j;
    *vec_push(a, &v->groups) = g;
    return g;
}

static struct record_task *task_of(struct arena *a, struct record_group *g, struct str name)
{
    struct record_task *t;

    for (size_t i = 0; i < g->tasks.n; i++)
        if (str_eq(g->tasks.v[i]->name, name))
            return g->tasks.v[i];
    t = arena_new(a, struct record_task);
    t->name = name;
    *vec_push(a, &g->tasks) = t;
    return t;
}

/* "worker-1" instead of "train-worker-1": the job stands above. */
static struct str label_of(const struct record_pod *p)
{
    struct str job = p->job ? p->job->name : STR("");

    if (job.n && str_starts(p->name, job) && p->name.n > job.n + 1 && p->name.p[job.n] == '-')
        return str_from(p->name, job.n + 1);
    return p->name;
}

/* The time in line counts for the first pod that each name got after it. */
static struct record_span queued_for(const struct record_pod *p, const struct record_pod *before)
{
    struct record_span none = { -1, -1 };

    for (size_t i = p->job ? p->job->queued.n : 0; i-- > 0;) {
        struct record_span s = p->job->queued.v[i];

        if (s.from_ms > p->created_ms)
            continue;
        if (before && before->created_ms >= s.from_ms)
            return none;
        if (before)
            s.from_ms = MAX_OF(s.from_ms, MAX_OF(before->ended_ms, before->gone_ms));
        s.from_ms = MIN_OF(s.from_ms, p->created_ms);
        s.until_ms = s.until_ms < 0 || s.until_ms > p->created_ms ? p->created_ms : MAX_OF(s.until_ms, s.from_ms);
        return s;
    }
    return none;
}

static int by_index(const void *x, const void *y)
{
    const struct record_row *a = *(struct record_row *const *)x, *b = *(struct record_row *const *)y;

    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    return str_cmp(a->label, b->label);
}

void record_view(struct arena *a, const struct record *r, struct record_view *ret)
{
    struct map rows;

    *ret = (struct record_view){ 0 };
    map_init(&rows, map_seed_default());
    for (size_t i = 0; i < r->jobs.n; i++) { /* jobs and tasks in their order, also those without pods */
        struct record_group *g = group_of(a, ret, r->jobs.v[i]);

        VEC_FOREACH(name, &r->jobs.v[i]->tasks)
            (void)task_of(a, g, *name);
    }
    for (size_t i = 0; i < r->pods.n; i++) {
        const struct record_pod *p = r->pods.v[i];
        struct str key = arena_fmt(a, "%.*s %.*s/%.*s", STR_ARG(p->job ? p->job->uid : STR("")), STR_ARG(p->namespace),
                                   STR_ARG(p->name));
        struct record_row *row = map_get(&rows, key);
        struct record_group *g = group_of(a, ret, p->job);

        if (!row) {
            row = arena_new(a, struct record_row);
            row->label = label_of(p);
            row->index = p->index;
            map_put(&rows, key, row);
            *vec_push(a, &task_of(a, g, p->task)->rows) = row;
            g->n_rows++;
            ret->n_rows++;
        }
        *vec_push(a, &row->queued) = queued_for(p, row->pods.n ? row->pods.v[row->pods.n - 1] : NULL);
        *vec_push(a, &row->pods) = p;
    }
    for (size_t i = 0; i < ret->groups.n; i++)
        VEC_FOREACH(t, &ret->groups.v[i]->tasks)
            if ((*t)->rows.n)
                qsort((*t)->rows.v, (*t)->rows.n, sizeof(*(*t)->rows.v), by_index);
    map_done(&rows);
}

/* ---- what failed ---- */

static int by_newest(const void *x, const void *y)
{
    const struct record_cause *a = x, *b = y;
    int c;

    if (a->at_ms != b->at_ms)
        return a->at_ms > b->at_ms ? -1 : 1;
    c = str_cmp(a->pod->namespace, b->pod->namespace);
    if (c == 0)
        c = str_cmp(a->pod->name, b->pod->name);
    return c ? c : str_cmp(a->container ? a->container->name : STR(""), b->container ? b->container->name : STR(""));
}

/* Reasons a container waits with that do not go away by themselves. */
static bool is_trouble(struct str reason)
{
    return str_ends(reason, STR("Error")) || str_ends(reason, STR("BackOff")) || str_starts(reason, STR("Failed")) ||
           str_starts(reason, STR("ErrImage")) || str_is(reason, "InvalidImageName");
}

static bool is_cause(const struct record_pod *p, const struct record_container *c, struct record_cause *ret)
{
    const struct record_attempt *last = c->attempts.n ? &c->attempts.v[c->attempts.n - 1] : NULL;

    *ret = (struct record_cause){ p, c, last, last ? last->ended_ms : p->seen_ms };
    if (last && last->ended_ms < 0)
        return false;
    if (last && last->is_failed && (p->end == END_FAILED || p->end == END_STOPPED || c->waiting.n))
        return p->deleting_ms < 0 || last->ended_ms < p->deleting_ms;
    ret->attempt = NULL;
    return !last && is_trouble(c->waiting);
}

size_t record_causes(struct arena *a, const struct record *r, struct record_cause **ret)
{
    VEC(struct record_cause) v = { 0 };

    for (size_t i = 0; i < r->pods.n; i++) {
        const struct record_pod *p = r->pods.v[i];
        struct record_cause cause;
        size_t before = v.n;

        VEC_FOREACH(c, &p->containers)
            if (is_cause(p, *c, &cause))
                *vec_push(a, &v) = cause;
        if (v.n == before && p->end == END_FAILED)
            *vec_push(a, &v) = (struct record_cause){ p, NULL, NULL, p->ended_ms };
    }
    if (v.n)
        qsort(v.v, v.n, sizeof(*v.v), by_newest);
    *ret = v.v;
    return v.n;
}

/* The termination message, or ours, where the last lines would hide it. */
static void add_said(struct buf *reason, struct str said, struct str tail)
{
    enum { SHORT = 200 };

    said = str_trim(said);
    if (tail.n && said.n && said.n <= SHORT && str_find_char(said, '\n') < 0 && !str_ends(str_trim(tail), said) &&
        !str_ends(buf_view(reason), said))
        buf_fmt(reason, ": %.*s", STR_ARG(said));
}

/* Why the pod was ended goes before how its container ended: one that is killed at a deadline dies of a signal like any other. */
static struct failure failure_of(const struct record_cause *c)
{
    int code = c->attempt ? c->attempt->exit_code : -1;

    if (c->pod->reason.n)
        return (struct failure){ code, 0, c->pod->reason, c->pod->message };
    if (c->attempt)
        return attempt_failure(c->attempt);
    if (c->container)
        return (struct failure){ code, 0, c->container->waiting, c->container->waiting_text };
    return (struct failure){ code, 0, STR(""), c->pod->message };
}

void record_cause_words(const struct record_cause *c, struct buf *words, struct record_words *ret)
{
    struct str tail = c->container ? buf_view(&c->container->tail) : STR("");
    struct failure f = failure_of(c), bare = f;

    if (c->pod->reason.n || !c->attempt) /* a message of ours is for the lines below, where nothing else was written */
        bare.message = STR("");
    failure_words(words, &bare);
    add_said(words, f.message, tail);
    if (tail.n > RECORD_TAIL)
        tail = str_from(tail, tail.n - RECORD_TAIL);
    *ret = (struct record_words){ .namespace = c->pod->namespace,
                                  .job = c->pod->job ? c->pod->job->name : STR(""),
                                  .pod = c->pod->name,
                                  .uid = c->pod->uid,
                                  .task = c->pod->task,
                                  .container = c->container ? c->container->name : STR(""),
                                  .node = c->pod->node,
                                  .reason = failure_reason(f.reason),
                                  .message = str_trim(f.message),
                                  .exit_code = f.exit_code,
                                  .at_ms = c->at_ms,
                                  .failures = c->container ? MAX_OF(c->container->failures, 1) : 1,
                                  .is_only = c->pod->containers.n < 2,
                                  .is_over = c->pod->end == END_FAILED,
                                  .tail = tail.n ? tail : f.message };
}

static void find_words(const struct record *r, struct record_found *f)
{
    struct record_cause *all;

    arena_reset(&f->arena);
    f->n = record_causes(&f->arena, r, &all);
    f->words = arena_array(&f->arena, struct record_words, f->n);
    for (size_t i = 0; i < f->n; i++) {
        autobuf words = { 0 };

        record_cause_words(&all[i], &words, &f->words[i]);
        f->words[i].words = arena_str(&f->arena, buf_view(&words));
    }
    f->is_valid = true;
}

bool record_failed(const struct record *r, size_t i, struct record_words *ret)
{
    if (!r->found->is_valid)
        find_words(r, r->found);
    if (i >= r->found->n)
        return false;
    *ret = r->found->words[i];
    return true;
}

/* ---- use ---- */

int64_t pod_cpu_us(const struct record_pod *p)
{
    return p->samples.n ? p->samples.v[p->samples.n - 1].cpu_us : 0;
}

int64_t pod_peak_bytes(const struct record_pod *p)
{
    int64_t peak = p->memory_peak_bytes;

    VEC_FOREACH(s, &p->samples)
        peak = MAX_OF(peak, s->memory_bytes);
    return MAX_OF(peak, 0);
}

int64_t pod_restarts(const struct record_pod *p)
{
    int64_t n = 0;

    VEC_FOREACH(c, &p->containers)
        n += (*c)->restarts;
    return n;
}

/* The first sample not before 'at_ms'. */
static size_t sample_after(const struct record_pod *p, int64_t at_ms)
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

/* A straight line between samples, from nothing at the start of the pod. */
double pod_cpu_at(const struct record_pod *p, int64_t at_ms)
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

int64_t pod_memory_at(const struct record *r, const struct record_pod *p, int64_t at_ms)
{
    size_t i = sample_after(p, at_ms);
    int64_t from_ms = p->started_ms >= 0 ? p->started_ms : p->created_ms;

    if (p->samples.n == 0 || at_ms < from_ms || at_ms >= pod_until_ms(r, p))
        return 0;
    return p->samples.v[MIN_OF(i, p->samples.n - 1)].memory_bytes;
}

/* ---- verdicts ---- */

bool job_is_ok(const struct record_job *j)
{
    return str_is(j->phase, "Completed");
}

bool job_is_over(const struct record_job *j)
{
    return phase_is_final(job_phase_of(j->phase)) || str_is(j->phase, "Aborted");
}

static void why_not(struct buf *out, const struct record *r, const struct record_job *j)
{
    const struct record_decision *last = j->last_decision ? &r->decisions.v[j->last_decision - 1] : NULL;
    autoarena a = { 0 };
    struct record_cause *all, *first = NULL;
    size_t n = record_causes(&a, r, &all);

    if (last && last->because.n)
        buf_fmt(out, ": %.*s", STR_ARG(last->because));
    else if (j->message.n && job_is_over(j))
        buf_fmt(out, ": %.*s", STR_ARG(j->message));
    for (size_t i = 0; i < n; i++)
        if (all[i].pod->job == j)
            first = &all[i];
    if (first && (!last || !last->policy.n) && !(last && str_has(last->because, first->pod->name))) {
        buf_str(out, job_is_over(j) ? STR("; first, ") : STR(": "));
        pod_story(out, first->pod);
    }
}

/* Pods of the job that failed and were not replaced by another; of how many. */
static size_t failed_pods(const struct record *r, const struct record_job *j, size_t *ret_all)
{
    size_t n = 0;

    *ret_all = 0;
    for (size_t i = 0; i < r->pods.n; i++) {
        const struct record_pod *p = r->pods.v[i];
        autobuf key = { 0 };

        buf_fmt(&key, "%.*s/%.*s", STR_ARG(p->namespace), STR_ARG(p->name));
        if (p->job != j || map_get(&r->pods_name, buf_view(&key)) != p)
            continue;
        ++*ret_all;
        n += p->end == END_FAILED;
    }
    return n;
}

void job_verdict(struct buf *out, const struct record *r, const struct record_job *j)
{
    size_t all;
    int64_t until_ms = j->finished_ms >= 0 ? j->finished_ms : j->gone_ms >= 0 ? j->gone_ms : record_end_ms(r);

    if (job_is_over(j))
        buf_fmt(out, "%.*s %s ", STR_ARG(j->phase), job_is_ok(j) ? "in" : "after");
    else if (j->gone_ms >= 0)
        buf_str(out, STR("Stopped after "));
    else
        buf_fmt(out, "Not over: %.*s after ", STR_ARG(j->phase.n ? j->phase : STR("new")));
    took_print(out, until_ms - j->submitted_ms);
    if (!job_is_over(j) && j->waits.n && j->waits.v[j->waits.n - 1].until_ms < 0)
        buf_fmt(out, ": waits, %.*s", STR_ARG(j->waits.v[j->waits.n - 1].message));
    else if (!job_is_ok(j))
        why_not(out, r, j);
    else if (failed_pods(r, j, &all))
        buf_fmt(out, "; %zu of %zu pods failed", failed_pods(r, j, &all), all);
}

void record_verdict(struct buf *out, const struct record *r, bool *ret_ok, bool *ret_over)
{
    size_t ok = 0, over = 0;
    const struct record_job *bad = NULL;

    for (size_t i = 0; i < r->jobs.n; i++) {
        ok += job_is_ok(r->jobs.v[i]);
        over += job_is_over(r->jobs.v[i]);
        if (!bad && !job_is_ok(r->jobs.v[i]))
            bad = r->jobs.v[i];
    }
    *ret_ok = ok == r->jobs.n;
    *ret_over = over == r->jobs.n;
    if (r->jobs.n == 1) {
        job_verdict(out, r, r->jobs.v[0]);
        return;
    }
    if (r->jobs.n == 0)
        buf_str(out, STR("No job was seen in "));
    else if (*ret_ok && r->jobs.n == 2)
        buf_str(out, STR("Both jobs completed in "));
    else if (*ret_ok)
        buf_fmt(out, "All %zu jobs completed in ", r->jobs.n);
    else
        buf_fmt(out, "%zu of %zu jobs completed in ", ok, r->jobs.n);
    took_print(out, record_end_ms(r) - r->begin_ms);
    if (bad) {
        buf_fmt(out, "; %.*s: ", STR_ARG(bad->name));
        job_verdict(out, r, bad);
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

void took_print(struct buf *out, int64_t ms)
{
    if (ms < 0 || ms >= 100000)
        span_print(out, MAX_OF(ms, 0));
    else
        buf_fmt(out, ms < 10000 ? "%.2fs" : "%.1fs", (double)ms / 1000);
}

void record_offset(struct buf *out, const struct record *r, int64_t at_ms)
{
    int64_t ms = at_ms - r->begin_ms, whole_ms = record_end_ms(r) - r->begin_ms;

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
