/* security.c - the rules of the Pod Security Standard "restricted", field by field */
#include "api/pod/security.h"

#include "api/pod/container.h"
#include "api/meta.h"
#include "base/util.h"

#include <stddef.h>

#define WORDS(...)                                                                                                     \
    (const char *const[])                                                                                              \
    {                                                                                                                  \
        __VA_ARGS__, NULL                                                                                              \
    }

enum security_want {
    NOT_TRUE,  /* missing or false */
    NOT_FALSE, /* missing or true */
    IS_FALSE,  /* false, not missing */
    NOT_ZERO,  /* missing or another number */
    IS_ZERO,   /* missing or 0 */
    IS_EMPTY,  /* missing or "" */
    ONE_OF,    /* missing, or one of 'words' */
    HAS_ALL,   /* a list with "ALL" in it */
};

struct security_row {
    const char *path; /* below the pod's spec, or a container: "a.b[].c" */
    enum security_want want;
    const char *const *words;
    struct security_rule rule;
};

#define ADD(line) "; add \"" line "\""

#define SELINUX_TYPES                                                                                                  \
    ONE_OF, WORDS("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"),                     \
    {                                                                                                                  \
        "must be missing, container_t, container_init_t, container_kvm_t or container_engine_t", NULL                  \
    }
#define PROFILES                                                                                                       \
    ONE_OF, WORDS("RuntimeDefault", "Localhost"),                                                                      \
    {                                                                                                                  \
        "must be RuntimeDefault or Localhost",                                                                         \
            "no filter: these pods may use every system call or file that their user may"                              \
    }
#define NO_HOST                                                                                                        \
    IS_EMPTY, NULL,                                                                                                    \
    {                                                                                                                  \
        "must not be set: the probe could reach any host", NULL                                                        \
    }

/* In the securityContext of pods and of containers. */
static const struct security_row both_rows[] = {
    { "windowsOptions.hostProcess", NOT_TRUE, NULL, { "must not be true", "a process of the host" } },
    { "runAsUser", NOT_ZERO, NULL, { "must not be 0 (root)", NULL } },
    { "runAsNonRoot", NOT_FALSE, NULL, { "must not be false", NULL } },
    { "seLinuxOptions.type", SELINUX_TYPES },
    { "seLinuxOptions.user", IS_EMPTY, NULL, { "must not be set", NULL } },
    { "seLinuxOptions.role", IS_EMPTY, NULL, { "must not be set", NULL } },
    { "seccompProfile.type", PROFILES },
    { "appArmorProfile.type", PROFILES },
};

static const struct security_row pod_rows[] = {
    { "hostNetwork", NOT_TRUE, NULL, { "must not be true", "these pods are in the network of this machine" } },
    { "hostPID", NOT_TRUE, NULL, { "must not be true", "these pods see all processes of this machine" } },
    { "hostIPC", NOT_TRUE, NULL, { "must not be true", "these pods share memory with programs of this machine" } },
    { "securityContext.sysctls[].name",
      ONE_OF,
      WORDS("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
            "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports",
            "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
            "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
            "net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat"),
      { "is not one of the sysctls that are safe to set", NULL } },
};

static const struct security_row container_rows[] = {
    { "securityContext.privileged",
      NOT_TRUE,
      NULL,
      { "must not be true", "these containers have all that root of this machine has: devices, mounts, the kernel" } },
    { "securityContext.allowPrivilegeEscalation",
      IS_FALSE,
      NULL,
      { "must be false" ADD("allowPrivilegeEscalation: false"), NULL } },
    { "securityContext.procMount", ONE_OF, WORDS("Default"), { "must be Default", NULL } },
    { "securityContext.capabilities.drop", HAS_ALL, NULL, { "must have ALL" ADD("drop: [ALL]"), NULL } },
    { "securityContext.capabilities.add[]",
      ONE_OF,
      WORDS("NET_BIND_SERVICE"),
      { "must not be added: only NET_BIND_SERVICE may be", "these containers have more of root's capabilities" } },
    { "ports[].hostPort", IS_ZERO, NULL, { "must not be set", NULL } },
    { "livenessProbe.httpGet.host", NO_HOST },
    { "livenessProbe.tcpSocket.host", NO_HOST },
    { "readinessProbe.httpGet.host", NO_HOST },
    { "readinessProbe.tcpSocket.host", NO_HOST },
    { "startupProbe.httpGet.host", NO_HOST },
    { "startupProbe.tcpSocket.host", NO_HOST },
    { "lifecycle.postStart.httpGet.host", NO_HOST },
    { "lifecycle.postStart.tcpSocket.host", NO_HOST },
    { "lifecycle.preStop.httpGet.host", NO_HOST },
    { "lifecycle.preStop.tcpSocket.host", NO_HOST },
};

