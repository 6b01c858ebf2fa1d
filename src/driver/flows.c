/* flows.c - which object made which Job, and the news for that object */
#include "driver/flows.h"

#include "api/meta.h"
#include "base/util.h"
#include "driver/driver_internal.h"
#include "flow/flow.h"
#include "flow/zone.h"
#include "os/zoneinfo.h"

struct maker {        /* a JobFlow or CronJob by its uid, or a JobTemplate by name: "flow/UID", "template/ns/name" */
    struct list jobs; /* struct made_link.in_maker */
    struct str key;   /* the bytes follow this struct */
};

struct made_link {
    struct list_link in_maker;
    struct maker *maker; /* NULL: none */
    struct made_job *job;
};

struct made_job {
    struct object *object;
    struct made_link owner, template;
};

struct flow_note {      /* what is remembered of one maker; the rest is in its status */
    struct buf trouble; /* of the last write that was refused */
    uint64_t schedule;  /* a CronJob's: a hash of schedule and zone … */
    int64_t since_ms;   /* … and when they became that, if we saw it; 0: they were so */
    struct str key;     /* the bytes follow this struct */
};

void flows_init(struct driver *d)
{
    map_init(&d->flows.jobs, d->opt.seed);
    map_init(&d->flows.makes, d->opt.seed);
    map_init(&d->flows.notes, d->opt.seed);
}

static void note_free(struct flow_note *n)
{
    buf_done(&n->trouble);
    free(n);
}

void flows_done(struct driver *d)
{
    MAP_FOREACH(struct made_job *, j, &d->flows.jobs) {
        object_unref(j->object);
        free(j);
    }
    MAP_FOREACH(struct maker *, m, &d->flows.makes)
        free(m);
    MAP_FOREACH(struct flow_note *, n, &d->flows.notes)
        note_free(n);
    map_done(&d->flows.jobs);
    map_done(&d->flows.makes);
    map_done(&d->flows.notes);
}

/* ---- keys ---- */

static const char *prefix_of(const struct resource_type *type)
{
    const struct known_types *k = known_types();

    return type == k->flow ? KEY_FLOW : type == k->template ? KEY_TEMPLATE : type == k->cron ? KEY_CRON : NULL;
}

static struct str flows_key_of(struct arena *a, const char *prefix, struct str namespace, struct str name)
{
    return arena_fmt(a, "%s%.*s/%.*s", prefix, STR_ARG(namespace), STR_ARG(name));
}

static void flows_touch(struct driver *d, const char *prefix, struct str namespace, struct str name)
{
    autoarena scratch = { 0 };

    work_queue_add(&d->queue, flows_key_of(&scratch, prefix, namespace, name));
}

/* ---- what is remembered ---- */

static struct flow_note *note_need(struct driver *d, struct str key)
{
    struct flow_note *n = map_get(&d->flows.notes, key);
    char *text;

    if (n)
        return n;
    n = xcalloc(1, sizeof(*n) + key.n);
    text = (char *)(n + 1);
    n->key = text_put(&text, key);
    map_put(&d->flows.notes, n->key, n);
    return n;
}

static void note_drop(struct driver *d, struct str key)
{
    struct flow_note *n = map_remove(&d->flows.notes, key);

    if (n)
        note_free(n);
}

void flows_written(struct driver *d, struct str key, const struct err *e)
{
    struct flow_note *n;

    if (!str_starts(key, STR(KEY_FLOW)) && !str_starts(key, STR(KEY_CRON)))
        return;
    n = note_need(d, key);
    buf_reset(&n->trouble);
    if (e)
        buf_str(&n->trouble, str_of(e->text));
}

/* ---- makers ---- */

static struct maker *maker_need(struct driver *d, struct str key)
{
    struct maker *m = map_get(&d->flows.makes, key);
    char *text;

    if (m)
        return m;
    m = xcalloc(1, sizeof(*m) + key.n);
    text = (char *)(m + 1);
    m->key = text_put(&text, key);
    list_init(&m->jobs);
    map_put(&d->flows.makes, m->key, m);
    return m;
}

static void flows_leave(struct driver *d, struct made_link *l)
{
    struct maker *m = l->maker;

    list_remove(&l->in_maker);
    l->maker = NULL;
    if (!m || !list_is_empty(&m->jobs))
        return;
    map_remove(&d->flows.makes, m->key);
    free(m);
}

static void flows_join(struct driver *d, struct made_link *l, struct made_job *job, struct str key)
{
    l->job = job;
    if (str_empty(key) || (l->maker && str_eq(l->maker->key, key)))
        return;
    flows_leave(d, l);
    l->maker = maker_need(d, key);
    list_push(&l->maker->jobs, &l->in_maker);
}

