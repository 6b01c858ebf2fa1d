/* typed.h - values that know how they merge: the five operations of server-side apply
 *
 * 'type' says how (patch/merge_type.h), the trees are what. Trees that come in stay as they are; those that come out may share
 * text, never nodes. An absent value is NULL, which is not the same as JSON's null.
 */
#ifndef PATCH_TYPED_H
#define PATCH_TYPED_H

#include "patch/fieldset.h"
#include "patch/merge_type.h"

/* Does 'j' fit the type? Collects what is wrong in the API server's words (".spec.foo: field not declared in schema"),
 * one text after the other in 'problems' (an array). */
void typed_check(struct arena *a, const struct merge_type *type, const struct json *j, struct json *problems);

/* The fields of 'j': leaves, items of lists, keys of maps. */
struct fieldset *typed_fields(struct arena *a, const struct merge_type *type, const struct json *j);

/* 'config' laid over 'live' (NULL: nothing). Nothing is removed. Lists with keys keep the order of 'config' for what
 * both have; new items come where 'config' has them. */
struct json *typed_merge(struct arena *a, const struct merge_type *type, const struct json *live,
                         const struct json *config);

struct comparison {
    struct fieldset added, modified, removed;
};

/* What differs, from 'from' to 'to' (either may be NULL, not both). */
void typed_compare(struct arena *a, const struct merge_type *type, const struct json *from, const struct json *to,
                   struct comparison *ret);

/* 'j' without the fields of 'gone'. A map or list that loses all it has becomes null: a manager may still own the empty
 * one. */
struct json *typed_remove(struct arena *a, const struct merge_type *type, const struct json *j, struct fieldset *gone);

/* 's' with the named fields on the way to its members: .spec for .spec.replicas, not .data for .data.key. */
struct fieldset *typed_with_parents(struct arena *a, const struct merge_type *type, struct fieldset *s);

#endif
