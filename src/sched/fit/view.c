/* view.c - trees over the nodes, and the log that keeps them up to date */
#include "sched/fit/view.h"

#include "base/util.h"
#include "sched/fit/fit_internal.h"
#include "sched/fit/nodematch.h"
#include "sched/fit/score.h"
#include "sched/fit/volume.h"

#include <assert.h>

enum { VIEWS_MAX = 512, TOLD_SIZE = 1 << 12, AHEAD = 12 };
#define VIEWS_BYTES ((size_t)64 << 20)

void views_init(struct sched_model *m)
{
    struct views *vs = &m->fit->views;

    list_init(&vs->all);
    vs->log = xcalloc(LOG_SIZE, sizeof(*vs->log));
    vs->told = xcalloc(TOLD_SIZE, sizeof(*vs->told));
    vs->epoch = 1;
}

static void drop_census(struct views *vs, struct view *v)
{
    if (!v->census)
        return;
    census_free(v->census);
    v->census = NULL;
    v->bytes -= CENSUS_BYTES * v->n;
    vs->bytes -= CENSUS_BYTES * v->n;
}

static void drop_places(struct views *vs, struct view *v)
{
    memset(v->lifted, 0, sizeof(v->lifted));
    if (!v->places)
        return;
    free(v->places);
    v->places = NULL;
    v->bytes -= sizeof(*v->places) * v->n;
    vs->bytes -= sizeof(*v->places) * v->n;
}

static void view_free(struct views *vs, struct view *v)
{
    struct class_work *w = v->class->work;
    bool is_last = true;

    list_remove(&v->by_use);
    drop_census(vs, v);
    drop_places(vs, v);
    vs->n--;
    vs->bytes -= v->bytes;
    w->views[v->room] = NULL;
    for (int room = 0; room < FIT_ROOM_MAX; room++)
        is_last = is_last && !w->views[room];
    if (is_last) {
        free(w->fixed);
        w->fixed = NULL;
        w->n_fixed = 0;
        w->epoch = 0;
    }
    free(v->level[0]);
    free(v);
}

void views_done(struct sched_model *m)
{
    struct views *vs = &m->fit->views;

    LIST_FOREACH(struct view, v, &vs->all, by_use)
        view_free(vs, v);
    free(vs->log);
    free(vs->told);
    free(vs->stamp);
}

void views_forget(struct sched_model *m, const struct pod_class *c)
{
    for (int room = 0; room < FIT_ROOM_MAX; room++)
        if (c->work->views[room])
            view_free(&m->fit->views, c->work->views[room]);
    free(c->work->fixed);
    c->work->fixed = NULL;
}

void views_restart(struct sched_model *m)
{
    m->fit->views.epoch++;
}

void views_note(struct sched_model *m, uint32_t index, bool is_told)
{
    struct views *vs = &m->fit->views;

    vs->log[vs->head++ % LOG_SIZE] = index;
    if (is_told)
        vs->told[vs->n_told++ % TOLD_SIZE] = index;
}

/* ---- what does not depend on amounts ---- */

static void fixed_all(struct sched_model *m, const struct pod_class *c)
{
    struct class_work *w = c->work;

    if (w->n_fixed != m->n_order || !w->fixed)
        w->fixed = xrealloc(w->fixed, (m->n_order + 1) * sizeof(*w->fixed));
    w->n_fixed = m->n_order;
    node_rule_ready(m, c->must);
    VEC_FOREACH(p, &c->prefers)
        node_rule_ready(m, p->rule);
    for (uint32_t i = 0; i < m->n_order; i++) {
        __builtin_prefetch(m->order[MIN_OF(i + AHEAD, m->n_order - 1)]);
        w->fixed[i] = fit_fixed(m, c, m->order[i]);
    }
}

const int32_t *view_fixed(struct sched_model *m, const struct pod_class *c)
{
    const struct views *vs = &m->fit->views;
    struct class_work *w = c->work;
    bool is_stale = !w->fixed || w->epoch != vs->epoch || vs->n_told - w->told > TOLD_SIZE ||
                    (c->claims.n && w->volumes != m->fit->volumes);

    if (!is_stale) {
        for (; w->told != vs->n_told; w->told++) {
            uint32_t i = vs->told[w->told % TOLD_SIZE];

            w->fixed[i] = fit_fixed(m, c, m->order[i]);
        }
        return w->fixed;
    }
    fixed_all(m, c);
    for (int room = 0; room < FIT_ROOM_MAX; room++)
        if (w->views[room])
            w->views[room]->epoch = 0;
    w->epoch = vs->epoch;
    w->volumes = m->fit->volumes;
    w->told = vs->n_told;
    return w->fixed;
}

/* ---- the tree ---- */

