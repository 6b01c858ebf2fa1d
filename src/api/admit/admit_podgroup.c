/* admit_podgroup.c - PodGroups: defaults and rules */
#include "api/admit/admit_internal.h"

#include "api/meta.h"
#include "api/schema/schemas.h"

/* The namespace may name a queue for what does not choose one itself. */
static void redirect_queue(struct arena *a, const struct json *pg, struct json *spec, const struct admit_env *env)
{
    const struct json *space;
    struct str queue;

    if (!env->find_namespace || !str_is(json_member_text(spec, "queue"), "default"))
        return;
    space = env->find_namespace(env->ctx, object_namespace(pg));
    queue = space ? object_annotation(space, "scheduling.volcano.sh/queue-name") : STR_NULL;
    if (queue.n)
        json_mark(json_set(spec, "queue", json_str(a, arena_str(a, queue))), env->mark);
}

static void podgroup_defaults(struct arena *a, struct json *pg, const struct admit_env *env)
{
    struct json *meta = json_get(pg, "metadata"), *spec = json_get(pg, "spec");

    if (json_is(meta, JSON_OBJECT))
        default_text(a, meta, "namespace", env->namespace.n ? env->namespace : STR("default"), env->mark);
    if (!json_is(pg, JSON_OBJECT))
        return;
    if (!is_set(spec))
        spec = json_mark(json_set(pg, "spec", json_object(a)), env->mark);
    if (!json_is(spec, JSON_OBJECT))
        return;
    default_text(a, spec, "queue", STR("default"), env->mark);
    redirect_queue(a, pg, spec, env);
    default_topology(a, json_get(spec, "networkTopology"), env->mark);
    if (json_is(json_get(spec, "subGroupPolicy"), JSON_ARRAY))
        JSON_FOREACH(policy, json_get(spec, "subGroupPolicy"))
            default_topology(a, json_get(policy, "networkTopology"), env->mark);
}

static void check_sub_group(struct check *c, const struct place *policy)
{
    struct place topology = place_object(policy, "networkTopology"), selector = place_object(policy, "labelSelector");
    struct place keys = place_member(policy, "matchLabelKeys");

    check_topology(c, &topology, json_member_text(policy->node, "name"));
    label_selector_rules(c, &selector);
    if (!is_set(keys.node) || (keys.node->type == JSON_ARRAY && keys.node->n == 0))
        check_warn(c, &keys, "is empty: the policy catches no pods; name the labels that tell the sub-groups apart");
}

void admit_podgroup(struct arena *a, struct json *pg, const struct json *old, const struct admit_env *env,
                    struct problems *ps)
{
    struct place root = { .node = pg }, spec, queue, topology, policies;
    size_t start = ps->list.n;
    struct check c;

    if (!old)
        podgroup_defaults(a, pg, env);
    schema_check(&schema_podgroup, &root, ps);
    meta_check(&root, NULL, true, ps);
    if (old) /* upstream never looks at updates; a queue that was closed must not hold up a status */
        return;
    c = check_begin(ps, start);
    spec = place_object(&root, "spec");
    queue = place_member(&spec, "queue");
    topology = place_object(&spec, "networkTopology");
    policies = place_list(&spec, "subGroupPolicy");
    check_queue_open(&c, &queue, env, false);
    check_topology(&c, &topology, STR_NULL);
    PLACE_FOREACH(policy, &policies)
        if (json_is(policy.node, JSON_OBJECT))
            check_sub_group(&c, &policy);
}
