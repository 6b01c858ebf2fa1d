/* discovery.c - which kinds there are and what can be done with them: /api, /apis and below, in both forms
 *
 * Both are made from the table of types and the table of subresources below. The aggregated form is asked for by the
 * Accept header, and the client knows by the Content-Type which one it got.
 */
#include "server/server_internal.h"

#include <openssl/sha.h>

/* ---- verbs ---- */

bool type_allows(const struct resource_type *t, enum verb v)
{
    if (t->use == TYPE_ASKED)
        return v == VERB_CREATE;
    return v < VERB_MAX && !(v == VERB_DELETE_COLLECTION && strcmp(t->plural, "namespaces") == 0);
}

/* In the order in which the API lists them. */
static struct json *verbs_of(struct arena *a, const struct resource_type *t)
{
    static const enum verb order[] = { VERB_CREATE, VERB_DELETE, VERB_DELETE_COLLECTION,
                                       VERB_GET,    VERB_LIST,   VERB_PATCH,
                                       VERB_UPDATE, VERB_WATCH };
    struct json *list = json_array(a);

    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        if (type_allows(t, order[i]))
            json_push(list, json_str(a, str_of(verb_names[order[i]])));
    return list;
}

/* ---- subresources ---- */

#define STREAM(f) .handle = { [VERB_CREATE] = (f), [VERB_GET] = (f) }

static const struct subresource subresources[] = {
    { "status",
      NULL,
      NULL,
      NULL,
      { "get", "patch", "update" },
      .handle = { [VERB_GET] = handle_get, [VERB_PATCH] = handle_patch, [VERB_UPDATE] = handle_update } },
    { "finalize", NULL, NULL, NULL, { "update" }, .handle = { [VERB_UPDATE] = handle_finalize } },
    { "binding", "", "v1", "Binding", { "create" }, .handle = { [VERB_CREATE] = handle_binding } },
    { "eviction", "policy", "v1", "Eviction", { "create" }, .handle = { [VERB_CREATE] = handle_eviction } },
    { "token",
      "authentication.k8s.io",
      "v1",
      "TokenRequest",
      { "create" },
      .handle = { [VERB_CREATE] = handle_token } },
    { "log", NULL, NULL, NULL, { "get" }, .handle = { [VERB_GET] = handle_log } },
    { "exec", "", "v1", "PodExecOptions", { "create", "get" }, STREAM(handle_exec) },
    { "attach", "", "v1", "PodAttachOptions", { "create", "get" }, STREAM(handle_attach) },
    { "portforward", "", "v1", "PodPortForwardOptions", { "create", "get" }, STREAM(handle_portforward) },
};

const struct subresource *subresource_of(const struct resource_type *t, struct str name)
{
    if (!type_has_subresource(t, name))
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(subresources); i++)
        if (str_is(name, subresources[i].name))
            return &subresources[i];
    return NULL;
}

static struct json *texts(struct arena *a, const char *const *list, size_t max)
{
    struct json *j = json_array(a);

    for (size_t i = 0; i < max && list[i]; i++)
        json_push(j, json_str(a, str_of(list[i])));
    return j;
}

static void add_text(struct arena *a, struct json *j, const char *key, const char *text)
{
    json_add(j, str_of(key), json_str(a, str_of(text)));
}

/* ---- groups, in their order ---- Kubernetes' own first, so that short names mean what they always meant ---- */

static bool is_served(const struct resource_type *t)
{
    return t->use != TYPE_ELSEWHERE;
}

#define TYPE_FOREACH(t)                                                                                                \
    for (const struct resource_type *t = resource_types; t < resource_types + n_resource_types; t++)                   \
        if (is_served(t))

/* The first type of the i-th group; NULL: there are no more. The core group is none of them. Each group has one
 * version. */
static const struct resource_type *group_at(size_t i)
{
    for (int pass = 0; pass < 2; pass++)
        TYPE_FOREACH(t)
        {
            bool is_ours = str_ends(str_of(t->group), STR(".volcano.sh")), is_first = true;

            for (const struct resource_type *before = resource_types; before < t; before++)
                is_first &= !is_served(before) || strcmp(before->group, t->group) != 0;
            if (t->group[0] && is_ours == (pass == 1) && is_first && i-- == 0)
                return t;
        }
    return NULL;
}

static const struct resource_type *group_find(struct str group)
{
    TYPE_FOREACH(t)
    if (str_is(group, t->group))
        return t;
    return NULL;
}

/* ---- the plain form ---- */

static struct json *version_entry(struct arena *a, const struct resource_type *t)
{
    struct json *j = json_object(a);

    json_add(j, STR("groupVersion"), json_str(a, type_api_version(a, t)));
    add_text(a, j, "version", t->version);
    return j;
}

