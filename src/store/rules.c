/* rules.c - what the API does to metadata, status and finalizers
 *
 * Pure: the stored object, the wish and the time in, a tree out. Trees are built shallow, that is the top level and
 * metadata are new nodes and all below is shared with the inputs; object_make() copies the result.
 */
#include "store/store_internal.h"

#include "api/meta.h"
#include "api/name.h"
#include "api/pod/status.h"
#include "base/clock.h"
#include "base/util.h"
#include "json/patch.h"

#include <assert.h>

#define FINALIZER_FOREGROUND "foregroundDeletion"
#define FINALIZER_ORPHAN     "orphan"

enum {
    GRACE_DEFAULT_S = 30,
    GRACE_MAX_S = INT32_MAX, /* what is longer is cut: a time far beyond anybody's patience, and sums do not overflow */
};

/* ---- kinds that differ ---- */

/* Core kinds whose generation the API server does not count, what a new object's status says, and whether a write of the
 * status writes labels and annotations too: not of Pods and Nodes, whose marks and labels only some may set. */
static const struct {
    const char *group, *kind;
    bool has_no_generation, keeps_status, status_has_meta;
    const char *first_phase, *first_object;
} odd_types[] = {
    { "", "Pod", .first_phase = "Pending" },
    { "", "Namespace", .has_no_generation = true, .status_has_meta = true, .first_phase = "Active" },
    { "", "PersistentVolumeClaim", .has_no_generation = true, .first_phase = "Pending" },
    { "", "PersistentVolume", .has_no_generation = true, .first_phase = "Pending" },
    { "", "Node", .has_no_generation = true, .keeps_status = true },
    { "", "ConfigMap", .has_no_generation = true },
    { "", "Secret", .has_no_generation = true },
    { "", "Service", .has_no_generation = true, .status_has_meta = true, .first_object = "loadBalancer" },
    { "", "Endpoints", .has_no_generation = true },
    { "", "Event", .has_no_generation = true },
    { "", "ServiceAccount", .has_no_generation = true },
    { "", "ResourceQuota", .has_no_generation = true },
    { "events.k8s.io", "Event", .has_no_generation = true },
    { "coordination.k8s.io", "Lease", .has_no_generation = true },
    { "node.k8s.io", "RuntimeClass", .has_no_generation = true },
    { "rbac.authorization.k8s.io", "Role", .has_no_generation = true },
    { "rbac.authorization.k8s.io", "ClusterRole", .has_no_generation = true },
    { "rbac.authorization.k8s.io", "RoleBinding", .has_no_generation = true },
    { "rbac.authorization.k8s.io", "ClusterRoleBinding", .has_no_generation = true },
};

struct type_rules rules_of(const struct resource_type *type)
{
    struct type_rules rules = { .tracks_generation = true };

    for (size_t i = 0; i < ARRAY_LEN(type->subresources) && type->subresources[i]; i++)
        rules.has_status |= strcmp(type->subresources[i], "status") == 0;
    rules.has_grace = !type->group[0] && strcmp(type->kind, "Pod") == 0;
    for (size_t i = 0; i < ARRAY_LEN(odd_types); i++) {
        if (strcmp(type->group, odd_types[i].group) != 0 || strcmp(type->kind, odd_types[i].kind) != 0)
            continue;
        rules.tracks_generation = !odd_types[i].has_no_generation;
        rules.keeps_status = odd_types[i].keeps_status;
        rules.status_has_meta = odd_types[i].status_has_meta;
        rules.first_phase = odd_types[i].first_phase;
        rules.first_object = odd_types[i].first_object;
    }
    return rules;
}

struct str rules_resource(struct arena *a, const struct resource_type *type)
{
    return arena_fmt(a, "%s%s%s", type->plural, type->group[0] ? "." : "", type->group);
}

/* ---- trees that share ---- */

/* A node like 'j' outside any tree; what is below is shared, so only the node itself may change. */
static struct json *rules_node_like(struct arena *a, const struct json *j)
{
    struct json *copy = arena_alloc(a, sizeof(*copy));

    *copy = *j;
    copy->next = NULL;
    return copy;
}

/* An object with the same members: members may be set and removed, what is below them is shared. */
static struct json *shallow(struct arena *a, const struct json *j)
{
    struct json *copy = json_object(a);

