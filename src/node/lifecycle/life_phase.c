/* life_phase.c - phase and conditions of the pod, derived from its containers */
#include "node/lifecycle/life_internal.h"

#include "api/pod/status.h"

const char *const life_phase_names[LIFE_PHASE_MAX] = {
    [LIFE_PENDING] = "Pending",
    [LIFE_RUNNING] = "Running",
    [LIFE_SUCCEEDED] = "Succeeded",
    [LIFE_FAILED] = "Failed",
};

/* In the order the kubelet writes them. */
const char *const life_condition_names[LIFE_COND_MAX] = {
    [LIFE_COND_SANDBOX] = "PodReadyToStartContainers",
    [LIFE_COND_INITIALIZED] = "Initialized",
    [LIFE_COND_READY] = "Ready",
    [LIFE_COND_CONTAINERS] = "ContainersReady",
    [LIFE_COND_SCHEDULED] = "PodScheduled",
};

/* ---- containers as their status shows them ---- */

/* A container that will be restarted shows as waiting if there is a reason to show; else as terminated. */
enum life_shown life_shown(const struct life *l, const struct life_con *c)
{
    if (life_con_is_up(c))
        return LIFE_SHOWS_RUNNING;
    if (c->is_unknown)
        return LIFE_SHOWS_ENDED;
    if (!c->last.is_set || (c->wait_reason.n && !l->stop.is_on))
        return LIFE_SHOWS_WAITING;
    return LIFE_SHOWS_ENDED;
}

bool life_shows_last(const struct life *l, const struct life_con *c)
{
    return c->is_unknown || life_shown(l, c) != LIFE_SHOWS_ENDED;
}

/* An init container is "ready" when it has succeeded. */
bool life_shows_ready(const struct life *l, const struct life_con *c)
{
    if (c->is_init && !c->is_sidecar)
        return life_shown(l, c) == LIFE_SHOWS_ENDED && !c->is_unknown && c->last.exit_code == 0;
    return life_con_is_ready(c) && !c->is_ephemeral;
}

static bool main_was_started(const struct life *l)
{
    VEC_FOREACH(c, &l->mains)
        if (life_con_is_up(c) || c->last.is_set)
            return true;
    return false;
}

/* ---- phase ---- */

/* Phase of a pod that has not ended: Pending until every container was started and initialization is done. */
static enum life_phase living_phase(const struct life *l)
{
    bool has_main = main_was_started(l);

    VEC_FOREACH(c, &l->inits) {
        enum life_shown s = life_shown(l, c);

        if (c->is_sidecar) {
            if ((s == LIFE_SHOWS_WAITING && !c->last.is_set) ||
                (s == LIFE_SHOWS_RUNNING && !life_con_is_started(c) && !has_main))
                return LIFE_PENDING;
        } else if (s == LIFE_SHOWS_RUNNING || (s == LIFE_SHOWS_WAITING && !c->last.is_set)) {
            return LIFE_PENDING;
        }
    }
    VEC_FOREACH(c, &l->mains)
        if (life_shown(l, c) == LIFE_SHOWS_WAITING && !c->last.is_set)
            return LIFE_PENDING;
    return LIFE_RUNNING;
}

static enum life_phase final_phase(const struct life *l)
{
    if (l->stop.has_phase)
        return l->stop.phase;
    VEC_FOREACH(c, &l->mains)
        if (!c->last.is_set || c->last.exit_code != 0)
            return LIFE_FAILED;
    return LIFE_SUCCEEDED;
}

bool life_is_finished(const struct life *l)
{
    VEC_FOREACH(c, &l->inits)
        if (!c->is_sidecar && c->is_over && c->last.exit_code != 0)
            return true;
    VEC_FOREACH(c, &l->mains)
        if (!c->is_over)
            return false;
    return true;
}

bool life_is_active(const struct life *l)
{
    VEC_FOREACH(c, &l->cons)
        if (life_con_is_active(c))
            return true;
    return false;
}

static bool is_initialized(const struct life *l)
{
    VEC_FOREACH(c, &l->inits)
        if (!c->is_done)
            return main_was_started(l);
    return true;
}

/* Containers that never ran have no exit code; Kubernetes reports them as killed. */
static void mark_unknown(struct life *l)
{
    if (l->stop.keeps_waiting)
        return;
    if (l->inits.n && !l->inits.v[0].last.is_set)
        l->inits.v[0].is_unknown = true;
    if (!is_initialized(l))
        return;
    VEC_FOREACH(c, &l->mains)
        if (!c->last.is_set)
            c->is_unknown = true;
}

static void settle_phase(struct life *l, int64_t now_ms)
{
    enum life_phase old = l->phase;

    if (!l->stop.is_on && life_is_finished(l))
        life_begin_stop(l, life_spec_grace(l), now_ms);
    if (l->stop.is_on && !life_is_active(l)) {
        l->has_ended = true;
        mark_unknown(l);
        l->phase = final_phase(l);
    } else {
        l->phase = living_phase(l);
    }
    l->is_changed |= l->phase != old;
}

