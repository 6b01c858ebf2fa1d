/* encode.c - JSON becomes a message, as Go's encoder writes it
 *
 * Fields go by rising number. One that is no pointer is written even when it is zero; lists and maps only when they have
 * something, maps by rising key.
 */
#include "api/duration.h"
#include "api/message/message.h"
#include "base/clock.h"
#include "base/util.h"
#include "proto/proto.h"
#include "proto/wire.h"

#include <stdlib.h>

struct encoding {
    struct arena *arena;
    struct buf *out;
    struct err *e;
};

static int encode_message(struct encoding *en, const struct message *m, const struct json *j);
static int encode_value(struct encoding *en, const struct message_field *f, const struct json *v, uint32_t number);
static int encode_list(struct encoding *en, const struct message_field *f, const struct json *list);

static int wrong_type(struct encoding *en, const struct json *v, const char *want)
{
    return err_set(en->e, ERR_INVALID, "expected %s, got %s", want, json_type_name(v->type));
}

/* ---- one value; NULL: the zero of its type ---- */

static int encode_int(struct encoding *en, const struct message_field *f, const struct json *v, uint32_t number)
{
    int64_t n = 0;

    if (v && (json_to_i64(v, &n) < 0 || (f->type == MESSAGE_INT32 && n != (int32_t)n)))
        return wrong_type(en, v, "a whole number that fits");
    wire_put_int(en->out, number, n);
    return 0;
}

static int encode_bool(struct encoding *en, const struct json *v, uint32_t number)
{
    if (v && v->type != JSON_BOOL)
        return wrong_type(en, v, "true or false");
    wire_put_int(en->out, number, json_bool(v, false));
    return 0;
}

static int encode_text(struct encoding *en, const struct json *v, uint32_t number)
{
    if (v && v->type != JSON_STRING)
        return wrong_type(en, v, "text");
    wire_put_bytes(en->out, number, json_text(v, STR_NULL));
    return 0;
}

static int encode_bytes(struct encoding *en, const struct json *v, uint32_t number)
{
    autobuf bytes = { 0 };

    if (v->type != JSON_STRING)
        return wrong_type(en, v, "text");
    if (buf_unbase64(&bytes, json_text(v, STR_NULL)) < 0)
        return err_set(en->e, ERR_INVALID, "must be base64");
    wire_put_bytes(en->out, number, buf_view(&bytes));
    return 0;
}

static int encode_double(struct encoding *en, const struct json *v, uint32_t number)
{
    double d = 0;
    uint64_t bits;

    if (v && v->type != JSON_NUMBER)
        return wrong_type(en, v, "a number");
    if (v)
        d = strtod(arena_cstr(en->arena, (struct str){ v->text, v->n }), NULL);
    memcpy(&bits, &d, sizeof(bits));
    wire_put_tag(en->out, number, WIRE_64);
    for (size_t i = 0; i < sizeof(bits); i++)
        buf_char(en->out, (char)(bits >> 8 * i));
    return 0;
}

