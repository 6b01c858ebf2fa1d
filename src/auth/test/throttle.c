/* throttle.c - tests: one client that asks for everything leaves something for the others */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "auth/throttle.h"

#include "base/rand.h"
#include "base/util.h"

static struct identity named(const char *name)
{
    return (struct identity){ .user = str_of(name) };
}

static int begin(struct throttle *t, const char *name, const char *address, int64_t ms, struct throttle_ticket *ret)
{
    struct identity who = named(name);

    *ret = (struct throttle_ticket){ .kind = THROTTLE_REQUEST };
    return throttle_begin(t, &who, str_of(address), ms, ret);
}

static void rate(void **state)
{
    struct throttle *t = throttle_new(&(struct throttle_limits){ .rate = 10, .burst = 20 });
    struct throttle_ticket k;
    int64_t ms = 1000000;

    (void)state;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(begin(t, "ann", "10.0.0.1", ms, &k), 0);
        throttle_end(t, &k);
    }
    assert_int_equal(begin(t, "ann", "10.0.0.1", ms, &k), 1);
    throttle_end(t, &k);                                      /* nothing was taken */
    assert_int_equal(begin(t, "ann", "10.0.0.2", ms, &k), 1); /* by name */
    assert_int_equal(begin(t, "bob", "10.0.0.1", ms, &k), 1); /* by address */
    assert_int_equal(begin(t, "bob", "10.0.0.2", ms, &k), 0);
    throttle_end(t, &k);
    assert_int_equal(begin(t, "ann", "10.0.0.1", ms + 100, &k), 0);
    throttle_end(t, &k);
    assert_int_equal(begin(t, "ann", "10.0.0.1", ms + 100, &k), 1);
    assert_int_equal(begin(t, "ann", "10.0.0.1", ms - 5000, &k), 1); /* a clock that goes back gives nothing */
    assert_int_equal(throttle_stats(t).refused, 5);
    throttle_free(t);
}

static void shared_addresses(void **state)
{
    struct throttle *t = throttle_new(&(struct throttle_limits){ .rate = 1, .burst = 1 });
    struct throttle_ticket k;

    (void)state;
    assert_int_equal(begin(t, "ann", "127.0.0.1", 0, &k), 0);
    assert_int_equal(begin(t, "ann", "127.0.0.1", 0, &k), 1);
    assert_int_equal(begin(t, "bob", "127.0.0.1", 0, &k), 0); /* somebody else on this machine */
    assert_int_equal(begin(t, "eve", "unix", 0, &k), 0);
    throttle_free(t);
}

static void shares(void **state)
{
    struct throttle *t = throttle_new(
        &(struct throttle_limits){ .per_client = 100, .total = 100, .rate = 100000, .burst = 100000 });
    struct throttle_ticket k[100], more, one[150];
    struct str masters = STR("system:masters");
    struct identity root = { .user = STR("root"), .groups = &masters, .n_groups = 1 };
    int taken = 0;

    (void)state;
    for (int i = 0; i < 100; i++)
        taken += begin(t, "greedy", "10.0.0.1", 0, &k[i]) == 0;
    assert_int_equal(taken, 100); /* nobody else wants it */
    assert_int_equal(begin(t, "greedy", "10.0.0.1", 0, &more), 1);
    for (int i = 0; i < 50; i++) { /* all of these have none yet */
        char name[20], address[20];

        (void)snprintf(name, sizeof(name), "user%d", i);
        (void)snprintf(address, sizeof(address), "10.0.1.%d", i);
        assert_int_equal(begin(t, name, address, 0, &one[i]), 0);
        assert_int_equal(begin(t, name, address, 0, &more), 1);
    }
    assert_int_equal(throttle_begin(t, &root, STR("10.0.0.1"), 0, &more), 0);
    throttle_end(t, &more);
    throttle_end(t, &more); /* twice is once */
    for (int i = 0; i < 100; i++)
        throttle_end(t, &k[i]);
    for (int i = 0; i < 50; i++)
        throttle_end(t, &one[i]);
    assert_int_equal(throttle_stats(t).in_flight, 0);
    throttle_free(t);
}

static void streams(void **state)
{
    struct throttle *t = throttle_new(&(struct throttle_limits){ .streams = 3, .per_client = 2 });
    struct identity ann = named("ann");
    struct throttle_ticket k[5], r;
    int taken = 0;

    (void)state;
    for (int i = 0; i < 5; i++) {
        k[i].kind = THROTTLE_STREAM;
        taken += throttle_begin(t, &ann, STR("10.0.0.1"), 0, &k[i]) == 0;
    }
    assert_int_equal(taken, 3);
    assert_int_equal(begin(t, "ann", "10.0.0.1", 0, &r), 0); /* they do not count as requests */
    throttle_end(t, &r);
    for (int i = 0; i < 5; i++)
        throttle_end(t, &k[i]);
    assert_int_equal(throttle_stats(t).streams, 0);
    throttle_free(t);
}

static void guesses(void **state)
{
    struct throttle *t = throttle_new(&(struct throttle_limits){ .failures = 6 });
    int64_t ms = 5000000;

    (void)state;
    for (int i = 0; i < 6; i++) {
        assert_int_equal(throttle_guesses(t, STR("10.0.0.1"), ms), 0);
        throttle_failed(t, STR("10.0.0.1"), ms);
    }
    assert_int_equal(throttle_guesses(t, STR("10.0.0.1"), ms), 10);
    assert_int_equal(throttle_guesses(t, STR("10.0.0.2"), ms), 0);
    assert_int_equal(throttle_guesses(t, STR("10.0.0.1"), ms + 10000), 0);
    for (int i = 0; i < 100; i++)
        throttle_failed(t, STR("127.0.0.1"), ms);
    assert_int_equal(throttle_guesses(t, STR("127.0.0.1"), ms), 0);
    throttle_free(t);
}

/* Names without end fill no memory, and whatever is begun and ended, nothing is left. */
static void many(void **state)
{
    struct throttle *t = throttle_new(NULL);
    struct throttle_ticket open[64] = { 0 };
    struct rand r;
    int64_t ms = 0;

    (void)state;
    rand_seed(&r, 3);
    for (int i = 0; i < 200000; i++) {
        char name[32], address[32];
        struct throttle_ticket *k = &open[rand_below(&r, 64)];

        throttle_end(t, k);
        (void)snprintf(name, sizeof(name), "u%u", (unsigned)rand_below(&r, 100000));
        (void)snprintf(address, sizeof(address), "10.%u.0.1", (unsigned)rand_below(&r, 60000));
        (void)begin(t, name, address, ms, k);
        ms += (int64_t)rand_below(&r, 10);
        assert_true(throttle_stats(t).clients <= 8192 && throttle_stats(t).in_flight <= 64);
    }
    for (size_t i = 0; i < ARRAY_LEN(open); i++)
        throttle_end(t, &open[i]);
    assert_int_equal(throttle_stats(t).in_flight, 0);
    throttle_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rate),    cmocka_unit_test(shared_addresses), cmocka_unit_test(shares),
        cmocka_unit_test(streams), cmocka_unit_test(guesses),          cmocka_unit_test(many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
