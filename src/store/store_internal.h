/* store_internal.h - what the files of this folder share: entries and their index, the rules of metadata, the history
 *
 * index.c   the objects of one type, found by name and walked in order
 * rules.c   what the API does to metadata on create, update and delete; pure
 * bind.c    what a binding does to a pod; pure as well
 * memory.c  the store: rules applied, changes committed
 * watch.c   the changes kept, and reading them
 * warm.c    which objects have their trees
 * durable.c what a store with a log does besides: flush or undo, replay, compaction
 * sqlite.c  the log, a table of SQLite
 */
#ifndef STORE_STORE_INTERNAL_H
#define STORE_STORE_INTERNAL_H

#include "base/map.h"
#include "base/rand.h"
#include "base/vec.h"
#include "store/store.h"

/* ---- index.c ---- */

struct entry {             /* a name that has an object, or had one; also a node of the tree of its type */
    struct object *object; /* NULL: it was deleted, which the history still tells of */
    uint64_t deleted_rev;  /* then: when */
    struct entry *left, *right;
    uint64_t priority; /* of a parent: never below that of its children */
    uint32_t n_live;   /* objects here and below */
    uint32_t namespace_n, key_n;
    char key[]; /* "namespace/name"; neither part has a '/' */
};

struct index {
    struct map by_key;
    struct entry *root; /* a treap ordered by namespace and name */
};

struct key {
    struct str namespace, name;
};

/* Names longer than this are refused, so that a key fits on the stack. */
enum { STORE_NAME_MAX = 253 };

void index_init(struct index *x, uint64_t seed);
void index_done(struct index *x); /* drops the references to the objects */
struct entry *index_find(const struct index *x, struct str namespace,
                         struct str name); /* NULL: also if it is deleted */

/* No object of that name is there. Returns its entry; 'ret_deleted' gets when the last one of the name was deleted, 0:
 * none is known. */
struct entry *index_add(struct index *x, struct object *take, uint64_t *ret_deleted);

/* Its object was deleted at 'rev'; the caller unrefs it. The entry stays until it is removed. */
void index_delete(struct index *x, struct entry *entry, uint64_t rev);
void index_undelete(struct index *x, struct entry *entry, struct object *take);
void index_remove(struct index *x, struct entry *entry); /* frees the entry, not the object */

size_t index_count(const struct index *x); /* objects */

struct index_walk {
    struct str namespace; /* empty: all */
    struct key after;     /* what comes behind this one, whether it is there or not; empty: from the begin */
    bool with_deleted;
    bool (*each)(void *ctx, const struct entry *entry); /* in order; false: that is enough */
    void *ctx;
};
void index_walk(const struct index *x, const struct index_walk *w);

/* Objects that such a walk would come to. */
size_t index_count_after(const struct index *x, struct str namespace, struct key after);

/* ---- rules.c ---- trees are built in 'a' and share nodes with their sources: copy before those are freed ---- */

struct type_rules {
    bool has_status;   /* as a subresource */
    bool keeps_status; /* on create */
    bool tracks_generation;
    bool has_grace;           /* Pods */
    bool status_has_meta;     /* a write of the status writes labels and annotations too */
    const char *first_phase;  /* status.phase of a new object; NULL: none */
    const char *first_object; /* an empty object in the status of a new one; NULL: none */
};

struct type_rules rules_of(const struct resource_type *type);

/* The type of a body, or ERR_INVALID. */
int rules_type(const struct json *body, const struct resource_type **ret, struct err *e);

struct creation { /* the part of a new object that is not its client's */
    const struct resource_type *type;
    struct str uid;
    int64_t now_ms;
};
typedef int create_f(struct arena *a, const struct creation *new, const struct json *body, struct json **ret,
                     struct err *e);

/* The object that a create stores, but for its name when that is to be generated: metadata.name is empty then. */
create_f rules_create;
/* The same for an object that was stored elsewhere: it keeps what the server gave it there. */
create_f rules_restore;
void rules_set_name(struct arena *a, struct json *tree, struct str name);

