/* admission_runtime.c - RuntimeClasses, and what a pod that names one gets of it: overhead, a selector of nodes, tolerations
 *
 * The words are those of Kubernetes' admission plugin RuntimeClass.
 */
#include "server/server_internal.h"

#include "api/name.h"

static const struct object *runtime_class_of(const struct server *s, const struct json *spec)
{
    struct str name = json_member_text(spec, "runtimeClassName");

    return name.n ? store_get(s->opt.store, type_by_kind(STR("node.k8s.io/v1"), STR("RuntimeClass")), STR_NULL, name)
                  : NULL;
}

static int runtime_set_overhead(struct arena *a, struct json *spec, const struct json *class, struct err *e)
{
    const struct json *fixed = json_find(class, "overhead", "podFixed", NULL), *own = json_get(spec, "overhead");

    if (!fixed)
        return json_count(own) ? err_set(e, ERR_FORBIDDEN,
                                         "pod rejected: Pod Overhead set without corresponding RuntimeClass defined "
                                         "Overhead")
                               : 0;
    if (json_count(own) && !json_equal(own, fixed)) /* both as amounts_canonical() writes them */
        return err_set(e, ERR_FORBIDDEN, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
    json_set(spec, "overhead", json_copy(a, fixed));
    return 0;
}

static int runtime_set_selector(struct arena *a, struct json *spec, const struct json *wanted, struct err *e)
{
    struct json *own = json_count(wanted) ? json_need_object(a, spec, "nodeSelector") : NULL;

    JSON_FOREACH(label, own ? wanted : NULL) {
        struct str key = json_key(label), value = json_text(label, STR_NULL);
        const struct json *has = json_get_str(own, key);

        if (has && !str_eq(json_text(has, STR_NULL), value))
            return err_set(e, ERR_FORBIDDEN,
                           "conflict: runtimeClass.scheduling.nodeSelector[%.*s] = %.*s; pod.spec.nodeSelector[%.*s] = "
                           "%.*s",
                           STR_ARG(key), STR_ARG(value), STR_ARG(key), STR_ARG(json_text(has, STR_NULL)));
        if (!has)
            json_set_key(own, key, json_copy(a, label));
    }
    return 0;
}

static void runtime_add_tolerations(struct arena *a, struct json *spec, const struct json *wanted)
{
    struct json *own = json_count(wanted) ? json_need_array(a, spec, "tolerations") : NULL;

    JSON_FOREACH(toleration, own ? wanted : NULL) {
        bool is_there = false;

        JSON_FOREACH(has, own)
            is_there |= json_equal(has, toleration);
        if (!is_there)
            json_push(own, json_copy(a, toleration));
    }
}

int admit_pod_runtime(const struct server *s, struct arena *a, struct json *pod, struct err *e)
{
    struct json *spec = json_get(pod, "spec");
    struct str name = json_member_text(spec, "runtimeClassName");
    const struct object *class = runtime_class_of(s, spec);
    const struct json *scheduling = class ? json_get(class->root, "scheduling") : NULL;

    if (!json_is(spec, JSON_OBJECT))
        return 0;
    if (name.n && !class)
        return err_set(e, ERR_FORBIDDEN, "pod rejected: RuntimeClass \"%.*s\" not found", STR_ARG(name));
    if (runtime_set_overhead(a, spec, class ? class->root : NULL, e) < 0 ||
        runtime_set_selector(a, spec, json_get(scheduling, "nodeSelector"), e) < 0)
        return -1;
    runtime_add_tolerations(a, spec, json_get(scheduling, "tolerations"));
    return 0;
}

void admit_runtime_class_write(struct server_request *rq, struct json *object, const struct object *old,
                               struct problems *ps)
{
    struct place root = { .node = object }, handler = place_member(&root, "handler");
    struct str name = json_text(handler.node, STR_NULL);
    const char *wrong = name.n ? name_check_dns_label(rq->arena, name) : NULL;

    amounts_canonical(rq->arena, object, "overhead.podFixed");
    check_plain(rq, object, NULL, ps);
    if (wrong)
        problem_error(ps, &handler, "%s", wrong);
    if (old && !str_eq(name, json_member_text(old->root, "handler")))
        problem_error(ps, &handler, "field is immutable");
}
