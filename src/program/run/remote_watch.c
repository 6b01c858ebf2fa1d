/* remote_watch.c - the eyes of a run whose objects are a server's
 *
 * A cluster (cluster.h) in front of one cluster_kube for each namespace. Of all that those tell it tells what belongs to
 * the run, once, as one row of changes in the order of revisions:
 *
 *     watches ──ours?──▶ fresh ──a moment later, by revision──▶ queue ──its output was read──▶ told
 *
 * A change in the queue that must wait holds up those behind it.
 */
#include "program/run/remote.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "driver/cache.h"
#include "kube/cluster.h"
#include "kube/path.h"

#include <poll.h>
#include <sys/epoll.h>

enum {
    GATHER_MS = 40,   /* watches of one server are not further apart … */
    REUNITE_MS = 500, /* … unless they have just been opened again, one after the other */
    HOLD_MS = 10000,  /* for output, or for the job of a pod */
    AGAIN_MS = 500,   /* a deletion that failed is tried again */
    HOMELESS = 10000, /* objects whose owner is not known yet */
};

struct remote_watch_seen { /* a change */
    struct list_link link;
    bool is_gone;
    struct object *object;
    int64_t at_ms, held_ms; /* mono; held: -1, not yet */
};

struct known { /* an object of ours that is there */
    struct object *object;
    const struct door *door;
};

struct remote_watch_wish { /* a deletion that was not answered yet */
    struct list_link link;
    struct arena arena;
    struct op op;
    struct door *door;
    uint64_t token; /* 0: it is to be sent again, at 'due_ms' */
    int64_t due_ms;
};

struct door { /* to one namespace */
    struct cluster *cluster;
    struct str namespace;
    struct kube_view *views;
    size_t n_views, n_synced;
    struct relist *lists; /* one for each view */
    bool *is_synced;
};

struct remote_eyes {
    struct cluster cluster; /* first */
    struct run_remote *remote;
    VEC(struct door *) doors;
    struct map known;         /* struct known by uid */
    struct list fresh, queue; /* struct remote_watch_seen */
    struct list homeless;     /* … whose owner may turn out to be ours */
    size_t n_homeless;
    bool has_flows;
    struct list wishes;
    struct map jobs;     /* uids of jobs that were reported */
    struct object *lent; /* reported last */
    struct arena arena;
    int64_t apart_ms; /* mono: when a watch was last seen to be broken; 0: never */
};

static int64_t remote_watch_mono(void)
{
    return clock_mono_ms(&clock_real);
}

static struct remote_eyes *eyes_of(struct cluster *c)
{
    return (struct remote_eyes *)c;
}

/* ---- what comes ---- */

static void seen_free(struct remote_watch_seen *s)
{
    list_remove(&s->link);
    object_unref(s->object);
    free(s);
}

static struct remote_watch_seen *seen_new(const struct object *o, bool is_gone)
{
    struct remote_watch_seen *s = xcalloc(1, sizeof(*s));

    s->object = object_ref(o);
    s->is_gone = is_gone;
    s->at_ms = remote_watch_mono();
    s->held_ms = -1;
    return s;
}

static void remote_watch_forget(struct remote_eyes *y, struct known *k)
{
    (void)map_remove(&y->known, k->object->uid);
    object_unref(k->object);
    free(k);
}

static void remote_watch_keep(struct remote_eyes *y, const struct door *d, const struct object *o)
{
    struct known *k = map_get(&y->known, o->uid);

    if (!k) {
        k = xcalloc(1, sizeof(*k));
        k->door = d;
    } else {
        (void)map_remove(&y->known, o->uid);
    }
    object_unref(k->object);
    k->object = object_ref(o);
    map_put(&y->known, k->object->uid, k);
}

