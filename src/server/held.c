/* held.c - objects that are looked at while they, or others, are written; statuses that follow from all there is */
#include "server/server_internal.h"

enum { TELL_MS = 100 };

void held_one(void *held, const struct object *o)
{
    struct held *h = held;

    *vec_push(h->arena, &h->objects) = object_ref(o);
}

void held_add(struct held *h, const struct server *s, const struct resource_type *type, struct str namespace)
{
    store_list(s->opt.store, type, namespace, held_one, h);
}

void held_done(struct held *h)
{
    VEC_FOREACH(o, &h->objects)
        object_unref(*o);
}

int64_t tell_statuses(struct server *s, const struct resource_type *type, struct telling *last,
                      void (*tell)(struct server *s, const struct object *o))
{
    autoarena a = { 0 };
    autoheld all = { .arena = &a };
    int64_t now_ms = clock_mono_ms(s->opt.clock);

    if (store_count(s->opt.store, type) == 0 || store_revision(s->opt.store) == last->rev)
        return INT64_MAX;
    if (now_ms < last->ms + TELL_MS)
        return last->ms + TELL_MS - now_ms;
    last->ms = now_ms;
    held_add(&all, s, type, STR_NULL);
    VEC_FOREACH(o, &all.objects)
        tell(s, *o);
    last->rev = store_revision(s->opt.store);
    return INT64_MAX;
}
