/* limits.c - tests of LimitRanges: defaults, bounds, and which are good */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fixture.h"

#include "controller/control_plane.h"

#define RANGE(items)           "{\"spec\":{\"limits\":[" items "]}}"
#define CONTAINER(m)           "{\"type\":\"Container\"," m "}"
#define CPU(member, n)         "\"" member "\":{\"cpu\":\"" n "\"}"
#define POD(resources)         "{\"spec\":{\"containers\":[{\"name\":\"c\"" resources "}]}}"
#define ASKS(requests, limits) ",\"resources\":{\"requests\":{" requests "},\"limits\":{" limits "}}"
#define C(n)                   "\"cpu\":\"" n "\""

static struct observed_objects ranges_new(struct arena *a, const char *const *texts)
{
    enum { RANGES = 4 };
    struct observed_object *list = arena_array(a, struct observed_object, RANGES);
    size_t n = 0;

    for (; *texts; texts++)
        list[n++] = (struct observed_object){ type_by_kind(STR("v1"), STR("LimitRange")), parse(a, *texts) };
    return (struct observed_objects){ list, n };
}

static void test_defaults(void **state)
{
    static const struct {
        const char *label, *ranges[3], *pod, *resources, *note;
    } cases[] = {
        { "no ranges", { NULL }, POD(""), "", "" },
        { "a request",
          { RANGE(CONTAINER(CPU("defaultRequest", "1"))) },
          POD(""),
          "{\"requests\":{\"cpu\":\"1\"}}",
          "LimitRanger plugin set: cpu request for container c" },
        { "both",
          { RANGE(CONTAINER(CPU("defaultRequest", "1") "," CPU("default", "2"))) },
          POD(""),
          "{\"requests\":{\"cpu\":\"1\"},\"limits\":{\"cpu\":\"2\"}}",
          "LimitRanger plugin set: cpu request for container c; cpu limit for container c" },
        { "it says so itself",
          { RANGE(CONTAINER(CPU("defaultRequest", "1"))) },
          POD(ASKS(C("9"), C("9"))),
          "{\"requests\":{\"cpu\":\"9\"},\"limits\":{\"cpu\":\"9\"}}",
          "" },
        { "the first range wins",
          { RANGE(CONTAINER(CPU("default", "1"))), RANGE(CONTAINER(CPU("default", "2"))) },
          POD(""),
          "{\"limits\":{\"cpu\":\"1\"}}",
          "LimitRanger plugin set: cpu limit for container c" },
        { "those of pods give none", { RANGE("{\"type\":\"Pod\"," CPU("max", "1") "}") }, POD(""), "", "" },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        autobuf got = { 0 };
        struct observed_objects ranges = ranges_new(&a, cases[i].ranges);
        struct json *pod = parse(&a, cases[i].pod);
        const struct json *resources;

        limit_ranges_default(&ranges, &a, pod);
        resources = json_get(json_at(json_find(pod, "spec", "containers", NULL), 0), "resources");
        if (json_count(resources))
            json_print(&got, resources);
        if (!str_is(buf_view(&got), cases[i].resources))
            fail_msg("%s: %.*s", cases[i].label, STR_ARG(buf_view(&got)));
        assert_true(str_is(object_annotation(pod, "kubernetes.io/limit-ranger"), cases[i].note));
    }
}

#define CLAIM(n)           "{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"" n "\"}}}}"
#define STORAGE(member, n) "{\"type\":\"PersistentVolumeClaim\",\"" member "\":{\"storage\":\"" n "\"}}"

