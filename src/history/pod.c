/* pod.c - taking in pods: their way from created to ended, their containers, what they wrote and used */
#include "history/history_internal.h"

#include "api/meta.h"
#include "base/util.h"

static struct history_pod *pod_new(struct history *h, const struct object *o, int64_t now_ms)
{
    struct history_pod *p = arena_new(&h->arena, struct history_pod);
    struct str index = object_annotation(o->root, "volcano.sh/task-index");

    p->job = map_get(&h->jobs_uid, object_controller_uid(o->root));
    p->namespace = history_keep(h, o->namespace);
    p->name = history_keep(h, o->name);
    p->uid = history_keep(h, o->uid);
    p->task = history_keep(h, object_annotation(o->root, "volcano.sh/task-spec"));
    p->restarts = !str_is(json_member_text(json_get(o->root, "spec"), "restartPolicy"), "Never");
    if (str_empty(index))
        index = str_from(o->name, (size_t)(str_rfind_char(o->name, '-') + 1));
    if (str_to_i64(index, &p->index) < 0)
        p->index = -1;
    p->created_ms = p->seen_ms = now_ms;
    p->scheduled_ms = p->started_ms = p->deleting_ms = p->ended_ms = p->gone_ms = -1;
    map_put(&h->pods_uid, p->uid, p);
    map_put(&h->pods_name, history_keep(h, history_name_key(h, p->namespace, p->name)), p);
    *vec_push(&h->arena, &h->pods) = p;
    return p;
}

void history_pods_done(struct history *h)
{
    for (size_t i = 0; i < h->pods.n; i++)
        VEC_FOREACH(c, &h->pods.v[i]->containers)
            buf_done(&(*c)->tail);
}

/* ---- containers ---- */

static struct history_container *container_of(struct history *h, struct history_pod *p, struct str name)
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
    if (h->news.n < HISTORY_LISTED)
        *vec_push(&h->arena, &h->news) = (struct history_news){ p, c };
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
    struct history_container *c = container_of(h, p, json_member_text(status, "name"));
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
        a = attempt_new(h, c, number, p->seen_ms); /* nobody saw it run: it began after the last change */
    if (ended && a->ended_ms < 0)
        end_attempt(h, c, a, ended, now_ms);
}

static void containers_changed(struct history *h, struct history_pod *p, const struct json *root, int64_t now_ms)
{
    static const char *const lists[] = { "containerStatuses", "initContainerStatuses" };

    for (int is_init = 1; is_init >= 0; is_init--)
        JSON_FOREACH(c, json_find(root, "status", lists[is_init], NULL)) {
            struct str name = json_member_text(c, "name");

            if (str_empty(name))
                continue;
            note_limit(h, container_of(h, p, name), root);
            container_changed(h, p, c, is_init, now_ms);
            note_failures(h, p, container_of(h, p, name));
        }
}

/* ---- pods ---- */

static bool is_ready(const struct json *status)
{
    JSON_FOREACH(c, json_get(status, "conditions"))
        if (str_is(json_member_text(c, "type"), "Ready"))
            return str_is(json_member_text(c, "status"), "True");
    return false;
}

static void note_ready(struct history *h, struct history_pod *p, bool now_ready, int64_t now_ms)
{
    struct history_span *last = p->ready.n ? &p->ready.v[p->ready.n - 1] : NULL;
    bool was_ready = last && last->until_ms < 0;

    if (was_ready && !now_ready)
        last->until_ms = now_ms;
    else if (!was_ready && now_ready && p->ready.n < HISTORY_READY)
        *vec_push(&h->arena, &p->ready) = (struct history_span){ now_ms, -1 };
    else if (!was_ready && now_ready && last)
        last->until_ms = -1;
}

static bool has_begun(const struct history_pod *p, struct str phase)
{
    if (str_is(phase, "Running") || str_is(phase, "Succeeded"))
        return true;
    VEC_FOREACH(c, &p->containers)
        if (!(*c)->is_init && (*c)->attempts.n)
            return true;
    return false;
}

/* When its first main container began. */
static int64_t begun_ms(const struct history_pod *p, int64_t now_ms)
{
    int64_t first_ms = now_ms;

    VEC_FOREACH(c, &p->containers)
        if (!(*c)->is_init && (*c)->attempts.n)
            first_ms = MIN_OF(first_ms, (*c)->attempts.v[0].started_ms);
    return MAX_OF(first_ms, p->scheduled_ms);
}

