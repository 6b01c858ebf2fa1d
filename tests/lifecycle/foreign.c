/* foreign.c - objects of the job's names that somebody made beforehand */
#include "harness.h"

#define SERVICE(spec) "{apiVersion: v1, kind: Service, metadata: {name: j, namespace: default}, spec: {" spec "}}"
#define POLICY_OBJECT(spec)                                                                                            \
    "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: j, namespace: default}, spec: {" spec "}}"
#define HEAD_SERVICE(spec)                                                                                             \
    "{apiVersion: v1, kind: Service, metadata: {name: j-head-svc, namespace: default}, spec: {" spec "}}"

/* Two tasks that share the label app. */
#define LABELLED(name)                                                                                                 \
    "{name: " name ", replicas: 1, template: {metadata: {labels: {app: x, role: " name                                 \
    "}}, spec: {containers: [{name: " name ", image: i}]}}}"
#define JOB_WITH(plugins) JOB("j", "plugins: {" plugins "}, tasks: [" LABELLED("head") ", " LABELLED("worker") "]")
#define SVC               JOB_WITH("svc: []")

#define ALL_PODS "podSelector: {matchLabels: {app: x}}"
#define FROM_JOB "ingress: [{from: [{podSelector: {matchLabels: {volcano.sh/job-name: j}}}]}]"
#define RAY_PORTS                                                                                                      \
    "ports: [{name: a, port: 6379}, {name: b, port: 8265, targetPort: dashboard}, {name: c, port: 10001, targetPort: " \
    "10001}]"

static const struct {
    const char *object, *job;
    const char *why; /* NULL: it is used */
} cases[] = {
    /* Services */
    { SERVICE("clusterIP: None, selector: {volcano.sh/job-name: j}"), SVC, NULL },
    { SERVICE("clusterIP: None, selector: {app: x}, ports: [{port: 1}]"), SVC, NULL },
    { SERVICE("clusterIP: 10.96.0.7, selector: {app: x}, ports: [{port: 1}]"), SVC, "spec.clusterIP must be None" },
    { SERVICE("selector: {app: x}, ports: [{port: 1}]"), SVC, "spec.clusterIP must be None" },
    { SERVICE("clusterIP: None, selector: {role: head}"), SVC, "spec.selector must select the pods of task worker" },
    { SERVICE("clusterIP: None, selector: {volcano.sh/task-index: '0'}"), SVC, "select the pods of task head" },
    { SERVICE("clusterIP: None"), SVC, "spec.selector must select the pods of task head" },
    { SERVICE("type: ExternalName, externalName: example.test"), SVC, "spec.type" },
    { SERVICE("clusterIP: None, selector: {app: x}"), JOB_WITH("svc: [--publish-not-ready-addresses]"),
      "spec.publishNotReadyAddresses must be true" },
    { SERVICE("clusterIP: None, publishNotReadyAddresses: true, selector: {app: x}"),
      JOB_WITH("svc: [--publish-not-ready-addresses]"), NULL },
    { HEAD_SERVICE("selector: {role: head}, " RAY_PORTS), JOB_WITH("ray: []"), NULL },
    { HEAD_SERVICE("selector: {app: x}, " RAY_PORTS), JOB_WITH("ray: []"), "must not select the pods of task worker" },
    { HEAD_SERVICE("selector: {role: head}, ports: [{port: 6379}]"), JOB_WITH("ray: []"), "must have port 8265" },
    { HEAD_SERVICE("selector: {role: head}, ports: [{port: 6379, targetPort: 80}]"), JOB_WITH("ray: []"),
      "must have port 6379" },
    /* NetworkPolicies */
    { POLICY_OBJECT(ALL_PODS ", policyTypes: [Ingress], " FROM_JOB), SVC, NULL },
    { POLICY_OBJECT("podSelector: {}, ingress: [{}]"), SVC, NULL },
    { POLICY_OBJECT("podSelector: {}, ingress: [{from: [{namespaceSelector: {}}]}]"), SVC, NULL },
    { POLICY_OBJECT("podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8}}, " ALL_PODS "]}]"), SVC, NULL },
    { POLICY_OBJECT("podSelector: {}"), SVC, "spec.ingress must admit the pods of the job" },
    { POLICY_OBJECT("podSelector: {}, ingress: [{ports: [{port: 22}]}]"), SVC, "to all ports" },
    { POLICY_OBJECT("podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {role: head}}}]}]"), SVC,
      "spec.ingress must admit the pods of the job" },
    { POLICY_OBJECT("podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {a: b}}}]}]"), SVC,
      "spec.ingress must admit the pods of the job" },
    { POLICY_OBJECT("podSelector: {matchLabels: {role: head}}, " FROM_JOB), SVC, "spec.podSelector" },
    { POLICY_OBJECT("podSelector: {}, policyTypes: [Egress], egress: [{}]"), SVC, "spec.policyTypes" },
    { POLICY_OBJECT("podSelector: {}, policyTypes: [Ingress, Egress], " FROM_JOB), SVC, "spec.egress" },
    { POLICY_OBJECT("podSelector: {}, policyTypes: [Ingress, Egress], " FROM_JOB ", egress: [{to: [" ALL_PODS "]}]"),
      SVC, NULL },
    { POLICY_OBJECT("podSelector: {}, " FROM_JOB), JOB_WITH("svc: [--allow-ingress=80/cluster]"),
      "must admit the cluster to port 80" },
    { POLICY_OBJECT("podSelector: {}, ingress: [{from: [" ALL_PODS "]}, {ports: [{port: 80, protocol: TCP}]}]"),
      JOB_WITH("svc: [--allow-ingress=80/cluster]"), NULL },
    { POLICY_OBJECT("podSelector: {}"), JOB_WITH("svc: [--disable-network-policy]"), NULL },
    /* What holds the job's own data cannot be shared. */
    { "{apiVersion: v1, kind: ConfigMap, metadata: {name: j-svc, namespace: default}}", SVC, "ConfigMap j-svc exists" },
};

