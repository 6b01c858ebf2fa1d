/* columns.c - the columns of each kind, as kubectl get prints them */
#include "server/columns.h"

#define NONE STR("<none>")
struct json *cell_created(struct arena *a, const struct json *object, int64_t now_ms)
{
    return cell_age(a, json_member_text(json_get(object, "metadata"), "creationTimestamp"), now_ms);
}

static struct json *or_none(struct arena *a, struct str text)
{
    return json_str(a, text.n ? text : NONE);
}

static struct json *columns_joined(struct arena *a, const struct buf *out)
{
    return or_none(a, arena_str(a, buf_view(out)));
}

/* ---- Pods ---- */

static struct json *pod_ip(struct arena *a, const struct json *pod, int64_t now_ms)
{
    (void)now_ms;
    return or_none(a, json_member_text(json_get(pod, "status"), "podIP"));
}

static struct json *pod_node(struct arena *a, const struct json *pod, int64_t now_ms)
{
    (void)now_ms;
    return or_none(a, json_member_text(json_get(pod, "spec"), "nodeName"));
}

static struct json *pod_nominated(struct arena *a, const struct json *pod, int64_t now_ms)
{
    (void)now_ms;
    return or_none(a, json_member_text(json_get(pod, "status"), "nominatedNodeName"));
}

static struct json *pod_gates(struct arena *a, const struct json *pod, int64_t now_ms)
{
    const struct json *gates = json_find(pod, "spec", "readinessGates", NULL);
    size_t n = 0;

    (void)now_ms;
    JSON_FOREACH(gate, gates)
        n += str_is(json_member_text(condition_find(json_get(pod, "status"), json_member_text(gate, "conditionType")),
                                     "status"),
                    "True");
    return json_count(gates) ? json_fmt(a, "%zu/%zu", n, json_count(gates)) : json_str(a, NONE);
}

static const struct column of_pods[] = {
    NAME,
    { "Ready", "string", false, NULL, pod_cell_ready },
    { "Status", "string", false, NULL, pod_cell_status },
    { "Restarts", "string", false, NULL, pod_cell_restarts },
    AGE,
    { "IP", "string", true, NULL, pod_ip },
    { "Node", "string", true, NULL, pod_node },
    { "Nominated Node", "string", true, NULL, pod_nominated },
    { "Readiness Gates", "string", true, NULL, pod_gates },
};

/* ---- Nodes ---- */

static struct json *node_status(struct arena *a, const struct json *node, int64_t now_ms)
{
    struct str ready = json_member_text(condition_find(json_get(node, "status"), STR("Ready")), "status");
    bool is_off = json_bool(json_find(node, "spec", "unschedulable", NULL), false);
    const char *word;

    (void)now_ms;
    word = str_is(ready, "True") ? "Ready" : str_is(ready, "False") ? "NotReady" : "Unknown";
    return json_fmt(a, "%s%s", word, is_off ? ",SchedulingDisabled" : "");
}

static struct json *node_roles(struct arena *a, const struct json *node, int64_t now_ms)
{
    struct str prefix = STR("node-role.kubernetes.io/");
    autobuf out = { 0 };

    (void)now_ms;
    JSON_FOREACH(label, json_find(node, "metadata", "labels", NULL)) {
        struct str role = str_starts(json_key(label), prefix)             ? str_from(json_key(label), prefix.n)
                          : str_is(json_key(label), "kubernetes.io/role") ? json_text(label, STR_NULL)
                                                                          : STR_NULL;
        if (role.n)
            buf_fmt(&out, "%s%.*s", out.n ? "," : "", STR_ARG(role));
    }
    return columns_joined(a, &out);
}

static struct json *node_address(struct arena *a, const struct json *node, const char *type)
{
    JSON_FOREACH(address, json_find(node, "status", "addresses", NULL))
        if (str_is(json_member_text(address, "type"), type))
            return json_str(a, json_member_text(address, "address"));
    return json_str(a, NONE);
}

