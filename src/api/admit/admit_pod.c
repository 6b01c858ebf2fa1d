/* admit_pod.c - pod templates as core Kubernetes checks them: the rules between fields
 *
 * Types, ranges, enums and the form of names are in the schema tables; here is what needs more than one field to see.
 * Containers, volumes, placement and resources have files of their own.
 */
#include "api/admit/admit_internal.h"

#include "api/meta.h"
#include "api/name.h"
#include "api/schema/schemas.h"
#include "base/util.h"

/* ---- names the pod resolves ---- */

static void check_ip(struct check *c, const struct place *at)
{
    struct str ip = json_text(at->node, STR(""));

    if (ip.n && !text_is_ip(ip))
        check_error(c, at, "must be an IPv4 or IPv6 address (got \"%.*s\")", STR_ARG(ip));
}

static void check_host_aliases(struct check *c, const struct place *spec)
{
    struct place aliases = place_list(spec, "hostAliases");

    PLACE_FOREACH(alias, &aliases) {
        struct place ip = place_member(&alias, "ip");

        check_ip(c, &ip);
    }
}

#define NAMESERVERS_MAX   3
#define SEARCHES_MAX      32
#define SEARCHES_TEXT_MAX 2048

/* A domain; unlike other names it may have underscores, and a dot at the end. */
static void check_search(struct check *c, const struct place *at)
{
    struct str text = json_text(at->node, STR(""));
    char *plain = arena_alloc(c->arena, text.n + 1);
    const char *why;

    for (size_t i = 0; i < text.n; i++)
        plain[i] = text.p[i] == '_' ? 'x' : text.p[i];
    if (!json_is(at->node, JSON_STRING) || str_is(text, "."))
        return;
    why = name_check_dns_subdomain(c->arena, (struct str){ plain, text.n - str_ends(text, STR(".")) });
    if (why)
        check_error(c, at, "must be a domain such as \"example.com\", or \".\" (got \"%.*s\")", STR_ARG(text));
}

static void check_dns_lists(struct check *c, const struct place *config)
{
    struct place searches = place_list(config, "searches"), options = place_list(config, "options");
    size_t bytes = 0;

    PLACE_FOREACH(search, &searches) {
        check_search(c, &search);
        bytes += json_text(search.node, STR("")).n + (search.index > 0);
    }
    if (bytes > SEARCHES_TEXT_MAX)
        check_error(c, &searches,
                    "must not have more than %d characters in all, spaces between them included (has %zu)",
                    SEARCHES_TEXT_MAX, bytes);
    PLACE_FOREACH(option, &options)
        if (json_is(option.node, JSON_OBJECT))
            (void)check_required(c, &option, "name");
}

static void check_dns(struct check *c, const struct place *spec)
{
    struct place config = place_object(spec, "dnsConfig"), servers = place_list(&config, "nameservers");
    struct place searches = place_list(&config, "searches"), at = place_member(spec, "dnsConfig");

    if (str_is(json_member_text(spec->node, "dnsPolicy"), "None") && json_count(servers.node) == 0)
        check_error(c, &at, "must provide at least one DNS nameserver when dnsPolicy is None");
    if (json_count(servers.node) > NAMESERVERS_MAX)
        check_error(c, &servers, "must not have more than %d nameservers", NAMESERVERS_MAX);
    if (json_count(searches.node) > SEARCHES_MAX)
        check_error(c, &searches, "must not have more than %d search paths", SEARCHES_MAX);
    PLACE_FOREACH(server, &servers)
        check_ip(c, &server);
    check_dns_lists(c, &config);
}

static void check_hostname(struct check *c, const struct place *spec)
{
    struct place override = place_member(spec, "hostnameOverride");

    if (json_text(override.node, STR("")).n == 0)
        return;
    if (json_bool(json_get(spec->node, "hostNetwork"), false))
        check_error(c, &override, "must not be set together with hostNetwork");
    if (json_bool(json_get(spec->node, "setHostnameAsFQDN"), false))
        check_error(c, &override, "must not be set together with setHostnameAsFQDN");
}

/* ---- sharing with the host ---- */

