/* message.h - every message of the Kubernetes API that is used here, field by field
 *
 * The rows of messages_*.c are the published types of k8s.io/api as facts: the number of each field on the protobuf wire,
 * its name in JSON, its type, and how server-side apply merges it. tools/messages.py writes them; do not edit them.
 * They say what is there and how it merges; what a value may be is in the schemas (api/schema/schemas.h), which also know the
 * custom kinds.
 *
 * A field without a name is an embedded message: on the wire it is a message of its own, in JSON its fields stand among
 * those of the message around it.
 */
#ifndef API_MESSAGE_MESSAGE_H
#define API_MESSAGE_MESSAGE_H

#include "base/str.h"
#include "json/schema.h"

enum message_type {
    MESSAGE_TEXT,
    MESSAGE_BOOL,
    MESSAGE_INT32,
    MESSAGE_INT64,
    MESSAGE_BYTES,      /* base64 in JSON */
    MESSAGE_TIME,       /* {seconds=1, nanos=2}; "2026-01-02T03:04:05Z" */
    MESSAGE_MICRO_TIME, /* the same with six digits of a second */
    MESSAGE_DURATION,   /* {duration=1}, nanoseconds; "1h0m0s" */
    MESSAGE_QUANTITY,   /* {string=1} */
    MESSAGE_INT_OR_STR, /* {type=1, intVal=2, strVal=3} */
    MESSAGE_RAW,        /* {raw=1}: JSON of any kind */
    MESSAGE_FIELDS,     /* {Raw=1}: JSON, the fieldsV1 of managedFields */
    MESSAGE_TEXTS,      /* {items=1}: a list of texts */
    MESSAGE_DOUBLE,     /* eight bytes */
    MESSAGE_EITHER,     /* by 'sub', of two fields: in JSON it is the message that one is, or what the other is */
    MESSAGE_MESSAGE,    /* by 'sub' */
    MESSAGE_TYPE_MAX,
};

enum message_flag {
    MESSAGE_POINTER = 1,  /* a zero value is not the same as none: both are kept */
    MESSAGE_ALWAYS = 2,   /* there in JSON even when it is zero */
    MESSAGE_ATOMIC = 4,   /* server-side apply takes or leaves it as a whole */
    MESSAGE_REPLACED = 8, /* so does strategic merge */
};

struct message;

struct message_field {
    uint16_t number;
    uint8_t shape;    /* enum field_shape; maps are from text */
    uint8_t name_n;   /* bytes of the name */
    const char *name; /* in JSON; NULL: embedded */
    uint8_t type;     /* enum message_type, of each element */
    const struct message *sub;
    const char
        *keys; /* of the items of a list: "name", "port,protocol=TCP" (with what is meant when it is missing); "":
                         the items are a set; NULL: the list is atomic */
    const char *merge_key; /* of strategic merge; "": as a set; NULL: replaced */
    uint8_t flags;
};

struct message {
    const char *name;
    const struct message_field *fields; /* by rising number */
    size_t n_fields;
    bool is_atomic; /* wherever it is used */
};

/* What a kind is on the wire: objects, their lists ("PodList"), and the options of requests. */
struct message_kind {
    const char *api_version, *kind;
    const struct message *message;
};
extern const struct message_kind message_kinds[];
extern const size_t n_message_kinds;

/* NULL: the kind is not one of Kubernetes' own, or not used here. */
const struct message *message_by_kind(struct str api_version, struct str kind);

/* The field of that JSON name, embedded messages included; NULL if there is none. */
const struct message_field *message_field(const struct message *m, struct str name);

/* ---- as Kubernetes' own types write an object ---- */

/* A copy of 'obj' with the fields that those types always write ("status": {}, "lastProbeTime": null), and without
 * those that they leave out (fields they do not know, empty lists). Who owns which field follows from this form. */
struct json *message_fill(struct arena *a, const struct message *m, const struct json *obj);

/* Take out null, and objects that are always there and say nothing: what we store. */
void message_trim(const struct message *m, struct json *obj);

extern const struct message msg_meta_object_meta; /* of custom kinds too */

#endif
