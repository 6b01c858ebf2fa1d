/* cache.c - objects, queues, tombstones and lists; jobs and pods are in cache_job.c
 *
 * What the controllers see. News come from watches and from answers to our own writes, in any order: late, twice, after
 * a gap. Three rules make one state of them:
 *
 *     revision    an object is replaced only by one of a later revision
 *     tombstones  the uid of a deleted object is kept for a while, so that late news do not bring the object back
 *     lists       a new list of a type marks the objects it mentions; at its end the unmarked ones are dropped
 *
 * An object is kept by the uid of what it belongs to, not by a name: a Job made anew under an old name is another
 * entry. Whatever changes calls back with the keys that have to be looked at: its job, its queue, its group.
 */
#include "driver/cache.h"

#include "api/meta.h"
#include "base/util.h"
#include "driver/cache_internal.h"

#include <assert.h>

/* ---- types ---- */

static const struct resource_type *volcano(const char *name)
{
    const struct resource_type *t = type_by_name(str_of(name));

    assert(t);
    return t;
}

const struct known_types *known_types(void)
{
    static struct known_types k; /* follows from a constant table: filled in once, the same for everybody */

    if (k.job && k.native_version == type_native_version())
        return &k;
    k = (struct known_types){
        .job = volcano("jobs.batch.volcano.sh"),
        .pod = volcano("pods"),
        .group = volcano("podgroups.scheduling.volcano.sh"),
        .command = volcano("commands.bus.volcano.sh"),
        .queue = volcano("queues.scheduling.volcano.sh"),
        .priority = volcano("priorityclasses.scheduling.k8s.io"),
        .config_map = volcano("configmaps"),
        .secret = volcano("secrets"),
        .service = volcano("services"),
        .policy = volcano("networkpolicies.networking.k8s.io"),
        .claim = volcano("persistentvolumeclaims"),
        .volume = volcano("persistentvolumes"),
        .event = type_by_kind(STR("v1"), STR("Event")),
        .flow = volcano("jobflows.flow.volcano.sh"),
        .template = volcano("jobtemplates.flow.volcano.sh"),
        .cron = volcano("cronjobs.batch.volcano.sh"),
        .native_version = type_native_version(),
        .native_workload = type_native("Workload"),
        .native_group = type_native("PodGroup"),
    };
    return &k;
}

static struct cache_type *cache_type_of(const struct cache *c, const struct resource_type *type)
{
    for (size_t i = 0; i < c->n_types; i++)
        if (c->types[i].type == type)
            return &c->types[i];
    return NULL;
}

void cache_want(struct cache *c, const struct resource_type *type)
{
    if (cache_type_of(c, type))
        return;
    assert(c->n_types < n_all_types + TYPE_CUSTOM_MAX);
    list_init(&c->types[c->n_types].objects);
    c->types[c->n_types++].type = type;
}

bool cache_is_synced(const struct cache *c)
{
    for (size_t i = 0; i < c->n_types; i++)
        if (!c->types[i].is_synced)
            return false;
    return true;
}

bool cache_wants(const struct cache *c, const struct resource_type *type)
{
    return cache_type_of(c, type);
}

const struct relist *cache_told(const struct cache *c, const struct resource_type *type)
{
    const struct cache_type *t = cache_type_of(c, type);

    return t && t->is_listing ? &t->told : NULL;
}

/* ---- tombstones ---- */

static struct str uid_cut(struct str uid)
{
    return str_sub(uid, 0, CACHE_UID_MAX - 1);
}

bool cache_is_buried(const struct cache *c, struct str uid, uint64_t rev)
{
    const struct tombstone *t = map_get(&c->tombstones, uid_cut(uid));

    return t && rev <= t->rev;
}

void cache_bury(struct cache *c, struct str uid, uint64_t rev)
{
    struct tombstone *t;

    uid = uid_cut(uid);
    t = map_get(&c->tombstones, uid);
    if (t)
        t->rev = MAX_OF(t->rev, rev);
    if (t || str_empty(uid))
        return;
    if (!c->ring)
        c->ring = xcalloc(CACHE_TOMBSTONES, sizeof(*c->ring));
    if (c->ring_n == CACHE_TOMBSTONES) { /* the oldest makes room */
        map_remove(&c->tombstones, str_of(c->ring[c->ring_at].uid));
        c->ring_at = (c->ring_at + 1) % CACHE_TOMBSTONES;
        c->ring_n--;
    }
    t = &c->ring[(c->ring_at + c->ring_n++) % CACHE_TOMBSTONES];
    t->rev = rev;
    memcpy(t->uid, uid.p, uid.n);
    t->uid[uid.n] = '\0';
    map_put(&c->tombstones, (struct str){ t->uid, uid.n }, t);
}

