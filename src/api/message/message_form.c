/* message_form.c - an object as Kubernetes' own types write it */
#include "api/message/message.h"
#include "base/util.h"

static struct json *message_form_fill(struct arena *a, const struct message *m, const struct json *j, struct json *out);

static struct json *zero(struct arena *a, const struct message_field *f)
{
    if (f->shape != SHAPE_ONE)
        return json_null(a);
    switch ((enum message_type)f->type) {
    case MESSAGE_TEXT:
        return json_str(a, STR(""));
    case MESSAGE_BOOL:
        return json_bool_new(a, false);
    case MESSAGE_INT32:
    case MESSAGE_INT64:
    case MESSAGE_INT_OR_STR:
        return json_int(a, 0);
    case MESSAGE_QUANTITY:
        return json_str(a, STR("0"));
    case MESSAGE_DURATION:
        return json_str(a, STR("0s"));
    case MESSAGE_MESSAGE:
        return message_form_fill(a, f->sub, NULL, json_object(a));
    default:
        return json_null(a);
    }
}

static struct json *fill_items(struct arena *a, const struct message_field *f, const struct json *v)
{
    struct json *out = v->type == JSON_ARRAY ? json_array(a) : json_object(a);

    if (f->type != MESSAGE_MESSAGE)
        return json_copy(a, v);
    JSON_FOREACH(item, v) {
        struct json *filled = json_is(item, JSON_OBJECT) ? message_form_fill(a, f->sub, item, json_object(a))
                                                         : json_copy(a, item);

        if (v->type == JSON_ARRAY)
            json_push(out, filled);
        else
            json_add(out, json_key(item), filled);
    }
    return out;
}

/* It is written even if it is not set. */
static bool is_always(const struct message_field *f)
{
    return f->flags & MESSAGE_ALWAYS && !(f->flags & MESSAGE_POINTER);
}

/* NULL: it is left out. A value of a type that cannot be is kept as it is; others complain about those. */
static struct json *fill_field(struct arena *a, const struct message_field *f, const struct json *v)
{
    bool is_struct = f->shape == SHAPE_ONE && f->type == MESSAGE_MESSAGE;

    if (v->type == JSON_NULL)
        return is_always(f) ? zero(a, f) : NULL;
    if (is_struct)
        return v->type == JSON_OBJECT ? message_form_fill(a, f->sub, v, json_object(a)) : json_copy(a, v);
    if (json_is_zero(v) && !(f->flags & (MESSAGE_ALWAYS | MESSAGE_POINTER)))
        return NULL;
    return f->shape == SHAPE_ONE ? json_copy(a, v) : fill_items(a, f, v);
}

/* Members of 'j' in their order, then those that are always there. */
static struct json *message_form_fill(struct arena *a, const struct message *m, const struct json *j, struct json *out)
{
    struct json *v;

    JSON_FOREACH(member, j) {
        const struct message_field *f = message_field(m, json_key(member));

        if (f && (v = fill_field(a, f, member)))
            json_add(out, json_key(member), v);
    }
    for (const struct message_field *f = m->fields; f < m->fields + m->n_fields; f++) {
        if (!f->name)
            message_form_fill(a, f->sub, NULL, out);
        else if (is_always(f) && !json_get(out, f->name))
            json_add(out, str_of(f->name), zero(a, f));
    }
    return out;
}

struct json *message_fill(struct arena *a, const struct message *m, const struct json *obj)
{
    struct json *out = json_object(a);

    for (size_t i = 0; i < 2; i++) {
        const char *key = i ? "kind" : "apiVersion";
        const struct json *text = json_get(obj, key);

        if (text)
            json_add(out, str_of(key), json_copy(a, text));
    }
    return message_form_fill(a, m, obj, out);
}

static void message_form_trim(const struct message *m, struct json *j);

static void trim_field(const struct message_field *f, struct json *v)
{
    if (f->type != MESSAGE_MESSAGE)
        return;
    if (f->shape == SHAPE_ONE)
        message_form_trim(f->sub, v);
    else
        JSON_FOREACH(item, v)
            message_form_trim(f->sub, item);
}

static void message_form_trim(const struct message *m, struct json *j)
{
    if (!json_is(j, JSON_OBJECT))
        return;
    for (struct json *v = j->first, *next; v; v = next) {
        const struct message_field *f = message_field(m, json_key(v));

        next = v->next;
        if (f)
            trim_field(f, v);
        if (v->type == JSON_NULL || (f && f->shape == SHAPE_ONE && f->type == MESSAGE_MESSAGE &&
                                     !(f->flags & MESSAGE_POINTER) && json_is(v, JSON_OBJECT) && !v->n))
            json_unlink(j, v);
    }
}

void message_trim(const struct message *m, struct json *obj)
{
    message_form_trim(m, obj);
}
