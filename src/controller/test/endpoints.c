/* endpoints.c - tests of who is behind a Service: what the plan makes is put back, and then nothing is left to plan */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fixture.h"

#include "controller/control_plane.h"

enum { OBJECTS = 32 };

struct world { /* what is there */
    struct arena *arena;
    struct json *service, *endpoints;
    const struct json *pods[2000], *slices[OBJECTS];
    size_t n_pods, n_slices;
    unsigned n_made;
};

static struct json *pod_new(struct arena *a, const char *name, const char *address, const char *more)
{
    return parse(a,
                 arena_fmt(a,
                           "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\","
                           "\"uid\":\"u-%s\"},\"spec\":{\"containers\":[]},\"status\":{\"phase\":\"Running\","
                           "\"podIP\":\"%s\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"}]}}",
                           name, name, address, more)
                     .p);
}

static struct json *service_new(struct arena *a, const char *spec)
{
    return parse(
        a, arena_fmt(a,
                     "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"s\",\"namespace\":\"n\","
                     "\"uid\":\"u-s\",\"labels\":{\"a\":\"b\"}},\"spec\":{%s}}",
                     spec)
               .p);
}

static void put_slice(struct world *w, const struct op *op)
{
    struct json *body = op->body ? json_copy(w->arena, op->body) : NULL;

    if (op->kind == OP_CREATE) {
        assert_true(str_is(json_member_text(json_get(body, "metadata"), "generateName"), "s-"));
        json_set(json_get(body, "metadata"), "name", json_fmt(w->arena, "s-%u", w->n_made++));
        assert_true(w->n_slices < OBJECTS);
        w->slices[w->n_slices++] = body;
        return;
    }
    for (size_t i = 0; i < w->n_slices; i++)
        if (str_eq(object_name(w->slices[i]), op->name)) {
            w->slices[i] = op->kind == OP_DELETE ? w->slices[--w->n_slices] : body;
            return;
        }
    fail_msg("a write of a slice that is not there");
}

/* How many writes it took. */
static size_t settle(struct world *w)
{
    struct plan plan = { .arena = w->arena };
    struct endpoints_observed seen = { .service = w->service,
                                       .pods = w->pods,
                                       .n_pods = w->n_pods,
                                       .endpoints = w->endpoints,
                                       .slices = w->slices,
                                       .n_slices = w->n_slices };

    endpoints_plan(&seen, &plan);
    VEC_FOREACH(op, &plan.ops) {
        if (strcmp(op->type->kind, "Endpoints") == 0)
            w->endpoints = json_copy(w->arena, op->body);
        else
            put_slice(w, op);
    }
    return plan.ops.n;
}

static void print_ports(struct buf *out, const struct json *ports)
{
    JSON_FOREACH(p, ports)
        buf_fmt(out, " %.*s:%lld/%.*s", STR_ARG(json_member_text(p, "name")),
                (long long)json_i64(json_get(p, "port"), 0), STR_ARG(json_member_text(p, "protocol")));
}

/* "ready 1 2 not 3 :80/TCP; slice 1 2! 3- :80/TCP": ! not ready, - terminating. */
static void print_world(struct buf *out, const struct world *w)
{
    JSON_FOREACH(subset, json_get(w->endpoints, "subsets")) {
        buf_str(out, STR("ready"));
        JSON_FOREACH(at, json_get(subset, "addresses"))
            buf_fmt(out, " %.*s", STR_ARG(json_member_text(at, "ip")));
        buf_str(out, STR(" not"));
        JSON_FOREACH(at, json_get(subset, "notReadyAddresses"))
            buf_fmt(out, " %.*s", STR_ARG(json_member_text(at, "ip")));
        print_ports(out, json_get(subset, "ports"));
        buf_str(out, STR("; "));
    }
    for (size_t i = 0; i < w->n_slices; i++) {
        buf_str(out, STR("slice"));
        JSON_FOREACH(e, json_get(w->slices[i], "endpoints")) {
            const struct json *c = json_get(e, "conditions");

            buf_fmt(out, " %.*s%s%s", STR_ARG(json_text(json_at(json_get(e, "addresses"), 0), STR_NULL)),
                    json_bool(json_get(c, "ready"), false) ? "" : "!",
                    json_bool(json_get(c, "terminating"), false) ? "-" : "");
        }
        print_ports(out, json_get(w->slices[i], "ports"));
        buf_str(out, STR("; "));
    }
}

