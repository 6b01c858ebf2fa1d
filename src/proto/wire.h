/* wire.h - the protobuf wire: tags, varints, lengths */
#ifndef PROTO_WIRE_H
#define PROTO_WIRE_H

#include "base/buf.h"
#include "base/err.h"

enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_GROUP = 3, WIRE_GROUP_END = 4, WIRE_32 = 5 };

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t value;   /* WIRE_VARINT */
    struct str bytes; /* WIRE_BYTES */
};

/* Take the next field out of '*rest'. 1: there was one, 0: the end, -1: it is broken (ERR_SYNTAX). A group is taken whole
 * and has no value: nothing in Kubernetes uses one. */
int wire_next(struct str *rest, struct wire_field *ret, struct err *e);

/* A varint alone. -1 if it does not end or does not fit. */
int wire_varint(struct str *rest, uint64_t *ret);

void wire_put_varint(struct buf *out, uint64_t v);
void wire_put_tag(struct buf *out, uint32_t number, enum wire_type type);
void wire_put_bytes(struct buf *out, uint32_t number, struct str bytes);
void wire_put_int(struct buf *out, uint32_t number, int64_t v);

/* A message inside: what is written between the two is its content. */
size_t wire_begin(struct buf *out, uint32_t number);
void wire_end(struct buf *out, size_t begun);

#endif
