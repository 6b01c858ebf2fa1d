/* queue.c - state and counters of a queue
 *
 * One write at a time: what comes of it is observed before the next. Where upstream's rules are listed as defects the
 * better one is here: only unfinished PodGroups keep a queue in Closing (Q3), a Closed queue that has some is Closing
 * again (Q5), a missing parent counts as root (Q8), a command stays until it was obeyed or refused with a warning.
 */
#include "controller/controller.h"

#include "api/meta.h"
#include "api/types.h"
#include "base/util.h"

#define QUEUE_API_VERSION    "scheduling.volcano.sh/v1beta1"
#define CLOSED_BY_PARENT_KEY "volcano.sh/closed-by-parent"

/* Counters are for people to read: once a second, with many PodGroups less often. */
enum { COUNTERS_MIN_MS = 1000, COUNTERS_MAX_MS = 10000, COUNTERS_EACH_MS = 50 };

static const struct resource_type *queue_type(void)
{
    return type_by_kind(STR(QUEUE_API_VERSION), STR("Queue"));
}

/* ---- states ---- */

enum controller_queue_state { STATE_NONE, STATE_OPEN, STATE_CLOSING, STATE_CLOSED, STATE_UNKNOWN, STATE_MAX };

static const char *const state_names[STATE_MAX] = { "", "Open", "Closing", "Closed", "Unknown" };

enum queue_request { REQUEST_SYNC, REQUEST_OPEN, REQUEST_CLOSE, REQUEST_MAX };

static const char *const request_actions[REQUEST_MAX] = { "SyncQueue", "OpenQueue", "CloseQueue" };

/* The state after a request. STATE_CLOSED stands for Closed or, while there are unfinished PodGroups, Closing. */
static const enum controller_queue_state machine[STATE_MAX][REQUEST_MAX] = {
    /*                    sync           open        close        */
    [STATE_NONE] = { STATE_OPEN, STATE_OPEN, STATE_CLOSED },
    [STATE_OPEN] = { STATE_OPEN, STATE_OPEN, STATE_CLOSED },
    [STATE_CLOSING] = { STATE_CLOSED, STATE_OPEN, STATE_CLOSED },
    [STATE_CLOSED] = { STATE_CLOSED, STATE_OPEN, STATE_CLOSED },
    [STATE_UNKNOWN] = { STATE_UNKNOWN, STATE_OPEN, STATE_CLOSED },
};

static struct str queue_state_text(const struct json *queue)
{
    return json_member_text(json_get(queue, "status"), "state");
}

static enum controller_queue_state queue_state_of(const struct json *queue)
{
    for (enum controller_queue_state s = 0; s < STATE_MAX; s++)
        if (str_is(queue_state_text(queue), state_names[s]))
            return s;
    return STATE_UNKNOWN; /* a text that is no state */
}

static bool state_is_shut(enum controller_queue_state s)
{
    return s == STATE_CLOSING || s == STATE_CLOSED;
}

static bool is_root(const struct json *queue)
{
    return str_is(object_name(queue), "root");
}

static enum controller_queue_state state_after(const struct queue_observed *o, enum queue_request request)
{
    enum controller_queue_state next = is_root(o->queue) ? STATE_OPEN : machine[queue_state_of(o->queue)][request];

    return next == STATE_CLOSED && (o->pending || o->inqueue || o->running || o->unknown) ? STATE_CLOSING : next;
}

/* ---- parents ---- */

static bool parent_is_shut(const struct queue_observed *o)
{
    return o->parent && !is_root(o->queue) && !is_root(o->parent) && state_is_shut(queue_state_of(o->parent));
}

static bool is_closed_by_parent(const struct queue_observed *o)
{
    return str_is(object_annotation(o->queue, CLOSED_BY_PARENT_KEY), "true");
}

/* The parent's state asks for this when there is no command. */
static enum queue_request request_of_parent(const struct queue_observed *o)
{
    bool is_shut = state_is_shut(queue_state_of(o->queue));

    if (parent_is_shut(o) && !is_shut)
        return REQUEST_CLOSE;
    if (!parent_is_shut(o) && is_shut && is_closed_by_parent(o))
        return REQUEST_OPEN;
    return REQUEST_SYNC;
}

