/* admit_pod_container.c - containers of a pod template: names, images, ports, environment */
#include "api/admit/admit_internal.h"

#include "api/name.h"
#include "base/util.h"

/* ---- ports ---- */

/* Two containers cannot hold one port of the node. With hostNetwork every port is one of the node. */
static void check_host_port(struct pod_check *pc, const struct place *port)
{
    struct place at = place_member(port, "hostPort");
    struct str protocol = json_member_text(port->node, "protocol"), ip = json_member_text(port->node, "hostIP"), key;
    int64_t number = json_i64(json_get(port->node, "containerPort"), 0), host = json_i64(at.node, 0);

    if (pc->is_host_network && host != 0 && host != number)
        check_error(pc->c, &at, "must match containerPort (%lld) when hostNetwork is true (got %lld)",
                    (long long)number, (long long)host);
    if (pc->is_host_network && host == 0)
        host = number;
    if (host <= 0)
        return;
    key = arena_fmt(pc->c->arena, "%.*s/%.*s/%lld", STR_ARG(protocol.n ? protocol : STR("TCP")), STR_ARG(ip),
                    (long long)host);
    if (!name_map_add(pc->c->arena, &pc->host_ports, key, 0, NULL))
        check_error(pc->c, is_set(at.node) ? &at : port, "duplicate port %lld/%.*s of the node", (long long)host,
                    STR_ARG(protocol.n ? protocol : STR("TCP")));
}

/* A number that stands twice in one container is said once, by the rule of lists. */
static bool is_new_number(struct arena *a, struct name_map *seen, const struct json *port)
{
    struct str protocol = json_member_text(port, "protocol");

    return name_map_add(a, seen,
                        arena_fmt(a, "%lld/%.*s", (long long)json_i64(json_get(port, "containerPort"), 0),
                                  STR_ARG(protocol.n ? protocol : STR("TCP"))),
                        0, NULL);
}

/* 'is_init': runs alone, so its ports cannot clash. */
static void admit_pod_container_check_ports(struct pod_check *pc, const struct place *container, bool is_init)
{
    struct place ports = place_list(container, "ports");
    struct name_map names = { 0 }, numbers = { 0 };

    PLACE_FOREACH(port, &ports) {
        struct place at = place_member(&port, "name"), ip = place_member(&port, "hostIP");
        struct str name = json_text(at.node, STR("")), address = json_text(ip.node, STR(""));

        if (name.n && !name_map_add(pc->c->arena, &names, name, 0, NULL))
            check_error(pc->c, &at, "duplicate port name \"%.*s\" in this container", STR_ARG(name));
        if (address.n && !text_is_ip(address))
            check_warn(pc->c, &ip, "is no IPv4 or IPv6 address (got \"%.*s\"): no node can bind it", STR_ARG(address));
        if (!is_init && is_new_number(pc->c->arena, &numbers, port.node))
            check_host_port(pc, &port);
    }
}

/* ---- references to fields of the pod ---- */

static const char *const env_fields[] = {
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs",     "status.podIP", "status.podIPs",
};
static const char *const volume_fields[] = {
    "metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.annotations",
};

/* metadata.labels['key'] and metadata.annotations['key']; keys of annotations may have capitals in their prefix. */
static bool is_keyed_field(struct arena *a, struct str path)
{
    static const char *const maps[] = { "metadata.labels['", "metadata.annotations['" };

    for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
        size_t n = strlen(maps[i]);

        if (str_starts(path, str_of(maps[i])) && str_ends(path, STR("']")) && path.n > n + 2)
            return name_check_qualified(a, i == 1 ? arena_lower(a, str_sub(path, n, path.n - n - 2))
                                                  : str_sub(path, n, path.n - n - 2)) == NULL;
    }
    return false;
}

void pod_field_ref_rules(struct check *c, const struct place *ref, bool is_volume)
{
    const char *const *known = is_volume ? volume_fields : env_fields;
    size_t n = is_volume ? ARRAY_LEN(volume_fields) : ARRAY_LEN(env_fields);
    struct place at = place_member(ref, "fieldPath"), version = place_member(ref, "apiVersion");
    struct str path = json_text(at.node, STR("")), api = json_text(version.node, STR(""));

    if (api.n && !str_eq(api, STR("v1")))
        check_error(c, &version, "must be v1 (got \"%.*s\")", STR_ARG(api));
    if (str_empty(path) || is_keyed_field(c->arena, path))
        return;
    for (size_t i = 0; i < n; i++)
        if (str_is(path, known[i]))
            return;
    check_error(c, &at, "\"%.*s\" is not a field that can be used here%.*s", STR_ARG(path),
                STR_ARG(check_hint(c->arena, path, known, n)));
}

