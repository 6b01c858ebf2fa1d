/* fit.c - tests of the node choice: single rules, scores, and trees against asking every node */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "sched/test/world.h"
#include "sched/fit/volume.h"

/* ---- single rules ---- */

static const struct rule_case {
    const char *name, *node, *pod, *why; /* why NULL: it may go there */
} rule_cases[] = {
    { "nothing asked", "spec: {}", "spec: {}", NULL },
    { "unschedulable", "spec: {unschedulable: true}", "spec: {}", "node(s) were unschedulable" },
    { "unschedulable, tolerated", "spec: {unschedulable: true}",
      "spec: {tolerations: [{key: node.kubernetes.io/unschedulable, operator: Exists}]}", NULL },
    { "taint", "spec: {taints: [{key: k, value: v, effect: NoSchedule}]}", "spec: {}",
      "node(s) had untolerated taint {k: v}" },
    { "taint, soft", "spec: {taints: [{key: k, value: v, effect: PreferNoSchedule}]}", "spec: {}", NULL },
    { "taint, NoExecute", "spec: {taints: [{key: k, effect: NoExecute}]}", "spec: {}",
      "node(s) had untolerated taint {k: }" },
    { "toleration Equal", "spec: {taints: [{key: k, value: v, effect: NoSchedule}]}",
      "spec: {tolerations: [{key: k, value: v}]}", NULL },
    { "toleration of another value", "spec: {taints: [{key: k, value: v, effect: NoSchedule}]}",
      "spec: {tolerations: [{key: k, value: w, effect: NoSchedule}]}", "node(s) had untolerated taint {k: v}" },
    { "toleration Exists", "spec: {taints: [{key: k, value: v, effect: NoSchedule}]}",
      "spec: {tolerations: [{key: k, operator: Exists, effect: NoSchedule}]}", NULL },
    { "toleration of another effect", "spec: {taints: [{key: k, value: v, effect: NoSchedule}]}",
      "spec: {tolerations: [{key: k, operator: Exists, effect: NoExecute}]}", "node(s) had untolerated taint {k: v}" },
    { "toleration of everything", "spec: {taints: [{key: k, effect: NoSchedule}, {key: l, effect: NoExecute}]}",
      "spec: {tolerations: [{operator: Exists}]}", NULL },
    { "toleration without key needs Exists", "spec: {taints: [{key: k, effect: NoSchedule}]}",
      "spec: {tolerations: [{operator: Equal}]}", "node(s) had untolerated taint {k: }" },
    { "second taint", "spec: {taints: [{key: k, effect: NoSchedule}, {key: l, value: w, effect: NoExecute}]}",
      "spec: {tolerations: [{key: k, operator: Exists}]}", "node(s) had untolerated taint {l: w}" },
    { "node selector", "metadata: {labels: {disk: ssd}}", "spec: {nodeSelector: {disk: ssd}}", NULL },
    { "node selector, other value", "metadata: {labels: {disk: hdd}}", "spec: {nodeSelector: {disk: ssd}}",
      "node(s) didn't match Pod's node affinity/selector" },
    { "node selector, one of two", "metadata: {labels: {disk: ssd}}", "spec: {nodeSelector: {disk: ssd, arch: arm}}",
      "node(s) didn't match Pod's node affinity/selector" },
#define REQUIRED(terms)                                                                                                \
    "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [" terms     \
    "]}}}}"
#define EXPRESSION(key, op, values)                                                                                    \
    REQUIRED("{matchExpressions: [{key: " key ", operator: " op ", values: [" values "]}]}")
#define NO_MATCH "node(s) didn't match Pod's node affinity/selector"
    { "In", "metadata: {labels: {a: x}}", EXPRESSION("a", "In", "x, y"), NULL },
    { "In, other", "metadata: {labels: {a: z}}", EXPRESSION("a", "In", "x, y"), NO_MATCH },
    { "In, missing", "metadata: {labels: {}}", EXPRESSION("a", "In", "x, y"), NO_MATCH },
    { "NotIn", "metadata: {labels: {a: x}}", EXPRESSION("a", "NotIn", "x"), NO_MATCH },
    { "NotIn, missing", "metadata: {labels: {}}", EXPRESSION("a", "NotIn", "x"), NULL },
    { "Exists", "metadata: {labels: {a: ''}}", EXPRESSION("a", "Exists", ""), NULL },
    { "Exists, missing", "metadata: {}", EXPRESSION("a", "Exists", ""), NO_MATCH },
    { "DoesNotExist", "metadata: {labels: {a: x}}", EXPRESSION("a", "DoesNotExist", ""), NO_MATCH },
    { "DoesNotExist, missing", "metadata: {}", EXPRESSION("a", "DoesNotExist", ""), NULL },
    { "Gt", "metadata: {labels: {a: '5'}}", EXPRESSION("a", "Gt", "'4'"), NULL },
    { "Gt, equal", "metadata: {labels: {a: '4'}}", EXPRESSION("a", "Gt", "'4'"), NO_MATCH },
    { "Gt, no number", "metadata: {labels: {a: five}}", EXPRESSION("a", "Gt", "'4'"), NO_MATCH },
    { "Gt, bad rule", "metadata: {labels: {a: '5'}}", EXPRESSION("a", "Gt", "four"), NO_MATCH },
    { "Lt", "metadata: {labels: {a: '-5'}}", EXPRESSION("a", "Lt", "'4'"), NULL },
    { "unknown operator", "metadata: {labels: {a: x}}", EXPRESSION("a", "Like", "x"), NO_MATCH },
    { "either of two terms", "metadata: {labels: {a: x}}",
      REQUIRED("{matchExpressions: [{key: b, operator: Exists}]}, {matchExpressions: [{key: a, operator: Exists}]}"),
      NULL },
    { "both requirements of a term", "metadata: {labels: {a: x}}",
      REQUIRED("{matchExpressions: [{key: b, operator: Exists}, {key: a, operator: Exists}]}"), NO_MATCH },
    { "no terms", "metadata: {}", REQUIRED(""), NO_MATCH },
    { "an empty term", "metadata: {}", REQUIRED("{}"), NO_MATCH },
    { "by name", "metadata: {}", REQUIRED("{matchFields: [{key: metadata.name, operator: In, values: [n]}]}"), NULL },
    { "by another name", "metadata: {}", REQUIRED("{matchFields: [{key: metadata.name, operator: In, values: [o]}]}"),
      NO_MATCH },
    { "by another field", "metadata: {}", REQUIRED("{matchFields: [{key: metadata.uid, operator: In, values: [n]}]}"),
      NO_MATCH },
    { "exactly what is free", "spec: {}", "spec: {containers: [{resources: {requests: {cpu: 4, memory: 8Gi}}}]}",
      NULL },
    { "too much cpu", "spec: {}", "spec: {containers: [{resources: {requests: {cpu: 4001m}}}]}", "Insufficient cpu" },
    { "too much memory", "spec: {}", "spec: {containers: [{resources: {requests: {memory: 9Gi}}}]}",
      "Insufficient memory" },
    { "a resource nobody has", "spec: {}", "spec: {containers: [{resources: {limits: {nvidia.com/gpu: 1}}}]}",
      "Insufficient nvidia.com/gpu" },
    { "static rules first", "spec: {unschedulable: true}", "spec: {containers: [{resources: {requests: {cpu: 5}}}]}",
      "node(s) were unschedulable" },
    { "wrong types", "spec: {taints: {a: 1}}", "spec: {nodeSelector: [1], tolerations: x, affinity: 3, containers: y}",
      NULL },
    { "wrong types inside", "spec: {taints: [1, null]}",
      "spec: {nodeSelector: {}, tolerations: [null, 3], volumes: [3], affinity: {nodeAffinity: [], podAffinity: 1}, "
      "containers: [null, {ports: [null, {hostPort: x}]}], topologySpreadConstraints: {}}",
      NULL },
    { "selector by a value that is no text", "metadata: {labels: {a: '1'}}", "spec: {nodeSelector: {a: 1}}", NO_MATCH },
};