/* ---- commands ---- the last one counts; those before it are out of date ---- */

static enum queue_request request_of_action(struct str action)
{
    for (enum queue_request r = 0; r < REQUEST_MAX; r++)
        if (str_is(action, request_actions[r]))
            return r;
    return REQUEST_SYNC;
}

/* Why a request cannot be done; NULL if it can. */
static const char *queue_refusal(const struct queue_observed *o, enum queue_request request)
{
    if (request == REQUEST_CLOSE && is_root(o->queue))
        return "the root queue cannot be closed";
    if (request == REQUEST_OPEN && parent_is_shut(o))
        return "the parent queue is closed; open that one first";
    return NULL;
}

/* The last command goes when it is alone: were it deleted before an older one, the older one would be obeyed next. */
static void drop_commands(const struct queue_observed *o, struct plan *plan)
{
    const struct resource_type *type = type_by_kind(STR("bus.volcano.sh/v1alpha1"), STR("Command"));
    size_t n = o->n_commands > 1 ? o->n_commands - 1 : o->n_commands;

    for (size_t i = 0; i < n; i++)
        plan_delete(plan,
                    (struct object_id){ type, o->commands[i].namespace, o->commands[i].name, o->commands[i].uid });
}

/* ---- writes ---- */

static void patch_queue(const struct queue_observed *o, const char *part, struct json *content, struct plan *plan)
{
    struct json *patch = json_object(plan->arena);

    json_add(patch, str_of(part), content);
    plan_patch(plan, (struct object_id){ queue_type(), STR_NULL, object_name(o->queue), object_uid(o->queue) }, patch);
}

static void set_parent_root(const struct queue_observed *o, struct plan *plan)
{
    struct json *spec = json_object(plan->arena);

    json_add(spec, STR("parent"), json_str(plan->arena, STR("root")));
    patch_queue(o, "spec", spec, plan);
}

static void set_closed_by_parent(const struct queue_observed *o, bool value, struct plan *plan)
{
    struct arena *a = plan->arena;
    struct json *meta = json_object(a), *annotations = json_add(meta, STR("annotations"), json_object(a));

    json_add(annotations, STR(CLOSED_BY_PARENT_KEY), json_str(a, value ? STR("true") : STR("false")));
    patch_queue(o, "metadata", meta, plan);
}

struct counter {
    const char *key;
    uint32_t n;
};

enum { COUNTERS = 5 };

static void counters_of(const struct queue_observed *o, struct counter ret[COUNTERS])
{
    const struct counter all[COUNTERS] = {
        { "pending", o->pending }, { "running", o->running },     { "inqueue", o->inqueue },
        { "unknown", o->unknown }, { "completed", o->completed },
    };

    memcpy(ret, all, sizeof(all));
}

static bool counters_differ(const struct queue_observed *o)
{
    struct counter counters[COUNTERS];

    counters_of(o, counters);
    for (size_t i = 0; i < COUNTERS; i++)
        if (json_i64(json_find(o->queue, "status", counters[i].key, NULL), 0) != counters[i].n)
            return true;
    return false;
}

static void set_counters(const struct queue_observed *o, struct arena *a, struct json *status)
{
    struct counter counters[COUNTERS];

    counters_of(o, counters);
    for (size_t i = 0; i < COUNTERS; i++)
        json_set(status, counters[i].key, json_int(a, counters[i].n));
}

/* A new state follows from all of the queue, so it is written only onto the version that was looked at. */
static void write_status(const struct queue_observed *o, enum controller_queue_state state, struct plan *plan)
{
    struct arena *a = plan->arena;
    struct json *queue = json_copy(a, o->queue), *status = json_get(queue, "status");

    if (!json_is(status, JSON_OBJECT))
        status = json_set(queue, "status", json_object(a));
    json_set(status, "state", json_str(a, str_of(state_names[state])));
    set_counters(o, a, status);
    plan_update_status(plan, queue_type(), queue);
}

/* Counters have no other writer, and status.allocated, which the scheduler writes, is none of them: no precondition, so
 * that the two never get into each other's way (D33). */