static struct json *group_entry(struct arena *a, const struct resource_type *t, bool is_alone)
{
    struct json *j = json_object(a);

    if (is_alone) {
        add_text(a, j, "kind", "APIGroup");
        add_text(a, j, "apiVersion", "v1");
    }
    add_text(a, j, "name", t->group);
    json_push(json_add(j, STR("versions"), json_array(a)), version_entry(a, t));
    json_add(j, STR("preferredVersion"), version_entry(a, t));
    return j;
}

static struct json *group_list(struct arena *a)
{
    struct json *j = json_object(a), *groups;

    add_text(a, j, "kind", "APIGroupList");
    add_text(a, j, "apiVersion", "v1");
    groups = json_add(j, STR("groups"), json_array(a));
    for (size_t i = 0; group_at(i); i++)
        json_push(groups, group_entry(a, group_at(i), false));
    return j;
}

static struct json *core_versions(struct request *rq)
{
    struct json *j = json_object(rq->arena), *address;

    add_text(rq->arena, j, "kind", "APIVersions");
    json_push(json_add(j, STR("versions"), json_array(rq->arena)), json_str(rq->arena, STR("v1")));
    address = json_push(json_add(j, STR("serverAddressByClientCIDRs"), json_array(rq->arena)), json_object(rq->arena));
    add_text(rq->arena, address, "clientCIDR", "0.0.0.0/0");
    json_add(address, STR("serverAddress"), json_str(rq->arena, http_call_header(rq->call, "Host")));
    return j;
}

static void add_subresource(struct arena *a, struct json *list, const struct resource_type *t, const char *name)
{
    const struct subresource *sub = subresource_of(t, str_of(name));
    struct json *j;

    if (!sub)
        return;
    j = json_push(list, json_object(a));
    json_add(j, STR("name"), json_fmt(a, "%s/%s", t->plural, name));
    add_text(a, j, "singularName", "");
    json_add(j, STR("namespaced"), json_bool_new(a, t->scope == SCOPE_NAMESPACED));
    if (sub->group && sub->group[0])
        add_text(a, j, "group", sub->group);
    if (sub->group && sub->group[0])
        add_text(a, j, "version", sub->version);
    add_text(a, j, "kind", sub->kind ? sub->kind : t->kind);
    json_add(j, STR("verbs"), texts(a, sub->verbs, ARRAY_LEN(sub->verbs)));
}

static void add_resource(struct arena *a, struct json *list, const struct resource_type *t)
{
    struct json *j = json_push(list, json_object(a));

    add_text(a, j, "name", t->plural);
    json_add(j, STR("singularName"), json_str(a, type_singular(a, t)));
    json_add(j, STR("namespaced"), json_bool_new(a, t->scope == SCOPE_NAMESPACED));
    add_text(a, j, "kind", t->kind);
    json_add(j, STR("verbs"), verbs_of(a, t));
    if (t->short_names[0])
        json_add(j, STR("shortNames"), texts(a, t->short_names, ARRAY_LEN(t->short_names)));
    if (t->category)
        json_add(j, STR("categories"), texts(a, &t->category, 1));
    for (size_t i = 0; i < ARRAY_LEN(t->subresources) && t->subresources[i]; i++)
        add_subresource(a, list, t, t->subresources[i]);
}

static struct json *resource_list(struct arena *a, const struct resource_type *of)
{
    struct json *j = json_object(a), *list;

    add_text(a, j, "kind", "APIResourceList");
    add_text(a, j, "apiVersion", "v1");
    json_add(j, STR("groupVersion"), json_str(a, type_api_version(a, of)));
    list = json_add(j, STR("resources"), json_array(a));
    TYPE_FOREACH(t)
    if (strcmp(t->group, of->group) == 0 && strcmp(t->version, of->version) == 0)
        add_resource(a, list, t);
    return j;
}

/* ---- the aggregated form ---- */

static struct json *response_kind(struct arena *a, const char *group, const char *version, const char *kind)
{
    struct json *j = json_object(a);

    add_text(a, j, "group", group);
    add_text(a, j, "version", version);
    add_text(a, j, "kind", kind);
    return j;
}

static void aggregate_subresources(struct arena *a, struct json *to, const struct resource_type *t)
{
    struct json *list = json_array(a);

    for (size_t i = 0; i < ARRAY_LEN(t->subresources) && t->subresources[i]; i++) {
        const struct subresource *sub = subresource_of(t, str_of(t->subresources[i]));
        struct json *j;

        if (!sub)
            continue;
        j = json_push(list, json_object(a));
        add_text(a, j, "subresource", sub->name);
        json_add(j, STR("responseKind"),
                 response_kind(a, sub->kind ? sub->group : t->group, sub->kind ? sub->version : t->version,
                               sub->kind ? sub->kind : t->kind));
        json_add(j, STR("verbs"), texts(a, sub->verbs, ARRAY_LEN(sub->verbs)));
    }
    if (list->n)
        json_add(to, STR("subresources"), list);
}