static void test_rules(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(rule_cases); i++) {
        const struct rule_case *t = &rule_cases[i];
        struct str why = STR("");
        const struct pod_class *c;
        struct json *node;
        struct world w;
        bool ok;

        world_init(&w, 1);
        node = yaml_of(&w.arena, arena_fmt(&w.arena, "{kind: Node, apiVersion: v1, %s}", t->node));
        json_set(json_need_object(&w.arena, node, "metadata"), "name", json_str(&w.arena, STR("n")));
        json_set(node, "status", yaml_of(&w.arena, STR("{allocatable: {cpu: 4, memory: 8Gi, pods: 10}}")));
        feed_put(&w.m, node);
        c = class_of(&w, "{%s}", t->pod);
        model_order(&w.m);
        ok = fit_node(&w.m, &(struct fit_question){ .class = c }, w.m.order[0], &why);
        if (ok != !t->why || (t->why && !str_is(why, t->why)))
            fail_msg("%s: got \"%.*s\", want \"%s\"", t->name, STR_ARG(why), t->why ? t->why : "");
        if ((fit_best(&w.m, &(struct fit_question){ .class = c }, fit_all(&w.m)) != NULL) != ok)
            fail_msg("%s: the tree disagrees", t->name);
        class_unref(&w.m, c);
        world_done(&w);
    }
}

static void add_node(struct world *w, const char *name, const char *more)
{
    tell(w,
         "{kind: Node, apiVersion: v1, metadata: {name: %s, labels: {%s}}, "
         "status: {allocatable: {cpu: 4, memory: 8Gi, pods: 3}}}",
         name, more);
}

