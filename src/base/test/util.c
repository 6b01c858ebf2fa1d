/* util.c - tests: what is asked for the lesser of two is asked once */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"

static int64_t tick(int64_t *n)
{
    return ++*n;
}

/* A part of a loop: at its first turn it is busy, then it has time. */
static int64_t turn(int *turns)
{
    return (*turns)++ ? INT64_MAX : 0;
}

static void each_is_evaluated_once(void **state)
{
    int64_t a = 0, b = 10, wait_ms = 500;
    int turns = 0;

    (void)state;
    assert_int_equal(MIN_OF(tick(&a), tick(&b)), 1);
    assert_int_equal(MAX_OF(tick(&a), tick(&b)), 12);
    assert_int_equal(MIN_OF(MAX_OF(tick(&a), 0), MIN_OF(tick(&b), 100)), 3);
    assert_int_equal(a, 3);
    assert_int_equal(b, 13);
    wait_ms = MIN_OF(wait_ms, turn(&turns));
    assert_int_equal(wait_ms, 0);
    assert_int_equal(turns, 1);
}

static void types_are_kept(void **state)
{
    const char *text = "abc", *end = text + 3;
    size_t size = 1;
    int64_t large = INT64_MAX;

    (void)state;
    assert_int_equal(MIN_OF(size, 5), 1);
    assert_int_equal(MAX_OF(large, 5), INT64_MAX);
    assert_true(MIN_OF(1, 0.5) == 0.5);
    assert_ptr_equal(MAX_OF(text, end), end);
    _Static_assert(sizeof(MIN_OF((char)1, (int64_t)1)) == sizeof(int64_t), "of both");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_evaluated_once),
        cmocka_unit_test(types_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