static void check_namespaces(struct check *c, const struct place *spec)
{
    static const char *const shared[] = { "hostNetwork", "hostPID", "hostIPC" };
    struct place process = place_member(spec, "shareProcessNamespace");
    bool has_own_users = !json_bool(json_get(spec->node, "hostUsers"), true);

    if (json_bool(process.node, false) && json_bool(json_get(spec->node, "hostPID"), false))
        check_error(c, &process, "shareProcessNamespace and hostPID cannot both be enabled");
    for (size_t i = 0; has_own_users && i < ARRAY_LEN(shared); i++) {
        struct place at = place_member(spec, shared[i]);

        if (json_bool(at.node, false))
            check_error(c, &at, "must be false when hostUsers is false");
    }
}

/* ---- lists of named things ---- */

static void check_named_lists(struct check *c, const struct place *spec)
{
    static const char *const claim_sources[] = { "resourceClaimName", "resourceClaimTemplateName" };
    struct place secrets = place_list(spec, "imagePullSecrets"), claims = place_list(spec, "resourceClaims");

    pod_list_rules(c, spec);
    PLACE_FOREACH(claim, &claims)
        (void)check_one_of(c, &claim, claim_sources, ARRAY_LEN(claim_sources), "source of the claim");
    PLACE_FOREACH(secret, &secrets)
        if (json_is(secret.node, JSON_OBJECT) && json_member_text(secret.node, "name").n == 0)
            check_warn(c, &secret, "names no secret: it has no effect");
}

/* ---- security ---- */

static void check_profile(struct check *c, const struct place *context, const char *key)
{
    struct place profile = place_object(context, key), file = place_member(&profile, "localhostProfile");
    bool is_localhost = str_is(json_member_text(profile.node, "type"), "Localhost");

    if (!profile.node)
        return;
    if (is_localhost && json_text(file.node, STR("")).n == 0)
        check_of(c, PROBLEM_REQUIRED, &file, "is required when type is Localhost");
    if (!is_localhost && json_text(file.node, STR("")).n > 0)
        check_error(c, &file, "must only be set when type is Localhost");
    if (str_is(STR("seccompProfile"), key))
        check_inner_path(c, &file);
}

static const struct json *effective(const struct json *own, const struct json *pod, const char *key)
{
    const struct json *j = json_get(own, key);

    return is_set(j) ? j : json_get(pod, key);
}

/* The API server takes it, and the container never starts: worth a word. */
static void check_non_root(struct check *c, const struct place *context, const struct json *pod)
{
    const struct json *non_root = effective(context->node, pod, "runAsNonRoot");
    const struct json *user = effective(context->node, pod, "runAsUser");
    struct place at = place_member(context, "runAsNonRoot");

    if (json_bool(non_root, false) && json_i64(user, 1) == 0)
        check_warn(c, &at, "runAsNonRoot is true but runAsUser is 0: the container will not start");
}

static void check_escalation(struct check *c, const struct place *context)
{
    struct place at = place_member(context, "allowPrivilegeEscalation");
    const struct json *added = json_find(context->node, "capabilities", "add", NULL);

    if (json_bool(at.node, true))
        return;
    if (json_bool(json_get(context->node, "privileged"), false))
        check_error(c, &at, "cannot set allowPrivilegeEscalation to false and privileged to true");
    JSON_FOREACH(capability, added)
        if (str_is(json_text(capability, STR("")), "CAP_SYS_ADMIN"))
            check_error(c, &at, "cannot set allowPrivilegeEscalation to false and add the capability CAP_SYS_ADMIN");
}