static void test_ports(void **state)
{
    static const struct {
        const char *a, *b;
        bool both;
    } cases[] = {
        { "{hostPort: 80}", "{hostPort: 80}", false },
        { "{hostPort: 80}", "{hostPort: 81}", true },
        { "{containerPort: 80}", "{hostPort: 80}", true },
        { "{hostPort: 80, protocol: UDP}", "{hostPort: 80}", true },
        { "{hostPort: 80, protocol: TCP}", "{hostPort: 80}", false },
        { "{hostPort: 80, hostIP: 10.0.0.1}", "{hostPort: 80, hostIP: 10.0.0.2}", true },
        { "{hostPort: 80, hostIP: 10.0.0.1}", "{hostPort: 80, hostIP: 10.0.0.1}", false },
        { "{hostPort: 80, hostIP: 10.0.0.1}", "{hostPort: 80, hostIP: 0.0.0.0}", false },
        { "{hostPort: 80, hostIP: 10.0.0.1}", "{hostPort: 80}", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct pod_class *a, *b;
        struct str why = STR("");
        struct world w;
        bool ok;

        world_init(&w, 1);
        add_node(&w, "n", "");
        a = class_of(&w, "{spec: {containers: [{ports: [%s]}]}}", cases[i].a);
        b = class_of(&w, "{spec: {containers: [{ports: [%s]}]}}", cases[i].b);
        assert_non_null(fit_best(&w.m, &(struct fit_question){ .class = b }, fit_all(&w.m)));
        node_take(&w.m, w.m.order[0], a);
        ok = fit_node(&w.m, &(struct fit_question){ .class = b }, w.m.order[0], &why);
        if (ok != cases[i].both || (fit_best(&w.m, &(struct fit_question){ .class = b }, fit_all(&w.m)) != NULL) != ok)
            fail_msg("ports %s and %s", cases[i].a, cases[i].b);
        if (!ok)
            assert_true(str_is(why, "node(s) didn't have free ports for the requested pod ports"));
        assert_true(fit_node(&w.m, &(struct fit_question){ b, NULL, FIT_EMPTY }, w.m.order[0], NULL));
        node_give(&w.m, w.m.order[0], a);
        assert_true(fit_node(&w.m, &(struct fit_question){ .class = b }, w.m.order[0], NULL));
        class_unref(&w.m, a);
        class_unref(&w.m, b);
        world_done(&w);
    }
}

static void test_rooms(void **state)
{
    const struct pod_class *c;
    struct sched_node *n;
    struct str why = STR("");
    struct world w;

    world_init(&w, 1);
    add_node(&w, "n", "");
    n = w.m.order[0];
    c = class_of(&w, "{spec: {containers: [{resources: {requests: {cpu: 2}}}]}}");
    n->used.v[DIM_CPU] = 4000;
    n->going.v[DIM_CPU] = 1000;
    n->moving.v[DIM_CPU] = 3000;
    fit_node_changed(&w.m, n);
    assert_false(fit_node(&w.m, &(struct fit_question){ .class = c }, n, &why));
    assert_true(str_is(why, "Insufficient cpu"));
    assert_false(fit_node(&w.m, &(struct fit_question){ c, NULL, FIT_SOON }, n, NULL));
    assert_true(fit_node(&w.m, &(struct fit_question){ c, NULL, FIT_EMPTY }, n, NULL));
    assert_null(fit_best(&w.m, &(struct fit_question){ c, NULL, FIT_SOON }, fit_all(&w.m)));
    assert_ptr_equal(fit_best(&w.m, &(struct fit_question){ c, NULL, FIT_EMPTY }, fit_all(&w.m)), n);
    n->going.v[DIM_CPU] = 2000;
    fit_node_changed(&w.m, n);
    assert_ptr_equal(fit_best(&w.m, &(struct fit_question){ c, NULL, FIT_SOON }, fit_all(&w.m)), n);
    n->held.v[DIM_CPU] = 1;
    fit_node_changed(&w.m, n);
    assert_null(fit_best(&w.m, &(struct fit_question){ c, NULL, FIT_SOON }, fit_all(&w.m)));
    assert_ptr_equal(fit_best(&w.m, &(struct fit_question){ c, NULL, FIT_EMPTY }, fit_all(&w.m)),
                     n); /* kept places end one day too */
    n->used = n->going = n->moving = n->held = (struct amounts){ 0 };
    n->used.v[DIM_PODS] = 3;
    fit_node_changed(&w.m, n);
    assert_false(fit_node(&w.m, &(struct fit_question){ .class = c }, n, &why));
    assert_true(str_is(why, "node(s) pod number exceeded"));
    n->used = (struct amounts){ 0 };
    class_unref(&w.m, c);
    world_done(&w);
}

static void test_why(void **state)
{
    const struct pod_class *c;
    struct why why = { 0 };
    struct world w;

    world_init(&w, 1);
    tell(&w,
         "{kind: Node, apiVersion: v1, metadata: {name: t}, spec: {taints: [{key: k, value: v, effect: NoSchedule}]},"
         " status: {allocatable: {cpu: 40, memory: 80Gi, pods: 3}}}");
    add_node(&w, "a", "");
    add_node(&w, "b", "");
    c = class_of(&w, "{spec: {containers: [{resources: {requests: {cpu: 5, memory: 9Gi}}}]}}");
    fit_why(&w.m, &(struct fit_question){ .class = c }, fit_all(&w.m), &why);
    assert_int_equal(why.n_nodes, 3);
    assert_int_equal(why.n_causes, 3);
    assert_string_equal(why.causes[0].text, "Insufficient cpu");
    assert_int_equal(why.causes[0].count, 2);
    assert_string_equal(why.causes[1].text, "Insufficient memory"); /* all that is missing (D81) */
    assert_int_equal(why.causes[1].count, 2);
    assert_string_equal(why.causes[2].text, "node(s) had untolerated taint {k: v}");
    class_unref(&w.m, c);
    world_done(&w);
}

/* ---- volumes ---- */

static bool may_use(struct world *w, const struct pod_class *c, const char *node, const char *want)
{
    struct str why = STR("");
    bool ok = fit_node(&w->m, &(struct fit_question){ .class = c }, model_node(&w->m, str_of(node)), &why);

    if (ok != !want || (want && !str_is(why, want)))
        fail_msg("volume on %s: got \"%.*s\"", node, STR_ARG(why));
    return ok;
}

static void test_volumes(void **state)
{
    static const char conflict[] = "node(s) had volume node affinity conflict",
                      no_zone[] = "node(s) had no available volume zone";
    const struct pod_class *c;
    struct world w;

    world_init(&w, 1);
    add_node(&w, "a", "topology.kubernetes.io/zone: za");
    add_node(&w, "b", "topology.kubernetes.io/zone: zb");
    add_node(&w, "c", "");
    c = class_of(&w, "{spec: {volumes: [{persistentVolumeClaim: {claimName: data}}]}}");
    w.m.config.knows_claims = true;
    fit_volumes_changed(&w.m);
    may_use(&w, c, "b", "persistentvolumeclaim \"data\" not found");
    assert_null(fit_best(&w.m, &(struct fit_question){ .class = c }, fit_all(&w.m)));
    w.m.config.knows_claims = false; /* a state without claims: says nothing */
    fit_volumes_changed(&w.m);
    may_use(&w, c, "b", NULL);
    assert_ptr_equal(fit_best(&w.m, &(struct fit_question){ .class = c }, fit_all(&w.m)), w.m.order[0]);
    tell(&w,
         "{kind: PersistentVolumeClaim, apiVersion: v1, metadata: {name: data, namespace: ns}, spec: {volumeName: v}}");
    may_use(&w, c, "b", NULL);
    tell(&w, "{kind: PersistentVolume, apiVersion: v1, metadata: {name: v}, spec: {nodeAffinity: {required: "
             "{nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: "
             "[zb]}]}]}}}}");
    may_use(&w, c, "a", conflict);
    may_use(&w, c, "b", NULL);
    may_use(&w, c, "c", conflict);
    assert_ptr_equal(fit_best(&w.m, &(struct fit_question){ .class = c }, fit_all(&w.m)), w.m.order[1]);
    tell(
        &w,
        "{kind: PersistentVolume, apiVersion: v1, metadata: {name: v, labels: {topology.kubernetes.io/zone: zx__za}}}");
    may_use(&w, c, "a", NULL);
    may_use(&w, c, "b", no_zone);
    may_use(&w, c, "c", NULL);
    assert_ptr_equal(fit_best(&w.m, &(struct fit_question){ .class = c }, fit_all(&w.m)), w.m.order[0]);
    feed_gone(&w.m, STR("PersistentVolume"), STR(""), STR("v"), STR(""));
    may_use(&w, c, "b", NULL);
    class_unref(&w.m, c);
    world_done(&w);
}

#define CLASS(name, mode, more)                                                                                        \
    "{kind: StorageClass, apiVersion: storage.k8s.io/v1, metadata: {name: " name "}, provisioner: d.io, "              \
    "volumeBindingMode: " mode more "}"
#define CLAIM(name, class, more)                                                                                       \
    "{kind: PersistentVolumeClaim, apiVersion: v1, metadata: {name: " name ", namespace: ns" more "}, spec: "          \
    "{storageClassName: " class "}}"

/* Volumes that are not there yet. */
static void test_storage_classes(void **state)
{
    static const char nowhere[] = "node(s) didn't find available persistent volumes to bind";
    const struct pod_class *c;
    struct str volume;
    struct world w;

    world_init(&w, 1);
    add_node(&w, "a", "zone: za");
    add_node(&w, "b", "zone: zb");
    c = class_of(&w, "{spec: {volumes: [{persistentVolumeClaim: {claimName: data}}]}}");
    tell(&w, CLAIM("data", "late", ""));
    may_use(&w, c, "a", NULL); /* nobody knows the class */
    tell(&w, CLASS("late", "WaitForFirstConsumer",
                   ", allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [zb, zc]}]}]"));
    may_use(&w, c, "a", nowhere);
    may_use(&w, c, "b", NULL);
    assert_ptr_equal(fit_best(&w.m, &(struct fit_question){ .class = c }, fit_all(&w.m)), w.m.order[1]);
    assert_int_equal(volume_way(&w.m, c, &c->claims.v[0], &volume), VOLUME_IS_THERE); /* nobody makes volumes here */
    w.m.config.waits_for_volumes = true;
    assert_int_equal(volume_way(&w.m, c, &c->claims.v[0], &volume), VOLUME_IS_MADE);
    tell(&w, CLASS("late", "WaitForFirstConsumer", ""));
    may_use(&w, c, "a", NULL);
    tell(&w, CLAIM("data", "late", ", annotations: {volume.kubernetes.io/selected-node: a}"));
    may_use(&w, c, "a", NULL);
    may_use(&w, c, "b", nowhere); /* it is being made on a */
    tell(&w, CLASS("late", "Immediate", ""));
    may_use(&w, c, "a", "pod has unbound immediate PersistentVolumeClaims");
    feed_gone(&w.m, STR("StorageClass"), STR(""), STR("late"), STR(""));
    may_use(&w, c, "a", "pod has unbound immediate PersistentVolumeClaims"); /* nobody knows what it waits for */
    class_unref(&w.m, c);
    world_done(&w);
}

static void test_volume_limits(void **state)
{
    static const char full[] = "node(s) exceed max volume count";
    const struct pod_class *x, *y, *both;
    struct sched_node *a;
    struct world w;

    world_init(&w, 1);
    add_node(&w, "a", "");
    tell(&w, CLASS("sc", "WaitForFirstConsumer", ""));
    tell(&w, CLAIM("x", "sc", ""));
    tell(&w, CLAIM("y", "sc", ""));
    x = class_of(&w, "{spec: {volumes: [{persistentVolumeClaim: {claimName: x}}]}}");
    y = class_of(&w, "{spec: {volumes: [{persistentVolumeClaim: {claimName: y}}]}}");
    both = class_of(&w,
                    "{spec: {volumes: [{persistentVolumeClaim: {claimName: x}}, {persistentVolumeClaim: {claimName: "
                    "y}}]}}");
    a = w.m.order[0];
    tell(&w, "{kind: CSINode, apiVersion: storage.k8s.io/v1, metadata: {name: a}, spec: {drivers: [{name: d.io, "
             "allocatable: {count: 1}}, {name: other.io}]}}");
    may_use(&w, x, "a", NULL);
    may_use(&w, both, "a", full);
    node_take(&w.m, a, x);
    may_use(&w, x, "a", NULL); /* the same volume */
    may_use(&w, y, "a", full);
    assert_null(fit_best(&w.m, &(struct fit_question){ .class = y }, fit_all(&w.m)));
    node_take(&w.m, a, x);
    node_give(&w.m, a, x);
    may_use(&w, y, "a", full);
    node_give(&w.m, a, x);
    may_use(&w, y, "a", NULL);
    assert_ptr_equal(fit_best(&w.m, &(struct fit_question){ .class = y }, fit_all(&w.m)), a);
    node_take(&w.m, a, x);
    feed_gone(&w.m, STR("CSINode"), STR(""), STR("a"), STR(""));
    may_use(&w, y, "a", NULL);
    node_give(&w.m, a, x);
    class_unref(&w.m, x);
    class_unref(&w.m, y);
    class_unref(&w.m, both);
    world_done(&w);
}

/* ---- classes ---- */

static void test_one_class(void **state)
{
    const struct pod_class *a, *b, *other;
    struct world w;

    world_init(&w, 1);
    a = class_of(&w,
                 "{metadata: {name: j-w-0, labels: {volcano.sh/task-index: '0', app: x}}, spec: {volumes: [{name: v, "
                 "configMap: {name: j-0}}], containers: [{image: i, env: [{name: A, value: '0'}], resources: "
                 "{requests: {cpu: 1000m, memory: 1Gi}}}], nodeSelector: {a: b, c: d}}}");
    b = class_of(&w,
                 "{metadata: {name: j-w-1, labels: {volcano.sh/task-index: '1', app: y}}, spec: {nodeSelector: {c: d, "
                 "a: b}, containers: [{image: i, resources: {requests: {memory: 1024Mi, cpu: 1}}}]}}");
    other = class_of(&w, "{spec: {containers: [{image: i, resources: {requests: {cpu: 1}}}]}}");
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, other);
    assert_int_equal(a->uses, 2);
    assert_int_equal(a->ask.v[DIM_CPU], 1000);
    assert_int_equal(a->ask.v[DIM_PODS], 1);
    assert_false(a->is_best_effort);
    assert_false(a->is_coupled);
    class_unref(&w.m, a);
    class_unref(&w.m, b);
    class_unref(&w.m, other);
    class_unref(&w.m, NULL);
    a = class_of(&w, "{spec: {containers: [{image: i}]}}");
    assert_true(a->is_best_effort);
    assert_int_equal(a->ask_dims, 1U << DIM_PODS);
    class_unref(&w.m, a);
    world_done(&w);
}

