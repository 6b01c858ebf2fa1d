/* patch.h - a PATCH request: its content type, its options, and what it makes of an object
 *
 *     patch_type_of()     415 for a type that the kind does not take
 *     patch_options()     422 for options that do not go with the type
 *     patch_object()      JSON Patch, JSON Merge Patch, strategic merge; then ownership_update() of the result
 *     ownership_apply()   server-side apply, in patch/apply.h
 *
 * The refusals have the codes and words of the API server. Where it says no more than that the request was wrong, 'detail'
 * names the operation and what is wrong with it.
 *
 * Bounded: a JSON Patch has at most 10,000 operations, copies at most 3 MiB, takes a bounded number of steps, and its
 * result is no deeper than a document may be; the other two cost about the size of document and patch.
 */
#ifndef PATCH_PATCH_H
#define PATCH_PATCH_H

#include "patch/refusal.h"

struct schema;

enum patch_type {
    PATCH_JSON,      /* RFC 6902 */
    PATCH_MERGE,     /* RFC 7386 */
    PATCH_STRATEGIC, /* built-in kinds only */
    PATCH_APPLY,
    PATCH_TYPE_MAX,
};

/* By the Content-Type, its parameters aside. 'is_custom': a kind of a CustomResourceDefinition. */
int patch_type_of(struct arena *a, struct str content_type, bool is_custom, enum patch_type *ret, struct refusal *why);

struct patch_options {
    struct str field_manager; /* empty: not given */
    bool has_force;
};
int patch_options(struct arena *a, enum patch_type type, const struct patch_options *opt, struct refusal *why);

struct patch {
    enum patch_type type;        /* not PATCH_APPLY */
    const struct schema *schema; /* which lists a strategic merge joins */
    const struct json *body;
};

/* The inputs are not changed; the result shares text with them, no nodes. */
int patch_object(struct arena *a, const struct patch *patch, const struct json *live, struct json **ret,
                 struct refusal *why);

#endif
