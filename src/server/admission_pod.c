/* admission_pod.c - pods as Kubernetes completes them, and what of them may change */
#include "server/server_internal.h"

#include "api/pod/container.h"
#include "api/pod/qos.h"
#include "api/schema/schemas.h"
#include "image/reference.h"

enum { GRACE_S = 30 };

/* ---- defaults ---- */

static void default_object(struct arena *a, struct json *j, const char *key)
{
    if (json_is(j, JSON_OBJECT) && !json_get(j, key))
        json_set(j, key, json_object(a));
}

static void default_int(struct arena *a, struct json *j, const char *key, int64_t value)
{
    if (json_is(j, JSON_OBJECT) && !json_get(j, key))
        json_set(j, key, json_int(a, value));
}

static void default_probe(struct arena *a, struct json *probe)
{
    if (!json_is(probe, JSON_OBJECT))
        return;
    default_int(a, probe, "timeoutSeconds", 1);
    default_int(a, probe, "periodSeconds", 10);
    default_int(a, probe, "successThreshold", 1);
    default_int(a, probe, "failureThreshold", 3);
    default_member(a, json_get(probe, "httpGet"), "path", "/");
    default_member(a, json_get(probe, "httpGet"), "scheme", "HTTP");
}

/* Requests are the limits by default. */
static void default_requests(struct arena *a, struct json *resources)
{
    struct json *requests;

    if (!json_count(json_get(resources, "limits")) || !(requests = json_need_object(a, resources, "requests")))
        return;
    json_add_missing(a, requests, json_get(resources, "limits"));
}

static void default_container(struct arena *a, struct json *c)
{
    static const char *const probes[] = { "livenessProbe", "readinessProbe", "startupProbe" };

    if (!json_is(c, JSON_OBJECT))
        return;
    default_object(a, c, "resources");
    default_requests(a, json_get(c, "resources"));
    default_member(a, c, "terminationMessagePath", "/dev/termination-log");
    default_member(a, c, "terminationMessagePolicy", "File");
    /* What has no tag, or :latest, may be another one tomorrow. */
    default_member(a, c, "imagePullPolicy",
                   reference_is_latest(json_member_text(c, "image")) ? "Always" : "IfNotPresent");
    JSON_FOREACH(port, json_get(c, "ports"))
        default_member(a, port, "protocol", "TCP");
    for (size_t i = 0; i < ARRAY_LEN(probes); i++)
        default_probe(a, json_get(c, probes[i]));
}

/* Of several the lowest, as Kubernetes has it. */
static void take_default_class(void *ctx, const struct object *o)
{
    const struct object **best = ctx;

    if (json_bool(json_get(o->root, "globalDefault"), false) &&
        (!*best || json_i64(json_get(o->root, "value"), 0) < json_i64(json_get((*best)->root, "value"), 0)))
        *best = o;
}

static void default_priority(const struct server *s, struct arena *a, struct json *spec)
{
    const struct resource_type *type = type_by_kind(STR("scheduling.k8s.io/v1"), STR("PriorityClass"));
    struct str name = json_member_text(spec, "priorityClassName");
    const struct object *class = name.n ? store_get(s->opt.store, type, STR_NULL, name) : NULL;
    struct str policy;

    if (!name.n && !json_get(spec, "priority"))
        store_list(s->opt.store, type, STR_NULL, take_default_class, &class);
    if (class && json_get(class->root, "value"))
        json_set(spec, "priority", json_int(a, json_i64(json_get(class->root, "value"), 0)));
    else
        default_int(a, spec, "priority", 0);
    if (class && !name.n)
        json_set(spec, "priorityClassName", json_str(a, arena_str(a, class->name)));
    policy = class ? json_member_text(class->root, "preemptionPolicy") : STR_NULL;
    default_member(a, spec, "preemptionPolicy", policy.n ? arena_cstr(a, policy) : "PreemptLowerPriority");
}

/* There is one scheduler here, and it does the work of Kubernetes' own as well. */
static void default_scheduler(const struct server *s, struct arena *a, struct json *spec)
{
    struct str name = json_member_text(spec, "schedulerName");

    if (!name.n || str_is(name, "default-scheduler"))
        json_set(spec, "schedulerName", json_str(a, s->opt.scheduler_name));
}

static void tolerate(struct arena *a, struct json *list, const char *key)
{
    struct json *j;

    JSON_FOREACH(t, list)
        if (str_is(json_member_text(t, "key"), key) ||
            (!json_member_text(t, "key").n && !json_member_text(t, "effect").n))
            return;
    j = json_push(list, json_object(a));
    json_add(j, STR("key"), json_str(a, str_of(key)));
    json_add(j, STR("operator"), json_str(a, STR("Exists")));
    json_add(j, STR("effect"), json_str(a, STR("NoExecute")));
    json_add(j, STR("tolerationSeconds"), json_int(a, 300));
}

