/* status.c - building the status of a job (B36, B38, B39, B40) */
#include "job/status.h"

#include "api/duration.h"
#include "api/meta.h"
#include "api/types.h"
#include "base/clock.h"
#include "base/util.h"
#include "job/kill.h"

/* Counters alone wait this long: a second, or in a large job a millisecond for each pod up to ten seconds, or as long
 * as many other jobs that change make it. */
static int64_t counters_every_ms(const struct job_observed *o)
{
    int64_t ms = MAX_OF(1000, MIN_OF(job_total_replicas(o->job), 10000));

    return MAX_OF(ms, o->counters_ms);
}

static struct json *timestamp(struct arena *a, int64_t ms)
{
    autobuf text = { 0 };

    clock_print(&text, ms);
    return json_str(a, arena_str(a, buf_view(&text)));
}

void status_begin(struct status_draft *d, struct arena *a, const struct job_observed *o)
{
    const struct job *job = o->job;
    const struct json *old = json_get(job->raw, "status");
    struct json *meta;

    *d = (struct status_draft){ .arena = a,
                                .o = o,
                                .phase = job_phase_of(job->status.phase),
                                .version = job->status.version,
                                .retry_count = job->status.retry_count };
    d->body = object_new(a, JOB_API_VERSION, JOB_KIND, job->meta.namespace, job->meta.name);
    meta = json_get(d->body, "metadata");
    json_add(meta, STR("uid"), json_str(a, job->meta.uid));
    json_add(meta, STR("resourceVersion"), json_str(a, job->meta.resource_version));
    d->status = json_add(d->body, STR("status"), json_is(old, JSON_OBJECT) ? json_copy(a, old) : json_object(a));
    d->controlled = json_need_object(a, d->status, "controlledResources");
    if (!d->controlled) /* it has another type */
        d->controlled = json_set(d->status, "controlledResources", json_object(a));
    memo_read(a, d->controlled, &d->memo);
}

/* ---- counters ---- */

static void set_int(struct status_draft *d, struct json *to, const char *key, int64_t v)
{
    if (v)
        json_set(to, key, json_int(d->arena, v));
    else
        json_remove(to, key); /* as the API server prints it: zero is left out */
}

/* Pods that the phase ends: they count as that and as nothing else, from the decision on. */
struct ending {
    uint32_t n;
    uint32_t (*by_task)[POD_PHASE_MAX]; /* those that would else count by their phase; NULL: none */
};

/* In an active phase pods of earlier versions are being deleted and do not count; once it is over, those that
 * were kept count by their phase (B36). */
static bool counts_old(const struct status_draft *d)
{
    return !phase_is_active(d->phase) && d->phase != PHASE_RESTARTING;
}

static struct ending count_ending(const struct status_draft *d)
{
    const struct job_pods *pods = d->o->pods;
    struct ending e = { .n = pods->n_class[POD_TERMINATING] };

    if (!kill_is_on(d->phase))
        return e;
    e.by_task = arena_zalloc_array(d->arena, pods->n_tasks, sizeof(*e.by_task));
    for (int class = 0; class < POD_TERMINATING; class ++)
        LIST_FOREACH(struct job_pod, pod, &pods->classes[class], in_class) {
            if (!kill_takes(d, pod))
                continue;
            e.n++;
            if (class == POD_LIVE || (class == POD_OLD && counts_old(d)))
                e.by_task[pod->task][pod->view.phase]++;
        }
    return e;
}

