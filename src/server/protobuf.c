/* protobuf.c - from protobuf to JSON, by tables */
#include "server/protobuf.h"

#include "base/clock.h"
#include "base/util.h"
#include "api/meta.h"

#include <inttypes.h>

enum { DEPTH_MAX = 32, WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct piece { /* one field as it stands in a message */
    uint64_t number;
    unsigned wire;
    uint64_t value;   /* WIRE_VARINT, WIRE_FIXED64 */
    struct str bytes; /* WIRE_BYTES */
};

/* ---- the wire ---- */

static bool take_varint(struct str *rest, uint64_t *ret)
{
    *ret = 0;
    for (unsigned shift = 0; shift < 64 && rest->n; shift += 7) {
        unsigned char c = (unsigned char)rest->p[0];

        *rest = str_from(*rest, 1);
        *ret |= (uint64_t)(c & 127) << shift;
        if (c < 128)
            return true;
    }
    return false;
}

static bool take_fixed(struct str *rest, size_t n, uint64_t *ret)
{
    *ret = 0;
    if (rest->n < n)
        return false;
    for (size_t i = n; i-- > 0;)
        *ret = *ret << 8 | (unsigned char)rest->p[i];
    *rest = str_from(*rest, n);
    return true;
}

static bool take_piece(struct str *rest, struct piece *ret)
{
    uint64_t key, n;

    *ret = (struct piece){ 0 };
    if (!take_varint(rest, &key))
        return false;
    ret->number = key >> 3;
    ret->wire = key & 7;
    switch (ret->wire) {
    case WIRE_VARINT:
        return take_varint(rest, &ret->value);
    case WIRE_FIXED64:
        return take_fixed(rest, 8, &ret->value);
    case WIRE_FIXED32:
        return take_fixed(rest, 4, &ret->value);
    case WIRE_BYTES:
        if (!take_varint(rest, &n) || n > rest->n)
            return false;
        ret->bytes = str_sub(*rest, 0, (size_t)n);
        *rest = str_from(*rest, (size_t)n);
        return true;
    default:
        return false;
    }
}

static int broken(struct err *e, const char *where)
{
    return err_set(e, ERR_SYNTAX, "protobuf: %s cannot be read", where);
}

/* ---- values ---- */

static int read_message(struct arena *a, const struct proto_message *m, struct str bytes, unsigned depth,
                        struct json *to, struct err *e);

/* The text of a message with one field, or of the field 'number' of several. */
static int inner(struct str bytes, uint64_t number, struct piece *ret)
{
    struct piece p;

    *ret = (struct piece){ 0 };
    while (bytes.n) {
        if (!take_piece(&bytes, &p))
            return -1;
        if (p.number == number)
            *ret = p;
    }
    return 0;
}

static struct json *time_value(struct arena *a, struct str bytes, bool is_micro)
{
    struct piece seconds, nanos;
    autobuf text = { 0 };

    if (inner(bytes, 1, &seconds) < 0 || inner(bytes, 2, &nanos) < 0)
        return NULL;
    if (!bytes.n)
        return json_null(a);
    if (seconds.value > (uint64_t)INT64_MAX / 1000001 && (int64_t)seconds.value > 0)
        return NULL;
    if (is_micro)
        clock_print_us(&text, (int64_t)seconds.value * 1000000 + (int64_t)(nanos.value / 1000));
    else
        clock_print(&text, (int64_t)seconds.value * 1000);
    return json_str(a, arena_str(a, buf_view(&text)));
}

static struct json *port_value(struct arena *a, struct str bytes)
{
    struct piece type, number, text;

    if (inner(bytes, 1, &type) < 0 || inner(bytes, 2, &number) < 0 || inner(bytes, 3, &text) < 0)
        return NULL;
    return type.value ? json_str(a, text.bytes) : json_int(a, (int32_t)number.value);
}

static struct json *raw_value(struct arena *a, struct str bytes)
{
    struct piece text;
    struct json *j;
    struct err e;

    if (inner(bytes, 1, &text) < 0)
        return NULL;
    if (!text.bytes.n)
        return json_null(a);
    return json_parse(a, text.bytes, NULL, &j, &e) == 0 ? j : NULL;
}

static struct json *base64_value(struct arena *a, struct str bytes)
{
    autobuf coded = { 0 };

    buf_base64(&coded, bytes);
    return json_str(a, arena_str(a, buf_view(&coded)));
}

static struct json *float_value(struct arena *a, uint64_t bits)
{
    double v;

    memcpy(&v, &bits, sizeof(v));
    return json_int(a, v > -9e15 && v < 9e15 ? (int64_t)v : 0);
}

static struct json *text_value(struct arena *a, struct str bytes)
{
    return str_is_utf8(bytes) ? json_str(a, bytes) : NULL;
}

static struct json *quantity_value(struct arena *a, struct str bytes)
{
    struct piece text;

    return inner(bytes, 1, &text) < 0 ? NULL : text_value(a, text.bytes);
}

/* NULL and an error: it is none. */
static struct json *value_of(struct arena *a, const struct proto_field *f, const struct piece *p, unsigned depth,
                             struct err *e)
{
    bool is_bytes = f->kind == PROTO_TEXT || f->kind >= PROTO_BYTES;
    struct json *j = NULL;

