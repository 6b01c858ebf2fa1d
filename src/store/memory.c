/* memory.c - the store in memory: reads and writes
 *
 * A write builds the new state as a tree in the scratch arena (rules.c), then commits: the next revision, one immutable
 * object shared by the index and the history, readers and watches. A durable store (durable.c) remembers each change
 * besides, until it is flushed.
 */
#include "store/store_internal.h"

#include "api/meta.h"
#include "base/codec.h"
#include "base/util.h"

#include <assert.h>

enum {
    HISTORY_DEFAULT = 100000,
    GENERATED_CHARS = 5,
    GENERATED_PREFIX = 58, /* of generateName is used, so that the result is a DNS label */
    GENERATED_TRIES = 8,
};

size_t store_kind_of(const struct resource_type *type)
{
    return type_row(type);
}

struct store *store_new(const struct store_options *opt)
{
    struct store *s = xcalloc(1, sizeof(*s));
    uint64_t secret = map_seed_default(); /* hash order is never seen, so it may differ from run to run */

    assert(opt->clock && n_type_rows <= UINT8_MAX);
    s->clock = opt->clock;
    s->history = opt->history ? opt->history : HISTORY_DEFAULT;
    rand_seed(&s->rand, opt->seed);
    s->warm = xcalloc(1, sizeof(*s->warm));
    s->kinds = xcalloc(n_type_rows, sizeof(*s->kinds));
    for (size_t i = 0; i < n_type_rows; i++)
        index_init(&s->kinds[i].index, secret);
    return s;
}

void store_free(struct store *s)
{
    if (!s)
        return;
    assert(s->n_watches == 0);
    durable_done(s->durable);
    warm_done(s->warm);
    history_done(s);
    for (size_t i = 0; i < n_type_rows; i++)
        index_done(&s->kinds[i].index);
    free(s->kinds);
    arena_done(&s->scratch);
    free(s);
}

void store_set_dry(struct store *s, bool is_dry)
{
    s->is_dry = is_dry;
}

uint64_t store_revision(const struct store *s)
{
    return s->rev;
}

/* ---- reading ---- */

struct index *store_index_of(const struct store *s, const struct resource_type *type)
{
    return &s->kinds[store_kind_of(type)].index;
}

static struct str memory_space_of(const struct resource_type *type, struct str namespace)
{
    return type->scope == SCOPE_CLUSTER ? STR_NULL : namespace;
}

static struct entry *memory_find(const struct store *s, const struct resource_type *type, struct str namespace,
                                 struct str name)
{
    return index_find(store_index_of(s, type), memory_space_of(type, namespace), name);
}

const struct object *store_get(const struct store *s, const struct resource_type *type, struct str namespace,
                               struct str name)
{
    const struct entry *entry = memory_find(s, type, namespace, name);

    if (!entry)
        return NULL;
    store_warm(s, entry->object);
    return entry->object;
}

const struct object *store_find(const struct store *s, const struct resource_type *type, struct str namespace,
                                struct str name)
{
    const struct entry *entry = memory_find(s, type, namespace, name);

    return entry ? entry->object : NULL;
}

struct each {
    const struct store *store;
    void (*each)(void *ctx, const struct object *o);
    void *ctx;
};

static bool walk_one(void *ctx, const struct entry *entry)
{
    struct each *w = ctx;

    w->each(w->ctx, entry->object);
    return true;
}

static bool list_one(void *ctx, const struct entry *entry)
{
    struct each *w = ctx;

    store_warm(w->store, entry->object);
    return walk_one(ctx, entry);
}

void store_list(const struct store *s, const struct resource_type *type, struct str namespace,
                void (*each)(void *ctx, const struct object *o), void *ctx)
{
    struct each w = { s, each, ctx };

    index_walk(store_index_of(s, type),
               &(struct index_walk){ .namespace = memory_space_of(type, namespace), .each = list_one, .ctx = &w });
}

void store_walk(const struct store *s, const struct resource_type *type, struct str namespace,
                void (*each)(void *ctx, const struct object *o), void *ctx)
{
    struct each w = { s, each, ctx };

    index_walk(store_index_of(s, type),
               &(struct index_walk){ .namespace = memory_space_of(type, namespace), .each = walk_one, .ctx = &w });
}

size_t store_count(const struct store *s, const struct resource_type *type)
{
    return index_count(store_index_of(s, type));
}

/* ---- page by page ---- */

