/* ttl.c - tests of the end of finished jobs */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fixture.h"

#include "base/clock.h"

#define FINISHED "2026-03-01T09:30:00Z"

/* 'meta', 'spec' and 'state' are members of a job. Times in 'want' count from the job's end. */
static void check(const char *label, const char *meta, const char *spec, const char *state, int64_t after_ms,
                  const char *want)
{
    autoarena a = { 0 };
    struct plan plan = { .arena = &a };
    int64_t finished_ms = 0;
    struct job job;
    struct str text;

    assert_int_equal(clock_parse(STR(FINISHED), &finished_ms, NULL), 0);
    text = arena_fmt(
        &a,
        "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\","
        "\"namespace\":\"n\",\"uid\":\"u-1\",\"resourceVersion\":\"7\"%s},\"spec\":{%s},\"status\":{\"state\":{%s}}}",
        meta, spec, state);
    job_decode(&a, parse(&a, text.p), &job);
    plan.now_ms = finished_ms + after_ms;
    ttl_plan(&job, &plan);
    if (plan.wake_ms)
        plan.wake_ms -= finished_ms;
    assert_plan(label, &plan, want);
}

static void test_ttl(void **state)
{
#define AT(phase)  "\"phase\":\"" phase "\",\"lastTransitionTime\":\"" FINISHED "\""
#define TTL(n)     "\"ttlSecondsAfterFinished\":" #n
#define DELETED    "delete Job n/j uid u-1 rev 7 foreground\n" /* not one that was changed meanwhile */
#define ABORTED(v) ",\"annotations\":{\"pumice.dev/ttl-aborted\":" v "}"
    static const struct {
        const char *label, *meta, *spec, *state;
        int64_t after_ms;
        const char *want;
    } cases[] = {
        { "completed, in time", "", TTL(60), AT("Completed"), 59999, "wake 60000\n" },
        { "completed, time is up", "", TTL(60), AT("Completed"), 60000, DELETED },
        { "failed", "", TTL(60), AT("Failed"), 60000, DELETED },
        { "terminated", "", TTL(60), AT("Terminated"), 60000, DELETED },
        { "long ago", "", TTL(1), AT("Failed"), 86400000, DELETED },
        { "at once", "", TTL(0), AT("Completed"), 0, DELETED },
        { "finished in the future", "", TTL(1), AT("Completed"), -5000, "wake 1000\n" },
        { "the longest", "", TTL(2147483647), AT("Completed"), 0, "wake 2147483647000\n" },
        { "negative", "", TTL(-1), AT("Completed"), 60000, "" },
        { "no ttl", "", "", AT("Completed"), 60000, "" },
        { "null ttl", "", TTL(null), AT("Completed"), 60000, "" },
        { "running", "", TTL(0), AT("Running"), 60000, "" },
        { "completing", "", TTL(0), AT("Completing"), 60000, "" },
        { "terminating", "", TTL(0), AT("Terminating"), 60000, "" },
        { "no phase", "", TTL(0), "", 60000, "" },
        { "no time", "", TTL(0), "\"phase\":\"Completed\"", 60000, "" },
        { "no real time", "", TTL(0), "\"phase\":\"Completed\",\"lastTransitionTime\":\"soon\"", 60000, "" },
        { "null time", "", TTL(0), "\"phase\":\"Completed\",\"lastTransitionTime\":null", 60000, "" },
        { "is going already", ",\"deletionTimestamp\":\"" FINISHED "\"", TTL(0), AT("Completed"), 60000, "" },
        { "aborted (B57)", "", TTL(0), AT("Aborted"), 60000, "" },
        { "aborted, asked for", ABORTED("\"true\""), TTL(60), AT("Aborted"), 60000, DELETED },
        { "aborted, asked for, in time", ABORTED("\"true\""), TTL(60), AT("Aborted"), 1, "wake 60000\n" },
        { "aborted, not asked for", ABORTED("\"false\""), TTL(0), AT("Aborted"), 60000, "" },
        { "aborting, asked for", ABORTED("\"true\""), TTL(0), AT("Aborting"), 60000, "" },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check(cases[i].label, cases[i].meta, cases[i].spec, cases[i].state, cases[i].after_ms, cases[i].want);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_ttl) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