static struct json *node_internal(struct arena *a, const struct json *node, int64_t now_ms)
{
    (void)now_ms;
    return node_address(a, node, "InternalIP");
}

static struct json *node_external(struct arena *a, const struct json *node, int64_t now_ms)
{
    (void)now_ms;
    return node_address(a, node, "ExternalIP");
}

static const struct column of_nodes[] = {
    NAME,
    { "Status", "string", false, NULL, node_status },
    { "Roles", "string", false, NULL, node_roles },
    AGE,
    { "Version", "string", false, "status.nodeInfo.kubeletVersion" },
    { "Internal-IP", "string", true, NULL, node_internal },
    { "External-IP", "string", true, NULL, node_external },
    { "OS-Image", "string", true, "status.nodeInfo.osImage" },
    { "Kernel-Version", "string", true, "status.nodeInfo.kernelVersion" },
    { "Container-Runtime", "string", true, "status.nodeInfo.containerRuntimeVersion" },
};

/* ---- Services and what is behind them ---- */

static struct json *service_ip(struct arena *a, const struct json *service, int64_t now_ms)
{
    (void)now_ms;
    return or_none(a, json_member_text(json_get(service, "spec"), "clusterIP"));
}

static struct json *service_external(struct arena *a, const struct json *service, int64_t now_ms)
{
    autobuf out = { 0 };

    (void)now_ms;
    JSON_FOREACH(ip, json_find(service, "spec", "externalIPs", NULL))
        buf_fmt(&out, "%s%.*s", out.n ? "," : "", STR_ARG(json_text(ip, STR_NULL)));
    if (str_is(json_member_text(json_get(service, "spec"), "type"), "ExternalName"))
        buf_str(&out, json_member_text(json_get(service, "spec"), "externalName"));
    return columns_joined(a, &out);
}

static struct json *service_ports(struct arena *a, const struct json *service, int64_t now_ms)
{
    autobuf out = { 0 };

    (void)now_ms;
    JSON_FOREACH(port, json_find(service, "spec", "ports", NULL)) {
        struct str protocol = json_member_text(port, "protocol");
        int64_t node_port = json_i64(json_get(port, "nodePort"), 0);

        buf_fmt(&out, "%s%lld", out.n ? "," : "", (long long)json_i64(json_get(port, "port"), 0));
        if (node_port)
            buf_fmt(&out, ":%lld", (long long)node_port);
        buf_fmt(&out, "/%.*s", STR_ARG(protocol.n ? protocol : STR("TCP")));
    }
    return columns_joined(a, &out);
}

static void print_labels(struct buf *out, const struct json *labels)
{
    JSON_FOREACH(l, labels)
        buf_fmt(out, "%s%.*s=%.*s", out->n ? "," : "", STR_ARG(json_key(l)), STR_ARG(json_text(l, STR_NULL)));
}

static struct json *service_selector(struct arena *a, const struct json *service, int64_t now_ms)
{
    autobuf out = { 0 };

    (void)now_ms;
    print_labels(&out, json_find(service, "spec", "selector", NULL));
    return columns_joined(a, &out);
}

static const struct column of_services[] = {
    NAME,
    { "Type", "string", false, "spec.type" },
    { "Cluster-IP", "string", false, NULL, service_ip },
    { "External-IP", "string", false, NULL, service_external },
    { "Port(s)", "string", false, NULL, service_ports },
    AGE,
    { "Selector", "string", true, NULL, service_selector },
};

enum { ENDPOINTS_SHOWN = 3 };

static void put_more(struct buf *out, size_t n)
{
    if (n > ENDPOINTS_SHOWN)
        buf_fmt(out, " + %zu more...", n - ENDPOINTS_SHOWN);
}

static struct json *endpoints_list(struct arena *a, const struct json *endpoints, int64_t now_ms)
{
    autobuf out = { 0 };
    size_t n = 0;

