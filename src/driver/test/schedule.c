/* schedule.c - tests of the driver's scheduling side: news in, decisions out, and what happens when writes fail
 *
 * The scheduler here is a puppet: it notes what it is told and decides what the test wants. schedule_whole.c has the
 * real one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "driver/cache.h"
#include "driver/driver.h"
#include "driver/test/fixture.h"
#include "driver/test/flaky.h"
#include "sched/sched.h"
#include "store/store.h"

/* ---- the puppet ---- */

struct world;

struct sched {
    struct buf log; /* "put Node n1", "gone Node n1", "failed p-0 n1", "withdrawn p-0 n1", "spared p-0" */
    struct arena arena;
    VEC(struct decision) next; /* of the next round */
    unsigned rounds;
    int64_t wake_ms;
    bool is_restless;                   /* never idle */
    const char *claim;                  /* that is to be told where the pod goes; NULL: none */
    const char *volume;                 /* … or that this volume is to be told of; NULL: none */
    bool is_named, is_lost;             /* the volume knows: somebody's name is on it; it is another's */
    bool is_fickle;                     /* stands by nothing */
    bool pod_runs;                      /* so it does not take it back ("gang") */
    void (*meanwhile)(struct world *w); /* happens while the next round decides, so that nobody has heard of it */
    struct world *world;
};

static struct sched *puppet;

struct sched *sched_new(const struct sched_config *config, uint64_t seed)
{
    (void)config, (void)seed;
    assert_null(puppet);
    puppet = xcalloc(1, sizeof(*puppet));
    return puppet;
}

void sched_configure(struct sched *s, const struct sched_config *config)
{
    (void)s, (void)config;
}

void sched_free(struct sched *s)
{
    if (!s)
        return;
    buf_done(&s->log);
    arena_done(&s->arena);
    free(s);
    puppet = NULL;
}

void sched_config_default(struct sched_config *ret)
{
    *ret = (struct sched_config){ 0 };
}

bool sched_wants(struct str api_version, struct str kind)
{
    static const char *const kinds[] = {
        "Node", "Pod", "PodGroup", "Queue", "HyperNode", "PersistentVolumeClaim", "PersistentVolume"
    };

    if (str_is(api_version, "events.k8s.io/v1"))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_is(kind, kinds[i]))
            return true;
    return false;
}

void sched_put(struct sched *s, const struct json *root)
{
    buf_fmt(&s->log, "put %.*s %.*s\n", STR_ARG(object_kind(root)), STR_ARG(object_name(root)));
    if (str_is(object_kind(root), "PersistentVolume")) {
        struct str name = json_text(json_find(root, "spec", "claimRef", "name", NULL), STR_NULL);

        s->is_named = str_is(name, "data");
        s->is_lost = name.n && !s->is_named;
    }
    s->pod_runs |= str_is(json_member_text(json_get(root, "status"), "phase"), "Running");
}

void sched_gone(struct sched *s, struct str kind, struct str namespace, struct str name, struct str uid)
{
    (void)namespace;
    assert_true(uid.n);
    buf_fmt(&s->log, "gone %.*s %.*s\n", STR_ARG(kind), STR_ARG(name));
}

void sched_failed(struct sched *s, const struct decision *d, struct str error)
{
    assert_true(d->uid.n);
    assert_true(d->kind == DECIDE_BIND || d->kind == DECIDE_EVICT);
    if (d->kind == DECIDE_EVICT)
        buf_fmt(&s->log, "spared %.*s\n", STR_ARG(d->name));
    else
        buf_fmt(&s->log, "%s %.*s %.*s\n", error.n ? "failed" : "withdrawn", STR_ARG(d->name), STR_ARG(d->node));
}

bool sched_stands(struct sched *s, const struct decision *d)
{
    assert_true(d->kind == DECIDE_EVICT ? d->reason.n : d->kind == DECIDE_BIND && d->node.n);
    return !s->is_fickle && !(str_is(d->reason, "gang") && s->pod_runs);
}

void sched_claims(struct sched *s, struct str pod_uid, void (*each)(void *ctx, const struct sched_claim *claim),
                  void *ctx)
{
    struct sched_claim claim = { .is_named = s->is_named, .is_lost = s->is_lost };

    assert_true(pod_uid.n);
    if (!s->claim)
        return;
    claim.name = str_of(s->claim);
    claim.volume = s->volume && !s->is_lost ? str_of(s->volume) : STR_NULL;
    each(ctx, &claim);
}

bool sched_is_idle(const struct sched *s)
{
    return !s->next.n && !s->is_restless;
}

void sched_round(struct sched *s, int64_t now_ms, struct sched_round *ret)
{
    (void)now_ms;
    assert_int_equal(ret->list.n, 0);
    s->rounds++;
    VEC_FOREACH(what, &s->next)
        *vec_push(&ret->arena, &ret->list) = *what;
    s->next.n = 0;
    ret->wake_ms = s->wake_ms;
    s->wake_ms = 0;
    if (s->meanwhile)
        s->meanwhile(s->world);
    s->meanwhile = NULL;
}

/* ---- the world ---- */

struct world {
    struct clock_manual clock;
    struct store *store;
    struct flaky flaky;
    struct driver *driver;
    struct arena arena;
};

static void world_init(struct world *w)
{
    struct store_options opt = { .seed = 3, .history = 50 };
    struct driver_options driver_opt = { .seed = 11, .schedules = true };

    *w = (struct world){ .flaky = { .cluster = { &flaky_class } } };
    clock_manual_init(&w->clock, 1700000000000);
    opt.clock = &w->clock.clock;
    w->store = store_new(&opt);
    w->flaky.inner = cluster_embedded_new(w->store, &w->clock.clock);
    w->driver = driver_new(&w->flaky.cluster, &driver_opt);
}

static void world_done(struct world *w)
{
    driver_free(w->driver);
    cluster_free(w->flaky.inner);
    cluster_free(&w->flaky.cluster);
    store_free(w->store);
    arena_done(&w->arena);
}

#define TIME_OF(w) ((struct fixture_time){ (w)->driver, &(w)->clock, &(w)->flaky.log })

static int64_t settle(struct world *w)
{
    return fixture_settle(&TIME_OF(w));
}

static void run_for(struct world *w, int64_t ms)
{
    fixture_run_for(&TIME_OF(w), ms);
}

static const struct object *get(struct world *w, const char *kind, const char *name)
{
    return store_get(w->store, type_by_name(str_of(kind)), STR("ns"), str_of(name));
}

static const struct object *create(struct world *w, const char *text)
{
    struct object *o = NULL;
    struct err e = { 0 };

    if (store_create(w->store, tree_of(&w->arena, text), &o, &e) < 0)
        fail_msg("create: %s", e.text);
    object_unref(o); /* the store has it */
    return o;
}

#define POD                                                                                                            \
    "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns, annotations: {scheduling.k8s.io/group-name: g}}, " \
    "spec: {containers: [{name: c, image: i}]}}"
#define GROUP                                                                                                          \
    "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: g, namespace: ns}, spec: "           \
    "{minMember: 1}, status: {phase: Pending}}"

