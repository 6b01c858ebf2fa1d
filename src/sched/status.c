/* status.c - the status of PodGroups, pods and queues: phases, conditions, events
 *
 * Written only when something changed, by a hash of what counts; the hash of what an object has comes with its news
 * (feed.c), so that a new scheduler does not write everything again.
 */
#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "sched/round.h"
#include "sched/queue/share.h"

#include <inttypes.h>

/* Least time between two changes of a waiting pod's condition (D62), while the reason is the same but for numbers. */
enum { POD_AGAIN_MS = 60000 };

/* ---- phase (D11) ---- */

static uint32_t going_with_node(const struct sched_group *g)
{
    uint32_t n = 0;

    VEC_FOREACH(r, &g->roles)
        LIST_FOREACH(struct sched_pod, p, &(*r)->pods[POD_GOING], in_role)
            n += p->node != NULL;
    return n;
}

/* Its pods exist, and cannot be placed. Its Job creates missing pods; without a Job they stay missing. */
static bool is_unschedulable(const struct sched_group *g)
{
    switch (g->why->kind) {
    case WHY_NOT:
    case WHY_NO_PODS_YET:
    case WHY_GATED:
    case WHY_EVICTING:
    case WHY_MAX:
        return false;
    case WHY_NOT_ENOUGH_PODS:
    case WHY_NOT_ENOUGH_OF_ROLE:
        return !g->is_whole && str_empty(g->spec.owner_job);
    default:
        return !g->is_whole;
    }
}

static enum group_phase status_phase_of(const struct sched_group *g)
{
    int64_t done = (int64_t)g->counts.n[POD_SUCCEEDED] + g->counts.n[POD_FAILED];
    int64_t scheduled = (int64_t)g->counts.n[POD_BOUND] + g->counts.n[POD_RUNNING] + done + going_with_node(g);
    int64_t gone = scheduled ? g->counts.n_gone : 0; /* finished and deleted pods alone make no phase */

    if (g->counts.n[POD_RUNNING] && is_unschedulable(g))
        return GROUP_UNKNOWN;
    if (scheduled + gone >= g->spec.min_member)
        return scheduled == done ? GROUP_COMPLETED : GROUP_RUNNING;
    if (g->status.phase == GROUP_INQUEUE || (group_is_admitted(g) && group_ready(g) > 0))
        return GROUP_INQUEUE;
    return GROUP_PENDING;
}

/* ---- words ---- */

static void print_states(struct buf *out, const struct sched_group *g)
{
    static const char *const names[POD_STATE_MAX] = { "Pending",   "Binding",   "Bound",  "Running",
                                                      "Releasing", "Succeeded", "Failed", "Unknown" };

    buf_str(out, STR("pod group is not ready, "));
    for (int s = 0; s < POD_STATE_MAX; s++) {
        int64_t n = g->counts.n[s] + (s == POD_SUCCEEDED ? g->counts.n_gone : 0);

        if (n)
            buf_fmt(out, "%" PRId64 " %s, ", n, names[s]);
    }
    buf_fmt(out, "%" PRId64 " minAvailable", group_min(g));
}

static uint32_t count_seats(const struct sched_group *g)
{
    uint32_t n = 0;

    VEC_FOREACH(r, &g->roles)
        LIST_FOREACH(struct sched_pod, p, &(*r)->pods[POD_PENDING], in_role)
            n += p->seat != NULL;
    return n;
}

/* The sentence upstream's users know, then the rule that stops it in plain words. */
static void print_message(struct buf *out, const struct round *r, const struct sched_group *g)
{
    uint32_t total = 0, pending = g->counts.n[POD_PENDING], seats = count_seats(g);
    int64_t lacks = group_min(g) - group_ready(g) - seats;

    for (int s = 0; s < POD_STATE_MAX; s++)
        total += g->counts.n[s];
    if (total) {
        buf_fmt(out, "%" PRId64 "/%u tasks in gang unschedulable: ", MAX_OF(lacks, 0), total);
        print_states(out, g);
        buf_str(out, STR("; "));
    }
    if (g->why->kind == WHY_NO_ROOM && total && g->why->n_causes) {
        buf_fmt(out, "Pending: %u Schedulable, %u Unschedulable. Origin reason is %s: ", seats, pending - seats,
                g->why->pod[0] ? g->why->pod : "unknown");
        why_print_causes(out, g->why);
        why_print_passed(out, g->why);
        return;
    }
    why_print(out, &r->m->dims, g->why);
}

