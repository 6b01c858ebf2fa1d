/* patch.c - JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386)
 *
 * A JSON Patch works on a copy, so a failing operation leaves nothing behind. A patch is small and what it asks for can
 * be large (each "copy" may double the document, each "add" may walk a long list), so copies, steps and the depth of
 * the result are limited.
 */
#include "json/patch.h"

#include "base/map.h"
#include "base/util.h"
#include "json/json_internal.h"

enum {
    OPS_MAX = 10000,            /* as the Kubernetes API server */
    COPY_MAX = 3 * 1024 * 1024, /* bytes of text that copies may add, likewise */
    STEPS_MAX = 50 * 1000 *
                1000, /* items passed while looking for places: about 100 ms, in which no other request is served */
    INDEX_MIN = 64    /* members from which on an index pays */
};

/* The members of the object that was last looked into, by key: many operations on one large object would walk it each
 * time. Every change of its members goes through here. */
struct member_index {
    struct json *object; /* NULL: none */
    struct map by_key;
};

struct patching {
    struct arena *arena;
    struct json *root;
    size_t copied, steps;
    struct member_index index;
    struct err *e;
};

struct patch_op {
    struct str path, from;
    const struct json *value;
};

/* Where an operation acts: the child 'token' of 'parent'. The whole document: parent is NULL. */
struct patch_spot {
    struct json *parent;
    struct str token; /* still escaped */
    struct json *node;
};

/* ---- finding the place ---- */

static int count_steps(struct patching *pt, const struct json *j)
{
    pt->steps += json_count(j);
    if (pt->steps > STEPS_MAX)
        return err_set(pt->e, ERR_TOO_BIG, "the patch needs too many steps on this document");
    return 0;
}

static struct json *find_child(struct patching *pt, struct json *parent, struct str token)
{
    struct member_index *ix = &pt->index;

    if (!json_is(parent, JSON_OBJECT) || json_count(parent) < INDEX_MIN)
        return pointer_child(parent, token);
    if (ix->object != parent) {
        map_clear(&ix->by_key);
        ix->object = parent;
        JSON_FOREACH(m, parent)
            (void)map_put(&ix->by_key, json_key(m), m); /* of several of one key the last counts */
    }
    return map_get(&ix->by_key, pointer_unescape(pt->arena, token));
}

/* Looking into one object again and again costs nothing; into two by turns, both each time. */
static bool is_indexed(const struct patching *pt, const struct json *j)
{
    return pt->index.object == j;
}

static void index_put(struct patching *pt, const struct json *parent, struct json *node)
{
    if (is_indexed(pt, parent))
        (void)map_put(&pt->index.by_key, json_key(node), node); /* what was there is replaced */
}

static void unlink_child(struct patching *pt, struct json *parent, struct json *node)
{
    if (is_indexed(pt, parent))
        (void)map_remove(&pt->index.by_key, json_key(node));
    json_unlink(parent, node);
}

static void replace_child(struct patching *pt, struct json *parent, struct json *old, struct json *take)
{
    json_replace(parent, old, take);
    index_put(pt, parent, take);
}

static int find_spot(struct patching *pt, struct str path, struct patch_spot *ret)
{
    struct str rest = path, token;
    struct patch_spot at = { .node = pt->root };

    while (pointer_next(&rest, &token)) {
        if (!json_is(at.node, JSON_OBJECT) && !json_is(at.node, JSON_ARRAY))
            return err_set(pt->e, ERR_INVALID, "the path does not exist");
        if (!is_indexed(pt, at.node) && !str_is(token, "-") && count_steps(pt, at.node) < 0)
            return -1;
        at = (struct patch_spot){ at.node, token, find_child(pt, at.node, token) };
    }
    *ret = at;
    return 0;
}

static int find_existing(struct patching *pt, struct str path, struct patch_spot *ret)
{
    if (find_spot(pt, path, ret) < 0)
        return -1;
    return ret->node ? 0 : err_set(pt->e, ERR_INVALID, "the value does not exist");
}

/* ---- operations ---- */

static int put_in_array(struct patching *pt, const struct patch_spot *at, struct json *take)
{
    size_t index;

    if (str_is(at->token, "-"))
        index = at->parent->n;
    else if (pointer_index(at->token, &index) < 0)
        return err_set(pt->e, ERR_INVALID, "\"%.*s\" is not a list index", (int)MIN_OF(at->token.n, 40), at->token.p);
    if (index > at->parent->n)
        return err_set(pt->e, ERR_INVALID, "index %zu is out of range: the list has %u items", index, at->parent->n);
    json_insert(at->parent, index, take);
    return 0;
}

