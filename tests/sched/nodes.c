/* nodes.c - where a pod may go, and what it is told where it may not: items 46-48 of the checklist */
#include "harness.h"

#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

/* One node, something about it or about a pod that runs on it, and a pod that may not go there. */
static const struct {
    const char *name;
    const char *node_more; /* merged into the node */
    const char *other;     /* merged into a pod that runs there; NULL: there is none */
    const char *pod;       /* merged into the pod that waits */
    const char *pod_ok;    /* … and into the same pod that may go there; NULL: the rest of the row has no such case */
    const char *text, *or_text;
} rule_cases[] = {
    { "selector", NULL, NULL, "spec: {nodeSelector: {disk: ssd}}", "spec: {nodeSelector: {kubernetes.io/hostname: n1}}",
      "node(s) didn't match Pod's node affinity/selector", NULL },
    { "node affinity", NULL, NULL,
      "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
      "[{matchExpressions: [{key: gen, operator: Gt, values: ['3']}]}]}}}}",
      "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
      "[{matchExpressions: [{key: gen, operator: DoesNotExist}]}]}}}}",
      "node(s) didn't match Pod's node affinity/selector", NULL },
    { "taint", "spec: {taints: [{key: only, value: gpu, effect: NoSchedule}]}", NULL, "spec: {}",
      "spec: {tolerations: [{key: only, operator: Equal, value: gpu, effect: NoSchedule}]}",
      "node(s) had untolerated taint", NULL },
    { "unschedulable", "spec: {unschedulable: true}", NULL, "spec: {}",
      "spec: {tolerations: [{key: node.kubernetes.io/unschedulable, operator: Exists}]}", "node(s) were unschedulable",
      NULL },
    { "ports", NULL, "spec: {containers: [{name: c, ports: [{containerPort: 80, hostPort: 8080}]}]}",
      "spec: {containers: [{name: c, ports: [{containerPort: 80, hostPort: 8080}]}]}",
      "spec: {containers: [{name: c, ports: [{containerPort: 80, hostPort: 8081}]}]}",
      "node(s) didn't have free ports for the requested pod ports", NULL },
    { "anti-affinity", NULL, "metadata: {labels: {app: web}}",
      "metadata: {labels: {app: db}}, spec: {affinity: {podAntiAffinity: "
      "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: "
      "{matchLabels: {app: web}}}]}}}",
      "metadata: {labels: {app: db}}, spec: {affinity: {podAntiAffinity: "
      "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: "
      "{matchLabels: {app: other}}}]}}}",
      "node(s) didn't match pod anti-affinity rules", NULL },
    { "anti-affinity of the other", NULL,
      "spec: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
      "kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}}}",
      "metadata: {labels: {app: web}}", "metadata: {labels: {app: db}}",
      "node(s) didn't satisfy existing pods anti-affinity rules", NULL },
    { "affinity", NULL, "metadata: {labels: {app: web}}",
      "spec: {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
      "kubernetes.io/hostname, labelSelector: {matchLabels: {app: cache}}}]}}}",
      "spec: {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
      "kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}}}",
      "node(s) didn't match pod affinity rules", NULL },
    { "cpu", NULL, "spec: {containers: [{name: c, resources: {requests: {cpu: '7'}}}]}",
      "spec: {containers: [{name: c, resources: {requests: {cpu: '2'}}}]}",
      "spec: {containers: [{name: c, resources: {requests: {cpu: '1'}}}]}", "Insufficient cpu", NULL },
    { "gpu", NULL, NULL, "spec: {containers: [{name: c, resources: {requests: {nvidia.com/gpu: '1'}}}]}", "spec: {}",
      "Insufficient nvidia.com/gpu", NULL },
    { "number of pods", "status: {allocatable: {pods: '1'}}", "spec: {}", "spec: {}", NULL, "Too many pods",
      "node(s) pod number exceeded" },
};

static void put_case(struct h *h, size_t i, const char *pod)
{
    h_node_more(h, "n1", "cpu: 8", rule_cases[i].node_more);
    if (rule_cases[i].other) {
        h_change(h, h_stranger(h, "default", "other", "n1", ""), rule_cases[i].other);
        h_restart(h); /* the other pod was like that from the beginning */
    }
    h_group(h, "g", .min = 1);
    h_pods_more(h, "g", "w", 1, "", pod);
    h_settle(h);
}