static void create_node(struct world *w, const char *name)
{
    create(w, arena_fmt(&w->arena, "{apiVersion: v1, kind: Node, metadata: {name: %s}}", name).p);
}

/* A world with nodes n1 and n2, the PodGroup g and its pod p, all told. */
static void world_with_pod(struct world *w)
{
    world_init(w);
    create_node(w, "n1");
    create_node(w, "n2");
    create(w, GROUP);
    create(w, POD);
    settle(w);
    buf_reset(&puppet->log);
    buf_reset(&w->flaky.log);
}

/* To be decided in the next round; the uid is that of the object there now. */
static struct decision *decide(struct world *w, enum decision_kind kind, const char *type, const char *name)
{
    struct decision *what = vec_push(&puppet->arena, &puppet->next);
    const struct object *o = get(w, type, name);

    assert_non_null(o);
    what->kind = kind;
    what->namespace = arena_str(&puppet->arena, o->namespace);
    what->name = arena_str(&puppet->arena, o->name);
    what->uid = arena_str(&puppet->arena, o->uid);
    return what;
}

static void nudge(struct world *w) /* some news, so that there is a round */
{
    struct json *patch = tree_of(&w->arena, "{metadata: {annotations: {nudge: a}}}");
    static unsigned n;
    struct err e = { 0 };

    json_set(json_find(patch, "metadata", "annotations", NULL), "nudge", json_fmt(&w->arena, "%u", ++n));
    if (store_apply(
            w->store,
            &(struct op){ .kind = OP_MERGE_PATCH, .type = type_by_name(STR("node")), .name = STR("n2"), .body = patch },
            NULL, &e) < 0)
        fail_msg("nudge: %s", e.text);
}

static void fail_next(struct world *w, enum op_kind op, const char *kind, enum err_code code, unsigned times)
{
    w->flaky.fail_op = op;
    w->flaky.fail_kind = kind;
    w->flaky.code = code;
    w->flaky.fail_left = times;
}

static struct str node_of(struct world *w, const char *pod)
{
    return get(w, "pod", pod) ? json_member_text(json_get(get(w, "pod", pod)->root, "spec"), "nodeName") : STR("gone");
}

static struct str condition(struct world *w, const char *pod, const char *type, const char *member)
{
    JSON_FOREACH(c, json_find(get(w, "pod", pod)->root, "status", "conditions", NULL))
        if (str_is(json_member_text(c, "type"), type))
            return json_member_text(c, member);
    return STR("(none)");
}

struct event_search {
    struct world *w;
    const char *kind, *reason;
    struct buf found;
};

static void look_at_event(void *ctx, const struct object *o)
{
    struct event_search *s = ctx;

    if (str_is(json_member_text(o->root, "reason"), s->reason) &&
        str_is(json_member_text(json_get(o->root, "involvedObject"), "kind"), s->kind))
        buf_fmt(&s->found, "%.*s %.*s: %.*s\n", STR_ARG(json_member_text(o->root, "type")),
                STR_ARG(json_member_text(json_get(o->root, "source"), "component")),
                STR_ARG(json_member_text(o->root, "message")));
}

static const char *events(struct world *w, const char *kind, const char *reason)
{
    struct event_search s = { w, kind, reason, { 0 } };
    const char *text;

    store_list(w->store, known_types()->event, STR_NULL, look_at_event, &s);
    text = arena_cstr(&w->arena, buf_view(&s.found));
    buf_done(&s.found);
    return text;
}

static unsigned count(struct str text, const char *line)
{
    unsigned n = 0;

    for (struct str one; str_split(&text, '\n', &one);)
        n += str_is(one, line);
    return n;
}

static struct driver_stats stats(struct world *w)
{
    struct driver_stats s;

    driver_stats(w->driver, &s);
    return s;
}

#define assert_log(log, want)                                                                                          \
    do {                                                                                                               \
        if (!str_is(buf_view(&(log)), (want)))                                                                         \
            fail_msg("want:\n%sgot:\n%.*s", (want), STR_ARG(buf_view(&(log))));                                        \
    } while (0)

/* ---- volumes ---- */

static struct str selected(struct world *w)
{
    return object_annotation(get(w, "pvc", "data")->root, SELECTED_NODE_KEY);
}

static void change_claim(struct world *w, const char *patch)
{
    struct err e = { 0 };

    if (store_apply(w->store,
                    &(struct op){ .kind = OP_MERGE_PATCH,
                                  .type = known_types()->claim,
                                  .namespace = STR("ns"),
                                  .name = STR("data"),
                                  .body = tree_of(&w->arena, patch) },
                    NULL, &e) < 0)
        fail_msg("claim: %s", e.text);
    settle(w);
}

static void bind_with_claim(struct world *w)
{
    world_with_pod(w);
    create(w, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: ns}, spec: {}}");
    settle(w);
    puppet->claim = "data";
    decide(w, DECIDE_BIND, "pod", "p")->node = STR("n1");
    nudge(w);
}

static void binds_when_the_volume_is_there(void **state)
{
    struct world w;

    (void)state;
    bind_with_claim(&w);
    fail_next(&w, OP_MERGE_PATCH, "PersistentVolumeClaim", ERR_IO, 2);
    run_for(&w, 1000);
    assert_true(str_is(selected(&w), "n1"));
    assert_true(str_empty(node_of(&w, "p")));
    change_claim(&w, "{metadata: {labels: {a: b}}}"); /* any news but the one it waits for */
    assert_true(str_empty(node_of(&w, "p")));
    change_claim(&w, "{spec: {volumeName: v}}");
    assert_true(str_is(node_of(&w, "p"), "n1"));
    assert_int_equal(count(buf_view(&puppet->log), "failed p n1"), 0);
    world_done(&w);
}

static void gives_up_a_node_without_volumes(void **state)
{
    struct world w;

    (void)state;
    for (int i = 0; i < 2; i++) { /* they say so, or nobody does anything for ten minutes */
        bind_with_claim(&w);
        settle(&w);
        assert_true(str_is(selected(&w), "n1"));
        if (i == 0)
            change_claim(&w, "{metadata: {annotations: {volume.kubernetes.io/selected-node: null}}}");
        else
            run_for(&w, 599 * 1000);
        assert_int_equal(count(buf_view(&puppet->log), "failed p n1"), i == 0);
        run_for(&w, 2000);
        assert_int_equal(count(buf_view(&puppet->log), "failed p n1"), 1);
        assert_true(str_empty(node_of(&w, "p")));
        decide(&w, DECIDE_BIND, "pod", "p")->node = STR("n2"); /* the next one works */
        nudge(&w);
        run_for(&w, 2000);
        assert_true(str_is(selected(&w), "n2"));
        change_claim(&w, "{spec: {volumeName: v}}");
        assert_true(str_is(node_of(&w, "p"), "n2"));
        world_done(&w);
    }
}

static struct str ref_of(struct world *w, const char *member)
{
    return json_member_text(json_find(get(w, "pv", "disk")->root, "spec", "claimRef", NULL), member);
}