static void write_counters(const struct queue_observed *o, struct plan *plan)
{
    struct json *status = json_object(plan->arena);

    set_counters(o, plan->arena, status);
    plan_patch_status(plan, (struct object_id){ queue_type(), STR_NULL, object_name(o->queue), object_uid(o->queue) },
                      status);
}

/* ---- the plan ---- */

/* Update the main resource before the state changes: after a crash in between it must say who closed the queue. True if
 * something was missing. */
static bool plan_main(const struct queue_observed *o, enum queue_request command, enum queue_request request,
                      struct plan *plan)
{
    bool is_annotated = is_closed_by_parent(o), should_be = is_annotated;

    if (is_root(o->queue))
        return false;
    if (json_member_text(json_get(o->queue, "spec"), "parent").n == 0) {
        set_parent_root(o, plan);
        return true;
    }
    if (command == REQUEST_CLOSE) /* closed by hand: its parent must not open it again */
        should_be = false;
    else if (request == REQUEST_CLOSE)
        should_be = true;
    else if (!parent_is_shut(o) && !state_is_shut(queue_state_of(o->queue)))
        should_be = false;
    if (should_be == is_annotated)
        return false;
    set_closed_by_parent(o, should_be, plan);
    return true;
}

/* The commands were obeyed or refused: tell, and forget them. */
static void plan_answer(const struct queue_observed *o, enum queue_request request, const char *why_not,
                        struct plan *plan)
{
    if (o->n_commands == 0)
        return;
    if (why_not)
        plan_event_warning(plan, o->queue, request_actions[request], "%s refused: %s", request_actions[request],
                           why_not);
    else if (request == REQUEST_CLOSE)
        plan_event_normal(plan, o->queue, "CloseQueue", "Close queue succeed");
    drop_commands(o, plan);
}

static void plan_counters(const struct queue_observed *o, struct plan *plan)
{
    int64_t groups = (int64_t)o->pending + o->inqueue + o->running + o->unknown + o->completed;
    int64_t every_ms = MAX_OF(MIN_OF(groups * COUNTERS_EACH_MS, COUNTERS_MAX_MS), COUNTERS_MIN_MS);
    int64_t due_ms = o->status_ms ? o->status_ms + every_ms : 0;

    if (!counters_differ(o))
        return;
    /* A clock that was set back must not silence them for long. */
    if (plan->now_ms < due_ms && due_ms - plan->now_ms <= every_ms)
        plan_wake(plan, due_ms);
    else
        write_counters(o, plan);
}

void queue_plan(const struct queue_observed *o, struct plan *plan)
{
    enum queue_request command = o->n_commands ? request_of_action(o->commands[o->n_commands - 1].action)
                                               : REQUEST_SYNC,
                       request;
    const char *why_not = queue_refusal(o, command);
    enum controller_queue_state next;

    if (json_find(o->queue, "metadata", "deletionTimestamp", NULL))
        return;
    request = command == REQUEST_SYNC || why_not ? request_of_parent(o) : command;
    if (plan_main(o, command, request, plan))
        return;
    next = state_after(o, request);
    if (!str_is(queue_state_text(o->queue), state_names[next])) {
        write_status(o, next, plan);
        return; /* commands are answered when it has come back */
    }
    plan_counters(o, plan);
    plan_answer(o, command, why_not, plan);
}

/* ---- the queues that must exist ---- */

void queue_ensure(bool has_root, bool has_default, struct plan *plan)
{
    const struct {
        const char *name, *parent;
        bool exists, is_reclaimable;
    } queues[] = { { "root", NULL, has_root, false }, { "default", "root", has_default, true } };
    struct arena *a = plan->arena;

    for (size_t i = 0; i < ARRAY_LEN(queues); i++) {
        struct json *queue, *spec;

        if (queues[i].exists)
            continue;
        queue = object_new(a, QUEUE_API_VERSION, "Queue", STR_NULL, str_of(queues[i].name));
        spec = json_add(queue, STR("spec"), json_object(a));
        json_add(spec, STR("weight"), json_int(a, 1));
        json_add(spec, STR("reclaimable"), json_bool_new(a, queues[i].is_reclaimable));
        if (queues[i].parent)
            json_add(spec, STR("parent"), json_str(a, str_of(queues[i].parent)));
        plan_create(plan, queue_type(), queue);
    }
}
