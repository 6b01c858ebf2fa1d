/* json.c - the tree: looking, making, changing */
#include "json/json.h"

#include "base/util.h"
#include "json/json_internal.h"

#include <assert.h>
#include <stdarg.h>
#include <stdatomic.h>

_Static_assert(sizeof(void *) != 8 || sizeof(struct json) == 48, "a node is six words; trees are the hot path");

static const char *const json_type_names[JSON_TYPE_MAX] = {
    [JSON_NULL] = "null",     [JSON_BOOL] = "boolean", [JSON_NUMBER] = "number",
    [JSON_STRING] = "string", [JSON_ARRAY] = "list",   [JSON_OBJECT] = "object",
};

const char *json_type_name(enum json_type type)
{
    return type < JSON_TYPE_MAX ? json_type_names[type] : "?";
}

/* ---- looking ---- */

struct json *json_get_str(const struct json *j, struct str key)
{
    char first = key.n ? key.p[0] : 0;
    struct json *found = NULL;

    if (!json_is(j, JSON_OBJECT))
        return NULL;
    for (struct json *m = j->first; m; m = m->next)
        if (m->key_n == key.n && (!key.n || (m->key[0] == first && memcmp(m->key, key.p, key.n) == 0)))
            found = m;
    return found;
}

struct json *json_at(const struct json *j, size_t index)
{
    struct json *item = json_is(j, JSON_ARRAY) ? j->first : NULL;

    while (item && index--)
        item = item->next;
    return item;
}

struct json *json_find(const struct json *j, ...)
{
    struct json *at = (struct json *)j;
    const char *key;
    va_list ap;

    va_start(ap, j);
    while (at && (key = va_arg(ap, const char *)))
        at = json_get(at, key);
    va_end(ap);
    return at;
}

bool json_bool(const struct json *j, bool fallback)
{
    return json_is(j, JSON_BOOL) ? j->n != 0 : fallback;
}

int64_t json_i64(const struct json *j, int64_t fallback)
{
    int64_t v;

    return json_to_i64(j, &v) < 0 ? fallback : v;
}

/* A decimal number taken apart: digits without leading and trailing zeros, and the power of ten of the last one. Two
 * texts with equal parts are the same number, whatever they look like. */
struct decimal {
    bool is_negative;
    struct str digits[2]; /* before and after the point; one run of digits when put together */
    size_t skip, n;       /* significant digits: from 'skip', 'n' of them */
    int64_t exponent;     /* of the last significant digit */
    bool is_endless;      /* the exponent does not fit: compare as text only */
};

static char decimal_digit(const struct decimal *d, size_t i)
{
    i += d->skip;
    return i < d->digits[0].n ? d->digits[0].p[i] : d->digits[1].p[i - d->digits[0].n];
}

static struct decimal decimal_of(struct str text)
{
    struct decimal d = { 0 };
    size_t at = 0, start, total;
    int64_t e = 0;

    d.is_negative = text.n && text.p[0] == '-';
    at = start = d.is_negative;
    while (at < text.n && text.p[at] >= '0' && text.p[at] <= '9')
        at++;
    d.digits[0] = str_sub(text, start, at - start);
    if (at < text.n && text.p[at] == '.') {
        start = ++at;
        while (at < text.n && text.p[at] >= '0' && text.p[at] <= '9')
            at++;
        d.digits[1] = str_sub(text, start, at - start);
    }
    if (at < text.n && (str_to_i64(str_from(text, at + 1), &e) < 0 || e > INT64_MAX / 4 || e < INT64_MIN / 4)) {
        d.is_endless = true;
        e = 0;
    }
    total = d.digits[0].n + d.digits[1].n;
    d.n = total;
    d.exponent = e - (int64_t)d.digits[1].n;
    while (d.n && decimal_digit(&d, 0) == '0')
        d.skip++, d.n--;
    while (d.n && decimal_digit(&d, d.n - 1) == '0')
        d.n--, d.exponent++;
    if (d.n == 0)
        d.exponent = 0, d.is_negative = d.is_endless = false; /* -0, 0.0 and 0e9 are all zero */
    return d;
}

static bool number_equal(struct str x, struct str y)
{
    struct decimal a, b;

    if (str_eq(x, y))
        return true;
    a = decimal_of(x), b = decimal_of(y);
    if (a.is_endless || b.is_endless || a.is_negative != b.is_negative || a.n != b.n || a.exponent != b.exponent)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (decimal_digit(&a, i) != decimal_digit(&b, i))
            return false;
    return true;
}

