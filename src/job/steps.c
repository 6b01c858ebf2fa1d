/* steps.c - sync and kill */
#include "job/steps.h"

#include "api/meta.h"
#include "api/types.h"
#include "base/util.h"
#include "job/decide.h"
#include "job/ensure.h"
#include "job/kill.h"
#include "job/native.h"
#include "job/pod.h"

static const struct resource_type *pod_type(void)
{
    return type_by_kind(STR("v1"), STR("Pod"));
}

/* The pod as we know it: one that has ended since may have to stay, and is looked at again. */
static void delete_pod(struct status_draft *d, const struct job_pod *pod, struct plan *plan)
{
    /* A pod of a later version means that our Job is old news: what we know does not apply to it. */
    if (pod->flight == FLIGHT_NONE && pod->class != POD_TERMINATING && pod->view.version <= d->version)
        plan_delete(plan, (struct object_id){ pod_type(), d->o->job->meta.namespace, pod->name, str_of(pod->view.uid) })
            ->rev = pod->view.rev;
}

/* Those that the phase ends, of this class and those behind it. How many are not on their way out yet. */
static uint32_t kill_pods(struct status_draft *d, enum pod_standing from, struct plan *plan)
{
    uint32_t n = 0;

    for (int class = (int)from; class < POD_TERMINATING; class ++)
        LIST_FOREACH(struct job_pod, pod, &d->o->pods->classes[class], in_class)
            if (kill_takes(d, pod)) {
                delete_pod(d, pod, plan);
                n++;
            }
    return n;
}

/* ---- which phase follows ---- */

struct steps_counts {
    int64_t pending, running, succeeded, failed, replicas;
};

static struct steps_counts steps_count(const struct job_observed *o)
{
    struct steps_counts c = { .replicas = job_total_replicas(o->job) };

    for (size_t i = 0; i < o->pods->n_tasks; i++) {
        const struct task_pods *t = &o->pods->tasks[i];

        c.pending += t->live[POD_PENDING];
        c.running += t->live[POD_RUNNING];
        c.failed += t->live[POD_FAILED];
        c.succeeded += t->n_done;
    }
    return c;
}

static bool misses_task_minimum(const struct job_observed *o)
{
    for (size_t i = 0; i < o->pods->n_tasks && i < o->job->spec.tasks.n; i++) {
        const struct job_task *task = &o->job->spec.tasks.v[i];

        if (task->min_available && (int64_t)o->pods->tasks[i].n_done < *task->min_available)
            return true;
    }
    return false;
}

static enum job_phase settle_finished(const struct job_observed *o, const struct steps_counts *c, const char **ret_why)
{
    const struct job_spec *spec = &o->job->spec;
    int64_t minima = 0;

    for (size_t i = 0; i < spec->tasks.n; i++)
        minima += spec->tasks.v[i].min_available ? *spec->tasks.v[i].min_available : spec->tasks.v[i].replicas;
    if (spec->min_available >= minima && misses_task_minimum(o)) {
        *ret_why = "all pods have ended, and a task has fewer successes than its minAvailable";
        return PHASE_FAILED;
    }
    if (spec->min_success && c->succeeded < *spec->min_success) {
        *ret_why = "all pods have ended with fewer successes than minSuccess";
        return PHASE_FAILED;
    }
    *ret_why = c->succeeded >= spec->min_available ? "all pods have ended, enough of them with success"
                                                   : "all pods have ended with fewer successes than minAvailable";
    return c->succeeded >= spec->min_available ? PHASE_COMPLETED : PHASE_FAILED;
}

enum job_phase settle(const struct job_observed *o, enum job_phase phase, const char **ret_why)
{
    const struct job_spec *spec = &o->job->spec;
    struct steps_counts c = steps_count(o);

    *ret_why = "";
    if (phase == PHASE_PENDING) {
        *ret_why = "enough pods have started";
        return spec->min_available <= c.running + c.succeeded + c.failed ? PHASE_RUNNING : PHASE_PENDING;
    }
    if (c.replicas == 0)
        return phase;
    if (spec->min_success && c.succeeded >= *spec->min_success) {
        *ret_why = "minSuccess pods have succeeded";
        return PHASE_COMPLETED;
    }
    if (c.succeeded + c.failed >= c.replicas)
        return settle_finished(o, &c, ret_why);
    *ret_why = "too many pods are pending";
    if (c.running + c.succeeded + c.failed >= spec->min_available) /* a pod may count twice while it is run again */
        return phase;
    return c.pending > c.replicas - spec->min_available ? PHASE_PENDING : phase;
}

