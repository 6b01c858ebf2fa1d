/* slurm_submit.c - sbatch and srun */
#include "api/meta.h"
#include "base/util.h"
#include "ctl/job_cells.h"
#include "ctl/job_wait.h"
#include "ctl/pod.h"
#include "ctl/slurm.h"

/* ---- dependencies ---- */

static const char *const begun[] = { "Running", "Restarting", "Completing", "Completed",
                                     "Failed",  "Terminated", "Aborted",    NULL };

/* One that can never hold is an error: nothing is submitted that would wait for ever. */
static int submit_wait_for(struct ctl_verb *v, const struct slurm_dependency *d, struct err *e)
{
    struct json *job;
    struct str phase;
    bool is_fine;

    if (slurm_find(v, arena_cstr(v->arena, d->job), &job, e) < 0)
        return err_wrap(e, "--dependency");
    if (!job_has_ended(job_phase_word(job)))
        fprintf(stderr, "pumice slurm sbatch: waiting for job %.*s before submitting\n", STR_ARG(slurm_id(job)));
    if (job_wait_phase(v, ctl_name_of("Job", job), d->after == AFTER_BEGIN ? begun : job_end_phases, &phase, e) < 0)
        return -1;
    is_fine = str_is(phase, "Completed");
    if ((d->after == AFTER_OK && !is_fine) || (d->after == AFTER_NOT_OK && is_fine))
        return err_set(e, ERR_INVALID,
                       "--dependency: job %.*s is %s, so this job would never run (DependencyNeverSatisfied)",
                       STR_ARG(d->job), slurm_state_long(phase));
    return 0;
}

static int wait_for_all(struct ctl_verb *v, struct err *e)
{
    struct slurm_dependencies all = { 0 };

    if (!v->o->slurm->dependency)
        return 0;
    if (slurm_dependencies(v->arena, str_of(v->o->slurm->dependency), &all, e) < 0)
        return -1;
    VEC_FOREACH(d, &all.v)
        if (submit_wait_for(v, d, e) < 0)
            return -1;
    return 0;
}

/* ---- submitting ---- */

static int submit_submit(struct ctl_verb *v, struct json **ret, struct err *e)
{
    struct slurm_request rq = { v->o->slurm, v->o->script, verb_namespace(v) };
    struct slurm_notes notes = { 0 };
    struct json *job;

    if (slurm_job(v->arena, &rq, &job, &notes, e) < 0)
        return -1;
    VEC_FOREACH(note, &notes.v)
        fprintf(stderr, "pumice %s: %.*s\n", v->command, STR_ARG(*note));
    if (wait_for_all(v, e) < 0)
        return -1;
    if (v->o->slurm->test_only)
        v->ctl.dry = CTL_DRY_SERVER;
    return ctl_create(&v->ctl, ctl_name_of("Job", job), job, ret, e);
}

/* The greatest exit status of its containers. */
static int exit_status(struct ctl_verb *v, const struct json *job)
{
    struct pod_query query = { .namespace = object_namespace(job), .job = object_name(job) };
    struct pod_rows pods = { 0 };
    struct err e;
    int64_t code, most = 0;

    if (pod_select(&v->ctl, &query, &pods, &e) < 0)
        return CTL_FAILED;
    VEC_FOREACH(row, &pods.v)
        JSON_FOREACH(c, json_find(row->object, "status", "containerStatuses", NULL))
            if (json_to_i64(json_find(c, "state", "terminated", "exitCode", NULL), &code) == 0)
                most = MAX_OF(most, code);
    return (int)most;
}

static int wait_until_over(struct ctl_verb *v, const struct json *job, struct err *e)
{
    struct str phase;

    if (job_wait_phase(v, ctl_name_of("Job", job), job_end_phases, &phase, e) < 0)
        return -1;
    v->status = exit_status(v, job);
    if (!v->status && !str_is(phase, "Completed"))
        v->status = CTL_FAILED;
    return 0;
}

int verb_sbatch(struct ctl_verb *v, struct err *e)
{
    struct json *job;

    if (submit_submit(v, &job, e) < 0)
        return -1;
    if (v->o->slurm->test_only)
        buf_fmt(&v->out, "sbatch: Job %.*s can be submitted\n", STR_ARG(object_name(job)));
    else if (v->o->slurm->parsable)
        buf_fmt(&v->out, "%.*s\n", STR_ARG(slurm_id(job)));
    else
        buf_fmt(&v->out, "Submitted batch job %.*s\n", STR_ARG(slurm_id(job)));
    if (!v->o->slurm->wait || v->o->slurm->test_only)
        return 0;
    return verb_flush(v, e) < 0 ? -1 : wait_until_over(v, job, e);
}

/* A job whose output is followed here, and whose exit status is ours. */
int verb_srun(struct ctl_verb *v, struct err *e)
{
    static const char *const seen[] = { "Running", "Completing", "Completed", "Failed", "Terminated", "Aborted", NULL };
    struct ctl_options *follow = arena_new(v->arena, struct ctl_options);
    const char **name = arena_new(v->arena, const char *);
    const struct ctl_options *before = v->o;
    struct ctl_words args = v->args;
    struct json *job;
    struct str phase;
    int rc;

    if (submit_submit(v, &job, e) < 0)
        return -1;
    *name = arena_cstr(v->arena, object_name(job));
    fprintf(stderr, "srun: job %.*s queued and waiting for resources\n", STR_ARG(slurm_id(job)));
    if (job_wait_phase(v, ctl_name_of("Job", job), seen, &phase, e) < 0)
        return -1;
    *follow = *v->o;
    follow->follow = true;
    v->o = follow;
    v->args = (struct ctl_words){ name, 1 };
    rc = verb_job_logs(v, e);
    v->o = before;
    v->args = args;
    return rc < 0 ? -1 : wait_until_over(v, job, e);
}
