/* job_list.c - `pumice job list` */
#include "api/meta.h"
#include "base/util.h"
#include "ctl/job_cells.h"
#include "ctl/output.h"

static const struct output_column columns[] = {
    { "NAME", false, cell_name },
    { "PHASE", false, cell_job_phase },
    { "PODS", false, cell_job_pods },
    { "QUEUE", false, cell_job_queue },
    { "AGE", false, cell_since },
    { "REASON", false, cell_job_reason },
    { "MIN", true, cell_job_min },
    { "SUCCEEDED", true, cell_job_succeeded },
    { "FAILED", true, cell_job_failed },
    { "RETRIES", true, cell_job_retries },
    { "PRIORITY", true, cell_job_priority },
    { "TYPE", true, cell_job_type },
    { NULL },
};

static bool is_wanted(const struct ctl_options *o, const struct json *job)
{
    struct str queue = json_text(json_find(job, "spec", "queue", NULL), STR("default"));
    struct str phase = json_text(json_find(job, "status", "state", "phase", NULL), STR("Pending"));

    return (!o->queue || str_is(queue, o->queue)) && (!o->phase || str_eq_nocase(phase, str_of(o->phase)));
}

static int read_named(struct ctl_verb *v, struct ctl_objects *ret, struct err *e)
{
    for (size_t i = 0; i < v->args.n; i++) {
        struct json *job;

        if (ctl_get(&v->ctl, ctl_type("Job"), verb_namespace(v), str_of(v->args.v[i]), &job, e) < 0)
            return -1;
        *vec_push(v->arena, &ret->v) = job;
    }
    return 0;
}

int jobs_read(struct ctl_verb *v, struct ctl_objects *ret, struct err *e)
{
    struct ctl_select which = { .namespace = verb_namespace(v),
                                .labels = v->o->labels ? str_of(v->o->labels) : STR_NULL };
    struct ctl_objects all = { 0 };

    if (v->args.n)
        return read_named(v, ret, e);
    if (ctl_list(&v->ctl, ctl_type("Job"), &which, &all, e) < 0)
        return -1;
    VEC_FOREACH(job, &all.v)
        if (is_wanted(v->o, *job))
            *vec_push(v->arena, &ret->v) = *job;
    return 0;
}

/* With -A the namespace comes first. */
int verb_job_list(struct ctl_verb *v, struct err *e)
{
    struct output_column shown[ARRAY_LEN(columns) + 1] = { { "NAMESPACE", false, cell_namespace } };
    struct reasons reasons = { 0 };
    struct ctl_objects jobs = { 0 };

    memcpy(shown + 1, columns, sizeof(columns));
    if (jobs_read(v, &jobs, e) < 0)
        return -1;
    if (output_is_table(v) && jobs.v.n)
        reasons_read(&v->ctl, verb_namespace(v), &reasons);
    return output_objects(v, &jobs, v->args.n == 1, v->o->all_namespaces ? shown : shown + 1, &reasons, e);
}
