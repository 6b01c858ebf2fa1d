/* job.c - tests of jobs as clients make and show them: forms, Slurm's options, phases and reasons */
#include "api/meta.h"
#include "ctl/job_cells.h"
#include "ctl/job_form.h"
#include "ctl/output.h"
#include "ctl/slurm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/util.h"

static struct json *parse(struct arena *a, const char *text)
{
    struct json *tree = NULL;
    struct err e;

    if (json_parse(a, str_of(text), NULL, &tree, &e) < 0)
        fail_msg("the test's own JSON: %s: %s", e.text, text);
    return tree;
}

/* ---- forms ---- */

#define FORM(meta, spec, pod, container)                                                                               \
    "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\"" meta                 \
    "},\"spec\":{\"minAvailable\":2" spec ",\"tasks\":[{\"replicas\":3,\"template\":{\"metadata\":{\"name\":\"j\","    \
    "\"labels\":{\"job.volcano.sh\":\"j\"}},\"spec\":{\"restartPolicy\":\"Never\"" pod                                 \
    ",\"containers\":[{\"name\":\"j\",\"imagePullPolicy\":\"IfNotPresent\"" container "}]}}}]}}"

static void forms(void **state)
{
    autoarena a = { 0 };
    struct job_form f[] = {
        { .max_retry = -1 },
        { .max_retry = 0, .namespace = STR("n"), .queue = STR("q"), .deadline_s = 60 },
        { .max_retry = -1, .image = STR("i"), .command = parse(&a, "[\"a\",\"b\"]"), .env = json_array(&a) },
        { .max_retry = -1, .requests = parse(&a, "{\"cpu\":\"1\"}"), .limits = json_object(&a) },
    };
    static const char *const want[] = {
        FORM("", "", "", ""),
        FORM(",\"namespace\":\"n\"", ",\"queue\":\"q\",\"maxRetry\":0", ",\"activeDeadlineSeconds\":60", ""),
        "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\"},\"spec\":{"
        "\"minAvailable\":2,\"tasks\":[{\"replicas\":3,\"template\":{\"metadata\":{\"name\":\"j\",\"labels\":{"
        "\"job.volcano.sh\":\"j\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"j\",\"image\":"
        "\"i\","
        "\"imagePullPolicy\":\"IfNotPresent\",\"command\":[\"a\",\"b\"]}]}}}]}}",
        FORM("", "", "", ",\"resources\":{\"requests\":{\"cpu\":\"1\"}}"),
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(f); i++) {
        autobuf got = { 0 };

        f[i].name = STR("j");
        f[i].replicas = 3;
        f[i].min_available = 2;
        json_print(&got, job_form_make(&a, &f[i]));
        if (!str_is(buf_view(&got), want[i]))
            fail_msg("form %zu\nwant: %s\ngot:  %.*s", i, want[i], STR_ARG(buf_view(&got)));
    }
}

/* ---- Slurm ---- */

#define POD_PATH ".spec.tasks[0].template.spec."
#define REQUEST  POD_PATH "containers[0].resources.requests."
#define LIMIT    POD_PATH "containers[0].resources.limits."

