/* wire.c - the protobuf wire */
#include "proto/wire.h"

enum { NUMBER_MAX = (1 << 29) - 1, GROUPS_MAX = 64 };

int wire_varint(struct str *rest, uint64_t *ret)
{
    uint64_t v = 0;

    for (size_t i = 0; i < rest->n && i < 10; i++) {
        unsigned char c = (unsigned char)rest->p[i];

        if (i == 9 && c > 1)
            return -1;
        v |= (uint64_t)(c & 0x7f) << (7 * i);
        if (c < 0x80) {
            *rest = str_from(*rest, i + 1);
            *ret = v;
            return 0;
        }
    }
    return -1;
}

static int take_bytes(struct str *rest, uint64_t n, struct str *ret)
{
    if (n > rest->n)
        return -1;
    *ret = str_sub(*rest, 0, (size_t)n);
    *rest = str_from(*rest, (size_t)n);
    return 0;
}

/* Everything but groups. */
static int take_field(struct str *rest, struct wire_field *f)
{
    uint64_t tag, n;

    if (wire_varint(rest, &tag) < 0 || tag >> 3 == 0 || tag >> 3 > NUMBER_MAX)
        return -1;
    *f = (struct wire_field){ .number = (uint32_t)(tag >> 3), .type = (enum wire_type)(tag & 7) };
    switch (f->type) {
    case WIRE_VARINT:
        return wire_varint(rest, &f->value);
    case WIRE_64:
        return take_bytes(rest, 8, &f->bytes);
    case WIRE_32:
        return take_bytes(rest, 4, &f->bytes);
    case WIRE_BYTES:
        return wire_varint(rest, &n) < 0 ? -1 : take_bytes(rest, n, &f->bytes);
    case WIRE_GROUP:
    case WIRE_GROUP_END:
        return 0;
    default:
        return -1;
    }
}

/* To the end of the group that 'f' begins; each must end with its own number. */
static int skip_group(struct str *rest, uint32_t number)
{
    uint32_t open[GROUPS_MAX] = { number };
    size_t depth = 1;
    struct wire_field f;

    while (depth) {
        if (take_field(rest, &f) < 0)
            return -1;
        if (f.type == WIRE_GROUP_END && open[--depth] != f.number)
            return -1;
        if (f.type == WIRE_GROUP) {
            if (depth == GROUPS_MAX)
                return -1;
            open[depth++] = f.number;
        }
    }
    return 0;
}

int wire_next(struct str *rest, struct wire_field *ret, struct err *e)
{
    if (!rest->n)
        return 0;
    if (take_field(rest, ret) < 0 || ret->type == WIRE_GROUP_END ||
        (ret->type == WIRE_GROUP && skip_group(rest, ret->number) < 0))
        return err_set(e, ERR_SYNTAX, "the protobuf message is invalid or truncated");
    return 1;
}

/* ---- writing ---- */

void wire_put_varint(struct buf *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_char(out, (char)(v | 0x80));
    buf_char(out, (char)v);
}

void wire_put_tag(struct buf *out, uint32_t number, enum wire_type type)
{
    wire_put_varint(out, (uint64_t)number << 3 | type);
}

void wire_put_bytes(struct buf *out, uint32_t number, struct str bytes)
{
    wire_put_tag(out, number, WIRE_BYTES);
    wire_put_varint(out, bytes.n);
    buf_str(out, bytes);
}

void wire_put_int(struct buf *out, uint32_t number, int64_t v)
{
    wire_put_tag(out, number, WIRE_VARINT);
    wire_put_varint(out, (uint64_t)v);
}

/* One byte is left for the length, which is enough for most; a longer one moves the content. */
size_t wire_begin(struct buf *out, uint32_t number)
{
    wire_put_tag(out, number, WIRE_BYTES);
    buf_char(out, 0);
    return out->n;
}

void wire_end(struct buf *out, size_t begun)
{
    size_t n = out->n - begun, more = 0;

    for (size_t v = n; v >= 0x80; v >>= 7)
        more++;
    if (more) {
        (void)buf_reserve(out, more);
        memmove(out->p + begun + more, out->p + begun, n);
        out->n += more;
        out->p[out->n] = '\0';
    }
    for (size_t i = begun - 1, v = n; i < begun + more; i++, v >>= 7)
        out->p[i] = (char)(v >= 0x80 ? (v & 0x7f) | 0x80 : v);
}
