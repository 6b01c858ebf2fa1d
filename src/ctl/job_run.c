/* job_run.c - `pumice job run`: from files, or from what the command line says */
#include "api/meta.h"
#include "base/rand.h"
#include "base/util.h"
#include "ctl/job_form.h"
#include "ctl/job_wait.h"
#include "ctl/output.h"

static int job_run_number(const char *option, const char *text, int64_t fallback, int64_t *ret, struct err *e)
{
    *ret = fallback;
    if (text && (str_to_i64(str_of(text), ret) < 0 || *ret < 1 || *ret > INT32_MAX))
        return err_set(e, ERR_SYNTAX, "--%s: \"%s\" is not a number greater than 0", option, text);
    return 0;
}

static struct json *words_after(struct ctl_verb *v)
{
    struct json *list = json_array(v->arena);

    for (size_t i = 0; i < v->args.n; i++)
        json_push(list, json_str(v->arena, str_of(v->args.v[i])));
    return list;
}

static int job_run_environment(struct ctl_verb *v, struct json **ret, struct err *e)
{
    *ret = json_array(v->arena);
    for (size_t i = 0; i < v->o->env.n; i++) {
        struct str rest = str_of(v->o->env.v[i]), name;
        struct json *var;

        if (!str_split(&rest, '=', &name) || !name.n || !rest.p)
            return err_set(e, ERR_SYNTAX, "--env: \"%s\" is not NAME=VALUE", v->o->env.v[i]);
        var = json_push(*ret, json_object(v->arena));
        json_add(var, STR("name"), json_str(v->arena, name));
        json_add(var, STR("value"), json_str(v->arena, rest));
    }
    return 0;
}

struct str job_new_name(struct arena *a, const char *prefix)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789"; /* no words, nothing that looks like another */
    char tail[6] = "";
    struct rand r;

    rand_seed(&r, rand_os_u64());
    for (size_t i = 0; i + 1 < sizeof(tail); i++)
        tail[i] = letters[rand_below(&r, sizeof(letters) - 1)];
    return arena_fmt(a, "%s-%s", prefix, tail);
}

static int from_options(struct ctl_verb *v, struct ctl_objects *ret, struct err *e)
{
    const struct ctl_options *o = v->o;
    struct job_form f = { .name = o->name ? str_of(o->name) : job_new_name(v->arena, "job"),
                          .image = str_of(o->image ? o->image : "busybox"),
                          .scheduler = str_of(o->scheduler ? o->scheduler : "volcano"),
                          .queue = str_of(o->queue),
                          .priority_class = str_of(o->priority_class),
                          .task = STR("main"),
                          .max_retry = -1,
                          .command = words_after(v) };

    if (job_run_number("replicas", o->replicas, 1, &f.replicas, e) < 0 ||
        job_run_number("min", o->min, f.replicas, &f.min_available, e) < 0 || job_run_environment(v, &f.env, e) < 0)
        return -1;
    if (job_amounts(v->arena, str_of(o->requests ? o->requests : "cpu=1,memory=100Mi"), &f.requests, e) < 0)
        return err_wrap(e, "--requests");
    if (job_amounts(v->arena, str_of(o->limits), &f.limits, e) < 0)
        return err_wrap(e, "--limits");
    f.namespace = verb_namespace(v);
    *vec_push(v->arena, &ret->v) = job_form_make(v->arena, &f);
    return 0;
}

/* Where it goes: what the file says, unless -n says another thing too. */
static int job_run_place(struct ctl_verb *v, struct json *job, struct err *e)
{
    struct str own = object_namespace(job), asked = verb_namespace(v);

    if (!str_is(object_kind(job), "Job") || type_by_kind(object_api_version(job), STR("Job")) != ctl_type("Job"))
        return err_set(e, ERR_INVALID, "%s: line %u: is not a Job of batch.volcano.sh/v1alpha1", v->o->file, job->line);
    if (v->o->namespace && own.n && !str_eq(own, asked))
        return err_set(e, ERR_INVALID, "%s: line %u: metadata.namespace is %.*s, but -n is %.*s", v->o->file, job->line,
                       STR_ARG(own), STR_ARG(asked));
    if (!own.n && json_need_object(v->arena, job, "metadata"))
        json_set(json_get(job, "metadata"), "namespace", json_str(v->arena, asked));
    return 0;
}

static int job_run_submit(struct ctl_verb *v, struct ctl_objects *jobs, struct ctl_objects *made, struct err *e)
{
    VEC_FOREACH(job, &jobs->v) {
        struct json *answer;

        if (ctl_create(&v->ctl, ctl_name_of("Job", *job), *job, &answer, e) < 0)
            return -1;
        *vec_push(v->arena, &made->v) = answer;
        if (!v->o->output)
            buf_fmt(&v->out, "job %.*s/%.*s created%s\n", STR_ARG(object_namespace(answer)),
                    STR_ARG(object_name(answer)), verb_dry_note(v));
    }
    return 0;
}

int verb_job_run(struct ctl_verb *v, struct err *e)
{
    struct ctl_objects jobs = { 0 }, made = { 0 };

    if (v->o->all_namespaces)
        return err_set(e, ERR_SYNTAX, "a job needs one namespace; give -n NAMESPACE instead of -A");
    if (v->o->file && v->args.n)
        return err_set(e, ERR_SYNTAX, "a command needs --image; it cannot be combined with -f");
    if ((v->o->file ? verb_read(v, v->o->file, &jobs, e) : from_options(v, &jobs, e)) < 0)
        return -1;
    VEC_FOREACH(job, &jobs.v)
        if (v->o->file && job_run_place(v, *job, e) < 0)
            return -1;
    if (job_run_submit(v, &jobs, &made, e) < 0)
        return -1;
    if (v->o->output && output_objects(v, &made, jobs.v.n == 1, NULL, e) < 0)
        return -1;
    if (!v->o->wait || v->o->dry_run)
        return 0;
    if (verb_flush(v, e) < 0)
        return -1;
    return job_wait_over(v, &made, e);
}
