/* sched_feed.c - the objects that the scheduler knows
 *
 * The scheduler keeps its own view of each object. This file keeps name, uid and revision, to tell news from repeats.
 * Tombstones are the cache's.
 */
#include "driver/driver_internal.h"

#include "api/meta.h"
#include "api/pod/status.h"
#include "base/clock.h"
#include "base/util.h"

#define GROUP_KEY "scheduling.k8s.io/group-name"

static struct sched_known_type *sched_feed_type_of(const struct driver *d, const struct resource_type *type)
{
    for (size_t i = 0; i < d->schedule.n_types; i++)
        if (d->schedule.types[i].type == type)
            return &d->schedule.types[i];
    return NULL;
}

void sched_feed_init(struct driver *d)
{
    d->schedule.types = xcalloc(n_resource_types, sizeof(*d->schedule.types));
}

void sched_feed_done(struct driver *d)
{
    for (size_t i = 0; i < d->schedule.n_types; i++) {
        LIST_FOREACH(struct sched_known, f, &d->schedule.types[i].list, link)
            free(f);
        map_done(&d->schedule.types[i].by_key);
    }
    free(d->schedule.types);
    buf_done(&d->schedule.scratch);
}

void sched_feed_want(struct driver *d, const struct resource_type *type)
{
    struct sched_known_type *t = &d->schedule.types[d->schedule.n_types++];

    t->type = type;
    map_init(&t->by_key, d->opt.seed);
    list_init(&t->list);
}

/* ---- entries ---- */

static struct sched_known *driver_sched_feed_find(struct driver *d, const struct sched_known_type *t,
                                                  struct str namespace, struct str name)
{
    struct buf *key = &d->schedule.scratch;

    buf_reset(key);
    if (t->type->scope == SCOPE_NAMESPACED)
        buf_str(key, namespace);
    buf_char(key, '/');
    buf_str(key, name);
    return map_get(&t->by_key, buf_view(key));
}

const struct sched_known *sched_feed_find(struct driver *d, const struct resource_type *type, struct str namespace,
                                          struct str name, struct str uid)
{
    const struct sched_known_type *t = sched_feed_type_of(d, type);
    const struct sched_known *f = t ? driver_sched_feed_find(d, t, namespace, name) : NULL;

    return f && (str_empty(uid) || str_eq(f->uid, uid)) ? f : NULL;
}

size_t sched_feed_count(const struct driver *d, const struct resource_type *type)
{
    const struct sched_known_type *t = sched_feed_type_of(d, type);

    return t ? map_count(&t->by_key) : 0;
}

static struct str sched_feed_group_of(const struct sched_known_type *t, const struct object *o)
{
    return t->type == known_types()->pod ? object_annotation(o->root, GROUP_KEY) : STR_NULL;
}

/* A new entry; the key was just looked for in vain. */
static struct sched_known *fed_new(struct driver *d, struct sched_known_type *t, const struct object *o)
{
    struct str key = buf_view(&d->schedule.scratch), group = sched_feed_group_of(t, o);
    struct sched_known *f = xcalloc(1, sizeof(*f) + key.n + o->uid.n + group.n);
    char *text = (char *)(f + 1);

    f->key = text_put(&text, key);
    f->uid = text_put(&text, o->uid);
    f->group = text_put(&text, group);
    f->name = str_from(f->key, f->key.n - o->name.n);
    f->namespace = str_sub(f->key, 0, f->key.n - o->name.n - 1);
    map_put(&t->by_key, f->key, f);
    list_push(&t->list, &f->link);
    return f;
}

static void remove_known(struct driver *d, struct sched_known_type *t, struct sched_known *f)
{
    sched_gone(d->schedule.sched, str_of(t->type->kind), f->namespace, f->name, f->uid);
    sched_write_object_gone(d, t->type, f);
    d->schedule.has_news = true;
    map_remove(&t->by_key, f->key);
    list_remove(&f->link);
    free(f);
}

/* What writes need to know of a pod. */
static void sched_feed_look_at_pod(struct sched_known *f, const struct json *pod)
{
    struct str phase = json_member_text(json_get(pod, "status"), "phase"), since;

    f->is_bound = json_member_text(json_get(pod, "spec"), "nodeName").n;
    f->is_going = json_find(pod, "metadata", "deletionTimestamp", NULL);
    f->is_running = str_is(phase, "Running");
    f->is_over = pod_phase_has_ended(phase);
    f->generation = json_i64(json_find(pod, "metadata", "generation", NULL), 0);
    f->refused_ms = 0;
    if (!f->created_ms)
        (void)clock_parse(json_member_text(json_get(pod, "metadata"), "creationTimestamp"), &f->created_ms, NULL);
    since = json_member_text(condition_with(json_get(pod, "status"), "PodScheduled", "False"), "lastTransitionTime");
    (void)clock_parse(since, &f->refused_ms, NULL); /* none: from now */
}

/* ---- news ---- */

void sched_feed_put(struct driver *d, const struct object *o)
{
    struct sched_known_type *t = sched_feed_type_of(d, o->type);
    struct sched_known *f;

    if (!t || cache_is_buried(&d->cache, o->uid, o->rev))
        return;
    f = driver_sched_feed_find(d, t, o->namespace, o->name);
    if (f && f->rev >= o->rev)
        return;
    if (f && !str_eq(f->uid, o->uid)) {
        cache_bury(&d->cache, f->uid, CACHE_FOR_GOOD);
        remove_known(d, t, f);
        f = NULL;
    }
    if (f && !str_eq(f->group, sched_feed_group_of(t, o))) { /* a pod that changes its group is removed and added */
        remove_known(d, t, f);
        f = NULL;
    }
    if (!f)
        f = fed_new(d, t, o);
    f->rev = o->rev;
    if (t->type == known_types()->pod)
        sched_feed_look_at_pod(f, o->root);
    sched_put(d->schedule.sched, o->root);
    d->schedule.has_news = true;
    if (t->type == known_types()->claim)
        sched_write_claim_told(d, o->namespace);
}

void sched_feed_gone(struct driver *d, const struct resource_type *type, struct str namespace, struct str name,
                     struct str uid)
{
    struct sched_known_type *t = sched_feed_type_of(d, type);
    struct sched_known *f = t ? driver_sched_feed_find(d, t, namespace, name) : NULL;

    if (f && str_eq(f->uid, uid))
        remove_known(d, t, f);
}

void sched_feed_event(struct driver *d, const struct cluster_event *ev)
{
    if (ev->kind == CLUSTER_PUT)
        sched_feed_put(d, ev->object);
    else if (ev->kind == CLUSTER_GONE)
        sched_feed_gone(d, ev->type, ev->object->namespace, ev->object->name, ev->object->uid);
}

void sched_feed_list_ends(struct driver *d, const struct cluster_event *ev)
{
    const struct relist *told = cache_told(&d->cache, ev->type);
    struct sched_known_type *t = sched_feed_type_of(d, ev->type);
    uint64_t rev = ev->rev;

    if (!t || !told)
        return;
    if (!rev)
        rev = told->max_rev;
    LIST_FOREACH(struct sched_known, f, &t->list, link) {
        if (relist_has(told, f->uid))
            continue;
        if (f->rev > rev) { /* made after the list was */
            request_read(d, STR_NULL, (struct object_id){ t->type, f->namespace, f->name, f->uid });
            continue;
        }
        cache_bury(&d->cache, f->uid, rev);
        remove_known(d, t, f);
    }
}
