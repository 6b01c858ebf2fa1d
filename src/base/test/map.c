/* map.c - tests of the maps against an array as the model */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/map.h"

#include "base/arena.h"
#include "base/rand.h"
#include "base/test/check.h"
#include "base/util.h"

enum { KEYS = 400 };

struct entry {
    char name[16];
    struct str key;
    bool is_in, is_seen;
};

static struct entry *entries_new(void)
{
    struct entry *e = xcalloc(KEYS, sizeof(*e));

    for (int i = 0; i < KEYS; i++) {
        int n = snprintf(e[i].name, sizeof(e[i].name), "ns/pod-%d", i);

        e[i].key = (struct str){ e[i].name, (size_t)n };
    }
    e[0].key = STR_NULL; /* an empty key is a key */
    return e;
}

static void the_basics(void **state)
{
    int one = 1, two = 2;
    struct map m;

    map_init(&m, map_seed_default());
    assert_null(map_get(&m, STR("a")));
    assert_null(map_remove(&m, STR("a")));
    assert_null(map_put(&m, STR("a"), &one));
    assert_ptr_equal(map_put(&m, STR("a"), &two), &one);
    assert_ptr_equal(map_get(&m, STR("a")), &two);
    assert_null(map_get(&m, STR("b")));
    assert_int_equal(map_count(&m), 1);
    map_clear(&m);
    map_check(&m);
    assert_null(map_get(&m, STR("a")));
    assert_null(map_put(&m, STR("a"), &one));
    assert_ptr_equal(map_remove(&m, STR("a")), &one);
    assert_int_equal(map_count(&m), 0);
    map_done(&m);
    map_done(&m);
    assert_null(map_put(&m, STR("again"), &one));
    map_done(&m);
}

static void a_set_keeps_copies(void **state)
{
    autoarena a = { 0 };
    struct map m = { 0 };
    char text[] = "abc";

    assert_true(map_add(&m, &a, (struct str){ text, 3 }));
    text[0] = 'x';
    assert_false(map_add(&m, &a, STR("abc")));
    assert_true(map_add(&m, &a, (struct str){ text, 3 }));
    assert_int_equal(map_count(&m), 2);
    map_check(&m);
    assert_non_null(map_remove(&m, STR("abc")));
    assert_true(map_add(&m, &a, STR("abc")));
    map_done(&m);
}

static void put_takes_the_new_key(void **state)
{
    char old_key[] = "key", new_key[] = "key";
    struct map m = { 0 };
    struct map_iter it;

    map_put(&m, str_of(old_key), old_key);
    assert_ptr_equal(map_put(&m, str_of(new_key), new_key), old_key);
    memset(old_key, 'x', sizeof(old_key)); /* its owner is gone */
    assert_ptr_equal(map_get(&m, STR("key")), new_key);
    it = map_iter(&m);
    assert_ptr_equal(map_next(&it), new_key);
    assert_ptr_equal(it.key.p, new_key);
    assert_null(map_next(&it));
    assert_null(map_next(&it));
    map_done(&m);
}

static void check_all_seen_once(const struct map *m, struct entry *e)
{
    size_t n = 0;

    for (int i = 0; i < KEYS; i++)
        e[i].is_seen = false;
    MAP_FOREACH(struct entry *, one, m) {
        assert_true(one->is_in && !one->is_seen);
        assert_true(str_eq(one_it.key, one->key));
        one->is_seen = true;
        n++;
    }
    assert_int_equal(n, map_count(m));
}

static void random_steps_match_an_array(void **state)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        autofree struct entry *e = entries_new();
        size_t n = 0, range = seed % 2 ? KEYS : 12; /* a full small map, and one that grows */
        struct rand r;
        struct map m;

        rand_seed(&r, seed);
        map_init(&m, seed);
        for (int step = 0; step < 5000; step++) {
            struct entry *one = &e[rand_below(&r, range)];

            switch (rand_below(&r, 3)) {
            case 0:
                assert_ptr_equal(map_put(&m, one->key, one), one->is_in ? one : NULL);
                n += !one->is_in;
                one->is_in = true;
                break;
            case 1:
                assert_ptr_equal(map_remove(&m, one->key), one->is_in ? one : NULL);
                n -= one->is_in;
                one->is_in = false;
                break;
            default:
                assert_ptr_equal(map_get(&m, one->key), one->is_in ? one : NULL);
            }
            assert_int_equal(map_count(&m), n);
            if (step % 16 == 0) {
                map_check(&m);
                check_all_seen_once(&m, e);
            }
        }
        map_done(&m);
    }
}