static void remote_watch_take(struct remote_eyes *y, const struct door *d, const struct object *o, bool is_gone)
{
    struct known *k = map_get(&y->known, o->uid);

    if (!is_gone && k && o->rev <= k->object->rev) /* told again, by a list */
        return;
    if (is_gone && !k)
        return;
    list_push(&y->fresh, &seen_new(o, is_gone)->link);
    if (o->type == known_types()->pod && !is_gone)
        remote_pod_seen(y->remote, o);
    if (is_gone)
        remote_watch_forget(y, k);
    else
        remote_watch_keep(y, d, o);
}

/* Jobs that a flow has made are ours from when they are seen; their pods may be seen before. */
static void adopt_homeless(struct remote_eyes *y, const struct door *d)
{
    LIST_FOREACH(struct remote_watch_seen, s, &y->homeless, link)
        if (remote_is_ours(y->remote, s->object)) {
            remote_watch_take(y, d, s->object, s->is_gone);
            seen_free(s);
            y->n_homeless--;
        }
}

static void remote_watch_change(struct remote_eyes *y, const struct door *d, const struct object *o, bool is_gone)
{
    if (remote_is_ours(y->remote, o)) {
        remote_watch_take(y, d, o, is_gone);
        if (o->type == known_types()->job && y->n_homeless)
            adopt_homeless(y, d);
    } else if (y->has_flows && y->n_homeless < HOMELESS && object_controller_uid(o->root).n) {
        list_push(&y->homeless, &seen_new(o, is_gone)->link);
        y->n_homeless++;
    }
}

/* Objects that a list lacks were deleted while there was no watch. */
static void drop_unlisted(struct remote_eyes *y, const struct door *d, const struct resource_type *type,
                          const struct relist *list)
{
    VEC(struct object *) gone = { 0 };
    autoarena a = { 0 };

    MAP_FOREACH(struct known *, k, &y->known)
        if (k->door == d && k->object->type == type && !relist_has(list, k->object->uid))
            *vec_push(&a, &gone) = object_ref(k->object);
    VEC_FOREACH(o, &gone) {
        remote_watch_take(y, d, *o, true);
        object_unref(*o);
    }
}

static struct remote_watch_wish *wish_of(struct remote_eyes *y, const struct door *d, uint64_t token)
{
    LIST_FOREACH(struct remote_watch_wish, w, &y->wishes, link)
        if (w->door == d && w->token == token)
            return w;
    return NULL;
}

static void wish_free(struct remote_watch_wish *w)
{
    list_remove(&w->link);
    arena_done(&w->arena);
    free(w);
}

/* A deletion was answered: what never came is sent again. */
static void remote_watch_answered(struct remote_eyes *y, const struct door *d, const struct cluster_event *ev)
{
    struct remote_watch_wish *w = wish_of(y, d, ev->token);

    if (!w)
        return;
    if (ev->err.code == ERR_IO || ev->is_unknown) {
        w->token = 0;
        w->due_ms = remote_watch_mono() + AGAIN_MS;
        return;
    }
    if (ev->err.code == ERR_FORBIDDEN)
        run_say(y->remote->run, arena_fmt(&w->arena, "%s %.*s cannot be deleted: %s", w->op.type->kind,
                                          STR_ARG(w->op.name), ev->err.text));
    wish_free(w);
}

static void remote_watch_hear(struct remote_eyes *y, struct door *d, const struct cluster_event *ev)
{
    size_t i = 0;

    while (i < d->n_views && d->views[i].type != ev->type)
        i++;
    switch (ev->kind) {
    case CLUSTER_RESULT:
        remote_watch_answered(y, d, ev);
        break;
    case CLUSTER_RELIST:
        relist_begin(&d->lists[i], map_seed_default());
        break;
    case CLUSTER_SYNCED:
        drop_unlisted(y, d, ev->type, &d->lists[i]);
        relist_end(&d->lists[i]);
        d->n_synced += !d->is_synced[i];
        d->is_synced[i] = true;
        break;
    case CLUSTER_PUT:
    case CLUSTER_GONE:
        relist_add(&d->lists[i], ev->object->uid);
        remote_watch_change(y, d, ev->object, ev->kind == CLUSTER_GONE);
        break;
    default:
        break;
    }
}

