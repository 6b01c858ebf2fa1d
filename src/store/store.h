/* store.h - versioned objects with watches: what an API server keeps
 *
 * Every change gets the next revision; revisions never repeat and never go back. Objects read from the store are
 * immutable and shared: keep one with object_ref(). The store does what the API promises about metadata:
 *
 * - create: uid, creationTimestamp, generation 1, generateName; status is dropped for kinds with a status subresource
 *   unless the type keeps it on create (Node); a new Pod is Pending. A namespaced object needs its namespace, a
 *   cluster-scoped one loses it. Names are not checked beyond what a URL needs: that is admission's work.
 * - update: optimistic (ERR_CONFLICT unless the body's resourceVersion is the stored one; none: overwrite), immutable
 *   uid, name, creationTimestamp, deletionTimestamp; generation + 1 when spec changed (anything but metadata, and
 *   status where that is a subresource) or deletion began; an update without changes has no revision. The main resource
 *   cannot change status, nor the status part anything else, for kinds with that subresource; for others the status
 *   part is ERR_NOT_FOUND. An object being deleted takes no new finalizer; the update that removes the last one removes
 *   it, once the grace of a Pod is confirmed.
 * - generation is counted for the kinds the API server counts it for: all but ConfigMap, Secret, Service, Node, … .
 * - delete: see store_delete.
 *
 * A store lives in memory (store_new) or in a directory as well (store_open); both pass one suite (test/conformance*.c).
 * A write of a durable store is seen at once by store_get() and later writes, but it is a promise only when
 * store_flush() has returned 0. Until then no request may be answered, readers included, and no watch delivers it. So a
 * server's turn is
 *
 *     while ((r = next_request()))
 *         r->answer = handle(store, r);              // store_create(), store_get(), …
 *     if (store_flush(store, &e) < 0)
 *         fail_all_answers(&e);                      // all writes of this turn are undone
 *     send_all_answers();
 *     for each watch: while (watch_next(…) > 0) …    // tells what is durable
 *
 * and all writes of a turn share one sync of the disk. Single-threaded.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "api/plan.h"
#include "base/clock.h"
#include "base/err.h"
#include "store/object.h"

struct store;

struct store_options {
    struct clock *clock;            /* for timestamps; must outlive the store */
    uint64_t seed;                  /* uids and generated names follow from it: the same seed, the same history */
    size_t history;                 /* changes kept for watches; 0: 100,000. Older ones answer ERR_GONE */
    const char *const *secret_keys; /* store_open: files of keys, the last NULL: Secrets are sealed with the first, all
                                       open (seal.h). NULL: they are kept as they are */
    const char *vfs;                /* store_open: SQLite's file system of that name, for tests; NULL: the usual one */
};

struct store *store_new(const struct store_options *opt);
void store_free(struct store *s); /* NULL is fine; watches must be closed before. unflushed writes are lost */

uint64_t store_revision(const struct store *s); /* of the last change; 0: none yet */

/* ---- durable ---- */

/* Open or make the store in 'dir', which is made with mode 0700. Every write that was flushed is there, in the same
 * order with the same revisions; so are the changes that watches can resume from. Where the end of it is damaged and
 * such writes are behind the damage, it is as it was before them, read-only for that reason, store_is_cut(), and no file is
 * changed. Fails, and changes nothing, where the store is damaged otherwise (ERR_IO), of a newer version (ERR_INVALID),
 * open in another process (ERR_CONFLICT) or not ours alone (ERR_FORBIDDEN); the sentence names the file and what helps. */
int store_open(const char *dir, const struct store_options *opt, struct store **ret, struct err *e);
bool store_is_cut(const struct store *s); /* acknowledged writes are missing: do not act on what is left */

/* Make all writes durable, in one transaction. If that fails they are undone: their objects are as before, their
 * revisions are never given again while the process lives, and the store is read-only: writes fail with the same
 * sentence, reads go on. After a full disk a write is let through once a second to see whether there is room again;
 * after anything else the store stays read-only until it is opened anew. Whether the undone writes are there then
 * cannot be known. A store in memory has nothing to flush. */
int store_flush(struct store *s, struct err *e);

/* Changes up to this revision are durable, or undone: watches tell all of them. */
uint64_t store_flushed(const struct store *s);

/* What became of the change of revision 'rev': 1 it is durable, 0 it waits for store_flush(), -1 it was undone. */
int store_outcome(const struct store *s, uint64_t rev);

/* Why is it read-only? 0: it is not. */
int store_writable(struct store *s, struct err *e);

struct store_stats {            /* since it was opened; all 0 for a store in memory */
    uint64_t flushes, failures; /* that had something to make durable, and that failed */
    uint64_t changes;           /* that were flushed: of one flush on average changes / flushes */
    uint64_t flush_us, slowest_us;
    uint64_t compacted;        /* watches can begin after this revision */
    uint64_t rows_deleted;     /* by compaction */
    const struct err *failure; /* it is read-only for this reason, also while a write is let through to see; NULL: it
                                    is not */
};
void store_stats(const struct store *s, struct store_stats *ret);

/* ---- reading ---- */

/* Borrowed until the next write or flush. NULL if there is no such object. 'namespace' is ignored for cluster-scoped
 * types. */
const struct object *store_get(const struct store *s, const struct resource_type *type, struct str namespace,
                               struct str name);

/* The same without making its tree: 'root' may be NULL, the text is there then. */
const struct object *store_find(const struct store *s, const struct resource_type *type, struct str namespace,
                                struct str name);

/* All objects of the type in order of namespace and name; namespace empty: all of them. 'each' must not write. */
void store_list(const struct store *s, const struct resource_type *type, struct str namespace,
                void (*each)(void *ctx, const struct object *o), void *ctx);
