/* quota.c - tests of ResourceQuotas: what they count, what they refuse, and their status */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fixture.h"

#include "controller/control_plane.h"

/* ---- objects ---- */

#define CPU(n) "\"resources\":{\"requests\":{\"cpu\":\"" n "\"}}"
#define BOTH(n)                                                                                                        \
    "\"resources\":{\"requests\":{\"cpu\":\"" n "\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"" n                      \
    "\",\"memory\":\"1Gi\"}}"
#define POD(c, more)  "Pod {\"spec\":{\"containers\":[{\"name\":\"c\"" c "}]" more "}}"
#define SMALL         POD("," CPU("500m"), "")
#define PLAIN         POD("", "")
#define ENDED         "Pod {\"spec\":{\"containers\":[{\"name\":\"c\"," CPU("9") "}]},\"status\":{\"phase\":\"Failed\"}}"
#define MAP           "ConfigMap {}"
#define SERVICE(type) "Service {\"spec\":{\"type\":\"" type "\",\"ports\":[{\"port\":1},{\"port\":2}]}}"
#define CLAIM                                                                                                          \
    "PersistentVolumeClaim "                                                                                           \
    "{\"spec\":{\"storageClassName\":\"fast\",\"resources\":{\"requests\":{\"storage\":\"2Gi\"}}}}"

/* "Kind {…}" */
static struct observed_object object_new_of(struct arena *a, const char *text)
{
    struct str rest = str_of(text), kind;

    (void)str_split(&rest, ' ', &kind);
    return (struct observed_object){ type_by_kind(STR("v1"), kind), parse(a, rest.p) };
}

static struct quota_observed observed(struct arena *a, const char *spec, const char *status, const char *const *objects)
{
    enum { OBJECTS = 8 };
    struct observed_object *list = arena_array(a, struct observed_object, OBJECTS);
    struct quota_observed seen = { .objects.v = list };

    seen.quota = parse(a, arena_fmt(a,
                                    "{\"apiVersion\":\"v1\",\"kind\":\"ResourceQuota\",\"metadata\":{\"name\":\"q\","
                                    "\"namespace\":\"n\",\"resourceVersion\":\"7\"},\"spec\":{%s}%s}",
                                    spec, status)
                              .p);
    for (; *objects; objects++)
        list[seen.objects.n++] = object_new_of(a, *objects);
    return seen;
}

#define HARD(amounts) "\"hard\":{" amounts "}"

/* ---- the status ---- */

#define STATUS(hard, used)  "{\"hard\":{" hard "},\"used\":{" used "}}"
#define WRITTEN(hard, used) "status ResourceQuota n/q " STATUS(hard, used) "\n"

static void test_plan(void **state)
{
    static const struct {
        const char *label, *spec, *status, *objects[6], *want;
    } cases[] = {
        { "nothing is there", HARD("\"pods\":\"2\""), "", { NULL }, WRITTEN("\"pods\":\"2\"", "\"pods\":\"0\"") },
        { "idle", HARD("\"pods\":\"2\""), ",\"status\":" STATUS("\"pods\":\"2\"", "\"pods\":\"1\""), { SMALL }, "" },
        { "it allows more now",
          HARD("\"pods\":\"3\""),
          ",\"status\":" STATUS("\"pods\":\"2\"", "\"pods\":\"1\""),
          { SMALL },
          WRITTEN("\"pods\":\"3\"", "\"pods\":\"1\"") },
        { "pods that have ended take nothing",
          HARD("\"cpu\":\"4\",\"pods\":\"9\""),
          "",
          { SMALL, SMALL, ENDED },
          WRITTEN("\"cpu\":\"4\",\"pods\":\"9\"", "\"cpu\":\"1\",\"pods\":\"2\"") },
        { "but they are there",
          HARD("\"count/pods\":\"9\""),
          "",
          { SMALL, ENDED },
          WRITTEN("\"count/pods\":\"9\"", "\"count/pods\":\"2\"") },
        { "kinds by both names",
          HARD("\"configmaps\":\"3\",\"count/configmaps\":\"3\""),
          "",
          { MAP, MAP, SMALL },
          WRITTEN("\"configmaps\":\"3\",\"count/configmaps\":\"3\"",
                  "\"configmaps\":\"2\",\"count/configmaps\":\"2\"") },
        { "Services by type",
          HARD("\"services\":\"9\",\"services.loadbalancers\":\"9\",\"services.nodeports\":\"9\""),
          "",
          { SERVICE("ClusterIP"), SERVICE("NodePort"), SERVICE("LoadBalancer") },
          WRITTEN("\"services\":\"9\",\"services.loadbalancers\":\"9\",\"services.nodeports\":\"9\"",
                  "\"services\":\"3\",\"services.loadbalancers\":\"1\",\"services.nodeports\":\"4\"") },
        { "claims by class",
          HARD("\"fast.storageclass.storage.k8s.io/requests.storage\":\"9Gi\",\"requests.storage\":\"9Gi\""),
          "",
          { CLAIM, CLAIM },
          WRITTEN("\"fast.storageclass.storage.k8s.io/requests.storage\":\"9Gi\",\"requests.storage\":\"9Gi\"",
                  "\"fast.storageclass.storage.k8s.io/requests.storage\":\"4Gi\",\"requests.storage\":\"4Gi\"") },
        { "scopes choose pods",
          HARD("\"pods\":\"9\"") ",\"scopes\":[\"BestEffort\"]",
          "",
          { SMALL, PLAIN },
          WRITTEN("\"pods\":\"9\"", "\"pods\":\"1\"") },
        { "it allows nothing", "", ",\"status\":" STATUS("", ""), { SMALL }, "" },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct plan plan = { .arena = &a };
        struct quota_observed seen = observed(&a, cases[i].spec, cases[i].status, cases[i].objects);

        quota_plan(&seen, &plan);
        assert_plan(cases[i].label, &plan, cases[i].want);
    }
}

