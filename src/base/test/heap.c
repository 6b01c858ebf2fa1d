/* heap.c - tests of the heap: sorted, also after removals and moves */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/heap.h"

#include "base/rand.h"
#include "base/test/check.h"
#include "base/util.h"

struct timer {
    char pad;
    int64_t at_ms;
    struct heap_node node;
};

#define TIMER(n) HEAP_ITEM(n, struct timer, node)

static int timer_cmp(const struct heap_node *a, const struct heap_node *b)
{
    int64_t x = TIMER(a)->at_ms, y = TIMER(b)->at_ms;

    return (x > y) - (x < y);
}

static void empty(void **state)
{
    struct timer t = { 0 };
    struct heap h;

    heap_init(&h, timer_cmp);
    assert_null(heap_first(&h));
    assert_null(heap_pop(&h));
    heap_remove(&h, &t.node);
    heap_check(&h);
    heap_done(&h);
}

static void pops_are_sorted(void **state)
{
    enum { TIMERS = 300 };
    struct rand r;

    rand_seed(&r, 7);
    for (int turn = 0; turn < 50; turn++) {
        struct timer t[TIMERS] = { { 0 } };
        int64_t last = INT64_MIN;
        struct heap h;

        heap_init(&h, timer_cmp);
        for (int i = 0; i < TIMERS; i++) {
            t[i].at_ms = (int64_t)rand_below(&r, 100); /* many equal ones */
            heap_push(&h, &t[i].node);
        }
        heap_check(&h);
        for (int i = 0; i < TIMERS; i++) {
            struct timer *first = TIMER(heap_pop(&h));

            assert_true(first->at_ms >= last);
            assert_false(heap_has(&first->node));
            last = first->at_ms;
        }
        assert_int_equal(heap_count(&h), 0);
        heap_done(&h);
    }
}

static void random_steps_keep_the_least_first(void **state)
{
    enum { TIMERS = 60 };
    struct timer t[TIMERS] = { { 0 } };
    struct rand r;
    struct heap h;

    rand_seed(&r, 8);
    heap_init(&h, timer_cmp);
    for (int step = 0; step < 20000; step++) {
        struct timer *one = &t[rand_below(&r, TIMERS)];
        int64_t least = INT64_MAX;
        size_t n = 0;

        if (!heap_has(&one->node)) {
            one->at_ms = rand_between(&r, -50, 50);
            heap_push(&h, &one->node);
        } else if (rand_chance(&r, 1, 2)) {
            one->at_ms = rand_between(&r, -50, 50);
            heap_moved(&h, &one->node);
        } else {
            heap_remove(&h, &one->node);
            assert_false(heap_has(&one->node));
        }
        heap_check(&h);
        for (int i = 0; i < TIMERS; i++)
            if (heap_has(&t[i].node)) {
                n++;
                least = MIN_OF(least, t[i].at_ms);
            }
        assert_int_equal(heap_count(&h), n);
        assert_true(n == 0 ? !heap_first(&h) : TIMER(heap_first(&h))->at_ms == least);
    }
    heap_done(&h);
    for (int i = 0; i < TIMERS; i++)
        assert_false(heap_has(&t[i].node));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty),
        cmocka_unit_test(pops_are_sorted),
        cmocka_unit_test(random_steps_keep_the_least_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