    if ((p->wire == WIRE_BYTES) != is_bytes)
        j = NULL;
    else if (f->kind == PROTO_TEXT)
        j = text_value(a, p->bytes);
    else if (f->kind == PROTO_INT)
        j = json_int(a, (int64_t)p->value);
    else if (f->kind == PROTO_BOOL)
        j = json_bool_new(a, p->value != 0);
    else if (f->kind == PROTO_FLOAT)
        j = float_value(a, p->value);
    else if (f->kind == PROTO_BYTES)
        j = base64_value(a, p->bytes);
    else if (f->kind == PROTO_TIME || f->kind == PROTO_MICRO_TIME)
        j = time_value(a, p->bytes, f->kind == PROTO_MICRO_TIME);
    else if (f->kind == PROTO_QUANTITY)
        j = quantity_value(a, p->bytes);
    else if (f->kind == PROTO_PORT)
        j = port_value(a, p->bytes);
    else if (f->kind == PROTO_RAW)
        j = raw_value(a, p->bytes);
    else if (f->kind == PROTO_OBJECT) {
        j = json_object(a);
        if (read_message(a, f->sub, p->bytes, depth + 1, j, e) < 0)
            return NULL;
    }
    if (!j)
        (void)broken(e, f->name);
    return j;
}

/* Set to nothing, as writers that have no pointers write what is not set. */
static bool is_empty(const struct json *j)
{
    switch ((enum json_type)j->type) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
    case JSON_STRING:
    case JSON_ARRAY:
    case JSON_OBJECT:
        return j->n == 0;
    case JSON_NUMBER:
        return j->n == 1 && j->text[0] == '0';
    case JSON_TYPE_MAX:
        break;
    }
    return false;
}

/* ---- messages ---- */

static int put_entry(struct arena *a, const struct proto_field *f, const struct piece *p, unsigned depth,
                     struct json *map, struct err *e)
{
    struct piece key, value;
    struct json *j;

    if (p->wire != WIRE_BYTES || inner(p->bytes, 1, &key) < 0 || inner(p->bytes, 2, &value) < 0 ||
        !str_is_utf8(key.bytes))
        return broken(e, f->name);
    if (!value.number) /* left out: it is empty */
        value.wire = f->kind == PROTO_INT || f->kind == PROTO_BOOL ? WIRE_VARINT : WIRE_BYTES;
    if (!(j = value_of(a, f, &value, depth, e)))
        return -1;
    json_set_key(map, arena_str(a, key.bytes), j);
    return 0;
}

static const struct proto_field *find_field(const struct proto_message *m, uint64_t number)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->fields[i].number == number)
            return &m->fields[i];
    return NULL;
}

static int put_field(struct arena *a, const struct proto_field *f, const struct piece *p, unsigned depth,
                     struct json *to, struct err *e)
{
    struct json *j, *many = f->shape == PROTO_MAP    ? json_need_object(a, to, f->name)
                            : f->shape == PROTO_LIST ? json_need_array(a, to, f->name)
                                                     : NULL;

    if (f->shape != PROTO_ONE && !many)
        return broken(e, f->name);
    if (f->kind == PROTO_INLINE)
        return p->wire == WIRE_BYTES ? read_message(a, f->sub, p->bytes, depth + 1, to, e) : broken(e, f->name);
    if (f->shape == PROTO_MAP)
        return put_entry(a, f, p, depth, many, e);
    if (!(j = value_of(a, f, p, depth, e)))
        return -1;
    if (f->shape == PROTO_LIST)
        json_push(many, j);
    else if (f->is_kept ? j->type != JSON_NULL : !is_empty(j))
        json_set(to, f->name, j);
    return 0;
}

static int read_message(struct arena *a, const struct proto_message *m, struct str bytes, unsigned depth,
                        struct json *to, struct err *e)
{
    struct piece p;

    if (depth > DEPTH_MAX)
        return err_set(e, ERR_TOO_BIG, "protobuf: it is nested too deeply");
    while (bytes.n) {
        const struct proto_field *f;

        if (!take_piece(&bytes, &p))
            return broken(e, m->name);
        f = find_field(m, p.number);
        if (!f)
            return err_set(e, ERR_SYNTAX,
                           "protobuf: field %" PRIu64 " of %s is not known to this server; send the object as JSON",
                           p.number, m->name);
        if (put_field(a, f, &p, depth, to, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- the envelope ---- "k8s" NUL, then {typeMeta {apiVersion, kind}, raw, …} ---- */

static const struct proto_message *find_root(struct str api_version, struct str kind)
{
    for (size_t i = 0; i < n_proto_roots; i++)
        if (str_is(kind, proto_roots[i].kind) &&
            (!proto_roots[i].api_version || str_is(api_version, proto_roots[i].api_version)))
            return proto_roots[i].message;
    return NULL;
}

int proto_parse(struct arena *a, struct str bytes, struct json **ret, struct err *e)
{
    struct str magic = { "k8s\0", 4 };
    struct piece type, raw, version, kind;
    const struct proto_message *m;
    struct json *j;

    if (!str_starts(bytes, magic) || inner(str_from(bytes, 4), 1, &type) < 0 ||
        inner(str_from(bytes, 4), 2, &raw) < 0 || inner(type.bytes, 1, &version) < 0 ||
        inner(type.bytes, 2, &kind) < 0 || !str_is_utf8(version.bytes) || !str_is_utf8(kind.bytes))
        return broken(e, "the envelope");
    m = find_root(version.bytes, kind.bytes);
    if (!m)
        return err_set(e, ERR_NOT_FOUND, "objects of kind %.*s of %.*s cannot be sent as protobuf", STR_ARG(kind.bytes),
                       STR_ARG(version.bytes));
    j = json_object(a);
    json_add(j, STR("kind"), json_str(a, kind.bytes));
    json_add(j, STR("apiVersion"), json_str(a, version.bytes));
    if (read_message(a, m, raw.bytes, 0, j, e) < 0)
        return -1;
    *ret = j;
    return 0;
}
