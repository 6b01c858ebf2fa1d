/* future.c - store, controllers, scheduler and hollow nodes on one manual clock
 *
 * The future has a client of its own beside the driver's: it sees every change in the order of revisions, tells the
 * hollow nodes of pods and the owner of everything. Time stands still while anything is left to do, then jumps to the
 * next thing that is due.
 */
#include "whatif/future.h"

#include "api/duration.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/util.h"
#include "driver/cache.h"
#include "whatif/hollow.h"
#include "job/phase.h"
#include "job/podgroup.h"
#include "plugin/plugin.h"
#include "store/store.h"

#include <inttypes.h>

enum {
    /* Turns without time passing. More than this only happens when something starts and ends at one time for ever, as
     * a job that is restarted whenever its pods, which run for 0 s, have ended: then a millisecond passes. */
    TURNS_MAX = 100000,
    AGAIN_MS = 100, /* a hollow node tries a write again */
    SEED = 20260301,
};

struct future {
    struct future_options opt;
    struct clock_manual clock;
    struct store *store;
    struct cluster *cluster, *eyes; /* the driver's and ours */
    struct driver *driver;
    struct sched_config config;
    struct hollow hollow;
    struct map uids;      /* of objects that were added: uid → "Kind namespace/name" */
    struct arena arena;   /* of uids */
    struct arena scratch; /* of one write */
    int64_t due_ms;       /* of the driver */
};

/* No key is ever used here, and making one takes longer than all the rest. */
static int constant_keys(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e)
{
    (void)ctx, (void)a, (void)type, (void)e;
    *ret = (struct ssh_keys){ STR("not a key\n"), STR("not a key\n") };
    return 0;
}

/* ---- how long a pod runs ---- */

static const struct object *future_find(struct future *f, const struct resource_type *type, const struct json *pod,
                                        const char *annotation)
{
    struct str name = object_annotation(pod, annotation);

    return str_empty(name) ? NULL : store_get(f->store, type, object_namespace(pod), name);
}

int64_t future_declared_ms(struct future *f, const struct json *pod)
{
    const struct object *job, *group;
    int64_t ms = annotation_ms(pod, RUNTIME_ANNOTATION), ns;

    if (ms >= 0)
        return ms;
    job = future_find(f, known_types()->job, pod, "volcano.sh/job-name");
    group = future_find(f, known_types()->group, pod, "scheduling.k8s.io/group-name");
    if (job)
        ms = annotation_ms(job->root, RUNTIME_ANNOTATION);
    if (ms < 0 && group)
        ms = annotation_ms(group->root, RUNTIME_ANNOTATION);
    if (ms < 0 && job &&
        duration_parse(json_member_text(json_get(job->root, "spec"), "runningEstimate"), &ns, NULL) == 0)
        ms = MAX_OF(ns, 0) / 1000000;
    return ms;
}

static int64_t runtime_ms(void *ctx, const struct json *pod)
{
    struct future *f = ctx;

    return f->opt.runtime_ms ? f->opt.runtime_ms(f->opt.ctx, pod) : future_declared_ms(f, pod);
}

/* ---- life ---- */

static void start_driver(struct future *f)
{
    struct driver_options opt = {
        .schedules = true,
        .collects_garbage = true,
        .is_silent = true,
        .assumes_answers = true,
        .make_keys = constant_keys,
        .seed = f->opt.seed,
        .sched_config = &f->config,
    };

    if (f->opt.config)
        f->config = *f->opt.config;
    else
        sched_config_default(&f->config);
    f->config.coming_ms = 0; /* what is not there is to be named */
    f->config.retell_ms = 0; /* no Events are read; callers ask the scheduler */
    f->config.rewrite_ms = INT64_MAX;
    opt.scheduler_name = f->config.scheduler_name;
    f->cluster = cluster_embedded_new(f->store, &f->clock.clock);
    f->driver = driver_new(f->cluster, &opt);
}

/* Only what the caller wants: everything, or the pods. */
static void open_eyes(struct future *f)
{
    f->eyes = cluster_embedded_new(f->store, &f->clock.clock);
    for (size_t i = 0; i < n_resource_types; i++)
        if (resource_types[i].schema && (f->opt.changed || &resource_types[i] == known_types()->pod))
            cluster_want(f->eyes, &resource_types[i]);
}

