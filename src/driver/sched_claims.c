/* sched_claims.c - volumes that are made where their pod goes: their claims are told the node
 *
 * The annotation selected-node on a claim is what whoever makes volumes waits for. He binds the claim to a volume, or
 * takes the annotation off again if he cannot make one there.
 */
#include "driver/driver_internal.h"

#include "api/meta.h"
#include "base/util.h"

struct look {
    struct driver *d;
    struct str namespace, node;
    bool was_told;
    enum claims_state state;
    struct plan *plan;
};

static void tell_node(struct look *l, const struct object *claim)
{
    struct arena *a = l->plan->arena;
    struct json *patch = json_object(a);

    object_set_annotation(a, patch, SELECTED_NODE_KEY, arena_str(a, l->node));
    plan_patch(l->plan, claim->type, l->namespace, arena_str(a, claim->name), arena_str(a, claim->uid), patch);
}

static void look_at_claim(void *ctx, struct str name)
{
    struct look *l = ctx;
    const struct object *o = cache_find(&l->d->cache, known_types()->claim, l->namespace, name);
    bool is_told = o && str_eq(object_annotation(o->root, SELECTED_NODE_KEY), l->node);

    if (!o || json_member_text(json_get(o->root, "spec"), "volumeName").n)
        return;
    if (is_told) {
        l->state = MAX_OF(l->state, CLAIMS_WAIT);
    } else if (l->was_told) {
        l->state = CLAIMS_LOST;
    } else {
        tell_node(l, o);
        l->state = MAX_OF(l->state, CLAIMS_WAIT);
    }
}

enum claims_state sched_claims_plan(struct driver *d, struct str namespace, struct str pod_uid, struct str node,
                                    bool *is_told, struct plan *plan)
{
    struct look l = { d, namespace, node, *is_told, CLAIMS_FINE, plan };

    sched_claims(d->schedule.sched, pod_uid, look_at_claim, &l);
    if (l.state == CLAIMS_LOST)
        plan->ops.n = 0; /* the pod may go elsewhere */
    *is_told = l.state == CLAIMS_WAIT;
    return l.state;
}