    JSON_FOREACH(member, j)
        json_add(copy, json_key(member), rules_node_like(a, member));
    return copy;
}

/* The member of 'to' becomes that of 'from', or goes if 'from' has none. */
static void take_member(struct arena *a, struct json *to, const struct json *from, const char *key)
{
    const struct json *member = json_get(from, key);

    if (member)
        json_set(to, key, rules_node_like(a, member));
    else
        json_remove(to, key);
}

static struct json *time_node(struct arena *a, int64_t ms)
{
    autobuf text = { 0 };

    clock_print(&text, ms);
    return json_str(a, arena_str(a, buf_view(&text)));
}

static const struct json *meta_of(const struct json *tree)
{
    return json_get(tree, "metadata");
}

/* ---- what every body must have ---- */

int rules_type(const struct json *body, const struct resource_type **ret, struct err *e)
{
    struct str api_version = object_api_version(body), kind = object_kind(body);
    const struct resource_type *type = type_by_kind(api_version, kind);

    if (!type)
        return err_set(e, ERR_INVALID, "no matches for kind \"%.*s\" in version \"%.*s\"", STR_ARG(kind),
                       STR_ARG(api_version));
    if (type->use != TYPE_STORED) /* the kinds that are questions */
        return err_set(e, ERR_INVALID, "objects of kind %s are not stored", type->kind);
    *ret = type;
    return 0;
}

static int check_finalizers(const struct json *meta, struct err *e)
{
    const struct json *list = json_get(meta, "finalizers");

    if (list && !json_is(list, JSON_ARRAY) && !json_is(list, JSON_NULL))
        return err_set(e, ERR_INVALID, "metadata.finalizers: must be a list");
    JSON_FOREACH(item, list)
        if (!json_is(item, JSON_STRING) || item->n == 0)
            return err_set(e, ERR_INVALID, "metadata.finalizers: must be a list of names");
    return 0;
}

static int rules_check_name(struct arena *a, const char *field, struct str name, struct err *e)
{
    const char *wrong = name_check_path_segment(a, name);

    if (name.n > STORE_NAME_MAX)
        return err_set(e, ERR_INVALID, "metadata.%s: must be no longer than %d bytes", field, STORE_NAME_MAX);
    if (wrong)
        return err_set(e, ERR_INVALID, "metadata.%s: %s", field, wrong);
    return 0;
}

static int check_new_meta(struct arena *a, const struct resource_type *type, const struct json *meta, struct err *e)
{
    struct str name = json_member_text(meta, "name"), namespace = json_member_text(meta, "namespace");
    struct str prefix = json_member_text(meta, "generateName");

    if (!json_is(meta, JSON_OBJECT))
        return err_set(e, ERR_INVALID, "metadata: must be an object");
    if (json_member_text(meta, "resourceVersion").n)
        return err_set(e, ERR_INVALID, "metadata.resourceVersion: must not be set on objects to be created");
    if (!name.n && !prefix.n)
        return err_set(e, ERR_INVALID, "metadata.name: name or generateName is required");
    if (rules_check_name(a, name.n ? "name" : "generateName", name.n ? name : prefix, e) < 0)
        return -1;
    if (type->scope == SCOPE_NAMESPACED && rules_check_name(a, "namespace", namespace, e) < 0)
        return -1;
    return check_finalizers(meta, e);
}

/* An empty list and none are the same; then they are also equal. */
static void tidy_finalizers(struct json *meta)
{
    if (json_get(meta, "finalizers") && json_count(json_get(meta, "finalizers")) == 0)
        json_remove(meta, "finalizers");
}

/* ---- create ---- */

static void new_status(struct arena *a, struct type_rules rules, struct json *tree)
{
    /* Of a Pod: what follows from the spec; admission validates it. */
    static const char *const follows[] = { "qosClass", "conditions" };
    const struct json *said = json_get(tree, "status");
    struct json *status;

    if (!rules.has_status || rules.keeps_status)
        return;
    json_remove(tree, "status");
    if (!rules.first_phase && !rules.first_object)
        return;
    status = json_set(tree, "status", json_object(a));
    if (rules.first_phase)
        json_set(status, "phase", json_str(a, str_of(rules.first_phase)));
    if (rules.first_object) /* clients read it without asking whether it is there */
        json_set(status, rules.first_object, json_object(a));
    for (size_t i = 0; rules.has_grace && i < ARRAY_LEN(follows); i++)
        if (json_get(said, follows[i]))
            json_set(status, follows[i], rules_node_like(a, json_get(said, follows[i])));
}

