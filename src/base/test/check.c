/* check.c - heaps, lists and maps looked into */
#include "base/test/check.h"

#include "base/map_internal.h"
#include "base/util.h"

#include <assert.h>

void heap_check(const struct heap *h)
{
    assert(h->n <= h->cap);
    for (size_t i = 0; i < h->n; i++) {
        assert(h->v[i]->place == i + 1);
        assert(i == 0 || h->cmp(h->v[(i - 1) / 2], h->v[i]) <= 0);
    }
}

size_t list_check(const struct list *l)
{
    size_t n = 0;

    for (const struct list_link *at = &l->head;; n++, at = at->next) {
        assert(at->next && at->next->prev == at);
        if (at->next == &l->head)
            return n;
    }
}

static bool is_same(const struct map_slot *a, const struct map_slot *b)
{
    return a->hash == b->hash && a->key.n == b->key.n &&
           (!a->key.p || !b->key.p || memcmp(a->key.p, b->key.p, a->key.n) == 0);
}

/* No empty slot between a key's home and its slot, and the key itself not either. */
static void check_way(const struct map *m, size_t to)
{
    size_t mask = m->cap - 1;

    for (size_t i = m->slots[to].hash & mask; i != to; i = (i + 1) & mask)
        assert(m->slots[i].hash && !is_same(&m->slots[i], &m->slots[to]));
}

void map_check(const struct map *m)
{
    size_t n = 0;

    assert(m->cap == 0 || (m->slots && m->cap >= MAP_CAP_MIN && (m->cap & (m->cap - 1)) == 0));
    assert(m->n <= m->cap / 4 * 3);
    for (size_t i = 0; i < m->cap; i++) {
        const struct map_slot *slot = &m->slots[i];

        assert(!slot->hash == !slot->value);
        if (!slot->hash)
            continue;
        n++;
        assert(slot->hash >> 63);
        check_way(m, i);
    }
    assert(n == m->n);
}