/* ---- conditions ---- */

struct life_phase_verdict {
    bool is_true;
    const char *reason;
    struct buf message;
};

static void verdict_false(struct life_phase_verdict *v, const char *reason)
{
    v->is_true = false;
    v->reason = reason;
}

/* "containers with unready status: [a b]" */
static void life_phase_list_names(const struct life *l, struct life_phase_verdict *v, const char *what,
                                  bool (*is_meant)(const struct life *l, const struct life_con *c))
{
    size_t n = 0;

    VEC_FOREACH(c, &l->cons)
        if (is_meant(l, c))
            buf_fmt(&v->message, "%s%.*s", n++ ? " " : what, STR_ARG(c->name));
    if (n)
        buf_char(&v->message, ']');
}

static bool is_incomplete(const struct life *l, const struct life_con *c)
{
    return c->is_init && !(c->is_sidecar ? life_con_is_started(c) : life_shows_ready(l, c));
}

static bool is_unready(const struct life *l, const struct life_con *c)
{
    (void)l;
    return (!c->is_init || c->is_sidecar) && !c->is_ephemeral && !life_con_is_ready(c);
}

static const char *ended_reason(const struct life *l)
{
    return l->phase == LIFE_SUCCEEDED ? "PodCompleted" : "PodFailed";
}

static void judge_sandbox(const struct life *l, struct life_phase_verdict *v)
{
    v->is_true = l->box == LIFE_BOX_MADE && !l->is_broken && !l->has_ended;
}

static void judge_initialized(const struct life *l, struct life_phase_verdict *v)
{
    if (l->has_ended && l->phase == LIFE_SUCCEEDED) {
        v->reason = ended_reason(l);
        return;
    }
    if (main_was_started(l))
        return;
    life_phase_list_names(l, v, "containers with incomplete status: [", is_incomplete);
    if (v->message.n)
        verdict_false(v, "ContainersNotInitialized");
}

static void judge_containers(const struct life *l, struct life_phase_verdict *v)
{
    if (l->has_ended) {
        verdict_false(v, ended_reason(l));
        return;
    }
    life_phase_list_names(l, v, "containers with unready status: [", is_unready);
    if (v->message.n)
        verdict_false(v, "ContainersNotReady");
}

static void judge_gate(const struct life *l, struct str type, struct life_phase_verdict *v)
{
    const struct json *c = condition_find(json_get(l->pod->root, "status"), type);
    struct str status = json_member_text(c, "status");

    if (c && str_is(status, "True"))
        return;
    buf_fmt(&v->message, "%s", v->message.n ? ", " : "");
    if (!c)
        buf_fmt(&v->message, "corresponding condition of pod readiness gate \"%.*s\" does not exist.", STR_ARG(type));
    else
        buf_fmt(&v->message, "the status of pod readiness gate \"%.*s\" is not \"True\", but %.*s", STR_ARG(type),
                STR_ARG(status));
    verdict_false(v, "ReadinessGatesNotReady");
}

static void judge_ready(const struct life *l, struct life_phase_verdict *v)
{
    judge_containers(l, v);
    if (!v->is_true)
        return;
    JSON_FOREACH(gate, json_find(l->first->root, "spec", "readinessGates", NULL))
        judge_gate(l, json_member_text(gate, "conditionType"), v);
}

static void judge_scheduled(const struct life *l, struct life_phase_verdict *v)
{
    (void)l;
    (void)v;
}

static void (*const judges[LIFE_COND_MAX])(const struct life *l, struct life_phase_verdict *v) = {
    [LIFE_COND_SANDBOX] = judge_sandbox,     [LIFE_COND_INITIALIZED] = judge_initialized,
    [LIFE_COND_READY] = judge_ready,         [LIFE_COND_CONTAINERS] = judge_containers,
    [LIFE_COND_SCHEDULED] = judge_scheduled,
};

static void settle_condition(struct life *l, enum life_condition_type type, int64_t now_ms)
{
    struct life_condition *c = &l->conditions[type];
    struct life_phase_verdict v = { .is_true = true };

    judges[type](l, &v);
    if (!c->is_known || c->is_true != v.is_true)
        c->since_ms = now_ms;
    if (!c->is_known || c->is_true != v.is_true || !str_eq(str_of(c->reason), str_of(v.reason)) ||
        !str_eq(buf_view(&c->message), buf_view(&v.message)))
        l->is_changed = true;
    c->is_known = true;
    c->is_true = v.is_true;
    c->reason = v.reason;
    buf_done(&c->message);
    c->message = v.message;
}

void life_settle(struct life *l, int64_t now_ms)
{
    l->due_ms = MIN_OF(l->due_ms, now_ms);
    if (l->is_past)
        return;
    if (!l->has_ended)
        settle_phase(l, now_ms);
    for (enum life_condition_type i = 0; i < LIFE_COND_MAX; i++)
        settle_condition(l, i, now_ms);
}
