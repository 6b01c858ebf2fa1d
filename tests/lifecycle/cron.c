/* cron.c - checklist of schedules, 44 to 53: CronJobs
 *
 * Time begins on Sunday, 2026-03-01 at 09:30:00 UTC; the minute of that is 29539290.
 */
#include "harness.h"

#define CRON(spec)                                                                                                     \
    "apiVersion: batch.volcano.sh/v1alpha1\nkind: CronJob\nmetadata: {name: j, namespace: default}\n"                  \
    "spec: {" spec ", jobTemplate: {metadata: {labels: {own: x}, annotations: {note: y}}, "                            \
    "spec: {" TASKS(TASK("t", "1", "")) "}}}\n"
#define UTC      "timeZone: Etc/UTC, "
#define MINUTELY "schedule: '*/1 * * * *'"

enum { BEGIN = 29539290, MINUTE = 60 * 1000 };

static void start(struct h *h, const char *cron)
{
    h->admits_all = h->runs_all = true;
    h_create(h, cron);
    h_run(h);
}

static const char *job_at(struct h *h, int minute)
{
    return arena_fmt(&h->arena, "j-%d", BEGIN + minute).p;
}

static const char *job(struct h *h, int minute)
{
    return arena_fmt(&h->arena, "job/%s", job_at(h, minute)).p;
}

static void end(struct h *h, int minute, const char *phase)
{
    h_pods_phase(h, job_at(h, minute), phase);
}

static void test_044_a_job_for_each_slot(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, CRON("timeZone: Asia/Tokyo, " MINUTELY));
    assert_int_equal(h_count(h, "jobs"), 0);
    h_advance(h, MINUTE - 1);
    assert_int_equal(h_count(h, "jobs"), 0);
    h_advance(h, 1);
    assert_int_equal(h_count(h, "jobs"), 1);
    h_expect(h, job(h, 1), "metadata.annotations[volcano.sh/cronjob-scheduled-timestamp]", "2026-03-01T18:31:00+09:00");
    h_expect(h, job(h, 1), "metadata.annotations.note", "y");
    h_expect(h, job(h, 1), "metadata.labels.own", "x");
    h_expect(h, job(h, 1), "metadata.ownerReferences[0].kind", "CronJob");
    h_expect(h, job(h, 1), "metadata.ownerReferences[0].controller", "true");
    h_expect(h, "cronvj/j", "status.active[0].name", job_at(h, 1));
    h_expect(h, "cronvj/j", "status.active[0].uid", h_uid(h, job(h, 1)));
    h_expect(h, "cronvj/j", "status.lastScheduleTime", "2026-03-01T09:31:00Z");
    assert_true(h_event_says(h, "SuccessfulCreate", job_at(h, 1)));
    h_advance(h, 10 * 1000);
    end(h, 1, "Succeeded");
    h_expect(h, "cronvj/j", "status.active", "");
    h_expect(h, "cronvj/j", "status.lastSuccessfulTime", "2026-03-01T09:31:10Z");
    assert_true(h_event_says(h, "SawCompletedJob", job_at(h, 1)));
    h_advance(h, MINUTE);
    assert_int_equal(h_count(h, "jobs"), 2);
}

/* Without a zone the slots are of the machine's own, the annotation is of UTC. */
static void test_044_without_a_zone(void **state)
{
    autoh h = h_new();

    (void)state;
    assert_int_equal(setenv("TZ", "Asia/Tokyo", 1), 0);
    start(h, CRON("schedule: '32 18 * * *'"));
    h_advance(h, 3 * MINUTE);
    h_expect(h, job(h, 2), "metadata.annotations[volcano.sh/cronjob-scheduled-timestamp]", "2026-03-01T09:32:00Z");
    assert_int_equal(unsetenv("TZ"), 0);
}

static void test_045_forbid(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, CRON(UTC MINUTELY ", concurrencyPolicy: Forbid"));
    h_advance(h, 3 * MINUTE);
    assert_int_equal(h_count(h, "jobs"), 1);
    assert_true(h_event_says(h, "ForbidConcurrent", job_at(h, 1)));
    h_advance(h, 1000);
    end(h, 1, "Succeeded");
    assert_int_equal(h_count(h, "jobs"), 2);
    assert_true(h_exists(h, job(h, 3))); /* the last that was missed, at once */
    h_advance(h, MINUTE);
    assert_int_equal(h_count(h, "jobs"), 2);
}

/* One that somebody has suspended does not stop the schedule. */
static void test_045_forbid_and_aborted(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, CRON(UTC MINUTELY ", concurrencyPolicy: Forbid"));
    h_advance(h, MINUTE);
    h_command(h, job_at(h, 1), "AbortJob");
    h_run(h);
    h_expect_phase(h, job_at(h, 1), "Aborted");
    h_expect(h, "cronvj/j", "status.active", "");
    h_advance(h, MINUTE);
    assert_true(h_exists(h, job(h, 2)));
}

