/* base_store.c - the small cluster on a store in this process: a write is known everywhere at once */
#include "harness_internal.h"

#include "store/store.h"

static void open_store(struct h *h)
{
    h->ground = store_new(&(struct store_options){ .clock = &h->clock.clock, .seed = 42 });
    h->namespace = STR("default");
}

static void close_store(struct h *h)
{
    store_free(h->ground);
}

static const struct object *get(struct h *h, const struct resource_type *type, struct str name)
{
    return store_get(h->ground, type, h->namespace, name);
}

static void list(struct h *h, const struct resource_type *type, void (*each)(void *ctx, const struct object *o),
                 void *ctx)
{
    store_list(h->ground, type, type->scope == SCOPE_NAMESPACED ? h->namespace : STR_NULL, each, ctx);
}

static int apply(struct h *h, const struct op *op, struct object **ret, struct err *e)
{
    return store_apply(h->ground, op, ret, e);
}

static struct cluster *door(struct h *h)
{
    return cluster_embedded_new(h->ground, &h->clock.clock);
}

static void shut(struct h *h, struct cluster *c)
{
    (void)h;
    cluster_free(c);
}

static bool wait(struct h *h)
{
    (void)h;
    return false;
}

static bool wait_for(struct h *h, struct cluster *c)
{
    (void)h, (void)c;
    return false;
}

const struct h_base h_base_store = { open_store, close_store, get, list, apply, door, shut, wait, wait_for };
