/* podgroup.c - tests of the first phase of a PodGroup */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fixture.h"

static void test_phase(void **state)
{
#define PATCH                                                                                                          \
    "patch PodGroup n/g uid u-1 {\"status\":{\"phase\":\"Pending\"},\"metadata\":{\"resourceVersion\":\"7\"}}\n"
    static const struct {
        const char *label, *meta, *rest, *want;
    } cases[] = {
        { "no status", "", "", PATCH },
        { "empty status", "", ",\"status\":{}", PATCH },
        { "null status", "", ",\"status\":null", PATCH },
        { "empty phase", "", ",\"status\":{\"phase\":\"\"}", PATCH },
        { "counters only", "", ",\"status\":{\"running\":1}", PATCH },
        { "pending", "", ",\"status\":{\"phase\":\"Pending\"}", "" },
        { "inqueue", "", ",\"status\":{\"phase\":\"Inqueue\"}", "" },
        { "completed", "", ",\"status\":{\"phase\":\"Completed\"}", "" },
        { "is going", ",\"deletionTimestamp\":\"2026-03-01T09:30:00Z\"", "", "" },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct plan plan = { .arena = &a };
        struct str text = arena_fmt(&a,
                                    "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"PodGroup\","
                                    "\"metadata\":{\"name\":\"g\",\"namespace\":\"n\",\"uid\":\"u-1\","
                                    "\"resourceVersion\":\"7\"%s}%s}",
                                    cases[i].meta, cases[i].rest);

        podgroup_plan(parse(&a, text.p), &plan);
        assert_plan(cases[i].label, &plan, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_phase) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
