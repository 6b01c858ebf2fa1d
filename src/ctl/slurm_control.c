/* slurm_control.c - scancel and scontrol */
#include "api/meta.h"
#include "base/util.h"
#include "ctl/job_cells.h"
#include "ctl/slurm.h"
#include "yaml/yaml.h"

static int command(struct ctl_verb *v, const struct json *job, const char *action, struct err *e)
{
    return ctl_command(&v->ctl, object_namespace(job), job, action, NULL, e);
}

/* ---- scancel ---- */

static bool is_in(const char *list, struct str word)
{
    struct str rest = str_of(list), part;

    while (list && str_split(&rest, ',', &part))
        if (str_eq_nocase(part, word))
            return true;
    return !list;
}

static int cancel_matching(struct ctl_verb *v, struct err *e)
{
    const struct slurm_options *o = v->o->slurm;
    struct ctl_select which = { .namespace = verb_namespace(v) };
    struct ctl_objects jobs = { 0 };
    const char *user = o->me ? getenv("USER") : o->user;

    if (ctl_list(&v->ctl, ctl_type("Job"), &which, &jobs, e) < 0)
        return -1;
    VEC_FOREACH(job, &jobs.v) {
        struct str phase = job_phase_word(*job);

        if (job_has_ended(phase) || !is_in(user, object_annotation(*job, SLURM_ANNOTATION_USER)) ||
            !is_in(o->names, object_name(*job)) ||
            !is_in(o->partition, json_text(json_find(*job, "spec", "queue", NULL), STR("default"))) ||
            (!is_in(o->states, str_of(slurm_state(phase))) && !is_in(o->states, str_of(slurm_state_long(phase)))))
            continue;
        if (command(v, *job, "TerminateJob", e) < 0)
            return -1;
    }
    return 0;
}

/* As Slurm: silent. One that has ended already is left alone. */
int verb_scancel(struct ctl_verb *v, struct err *e)
{
    const struct slurm_options *o = v->o->slurm;

    if (!v->args.n && !o->user && !o->me && !o->names && !o->partition && !o->states)
        return err_set(e, ERR_SYNTAX,
                       "No job identification provided: give ids or names, or --user, --name, --partition, --state");
    if (!v->args.n)
        return cancel_matching(v, e);
    for (size_t i = 0; i < v->args.n; i++) {
        struct json *job;

        if (slurm_find(v, v->args.v[i], &job, e) < 0)
            return -1;
        if (!job_has_ended(job_phase_word(job)) && command(v, job, "TerminateJob", e) < 0)
            return -1;
    }
    return 0;
}

/* ---- scontrol ---- */

static int show_job(struct ctl_verb *v, const struct json *job)
{
    struct reasons reasons = { 0 };
    struct str reason, phase = job_phase_word(job);

    reasons_read(&v->ctl, object_namespace(job), &reasons);
    reason = reason_of(&reasons, job);
    buf_fmt(&v->out, "JobId=%.*s JobName=%.*s\n", STR_ARG(slurm_id(job)), STR_ARG(object_name(job)));
    buf_fmt(&v->out, "   UserId=%.*s Partition=%.*s\n", STR_ARG(object_annotation(job, SLURM_ANNOTATION_USER)),
            STR_ARG(json_text(json_find(job, "spec", "queue", NULL), STR("default"))));
    buf_fmt(&v->out, "   JobState=%s Reason=%.*s\n", slurm_state_long(phase), STR_ARG(reason.n ? reason : STR("None")));
    buf_fmt(&v->out, "   Requeue=1 Restarts=%.*s\n", STR_ARG(cell_job_retries(v, job, NULL)));
    buf_fmt(&v->out, "   SubmitTime=%.*s\n",
            STR_ARG(json_text(json_find(job, "metadata", "creationTimestamp", NULL), STR_NULL)));
    buf_fmt(&v->out, "   NumTasks=%lld MinTasks=%.*s\n\n", (long long)job_replicas(job),
            STR_ARG(cell_job_min(v, job, NULL)));
    return 0;
}

static int show(struct ctl_verb *v, struct err *e)
{
    static const struct {
        const char *word, *kind;
    } kinds[] = { { "node", "Node" }, { "nodes", "Node" }, { "partition", "Queue" }, { "partitions", "Queue" } };
    const char *what = v->args.n > 1 ? v->args.v[1] : "";
    struct ctl_objects list = { 0 };
    struct json *one;

    if (strcmp(what, "job") == 0 || strcmp(what, "jobs") == 0) {
        if (v->args.n > 2 && slurm_find(v, v->args.v[2], &one, e) < 0)
            return -1;
        if (v->args.n > 2)
            return show_job(v, one);
        if (ctl_list(&v->ctl, ctl_type("Job"), &(struct ctl_select){ .namespace = verb_namespace(v) }, &list, e) < 0)
            return -1;
        VEC_FOREACH(job, &list.v)
            (void)show_job(v, *job);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].word, what) != 0)
            continue;
        if (v->args.n > 2 ? ctl_get(&v->ctl, ctl_type(kinds[i].kind), STR_NULL, str_of(v->args.v[2]), &one, e) < 0
                          : ctl_list(&v->ctl, ctl_type(kinds[i].kind), &(struct ctl_select){ 0 }, &list, e) < 0)
            return -1;
        if (v->args.n > 2)
            *vec_push(v->arena, &list.v) = one;
        VEC_FOREACH(o, &list.v) {
            json_remove(json_get(*o, "metadata"), "managedFields");
            buf_str(&v->out, o == list.v.v ? STR("") : STR("---\n"));
            yaml_print(&v->out, *o, NULL);
        }
        return 0;
    }
    return err_set(e, ERR_SYNTAX, "show job, show node or show partition; not \"%s\"", what);
}

static const struct {
    const char *word, *action, *instead;
} actions[] = {
    { "suspend", "AbortJob", NULL },
    { "resume", "ResumeJob", NULL },
    { "requeue", "RestartJob", NULL },
    { "hold", NULL,
      "a Volcano Job cannot be held: submit it later, or close its queue ('pumice queue operate close')" },
    { "release", NULL, "a Volcano Job cannot be held, so there is nothing to release" },
    { "update", NULL, "what a job asks for cannot be changed: cancel it and submit it again" },
};

int verb_scontrol(struct ctl_verb *v, struct err *e)
{
    const char *word = v->args.n ? v->args.v[0] : "";

    if (strcmp(word, "show") == 0)
        return show(v, e);
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        if (strcmp(actions[i].word, word) != 0)
            continue;
        if (!actions[i].action)
            return err_set(e, ERR_SYNTAX, "%s: %s", word, actions[i].instead);
        if (v->args.n < 2)
            return err_set(e, ERR_SYNTAX, "%s: say which job", word);
        for (size_t k = 1; k < v->args.n; k++) {
            struct json *job;

            if (slurm_find(v, v->args.v[k], &job, e) < 0 || command(v, job, actions[i].action, e) < 0)
                return -1;
        }
        return 0;
    }
    return err_set(e, ERR_SYNTAX, "\"%s\" is not known: show, suspend, resume, requeue", word);
}
