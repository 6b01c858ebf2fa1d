/* update.c - update and patch: of the object, or of its status */
#include "server/server_internal.h"

#include "api/name.h"
#include "json/patch.h"

/* Kinds that an update may make, and kinds that need to know what they replace. Kinds that are custom resources on a
 * Kubernetes cluster are so too. */
static const struct {
    const char *group, *kind;
    bool creates, needs_revision;
} odd_kinds[] = {
    { "", "Event", true, false },
    { "", "Endpoints", true, false },
    { "", "Service", true, false },
    { "coordination.k8s.io", "Lease", true, true },
    { "policy", "PodDisruptionBudget", false, true },
};

static bool is_odd(const struct resource_type *t, bool asks_creates)
{
    for (size_t i = 0; i < ARRAY_LEN(odd_kinds); i++)
        if (strcmp(odd_kinds[i].group, t->group) == 0 && strcmp(odd_kinds[i].kind, t->kind) == 0)
            return asks_creates ? odd_kinds[i].creates : odd_kinds[i].needs_revision;
    return !asks_creates && is_custom(t);
}

/* ---- writing ---- */

static enum store_part update_part_of(const struct server_request *rq)
{
    return str_is(rq->target.subresource, "status") ? STORE_STATUS : STORE_MAIN;
}

/* A status may bring labels and annotations along (store/rules.c), which are as they must be. */
static int check_status_meta(struct server_request *rq, struct json *object)
{
    struct problems ps = { .arena = rq->arena };
    struct place root = { .node = object };

    if (!rq->type->group[0] && strcmp(rq->type->kind, "Namespace") == 0)
        object_set_label(rq->arena, object, "kubernetes.io/metadata.name", rq->target.name);
    meta_check(&root, name_check_path_segment, rq->type->scope == SCOPE_NAMESPACED, &ps);
    return ps.n_errors ? fail_problems(rq, &ps) : 0;
}

static int write_object(struct server_request *rq, struct json *object, const struct object *old)
{
    struct store *store = rq->server->opt.store;
    autounref struct object *kept = object_ref(old), *o = NULL;
    struct err e;
    int rc;

    if (body_shape(rq, object) < 0)
        return -1;
    if ((update_part_of(rq) == STORE_MAIN || rq->type->custom) && admission_write(rq, object, kept) < 0)
        return -1;
    if (update_part_of(rq) == STORE_MAIN ? admission_amounts(rq, object, kept) < 0 : check_status_meta(rq, object) < 0)
        return -1;
    object = owner_update(rq, kept->root, object);
    store_set_dry(store, rq->is_dry);
    rc = store_update(store, object, update_part_of(rq), &o, &e);
    store_set_dry(store, false);
    if (rc < 0)
        return fail_err(rq, &e);
    reply_stored(rq, 200, o);
    return 0;
}

/* ---- update ---- */

int handle_update(struct server_request *rq)
{
    const struct server_target *t = &rq->target;
    const struct object *old = store_get(rq->server->opt.store, rq->type, t->namespace, t->name);
    struct json *object;

    if (body_object(rq, &object) < 0)
        return -1;
    if (!old && is_odd(rq->type, true) && !t->subresource.n)
        return create_object(rq, object);
    if (!old)
        return fail_not_found(rq, rq->type, t->name);
    if (is_odd(rq->type, false) && !json_member_text(json_get(object, "metadata"), "resourceVersion").n)
        return fail_field(rq, "FieldValueInvalid", "metadata.resourceVersion",
                          "Invalid value: 0x0: must be specified for an update");
    return write_object(rq, object, old);
}

/* A namespace without finalizers of its own that is being deleted may go. */
int handle_finalize(struct server_request *rq)
{
    const struct object *old = store_get(rq->server->opt.store, rq->type, STR_NULL, rq->target.name);
    struct json *object, *wish;

    if (body_object(rq, &wish) < 0)
        return -1;
    if (!old)
        return fail_not_found(rq, rq->type, rq->target.name);
    object = json_copy(rq->arena, old->root);
    json_set(object, "spec",
             json_is(json_get(wish, "spec"), JSON_OBJECT) ? json_copy(rq->arena, json_get(wish, "spec"))
                                                          : json_object(rq->arena));
    return write_object(rq, object, old);
}