int rules_create(struct arena *a, const struct creation *new, const struct json *body, struct json **ret, struct err *e)
{
    static const char *const not_the_clients[] = { "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink" };
    struct type_rules rules = rules_of(new->type);
    struct json *tree, *meta;

    if (check_new_meta(a, new->type, meta_of(body), e) < 0)
        return -1;
    tree = shallow(a, body);
    meta = json_set(tree, "metadata", shallow(a, meta_of(body)));
    for (size_t i = 0; i < ARRAY_LEN(not_the_clients); i++)
        json_remove(meta, not_the_clients[i]);
    if (new->type->scope == SCOPE_CLUSTER)
        json_remove(meta, "namespace");
    tidy_finalizers(meta);
    json_set(meta, "uid", json_str(a, new->uid));
    json_set(meta, "creationTimestamp", time_node(a, new->now_ms));
    if (rules.tracks_generation)
        json_set(meta, "generation", json_int(a, 1));
    new_status(a, rules, tree);
    *ret = tree;
    return 0;
}

/* Pods being deleted wait for a confirmation that takes the grace to 0, so it must be above; other kinds are there only
 * because of finalizers. */
static int restore_deletion(struct arena *a, struct type_rules rules, struct json *tree, struct err *e)
{
    struct json *meta = json_get(tree, "metadata");
    int64_t at_ms;

    if (!json_get(meta, "deletionTimestamp"))
        return 0;
    if (clock_parse(json_member_text(meta, "deletionTimestamp"), &at_ms, e) < 0)
        return err_wrap(e, "metadata.deletionTimestamp");
    if (rules.has_grace && json_i64(json_get(meta, "deletionGracePeriodSeconds"), 0) <= 0)
        json_set(meta, "deletionGracePeriodSeconds", json_int(a, 1));
    if (rules_is_over(tree))
        return err_set(e, ERR_INVALID, "metadata.deletionTimestamp: must not be set without finalizers");
    return 0;
}

int rules_restore(struct arena *a, const struct creation *new, const struct json *body, struct json **ret,
                  struct err *e)
{
    struct type_rules rules = rules_of(new->type);
    struct json *tree, *meta;
    int64_t created_ms;

    if (!json_is(meta_of(body), JSON_OBJECT))
        return err_set(e, ERR_INVALID, "metadata: must be an object");
    tree = shallow(a, body);
    meta = json_set(tree, "metadata", shallow(a, meta_of(body)));
    json_remove(meta, "resourceVersion");
    if (check_new_meta(a, new->type, meta, e) < 0)
        return -1;
    if (new->type->scope == SCOPE_CLUSTER)
        json_remove(meta, "namespace");
    tidy_finalizers(meta);
    if (!json_member_text(meta, "uid").n)
        json_set(meta, "uid", json_str(a, new->uid));
    if (!json_is(json_get(meta, "creationTimestamp"), JSON_STRING))
        json_set(meta, "creationTimestamp", time_node(a, new->now_ms));
    else if (clock_parse(json_member_text(meta, "creationTimestamp"), &created_ms, e) < 0)
        return err_wrap(e, "metadata.creationTimestamp");
    if (rules.tracks_generation && json_i64(json_get(meta, "generation"), 0) <= 0)
        json_set(meta, "generation", json_int(a, 1));
    if (!json_is(json_get(tree, "status"), JSON_OBJECT) && rules.has_status)
        new_status(a, (struct type_rules){ .has_status = true, .first_phase = rules.first_phase }, tree);
    *ret = tree;
    return restore_deletion(a, rules, tree, e);
}

void rules_set_name(struct arena *a, struct json *tree, struct str name)
{
    json_set(json_get(tree, "metadata"), "name", json_str(a, name));
}

/* ---- update ---- */

