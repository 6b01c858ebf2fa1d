/* taint.c - tests of taints: for how long a pod may stay */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/pod/taint.h"

#include "base/util.h"
#include "yaml/yaml.h"

#define A "{key: a, value: x, effect: NoExecute}"
#define B "{key: b, effect: NoExecute}"

static const struct {
    const char *taints, *tolerations;
    int64_t seconds;
} cases[] = {
    { "[]", "[]", INT64_MAX },
    { "[{key: a, effect: NoSchedule}]", "[]", INT64_MAX },
    { "[" A "]", "[]", 0 },
    { "[" A "]", "[{operator: Exists}]", INT64_MAX },
    { "[" A "]", "[{key: a, value: x}]", INT64_MAX },
    { "[" A "]", "[{key: a, value: y}]", 0 },
    { "[" A "]", "[{key: a, operator: Exists, effect: NoSchedule}]", 0 },
    { "[" A "]", "[{key: a, operator: Exists, tolerationSeconds: 5}]", 5 },
    { "[" A "]", "[{key: a, operator: Exists, tolerationSeconds: 0}]", 0 },
    { "[" A "]", "[{key: a, operator: Exists, tolerationSeconds: -7}]", 0 },
    /* The first that covers it counts. */
    { "[" A "]", "[{key: a, operator: Exists, tolerationSeconds: 9}, {operator: Exists}]", 9 },
    { "[" A "]", "[{operator: Exists}, {key: a, operator: Exists, tolerationSeconds: 9}]", INT64_MAX },
    /* Of several taints the shortest; one that is not covered is enough. */
    { "[" A ", " B "]",
      "[{key: a, operator: Exists, tolerationSeconds: 9}, {key: b, operator: Exists, tolerationSeconds: 3}]", 3 },
    { "[" A ", " B "]", "[{key: a, operator: Exists, tolerationSeconds: 9}, {key: b, operator: Exists}]", 9 },
    { "[" A ", " B "]", "[{key: a, operator: Exists, tolerationSeconds: 9}]", 0 },
};

static const struct json *list(struct arena *a, const char *text)
{
    struct yaml_docs docs = { 0 };
    struct err e;

    if (yaml_parse(a, str_of(text), NULL, &docs, &e) < 0)
        fail_msg("%s: %s", text, e.text);
    return docs.v[0];
}

static void test_tolerated_s(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        int64_t s = taint_tolerated_s(list(&a, cases[i].taints), list(&a, cases[i].tolerations));

        if (s != cases[i].seconds)
            fail_msg("%s, %s: %lld", cases[i].taints, cases[i].tolerations, (long long)s);
    }
    assert_int_equal(taint_tolerated_s(NULL, NULL), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_tolerated_s) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
