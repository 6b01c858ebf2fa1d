/* volumes.c - volumes that are there already (local disks): who gets which, and where the pod goes
 *
 * The driver's part is played here: when a pod is given a place, the volumes that were taken for its claims are noted,
 * and the test says what becomes of them.
 */
#include "harness.h"

#include "base/rand.h"
#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define NONE_LEFT "node(s) didn't find available persistent volumes to bind"
#define UNBOUND   "pod has unbound immediate PersistentVolumeClaims"

struct pick {
    struct str claim, volume;
    bool is_named, is_lost;
};

struct picks {
    struct h *h;
    VEC(struct pick) list; /* of all bindings decided */
};

static void note(void *ctx, const struct sched_claim *c)
{
    struct picks *p = ctx;
    struct arena *a = &p->h->arena;

    *vec_push(a, &p->list) = (struct pick){ arena_str(a, c->name), arena_str(a, c->volume), c->is_named, c->is_lost };
}

static void on_decision(struct h *h, const struct decision *d)
{
    if (d->kind == DECIDE_BIND)
        sched_claims(h->s, d->uid, note, h->ctx);
}

static void waits(struct sched_config *c)
{
    c->waits_for_volumes = true;
}

static struct h *start(struct picks *picks)
{
    struct h *h = h_new(waits);

    *picks = (struct picks){ .h = h };
    h->ctx = picks;
    h->on_decision = on_decision;
    h_put(h, "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local}, provisioner: "
             "kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}");
    return h;
}

static void node(struct h *h, const char *name)
{
    autobuf more = { 0 };

    buf_fmt(&more, "metadata: {labels: {kubernetes.io/hostname: %s, zone: z}}%c", name, 0);
    h_node_more(h, name, "cpu: 8", more.p);
}

/* 'node' NULL: reached from everywhere. 'spec': more of it, or something else in it. */
static void volume(struct h *h, const char *name, const char *node, int gi, const char *spec)
{
    autobuf y = { 0 };

    buf_fmt(&y,
            "{apiVersion: v1, kind: PersistentVolume, metadata: {name: %s, uid: pv-%s, labels: {disk: %s}}, spec: "
            "{storageClassName: local, capacity: {storage: %dGi}, accessModes: [ReadWriteOnce]",
            name, name, gi >= 100 ? "large" : "small", gi);
    if (node)
        buf_fmt(&y,
                ", nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, "
                "operator: In, values: [%s]}]}]}}",
                node);
    buf_fmt(&y, "}, status: {phase: Pending}}%c", 0);
    h_put(h, y.p);
    buf_reset(&y);
    buf_fmt(&y, "spec: {%s}, status: {phase: Available}%c", spec, 0);
    h_change(h, h_get(h, "PersistentVolume", name), y.p);
}

static void claim(struct h *h, const char *name, int gi, const char *spec)
{
    autobuf y = { 0 };

    buf_fmt(&y,
            "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: %s, namespace: default, uid: u-%s}, spec: "
            "{storageClassName: local, accessModes: [ReadWriteOnce], resources: {requests: {storage: %dGi}}}}%c",
            name, name, gi, 0);
    h_put(h, y.p);
    buf_reset(&y);
    buf_fmt(&y, "spec: {%s}%c", spec, 0);
    h_change(h, h_get(h, "PersistentVolumeClaim", name), y.p);
}

/* One more pod of a group, with one or two claims. */
static void pod(struct h *h, const char *group, const char *claim, const char *other)
{
    autobuf y = { 0 };

    buf_fmt(&y, "spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: %s}}", claim);
    if (other)
        buf_fmt(&y, ", {name: w, persistentVolumeClaim: {claimName: %s}}", other);
    buf_fmt(&y, "]}%c", 0);
    h_pods_more(h, group, "w", 1, "cpu: 1", y.p);
}

static struct str picked(const struct picks *p, const char *claim)
{
    struct str last = STR("");

