/* definition.c - tests of CustomResourceDefinitions: whose names are free, what the status says, and the end */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fixture.h"

#include "base/clock.h"
#include "controller/control_plane.h"

#define NOW "2026-03-01T09:30:00Z"

static struct json *definition_new(struct arena *a, const char *group, const char *kind, const char *plural,
                                   const char *singular)
{
    return parse(a, arena_fmt(a,
                              "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
                              "\"metadata\":{\"name\":\"%s.%s\",\"generation\":1,\"resourceVersion\":\"7\"},\"spec\":{"
                              "\"group\":\"%s\",\"scope\":\"Namespaced\",\"names\":{\"kind\":\"%s\",\"plural\":\"%s\","
                              "\"singular\":\"%s\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
                              "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}",
                              plural, group, group, kind, plural, singular)
                        .p);
}

/* ---- names ---- */

static void test_names(void **state)
{
    /* Widgets of example.com are served, and gadgets are not. */
    static const struct {
        const char *group, *kind, *plural, *singular, *taken;
        bool is_builtin;
    } cases[] = {
        { "example.com", "Thing", "things", "thing", NULL, false },
        { "example.com", "Widget", "others", "other", "Widget", false },
        { "example.com", "Other", "others", "widget", "widget", false },
        { "example.org", "Widget", "widgets", "widget", NULL, false },
        { "example.com", "Widget", "widgets", "widget", NULL, false }, /* a new generation of itself */
        { "example.com", "Gadget", "others", "gadget", NULL, false },
        { "batch.volcano.sh", "Job", "jobs", "job", NULL, true },
        { "batch.volcano.sh", "Job", "tasks", "task", "Job", false },
    };
    autoarena a = { 0 };
    struct custom_kind *others[] = { custom_kind_new(definition_new(&a, "example.com", "Widget", "widgets", "widget")),
                                     custom_kind_new(
                                         definition_new(&a, "example.com", "Gadget", "gadgets", "gadget")) };
    (void)state;

    others[0]->type = &others[0]->versions[0].type;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct custom_kind *k = custom_kind_new(
            definition_new(&a, cases[i].group, cases[i].kind, cases[i].plural, cases[i].singular));
        const char *taken = definition_taken_name(k, others, ARRAY_LEN(others));

        if (strcmp(taken ? taken : "", cases[i].taken ? cases[i].taken : "") != 0)
            fail_msg("%s/%s: taken: %s", cases[i].group, cases[i].kind, taken ? taken : "none");
        assert_int_equal(definition_is_builtin(k), cases[i].is_builtin);
        custom_kind_free(k);
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        custom_kind_free(others[i]);
}

/* ---- the status ---- */

#define CONDITION(type, status, time, reason, message)                                                                 \
    "{\"lastTransitionTime\":\"" time "\",\"type\":\"" type "\",\"status\":\"" status "\",\"reason\":\"" reason        \
    "\",\"message\":\"" message "\"}"
#define ACCEPTED(time) CONDITION("NamesAccepted", "True", time, "NoConflicts", "no conflicts found")
#define CONFLICT(time) CONDITION("NamesAccepted", "False", time, "NameConflict", "\\\"Widget\\\" is already in use")
#define ESTABLISHED(time)                                                                                              \
    CONDITION("Established", "True", time, "InitialNamesAccepted", "the initial names have been accepted")
#define REFUSED(time) CONDITION("Established", "False", time, "NotAccepted", "not all names are accepted")
#define FULL(time)    CONDITION("Established", "False", time, "NoRoom", "there is no room for more kinds")
#define NAMES         ",\"acceptedNames\":{\"kind\":\"Thing\",\"plural\":\"things\",\"singular\":\"thing\"}"
#define STATUS(conditions, names, versions)                                                                            \
    "{\"conditions\":[" conditions "]" names ",\"storedVersions\":[" versions "]}"
#define OLD     "2026-01-01T00:00:00Z"
#define WRITTEN "status CustomResourceDefinition things.example.com "