/* The units that a resource can be counted in. */
static void check_divisor(struct check *c, const struct place *ref, bool is_cpu)
{
    static const char *const of_cpu[] = { "1m", "1", NULL };
    static const char *const of_bytes[] = { "1",   "1k",  "1M",  "1G",  "1T",  "1P",  "1E",
                                            "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei", NULL };
    const char *const *units = is_cpu ? of_cpu : of_bytes;
    struct place at = place_member(ref, "divisor");
    struct quantity have, unit;

    if (!quantity_from_json(at.node, &have) || have.nano == 0)
        return;
    for (size_t i = 0; units[i]; i++)
        if (quantity_parse(str_of(units[i]), &unit, NULL) == 0 && quantity_cmp(have, unit) == 0)
            return;
    check_error(c, &at, "must be %s",
                is_cpu ? "1m or 1 for cpu" : "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi or 1Ei");
}

void pod_resource_ref_rules(struct check *c, const struct place *ref, bool is_volume)
{
    static const char *const known[] = { "limits.cpu",   "limits.memory",   "limits.ephemeral-storage",
                                         "requests.cpu", "requests.memory", "requests.ephemeral-storage" };
    struct place at = place_member(ref, "resource");
    struct str name = json_text(at.node, STR(""));

    if (is_volume)
        (void)check_required(c, ref, "containerName");
    check_divisor(c, ref, str_ends(name, STR(".cpu")));
    if (str_empty(name) || str_starts(name, STR("limits.hugepages-")) || str_starts(name, STR("requests.hugepages-")))
        return;
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_is(name, known[i]))
            return;
    check_error(c, &at, "\"%.*s\" is not a resource that can be used here%.*s", STR_ARG(name),
                STR_ARG(check_hint(c->arena, name, known, ARRAY_LEN(known))));
}

/* ---- environment ---- */

static void key_ref_rules(struct check *c, const struct place *ref, bool is_volume)
{
    (void)is_volume;
    if (check_required(c, ref, "name"))
        check_member_name(c, ref, "name", name_check_dns_subdomain);
}

static void file_ref_rules(struct check *c, const struct place *ref, bool is_volume)
{
    struct place path = place_member(ref, "path");

    (void)is_volume;
    check_inner_path(c, &path);
}

/* API servers from 1.34 on take any printable name in a pod; Volcano's admission has not followed them. */
static void check_env_name(struct check *c, const struct place *up, const char *key)
{
    struct place at = place_member(up, key);
    struct str name = json_text(at.node, STR(""));
    bool is_good = !str_starts(name, STR("..")) && !str_is(name, ".");

    if (c->is_pod) {
        const char *why = name.n ? name_check_env(c->arena, name) : NULL;

        if (why)
            check_error(c, &at, "%s", why);
        return;
    }

    for (size_t i = 0; i < name.n; i++) {
        char ch = name.p[i];
        bool is_digit = ch >= '0' && ch <= '9';

        is_good = is_good && ((is_digit && i > 0) || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
                              ch == '_' || ch == '-' || ch == '.');
    }
    if (!is_good)
        check_error(c, &at,
                    "must be letters, digits, '_', '-' and '.', and not begin with a digit or \"..\" (got \"%.*s\")",
                    STR_ARG(name));
}

static void check_env(struct pod_check *pc, const struct place *var)
{
    static const char *const sources[] = { "fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef",
                                           "fileKeyRef" };
    static void (*const rules[])(struct check *, const struct place *, bool) = {
        pod_field_ref_rules, pod_resource_ref_rules, key_ref_rules, key_ref_rules, file_ref_rules,
    };
    struct place from = place_object(var, "valueFrom");
    int found;

    _Static_assert(ARRAY_LEN(sources) == ARRAY_LEN(rules), "a rule for each source");
    check_env_name(pc->c, var, "name");
    if (!from.node)
        return;
    if (json_member_text(var->node, "value").n)
        check_error(pc->c, &from, "may not be specified when value is not empty");
    found = check_one_of(pc->c, &from, sources, ARRAY_LEN(sources), "source");
    if (found >= 0) {
        struct place ref = place_object(&from, sources[found]);

        if (ref.node)
            rules[found](pc->c, &ref, false);
    }
}

static void check_env_from(struct pod_check *pc, const struct place *from)
{
    static const char *const sources[] = { "configMapRef", "secretRef" };
    int found = check_one_of(pc->c, from, sources, ARRAY_LEN(sources), "source");

    check_env_name(pc->c, from, "prefix");
    if (found >= 0) {
        struct place ref = place_object(from, sources[found]);

        if (ref.node)
            key_ref_rules(pc->c, &ref, false);
    }
}

