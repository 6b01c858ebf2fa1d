/* key_maker.c - tests: pairs come from a thread, each once */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "driver/key_maker.h"

#include <unistd.h>

static struct ssh_keys wait_for_pair(struct key_maker *m, struct arena *a)
{
    struct ssh_keys keys = { 0 };

    while (!keys.private_pem.n) { /* as long as it takes */
        assert_int_equal(key_maker_take(m, a, &keys, NULL), 0);
        if (!keys.private_pem.n)
            usleep(1000);
    }
    return keys;
}

static void test_pairs_differ(void **state)
{
    struct key_maker *m = key_maker_new();
    struct ssh_keys one, two, none;
    autoarena a = { 0 };

    (void)state;
    assert_int_equal(key_maker_take(m, &a, &none, NULL), 0); /* nobody has wanted any */
    assert_int_equal(none.private_pem.n, 0);
    key_maker_want(m, 2);
    one = wait_for_pair(m, &a);
    two = wait_for_pair(m, &a);
    assert_true(str_starts(one.private_pem, STR("-----BEGIN RSA PRIVATE KEY-----\n")));
    assert_true(str_starts(one.public_line, STR("ssh-rsa ")));
    assert_false(str_eq(one.private_pem, two.private_pem));
    key_maker_want(m, 0);
    key_maker_free(m);
}

static void test_going_while_pairs_are_made(void **state)
{
    struct key_maker *m = key_maker_new();

    (void)state;
    key_maker_want(m, 1000000);
    key_maker_free(m);
    key_maker_free(key_maker_new());
    key_maker_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_differ),
        cmocka_unit_test(test_going_while_pairs_are_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
