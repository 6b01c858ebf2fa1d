/* gc.c - the owner garbage collector: dependents follow their owners
 *
 * Each object is looked at by itself. What its owners' state asks of it is a table; what an object in deletion waits
 * for is another.
 */
#include "controller/controller.h"
#include "controller/controller_internal.h"

#include "api/types.h"
#include "base/util.h"

/* ---- owners ---- */

/* What an owner is to its dependent */
enum tie {
    TIE_HOLDS,   /* the owner exists, or that is unknown: the dependent stays */
    TIE_GONE,    /* it is not there */
    TIE_WAITS,   /* foreground deletion: it waits for the dependent to go */
    TIE_ORPHANS, /* it goes and leaves the dependent behind */
    TIE_MAX,
};

static const struct {
    bool keeps; /* the object lives while it has one of these */
    bool drops; /* the reference goes, provided that the object lives */
} ties[TIE_MAX] = {
    [TIE_HOLDS] = { true, false },
    [TIE_GONE] = { false, true },
    [TIE_WAITS] = { false, true },
    [TIE_ORPHANS] = { true, true },
};

static enum tie tie_of(const struct gc_owner *owner)
{
    if (!owner->is_known)
        return TIE_HOLDS;
    if (!owner->exists)
        return TIE_GONE;
    if (owner->is_deleting && owner->orphans) /* before the other: leaving something behind can be put right later */
        return TIE_ORPHANS;
    if (owner->is_deleting && owner->waits_for_dependents)
        return TIE_WAITS;
    return TIE_HOLDS;
}

static size_t count_ties(const struct gc_observed *o, enum tie tie)
{
    size_t n = 0;

    for (size_t i = 0; i < o->n_owners; i++)
        n += tie_of(&o->owners[i]) == tie;
    return n;
}

/* ---- writes ---- */

/* Replace a list of metadata by 'list', provided that the object is still the one we saw: a merge patch replaces lists
 * whole, so an entry that another client added would be lost. */
static void plan_list(const struct gc_observed *o, const char *key, struct json *list, struct plan *plan)
{
    struct arena *a = plan->arena;
    struct json *patch = json_object(a), *meta = json_add(patch, STR("metadata"), json_object(a));

    json_add(meta, str_of(key), json_count(list) ? list : json_null(a));
    patch_expect(a, patch, o->meta);
    plan_patch(plan, (struct object_id){ o->type, o->namespace, o->name, o->uid }, patch);
}

static void drop_finalizer(const struct gc_observed *o, const char *name, struct plan *plan)
{
    struct json *left = json_array(plan->arena);

    JSON_FOREACH(finalizer, json_get(o->meta, "finalizers"))
        if (!str_is(json_text(finalizer, STR_NULL), name))
            json_push(left, json_copy(plan->arena, finalizer));
    plan_list(o, "finalizers", left, plan);
}

/* 'which': a bit for each tie whose references go. */
static void drop_references(const struct gc_observed *o, unsigned which, struct plan *plan)
{
    struct json *left = json_array(plan->arena);
    size_t i = 0;

    JSON_FOREACH(ref, json_get(o->meta, "ownerReferences"))
        if (!(which >> tie_of(&o->owners[i++]) & 1))
            json_push(left, json_copy(plan->arena, ref));
    if (json_count(left) < o->n_owners)
        plan_list(o, "ownerReferences", left, plan);
}

/* Its owners need not wait for it. False: none did. */
static bool unblock_owners(const struct gc_observed *o, struct plan *plan)
{
    struct json *refs = json_array(plan->arena);
    bool did = false;

    JSON_FOREACH(ref, json_get(o->meta, "ownerReferences")) {
        struct json *copy = json_push(refs, json_copy(plan->arena, ref));

        if (!json_bool(json_get(ref, "blockOwnerDeletion"), false))
            continue;
        json_set(copy, "blockOwnerDeletion", json_bool_new(plan->arena, false));
        did = true;
    }
    if (did)
        plan_list(o, "ownerReferences", refs, plan);
    return did;
}

static enum propagation propagation_of(const struct gc_observed *o)
{
    if (o->has_orphan)
        return PROPAGATE_ORPHAN;
    /* An owner that waits for us waits for ours too. */
    if (o->has_foreground || (o->n_dependents && count_ties(o, TIE_WAITS)))
        return PROPAGATE_FOREGROUND;
    return PROPAGATE_BACKGROUND;
}

/* ---- the rules ---- */

static void plan_deleting(const struct gc_observed *o, struct plan *plan)
{
    if (o->has_orphan && o->n_dependents == 0)
        drop_finalizer(o, "orphan", plan);
    else if (!o->has_orphan && o->has_foreground && o->n_blocking == 0)
        drop_finalizer(o, "foregroundDeletion", plan);
    else if (!o->is_in_circle ||
             !unblock_owners(o, plan)) /* it may take long to go; an owner that orphans need not wait for it */
        drop_references(o, 1u << TIE_ORPHANS, plan);
}

/* With its revision: another client may have given it a new owner meanwhile. */
static void delete_object(const struct gc_observed *o, struct plan *plan)
{
    struct op *op = plan_delete(plan, (struct object_id){ o->type, o->namespace, o->name, o->uid });

    op->propagation = propagation_of(o);
    (void)str_to_u64(json_member_text(o->meta, "resourceVersion"), &op->rev); /* none: whatever is there */
}

static void plan_living(const struct gc_observed *o, struct plan *plan)
{
    unsigned drops = 0;
    bool is_kept = false;

    for (enum tie tie = 0; tie < TIE_MAX; tie++) {
        is_kept |= ties[tie].keeps && count_ties(o, tie);
        drops |= (unsigned)ties[tie].drops << tie;
    }
    if (is_kept)
        drop_references(o, drops, plan);
    else if (!o->is_in_circle || !unblock_owners(o, plan)) /* it is looked at again when they are unblocked */
        delete_object(o, plan);
}

void gc_plan(const struct gc_observed *o, struct plan *plan)
{
    bool is_event = str_is(STR("Event"), o->type->kind); /* Events outlive what they are about */

    if (is_event || json_count(json_get(o->meta, "ownerReferences")) != o->n_owners)
        return;
    if (o->is_deleting)
        plan_deleting(o, plan);
    else if (o->n_owners)
        plan_living(o, plan);
}
