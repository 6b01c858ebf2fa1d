/* typed_internal.h - what the operations on typed values share: which kind a value is, and lists item by item */
#ifndef PATCH_TYPED_INTERNAL_H
#define PATCH_TYPED_INTERNAL_H

#include "patch/typed.h"

/* How a value of a type that may be several things is treated. */
enum merge_as { AS_NOTHING, AS_MAP, AS_SCALAR, AS_LIST };

struct merge_choice {
    struct merge_atom atom; /* narrowed to what the value is */
    enum merge_as as;
};

struct merge_choice merge_choose(const struct merge_type *t, const struct json *value); /* NULL: no value */

/* A list that is not atomic, item by item. */
struct item {
    struct path_element at;
    const struct json *node;
    struct item *first, *next; /* of those with the same keys */
    size_t n_same;             /* of the first: how many there are */
    bool is_merged;            /* for typed_merge */
};

struct items {
    struct item *v;
    size_t n;
    struct item **firsts; /* by rising element */
    size_t n_firsts;
};

/* Items without keys are left out: typed_check() has complained about them. 'list' may be NULL or no list. */
void items_read(struct arena *a, const struct merge_type *type, const struct json *list, struct items *ret);

/* The first item of that element; NULL: there is none. */
struct item *items_find(const struct items *items, const struct path_element *at);

/* What makes an item the one it is: its keys, or its value in a set. ERR_INVALID in the API server's words. */
int item_element(struct arena *a, const struct merge_type *list, const struct json *item, struct path_element *ret,
                 struct err *e);

#endif
