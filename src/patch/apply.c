/* apply.c - server-side apply
 *
 * The configuration is laid over the live object. Fields that the manager owned before and names no more are then
 * removed, except those that another manager owns, or that have no owner, below them. The difference between the live
 * object and the result says whose fields change: those are conflicts, or lost.
 */
#include "patch/apply.h"

#include "api/message/message.h"
#include "base/util.h"
#include "patch/managed.h"
#include "patch/typed.h"

#include <stdarg.h>
#include <stdlib.h>

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

int refuse(struct arena *a, struct refusal *why, const char *reason, const char *fmt, ...)
{
    static const struct {
        const char *reason;
        int code;
    } codes[] = {
        { "BadRequest", 400 },
        { "RequestEntityTooLarge", 413 },
        { "UnsupportedMediaType", 415 },
        { "Invalid", 422 },
    };
    size_t i = 0;
    va_list ap;

    while (i < ARRAY_LEN(codes) && strcmp(codes[i].reason, reason) != 0)
        i++;
    va_start(ap, fmt);
    *why = (struct refusal){ .code = i < ARRAY_LEN(codes) ? codes[i].code : 500,
                             .reason = reason,
                             .message = arena_vfmt(a, fmt, ap) };
    va_end(ap);
    return -1;
}

/* ---- sets that are always the same ---- */

static void apply_add_path(struct arena *a, struct fieldset *s, const char *field, const char *below)
{
    struct path_element at = { .kind = PATH_FIELD, .name = str_of(field) };
    struct fieldset_node *node = fieldset_add(a, s, &at);

    if (below)
        apply_add_path(a, fieldset_below(a, node), below, NULL);
    else
        node->is_member = true;
}

/* These have no owner: the server sets them, or they say which object it is. */
static struct fieldset *never_owned(struct arena *a)
{
    static const char *const meta[] = { "clusterName", "creationTimestamp", "generation",      "managedFields",
                                        "name",        "namespace",         "resourceVersion", "selfLink",
                                        "uid" };
    struct fieldset *s = arena_new(a, struct fieldset);

    apply_add_path(a, s, "apiVersion", NULL);
    apply_add_path(a, s, "kind", NULL);
    apply_add_path(a, s, "metadata", NULL);
    for (size_t i = 0; i < ARRAY_LEN(meta); i++)
        apply_add_path(a, s, "metadata", meta[i]);
    return s;
}

struct fieldset *ownership_ignored(struct arena *a, bool has_status, bool is_custom, struct str kind,
                                   struct str subresource)
{
    struct fieldset *s = arena_new(a, struct fieldset);

    if (!has_status)
        return NULL;
    if (!str_is(subresource, "status")) {
        apply_add_path(a, s, "status", NULL);
        return s;
    }
    if (is_custom) {
        apply_add_path(a, s, "metadata", NULL);
    } else if (str_is(kind, "Pod")) {
        apply_add_path(a, s, "metadata", "deletionTimestamp");
        apply_add_path(a, s, "metadata", "ownerReferences");
    }
    apply_add_path(a, s, "spec", NULL);
    return s;
}

/* ---- objects as they are compared ---- */

/* A copy without managedFields, in the form of the kind's own types; an empty object for NULL. */
static struct json *comparable(struct arena *a, const struct ownership *who, const struct json *obj)
{
    struct json *j = obj ? json_copy(a, obj) : json_object(a), *meta;

    if (!obj) {
        json_add(j, STR("apiVersion"), json_str(a, who->api_version));
        json_add(j, STR("kind"), json_str(a, who->kind));
    }
    if ((meta = json_get(j, "metadata")))
        json_remove(meta, "managedFields");
    return who->type.source == MERGE_MESSAGE ? message_fill(a, who->type.message, j) : j;
}

/* As it is stored: without what those types leave out. */
static struct json *stored_form(struct arena *a, const struct ownership *who, struct json *obj)
{
    if (who->type.source != MERGE_MESSAGE)
        return obj;
    obj = message_fill(a, who->type.message, obj);
    message_trim(who->type.message, obj);
    return obj;
}

