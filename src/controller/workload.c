/* workload.c - PodGroups for pods that name our scheduler and belong to no Job */
#include "controller/controller.h"

#include "api/meta.h"
#include "api/pod/resources.h"
#include "api/types.h"
#include "base/util.h"

#define MIN_MEMBER_KEY "scheduling.volcano.sh/group-min-member"
#define QUEUE_KEY      "scheduling.volcano.sh/queue-name"

/* What controllers say about their pods, by kind. */
static const struct owner_kind {
    const char *api_version, *kind;
    const char *size; /* member of spec: how many pods it wants; NULL: that is not up to it */
    bool can_shrink;  /* to nothing, and it goes on from there */
} owner_kinds[] = {
    { "apps/v1", "ReplicaSet", "replicas", true },
    { "apps/v1", "StatefulSet", "replicas", true },
    { "v1", "ReplicationController", "replicas", true },
    { "batch/v1", "Job", "parallelism", false }, /* its group stays with the pods that have finished */
    { "apps/v1", "DaemonSet", NULL, false },
};

static const struct owner_kind *workload_kind_of(const struct json *ref)
{
    for (size_t i = 0; i < ARRAY_LEN(owner_kinds); i++)
        if (str_is(json_member_text(ref, "kind"), owner_kinds[i].kind) &&
            str_is(json_member_text(ref, "apiVersion"), owner_kinds[i].api_version))
            return &owner_kinds[i];
    return NULL;
}

bool workload_wants_owner(const struct json *ref)
{
    return workload_kind_of(ref);
}

bool workload_can_shrink(const struct json *ref)
{
    const struct owner_kind *k = workload_kind_of(ref);

    return k && k->can_shrink;
}

struct str workload_group_name(struct arena *a, struct str uid)
{
    return arena_fmt(a, "podgroup-%.*s", STR_ARG(uid));
}

/* How many pods it wants; -1: it does not say. Kubernetes' default is 1. */
static int64_t workload_size_of(const struct json *owner)
{
    const struct owner_kind *k = owner ? workload_kind_of(owner) : NULL;

    return k && k->size ? json_i64(json_get(json_get(owner, "spec"), k->size), 1) : -1;
}

static int64_t min_member_of(const struct json *owner)
{
    struct str text = object_annotation(owner, MIN_MEMBER_KEY);
    int64_t min, size = workload_size_of(owner);

    if (str_to_i64(text, &min) < 0 || min < 1 || min > INT32_MAX)
        return 1;
    return size > 0 ? MIN_OF(min, size) : min;
}

static struct json *min_resources_of(struct arena *a, const struct json *pod, int64_t n)
{
    struct resources one, all = { 0 };

    pod_quota_usage(a, json_get(pod, "spec"), &one);
    resources_add_times(a, &all, &one, n);
    return resources_to_json(a, &all);
}

/* ---- what is inherited ---- */

static void copy_annotation(struct arena *a, struct json *group, const struct json *pod, const char *key)
{
    struct str value = object_annotation(pod, key);

    if (value.n)
        object_set_annotation(a, group, key, arena_str(a, value));
}

static void inherit_annotations(struct arena *a, struct json *group, const struct json *owner, const struct json *pod)
{
    static const char *const keys[] = { "volcano.sh/preemptable", "volcano.sh/cooldown-time",
                                        "volcano.sh/revocable-zone" };

    JSON_FOREACH(note, json_find(owner, "metadata", "annotations", NULL))
        if (str_starts(json_key(note), STR("volcano.sh/")) && json_is(note, JSON_STRING))
            object_set_annotation(a, group, arena_cstr(a, json_key(note)), arena_str(a, json_text(note, STR(""))));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        copy_annotation(a, group, pod, keys[i]);
    if (object_annotation(pod, "volcano.sh/jdb-min-available").n)
        copy_annotation(a, group, pod, "volcano.sh/jdb-min-available");
    else
        copy_annotation(a, group, pod, "volcano.sh/jdb-max-unavailable");
}

static void inherit_labels(struct arena *a, struct json *group, const struct json *pod)
{
    static const char *const keys[] = { "volcano.sh/preemptable", "volcano.sh/cooldown-time" };

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct str value = object_label(pod, keys[i]);

        if (value.n)
            object_set_label(a, group, keys[i], arena_str(a, value));
    }
}

