/* admission.c - tests: reviews and what is answered */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/pod/gate.h"
#include "base/util.h"
#include "webhook/admission.h"

#define REVIEW(kind, group, operation, rest)                                                                           \
    "{\"apiVersion\":\"admission.k8s.io/"                                                                              \
    "v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"u7\",\"kind\":{\"group\":"                               \
    "\"" group "\",\"kind\":\"" kind "\"},\"namespace\":\"team\",\"operation\":\"" operation "\"," rest "}}"
#define JOB(operation, rest) REVIEW("Job", "batch.volcano.sh", operation, rest)
#define TASKS                                                                                                          \
    "\"tasks\":[{\"replicas\":2,\"name\":\"w\",\"unheard-of\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":"    \
    "\"c\","                                                                                                           \
    "\"image\":\"x\"}]}}}]"
#define META "\"metadata\":{\"name\":\"j\",\"namespace\":\"team\"}"

static const struct json *find_queue(void *ctx, struct str name)
{
    static const struct json queue = { .type = JSON_OBJECT };

    (void)ctx;
    return str_is(name, "default") ? &queue : NULL;
}

static const struct {
    const char *path, *body;
    int status;
    const char *parts[4]; /* of the answer; a patch is decoded */
} cases[] = {
    { "/none", "{}", 404, { "no such webhook" } },
    { "/jobs/mutate", "{", 400, { "request body" } },
    { "/jobs/mutate",
      "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1beta1\"}",
      400,
      { "admission.k8s.io/v1" } },
    { "/jobs/mutate", REVIEW("Pod", "", "CREATE", "\"object\":{}"), 400, { "/jobs/mutate is for Job only" } },
    { "/jobs/mutate",
      JOB("CREATE", "\"object\":{" META ",\"spec\":{" TASKS "}}"),
      200,
      { "\"allowed\":true", "{\"op\":\"add\",\"path\":\"/spec/queue\",\"value\":\"default\"}",
        "{\"op\":\"add\",\"path\":\"/spec/tasks/0/minAvailable\",\"value\":2}" } },
    { "/jobs/validate",
      JOB("CREATE", "\"object\":{" META ",\"spec\":{" TASKS "}}"),
      200,
      { "\"uid\":\"u7\"", "\"allowed\":true" } },
    { "/jobs/validate",
      JOB("CREATE", "\"object\":{" META ",\"spec\":{\"queue\":\"q\",\"minAvailable\":9," TASKS "}}"),
      200,
      { "\"allowed\":false", "spec.queue: unable to find job queue: queue.scheduling.volcano.sh", "minAvailable" } },
    { "/jobs/validate",
      JOB("UPDATE", "\"object\":{" META ",\"spec\":{\"queue\":\"q\"}},\"oldObject\":{" META ",\"spec\":{" TASKS "}}"),
      200,
      { "\"allowed\":false" } },
    /* what is on its way out must not be held back, and status is the controller's own */
    { "/jobs/validate",
      JOB("UPDATE",
          "\"object\":{\"metadata\":{\"name\":\"j\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}},\"oldObject\":{}"),
      200,
      { "\"allowed\":true" } },
    { "/jobs/validate",
      JOB("UPDATE", "\"subResource\":\"status\",\"object\":{},\"oldObject\":{}"),
      200,
      { "\"allowed\":true" } },
    { "/jobs/validate", JOB("DELETE", "\"oldObject\":{}"), 200, { "\"allowed\":true" } },
    { "/queues/validate",
      REVIEW("Queue", "scheduling.volcano.sh", "DELETE", "\"oldObject\":{\"metadata\":{\"name\":\"default\"}}"),
      200,
      { "\"allowed\":false", "default" } },
    { "/queues/mutate",
      REVIEW("Queue", "scheduling.volcano.sh", "CREATE", "\"object\":{\"metadata\":{\"name\":\"q\"}}"),
      200,
      { "\"allowed\":true", "\"path\":\"/spec\",\"value\":{" } },
    { "/podgroups/validate",
      REVIEW("PodGroup", "scheduling.volcano.sh", "CREATE", "\"object\":{" META ",\"spec\":{\"queue\":\"q\"}}"),
      200,
      { "\"allowed\":false", "spec.queue" } },
    { "/pods/validate",
      REVIEW("Pod", "", "CREATE",
             "\"object\":{\"metadata\":{\"annotations\":{\"volcano.sh/jdb-max-unavailable\":\"100%\"}},\"spec\":{"
             "\"schedulerName\":\"volcano\"}}"),
      200,
      { "\"allowed\":false", "1% ~ 99%" } },
    { "/pods/validate",
      REVIEW("Pod", "", "CREATE",
             "\"object\":{\"metadata\":{\"annotations\":{\"volcano.sh/jdb-max-unavailable\":\"100%\"}},\"spec\":{}}"),
      200,
      { "\"allowed\":true" } },
    { "/pods/mutate", REVIEW("Pod", "", "CREATE", "\"object\":{}"), 200, { "\"allowed\":true" } },
    { "/pods/mutate",
      REVIEW("Pod", "", "CREATE",
             "\"object\":{\"metadata\":{\"annotations\":{\"" QUEUE_GATE "\":\"true\"}},\"spec\":{"
             "\"schedulerName\":\"volcano\"}}"),
      200,
      { "\"allowed\":true", "\"path\":\"/spec/schedulingGates\",\"value\":[{\"name\":\"" QUEUE_GATE "\"}]" } },
};

/* The patch too, so that a part can be looked for in it. */
static void add_patch(struct buf *text)
{
    autoarena a = { 0 };
    struct json *review;
    struct str copy = arena_str(&a, buf_view(text));

    if (json_parse(&a, copy, NULL, &review, NULL) == 0)
        (void)buf_unbase64(text, json_member_text(json_get(review, "response"), "patch"));
}

static void answers(void **state)
{
    const struct admit_env env = { .find_queue = find_queue };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct admission_answer a;

        admission_review(str_of(cases[i].path), str_of(cases[i].body), &env, &a);
        assert_int_equal(a.status, cases[i].status);
        add_patch(&a.body);
        for (size_t k = 0; k < ARRAY_LEN(cases[i].parts) && cases[i].parts[k]; k++)
            if (!strstr(a.body.p, cases[i].parts[k]))
                fail_msg("%s %s: no %s in %s", cases[i].path, cases[i].body, cases[i].parts[k], a.body.p);
        buf_done(&a.body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(answers) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