static void note_end(struct history *h, struct history_pod *p, struct str phase, int64_t now_ms)
{
    int64_t failures = 0;

    if (p->ended_ms >= 0)
        return;
    p->ended_ms = now_ms;
    if (str_is(phase, "Succeeded"))
        p->end = END_OK;
    else
        p->end = p->deleting_ms >= 0 ? END_STOPPED : END_FAILED;
    VEC_FOREACH(c, &p->containers)
        failures += (*c)->failures;
    if (p->end == END_FAILED && !failures && h->news.n < HISTORY_LISTED)
        *vec_push(&h->arena, &h->news) = (struct history_news){ p, NULL };
}

/* What was open is over with the pod. */
static void close_all(struct history *h, struct history_pod *p, int64_t now_ms)
{
    note_ready(h, p, false, now_ms);
    VEC_FOREACH(c, &p->containers) {
        struct history_attempt *a = last_attempt(*c);

        if (a && a->ended_ms < 0)
            a->ended_ms = now_ms;
    }
}

static void pod_gone(struct history *h, struct history_pod *p, int64_t now_ms)
{
    p->gone_ms = now_ms;
    if (p->deleting_ms < 0)
        p->deleting_ms = now_ms;
    note_end(h, p, STR(""), now_ms);
    close_all(h, p, now_ms);
}

void history_pod_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct history_pod *p = map_get(&h->pods_uid, o->uid);
    const struct json *meta = json_get(o->root, "metadata"), *status = json_get(o->root, "status");
    struct str phase = json_member_text(status, "phase"),
               node = json_member_text(json_get(o->root, "spec"), "nodeName");

    if (!p && is_gone)
        return;
    if (!p)
        p = pod_new(h, o, now_ms);
    if (p->scheduled_ms < 0 && !str_empty(node)) {
        p->scheduled_ms = now_ms;
        p->node = history_keep(h, node);
    }
    if (p->deleting_ms < 0 && !str_empty(json_member_text(meta, "deletionTimestamp")))
        p->deleting_ms = now_ms;
    containers_changed(h, p, o->root, now_ms);
    if (p->started_ms < 0 && has_begun(p, phase))
        p->started_ms = begun_ms(p, now_ms);
    note_ready(h, p, is_ready(status) && p->ended_ms < 0, now_ms);
    p->reason = history_keep(h, json_member_text(status, "reason"));
    p->message = history_keep(h, json_member_text(status, "message"));
    if (str_is(phase, "Succeeded") || str_is(phase, "Failed")) {
        note_end(h, p, phase, now_ms);
        close_all(h, p, now_ms);
    }
    if (is_gone)
        pod_gone(h, p, now_ms);
    p->seen_ms = now_ms;
}

/* ---- output ---- */

static void cut_front(struct buf *b, size_t keep)
{
    size_t gone = b->n - keep;

    memmove(b->p, b->p + gone, keep);
    b->n = keep;
    b->p[keep] = '\0';
}

void history_output(struct history *h, const struct agent_output *line)
{
    struct history_pod *p = map_get(&h->pods_uid, line->uid);
    struct history_container *c;
    struct str text = line->text;

    if (!p)
        return;
    h->found->is_valid = false;
    c = container_of(h, p, line->container);
    if (c->is_fresh && p->restarts && p->ended_ms < 0) { /* else: the last lines of one that ended came late */
        buf_reset(&c->tail);
        c->is_fresh = false;
    }
    if (text.n > HISTORY_TAIL)
        text = str_from(text, text.n - HISTORY_TAIL);
    buf_str(&c->tail, text);
    if (!line->is_partial)
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

void history_usage(struct history *h, struct str pod_uid, const struct cgroup_stats *s, int64_t now_ms)
{
    struct history_pod *p = map_get(&h->pods_uid, pod_uid);
    struct history_sample *last;

    if (!p)
        return;
    last = p->samples.n ? &p->samples.v[p->samples.n - 1] : NULL;
    p->memory_peak_bytes = MAX_OF(p->memory_peak_bytes, MAX_OF(s->memory_peak_bytes, s->memory_bytes));
    if (s->cpu_us < 0 && s->memory_bytes < 0)
        return;
    if (!last || now_ms > last->at_ms) {
        if (p->samples.n >= HISTORY_SAMPLES)
            thin(p);
        last = vec_push(&h->arena, &p->samples);
        last->at_ms = now_ms;
        last->cpu_us = p->samples.n > 1 ? last[-1].cpu_us : 0;
    }
    last->cpu_us = MAX_OF(last->cpu_us, s->cpu_us); /* a counter; it starts again only by mistake */
    last->memory_bytes = MAX_OF(s->memory_bytes, 0);
}
