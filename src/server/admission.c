/* admission.c - defaults and rules of what is written, by kind
 *
 * The rules are those of `pumice validate` (api/admit/admit.h, job/admit.h); all problems are reported at once. What
 * the server itself adds is here: what belongs to every namespace, pods as Kubernetes completes them, names of classes.
 */
#include "server/server_internal.h"

#include "api/name.h"
#include "api/quantity.h"
#include "api/schema/schemas.h"
#include "api/selector.h"

/* ---- what admissions ask about the cluster ---- */

static const struct resource_type *queue_type(void)
{
    return type_by_kind(STR("scheduling.volcano.sh/v1beta1"), STR("Queue"));
}

static const struct json *admission_find_queue(void *ctx, struct str name)
{
    const struct server *s = ctx;
    const struct object *o = store_get(s->opt.store, queue_type(), STR_NULL, name);

    return o ? o->root : NULL;
}

struct queue_walk {
    void (*each)(void *arg, const struct json *queue);
    void *arg;
};

static void walk_queue(void *ctx, const struct object *o)
{
    const struct queue_walk *w = ctx;

    w->each(w->arg, o->root);
}

static void admission_each_queue(void *ctx, void (*each)(void *arg, const struct json *queue), void *arg)
{
    struct queue_walk w = { .each = each, .arg = arg };

    store_list(((const struct server *)ctx)->opt.store, queue_type(), STR_NULL, walk_queue, &w);
}

static const struct json *find_namespace(void *ctx, struct str name)
{
    const struct server *s = ctx;
    const struct object *o = store_get(s->opt.store, type_by_kind(STR("v1"), STR("Namespace")), STR_NULL, name);

    return o ? o->root : NULL;
}

struct admit_env admission_env(struct server *s, struct str namespace)
{
    return (struct admit_env){ .ctx = s,
                               .find_queue = admission_find_queue,
                               .each_queue = admission_each_queue,
                               .find_namespace = find_namespace,
                               .scheduler_name = s->opt.scheduler_name,
                               .namespace = namespace };
}

/* ---- Volcano's kinds ---- */

static void keep_creator(struct server_request *rq, struct json *job, const struct object *old)
{
    struct str who = old ? object_annotation(old->root, JOB_CREATOR_ANNOTATION) : rq->caller.who.user;

    if (who.n)
        object_set_annotation(rq->arena, job, JOB_CREATOR_ANNOTATION, who);
    else
        json_remove(json_find(job, "metadata", "annotations", NULL), JOB_CREATOR_ANNOTATION);
}

bool admission_shared(struct server_request *rq, enum admission_operation operation, struct json *object,
                      const struct object *old, struct problems *ps)
{
    struct admit_env env = admission_env(rq->server, rq->target.namespace);
    struct admission_call call = {
        .arena = rq->arena, .object = object, .old = old ? old->root : NULL, .env = &env, .problems = ps
    };

    env.is_clean = rq->is_clean;
    return admission_admit(operation, rq->type->group, rq->type->kind, &call);
}

static void admit_job_write(struct server_request *rq, struct json *object, const struct object *old,
                            struct problems *ps)
{
    (void)admission_shared(rq, ADMISSION_WRITE, object, old, ps);
    keep_creator(rq, object, old);
}

/* ---- Kubernetes' own ---- */

void check_plain(const struct server_request *rq, struct json *object,
                 const char *(*name_check)(struct arena *, struct str), struct problems *ps)
{
    struct place root = { .node = object };

    if (rq->type->schema && !rq->is_clean)
        schema_check(rq->type->schema, &root, ps);
    meta_check(&root, name_check, rq->type->scope == SCOPE_NAMESPACED, ps);
}

static void admit_other_write(struct server_request *rq, struct json *object, const struct object *old,
                              struct problems *ps)
{
    if (!admission_shared(rq, ADMISSION_WRITE, object, old, ps))
        check_plain(rq, object, NULL, ps);
}

static void admit_namespace_write(struct server_request *rq, struct json *object, const struct object *old,
                                  struct problems *ps)
{
    struct arena *a = rq->arena;
    struct json *spec = json_need_object(a, object, "spec");
    bool is_finalize = str_is(rq->target.subresource, "finalize");

    if (!old && spec && !json_get(spec, "finalizers"))
        json_push(json_set(spec, "finalizers", json_array(a)), json_str(a, STR("kubernetes")));
    if (old && !is_finalize) /* by /finalize only */
        json_remove(object, "spec");
    if (old && !is_finalize && json_get(old->root, "spec")) /* one that was made inside of the program may have none */
        json_set(object, "spec", json_copy(a, json_get(old->root, "spec")));
    if (object_name(object).n)
        object_set_label(a, object, "kubernetes.io/metadata.name", object_name(object));
    check_plain(rq, object, name_check_dns_label, ps);
}

