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

static struct key key_of(const struct entry *entry)
{
    struct str key = { entry->key, entry->key_n };

    return (struct key){ str_sub(key, 0, entry->namespace_n), str_from(key, entry->namespace_n + 1) };
}

static int order_of(const struct entry *a, const struct entry *b)
{
    int order = str_cmp(key_of(a).namespace, key_of(b).namespace);

    return order ? order : str_cmp(key_of(a).name, key_of(b).name);
}

/* Every key stands between those around it, no child above its parent. Returns how many objects there are. */
static size_t in_shape(const struct index *x, const struct entry *at, const struct entry *low, const struct entry *high)
{
    size_t n;

    if (!at)
        return 0;
    assert_true(!low || order_of(low, at) < 0);
    assert_true(!high || order_of(at, high) < 0);
    assert_true(!at->left || at->left->priority <= at->priority);
    assert_true(!at->right || at->right->priority <= at->priority);
    n = in_shape(x, at->left, low, at) + (at->object != NULL) + in_shape(x, at->right, at, high);
    assert_int_equal(at->n_live, n);
    return n;
}

static void index_check(const struct index *x)
{
    assert_int_equal(in_shape(x, x->root, NULL, NULL), index_count(x));
    map_check(&x->by_key);
}

struct walked {
    const struct entry *last;
    size_t n, n_live, limit;
};

static bool in_order(void *ctx, const struct entry *entry)
{
    struct walked *w = ctx;

    assert_true(!w->last || order_of(w->last, entry) < 0);
    w->last = entry;
    w->n++;
    w->n_live += entry->object != NULL;
    return w->n != w->limit;
}

static void add(struct index *x, const char *namespace, size_t n)
{
    uint64_t deleted;

    assert_non_null(index_add(x, object_named(namespace, n), &deleted));
    assert_int_equal(deleted, 0);
}

/* All of a namespace, a few at a time: in order, none twice, none left out, and as many as were said to follow. */
static void walk_pages(const struct index *x, const char *namespace, bool with_deleted, size_t n_live, size_t n_all)
{
    struct key after = { 0 };
    size_t left = index_count_after(x, str_of(namespace), after);

    assert_int_equal(left, n_live);
    for (;;) {
        struct walked w = { .limit = 7 };

        index_walk(x, &(struct index_walk){ str_of(namespace), after, with_deleted, in_order, &w });
        if (w.n == 0)
            break;
        after = key_of(w.last);
        left -= w.n_live;
        n_all -= w.n;
        assert_int_equal(index_count_after(x, str_of(namespace), after), left);
    }
    assert_int_equal(left, 0);
    assert_int_equal(n_all, 0);
}

static void random_adds_and_removes(void **state)
{
    static const char *const spaces[] = { "a", "a-b", "a.b", "b", "" };
    enum { N_NAMES = 40, NEVER = 0, LIVE, DELETED, N_STATES };
    int is[ARRAY_LEN(spaces)][N_NAMES] = { 0 };
    size_t all[N_STATES] = { 0 }, of[ARRAY_LEN(spaces)][N_STATES] = { 0 };
    struct index x;
    struct rand r;

    (void)state;
    index_init(&x, 5);
    rand_seed(&r, 1);
    for (uint64_t i = 1; i < 5000; i++) {
        size_t space = rand_below(&r, ARRAY_LEN(spaces)), n = rand_below(&r, N_NAMES);
        struct entry *entry = find(&x, spaces[space], n);
        int was = is[space][n];
        uint64_t deleted;

        assert_int_equal(entry != NULL, was == LIVE);
        if (was == LIVE) {
            object_unref(entry->object);
            if (rand_chance(&r, 1, 2)) {
                entry->object = object_named(spaces[space], n); /* another object of the same name */
                continue;
            }
            index_delete(&x, entry, i);
            is[space][n] = DELETED;
            if (rand_chance(&r, 1, 2)) {
                index_remove(&x, entry);
                is[space][n] = NEVER;
            }
        } else {
            assert_non_null(index_add(&x, object_named(spaces[space], n), &deleted));
            assert_int_equal(deleted != 0, was == DELETED);
            is[space][n] = LIVE;
        }
        all[was]--, of[space][was]--;
        all[is[space][n]]++, of[space][is[space][n]]++;
        if (i % 10)
            continue;
        index_check(&x);
        space = rand_below(&r, ARRAY_LEN(spaces)); /* the last: all of them */
        walk_pages(&x, "", false, all[LIVE], all[LIVE]);
        if (space < ARRAY_LEN(spaces) - 1)
            walk_pages(&x, spaces[space], true, of[space][LIVE], of[space][LIVE] + of[space][DELETED]);
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
        add(&x, "a", i);
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
    add(&x, "a", 1);
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
