/* openapi_v2.c - /openapi/v2, in JSON or protobuf (openapi.v2.Document), for clients before 1.27
 *
 * The document is made as JSON, and the protobuf of it: one source for both.
 *
 * They check manifests themselves by the definitions, explain kinds by them, and make the patches of `apply` by the merge
 * keys in them; of the paths they want to know which kinds take dryRun and fieldValidation. Each schema table is one
 * definition and others refer to it, so the document stays small; schemas of users are written where they are used.
 */
#include "server/server_internal.h"

#include "api/fields.h"

/* Field numbers of the messages, as that format is published. */
enum {
    DOCUMENT_SWAGGER = 1,
    DOCUMENT_INFO = 2,
    DOCUMENT_PATHS = 8,
    DOCUMENT_DEFINITIONS = 9,
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
    LIST_ENTRY = 1, /* of Definitions, Properties, TypeItem, ItemsItem, AdditionalPropertiesItem */
    SCHEMA_REF = 1,
    SCHEMA_FORMAT = 2,
    SCHEMA_TITLE = 3,
    SCHEMA_DESCRIPTION = 4,
    SCHEMA_PATTERN = 13,
    SCHEMA_REQUIRED = 19,
    SCHEMA_ENUM = 20,
    SCHEMA_OTHERS = 21,
    SCHEMA_TYPE = 22,
    SCHEMA_ITEMS = 23,
    SCHEMA_PROPERTIES = 25,
    SCHEMA_EXTENSION = 31,
};

struct openapi_v2_writer {
    struct arena *arena;
    struct json *definitions;
    VEC(const struct schema *) tables; /* those that are written or will be, in this order */
};

static void openapi_v2_set_text(struct arena *a, struct json *j, const char *key, struct str text)
{
    json_set(j, key, json_str(a, text));
}

/* ---- tables ---- */

/* Two tables may have one name: the later one gets a number. */
static struct str table_name(struct openapi_v2_writer *w, const struct schema *s)
{
    size_t before = 0;

    VEC_FOREACH(t, &w->tables) {
        if (*t == s)
            return before ? arena_fmt(w->arena, "pumice.%s%zu", s->name, before + 1)
                          : arena_fmt(w->arena, "pumice.%s", s->name);
        before += strcmp((*t)->name, s->name) == 0;
    }
    *vec_push(w->arena, &w->tables) = s;
    return table_name(w, s);
}

static void set_value(struct openapi_v2_writer *w, struct json *out, const struct field *f)
{
    static const char *const types[FIELD_KIND_MAX] = {
        [FIELD_STR] = "string",    [FIELD_BOOL] = "boolean",  [FIELD_INT32] = "integer",
        [FIELD_INT64] = "integer", [FIELD_NUMBER] = "number", [FIELD_INT_OR_STR] = "string",
    };

    if (f->kind == FIELD_OBJECT && f->sub) {
        openapi_v2_set_text(w->arena, out, "$ref",
                            arena_fmt(w->arena, "#/definitions/%.*s", STR_ARG(table_name(w, f->sub))));
        return;
    }
    if (f->kind == FIELD_OBJECT)
        openapi_v2_set_text(w->arena, out, "type", STR("object"));
    else if (types[f->kind])
        openapi_v2_set_text(w->arena, out, "type", str_of(types[f->kind]));
    else if (f->check == format_quantity)
        openapi_v2_set_text(w->arena, out, "type", STR("string"));
    if (f->kind == FIELD_INT_OR_STR)
        openapi_v2_set_text(w->arena, out, "format", STR("int-or-string"));
}

/* How a strategic merge joins a list: clients make their patches by this. */
static void set_merge(struct arena *a, struct json *out, const struct field *f)
{
    bool is_union = strcmp(f->name, "volumes") == 0; /* what a volume is may change: its old form must go */

    if (f->merge_key)
        openapi_v2_set_text(a, out, "x-kubernetes-patch-merge-key", str_of(f->merge_key));
    if (f->merge_key || f->flags & FIELD_MERGE)
        openapi_v2_set_text(a, out, "x-kubernetes-patch-strategy", is_union ? STR("merge,retainKeys") : STR("merge"));
    else if (f->flags & FIELD_REPLACE)
        openapi_v2_set_text(a, out, "x-kubernetes-patch-strategy", STR("replace"));
}

static struct json *field_schema(struct openapi_v2_writer *w, const struct field *f)
{
    struct json *out = json_object(w->arena), *value = out;