static void slurm_jobs(void **state)
{
    static const struct {
        struct slurm_options o;
        const char *path, *want; /* want: NULL: it is refused */
    } rows[] = {
        { { 0 }, ".metadata.name", "run-sh-7" },
        { { 0 }, ".spec.tasks[0].replicas", "1" },
        { { .name = "My Job" }, ".metadata.name", "my-job-7" },
        { { .name = "-- --" }, ".metadata.name", "job-7" },
        { { .ntasks = "4" }, ".spec.minAvailable", "4" },
        { { .nodes = "2", .per_node = "3" }, ".spec.tasks[0].replicas", "6" },
        { { .ntasks = "0" }, "", NULL },
        { { .ntasks = "many" }, "", NULL },
        { { .cpus = "8" }, REQUEST "cpu", "8" },
        { { .cpus = "8" }, LIMIT "cpu", "<none>" },
        { { .mem = "4G" }, REQUEST "memory", "4Gi" },
        { { .mem = "4G" }, LIMIT "memory", "4Gi" },
        { { .mem = "4G", .ntasks = "8" }, REQUEST "memory", "512Mi" },
        { { .mem_per_cpu = "512", .cpus = "3" }, REQUEST "memory", "1536Mi" },
        { { .mem = "much" }, "", NULL },
        { { .gres = "gpu:2" }, REQUEST "nvidia\\.com/gpu", "2" },
        { { .gres = "gpu:3", .per_node = "2", .nodes = "1" }, "", NULL },
        { { .gpus = "4", .ntasks = "2" }, REQUEST "nvidia\\.com/gpu", "2" },
        { { .gpus_per_task = "1", .gpu_resource = "amd.com/gpu" }, LIMIT "amd\\.com/gpu", "1" },
        { { .time = "1:30:00" }, POD_PATH "activeDeadlineSeconds", "5400" },
        { { .time = "soon" }, "", NULL },
        { { .array = "1-9:2" }, ".spec.tasks[0].replicas", "5" },
        { { .array = "1-9:2" }, ".spec.minAvailable", "1" },
        { { .array = "1-9", .ntasks = "2" }, "", NULL },
        { { .partition = "q" }, ".spec.queue", "q" },
        { { 0 }, ".spec.policies[0].action", "RestartJob" },
        { { .no_requeue = true }, ".spec.policies", "<none>" },
        { { 0 }, ".metadata.annotations['pumice.dev/slurm-user']", "ann" },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autoarena a = { 0 };
        struct slurm_script script = { .text = STR("#!/bin/sh\n"), .base = STR("run.sh"), .id = 7, .user = STR("ann") };
        struct slurm_request rq = { &rows[i].o, &script, STR("n") };
        struct slurm_notes notes = { 0 };
        struct json *job = NULL;
        struct str got = STR_NULL;
        struct err e;

        if (slurm_job(&a, &rq, &job, &notes, &e) < 0) {
            if (rows[i].want)
                fail_msg("row %zu: %s", i, e.text);
            continue;
        }
        if (!rows[i].want)
            fail_msg("row %zu: it is not refused", i);
        assert_int_equal(output_path(&a, job, str_of(rows[i].path), &got, &e), 0);
        if (!str_is(got, rows[i].want))
            fail_msg("row %zu: %s: want %s, got %.*s", i, rows[i].path, rows[i].want, STR_ARG(got));
    }
}

/* ---- what is shown ---- */

static void phases(void **state)
{
    static const struct {
        const char *job, *phase, *slurm, *id;
        int64_t replicas;
        bool has_ended;
    } rows[] = {
        { "{\"metadata\":{\"name\":\"j\"}}", "Pending", "Pending", "j", 0, false },
        { "{\"metadata\":{\"name\":\"j\",\"labels\":{\"pumice.dev/slurm-job-id\":\"7\"}},\"spec\":{\"tasks\":[{"
          "\"replicas\":3},{}]},\"status\":{\"state\":{\"phase\":\"Running\"}}}",
          "Running", "Running", "7", 4, false },
        { "{\"metadata\":{\"name\":\"j\",\"annotations\":{\"pumice.dev/slurm-held\":\"true\"}},\"status\":{\"state\":{"
          "\"phase\":\"Aborted\"}}}",
          "Aborted", "Pending", "j", 0, true },
        { "{\"metadata\":{\"name\":\"j\"},\"status\":{\"state\":{\"phase\":\"Aborted\"}}}", "Aborted", "Aborted", "j",
          0, true },
        { "{\"metadata\":{\"name\":\"j\",\"annotations\":{\"pumice.dev/slurm-held\":\"true\"}},\"status\":{\"state\":{"
          "\"phase\":\"Completed\"}}}",
          "Completed", "Completed", "j", 0, true },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autoarena a = { 0 };
        const struct json *job = parse(&a, rows[i].job);

        assert_true(str_is(job_phase_word(job), rows[i].phase));
        assert_true(str_is(slurm_phase(job), rows[i].slurm));
        assert_true(str_is(slurm_id(job), rows[i].id));
        assert_int_equal(job_replicas(job), rows[i].replicas);
        assert_int_equal(job_has_ended(job_phase_word(job)), rows[i].has_ended);
    }
}