static void test_046_replace(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, CRON(UTC MINUTELY ", concurrencyPolicy: Allow"));
    h_advance(h, 3 * MINUTE);
    h_expect(h, "cronvj/j", "status.active", "(3)");
    h_set(h, "cronvj/j", "spec.concurrencyPolicy", "Replace");
    h_advance(h, MINUTE);
    assert_int_equal(h_count(h, "jobs"), 1);
    assert_true(h_exists(h, job(h, 4)));
    h_expect(h, "cronvj/j", "status.active", "(1)");
    assert_true(h_event_says(h, "ReplaceConcurrent", job_at(h, 2)));
    h_advance(h, MINUTE);
    assert_int_equal(h_count(h, "jobs"), 1);
    assert_true(h_exists(h, job(h, 5)));
}

static void test_047_history(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, CRON(UTC MINUTELY ", successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1"));
    for (int i = 1; i <= 4; i++) {
        h_advance(h, MINUTE);
        end(h, i, "Succeeded");
    }
    h_advance(h, 1000);
    assert_false(h_exists(h, job(h, 1)));
    assert_int_equal(h_count(h, "jobs"), 3);
    h_advance(h, MINUTE - 1000);
    end(h, 5, "Failed");
    h_advance(h, MINUTE);
    h_command(h, job_at(h, 6), "TerminateJob");
    h_advance(h, 1000);
    assert_false(h_exists(h, job(h, 5)));
    h_expect_phase(h, job_at(h, 6), "Terminated");
    h_advance(h, MINUTE - 1000);
    end(h, 7, "Failed");
    h_advance(h, 1000);
    assert_false(h_exists(h, job(h, 6)));
    assert_int_equal(h_count(h, "jobs"), 4);
    assert_true(h_event_says(h, "SuccessfulDelete", job_at(h, 1)));
}

static void test_047_nothing_is_kept(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, CRON(UTC MINUTELY ", successfulJobsHistoryLimit: 0"));
    h_advance(h, MINUTE);
    end(h, 1, "Succeeded");
    h_advance(h, 30 * 1000);
    h_restart_controller(h);
    assert_int_equal(h_count(h, "jobs"), 0); /* and the slot is not run again */
    h_advance(h, 30 * 1000);
    assert_true(h_exists(h, job(h, 2)));
}

static void test_048_away_for_long(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, CRON(UTC MINUTELY));
    h_stop(h, 0);
    h_advance(h, 200 * MINUTE + 5000);
    h_start(h, 0);
    h_run(h);
    assert_int_equal(h_count(h, "jobs"), 1);
    assert_true(h_exists(h, job(h, 200)));
    assert_int_equal(h_events(h, "TooManyMissedTimes"), 1);
}

static void test_049_too_late(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, CRON(UTC "schedule: '*/5 * * * *', startingDeadlineSeconds: 30"));
    h_stop(h, 0);
    h_advance(h, 6 * MINUTE);
    h_start(h, 0);
    h_run(h);
    assert_int_equal(h_count(h, "jobs"), 0);
    h_advance(h, 4 * MINUTE);
    assert_int_equal(h_count(h, "jobs"), 1);
    assert_true(h_exists(h, job(h, 10)));
}

static void test_050_suspend(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, CRON(UTC MINUTELY ", suspend: true"));
    h_advance(h, 10 * MINUTE);
    assert_int_equal(h_count(h, "jobs"), 0);
    h_set(h, "cronvj/j", "spec.suspend", "false");
    h_advance(h, 1000);
    assert_int_equal(h_count(h, "jobs"), 1);
    assert_true(h_exists(h, job(h, 10)));
    h_set(h, "cronvj/j", "spec.suspend", "true");
    h_advance(h, 10 * MINUTE);
    assert_int_equal(h_count(h, "jobs"), 1);
}