/* ---- Pending and Running ---- */

static bool pods_are_allowed(const struct podgroup_view *g)
{
    return g->exists && !g->is_deleting && !str_empty(g->phase) && !str_is(g->phase, "Pending");
}

static void create_pods(struct status_draft *d, struct plan *plan)
{
    struct str default_group = job_group_name(d->arena, d->o->job);
    struct str group = d->o->group.raw ? object_name(d->o->group.raw) : default_group;
    uint32_t left = d->o->create_window;

    for (size_t i = 0; i < d->o->pods->n_tasks && left; i++) {
        const struct task_pods *t = &d->o->pods->tasks[i];
        uint32_t at = pods_next_missing(t, 0);

        if (at == UINT32_MAX || !task_is_released(d->o, i))
            continue;
        for (; at != UINT32_MAX && left; at = pods_next_missing(t, at + 1), left--) {
            struct pod_draft pod = { .task_pos = i, .index = at };
            struct err e;

            if (job_pod_new(d->arena, d->o->job, d->o->set, &pod, &e) < 0) {
                plan_event_warning(plan, d->o->job->raw, "PluginError", "%s", e.text);
                return;
            }
            if (!str_eq(group, default_group)) /* B46: a PodGroup of the older naming */
                object_set_annotation(d->arena, pod.root, "scheduling.k8s.io/group-name", group);
            if (d->o->group.is_native)
                native_join(d->arena, pod.root, group, d->o->own_scheduler);
            plan_create(plan, pod_type(), pod.root);
        }
    }
}

static void tell_waiting(struct status_draft *d, struct plan *plan)
{
    const struct job_observed *o = d->o;

    if (o->group.exists && !str_empty(o->group.condition) && d->phase == PHASE_PENDING)
        plan_event_warning(plan, o->job->raw, "PodGroupPending", "PodGroup %.*s:%.*s %.*s: %.*s",
                           STR_ARG(o->job->meta.namespace), STR_ARG(o->job->meta.name),
                           STR_ARG(arena_lower(d->arena, o->group.condition)), STR_ARG(o->group.condition_message));
    if (!str_empty(o->trouble)) {
        status_explain(d, "WaitingForRetry", "%.*s", STR_ARG(o->trouble));
        plan_event_warning(plan, o->job->raw, "FailedCreate", "%.*s", STR_ARG(o->trouble));
    } else if (o->queue == QUEUE_UNKNOWN && d->phase == PHASE_PENDING) {
        status_explain(d, "WaitingForQueue", "the queue %.*s does not exist", STR_ARG(o->job->spec.queue)); /* B26 */
    }
}

/* B51: admission refuses it, but admission may have been off. */
static struct str unknown_dependency(const struct job *job)
{
    for (size_t i = 0; i < job->spec.tasks.n; i++) {
        const struct job_depends *d = job->spec.tasks.v[i].depends_on;

        for (size_t k = 0; d && k < d->name.n; k++)
            if (!job_task_by_name(job, d->name.v[k], NULL))
                return d->name.v[k];
    }
    return STR_NULL;
}

/* Objects, then pods. A spec that cannot be carried out makes nothing new, but what is there is still looked after. */
static enum ensured steps_make(struct status_draft *d, struct plan *plan)
{
    enum ensured ensured;

    struct str ghost = unknown_dependency(d->o->job);

    if (!d->o->set || !str_empty(ghost)) {
        if (!d->o->set)
            status_explain(d, "WaitingForSpec", "%.*s", STR_ARG(d->o->spec_problem));
        else
            status_explain(d, "WaitingForSpec", "a task depends on task %.*s, which the job does not have",
                           STR_ARG(ghost));
        return ENSURED_BLOCKED;
    }
    ensured = job_ensure(d, plan);
    if (ensured == ENSURED_FINE && pods_are_allowed(&d->o->group))
        create_pods(d, plan);
    if (ensured != ENSURED_BLOCKED)
        tell_waiting(d, plan);
    return ensured;
}

struct job_outcome step_active(struct status_draft *d, struct plan *plan)
{
    struct job_outcome out = { .has_looked = true };
    enum job_phase next;
    const char *why;

