/* run_view.c - what the objects of a run say: jobs, their tasks, every pod there ever was */
#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "history/failure.h"
#include "cli/run.h"
#include "driver/cache.h"
#include "job/policy.h"
#include "sched/sched.h"

const char *const run_state_names[RUN_STATE_MAX] = {
    "pending", "starting", "running", "succeeded", "failed", "stopped"
};

void run_view_init(struct run_view *v, size_t want_jobs, bool has_namespaces, const struct run_view_hooks *hooks)
{
    *v = (struct run_view){ .want_jobs = want_jobs, .has_namespaces = has_namespaces };
    if (hooks)
        v->hooks = *hooks;
    map_init(&v->job_uids, map_seed_default());
    map_init(&v->pod_uids, map_seed_default());
    map_init(&v->pod_names, map_seed_default());
    map_init(&v->groups, map_seed_default());
    map_init(&v->events, map_seed_default());
}

void run_view_done(struct run_view *v)
{
    map_done(&v->job_uids);
    map_done(&v->pod_uids);
    map_done(&v->pod_names);
    map_done(&v->groups);
    map_done(&v->events);
    arena_done(&v->arena);
}

/* A copy of 'text', unless it is that already. */
static bool keep(struct run_view *v, struct str *field, struct str text)
{
    if (str_eq(*field, text))
        return false;
    *field = arena_str(&v->arena, text);
    return true;
}

static struct str label_of(struct run_view *v, struct str namespace, struct str name)
{
    if (!v->has_namespaces)
        return arena_str(&v->arena, name);
    return arena_fmt(&v->arena, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(name));
}

/* ---- jobs ---- */

bool run_job_is_over(const struct run_job *j)
{
    return j->is_gone || phase_is_final(j->phase) || j->phase == PHASE_ABORTED;
}

bool run_job_is_fine(const struct run_job *j)
{
    return j->phase == PHASE_COMPLETED;
}

const char *run_job_phase(const struct run_job *j)
{
    if (j->is_stopped && !phase_is_final(j->phase) && j->phase != PHASE_ABORTED)
        return j->is_gone ? "Stopped" : "Stopping";
    return job_phase_name(j->phase);
}

static struct run_task *task_of(struct run_view *v, struct run_job *j, struct str name)
{
    struct run_task *task;

    VEC_FOREACH(t, &j->tasks)
        if (str_eq((*t)->name, name))
            return *t;
    task = arena_new(&v->arena, struct run_task);
    task->name = arena_str(&v->arena, name);
    *vec_push(&v->arena, &j->tasks) = task;
    return task;
}

static struct run_job *job_new(struct run_view *v, const struct object *o, int64_t now_ms)
{
    struct run_job *j = arena_new(&v->arena, struct run_job);

    j->namespace = arena_str(&v->arena, o->namespace);
    j->name = arena_str(&v->arena, o->name);
    j->uid = arena_str(&v->arena, o->uid);
    j->label = label_of(v, o->namespace, o->name);
    j->created_ms = now_ms;
    j->why = WHY_NOT;
    map_put(&v->job_uids, j->uid, j);
    *vec_push(&v->arena, &v->jobs) = j;
    return j;
}

static void note_end(struct run_view *v, struct run_job *j, int64_t now_ms)
{
    if (!run_job_is_over(j)) {
        j->ended_ms = 0;
        j->ended_seq = 0;
    } else if (!j->ended_seq) {
        j->ended_ms = now_ms;
        j->ended_seq = ++v->seq;
        j->why_text = STR_NULL;
    }
}

