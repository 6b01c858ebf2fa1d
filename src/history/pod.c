/* pod.c - taking in pods: their way from created to ended, why they wait, how they failed */
#include "history/history_internal.h"

#include "api/meta.h"
#include "api/pod/resources.h"
#include "api/pod/status.h"
#include "base/util.h"

const char *const history_state_names[HISTORY_STATE_MAX] = { "pending",   "starting", "running",
                                                             "succeeded", "failed",   "stopped" };

/* ---- a new one ---- */

static struct str pod_label(struct history *h, const struct history_pod *p)
{
    struct str job = p->job && h->n_jobs > 1 ? p->job->label : STR("");
    autobuf text = { 0 };

    if (!p->task || p->index < 0)
        return history_label(h, p->namespace, p->name);
    buf_fmt(&text, "%.*s%s%.*s-%lld", STR_ARG(job), job.n ? "/" : "", STR_ARG(p->task->name), (long long)p->index);
    return history_text(h, buf_view(&text));
}

static void pod_count(struct history_pod *p, int by)
{
    if (!p->task || p->is_replaced)
        return;
    p->task->n[p->state] += (uint32_t)by;
    if (pod_is_restarting(p))
        p->task->n_restarting += (uint32_t)by;
}

/* It takes the place of an older one of its name. */
static void pod_replace(struct history *h, struct history_pod *p)
{
    struct history_pod *old = map_put(&h->pods_name, history_text(h, history_name_key(h, p->namespace, p->name)), p);

    if (!old)
        return;
    pod_count(old, -1);
    old->is_replaced = true;
}

/* The scheduler of a cluster goes by the PodGroup. */
static struct history_job *pod_job(struct history *h, const struct object *o)
{
    struct str group = object_annotation(o->root, "scheduling.k8s.io/group-name");
    struct history_job *j = h->is_cluster ? map_get(&h->feed->groups, history_name_key(h, o->namespace, group)) : NULL;

    return j ? j : map_get(&h->jobs_uid, object_controller_uid(o->root));
}

static void read_share(struct history_share *ret, const struct resources *r)
{
    const struct quantity *cpu = resources_get(r, STR("cpu")), *memory = resources_get(r, STR("memory"));

    ret->cpu_milli = cpu ? quantity_milli(*cpu) : 0;
    ret->memory_bytes = memory ? quantity_units(*memory) : 0;
}

static void read_shares(struct history_pod *p, const struct json *spec)
{
    autoarena a = { 0 };
    struct resources asks = { 0 }, may = { 0 };

    pod_requests(&a, spec, &asks);
    pod_limits(&a, spec, &may);
    read_share(&p->asks, &asks);
    read_share(&p->may, &may);
}

static struct history_pod *pod_pod_new(struct history *h, const struct object *o, int64_t now_ms)
{
    struct history_pod *p = arena_new(&h->arena, struct history_pod);

    p->job = pod_job(h, o);
    p->namespace = history_text(h, o->namespace);
    p->name = history_text(h, o->name);
    p->uid = history_text(h, o->uid);
    p->task_name = history_text(h, object_annotation(o->root, "volcano.sh/task-spec"));
    if (p->job && (p->task_name.n || h->is_cluster))
        p->task = history_task(h, p->job, p->task_name);
    if (!p->task || str_to_i64(object_annotation(o->root, "volcano.sh/task-index"), &p->index) < 0)
        p->index = -1;
    p->label = pod_label(h, p);
    p->may_restart = !str_is(json_member_text(json_get(o->root, "spec"), "restartPolicy"), "Never");
    if (!h->is_cluster)
        read_shares(p, json_get(o->root, "spec"));
    p->created_ms = p->seen_ms = now_ms;
    p->scheduled_ms = p->started_ms = p->running_ms = p->deleting_ms = p->ended_ms = p->gone_ms = p->taken_ms = -1;
    pod_replace(h, p);
    map_put(&h->pods_uid, p->uid, p);
    *vec_push(&h->arena, &h->pods) = p;
    pod_count(p, 1);
    return p;
}

/* ---- its way ---- */

static void note_ready(struct history *h, struct history_pod *p, bool now_ready, int64_t now_ms)
{
    struct history_span *last = p->ready.n ? &p->ready.v[p->ready.n - 1] : NULL;
    bool was_ready = last && last->until_ms < 0;

    if (was_ready && !now_ready)
        last->until_ms = now_ms;
    else if (!was_ready && now_ready && p->ready.n < HISTORY_READY)
        *vec_push(&h->arena, &p->ready) = (struct history_span){ now_ms, -1 };
    else if (!was_ready && now_ready && last)
        last->until_ms = -1;
}

