/* hollow.c - bound pods start, run, end, and go when they were asked to */
#include "whatif/hollow.h"

#include "api/duration.h"
#include "api/meta.h"
#include "api/pod/status.h"
#include "base/clock.h"
#include "base/util.h"

enum hollow_step { STEP_NONE, STEP_START, STEP_END, STEP_GO };

struct hollow_pod {
    struct object *object; /* as told last; a reference */
    enum hollow_step step; /* what comes next */
    int64_t at_ms;
    uint64_t seq; /* pods that are due at one time act in the order they came */
    struct heap_node node;
    int64_t started_ms; /* finer than status.startTime; -1: another kubelet started it */
};

static int by_time(const struct heap_node *x, const struct heap_node *y)
{
    const struct hollow_pod *a = HEAP_ITEM(x, struct hollow_pod, node), *b = HEAP_ITEM(y, struct hollow_pod, node);

    if (a->at_ms != b->at_ms)
        return a->at_ms < b->at_ms ? -1 : 1;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

void hollow_init(struct hollow *h, const struct hollow_options *opt)
{
    *h = (struct hollow){ .opt = *opt };
    map_init(&h->pods, opt->seed);
    heap_init(&h->timers, by_time);
}

static void hollow_forget(struct hollow *h, struct hollow_pod *p)
{
    heap_remove(&h->timers, &p->node);
    map_remove(&h->pods, p->object->uid);
    object_unref(p->object);
    free(p);
}

void hollow_done(struct hollow *h)
{
    heap_done(&h->timers);
    MAP_FOREACH(struct hollow_pod *, p, &h->pods) {
        object_unref(p->object);
        free(p);
    }
    map_done(&h->pods);
}

int64_t annotation_ms(const struct json *object, const char *key)
{
    struct str text = object_annotation(object, key);
    int64_t ns;

    if (str_empty(text) || duration_parse(text, &ns, NULL) < 0 || ns < 0)
        return -1;
    return ns / 1000000;
}

/* ---- what comes next ---- */

static enum hollow_step hollow_next_step(const struct json *pod)
{
    struct str phase = json_member_text(json_get(pod, "status"), "phase");

    if (json_member_text(json_get(pod, "spec"), "nodeName").n == 0)
        return STEP_NONE;
    if (json_get(json_get(pod, "metadata"), "deletionTimestamp"))
        return STEP_GO;
    if (pod_has_ended(pod))
        return STEP_NONE;
    return str_is(phase, "Running") ? STEP_END : STEP_START;
}

/* A time of an object, or 'fallback' where it has none. */
static int64_t hollow_time_of(const struct json *parent, const char *key, int64_t fallback)
{
    int64_t ms;

    return clock_parse(json_member_text(parent, key), &ms, NULL) < 0 ? fallback : ms;
}

static int64_t add_ms(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static int64_t due_start(const struct hollow *h, const struct hollow_pod *p, int64_t now_ms)
{
    (void)p;
    return add_ms(now_ms, h->opt.start_ms);
}

/* A pod that has run for longer than it was said to run ends at once. */
static int64_t due_end(const struct hollow *h, const struct hollow_pod *p, int64_t now_ms)
{
    const struct json *pod = p->object->root;
    int64_t run_ms = h->opt.runtime_ms ? h->opt.runtime_ms(h->opt.ctx, pod) : annotation_ms(pod, RUNTIME_ANNOTATION);
    int64_t from_ms = p->started_ms >= 0 ? p->started_ms : hollow_time_of(json_get(pod, "status"), "startTime", now_ms);

    return run_ms < 0 ? INT64_MAX : MAX_OF(add_ms(from_ms, run_ms), now_ms);
}

/* The time in the object is the end of its grace: no pod lives longer. */
static int64_t due_go(const struct hollow *h, const struct hollow_pod *p, int64_t now_ms)
{
    int64_t last_ms = hollow_time_of(json_get(p->object->root, "metadata"), "deletionTimestamp", now_ms);

    if (pod_has_ended(p->object->root))
        return now_ms;
    return MAX_OF(MIN_OF(add_ms(now_ms, h->opt.stop_ms), last_ms), now_ms);
}

static int64_t (*const due[])(const struct hollow *h, const struct hollow_pod *p, int64_t now_ms) = {
    [STEP_START] = due_start,
    [STEP_END] = due_end,
    [STEP_GO] = due_go,
};

static void hollow_set_timer(struct hollow *h, struct hollow_pod *p, int64_t at_ms)
{
    heap_remove(&h->timers, &p->node);
    p->at_ms = at_ms;
    p->seq = ++h->seq;
    if (at_ms < INT64_MAX)
        heap_push(&h->timers, &p->node);
}

void hollow_put(struct hollow *h, const struct object *pod, int64_t now_ms)
{
    struct hollow_pod *p = map_get(&h->pods, pod->uid);
    enum hollow_step step = hollow_next_step(pod->root);
    struct object *old;

    if (step == STEP_NONE) {
        if (p)
            hollow_forget(h, p);
        return;
    }
    if (!p) {
        p = xcalloc(1, sizeof(*p));
        p->started_ms = -1;
    }
    old = p->object;
    p->object = object_ref(pod);
    map_put(&h->pods, p->object->uid, p); /* the key is a part of the object */
    object_unref(old);
    if (p->step == step) /* its timer runs, or its write is on its way */
        return;
    p->step = step;
    hollow_set_timer(h, p, due[step](h, p, now_ms));
}

void hollow_gone(struct hollow *h, struct str uid)
{
    struct hollow_pod *p = map_get(&h->pods, uid);

    if (p)
        hollow_forget(h, p);
}

int64_t hollow_due_ms(const struct hollow *h)
{
    const struct heap_node *first = heap_first(&h->timers);

    return first ? HEAP_ITEM(first, struct hollow_pod, node)->at_ms : INT64_MAX;
}

void hollow_failed(struct hollow *h, struct str uid, int64_t again_ms)
{
    struct hollow_pod *p = map_get(&h->pods, uid);

    if (p && !heap_has(&p->node))
        hollow_set_timer(h, p, again_ms);
}

/* ---- a status as a kubelet writes it ---- */

struct writing {
    struct arena *arena;
    const struct json *pod;
    struct str now, started;
    bool is_running; /* else it has ended well */
};

static struct str time_text(struct arena *a, int64_t ms)
{
    autobuf text = { 0 };

    clock_print(&text, ms);
    return arena_str(a, buf_view(&text));
}

static void hollow_add_text(struct arena *a, struct json *j, const char *key, struct str text)
{
    json_add(j, str_of(key), json_str(a, text));
}

static struct json *state_running(const struct writing *w)
{
    struct json *state = json_object(w->arena), *running = json_add(state, STR("running"), json_object(w->arena));

    hollow_add_text(w->arena, running, "startedAt", w->started);
    return state;
}

static struct json *state_over(const struct writing *w, struct str finished)
{
    struct json *state = json_object(w->arena), *over = json_add(state, STR("terminated"), json_object(w->arena));

    json_add(over, STR("exitCode"), json_int(w->arena, 0));
    hollow_add_text(w->arena, over, "reason", STR("Completed"));
    hollow_add_text(w->arena, over, "startedAt", w->started);
    hollow_add_text(w->arena, over, "finishedAt", finished);
    return state;
}

/* Init containers are over as soon as the pod runs. */
static void add_containers(const struct writing *w, struct json *status, const char *list, const char *statuses)
{
    struct arena *a = w->arena;
    bool is_init = strcmp(list, "containers") != 0, is_up = w->is_running && !is_init;
    const struct json *containers = json_find(w->pod, "spec", list, NULL);
    struct json *out;

    if (json_count(containers) == 0)
        return;
    out = json_set(status, statuses, json_array(a));
    JSON_FOREACH(c, containers) {
        struct json *one = json_push(out, json_object(a));

        hollow_add_text(a, one, "name", json_member_text(c, "name"));
        hollow_add_text(a, one, "image", json_member_text(c, "image"));
        hollow_add_text(a, one, "imageID", STR(""));
        json_add(one, STR("ready"), json_bool_new(a, is_up));
        json_add(one, STR("started"), json_bool_new(a, is_up));
        json_add(one, STR("restartCount"), json_int(a, 0));
        json_add(one, STR("state"), is_up ? state_running(w) : state_over(w, is_init ? w->started : w->now));
        json_add(one, STR("lastState"), json_object(a));
    }
}

static void set_condition(const struct writing *w, struct json *conditions, const char *type, bool is_true)
{
    struct arena *a = w->arena;
    const char *status = is_true ? "True" : "False";
    struct json *c = NULL;

    JSON_FOREACH(old, conditions)
        if (str_is(json_member_text(old, "type"), type))
            c = old;
    if (c && str_is(json_member_text(c, "status"), status))
        return;
    if (!c) {
        c = json_push(conditions, json_object(a));
        hollow_add_text(a, c, "type", str_of(type));
    }
    json_set(c, "status", json_str(a, str_of(status)));
    json_set(c, "lastTransitionTime", json_str(a, w->now));
    json_remove(c, "message");
    json_remove(c, "reason");
    if (!is_true)
        hollow_add_text(a, c, "reason", STR("PodCompleted"));
}

static void set_conditions(const struct writing *w, struct json *status)
{
    struct json *conditions = json_get(status, "conditions");

    if (!json_is(conditions, JSON_ARRAY))
        conditions = json_set(status, "conditions", json_array(w->arena));
    set_condition(w, conditions, "PodScheduled", true);
    set_condition(w, conditions, "Initialized", true);
    set_condition(w, conditions, "ContainersReady", w->is_running);
    set_condition(w, conditions, "Ready", w->is_running);
}

/* Addresses that look real; no connection is made to them. */
static void set_addresses(const struct writing *w, struct json *status, const struct hollow_pod *p)
{
    struct arena *a = w->arena;
    uint64_t host = str_hash(json_member_text(json_get(w->pod, "spec"), "nodeName"), 0), own = p->seq;
    struct str pod_ip = arena_fmt(a, "10.%u.%u.%u", (unsigned)(own >> 16 & 255), (unsigned)(own >> 8 & 255),
                                  (unsigned)(own & 255));
    struct json *ip;

    json_set(status, "hostIP", json_fmt(a, "192.168.%u.%u", (unsigned)(host >> 8 & 255), (unsigned)(host & 255)));
    json_set(status, "podIP", json_str(a, pod_ip));
    ip = json_push(json_set(status, "podIPs", json_array(a)), json_object(a));
    hollow_add_text(a, ip, "ip", pod_ip);
}

static struct json *make_status(const struct writing *w, const struct hollow_pod *p)
{
    const struct json *old = json_get(w->pod, "status");
    struct json *status = json_is(old, JSON_OBJECT) ? json_copy(w->arena, old) : json_object(w->arena);

    json_set(status, "phase", json_str(w->arena, w->is_running ? STR("Running") : STR("Succeeded")));
    json_remove(status, "nominatedNodeName");
    set_conditions(w, status);
    if (w->is_running) {
        json_set(status, "startTime", json_str(w->arena, w->now));
        set_addresses(w, status, p);
    }
    add_containers(w, status, "initContainers", "initContainerStatuses");
    add_containers(w, status, "containers", "containerStatuses");
    return status;
}

/* Only what the write is about: the store takes the rest from what it has. */
static struct json *make_body(const struct writing *w, const struct hollow_pod *p)
{
    struct arena *a = w->arena;
    struct json *body = object_new(a, "v1", "Pod", p->object->namespace, p->object->name),
                *meta = json_get(body, "metadata");

    hollow_add_text(a, meta, "uid", p->object->uid);
    hollow_add_text(a, meta, "resourceVersion", json_member_text(json_get(w->pod, "metadata"), "resourceVersion"));
    json_add(body, STR("status"), make_status(w, p));
    return body;
}

static struct op make_op(struct hollow_pod *p, int64_t now_ms, struct arena *a)
{
    const struct object *o = p->object;
    struct writing w = { .arena = a, .pod = o->root, .now = time_text(a, now_ms) };
    struct op op = { .type = o->type, .namespace = o->namespace, .name = o->name, .uid = o->uid };

    if (p->step == STEP_GO) {
        op.kind = OP_DELETE;
        return op;
    }
    w.is_running = p->step == STEP_START;
    w.started = w.is_running ? w.now : json_member_text(json_get(o->root, "status"), "startTime");
    if (str_empty(w.started))
        w.started = w.now;
    op.kind = OP_UPDATE_STATUS;
    op.body = make_body(&w, p);
    if (w.is_running)
        p->started_ms = now_ms;
    return op;
}

bool hollow_next(struct hollow *h, int64_t now_ms, struct arena *a, struct op *ret)
{
    struct hollow_pod *p;

    if (hollow_due_ms(h) > now_ms)
        return false;
    p = HEAP_ITEM(heap_pop(&h->timers), struct hollow_pod, node);
    *ret = make_op(p, now_ms, a);
    return true;
}