    if (f->doc)
        openapi_v2_set_text(w->arena, out, "description", str_of(f->doc));
    set_merge(w->arena, out, f);
    if (f->shape != SHAPE_ONE) {
        openapi_v2_set_text(w->arena, out, "type", f->shape == SHAPE_LIST ? STR("array") : STR("object"));
        value = json_set(out, f->shape == SHAPE_LIST ? "items" : "additionalProperties", json_object(w->arena));
    }
    set_value(w, value, f);
    return out;
}

static struct json *table_schema(struct openapi_v2_writer *w, const struct schema *s)
{
    struct arena *a = w->arena;
    struct json *out = json_object(a), *required = json_array(a), *properties = json_object(a);

    openapi_v2_set_text(a, out, "type", STR("object"));
    for (size_t i = 0; i < s->n_fields; i++) {
        if (s->fields[i].flags & FIELD_REQUIRED)
            json_push(required, json_str(a, str_of(s->fields[i].name)));
        json_add(properties, str_of(s->fields[i].name), field_schema(w, &s->fields[i]));
    }
    if (required->n)
        json_set(out, "required", required);
    json_set(out, "properties", properties);
    return out;
}

/* ---- schemas of users ---- */

static bool keeps_unknown(const struct json *schema)
{
    return json_bool(json_get(schema, "x-kubernetes-preserve-unknown-fields"), false);
}

/* As Kubernetes writes them: v2 has no junctors and no nullable, and old clients would refuse unknown fields of what is
 * described further. */
static void to_v2(struct json *schema)
{
    static const char *const absent[] = { "allOf", "oneOf", "anyOf", "not", "nullable" };
    bool is_nullable = json_bool(json_get(schema, "nullable"), false);

    if (!json_is(schema, JSON_OBJECT))
        return;
    for (size_t i = 0; i < ARRAY_LEN(absent); i++)
        json_remove(schema, absent[i]);
    if (is_nullable || keeps_unknown(schema)) {
        json_remove(schema, "items");
        json_remove(schema, "properties");
    }
    if (is_nullable || (keeps_unknown(schema) && str_is(json_member_text(schema, "type"), "object")) ||
        (!json_get(schema, "items") && str_is(json_member_text(schema, "type"), "array")))
        json_remove(schema, "type");
    to_v2(json_get(schema, "items"));
    to_v2(json_get(schema, "additionalProperties"));
    JSON_FOREACH(p, json_get(schema, "properties"))
        to_v2(p);
}

static struct json *custom_schema(struct arena *a, const struct json *schema)
{
    static const char *const own[][2] = { { "apiVersion", "string" }, { "kind", "string" }, { "metadata", "object" } };
    struct json *out = keeps_unknown(schema) ? json_object(a) : json_copy(a, schema), *properties;

    to_v2(out);
    openapi_v2_set_text(a, out, "type", STR("object"));
    properties = json_get(out, "properties");
    for (size_t i = 0; i < ARRAY_LEN(own) && properties; i++)
        if (!json_get(properties, own[i][0]))
            openapi_v2_set_text(a, json_set(properties, own[i][0], json_object(a)), "type", str_of(own[i][1]));
    return out;
}

/* ---- the document ---- */

static struct json *kind_mark(struct arena *a, const struct resource_type *t)
{
    struct json *j = json_object(a);

    openapi_v2_set_text(a, j, "group", str_of(t->group));
    openapi_v2_set_text(a, j, "kind", str_of(t->kind));
    openapi_v2_set_text(a, j, "version", str_of(t->version));
    return j;
}

static void add_kind(struct openapi_v2_writer *w, const struct resource_type *t)
{
    struct json *schema = t->custom ? custom_schema(w->arena, t->custom->schema) : table_schema(w, t->schema);

    if (kind_doc(t))
        openapi_v2_set_text(w->arena, schema, "description", str_of(kind_doc(t)));
    json_push(json_set(schema, "x-kubernetes-group-version-kind", json_array(w->arena)), kind_mark(w->arena, t));
    json_add(w->definitions, schema_name(w->arena, t), schema);
}

