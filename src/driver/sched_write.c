/* sched_write.c - decisions of the scheduler on their way to the cluster */
#include "driver/driver_internal.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"

enum { VOLUMES_MS = 600000 }; /* as long as Kubernetes' own scheduler waits for volumes */

enum { STATELESS_MS = 100 }; /* until a queue without a state is looked at again */

struct sched_write { /* what is wanted of one object */
    const struct resource_type *type;
    struct str key, namespace, name, uid; /* the bytes follow this struct */
    enum op_kind failed;                  /* what failed last and has not worked since; OP_KIND_MAX: nothing */
    int64_t rests_until;                  /* of run_ms: the back-off after that */

    /* Pods */
    struct buf node, sent_node; /* bind it to this node, empty: no; the node of the last binding sent */
    uint64_t turn;              /* in which the binding or eviction was decided */
    struct list_link waits;     /* schedule.waiting: for volumes, before it is bound … */
    bool is_told;               /* … which are to be made there: their claims know */
    int64_t patience_until;     /* of run_ms: then it is not waited for them any longer; 0: it is not waited */
    bool opens;                 /* remove its last gate */
    bool evicts, is_marked;     /* delete it; its conditions say so already */
    struct buf evict_reason, evict_for;
    bool has_nominee, has_refusal;
    struct buf nominee, refusal_reason, refusal_message;

    /* PodGroups and Queues */
    struct arena arena;  /* of the status */
    struct json *status; /* NULL: none is wanted */
    int64_t behind_ms;   /* PodGroups, of run_ms: since when its counters alone are behind; 0: they are not */

    uint64_t wished, sent; /* statuses, counted: is there a newer wish than the one that was sent? */
};

static void sched_write_free(struct sched_write *e)
{
    struct buf *const bufs[] = { &e->node,    &e->sent_node,      &e->evict_reason,   &e->evict_for,
                                 &e->nominee, &e->refusal_reason, &e->refusal_message };

    for (size_t i = 0; i < ARRAY_LEN(bufs); i++)
        buf_done(bufs[i]);
    arena_done(&e->arena);
    list_remove(&e->waits);
    free(e);
}

void sched_writes_init(struct driver *d)
{
    map_init(&d->schedule.writes, d->opt.seed);
    list_init(&d->schedule.waiting);
}

void sched_writes_done(struct driver *d)
{
    MAP_FOREACH(struct sched_write *, e, &d->schedule.writes)
        sched_write_free(e);
    map_done(&d->schedule.writes);
}

/* ---- decisions ---- */

static void sched_write_set_text(struct buf *b, struct str text)
{
    buf_reset(b);
    buf_str(b, text);
}

static struct object_id sched_write_id(const struct sched_write *e)
{
    return (struct object_id){ e->type, e->namespace, e->name, e->uid };
}

/* Valid until the next key is made. */
static struct str sched_write_key_of(struct driver *d, const struct resource_type *type, struct str namespace,
                                     struct str name, struct str uid)
{
    driver_key(d, KEY_SCHED, str_of(type->plural));
    buf_fmt(&d->key, "/%.*s/%.*s/%.*s", STR_ARG(uid), STR_ARG(namespace), STR_ARG(name));
    return buf_view(&d->key);
}

static struct sched_write *sched_write_need(struct driver *d, const struct resource_type *type,
                                            const struct decision *what)
{
    struct str key = sched_write_key_of(d, type, what->namespace, what->name, what->uid);
    struct sched_write *e = map_get(&d->schedule.writes, key);
    char *text;

    if (e)
        return e;
    e = xcalloc(1, sizeof(*e) + key.n + what->namespace.n + what->name.n + what->uid.n);
    text = (char *)(e + 1);
    e->type = type;
    e->failed = OP_KIND_MAX;
    e->key = text_put(&text, key);
    e->namespace = text_put(&text, what->namespace);
    e->name = text_put(&text, what->name);
    e->uid = text_put(&text, what->uid);
    map_put(&d->schedule.writes, e->key, e);
    return e;
}

