/* discovery.c - discovery: groups, kinds and verbs at /api, /apis and below, in both formats
 *
 * Both are made from the table of types and the table of subresources below. The aggregated form is asked for by the
 * Accept header, and the client knows by the Content-Type which one it got.
 */
#include "server/server_internal.h"

#include "api/schema/schemas.h"

/* ---- verbs ---- */

bool type_allows(const struct resource_type *t, enum verb v)
{
    if (t->use == TYPE_ASKED)
        return v == VERB_CREATE;
    if (t->use == TYPE_MEASURED)
        return v == VERB_GET || v == VERB_LIST;
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
#define PROXY(kind_)                                                                                                   \
    {                                                                                                                  \
        .name = "proxy", .group = "", .version = "v1", .kind = kind_ "ProxyOptions",                                   \
        .verbs = { "create", "delete", "get", "patch", "update" }, .of = kind_, .handle = {                            \
            [VERB_CREATE] = handle_proxy,                                                                              \
            [VERB_DELETE] = handle_proxy,                                                                              \
            [VERB_GET] = handle_proxy,                                                                                 \
            [VERB_PATCH] = handle_proxy,                                                                               \
            [VERB_UPDATE] = handle_proxy,                                                                              \
            [VERB_NONE] = handle_proxy                                                                                 \
        }                                                                                                              \
    } /* OPTIONS, and whatever else the pod may know */

static const struct subresource subresources[] = {
    { "status",
      NULL,
      NULL,
      NULL,
      { "get", "patch", "update" },
      .handle = { [VERB_GET] = handle_get, [VERB_PATCH] = handle_patch, [VERB_UPDATE] = handle_update } },
    { "finalize", NULL, NULL, NULL, { "update" }, .handle = { [VERB_UPDATE] = handle_finalize } },
    { "binding", "", "v1", "Binding", { "create" }, .handle = { [VERB_CREATE] = handle_binding }, &schema_binding },
    { "eviction",
      "policy",
      "v1",
      "Eviction",
      { "create" },
      .handle = { [VERB_CREATE] = handle_eviction },
      &schema_eviction },
    { "token",
      "authentication.k8s.io",
      "v1",
      "TokenRequest",
      { "create" },
      .handle = { [VERB_CREATE] = handle_token },
      &schema_token_request },
    { "scale",
      "autoscaling",
      "v1",
      "Scale",
      { "get", "patch", "update" },
      .handle = { [VERB_GET] = handle_scale, [VERB_PATCH] = handle_scale, [VERB_UPDATE] = handle_scale },
      &schema_scale },
    { "ephemeralcontainers",
      NULL,
      NULL,
      NULL,
      { "get", "patch", "update" },
      .handle = { [VERB_GET] = handle_get, [VERB_PATCH] = handle_patch, [VERB_UPDATE] = handle_update } },
    { "resize",
      NULL,
      NULL,
      NULL,
      { "get", "patch", "update" },
      .handle = { [VERB_GET] = handle_get, [VERB_PATCH] = handle_patch, [VERB_UPDATE] = handle_update } },
    { "log", NULL, NULL, NULL, { "get" }, .handle = { [VERB_GET] = handle_log } },
    { "exec", "", "v1", "PodExecOptions", { "create", "get" }, STREAM(handle_exec) },
    { "attach", "", "v1", "PodAttachOptions", { "create", "get" }, STREAM(handle_attach) },
    { "portforward", "", "v1", "PodPortForwardOptions", { "create", "get" }, STREAM(handle_portforward) },
    PROXY("Pod"),
    PROXY("Service"),
    PROXY("Node"),
};

const struct subresource *subresource_of(const struct resource_type *t, struct str name)
{
    if (!type_has_subresource(t, name))
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(subresources); i++)
        if (str_is(name, subresources[i].name) && (!subresources[i].of || strcmp(t->kind, subresources[i].of) == 0))
            return &subresources[i];
    return NULL;
}

static struct json *discovery_texts(struct arena *a, const char *const *list, size_t max)
{
    struct json *j = json_array(a);

    for (size_t i = 0; i < max && list[i]; i++)
        json_push(j, json_str(a, str_of(list[i])));
    return j;
}

static void discovery_add_text(struct arena *a, struct json *j, const char *key, const char *text)
{
    json_add(j, str_of(key), json_str(a, str_of(text)));
}

