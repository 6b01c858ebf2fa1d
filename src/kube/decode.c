/* decode.c - from the server's text to objects and errors */
#include "kube/cluster_internal.h"

#include "api/meta.h"
#include "base/util.h"

#define CONTAINER_STATUS(list)                                                                                         \
    "status." list ".ready", "status." list ".restartCount", "status." list ".state.terminated.exitCode",              \
        "status." list ".state.terminated.finishedAt"

const char *const kube_pod_fields[] = {
    "apiVersion",
    "kind",
    "metadata",
    "-metadata.managedFields",
    "spec.nodeName",
    "spec.schedulingGroup",
    "status.phase",
    "status.podIP",
    "status.conditions.type",
    "status.conditions.status",
    "status.conditions.lastTransitionTime",
    CONTAINER_STATUS("containerStatuses"),
    CONTAINER_STATUS("initContainerStatuses"),
    NULL,
};

#define CONTAINER(list)                                                                                                \
    "-spec." list ".command", "-spec." list ".args", "-spec." list ".env", "-spec." list ".envFrom",                   \
        "-spec." list ".volumeMounts", "-spec." list ".livenessProbe", "-spec." list ".readinessProbe",                \
        "-spec." list ".startupProbe", "-spec." list ".lifecycle", "-spec." list ".securityContext",                   \
        "-spec." list ".terminationMessagePath", "-spec." list ".terminationMessagePolicy"

const char *const kube_pod_fields_scheduler[] = {
    "apiVersion",
    "kind",
    "metadata",
    "-metadata.managedFields",
    "spec",
    CONTAINER("containers"),
    CONTAINER("initContainers"),
    "-spec.securityContext",
    "-spec.dnsConfig",
    "-spec.imagePullSecrets",
    "-spec.volumes.projected",
    "-spec.volumes.configMap",
    "-spec.volumes.secret",
    "status.phase",
    "status.podIP",
    "status.conditions",
    "status.startTime",
    "status.nominatedNodeName",
    CONTAINER_STATUS("containerStatuses"),
    CONTAINER_STATUS("initContainerStatuses"),
    NULL,
};

const char *const kube_pod_fields_others[] = {
    "apiVersion",
    "kind",
    "metadata",
    "-metadata.managedFields",
    "spec.schedulerName",
    "spec.nodeName",
    "spec.priorityClassName",
    "spec.overhead",
    "spec.resources",
    "spec.containers.resources",
    "spec.initContainers.resources",
    "spec.initContainers.restartPolicy",
    "status.phase",
    NULL,
};

/* ---- objects ---- */

struct object *decode_tree(struct kube *k, const struct kind *kind, struct json *tree, struct err *e)
{
    struct json *meta = json_get(tree, "metadata");
    uint64_t rev;

    if (!json_member_text(meta, "name").n || str_to_u64(json_member_text(meta, "resourceVersion"), &rev) < 0) {
        (void)err_set(e, ERR_SYNTAX, "%s: %s without name or resourceVersion", k->opt.config->server.p,
                      kind->type->kind);
        return NULL;
    }
    /* Items of a list of a built-in kind lack them. */
    if (!json_get(tree, "kind"))
        json_set(tree, "kind", json_str(&k->scratch, str_of(kind->type->kind)));
    if (!json_get(tree, "apiVersion"))
        json_set(tree, "apiVersion", json_str(&k->scratch, kind->api_version));
    return object_make(kind->type, tree, rev);
}

struct object *decode_object(struct kube *k, const struct kind *kind, struct str text, struct err *e)
{
    struct json *tree;

    arena_reset(&k->scratch);
    if (json_parse_masked(&k->scratch, text, kind->object, &tree, e) < 0) {
        (void)err_wrap(e, "%s from the API server", kind->type->kind);
        return NULL;
    }
    return decode_tree(k, kind, tree, e);
}

/* ---- errors ---- */

static const struct {
    int code;
    enum err_code means;
} codes[] = {
    { 400, ERR_INVALID }, { 401, ERR_FORBIDDEN }, { 403, ERR_FORBIDDEN }, { 404, ERR_NOT_FOUND },
    { 405, ERR_INVALID }, { 406, ERR_INVALID },   { 409, ERR_CONFLICT },  { 410, ERR_GONE },
    { 413, ERR_TOO_BIG }, { 415, ERR_INVALID },   { 422, ERR_INVALID },
};

/* The uid of an object never changes, so one in a patch is a precondition; servers say so with 422. */
static bool is_other_uid(const struct json *status)
{
    JSON_FOREACH(cause, json_find(status, "details", "causes", NULL))
        if (str_is(json_member_text(cause, "field"), "metadata.uid"))
            return true;
    return false;
}

void decode_status(int code, const struct json *status, struct err *ret)
{
    struct str message = json_member_text(status, "message"), reason = json_member_text(status, "reason");
    enum err_code means = ERR_IO;

    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (codes[i].code == code)
            means = codes[i].means;
    if (str_is(reason, "AlreadyExists"))
        means = ERR_EXISTS;
    if (code == 422 && is_other_uid(status))
        means = ERR_CONFLICT;
    if (message.n)
        (void)err_set(ret, means, "%.*s", STR_ARG(str_sub(message, 0, 450)));
    else
        (void)err_set(ret, means, "the API server answered %d%s%.*s", code, reason.n ? " " : "", STR_ARG(reason));
}

void decode_failure(struct kube *k, const struct http_answer *a, struct err *ret)
{
    struct json *status = NULL;

    arena_reset(&k->scratch);
    if (a->err.code != ERR_OK) {
        *ret = a->err;
        return;
    }
    if (json_parse(&k->scratch, a->body, NULL, &status, NULL) < 0 ||
        !str_is(json_member_text(status, "kind"), "Status"))
        status = NULL; /* a proxy's page, perhaps */
    decode_status(a->status, status, ret);
    if (a->status == 401)
        (void)err_wrap(ret, "%.*s: the API server rejected our credentials", STR_ARG(k->opt.config->origin));
}

int64_t decode_retry_ms(const struct http_answer *a)
{
    int64_t s;

    return str_to_i64(http_header(a, "Retry-After"), &s) < 0 || s < 0 ? 0 : MIN_OF(s, 3600) * 1000;
}