/* ---- PodGroups ---- */

static struct json *condition(struct round *r, const char *type, bool is_true, struct str reason, struct str message)
{
    struct json *c = json_object(r->a);

    json_set(c, "type", json_str(r->a, str_of(type)));
    json_set(c, "status", json_str(r->a, is_true ? STR("True") : STR("False")));
    json_set(c, "reason", json_str(r->a, reason));
    json_set(c, "message", json_str(r->a, message));
    return c;
}

static bool status_is_waiting(const struct sched_group *g)
{
    return !g->is_whole && g->why->kind != WHY_NOT && g->why->kind != WHY_NO_PODS_YET;
}

static struct json *conditions_of(struct round *r, const struct sched_group *g, struct str message)
{
    struct json *list = json_array(r->a);

    if (status_is_waiting(g)) {
        struct str reason = str_of(why_names[g->why->kind]);

        json_push(list, condition(r, "Unschedulable", true, reason, message));
        json_push(list, condition(r, "Scheduled", false, reason, message)); /* D82: one that says it plainly */
    } else if (g->is_whole && group_ready(g) > 0) {
        json_push(list, condition(r, "Scheduled", true, STR("tasks in gang are ready to be scheduled"), STR("")));
    }
    return list;
}

static void set_times(struct round *r, struct sched_group *g, struct json *list)
{
    autobuf when = { 0 };
    struct str text, id;

    clock_print(&when, g->status.condition_ms);
    text = arena_str(r->a, buf_view(&when));
    id = arena_fmt(r->a, "%08" PRIx64 "-%04x", (uint64_t)g->status.condition_ms / 1000,
                   (unsigned)(g->status.condition & 0xffff));
    JSON_FOREACH(c, list) {
        json_set(c, "transitionID", json_str(r->a, id));
        json_set(c, "lastTransitionTime", json_str(r->a, text));
    }
}

static void group_event(struct round *r, const struct sched_group *g, const char *type, const char *reason,
                        struct str message)
{
    struct decision *d = round_decide(r, DECIDE_EVENT, g->namespace, g->name, g->uid);

    d->event_kind = "PodGroup";
    d->event_type = type;
    d->reason = str_of(reason);
    d->message = message;
}

static void change_phase(struct round *r, struct sched_group *g)
{
    enum group_phase phase = status_phase_of(g);

    if (!g->status.has_phase && phase == GROUP_PENDING && g->status.phase == GROUP_PENDING)
        g->status.has_phase = true;
    if (phase == g->status.phase)
        return;
    g->status.phase = phase;
    g->status.has_phase = true;
    if (phase == GROUP_PENDING) { /* it starts again from the beginning */
        g->since.admitted_ms = 0;
        g->since.ready_ms = 0;
    }
    model_touch(r->m, g);
}

static void tell_group(struct round *r, struct sched_group *g, struct str message)
{
    struct json *status = json_object(r->a), *list;
    uint64_t h, conditions;

    list = conditions_of(r, g, message);
    json_set(status, "phase", json_str(r->a, str_of(group_phase_names[g->status.phase])));
    json_set(status, "running", json_int(r->a, g->counts.n[POD_RUNNING]));
    json_set(status, "succeeded", json_int(r->a, g->counts.n[POD_SUCCEEDED]));
    json_set(status, "failed", json_int(r->a, g->counts.n[POD_FAILED]));
    json_set(status, "conditions", list);
    h = hash_of_status(status);
    if (h == g->status.written)
        return;
    conditions = hash_of_status(list);
    if (conditions != g->status.condition) {
        g->status.condition = conditions;
        g->status.condition_ms = r->now_ms;
        if (status_is_waiting(g))
            group_event(r, g, "Warning", "Unschedulable", message);
        else if (json_count(list))
            group_event(r, g, "Normal", "Scheduled", STR("pod group is ready"));
    }
    set_times(r, g, list);
    g->status.written = h;
    round_decide(r, DECIDE_GROUP, g->namespace, g->name, g->uid)->status = status;
}

/* Does it wait for its turn, as all do while the cluster is full? Then the answer is one of these by the room that
 * happens to be there. WHY_NO_ROOM stands for them. */
