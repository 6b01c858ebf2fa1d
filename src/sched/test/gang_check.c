/* gang_check.c - are gangs in the classes they belong to, and counted answers those of a trial? */
#include "sched/test/check.h"

#include "base/test/check.h"
#include "base/util.h"
#include "sched/gang/gang_class.h"
#include "sched/gang/gang_internal.h"
#include "sched/gang/parked.h"

#include <assert.h>

static void check_class(const struct gang_class *c, uint32_t *n, uint32_t *n_pins)
{
    heap_check(&c->members);
    heap_check(&c->by_runtime);
    assert(c->pins || heap_count(&c->members));
    *n += (uint32_t)heap_count(&c->members);
    *n_pins += c->pins;
}

void gang_classes_check(struct sched_model *m)
{
    autobuf key = { 0 };
    uint32_t n = 0, n_pins = 0;

    LIST_FOREACH(struct gang_class, c, &m->alike->all, link) {
        assert(!c->parked_at);
        check_class(c, &n, &n_pins);
    }
    LIST_FOREACH(struct gang_class, c, &m->alike->parked, link) {
        assert(parked_of(c)->class == c && parked_of(c)->first == gang_class_first(c));
        check_class(c, &n, &n_pins);
    }
    assert(n == m->alike->n_members);
    heap_check(&m->alike->on_credit);
    LIST_FOREACH(struct sched_group, g, &m->waiting, in_waiting) {
        assert((g->gang.alike == NULL) == list_is_linked(&g->gang.in_alone));
        if (!gang_facts(g))
            continue;
        n_pins -= g->gang.kin != NULL;
        assert(!g->is_dirty && gang_class_key(m, g, &key) && str_eq(buf_view(&key), gang_facts(g)->key));
    }
    assert(n_pins == 0);
}

static void check_one(struct sched_model *m, struct sched_group *g, const struct gang_options *opt)
{
    autoarena a = { 0 };
    struct why counted, tried;
    struct trial t = { .m = m, .group = g, .arena = &a };
    enum gang_answer answer = gang_prefilter(m, g, opt, &a, &counted);
    bool is_placed = gang_try(&t, opt, &tried);

    if (is_placed)
        trial_undo(&t);
    assert(answer == GANG_UNKNOWN || (answer == GANG_FITS) == is_placed);
    if (answer != GANG_REFUSED)
        return;
    assert(counted.kind == tried.kind && counted.dim == tried.dim && strcmp(counted.queue, tried.queue) == 0);
    assert(counted.need == tried.need);
    assert(counted.have == tried.have || (counted.is_brief && counted.have == 0)); /* not counted */
}

void gang_prefilter_check(struct sched_model *m)
{
    static const enum gang_limit limits[] = { GANG_NO_LIMIT, GANG_FAIR, GANG_LIMIT };

    if (m->is_unordered)
        return;
    LIST_FOREACH(struct sched_group, g, &m->waiting, in_waiting)
        for (enum fit_room room = FIT_NOW; room <= FIT_EMPTY; room++)
            for (size_t i = 0; i < ARRAY_LEN(limits); i++)
                for (int is_virtual = 0; is_virtual < 2; is_virtual++)
                    check_one(
                        m, g,
                        &(struct gang_options){ .room = room, .limit = limits[i], .is_virtual = is_virtual != 0 });
}