/* The controller of a Job, if it is one of ours. */
static const struct resource_type *owner_type(const struct json *job, struct str *ret_name)
{
    const struct json *ref = object_controller(job);
    const struct resource_type *type = type_by_kind(json_member_text(ref, "apiVersion"), json_member_text(ref, "kind"));
    const struct known_types *k = known_types();

    *ret_name = json_member_text(ref, "name");
    return ref && (type == k->flow || type == k->cron) ? type : NULL;
}

/* "ns.name" of a template is of the job's own namespace; its name may have dots. */
static struct str template_name(const struct object *job)
{
    struct str whole = jobtemplate_of(job->root);

    if (!str_starts(whole, job->namespace) || whole.n <= job->namespace.n + 1 || whole.p[job->namespace.n] != '.')
        return STR_NULL;
    return str_from(whole, job->namespace.n + 1);
}

static void touch_makers(struct driver *d, const struct object *job)
{
    struct str name = STR_NULL;
    const struct resource_type *type = owner_type(job->root, &name);

    if (type)
        flows_touch(d, prefix_of(type), job->namespace, name);
    if (template_name(job).n)
        flows_touch(d, KEY_TEMPLATE, job->namespace, template_name(job));
}

/* ---- jobs ---- */

static bool looks_the_same(const struct object *a, const struct object *b)
{
    const struct json *x = json_get(a->root, "status"), *y = json_get(b->root, "status");
    const struct json *counts_x = json_get(x, "taskStatusCount"), *counts_y = json_get(y, "taskStatusCount");

    return str_eq(json_member_text(json_get(x, "state"), "phase"), json_member_text(json_get(y, "state"), "phase")) &&
           str_eq(json_member_text(json_get(a->root, "metadata"), "deletionTimestamp"),
                  json_member_text(json_get(b->root, "metadata"), "deletionTimestamp")) &&
           str_eq(object_controller_uid(a->root), object_controller_uid(b->root)) &&
           json_i64(json_get(x, "retryCount"), 0) == json_i64(json_get(y, "retryCount"), 0) &&
           (counts_x == counts_y || (counts_x && counts_y && json_equal(counts_x, counts_y)));
}

static void forget_job(struct driver *d, struct made_job *j)
{
    touch_makers(d, j->object);
    flows_leave(d, &j->owner);
    flows_leave(d, &j->template);
    map_remove(&d->flows.jobs, j->object->uid);
    object_unref(j->object);
    free(j);
}

static void put_job(struct driver *d, struct made_job *j, const struct object *now)
{
    autoarena scratch = { 0 };
    struct object *before = j ? j->object : NULL;
    struct str name = STR_NULL, template = template_name(now);
    bool has_owner = owner_type(now->root, &name);

    if (!has_owner && !template.n) {
        if (j)
            forget_job(d, j);
        return;
    }
    if (!j)
        j = xcalloc(1, sizeof(*j));
    j->object = object_ref(now);
    map_put(&d->flows.jobs, j->object->uid, j); /* the key is in the object: it moves too */
    if (has_owner)
        flows_join(d, &j->owner, j, arena_cat(&scratch, STR(KEY_FLOW), object_controller_uid(now->root)));
    else
        flows_leave(d, &j->owner);
    if (template.n)
        flows_join(d, &j->template, j, flows_key_of(&scratch, KEY_TEMPLATE, now->namespace, template));
    else
        flows_leave(d, &j->template);
    if (!before || !looks_the_same(before, now))
        touch_makers(d, now);
    if (before && !str_eq(object_controller_uid(before->root), object_controller_uid(now->root)))
        touch_makers(d, before);
    object_unref(before);
}

/* The event does not matter: the cache has the current state. */
static void look_at_job(struct driver *d, struct str uid)
{
    const struct cache_job *in_cache = cache_job(&d->cache, uid);
    const struct object *now = in_cache ? in_cache->object : NULL;
    struct made_job *j = map_get(&d->flows.jobs, uid);

    if (now && (!j || j->object != now))
        put_job(d, j, now);
    else if (!now && j)
        forget_job(d, j);
}

static void look_at_jobs(struct driver *d)
{
    VEC(struct made_job *) gone = { 0 };
    autoarena a = { 0 };

    MAP_FOREACH(struct made_job *, j, &d->flows.jobs) {
        const struct cache_job *in_cache = cache_job(&d->cache, j->object->uid);

        if (!in_cache || !in_cache->object)
            *vec_push(&a, &gone) = j;
    }
    for (size_t i = 0; i < gone.n; i++)
        forget_job(d, gone.v[i]);
}

