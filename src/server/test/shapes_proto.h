/* shapes_proto.h - for shapes.c: protobuf of no shape at all */
#ifndef SERVER_TEST_SHAPES_PROTO_H
#define SERVER_TEST_SHAPES_PROTO_H

#include "json/test/spots.h"

/* 'base' as protobuf, and behind it the field of the spot in a form that is not its own: another wire type, bytes that are
 * no message, no text, no number. What comes later is merged with what came before, as protobuf has it. */
void shapes_protobuf(struct arena *a, struct rand *r, const struct json *base, const struct spot *spot,
                     struct buf *out);

#endif
