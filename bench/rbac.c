/* rbac.c - what a question to RBAC costs, in a small cluster and in one with 10,000 bindings
 *
 * Instructions are counted by `perf stat -e instructions:u`; the time is CPU time of this process.
 */
#include "auth/rbac.h"
#include "base/util.h"

#include <stdio.h>
#include <time.h>

enum { TURNS = 2000000 };

static struct arena arena;

static struct json *parse(struct str text)
{
    struct json *j;
    struct err e;

    if (json_parse(&arena, text, NULL, &j, &e) < 0) {
        (void)fprintf(stderr, "%s\n", e.text);
        exit(1);
    }
    return j;
}

static void bind(struct rbac *r, unsigned i, const char *role)
{
    rbac_put(r, parse(arena_fmt(
                    &arena,
                    "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"RoleBinding\",\"metadata\":"
                    "{\"name\":\"b\",\"namespace\":\"ns%u\"},\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"%s\"},"
                    "\"subjects\":[{\"kind\":\"User\",\"name\":\"user%u\"},{\"kind\":\"Group\",\"name\":\"all\"}]}",
                    i, role, i)));
}

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void measure(struct rbac *r, const char *what, const char *user, const struct rbac_question *q)
{
    struct str groups[] = { STR("all"), STR("dev") };
    struct identity who = identity_make(&arena, str_of(user), groups, 2, STR(GROUP_AUTHENTICATED));
    double begin = cpu_s();
    unsigned allowed = 0;

    for (unsigned i = 0; i < TURNS; i++)
        allowed += rbac_allows(r, &who, q);
    printf("%-46s %4.0f ns  %s\n", what, (cpu_s() - begin) / TURNS * 1e9, allowed ? "allowed" : "refused");
}

int main(void)
{
    struct json *defaults = json_array(&arena);
    struct rbac *r = rbac_new();
    struct rbac_question job = {
        .verb = STR("create"), .group = STR("batch.volcano.sh"), .resource = STR("jobs"), .namespace = STR("ns7")
    };
    struct rbac_question pod = { .verb = STR("get"),
                                 .resource = STR("pods"),
                                 .subresource = STR("log"),
                                 .name = STR("p"),
                                 .namespace = STR("ns7") };
    struct rbac_question node = {
        .verb = STR("delete"), .resource = STR("nodes"), .name = STR("n"), .namespace = STR("ns7")
    };
    struct rbac_question path = { .verb = STR("get"), .path = STR("/apis/batch.volcano.sh/v1alpha1") };

    rbac_default_objects(&arena, defaults);
    JSON_FOREACH(o, defaults)
        rbac_put(r, o);
    for (unsigned i = 0; i < 10000; i++)
        bind(r, i, i % 2 ? "admin" : "edit");
    measure(r, "edit of a namespace: create a job", "user7", &job);
    measure(r, "edit of a namespace: read a log", "user7", &pod);
    measure(r, "edit of a namespace: delete a node", "user7", &node);
    measure(r, "anybody: discovery", "eve", &path);
    rbac_free(r);
    arena_done(&arena);
    return 0;
}
