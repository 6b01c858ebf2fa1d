/* decide.c - events from the state, and the decisions that follow
 *
 * Nothing here remembers an event. A pod that has Failed is PodFailed until a decision has made it old or has had it
 * removed; an index that was seen and has no pod is PodEvicted; and so on. So changes during a
 * restart are seen after it (B3), and a doubled or lost watch event changes nothing.
 */
#include "job/decide.h"

#include "api/types.h"
#include "base/util.h"

struct decide_cause {
    enum job_event event;
    size_t task;    /* position; SIZE_MAX: the whole job */
    int64_t index;  /* of the pod; -1: none */
    struct str uid; /* of the pod; empty: it was deleted */
    const int32_t *exit_codes;
    size_t n_exit_codes;
};

static const struct job_task *task_at(const struct job *job, size_t pos)
{
    return pos < job->spec.tasks.n ? &job->spec.tasks.v[pos] : NULL;
}

/* "pod j-a-0", "task a", "the job": for messages and as the name of a timer. */
static struct str decide_about(struct status_draft *d, const struct decide_cause *c)
{
    const struct job_task *task = task_at(d->o->job, c->task);

    if (task && c->index >= 0)
        return job_pod_name(d->arena, d->o->job, task, (uint32_t)c->index);
    return task ? arena_fmt(d->arena, "task/%.*s", STR_ARG(task->name)) : STR("");
}

static struct str why(struct status_draft *d, const struct decide_cause *c)
{
    struct str what = decide_about(d, c);
    autobuf text = { 0 };

    buf_fmt(&text, "%s", job_event_name(c->event));
    if (!str_empty(what))
        buf_fmt(&text, " of %.*s", STR_ARG(what));
    for (size_t i = 0; i < c->n_exit_codes; i++)
        buf_fmt(&text, "%s%d", i ? ", " : " with exit code ", c->exit_codes[i]);
    return arena_str(d->arena, buf_view(&text));
}

/* ---- carrying out ---- */

static void set_target(struct status_draft *d, enum job_action action, const struct decide_cause *c)
{
    const struct job_task *task = task_at(d->o->job, c->task);
    int32_t size = task && task->partition ? task->partition->partition_size : 0;

    d->memo.scope = RESTART_NONE;
    if (!task || !action_is_targeted(action))
        return;
    d->memo.task = task->name;
    if (action == ACTION_RESTART_TASK || c->index < 0) {
        d->memo.scope = RESTART_TASK;
    } else if (action == ACTION_RESTART_PARTITION && size > 0) {
        d->memo.scope = RESTART_PARTITION;
        d->memo.number = (uint32_t)c->index / (uint32_t)size;
    } else { /* also a partition of a task that has none (B10) */
        d->memo.scope = RESTART_POD;
        d->memo.number = (uint32_t)c->index;
    }
}

/* An action on the job ends all timers, one on a task those of its pods. */
static void cancel_timers(struct status_draft *d, enum job_action action, const struct decide_cause *c)
{
    const struct job_task *task = task_at(d->o->job, c->task);
    struct str pod = decide_about(d, c), prefix = STR_NULL;
    size_t kept = 0;

    if (task)
        prefix = arena_fmt(d->arena, "%.*s-%.*s-", STR_ARG(d->o->job->meta.name), STR_ARG(task->name));
    for (size_t i = 0; i < d->memo.timers.n; i++) {
        const struct memo_timer *t = &d->memo.timers.v[i];
        bool same = action == ACTION_RESTART_POD ? str_eq(t->about, pod) : str_starts(t->about, prefix);

        if (action_is_targeted(action) && !same)
            d->memo.timers.v[kept++] = *t;
    }
    d->memo.timers.n = kept;
}

/* All retries are spent and the job is active: it was resumed after the last, or maxRetry was lowered. */
static bool decide_give_up(struct status_draft *d, struct str cause, int32_t budget, int64_t now_ms)
{
    d->memo.scope = RESTART_NONE;
    d->memo.timers.n = 0;
    d->is_urgent = true;
    status_explain(d, "RetriesExhausted", "%.*s: " NO_RETRY_LEFT, STR_ARG(cause), budget);
    status_set_phase(d, PHASE_FAILED, now_ms);
    return true;
}