static void sched_write_tell_pod(struct driver *d, const struct sched_write *e, const char *type, struct str reason,
                                 struct str message)
{
    schedule_tell(d, &(struct decision){ DECIDE_EVENT, e->namespace, e->name, e->uid, .event_kind = "Pod",
                                         .event_type = type, .reason = reason, .message = message });
}

static void wish_bind(struct driver *d, struct sched_write *e, const struct decision *what)
{
    if (e->evicts)
        return;
    sched_write_set_text(&e->node, what->node);
    e->is_told = false;
    e->turn = d->turn;
    if (e->failed == OP_BIND) /* why it failed is worth saying */
        return;
    e->has_refusal = false; /* any other refusal is over */
    e->rests_until = 0;
}

static void wish_evict(struct driver *d, struct sched_write *e, const struct decision *what)
{
    const struct sched_known *known = sched_feed_find(d, e->type, e->namespace, e->name, e->uid);
    const struct object *group;
    autobuf message = { 0 };

    if (e->evicts)
        return;
    e->evicts = true;
    e->has_refusal = e->has_nominee = false;
    if (e->failed == OP_BIND) /* the back-off of another wish */
        e->rests_until = 0;
    buf_reset(&e->node);
    e->turn = d->turn;
    sched_write_set_text(&e->evict_reason, what->reason);
    sched_write_set_text(&e->evict_for, what->other);
    buf_fmt(&message, "Pod is evicted, because of %.*s", STR_ARG(what->reason));
    sched_write_tell_pod(d, e, "Warning", STR("Evict"), buf_view(&message));
    group = known && known->group.n ? cache_find(&d->cache, known_types()->group, e->namespace, known->group) : NULL;
    if (group)
        schedule_tell(d, &(struct decision){ DECIDE_EVENT, group->namespace, group->name, group->uid,
                                             .event_kind = "PodGroup", .event_type = "Normal", .reason = STR("Evict"),
                                             .message = what->reason });
}

static void wish_open(struct driver *d, struct sched_write *e, const struct decision *what)
{
    (void)d, (void)what;
    e->opens = true;
}

static void wish_nominate(struct driver *d, struct sched_write *e, const struct decision *what)
{
    (void)d;
    e->has_nominee = true;
    sched_write_set_text(&e->nominee, what->node);
}

static void wish_pod_status(struct driver *d, struct sched_write *e, const struct decision *what)
{
    (void)d;
    e->has_refusal = true;
    sched_write_set_text(&e->refusal_reason, what->reason);
    sched_write_set_text(&e->refusal_message, what->message);
}

static void wish_status(struct driver *d, struct sched_write *e, const struct decision *what)
{
    (void)d;
    arena_reset(&e->arena);
    e->status = json_clone(&e->arena, what->status);
}

static const struct {
    const char *api_version, *kind;
    void (*wish)(struct driver *d, struct sched_write *e, const struct decision *what);
} wishes[DECISION_KIND_MAX] = {
    [DECIDE_BIND] = { "v1", "Pod", wish_bind },
    [DECIDE_EVICT] = { "v1", "Pod", wish_evict },
    [DECIDE_OPEN] = { "v1", "Pod", wish_open },
    [DECIDE_NOMINATE] = { "v1", "Pod", wish_nominate },
    [DECIDE_POD_STATUS] = { "v1", "Pod", wish_pod_status },
    [DECIDE_GROUP] = { "scheduling.volcano.sh/v1beta1", "PodGroup", wish_status },
    [DECIDE_QUEUE] = { "scheduling.volcano.sh/v1beta1", "Queue", wish_status },
};

void sched_write_add(struct driver *d, const struct decision *what)
{
    struct sched_write *e;

    if (!wishes[what->kind].wish) /* an Event */
        return;
    e = sched_write_need(d, type_by_kind(str_of(wishes[what->kind].api_version), str_of(wishes[what->kind].kind)),
                         what);
    e->wished++;
    wishes[what->kind].wish(d, e, what);
    work_queue_add(&d->queue, e->key);
}

