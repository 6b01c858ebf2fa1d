/* merge_type.c - how a value merges, by message table or by OpenAPI schema */
#include "patch/merge_type.h"

#include "api/message/message.h"
#include "base/util.h"

static const struct merge_type deduced = { .source = MERGE_DEDUCED }, untyped = { .source = MERGE_UNTYPED };

struct merge_type merge_type_of_message(const struct message *m)
{
    return (struct merge_type){ .source = MERGE_MESSAGE, .message = m, .is_object = true };
}

/* A schema anywhere below one that keeps unknown fields keeps them too. */
static struct merge_type of_schema(const struct json *schema, bool keeps_unknown)
{
    return (struct merge_type){
        .source = MERGE_SCHEMA,
        .schema = schema,
        .keeps_unknown = keeps_unknown || json_bool(json_get(schema, "x-kubernetes-preserve-unknown-fields"), false),
        .is_object = json_bool(json_get(schema, "x-kubernetes-embedded-resource"), false),
    };
}

struct merge_type merge_type_of_schema(const struct json *openapi)
{
    struct merge_type t = of_schema(openapi, false);

    t.is_object = true;
    return t;
}

/* ---- what it may be ---- */

static const struct merge_atom any_atom = {
    .is_map = true, .is_list = true, .is_scalar = true, .is_atomic_list = true
};

/* Of one value of a field's type. */
static struct merge_atom field_atom(const struct message_field *f, bool is_atomic)
{
    static const enum merge_scalar scalars[MESSAGE_TYPE_MAX] = {
        [MESSAGE_TEXT] = MERGE_STRING,  [MESSAGE_BYTES] = MERGE_STRING, [MESSAGE_DURATION] = MERGE_STRING,
        [MESSAGE_BOOL] = MERGE_BOOLEAN, [MESSAGE_INT32] = MERGE_NUMBER, [MESSAGE_INT64] = MERGE_NUMBER,
    };
    struct merge_atom any = any_atom;

    switch ((enum message_type)f->type) {
    case MESSAGE_MESSAGE:
        return (struct merge_atom){ .is_map = true, .is_atomic_map = is_atomic || f->sub->is_atomic };
    case MESSAGE_RAW:
    case MESSAGE_EITHER: /* a schema, or a boolean or a list of schemas: one value, as a whole */
        any.is_atomic_map = true;
        return any;
    case MESSAGE_FIELDS:
        return (struct merge_atom){ .is_map = true };
    case MESSAGE_TEXTS:
        return (struct merge_atom){ .is_list = true, .is_atomic_list = true };
    default:
        return (struct merge_atom){ .is_scalar = true, .scalar = scalars[f->type] };
    }
}

static struct merge_atom row_atom(const struct merge_type *t)
{
    const struct message_field *f = t->field;
    bool is_atomic = (f->flags & MESSAGE_ATOMIC) != 0;

    if (t->is_item || f->shape == SHAPE_ONE)
        return field_atom(f, is_atomic && !t->is_item);
    if (f->shape == SHAPE_MAP)
        return (struct merge_atom){ .is_map = true, .is_atomic_map = is_atomic };
    return (struct merge_atom){ .is_list = true, .is_atomic_list = !f->keys, .is_set = f->keys && !f->keys[0] };
}

static struct merge_atom schema_atom(const struct json *schema)
{
    struct str type = json_member_text(schema, "type"), list = json_member_text(schema, "x-kubernetes-list-type");
    struct merge_atom atom = {
        .is_map = str_is(type, "object"),
        .is_list = str_is(type, "array"),
        .is_atomic_map = str_is(json_member_text(schema, "x-kubernetes-map-type"), "atomic"),
        .is_atomic_list = !str_is(list, "map") && !str_is(list, "set"),
        .is_set = str_is(list, "set"),
    };

    if (!type.n)
        atom.is_map = atom.is_list = atom.is_scalar = true;
    else if (!atom.is_map && !atom.is_list)
        atom.is_scalar = true;
    if (str_is(type, "integer") || str_is(type, "number"))
        atom.scalar = MERGE_NUMBER;
    else if (str_is(type, "boolean"))
        atom.scalar = MERGE_BOOLEAN;
    else if (str_is(type, "string") &&
             (!json_get(schema, "format") || str_is(json_member_text(schema, "format"), "byte")))
        atom.scalar = MERGE_STRING;
    return atom;
}

struct merge_atom merge_atom_of(const struct merge_type *t)
{
    struct merge_atom any = any_atom;

    switch (t->source) {
    case MERGE_MESSAGE:
        return (struct merge_atom){ .is_map = true, .is_atomic_map = t->is_atomic || t->message->is_atomic };
    case MERGE_FIELD:
        return row_atom(t);
    case MERGE_SCHEMA:
        return schema_atom(t->schema);
    case MERGE_TEXT:
        return (struct merge_atom){ .is_scalar = true, .scalar = MERGE_STRING };
    default:
        any.is_atomic_map = t->source == MERGE_UNTYPED;
        return any;
    }
}

