/* cache_job.c - the jobs of the cache and their pods
 *
 * The view of a Job is put together from two lifetimes. Its spec is copied, defaulted and decoded once for each
 * generation, because the plugins built from it keep pointers into it. Metadata and status are read anew from every
 * version of the object.
 */
#include "api/admit/admit.h"
#include "base/util.h"
#include "driver/cache_internal.h"
#include "json/schema.h"

#include <assert.h>

/* ---- entries ---- */

struct cache_job *cache_job(const struct cache *c, struct str uid)
{
    return map_get(&c->jobs_uid, str_sub(uid, 0, CACHE_UID_MAX - 1));
}

struct cache_job *cache_job_need(struct cache *c, struct str uid)
{
    struct cache_job *j = cache_job(c, uid);

    if (j || str_empty(uid) || cache_is_buried(c, uid, 0))
        return j;
    j = xcalloc(1, sizeof(*j));
    j->cache = c;
    uid = str_sub(uid, 0, CACHE_UID_MAX - 1);
    memcpy(j->uid, uid.p, uid.n);
    list_init(&j->owned);
    list_init(&j->commands);
    list_init(&j->groups);
    pods_init(&j->pods);
    list_push(&c->jobs, &j->link);
    map_put(&c->jobs_uid, str_of(j->uid), j);
    return j;
}

/* What the entry itself owns; the maps are the caller's business. */
void cache_job_free(struct cache_job *j)
{
    object_unref(j->object);
    object_unref(j->spec_object);
    arena_done(&j->arena);
    arena_done(&j->spec_arena);
    arena_done(&j->set_arena);
    buf_done(&j->drive.trouble);
    buf_done(&j->drive.failed_name);
    pods_done(&j->pods);
    free(j->name_key);
    free(j);
}

static void leave_queue(struct cache_job *j)
{
    struct cache_queue *q = j->queue;

    list_remove(&j->in_queue);
    j->queue = NULL;
    cache_queue_let_go(j->cache, q);
}

static void orphan(struct list *children)
{
    LIST_FOREACH(struct cached, o, children, in_owner) {
        list_remove(&o->in_owner);
        o->job = NULL;
    }
}

static uint64_t pod_id(const struct cache *c, struct str uid)
{
    return str_hash(str_sub(uid, 0, CACHE_UID_MAX - 1), c->seed);
}

static void entry_remove(struct cache_job *j)
{
    struct cache *c = j->cache;

    if (c->hooks.job_gone)
        c->hooks.job_gone(c->hooks.ctx, j);
    if (j->name_key && map_get(&c->jobs_name, str_of(j->name_key)) == j)
        map_remove(&c->jobs_name, str_of(j->name_key));
    MAP_FOREACH(struct job_pod *, pod, &j->pods.by_name) {
        map_u64_remove(&c->pod_owner, pod_id(c, str_of(pod->view.uid)));
        c->n_pods--;
    }
    orphan(&j->owned);
    orphan(&j->commands);
    orphan(&j->groups);
    leave_queue(j);
    list_remove(&j->in_watchers);
    list_remove(&j->link);
    map_remove(&c->jobs_uid, str_of(j->uid));
    cache_job_free(j);
}

void cache_job_let_go(struct cache_job *j)
{
    if (!j->object && map_count(&j->pods.by_name) == 0 && list_is_empty(&j->owned) && list_is_empty(&j->commands) &&
        list_is_empty(&j->groups))
        entry_remove(j);
}

void cache_touch_job(struct cache_job *j)
{
    j->cache->job_events++;
    if (j->object && j->cache->hooks.job)
        j->cache->hooks.job(j->cache->hooks.ctx, j);
}

/* ---- the view ---- */

static struct json *cache_job_share(struct arena *a, const struct json *node)
{
    struct json *copy = arena_alloc(a, sizeof(*copy)); /* the children stay where they are */

    *copy = *node;
    copy->next = NULL;
    return copy;
}

static void view_build(struct cache_job *j)
{
    struct json *root;

    arena_reset(&j->arena);
    root = json_object(&j->arena);
    JSON_FOREACH(member, j->object->root)
        if (!str_is(json_key(member), "spec"))
            json_add(root, json_key(member), cache_job_share(&j->arena, member));
    job_decode(&j->arena, root, &j->job);
    j->job.spec = j->spec;
    j->job.meta.namespace = j->spec_object->namespace; /* plugins keep them, and live as long as the spec */
    j->job.meta.name = j->spec_object->name;
    j->job.meta.uid = j->spec_object->uid;
    if (j->spec_tree)
        json_add(root, STR("spec"), cache_job_share(&j->arena, j->spec_tree));
}

