/* alike.c - failures as they happen, and those that are alike together */
#include "history/history_internal.h"

#include "base/util.h"

bool record_next_failure(struct record *r, struct record_words *ret)
{
    const struct record_news *n;
    struct record_cause c;
    autobuf words = { 0 };

    if (r->n_news_read == r->news.n) {
        r->n_news_read = r->news.n = 0;
        return false;
    }
    n = &r->news.v[r->n_news_read++];
    c = (struct record_cause){ n->pod, n->container, NULL, n->pod->seen_ms };
    for (size_t i = n->container ? n->container->attempts.n : 0; i-- > 0 && !c.attempt;)
        if (n->container->attempts.v[i].is_failed)
            c.attempt = &n->container->attempts.v[i];
    record_cause_words(&c, &words, ret);
    ret->words = record_keep(r, buf_view(&words));
    return true;
}

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

void record_alike_key(struct buf *out, const struct record_words *w)
{
    autobuf lines = { 0 };

    plain_lines(&lines, w->tail);
    buf_fmt(out, "%.*s/%.*s/%.*s/%.*s/%.*s %d\n", STR_ARG(w->namespace), STR_ARG(w->job), STR_ARG(w->task),
            STR_ARG(w->container), STR_ARG(w->reason), w->exit_code);
    without_numbers(out, w->words);
    buf_char(out, '\n');
    without_numbers(out, last_line(buf_view(&lines)));
}

void record_alikes(struct arena *a, const struct record *r, struct record_alikes *ret)
{
    struct record_words w;
    struct map known;

    *ret = (struct record_alikes){ 0 };
    map_init(&known, map_seed_default());
    for (size_t i = 0; record_failed(r, i, &w); i++) {
        autobuf key = { 0 };
        struct record_alike *k;

        record_alike_key(&key, &w);
        k = map_get(&known, buf_view(&key));
        if (!k) {
            k = arena_new(a, struct record_alike);
            k->first = w;
            map_put(&known, arena_str(a, buf_view(&key)), k);
            *vec_push(a, &ret->list) = k;
        } else {
            *vec_push(a, &k->others) = w.pod;
        }
        k->failures += w.failures;
    }
    map_done(&known);
}