/* The object after a change; NULL in '*ret': nothing changes. */
typedef int change_f(struct arena *a, const struct object *old, const struct json *body, struct json **ret,
                     struct err *e);

change_f rules_update, rules_update_status;
/* A merge patch. Other errors than those of an update where it changes an immutable field. */
change_f rules_patch;
/* A strategic merge patch of the status part. */
change_f rules_patch_status;

/* Is it to go as soon as it is written: being deleted, no finalizers, no grace left? */
bool rules_is_over(const struct json *tree);

enum delete_answer { DELETE_NOTHING, DELETE_MARK, DELETE_REMOVE };

/* What a delete does to 'old': nothing, '*ret' is written, or it is removed. */
enum delete_answer rules_delete(struct arena *a, const struct object *old, const struct store_delete_options *opt,
                                int64_t now_ms, struct json **ret);

/* "pods", "jobs.batch.volcano.sh": for messages. */
struct str rules_resource(struct arena *a, const struct resource_type *type);

/* ---- bind.c ---- */

/* The Pod 'old' on the node that 'binding' names; NULL: ERR_CONFLICT, ERR_INVALID. */
struct json *rules_bind(struct arena *a, const struct object *old, const struct json *binding, int64_t now_ms,
                        struct err *e);

/* ---- watch.c ---- */

struct change {
    enum watch_kind kind;
    uint64_t rev;
    struct object *object; /* a reference; NULL: only the log has it */
    uint64_t before;       /* revision of the state that it replaced, of ADDED the delete of the one before it that had
                              the name; 0: there was none */
    struct entry *deleted; /* of DELETED: its entry, which lives as long as this */
};

struct store_history { /* changes of one type; the i-th ever made is v[i & (cap - 1)], for first <= i < end */
    struct change *v;
    size_t cap; /* a power of two, or 0 */
    uint64_t first, end;
};

/* A change of revision s->rev, which is new. Takes a reference. Drops the oldest changes of the store if there are too
 * many. */
void history_add(struct store *s, enum watch_kind what, const struct object *o, uint64_t before, struct entry *entry);
void history_done(struct store *s);

/* The last change, which is of that kind and was not told, never happened. Its revision stays used. Returns what stood
 * in 'before' of it. */
uint64_t history_undo(struct store *s, size_t kind, uint64_t rev);

/* The revision of the state that 'entry' had at 'rev', from which on all changes are kept; 0: there was none. */
uint64_t history_state_at(const struct store *s, size_t kind, const struct entry *entry, uint64_t rev);

/* The object of a state, a reference; NULL: it is no longer kept, or cannot be read. */
struct object *history_object(struct store *s, size_t kind, uint64_t rev);

/* Is the object kept here? */
bool history_holds(const struct store *s, const struct object *o);

/* The log has them: one change; all after 'after' up to 'to' whose object is another by now, or gone. */
void history_forget(struct store *s, size_t kind, uint64_t rev);
void history_forget_old(struct store *s, uint64_t after, uint64_t to);

/* The same change with another object, if it has one. */
void history_replace(struct store *s, const struct object *o);

/* Revisions up to 'rev' are unused. */
void history_skip(struct store *s, uint64_t rev);
enum { HISTORY_NOBODY = UINT8_MAX }; /* instead of a kind */

/* ---- warm.c ---- */

struct warm { /* objects that have trees and text; one reference each */
    struct object **v;
    size_t n, cap;
    size_t limit;       /* look for some to cool when there are so many */
    struct arena arena; /* for making trees */
};

void warm_add(struct warm *w, const struct object *o);
void warm_trim(struct store *s); /* cool what only the store holds, once there are many */
void warm_done(struct warm *w);

/* ---- the log of a durable store ---- */

struct log_write {
    enum watch_kind what;
    struct object *now;    /* the state after it; of DELETED the last one, with the delete's revision */
    struct object *before; /* NULL for ADDED */
};

struct log_batch { /* one transaction */
    const struct log_write *writes;
    size_t n_writes;
    const uint64_t *dead; /* rows that can be deleted */
    size_t n_dead;
    uint64_t compacted; /* a watch can no longer begin before this revision */
};