/* ---- news ---- */

/* The objects of a type in the cache; NULL: none are wanted. */
static const struct list *objects_of(const struct driver *d, const struct resource_type *type)
{
    for (size_t i = 0; i < d->cache.n_types; i++)
        if (d->cache.types[i].type == type)
            return &d->cache.types[i].objects;
    return NULL;
}

/* A deleted job may have had the name which a flow wants: "flow-vertex". */
static void touch_heirs(struct driver *d, struct str namespace, struct str job)
{
    LIST_FOREACH(struct cached, o, objects_of(d, known_types()->flow), in_type) {
        struct str name = o->object->name;

        if (!job.n || (str_eq(o->object->namespace, namespace) && str_starts(job, name) && job.n > name.n &&
                       job.p[name.n] == '-'))
            flows_touch(d, KEY_FLOW, o->object->namespace, name);
    }
}

static uint64_t schedule_hash(const struct object *cron)
{
    const struct json *spec = json_get(cron->root, "spec");

    return str_hash(json_member_text(spec, "schedule"), str_hash(json_member_text(spec, "timeZone"), 1)) | 1;
}

/* A changed schedule counts from the change on: its earlier starts are not made up for. */
static void note_schedule(struct driver *d, const struct object *cron)
{
    autoarena scratch = { 0 };
    struct flow_note *n = note_need(d, flows_key_of(&scratch, KEY_CRON, cron->namespace, cron->name));
    uint64_t hash = schedule_hash(cron);

    if (n->schedule && n->schedule != hash)
        n->since_ms = d->last_now_ms;
    n->schedule = hash;
}

/* Flows that wait for a template of this name. */
static void touch_flows(struct driver *d, struct str namespace, struct str template)
{
    LIST_FOREACH(struct cached, o, objects_of(d, known_types()->flow), in_type)
        if (str_eq(o->object->namespace, namespace))
            JSON_FOREACH(flow, json_find(o->object->root, "spec", "flows", NULL))
                if (str_eq(json_member_text(flow, "name"), template)) {
                    flows_touch(d, KEY_FLOW, namespace, o->object->name);
                    break;
                }
}

static void maker_told(struct driver *d, const struct resource_type *type, struct str namespace, struct str name)
{
    const struct object *now = cache_find(&d->cache, type, namespace, name);
    autoarena scratch = { 0 };

    flows_touch(d, prefix_of(type), namespace, name);
    if (type == known_types()->template)
        touch_flows(d, namespace, name);
    if (type == known_types()->cron && now)
        note_schedule(d, now);
    if (!now) {
        note_drop(d, flows_key_of(&scratch, prefix_of(type), namespace, name));
        probes_forget(d, flows_key_of(&scratch, prefix_of(type), namespace, name));
    }
}

void flows_seen(struct driver *d, const struct object *o)
{
    if (o->type == known_types()->job)
        look_at_job(d, o->uid);
    else if (o->type == known_types()->pod)
        probe_seen(d, o);
    else if (prefix_of(o->type))
        maker_told(d, o->type, o->namespace, o->name);
}

void flows_gone(struct driver *d, const struct resource_type *type, struct str namespace, struct str name,
                struct str uid)
{
    if (type == known_types()->job) {
        look_at_job(d, uid);
        touch_heirs(d, namespace, name);
    } else if (prefix_of(type)) {
        maker_told(d, type, namespace, name);
    }
}

void flows_event(struct driver *d, const struct cluster_event *ev)
{
    if (ev->kind == CLUSTER_PUT)
        flows_seen(d, ev->object);
    else if (ev->kind == CLUSTER_GONE)
        flows_gone(d, ev->type, ev->object->namespace, ev->object->name, ev->object->uid);
    else if (ev->kind == CLUSTER_SYNCED && ev->type == known_types()->job) {
        look_at_jobs(d);
        touch_heirs(d, STR_NULL, STR_NULL);
    }
}

/* ---- planning ---- */

struct maker_view {
    struct driver *driver;
    const struct object *object;
    struct flow_note *note; /* NULL: nothing is remembered */
    VEC(const struct json *) jobs;
    struct str key;
    int64_t again_ms; /* probes are to be looked at by then; INT64_MAX: none is */
};

static bool flows_look(struct driver *d, const struct resource_type *type, struct str key_rest, struct arena *a,
                       struct maker_view *ret)
{
    struct str name = key_rest, namespace = STR_NULL;
    const struct maker *m;

