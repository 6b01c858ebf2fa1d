/* controllers.c - from a key to the controller that looks after it
 *
 * Each function puts together what its controller looks at and lets it add to the plan; sending is the same for all.
 */
#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "driver/driver_internal.h"

#include "job/native.h"
#include "job/policy.h"
#include "controller/controller.h"

/* ---- jobs ---- */

/* The newest True condition that says why a PodGroup is not (or no longer) fine. */
static void look_at_conditions(const struct json *group, struct podgroup_view *v)
{
    int64_t newest = INT64_MIN;

    JSON_FOREACH(c, json_find(group, "status", "conditions", NULL)) {
        int64_t ms = 0;

        if (!str_is(json_member_text(c, "status"), "True") || str_is(json_member_text(c, "type"), "Scheduled"))
            continue;
        (void)clock_parse(json_member_text(c, "lastTransitionTime"), &ms, NULL); /* none: the oldest */
        if (ms < newest)
            continue;
        newest = ms;
        v->condition = json_member_text(c, "type");
        v->condition_message = json_member_text(c, "message");
    }
}

static bool controllers_is_deleting(const struct object *o)
{
    return !str_empty(json_member_text(json_get(o->root, "metadata"), "deletionTimestamp"));
}

/* What kube-scheduler says of a PodGroup that it cannot place. */
static void look_at_native_conditions(const struct json *group, struct podgroup_view *v)
{
    const struct json *refusal = native_refusal(group);

    v->condition = json_member_text(refusal, "reason");
    v->condition_message = json_member_text(refusal, "message");
}

/* Which kind of PodGroup the job gets. A job that has pods keeps their kind: a pod cannot change its group, and half a
 * gang does not start. */
static bool wants_native(const struct driver *d, const struct cache_job *j)
{
    const struct job_pod *pod = LIST_FIRST(&j->pods.classes[POD_LIVE], struct job_pod, in_class);

    return pod ? pod->view.is_native : d->opt.native_groups;
}

/* A job has one PodGroup; where there are two (one of an older program, one on its way out, one of the kind that was
 * wanted before) take the one that stays, of those Volcano's, and of those the one named after the uid. */
static const struct object *controllers_group_of(const struct cache_job *j, bool is_native_wanted)
{
    const struct object *best = NULL;
    int best_score = -1;

    LIST_FOREACH(struct cached, o, &j->groups, in_owner) {
        bool is_native = o->object->type == known_types()->native_group;
        int score = (controllers_is_deleting(o->object) ? 0 : 4) + (is_native ? 0 : 2) +
                    str_ends(o->object->name, str_of(j->uid));

        if (score > best_score && (is_native_wanted || !is_native)) {
            best = o->object;
            best_score = score;
        }
    }
    return best;
}

static void controllers_look_at_group(const struct driver *d, const struct cache_job *j, struct job_observed *seen)
{
    const struct object *o = controllers_group_of(j, seen->wants_native);
    struct podgroup_view *v = &seen->group;

    if (!o && seen->wants_native && !d->opt.native_groups) /* it was wanted before, and its pods are in it */
        *v = (struct podgroup_view){ .exists = true, .is_native = true, .phase = STR("Inqueue") };
    if (!o)
        return;
    v->exists = true;
    v->is_deleting = controllers_is_deleting(o);
    v->uid = o->uid;
    v->raw = (struct json *)o->root; /* read only, as everything a planner gets */
    v->is_native = o->type == known_types()->native_group;
    if (v->is_native) {
        v->phase = STR("Inqueue"); /* no queue admits it: its pods may be created at once */
        look_at_native_conditions(o->root, v);
        return;
    }
    v->phase = json_member_text(json_get(o->root, "status"), "phase");
    look_at_conditions(o->root, v);
}

static int controllers_by_age(const void *x, const void *y)
{
    const struct object *a = *(const struct object *const *)x, *b = *(const struct object *const *)y;

    return (a->rev > b->rev) - (a->rev < b->rev);
}

struct commands {
    VEC(const struct object *) list;
};

/* Commands are never changed, so their revision tells which was made first. A list comes in order of names. */
static struct commands commands_of(struct arena *a, const struct list *list, struct str target_uid)
{
    struct commands all = { 0 };