struct page_walk {
    struct store *store;
    const struct store_page *page;
    size_t kind;
    uint64_t rev;
    bool is_gone;
};

static bool page_one(void *ctx, const struct entry *entry)
{
    struct page_walk *w = ctx;
    uint64_t rev = history_state_at(w->store, w->kind, entry, w->rev);
    autounref struct object *old = NULL;

    if (!rev)
        return true;
    if (entry->object && entry->object->rev == rev)
        return w->page->each(w->page->ctx, entry->object);
    old = history_object(w->store, w->kind, rev);
    w->is_gone = !old;
    return old && w->page->each(w->page->ctx, old);
}

int store_page(struct store *s, const struct resource_type *type, const struct store_page *p, struct err *e)
{
    struct page_walk w = { .store = s, .page = p, .kind = store_kind_of(type), .rev = p->rev ? p->rev : s->rev };

    if (w.rev >= s->dropped && w.rev <= s->rev)
        index_walk(store_index_of(s, type), &(struct index_walk){ .namespace = memory_space_of(type, p->namespace),
                                                                  .after = { p->after_namespace, p->after_name },
                                                                  .with_deleted = w.rev < s->rev,
                                                                  .each = page_one,
                                                                  .ctx = &w });
    if (w.rev >= s->dropped && w.rev <= s->rev && !w.is_gone)
        return 0;
    return err_set(e, ERR_GONE, "too old resource version: %llu (%llu is the oldest to list from)",
                   (unsigned long long)w.rev, (unsigned long long)s->dropped);
}

size_t store_count_after(const struct store *s, const struct resource_type *type, struct str namespace,
                         struct str after_namespace, struct str after_name)
{
    return index_count_after(store_index_of(s, type), memory_space_of(type, namespace),
                             (struct key){ after_namespace, after_name });
}

/* ---- committing ---- */

static void memory_give(struct object **ret, const struct object *o)
{
    if (ret)
        *ret = object_ref(o);
}

static struct object *memory_make(struct store *s, const struct resource_type *type, const struct json *tree)
{
    struct object *o;

    if (!s->durable)
        return object_make(type, tree, ++s->rev);
    o = object_make_text(type, tree, ++s->rev, &s->durable->print);
    warm_add(s->warm, o);
    return o;
}

/* The change is in the history: now into the log, if there is one. */
static void memory_log(struct store *s, enum watch_kind what, const struct object *now, struct object *take_before)
{
    if (s->durable) {
        durable_add(s, what, now, take_before);
        return;
    }
    s->flushed = s->rev;
    object_unref(take_before);
}

/* Dry: what would be written. */
static void answer_dry(const struct resource_type *type, const struct json *tree, uint64_t rev, struct object **ret)
{
    if (ret)
        *ret = object_make(type, tree, rev);
}

static void commit_add(struct store *s, const struct resource_type *type, const struct json *tree, struct object **ret)
{
    struct entry *entry;
    uint64_t deleted;

    if (s->is_dry) {
        answer_dry(type, tree, 0, ret);
        return;
    }
    entry = index_add(store_index_of(s, type), memory_make(s, type, tree), &deleted);
    history_add(s, WATCH_ADDED, entry->object, deleted, entry);
    memory_give(ret, entry->object);
    memory_log(s, WATCH_ADDED, entry->object, NULL);
}

static void commit_change(struct store *s, struct entry *entry, const struct json *tree, struct object **ret)
{
    struct object *old = entry->object; /* given up last: the tree may share its nodes */

    if (s->is_dry) {
        answer_dry(old->type, tree, old->rev, ret);
        return;
    }
    entry->object = memory_make(s, old->type, tree);
    history_add(s, WATCH_MODIFIED, entry->object, old->rev, entry);
    memory_give(ret, entry->object);
    memory_log(s, WATCH_MODIFIED, entry->object, old);
}

/* 'tree' is the last state, with the revision of the delete. */
static void commit_remove(struct store *s, struct entry *entry, const struct json *tree, struct object **ret)
{
    struct object *old = entry->object, *last;

    if (s->is_dry) {
        answer_dry(old->type, tree, old->rev, ret);
        return;
    }
    last = memory_make(s, old->type, tree);
    index_delete(store_index_of(s, old->type), entry, last->rev);
    history_add(s, WATCH_DELETED, last, old->rev, entry);
    memory_give(ret, last);
    memory_log(s, WATCH_DELETED, last, old);
    object_unref(last);
}