static void set_managed(struct arena *a, struct json *obj, const struct managed *m)
{
    struct json *list = managed_encode(a, m), *meta = json_need_object(a, obj, "metadata");

    if (!meta)
        return;
    json_remove(meta, "managedFields");
    if (list)
        json_add(meta, STR("managedFields"), list);
}

static struct manager self_of(const struct ownership *who, bool is_apply)
{
    return (struct manager){
        .name = who->manager.n ? who->manager : STR("unknown"),
        .api_version = who->api_version,
        .subresource = who->subresource,
        .is_apply = is_apply,
    };
}

/* ---- what a change does to the owners ---- */

static void compare(struct arena *a, const struct ownership *who, const struct json *live, const struct json *obj,
                    struct comparison *ret)
{
    typed_compare(a, &who->type, live, obj, ret);
    ret->added = *fieldset_without(a, &ret->added, who->ignored);
    ret->modified = *fieldset_without(a, &ret->modified, who->ignored);
    ret->removed = *fieldset_without(a, &ret->removed, who->ignored);
}

/* Fields that change by another's hand are lost; a manager that has none left is removed, and so is one of a version
 * that the kind does not have here. */
static void take_from_others(struct arena *a, const struct ownership *who, struct managed *m,
                             const struct manager *except, struct comparison *c)
{
    struct fieldset *changed = fieldset_union(a, &c->modified, &c->added);

    for (struct manager *it = m->first, *next; it; it = next) {
        next = it->next;
        if (it != except) {
            it->fields = fieldset_difference(a, it->fields, fieldset_intersection(a, it->fields, changed));
            it->fields = fieldset_difference(a, it->fields, &c->removed);
        }
        if (fieldset_is_empty(it->fields) || !str_eq(it->api_version, who->api_version))
            managed_remove(m, it);
    }
}

/* The update itself: who writes owns what changes. */
static void record_update(struct arena *a, const struct ownership *who, const struct json *live, const struct json *obj,
                          struct managed *m)
{
    struct manager like = self_of(who, false), *self;
    struct fieldset *own;
    struct comparison c;

    compare(a, who, live, obj, &c);
    take_from_others(a, who, m, NULL, &c);
    own = fieldset_difference(a, fieldset_union(a, &c.modified, &c.added), never_owned(a));
    if (!fieldset_is_empty(own)) {
        self = managed_need(a, m, &like);
        self->fields = fieldset_union(a, own, self->fields);
        self->time = who->now;
    }
    managed_cap(a, m);
}

/* Entries as the writer brought them, or those of the live object. */
static void read_managed(struct arena *a, const struct ownership *who, const struct json *live,
                         const struct json *brought, struct managed *ret)
{
    *ret = (struct managed){ 0 };
    if (!who->subresource.n && managed_is_reset(brought) && (brought->n || who->type.source == MERGE_MESSAGE))
        return; /* [] of a custom object never reaches this part of the API server, so it means nothing here either */
    if (!who->subresource.n && managed_decode(a, brought, ret, NULL) == 0 && ret->first)
        return;
    (void)managed_decode(a, json_find(live, "metadata", "managedFields", NULL), ret, NULL); /* unreadable: none */
}

/* Only time stamps differ: then nothing was changed, and the old ones stay. */
static void keep_times(struct arena *a, const struct json *live, struct json *obj)
{
    struct json *old = json_find(live, "metadata", "managedFields", NULL), *meta = json_get(obj, "metadata");
    struct json *new = json_get(meta, "managedFields"), *kept;

    if (!old || !new || old->n != new->n)
        return;
    kept = json_copy(a, new);
    for (struct json *x = kept->first, *y = old->first; x; x = x->next, y = y->next)
        if (json_get(y, "time"))
            json_set(x, "time", json_copy(a, json_get(y, "time")));
    if (!json_equal(kept, old))
        return;
    json_set(meta, "managedFields", kept);
    if (!json_equal(obj, live))
        json_set(meta, "managedFields", new);
}

