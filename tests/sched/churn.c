/* churn.c - evictions answer news: what a job cannot evict when it comes it waits for, and nobody is stopped again and
 * again */
#include "harness.h"

#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

enum { MINUTE = 60000, HOUR = 60 * MINUTE };

/* Pods that say nothing of their run time, or 'runtime'. */
static void job(struct h *h, const char *name, const char *priority, int n, const char *runtime)
{
    char more[80];

    snprintf(more, sizeof(more), "metadata: {annotations: {pumice.dev/runtime: %s}}", runtime ? runtime : "''");
    h_group(h, name, .min = n, .priority = priority, .more = more);
    h_pods(h, name, "w", n, "cpu: 1");
}

/* As the job controller does when pods were evicted. */
static void make_again(struct h *h, const char *name, int n)
{
    (void)h_finish_deletes(h);
    h_pods(h, name, "w", n - h_bound(h, name) - h_waiting(h, name), "cpu: 1");
    h_settle(h);
}

/* Two CPUs. 'first' has one and may not be evicted; 'big' comes and needs both; 'small', of a lower priority, takes the
 * other in the meantime. Then 'first' ends: 'small' was placed although 'big' waited, and is not stopped at once. */
static void placed_while_it_waited(void **state)
{
    static const struct {
        const char *name, *runtime;
        int64_t kept_ms, evicted_ms; /* after its start */
    } cases[] = {
        { "does not say when it ends", NULL, HOUR - MINUTE, HOUR + MINUTE },
        { "says when it ends", "3h", 3 * HOUR, 3 * HOUR + 2 * MINUTE },
        { "should be over soon", "5m", 5 * MINUTE, 7 * MINUTE },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct h *h = h_new(NULL);

        h_priority(h, "high", 100, NULL);
        h_node(h, "n1", "cpu: 2");
        job(h, "first", "high", 1, NULL);
        h_settle(h);
        job(h, "big", "high", 2, NULL);
        job(h, "small", NULL, 1, cases[i].runtime);
        h_work(h, 2000, 1000);
        assert_int_equal(h_bound(h, "small"), 1);
        h_phase(h, "first-w-0", "Succeeded");
        h_work(h, cases[i].kept_ms - 2000, 30000);
        if (h->all.n[DECIDE_EVICT])
            fail_msg("%s: evicted before its time", cases[i].name);
        h_work(h, cases[i].evicted_ms - cases[i].kept_ms, 10000);
        if (h->all.n[DECIDE_EVICT] != 1 || h_bound(h, "big") != 2)
            fail_msg("%s: not evicted in the end", cases[i].name);
        h_free(h);
    }
}

/* API times are whole seconds. A job that comes in the second in which another started is told apart by what the
 * scheduler knew when it placed that one; a scheduler that has just begun leaves it alone. */
