/* agent_pod.c - pods from their binding to their end, as the cluster sees them
 *
 * What a pod's life is made of has its own tests (life.c). Here it is whether the agent carries out what life says,
 * tells it what happened, and writes the status.
 */
#include "node/agent/test/agent_world.h"

#include <signal.h>

#define APP    "{name: c, image: app, command: [run]}"
#define ENDED  "/status/containerStatuses/0/state/terminated"
#define ONCE   "{restartPolicy: Never, containers: [" APP "]}"
#define ALWAYS "{restartPolicy: Always, containers: [" APP "]}"

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

static void fails_with_its_last_words(void **state)
{
    struct world *w = world_new(NULL);
    autoarena a = { 0 };
    const char *uid;

    world_pod(w, "p", ONCE);
    uid = world_at(w, "Pod", "p", "/metadata/uid");
    assert_int_equal(file_write(AT_FDCWD, arena_fmt(&a, "%s/small/%s/c.0.termination-log", agent_dir(w->agent), uid).p,
                                O_TRUNC, 0600, STR("no such dataset")),
                     0);
    fake_says("p", "c", "not this\n");
    fake_exit("p", "c", 3);
    world_turn(w);
    assert_string_equal(world_status(w, "p"), "Failed; c Error 3");
    assert_string_equal(world_at(w, "Pod", "p", ENDED "/message"), "no such dataset");

    world_pod(w, "q", ONCE);
    fake_says("q", "c", "begin\nout of disk\n");
    fake_exit("q", "c", 1);
    world_turn(w);
    assert_string_equal(world_at(w, "Pod", "q", ENDED "/message"), "begin\nout of disk\n");

    world_pod(w, "r", ONCE);
    fake_killed("r", "c", SIGKILL, true);
    world_turn(w);
    assert_string_equal(world_status(w, "r"), "Failed; c OOMKilled 137");

    world_pod(w, "s", ONCE);
    fake_killed("s", "c", SIGSEGV, false);
    world_turn(w);
    assert_string_equal(world_status(w, "s"), "Failed; c Error 139");
    world_free(w);
}

static void pods_of_other_nodes_are_not_ours(void **state)
{
    struct world *w = world_new(NULL);

    world_create(w, "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: other, containers: [" APP "]}}");
    world_create(w, "{apiVersion: v1, kind: Pod, metadata: {name: q}, spec: {containers: [" APP "]}}");
    assert_string_equal(fake_asked(), "");
    world_patch(w, "Pod", "q", "{spec: {nodeName: " WORLD_NODE "}}");
    assert_string_equal(world_status(w, "q"), "Running; c running ready");
    world_free(w);
}

static void init_containers_then_sidecars_then_the_rest(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p",
              "{restartPolicy: Never, containers: [" APP "], initContainers: ["
              "{name: one, image: app, command: [x]}, {name: side, image: app, command: [x], restartPolicy: Always}, "
              "{name: two, image: app, command: [x]}]}");
    assert_string_equal(fake_asked(), "shim p; join 10.88.0.2; start p/one#0");
    assert_string_equal(world_status(w, "p"), "Pending; one running; side waiting PodInitializing; two waiting "
                                              "PodInitializing; c waiting PodInitializing");
    fake_exit("p", "one", 0);
    world_turn(w);
    assert_string_equal(fake_asked(), "start p/side#0; start p/two#0");
    fake_exit("p", "two", 0);
    world_turn(w);
    assert_string_equal(fake_asked(), "start p/c#0");
    assert_string_equal(world_status(w, "p"),
                        "Running; one Completed 0 ready; side running ready; two Completed 0 ready; c running ready");
    fake_exit("p", "c", 0);
    world_turn(w);
    assert_string_equal(fake_asked(), "TERM p/side");
    fake_killed("p", "side", SIGTERM, false);
    world_turn(w);
    assert_string_equal(fake_asked(), "free p; leave 10.88.0.2");
    assert_string_equal(world_status(w, "p"),
                        "Succeeded; one Completed 0 ready; side Error 143; two Completed 0 ready; c Completed 0");
    world_free(w);
}

/* ---- again ---- */

static void crashes_are_restarted_with_a_back_off(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p", ALWAYS);
    fake_exit("p", "c", 1);
    world_turn(w); /* the first time at once */
    assert_string_equal(fake_asked(), "shim p; join 10.88.0.2; start p/c#0; start p/c#1");
    assert_string_equal(world_status(w, "p"), "Running; c running ready x1 last Error 1");
    fake_exit("p", "c", 0);
    world_pass(w, 9999);
    assert_string_equal(fake_asked(), "");
    assert_string_equal(world_status(w, "p"), "Running; c waiting CrashLoopBackOff x1 last Completed 0");
    world_pass(w, 1);
    assert_string_equal(fake_asked(), "start p/c#2");
    fake_exit("p", "c", 2);
    world_pass(w, 19999);
    assert_string_equal(fake_asked(), "");
    world_pass(w, 1);
    assert_string_equal(fake_asked(), "start p/c#3");
    assert_string_equal(world_status(w, "p"), "Running; c running ready x3 last Error 2");
    world_free(w);
}

