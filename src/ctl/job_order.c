/* job_order.c - `pumice job suspend`, `resume` and `delete` */
#include "api/meta.h"
#include "base/util.h"
#include "ctl/job_cells.h"
#include "ctl/job_wait.h"

static const struct order {
    const char *action;         /* of the Command; NULL: it is deleted */
    const char *done, *already; /* what is said; 'already': in this phase there is nothing to do */
    const char *const *until;   /* what --wait waits for */
} orders[] = {
    { "AbortJob", "suspended", "Aborted", (const char *const[]){ "Aborted", NULL } },
    { "ResumeJob", "resumed", "Running", (const char *const[]){ "Pending", "Running", "Completed", NULL } },
    { NULL, "deleted", NULL, NULL },
};
enum { SUSPEND, RESUME, DELETE };

static int give_one(struct ctl_verb *v, const struct order *o, const struct json *job, struct err *e)
{
    struct str phase = job_phase_word(job);
    int64_t timeout_ms;

    if (verb_timeout(v, &timeout_ms, e) < 0) /* before anything is ordered */
        return -1;
    if (o->already && str_is(phase, o->already)) {
        buf_fmt(&v->out, "job %.*s/%.*s is %.*s already\n", STR_ARG(object_namespace(job)), STR_ARG(object_name(job)),
                STR_ARG(phase));
        return 0;
    }
    if (o->action ? ctl_command(&v->ctl, object_namespace(job), job, o->action, e) < 0
                  : ctl_delete(&v->ctl, ctl_name_of("Job", job), e) < 0)
        return -1;
    if (v->o->wait && !v->o->dry_run && job_wait_phase(v, ctl_name_of("Job", job), o->until, &phase, e) < 0)
        return -1;
    buf_fmt(&v->out, "job %.*s/%.*s %s%s\n", STR_ARG(object_namespace(job)), STR_ARG(object_name(job)), o->done,
            verb_dry_note(v));
    return verb_flush(v, e);
}

static int job_order_order(struct ctl_verb *v, const struct order *o, struct err *e)
{
    struct ctl_objects jobs = { 0 };

    if (!v->args.n && !v->o->labels && !v->o->all)
        return err_set(e, ERR_SYNTAX, "missing jobs; give names, -l SELECTOR or --all");
    if (jobs_read(v, &jobs, e) < 0)
        return -1;
    VEC_FOREACH(job, &jobs.v)
        if (give_one(v, o, *job, e) < 0)
            return -1;
    return 0;
}

int verb_job_suspend(struct ctl_verb *v, struct err *e)
{
    return job_order_order(v, &orders[SUSPEND], e);
}

int verb_job_resume(struct ctl_verb *v, struct err *e)
{
    return job_order_order(v, &orders[RESUME], e);
}

int verb_job_delete(struct ctl_verb *v, struct err *e)
{
    return job_order_order(v, &orders[DELETE], e);
}
