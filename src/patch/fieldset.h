/* fieldset.h - sets of fields of an object: what managedFields are made of
 *
 * A field is a path of elements: a member by name (.spec.replicas), an item of a list by its keys
 * (.spec.containers[name="main"]) or by its value (.metadata.finalizers[="x/y"]), and, where others wrote it, by index.
 * A set holds any such paths; holding a path says nothing about those above or below it.
 *
 * On the wire (FieldsV1) a set is an object of objects: the keys are "f:<name>", "k:{<keys as JSON>}", "v:<JSON>",
 * "i:<number>"; {} says that the path is in the set, and "." says so where there are paths below it too.
 *
 * Sets live in an arena and do not change once they are made but by fieldset_add(); the operations make new ones, which
 * share what is equal. All cost about the size of their inputs.
 */
#ifndef PATCH_FIELDSET_H
#define PATCH_FIELDSET_H

#include "json/json.h"

enum path_kind { PATH_FIELD, PATH_KEYS, PATH_VALUE, PATH_INDEX, PATH_KIND_MAX };

struct path_element {
    enum path_kind kind;
    struct str name;          /* PATH_FIELD */
    const struct json *value; /* PATH_KEYS: an object, by rising key; PATH_VALUE: a scalar; PATH_INDEX: a number */
};

struct fieldset;

struct fieldset_node {
    struct path_element at;
    bool is_member;
    struct fieldset *below; /* NULL: nothing */
};

struct fieldset { /* zero is the empty set */
    struct fieldset_node *v;
    size_t n, cap;
    bool is_unsorted; /* as built; every reader sorts first */
};

/* A total order: names, keys, values, indexes; numbers by value, text by bytes. */
int path_element_cmp(const struct path_element *a, const struct path_element *b);

/* ---- building ---- */

/* The node for 'at' in 's', made if it is not there; its text and value are borrowed. Nodes are cheap to add in any
 * order; the pointer is good until the next call for the same set. */
struct fieldset_node *fieldset_add(struct arena *a, struct fieldset *s, const struct path_element *at);
struct fieldset *fieldset_below(struct arena *a, struct fieldset_node *node); /* made if it is not there */

/* ---- asking ---- */

bool fieldset_is_empty(const struct fieldset *s); /* NULL is empty */
bool fieldset_equal(struct fieldset *a, struct fieldset *b);
struct fieldset_node *fieldset_find(struct fieldset *s, const struct path_element *at); /* NULL: none */

/* All paths as error messages write them, the members of a level before what is below them. 'path' lives as long as the
 * arena. */
typedef void (*fieldset_each_f)(void *ctx, struct str path, struct fieldset_node *node);
void fieldset_each(struct arena *a, struct fieldset *s, fieldset_each_f each, void *ctx);

/* ---- algebra; either side may be NULL ---- */

struct fieldset *fieldset_union(struct arena *a, struct fieldset *x, struct fieldset *y);
struct fieldset *fieldset_intersection(struct arena *a, struct fieldset *x, struct fieldset *y);
struct fieldset *fieldset_difference(struct arena *a, struct fieldset *x, struct fieldset *y);

/* As the difference, and without everything below the paths of 'y'. */
struct fieldset *fieldset_without(struct arena *a, struct fieldset *x, struct fieldset *y);

/* ---- FieldsV1 ---- */

/* The tree's text is borrowed. ERR_INVALID names the key that is not a path element. */
int fieldset_decode(struct arena *a, const struct json *fields, struct fieldset **ret, struct err *e);
struct json *fieldset_encode(struct arena *a, struct fieldset *s);

/* One element as messages write it: .name, [name="x",port=80], [="v"], [3]. */
void path_element_print(struct buf *out, const struct path_element *at);

#endif