static void test_check(void **state)
{
    static const struct {
        const char *label, *range, *kind, *object, *want;
    } cases[] = {
        { "within", RANGE(CONTAINER(CPU("min", "100m") "," CPU("max", "2"))), "Pod", POD(ASKS(C("1"), C("2"))), "" },
        { "too little", RANGE(CONTAINER(CPU("min", "100m"))), "Pod", POD(ASKS(C("50m"), C("1"))),
          "minimum cpu usage per Container is 100m, but request is 50m" },
        { "nothing is asked for", RANGE(CONTAINER(CPU("min", "100m"))), "Pod", POD(""),
          "minimum cpu usage per Container is 100m.  No request is specified" },
        { "too much", RANGE(CONTAINER(CPU("max", "2"))), "Pod", POD(ASKS(C("1"), C("3"))),
          "maximum cpu usage per Container is 2, but limit is 3" },
        { "without a limit", RANGE(CONTAINER(CPU("max", "2"))), "Pod", POD(ASKS(C("1"), "")),
          "maximum cpu usage per Container is 2.  No limit is specified" },
        { "two things", RANGE(CONTAINER(CPU("min", "1") "," CPU("max", "2"))), "Pod", POD(ASKS(C("500m"), C("3"))),
          "[minimum cpu usage per Container is 1, but request is 500m, maximum cpu usage per Container is 2, but limit "
          "is 3]" },
        { "the ratio", RANGE(CONTAINER(CPU("maxLimitRequestRatio", "2"))), "Pod", POD(ASKS(C("1"), C("3"))),
          "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000" },
        { "a whole pod", RANGE("{\"type\":\"Pod\"," CPU("max", "1") "}"), "Pod", POD(ASKS(C("2"), C("2"))),
          "maximum cpu usage per Pod is 1, but limit is 2" },
        { "a claim", RANGE(STORAGE("max", "1Gi")), "PersistentVolumeClaim", CLAIM("2Gi"),
          "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi" },
        { "a claim within", RANGE(STORAGE("max", "2Gi")), "PersistentVolumeClaim", CLAIM("2Gi"), "" },
        { "claims are not containers", RANGE(CONTAINER(CPU("max", "1"))), "PersistentVolumeClaim", CLAIM("2Gi"), "" },
    };
    (void)state;

    assert_false(limit_ranges_apply_to(type_by_kind(STR("v1"), STR("ConfigMap"))));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        const char *const texts[] = { RANGE(""), cases[i].range, NULL };
        struct observed_objects ranges = ranges_new(&a, texts);
        struct observed_object object = { type_by_kind(STR("v1"), str_of(cases[i].kind)), parse(&a, cases[i].object) };
        struct err e = { 0 };

        assert_true(limit_ranges_apply_to(object.type));
        assert_int_equal(limit_ranges_check(&ranges, &object, &e), cases[i].want[0] ? -1 : 0);
        if (strcmp(e.text, cases[i].want) != 0)
            fail_msg("%s\nwant: %s\ngot:  %s", cases[i].label, cases[i].want, e.text);
    }
}

static void test_admit(void **state)
{
    static const struct {
        const char *label, *range, *want; /* what is wrong; else what it becomes */
        bool is_good;
    } cases[] = {
        { "bounds follow", RANGE(CONTAINER(CPU("max", "2"))),
          RANGE("{\"type\":\"Container\"," CPU("max", "2") "," CPU("default", "2") "," CPU("defaultRequest", "2") "}"),
          true },
        { "the least is asked for", RANGE(CONTAINER(CPU("min", "1"))),
          RANGE("{\"type\":\"Container\"," CPU("min", "1") "," CPU("defaultRequest", "1") "}"), true },
        { "min above max", RANGE(CONTAINER(CPU("min", "3") "," CPU("max", "2"))),
          "cpu: min value 3 is greater than max value 2", false },
        { "defaults of pods", RANGE("{\"type\":\"Pod\"," CPU("default", "1") "}"),
          "may not be specified when `type` is 'Pod'", false },
        { "a claim without bounds", RANGE("{\"type\":\"PersistentVolumeClaim\"}"),
          "either minimum or maximum storage value is required", false },
        { "twice", RANGE(CONTAINER(CPU("max", "2")) "," CONTAINER(CPU("max", "2"))), "Duplicate value: \"Container\"",
          false },
        { "a ratio below 1", RANGE(CONTAINER(CPU("maxLimitRequestRatio", "500m"))), "cpu: ratio 500m is less than 1",
          false },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        autobuf got = { 0 };
        struct problems ps = { .arena = &a };
        struct json *range = parse(&a, cases[i].range);

        limit_range_admit(&a, range, &ps);
        if (ps.n_errors)
            buf_str(&got, problems_join(&a, &ps));
        else
            json_print(&got, range);
        if (cases[i].is_good != (ps.n_errors == 0) || !str_has(buf_view(&got), str_of(cases[i].want)))
            fail_msg("%s\nwant: %s\ngot:  %.*s", cases[i].label, cases[i].want, STR_ARG(buf_view(&got)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_admit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
