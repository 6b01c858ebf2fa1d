/* control.c - the control loop: observe, plan, apply, for each controller in turn
 *
 * The planners are in controller/control_plane.h. They share these lists of stored objects, the writes of a plan, and the
 * statuses that follow from the objects.
 */
#include "server/server_internal.h"

#include "base/log.h"

enum { TELL_MS = 100 };

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

static void control_log_failure(const struct server *s, const struct op *op, const struct err *e)
{
    bool was_late = e->code == ERR_CONFLICT || e->code == ERR_EXISTS || e->code == ERR_NOT_FOUND;
    struct store_stats stats;

    store_stats(s->opt.store, &stats);
    if (stats.failure || was_late) /* a store that fails has said so; a late planner looks again */
        return;
    log_warn("Control plane write failed", LOG_STR("kind", str_of(op->type->kind)), LOG_STR("namespace", op->namespace),
             LOG_STR("name", op->name), LOG_TEXT("error", e->text));
}

void control_own(struct plan *plan)
{
    VEC_FOREACH(op, &plan->ops) {
        op->body = json_clone(plan->arena, op->body);
        op->namespace = arena_str(plan->arena, op->namespace);
        op->name = arena_str(plan->arena, op->name);
    }
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

/* ---- statuses that are worked out from the whole store ---- */

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

/* ---- all of them ---- */

/* In this order: kinds first, whose objects are in namespaces. turn: milliseconds until it is due again even if nothing
 * happens. */
static const struct {
    void (*begin)(struct server *s);
    int64_t (*turn)(struct server *s);
    void (*done)(struct server *s);
} controls[] = {
    { NULL, events_turn, NULL },
    { customs_begin, customs_turn, customs_done },
    { namespaces_begin, namespaces_turn, namespaces_done },
    { NULL, quotas_turn, NULL },
    { NULL, budgets_turn, NULL },
    { endpoints_begin, endpoints_turn, endpoints_done },
    { NULL, orphans_turn, orphans_done },
    { NULL, taints_turn, taints_done },
};

void control_begin(struct server *s)
{
    for (size_t i = 0; i < ARRAY_LEN(controls); i++)
        if (controls[i].begin)
            controls[i].begin(s);
}

int64_t control_turn(struct server *s)
{
    int64_t due_ms = INT64_MAX;

    for (size_t i = 0; i < ARRAY_LEN(controls); i++)
        if (controls[i].turn)
            due_ms = MIN_OF(due_ms, controls[i].turn(s));
    return due_ms;
}

void control_done(struct server *s)
{
    for (size_t i = 0; i < ARRAY_LEN(controls); i++)
        if (controls[i].done)
            controls[i].done(s);
}