/* Set for the pod, or else for each of its containers. */
static const struct {
    const char *path[3];
    struct security_rule rule;
} inherited_rows[] = {
    { { "runAsNonRoot", NULL },
      { "must be true, here or in every container" ADD("runAsNonRoot: true") " and a runAsUser above 0", NULL } },
    { { "seccompProfile", "type", NULL },
      { "must be RuntimeDefault or Localhost, here or in every container" ADD("seccompProfile: {type: RuntimeDefault}"),
        NULL } },
};

struct security_walk {
    security_finding_f each;
    void *ctx;
};

/* ---- one field ---- */

static bool security_has_word(const char *const *words, struct str text)
{
    for (; *words; words++)
        if (str_is(text, *words))
            return true;
    return false;
}

static bool list_has_all(const struct json *list)
{
    JSON_FOREACH(item, list)
        if (str_is(json_text(item, STR_NULL), "ALL"))
            return true;
    return false;
}

static bool is_fine(const struct security_row *row, const struct json *node)
{
    bool is_missing = !node || node->type == JSON_NULL;

    switch (row->want) {
    case NOT_TRUE:
        return !json_bool(node, false);
    case NOT_FALSE:
        return json_bool(node, true);
    case IS_FALSE:
        return !is_missing && !json_bool(node, true);
    case NOT_ZERO:
        return is_missing || json_i64(node, 1) != 0;
    case IS_ZERO:
        return json_i64(node, 0) == 0;
    case IS_EMPTY:
        return str_empty(json_text(node, STR_NULL));
    case ONE_OF:
        return is_missing || security_has_word(row->words, json_text(node, STR_NULL));
    case HAS_ALL:
        return list_has_all(node);
    }
    return true;
}

/* Go down 'path' from 'at' and look at what is there, or missing. */
static void walk_path(const struct security_walk *w, const struct place *at, const char *path,
                      const struct security_row *row)
{
    size_t n = strcspn(path, ".[");
    struct place next = { at, json_get_str(at->node, (struct str){ path, n }), { path, n }, 0 };
    size_t i = 0;

    if (*path == '\0') {
        if (!is_fine(row, at->node))
            w->each(w->ctx, at, &row->rule);
        return;
    }
    path += n;
    if (strncmp(path, "[]", 2) != 0) {
        walk_path(w, &next, path + (*path == '.'), row);
        return;
    }
    path += 2;
    if (json_is(next.node, JSON_ARRAY))
        JSON_FOREACH(node, next.node) {
            struct place item = place_item(&next, node, i++);

            walk_path(w, &item, path + (*path == '.'), row);
        }
}

static void walk_rows(const struct security_walk *w, const struct place *at, const struct security_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        walk_path(w, at, rows[i].path, &rows[i]);
}

/* ---- what a container may leave to its pod ---- */

static const struct json *down(const struct json *context, const char *const *path)
{
    for (; *path; path++)
        context = json_get(context, *path);
    return context && context->type != JSON_NULL ? context : NULL;
}

static bool all_containers_have(const struct json *spec, const char *const *path)
{
    CONTAINER_FOREACH(c, spec)
        if (!down(json_get(c, "securityContext"), path))
            return false;
    return true;
}

static void walk_inherited(const struct security_walk *w, const struct place *spec)
{
    struct place context = place_member(spec, "securityContext");

    for (size_t i = 0; i < ARRAY_LEN(inherited_rows); i++) {
        const char *const *path = inherited_rows[i].path;
        struct place first = place_member(&context, path[0]), second = { 0 };

        if (down(context.node, path) || all_containers_have(spec->node, path))
            continue;
        if (path[1])
            second = place_member(&first, path[1]);
        w->each(w->ctx, path[1] ? &second : &first, &inherited_rows[i].rule);
    }
}

/* ---- volumes and annotations ---- */