    (void)now_ms;
    JSON_FOREACH(subset, json_get(endpoints, "subsets"))
        JSON_FOREACH(address, json_get(subset, "addresses"))
            JSON_FOREACH(port, json_get(subset, "ports"))
                if (n++ < ENDPOINTS_SHOWN)
                    buf_fmt(&out, "%s%.*s:%lld", out.n ? "," : "", STR_ARG(json_member_text(address, "ip")),
                            (long long)json_i64(json_get(port, "port"), 0));
    put_more(&out, n);
    return columns_joined(a, &out);
}

static const struct column of_endpoints[] = { NAME, { "Endpoints", "string", false, NULL, endpoints_list }, AGE };

static struct json *slice_ports(struct arena *a, const struct json *slice, int64_t now_ms)
{
    autobuf out = { 0 };

    (void)now_ms;
    JSON_FOREACH(port, json_get(slice, "ports"))
        buf_fmt(&out, "%s%lld", out.n ? "," : "", (long long)json_i64(json_get(port, "port"), 0));
    return out.n ? columns_joined(a, &out) : json_str(a, STR("<unset>"));
}

static struct json *slice_endpoints(struct arena *a, const struct json *slice, int64_t now_ms)
{
    autobuf out = { 0 };
    size_t n = 0;

    (void)now_ms;
    JSON_FOREACH(endpoint, json_get(slice, "endpoints"))
        JSON_FOREACH(address, json_get(endpoint, "addresses"))
            if (n++ < ENDPOINTS_SHOWN)
                buf_fmt(&out, "%s%.*s", out.n ? "," : "", STR_ARG(json_text(address, STR_NULL)));
    put_more(&out, n);
    return out.n ? columns_joined(a, &out) : json_str(a, STR("<unset>"));
}

static const struct column of_slices[] = {
    NAME,
    { "AddressType", "string", false, "addressType" },
    { "Ports", "string", false, NULL, slice_ports },
    { "Endpoints", "string", false, NULL, slice_endpoints },
    AGE,
};

/* ---- what is kept in objects ---- */

static struct json *data_count(struct arena *a, const struct json *object, int64_t now_ms)
{
    (void)now_ms;
    return json_int(a, (int64_t)(json_count(json_get(object, "data")) + json_count(json_get(object, "binaryData"))));
}

static const struct column of_config_maps[] = { NAME, { "Data", "integer", false, NULL, data_count }, AGE };
static const struct column of_secrets[] = {
    NAME,
    { "Type", "string", false, "type" },
    { "Data", "integer", false, NULL, data_count },
    AGE,
};

/* ---- Events ---- */

static struct json *event_seen(struct arena *a, const struct json *event, int64_t now_ms)
{
    static const char *const times[] = { "lastTimestamp", "eventTime", "firstTimestamp" };

    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        if (json_member_text(event, times[i]).n)
            return cell_age(a, json_member_text(event, times[i]), now_ms);
    return cell_created(a, event, now_ms);
}

static struct json *event_first(struct arena *a, const struct json *event, int64_t now_ms)
{
    struct str first = json_member_text(event, "firstTimestamp");

    return first.n ? cell_age(a, first, now_ms) : event_seen(a, event, now_ms);
}

static const struct json *event_object(const struct json *event)
{
    const struct json *about = json_get(event, "involvedObject");

    return about ? about : json_get(event, "regarding");
}

static struct json *event_about(struct arena *a, const struct json *event, int64_t now_ms)
{
    const struct json *about = event_object(event);

    (void)now_ms;
    return json_fmt(a, "%.*s/%.*s", STR_ARG(arena_lower(a, json_member_text(about, "kind"))),
                    STR_ARG(json_member_text(about, "name")));
}

static struct json *event_part(struct arena *a, const struct json *event, int64_t now_ms)
{
    (void)now_ms;
    return json_str(a, json_member_text(event_object(event), "fieldPath"));
}

