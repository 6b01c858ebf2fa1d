/* decode.c - a message becomes JSON */
#include "api/duration.h"
#include "api/message/message.h"
#include "base/clock.h"
#include "base/util.h"
#include "json/members.h"
#include "proto/proto.h"
#include "proto/wire.h"

#include <math.h>
#include <stdlib.h>

#define MAGIC "k8s\0"

enum { VALUES_MAX = 1000 * 1000 }; /* two bytes on the wire can be sixty in memory */
enum { DEPTH_MAX = 256 };          /* of messages in messages: schemas are in schemas */

struct decoding {
    struct arena *arena;
    size_t n_values, depth;
    struct err *e;
};

static int decode_message(struct decoding *d, const struct message *m, struct str bytes, struct json *into);

bool proto_is(struct str body)
{
    return str_starts(body, STR(MAGIC));
}

/* ---- values that are small messages ---- */

/* Fields 1 to 3 of a message of scalars; what is not there stays as it is. */
static int small_fields(struct decoding *d, struct str bytes, uint64_t ints[4], struct str texts[4])
{
    struct wire_field f;
    int got;

    while ((got = wire_next(&bytes, &f, d->e)) > 0) {
        if (f.number > 3)
            continue;
        if (f.type == WIRE_VARINT)
            ints[f.number] = f.value;
        else if (f.type == WIRE_BYTES)
            texts[f.number] = f.bytes;
        else
            return err_set(d->e, ERR_SYNTAX, "wrong wire type %d", f.type);
    }
    return got;
}

static struct json *buf_text(struct arena *a, const struct buf *b)
{
    return json_str(a, arena_str(a, buf_view(b)));
}

static struct json *time_value(struct arena *a, const struct message_field *f, int64_t seconds, int64_t nanos,
                               bool is_set)
{
    const int64_t limit_s = INT64_C(253402300800); /* the year 10000; clock_print() stops there too */
    autobuf out = { 0 };

    if (!is_set)
        return json_null(a);
    seconds = MAX_OF(-limit_s, MIN_OF(limit_s, seconds));
    if (f->type == MESSAGE_MICRO_TIME)
        clock_print_us(&out, seconds * 1000000 + MAX_OF(0, MIN_OF(999999, nanos / 1000)));
    else
        clock_print(&out, seconds * 1000);
    return buf_text(a, &out);
}

static int text_value(struct decoding *d, struct str text, struct json **ret)
{
    if (!str_is_utf8(text))
        return err_set(d->e, ERR_SYNTAX, "the string is not UTF-8");
    *ret = json_str(d->arena, text);
    return 0;
}

static int json_value(struct decoding *d, struct str text, struct json **ret)
{
    if (!text.n) {
        *ret = json_null(d->arena);
        return 0;
    }
    return json_parse(d->arena, text, NULL, ret, d->e);
}

static int int_or_str(struct decoding *d, const uint64_t ints[4], struct str text, struct json **ret)
{
    if (ints[1] == 1)
        return text_value(d, text, ret);
    *ret = json_int(d->arena, (int32_t)ints[2]);
    return 0;
}

static int duration_value(struct decoding *d, int64_t ns, struct json **ret)
{
    autobuf out = { 0 };

    duration_print(&out, ns);
    *ret = buf_text(d->arena, &out);
    return 0;
}

static int texts_value(struct decoding *d, struct str bytes, struct json *list)
{
    struct wire_field f;
    struct json *item = NULL;
    int got;

    while ((got = wire_next(&bytes, &f, d->e)) > 0) {
        if (f.number != 1)
            continue;
        if (f.type != WIRE_BYTES)
            return err_set(d->e, ERR_SYNTAX, "wrong wire type %d", f.type);
        if (++d->n_values > VALUES_MAX)
            return err_set(d->e, ERR_TOO_BIG, "the message has more than %d values", VALUES_MAX);
        if (text_value(d, f.bytes, &item) < 0)
            return -1;
        json_push(list, item);
    }
    return got;
}

/* ---- one value ---- */

static int small_message(struct decoding *d, const struct message_field *f, struct str bytes, struct json **ret)
{
    uint64_t ints[4] = { 0 };
    struct str texts[4] = { 0 };

    if (small_fields(d, bytes, ints, texts) < 0)
        return -1;
    switch ((enum message_type)f->type) {
    case MESSAGE_QUANTITY:
        return text_value(d, texts[1].n ? texts[1] : STR("0"), ret);
    case MESSAGE_INT_OR_STR:
        return int_or_str(d, ints, texts[3], ret);
    case MESSAGE_DURATION:
        return duration_value(d, (int64_t)ints[1], ret);
    case MESSAGE_RAW:
    case MESSAGE_FIELDS:
        return json_value(d, texts[1], ret);
    default:
        *ret = time_value(d->arena, f, (int64_t)ints[1], (int64_t)ints[2], bytes.n > 0);
        return 0;
    }
}