static void test_plan(void **state)
{
    static const struct {
        const char *label, *status, *taken;
        bool has_no_room;
        const char *want;
    } cases[] = {
        { "a new one", "{}", NULL, false, STATUS(ACCEPTED(NOW) "," ESTABLISHED(NOW), NAMES, "\"v1\"") },
        { "idle", STATUS(ACCEPTED(OLD) "," ESTABLISHED(OLD), NAMES, "\"v1\""), NULL, false, "" },
        { "its name is taken", "{}", "Widget", false, STATUS(CONFLICT(NOW) "," REFUSED(NOW), "", "\"v1\"") },
        { "it was taken", STATUS(CONFLICT(OLD) "," REFUSED(OLD), "", "\"v1\""), NULL, false,
          "{\"conditions\":[" ACCEPTED(NOW) "," ESTABLISHED(NOW) "],\"storedVersions\":[\"v1\"]" NAMES "}" },
        { "too many kinds", "{}", NULL, true, STATUS(ACCEPTED(NOW) "," FULL(NOW), NAMES, "\"v1\"") },
        { "there is room now", STATUS(ACCEPTED(OLD) "," FULL(OLD), NAMES, "\"v1\""), NULL, false,
          STATUS(ACCEPTED(OLD) "," ESTABLISHED(NOW), NAMES, "\"v1\"") },
        { "versions are kept", STATUS(ACCEPTED(OLD) "," ESTABLISHED(OLD), NAMES, "\"v0\""), NULL, false,
          STATUS(ACCEPTED(OLD) "," ESTABLISHED(OLD), NAMES, "\"v0\",\"v1\"") },
    };
    int64_t now_ms = 0;
    (void)state;

    assert_int_equal(clock_parse(STR(NOW), &now_ms, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct plan plan = { .arena = &a, .now_ms = now_ms };
        struct json *definition = definition_new(&a, "example.com", "Thing", "things", "thing");
        struct definition_observed seen = { definition, STR("v1"), cases[i].taken, cases[i].has_no_room };

        json_set(definition, "status", parse(&a, cases[i].status));
        definition_plan(&seen, &plan);
        assert_plan(cases[i].label, &plan, cases[i].want[0] ? arena_fmt(&a, WRITTEN "%s\n", cases[i].want).p : "");
    }
}

/* ---- the end ---- */

static void test_end(void **state)
{
    static const struct {
        const char *label, *finalizers, *objects[3], *want; /* objects: '-' is being deleted */
    } cases[] = {
        { "its objects go first",
          "\"" DEFINITION_FINALIZER "\"",
          { "a", "b-", NULL },
          "delete Queue a uid u-a background\n" },
        { "they are going", "\"" DEFINITION_FINALIZER "\"", { "a-", NULL }, "" },
        { "nothing is left", "\"" DEFINITION_FINALIZER "\"", { NULL }, "[]" },
        { "finalizers of others stay", "\"x/mine\",\"" DEFINITION_FINALIZER "\"", { NULL }, "[\"x/mine\"]" },
        { "only those are left", "\"x/mine\"", { NULL }, "" },
        { "it has none", "", { "a", NULL }, "" },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct plan plan = { .arena = &a };
        struct json *definition = definition_new(&a, "example.com", "Thing", "things", "thing");
        struct observed_object list[3];
        struct observed_objects objects = { list, 0 };
        autobuf left = { 0 };

        json_set(json_get(definition, "metadata"), "finalizers",
                 parse(&a, arena_fmt(&a, "[%s]", cases[i].finalizers).p));
        for (const char *const *o = cases[i].objects; *o; o++)
            list[objects.n++] = (struct observed_object){
                type_by_kind(STR("scheduling.volcano.sh/v1beta1"), STR("Queue")),
                parse(&a, arena_fmt(&a, "{\"metadata\":{\"name\":\"%.1s\",\"uid\":\"u-%.1s\"%s}}", *o, *o,
                                    (*o)[1] ? ",\"deletionTimestamp\":\"x\"" : "")
                              .p)
            };
        definition_end_plan(definition, &objects, &plan);
        if (cases[i].want[0] != '[') {
            assert_plan(cases[i].label, &plan, cases[i].want);
            continue;
        }
        assert_int_equal(plan.ops.n, 1);
        assert_int_equal(plan.ops.v[0].kind, OP_UPDATE);
        json_print(&left, json_find(plan.ops.v[0].body, "metadata", "finalizers", NULL));
        if (!str_is(buf_view(&left), cases[i].want))
            fail_msg("%s: %.*s", cases[i].label, STR_ARG(buf_view(&left)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