static void item_46_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rule_cases); i++) {
        struct h *h = h_new(NULL);
        struct str said;

        put_case(h, i, rule_cases[i].pod);
        said = h_said(h, "Pod", "g-w-0", "PodScheduled");
        if (h_bound(h, "g") != 0)
            fail_msg("%s: bound", rule_cases[i].name);
        if (!str_has(said, str_of(rule_cases[i].text)) &&
            !(rule_cases[i].or_text && str_has(said, str_of(rule_cases[i].or_text))))
            fail_msg("%s: said \"%.*s\"", rule_cases[i].name, STR_ARG(said));
        assert_has(said, "0/1 nodes are unavailable: 1 ");
        h_free(h);
        if (!rule_cases[i].pod_ok)
            continue;
        h = h_new(NULL);
        put_case(h, i, rule_cases[i].pod_ok);
        if (h_bound(h, "g") != 1)
            fail_msg("%s: the pod that may go there was not bound", rule_cases[i].name);
        h_free(h);
    }
}

/* Labels of a pod that runs may change; rules about other pods see it. */
static void item_46_labels_change(void **state)
{
    static const char more[] =
        "spec: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
        "kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}}}";
    struct h *h = h_new(NULL);
    struct h_object *other;

    (void)state;
    h_node(h, "n1", "cpu: 8");
    other = h_stranger(h, "default", "other", "n1", "");
    h_change(h, other, "metadata: {labels: {app: web}}");
    h_group(h, "g", .min = 1);
    h_pods_more(h, "g", "w", 1, "", more);
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 0);
    h_change(h, other, "metadata: {labels: {app: db}}");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 1);
    h_free(h);
}

static void item_46_spread(void **state)
{
    static const char more[] =
        "metadata: {labels: {app: web}}, spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, "
        "whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]}";
    struct h *h = h_new(NULL);

    (void)state;
    h_node_more(h, "n1", "cpu: 8", "metadata: {labels: {zone: a}}");
    h_node_more(h, "n2", "cpu: 2", "metadata: {labels: {zone: b}}");
    h_group(h, "g", .min = 1);
    h_pods_more(h, "g", "w", 6, "cpu: 1", more);
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 5); /* 3 in a, 2 in b */
    assert_has(h_said(h, "Pod", "g-w-5", "PodScheduled"), "node(s) didn't match pod topology spread constraints");
    h_free(h);
}

static void item_46_gang_with_anti_affinity(void **state)
{
    static const char more[] =
        "metadata: {labels: {app: web}}, spec: {affinity: {podAntiAffinity: "
        "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: "
        "{matchLabels: {app: web}}}]}}}";
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_node(h, "n2", "cpu: 8");
    h_group(h, "g", .min = 3);
    h_pods_more(h, "g", "w", 3, "cpu: 1", more);
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 0);
    h_node(h, "n3", "cpu: 8");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 3);
    assert_false(str_eq(h_node_of(h, "g-w-0"), h_node_of(h, "g-w-1")));
    assert_false(str_eq(h_node_of(h, "g-w-1"), h_node_of(h, "g-w-2")));
    h_free(h);
}

static void item_46_volume_zone(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node_more(h, "n1", "cpu: 8", "metadata: {labels: {topology.kubernetes.io/zone: a}}");
    h_put(h, "{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv, labels: {topology.kubernetes.io/zone: b}}, "
             "spec: {}}");
    h_put(h, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: default}, spec: "
             "{volumeName: pv}, status: {phase: Bound}}");
    h_group(h, "g", .min = 1);
    h_pods_more(h, "g", "w", 1, "cpu: 1", "spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 0);
    assert_has(h_said(h, "Pod", "g-w-0", "PodScheduled"), "volume");
    h_node_more(h, "n2", "cpu: 1", "metadata: {labels: {topology.kubernetes.io/zone: b}}");
    h_settle(h);
    assert_text(h_node_of(h, "g-w-0"), "n2");
    h_free(h);
}

/* A claim that does not exist yet is waited for, whoever else runs meanwhile, and holds nothing. */
static void claim_that_is_missing(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 2");
    h_group(h, "g", .min = 1);
    h_pods_more(h, "g", "w", 1, "cpu: 2", "spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}");
    h_work(h, 120000, 10000);
    assert_int_equal(h_bound(h, "g"), 0);
    assert_has(h_said(h, "Pod", "g-w-0", "PodScheduled"), "persistentvolumeclaim \"data\" not found");
    h_group(h, "other", .min = 1);
    h_pods(h, "other", "w", 1, "cpu: 2");
    h_settle(h);
    assert_int_equal(h_bound(h, "other"), 1);
    h_delete(h, "Pod", "other-w-0");
    h_put(h, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: other, namespace: default}, spec: {}}");
    h_put(h, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: elsewhere}, spec: {}}");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 0);
    h_put(h, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: default}, spec: {}}");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 1);
    h_free(h);
}

