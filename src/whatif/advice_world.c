/* advice_world.c - the state as a list of objects, and what a change makes of it */
#include "whatif/advice_internal.h"

#include "api/meta.h"
#include "base/map.h"
#include "base/util.h"
#include "job/podgroup.h"
#include "json/patch.h"

#define GROUP_KEY "scheduling.k8s.io/group-name"

void world_add(struct advising *v, struct world *w, const struct json *object)
{
    *vec_push(&v->scratch, &w->list) = object;
}

bool is_kind(const struct json *object, const char *kind)
{
    const struct resource_type *type = type_by_kind(object_api_version(object), object_kind(object));

    return type && type == type_by_name(str_of(kind));
}

struct str namespace_of(const struct json *object)
{
    struct str namespace = object_namespace(object);

    return str_empty(namespace) ? STR("default") : namespace;
}

static bool is_object(const struct json *object, const char *kind, struct str namespace, struct str name)
{
    return str_eq(object_name(object), name) && is_kind(object, kind) &&
           (str_empty(namespace) || str_eq(namespace_of(object), namespace));
}

const struct json *world_find(const struct world *w, const char *kind, struct str namespace, struct str name)
{
    VEC_FOREACH(object, &w->list)
        if (is_object(*object, kind, namespace, name))
            return *object;
    return NULL;
}

struct str owner_job(const struct json *group)
{
    JSON_FOREACH(ref, json_find(group, "metadata", "ownerReferences", NULL))
        if (str_is(json_member_text(ref, "kind"), JOB_KIND) &&
            str_is(json_member_text(ref, "apiVersion"), JOB_API_VERSION))
            return json_member_text(ref, "name");
    return STR_NULL;
}

bool is_pod_of_group(const struct json *pod, struct str namespace, struct str group)
{
    return str_eq(object_annotation(pod, GROUP_KEY), group) && str_eq(namespace_of(pod), namespace) &&
           is_kind(pod, "Pod");
}

struct str full_name(struct arena *a, struct str namespace, struct str name)
{
    return arena_fmt(a, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(name));
}

/* ---- beginning ---- */

void world_begin(struct advising *v)
{
    struct map groups; /* by the uid of their jobs */

    map_init(&groups, 0);
    for (size_t i = 0; i < v->in->n; i++) {
        const struct json *object = v->in->objects[i];

        *vec_push(v->a, &v->world.list) = object;
        if (is_kind(object, "PodGroup") && object_controller_uid(object).n)
            map_put(&groups, object_controller_uid(object), (void *)object);
    }
    for (size_t i = 0; i < v->in->n; i++)
        if (!map_get(&groups, object_uid(v->in->objects[i])) && future_lacks_group(v->in->objects[i]))
            *vec_push(v->a, &v->world.list) = future_group_of(v->a, v->in->objects[i]);
    map_done(&groups);
}

/* ---- taking out ---- */

bool belongs_to_job(const struct json *object, struct str namespace, struct str job)
{
    struct str kind = object_kind(object);

    if (!str_eq(namespace_of(object), namespace))
        return false;
    if (str_is(kind, "Pod"))
        return str_eq(object_annotation(object, "volcano.sh/job-name"), job);
    return str_is(kind, "PodGroup") && str_eq(owner_job(object), job);
}

static bool goes_with(const struct json *object, const struct advice_edit *e)
{
    if (is_object(object, e->kind, e->namespace, e->name))
        return true;
    if (strcmp(e->kind, JOB_KIND) == 0)
        return belongs_to_job(object, e->namespace, e->name);
    return strcmp(e->kind, "PodGroup") == 0 && is_pod_of_group(object, e->namespace, e->name);
}

static void take_out(struct world *w, const struct advice_edit *e)
{
    size_t kept = 0;

    for (size_t i = 0; i < w->list.n; i++)
        if (!goes_with(w->list.v[i], e))
            w->list.v[kept++] = w->list.v[i];
    w->list.n = kept;
}