struct json *ownership_update(struct arena *a, const struct ownership *who, const struct json *live, struct json *obj)
{
    struct managed m;

    read_managed(a, who, live, json_find(obj, "metadata", "managedFields", NULL), &m);
    if (m.first || !live)
        record_update(a, who, comparable(a, who, live), comparable(a, who, obj), &m);
    set_managed(a, obj, &m);
    keep_times(a, live, obj);
    return obj;
}

/* ---- pruning ---- */

static struct json *removed_from(struct arena *a, const struct ownership *who, const struct json *merged,
                                 struct fieldset *gone)
{
    struct json *j = typed_remove(a, &who->type, merged, gone);

    return j->type == JSON_OBJECT ? j : json_object(a);
}

/* 'merged' without the fields of 'last' that no longer have an owner. */
static struct json *apply_prune(struct arena *a, const struct ownership *who, const struct json *merged,
                                const struct managed *m, struct fieldset *last)
{
    const struct merge_type *t = &who->type;
    struct fieldset *all = typed_with_parents(a, t, typed_fields(a, t, merged)), *kept;
    struct json *pruned;

    if (fieldset_is_empty(last))
        return json_copy(a, merged);
    last = typed_with_parents(a, t, last);
    pruned = removed_from(a, who, merged, last);
    kept = typed_with_parents(a, t, typed_fields(a, t, pruned));
    /* Put back the fields that have an owner. */
    pruned = removed_from(
        a, who, merged,
        fieldset_difference(a, all, fieldset_union(a, kept, typed_with_parents(a, t, managed_all(a, m)))));
    /* So does what 'last' never had: it went only because something above it went. */
    kept = typed_with_parents(a, t, typed_fields(a, t, pruned));
    return removed_from(a, who, merged, fieldset_intersection(a, fieldset_difference(a, all, kept), last));
}

/* ---- conflicts ---- */

struct conflicts {
    struct arena *arena;
    struct json *causes; /* as details.causes has them */
    struct str manager;  /* at hand, as messages name it */
};

static void add_conflict(void *ctx, struct str path, struct fieldset_node *node)
{
    struct conflicts *cs = ctx;
    struct json *cause = json_push(cs->causes, json_object(cs->arena));

    json_add(cause, STR("reason"), json_str(cs->arena, STR("FieldManagerConflict")));
    json_add(cause, STR("message"), json_fmt(cs->arena, "conflict with %.*s", STR_ARG(cs->manager)));
    json_add(cause, STR("field"), json_str(cs->arena, path));
}

/* By name, then operation and version: as the API server sorts them. */
static int by_identity(const void *x, const void *y)
{
    const struct manager *a = *(struct manager *const *)x, *b = *(struct manager *const *)y;
    int c = str_cmp(a->name, b->name);

    if (!a->name.n != !b->name.n) /* without a name: last */
        return a->name.n ? -1 : 1;
    if (!c && a->is_apply != b->is_apply)
        return a->is_apply ? -1 : 1;
    if (!c)
        c = str_cmp(a->api_version, b->api_version);
    return c ? c : str_cmp(a->subresource, b->subresource);
}

static struct manager **managers_by_identity(struct arena *a, const struct managed *m, size_t *ret_n)
{
    struct manager **v;
    size_t n = 0;

    for (const struct manager *it = m->first; it; it = it->next)
        n++;
    v = arena_array(a, struct manager *, n + 1);
    n = 0;
    for (struct manager *it = m->first; it; it = it->next)
        v[n++] = it;
    qsort(v, n, sizeof(*v), by_identity);
    *ret_n = n;
    return v;
}

/* Fields of others that would change, but for those that are 'allowed' to; an empty list if there are none. */
static struct json *find_conflicts(struct arena *a, const struct managed *m, const struct manager *self,
                                   struct comparison *c, struct fieldset *allowed)
{
    struct conflicts cs = { .arena = a, .causes = json_array(a) };
    struct fieldset *changed = fieldset_union(a, &c->modified, &c->added);
    size_t n;
    struct manager **v = managers_by_identity(a, m, &n);

