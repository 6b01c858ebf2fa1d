/* fieldset.c - sets of fields: order, algebra, FieldsV1 */
#include "patch/fieldset.h"

#include "base/util.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- order ---- */

/* Numbers come before text, text before truth values, the rest last. */
static int fieldset_rank_of(const struct json *j)
{
    static const int ranks[JSON_TYPE_MAX] = {
        [JSON_NUMBER] = 0, [JSON_STRING] = 1, [JSON_BOOL] = 2, [JSON_ARRAY] = 3, [JSON_OBJECT] = 4, [JSON_NULL] = 5,
    };

    return ranks[j->type];
}

static double fieldset_number_of(const struct json *j)
{
    char text[64]; /* the tree's own text need not end with a NUL; digits beyond this do not count */

    snprintf(text, sizeof(text), "%.*s", (int)j->n, j->text);
    return strtod(text, NULL);
}

static int number_cmp(const struct json *x, const struct json *y)
{
    int64_t a, b;
    double p, q;

    if (json_to_i64(x, &a) == 0 && json_to_i64(y, &b) == 0)
        return (a > b) - (a < b);
    p = fieldset_number_of(x);
    q = fieldset_number_of(y);
    return (p > q) - (p < q);
}

static int value_cmp(const struct json *x, const struct json *y);

static int children_cmp(const struct json *x, const struct json *y)
{
    const struct json *p = json_first(x), *q = json_first(y);

    for (; p && q; p = p->next, q = q->next) {
        int c = x->type == JSON_OBJECT ? str_cmp(json_key(p), json_key(q)) : 0;

        if (c || (c = value_cmp(p, q)))
            return c;
    }
    return (p != NULL) - (q != NULL);
}

static int value_cmp(const struct json *x, const struct json *y)
{
    if (fieldset_rank_of(x) != fieldset_rank_of(y))
        return fieldset_rank_of(x) < fieldset_rank_of(y) ? -1 : 1;
    switch ((enum json_type)x->type) {
    case JSON_NUMBER:
        return number_cmp(x, y);
    case JSON_STRING:
        return str_cmp(json_text(x, STR_NULL), json_text(y, STR_NULL));
    case JSON_BOOL:
        return (int)x->n - (int)y->n;
    default:
        return children_cmp(x, y);
    }
}

int path_element_cmp(const struct path_element *a, const struct path_element *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->kind == PATH_FIELD ? str_cmp(a->name, b->name) : value_cmp(a->value, b->value);
}

static int node_cmp(const void *x, const void *y)
{
    return path_element_cmp(&((const struct fieldset_node *)x)->at, &((const struct fieldset_node *)y)->at);
}

/* ---- building ---- */

/* Sorted, and each element once: what was added twice becomes one. */
static void fieldset_settle(struct fieldset *s)
{
    size_t n = 0;

    if (!s || !s->is_unsorted)
        return;
    qsort(s->v, s->n, sizeof(*s->v), node_cmp);
    for (size_t i = 0; i < s->n; i++) {
        if (!n || node_cmp(&s->v[n - 1], &s->v[i]) != 0) {
            s->v[n++] = s->v[i];
            continue;
        }
        s->v[n - 1].is_member |= s->v[i].is_member;
        if (!s->v[n - 1].below)
            s->v[n - 1].below = s->v[i].below;
    }
    s->n = n;
    s->is_unsorted = false;
}

static struct fieldset_node *fieldset_push(struct arena *a, struct fieldset *s)
{
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 4;
        struct fieldset_node *v = arena_array(a, struct fieldset_node, cap);

        if (s->n)
            memcpy(v, s->v, s->n * sizeof(*v));
        s->v = v;
        s->cap = cap;
    }
    return &s->v[s->n++];
}

struct fieldset_node *fieldset_find(struct fieldset *s, const struct path_element *at)
{
    struct fieldset_node want = { .at = *at };

    fieldset_settle(s);
    return s && s->n ? bsearch(&want, s->v, s->n, sizeof(*s->v), node_cmp) : NULL;
}

struct fieldset_node *fieldset_add(struct arena *a, struct fieldset *s, const struct path_element *at)
{
    struct fieldset_node *node;
    int c = s->n ? path_element_cmp(&s->v[s->n - 1].at, at) : -1;

    if (c == 0)
        return &s->v[s->n - 1];
    if (c > 0)
        s->is_unsorted = true;
    node = fieldset_push(a, s);
    *node = (struct fieldset_node){ .at = *at };
    return node;
}

struct fieldset *fieldset_below(struct arena *a, struct fieldset_node *node)
{
    if (!node->below)
        node->below = arena_new(a, struct fieldset);
    return node->below;
}

