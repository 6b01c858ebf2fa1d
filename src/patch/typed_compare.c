/* typed_compare.c - what differs between two values, as three sets of fields */
#include "base/util.h"
#include "json/members.h"
#include "patch/typed_internal.h"

/* What is known of one path and below it. The sets are NULL until something is in them. */
struct difference {
    struct fieldset_node added, modified, removed;
};

struct versions {
    const struct json *from, *to; /* NULL: it is not in this one */
};

static void compare_value(struct arena *a, const struct merge_type *type, struct versions v, struct difference *ret);

static void keep_node(struct arena *a, struct fieldset_node *parent, const struct path_element *at,
                      const struct fieldset_node *child)
{
    struct fieldset_node *node;

    if (!child->is_member && fieldset_is_empty(child->below))
        return;
    node = fieldset_add(a, fieldset_below(a, parent), at);
    node->is_member |= child->is_member;
    node->below = child->below;
}

static void compare_added(struct arena *a, const struct merge_type *type, const struct json *to,
                          struct fieldset_node *ret);

static void compare_child(struct arena *a, const struct merge_type *type, const struct path_element *at,
                          struct versions v, struct difference *ret)
{
    struct difference d = { 0 };

    compare_value(a, type, v, &d);
    keep_node(a, &ret->added, at, &d.added);
    keep_node(a, &ret->modified, at, &d.modified);
    keep_node(a, &ret->removed, at, &d.removed);
}

static void compare_maps(struct arena *a, const struct merge_type *type, struct versions v, struct difference *ret)
{
    autojson_members in_from, in_to;
    struct merge_type child;
    bool is_named;

    json_members_init(&in_from, v.from, json_count(v.to));
    json_members_init(&in_to, v.to, json_count(v.from));
    JSON_FOREACH(m, in_from.object) {
        struct path_element at = { .kind = PATH_FIELD, .name = json_key(m) };

        child = merge_type_member(type, json_key(m), &is_named);
        compare_child(a, &child, &at, (struct versions){ m, json_members_get(&in_to, json_key(m)) }, ret);
    }
    JSON_FOREACH(m, in_to.object) {
        struct path_element at = { .kind = PATH_FIELD, .name = json_key(m) };

        child = merge_type_member(type, json_key(m), &is_named);
        if (!json_members_get(&in_from, json_key(m)))
            compare_child(a, &child, &at, (struct versions){ NULL, m }, ret);
    }
}

/* ---- lists ---- */

static bool same_items(const struct item *x, const struct item *y)
{
    for (; x && y; x = x->next, y = y->next)
        if (!json_equal(x->node, y->node))
            return false;
    return !x && !y;
}

static void typed_compare_mark(struct arena *a, struct fieldset_node *parent, const struct path_element *at)
{
    fieldset_add(a, fieldset_below(a, parent), at)->is_member = true;
}

/* Items of one element; either side may have none, one, or (an unchecked list) several. */
static void compare_items(struct arena *a, const struct merge_type *item_type, const struct item *old,
                          const struct item *new, struct difference *ret)
{
    const struct path_element *at = old ? &old->at : &new->at;
    size_t n_old = old ? old->n_same : 0, n_new = new ? new->n_same : 0;

    if (n_old <= 1 && n_new <= 1) {
        compare_child(a, item_type, at, (struct versions){ old ? old->node : NULL, new ? new->node : NULL }, ret);
    } else if (n_old > 1 && n_new > 1) {
        if (!same_items(old, new))
            typed_compare_mark(a, &ret->modified, at);
    } else if (n_old > 1) {
        if (new)
            compare_child(a, item_type, at, (struct versions){ NULL, new->node }, ret);
        typed_compare_mark(a, &ret->removed, at);
    } else {
        if (old)
            compare_child(a, item_type, at, (struct versions){ old->node, NULL }, ret);
        typed_compare_mark(a, &ret->added, at);
    }
}

