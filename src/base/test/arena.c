/* arena.c - tests of memory that is dropped all at once */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"

#include "base/rand.h"
#include "base/util.h"

static void nothing_is_never_null(void **state)
{
    autoarena a = { 0 };

    assert_non_null(arena_alloc(&a, 0));
    assert_non_null(arena_zalloc(&a, 0));
    assert_non_null(arena_array(&a, int, 0));
    assert_string_equal(arena_str(&a, STR_NULL).p, "");
}

/* Every piece is aligned, and none overlaps another: each is filled with its own byte and looked at again later. */
static void pieces_are_aligned_and_apart(void **state)
{
    enum { PIECES = 300 };
    struct rand r;
    autoarena a = { 0 };

    rand_seed(&r, 1);
    for (int turn = 0; turn < 20; turn++) {
        unsigned char *p[PIECES];
        size_t n[PIECES];

        for (size_t i = 0; i < PIECES; i++) {
            n[i] = rand_below(&r, rand_chance(&r, 1, 50) ? 100000 : 100);
            p[i] = arena_alloc(&a, n[i]);
            assert_int_equal((uintptr_t)p[i] % _Alignof(max_align_t), 0);
            memset(p[i], (int)(i % 251), n[i]);
        }
        for (size_t i = 0; i < PIECES; i++)
            for (size_t k = 0; k < n[i]; k++)
                assert_int_equal(p[i][k], i % 251);
        arena_reset(&a);
        assert_int_equal(a.used, 0);
    }
}

static void reset_keeps_the_largest_block(void **state)
{
    autoarena a = { 0 };
    char *big, *again;

    (void)arena_alloc(&a, 10);
    big = arena_alloc(&a, 1000000);
    (void)arena_alloc(&a, 10);
    arena_reset(&a);
    again = arena_alloc(&a, 999999);
    assert_ptr_equal(again, big);
    arena_reset(&a);
    arena_reset(&a);
    arena_done(&a);
    arena_reset(&a); /* an empty one too */
    assert_null(a.blocks);
}

static void zalloc_clears_used_memory(void **state)
{
    static const char zeros[3000];
    autoarena a = { 0 };

    memset(arena_alloc(&a, sizeof(zeros)), 0xff, sizeof(zeros));
    arena_reset(&a);
    assert_memory_equal(arena_zalloc(&a, sizeof(zeros)), zeros, sizeof(zeros));
}

static void text_is_copied_with_a_nul(void **state)
{
    char source[] = "volcano";
    autoarena a = { 0 };
    struct str s = arena_str(&a, (struct str){ source, 4 });

    memset(source, 'x', sizeof(source));
    assert_string_equal(s.p, "volc");
    assert_string_equal(arena_cstr(&a, STR("abc")), "abc");
    assert_string_equal(arena_cat(&a, STR("ab"), STR("cd")).p, "abcd");
    assert_string_equal(arena_cat(&a, STR_NULL, STR("cd")).p, "cd");
    assert_string_equal(arena_cat(&a, STR("ab"), STR_NULL).p, "ab");
    s = arena_fmt(&a, "%.*s-%d", STR_ARG(STR("job")), 7);
    assert_int_equal(s.n, 5);
    assert_string_equal(s.p, "job-7");
    s = arena_fmt(&a, "%10000d", 1);
    assert_int_equal(s.n, 10000);
    assert_int_equal(s.p[9999], '1');
}

/* Formatted text is written into what is left of a block before it is known whether it fits. */
static void formats_at_the_end_of_a_block(void **state)
{
    for (size_t left = 1; left <= 64; left++) {
        autoarena a = { 0 };
        char *pad;
        struct str s, next;

        (void)arena_alloc(&a, 1);
        pad = arena_alloc(&a, (size_t)(a.end - a.at) - left);
        memset(pad, 'p', 16);
        s = arena_fmt(&a, "%s-%d", "0123456789abcdefghijklmnop", 42);
        next = arena_fmt(&a, "%s", "next");
        assert_string_equal(s.p, "0123456789abcdefghijklmnop-42");
        assert_string_equal(next.p, "next");
        assert_int_equal(pad[15], 'p');
    }
}

static void test_lower(void **state)
{
    autoarena a = { 0 };
    struct str s = arena_lower(&a, STR("Example.COM/X-\xc3\x84_9"));

    (void)state;
    assert_int_equal(s.n, 18);
    assert_string_equal(s.p, "example.com/x-\xc3\x84_9"); /* only ASCII */
    assert_int_equal(arena_lower(&a, STR_NULL).n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lower),
        cmocka_unit_test(formats_at_the_end_of_a_block),
        cmocka_unit_test(nothing_is_never_null),
        cmocka_unit_test(pieces_are_aligned_and_apart),
        cmocka_unit_test(reset_keeps_the_largest_block),
        cmocka_unit_test(zalloc_clears_used_memory),
        cmocka_unit_test(text_is_copied_with_a_nul),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
