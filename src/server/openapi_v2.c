/* openapi_v2.c - /openapi/v2, in protobuf (openapi.v2.Document): what clients before 1.27 read
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
    SCHEMA_DESCRIPTION = 4,
    SCHEMA_REQUIRED = 19,
    SCHEMA_OTHERS = 21,
    SCHEMA_TYPE = 22,
    SCHEMA_ITEMS = 23,
    SCHEMA_PROPERTIES = 25,
    SCHEMA_EXTENSION = 31,
};

struct writer {
    struct arena *arena;
    struct buf definitions;
    VEC(const struct schema *) tables; /* those that are written or will be, in this order */
};

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

static void put_extension(struct buf *out, unsigned field, const char *name, struct str yaml)
{
    autobuf any = { 0 };

    put_bytes(&any, ANY_YAML, yaml);
    put_named(out, field, str_of(name), buf_view(&any));
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

/* ---- tables ---- */

/* Two tables may have one name: the later one gets a number. */
static struct str table_name(struct writer *w, const struct schema *s)
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

static void put_value(struct writer *w, struct buf *out, const struct field *f)
{
    static const char *const types[FIELD_KIND_MAX] = {
        [FIELD_STR] = "string",    [FIELD_BOOL] = "boolean",  [FIELD_INT32] = "integer",
        [FIELD_INT64] = "integer", [FIELD_NUMBER] = "number", [FIELD_INT_OR_STR] = "string",
    };

    if (f->kind == FIELD_OBJECT && f->sub) {
        put_bytes(out, SCHEMA_REF, arena_fmt(w->arena, "#/definitions/%.*s", STR_ARG(table_name(w, f->sub))));
        return;
    }
    if (f->kind == FIELD_OBJECT)
        put_type(out, STR("object"));
    else if (types[f->kind])
        put_type(out, str_of(types[f->kind]));
    else if (f->check == format_quantity)
        put_type(out, STR("string"));
    if (f->kind == FIELD_INT_OR_STR)
        put_bytes(out, SCHEMA_FORMAT, STR("int-or-string"));
}

/* How a strategic merge joins a list: clients make their patches by this. */
static void put_merge(struct buf *out, const struct field *f)
{
    bool is_union = strcmp(f->name, "volumes") == 0; /* what a volume is may change: its old form must go */

    if (f->merge_key)
        put_extension(out, SCHEMA_EXTENSION, "x-kubernetes-patch-merge-key", str_of(f->merge_key));
    if (f->merge_key || f->flags & FIELD_MERGE)
        put_extension(out, SCHEMA_EXTENSION, "x-kubernetes-patch-strategy",
                      is_union ? STR("merge,retainKeys") : STR("merge"));
    else if (f->flags & FIELD_REPLACE)
        put_extension(out, SCHEMA_EXTENSION, "x-kubernetes-patch-strategy", STR("replace"));
}

static void put_field(struct writer *w, struct buf *out, const struct field *f)
{
    autobuf value = { 0 };

    if (f->doc)
        put_bytes(out, SCHEMA_DESCRIPTION, str_of(f->doc));
    put_merge(out, f);
    if (f->shape == SHAPE_ONE) {
        put_value(w, out, f);
        return;
    }
    put_value(w, &value, f);
    put_type(out, f->shape == SHAPE_LIST ? STR("array") : STR("object"));
    put_inner(out, f->shape == SHAPE_LIST ? SCHEMA_ITEMS : SCHEMA_OTHERS, buf_view(&value));
}

static void put_table(struct writer *w, struct buf *out, const struct schema *s)
{
    autobuf properties = { 0 };

    put_type(out, STR("object"));
    for (size_t i = 0; i < s->n_fields; i++) {
        autobuf field = { 0 };

        if (s->fields[i].flags & FIELD_REQUIRED)
            put_bytes(out, SCHEMA_REQUIRED, str_of(s->fields[i].name));
        put_field(w, &field, &s->fields[i]);
        put_named(&properties, LIST_ENTRY, str_of(s->fields[i].name), buf_view(&field));
    }
    put_bytes(out, SCHEMA_PROPERTIES, buf_view(&properties));
}

/* ---- schemas of users ---- */

/* What keeps unknown fields is not described further: old clients would refuse them. */
static void put_custom(struct buf *out, const struct json *schema)
{
    static const char *const texts[] = { [SCHEMA_FORMAT] = "format", [SCHEMA_DESCRIPTION] = "description" };
    const struct json *items = json_get(schema, "items"), *others = json_get(schema, "additionalProperties");
    struct str type = json_member_text(schema, "type");
    autobuf properties = { 0 }, inner = { 0 };

    for (unsigned i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i] && json_member_text(schema, texts[i]).n)
            put_bytes(out, i, json_member_text(schema, texts[i]));
    if (json_bool(json_get(schema, "x-kubernetes-preserve-unknown-fields"), false))
        return;
    if (type.n)
        put_type(out, type);
    JSON_FOREACH(name, json_get(schema, "required"))
        put_bytes(out, SCHEMA_REQUIRED, json_text(name, STR_NULL));
    JSON_FOREACH(p, json_get(schema, "properties")) {
        autobuf below = { 0 };

        put_custom(&below, p);
        put_named(&properties, LIST_ENTRY, json_key(p), buf_view(&below));
    }
    if (properties.n)
        put_bytes(out, SCHEMA_PROPERTIES, buf_view(&properties));
    if (json_is(items, JSON_OBJECT) || json_is(others, JSON_OBJECT)) {
        put_custom(&inner, json_is(items, JSON_OBJECT) ? items : others);
        put_inner(out, json_is(items, JSON_OBJECT) ? SCHEMA_ITEMS : SCHEMA_OTHERS, buf_view(&inner));
    }
}

