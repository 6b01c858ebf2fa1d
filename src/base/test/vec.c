/* vec.c - tests of arrays that grow */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/vec.h"

struct item {
    int a;
    char text[20];
};

static void pushed_items_stay_in_order(void **state)
{
    autoarena a = { 0 };
    VEC(struct item) items = { 0 };
    int next = 0;

    for (int i = 0; i < 1000; i++) {
        struct item *item = vec_push(&a, &items);

        assert_int_equal(item->a, 0); /* cleared */
        assert_int_equal(item->text[19], 0);
        memset(item, 0xff, sizeof(*item));
        item->a = i;
    }
    assert_int_equal(items.n, 1000);
    VEC_FOREACH(item, &items)
        assert_int_equal(item->a, next++);
    assert_int_equal(next, 1000);
}

static void an_empty_one_has_no_turns(void **state)
{
    VEC(int) none = { 0 };

    VEC_FOREACH(item, &none)
        fail_msg("a turn for %p", (void *)item);
}

static void push_gives_a_place_to_assign(void **state)
{
    autoarena a = { 0 };
    VEC(struct str) words = { 0 };

    *vec_push(&a, &words) = STR("one");
    *vec_push(&a, &words) = STR("two");
    assert_true(str_is(words.v[0], "one") && str_is(words.v[1], "two"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushed_items_stay_in_order),
        cmocka_unit_test(an_empty_one_has_no_turns),
        cmocka_unit_test(push_gives_a_place_to_assign),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
