/* status.c - tests of what the status of an object says */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/pod/status.h"
#include "base/arena.h"

static struct json *parse(struct arena *a, const char *text)
{
    struct json *j;

    assert_int_equal(json_parse(a, str_of(text), NULL, &j, NULL), 0);
    return j;
}

static void finds_conditions(void **state)
{
    autoarena a = { 0 };
    const struct json *status = parse(
        &a, "{\"conditions\":[7,{},{\"type\":\"A\",\"status\":\"True\"},{\"type\":\"B\",\"status\":\"False\"},"
            "{\"type\":\"C\"}]}");

    (void)state;
    assert_true(condition_is_true(status, "A"));
    assert_false(condition_is_true(status, "B"));
    assert_false(condition_is_true(status, "C"));
    assert_false(condition_is_true(status, "D"));
    assert_true(str_is(json_member_text(condition_find(status, STR("B")), "status"), "False"));
    assert_null(condition_find(status, STR("D")));
    assert_null(condition_find(parse(&a, "{\"conditions\":{\"type\":\"A\"}}"), STR("x")));
    assert_null(condition_find(NULL, STR("A")));
    assert_ptr_equal(condition_with(status, "B", "False"), condition_find(status, STR("B")));
    assert_null(condition_with(status, "B", "True"));
    assert_null(condition_with(status, "D", "True"));
}

static void knows_pods_that_have_ended(void **state)
{
    autoarena a = { 0 };

    (void)state;
    assert_true(pod_has_ended(parse(&a, "{\"status\":{\"phase\":\"Failed\"}}")));
    assert_true(pod_has_ended(parse(&a, "{\"status\":{\"phase\":\"Succeeded\"}}")));
    assert_false(pod_has_ended(parse(&a, "{\"status\":{\"phase\":\"Running\"}}")));
    assert_false(pod_has_ended(parse(&a, "{}")));
    assert_true(pod_phase_has_ended(STR("Succeeded")));
    assert_false(pod_phase_has_ended(STR_NULL));
}

static void knows_pods_that_use_a_node(void **state)
{
    autoarena a = { 0 };

    (void)state;
    assert_true(pod_uses_node(parse(&a, "{\"spec\":{\"nodeName\":\"n\"}}")));
    assert_true(pod_uses_node(parse(&a, "{\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Running\"}}")));
    assert_false(pod_uses_node(parse(&a, "{\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Failed\"}}")));
    assert_false(pod_uses_node(parse(&a, "{\"spec\":{},\"status\":{\"phase\":\"Running\"}}")));
}

static void knows_pods_that_are_ready(void **state)
{
    autoarena a = { 0 };

    (void)state;
    assert_true(pod_is_ready(parse(&a, "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}")));
    assert_false(pod_is_ready(parse(&a, "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]}}")));
    assert_false(pod_is_ready(parse(&a, "{}")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_conditions),
        cmocka_unit_test(knows_pods_that_have_ended),
        cmocka_unit_test(knows_pods_that_use_a_node),
        cmocka_unit_test(knows_pods_that_are_ready),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
