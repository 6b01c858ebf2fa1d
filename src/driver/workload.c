/* workload.c - what is known of pods that belong to no Job, and of their controllers */
#include "driver/workload.h"

#include "api/meta.h"
#include "base/log.h"
#include "base/util.h"
#include "controller/controller.h"
#include "driver/driver_internal.h"

struct workload {
    struct list_link link;          /* workloads.list */
    struct list pods;               /* struct workload_pod.link */
    struct object *group;           /* NULL: none was seen */
    struct object *owner;           /* as it was read last; NULL: it was not */
    bool is_asked;                  /* the owner was read since the last of the pods came or went … */
    bool owner_is_gone;             /* … and was not there */
    struct str key, namespace, uid; /* the bytes follow this struct; key: "namespace/uid" */
};

struct workload_pod {
    struct list_link link; /* workload.pods */
    struct workload *workload;
    uint64_t rev;
    struct object *object; /* while it waits for a node; else NULL */
    struct str uid;        /* the bytes follow this struct */
};

void workloads_init(struct driver *d)
{
    map_init(&d->workloads.by_key, d->opt.seed);
    map_init(&d->workloads.pods, d->opt.seed);
    list_init(&d->workloads.list);
}

static void workload_free(struct workload *w)
{
    object_unref(w->group);
    object_unref(w->owner);
    free(w);
}

static void pod_free(struct workload_pod *p)
{
    object_unref(p->object);
    free(p);
}

void workloads_done(struct driver *d)
{
    MAP_FOREACH(struct workload_pod *, p, &d->workloads.pods)
        pod_free(p);
    LIST_FOREACH(struct workload, w, &d->workloads.list, link)
        workload_free(w);
    map_done(&d->workloads.by_key);
    map_done(&d->workloads.pods);
    relist_end(&d->workloads.told);
}

/* ---- entries ---- */

static void workload_touch(struct driver *d, const struct workload *w)
{
    work_queue_add(&d->queue, driver_key(d, KEY_WORKLOAD, w->key));
}

static struct workload *workload_need(struct driver *d, struct str namespace, struct str uid)
{
    autoarena scratch = { 0 };
    struct str key = arena_fmt(&scratch, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(uid));
    struct workload *w = map_get(&d->workloads.by_key, key);
    char *text;

    if (w)
        return w;
    w = xcalloc(1, sizeof(*w) + key.n);
    text = (char *)(w + 1);
    w->key = text_put(&text, key);
    w->namespace = str_sub(w->key, 0, namespace.n);
    w->uid = str_from(w->key, namespace.n + 1);
    list_init(&w->pods);
    list_push(&d->workloads.list, &w->link);
    map_put(&d->workloads.by_key, w->key, w);
    return w;
}

static void workload_let_go(struct driver *d, struct workload *w)
{
    if (w->group || !list_is_empty(&w->pods))
        return;
    work_queue_drop(&d->queue, driver_key(d, KEY_WORKLOAD, w->key));
    map_remove(&d->workloads.by_key, w->key);
    list_remove(&w->link);
    workload_free(w);
}

static void workload_changed(struct driver *d, struct workload *w)
{
    w->is_asked = false;
    workload_touch(d, w);
}

/* ---- pods ---- */

static bool workload_is_ours(const struct driver *d, const struct object *pod)
{
    return str_eq(json_member_text(json_get(pod->root, "spec"), "schedulerName"), d->opt.scheduler_name) &&
           str_empty(object_job_uid(pod->root));
}

static struct str workload_uid(const struct object *pod)
{
    struct str uid = object_controller_uid(pod->root);

    return uid.n ? uid : pod->uid;
}

/* It has no node yet, and no group but ours. */
static bool workload_waits(const struct object *pod, struct str uid)
{
    struct str phase = json_member_text(json_get(pod->root, "status"), "phase");
    struct str group = object_annotation(pod->root, GROUP_NAME_KEY);

    return (str_empty(phase) || str_is(phase, "Pending")) &&
           !json_member_text(json_get(pod->root, "spec"), "nodeName").n &&
           !json_find(pod->root, "metadata", "deletionTimestamp", NULL) &&
           (!group.n || (str_starts(group, STR("podgroup-")) && str_ends(group, uid)));
}

static struct workload_pod *workload_pod_new(struct driver *d, const struct object *o)
{
    struct workload_pod *p = xcalloc(1, sizeof(*p) + o->uid.n);
    char *text = (char *)(p + 1);

    p->uid = text_put(&text, o->uid);
    p->workload = workload_need(d, o->namespace, workload_uid(o));
    list_push(&p->workload->pods, &p->link);
    map_put(&d->workloads.pods, p->uid, p);
    return p;
}