static struct json *aggregate_resource(struct arena *a, const struct resource_type *t)
{
    struct json *j = json_object(a);

    add_text(a, j, "resource", t->plural);
    json_add(j, STR("responseKind"), response_kind(a, t->group, t->version, t->kind));
    add_text(a, j, "scope", t->scope == SCOPE_NAMESPACED ? "Namespaced" : "Cluster");
    json_add(j, STR("singularResource"), json_str(a, type_singular(a, t)));
    json_add(j, STR("verbs"), verbs_of(a, t));
    if (t->short_names[0])
        json_add(j, STR("shortNames"), texts(a, t->short_names, ARRAY_LEN(t->short_names)));
    if (t->category)
        json_add(j, STR("categories"), texts(a, &t->category, 1));
    aggregate_subresources(a, j, t);
    return j;
}

static struct json *aggregate_group(struct arena *a, const struct resource_type *of)
{
    struct json *j = json_object(a), *meta = json_add(j, STR("metadata"), json_object(a)), *version, *list;

    if (of->group[0])
        add_text(a, meta, "name", of->group);
    json_add(meta, STR("creationTimestamp"), json_null(a));
    version = json_push(json_add(j, STR("versions"), json_array(a)), json_object(a));
    add_text(a, version, "version", of->version);
    list = json_add(version, STR("resources"), json_array(a));
    TYPE_FOREACH(t)
    if (strcmp(t->group, of->group) == 0)
        json_push(list, aggregate_resource(a, t));
    add_text(a, version, "freshness", "Current");
    return j;
}

static struct json *aggregate(struct request *rq, bool is_core)
{
    struct arena *a = rq->arena;
    struct json *j = json_object(a), *items;

    add_text(a, j, "kind", "APIGroupDiscoveryList");
    json_add(j, STR("apiVersion"), json_fmt(a, "apidiscovery.k8s.io/%.*s", STR_ARG(rq->accept.version)));
    json_add(j, STR("metadata"), json_object(a));
    items = json_add(j, STR("items"), json_array(a));
    if (is_core)
        json_push(items, aggregate_group(a, group_find(STR(""))));
    for (size_t i = 0; !is_core && group_at(i); i++)
        json_push(items, aggregate_group(a, group_at(i)));
    return j;
}

/* With an ETag: clients ask again and again, and the table does not change while the program runs. */
static int reply_aggregate(struct request *rq, bool is_core)
{
    unsigned char hash[SHA256_DIGEST_LENGTH];
    autobuf body = { 0 }, tag = { 0 };
    const char *type;

    json_print(&body, aggregate(rq, is_core));
    SHA256((const unsigned char *)body.p, body.n, hash);
    buf_str(&tag, STR("ETag: \""));
    for (size_t i = 0; i < sizeof(hash); i++)
        buf_fmt(&tag, "%02X", hash[i]);
    buf_char(&tag, '"');
    type = arena_fmt(rq->arena, "application/json;g=apidiscovery.k8s.io;v=%.*s;as=APIGroupDiscoveryList",
                     STR_ARG(rq->accept.version))
               .p;
    const char *const headers[] = { tag.p, "Vary: Accept", NULL };

    if (str_eq(http_call_header(rq->call, "If-None-Match"), str_from(buf_view(&tag), strlen("ETag: "))))
        reply_text(rq, 304, type, STR(""), headers);
    else
        reply_text(rq, 200, type, buf_view(&body), headers);
    return 0;
}

int handle_discovery(struct request *rq)
{
    const struct target *t = &rq->target;
    bool is_core = str_starts(rq->call->path, STR("/api/")) || str_is(rq->call->path, "/api");
    const struct resource_type *first = group_find(t->group);

    if (!t->version.n && (is_core || !t->group.n) && rq->accept.form == ACCEPT_DISCOVERY)
        return reply_aggregate(rq, is_core);
    if (!t->version.n && is_core) {
        reply_json(rq, 200, core_versions(rq));
    } else if (!t->version.n && !t->group.n) {
        reply_json(rq, 200, group_list(rq->arena));
    } else if (!t->version.n && first) {
        reply_json(rq, 200, group_entry(rq->arena, first, true));
    } else if (first && is_core == !t->group.n && str_is(t->version, first->version)) {
        reply_json(rq, 200, resource_list(rq->arena, first));
    } else {
        fail_with(rq, REASON_NOT_FOUND, "the server could not find the requested resource");
        rq->failure.has_no_details = true;
        return -1;
    }
    return 0;
}
