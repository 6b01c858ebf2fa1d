/* object.h - an immutable, shared Kubernetes object
 *
 * It never changes and is reference-counted with object_ref(). The tree and its text belong to the object.
 *
 * A store that holds 100,000 pods cannot keep their trees: a tree is three times its text. So an object of a durable
 * store has its text as well, and the store drops trees to which only itself has a reference ("cold"). Functions of the
 * store return objects with their trees unless they say otherwise; object_ref() keeps the tree.
 */
#ifndef STORE_OBJECT_H
#define STORE_OBJECT_H

#include "api/types.h"
#include "json/json.h"

struct object {
    const struct resource_type *type;
    const struct json *root;         /* NULL: cold */
    struct str namespace, name, uid; /* of metadata */
    struct str text;                 /* the whole as JSON, on one line; empty: not kept, print the tree */
    uint64_t rev;                    /* metadata.resourceVersion */
    void *tree;                      /* private: the nodes of an object with text; else they follow the struct */
    unsigned refs;                   /* private */
};

/* A deep copy of 'tree', text and all, with metadata.resourceVersion set to 'rev'. One reference, the caller's. */
struct object *object_make(const struct resource_type *type, const struct json *tree, uint64_t rev);

/* ---- with text ---- for stores ---- */

/* The same with its text, which is printed into 'print' first (a buffer to use again and again). */
struct object *object_make_text(const struct resource_type *type, const struct json *tree, uint64_t rev,
                                struct buf *print);

struct object_record { /* an object as it is read from a log; all of it is copied */
    const struct resource_type *type;
    uint64_t rev;
    struct str namespace, name, uid, text;
};

struct object *object_read(const struct object_record *r); /* cold */

/* Make the tree of a cold object; 'a' is for the work and is reset. Text that is no JSON gives a tree of metadata. */
void object_warm(const struct object *o, struct arena *a);
/* Its tree for a moment: the one it has, or one in 'a', which is reset first. */
const struct json *object_glance(const struct object *o, struct arena *a);
void object_cool(const struct object *o); /* drop the tree, if there is text to make it again */

struct object *object_ref(const struct object *o); /* NULL is fine */
void object_unref(const struct object *o);         /* NULL is fine */

static inline void autounref_done(struct object **o)
{
    object_unref(*o);
}
#define autounref __attribute__((cleanup(autounref_done)))

#endif