/* ---- queues ---- */

struct cache_queue *cache_queue(const struct cache *c, struct str name)
{
    return map_get(&c->queues, name);
}

struct cache_queue *cache_queue_need(struct cache *c, struct str name)
{
    struct cache_queue *q = cache_queue(c, name);
    char *text;

    if (q)
        return q;
    q = xcalloc(1, sizeof(*q) + name.n + 1);
    text = (char *)(q + 1);
    if (name.n)
        memcpy(text, name.p, name.n);
    q->name = (struct str){ text, name.n };
    list_init(&q->commands);
    list_init(&q->jobs);
    map_put(&c->queues, q->name, q);
    return q;
}

void cache_queue_let_go(struct cache *c, struct cache_queue *q)
{
    if (!q || q->self || q->n_groups || !list_is_empty(&q->commands) || !list_is_empty(&q->jobs))
        return;
    map_remove(&c->queues, q->name);
    free(q);
}

enum queue_state cache_queue_state(const struct cache_queue *q)
{
    struct str state;

    if (!q || !q->self)
        return QUEUE_UNKNOWN;
    state = json_member_text(json_get(q->self->object->root, "status"), "state");
    return str_empty(state) || str_is(state, "Open") ? QUEUE_OPEN : QUEUE_CLOSED; /* empty: just made (B54) */
}

static void touch_queue(struct cache *c, const struct cache_queue *q)
{
    if (c->hooks.queue)
        c->hooks.queue(c->hooks.ctx, q->name);
}

static struct str cache_parent_of(const struct cached *queue)
{
    struct str name = json_member_text(json_get(queue->object->root, "spec"), "parent");

    return str_empty(name) ? STR("root") : name;
}

/* Children follow their parent; jobs wait for their queue to open, or run in one that closes. */
static void queue_changed(struct cache *c, struct cache_queue *q, enum queue_state before)
{
    const struct cache_type *t = cache_type_of(c, known_types()->queue);

    touch_queue(c, q);
    if (cache_queue_state(q) == before)
        return;
    LIST_FOREACH(struct cached, child, &t->objects, in_type)
        if (child->queue && child->queue != q && str_eq(cache_parent_of(child), q->name))
            touch_queue(c, child->queue);
    LIST_FOREACH(struct cache_job, j, &q->jobs, in_queue)
        cache_touch_job(j);
}

static uint8_t cache_count_of(const struct object *group)
{
    static const char *const phases[QUEUE_COUNTS] = { "Pending", "Inqueue", "Running", "Unknown", "Completed" };
    struct str phase = json_member_text(json_get(group->root, "status"), "phase");

    for (uint8_t i = 0; i < QUEUE_COUNTS; i++)
        if (str_is(phase, phases[i]))
            return i;
    return 0;
}

static void group_count(struct cache *c, struct cached *o)
{
    struct str name = json_member_text(json_get(o->object->root, "spec"), "queue");

    o->queue = cache_queue_need(c, str_empty(name) ? STR("default") : name);
    o->counted = cache_count_of(o->object);
    o->queue->counts[o->counted]++;
    o->queue->n_groups++;
}

/* ---- other objects ---- */

/* "podgroups.scheduling.volcano.sh/namespace/name"; valid until the next call. */
static struct str cache_key_of(struct cache *c, const struct resource_type *type, struct str namespace, struct str name)
{
    buf_reset(&c->scratch);
    buf_fmt(&c->scratch, "%s.%s/", type->plural, type->group);
    if (type->scope == SCOPE_NAMESPACED)
        buf_str(&c->scratch, namespace);
    buf_char(&c->scratch, '/');
    buf_str(&c->scratch, name);
    return buf_view(&c->scratch);
}

const struct object *cache_find(struct cache *c, const struct resource_type *type, struct str namespace,
                                struct str name)
{
    const struct cached *o = map_get(&c->objects, cache_key_of(c, type, namespace, name));

    return o ? o->object : NULL;
}

