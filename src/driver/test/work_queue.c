/* work_queue.c - tests of the work queue */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/rand.h"
#include "base/test/check.h"
#include "base/util.h"
#include "driver/work_queue.h"

static void want_pop(struct work_queue *q, int64_t now_ms, const char *want)
{
    struct str key = STR("(nothing)");

    (void)work_queue_pop(q, now_ms, &key);
    if (!str_is(key, want))
        fail_msg("at %lld: want %s, got %.*s", (long long)now_ms, want, STR_ARG(key));
}

static void is_fair_and_coalesces(void **state)
{
    struct work_queue q;

    (void)state;
    work_queue_init(&q, 1);
    assert_int_equal(work_queue_due(&q), INT64_MAX);
    work_queue_add(&q, STR("a"));
    work_queue_add(&q, STR("b"));
    work_queue_add(&q, STR("a"));
    assert_int_equal(work_queue_count(&q), 2);
    assert_int_equal(work_queue_due(&q), INT64_MIN);
    want_pop(&q, 0, "a");
    work_queue_add(&q, STR("a")); /* again while it is being looked at: behind b */
    want_pop(&q, 0, "b");
    want_pop(&q, 0, "a");
    want_pop(&q, 0, "(nothing)");
    assert_int_equal(map_count(&q.keys), 0);
    work_queue_done(&q);
}

static void waits(void **state)
{
    struct work_queue q;

    (void)state;
    work_queue_init(&q, 1);
    work_queue_add_at(&q, STR("late"), 100);
    work_queue_add_at(&q, STR("early"), 50);
    work_queue_add_at(&q, STR("late"), 200); /* the earlier time wins */
    work_queue_add_at(&q, STR("same"), 50);
    assert_int_equal(work_queue_due(&q), 50);
    want_pop(&q, 49, "(nothing)");
    want_pop(&q, 50, "early");
    want_pop(&q, 50, "same");
    want_pop(&q, 99, "(nothing)");
    work_queue_add(&q, STR("late")); /* now wins over later, and it is still one */
    want_pop(&q, 99, "late");
    want_pop(&q, 1000, "(nothing)");
    work_queue_add_at(&q, STR("x"), 10);
    work_queue_add_at(&q, STR("x"), 5);
    assert_int_equal(work_queue_due(&q), 5);
    work_queue_drop(&q, STR("x"));
    assert_int_equal(work_queue_due(&q), INT64_MAX);
    work_queue_done(&q);
}

static void backs_off(void **state)
{
    static const int64_t want[] = { 5,    10,    20,    40,    80,    160,    320,    640,    1280,  2560,
                                    5120, 10240, 20480, 40960, 81920, 163840, 300000, 300000, 300000 };
    struct work_queue q;
    int64_t now_ms = 1000;

    (void)state;
    work_queue_init(&q, 1);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_int_equal(work_queue_add_failed(&q, STR("k"), now_ms), want[i]);
        assert_int_equal(work_queue_due(&q), now_ms + want[i]);
        now_ms += want[i];
        want_pop(&q, now_ms - 1, "(nothing)");
        want_pop(&q, now_ms, "k");
    }
    assert_int_equal(work_queue_add_failed(&q, STR("other"), now_ms), 5); /* each key has its own */
    work_queue_forget(&q, STR("k"));
    assert_int_equal(work_queue_add_failed(&q, STR("k"), now_ms), 5);
    for (int i = 0; i < 200; i++)
        (void)work_queue_add_failed(&q, STR("k"), now_ms);
    work_queue_drop(&q, STR("k"));
    assert_int_equal(work_queue_add_failed(&q, STR("k"), now_ms), 5);
    work_queue_done(&q);
}

/* A popped key may be forgotten, dropped or added while its text is in use. */
static void popped_key_lives(void **state)
{
    struct work_queue q;
    struct str key;

    (void)state;
    work_queue_init(&q, 1);
    work_queue_add(&q, STR("k"));
    assert_true(work_queue_pop(&q, 0, &key));
    work_queue_forget(&q, key);
    work_queue_drop(&q, key);
    assert_true(str_is(key, "k"));
    work_queue_add_at(&q, key, 7);
    assert_int_equal(work_queue_due(&q), 7);
    assert_false(work_queue_pop(&q, 6, &key));
    assert_true(work_queue_pop(&q, 7, &key));
    assert_true(str_is(key, "k"));
    work_queue_done(&q);
}

/* Whatever is done in whatever order: what comes out does not depend on the seed of the map, no key is lost, none
 * comes twice. */
static void order_is_independent_of_the_seed(void **state)
{
    enum { KEYS = 20, STEPS = 5000 };
    struct work_queue a, b;
    struct rand r;
    bool is_in[KEYS] = { 0 };

    (void)state;
    rand_seed(&r, 7);
    work_queue_init(&a, 1);
    work_queue_init(&b, 99);
    for (int64_t now_ms = 0; now_ms < STEPS; now_ms++) {
        char text[8];
        int n = (int)rand_below(&r, KEYS);
        struct str key = { text, (size_t)snprintf(text, sizeof(text), "k%d", n) }, x, y;
        int64_t at_ms = now_ms + (int64_t)rand_below(&r, 50);

        switch (rand_below(&r, 4)) {
        case 0:
            work_queue_add(&a, key), work_queue_add(&b, key);
            is_in[n] = true;
            break;
        case 1:
            work_queue_add_at(&a, key, at_ms), work_queue_add_at(&b, key, at_ms);
            is_in[n] = true;
            break;
        case 2:
            assert_int_equal(work_queue_add_failed(&a, key, now_ms), work_queue_add_failed(&b, key, now_ms));
            is_in[n] = true;
            break;
        default:
            work_queue_forget(&a, key), work_queue_forget(&b, key);
        }
        if (!rand_chance(&r, 1, 2))
            continue;
        if (!work_queue_pop(&a, now_ms, &x)) {
            assert_false(work_queue_pop(&b, now_ms, &y));
            continue;
        }
        assert_true(work_queue_pop(&b, now_ms, &y));
        assert_true(str_eq(x, y));
        for (n = 0; n < KEYS; n++) {
            struct str name = { text, (size_t)snprintf(text, sizeof(text), "k%d", n) };

            if (str_eq(name, x))
                break;
        }
        assert_true(n < KEYS && is_in[n]);
        is_in[n] = false;
        heap_check(&a.waiting);
    }
    for (struct str key; work_queue_pop(&a, INT64_MAX, &key);)
        is_in[strtol(key.p + 1, NULL, 10)] = false;
    for (int n = 0; n < KEYS; n++)
        assert_false(is_in[n]);
    work_queue_done(&a);
    work_queue_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_fair_and_coalesces),
        cmocka_unit_test(waits),
        cmocka_unit_test(backs_off),
        cmocka_unit_test(popped_key_lives),
        cmocka_unit_test(order_is_independent_of_the_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
