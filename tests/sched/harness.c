/* harness.c - rounds: ask the scheduler, carry out what it decides, look at what came of it */
#include "harness.h"

#include "base/clock.h"
#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

enum { START_MS = 1700000000 };

/* A test that fails leaves its cluster behind; it goes with the next one, so that only real leaks are reported. */
static struct h *alive[8];

static void free_left_over(void)
{
    for (size_t i = 0; i < ARRAY_LEN(alive); i++)
        if (alive[i])
            h_free(alive[i]);
}

static void remember(struct h *h)
{
    static bool is_registered;
    size_t i = 0;

    if (!is_registered)
        (void)atexit(free_left_over);
    is_registered = true;
    while (alive[i] && i < ARRAY_LEN(alive) - 1)
        i++;
    if (alive[i]) {
        free_left_over();
        i = 0;
    }
    alive[i] = h;
}

struct h *h_new(void (*configure)(struct sched_config *c))
{
    struct h *h = xcalloc(1, sizeof(*h));

    remember(h);
    sched_config_default(&h->config);
    if (configure)
        configure(&h->config);
    h->now_ms = (int64_t)START_MS * 1000;
    h->has_trace = getenv("SCHED_TRACE") != NULL;
    h->s = sched_new(&h->config, 1);
    h_queue(h, "root", "weight: 1, reclaimable: false");
    h_queue(h, "default", "weight: 1");
    return h;
}

void h_free(struct h *h)
{
    for (size_t i = 0; i < ARRAY_LEN(alive); i++)
        if (alive[i] == h)
            alive[i] = NULL;
    sched_free(h->s);
    VEC_FOREACH(at, &h->list) {
        arena_done(&(*at)->arena);
        free(*at);
    }
    map_done(&h->objects);
    buf_done(&h->story);
    arena_done(&h->arena);
    free(h);
}

void h_restart(struct h *h)
{
    sched_free(h->s);
    h->s = sched_new(&h->config, 2);
    VEC_FOREACH(at, &h->list)
        if (!(*at)->is_gone)
            sched_put(h->s, (*at)->root);
}

void h_pass(struct h *h, int64_t ms)
{
    h->now_ms += ms;
}

/* ---- carrying out ---- */

static struct json *now_json(struct h *h, struct h_object *o)
{
    autobuf text = { 0 };

    clock_print(&text, h->now_ms);
    return json_str(&o->arena, arena_str(&o->arena, buf_view(&text)));
}

static struct json *text_json(struct h_object *o, struct str s)
{
    return json_str(&o->arena, arena_str(&o->arena, s));
}

static struct json *condition_of(struct h_object *o, const char *type)
{
    JSON_FOREACH(c, json_find(o->root, "status", "conditions", NULL))
        if (str_is(json_member_text(c, "type"), type))
            return c;
    return NULL;
}

static void set_condition(struct h *h, struct h_object *o, const char *type, const char *status, struct str reason,
                          struct str message)
{
    struct json *c = condition_of(o, type);

    if (!c) {
        struct json *list = json_need_array(&o->arena, json_need_object(&o->arena, o->root, "status"), "conditions");

        c = json_push(list, json_object(&o->arena));
        json_set(c, "type", json_str(&o->arena, str_of(type)));
    }
    json_set(c, "status", json_str(&o->arena, str_of(status)));
    json_set(c, "reason", text_json(o, reason));
    json_set(c, "message", text_json(o, message));
    json_set(c, "lastTransitionTime", now_json(h, o));
}

static const char *const kind_of_object[DECISION_KIND_MAX] = {
    [DECIDE_BIND] = "Pod",       [DECIDE_EVICT] = "Pod",      [DECIDE_OPEN] = "Pod",    [DECIDE_NOMINATE] = "Pod",
    [DECIDE_POD_STATUS] = "Pod", [DECIDE_GROUP] = "PodGroup", [DECIDE_QUEUE] = "Queue",
};

static const char *const decision_names[DECISION_KIND_MAX] = {
    [DECIDE_BIND] = "bind",      [DECIDE_EVICT] = "evict", [DECIDE_OPEN] = "open",   [DECIDE_NOMINATE] = "nominate",
    [DECIDE_POD_STATUS] = "pod", [DECIDE_GROUP] = "group", [DECIDE_QUEUE] = "queue", [DECIDE_EVENT] = "event",
};