/* ---- asking ---- */

bool fieldset_is_empty(const struct fieldset *s)
{
    for (size_t i = 0; s && i < s->n; i++)
        if (s->v[i].is_member || !fieldset_is_empty(s->v[i].below))
            return false;
    return true;
}

/* A node of 's' with something in it, from '*at' on; NULL: there is no more. */
static struct fieldset_node *next_node(struct fieldset *s, size_t *at)
{
    for (; s && *at < s->n; ++*at)
        if (s->v[*at].is_member || !fieldset_is_empty(s->v[*at].below))
            return &s->v[*at];
    return NULL;
}

bool fieldset_equal(struct fieldset *a, struct fieldset *b)
{
    struct fieldset_node *x, *y;

    fieldset_settle(a);
    fieldset_settle(b);
    for (size_t i = 0, k = 0;; i++, k++) {
        x = next_node(a, &i);
        y = next_node(b, &k);
        if (!x || !y)
            return !x && !y;
        if (node_cmp(x, y) != 0 || x->is_member != y->is_member || !fieldset_equal(x->below, y->below))
            return false;
    }
}

static void each_below(struct arena *a, struct fieldset *s, struct buf *path, fieldset_each_f each, void *ctx)
{
    size_t back = path->n;

    fieldset_settle(s);
    for (size_t i = 0; s && i < s->n; i++) {
        if (!s->v[i].is_member)
            continue;
        path_element_print(path, &s->v[i].at);
        each(ctx, arena_str(a, buf_view(path)), &s->v[i]);
        path->n = back;
    }
    for (size_t i = 0; s && i < s->n; i++) {
        path_element_print(path, &s->v[i].at);
        each_below(a, s->v[i].below, path, each, ctx);
        path->n = back;
    }
}

void fieldset_each(struct arena *a, struct fieldset *s, fieldset_each_f each, void *ctx)
{
    autobuf path = { 0 };

    each_below(a, s, &path, each, ctx);
}

/* ---- algebra ---- */

enum operation { UNION, INTERSECTION, DIFFERENCE, WITHOUT };

static struct fieldset *fieldset_combine(struct arena *a, struct fieldset *x, struct fieldset *y, enum operation op);

static bool combine_node(struct arena *a, struct fieldset_node *ret, const struct fieldset_node *x,
                         const struct fieldset_node *y, enum operation op)
{
    bool in_x = x && x->is_member, in_y = y && y->is_member;

    ret->is_member = op == UNION ? in_x || in_y : op == INTERSECTION ? in_x && in_y : in_x && !in_y;
    if (op != WITHOUT || !in_y)
        ret->below = fieldset_combine(a, x ? x->below : NULL, y ? y->below : NULL, op);
    return ret->is_member || ret->below;
}

/* NULL if nothing is in it. */
static struct fieldset *fieldset_combine(struct arena *a, struct fieldset *x, struct fieldset *y, enum operation op)
{
    struct fieldset *out;
    size_t i = 0, k = 0;

    if (!y && op != INTERSECTION)
        return fieldset_is_empty(x) ? NULL : x;
    if (!x && op == UNION)
        return fieldset_is_empty(y) ? NULL : y;
    if (!x || !y)
        return NULL;
    fieldset_settle(x);
    fieldset_settle(y);
    out = arena_new(a, struct fieldset);
    while (i < x->n || k < y->n) {
        int c = i == x->n ? 1 : k == y->n ? -1 : node_cmp(&x->v[i], &y->v[k]);
        struct fieldset_node node = { .at = c <= 0 ? x->v[i].at : y->v[k].at };

        if (combine_node(a, &node, c <= 0 ? &x->v[i] : NULL, c >= 0 ? &y->v[k] : NULL, op))
            *fieldset_push(a, out) = node;
        i += c <= 0;
        k += c >= 0;
    }
    return out->n ? out : NULL;
}

static struct fieldset *combined(struct arena *a, struct fieldset *x, struct fieldset *y, enum operation op)
{
    struct fieldset *s = fieldset_combine(a, x, y, op);

    return s ? s : arena_new(a, struct fieldset);
}

struct fieldset *fieldset_union(struct arena *a, struct fieldset *x, struct fieldset *y)
{
    return combined(a, x, y, UNION);
}

struct fieldset *fieldset_intersection(struct arena *a, struct fieldset *x, struct fieldset *y)
{
    return combined(a, x, y, INTERSECTION);
}

struct fieldset *fieldset_difference(struct arena *a, struct fieldset *x, struct fieldset *y)
{
    return combined(a, x, y, DIFFERENCE);
}