static inline int32_t leaf_of(const struct sched_model *m, const struct pod_class *c, const struct sched_node *n,
                              enum fit_room room, int32_t fixed)
{
    if (fixed < 0 || !has_room(c, n, room))
        return VIEW_NONE;
    if (c->ports.n && room != FIT_EMPTY && !fit_ports_are_free(c, n))
        return VIEW_NONE;
    if (c->claims.n && room != FIT_EMPTY && (!volume_has_slots(c, n) || !volume_is_free(m, c, n)))
        return VIEW_NONE;
    return (int32_t)score_cut(fixed + score_amounts(m->config.weights, c, n, NULL));
}

static inline int32_t max_of_cells(const int32_t *cells)
{
    int32_t max = cells[0];

    for (int i = 1; i < VIEW_FAN; i++)
        max = cells[i] > max ? cells[i] : max;
    return max;
}

static uint32_t view_padded(uint32_t n)
{
    return (n + VIEW_FAN - 1) / VIEW_FAN * VIEW_FAN;
}

static void view_shape(struct views *vs, struct view *v, uint32_t n)
{
    uint32_t width = view_padded(n), sum = width;

    drop_census(vs, v);
    drop_places(vs, v);
    vs->bytes -= v->bytes;
    free(v->level[0]);
    v->n = n;
    for (v->n_levels = 1; width > VIEW_FAN; v->n_levels++) {
        width = view_padded(width / VIEW_FAN);
        sum += width;
    }
    assert(v->n_levels <= VIEW_LEVELS);
    v->level[0] = xmalloc((sum + VIEW_FAN) * sizeof(int32_t));
    memset(v->level[0], 0xff, (sum + VIEW_FAN) * sizeof(int32_t)); /* VIEW_NONE in the padding */
    width = view_padded(n);
    for (int l = 1; l < v->n_levels; l++) {
        v->level[l] = v->level[l - 1] + width;
        width = view_padded(width / VIEW_FAN);
    }
    v->bytes = (sum + VIEW_FAN + n) * sizeof(int32_t) + sizeof(*v); /* and its part of 'fixed' */
    vs->bytes += v->bytes;
}

static void view_fill(struct sched_model *m, struct view *v, const int32_t *fixed)
{
    uint32_t width = view_padded(v->n);

    for (uint32_t i = 0; i < v->n; i++) {
        const struct sched_node *ahead = m->order[MIN_OF(i + AHEAD, v->n - 1)];

        __builtin_prefetch(&ahead->total);
        __builtin_prefetch(&ahead->used);
        __builtin_prefetch(&ahead->held);
        v->level[0][i] = leaf_of(m, v->class, m->order[i], v->room, fixed[i]);
    }
    drop_census(&m->fit->views, v); /* they are made again when asked for */
    drop_places(&m->fit->views, v);
    for (int l = 1; l < v->n_levels; l++) {
        for (uint32_t i = 0; i < width / VIEW_FAN; i++)
            v->level[l][i] = max_of_cells(v->level[l - 1] + i * VIEW_FAN);
        width = view_padded(width / VIEW_FAN);
    }
}

static void view_set(struct view *v, uint32_t i, int32_t leaf)
{
    if (v->level[0][i] == leaf)
        return;
    v->level[0][i] = leaf;
    for (int l = 1; l < v->n_levels; l++) {
        int32_t max = max_of_cells(v->level[l - 1] + i / VIEW_FAN * VIEW_FAN);

        i /= VIEW_FAN;
        if (v->level[l][i] == max)
            return;
        v->level[l][i] = max;
    }
}

/* ---- how many ---- */

/* If so much more were free. */
static uint32_t places_with(const struct view *v, const struct sched_node *n, const struct amounts *more)
{
    const struct pod_class *c = v->class;
    int64_t least = UINT32_MAX;

    for (uint32_t left = c->ask_dims; left; left &= left - 1) {
        int d = __builtin_ctz(left);
        int64_t free = free_on(n, v->room, d) + more->v[d];

        least = MIN_OF(least, free < c->ask.v[d] ? 0 : free / c->ask.v[d]);
    }
    return (uint32_t)least;
}

static uint32_t places_on(const struct view *v, const struct sched_node *n, uint32_t i)
{
    static const struct amounts none;

    return v->level[0][i] == VIEW_NONE ? 0 : places_with(v, n, &none);
}

int64_t view_more_places(const struct view *v, const struct sched_node *n, const struct amounts *more)
{
    if (v->class->work->fixed[n->index] < 0) /* whatever is free */
        return 0;
    return (int64_t)places_with(v, n, more) - v->places[n->index];
}

static void count_places(struct sched_model *m, struct view *v)
{
    v->places = xmalloc(MAX_OF(v->n, 1) * sizeof(*v->places));
    v->n_places = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        v->places[i] = places_on(v, m->order[i], i);
        v->n_places += v->places[i];
    }
    v->bytes += sizeof(*v->places) * v->n;
    m->fit->views.bytes += sizeof(*v->places) * v->n;
}

