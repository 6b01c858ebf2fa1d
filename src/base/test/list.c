/* list.c - tests of linked lists, also against an array as the model */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/list.h"

#include "base/rand.h"
#include "base/test/check.h"
#include "base/util.h"

struct item {
    int id;
    struct list_link link;
};

static void both_ends(void **state)
{
    struct item a = { 1 }, b = { 2 }, c = { 3 };
    struct list l = LIST_INIT(l);

    assert_true(list_is_empty(&l));
    assert_null(LIST_FIRST(&l, struct item, link));
    assert_null(LIST_LAST(&l, struct item, link));
    assert_null(list_pop_front(&l));
    list_push(&l, &b.link);
    list_push(&l, &c.link);
    list_insert_before(&b.link, &a.link);
    assert_int_equal(list_check(&l), 3);
    assert_ptr_equal(LIST_FIRST(&l, struct item, link), &a);
    assert_ptr_equal(LIST_LAST(&l, struct item, link), &c);
    list_remove(&b.link);
    list_remove(&b.link); /* twice is fine */
    assert_false(list_is_linked(&b.link));
    list_insert_before(&c.link, &b.link);
    assert_ptr_equal(LIST_ITEM(list_pop_front(&l), struct item, link), &a);
    assert_ptr_equal(LIST_ITEM(list_pop_front(&l), struct item, link), &b);
    assert_int_equal(list_check(&l), 1);
}

static void removing_while_walking(void **state)
{
    struct item *items = xcalloc(10, sizeof(*items));
    struct list l;
    int next = 0;

    list_init(&l);
    for (int i = 0; i < 10; i++) {
        items[i].id = i;
        list_push(&l, &items[i].link);
    }
    LIST_FOREACH(struct item, item, &l, link) {
        assert_int_equal(item->id, next++);
        if (item->id % 3 == 0)
            list_remove(&item->link);
    }
    assert_int_equal(next, 10);
    assert_int_equal(list_check(&l), 6);
    LIST_FOREACH(struct item, item, &l, link)
        list_remove(&item->link);
    assert_true(list_is_empty(&l));
    free(items);
}

static void appending_moves_all(void **state)
{
    struct item items[6] = { { 0 } };
    struct list a, b;
    int next = 0;

    list_init(&a);
    list_init(&b);
    for (int i = 0; i < 6; i++) {
        items[i].id = i;
        list_push(i < 3 ? &a : &b, &items[i].link);
    }
    list_append(&a, &b);
    assert_int_equal(list_check(&a), 6);
    assert_int_equal(list_check(&b), 0);
    list_append(&a, &b); /* nothing */
    LIST_FOREACH(struct item, item, &a, link)
        assert_int_equal(item->id, next++);
    list_append(&b, &a); /* to an empty one */
    assert_int_equal(list_check(&b), 6);
}

static void random_steps_match_an_array(void **state)
{
    enum { ITEMS = 20 };
    struct item items[ITEMS] = { { 0 } };
    int model[ITEMS];
    size_t n = 0;
    struct rand r;
    struct list l;

    rand_seed(&r, 6);
    list_init(&l);
    for (int i = 0; i < ITEMS; i++)
        items[i].id = i;
    for (int step = 0; step < 5000; step++) {
        struct item *item = &items[rand_below(&r, ITEMS)];
        size_t at = 0;

        if (list_is_linked(&item->link)) {
            while (model[at] != item->id)
                at++;
            list_remove(&item->link);
            memmove(&model[at], &model[at + 1], (--n - at) * sizeof(model[0]));
        } else {
            at = rand_below(&r, n + 1);
            list_insert_before(at < n ? &items[model[at]].link : &l.head, &item->link);
            memmove(&model[at + 1], &model[at], (n++ - at) * sizeof(model[0]));
            model[at] = item->id;
        }
        assert_int_equal(list_check(&l), n);
        at = 0;
        LIST_FOREACH(struct item, it, &l, link)
            assert_int_equal(it->id, model[at++]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends),
        cmocka_unit_test(removing_while_walking),
        cmocka_unit_test(appending_moves_all),
        cmocka_unit_test(random_steps_match_an_array),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
