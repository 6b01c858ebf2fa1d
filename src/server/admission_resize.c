/* admission_resize.c - pods/resize: other amounts of CPU and memory for the containers of a pod, and nothing else
 *
 * The words are those of Kubernetes' ValidatePodResize. Whether the node has room is its own question: it answers in the
 * pod's status (node/agent/agent_resize.c).
 */
#include "server/server_internal.h"

#include "api/pod/qos.h"
#include "api/pod/resources.h"

static const char *const resize_lists[] = { "initContainers", "containers" };
static const char *const resize_amounts[] = { "requests", "limits" };

static bool resize_keeps_containers(const struct place *spec, const struct json *before, struct problems *ps)
{
    size_t n_errors = ps->n_errors;

    for (size_t k = 0; k < ARRAY_LEN(resize_lists); k++) {
        struct place list = place_member(spec, resize_lists[k]);
        const struct json *old = json_get(before, resize_lists[k]);
        size_t i = 0;

        if (json_count(list.node) != json_count(old)) {
            problem_of(ps, PROBLEM_FORBIDDEN, &list, "%s may not be added or removed on resize", resize_lists[k]);
            continue;
        }
        JSON_FOREACH(c, list.node) {
            struct place at = place_item(&list, c, i), name = place_member(&at, "name");

            if (!str_eq(json_text(name.node, STR_NULL), json_member_text(json_at(old, i++), "name")))
                problem_of(ps, PROBLEM_FORBIDDEN, &name, "%s may not be renamed or reordered on resize",
                           resize_lists[k]);
        }
    }
    return ps->n_errors == n_errors;
}

static void resize_check_amounts(const struct place *amounts, const struct json *before, const char *what,
                                 const struct place *spec, struct problems *ps)
{
    bool is_removed = false, is_other = false;

    JSON_FOREACH(q, before)
        is_removed |= !json_get_str(amounts->node, json_key(q));
    JSON_FOREACH(q, amounts->node) {
        const struct json *old = json_get_str(before, json_key(q));
        bool may_change = str_is(json_key(q), "cpu") || str_is(json_key(q), "memory");

        is_other |= !may_change && !(old && json_equal(q, old));
    }
    if (is_removed)
        problem_of(ps, PROBLEM_FORBIDDEN, amounts, "resource %s cannot be removed", what);
    if (is_other)
        problem_of(ps, PROBLEM_FORBIDDEN, spec, "only cpu and memory resources are mutable");
}

/* Init containers that end before the others start have what they have. */
static void resize_check_container(const struct place *c, const struct json *before, bool is_init,
                                   const struct place *spec, struct problems *ps)
{
    struct place resources = place_member(c, "resources");
    const struct json *old = json_get(before, "resources");

    if (is_init && !str_is(json_member_text(before, "restartPolicy"), "Always")) {
        if (!resources_same(resources.node, old))
            problem_of(ps, PROBLEM_FORBIDDEN, spec, "resources for non-sidecar init containers are immutable");
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(resize_amounts); i++) {
        struct place amounts = place_member(&resources, resize_amounts[i]);

        resize_check_amounts(&amounts, json_get(old, resize_amounts[i]), resize_amounts[i], spec, ps);
    }
}

/* The pod as it was, with the amounts that are wished; who wrote it, and which one he knows, as the request says. */
static void resize_take(struct arena *a, struct json *pod, struct json *whole, const struct object *old)
{
    static const char *const kept[] = { "resourceVersion", "managedFields" };
    struct json *meta = json_copy(a, json_get(old->root, "metadata"));

    for (size_t k = 0; k < ARRAY_LEN(resize_lists); k++) {
        size_t i = 0;

        JSON_FOREACH(c, json_get(whole, resize_lists[k])) {
            const struct json *wish = json_get(json_at(json_find(pod, "spec", resize_lists[k], NULL), i++),
                                               "resources");

            if (wish)
                json_set(c, "resources", json_copy(a, wish));
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        const struct json *own = json_find(pod, "metadata", kept[i], NULL);

        json_remove(meta, kept[i]);
        if (own)
            json_set(meta, kept[i], json_copy(a, own));
    }
    json_set(pod, "metadata", meta);
    json_set(pod, "spec", whole);
}

void admit_pod_resize(struct server_request *rq, struct json *pod, struct json *before, const struct object *old,
                      struct problems *ps)
{
    struct place root = { .node = pod }, spec = place_member(&root, "spec");

    if (json_count(json_get(spec.node, "resources")) || json_count(json_get(before, "resources"))) {
        problem_of(ps, PROBLEM_FORBIDDEN, &spec, "resize of pods with pod-level resources is forbidden");
        return;
    }
    if (!resize_keeps_containers(&spec, before, ps))
        return;
    for (size_t k = 0; k < ARRAY_LEN(resize_lists); k++) {
        struct place list = place_member(&spec, resize_lists[k]);
        size_t i = 0;

        JSON_FOREACH(c, list.node) {
            struct place at = place_item(&list, c, i);

            resize_check_container(&at, json_at(json_get(before, resize_lists[k]), i++), k == 0, &spec, ps);
        }
    }
    resize_take(rq->arena, pod, before, old);
    spec = place_member(&root, "spec");
    if (strcmp(pod_qos(spec.node), pod_qos(json_get(old->root, "spec"))) != 0)
        problem_error(ps, &spec, "Pod QOS Class may not change as a result of resizing");
    admit_pod_check(&root, false, ps);
}
