/* validate.c - the whole path of `pumice validate` and `render`: bytes, documents, admission, plugins, pods */
#include "api/meta.h"
#include "api/types.h"
#include "job/admit.h"
#include "job/pod.h"
#include "job/wanted.h"
#include "yaml/yaml.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore_duplicate(void *ctx, struct json_duplicate dup)
{
    (void)ctx, (void)dup;
}

/* Making RSA keys is OpenSSL's work and slow; the fuzzer is after ours. */
static int make_keys(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e)
{
    (void)ctx, (void)a, (void)type, (void)e;
    *ret = (struct ssh_keys){ STR("-----BEGIN RSA PRIVATE KEY-----\nAA==\n-----END RSA PRIVATE KEY-----\n"),
                              STR("ssh-rsa AAAA\n") };
    return 0;
}

/* What was admitted must be buildable; what cannot be built must have been refused. */
static void build(struct arena *a, struct job *job, struct plugin_set *set)
{
    struct plugin_objects objects = { .arena = a };
    struct err e;

    if (job_wanted(job, set, &objects, &e) < 0)
        abort();
    job_wanted_group(job, NULL, false, &objects);
    for (size_t t = 0; t < job->spec.tasks.n; t++)
        for (int32_t i = 0; i < job->spec.tasks.v[t].replicas && i < 3; i++) {
            struct pod_draft pod = { .task_pos = t, .index = (uint32_t)i };

            if (job_pod_new(a, job, set, &pod, &e) < 0)
                abort();
        }
}

static void admit(struct arena *a, struct json *root)
{
    struct problems ps = { .arena = a };
    struct admit_env env = { .mark = MARK_DEFAULT };
    struct plugin_world world = { .make_keys = make_keys };
    struct plugin_set *set;
    struct json *again;
    struct job job;

    set = job_admit(a, root, &(struct job_admit_env){ .env = &env, .world = &world }, &job, &ps);
    problems_sort(&ps);
    if (ps.n_errors)
        return;
    again = json_copy(a, root);
    admit_job_defaults(a, again, &env);
    plugin_default(a, again, env.mark);
    if (!json_equal(root, again)) /* defaulting twice is defaulting once */
        abort();
    build(a, &job, set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct yaml_options opt = { .on_duplicate = ignore_duplicate, .max_nodes = 20000 };
    struct yaml_docs docs = { 0 };
    struct arena a = { 0 };

    if (size < 64 * 1024 && yaml_parse(&a, (struct str){ (const char *)data, size }, &opt, &docs, NULL) == 0)
        for (size_t i = 0; i < docs.n; i++) {
            struct problems ps = { .arena = &a };
            struct admit_env env = { 0 };
            struct str kind = object_kind(docs.v[i]);

            if (str_is(kind, "Queue"))
                admit_queue(&a, docs.v[i], NULL, &env, &ps);
            else if (str_is(kind, "PodGroup"))
                admit_podgroup(&a, docs.v[i], NULL, &env, &ps);
            else
                admit(&a, docs.v[i]);
        }
    arena_done(&a);
    return 0;
}