void default_member(struct arena *a, struct json *j, const char *key, const char *value)
{
    if (json_is(j, JSON_OBJECT) && !json_member_text(j, key).n)
        json_set(j, key, json_str(a, str_of(value)));
}

/* The immutable fields of a claim, with the wanted values of the others. A client that applies its file again does not
 * know the volume. */
static bool has_other_spec(struct arena *a, struct json *new, const struct json *old)
{
    static const char *const free[] = { "resources", "volumeAttributesClassName", "volumeName" };
    struct json *before = json_copy(a, old), *after = json_copy(a, new);

    for (size_t i = 0; i < ARRAY_LEN(free); i++) {
        json_remove(before, free[i]);
        json_remove(after, free[i]);
    }
    if (json_member_text(old, "volumeName").n && !json_member_text(new, "volumeName").n)
        json_set(new, "volumeName", json_copy(a, json_get(old, "volumeName")));
    return !json_equal(before, after) ||
           (json_member_text(old, "volumeName").n &&
            !str_eq(json_member_text(old, "volumeName"), json_member_text(new, "volumeName")));
}

/* How much of it, and by whom it may be used; 'amounts' is where in spec. */
static void check_storage(const struct place *spec, const struct place *amounts, struct problems *ps)
{
    struct place modes = place_member(spec, "accessModes"), at = place_member(amounts, "storage");
    struct quantity q;

    if (!json_count(modes.node))
        problem_of(ps, PROBLEM_REQUIRED, &modes, "at least 1 access mode is required");
    if (!at.node)
        problem_of(ps, PROBLEM_REQUIRED, &at, "is required");
    else if (quantity_parse(json_text(at.node, STR_NULL), &q, NULL) == 0 &&
             quantity_cmp(q, (struct quantity){ 0 }) <= 0)
        problem_error(ps, &at, "must be greater than zero");
}

static void admit_claim_write(struct server_request *rq, struct json *object, const struct object *old,
                              struct problems *ps)
{
    struct place root = { .node = object }, spec = place_member(&root, "spec"),
                 resources = place_member(&spec, "resources"), requests;

    default_member(rq->arena, json_get(object, "spec"), "volumeMode", "Filesystem");
    amounts_canonical(rq->arena, object, "spec.resources.requests");
    requests = place_member(&resources, "requests");
    check_plain(rq, object, NULL, ps);
    if (!old)
        check_storage(&spec, &requests, ps);
    if (old && json_is(spec.node, JSON_OBJECT) && json_is(json_get(old->root, "spec"), JSON_OBJECT) &&
        has_other_spec(rq->arena, json_get(object, "spec"), json_get(old->root, "spec")))
        problem_of(ps, PROBLEM_FORBIDDEN, &spec,
                   "spec is immutable after creation except resources.requests and "
                   "volumeAttributesClassName");
}

static void admit_volume_write(struct server_request *rq, struct json *object, const struct object *old,
                               struct problems *ps)
{
    struct place root = { .node = object }, spec = place_member(&root, "spec"), capacity;

    default_member(rq->arena, json_get(object, "spec"), "persistentVolumeReclaimPolicy", "Retain");
    default_member(rq->arena, json_get(object, "spec"), "volumeMode", "Filesystem");
    amounts_canonical(rq->arena, object, "spec.capacity");
    capacity = place_member(&spec, "capacity");
    check_plain(rq, object, NULL, ps);
    if (!old)
        check_storage(&spec, &capacity, ps);
}

/* Allocatable is capacity by default. */
static void admit_node_write(struct server_request *rq, struct json *object, const struct object *old,
                             struct problems *ps)
{
    struct json *status = json_get(object, "status");

    if (!old && json_is(json_get(status, "capacity"), JSON_OBJECT) && !json_get(status, "allocatable"))
        json_set(status, "allocatable", json_copy(rq->arena, json_get(status, "capacity")));
    check_plain(rq, object, NULL, ps);
}

static void admit_event_write(struct server_request *rq, struct json *object, const struct object *old,
                              struct problems *ps)
{
    struct place root = { .node = object }, about = place_member(&root, "involvedObject"),
                 namespace = place_member(&about, "namespace");
    struct str own = object_namespace(object), other = json_text(namespace.node, STR_NULL);

    (void)old;
    check_plain(rq, object, NULL, ps);
    if (about.node && !str_eq(other, own) && !(!other.n && str_is(own, "default")))
        problem_error(ps, &namespace, "does not match event.namespace");
}

struct fixed {
    const char *member; /* NULL: the end of the rows */
    const char *usual;  /* its value where it is not set; NULL: none */
};

