/* merge_type.h - how a value merges: what server-side apply has to know of a kind
 *
 * Built-in kinds have it from the tables of api/message/message.h, custom kinds from the OpenAPI schema of their
 * CustomResourceDefinition (x-kubernetes-list-type, -list-map-keys, -map-type, -preserve-unknown-fields, additionalProperties).
 * A merge_type is a small value that points at such a row or schema; going down gives the type of the child.
 *
 * A value can be a map (an object: each member by itself), a list, or a scalar. Where nothing is known it may be any of
 * them: then objects merge member by member and lists are taken whole.
 */
#ifndef PATCH_MERGE_TYPE_H
#define PATCH_MERGE_TYPE_H

#include "json/json.h"

struct message;
struct message_field;

struct merge_type {
    enum merge_source {
        MERGE_NONE,    /* there is no such field */
        MERGE_MESSAGE, /* an object by 'message' */
        MERGE_FIELD,   /* the value of 'field', or (is_item) an item of its list or map */
        MERGE_SCHEMA,  /* by OpenAPI */
        MERGE_TEXT,    /* a text: apiVersion and kind */
        MERGE_DEDUCED, /* not described: objects merge, lists do not */
        MERGE_UNTYPED, /* not described, and nothing below merges */
    } source;
    const struct message *message;
    const struct message_field *field;
    const struct json *schema;
    bool is_item;
    bool is_object;     /* a whole object: it has apiVersion, kind and metadata */
    bool keeps_unknown; /* x-kubernetes-preserve-unknown-fields, here or above */
    bool is_atomic;     /* its parent says so */
};

struct merge_type merge_type_of_message(const struct message *m);
struct merge_type merge_type_of_schema(const struct json *openapi); /* of the whole object; borrowed */

/* What a value of that type may be. */
enum merge_scalar { MERGE_ANY_SCALAR, MERGE_STRING, MERGE_NUMBER, MERGE_BOOLEAN };

struct merge_atom {
    bool is_map, is_list, is_scalar; /* more than one: it depends on the value */
    bool is_atomic_map, is_atomic_list;
    enum merge_scalar scalar;
    bool is_set; /* a list that is neither atomic nor has keys */
};

struct merge_atom merge_atom_of(const struct merge_type *t);

/* The type of a member of a map. '*ret_is_named': it is a field, not one of many keys. Source MERGE_NONE: not declared. */
struct merge_type merge_type_member(const struct merge_type *t, struct str key, bool *ret_is_named);
struct merge_type merge_type_item(const struct merge_type *t); /* of a list */

/* The keys of the items of a list, as an object by rising key: {"port":80,"protocol":"TCP"}. A missing key has its
 * default if there is one. ERR_INVALID in the API server's words if the item has no key. */
int merge_item_keys(struct arena *a, const struct merge_type *list, const struct json *item, struct json **ret,
                    struct err *e);

#endif