static void put_root(struct patching *pt, struct json *take)
{
    pt->root = take;
    take->next = NULL;
    take->key = NULL;
    take->key_n = 0;
}

static int patch_put(struct patching *pt, struct str path, struct json *take)
{
    struct patch_spot at;

    if (find_spot(pt, path, &at) < 0)
        return -1;
    if (!at.parent) {
        put_root(pt, take);
        return 0;
    }
    if (at.parent->type == JSON_ARRAY)
        return put_in_array(pt, &at, take);
    if (!at.node)
        index_put(pt, at.parent, json_add(at.parent, pointer_unescape(pt->arena, at.token), take));
    else if (count_steps(pt, at.parent) < 0)
        return -1;
    else
        replace_child(pt, at.parent, at.node, take);
    return 0;
}

static int op_add(struct patching *pt, const struct patch_op *op)
{
    return patch_put(pt, op->path, json_copy(pt->arena, op->value));
}

static int op_remove(struct patching *pt, const struct patch_op *op)
{
    struct patch_spot at;

    if (find_existing(pt, op->path, &at) < 0)
        return -1;
    if (!at.parent)
        return err_set(pt->e, ERR_INVALID, "the whole document cannot be removed");
    if (count_steps(pt, at.parent) < 0)
        return -1;
    unlink_child(pt, at.parent, at.node);
    return 0;
}

static int op_replace(struct patching *pt, const struct patch_op *op)
{
    struct json *take = json_copy(pt->arena, op->value);
    struct patch_spot at;

    if (find_existing(pt, op->path, &at) < 0)
        return -1;
    if (at.parent && count_steps(pt, at.parent) < 0)
        return -1;
    if (at.parent)
        replace_child(pt, at.parent, at.node, take);
    else
        put_root(pt, take);
    return 0;
}

static int op_move(struct patching *pt, const struct patch_op *op)
{
    struct patch_spot at;

    if (find_existing(pt, op->from, &at) < 0)
        return err_wrap(pt->e, "from");
    if (str_eq(op->path, op->from))
        return 0;
    if (!at.parent || (str_starts(op->path, op->from) && op->path.p[op->from.n] == '/'))
        return err_set(pt->e, ERR_INVALID, "a value cannot be moved into itself");
    if (count_steps(pt, at.parent) < 0)
        return -1;
    unlink_child(pt, at.parent, at.node);
    return patch_put(pt, op->path, at.node);
}

/* Bytes of text below 'j', about as printed; stops beyond 'limit'. */
static size_t text_bytes(const struct json *j, size_t limit)
{
    size_t n = j->key_n + (j->type == JSON_NUMBER || j->type == JSON_STRING ? j->n : 0) + 4;

    for (const struct json *c = json_first(j); c && n <= limit; c = c->next)
        n += text_bytes(c, limit - n);
    return n;
}

static int op_copy(struct patching *pt, const struct patch_op *op)
{
    struct patch_spot at;

    if (find_existing(pt, op->from, &at) < 0)
        return err_wrap(pt->e, "from");
    pt->copied += text_bytes(at.node, COPY_MAX - pt->copied);
    if (pt->copied > COPY_MAX)
        return err_set(pt->e, ERR_TOO_BIG, "the patch copies more than %d bytes", COPY_MAX);
    return patch_put(pt, op->path, json_copy(pt->arena, at.node));
}

static int op_test(struct patching *pt, const struct patch_op *op)
{
    struct patch_spot at;

    if (find_existing(pt, op->path, &at) < 0)
        return -1;
    return json_equal(at.node, op->value) ? 0 : err_set(pt->e, ERR_INVALID, "the value differs");
}

static const struct patch_op_kind {
    const char *name;
    bool has_value, has_from;
    int (*apply)(struct patching *pt, const struct patch_op *op);
} op_kinds[] = {
    { "add", true, false, op_add },   { "remove", false, false, op_remove }, { "replace", true, false, op_replace },
    { "move", false, true, op_move }, { "copy", false, true, op_copy },      { "test", true, false, op_test },
};

/* ---- the patch ---- */