static void job_changed(struct run_view *v, const struct object *o, bool is_gone, int64_t now_ms)
{
    const struct json *spec = json_get(o->root, "spec"), *status = json_get(o->root, "status"),
                      *state = json_get(status, "state");
    struct run_job *j = map_get(&v->job_uids, o->uid);
    enum job_phase phase = job_phase_of(json_member_text(state, "phase"));
    bool is_new = !j, is_told;

    if (!j)
        j = job_new(v, o, now_ms);
    keep(v, &j->queue, json_text(json_get(spec, "queue"), STR("default")));
    JSON_FOREACH(task, json_get(spec, "tasks"))
        task_of(v, j, json_member_text(task, "name"))->replicas = json_i64(json_get(task, "replicas"), 0);
    if (phase == PHASE_NONE)
        phase = PHASE_PENDING;
    is_told = is_new || phase != j->phase || is_gone != j->is_gone;
    j->phase = phase;
    j->is_gone = is_gone;
    j->retries = json_i64(json_get(status, "retryCount"), 0);
    keep(v, &j->reason, json_member_text(state, "reason"));
    keep(v, &j->message, json_member_text(state, "message"));
    note_end(v, j, now_ms);
    v->changes++;
    if (!is_told)
        return;
    if (!is_new && job_action_of(j->reason) != ACTION_NONE && !phase_is_final(phase) && phase != PHASE_ABORTED &&
        v->hooks.decision && !is_gone) {
        j->told = j->message;
        v->hooks.decision(v->hooks.ctx, j, j->reason, j->message);
    }
    if (v->hooks.job)
        v->hooks.job(v->hooks.ctx, j);
}

static void group_changed(struct run_view *v, const struct object *o, bool is_gone)
{
    struct run_job *j = map_get(&v->job_uids, object_controller_uid(o->root));

    if (!j)
        return;
    if (is_gone && str_eq(j->group, o->name))
        j->group = STR_NULL;
    else if (!is_gone)
        keep(v, &j->group, o->name);
}

/* Trouble a controller had with a job; told once for each Event. */
static void event_changed(struct run_view *v, const struct object *o, bool is_gone)
{
    struct run_job *j = map_get(&v->job_uids, json_member_text(json_get(o->root, "involvedObject"), "uid"));
    struct str reason = json_member_text(o->root, "reason");
    bool is_odd = str_is(json_member_text(o->root, "type"), "Warning") && !str_is(reason, "PodGroupPending");

    if (is_gone || !j || (!is_odd && !str_is(reason, "CommandIssued")) || map_get(&v->events, o->uid))
        return;
    map_put(&v->events, arena_str(&v->arena, o->uid), j);
    if (v->hooks.decision)
        v->hooks.decision(v->hooks.ctx, j, reason, json_member_text(o->root, "message"));
}

/* ---- pods ---- */

bool run_pod_restarts(const struct run_pod *p)
{
    return p->state == RUN_RUNNING && str_is(p->waits, "CrashLoopBackOff");
}

const struct run_pod *run_view_pod(const struct run_view *v, struct str uid)
{
    return map_get(&v->pod_uids, uid);
}

static struct str pod_label(struct run_view *v, const struct run_pod *p)
{
    if (!p->job || p->index < 0)
        return label_of(v, p->namespace, p->name);
    if (v->want_jobs < 2)
        return arena_fmt(&v->arena, "%.*s-%lld", STR_ARG(p->task->name), (long long)p->index);
    return arena_fmt(&v->arena, "%.*s/%.*s-%lld", STR_ARG(p->job->label), STR_ARG(p->task->name), (long long)p->index);
}

static void count(struct run_pod *p, int by)
{
    if (!p->task || p->is_replaced)
        return;
    p->task->n[p->state] += (uint32_t)by;
    if (run_pod_restarts(p))
        p->task->n_restarting += (uint32_t)by;
}

static struct run_pod *pod_new(struct run_view *v, const struct object *o, int64_t now_ms)
{
    struct run_pod *p = arena_new(&v->arena, struct run_pod), *old;
    struct str task = object_annotation(o->root, "volcano.sh/task-spec"), key;

    p->namespace = arena_str(&v->arena, o->namespace);
    p->name = arena_str(&v->arena, o->name);
    p->uid = arena_str(&v->arena, o->uid);
    p->job = map_get(&v->job_uids, object_controller_uid(o->root));
    p->index = -1;
    if (p->job && task.n) {
        p->task = task_of(v, p->job, task);
        if (str_to_i64(object_annotation(o->root, "volcano.sh/task-index"), &p->index) < 0)
            p->index = -1;
    }
    p->label = pod_label(v, p);
    p->created_ms = now_ms;
    key = arena_fmt(&v->arena, "%.*s/%.*s", STR_ARG(p->namespace), STR_ARG(p->name));
    old = map_put(&v->pod_names, key, p);
    if (old) {
        count(old, -1);
        old->is_replaced = true;
    }
    map_put(&v->pod_uids, p->uid, p);
    *vec_push(&v->arena, &v->pods) = p;
    count(p, 1);
    return p;
}