static void walk_volumes(const struct security_walk *w, const struct place *spec)
{
    static const char *const allowed[] = { "name",      "configMap", "csi",       "downwardAPI",           "emptyDir",
                                           "ephemeral", "image",     "projected", "persistentVolumeClaim", "secret",
                                           NULL };
    static const struct security_rule of_host = { "must not be used: a volume may not be a directory of the machine",
                                                  "these pods have files of this machine" },
                                      of_others = { "must not be used: only volumes of the pod, claims and csi may be",
                                                    NULL };
    struct place volumes = place_member(spec, "volumes");
    size_t i = 0;

    JSON_FOREACH(node, volumes.node) {
        struct place volume = place_item(&volumes, node, i++);

        JSON_FOREACH(member, node) {
            struct place at = { &volume, member, json_key(member), 0 };

            if (json_is(member, JSON_OBJECT) && !security_has_word(allowed, json_key(member)))
                w->each(w->ctx, &at, str_is(json_key(member), "hostPath") ? &of_host : &of_others);
        }
    }
}

static void walk_annotations(const struct security_walk *w, const struct place *pod)
{
    static const struct security_rule profile = { "must be runtime/default or localhost/…",
                                                  "no filter: these pods may use every file that their user may" };
    struct place meta = place_member(pod, "metadata"), notes = place_member(&meta, "annotations");

    JSON_FOREACH(node, notes.node) {
        struct place at = { &notes, node, json_key(node), 0 };
        struct str value = json_text(node, STR_NULL);

        if (str_starts(json_key(node), STR("container.apparmor.security.beta.kubernetes.io/")) && !str_empty(value) &&
            !str_is(value, "runtime/default") && !str_starts(value, STR("localhost/")))
            w->each(w->ctx, &at, &profile);
    }
}

/* ---- all of it ---- */

void pod_security_walk(const struct place *pod, security_finding_f each, void *ctx)
{
    struct security_walk w = { each, ctx };
    struct place spec = place_member(pod, "spec"), context = place_member(&spec, "securityContext");

    walk_annotations(&w, pod);
    walk_rows(&w, &spec, pod_rows, ARRAY_LEN(pod_rows));
    walk_rows(&w, &context, both_rows, ARRAY_LEN(both_rows));
    walk_inherited(&w, &spec);
    walk_volumes(&w, &spec);
    for (size_t i = 0; i < CONTAINER_LISTS; i++) {
        struct place list = place_member(&spec, container_lists[i]);
        size_t k = 0;

        JSON_FOREACH(node, list.node) {
            struct place c = place_item(&list, node, k++), own = place_member(&c, "securityContext");

            walk_rows(&w, &c, container_rows, ARRAY_LEN(container_rows));
            walk_rows(&w, &own, both_rows, ARRAY_LEN(both_rows));
        }
    }
}

static void add_error(void *ctx, const struct place *at, const struct security_rule *rule)
{
    problem_error(ctx, at, "%s (Pod Security \"restricted\")", rule->must);
}

void pod_security_check(const struct place *pod, struct problems *ps)
{
    pod_security_walk(pod, add_error, ps);
}

/* ---- whose pod it is ---- */

static const struct {
    const char *word;
    size_t offset; /* of a bool in struct tenant */
} tenant_words[] = {
    { "ids", offsetof(struct tenant, has_own_ids) },
    { "host-files", offsetof(struct tenant, has_host_files) },
    { "host-services", offsetof(struct tenant, has_host_services) },
};

static bool *tenant_flag(struct tenant *t, size_t i)
{
    return (bool *)((char *)t + tenant_words[i].offset);
}

struct tenant tenant_of(const struct json *pod)
{
    const struct json *note = json_find(pod, "metadata", "annotations", TENANT_ANNOTATION, NULL);
    struct str text = json_text(note, STR_NULL), word;
    struct tenant t = { .is_tenant = note != NULL };

    while (str_split(&text, ',', &word))
        for (size_t i = 0; i < ARRAY_LEN(tenant_words); i++)
            if (str_is(word, tenant_words[i].word))
                *tenant_flag(&t, i) = true;
    return t;
}

struct str tenant_text(struct arena *a, const struct tenant *t)
{
    struct tenant copy = *t;
    autobuf out = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(tenant_words); i++)
        if (*tenant_flag(&copy, i))
            buf_fmt(&out, "%s%s", out.n ? "," : "", tenant_words[i].word);
        else if (i == 0)
            buf_str(&out, STR("user"));
    return arena_str(a, buf_view(&out));
}
