/* pod.c - subresources of pods: log, exec, attach, portforward, binding, eviction */
#include "server/server_internal.h"

#include "api/pod/container.h"
#include "api/schema/schemas.h"
#include "kubelet/kubelet.h"
#include "node/agent/agent.h"

/* ---- what runs on this machine ---- */

static int pod_of(struct server_request *rq, const struct object **ret)
{
    *ret = store_get(rq->server->opt.store, rq->type, rq->target.namespace, rq->target.name);
    return *ret ? 0 : fail_not_found(rq, rq->type, rq->target.name);
}

/* "a b c" */
static struct str container_names(struct arena *a, const struct json *list)
{
    autobuf out = { 0 };

    JSON_FOREACH(c, list)
        buf_fmt(&out, "%s%.*s", out.n ? " " : "", STR_ARG(json_member_text(c, "name")));
    return arena_str(a, buf_view(&out));
}

/* The one that is named, the one that the pod itself names, or the only one. */
static int pod_container_of(struct server_request *rq, const struct json *pod, struct str *ret)
{
    const struct json *list = json_find(pod, "spec", "containers", NULL);

    *ret = STR_NULL;
    (void)param(rq, "container", ret);
    if (!ret->n)
        *ret = object_annotation(pod, "kubectl.kubernetes.io/default-container");
    if (!ret->n && json_count(list) == 1)
        *ret = json_member_text(json_at(list, 0), "name");
    if (!ret->n)
        return fail_with(rq, REASON_BAD_REQUEST,
                         "a container name must be specified for pod %.*s, choose one of: [%.*s]",
                         STR_ARG(object_name(pod)), STR_ARG(container_names(rq->arena, list)));
    if (!container_named(json_get(pod, "spec"), *ret))
        return fail_with(rq, REASON_BAD_REQUEST, "container %.*s is not valid for pod %.*s", STR_ARG(*ret),
                         STR_ARG(object_name(pod)));
    return 0;
}

int need_kubelet(struct server_request *rq, struct kubelet **ret)
{
    struct store_stats stats;

    *ret = rq->server->opt.kubelet;
    if (!*ret)
        return fail_with(rq, REASON_UNAVAILABLE, "this server runs no pods");
    if (!store_is_cut(rq->server->opt.store))
        return 0;
    store_stats(rq->server->opt.store, &stats); /* the node rests: it knows of no pod */
    return fail_with(rq, REASON_UNAVAILABLE, "pods keep running but cannot be reached until the store is repaired: %s",
                     stats.failure->text);
}

static int hand_over(struct server_request *rq, enum kubelet_action what)
{
    const struct object *pod;
    struct kubelet *kubelet;
    struct agent_place place = { rq->target.namespace, rq->target.name, STR_NULL };

    if (pod_of(rq, &pod) < 0 || (what != KUBELET_FORWARD && pod_container_of(rq, pod->root, &place.container) < 0))
        return -1;
    if (what != KUBELET_LOGS && access_enter(rq, pod) < 0)
        return -1;
    if (!json_member_text(json_get(pod->root, "spec"), "nodeName").n)
        return fail_with(rq, REASON_BAD_REQUEST, "pod %.*s does not have a host assigned", STR_ARG(pod->name));
    if (need_kubelet(rq, &kubelet) < 0)
        return -1;
    access_hold(rq);
    rq->is_answered = true;
    kubelet_take(kubelet, rq->call, what, &place);
    return 0;
}

/* Numbers of a log, with the words of the API for those that are wrong. */
static int check_log(struct server_request *rq)
{
    static const struct {
        const char *name;
        int64_t least;
    } numbers[] = { { "tailLines", 0 }, { "limitBytes", 1 }, { "sinceSeconds", 1 } };
    struct str seconds, time;

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        int64_t n;

        if (param_number(rq, numbers[i].name, numbers[i].least, &n) < 0)
            return -1;
        if (n < numbers[i].least)
            return fail_field(rq, "FieldValueInvalid", numbers[i].name,
                              "Invalid value: %lld: must be greater than or equal to %lld", (long long)n,
                              (long long)numbers[i].least);
    }
    if (param(rq, "sinceSeconds", &seconds) && seconds.n && param(rq, "sinceTime", &time) && time.n)
        return fail_field(rq, "FieldValueForbidden", "sinceSeconds",
                          "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified");
    return 0;
}

/* The right to see them is by the name of the pod, so they are of a pod that has this name, or had it last. */
static int handle_records(struct server_request *rq)
{
    struct agent_place place = { rq->target.namespace, rq->target.name, STR_NULL };
    const struct object *pod = store_get(rq->server->opt.store, rq->type, place.namespace, place.pod);
    struct str uid = STR_NULL;
    struct kubelet *k;

    (void)param(rq, "uid", &uid);
    if (need_kubelet(rq, &k) < 0)
        return -1;
    if (!(pod && str_eq(uid, pod->uid)) && !kubelet_knew(k, &place, uid))
        return fail_not_found(rq, rq->type, place.pod);
    access_hold(rq);
    rq->is_answered = true;
    kubelet_take(k, rq->call, KUBELET_RECORDS, &place);
    return 0;
}