/* Devices that somebody else would have to allocate: nobody does, so the pod is not bound as if it had them. */
static void device_claims_are_not_met(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 2");
    h_group(h, "g", .min = 1);
    h_pods_more(h, "g", "w", 1, "cpu: 1", "spec: {resourceClaims: [{name: gpu, resourceClaimName: one}]}");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 0);
    assert_has(h_said(h, "Pod", "g-w-0", "PodScheduled"), "resource claims");
    h_free(h);
}

static void item_47_exact_amount(void **state)
{
    static const char *const cases[][2] = {
        { "cpu: 4, memory: 8Gi", "cpu: 4, memory: 8Gi" },
        { "cpu: 4", "cpu: 4000m" },
        { "cpu: 1, memory: 1000000001", "cpu: 100m, memory: 1000000001" },
        { "cpu: 1, example.com/thing: 3", "example.com/thing: 3" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct h *h = h_new(NULL);

        h_node(h, "n1", cases[i][0]);
        h_group(h, "g", .min = 1);
        h_pods(h, "g", "w", 1, cases[i][1]);
        h_settle(h);
        if (h_bound(h, "g") != 1)
            fail_msg("%s does not fit %s", cases[i][1], cases[i][0]);
        h_free(h);
    }
}

static void item_47_sum_of_parts(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 1");
    h_group(h, "g", .min = 10);
    h_pods(h, "g", "w", 10, "cpu: 100m"); /* ten tenths are one */
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 10);
    h_free(h);
}

static void item_48_extended_resources(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8, nvidia.com/gpu: 2, hugepages-2Mi: 4Mi");
    h_group(h, "g", .min = 1);
    h_pods(h, "g", "gpu", 3, "nvidia.com/gpu: 1");
    h_group(h, "h", .min = 1);
    h_pods(h, "h", "huge", 3, "hugepages-2Mi: 2Mi");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 2);
    assert_int_equal(h_bound(h, "h"), 2);
    h_free(h);
}

static void item_48_count_keys_are_ignored(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_group(h, "g", .min = 1,
            .asks = "cpu: 1, count/pods: 100000, requests.cpu: 100000, limits.cpu: 100000, count/jobs.batch: 9");
    h_settle(h);
    assert_text(h_group_phase(h, "g"), "Inqueue");
    h_free(h);
}

/* Init containers count as the larger of the two, sidecars along with everything. */
static void item_48_init_containers(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 4");
    h_group(h, "g", .min = 1);
    h_pods_more(h, "g", "w", 2, "cpu: 1",
                "spec: {initContainers: [{name: i, resources: {requests: {cpu: '3'}}}]}"); /* 3 each */
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 1);
    h_free(h);
}

/* Packing: one node is filled before the next is touched, so that whole nodes stay free for large pods. */
static void packs(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 4, memory: 4Gi");
    h_node(h, "n2", "cpu: 4, memory: 4Gi");
    for (int i = 0; i < 4; i++) {
        char name[8];

        snprintf(name, sizeof(name), "g%d", i);
        h_group(h, name, .min = 1);
        h_pods(h, name, "w", 1, "cpu: 1, memory: 1Gi");
        h_settle(h);
    }
    h_group(h, "large", .min = 1);
    h_pods(h, "large", "w", 1, "cpu: 4, memory: 4Gi");
    h_settle(h);
    assert_int_equal(h_bound(h, "large"), 1);
    h_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(item_46_rules),
        cmocka_unit_test(item_46_labels_change),
        cmocka_unit_test(item_46_spread),
        cmocka_unit_test(item_46_gang_with_anti_affinity),
        cmocka_unit_test(item_46_volume_zone),
        cmocka_unit_test(claim_that_is_missing),
        cmocka_unit_test(device_claims_are_not_met),
        cmocka_unit_test(item_47_exact_amount),
        cmocka_unit_test(item_47_sum_of_parts),
        cmocka_unit_test(item_48_extended_resources),
        cmocka_unit_test(item_48_count_keys_are_ignored),
        cmocka_unit_test(item_48_init_containers),
        cmocka_unit_test(packs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