static enum run_state state_of(const struct run_pod *p, const struct json *root, bool is_gone)
{
    struct str phase = json_member_text(json_get(root, "status"), "phase");

    if (run_state_is_over(p->state))
        return p->state;
    if (str_is(phase, "Succeeded") && !p->is_deleting)
        return RUN_SUCCEEDED;
    if (str_is(phase, "Failed") && !p->is_deleting)
        return RUN_FAILED;
    if (is_gone || str_is(phase, "Succeeded") || str_is(phase, "Failed"))
        return RUN_STOPPED;
    if (str_is(phase, "Running"))
        return RUN_RUNNING;
    return str_empty(json_member_text(json_get(root, "spec"), "nodeName")) ? RUN_PENDING : RUN_STARTING;
}

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

/* What was said of it, if it is short. */
static struct str short_message(struct str message)
{
    enum { SHORT = 200 };

    message = str_trim(message);
    return message.n > SHORT || str_find_char(message, '\n') >= 0 ? STR_NULL : message;
}

/* Why the pod failed goes before how its container ended: one that is killed at a deadline dies of a signal like any other. */
static struct failure failure_of(struct run_view *v, const struct json *root, const struct json *end,
                                 struct str container)
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
    if (str_is(f.reason, "OOMKilled") && (limit = failure_memory_limit(&v->arena, root, container)).n)
        f.message = limit;
    return f;
}

static void note_failure(struct run_view *v, struct run_pod *p, const struct json *root)
{
    const struct json *end;
    struct str container = STR_NULL;
    struct failure f;
    autobuf words = { 0 };

    end = first_failed(json_get(root, "status"), &container);
    f = failure_of(v, root, end, container);
    p->exit_code = MAX_OF(f.exit_code, 0);
    p->container = arena_str(&v->arena, container);
    p->reason = failure_reason(f.reason);
    p->message = arena_str(&v->arena, str_trim(f.message));
    f.message = short_message(f.message);
    failure_words(&words, &f);
    p->result = arena_str(&v->arena, buf_view(&words));
    if (p->job && !p->job->failed && end)
        p->job->failed = p;
}

/* What keeps a pod that has a node from starting; "" for the ordinary steps. */
static bool note_waiting(struct run_view *v, struct run_pod *p, const struct json *root)
{
    static const char *const lists[] = { "initContainerStatuses", "containerStatuses" };
    struct str reason = STR_NULL, message = STR_NULL;
    bool is_news;

    for (size_t i = 0; i < ARRAY_LEN(lists) && !reason.n; i++)
        JSON_FOREACH(c, json_find(root, "status", lists[i], NULL)) {
            const struct json *waiting = json_find(c, "state", "waiting", NULL);
            struct str why = json_member_text(waiting, "reason");

            /* The ordinary steps have a message only when something is wrong with them (a volume that is not there). */
            if (str_empty(why) || ((str_is(why, "ContainerCreating") || str_is(why, "PodInitializing")) &&
                                   !json_member_text(waiting, "message").n))
                continue;
            reason = why;
            message = json_member_text(waiting, "message");
            break;
        }
    is_news = keep(v, &p->waits, reason);
    return keep(v, &p->waits_why, message) || is_news;
}

static void note_times(struct run_pod *p, enum run_state before, int64_t now_ms)
{
    if (p->state >= RUN_RUNNING && p->state != RUN_STOPPED && !p->started_ms)
        p->started_ms = now_ms;
    if (run_state_is_over(p->state) && !run_state_is_over(before))
        p->ended_ms = now_ms;
}

static int64_t restarts_of(const struct json *root)
{
    int64_t n = 0;

    JSON_FOREACH(c, json_find(root, "status", "containerStatuses", NULL))
        n += json_i64(json_get(c, "restartCount"), 0);
    return n;
}

