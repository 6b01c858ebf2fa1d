/* delete.c - delete one, and all that are selected */
#include "server/server_internal.h"

#include "api/schema/schemas.h"

static const char *const propagations[] = {
    [PROPAGATE_BACKGROUND] = "Background", [PROPAGATE_FOREGROUND] = "Foreground", [PROPAGATE_ORPHAN] = "Orphan"
};

/* ---- how ---- by the body, or by parameters ---- */

static int read_propagation(struct server_request *rq, struct str word, enum propagation *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(propagations); i++)
        if (str_is(word, propagations[i])) {
            *ret = (enum propagation)i;
            return 0;
        }
    return fail_field(rq, "FieldValueNotSupported", "propagationPolicy",
                      "Unsupported value: \"%.*s\": supported values: \"Background\", \"Foreground\", \"Orphan\"",
                      STR_ARG(str_sub(word, 0, 40)));
}

static int fail_both_set(struct server_request *rq, struct str word)
{
    return fail_field(rq, "FieldValueInvalid", "propagationPolicy",
                      "Invalid value: \"%.*s\": orphanDependents and deletionPropagation cannot be both set",
                      STR_ARG(str_sub(word, 0, 40)));
}

int delete_options(struct server_request *rq, const struct json *body, struct store_delete_options *ret)
{
    const struct json *grace = json_get(body, "gracePeriodSeconds"), *before = json_get(body, "preconditions");
    struct str word = json_member_text(body, "propagationPolicy"), rev = json_member_text(before, "resourceVersion");

    if (json_is(grace, JSON_NUMBER) && json_to_i64(grace, &ret->grace_s) < 0)
        return fail_with(rq, REASON_BAD_REQUEST, "gracePeriodSeconds: must be a whole number");
    if (json_is(grace, JSON_NUMBER) && ret->grace_s < 0)
        ret->grace_s = 1;
    ret->uid = json_member_text(before, "uid");
    if (rev.n && str_to_u64(rev, &ret->rev) < 0)
        return fail_with(rq, REASON_BAD_REQUEST, "preconditions.resourceVersion: must be a number");
    JSON_FOREACH(dry, json_get(body, "dryRun")) {
        if (!str_is(json_text(dry, STR_NULL), "All"))
            return fail_field(rq, "FieldValueNotSupported", "dryRun",
                              "Unsupported value: \"%.*s\": supported values: \"All\"",
                              STR_ARG(str_sub(json_text(dry, STR_NULL), 0, 40)));
        rq->is_dry = true;
    }
    if (word.n && json_get(body, "orphanDependents"))
        return fail_both_set(rq, word);
    if (word.n)
        return read_propagation(rq, word, &ret->propagation);
    if (json_bool(json_get(body, "orphanDependents"), false))
        ret->propagation = PROPAGATE_ORPHAN;
    return 0;
}

int delete_read(struct server_request *rq, struct store_delete_options *ret)
{
    struct json *body;
    struct str word = STR_NULL;
    int64_t grace_s;

    *ret = (struct store_delete_options){ .grace_s = -1 };
    if (body_any(rq, body_types, &schema_delete_options, &body) < 0 ||
        param_number(rq, "gracePeriodSeconds", -1, &grace_s) < 0)
        return -1;
    if (body && object_kind(body).n && !str_is(object_kind(body), "DeleteOptions"))
        return fail_with(rq, REASON_BAD_REQUEST, "the body must be DeleteOptions, not \"%.*s\"",
                         STR_ARG(str_sub(object_kind(body), 0, 63)));
    if (grace_s >= 0)
        ret->grace_s = grace_s;
    if (param(rq, "propagationPolicy", &word) && word.n && read_propagation(rq, word, &ret->propagation) < 0)
        return -1;
    if (param_flag(rq, "orphanDependents") && word.n)
        return fail_both_set(rq, word);
    if (param_flag(rq, "orphanDependents"))
        ret->propagation = PROPAGATE_ORPHAN;
    return body ? delete_options(rq, body, ret) : 0;
}

/* ---- one ---- */

/* People see that it ends. */
static void mark_namespace(struct server_request *rq, struct object **o)
{
    struct store *store = rq->server->opt.store;
    struct json *tree = json_copy(rq->arena, (*o)->root), *status = json_need_object(rq->arena, tree, "status");
    struct object *marked;

    if (!status || str_is(json_member_text(status, "phase"), "Terminating"))
        return;
    json_set(status, "phase", json_str(rq->arena, STR("Terminating")));
    if (store_update(store, tree, STORE_STATUS, &marked, NULL) < 0)
        return; /* it is deleted already */
    object_unref(*o);
    *o = marked;
}