/* Removing what map_next() gave must not hide or repeat another. */
static void removing_while_walking(void **state)
{
    struct rand r;

    rand_seed(&r, 10);
    for (uint64_t turn = 0; turn < 400; turn++) {
        autofree struct entry *e = entries_new();
        size_t n = 1 + rand_below(&r, turn % 4 ? 12 : KEYS), seen = 0, kept = 0;
        struct map m;

        map_init(&m, turn);
        for (size_t i = 0; i < n; i++)
            map_put(&m, e[i].key, &e[i]);
        MAP_FOREACH(struct entry *, one, &m) {
            assert_false(one->is_seen);
            one->is_seen = true;
            seen++;
            if (rand_chance(&r, 1, 2))
                assert_ptr_equal(map_remove(&m, one->key), one);
            else
                kept++;
        }
        assert_int_equal(seen, n);
        assert_int_equal(map_count(&m), kept);
        map_check(&m);
        map_done(&m);
    }
}

static void loops_can_be_left(void **state)
{
    struct map m = { 0 };
    int turns = 0;

    map_put(&m, STR("a"), &m);
    map_put(&m, STR("b"), &m);
    MAP_FOREACH(struct map *, one, &m) {
        turns++;
        if (one)
            break;
    }
    assert_int_equal(turns, 1);
    map_done(&m);
}

static void numbers_match_an_array(void **state)
{
    static const uint64_t ids[] = { 0, 1, 2, 8, 16, 1u << 31, UINT64_MAX, UINT64_MAX - 1, (uint64_t)1 << 63 };
    bool is_in[ARRAY_LEN(ids)] = { false };
    struct map_u64 m;
    struct rand r;

    rand_seed(&r, 11);
    map_u64_init(&m, 3);
    for (int step = 0; step < 3000; step++) {
        size_t i = rand_below(&r, ARRAY_LEN(ids)), n = 0;
        void *value = (void *)&ids[i];
        struct map_iter it;

        assert_ptr_equal(map_u64_get(&m, ids[i]), is_in[i] ? value : NULL);
        if (rand_chance(&r, 1, 2))
            assert_ptr_equal(map_u64_put(&m, ids[i], value), is_in[i] ? value : NULL);
        else
            assert_ptr_equal(map_u64_remove(&m, ids[i]), is_in[i] ? value : NULL);
        is_in[i] = map_u64_get(&m, ids[i]) != NULL;
        map_check(&m.map);
        it = map_u64_iter(&m);
        for (const uint64_t *id; (id = map_next(&it)); n++)
            assert_true(is_in[id - ids] && it.id == *id);
        assert_int_equal(n, map_count(&m.map));
    }
    for (uint64_t id = 0; id < 100000; id += 10)
        map_u64_put(&m, id, &m);
    map_check(&m.map);
    for (uint64_t id = 0; id < 100000; id++)
        if (id > 16)
            assert_int_equal(map_u64_get(&m, id) != NULL, id % 10 == 0);
    map_u64_done(&m);
}

MAP_OF(entry_map, struct entry);

static void a_map_of_one_type(void **state)
{
    struct entry one = { .name = "one" }, *got;
    struct entry_map m;

    entry_map_init(&m, 1);
    assert_null(entry_map_put(&m, STR("k"), &one));
    got = entry_map_get(&m, STR("k"));
    assert_string_equal(got->name, "one");
    assert_int_equal(entry_map_count(&m), 1);
    assert_ptr_equal(entry_map_remove(&m, STR("k")), &one);
    entry_map_done(&m);
}

static void seeds_differ(void **state)
{
    assert_true(map_seed_default() != map_seed_default());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_basics),
        cmocka_unit_test(a_set_keeps_copies),
        cmocka_unit_test(put_takes_the_new_key),
        cmocka_unit_test(random_steps_match_an_array),
        cmocka_unit_test(removing_while_walking),
        cmocka_unit_test(loops_can_be_left),
        cmocka_unit_test(numbers_match_an_array),
        cmocka_unit_test(a_map_of_one_type),
        cmocka_unit_test(seeds_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
