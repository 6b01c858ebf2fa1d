/* types.c - the table of kinds and looking it up */
#include "api/types.h"

#include "api/job.h"
#include "api/schema/schemas.h"
#include "base/util.h"

#include <assert.h>

/* The fields that a field selector may name, by type. */
static const char *const pod_selectors[] = {
    "spec.nodeName",
    "spec.host",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
    NULL,
};
static const char *const node_selectors[] = { "spec.unschedulable", NULL };
static const char *const namespace_selectors[] = { "status.phase", NULL };
static const char *const secret_selectors[] = { "type", NULL };
static const char *const service_selectors[] = { "spec.clusterIP", "spec.type", NULL };
static const char *const event_selectors[] = {
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
    NULL,
};
static const char *const new_event_selectors[] = {
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
    NULL,
};

/* clang-format off */

#define N SCOPE_NAMESPACED
#define C SCOPE_CLUSTER
#define LIST(...) { __VA_ARGS__ }

/* Volcano's kinds come first: where two groups share a name, the first row wins. */
const struct resource_type resource_types[] = {
    /* group, version, kind, plural, short names, scope, subresources, schema, field selectors */
    { "batch.volcano.sh", "v1alpha1", "Job", "jobs", LIST("vcjob", "vj"), N, LIST("status"), &schema_job, NULL },
    { "batch.volcano.sh", "v1alpha1", "CronJob", "cronjobs", LIST("cronvcjob", "cronvj"), N, LIST("status"),
      &schema_cronjob, NULL },
    { "bus.volcano.sh", "v1alpha1", "Command", "commands", LIST(NULL), N, LIST(NULL), &schema_command, NULL },
    { "scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups", LIST("pg", "podgroup-v1beta1"), N, LIST(NULL),
      &schema_podgroup, NULL },
    { "scheduling.volcano.sh", "v1beta1", "Queue", "queues", LIST("q", "queue-v1beta1"), C, LIST("status"),
      &schema_queue, NULL },
    { "flow.volcano.sh", "v1alpha1", "JobFlow", "jobflows", LIST("jf"), N, LIST("status"), &schema_jobflow, NULL },
    { "flow.volcano.sh", "v1alpha1", "JobTemplate", "jobtemplates", LIST("jt"), N, LIST("status"),
      &schema_jobtemplate, NULL },
    { "topology.volcano.sh", "v1alpha1", "HyperNode", "hypernodes", LIST("hn"), C, LIST("status"), &schema_hypernode,
      NULL },

    { "", "v1", "Namespace", "namespaces", LIST("ns"), C, LIST("status", "finalize"), &schema_namespace,
      namespace_selectors },
    { "", "v1", "Pod", "pods", LIST("po"), N,
      LIST("status", "binding", "log", "exec", "attach", "portforward", "eviction", "ephemeralcontainers", "proxy",
           "resize"),
      &schema_pod, pod_selectors, .category = "all" },
    { "", "v1", "Binding", "bindings", LIST(NULL), N, LIST(NULL), &schema_binding, NULL, TYPE_ASKED },
    { "", "v1", "ConfigMap", "configmaps", LIST("cm"), N, LIST(NULL), &schema_configmap, NULL },
    { "", "v1", "Secret", "secrets", LIST(NULL), N, LIST(NULL), &schema_secret, secret_selectors },
    { "", "v1", "Service", "services", LIST("svc"), N, LIST("status", "proxy"), &schema_service, service_selectors,
      .category = "all" },
    { "", "v1", "Endpoints", "endpoints", LIST("ep"), N, LIST(NULL), &schema_endpoints, NULL },
    { "", "v1", "Event", "events", LIST("ev"), N, LIST(NULL), &schema_event, event_selectors },
    { "", "v1", "Node", "nodes", LIST("no"), C, LIST("status", "proxy"), &schema_node, node_selectors },
    { "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", LIST("pvc"), N, LIST("status"), &schema_pvc, NULL },
    { "", "v1", "PersistentVolume", "persistentvolumes", LIST("pv"), C, LIST("status"), &schema_pv, NULL },
    { "", "v1", "ServiceAccount", "serviceaccounts", LIST("sa"), N, LIST("token"), &schema_service_account, NULL },
    { "", "v1", "ResourceQuota", "resourcequotas", LIST("quota"), N, LIST("status"), &schema_resource_quota, NULL },
    { "", "v1", "LimitRange", "limitranges", LIST("limits"), N, LIST(NULL), &schema_limit_range, NULL },
    { "", "v1", "PodTemplate", "podtemplates", LIST(NULL), N, LIST(NULL), &schema_pod_template_object, NULL },

    { "events.k8s.io", "v1", "Event", "events", LIST("ev"), N, LIST(NULL), &schema_new_event, new_event_selectors },
    { "admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", LIST(NULL),
      C, LIST(NULL), NULL, NULL, TYPE_ELSEWHERE },
    { "admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations",
      LIST(NULL), C, LIST(NULL), NULL, NULL, TYPE_ELSEWHERE },
    { "coordination.k8s.io", "v1", "Lease", "leases", LIST(NULL), N, LIST(NULL), &schema_lease, NULL },
    { "networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", LIST("netpol"), N, LIST(NULL),
      &schema_network_policy, NULL },
    { "node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", LIST(NULL), C, LIST(NULL), &schema_runtime_class, NULL },
    { "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", LIST("pc"), C, LIST(NULL),
      &schema_priority_class, NULL },
    { "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", LIST("pdb"), N, LIST("status"), &schema_pdb,
      NULL },
    { "discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", LIST(NULL), N, LIST(NULL), &schema_endpoint_slice,
      NULL },

    { "storage.k8s.io", "v1", "StorageClass", "storageclasses", LIST("sc"), C, LIST(NULL), &schema_storage_class, NULL },
    { "storage.k8s.io", "v1", "CSINode", "csinodes", LIST(NULL), C, LIST(NULL), &schema_csi_node, NULL },

    { "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", LIST("crd", "crds"), C,
      LIST("status"), &schema_definition, NULL, .category = "api-extensions" },

    { "rbac.authorization.k8s.io", "v1", "Role", "roles", LIST(NULL), N, LIST(NULL), &schema_role, NULL },
    { "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", LIST(NULL), C, LIST(NULL), &schema_cluster_role,
      NULL },
    { "rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", LIST(NULL), N, LIST(NULL), &schema_role_binding,
      NULL },
    { "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", LIST(NULL), C, LIST(NULL),
      &schema_cluster_role_binding, NULL },

    /* Questions, not objects: create only, nothing is stored. */
    { "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", LIST(NULL), C, LIST(NULL), &schema_access_review,
      NULL, TYPE_ASKED },
    { "authorization.k8s.io", "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", LIST(NULL), N, LIST(NULL),
      &schema_local_access_review, NULL, TYPE_ASKED },
    { "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", LIST(NULL), C, LIST(NULL),
      &schema_self_access_review, NULL, TYPE_ASKED },
    { "authorization.k8s.io", "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", LIST(NULL), C, LIST(NULL),
      &schema_rules_review, NULL, TYPE_ASKED },
    { "authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", LIST(NULL), C, LIST(NULL), &schema_self_review, NULL,
      TYPE_ASKED },
    { "authentication.k8s.io", "v1", "TokenReview", "tokenreviews", LIST(NULL), C, LIST(NULL), &schema_token_review, NULL, TYPE_ASKED },

    { "metrics.k8s.io", "v1beta1", "NodeMetrics", "nodes", LIST(NULL), C, LIST(NULL), &schema_node_metrics, NULL, TYPE_MEASURED },
    { "metrics.k8s.io", "v1beta1", "PodMetrics", "pods", LIST(NULL), N, LIST(NULL), &schema_pod_metrics, NULL, TYPE_MEASURED },
    /* Those of other controllers. */
#define N_FOREIGN 5
    { "apps", "v1", "ReplicaSet", "replicasets", LIST(NULL), N, LIST(NULL), NULL, NULL },
    { "apps", "v1", "StatefulSet", "statefulsets", LIST(NULL), N, LIST(NULL), NULL, NULL },
    { "apps", "v1", "DaemonSet", "daemonsets", LIST(NULL), N, LIST(NULL), NULL, NULL },
    { "", "v1", "ReplicationController", "replicationcontrollers", LIST(NULL), N, LIST(NULL), NULL, NULL },
    { "batch", "v1", "Job", "jobs", LIST(NULL), N, LIST(NULL), NULL, NULL },
    /* Those of kube-scheduler. */
#define N_NATIVE_KINDS 2
#define N_NATIVE       (NATIVE_VERSION_MAX * N_NATIVE_KINDS)
    { NATIVE_GROUP, "v1beta1", "Workload", "workloads", LIST(NULL), N, LIST(NULL), NULL, NULL },
    { NATIVE_GROUP, "v1beta1", "PodGroup", "podgroups", LIST(NULL), N, LIST("status"), NULL, NULL },
    { NATIVE_GROUP, "v1alpha2", "Workload", "workloads", LIST(NULL), N, LIST(NULL), NULL, NULL },
    { NATIVE_GROUP, "v1alpha2", "PodGroup", "podgroups", LIST(NULL), N, LIST("status"), NULL, NULL },
};

