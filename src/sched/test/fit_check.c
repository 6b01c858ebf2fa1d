/* fit_check.c - do affinity terms count the pods that are there? */
#include "sched/test/check.h"

#include "base/util.h"
#include "sched/fit/fit_internal.h"

#include <assert.h>

static void check_tallies(const struct tallies *have, const struct tallies *want)
{
    assert(have->n == want->n);
    TALLY_FOREACH(w, want)
    {
        struct tally h = tally_of(have, w->place - 1);

        assert(h.pods == w->pods && h.owners == w->owners && h.weight == w->weight);
    }
}

static void check_term(struct sched_model *m, const struct term *t)
{
    struct tallies by_value = { 0 }, by_node = { 0 };
    int64_t total = 0;

    MAP_FOREACH(struct pod_class *, c, &m->fit->classes) {
        bool is_matched = term_matches(m, t, c);

        assert(is_matched == class_is_matched(c, t->id));
        TALLY_FOREACH(spot, &c->work->spots)
        {
            const struct node_facts *facts = m->fit->notes[spot->place - 1];
            uint32_t value = facts->values[t->topo];

            if (is_matched && t->used_as[TERM_SPREAD])
                tallies_add(&by_node, facts->slot, spot->pods, 0, 0);
            if (value == NO_VALUE)
                continue;
            if (is_matched) {
                tallies_add(&by_value, value, spot->pods, 0, 0);
                total += spot->pods;
            }
            VEC_FOREACH(id, &c->avoid)
                if (*id == t->id)
                    tallies_add(&by_value, value, 0, spot->pods, 0);
            VEC_FOREACH(p, &c->like)
                if (p->term == t->id && p->weight)
                    tallies_add(&by_value, value, 0, 0, spot->pods * p->weight);
        }
    }
    check_tallies(&t->by_value, &by_value);
    check_tallies(&t->by_node, &by_node);
    assert(t->total == total);
    tallies_done(&by_value);
    tallies_done(&by_node);
}

void fit_check(struct sched_model *m)
{
    struct terms *all = &m->fit->terms;

    MAP_FOREACH(struct sched_node *, n, &m->nodes)
        for (uint32_t k = 0; n->facts && k < all->n_topos; k++) {
            const struct json *label = n->exists ? json_get_str(n->labels, all->topos[k].key) : NULL;
            uint32_t value = n->facts->values[k];

            assert((value != NO_VALUE) == json_is(label, JSON_STRING));
            assert(value == NO_VALUE || str_eq(all->topos[k].by_id[value]->name, json_text(label, STR(""))));
        }
    for (uint32_t id = 0; id < all->n; id++)
        if (all->v[id])
            check_term(m, all->v[id]);
    MAP_FOREACH(struct pod_class *, c, &m->fit->classes)
        assert(c->is_coupled == class_find_coupling(m, c));
}