/* ---- kinds ---- */

static struct str kind_mark(struct arena *a, const struct resource_type *t, const char *head, const char *indent)
{
    return arena_fmt(a, "%sgroup: \"%s\"\n%skind: %s\n%sversion: %s\n", head, t->group, indent, t->kind, indent,
                     t->version);
}

static void put_kind(struct writer *w, const struct resource_type *t)
{
    autobuf schema = { 0 };

    if (t->custom)
        put_custom(&schema, t->custom->schema);
    else
        put_table(w, &schema, t->schema);
    if (kind_doc(t))
        put_bytes(&schema, SCHEMA_DESCRIPTION, str_of(kind_doc(t)));
    put_extension(&schema, SCHEMA_EXTENSION, "x-kubernetes-group-version-kind", kind_mark(w->arena, t, "- ", "  "));
    put_named(&w->definitions, LIST_ENTRY, schema_name(w->arena, t), buf_view(&schema));
}

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
    autobuf operation = { 0 }, item = { 0 };

    put_query(&operation, "dryRun");
    put_query(&operation, "fieldManager");
    put_query(&operation, "fieldValidation");
    put_bytes(&operation, OPERATION_RESPONSES, STR(""));
    put_extension(&operation, OPERATION_EXTENSION, "x-kubernetes-group-version-kind", kind_mark(a, t, "", ""));
    put_bytes(&item, ITEM_PATCH, buf_view(&operation));
    put_named(paths, PATHS_PATH, kind_url(a, t, true), buf_view(&item));
}

static void print_v2(struct request *rq, struct buf *out)
{
    struct writer w = { .arena = rq->arena };
    const struct resource_type **types;
    size_t n = types_served(rq->server, rq->arena, &types);
    autobuf info = { 0 }, paths = { 0 };

    for (size_t i = 0; i < n; i++)
        if (is_described(types[i])) {
            if (types[i]->use == TYPE_STORED)
                put_path(rq->arena, &paths, types[i]);
            put_kind(&w, types[i]);
        }
    for (size_t i = 0; i < w.tables.n; i++) { /* more of them are found as they are written */
        autobuf schema = { 0 };

        put_table(&w, &schema, w.tables.v[i]);
        put_named(&w.definitions, LIST_ENTRY, table_name(&w, w.tables.v[i]), buf_view(&schema));
    }
    put_bytes(&info, INFO_TITLE, STR("Kubernetes"));
    put_bytes(&info, INFO_VERSION, STR("v1"));
    put_bytes(out, DOCUMENT_SWAGGER, STR("2.0"));
    put_bytes(out, DOCUMENT_INFO, buf_view(&info));
    put_bytes(out, DOCUMENT_PATHS, buf_view(&paths));
    put_bytes(out, DOCUMENT_DEFINITIONS, buf_view(&w.definitions));
    buf_done(&w.definitions);
}

int handle_openapi_v2(struct request *rq)
{
    struct document *d = map_get(&rq->server->documents, STR("v2"));

    if (!d) {
        d = document_new(rq->server, STR("v2"));
        print_v2(rq, &d->text);
    }
    reply_text(rq, 200, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", buf_view(&d->text), NULL);
    return 0;
}