    if (str_starts(json_text(json_find(d->status, "state", "reason", NULL), STR("")), STR("Waiting")))
        status_explain(d, NULL, "%s", ""); /* the wait is over */
    out.objects_are_fine = steps_make(d, plan) == ENSURED_FINE;
    (void)kill_pods(d, POD_OLD, plan); /* what is left of an earlier attempt or a larger size */
    next = settle(d->o, d->phase, &why);
    if (next != d->phase) {
        status_explain(d, phase_is_final(next) ? job_phase_name(next) : NULL, "%s", phase_is_final(next) ? why : "");
        status_set_phase(d, next, plan->now_ms);
    }
    status_count(d);
    status_send(d, plan);
    return out;
}

/* ---- killing ---- */

/* People and scripts wait for an object that says both: what is being done to the job, and that its pods are ending. A
 * decision says so itself; of pods that came to light since, the status tells before any is deleted. Pods can go between
 * two looks at them, so that what was not written by then never would be. */
static bool tell_ending(struct status_draft *d, struct plan *plan)
{
    if (json_i64(json_find(d->o->job->raw, "status", "terminating", NULL), 0) > 0 || !kill_is_on(d->phase))
        return false;
    status_count(d);
    if (json_i64(json_get(d->status, "terminating"), 0) == 0)
        return false;
    d->is_urgent = true;
    status_send(d, plan);
    return true;
}

/* ---- Restarting ---- */

static bool kill_target(struct status_draft *d, struct plan *plan)
{
    bool any = kill_pods(d, POD_LIVE, plan) > 0;

    LIST_FOREACH(struct job_pod, pod, &d->o->pods->classes[POD_TERMINATING], in_class)
        any |= restart_has(d, pod);
    return any;
}

/* Whole job: everything of earlier versions, and the PodGroup. A native one says only how many pods are a gang, which
 * the next attempt wants as well. */
static bool steps_kill_all(struct status_draft *d, struct plan *plan)
{
    bool group_goes = d->o->group.exists && !d->o->group.is_native;
    const struct job_pods *pods = d->o->pods;
    uint32_t n_killed = kill_pods(d, POD_OLD, plan);

    if (group_goes)
        job_group_delete(d, plan);
    return group_goes || n_killed > pods->n_class[POD_SURPLUS] || /* which nothing waits for */
           job_total_replicas(d->o->job) - pods->n_class[POD_TERMINATING] < d->o->job->spec.min_available;
}

struct job_outcome step_restarting(struct status_draft *d, struct plan *plan)
{
    struct job_outcome out = { .objects_are_fine = d->o->objects_are_fine };
    bool is_busy;

    /* B31: nothing is prepared for an attempt that will not be made; pods are kept to look at */
    if (restart_is_exhausted(d)) {
        d->memo.scope = RESTART_NONE;
        status_explain(d, "RetriesExhausted", NO_RETRY_LEFT, d->o->job->spec.max_retry);
        status_set_phase(d, PHASE_FAILED, plan->now_ms);
    } else {
        if (tell_ending(d, plan))
            return out;
        is_busy = d->memo.scope != RESTART_NONE ? kill_target(d, plan) : steps_kill_all(d, plan);
        if (!is_busy) {
            restart_forget(d);
            d->memo.scope = RESTART_NONE;
            status_explain(d, NULL, "%s", "");
            status_set_phase(d, PHASE_PENDING, plan->now_ms);
        }
    }
    status_count(d);
    status_send(d, plan);
    return out;
}

/* ---- Aborting, Completing, Terminating and after ---- */

/* The markers of plugins go with their objects. */
static void remove_markers(struct status_draft *d)
{
    struct json *next;

    for (struct json *m = json_first(d->controlled); m; m = next) {
        next = m->next;
        if (str_starts(json_key(m), STR("plugin-")))
            json_unlink(d->controlled, m);
    }
}

struct job_outcome step_killing(struct status_draft *d, struct plan *plan)
{
    enum job_phase next = phase_after_kill(d->phase);
    uint32_t left = d->o->pods->n_class[POD_TERMINATING];

    if (tell_ending(d, plan))
        return (struct job_outcome){ .objects_are_fine = d->o->objects_are_fine };
    left += kill_pods(d, POD_LIVE, plan);
    job_dismantle(d, plan);
    remove_markers(d);
    if (next != PHASE_NONE && left == 0) /* reason and message stay those of the kill */
        status_set_phase(d, next, plan->now_ms);
    status_count(d);
    status_send(d, plan);
    return (struct job_outcome){ .has_looked = true };
}