#undef N
#undef C
#undef LIST

/* clang-format on */

const size_t n_all_types = ARRAY_LEN(resource_types);
const size_t n_resource_types = ARRAY_LEN(resource_types) - N_FOREIGN - N_NATIVE;
const size_t n_foreign_types = N_FOREIGN;

struct str type_api_version(struct arena *a, const struct resource_type *t)
{
    return t->group[0] ? arena_fmt(a, "%s/%s", t->group, t->version) : str_of(t->version);
}

struct str type_singular(struct arena *a, const struct resource_type *t)
{
    return t->singular ? str_of(t->singular) : arena_lower(a, str_of(t->kind));
}

struct str type_list_kind(struct arena *a, const struct resource_type *t)
{
    return t->list_kind ? str_of(t->list_kind) : arena_fmt(a, "%sList", t->kind);
}

struct str type_resource(struct arena *a, const struct resource_type *t)
{
    return arena_fmt(a, "%s%s%s", t->plural, t->group[0] ? "." : "", t->group);
}

bool type_has_subresource(const struct resource_type *t, struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(t->subresources) && t->subresources[i]; i++)
        if (str_is(name, t->subresources[i]))
            return true;
    return false;
}

const struct resource_type *type_by_plural(struct str group, struct str version, struct str plural)
{
    for (const struct resource_type *t = resource_types; t < resource_types + n_resource_types; t++)
        if (t->use != TYPE_ELSEWHERE && str_is(plural, t->plural) && str_is(group, t->group) &&
            str_is(version, t->version))
            return t;
    return NULL;
}