/* ---- writes ---- */

static struct json *text_node(struct arena *a, struct str text)
{
    return json_str(a, arena_str(a, text));
}

static struct json *time_node(struct arena *a, int64_t ms)
{
    autobuf text = { 0 };

    clock_print(&text, ms);
    return text_node(a, buf_view(&text));
}

struct written_condition {
    const char *type, *status;
    struct str reason, message;
    int64_t since_ms;
    int64_t generation; /* metadata.generation of the pod when it was checked; 0: unknown */
};

static void sched_write_add_condition(struct arena *a, struct json *list, const struct written_condition *is)
{
    struct json *c = json_push(list, json_object(a));

    json_add(c, STR("type"), json_str(a, str_of(is->type)));
    json_add(c, STR("status"), json_str(a, str_of(is->status)));
    json_add(c, STR("reason"), text_node(a, is->reason));
    json_add(c, STR("message"), text_node(a, is->message));
    json_add(c, STR("lastTransitionTime"), time_node(a, is->since_ms));
    if (is->generation)
        json_add(c, STR("observedGeneration"), json_int(a, is->generation));
}

/* Require the pod to be unchanged: if it has ended or started meanwhile, the scheduler decides again. */
static void add_revision(struct arena *a, struct op *op, const struct sched_known *known)
{
    struct json *meta = json_add(op->body, STR("metadata"), json_object(a));

    json_add(meta, STR("resourceVersion"), json_fmt(a, "%llu", (unsigned long long)known->rev));
}

/* Write the conditions first, best effort; the answer has the revision that may be deleted. */
static void plan_evict(struct driver *d, struct sched_write *e, const struct sched_known *known, struct plan *plan)
{
    struct arena *a = plan->arena;
    struct json *status = json_object(a), *list = json_add(status, STR("conditions"), json_array(a));
    struct written_condition ready = { "Ready", "False", STR("Evict"), .since_ms = plan->now_ms,
                                       .generation = known->generation };
    struct written_condition disrupted = { "DisruptionTarget", "True", STR("PreemptionByScheduler"),
                                           .since_ms = plan->now_ms, .generation = known->generation };

    if (e->is_marked) {
        plan_delete(plan, sched_write_id(e))->rev = known->rev;
        return;
    }
    ready.message = arena_fmt(a, "Pod is evicted, because of %.*s", STR_ARG(buf_view(&e->evict_reason)));
    disrupted.message = arena_fmt(a, "%.*s: preempting to accommodate a higher priority pod",
                                  STR_ARG(d->opt.scheduler_name));
    sched_write_add_condition(a, list, &ready);
    sched_write_add_condition(a, list, &disrupted);
    add_revision(a, plan_patch_status(plan, sched_write_id(e), status), known);
    e->is_marked = true;
}

/* The eviction is cancelled. */
static void plan_unmark(struct sched_write *e, struct plan *plan)
{
    struct arena *a = plan->arena;
    struct json *status = json_object(a), *list = json_add(status, STR("conditions"), json_array(a));
    struct written_condition spared = { "DisruptionTarget", "False", STR("PreemptionByScheduler"),
                                        STR("the pod changed before it was evicted"), plan->now_ms };

    sched_write_add_condition(a, list, &spared);
    plan_patch_status(plan, sched_write_id(e), status)->is_best_effort = true;
    e->is_marked = false;
}

/* A pod gets no further gates once it exists, so none can be lost with this one. */
static void plan_open(const struct sched_write *e, struct plan *plan)
{
    struct json *patch = json_object(plan->arena), *spec = json_add(patch, STR("spec"), json_object(plan->arena));

    json_add(spec, STR("schedulingGates"), json_null(plan->arena));
    plan_patch(plan, sched_write_id(e), patch);
}

