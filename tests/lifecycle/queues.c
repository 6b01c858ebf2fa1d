/* queues.c - checklist 54 to 59 of queues: their states, their parents, and what is in them */
#include "harness.h"

#define QUEUE_VERSION "scheduling.volcano.sh/v1beta1"

static void queue(struct h *h, const char *name, const char *parent)
{
    h_create(h, arena_fmt(&h->arena,
                          "{apiVersion: " QUEUE_VERSION ", kind: Queue, metadata: {name: %s}, "
                          "spec: {weight: 1, parent: %s}}",
                          name, parent)
                    .p);
    h_run(h);
}

static void group(struct h *h, const char *name, const char *queue_name)
{
    h_create(h, arena_fmt(&h->arena,
                          "{apiVersion: " QUEUE_VERSION ", kind: PodGroup, metadata: {name: %s, namespace: default}, "
                          "spec: {minMember: 1, queue: %s}}",
                          name, queue_name)
                    .p);
    h_run(h);
}

static void command(struct h *h, const char *name, const char *action)
{
    const char *uid = h_uid(h, arena_fmt(&h->arena, "queue/%s", name).p);

    h_command_to(h, QUEUE_VERSION, "Queue", name, uid, action);
    h_run(h);
    assert_int_equal(h_count(h, "commands"), 0);
}

static void expect(struct h *h, const char *name, const char *state)
{
    h_expect(h, arena_fmt(&h->arena, "queue/%s", name).p, "status.state", state);
}

#define BY_PARENT "metadata.annotations[volcano.sh/closed-by-parent]"

static void test_054_children_follow(void **state)
{
    autoh h = h_new();

    (void)state;
    queue(h, "top", "root");
    queue(h, "a", "top");
    queue(h, "b", "top");
    queue(h, "below-a", "a");
    command(h, "b", "CloseQueue");
    command(h, "top", "CloseQueue");
    expect(h, "top", "Closed");
    expect(h, "a", "Closed");
    expect(h, "below-a", "Closed");
    h_expect(h, "queue/a", BY_PARENT, "true");
    assert_string_not_equal(h_get(h, "queue/b", BY_PARENT), "true");
    h_restart_controller(h); /* who closed it is in the object, not in somebody's memory */
    command(h, "top", "OpenQueue");
    expect(h, "top", "Open");
    expect(h, "a", "Open");
    expect(h, "below-a", "Open");
    h_expect(h, "queue/a", BY_PARENT, "false");
    expect(h, "b", "Closed");
}

static void test_055_open_below_a_closed_parent(void **state)
{
    autoh h = h_new();

    (void)state;
    queue(h, "top", "root");
    queue(h, "j", "top");
    command(h, "top", "CloseQueue");
    command(h, "j", "OpenQueue");
    expect(h, "j", "Closed");
    assert_true(h_event_says(h, "OpenQueue", "the parent queue is closed; open that one first"));
    command(h, "top", "OpenQueue");
    expect(h, "j", "Open"); /* its parent had closed it */
}

static void test_056_closed_with_its_last_group(void **state)
{
    autoh h = h_new();

    (void)state;
    queue(h, "j", "root");
    group(h, "g1", "j");
    group(h, "g2", "j");
    command(h, "j", "CloseQueue");
    expect(h, "j", "Closing");
    h_delete(h, "pg/g1", -1);
    h_run(h);
    expect(h, "j", "Closing");
    h_group_phase(h, "g2", "Completed"); /* what has ended keeps nothing open */
    expect(h, "j", "Closed");
    assert_true(h_event_says(h, "CloseQueue", "Close queue succeed"));
    h_group_phase(h, "g2", "Running");
    expect(h, "j", "Closing");
    h_delete(h, "pg/g2", -1);
    h_run(h);
    expect(h, "j", "Closed");
}

static void test_057_made_again(void **state)
{
    autoh h = h_new();

    (void)state;
    queue(h, "j", "root");
    group(h, "g", "j");
    h_delete(h, "queue/j", -1);
    h_run(h);
    queue(h, "j", "root");
    command(h, "j", "CloseQueue");
    expect(h, "j", "Closing");
    h_expect(h, "queue/j", "status.pending", "1");
}

/* A group that moves is counted where it is. */
static void test_057_moved(void **state)
{
    autoh h = h_new();

    (void)state;
    queue(h, "j", "root");
    queue(h, "k", "root");
    group(h, "g", "j");
    h_set(h, "pg/g", "spec.queue", "k");
    h_run(h);
    command(h, "j", "CloseQueue");
    command(h, "k", "CloseQueue");
    expect(h, "j", "Closed");
    expect(h, "k", "Closing");
}

static void test_058_root_stays_open(void **state)
{
    autoh h = h_new();

    (void)state;
    queue(h, "j", "root");
    command(h, "root", "CloseQueue");
    expect(h, "root", "Open");
    expect(h, "j", "Open");
}

/* What so many changes cost: no more plans and writes than there are changes. */
static void test_059_many_changes(void **state)
{
    enum { GROUPS = 100, CHANGES = 2000 };
    static const char *const phases[] = { "Inqueue", "Running", "Pending" };
    autoh h = h_new();
    struct driver_stats before, after;

    (void)state;
    queue(h, "j", "root");
    for (int i = 0; i < GROUPS; i++)
        group(h, arena_fmt(&h->arena, "g%d", i).p, "j");
    driver_stats(h->controllers[0].driver, &before);
    for (int i = 0; i < CHANGES; i++)
        h_group_phase(h, arena_fmt(&h->arena, "g%d", i % GROUPS).p, phases[i / GROUPS % ARRAY_LEN(phases)]);
    h_advance(h, 20 * 1000);
    driver_stats(h->controllers[0].driver, &after);
    assert_in_range(after.plans - before.plans, CHANGES / 2, 3 * CHANGES);
    assert_in_range(after.writes - before.writes, 1, 20); /* counters are told now and then */
    h_expect(h, "queue/j", "status.running", "100");
    h_expect(h, "queue/j", "status.pending", "0");
}

/* A missing parent is as if it were root. */
static void test_parent_is_missing(void **state)
{
    autoh h = h_new();

    (void)state;
    queue(h, "j", "nobody");
    expect(h, "j", "Open");
    command(h, "j", "CloseQueue");
    expect(h, "j", "Closed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_054_children_follow),
        cmocka_unit_test(test_055_open_below_a_closed_parent),
        cmocka_unit_test(test_056_closed_with_its_last_group),
        cmocka_unit_test(test_057_made_again),
        cmocka_unit_test(test_057_moved),
        cmocka_unit_test(test_058_root_stays_open),
        cmocka_unit_test(test_059_many_changes),
        cmocka_unit_test(test_parent_is_missing),
    };

    return cmocka_run_group_tests_name("lifecycle/queues", tests, NULL, NULL);
}