static void change_volume(struct world *w, const char *patch)
{
    struct err e = { 0 };

    if (store_apply(w->store,
                    &(struct op){ .kind = OP_MERGE_PATCH,
                                  .type = known_types()->volume,
                                  .name = STR("disk"),
                                  .body = tree_of(&w->arena, patch) },
                    NULL, &e) < 0)
        fail_msg("volume: %s", e.text);
}

static void bind_with_volume(struct world *w)
{
    world_with_pod(w);
    create(w, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: ns}, spec: {}}");
    create(w, "{apiVersion: v1, kind: PersistentVolume, metadata: {name: disk}, spec: {capacity: {storage: 1Gi}, "
              "accessModes: [ReadWriteOnce], local: {path: /d}, nodeAffinity: {required: {nodeSelectorTerms: "
              "[{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}]}}}}");
    settle(w);
    puppet->claim = "data";
    puppet->volume = "disk";
    decide(w, DECIDE_BIND, "pod", "p")->node = STR("n1");
    nudge(w);
}

/* The volume is told first, however often that takes; the pod follows when the claim is bound. */
static void binds_when_the_volume_is_its_own(void **state)
{
    struct world w;

    (void)state;
    bind_with_volume(&w);
    fail_next(&w, OP_MERGE_PATCH, "PersistentVolume", ERR_IO, 2);
    run_for(&w, 1000);
    assert_true(str_is(ref_of(&w, "name"), "data"));
    assert_true(str_is(ref_of(&w, "namespace"), "ns"));
    assert_true(str_eq(ref_of(&w, "uid"), get(&w, "pvc", "data")->uid));
    assert_true(str_empty(selected(&w))); /* nobody is to make another */
    assert_true(str_empty(node_of(&w, "p")));
    change_claim(&w, "{spec: {volumeName: disk}}");
    assert_true(str_is(node_of(&w, "p"), "n1"));
    assert_int_equal(count(buf_view(&puppet->log), "failed p n1"), 0);
    world_done(&w);
}

/* Somebody was quicker, and nobody's name is written over his. */
static void a_volume_that_somebody_else_took(void **state)
{
    struct world w;

    (void)state;
    bind_with_volume(&w);
    change_volume(&w, "{spec: {claimRef: {namespace: ns, name: other, uid: u}}}"); /* before it was sent */
    run_for(&w, 1000);
    assert_true(str_is(ref_of(&w, "name"), "other"));
    assert_true(str_empty(node_of(&w, "p")));
    assert_int_equal(count(buf_view(&puppet->log), "failed p n1"), 1);
    world_done(&w);
}

/* ---- news ---- */

static void told_what_it_wants(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    create_node(&w, "n1");
    create(&w, POD);
    create(&w, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: ns}}");
    puppet->is_restless = true;
    settle(&w);
    assert_int_equal(count(buf_view(&puppet->log), "put Node n1"), 1);
    assert_int_equal(count(buf_view(&puppet->log), "put Pod p"), 1);
    assert_int_equal(count(buf_view(&puppet->log), "put ConfigMap c"), 0);
    /* The driver's own writes (queues root and default) are news as well, once each. */
    assert_int_equal(count(buf_view(&puppet->log), "put Queue root"), 2); /* made, opened */
    buf_reset(&puppet->log);
    create_node(&w, "n2");
    settle(&w);
    assert_log(puppet->log, "put Node n2\n");
    assert_int_equal(store_delete(w.store, &(struct object_key){ type_by_name(STR("node")), STR_NULL, STR("n1") },
                                  &(struct store_delete_options){ .grace_s = -1 }, NULL, NULL),
                     0);
    buf_reset(&puppet->log);
    settle(&w);
    assert_log(puppet->log, "gone Node n1\n");
    assert_ptr_equal(driver_sched(w.driver), puppet);
    world_done(&w);
}

static void nothing_before_all_is_listed(void **state)
{
    struct world w;
    unsigned turns = 0;

    (void)state;
    world_init(&w);
    create_node(&w, "n1");
    puppet->is_restless = true;
    for (struct cluster_event ev; turns < 3 && cluster_next(w.flaky.inner, &ev); turns++)
        continue; /* a list that began before: its end is told, its beginning is not */
    settle(&w);
    assert_int_equal(puppet->rounds, 0);
    world_done(&w);
}

/* The history is short: after many changes the watch is of no use and everything is listed again. */
static void a_list_without_a_node(void **state)
{
    struct world w;
    struct store_delete_options now = { .grace_s = -1 };

    (void)state;
    world_with_pod(&w);
    assert_int_equal(
        store_delete(w.store, &(struct object_key){ type_by_name(STR("node")), STR_NULL, STR("n1") }, &now, NULL, NULL),
        0);
    assert_int_equal(
        store_delete(w.store, &(struct object_key){ type_by_name(STR("pod")), STR("ns"), STR("p") }, &now, NULL, NULL),
        0);
    create(&w, POD); /* another one under the old name */
    for (int i = 0; i < 100; i++)
        create(&w, arena_fmt(&w.arena, "{apiVersion: v1, kind: Secret, metadata: {name: s%d, namespace: ns}}", i).p);
    settle(&w);
    assert_int_equal(count(buf_view(&puppet->log), "gone Node n1"), 1);
    assert_int_equal(count(buf_view(&puppet->log), "gone Pod p"), 1);
    assert_int_equal(count(buf_view(&puppet->log), "put Pod p"), 1);
    assert_int_equal(count(buf_view(&puppet->log), "put Node n1"), 0);
    assert_int_equal(count(buf_view(&puppet->log), "put Node n2"), 0); /* it has not changed */
    world_done(&w);
}

static void rounds_follow_news_and_the_clock(void **state)
{
    struct world w;
    unsigned before;
    int64_t start_ms;

    (void)state;
    world_with_pod(&w);
    assert_int_equal(puppet->rounds, 0); /* it was idle */
    puppet->is_restless = true;
    nudge(&w);
    puppet->wake_ms = clock_now_ms(&w.clock.clock) + 5000;
    start_ms = clock_now_ms(&w.clock.clock);
    assert_int_equal(settle(&w), start_ms + 5000);
    assert_int_equal(puppet->rounds, 1); /* nothing came of it and nothing new happened: no other */
    puppet->is_restless = false;
    before = puppet->rounds;
    run_for(&w, 20000);
    assert_int_equal(puppet->rounds, before + 1);
    assert_int_equal(stats(&w).rounds, puppet->rounds);
    world_done(&w);
}

/* ---- news in any order ---- a cluster that tells what the test wrote down ---- */

struct script {
    struct cluster cluster;
    struct buf log; /* of what is read */
    struct arena arena;
    VEC(struct cluster_event) events;
    size_t at;
    uint64_t tokens;
};

static void script_free(struct cluster *c)
{
    struct script *s = (struct script *)c;

    VEC_FOREACH(ev, &s->events)
        object_unref(ev->object);
    arena_done(&s->arena);
    buf_done(&s->log);
}

