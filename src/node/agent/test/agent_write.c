/* agent_write.c - what the agent writes takes effect some time, whatever the way to the cluster does meanwhile */
#include "node/agent/test/agent_world.h"

#define ONCE "{restartPolicy: Never, containers: [{name: c, image: app, command: [run]}]}"

static void a_refused_status_is_written_again(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p", ONCE);
    w->faults.refused = SIM_CHANCE;
    fake_exit("p", "c", 0);
    world_pass(w, 5000);
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    w->faults.refused = 0;
    world_pass(w, 60000);
    assert_string_equal(world_status(w, "p"), "Succeeded; c Completed 0");
    world_free(w);
}

static void a_lost_request_is_sent_again(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p", ONCE);
    w->faults.request_lost = SIM_CHANCE;
    fake_exit("p", "c", 0);
    world_turn(w);
    w->faults.request_lost = 0;
    world_pass(w, 60000);
    assert_string_equal(world_status(w, "p"), "Succeeded; c Completed 0");
    world_free(w);
}

/* It took effect: written again it changes nothing, and then it is enough. */
static void a_lost_answer_is_no_harm(void **state)
{
    struct world *w = world_new(NULL);
    uint64_t rev;

    world_pod(w, "p", ONCE);
    w->faults.answer_lost = SIM_CHANCE;
    fake_exit("p", "c", 0);
    world_turn(w);
    w->faults.answer_lost = 0;
    assert_string_equal(world_status(w, "p"), "Succeeded; c Completed 0");
    rev = store_revision(w->store);
    world_pass(w, 600000);
    assert_int_equal(store_revision(w->store), rev);
    world_free(w);
}

static void what_somebody_else_wrote_stays(void **state)
{
    struct world *w = world_new(NULL);

    w->faults.conflict = SIM_CHANCE;
    world_pod(w, "p", ONCE);
    fake_exit("p", "c", 0);
    world_turn(w);
    assert_string_equal(world_status(w, "p"), "Succeeded; c Completed 0");
    assert_string_not_equal(world_at(w, "Pod", "p", "/metadata/annotations"), "");
    world_free(w);
}

static void the_end_of_a_pod_is_confirmed_again(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p", ONCE);
    world_delete(w, "Pod", "p", 30);
    w->faults.refused = SIM_CHANCE;
    fake_exit("p", "c", 0);
    world_pass(w, 5000);
    assert_string_not_equal(world_status(w, "p"), "gone");
    w->faults.refused = 0;
    world_pass(w, 60000);
    assert_string_equal(world_status(w, "p"), "gone");
    world_free(w);
}

/* What is on its way when a pod is replaced does not reach its successor. */
static void a_late_status_is_not_that_of_another_pod(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p", ONCE);
    w->faults = (struct sim_faults){ .slow = SIM_CHANCE, .slow_ms = 1000000, .timeout_ms = 2000000 };
    fake_exit("p", "c", 9);
    world_turn(w);
    w->faults = (struct sim_faults){ .timeout_ms = 1000 };
    world_delete(w, "Pod", "p", 0);
    world_pod(w, "p", ONCE);
    world_pass(w, 1000000);
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    world_free(w);
}

/* An older write that was under way for long comes after the newer one. */
static void an_old_status_that_comes_late_does_not_stay(void **state)
{
    struct world *w = world_new(NULL);

    w->faults = (struct sim_faults){ .slow = SIM_CHANCE, .slow_ms = 1000000, .timeout_ms = 2000000 };
    world_pod(w, "p", ONCE);
    w->faults = (struct sim_faults){ .timeout_ms = 1000 };
    fake_exit("p", "c", 0);
    world_turn(w);
    assert_string_equal(world_status(w, "p"), "Succeeded; c Completed 0");
    world_pass(w, 1000000);
    world_pass(w, 30000);
    assert_string_equal(world_status(w, "p"), "Succeeded; c Completed 0");
    world_free(w);
}

static void an_outage_costs_nothing_but_time(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p", ONCE);
    world_pod(w, "q", ONCE);
    world_delete(w, "Pod", "q", 30);
    sim_net_outage(w->net, clock_mono_ms(&w->clock.clock) + 120000);
    fake_exit("p", "c", 1);
    fake_exit("q", "c", 1);
    world_pass(w, 119000);
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    world_pass(w, 62000);
    assert_string_equal(world_status(w, "p"), "Failed; c Error 1");
    assert_string_equal(world_status(w, "q"), "gone");
    world_free(w);
}

static void the_node_and_services_are_written_again(void **state)
{
    struct world *w = world_new(NULL);

    w->faults.refused = SIM_CHANCE;
    world_create(w, "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}]}}");
    world_pass(w, 5000);
    assert_string_equal(world_at(w, "Service", "s", "/spec/clusterIP"), "");
    w->faults.refused = 0;
    world_pass(w, 60000);
    assert_string_equal(world_at(w, "Service", "s", "/spec/clusterIP"), "10.96.0.2");
    world_free(w);

    w = world_new_with(NULL, &(struct sim_faults){ .refused = SIM_CHANCE });
    assert_null(world_get(w, "Node", WORLD_NODE));
    w->faults.refused = 0;
    world_pass(w, 60000);
    assert_non_null(world_get(w, "Node", WORLD_NODE));
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_refused_status_is_written_again),
        world_test(a_lost_request_is_sent_again),
        world_test(a_lost_answer_is_no_harm),
        world_test(what_somebody_else_wrote_stays),
        world_test(the_end_of_a_pod_is_confirmed_again),
        world_test(a_late_status_is_not_that_of_another_pod),
        world_test(an_old_status_that_comes_late_does_not_stay),
        world_test(an_outage_costs_nothing_but_time),
        world_test(the_node_and_services_are_written_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
