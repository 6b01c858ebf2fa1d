/* object.c - one allocation for each object: the struct, its nodes, its text
 *
 * The tree is counted first and copied then. A store may hold 100,000 pods, and an arena of their own would leave half
 * of each first block empty. An object with text has its tree in a second allocation, which can go and come back.
 */
#include "store/object.h"

#include "api/meta.h"
#include "base/util.h"

#include <assert.h>

#define REVISION_KEY "resourceVersion"

/* Metadata and its resourceVersion may have to be added: two nodes, their keys, 20 digits. */
enum { SPARE_NODES = 2, SPARE_BYTES = sizeof("metadata" REVISION_KEY) + 20 };

struct copier { /* the parts of the allocation that are not taken yet */
    struct json *nodes;
    char *text;
};

static void object_count(const struct json *j, size_t *nodes, size_t *bytes)
{
    *nodes += 1;
    *bytes += j->key_n;
    if (j->type == JSON_STRING || j->type == JSON_NUMBER)
        *bytes += j->n;
    JSON_FOREACH(child, j)
        object_count(child, nodes, bytes);
}

static const char *copy_text(struct copier *c, const char *p, size_t n)
{
    char *to = c->text;

    if (n)
        memcpy(to, p, n);
    c->text += n;
    return to;
}

static struct json *object_copy_node(struct copier *c, const struct json *j)
{
    struct json *copy = c->nodes++, **tail;

    *copy = *j;
    copy->next = NULL;
    if (j->key)
        copy->key = copy_text(c, j->key, j->key_n);
    if (j->type == JSON_STRING || j->type == JSON_NUMBER)
        copy->text = copy_text(c, j->text, j->n);
    if (j->type < JSON_ARRAY)
        return copy;
    copy->first = copy->last = NULL;
    tail = &copy->first;
    JSON_FOREACH(child, j) {
        copy->last = *tail = object_copy_node(c, child);
        tail = &copy->last->next;
    }
    return copy;
}

/* A member of an object: the one it has, or a new one from the spare nodes. */
static struct json *object_need_member(struct copier *c, struct json *j, struct str key, enum json_type type)
{
    struct json *member = json_get_str(j, key);

    if (member)
        return member;
    member = c->nodes++;
    *member = (struct json){ .type = (uint8_t)type };
    return json_add(j, (struct str){ copy_text(c, key.p, key.n), key.n }, member);
}

static void set_revision(struct copier *c, struct json *root, uint64_t rev)
{
    struct json *meta, *node;
    char digits[24];
    int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)rev);

    if (!json_is(root, JSON_OBJECT) ||
        !json_is(meta = object_need_member(c, root, STR("metadata"), JSON_OBJECT), JSON_OBJECT))
        return; /* no Kubernetes object */
    node = object_need_member(c, meta, STR(REVISION_KEY), JSON_STRING);
    node->type = JSON_STRING;
    node->flags &= JSON_PLAIN_KEY;
    node->text = copy_text(c, digits, (size_t)n);
    node->n = (uint32_t)n;
    node->last = NULL;
}

/* A copy of 'tree' behind 'head' bytes of a new allocation, which is '*ret'. */
static struct json *copy_tree(const struct json *tree, uint64_t rev, size_t head, void **ret)
{
    size_t nodes = SPARE_NODES, bytes = SPARE_BYTES;
    struct copier c;
    struct json *root;

    object_count(tree, &nodes, &bytes);
    *ret = xmalloc(head + nodes * sizeof(struct json) + bytes);
    c.nodes = (struct json *)((char *)*ret + head);
    c.text = (char *)(c.nodes + nodes);
    root = object_copy_node(&c, tree);
    root->key = NULL; /* a root has none, whatever it was part of */
    root->key_n = 0;
    set_revision(&c, root, rev);
    return root;
}

struct object *object_make(const struct resource_type *type, const struct json *tree, uint64_t rev)
{
    void *block;
    struct json *root = copy_tree(tree, rev, sizeof(struct object), &block);
    struct object *o = block;

