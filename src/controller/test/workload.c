/* workload.c - tests of the PodGroups of pods that belong to no Job: what they inherit */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fixture.h"

#define RS_REF "{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"r\",\"uid\":\"o-1\",\"controller\":true}"
#define POD(meta, spec)                                                                                                \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"p-1\"" meta    \
    "},\"spec\":{\"schedulerName\":\"volcano\"" spec                                                                   \
    ",\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]}}"
#define OWNED       ",\"ownerReferences\":[" RS_REF "]"
#define NOTES(list) ",\"annotations\":{" list "}"
#define OWNER(notes, spec)                                                                                             \
    "{\"apiVersion\":\"apps/"                                                                                          \
    "v1\",\"kind\":\"ReplicaSet\",\"metadata\":{\"name\":\"r\",\"uid\":\"o-1\",\"annotations\":{" notes                \
    "}},\"spec\":{" spec "}}"
#define MIN(n) "\"scheduling.volcano.sh/group-min-member\":\"" n "\""

#define HEAD                                                                                                           \
    "create PodGroup n/podgroup-o-1 "                                                                                  \
    "{\"apiVersion\":\"scheduling.volcano.sh/"                                                                         \
    "v1beta1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"podgroup-o-1\",\"namespace\":\"n\","
#define REFS "\"ownerReferences\":[" RS_REF "]}"
#define USE1 "\"minResources\":{\"count/pods\":\"1\",\"cpu\":\"2\",\"pods\":\"1\",\"requests.cpu\":\"2\"}"
#define USE3 "\"minResources\":{\"count/pods\":\"3\",\"cpu\":\"6\",\"pods\":\"3\",\"requests.cpu\":\"6\"}"
#define TAIL "},\"status\":{\"phase\":\"Pending\"}}\n"
#define JOIN                                                                                                           \
    "patch Pod n/p uid p-1 {\"metadata\":{\"annotations\":{\"scheduling.k8s.io/group-name\":\"podgroup-o-1\"}}}\n"

static void check(const char *label, const char *uid, const char *pod, const char *owner, const char *group,
                  const char *want)
{
    autoarena a = { 0 };
    struct plan plan = { .arena = &a };
    const struct json *pods[1] = { pod ? parse(&a, pod) : NULL };
    struct workload_observed seen = { .namespace = STR("n"), .uid = str_of(uid), .pods = pods };

    seen.n_pods = seen.n_all = pod != NULL;
    seen.owner = owner ? parse(&a, owner) : NULL;
    seen.group = group ? parse(&a, group) : NULL;
    workload_plan(&seen, &plan);
    assert_plan(label, &plan, want);
}

