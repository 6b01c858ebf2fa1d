/* admission_token.c - what a pod gets of its ServiceAccount: the token, mounted as Kubernetes does it, and Secrets for
 * registries
 *
 * The token is for programs in the pod that speak to this server by its in-cluster configuration: token, ca.crt and namespace below
 * one directory. The agent asks for the token, and for another one before it ends.
 */
#include "server/server_internal.h"

#include "api/pod/container.h"
#include "base/rand.h"

#define ACCESS_VOLUME "kube-api-access-"
#define ACCESS_PATH   "/var/run/secrets/kubernetes.io/serviceaccount"

enum { TOKEN_S = 3607 }; /* by which Kubernetes knows its own */

static struct json *admission_token_add_source(struct arena *a, struct json *sources, const char *kind)
{
    return json_set(json_push(sources, json_object(a)), kind, json_object(a));
}

static void admission_token_add_item(struct arena *a, struct json *source, const char *key, const char *value,
                                     const char *path)
{
    struct json *item = json_push(json_need_array(a, source, "items"), json_object(a));

    json_set(item, key, json_str(a, str_of(value)));
    json_set(item, "path", json_str(a, str_of(path)));
}

static void add_access_volume(struct arena *a, struct json *volumes, struct str name)
{
    struct json *volume = json_push(volumes, json_object(a)), *projected, *sources, *source, *field;

    json_set(volume, "name", json_str(a, name));
    projected = json_set(volume, "projected", json_object(a));
    sources = json_set(projected, "sources", json_array(a));
    source = admission_token_add_source(a, sources, "serviceAccountToken");
    json_set(source, "expirationSeconds", json_int(a, TOKEN_S));
    json_set(source, "path", json_str(a, STR("token")));
    source = admission_token_add_source(a, sources, "configMap");
    json_set(source, "name", json_str(a, STR("kube-root-ca.crt")));
    admission_token_add_item(a, source, "key", "ca.crt", "ca.crt");
    source = admission_token_add_source(a, sources, "downwardAPI");
    field = json_push(json_need_array(a, source, "items"), json_object(a));
    json_set(field, "path", json_str(a, STR("namespace")));
    field = json_set(field, "fieldRef", json_object(a));
    json_set(field, "apiVersion", json_str(a, STR("v1")));
    json_set(field, "fieldPath", json_str(a, STR("metadata.namespace")));
    json_set(projected, "defaultMode", json_int(a, 0644));
}

static bool has_mount_at(const struct json *mounts, struct str path)
{
    JSON_FOREACH(m, mounts)
        if (str_eq(json_member_text(m, "mountPath"), path))
            return true;
    return false;
}

/* Where nothing is mounted there by the pod itself. False: the volume is not needed. */
static bool add_access_mounts(struct arena *a, struct json *spec, struct str name)
{
    bool any = false;

    CONTAINER_FOREACH(c, spec) {
        struct json *mounts = json_is(c, JSON_OBJECT) ? json_need_array(a, c, "volumeMounts") : NULL, *mount;

        if (!mounts || has_mount_at(mounts, STR(ACCESS_PATH)))
            continue;
        mount = json_push(mounts, json_object(a));
        json_set(mount, "name", json_str(a, name));
        json_set(mount, "readOnly", json_bool_new(a, true));
        json_set(mount, "mountPath", json_str(a, STR(ACCESS_PATH)));
        any = true;
    }
    return any;
}

static const struct object *account_of(const struct server *s, const struct json *pod)
{
    return store_get(s->opt.store, type_by_kind(STR("v1"), STR("ServiceAccount")), object_namespace(pod),
                     json_member_text(json_get(pod, "spec"), "serviceAccountName"));
}

void admit_pod_pull_secrets(const struct server *s, struct arena *a, struct json *pod, const struct object *old)
{
    struct json *spec = json_get(pod, "spec");
    const struct object *account = old ? NULL : account_of(s, pod);
    const struct json *from = old       ? json_find(old->root, "spec", "imagePullSecrets", NULL)
                              : account ? json_get(account->root, "imagePullSecrets")
                                        : NULL;

    if (json_is(spec, JSON_OBJECT) && json_count(from) && !json_count(json_get(spec, "imagePullSecrets")))
        json_set(spec, "imagePullSecrets", json_copy(a, from));
}

/* The pod's own word, then its account's. */
static bool wants_token(const struct server *s, const struct json *pod)
{
    const struct json *spec = json_get(pod, "spec");
    const struct object *account = account_of(s, pod);
    bool by_account = !account || json_bool(json_get(account->root, "automountServiceAccountToken"), true);

    return json_bool(json_get(spec, "automountServiceAccountToken"), by_account);
}

static struct str access_volume_of(const struct json *pod)
{
    JSON_FOREACH(v, json_find(pod, "spec", "volumes", NULL))
        if (str_starts(json_member_text(v, "name"), STR(ACCESS_VOLUME)))
            return json_member_text(v, "name");
    return STR_NULL;
}

void admit_pod_token(const struct server *s, struct arena *a, struct json *pod, const struct object *old)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    struct json *spec = json_get(pod, "spec"), *volumes;
    struct str name = old ? access_volume_of(old->root) : STR_NULL;
    char text[sizeof(ACCESS_VOLUME) + 5] = ACCESS_VOLUME;
    unsigned char bytes[5];

    if (!json_is(spec, JSON_OBJECT) || access_volume_of(pod).n || (old && !name.n) || (!old && !wants_token(s, pod)))
        return;
    rand_os_bytes(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        text[sizeof(ACCESS_VOLUME) - 1 + i] = letters[bytes[i] % (sizeof(letters) - 1)];
    name = name.n ? name : arena_str(a, str_of(text));
    volumes = json_need_array(a, spec, "volumes");
    if (volumes && add_access_mounts(a, spec, name))
        add_access_volume(a, volumes, name);
}

int admit_pod_account(struct server_request *rq, const struct json *pod)
{
    struct str name = json_member_text(json_get(pod, "spec"), "serviceAccountName"), namespace = object_namespace(pod);

    if (str_is(name, "default") || /* which every namespace gets */
        store_get(rq->server->opt.store, type_by_kind(STR("v1"), STR("ServiceAccount")), namespace, name))
        return 0;
    return fail_with(
        rq, REASON_FORBIDDEN,
        "pods \"%.*s\" is forbidden: error looking up service account %.*s/%.*s: serviceaccount \"%.*s\" not "
        "found",
        STR_ARG(rq->failure.name), STR_ARG(namespace), STR_ARG(name), STR_ARG(name));
}