    for (size_t i = 0; i < n; i++) {
        if (v[i] == self || !str_eq(v[i]->api_version, self->api_version))
            continue;
        cs.manager = manager_print(a, v[i]);
        fieldset_each(a, fieldset_difference(a, fieldset_intersection(a, v[i]->fields, changed), allowed), add_conflict,
                      &cs);
    }
    return cs.causes;
}

static int refuse_conflicts(struct arena *a, struct json *causes, struct refusal *why)
{
    struct str last = STR_NULL;
    autobuf text = { 0 };

    buf_fmt(&text, "Apply failed with %u conflict%s: ", causes->n, causes->n == 1 ? "" : "s");
    JSON_FOREACH(cause, causes) {
        struct str message = json_member_text(cause, "message"), field = json_member_text(cause, "field");

        if (causes->n == 1) {
            buf_fmt(&text, "%.*s: %.*s", STR_ARG(message), STR_ARG(field));
            break;
        }
        if (!str_eq(message, last)) /* "conflict with X" becomes "conflicts with X:" */
            buf_fmt(&text, "%sconflicts%.*s:", last.p ? "\n" : "", STR_ARG(str_from(message, sizeof("conflict") - 1)));
        buf_fmt(&text, "\n- %.*s", STR_ARG(field));
        last = message;
    }
    *why = (struct refusal){
        .code = 409, .reason = "Conflict", .message = arena_str(a, buf_view(&text)), .causes = causes
    };
    return -1;
}

/* ---- from client-side apply ---- */

static struct str last_applied(const struct json *obj)
{
    return json_member_text(json_find(obj, "metadata", "annotations", NULL), LAST_APPLIED);
}

/* What 'kubectl apply' wrote last and is still so: kubectl may take that over from itself. NULL: nothing. */
static struct fieldset *still_as_applied(struct arena *a, const struct ownership *who, const struct json *live)
{
    struct str text = last_applied(live);
    struct fieldset *fields;
    struct comparison c;
    struct json *old, *problems = json_array(a);

    if (!text.n || json_parse(a, text, NULL, &old, NULL) < 0 || !json_is(old, JSON_OBJECT) ||
        !str_eq(json_member_text(old, "apiVersion"), who->api_version))
        return NULL;
    typed_check(a, &who->type, old, problems);
    if (problems->n)
        return NULL;
    typed_compare(a, &who->type, old, live, &c);
    fields = fieldset_difference(a, typed_fields(a, &who->type, old), &c.modified);
    return fieldset_difference(a, fieldset_difference(a, fields, &c.added), &c.removed);
}

/* Both ways of applying are in use on this object: the annotation follows. */
static void follow_last_applied(struct arena *a, const struct json *config, struct json *obj)
{
    struct json *copy = json_copy(a, config), *annotations = json_find(copy, "metadata", "annotations", NULL);
    autobuf text = { 0 };

    if (!last_applied(obj).n)
        return;
    if (annotations && json_remove(annotations, LAST_APPLIED) && !annotations->n)
        json_remove(json_get(copy, "metadata"), "annotations");
    json_sort_keys(copy, true);
    json_print(&text, copy);
    buf_char(&text, '\n');
    json_set(json_find(obj, "metadata", "annotations", NULL), LAST_APPLIED, json_str(a, arena_str(a, buf_view(&text))));
}

/* ---- apply ---- */

