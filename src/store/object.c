/* object.c - one allocation for each object: the struct, its nodes, its text
 *
 * The tree is counted first and copied then. A store may hold 100,000 pods, and an arena of their own would leave half
 * of each first block empty.
 */
#include "store/object.h"

#include "api/meta.h"
#include "base/util.h"

#include <assert.h>

#define REVISION_KEY "resourceVersion"

/* Whatever the tree has, metadata and its resourceVersion may have to be added: two nodes, their keys, 20 digits. */
enum { SPARE_NODES = 2, SPARE_BYTES = sizeof("metadata" REVISION_KEY) + 20 };

struct copier { /* the parts of the allocation that are not taken yet */
    struct json *nodes;
    char *text;
};

static void count(const struct json *j, size_t *nodes, size_t *bytes)
{
    *nodes += 1;
    *bytes += j->key_n;
    if (j->type == JSON_STRING || j->type == JSON_NUMBER)
        *bytes += j->n;
    JSON_FOREACH(child, j)
        count(child, nodes, bytes);
}

static const char *copy_text(struct copier *c, const char *p, size_t n)
{
    char *to = c->text;

    if (n)
        memcpy(to, p, n);
    c->text += n;
    return to;
}

static struct json *copy_node(struct copier *c, const struct json *j)
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
        copy->last = *tail = copy_node(c, child);
        tail = &copy->last->next;
    }
    return copy;
}

/* A member of an object: the one it has, or a new one from the spare nodes. */
static struct json *need_member(struct copier *c, struct json *j, struct str key, enum json_type type)
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

    if (!json_is(root, JSON_OBJECT) || !json_is(meta = need_member(c, root, STR("metadata"), JSON_OBJECT), JSON_OBJECT))
        return; /* no Kubernetes object */
    node = need_member(c, meta, STR(REVISION_KEY), JSON_STRING);
    node->type = JSON_STRING;
    node->flags &= JSON_PLAIN_KEY;
    node->text = copy_text(c, digits, (size_t)n);
    node->n = (uint32_t)n;
    node->last = NULL;
}

struct object *object_make(const struct resource_type *type, const struct json *tree, uint64_t rev)
{
    size_t nodes = SPARE_NODES, bytes = SPARE_BYTES;
    struct copier c;
    struct json *root;
    struct object *o;

    count(tree, &nodes, &bytes);
    o = xmalloc(sizeof(*o) + nodes * sizeof(struct json) + bytes);
    c.nodes = (struct json *)(o + 1);
    c.text = (char *)(c.nodes + nodes);
    root = copy_node(&c, tree);
    root->key = NULL; /* a root has none, whatever it was part of */
    root->key_n = 0;
    set_revision(&c, root, rev);
    *o = (struct object){ .type = type, .root = root, .rev = rev, .refs = 1 };
    o->namespace = object_namespace(root);
    o->name = object_name(root);
    o->uid = object_uid(root);
    return o;
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
    if (--shared->refs == 0)
        free(shared);
}
