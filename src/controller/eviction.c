/* eviction.c - pods that must leave their node: NoExecute taints; nodes that were deleted */
#include "controller/control_plane.h"

#include "api/meta.h"
#include "api/pod/status.h"
#include "api/pod/taint.h"
#include "api/types.h"
#include "base/clock.h"
#include "base/util.h"

enum { ORPHAN_MS = 40 * 1000 };

static const struct resource_type *pod_type(void)
{
    return type_by_kind(STR("v1"), STR("Pod"));
}

static bool eviction_is_deleting(const struct json *pod)
{
    return json_find(pod, "metadata", "deletionTimestamp", NULL);
}

/* ---- NoExecute taints ---- */

static void plan_taint_event(const struct json *pod, const char *what, struct plan *plan)
{
    struct op *op = plan_event_normal(plan, pod, "TaintManagerEviction", "%s Pod %.*s/%.*s", what,
                                      STR_ARG(object_namespace(pod)), STR_ARG(object_name(pod)));

    plan_event_from(plan, op, STR("taint-eviction-controller"), STR_NULL);
}

static struct json *taint_condition(struct arena *a, const struct json *pod, int64_t now_ms)
{
    struct json *c = json_object(a);
    autobuf now = { 0 };

    clock_print(&now, now_ms);
    json_add(c, STR("type"), json_str(a, STR("DisruptionTarget")));
    json_add(c, STR("observedGeneration"), json_int(a, json_i64(json_find(pod, "metadata", "generation", NULL), 0)));
    json_add(c, STR("status"), json_str(a, STR("True")));
    json_add(c, STR("reason"), json_str(a, STR("DeletionByTaintManager")));
    json_add(c, STR("message"), json_str(a, STR("Taint manager: deleting due to NoExecute taint")));
    json_add(c, STR("lastTransitionTime"), json_str(a, arena_str(a, buf_view(&now))));
    return c;
}

static void plan_taint_eviction(const struct json *pod, struct plan *plan)
{
    struct object_id id = object_id_of(pod_type(), pod);
    struct json *status = json_object(plan->arena);

    plan_taint_event(pod, "Marking for deletion", plan);
    json_push(json_set(status, "conditions", json_array(plan->arena)), taint_condition(plan->arena, pod, plan->now_ms));
    plan_patch_status(plan, id, status);
    plan_delete(plan, id);
}

bool taint_plan(const struct taint_observed *o, struct plan *plan)
{
    int64_t seconds, left_ms;

    if (eviction_is_deleting(o->pod) || pod_has_ended(o->pod))
        return false;
    seconds = taint_tolerated_s(o->taints, json_find(o->pod, "spec", "tolerations", NULL));
    if (seconds == INT64_MAX)
        return false;
    left_ms = MIN_OF(MAX_OF(seconds, 0), INT32_MAX) * 1000 - o->together_ms;
    if (seconds > 0 && left_ms > 0)
        plan_wake(plan, plan->now_ms + left_ms);
    else
        plan_taint_eviction(o->pod, plan);
    return seconds > 0;
}

void taint_cancel_plan(const struct json *pod, struct plan *plan)
{
    if (pod && !eviction_is_deleting(pod))
        plan_taint_event(pod, "Cancelling deletion of", plan);
}

/* ---- nodes that were deleted ---- */

void orphan_plan(const struct json *pod, int64_t missing_ms, struct plan *plan)
{
    if (missing_ms >= ORPHAN_MS)
        plan_delete(plan, object_id_of(pod_type(), pod))->grace_s = 0;
}