int64_t view_places(struct sched_model *m, struct view *v, uint32_t from, uint32_t to)
{
    int64_t sum = 0;

    if (!v->places)
        count_places(m, v);
    if (from == 0 && to >= v->n)
        return v->n_places;
    for (uint32_t i = from; i < MIN_OF(to, v->n); i++)
        sum += v->places[i];
    return sum;
}

/* ---- keeping up ---- */

/* Each changed node once, the newest entry first. */
static void read_log(struct sched_model *m, struct view *v, const int32_t *fixed)
{
    struct views *vs = &m->fit->views;

    if (vs->n_stamps < v->n || ++vs->turn == 0) {
        vs->stamp = xrealloc(vs->stamp, v->n * sizeof(*vs->stamp));
        memset(vs->stamp, 0, v->n * sizeof(*vs->stamp));
        vs->n_stamps = v->n;
        vs->turn = 1;
    }
    for (uint64_t at = vs->head; at != v->seen; at--) {
        uint32_t i = vs->log[(at - 1) % LOG_SIZE];

        if (vs->stamp[i] == vs->turn)
            continue;
        vs->stamp[i] = vs->turn;
        view_set(v, i, leaf_of(m, v->class, m->order[i], v->room, fixed[i]));
        if (v->places) {
            v->n_places -= v->places[i];
            v->places[i] = places_on(v, m->order[i], i);
            v->n_places += v->places[i];
        }
        if (v->census)
            census_update(m, v->census, v->class, v->room, i);
    }
}

static void drop_oldest(struct views *vs, const struct view *keep)
{
    while (vs->n > 1 && (vs->n > VIEWS_MAX || vs->bytes > VIEWS_BYTES)) {
        struct view *v = LIST_FIRST(&vs->all, struct view, by_use);

        if (v == keep)
            break;
        view_free(vs, v);
    }
}

struct view *view_get(struct sched_model *m, const struct pod_class *c, enum fit_room room)
{
    struct views *vs = &m->fit->views;
    struct view *v = c->work->views[room];
    const int32_t *fixed;

    if (!v) {
        v = xcalloc(1, sizeof(*v));
        v->class = c;
        v->room = room;
        c->work->views[room] = v;
        vs->n++;
    }
    list_remove(&v->by_use);
    list_push(&vs->all, &v->by_use);
    fixed = view_fixed(m, c);
    if (v->epoch != vs->epoch || vs->head - v->seen > LOG_SIZE || (c->claims.n && v->taken != m->fit->taken)) {
        if (!v->level[0] || v->n != m->n_order)
            view_shape(vs, v, m->n_order);
        view_fill(m, v, fixed);
        v->epoch = vs->epoch;
        v->taken = m->fit->taken;
        drop_oldest(vs, v);
    } else {
        read_log(m, v, fixed);
    }
    v->seen = vs->head;
    return v;
}

/* ---- asking ---- */

const struct census *view_census(struct sched_model *m, struct view *v)
{
    if (!v->census) {
        v->census = census_new(m, v->class, v->room);
        v->bytes += CENSUS_BYTES * v->n;
        m->fit->views.bytes += CENSUS_BYTES * v->n;
    }
    return v->census;
}

struct cell {
    int level;
    uint32_t at;
    int32_t score;
    uint32_t first; /* leaf below it */
};

static void better_cell(const struct view *v, int level, uint32_t at, uint32_t leaves, struct cell *best)
{
    int32_t score = v->level[level][at];

    if (score > best->score || (score == best->score && at * leaves < best->first))
        *best = (struct cell){ level, at, score, at * leaves };
}

/* Cells that together cover the range: from both ends up, wherever a whole row of 16 is not inside. */
static struct cell best_cell(const struct view *v, uint32_t from, uint32_t to)
{
    struct cell best = { .score = VIEW_NONE, .first = 0 }; /* a score of -1 never wins */
    uint32_t leaves = 1;

    for (int l = 0; from < to; l++, leaves *= VIEW_FAN, from /= VIEW_FAN, to /= VIEW_FAN) {
        bool is_top = l + 1 >= v->n_levels || to - from <= VIEW_FAN;

        for (; from < to && (is_top || from % VIEW_FAN); from++)
            better_cell(v, l, from, leaves, &best);
        for (; from < to && to % VIEW_FAN; to--)
            better_cell(v, l, to - 1, leaves, &best);
    }
    return best;
}

uint32_t view_best(const struct view *v, uint32_t from, uint32_t to)
{
    struct cell best = best_cell(v, from, MIN_OF(to, v->n));

    if (best.score == VIEW_NONE)
        return UINT32_MAX;
    while (best.level > 0) {
        const int32_t *below = v->level[--best.level] + (size_t)best.at * VIEW_FAN;
        uint32_t i = 0;

        while (below[i] != best.score)
            i++;
        best.at = best.at * VIEW_FAN + i;
    }
    return best.at;
}
