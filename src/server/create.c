/* create.c - create */
#include "server/server_internal.h"

/* The namespace is there and is not about to go. */
static int check_namespace(struct server_request *rq)
{
    const struct resource_type *type = type_by_kind(STR("v1"), STR("Namespace"));
    struct str name = rq->target.namespace;

    if (rq->type->scope != SCOPE_NAMESPACED)
        return 0;
    if (!store_get(rq->server->opt.store, type, STR_NULL, name)) {
        fail_not_found(rq, type, name);
        return -1;
    }
    if (!namespace_is_ending(rq->server, name))
        return 0;
    fail_with(
        rq, REASON_FORBIDDEN,
        "%.*s \"%.*s\" is forbidden: unable to create new content in namespace %.*s because it is being terminated",
        STR_ARG(type_resource(rq->arena, rq->type)), STR_ARG(rq->failure.name), STR_ARG(name));
    fail_cause(rq, "NamespaceTerminating", STR("metadata.namespace"),
               arena_fmt(rq->arena, "namespace %.*s is being terminated", STR_ARG(name)));
    return -1;
}

/* What only the server gives. A client may send an object that it has read elsewhere, but for its version. */
static int clear_meta(struct server_request *rq, struct json *object)
{
    struct json *meta = json_get(object, "metadata");

    if (json_member_text(meta, "resourceVersion").n && !str_is(json_member_text(meta, "resourceVersion"), "0"))
        return fail_with(rq, REASON_BAD_REQUEST, "resourceVersion should not be set on objects to be created");
    json_remove(meta, "resourceVersion");
    json_remove(meta, "uid");
    json_remove(meta, "creationTimestamp");
    json_remove(meta, "deletionTimestamp");
    json_remove(meta, "selfLink");
    return 0;
}

/* The name is drawn here, where the rules see it. */
static void need_name(struct server_request *rq, struct json *object)
{
    struct json *meta = json_get(object, "metadata");
    struct str prefix = json_member_text(meta, "generateName");

    if (json_member_text(meta, "name").n || !prefix.n)
        return;
    json_remove(meta, "name"); /* "" is none */
    rq->failure.name = prefix;
}

int create_object(struct server_request *rq, struct json *object)
{
    struct store *store = rq->server->opt.store;
    autounref struct object *o = NULL;
    struct err e;
    int rc;

    need_name(rq, object);
    if (rq->type->custom && custom_is_ending(rq->server, rq->type))
        return fail_with(rq, REASON_METHOD, "create not allowed while custom resource definition is terminating");
    if (clear_meta(rq, object) < 0 || check_namespace(rq) < 0 || admission_write(rq, object, NULL) < 0 ||
        admission_amounts(rq, object, NULL) < 0)
        return -1;
    object = owner_update(rq, NULL, object);
    store_set_dry(store, rq->is_dry);
    rc = store_create(store, object, &o, &e);
    store_set_dry(store, false);
    if (rc < 0)
        return fail_err(rq, &e);
    if (rq->is_dry) {
        struct json *copy = json_copy(rq->arena, o->root);

        json_remove(json_get(copy, "metadata"), "resourceVersion");
        reply_object(rq, 201, copy);
    } else {
        reply_stored(rq, 201, o);
    }
    return 0;
}

int handle_create(struct server_request *rq)
{
    struct json *object;

    return body_object(rq, &object) < 0 ? -1 : create_object(rq, object);
}