/* ---- what is refused ---- */

#define EXCEEDED(asked, used, limited) "exceeded quota: q, requested: " asked ", used: " used ", limited: " limited

static void test_check(void **state)
{
    /* want: "": it fits; NULL: it does not concern the quota */
    static const struct {
        const char *label, *spec, *objects[4], *object, *old, *want;
    } cases[] = {
        { "it fits", HARD("\"pods\":\"2\""), { SMALL }, SMALL, NULL, "" },
        { "one too many", HARD("\"pods\":\"1\""), { SMALL }, SMALL, NULL, EXCEEDED("pods=1", "pods=1", "pods=1") },
        { "all that is too much is told",
          HARD("\"cpu\":\"1\",\"pods\":\"1\",\"requests.cpu\":\"9\""),
          { POD("," CPU("800m"), "") },
          SMALL,
          NULL,
          EXCEEDED("cpu=500m,pods=1", "cpu=800m,pods=1", "cpu=1,pods=1") },
        { "a pod must say what is limited",
          HARD("\"limits.memory\":\"1Gi\",\"requests.cpu\":\"1\""),
          { NULL },
          PLAIN,
          NULL,
          "failed quota: q: must specify limits.memory for: c; requests.cpu for: c" },
        { "it says all",
          HARD("\"limits.memory\":\"1Gi\",\"requests.cpu\":\"1\""),
          { NULL },
          POD("," BOTH("1"), ""),
          NULL,
          "" },
        { "a kind that the quota does not count", HARD("\"pods\":\"0\""), { NULL }, MAP, NULL, NULL },
        { "a pod outside of its scopes",
          HARD("\"pods\":\"0\"") ",\"scopes\":[\"BestEffort\"]",
          { NULL },
          SMALL,
          NULL,
          NULL },
        { "other kinds have no scopes",
          HARD("\"configmaps\":\"0\"") ",\"scopes\":[\"BestEffort\"]",
          { NULL },
          MAP,
          NULL,
          NULL },
        { "as it was", HARD("\"pods\":\"1\""), { SMALL }, SMALL, SMALL, "" },
        { "smaller, though too much is used",
          HARD("\"cpu\":\"100m\""),
          { SMALL, SMALL },
          POD("," CPU("300m"), ""),
          SMALL,
          "" },
        { "larger",
          HARD("\"cpu\":\"600m\""),
          { SMALL },
          POD("," CPU("700m"), ""),
          SMALL,
          EXCEEDED("cpu=200m", "cpu=500m", "cpu=600m") },
        { "it comes into the scope",
          HARD("\"pods\":\"0\"") ",\"scopes\":[\"Terminating\"]",
          { NULL },
          POD("", ",\"activeDeadlineSeconds\":9"),
          PLAIN,
          EXCEEDED("pods=1", "pods=0", "pods=0") },
        { "a claim by class",
          HARD("\"fast.storageclass.storage.k8s.io/persistentvolumeclaims\":\"1\""),
          { CLAIM },
          CLAIM,
          NULL,
          EXCEEDED("fast.storageclass.storage.k8s.io/persistentvolumeclaims=1",
                   "fast.storageclass.storage.k8s.io/persistentvolumeclaims=1",
                   "fast.storageclass.storage.k8s.io/persistentvolumeclaims=1") },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct quota_observed seen = observed(&a, cases[i].spec, "", cases[i].objects);
        struct observed_object object = object_new_of(&a, cases[i].object);
        struct quota_change change = { object.type, object.root, NULL };
        struct err e = { 0 };

        if (cases[i].old)
            change.old = object_new_of(&a, cases[i].old).root;
        if (quota_concerns(seen.quota, &change) != (cases[i].want != NULL))
            fail_msg("%s: it concerns the quota: %d", cases[i].label, cases[i].want == NULL);
        if (!cases[i].want)
            continue;
        assert_int_equal(quota_check(&seen, &change, &e), cases[i].want[0] ? -1 : 0);
        if (strcmp(e.text, cases[i].want) != 0)
            fail_msg("%s\nwant: %s\ngot:  %s", cases[i].label, cases[i].want, e.text);
    }
}

