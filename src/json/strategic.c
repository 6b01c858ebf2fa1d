/* strategic.c - Kubernetes strategic merge patch
 *
 * Objects merge member by member and null deletes, as in a merge patch. Lists are replaced, unless the schema says that
 * they merge: lists of objects by a key, lists of scalars as a set. Additions of the patch are merged onto an empty
 * value, so that directives and nulls never get into a result.
 *
 * Order of a merged list: the items the patch names stand in the order of the patch (or of $setElementOrder). The
 * others keep their order and slip in before the first named item that they stood before; a new item never waits for
 * them. So new items come first when nothing else is named.
 */
#include "json/patch.h"

#include "base/util.h"
#include "json/json_internal.h"
#include "json/problem.h"
#include "json/schema.h"

#define PATCH_KEY    "$patch"
#define RETAIN_KEY   "$retainKeys"
#define ORDER_PREFIX "$setElementOrder/"
#define DROP_PREFIX  "$deleteFromPrimitiveList/"

/* Several items of one patch list may have the same key (a port for TCP and UDP). Each is merged into the same item,
 * which copies it; more than this many is an attack. */
enum { REPEATS_MAX = 64 };

struct merging {
    struct arena *arena;
    struct err *e;
};

/* What an object is: its members are the fields of 'schema', or (a map) each member is an object of 'schema'. */
struct strategic_kind {
    const struct schema *schema;
    bool is_map;
};

enum directive { DIRECTIVE_NONE, DIRECTIVE_MERGE, DIRECTIVE_REPLACE, DIRECTIVE_DELETE, DIRECTIVE_MAX };

static const char *const directive_names[DIRECTIVE_MAX] = {
    [DIRECTIVE_NONE] = "",
    [DIRECTIVE_MERGE] = "merge",
    [DIRECTIVE_REPLACE] = "replace",
    [DIRECTIVE_DELETE] = "delete",
};

static int merge_value(struct merging *mg, const struct place *at, struct strategic_kind kind, const struct json *doc,
                       struct json **ret);

/* ---- small questions ---- */

static int strategic_fail(struct merging *mg, const struct place *at, const char *what)
{
    struct str path = place_path(mg->arena, at);

    return err_set(mg->e, ERR_INVALID, "%.*s%s%s", (int)MIN_OF(path.n, 300), path.n ? path.p : "", path.n ? ": " : "",
                   what);
}

static int directive_of(struct merging *mg, const struct place *at, enum directive *ret)
{
    const struct json *m = json_get(at->node, PATCH_KEY);

    *ret = DIRECTIVE_NONE;
    if (!m)
        return 0;
    for (int d = DIRECTIVE_MERGE; d < DIRECTIVE_MAX; d++)
        if (str_is(json_text(m, STR_NULL), directive_names[d])) {
            *ret = (enum directive)d;
            return 0;
        }
    return strategic_fail(mg, at, PATCH_KEY " must be \"merge\", \"replace\" or \"delete\"");
}

/* Members that speak about the merge and are no data. Other words with '$' mean nothing to us: where the schema knows
 * the fields they cannot be one, elsewhere they may be data. */
static bool is_directive(struct strategic_kind kind, struct str key)
{
    if (key.n == 0 || key.p[0] != '$')
        return false;
    return (kind.schema && !kind.is_map) || str_is(key, PATCH_KEY) || str_is(key, RETAIN_KEY) ||
           str_starts(key, STR(ORDER_PREFIX)) || str_starts(key, STR(DROP_PREFIX));
}

/* ---- items of a list and their groups ---- */

/* Everything that is said about a list becomes one row of items; those with equal keys form a group. */
enum strategic_role { FROM_DOC, FROM_PATCH, FROM_ORDER, FROM_DROP };

struct group {
    bool is_gone;                /* the patch deletes it */
    size_t rank;                 /* from 1: its place in the wanted order; 0: the patch does not name it */
    struct strategic_item *base; /* what the group's items of the patch are merged into */
};

struct strategic_item {
    enum strategic_role role;
    const struct json *node;
    const struct json *key; /* NULL: equal to nothing */
    size_t number;          /* in its own list, for messages */
    struct group *group;
    struct json *result; /* merged; NULL: as in the document */
};

struct strategic_list_merge {
    const char *merge_key; /* NULL: a set of scalars */
    struct strategic_kind item_kind;
    const struct json *doc, *patch, *order, *drop; /* lists; each may be NULL */
    bool replaces;                                 /* the patch has an item that says so */
    struct strategic_item *items;
    size_t n;
};