struct future *future_new(const struct future_options *opt)
{
    struct future *f = xcalloc(1, sizeof(*f));
    struct store_options store = { .clock = &f->clock.clock };
    struct hollow_options hollow = { opt->start_ms, opt->stop_ms, runtime_ms, f };

    f->opt = *opt;
    if (!f->opt.seed)
        f->opt.seed = SEED;
    store.seed = hollow.seed = f->opt.seed;
    store.history = SIZE_MAX; /* compacted when both clients have read it */
    clock_manual_init(&f->clock, opt->now_ms);
    f->store = store_new(&store);
    map_init(&f->uids, f->opt.seed);
    hollow_init(&f->hollow, &hollow);
    start_driver(f);
    open_eyes(f);
    return f;
}

void future_free(struct future *f)
{
    if (!f)
        return;
    driver_free(f->driver);
    cluster_free(f->eyes);
    cluster_free(f->cluster);
    hollow_done(&f->hollow);
    store_free(f->store);
    map_done(&f->uids);
    arena_done(&f->arena);
    arena_done(&f->scratch);
    free(f);
}

/* ---- putting in ---- */

/* The same name gives the same uid, in the form of version 8 of RFC 9562. */
static struct str uid_of(struct arena *a, struct str label)
{
    uint64_t x = str_hash(label, 1), y = str_hash(label, 2);

    return arena_fmt(a, "%08" PRIx64 "-%04" PRIx64 "-8%03" PRIx64 "-%04" PRIx64 "-%012" PRIx64, x >> 32,
                     x >> 16 & 0xffff, x & 0xfff, (y >> 48 & 0x3fff) | 0x8000, y & 0xffffffffffff);
}

static int check_uid(struct future *f, struct str uid, struct err *e)
{
    const char *other = map_get(&f->uids, uid);

    if (other)
        return err_set(e, ERR_INVALID, "metadata.uid: %s has the same uid %.*s", other, STR_ARG(uid));
    return 0;
}

static int add_namespace(struct future *f, struct str name, struct err *e)
{
    static const char kind[] = "Namespace";
    const struct resource_type *type = type_by_name(str_of(kind));

    if (str_empty(name) || store_get(f->store, type, STR_NULL, name))
        return 0;
    return store_create(f->store, object_new(&f->scratch, "v1", kind, STR_NULL, name), NULL, e);
}

/* One that was made as needed before it was given takes the annotations it is given. */
static bool is_known_namespace(struct future *f, const struct json *object)
{
    const struct resource_type *type = type_by_kind(object_api_version(object), object_kind(object));

    return type && type == type_by_name(STR("namespace")) &&
           store_get(f->store, type, STR_NULL, object_name(object)) != NULL;
}

static struct json *with_identity(struct future *f, const struct json *object, struct str label)
{
    struct json *copy = json_copy(&f->scratch, object), *meta = json_get(copy, "metadata");
    const struct resource_type *type = type_by_kind(object_api_version(object), object_kind(object));

    if (!json_is(meta, JSON_OBJECT))
        return copy;
    if (type && type->scope == SCOPE_NAMESPACED && str_empty(object_namespace(copy)))
        json_set(meta, "namespace", json_str(&f->scratch, STR("default")));
    if (str_empty(object_uid(copy)))
        json_set(meta, "uid", json_str(&f->scratch, uid_of(&f->scratch, label)));
    return copy;
}

static int put_in(struct future *f, struct json *object, struct str label, struct err *e)
{
    struct json *meta = json_get(object, "metadata");

    if (is_known_namespace(f, object)) {
        json_remove(meta, "uid");
        json_remove(meta, "resourceVersion");
        return store_update(f->store, object, STORE_MAIN, NULL, e);
    }
    if (check_uid(f, object_uid(object), e) < 0 || add_namespace(f, object_namespace(object), e) < 0 ||
        store_restore(f->store, object, NULL, e) < 0)
        return -1;
    map_put(&f->uids, arena_str(&f->arena, object_uid(object)), (void *)arena_cstr(&f->arena, label));
    return 0;
}

int future_add(struct future *f, const struct json *object, struct err *e)
{
    struct str space = object_namespace(object), label;
    int rc;

    label = arena_fmt(&f->scratch, "%.*s %.*s%s%.*s", STR_ARG(object_kind(object)), STR_ARG(space), space.n ? "/" : "",
                      STR_ARG(object_name(object)));
    rc = put_in(f, with_identity(f, object, label), label, e);
    arena_reset(&f->scratch);
    return rc;
}