static void send_again(struct remote_eyes *y)
{
    LIST_FOREACH(struct remote_watch_wish, w, &y->wishes, link)
        if (!w->token && remote_watch_mono() >= w->due_ms)
            w->token = cluster_write(w->door->cluster, &w->op);
}

static void remote_watch_pump(struct remote_eyes *y)
{
    struct cluster_event ev;
    struct err e;

    send_again(y);
    VEC_FOREACH(d, &y->doors)
        while (cluster_next((*d)->cluster, &ev))
            remote_watch_hear(y, *d, &ev);
    if (remote_eyes_trouble(y->remote, &e))
        y->apart_ms = remote_watch_mono();
}

void remote_eyes_hear(struct run_remote *m)
{
    remote_watch_pump(m->eyes);
}

/* ---- in order ---- */

static int by_revision(const void *x, const void *y)
{
    const struct remote_watch_seen *a = *(struct remote_watch_seen *const *)x,
                                   *b = *(struct remote_watch_seen *const *)y;

    return a->object->rev < b->object->rev ? -1 : a->object->rev > b->object->rev;
}

/* When fresh changes can be reported: all earlier ones have arrived by then. */
static int64_t fresh_due(const struct remote_eyes *y)
{
    const struct remote_watch_seen *first = LIST_FIRST(&y->fresh, struct remote_watch_seen, link);

    if (!first)
        return INT64_MAX;
    return MAX_OF(first->at_ms + GATHER_MS, y->apart_ms ? y->apart_ms + REUNITE_MS : 0);
}

static void sort_fresh(struct remote_eyes *y)
{
    VEC(struct remote_watch_seen *) all = { 0 };
    autoarena a = { 0 };

    if (remote_watch_mono() < fresh_due(y))
        return;
    LIST_FOREACH(struct remote_watch_seen, s, &y->fresh, link)
        *vec_push(&a, &all) = s;
    qsort(all.v, all.n, sizeof(*all.v), by_revision);
    VEC_FOREACH(s, &all) {
        list_remove(&(*s)->link);
        list_push(&y->queue, &(*s)->link);
    }
}

static bool is_before_its_job(const struct remote_eyes *y, const struct object *o)
{
    JSON_FOREACH(owner, json_find(o->root, "metadata", "ownerReferences", NULL))
        if (str_is(json_member_text(owner, "kind"), JOB_KIND) && !map_get(&y->jobs, json_member_text(owner, "uid")))
            return true;
    return false;
}

/* What a container said comes before what became of it, and a job before its pods. */
static bool must_wait(struct remote_eyes *y, struct remote_watch_seen *s)
{
    bool is_unread = s->object->type == known_types()->pod && !remote_pod_is_read(y->remote, s->object, s->is_gone);

    if (!is_unread && !is_before_its_job(y, s->object))
        return false;
    if (s->held_ms < 0)
        s->held_ms = remote_watch_mono();
    return remote_watch_mono() < s->held_ms + HOLD_MS;
}

static bool eyes_next(struct cluster *c, struct cluster_event *ret)
{
    struct remote_eyes *y = eyes_of(c);
    struct remote_watch_seen *s;

    sort_fresh(y);
    s = LIST_FIRST(&y->queue, struct remote_watch_seen, link);
    if (!s || must_wait(y, s))
        return false;
    object_unref(y->lent);
    y->lent = object_ref(s->object);
    *ret = (struct cluster_event){
        .kind = s->is_gone ? CLUSTER_GONE : CLUSTER_PUT, .type = s->object->type, .object = y->lent, .rev = y->lent->rev
    };
    if (y->lent->type == known_types()->job)
        (void)map_add(&y->jobs, &y->arena, y->lent->uid); /* it may have been reported before */
    seen_free(s);
    return true;
}