size_t store_count(const struct store *s, const struct resource_type *type);

/* The same without parsing, as store_find(). store_warm() parses such an object; its tree stays until the next write or
 * flush, or as long as a reference to it exists. */
void store_walk(const struct store *s, const struct resource_type *type, struct str namespace,
                void (*each)(void *ctx, const struct object *o), void *ctx);
void store_warm(const struct store *s, const struct object *o);
/* Free the trees without references, as a write does. The caller must not hold borrowed objects. For long walks. */
void store_rest(struct store *s);

/* ---- page by page ---- */

struct store_page {
    struct str namespace;                            /* empty: all */
    struct str after_namespace, after_name;          /* what comes behind this one; empty: from the begin */
    uint64_t rev;                                    /* what was there then; 0: now */
    bool (*each)(void *ctx, const struct object *o); /* as of store_walk(), but borrowed for the call; false: enough */
    void *ctx;
};

/* A part of the list at a revision. It costs what it gives and the deletes since then between the first and the last of
 * it, wherever in the list that is. ERR_GONE: what was there then is no longer known (as for a watch; of a store in memory
 * also an object that was changed since and is itself older than the changes kept). 'each' may have been called. */
int store_page(struct store *s, const struct resource_type *type, const struct store_page *p, struct err *e);

/* The number of objects of such a page of now, unlimited. */
size_t store_count_after(const struct store *s, const struct resource_type *type, struct str namespace,
                         struct str after_namespace, struct str after_name);

/* ---- writing ---- '*ret' (may be NULL) gets the new object, a reference of the caller's ---- */

enum store_part { STORE_MAIN, STORE_STATUS };

int store_create(struct store *s, const struct json *body, struct object **ret, struct err *e); /* ERR_EXISTS, … */
/* Put an object in as it was elsewhere: uid, creationTimestamp, generation, deletionTimestamp and status are kept; what
 * is missing is filled in as a create does. For clusters that are read from files. */
int store_restore(struct store *s, const struct json *body, struct object **ret, struct err *e);
int store_update(struct store *s, const struct json *body, enum store_part part, struct object **ret, struct err *e);

struct store_delete_options {
    struct str uid;  /* precondition; empty: none */
    uint64_t rev;    /* precondition; 0: none */
    int64_t grace_s; /* -1: Pods: spec.terminationGracePeriodSeconds or 30; others 0 always */
    enum propagation propagation;
};

/* Ask for the end of an object. With finalizers (its own, or foregroundDeletion/orphan added by the propagation) or,
 * for a Pod that has been bound to a node and has not ended, with a grace period above 0: deletionTimestamp is set (now
 * and the grace) and the object stays until the last finalizer is removed and the grace is confirmed (a delete with
 * grace 0, as a kubelet does). Else it is deleted at once. A second delete may shorten the grace, never lengthen it,
 * and changes nothing else. ERR_NOT_FOUND, ERR_CONFLICT (preconditions). */
int store_delete(struct store *s, const struct object_key *key, const struct store_delete_options *opt,
                 struct object **ret, struct err *e);

/* While it is dry, writes are worked out and answered as ever, and nothing is changed: a new object has no revision yet,
 * a changed one that of the state it would replace. */
void store_set_dry(struct store *s, bool is_dry);

/* Any op of a plan (api/plan.h); patches and bindings have no function of their own.
 *
 * - OP_MERGE_PATCH: a merge patch of the main resource.
 * - OP_PATCH_STATUS: a strategic merge patch of the status subresource; only the patch's status is taken.
 *   metadata.resourceVersion in it is a precondition. ERR_NOT_FOUND also for kinds without that subresource.
 * - OP_BIND: gives a Pod its node, once. The body is a v1 Binding with target.name. spec.nodeName is set and the
 *   condition PodScheduled becomes True; annotations of the Binding are added to those of the Pod. ERR_CONFLICT if the
 *   Pod has a node already (also the same one), is being deleted, waits at scheduling gates, or has another uid.
 */
int store_apply(struct store *s, const struct op *op, struct object **ret, struct err *e);

/* ---- watching ---- */

enum watch_kind { WATCH_ADDED, WATCH_MODIFIED, WATCH_DELETED, WATCH_BOOKMARK, WATCH_KIND_MAX };

struct watch_event {
    enum watch_kind kind;
    const struct object *object; /* the state after the change; for DELETED the last state with the delete's revision.
                                    Borrowed until the next call on this watch. NULL for a bookmark */
    uint64_t rev;
};

struct watch;

/* Changes of a type after revision 'from' (0: from now; one that is yet to come: silent until then). ERR_GONE if
 * changes after 'from', of any type, are no longer kept. */
int watch_open(struct store *s, const struct resource_type *type, struct str namespace, uint64_t from,
               struct watch **ret, struct err *e);
void watch_close(struct watch *w); /* NULL is fine */

/* The next change: 1 and '*ret', 0 if there is none yet, -1 with ERR_GONE when the watch fell behind compaction: list
 * again. */
int watch_next(struct watch *w, struct watch_event *ret, struct err *e);

/* The state that the MODIFIED which watch_next() gave last has replaced. NULL: it is no longer kept. Borrowed until the
 * next call on this watch. */
const struct object *watch_before(struct watch *w);

/* Ask for a bookmark: once everything up to now was read, watch_next gives one. A bookmark of revision R promises that
 * nothing up to R is still to come, so a new watch may start from R. */
void watch_want_bookmark(struct watch *w);

/* Forget changes up to 'rev': new watches from before answer ERR_GONE, and open ones that had some of them to read. */
void store_compact(struct store *s, uint64_t rev);

#endif