/* A refusal belongs to the pod as it was seen: were it bound meanwhile, the condition would be wrong. */
static void plan_pod_status(struct sched_write *e, const struct sched_known *known, struct plan *plan)
{
    struct arena *a = plan->arena;
    struct json *status = json_object(a);
    struct written_condition refused = { "PodScheduled",
                                         "False",
                                         buf_view(&e->refusal_reason),
                                         buf_view(&e->refusal_message),
                                         known->refused_ms ? known->refused_ms : plan->now_ms,
                                         known->generation };
    struct op *op;

    if (e->has_refusal)
        sched_write_add_condition(a, json_add(status, STR("conditions"), json_array(a)), &refused);
    if (e->has_nominee)
        json_add(status, STR("nominatedNodeName"), e->nominee.n ? text_node(a, buf_view(&e->nominee)) : json_null(a));
    op = plan_patch_status(plan, sched_write_id(e), status);
    if (e->has_refusal)
        add_revision(a, op, known);
    e->sent = e->wished;
}

/* ---- old decisions ---- */

/* The state changed since the decision: the scheduler, which has the new state, decides again. */
static void withdraw(struct driver *d, struct sched_write *e, enum decision_kind kind)
{
    struct decision what = { kind, e->namespace, e->name, e->uid, .node = buf_view(&e->node) };

    sched_failed(d->schedule.sched, &what, STR_NULL);
    d->schedule.has_news = true;
    if (kind == DECIDE_EVICT)
        e->evicts = false;
    else
        buf_reset(&e->node);
}

/* Drop decisions that no longer apply. */
static void sched_write_tidy(struct sched_write *e, const struct sched_known *known)
{
    if (known->is_going || known->is_over)
        e->evicts = e->has_nominee = false;
    if (known->is_going || known->is_over || known->is_bound) {
        e->has_refusal = e->opens = false;
        buf_reset(&e->node);
        e->failed = e->failed == OP_BIND ? OP_KIND_MAX : e->failed;
    }
}

/* A decision that waited was made with an older state: does the scheduler still want it? */
static void review(struct driver *d, struct sched_write *e)
{
    struct decision what = { e->evicts ? DECIDE_EVICT : DECIDE_BIND,
                             e->namespace,
                             e->name,
                             e->uid,
                             .node = buf_view(&e->node),
                             .reason = buf_view(&e->evict_reason),
                             .other = buf_view(&e->evict_for) };

    if ((e->evicts || e->node.n) && e->turn != d->turn && !sched_stands(d->schedule.sched, &what))
        withdraw(d, e, what.kind);
}

/* Handled like a refused binding. */
static void give_up_bind(struct driver *d, struct sched_write *e, const char *why)
{
    struct decision what = { DECIDE_BIND, e->namespace, e->name, e->uid, .node = buf_view(&e->node) };

    sched_failed(d->schedule.sched, &what, str_of(why));
    d->schedule.has_news = true;
    buf_reset(&e->node);
    e->failed = OP_BIND;
    e->rests_until = d->run_ms + work_queue_add_failed(&d->queue, e->key, d->run_ms);
}

/* Does it have its volumes? If not, request them, or wait for them. */
static bool has_volumes(struct driver *d, struct sched_write *e, struct plan *plan)
{
    struct claims_of_pod claims = { e->namespace, e->uid, buf_view(&e->node), e->is_told };
    enum claims_state state = sched_claims_plan(d, &claims, plan);

    e->is_told = state == CLAIMS_WAIT;
    list_remove(&e->waits);
    if (state == CLAIMS_WAIT && !e->patience_until)
        e->patience_until = d->run_ms + VOLUMES_MS;
    if (state == CLAIMS_LOST)
        give_up_bind(d, e, "a volume of its claims cannot be provisioned on that node");
    else if (state == CLAIMS_WAIT && d->run_ms >= e->patience_until)
        give_up_bind(d, e, "timed out after 10 minutes waiting for the volumes of its claims");
    else if (state == CLAIMS_WAIT) {
        list_push(&d->schedule.waiting, &e->waits);
        plan_wake(plan, plan->now_ms + e->patience_until - d->run_ms);
        return false;
    }
    e->is_told = false;
    e->patience_until = 0;
    return state == CLAIMS_FINE;
}