struct fieldset *fieldset_without(struct arena *a, struct fieldset *x, struct fieldset *y)
{
    return combined(a, x, y, WITHOUT);
}

/* ---- FieldsV1 ---- */

static int decode_element(struct arena *a, struct str key, struct path_element *ret, struct err *e)
{
    struct str rest = str_from(key, 2);
    struct json *value = NULL;
    int64_t index;

    if (key.n < 2 || key.p[1] != ':')
        return err_set(e, ERR_INVALID, "\"%.*s\" is not a path element", (int)MIN_OF(key.n, 80), key.p ? key.p : "");
    *ret = (struct path_element){ .kind = PATH_FIELD, .name = rest };
    if (key.p[0] == 'f')
        return 0;
    ret->kind = key.p[0] == 'k' ? PATH_KEYS : key.p[0] == 'v' ? PATH_VALUE : PATH_INDEX;
    if (!str_has_char(STR("kvi"), key.p[0]) || json_parse(a, rest, NULL, &value, e) < 0 ||
        (ret->kind == PATH_KEYS && value->type != JSON_OBJECT) ||
        (ret->kind == PATH_INDEX && json_to_i64(value, &index) < 0))
        return err_set(e, ERR_INVALID, "\"%.*s\" is not a path element", (int)MIN_OF(key.n, 80), key.p);
    json_sort_keys(value, true);
    ret->value = value;
    return 0;
}

/* '*ret_self': the path of 'j' itself is in the set. */
static int decode_level(struct arena *a, const struct json *j, struct fieldset **ret, bool *ret_self, struct err *e)
{
    struct fieldset *s = NULL;

    *ret_self = false;
    if (!json_is(j, JSON_OBJECT))
        return err_set(e, ERR_INVALID, "a set of fields must be an object");
    JSON_FOREACH(m, j) {
        struct path_element at;
        struct fieldset_node *node;

        if (str_is(json_key(m), ".")) {
            *ret_self = true;
            continue;
        }
        if (decode_element(a, json_key(m), &at, e) < 0)
            return -1;
        if (!s)
            s = arena_new(a, struct fieldset);
        node = fieldset_add(a, s, &at);
        if (decode_level(a, m, &node->below, &node->is_member, e) < 0)
            return -1;
    }
    *ret_self |= !s;
    *ret = s;
    return 0;
}

int fieldset_decode(struct arena *a, const struct json *fields, struct fieldset **ret, struct err *e)
{
    struct fieldset *s;
    bool is_self;

    if (decode_level(a, fields, &s, &is_self, e) < 0)
        return -1;
    *ret = s ? s : arena_new(a, struct fieldset);
    return 0;
}

static struct str element_key(struct arena *a, const struct path_element *at)
{
    static const char *const prefixes[PATH_KIND_MAX] = { "f:", "k:", "v:", "i:" };
    autobuf text = { 0 };

    if (at->kind == PATH_FIELD)
        return arena_cat(a, STR("f:"), at->name);
    buf_str(&text, str_of(prefixes[at->kind]));
    json_print(&text, at->value);
    return arena_str(a, buf_view(&text));
}

struct json *fieldset_encode(struct arena *a, struct fieldset *s)
{
    struct json *out = json_object(a);

    fieldset_settle(s);
    for (size_t i = 0; s && i < s->n; i++) {
        struct fieldset_node *node = &s->v[i];
        struct json *below = fieldset_is_empty(node->below) ? NULL : fieldset_encode(a, node->below);

        if (!node->is_member && !below)
            continue;
        if (node->is_member && below) {
            struct json *with_self = json_object(a);

            json_add(with_self, STR("."), json_object(a));
            for (struct json *m = below->first, *next; m; m = next) {
                next = m->next;
                json_add(with_self, json_key(m), m);
            }
            below = with_self;
        }
        json_add(out, element_key(a, &node->at), below ? below : json_object(a));
    }
    return out;
}

/* ---- printing ---- */

void path_element_print(struct buf *out, const struct path_element *at)
{
    bool is_first = true;

    if (at->kind == PATH_FIELD) {
        buf_char(out, '.');
        buf_str(out, at->name);
        return;
    }
    buf_char(out, '[');
    if (at->kind == PATH_KEYS) {
        JSON_FOREACH(m, at->value) {
            if (!is_first)
                buf_char(out, ',');
            is_first = false;
            buf_str(out, json_key(m));
            buf_char(out, '=');
            json_print(out, m);
        }
    } else {
        buf_str(out, at->kind == PATH_VALUE ? STR("=") : STR_NULL);
        json_print(out, at->value);
    }
    buf_char(out, ']');
}
