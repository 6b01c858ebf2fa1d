/* typed.c - fields of a value, taking fields out, and what the other operations share */
#include "base/util.h"
#include "json/members.h"
#include "patch/typed_internal.h"

#include <stdlib.h>

/* ---- which kind ---- */

static struct merge_atom typed_narrow(struct merge_atom atom, const struct json *value)
{
    if (!value || value->type == JSON_NULL)
        return atom;
    if (value->type == JSON_OBJECT ? atom.is_map : value->type == JSON_ARRAY ? atom.is_list : atom.is_scalar) {
        atom.is_map = value->type == JSON_OBJECT;
        atom.is_list = value->type == JSON_ARRAY;
        atom.is_scalar = !atom.is_map && !atom.is_list;
    }
    return atom;
}

struct merge_choice merge_choose(const struct merge_type *t, const struct json *value)
{
    struct merge_atom atom = typed_narrow(merge_atom_of(t), value);

    return (struct merge_choice){ atom, atom.is_map      ? AS_MAP
                                        : atom.is_scalar ? AS_SCALAR
                                        : atom.is_list   ? AS_LIST
                                                         : AS_NOTHING };
}

/* ---- items ---- */

int item_element(struct arena *a, const struct merge_type *list, const struct json *item, struct path_element *ret,
                 struct err *e)
{
    struct json *keys = NULL;

    if (merge_atom_of(list).is_set) {
        if (item->type == JSON_OBJECT)
            return err_set(e, ERR_INVALID, "associative list without keys has an element that's a map type");
        if (item->type == JSON_ARRAY)
            return err_set(e, ERR_INVALID, "not supported: associative list with lists as elements");
        if (item->type == JSON_NULL)
            return err_set(e, ERR_INVALID, "associative list without keys has an element that's an explicit null");
        *ret = (struct path_element){ .kind = PATH_VALUE, .value = item };
        return 0;
    }
    if (merge_item_keys(a, list, item, &keys, e) < 0)
        return -1;
    *ret = (struct path_element){ .kind = PATH_KEYS, .value = keys };
    return 0;
}

static int item_cmp(const void *x, const void *y)
{
    const struct item *a = *(struct item *const *)x, *b = *(struct item *const *)y;
    int c = path_element_cmp(&a->at, &b->at);

    return c ? c : (a > b) - (a < b); /* the first of equal ones is the first in the list */
}

void items_read(struct arena *a, const struct merge_type *type, const struct json *list, struct items *ret)
{
    struct item **sorted, *previous = NULL;
    size_t n = json_is(list, JSON_ARRAY) ? list->n : 0;

    *ret = (struct items){ .v = arena_array(a, struct item, n), .firsts = arena_array(a, struct item *, n) };
    JSON_FOREACH(node, n ? list : NULL) {
        struct item *it = &ret->v[ret->n];

        it->node = node;
        if (item_element(a, type, node, &it->at, NULL) == 0)
            ret->n++;
    }
    sorted = ret->firsts;
    for (size_t i = 0; i < ret->n; i++)
        sorted[i] = &ret->v[i];
    qsort(sorted, ret->n, sizeof(struct item *), item_cmp);
    for (size_t i = 0; i < ret->n; i++) { /* in place: what is kept never overtakes what is read */
        struct item *it = sorted[i], *last = ret->n_firsts ? ret->firsts[ret->n_firsts - 1] : NULL;

        it->first = last && path_element_cmp(&last->at, &it->at) == 0 ? last : it;
        it->first->n_same++;
        if (it->first != it)
            previous->next = it;
        previous = it;
        if (it->first == it)
            ret->firsts[ret->n_firsts++] = it;
    }
}

struct item *items_find(const struct items *items, const struct path_element *at)
{
    size_t lo = 0, hi = items->n_firsts;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int c = path_element_cmp(&items->firsts[mid]->at, at);

        if (c == 0)
            return items->firsts[mid];
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

/* ---- fields ---- */

static void put_fields(struct arena *a, const struct merge_type *type, const struct json *j,
                       struct fieldset_node *node);

static void put_item_fields(struct arena *a, const struct merge_type *type, const struct json *list,
                            struct fieldset_node *node)
{
    struct fieldset *set = fieldset_below(a, node);
    struct merge_type item_type = merge_type_item(type);
    struct items items;