/* ---- writing ---- */

static int not_found(struct store *s, const struct resource_type *type, struct str name, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "%.*s \"%.*s\" not found", STR_ARG(rules_resource(&s->scratch, type)),
                   STR_ARG(name));
}

/* The begin of every write. NULL: the store is read-only. */
static struct arena *scratch(struct store *s, struct err *e)
{
    if (store_writable(s, e) < 0)
        return NULL;
    warm_trim(s);
    arena_reset(&s->scratch);
    return &s->scratch;
}

/* An object to change, with its tree. */
static struct entry *find_warm(struct store *s, const struct resource_type *type, struct str namespace, struct str name)
{
    struct entry *entry = memory_find(s, type, namespace, name);

    if (entry)
        store_warm(s, entry->object);
    return entry;
}

/* Version 7 of RFC 9562: the time, a counter within the millisecond, then random. Times of the API have seconds only;
 * where jobs of one second are ordered by uid, the older one is first. */
static struct str new_uid(struct store *s)
{
    int64_t now_ms = clock_now_ms(s->clock);
    unsigned char b[UUID_BYTES];
    char room[UUID_CHARS];

    if (now_ms > s->uid_ms) {
        s->uid_ms = now_ms;
        s->uid_seq = 0;
    } else if (++s->uid_seq > 0xfff) {
        s->uid_ms++;
        s->uid_seq = 0;
    }
    rand_bytes(&s->rand, b, sizeof(b));
    for (int i = 0; i < 6; i++)
        b[i] = (unsigned char)((uint64_t)s->uid_ms >> (40 - 8 * i));
    b[6] = (unsigned char)(0x70 | s->uid_seq >> 8);
    b[7] = (unsigned char)s->uid_seq;
    b[8] = (b[8] & 0x3f) | 0x80;
    return arena_str(&s->scratch, uuid_print(b, room));
}

/* No vowels, and no digits that look like one: no words come out. */
static struct str generated_name(struct store *s, struct str prefix)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    char text[GENERATED_CHARS];

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = letters[rand_below(&s->rand, sizeof(letters) - 1)];
    return arena_cat(&s->scratch, str_sub(prefix, 0, GENERATED_PREFIX), (struct str){ text, sizeof(text) });
}

/* A name for an object that has none yet; the last try stays, free or not. */
static void name_new(struct store *s, const struct resource_type *type, struct json *tree)
{
    struct str prefix = json_member_text(json_get(tree, "metadata"), "generateName"), name = STR_NULL;

    if (object_name(tree).n)
        return;
    for (int i = 0; i < GENERATED_TRIES; i++) {
        name = generated_name(s, prefix);
        if (!memory_find(s, type, object_namespace(tree), name))
            break;
    }
    rules_set_name(&s->scratch, tree, name);
}

static int create_by(struct store *s, create_f *rules, const struct json *body, struct object **ret, struct err *e)
{
    struct arena *a = scratch(s, e);
    struct creation new;
    struct json *tree;

    if (!a || rules_type(body, &new.type, e) < 0)
        return -1;
    new.uid = new_uid(s);
    new.now_ms = clock_now_ms(s->clock);
    if (rules(a, &new, body, &tree, e) < 0)
        return -1;
    name_new(s, new.type, tree);
    if (memory_find(s, new.type, object_namespace(tree), object_name(tree)))
        return err_set(e, ERR_EXISTS, "%.*s \"%.*s\" already exists", STR_ARG(rules_resource(a, new.type)),
                       STR_ARG(object_name(tree)));
    commit_add(s, new.type, tree, ret);
    return 0;
}

int store_create(struct store *s, const struct json *body, struct object **ret, struct err *e)
{
    return create_by(s, rules_create, body, ret, e);
}

int store_restore(struct store *s, const struct json *body, struct object **ret, struct err *e)
{
    return create_by(s, rules_restore, body, ret, e);
}

/* 'tree' is what an update leaves; NULL: nothing changes. */
static void commit_update(struct store *s, struct entry *entry, const struct json *tree, struct object **ret)
{
    if (!tree)
        memory_give(ret, entry->object);
    else if (rules_is_over(tree))
        commit_remove(s, entry, tree, ret);
    else
        commit_change(s, entry, tree, ret);
}