void sched_write_claim_told(struct driver *d, struct str namespace)
{
    LIST_FOREACH(struct sched_write, e, &d->schedule.waiting, waits)
        if (str_eq(e->namespace, namespace))
            work_queue_add(&d->queue, e->key);
}

/* The binding comes first, except that the refusal of a failed one is written before it. */
static void plan_pod(struct driver *d, struct sched_write *e, const struct sched_known *known, struct plan *plan)
{
    bool rests = d->run_ms < e->rests_until;

    sched_write_tidy(e, known);
    if (!rests)
        review(d, e);
    if (e->is_marked && !e->evicts && !known->is_going && !known->is_over) {
        plan_unmark(e, plan);
    } else if (e->has_refusal && !e->evicts && e->failed == OP_BIND) {
        plan_pod_status(e, known, plan);
    } else if (rests) {
        return;
    } else if (e->evicts) {
        plan_evict(d, e, known, plan);
    } else if (e->opens) {
        plan_open(e, plan);
    } else if (e->node.n && !has_volumes(d, e, plan)) {
        return;
    } else if (e->node.n) {
        sched_write_set_text(&e->sent_node, buf_view(&e->node));
        plan_bind(plan, e->namespace, e->name, e->uid, buf_view(&e->node));
    } else if (e->has_refusal || e->has_nominee) {
        plan_pod_status(e, known, plan);
    }
}

/* A merge leaves what the patch does not name: name what has to go. */
static void name_all(struct arena *a, struct json *patch, const struct json *old)
{
    JSON_FOREACH(member, old) {
        struct json *new = json_get_str(patch, json_key(member));

        if (!new)
            json_add(patch, arena_str(a, json_key(member)), json_null(a));
        else if (json_is(new, JSON_OBJECT) && json_is(member, JSON_OBJECT))
            name_all(a, new, member);
    }
}

static bool same_text(const struct json *a, const struct json *b, const char *key)
{
    return str_eq(json_member_text(a, key), json_member_text(b, key));
}

/* Apart from the wording: two schedulers may report different causes why the same gang waits. */
static bool says_the_same(const struct json *a, const struct json *b)
{
    static const char *const numbers[] = { "running", "succeeded", "failed" };
    const struct json *x = json_first(json_get(a, "conditions")), *y = json_first(json_get(b, "conditions"));

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (json_i64(json_get(a, numbers[i]), 0) != json_i64(json_get(b, numbers[i]), 0))
            return false;
    for (; x && y; x = x->next, y = y->next)
        if (!same_text(x, y, "type") || !same_text(x, y, "status"))
            return false;
    return !x && !y && same_text(a, b, "phase");
}

/* Its counters are current, or are part of a write that is sent now. */
static void counters_are_told(struct driver *d, struct sched_write *e)
{
    d->schedule.n_behind -= e->behind_ms != 0;
    e->behind_ms = 0;
}

/* Pods start and end one by one; a write for each of them would cost as much as placing it. So counters alone go by the
 * rule of those of Jobs: one in so long, of all PodGroups together. */
static bool may_counters_wait(struct driver *d, struct sched_write *e, struct plan *plan)
{
    int64_t wait_ms;

    if (!e->behind_ms) {
        e->behind_ms = MAX_OF(d->run_ms, 1);
        d->schedule.n_behind++;
    }
    wait_ms = MIN_OF((int64_t)d->schedule.n_behind * COUNTERS_APART_MS, COUNTERS_MOST_MS);
    if (d->run_ms >= e->behind_ms + wait_ms)
        return false;
    plan_wake(plan, plan->now_ms + e->behind_ms + wait_ms - d->run_ms);
    return true;
}