/* A mention of an object that is not the job's own: a claim by name, or a Secret with keys. */
static bool names_others(const struct cache_job *j)
{
    if (j->spec.volumes.n)
        return true;
    JSON_FOREACH(arg, json_get(j->spec.plugins, "ssh"))
        if (str_has(json_text(arg, STR_NULL), STR("ecret")))
            return true;
    return false;
}

static void spec_build(struct cache_job *j)
{
    struct admit_env env = { .scheduler_name = j->cache->scheduler_name,
                             .namespace = j->object->namespace,
                             .mark = MARK_DEFAULT };
    struct json *root;
    struct job all;

    arena_reset(&j->set_arena); /* it points into the old spec */
    j->set = NULL;
    j->has_set = false;
    arena_reset(&j->spec_arena);
    object_unref(j->spec_object);
    j->spec_object = object_ref(j->object);
    root = json_object(&j->spec_arena);
    JSON_FOREACH(member, j->object->root)
        if (!str_is(json_key(member), "status"))
            json_add(root, json_key(member), json_copy(&j->spec_arena, member));
    admit_job_defaults(&j->spec_arena, root, &env);
    plugin_default(&j->spec_arena, root, MARK_DEFAULT);
    job_decode(&j->spec_arena, root, &all);
    j->spec_tree = json_get(root, "spec");
    j->spec = all.spec;
    j->drive.objects_are_fine = false;
    list_remove(&j->in_watchers);
    if (names_others(j))
        list_push(&j->cache->watchers, &j->in_watchers);
}

static bool member_differs(const struct json *a, const struct json *b, const char *key)
{
    const struct json *x = json_get(a, key), *y = json_get(b, key);

    return x != y && (!x || !y || !json_equal(x, y));
}

static bool spec_differs(const struct object *a, const struct object *b)
{
    int64_t x = json_i64(json_find(a->root, "metadata", "generation", NULL), 0);
    int64_t y = json_i64(json_find(b->root, "metadata", "generation", NULL), 0);

    return x != y || (x == 0 && member_differs(a->root, b->root, "spec"));
}

/* Labels and annotations go into the PodGroup and the pods. */
static bool notes_differ(const struct object *a, const struct object *b)
{
    const struct json *x = json_get(a->root, "metadata"), *y = json_get(b->root, "metadata");

    return member_differs(x, y, "labels") || member_differs(x, y, "annotations");
}

/* What the status remembers about each task (memo.h). Only notes that another version of the status brought are taken:
 * what we saw ourselves since the last write is newer than a note that did not change. */
static void recall(struct cache_job *j, const struct object *before, bool is_other_version)
{
    const struct json *now = json_get(j->job.status.raw, "controlledResources");
    const struct json *old = before ? json_find(before->root, "status", "controlledResources", NULL) : NULL;
    autoarena a = { 0 };

    for (size_t i = 0; i < j->spec.tasks.n; i++) {
        struct str seen_key = arena_cat(&a, STR("pumice-seen-"), j->spec.tasks.v[i].name);
        struct str done_key = arena_cat(&a, STR(JOB_NOTE_DONE), j->spec.tasks.v[i].name);
        struct str seen = json_text(json_get_str(now, seen_key), STR_NULL);
        struct str done = json_text(json_get_str(now, done_key), STR_NULL);

        if (before && !is_other_version && str_eq(seen, json_text(json_get_str(old, seen_key), STR_NULL)) &&
            str_eq(done, json_text(json_get_str(old, done_key), STR_NULL)))
            continue;
        pods_recall(&j->pods, i, seen, done);
    }
}

static int cache_job_make_keys(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e)
{
    const struct cache_hooks *hooks = &((struct cache_job *)ctx)->cache->hooks;

    return hooks->make_keys(hooks->ctx, a, type, ret, e);
}

/* Only what cannot be carried out is a problem here, and only the spec decides: two controllers, or one before and
 * after a crash, must judge alike. Whether a spec is wise is admission's business. */
