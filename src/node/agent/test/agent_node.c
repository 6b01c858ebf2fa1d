/* agent_node.c - the Node that the cluster sees, and pods that take what is not theirs */
#include "json/json.h"
#include "node/agent/test/agent_world.h"

#include <string.h>

#define ALWAYS "{containers: [{name: c, image: app, command: [run]}]}"

static void a_node_says_what_it_has(void **state)
{
    autoarena a = { 0 };
    struct json *capacity = json_object(&a);
    struct world *w;

    json_set(capacity, "cpu", json_str(&a, STR("64")));
    json_set(capacity, "example.com/license", json_str(&a, STR("3")));
    w = world_new(&(struct agent_options){ .capacity = capacity });
    assert_string_equal(world_at(w, "Node", WORLD_NODE, "/status/allocatable/cpu"), "64");
    assert_string_equal(world_at(w, "Node", WORLD_NODE, "/status/capacity/example.com~1license"), "3");
    assert_string_equal(world_at(w, "Node", WORLD_NODE, "/status/allocatable/pods"), "1000");
    assert_string_not_equal(world_at(w, "Node", WORLD_NODE, "/status/allocatable/memory"), "");
    assert_string_equal(world_at(w, "Node", WORLD_NODE, "/status/conditions/0/type"), "Ready");
    assert_string_equal(world_at(w, "Node", WORLD_NODE, "/status/conditions/0/status"), "True");
    assert_string_equal(world_at(w, "Node", WORLD_NODE, "/status/conditions/0/lastTransitionTime"),
                        "2026-03-01T00:00:00Z");
    assert_string_equal(world_at(w, "Node", WORLD_NODE, "/metadata/labels/kubernetes.io~1hostname"), WORLD_NODE);
    world_free(w);
}

/* The agent runs what is bound to it: that there is room is the scheduler's business. */
static void who_is_bound_runs(void **state)
{
    autoarena a = { 0 };
    struct json *capacity = json_object(&a);
    struct world *w;

    json_set(capacity, "cpu", json_str(&a, STR("1")));
    w = world_new(&(struct agent_options){ .capacity = capacity });
    world_pod(w, "p", "{containers: [{name: c, image: app, command: [run], resources: {requests: {cpu: 8}}}]}");
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    world_free(w);
}

/* The files that we make for pods lie in memory that no group counts. */
static void a_pod_that_fills_our_memory_is_evicted(void **state)
{
    struct world *w = world_new(NULL);
    autobuf much = { 0 };
    const char *path;

    world_pod(w, "p", ALWAYS);
    world_pod(w, "q", ALWAYS);
    path = arena_fmt(&w->arena, "%s/small/%s/c.0.termination-log", agent_dir(w->agent),
                     world_at(w, "Pod", "p", "/metadata/uid"))
               .p;
    buf_repeat(&much, 'x', 10 << 20);
    assert_int_equal(file_write(AT_FDCWD, path, O_TRUNC, 0600, buf_view(&much)), 0);
    world_pass(w, 1000);
    assert_string_equal(world_status(w, "p"), "Failed Evicted; c Error 137");
    assert_non_null(strstr(world_at(w, "Pod", "p", "/status/message"), "1 MiB are allowed"));
    assert_string_equal(world_status(w, "q"), "Running; c running ready");
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_node_says_what_it_has),
        world_test(who_is_bound_runs),
        world_test(a_pod_that_fills_our_memory_is_evicted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