int64_t remote_eyes_due(const struct run_remote *m)
{
    const struct remote_eyes *y = m->eyes;
    const struct remote_watch_seen *first = LIST_FIRST(&y->queue, struct remote_watch_seen, link);
    int64_t due_ms = fresh_due(y);

    if (first)
        due_ms = MIN_OF(due_ms, first->held_ms < 0 ? remote_watch_mono() : first->held_ms + HOLD_MS);
    LIST_FOREACH(struct remote_watch_wish, w, &y->wishes, link)
        if (!w->token)
            due_ms = MIN_OF(due_ms, w->due_ms);
    return due_ms;
}

bool remote_eyes_are_empty(const struct run_remote *m)
{
    return list_is_empty(&m->eyes->fresh) && list_is_empty(&m->eyes->queue) && list_is_empty(&m->eyes->wishes);
}

/* ---- deleting ---- */

static struct door *door_of(const struct remote_eyes *y, struct str namespace)
{
    VEC_FOREACH(d, &y->doors)
        if (str_eq((*d)->namespace, namespace))
            return *d;
    return y->doors.v[0];
}

static uint64_t eyes_write(struct cluster *c, const struct op *op)
{
    struct remote_eyes *y = eyes_of(c);
    struct remote_watch_wish *w = xcalloc(1, sizeof(*w));

    w->op = *op;
    w->op.namespace = arena_str(&w->arena, op->namespace);
    w->op.name = arena_str(&w->arena, op->name);
    w->op.uid = arena_str(&w->arena, op->uid);
    w->door = door_of(y, op->namespace);
    w->token = cluster_write(w->door->cluster, &w->op);
    list_push(&y->wishes, &w->link);
    return w->token;
}

void remote_eyes_kill(struct run_remote *m)
{
    MAP_FOREACH(struct known *, k, &m->eyes->known)
        if (k->object->type == known_types()->pod)
            (void)eyes_write(&m->eyes->cluster, &(struct op){ .kind = OP_DELETE,
                                                              .type = k->object->type,
                                                              .namespace = k->object->namespace,
                                                              .name = k->object->name,
                                                              .uid = k->object->uid });
}

/* ---- opening ---- */

static void eyes_free(struct cluster *c)
{
    struct remote_eyes *y = eyes_of(c);

    VEC_FOREACH(d, &y->doors) {
        cluster_free((*d)->cluster);
        for (size_t i = 0; i < (*d)->n_views; i++)
            relist_end(&(*d)->lists[i]);
    }
    LIST_FOREACH(struct remote_watch_seen, s, &y->fresh, link)
        seen_free(s);
    LIST_FOREACH(struct remote_watch_seen, s, &y->queue, link)
        seen_free(s);
    LIST_FOREACH(struct remote_watch_seen, s, &y->homeless, link)
        seen_free(s);
    LIST_FOREACH(struct remote_watch_wish, w, &y->wishes, link)
        wish_free(w);
    MAP_FOREACH(struct known *, k, &y->known) {
        object_unref(k->object);
        free(k);
    }
    map_done(&y->known);
    map_done(&y->jobs);
    object_unref(y->lent);
    arena_done(&y->arena);
    free(y);
}

static int64_t eyes_now_ms(struct cluster *c)
{
    (void)c;
    return clock_now_ms(&clock_real);
}

static const struct cluster_class eyes_class = {
    .free = eyes_free, .write = eyes_write, .next = eyes_next, .now_ms = eyes_now_ms
};

struct watched {
    const char *kind;
    bool is_needed; /* else it is left out for those who may not see it */
};
static const struct watched watched[] = {
    { "Job", true }, { "Pod", true }, { "PodGroup", false }, { "Event", false }, { "JobFlow", false }
};

/* A list of one tells whether it may be seen, before anything is created. */
static int may_see(struct run_remote *m, const struct resource_type *type, struct str namespace, struct err *e)
{
    autoarena a = { 0 };
    autobuf path = { 0 };
    struct json *list;

    path_collection(&path, type, namespace);
    path_query(&path, "limit", STR("1"));
    return kube_ask_get(m->ask, &a, buf_view(&path), &list, e);
}

