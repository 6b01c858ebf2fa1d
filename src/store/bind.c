/* bind.c - what a binding does to a pod
 *
 * A binding is a patch like others, but the server makes it: it can be sent once only, so that two schedulers, or one
 * that repeats itself, never move a pod.
 */
#include "store/store_internal.h"

#include "api/meta.h"
#include "api/name.h"
#include "api/pod/status.h"
#include "base/clock.h"
#include "base/util.h"
#include "json/patch.h"

static int bind_refuse(struct str name, struct err *e, const char *why, struct str what)
{
    return err_set(e, ERR_CONFLICT, "Operation cannot be fulfilled on pods/binding \"%.*s\": %s%s%.*s", STR_ARG(name),
                   why, what.n ? " " : "", STR_ARG(what));
}

static int bind_check_pod(const struct object *pod, const struct json *binding, struct err *e)
{
    struct str node = json_member_text(json_get(pod->root, "spec"), "nodeName");
    struct str uid = json_member_text(json_get(binding, "metadata"), "uid");

    if (uid.n && !str_eq(uid, pod->uid))
        return bind_refuse(pod->name, e, "precondition failed: its uid is", pod->uid);
    if (json_find(pod->root, "metadata", "deletionTimestamp", NULL))
        return bind_refuse(pod->name, e, "it is being deleted, cannot be assigned to a host", STR_NULL);
    if (node.n)
        return bind_refuse(pod->name, e, "it is already assigned to node", node);
    if (json_count(json_find(pod->root, "spec", "schedulingGates", NULL)))
        return bind_refuse(pod->name, e, "it has scheduling gates", STR_NULL);
    return 0;
}

static int target_of(struct arena *a, const struct json *binding, struct str *ret, struct err *e)
{
    const struct json *target = json_get(binding, "target");
    struct str kind = json_member_text(target, "kind"), name = json_member_text(target, "name");
    const char *wrong;

    if (kind.n && !str_is(kind, "Node") && !str_is(kind, "Minion"))
        return err_set(e, ERR_INVALID, "target.kind: must be Node");
    if (!name.n)
        return err_set(e, ERR_INVALID, "target.name: is required");
    wrong = name_check_path_segment(a, name);
    if (wrong || name.n > STORE_NAME_MAX)
        return err_set(e, ERR_INVALID, "target.name: %s", wrong ? wrong : "is too long");
    *ret = name;
    return 0;
}

/* PodScheduled=True; what a refusal left there before goes. */
static struct json *scheduled(struct arena *a, const struct json *pod, int64_t now_ms)
{
    struct json *status = json_object(a), *list = json_add(status, STR("conditions"), json_array(a));
    struct json *c = json_push(list, json_object(a));
    const struct json *generation = json_find(pod, "metadata", "generation", NULL);
    autobuf now = { 0 };

    json_add(c, STR("type"), json_str(a, STR("PodScheduled")));
    json_add(c, STR("status"), json_str(a, STR("True")));
    if (generation)
        json_add(c, STR("observedGeneration"), json_int(a, json_i64(generation, 0)));
    json_add(c, STR("reason"), json_null(a));
    json_add(c, STR("message"), json_null(a));
    clock_print(&now, now_ms);
    if (!condition_is_true(json_get(pod, "status"), "PodScheduled"))
        json_add(c, STR("lastTransitionTime"), json_str(a, arena_str(a, buf_view(&now))));
    return status;
}

struct json *rules_bind(struct arena *a, const struct object *old, const struct json *binding, int64_t now_ms,
                        struct err *e)
{
    const struct json *annotations = json_find(binding, "metadata", "annotations", NULL);
    struct json *patch = json_object(a), *part;
    struct str node = STR_NULL;

    if (target_of(a, binding, &node, e) < 0 || bind_check_pod(old, binding, e) < 0)
        return NULL;
    part = json_add(patch, STR("spec"), json_object(a));
    json_add(part, STR("nodeName"), json_str(a, node));
    if (json_count(annotations)) {
        part = json_add(patch, STR("metadata"), json_object(a));
        json_add(part, STR("annotations"), json_copy(a, annotations));
    }
    json_add(patch, STR("status"), scheduled(a, old->root, now_ms));
    return json_strategic_patch(a, old->type->schema, old->root, patch, e);
}