static void script_want(struct cluster *c, const struct resource_type *type)
{
    struct script *s = (struct script *)c;

    if (type == known_types()->pod)
        return; /* the test tells */
    *vec_push(&s->arena, &s->events) = (struct cluster_event){ .kind = CLUSTER_RELIST, .type = type };
    *vec_push(&s->arena, &s->events) = (struct cluster_event){ .kind = CLUSTER_SYNCED, .type = type, .rev = 1 };
}

static uint64_t script_write(struct cluster *c, const struct op *op)
{
    (void)op;
    return ++((struct script *)c)->tokens;
}

static uint64_t script_read(struct cluster *c, const struct resource_type *type, struct str namespace, struct str name)
{
    struct script *s = (struct script *)c;

    (void)namespace;
    buf_fmt(&s->log, "read %s %.*s\n", type->kind, STR_ARG(name));
    return ++s->tokens;
}

static bool script_next(struct cluster *c, struct cluster_event *ret)
{
    struct script *s = (struct script *)c;

    if (s->at == s->events.n)
        return false;
    *ret = s->events.v[s->at++];
    return true;
}

static int64_t script_now(struct cluster *c)
{
    (void)c;
    return 1700000000000;
}

static const struct cluster_class script_class = { script_free, script_want, script_write,
                                                   script_read, script_next, script_now };

/* "+p a 7": Pod p with uid a at revision 7; "-p a 8": it is gone; "[": a list begins; "] 9": it ends, of revision 9;
 * "?": the last question is answered with nothing. */
static void tell(struct script *s, struct str line)
{
    static const enum cluster_event_kind kinds[] = { ['+'] = CLUSTER_PUT,
                                                     ['-'] = CLUSTER_GONE,
                                                     ['['] = CLUSTER_RELIST,
                                                     [']'] = CLUSTER_SYNCED,
                                                     ['?'] = CLUSTER_RESULT };
    struct cluster_event *ev = vec_push(&s->arena, &s->events);
    struct str name = STR_NULL, uid = STR_NULL;
    uint64_t rev = 0;

    ev->kind = kinds[(unsigned char)line.p[0]];
    ev->type = known_types()->pod;
    ev->token = s->tokens;
    line = str_from(line, 1);
    (void)str_split(&line, ' ', &name);
    if (name.n)
        (void)str_split(&line, ' ', &uid);
    (void)str_to_u64(line, &rev);
    ev->rev = rev;
    if (name.n)
        ev->object = object_of(
            &s->arena, rev,
            arena_fmt(&s->arena, "{apiVersion: v1, kind: Pod, metadata: {name: %.*s, namespace: ns, uid: %.*s}}",
                      STR_ARG(name), STR_ARG(uid))
                .p);
}

static void news_in_any_order(void **state)
{
    static const struct {
        const char *label, *told, *want, *want_reads;
    } cases[] = {
        { "twice", "[,] 1,+p a 5,+p a 5", "put Pod p\n", "" },
        { "older after newer", "[,] 1,+p a 7,+p a 5", "put Pod p\n", "" },
        { "late news of what is gone", "[,] 1,+p a 5,-p a 6,+p a 5", "put Pod p\ngone Pod p\n", "" },
        { "gone twice", "[,] 1,+p a 5,-p a 6,-p a 6", "put Pod p\ngone Pod p\n", "" },
        { "gone before it came", "[,] 1,-p a 6,+p a 5", "", "" },
        { "another of the same name", "[,] 1,+p a 5,+p b 9,-p a 8", "put Pod p\ngone Pod p\nput Pod p\n", "" },
        { "the older of two", "[,] 1,+p b 9,+p a 5,-p a 8", "put Pod p\n", "" },
        { "not in the list", "[,+p a 5,+q c 6,] 6,[,+q c 6,] 8", "put Pod p\nput Pod q\ngone Pod p\n", "" },
        { "not in a list of unknown revision", "[,+p a 5,+q c 6,] 6,[,+q c 6,] 0", "put Pod p\nput Pod q\ngone Pod p\n",
          "" },
        { "another in the list", "[,+p a 5,] 6,[,+p b 7,] 8", "put Pod p\ngone Pod p\nput Pod p\n", "" },
        { "newer than the list", "[,+p a 5,] 6,+q c 9,[,+p a 5,] 8", "put Pod p\nput Pod q\n", "read Pod q\n" },
        { "newer than the list, and gone", "[,] 1,+q c 9,[,] 8,?", "put Pod q\ngone Pod q\n", "read Pod q\n" },
        { "an end without beginning", "[,+p a 5,] 6,] 9", "put Pod p\n", "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct driver_options opt = { .seed = 11, .schedules = true };
        struct script s = { .cluster = { &script_class } };
        struct driver *d = driver_new(&s.cluster, &opt);
        struct str rest = str_of(cases[i].told), line = STR_NULL;

        while (str_split(&rest, ',', &line)) {
            tell(&s, line);
            driver_turn(d, NULL);
        }
        if (!str_is(buf_view(&puppet->log), cases[i].want) || !str_is(buf_view(&s.log), cases[i].want_reads))
            fail_msg("%s: told\n%.*sand %.*s", cases[i].label, STR_ARG(buf_view(&puppet->log)),
                     STR_ARG(buf_view(&s.log)));
        driver_free(d);
        cluster_free(&s.cluster);
    }
}

/* Checklist 44: a scheduler that begins among very many objects decides nothing until it has heard of all of them. */
static void item_44_D63_many_objects(void **state)
{
    enum { OBJECTS = 100000, A_TURN = 5000 };
    struct driver_options opt = { .seed = 11, .schedules = true };
    struct script s = { .cluster = { &script_class } };
    struct driver *d = driver_new(&s.cluster, &opt);

    (void)state;
    puppet->is_restless = true;
    tell(&s, STR("["));
    for (int i = 0; i < OBJECTS; i++) {
        char line[48];

        snprintf(line, sizeof(line), "+p%d u%d %d", i, i, i + 2);
        tell(&s, str_of(line));
        if (i % A_TURN == 0)
            driver_turn(d, NULL);
        buf_reset(&puppet->log);
    }
    driver_turn(d, NULL);
    assert_int_equal(puppet->rounds, 0);
    tell(&s, STR("] 200000"));
    driver_turn(d, NULL);
    assert_int_equal(puppet->rounds, 1);
    driver_free(d);
    cluster_free(&s.cluster);
}

/* ---- bindings ---- */

static void decide_bind(struct world *w, const char *node)
{
    decide(w, DECIDE_BIND, "pod", "p")->node = str_of(node);
}

static void decide_refusal(struct world *w, const char *message)
{
    struct decision *what = decide(w, DECIDE_POD_STATUS, "pod", "p");

    what->reason = STR("Unschedulable");
    what->message = arena_str(&puppet->arena, str_of(message));
}

static void a_binding(void **state)
{
    struct world w;

    (void)state;
    world_with_pod(&w);
    decide_bind(&w, "n1");
    nudge(&w);
    settle(&w);
    assert_true(str_is(node_of(&w, "p"), "n1"));
    assert_log(w.flaky.log, "bind Pod p\n");
    assert_log(puppet->log, "put Node n2\nput Pod p\n"); /* the answer is news, the event of it is not */
    assert_string_equal(events(&w, "Pod", "Scheduled"), "Normal volcano: Successfully assigned ns/p to n1\n");
    assert_int_equal(stats(&w).binds, 1);
    world_done(&w);
}

static void a_binding_that_does_not_work(void **state)
{
    static const enum err_code codes[] = { ERR_FORBIDDEN, ERR_IO, ERR_CONFLICT, ERR_INVALID };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct world w;

        world_with_pod(&w);
        fail_next(&w, OP_BIND, "Pod", codes[i], 1);
        decide_bind(&w, "n1");
        nudge(&w);
        settle(&w);
        if (count(buf_view(&puppet->log), "failed p n1") != 1)
            fail_msg("%s:\n%.*s", err_code_name(codes[i]), STR_ARG(buf_view(&puppet->log)));
        assert_string_equal(events(&w, "Pod", "Scheduled"), "");
        assert_int_equal(stats(&w).binds, 0);
        world_done(&w);
    }
}