/* Clients ask only what its PATCH takes. */
static void openapi_v2_add_path(struct arena *a, struct json *paths, const struct resource_type *t)
{
    static const char *const queries[] = { "dryRun", "fieldManager", "fieldValidation" };
    struct json *patch = json_object(a), *parameters = json_set(patch, "parameters", json_array(a)), *item;

    for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
        struct json *q = json_push(parameters, json_object(a));

        openapi_v2_set_text(a, q, "in", STR("query"));
        openapi_v2_set_text(a, q, "name", str_of(queries[i]));
        openapi_v2_set_text(a, q, "type", STR("string"));
    }
    json_set(patch, "responses", json_object(a));
    json_set(patch, "x-kubernetes-group-version-kind", kind_mark(a, t));
    item = json_add(paths, kind_url(a, t, true), json_object(a));
    json_set(item, "patch", patch);
}

static struct json *document_v2(struct server_request *rq)
{
    struct arena *a = rq->arena;
    struct openapi_v2_writer w = { .arena = a, .definitions = json_object(a) };
    struct json *j = json_object(a), *info, *paths;
    const struct resource_type **types;
    size_t n = types_served(rq->server, a, &types);

    openapi_v2_set_text(a, j, "swagger", STR("2.0"));
    info = json_set(j, "info", json_object(a));
    openapi_v2_set_text(a, info, "title", STR("Kubernetes"));
    openapi_v2_set_text(a, info, "version", STR("v1"));
    paths = json_set(j, "paths", json_object(a));
    for (size_t i = 0; i < n; i++)
        if (is_described(types[i])) {
            if (types[i]->use == TYPE_STORED)
                openapi_v2_add_path(a, paths, types[i]);
            add_kind(&w, types[i]);
        }
    for (size_t i = 0; i < w.tables.n; i++) /* more of them are found as they are written */
        json_add(w.definitions, table_name(&w, w.tables.v[i]), table_schema(&w, w.tables.v[i]));
    json_set(j, "definitions", w.definitions);
    return j;
}

/* ---- as protobuf ---- */

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

static void put_named(struct buf *out, unsigned field, struct str name, struct str value)
{
    autobuf named = { 0 };

    put_bytes(&named, NAMED_NAME, name);
    put_bytes(&named, NAMED_VALUE, value);
    put_bytes(out, field, buf_view(&named));
}

/* JSON is YAML. */
static void put_any(struct buf *out, const struct json *value)
{
    autobuf text = { 0 };

    json_print(&text, value);
    put_bytes(out, ANY_YAML, buf_view(&text));
}

static void put_extensions(struct buf *out, unsigned field, const struct json *from)
{
    JSON_FOREACH(m, from) {
        autobuf any = { 0 };

        if (!str_starts(json_key(m), STR("x-")))
            continue;
        put_any(&any, m);
        put_named(out, field, json_key(m), buf_view(&any));
    }
}

static void put_type(struct buf *schema, struct str type)
{
    autobuf list = { 0 };

    put_bytes(&list, LIST_ENTRY, type);
    put_bytes(schema, SCHEMA_TYPE, buf_view(&list));
}

/* A schema inside of one: of items, or of values. */
static void put_inner(struct buf *schema, unsigned field, struct str inner)
{
    autobuf item = { 0 };

    put_bytes(&item, LIST_ENTRY, inner);
    put_bytes(schema, field, buf_view(&item));
}

static void put_schema(struct buf *out, const struct json *schema)
{
    static const struct {
        unsigned number;
        const char *member;
    } texts[] = { { SCHEMA_REF, "$ref" },
                  { SCHEMA_FORMAT, "format" },
                  { SCHEMA_TITLE, "title" },
                  { SCHEMA_DESCRIPTION, "description" },
                  { SCHEMA_PATTERN, "pattern" } };
    const struct json *items = json_get(schema, "items"), *others = json_get(schema, "additionalProperties");
    autobuf properties = { 0 }, inner = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (json_member_text(schema, texts[i].member).n)
            put_bytes(out, texts[i].number, json_member_text(schema, texts[i].member));
    JSON_FOREACH(name, json_get(schema, "required"))
        put_bytes(out, SCHEMA_REQUIRED, json_text(name, STR_NULL));
    JSON_FOREACH(value, json_get(schema, "enum")) {
        autobuf any = { 0 };

        put_any(&any, value);
        put_bytes(out, SCHEMA_ENUM, buf_view(&any));
    }
    if (json_member_text(schema, "type").n)
        put_type(out, json_member_text(schema, "type"));
    if (json_is(items, JSON_OBJECT) || json_is(others, JSON_OBJECT)) {
        put_schema(&inner, json_is(items, JSON_OBJECT) ? items : others);
        put_inner(out, json_is(items, JSON_OBJECT) ? SCHEMA_ITEMS : SCHEMA_OTHERS, buf_view(&inner));
    }
    JSON_FOREACH(p, json_get(schema, "properties")) {
        autobuf below = { 0 };

        put_schema(&below, p);
        put_named(&properties, LIST_ENTRY, json_key(p), buf_view(&below));
    }
    if (properties.n)
        put_bytes(out, SCHEMA_PROPERTIES, buf_view(&properties));
    put_extensions(out, SCHEMA_EXTENSION, schema);
}

