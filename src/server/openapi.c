/* openapi.c - /openapi/v3 and /openapi/v2: what the kinds look like, from the schema tables
 *
 * v3 is one JSON document for each group version: `kubectl explain` reads the schemas, `apply` and `create` look for a
 * PATCH of the kind that takes fieldValidation, and leave the checking to the server then. v2 is for clients before
 * 1.27, in protobuf only, and says no more than that these kinds can be written: they check nothing themselves then.
 *
 * Documents are made when they are first asked for, and kept.
 */
#include "server/server_internal.h"

#include "api/crd.h"

struct document {
    struct str path; /* the bytes follow */
    struct buf text;
};

void openapi_done(struct server *s)
{
    MAP_FOREACH(struct document *, d, &s->documents) {
        buf_done(&d->text);
        free(d);
    }
}

static struct document *document_new(struct server *s, struct str path)
{
    struct document *d = xcalloc(1, sizeof(*d) + path.n + 1);

    memcpy(d + 1, path.p, path.n);
    d->path = (struct str){ (char *)(d + 1), path.n };
    map_put(&s->documents, d->path, d);
    return d;
}

static bool is_described(const struct resource_type *t)
{
    return t->use == TYPE_STORED && t->schema;
}

/* "api/v1", "apis/batch.volcano.sh/v1alpha1" */
static struct str document_path(struct arena *a, const struct resource_type *t)
{
    return arena_fmt(a, "%s%s%s/%s", t->group[0] ? "apis" : "api", t->group[0] ? "/" : "", t->group, t->version);
}

static void add_text(struct arena *a, struct json *j, const char *key, const char *text)
{
    json_add(j, str_of(key), json_str(a, str_of(text)));
}

/* ---- one kind ---- */

static struct json *kind_mark(struct arena *a, const struct resource_type *t)
{
    struct json *j = json_object(a);

    add_text(a, j, "group", t->group);
    add_text(a, j, "kind", t->kind);
    add_text(a, j, "version", t->version);
    return j;
}

/* "sh.volcano.batch.v1alpha1.Job", "io.k8s.api.core.v1.Pod": names that look like those of other servers. */
static struct str schema_name(struct arena *a, const struct resource_type *t)
{
    struct str rest = str_of(t->group), part, name = STR_NULL;

    if (!t->group[0])
        return arena_fmt(a, "io.k8s.api.core.%s.%s", t->version, t->kind);
    while (str_split(&rest, '.', &part))
        name = name.n ? arena_fmt(a, "%.*s.%.*s", STR_ARG(part), STR_ARG(name)) : part;
    return arena_fmt(a, "%.*s.%s.%s", STR_ARG(name), t->version, t->kind);
}

static struct json *query(struct arena *a, const char *name)
{
    struct json *j = json_object(a);

    add_text(a, j, "name", name);
    add_text(a, j, "in", "query");
    json_set(j, "schema", json_object(a));
    add_text(a, json_get(j, "schema"), "type", "string");
    return j;
}

static struct str url_of(struct arena *a, const struct resource_type *t, bool has_name)
{
    return arena_fmt(a, "/%.*s/%s%s%s", STR_ARG(document_path(a, t)),
                     t->scope == SCOPE_NAMESPACED ? "namespaces/{namespace}/" : "", t->plural,
                     has_name ? "/{name}" : "");
}

static struct json *operation(struct arena *a, const struct resource_type *t, const char *action,
                              const char *const *queries)
{
    struct json *j = json_object(a), *parameters = json_add(j, STR("parameters"), json_array(a));

    for (; *queries; queries++)
        json_push(parameters, query(a, *queries));
    json_add(json_add(j, STR("responses"), json_object(a)), STR("200"), json_object(a));
    add_text(a, json_get(json_get(j, "responses"), "200"), "description", "OK");
    add_text(a, j, "x-kubernetes-action", action);
    json_add(j, STR("x-kubernetes-group-version-kind"), kind_mark(a, t));
    return j;
}

static void add_paths(struct arena *a, struct json *paths, const struct resource_type *t)
{
    static const char *const writes[] = { "dryRun", "fieldManager", "fieldValidation", "pretty", NULL };
    static const char *const reads[] = { "pretty", NULL };
    struct json *all = json_object(a), *one = json_object(a);

    json_add(all, STR("get"), operation(a, t, "list", reads));
    json_add(all, STR("post"), operation(a, t, "post", writes));
    json_add(one, STR("get"), operation(a, t, "get", reads));
    json_add(one, STR("put"), operation(a, t, "put", writes));
    json_add(one, STR("patch"), operation(a, t, "patch", writes));
    json_add(one, STR("delete"), operation(a, t, "delete", (const char *const[]){ "dryRun", NULL }));
    json_add(paths, url_of(a, t, false), all);
    json_add(paths, url_of(a, t, true), one);
}

static struct json *kind_schema(struct arena *a, const struct resource_type *t)
{
    struct json *j = crd_schema(a, t->schema);

    json_push(json_add(j, STR("x-kubernetes-group-version-kind"), json_array(a)), kind_mark(a, t));
    return j;
}

/* ---- v3 ---- */

static struct json *document_v3(struct arena *a, struct str path)
{
    struct json *j = json_object(a), *info, *paths, *schemas;
    bool is_known = false;

    add_text(a, j, "openapi", "3.0.0");
    info = json_add(j, STR("info"), json_object(a));
    add_text(a, info, "title", "Kubernetes");
    add_text(a, info, "version", "v1");
    paths = json_add(j, STR("paths"), json_object(a));
    schemas = json_add(json_add(j, STR("components"), json_object(a)), STR("schemas"), json_object(a));
    for (const struct resource_type *t = resource_types; t < resource_types + n_resource_types; t++) {
        if (!is_described(t) || !str_eq(document_path(a, t), path))
            continue;
        is_known = true;
        add_paths(a, paths, t);
        json_add(schemas, schema_name(a, t), kind_schema(a, t));
    }
    return is_known ? j : NULL;
}

