/* silence.c - reports a job without output for long, and how busy it was meanwhile
 *
 * From outside, computing and hanging look the same; the used CPU time is a good sign.
 */
#include "program/run/silence.h"

#include "api/duration.h"
#include "base/clock.h"
#include "base/util.h"
#include "program/run/run.h"

void run_heard(struct run *r)
{
    r->silence.since_ms = clock_now_ms(r->clock);
    r->silence.n_told = 0;
}

static size_t count_running(const struct run *r)
{
    size_t n = 0;

    VEC_FOREACH(p, &r->history->pods)
        n += (*p)->state == HISTORY_RUNNING && (*p)->gone_ms < 0;
    return n;
}

int64_t run_silence_due(const struct run *r)
{
    if (r->stage != RUN_GOES || !r->silence.limit_ms || !count_running(r))
        return INT64_MAX;
    return r->silence.since_ms + (r->silence.limit_ms << MIN_OF(r->silence.n_told, 20)); /* then twice as long */
}

static int64_t cpu_us_since(const struct run *r, int64_t ms)
{
    double sum = 0;

    VEC_FOREACH(p, &r->history->pods)
        sum += (double)pod_cpu_us(*p) - pod_cpu_at(*p, ms);
    return (int64_t)sum;
}

/* Without root the machine may not count CPU time. */
static bool is_counted(const struct run *r)
{
    VEC_FOREACH(p, &r->history->pods)
        if ((*p)->state == HISTORY_RUNNING && pod_cpu_us(*p) > 0)
            return true;
    return false;
}

void run_silence_turn(struct run *r)
{
    int64_t now_ms = clock_now_ms(r->clock);
    size_t n = count_running(r);
    autobuf silent = { 0 }, used = { 0 };

    if (now_ms < run_silence_due(r))
        return;
    r->silence.n_told++;
    duration_print(&silent, (now_ms - r->silence.since_ms) / 1000 * 1000000000);
    if (is_counted(r)) {
        buf_str(&used, STR(", and used "));
        duration_print(&used, cpu_us_since(r, r->silence.since_ms) / 100000 * 100000000);
        buf_str(&used, STR(" of CPU in that time"));
    }
    run_say(r, arena_fmt(r->arena, "no output for %s; %zu pod%s run%s%.*s%s", silent.p, n, n == 1 ? "" : "s",
                         n == 1 ? "s" : "", STR_ARG(buf_view(&used)),
                         r->o->stacks      ? ""
                         : r->has_keyboard ? " (Ctrl-\\ shows what its processes wait in)"
                                           : " (SIGQUIT shows what its processes wait in)"));
    if (r->o->stacks)
        run_stacks(r);
}