static void random_node(struct world *w, int i);

/* Whatever stands in a pod: it has a class, and the class can be asked about. */
static void spoil(struct world *w, struct json *j)
{
    struct json *child = json_first(j);
    static const char *const values[] = { "null", "3",  "-1",     "1e999",         "x",   "''",
                                          "{}",   "[]", "[null]", "{a: {b: [1]}}", "true" };

    if (!child || rand_chance(&w->rand, 1, 6)) {
        struct json *other = yaml_of(&w->arena, str_of(values[rand_below(&w->rand, ARRAY_LEN(values))]));

        other->key = j->key;
        other->key_n = j->key_n;
        other->next = j->next;
        *j = *other;
        return;
    }
    for (uint64_t skip = rand_below(&w->rand, json_count(j)); skip; skip--)
        child = child->next;
    spoil(w, child);
}

static void test_any_pod(void **state)
{
    static const char pod[] =
        "{metadata: {labels: {app: x, b: y}}, spec: {hostNetwork: true, nodeSelector: {a: b}, tolerations: [{key: k, "
        "operator: "
        "Exists, effect: NoSchedule}], volumes: [{persistentVolumeClaim: {claimName: c}}], containers: [{image: i, "
        "ports: "
        "[{hostPort: 1, hostIP: 1.1.1.1, protocol: UDP}], resources: {requests: {cpu: 1, x/y: 2}}}], initContainers: "
        "[{image: "
        "i, restartPolicy: Always, ports: [{containerPort: 3}]}], topologySpreadConstraints: [{maxSkew: 1, minDomains: "
        "2, "
        "topologyKey: zone, whenUnsatisfiable: DoNotSchedule, nodeTaintsPolicy: Honor, labelSelector: {matchLabels: "
        "{app: "
        "x}}, matchLabelKeys: [b]}], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [b]}], matchFields: [{key: "
        "metadata.name, "
        "operator: NotIn, values: [q]}]}]}, preferredDuringSchedulingIgnoredDuringExecution: [{weight: 3, preference: "
        "{matchExpressions: [{key: a, operator: Gt, values: ['3']}]}}]}, podAffinity: "
        "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, namespaces: [n], namespaceSelector: {}, "
        "labelSelector: {matchExpressions: [{key: app, operator: In, values: [x]}]}}]}, podAntiAffinity: "
        "{preferredDuringSchedulingIgnoredDuringExecution: [{weight: 7, podAffinityTerm: {topologyKey: zone, "
        "labelSelector: "
        "{matchLabels: {app: x}}}}]}}}}";

    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct world w;

        world_init(&w, seed);
        for (int i = 0; i < 4; i++)
            random_node(&w, i);
        for (int turn = 0; turn < 700; turn++) {
            struct json *j = yaml_of(&w.arena, str_of(pod));
            const struct pod_class *c;

            for (uint64_t n = rand_below(&w.rand, 4); n; n--)
                spoil(&w, j);
            c = class_ref(&w.m, STR("ns"), j);
            model_sync_dims(&w.m);
            class_relabel(&w.m);
            node_take(&w.m, w.m.order[turn % 4], c);
            if (fit_best(&w.m, &(struct fit_question){ .class = c }, fit_all(&w.m)) !=
                best_by_hand(&w, c, NULL, FIT_NOW, fit_all(&w.m)))
                fail_msg("seed %d, turn %d: %s", (int)seed, turn, c->key.p);
            node_give(&w.m, w.m.order[turn % 4], c);
            fit_check(&w.m);
            class_unref(&w.m, c);
        }
        world_done(&w);
    }
}

