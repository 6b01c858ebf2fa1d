/* proto.h - Kubernetes' objects as protobuf: application/vnd.kubernetes.protobuf
 *
 * A body is four bytes, "k8s" and NUL, and an envelope that names apiVersion and kind around the message of that kind.
 * The fields are those of api/message/message.h; both directions go by its tables. Objects of custom kinds have no such form; their
 * definitions have.
 *
 * Clients of Kubernetes 1.32 and later send such bodies for built-in kinds; clients that ask for them get such answers.
 */
#ifndef PROTO_PROTO_H
#define PROTO_PROTO_H

#include "json/json.h"

#define PROTOBUF_MEDIA "application/vnd.kubernetes.protobuf"

/* Does the body begin as one? */
bool proto_is(struct str body);

/* The object in the form we store: apiVersion and kind first, and nothing that says nothing. An encoder writes the zero
 * of every field that is no pointer; those are left out again unless the kind's JSON always has them.
 *
 * Fields that the tables do not know are skipped, as protobuf wants it. Of a field that occurs twice the last counts;
 * messages are merged, lists go on. An envelope without a kind is refused.
 * Errors: ERR_SYNTAX names the message and field, or says what is wrong with the envelope; ERR_TOO_BIG for more than a
 * million values. Text is borrowed from 'body' where it can be. */
int proto_decode(struct arena *a, struct str body, struct json **ret, struct err *e);

/* The object by its own apiVersion and kind. Byte for byte what Go's encoder makes of the same object. ERR_NOT_FOUND
 * for a kind without a message, ERR_INVALID names the field whose value does not fit. */
int proto_encode(struct arena *a, struct buf *out, const struct json *obj, struct err *e);

/* One frame of a watch: the length (four bytes, highest first), then the event. 'type' is "ADDED" and so on. */
int proto_encode_event(struct arena *a, struct buf *out, struct str type, const struct json *obj, struct err *e);

#endif
