/* meta.c - metadata: reading, writing and checking what all objects share */
#include "api/meta.h"

#include "api/fields.h"
#include "api/name.h"
#include "api/schema/schemas.h"

#include <assert.h>

/* clang-format off */

SCHEMA(, schema_owner_ref, "OwnerReference",
    F_STR("apiVersion", NEEDED),
    F_STR("kind", NEEDED),
    F_STR("name", NEEDED),
    F_STR("uid", NEEDED),
    F_BOOL("controller"),
    F_BOOL("blockOwnerDeletion"));

SCHEMA(static, managed_fields, "ManagedFieldsEntry",
    F_STR("manager"),
    F_STR("operation", ONE_OF("Apply", "Update")),
    F_STR("apiVersion"),
    F_TIME("time"),
    F_STR("fieldsType"),
    F_OBJ("fieldsV1", NULL),
    F_STR("subresource"));

SCHEMA_DECODED(, schema_meta, "ObjectMeta", struct meta, offsetof(struct meta, raw),
    D_STR("name", struct meta, name),
    D_STR("generateName", struct meta, generate_name),
    D_STR("namespace", struct meta, namespace),
    F_STR("selfLink"),
    D_STR("uid", struct meta, uid),
    D_STR("resourceVersion", struct meta, resource_version),
    D_LONG("generation", struct meta, generation),
    D_STR("creationTimestamp", struct meta, creation_timestamp, .check = format_time,
        DOC("CreationTimestamp is a timestamp representing the server time when this object was created.")),
    D_STR("deletionTimestamp", struct meta, deletion_timestamp, .check = format_time),
    F_LONG("deletionGracePeriodSeconds"),
    D_STR_MAP("labels", struct meta, labels),
    D_STR_MAP("annotations", struct meta, annotations),
    D_OBJS("ownerReferences", struct meta, owner_references, &schema_owner_ref, POINTER, MERGED_BY("uid")),
    D_STRS("finalizers", struct meta, finalizers, .flags = FIELD_POINTER | FIELD_MERGE),
    F_OBJS("managedFields", &managed_fields));

/* What a template may say about its pods. creationTimestamp: null is what generators leave behind. */
SCHEMA(, schema_template_meta, "ObjectMeta",
    F_STR("name"),
    F_STR("namespace"),
    F_STR_MAP("labels"),
    F_STR_MAP("annotations"),
    F_STRS("finalizers", MERGED_AS_SET),
    F_TIME("creationTimestamp"));

/* clang-format on */

/* ---- reading and writing ---- */

struct json *object_new(struct arena *a, const char *api_version, const char *kind, struct str namespace,
                        struct str name)
{
    struct json *obj = json_object(a), *meta = json_object(a);

    json_add(obj, STR("apiVersion"), json_str(a, str_of(api_version)));
    json_add(obj, STR("kind"), json_str(a, str_of(kind)));
    json_add(obj, STR("metadata"), meta);
    json_add(meta, STR("name"), json_str(a, name));
    if (namespace.n) /* cluster-scoped objects have none */
        json_add(meta, STR("namespace"), json_str(a, namespace));
    return obj;
}

static struct str meta_text(const struct json *obj, const char *key)
{
    return json_member_text(json_get(obj, "metadata"), key);
}

struct str object_kind(const struct json *obj)
{
    return json_member_text(obj, "kind");
}

struct str object_api_version(const struct json *obj)
{
    return json_member_text(obj, "apiVersion");
}

struct str object_name(const struct json *obj)
{
    return meta_text(obj, "name");
}

struct str object_namespace(const struct json *obj)
{
    return meta_text(obj, "namespace");
}

struct str object_uid(const struct json *obj)
{
    return meta_text(obj, "uid");
}

struct str object_label(const struct json *obj, const char *key)
{
    return json_text(json_find(obj, "metadata", "labels", key, NULL), STR_NULL);
}

struct str object_annotation(const struct json *obj, const char *key)
{
    return json_text(json_find(obj, "metadata", "annotations", key, NULL), STR_NULL);
}

/* metadata.<map>[key] = value. Only an unchecked tree has a map of another type; it is left unchanged. */
static void meta_map_set(struct arena *a, struct json *obj, const char *map_name, const char *key, struct str value)
{
    struct json *meta = json_need_object(a, obj, "metadata");
    struct json *map = meta ? json_need_object(a, meta, map_name) : NULL;

    if (map)
        json_set(map, key, json_str(a, value));
}

void object_set_label(struct arena *a, struct json *obj, const char *key, struct str value)
{
    meta_map_set(a, obj, "labels", key, value);
}

void object_set_annotation(struct arena *a, struct json *obj, const char *key, struct str value)
{
    meta_map_set(a, obj, "annotations", key, value);
}

void object_set_controller(struct arena *a, struct json *obj, const struct json *owner)
{
    struct json *meta = json_need_object(a, obj, "metadata"), *refs, *ref;

    if (!meta)
        return;
    ref = json_object(a);
    json_add(ref, STR("apiVersion"), json_str(a, object_api_version(owner)));
    json_add(ref, STR("kind"), json_str(a, object_kind(owner)));
    json_add(ref, STR("name"), json_str(a, object_name(owner)));
    json_add(ref, STR("uid"), json_str(a, object_uid(owner)));
    json_add(ref, STR("controller"), json_bool_new(a, true));
    json_add(ref, STR("blockOwnerDeletion"), json_bool_new(a, true));
    refs = json_set(meta, "ownerReferences", json_array(a));
    json_push(refs, ref);
}

const struct json *object_controller(const struct json *obj)
{
    JSON_FOREACH(ref, json_find(obj, "metadata", "ownerReferences", NULL))
        if (json_bool(json_get(ref, "controller"), false))
            return ref;
    return NULL;
}

