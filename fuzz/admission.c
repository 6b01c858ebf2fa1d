/* admission.c - fuzz: the first byte says which webhook, the rest is the review; whatever it is, the answer is a
 * response or a sentence, and what a mutating one changes can be applied and changes nothing the second time */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"
#include "json/patch.h"
#include "webhook/admission.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *const paths[] = { "/jobs/mutate",     "/jobs/validate",    "/queues/mutate",
                                     "/queues/validate", "/podgroups/mutate", "/podgroups/validate",
                                     "/pods/mutate",     "/pods/validate",    "/none" };

static const struct json *find_queue(void *ctx, struct str name)
{
    static const struct json queue = { .type = JSON_OBJECT };

    (void)ctx;
    return name.n % 2 ? &queue : NULL;
}

/* The patch of a response; NULL: there is none. */
static struct json *patch_of(struct arena *a, const struct admission_answer *answer)
{
    autobuf text = { 0 };
    struct json *review, *patch;
    struct str coded;

    assert(json_parse(a, buf_view(&answer->body), NULL, &review, NULL) == 0);
    coded = json_member_text(json_get(review, "response"), "patch");
    if (!coded.n)
        return NULL;
    assert(buf_unbase64(&text, coded) == 0);
    assert(json_parse(a, arena_str(a, buf_view(&text)), NULL, &patch, NULL) == 0);
    return patch;
}

static void check_twice(struct arena *a, struct str path, struct str body, const struct admit_env *env,
                        const struct json *patch)
{
    struct json *review, *object, *changed;
    struct admission_answer again;
    autobuf text = { 0 };
    struct err e;

    assert(json_parse(a, body, NULL, &review, &e) == 0);
    object = json_find(review, "request", "object", NULL);
    if (json_patch(a, object, patch, &changed, &e) < 0) {
        assert(e.code == ERR_TOO_BIG); /* there is a limit to operations, in the API server too */
        return;
    }
    json_set(json_get(review, "request"), "object", changed);
    json_print(&text, review);
    admission_review(path, buf_view(&text), env, &again);
    assert(again.status == 200 && !patch_of(a, &again));
    buf_done(&again.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str path = str_of(paths[n ? data[0] % ARRAY_LEN(paths) : 0]);
    struct str body = str_from((struct str){ (const char *)data, n }, 1);
    struct admit_env env = { .find_queue = find_queue };
    struct admission_answer answer;
    autoarena a = { 0 };

    if (n > 100000)
        return 0;
    admission_review(path, body, &env, &answer);
    assert(answer.body.n && (answer.status == 200 || answer.status == 400 || answer.status == 404));
    if (answer.status == 200) {
        struct json *patch = patch_of(&a, &answer);

        if (patch)
            check_twice(&a, path, body, &env, patch);
    }
    buf_done(&answer.body);
    return 0;
}