static int bytes_value(struct decoding *d, struct str bytes, struct json **ret)
{
    autobuf out = { 0 };

    buf_base64(&out, bytes);
    *ret = buf_text(d->arena, &out);
    return 0;
}

/* With as many digits as it takes to read the same number again. */
static int double_value(struct decoding *d, struct str bytes, struct json **ret)
{
    uint64_t bits = 0;
    double v;
    char text[40];

    for (size_t i = 0; i < sizeof(bits); i++)
        bits |= (uint64_t)(unsigned char)bytes.p[i] << 8 * i;
    memcpy(&v, &bits, sizeof(v));
    if (!isfinite(v))
        return err_set(d->e, ERR_SYNTAX, "the number has no JSON form");
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    return json_parse(d->arena, arena_str(d->arena, str_of(text)), NULL, ret, d->e);
}

/* The one field of the two that says something. */
static int either_value(struct decoding *d, const struct message_field *f, struct str bytes, struct json **ret)
{
    struct json *both = json_object(d->arena), *other = NULL;

    if (decode_message(d, f->sub, bytes, both) < 0)
        return -1;
    *ret = json_null(d->arena);
    JSON_FOREACH(v, both) {
        if (v->type == JSON_OBJECT)
            *ret = v;
        else
            other = v;
    }
    if ((*ret)->type == JSON_NULL && other)
        *ret = other;
    else if ((*ret)->type == JSON_NULL && f->sub->fields[0].type == MESSAGE_BOOL)
        *ret = json_bool_new(d->arena, false);
    (*ret)->next = NULL;
    (*ret)->key = NULL;
    (*ret)->key_n = 0;
    return 0;
}

static enum wire_type wire_type_of(const struct message_field *f)
{
    switch ((enum message_type)f->type) {
    case MESSAGE_BOOL:
    case MESSAGE_INT32:
    case MESSAGE_INT64:
        return WIRE_VARINT;
    case MESSAGE_DOUBLE:
        return WIRE_64;
    default:
        return WIRE_BYTES;
    }
}

/* 'old' is what the field has already: a message is merged into it. */
static int decode_value(struct decoding *d, const struct message_field *f, const struct wire_field *w, struct json *old,
                        struct json **ret)
{
    if (w->type != wire_type_of(f))
        return err_set(d->e, ERR_SYNTAX, "wrong wire type %d", w->type);
    if (++d->n_values > VALUES_MAX)
        return err_set(d->e, ERR_TOO_BIG, "the message has more than %d values", VALUES_MAX);
    switch ((enum message_type)f->type) {
    case MESSAGE_BOOL:
        *ret = json_bool_new(d->arena, w->value != 0);
        return 0;
    case MESSAGE_INT32:
        *ret = json_int(d->arena, (int32_t)w->value);
        return 0;
    case MESSAGE_INT64:
        *ret = json_int(d->arena, (int64_t)w->value);
        return 0;
    case MESSAGE_TEXT:
        return text_value(d, w->bytes, ret);
    case MESSAGE_BYTES:
        return bytes_value(d, w->bytes, ret);
    case MESSAGE_MESSAGE:
        *ret = old ? old : json_object(d->arena);
        return decode_message(d, f->sub, w->bytes, *ret);
    case MESSAGE_TEXTS:
        *ret = old ? old : json_array(d->arena);
        return texts_value(d, w->bytes, *ret);
    case MESSAGE_DOUBLE:
        return double_value(d, w->bytes, ret);
    case MESSAGE_EITHER:
        return either_value(d, f, w->bytes, ret);
    default:
        return small_message(d, f, w->bytes, ret);
    }
}

/* ---- fields ---- */

/* Of a map's entry that has only a key. */
static struct json *zero_value(struct arena *a, const struct message_field *f)
{
    if (f->type == MESSAGE_MESSAGE)
        return json_object(a);
    if (f->type == MESSAGE_TEXTS)
        return json_array(a);
    return json_str(a, f->type == MESSAGE_QUANTITY ? STR("0") : STR(""));
}

