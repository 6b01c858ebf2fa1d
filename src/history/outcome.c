/* outcome.c - how a run stands: is it over, can it ever be, which exit status has it */
#include "history/history_internal.h"

#include "base/util.h"

bool history_is_over(const struct history *h)
{
    if (h->jobs.n < h->n_jobs)
        return false;
    VEC_FOREACH(j, &h->jobs)
        if (!job_is_over(*j))
            return false;
    if (h->jobs.n)
        return true;
    VEC_FOREACH(p, &h->pods)
        if (!state_is_over((*p)->state))
            return false;
    return h->pods.n > 0;
}

/* A container that cannot be created: nothing here creates the ConfigMap it wants. */
static bool is_hopeless(const struct history_pod *p)
{
    return p->state == HISTORY_STARTING && p->waits.n && !str_is(p->waits, "CrashLoopBackOff");
}

/* The controller waits for another client to change something, and here is none. */
static bool is_blocked(const struct history_job *j)
{
    static const char *const reasons[] = { "WaitingForName", "WaitingForClaim", "WaitingForPlugin", "WaitingForSpec" };

    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (str_is(j->reason, reasons[i]))
            return true;
    return false;
}

bool job_is_waiting(const struct history_job *j)
{
    switch (j->why) {
    case WHY_NOT:
    case WHY_NOT_ENOUGH_PODS:
    case WHY_NOT_ENOUGH_OF_ROLE:
    case WHY_EVICTING:
    case WHY_NO_PODS_YET:
    case WHY_MAX:
        return false;
    default:
        return !job_is_over(j);
    }
}

enum why_kind job_why_written(const struct history_job *j, struct str *ret_text)
{
    const struct history_wait *last = j->waits.n ? &j->waits.v[j->waits.n - 1] : NULL;
    struct str counts;

    *ret_text = STR_NULL;
    if (!last || last->until_ms >= 0 || job_is_over(j))
        return WHY_NOT;
    *ret_text = last->message;
    counts = str_sub(last->message, 0, (size_t)MAX_OF(str_find_char(last->message, ';'), 0));
    if (str_has(counts, STR(" tasks in gang unschedulable: "))) /* what stands before it is for whom Volcano taught */
        *ret_text = str_trim(str_from(last->message, counts.n + 1));
    return why_named(last->reason) == WHY_NOT ? WHY_NO_ROOM : why_named(last->reason);
}

/* Other jobs that end do not help: it cannot start here. */
static bool is_hopelessly_waiting(const struct history_job *j)
{
    switch (j->why) {
    case WHY_NO_QUEUE:
    case WHY_QUEUE_CLOSED:
    case WHY_QUEUE_HAS_CHILDREN:
    case WHY_NEVER_FITS:
    case WHY_TOO_MANY_NAMES:
    case WHY_NO_ALLOCATE:
        return true;
    default:
        return false;
    }
}

/* It asks for no pods, so nothing of it ever ends. */
static bool outcome_is_empty(const struct history_job *j)
{
    VEC_FOREACH(t, &j->tasks)
        if ((*t)->replicas)
            return false;
    return true;
}

/* Too few pods for its gang, and the controller has none to make: those that are missing have ended. */
static bool is_short(const struct history *h, const struct history_job *j)
{
    int64_t want = 0;

    if (j->why != WHY_NOT_ENOUGH_PODS && j->why != WHY_NOT_ENOUGH_OF_ROLE)
        return false;
    VEC_FOREACH(t, &j->tasks)
        want += (*t)->replicas;
    VEC_FOREACH(p, &h->pods)
        want -= (*p)->job == j && (*p)->gone_ms < 0;
    return want <= 0;
}

static void add_reason(struct buf *out, struct str label, struct str text, struct str more)
{
    if (out->n)
        buf_str(out, STR("; "));
    buf_fmt(out, "%.*s: %.*s%s%.*s", STR_ARG(label), STR_ARG(text), more.n ? ": " : "", STR_ARG(more));
}

bool history_is_stuck(const struct history *h, struct buf *ret_why)
{
    bool any = false;

    if (h->jobs.n < h->n_jobs)
        return false;
    VEC_FOREACH(at, &h->pods) {
        const struct history_pod *p = *at;

        if (state_is_over(p->state) || p->gone_ms >= 0)
            continue;
        if (p->deleting_ms >= 0 || (p->state != HISTORY_PENDING && !is_hopeless(p)))
            return false;
        if (h->is_shared && !p->job && !is_hopeless(p)) /* its reason is unknown */
            return false;
        any = true;
    }
    VEC_FOREACH(at, &h->jobs) {
        const struct history_job *j = *at;
        const struct history_pod *hopeless = NULL;

        if (job_is_over(j))
            continue;
        VEC_FOREACH(p, &h->pods)
            if ((*p)->job == j && (*p)->gone_ms < 0 && is_hopeless(*p) && !hopeless)
                hopeless = *p;
        if (!phase_is_active(job_phase_now(j)) ||
            (!hopeless && !is_blocked(j) && !(h->is_shared ? is_hopelessly_waiting(j) : job_is_waiting(j)) &&
             !is_short(h, j) && !outcome_is_empty(j)))
            return false; /* while nothing runs, nothing is given back to those who wait */
        any = true;
        if (hopeless)
            add_reason(ret_why, hopeless->label, hopeless->waits, hopeless->waits_why);
        else if (is_blocked(j))
            add_reason(ret_why, j->label, j->message, STR_NULL);
        else if (outcome_is_empty(j))
            add_reason(ret_why, j->label, STR("it has no pods; set replicas of its tasks"), STR_NULL);
        else
            add_reason(ret_why, j->label, j->why_text, STR_NULL);
    }
    if (any && !ret_why->n) {
        VEC_FOREACH(p, &h->pods)
            if (!state_is_over((*p)->state) && !ret_why->n)
                add_reason(ret_why, (*p)->label, (*p)->waits.n ? (*p)->waits : STR("no node accepts it"),
                           (*p)->waits_why);
    }
    return any;
}

/* ---- exit status ---- */

static int outcome_status_of(int exit_code)
{
    return exit_code > 0 && exit_code < 256 ? exit_code : EXIT_FAILURE;
}

/* Of the first container that failed; its pod need not have: one that is always started again never does. */
static int status_of_job(const struct history *h, const struct history_job *j)
{
    const struct history_attempt *first = NULL;

    if (j->failed)
        return outcome_status_of(j->failed->failure.exit_code);
    VEC_FOREACH(p, &h->pods)
        VEC_FOREACH(c, &(*p)->containers)
            VEC_FOREACH(t, &(*c)->attempts)
                if ((*p)->job == j && t->is_failed && t->ended_ms >= 0 &&
                    ((*p)->deleting_ms < 0 || t->ended_ms < (*p)->deleting_ms) && /* else killed by the deletion */
                    (!first || t->ended_ms < first->ended_ms))
                    first = t;
    return outcome_status_of(first ? first->exit_code : 0);
}

int history_status(const struct history *h, bool fail_on_any)
{
    const struct history_job *first = NULL;
    size_t all;

    VEC_FOREACH(j, &h->jobs)
        if ((!job_is_ok(*j) || (fail_on_any && job_failed_pods(h, *j, &all))) &&
            (!first || (*j)->over_seq < first->over_seq))
            first = *j;
    if (h->jobs.n)
        return first ? status_of_job(h, first) : EXIT_SUCCESS;
    VEC_FOREACH(p, &h->pods)
        if ((*p)->state != HISTORY_SUCCEEDED)
            return outcome_status_of((*p)->failure.exit_code);
    return EXIT_SUCCESS;
}
