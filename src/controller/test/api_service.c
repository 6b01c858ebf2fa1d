/* api_service.c - tests of the Service by which programs in pods find the server */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fixture.h"

#include "controller/control_plane.h"

#define META(kind, version)                                                                                            \
    "{\"apiVersion\":\"" version "\",\"kind\":\"" kind                                                                 \
    "\",\"metadata\":{\"name\":\"kubernetes\",\"namespace\":\"default\""
#define PORT "{\"name\":\"https\",\"port\":443,\"protocol\":\"TCP\"}"
#define SPEC(address)                                                                                                  \
    ",\"spec\":{\"clusterIP\":\"" address "\",\"ports\":[{\"name\":\"https\",\"port\":443,\"protocol\":\"TCP\","       \
    "\"targetPort\":443}],\"type\":\"ClusterIP\",\"sessionAffinity\":"                                                 \
    "\"None\",\"internalTrafficPolicy\":\"Cluster\",\"ipFamilyPolicy\":\"SingleStack\",\"ipFamilies\":[\"IPv4\"],"     \
    "\"clusterIPs\":[\"" address "\"]}}"
#define LABELS                 ",\"labels\":{\"component\":\"apiserver\",\"provider\":\"kubernetes\"}"
#define SERVICE(more, address) META("Service", "v1") LABELS more "}" SPEC(address)
#define ENDPOINTS(address)                                                                                             \
    META("Endpoints", "v1")                                                                                            \
    ",\"labels\":{\"endpointslice.kubernetes.io/skip-mirror\":\"true\"}},\"subsets\":[{"                               \
    "\"addresses\":[{\"ip\":\"" address "\"}],\"ports\":[" PORT "]}]}"
#define SLICE(address)                                                                                                 \
    META("EndpointSlice", "discovery.k8s.io/v1")                                                                       \
    ",\"labels\":{\"kubernetes.io/service-name\":\"kubernetes\"}},"                                                    \
    "\"addressType\":\"IPv4\",\"endpoints\":[{\"addresses\":[\"" address                                               \
    "\"],\"conditions\":{\"ready\":true}}],\"ports\":[" PORT "]}"

#define AT        "10.0.0.1"
#define NAME      "default/kubernetes "
#define CREATE(s) "create Service " NAME s "\n"

static void test_plan(void **state)
{
    static const struct {
        const char *label, *service, *endpoints, *slice, *want;
    } cases[] = {
        { "nothing is there", NULL, NULL, NULL,
          CREATE(SERVICE("", AT)) "create Endpoints " NAME ENDPOINTS(AT) "\ncreate EndpointSlice " NAME SLICE(
              AT) "\n" },
        { "idle", SERVICE("", AT), ENDPOINTS(AT), SLICE(AT), "" },
        { "one was deleted", NULL, ENDPOINTS(AT), SLICE(AT), CREATE(SERVICE("", AT)) },
        { "the slice was deleted", SERVICE("", AT), ENDPOINTS(AT), NULL, "create EndpointSlice " NAME SLICE(AT) "\n" },
        { "what others add stays", SERVICE(",\"annotations\":{\"a\":\"b\"}", AT), ENDPOINTS(AT), SLICE(AT), "" },
        { "the server has moved", SERVICE("", AT), ENDPOINTS("10.9.9.9"), SLICE(AT),
          "update Endpoints " NAME ENDPOINTS(AT) "\n" },
        { "with what others have added", SERVICE(",\"annotations\":{\"a\":\"b\"}", "10.9.9.9"), ENDPOINTS(AT),
          SLICE(AT), "update Service " NAME SERVICE(",\"annotations\":{\"a\":\"b\"}", AT) "\n" },
        { "one that is going goes", SERVICE(",\"deletionTimestamp\":\"x\"", "10.9.9.9"), ENDPOINTS(AT), SLICE(AT), "" },
        { "a Service of somebody's own", META("Service", "v1") "},\"spec\":{\"selector\":{\"a\":\"b\"}}}",
          ENDPOINTS(AT), SLICE(AT), "" },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct plan plan = { .arena = &a };
        struct api_service_observed seen = { .address = STR(AT), .port = 443 };

        seen.service = cases[i].service ? parse(&a, cases[i].service) : NULL;
        seen.endpoints = cases[i].endpoints ? parse(&a, cases[i].endpoints) : NULL;
        seen.slice = cases[i].slice ? parse(&a, cases[i].slice) : NULL;
        api_service_plan(&seen, &plan);
        assert_plan(cases[i].label, &plan, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_plan) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
