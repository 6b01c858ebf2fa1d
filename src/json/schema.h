/* schema.h - what a document may hold: one table per object type
 *
 * A schema lists the fields of an object. From the same rows come: checks of type and range, warnings about
 * misspelt fields ("did you mean minAvailable?"), decoding into C structs, and the merge keys of strategic merge.
 * Unknown fields are never an error, and never lost unless schema_prune() is asked to.
 */
#ifndef JSON_SCHEMA_H
#define JSON_SCHEMA_H

#include "json/json.h"
#include "json/problem.h"

enum field_kind {
    FIELD_ANY,        /* not looked at */
    FIELD_STR,        /* struct str */
    FIELD_BOOL,       /* bool */
    FIELD_INT32,      /* int32_t */
    FIELD_INT64,      /* int64_t */
    FIELD_NUMBER,     /* any number; not decoded */
    FIELD_INT_OR_STR, /* not decoded */
    FIELD_OBJECT,     /* by 'sub'; decodes into an embedded struct, or a pointer with FIELD_POINTER */
    FIELD_KIND_MAX,
};

enum field_shape { SHAPE_ONE, SHAPE_LIST, SHAPE_MAP }; /* list of kind; map of text to kind */

enum field_flag {
    FIELD_REQUIRED = 1,  /* missing or null is an error */
    FIELD_POINTER = 2,   /* decodes to a pointer that is NULL when missing: int32_t *, struct x * */
    FIELD_NOT_EMPTY = 4, /* "" or [] is an error */
    FIELD_DEPRECATED = 8,
    FIELD_MERGE = 16,   /* list of scalars that strategic merge joins as a set */
    FIELD_REPLACE = 32, /* object that strategic merge takes as a whole */
    FIELD_SECRET = 64,  /* its value is not shown in a problem */
};

#define FIELD_NO_OFFSET ((uint32_t)-1)

struct schema;

struct field {
    const char *name;
    uint8_t kind;  /* enum field_kind */
    uint8_t shape; /* enum field_shape */
    uint8_t flags;
    uint8_t name_n;            /* bytes of the name, so that it is found faster; 0: not counted */
    uint32_t offset;           /* into the struct, or FIELD_NO_OFFSET: not decoded */
    const struct schema *sub;  /* FIELD_OBJECT; NULL: any object */
    const char *merge_key;     /* lists of objects that strategic merge joins, e.g. "name" */
    const char *const *values; /* allowed texts, NULL-terminated; NULL: any */
    int64_t min, max;          /* numbers, when min < max or either is not 0; length of text likewise (max) */
    /* More about one value (each element, each value of a map): NULL when fine, else what is wrong ("must be a DNS
     * label"); 'a' for the sentence. With FIELD_ANY it sees every type but null. */
    const char *(*check)(struct arena *a, const struct json *value);
    const char *doc; /* one line for `explain` and generated manuals; may be NULL */
};

struct schema {
    const char *name; /* "TaskSpec" */
    const struct field *fields;
    size_t n_fields;
    uint32_t size;       /* of the C struct it decodes into; 0: none */
    uint32_t raw_offset; /* where to keep the 'struct json *' itself; FIELD_NO_OFFSET: nowhere */
};

/* The field of that name, or NULL. */
const struct field *schema_field(const struct schema *s, struct str name);

/* Check 'at->node' and everything below it against the schema. At most one problem for each node: the first that is
 * wrong with it. A member that is null reads as "not set"; an element of a list may not be null. Unknown fields are warnings with a suggestion, deprecated ones are warnings
 * too; all else is an error. Text in an enum or a number range is checked as the row says; "" is fine for an enum
 * unless the field is required or must not be empty.
 *
 * Errors that a decoder would stop at are counted apart, as problems.n_shapes: a value of another type, a number that
 * is not whole or does not fit, a quantity that is none. They do not depend on what is missing, so they can be looked
 * at before defaults are filled in; where there are none, the code that fills them in can rely on types. */
void schema_check(const struct schema *s, const struct place *at, struct problems *ps);

/* Drop the fields of 'j' that the schema does not have, at any depth, as an API server does, and those that are null,
 * which count as not set. At and below objects of 'but' (NULL: none) unknown fields stay. */
void schema_prune(const struct schema *s, struct json *j, const struct schema *but);

/* Fill the struct at 'ret' (size s->size, cleared first) from 'j'. Fields of a wrong type are left at zero: call
 * schema_check() when that must be known. Lists decode to { T *v; size_t n; } (two members: pointer, then size_t);
 * an element of a wrong type is zero. Kept as 'struct json *': maps, lists with FIELD_POINTER, objects whose schema has
 * no struct, and the kinds that are not decoded. Text is borrowed from the tree. */
void schema_decode(struct arena *a, const struct schema *s, const struct json *j, void *ret);

/* The name in 'names' nearest to 'word' if it is near enough to be a typing error, or the only one that begins with it;
 * else NULL. Case and '-', '_' do not count. */
const char *suggest(struct str word, const char *const *names, size_t n);

#endif
