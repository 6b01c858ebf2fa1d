/* decision.c - what was decided, and why, in words
 *
 * The controller writes a decision into the Job's status before it acts: reason is the action, message is
 * "PodFailed of train-worker-1 with exit code 3: RestartJob, retry 1 of 3"; a delayed action is a timer in the notes
 * (job/memo.h). Which policy asked for it follows from the spec: the first that policy_choose() takes.
 */
#include "history/history_internal.h"

#include "api/job.h"
#include "base/span.h"
#include "base/util.h"
#include "history/timeline.h"
#include "job/memo.h"
#include "job/phase.h"

/* ---- ends ---- */

struct failure attempt_failure(const struct history_attempt *a)
{
    return (struct failure){ a->exit_code, a->signo, a->reason, a->message };
}

void attempt_reason(struct buf *out, const struct history_attempt *a)
{
    struct failure f = attempt_failure(a);

    failure_words(out, &f);
}

/* The same as part of a sentence about the pod. */
void attempt_story(struct buf *out, const struct history_attempt *a)
{
    static const struct {
        const char *front, *instead;
    } verbs[] = { { "exit code", "exited with" },
                  { "killed by", "was killed by" },
                  { "OOMKilled", "ran out of memory (OOMKilled)" } };
    autobuf words = { 0 };
    size_t i = 0;

    attempt_reason(&words, a);
    while (i < ARRAY_LEN(verbs) && !str_starts(buf_view(&words), str_of(verbs[i].front)))
        i++;
    if (i == ARRAY_LEN(verbs))
        buf_fmt(out, "could not run: %s", words.p);
    else
        buf_fmt(out, "%s%s", verbs[i].instead, words.p + strlen(verbs[i].front));
}

static const struct history_attempt *failed_attempt(const struct history_pod *p, const struct history_container **ret)
{
    const struct history_attempt *found = NULL;

    VEC_FOREACH(c, &p->containers) {
        const struct history_attempt *a = (*c)->attempts.n ? &(*c)->attempts.v[(*c)->attempts.n - 1] : NULL;

        if (a && a->is_failed && (!found || a->ended_ms < found->ended_ms)) /* the first one pulls the others down */
            found = a, *ret = *c;
    }
    return found;
}

void pod_story(struct buf *out, const struct history_pod *p)
{
    const struct history_container *c = NULL;
    const struct history_attempt *a = failed_attempt(p, &c);
    size_t n_main = 0;

    VEC_FOREACH(other, &p->containers)
        n_main += !(*other)->is_init;
    if (p->reason.n) {
        buf_fmt(out, "%.*s failed: %.*s", STR_ARG(p->name), STR_ARG(p->reason));
        if (p->message.n)
            buf_fmt(out, ": %.*s", STR_ARG(str_trim(p->message)));
    } else if (a) {
        if (n_main > 1 || c->is_init)
            buf_fmt(out, "%scontainer %.*s of ", c->is_init ? "init " : "", STR_ARG(c->name));
        buf_fmt(out, "%.*s ", STR_ARG(p->name));
        attempt_story(out, a);
    } else {
        buf_fmt(out, "%.*s %s", STR_ARG(p->name), p->end == END_OK ? "succeeded" : "failed");
    }
}

/* ---- causes ---- */

enum { CODES_MAX = 16 };

struct decision_cause {
    enum job_event event; /* JOB_EVENT_MAX: not known */
    struct str about;     /* pod name, "task/<name>", or "" for the whole job */
    int32_t codes[CODES_MAX];
    size_t n_codes;
    enum job_action action;
};

/* The part before 'sep', which is taken off; all of it if there is none. */
static struct str take_before(struct str *rest, struct str sep)
{
    const char *at = rest->n && sep.n <= rest->n ? memmem(rest->p, rest->n, sep.p, sep.n) : NULL;
    struct str part = at ? str_sub(*rest, 0, (size_t)(at - rest->p)) : *rest;

    *rest = at ? str_from(*rest, part.n + sep.n) : STR("");
    return part;
}

static enum job_event event_of(struct str name)
{
    int i = 0;

    while (i < JOB_EVENT_MAX && !str_is(name, job_event_name((enum job_event)i)))
        i++;
    return (enum job_event)i;
}

/* "PodFailed of train-worker-1 with exit code 3, 4". */
static void read_cause(struct str text, struct decision_cause *ret)
{
    struct str front = take_before(&text, STR(" with exit code ")), part;
    int64_t code;

    ret->about = front;
    ret->event = event_of(take_before(&ret->about, STR(" of ")));
    ret->n_codes = 0;
    while (text.n && str_split(&text, ',', &part) && ret->n_codes < CODES_MAX)
        if (str_to_i64(str_trim(part), &code) == 0 && code >= INT32_MIN && code <= INT32_MAX)
            ret->codes[ret->n_codes++] = (int32_t)code;
}

