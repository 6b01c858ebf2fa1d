/* index.c - the objects of one type: a hash map to find one, a treap to walk them in order and to count them
 *
 * A treap is a search tree whose nodes have random priorities, highest at the root. That alone keeps it balanced: the
 * expected depth for 100,000 objects is about 40. Priorities are hashes with the map's secret seed, so no one can
 * choose names that make the tree deep.
 */
#include "store/store_internal.h"

#include "base/util.h"

#include <assert.h>

void index_init(struct index *x, uint64_t seed)
{
    map_init(&x->by_key, seed);
    x->root = NULL;
}

void index_done(struct index *x)
{
    MAP_FOREACH(struct entry *, entry, &x->by_key) {
        object_unref(entry->object);
        free(entry);
    }
    map_done(&x->by_key);
    x->root = NULL;
}

/* ---- by name ---- */

static struct str entry_key(const struct entry *entry)
{
    return (struct str){ entry->key, entry->key_n };
}

static struct str entry_namespace(const struct entry *entry)
{
    return (struct str){ entry->key, entry->namespace_n };
}

static struct str entry_name(const struct entry *entry)
{
    return str_from(entry_key(entry), entry->namespace_n + 1);
}

static void key_write(char *to, struct str namespace, struct str name)
{
    if (namespace.n)
        memcpy(to, namespace.p, namespace.n);
    to[namespace.n] = '/';
    if (name.n)
        memcpy(to + namespace.n + 1, name.p, name.n);
}

static struct entry *store_index_find(const struct index *x, struct str namespace, struct str name)
{
    char key[2 * STORE_NAME_MAX + 1];

    if (namespace.n > STORE_NAME_MAX || name.n > STORE_NAME_MAX)
        return NULL;
    key_write(key, namespace, name);
    return map_get(&x->by_key, (struct str){ key, namespace.n + 1 + name.n });
}

struct entry *index_find(const struct index *x, struct str namespace, struct str name)
{
    struct entry *entry = store_index_find(x, namespace, name);

    return entry && entry->object ? entry : NULL;
}

/* ---- the treap ---- */

/* Part by part: as one text "a-b/x" would come before "a/x". */
static int index_key_cmp(const struct entry *entry, struct key key)
{
    int order = str_cmp(entry_namespace(entry), key.namespace);

    return order ? order : str_cmp(entry_name(entry), key.name);
}

static struct key index_key_of(const struct entry *entry)
{
    return (struct key){ entry_namespace(entry), entry_name(entry) };
}

static uint32_t index_live(const struct entry *at)
{
    return at ? at->n_live : 0;
}

static void store_index_count(struct entry *at)
{
    at->n_live = index_live(at->left) + index_live(at->right) + (at->object != NULL);
}

/* Everything below 'at' that comes before 'pivot' goes to the left, the rest to the right. */
static void index_split(struct entry *at, struct key pivot, struct entry **left, struct entry **right)
{
    if (!at) {
        *left = *right = NULL;
        return;
    }
    if (index_key_cmp(at, pivot) < 0) {
        index_split(at->right, pivot, &at->right, right);
        *left = at;
    } else {
        index_split(at->left, pivot, left, &at->left);
        *right = at;
    }
    store_index_count(at);
}

/* All of 'left' comes before all of 'right'. */
static struct entry *index_merge(struct entry *left, struct entry *right)
{
    struct entry *root = left;

    if (!left || !right)
        return left ? left : right;
    if (left->priority >= right->priority) {
        left->right = index_merge(left->right, right);
    } else {
        right->left = index_merge(left, right->left);
        root = right;
    }
    store_index_count(root);
    return root;
}

/* The link that 'entry' hangs at. On the way there 'more' live ones are counted. */
static struct entry **link_of(struct index *x, const struct entry *entry, int more)
{
    struct entry **at = &x->root;
    struct key key = index_key_of(entry);

    while (*at != entry) {
        (*at)->n_live += (uint32_t)more;
        at = index_key_cmp(*at, key) > 0 ? &(*at)->left : &(*at)->right;
    }
    return at;
}

static void set_object(struct index *x, struct entry *entry, struct object *o)
{
    (void)link_of(x, entry, o ? 1 : -1); /* only counted */
    entry->object = o;
    store_index_count(entry);
}