static int decode_entry(struct decoding *d, const struct message_field *f, struct str bytes, struct json *map)
{
    struct str key = STR_NULL;
    struct json *value = NULL;
    struct wire_field w;
    int got;

    while ((got = wire_next(&bytes, &w, d->e)) > 0) {
        if (w.number == 1 && w.type == WIRE_BYTES)
            key = w.bytes;
        else if (w.number == 2 && decode_value(d, f, &w, NULL, &value) < 0)
            return -1;
    }
    if (got < 0)
        return -1;
    if (!value)
        value = zero_value(d->arena, f);
    if (!str_is_utf8(key))
        return err_set(d->e, ERR_SYNTAX, "the key is not UTF-8");
    json_add(map, key, value); /* of equal keys the last counts; see keep_last() */
    return 0;
}

/* Numbers of a list in one piece, which decoders must take. */
static int decode_packed(struct decoding *d, const struct message_field *f, struct str bytes, struct json *list)
{
    struct wire_field w = { .type = WIRE_VARINT };
    struct json *value;

    while (bytes.n) {
        if (wire_varint(&bytes, &w.value) < 0)
            return err_set(d->e, ERR_SYNTAX, "packed numbers are truncated");
        if (decode_value(d, f, &w, NULL, &value) < 0)
            return -1;
        json_push(list, value);
    }
    return 0;
}

static int decode_field(struct decoding *d, const struct message_field *f, const struct wire_field *w,
                        struct json *into)
{
    struct json *old, *value;
    bool is_number = f->type == MESSAGE_INT32 || f->type == MESSAGE_INT64;

    if (!f->name) {
        if (w->type != WIRE_BYTES)
            return err_set(d->e, ERR_SYNTAX, "wrong wire type %d", w->type);
        return decode_message(d, f->sub, w->bytes, into);
    }
    old = json_get(into, f->name);
    if (f->shape == SHAPE_ONE) {
        if (decode_value(d, f, w, old, &value) < 0)
            return -1;
        if (value != old)
            json_set(into, f->name, value);
        return 0;
    }
    if (!old)
        old = json_set(into, f->name, f->shape == SHAPE_MAP ? json_object(d->arena) : json_array(d->arena));
    if (f->shape == SHAPE_MAP && w->type == WIRE_BYTES)
        return decode_entry(d, f, w->bytes, old);
    if (f->shape == SHAPE_LIST && is_number && w->type == WIRE_BYTES)
        return decode_packed(d, f, w->bytes, old);
    if (f->shape == SHAPE_MAP)
        return err_set(d->e, ERR_SYNTAX, "wrong wire type %d", w->type);
    if (decode_value(d, f, w, NULL, &value) < 0)
        return -1;
    json_push(old, value);
    return 0;
}

static const struct message_field *field_by_number(const struct message *m, uint32_t number)
{
    for (const struct message_field *f = m->fields; f < m->fields + m->n_fields; f++)
        if (f->number == number)
            return f;
    return NULL;
}

static int decode_message(struct decoding *d, const struct message *m, struct str bytes, struct json *into)
{
    struct wire_field w;
    int got;

    if (++d->depth > DEPTH_MAX)
        return err_set(d->e, ERR_TOO_BIG, "messages are nested deeper than %d", DEPTH_MAX);
    while ((got = wire_next(&bytes, &w, d->e)) > 0) {
        const struct message_field *f = field_by_number(m, w.number);

        if (f && decode_field(d, f, &w, into) < 0)
            return d->e->code == ERR_TOO_BIG ? -1 : err_wrap(d->e, "%s.%s", m->name, f->name ? f->name : f->sub->name);
    }
    d->depth--;
    return got < 0 ? err_wrap(d->e, "%s", m->name) : 0;
}

/* ---- what the encoder wrote though it says nothing ---- */

static void decode_tidy(const struct message *m, struct json *j);

/* A message that was not set: it has only the zeroes that its JSON always has. */
static bool is_all_zero(const struct message *m, const struct json *j)
{
    int64_t n;

    JSON_FOREACH(v, j) {
        if (message_field(m, json_key(v))->flags & MESSAGE_POINTER || v->type == JSON_OBJECT || v->type == JSON_ARRAY)
            return false;
        if (v->type == JSON_NUMBER ? json_to_i64(v, &n) < 0 || n != 0 : v->n != 0)
            return false;
    }
    return true;
}

static bool says_nothing(const struct message_field *f, const struct json *v)
{
    bool is_scalar = f->shape == SHAPE_ONE && (f->type == MESSAGE_TEXT || f->type == MESSAGE_BOOL ||
                                               f->type == MESSAGE_INT32 || f->type == MESSAGE_INT64);
    int64_t n;

    if (v->type == JSON_NULL)
        return true;
    if (f->flags & MESSAGE_POINTER || (is_scalar && f->flags & MESSAGE_ALWAYS))
        return false;
    if (f->shape == SHAPE_ONE && f->type == MESSAGE_MESSAGE)
        return is_all_zero(f->sub, v);
    if (v->type == JSON_NUMBER)
        return json_to_i64(v, &n) == 0 && n == 0;
    return v->n == 0 && f->type != MESSAGE_INT_OR_STR; /* "" was sent explicitly */
}

