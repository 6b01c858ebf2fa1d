/* vc_job.c - vcctl job run, list, suspend, resume, delete; vsub, vjobs, vcancel */
#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "ctl/job_form.h"
#include "ctl/vc.h"
#include "os/io.h"
#include "yaml/yaml.h"

#include <errno.h>

/* ---- a new one ---- */

static int vc_job_read(struct vc *v, struct json **ret, struct err *e)
{
    const char *path = v->values->filename;
    struct yaml_docs docs = { 0 };
    struct str text;

    if (!strstr(path, ".yaml") && !strstr(path, ".yml"))
        return err_set(e, ERR_INVALID, "only support yaml file");
    if (access(path, R_OK) < 0)
        return err_set(e, ERR_IO, "failed to read file, err: open %s: %s", path,
                       errno == ENOENT ? "no such file or directory" : "permission denied");
    text = file_text(v->arena, AT_FDCWD, path, 64 << 20);
    if (yaml_parse(v->arena, text, NULL, &docs, e) < 0) {
        v->printed = arena_fmt(v->arena, "failed to unmarshal file, err:  %s", e->text);
        return -1;
    }
    *ret = docs.n ? docs.v[0] : json_object(v->arena);
    json_set(*ret, "apiVersion", json_str(v->arena, STR("batch.volcano.sh/v1alpha1")));
    json_set(*ret, "kind", json_str(v->arena, STR("Job")));
    return 0;
}

static int vc_job_submit(struct vc *v, struct json *job, struct err *e)
{
    struct json *made;

    if (ctl_create(&v->ctl, ctl_name("Job", str_of(v->values->namespace), STR_NULL), job, &made, e) < 0)
        return -1;
    buf_fmt(&v->out, "run job %.*s successfully\n", STR_ARG(object_name(made)));
    return 0;
}

static int vc_job_make(struct vc *v, struct job_form *form, struct json **ret, struct err *e)
{
    const struct vc_values *o = v->values;
    struct json *command = NULL;

    if (job_amounts(v->arena, str_of(o->requests), &form->requests, e) < 0 ||
        job_amounts(v->arena, str_of(o->limits), &form->limits, e) < 0)
        return -1;
    if (o->filename && o->filename[0])
        return vc_job_read(v, ret, e);
    if (o->command && o->command[0] && job_words(v->arena, str_of(o->command), &command, e) < 0)
        return -1;
    form->command = command;
    *ret = job_form_make(v->arena, form);
    return 0;
}

static struct job_form form_of(const struct vc_values *o)
{
    return (struct job_form){ .name = str_of(o->name),
                              .namespace = str_of(o->namespace),
                              .image = str_of(o->image),
                              .scheduler = str_of(o->scheduler),
                              .min_available = (int32_t)o->min,
                              .replicas = (int32_t)o->replicas,
                              .max_retry = -1 };
}

int vc_job_run(struct vc *v, struct err *e)
{
    struct job_form form = form_of(v->values);
    struct json *job = NULL;

    if (!v->values->name[0] && !(v->values->filename && v->values->filename[0]))
        return err_set(e, ERR_INVALID, "job name cannot be left blank");
    return vc_job_make(v, &form, &job, e) < 0 ? -1 : vc_job_submit(v, job, e);
}

static const char *or_env(const char *given, const char *variable, const char *fallback)
{
    const char *value = getenv(variable);

    return given[0] ? given : value && value[0] ? value : fallback;
}

int vc_submit(struct vc *v, struct err *e)
{
    struct vc_values o = *v->values;

    o.image = or_env(o.image, "VOLCANO_DEFAULT_IMAGE", "busybox");
    o.namespace = or_env(o.namespace, "VOLCANO_DEFAULT_JOB_NAMESPACE", "default");
    o.scheduler = or_env(o.scheduler, "VOLCANO_SCHEDULER_NAME", "volcano");
    v->values = arena_alloc(v->arena, sizeof(o));
    memcpy((void *)v->values, &o, sizeof(o));
    return vc_job_run(v, e);
}

/* ---- lists ---- */

static const struct vc_column columns[] = {
    { "Namespace", 0, 3, 3 }, { "Name", 0, 3, 3 }, { "Creation", 15 },   { "Phase", 12 },   { "JobType", 12 },
    { "Replicas", 12 },       { "Min", 6 },        { "Pending", 10 },    { "Running", 10 }, { "Succeeded", 12 },
    { "Failed", 10 },         { "Unknown", 12 },   { "RetryCount", 10 },
};

static struct str replicas_of(struct vc *v, const struct json *job)
{
    int64_t sum = 0, n;