struct log_row {
    enum watch_kind what;
    struct object_record record; /* borrowed for the call. type NULL: a kind that this program does not have */
    bool is_stale;               /* a Secret that the first key did not seal */
};

struct log_scan {       /* rows in order of revision */
    uint64_t after, to; /* 'to' is the last */
    bool with_text;
    void (*each)(void *ctx, const struct log_row *row);
    void *ctx;
};

struct store_log {
    /* All of the batch is durable, or nothing of it is seen again by this process. */
    int (*commit)(struct store_log *log, const struct log_batch *b, struct err *e);
    int (*scan)(struct store_log *log, const struct log_scan *scan, struct err *e);
    void (*close)(struct store_log *log);
    uint64_t rev, compacted; /* of the last change ever, and as in struct log_batch; known when it is opened */
    struct err failure;      /* why commits fail; ERR_OK: they do not */
    bool wants_commit;       /* an empty batch too, once all was read: records are to be sealed with another key */
    bool is_full;            /* the last commit failed for want of space: the next may work */
};

/* sqlite.c */
int log_open_sqlite(const char *dir, const struct store_options *opt, struct store_log **ret, struct err *e);

/* ---- durable.c ---- */

struct undone { /* revisions of a turn that was not flushed */
    uint64_t first, last;
};

struct durable {
    struct store_log *log;
    VEC(struct log_write) pending; /* since the last flush; 'now' and 'before' are references */
    VEC(uint64_t) dead;            /* rows to delete, in order */
    size_t dead_at, dead_end;      /* deleted so far; allowed so far, a few with each flush */
    uint64_t forgotten;            /* of changes up to this one the history has present objects only */
    uint64_t compacted;            /* written with the next flush: rows of dead[] up to 'dead_end' were left by changes
                                      up to this one */
    struct object *before;         /* of durable_before(); NULL: none yet */
    struct err failure;            /* read-only for this reason; ERR_OK: it is not */
    bool is_cut;                   /* when it was opened: see store_is_cut() */
    int64_t retry_ms;              /* monotonic: let writes through again then */
    VEC(struct undone) undone;
    struct store_stats stats; /* but for what is known elsewhere */
    struct arena pending_mem, dead_mem, undone_mem;
    struct buf print;
};

/* Remember a change for the next flush. Takes 'before' and a reference to 'now'. */
void durable_add(struct store *s, enum watch_kind what, const struct object *now, struct object *take_before);
void durable_done(struct durable *d); /* NULL is fine */

/* A change has left the history: what it replaced is needed no more, nor is what tells of a delete. */
void durable_drop(struct durable *d, enum watch_kind what, uint64_t rev, uint64_t before);

/* The object of a change that is kept, as the log has it; NULL if that cannot be read. */
struct object *durable_read(struct store *s, uint64_t rev);
/* The same of a state that was replaced. All watches of a change ask for the same one, so the last is kept. */
struct object *durable_before(struct store *s, uint64_t rev);

/* ---- memory.c ---- */

struct store_kind { /* a row of resource_types[] */
    struct index index;
    struct store_history history;
};

struct store {
    struct clock *clock;
    bool is_dry;
    struct rand rand;
    int64_t uid_ms; /* of the uid given last */
    unsigned uid_seq;
    uint64_t rev;     /* of the last change */
    uint64_t flushed; /* watches may deliver changes up to this revision */
    uint64_t dropped; /* changes up to this revision are no longer kept */
    size_t history;   /* most changes kept */
    uint8_t *order;   /* the kind of each kept change: order[rev & (order_cap - 1)] */
    size_t order_cap;
    size_t n_watches;
    struct store_kind *kinds;
    struct arena scratch; /* for one write */
    struct warm *warm;
    struct durable *durable; /* NULL: it lives in memory only */
};

struct index *store_index_of(const struct store *s, const struct resource_type *type);
size_t store_kind_of(const struct resource_type *type); /* index into kinds */

#endif