/* A node that is away for a moment takes no pod with it. */
static void default_tolerations(struct arena *a, struct json *spec)
{
    struct json *list = json_need_array(a, spec, "tolerations");

    if (!list)
        return;
    tolerate(a, list, "node.kubernetes.io/not-ready");
    tolerate(a, list, "node.kubernetes.io/unreachable");
}

static void default_volume(struct arena *a, struct json *volume)
{
    static const char *const files[] = { "configMap", "secret", "downwardAPI", "projected" };

    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        default_int(a, json_get(volume, files[i]), "defaultMode", 0644);
}

static void pod_defaults(const struct server *s, struct arena *a, struct json *spec)
{
    static const char *const amounts[] = { "initContainers.*.resources.requests",
                                           "initContainers.*.resources.limits",
                                           "containers.*.resources.requests",
                                           "containers.*.resources.limits",
                                           "resources.requests",
                                           "resources.limits",
                                           "overhead" };

    if (!json_is(spec, JSON_OBJECT))
        return;
    default_member(a, spec, "restartPolicy", "Always");
    default_member(a, spec, "dnsPolicy", "ClusterFirst");
    default_int(a, spec, "terminationGracePeriodSeconds", GRACE_S);
    default_object(a, spec, "securityContext");
    default_member(a, spec, "serviceAccountName", "default");
    if (!json_get(spec, "enableServiceLinks"))
        json_set(spec, "enableServiceLinks", json_bool_new(a, true));
    default_scheduler(s, a, spec);
    default_priority(s, a, spec);
    default_tolerations(a, spec);
    CONTAINER_FOREACH(c, spec)
        default_container(a, c);
    JSON_FOREACH(volume, json_get(spec, "volumes"))
        default_volume(a, volume);
    for (size_t i = 0; i < ARRAY_LEN(amounts); i++)
        amounts_canonical(a, spec, amounts[i]);
}

/* The status that is known at once: its QoS class, and whether scheduling gates hold it back. */
static void set_status(struct arena *a, struct json *pod)
{
    struct json *status = json_set(pod, "status", json_object(a)), *gated;

    json_set(status, "qosClass", json_str(a, str_of(pod_qos(json_get(pod, "spec")))));
    if (!json_count(json_find(pod, "spec", "schedulingGates", NULL)))
        return;
    gated = json_push(json_set(status, "conditions", json_array(a)), json_object(a));
    json_add(gated, STR("type"), json_str(a, STR("PodScheduled")));
    json_add(gated, STR("observedGeneration"), json_int(a, 1)); /* it is new */
    json_add(gated, STR("status"), json_str(a, STR("False")));
    json_add(gated, STR("reason"), json_str(a, STR("SchedulingGated")));
    json_add(gated, STR("message"), json_str(a, STR("Scheduling is blocked due to non-empty scheduling gates")));
}

/* ---- changes ---- images, a shorter deadline, more tolerations; all else stays ---- */

/* A deadline may be set, or come sooner. */
static bool is_sooner(const struct json *old, const struct json *new)
{
    return new && (!old || json_i64(new, 0) <= json_i64(old, 0));
}

static bool is_grace_cured(const struct json *old, const struct json *new)
{
    return json_i64(old, 0) < 0 && json_i64(new, 0) == 1;
}

/* One text for equal items. */
static struct str item_text(struct arena *a, const struct json *item)
{
    struct json *sorted = json_copy(a, item);
    autobuf text = { 0 };

    json_sort_keys(sorted, true);
    json_print(&text, sorted);
    return arena_str(a, buf_view(&text));
}

static bool has_all(const struct json *old, const struct json *new)
{
    autoarena a = { 0 };
    struct map have;
    bool is_whole = true;

    map_init(&have, map_seed_default());
    JSON_FOREACH(item, new)
        (void)map_add(&have, &a, item_text(&a, item)); /* twice is fine */
    JSON_FOREACH(item, old)
        is_whole = is_whole && map_get(&have, item_text(&a, item));
    map_done(&have);
    return is_whole;
}

/* The pod as it was, with what may change as it is wished. */
static struct json *allowed_change(struct arena *a, const struct json *old, const struct json *new)
{
    static const char *const lists[] = { "initContainers", "containers" };
    static const struct {
        const char *name;
        bool (*may)(const struct json *old, const struct json *new);
    } fields[] = { { "activeDeadlineSeconds", is_sooner },
                   { "tolerations", has_all },
                   { "terminationGracePeriodSeconds", is_grace_cured } };
    struct json *spec = json_copy(a, old);

    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct json *to = json_first(json_get(spec, lists[i])), *from = json_first(json_get(new, lists[i]));