static void count_task(struct status_draft *d, size_t pos, const struct ending *ending, struct json *by_task,
                       int64_t totals[POD_PHASE_MAX])
{
    const struct task_pods *t = &d->o->pods->tasks[pos];
    struct json *phases = json_object(d->arena), *entry;
    bool any = false;

    for (int p = 0; p < POD_PHASE_MAX; p++) {
        uint32_t n = t->live[p] + (counts_old(d) ? t->old[p] : 0) - (ending->by_task ? ending->by_task[pos][p] : 0);

        if (p == POD_SUCCEEDED && !d->forgets_done)
            n = MAX_OF(n, t->n_done); /* B12: a deleted pod has still succeeded */
        totals[p] += n;
        if (n) {
            json_add(phases, str_of(pod_phase_names[p]), json_int(d->arena, n));
            any = true;
        }
    }
    if (!any)
        return;
    entry = json_add(by_task, d->o->job->spec.tasks.v[pos].name, json_object(d->arena));
    json_add(entry, STR("phase"), phases);
}

static void note_bits(struct status_draft *d, const char *what, struct str task, const uint64_t *bits, uint32_t n)
{
    struct str key = arena_fmt(d->arena, "pumice-%s-%.*s", what, STR_ARG(task));
    struct str text = bits ? bits_print(d->arena, bits, n) : STR_NULL;

    if (str_empty(text))
        json_remove_key(d->controlled, key);
    else
        json_set_key(d->controlled, key, json_str(d->arena, text));
}

/* The bits without those that are to be forgotten. */
static const uint64_t *remembered(struct status_draft *d, size_t pos, const uint64_t *bits, uint32_t n)
{
    size_t words = (n + 63) / 64;
    uint64_t *copy;

    if (!bits || pos != d->forget_task || d->forget_from >= d->forget_to)
        return bits;
    copy = memcpy(arena_alloc(d->arena, words * sizeof(*copy) + 1), bits, words * sizeof(*copy));
    for (uint32_t i = d->forget_from; i < d->forget_to && i < n; i++)
        bit_clear(copy, i);
    return copy;
}

/* Has a pod succeeded and gone without the stored status knowing? Then that must not wait (B12). */
static bool is_only_known_by_us(struct status_draft *d, struct str task, const struct task_pods *t)
{
    struct str key = arena_fmt(d->arena, JOB_NOTE_DONE "%.*s", STR_ARG(task));
    const struct json *stored = json_get_str(json_find(d->o->job->raw, "status", "controlledResources", NULL), key);

    if (json_equal(stored, json_get_str(d->controlled, key)))
        return false;
    for (size_t w = 0; w < bits_words(t->n); w++)
        if (t->done[w] & ~t->present[w])
            return true;
    return false;
}

static void note_task(struct status_draft *d, size_t pos)
{
    const struct task_pods *t = &d->o->pods->tasks[pos];
    struct str name = d->o->job->spec.tasks.v[pos].name;
    bool is_new_version = d->version != d->o->job->status.version;

    note_bits(d, "seen", name, is_new_version ? NULL : remembered(d, pos, t->seen, t->n), t->n);
    note_bits(d, "done", name, d->forgets_done ? NULL : remembered(d, pos, t->done, t->n), t->n);
    d->is_urgent |= is_only_known_by_us(d, name, t);
}

void status_count(struct status_draft *d)
{
    const struct job_pods *pods = d->o->pods;
    struct json *by_task = json_object(d->arena);
    struct ending ending = count_ending(d);
    int64_t totals[POD_PHASE_MAX] = { 0 };
    static const char *const fields[POD_PHASE_MAX] = { "pending", "running", "succeeded", "failed", "unknown" };

    for (size_t i = 0; i < pods->n_tasks && i < d->o->job->spec.tasks.n; i++) {
        count_task(d, i, &ending, by_task, totals);
        note_task(d, i);
    }
    for (int p = 0; p < POD_PHASE_MAX; p++)
        set_int(d, d->status, fields[p], totals[p]);
    set_int(d, d->status, "terminating", ending.n);
    set_int(d, d->status, "minAvailable", d->o->job->spec.min_available);
    if (json_count(by_task))
        json_set(d->status, "taskStatusCount", by_task);
    else
        json_remove(d->status, "taskStatusCount");
}