static void assert_world(struct world *w, const char *want)
{
    struct buf got = { 0 };

    (void)settle(w);
    assert_int_equal(settle(w), 0); /* it is settled */
    buf_str(&got, STR(""));
    print_world(&got, w);
    assert_string_equal(got.p, want);
    buf_done(&got);
}

#define PLAIN "\"selector\":{\"x\":\"y\"},\"ports\":[{\"port\":80,\"targetPort\":8080,\"protocol\":\"TCP\"}]"

static void test_life(void **state)
{
    autoarena a = { 0 };
    struct world w = { .arena = &a, .service = service_new(&a, PLAIN) };
    struct json *one = pod_new(&a, "one", "1.1.1.1", "True"), *two = pod_new(&a, "two", "2.2.2.2", "False"),
                *none = pod_new(&a, "none", "", "False"), *over = pod_new(&a, "over", "3.3.3.3", "False");
    (void)state;

    assert_world(&w, "slice; ");
    assert_int_equal(w.n_made, 1);
    json_set(json_get(over, "status"), "phase", json_str(&a, STR("Succeeded")));
    w.pods[0] = one, w.pods[1] = two, w.pods[2] = none, w.pods[3] = over;
    w.n_pods = 4;
    assert_world(&w, "ready 1.1.1.1 not 2.2.2.2 :8080/TCP; slice 1.1.1.1 2.2.2.2! :8080/TCP; ");
    json_set(json_get(one, "metadata"), "deletionTimestamp", json_str(&a, STR("2026-03-01T09:30:00Z")));
    assert_world(&w, "ready not 2.2.2.2 :8080/TCP; slice 1.1.1.1!- 2.2.2.2! :8080/TCP; ");
    json_set(json_get(w.service, "spec"), "publishNotReadyAddresses", json_bool_new(&a, true));
    assert_world(&w, "ready 1.1.1.1 2.2.2.2 not :8080/TCP; slice 1.1.1.1- 2.2.2.2 :8080/TCP; ");
    w.n_pods = 0;
    assert_world(&w, "slice; ");
}

static void test_names(void **state)
{
    autoarena a = { 0 };
    struct world w = { .arena = &a,
                       .service = service_new(
                           &a, "\"clusterIP\":\"None\",\"selector\":{\"x\":\"y\"},\"ports\":[{\"name\":\"web\","
                               "\"port\":80,\"targetPort\":\"http\"},{\"name\":\"other\",\"port\":81}]") };
    struct json *one = pod_new(&a, "one", "1.1.1.1", "True"), *two = pod_new(&a, "two", "2.2.2.2", "True");
    const struct json *first;
    (void)state;

    json_set(json_get(one, "spec"), "containers",
             parse(&a, "[{\"ports\":[{\"name\":\"http\",\"containerPort\":9,\"protocol\":\"UDP\"}]},"
                       "{\"ports\":[{\"name\":\"http\",\"containerPort\":8000}]}]"));
    json_set(json_get(one, "spec"), "hostname", json_str(&a, STR("h")));
    json_set(json_get(one, "spec"), "subdomain", json_str(&a, STR("s")));
    w.pods[0] = one, w.pods[1] = two;
    w.n_pods = 2;
    assert_world(&w, "ready 1.1.1.1 not web:8000/TCP other:81/TCP; ready 2.2.2.2 not other:81/TCP; "
                     "slice 1.1.1.1 web:8000/TCP other:81/TCP; slice 2.2.2.2 other:81/TCP; ");
    first = json_at(json_get(w.slices[0], "endpoints"), 0);
    assert_true(str_is(json_member_text(first, "hostname"), "h"));
    assert_true(str_is(json_member_text(json_get(first, "targetRef"), "name"), "one"));
    assert_true(str_is(object_label(w.slices[0], "kubernetes.io/service-name"), "s"));
    assert_true(str_is(object_label(w.slices[0], "a"), "b") && str_is(object_label(w.endpoints, "a"), "b"));
    assert_non_null(json_find(w.endpoints, "metadata", "labels", "service.kubernetes.io/headless", NULL));
    assert_true(str_is(object_controller_uid(w.slices[0]), "u-s"));
    json_remove(json_get(w.service, "spec"), "ports"); /* headless without ports: addresses alone */
    assert_world(&w, "ready 1.1.1.1 2.2.2.2 not; slice 1.1.1.1 2.2.2.2; ");
}