/* ---- scores ---- */

static int64_t part_of(struct world *w, const struct pod_class *c, const char *node, enum score_kind kind)
{
    int64_t parts[SCORE_KIND_MAX], sum = 0, score;

    score = fit_score(&w->m, c, NULL, model_node(&w->m, str_of(node)), parts);
    for (int k = 0; k < SCORE_KIND_MAX; k++)
        sum += parts[k];
    assert_int_equal(score, sum);
    return parts[kind];
}

static void test_scores(void **state)
{
    const struct pod_class *c, *liking, *imaged;
    struct world w;

    world_init(&w, 1);
    for (int k = 0; k < SCORE_KIND_MAX; k++)
        w.m.config.weights[k] = 1;
    add_node(&w, "a", "disk: ssd");
    tell(
        &w,
        "{kind: Node, apiVersion: v1, metadata: {name: b}, spec: {taints: [{key: k, effect: PreferNoSchedule}]}, "
        "status: {allocatable: {cpu: 8, memory: 8Gi, pods: 3}, images: [{names: [i:latest], sizeBytes: 1048576000}]}}");
    c = class_of(&w, "{spec: {containers: [{resources: {requests: {cpu: 2, memory: 2Gi}}}]}}");
    assert_int_equal(part_of(&w, c, "a", SCORE_BINPACK), 37);         /* (1/2 + 1/4) / 2 */
    assert_int_equal(part_of(&w, c, "a", SCORE_LEAST_REQUESTED), 62); /* (1/2 + 3/4) / 2 */
    assert_int_equal(part_of(&w, c, "a", SCORE_MOST_REQUESTED), 37);
    assert_int_equal(part_of(&w, c, "a", SCORE_BALANCED), 88); /* |1/2 - 1/4| / 2 off */
    assert_int_equal(part_of(&w, c, "b", SCORE_BALANCED), 100);
    assert_int_equal(part_of(&w, c, "a", SCORE_TAINTS), 100);
    assert_int_equal(part_of(&w, c, "b", SCORE_TAINTS), 50);
    liking = class_of(
        &w, "{spec: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 30, "
            "preference: {matchExpressions: [{key: disk, operator: In, values: [ssd]}]}}, {weight: 10, "
            "preference: {matchExpressions: [{key: gpu, operator: Exists}]}}]}}}}");
    assert_int_equal(part_of(&w, liking, "a", SCORE_NODE_AFFINITY), 75);
    assert_int_equal(part_of(&w, liking, "b", SCORE_NODE_AFFINITY), 0);
    imaged = class_of(&w, "{spec: {containers: [{image: i}]}}");
    assert_int_equal(part_of(&w, imaged, "b", SCORE_IMAGES), 100);
    assert_int_equal(part_of(&w, imaged, "a", SCORE_IMAGES), 0);
    assert_string_equal(fit_best(&w.m, &(struct fit_question){ .class = imaged }, fit_all(&w.m))->name.p, "b");
    w.m.config.weights[SCORE_IMAGES] = 0; /* settings may change between two questions */
    assert_string_equal(fit_best(&w.m, &(struct fit_question){ .class = imaged }, fit_all(&w.m))->name.p, "a");
    class_unref(&w.m, c);
    class_unref(&w.m, liking);
    class_unref(&w.m, imaged);
    world_done(&w);
}