/* Its field of that type; one with a bool says true beside a message. */
static int encode_either(struct encoding *en, const struct message_field *f, const struct json *v)
{
    for (const struct message_field *one = f->sub->fields; v && one < f->sub->fields + f->sub->n_fields; one++) {
        bool is_message = one->type == MESSAGE_MESSAGE && one->shape == SHAPE_ONE;
        int rc = 0;

        if (is_message ? v->type == JSON_OBJECT : one->shape == SHAPE_LIST && v->type == JSON_ARRAY)
            rc = is_message ? encode_value(en, one, v, one->number) : encode_list(en, one, v);
        else if (one->type == MESSAGE_BOOL)
            rc = encode_bool(en, v->type == JSON_BOOL ? v : json_bool_new(en->arena, true), one->number);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* A number or a text, as quantities are written. */
static int encode_quantity(struct encoding *en, const struct json *v)
{
    if (v && v->type != JSON_STRING && v->type != JSON_NUMBER)
        return wrong_type(en, v, "a quantity");
    wire_put_bytes(en->out, 1, v ? (struct str){ v->text, v->n } : STR("0"));
    return 0;
}

static int encode_int_or_str(struct encoding *en, const struct json *v)
{
    int64_t n = 0;

    if (v && v->type != JSON_STRING && (json_to_i64(v, &n) < 0 || n != (int32_t)n))
        return wrong_type(en, v, "a number or text");
    wire_put_int(en->out, 1, json_is(v, JSON_STRING));
    wire_put_int(en->out, 2, n);
    wire_put_bytes(en->out, 3, json_text(v, STR_NULL));
    return 0;
}

static int encode_time(struct encoding *en, const struct message_field *f, const struct json *v)
{
    int64_t us, seconds;

    if (!v)
        return 0;
    if (v->type != JSON_STRING)
        return wrong_type(en, v, "a time");
    if (!v->n)
        return 0;
    if (clock_parse_us(json_text(v, STR_NULL), &us, en->e) < 0)
        return -1;
    seconds = us / 1000000 - (us % 1000000 < 0);
    wire_put_int(en->out, 1, seconds);
    wire_put_int(en->out, 2, f->type == MESSAGE_MICRO_TIME ? (us - seconds * 1000000) * 1000 : 0);
    return 0;
}

static int encode_duration(struct encoding *en, const struct json *v)
{
    int64_t ns = 0;

    if (v && duration_parse(json_text(v, STR("?")), &ns, en->e) < 0)
        return -1;
    wire_put_int(en->out, 1, ns);
    return 0;
}

static int encode_json(struct encoding *en, const struct json *v)
{
    autobuf text = { 0 };

    if (v) {
        json_print(&text, v);
        wire_put_bytes(en->out, 1, buf_view(&text));
    }
    return 0;
}

static int encode_texts(struct encoding *en, const struct json *v)
{
    JSON_FOREACH(item, v)
        if (encode_text(en, item, 1) < 0)
            return -1;
    return 0;
}

static int encode_content(struct encoding *en, const struct message_field *f, const struct json *v)
{
    switch ((enum message_type)f->type) {
    case MESSAGE_QUANTITY:
        return encode_quantity(en, v);
    case MESSAGE_INT_OR_STR:
        return encode_int_or_str(en, v);
    case MESSAGE_DURATION:
        return encode_duration(en, v);
    case MESSAGE_RAW:
    case MESSAGE_FIELDS:
        return encode_json(en, v);
    case MESSAGE_TEXTS:
        return encode_texts(en, v);
    case MESSAGE_EITHER:
        return encode_either(en, f, v);
    case MESSAGE_MESSAGE:
        if (v && v->type != JSON_OBJECT)
            return wrong_type(en, v, "an object");
        return encode_message(en, f->sub, v);
    default:
        return encode_time(en, f, v);
    }
}

static int encode_value(struct encoding *en, const struct message_field *f, const struct json *v, uint32_t number)
{
    size_t begun;

    switch ((enum message_type)f->type) {
    case MESSAGE_TEXT:
        return encode_text(en, v, number);
    case MESSAGE_BOOL:
        return encode_bool(en, v, number);
    case MESSAGE_INT32:
    case MESSAGE_INT64:
        return encode_int(en, f, v, number);
    case MESSAGE_DOUBLE:
        return encode_double(en, v, number);
    case MESSAGE_BYTES:
        return v ? encode_bytes(en, v, number) : 0; /* none is not the same as empty */
    default:
        begun = wire_begin(en->out, number);
        if (encode_content(en, f, v) < 0)
            return -1;
        wire_end(en->out, begun);
        return 0;
    }
}

/* ---- fields ---- */

static int encode_by_key(const void *x, const void *y)
{
    return str_cmp(json_key(*(struct json *const *)x), json_key(*(struct json *const *)y));
}

static int encode_map(struct encoding *en, const struct message_field *f, const struct json *map)
{
    struct json **sorted = arena_array(en->arena, struct json *, json_count(map) + 1);
    size_t n = 0;

    if (map->type != JSON_OBJECT)
        return wrong_type(en, map, "an object");
    JSON_FOREACH(m, map)
        sorted[n++] = m;
    qsort(sorted, n, sizeof(struct json *), encode_by_key);
    for (size_t i = 0; i < n; i++) {
        size_t begun = wire_begin(en->out, f->number);

        wire_put_bytes(en->out, 1, json_key(sorted[i]));
        if (encode_value(en, f, sorted[i]->type == JSON_NULL ? NULL : sorted[i], 2) < 0)
            return err_wrap(en->e, "[%.*s]", (int)MIN_OF(sorted[i]->key_n, 80), sorted[i]->key);
        wire_end(en->out, begun);
    }
    return 0;
}

static int encode_list(struct encoding *en, const struct message_field *f, const struct json *list)
{
    size_t i = 0;

    if (list->type != JSON_ARRAY)
        return wrong_type(en, list, "a list");
    JSON_FOREACH(item, list) {
        if (encode_value(en, f, item->type == JSON_NULL ? NULL : item, f->number) < 0)
            return err_wrap(en->e, "[%zu]", i);
        i++;
    }
    return 0;
}

static int encode_field(struct encoding *en, const struct message_field *f, const struct json *j)
{
    const struct json *v = f->name ? json_get(j, f->name) : NULL;
    size_t begun;

    if (!f->name) {
        begun = wire_begin(en->out, f->number);
        if (encode_message(en, f->sub, j) < 0)
            return -1;
        wire_end(en->out, begun);
        return 0;
    }
    if (json_is(v, JSON_NULL))
        v = NULL;
    if (!v && (f->shape != SHAPE_ONE || f->flags & MESSAGE_POINTER))
        return 0;
    if (f->shape == SHAPE_ONE)
        return encode_value(en, f, v, f->number);
    return f->shape == SHAPE_MAP ? encode_map(en, f, v) : encode_list(en, f, v);
}

/* 'j' may be NULL: all fields are zero. */
static int encode_message(struct encoding *en, const struct message *m, const struct json *j)
{
    for (const struct message_field *f = m->fields; f < m->fields + m->n_fields; f++)
        if (encode_field(en, f, j) < 0)
            return f->name ? err_wrap(en->e, "%s", f->name) : -1;
    return 0;
}

/* ---- the envelope ---- */

int proto_encode(struct arena *a, struct buf *out, const struct json *obj, struct err *e)
{
    struct str api_version = json_member_text(obj, "apiVersion"), kind = json_member_text(obj, "kind");
    const struct message *m = message_by_kind(api_version, kind);
    struct encoding en = { a, out, e };
    size_t start = out->n, begun;

    if (!m)
        return err_set(e, ERR_NOT_FOUND, "kind \"%.*s\" of \"%.*s\" has no protobuf form", (int)MIN_OF(kind.n, 80),
                       kind.n ? kind.p : "", (int)MIN_OF(api_version.n, 80), api_version.n ? api_version.p : "");
    buf_append(out, "k8s\0", 4);
    begun = wire_begin(out, 1);
    wire_put_bytes(out, 1, api_version);
    wire_put_bytes(out, 2, kind);
    wire_end(out, begun);
    begun = wire_begin(out, 2);
    if (encode_message(&en, m, obj) < 0) {
        out->n = start;
        return -1;
    }
    wire_end(out, begun);
    wire_put_bytes(out, 3, STR_NULL);
    wire_put_bytes(out, 4, STR_NULL);
    return 0;
}

int proto_encode_event(struct arena *a, struct buf *out, struct str type, const struct json *obj, struct err *e)
{
    size_t start = out->n, n, begun;
    autobuf raw = { 0 };

    if (proto_encode(a, &raw, obj, e) < 0)
        return -1;
    buf_append(out, "\0\0\0\0", 4);
    wire_put_bytes(out, 1, type);
    begun = wire_begin(out, 2);
    wire_put_bytes(out, 1, buf_view(&raw));
    wire_end(out, begun);
    n = out->n - start - 4;
    for (size_t i = 0; i < 4; i++)
        out->p[start + i] = (char)(n >> (24 - 8 * i));
    return 0;
}