static const char *const event_stories[JOB_EVENT_MAX] = {
    [EVENT_POD_FAILED] = "failed",
    [EVENT_POD_EVICTED] = "was evicted or deleted",
    [EVENT_POD_PENDING] = "waited too long to start",
    [EVENT_UNKNOWN] = "pods of the gang have lost their places",
    [EVENT_TASK_COMPLETED] = "all its pods have succeeded",
    [EVENT_TASK_FAILED] = "its pods were restarted too often",
    [EVENT_COMMAND] = "a Command asked for it",
};

static void cause_words(struct history *h, const struct history_job *j, const struct decision_cause *c, struct buf *out)
{
    const struct history_pod *p = map_get(&h->pods_name, history_name_key(h, j->namespace, c->about));

    buf_fmt(out, "%s: ", job_event_name(c->event));
    if (p && c->event == EVENT_POD_FAILED)
        pod_story(out, p);
    else if (str_starts(c->about, STR("task/")))
        buf_fmt(out, "task %.*s: %s", STR_ARG(str_from(c->about, 5)), event_stories[c->event]);
    else if (c->about.n)
        buf_fmt(out, "%.*s %s", STR_ARG(c->about), event_stories[c->event]);
    else
        buf_str(out, str_of(event_stories[c->event]));
    if (c->n_codes && !(p && c->event == EVENT_POD_FAILED))
        buf_fmt(out, " (exit code %d)", c->codes[0]);
}

/* ---- which policy ---- */

/* The first of a list that the controller would take for this. */
static bool find_in(const struct job_policies *list, const struct decision_cause *c, size_t *ret)
{
    for (size_t i = 0; i < list->n; i++) {
        struct job alone = { .spec.policies = { &list->v[i], 1 } };

        if (policy_choose(&alone, NULL, c->event, c->codes, c->n_codes).action == c->action) {
            *ret = i;
            return true;
        }
    }
    return false;
}

static const struct job_task *decision_task_of(struct history *h, const struct history_job *j, const struct job *job,
                                               const struct decision_cause *c, size_t *ret_pos)
{
    const struct history_pod *p = map_get(&h->pods_name, history_name_key(h, j->namespace, c->about));
    struct str name = str_starts(c->about, STR("task/")) ? str_from(c->about, 5) : p ? p->task_name : STR("");

    return job_task_by_name(job, name, ret_pos);
}

/* When a delay is over the exit codes are no longer told: those of the pod are asked. */
static void add_codes(struct history *h, const struct history_job *j, struct decision_cause *c)
{
    const struct history_pod *p = map_get(&h->pods_name, history_name_key(h, j->namespace, c->about));

    if (!p || c->event != EVENT_POD_FAILED || c->n_codes)
        return;
    VEC_FOREACH(k, &p->containers)
        if ((*k)->attempts.n && (*k)->attempts.v[(*k)->attempts.n - 1].exit_code && c->n_codes < CODES_MAX)
            c->codes[c->n_codes++] = (*k)->attempts.v[(*k)->attempts.n - 1].exit_code;
}

static struct str policy_path(struct history *h, const struct history_job *j, const struct object *o,
                              struct decision_cause c)
{
    autoarena a = { 0 };
    autobuf text = { 0 };
    struct job job;
    const struct job_task *task;
    size_t pos, i;

    if (c.event == EVENT_COMMAND)
        return STR("");
    add_codes(h, j, &c);
    job_decode(&a, json_copy(&a, o->root), &job);
    task = decision_task_of(h, j, &job, &c, &pos);
    if (task && find_in(&task->policies, &c, &i))
        buf_fmt(&text, "spec.tasks[%zu].policies[%zu]", pos, i);
    else if (find_in(&job.spec.policies, &c, &i))
        buf_fmt(&text, "spec.policies[%zu]", i);
    return history_keep(h, buf_view(&text));
}

/* ---- decisions ---- */

/* An action: "<cause>: <action>, retry 1 of 3". */
static void note_action(struct history *h, struct history_job *j, const struct object *o, enum job_action action,
                        struct history_decision *d)
{
    struct str rest = json_text(json_find(o->root, "status", "state", "message", NULL), STR(""));
    autobuf sep = { 0 }, because = { 0 };
    struct decision_cause c;

    buf_fmt(&sep, ": %s", job_action_name(action));
    read_cause(take_before(&rest, buf_view(&sep)), &c);
    c.action = action;
    d->action = str_of(job_action_name(action));
    if (c.event == JOB_EVENT_MAX) { /* a message of another controller */
        d->because = history_keep(h, json_text(json_find(o->root, "status", "state", "message", NULL), STR("")));
        return;
    }
    cause_words(h, j, &c, &because);
    d->because = history_keep(h, buf_view(&because));
    d->pod = str_starts(c.about, STR("task/")) ? STR("") : history_keep(h, c.about);
    d->policy = policy_path(h, j, o, c);
    d->more = history_keep(h, str_starts(rest, STR(", ")) ? str_from(rest, 2) : STR(""));
}