/* Where an object belongs by type: whose uid, and in which list. */
static void cache_attach(struct cache *c, struct cached *o)
{
    const struct known_types *k = known_types();
    const struct json *root = o->object->root, *target = json_get(root, "target");
    const struct resource_type *type = o->object->type;

    if (type == k->command && str_is(json_member_text(target, "kind"), "Queue")) {
        o->queue = cache_queue_need(c, json_member_text(target, "name"));
        list_push(&o->queue->commands, &o->in_owner);
    } else if (type == k->command) {
        bool is_job = str_is(json_member_text(target, "kind"), JOB_KIND) &&
                      str_starts(json_member_text(target, "apiVersion"), STR("batch.volcano.sh/"));

        o->job = is_job ? cache_job_need(c, json_member_text(target, "uid")) : NULL;
        if (o->job)
            list_push(&o->job->commands, &o->in_owner);
    } else if (type == k->queue) {
        o->queue = cache_queue_need(c, o->object->name);
        o->queue->self = o;
    } else if ((o->job = cache_job_need(c, object_job_uid(root)))) {
        list_push(type == k->group || type == k->native_group ? &o->job->groups : &o->job->owned, &o->in_owner);
    }
    if (type == k->group)
        group_count(c, o);
}

static void cache_detach(struct cache *c, struct cached *o)
{
    const struct resource_type *type = o->object->type;
    struct cache_queue *q = o->queue;
    struct cache_job *j = o->job;

    list_remove(&o->in_owner);
    if (type == known_types()->group) {
        o->queue->counts[o->counted]--;
        o->queue->n_groups--;
    }
    if (type == known_types()->queue)
        q->self = NULL;
    o->queue = NULL;
    o->job = NULL;
    cache_queue_let_go(c, q);
    if (j)
        cache_job_let_go(j);
}

static bool same_member(const struct json *a, const struct json *b, const char *key)
{
    const struct json *x = json_get(a, key), *y = json_get(b, key);

    return x == y || (x && y && json_equal(x, y));
}

/* A PodGroup's status changes with every pod that is placed; what is wanted of it does not. */
static bool is_only_status(const struct object *before, const struct object *now)
{
    const struct known_types *k = known_types();
    const struct json *a, *b;

    if (!before || (now->type != k->group && now->type != k->native_group) || !str_eq(before->uid, now->uid))
        return false;
    a = json_get(before->root, "metadata");
    b = json_get(now->root, "metadata");
    return same_member(before->root, now->root, "spec") && same_member(a, b, "labels") &&
           same_member(a, b, "annotations") && same_member(a, b, "deletionTimestamp");
}

/* Jobs that name a claim or a key Secret which they do not own. */
static void touch_watchers(struct cache *c, const struct object *o)
{
    bool is_secret = o->type == known_types()->secret;

    if (!is_secret && o->type != known_types()->claim)
        return;
    LIST_FOREACH(struct cache_job, j, &c->watchers, in_watchers) {
        if (!str_eq(j->job.meta.namespace, o->namespace))
            continue;
        if (is_secret)
            j->has_set = false; /* its keys may be read from there */
        j->drive.objects_are_fine = false;
        cache_touch_job(j);
    }
}

/* Tell everybody whom the object concerns. 'before': what was known of it, or NULL. */
static void cache_changed(struct cache *c, struct cached *o, const struct object *before, enum queue_state state)
{
    const struct known_types *k = known_types();
    const struct object *now = o->object;

    if (now->type == k->queue)
        queue_changed(c, o->queue, state);
    else if (o->queue)
        touch_queue(c, o->queue);
    if (now->type == k->group && c->hooks.group && str_empty(json_member_text(json_get(now->root, "status"), "phase")))
        c->hooks.group(c->hooks.ctx, now);
    if (o->job && now->type != k->command && !is_only_status(before, now))
        o->job->drive.objects_are_fine = false;
    if (o->job)
        cache_touch_job(o->job);
    else
        cache_touch_namesakes(c, now);
    touch_watchers(c, now);
}

