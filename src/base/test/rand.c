/* rand.c - tests of the generator: known answers, evenness, bounds */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rand.h"

#include "base/util.h"

static void known_answers(void **state)
{
    static const uint64_t seeded[4] = { 0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f,
                                        0xf88bb8a8724c81ec }; /* splitmix64 from 0 */
    static const uint64_t out[] = { 11520, 0, 1509978240, 1215971899390074240 };
    struct rand r;

    rand_seed(&r, 0);
    assert_memory_equal(r.s, seeded, sizeof(seeded));
    r = (struct rand){ { 1, 2, 3, 4 } };
    for (size_t i = 0; i < ARRAY_LEN(out); i++)
        assert_true(rand_u64(&r) == out[i]);
}

static void the_same_seed_gives_the_same(void **state)
{
    struct rand a, b, c;
    char x[13], y[13];

    rand_seed(&a, 42);
    rand_seed(&b, 42);
    rand_seed(&c, 43);
    for (int i = 0; i < 100; i++) {
        uint64_t v = rand_u64(&a);

        assert_true(v == rand_u64(&b) && v != rand_u64(&c));
    }
    rand_bytes(&a, x, sizeof(x));
    rand_bytes(&b, y, sizeof(y));
    assert_memory_equal(x, y, sizeof(x));
    assert_true(rand_os_u64() != rand_os_u64());
}

/* 7 values, 70,000 draws: each comes about 10,000 times. The bound is over 10 standard deviations wide. */
static void below_is_even(void **state)
{
    int count[7] = { 0 };
    struct rand r;

    rand_seed(&r, 1);
    for (int i = 0; i < 70000; i++)
        count[rand_below(&r, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_in_range(count[i], 9000, 11000);
}

/* With n = 3/4 of 2^64 a careless scaling gives the values divisible by three twice as often. */
static void below_is_even_for_huge_bounds(void **state)
{
    const uint64_t n = (uint64_t)3 << 62;
    int count[3] = { 0 };
    struct rand r;

    rand_seed(&r, 2);
    for (int i = 0; i < 30000; i++) {
        uint64_t v = rand_below(&r, n);

        assert_true(v < n);
        count[v % 3]++;
    }
    for (int i = 0; i < 3; i++)
        assert_in_range(count[i], 9000, 11000);
}

static void bounds_hold(void **state)
{
    struct rand r;
    int yes = 0;

    rand_seed(&r, 3);
    for (int i = 0; i < 10000; i++) {
        int64_t v = rand_between(&r, -3, 3);

        assert_true(v >= -3 && v <= 3);
        assert_true(rand_below(&r, 1) == 0);
        assert_true(rand_between(&r, INT64_MIN, INT64_MIN) == INT64_MIN);
        (void)rand_between(&r, INT64_MIN, INT64_MAX);
        assert_true(rand_chance(&r, 1, 1));
        assert_false(rand_chance(&r, 0, 1));
        yes += rand_chance(&r, 1, 4);
    }
    assert_in_range(yes, 2200, 2800);
}

static void bytes_fill_exactly(void **state)
{
    struct rand r;

    rand_seed(&r, 4);
    for (size_t n = 0; n < 40; n++) {
        unsigned char p[42], seen[40] = { 0 };

        for (int turn = 0; turn < 20; turn++) {
            memset(p, 0, sizeof(p));
            if (turn % 2)
                rand_os_bytes(p + 1, n);
            else
                rand_bytes(&r, p + 1, n);
            assert_true(p[0] == 0 && p[n + 1] == 0);
            for (size_t i = 0; i < n; i++)
                seen[i] |= p[i + 1];
        }
        for (size_t i = 0; i < n; i++)
            assert_true(seen[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers), cmocka_unit_test(the_same_seed_gives_the_same),
        cmocka_unit_test(below_is_even), cmocka_unit_test(below_is_even_for_huge_bounds),
        cmocka_unit_test(bounds_hold),   cmocka_unit_test(bytes_fill_exactly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
