/* failures.c - failures as they happen: those that are alike are one, with a count
 *
 * A hundred workers that miss the same program are one thing to know, and so is a container that fails again and again.
 * The first of a kind is reported with its last lines; after that only counts, when more pods fail so or when the count
 * has doubled.
 */
#include "program/run/failures.h"

#include "base/util.h"
#include "base/term.h"

enum {
    KINDS_MAX = 100, /* more are only counted; the summary and the report have them all */
    LINES_MAX = 5,
    TAIL_MAX = 2048,
    HOLD_MS = 300, /* for the others to fail too, or for the end of the run, which tells it all */
    AGAIN_MS = 1000,
};

void run_failures_init(struct run_failures *f)
{
    *f = (struct run_failures){ 0 };
    map_init(&f->kinds_by_key, map_seed_default());
    map_init(&f->counts, map_seed_default());
}

void run_failures_done(struct run_failures *f)
{
    VEC_FOREACH(k, &f->kinds)
        map_done(&(*k)->pods);
    map_done(&f->kinds_by_key);
    map_done(&f->counts);
    arena_done(&f->arena);
}

/* How often it has failed since it was last asked. */
static int64_t new_failures(struct run_failures *f, const struct history_failure *w)
{
    struct str key = arena_fmt(&f->arena, "%.*s/%.*s", STR_ARG(w->uid), STR_ARG(w->container));
    int64_t *told = map_get(&f->counts, key), n;

    if (!told) {
        told = arena_new(&f->arena, int64_t);
        map_put(&f->counts, key, told);
    }
    n = MAX_OF(w->failures - *told, 1);
    *told = w->failures;
    return n;
}

static struct run_kind *failures_kind_of(struct run_failures *f, const struct history_failure *w,
                                         const struct history_pod *p, int64_t now_ms)
{
    autobuf key = { 0 }, plain = { 0 };
    struct run_kind *k;
    struct str tail;

    plain_lines(&plain, w->tail);
    tail = str_last_lines(buf_view(&plain), LINES_MAX);
    history_alike_key(&key, w);
    k = map_get(&f->kinds_by_key, buf_view(&key));
    if (k || f->kinds.n >= KINDS_MAX)
        return k;
    k = arena_new(&f->arena, struct run_kind);
    k->job = p ? p->job : NULL;
    k->label = arena_str(&f->arena, p ? p->label : w->pod);
    k->task = arena_str(&f->arena, w->task);
    k->container = w->is_only ? STR_NULL : arena_str(&f->arena, w->container);
    k->words = arena_str(&f->arena, w->words);
    if (tail.n > TAIL_MAX)
        tail = str_from(tail, tail.n - TAIL_MAX);
    if (!str_ends(w->words, str_trim(tail))) /* what never ran has its reason for last words */
        k->tail = arena_str(&f->arena, tail);
    k->since_ms = now_ms;
    map_init(&k->pods, map_seed_default());
    map_put(&f->kinds_by_key, arena_str(&f->arena, buf_view(&key)), k);
    *vec_push(&f->arena, &f->kinds) = k;
    return k;
}

struct run_kind *run_failures_add(struct run_failures *f, const struct history_failure *w, const struct history_pod *p,
                                  int64_t now_ms)
{
    int64_t n = new_failures(f, w);
    struct run_kind *k = failures_kind_of(f, w, p, now_ms);
    struct str name = arena_fmt(&f->arena, "%.*s/%.*s", STR_ARG(w->namespace), STR_ARG(w->pod));

    if (!k)
        return NULL;
    k->n_times += n;
    k->is_final = w->is_over;
    k->n_pods += map_add(&k->pods, &f->arena, name);
    return k;
}

int64_t run_kind_due(const struct run_kind *k)
{
    if (!k->told_times)
        return k->since_ms + HOLD_MS;
    if (k->n_pods > k->told_pods || k->n_times >= 2 * k->told_times)
        return k->told_ms + AGAIN_MS;
    return INT64_MAX;
}

void run_kind_head(struct buf *out, const struct run_kind *k)
{
    if (k->n_pods > 1)
        buf_fmt(out, "%zu pods%s", k->n_pods, k->task.n ? " of " : "");
    term_text(out, k->n_pods > 1 ? k->task : k->label);
    if (k->container.n) {
        buf_str(out, STR(", container "));
        term_text(out, k->container);
    }
    buf_str(out, STR(" failed"));
    if (k->n_times > (int64_t)k->n_pods)
        buf_fmt(out, " %lld times", (long long)k->n_times);
    buf_str(out, STR(": "));
    term_text(out, k->words);
}

static void kind_lines(struct buf *out, struct str rest)
{
    struct str line;

    while (str_split(&rest, '\n', &line)) {
        buf_str(out, STR("\n    "));
        term_text(out, line);
    }
}

void run_kind_name(struct run_kind *k)
{
    k->is_named = true;
    if (!k->told_times)
        return;
    k->told_pods = k->n_pods;
    k->told_times = k->n_times;
}

static void failures_kind_name(struct buf *out, const struct run_kind *k, bool has_lines)
{
    if (!has_lines && !k->hint.n)
        return;
    buf_str(out, has_lines ? STR("the last lines of ") : STR(""));
    term_text(out, k->label);
    buf_char(out, ':');
}

static void kind_sentence(struct buf *out, const struct run_kind *k, bool has_lines)
{
    run_kind_head(out, k);
    if (!k->is_final)
        buf_str(out, k->n_pods > 1 ? STR("; restarting") : STR("; restarting"));
    if (has_lines && k->n_pods > 1) {
        buf_str(out, STR("; the last lines of "));
        term_text(out, k->label);
        buf_char(out, ':');
    } else if (has_lines) {
        buf_str(out, STR("; its last lines:"));
    }
}

void run_kind_tell(struct buf *out, struct run_kind *k, int64_t now_ms)
{
    bool is_first = !k->told_times, has_lines = is_first && k->tail.n && !k->is_seen;

    (k->is_named ? failures_kind_name : kind_sentence)(out, k, has_lines);
    if (has_lines)
        kind_lines(out, k->tail);
    if (is_first && k->hint.n) {
        buf_str(out, STR("\n    hint: "));
        term_text(out, k->hint);
    }
    k->told_ms = now_ms;
    k->told_pods = k->n_pods;
    k->told_times = k->n_times;
}
