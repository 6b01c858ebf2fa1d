/* namespace.c - tests of what namespaces have, how they end, and when Events go */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fixture.h"

#include "base/clock.h"
#include "controller/control_plane.h"

/* ---- what every cluster has ---- */

static bool knows(void *ctx, const struct resource_type *type, struct str name)
{
    return name.n && str_has(str_of(ctx), str_of(type->kind));
}

static void test_cluster(void **state)
{
    static const struct {
        char *there; /* kinds of which all are there */
        size_t want;
    } cases[] = { { "", 6 }, { "Namespace", 2 }, { "PriorityClass", 4 }, { "Namespace PriorityClass", 0 } };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct plan plan = { .arena = &a };

        cluster_defaults_plan(knows, cases[i].there, &plan);
        assert_int_equal(plan.ops.n, cases[i].want);
        VEC_FOREACH(op, &plan.ops)
            assert_int_equal(op->kind, OP_CREATE);
    }
}

/* ---- what every namespace has ---- */

#define CONFIG(version, data)                                                                                          \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"kube-root-ca.crt\",\"namespace\":"         \
    "\"n\"" version "}" data "}"
#define V7 ",\"resourceVersion\":\"7\""
#define ACCOUNT                                                                                                        \
    "create ServiceAccount n/default "                                                                                 \
    "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":\"default\",\"namespace\":\"n\"}}\n"
#define DATA ",\"data\":{\"ca.crt\":\"PEM\"}"

static void test_defaults(void **state)
{
    static const struct {
        const char *label;
        bool has_account;
        const char *config, *want;
    } cases[] = {
        { "a new namespace", false, NULL, ACCOUNT "create ConfigMap n/kube-root-ca.crt " CONFIG("", DATA) "\n" },
        { "idle", true, CONFIG(V7, DATA), "" },
        { "only the account is gone", false, CONFIG(V7, DATA), ACCOUNT },
        { "only the certificates are gone", true, NULL, "create ConfigMap n/kube-root-ca.crt " CONFIG("", DATA) "\n" },
        { "other certificates", true, CONFIG(V7, ",\"data\":{\"ca.crt\":\"OLD\"}"),
          "update ConfigMap n/kube-root-ca.crt " CONFIG(V7, DATA) "\n" },
        { "more than certificates", true, CONFIG(V7, ",\"data\":{\"ca.crt\":\"PEM\",\"more\":\"\"}"),
          "update ConfigMap n/kube-root-ca.crt " CONFIG(V7, DATA) "\n" },
        { "no data", true, CONFIG(V7, ""), "update ConfigMap n/kube-root-ca.crt " CONFIG(V7, DATA) "\n" },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct plan plan = { .arena = &a };
        struct namespace_defaults_observed seen = { .namespace = STR("n"), .ca = STR("PEM") };

        seen.has_account = cases[i].has_account;
        seen.ca_config = cases[i].config ? parse(&a, cases[i].config) : NULL;
        namespace_defaults_plan(&seen, &plan);
        assert_plan(cases[i].label, &plan, cases[i].want);
    }
}

/* ---- the end ---- */

enum { CONTENTS = 8 };

/* "Pod a, ConfigMap b-": '-' is being deleted; '!' has a finalizer and is being deleted */
static void read_contents(struct arena *a, struct str text, struct observed_objects *ret)
{
    struct observed_object *list = arena_array(a, struct observed_object, CONTENTS);
    struct str item;

    for (ret->v = list, ret->n = 0; text.n && (str_split(&text, ',', &item), true); ret->n++) {
        struct str kind;
        char end = item.p[item.n - 1];

        assert_true(ret->n < CONTENTS);
        while (item.p[0] == ' ')
            item = str_from(item, 1);
        (void)str_split(&item, ' ', &kind);
        if (end == '-' || end == '!')
            item.n--;
        list[ret->n].type = type_by_kind(STR("v1"), kind);
        list[ret->n].root = parse(
            a, arena_fmt(a, "{\"metadata\":{\"namespace\":\"n\",\"name\":\"%.*s\",\"uid\":\"u-%.*s\"%s%s}}",
                         STR_ARG(item), STR_ARG(item), end == '-' || end == '!' ? ",\"deletionTimestamp\":\"x\"" : "",
                         end == '!' ? ",\"finalizers\":[\"x/wait\"]" : "")
                   .p);
    }
}

#define NOW "2026-03-01T09:30:00Z"
#define CONDITION(type, status, reason, message)                                                                       \
    "{\"type\":\"" type "\",\"status\":\"" status "\",\"lastTransitionTime\":\"" NOW "\",\"reason\":\"" reason         \
    "\",\"message\":\"" message "\"}"
#define FINE                                                                                                           \
    CONDITION("NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered",                                     \
              "All resources successfully discovered")                                                                 \
    "," CONDITION("NamespaceDeletionGroupVersionParsingFailure", "False", "ParsedGroupVersions",                       \
                  "All legacy kube types successfully parsed") "," CONDITION("NamespaceDeletionContentFailure",        \
                                                                             "False", "ContentDeleted",                \
                                                                             "All content successfully deleted, may "  \
                                                                             "be waiting on finalization") ","
