/* taints.c - sees to NoExecute taints, as controller/eviction.c plans it
 *
 * A pod that tolerates a taint for a while has that time from when the two were first seen together; it is not stored,
 * so a server that starts again counts anew.
 */
#include "server/server_internal.h"

#include "api/plan.h"
#include "api/pod/taint.h"
#include "base/log.h"

enum { TAINT_LOOK_MS = 1000 }; /* while there is such a taint: pods and tolerations come and go */

struct tainted_pod { /* it is tolerated for a while */
    int64_t since_ms;
    uint64_t seen;                   /* the look that found it last */
    struct str uid, namespace, name; /* the bytes follow */
};

struct taint_look {
    struct server *server;
    struct plan plan; /* evictions */
    int64_t now_ms, due_ms;
};

static const struct resource_type *node_type(void)
{
    return type_by_kind(STR("v1"), STR("Node"));
}

static const struct json *taints_of(const struct object *node)
{
    return node ? json_find(node->root, "spec", "taints", NULL) : NULL;
}

static void taints_find(void *is_on, const struct object *node)
{
    *(bool *)is_on |= taint_tolerated_s(taints_of(node), NULL) == 0;
}

/* ---- those that wait ---- */

static struct tainted_pod *tainted_need(struct server *s, const struct object *pod, int64_t now_ms)
{
    struct tainted_pod *t = map_get(&s->taints.waiting, pod->uid);
    char *text;

    if (t)
        return t;
    t = xcalloc(1, sizeof(*t) + pod->uid.n + pod->namespace.n + pod->name.n + 1);
    text = (char *)(t + 1);
    memcpy(text, pod->uid.p, pod->uid.n);
    memcpy(text + pod->uid.n, pod->namespace.p, pod->namespace.n);
    memcpy(text + pod->uid.n + pod->namespace.n, pod->name.p, pod->name.n);
    t->uid = (struct str){ text, pod->uid.n };
    t->namespace = (struct str){ text + pod->uid.n, pod->namespace.n };
    t->name = (struct str){ text + pod->uid.n + pod->namespace.n, pod->name.n };
    t->since_ms = now_ms;
    map_put(&s->taints.waiting, t->uid, t);
    return t;
}

static void taint_cancel(struct server *s, const struct tainted_pod *t)
{
    const struct object *pod = store_get(s->opt.store, type_by_kind(STR("v1"), STR("Pod")), t->namespace, t->name);
    autoarena a = { 0 };
    struct plan plan = { .arena = &a, .now_ms = clock_now_ms(s->opt.clock) };

    taint_cancel_plan(pod && str_eq(pod->uid, t->uid) ? pod->root : NULL, &plan);
    (void)control_apply(s, &plan); /* an Event that is lost is lost */
}

/* Pods whose taint was removed, or that tolerate it forever now. */
static void tainted_forget(struct server *s, bool all)
{
    MAP_FOREACH(struct tainted_pod *, t, &s->taints.waiting) {
        if (!all && t->seen == s->taints.looks)
            continue;
        if (!all)
            taint_cancel(s, t);
        map_remove(&s->taints.waiting, t->uid);
        free(t);
    }
}

/* ---- looking ---- */

static void taint_look_at(void *ctx, const struct object *pod)
{
    struct taint_look *look = ctx;
    struct server *s = look->server;
    struct str node = json_member_text(json_get(pod->root, "spec"), "nodeName");
    const struct tainted_pod *before = map_get(&s->taints.waiting, pod->uid);
    struct taint_observed seen = { .pod = pod->root };
    size_t n = look->plan.ops.n;

    if (!node.n)
        return;
    seen.taints = taints_of(store_get(s->opt.store, node_type(), STR_NULL, node));
    seen.together_ms = before ? look->now_ms - before->since_ms : 0;
    look->plan.wake_ms = 0;
    if (taint_plan(&seen, &look->plan))
        tainted_need(s, pod, look->now_ms)->seen = s->taints.looks;
    if (look->plan.wake_ms)
        look->due_ms = MIN_OF(look->due_ms, look->now_ms + look->plan.wake_ms - look->plan.now_ms);
    if (look->plan.ops.n > n)
        log_info("Deleting a pod that does not tolerate a NoExecute taint", LOG_STR("namespace", pod->namespace),
                 LOG_STR("pod", pod->name), LOG_STR("node", node));
}

/* Are there such taints at all? Looked at when a Node has changed. */
static bool taints_have_changed(struct server *s)
{
    struct watch_event ev;
    struct err e;
    bool has_news = !s->taints.watch;
    int rc = has_news ? -1 : 1;

    while (rc > 0 && (rc = watch_next(s->taints.watch, &ev, &e)) != 0)
        has_news = true;
    if (rc < 0) {
        watch_close(s->taints.watch);
        s->taints.watch = NULL;
        (void)watch_open(s->opt.store, node_type(), STR_NULL, 0, &s->taints.watch, &e); /* of now: always */
    }
    return has_news;
}

int64_t taints_turn(struct server *s)
{
    autoarena a = { 0 };
    struct taint_look look = {
        s, { .arena = &a, .now_ms = clock_now_ms(s->opt.clock) }, clock_mono_ms(s->opt.clock), 0
    };

    if (taints_have_changed(s)) {
        s->taints.is_on = false;
        store_list(s->opt.store, node_type(), STR_NULL, taints_find, &s->taints.is_on);
        s->taints.due_ms = look.now_ms;
    }
    if (!s->taints.is_on && map_count(&s->taints.waiting) == 0)
        return INT64_MAX;
    if (look.now_ms < s->taints.due_ms)
        return s->taints.due_ms - look.now_ms;
    look.due_ms = look.now_ms + TAINT_LOOK_MS;
    s->taints.looks++;
    store_list(s->opt.store, type_by_kind(STR("v1"), STR("Pod")), STR_NULL, taint_look_at, &look);
    control_own(&look.plan); /* forgetting writes */
    tainted_forget(s, false);
    (void)control_apply(s, &look.plan); /* else later */
    s->taints.due_ms = look.due_ms;
    return look.due_ms - look.now_ms;
}

void taints_done(struct server *s)
{
    tainted_forget(s, true);
    map_done(&s->taints.waiting);
    watch_close(s->taints.watch);
}