static void sched_write_plan_group(struct driver *d, struct sched_write *e, struct plan *plan)
{
    const struct object *group = cache_find(&d->cache, e->type, e->namespace, e->name);
    const struct json *now = group ? json_get(group->root, "status") : NULL;
    struct json *status = e->status, *patch;

    if (!status || (now && (json_equal(now, status) || (contest_is_on(d, group) && says_the_same(now, status))))) {
        e->status = NULL;
        counters_are_told(d, e);
        return;
    }
    if (json_is(now, JSON_OBJECT) && same_text(now, status, "phase") &&
        json_equal(json_get(now, "conditions"), json_get(status, "conditions")) && may_counters_wait(d, e, plan))
        return;
    counters_are_told(d, e);
    status = json_clone(plan->arena, status); /* the plan may outlive the wish */
    if (json_is(now, JSON_OBJECT))
        name_all(plan->arena, status, now);
    patch = json_object(plan->arena);
    json_add(patch, STR("status"), status);
    plan_patch(plan, sched_write_id(e), patch); /* it has no status subresource */
    e->sent = e->wished;
}

/* The first state of a queue is written onto the version that the controller has looked at: we do not get in between.
 */
static void plan_queue(struct driver *d, struct sched_write *e, struct plan *plan)
{
    const struct object *queue = cache_find(&d->cache, e->type, STR_NULL, e->name);
    struct json *status, *new = json_get(e->status, "allocated");
    const struct json *now = queue ? json_find(queue->root, "status", "allocated", NULL) : NULL;

    if (!new || (now && json_equal(now, new))) {
        e->status = NULL;
        return;
    }
    if (queue && !json_member_text(json_get(queue->root, "status"), "state").n) {
        plan_wake(plan, plan->now_ms + STATELESS_MS);
        return;
    }
    status = json_clone(plan->arena, e->status); /* the plan may outlive the wish */
    new = json_get(status, "allocated");
    if (json_is(new, JSON_OBJECT) && json_is(now, JSON_OBJECT))
        name_all(plan->arena, new, now);
    plan_patch_status(plan, (struct object_id){ e->type, STR_NULL, e->name, e->uid }, status);
    e->sent = e->wished;
}

void sched_write_object_gone(struct driver *d, const struct resource_type *type, const struct sched_known *object)
{
    struct str key = sched_write_key_of(d, type, object->namespace, object->name, object->uid);

    if (map_get(&d->schedule.writes, key))
        work_queue_add(&d->queue, key);
}

static void sched_write_end(struct driver *d, struct sched_write *e)
{
    counters_are_told(d, e);
    work_queue_forget(&d->queue, e->key);
    map_remove(&d->schedule.writes, e->key);
    sched_write_free(e);
}

static bool has_wishes(const struct sched_write *e)
{
    return e->evicts || e->opens || e->node.n || e->has_refusal || e->has_nominee || e->status;
}

void sched_write_plan(struct driver *d, struct str key_rest, struct plan *plan)
{
    struct sched_write *e = map_get(&d->schedule.writes, driver_key(d, KEY_SCHED, key_rest));
    const struct sched_known *known = e ? sched_feed_find(d, e->type, e->namespace, e->name, e->uid) : NULL;
    bool rests = e && d->run_ms < e->rests_until;

    if (!e)
        return;
    if (known && e->type == known_types()->pod)
        plan_pod(d, e, known, plan);
    else if (known && !rests && e->type == known_types()->group)
        sched_write_plan_group(d, e, plan);
    else if (known && !rests)
        plan_queue(d, e, plan);
    if (!known || (!has_wishes(e) && e->failed == OP_KIND_MAX)) /* the object was deleted, or all is done */
        sched_write_end(d, e);
    else if (rests)
        plan_wake(plan, plan->now_ms + e->rests_until - d->run_ms);
}

/* ---- answers ---- each says whether what was wanted is so ---- */

