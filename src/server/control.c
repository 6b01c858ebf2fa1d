/* control.c - observe, plan, apply: what the planners of controller/control_plane.h see, and what comes of their plans */
#include "server/server_internal.h"

#include "base/log.h"

struct control_list {
    struct arena *arena;
    VEC(const struct json *) roots;
};

static void control_list_add(void *ctx, const struct object *o)
{
    struct control_list *l = ctx;

    *vec_push(l->arena, &l->roots) = o->root;
}

const struct json **control_list(const struct server *s, struct arena *a, const struct resource_type *type,
                                 struct str namespace, size_t *ret_n)
{
    struct control_list l = { .arena = a };

    store_list(s->opt.store, type, namespace, control_list_add, &l);
    *ret_n = l.roots.n;
    return l.roots.v;
}

struct control_observing {
    struct arena *arena;
    VEC(struct observed_object) objects;
};

static void control_observe_one(void *ctx, const struct object *o)
{
    struct control_observing *c = ctx;

    *vec_push(c->arena, &c->objects) = (struct observed_object){ o->type, o->root };
}

struct observed_objects control_observe_kind(const struct server *s, struct arena *a, const struct resource_type *type,
                                             struct str namespace)
{
    struct control_observing c = { .arena = a };

    store_list(s->opt.store, type, namespace, control_observe_one, &c);
    return (struct observed_objects){ c.objects.v, c.objects.n };
}

struct observed_objects control_observe(const struct server *s, struct arena *a, struct str namespace,
                                        bool (*wants)(const void *ctx, const struct resource_type *t), const void *ctx)
{
    struct control_observing c = { .arena = a };

    for (size_t i = 0; i < n_type_rows; i++) {
        const struct resource_type *t = type_at(i);

        if (t && t->scope == SCOPE_NAMESPACED && t->use == TYPE_STORED && wants(ctx, t))
            store_list(s->opt.store, t, namespace, control_observe_one, &c);
    }
    return (struct observed_objects){ c.objects.v, c.objects.n };
}

/* Somebody else was first: the planner looks again. */
static bool control_was_late(const struct err *e)
{
    return e->code == ERR_CONFLICT || e->code == ERR_EXISTS || e->code == ERR_NOT_FOUND;
}

static void control_log_failure(const struct server *s, const struct op *op, const struct err *e)
{
    struct store_stats stats;

    store_stats(s->opt.store, &stats);
    if (stats.failure || control_was_late(e)) /* a store that fails has said so */
        return;
    log_warn("Control plane write failed", LOG_STR("kind", str_of(op->type->kind)), LOG_STR("namespace", op->namespace),
             LOG_STR("name", op->name), LOG_TEXT("error", e->text));
}

void control_own(struct plan *plan)
{
    VEC_FOREACH(op, &plan->ops)
        op->body = json_clone(plan->arena, op->body);
}

int control_apply(struct server *s, struct plan *plan)
{
    struct err e;
    int rc = 0;

    control_own(plan);
    VEC_FOREACH(op, &plan->ops)
        if (store_apply(s->opt.store, op, NULL, &e) < 0) {
            control_log_failure(s, op, &e);
            rc = -1;
        }
    return rc;
}