static size_t endpoints_in(const struct world *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->n_slices; i++) {
        assert_true(json_count(json_get(w->slices[i], "endpoints")) <= 100);
        n += json_count(json_get(w->slices[i], "endpoints"));
    }
    return n;
}

/* Many: slices are full, one change is one write of Endpoints and one of a slice, and the others stay as they are. */
static void test_many(void **state)
{
    autoarena a = { 0 };
    struct world *w = arena_new(&a, struct world);
    (void)state;

    w->arena = &a;
    w->service = service_new(&a, PLAIN);
    for (unsigned i = 0; i < 1250; i++)
        w->pods[w->n_pods++] = pod_new(&a, arena_fmt(&a, "p%u", i).p, arena_fmt(&a, "10.0.%u.%u", i / 250, i % 250).p,
                                       "True");
    assert_int_equal(settle(w), 14);
    assert_int_equal(settle(w), 0);
    assert_int_equal(endpoints_in(w), 1250);
    assert_int_equal(json_count(json_get(json_at(json_get(w->endpoints, "subsets"), 0), "addresses")), 1000);
    w->n_pods = 950;
    w->pods[3] = w->pods[--w->n_pods]; /* one goes */
    (void)settle(w);
    assert_int_equal(settle(w), 0);
    assert_int_equal(endpoints_in(w), 949);
    w->pods[w->n_pods++] = pod_new(&a, "late", "10.9.9.9", "True");
    assert_int_equal(settle(w), 2);
    w->n_pods = 0;
    (void)settle(w);
    assert_int_equal(w->n_slices, 1);
    assert_int_equal(settle(w), 0);
}

/* ---- what is not planned ---- */

#define OURS   "endpoint-controller"
#define DELETE "delete Endpoints n/s uid u-e background\n"

static void test_ends(void **state)
{
    static const struct {
        const char *label, *manager;
        bool has_service, is_deleting, namespace_ends;
        const char *want;
    } cases[] = {
        { "the Service is gone", OURS, false, false, false, DELETE },
        { "with its namespace", OURS, false, false, true, DELETE },
        { "Endpoints of others stay", "somebody", false, false, false, "" },
        { "the Service is going", OURS, true, true, false, "" },
        { "its namespace is going", OURS, true, false, true, "" },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct plan plan = { .arena = &a };
        struct endpoints_observed seen = { .namespace_is_ending = cases[i].namespace_ends };
        struct json *service = service_new(&a, "\"ports\":[{\"port\":80}]");

        if (cases[i].is_deleting)
            json_set(json_get(service, "metadata"), "deletionTimestamp", json_str(&a, STR("x")));
        seen.service = cases[i].has_service ? service : NULL;
        seen.endpoints = parse(&a, arena_fmt(&a,
                                             "{\"metadata\":{\"name\":\"s\",\"namespace\":\"n\",\"uid\":\"u-e\","
                                             "\"labels\":{\"endpoints.kubernetes.io/managed-by\":\"%s\"}}}",
                                             cases[i].manager)
                                       .p);
        endpoints_plan(&seen, &plan);
        assert_plan(cases[i].label, &plan, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_life), cmocka_unit_test(test_names),
                                        cmocka_unit_test(test_many), cmocka_unit_test(test_ends) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