/* A map that has a key twice keeps the last of them. */
static void keep_last(struct json *map)
{
    autojson_members members = { 0 };
    struct json *v = map->first, *next;

    json_members_init(&members, map, map->n);
    JSON_FOREACH(m, map)
        m->mark = json_members_get(&members, json_key(m)) == m;
    json_members_done(&members);
    map->first = map->last = NULL;
    map->n = 0;
    for (; v; v = next) {
        next = v->next;
        if (v->mark) {
            v->mark = 0;
            json_add(map, json_key(v), v);
        }
    }
}

/* The message among the two fields, alone or in a list; with a map around them. */
static void tidy_either(const struct message_field *f, struct json *v)
{
    const struct message *schema = NULL;

    for (size_t i = 0; i < f->sub->n_fields; i++)
        if (f->sub->fields[i].type == MESSAGE_MESSAGE)
            schema = f->sub->fields[i].sub;
    if (v->type == JSON_OBJECT && f->shape == SHAPE_ONE) {
        decode_tidy(schema, v);
        return;
    }
    JSON_FOREACH(item, v) {
        if (item->type == JSON_OBJECT)
            decode_tidy(schema, item);
    }
}

static void tidy_field(const struct message_field *f, struct json *v)
{
    if (f->shape == SHAPE_MAP)
        keep_last(v);
    if (f->type == MESSAGE_EITHER) {
        tidy_either(f, v);
        return;
    }
    if (f->type != MESSAGE_MESSAGE)
        return;
    if (f->shape == SHAPE_ONE)
        decode_tidy(f->sub, v);
    else
        JSON_FOREACH(item, v)
            decode_tidy(f->sub, item);
}

static void decode_tidy(const struct message *m, struct json *j)
{
    for (struct json *v = j->first, *next; v; v = next) {
        const struct message_field *f = message_field(m, json_key(v));

        next = v->next;
        tidy_field(f, v);
        if (says_nothing(f, v))
            json_unlink(j, v);
    }
}

/* ---- the envelope ---- */

struct envelope {
    struct str api_version, kind, raw, encoding, type;
};

static int read_envelope(struct decoding *d, struct str bytes, struct envelope *ret)
{
    uint64_t ints[4] = { 0 };
    struct str texts[4] = { 0 };
    struct wire_field w;
    int got;

    while ((got = wire_next(&bytes, &w, d->e)) > 0) {
        struct str *const places[] = { NULL, NULL, &ret->raw, &ret->encoding, &ret->type };

        if (w.number < 1 || w.number > 4)
            continue;
        if (w.type != WIRE_BYTES)
            return err_set(d->e, ERR_SYNTAX, "wrong wire type %d", w.type);
        if (w.number > 1)
            *places[w.number] = w.bytes;
        else if (small_fields(d, w.bytes, ints, texts) < 0)
            return -1;
    }
    ret->api_version = texts[1];
    ret->kind = texts[2];
    return got;
}

int proto_decode(struct arena *a, struct str body, struct json **ret, struct err *e)
{
    struct decoding d = { .arena = a, .e = e };
    struct envelope env = { 0 };
    const struct message *m;
    struct json *obj = json_object(a), *content = json_object(a);

    if (!proto_is(body))
        return err_set(e, ERR_SYNTAX, "the body does not begin with the prefix of Kubernetes protobuf objects");
    if (read_envelope(&d, str_from(body, sizeof(MAGIC) - 1), &env) < 0)
        return err_wrap(e, "envelope");
    if (env.encoding.n || (env.type.n && !str_is(env.type, "application/vnd.kubernetes.protobuf")))
        return err_set(e, ERR_SYNTAX, "envelope: the content must be plain protobuf");
    m = message_by_kind(env.api_version, env.kind);
    if (!m)
        return err_set(e, ERR_NOT_FOUND, "kind \"%.*s\" of \"%.*s\" has no protobuf form", (int)MIN_OF(env.kind.n, 80),
                       env.kind.p, (int)MIN_OF(env.api_version.n, 80), env.api_version.p);
    if (decode_message(&d, m, env.raw, content) < 0)
        return -1;
    decode_tidy(m, content);
    json_add(obj, STR("apiVersion"), json_str(a, env.api_version));
    json_add(obj, STR("kind"), json_str(a, env.kind));
    for (struct json *v = content->first, *next; v; v = next) {
        next = v->next;
        json_add(obj, json_key(v), v);
    }
    *ret = obj;
    return 0;
}