static struct h_object *object_of(struct h *h, const struct decision *d)
{
    char key[512];
    int n = snprintf(key, sizeof(key), "%s/%.*s/%.*s", kind_of_object[d->kind],
                     d->kind == DECIDE_QUEUE ? 0 : (int)d->namespace.n, d->namespace.p ? d->namespace.p : "",
                     STR_ARG(d->name));
    struct h_object *o = map_get(&h->objects, (struct str){ key, (size_t)n });

    if (!o)
        fail_msg("a decision about %s, which is not there", key);
    if (!str_empty(d->uid) && !str_eq(d->uid, json_member_text(json_get(o->root, "metadata"), "uid")))
        fail_msg("a decision about another %s", key);
    return o;
}

static void do_bind(struct h *h, struct h_object *o, const struct decision *d)
{
    char key[512];
    int n = snprintf(key, sizeof(key), "Node//%.*s", STR_ARG(d->node));

    if (json_get(json_get(o->root, "spec"), "nodeName"))
        fail_msg("%.*s is bound twice", STR_ARG(d->name));
    if (json_find(o->root, "metadata", "deletionTimestamp", NULL))
        fail_msg("%.*s is being deleted and was bound", STR_ARG(d->name));
    if (!map_get(&h->objects, (struct str){ key, (size_t)n }))
        fail_msg("%.*s is bound to %.*s, which is not there", STR_ARG(d->name), STR_ARG(d->node));
    json_set(json_get(o->root, "spec"), "nodeName", text_json(o, d->node));
    set_condition(h, o, "PodScheduled", "True", STR_NULL, STR_NULL);
}

static void do_evict(struct h *h, struct h_object *o, const struct decision *d)
{
    set_condition(h, o, "DisruptionTarget", "True", STR("PreemptionByScheduler"), d->message);
    if (!json_find(o->root, "metadata", "deletionTimestamp", NULL))
        json_set(json_get(o->root, "metadata"), "deletionTimestamp", now_json(h, o));
}

static void do_nominate(struct h *h, struct h_object *o, const struct decision *d)
{
    struct json *status = json_need_object(&o->arena, o->root, "status");

    (void)h;
    if (str_empty(d->node))
        json_remove(status, "nominatedNodeName");
    else
        json_set(status, "nominatedNodeName", text_json(o, d->node));
}

static void do_pod_status(struct h *h, struct h_object *o, const struct decision *d)
{
    set_condition(h, o, "PodScheduled", "False", d->reason, d->message);
}

static void do_group(struct h *h, struct h_object *o, const struct decision *d)
{
    autobuf text = { 0 };
    struct json *copy;
    struct err e;

    (void)h;
    json_print(&text, d->status); /* through text: nothing of the round's memory may stay in the object */
    if (json_parse(&o->arena, arena_str(&o->arena, buf_view(&text)), NULL, &copy, &e) < 0)
        fail_msg("status of %.*s: %s", STR_ARG(d->name), e.text);
    json_set(o->root, "status", copy);
}

static void do_queue(struct h *h, struct h_object *o, const struct decision *d)
{
    struct json *status = json_need_object(&o->arena, o->root, "status");
    autobuf text = { 0 };
    struct json *copy;
    struct err e;

    (void)h;
    json_print(&text, json_get(d->status, "allocated"));
    if (json_parse(&o->arena, arena_str(&o->arena, buf_view(&text)), NULL, &copy, &e) < 0)
        fail_msg("status of queue %.*s: %s", STR_ARG(d->name), e.text);
    json_set(status, "allocated", copy);
}

static void do_open(struct h *h, struct h_object *o, const struct decision *d)
{
    (void)h;
    if (json_count(json_find(o->root, "spec", "schedulingGates", NULL)) != 1)
        fail_msg("%.*s has other gates, or none", STR_ARG(d->name));
    json_remove(json_get(o->root, "spec"), "schedulingGates");
}

static void (*const doers[DECISION_KIND_MAX])(struct h *h, struct h_object *o, const struct decision *d) = {
    [DECIDE_BIND] = do_bind,         [DECIDE_EVICT] = do_evict,           [DECIDE_OPEN] = do_open,
    [DECIDE_NOMINATE] = do_nominate, [DECIDE_POD_STATUS] = do_pod_status, [DECIDE_GROUP] = do_group,
    [DECIDE_QUEUE] = do_queue,
};