#define GROUP(uid, status)                                                                                             \
    "{\"metadata\":{\"ownerReferences\":[{\"uid\":\"" uid "\",\"controller\":true}]},\"status\":{" status "}}"
#define WAITS(reason)                                                                                                  \
    GROUP("u", "\"conditions\":[{\"type\":\"Unschedulable\",\"status\":\"True\",\"reason\":\"" reason                  \
               "\",\"message\":\"so it is\"}]")
#define QUEUE(name, state) "{\"metadata\":{\"name\":\"" name "\"},\"status\":{\"state\":\"" state "\"}}"
#define STATE(members)     "\"state\":{" members "}"

static void reasons_are_words(void **state)
{
    static const struct {
        const char *label, *state, *group, *queue, *reason, *message;
    } rows[] = {
        { "nothing is known", "", NULL, NULL, "", "" },
        { "no such queue", "", NULL, QUEUE("other", "Open"), "QueueMissing", "" },
        { "a closed queue", "", WAITS("NotEnoughResources"), QUEUE("default", "Closing"), "QueueClosed", "so it is" },
        { "the scheduler's reason", "", WAITS("NotEnoughResources"), QUEUE("default", "Open"), "Resources",
          "so it is" },
        { "one without a word of its own", "", WAITS("NeverFits"), QUEUE("default", "Open"), "NeverFits", "so it is" },
        { "that of another scheduler", "", WAITS("Bored"), QUEUE("default", "Open"), "Bored", "so it is" },
        { "of another job", "",
          GROUP("v", "\"conditions\":[{\"type\":\"Unschedulable\",\"status\":\"True\",\"reason\":\"NeverFits\"}]"),
          QUEUE("default", "Open"), "", "" },
        { "it is over", "",
          GROUP("u", "\"conditions\":[{\"type\":\"Unschedulable\",\"status\":\"False\",\"reason\":\"NeverFits\"}]"),
          QUEUE("default", "Open"), "", "" },
        { "the controller's reason", STATE("\"reason\":\"WaitingForClaim\",\"message\":\"no claim\""), NULL,
          QUEUE("default", "Open"), "WaitingForClaim", "no claim" },
        { "its pods start", "", GROUP("u", "\"phase\":\"Running\""), QUEUE("default", "Open"), "ImageOrVolume", "" },
        { "it runs", STATE("\"phase\":\"Running\""), WAITS("NeverFits"), QUEUE("default", "Open"), "", "so it is" },
        { "it has failed", STATE("\"phase\":\"Failed\",\"reason\":\"PodFailed\""), NULL, QUEUE("default", "Open"),
          "PodFailed", "" },
        { "the phase says it all", STATE("\"phase\":\"Failed\",\"reason\":\"Failed\""), NULL, QUEUE("default", "Open"),
          "", "" },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autoarena a = { 0 };
        struct reasons r = { 0 };
        const struct json *job = parse(
            &a, arena_fmt(&a, "{\"metadata\":{\"uid\":\"u\"},\"status\":{%s}}", rows[i].state).p);
        struct str reason, message;

        if (rows[i].group)
            *vec_push(&a, &r.groups.v) = parse(&a, rows[i].group);
        if (rows[i].queue)
            *vec_push(&a, &r.queues.v) = parse(&a, rows[i].queue);
        reason = reason_of(&r, job);
        message = reason_message(&r, job);
        if (!str_is(reason, rows[i].reason) || !str_is(message, rows[i].message))
            fail_msg("%s: \"%.*s\", \"%.*s\"", rows[i].label, STR_ARG(reason), STR_ARG(message));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms),
        cmocka_unit_test(slurm_jobs),
        cmocka_unit_test(phases),
        cmocka_unit_test(reasons_are_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