        for (; to && from; to = to->next, from = from->next)
            if (json_get(from, "image"))
                json_set(to, "image", json_copy(a, json_get(from, "image")));
    }
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const struct json *wish = json_get(new, fields[i].name);

        if (wish && fields[i].may(json_get(old, fields[i].name), wish))
            json_set(spec, fields[i].name, json_copy(a, wish));
    }
    if (json_count(json_get(new, "schedulingGates")) < json_count(json_get(old, "schedulingGates"))) {
        json_remove(spec, "schedulingGates");
        if (json_get(new, "schedulingGates"))
            json_set(spec, "schedulingGates", json_copy(a, json_get(new, "schedulingGates")));
    }
    return spec;
}

static size_t count_named(const struct json *spec, struct str name)
{
    size_t n = 0;

    CONTAINER_FOREACH(c, spec)
        n += str_eq(json_member_text(c, "name"), name);
    return n;
}

static void check_ephemeral(const struct json *spec, const struct place *list, struct problems *ps)
{
    size_t i = 0;

    JSON_FOREACH(c, list->node) {
        struct place at = place_item(list, c, i++), name = place_member(&at, "name"),
                     image = place_member(&at, "image");

        schema_check(&schema_ephemeral_container, &at, ps);
        if (count_named(spec, json_text(name.node, STR_NULL)) > 1)
            problem_of(ps, PROBLEM_DUPLICATE, &name, "must be unique among all containers of the pod");
        if (!json_text(image.node, STR_NULL).n)
            problem_of(ps, PROBLEM_REQUIRED, &image, "is required");
    }
}

/* That of a pod which something in this process made may be missing. */
static struct json *spec_copy(struct arena *a, const struct json *pod)
{
    const struct json *spec = json_get(pod, "spec");

    return json_is(spec, JSON_OBJECT) ? json_copy(a, spec) : json_object(a);
}

/* kubectl debug: containers are added to a pod that runs, and nothing else changes. */
static void add_ephemeral(struct server_request *rq, struct json *pod, const struct object *old, struct problems *ps)
{
    struct place root = { .node = pod }, spec = place_member(&root, "spec"),
                 list = place_member(&spec, "ephemeralContainers");
    const struct json *before = json_find(old->root, "spec", "ephemeralContainers", NULL);
    struct json *whole = spec_copy(rq->arena, old->root);

    if (!has_all(before, list.node))
        problem_of(ps, PROBLEM_FORBIDDEN, &list, "existing ephemeral containers may not be removed or changed");
    if (list.node)
        json_set(whole, "ephemeralContainers", json_copy(rq->arena, list.node));
    check_ephemeral(whole, &list, ps);
    json_set(pod, "spec", whole);
}

/* Kubernetes starts such a container again with the other image; here it goes on, so that must be said. */
static void warn_of_images(struct server_request *rq, const struct json *before, const struct json *after)
{
    if (!json_member_text(before, "nodeName").n)
        return; /* it has not begun */
    CONTAINER_FOREACH(c, before)
        CONTAINER_FOREACH(d, after)
            if (str_eq(json_member_text(c, "name"), json_member_text(d, "name")) &&
                !str_eq(json_member_text(c, "image"), json_member_text(d, "image")))
                warn(rq, "container %.*s goes on with the image it was started from: delete the pod and create another",
                     STR_ARG(json_member_text(c, "name")));
}

/* Pods that something in this process made may lack defaults: the two are compared with theirs. A spec that says the
 * same stays as it was stored, and is not asked again. */
static void check_change(struct server_request *rq, struct json *pod, const struct object *old, struct problems *ps)
{
    struct place root = { .node = pod }, spec = place_member(&root, "spec");
    struct json *before = spec_copy(rq->arena, old->root);

    pod_defaults(rq->server, rq->arena, before);
    if (json_is(spec.node, JSON_OBJECT) && json_equal(spec.node, before)) {
        json_set(pod, "spec", spec_copy(rq->arena, old->root));
        check_plain(rq, pod, NULL, ps);
        return;
    }
    warn_of_images(rq, before, spec.node);
    if (json_is(spec.node, JSON_OBJECT) && json_equal(spec.node, allowed_change(rq->arena, before, spec.node)))
        admit_pod_check(&root, false, ps);
    else
        problem_of(ps, PROBLEM_FORBIDDEN, &spec,
                   "pod updates may not change fields other than `spec.containers[*].image`, "
                   "`spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, `spec.tolerations` (only additions "
                   "to existing tolerations), `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it "
                   "was previously negative)");
}

