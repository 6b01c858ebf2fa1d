/* warm.c - which objects keep their trees
 *
 * A tree is made when it is needed and kept while the object has references. Borrowers hold nothing, but
 * they are done when the next write or flush begins: then the store looks through its list and cools what only it
 * holds. It does so each time the list has doubled, so that the looking costs no more than the warming did.
 */
#include "store/store_internal.h"

#include "base/util.h"

enum { WARM_MIN = 64 };

void warm_add(struct warm *w, const struct object *o)
{
    if (w->n == w->cap) {
        w->cap = w->cap ? w->cap * 2 : WARM_MIN;
        w->v = xrealloc(w->v, w->cap * sizeof(struct object *));
    }
    w->v[w->n++] = object_ref(o);
}

void store_warm(const struct store *s, const struct object *o)
{
    if (o->root)
        return;
    object_warm(o, &s->warm->arena);
    warm_add(s->warm, o);
}

/* References of the store's own: this list, the index, the history. */
static unsigned own_refs(const struct store *s, const struct object *o)
{
    const struct entry *entry = index_find(store_index_of(s, o->type), o->namespace, o->name);

    return 1u + (entry && entry->object == o) + history_holds(s, o);
}

void warm_trim(struct store *s)
{
    struct warm *w = s->warm;
    size_t kept = 0;

    if (w->n < w->limit + WARM_MIN || (s->durable && s->durable->pending.n)) /* those are held until the flush */
        return;
    for (size_t i = 0; i < w->n; i++) {
        if (w->v[i]->refs > own_refs(s, w->v[i])) {
            w->v[kept++] = w->v[i];
            continue;
        }
        object_cool(w->v[i]);
        object_unref(w->v[i]);
    }
    w->n = kept;
    w->limit = kept * 2;
}

void store_rest(struct store *s)
{
    warm_trim(s);
}

void warm_done(struct warm *w)
{
    for (size_t i = 0; i < w->n; i++)
        object_unref(w->v[i]);
    free(w->v);
    arena_done(&w->arena);
    free(w);
}