/* Fields that decide over existing objects are immutable. */
static void check_fixed(struct server_request *rq, struct json *object, const struct object *old,
                        const struct fixed *rows, struct problems *ps)
{
    struct place root = { .node = object };

    for (size_t i = 0; rows[i].member; i++) {
        const struct json *before = old ? json_get(old->root, rows[i].member) : NULL;
        struct place at;

        if (rows[i].usual)
            default_member(rq->arena, object, rows[i].member, rows[i].usual);
        at = place_member(&root, rows[i].member);
        if (!old || json_equal(at.node, before) ||
            (!before && rows[i].usual && str_is(json_text(at.node, STR_NULL), rows[i].usual)))
            continue;
        problem_of(ps, PROBLEM_FORBIDDEN, &at, "may not be changed in an update.");
    }
}

enum { CLASS_VALUE_MAX = 1000000000 }; /* what is above is for the system's own */

static void admit_class_write(struct server_request *rq, struct json *object, const struct object *old,
                              struct problems *ps)
{
    struct place root = { .node = object }, meta = place_member(&root, "metadata"), name = place_member(&meta, "name"),
                 value = place_member(&root, "value");
    static const struct fixed fixed[] = { { "value", NULL }, { "preemptionPolicy", "PreemptLowerPriority" }, { 0 } };

    check_plain(rq, object, NULL, ps);
    if (!old && str_starts(object_name(object), STR("system-")))
        problem_of(ps, PROBLEM_FORBIDDEN, &name, "names that begin with system- are reserved");
    if (!old && json_i64(value.node, 0) > CLASS_VALUE_MAX)
        problem_of(ps, PROBLEM_FORBIDDEN, &value, "maximum allowed value of a user defined priority is %d",
                   CLASS_VALUE_MAX);
    check_fixed(rq, object, old, fixed, ps);
}

static void admit_storage_class_write(struct server_request *rq, struct json *object, const struct object *old,
                                      struct problems *ps)
{
    static const struct fixed fixed[] = { { "provisioner", NULL },
                                          { "parameters", NULL },
                                          { "reclaimPolicy", "Delete" },
                                          { "volumeBindingMode", "Immediate" },
                                          { 0 } };

    check_plain(rq, object, NULL, ps);
    check_fixed(rq, object, old, fixed, ps);
}

static void check_label_selector(struct arena *a, const struct place *up, const char *member, struct problems *ps)
{
    struct place at = place_member(up, member);
    struct selector *parsed;
    struct err e;

    if (json_is(at.node, JSON_OBJECT) && selector_from_json(a, at.node, &parsed, &e) < 0)
        problem_error(ps, &at, "%s", e.text);
}

static void check_peers(struct arena *a, const struct place *spec, const char *rules, const char *peers,
                        struct problems *ps)
{
    struct place list = place_member(spec, rules);
    size_t i = 0;

    JSON_FOREACH(rule, list.node) {
        struct place at = place_item(&list, rule, i++), all = place_member(&at, peers);
        size_t k = 0;

        JSON_FOREACH(peer, all.node) {
            struct place one = place_item(&all, peer, k++);

            check_label_selector(a, &one, "podSelector", ps);
            check_label_selector(a, &one, "namespaceSelector", ps);
        }
    }
}

static void admit_policy_write(struct server_request *rq, struct json *object, const struct object *old,
                               struct problems *ps)
{
    struct place root = { .node = object }, spec = place_member(&root, "spec");

    (void)old;
    check_plain(rq, object, NULL, ps);
    check_label_selector(rq->arena, &spec, "podSelector", ps);
    check_peers(rq->arena, &spec, "ingress", "from", ps);
    check_peers(rq->arena, &spec, "egress", "to", ps);
}

static void admit_budget_write(struct server_request *rq, struct json *object, const struct object *old,
                               struct problems *ps)
{
    struct place root = { .node = object }, spec = place_member(&root, "spec");

    (void)old;
    check_plain(rq, object, NULL, ps);
    check_label_selector(rq->arena, &spec, "selector", ps);
    if (json_get(spec.node, "minAvailable") && json_get(spec.node, "maxUnavailable"))
        problem_error(ps, &spec, "minAvailable and maxUnavailable cannot be both set");
}

/* Their names may have colons: system:node. */
static void admit_role_write(struct server_request *rq, struct json *object, const struct object *old,
                             struct problems *ps)
{
    struct place root = { .node = object };

    rbac_admit_defaults(rq->arena, object);
    check_plain(rq, object, name_check_path_segment, ps);
    rbac_admit_check(&root, old ? old->root : NULL, ps);
}

/* ---- by kind ---- */

