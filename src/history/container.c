/* container.c - taking in containers: their attempts, what they wrote, and what pods use */
#include "history/history_internal.h"

#include "base/util.h"

/* ---- attempts ---- */

static struct history_container *container_container_of(struct history *h, struct history_pod *p, struct str name)
{
    struct history_container *c;

    VEC_FOREACH(old, &p->containers)
        if (str_eq((*old)->name, name))
            return *old;
    c = arena_new(&h->arena, struct history_container);
    c->name = history_keep(h, name);
    *vec_push(&h->arena, &p->containers) = c;
    return c;
}

static struct history_attempt *last_attempt(struct history_container *c)
{
    return c->attempts.n ? &c->attempts.v[c->attempts.n - 1] : NULL;
}

static struct history_attempt *attempt_new(struct history *h, struct history_container *c, int64_t number,
                                           int64_t at_ms)
{
    struct history_attempt *a;

    if (c->attempts.n >= HISTORY_ATTEMPTS) { /* the first stays: how it began tells most */
        memmove(c->attempts.v + 1, c->attempts.v + 2, (c->attempts.n - 2) * sizeof(*c->attempts.v));
        c->attempts.n--;
    }
    a = vec_push(&h->arena, &c->attempts);
    *a = (struct history_attempt){ .number = number, .started_ms = at_ms, .ended_ms = -1 };
    return a;
}

static int int_of(const struct json *j)
{
    return (int)MAX_OF(MIN_OF(json_i64(j, 0), INT32_MAX), INT32_MIN);
}

static void end_attempt(struct history *h, struct history_container *c, struct history_attempt *a,
                        const struct json *ended, int64_t now_ms)
{
    a->ended_ms = now_ms;
    a->exit_code = int_of(json_get(ended, "exitCode"));
    a->signo = int_of(json_get(ended, "signal"));
    a->reason = history_keep(h, json_member_text(ended, "reason"));
    a->message = history_keep(h, json_member_text(ended, "message"));
    a->is_failed = a->exit_code != 0 || a->signo != 0 || str_is(a->reason, "OOMKilled");
    if (str_is(a->reason, "OOMKilled") && c->limit.n)
        a->message = c->limit;
    c->is_fresh = true;
}

/* Attempts may have come and gone between two statuses: the number of restarts tells how many. */
static void note_failures(struct history *h, struct history_pod *p, struct history_container *c)
{
    const struct history_attempt *a = last_attempt(c);
    bool is_open = a && a->ended_ms < 0;
    int64_t n = c->restarts + !is_open;

    if (is_open && c->attempts.n > 1)
        a--;
    if (!a || !a->is_failed || n <= c->failures || p->deleting_ms >= 0)
        return;
    c->failures = n;
    if (h->feed->news.n < HISTORY_LISTED)
        *vec_push(&h->arena, &h->feed->news) = (struct history_news){ p, c };
}

static void note_limit(struct history *h, struct history_container *c, const struct json *root)
{
    autoarena a = { 0 };

    if (!c->limit.n)
        c->limit = history_keep(h, failure_memory_limit(&a, root, c->name));
}

/* A status says how it is, not what happened: an attempt may have begun and ended since the last one. */
static void container_changed(struct history *h, struct history_pod *p, const struct json *status, bool is_init,
                              int64_t now_ms)
{
    struct history_container *c = container_container_of(h, p, json_member_text(status, "name"));
    const struct json *state = json_get(status, "state"), *ended = json_get(state, "terminated");
    const struct json *running = json_get(state, "running"), *waiting = json_get(state, "waiting");
    const struct json *before = json_find(status, "lastState", "terminated", NULL);
    int64_t number = MAX_OF(json_i64(json_get(status, "restartCount"), 0), c->restarts); /* it never goes back */
    struct history_attempt *a = last_attempt(c);

    c->is_init = is_init;
    c->restarts = number;
    c->waiting = history_keep(h, json_member_text(waiting, "reason"));
    c->waiting_text = history_keep(h, json_member_text(waiting, "message"));
    if (a && a->ended_ms < 0 && (waiting || a->number != number))
        end_attempt(h, c, a, before, now_ms);
    if (!a && waiting && before)
        end_attempt(h, c, attempt_new(h, c, number, p->seen_ms), before, now_ms);
    a = last_attempt(c);
    if (running && (!a || a->number != number))
        (void)attempt_new(h, c, number, now_ms);
    if (ended && (!a || a->number != number))
        a = attempt_new(h, c, number, p->seen_ms); /* it was never seen running: it began after the last change */
    if (ended && a->ended_ms < 0)
        end_attempt(h, c, a, ended, now_ms);
}