#define REMAIN(kinds)                                                                                                  \
    CONDITION("NamespaceContentRemaining", "True", "SomeResourcesRemain", "Some resources are remaining: " kinds)
#define HELD(by)                                                                                                       \
    CONDITION("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain",                                          \
              "Some content in the namespace has finalizers remaining: " by)
#define FREE                                                                                                           \
    CONDITION("NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers",                                       \
              "All content-preserving finalizers finished")
#define TELLS(rest) "{\"conditions\":[" FINE rest "]}"
#define NAMESPACE(finalizers)                                                                                          \
    "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"7\","            \
    "\"deletionTimestamp\":\"x\"},\"spec\":{" finalizers "}}"

static void test_end(void **state)
{
    static const struct {
        const char *label, *finalizers, *status, *pods, *others, *want;
    } cases[] = {
        { "pods go first", "\"kubernetes\"", "{}", "Pod a, Pod b-", "ConfigMap c",
          "delete Pod n/a uid u-a background\n" },
        { "pods are ending", "\"kubernetes\"", "{}", "Pod a-, Pod b-", "ConfigMap c",
          "status Namespace n " TELLS(REMAIN("pods has 2 resource instances") "," FREE) "\n" },
        { "that was told", "\"kubernetes\"", TELLS(REMAIN("pods has 2 resource instances") "," FREE), "Pod a-, Pod b-",
          "", "" },
        { "one pod less", "\"kubernetes\"", TELLS(REMAIN("pods has 2 resource instances") "," FREE), "Pod b-", "",
          "status Namespace n " TELLS(REMAIN("pods has 1 resource instances") "," FREE) "\n" },
        { "then all else", "\"kubernetes\"", "{}", "", "ConfigMap c, Secret s",
          "delete ConfigMap n/c uid u-c background\ndelete Secret n/s uid u-s background\n" },
        { "what is held is told", "\"kubernetes\"", "{}", "", "ConfigMap c!, ConfigMap d!, Secret s-",
          "status Namespace n " TELLS(
              REMAIN("configmaps has 2 resource instances, secrets has 1 resource instances") "," HELD(
                  "x/wait in 2 resource instances")) "\n" },
        { "nothing is left", "\"kubernetes\"", "{}", "", "", "update Namespace n " NAMESPACE("") "\n" },
        { "finalizers of others stay", "\"kubernetes\",\"x/mine\"", "{}", "", "",
          "update Namespace n " NAMESPACE("\"finalizers\":[\"x/mine\"]") "\n" },
        { "only those are left", "\"x/mine\"", "{}", "", "", "" },
    };
    int64_t now_ms = 0;
    (void)state;

    assert_int_equal(clock_parse(STR(NOW), &now_ms, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct plan plan = { .arena = &a, .now_ms = now_ms };
        struct namespace_end_observed seen = { 0 };
        struct json *namespace = parse(&a, arena_fmt(&a, NAMESPACE("\"finalizers\":[%s]"), cases[i].finalizers).p);

        if (strcmp(cases[i].status, "{}") != 0)
            json_set(namespace, "status", parse(&a, cases[i].status));
        seen.namespace = namespace;
        read_contents(&a, str_of(cases[i].pods), &seen.pods);
        read_contents(&a, str_of(cases[i].others), &seen.others);
        namespace_end_plan(&seen, &plan);
        assert_plan(cases[i].label, &plan, cases[i].want);
    }
}

/* ---- Events ---- */

static void test_events(void **state)
{
    /* It is 09:30, and the Event was made at 08:00. */
    static const struct {
        const char *label, *more;
        bool goes;
    } cases[] = {
        { "once", "", true },
        { "again", ",\"lastTimestamp\":\"2026-03-01T09:00:00Z\"", false },
        { "just an hour ago", ",\"lastTimestamp\":\"2026-03-01T08:30:00Z\"", false },
        { "of the new API", ",\"eventTime\":\"2026-03-01T09:00:00.123456Z\"", false },
        { "a series", ",\"series\":{\"count\":9,\"lastObservedTime\":\"2026-03-01T09:00:00.1Z\"}", false },
        { "times before it was made", ",\"lastTimestamp\":\"2022-01-01T00:00:00Z\"", true },
        { "times to come", ",\"lastTimestamp\":\"9999-01-01T00:00:00Z\"", true },
        { "no time", ",\"lastTimestamp\":\"yesterday\"", true },
    };
    int64_t now_ms = 0;
    (void)state;

    assert_int_equal(clock_parse(STR(NOW), &now_ms, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct plan plan = { .arena = &a, .now_ms = now_ms };
        struct str text = arena_fmt(&a,
                                    "{\"metadata\":{\"namespace\":\"n\",\"name\":\"e\",\"uid\":\"u\","
                                    "\"creationTimestamp\":\"2026-03-01T08:00:00Z\"}%s}",
                                    cases[i].more);

        event_expire_plan(parse(&a, text.p), &plan);
        assert_plan(cases[i].label, &plan, cases[i].goes ? "delete Event n/e uid u background\n" : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cluster),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_end),
        cmocka_unit_test(test_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