static const struct {
    const char *group, *kind;
    void (*admit)(struct server_request *rq, struct json *object, const struct object *old, struct problems *ps);
} admissions[] = {
    { "batch.volcano.sh", "Job", admit_job_write },
    { "", "Pod", admit_pod_write },
    { "", "Namespace", admit_namespace_write },
    { "", "ConfigMap", admit_config_write },
    { "", "Secret", admit_secret_write },
    { "", "Service", admit_service_write },
    { "", "Endpoints", admit_endpoints_write },
    { "discovery.k8s.io", "EndpointSlice", admit_slice_write },
    { "", "PersistentVolumeClaim", admit_claim_write },
    { "", "PersistentVolume", admit_volume_write },
    { "", "Node", admit_node_write },
    { "", "ResourceQuota", admit_quota_write },
    { "", "LimitRange", admit_limits_write },
    { "", "Event", admit_event_write },
    { "policy", "PodDisruptionBudget", admit_budget_write },
    { "networking.k8s.io", "NetworkPolicy", admit_policy_write },
    { "storage.k8s.io", "StorageClass", admit_storage_class_write },
    { "scheduling.k8s.io", "PriorityClass", admit_class_write },
    { "node.k8s.io", "RuntimeClass", admit_runtime_class_write },
    { "apiextensions.k8s.io", "CustomResourceDefinition", admit_definition_write },
    { "rbac.authorization.k8s.io", "Role", admit_role_write },
    { "rbac.authorization.k8s.io", "ClusterRole", admit_role_write },
    { "rbac.authorization.k8s.io", "RoleBinding", admit_role_write },
    { "rbac.authorization.k8s.io", "ClusterRoleBinding", admit_role_write },
};

int admission_write(struct server_request *rq, struct json *object, const struct object *old)
{
    struct problems ps = { .arena = rq->arena };
    void (*admit)(struct server_request *, struct json *, const struct object *, struct problems *) = admit_other_write;

    for (size_t i = 0; i < ARRAY_LEN(admissions); i++)
        if (strcmp(admissions[i].group, rq->type->group) == 0 && strcmp(admissions[i].kind, rq->type->kind) == 0)
            admit = admissions[i].admit;
    if (rq->type->custom)
        admit = admit_custom_write;
    if (!rq->failure.name.n)
        rq->failure.name = object_name(object);
    if (body_shape(rq, object) < 0)
        return -1;
    access_keep_marks(rq, object, old);
    admit(rq, object, old, &ps);
    if (ps.n_errors) {
        problems_sort(&ps);
        return fail_problems(rq, &ps);
    }
    if (rq->failure.message.n) /* the cluster lacks what it names */
        return -1;
    VEC_FOREACH(p, &ps.list)
        if (p->kind != PROBLEM_UNKNOWN) /* those were reported already */
            warn(rq, "%.*s: %.*s", STR_ARG(p->path), STR_ARG(p->text));
    return access_write(rq, object, old); /* after the rules: problems of the object itself are reported first */
}

int admission_amounts(struct server_request *rq, const struct json *object, const struct object *old)
{
    /* A pod that runs is not asked again, unless its amounts change. */
    bool is_new_pod = !old || strcmp(rq->type->plural, "pods") != 0 || str_is(rq->target.subresource, "resize");
    struct err e;

    if ((!is_new_pod || limits_admit(rq->server, rq->type, object, &e) == 0) &&
        quota_admit(rq->server, rq->type, object, old ? old->root : NULL, &e) == 0)
        return 0;
    return fail_with(rq, REASON_FORBIDDEN, "%.*s \"%.*s\" is forbidden: %s",
                     STR_ARG(type_resource(rq->arena, rq->type)), STR_ARG(rq->failure.name), e.text);
}

/* ---- what may not go ---- */

int admission_delete(struct server_request *rq, const struct object *old)
{
    static const char *const namespaces[] = { "default", "kube-system", "kube-public" };
    struct problems ps = { .arena = rq->arena };

    if (admission_shared(rq, ADMISSION_DELETE, NULL, old, &ps) && ps.n_errors) {
        fail_with(rq, REASON_FORBIDDEN, "%.*s \"%.*s\" is forbidden: %.*s", STR_ARG(type_resource(rq->arena, rq->type)),
                  STR_ARG(old->name), STR_ARG(ps.list.v[0].text));
        rq->failure.name = old->name;
        return -1;
    }
    for (size_t i = 0; strcmp(old->type->plural, "namespaces") == 0 && i < ARRAY_LEN(namespaces); i++)
        if (str_is(old->name, namespaces[i])) {
            fail_with(rq, REASON_FORBIDDEN, "namespaces \"%s\" is forbidden: this namespace may not be deleted",
                      namespaces[i]);
            return -1;
        }
    if (strcmp(old->type->plural, "priorityclasses") == 0 && str_starts(old->name, STR("system-")))
        return fail_with(rq, REASON_FORBIDDEN,
                         "priorityclasses.scheduling.k8s.io \"%.*s\" is forbidden: this is a system priority class and "
                         "cannot be deleted",
                         STR_ARG(old->name));
    return 0;
}
