/* admission.c - tests of the table: which operations there are of which kind, and what they do */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "admission/admission.h"
#include "api/meta.h"
#include "base/util.h"

static struct json *parse(struct arena *a, const char *text)
{
    struct json *tree = NULL;
    struct err e;

    if (json_parse(a, str_of(text), NULL, &tree, &e) < 0)
        fail_msg("the test's own JSON: %s: %s", e.text, text);
    return tree;
}

#define META(name) "\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\"}"
#define POD        "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"
#define JOB(spec)                                                                                                      \
    "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\"," META(                                            \
        "j") ",\"spec\":{" spec "\"tasks\":[{\"name\":\"w\",\"replicas\":2,\"template\":" POD "}]}}"
#define QUEUE(name, spec)                                                                                              \
    "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"" name              \
    "\"},\"spec\":{" spec "}}"
#define CRON(schedule)                                                                                                 \
    "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"CronJob\"," META(                                        \
        "c") ",\"spec\":{\"schedule\":\"" schedule                                                                     \
             "\",\"jobTemplate\":{\"spec\":{\"tasks\":[{\"name\":\"w\",\"replicas\":1,\"template\":" POD "}]}}}}"
#define GATE   "scheduling.volcano.sh/queue-allocation-gate"
#define OURS   "\"spec\":{\"schedulerName\":\"volcano\"}"
#define BUDGET "volcano.sh/jdb-min-available"

static void test_table(void **state)
{
    /* want: members that it sets, or what is wrong */
    static const struct {
        enum admission_operation operation;
        const char *group, *kind, *object, *old;
        bool is_known;
        size_t n_errors;
        const char *want;
    } cases[] = {
        { ADMISSION_DEFAULT, "batch.volcano.sh", "Job", JOB(""), NULL, true, 0, "\"queue\":\"default\"" },
        { ADMISSION_DEFAULT, "batch.volcano.sh", "Job", JOB("\"minAvailable\":9,"), NULL, true, 0,
          "\"minAvailable\":9" },
        { ADMISSION_WRITE, "batch.volcano.sh", "Job", JOB(""), NULL, true, 0, "\"queue\":\"default\"" },
        { ADMISSION_WRITE, "batch.volcano.sh", "Job", JOB("\"minAvailable\":9,"), NULL, true, 1, "minAvailable" },
        { ADMISSION_WRITE, "batch.volcano.sh", "Job", JOB("\"queue\":\"b\","), JOB("\"queue\":\"a\","), true, 3,
          "spec.queue: is immutable" },
        { ADMISSION_DELETE, "batch.volcano.sh", "Job", NULL, JOB(""), false, 0, "" },
        { ADMISSION_DEFAULT, "batch.volcano.sh", "CronJob", CRON("* * * * *"), NULL, false, 0, "" },
        { ADMISSION_WRITE, "batch.volcano.sh", "CronJob", CRON("* * * * *"), NULL, true, 0, "" },
        { ADMISSION_WRITE, "batch.volcano.sh", "CronJob", CRON("never"), NULL, true, 1, "spec.schedule" },
        { ADMISSION_DEFAULT, "scheduling.volcano.sh", "Queue", QUEUE("q", ""), NULL, true, 0, "\"weight\":1" },
        { ADMISSION_WRITE, "scheduling.volcano.sh", "Queue", QUEUE("q", ""), NULL, true, 0, "\"weight\":1" },
        { ADMISSION_WRITE, "scheduling.volcano.sh", "Queue", QUEUE("q", "\"weight\":-1"), NULL, true, 1, "weight" },
        { ADMISSION_DELETE, "scheduling.volcano.sh", "Queue", NULL, QUEUE("default", ""), true, 1,
          "can not be deleted" },
        { ADMISSION_DELETE, "scheduling.volcano.sh", "Queue", NULL, QUEUE("q", ""), true, 0, "" },
        { ADMISSION_DEFAULT, "", "Pod", "{" META("p") "," OURS "}", NULL, true, 0, "" },
        { ADMISSION_DEFAULT, "", "Pod",
          "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"" GATE "\":\"true\"}}," OURS "}", NULL, true, 0,
          "\"schedulingGates\":[{\"name\":\"" GATE "\"}]" },
        { ADMISSION_WRITE, "", "Pod",
          "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"" BUDGET "\":\"-1\"}}," OURS "}", NULL, true, 1, BUDGET },
        { ADMISSION_DELETE, "", "Pod", NULL, "{" META("p") "}", false, 0, "" },
        { ADMISSION_WRITE, "", "ConfigMap", "{" META("m") "}", NULL, false, 0, "" },
        { ADMISSION_WRITE, "batch", "Job", "{" META("j") "}", NULL, false, 0, "" },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        autobuf got = { 0 };
        struct admit_env env = { 0 };
        struct problems ps = { .arena = &a };
        struct admission_call call = { .arena = &a, .env = &env, .problems = &ps };

        call.object = cases[i].object ? parse(&a, cases[i].object) : NULL;
        call.old = cases[i].old ? parse(&a, cases[i].old) : NULL;
        if (admission_admit(cases[i].operation, cases[i].group, cases[i].kind, &call) != cases[i].is_known)
            fail_msg("case %zu: %s: known: %d", i, cases[i].kind, !cases[i].is_known);
        if (call.object)
            json_print(&got, call.object);
        if (ps.n_errors)
            buf_str(&got, problems_join(&a, &ps));
        if (ps.n_errors != cases[i].n_errors || !str_has(buf_view(&got), str_of(cases[i].want)))
            fail_msg("case %zu: %s: %zu errors: %.*s", i, cases[i].kind, ps.n_errors, STR_ARG(buf_view(&got)));
    }
}

/* Every kind of Volcano's that people write has its rules. */
static void test_kinds(void **state)
{
    static const char *const kinds[][2] = {
        { "batch.volcano.sh", "Job" },         { "batch.volcano.sh", "CronJob" },
        { "flow.volcano.sh", "JobFlow" },      { "flow.volcano.sh", "JobTemplate" },
        { "scheduling.volcano.sh", "Queue" },  { "scheduling.volcano.sh", "PodGroup" },
        { "topology.volcano.sh", "HyperNode" }
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        autoarena a = { 0 };
        struct admit_env env = { 0 };
        struct problems ps = { .arena = &a };
        struct admission_call call = { .arena = &a, .object = json_object(&a), .env = &env, .problems = &ps };

        assert_true(admission_admit(ADMISSION_WRITE, kinds[i][0], kinds[i][1], &call));
    }
}

/* Who asks for the plugins of a Job gets them. */
static void test_job(void **state)
{
    autoarena a = { 0 };
    struct admit_env env = { 0 };
    struct problems ps = { .arena = &a };
    struct job job;
    struct plugin_set *set = NULL;
    struct admission_call call = { &a, parse(&a, JOB("")), NULL, &env, &ps, NULL, &job, &set };
    (void)state;

    assert_true(admission_admit(ADMISSION_WRITE, "batch.volcano.sh", "Job", &call));
    assert_int_equal(ps.n_errors, 0);
    assert_non_null(set);
    assert_true(str_is(job.meta.name, "j"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