static bool has_begun(const struct history_pod *p, struct str phase)
{
    if (str_is(phase, "Running") || str_is(phase, "Succeeded"))
        return true;
    VEC_FOREACH(c, &p->containers)
        if (!(*c)->is_init && (*c)->attempts.n)
            return true;
    return false;
}

/* When its first main container began. */
static int64_t begun_ms(const struct history_pod *p, int64_t now_ms)
{
    int64_t first_ms = now_ms;

    VEC_FOREACH(c, &p->containers)
        if (!(*c)->is_init && (*c)->attempts.n)
            first_ms = MIN_OF(first_ms, (*c)->attempts.v[0].started_ms);
    return MAX_OF(first_ms, p->scheduled_ms);
}

static enum history_state pod_state_of(const struct history_pod *p, struct str phase, bool is_gone)
{
    if (state_is_over(p->state))
        return p->state;
    if (pod_phase_has_ended(phase) && p->deleting_ms < 0)
        return str_is(phase, "Succeeded") ? HISTORY_SUCCEEDED : HISTORY_FAILED;
    if (pod_phase_has_ended(phase) || is_gone)
        return HISTORY_STOPPED;
    if (str_is(phase, "Running"))
        return HISTORY_RUNNING;
    return p->node.n ? HISTORY_STARTING : HISTORY_PENDING;
}

static void note_end(struct history *h, struct history_pod *p, struct str phase, int64_t now_ms)
{
    static const enum pod_end ends[HISTORY_STATE_MAX] = {
        [HISTORY_SUCCEEDED] = END_OK, [HISTORY_FAILED] = END_FAILED, [HISTORY_STOPPED] = END_STOPPED
    };
    int64_t failures = 0;

    if (p->ended_ms >= 0)
        return;
    p->ended_ms = now_ms;
    p->end = str_is(phase, "Succeeded") ? END_OK : ends[p->state];
    VEC_FOREACH(c, &p->containers)
        failures += (*c)->failures;
    if (p->end == END_FAILED && !failures && h->feed->news.n < HISTORY_LISTED)
        *vec_push(&h->arena, &h->feed->news) = (struct history_news){ p, NULL };
}

/* ---- why it failed ---- */

/* The container that failed first. */
static const struct json *first_failed(const struct json *status, struct str *ret_name)
{
    static const char *const lists[] = { "initContainerStatuses", "containerStatuses" };
    const struct json *first = NULL;

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        JSON_FOREACH(c, json_get(status, lists[i])) {
            const struct json *end = json_find(c, "state", "terminated", NULL);

            if (!end || json_i64(json_get(end, "exitCode"), 0) == 0)
                continue;
            if (first && str_cmp(json_member_text(end, "finishedAt"), json_member_text(first, "finishedAt")) >= 0)
                continue;
            first = end;
            *ret_name = json_member_text(c, "name");
        }
    return first;
}

/* Its message, if that is short. */
static struct str short_message(struct str message)
{
    enum { SHORT = 200 };

    message = str_trim(message);
    return message.n > SHORT || str_find_char(message, '\n') >= 0 ? STR_NULL : message;
}

/* Why the pod failed goes before how its container ended: one that is killed at a deadline dies of a signal like any
 * other. */
static struct failure failure_of(struct arena *a, const struct json *root, const struct json *end, struct str container)
{
    const struct json *status = json_get(root, "status");
    struct str reason = json_member_text(status, "reason"), limit;
    struct failure f = { .exit_code = end ? (int)json_i64(json_get(end, "exitCode"), 0) : -1 };

    if (!end || !str_empty(reason)) {
        f.reason = reason;
        f.message = json_member_text(status, "message");
        return f;
    }
    f.signo = (int)json_i64(json_get(end, "signal"), 0);
    f.reason = json_member_text(end, "reason");
    f.message = json_member_text(end, "message");
    if (str_is(f.reason, "OOMKilled") && (limit = failure_memory_limit(a, root, container)).n)
        f.message = limit;
    return f;
}

static void pod_note_failure(struct history *h, struct history_pod *p, const struct json *root)
{
    const struct json *end;
    struct str container = STR_NULL;
    struct failure f;
    autobuf words = { 0 };
    autoarena a = { 0 };

    end = first_failed(json_get(root, "status"), &container);
    f = failure_of(&a, root, end, container);
    p->failure.exit_code = MAX_OF(f.exit_code, 0);
    p->failure.container = history_text(h, container);
    p->failure.reason = failure_reason(f.reason);
    p->failure.message = history_text(h, str_trim(f.message));
    f.message = short_message(f.message);
    failure_words(&words, &f);
    p->failure.words = history_text(h, buf_view(&words));
    if (p->job && !p->job->failed && end)
        p->job->failed = p;
}