    items_read(a, type, list, &items);
    for (size_t i = 0; i < items.n_firsts; i++) {
        struct fieldset_node *below = fieldset_add(a, set, &items.firsts[i]->at);

        if (items.firsts[i]->n_same == 1) /* of doubles only their being there is known */
            put_fields(a, &item_type, items.firsts[i]->node, below);
        below->is_member = true;
    }
}

static void put_member_fields(struct arena *a, const struct merge_type *type, const struct json *map,
                              struct fieldset_node *node)
{
    struct fieldset *set = fieldset_below(a, node);

    JSON_FOREACH(m, map) {
        struct path_element at = { .kind = PATH_FIELD, .name = json_key(m) };
        struct fieldset_node *below = fieldset_add(a, set, &at);
        bool is_named;
        struct merge_type child = merge_type_member(type, json_key(m), &is_named);

        put_fields(a, &child, m, below);
        below->is_member |= !is_named || m->type == JSON_NULL || (m->type == JSON_OBJECT && !m->n);
    }
}

static void put_fields(struct arena *a, const struct merge_type *type, const struct json *j, struct fieldset_node *node)
{
    struct merge_choice c = merge_choose(type, j);
    bool is_leaf = c.as == AS_SCALAR || (c.as == AS_MAP && c.atom.is_atomic_map) ||
                   (c.as == AS_LIST && c.atom.is_atomic_list);

    if (is_leaf)
        node->is_member = true;
    else if (c.as == AS_LIST && j->type == JSON_ARRAY)
        put_item_fields(a, type, j, node);
    else if (c.as == AS_MAP && j->type == JSON_OBJECT)
        put_member_fields(a, type, j, node);
}

struct fieldset *typed_fields(struct arena *a, const struct merge_type *type, const struct json *j)
{
    struct fieldset_node root = { 0 };

    if (j)
        put_fields(a, type, j, &root);
    return fieldset_below(a, &root);
}

/* ---- removal ---- */

static struct json *remove_items(struct arena *a, const struct merge_type *type, const struct json *list,
                                 struct fieldset *gone)
{
    struct merge_type item_type = merge_type_item(type);
    struct json *out = json_array(a);

    JSON_FOREACH(item, list) {
        struct path_element at;
        struct fieldset_node *node = item_element(a, type, item, &at, NULL) == 0 ? fieldset_find(gone, &at) : NULL;

        if (node && node->is_member)
            continue;
        json_push(out, node && !fieldset_is_empty(node->below) ? typed_remove(a, &item_type, item, node->below)
                                                               : json_copy(a, item));
    }
    return out->n ? out : json_null(a);
}

static struct json *remove_members(struct arena *a, const struct merge_type *type, const struct json *map,
                                   struct fieldset *gone)
{
    struct json *out = json_object(a);

    JSON_FOREACH(m, map) {
        struct path_element at = { .kind = PATH_FIELD, .name = json_key(m) };
        struct fieldset_node *node = fieldset_find(gone, &at);
        bool is_named;
        struct merge_type child = merge_type_member(type, json_key(m), &is_named);

        if (node && node->is_member)
            continue;
        json_add(out, json_key(m),
                 node && !fieldset_is_empty(node->below) ? typed_remove(a, &child, m, node->below) : json_copy(a, m));
    }
    return out->n ? out : json_null(a);
}

struct json *typed_remove(struct arena *a, const struct merge_type *type, const struct json *j, struct fieldset *gone)
{
    struct merge_choice c = merge_choose(type, j);

    if (c.as == AS_SCALAR)
        return json_copy(a, j);
    if (c.as == AS_MAP && j->type == JSON_OBJECT && !c.atom.is_atomic_map)
        return remove_members(a, type, j, gone);
    if (c.as == AS_LIST && j->type == JSON_ARRAY && !c.atom.is_atomic_list)
        return remove_items(a, type, j, gone);
    return json_null(a);
}

/* ---- parents ---- */

struct fieldset *typed_with_parents(struct arena *a, const struct merge_type *type, struct fieldset *s)
{
    struct fieldset *out = arena_new(a, struct fieldset);

    for (size_t i = 0; s && i < s->n; i++) {
        struct fieldset_node *node = fieldset_add(a, out, &s->v[i].at);
        bool is_named = false;
        struct merge_type child = { 0 };

        if (node->at.kind == PATH_FIELD && merge_atom_of(type).is_map && type->source != MERGE_NONE)
            child = merge_type_member(type, node->at.name, &is_named);
        else if (node->at.kind == PATH_KEYS && merge_atom_of(type).is_list)
            child = merge_type_item(type);
        node->is_member = s->v[i].is_member || (is_named && !fieldset_is_empty(s->v[i].below));
        node->below = s->v[i].below ? typed_with_parents(a, &child, s->v[i].below) : NULL;
    }
    return out;
}
