/* managed.c - metadata.managedFields, read, written, and kept short */
#include "patch/managed.h"

#include "base/util.h"

#include <stdlib.h>

enum {
    UPDATERS_MAX = 10, /* as the API server */
    NAME_MAX_BYTES = 128,
    ENTRIES_MAX = 250, /* each costs a walk through what changes; a client could send thousands */
};

/* ---- reading ---- */

static int decode_entry(struct arena *a, const struct json *j, size_t number, struct manager *ret, struct err *e)
{
    struct str operation = json_member_text(j, "operation"), type = json_member_text(j, "fieldsType");
    const struct json *fields = json_get(j, "fieldsV1");

    *ret = (struct manager){
        .name = json_member_text(j, "manager"),
        .api_version = json_member_text(j, "apiVersion"),
        .subresource = json_member_text(j, "subresource"),
        .time = json_member_text(j, "time"),
        .is_apply = str_is(operation, "Apply"),
        .fields = arena_new(a, struct fieldset),
    };
    if (!ret->is_apply && !str_is(operation, "Update"))
        return err_set(e, ERR_INVALID, "operation must be `Apply` or `Update`");
    if (!ret->api_version.n)
        return err_set(e, ERR_INVALID, "apiVersion must not be empty");
    if (!type.n)
        return err_set(e, ERR_INVALID, "missing fieldsType in managed fields entry %zu", number);
    if (!str_is(type, "FieldsV1"))
        return err_set(e, ERR_INVALID, "invalid fieldsType \"%.*s\" in managed fields entry %zu",
                       (int)MIN_OF(type.n, 80), type.p, number);
    return fields && fields->type != JSON_NULL ? fieldset_decode(a, fields, &ret->fields, e) : 0;
}

int managed_decode(struct arena *a, const struct json *list, struct managed *ret, struct err *e)
{
    struct managed m = { 0 };
    size_t number = 0;

    *ret = (struct managed){ 0 };
    if (json_count(list) > ENTRIES_MAX)
        return err_set(e, ERR_TOO_BIG, "managedFields has more than %d entries", ENTRIES_MAX);
    JSON_FOREACH(j, list) {
        struct manager entry, *known;

        if (decode_entry(a, j, number++, &entry, e) < 0)
            return -1;
        known = managed_need(a, &m, &entry); /* of two entries of one identity the last counts */
        entry.next = known->next;
        *known = entry;
    }
    *ret = m;
    return 0;
}

bool managed_is_reset(const struct json *list)
{
    return json_is(list, JSON_ARRAY) &&
           (list->n == 0 || (list->n == 1 && json_is(list->first, JSON_OBJECT) && !list->first->n));
}

/* ---- writing ---- */

static int manager_cmp(const void *x, const void *y)
{
    const struct manager *a = *(struct manager *const *)x, *b = *(struct manager *const *)y;
    int c;

    if (a->is_apply != b->is_apply)
        return a->is_apply ? -1 : 1;
    if ((c = str_cmp(a->time, b->time)) || (c = str_cmp(a->name, b->name)) ||
        (c = str_cmp(a->api_version, b->api_version)))
        return c;
    return str_cmp(a->subresource, b->subresource);
}

/* By time and so on; '*ret_n' of them. */
static struct manager **managed_sorted(struct arena *a, const struct managed *m, size_t *ret_n)
{
    struct manager **v;
    size_t n = 0;

    for (struct manager *it = m->first; it; it = it->next)
        n++;
    v = arena_array(a, struct manager *, n + 1);
    n = 0;
    for (struct manager *it = m->first; it; it = it->next)
        v[n++] = it;
    qsort(v, n, sizeof(*v), manager_cmp);
    *ret_n = n;
    return v;
}

static void managed_add_text(struct arena *a, struct json *j, const char *key, struct str text)
{
    if (text.n)
        json_add(j, str_of(key), json_str(a, text));
}

struct json *managed_encode(struct arena *a, const struct managed *m)
{
    struct json *list = json_array(a);
    size_t n;
    struct manager **v = managed_sorted(a, m, &n);