static struct json *event_source(struct arena *a, const struct json *event, int64_t now_ms)
{
    const struct json *source = json_get(event, "source");
    struct str component = json_member_text(source, "component"), host = json_member_text(source, "host");

    (void)now_ms;
    if (!component.n)
        component = json_member_text(event, "reportingComponent");
    return json_fmt(a, "%.*s%s%.*s", STR_ARG(component), host.n ? ", " : "", STR_ARG(host));
}

static struct json *event_message(struct arena *a, const struct json *event, int64_t now_ms)
{
    struct str text = json_member_text(event, "message");

    (void)now_ms;
    return json_str(a, str_trim(text.n ? text : json_member_text(event, "note")));
}

static struct json *event_count(struct arena *a, const struct json *event, int64_t now_ms)
{
    (void)now_ms;
    return json_int(a, MAX_OF(json_i64(json_get(event, "count"), 1), 1));
}

static const struct column of_events[] = {
    { "Last Seen", "string", false, NULL, event_seen },
    { "Type", "string", false, "type" },
    { "Reason", "string", false, "reason" },
    { "Object", "string", false, NULL, event_about },
    { "Subobject", "string", true, NULL, event_part },
    { "Source", "string", true, NULL, event_source },
    { "Message", "string", false, NULL, event_message },
    { "First Seen", "string", true, NULL, event_first },
    { "Count", "string", true, NULL, event_count },
    { "Name", "string", true, "metadata.name", NULL, "name" },
};

/* ---- volumes ---- */

static struct json *access_modes(struct arena *a, const struct json *modes)
{
    static const char *const words[][2] = { { "ReadWriteOnce", "RWO" },
                                            { "ReadOnlyMany", "ROX" },
                                            { "ReadWriteMany", "RWX" },
                                            { "ReadWriteOncePod", "RWOP" } };
    autobuf out = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        JSON_FOREACH(mode, modes)
            if (str_is(json_text(mode, STR_NULL), words[i][0]))
                buf_fmt(&out, "%s%s", out.n ? "," : "", words[i][1]);
    return json_str(a, arena_str(a, buf_view(&out)));
}

static struct json *claim_modes(struct arena *a, const struct json *claim, int64_t now_ms)
{
    (void)now_ms;
    return access_modes(a, json_find(claim, "status", "accessModes", NULL));
}

static struct json *volume_modes(struct arena *a, const struct json *volume, int64_t now_ms)
{
    (void)now_ms;
    return access_modes(a, json_find(volume, "spec", "accessModes", NULL));
}

static struct json *volume_claim(struct arena *a, const struct json *volume, int64_t now_ms)
{
    const struct json *ref = json_find(volume, "spec", "claimRef", NULL);

    (void)now_ms;
    return ref ? json_fmt(a, "%.*s/%.*s", STR_ARG(json_member_text(ref, "namespace")),
                          STR_ARG(json_member_text(ref, "name")))
               : json_str(a, STR(""));
}

static struct json *claim_class(struct arena *a, const struct json *claim, int64_t now_ms)
{
    (void)now_ms;
    return json_str(a, json_member_text(json_get(claim, "spec"), "storageClassName"));
}

static struct json *claim_attributes(struct arena *a, const struct json *claim, int64_t now_ms)
{
    struct str name = json_member_text(json_get(claim, "spec"), "volumeAttributesClassName");

    (void)now_ms;
    return json_str(a, name.n ? name : STR("<unset>"));
}

static const struct column of_claims[] = {
    NAME,
    { "Status", "string", false, "status.phase" },
    { "Volume", "string", false, "spec.volumeName" },
    { "Capacity", "string", false, "status.capacity.storage" },
    { "Access Modes", "string", false, NULL, claim_modes },
    { "StorageClass", "string", false, NULL, claim_class },
    { "VolumeAttributesClass", "string", false, NULL, claim_attributes },
    AGE,
    { "VolumeMode", "string", true, "spec.volumeMode" },
};