static void keep_event(struct h *h, const struct decision *d)
{
    struct h_event *ev = vec_push(&h->arena, &h->events);

    ev->kind = arena_str(&h->arena, str_of(d->event_kind));
    ev->type = arena_str(&h->arena, str_of(d->event_type));
    ev->name = arena_str(&h->arena, d->name);
    ev->reason = arena_str(&h->arena, d->reason);
    ev->message = arena_str(&h->arena, d->message);
}

void h_story(struct buf *out, const struct decision *d)
{
    buf_fmt(out, "%s %.*s/%.*s", decision_names[d->kind], STR_ARG(d->namespace), STR_ARG(d->name));
    if (d->kind == DECIDE_EVENT)
        buf_fmt(out, " (%s)", d->event_kind);
    if (!str_empty(d->node))
        buf_fmt(out, " -> %.*s", STR_ARG(d->node));
    if (!str_empty(d->reason))
        buf_fmt(out, " [%.*s]", STR_ARG(d->reason));
    if (!str_empty(d->other))
        buf_fmt(out, " for %.*s", STR_ARG(d->other));
    if (!str_empty(d->message))
        buf_fmt(out, ": %.*s", STR_ARG(d->message));
    if (d->status) {
        buf_char(out, ' ');
        json_print(out, d->status);
    }
    buf_char(out, '\n');
}

static bool is_failing(const struct h *h, const struct decision *d)
{
    return !str_empty(h->fails) && d->kind == h->fails_kind && str_eq(d->name, h->fails);
}

uint32_t h_round(struct h *h)
{
    struct sched_round round = { 0 };
    uint32_t n;

    sched_round(h->s, h->now_ms, &round);
    if (!h->is_quick)
        sched_check(h->s);
    h->last = (struct h_counts){ 0 };
    h->wake_ms = round.wake_ms;
    buf_reset(&h->story);
    VEC_FOREACH(d, &round.list) {
        assert_true(d->kind < DECISION_KIND_MAX);
        h->last.n[d->kind]++;
        h->all.n[d->kind]++;
        h_story(&h->story, d);
        if (h->on_decision)
            h->on_decision(h, d);
        if (h->is_silent)
            continue;
        if (d->kind == DECIDE_EVENT) {
            keep_event(h, d);
        } else if (is_failing(h, d)) {
            sched_failed(h->s, d, STR("it did not work"));
        } else {
            struct h_object *o = object_of(h, d);

            doers[d->kind](h, o, d);
            h_tell(h, o);
        }
    }
    if (h->has_trace && h->story.n)
        printf("---- round at %lld ms\n%s", (long long)(h->now_ms - (int64_t)START_MS * 1000), h->story.p);
    assert_int_equal(round.n_bound, h->last.n[DECIDE_BIND]);
    assert_int_equal(round.n_evicted, h->last.n[DECIDE_EVICT]);
    n = (uint32_t)round.list.n;
    arena_done(&round.arena);
    if (!h->is_quick)
        sched_check(h->s);
    return n;
}

void h_settle(struct h *h)
{
    for (int i = 0; i < 30; i++)
        if (h_round(h) == 0)
            return;
    fail_msg("the scheduler finds no rest; it decides again and again:\n%s", h->story.p);
}

void h_work(struct h *h, int64_t ms, int64_t step_ms)
{
    for (int64_t end = h->now_ms + ms; h->now_ms < end; h_pass(h, step_ms)) {
        h_settle(h);
        h_run(h);
        h_finish_deletes(h);
    }
    h_settle(h);
}

void h_fail(struct h *h, enum decision_kind kind, const char *name)
{
    h->fails = str_of(name);
    h->fails_kind = kind;
}

/* ---- pods, looked through ---- */

static struct str group_of(const struct h_object *o)
{
    return json_member_text(json_find(o->root, "metadata", "annotations", NULL), "scheduling.k8s.io/group-name");
}

static struct str phase_of(const struct h_object *o)
{
    return json_member_text(json_get(o->root, "status"), "phase");
}

static bool has_node(const struct h_object *o)
{
    return !str_empty(json_member_text(json_get(o->root, "spec"), "nodeName"));
}

static bool is_finished(const struct h_object *o)
{
    return str_is(phase_of(o), "Succeeded") || str_is(phase_of(o), "Failed");
}