/* ---- making again ---- */

struct json *as_submitted(struct arena *a, const struct json *object)
{
    static const char *const of_the_server[] = { "uid",           "creationTimestamp", "resourceVersion",  "generation",
                                                 "managedFields", "selfLink",          "deletionTimestamp" };
    struct json *copy = json_copy(a, object), *meta = json_get(copy, "metadata");

    json_remove(copy, "status");
    for (size_t i = 0; i < ARRAY_LEN(of_the_server); i++)
        json_remove(meta, of_the_server[i]);
    return copy;
}

static void make_again(struct advising *v, struct world *w)
{
    size_t kept = 0;

    for (size_t i = 0; i < w->list.n; i++) {
        const struct json *object = w->list.v[i];

        if (belongs_to_job(object, v->namespace, v->name))
            continue;
        if (is_object(object, JOB_KIND, v->namespace, v->name))
            object = as_submitted(&v->scratch, object);
        w->list.v[kept++] = object;
    }
    w->list.n = kept;
}

/* ---- fields ---- */

static bool is_parent_there(struct json *root, struct str path)
{
    ptrdiff_t slash = str_rfind_char(path, '/');

    return slash <= 0 || json_pointer(root, str_sub(path, 0, (size_t)slash), NULL);
}

/* The member or element of that name; a member that is not there is made. */
static struct json *step_into(struct arena *a, struct json *at, struct str part)
{
    int64_t i;

    if (json_is(at, JSON_ARRAY))
        return str_to_i64(part, &i) == 0 && i >= 0 ? json_at(at, (size_t)i) : NULL;
    return json_need_object(a, at, arena_cstr(a, part));
}

/* Objects on the way to a field that is not there yet: /spec/capability/cpu of a queue without capability. */
static void make_parents(struct arena *a, struct json *root, struct str path)
{
    struct str rest = str_from(path, 1), part;
    struct json *at = root;

    while (at && str_has_char(rest, '/') && str_split(&rest, '/', &part)) {
        struct json *below = json_is(at, JSON_OBJECT) ? json_get_str(at, part) : NULL;

        at = json_is(below, JSON_ARRAY) ? below : step_into(a, at, part);
    }
}

struct json *edit_object(struct arena *a, const struct json *object, const struct advice_edit *e)
{
    struct json *copy = json_copy(a, object), *ops = json_array(a), *op = json_push(ops, json_object(a));

    if (e->op == EDIT_SET && !is_parent_there(copy, e->path))
        make_parents(a, copy, e->path);
    json_add(op, STR("op"), json_str(a, e->op == EDIT_SET ? STR("add") : STR("remove")));
    json_add(op, STR("path"), json_str(a, e->path));
    if (e->op == EDIT_SET)
        json_add(op, STR("value"), json_copy(a, e->value));
    return json_patch(a, copy, ops, &copy, NULL) < 0 ? NULL : copy;
}

static int edit_field(struct advising *v, struct world *w, const struct advice_edit *e)
{
    VEC_FOREACH(object, &w->list) {
        const struct json *edited;

        if (!is_object(*object, e->kind, e->namespace, e->name))
            continue;
        edited = edit_object(&v->scratch, *object, e);
        if (!edited)
            return -1;
        *object = edited;
        return 0;
    }
    return -1;
}

/* ---- nodes ---- */

struct json *node_like(struct arena *a, const struct json *like, int64_t number)
{
    struct json *node = json_copy(a, like), *meta = json_get(node, "metadata"), *labels = json_get(meta, "labels");
    struct str name = arena_fmt(a, "%.*s-new-%lld", STR_ARG(object_name(like)), (long long)number);

    json_set(meta, "name", json_str(a, name));
    json_remove(meta, "uid");
    json_remove(meta, "creationTimestamp");
    if (json_get(labels, "kubernetes.io/hostname"))
        json_set(labels, "kubernetes.io/hostname", json_str(a, name));
    return node;
}

