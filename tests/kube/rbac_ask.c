/* rbac_ask.c - our RBAC for a test that asks a real kube-apiserver the same
 *
 * Lines of JSON in, a line out for each question:
 *     {"put": OBJECT}                               one of the four kinds
 *     {"ask": SUBJECTACCESSREVIEW}                  its status
 *     {"write": OBJECT, "user": NAME, "groups": […]} {"message": "…"}; empty: he may
 */
#include "auth/rbac.h"
#include "auth/review.h"
#include "base/util.h"

#include <stdio.h>

static void answer(const struct json *j)
{
    autobuf out = { 0 };

    json_print(&out, j);
    (void)printf("%s\n", out.p);
    (void)fflush(stdout);
}

static void ask(struct arena *a, struct rbac *r, const struct json *review)
{
    struct review_env env = { .rbac = r, .who = &identity_anonymous };
    struct json *ret;
    struct err e;

    if (review_subject_access(&env, a, review, &ret, &e) < 0) {
        ret = json_object(a);
        json_set(json_set(ret, "status", json_object(a)), "error", json_str(a, str_of(e.text)));
    }
    answer(json_get(ret, "status"));
}

static void try_write(struct arena *a, struct rbac *r, const struct json *line)
{
    struct identity who = identity_from_json(a, line, "user");
    struct json *ret = json_object(a);
    struct err e = { 0 };

    (void)rbac_check_write(r, a, &(struct rbac_write){ &who, json_get(line, "write"), NULL },
                           &e); /* what it says is the answer */
    json_set(ret, "message", json_str(a, str_of(e.text)));
    answer(ret);
}

int main(void)
{
    struct rbac *r = rbac_new();
    char *line = NULL;
    size_t cap = 0;

    for (ssize_t n; (n = getline(&line, &cap, stdin)) > 0;) {
        autoarena a = { 0 };
        struct json *j;
        struct err e;

        if (json_parse(&a, (struct str){ line, (size_t)n }, NULL, &j, &e) < 0) {
            (void)fprintf(stderr, "%s\n", e.text);
            return 1;
        }
        if (json_get(j, "put"))
            rbac_put(r, json_get(j, "put"));
        else if (json_get(j, "ask"))
            ask(&a, r, json_get(j, "ask"));
        else
            try_write(&a, r, j);
    }
    free(line);
    rbac_free(r);
    return 0;
}
