/* apply.h - server-side apply, and who owns what after any other write
 *
 * An applier says what it wants to be so; the fields it names become its own, those it named before and no longer names
 * are removed unless another manager owns them too, and a field that another manager owns with another value is a
 * conflict, unless 'is_forced'. Any other write (create, update, the other patches) takes what it changes away from all
 * others: ownership_update() records it.
 *
 * Both are pure: live object and request in, new object out, with its metadata.managedFields. They neither fill in
 * defaults nor check the result; give ownership_update() the object as it will be stored.
 */
#ifndef PATCH_APPLY_H
#define PATCH_APPLY_H

#include "patch/merge_type.h"
#include "patch/refusal.h"

struct fieldset;

struct ownership {
    struct merge_type type;       /* of the kind */
    struct str api_version, kind; /* "v1", "Pod" */
    struct str manager;           /* fieldManager, or manager_of_user_agent(); "": unknown */
    struct str subresource;       /* "status"; "": the object itself */
    struct str now;               /* "2026-01-02T03:04:05Z" */
    struct fieldset *ignored;     /* fields this request cannot change; NULL: it can change all */
};

/* The fields that a write to an object of a kind with (or without) a status subresource cannot change. 'is_custom': of a
 * CustomResourceDefinition. */
struct fieldset *ownership_ignored(struct arena *a, bool has_status, bool is_custom, struct str kind,
                                   struct str subresource);

/* 'obj' is about to replace 'live' (NULL: it is created): sets its managedFields and returns it. Entries that 'obj'
 * brings along replace those of 'live', as clients that read, change and write back do; [{}] forgets all, and so does
 * [] for built-in kinds. An object whose fields had no owner stays so. If nothing but time stamps would change, they do
 * not. */
struct json *ownership_update(struct arena *a, const struct ownership *who, const struct json *live, struct json *obj);

/* The object that 'config' makes of 'live' (NULL: it is created). 'is_same': nothing but, perhaps, managedFields changed.
 * Refusals: 409 Conflict with a cause for each field, 400 for a configuration that is none. */
struct apply_request {
    const struct json *live, *config;
    bool is_forced; /* fields of others are taken over, and nothing conflicts */
};
struct applied {
    struct json *object;
    bool is_same;
};
int ownership_apply(struct arena *a, const struct ownership *who, const struct apply_request *rq, struct applied *ret,
                    struct refusal *why);

#endif