/* A phase that follows from the pods: all have ended, or retries are used up. */
static void note_result(struct history *h, const struct json *state, struct str last_cause, struct history_decision *d)
{
    autobuf text = { 0 };

    buf_str(&text, json_member_text(state, "message"));
    if (str_is(json_member_text(state, "reason"), "RetriesExhausted") && last_cause.n)
        buf_fmt(&text, "; the last failure: %.*s", STR_ARG(last_cause));
    d->action = history_keep(h, json_member_text(state, "phase"));
    d->because = history_keep(h, buf_view(&text));
}

static bool had_timer(const struct memo *m, const struct memo_timer *t)
{
    VEC_FOREACH(old, &m->timers)
        if (str_eq(old->about, t->about) && old->deadline_ms == t->deadline_ms && old->action == t->action)
            return true;
    return false;
}

/* A policy with a timeout: decided now, done later. */
static void note_timers(struct history *h, struct history_job *j, const struct object *o, int64_t now_ms)
{
    autoarena a = { 0 };
    struct memo before = { 0 }, now = { 0 };

    memo_read(&a, json_find(o->root, "status", "controlledResources", NULL), &now);
    if (now.timers.n && j->object)
        memo_read(&a, json_find(j->object->root, "status", "controlledResources", NULL), &before);
    j->timers.n = 0;
    VEC_FOREACH(t, &now.timers) {
        struct decision_cause c = { .event = t->event, .about = t->about, .action = t->action };
        autobuf because = { 0 }, when = { 0 };
        size_t last = j->last_decision;
        struct history_decision *d;

        *vec_push(&h->arena, &j->timers) = (struct history_timer){ t->deadline_ms, history_keep(h, t->about),
                                                                   job_action_name(t->action),
                                                                   job_event_name(t->event) };
        if (had_timer(&before, t) || !(d = history_decide(h, j, now_ms)))
            continue;
        j->last_decision = last; /* what is carried out is looked for there */
        cause_words(h, j, &c, &because);
        buf_str(&when, STR("in "));
        span_print(&when, MAX_OF(t->deadline_ms - now_ms, 0));
        d->action = str_of(job_action_name(t->action));
        d->when = history_keep(h, buf_view(&when));
        d->because = history_keep(h, buf_view(&because));
        d->pod = str_starts(t->about, STR("task/")) ? STR("") : history_keep(h, t->about);
        d->policy = policy_path(h, j, o, c);
        if (h->feed->hooks.timer)
            h->feed->hooks.timer(h->feed->hooks.ctx, d);
    }
}

void history_job_decided(struct history *h, struct history_job *j, const struct object *o, int64_t now_ms)
{
    const struct json *status = json_get(o->root, "status"), *state = json_get(status, "state");
    struct str reason = json_member_text(state, "reason"), last_mark = STR(""), last_cause = STR("");
    enum job_action action = job_action_of(reason);
    struct history_decision *d;
    autobuf mark = { 0 };

    note_timers(h, j, o, now_ms);
    if (j->last_decision) {
        last_mark = h->decisions.v[j->last_decision - 1].mark;
        last_cause = h->decisions.v[j->last_decision - 1].because;
    }
    buf_fmt(&mark, "%.*s|%.*s|%lld|%lld", STR_ARG(reason), STR_ARG(json_member_text(state, "message")),
            (long long)json_i64(json_get(status, "version"), 0),
            (long long)json_i64(json_get(status, "retryCount"), 0));
    if (str_eq(last_mark, buf_view(&mark)))
        return;
    if (action == ACTION_NONE && (str_empty(reason) || !phase_is_final(job_phase_of(json_member_text(state, "phase")))))
        return;
    d = history_decide(h, j, now_ms);
    if (!d)
        return;
    d->mark = history_keep(h, buf_view(&mark));
    if (action != ACTION_NONE)
        note_action(h, j, o, action, d);
    else
        note_result(h, state, last_cause, d);
}

void decision_sentence(struct buf *out, const struct history_decision *d)
{
    buf_str(out, d->action);
    if (d->when.n)
        buf_fmt(out, " %.*s", STR_ARG(d->when));
    if (d->because.n)
        buf_fmt(out, " because %.*s", STR_ARG(d->because));
    if (d->policy.n)
        buf_fmt(out, " (policy %.*s)", STR_ARG(d->policy));
    if (d->more.n)
        buf_fmt(out, ", %.*s", STR_ARG(d->more));
}