/* Among 'n' rows of the table. */
static const struct resource_type *types_find_kind(const struct resource_type *rows, size_t n, struct str api_version,
                                                   struct str kind)
{
    ptrdiff_t slash = str_rfind_char(api_version, '/');
    struct str group = slash < 0 ? STR_NULL : str_sub(api_version, 0, (size_t)slash);
    struct str version = str_from(api_version, (size_t)(slash + 1));

    if (slash == 0) /* "/v1" is not how the core group is written */
        return NULL;
    for (const struct resource_type *t = rows; t < rows + n; t++)
        if (str_is(kind, t->kind) && str_is(group, t->group) && str_is(version, t->version))
            return t;
    return NULL;
}

/* ---- kinds of users ---- */

static struct resource_type customs[TYPE_CUSTOM_MAX]; /* never moved, never given to another kind: rows are kept */
static size_t n_customs;
const size_t n_type_rows = ARRAY_LEN(resource_types) - N_FOREIGN - N_NATIVE + TYPE_CUSTOM_MAX;

size_t type_row(const struct resource_type *t)
{
    if (t >= customs && t < customs + TYPE_CUSTOM_MAX)
        return n_resource_types + (size_t)(t - customs);
    assert(t >= resource_types && t < resource_types + n_resource_types);
    return (size_t)(t - resource_types);
}

const struct resource_type *type_at(size_t row)
{
    const struct resource_type *t;

    if (row < n_resource_types)
        return &resource_types[row];
    t = &customs[row - n_resource_types];
    return t->use == TYPE_STORED && row - n_resource_types < n_customs ? t : NULL;
}

const struct resource_type *type_defined(struct str group, struct str plural)
{
    for (size_t i = 0; i < n_customs; i++)
        if (str_is(group, customs[i].group) && str_is(plural, customs[i].plural))
            return &customs[i];
    return NULL;
}