/* Everything that counts for the generation. Where status is a subresource it is the stored one on both sides. */
static struct json *without_meta(struct arena *a, const struct json *tree)
{
    struct json *rest = shallow(a, tree);

    json_remove(rest, "apiVersion");
    json_remove(rest, "kind");
    json_remove(rest, "metadata");
    return rest;
}

static void next_generation(struct arena *a, const struct json *old, struct json *meta)
{
    json_set(meta, "generation", json_int(a, json_i64(json_get(meta_of(old), "generation"), 0) + 1));
}

/* While an object is being deleted finalizers may go but none may come. */
static int check_no_new_finalizer(const struct json *old, const struct json *new, struct err *e)
{
    struct str extra = STR_NULL;
    struct map known;

    if (json_count(json_get(new, "finalizers")) == 0)
        return 0;
    map_init(&known, map_seed_default());
    JSON_FOREACH(item, json_get(old, "finalizers"))
        map_put(&known, json_text(item, STR_NULL), item);
    JSON_FOREACH(item, json_get(new, "finalizers"))
        if (!map_get(&known, json_text(item, STR_NULL)))
            extra = json_text(item, STR_NULL);
    map_done(&known);
    if (extra.n)
        return err_set(e, ERR_INVALID,
                       "metadata.finalizers: \"%.*s\" cannot be added while the object is being deleted",
                       STR_ARG(extra));
    return 0;
}

static int check_revision(struct arena *a, const struct object *old, const struct json *meta, struct err *e)
{
    struct str sent = json_member_text(meta, "resourceVersion");

    if (!sent.n || str_is(sent, "0") || str_eq(sent, json_member_text(meta_of(old->root), "resourceVersion")))
        return 0;
    return err_set(e, ERR_CONFLICT,
                   "Operation cannot be fulfilled on %.*s \"%.*s\": the object has been modified; please apply your "
                   "changes to the latest version and try again",
                   STR_ARG(rules_resource(a, old->type)), STR_ARG(old->name));
}

static int check_uid(struct arena *a, const struct object *old, struct str sent, enum err_code code, struct err *e)
{
    if (!sent.n || str_eq(sent, old->uid))
        return 0;
    return err_set(e, code, "%.*s \"%.*s\": uid is %.*s, not %.*s", STR_ARG(rules_resource(a, old->type)),
                   STR_ARG(old->name), STR_ARG(old->uid), STR_ARG(sent));
}

/* The main resource as 'body' has it, with what belongs to the server as it was. */
static struct json *new_main(struct arena *a, struct type_rules rules, const struct json *old, const struct json *body)
{
    static const char *const the_servers[] = { "name",
                                               "namespace",
                                               "uid",
                                               "resourceVersion",
                                               "creationTimestamp",
                                               "deletionTimestamp",
                                               "deletionGracePeriodSeconds",
                                               "selfLink" };
    struct json *tree = shallow(a, body), *meta = json_set(tree, "metadata", shallow(a, meta_of(body)));

    for (size_t i = 0; i < ARRAY_LEN(the_servers); i++)
        take_member(a, meta, meta_of(old), the_servers[i]);
    if (rules.tracks_generation)
        take_member(a, meta, meta_of(old), "generation");
    tidy_finalizers(meta);
    if (rules.has_status)
        take_member(a, tree, old, "status");
    return tree;
}

static const char *const status_meta[] = { "labels", "annotations" };

static struct json *new_status_only(struct arena *a, struct type_rules rules, const struct json *old,
                                    const struct json *body)
{
    struct json *tree = shallow(a, old), *meta;

    take_member(a, tree, body, "status");
    if (!rules.status_has_meta)
        return tree;
    meta = json_set(tree, "metadata", shallow(a, meta_of(old)));
    for (size_t i = 0; i < ARRAY_LEN(status_meta); i++)
        take_member(a, meta, meta_of(body), status_meta[i]);
    return tree;
}

static bool has_same_status(struct type_rules rules, const struct json *old, const struct json *body)
{
    for (size_t i = 0; rules.status_has_meta && i < ARRAY_LEN(status_meta); i++)
        if (!json_equal(json_get(meta_of(old), status_meta[i]), json_get(meta_of(body), status_meta[i])))
            return false;
    return json_equal(json_get(body, "status"), json_get(old, "status"));
}

