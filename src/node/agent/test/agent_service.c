/* agent_service.c - addresses and names of Services, their endpoints, and pods that wait for their filter */
#include "node/agent/test/agent_world.h"

#include <arpa/inet.h>
#include <string.h>

#define WEB(name, more)                                                                                                \
    "{apiVersion: v1, kind: Service, metadata: {name: " name                                                           \
    "}, spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]" more "}}"
#define POD                                                                                                            \
    "{containers: [{name: c, image: app, command: [run], ports: [{name: http, containerPort: 8080}], "                 \
    "readinessProbe: {tcpSocket: {port: http}, periodSeconds: 1, failureThreshold: 1}}]}"
#define PLAIN "{containers: [{name: c, image: app, command: [run]}]}"
#define POLICY                                                                                                         \
    "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: closed}, spec: {podSelector: "           \
    "{matchLabels: {app: web}}, policyTypes: [Ingress]}}"
#define LABELS "{labels: {app: web}}"

/* ---- names ---- */

/* The addresses of a name in ns.svc.cluster.local: "10.88.0.2 10.88.0.3"; "NXDOMAIN". */
static const char *lookup(struct world *w, const char *host)
{
    static const unsigned char header[12] = { 0, 7, 1, 0, 0, 1 };
    autobuf packet = { 0 }, reply = { 0 }, out = { 0 };
    struct str rest = arena_fmt(&w->arena, "%s.ns.svc.cluster.local", host), label;
    const unsigned char *p;
    size_t n, at;

    buf_append(&packet, header, sizeof(header));
    while (str_split(&rest, '.', &label)) {
        buf_char(&packet, (char)label.n);
        buf_str(&packet, label);
    }
    buf_append(&packet, "\0\0\1\0\1", 5);
    at = packet.n;
    assert_int_equal(dns_answer(fake.zone, buf_view(&packet), 0, &reply), DNS_ANSWERED);
    p = (const unsigned char *)reply.p;
    if ((p[3] & 15) == 3)
        return "NXDOMAIN";
    for (n = (size_t)p[6] << 8 | p[7]; n > 0; n--, at += 16) { /* each a pointer, type, class, ttl, length, address */
        assert_true(p[at] >= 0xc0 && at + 16 <= reply.n);
        buf_fmt(&out, "%s%d.%d.%d.%d", out.n ? " " : "", p[at + 12], p[at + 13], p[at + 14], p[at + 15]);
    }
    return arena_cstr(&w->arena, buf_view(&out));
}

static bool has_number(struct str bytes, const void *number, size_t n)
{
    for (size_t i = 0; i + n <= bytes.n; i += 4)
        if (memcmp(bytes.p + i, number, n) == 0)
            return true;
    return false;
}

/* Is there such an address in the rules? With a port: such a target, which has its port a little behind. */
static bool in_force(const char *address, uint16_t port)
{
    in_addr_t want = inet_addr(address);
    uint16_t behind[2] = { htons(port), 0 };
    struct str batch = buf_view(&fake.nft_batch);

    for (size_t i = 0; i + sizeof(want) <= batch.n; i += 4)
        if (memcmp(batch.p + i, &want, sizeof(want)) == 0 &&
            (!port || has_number(str_sub(batch, i, 64), behind, sizeof(behind))))
            return true;
    return false;
}

static void services_have_addresses_and_names(void **state)
{
    struct world *w = world_new(NULL);

    world_create(w, WEB("a", ""));
    world_create(w, WEB("b", ", clusterIP: None"));
    world_pass(w, 1000);
    assert_string_equal(world_at(w, "Service", "a", "/spec/clusterIP"), "10.96.0.2");
    assert_string_equal(world_at(w, "Service", "a", "/spec/clusterIPs"), "[\"10.96.0.2\"]");
    assert_string_equal(world_at(w, "Service", "b", "/spec/clusterIP"), "None");
    assert_string_equal(lookup(w, "a"), "10.96.0.2");
    assert_string_equal(lookup(w, "b"), "");
    assert_string_equal(lookup(w, "c"), "NXDOMAIN");
    world_delete(w, "Service", "a", -1);
    world_pass(w, 1000);
    assert_string_equal(lookup(w, "a"), "NXDOMAIN");
    assert_false(in_force("10.96.0.2", 0));
    world_free(w);
}