/* A client that writes its file again does not know where the pod is. */
static void keep_node(struct arena *a, struct json *spec, const struct object *old)
{
    const struct json *node = json_find(old->root, "spec", "nodeName", NULL);

    if (node && json_is(spec, JSON_OBJECT) && !json_member_text(spec, "nodeName").n)
        json_set(spec, "nodeName", json_copy(a, node));
}

/* 'asked': the number that the client wrote, NULL: none. A pod's priority is that of its class. */
static int check_priority(struct server_request *rq, const struct json *pod, const struct json *asked)
{
    const struct resource_type *type = type_by_kind(STR("scheduling.k8s.io/v1"), STR("PriorityClass"));
    struct str name = json_member_text(json_get(pod, "spec"), "priorityClassName");
    int64_t is = json_i64(json_find(pod, "spec", "priority", NULL), 0);
    bool is_known = !name.n || store_get(rq->server->opt.store, type, STR_NULL, name);

    if (is_known && (!asked || json_i64(asked, 0) == is))
        return 0;
    if (is_known)
        return fail_with(rq, REASON_FORBIDDEN,
                         "pods \"%.*s\" is forbidden: the integer value of priority (%lld) must not be provided in pod "
                         "spec; priority admission controller computed %lld from the given PriorityClass name",
                         STR_ARG(rq->failure.name), (long long)json_i64(asked, 0), (long long)is);
    return fail_with(rq, REASON_FORBIDDEN, "pods \"%.*s\" is forbidden: no PriorityClass with name %.*s was found",
                     STR_ARG(rq->failure.name), STR_ARG(name));
}

void admit_pod_write(struct server_request *rq, struct json *pod, const struct object *old, struct problems *ps)
{
    struct place root = { .node = pod };
    const struct json *priority = old ? NULL : json_find(pod, "spec", "priority", NULL);
    struct err e;

    if (priority) {
        priority = json_copy(rq->arena, priority);
        json_remove(json_get(pod, "spec"), "priority");
    }
    pod_defaults(rq->server, rq->arena, json_get(pod, "spec"));
    admit_pod_token(rq->server, rq->arena, pod, old);
    admit_pod_pull_secrets(rq->server, rq->arena, pod, old);
    if (old && str_is(rq->target.subresource, "ephemeralcontainers")) {
        add_ephemeral(rq, pod, old, ps);
    } else if (old && str_is(rq->target.subresource, "resize")) {
        struct json *before = spec_copy(rq->arena, old->root);

        pod_defaults(rq->server, rq->arena, before);
        admit_pod_resize(rq, pod, before, old, ps);
    } else if (old) {
        keep_node(rq->arena, json_get(pod, "spec"), old);
        check_change(rq, pod, old, ps);
    } else {
        limits_default(rq->server, rq->arena, pod);
        (void)admission_shared(rq, ADMISSION_DEFAULT, pod, NULL, ps);
        set_status(rq->arena, pod);
        admit_pod_check(&root, rq->is_clean, ps);
        /* Errors of the pod itself are reported first. admission_write() reports what these checks refuse. */
        if (!ps->n_errors && admit_pod_runtime(rq->server, rq->arena, pod, &e) < 0)
            (void)fail_with(rq, REASON_FORBIDDEN, "pods \"%.*s\" is forbidden: %s", STR_ARG(rq->failure.name), e.text);
        else if (!ps->n_errors && check_priority(rq, pod, priority) == 0)
            (void)admit_pod_account(rq, pod);
    }
    (void)admission_shared(rq, ADMISSION_WRITE, pod, old, ps);
}

int server_complete(void *server, struct arena *a, const struct resource_type *type, struct json *body, struct err *e)
{
    struct admit_env env = admission_env(server, STR_NULL);

    if (!type->group[0] && strcmp(type->kind, "Pod") == 0) {
        pod_defaults(server, a, json_get(body, "spec"));
        if (admit_pod_runtime(server, a, body, e) < 0)
            return -1;
        limits_default(server, a, body);
        admit_pod_token(server, a, body, NULL);
        admit_pod_pull_secrets(server, a, body, NULL);
        (void)admission_admit(ADMISSION_DEFAULT, type->group, type->kind,
                              &(struct admission_call){ .arena = a, .object = body, .env = &env });
        set_status(a, body);
    }
    if (type == type_by_kind(STR("batch.volcano.sh/v1alpha1"), STR("Job")) && access_made(server, a, body, e) < 0)
        return -1;
    if (!type->group[0] && strcmp(type->kind, "Service") == 0) {
        service_address(server, a, json_get(body, "spec"));
        service_defaults(a, json_get(body, "spec"));
    }
    return limits_admit(server, type, body, e) < 0 ? -1 : quota_admit(server, type, body, NULL, e);
}
