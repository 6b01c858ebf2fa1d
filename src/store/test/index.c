/* index.c - names found and walked in order, whatever the order of adding and removing */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "store/store_internal.h"

#include "api/meta.h"
#include "base/test/check.h"
#include "base/util.h"

#include <stdio.h>

static struct object *object_named(const char *namespace, size_t n)
{
    autoarena a = { 0 };

    return object_make(type_by_kind(STR("v1"), STR("Pod")),
                       object_new(&a, "v1", "Pod", str_of(namespace), arena_fmt(&a, "n%zu", n)), 1);
}

static struct entry *find(const struct index *x, const char *namespace, size_t n)
{
    char name[30];

    (void)snprintf(name, sizeof(name), "n%zu", n);
    return index_find(x, str_of(namespace), str_of(name));
}

static int order_of(const struct entry *a, const struct entry *b)
{
    int order = str_cmp(a->object->namespace, b->object->namespace);

    return order ? order : str_cmp(a->object->name, b->object->name);
}

/* Every key stands between those around it, no child above its parent. Returns how many there are. */
static size_t in_shape(const struct index *x, const struct entry *at, const struct entry *low, const struct entry *high)
{
    if (!at)
        return 0;
    assert_true(!low || order_of(low, at) < 0);
    assert_true(!high || order_of(at, high) < 0);
    assert_true(!at->left || at->left->priority <= at->priority);
    assert_true(!at->right || at->right->priority <= at->priority);
    assert_ptr_equal(index_find(x, at->object->namespace, at->object->name), at);
    return in_shape(x, at->left, low, at) + 1 + in_shape(x, at->right, at, high);
}

static void index_check(const struct index *x)
{
    assert_int_equal(in_shape(x, x->root, NULL, NULL), map_count(&x->by_key));
    map_check(&x->by_key);
}

struct walked {
    struct str namespace, name;
    size_t n;
};

static void in_order(void *ctx, const struct object *o)
{
    struct walked *w = ctx;
    int order = str_cmp(w->namespace, o->namespace);

    assert_true(w->n == 0 || order < 0 || (order == 0 && str_cmp(w->name, o->name) < 0));
    *w = (struct walked){ o->namespace, o->name, w->n + 1 };
}

static void random_adds_and_removes(void **state)
{
    static const char *const spaces[] = { "a", "a-b", "a.b", "b", "" };
    enum { N_NAMES = 40 };
    bool is_there[ARRAY_LEN(spaces)][N_NAMES] = { 0 };
    size_t n_there = 0, n_of[ARRAY_LEN(spaces)] = { 0 };
    struct index x;
    struct rand r;

    (void)state;
    index_init(&x, 5);
    rand_seed(&r, 1);
    for (int i = 0; i < 5000; i++) {
        size_t space = rand_below(&r, ARRAY_LEN(spaces)), n = rand_below(&r, N_NAMES);
        struct entry *entry = find(&x, spaces[space], n);
        struct walked all = { 0 }, some = { 0 };

        assert_int_equal(entry != NULL, is_there[space][n]);
        if (entry) {
            object_unref(entry->object);
            entry->object = object_named(spaces[space], n); /* another object of the same name */
            if (rand_chance(&r, 1, 2))
                continue;
            object_unref(entry->object);
            index_remove(&x, entry);
        } else {
            index_add(&x, object_named(spaces[space], n));
        }
        is_there[space][n] = !entry;
        n_there += entry ? -1 : 1;
        n_of[space] += entry ? -1 : 1;
        if (i % 10)
            continue;
        index_check(&x);
        index_walk(&x, STR_NULL, in_order, &all);
        assert_int_equal(all.n, n_there);
        space = rand_below(&r, ARRAY_LEN(spaces) - 1);
        index_walk(&x, str_of(spaces[space]), in_order, &some);
        assert_int_equal(some.n, n_of[space]);
    }
    index_done(&x);
}

static size_t depth(const struct entry *at)
{
    size_t left, right;

    if (!at)
        return 0;
    left = depth(at->left), right = depth(at->right);
    return 1 + MAX_OF(left, right);
}

/* Names in order are what jobs make, and the worst for a tree that does not balance itself. */
static void stays_flat(void **state)
{
    struct index x;

    (void)state;
    index_init(&x, 5);
    for (size_t i = 0; i < 20000; i++)
        index_add(&x, object_named("a", i));
    assert_in_range(depth(x.root), 15, 60);
    index_check(&x);
    for (size_t i = 0; i < 20000; i += 2) {
        struct entry *entry = find(&x, "a", i);

        object_unref(entry->object);
        index_remove(&x, entry);
    }
    assert_in_range(depth(x.root), 14, 60);
    index_check(&x);
    index_done(&x);
}

static void no_such_name(void **state)
{
    char long_name[600];
    struct index x;

    (void)state;
    index_init(&x, 5);
    assert_null(find(&x, "a", 1));
    index_add(&x, object_named("a", 1));
    memset(long_name, 'n', sizeof(long_name));
    assert_null(index_find(&x, STR("a"), (struct str){ long_name, sizeof(long_name) }));
    assert_null(index_find(&x, (struct str){ long_name, sizeof(long_name) }, STR("n1")));
    assert_null(index_find(&x, STR_NULL, STR_NULL));
    assert_null(index_find(&x, STR("a/n1"), STR_NULL));
    assert_null(index_find(&x, STR_NULL, STR("a/n1")));
    index_done(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_adds_and_removes),
        cmocka_unit_test(stays_flat),
        cmocka_unit_test(no_such_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