    LIST_FOREACH(struct cached, o, list, in_owner) {
        struct str uid = json_member_text(json_get(o->object->root, "target"), "uid");

        if (str_eq(uid, target_uid))
            *vec_push(a, &all.list) = o->object;
    }
    if (all.list.n)
        qsort(all.list.v, all.list.n, sizeof(*all.list.v), controllers_by_age);
    return all;
}

static void look_at_commands(struct arena *a, const struct cache_job *j, struct job_observed *seen)
{
    struct commands all = commands_of(a, &j->commands, j->object->uid);
    VEC(struct command_view) list = { 0 };

    VEC_FOREACH(o, &all.list)
        *vec_push(a, &list) = (struct command_view){ (*o)->name, (*o)->uid, json_member_text((*o)->root, "action") };
    seen->commands = list.v;
    seen->n_commands = list.n;
}

static void look_at_owned(struct arena *a, const struct cache_job *j, struct job_observed *seen)
{
    VEC(struct owned_object) list = { 0 };

    LIST_FOREACH(struct cached, o, &j->owned, in_owner)
        if (o->object->type != known_types()->claim) /* claims outlive what plugins made */
            *vec_push(a, &list) = (struct owned_object){
                o->object->type, o->object->name, o->object->uid, controllers_is_deleting(o->object),
                str_eq(object_label(o->object->root, GATHER_LABEL), j->object->uid)
            };
    seen->owned = list.v;
    seen->n_owned = list.n;
}

static uint32_t create_window(const struct driver *d, struct cache_job *j)
{
    uint32_t room = d->n_writes < d->opt.max_in_flight ? d->opt.max_in_flight - (uint32_t)d->n_writes : 0;

    if (!j->drive.window)
        j->drive.window = MIN_OF((uint32_t)WINDOW_START, d->opt.max_in_flight);
    if (d->run_ms < j->drive.no_create_until || j->drive.n_creates >= j->drive.window)
        return 0;
    return MIN_OF(j->drive.window - j->drive.n_creates, room);
}

/* Trouble that ended without us: another client created the object, or it is no longer wanted. */
static void look_at_trouble(struct driver *d, struct cache_job *j, struct plan *plan)
{
    const struct resource_type *type = j->drive.failed_type;
    struct str name = buf_view(&j->drive.failed_name);
    bool is_there = false;

    if (!type || !j->drive.trouble.n)
        return;
    if (j->drive.failed_kind == OP_CREATE && type == known_types()->pod)
        is_there = pods_get(&j->pods, name);
    else if (j->drive.failed_kind == OP_CREATE)
        is_there = cache_find(&d->cache, type, j->job.meta.namespace, name);
    if (is_there || d->run_ms >= j->drive.trouble_until)
        driver_forget_failure(d, j);
    else
        plan_wake(plan, plan->now_ms + j->drive.trouble_until - d->run_ms);
}

/* The status remembers a pod that we have never seen. Read it before a policy takes it for evicted. */
static bool has_doubts(struct driver *d, const struct cache_job *j)
{
    struct str key = arena_fmt(&d->arena, KEY_JOB "%.*s", STR_ARG(j->job.meta.uid));
    bool any = false;

    for (size_t i = 0; i < j->pods.n_tasks && i < j->job.spec.tasks.n; i++) {
        const struct task_pods *t = &j->pods.tasks[i];
        uint32_t at = pods_next_doubtful(t, 0);

        if (at == UINT32_MAX ||
            policy_choose(&j->job, &j->job.spec.tasks.v[i], EVENT_POD_EVICTED, NULL, 0).action == ACTION_NONE)
            continue;
        for (; at != UINT32_MAX; at = pods_next_doubtful(t, at + 1), any = true)
            request_read_pod(d, key, j, i, at);
    }
    return any;
}

/* All that the job controller looks at; text and lists are in the plan's arena. */
static struct job_observed observe_job(struct driver *d, struct cache_job *j, const struct priority_source *priorities,
                                       struct plan *plan)
{
    struct job_observed seen = { .find = cache_job_find, .find_ctx = j, .priorities = priorities };

