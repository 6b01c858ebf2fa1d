/* index.c - the objects of one type: a hash map to find one, a treap to walk them in order
 *
 * A treap is a search tree whose nodes have random priorities, highest at the root. That alone keeps it balanced: the
 * expected depth for 100,000 objects is about 40. Priorities are hashes with the map's secret seed, so nobody can
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

struct entry *index_find(const struct index *x, struct str namespace, struct str name)
{
    char key[2 * STORE_NAME_MAX + 1];

    if (namespace.n > STORE_NAME_MAX || name.n > STORE_NAME_MAX)
        return NULL;
    key_write(key, namespace, name);
    return map_get(&x->by_key, (struct str){ key, namespace.n + 1 + name.n });
}

/* Part by part: as one text "a-b/x" would come before "a/x". */
static int entry_cmp(const struct entry *a, const struct entry *b)
{
    int order = str_cmp(entry_namespace(a), entry_namespace(b));

    return order ? order : str_cmp(entry_name(a), entry_name(b));
}

/* Everything below 'at' that comes before 'pivot' goes to the left, the rest to the right. */
static void split(struct entry *at, const struct entry *pivot, struct entry **left, struct entry **right)
{
    while (at) {
        if (entry_cmp(at, pivot) < 0) {
            *left = at;
            left = &at->right;
            at = at->right;
        } else {
            *right = at;
            right = &at->left;
            at = at->left;
        }
    }
    *left = *right = NULL;
}

/* All of 'left' comes before all of 'right'. */
static struct entry *merge(struct entry *left, struct entry *right)
{
    struct entry *root = NULL, **to = &root;

    while (left && right) {
        if (left->priority >= right->priority) {
            *to = left;
            to = &left->right;
            left = left->right;
        } else {
            *to = right;
            to = &right->left;
            right = right->left;
        }
    }
    *to = left ? left : right;
    return root;
}

void index_add(struct index *x, struct object *take)
{
    size_t n = take->namespace.n + 1 + take->name.n;
    struct entry *entry = xmalloc(sizeof(*entry) + n), **at = &x->root;

    assert(take->namespace.n <= STORE_NAME_MAX && take->name.n <= STORE_NAME_MAX);
    *entry = (struct entry){ .object = take, .namespace_n = (uint32_t)take->namespace.n, .key_n = (uint32_t)n };
    key_write(entry->key, take->namespace, take->name);
    entry->priority = str_hash(entry_key(entry), ~x->by_key.seed);
    while (*at && (*at)->priority >= entry->priority)
        at = entry_cmp(entry, *at) < 0 ? &(*at)->left : &(*at)->right;
    split(*at, entry, &entry->left, &entry->right);
    *at = entry;
    if (map_put(&x->by_key, entry_key(entry), entry))
        assert(!"a name was added twice");
}

void index_remove(struct index *x, struct entry *entry)
{
    struct entry **at = &x->root;

    while (*at != entry)
        at = entry_cmp(entry, *at) < 0 ? &(*at)->left : &(*at)->right;
    *at = merge(entry->left, entry->right);
    (void)map_remove(&x->by_key, entry_key(entry)); /* that is 'entry' */
    free(entry);
}

struct walk {
    struct str namespace; /* empty: all */
    void (*each)(void *ctx, const struct object *o);
    void *ctx;
};

/* 'has_low', 'has_high': one of the namespace comes before all of these, or after. Between two of them nobody is asked. */
static void walk(const struct walk *w, const struct entry *at, bool has_low, bool has_high)
{
    while (at) {
        int order = has_low && has_high ? 0 : str_cmp(entry_namespace(at), w->namespace);

        if (order >= 0)
            walk(w, at->left, has_low, has_high || order == 0);
        if (order == 0)
            w->each(w->ctx, at->object);
        if (order > 0)
            return;
        has_low |= order == 0;
        at = at->right;
    }
}

void index_walk(const struct index *x, struct str namespace, void (*each)(void *ctx, const struct object *o), void *ctx)
{
    walk(&(struct walk){ namespace, each, ctx }, x->root, !namespace.n, !namespace.n);
}