void cache_job_need_set(struct cache_job *j)
{
    struct plugin_world world = { .ctx = j, .find = cache_job_find };
    struct problems ps = { .arena = &j->set_arena };
    struct place root = { .node = j->job.raw };

    if (j->has_set)
        return;
    arena_reset(&j->set_arena);
    world.make_keys = j->cache->hooks.make_keys ? cache_job_make_keys : NULL;
    schema_check(&schema_job, &root, &ps);
    j->set = plugin_set_new(&j->set_arena, &j->job, &world, &ps);
    j->spec_problem = STR_NULL;
    if (ps.n_errors) {
        j->set = NULL;
        j->spec_problem = problems_join(&j->set_arena, &ps);
    }
    j->has_set = true;
    j->drive.objects_are_fine = false;
}

/* ---- Jobs ---- */

static void join_queue(struct cache_job *j)
{
    struct cache_queue *q = cache_queue_need(j->cache, j->spec.queue);

    if (j->queue == q)
        return;
    if (j->queue)
        leave_queue(j);
    j->queue = q;
    list_push(&q->jobs, &j->in_queue);
}

static void cache_job_take_name(struct cache_job *j, struct str name_key)
{
    if (j->name_key)
        return;
    j->name_key = xmalloc(name_key.n + 1);
    memcpy(j->name_key, name_key.p, name_key.n);
    j->name_key[name_key.n] = '\0';
    map_put(&j->cache->jobs_name, str_of(j->name_key), j);
}

/* "namespace/name", valid until the next call. */
static struct str name_key_of(struct cache *c, struct str namespace, struct str name)
{
    buf_reset(&c->scratch);
    buf_fmt(&c->scratch, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(name));
    return buf_view(&c->scratch);
}

const struct object *cache_find_job(struct cache *c, struct str namespace, struct str name)
{
    const struct cache_job *j = map_get(&c->jobs_name, name_key_of(c, namespace, name));

    return j ? j->object : NULL;
}

void cache_touch_heir(struct cache *c, const struct object *last)
{
    struct str owner = object_job_name(last->root);
    struct cache_job *j = owner.n ? map_get(&c->jobs_name, name_key_of(c, last->namespace, owner)) : NULL;

    if (!j || str_eq(object_job_uid(last->root), j->object->uid))
        return;
    j->drive.objects_are_fine = false;
    j->drive.no_create_until = 0;
    cache_touch_job(j);
}

static bool is_made_by_plugins(const struct resource_type *type)
{
    const struct known_types *k = known_types();

    return type == k->service || type == k->policy || type == k->config_map || type == k->secret;
}

void cache_touch_namesakes(struct cache *c, const struct object *o)
{
    struct str name = o->name;

    for (; is_made_by_plugins(o->type) && name.n; name.n--) {
        struct cache_job *j;

        if (name.n < o->name.n && o->name.p[name.n] != '-')
            continue;
        j = map_get(&c->jobs_name, name_key_of(c, o->namespace, name));
        if (!j)
            continue;
        j->drive.objects_are_fine = false;
        cache_touch_job(j);
    }
}

void cache_put_job(struct cache *c, const struct object *o)
{
    struct cache_job *j = cache_job(c, o->uid), *other;
    autounref struct object *before = NULL;
    struct str name_key;
    int32_t version;

    if (str_empty(o->uid) || (j && j->object && j->object->rev >= o->rev))
        return;
    name_key = name_key_of(c, o->namespace, o->name);
    other = map_get(&c->jobs_name, name_key);
    if (other && other != j) { /* the older one was deleted */
        if (other->object->rev > o->rev)
            return;
        cache_bury(c, str_of(other->uid), CACHE_FOR_GOOD);
        entry_remove(other);
    }
    j = cache_job_need(c, o->uid);
    if (!j)
        return;
    cache_job_take_name(j, name_key);
    before = j->object;
    j->object = object_ref(o);
    if (!before || spec_differs(before, o))
        spec_build(j);
    else if (notes_differ(before, o))
        j->drive.objects_are_fine = false;
    version = j->pods.version;
    view_build(j);
    pods_set_job(&j->pods, &j->job);
    recall(j, before, version != j->pods.version);
    join_queue(j);
    cache_touch_job(j);
}

void cache_gone_job(struct cache *c, struct str uid)
{
    struct cache_job *j = cache_job(c, uid);

    if (j)
        entry_remove(j);
}

