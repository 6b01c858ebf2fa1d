/* gate.c - the scheduling gate behind which pods wait for their queue */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/admit/admit.h"
#include "api/pod/gate.h"

#include "base/util.h"
#include "yaml/yaml.h"

#define ASKED "metadata: {annotations: {" QUEUE_GATE ": 'true'}}\n"
#define OURS  "spec: {schedulerName: volcano"

/* The gates that a pod has once it was admitted, and whether ours is the last. */
static const struct {
    const char *pod, *gates;
    bool is_last;
} cases[] = {
    { ASKED OURS "}", QUEUE_GATE " ", true },
    { ASKED OURS ", schedulingGates: []}", QUEUE_GATE " ", true },
    { ASKED OURS ", schedulingGates: null}", QUEUE_GATE " ", true },
    { ASKED OURS ", schedulingGates: [{name: x.y/z}]}", "x.y/z " QUEUE_GATE " ", false },
    { ASKED OURS ", schedulingGates: [{name: " QUEUE_GATE "}]}", QUEUE_GATE " ", true },
    { ASKED OURS ", schedulingGates: [{name: " QUEUE_GATE "}, {name: a}]}", QUEUE_GATE " a ", false },
    { ASKED "spec: {schedulerName: default-scheduler}", "", false },
    { ASKED "spec: {}", "", false },
    { ASKED, "", false },
    { ASKED "spec: 7", "", false },
    { OURS "}", "", false },
    { OURS ", schedulingGates: [{name: " QUEUE_GATE "}]}", QUEUE_GATE " ", true },
    { "metadata: {annotations: {" QUEUE_GATE ": 'True'}}\n" OURS "}", "", false },
    { "metadata: {annotations: [" QUEUE_GATE "]}\n" OURS "}", "", false },
    { "{}", "", false },
};

static void gates_of_pods(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct admit_env env = { 0 };
        autoarena a = { 0 };
        autobuf gates = { 0 };
        struct yaml_docs docs = { 0 };
        struct json *pod;

        assert_int_equal(yaml_parse(&a, str_of(cases[i].pod), NULL, &docs, NULL), 0);
        pod = docs.v[0];
        admit_pod_gate(&a, pod, &env);
        admit_pod_gate(&a, pod, &env); /* asked twice, it is added once */
        JSON_FOREACH(gate, json_find(pod, "spec", "schedulingGates", NULL))
            buf_fmt(&gates, "%.*s ", STR_ARG(json_member_text(gate, "name")));
        if (!str_is(buf_view(&gates), cases[i].gates) || queue_gate_is_last(pod) != cases[i].is_last)
            fail_msg("case %zu: %.*s", i, STR_ARG(buf_view(&gates)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(gates_of_pods) };

    return cmocka_run_group_tests_name("gate", tests, NULL, NULL);
}
