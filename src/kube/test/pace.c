/* pace.c - tests: it finds what a server takes, and lets go when it must */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "kube/pace.h"

/* A server that works on 'width' requests at a time, each for 'work_us'; more than 'most' at a time it refuses. Returns
 * how many were answered in that time. */
static unsigned serve(struct pace *p, unsigned width, int64_t work_us, unsigned most, int64_t from_ms, int64_t to_ms)
{
    int64_t sent[1024], done_us[1024], busy_us[64] = { 0 };
    bool refused[1024];
    unsigned n = 0, answered = 0;

    for (int64_t now_us = from_ms * 1000; now_us < to_ms * 1000; now_us += 200) {
        for (unsigned i = 0; i < n;) {
            if (done_us[i] > now_us) {
                i++;
                continue;
            }
            pace_ended(p, &(struct pace_result){ .answer = refused[i] ? PACE_BUSY : PACE_FINE,
                                                 .sent_ms = sent[i] / 1000,
                                                 .now_ms = now_us / 1000,
                                                 .took_us = now_us - sent[i],
                                                 .wait_ms = refused[i] ? 100 : 0 });
            answered += !refused[i];
            n--;
            sent[i] = sent[n];
            done_us[i] = done_us[n];
            refused[i] = refused[n];
        }
        while (pace_may(p, now_us / 1000)) {
            unsigned best = 0;

            pace_sent(p);
            for (unsigned k = 1; k < width; k++)
                best = busy_us[k] < busy_us[best] ? k : best;
            refused[n] = n >= most;
            busy_us[best] = MAX_OF(busy_us[best], now_us) + (refused[n] ? 0 : work_us);
            done_us[n] = refused[n] ? now_us + 300 : busy_us[best];
            sent[n++] = now_us;
        }
    }
    while (n--)
        pace_cancelled(p);
    return answered;
}

static void fills_a_server_and_no_more(void **state)
{
    static const struct {
        unsigned width;
        int64_t work_us;
    } rows[] = { { 4, 2000 }, { 16, 4000 }, { 32, 20000 }, { 2, 1000 }, { 1, 30000 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        unsigned best = (unsigned)(5000000 / rows[i].work_us * rows[i].width), got;
        struct pace p;

        pace_init(&p);
        (void)serve(&p, rows[i].width, rows[i].work_us, 1000, 0, 5000);
        got = serve(&p, rows[i].width, rows[i].work_us, 1000, 5000, 65000) / 12;
        if (got * 10 < best * 9)
            fail_msg("row %zu: %u of %u, limit %u", i, got, best, pace_limit(&p));
        if (rows[i].work_us >= 4000 && pace_limit(&p) > MAX_OF(rows[i].width, PACE_LEAST) * 8u)
            fail_msg("row %zu: limit %u", i, pace_limit(&p));
    }
}

static void a_busy_server_is_left_alone(void **state)
{
    struct pace p;

    (void)state;
    pace_init(&p);
    for (int i = 0; i < PACE_FIRST; i++)
        pace_sent(&p);
    assert_false(pace_may(&p, 0));
    for (int i = 0; i < PACE_FIRST; i++) /* all that were on their way: one cut */
        pace_ended(&p, &(struct pace_result){
                           .answer = PACE_BUSY, .now_ms = 10, .took_us = 1000, .wait_ms = 2000, .chance = 7 });
    assert_int_equal(pace_limit(&p), PACE_FIRST / 2);
    assert_false(pace_may(&p, 2009));
    assert_true(pace_may(&p, 2017));
    for (int64_t now = 3000; now < 10000; now += 1000) {
        pace_sent(&p);
        pace_ended(&p, &(struct pace_result){
                           .answer = PACE_BUSY, .sent_ms = now, .now_ms = now + 1, .took_us = 1000, .wait_ms = 1 });
    }
    assert_int_equal(pace_limit(&p), 1); /* never none */
    pace_sent(&p);
    pace_ended(&p, &(struct pace_result){
                       .answer = PACE_BUSY, .sent_ms = 20000, .now_ms = 20000, .took_us = 1000, .wait_ms = INT64_MAX });
    assert_true(pace_may(&p, 80000)); /* nobody keeps us away for ever */
}

static void a_limit_of_the_server_is_lived_with(void **state)
{
    struct pace p;
    unsigned got;

    (void)state;
    pace_init(&p);
    (void)serve(&p, 50, 5000, 20, 0, 5000);
    got = serve(&p, 50, 5000, 20, 5000, 15000);
    assert_true(got > 40000 / 5); /* of 4,000 in a second, with pauses of 100 ms each time it asks for too much */
}

static void silence_makes_careful(void **state)
{
    struct pace p;

    (void)state;
    pace_init(&p);
    pace_sent(&p);
    pace_ended(&p, &(struct pace_result){ .answer = PACE_SILENT, .now_ms = 30000, .took_us = 30000000 });
    assert_int_equal(pace_limit(&p), PACE_FIRST / 2);
    assert_true(pace_may(&p, 30000)); /* others may be lucky */
    assert_int_equal(p.quick_us, 0);  /* it says nothing about how quick the server is */
}

static void idle_does_not_grow(void **state)
{
    struct pace p;

    (void)state;
    pace_init(&p);
    for (int i = 0; i < 1000; i++) {
        pace_sent(&p);
        pace_ended(&p, &(struct pace_result){ .answer = PACE_FINE, .sent_ms = i, .now_ms = i, .took_us = 1000 });
    }
    assert_int_equal(pace_limit(&p), PACE_FIRST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_a_server_and_no_more),
        cmocka_unit_test(a_busy_server_is_left_alone),
        cmocka_unit_test(a_limit_of_the_server_is_lived_with),
        cmocka_unit_test(silence_makes_careful),
        cmocka_unit_test(idle_does_not_grow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