    cache_job_need_set(j);
    seen.job = &j->job;
    seen.set = j->set;
    seen.spec_problem = j->spec_problem;
    seen.pods = &j->pods;
    seen.wants_native = wants_native(d, j);
    controllers_look_at_group(d, j, &seen);
    seen.own_scheduler = d->opt.scheduler_name;
    look_at_commands(plan->arena, j, &seen);
    look_at_owned(plan->arena, j, &seen);
    seen.queue = cache_queue_state(j->queue);
    seen.objects_are_fine = j->drive.objects_are_fine;
    seen.stale_ms = j->drive.stale_ms;
    seen.counters_ms = MIN_OF((int64_t)d->n_stale * COUNTERS_APART_MS, COUNTERS_MOST_MS);
    seen.create_window = create_window(d, j);
    seen.trouble = buf_view(&j->drive.trouble);
    return seen;
}

static void plan_job(struct driver *d, struct str uid, struct plan *plan)
{
    struct cache_job *j = cache_job(&d->cache, uid);
    struct priority_source priorities = { .ctx = &d->cache, .value = cache_priority };
    struct job_observed seen;
    struct job_outcome outcome;

    if (!j || !j->object)
        return;
    requests_mark(d, j);
    if (has_doubts(d, j))
        return;
    look_at_trouble(d, j, plan);
    seen = observe_job(d, j, &priorities, plan);
    d->stats.job_plans++;
    outcome = job_plan(&seen, plan);
    j->drive.objects_are_fine = outcome.objects_are_fine;
    driver_set_stale(d, j, !outcome.has_stale_status ? 0 : j->drive.stale_ms ? j->drive.stale_ms : plan->now_ms);
    if (outcome.has_looked)
        pods_looked(&j->pods);
    if (plan->ops.n == 0)
        ttl_plan(&j->job, plan);
    if (d->run_ms < j->drive.no_create_until) /* the wait may have been cut short by an event */
        plan_wake(plan, plan->now_ms + j->drive.no_create_until - d->run_ms);
}

void driver_preview_job(struct driver *d, struct cache_job *j, struct plan *plan)
{
    struct priority_source priorities = { .ctx = &d->cache, .value = cache_priority };
    struct job_observed seen = observe_job(d, j, &priorities, plan);

    (void)job_plan(&seen, plan); /* what came of it is forgotten: this is only a look */
    if (plan->ops.n == 0)
        ttl_plan(&j->job, plan);
}

/* ---- queues, PodGroups, garbage ---- */

static void plan_queue(struct driver *d, struct str name, struct plan *plan)
{
    const struct cache_queue *q = cache_queue(&d->cache, name), *parent;
    struct queue_observed seen = { 0 };
    VEC(struct controller_command) commands = { 0 };
    struct commands all;

    if (!q || !q->self)
        return;
    seen.queue = q->self->object->root;
    seen.pending = q->counts[0];
    seen.inqueue = q->counts[1];
    seen.running = q->counts[2];
    seen.unknown = q->counts[3];
    seen.completed = q->counts[4];
    seen.status_ms = q->status_ms;
    all = commands_of(plan->arena, &q->commands, q->self->object->uid);
    VEC_FOREACH(o, &all.list)
        *vec_push(plan->arena, &commands) = (struct controller_command){ (*o)->namespace, (*o)->name, (*o)->uid,
                                                                         json_member_text((*o)->root, "action") };
    seen.commands = commands.v;
    seen.n_commands = commands.n;
    parent = cache_queue(&d->cache, json_member_text(json_get(seen.queue, "spec"), "parent"));
    seen.parent = parent && parent->self ? parent->self->object->root : NULL;
    queue_plan(&seen, plan);
}

static void plan_ensure(struct driver *d, struct str rest, struct plan *plan)
{
    const struct resource_type *queue = known_types()->queue;

    (void)rest, (void)plan->now_ms;
    queue_ensure(cache_find(&d->cache, queue, STR_NULL, STR("root")),
                 cache_find(&d->cache, queue, STR_NULL, STR("default")), plan);
}

