/* words.c - jobs and tasks in words, for lines and for the block */
#include "program/run/words.h"

#include "base/util.h"
#include "program/run/progress.h"
#include "program/run/rows.h"

bool run_job_is_busy(const struct history_job *j)
{
    VEC_FOREACH(t, &j->tasks)
        if ((*t)->n[HISTORY_PENDING] || (*t)->n[HISTORY_STARTING] || (*t)->n[HISTORY_RUNNING])
            return true;
    return false;
}

enum style run_phase_style(const struct history_job *j)
{
    switch (job_phase_now(j)) {
    case PHASE_RUNNING:
    case PHASE_COMPLETING:
    case PHASE_COMPLETED:
        return STYLE_GREEN;
    case PHASE_FAILED:
    case PHASE_ABORTED:
    case PHASE_TERMINATED:
        return STYLE_RED;
    default:
        return STYLE_YELLOW;
    }
}

const char *run_wait_words(const struct history_job *j)
{
    return job_phase_now(j) == PHASE_RUNNING ? "runs; more of its pods wait" : "waits";
}

/* The run does not wait until a job is deleted: so this is shown only while others go on. */
void run_job_timer(struct buf *out, const struct run_progress *p, const struct history_job *j, int64_t now_ms)
{
    struct history_timer t;

    if (p->is_stopping || (job_is_over(j) && history_is_over(p->history)) || !job_timer(j, &t))
        return;
    buf_str(out, STR(", "));
    timer_words(out, &t, now_ms);
}

void run_task_timer(struct buf *out, const struct history *h, const struct history_job *j, const struct history_task *t,
                    int64_t now_ms)
{
    struct history_timer timer;

    if (task_timer(h, j, t, &timer) && now_ms >= j->submitted_ms + RUN_WAIT_MS)
        timer_words(out, &timer, now_ms);
}

void run_task_states(struct buf *out, const struct run_progress *p, const struct history_task *t)
{
    bool any = false;

    for (int s = HISTORY_STATE_MAX - 1; s >= 0; s--) {
        char words[48];

        uint32_t n = t->n[s] - (s == HISTORY_RUNNING ? t->n_restarting : 0);

        if (!n)
            continue;
        (void)snprintf(words, sizeof(words), "%u %s", n, history_state_names[s]);
        if (any)
            buf_str(out, STR(", "));
        term_style(out, p->has_colour, run_state_styles[s], str_of(words));
        any = true;
    }
    if (t->n_restarting) {
        char words[48];

        (void)snprintf(words, sizeof(words), "%u failed and restarting", t->n_restarting);
        if (any)
            buf_str(out, STR(", "));
        term_style(out, p->has_colour, STYLE_RED, str_of(words));
        any = true;
    }
    if (!any)
        buf_fmt(out, "%lld to come", (long long)t->replicas);
}
