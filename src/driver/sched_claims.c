/* sched_claims.c - write the chosen node to claims that wait for their first consumer, or the claim to a volume
 *
 * A provisioner waits for the annotation selected-node on a claim. It binds the claim to a volume, or removes the
 * annotation if it cannot make a volume there.
 *
 * An existing volume gets the claim's name and uid as its claimRef, if its revision is still the one we saw. The
 * cluster's own controller then binds the claim to it. The claimRef stays even if the pod is not bound: as with
 * Kubernetes' own scheduler the volume belongs to the claim from then on, and the next try goes to the same node.
 */
#include "driver/driver_internal.h"

#include "api/meta.h"
#include "base/util.h"

struct claims_look {
    struct driver *d;
    const struct claims_of_pod *pod;
    enum claims_state state;
    struct plan *plan;
};

static void tell_node(struct claims_look *l, const struct object *claim)
{
    struct arena *a = l->plan->arena;
    struct json *patch = json_object(a);

    object_set_annotation(a, patch, SELECTED_NODE_KEY, arena_str(a, l->pod->node));
    plan_patch(
        l->plan,
        (struct object_id){ claim->type, l->pod->namespace, arena_str(a, claim->name), arena_str(a, claim->uid) },
        patch);
}

/* The annotation says that the scheduler chose this volume, not the user: its claimRef goes with the claim. */
static void tell_volume(struct claims_look *l, const struct object *claim, const struct sched_known *volume,
                        bool is_reserved)
{
    struct arena *a = l->plan->arena;
    struct json *patch = json_object(a), *ref = json_object(a), *meta = json_need_object(a, patch, "metadata");

    if (!is_reserved)
        object_set_annotation(a, patch, "pv.kubernetes.io/bound-by-controller", STR("yes"));
    json_add(meta, STR("resourceVersion"), json_fmt(a, "%llu", (unsigned long long)volume->rev));
    json_add(ref, STR("apiVersion"), json_str(a, STR("v1")));
    json_add(ref, STR("kind"), json_str(a, STR("PersistentVolumeClaim")));
    json_add(ref, STR("namespace"), json_str(a, arena_str(a, claim->namespace)));
    json_add(ref, STR("name"), json_str(a, arena_str(a, claim->name)));
    json_add(ref, STR("uid"), json_str(a, arena_str(a, claim->uid)));
    json_add(ref, STR("resourceVersion"), json_fmt(a, "%llu", (unsigned long long)claim->rev));
    json_add(json_add(patch, STR("spec"), json_object(a)), STR("claimRef"), ref);
    plan_patch(
        l->plan,
        (struct object_id){ known_types()->volume, STR_NULL, arena_str(a, volume->name), arena_str(a, volume->uid) },
        patch);
}

/* Annotate it, unless that was done; a provisioner that removed the annotation has failed. */
static enum claims_state claim_state(struct claims_look *l, const struct object *o, const struct sched_claim *claim)
{
    const struct sched_known *volume =
        claim->volume.n ? sched_feed_find(l->d, known_types()->volume, STR_NULL, claim->volume, STR_NULL) : NULL;

    if (claim->is_named || (!claim->volume.n && str_eq(object_annotation(o->root, SELECTED_NODE_KEY), l->pod->node)))
        return CLAIMS_WAIT;
    if (l->pod->are_told || claim->is_lost || (claim->volume.n && !volume))
        return CLAIMS_LOST;
    if (volume)
        tell_volume(l, o, volume, claim->is_reserved);
    else
        tell_node(l, o);
    return CLAIMS_WAIT;
}

static void look_at_claim(void *ctx, const struct sched_claim *claim)
{
    struct claims_look *l = ctx;
    const struct object *o = cache_find(&l->d->cache, known_types()->claim, l->pod->namespace, claim->name);

    if (!o || json_member_text(json_get(o->root, "spec"), "volumeName").n)
        return;
    l->state = MAX_OF(l->state, claim_state(l, o, claim));
}

enum claims_state sched_claims_plan(struct driver *d, const struct claims_of_pod *pod, struct plan *plan)
{
    struct claims_look l = { d, pod, CLAIMS_FINE, plan };

    sched_claims(d->schedule.sched, pod->uid, look_at_claim, &l);
    if (l.state == CLAIMS_LOST)
        plan->ops.n = 0; /* the pod may go elsewhere */
    return l.state;
}