void history_containers_changed(struct history *h, struct history_pod *p, const struct json *root, int64_t now_ms)
{
    static const char *const lists[] = { "containerStatuses", "initContainerStatuses" };

    for (int is_init = 1; is_init >= 0; is_init--)
        JSON_FOREACH(c, json_find(root, "status", lists[is_init], NULL)) {
            struct str name = json_member_text(c, "name");

            if (str_empty(name))
                continue;
            note_limit(h, container_container_of(h, p, name), root);
            container_changed(h, p, c, is_init, now_ms);
            note_failures(h, p, container_container_of(h, p, name));
        }
}

void history_containers_end(struct history_pod *p, int64_t now_ms)
{
    VEC_FOREACH(c, &p->containers) {
        struct history_attempt *a = last_attempt(*c);

        if (a && a->ended_ms < 0)
            a->ended_ms = now_ms;
    }
}

void history_containers_done(struct history *h)
{
    for (size_t i = 0; i < h->pods.n; i++)
        VEC_FOREACH(c, &h->pods.v[i]->containers)
            buf_done(&(*c)->tail);
}

/* ---- output ---- */

static void cut_front(struct buf *b, size_t keep)
{
    size_t gone = b->n - keep;

    memmove(b->p, b->p + gone, keep);
    b->n = keep;
    b->p[keep] = '\0';
}

void history_output(struct history *h, struct str pod_uid, struct str container, struct str text, bool is_partial)
{
    struct history_pod *p = map_get(&h->pods_uid, pod_uid);
    struct history_container *c;

    if (!p)
        return;
    h->feed->found.is_valid = false;
    c = container_container_of(h, p, container);
    if (c->is_fresh && p->may_restart && p->ended_ms < 0) { /* else: the last lines of one that ended came late */
        buf_reset(&c->tail);
        c->is_fresh = false;
    }
    if (text.n > HISTORY_TAIL)
        text = str_from(text, text.n - HISTORY_TAIL);
    buf_str(&c->tail, text);
    if (!is_partial)
        buf_char(&c->tail, '\n');
    if (c->tail.n > 2 * HISTORY_TAIL)
        cut_front(&c->tail, HISTORY_TAIL);
}

/* ---- use ---- */

/* Every second one goes; the peaks of memory stay, and the sum of the cpu time is in the later one anyway. */
static void thin(struct history_pod *p)
{
    size_t n = 0;

    for (size_t i = 0; i + 1 < p->samples.n; i += 2) {
        struct history_sample s = p->samples.v[i + 1];

        s.memory_bytes = MAX_OF(s.memory_bytes, p->samples.v[i].memory_bytes);
        p->samples.v[n++] = s;
    }
    p->samples.n = n;
}

void history_usage(struct history *h, struct str pod_uid, struct history_sample now, int64_t peak_bytes)
{
    struct history_pod *p = map_get(&h->pods_uid, pod_uid);
    struct history_sample *last;

    if (!p)
        return;
    last = p->samples.n ? &p->samples.v[p->samples.n - 1] : NULL;
    p->memory_peak_bytes = MAX_OF(p->memory_peak_bytes, MAX_OF(peak_bytes, now.memory_bytes));
    if (now.cpu_us < 0 && now.memory_bytes < 0)
        return;
    if (!last || now.at_ms > last->at_ms) {
        if (p->samples.n >= HISTORY_SAMPLES)
            thin(p);
        last = vec_push(&h->arena, &p->samples);
        last->at_ms = now.at_ms;
        last->cpu_us = p->samples.n > 1 ? last[-1].cpu_us : 0;
    }
    last->cpu_us = MAX_OF(last->cpu_us, now.cpu_us); /* a counter; it starts again only by mistake */
    last->memory_bytes = MAX_OF(now.memory_bytes, 0);
}