static int refuse_problems(struct arena *a, const struct ownership *who, const struct json *config,
                           const struct json *problems, struct refusal *why)
{
    const struct json *meta = json_get(config, "metadata");
    ptrdiff_t slash = str_rfind_char(who->api_version, '/');
    autobuf text = { 0 };

    if (problems->n > 1)
        buf_str(&text, STR("errors:"));
    JSON_FOREACH(p, problems)
        buf_fmt(&text, "%s%.*s", problems->n > 1 ? "\n  " : "", STR_ARG(json_text(p, STR_NULL)));
    return refuse(a, why, "BadRequest", "failed to create typed patch object (%.*s/%.*s; %.*s/%.*s, Kind=%.*s): %.*s",
                  STR_ARG(json_member_text(meta, "namespace")), STR_ARG(json_member_text(meta, "name")),
                  STR_ARG(slash < 0 ? STR_NULL : str_sub(who->api_version, 0, (size_t)slash)),
                  STR_ARG(str_from(who->api_version, (size_t)(slash + 1))), STR_ARG(who->kind),
                  STR_ARG(buf_view(&text)));
}

static int check_config(struct arena *a, const struct ownership *who, const struct json *config, struct refusal *why)
{
    struct str version = json_member_text(config, "apiVersion"), kind = json_member_text(config, "kind");
    const struct json *managed = json_find(config, "metadata", "managedFields", NULL);
    struct json *problems = json_array(a);

    if (!json_is(config, JSON_OBJECT))
        return refuse(a, why, "BadRequest", "error decoding YAML: the configuration must be an object");
    if (!str_eq(version, who->api_version) || !str_eq(kind, who->kind))
        return refuse(a, why, "BadRequest", "invalid object type: %.*s, Kind=%.*s",
                      STR_ARG(str_has_char(version, '/') ? version : arena_cat(a, STR("/"), version)), STR_ARG(kind));
    if (managed && managed->type != JSON_NULL)
        return refuse(a, why, "BadRequest", "metadata.managedFields must be nil");
    typed_check(a, &who->type, config, problems);
    return problems->n ? refuse_problems(a, who, config, problems, why) : 0;
}

/* All fields of an object without owners belong to the manager "before-first-apply". */
static void add_first_owner(struct arena *a, const struct ownership *who, const struct json *live, struct managed *m)
{
    struct ownership before = *who;

    before.manager = STR("before-first-apply");
    record_update(a, &before, comparable(a, who, NULL), live, m);
}

int ownership_apply(struct arena *a, const struct ownership *who, const struct apply_request *rq, struct applied *ret,
                    struct refusal *why)
{
    const struct json *live = rq->live, *config = rq->config;
    struct manager like = self_of(who, true), *self;
    struct json *old, *new, *causes;
    struct fieldset *last;
    struct comparison c;
    struct managed m;
    struct err e;

    if (check_config(a, who, config, why) < 0)
        return -1;
    if (managed_decode(a, json_find(live, "metadata", "managedFields", NULL), &m, &e) < 0)
        return refuse(a, why, "InternalError", "failed to decode managed fields: %s", e.text);
    old = comparable(a, who, live);
    if (!m.first && live)
        add_first_owner(a, who, old, &m);
    self = managed_find(&m, &like);
    last = self ? self->fields : NULL;
    self = managed_need(a, &m, &like);
    self->api_version = who->api_version;
    self->fields = fieldset_without(a, typed_fields(a, &who->type, config), who->ignored);

    new = typed_merge(a, &who->type, old, config);
    new = apply_prune(a, who, new, &m, last);
    compare(a, who, old, new, &c);
    causes = rq->is_forced ? json_array(a) : find_conflicts(a, &m, self, &c, NULL);
    if (causes->n && str_is(who->manager, "kubectl"))
        causes = find_conflicts(a, &m, self, &c, still_as_applied(a, who, live));
    if (causes->n)
        return refuse_conflicts(a, causes, why);

    take_from_others(a, who, &m, self, &c);
    self->fields = fieldset_difference(a, self->fields, never_owned(a));
    if (!live || !json_equal(old, new))
        self->time = who->now;
    if (fieldset_is_empty(self->fields))
        managed_remove(&m, self);
    new = stored_form(a, who, new);
    if (str_is(who->manager, "kubectl"))
        follow_last_applied(a, config, new);
    ret->is_same = live && json_equal(old, comparable(a, who, new)); /* as stored: an empty list is none */
    set_managed(a, new, &m);
    keep_times(a, live, new);
    ret->object = new;
    return 0;
}