static const struct column of_volumes[] = {
    NAME,
    { "Capacity", "string", false, "spec.capacity.storage" },
    { "Access Modes", "string", false, NULL, volume_modes },
    { "Reclaim Policy", "string", false, "spec.persistentVolumeReclaimPolicy" },
    { "Status", "string", false, "status.phase" },
    { "Claim", "string", false, NULL, volume_claim },
    { "StorageClass", "string", false, NULL, claim_class },
    { "VolumeAttributesClass", "string", false, NULL, claim_attributes },
    { "Reason", "string", false, "status.reason" },
    AGE,
    { "VolumeMode", "string", true, "spec.volumeMode" },
};

/* ---- the rest ---- */

static void print_use(struct buf *out, const struct json *quota, bool is_limit)
{
    const struct json *hard = json_find(quota, "status", "hard", NULL);

    JSON_FOREACH(h, hard ? hard : json_find(quota, "spec", "hard", NULL)) {
        const struct json *used = json_get_str(json_find(quota, "status", "used", NULL), json_key(h));

        if (str_starts(json_key(h), STR("limits")) == is_limit)
            buf_fmt(out, "%s%.*s: %.*s/%.*s", out->n ? ", " : "", STR_ARG(json_key(h)),
                    STR_ARG(json_text(used, STR("0"))), STR_ARG(json_text(h, STR("0"))));
    }
}

static struct json *quota_request(struct arena *a, const struct json *quota, int64_t now_ms)
{
    autobuf out = { 0 };

    (void)now_ms;
    print_use(&out, quota, false);
    return json_str(a, arena_str(a, buf_view(&out)));
}

static struct json *quota_limit(struct arena *a, const struct json *quota, int64_t now_ms)
{
    autobuf out = { 0 };

    (void)now_ms;
    print_use(&out, quota, true);
    return json_str(a, arena_str(a, buf_view(&out)));
}

static struct json *policy_selector(struct arena *a, const struct json *policy, int64_t now_ms)
{
    autobuf out = { 0 };

    (void)now_ms;
    print_labels(&out, json_find(policy, "spec", "podSelector", "matchLabels", NULL));
    return columns_joined(a, &out);
}

static struct json *class_default(struct arena *a, const struct json *class, int64_t now_ms)
{
    (void)now_ms;
    return json_bool_new(a, json_bool(json_get(class, "globalDefault"), false));
}

static struct json *budget_text(struct arena *a, const struct json *budget, const char *field)
{
    const struct json *value = json_get(json_get(budget, "spec"), field);

    return value ? json_copy(a, value) : json_str(a, STR("N/A"));
}

static struct json *budget_min(struct arena *a, const struct json *budget, int64_t now_ms)
{
    (void)now_ms;
    return budget_text(a, budget, "minAvailable");
}

static struct json *budget_max(struct arena *a, const struct json *budget, int64_t now_ms)
{
    (void)now_ms;
    return budget_text(a, budget, "maxUnavailable");
}

static struct json *budget_allowed(struct arena *a, const struct json *budget, int64_t now_ms)
{
    (void)now_ms;
    return json_int(a, json_i64(json_find(budget, "status", "disruptionsAllowed", NULL), 0));
}