bool future_lacks_group(const struct json *object)
{
    const struct resource_type *type = type_by_kind(object_api_version(object), object_kind(object));
    enum job_phase phase = job_phase_of(json_text(json_find(object, "status", "state", "phase", NULL), STR("")));

    return type && type == known_types()->job && phase <= PHASE_PENDING && !str_empty(object_uid(object)) &&
           json_find(object, "metadata", "creationTimestamp", NULL);
}

struct json *future_group_of(struct arena *a, const struct json *root)
{
    struct json *group;
    struct job job;

    job_decode(a, json_copy(a, root), &job);
    group = job_podgroup_new(a, &job, NULL);
    json_set(json_get(group, "metadata"), "creationTimestamp", json_str(a, job.meta.creation_timestamp));
    json_set(json_set(group, "status", json_object(a)), "phase", json_str(a, STR("Pending")));
    return group;
}

/* ---- time ---- */

static void future_tell(struct future *f, const struct object *o, bool is_gone)
{
    int64_t now_ms = future_now_ms(f);

    if (o->type == known_types()->pod && !f->opt.stands_still) {
        if (is_gone)
            hollow_gone(&f->hollow, o->uid);
        else
            hollow_put(&f->hollow, o, now_ms);
    }
    if (f->opt.changed)
        f->opt.changed(f->opt.ctx, o, is_gone, now_ms);
}

static bool future_look(struct future *f)
{
    struct cluster_event ev;
    bool any = false;

    while (cluster_next(f->eyes, &ev))
        if (ev.kind == CLUSTER_PUT || ev.kind == CLUSTER_GONE) {
            future_tell(f, ev.object, ev.kind == CLUSTER_GONE);
            any = true;
        }
    return any;
}

static bool run_nodes(struct future *f)
{
    int64_t now_ms = future_now_ms(f);
    struct op op;
    struct err e;
    bool any = false;

    while (hollow_next(&f->hollow, now_ms, &f->scratch, &op)) {
        any = true;
        if (store_apply(f->store, &op, NULL, &e) < 0 && e.code != ERR_NOT_FOUND)
            hollow_failed(&f->hollow, op.uid, now_ms + AGAIN_MS);
        arena_reset(&f->scratch);
    }
    return any;
}

static bool future_turn(struct future *f)
{
    bool is_busy, any;

    f->due_ms = driver_turn(f->driver, &is_busy);
    any = future_look(f);
    any |= run_nodes(f);
    return any || is_busy || f->due_ms <= future_now_ms(f);
}

int64_t future_settle(struct future *f)
{
    int64_t node_ms;

    for (unsigned turns = 1; future_turn(f); turns++)
        if (turns % TURNS_MAX == 0)
            clock_manual_advance(&f->clock, 1);
    store_compact(f->store, store_revision(f->store));
    node_ms = hollow_due_ms(&f->hollow);
    return MIN_OF(f->due_ms, node_ms);
}

int64_t future_run(struct future *f, int64_t until_ms)
{
    int64_t due_ms = future_settle(f), now_ms;

    while (due_ms <= until_ms && due_ms != INT64_MAX) {
        now_ms = future_now_ms(f);
        if (due_ms > now_ms)
            clock_manual_advance(&f->clock, due_ms - now_ms);
        due_ms = future_settle(f);
    }
    now_ms = future_now_ms(f);
    if (due_ms != INT64_MAX && until_ms > now_ms) {
        clock_manual_advance(&f->clock, until_ms - now_ms);
        (void)future_settle(f); /* nothing is due yet, but the controllers see the time */
    }
    return future_now_ms(f);
}

void future_jump(struct future *f, int64_t to_ms)
{
    int64_t due_ms = future_settle(f), now_ms = future_now_ms(f);

    to_ms = MIN_OF(to_ms, due_ms);
    if (to_ms > now_ms)
        clock_manual_advance(&f->clock, to_ms - now_ms);
}

bool future_is_idle(const struct future *f)
{
    return hollow_due_ms(&f->hollow) == INT64_MAX;
}

int64_t future_now_ms(const struct future *f)
{
    return f->clock.now_us / 1000;
}

struct sched *future_sched(struct future *f)
{
    return driver_sched(f->driver);
}

struct store *future_store(struct future *f)
{
    return f->store;
}

const struct object *future_get(struct future *f, const struct resource_type *type, struct str namespace,
                                struct str name)
{
    return store_get(f->store, type, namespace, name);
}