static int door_open(struct remote_eyes *y, struct str namespace, struct err *e)
{
    struct arena *a = &y->arena;
    struct door *d = arena_new(a, struct door);
    struct cluster_kube_options opt = { .config = &y->remote->config };
    struct epoll_event ev = { .events = EPOLLIN };

    d->namespace = arena_str(a, namespace);
    d->views = arena_array(a, struct kube_view, ARRAY_LEN(watched));
    d->lists = arena_array(a, struct relist, ARRAY_LEN(watched));
    d->is_synced = arena_array(a, bool, ARRAY_LEN(watched));
    for (size_t i = 0; i < ARRAY_LEN(watched); i++) {
        const struct resource_type *type = type_by_name(str_of(watched[i].kind));

        d->lists[i] = (struct relist){ 0 };
        d->is_synced[i] = false;
        if (type == known_types()->flow && !y->has_flows)
            continue;
        if (may_see(y->remote, type, namespace, e) == 0)
            d->views[d->n_views++] = (struct kube_view){ .type = type, .namespace = d->namespace };
        else if (watched[i].is_needed || e->code != ERR_FORBIDDEN)
            return e->code == ERR_FORBIDDEN ? err_wrap(e, "what runs could not be shown (--detach submits all the "
                                                          "same)")
                                            : -1;
    }
    opt.views = d->views;
    opt.n_views = d->n_views;
    if (cluster_kube_new(&opt, &d->cluster, e) < 0)
        return -1;
    *vec_push(a, &y->doors) = d;
    for (size_t i = 0; i < d->n_views; i++)
        cluster_want(d->cluster, d->views[i].type);
    if (epoll_ctl(y->remote->epoll, EPOLL_CTL_ADD, cluster_kube_fd(d->cluster), &ev) < 0)
        return err_errno(e, "epoll");
    return 0;
}

static int need_door(struct remote_eyes *y, struct str namespace, struct err *e)
{
    VEC_FOREACH(d, &y->doors)
        if (str_eq((*d)->namespace, namespace))
            return 0;
    return door_open(y, namespace, e);
}

int remote_eyes_open(struct run_remote *m, const struct load *l, struct err *e)
{
    struct remote_eyes *y = m->eyes = xcalloc(1, sizeof(*y));

    y->cluster.class = &eyes_class;
    y->remote = m;
    map_init(&y->known, map_seed_default());
    map_init(&y->jobs, map_seed_default());
    list_init(&y->fresh);
    list_init(&y->queue);
    list_init(&y->homeless);
    list_init(&y->wishes);
    VEC_FOREACH(doc, &l->docs)
        y->has_flows |= (*doc)->type == known_types()->flow;
    VEC_FOREACH(doc, &l->docs) {
        struct str own = (*doc)->type && (*doc)->type->scope == SCOPE_NAMESPACED ? object_namespace((*doc)->root)
                                                                                 : STR("-");

        if (!str_is(own, "-") &&
            need_door(y, own.n ? own : str_of(l->namespace && l->namespace[0] ? l->namespace : "default"), e) < 0)
            return -1;
    }
    return 0;
}

bool remote_eyes_wait(struct run_remote *m, int64_t ms)
{
    int64_t end_ms = remote_watch_mono() + ms;

    for (;;) {
        bool is_synced = true;

        remote_watch_pump(m->eyes);
        VEC_FOREACH(d, &m->eyes->doors)
            is_synced = is_synced && (*d)->n_synced == (*d)->n_views;
        if (is_synced || remote_watch_mono() >= end_ms)
            return is_synced;
        (void)poll(&(struct pollfd){ .fd = m->epoll, .events = POLLIN }, 1, (int)(end_ms - remote_watch_mono()));
    }
}

bool remote_eyes_trouble(struct run_remote *m, struct err *ret)
{
    VEC_FOREACH(d, &m->eyes->doors)
        if (cluster_kube_trouble((*d)->cluster, ret))
            return true;
    return false;
}
