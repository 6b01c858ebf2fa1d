/* podgroup.c - the first phase of a PodGroup */
#include "controller/controller.h"
#include "controller/controller_internal.h"

#include "api/meta.h"
#include "api/types.h"

void podgroup_plan(const struct json *group, struct plan *plan)
{
    struct arena *a = plan->arena;
    const struct json *meta = json_get(group, "metadata");
    struct json *patch, *status;

    if (json_member_text(json_get(group, "status"), "phase").n || json_get(meta, "deletionTimestamp"))
        return;
    patch = json_object(a);
    status = json_add(patch, STR("status"), json_object(a));
    json_add(status, STR("phase"), json_str(a, STR("Pending")));
    patch_expect(a, patch, meta); /* the scheduler may have given it a phase meanwhile */
    plan_patch(plan, object_id_of(type_by_kind(object_api_version(group), object_kind(group)), group), patch);
}