/* ---- groups, in their order ---- Kubernetes' own first, so that short names mean what they always meant; those of
 * users last ---- */

struct catalogue {
    struct arena *arena;
    const struct resource_type **types;
    size_t n;
};

static struct catalogue catalogue_of(struct server_request *rq)
{
    struct catalogue c = { .arena = rq->arena };

    c.n = types_served(rq->server, rq->arena, &c.types);
    return c;
}

static int discovery_rank_of(const struct resource_type *t)
{
    return t->custom ? 2 : str_ends(str_of(t->group), STR(".volcano.sh"));
}

static bool is_first_of_group(const struct catalogue *c, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(c->types[k]->group, c->types[i]->group) == 0)
            return false;
    return true;
}

/* The i-th group; NULL: there are no more. The core group is none of them. */
static const char *group_at(const struct catalogue *c, size_t i)
{
    for (int rank = 0; rank < 3; rank++)
        for (size_t k = 0; k < c->n; k++)
            if (c->types[k]->group[0] && discovery_rank_of(c->types[k]) == rank && is_first_of_group(c, k) && i-- == 0)
                return c->types[k]->group;
    return NULL;
}

/* ---- versions of a group, the best first ---- v2, v1, v2beta1, v1alpha1, then what is no version, by name ---- */

struct maturity {
    int stage; /* 0: v1; 1: v1beta1; 2: v1alpha1; 3: something else */
    int64_t major, minor;
};

static struct maturity maturity_of(const char *version)
{
    static const char *const stages[] = { "", "beta", "alpha" };
    struct str rest = str_from(str_of(version), 1);
    size_t n = 0;
    struct maturity m = { .stage = 3 };

    while (n < rest.n && rest.p[n] >= '0' && rest.p[n] <= '9')
        n++;
    if (version[0] != 'v' || str_to_i64(str_sub(rest, 0, n), &m.major) < 0)
        return m;
    rest = str_from(rest, n);
    for (int i = 0; i < 3; i++) {
        struct str number = str_from(rest, strlen(stages[i]));

        if (i == 0 ? !rest.n : str_starts(rest, str_of(stages[i])) && str_to_i64(number, &m.minor) == 0)
            m.stage = i;
    }
    return m;
}

static int compare_versions(const void *x, const void *y)
{
    const char *a = *(const char *const *)x, *b = *(const char *const *)y;
    struct maturity of_a = maturity_of(a), of_b = maturity_of(b);

    if (of_a.stage != of_b.stage)
        return of_a.stage - of_b.stage;
    if (of_a.stage == 3)
        return strcmp(a, b);
    if (of_a.major != of_b.major)
        return of_a.major < of_b.major ? 1 : -1;
    return of_a.minor < of_b.minor ? 1 : of_a.minor > of_b.minor ? -1 : 0;
}

/* NULL-terminated; nothing: there is no such group. */
static const char **versions_of(const struct catalogue *c, struct str group)
{
    const char **v = arena_array(c->arena, const char *, c->n + 1);
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++) {
        bool is_new = str_is(group, c->types[i]->group);

        for (size_t k = 0; k < n && is_new; k++)
            is_new = strcmp(v[k], c->types[i]->version) != 0;
        if (is_new)
            v[n++] = c->types[i]->version;
    }
    qsort(v, n, sizeof(v[0]), compare_versions);
    return v;
}

/* ---- the plain form ---- */

static struct json *version_entry(struct arena *a, const char *group, const char *version)
{
    struct json *j = json_object(a);

    json_add(j, STR("groupVersion"), json_fmt(a, "%s/%s", group, version));
    discovery_add_text(a, j, "version", version);
    return j;
}

static struct json *group_entry(const struct catalogue *c, const char *group, bool is_alone)
{
    struct arena *a = c->arena;
    struct json *j = json_object(a), *list;
    const char **versions = versions_of(c, str_of(group));

    if (is_alone) {
        discovery_add_text(a, j, "kind", "APIGroup");
        discovery_add_text(a, j, "apiVersion", "v1");
    }
    discovery_add_text(a, j, "name", group);
    list = json_add(j, STR("versions"), json_array(a));
    for (size_t i = 0; versions[i]; i++)
        json_push(list, version_entry(a, group, versions[i]));
    if (versions[0]) /* a group has one at least */
        json_add(j, STR("preferredVersion"), version_entry(a, group, versions[0]));
    return j;
}

