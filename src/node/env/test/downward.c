/* downward.c - fieldRef, resourceFieldRef and $(VAR) */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "node/env/downward.h"
#include "node/env/vars.h"
#include "yaml/yaml.h"

static struct json *yaml(struct arena *a, const char *text)
{
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };

    if (yaml_parse(a, str_of(text), NULL, &docs, &e) < 0)
        fail_msg("%s", e.text);
    return docs.v[0];
}

static const char pod_yaml[] =
    "metadata: {name: p, namespace: ns, uid: u-1, labels: {z: last, app.kubernetes.io/name: x, q: "
    "\"a\\\"b\\\\\\n\\t\\x01\"},\n"
    "  annotations: {uni: \"\\u00e9\\u00a0\\u0085\", \"it's\": odd}}\n"
    "spec: {nodeName: node-1, serviceAccountName: robot,\n"
    "  initContainers: [{name: i, resources: {limits: {memory: 1Gi}}}],\n"
    "  containers: [{name: c, resources: {limits: {cpu: 1500m, memory: 100M, ephemeral-storage: 3},\n"
    "                                     requests: {cpu: 0.25, hugepages-2Mi: 4Mi}}}, {name: bare}]}\n"
    "status: {podIP: 10.0.0.7, podIPs: [{ip: 10.0.0.7}, {ip: 'fd00::7'}], hostIP: 10.0.0.1}\n";

static const struct {
    const char *path, *want; /* want NULL: ERR_INVALID */
} fields[] = {
    { "metadata.name", "p" },
    { "metadata.namespace", "ns" },
    { "metadata.uid", "u-1" },
    { "metadata.labels", "app.kubernetes.io/name=\"x\"\nq=\"a\\\"b\\\\\\n\\t\\x01\"\nz=\"last\"" },
    { "metadata.annotations", "it's=\"odd\"\nuni=\"\xc3\xa9\\u00a0\\u0085\"" },
    { "metadata.labels['app.kubernetes.io/name']", "x" },
    { "metadata.labels['none']", "" },
    { "metadata.annotations['it's']", "odd" },
    { "spec.nodeName", "node-1" },
    { "spec.serviceAccountName", "robot" },
    { "status.podIP", "10.0.0.7" },
    { "status.podIPs", "10.0.0.7,fd00::7" },
    { "status.hostIP", "10.0.0.1" },
    { "status.hostIPs", "" },
    { "metadata.name['x']", NULL },
    { "metadata.labels[x]", NULL },
    { "metadata.labels['", NULL },
    { "metadata.labels[']", NULL },
    { "metadata", NULL },
    { "spec.containers", NULL },
    { "", NULL },
};

static void test_fields(void **state)
{
    autoarena a = { 0 };
    const struct json *pod = yaml(&a, pod_yaml);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        struct str got = STR("(refused)");
        struct err e = { 0 };
        int rc = downward_field(&a, pod, str_of(fields[i].path), &got, &e);

        if ((rc == 0) != (fields[i].want != NULL) || (rc == 0 && !str_is(got, fields[i].want)))
            fail_msg("%s: %.*s %s", fields[i].path, STR_ARG(got), e.text);
        if (rc < 0)
            assert_int_equal(e.code, ERR_INVALID);
    }
}

/* A pod of any shape: labels that are a list, a name that is a number. */
static void test_fields_of_odd_pods(void **state)
{
    static const char *const pods[] = { "[]", "{metadata: 3}",
                                        "{metadata: {name: 3, labels: [a], annotations: {x: {}}}}",
                                        "{status: {podIPs: {a: b}, hostIPs: [1, {ip: 2}]}}" };
    autoarena a = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pods); i++)
        for (size_t k = 0; k < ARRAY_LEN(fields); k++) {
            struct str got;

            (void)downward_field(&a, yaml(&a, pods[i]), str_of(fields[k].path), &got, NULL);
        }
}

static const struct {
    const char *ref, *want; /* want with a blank: a part of the error */
} resources[] = {
    { "{containerName: c, resource: limits.cpu}", "2" },
    { "{containerName: c, resource: limits.cpu, divisor: 1m}", "1500" },
    { "{containerName: c, resource: limits.cpu, divisor: '0'}", "2" },
    { "{containerName: c, resource: limits.cpu, divisor: 1}", "2" },
    { "{containerName: c, resource: requests.cpu, divisor: 1m}", "250" },
    { "{containerName: c, resource: limits.memory}", "100000000" },
    { "{containerName: c, resource: limits.memory, divisor: 1Mi}", "96" },
    { "{containerName: c, resource: requests.memory, divisor: 1M}", "100" }, /* a request is the limit if not set */
    { "{containerName: c, resource: limits.ephemeral-storage}", "3" },
    { "{containerName: c, resource: requests.hugepages-2Mi, divisor: 2Mi}", "2" },
    { "{containerName: i, resource: limits.memory, divisor: 1Gi}", "1" },
    { "{resource: limits.cpu}", "2" },
    { "{containerName: bare, resource: limits.cpu}", "8" }, /* the node's */
    { "{containerName: bare, resource: requests.cpu}", "0" },
    { "{containerName: bare, resource: limits.memory}", "0" },
    { "{containerName: none, resource: limits.cpu}", "no container \"none\"" },
    { "{containerName: c, resource: limits.nvidia.com/gpu}", "unsupported resource \"" },
    { "{containerName: c, resource: cpu}", "unsupported resource \"" },
    { "{containerName: c, resource: limits.cpu, divisor: many}", "divisor of \"limits.cpu\": " },
    { "{containerName: c, resource: limits.cpu, divisor: -1}", "must not be negative" },
    { "{containerName: c, resource: limits.cpu, divisor: []}", "must be a quantity" },
};

