/* agent_resize.c - other amounts for what runs: which groups are limited, in which order, and what waits */
#include "node/agent/test/agent_world.h"

#define ITEM(name, cpu, memory)                                                                                        \
    "{name: " name ", image: app, command: [run], resources: {requests: {cpu: " cpu ", memory: " memory                \
    "}, limits: {cpu: " cpu ", memory: " memory "}}}"
#define SPEC(list)        "{containers: [" list "]}"
#define TWO(cpu_c, cpu_d) SPEC(ITEM("c", cpu_c, "64Mi") ", " ITEM("d", cpu_d, "64Mi"))
#define MESSAGE           "/status/conditions/5/message"

static struct world *world_of(const char *spec)
{
    struct world *w = world_new(&(struct agent_options){ 0 });

    world_pod(w, "p", spec);
    (void)fake_asked();
    return w;
}

static void resize(struct world *w, const char *name, const char *spec)
{
    world_patch(w, "Pod", name, arena_fmt(&w->arena, "{spec: %s}", spec).p);
}

static void sets_the_group_of_the_only_container(void **state)
{
    struct world *w = world_of(SPEC(ITEM("c", "1", "64Mi")));

    resize(w, "p", SPEC(ITEM("c", "500m", "128Mi")));
    assert_string_equal(fake_asked(), "limit pod 500m 128Mi");
    assert_string_equal(world_at(w, "Pod", "p", "/status/containerStatuses/0/allocatedResources/cpu"), "500m");
    assert_string_equal(world_at(w, "Pod", "p", "/status/containerStatuses/0/resources/limits/memory"), "128Mi");
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    world_free(w);
}

/* The pod's group is never below those of its containers. */
static void widens_the_pod_first(void **state)
{
    struct world *w = world_of(TWO("500m", "200m"));

    resize(w, "p", TWO("900m", "100m"));
    assert_string_equal(fake_asked(),
                        "limit pod 1000m 128Mi; limit c 900m 64Mi; limit d 100m 64Mi; limit pod 1000m 128Mi");
    resize(w, "p", TWO("100m", "100m"));
    assert_string_equal(fake_asked(),
                        "limit pod 1000m 128Mi; limit c 100m 64Mi; limit d 100m 64Mi; limit pod 200m 128Mi");
    world_free(w);
}

static void waits_for_room(void **state)
{
    struct world *w = world_of(SPEC(ITEM("c", "1", "64Mi")));
    const char *huge = SPEC(ITEM("c", "100000", "64Mi"));

    resize(w, "p", huge);
    assert_string_equal(fake_asked(), "");
    assert_string_equal(world_at(w, "Pod", "p", "/status/conditions/5/type"), "PodResizePending");
    assert_non_null(
        strstr(world_at(w, "Pod", "p", MESSAGE), "Node didn't have enough resource: cpu, requested: 100000000"));
    assert_string_equal(world_at(w, "Pod", "p", "/status/containerStatuses/0/allocatedResources/cpu"), "1");
    world_pass(w, 5000);
    assert_non_null(strstr(world_events(w, "p", "ResizeDeferred"), "Pod resize Deferred: {"));
    resize(w, "p", SPEC(ITEM("c", "1", "64Mi"))); /* as it was: the resize is withdrawn */
    assert_string_equal(world_at(w, "Pod", "p", "/status/conditions/5/type"), "");
    assert_string_equal(fake_asked(), "");
    world_free(w);
}

static void keeps_memory_that_is_in_use(void **state)
{
    struct world *w = world_of(SPEC(ITEM("c", "1", "64Mi")));

    fake.stats.memory_bytes = 48 << 20;
    resize(w, "p", SPEC(ITEM("c", "1", "32Mi")));
    assert_string_equal(fake_asked(), "");
    assert_string_equal(world_at(w, "Pod", "p", "/status/conditions/5/reason"), "Error");
    fake.stats.memory_bytes = 16 << 20;
    world_pass(w, 2000);
    assert_string_equal(fake_asked(), "limit pod 1000m 32Mi");
    assert_string_equal(world_at(w, "Pod", "p", "/status/conditions/5/type"), "");
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = { world_test(sets_the_group_of_the_only_container),
                                        world_test(widens_the_pod_first), world_test(waits_for_room),
                                        world_test(keeps_memory_that_is_in_use) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