/* Apply the action; false if it has no effect in this phase. */
static bool carry_out(struct status_draft *d, enum job_action action, const struct decide_cause *c, struct plan *plan)
{
    struct transition t = job_transition(d->phase, action);
    bool costs_retry = t.is_retry && c->event != EVENT_COMMAND;
    const char *name = job_action_name(action);
    int32_t budget = d->o->job->spec.max_retry;
    struct str cause = why(d, c);

    if (d->phase == PHASE_RESTARTING && action == ACTION_RESTART && d->memo.scope != RESTART_NONE) {
        t = (struct transition){ PHASE_RESTARTING,
                                 .bumps_version = true }; /* a part is being restarted; now all of it */
        costs_retry = false;
    }
    if (t.next == PHASE_NONE)
        return false;
    if (costs_retry && d->retry_count >= budget)
        return decide_give_up(d, cause, budget, plan->now_ms);
    if (d->phase == PHASE_RESTARTING)
        restart_forget(d); /* the part that was to run again has not run yet */
    set_target(d, action, c);
    cancel_timers(d, action, c);
    d->version += t.bumps_version;
    d->retry_count += costs_retry;
    d->forgets_done = action == ACTION_RESTART;
    if (costs_retry && d->retry_count < budget) /* the last one is counted and not made (B31) */
        status_explain(d, name, "%.*s: %s, retry %d of %d", STR_ARG(cause), name, d->retry_count, budget - 1);
    else if (costs_retry)
        status_explain(d, name, "%.*s: %s, " NO_RETRY_LEFT, STR_ARG(cause), name, budget);
    else
        status_explain(d, name, "%.*s: %s", STR_ARG(cause), name);
    status_set_phase(d, t.next, plan->now_ms);
    d->is_urgent = true;
    plan_event_normal(plan, d->o->job->raw, "ExecuteAction", "Start to execute action %s: %.*s", name, STR_ARG(cause))
        ->count = COUNT_DECISION;
    return true;
}

/* ---- commands (B22) ---- */

static void delete_command(struct status_draft *d, const struct command_view *c, struct plan *plan)
{
    plan_delete(plan, (struct object_id){ type_by_name(STR("commands.bus.volcano.sh")), d->o->job->meta.namespace,
                                          c->name, c->uid });
}

/* Long enough for every cache to hear that a Command was deleted. */
enum { REMEMBER_COMMAND_MS = 10 * 60 * 1000 };

static bool decide_is_there(const struct job_observed *o, struct str uid)
{
    for (size_t i = 0; i < o->n_commands; i++)
        if (str_eq(o->commands[i].uid, uid))
            return true;
    return false;
}

static void remember_command(struct status_draft *d, struct str uid, int64_t now_ms)
{
    size_t kept = 0;

    for (size_t i = 0; i < d->memo.commands.n; i++)
        if (d->memo.commands.v[i].obeyed_ms + REMEMBER_COMMAND_MS > now_ms ||
            decide_is_there(d->o, d->memo.commands.v[i].uid))
            d->memo.commands.v[kept++] = d->memo.commands.v[i];
    d->memo.commands.n = kept;
    *vec_push(d->arena, &d->memo.commands) = (struct memo_command){ uid, now_ms };
}

static bool decide_command(struct status_draft *d, struct plan *plan)
{
    static const struct decide_cause by_command = { EVENT_COMMAND, SIZE_MAX, -1 };

    for (size_t i = 0; i < d->o->n_commands; i++) {
        const struct command_view *c = &d->o->commands[i];
        enum job_action action = job_action_of(c->action);

        if (memo_has_command(&d->memo, c->uid)) {
            delete_command(d, c, plan);
            continue;
        }
        if (action == ACTION_NONE || action_is_targeted(action)) {
            plan_event_warning(plan, d->o->job->raw, "CommandIssued",
                               "Command %.*s: \"%.*s\" is not an action on a job and is ignored", STR_ARG(c->name),
                               STR_ARG(c->action))
                ->count = COUNT_DECISION;
            delete_command(d, c, plan);
            continue;
        }
        plan_event_normal(plan, d->o->job->raw, "CommandIssued", "Start to execute command %.*s: %s", STR_ARG(c->name),
                          job_action_name(action))
            ->count = COUNT_DECISION;
        if (carry_out(d, action, &by_command, plan)) {
            remember_command(d, c->uid, plan->now_ms);
            return true;
        }
        delete_command(d, c, plan); /* no effect in this phase */
    }
    return false;
}

/* ---- timers (B8) ---- */

static bool pod_of_name(struct status_draft *d, struct str name, struct job_pod **ret)
{
    *ret = pods_get(d->o->pods, name);
    return *ret != NULL;
}

/* A pod that runs again, or a PodGroup that is well again, calls off what waited for it. */
static bool is_called_off(struct status_draft *d, const struct memo_timer *t)
{
    struct job_pod *pod;

    if (t->event == EVENT_UNKNOWN)
        return !str_is(d->o->group.phase, "Unknown");
    return (t->event == EVENT_POD_FAILED || t->event == EVENT_POD_EVICTED) && pod_of_name(d, t->about, &pod) &&
           pod->class == POD_LIVE && (pod->view.phase == POD_RUNNING || pod->view.phase == POD_SUCCEEDED);
}