int json_to_i64(const struct json *j, int64_t *ret)
{
    struct decimal d;
    uint64_t v = 0;

    if (!json_is(j, JSON_NUMBER))
        return -1;
    if (str_to_i64((struct str){ j->text, j->n }, ret) == 0) /* nearly always */
        return 0;
    d = decimal_of((struct str){ j->text, j->n });
    if (d.is_endless || d.exponent < 0 || d.exponent > 18 || d.n > 19)
        return -1;
    for (size_t i = 0; i < d.n; i++)
        v = v * 10 + (uint64_t)(decimal_digit(&d, i) - '0');
    for (int64_t i = 0; i < d.exponent; i++)
        if (__builtin_mul_overflow(v, 10, &v))
            return -1;
    if (v > (uint64_t)INT64_MAX + d.is_negative)
        return -1;
    *ret = d.is_negative ? (int64_t)(0 - v) : (int64_t)v;
    return 0;
}

bool json_is_zero(const struct json *j)
{
    if (!j || j->type == JSON_NULL)
        return true;
    return j->type == JSON_NUMBER ? json_i64(j, -1) == 0 : j->n == 0;
}

/* ---- members sorted by key ---- */

static void merge_runs(struct json **to, struct json *const *from, size_t a, size_t middle, size_t b)
{
    size_t i = a, k = middle;

    for (size_t at = a; at < b; at++)
        to[at] = k >= b || (i < middle && str_cmp(json_key(from[i]), json_key(from[k])) <= 0) ? from[i++] : from[k++];
}

/* The members as an array sorted by key, equal keys in the order of the document (qsort would not promise that).
 * Sorting makes comparing two objects n log n instead of n × n, which an outside document could make us pay. */
static struct json **members_sorted(const struct json *j)
{
    struct json **v = xmalloc(sizeof(*v) * ((size_t)j->n + 1)), *m = j->first;
    struct json **spare = xmalloc(sizeof(*v) * ((size_t)j->n + 1)), **swap;

    for (size_t i = 0; i < j->n; i++, m = m->next)
        v[i] = m;
    for (size_t run = 1; run < j->n; run *= 2) {
        for (size_t i = 0; i < j->n; i += 2 * run)
            merge_runs(spare, v, i, MIN_OF(i + run, j->n), MIN_OF(i + 2 * run, j->n));
        swap = v, v = spare, spare = swap;
    }
    free(spare);
    return v;
}

/* 256: below that many steps in all, walking beats allocating and sorting. */
void json_members_init(struct json_members *ms, const struct json *j, size_t n_lookups)
{
    *ms = (struct json_members){ json_is(j, JSON_OBJECT) ? j : NULL, NULL };
    if (json_count(ms->object) > 8 && json_count(ms->object) * n_lookups > 256)
        ms->sorted = members_sorted(j);
}

void json_members_done(struct json_members *ms)
{
    free(ms->sorted);
    *ms = (struct json_members){ 0 };
}

struct json *json_members_get(const struct json_members *ms, struct str key)
{
    size_t low = 0, high = json_count(ms->object);

