/* shapes_proto.c - protobuf of no shape at all */
#include "server/test/shapes_proto.h"

#include "api/message/message.h"
#include "api/meta.h"
#include "base/util.h"
#include "proto/proto.h"

#include <string.h>

static void put_varint(struct buf *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_char(out, (char)(v | 0x80));
    buf_char(out, (char)v);
}

static void put_bytes(struct buf *out, unsigned number, struct str bytes)
{
    put_varint(out, (uint64_t)number << 3 | 2);
    put_varint(out, bytes.n);
    buf_append(out, bytes.p, bytes.n);
}

static void put_odd_field(struct rand *r, unsigned number, struct buf *out)
{
    static const struct str payloads[] = { { "", 0 },           { "x", 1 },          { "\xff\xff\xff\xff", 4 },
                                           { "\x08\x01", 2 },   { "\x0a\x00", 2 },   { "\x0a\x7f", 2 },
                                           { "\x12\x02{]", 4 }, { "\x0a\x02[]", 4 }, { "\x0a\x03\"x\"", 5 },
                                           { "\x0b\x0c", 2 } };
    unsigned wire = (unsigned)rand_below(r, 8);

    if (rand_chance(r, 1, 2)) {
        put_bytes(out, number, payloads[rand_below(r, ARRAY_LEN(payloads))]);
        return;
    }
    put_varint(out, (uint64_t)number << 3 | wire);
    if (wire == 0)
        put_varint(out, rand_u64(r) >> rand_below(r, 64));
    else if (wire == 1 || wire == 5)
        buf_append(out, "\xff\xff\xff\xff\xff\xff\xff\xff", wire == 1 ? 8 : 4);
}

/* The spot's fields by the names of the message; where it has no such field, any number. */
static void put_spot(struct rand *r, const struct message *m, const struct spot *spot, size_t i, struct buf *out)
{
    const struct message_field *f = m ? message_field(m, str_of(spot->at[i]->name)) : NULL;
    unsigned number = f ? f->number : (unsigned)rand_between(r, 1, 20);
    autobuf below = { 0 }, entry = { 0 };

    if (i + 1 == spot->n || !f) {
        put_odd_field(r, number, out);
        return;
    }
    put_spot(r, f->sub, spot, i + 1, &below);
    if (f->shape == SHAPE_MAP) {
        put_bytes(&entry, 1, STR("k"));
        put_bytes(&entry, 2, buf_view(&below));
        put_bytes(out, number, buf_view(&entry));
    } else {
        put_bytes(out, number, buf_view(&below));
    }
}

void shapes_protobuf(struct arena *a, struct rand *r, const struct json *base, const struct spot *spot, struct buf *out)
{
    struct str version = object_api_version(base), kind = object_kind(base);
    autobuf names = { 0 }, raw = { 0 }, whole = { 0 };
    struct json *decoded;

    put_bytes(&names, 1, version);
    put_bytes(&names, 2, kind);
    if (proto_encode(a, &whole, base, NULL) == 0 && proto_decode(a, buf_view(&whole), &decoded, NULL) == 0) {
        size_t head = 4 + 1 + 1 + names.n; /* the magic, and the names of the kind, which are short */

        for (size_t i = head + 1; i < whole.n && raw.n == 0; i++) /* behind the length of the message */
            if (!(whole.p[i] & 0x80))
                buf_append(&raw, whole.p + i + 1, whole.n - i - 1);
        raw.n -= MIN_OF(raw.n, (size_t)4); /* what follows it: two empty texts */
    }
    put_spot(r, message_by_kind(version, kind), spot, 0, &raw);
    buf_append(out, "k8s\0", 4);
    put_bytes(out, 1, buf_view(&names));
    put_bytes(out, 2, buf_view(&raw));
}