/* ---- adding and removing ---- */

static struct entry *entry_new(struct index *x, struct object *take)
{
    size_t n = take->namespace.n + 1 + take->name.n;
    struct entry *entry = xmalloc(sizeof(*entry) + n);

    assert(take->namespace.n <= STORE_NAME_MAX && take->name.n <= STORE_NAME_MAX);
    *entry = (struct entry){ .object = take, .namespace_n = (uint32_t)take->namespace.n, .key_n = (uint32_t)n };
    key_write(entry->key, take->namespace, take->name);
    entry->priority = str_hash(entry_key(entry), ~x->by_key.seed);
    return entry;
}

struct entry *index_add(struct index *x, struct object *take, uint64_t *ret_deleted)
{
    struct entry *entry = store_index_find(x, take->namespace, take->name), **at = &x->root;

    *ret_deleted = entry ? entry->deleted_rev : 0;
    if (entry) {
        assert(!entry->object);
        index_undelete(x, entry, take);
        return entry;
    }
    entry = entry_new(x, take);
    while (*at && (*at)->priority >= entry->priority) {
        (*at)->n_live++;
        at = index_key_cmp(*at, index_key_of(entry)) > 0 ? &(*at)->left : &(*at)->right;
    }
    index_split(*at, index_key_of(entry), &entry->left, &entry->right);
    store_index_count(entry);
    *at = entry;
    (void)map_put(&x->by_key, entry_key(entry), entry); /* there was none */
    return entry;
}

void index_delete(struct index *x, struct entry *entry, uint64_t rev)
{
    set_object(x, entry, NULL);
    entry->deleted_rev = rev;
}

void index_undelete(struct index *x, struct entry *entry, struct object *take)
{
    set_object(x, entry, take);
    entry->deleted_rev = 0;
}

void index_remove(struct index *x, struct entry *entry)
{
    struct entry **at = link_of(x, entry, entry->object ? -1 : 0);

    *at = index_merge(entry->left, entry->right);
    (void)map_remove(&x->by_key, entry_key(entry)); /* that is 'entry' */
    free(entry);
}

/* ---- in order ---- */

size_t index_count(const struct index *x)
{
    return index_live(x->root);
}

/* Names are never empty, so a namespace begins behind the empty one. */
static struct key begin_of(struct str namespace, struct key after)
{
    return str_cmp(namespace, after.namespace) > 0 ? (struct key){ namespace, STR_NULL } : after;
}

static bool visit(const struct index_walk *w, const struct entry *entry)
{
    if (w->namespace.n && !str_eq(w->namespace, entry_namespace(entry)))
        return false; /* all that follow are of later ones */
    return (!entry->object && !w->with_deleted) || w->each(w->ctx, entry);
}

/* 'is_behind': all that is here comes behind 'after'. */
static bool store_index_walk(const struct index_walk *w, struct key after, const struct entry *at, bool is_behind)
{
    while (at && (at->n_live || w->with_deleted)) {
        if (is_behind || index_key_cmp(at, after) > 0) {
            if (!store_index_walk(w, after, at->left, is_behind) || !visit(w, at))
                return false;
            is_behind = true;
        }
        at = at->right;
    }
    return true;
}

void index_walk(const struct index *x, const struct index_walk *w)
{
    struct key after = begin_of(w->namespace, w->after);

    (void)store_index_walk(w, after, x->root,
                           !after.namespace.n && !after.name.n); /* whether it was enough is the caller's */
}

/* 'is_next': behind all names of its namespace. */
static size_t count_behind(const struct entry *at, struct key key, bool is_next)
{
    size_t n = 0;

    while (at) {
        if (is_next ? str_cmp(entry_namespace(at), key.namespace) > 0 : index_key_cmp(at, key) > 0) {
            n += index_live(at) - index_live(at->left);
            at = at->left;
        } else {
            at = at->right;
        }
    }
    return n;
}

size_t index_count_after(const struct index *x, struct str namespace, struct key after)
{
    struct key begin = begin_of(namespace, after);
    size_t n = count_behind(x->root, begin, false);

    if (!namespace.n)
        return n;
    if (str_cmp(begin.namespace, namespace) > 0)
        return 0;
    return n - count_behind(x->root, (struct key){ namespace, STR_NULL }, true);
}