    VEC_FOREACH(one, &p->list)
        if (str_is(one->claim, claim))
            last = one->is_lost ? STR("(lost)") : one->volume;
    return last;
}

/* The claim and its volume come together, as the cluster's own controller does it. */
static void join(struct h *h, const char *claim, const char *volume)
{
    autobuf y = { 0 };

    buf_fmt(&y, "spec: {claimRef: {namespace: default, name: %s, uid: u-%s}}, status: {phase: Bound}%c", claim, claim,
            0);
    h_change(h, h_get(h, "PersistentVolume", volume), y.p);
    buf_reset(&y);
    buf_fmt(&y, "spec: {volumeName: %s}%c", volume, 0);
    h_change(h, h_get(h, "PersistentVolumeClaim", claim), y.p);
}

/* ---- one pod ---- */

static void smallest_that_fits(void **state)
{
    static const struct {
        const char *claim; /* more of its spec */
        const char *want;  /* the volume; NULL: none */
    } cases[] = {
        { "", "b" },
        { "selector: {matchLabels: {disk: large}}", "e" },
        { "selector: {matchLabels: {disk: none}}", NULL },
        { "volumeMode: Block", "c" },
        { "accessModes: [ReadWriteMany]", "d" },
        { "accessModes: [ReadWriteOnce, ReadOnlyMany]", NULL },
        { "storageClassName: other", NULL },
        { "resources: {requests: {storage: 1Ti}}", NULL },
        { "volumeAttributesClassName: fast", NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct picks p;
        struct h *h = start(&p);

        node(h, "n1");
        volume(h, "a", "n1", 5, "");
        volume(h, "e", "n1", 100, "");
        volume(h, "c", "n1", 10, "volumeMode: Block");
        volume(h, "d", "n1", 30, "accessModes: [ReadWriteOnce, ReadWriteMany]");
        volume(h, "b2", "n1", 20, "");
        volume(h, "b", "n1", 20, "");
        h_put(h, "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: other}, provisioner: "
                 "kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}");
        claim(h, "data", 10, cases[i].claim);
        h_group(h, "g", .min = 1);
        pod(h, "g", "data", NULL);
        h_settle(h);
        assert_text(picked(&p, "data"), cases[i].want ? cases[i].want : "");
        assert_int_equal(h_bound(h, "g"), cases[i].want != NULL);
        if (!cases[i].want)
            assert_has(h_said(h, "Pod", "g-w-0", "PodScheduled"), NONE_LEFT);
        h_free(h);
    }
}

/* Nobody takes what is somebody's, is going, or has not been cleaned. */
static void volumes_that_are_not_free(void **state)
{
    static const char *const not_free[] = {
        "spec: {claimRef: {namespace: default, name: other, uid: u}}",
        "spec: {claimRef: {namespace: elsewhere, name: data}}",
        "spec: {claimRef: {namespace: default, name: data, uid: of-another-time}}",
        "status: {phase: Released}",
        "status: {phase: Pending}",
        "metadata: {deletionTimestamp: '2024-01-01T00:00:00Z'}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(not_free); i++) {
        struct picks p;
        struct h *h = start(&p);

        node(h, "n1");
        volume(h, "a", "n1", 20, "");
        h_change(h, h_get(h, "PersistentVolume", "a"), not_free[i]);
        claim(h, "data", 10, "");
        h_group(h, "g", .min = 1);
        pod(h, "g", "data", NULL);
        h_settle(h);
        assert_int_equal(h_bound(h, "g"), 0);
        volume(h, "b", "n1", 50, ""); /* and whoever waits goes on when there is one */
        h_settle(h);
        assert_text(picked(&p, "data"), "b");
        h_free(h);
    }
}

/* A volume that names the claim is the claim's, also after a restart: the pod goes there and nowhere else. */
static void volume_that_names_the_claim(void **state)
{
    for (int has_uid = 0; has_uid < 2; has_uid++) {
        struct picks p;
        struct h *h = start(&p);

        (void)state;
        node(h, "n1");
        node(h, "n2");
        volume(h, "small", "n1", 10, "");
        volume(h, "mine", "n2", 500,
               has_uid ? "claimRef: {namespace: default, name: data, uid: u-data}"
                       : "claimRef: {namespace: default, name: data}");
        claim(h, "data", 10, "");
        h_group(h, "g", .min = 1);
        pod(h, "g", "data", NULL);
        h_settle(h);
        assert_text(h_node_of(h, "g-w-0"), "n2");
        assert_text(picked(&p, "data"), "mine");
        assert_int_equal(p.list.v[0].is_named, has_uid); /* else the uid is still to be written */
        h_free(h);
    }
}

static void bound_claim_keeps_its_node(void **state)
{
    struct picks p;
    struct h *h = start(&p);

    (void)state;
    node(h, "n1");
    node(h, "n2");
    volume(h, "a", "n2", 20, "");
    claim(h, "data", 10, "");
    join(h, "data", "a");
    h_group(h, "g", .min = 1);
    pod(h, "g", "data", NULL);
    h_settle(h);
    assert_text(h_node_of(h, "g-w-0"), "n2");
    assert_int_equal(p.list.n, 0); /* nothing is left to be done for it */
    h_delete(h, "PersistentVolume", "a");
    h_group(h, "later", .min = 1);
    pod(h, "later", "data", NULL);
    h_settle(h);
    assert_has(h_said(h, "Pod", "later-w-0", "PodScheduled"), "non-existent pv");
    h_free(h);
}

static void immediate_claims_are_waited_for(void **state)
{
    static const char *const classes[] = { "storageClassName: now", "storageClassName: ''",
                                           "storageClassName: nobody-knows" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        struct picks p;
        struct h *h = start(&p);

        node(h, "n1");
        h_put(h, "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: now}, provisioner: "
                 "kubernetes.io/no-provisioner, volumeBindingMode: Immediate}");
        volume(h, "a", "n1", 20, classes[i]);
        claim(h, "data", 10, classes[i]);
        h_group(h, "g", .min = 1);
        pod(h, "g", "data", NULL);
        h_settle(h);
        assert_int_equal(h_bound(h, "g"), 0);
        assert_has(h_said(h, "Pod", "g-w-0", "PodScheduled"), UNBOUND);
        join(h, "data", "a");
        h_settle(h);
        assert_int_equal(h_bound(h, "g"), 1);
        h_free(h);
    }
}

/* A class with a provisioner takes what is there, and has the rest made. */
static void what_is_there_before_what_is_made(void **state)
{
    struct picks p;
    struct h *h = start(&p);

    (void)state;
    node(h, "n1");
    h_put(h, "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: made}, provisioner: d.io, "
             "volumeBindingMode: WaitForFirstConsumer}");
    volume(h, "a", "n1", 20, "storageClassName: made");
    claim(h, "x", 10, "storageClassName: made");
    claim(h, "y", 10, "storageClassName: made");
    h_group(h, "g", .min = 2);
    pod(h, "g", "x", NULL);
    pod(h, "g", "y", NULL);
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 2);
    assert_text(picked(&p, "x"), "a");
    assert_text(picked(&p, "y"), "");
    assert_int_equal(p.list.n, 2);
    h_free(h);
}