static int reply_index(struct request *rq)
{
    struct json *j = json_object(rq->arena), *paths = json_add(j, STR("paths"), json_object(rq->arena));

    for (const struct resource_type *t = resource_types; t < resource_types + n_resource_types; t++) {
        struct str path = document_path(rq->arena, t);

        if (is_described(t) && !json_get_str(paths, path))
            json_add(json_add(paths, path, json_object(rq->arena)), STR("serverRelativeURL"),
                     json_fmt(rq->arena, "/openapi/v3/%.*s?hash=%s", STR_ARG(path), PUMICE_VERSION));
    }
    reply_json(rq, 200, j);
    return 0;
}

int handle_openapi_v3(struct request *rq)
{
    struct str rest = str_from(rq->call->path, strlen("/openapi/v3"));
    struct document *d;

    if (!rest.n || str_is(rest, "/"))
        return reply_index(rq);
    rest = str_from(rest, 1);
    d = map_get(&rq->server->documents, rest);
    if (!d) {
        struct json *j = document_v3(rq->arena, rest);

        if (!j)
            return fail_with(rq, REASON_NOT_FOUND, "there is no such document");
        d = document_new(rq->server, rest);
        json_print(&d->text, j);
    }
    reply_text(rq, 200, "application/json", buf_view(&d->text), NULL);
    return 0;
}

/* ---- v2 ---- in protobuf: openapi.v2.Document ---- */

static void put_varint(struct buf *out, uint64_t v)
{
    for (; v > 127; v >>= 7)
        buf_char(out, (char)(v | 128));
    buf_char(out, (char)v);
}

static void put_bytes(struct buf *out, unsigned field, struct str bytes)
{
    put_varint(out, (uint64_t)field << 3 | 2);
    put_varint(out, bytes.n);
    buf_str(out, bytes);
}

/* Field numbers of the messages, as that format is published. */
enum {
    DOCUMENT_SWAGGER = 1,
    DOCUMENT_INFO = 2,
    DOCUMENT_PATHS = 8,
    INFO_TITLE = 1,
    INFO_VERSION = 2,
    PATHS_PATH = 2,
    NAMED_NAME = 1,
    NAMED_VALUE = 2,
    ITEM_PATCH = 8,
    OPERATION_PARAMETERS = 8,
    OPERATION_RESPONSES = 9,
    OPERATION_EXTENSION = 13,
    ITEM_PARAMETER = 1,
    PARAMETER_NON_BODY = 2,
    NON_BODY_QUERY = 3,
    QUERY_IN = 2,
    QUERY_NAME = 4,
    QUERY_TYPE = 6,
    ANY_YAML = 2,
};

static void put_query(struct buf *operation, const char *name)
{
    autobuf q = { 0 }, non_body = { 0 }, parameter = { 0 }, item = { 0 };

    put_bytes(&q, QUERY_IN, STR("query"));
    put_bytes(&q, QUERY_NAME, str_of(name));
    put_bytes(&q, QUERY_TYPE, STR("string"));
    put_bytes(&non_body, NON_BODY_QUERY, buf_view(&q));
    put_bytes(&parameter, PARAMETER_NON_BODY, buf_view(&non_body));
    put_bytes(&item, ITEM_PARAMETER, buf_view(&parameter));
    put_bytes(operation, OPERATION_PARAMETERS, buf_view(&item));
}

static void put_path(struct arena *a, struct buf *paths, const struct resource_type *t)
{
    autobuf operation = { 0 }, mark = { 0 }, any = { 0 }, extension = { 0 }, item = { 0 }, named = { 0 };

    put_query(&operation, "dryRun");
    put_query(&operation, "fieldManager");
    put_query(&operation, "fieldValidation");
    put_bytes(&operation, OPERATION_RESPONSES, STR(""));
    buf_fmt(&mark, "group: \"%s\"\nkind: %s\nversion: %s\n", t->group, t->kind, t->version);
    put_bytes(&any, ANY_YAML, buf_view(&mark));
    put_bytes(&extension, NAMED_NAME, STR("x-kubernetes-group-version-kind"));
    put_bytes(&extension, NAMED_VALUE, buf_view(&any));
    put_bytes(&operation, OPERATION_EXTENSION, buf_view(&extension));
    put_bytes(&item, ITEM_PATCH, buf_view(&operation));
    put_bytes(&named, NAMED_NAME, url_of(a, t, true));
    put_bytes(&named, NAMED_VALUE, buf_view(&item));
    put_bytes(paths, PATHS_PATH, buf_view(&named));
}

static void print_v2(struct arena *a, struct buf *out)
{
    autobuf info = { 0 }, paths = { 0 };

    put_bytes(&info, INFO_TITLE, STR("Kubernetes"));
    put_bytes(&info, INFO_VERSION, STR("v1"));
    put_bytes(out, DOCUMENT_SWAGGER, STR("2.0"));
    put_bytes(out, DOCUMENT_INFO, buf_view(&info));
    for (const struct resource_type *t = resource_types; t < resource_types + n_resource_types; t++)
        if (is_described(t))
            put_path(a, &paths, t);
    put_bytes(out, DOCUMENT_PATHS, buf_view(&paths));
}

int handle_openapi_v2(struct request *rq)
{
    struct document *d = map_get(&rq->server->documents, STR("v2"));

    if (!d) {
        d = document_new(rq->server, STR("v2"));
        print_v2(rq->arena, &d->text);
    }
    reply_text(rq, 200, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", buf_view(&d->text), NULL);
    return 0;
}