static void bind_behind_its_back(struct world *w, const char *node)
{
    struct plan plan = { .arena = &w->arena };
    struct err e = { 0 };

    if (store_apply(w->store, plan_bind(&plan, STR("ns"), STR("p"), STR_NULL, str_of(node)), NULL, &e) < 0)
        fail_msg("bind: %s", e.text);
}

/* The news come in the same turn as the decision: nothing is sent, and nothing has failed. */
static void a_binding_that_is_no_longer_wanted(void **state)
{
    (void)state;
    for (int is_gone = 0; is_gone < 2; is_gone++) {
        struct world w;

        world_with_pod(&w);
        decide_bind(&w, "n1");
        if (is_gone)
            assert_int_equal(store_delete(w.store, &(struct object_key){ known_types()->pod, STR("ns"), STR("p") },
                                          &(struct store_delete_options){ .grace_s = -1 }, NULL, NULL),
                             0);
        else
            bind_behind_its_back(&w, "n2");
        settle(&w);
        assert_log(w.flaky.log, "");
        assert_log(puppet->log, is_gone ? "gone Pod p\n" : "put Pod p\n");
        world_done(&w);
    }
}

/* Decided on old news: the store says no, and the pod as it is now is told before the failure. */
static void a_binding_that_comes_too_late(void **state)
{
    struct world w;

    (void)state;
    world_with_pod(&w);
    decide_bind(&w, "n1");
    nudge(&w);
    fail_next(&w, OP_BIND, "Pod", ERR_CONFLICT, 1);
    driver_turn(w.driver, NULL); /* sent; meanwhile: */
    bind_behind_its_back(&w, "n2");
    settle(&w);
    assert_log(puppet->log, "put Node n2\nput Pod p\nfailed p n1\n");
    assert_true(str_is(node_of(&w, "p"), "n2"));
    world_done(&w);
}

static void a_binding_of_unknown_outcome(void **state)
{
    static const struct {
        const char *label;
        bool takes_effect, drops;
    } cases[] = { { "done, answer lost", true, false },
                  { "done, no answer ever", true, true },
                  { "lost", false, true } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct world w;

        world_with_pod(&w);
        fail_next(&w, OP_BIND, "Pod", ERR_IO, 1);
        w.flaky.takes_effect = cases[i].takes_effect;
        w.flaky.drops = cases[i].drops;
        decide_bind(&w, "n1");
        nudge(&w);
        run_for(&w, 100000);
        if (stats(&w).binds != cases[i].takes_effect ||
            count(buf_view(&puppet->log), "failed p n1") != !cases[i].takes_effect)
            fail_msg("%s:\n%.*s", cases[i].label, STR_ARG(buf_view(&puppet->log)));
        assert_int_equal(events(&w, "Pod", "Scheduled")[0] != '\0', cases[i].takes_effect);
        world_done(&w);
    }
}

/* The scheduler insists: the pod's back-off keeps the pace. */
static void a_binding_refused_again_and_again(void **state)
{
    struct world w;

    (void)state;
    world_with_pod(&w);
    fail_next(&w, OP_BIND, "Pod", ERR_FORBIDDEN, 200);
    decide_bind(&w, "n1");
    nudge(&w);
    for (int i = 0; i < 1000; i++) { /* ten seconds */
        run_for(&w, 10);
        if (count(buf_view(&puppet->log), "failed p n1")) {
            buf_reset(&puppet->log);
            decide_bind(&w, "n1");
            nudge(&w);
        }
    }
    if (w.flaky.n_tries < 8 || w.flaky.n_tries > 14)
        fail_msg("%u tries in ten seconds", w.flaky.n_tries);
    w.flaky.fail_left = 0;
    run_for(&w, 20000);
    assert_true(str_is(node_of(&w, "p"), "n1"));
    world_done(&w);
}

/* The scheduler says why and tries again: the one is written at once, the other waits. */
static void why_a_binding_failed(void **state)
{
    struct world w;

    (void)state;
    world_with_pod(&w);
    fail_next(&w, OP_BIND, "Pod", ERR_FORBIDDEN, 3);
    decide_bind(&w, "n1");
    nudge(&w);
    settle(&w);
    for (int i = 0; i < 3; i++) {
        decide_refusal(&w, arena_fmt(&w.arena, "failure %d", i).p);
        decide_bind(&w, "n1");
        nudge(&w);
        settle(&w);
        assert_int_equal(w.flaky.n_tries, i + 1);
        assert_true(str_eq(condition(&w, "p", "PodScheduled", "message"), arena_fmt(&w.arena, "failure %d", i)));
        run_for(&w, 5 << i);
    }
    settle(&w);
    assert_true(str_is(node_of(&w, "p"), "n1"));
    assert_true(str_is(condition(&w, "p", "PodScheduled", "status"), "True"));
    world_done(&w);
}

/* The scheduler is asked again about what could not be sent at once. */
static void a_binding_that_waited(void **state)
{
    (void)state;
    for (int is_fickle = 0; is_fickle <= 1; is_fickle++) {
        struct world w;

        world_with_pod(&w);
        fail_next(&w, OP_PATCH_STATUS, "Pod", ERR_OK, 0);
        w.flaky.holds = true;
        decide_refusal(&w, "no room");
        nudge(&w);
        settle(&w);
        decide(&w, DECIDE_BIND, "pod", "p")->node = STR("n1"); /* one write of a pod at a time */
        nudge(&w);
        settle(&w);
        assert_log(w.flaky.log, "statuspatch Pod p\n");
        puppet->is_fickle = is_fickle;
        w.flaky.holds = false;
        settle(&w);
        assert_log(w.flaky.log, is_fickle ? "statuspatch Pod p\n" : "statuspatch Pod p\nbind Pod p\n");
        assert_int_equal(count(buf_view(&puppet->log), "withdrawn p n1"), is_fickle);
        world_done(&w);
    }
}

/* ---- evictions ---- */

