/* held.c - objects that are looked at while they, or others, are written */
#include "server/server_internal.h"

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