static void pod_remove(struct driver *d, struct workload_pod *p)
{
    struct workload *w = p->workload;

    map_remove(&d->workloads.pods, p->uid);
    list_remove(&p->link);
    pod_free(p);
    workload_changed(d, w);
    workload_let_go(d, w);
}

static void workload_pod_put(struct driver *d, const struct object *o)
{
    struct workload_pod *p = map_get(&d->workloads.pods, o->uid);

    if (cache_is_buried(&d->cache, o->uid, o->rev) || (p && p->rev >= o->rev))
        return;
    if (!workload_is_ours(d, o) || (p && !str_eq(p->workload->uid, workload_uid(o)))) { /* let go, or adopted */
        if (p)
            pod_remove(d, p);
        p = NULL;
        if (!workload_is_ours(d, o))
            return;
    }
    if (!p) {
        p = workload_pod_new(d, o);
        workload_changed(d, p->workload);
    }
    p->rev = o->rev;
    object_unref(p->object);
    p->object = workload_waits(o, p->workload->uid) ? object_ref(o) : NULL;
    if (p->object && !object_annotation(o->root, GROUP_NAME_KEY).n)
        workload_touch(d, p->workload);
}

/* An answer through a door that shows less than the one that tells: only the name of the group is taken. */
static void pod_joined(struct driver *d, const struct object *o)
{
    struct workload_pod *p = map_get(&d->workloads.pods, o->uid);
    struct str group = object_annotation(o->root, GROUP_NAME_KEY);
    autoarena a = { 0 };
    struct json *tree;
    struct object *old;

    if (!p || !p->object || p->rev >= o->rev || !group.n)
        return;
    old = p->object;
    tree = json_copy(&a, old->root);
    object_set_annotation(&a, tree, GROUP_NAME_KEY, group);
    p->object = object_make(old->type, tree, old->rev); /* the watch reports all other changes */
    object_unref(old);
}

/* ---- lists ---- */

static void list_ended(struct driver *d, uint64_t rev)
{
    struct workloads *all = &d->workloads;
    VEC(struct workload_pod *) missing = { 0 };
    autoarena a = { 0 };

    if (!all->is_listing)
        return;
    if (!rev)
        rev = all->told.max_rev;
    LIST_FOREACH(struct workload, w, &all->list, link)
        LIST_FOREACH(struct workload_pod, p, &w->pods, link)
            if (!relist_has(&all->told, p->uid) && p->rev <= rev)
                *vec_push(&a, &missing) = p;
    for (size_t i = 0; i < missing.n; i++)
        pod_remove(d, missing.v[i]);
    relist_end(&all->told);
    all->is_listing = false;
    if (!all->is_synced)
        LIST_FOREACH(struct workload, w, &all->list, link)
            workload_touch(d, w);
    all->is_synced = true;
}

static void pod_event(struct driver *d, const struct cluster_event *ev)
{
    struct workloads *all = &d->workloads;
    struct workload_pod *p;

    if (ev->kind == CLUSTER_RELIST) {
        relist_begin(&all->told, d->opt.seed);
        all->is_listing = true;
    } else if (ev->kind == CLUSTER_SYNCED) {
        list_ended(d, ev->rev);
    } else if (ev->kind == CLUSTER_PUT) {
        if (all->is_listing) {
            relist_add(&all->told, ev->object->uid);
            all->told.max_rev = MAX_OF(all->told.max_rev, ev->object->rev);
        }
        workload_pod_put(d, ev->object);
    } else if (ev->kind == CLUSTER_GONE && (p = map_get(&all->pods, ev->object->uid))) {
        pod_remove(d, p);
    }
}

/* ---- groups and controllers ---- */

/* The workload whose group this is: named as we name them, and owned accordingly. */
static struct str group_uid(const struct object *group)
{
    struct str uid = object_controller_uid(group->root);

    return uid.n && str_starts(group->name, STR("podgroup-")) && str_ends(group->name, uid) &&
                   group->name.n == strlen("podgroup-") + uid.n
               ? uid
               : STR_NULL;
}

static void group_told(struct driver *d, const struct object *group, bool is_there)
{
    struct str uid = group_uid(group);
    struct object *before;
    struct workload *w;

    if (!uid.n)
        return;
    w = workload_need(d, group->namespace, uid);
    if (!w->group != !is_there) /* it appeared, or was deleted */
        workload_changed(d, w);
    before = w->group; /* which may be the one we were given */
    w->group = is_there ? object_ref(group) : NULL;
    object_unref(before);
    workload_let_go(d, w);
}

/* The cache knows which of them a list did not mention. */
static void groups_listed(struct driver *d)
{
    LIST_FOREACH(struct workload, w, &d->workloads.list, link) {
        const struct object *o = w->group ? cache_find(&d->cache, w->group->type, w->namespace, w->group->name) : NULL;

        if (w->group && (!o || !str_eq(o->uid, w->group->uid)))
            group_told(d, w->group, false);
    }
}

