/* workload.c - tests of PodGroups for pods that belong to no Job, on a store */
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
#include "store/store.h"

/* ---- a cluster with controllers that can only be read ---- */

struct owners {
    struct cluster cluster;
    struct flaky flaky;
    struct object *owner; /* what there is to read; NULL: nothing */
    enum err_code code;   /* … or this is the answer */
    uint64_t asked;       /* the token of the question that was not answered yet; 0: none */
    unsigned n_reads;
};

enum { OWNER_TOKEN = 1 << 30 };

static struct owners *owners_of(struct cluster *c)
{
    return (struct owners *)c;
}

static void owners_free(struct cluster *c)
{
    (void)c;
}

static void owners_want(struct cluster *c, const struct resource_type *type)
{
    cluster_want(&owners_of(c)->flaky.cluster, type);
}

static uint64_t owners_write(struct cluster *c, const struct op *op)
{
    return cluster_write(&owners_of(c)->flaky.cluster, op);
}

static uint64_t owners_read(struct cluster *c, const struct resource_type *type, struct str namespace, struct str name)
{
    struct owners *o = owners_of(c);

    if (!type_is_foreign(type))
        return cluster_read(&o->flaky.cluster, type, namespace, name);
    o->asked = OWNER_TOKEN + ++o->n_reads;
    return o->asked;
}

static bool owners_next(struct cluster *c, struct cluster_event *ret)
{
    struct owners *o = owners_of(c);

    if (!o->asked)
        return cluster_next(&o->flaky.cluster, ret);
    *ret = (struct cluster_event){ .kind = CLUSTER_RESULT, .token = o->asked };
    ret->object = o->code == ERR_OK ? o->owner : NULL;
    if (o->code != ERR_OK)
        (void)err_set(&ret->err, o->code, "refused by the test");
    o->asked = 0;
    return true;
}

static int64_t owners_now(struct cluster *c)
{
    return cluster_now_ms(&owners_of(c)->flaky.cluster);
}

static const struct cluster_class owners_class = { owners_free, owners_want, owners_write,
                                                   owners_read, owners_next, owners_now };

/* ---- the world ---- */

struct world {
    struct clock_manual clock;
    struct store *store;
    struct owners owners;
    struct cluster *others; /* NULL: the cluster tells of all pods */
    struct driver *driver;
    struct arena arena;
};

static void start(struct world *w)
{
    struct driver_options opt = { .seed = 11, .others = w->others };

    w->owners.flaky.inner = cluster_embedded_new(w->store, &w->clock.clock);
    w->driver = driver_new(&w->owners.cluster, &opt);
}

static void stop(struct world *w)
{
    driver_free(w->driver);
    cluster_free(w->owners.flaky.inner);
}

static void world_init(struct world *w)
{
    struct store_options opt = { .seed = 3 };

    *w = (struct world){ .owners = { .cluster = { &owners_class }, .flaky = { .cluster = { &flaky_class } } } };
    clock_manual_init(&w->clock, 1700000000000);
    opt.clock = &w->clock.clock;
    w->store = store_new(&opt);
    start(w);
}

static void world_done(struct world *w)
{
    stop(w);
    cluster_free(w->others);
    cluster_free(&w->owners.flaky.cluster);
    object_unref(w->owners.owner);
    store_free(w->store);
    arena_done(&w->arena);
}

static void settle(struct world *w)
{
    fixture_settle(&(struct fixture_time){ w->driver, &w->clock, &w->owners.flaky.log });
}

static void run_for(struct world *w, int64_t ms)
{
    fixture_run_for(&(struct fixture_time){ w->driver, &w->clock, &w->owners.flaky.log }, ms);
}

static const struct object *get(struct world *w, const char *kind, const char *name)
{
    return store_get(w->store, type_by_name(str_of(kind)), STR("ns"), str_of(name));
}

static const struct object *group(struct world *w)
{
    return get(w, "pg", "podgroup-rs-1");
}

static void owner_is(struct world *w, const char *more)
{
    struct str text = arena_fmt(
        &w->arena, "{apiVersion: v1, kind: Pod, metadata: {name: rs, namespace: ns, uid: rs-1, %s}}", more);
    struct json *tree = tree_of(&w->arena, text.p);

    json_set(tree, "apiVersion", json_str(&w->arena, STR("apps/v1")));
    json_set(tree, "kind", json_str(&w->arena, STR("ReplicaSet")));
    object_unref(w->owners.owner);
    w->owners.owner = object_make(type_foreign(STR("apps/v1"), STR("ReplicaSet")), tree, 5);
}