    JSON_FOREACH(task, json_find(job, "spec", "tasks", NULL))
        sum += json_to_i64(json_get(task, "replicas"), &n) == 0 ? n : 0;
    return arena_fmt(v->arena, "%d", (int)(int32_t)sum);
}

struct vc_job_cells {
    VEC(struct str) v;
};

static void add_row(struct vc *v, struct vc_job_cells *cells, const struct json *job)
{
    static const char *const counts[] = { "minAvailable", "pending", "running",   "succeeded",
                                          "failed",       "unknown", "retryCount" };
    const struct json *status = json_get(job, "status");
    struct str type = object_label(job, "volcano.sh/job-type");
    struct str created = vc_time(v, json_text(json_find(job, "metadata", "creationTimestamp", NULL), STR_NULL));

    if (v->values->all_namespaces)
        *vec_push(v->arena, &cells->v) = object_namespace(job);
    *vec_push(v->arena, &cells->v) = object_name(job);
    *vec_push(v->arena, &cells->v) = str_sub(created, 0, strlen("2006-01-02"));
    *vec_push(v->arena, &cells->v) = json_text(json_find(status, "state", "phase", NULL), STR_NULL);
    *vec_push(v->arena, &cells->v) = type.n ? type : STR("Batch");
    *vec_push(v->arena, &cells->v) = replicas_of(v, job);
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        *vec_push(v->arena, &cells->v) = vc_number(v, json_get(status, counts[i]));
}

static bool vc_job_is_wanted(const struct vc_values *o, const struct json *job)
{
    const struct json *spec = json_get(job, "spec");

    return (!o->queue || !o->queue[0] || str_is(json_member_text(spec, "queue"), o->queue)) &&
           (!o->scheduler[0] || str_is(json_member_text(spec, "schedulerName"), o->scheduler)) &&
           (!o->selector[0] || str_has(object_name(job), str_of(o->selector)));
}

/* vjobs looks whether there are any before it filters, and makes room for all of them. */
static int list_jobs(struct vc *v, bool is_vjobs, struct err *e)
{
    struct ctl_select which = { .namespace = vc_namespace(v) };
    struct ctl_objects jobs = { 0 };
    struct vc_job_cells cells = { 0 };
    struct vc_column shown[ARRAY_LEN(columns)];
    size_t skip = v->values->all_namespaces ? 0 : 1;

    memcpy(shown, columns, sizeof(columns));
    if (ctl_list(&v->ctl, ctl_type("Job"), &which, &jobs, e) < 0)
        return -1;
    VEC_FOREACH(job, &jobs.v) {
        if (vc_job_is_wanted(v->values, *job))
            add_row(v, &cells, *job);
        if (is_vjobs) {
            shown[0].width = MAX_OF(shown[0].width, object_namespace(*job).n + 3);
            shown[1].width = MAX_OF(shown[1].width, object_name(*job).n + 3);
        }
    }
    if (is_vjobs ? !jobs.v.n : !cells.v.n)
        return vc_none(v);
    vc_table(v, shown + skip, ARRAY_LEN(columns) - skip, cells.v.v, cells.v.n);
    return 0;
}

int vc_job_list(struct vc *v, struct err *e)
{
    return list_jobs(v, false, e);
}

int vc_jobs(struct vc *v, struct err *e)
{
    return v->values->name[0] ? vc_job_view(v, e) : list_jobs(v, true, e);
}

/* ---- orders ---- */

static int vc_job_order(struct vc *v, const char *verb, const char *action, struct err *e)
{
    struct str namespace = str_of(v->values->namespace);
    struct json *job;

    if (!v->values->name[0])
        return err_set(e, ERR_INVALID, "job name is mandatory to %s a particular job", verb);
    if (ctl_get(&v->ctl, ctl_name("Job", namespace, str_of(v->values->name)), &job, e) < 0)
        return -1;
    return ctl_command(&v->ctl, namespace, job, action, e);
}

int vc_job_suspend(struct vc *v, struct err *e)
{
    return vc_job_order(v, "suspend", "AbortJob", e);
}

int vc_job_resume(struct vc *v, struct err *e)
{
    return vc_job_order(v, "resume", "ResumeJob", e);
}

static int end_job(struct vc *v, const char *verb, struct err *e)
{
    if (!v->values->name[0])
        return err_set(e, ERR_INVALID, "job name is mandatory to %s a particular job", verb);
    if (ctl_delete(&v->ctl, ctl_name("Job", str_of(v->values->namespace), str_of(v->values->name)), e) < 0)
        return -1;
    buf_fmt(&v->out, "%s job %s successfully\n", verb, v->values->name);
    return 0;
}

int vc_job_delete(struct vc *v, struct err *e)
{
    return end_job(v, "delete", e);
}

int vc_cancel(struct vc *v, struct err *e)
{
    return end_job(v, "cancel", e);
}