static void pod_changed(struct run_view *v, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct run_pod *p = map_get(&v->pod_uids, o->uid);
    bool is_new = !p, is_news;
    enum run_state before;

    if (!p)
        p = pod_new(v, o, now_ms);
    before = p->state;
    p->is_gone = is_gone;
    p->is_deleting |= json_find(o->root, "metadata", "deletionTimestamp", NULL) != NULL;
    p->grace_s = json_i64(json_find(o->root, "spec", "terminationGracePeriodSeconds", NULL), 30);
    p->grace_s = p->grace_s < 0 ? 1 : p->grace_s; /* as the API has it */
    p->restarts = restarts_of(o->root);
    count(p, -1);
    p->state = state_of(p, o->root, is_gone);
    is_news = note_waiting(v, p, o->root) && !run_state_is_over(p->state);
    count(p, 1);
    note_times(p, before, now_ms);
    if (p->state == RUN_FAILED && before != RUN_FAILED)
        note_failure(v, p, o->root);
    v->changes++;
    if ((is_new || p->state != before || is_news) && v->hooks.pod)
        v->hooks.pod(v->hooks.ctx, p);
}

void run_view_changed(struct run_view *v, const struct object *o, bool is_gone, int64_t now_ms)
{
    const struct known_types *types = known_types();

    if (o->type == types->pod)
        pod_changed(v, o, is_gone, now_ms);
    else if (o->type == types->job)
        job_changed(v, o, is_gone, now_ms);
    else if (o->type == types->group)
        group_changed(v, o, is_gone);
    else if (o->type == types->event)
        event_changed(v, o, is_gone);
}

/* ---- asking ---- */

static void ask_one(struct run_view *v, struct sched *s, struct run_job *j, int64_t now_ms,
                    void (*changed)(void *ctx, const struct run_job *j), void *ctx)
{
    struct sched_group_view g;
    autobuf text = { 0 };

    if (run_job_is_over(j) || str_empty(j->group) || !sched_group_view(s, j->namespace, j->group, &g)) {
        j->why = WHY_NOT;
    } else {
        j->why = g.why->kind;
        if (j->why != WHY_NOT)
            why_print(&text, sched_dims(s), g.why);
    }
    if (str_eq(j->why_text, buf_view(&text)))
        return;
    if (!j->why_text.n)
        j->why_ms = now_ms;
    j->why_text = arena_str(&v->arena, buf_view(&text));
    v->changes++;
    if (changed)
        changed(ctx, j);
}

void run_view_ask(struct run_view *v, struct sched *s, int64_t now_ms,
                  void (*changed)(void *ctx, const struct run_job *j), void *ctx)
{
    VEC_FOREACH(j, &v->jobs)
        ask_one(v, s, *j, now_ms, changed, ctx);
}

bool run_view_is_over(const struct run_view *v)
{
    if (v->jobs.n < v->want_jobs)
        return false;
    VEC_FOREACH(j, &v->jobs)
        if (!run_job_is_over(*j))
            return false;
    if (v->jobs.n)
        return true;
    VEC_FOREACH(p, &v->pods)
        if (!run_state_is_over((*p)->state))
            return false;
    return v->pods.n > 0;
}

/* A container that cannot be made as things are: nobody here makes the ConfigMap it wants. */
static bool is_hopeless(const struct run_pod *p)
{
    return p->state == RUN_STARTING && p->waits.n && !str_is(p->waits, "CrashLoopBackOff");
}

/* The controller waits for somebody else to change something, and here is nobody else. */
static bool is_blocked(const struct run_job *j)
{
    static const char *const reasons[] = { "WaitingForName", "WaitingForClaim", "WaitingForPlugin", "WaitingForSpec" };

    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (str_is(j->reason, reasons[i]))
            return true;
    return false;
}

bool run_job_waits(const struct run_job *j)
{
    switch (j->why) {
    case WHY_NOT:
    case WHY_NOT_ENOUGH_PODS:
    case WHY_NOT_ENOUGH_OF_ROLE:
    case WHY_EVICTING:
    case WHY_NO_PODS_YET:
    case WHY_MAX:
        return false;
    default:
        return !run_job_is_over(j);
    }
}