static void check_environment(struct pod_check *pc, const struct place *container)
{
    struct place env = place_list(container, "env"), env_from = place_list(container, "envFrom");

    PLACE_FOREACH(var, &env)
        check_env(pc, &var);
    PLACE_FOREACH(from, &env_from)
        if (json_is(from.node, JSON_OBJECT))
            check_env_from(pc, &from);
}

/* ---- the container ---- */

static void check_identity(struct pod_check *pc, const struct place *container)
{
    struct place at = place_member(container, "name"), at_image = place_member(container, "image");
    struct str name = json_text(at.node, STR("")), image = json_text(at_image.node, STR(""));

    if (name.n && !name_map_add(pc->c->arena, &pc->containers, name, 0, NULL))
        check_error(pc->c, &at,
                    "duplicate container name \"%.*s\": names are unique across containers and "
                    "initContainers",
                    STR_ARG(name));
    if (str_trim(image).n != image.n)
        check_error(pc->c, &at_image, "must not have leading or trailing whitespace");
    else
        (void)check_required(pc->c, container, "image");
}

/* A policy of its own makes an init container a sidecar, and means nothing else. */
static void check_restart_policy(struct pod_check *pc, const struct place *container, bool is_init)
{
    struct place at = place_member(container, "restartPolicy"), rules = place_list(container, "restartPolicyRules");
    struct str policy = json_text(at.node, STR(""));

    if (policy.n && !is_init)
        check_error(pc->c, &at,
                    "may not be set for a container that is no init container: the pod's restartPolicy counts");
    else if (policy.n && !str_is(policy, "Always"))
        check_error(pc->c, &at, "must be Always for an init container (got \"%.*s\")", STR_ARG(policy));
    if (json_count(rules.node) > 0 && policy.n == 0)
        check_error(pc->c, &rules, "must specify restartPolicy when restart rules are used");
}

static void check_resize(struct pod_check *pc, const struct place *container, bool is_init)
{
    bool never_restarts = str_is(json_member_text(pc->spec->node, "restartPolicy"), "Never");
    struct place list = place_list(container, "resizePolicy");

    if (is_init && json_count(list.node) > 0) {
        check_error(pc->c, &list, "must not be set for init containers");
        return;
    }
    PLACE_FOREACH(policy, &list) {
        struct place name = place_member(&policy, "resourceName"), restart = place_member(&policy, "restartPolicy");
        struct str resource = json_text(name.node, STR(""));

        if (resource.n && !str_is(resource, "cpu") && !str_is(resource, "memory"))
            check_error(pc->c, &name, "must be cpu or memory (got \"%.*s\")", STR_ARG(resource));
        if (never_restarts && str_is(json_text(restart.node, STR("")), "RestartContainer"))
            check_error(pc->c, &restart, "must be NotRequired when the pod's restartPolicy is Never");
    }
}

/* What a container claims must be one of the pod's claims. */
static void check_claims(struct pod_check *pc, const struct place *resources)
{
    struct place claims = place_list(resources, "claims");

    PLACE_FOREACH(claim, &claims) {
        struct place at = place_member(&claim, "name");
        struct str name = json_text(at.node, STR(""));

        if (!str_empty(name) && !name_map_find(&pc->claims, name, NULL))
            check_error(pc->c, &at, "the pod has no resource claim \"%.*s\"", STR_ARG(name));
    }
}

static void check_container(struct pod_check *pc, const struct place *container, bool is_init)
{
    struct place resources = place_object(container, "resources");
    bool is_sidecar = is_init && str_is(json_member_text(container->node, "restartPolicy"), "Always");

    if (!json_is(container->node, JSON_OBJECT))
        return;
    check_identity(pc, container);
    admit_pod_container_check_ports(pc, container, is_init && !is_sidecar);
    check_environment(pc, container);
    resource_rules(pc->c, &resources);
    pod_mount_rules(pc, container);
    pod_probe_rules(pc, container, is_init && !is_sidecar);
    check_restart_policy(pc, container, is_init);
    check_resize(pc, container, is_init);
    check_claims(pc, &resources);
}

void pod_container_rules(struct pod_check *pc)
{
    struct place init = place_list(pc->spec, "initContainers"), main = place_list(pc->spec, "containers"),
                 claims = place_list(pc->spec, "resourceClaims");

    PLACE_FOREACH(claim, &claims)
        (void)name_map_add(pc->c->arena, &pc->claims, json_member_text(claim.node, "name"), 0,
                           NULL); /* twice: said elsewhere */
    PLACE_FOREACH(container, &init)
        check_container(pc, &container, true);
    PLACE_FOREACH(container, &main)
        check_container(pc, &container, false);
}