static struct json *group_list(const struct catalogue *c)
{
    struct arena *a = c->arena;
    struct json *j = json_object(a), *groups;

    discovery_add_text(a, j, "kind", "APIGroupList");
    discovery_add_text(a, j, "apiVersion", "v1");
    groups = json_add(j, STR("groups"), json_array(a));
    for (size_t i = 0; group_at(c, i); i++)
        json_push(groups, group_entry(c, group_at(c, i), false));
    return j;
}

static struct json *core_versions(struct server_request *rq)
{
    struct json *j = json_object(rq->arena), *address;

    discovery_add_text(rq->arena, j, "kind", "APIVersions");
    json_push(json_add(j, STR("versions"), json_array(rq->arena)), json_str(rq->arena, STR("v1")));
    address = json_push(json_add(j, STR("serverAddressByClientCIDRs"), json_array(rq->arena)), json_object(rq->arena));
    discovery_add_text(rq->arena, address, "clientCIDR", "0.0.0.0/0");
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
    discovery_add_text(a, j, "singularName", "");
    json_add(j, STR("namespaced"), json_bool_new(a, t->scope == SCOPE_NAMESPACED));
    if (sub->group && sub->group[0])
        discovery_add_text(a, j, "group", sub->group);
    if (sub->group && sub->group[0])
        discovery_add_text(a, j, "version", sub->version);
    discovery_add_text(a, j, "kind", sub->kind ? sub->kind : t->kind);
    json_add(j, STR("verbs"), discovery_texts(a, sub->verbs, ARRAY_LEN(sub->verbs)));
}

/* Short names and categories, under the names that both forms have for them. */
static void add_names(struct arena *a, struct json *j, const struct resource_type *t)
{
    size_t n_short = ARRAY_LEN(t->short_names), n_categories = 1;
    const char *const *names = t->short_names, *const *categories = &t->category;

    if (t->custom) {
        names = t->custom->short_names;
        categories = t->custom->categories;
        n_short = n_categories = SIZE_MAX; /* NULL ends them */
    }
    if (names[0])
        json_add(j, STR("shortNames"), discovery_texts(a, names, n_short));
    if (categories[0])
        json_add(j, STR("categories"), discovery_texts(a, categories, n_categories));
}

static void add_resource(struct arena *a, struct json *list, const struct resource_type *t)
{
    struct json *j = json_push(list, json_object(a));

    discovery_add_text(a, j, "name", t->plural);
    json_add(j, STR("singularName"), json_str(a, type_singular(a, t)));
    json_add(j, STR("namespaced"), json_bool_new(a, t->scope == SCOPE_NAMESPACED));
    discovery_add_text(a, j, "kind", t->kind);
    json_add(j, STR("verbs"), verbs_of(a, t));
    add_names(a, j, t);
    for (size_t i = 0; i < ARRAY_LEN(t->subresources) && t->subresources[i]; i++)
        add_subresource(a, list, t, t->subresources[i]);
}

static struct json *resource_list(const struct catalogue *c, struct str group, struct str version)
{
    struct arena *a = c->arena;
    struct json *j = json_object(a), *list;

    discovery_add_text(a, j, "kind", "APIResourceList");
    discovery_add_text(a, j, "apiVersion", "v1");
    json_add(j, STR("groupVersion"), json_fmt(a, "%.*s%s%.*s", STR_ARG(group), group.n ? "/" : "", STR_ARG(version)));
    list = json_add(j, STR("resources"), json_array(a));
    for (size_t i = 0; i < c->n; i++)
        if (str_is(group, c->types[i]->group) && str_is(version, c->types[i]->version))
            add_resource(a, list, c->types[i]);
    return j;
}

/* ---- the aggregated form ---- */

static struct json *response_kind(struct arena *a, const char *group, const char *version, const char *kind)
{
    struct json *j = json_object(a);

    discovery_add_text(a, j, "group", group);
    discovery_add_text(a, j, "version", version);
    discovery_add_text(a, j, "kind", kind);
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
        discovery_add_text(a, j, "subresource", sub->name);
        json_add(j, STR("responseKind"),
                 response_kind(a, sub->kind ? sub->group : t->group, sub->kind ? sub->version : t->version,
                               sub->kind ? sub->kind : t->kind));
        json_add(j, STR("verbs"), discovery_texts(a, sub->verbs, ARRAY_LEN(sub->verbs)));
    }
    if (list->n)
        json_add(to, STR("subresources"), list);
}

