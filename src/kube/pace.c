/* pace.c - how many requests may be in flight */
#include "kube/pace.h"

#include "base/util.h"

#include <assert.h>

enum {
    SLOW_TIMES = 4,     /* the usual answer takes so many times as long as a quick one: the server queues … */
    SLOW_US = 10000,    /* … and longer by this at least: below, a queue looks like a busy machine */
    BUSY_WAIT_MS = 500, /* a busy server that does not say how long */
    WAIT_MAX_MS = 60000,
    WINDOW_MS = 20000,
};

void pace_init(struct pace *p)
{
    *p = (struct pace){ .limit_milli = PACE_FIRST * 1000 };
}

bool pace_may(const struct pace *p, int64_t now_ms)
{
    return p->in_flight < pace_limit(p) && now_ms >= p->hold_ms;
}

void pace_sent(struct pace *p)
{
    p->in_flight++;
}

void pace_cancelled(struct pace *p)
{
    assert(p->in_flight > 0);
    p->in_flight--;
}

/* Begin again from below: while we keep the server busy its best latency is not visible, and what was quick once may
 * never be seen again. It takes a few round trips. */
static void pace_look_again(struct pace *p, int64_t now_ms)
{
    p->last_quick_us = p->quick_us;
    p->quick_us = 0;
    p->window_ms = now_ms + WINDOW_MS;
    if (pace_limit(p) <= PACE_LEAST)
        return;
    p->limit_milli = PACE_LEAST * 1000;
    p->is_steady = false;
    p->cut_ms = now_ms + 1;
}

static void pace_measure(struct pace *p, int64_t now_ms, int64_t took_us)
{
    if (now_ms >= p->window_ms)
        pace_look_again(p, now_ms);
    took_us = MAX_OF(took_us, 1);
    p->usual_us = p->usual_us ? (p->usual_us * 7 + took_us) / 8 : took_us;
    p->quick_us = p->quick_us ? MIN_OF(p->quick_us, took_us) : took_us;
}

static bool is_slow(const struct pace *p)
{
    int64_t quick_us = p->last_quick_us ? MIN_OF(p->quick_us, p->last_quick_us) : p->quick_us;

    return p->usual_us > quick_us * SLOW_TIMES + SLOW_US;
}

/* Lower the limit by a 'part'-th, once for all requests that were on their way together. */
static void pace_cut(struct pace *p, const struct pace_result *r, uint32_t part, unsigned least)
{
    p->is_steady = true;
    if (r->sent_ms < p->cut_ms)
        return;
    p->cut_ms = r->now_ms + 1;
    if (pace_limit(p) > least)
        p->limit_milli = MAX_OF((uint32_t)((uint64_t)p->limit_milli * (part - 1) / part), least * 1000);
}

static void pace_grow(struct pace *p, int64_t sent_ms)
{
    uint32_t step = p->is_steady ? 1000000 / p->limit_milli : 1000;

    if (sent_ms >= p->cut_ms && p->in_flight * 2 >= pace_limit(p)) /* else it is not us who hold back */
        p->limit_milli = MIN_OF(p->limit_milli + step, PACE_MOST * 1000u);
}

void pace_ended(struct pace *p, const struct pace_result *r)
{
    if (r->answer == PACE_FINE) {
        pace_measure(p, r->now_ms, r->took_us);
        if (is_slow(p))
            pace_cut(p, r, 8, PACE_LEAST);
        else
            pace_grow(p, r->sent_ms);
    } else {
        pace_cut(p, r, 2, 1);
    }
    if (r->answer == PACE_BUSY) {
        int64_t wait_ms = MIN_OF(r->wait_ms > 0 ? r->wait_ms : BUSY_WAIT_MS, WAIT_MAX_MS);

        p->hold_ms = MAX_OF(p->hold_ms, r->now_ms + wait_ms + (int64_t)(r->chance % (uint64_t)(wait_ms / 4 + 1)));
    }
    pace_cancelled(p);
}