/* ---- phase ---- */

static void status_set_text(struct status_draft *d, struct json *to, const char *key, struct str text)
{
    if (str_empty(text))
        json_remove(to, key);
    else
        json_set(to, key, json_str(d->arena, text));
}

static struct json *status_state_of(struct status_draft *d)
{
    struct json *state = json_need_object(d->arena, d->status, "state");

    return state ? state : json_set(d->status, "state", json_object(d->arena));
}

/* One entry for each phase, the newest last. */
static void status_add_condition(struct status_draft *d, int64_t now_ms)
{
    struct json *list = json_need_array(d->arena, d->status, "conditions"), *entry, *next;

    if (!list)
        list = json_set(d->status, "conditions", json_array(d->arena));
    for (struct json *c = json_first(list); c; c = next) {
        next = c->next;
        if (str_is(json_member_text(c, "status"), job_phase_name(d->phase)))
            json_unlink(list, c);
    }
    entry = json_push(list, json_object(d->arena));
    json_add(entry, STR("status"), json_str(d->arena, str_of(job_phase_name(d->phase))));
    json_add(entry, STR("lastTransitionTime"), timestamp(d->arena, now_ms));
}

/* B39: from the first time it ran, not from its creation. */
static void note_duration(struct status_draft *d, int64_t now_ms)
{
    const struct json *started = json_get(d->controlled, "pumice-started");
    autobuf text = { 0 };
    int64_t start_ms;

    if (d->phase == PHASE_RUNNING && !started)
        json_set(d->controlled, "pumice-started", timestamp(d->arena, now_ms));
    if (phase_is_active(d->phase) || clock_parse(json_text(started, STR("")), &start_ms, NULL) < 0)
        return;
    duration_print(&text, MAX_OF(now_ms / 1000 * 1000 - start_ms, 0) * 1000000);
    json_set(d->status, "runningDuration", json_str(d->arena, arena_str(d->arena, buf_view(&text))));
}

void status_explain(struct status_draft *d, const char *reason, const char *fmt, ...)
{
    struct json *state = status_state_of(d);
    struct str text;
    va_list ap;

    va_start(ap, fmt);
    text = arena_vfmt(d->arena, fmt, ap);
    va_end(ap);
    d->is_urgent |= !str_eq(json_member_text(state, "reason"), str_of(reason));
    status_set_text(d, state, "reason", str_of(reason));
    status_set_text(d, state, "message", text);
}

void status_set_phase(struct status_draft *d, enum job_phase phase, int64_t now_ms)
{
    if (phase == d->phase)
        return;
    d->phase = phase;
    d->is_urgent = true;
    json_set(status_state_of(d), "phase", json_str(d->arena, str_of(job_phase_name(phase))));
    json_set(status_state_of(d), "lastTransitionTime",
             timestamp(d->arena, now_ms)); /* B38: only when the phase changes */
    status_add_condition(d, now_ms);
    note_duration(d, now_ms);
}

/* ---- sending ---- */

bool status_send(struct status_draft *d, struct plan *plan)
{
    const struct json *old = json_get(d->o->job->raw, "status");
    int64_t due_ms = (d->o->stale_ms ? d->o->stale_ms : plan->now_ms) + counters_every_ms(d->o);

    memo_write(d->arena, &d->memo, d->controlled);
    set_int(d, d->status, "version", d->version);
    set_int(d, d->status, "retryCount", d->retry_count);
    if (json_count(d->controlled) == 0)
        json_remove(d->status, "controlledResources");
    if (json_equal(old, d->status) || (!old && json_count(d->status) == 0))
        return false;
    if (!d->is_urgent && plan->now_ms < due_ms) {
        d->is_stale = true;
        plan_wake(plan, due_ms);
        return false;
    }
    plan_update_status(plan, type_by_kind(STR(JOB_API_VERSION), STR(JOB_KIND)), d->body);
    return true;
}