static void controllers_plan_group(struct driver *d, struct str rest, struct plan *plan)
{
    const struct object *o;
    struct str namespace = STR_NULL;

    (void)plan->now_ms;
    (void)str_split(&rest, '/', &namespace);
    o = cache_find(&d->cache, known_types()->group, namespace, rest);
    if (o && !controllers_is_deleting(o))
        podgroup_plan(o->root, plan);
}

static void plan_garbage(struct driver *d, struct str uid, struct plan *plan)
{
    (void)plan->now_ms;
    if (d->opt.collects_garbage)
        garbage_plan(&d->garbage, uid, plan);
}

/* ---- all of them ---- */

static const struct {
    const char *prefix;
    void (*plan)(struct driver *d, struct str rest, struct plan *plan);
} controllers[] = {
    { KEY_JOB, plan_job },
    { KEY_QUEUE, plan_queue },
    { KEY_GROUP, controllers_plan_group },
    { KEY_GC, plan_garbage },
    { KEY_ENSURE, plan_ensure },
    { KEY_SCHED, sched_write_plan },
    { KEY_WORKLOAD, workload_plan_key },
    { KEY_FLOW, flow_plan_key },
    { KEY_TEMPLATE, template_plan_key },
    { KEY_CRON, cron_plan_key },
};

/* A pod that is younger than the Job we know may be wanted by a Job we have not heard of: a larger size, the next
 * attempt. One that went since then may have gone because the Job is no more. Before the one is deleted, or the other
 * is made again, the Job is read afresh. */
static bool must_ask(struct driver *d, struct str key, const struct plan *plan)
{
    struct cache_job *j = driver_key_job(d, key);
    uint64_t newest = 0;

    if (!j || !j->object)
        return false;
    VEC_FOREACH(op, &plan->ops)
        if (op->type == known_types()->pod)
            newest = MAX_OF(newest, op->kind == OP_CREATE ? j->drive.gone_rev : op->rev);
    if (newest <= MAX_OF(j->object->rev, j->drive.confirmed_rev))
        return false;
    j->drive.confirmed_rev = newest; /* the key waits until the answer is there */
    request_read(d, key,
                 (struct object_id){ known_types()->job, j->object->namespace, j->object->name, j->object->uid });
    return true;
}

static void send_all(struct driver *d, struct str key, const struct plan *plan)
{
    if (must_ask(d, key, plan))
        return;
    for (size_t i = 0; i < plan->ops.n; i++) {
        int64_t wait_ms = contest_wait(d, &plan->ops.v[i]);

        if (wait_ms) { /* so does the rest: writes of a plan go out in order */
            work_queue_add_at(&d->queue, key, d->run_ms + wait_ms);
            return;
        }
        if (d->is_full) { /* the rest is planned again when there is room */
            work_queue_add(&d->queue, key);
            return;
        }
        request_send(d, key, &plan->ops.v[i]);
    }
}

/* Nothing is left to do: what failed before is no longer wanted, or has worked. A job that must not create now may only
 * be waiting. */
static void all_is_well(struct driver *d, struct str key)
{
    struct cache_job *j = driver_key_job(d, key);

    if (str_starts(key, STR(KEY_SCHED))) /* they know best */
        return;
    if (!j) {
        work_queue_forget(&d->queue, key);
        return;
    }
    if (d->run_ms < j->drive.no_create_until || j->drive.n_creates)
        return;
    if (j->drive.trouble.n)
        work_queue_add(&d->queue, key); /* the status may say so still */
    driver_forget_failure(d, j);
}

void driver_plan_key(struct driver *d, struct str key)
{
    struct plan plan = { .arena = &d->arena, .now_ms = d->last_now_ms };

    if (request_is_busy(d, key)) /* it is added again when the last answer is there */
        return;
    arena_reset(&d->arena);
    d->planned = key;
    for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
        if (str_starts(key, str_of(controllers[i].prefix))) {
            controllers[i].plan(d, str_from(key, strlen(controllers[i].prefix)), &plan);
            break;
        }
    d->stats.plans++;
    if (plan.ops.n == 0)
        all_is_well(d, key);
    if (plan.wake_ms)
        work_queue_add_at(&d->queue, key, d->run_ms + MAX_OF(plan.wake_ms - plan.now_ms, 1));
    send_all(d, key, &plan);
}