static struct decide_cause cause_of_timer(struct status_draft *d, const struct memo_timer *t)
{
    struct decide_cause c = { t->event, SIZE_MAX, -1, t->uid };
    struct str rest = t->about;
    ptrdiff_t dash = str_rfind_char(rest, '-');
    uint64_t index;

    for (size_t i = 0; i < d->o->job->spec.tasks.n; i++) {
        struct str task = d->o->job->spec.tasks.v[i].name;
        struct str prefix = arena_fmt(d->arena, "%.*s-%.*s", STR_ARG(d->o->job->meta.name), STR_ARG(task));

        if (str_eq(rest, arena_cat(d->arena, STR("task/"), task)))
            c.task = i;
        else if (dash >= 0 && str_eq(str_sub(rest, 0, (size_t)dash), prefix) &&
                 str_to_u64(str_from(rest, (size_t)dash + 1), &index) == 0 && index <= UINT32_MAX)
            c.task = i, c.index = (int64_t)index;
    }
    return c;
}

static bool decide_timer(struct status_draft *d, struct plan *plan)
{
    size_t kept = 0, due = SIZE_MAX;

    for (size_t i = 0; i < d->memo.timers.n; i++)
        if (!is_called_off(d, &d->memo.timers.v[i]))
            d->memo.timers.v[kept++] = d->memo.timers.v[i];
    d->memo.timers.n = kept;
    for (size_t i = 0; i < kept; i++) {
        if (d->memo.timers.v[i].deadline_ms > plan->now_ms)
            plan_wake(plan, d->memo.timers.v[i].deadline_ms);
        else if (due == SIZE_MAX || d->memo.timers.v[i].deadline_ms < d->memo.timers.v[due].deadline_ms)
            due = i;
    }
    if (due != SIZE_MAX) {
        struct memo_timer t = d->memo.timers.v[due];
        struct decide_cause c = cause_of_timer(d, &t);

        d->memo.timers.v[due] = d->memo.timers.v[--d->memo.timers.n];
        return carry_out(d, t.action, &c, plan);
    }
    return false;
}

/* ---- policies ---- */

/* A policy with a timeout arms a timer; one without acts. A timer that runs already is left alone. */
static bool decide_act(struct status_draft *d, const struct decide_cause *c, struct plan *plan)
{
    struct policy_choice choice = policy_choose(d->o->job, task_at(d->o->job, c->task), c->event, c->exit_codes,
                                                c->n_exit_codes);
    struct str name;

    if (choice.action == ACTION_NONE || (action_is_targeted(choice.action) && c->task == SIZE_MAX)) /* B9 */
        return false;
    if (choice.delay_ms == 0 || c->event == EVENT_POD_PENDING) /* PodPending is only told when its time is up */
        return carry_out(d, choice.action, c, plan);
    name = decide_about(d, c);
    if (job_transition(d->phase, choice.action).next == PHASE_NONE || memo_timer_find(&d->memo, name))
        return false;
    *vec_push(d->arena, &d->memo.timers) = (struct memo_timer){ name, c->event, choice.action,
                                                                plan->now_ms + choice.delay_ms, c->uid };
    d->is_urgent = true;
    plan_event_normal(plan, d->o->job->raw, "ExecuteAction", "Execute action %s after %lld ms: %.*s",
                      job_action_name(choice.action), (long long)choice.delay_ms, STR_ARG(why(d, c)))
        ->count = COUNT_DECISION;
    return true;
}

static bool is_lost(const struct job_pod *pod, const struct job_pods *pods)
{
    const struct task_pods *t = pod->task < pods->n_tasks ? &pods->tasks[pod->task] : NULL;

    return pod->class == POD_TERMINATING && t && pod->index < t->n && bit_get(t->seen, pod->index) &&
           !bit_get(t->done, pod->index) && !pod->view.is_marked;
}

/* Pods that changed since the last look: one that failed, or one that another client is deleting (B7). */
static bool decide_pods(struct status_draft *d, struct plan *plan)
{
    const struct job_pods *pods = d->o->pods;

    LIST_FOREACH(struct job_pod, pod, &pods->to_look, to_look) {
        struct decide_cause c = { EVENT_POD_FAILED,     pod->task,
                                  pod->index,           str_of(pod->view.uid),
                                  pod->view.exit_codes, pod->view.n_exit_codes };
        bool is_failed = pod->class == POD_LIVE && pod->view.phase == POD_FAILED && !pod->view.is_marked;

        if (is_lost(pod, pods) || (is_failed && pod->view.is_disrupted))
            c.event = EVENT_POD_EVICTED, c.n_exit_codes = 0;
        else if (!is_failed)
            continue;
        if (decide_act(d, &c, plan))
            return true;
    }
    return false;
}