static void placed_in_the_second_in_which_it_came(void **state)
{
    static const struct {
        const char *name;
        bool is_known, restarts;
        int evicted;
    } cases[] = { { "placed before it was known", false, false, 1 },
                  { "placed while it waited", true, false, 0 },
                  { "placed by another scheduler", false, true, 0 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct h *h = h_new(NULL);

        h_priority(h, "high", 100, NULL);
        h_node(h, "n1", "cpu: 2");
        if (cases[i].is_known)
            job(h, "big", "high", 3, NULL); /* does not fit yet */
        job(h, "low", NULL, 2, NULL);
        h_settle(h);
        h_run(h);
        h_pass(h, 10);
        h_settle(h); /* rounds go on */
        h_pass(h, 10);
        if (cases[i].is_known)
            h_change(h, h_get(h, "PodGroup", "big"), "spec: {minMember: 2}");
        else
            job(h, "big", "high", 2, NULL);
        if (cases[i].restarts)
            h_restart(h);
        h_work(h, 3 * MINUTE, 10000);
        if ((h->all.n[DECIDE_EVICT] > 0) != cases[i].evicted)
            fail_msg("%s: %u evictions", cases[i].name, h->all.n[DECIDE_EVICT]);
        h_free(h);
    }
}

/* One CPU. Jobs of high priority come as soon as the last has ended, and each finds 'low' at work again. */
static void stops_are_bounded(void **state)
{
    struct h *h = h_new(NULL);
    static const unsigned stops_at[] = {
        1, 2, 2, 3, 3, 3, 3, 4
    }; /* after so many hours: the next time is 1 h, 2 h, 4 h later */

    (void)state;
    h_priority(h, "high", 100, NULL);
    h_node(h, "n1", "cpu: 1");
    job(h, "low", NULL, 1, NULL);
    h_work(h, 2 * MINUTE, 10000);
    for (int i = 0; i < 8 * 60; i++) {
        char name[24], pod[32];

        snprintf(name, sizeof(name), "high%d", i);
        snprintf(pod, sizeof(pod), "%s-w-0", name);
        job(h, name, "high", 1, NULL);
        h_work(h, 5000, 1000);
        make_again(h, "low", 1);
        if (h_bound(h, name)) {
            h_phase(h, pod, "Succeeded");
        } else {
            h_delete(h, "PodGroup", name);
            h_delete(h, "Pod", pod);
        }
        h_work(h, MINUTE - 5000, 5000);
        if (i % 60 == 59 && h->all.n[DECIDE_EVICT] > stops_at[i / 60])
            fail_msg("%u stops in %d hours", h->all.n[DECIDE_EVICT], i / 60 + 1);
    }
    assert_int_equal(h->all.n[DECIDE_EVICT], 4);
    h_free(h);
}

/* 'middle' evicts 'low', and is evicted by 'high'. When 'high' has ended 'low' is first to be back at work: 'middle'
 * evicted it once, and does not again. */
static void who_comes_back_does_not_evict_again(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_priority(h, "middle", 50, NULL);
    h_priority(h, "high", 100, NULL);
    h_node(h, "n1", "cpu: 2");
    job(h, "low", NULL, 2, NULL);
    h_work(h, 2 * MINUTE, 10000);
    job(h, "middle", "middle", 2, NULL);
    h_work(h, 2000, 1000);
    make_again(h, "low", 2);
    h_work(h, 2 * MINUTE, 10000);
    assert_int_equal(h_bound(h, "middle"), 2);
    job(h, "high", "high", 2, NULL);
    h_work(h, 2000, 1000);
    assert_int_equal(h_bound(h, "high"), 2);
    assert_int_equal(h->all.n[DECIDE_EVICT], 4);
    h_phase_all(h, "high", "Succeeded");
    h_settle(h);
    assert_int_equal(h_bound(h, "low"), 2); /* the pods of 'middle' are not made yet */
    make_again(h, "middle", 2);
    h_work(h, 30 * MINUTE, 10000);
    assert_int_equal(h->all.n[DECIDE_EVICT], 4);
    assert_int_equal(h_bound(h, "low"), 2);
    h_free(h);
}

/* 'old' is a gang of 4; two jobs have one pod each beyond their minimum, one of which is young. The surplus is enough,
 * but for the minute: the gang is not broken for that. */
static void the_right_victims_are_waited_for(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_priority(h, "high", 100, NULL);
    h_node(h, "n1", "cpu: 8");
    job(h, "old", NULL, 4, NULL);
    h_group(h, "a", .min = 1);
    h_pods(h, "a", "w", 2, "cpu: 1");
    h_work(h, 2 * MINUTE, 10000);
    h_group(h, "b", .min = 1);
    h_pods(h, "b", "w", 2, "cpu: 1");
    h_work(h, 20000, 5000);
    job(h, "high", "high", 2, NULL);
    h_work(h, 30000, 1000);
    assert_int_equal(h->all.n[DECIDE_EVICT], 0);
    h_work(h, 20000, 1000);
    assert_int_equal(h_bound(h, "high"), 2);
    assert_int_equal(h_bound(h, "old"), 4);
    assert_int_equal(h_bound(h, "a"), 1);
    assert_int_equal(h_bound(h, "b"), 1);
    h_free(h);
}

/* Reclaim takes from a queue above its share, but does not leave it with less of it than the other has. */
static void nobody_is_made_shorter(void **state)
{
    static const struct {
        const char *name;
        int has;     /* CPUs that 'a' runs already */
        int evicted; /* of the gang of 8 in 'b', when 'a' wants the rest of its 6 */
    } cases[] = {
        { "it has nothing", 0, 8 },
        { "it has most of its share", 4, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct h *h = h_new(NULL);

        h_node(h, "n1", "cpu: 12");
        h_queue(h, "qa", "weight: 1");
        h_queue(h, "qb", "weight: 1");
        h_singles(h, "a", 0, cases[i].has, "qa", "cpu: 1");
        h_group(h, "b", .min = 8, .queue = "qb");
        h_pods(h, "b", "w", 8, "cpu: 1");
        h_work(h, 2 * MINUTE, 10000);
        h_group(h, "more", .min = 6 - cases[i].has, .queue = "qa");
        h_pods(h, "more", "w", 6 - cases[i].has, "cpu: 1");
        h_work(h, 2 * MINUTE, 10000);
        if ((int)h->all.n[DECIDE_EVICT] != cases[i].evicted)
            fail_msg("%s: %u evicted", cases[i].name, h->all.n[DECIDE_EVICT]);
        h_free(h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placed_while_it_waited),
        cmocka_unit_test(placed_in_the_second_in_which_it_came),
        cmocka_unit_test(stops_are_bounded),
        cmocka_unit_test(who_comes_back_does_not_evict_again),
        cmocka_unit_test(the_right_victims_are_waited_for),
        cmocka_unit_test(nobody_is_made_shorter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