/* Segments of small letters and digits, with '-' and '_' inside, between dots or slashes. */
static bool is_sysctl_name(struct str s)
{
    bool was_inner = false; /* the last character may be followed by a separator or the end */

    for (size_t i = 0; i < s.n; i++) {
        bool is_alnum = (s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9');

        if (s.p[i] == '-' || s.p[i] == '_') {
            if (i == 0 || s.p[i - 1] == '.' || s.p[i - 1] == '/')
                return false;
        } else if (s.p[i] == '.' || s.p[i] == '/') {
            if (!was_inner)
                return false;
        } else if (!is_alnum) {
            return false;
        }
        was_inner = is_alnum;
    }
    return was_inner && s.n <= 253;
}

/* A sysctl of a namespace that the pod shares with the host would be the host's. */
static void check_sysctl(struct check *c, const struct place *sysctl, const struct place *spec)
{
    static const struct {
        const char *prefix, *shared;
    } namespaces[] = {
        { "net.", "hostNetwork" },    { "fs.mqueue.", "hostIPC" }, { "kernel.shm", "hostIPC" },
        { "kernel.msgm", "hostIPC" }, { "kernel.sem", "hostIPC" },
    };
    struct place at = place_member(sysctl, "name");
    struct str name = json_text(at.node, STR(""));

    if (name.n && !is_sysctl_name(name)) {
        check_error(c, &at, "must be the name of a sysctl, such as net.core.somaxconn (got \"%.*s\")", STR_ARG(name));
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(namespaces); i++)
        if (str_starts(name, str_of(namespaces[i].prefix)) &&
            json_bool(json_get(spec->node, namespaces[i].shared), false))
            check_error(c, &at, "may not be set when %s is true", namespaces[i].shared);
}

static void check_proc_mount(struct check *c, const struct place *context, const struct place *spec)
{
    struct place at = place_member(context, "procMount");

    if (str_is(json_text(at.node, STR("")), "Unmasked") && json_bool(json_get(spec->node, "hostUsers"), true))
        check_error(c, &at, "can be Unmasked only when hostUsers is false");
}

void pod_security_rules(struct check *c, const struct place *spec)
{
    static const char *const lists[] = { "initContainers", "containers" };
    struct place pod = place_object(spec, "securityContext"), sysctls = place_list(&pod, "sysctls");

    check_profile(c, &pod, "seccompProfile");
    check_profile(c, &pod, "appArmorProfile");
    PLACE_FOREACH(sysctl, &sysctls)
        check_sysctl(c, &sysctl, spec);
    if (pod.node)
        check_non_root(c, &pod, NULL);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct place containers = place_list(spec, lists[i]);

        PLACE_FOREACH(container, &containers) {
            struct place own = place_object(&container, "securityContext");

            check_profile(c, &own, "seccompProfile");
            check_profile(c, &own, "appArmorProfile");
            check_escalation(c, &own);
            check_proc_mount(c, &own, spec);
            if (own.node && (is_set(json_get(own.node, "runAsUser")) || is_set(json_get(own.node, "runAsNonRoot"))))
                check_non_root(c, &own, pod.node);
        }
    }
}

/* ---- the template ---- */

static void admit_pod_check_spec(struct check *c, const struct place *spec)
{
    struct pod_check pc = { .c = c,
                            .spec = spec,
                            .is_host_network = json_bool(json_get(spec->node, "hostNetwork"), false) };
    struct place resources = place_object(spec, "resources"), overhead = place_object(spec, "overhead");
    struct place selector = place_object(spec, "nodeSelector"), debug = place_list(spec, "ephemeralContainers");

    if (json_count(debug.node) > 0)
        check_error(c, &debug, "ephemeral containers not allowed in pod template");
    pod_volume_rules(&pc); /* before the containers, which mount them */
    pod_container_rules(&pc);
    pod_security_rules(c, spec);
    pod_placement_rules(c, spec);
    check_labels(c, &selector);
    resource_rules(c, &resources);
    resource_list_rules(c, &overhead, true);
    check_host_aliases(c, spec);
    check_dns(c, spec);
    check_hostname(c, spec);
    check_namespaces(c, spec);
    check_named_lists(c, spec);
}

void pod_template_rules(struct check *c, const struct place *template)
{
    struct place meta = place_object(template, "metadata"), spec = place_member(template, "spec");
    struct place labels = place_object(&meta, "labels"), annotations = place_object(&meta, "annotations");

    check_labels(c, &labels);
    check_annotations(c, &annotations);
    if (json_is(spec.node, JSON_OBJECT)) {
        admit_pod_check_spec(c, &spec);
    } else if (!is_set(spec.node)) {
        struct place containers = place_member(&spec, "containers");

        check_of(c, PROBLEM_REQUIRED, &containers, "is required: a pod needs at least one container");
    }
}

void admit_pod_check(const struct place *pod, bool is_clean, struct problems *ps)
{
    size_t start = ps->list.n;
    struct check c;

    if (!is_clean)
        schema_check(&schema_pod, pod, ps);
    meta_check(pod, NULL, true, ps);
    c = check_begin(ps, start);
    c.is_pod = true;
    pod_template_rules(&c, pod);
}