static const struct column of_namespaces[] = { NAME, { "Status", "string", false, "status.phase" }, AGE };
static const struct column of_quotas[] = {
    NAME,
    { "Request", "string", false, NULL, quota_request },
    { "Limit", "string", false, NULL, quota_limit },
    AGE,
};
static const struct column of_leases[] = { NAME, { "Holder", "string", false, "spec.holderIdentity" }, AGE };
static const struct column of_policies[] = { NAME, { "Pod-Selector", "string", false, NULL, policy_selector }, AGE };
static const struct column of_classes[] = {
    NAME,
    { "Value", "integer", false, "value" },
    { "Global-Default", "boolean", false, NULL, class_default },
    AGE,
    { "PreemptionPolicy", "string", false, "preemptionPolicy" },
};
static const struct column of_runtimes[] = { NAME, { "Handler", "string", false, "handler" }, AGE };
static const struct column of_budgets[] = {
    NAME,
    { "Min Available", "string", false, NULL, budget_min },
    { "Max Unavailable", "string", false, NULL, budget_max },
    { "Allowed Disruptions", "integer", false, NULL, budget_allowed },
    AGE,
};
static const struct column of_jobs[] = {
    NAME,
    { "STATUS", "string", false, "status.state.phase" },
    { "minAvailable", "integer", false, "status.minAvailable" },
    { "RUNNINGS", "integer", false, "status.running" },
    { "AGE", "date", false, CREATED },
    { "QUEUE", "string", true, "spec.queue" },
};
static const struct column of_groups[] = {
    NAME,
    { "STATUS", "string", false, "status.phase" },
    { "minMember", "integer", false, "spec.minMember" },
    { "RUNNINGS", "integer", false, "status.running" },
    { "AGE", "date", false, CREATED },
    { "QUEUE", "string", true, "spec.queue" },
};
static const struct column of_queues[] = { NAME, { "PARENT", "string", false, "spec.parent" } };
static const struct column of_flows[] = {
    NAME,
    { "Status", "string", false, "status.state.phase" },
    { "Age", "date", false, CREATED },
};
static const struct column of_hyper_nodes[] = {
    NAME,
    { "Tier", "string", false, "spec.tier" },
    { "TierName", "string", false, "spec.tierName" },
    { "NodeCount", "integer", false, "status.nodeCount" },
    { "Age", "date", false, CREATED },
};
static const struct column of_definitions[] = { NAME, { "Created At", "string", false, CREATED } };

static const struct columns tables[] = {
    { "pods", "", COLUMNS(of_pods) },
    { "nodes", "", COLUMNS(of_nodes) },
    { "services", "", COLUMNS(of_services) },
    { "endpoints", "", COLUMNS(of_endpoints) },
    { "endpointslices", "discovery.k8s.io", COLUMNS(of_slices) },
    { "configmaps", "", COLUMNS(of_config_maps) },
    { "secrets", "", COLUMNS(of_secrets) },
    { "events", "", COLUMNS(of_events) },
    { "events", "events.k8s.io", COLUMNS(of_events) },
    { "persistentvolumeclaims", "", COLUMNS(of_claims) },
    { "persistentvolumes", "", COLUMNS(of_volumes) },
    { "namespaces", "", COLUMNS(of_namespaces) },
    { "resourcequotas", "", COLUMNS(of_quotas) },
    { "limitranges", "", COLUMNS(of_definitions) },
    { "leases", "coordination.k8s.io", COLUMNS(of_leases) },
    { "networkpolicies", "networking.k8s.io", COLUMNS(of_policies) },
    { "priorityclasses", "scheduling.k8s.io", COLUMNS(of_classes) },
    { "runtimeclasses", "node.k8s.io", COLUMNS(of_runtimes) },
    { "poddisruptionbudgets", "policy", COLUMNS(of_budgets) },
    { "customresourcedefinitions", "apiextensions.k8s.io", COLUMNS(of_definitions) },
    { "jobs", "batch.volcano.sh", COLUMNS(of_jobs) },
    { "podgroups", "scheduling.volcano.sh", COLUMNS(of_groups) },
    { "queues", "scheduling.volcano.sh", COLUMNS(of_queues) },
    { "jobflows", "flow.volcano.sh", COLUMNS(of_flows) },
    { "hypernodes", "topology.volcano.sh", COLUMNS(of_hyper_nodes) },
};

const struct column *columns_of(const struct resource_type *t, size_t *ret_n)
{
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        if (strcmp(tables[i].resource, t->plural) == 0 && strcmp(tables[i].group, t->group) == 0) {
            *ret_n = tables[i].n;
            return tables[i].columns;
        }
    return columns_of_other(t, ret_n);
}