/* ---- patch ---- */

static const struct {
    const char *media;
    enum server_patch_kind kind;
} patch_types[] = {
    { "application/json-patch+json", PATCH_JSON },
    { "application/merge-patch+json", PATCH_MERGE },
    { "application/strategic-merge-patch+json", PATCH_STRATEGIC },
    { "application/apply-patch+yaml", PATCH_APPLY },
};

/* What a patch may be for this kind, for body_any(). */
static void list_types(const struct server_request *rq, const char *ret[ARRAY_LEN(patch_types) + 1])
{
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(patch_types); i++) {
        if (patch_types[i].kind == PATCH_STRATEGIC && is_custom(rq->type))
            continue;
        ret[n++] = patch_types[i].media;
    }
    ret[n] = NULL;
}

static enum server_patch_kind update_kind_of(const struct server_request *rq)
{
    struct str text = http_call_header(rq->call, "Content-Type"), media = STR_NULL;

    (void)str_split(&text, ';', &media);
    for (size_t i = 0; i < ARRAY_LEN(patch_types); i++)
        if (str_is(str_trim(media), patch_types[i].media))
            return patch_types[i].kind;
    return SERVER_PATCH_KIND_MAX;
}

static int patch_default(struct arena *a, const struct server_patch *p, struct json **ret, struct err *e)
{
    if (p->kind == PATCH_JSON)
        return json_patch(a, p->live, p->patch, ret, e);
    if (p->kind == PATCH_STRATEGIC)
        *ret = json_strategic_patch(a, p->type->schema, p->live, p->patch, e);
    else
        *ret = json_merge_patch(a, p->live, p->patch);
    return *ret ? 0 : -1;
}

static struct str manager_of(const struct server_request *rq)
{
    struct str name = STR_NULL, agent = http_call_header(rq->call, "User-Agent");

    if (!param(rq, "fieldManager", &name) || !name.n)
        (void)str_split(&agent, '/', &name);
    return name;
}

static int check_parameters(struct server_request *rq, enum server_patch_kind kind)
{
    struct str text = STR_NULL;

    if (kind == SERVER_PATCH_KIND_MAX)
        return fail_with(rq, REASON_MEDIA,
                         "the body of the request was in an unknown format - accepted media types include: "
                         "application/json-patch+json, application/merge-patch+json%s, application/apply-patch+yaml",
                         is_custom(rq->type) ? "" : ", application/strategic-merge-patch+json");
    if (kind == PATCH_APPLY && (!param(rq, "fieldManager", &text) || !text.n))
        return fail_field(rq, "FieldValueRequired", "fieldManager", "Required value: is required for apply patch");
    if (kind != PATCH_APPLY && param(rq, "force", &text))
        return fail_field(rq, "FieldValueForbidden", "force", "Forbidden: may not be specified for non-apply patch");
    return 0;
}

static int make_patched(struct server_request *rq, enum server_patch_kind kind, const struct object *old,
                        const struct json *patch, struct json **ret)
{
    const struct server_options *opt = &rq->server->opt;
    struct server_patch p = { kind,
                              rq->type,
                              rq->target.subresource,
                              manager_of(rq),
                              param_flag(rq, "force"),
                              old ? view_show(rq->arena, rq->view, old->root) : NULL,
                              patch };
    struct err e;

    if (kind == PATCH_APPLY && !opt->patch)
        return owner_apply(rq, p.live, patch, ret);
    if ((opt->patch ? opt->patch(opt->patch_ctx, rq->arena, &p, ret, &e) : patch_default(rq->arena, &p, ret, &e)) == 0)
        return 0;
    if (e.code != ERR_INVALID)
        return fail_err(rq, &e);
    fail_with(rq, REASON_INVALID, "the server rejected our request due to an error in our request: %s", e.text);
    rq->failure.has_no_details = true;
    return -1;
}