    if (!ms->sorted)
        return json_get_str(ms->object, key);
    while (low < high) { /* to the first key above 'key' */
        size_t middle = low + (high - low) / 2;

        if (str_cmp(json_key(ms->sorted[middle]), key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low && str_eq(json_key(ms->sorted[low - 1]), key) ? ms->sorted[low - 1] : NULL;
}

static bool object_equal(const struct json *a, const struct json *b)
{
    bool in_order = true;

    for (struct json *x = a->first, *y = b->first; x && in_order; x = x->next, y = y->next)
        in_order = str_eq(json_key(x), json_key(y));
    if (in_order) { /* the usual case: same order */
        for (struct json *x = a->first, *y = b->first; x; x = x->next, y = y->next)
            if (!json_equal(x, y))
                return false;
        return true;
    }
    {
        autofree struct json **x = members_sorted(a);
        autofree struct json **y = members_sorted(b);

        for (size_t i = 0; i < a->n; i++)
            if (!str_eq(json_key(x[i]), json_key(y[i])) || !json_equal(x[i], y[i]))
                return false;
    }
    return true;
}

bool json_equal(const struct json *a, const struct json *b)
{
    if (a == b)
        return true;
    if (!a || !b || a->type != b->type)
        return false;
    switch ((enum json_type)a->type) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return a->n == b->n;
    case JSON_NUMBER:
        return number_equal((struct str){ a->text, a->n }, (struct str){ b->text, b->n });
    case JSON_STRING:
        return str_eq((struct str){ a->text, a->n }, (struct str){ b->text, b->n });
    case JSON_ARRAY:
        if (a->n != b->n)
            return false;
        for (struct json *x = a->first, *y = b->first; x; x = x->next, y = y->next)
            if (!json_equal(x, y))
                return false;
        return true;
    case JSON_OBJECT:
        return a->n == b->n && object_equal(a, b);
    case JSON_TYPE_MAX:
        break;
    }
    return false;
}

/* ---- making ---- */

static struct json *json_node_new(struct arena *a, enum json_type type)
{
    struct json *j = arena_new(a, struct json);

    j->type = (uint8_t)type;
    return j;
}

struct json *json_null(struct arena *a)
{
    return json_node_new(a, JSON_NULL);
}

struct json *json_bool_new(struct arena *a, bool v)
{
    struct json *j = json_node_new(a, JSON_BOOL);

    j->n = v;
    return j;
}

static struct json *text_new(struct arena *a, enum json_type type, struct str text)
{
    struct json *j = json_node_new(a, type);

    assert(text.n <= UINT32_MAX);
    j->text = text.p;
    j->n = (uint32_t)text.n;
    return j;
}

struct json *json_int(struct arena *a, int64_t v)
{
    char room[STR_I64_ROOM];

    return text_new(a, JSON_NUMBER, arena_str(a, str_i64(v, room)));
}

struct json *json_str(struct arena *a, struct str text)
{
    return text_new(a, JSON_STRING, text);
}

struct json *json_fmt(struct arena *a, const char *fmt, ...)
{
    struct json *j;
    va_list ap;

    va_start(ap, fmt);
    j = json_str(a, arena_vfmt(a, fmt, ap));
    va_end(ap);
    return j;
}

struct json *json_array(struct arena *a)
{
    return json_node_new(a, JSON_ARRAY);
}

struct json *json_object(struct arena *a)
{
    return json_node_new(a, JSON_OBJECT);
}

struct json *json_copy(struct arena *a, const struct json *j)
{
    struct json *copy, **tail;

    if (!j)
        return NULL;
    copy = arena_alloc(a, sizeof(*copy));
    *copy = *j;
    copy->next = NULL;
    if (j->type < JSON_ARRAY)
        return copy;
    copy->last = NULL;
    tail = &copy->first;
    for (const struct json *c = j->first; c; c = c->next, tail = &copy->last->next) {
        if (c->type >= JSON_ARRAY) {
            copy->last = *tail = json_copy(a, c);
        } else { /* most nodes; no call for them */
            copy->last = *tail = arena_alloc(a, sizeof(*c));
            *copy->last = *c;
        }
    }
    *tail = NULL;
    return copy;
}

static void own_texts(struct arena *a, struct json *j)
{
    if (j->key)
        j->key = arena_str(a, json_key(j)).p;
    if (j->type == JSON_STRING || j->type == JSON_NUMBER)
        j->text = arena_str(a, (struct str){ j->text, j->n }).p;
    JSON_FOREACH(c, j)
        own_texts(a, c);
}

struct json *json_clone(struct arena *a, const struct json *j)
{
    struct json *copy = json_copy(a, j);

    if (copy)
        own_texts(a, copy);
    return copy;
}

struct json *json_copy_bare(struct arena *a, const struct json *j)
{
    struct json *copy = arena_alloc(a, sizeof(*copy));

    *copy = *j;
    copy->next = copy->first = copy->last = NULL;
    copy->n = 0;
    return copy;
}

size_t json_depth(const struct json *j, size_t limit)
{
    size_t deepest = 0;

    if (!j || j->type < JSON_ARRAY)
        return 0;
    if (limit == 0)
        return 1;
    JSON_FOREACH(c, j) {
        size_t depth = json_depth(c, limit - 1);

        deepest = MAX_OF(deepest, depth);
    }
    return deepest + 1;
}

/* ---- changing ---- */

static _Atomic uint64_t n_refused;

uint64_t json_refused(void)
{
    return atomic_load_explicit(&n_refused, memory_order_relaxed);
}

/* 'j' comes from outside and may be of any type: that must never end the program. */
static bool can_take(const struct json *j, enum json_type type, const struct json *take)
{
    if (json_is(j, type) && take)
        return true;
    atomic_fetch_add_explicit(&n_refused, 1, memory_order_relaxed);
    return false;
}

static void json_append(struct json *j, struct json *take)
{
    take->next = NULL;
    if (j->last)
        j->last->next = take;
    else
        j->first = take;
    j->last = take;
    j->n++;
}

struct json *json_add(struct json *j, struct str key, struct json *take)
{
    assert(key.n <= UINT32_MAX); /* texts are no longer, see json_parse() */
    if (!can_take(j, JSON_OBJECT, take))
        return NULL;
    take->key = key.p ? key.p : "";
    take->key_n = (uint32_t)key.n;
    take->flags &= (uint8_t)~JSON_PLAIN_KEY & 3;
    json_append(j, take);
    return take;
}

struct json *json_set_key(struct json *j, struct str key, struct json *take)
{
    struct json *old = json_get_str(j, key);

    if (!old || !take)
        return json_add(j, key, take);
    json_replace(j, old, take);
    return take;
}

void json_add_missing(struct arena *a, struct json *j, const struct json *from)
{
    struct json *missing = json_object(a); /* first all are found: 'own' is of the object as it is */
    autojson_members own;

    json_members_init(&own, j, json_count(from));
    JSON_FOREACH(m, json_is(from, JSON_OBJECT) ? from : NULL)
        if (!json_members_get(&own, json_key(m)))
            json_add(missing, json_key(m), json_copy(a, m));
    for (struct json *m = missing->first, *next; m; m = next) {
        next = m->next;
        json_add(j, json_key(m), m);
    }
}

struct json *json_push(struct json *j, struct json *take)
{
    if (!can_take(j, JSON_ARRAY, take))
        return NULL;
    take->key = NULL;
    take->key_n = 0;
    json_append(j, take);
    return take;
}

struct json *json_insert(struct json *j, size_t index, struct json *take)
{
    struct json *before = NULL;

    if (!json_is(j, JSON_ARRAY) || index >= j->n || !take)
        return json_push(j, take);
    take->key = NULL;
    take->key_n = 0;
    if (index == 0) {
        take->next = j->first;
        j->first = take;
    } else {
        before = json_at(j, index - 1);
        take->next = before->next;
        before->next = take;
    }
    j->n++;
    return take;
}

void json_unlink(struct json *parent, struct json *child)
{
    struct json *before = NULL;

    for (struct json *c = parent->first; c; before = c, c = c->next) {
        if (c != child)
            continue;
        if (before)
            before->next = c->next;
        else
            parent->first = c->next;
        if (parent->last == c)
            parent->last = before;
        parent->n--;
        c->next = NULL;
        return;
    }
    assert(!"json_unlink: not a child of this parent");
}

bool json_remove_key(struct json *j, struct str key)
{
    struct json *last = NULL, **link;
    size_t before = json_count(j);

    if (!json_is(j, JSON_OBJECT))
        return false;
    for (link = &j->first; *link;) {
        struct json *m = *link;

        if (str_eq(json_key(m), key)) {
            *link = m->next;
            m->next = NULL;
            j->n--;
        } else {
            last = m;
            link = &m->next;
        }
    }
    j->last = last;
    return j->n < before;
}

void json_replace(struct json *parent, struct json *old, struct json *take)
{
    struct json **link = &parent->first;

    take->key = old->key;
    take->key_n = old->key_n;
    take->flags = (uint8_t)((take->flags & ~JSON_PLAIN_KEY & 3) | (old->flags & JSON_PLAIN_KEY));
    while (*link && *link != old)
        link = &(*link)->next;
    assert(*link == old);
    *link = take;
    take->next = old->next;
    if (parent->last == old)
        parent->last = take;
    old->next = NULL;
}

static struct json *json_need(struct arena *a, struct json *j, const char *key, enum json_type type)
{
    struct json *m = json_get(j, key);

    if (!json_is(j, JSON_OBJECT))
        return NULL;
    if (!m || m->type == JSON_NULL)
        return json_set(j, key, json_node_new(a, type));
    return m->type == type ? m : NULL;
}

struct json *json_need_object(struct arena *a, struct json *j, const char *key)
{
    return json_need(a, j, key, JSON_OBJECT);
}

struct json *json_need_array(struct arena *a, struct json *j, const char *key)
{
    return json_need(a, j, key, JSON_ARRAY);
}

void json_sort_keys(struct json *j, bool deep)
{
    if (json_is(j, JSON_OBJECT) && j->n > 1) {
        autofree struct json **v = members_sorted(j);

        for (size_t i = 0; i + 1 < j->n; i++)
            v[i]->next = v[i + 1];
        v[j->n - 1]->next = NULL;
        j->first = v[0];
        j->last = v[j->n - 1];
    }
    if (deep)
        JSON_FOREACH(c, j)
            json_sort_keys(c, true);
}

struct json *json_mark(struct json *j, uint8_t mark)
{
    if (!j)
        return NULL;
    j->mark = mark & 63;
    JSON_FOREACH(c, j)
        json_mark(c, mark);
    return j;
}