/* 51, where nobody has looked at it before it was stored: it waits for somebody to write it better. */
static void test_051_wrong_schedules(void **state)
{
    static const struct {
        const char *cron, *reason;
    } cases[] = {
        { CRON(UTC "schedule: '61 * * * *'"), "UnsupportedSchedule" },
        { CRON("timeZone: Mars/Olympus, " MINUTELY), "InvalidTimeZone" },
        { CRON("timeZone: ../../etc/passwd, " MINUTELY), "InvalidTimeZone" },
        { CRON(UTC "schedule: '0 0 31 2 *'"), "InvalidSchedule" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoh h = h_new();

        start(h, cases[i].cron);
        h_advance(h, 5 * MINUTE);
        assert_int_equal(h_count(h, "jobs"), 0);
        assert_int_equal(h_events(h, cases[i].reason), 1);
        h_set(h, "cronvj/j", "spec.timeZone", "Etc/UTC");
        h_set(h, "cronvj/j", "spec.schedule", "'*/2 * * * *'");
        h_advance(h, 2 * MINUTE);
        assert_int_equal(h_count(h, "jobs"), 1);
    }
}

static void test_052_somebody_elses_job(void **state)
{
    autoh h = h_new();

    (void)state;
    h_job(h, arena_fmt(&h->arena, JOB("j-%d", TASKS(TASK("x", "1", ""))), BEGIN + 1).p);
    start(h, CRON(UTC MINUTELY));
    h_advance(h, MINUTE);
    assert_int_equal(h_count(h, "jobs"), 1);
    assert_true(h_event_says(h, "ForeignJob", job_at(h, 1)));
    h_advance(h, MINUTE);
    assert_int_equal(h_count(h, "jobs"), 2);
    assert_true(h_exists(h, job(h, 2)));
}

static void test_053_faults(void **state)
{
    (void)state;
    for (unsigned i = 1; i < 10; i++) {
        autoh h = h_new();

        h_lose_next_answers(h, OP_CREATE, "jobs", 1);
        h_fail_next_writes(h, OP_UPDATE_STATUS, "cronjobs", ERR_CONFLICT, 2, "conflict");
        start(h, CRON(UTC MINUTELY));
        clock_manual_advance(&h->clock, MINUTE);
        h_turns(h, 0, i);
        h_stop(h, 0);
        h_start(h, 0);
        h_advance(h, 10 * 1000);
        assert_int_equal(h_count(h, "jobs"), 1);
        h_expect(h, "cronvj/j", "status.active", "(1)");
        h_expect(h, "cronvj/j", "status.lastScheduleTime", "2026-03-01T09:31:00Z");
        h_advance(h, 50 * 1000);
        assert_int_equal(h_count(h, "jobs"), 2);
    }
}

/* ---- beyond the list ---- */

static void test_clock_goes_back(void **state)
{
    autoh h = h_new();
    int64_t begin = clock_now_ms(&h->clock.clock);

    (void)state;
    start(h, CRON(UTC MINUTELY ", successfulJobsHistoryLimit: 0"));
    h_advance(h, 3 * MINUTE);
    for (int i = 1; i <= 3; i++)
        end(h, i, "Succeeded");
    h_advance(h, 1000);
    assert_int_equal(h_count(h, "jobs"), 0);
    clock_manual_set(&h->clock, begin + MINUTE); /* two slots come again, and were done */
    h_advance(h, 2 * MINUTE);
    assert_int_equal(h_count(h, "jobs"), 0);
    h_advance(h, MINUTE);
    assert_true(h_exists(h, job(h, 4)));
    /* A clock that was years ahead must not silence it for years. */
    clock_manual_set(&h->clock, begin + INT64_C(1000) * 86400 * 1000);
    h_advance(h, MINUTE);
    clock_manual_set(&h->clock, begin + 10 * MINUTE);
    h_advance(h, 2 * MINUTE); /* it wakes, sees that, and counts from then on */
    assert_true(h_exists(h, job(h, 12)));
}

static void test_every(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, CRON("schedule: '@every 90s'"));
    h_advance(h, 89 * 1000);
    assert_int_equal(h_count(h, "jobs"), 0);
    h_advance(h, 1000);
    h_expect(h, job(h, 1), "metadata.annotations[volcano.sh/cronjob-scheduled-timestamp]", "2026-03-01T09:31:30Z");
    h_advance(h, 90 * 1000);
    assert_true(h_exists(h, job(h, 3)));
    assert_int_equal(h_count(h, "jobs"), 2);
}

/* A new schedule counts from when it is written; what it would have had before is not made up for. */
static void test_another_schedule(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, CRON(UTC "schedule: '0 12 * * *'"));
    h_advance(h, 60 * MINUTE);
    h_set(h, "cronvj/j", "spec.schedule", "'0 10 * * *'"); /* half an hour ago */
    h_advance(h, 60 * MINUTE);
    assert_int_equal(h_count(h, "jobs"), 0);
    h_advance(h, 24 * 60 * MINUTE);
    assert_int_equal(h_count(h, "jobs"), 1);
}

static void test_deleted(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, CRON(UTC MINUTELY));
    h_advance(h, 2 * MINUTE);
    h_delete(h, "cronvj/j", -1);
    h_advance(h, 2 * MINUTE);
    assert_int_equal(h_count(h, "jobs"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_044_a_job_for_each_slot),
        cmocka_unit_test(test_044_without_a_zone),
        cmocka_unit_test(test_045_forbid),
        cmocka_unit_test(test_045_forbid_and_aborted),
        cmocka_unit_test(test_046_replace),
        cmocka_unit_test(test_047_history),
        cmocka_unit_test(test_047_nothing_is_kept),
        cmocka_unit_test(test_048_away_for_long),
        cmocka_unit_test(test_049_too_late),
        cmocka_unit_test(test_050_suspend),
        cmocka_unit_test(test_051_wrong_schedules),
        cmocka_unit_test(test_052_somebody_elses_job),
        cmocka_unit_test(test_053_faults),
        cmocka_unit_test(test_clock_goes_back),
        cmocka_unit_test(test_every),
        cmocka_unit_test(test_another_schedule),
        cmocka_unit_test(test_deleted),
    };

    return cmocka_run_group_tests_name("lifecycle/cron", tests, NULL, NULL);
}