static int world_add_nodes(struct advising *v, struct world *w, const struct advice_edit *e)
{
    const struct json *like = world_find(w, "Node", STR_NULL, e->name);

    for (int64_t i = 1; like && i <= e->count; i++)
        world_add(v, w, node_like(&v->scratch, like, i));
    return like ? 0 : -1;
}

/* ---- all of it ---- */

static int world_apply(struct advising *v, struct world *w, const struct advice_edit *e)
{
    switch (e->op) {
    case EDIT_SET:
    case EDIT_UNSET:
        return edit_field(v, w, e);
    case EDIT_CREATE:
        world_add(v, w, e->value);
        return 0;
    case EDIT_DELETE:
        take_out(w, e);
        return 0;
    case EDIT_ADD_NODES:
        return world_add_nodes(v, w, e);
    case EDIT_OP_MAX:
        break;
    }
    return -1;
}

/* The controller brings the PodGroup in line with the Job; here it has done so. */
static void follow_job(struct advising *v, struct world *w)
{
    static const char *const followed[] = { "minMember",         "minTaskMember",   "minResources",
                                            "priorityClassName", "networkTopology", "subGroupPolicy" };
    const struct json *root = world_find(w, JOB_KIND, v->namespace, v->name);
    struct job job;

    if (!root)
        return;
    job_decode(&v->scratch, json_copy(&v->scratch, root), &job);
    VEC_FOREACH(o, &w->list) {
        struct json *want, *copy, *spec;

        if (!is_kind(*o, "PodGroup") || !belongs_to_job(*o, v->namespace, v->name))
            continue;
        want = json_get(job_podgroup_new(&v->scratch, &job, NULL), "spec");
        copy = json_copy(&v->scratch, *o);
        spec = json_need_object(&v->scratch, copy, "spec");
        for (size_t i = 0; i < ARRAY_LEN(followed) && spec; i++) {
            json_remove(spec, followed[i]);
            if (json_get(want, followed[i]))
                json_set(spec, followed[i], json_copy(&v->scratch, json_get(want, followed[i])));
        }
        *o = copy;
    }
}

static int apply_all(struct advising *v, struct world *w, const struct suggestion *s)
{
    VEC_FOREACH(e, &s->edits)
        if (world_apply(v, w, e) < 0)
            return -1;
    return 0;
}

static bool edits_job(const struct advising *v, const struct suggestion *s)
{
    VEC_FOREACH(e, &s->edits)
        if (v->is_job && strcmp(e->kind, JOB_KIND) == 0 && e->op != EDIT_DELETE)
            return true;
    return false;
}

int world_edit(struct advising *v, const struct suggestion *s, struct world *ret)
{
    size_t n = v->world.list.n, cap = n + 16;

    *ret = (struct world){ { arena_array(&v->scratch, const struct json *, cap), n, cap } };
    if (n)
        memcpy(ret->list.v, v->world.list.v, n * sizeof(*ret->list.v));
    if ((v->prefix && apply_all(v, ret, v->prefix) < 0) || apply_all(v, ret, s) < 0)
        return -1;
    if (s->recreates)
        make_again(v, ret);
    else if (edits_job(v, s))
        follow_job(v, ret);
    return 0;
}

/* ---- making edits ---- */

void edit_add(struct advising *v, struct suggestion *s, struct advice_edit e)
{
    *vec_push(v->a, &s->edits) = e;
}

void edit_set(struct advising *v, struct suggestion *s, const struct json *object, struct str path,
              const struct json *value)
{
    const struct resource_type *type = type_by_kind(object_api_version(object), object_kind(object));
    struct str namespace = type->scope == SCOPE_NAMESPACED ? namespace_of(object) : STR_NULL;

    edit_add(
        v, s,
        (struct advice_edit){ value ? EDIT_SET : EDIT_UNSET, type->kind, namespace, object_name(object), path, value });
}

void edit_job(struct advising *v, struct suggestion *s, struct str path, const struct json *value)
{
    edit_set(v, s, v->root, path, value);
}
