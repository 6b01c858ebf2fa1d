/* scale.c - the scale subresource (autoscaling/v1)
 *
 * It is a small window on the object: a number in its spec, one in its status, a selector, at the JSONPaths that the
 * definition of the kind names.
 */
#include "server/server_internal.h"

#include "api/schema/schemas.h"
#include "crd/custom.h"
#include "json/patch.h"

static int64_t number_at(const struct json *root, const char *path)
{
    return path ? json_i64(jsonpath_find(root, str_of(path)), 0) : 0;
}

static struct json *scale_of(struct server_request *rq, const struct object *o)
{
    const struct type_custom *c = shown_as(rq)->custom;
    const struct json *meta = json_get(o->root, "metadata");
    static const char *const shown[] = { "name", "namespace", "uid", "resourceVersion", "creationTimestamp" };
    struct arena *a = rq->arena;
    struct json *j = object_new(a, "autoscaling/v1", "Scale", STR_NULL, STR_NULL);
    struct json *to = json_set(j, "metadata", json_object(a)), *status;

    for (size_t i = 0; i < ARRAY_LEN(shown); i++)
        if (json_get(meta, shown[i]))
            json_set(to, shown[i], json_copy(a, json_get(meta, shown[i])));
    json_set(json_set(j, "spec", json_object(a)), "replicas", json_int(a, number_at(o->root, c->replicas)));
    status = json_set(j, "status", json_object(a));
    json_set(status, "replicas", json_int(a, number_at(o->root, c->status_replicas)));
    if (c->selector)
        json_set(status, "selector", json_str(a, json_text(jsonpath_find(o->root, str_of(c->selector)), STR(""))));
    return j;
}

/* ".spec.replicas" of the object becomes 'n'. */
static void set_number(struct arena *a, struct json *object, const char *path, int64_t n)
{
    struct str rest = str_from(str_of(path), 1), part;
    struct json *at = object;

    while (str_split(&rest, '.', &part)) {
        if (!rest.n) {
            json_set_key(at, part, json_int(a, n));
            return;
        }
        at = json_need_object(a, at, arena_cstr(a, part));
        if (!at)
            return;
    }
}

static int read_wish(struct server_request *rq, const struct json *live, struct json **ret)
{
    static const char *const types[] = { "application/json-patch+json", "application/merge-patch+json",
                                         "application/strategic-merge-patch+json", NULL };
    struct json *body;
    struct err e;

    if (body_any(rq, rq->verb == VERB_PATCH ? types : body_types, rq->verb == VERB_PATCH ? NULL : &schema_scale,
                 &body) < 0)
        return -1;
    if (rq->verb == VERB_PATCH && json_is(body, JSON_ARRAY))
        return json_patch(rq->arena, live, body, ret, &e) == 0 ? 0 : fail_err(rq, &e);
    if (!json_is(body, JSON_OBJECT))
        return fail_with(rq, REASON_BAD_REQUEST, "the body must be a Scale, or a patch of one");
    *ret = rq->verb == VERB_PATCH ? json_merge_patch(rq->arena, live, body) : body;
    return 0;
}

int handle_scale(struct server_request *rq)
{
    const struct server_target *t = &rq->target;
    struct store *store = rq->server->opt.store;
    const struct object *old = store_get(store, rq->type, t->namespace, t->name);
    autounref struct object *kept = NULL, *now = NULL;
    struct json *wish, *object, *live;
    const struct json *replicas;
    int64_t n;
    struct err e;
    int rc;

    if (!old)
        return fail_not_found(rq, rq->type, t->name);
    kept = object_ref(old);
    live = scale_of(rq, kept);
    if (rq->verb == VERB_GET) {
        reply_json(rq, 200, live);
        return 0;
    }
    if (read_wish(rq, live, &wish) < 0 || body_check(rq, &schema_scale, wish) < 0)
        return -1;
    replicas = json_find(wish, "spec", "replicas", NULL);
    if (!json_is(replicas, JSON_NUMBER) || json_to_i64(replicas, &n) < 0 || n < 0 || n > INT32_MAX)
        return fail_field(rq, "FieldValueInvalid", "spec.replicas", "Invalid value: must be a whole number, 0 or more");
    object = json_copy(rq->arena, kept->root);
    set_number(rq->arena, object, shown_as(rq)->custom->replicas, n);
    if (json_member_text(json_get(wish, "metadata"), "resourceVersion").n)
        json_set(json_get(object, "metadata"), "resourceVersion",
                 json_copy(rq->arena, json_find(wish, "metadata", "resourceVersion", NULL)));
    if (admission_write(rq, object, kept) < 0 || admission_amounts(rq, object, kept) < 0)
        return -1;
    store_set_dry(store, rq->is_dry);
    rc = store_update(store, owner_update(rq, kept->root, object), STORE_MAIN, &now, &e);
    store_set_dry(store, false);
    if (rc < 0)
        return fail_err(rq, &e);
    reply_json(rq, 200, scale_of(rq, now));
    return 0;
}