int handle_log(struct server_request *rq)
{
    struct str records;

    if (param(rq, "records", &records) && str_is(records, "true"))
        return handle_records(rq);
    return check_log(rq) < 0 ? -1 : hand_over(rq, KUBELET_LOGS);
}

int handle_exec(struct server_request *rq)
{
    return hand_over(rq, KUBELET_EXEC);
}

int handle_attach(struct server_request *rq)
{
    return hand_over(rq, KUBELET_ATTACH);
}

int handle_portforward(struct server_request *rq)
{
    return hand_over(rq, KUBELET_FORWARD);
}

/* What acts on a pod is of this kind, and names none, or the one of the URL. */
static int check_named(struct server_request *rq, const struct json *body, const char *kind)
{
    struct str name = object_name(body), namespace = object_namespace(body);

    if (object_kind(body).n && !str_is(object_kind(body), kind))
        return fail_with(rq, REASON_BAD_REQUEST, "%.*s in version \"%.*s\" cannot be handled as a %s",
                         STR_ARG(str_sub(object_kind(body), 0, 63)), STR_ARG(str_sub(object_api_version(body), 0, 63)),
                         kind);
    if (rq->target.name.n && name.n && !str_eq(name, rq->target.name))
        return fail_with(rq, REASON_BAD_REQUEST, "name in URL does not match name in %s object", kind);
    if (namespace.n && !str_eq(namespace, rq->target.namespace))
        return fail_with(rq, REASON_BAD_REQUEST, "namespace in URL does not match namespace in %s object", kind);
    return 0;
}

/* ---- binding ---- as pods/NAME/binding, or as an object of its own ---- */

int handle_binding(struct server_request *rq)
{
    struct store *store = rq->server->opt.store;
    struct str name = rq->target.name;
    struct json *body;
    struct err e;
    int rc;

    if (body_any(rq, body_types, &schema_binding, &body) < 0)
        return -1;
    if (!name.n)
        name = object_name(body);
    if (!json_is(body, JSON_OBJECT) || !name.n)
        return fail_with(rq, REASON_BAD_REQUEST, "the body must be a Binding that names its pod");
    if (check_named(rq, body, "Binding") < 0)
        return -1;
    store_set_dry(store, rq->is_dry);
    rc = store_apply(store,
                     &(struct op){ .kind = OP_BIND,
                                   .type = type_by_kind(STR("v1"), STR("Pod")),
                                   .namespace = rq->target.namespace,
                                   .name = name,
                                   .uid = json_member_text(json_get(body, "metadata"), "uid"),
                                   .body = body },
                     NULL, &e);
    store_set_dry(store, false);
    if (rc < 0)
        return fail_err(rq, &e);
    reply_json(rq, 201, status_success(rq, 201));
    return 0;
}

/* ---- eviction ---- a delete that asks the budgets ---- */

struct budget_search {
    const struct server *server;
    const struct json *pod;
    const struct object *blocking;
    struct arena *arena;
};

static void look_at_budget(void *ctx, const struct object *o)
{
    struct budget_search *b = ctx;
    struct selector *sel;
    struct err e;

    if (b->blocking || selector_from_json(b->arena, json_find(o->root, "spec", "selector", NULL), &sel, &e) < 0 ||
        !selector_matches(sel, json_find(b->pod, "metadata", "labels", NULL)))
        return;
    if (!budget_allows(b->server, o))
        b->blocking = o;
}

int handle_eviction(struct server_request *rq)
{
    const struct resource_type *budgets = type_by_kind(STR("policy/v1"), STR("PodDisruptionBudget"));
    struct store_delete_options opt = { .grace_s = -1, .propagation = PROPAGATE_BACKGROUND };
    const struct object *pod;
    struct budget_search search = { .server = rq->server, .arena = rq->arena };
    autounref struct object *last = NULL;
    struct json *body;

    if (body_any(rq, body_types, &schema_eviction, &body) < 0 || check_named(rq, body, "Eviction") < 0 ||
        pod_of(rq, &pod) < 0)
        return -1;
    if (json_get(body, "deleteOptions") && delete_options(rq, json_get(body, "deleteOptions"), &opt) < 0)
        return -1;
    search.pod = pod->root;
    if (!pod_has_ended(pod->root))
        store_list(rq->server->opt.store, budgets, pod->namespace, look_at_budget, &search);
    if (search.blocking) {
        fail_with(rq, REASON_TOO_MANY, "Cannot evict pod as it would violate the pod's disruption budget.");
        fail_cause(rq, "DisruptionBudget", STR_NULL,
                   arena_fmt(rq->arena, "The disruption budget %.*s does not allow any more disruptions now",
                             STR_ARG(search.blocking->name)));
        return -1;
    }
    if (delete_one(rq, pod, &opt, &last) < 0)
        return -1;
    reply_json(rq, 201, status_success(rq, 201));
    return 0;
}