/* ---- scopes ---- */

static void test_scopes(void **state)
{
    static const struct {
        const char *scope, *pod;
        bool counts;
    } cases[] = {
        { "\"scopes\":[\"Terminating\"]", POD("", ",\"activeDeadlineSeconds\":9"), true },
        { "\"scopes\":[\"Terminating\"]", PLAIN, false },
        { "\"scopes\":[\"NotTerminating\"]", PLAIN, true },
        { "\"scopes\":[\"NotTerminating\"]", POD("", ",\"activeDeadlineSeconds\":9"), false },
        { "\"scopes\":[\"BestEffort\"]", PLAIN, true },
        { "\"scopes\":[\"NotBestEffort\"]", SMALL, true },
        { "\"scopes\":[\"NotBestEffort\",\"Terminating\"]", SMALL, false },
        { "\"scopes\":[\"Unheard\"]", PLAIN, false },
        { "\"scopes\":[\"PriorityClass\"]", POD("", ",\"priorityClassName\":\"high\""), true },
        { "\"scopes\":[\"PriorityClass\"]", PLAIN, false },
#define RULE(operator, values)                                                                                         \
    "\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\",\"operator\":\""                        \
    operator"\",\"values\":[" values "]}]}"
        { RULE("In", "\"high\",\"low\""), POD("", ",\"priorityClassName\":\"high\""), true },
        { RULE("In", "\"low\""), POD("", ",\"priorityClassName\":\"high\""), false },
        { RULE("NotIn", "\"low\""), POD("", ",\"priorityClassName\":\"high\""), true },
        { RULE("NotIn", "\"high\""), POD("", ",\"priorityClassName\":\"high\""), false },
        { RULE("Exists", ""), POD("", ",\"priorityClassName\":\"high\""), true },
        { RULE("DoesNotExist", ""), POD("", ",\"priorityClassName\":\"high\""), false },
        { RULE("DoesNotExist", ""), PLAIN, true },
#define AFFINITY(term)                                                                                                 \
    POD("", ",\"affinity\":{\"podAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[" term "]}}")
        { "\"scopes\":[\"CrossNamespacePodAffinity\"]", PLAIN, false },
        { "\"scopes\":[\"CrossNamespacePodAffinity\"]", AFFINITY("{\"podAffinityTerm\":{}}"), false },
        { "\"scopes\":[\"CrossNamespacePodAffinity\"]", AFFINITY("{\"podAffinityTerm\":{\"namespaces\":[\"m\"]}}"),
          true },
        { "\"scopes\":[\"CrossNamespacePodAffinity\"]", AFFINITY("{\"podAffinityTerm\":{\"namespaceSelector\":{}}}"),
          true },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        static const char *const none[] = { NULL };
        struct quota_observed seen = observed(&a, arena_fmt(&a, HARD("\"pods\":\"1\"") ",%s", cases[i].scope).p, "",
                                              none);
        struct observed_object pod = object_new_of(&a, cases[i].pod);
        struct quota_change change = { pod.type, pod.root, NULL };

        if (quota_concerns(seen.quota, &change) != cases[i].counts)
            fail_msg("%s, %s: counts: %d", cases[i].scope, cases[i].pod, !cases[i].counts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_scopes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