/* What no patch changes. */
static int check_patched(struct server_request *rq, const struct object *old, const struct json *object)
{
    const struct json *meta = json_get(object, "metadata"), *before = old ? json_get(old->root, "metadata") : NULL;

    if (!json_is(meta, JSON_OBJECT))
        return fail_with(rq, REASON_BAD_REQUEST, "the patch removes metadata");
    if (!old)
        return 0;
    if (!str_eq(object_kind(object), object_kind(old->root)) ||
        !str_eq(object_api_version(object), object_api_version(old->root)))
        return fail_field(rq, "FieldValueInvalid", "patch", "Invalid value: a patch cannot change kind and apiVersion");
    if (!str_eq(json_member_text(meta, "name"), old->name))
        return fail_with(rq, REASON_BAD_REQUEST,
                         "the name of the object (%.*s) does not match the name on the URL (%.*s)",
                         STR_ARG(str_sub(json_member_text(meta, "name"), 0, 253)), STR_ARG(old->name));
    if (!str_eq(json_member_text(meta, "namespace"), old->namespace))
        return fail_with(rq, REASON_BAD_REQUEST,
                         "the namespace of the provided object does not match the namespace sent on the request");
    if (!str_eq(json_member_text(meta, "uid"), json_member_text(before, "uid")))
        return fail_field(rq, "FieldValueInvalid", "metadata.uid", "Invalid value: field is immutable");
    return 0;
}

/* What apply makes is where the URL says. */
static int place_new(struct server_request *rq, struct json *object)
{
    struct json *meta = json_get(object, "metadata");
    struct str name = json_member_text(meta, "name"), namespace = json_member_text(meta, "namespace");

    if (!str_is(object_kind(object), rq->type->kind) ||
        !str_eq(object_api_version(object), type_api_version(rq->arena, rq->type)))
        return fail_with(rq, REASON_BAD_REQUEST, "the object is not of kind %s", rq->type->kind);
    if ((name.n && !str_eq(name, rq->target.name)) || (namespace.n && !str_eq(namespace, rq->target.namespace)))
        return fail_with(rq, REASON_BAD_REQUEST, "the name or namespace of the object does not match those on the URL");
    if (json_member_text(meta, "uid").n)
        return fail_with(rq, REASON_CONFLICT,
                         "uid mismatch: the provided object specified uid %.*s, and no existing object was found",
                         STR_ARG(str_sub(json_member_text(meta, "uid"), 0, 64)));
    json_set(meta, "name", json_str(rq->arena, rq->target.name));
    if (rq->type->scope == SCOPE_NAMESPACED)
        json_set(meta, "namespace", json_str(rq->arena, rq->target.namespace));
    return 0;
}

int handle_patch(struct server_request *rq)
{
    const struct server_target *t = &rq->target;
    const struct object *old = store_get(rq->server->opt.store, rq->type, t->namespace, t->name);
    enum server_patch_kind kind = update_kind_of(rq);
    const char *types[ARRAY_LEN(patch_types) + 1];
    struct json *patch, *object = NULL;

    list_types(rq, types);
    if (check_parameters(rq, kind) < 0 || body_any(rq, types, NULL, &patch) < 0)
        return -1;
    if (!json_is(patch, kind == PATCH_JSON ? JSON_ARRAY : JSON_OBJECT))
        return fail_with(rq, REASON_BAD_REQUEST, "the patch must be %s",
                         kind == PATCH_JSON ? "a list of operations" : "an object");
    if (!old && kind != PATCH_APPLY)
        return fail_not_found(rq, rq->type, t->name);
    if (make_patched(rq, kind, old, patch, &object) < 0)
        return -1;
    if (!json_is(object, JSON_OBJECT))
        return fail_with(rq, REASON_BAD_REQUEST, "the result of the patch is not an object");
    if (body_check_fields(rq, object) < 0)
        return -1;
    if (rq->view)
        object = view_take(rq->arena, rq->view, rq->type, object);
    if (check_patched(rq, old, object) < 0 || (!old && place_new(rq, object) < 0))
        return -1;
    rq->failure.name = t->name;
    return old ? write_object(rq, object, old) : create_object(rq, object);
}