static void compare_lists(struct arena *a, const struct merge_type *type, struct versions v, struct difference *ret)
{
    struct merge_type item_type = merge_type_item(type);
    struct items old, new;

    items_read(a, type, v.from, &old);
    items_read(a, type, v.to, &new);
    for (size_t i = 0; i < old.n_firsts; i++)
        compare_items(a, &item_type, old.firsts[i], items_find(&new, &old.firsts[i]->at), ret);
    for (size_t i = 0; i < new.n_firsts; i++)
        if (!items_find(&old, &new.firsts[i]->at))
            compare_items(a, &item_type, NULL, new.firsts[i], ret);
}

/* ---- all is new ---- */

static void add_map(struct arena *a, const struct merge_type *type, const struct json *to, struct fieldset *ret)
{
    bool is_named;

    JSON_FOREACH(m, to) {
        struct merge_type child = merge_type_member(type, json_key(m), &is_named);
        struct path_element at = { .kind = PATH_FIELD, .name = json_key(m) };

        compare_added(a, &child, m, fieldset_add(a, ret, &at));
    }
}

static void typed_compare_add_list(struct arena *a, const struct merge_type *type, const struct json *to,
                                   struct fieldset *ret)
{
    struct merge_type item_type = merge_type_item(type);
    struct items new;

    items_read(a, type, to, &new);
    for (size_t i = 0; i < new.n_firsts; i++) {
        struct fieldset_node *node = fieldset_add(a, ret, &new.firsts[i]->at);

        node->is_member = true;
        if (new.firsts[i]->n_same == 1)
            compare_added(a, &item_type, new.firsts[i]->node, node);
    }
}

/* Nothing was there before: every path is added, whatever it leads to. Most fields of most writes are of objects that are
 * just made. */
static void compare_added(struct arena *a, const struct merge_type *type, const struct json *to,
                          struct fieldset_node *ret)
{
    struct merge_choice c = merge_choose(type, to);

    ret->is_member = true;
    if (c.as == AS_MAP && !c.atom.is_atomic_map && json_is(to, JSON_OBJECT) && to->n)
        add_map(a, type, to, fieldset_below(a, ret));
    else if (c.as == AS_LIST && !c.atom.is_atomic_list && json_is(to, JSON_ARRAY) && to->n)
        typed_compare_add_list(a, type, to, fieldset_below(a, ret));
}

/* ---- values ---- */

/* True: it was compared as a whole. */
static bool compare_as(struct arena *a, const struct merge_type *type, struct merge_choice c, struct versions v,
                       struct difference *ret)
{
    bool is_map = c.as == AS_MAP && !c.atom.is_atomic_map, is_list = c.as == AS_LIST && !c.atom.is_atomic_list;
    enum json_type want = is_map ? JSON_OBJECT : JSON_ARRAY;

    if ((is_map || is_list) && ((json_is(v.from, want) && v.from->n) || (json_is(v.to, want) && v.to->n))) {
        if (is_map)
            compare_maps(a, type, v, ret);
        else
            compare_lists(a, type, v, ret);
        return false;
    }
    if (c.as == AS_NOTHING)
        return false;
    if (!v.to)
        ret->removed.is_member = true;
    else if (!json_equal(v.from, v.to))
        ret->modified.is_member = true;
    return true;
}

static void compare_value(struct arena *a, const struct merge_type *type, struct versions v, struct difference *ret)
{
    struct merge_choice old, new;
    bool is_same, is_leaf;

    if (!v.from) {
        compare_added(a, type, v.to, &ret->added);
        return;
    }
    old = merge_choose(type, v.from);
    new = merge_choose(type, v.to);
    is_same = old.atom.is_map == new.atom.is_map &&old.atom.is_list == new.atom.is_list &&old.atom.is_scalar ==
              new.atom.is_scalar;
    if (v.to && !is_same) /* it became another kind of thing: both count */
        (void)compare_as(a, type, old, v, ret);
    is_leaf = compare_as(a, type, v.to ? new : old, v, ret);
    if (!is_leaf && !v.to)
        ret->removed.is_member = true;
}

void typed_compare(struct arena *a, const struct merge_type *type, const struct json *from, const struct json *to,
                   struct comparison *ret)
{
    struct difference d = { 0 };

    compare_value(a, type, (struct versions){ from, to }, &d);
    ret->added = *fieldset_below(a, &d.added);
    ret->modified = *fieldset_below(a, &d.modified);
    ret->removed = *fieldset_below(a, &d.removed);
}