static void an_address_that_somebody_chose_is_not_given_again(void **state)
{
    struct world *w = world_new(NULL);

    world_create(w, WEB("a", ", clusterIP: 10.96.0.2"));
    world_create(w, WEB("b", ""));
    assert_string_equal(world_at(w, "Service", "b", "/spec/clusterIP"), "10.96.0.3");
    world_create(w, WEB("x", ", clusterIP: 192.168.7.7")); /* of another range: taken as it is */
    world_delete(w, "Service", "x", -1);
    world_free(w);
}

static void endpoints_are_the_ready_pods(void **state)
{
    struct world *w = world_new(NULL);

    world_create(w, WEB("a", ""));
    world_create(w, WEB("b", ", clusterIP: None"));
    world_pod_with(w, "p", LABELS, POD);
    world_pod_with(w, "other", "{labels: {app: db}}", POD);
    world_pass(w, 100);
    assert_string_equal(lookup(w, "b"), "");
    assert_false(in_force("10.88.0.2", 8080));
    fake_answer("p", true, "");
    fake_answer("other", true, "");
    world_pass(w, 100);
    assert_string_equal(lookup(w, "b"), "10.88.0.2");
    assert_true(in_force("10.88.0.2", 8080));
    assert_false(in_force("10.88.0.3", 8080));

    world_pass(w, 1000);
    fake_answer("p", false, "refused");
    world_pass(w, 100);
    assert_string_equal(lookup(w, "b"), "");
    assert_false(in_force("10.88.0.2", 8080));
    world_patch(w, "Service", "b", "{spec: {publishNotReadyAddresses: true}}");
    world_pass(w, 100);
    assert_string_equal(lookup(w, "b"), "10.88.0.2");

    world_patch(w, "Pod", "other", "{metadata: " LABELS "}");
    world_pass(w, 100);
    assert_non_null(strstr(lookup(w, "b"), "10.88.0.2")); /* in another order each time */
    assert_non_null(strstr(lookup(w, "b"), "10.88.0.3"));
    world_delete(w, "Pod", "p", 0);
    world_pass(w, 100);
    assert_string_equal(lookup(w, "b"), "10.88.0.3");
    world_free(w);
}

/* Many changes in a short time are one transaction. */
static void refreshes_are_collected(void **state)
{
    struct world *w = world_new(NULL);

    world_create(w, WEB("a", ""));
    world_pod_with(w, "p", LABELS, POD);
    world_pass(w, 500);
    (void)fake_asked();
    fake_answer("p", true, "");
    world_turn(w);
    assert_string_equal(fake_asked(), "nft"); /* it was quiet for long: at once */
    for (int i = 0; i < 10; i++)
        world_patch(w, "Pod", "p", i % 2 ? "{metadata: {labels: {app: no}}}" : "{metadata: {labels: {app: web}}}");
    assert_string_equal(fake_asked(), "");
    world_pass(w, 50);
    assert_string_equal(fake_asked(), "nft");
    world_free(w);
}

/* ---- the filter ---- */

static void a_pod_waits_for_its_filter(void **state)
{
    struct world *w = world_new(NULL);

    fake.holds_nft = true;
    world_create(w, POLICY);
    fake_nft_ends(NULL);
    world_turn(w);
    (void)fake_asked();
    world_pod_with(w, "p", LABELS, PLAIN);
    assert_string_equal(fake_asked(), "shim p; nft; join 10.88.0.2");
    assert_string_equal(world_status(w, "p"), "Pending; c waiting ContainerCreating");
    world_pod_with(w, "q", LABELS, PLAIN); /* not in what the kernel has: waits for the next one */
    fake_nft_ends(NULL);
    world_turn(w);
    assert_string_equal(fake_asked(), "shim q; join 10.88.0.3; start p/c#0; nft");
    assert_true(in_force("10.88.0.2", 0));
    assert_false(in_force("10.88.0.3", 0));
    fake_nft_ends(NULL);
    world_turn(w);
    assert_string_equal(fake_asked(), "start q/c#0");
    assert_true(in_force("10.88.0.3", 0));
    world_free(w);
}