void workload_event(struct driver *d, const struct cluster_event *ev)
{
    if (ev->type == known_types()->pod)
        pod_event(d, ev);
    else if (ev->type != known_types()->group)
        return;
    else if (ev->kind == CLUSTER_PUT || ev->kind == CLUSTER_GONE)
        group_told(d, ev->object, ev->kind == CLUSTER_PUT);
    else if (ev->kind == CLUSTER_SYNCED)
        groups_listed(d);
}

static struct workload *owned_by(struct driver *d, const struct object *owner)
{
    autoarena scratch = { 0 };

    return map_get(&d->workloads.by_key,
                   arena_fmt(&scratch, "%.*s/%.*s", STR_ARG(owner->namespace), STR_ARG(owner->uid)));
}

void workload_seen(struct driver *d, const struct object *o)
{
    struct workload *w;

    if (o->type == known_types()->pod && d->opt.others)
        pod_joined(d, o);
    else if (o->type == known_types()->pod)
        workload_pod_put(d, o);
    else if (o->type == known_types()->group)
        group_told(d, o, true);
    else if (type_is_foreign(o->type) && (w = owned_by(d, o))) {
        object_unref(w->owner);
        w->owner = object_ref(o);
        w->is_asked = true;
        w->owner_is_gone = false;
    }
}

void workload_gone(struct driver *d, const struct resource_type *type, struct str uid)
{
    struct workload_pod *p = type == known_types()->pod ? map_get(&d->workloads.pods, uid) : NULL;

    if (p)
        pod_remove(d, p);
    if (type != known_types()->group && !type_is_foreign(type))
        return;
    LIST_FOREACH(struct workload, w, &d->workloads.list, link) {
        if (type_is_foreign(type) && str_eq(w->uid, uid)) {
            w->is_asked = w->owner_is_gone = true;
        } else if (type == known_types()->group && w->group && str_eq(w->group->uid, uid)) {
            group_told(d, w->group, false);
            return;
        }
    }
}

void workload_owner_hidden(struct driver *d, struct str key_rest)
{
    struct workload *w = map_get(&d->workloads.by_key, key_rest);

    if (!w)
        return;
    log_warn("Cannot read the owner of pods; creating their PodGroup without its settings",
             LOG_STR("workload", key_rest),
             LOG_TEXT("advice", "pumice install --dry-run --only roles | kubectl apply -f -"));
    w->is_asked = true;
}

/* ---- planning ---- */

static const struct json *owner_ref(const struct workload *w)
{
    LIST_FOREACH(struct workload_pod, p, &w->pods, link)
        if (p->object)
            return object_controller(p->object->root);
    return w->group ? object_controller(w->group->root) : NULL;
}

/* What the controller says is needed now: it is asked, unless it just was. */
static bool must_ask(struct driver *d, const struct workload *w, size_t n_pods)
{
    const struct json *ref = owner_ref(w);
    const struct resource_type *type;
    struct str key;

    if (w->is_asked || !workload_wants_owner(ref) || (!n_pods && !workload_can_shrink(ref)))
        return false;
    if (!n_pods && (!list_is_empty(&w->pods) || !w->group))
        return false;
    type = type_foreign(json_member_text(ref, "apiVersion"), json_member_text(ref, "kind"));
    key = arena_cat(&d->arena, STR(KEY_WORKLOAD), w->key);
    request_read(d, key, (struct object_id){ type, w->namespace, json_member_text(ref, "name"), w->uid });
    return true;
}

void workload_plan_key(struct driver *d, struct str key_rest, struct plan *plan)
{
    struct workload *w = map_get(&d->workloads.by_key, key_rest);
    struct workload_observed seen = { 0 };
    VEC(const struct json *) pods = { 0 };
    size_t n_new = 0;

    (void)plan->now_ms;
    if (!w || !d->workloads.is_synced)
        return;
    LIST_FOREACH(struct workload_pod, p, &w->pods, link) {
        seen.n_all++;
        if (!p->object)
            continue;
        *vec_push(plan->arena, &pods) = p->object->root;
        n_new += !object_annotation(p->object->root, GROUP_NAME_KEY).n;
    }
    if (must_ask(d, w, w->group ? n_new : pods.n) || w->owner_is_gone)
        return;
    seen.namespace = w->namespace;
    seen.uid = w->uid;
    seen.group = w->group ? w->group->root : NULL;
    seen.owner = w->is_asked && w->owner ? w->owner->root : NULL;
    seen.pods = pods.v;
    seen.n_pods = pods.n;
    workload_plan(&seen, plan);
}