/* ---- why it waits ---- */

/* What keeps a pod that has a node from starting; the ordinary steps have a message only when something is wrong with
 * them (a volume that is not there). */
static const struct json *hindrance(const struct json *root)
{
    static const char *const lists[] = { "initContainerStatuses", "containerStatuses" };

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        JSON_FOREACH(c, json_find(root, "status", lists[i], NULL)) {
            const struct json *waiting = json_find(c, "state", "waiting", NULL);
            struct str why = json_member_text(waiting, "reason");
            bool is_ordinary = str_is(why, "ContainerCreating") || str_is(why, "PodInitializing");

            if (why.n && (!is_ordinary || json_member_text(waiting, "message").n))
                return waiting;
        }
    return NULL;
}

/* True: it is news. */
static bool note_waiting(struct history *h, struct history_pod *p, const struct json *root)
{
    const struct json *waiting = hindrance(root);
    bool is_news = history_set(h, &p->waits, json_member_text(waiting, "reason"));

    return history_set(h, &p->waits_why, json_member_text(waiting, "message")) || is_news;
}

/* ---- a change ---- */

static void read_pod(struct history *h, struct history_pod *p, const struct json *root, int64_t now_ms)
{
    const struct json *spec = json_get(root, "spec"), *status = json_get(root, "status");
    struct str node = json_member_text(spec, "nodeName");

    if (p->scheduled_ms < 0 && !str_empty(node)) {
        p->scheduled_ms = now_ms;
        p->node = history_text(h, node);
    }
    if (p->deleting_ms < 0 && json_find(root, "metadata", "deletionTimestamp", NULL))
        p->deleting_ms = now_ms;
    p->deadline_s = json_i64(json_get(spec, "activeDeadlineSeconds"), 0);
    if (p->deadline_s && p->task)
        p->task->has_deadlines = true;
    if (p->taken_ms < 0 && json_member_text(status, "startTime").n)
        p->taken_ms = now_ms;
    p->grace_s = json_i64(json_get(spec, "terminationGracePeriodSeconds"), 30);
    p->grace_s = p->grace_s < 0 ? 1 : p->grace_s; /* as the API has it */
    p->reason = history_keep(h, json_member_text(status, "reason"));
    p->message = history_keep(h, json_member_text(status, "message"));
}

/* From one state to the next; true: it is another, or it waits for another reason. */
static bool move(struct history *h, struct history_pod *p, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct str phase = json_member_text(json_get(o->root, "status"), "phase");
    enum history_state before = p->state;
    bool is_news;

    pod_count(p, -1);
    p->state = pod_state_of(p, phase, is_gone);
    is_news = note_waiting(h, p, o->root) && !state_is_over(p->state);
    pod_count(p, 1);
    if (p->state >= HISTORY_RUNNING && p->state != HISTORY_STOPPED && p->running_ms < 0)
        p->running_ms = now_ms;
    if (p->state == HISTORY_FAILED && before != HISTORY_FAILED)
        pod_note_failure(h, p, o->root);
    note_ready(h, p, pod_is_ready(o->root) && p->ended_ms < 0, now_ms);
    if (state_is_over(p->state)) { /* what was open is over with the pod */
        note_end(h, p, phase, now_ms);
        note_ready(h, p, false, now_ms);
        history_containers_end(p, now_ms);
    }
    return is_news || p->state != before;
}

void history_pod_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct history_pod *p = map_get(&h->pods_uid, o->uid);
    bool is_new = !p, is_news;

    if (!p && is_gone)
        return;
    if (!p)
        p = pod_pod_new(h, o, now_ms);
    read_pod(h, p, o->root, now_ms);
    history_containers_changed(h, p, o->root, now_ms);
    if (p->started_ms < 0 && has_begun(p, json_member_text(json_get(o->root, "status"), "phase")))
        p->started_ms = begun_ms(p, now_ms);
    is_news = move(h, p, o, is_gone, now_ms);
    if (is_gone)
        p->gone_ms = now_ms;
    if (is_gone && p->deleting_ms < 0)
        p->deleting_ms = now_ms;
    p->seen_ms = now_ms;
    h->changes++;
    if (h->is_cluster)
        history_pod_step(h, p, o, is_gone, now_ms);
    if ((is_new || is_news) && h->feed->hooks.pod)
        h->feed->hooks.pod(h->feed->hooks.ctx, p);
}
