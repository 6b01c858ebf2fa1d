/* agent_pod.c - pods from their binding to their end, as the cluster sees them
 *
 * What a pod's life is made of has its own tests (life.c). Here it is whether the agent carries out what life says, tells it what
 * happened, and writes the status.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/agent/test/agent_world.h"

#define APP   "{name: c, image: app, command: [run]}"
#define ENDED "/status/containerStatuses/0/state/terminated"
#define ONCE  "{restartPolicy: Never, containers: [" APP "]}"

/* ---- an ordinary life ---- */

static void runs_and_succeeds(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p", ONCE);
    assert_string_equal(fake_asked(), "shim p; join 10.88.0.2; start p/c#0");
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    assert_string_equal(world_at(w, "Pod", "p", "/status/podIP"), "10.88.0.2");
    assert_string_equal(world_at(w, "Pod", "p", "/status/hostIP"), "10.88.0.1");
    assert_string_equal(world_at(w, "Pod", "p", "/status/startTime"), "2026-03-01T00:00:00Z");
    assert_string_equal(world_at(w, "Pod", "p", "/status/qosClass"), "BestEffort");
    assert_int_equal(agent_pods(w->agent), 1);

    world_pass(w, 90000);
    fake_exit("p", "c", 0);
    world_turn(w);
    assert_string_equal(world_status(w, "p"), "Succeeded; c Completed 0");
    assert_string_equal(world_at(w, "Pod", "p", ENDED "/startedAt"), "2026-03-01T00:00:00Z");
    assert_string_equal(world_at(w, "Pod", "p", ENDED "/finishedAt"), "2026-03-01T00:01:30Z");
    assert_string_equal(fake_asked(), "free p; leave 10.88.0.2");
    assert_int_equal(agent_pods(w->agent), 0);
    assert_string_equal(world_events(w, "p", "Started"), "Started container c\n");
    assert_true(w->n_usage >= 90);

    world_delete(w, "Pod", "p", -1);
    assert_string_equal(world_status(w, "p"), "gone");
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(runs_and_succeeds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