static void on_failure_only_failures_are_restarted(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p", "{restartPolicy: OnFailure, containers: [" APP ", {name: d, image: app, command: [x]}]}");
    fake_exit("p", "c", 7);
    fake_exit("p", "d", 0);
    world_turn(w);
    assert_string_equal(fake_asked(), "shim p; join 10.88.0.2; start p/c#0; start p/d#0; start p/c#1");
    fake_exit("p", "c", 0);
    world_turn(w);
    assert_string_equal(world_status(w, "p"), "Succeeded; c Completed 0 x1 last Error 7; d Completed 0");
    world_free(w);
}

static void what_cannot_be_started(void **state)
{
    struct world *w = world_new(NULL);

    fake.holds_start = true;
    world_pod(w, "p", ONCE);
    assert_string_equal(world_status(w, "p"), "Pending; c waiting ContainerCreating");
    fake_not_started("p", "c", 128, "StartError", "exec: \"run\": executable file not found in $PATH");
    world_turn(w);
    assert_string_equal(world_status(w, "p"), "Failed; c StartError 128");

    world_pod(w, "q", ONCE);
    fake_not_started("q", "c", 128, "CreateContainerError", "no overlay");
    world_turn(w);
    assert_string_equal(world_status(w, "q"), "Pending; c waiting CreateContainerError");
    (void)fake_asked();
    world_pass(w, 1000);
    assert_string_equal(fake_asked(), "start q/c#0");
    fake_started("q", "c");
    world_turn(w);
    assert_string_equal(world_status(w, "q"), "Running; c running ready");
    world_free(w);
}

/* ---- probes ---- */

static void readiness_is_asked_for(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p",
              "{containers: [{name: c, image: app, command: [x], ports: [{name: web, containerPort: 8080}], "
              "readinessProbe: {httpGet: {port: web, path: /ready}, periodSeconds: 10, failureThreshold: 1}}]}");
    assert_string_equal(fake_asked(), "shim p; join 10.88.0.2; start p/c#0; http p 10.88.0.2:8080/ready");
    assert_string_equal(world_status(w, "p"), "Running; c running");
    fake_answer("p", true, "");
    world_turn(w);
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    world_pass(w, 10000);
    assert_string_equal(fake_asked(), "http p 10.88.0.2:8080/ready");
    fake_answer("p", false, "HTTP probe failed with statuscode: 503");
    world_turn(w);
    assert_string_equal(world_status(w, "p"), "Running; c running");
    assert_string_equal(world_events(w, "p", "Unhealthy"),
                        "Readiness probe failed: HTTP probe failed with statuscode: 503\n");
    world_free(w);
}

static void a_dead_container_is_killed_and_started_again(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p",
              "{terminationGracePeriodSeconds: 5, containers: [{name: c, image: app, command: [x], "
              "startupProbe: {exec: {command: [up]}, periodSeconds: 1}, "
              "livenessProbe: {tcpSocket: {port: 99}, periodSeconds: 1, failureThreshold: 2}}]}");
    assert_string_equal(fake_asked(), "shim p; join 10.88.0.2; start p/c#0; exec p/c up");
    world_pass(w, 5000); /* not asked twice at a time */
    assert_string_equal(fake_asked(), "");
    fake_answer("p", true, "");
    world_pass(w, 1000);
    assert_string_equal(fake_asked(), "tcp p 10.88.0.2:99");
    fake_answer("p", false, "refused");
    world_pass(w, 1000);
    fake_answer("p", false, "refused");
    world_turn(w);
    assert_string_equal(fake_asked(), "tcp p 10.88.0.2:99; TERM p/c");
    world_pass(w, 5000); /* it does not go */
    assert_string_equal(fake_asked(), "KILL p/c; start p/c#1; exec p/c up");
    assert_string_equal(world_status(w, "p"), "Running; c running x1 last Error 137");
    world_free(w);
}

/* ---- deletion ---- */

static void deletion_has_grace_and_a_hook(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p",
              "{containers: [{name: c, image: app, command: [x], lifecycle: {preStop: {exec: {command: [bye]}}}}]}");
    (void)fake_asked();
    world_delete(w, "Pod", "p", 10);
    assert_string_equal(fake_asked(), "exec p/c bye");
    fake_answer("p", true, "");
    world_turn(w);
    assert_string_equal(fake_asked(), "TERM p/c");
    world_pass(w, 9999);
    assert_string_equal(fake_asked(), "");
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    world_pass(w, 1);
    assert_string_equal(fake_asked(), "KILL p/c; free p; leave 10.88.0.2");
    assert_string_equal(world_status(w, "p"), "gone");
    world_free(w);
}

static void a_pod_that_goes_by_itself_is_gone_at_once(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p", ALWAYS);
    world_delete(w, "Pod", "p", -1);
    fake_exit("p", "c", 0);
    world_turn(w);
    assert_string_equal(fake_asked(), "shim p; join 10.88.0.2; start p/c#0; TERM p/c; free p; leave 10.88.0.2");
    assert_string_equal(world_status(w, "p"), "gone");
    world_free(w);
}