/* Any total order in which equal keys are neighbours. Numbers are equal by value as far as they are integers. */
static int strategic_key_cmp(const struct json *a, const struct json *b)
{
    int64_t x = 0, y = 0;
    bool has_x, has_y;

    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    if (a->type == JSON_BOOL)
        return (a->n > b->n) - (a->n < b->n);
    has_x = json_to_i64(a, &x) == 0, has_y = json_to_i64(b, &y) == 0;
    if (has_x != has_y)
        return has_x ? -1 : 1;
    if (has_x)
        return (x > y) - (x < y);
    return str_cmp((struct str){ a->text, a->n }, (struct str){ b->text, b->n });
}

static int strategic_by_key(const void *x, const void *y)
{
    const struct strategic_item *a = *(struct strategic_item *const *)x, *b = *(struct strategic_item *const *)y;

    return a->key && b->key ? strategic_key_cmp(a->key, b->key) : !b->key - !a->key;
}

/* Sorted, so that two long lists do not cost their product. */
static void group_items(struct arena *a, struct strategic_list_merge *lm)
{
    struct strategic_item **sorted = arena_array(a, struct strategic_item *, lm->n + 1);
    struct group *groups = arena_array(a, struct group, lm->n + 1);

    for (size_t i = 0; i < lm->n; i++)
        sorted[i] = &lm->items[i];
    qsort(sorted, lm->n, sizeof(*sorted), strategic_by_key);
    for (size_t i = 0; i < lm->n; i++) {
        bool is_same = i && sorted[i]->key && sorted[i - 1]->key &&
                       strategic_key_cmp(sorted[i]->key, sorted[i - 1]->key) == 0;

        sorted[i]->group = is_same ? sorted[i - 1]->group : &groups[i];
    }
}

/* ---- reading what the patch says about a list ---- */

static void strategic_add_item(struct strategic_list_merge *lm, enum strategic_role role, const struct json *node,
                               size_t number)
{
    const struct json *key = lm->merge_key && role != FROM_DROP ? json_get(node, lm->merge_key) : node;
    bool is_scalar = key && (key->type == JSON_STRING || key->type == JSON_NUMBER || key->type == JSON_BOOL);

    lm->items[lm->n++] = (struct strategic_item){ role, node, is_scalar ? key : NULL, number, NULL, NULL };
}

/* An item of the patch must say which item it means. */
static int add_checked(struct merging *mg, struct strategic_list_merge *lm, enum strategic_role role,
                       const struct place *at)
{
    char what[128];

    strategic_add_item(lm, role, at->node, at->index);
    if (lm->items[lm->n - 1].key)
        return 0;
    if (!lm->merge_key)
        return strategic_fail(mg, at, "an item of this list must be text or a number");
    (void)snprintf(what, sizeof(what), "an item of this list needs its merge key \"%s\"", lm->merge_key);
    return strategic_fail(mg, at, what);
}

/* "replace" makes an item a word about the whole list: it is no item itself, and the document's items go. */
static int read_patch_item(struct merging *mg, struct strategic_list_merge *lm, const struct place *at)
{
    enum directive directive;
    const struct json *key;

    if (directive_of(mg, at, &directive) < 0)
        return -1;
    if (directive == DIRECTIVE_REPLACE) {
        lm->replaces = true;
        return 0;
    }
    if (directive != DIRECTIVE_DELETE)
        return add_checked(mg, lm, FROM_PATCH, at);
    if (add_checked(mg, lm, FROM_PATCH, at) < 0)
        return -1;
    key = lm->items[--lm->n].key;
    strategic_add_item(lm, FROM_DROP, key, at->index);
    return 0;
}

static int read_items(struct merging *mg, struct strategic_list_merge *lm, const struct place *at)
{
    size_t i = 0, room = json_count(lm->doc) + json_count(lm->patch) + json_count(lm->order) + json_count(lm->drop);

    lm->items = arena_array(mg->arena, struct strategic_item, room + 1);
    JSON_FOREACH(node, lm->doc)
        strategic_add_item(lm, FROM_DOC, node, i++);
    i = 0;
    JSON_FOREACH(node, lm->patch) {
        struct place below_at = place_item(at, node, i++);

        if (read_patch_item(mg, lm, &below_at) < 0)
            return -1;
    }
    i = 0;
    JSON_FOREACH(node, lm->order) {
        struct place below_at = place_item(at, node, i++);

        if (add_checked(mg, lm, FROM_ORDER, &below_at) < 0)
            return err_wrap(mg->e, ORDER_PREFIX);
    }
    JSON_FOREACH(node, lm->drop)
        strategic_add_item(lm, FROM_DROP, node, 0);
    return 0;
}