int store_update(struct store *s, const struct json *body, enum store_part part, struct object **ret, struct err *e)
{
    struct arena *a = scratch(s, e);
    const struct resource_type *type;
    struct entry *entry;
    struct json *tree;

    if (!a || rules_type(body, &type, e) < 0)
        return -1;
    if (!(entry = find_warm(s, type, object_namespace(body), object_name(body))))
        return not_found(s, type, object_name(body), e);
    if ((part == STORE_STATUS ? rules_update_status : rules_update)(a, entry->object, body, &tree, e) < 0)
        return -1;
    commit_update(s, entry, tree, ret);
    return 0;
}

/* "" and 0: no precondition. */
static int check_still(struct store *s, const struct object *o, struct str uid, uint64_t rev, struct err *e)
{
    if ((!uid.n || str_eq(uid, o->uid)) && (!rev || rev == o->rev))
        return 0;
    return err_set(e, ERR_CONFLICT,
                   "Operation cannot be fulfilled on %.*s \"%.*s\": precondition failed: it has uid %.*s and resource "
                   "version %llu",
                   STR_ARG(rules_resource(&s->scratch, o->type)), STR_ARG(o->name), STR_ARG(o->uid),
                   (unsigned long long)o->rev);
}

static int apply_patch(struct store *s, change_f *rules, const struct op *op, struct object **ret, struct err *e)
{
    struct arena *a = scratch(s, e);
    struct entry *entry = a ? find_warm(s, op->type, op->namespace, op->name) : NULL;
    struct json *tree;

    if (!a)
        return -1;
    if (!entry)
        return not_found(s, op->type, op->name, e);
    if (check_still(s, entry->object, op->uid, 0, e) < 0 || rules(a, entry->object, op->body, &tree, e) < 0)
        return -1;
    commit_update(s, entry, tree, ret);
    return 0;
}

static int apply_bind(struct store *s, const struct op *op, struct object **ret, struct err *e)
{
    struct arena *a = scratch(s, e);
    struct entry *entry = a ? find_warm(s, op->type, op->namespace, op->name) : NULL;
    struct json *tree;

    if (!a)
        return -1;
    if (!entry)
        return not_found(s, op->type, op->name, e);
    if (check_still(s, entry->object, op->uid, 0, e) < 0 ||
        !(tree = rules_bind(a, entry->object, op->body, clock_now_ms(s->clock), e)))
        return -1;
    commit_change(s, entry, tree, ret);
    return 0;
}

int store_delete(struct store *s, const struct object_key *key, const struct store_delete_options *opt,
                 struct object **ret, struct err *e)
{
    struct arena *a = scratch(s, e);
    struct entry *entry = a ? find_warm(s, key->type, key->namespace, key->name) : NULL;
    struct json *tree = NULL;

    if (!a)
        return -1;
    if (!entry)
        return not_found(s, key->type, key->name, e);
    if (check_still(s, entry->object, opt->uid, opt->rev, e) < 0)
        return -1;
    switch (rules_delete(a, entry->object, opt, clock_now_ms(s->clock), &tree)) {
    case DELETE_NOTHING:
        memory_give(ret, entry->object);
        break;
    case DELETE_MARK:
        commit_change(s, entry, tree, ret);
        break;
    case DELETE_REMOVE:
        commit_remove(s, entry, entry->object->root, ret);
        break;
    }
    return 0;
}

int store_apply(struct store *s, const struct op *op, struct object **ret, struct err *e)
{
    struct store_delete_options opt = {
        .uid = op->uid, .rev = op->rev, .grace_s = op->grace_s, .propagation = op->propagation
    };

    switch (op->kind) {
    case OP_CREATE:
        return store_create(s, op->body, ret, e);
    case OP_UPDATE:
        return store_update(s, op->body, STORE_MAIN, ret, e);
    case OP_UPDATE_STATUS:
        return store_update(s, op->body, STORE_STATUS, ret, e);
    case OP_MERGE_PATCH:
        return apply_patch(s, rules_patch, op, ret, e);
    case OP_DELETE:
        return store_delete(s, &(struct object_key){ op->type, op->namespace, op->name }, &opt, ret, e);
    case OP_PATCH_STATUS:
        return apply_patch(s, rules_patch_status, op, ret, e);
    case OP_BIND:
        return apply_bind(s, op, ret, e);
    case OP_KIND_MAX:
        break;
    }
    return err_set(e, ERR_INTERNAL, "unknown op %d", (int)op->kind);
}