/* ---- several ---- */

static void gang_needs_a_volume_each(void **state)
{
    struct picks p;
    struct h *h = start(&p);

    (void)state;
    node(h, "n1");
    node(h, "n2");
    volume(h, "a", "n1", 20, "");
    volume(h, "b", NULL, 50, ""); /* either node reaches it, but only one pod has it */
    h_group(h, "g", .min = 3);
    for (int i = 0; i < 3; i++) {
        autobuf name = { 0 };

        buf_fmt(&name, "c%d%c", i, 0);
        claim(h, name.p, 10, "");
        pod(h, "g", name.p, NULL);
    }
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 0); /* all or none, and nothing is kept */
    h_group(h, "one", .min = 1);
    claim(h, "only", 10, "");
    pod(h, "one", "only", NULL);
    h_settle(h);
    assert_text(picked(&p, "only"), "a");
    assert_int_equal(h_bound(h, "g"), 0);
    volume(h, "c", "n2", 20, "");
    volume(h, "d", "n2", 60, "");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 3);
    for (int i = 1; i < 4; i++)
        for (int j = 0; j < i; j++)
            assert_false(str_eq(p.list.v[i].volume, p.list.v[j].volume));
    h_free(h);
}

/* Pods that share a claim go where its volume is, and a pod with two gets two. */
static void claims_that_are_shared_and_claims_in_pairs(void **state)
{
    struct picks p;
    struct h *h = start(&p);

    (void)state;
    node(h, "n1");
    node(h, "n2");
    volume(h, "a", "n1", 20, "");
    volume(h, "b", "n2", 20, "");
    volume(h, "c", "n2", 40, "");
    claim(h, "data", 10, "");
    claim(h, "x", 30, "");
    claim(h, "y", 10, "");
    h_group(h, "g", .min = 3);
    for (int i = 0; i < 3; i++)
        pod(h, "g", "data", NULL);
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 3);
    assert_text(h_node_of(h, "g-w-1"), "n1");
    assert_text(h_node_of(h, "g-w-2"), "n1");
    h_group(h, "pair", .min = 1);
    pod(h, "pair", "x", "y");
    h_settle(h);
    assert_text(picked(&p, "x"), "c");
    assert_text(picked(&p, "y"), "b");
    h_free(h);
}

