/* taints.c - NoExecute taints: pods that do not tolerate those of their node are deleted
 *
 * As Kubernetes' taint manager has it. A pod goes at once when one of the taints is not tolerated, and when the shortest
 * tolerationSeconds of the tolerations that cover them has passed. That time counts from when the pod and the taint were
 * first seen together; it is not stored, so a server that starts again counts anew. Pods that have ended stay: nothing
 * of them runs on the node.
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
    struct held *pods; /* to be deleted */
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

static void taint_event(struct server *s, const struct object *pod, const char *what)
{
    autoarena a = { 0 };
    struct plan plan = { .arena = &a };
    struct op *op = plan_event(&plan, pod->root, "Normal", "TaintManagerEviction", clock_now_ms(s->opt.clock),
                               "%s Pod %.*s/%.*s", what, STR_ARG(pod->namespace), STR_ARG(pod->name));

    plan_event_from(&plan, op, STR("taint-eviction-controller"), STR_NULL);
    (void)store_apply(s->opt.store, op, NULL, NULL); /* an Event that is lost is lost */
}

/* Those whose taint is gone, or who tolerate it for ever by now. */
static void tainted_forget(struct server *s, bool all)
{
    MAP_FOREACH(struct tainted_pod *, t, &s->taints.waiting) {
        const struct object *pod;

        if (!all && t->seen == s->taints.looks)
            continue;
        pod = all ? NULL : store_get(s->opt.store, type_by_kind(STR("v1"), STR("Pod")), t->namespace, t->name);
        if (pod && str_eq(pod->uid, t->uid) && !json_find(pod->root, "metadata", "deletionTimestamp", NULL))
            taint_event(s, pod, "Cancelling deletion of");
        map_remove(&s->taints.waiting, t->uid);
        free(t);
    }
}

/* ---- looking ---- */

static void taint_look_at(void *ctx, const struct object *pod)
{
    struct taint_look *look = ctx;
    struct server *s = look->server;
    const struct json *spec = json_get(pod->root, "spec");
    struct str node = json_member_text(spec, "nodeName");
    int64_t seconds, due_ms;

    if (!node.n || json_find(pod->root, "metadata", "deletionTimestamp", NULL) || pod_has_ended(pod->root))
        return;
    seconds = taint_tolerated_s(taints_of(store_get(s->opt.store, node_type(), STR_NULL, node)),
                                json_get(spec, "tolerations"));
    if (seconds == INT64_MAX)
        return;
    if (seconds > 0) {
        struct tainted_pod *t = tainted_need(s, pod, look->now_ms);

        t->seen = s->taints.looks;
        due_ms = t->since_ms + MIN_OF(seconds, INT32_MAX) * 1000;
        if (look->now_ms < due_ms) {
            look->due_ms = MIN_OF(look->due_ms, due_ms);
            return;
        }
    }
    held_one(look->pods, pod);
}

static void taint_evict(struct server *s, const struct object *pod)
{
    autoarena a = { 0 };
    struct store_delete_options opt = { .uid = pod->uid, .grace_s = -1, .propagation = PROPAGATE_BACKGROUND };
    struct json *patch = json_object(&a), *status = json_set(patch, "status", json_object(&a)), *c;
    autobuf now = { 0 };

    log_info("Deleting a pod that does not tolerate a NoExecute taint", LOG_STR("namespace", pod->namespace),
             LOG_STR("pod", pod->name), LOG_STR("node", json_member_text(json_get(pod->root, "spec"), "nodeName")));
    taint_event(s, pod, "Marking for deletion");
    c = json_push(json_set(status, "conditions", json_array(&a)), json_object(&a));
    json_add(c, STR("type"), json_str(&a, STR("DisruptionTarget")));
    json_add(c, STR("observedGeneration"),
             json_int(&a, json_i64(json_find(pod->root, "metadata", "generation", NULL), 0)));
    json_add(c, STR("status"), json_str(&a, STR("True")));
    json_add(c, STR("reason"), json_str(&a, STR("DeletionByTaintManager")));
    json_add(c, STR("message"), json_str(&a, STR("Taint manager: deleting due to NoExecute taint")));
    clock_print(&now, clock_now_ms(s->opt.clock));
    json_add(c, STR("lastTransitionTime"), json_str(&a, buf_view(&now)));
    (void)store_apply(s->opt.store,
                      &(struct op){ .kind = OP_PATCH_STATUS,
                                    .type = pod->type,
                                    .namespace = pod->namespace,
                                    .name = pod->name,
                                    .uid = pod->uid,
                                    .body = patch },
                      NULL, NULL); /* it goes, with or without */
    (void)store_delete(s->opt.store, pod->type, pod->namespace, pod->name, &opt, NULL, NULL); /* else later */
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
    autoheld pods = { .arena = &a };
    struct taint_look look = { s, &pods, clock_mono_ms(s->opt.clock), 0 };

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
    tainted_forget(s, false);
    VEC_FOREACH(o, &pods.objects)
        taint_evict(s, *o);
    s->taints.due_ms = look.due_ms;
    return look.due_ms - look.now_ms;
}

void taints_done(struct server *s)
{
    tainted_forget(s, true);
    map_done(&s->taints.waiting);
    watch_close(s->taints.watch);
}