static const char *pod(struct world *w, const char *name, const char *scheduler, const char *owner)
{
    struct str text = arena_fmt(
        &w->arena,
        "{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: ns%s}, spec: {schedulerName: "
        "%s, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}",
        name, owner, scheduler);
    struct err e = { 0 };

    if (store_create(w->store, tree_of(&w->arena, text.p), NULL, &e) < 0)
        fail_msg("create: %s", e.text);
    return arena_cstr(&w->arena, get(w, "pod", name)->uid);
}

#define OF_RS ", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: rs, uid: rs-1, controller: true}]"
#define OF_JOB                                                                                                         \
    ", ownerReferences: [{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: j, uid: j-1, controller: true}]"
#define OF_X ", ownerReferences: [{apiVersion: x.io/v1, kind: Flow, name: x, uid: x-1, controller: true}]"

static struct str joined(struct world *w, const char *name)
{
    return object_annotation(get(w, "pod", name)->root, "scheduling.k8s.io/group-name");
}

static int64_t min_member(const struct object *g)
{
    return json_i64(json_find(g->root, "spec", "minMember", NULL), -1);
}

static void count_each(void *ctx, const struct object *o)
{
    (void)o;
    ++*(size_t *)ctx;
}

static size_t count(struct world *w, const char *kind)
{
    size_t n = 0;

    store_list(w->store, type_by_name(str_of(kind)), STR_NULL, count_each, &n);
    return n;
}

static void remove_pod(struct world *w, const char *name)
{
    struct op op = {
        .kind = OP_DELETE, .type = type_by_name(STR("pods")), .namespace = STR("ns"), .name = str_of(name), .grace_s = 0
    };
    struct err e = { 0 };

    if (store_apply(w->store, &op, NULL, &e) < 0)
        fail_msg("delete: %s", e.text);
}

/* ---- tests ---- */

static void test_which_pods_get_a_group(void **state)
{
    struct world w;
    const char *uid;
    (void)state;

    world_init(&w);
    owner_is(&w, "annotations: {scheduling.volcano.sh/group-min-member: \"2\", volcano.sh/x: y}");
    uid = pod(&w, "bare", "volcano", "");
    pod(&w, "rs-a", "volcano", OF_RS);
    pod(&w, "rs-b", "volcano", OF_RS);
    pod(&w, "x", "volcano", OF_X);
    pod(&w, "other", "default-scheduler", "");
    pod(&w, "other-rs", "default-scheduler", OF_RS);
    pod(&w, "of-job", "volcano", OF_JOB);
    pod(&w, "in-one", "volcano", ", annotations: {scheduling.k8s.io/group-name: theirs}");
    settle(&w);
    assert_true(str_eq(joined(&w, "bare"), arena_fmt(&w.arena, "podgroup-%s", uid)));
    assert_true(str_is(joined(&w, "rs-a"), "podgroup-rs-1"));
    assert_true(str_is(joined(&w, "rs-b"), "podgroup-rs-1"));
    assert_true(str_is(joined(&w, "x"), "podgroup-x-1"));
    assert_true(str_empty(joined(&w, "other")));
    assert_true(str_empty(joined(&w, "other-rs")));
    assert_true(str_empty(joined(&w, "of-job")));
    assert_true(str_is(joined(&w, "in-one"), "theirs"));
    assert_int_equal(count(&w, "pg"), 3);
    assert_int_equal(min_member(get(&w, "pg", arena_fmt(&w.arena, "podgroup-%s", uid).p)), 1);
    assert_true(
        str_eq(object_controller_uid(get(&w, "pg", arena_fmt(&w.arena, "podgroup-%s", uid).p)->root), str_of(uid)));
    assert_int_equal(w.owners.n_reads, 1); /* one question for both, and none about what nobody knows */
    world_done(&w);
}

/* The size of a controller during a rollout grows; it is asked again with each new pod. */
static void test_min_member_follows(void **state)
{
    struct world w;
    (void)state;

    world_init(&w);
    owner_is(&w, "annotations: {scheduling.volcano.sh/group-min-member: \"2\"}");
    pod(&w, "a", "volcano", OF_RS);
    settle(&w);
    assert_int_equal(min_member(group(&w)), 1); /* replicas: 1 where nothing is said */
    json_set((struct json *)w.owners.owner->root, "spec", tree_of(&w.arena, "{replicas: 3}"));
    pod(&w, "b", "volcano", OF_RS);
    settle(&w);
    assert_int_equal(min_member(group(&w)), 2);
    assert_true(str_is(joined(&w, "b"), "podgroup-rs-1"));
    json_remove((struct json *)w.owners.owner->root, "spec");
    world_done(&w);
}