    *ret = (struct maker_view){ .driver = d, .again_ms = INT64_MAX };
    (void)str_split(&name, '/', &namespace);
    ret->object = cache_find(&d->cache, type, namespace, name);
    if (!ret->object)
        return false;
    ret->key = arena_cat(a, str_of(prefix_of(type)), key_rest);
    ret->note = map_get(&d->flows.notes, ret->key);
    if (type == known_types()->template) {
        m = map_get(&d->flows.makes, arena_cat(a, STR(KEY_TEMPLATE), key_rest));
        if (m)
            LIST_FOREACH(struct made_link, l, &m->jobs, in_maker)
                *vec_push(a, &ret->jobs) = l->job->object->root;
        return true;
    }
    m = map_get(&d->flows.makes, arena_cat(a, STR(KEY_FLOW), ret->object->uid));
    if (m)
        LIST_FOREACH(struct made_link, l, &m->jobs, in_maker)
            *vec_push(a, &ret->jobs) = l->job->object->root;
    return true;
}

/* Told once for each time. */
static struct str take_trouble(struct maker_view *v, struct arena *a)
{
    struct str text = v->note ? arena_str(a, buf_view(&v->note->trouble)) : STR_NULL;

    if (v->note)
        buf_reset(&v->note->trouble);
    return text;
}

static const struct json *flows_find_template(void *ctx, struct str name)
{
    const struct maker_view *v = ctx;
    const struct object *o = cache_find(&v->driver->cache, known_types()->template, v->object->namespace, name);

    return o ? o->root : NULL;
}

static const struct json *flows_find_job(void *ctx, struct str name)
{
    const struct maker_view *v = ctx;
    const struct object *o = cache_find_job(&v->driver->cache, v->object->namespace, name);

    return o ? o->root : NULL;
}

static bool answers(void *ctx, const struct flow_question *q)
{
    struct maker_view *v = ctx;
    const struct object *o = cache_find_job(&v->driver->cache, v->object->namespace, q->job);

    return o && probe_task(v->driver, v->key, cache_job(&v->driver->cache, o->uid), q, &v->again_ms);
}

void flow_plan_key(struct driver *d, struct str key_rest, struct plan *plan)
{
    struct jobflow_observed seen = { .find_template = flows_find_template,
                                     .find_job = flows_find_job,
                                     .answers = answers };
    struct maker_view v;

    if (!flows_look(d, known_types()->flow, key_rest, plan->arena, &v))
        return;
    seen.flow = v.object->root;
    seen.jobs = v.jobs.v;
    seen.n_jobs = v.jobs.n;
    seen.ctx = &v;
    seen.trouble = take_trouble(&v, plan->arena);
    seen.scheduler_name = d->opt.scheduler_name;
    jobflow_plan(&seen, plan);
    if (v.again_ms != INT64_MAX)
        plan_wake(plan, plan->now_ms + v.again_ms);
}

void template_plan_key(struct driver *d, struct str key_rest, struct plan *plan)
{
    struct maker_view v;

    (void)plan->now_ms;
    if (flows_look(d, known_types()->template, key_rest, plan->arena, &v))
        jobtemplate_plan(v.object->root, v.jobs.v, v.jobs.n, plan);
}

/* Without a name: the machine's own, which it need not have. */
static void read_zone(struct arena *a, const struct json *cron, struct cronjob_observed *seen)
{
    const struct json *member = json_find(cron, "spec", "timeZone", NULL);
    struct str name = json_text(member, STR(""));
    const char *why = name.n ? zone_check_name(name) : NULL;
    autobuf bytes = { 0 };
    struct zone *zone;
    struct err e;

    if (why)
        seen->zone_problem = str_of(why);
    else if (zoneinfo_read(name, &bytes) < 0)
        seen->zone_problem = name.n ? arena_fmt(a, "unknown time zone %.*s", STR_ARG(name)) : STR_NULL;
    else if (zone_parse(a, buf_view(&bytes), &zone, &e) < 0)
        seen->zone_problem = name.n ? arena_fmt(a, "%.*s: %s", STR_ARG(name), e.text) : STR_NULL;
    else
        seen->zone = zone;
}

void cron_plan_key(struct driver *d, struct str key_rest, struct plan *plan)
{
    struct cronjob_observed seen = { .find_job = flows_find_job };
    struct maker_view v;

    if (!flows_look(d, known_types()->cron, key_rest, plan->arena, &v))
        return;
    seen.cron = v.object->root;
    seen.jobs = v.jobs.v;
    seen.n_jobs = v.jobs.n;
    seen.ctx = &v;
    seen.since_ms = v.note ? v.note->since_ms : 0;
    seen.trouble = take_trouble(&v, plan->arena);
    seen.scheduler_name = d->opt.scheduler_name;
    read_zone(plan->arena, seen.cron, &seen);
    cronjob_plan(&seen, plan);
}