static void by_force(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p", ALWAYS);
    (void)fake_asked();
    world_delete(w, "Pod", "p", 0);
    assert_string_equal(fake_asked(), "free p; leave 10.88.0.2");
    assert_int_equal(agent_pods(w->agent), 0);
    world_free(w);
}

/* Nobody waits for a spawner that is slow, and a sandbox that nobody wants is not asked for. */
static void deleted_before_it_was_made(void **state)
{
    struct world *w = world_new(NULL);

    fake.holds_ready = true;
    world_pod(w, "p", ALWAYS);
    world_delete(w, "Pod", "p", -1);
    assert_string_equal(world_status(w, "p"), "gone");
    assert_string_equal(fake_asked(), "shim p; free p");

    sim_net_outage(w->net, clock_mono_ms(&w->clock.clock) + 1000);
    world_pod(w, "q", ALWAYS);
    world_delete(w, "Pod", "q", -1);
    world_pass(w, 2000);
    assert_string_equal(world_status(w, "q"), "gone");
    assert_string_equal(fake_asked(), "");
    world_free(w);
}

static void the_same_name_again_is_another_pod(void **state)
{
    struct world *w = world_new(NULL);
    struct store_delete_options now = { 0 };

    world_pod(w, "p", ONCE);
    assert_int_equal(
        store_delete(w->store, &(struct object_key){ type_by_name(STR("Pod")), STR("ns"), STR("p") }, &now, NULL, NULL),
        0);
    world_pod(w, "p", ONCE); /* both are told in one turn */
    assert_string_equal(fake_asked(), "shim p; join 10.88.0.2; start p/c#0; free p; leave 10.88.0.2; "
                                      "shim p; join 10.88.0.3; start p/c#0");
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    fake_exit("p", "c", 0);
    world_turn(w);
    assert_string_equal(world_status(w, "p"), "Succeeded; c Completed 0");
    world_free(w);
}

/* ---- from outside ---- */

static void a_lost_sandbox_is_made_anew(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p", ALWAYS);
    world_pod(w, "q", ONCE);
    (void)fake_asked();
    fake_lost("p", "killed by signal 9");
    fake_lost("q", "killed by signal 9");
    world_turn(w);
    assert_string_equal(world_status(w, "q"), "Failed; c Error 137");
    world_pass(w, 1000);
    assert_string_equal(world_status(w, "p"), "Running; c running ready x1 last Error 137");
    assert_string_equal(world_at(w, "Pod", "p", "/status/podIP"), "10.88.0.4");
    world_free(w);
}

static void everything_is_killed_at_once(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p", ALWAYS);
    fake.holds_ready = true;
    world_pod(w, "q", ALWAYS);
    (void)fake_asked();
    agent_kill_all(w->agent);
    world_turn(w);
    assert_string_equal(world_status(w, "p"), "Failed Killed; c Error 137");
    assert_string_equal(world_status(w, "q"), "Failed Killed; c ContainerStatusUnknown 137");
    assert_int_equal(agent_pods(w->agent), 0);
    world_free(w);
}

static void without_a_spawner_the_agent_is_broken(void **state)
{
    struct world *w = world_new(NULL);

    assert_false(agent_is_broken(w->agent));
    fake_spawner_dies();
    world_turn(w); /* and does not spin */
    assert_true(agent_is_broken(w->agent));
    world_free(w);
}

/* The cluster was out of reach, and tells everything again. */
static void what_a_list_does_not_mention_is_gone(void **state)
{
    struct world *w = world_new(NULL);
    struct store_delete_options now = { 0 };

    world_pod(w, "p", ALWAYS);
    world_pod(w, "q", ALWAYS);
    (void)fake_asked();
    sim_net_outage(w->net, clock_mono_ms(&w->clock.clock) + 5000);
    assert_int_equal(
        store_delete(w->store, &(struct object_key){ type_by_name(STR("Pod")), STR("ns"), STR("p") }, &now, NULL, NULL),
        0);
    world_pass(w, 4000);
    assert_true(fake_has_pod("p"));
    world_pass(w, 2000);
    assert_false(fake_has_pod("p"));
    assert_string_equal(fake_asked(), "free p; leave 10.88.0.2");
    assert_string_equal(world_status(w, "q"), "Running; c running ready");
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(runs_and_succeeds),
        world_test(fails_with_its_last_words),
        world_test(pods_of_other_nodes_are_not_ours),
        world_test(init_containers_then_sidecars_then_the_rest),
        world_test(crashes_are_restarted_with_a_back_off),
        world_test(on_failure_only_failures_are_restarted),
        world_test(what_cannot_be_started),
        world_test(readiness_is_asked_for),
        world_test(a_dead_container_is_killed_and_started_again),
        world_test(deletion_has_grace_and_a_hook),
        world_test(a_pod_that_goes_by_itself_is_gone_at_once),
        world_test(by_force),
        world_test(deleted_before_it_was_made),
        world_test(the_same_name_again_is_another_pod),
        world_test(a_lost_sandbox_is_made_anew),
        world_test(everything_is_killed_at_once),
        world_test(without_a_spawner_the_agent_is_broken),
        world_test(what_a_list_does_not_mention_is_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