/* ---- merging lists ---- */

static int merge_items(struct merging *mg, struct strategic_list_merge *lm, const struct place *up)
{
    size_t repeats = 0;

    for (struct strategic_item *it = lm->items; it < lm->items + lm->n; it++) {
        struct place at = place_item(up, it->node, it->number);
        struct strategic_item *base = it->group->base;

        if (it->role == FROM_DOC && !base && !lm->replaces && !it->group->is_gone)
            it->group->base = it;
        if (it->role != FROM_PATCH)
            continue;
        if (!base || lm->replaces) /* what replaces a list is taken as it is */
            base = it->group->base = it;
        else if (!lm->merge_key)
            continue; /* a set has it already */
        if (base != it && base->result && ++repeats > REPEATS_MAX)
            return strategic_fail(mg, &at, "too many items of the patch have the same key");
        if (merge_value(mg, &at, lm->item_kind,
                        base == it     ? NULL
                        : base->result ? base->result
                                       : base->node,
                        &base->result) < 0)
            return -1;
    }
    return 0;
}

/* The place of each group in the wanted order: that of $setElementOrder, else that of the patch. */
static int rank_groups(struct merging *mg, struct strategic_list_merge *lm, const struct place *up)
{
    size_t rank = 0;

    for (struct strategic_item *it = lm->items; it < lm->items + lm->n; it++)
        if (it->role == (lm->order ? FROM_ORDER : FROM_PATCH) && !it->group->rank)
            it->group->rank = ++rank;
    for (struct strategic_item *it = lm->items; it < lm->items + lm->n; it++) {
        struct place at = place_item(up, it->node, it->number);

        if (it->role == FROM_PATCH && !it->group->rank)
            return strategic_fail(mg, &at, "this item is missing in " ORDER_PREFIX);
    }
    return 0;
}

static bool strategic_is_kept(const struct strategic_list_merge *lm, const struct strategic_item *it)
{
    if (it->role == FROM_DOC)
        return !lm->replaces && !it->group->is_gone;
    return it->role == FROM_PATCH && (lm->replaces || it->group->base == it);
}

static int by_rank(const void *x, const void *y)
{
    const struct strategic_item *a = *(struct strategic_item *const *)x, *b = *(struct strategic_item *const *)y;

    if (a->group->rank != b->group->rank)
        return a->group->rank < b->group->rank ? -1 : 1;
    return (a > b) - (a < b); /* their order in the row */
}

/* The two lines of items, named and others, become one; see the top of the file. */
static void order_items(struct arena *a, const struct strategic_list_merge *lm, struct json *result)
{
    struct strategic_item **named = arena_array(a, struct strategic_item *, lm->n + 1),
                          **other = arena_array(a, struct strategic_item *, lm->n + 1);
    size_t n_named = 0, n_other = 0, i = 0, k = 0;

    for (struct strategic_item *it = lm->items; it < lm->items + lm->n; it++) {
        if (strategic_is_kept(lm, it) && it->group->rank)
            named[n_named++] = it;
        else if (strategic_is_kept(lm, it))
            other[n_other++] = it;
    }
    qsort(named, n_named, sizeof(*named), by_rank);
    while (i < n_named || k < n_other) {
        bool is_other_next = i == n_named || (k < n_other && named[i]->role == FROM_DOC && other[k] < named[i]);
        const struct strategic_item *next = is_other_next ? other[k++] : named[i++];

        json_push(result, next->result ? next->result : json_copy(a, next->node));
    }
}

static int merge_list(struct merging *mg, struct strategic_list_merge *lm, const struct place *at, struct json **ret)
{
    struct json *result = json_copy_bare(mg->arena, lm->doc ? lm->doc : lm->patch);

    if (read_items(mg, lm, at) < 0)
        return -1;
    group_items(mg->arena, lm);
    for (struct strategic_item *it = lm->items; it < lm->items + lm->n; it++)
        it->group->is_gone |= it->role == FROM_DROP;
    if (merge_items(mg, lm, at) < 0 || rank_groups(mg, lm, at) < 0)
        return -1;
    order_items(mg->arena, lm, result);
    *ret = result;
    return 0;
}