static void test_inherits(void **state)
{
    static const struct {
        const char *label, *pod, *owner, *want;
    } cases[] = {
        { "nothing is said", POD(OWNED, ""), OWNER("", ""), HEAD REFS ",\"spec\":{\"minMember\":1," USE1 TAIL JOIN },
        { "the owner is not known", POD(OWNED, ""), NULL, HEAD REFS ",\"spec\":{\"minMember\":1," USE1 TAIL JOIN },
        { "a gang", POD(OWNED, ""), OWNER(MIN("3"), "\"replicas\":5"),
          HEAD REFS ",\"spec\":{\"minMember\":3," USE3 TAIL JOIN },
        { "a gang larger than what there will be", POD(OWNED, ""), OWNER(MIN("3"), "\"replicas\":1"),
          HEAD REFS ",\"spec\":{\"minMember\":1," USE1 TAIL JOIN },
        { "a gang of nobody would have ended before it begins", POD(OWNED, ""), OWNER(MIN("0"), "\"replicas\":5"),
          HEAD REFS ",\"spec\":{\"minMember\":1," USE1 TAIL JOIN },
        { "below 0", POD(OWNED, ""), OWNER(MIN("-2"), "\"replicas\":5"),
          HEAD REFS ",\"spec\":{\"minMember\":1," USE1 TAIL JOIN },
        { "no number", POD(OWNED, ""), OWNER(MIN("many"), "\"replicas\":5"),
          HEAD REFS ",\"spec\":{\"minMember\":1," USE1 TAIL JOIN },
        { "queue and priority",
          POD(OWNED NOTES("\"scheduling.volcano.sh/queue-name\":\"q\""), ",\"priorityClassName\":\"high\""), NULL,
          HEAD REFS ",\"spec\":{\"minMember\":1," USE1 ",\"queue\":\"q\",\"priorityClassName\":\"high\"" TAIL JOIN },
        { "near each other",
          POD(OWNED NOTES(
                  "\"volcano.sh/network-topology-mode\":\"x\",\"volcano.sh/network-topology-highest-tier\":\"2\""),
              ""),
          NULL,
          HEAD REFS ",\"spec\":{\"minMember\":1," USE1
                    ",\"networkTopology\":{\"mode\":\"hard\",\"highestTierAllowed\":2}" TAIL JOIN },
        { "annotations of the owner, then of the pod",
          POD(OWNED NOTES(
                  "\"volcano.sh/preemptable\":\"true\",\"volcano.sh/mine\":\"no\",\"volcano.sh/jdb-max-unavailable\":"
                  "\"1\",\"volcano.sh/jdb-min-available\":\"2\""),
              ""),
          OWNER("\"volcano.sh/a\":\"b\",\"volcano.sh/preemptable\":\"false\",\"x\":\"y\"", ""),
          HEAD "\"annotations\":{\"volcano.sh/a\":\"b\",\"volcano.sh/preemptable\":\"true\","
               "\"volcano.sh/jdb-min-available\":\"2\"}," REFS ",\"spec\":{\"minMember\":1," USE1 TAIL JOIN },
        { "labels", POD(OWNED ",\"labels\":{\"volcano.sh/cooldown-time\":\"5m\",\"x\":\"y\"}", ""), NULL,
          HEAD "\"labels\":{\"volcano.sh/cooldown-time\":\"5m\"}," REFS ",\"spec\":{\"minMember\":1," USE1 TAIL JOIN },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check(cases[i].label, "o-1", cases[i].pod, cases[i].owner, NULL, cases[i].want);
    check(
        "a pod by itself", "p-1", POD("", ""), NULL, NULL,
        "create PodGroup n/podgroup-p-1 {\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"PodGroup\","
        "\"metadata\":{\"name\":\"podgroup-p-1\",\"namespace\":\"n\",\"ownerReferences\":[{\"apiVersion\":\"v1\","
        "\"kind\":"
        "\"Pod\",\"name\":\"p\",\"uid\":\"p-1\",\"controller\":true,\"blockOwnerDeletion\":true}]},\"spec\":{"
        "\"minMember\":1," USE1 TAIL
        "patch Pod n/p uid p-1 {\"metadata\":{\"annotations\":{\"scheduling.k8s.io/group-name\":\"podgroup-p-1\"}}}\n");
}

#define GROUP(min, meta)                                                                                               \
    "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"podgroup-o-1\"," \
    "\"namespace\":\"n\",\"uid\":\"g-1\"" meta "},\"spec\":{\"minMember\":" min "}}"
#define IN NOTES("\"scheduling.k8s.io/group-name\":\"podgroup-o-1\"")

static void test_there_is_one(void **state)
{
    (void)state;
    check("a pod joins", "o-1", POD(OWNED, ""), OWNER("", ""), GROUP("1", ""), JOIN);
    check("it has joined", "o-1", POD(OWNED IN, ""), OWNER("", ""), GROUP("1", ""), "");
    check("another gang", "o-1", POD(OWNED IN, ""), OWNER(MIN("3"), "\"replicas\":4"), GROUP("1", ""),
          "patch PodGroup n/podgroup-o-1 uid g-1 {\"spec\":{\"minMember\":3," USE3 "}}\n");
    check("nobody asked the owner", "o-1", POD(OWNED IN, ""), NULL, GROUP("3", ""), "");
    check("it is going", "o-1", POD(OWNED, ""), OWNER("", ""), GROUP("1", ",\"deletionTimestamp\":\"x\""), "");
    check("nothing left", "o-1", NULL, OWNER("", "\"replicas\":0"), GROUP("1", ""),
          "delete PodGroup n/podgroup-o-1 uid g-1 background\n");
    check("more will come", "o-1", NULL, OWNER("", "\"replicas\":2"), GROUP("1", ""), "");
    check("nobody knows", "o-1", NULL, NULL, GROUP("1", ""), "");
    check("pods, and none wanted", "o-1", POD(OWNED IN, ""), OWNER("", "\"replicas\":0"), GROUP("1", ""), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_inherits), cmocka_unit_test(test_there_is_one) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