static void test_deleted_with_the_last_pod(void **state)
{
    struct world w;
    (void)state;

    world_init(&w);
    owner_is(&w, "");
    pod(&w, "a", "volcano", OF_RS);
    settle(&w);
    assert_non_null(group(&w));
    remove_pod(&w, "a"); /* the controller will make another */
    settle(&w);
    assert_non_null(group(&w));
    pod(&w, "b", "volcano", OF_RS);
    settle(&w);
    json_set((struct json *)w.owners.owner->root, "spec", tree_of(&w.arena, "{replicas: 0}"));
    stop(&w); /* also when it happens while nobody looks */
    remove_pod(&w, "b");
    start(&w);
    settle(&w);
    assert_null(group(&w));
    json_remove((struct json *)w.owners.owner->root, "spec"); /* it grows again */
    pod(&w, "c", "volcano", OF_RS);
    settle(&w);
    assert_non_null(group(&w));
    assert_true(str_is(joined(&w, "c"), "podgroup-rs-1"));
    world_done(&w);
}

static void test_is_made_again(void **state)
{
    struct world w;
    struct op op = { .kind = OP_DELETE, .namespace = STR("ns"), .name = STR("podgroup-rs-1") };
    struct err e = { 0 };
    (void)state;

    world_init(&w);
    owner_is(&w, "");
    op.type = type_by_name(STR("pg"));
    pod(&w, "a", "volcano", OF_RS);
    settle(&w);
    assert_return_code(store_apply(w.store, &op, NULL, &e), 0);
    assert_null(group(&w));
    settle(&w);
    assert_non_null(group(&w));
    world_done(&w);
}

static void test_owner_is_gone_or_hidden(void **state)
{
    struct world w;
    (void)state;

    world_init(&w);
    pod(&w, "a", "volcano", OF_RS); /* it will be collected, and so would its group be */
    settle(&w);
    assert_null(group(&w));
    assert_true(str_empty(joined(&w, "a")));
    w.owners.code = ERR_FORBIDDEN;
    pod(&w, "b", "volcano",
        ", ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: s, uid: s-1, controller: true}]");
    settle(&w);
    assert_true(str_is(joined(&w, "b"), "podgroup-s-1"));
    world_done(&w);
}

static void test_failures(void **state)
{
    static const struct {
        enum op_kind op;
        const char *kind;
        bool takes_effect;
    } cases[] = {
        { OP_CREATE, "PodGroup", false },
        { OP_CREATE, "PodGroup", true },
        { OP_MERGE_PATCH, "Pod", false },
        { OP_MERGE_PATCH, "Pod", true },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct world w;

        world_init(&w);
        owner_is(&w, "");
        w.owners.flaky.fail_op = cases[i].op;
        w.owners.flaky.fail_kind = cases[i].kind;
        w.owners.flaky.takes_effect = cases[i].takes_effect;
        w.owners.flaky.code = ERR_IO;
        w.owners.flaky.fail_left = 3;
        pod(&w, "a", "volcano", OF_RS);
        run_for(&w, 10000);
        assert_non_null(group(&w));
        assert_true(str_is(joined(&w, "a"), "podgroup-rs-1"));
        world_done(&w);
    }
}

/* The rest of the pods comes through a door of its own. */
static void test_second_door(void **state)
{
    struct world w;
    (void)state;

    world_init(&w);
    stop(&w);
    w.others = cluster_embedded_new(w.store, &w.clock.clock);
    start(&w);
    owner_is(&w, "");
    pod(&w, "a", "volcano", OF_RS);
    settle(&w);
    assert_true(str_is(joined(&w, "a"), "podgroup-rs-1"));
    buf_char(&w.owners.flaky.log, '\0');
    assert_null(strstr(strstr(w.owners.flaky.log.p, "patch Pod a") + 1, "patch Pod a")); /* once */
    remove_pod(&w, "a");
    settle(&w);
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_pods_get_a_group),
        cmocka_unit_test(test_min_member_follows),
        cmocka_unit_test(test_deleted_with_the_last_pod),
        cmocka_unit_test(test_is_made_again),
        cmocka_unit_test(test_owner_is_gone_or_hidden),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_second_door),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