/* A list that does not merge. Items are freed of directives; one that is nothing but a directive is left out. */
static int replace_list(struct merging *mg, const struct place *up, struct strategic_kind item_kind, struct json **ret)
{
    struct json *result = json_copy_bare(mg->arena, up->node);
    size_t i = 0;

    JSON_FOREACH(node, up->node) {
        struct place at = place_item(up, node, i++);
        enum directive directive;
        struct json *item;

        if (directive_of(mg, &at, &directive) < 0)
            return -1;
        if (directive == DIRECTIVE_DELETE || (directive != DIRECTIVE_NONE && node->n == 1))
            continue;
        if (merge_value(mg, &at, item_kind, NULL, &item) < 0)
            return -1;
        json_push(result, item);
    }
    *ret = result;
    return 0;
}

/* ---- merging objects ---- */

/* All that document and patch say about one member. */
struct member {
    struct str key;
    const struct json *doc;                  /* NULL: not there */
    const struct json *patch, *order, *drop; /* each may be NULL */
    bool is_in_new;                          /* the object it is a member of is not in the document */
};

static int merge_list_member(struct merging *mg, const struct place *at, const struct field *f, const struct member *m,
                             struct json **ret)
{
    bool is_keyed = f && f->merge_key, is_set = f && (f->flags & FIELD_MERGE) && !is_keyed;
    struct strategic_list_merge lm = {
        .merge_key = is_keyed ? f->merge_key : NULL,
        .item_kind = { f ? f->sub : NULL, false },
        .doc = json_is(m->doc, JSON_ARRAY) ? m->doc : NULL,
        .patch = m->patch,
        .order = is_keyed || is_set ? m->order : NULL,
        .drop = m->drop,
    };

    /* The new list wins over what was to be deleted from the old one; where there is no old one it is taken as it is,
     * items of the same key and all, as the API server does. */
    if (m->patch && ((!is_keyed && !is_set) || (!lm.doc && (!lm.order || m->is_in_new))))
        return replace_list(mg, at, lm.item_kind, ret);
    return merge_list(mg, &lm, at, ret);
}

static int merge_member(struct merging *mg, const struct place *up, struct strategic_kind kind, const struct member *m,
                        struct json **ret)
{
    const struct field *f = kind.schema && !kind.is_map ? schema_field(kind.schema, m->key) : NULL;
    struct strategic_kind child = { kind.is_map ? kind.schema : f ? f->sub : NULL, f && f->shape == SHAPE_MAP };
    struct place at = { up, m->patch ? m->patch : m->doc, m->key, 0 };

    if (!m->patch && !m->order && !m->drop) {
        *ret = json_copy(mg->arena, m->doc);
        return 0;
    }
    if ((m->order && m->order->type != JSON_ARRAY) || (m->drop && m->drop->type != JSON_ARRAY))
        return strategic_fail(mg, &at, ORDER_PREFIX " and " DROP_PREFIX " must be lists");
    if (json_is(at.node, JSON_ARRAY))
        return merge_list_member(mg, &at, f && f->shape == SHAPE_LIST ? f : NULL, m, ret);
    if (m->patch)
        return merge_value(mg, &at, child, f && f->flags & FIELD_REPLACE ? NULL : m->doc, ret);
    *ret = json_copy(mg->arena, m->doc);
    return 0;
}

/* Members of the patch by name, and whether there are any directives to look for. */
struct patch_members {
    struct json_members members;
    bool has_directives;
};

static struct member strategic_member_of(struct arena *a, const struct patch_members *pm, struct str key,
                                         const struct json *doc)
{
    struct member m = { .key = key, .doc = doc, .patch = json_members_get(&pm->members, key) };

    if (pm->has_directives) {
        m.order = json_members_get(&pm->members, arena_cat(a, STR(ORDER_PREFIX), key));
        m.drop = json_members_get(&pm->members, arena_cat(a, STR(DROP_PREFIX), key));
    }
    return m;
}