static void remove_cached(struct cache *c, struct cached *o)
{
    autounref struct object *last = o->object;
    struct cache_queue *q = o->queue;
    enum queue_state state = cache_queue_state(q);

    if (o->job) {
        o->job->drive.objects_are_fine &= last->type == known_types()->command;
        cache_touch_job(o->job);
    } else {
        cache_touch_namesakes(c, last);
    }
    if (q)
        q->n_groups++; /* keep it during the callback */
    cache_detach(c, o);
    if (q) {
        q->n_groups--;
        if (last->type == known_types()->queue)
            queue_changed(c, q, state);
        else
            touch_queue(c, q);
        cache_queue_let_go(c, q);
    }
    touch_watchers(c, last);
    cache_touch_heir(c, last);
    map_remove(&c->objects, o->key);
    list_remove(&o->in_type);
    free(o);
}

static struct cached *cached_new(struct cache *c, struct cache_type *t, struct str key)
{
    struct cached *o = xcalloc(1, sizeof(*o) + key.n + 1);
    char *text = (char *)(o + 1);

    memcpy(text, key.p, key.n);
    o->key = (struct str){ text, key.n };
    map_put(&c->objects, o->key, o);
    list_push(&t->objects, &o->in_type);
    return o;
}

static void put_cached(struct cache *c, const struct object *now)
{
    struct cache_type *t = cache_type_of(c, now->type);
    struct str key = cache_key_of(c, now->type, now->namespace, now->name);
    struct cached *o = map_get(&c->objects, key);
    autounref struct object *before = NULL;
    enum queue_state state = QUEUE_UNKNOWN;

    if (!t || (o && o->object->rev >= now->rev))
        return;
    if (o && !str_eq(o->object->uid, now->uid)) {
        cache_bury(c, o->object->uid, CACHE_FOR_GOOD);
        remove_cached(c, o);
        o = NULL;
        key = cache_key_of(c, now->type, now->namespace, now->name);
    }
    if (o) {
        state = now->type == known_types()->queue ? cache_queue_state(o->queue) : state;
        before = o->object;
        if (o->queue && now->type != known_types()->queue)
            touch_queue(c, o->queue); /* a PodGroup may leave it */
        if (o->job && !str_eq(object_job_uid(now->root), str_of(o->job->uid)))
            cache_touch_job(o->job);
        cache_detach(c, o);
    } else {
        o = cached_new(c, t, key);
    }
    o->object = object_ref(now);
    cache_attach(c, o);
    cache_changed(c, o, before, state);
}

/* ---- news ---- */

/* Types that only the garbage collector wants are not kept here. */
static bool cache_is_kept(const struct resource_type *type)
{
    const struct known_types *k = known_types();

    return type == k->group || type == k->command || type == k->queue || type == k->priority || type == k->config_map ||
           type == k->secret || type == k->service || type == k->policy || type == k->claim || type == k->flow ||
           type == k->template || type == k->cron || type == k->native_workload || type == k->native_group;
}

void cache_put(struct cache *c, const struct object *o)
{
    struct cache_type *t = cache_type_of(c, o->type);

    if (cache_is_buried(c, o->uid, o->rev))
        return;
    if (t && t->is_listing)
        relist_add(&t->told, o->uid); /* also an answer to a write, which the list may be too old to have */
    if (o->type == known_types()->job)
        cache_put_job(c, o);
    else if (o->type == known_types()->pod)
        cache_put_pod(c, o);
    else if (cache_is_kept(o->type))
        put_cached(c, o);
}

/* 'job_uid': of a Pod whose Job is known. */
static void cache_remove(struct cache *c, struct object_id id, struct str job_uid, uint64_t rev)
{
    struct cached *o;

    cache_bury(c, id.uid, rev);
    if (id.type == known_types()->job) {
        cache_gone_job(c, id.uid);
    } else if (id.type == known_types()->pod) {
        cache_gone_pod(c, id.name, id.uid, job_uid);
    } else if (cache_is_kept(id.type)) {
        o = map_get(&c->objects, cache_key_of(c, id.type, id.namespace, id.name));
        if (o && str_eq(o->object->uid, id.uid))
            remove_cached(c, o);
    }
}

void cache_gone(struct cache *c, const struct resource_type *type, struct str namespace, struct str name,
                struct str uid)
{
    cache_remove(c, (struct object_id){ type, namespace, name, uid }, STR_NULL, CACHE_FOR_GOOD);
}

