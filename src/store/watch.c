/* watch.c - the history of changes, and watches that read it
 *
 * Each type has a ring of its changes, numbered from 0 as they happen. A watch is a number: the next change it has not
 * read. So a watch never looks at changes of other types, and an idle one costs nothing. How many changes are kept is
 * counted over all types: the oldest goes first, whatever its type.
 *
 * Of a durable store the log has every change that is kept. So states of objects that are neither the present nor quite
 * new are forgotten here, and read from the log again for a watch that comes from far behind.
 */
#include "store/store_internal.h"

#include "base/util.h"

#include <assert.h>

/* ---- keeping ---- */

static struct change *change_at(const struct store_history *h, uint64_t i)
{
    return &h->v[i & (h->cap - 1)];
}

/* The number of the first change after 'rev'. */
static uint64_t history_after(const struct store_history *h, uint64_t rev)
{
    uint64_t low = h->first, high = h->end;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (change_at(h, middle)->rev <= rev)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void history_grow(struct store_history *h)
{
    struct store_history old = *h;

    h->cap = old.cap ? old.cap * 2 : 16;
    h->v = xmalloc(h->cap * sizeof(*h->v));
    for (uint64_t i = h->first; i < h->end; i++)
        *change_at(h, i) = *change_at(&old, i);
    free(old.v);
}

static void order_grow(struct store *s)
{
    size_t cap = s->order_cap ? s->order_cap * 2 : 64;
    uint8_t *order = xmalloc(cap);

    for (uint64_t rev = s->dropped + 1; rev < s->rev; rev++)
        order[rev & (cap - 1)] = s->order[rev & (s->order_cap - 1)];
    free(s->order);
    s->order = order;
    s->order_cap = cap;
}

static void drop_oldest(struct store *s)
{
    uint64_t rev = ++s->dropped;
    uint8_t kind = s->order[rev & (s->order_cap - 1)];
    const struct change *change;

    if (kind == HISTORY_NOBODY)
        return;
    change = change_at(&s->kinds[kind].history, s->kinds[kind].history.first++);
    assert(change->rev == rev);
    if (s->durable)
        durable_drop(s->durable, change->kind, rev, change->kind == WATCH_ADDED ? 0 : change->before);
    if (change->deleted && change->deleted->deleted_rev == rev) /* no other has the name since */
        index_remove(&s->kinds[kind].index, change->deleted);
    object_unref(change->object);
}

/* Whose change s->rev is. */
static void order_add(struct store *s, size_t kind)
{
    if (s->rev - s->dropped > s->order_cap)
        order_grow(s);
    s->order[s->rev & (s->order_cap - 1)] = (uint8_t)kind;
}

void history_skip(struct store *s, uint64_t rev)
{
    while (s->rev < rev) {
        s->rev++;
        order_add(s, HISTORY_NOBODY);
    }
}

uint64_t history_undo(struct store *s, size_t kind, uint64_t rev)
{
    struct store_history *h = &s->kinds[kind].history;
    const struct change *last = change_at(h, --h->end);

    assert(h->first <= h->end && last->rev == rev);
    object_unref(last->object);
    s->order[rev & (s->order_cap - 1)] = HISTORY_NOBODY;
    return last->before;
}

void history_add(struct store *s, enum watch_kind what, const struct object *o, uint64_t before, struct entry *entry)
{
    size_t kind = store_kind_of(o->type);
    struct store_history *h = &s->kinds[kind].history;

    order_add(s, kind);
    if (h->end - h->first == h->cap)
        history_grow(h);
    *change_at(h, h->end++) = (struct change){ what, s->rev, object_ref(o), before,
                                               what == WATCH_DELETED ? entry : NULL };
    while (s->rev - s->dropped > s->history && s->dropped < s->flushed) /* others may be undone */
        drop_oldest(s);
}

/* NULL: it is not kept. */
static struct change *change_of(const struct store *s, size_t kind, uint64_t rev)
{
    const struct store_history *h = &s->kinds[kind].history;
    uint64_t i = history_after(h, rev - 1);

    return i < h->end && change_at(h, i)->rev == rev ? change_at(h, i) : NULL;
}

bool history_holds(const struct store *s, const struct object *o)
{
    const struct change *change = o->rev > s->dropped ? change_of(s, store_kind_of(o->type), o->rev) : NULL;

    return change && change->object == o;
}

void history_forget(struct store *s, size_t kind, uint64_t rev)
{
    struct change *change = rev > s->dropped ? change_of(s, kind, rev) : NULL;

    if (!change)
        return;
    object_unref(change->object);
    change->object = NULL;
}

void history_replace(struct store *s, const struct object *o)
{
    struct change *change = o->rev > s->dropped ? change_of(s, store_kind_of(o->type), o->rev) : NULL;

    if (!change || !change->object)
        return;
    object_unref(change->object);
    change->object = object_ref(o);
}

void history_forget_old(struct store *s, uint64_t after, uint64_t to)
{
    for (uint64_t rev = MAX_OF(after, s->dropped) + 1; rev <= to; rev++) {
        uint8_t kind = s->order[rev & (s->order_cap - 1)];
        const struct change *change = kind == HISTORY_NOBODY ? NULL : change_of(s, kind, rev);
        const struct entry *entry;

        if (!change || !change->object)
            continue;
        entry = index_find(&s->kinds[kind].index, change->object->namespace, change->object->name);
        if (!entry || entry->object != change->object)
            history_forget(s, kind, rev);
    }
}

void store_compact(struct store *s, uint64_t rev)
{
    while (s->dropped < MIN_OF(rev, s->flushed))
        drop_oldest(s);
}

void history_done(struct store *s)
{
    for (size_t i = 0; i < n_type_rows; i++) {
        struct store_history *h = &s->kinds[i].history;

        for (; h->first < h->end; h->first++)
            object_unref(change_at(h, h->first)->object);
        free(h->v);
    }
    free(s->order);
}

/* ---- what was there ---- */

uint64_t history_state_at(const struct store *s, size_t kind, const struct entry *entry, uint64_t rev)
{
    uint64_t at = entry->object ? entry->object->rev : entry->deleted_rev;

    if (!entry->object && at <= rev)
        return 0;
    while (at > rev) {
        const struct change *change = change_of(s, kind, at);

        if (change->kind == WATCH_ADDED && change->before <= rev) /* that one was deleted by then */
            return 0;
        at = change->before;
    }
    return at;
}

struct object *history_object(struct store *s, size_t kind, uint64_t rev)
{
    const struct change *change = rev > s->dropped ? change_of(s, kind, rev) : NULL;

    if (change && change->object)
        return object_ref(change->object);
    return s->durable ? durable_read(s, rev) : NULL;
}

/* ---- reading ---- */

struct watch {
    struct store *store;
    const struct store_history *history;
    struct str namespace; /* empty: all */
    uint64_t at;          /* number of the next change to read */
    uint64_t from;        /* revisions up to this one are not wanted */
    bool wants_bookmark;
    uint64_t bookmark_rev; /* the revision when it was asked for */
    struct object *held;   /* what was given last */
    uint64_t before_rev;   /* of the state that it replaced; 0: none */
    struct object *before; /* that one, once it was asked for */
    struct object *read;   /* from the log; NULL: nothing was */
    char text[];           /* of the namespace */
};

static int watch_gone(struct err *e, uint64_t wanted, uint64_t dropped)
{
    return err_set(e, ERR_GONE, "too old resource version: %llu (%llu is the oldest to watch from)",
                   (unsigned long long)wanted, (unsigned long long)dropped);
}

int watch_open(struct store *s, const struct resource_type *type, struct str namespace, uint64_t from,
               struct watch **ret, struct err *e)
{
    const struct store_history *h = &s->kinds[store_kind_of(type)].history;
    struct watch *w;

    if (from != 0 && from < s->dropped)
        return watch_gone(e, from, s->dropped);
    if (type->scope == SCOPE_CLUSTER)
    namespace = STR_NULL;
    if (from == 0)
        from = s->rev;
    w = xmalloc(sizeof(*w) + namespace.n);
    /* what is not flushed may be undone: a place behind it would be one behind what comes instead */
    *w = (struct watch){ .store = s, .history = h, .at = history_after(h, MIN_OF(from, s->flushed)), .from = from };
    if (namespace.n)
        memcpy(w->text, namespace.p, namespace.n);
    w->namespace = (struct str){ w->text, namespace.n };
    s->n_watches++;
    *ret = w;
    return 0;
}

void watch_close(struct watch *w)
{
    if (!w)
        return;
    assert(w->store->n_watches > 0);
    w->store->n_watches--;
    object_unref(w->held);
    object_unref(w->before);
    object_unref(w->read);
    free(w);
}

/* The object of a change, borrowed. NULL: it cannot be read. */
static const struct object *object_of(struct watch *w, const struct change *change)
{
    if (change->object)
        return change->object;
    if (!w->read || w->read->rev != change->rev) {
        object_unref(w->read);
        w->read = durable_read(w->store, change->rev);
    }
    return w->read;
}

static bool watch_is_wanted(struct watch *w, const struct change *change)
{
    const struct object *o;

    if (change->rev <= w->from)
        return false;
    if (!w->namespace.n)
        return true;
    o = object_of(w, change);
    return !o || str_eq(o->namespace, w->namespace); /* one that cannot be read ends the watch */
}

/* The next change that matches and is durable, not taken yet; NULL if there is none. */
static const struct change *watch_peek(struct watch *w)
{
    for (; w->at < w->history->end; w->at++) {
        const struct change *change = change_at(w->history, w->at);

        if (change->rev > w->store->flushed)
            return NULL;
        if (watch_is_wanted(w, change))
            return change;
    }
    return NULL;
}

/* A bookmark at R promises that everything up to R was read. It is due when nothing from before the asking is left. */
static bool take_bookmark(struct watch *w, const struct change *next, struct watch_event *ret)
{
    uint64_t rev = next ? next->rev - 1 : w->store->flushed;

    if (!w->wants_bookmark || rev < w->bookmark_rev || rev < w->from)
        return false;
    w->wants_bookmark = false;
    *ret = (struct watch_event){ WATCH_BOOKMARK, NULL, rev };
    return true;
}

int watch_next(struct watch *w, struct watch_event *ret, struct err *e)
{
    const struct change *change;
    const struct object *o;

    object_unref(w->held);
    object_unref(w->before);
    w->held = w->before = NULL;
    w->before_rev = 0;
    if (w->at < w->history->first)
        return watch_gone(e, w->from, w->store->dropped);
    change = watch_peek(w);
    if (take_bookmark(w, change, ret))
        return 1;
    if (!change)
        return 0;
    if (!(o = object_of(w, change)))
        return watch_gone(e, w->from, w->store->rev);
    store_warm(w->store, o);
    w->held = object_ref(o); /* the change itself may be dropped while the caller looks at it */
    *ret = (struct watch_event){ change->kind, w->held, change->rev };
    w->before_rev = change->kind == WATCH_MODIFIED ? change->before : 0;
    w->at++;
    w->from = change->rev;
    return 1;
}

const struct object *watch_before(struct watch *w)
{
    const struct change *change;

    if (w->before || !w->before_rev)
        return w->before;
    change = w->before_rev > w->store->dropped ? change_of(w->store, store_kind_of(w->held->type), w->before_rev)
                                               : NULL;
    if (change && change->object)
        w->before = object_ref(change->object);
    else if (w->store->durable)
        w->before = durable_before(w->store, w->before_rev);
    if (w->before)
        store_warm(w->store, w->before);
    return w->before;
}

void watch_want_bookmark(struct watch *w)
{
    w->wants_bookmark = true;
    w->bookmark_rev = w->store->flushed;
}
