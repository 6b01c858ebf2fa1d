/* agent_log.c - what containers write: all of it, in order, before their end is told, as there is room for it */
#include "node/agent/test/agent_world.h"

#include <string.h>

#define ONCE   "{restartPolicy: Never, containers: [{name: c, image: app, command: [run]}]}"
#define ALWAYS "{containers: [{name: c, image: app, command: [run]}]}"

static const char *output(struct world *w)
{
    const char *text = arena_cstr(&w->arena, buf_view(&w->output));

    buf_reset(&w->output);
    return text;
}

static void lines_come_in_order(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p", ONCE);
    (void)fake_asked();
    fake_says("p", "c", "one\ntw");
    world_turn(w);
    assert_string_equal(output(w), "p/c: one\n");
    assert_true(str_starts(str_of(fake_asked()), STR("read p/c#0 "))); /* so that the shim may turn the file over */
    fake_says("p", "c", "o\nthree\n");
    fake_exit("p", "c", 0);
    world_turn(w);
    assert_string_equal(output(w), "p/c: two\np/c: three\n");
    world_free(w);
}

static void what_was_turned_over_is_read_too(void **state)
{
    struct world *w = world_new(&(struct agent_options){ .log_bytes = 100 });
    unsigned lines = 0;

    world_pod(w, "p", ONCE);
    for (int i = 0; i < 8; i++)
        fake_says("p", "c", "a line of some forty bytes, to fill it\n");
    world_turn(w);
    for (const char *at = output(w); (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 8);
    world_free(w);
}

static void each_attempt_has_a_log(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p", ALWAYS);
    fake_says("p", "c", "first\n");
    fake_exit("p", "c", 1);
    world_turn(w);
    fake_says("p", "c", "second\n");
    world_turn(w);
    assert_string_equal(output(w), "p/c: first\np/c: second\n");
    assert_string_equal(world_at(w, "Pod", "p", "/status/containerStatuses/0/lastState/terminated/message"), "first\n");
    world_free(w);
}

/* Who shows the output cannot take more: neither is it lost, nor is the end told before it. */
static void without_room_the_end_waits(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p", ONCE);
    world_pod(w, "q", ONCE);
    w->room = 0;
    fake_says("p", "c", "hello\n");
    fake_exit("p", "c", 0);
    fake_exit("q", "c", 0);
    world_pass(w, 5000);
    assert_string_equal(output(w), "");
    assert_string_equal(world_status(w, "p"), "Running; c running ready");
    w->room = 1 << 20;
    world_turn(w);
    assert_string_equal(output(w), "p/c: hello\n");
    assert_string_equal(world_status(w, "p"), "Succeeded; c Completed 0");
    assert_string_equal(world_status(w, "q"), "Succeeded; c Completed 0");
    world_free(w);
}

static void a_pod_may_go_while_its_output_waits(void **state)
{
    struct world *w = world_new(NULL);

    world_pod(w, "p", ONCE);
    w->room = 0;
    fake_says("p", "c", "hello\n");
    fake_exit("p", "c", 0);
    world_turn(w);
    world_delete(w, "Pod", "p", 0);
    w->room = 1 << 20;
    world_pass(w, 1000);
    assert_string_equal(world_status(w, "p"), "gone");
    world_free(w);
}

/* A container may lose its sandbox again and again. */
static void nothing_is_kept_open_of_a_lost_sandbox(void **state)
{
    struct world *w = world_new(NULL);
    int n = 0;

    world_pod(w, "p", ALWAYS);
    for (int i = 0; i < 5; i++) {
        fake_says("p", "c", "hello\n");
        world_turn(w);
        if (i == 1)
            n = fake_count_fds();
        if (i > 1)
            assert_int_equal(fake_count_fds(), n);
        fake_lost("p", "killed");
        world_pass(w, 600000);
        assert_non_null(strstr(world_status(w, "p"), "c running"));
    }
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(lines_come_in_order),
        world_test(what_was_turned_over_is_read_too),
        world_test(each_attempt_has_a_log),
        world_test(without_room_the_end_waits),
        world_test(a_pod_may_go_while_its_output_waits),
        world_test(nothing_is_kept_open_of_a_lost_sandbox),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