/* A member that must be a well-formed pointer. */
static int read_pointer(const struct json *j, const char *name, struct str *ret, struct err *e)
{
    const struct json *m = json_get(j, name);

    if (!json_is(m, JSON_STRING))
        return err_set(e, ERR_INVALID, "\"%s\" is %s", name, m ? "not a string" : "missing");
    *ret = json_text(m, STR_NULL);
    if (pointer_check(*ret, e) < 0) {
        if (e)
            e->code = ERR_INVALID;
        return err_wrap(e, "%s", name);
    }
    return 0;
}

static int read_op(const struct json *j, const struct patch_op_kind **ret_kind, struct patch_op *ret, struct err *e)
{
    struct str name = json_member_text(j, "op");
    const struct patch_op_kind *kind = NULL;
    struct patch_op op = { .value = json_get(j, "value") };

    if (!json_is(j, JSON_OBJECT))
        return err_set(e, ERR_SYNTAX, "an operation must be an object");
    for (size_t i = 0; i < ARRAY_LEN(op_kinds); i++)
        if (str_is(name, op_kinds[i].name))
            kind = &op_kinds[i];
    if (!kind)
        return err_set(e, ERR_INVALID, "\"op\" must be add, remove, replace, move, copy or test");
    if (read_pointer(j, "path", &op.path, e) < 0 || (kind->has_from && read_pointer(j, "from", &op.from, e) < 0))
        return err_wrap(e, "%s", kind->name);
    if (kind->has_value && !op.value)
        return err_set(e, ERR_INVALID, "%s: \"value\" is missing", kind->name);
    *ret_kind = kind;
    *ret = op;
    return 0;
}

static int apply_op(struct patching *pt, const struct json *j)
{
    const struct patch_op_kind *kind = NULL;
    struct patch_op op;

    if (read_op(j, &kind, &op, pt->e) < 0)
        return -1;
    if (kind->apply(pt, &op) < 0)
        return err_wrap(pt->e, "%s \"%.*s\"", kind->name, (int)MIN_OF(op.path.n, 200), op.path.n ? op.path.p : "");
    return 0;
}

int json_patch(struct arena *a, const struct json *doc, const struct json *ops, struct json **ret, struct err *e)
{
    struct patching pt = { .arena = a, .e = e };
    size_t i = 0;
    int rc = 0;

    if (!json_is(ops, JSON_ARRAY))
        return err_set(e, ERR_SYNTAX, "a JSON patch must be a list of operations");
    if (ops->n > OPS_MAX)
        return err_set(e, ERR_TOO_BIG, "the patch has %u operations, more than the limit of %d", ops->n, OPS_MAX);
    pt.root = json_copy(a, doc);
    map_init(&pt.index.by_key, map_seed_default());
    JSON_FOREACH(op, ops) {
        rc = apply_op(&pt, op);
        if (rc < 0)
            break;
        i++;
    }
    map_done(&pt.index.by_key);
    if (rc < 0)
        return err_wrap(e, "operation %zu", i);
    if (json_depth(pt.root, JSON_DEPTH_DEFAULT) > JSON_DEPTH_DEFAULT) /* the parser could not read it back */
        return err_set(e, ERR_TOO_BIG, "the patched document is nested deeper than %d levels", JSON_DEPTH_DEFAULT);
    *ret = pt.root;
    return 0;
}

/* ---- merge patch ---- */

/* Members of 'doc' keep their place, new ones follow in the order of the patch. */
static struct json *merge_objects(struct arena *a, const struct json *doc, const struct json *patch)
{
    struct json *result = json_copy_bare(a, json_is(doc, JSON_OBJECT) ? doc : patch);
    autojson_members in_doc, in_patch;

    json_members_init(&in_doc, doc, patch->n);
    json_members_init(&in_patch, patch, json_count(in_doc.object) + patch->n);
    JSON_FOREACH(m, in_doc.object) {
        const struct json *change = json_members_get(&in_patch, json_key(m));

        if (!json_is(change, JSON_NULL))
            json_add(result, json_key(m), change ? json_merge_patch(a, m, change) : json_copy(a, m));
    }
    JSON_FOREACH(m, patch)
        if (m->type != JSON_NULL && !json_members_get(&in_doc, json_key(m)) &&
            json_members_get(&in_patch, json_key(m)) == m)
            json_add(result, json_key(m), json_merge_patch(a, NULL, m));
    return result;
}

struct json *json_merge_patch(struct arena *a, const struct json *doc, const struct json *patch)
{
    return json_is(patch, JSON_OBJECT) ? merge_objects(a, doc, patch) : json_copy(a, patch);
}