static int update_main(struct arena *a, const struct object *old, const struct json *body, struct json **ret,
                       struct err *e)
{
    struct type_rules rules = rules_of(old->type);
    struct json *tree, *meta;

    if (check_finalizers(meta_of(body), e) < 0)
        return -1;
    if (json_get(meta_of(old->root), "deletionTimestamp") &&
        check_no_new_finalizer(meta_of(old->root), meta_of(body), e) < 0)
        return -1;
    tree = new_main(a, rules, old->root, body);
    if (json_equal(tree, old->root)) {
        *ret = NULL;
        return 0;
    }
    if (rules.tracks_generation && !json_equal(without_meta(a, tree), without_meta(a, old->root))) {
        meta = json_set(tree, "metadata", shallow(a, meta_of(tree)));
        next_generation(a, old->root, meta);
    }
    *ret = tree;
    return 0;
}

static int update_status(struct arena *a, const struct object *old, const struct json *body, struct json **ret,
                         struct err *e)
{
    struct type_rules rules = rules_of(old->type);

    if (!rules.has_status)
        return err_set(e, ERR_NOT_FOUND, "%.*s \"%.*s\" has no status subresource: update the object itself",
                       STR_ARG(rules_resource(a, old->type)), STR_ARG(old->name));
    *ret = has_same_status(rules, old->root, body) ? NULL : new_status_only(a, rules, old->root, body);
    return 0;
}

static int check_same(struct arena *a, const struct object *old, const struct json *meta, struct err *e)
{
    return check_uid(a, old, json_member_text(meta, "uid"), ERR_CONFLICT, e) < 0 ? -1 : check_revision(a, old, meta, e);
}

int rules_update(struct arena *a, const struct object *old, const struct json *body, struct json **ret, struct err *e)
{
    return check_same(a, old, meta_of(body), e) < 0 ? -1 : update_main(a, old, body, ret, e);
}

int rules_update_status(struct arena *a, const struct object *old, const struct json *body, struct json **ret,
                        struct err *e)
{
    return check_same(a, old, meta_of(body), e) < 0 ? -1 : update_status(a, old, body, ret, e);
}

int rules_patch(struct arena *a, const struct object *old, const struct json *patch, struct json **ret, struct err *e)
{
    static const char *const fixed[] = { "name", "namespace" };
    const struct resource_type *type;
    struct json *body;

    if (!json_is(patch, JSON_OBJECT))
        return err_set(e, ERR_INVALID, "a merge patch must be an object");
    body = json_merge_patch(a, old->root, patch);
    if (!json_is(meta_of(body), JSON_OBJECT))
        return err_set(e, ERR_INVALID, "metadata: must be an object");
    if (rules_type(body, &type, e) < 0)
        return -1;
    if (type != old->type)
        return err_set(e, ERR_INVALID, "kind: a patch cannot change it");
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        if (!json_equal(json_get(meta_of(body), fixed[i]), json_get(meta_of(old->root), fixed[i])))
            return err_set(e, ERR_INVALID, "metadata.%s: a patch cannot change it", fixed[i]);
    if (check_uid(a, old, json_member_text(meta_of(body), "uid"), ERR_INVALID, e) < 0)
        return -1;
    return rules_update(a, old, body, ret, e);
}

int rules_patch_status(struct arena *a, const struct object *old, const struct json *patch, struct json **ret,
                       struct err *e)
{
    struct json *doc = json_object(a), *wish = json_object(a), *body, *meta;

    if (!json_is(patch, JSON_OBJECT))
        return err_set(e, ERR_INVALID, "a patch of the status must be an object");
    take_member(a, doc, old->root, "status");
    take_member(a, wish, patch, "status");
    if (!(body = json_strategic_patch(a, old->type->schema, doc, wish, e)))
        return -1;
    if (json_get(body, "status") && !json_is(json_get(body, "status"), JSON_OBJECT))
        return err_set(e, ERR_INVALID, "status: must be an object");
    meta = json_set(body, "metadata",
                    json_is(meta_of(patch), JSON_OBJECT) ? shallow(a, meta_of(patch)) : json_object(a));
    for (size_t i = 0; i < ARRAY_LEN(status_meta); i++) /* the rest of it are preconditions */
        take_member(a, meta, meta_of(old->root), status_meta[i]);
    return rules_update_status(a, old, body, ret, e);
}