/* It asks for no pods, so nothing of it ever ends. */
static bool is_empty(const struct run_job *j)
{
    VEC_FOREACH(t, &j->tasks)
        if ((*t)->replicas)
            return false;
    return true;
}

/* Too few pods for its gang, and the controller has none to make: those that are missing have ended. */
static bool is_short(const struct run_view *v, const struct run_job *j)
{
    int64_t want = 0;

    if (j->why != WHY_NOT_ENOUGH_PODS && j->why != WHY_NOT_ENOUGH_OF_ROLE)
        return false;
    VEC_FOREACH(t, &j->tasks)
        want += (*t)->replicas;
    VEC_FOREACH(p, &v->pods)
        want -= (*p)->job == j && !(*p)->is_gone;
    return want <= 0;
}

static void add_reason(struct buf *out, struct str label, struct str text, struct str more)
{
    if (out->n)
        buf_str(out, STR("; "));
    buf_fmt(out, "%.*s: %.*s%s%.*s", STR_ARG(label), STR_ARG(text), more.n ? ": " : "", STR_ARG(more));
}

bool run_view_is_stuck(const struct run_view *v, struct buf *ret_why)
{
    bool any = false;

    if (v->jobs.n < v->want_jobs)
        return false;
    VEC_FOREACH(at, &v->pods) {
        const struct run_pod *p = *at;

        if (run_state_is_over(p->state) || p->is_gone)
            continue;
        if (p->is_deleting || (p->state != RUN_PENDING && !is_hopeless(p)))
            return false;
        any = true;
    }
    VEC_FOREACH(at, &v->jobs) {
        const struct run_job *j = *at;
        const struct run_pod *hopeless = NULL;

        if (run_job_is_over(j))
            continue;
        VEC_FOREACH(p, &v->pods)
            if ((*p)->job == j && !(*p)->is_gone && is_hopeless(*p) && !hopeless)
                hopeless = *p;
        if (!phase_is_active(j->phase) ||
            (!hopeless && !is_blocked(j) && !run_job_waits(j) && !is_short(v, j) && !is_empty(j)))
            return false; /* while nothing runs, nothing is given back to those who wait */
        any = true;
        if (hopeless)
            add_reason(ret_why, hopeless->label, hopeless->waits, hopeless->waits_why);
        else if (is_blocked(j))
            add_reason(ret_why, j->label, j->message, STR_NULL);
        else if (is_empty(j))
            add_reason(ret_why, j->label, STR("it has no pods; set replicas of its tasks"), STR_NULL);
        else
            add_reason(ret_why, j->label, j->why_text, STR_NULL);
    }
    if (any && !ret_why->n) {
        VEC_FOREACH(p, &v->pods)
            if (!run_state_is_over((*p)->state) && !ret_why->n)
                add_reason(ret_why, (*p)->label, (*p)->waits.n ? (*p)->waits : STR("no node takes it"),
                           (*p)->waits_why);
    }
    return any;
}

/* ---- exit status ---- */

static int status_of(const struct run_pod *failed)
{
    return failed && failed->exit_code > 0 && failed->exit_code < 256 ? failed->exit_code : EXIT_FAILED;
}

size_t run_job_failed_pods(const struct run_job *j, size_t *ret_all)
{
    size_t n = 0;

    *ret_all = 0;
    VEC_FOREACH(t, &j->tasks) {
        n += (*t)->n[RUN_FAILED];
        for (int s = 0; s < RUN_STATE_MAX; s++)
            *ret_all += (*t)->n[s];
    }
    return n;
}

int run_view_status(const struct run_view *v, bool fail_on_any)
{
    const struct run_job *first = NULL;
    size_t all;

    VEC_FOREACH(j, &v->jobs)
        if ((!run_job_is_fine(*j) || (fail_on_any && run_job_failed_pods(*j, &all))) &&
            (!first || (*j)->ended_seq < first->ended_seq))
            first = *j;
    if (v->jobs.n)
        return first ? status_of(first->failed) : EXIT_FINE;
    VEC_FOREACH(p, &v->pods)
        if ((*p)->state != RUN_SUCCEEDED)
            return status_of(*p);
    return EXIT_FINE;
}