static enum why_kind gist_of(const struct why *why)
{
    switch (why->kind) {
    case WHY_CAPABILITY:
    case WHY_GUARANTEE:
    case WHY_FAIR_SHARE:
    case WHY_QUEUE_RESERVED:
    case WHY_HELD:
    case WHY_TOPOLOGY:
    case WHY_ORDER:
        return why->is_never ? why->kind : WHY_NO_ROOM;
    default:
        return why->kind;
    }
}

/* ---- pods ---- */

struct pod_condition {
    struct str reason, message;
};

static struct pod_condition pod_condition_of(struct round *r, const struct sched_pod *p, struct str group_message)
{
    struct pod_condition ret = { .reason = STR("Unschedulable") };
    const struct why *why = p->group->why;
    autobuf causes = { 0 };

    if (p->nominated) {
        ret.message = arena_fmt(r->a,
                                "Pod %.*s/%.*s can possibly be assigned to %.*s, once resource is released and "
                                "minAvailable is satisfied",
                                STR_ARG(p->namespace), STR_ARG(p->name), STR_ARG(p->nominated->name));
    } else if (p->seat) {
        ret.reason = STR("Schedulable");
        ret.message = arena_fmt(r->a, "Pod %.*s/%.*s can possibly be assigned to %.*s, once minAvailable is satisfied",
                                STR_ARG(p->namespace), STR_ARG(p->name), STR_ARG(p->seat->name));
    } else if (why->n_causes) {
        why_print_causes(&causes, why);
        ret.message = arena_str(r->a, buf_view(&causes));
    } else if (!str_empty(group_message)) {
        ret.message = group_message;
    } else { /* a pod beyond the minimum */
        why_print(&causes, &r->m->dims, why);
        ret.message = arena_str(r->a, buf_view(&causes));
    }
    return ret;
}

static void tell_pod(struct round *r, struct sched_pod *p, const struct pod_condition *c)
{
    struct decision *d = round_decide(r, DECIDE_POD_STATUS, p->namespace, p->name, p->uid);

    d->reason = c->reason;
    d->message = c->message;
    d = round_decide(r, DECIDE_EVENT, p->namespace, p->name, p->uid);
    d->event_kind = "Pod";
    d->event_type = "Warning";
    d->reason = STR("FailedScheduling");
    d->message = c->message;
}

static int by_pod_name(const void *x, const void *y)
{
    return str_cmp((*(struct sched_pod *const *)x)->name, (*(struct sched_pod *const *)y)->name);
}

/* A hash of the condition that the waiting pods of the group would get now; all get the same. 0: no pod waits. */
static uint64_t pods_condition_hash(struct round *r, const struct sched_group *g, struct str group_message)
{
    VEC_FOREACH(role, &g->roles)
        LIST_FOREACH(struct sched_pod, p, &(*role)->pods[POD_PENDING], in_role) {
            struct pod_condition c;

            if (p->is_gated)
                continue;
            c = pod_condition_of(r, p, group_message);
            return hash_of_condition(STR("False"), c.reason, c.message);
        }
    return 0;
}

static void tell_pods(struct round *r, struct sched_group *g, struct str group_message)
{
    VEC(struct sched_pod *) waiting = { 0 };
    uint64_t said;
    bool may_change = gist_of(g->why) != g->status.pods_why || r->now_ms - g->status.pods_ms >= POD_AGAIN_MS,
         any = false;

    VEC_FOREACH(role, &g->roles)
        LIST_FOREACH(struct sched_pod, p, &(*role)->pods[POD_PENDING], in_role)
            if (!p->is_gated && (!p->written || may_change))
                *vec_push(&r->trial, &waiting) = p;
    if (waiting.n)
        qsort(waiting.v, waiting.n, sizeof(*waiting.v), by_pod_name);
    VEC_FOREACH(at, &waiting) {
        struct sched_pod *p = *at;
        struct pod_condition c = pod_condition_of(r, p, group_message);
        uint64_t h = hash_of_condition(STR("False"), c.reason, c.message);

        if (h == p->written)
            continue;
        p->written = h;
        any = true;
        tell_pod(r, p, &c);
    }
    said = pods_condition_hash(r, g, group_message);
    if (any) {
        g->status.pods_ms = r->now_ms;
        g->status.pods_why = gist_of(g->why);
    } else if (!may_change && said != g->status.pods_said) { /* once: another scheduler may see it differently */
        round_retry(r, g, g->status.pods_ms + POD_AGAIN_MS);
    }
    g->status.pods_said = said;
}