/* ---- going down ---- */

static struct merge_type message_member(const struct message *m, struct str key, bool *ret_is_named)
{
    const struct message_field *f = message_field(m, key);

    *ret_is_named = f != NULL;
    return (struct merge_type){ .source = f ? MERGE_FIELD : MERGE_NONE, .field = f };
}

static struct merge_type schema_member(const struct merge_type *t, struct str key, bool *ret_is_named)
{
    const struct json *properties = json_get(t->schema, "properties");
    const struct json *more = json_get(t->schema, "additionalProperties"), *known = json_get_str(properties, key);

    *ret_is_named = known != NULL;
    if (known)
        return of_schema(known, t->keeps_unknown);
    if (json_is(more, JSON_OBJECT))
        return of_schema(more, t->keeps_unknown);
    if (more)
        return json_bool(more, false) ? deduced : (struct merge_type){ 0 };
    return t->keeps_unknown || !json_count(properties) ? deduced : (struct merge_type){ 0 };
}

struct merge_type merge_type_member(const struct merge_type *t, struct str key, bool *ret_is_named)
{
    const struct message_field *f = t->field;

    *ret_is_named = true;
    if (t->is_object && (str_is(key, "apiVersion") || str_is(key, "kind")))
        return (struct merge_type){ .source = MERGE_TEXT };
    if (t->is_object && str_is(key, "metadata"))
        return (struct merge_type){ .source = MERGE_MESSAGE, .message = &msg_meta_object_meta };
    if (t->source == MERGE_MESSAGE)
        return message_member(t->message, key, ret_is_named);
    if (t->source == MERGE_SCHEMA)
        return schema_member(t, key, ret_is_named);
    *ret_is_named = false;
    if (t->source == MERGE_FIELD && f->shape == SHAPE_MAP && !t->is_item)
        return (struct merge_type){ .source = MERGE_FIELD, .field = f, .is_item = true };
    if (t->source == MERGE_FIELD && f->type == MESSAGE_MESSAGE)
        return message_member(f->sub, key, ret_is_named);
    return t->source == MERGE_UNTYPED || (f && (f->type == MESSAGE_RAW || f->type == MESSAGE_EITHER)) ? untyped
                                                                                                      : deduced;
}

struct merge_type merge_type_item(const struct merge_type *t)
{
    const struct json *items = t->source == MERGE_SCHEMA ? json_get(t->schema, "items") : NULL;

    if (t->source == MERGE_FIELD && t->field->shape == SHAPE_LIST && !t->is_item)
        return (struct merge_type){ .source = MERGE_FIELD, .field = t->field, .is_item = true };
    return items ? of_schema(items, t->keeps_unknown) : untyped;
}

/* ---- keys ---- */

/* The value of one key, or its default. */
static void add_key(struct arena *a, struct json *keys, const struct json *item, struct str name,
                    const struct json *fallback)
{
    const struct json *value = json_get_str(item, name);

    if (value || fallback)
        json_add(keys, name, json_copy(a, value ? value : fallback));
}

static void message_keys(struct arena *a, const char *names, const struct json *item, struct json *keys)
{
    struct str rest = str_of(names), name;

    while (str_split(&rest, ',', &name)) {
        ptrdiff_t at = str_find_char(name, '=');

        add_key(a, keys, item, at < 0 ? name : str_sub(name, 0, (size_t)at),
                at < 0 ? NULL : json_str(a, str_from(name, (size_t)at + 1)));
    }
}

static void schema_keys(struct arena *a, const struct json *schema, const struct json *item, struct json *keys)
{
    const struct json *properties = json_find(schema, "items", "properties", NULL);

    JSON_FOREACH(name, json_get(schema, "x-kubernetes-list-map-keys")) {
        struct str key = json_text(name, STR_NULL);

        add_key(a, keys, item, key, json_get(json_get_str(properties, key), "default"));
    }
}

int merge_item_keys(struct arena *a, const struct merge_type *list, const struct json *item, struct json **ret,
                    struct err *e)
{
    struct json *keys = json_object(a);

    if (item->type == JSON_NULL)
        return err_set(e, ERR_INVALID, "associative list with keys may not have a null element");
    if (item->type != JSON_OBJECT)
        return err_set(e, ERR_INVALID, "associative list with keys may not have non-map elements");
    if (list->source == MERGE_SCHEMA)
        schema_keys(a, list->schema, item, keys);
    else
        message_keys(a, list->field->keys, item, keys);
    if (!keys->n)
        return err_set(e, ERR_INVALID,
                       "associative list with keys has an element that omits all key fields (and doesn't have default "
                       "values for any key fields)");
    json_sort_keys(keys, true);
    *ret = keys;
    return 0;
}