static void an_eviction(void **state)
{
    struct world w;

    (void)state;
    world_with_pod(&w);
    bind_behind_its_back(&w, "n1");
    decide(&w, DECIDE_EVICT, "pod", "p")->reason = STR("preempt");
    settle(&w);
    assert_log(w.flaky.log, "statuspatch Pod p\ndelete Pod p\n");
    assert_true(str_is(condition(&w, "p", "DisruptionTarget", "status"), "True"));
    assert_true(str_is(condition(&w, "p", "DisruptionTarget", "reason"), "PreemptionByScheduler"));
    assert_true(str_is(condition(&w, "p", "Ready", "reason"), "Evict"));
    assert_true(json_find(get(&w, "pod", "p")->root, "metadata", "deletionTimestamp", NULL));
    assert_string_equal(events(&w, "Pod", "Evict"), "Warning volcano: Pod is evicted, because of preempt\n");
    assert_string_equal(events(&w, "PodGroup", "Evict"), "Normal volcano: preempt\n");
    assert_int_equal(stats(&w).evictions, 1);
    run_for(&w, 1000000);
    assert_log(w.flaky.log, "statuspatch Pod p\ndelete Pod p\n"); /* it is going: no more */
    world_done(&w);
}

/* D40: the delete is what counts, whatever becomes of the conditions. */
static void an_eviction_is_repeated(void **state)
{
    static const struct {
        const char *label;
        enum op_kind op;
        enum err_code code;
        unsigned times, deletes;
    } cases[] = {
        { "delete fails", OP_DELETE, ERR_IO, 3, 4 },
        { "delete is refused", OP_DELETE, ERR_FORBIDDEN, 5, 6 },
        { "conditions fail", OP_PATCH_STATUS, ERR_IO, 9, 1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct world w;

        world_with_pod(&w);
        fail_next(&w, cases[i].op, "Pod", cases[i].code, cases[i].times);
        decide(&w, DECIDE_EVICT, "pod", "p")->reason = STR("reclaim");
        nudge(&w);
        run_for(&w, 10000);
        if (get(&w, "pod", "p") || count(buf_view(&w.flaky.log), "delete Pod p") != cases[i].deletes ||
            count(buf_view(&w.flaky.log), "statuspatch Pod p") != 1)
            fail_msg("%s:\n%.*s", cases[i].label, STR_ARG(buf_view(&w.flaky.log)));
        assert_int_equal(count(buf_view(&puppet->log), "gone Pod p"), 1);
        assert_int_equal(stats(&w).evictions, 1);
        world_done(&w);
    }
}

static void set_phase(struct world *w, const char *phase)
{
    struct json *patch = tree_of(&w->arena, arena_fmt(&w->arena, "{status: {phase: %s}}", phase).p);
    struct err e = { 0 };

    if (store_apply(w->store,
                    &(struct op){ .kind = OP_PATCH_STATUS,
                                  .type = known_types()->pod,
                                  .namespace = STR("ns"),
                                  .name = STR("p"),
                                  .body = patch },
                    NULL, &e) < 0)
        fail_msg("%s: %s", phase, e.text);
}

static void it_runs(struct world *w)
{
    set_phase(w, "Running");
}

static void it_succeeds(struct world *w)
{
    set_phase(w, "Succeeded");
}

/* What has changed since the scheduler looked is looked at again. */
static void an_eviction_of_a_pod_that_changed(void **state)
{
    static const struct {
        const char *label, *reason;
        void (*change)(struct world *w);
        bool is_heard; /* after the conditions were written, else before, when nobody has heard */
        const char *log;
        bool is_spared, is_gone;
    } cases[] = {
        { "it ended, unheard", "preempt", it_succeeds, false, "statuspatch Pod p\n", true, false },
        { "it ended", "preempt", it_succeeds, true, "statuspatch Pod p\n", false, false },
        { "it started, unheard", "gang", it_runs, false, "statuspatch Pod p\n", true, false },
        { "it started", "gang", it_runs, true, "statuspatch Pod p\nstatuspatch Pod p\n", true, false },
        { "it started, and may go", "preempt", it_runs, true, "statuspatch Pod p\ndelete Pod p\n", false, true },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct world w;

        world_with_pod(&w);
        bind_behind_its_back(&w, "n1");
        decide(&w, DECIDE_EVICT, "pod", "p")->reason = str_of(cases[i].reason);
        puppet->world = &w;
        puppet->meanwhile = cases[i].is_heard ? NULL : cases[i].change;
        (void)driver_turn(w.driver, NULL);
        if (cases[i].is_heard)
            cases[i].change(&w);
        run_for(&w, 10000);
        if (!str_is(buf_view(&w.flaky.log), cases[i].log) ||
            count(buf_view(&puppet->log), "spared p") != cases[i].is_spared ||
            (json_find(get(&w, "pod", "p")->root, "metadata", "deletionTimestamp", NULL) != NULL) != cases[i].is_gone)
            fail_msg("%s:\n%.*s%.*s", cases[i].label, STR_ARG(buf_view(&w.flaky.log)), STR_ARG(buf_view(&puppet->log)));
        if (cases[i].is_spared)
            assert_false(str_is(condition(&w, "p", "DisruptionTarget", "status"), "True"));
        world_done(&w);
    }
}

static void an_eviction_of_unknown_outcome(void **state)
{
    struct world w;

    (void)state;
    world_with_pod(&w);
    fail_next(&w, OP_DELETE, "Pod", ERR_IO, 1);
    w.flaky.takes_effect = w.flaky.drops = true;
    decide(&w, DECIDE_EVICT, "pod", "p")->reason = STR("reclaim");
    nudge(&w);
    run_for(&w, 200000);
    assert_int_equal(count(buf_view(&w.flaky.log), "delete Pod p"), 1); /* the read says that it is gone */
    assert_int_equal(count(buf_view(&puppet->log), "gone Pod p"), 1);
    world_done(&w);
}

/* ---- gates ---- */

#define GATED_POD                                                                                                      \
    "{apiVersion: v1, kind: Pod, metadata: {name: gated, namespace: ns, annotations: {scheduling.k8s.io/group-name: "  \
    "g}}, spec: {schedulingGates: [{name: scheduling.volcano.sh/queue-allocation-gate}], containers: [{name: c, "      \
    "image: i}]}}"

/* Tried until it works. */
static void a_gate_is_opened(void **state)
{
    struct world w;

    (void)state;
    world_with_pod(&w);
    create(&w, GATED_POD);
    fail_next(&w, OP_MERGE_PATCH, "Pod", ERR_IO, 2);
    decide(&w, DECIDE_OPEN, "pod", "gated");
    run_for(&w, 60000);
    assert_int_equal(count(buf_view(&w.flaky.log), "patch Pod gated"), 3);
    assert_null(json_find(get(&w, "pod", "gated")->root, "spec", "schedulingGates", NULL));
    world_done(&w);
}

/* ---- statuses ---- */

static void a_refusal_and_a_nomination(void **state)
{
    struct world w;
    struct str since;

    (void)state;
    world_with_pod(&w);
    decide_refusal(&w, "no room");
    decide(&w, DECIDE_NOMINATE, "pod", "p")->node = STR("n1");
    nudge(&w);
    settle(&w);
    assert_log(w.flaky.log, "statuspatch Pod p\n"); /* both in one */
    assert_true(str_is(condition(&w, "p", "PodScheduled", "status"), "False"));
    assert_true(str_is(condition(&w, "p", "PodScheduled", "message"), "no room"));
    assert_true(str_is(json_member_text(json_get(get(&w, "pod", "p")->root, "status"), "nominatedNodeName"), "n1"));
    since = arena_str(&w.arena, condition(&w, "p", "PodScheduled", "lastTransitionTime"));
    clock_manual_advance(&w.clock, 60000);
    decide_refusal(&w, "still no room");
    decide(&w, DECIDE_NOMINATE, "pod", "p");
    nudge(&w);
    settle(&w);
    assert_true(str_is(condition(&w, "p", "PodScheduled", "message"), "still no room"));
    assert_true(str_eq(condition(&w, "p", "PodScheduled", "lastTransitionTime"), since)); /* it was False before */
    assert_null(json_find(get(&w, "pod", "p")->root, "status", "nominatedNodeName", NULL));
    world_done(&w);
}

/* While one write is on its way wishes pile up: only the last is written. */
static void only_the_newest_status_is_sent(void **state)
{
    struct world w;

    (void)state;
    world_with_pod(&w);
    fail_next(&w, OP_MERGE_PATCH, "PodGroup", ERR_IO, 1);
    w.flaky.drops = true;
    for (int i = 1; i <= 5; i++) {
        struct decision *what = decide(&w, DECIDE_GROUP, "podgroup", "g");

        what->status = tree_of(&puppet->arena, arena_fmt(&w.arena, "{phase: Running, running: %d}", i).p);
        nudge(&w);
        settle(&w);
    }
    run_for(&w, 200000);
    assert_int_equal(count(buf_view(&w.flaky.log), "patch PodGroup g"), 2);
    assert_int_equal(json_i64(json_find(get(&w, "podgroup", "g")->root, "status", "running", NULL), -1), 5);
    world_done(&w);
}

/* Pods start one after the other: the first write says Running, their number follows in few writes, and the end in one. */
static void counters_wait(void **state)
{
    struct world w;

    (void)state;
    world_with_pod(&w);
    for (int i = 1; i <= 50; i++) {
        const char *status = arena_fmt(&w.arena, "{phase: Running, running: %d, conditions: [{type: Scheduled}]}", i).p;

        decide(&w, DECIDE_GROUP, "podgroup", "g")->status = tree_of(&puppet->arena, status);
        nudge(&w);
        run_for(&w, 40);
    }
    assert_in_range(count(buf_view(&w.flaky.log), "patch PodGroup g"), 2, 5);
    run_for(&w, 1000);
    assert_int_equal(json_i64(json_find(get(&w, "podgroup", "g")->root, "status", "running", NULL), -1), 50);
    decide(&w, DECIDE_GROUP, "podgroup", "g")->status = tree_of(&puppet->arena, "{phase: Completed, succeeded: 50}");
    nudge(&w);
    settle(&w);
    assert_true(str_is(json_member_text(json_get(get(&w, "podgroup", "g")->root, "status"), "phase"), "Completed"));
    world_done(&w);
}

/* The first write works, but a newer wish came before its answer. */
static void a_wish_that_comes_before_the_answer(void **state)
{
    struct world w;

    (void)state;
    world_with_pod(&w);
    fail_next(&w, OP_MERGE_PATCH, "PodGroup", ERR_OK, 0);
    w.flaky.holds = true;
    for (int i = 1; i <= 2; i++) {
        decide(&w, DECIDE_GROUP, "podgroup", "g")->status = tree_of(&puppet->arena,
                                                                    i == 1 ? "{phase: Inqueue}" : "{phase: Running}");
        nudge(&w);
        settle(&w);
        assert_int_equal(w.flaky.n_tries, 1);
    }
    w.flaky.holds = false;
    settle(&w);
    assert_int_equal(w.flaky.n_tries, 2);
    assert_true(str_is(json_member_text(json_get(get(&w, "podgroup", "g")->root, "status"), "phase"), "Running"));
    world_done(&w);
}

static void a_status_is_written_until_it_is_there(void **state)
{
    static const struct {
        enum decision_kind kind;
        const char *type, *name, *op_kind;
        enum op_kind op;
        const char *first, *second, *want;
    } cases[] = {
        { DECIDE_GROUP, "podgroup", "g", "PodGroup", OP_MERGE_PATCH, "{phase: Inqueue, running: 1, conditions: []}",
          "{phase: Running, failed: 2}", "{\"phase\":\"Running\",\"failed\":2}" },
        { DECIDE_QUEUE, "queue", "default", "Queue", OP_PATCH_STATUS, "{allocated: {cpu: '1', gpu: '2'}}",
          "{allocated: {cpu: '3'}}",
          "{\"allocated\":{\"cpu\":\"3\"},\"completed\":0,\"inqueue\":0,\"pending\":1,\"running\":0,\"state\":\"Open\","
          "\"unknown\":0}" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *wishes[] = { cases[i].first, cases[i].second, cases[i].second };
        autobuf got = { 0 };
        struct json *status;
        uint64_t rev = 0;
        struct world w;

        world_with_pod(&w);
        run_for(&w, 2000); /* let the counters of the queue be written */
        fail_next(&w, cases[i].op, cases[i].op_kind, ERR_CONFLICT, 3);
        for (size_t k = 0; k < ARRAY_LEN(wishes); k++) {
            rev = get(&w, cases[i].type, cases[i].name)->rev;
            decide(&w, cases[i].kind, cases[i].type, cases[i].name)->status = tree_of(&puppet->arena, wishes[k]);
            nudge(&w);
            run_for(&w, 2000);
        }
        assert_int_equal(get(&w, cases[i].type, cases[i].name)->rev, rev); /* the last wish was there already */
        assert_int_equal(w.flaky.n_tries, 3 + 2);
        status = json_copy(&w.arena, json_get(get(&w, cases[i].type, cases[i].name)->root, "status"));
        if (cases[i].kind == DECIDE_QUEUE)
            json_sort_keys(status, true);
        json_print(&got, status);
        assert_string_equal(got.p, cases[i].want);
        world_done(&w);
    }
}

/* What a binding overtakes must not be written after it. */
static void no_refusal_after_a_binding(void **state)
{
    struct world w;

    (void)state;
    world_with_pod(&w);
    decide_refusal(&w, "no room");
    decide_bind(&w, "n1");
    nudge(&w);
    settle(&w);
    assert_true(str_is(condition(&w, "p", "PodScheduled", "status"), "True"));
    assert_log(w.flaky.log, "bind Pod p\n");
    world_done(&w);

    world_with_pod(&w);
    decide_refusal(&w, "no room");
    nudge(&w);
    fail_next(&w, OP_PATCH_STATUS, "Pod", ERR_IO, 1);
    w.flaky.drops = true;
    driver_turn(w.driver, NULL);
    bind_behind_its_back(&w, "n2");
    run_for(&w, 200000);
    assert_true(str_is(condition(&w, "p", "PodScheduled", "status"), "True"));
    world_done(&w);
}

static void events_come_through(void **state)
{
    struct decision *what;
    struct world w;

    (void)state;
    world_with_pod(&w);
    what = decide(&w, DECIDE_EVENT, "podgroup", "g");
    what->event_kind = "PodGroup";
    what->event_type = "Warning";
    what->reason = STR("Unschedulable");
    what->message = STR("100% of it does not fit");
    nudge(&w);
    settle(&w);
    assert_string_equal(events(&w, "PodGroup", "Unschedulable"), "Warning volcano: 100% of it does not fit\n");
    assert_log(w.flaky.log, "");
    world_done(&w);
}

static void world_restart(struct world *w, const struct driver_options *opt)
{
    driver_free(w->driver);
    cluster_free(w->flaky.inner);
    w->flaky.inner = cluster_embedded_new(w->store, &w->clock.clock);
    w->driver = driver_new(&w->flaky.cluster, opt);
}

/* The pods of a gang are told of together, also when their Events had to wait and its PodGroup is gone by then. */
static void events_of_a_gang(void **state)
{
    struct driver_options opt = { .seed = 11, .schedules = true, .max_in_flight = 4 };
    struct world w;

    (void)state;
    world_with_pod(&w);
    world_restart(&w, &opt);
    settle(&w);
    for (int i = 0; i < 50; i++)
        create(&w, arena_fmt(&w.arena,
                             "{apiVersion: v1, kind: Pod, metadata: {name: p%d, namespace: ns, annotations: "
                             "{scheduling.k8s.io/group-name: g}}, spec: {containers: [{name: c, image: i}]}}",
                             i)
                       .p);
    settle(&w);
    for (int i = 0; i < 50; i++) {
        struct decision *what = decide(&w, DECIDE_EVENT, "pod", arena_fmt(&w.arena, "p%d", i).p);

        what->event_kind = "Pod";
        what->event_type = "Normal";
        what->reason = STR("Scheduled");
        what->message = arena_fmt(&puppet->arena, "assigned p%d", i);
    }
    nudge(&w);
    (void)driver_turn(w.driver, NULL); /* decided; few of the Events have left */
    assert_int_equal(store_delete(w.store, &(struct object_key){ known_types()->group, STR("ns"), STR("g") },
                                  &(struct store_delete_options){ 0 }, NULL, NULL),
                     0);
    settle(&w);
    run_for(&w, 10000);
    assert_int_equal(count(str_of(events(&w, "PodGroup", "Scheduled")),
                           "Normal volcano: (combined from similar events): assigned p49"),
                     1);
    assert_int_equal(store_count(w.store, known_types()->event), 10);
    world_done(&w);
}

/* Many more decisions than may be in flight: all are carried out, never too many at once. */
static void limits_hold(void **state)
{
    struct driver_options opt = { .seed = 11, .schedules = true, .max_in_flight = 20 };
    struct world w;
    bool is_busy;

    (void)state;
    world_init(&w);
    world_restart(&w, &opt);
    create_node(&w, "n2");
    for (int i = 0; i < 300; i++) {
        const char *name = arena_fmt(&w.arena, "p%d", i).p;

        create(&w, arena_fmt(&w.arena, "{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: ns}}", name).p);
        decide(&w, DECIDE_BIND, "pod", name)->node = STR("n2");
    }
    puppet->is_restless = true;
    do {
        uint64_t before = stats(&w).writes;

        (void)driver_turn(w.driver, &is_busy);
        if (stats(&w).writes - before > 20)
            fail_msg("%llu writes in a turn", (unsigned long long)(stats(&w).writes - before));
    } while (is_busy);
    assert_int_equal(stats(&w).binds, 300);
    assert_true(puppet->rounds < 10); /* none while there is no room for what comes of it */
    for (int i = 0; i < 300; i++)
        assert_true(str_is(node_of(&w, arena_fmt(&w.arena, "p%d", i).p), "n2"));
    world_done(&w);
}

/* Somebody else writes another status, at once and again and again: we write ours a few times, further and further
 * apart. */
static void another_writer_is_not_answered_at_once(void **state)
{
    struct json *theirs;
    struct world w;
    unsigned n;

    (void)state;
    world_with_pod(&w);
    theirs = tree_of(&w.arena, "{status: {phase: Inqueue, running: 7}}");
    for (int i = 0; i < 6000; i++) {
        decide(&w, DECIDE_GROUP, "podgroup", "g")->status = tree_of(&puppet->arena, "{phase: Running, running: 1}");
        nudge(&w);
        settle(&w);
        assert_int_equal(store_apply(w.store,
                                     &(struct op){ .kind = OP_MERGE_PATCH,
                                                   .type = known_types()->group,
                                                   .namespace = STR("ns"),
                                                   .name = STR("g"),
                                                   .body = theirs },
                                     NULL, NULL),
                         0);
        settle(&w);
        clock_manual_advance(&w.clock, 10);
        arena_reset(&puppet->arena);
        puppet->next.v = NULL;
        puppet->next.n = puppet->next.cap = 0;
    }
    n = count(buf_view(&w.flaky.log), "patch PodGroup g");
    if (n < 8 || n > 20) /* in a minute */
        fail_msg("it was written %u times", n);
    world_done(&w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(binds_when_the_volume_is_there),
        cmocka_unit_test(gives_up_a_node_without_volumes),
        cmocka_unit_test(binds_when_the_volume_is_its_own),
        cmocka_unit_test(a_volume_that_somebody_else_took),
        cmocka_unit_test(told_what_it_wants),
        cmocka_unit_test(nothing_before_all_is_listed),
        cmocka_unit_test(item_44_D63_many_objects),
        cmocka_unit_test(a_list_without_a_node),
        cmocka_unit_test(rounds_follow_news_and_the_clock),
        cmocka_unit_test(news_in_any_order),
        cmocka_unit_test(a_binding),
        cmocka_unit_test(a_binding_that_does_not_work),
        cmocka_unit_test(a_binding_that_is_no_longer_wanted),
        cmocka_unit_test(a_binding_that_comes_too_late),
        cmocka_unit_test(a_binding_of_unknown_outcome),
        cmocka_unit_test(a_binding_refused_again_and_again),
        cmocka_unit_test(why_a_binding_failed),
        cmocka_unit_test(an_eviction),
        cmocka_unit_test(an_eviction_is_repeated),
        cmocka_unit_test(an_eviction_of_a_pod_that_changed),
        cmocka_unit_test(an_eviction_of_unknown_outcome),
        cmocka_unit_test(a_binding_that_waited),
        cmocka_unit_test(another_writer_is_not_answered_at_once),
        cmocka_unit_test(a_gate_is_opened),
        cmocka_unit_test(a_refusal_and_a_nomination),
        cmocka_unit_test(only_the_newest_status_is_sent),
        cmocka_unit_test(counters_wait),
        cmocka_unit_test(a_wish_that_comes_before_the_answer),
        cmocka_unit_test(a_status_is_written_until_it_is_there),
        cmocka_unit_test(no_refusal_after_a_binding),
        cmocka_unit_test(events_come_through),
        cmocka_unit_test(events_of_a_gang),
        cmocka_unit_test(limits_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