void cache_sweep_jobs(struct cache *c, const struct relist *told, uint64_t rev)
{
    LIST_FOREACH(struct cache_job, j, &c->jobs, link) {
        if (!j->object || relist_has(told, j->object->uid))
            continue;
        if (j->object->rev > rev) {
            c->hooks.doubt(c->hooks.ctx, j->object->type, j->object->namespace, j->object->name, j->object->uid);
            continue;
        }
        cache_bury(c, j->object->uid, rev);
        entry_remove(j);
    }
}

/* ---- pods ---- */

static void remove_pod(struct cache *c, struct cache_job *j, struct str name, struct str uid)
{
    struct job_pod *pod = pods_get(&j->pods, name);

    uid = str_sub(uid, 0, CACHE_UID_MAX - 1);
    if (!pod || !str_is(uid, pod->view.uid))
        return;
    map_u64_remove(&c->pod_owner, pod_id(c, uid));
    c->n_pods--;
    pods_remove(&j->pods, name, uid);
    cache_touch_job(j);
    cache_job_let_go(j);
}

static void put_pod(struct cache *c, struct cache_job *j, const struct object *o)
{
    struct job_pod *pod = pods_get(&j->pods, o->name);
    struct pod_view view;
    struct str task;
    uint32_t index;
    bool was_listed = pod && list_is_linked(&pod->to_look);

    if (pod && pod->view.rev >= o->rev)
        return;
    pod_view_decode(o, &view, &task, &index);
    if (pod && strcmp(pod->view.uid, view.uid) != 0) { /* its name is taken, so it was deleted */
        cache_bury(c, str_of(pod->view.uid), CACHE_FOR_GOOD);
        map_u64_remove(&c->pod_owner, pod_id(c, str_of(pod->view.uid)));
        c->n_pods--;
        pod = NULL;
    }
    if (!pod) {
        map_u64_put(&c->pod_owner, pod_id(c, o->uid), j);
        c->n_pods++;
    }
    pods_put(&j->pods, o->name, task, index, &view);
    pod = pods_get(&j->pods, o->name);
    assert(pod);
    if (was_listed || list_is_linked(&pod->to_look)) /* else nothing changed that anybody looks at */
        cache_touch_job(j);
}

void cache_put_pod(struct cache *c, const struct object *o)
{
    struct str owner = object_job_uid(o->root);
    struct cache_job *before = map_u64_get(&c->pod_owner, pod_id(c, o->uid)), *j;

    if (str_empty(o->uid))
        return;
    if (before && !str_eq(str_sub(owner, 0, CACHE_UID_MAX - 1), str_of(before->uid))) {
        struct job_pod *pod = pods_get(&before->pods, o->name);

        if (pod && pod->view.rev >= o->rev)
            return;
        remove_pod(c, before, o->name, o->uid); /* it was released, or another owner adopted it */
    }
    j = cache_job_need(c, owner);
    if (j)
        put_pod(c, j, o);
}

void cache_gone_pod(struct cache *c, struct str name, struct str uid, struct str job_uid)
{
    struct cache_job *j = map_u64_get(&c->pod_owner, pod_id(c, uid));

    if (!j && !str_empty(job_uid))
        j = cache_job(c, job_uid);
    if (j)
        remove_pod(c, j, name, uid);
}

/* Removing changes the lists, so the pods to remove are noted first. */
static void sweep_job_pods(struct cache *c, struct cache_job *j, const struct relist *told, uint64_t rev)
{
    VEC(struct job_pod *) missing = { 0 };
    autoarena a = { 0 };

    for (size_t class = 0; class < POD_CLASS_MAX; class ++)
        LIST_FOREACH(struct job_pod, pod, &j->pods.classes[class], in_class)
            if (!relist_has(told, str_of(pod->view.uid)))
                *vec_push(&a, &missing) = pod;
    for (size_t i = 0; i < missing.n; i++) {
        struct job_pod *pod = missing.v[i];
        struct str name = arena_str(&a, pod->name), uid = arena_str(&a, str_of(pod->view.uid));

        if (pod->view.rev > rev) {
            if (j->object)
                c->hooks.doubt(c->hooks.ctx, known_types()->pod, j->object->namespace, name, uid);
            continue;
        }
        cache_bury(c, uid, rev);
        remove_pod(c, j, name, uid); /* with the last one the entry may go too, but then there is no next */
    }
}

void cache_sweep_pods(struct cache *c, const struct relist *told, uint64_t rev)
{
    LIST_FOREACH(struct cache_job, j, &c->jobs, link)
        sweep_job_pods(c, j, told, rev);
}