/* Indices that had a pod and have none: it went without our doing. */
static bool decide_missing(struct status_draft *d, struct plan *plan)
{
    const struct job_pods *pods = d->o->pods;

    for (size_t i = 0; i < pods->n_tasks; i++)
        for (uint32_t at = pods_next_evicted(&pods->tasks[i], 0); at != UINT32_MAX;
             at = pods_next_evicted(&pods->tasks[i], at + 1)) {
            struct decide_cause c = { EVENT_POD_EVICTED, i, at };

            if (decide_act(d, &c, plan))
                return true;
            if (policy_choose(d->o->job, task_at(d->o->job, i), EVENT_POD_EVICTED, NULL, 0).action == ACTION_NONE)
                break; /* no policy for this task */
        }
    return false;
}

static bool decide_tasks(struct status_draft *d, struct plan *plan)
{
    const struct job_pods *pods = d->o->pods;

    for (size_t i = 0; i < pods->n_tasks && i < d->o->job->spec.tasks.n; i++) {
        const struct task_pods *t = &pods->tasks[i];
        int32_t limit = d->o->job->spec.tasks.v[i].max_retry;
        struct decide_cause failed = { EVENT_TASK_FAILED, i, -1 }, completed = { EVENT_TASK_COMPLETED, i, -1 };

        if (t->n == 0)
            continue;
        if (limit != -1 && t->restarts >= (limit ? limit : 3) && decide_act(d, &failed, plan))
            return true;
        if (t->n_done >= t->n && decide_act(d, &completed, plan))
            return true;
    }
    return false;
}

static bool decide_group(struct status_draft *d, struct plan *plan)
{
    static const struct decide_cause unknown = { EVENT_UNKNOWN, SIZE_MAX, -1 };

    return d->o->group.exists && !d->o->group.is_deleting && str_is(d->o->group.phase, "Unknown") &&
           decide_act(d, &unknown, plan);
}

/* Only looked at when a policy asks for it: the wait of a pod is counted from its creation (B2). */
static bool decide_pending(struct status_draft *d, struct plan *plan)
{
    const struct job_pods *pods = d->o->pods;
    bool any = false;

    for (size_t i = 0; i < pods->n_tasks && i < d->o->job->spec.tasks.n; i++)
        any |= pods->tasks[i].live[POD_PENDING] && policy_pending_ms(d->o->job, &d->o->job->spec.tasks.v[i]);
    if (!any)
        return false;
    LIST_FOREACH(struct job_pod, pod, &pods->classes[POD_LIVE], in_class) {
        struct decide_cause c = { EVENT_POD_PENDING, pod->task, pod->index, str_of(pod->view.uid) };
        int64_t limit_ms = pod->view.phase == POD_PENDING ? policy_pending_ms(d->o->job, task_at(d->o->job, pod->task))
                                                          : 0;

        if (!limit_ms)
            continue;
        if (pod->view.created_ms + limit_ms > plan->now_ms)
            plan_wake(plan, pod->view.created_ms + limit_ms);
        else if (decide_act(d, &c, plan))
            return true;
    }
    return false;
}

bool job_decide(struct status_draft *d, struct plan *plan)
{
    static bool (*const deciders[])(struct status_draft *, struct plan *) = {
        decide_timer, decide_pods, decide_missing, decide_tasks, decide_group, decide_pending,
    };

    if (decide_command(d, plan))
        return true;
    if (!phase_is_active(d->phase)) /* while a restart or a kill is under way, pods come and go by our own doing */
        return false;
    for (size_t i = 0; i < ARRAY_LEN(deciders); i++)
        if (deciders[i](d, plan))
            return true;
    return false;
}

bool restart_has(const struct status_draft *d, const struct job_pod *pod)
{
    const struct job_task *task = task_at(d->o->job, pod->task);
    int32_t size = task && task->partition ? task->partition->partition_size : 0;
    const struct memo *m = &d->memo;

    if (!task || m->scope == RESTART_NONE || !str_eq(task->name, m->task) || pod->view.retry >= d->retry_count)
        return false;
    if (m->scope == RESTART_POD)
        return pod->index == m->number;
    return m->scope == RESTART_TASK || (size > 0 && pod->index / (uint32_t)size == m->number);
}

void restart_forget(struct status_draft *d)
{
    const struct job_task *task = job_task_by_name(d->o->job, d->memo.task, &d->forget_task);
    uint32_t size = task && task->partition ? (uint32_t)MAX_OF(task->partition->partition_size, 1) : 1;

    if (!task || d->memo.scope == RESTART_NONE)
        return;
    d->forget_from = d->memo.scope == RESTART_TASK ? 0 : d->memo.number * (d->memo.scope == RESTART_POD ? 1 : size);
    d->forget_to = d->memo.scope == RESTART_TASK ? UINT32_MAX
                                                 : d->forget_from + (d->memo.scope == RESTART_POD ? 1 : size);
}