static void keep_text(const char **at, const char *text)
{
    char *copy = text ? strdup(text) : NULL;

    if (text && !copy)
        abort();
    free((char *)*at);
    *at = copy;
}

const struct resource_type *type_define(const struct resource_type *like)
{
    const struct resource_type *there = type_defined(str_of(like->group), str_of(like->plural));
    struct resource_type *t = there                         ? &customs[there - customs]
                              : n_customs < TYPE_CUSTOM_MAX ? &customs[n_customs]
                                                            : NULL;
    struct resource_type new = *like;

    if (!t)
        return NULL;
    new.group = t->group;
    new.plural = t->plural;
    new.version = t->version;
    new.kind = t->kind;
    new.singular = t->singular;
    new.list_kind = t->list_kind;
    if (!there) {
        keep_text(&new.group, like->group);
        keep_text(&new.plural, like->plural);
        n_customs++;
    }
    keep_text(&new.version, like->version);
    keep_text(&new.kind, like->kind);
    keep_text(&new.singular, like->singular);
    keep_text(&new.list_kind, like->list_kind);
    new.use = TYPE_STORED;
    *t = new;
    return t;
}

void type_retire(const struct resource_type *t)
{
    struct resource_type *row = &customs[t - customs];

    row->use = TYPE_ELSEWHERE;
    row->custom = NULL;
    row->fields = NULL;
}

/* Of any version: all of them are the same objects. */
static const struct resource_type *find_custom(struct str api_version, struct str kind)
{
    ptrdiff_t slash = str_rfind_char(api_version, '/');
    struct str group = slash <= 0 ? STR_NULL : str_sub(api_version, 0, (size_t)slash);

    for (size_t i = 0; group.n && i < n_customs; i++)
        if (customs[i].use == TYPE_STORED && str_is(kind, customs[i].kind) && str_is(group, customs[i].group))
            return &customs[i];
    return NULL;
}

const struct resource_type *type_by_kind(struct str api_version, struct str kind)
{
    const struct resource_type *t = types_find_kind(resource_types, n_resource_types, api_version, kind);

    return t ? t : find_custom(api_version, kind);
}

const struct resource_type *type_foreign(struct str api_version, struct str kind)
{
    return types_find_kind(resource_types + n_resource_types, n_foreign_types, api_version, kind);
}

static enum native_version native_version;

void type_native_choose(enum native_version v)
{
    native_version = v;
}

enum native_version type_native_version(void)
{
    return native_version;
}

const struct resource_type *type_native(const char *kind)
{
    const struct resource_type *rows = resource_types + n_all_types - N_NATIVE + N_NATIVE_KINDS * native_version;

    for (size_t i = 0; i < N_NATIVE_KINDS; i++)
        if (strcmp(rows[i].kind, kind) == 0)
            return &rows[i];
    return NULL;
}

static bool types_is_called(const struct resource_type *t, struct str word)
{
    if (str_eq_nocase(word, str_of(t->plural)) || str_eq_nocase(word, str_of(t->kind)))
        return true; /* the singular is the kind in lower case */
    for (size_t i = 0; i < ARRAY_LEN(t->short_names) && t->short_names[i]; i++)
        if (str_eq_nocase(word, str_of(t->short_names[i])))
            return true;
    return false;
}

/* "group" or "version.group"; "" matches any. */
static bool is_of_group(const struct resource_type *t, struct str suffix)
{
    struct str rest = suffix, version;

    if (!suffix.n || str_eq_nocase(suffix, str_of(t->group)))
        return true;
    return str_split(&rest, '.', &version) && str_is(version, t->version) && str_eq_nocase(rest, str_of(t->group));
}

const struct resource_type *type_by_name(struct str name)
{
    ptrdiff_t dot = str_find_char(name, '.');
    struct str word = dot < 0 ? name : str_sub(name, 0, (size_t)dot);
    struct str suffix = dot < 0 ? STR_NULL : str_from(name, (size_t)dot + 1);

    if (dot >= 0 && !suffix.n) /* "jobs." */
        return NULL;
    for (size_t i = 0; i < n_resource_types; i++)
        if (types_is_called(&resource_types[i], word) && is_of_group(&resource_types[i], suffix))
            return &resource_types[i];
    return NULL;
}
