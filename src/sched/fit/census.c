/* census.c - why nodes refuse a pod, counted: at once, or kept */
#include "sched/fit/census.h"

#include "base/util.h"
#include "sched/fit/interpod.h"
#include "sched/fit/fit_internal.h"

enum { CAUSES_MAX = 64, UNCOUNTED = UINT8_MAX }; /* taints could be different on every node */

struct census_cause {
    struct str text;
    uint32_t count;
};
struct causes {
    struct arena arena;
    VEC(struct census_cause) list;
    uint32_t lacking[AMOUNT_DIMS]; /* nodes that lack so much of it */
};

struct census {
    struct causes all;
    uint32_t n_uncounted; /* nodes whose cause had no place in the list */
    uint32_t *lacking;    /* by index of the node: bits of resources … */
    uint8_t *other;       /* … or 1 + the place of another cause in the list, or UNCOUNTED; 0: none */
};

/* ---- causes ---- */

/* Its place in the list; UNCOUNTED: there are too many. */
static uint8_t cause_of(struct causes *all, struct str text)
{
    for (size_t i = 0; i < all->list.n; i++)
        if (str_eq(all->list.v[i].text, text))
            return (uint8_t)i;
    if (all->list.n >= CAUSES_MAX)
        return UNCOUNTED;
    *vec_push(&all->arena, &all->list) = (struct census_cause){ arena_str(&all->arena, text), 0 };
    return (uint8_t)(all->list.n - 1);
}

static void count_dims(struct causes *all, uint32_t lacking, uint32_t by)
{
    for (; lacking; lacking &= lacking - 1)
        all->lacking[__builtin_ctz(lacking)] += by;
}

static int by_count(const void *x, const void *y)
{
    const struct census_cause *a = x, *b = y;

    return a->count != b->count ? (a->count < b->count ? 1 : -1) : str_cmp(a->text, b->text);
}

static void print_causes(struct sched_model *m, const struct causes *all, struct why *w)
{
    struct census_cause list[CAUSES_MAX + AMOUNT_DIMS];
    autoarena a = { 0 };
    size_t n = 0;

    for (size_t i = 0; i < all->list.n; i++)
        if (all->list.v[i].count)
            list[n++] = all->list.v[i];
    for (int d = 0; d < m->dims.n; d++)
        if (all->lacking[d])
            list[n++] = (struct census_cause){ arena_str(&a, fit_dim_text(m, d)), all->lacking[d] };
    qsort(list, n, sizeof(*list), by_count);
    for (w->n_causes = 0; w->n_causes < MIN_OF(n, (size_t)WHY_NODES); w->n_causes++) {
        (void)snprintf(w->causes[w->n_causes].text, sizeof(w->causes[0].text), "%.*s", STR_ARG(list[w->n_causes].text));
        w->causes[w->n_causes].count = list[w->n_causes].count;
    }
}

/* ---- kept ---- */

static void count_in(struct sched_model *m, struct census *s, const struct pod_class *c, enum fit_room room, uint32_t i)
{
    static const struct interpod none;
    struct str text;

    s->lacking[i] = fit_refusal(m, &(struct fit_question){ c, NULL, room }, m->order[i], &none, &text);
    s->other[i] = 0;
    if (s->lacking[i]) {
        count_dims(&s->all, s->lacking[i], 1);
    } else if (text.p) {
        uint8_t at = cause_of(&s->all, text);

        s->other[i] = at == UNCOUNTED ? UNCOUNTED : (uint8_t)(at + 1);
        if (at == UNCOUNTED)
            s->n_uncounted++;
        else
            s->all.list.v[at].count++;
    }
}

static void count_out(struct census *s, uint32_t i)
{
    count_dims(&s->all, s->lacking[i], UINT32_MAX); /* less one */
    if (s->other[i] == UNCOUNTED)
        s->n_uncounted--;
    else if (s->other[i])
        s->all.list.v[s->other[i] - 1].count--;
}

struct census *census_new(struct sched_model *m, const struct pod_class *c, enum fit_room room)
{
    struct census *s = xcalloc(1, sizeof(*s));

    s->lacking = xcalloc(m->n_order + 1, sizeof(*s->lacking));
    s->other = xcalloc(m->n_order + 1, sizeof(*s->other));
    for (uint32_t i = 0; i < m->n_order; i++)
        count_in(m, s, c, room, i);
    return s;
}

void census_free(struct census *s)
{
    if (!s)
        return;
    arena_done(&s->all.arena);
    free(s->lacking);
    free(s->other);
    free(s);
}

void census_update(struct sched_model *m, struct census *s, const struct pod_class *c, enum fit_room room,
                   uint32_t index)
{
    count_out(s, index);
    count_in(m, s, c, room, index);
}

/* ---- asking ---- */

static void count_range(struct sched_model *m, const struct fit_question *q, struct fit_range range,
                        const struct interpod *k, struct causes *all)
{
    for (uint32_t i = range.from; i < range.to; i++) {
        struct str text;
        uint32_t lacking = fit_refusal(m, q, m->order[i], k, &text);
        uint8_t at;

        count_dims(all, lacking, 1);
        if (!lacking && text.p && (at = cause_of(all, text)) != UNCOUNTED)
            all->list.v[at].count++;
    }
}

void fit_why(struct sched_model *m, const struct fit_question *q, struct fit_range range, struct why *w)
{
    struct causes all = { 0 };
    struct interpod k;

    fit_begin(m, q, &k);
    range.to = MIN_OF(range.to, m->n_order);
    w->n_nodes = range.to > range.from ? range.to - range.from : 0;
    if (!k.is_on && !m->is_unordered && range.from == 0 && range.to == m->n_order) {
        const struct census *s = view_census(m, view_get(m, q->class, q->room));

        if (!s->n_uncounted) {
            print_causes(m, &s->all, w);
            return;
        }
    }
    count_range(m, q, range, &k, &all);
    print_causes(m, &all, w);
    arena_done(&all.arena);
}
