/* agent_adopt.c - tests: an agent goes, its pods go on, another one finds them */
#include "node/agent/test/agent_world.h"

#include "node/agent/agent.h"

#include <signal.h>

static const struct agent_options outliving = { .outlives = true };

static const char one[] = "{restartPolicy: Never, containers: [{name: c, image: i, command: [run]}]}",
                  always[] = "{containers: [{name: c, image: i, command: [run]}]}";

static void pods_run_on_and_are_found(void **state)
{
    struct world *w = world_new(&outliving);

    world_pod(w, "p", always);
    world_pod(w, "q", always);
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    (void)fake_asked();
    world_leave(w);
    assert_string_equal(fake_asked(), ""); /* nothing of them is touched */
    assert_true(fake_runs("p", "c") && fake_runs("q", "c"));
    world_return(w);
    assert_string_equal(fake_asked(), "adopt p; adopt q; hold 10.88.0.2; hold 10.88.0.3");
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    assert_string_equal(world_at(w, "Pod", "p", "/status/podIP"), "10.88.0.2");

    fake_exit("p", "c", 1); /* the new one is told, and does what has to be done, in the old sandbox */
    world_turn(w);
    assert_string_equal(fake_asked(), "start p/c#1");
    assert_string_equal(world_status(w, "p"), "Running; c running ready x1 last Error 1");
    world_pod(w, "r", one); /* new ones have addresses of their own */
    assert_string_equal(world_at(w, "Pod", "r", "/status/podIP"), "10.88.0.4");
    (void)fake_asked();
    world_delete(w, "Pod", "q", 0);
    assert_string_equal(fake_asked(), "free q; leave 10.88.0.3");
    world_free(w);
}

static void an_end_in_the_gap_has_its_real_code(void **state)
{
    struct world *w = world_new(&outliving);

    world_pod(w, "code", one);
    world_pod(w, "oom", one);
    world_pod(w, "again", always);
    world_leave(w);
    fake_exit("code", "c", 42);
    fake_killed("oom", "c", SIGKILL, true);
    fake_exit("again", "c", 3);
    world_return(w);
    assert_string_equal(world_status(w, "code"), "Failed; c Error 42");
    assert_string_equal(world_status(w, "oom"), "Failed; c OOMKilled 137");
    assert_string_equal(world_status(w, "again"), "Running; c running ready x1 last Error 3");
    assert_false(fake_has_pod("code") || fake_has_pod("oom")); /* taken away as ever */
    world_free(w);
}

static void what_was_deleted_meanwhile_is_ended(void **state)
{
    struct world *w = world_new(&outliving);

    world_pod(w, "gone", one);
    world_pod(w, "going", one);
    world_pod(w, "lost", always);
    world_leave(w);
    world_delete(w, "Pod", "gone", 0);
    world_delete(w, "Pod", "going", 30);
    fake_lost("lost", "killed");
    (void)fake_asked();
    world_return(w);
    assert_false(fake_has_pod("gone"));
    assert_string_equal(world_status(w, "gone"), "gone");
    assert_true(fake_runs("going", "c"));
    assert_non_null(strstr(fake_asked(), "TERM going/c"));
    fake_exit("going", "c", 0);
    world_turn(w);
    assert_string_equal(world_status(w, "going"), "gone");
    world_free(w);
}

/* A sandbox without a container is made anew; a start on its way goes on. */
static void half_a_sandbox_is_made_anew(void **state)
{
    struct world *w = world_new(&outliving);

    fake.holds_ready = true;
    world_pod(w, "half", one);
    fake.holds_ready = false;
    fake.holds_start = true;
    world_pod(w, "starts", one);
    fake.holds_start = false;
    world_leave(w);
    (void)fake_asked();
    world_return(w);
    assert_string_equal(world_status(w, "half"), "Running; c running ready");
    assert_string_equal(world_status(w, "starts"), "Pending; c waiting ContainerCreating");
    fake_started("starts", "c");
    world_turn(w);
    assert_string_equal(world_status(w, "starts"), "Running; c running ready");
    world_free(w);
}

static void again_and_again(void **state)
{
    struct world *w = world_new(&outliving);

    world_pod(w, "p", always);
    for (int i = 0; i < 3; i++) {
        world_leave(w);
        world_return(w);
        assert_string_equal(world_status(w, "p"), "Running; c running ready");
    }
    fake_exit("p", "c", 0);
    world_turn(w);
    assert_string_equal(world_status(w, "p"), "Running; c running ready x1 last Completed 0");
    world_free(w);
}

static const char with_volumes[] =
    "{volumes: [{name: v, configMap: {name: m}}, {name: e, emptyDir: {}}],"
    "containers: [{name: c, image: i, command: [run], volumeMounts: [{name: v, mountPath: /v},"
    "{name: e, mountPath: /e}]}]}";

static void volumes_are_taken_over(void **state)
{
    struct world *w = world_new(&outliving);

    world_create(w, "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {k: old}}");
    world_pod(w, "p", with_volumes);
    world_pod(w, "q", with_volumes);
    world_leave(w);
    world_return(w);
    fake_exit("p", "c", 1); /* its volumes are those it had */
    world_turn(w);
    assert_string_equal(world_status(w, "p"), "Running; c running ready x1 last Error 1");
    world_delete(w, "Pod", "p", 0);
    world_delete(w, "Pod", "q", 0); /* never looked at: gone all the same */
    assert_string_equal(world_status(w, "q"), "gone");
    world_free(w);
}

/* Rules that are in force stay so until all is known again, and are then replaced, not written over. */
static void rules_stay_in_force(void **state)
{
    struct world *w = world_new(&outliving);

    world_create(
        w, "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: n}, spec: {podSelector: {}}}");
    world_pod(w, "p", one);
    assert_true(fake.nft_batch.n > 0);
    world_leave(w);
    assert_true(fake.nft_batch.n > 0);
    (void)fake_asked();
    world_return(w);
    world_pass(w, 1000);
    assert_string_equal(fake_asked(), "adopt p; hold 10.88.0.2; nft");
    assert_true(fake.nft_batch.n > 0);
    world_free(w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        world_test(pods_run_on_and_are_found),
        world_test(an_end_in_the_gap_has_its_real_code),
        world_test(what_was_deleted_meanwhile_is_ended),
        world_test(half_a_sandbox_is_made_anew),
        world_test(again_and_again),
        world_test(volumes_are_taken_over),
        world_test(rules_stay_in_force),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