bool rules_is_over(const struct json *tree)
{
    const struct json *meta = meta_of(tree);

    return json_get(meta, "deletionTimestamp") && json_count(json_get(meta, "finalizers")) == 0 &&
           json_count(json_find(tree, "spec", "finalizers", NULL)) == 0 && /* Namespaces */
           json_i64(json_get(meta, "deletionGracePeriodSeconds"), 0) == 0;
}

/* ---- delete ---- */

static int64_t first_grace(const struct object *o, const struct store_delete_options *opt)
{
    int64_t grace_s = opt->grace_s;

    if (!rules_of(o->type).has_grace || !pod_uses_node(o->root))
        return 0;
    if (grace_s == -1)
        grace_s = json_i64(json_find(o->root, "spec", "terminationGracePeriodSeconds", NULL), GRACE_DEFAULT_S);
    if (grace_s < 0) /* as the API has it */
        grace_s = 1;
    return MIN_OF(grace_s, GRACE_MAX_S);
}

static void set_deletion(struct arena *a, struct json *meta, int64_t at_ms, int64_t grace_s)
{
    json_set(meta, "deletionTimestamp", time_node(a, at_ms));
    json_set(meta, "deletionGracePeriodSeconds", json_int(a, grace_s));
}

/* Foreground and orphan exclude each other: the newer wish replaces the older. */
static void add_finalizer(struct arena *a, struct json *meta, enum propagation propagation)
{
    static const char *const finalizers[] = {
        [PROPAGATE_FOREGROUND] = FINALIZER_FOREGROUND, [PROPAGATE_ORPHAN] = FINALIZER_ORPHAN
    };
    struct json *list = json_array(a);

    if (propagation == PROPAGATE_BACKGROUND)
        return;
    JSON_FOREACH(item, json_get(meta, "finalizers"))
        if (!str_is(json_text(item, STR_NULL), FINALIZER_FOREGROUND) &&
            !str_is(json_text(item, STR_NULL), FINALIZER_ORPHAN))
            json_push(list, rules_node_like(a, item));
    json_push(list, json_str(a, str_of(finalizers[propagation])));
    json_set(meta, "finalizers", list);
}

/* A second delete can only make the first one faster. */
static enum delete_answer delete_again(struct arena *a, const struct object *old, int64_t grace_s, struct json **ret)
{
    const struct json *meta = meta_of(old->root);
    int64_t old_grace_s = json_i64(json_get(meta, "deletionGracePeriodSeconds"), 0), at_ms = 0;
    struct json *tree, *new_meta;

    if (grace_s < -1)
        grace_s = 1;
    if (grace_s == -1 || grace_s >= old_grace_s)
        return DELETE_NOTHING;
    if (grace_s == 0 && json_count(json_get(meta, "finalizers")) == 0)
        return DELETE_REMOVE;
    if (clock_parse(json_member_text(meta, "deletionTimestamp"), &at_ms, NULL) < 0)
        assert(!"we wrote it");
    tree = shallow(a, old->root);
    new_meta = json_set(tree, "metadata", shallow(a, meta));
    set_deletion(a, new_meta, at_ms - (old_grace_s - grace_s) * 1000, grace_s); /* counted from the first delete */
    *ret = tree;
    return DELETE_MARK;
}

enum delete_answer rules_delete(struct arena *a, const struct object *old, const struct store_delete_options *opt,
                                int64_t now_ms, struct json **ret)
{
    struct json *tree, *meta;
    int64_t grace_s;

    if (json_get(meta_of(old->root), "deletionTimestamp"))
        return delete_again(a, old, opt->grace_s, ret);
    grace_s = first_grace(old, opt);
    tree = shallow(a, old->root);
    meta = json_set(tree, "metadata", shallow(a, meta_of(old->root)));
    set_deletion(a, meta, now_ms + grace_s * 1000, grace_s);
    add_finalizer(a, meta, opt->propagation);
    if (rules_is_over(tree))
        return DELETE_REMOVE;
    if (rules_of(old->type).tracks_generation)
        next_generation(a, old->root, meta);
    *ret = tree;
    return DELETE_MARK;
}