static bool is_going(const struct h_object *o)
{
    return json_find(o->root, "metadata", "deletionTimestamp", NULL) != NULL;
}

static bool is_pod_of(const struct h_object *o, const char *group)
{
    return !o->is_gone && str_is(o->kind, "Pod") && (!group || str_is(group_of(o), group));
}

void h_run(struct h *h)
{
    for (size_t i = 0; i < h->list.n; i++) {
        struct h_object *o = h->list.v[i];

        if (is_pod_of(o, NULL) && has_node(o) && !is_going(o) && str_is(phase_of(o), "Pending"))
            h_phase(h, o->name.p, "Running");
    }
}

void h_phase_all(struct h *h, const char *group, const char *phase)
{
    for (size_t i = 0; i < h->list.n; i++) {
        struct h_object *o = h->list.v[i];

        if (is_pod_of(o, group) && has_node(o) && !is_finished(o))
            h_phase(h, o->name.p, phase);
    }
}

int h_finish_deletes(struct h *h)
{
    int n = 0;

    for (size_t i = 0; i < h->list.n; i++) {
        struct h_object *o = h->list.v[i];

        if (is_pod_of(o, NULL) && is_going(o)) {
            h_gone(h, o);
            n++;
        }
    }
    return n;
}

static bool counts_as_bound(const struct h_object *o)
{
    return has_node(o) && !is_finished(o) && !is_going(o);
}

int h_bound(struct h *h, const char *group)
{
    int n = 0;

    VEC_FOREACH(at, &h->list)
        n += is_pod_of(*at, group) && counts_as_bound(*at);
    return n;
}

int h_bound_all(struct h *h, const char *prefix, int n)
{
    int sum = 0;

    for (int i = 0; i < n; i++) {
        char name[32];

        snprintf(name, sizeof(name), "%s%d", prefix, i);
        sum += h_bound(h, name);
    }
    return sum;
}

int h_bound_role(struct h *h, const char *group, const char *role)
{
    int n = 0;

    VEC_FOREACH(at, &h->list)
        n += is_pod_of(*at, group) && counts_as_bound(*at) &&
             str_is(json_member_text(json_find((*at)->root, "metadata", "annotations", NULL), "volcano.sh/task-spec"),
                    role);
    return n;
}

int h_waiting(struct h *h, const char *group)
{
    int n = 0;

    VEC_FOREACH(at, &h->list)
        n += is_pod_of(*at, group) && !has_node(*at);
    return n;
}

int h_going(struct h *h, const char *group)
{
    int n = 0;

    VEC_FOREACH(at, &h->list)
        n += is_pod_of(*at, group) && is_going(*at);
    return n;
}

struct str h_text(const struct h_object *o, const char *path)
{
    struct err e;

    return o ? json_text(json_path(o->root, str_of(path), &e), STR_NULL) : STR_NULL;
}

struct str h_node_of(struct h *h, const char *pod)
{
    return h_text(h_get(h, "Pod", pod), "spec.nodeName");
}

struct str h_nominated(struct h *h, const char *pod)
{
    return h_text(h_get(h, "Pod", pod), "status.nominatedNodeName");
}

struct str h_group_phase(struct h *h, const char *group)
{
    return h_text(h_get(h, "PodGroup", group), "status.phase");
}

struct json *h_condition(struct h *h, const char *kind, const char *name, const char *type)
{
    struct h_object *o = h_get(h, kind, name);

    return o ? condition_of(o, type) : NULL;
}

struct str h_said(struct h *h, const char *kind, const char *name, const char *type)
{
    return json_member_text(h_condition(h, kind, name, type), "message");
}

int h_events(struct h *h, const char *kind, const char *name, const char *reason)
{
    int n = 0;

    VEC_FOREACH(ev, &h->events)
        n += str_is(ev->kind, kind) && (!name || str_is(ev->name, name)) && str_is(ev->reason, reason);
    return n;
}

void h_assert_text(struct str got, const char *want, const char *file, int line)
{
    if (!str_is(got, want)) {
        print_error("\"%.*s\" is not \"%s\"\n", STR_ARG(got), want);
        _fail(file, line);
    }
}

void h_assert_has(struct str got, const char *part, const char *file, int line)
{
    if (!str_has(got, str_of(part))) {
        print_error("\"%.*s\" has no \"%s\"\n", STR_ARG(got), part);
        _fail(file, line);
    }
}
