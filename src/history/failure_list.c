/* failure_list.c - what failed: all of it, news of it, and what is alike */
#include "history/history_internal.h"

#include "base/util.h"

/* ---- causes ---- */

static int by_newest(const void *x, const void *y)
{
    const struct history_cause *a = x, *b = y;
    int c;

    if (a->at_ms != b->at_ms)
        return a->at_ms > b->at_ms ? -1 : 1;
    c = str_cmp(a->pod->namespace, b->pod->namespace);
    if (c == 0)
        c = str_cmp(a->pod->name, b->pod->name);
    return c ? c : str_cmp(a->container ? a->container->name : STR(""), b->container ? b->container->name : STR(""));
}

/* Reasons a container waits with that do not go away by themselves. */
static bool is_trouble(struct str reason)
{
    return str_ends(reason, STR("Error")) || str_ends(reason, STR("BackOff")) || str_starts(reason, STR("Failed")) ||
           str_starts(reason, STR("ErrImage")) || str_is(reason, "InvalidImageName");
}

static bool is_cause(const struct history_pod *p, const struct history_container *c, struct history_cause *ret)
{
    const struct history_attempt *last = c->attempts.n ? &c->attempts.v[c->attempts.n - 1] : NULL;

    *ret = (struct history_cause){ p, c, last, last ? last->ended_ms : p->seen_ms };
    if (last && last->ended_ms < 0)
        return false;
    if (last && last->is_failed && (p->end == END_FAILED || p->end == END_STOPPED || c->waiting.n))
        return p->deleting_ms < 0 ||
               c->failures > c->restarts; /* it had failed before that, be it in the same moment */
    ret->attempt = NULL;
    return !last && is_trouble(c->waiting);
}

size_t history_causes(struct arena *a, const struct history *h, struct history_cause **ret)
{
    VEC(struct history_cause) v = { 0 };

    for (size_t i = 0; i < h->pods.n; i++) {
        const struct history_pod *p = h->pods.v[i];
        struct history_cause cause;
        size_t before = v.n;

        VEC_FOREACH(c, &p->containers)
            if (is_cause(p, *c, &cause))
                *vec_push(a, &v) = cause;
        if (v.n == before && p->end == END_FAILED)
            *vec_push(a, &v) = (struct history_cause){ p, NULL, NULL, p->ended_ms };
    }
    if (v.n)
        qsort(v.v, v.n, sizeof(*v.v), by_newest);
    *ret = v.v;
    return v.n;
}

/* The termination message, or ours, where the last lines would hide it. */
static void add_said(struct buf *reason, struct str said, struct str tail)
{
    enum { SHORT = 200 };

    said = str_trim(said);
    if (tail.n && said.n && said.n <= SHORT && str_find_char(said, '\n') < 0 && !str_ends(str_trim(tail), said) &&
        !str_ends(buf_view(reason), said))
        buf_fmt(reason, ": %.*s", STR_ARG(said));
}

/* Why the pod was ended goes before how its container ended: one that is killed at a deadline dies of a signal like any
 * other. */
static struct failure failure_of(const struct history_cause *c)
{
    int code = c->attempt ? c->attempt->exit_code : -1;

    if (c->pod->reason.n)
        return (struct failure){ code, 0, c->pod->reason, c->pod->message };
    if (c->attempt)
        return attempt_failure(c->attempt);
    if (c->container)
        return (struct failure){ code, 0, c->container->waiting, c->container->waiting_text };
    return (struct failure){ code, 0, STR(""), c->pod->message };
}

/* 'words' has the text of ret->words. */
static void cause_failure(const struct history_cause *c, struct buf *words, struct history_failure *ret)
{
    struct str tail = c->container ? buf_view(&c->container->tail) : STR("");
    struct failure f = failure_of(c), bare = f;

    if (c->pod->reason.n || !c->attempt) /* a message of ours is for the lines below, where nothing else was written */
        bare.message = STR("");
    failure_words(words, &bare);
    add_said(words, f.message, tail);
    if (tail.n > HISTORY_TAIL)
        tail = str_from(tail, tail.n - HISTORY_TAIL);
    *ret = (struct history_failure){ .namespace = c->pod->namespace,
                                     .job = c->pod->job ? c->pod->job->name : STR(""),
                                     .pod = c->pod->name,
                                     .uid = c->pod->uid,
                                     .task = c->pod->task_name,
                                     .container = c->container ? c->container->name : STR(""),
                                     .node = c->pod->node,
                                     .reason = failure_reason(f.reason),
                                     .message = str_trim(f.message),
                                     .exit_code = f.exit_code,
                                     .at_ms = c->at_ms,
                                     .failures = c->container ? MAX_OF(c->container->failures, 1) : 1,
                                     .is_only = c->pod->containers.n < 2,
                                     .is_over = c->pod->end == END_FAILED,
                                     .tail = tail.n ? tail : f.message };
}

