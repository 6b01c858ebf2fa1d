/* job_wait.c - `pumice job wait` */
#include "ctl/job_wait.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "ctl/job_cells.h"

int job_wait_phase(struct ctl_verb *v, struct ctl_name job, const char *const *phases, struct str *ret_phase,
                   struct err *e)
{
    struct verb_goal goal = { job, phases, job_phase_word, "job" };
    int64_t timeout_ms;
    struct json *found;

    if (verb_timeout(v, &timeout_ms, e) < 0)
        return -1;
    if (ctl_get(&v->ctl, job, &found, e) == 0)
        return verb_wait_for(v, &goal, ret_phase, e);
    if (phases || e->code != ERR_NOT_FOUND)
        return -1;
    *ret_phase = STR("deleted");
    return 0;
}

int job_wait_over(struct ctl_verb *v, const struct ctl_objects *jobs, struct err *e)
{
    VEC_FOREACH(job, &jobs->v) {
        struct str phase;

        if (job_wait_phase(v, ctl_name_of("Job", *job), job_end_phases, &phase, e) < 0)
            return -1;
        buf_fmt(&v->out, "job %.*s/%.*s %.*s\n", STR_ARG(object_namespace(*job)), STR_ARG(object_name(*job)),
                STR_ARG(phase));
        v->status = str_is(phase, "Completed") ? v->status : CTL_FAILED;
        if (verb_flush(v, e) < 0)
            return -1;
    }
    return 0;
}

/* --for: "phase=Running,Completed", "Completed", "delete" (NULL), "over" or nothing. */
static int parse_condition(struct ctl_verb *v, const char *const **ret_phases, struct err *e)
{
    static const char *const known[] = { "Pending",    "Aborting",  "Aborted",     "Running",    "Restarting",
                                         "Completing", "Completed", "Terminating", "Terminated", "Failed" };
    struct str text = str_of(v->o->condition ? v->o->condition : "over"), part;
    VEC(const char *) phases = { 0 };

    *ret_phases = str_is(text, "delete") ? NULL : job_end_phases;
    if (str_is(text, "delete") || str_is(text, "over"))
        return 0;
    if (str_starts(text, STR("jsonpath={.status.state.phase}=")))
        text = str_from(text, strlen("jsonpath={.status.state.phase}="));
    else if (str_starts(text, STR("phase=")))
        text = str_from(text, strlen("phase="));
    while (str_split(&text, ',', &part)) {
        size_t i = 0;

        while (i < ARRAY_LEN(known) && !str_eq_nocase(part, str_of(known[i])))
            i++;
        if (i == ARRAY_LEN(known))
            return err_set(
                e, ERR_SYNTAX,
                "--for: \"%.*s\" is not a phase of a job; write phase=Running, phase=Completed,Failed, delete or over",
                STR_ARG(part));
        *vec_push(v->arena, &phases) = known[i];
    }
    *vec_push(v->arena, &phases) = NULL;
    *ret_phases = phases.v;
    return 0;
}

int verb_job_wait(struct ctl_verb *v, struct err *e)
{
    const char *const *phases;

    if (verb_needs_names(v, "job", e) < 0 || parse_condition(v, &phases, e) < 0)
        return -1;
    for (size_t i = 0; i < v->args.n; i++) {
        struct str phase;

        if (job_wait_phase(v, ctl_name("Job", verb_namespace(v), str_of(v->args.v[i])), phases, &phase, e) < 0)
            return -1;
        buf_fmt(&v->out, "job %.*s/%s %.*s\n", STR_ARG(verb_namespace(v)), v->args.v[i], STR_ARG(phase));
        if (phases == job_end_phases && !str_is(phase, "Completed"))
            v->status = CTL_FAILED;
        if (verb_flush(v, e) < 0)
            return -1;
    }
    return 0;
}