void group_forget_seats(struct sched_group *g)
{
    if (!g->now.has_seats)
        return;
    g->now.has_seats = false;
    VEC_FOREACH(r, &g->roles)
        LIST_FOREACH(struct sched_pod, p, &(*r)->pods[POD_PENDING], in_role)
            p->seat = NULL;
}

/* ---- queues ---- */

static void tell_queue(struct round *r, struct sched_queue *q)
{
    struct json *allocated, *status;
    uint64_t h;

    if (!q->exists)
        return;
    allocated = amounts_to_json(r->a, &r->m->dims, &q->allocated);
    h = hash_of_status(allocated);
    if (h == q->written)
        return;
    if (q->written_ms && r->now_ms - q->written_ms < r->m->config.status_ms) {
        round_wake(r, q->written_ms + r->m->config.status_ms);
        return;
    }
    q->written = h;
    q->written_ms = r->now_ms;
    status = json_object(r->a);
    json_set(status, "allocated", allocated);
    round_decide(r, DECIDE_QUEUE, STR_NULL, q->name, STR_NULL)->status = status;
}

static int status_by_name(const void *x, const void *y)
{
    return str_cmp((*(struct sched_queue *const *)x)->name, (*(struct sched_queue *const *)y)->name);
}

static void tell_queues(struct round *r)
{
    VEC(struct sched_queue *) all = { 0 };

    MAP_FOREACH(struct sched_queue *, q, &r->m->queues)
        *vec_push(r->a, &all) = q;
    if (all.n)
        qsort(all.v, all.n, sizeof(*all.v), status_by_name);
    VEC_FOREACH(q, &all)
        tell_queue(r, *q);
}

/* Is there more to write than other numbers in the same words: a phase, counts, a pod without a condition? */
static bool status_has_news(const struct sched_group *g)
{
    if (g->is_whole || status_phase_of(g) != g->status.phase || g->counts.n[POD_RUNNING] ||
        g->counts.n[POD_SUCCEEDED] || g->counts.n[POD_FAILED])
        return true;
    VEC_FOREACH(role, &g->roles)
        LIST_FOREACH(struct sched_pod, p, &(*role)->pods[POD_PENDING], in_role)
            if (!p->is_gated && !p->written)
                return true;
    return false;
}

/* While many wait, the reason of each changes with every event. It is not written again for the sake of other numbers
 * until some time has passed. */
bool round_is_told(const struct round *r, const struct sched_group *g)
{
    const struct sched_config *c = &r->m->config;

    return g->status.why != WHY_NOT && r->m->alike->n_members > (uint32_t)c->retell &&
           r->now_ms - g->status.why_ms < c->rewrite_ms && !status_has_news(g);
}

static void status_complete(struct round *r, struct sched_group *g)
{
    struct why why = *g->why;

    arena_reset(&r->trial);
    gang_complete(r->m, g, &r->trial, &why);
    group_say(g, &why);
}

static void tell_all(struct round *r, struct sched_group *g)
{
    autobuf message = { 0 };
    struct str text = STR("");

    change_phase(r, g);
    if (g->why->is_brief)
        status_complete(r, g);
    if (status_is_waiting(g)) {
        print_message(&message, r, g);
        text = arena_str(r->a, buf_view(&message));
    }
    tell_group(r, g, text);
    if (g->now.is_refused && g->why->kind != WHY_NO_PODS_YET)
        tell_pods(r, g, text);
    g->status.why = gist_of(g->why);
    g->status.why_ms = r->now_ms;
}

static int status_by_key(const void *x, const void *y)
{
    return str_cmp((*(struct sched_group *const *)x)->key, (*(struct sched_group *const *)y)->key);
}

void round_write_statuses(struct round *r)
{
    struct group_list due = { 0 };

    VEC_FOREACH(g, &r->touched.list)
        if ((*g)->podgroup.exists && !(*g)->spec.is_deleting &&
            !(round_is_told(r, *g) && (*g)->status.why == gist_of((*g)->why)))
            *vec_push(r->a, &due.list) = *g;
    if (due.list.n)
        qsort(due.list.v, due.list.n, sizeof(*due.list.v), status_by_key);
    VEC_FOREACH(g, &due.list)
        tell_all(r, *g);
    VEC_FOREACH(g, &r->touched.list) {
        group_forget_seats(*g);
        (*g)->now.is_refused = (*g)->now.is_told = false;
    }
    tell_queues(r);
}
