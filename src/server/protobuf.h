/* protobuf.h - bodies in protobuf: built-in kinds as client libraries send them, made into JSON
 *
 * client-go sends what it has types for (not Volcano's kinds) in this form from 0.32 on, and does not try again in JSON.
 * Answers may be JSON, so this is one way only. A field that is not in the tables is an error: what would be lost is
 * refused.
 *
 * Writers of these messages write members that are not set as "" and 0, unless they are pointers in their language; the
 * tables know which are (PROTO_KEPT), and of the others what is empty is left out, as it is in JSON.
 */
#ifndef SERVER_PROTOBUF_H
#define SERVER_PROTOBUF_H

#include "base/err.h"
#include "json/json.h"

#define PROTOBUF_MEDIA "application/vnd.kubernetes.protobuf"

enum proto_kind {
    PROTO_TEXT,
    PROTO_INT,
    PROTO_BOOL,
    PROTO_FLOAT,
    PROTO_BYTES,      /* base64 */
    PROTO_TIME,       /* {seconds, nanos} */
    PROTO_MICRO_TIME, /* the same, with six digits */
    PROTO_QUANTITY,   /* {string} */
    PROTO_PORT,       /* {type, int, string}: a number or a text */
    PROTO_RAW,        /* {JSON text} */
    PROTO_OBJECT,     /* by 'sub' */
    PROTO_INLINE,     /* by 'sub', whose members are those of the object it is in */
    PROTO_KIND_MAX,
};

enum proto_shape { PROTO_ONE, PROTO_LIST, PROTO_MAP };

struct proto_message;

struct proto_field {
    uint8_t number, kind, shape;
    bool is_kept; /* also when it is empty */
    const char *name;
    const struct proto_message *sub;
};

struct proto_message {
    const char *name;
    const struct proto_field *fields;
    size_t n;
};

/* An object with apiVersion and kind, as its envelope has them. ERR_SYNTAX: it cannot be read; ERR_NOT_FOUND: a kind that
 * is not in the tables. Text is borrowed from 'bytes' where it can be. */
int proto_parse(struct arena *a, struct str bytes, struct json **ret, struct err *e);

/* ---- the tables: protobuf_*.c ---- */

struct proto_root {
    const char *api_version, *kind;
    const struct proto_message *message;
};
extern const struct proto_root proto_roots[];
extern const size_t n_proto_roots;

#endif