static void note_bound(struct driver *d, const struct sched_write *e)
{
    const struct sched_known *pod = sched_feed_find(d, e->type, e->namespace, e->name, e->uid);

    d->stats.binds++;
    if (pod && pod->created_ms)
        latency_add(&d->stats.bind_latency, (cluster_now_ms(d->cluster) - pod->created_ms) * 1000);
}

static bool bind_answered(struct driver *d, struct sched_write *e, const struct err *error, const struct object *seen)
{
    struct str node = buf_view(&e->sent_node);
    struct decision what = { DECIDE_BIND, e->namespace, e->name, e->uid, .node = node };
    bool is_on_node = seen && str_eq(seen->uid, e->uid) &&
                      str_eq(json_member_text(json_get(seen->root, "spec"), "nodeName"), node);
    bool is_bound = !error || is_on_node;
    autobuf message = { 0 };

    if (str_eq(buf_view(&e->node), node))
        buf_reset(&e->node);
    if (is_bound) {
        note_bound(d, e);
        buf_fmt(&message, "Successfully assigned %.*s/%.*s to %.*s", STR_ARG(e->namespace), STR_ARG(e->name),
                STR_ARG(node));
        sched_write_tell_pod(d, e, "Normal", STR("Scheduled"), buf_view(&message));
        return true;
    }
    d->stats.failed_binds++;
    log_debug("Binding failed", LOG_STR("pod", e->name), LOG_STR("node", node), LOG_TEXT("error", error->text));
    sched_failed(d->schedule.sched, &what, str_of(error->text));
    d->schedule.has_news = true;
    return false;
}

static bool delete_answered(struct driver *d, struct sched_write *e, const struct err *error, const struct object *seen)
{
    bool is_going = !error || (seen && (!str_eq(seen->uid, e->uid) ||
                                        json_find(seen->root, "metadata", "deletionTimestamp", NULL)));

    if (!is_going)
        return false;
    d->stats.evictions += e->evicts;
    e->evicts = false;
    return true;
}

static bool status_answered(struct driver *d, struct sched_write *e, const struct err *error, const struct object *seen)
{
    (void)d, (void)seen;
    if (error)
        return e->evicts && e->is_marked; /* the conditions are best effort */
    if (e->sent == e->wished) {
        e->has_refusal = e->has_nominee = false;
        e->status = NULL;
    }
    return true;
}

/* Of a pod: its gate was removed, or one of its claims or volumes was written. */
static bool patch_answered(struct driver *d, struct sched_write *e, const struct err *error, const struct object *seen)
{
    if (e->type != known_types()->pod)
        return status_answered(d, e, error, seen);
    e->is_told &= !error;
    e->opens &= error != NULL;
    return !error;
}

static bool (*const answers[OP_KIND_MAX])(struct driver *d, struct sched_write *e, const struct err *error,
                                          const struct object *seen) = {
    [OP_BIND] = bind_answered,
    [OP_DELETE] = delete_answered,
    [OP_PATCH_STATUS] = status_answered,
    [OP_MERGE_PATCH] = patch_answered,
};

void sched_write_answered(struct driver *d, struct str key, enum op_kind kind, const struct err *e,
                          const struct object *seen)
{
    struct sched_write *wish = map_get(&d->schedule.writes, key);

    if (!wish || !answers[kind])
        return;
    if (e && e->code == ERR_CONFLICT && wish->evicts) { /* the pod has changed since that was decided */
        wish->is_marked &= kind == OP_DELETE;
        wish->rests_until = d->run_ms + work_queue_add_failed(&d->queue, wish->key, d->run_ms);
        withdraw(d, wish, DECIDE_EVICT);
        return;
    }
    if (!answers[kind](d, wish, e, seen)) {
        wish->failed = kind;
        wish->rests_until = d->run_ms + work_queue_add_failed(&d->queue, wish->key, d->run_ms);
        return;
    }
    if (wish->failed == kind) {
        wish->failed = OP_KIND_MAX;
        work_queue_forget(&d->queue, wish->key);
    }
    work_queue_add(&d->queue, wish->key); /* anything else? */
}
