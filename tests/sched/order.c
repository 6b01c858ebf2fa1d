/* order.c - who is first: items 11-13 and 57 of the checklist */
#include "harness.h"

#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static void item_11_job_priority(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_priority(h, "high", 100, NULL);
    h_priority(h, "low", 10, NULL);
    h_group(h, "a", .min = 1, .priority = "low");
    h_pods(h, "a", "w", 1, "cpu: 1");
    h_pass(h, 5000);
    h_group(h, "b", .min = 1, .priority = "high"); /* younger */
    h_pods(h, "b", "w", 1, "cpu: 1");
    h_node(h, "n1", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "b"), 1);
    assert_int_equal(h_bound(h, "a"), 0);
    h_free(h);
}

static void item_12_older_first(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_group(h, "z", .min = 1);
    h_pods(h, "z", "w", 1, "cpu: 1");
    h_pass(h, 5000);
    h_group(h, "a", .min = 1);
    h_pods(h, "a", "w", 1, "cpu: 1");
    h_node(h, "n1", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "z"), 1);
    assert_int_equal(h_bound(h, "a"), 0);
    h_free(h);
}

static void item_12_same_second_by_uid(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) { /* told in another order each time */
        struct h *h = h_new(NULL);
        char names[4][8] = { "a", "b", "c", "d" };

        for (int k = 0; k < 4; k++) {
            const char *name = names[(i + k * (i % 2 ? 1 : 3)) % 4];
            char more[64];

            snprintf(more, sizeof(more), "metadata: {uid: uid-x-%c}", 'a' + ('d' - name[0])); /* d has the smallest */
            h_group(h, name, .min = 1, .more = more);
            h_pods(h, name, "w", 1, "cpu: 1");
        }
        h_node(h, "n1", "cpu: 1");
        h_settle(h);
        assert_int_equal(h_bound(h, "d"), 1);
        h_free(h);
    }
}

static void item_13_unknown_class(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_priority(h, "usual", 50, "globalDefault: true");
    h_priority(h, "low", 10, NULL);
    h_priority(h, "high", 100, NULL);
    h_group(h, "low", .min = 1, .priority = "low");
    h_pods(h, "low", "w", 1, "cpu: 1");
    h_pass(h, 2000);
    h_group(h, "unknown", .min = 1, .priority = "nobody-knows");
    h_pods(h, "unknown", "w", 1, "cpu: 1");
    h_pass(h, 2000);
    h_group(h, "high", .min = 1, .priority = "high");
    h_pods(h, "high", "w", 1, "cpu: 1");
    h_node(h, "n1", "cpu: 2");
    h_settle(h);
    assert_int_equal(h_bound(h, "high"), 1);
    assert_int_equal(h_bound(h, "unknown"), 1);
    assert_int_equal(h_bound(h, "low"), 0);
    h_free(h);
}

/* A class that comes or changes later counts at once. */
static void item_13_class_comes_later(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_group(h, "a", .min = 1);
    h_pods(h, "a", "w", 1, "cpu: 1");
    h_pass(h, 2000);
    h_group(h, "b", .min = 1, .priority = "later");
    h_pods(h, "b", "w", 1, "cpu: 1");
    h_settle(h);
    h_priority(h, "later", 5, NULL);
    h_node(h, "n1", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "b"), 1);
    assert_int_equal(h_bound(h, "a"), 0);
    h_free(h);
}

static void fill(struct h *h)
{
    h_priority(h, "high", 10, NULL);
    h_queue(h, "q1", "weight: 1");
    h_queue(h, "q2", "weight: 2");
    for (int i = 0; i < 10; i++) {
        char name[16];

        snprintf(name, sizeof(name), "n%d", i);
        h_node(h, name, i % 3 ? "cpu: 4, memory: 8Gi" : "cpu: 8, memory: 4Gi");
    }
    for (int i = 0; i < 20; i++) {
        char name[16];

        snprintf(name, sizeof(name), "g%d", i);
        h_group(h, name, .min = i % 4 + 1, .queue = i % 2 ? "q1" : "q2", .priority = i % 5 ? NULL : "high");
        h_pods(h, name, "w", i % 4 + 2, i % 3 ? "cpu: 1, memory: 1Gi" : "cpu: 2, memory: 512Mi");
    }
}

static void item_57_same_input_same_output(void **state)
{
    struct h *a = h_new(NULL), *b = h_new(NULL);

    (void)state;
    b->s = (sched_free(b->s), sched_new(&b->config, 12345)); /* another seed: hash tables in another order */
    fill(a);
    for (size_t i = a->list.n; i-- > 0;) /* and told backwards */
        sched_put(b->s, a->list.v[i]->root);
    h_round(a);
    b->is_silent = true;
    b->now_ms = a->now_ms;
    {
        struct sched_round round = { 0 };
        size_t n = 0;

        sched_round(b->s, b->now_ms, &round);
        VEC_FOREACH(d, &round.list)
            if (d->kind == DECIDE_BIND) {
                assert_true(str_eq(d->node, h_node_of(a, arena_cstr(&round.arena, d->name))));
                n++;
            }
        assert_int_equal(n, a->last.n[DECIDE_BIND]);
        assert_true(n > 20);
        arena_done(&round.arena);
    }
    h_free(a);
    h_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(item_11_job_priority),       cmocka_unit_test(item_12_older_first),
        cmocka_unit_test(item_12_same_second_by_uid), cmocka_unit_test(item_13_unknown_class),
        cmocka_unit_test(item_13_class_comes_later),  cmocka_unit_test(item_57_same_input_same_output),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