/* ---- failures ---- */

static void given_back_when_the_binding_fails(void **state)
{
    struct picks p;
    struct h *h = start(&p);

    (void)state;
    node(h, "n1");
    volume(h, "a", "n1", 20, "");
    claim(h, "x", 10, "");
    claim(h, "y", 10, "");
    h_group(h, "g", .min = 1);
    pod(h, "g", "x", NULL);
    h_fail(h, DECIDE_BIND, "g-w-0");
    h_round(h);
    assert_text(picked(&p, "x"), "a");
    h_fail(h, DECIDE_BIND, NULL);
    h_change(h, h_get(h, "Pod", "g-w-0"), "spec: {schedulingGates: [{name: later}]}");
    h_group(h, "other", .min = 1);
    pod(h, "other", "y", NULL);
    h_settle(h);
    assert_text(picked(&p, "y"), "a");
    h_free(h);
}

struct stand {
    const char *pv; /* what happens to the volume before its claim is written to it; NULL: it goes */
    bool stands;
};

/* It was taken, and not written yet: a binding that waits still stands only if the volume is its own. */
static void taken_by_somebody_else_meanwhile(void **state)
{
    static const struct stand cases[] = {
        { "metadata: {labels: {a: b}}", true },
        { "spec: {claimRef: {namespace: default, name: data, uid: u-data}}", true },
        { "spec: {claimRef: {namespace: default, name: other, uid: u}}", false },
        { "metadata: {deletionTimestamp: '2024-01-01T00:00:00Z'}", false },
        { "status: {phase: Failed}", false },
        { NULL, false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct decision bind = { .kind = DECIDE_BIND, .namespace = STR("default"), .name = STR("g-w-0") };
        struct picks p;
        struct h *h = start(&p);

        node(h, "n1");
        volume(h, "a", "n1", 20, "");
        claim(h, "data", 10, "");
        h_group(h, "g", .min = 1);
        pod(h, "g", "data", NULL);
        h->is_silent = true;
        h_round(h);
        bind.uid = h_text(h_get(h, "Pod", "g-w-0"), "metadata.uid");
        bind.node = STR("n1");
        assert_true(sched_stands(h->s, &bind));
        if (cases[i].pv)
            h_change(h, h_get(h, "PersistentVolume", "a"), cases[i].pv);
        else
            h_delete(h, "PersistentVolume", "a");
        if (sched_stands(h->s, &bind) != cases[i].stands)
            fail_msg("case %zu", i);
        h_free(h);
    }
}

/* ---- any cluster ---- */

enum { NODES = 4, VOLUMES = 10, GROUPS = 6, PODS = 3 };

struct fact {
    int gi, node; /* of a volume; node -1: everywhere */
};

static struct fact fact_of(struct str volume, const struct fact *facts)
{
    int64_t i = 0;

    assert_int_equal(str_to_i64(str_from(volume, 1), &i), 0);
    return facts[i];
}

/* Gangs of up to three pods with a claim each; volumes come together with claims now and then. */
static void random_cluster(uint64_t seed)
{
    struct fact facts[VOLUMES];
    int asks[GROUPS * PODS];
    struct rand r;
    struct picks p;
    struct h *h = start(&p);
    char name[32], group[32];
    size_t joined = 0;

    rand_seed(&r, seed);
    for (int i = 0; i < NODES; i++)
        node(h, (snprintf(name, sizeof(name), "n%d", i), name));
    for (int i = 0; i < VOLUMES; i++) {
        char at[16];

        facts[i] = (struct fact){ 10 + (int)rand_below(&r, 40), (int)rand_below(&r, NODES + 1) - 1 };
        (void)snprintf(name, sizeof(name), "v%d", i);
        (void)snprintf(at, sizeof(at), "n%d", facts[i].node);
        volume(h, name, facts[i].node < 0 ? NULL : at, facts[i].gi, "");
    }
    for (int g = 0; g < GROUPS; g++) {
        int n = 1 + (int)rand_below(&r, PODS);

        (void)snprintf(group, sizeof(group), "g%d", g);
        h_group(h, group, .min = n);
        for (int i = 0; i < n; i++) {
            asks[g * PODS + i] = 5 + (int)rand_below(&r, 40);
            (void)snprintf(name, sizeof(name), "c%d", g * PODS + i);
            claim(h, name, asks[g * PODS + i], "");
            pod(h, group, name, NULL);
        }
        h_settle(h);
        assert_true(h_bound(h, group) == 0 || h_bound(h, group) == n);
        for (; joined < p.list.n && rand_below(&r, 3); joined++)
            join(h, arena_fmt(&h->arena, "%.*s%c", STR_ARG(p.list.v[joined].claim), 0).p,
                 arena_fmt(&h->arena, "%.*s%c", STR_ARG(p.list.v[joined].volume), 0).p);
    }
    for (size_t i = 0; i < p.list.n; i++) {
        struct fact f = fact_of(p.list.v[i].volume, facts);
        int64_t c = 0;

        assert_int_equal(str_to_i64(str_from(p.list.v[i].claim, 1), &c), 0);
        assert_true(f.gi >= asks[c]);
        (void)snprintf(name, sizeof(name), "g%d-w-%d", (int)c / PODS, (int)c % PODS);
        if (f.node >= 0)
            assert_text(h_node_of(h, name), (snprintf(group, sizeof(group), "n%d", f.node), group));
        for (size_t j = 0; j < i; j++)
            assert_false(str_eq(p.list.v[i].volume, p.list.v[j].volume));
    }
    h_free(h);
}

static void never_one_volume_twice(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++)
        random_cluster(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smallest_that_fits),
        cmocka_unit_test(volumes_that_are_not_free),
        cmocka_unit_test(volume_that_names_the_claim),
        cmocka_unit_test(bound_claim_keeps_its_node),
        cmocka_unit_test(immediate_claims_are_waited_for),
        cmocka_unit_test(what_is_there_before_what_is_made),
        cmocka_unit_test(gang_needs_a_volume_each),
        cmocka_unit_test(claims_that_are_shared_and_claims_in_pairs),
        cmocka_unit_test(given_back_when_the_binding_fails),
        cmocka_unit_test(taken_by_somebody_else_meanwhile),
        cmocka_unit_test(never_one_volume_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