/* ---- the group ---- */

static void test_node_groups(void **state)
{
    const struct pod_class *c;
    struct sched_group *g;
    struct str why = STR("");
    struct world w;

    world_init(&w, 1);
    add_node(&w, "a", "volcano.sh/nodegroup-name: red");
    add_node(&w, "b", "volcano.sh/nodegroup-name: blue");
    add_node(&w, "c", "");
    c = class_of(&w, "{spec: {}}");
    g = model_need_group(&w.m, STR("ns"), STR("g"));
    g->podgroup.exists = true;
    g->queue->affinity = yaml_of(&w.arena,
                                 STR("{nodeGroupAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [blue]}}"));
    assert_ptr_equal(fit_best(&w.m, &(struct fit_question){ c, g, FIT_NOW }, fit_all(&w.m)), w.m.order[1]);
    assert_false(fit_node(&w.m, &(struct fit_question){ c, g, FIT_NOW }, w.m.order[2], &why));
    assert_true(str_is(why, "node(s) didn't match the node groups of the queue"));
    g->queue->affinity = yaml_of(
        &w.arena, STR("{nodeGroupAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [red]}}"));
    assert_ptr_equal(fit_best(&w.m, &(struct fit_question){ c, g, FIT_NOW }, fit_all(&w.m)), w.m.order[1]);
    assert_true(fit_node(&w.m, &(struct fit_question){ c, g, FIT_EMPTY }, w.m.order[2], NULL));
    assert_ptr_equal(fit_best(&w.m, &(struct fit_question){ .class = c }, fit_all(&w.m)), w.m.order[0]);
    g->queue->affinity = NULL;
    class_unref(&w.m, c);
    world_done(&w);
}