static struct json *aggregate_resource(struct arena *a, const struct resource_type *t)
{
    struct json *j = json_object(a);

    discovery_add_text(a, j, "resource", t->plural);
    json_add(j, STR("responseKind"), response_kind(a, t->group, t->version, t->kind));
    discovery_add_text(a, j, "scope", t->scope == SCOPE_NAMESPACED ? "Namespaced" : "Cluster");
    json_add(j, STR("singularResource"), json_str(a, type_singular(a, t)));
    json_add(j, STR("verbs"), verbs_of(a, t));
    add_names(a, j, t);
    aggregate_subresources(a, j, t);
    return j;
}

static struct json *aggregate_group(const struct catalogue *c, const char *group)
{
    struct arena *a = c->arena;
    struct json *j = json_object(a), *meta = json_add(j, STR("metadata"), json_object(a)), *list, *all;
    const char **versions = versions_of(c, str_of(group));

    if (group[0])
        discovery_add_text(a, meta, "name", group);
    json_add(meta, STR("creationTimestamp"), json_null(a));
    list = json_add(j, STR("versions"), json_array(a));
    for (size_t k = 0; versions[k]; k++) {
        struct json *version = json_push(list, json_object(a));

        discovery_add_text(a, version, "version", versions[k]);
        all = json_add(version, STR("resources"), json_array(a));
        for (size_t i = 0; i < c->n; i++)
            if (strcmp(c->types[i]->group, group) == 0 && strcmp(c->types[i]->version, versions[k]) == 0)
                json_push(all, aggregate_resource(a, c->types[i]));
        discovery_add_text(a, version, "freshness", "Current");
    }
    return j;
}

static struct json *aggregate(struct server_request *rq, bool is_core)
{
    struct arena *a = rq->arena;
    struct json *j = json_object(a), *items;
    struct catalogue c = catalogue_of(rq);

    discovery_add_text(a, j, "kind", "APIGroupDiscoveryList");
    json_add(j, STR("apiVersion"), json_fmt(a, "apidiscovery.k8s.io/%.*s", STR_ARG(rq->accept.version)));
    json_add(j, STR("metadata"), json_object(a));
    items = json_add(j, STR("items"), json_array(a));
    if (is_core)
        json_push(items, aggregate_group(&c, ""));
    for (size_t i = 0; !is_core && group_at(&c, i); i++)
        json_push(items, aggregate_group(&c, group_at(&c, i)));
    return j;
}

static int reply_aggregate(struct server_request *rq, bool is_core)
{
    autobuf body = { 0 };

    json_print(&body, aggregate(rq, is_core));
    reply_tagged(rq,
                 arena_fmt(rq->arena, "application/json;g=apidiscovery.k8s.io;v=%.*s;as=APIGroupDiscoveryList",
                           STR_ARG(rq->accept.version))
                     .p,
                 buf_view(&body));
    return 0;
}

static bool has_version(const char **versions, struct str version)
{
    for (; *versions; versions++)
        if (str_is(version, *versions))
            return true;
    return false;
}

int handle_discovery(struct server_request *rq)
{
    const struct server_target *t = &rq->target;
    bool is_core = str_starts(rq->call->path, STR("/api/")) || str_is(rq->call->path, "/api");
    struct catalogue c = catalogue_of(rq);
    const char **versions = versions_of(&c, t->group);

    if (!t->version.n && (is_core || !t->group.n) && rq->accept.form == ACCEPT_DISCOVERY)
        return reply_aggregate(rq, is_core);
    if (!t->version.n && is_core) {
        reply_json(rq, 200, core_versions(rq));
    } else if (!t->version.n && !t->group.n) {
        reply_json(rq, 200, group_list(&c));
    } else if (!t->version.n && versions[0]) {
        reply_json(rq, 200, group_entry(&c, arena_cstr(rq->arena, t->group), true));
    } else if (is_core == !t->group.n && has_version(versions, t->version)) {
        reply_json(rq, 200, resource_list(&c, t->group, t->version));
    } else {
        fail_with(rq, REASON_NOT_FOUND, "the server could not find the requested resource");
        rq->failure.has_no_details = true;
        return -1;
    }
    return 0;
}
