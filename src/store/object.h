/* object.h - an immutable, shared Kubernetes object
 *
 * Made once, never changed, kept with object_ref() as long as anybody needs it. The tree and its text belong to the
 * object.
 */
#ifndef STORE_OBJECT_H
#define STORE_OBJECT_H

#include "api/types.h"
#include "json/json.h"

struct object {
    const struct resource_type *type;
    const struct json *root;
    struct str namespace, name, uid; /* inside the tree */
    uint64_t rev;                    /* metadata.resourceVersion */
    unsigned refs;                   /* private; nodes and text follow the struct in the same allocation */
};

/* A deep copy of 'tree', text and all, with metadata.resourceVersion set to 'rev'. One reference, the caller's. */
struct object *object_make(const struct resource_type *type, const struct json *tree, uint64_t rev);

struct object *object_ref(const struct object *o); /* NULL is fine */
void object_unref(const struct object *o);         /* NULL is fine */

static inline void autounref_done(struct object **o)
{
    object_unref(*o);
}
#define autounref __attribute__((cleanup(autounref_done)))

#endif