/* ---- trees against asking every node ---- */

enum { CLASSES = 12 };

static struct str random_pod(struct world *w)
{
    static const char *const more[] = {
        "",
        "",
        "",
        ", nodeSelector: {disk: ssd}",
        ", tolerations: [{key: k, operator: Exists}]",
        ", affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 5, preference: "
        "{matchExpressions: [{key: zone, operator: In, values: [z1, z2]}]}}]}}",
        ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: host, "
        "labelSelector: {matchLabels: {app: a1}}}]}}",
        ", affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, "
        "labelSelector: {matchLabels: {app: a1}}}]}}",
        ", affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 50, podAffinityTerm: "
        "{topologyKey: zone, labelSelector: {matchLabels: {app: a2}}}}]}}",
        ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, "
        "labelSelector: "
        "{matchLabels: {app: a2}}}]",
        ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, "
        "labelSelector: "
        "{matchLabels: {app: a1}}}]",
    };
    struct rand *r = &w->rand;

    return arena_fmt(
        &w->arena,
        "{metadata: {labels: {app: a%d}}, spec: {containers: [{image: i%d, resources: {requests: {cpu: %dm, "
        "memory: %dMi}}, ports: [%s]}]%s}}",
        (int)rand_below(r, 3), (int)rand_below(r, 3), (int)rand_below(r, 5) * 500, (int)rand_below(r, 4) * 700,
        rand_chance(r, 1, 6) ? "{hostPort: 80}" : "", more[rand_below(r, ARRAY_LEN(more))]);
}

static void random_node(struct world *w, int i)
{
    struct rand *r = &w->rand;

    tell(w,
         "{kind: Node, apiVersion: v1, metadata: {name: n%03d, labels: {host: n%03d, %s%s}}, spec: {unschedulable: %s, "
         "taints: [%s]}, status: {allocatable: {cpu: %d, memory: %dGi, pods: %d}, images: [{names: ['i%d:latest'], "
         "sizeBytes: %d}]}}",
         i, i,
         rand_chance(r, 3, 4) ? (const char *[]){ "zone: z1, ", "zone: z2, ", "zone: z3, " }[rand_below(r, 3)] : "",
         rand_chance(r, 1, 2) ? "disk: ssd" : "disk: hdd", rand_chance(r, 1, 12) ? "true" : "false",
         rand_chance(r, 1, 5)   ? "{key: k, effect: NoSchedule}"
         : rand_chance(r, 1, 4) ? "{key: l, effect: PreferNoSchedule}"
                                : "",
         (int)rand_below(r, 16) + 1, (int)rand_below(r, 32) + 1, (int)rand_below(r, 20) + 1, (int)rand_below(r, 3),
         (int)rand_below(r, 1500) * 1000000);
}

struct placed {
    struct sched_node *node;
    const struct pod_class *class;
};

/* One random step; whatever is taken is remembered, so that it can be given back. */
static void random_step(struct world *w, const struct pod_class **classes, struct placed *all, size_t *n)
{
    struct rand *r = &w->rand;
    struct sched_node *node = w->m.order[rand_below(r, w->m.n_order)];

    switch (rand_below(r, 8)) {
    case 0:
        if (*n) {
            size_t i = rand_below(r, *n);

            node_give(&w->m, all[i].node, all[i].class);
            all[i] = all[--*n];
        }
        break;
    case 1:
        node->held.v[DIM_CPU] = (int64_t)rand_below(r, 3) * 500;
        model_node_changed(&w->m, node);
        break;
    case 2:
        node->going.v[DIM_CPU] = (int64_t)rand_below(r, 3) * 500;
        node->moving.v[DIM_CPU] = node->going.v[DIM_CPU] + 500;
        model_node_changed(&w->m, node);
        break;
    case 3:
        if (rand_chance(r, 1, 4))
            random_node(w, (int)rand_below(r, w->m.n_order + 1));
        break;
    default:
        all[*n] = (struct placed){ node, classes[rand_below(r, CLASSES)] };
        node_take(&w->m, node, all[*n].class);
        ++*n;
    }
}