static void put_query(struct buf *operation, const struct json *query)
{
    autobuf q = { 0 }, non_body = { 0 }, parameter = { 0 }, item = { 0 };

    put_bytes(&q, QUERY_IN, json_member_text(query, "in"));
    put_bytes(&q, QUERY_NAME, json_member_text(query, "name"));
    put_bytes(&q, QUERY_TYPE, json_member_text(query, "type"));
    put_bytes(&non_body, NON_BODY_QUERY, buf_view(&q));
    put_bytes(&parameter, PARAMETER_NON_BODY, buf_view(&non_body));
    put_bytes(&item, ITEM_PARAMETER, buf_view(&parameter));
    put_bytes(operation, OPERATION_PARAMETERS, buf_view(&item));
}

static void openapi_v2_put_path(struct buf *paths, const struct json *path)
{
    const struct json *patch = json_get(path, "patch");
    autobuf operation = { 0 }, item = { 0 };

    JSON_FOREACH(q, json_get(patch, "parameters"))
        put_query(&operation, q);
    put_bytes(&operation, OPERATION_RESPONSES, STR(""));
    put_extensions(&operation, OPERATION_EXTENSION, patch);
    put_bytes(&item, ITEM_PATCH, buf_view(&operation));
    put_named(paths, PATHS_PATH, json_key(path), buf_view(&item));
}

static void print_protobuf(struct buf *out, const struct json *document)
{
    const struct json *about = json_get(document, "info");
    autobuf info = { 0 }, paths = { 0 }, definitions = { 0 };

    JSON_FOREACH(path, json_get(document, "paths"))
        openapi_v2_put_path(&paths, path);
    JSON_FOREACH(schema, json_get(document, "definitions")) {
        autobuf one = { 0 };

        put_schema(&one, schema);
        put_named(&definitions, LIST_ENTRY, json_key(schema), buf_view(&one));
    }
    put_bytes(&info, INFO_TITLE, json_member_text(about, "title"));
    put_bytes(&info, INFO_VERSION, json_member_text(about, "version"));
    put_bytes(out, DOCUMENT_SWAGGER, json_member_text(document, "swagger"));
    put_bytes(out, DOCUMENT_INFO, buf_view(&info));
    put_bytes(out, DOCUMENT_PATHS, buf_view(&paths));
    put_bytes(out, DOCUMENT_DEFINITIONS, buf_view(&definitions));
}

/* ---- the request ---- */

static const struct {
    const char *media, *path, *type; /* as accepted; of the document; as answered */
    void (*print)(struct buf *out, const struct json *document);
} forms[] = {
    { "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", "v2",
      "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", print_protobuf },
    { "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", "v2",
      "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", print_protobuf },
    { "application/json", "v2.json", "application/json", json_print },
    { "application/*", "v2.json", "application/json", json_print },
    { "*/*", "v2.json", "application/json", json_print },
};

/* The first that the client names; JSON for one that names none. -1: none of these. */
static int form_of(struct str accept)
{
    struct str part, media = STR_NULL;

    if (!str_trim(accept).n)
        accept = STR("application/json");
    while (str_split(&accept, ',', &part)) {
        (void)str_split(&part, ';', &media);
        for (size_t i = 0; i < ARRAY_LEN(forms); i++)
            if (str_is(str_trim(media), forms[i].media))
                return (int)i;
    }
    return -1;
}

int handle_openapi_v2(struct server_request *rq)
{
    int form = form_of(http_call_header(rq->call, "Accept"));
    struct document *d;

    if (form < 0)
        return fail_with(rq, REASON_NOT_ACCEPTABLE, "only the following media types are accepted: application/json, %s",
                         forms[0].media);
    d = map_get(&rq->server->documents, str_of(forms[form].path));
    if (!d) {
        d = document_new(rq->server, str_of(forms[form].path));
        forms[form].print(&d->text, document_v2(rq));
    }
    reply_tagged(rq, forms[form].type, buf_view(&d->text));
    return 0;
}
