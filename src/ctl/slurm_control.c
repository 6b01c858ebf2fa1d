/* slurm_control.c - scancel and scontrol */
#include "api/meta.h"
#include "base/util.h"
#include "ctl/job_cells.h"
#include "ctl/slurm.h"
#include "yaml/yaml.h"

static int slurm_control_command(struct ctl_verb *v, const struct json *job, const char *action, struct err *e)
{
    return ctl_command(&v->ctl, object_namespace(job), job, action, e);
}

/* ---- scancel ---- */

/* One that is suspended or held has no pods, and takes no order but to be resumed: it goes, record and all. */
static int cancel(struct ctl_verb *v, const struct json *job, struct err *e)
{
    if (!str_is(job_phase_word(job), "Aborted"))
        return job_has_ended(job_phase_word(job)) ? 0 : slurm_control_command(v, job, "TerminateJob", e);
    fprintf(stderr, "scancel: deleting job %.*s, which is pending or suspended\n", STR_ARG(slurm_id(job)));
    return ctl_delete(&v->ctl, ctl_name_of("Job", job), e);
}

static bool slurm_control_is_in(const char *list, struct str word)
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
        struct str phase = slurm_phase(*job);

        if (!slurm_control_is_in(user, object_annotation(*job, SLURM_ANNOTATION_USER)) ||
            !slurm_control_is_in(o->names, object_name(*job)) ||
            !slurm_control_is_in(o->partition, json_text(json_find(*job, "spec", "queue", NULL), STR("default"))) ||
            (!slurm_control_is_in(o->states, str_of(slurm_state(phase))) &&
             !slurm_control_is_in(o->states, str_of(slurm_state_long(phase)))))
            continue;
        if (cancel(v, *job, e) < 0)
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

        if (slurm_find(v, v->args.v[i], &job, e) < 0 || cancel(v, job, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- scontrol ---- */

static int show_job(struct ctl_verb *v, const struct json *job)
{
    struct reasons reasons = { 0 };
    struct str reason, phase = slurm_phase(job);

    reasons_read(&v->ctl, object_namespace(job), &reasons);
    reason = slurm_reason(&reasons, job);
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

static int slurm_control_show(struct ctl_verb *v, struct err *e)
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
        if (v->args.n > 2 ? ctl_get(&v->ctl, ctl_name(kinds[i].kind, STR_NULL, str_of(v->args.v[2])), &one, e) < 0
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
    return err_set(e, ERR_SYNTAX, "show: \"%s\" is not one of job, node, partition", what);
}

/* ---- orders to jobs ---- */

static int suspend(struct ctl_verb *v, const struct json *job, struct err *e)
{
    return slurm_control_command(v, job, "AbortJob", e);
}

static int resume(struct ctl_verb *v, const struct json *job, struct err *e)
{
    return slurm_control_command(v, job, "ResumeJob", e);
}

static int requeue(struct ctl_verb *v, const struct json *job, struct err *e)
{
    return slurm_control_command(v, job, "RestartJob", e);
}

static int mark_held(struct ctl_verb *v, const struct json *job, bool is_held, struct err *e)
{
    struct json *patch = json_object(v->arena), *meta = json_add(patch, STR("metadata"), json_object(v->arena));
    struct json *notes = json_add(meta, STR("annotations"), json_object(v->arena));

    json_add(notes, STR(SLURM_ANNOTATION_HELD), is_held ? json_str(v->arena, STR("true")) : json_null(v->arena));
    return ctl_merge(&v->ctl, ctl_name_of("Job", job), patch, e);
}

/* A pending job has no pods, so it is aborted without a loss, and marked as held. */
static int slurm_control_hold(struct ctl_verb *v, const struct json *job, struct err *e)
{
    if (!str_is(slurm_phase(job), "Pending"))
        return err_set(e, ERR_INVALID,
                       "Job is no longer pending execution: %.*s is %s; 'scontrol suspend' ends its pods",
                       STR_ARG(slurm_id(job)), slurm_state_long(slurm_phase(job)));
    return mark_held(v, job, true, e) < 0 ? -1 : slurm_control_command(v, job, "AbortJob", e);
}

static int slurm_control_release(struct ctl_verb *v, const struct json *job, struct err *e)
{
    if (str_eq(slurm_phase(job), job_phase_word(job)))
        return 0; /* it is not held: as Slurm, silently */
    return slurm_control_command(v, job, "ResumeJob", e) < 0 ? -1 : mark_held(v, job, false, e);
}

/* ---- update ---- "JobId=12 NumTasks=4 Priority=high" ---- */

static int set_tasks(struct ctl_verb *v, struct json *patch, const struct json *job, struct str value, struct err *e)
{
    struct json *spec = json_need_object(v->arena, patch, "spec");
    struct json *tasks = json_copy(v->arena, json_find(job, "spec", "tasks", NULL)), *task = json_at(tasks, 0);
    int64_t n, before = json_i64(json_get(task, "replicas"), 1);
    int64_t min = json_i64(json_find(job, "spec", "minAvailable", NULL), before);

    if (str_to_i64(value, &n) < 0 || n < 1 || n > 1000000)
        return err_set(e, ERR_SYNTAX, "NumTasks: \"%.*s\" is not a number greater than 0", STR_ARG(value));
    if (json_count(tasks) != 1)
        return err_set(e, ERR_INVALID, "NumTasks: the job has %zu tasks; change their replicas with kubectl edit",
                       json_count(tasks));
    json_set(task, "replicas", json_int(v->arena, n));
    json_set(task, "minAvailable", json_int(v->arena, min == before ? n : MIN_OF(min, n)));
    json_set(spec, "tasks", tasks);
    json_set(spec, "minAvailable", json_int(v->arena, min == before ? n : MIN_OF(min, n)));
    return 0;
}

static int set_priority(struct ctl_verb *v, struct json *patch, const struct json *job, struct str value, struct err *e)
{
    (void)job, (void)e;
    json_set(json_need_object(v->arena, patch, "spec"), "priorityClassName", json_str(v->arena, value));
    return 0;
}

static const struct {
    const char *key;
    int (*set)(struct ctl_verb *v, struct json *patch, const struct json *job, struct str value, struct err *e);
    const char *instead;
} changes[] = {
    { "NumTasks", set_tasks, NULL },
    { "Priority", set_priority, NULL },
    { "Partition", NULL, "the queue of a Job cannot be changed; cancel it and submit it again" },
    { "TimeLimit", NULL, "the time limit of a Job cannot be changed; cancel it and submit it again" },
};

static int slurm_control_change(struct ctl_verb *v, struct json *patch, const struct json *job, struct str pair,
                                struct err *e)
{
    struct str key = pair, value = pair;

    (void)str_split(&value, '=', &key);
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        if (!str_eq_nocase(key, str_of(changes[i].key)))
            continue;
        if (!changes[i].set || !value.n)
            return err_set(e, ERR_SYNTAX, "%s: %s", changes[i].key,
                           changes[i].set ? "needs a value" : changes[i].instead);
        return changes[i].set(v, patch, job, value, e);
    }
    return err_set(e, ERR_SYNTAX, "update: \"%.*s\" cannot be changed: only NumTasks and Priority can", STR_ARG(key));
}

static int update(struct ctl_verb *v, struct err *e)
{
    struct json *job = NULL, *patch = json_object(v->arena);

    for (size_t i = 1; i < v->args.n; i++)
        if (strncasecmp(v->args.v[i], "JobId=", 6) == 0 && slurm_find(v, v->args.v[i] + 6, &job, e) < 0)
            return -1;
    if (!job || v->args.n < 3)
        return err_set(e, ERR_SYNTAX, "update needs a job and a change: scontrol update JobId=12 NumTasks=4");
    for (size_t i = 1; i < v->args.n; i++)
        if (strncasecmp(v->args.v[i], "JobId=", 6) != 0 &&
            slurm_control_change(v, patch, job, str_of(v->args.v[i]), e) < 0)
            return -1;
    return ctl_merge(&v->ctl, ctl_name_of("Job", job), patch, e);
}

static const struct {
    const char *word;
    int (*order)(struct ctl_verb *v, const struct json *job, struct err *e);
} orders[] = {
    { "suspend", suspend },
    { "resume", resume },
    { "requeue", requeue },
    { "hold", slurm_control_hold },
    { "release", slurm_control_release },
};

int verb_scontrol(struct ctl_verb *v, struct err *e)
{
    const char *word = v->args.n ? v->args.v[0] : "";

    if (strcmp(word, "show") == 0)
        return slurm_control_show(v, e);
    if (strcmp(word, "update") == 0)
        return update(v, e);
    for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
        if (strcmp(orders[i].word, word) != 0)
            continue;
        if (v->args.n < 2)
            return err_set(e, ERR_SYNTAX, "%s needs a job", word);
        for (size_t k = 1; k < v->args.n; k++) {
            struct json *job;

            if (slurm_find(v, v->args.v[k], &job, e) < 0 || orders[i].order(v, job, e) < 0)
                return -1;
        }
        return 0;
    }
    return err_set(e, ERR_SYNTAX, "unknown command \"%s\"; use show, update, hold, release, suspend, resume or requeue",
                   word);
}