    for (size_t i = 0; i < n; i++) {
        struct json *j = json_push(list, json_object(a));

        managed_add_text(a, j, "manager", v[i]->name);
        managed_add_text(a, j, "operation", v[i]->is_apply ? STR("Apply") : STR("Update"));
        managed_add_text(a, j, "apiVersion", v[i]->api_version);
        managed_add_text(a, j, "time", v[i]->time);
        managed_add_text(a, j, "fieldsType", STR("FieldsV1"));
        json_add(j, STR("fieldsV1"), fieldset_encode(a, v[i]->fields));
        managed_add_text(a, j, "subresource", v[i]->subresource);
    }
    return n ? list : NULL;
}

/* ---- entries ---- */

struct manager *managed_find(const struct managed *m, const struct manager *like)
{
    for (struct manager *it = m->first; it; it = it->next)
        if (it->is_apply == like->is_apply && str_eq(it->name, like->name) &&
            str_eq(it->subresource, like->subresource) && (it->is_apply || str_eq(it->api_version, like->api_version)))
            return it;
    return NULL;
}

struct manager *managed_need(struct arena *a, struct managed *m, const struct manager *like)
{
    struct manager *found = managed_find(m, like);

    if (found)
        return found;
    found = arena_new(a, struct manager);
    *found = *like;
    found->next = m->first;
    m->first = found;
    return found;
}

void managed_remove(struct managed *m, struct manager *gone)
{
    for (struct manager **at = &m->first; *at; at = &(*at)->next)
        if (*at == gone) {
            *at = gone->next;
            return;
        }
}

/* Halves first: one after the other would copy what is there once for each entry. */
static struct fieldset *union_of(struct arena *a, struct manager **v, size_t n)
{
    if (n < 2)
        return n ? v[0]->fields : NULL;
    return fieldset_union(a, union_of(a, v, n / 2), union_of(a, v + n / 2, n - n / 2));
}

struct fieldset *managed_all(struct arena *a, const struct managed *m)
{
    size_t n;
    struct manager **v = managed_sorted(a, m, &n);

    return union_of(a, v, n);
}

/* ---- keeping it short ---- */

static struct manager *first_of_version(struct manager **v, size_t n, struct str api_version)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(v[i]->api_version, api_version))
            return v[i];
    return NULL;
}

void managed_cap(struct arena *a, struct managed *m)
{
    size_t n, n_apply = 0, n_left;
    struct manager **v = managed_sorted(a, m, &n);

    while (n_apply < n && v[n_apply]->is_apply)
        n_apply++;
    v += n_apply;
    n -= n_apply;
    n_left = n;
    for (size_t i = 0; i < n && n_left > UPDATERS_MAX; i++) {
        struct manager bucket = { .name = STR("ancient-changes"), .api_version = v[i]->api_version };
        struct manager *first = first_of_version(v, i, v[i]->api_version), *old;

        if (!first)
            continue;
        old = managed_find(m, &bucket);
        if (!old) {
            old = first;
            old->name = bucket.name;
            old->subresource = STR_NULL;
        }
        if (old != v[i]) {
            old->fields = fieldset_union(a, v[i]->fields, old->fields);
            old->time = v[i]->time; /* the later one */
            managed_remove(m, v[i]);
            n_left--;
        }
    }
}

/* ---- names ---- */

struct str manager_print(struct arena *a, const struct manager *m)
{
    autobuf out = { 0 };

    json_print_str(&out, m->name);
    if (m->subresource.n) {
        buf_str(&out, STR(" with subresource "));
        json_print_str(&out, m->subresource);
    }
    if (!m->is_apply)
        buf_fmt(&out, " using %.*s", STR_ARG(m->api_version));
    return arena_str(a, buf_view(&out));
}

struct str manager_of_user_agent(struct arena *a, struct str user_agent)
{
    struct str name = STR_NULL;
    autobuf out = { 0 };

    (void)str_split(&user_agent, '/', &name); /* no part: no name */
    for (size_t n; name.n; name = str_from(name, n ? n : 1)) {
        n = str_utf8_front(name);
        if (out.n + n > NAME_MAX_BYTES)
            break;
        if (n > 1 || (n == 1 && (unsigned char)name.p[0] >= 0x20 && name.p[0] != 0x7f))
            buf_append(&out, name.p, n);
    }
    return arena_str(a, buf_view(&out));
}