static void test_resources(void **state)
{
    autoarena a = { 0 };
    const struct json *pod = yaml(&a, pod_yaml), *allocatable = yaml(&a, "{cpu: 8}");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
        const struct json *ref = yaml(&a, resources[i].ref);
        struct str got = STR_NULL;
        struct err e = { 0 };
        int rc = downward_resource(&a, &(struct downward){ pod, STR("c"), allocatable }, ref, &got, &e);

        if (rc < 0 ? !strstr(e.text, resources[i].want) : !str_is(got, resources[i].want))
            fail_msg("%s: got \"%.*s\" %s", resources[i].ref, STR_ARG(got), e.text);
    }
}

static const struct {
    const char *text, *want, *missing;
} expansions[] = {
    { "plain", "plain", "" },   { "$(A)", "one", "" },    { "x$(A)y$(B)z", "xoneytwo=2z", "" },
    { "$(EMPTY)", "", "" },     { "$(C)", "$(C)", "C" },  { "$(C) $(D)", "$(C) $(D)", "C" },
    { "$$(A)", "$(A)", "" },    { "$$$(A)", "$one", "" }, { "$A ${A} $", "$A ${A} $", "" },
    { "$(A", "$(A", "" },       { "$()", "$()", "" }, /* missing, but without a name to tell */
    { "$(AA)", "$(AA)", "AA" }, { "", "", "" },
};

static void put(struct vars *v, const char *name, struct str value)
{
    struct err e = { 0 };

    if (vars_put(v, str_of(name), value, &e) < 0)
        fail_msg("%s: %s", name, e.text);
}

static void test_expand(void **state)
{
    autoarena a = { 0 };
    struct vars v;
    struct err e;

    (void)state;
    vars_init(&v, &a);
    put(&v, "A", STR("old"));
    put(&v, "B", STR("two=2"));
    put(&v, "EMPTY", STR(""));
    put(&v, "A", STR("one"));
    assert_int_equal(v.list.n, 3);
    assert_true(str_is(v.list.v[0], "A=one"));
    for (size_t i = 0; i < ARRAY_LEN(expansions); i++) {
        struct str missing, got;

        assert_int_equal(vars_expand(&v, str_of(expansions[i].text), &got, &missing, &e), 0);
        if (!str_is(got, expansions[i].want) || !str_is(missing, expansions[i].missing))
            fail_msg("\"%s\": got \"%.*s\", missing \"%.*s\"", expansions[i].text, STR_ARG(got), STR_ARG(missing));
    }
    vars_done(&v);
}

static struct str repeat(struct arena *a, const char *text, size_t n)
{
    autobuf out = { 0 };

    for (size_t i = 0; i < n; i++)
        buf_str(&out, str_of(text));
    return arena_str(a, buf_view(&out));
}

/* The bounds to the byte, and texts that make a careless search slow. */
static void test_expand_is_bounded(void **state)
{
    autoarena a = { 0 };
    struct vars v;
    struct str got;
    struct err e = { 0 };
    size_t n = 0;

    (void)state;
    vars_init(&v, &a);
    put(&v, "HALF", repeat(&a, "x", VARS_TEXT_MAX / 2));
    put(&v, "EMPTY", STR(""));
    put(&v, "L", repeat(&a, "x", VARS_TEXT_MAX - 3)); /* with "L=" and the NUL */
    assert_int_equal(vars_put(&v, STR("M"), repeat(&a, "x", VARS_TEXT_MAX - 2), &e), -1);
    assert_non_null(strstr(e.text, "env M is longer than 131071 bytes"));
    assert_int_equal(vars_expand(&v, STR("$(HALF)$(HALF)"), &got, NULL, &e), -1);
    assert_int_equal(vars_expand(&v, repeat(&a, "$(EMPTY)", 1000 * 1000), &got, NULL, &e), 0);
    assert_int_equal(got.n, 0);
    assert_int_equal(vars_expand(&v, repeat(&a, "$(", 60 * 1000), &got, NULL, &e), 0);
    assert_int_equal(got.n, 120 * 1000);
    assert_int_equal(vars_expand(&v, repeat(&a, "$(NONE)", 1000 * 1000), &got, NULL, &e), -1);
    while (vars_put(&v, STR("SAME"), repeat(&a, "x", 100 * 1000), &e) == 0) /* replaced ones count too */
        n++;
    assert_true(n < 6 * 1024 * 1024 / (100 * 1000));
    assert_non_null(strstr(e.text, "env SAME does not fit"));
    assert_int_equal(vars_take(&v, repeat(&a, "x", 100 * 1000), "args[0]", &e), -1);
    assert_non_null(strstr(e.text, "args[0] does not fit"));
    vars_done(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields), cmocka_unit_test(test_fields_of_odd_pods), cmocka_unit_test(test_resources),
        cmocka_unit_test(test_expand), cmocka_unit_test(test_expand_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