static void find_failures(const struct history *h, struct history_found *f)
{
    struct history_cause *all;

    arena_reset(&f->arena);
    f->n = history_causes(&f->arena, h, &all);
    f->failures = arena_array(&f->arena, struct history_failure, f->n);
    for (size_t i = 0; i < f->n; i++) {
        autobuf words = { 0 };

        cause_failure(&all[i], &words, &f->failures[i]);
        f->failures[i].words = arena_str(&f->arena, buf_view(&words));
    }
    f->is_valid = true;
}

bool history_failed(const struct history *h, size_t i, struct history_failure *ret)
{
    if (!h->feed->found.is_valid)
        find_failures(h, &h->feed->found);
    if (i >= h->feed->found.n)
        return false;
    *ret = h->feed->found.failures[i];
    return true;
}

/* ---- news ---- */

bool history_next_failure(struct history *h, struct history_failure *ret)
{
    const struct history_news *n;
    struct history_cause c;
    autobuf words = { 0 };

    if (h->feed->n_news_read == h->feed->news.n) {
        h->feed->n_news_read = h->feed->news.n = 0;
        return false;
    }
    n = &h->feed->news.v[h->feed->n_news_read++];
    c = (struct history_cause){ n->pod, n->container, NULL, n->pod->seen_ms };
    for (size_t i = n->container ? n->container->attempts.n : 0; i-- > 0 && !c.attempt;)
        if (n->container->attempts.v[i].is_failed)
            c.attempt = &n->container->attempts.v[i];
    cause_failure(&c, &words, ret);
    ret->words = history_keep(h, buf_view(&words));
    return true;
}

/* ---- alike ---- */

static bool is_number(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Words that have a digit in them and otherwise only what numbers are made of: 7, 0x7f3c, 10.244.0.12:29500, 12:03:44. */
static void without_numbers(struct buf *out, struct str s)
{
    for (size_t at = 0, n; at < s.n; at += n) {
        bool has_digit = false;

        for (n = 0; at + n < s.n && (is_number(s.p[at + n]) || strchr(".:x-", s.p[at + n])); n++)
            has_digit |= s.p[at + n] >= '0' && s.p[at + n] <= '9';
        if (has_digit)
            buf_char(out, '#');
        else if (n)
            buf_str(out, str_sub(s, at, n));
        else
            buf_char(out, s.p[at + n++]);
    }
}

static struct str last_line(struct str lines)
{
    lines = str_trim(lines);
    return str_from(lines, (size_t)(str_rfind_char(lines, '\n') + 1));
}

void history_alike_key(struct buf *out, const struct history_failure *w)
{
    autobuf lines = { 0 };

    plain_lines(&lines, w->tail);
    buf_fmt(out, "%.*s/%.*s/%.*s/%.*s/%.*s %d\n", STR_ARG(w->namespace), STR_ARG(w->job), STR_ARG(w->task),
            STR_ARG(w->container), STR_ARG(w->reason), w->exit_code);
    without_numbers(out, w->words);
    buf_char(out, '\n');
    without_numbers(out, last_line(buf_view(&lines)));
}

void history_alikes(struct arena *a, const struct history *h, struct history_alikes *ret)
{
    struct history_failure w;
    struct map known, pods; /* pods: by kind and name; a pod that was made again keeps its name */

    *ret = (struct history_alikes){ 0 };
    map_init(&known, map_seed_default());
    map_init(&pods, map_seed_default());
    for (size_t i = 0; history_failed(h, i, &w); i++) {
        autobuf key = { 0 };
        struct history_alike *k;

        history_alike_key(&key, &w);
        k = map_get(&known, buf_view(&key));
        if (!k) {
            k = arena_new(a, struct history_alike);
            k->first = w;
            map_put(&known, arena_str(a, buf_view(&key)), k);
            *vec_push(a, &ret->list) = k;
        }
        buf_fmt(&key, "\n%.*s", STR_ARG(w.pod));
        if (!map_get(&pods, buf_view(&key))) {
            map_put(&pods, arena_str(a, buf_view(&key)), k);
            if (k->failures)
                *vec_push(a, &k->others) = w.pod;
        }
        k->failures += w.failures;
    }
    map_done(&pods);
    map_done(&known);
}