    *o = (struct object){ .type = type, .root = root, .rev = rev, .refs = 1 };
    o->namespace = object_namespace(root);
    o->name = object_name(root);
    o->uid = object_uid(root);
    return o;
}

/* ---- with text ---- */

static struct str take_copy(char **at, struct str s)
{
    struct str copy = { *at, s.n };

    if (s.n)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

/* A state is mostly a little larger than the one before, and would not fit where that was: memory would go to pieces.
 * Sizes in steps of a thirty-second part are used again and again. */
static size_t size_class(size_t n)
{
    size_t step = 64;

    while (step * 32 < n)
        step *= 2;
    return (n + step - 1) & ~(step - 1);
}

struct object *object_read(const struct object_record *r)
{
    struct object *o = xmalloc(size_class(sizeof(*o) + r->namespace.n + r->name.n + r->uid.n + r->text.n));
    char *at = (char *)(o + 1);

    *o = (struct object){ .type = r->type, .rev = r->rev, .refs = 1 };
    o->namespace = take_copy(&at, r->namespace);
    o->name = take_copy(&at, r->name);
    o->uid = take_copy(&at, r->uid);
    o->text = take_copy(&at, r->text);
    return o;
}

struct object *object_make_text(const struct resource_type *type, const struct json *tree, uint64_t rev,
                                struct buf *print)
{
    void *block;
    struct json *root = copy_tree(tree, rev, 0, &block);
    struct object *o;

    buf_reset(print);
    json_print(print, root);
    o = object_read(&(struct object_record){ .type = type,
                                             .rev = rev,
                                             .namespace = object_namespace(root),
                                             .name = object_name(root),
                                             .uid = object_uid(root),
                                             .text = buf_view(print) });
    o->tree = block;
    o->root = root;
    return o;
}

static void last_wins(void *ctx, struct json_duplicate dup)
{
}

/* What is known without the text: enough to be looked at, listed and deleted. */
static struct json *without_text(const struct object *o, struct arena *a)
{
    struct json *root = json_object(a), *meta = json_object(a);

    json_add(root, STR("apiVersion"), json_str(a, type_api_version(a, o->type)));
    json_add(root, STR("kind"), json_str(a, str_of(o->type->kind)));
    json_add(root, STR("metadata"), meta);
    json_add(meta, STR("name"), json_str(a, o->name));
    if (o->namespace.n)
        json_add(meta, STR("namespace"), json_str(a, o->namespace));
    json_add(meta, STR("uid"), json_str(a, o->uid));
    return root;
}

const struct json *object_glance(const struct object *o, struct arena *a)
{
    struct json_parse_options opt = { .limits = { UINT32_MAX, 4096 }, .on_duplicate = last_wins };
    struct json *tree;

    if (o->root)
        return o->root;
    arena_reset(a);
    return json_parse(a, o->text, &opt, &tree, NULL) == 0 && json_is(tree, JSON_OBJECT) ? tree : without_text(o, a);
}

void object_warm(const struct object *o, struct arena *a)
{
    struct object *shared = (struct object *)o; /* what is seen of it does not change */

    if (!o->root)
        shared->root = copy_tree(object_glance(o, a), o->rev, 0, &shared->tree);
}

void object_cool(const struct object *o)
{
    struct object *shared = (struct object *)o;

    if (!o->tree)
        return;
    free(shared->tree);
    shared->tree = NULL;
    shared->root = NULL;
}

_Static_assert(sizeof(struct object) % _Alignof(struct json) == 0, "nodes follow the struct");

struct object *object_ref(const struct object *o)
{
    struct object *shared = (struct object *)o; /* counting is not changing */

    if (shared) {
        assert(shared->refs > 0 && shared->refs < (unsigned)-1);
        shared->refs++;
    }
    return shared;
}

void object_unref(const struct object *o)
{
    struct object *shared = (struct object *)o;

    if (!shared)
        return;
    assert(shared->refs > 0);
    if (--shared->refs > 0)
        return;
    free(shared->tree);
    free(shared);
}