/* A controller goes, and its group with it; so does that of a pod that has none. */
static void set_owner(struct arena *a, struct json *group, const struct json *pod)
{
    const struct json *refs = json_find(pod, "metadata", "ownerReferences", NULL);

    if (object_controller_uid(pod).n)
        json_set(json_get(group, "metadata"), "ownerReferences", json_copy(a, refs));
    else
        object_set_controller(a, group, pod);
}

static struct json *topology_of(struct arena *a, const struct json *pod)
{
    struct str mode = object_annotation(pod, "volcano.sh/network-topology-mode");
    struct str tier = object_annotation(pod, "volcano.sh/network-topology-highest-tier");
    struct json *topology = json_object(a);
    int64_t n;

    if (!mode.n && !tier.n)
        return NULL;
    json_add(topology, STR("mode"), json_str(a, str_is(mode, "soft") ? STR("soft") : STR("hard")));
    if (str_to_i64(tier, &n) == 0 && n >= 0)
        json_add(topology, STR("highestTierAllowed"), json_int(a, n));
    return topology;
}

static struct json *group_new(struct arena *a, const struct workload_observed *o)
{
    const struct json *pod = o->pods[0];
    struct json *group = object_new(a, "scheduling.volcano.sh/v1beta1", "PodGroup", o->namespace,
                                    workload_group_name(a, o->uid));
    struct str priority = json_member_text(json_get(pod, "spec"), "priorityClassName");
    struct str queue = object_annotation(pod, QUEUE_KEY);
    struct json *spec, *topology = topology_of(a, pod);
    int64_t min = min_member_of(o->owner);

    inherit_annotations(a, group, o->owner, pod);
    inherit_labels(a, group, pod);
    set_owner(a, group, pod);
    spec = json_add(group, STR("spec"), json_object(a));
    json_add(spec, STR("minMember"), json_int(a, min));
    json_add(spec, STR("minResources"), min_resources_of(a, pod, min));
    if (queue.n) /* else admission has its say: the namespace's, or "default" */
        json_add(spec, STR("queue"), json_str(a, arena_str(a, queue)));
    if (priority.n)
        json_add(spec, STR("priorityClassName"), json_str(a, arena_str(a, priority)));
    if (topology)
        json_add(spec, STR("networkTopology"), topology);
    json_set(json_add(group, STR("status"), json_object(a)), "phase", json_str(a, STR("Pending")));
    return group;
}

/* ---- the plan ---- */

static const struct resource_type *group_type(void)
{
    return type_by_kind(STR("scheduling.volcano.sh/v1beta1"), STR("PodGroup"));
}

/* The controller may ask for another gang, or have another size, than when the group was made. */
static void follow_owner(const struct workload_observed *o, struct plan *plan)
{
    struct arena *a = plan->arena;
    int64_t min = min_member_of(o->owner);
    struct json *patch, *spec;

    if (!o->owner || json_i64(json_get(json_get(o->group, "spec"), "minMember"), 0) == min)
        return;
    patch = json_object(a);
    spec = json_add(patch, STR("spec"), json_object(a));
    json_add(spec, STR("minMember"), json_int(a, min));
    json_add(spec, STR("minResources"), min_resources_of(a, o->pods[0], min));
    plan_patch(plan, (struct object_id){ group_type(), o->namespace, object_name(o->group), object_uid(o->group) },
               patch);
}

static void join_group(const struct workload_observed *o, const struct json *pod, struct plan *plan)
{
    struct arena *a = plan->arena;
    struct json *patch = json_object(a);

    if (object_annotation(pod, GROUP_NAME_KEY).n)
        return;
    object_set_annotation(a, patch, GROUP_NAME_KEY, workload_group_name(a, o->uid));
    plan_patch(plan,
               (struct object_id){ type_by_kind(STR("v1"), STR("Pod")), o->namespace, arena_str(a, object_name(pod)),
                                   arena_str(a, object_uid(pod)) },
               patch);
}

void workload_plan(const struct workload_observed *o, struct plan *plan)
{
    if (o->group && json_find(o->group, "metadata", "deletionTimestamp", NULL))
        return; /* after its deletion there may be another */
    if (o->n_pods && !o->group)
        plan_create(plan, group_type(), group_new(plan->arena, o));
    else if (o->n_pods)
        follow_owner(o, plan);
    for (size_t i = 0; i < o->n_pods; i++)
        join_group(o, o->pods[i], plan);
    if (!o->n_all && o->group && workload_size_of(o->owner) == 0)
        plan_delete(plan,
                    (struct object_id){ group_type(), o->namespace, object_name(o->group), object_uid(o->group) });
}
