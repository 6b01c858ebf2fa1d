/* job_list.c - `pumice job list` */
#include "api/admit/admit.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "ctl/job_cells.h"
#include "ctl/output.h"
#include "ctl/slurm.h"

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
    { "USER", true, cell_job_user },
    { NULL },
};

static bool job_list_is_wanted(const struct ctl_options *o, const struct json *job)
{
    struct str queue = json_text(json_find(job, "spec", "queue", NULL), STR("default"));
    struct str phase = json_text(json_find(job, "status", "state", "phase", NULL), STR("Pending"));

    return (!o->queue || str_is(queue, o->queue)) && (!o->phase || str_eq_nocase(phase, str_of(o->phase)));
}

static int read_named(struct ctl_verb *v, struct ctl_objects *ret, struct err *e)
{
    for (size_t i = 0; i < v->args.n; i++) {
        struct json *job;

        if (ctl_get(&v->ctl, ctl_name("Job", verb_namespace(v), str_of(v->args.v[i])), &job, e) < 0)
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
        if (job_list_is_wanted(v->o, *job))
            *vec_push(v->arena, &ret->v) = *job;
    return 0;
}

/* ---- the list ---- what waits, runs, or ended within the hour, unless more is asked for ---- */

enum { RECENT_MS = 60 * 60 * 1000 };

static bool is_recent(const struct ctl_verb *v, const struct json *job)
{
    struct str since = json_text(json_find(job, "status", "state", "lastTransitionTime", NULL), STR_NULL);
    struct str phase = job_phase_word(job);
    int64_t ms;

    if (!job_has_ended(phase) || str_is(phase, "Aborted")) /* that one can be resumed */
        return true;
    return clock_parse(since, &ms, NULL) < 0 || v->ctl.now_ms - ms < RECENT_MS;
}

static bool is_of(const struct json *job, struct str user)
{
    return str_eq(object_annotation(job, JOB_CREATOR_ANNOTATION), user) ||
           str_eq(object_annotation(job, SLURM_ANNOTATION_USER), user);
}

static bool job_list_is_listed(const struct ctl_verb *v, const struct json *job)
{
    return job_list_is_wanted(v->o, job) && (v->o->all || v->o->phase || is_recent(v, job)) &&
           (!v->o->user || is_of(job, str_of(v->o->user)));
}

/* With -A the namespace comes first. */
static int job_list_show(struct ctl_verb *v, const struct ctl_objects *jobs, bool is_one, struct err *e)
{
    struct output_column shown[ARRAY_LEN(columns) + 1] = { { "NAMESPACE", false, cell_namespace } };
    struct reasons reasons = { 0 };

    memcpy(shown + 1, columns, sizeof(columns));
    if (output_is_table(v) && jobs->v.n)
        reasons_read(&v->ctl, verb_namespace(v), &reasons);
    return output_objects(v, jobs, is_one, &(struct output_columns){ shown + !v->o->all_namespaces, &reasons }, e);
}

int verb_job_list(struct ctl_verb *v, struct err *e)
{
    return verb_list(v,
                     &(struct verb_list){ .type = ctl_type("Job"),
                                          .which = { .namespace = verb_namespace(v), .labels = str_of(v->o->labels) },
                                          .wants = job_list_is_listed,
                                          .show = job_list_show },
                     e);
}