static void without_rules_nobody_waits(void **state)
{
    struct world *w = world_new(NULL);

    fake.holds_nft = true;
    world_pod_with(w, "p", LABELS, PLAIN);
    assert_string_equal(fake_asked(), "shim p; join 10.88.0.2; start p/c#0");
    world_free(w);
}

static void a_selected_pod_waits_while_it_fails(void **state)
{
    struct world *w = world_new(NULL);

    (void)err_set(&fake.fails_nft, ERR_NOT_FOUND, "there is no nf_tables");
    world_create(w, POLICY);
    world_pod_with(w, "p", LABELS, PLAIN);
    world_pod(w, "q", PLAIN); /* no policy is about it */
    assert_string_equal(world_status(w, "p"), "Pending; c waiting NetworkNotReady");
    assert_string_equal(world_status(w, "q"), "Running; c running ready");
    assert_non_null(strstr(world_at(w, "Pod", "p", "/status/containerStatuses/0/state/waiting/message"), "ns/closed"));
    assert_true(str_has(buf_view(&w->notices), STR("there is no nf_tables")));
    world_pass(w, 60000);
    assert_string_equal(world_status(w, "p"), "Pending; c waiting NetworkNotReady");
    fake.fails_nft = (struct err){ 0 };
    world_pass(w, 30000);
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    assert_true(in_force("10.88.0.2", 0));
    assert_true(str_has(buf_view(&w->notices), STR("are in force now")));
    world_free(w);
}

static void unless_somebody_said_that_it_need_not(void **state)
{
    struct world *w = world_new(&(struct agent_options){ .allows_unfiltered = true });

    (void)err_set(&fake.fails_nft, ERR_NOT_FOUND, "there is no nf_tables");
    world_create(w, POLICY);
    world_pod_with(w, "p", LABELS, PLAIN);
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    world_free(w);
}

/* It cannot be stopped: there is no second one beside it, and its answer counts however late it is. */
static void one_that_hangs_is_told(void **state)
{
    struct world *w = world_new(NULL);

    fake.holds_nft = true;
    world_create(w, POLICY);
    world_pod_with(w, "p", LABELS, PLAIN);
    world_pass(w, 9999);
    assert_string_equal(world_status(w, "p"), "Pending; c waiting ContainerCreating");
    world_pass(w, 60000);
    assert_string_equal(world_status(w, "p"), "Pending; c waiting NetworkNotReady");
    assert_non_null(
        strstr(world_at(w, "Pod", "p", "/status/containerStatuses/0/state/waiting/message"), "within 10 s"));
    (void)fake_asked();
    fake.holds_nft = false;
    fake_nft_ends(NULL);
    world_pass(w, 1000);
    assert_string_equal(fake_asked(), "nft; start p/c#0"); /* the pod came after the first */
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    assert_true(str_has(buf_view(&w->notices), STR("are in force now")));
    world_free(w);
}

/* A pod that is deleted while it waits is not held up. */
static void a_waiting_pod_can_go(void **state)
{
    struct world *w = world_new(NULL);

    fake.holds_nft = true;
    world_create(w, POLICY);
    world_pod_with(w, "p", LABELS, PLAIN);
    world_delete(w, "Pod", "p", -1);
    assert_string_equal(world_status(w, "p"), "gone");
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(services_have_addresses_and_names),
        world_test(an_address_that_somebody_chose_is_not_given_again),
        world_test(endpoints_are_the_ready_pods),
        world_test(refreshes_are_collected),
        world_test(a_pod_waits_for_its_filter),
        world_test(without_rules_nobody_waits),
        world_test(a_selected_pod_waits_while_it_fails),
        world_test(unless_somebody_said_that_it_need_not),
        world_test(one_that_hangs_is_told),
        world_test(a_waiting_pod_can_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