/* $retainKeys as an object whose members are the names; NULL if there is none. What the patch sets must be named. */
static int read_retain(struct merging *mg, const struct place *at, struct strategic_kind kind, struct json **ret)
{
    const struct json *list = json_get(at->node, RETAIN_KEY);
    autojson_members names = { 0 };
    struct json *set = json_object(mg->arena);

    *ret = NULL;
    if (!list)
        return 0;
    JSON_FOREACH(name, list)
        json_add(set, json_text(name, STR_NULL), json_null(mg->arena));
    if (list->type != JSON_ARRAY)
        return err_set(mg->e, ERR_SYNTAX, "invalid patch format of retainKeys: it must be a list of names");
    json_members_init(&names, set, json_count(at->node));
    JSON_FOREACH(m, at->node) {
        struct place member_at = { at, m, json_key(m), 0 };

        if (m->type != JSON_NULL && !is_directive(kind, json_key(m)) && !json_members_get(&names, json_key(m)))
            return strategic_fail(mg, &member_at, "the patch sets this member, but " RETAIN_KEY " does not name it");
    }
    *ret = set;
    return 0;
}

struct object_merge {
    struct merging *mg;
    const struct place *at;
    struct strategic_kind kind;
    const struct json *doc; /* NULL: there is none, or it is replaced */
    const struct patch_members *members;
    struct json *result;
};

static int merge_doc_members(const struct object_merge *o)
{
    autojson_members names = { 0 };
    struct json *retain, *value;

    if (read_retain(o->mg, o->at, o->kind, &retain) < 0)
        return -1;
    json_members_init(&names, retain, json_count(o->doc));
    JSON_FOREACH(d, o->doc) {
        struct member m = strategic_member_of(o->mg->arena, o->members, json_key(d), d);

        if (json_is(m.patch, JSON_NULL) || (retain && !json_members_get(&names, m.key)))
            continue;
        if (merge_member(o->mg, o->at, o->kind, &m, &value) < 0)
            return -1;
        json_add(o->result, m.key, value);
    }
    return 0;
}

static int merge_new_members(const struct object_merge *o)
{
    autojson_members in_doc = { 0 };
    struct json *value;

    json_members_init(&in_doc, o->doc, json_count(o->at->node));
    JSON_FOREACH(p, o->at->node) {
        struct member m = strategic_member_of(o->mg->arena, o->members, json_key(p), NULL);

        m.is_in_new = !o->doc;
        if (p->type == JSON_NULL || m.patch != p || is_directive(o->kind, m.key) || json_members_get(&in_doc, m.key))
            continue;
        if (merge_member(o->mg, o->at, o->kind, &m, &value) < 0)
            return -1;
        json_add(o->result, m.key, value);
    }
    return 0;
}

/* 'at->node' is the patch. Members of the document keep their place, new ones follow in the order of the patch. */
static int merge_object(struct merging *mg, const struct place *at, struct strategic_kind kind, const struct json *doc,
                        struct json **ret)
{
    struct json *result = json_copy_bare(mg->arena, json_is(doc, JSON_OBJECT) ? doc : at->node);
    struct patch_members pm = { 0 };
    struct object_merge o = { .mg = mg, .at = at, .kind = kind, .members = &pm, .result = result };
    enum directive directive;
    int failed;

    if (directive_of(mg, at, &directive) < 0)
        return -1;
    *ret = result;
    if (directive == DIRECTIVE_DELETE)
        return 0;
    if (directive == DIRECTIVE_REPLACE || !json_is(doc, JSON_OBJECT))
        doc = NULL;
    JSON_FOREACH(m, at->node)
        pm.has_directives |= m->key_n && m->key[0] == '$';
    json_members_init(&pm.members, at->node, 3 * json_count(doc) + json_count(at->node));
    o.doc = doc;
    failed = merge_doc_members(&o) < 0 || merge_new_members(&o) < 0;
    json_members_done(&pm.members);
    return failed ? -1 : 0;
}

/* 'at->node' is the patch; 'doc' may be NULL. */
static int merge_value(struct merging *mg, const struct place *at, struct strategic_kind kind, const struct json *doc,
                       struct json **ret)
{
    if (at->node->type == JSON_OBJECT)
        return merge_object(mg, at, kind, doc, ret);
    if (at->node->type == JSON_ARRAY) /* a list within a list */
        return replace_list(mg, at, (struct strategic_kind){ 0 }, ret);
    *ret = json_copy(mg->arena, at->node);
    return 0;
}

struct json *json_strategic_patch(struct arena *a, const struct schema *schema, const struct json *doc,
                                  const struct json *patch, struct err *e)
{
    struct merging mg = { a, e };
    struct place root = { .node = patch };
    struct json *result;

    if (!json_is(patch, JSON_OBJECT)) {
        err_set(e, ERR_SYNTAX, "a strategic merge patch must be an object");
        return NULL;
    }
    return merge_object(&mg, &root, (struct strategic_kind){ schema, false }, doc, &result) < 0 ? NULL : result;
}