int delete_one(struct server_request *rq, const struct object *o, const struct store_delete_options *opt,
               struct object **ret)
{
    struct store *store = rq->server->opt.store;
    autounref struct object *kept = object_ref(o);
    struct err e;
    int rc;

    if (admission_delete(rq, kept) < 0)
        return -1;
    store_set_dry(store, rq->is_dry);
    rc = store_delete(store, &(struct object_key){ kept->type, kept->namespace, kept->name }, opt, ret, &e);
    store_set_dry(store, false);
    if (rc < 0)
        return fail_err(rq, &e);
    if (!rq->is_dry && strcmp(kept->type->plural, "namespaces") == 0)
        mark_namespace(rq, ret);
    return 0;
}

/* Kinds whose object is the answer; for the others it is a Status. */
static bool answers_object(const struct resource_type *t)
{
    static const char *const kinds[] = {
        "Pod", "Service", "Namespace", "PersistentVolume", "PersistentVolumeClaim", "ResourceQuota", "ServiceAccount"
    };

    for (size_t i = 0; !t->group[0] && i < ARRAY_LEN(kinds); i++)
        if (strcmp(t->kind, kinds[i]) == 0)
            return true;
    return false;
}

static bool is_still_there(const struct server_request *rq, const struct object *o)
{
    const struct object *now = store_get(rq->server->opt.store, o->type, o->namespace, o->name);

    return now && str_eq(now->uid, o->uid);
}

static void reply_gone(struct server_request *rq, const struct object *o)
{
    struct json *status = status_success(rq, 0), *details = json_add(status, STR("details"), json_object(rq->arena));

    json_add(details, STR("name"), json_str(rq->arena, o->name));
    if (rq->type->group[0])
        json_add(details, STR("group"), json_str(rq->arena, str_of(rq->type->group)));
    json_add(details, STR("kind"), json_str(rq->arena, str_of(rq->type->plural)));
    json_add(details, STR("uid"), json_str(rq->arena, o->uid));
    reply_json(rq, 200, status);
}

int handle_delete(struct server_request *rq)
{
    const struct server_target *t = &rq->target;
    const struct object *o = store_get(rq->server->opt.store, rq->type, t->namespace, t->name);
    struct store_delete_options opt;
    autounref struct object *last = NULL;

    if (delete_read(rq, &opt) < 0)
        return -1;
    if (!o)
        return fail_not_found(rq, rq->type, t->name);
    if (delete_one(rq, o, &opt, &last) < 0)
        return -1;
    if (answers_object(rq->type) || (!rq->is_dry && is_still_there(rq, last)))
        reply_object(rq, 200, last->root);
    else
        reply_gone(rq, last);
    return 0;
}

/* ---- all that are selected ---- */

struct collection {
    struct selection sel;
    struct held *held;
};

static void delete_take(void *ctx, const struct object *o)
{
    struct collection *c = ctx;

    if (selection_has(&c->sel, o->root))
        held_one(c->held, o);
}

/* The answer is the list as it was. One that is refused does not keep the others. */
int handle_delete_collection(struct server_request *rq)
{
    autoheld all = { .arena = rq->arena };
    struct collection c = { .held = &all };
    struct store_delete_options opt;
    struct json *list, *items;
    int rc = 0;

    if (selection_read(rq, &c.sel) < 0 || delete_read(rq, &opt) < 0)
        return -1;
    list = object_new(rq->arena, arena_cstr(rq->arena, type_api_version(rq->arena, rq->view ? rq->view : rq->type)),
                      arena_cstr(rq->arena, type_list_kind(rq->arena, rq->type)), STR_NULL, STR_NULL);
    json_set(list, "metadata", json_object(rq->arena));
    json_set(json_get(list, "metadata"), "resourceVersion",
             json_fmt(rq->arena, "%llu", (unsigned long long)store_revision(rq->server->opt.store)));
    items = json_set(list, "items", json_array(rq->arena));
    store_list(rq->server->opt.store, rq->type, rq->target.namespace, delete_take, &c);
    VEC_FOREACH(o, &all.objects) {
        autounref struct object *last = NULL;

        json_push(items, json_copy(rq->arena, view_show(rq->arena, rq->view, (*o)->root)));
        if (delete_one(rq, *o, &opt, &last) < 0)
            rc = -1;
    }
    if (rc == 0)
        reply_json(rq, 200, list);
    return rc;
}