static void sweep_objects(struct cache *c, struct cache_type *t, uint64_t rev)
{
    LIST_FOREACH(struct cached, o, &t->objects, in_type) {
        if (relist_has(&t->told, o->object->uid))
            continue;
        if (o->object->rev > rev) {
            c->hooks.doubt(c->hooks.ctx, t->type, o->object->namespace, o->object->name, o->object->uid);
            continue;
        }
        cache_bury(c, o->object->uid, rev);
        remove_cached(c, o);
    }
}

static void list_ended(struct cache *c, struct cache_type *t, uint64_t rev)
{
    if (!t->is_listing)
        return;
    if (!rev)
        rev = t->told.max_rev;
    if (t->type == known_types()->job)
        cache_sweep_jobs(c, &t->told, rev);
    else if (t->type == known_types()->pod)
        cache_sweep_pods(c, &t->told, rev);
    else
        sweep_objects(c, t, rev);
    relist_end(&t->told);
    t->is_listing = false;
    t->is_synced = true;
}

void cache_event(struct cache *c, const struct cluster_event *ev)
{
    struct cache_type *t = cache_type_of(c, ev->type);
    struct cache_job *j;

    if (!t)
        return;
    switch (ev->kind) {
    case CLUSTER_PUT:
        if (t->is_listing)
            t->told.max_rev = MAX_OF(t->told.max_rev, ev->object->rev);
        cache_put(c, ev->object);
        break;
    case CLUSTER_GONE:
        if (ev->type == known_types()->pod && (j = cache_job(c, object_job_uid(ev->object->root))))
            j->drive.gone_rev = MAX_OF(j->drive.gone_rev, ev->object->rev);
        cache_remove(c, (struct object_id){ ev->type, ev->object->namespace, ev->object->name, ev->object->uid },
                     object_job_uid(ev->object->root), ev->object->rev);
        if (ev->type == known_types()->pod)
            cache_touch_heir(c, ev->object);
        break;
    case CLUSTER_RELIST:
        relist_begin(&t->told, c->seed);
        t->is_listing = true;
        break;
    case CLUSTER_SYNCED:
        list_ended(c, t, ev->rev);
        break;
    case CLUSTER_RESULT:
    case CLUSTER_EVENT_KIND_MAX:
        break;
    }
}

/* ---- looking ---- */

const struct json *cache_job_find(void *ctx, const char *kind, struct str name)
{
    const struct known_types *k = known_types();
    const struct resource_type *types[] = { k->config_map, k->secret, k->service,        k->policy,
                                            k->claim,      k->group,  k->native_workload };
    const struct cache_job *j = ctx;

    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (strcmp(types[i]->kind, kind) == 0) {
            const struct object *o = cache_find(j->cache, types[i], j->job.meta.namespace, name);

            return o ? o->root : NULL;
        }
    return NULL;
}

int64_t cache_priority(void *ctx, struct str class_name)
{
    const struct object *o = cache_find(ctx, known_types()->priority, STR_NULL, class_name);

    return o ? json_i64(json_get(o->root, "value"), 0) : 0;
}

/* ---- the whole ---- */

void cache_init(struct cache *c, const struct cache_hooks *hooks, struct str scheduler_name, uint64_t seed)
{
    *c = (struct cache){ .hooks = *hooks, .scheduler_name = scheduler_name, .seed = seed };
    c->types = xcalloc(n_all_types + TYPE_CUSTOM_MAX, sizeof(*c->types));
    map_init(&c->objects, seed);
    map_init(&c->jobs_uid, seed);
    map_init(&c->jobs_name, seed);
    map_init(&c->queues, seed);
    map_init(&c->tombstones, seed);
    map_u64_init(&c->pod_owner, seed);
    list_init(&c->jobs);
    list_init(&c->watchers);
}

void cache_done(struct cache *c)
{
    LIST_FOREACH(struct cache_job, j, &c->jobs, link)
        cache_job_free(j);
    MAP_FOREACH(struct cached *, o, &c->objects) {
        object_unref(o->object);
        free(o);
    }
    MAP_FOREACH(struct cache_queue *, q, &c->queues)
        free(q);
    for (size_t i = 0; i < c->n_types; i++)
        relist_end(&c->types[i].told);
    map_done(&c->objects);
    map_done(&c->jobs_uid);
    map_done(&c->jobs_name);
    map_done(&c->queues);
    map_done(&c->tombstones);
    map_u64_done(&c->pod_owner);
    free(c->types);
    free(c->ring);
    buf_done(&c->scratch);
    *c = (struct cache){ 0 };
}