struct str object_controller_uid(const struct json *obj)
{
    return json_member_text(object_controller(obj), "uid");
}

/* ---- checking ---- */

#define ANNOTATIONS_MAX_BYTES ((size_t)256 << 10) /* all keys and values of an object, as the API server counts them */

/* Is there no text where there should be some? Another type is not "missing"; the schema speaks about it. */
static bool meta_is_missing(const struct json *j)
{
    return !j || j->type == JSON_NULL || (j->type == JSON_STRING && j->n == 0);
}

/* Enough to see which name is meant, not more. */
static struct str meta_cut(struct str s)
{
    return str_sub(s, 0, 80);
}

static void meta_check_names(const struct place *meta, const char *(*name_check)(struct arena *, struct str),
                             bool needs_namespace, struct problems *ps)
{
    struct place name = place_member(meta, "name"), prefix = place_member(meta, "generateName");
    struct place space = place_member(meta, "namespace");
    struct str name_text = json_text(name.node, STR_NULL), prefix_text = json_text(prefix.node, STR_NULL);
    struct str space_text = json_text(space.node, STR_NULL);
    const char *wrong;

    if (name_text.n && (wrong = name_check(ps->arena, name_text)))
        problem_error(ps, &name, "%s", wrong);
    else if (!name_text.n && meta_is_missing(name.node) && meta_is_missing(prefix.node))
        problem_of(ps, PROBLEM_REQUIRED, &name, "is required (or generateName)");
    /* A generated name is the prefix, cut, and five more letters: the prefix may end with '-' or '.'. */
    if (prefix_text.n && (wrong = name_check(ps->arena, arena_cat(ps->arena, str_sub(prefix_text, 0, 58), STR("x")))))
        problem_error(ps, &prefix, "%s", wrong);
    if (space_text.n && (wrong = name_check_dns_label(ps->arena, space_text)))
        problem_error(ps, &space, "%s", wrong);
    else if (needs_namespace && meta_is_missing(space.node) &&
             json_is(meta->node, JSON_OBJECT)) /* else: no name either */
        problem_of(ps, PROBLEM_REQUIRED, &space, "is required");
}

/* Values of another type are the schema's business. */
static void meta_check_labels(const struct place *labels, struct problems *ps)
{
    JSON_FOREACH(m, json_is(labels->node, JSON_OBJECT) ? labels->node : NULL) {
        struct place at = { labels, m, json_key(m), 0 };
        const char *wrong = name_check_qualified(ps->arena, json_key(m));

        if (wrong)
            problem_error(ps, &at, "key \"%.*s\": %s", STR_ARG(meta_cut(json_key(m))), wrong);
        else if ((wrong = name_check_label_value(ps->arena, json_text(m, STR_NULL))))
            problem_error(ps, &at, "%s", wrong);
    }
}

static void meta_check_annotations(const struct place *annotations, struct problems *ps)
{
    size_t total = 0;

    JSON_FOREACH(m, json_is(annotations->node, JSON_OBJECT) ? annotations->node : NULL) {
        struct place at = { annotations, m, json_key(m), 0 };
        /* unlike label keys, annotation keys may have capitals */
        const char *wrong = name_check_qualified(ps->arena, arena_lower(ps->arena, json_key(m)));

        if (wrong)
            problem_error(ps, &at, "key \"%.*s\": %s", STR_ARG(meta_cut(json_key(m))), wrong);
        total += json_key(m).n + json_text(m, STR_NULL).n;
    }
    if (total > ANNOTATIONS_MAX_BYTES)
        problem_error(ps, annotations, "must be at most %zu bytes in all (has %zu)", ANNOTATIONS_MAX_BYTES, total);
}

static void check_finalizers(const struct place *finalizers, struct problems *ps)
{
    size_t i = 0;

    JSON_FOREACH(item, json_is(finalizers->node, JSON_ARRAY) ? finalizers->node : NULL) {
        struct place at = place_item(finalizers, item, i++);
        const char *wrong = NULL;

        if (item->type == JSON_STRING)
            wrong = name_check_qualified(ps->arena, json_text(item, STR_NULL));
        if (wrong)
            problem_error(ps, &at, "%s", wrong);
    }
}

/* That each has apiVersion, kind, name and uid is in the schema. */
static void check_owners(const struct place *owners, struct problems *ps)
{
    size_t i = 0, n_controllers = 0;

    JSON_FOREACH(ref, json_is(owners->node, JSON_ARRAY) ? owners->node : NULL) {
        struct place at = place_item(owners, ref, i++), controller = place_member(&at, "controller");
        struct place kind = place_member(&at, "kind");

        if (json_bool(controller.node, false) && n_controllers++ > 0)
            problem_error(ps, &controller, "only one owner can be the controller");
        if (str_is(json_text(kind.node, STR_NULL), "Event"))
            problem_error(ps, &kind, "an Event cannot own anything");
    }
}

void meta_check(const struct place *at_object, const char *(*name_check)(struct arena *, struct str),
                bool needs_namespace, struct problems *ps)
{
    struct place meta = place_member(at_object, "metadata"), at;

    if (meta.node && meta.node->type != JSON_OBJECT && meta.node->type != JSON_NULL)
        return; /* the schema said so already */
    meta_check_names(&meta, name_check ? name_check : name_check_dns_subdomain, needs_namespace, ps);
    at = place_member(&meta, "labels");
    meta_check_labels(&at, ps);
    at = place_member(&meta, "annotations");
    meta_check_annotations(&at, ps);
    at = place_member(&meta, "finalizers");
    check_finalizers(&at, ps);
    at = place_member(&meta, "ownerReferences");
    check_owners(&at, ps);
}