static void check_best(struct world *w, const struct pod_class *c, uint64_t seed, int step)
{
    enum fit_room room = (enum fit_room)rand_below(&w->rand, FIT_ROOM_MAX);
    uint32_t from = 0, to = w->m.n_order;
    struct sched_node *want, *got;

    if (rand_chance(&w->rand, 1, 2)) {
        from = (uint32_t)rand_below(&w->rand, to);
        to = from + (uint32_t)rand_below(&w->rand, to - from + 1);
    }
    want = best_by_hand(w, c, NULL, room, (struct fit_range){ from, to });
    got = fit_best(&w->m, &(struct fit_question){ c, NULL, room }, (struct fit_range){ from, to });
    if (want != got)
        fail_msg("seed %llu, step %d, room %d, nodes [%u, %u): got %s, want %s; class %s", (unsigned long long)seed,
                 step, room, from, to, got ? got->name.p : "none", want ? want->name.p : "none", c->key.p);
}

static void test_trees(void **state)
{
    enum { STEPS = 300 };

    for (uint64_t seed = 1; seed <= 60; seed++) {
        const struct pod_class *classes[CLASSES];
        struct placed all[STEPS];
        struct world w;
        size_t n = 0;
        int nodes;

        world_init(&w, seed);
        nodes = (int)rand_below(&w.rand, seed % 8 == 0 ? 300 : 40) + 1;
        for (int i = 0; i < nodes; i++)
            random_node(&w, i);
        for (int i = 0; i < CLASSES; i++)
            classes[i] = class_of(&w, "%s", random_pod(&w).p);
        for (int step = 0; step < STEPS; step++) {
            random_step(&w, classes, all, &n);
            if (rand_chance(&w.rand, 1, 2))
                check_best(&w, classes[rand_below(&w.rand, CLASSES)], seed, step);
        }
        fit_check(&w.m);
        while (n) {
            n--;
            node_give(&w.m, all[n].node, all[n].class);
        }
        for (int i = 0; i < CLASSES; i++)
            class_unref(&w.m, classes[i]);
        world_done(&w);
    }
}

/* A view that has not been asked for longer than the log remembers. */
static void test_long_log(void **state)
{
    const struct pod_class *c, *d;
    struct world w;

    world_init(&w, 1);
    for (int i = 0; i < 20; i++)
        random_node(&w, i);
    c = class_of(&w, "{spec: {containers: [{resources: {requests: {cpu: 500m}}}]}}");
    d = class_of(&w, "{spec: {containers: [{resources: {requests: {cpu: 100m}}}]}}");
    for (int turn = 0; turn < 2; turn++) {
        struct sched_node *old = fit_best(&w.m, &(struct fit_question){ .class = c }, fit_all(&w.m)),
                          *other = w.m.order[old->index ? 0 : 1];

        old->held.v[DIM_CPU] = old->total.v[DIM_CPU]; /* the first entry is the one that matters */
        model_node_changed(&w.m, old);
        for (int i = 0; i < 20000; i++) {
            node_take(&w.m, other, d);
            node_give(&w.m, other, d);
        }
        assert_ptr_not_equal(fit_best(&w.m, &(struct fit_question){ .class = c }, fit_all(&w.m)), old);
        assert_ptr_equal(fit_best(&w.m, &(struct fit_question){ .class = c }, fit_all(&w.m)),
                         best_by_hand(&w, c, NULL, FIT_NOW, fit_all(&w.m)));
    }
    class_unref(&w.m, c);
    class_unref(&w.m, d);
    world_done(&w);
}

/* More classes than views are kept for. */
static void test_many_classes(void **state)
{
    enum { N = 700 };
    const struct pod_class *classes[N];
    struct world w;

    world_init(&w, 5);
    for (int i = 0; i < 40; i++)
        random_node(&w, i);
    for (int i = 0; i < N; i++)
        classes[i] = class_of(&w, "{spec: {containers: [{resources: {requests: {cpu: %dm}}}]}}", i);
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < N; i++) {
            struct sched_node *n = fit_best(&w.m, &(struct fit_question){ .class = classes[i] }, fit_all(&w.m));

            if (i % 7 == 0)
                assert_ptr_equal(n, best_by_hand(&w, classes[i], NULL, FIT_NOW, fit_all(&w.m)));
        }
    for (int i = 0; i < N; i++)
        class_unref(&w.m, classes[i]);
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),           cmocka_unit_test(test_ports),
        cmocka_unit_test(test_rooms),           cmocka_unit_test(test_why),
        cmocka_unit_test(test_volumes),         cmocka_unit_test(test_one_class),
        cmocka_unit_test(test_storage_classes), cmocka_unit_test(test_volume_limits),
        cmocka_unit_test(test_any_pod),         cmocka_unit_test(test_scores),
        cmocka_unit_test(test_node_groups),     cmocka_unit_test(test_trees),
        cmocka_unit_test(test_long_log),        cmocka_unit_test(test_many_classes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