static void test_made_beforehand(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoh h = h_new();

        h_create(h, cases[i].object);
        h_job(h, cases[i].job);
        h_run(h);
        if (cases[i].why) {
            const char *message = h_get(h, "job/j", "status.state.message");

            h_expect(h, "job/j", "status.state.reason", "WaitingForName");
            if (!strstr(message, cases[i].why) || !h_event_says(h, "PluginError", cases[i].why))
                fail_msg("%s: want \"%s\", got \"%s\"", cases[i].object, cases[i].why, message);
            assert_int_equal(h_count(h, "pods"), 0);
        } else {
            if (h_events(h, "PluginError"))
                fail_msg("%s: %s", cases[i].object, h_get(h, "job/j", "status.state.message"));
            h_go(h, "j");
            h_expect_phase(h, "j", "Running");
        }
    }
}

static void test_stays_when_the_job_is_gone(void **state)
{
    autoh h = h_new();
    const char *service, *policy;

    (void)state;
    h_create(h, SERVICE("clusterIP: None, selector: {app: x}"));
    h_create(h, POLICY_OBJECT("podSelector: {}, ingress: [{}]"));
    service = h_uid(h, "svc/j");
    policy = h_uid(h, "netpol/j");
    h_running(h, SVC);
    h_pods_phase(h, "j", "Succeeded");
    h_expect_phase(h, "j", "Completed");
    h_delete(h, "job/j", 0);
    h_run(h);
    assert_string_equal(h_uid(h, "svc/j"), service);
    assert_string_equal(h_uid(h, "netpol/j"), policy);
    h_expect(h, "svc/j", "spec.selector.app", "x");
    assert_false(h_exists(h, "cm/j-svc"));
}

static void test_waits_only_until_it_fits(void **state)
{
    autoh h = h_new();

    (void)state;
    h_create(h, SERVICE("clusterIP: None, selector: {role: head}"));
    h_job(h, SVC);
    h_run(h);
    h_expect(h, "job/j", "status.state.reason", "WaitingForName");
    h_set(h, "svc/j", "spec.selector", "{app: x}");
    h_run(h); /* at once: nobody has to wait for a timer */
    h_expect(h, "job/j", "status.state.reason", "");
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
}

static void test_is_replaced_when_it_goes(void **state)
{
    autoh h = h_new();
    const char *uid;

    (void)state;
    h_create(h, SERVICE("clusterIP: None, selector: {app: x}"));
    uid = h_running(h, SVC);
    h_delete(h, "svc/j", 0);
    h_run(h);
    h_expect(h, "svc/j", "metadata.ownerReferences[0].uid", uid);
    h_expect_phase(h, "j", "Running");
}

/* A Service of another Job, by its template's subdomain, is no leftover of an earlier job of this name. */
static void test_of_another_job(void **state)
{
    autoh h = h_new_without_gc();

    (void)state;
    h_create(h,
             "{apiVersion: v1, kind: Service, metadata: {name: j, namespace: default, ownerReferences: [{apiVersion: "
             "batch.volcano.sh/v1alpha1, kind: Job, name: other, uid: u-other, controller: true}]}, spec: "
             "{clusterIP: None, selector: {app: y}}}");
    h_job(h, SVC);
    h_run(h);
    h_expect(h, "job/j", "status.state.reason", "WaitingForName");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made_beforehand),          cmocka_unit_test(test_stays_when_the_job_is_gone),
        cmocka_unit_test(test_waits_only_until_it_fits), cmocka_unit_test(test_is_replaced_when_it_goes),
        cmocka_unit_test(test_of_another_job),
    };

    return cmocka_run_group_tests_name("lifecycle/foreign", tests, NULL, NULL);
}
