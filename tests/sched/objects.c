/* objects.c - the objects of the tiny cluster: made from one line, changed, told to the scheduler */
#include "harness.h"

#include "base/clock.h"
#include "base/util.h"
#include "json/patch.h"
#include "yaml/yaml.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static struct json *parse(struct arena *a, const char *yaml)
{
    struct yaml_docs docs = { 0 };
    struct err e;

    if (yaml_parse(a, str_of(yaml), NULL, &docs, &e) < 0 || docs.n != 1)
        fail_msg("bad yaml in a test: %s: %s", e.text, yaml);
    return docs.v[0];
}

/* "{…}" around a list of members, so that callers may leave the braces out. */
static struct json *parse_members(struct arena *a, const char *members)
{
    return parse(a, arena_fmt(a, "{%s}", members ? members : "").p);
}

/* "cpu: 4, memory: 8Gi" without the YAML reader: property tests make millions of these. */
static struct json *amounts_of(struct arena *a, const char *text)
{
    struct json *list = json_object(a);
    struct str rest = str_of(text), item;

    while (!str_empty(rest) && str_split(&rest, ',', &item)) {
        ptrdiff_t colon = str_find_char(item, ':');

        assert_true(colon > 0);
        json_set_key(list, arena_str(a, str_trim(str_sub(item, 0, (size_t)colon))),
                     json_str(a, arena_str(a, str_trim(str_from(item, (size_t)colon + 1)))));
    }
    return list;
}

static struct json *time_json(struct arena *a, int64_t ms)
{
    autobuf text = { 0 };

    clock_print(&text, ms);
    return json_str(a, arena_str(a, buf_view(&text)));
}

static bool is_cluster_wide(struct str kind)
{
    return str_is(kind, "Node") || str_is(kind, "Queue") || str_is(kind, "PriorityClass") ||
           str_is(kind, "HyperNode") || str_is(kind, "Namespace") || str_is(kind, "PersistentVolume");
}

/* The members every object has: uid, creationTimestamp and a revision. */
static void stamp(struct h *h, struct h_object *o)
{
    struct json *meta = json_need_object(&o->arena, o->root, "metadata");

    if (!json_get(meta, "uid"))
        json_set(meta, "uid", json_fmt(&o->arena, "uid-%06llu", (unsigned long long)++h->made));
    if (!json_get(meta, "creationTimestamp"))
        json_set(meta, "creationTimestamp", time_json(&o->arena, h->now_ms));
}

void h_tell(struct h *h, struct h_object *o)
{
    struct json *meta = json_get(o->root, "metadata");

    json_set(meta, "resourceVersion", json_fmt(&o->arena, "%llu", (unsigned long long)++h->rev));
    sched_put(h->s, o->root);
    if (h->on_change)
        h->on_change(h, o, false);
}

static struct h_object *object_add(struct h *h, struct h_object *o)
{
    struct json *meta = json_get(o->root, "metadata");
    struct h_object *old;

    o->kind = json_member_text(o->root, "kind");
    o->name = json_member_text(meta, "name");
    if (!is_cluster_wide(o->kind) && !json_get(meta, "namespace"))
        json_set(meta, "namespace", json_str(&o->arena, STR("default")));
    o->namespace = json_member_text(meta, "namespace");
    o->key = arena_fmt(&o->arena, "%.*s/%.*s/%.*s", STR_ARG(o->kind), STR_ARG(o->namespace), STR_ARG(o->name));
    old = map_get(&h->objects, o->key);
    if (old) { /* the same object, changed */
        json_set(meta, "uid", json_copy(&o->arena, json_find(old->root, "metadata", "uid", NULL)));
        json_set(meta, "creationTimestamp",
                 json_copy(&o->arena, json_find(old->root, "metadata", "creationTimestamp", NULL)));
        old->is_gone = true;
    }
    stamp(h, o);
    map_put(&h->objects, o->key, o);
    *vec_push(&h->arena, &h->list) = o;
    h_tell(h, o);
    return o;
}

static struct h_object *object_new(const char *api, const char *kind, const char *name, const char *namespace)
{
    struct h_object *o = xcalloc(1, sizeof(*o));
    struct json *meta;

    o->root = json_object(&o->arena);
    json_add(o->root, STR("apiVersion"), json_str(&o->arena, str_of(api)));
    json_add(o->root, STR("kind"), json_str(&o->arena, str_of(kind)));
    meta = json_add(o->root, STR("metadata"), json_object(&o->arena));
    json_add(meta, STR("name"), json_str(&o->arena, arena_str(&o->arena, str_of(name))));
    if (namespace)
        json_add(meta, STR("namespace"), json_str(&o->arena, arena_str(&o->arena, str_of(namespace))));
    return o;
}

static void merge(struct h_object *o, const char *more)
{
    if (more)
        o->root = json_merge_patch(&o->arena, o->root, parse_members(&o->arena, more));
}

struct h_object *h_put(struct h *h, const char *yaml)
{
    struct h_object *o = xcalloc(1, sizeof(*o));

    o->root = parse(&o->arena, yaml);
    return object_add(h, o);
}

void h_put_raw(struct h *h, const char *yaml)
{
    autoarena a = { 0 };

    sched_put(h->s, parse(&a, yaml));
}

struct h_object *h_node_more(struct h *h, const char *name, const char *amounts, const char *more)
{
    struct h_object *o = object_new("v1", "Node", name, NULL);
    struct json *labels = json_need_object(&o->arena, json_get(o->root, "metadata"), "labels");
    struct json *status = json_need_object(&o->arena, o->root, "status"), *has;

    json_set(labels, "kubernetes.io/hostname", json_str(&o->arena, arena_str(&o->arena, str_of(name))));
    has = json_set(status, "allocatable", amounts_of(&o->arena, amounts));
    if (!json_get(has, "pods"))
        json_set(has, "pods", json_str(&o->arena, STR("110")));
    merge(o, more);
    return object_add(h, o);
}

struct h_object *h_node(struct h *h, const char *name, const char *amounts)
{
    return h_node_more(h, name, amounts, NULL);
}

struct h_object *h_queue(struct h *h, const char *name, const char *spec)
{
    struct h_object *o = object_new("scheduling.volcano.sh/v1beta1", "Queue", name, NULL);
    struct json *status = json_need_object(&o->arena, o->root, "status");

    json_set(o->root, "spec", parse_members(&o->arena, spec));
    json_set(status, "state", json_str(&o->arena, STR("Open")));
    return object_add(h, o);
}

struct h_object *h_priority(struct h *h, const char *name, int value, const char *more)
{
    struct h_object *o = object_new("scheduling.k8s.io/v1", "PriorityClass", name, NULL);

    json_set(o->root, "value", json_int(&o->arena, value));
    merge(o, more);
    return object_add(h, o);
}

struct h_object *h_budget(struct h *h, const char *name, const char *match_labels, int allowed)
{
    struct h_object *o = object_new("policy/v1", "PodDisruptionBudget", name, "default");
    struct json *spec = json_need_object(&o->arena, o->root, "spec");
    struct json *status = json_need_object(&o->arena, o->root, "status");

    json_set(json_need_object(&o->arena, spec, "selector"), "matchLabels", parse_members(&o->arena, match_labels));
    json_set(status, "disruptionsAllowed", json_int(&o->arena, allowed));
    return object_add(h, o);
}

struct h_object *h_hyper(struct h *h, const char *name, int tier, const char *type, const char *members)
{
    struct h_object *o = object_new("topology.volcano.sh/v1alpha1", "HyperNode", name, NULL);
    struct json *spec = json_need_object(&o->arena, o->root, "spec"), *list;
    struct str rest = str_of(members), item;

    json_set(spec, "tier", json_int(&o->arena, tier));
    list = json_set(spec, "members", json_array(&o->arena));
    while (str_split(&rest, ',', &item)) {
        struct str text = arena_fmt(&o->arena, "type: %s, selector: {exactMatch: {name: %.*s}}", type,
                                    STR_ARG(str_trim(item)));

        json_push(list, parse_members(&o->arena, text.p));
    }
    return object_add(h, o);
}

struct h_object *h_group_new(struct h *h, const char *name, const struct h_group *g)
{
    struct h_object *o = object_new("scheduling.volcano.sh/v1beta1", "PodGroup", name,
                                    g->namespace ? g->namespace : "default");
    struct json *spec = json_need_object(&o->arena, o->root, "spec");

    json_set(spec, "minMember", json_int(&o->arena, g->min));
    json_set(spec, "queue", json_str(&o->arena, arena_str(&o->arena, str_of(g->queue ? g->queue : "default"))));
    if (g->priority)
        json_set(spec, "priorityClassName", json_str(&o->arena, arena_str(&o->arena, str_of(g->priority))));
    if (g->roles)
        json_set(spec, "minTaskMember", parse_members(&o->arena, g->roles));
    if (g->asks)
        json_set(spec, "minResources", amounts_of(&o->arena, g->asks));
    if (g->phase)
        json_set(json_need_object(&o->arena, o->root, "status"), "phase",
                 json_str(&o->arena, arena_str(&o->arena, str_of(g->phase))));
    merge(o, g->more);
    return object_add(h, o);
}

/* ---- pods ---- */

static void pod_meta(struct h_object *o, const char *group, const char *role, int index)
{
    struct json *meta = json_get(o->root, "metadata"), *notes = json_need_object(&o->arena, meta, "annotations");
    struct json *labels = json_need_object(&o->arena, meta, "labels");

    json_set(notes, "scheduling.k8s.io/group-name", json_str(&o->arena, arena_str(&o->arena, str_of(group))));
    if (*role) {
        struct str text = arena_str(&o->arena, str_of(role));

        json_set(notes, "volcano.sh/task-spec", json_str(&o->arena, text));
        json_set(labels, "volcano.sh/task-spec", json_str(&o->arena, text));
        json_set(notes, "volcano.sh/task-index", json_fmt(&o->arena, "%d", index));
    }
}

static void pod_spec(struct h_object *o, struct json *requests)
{
    struct json *spec = json_need_object(&o->arena, o->root, "spec");
    struct json *list = json_need_array(&o->arena, spec, "containers");
    struct json *c = json_push(list, json_object(&o->arena));

    json_set(spec, "schedulerName", json_str(&o->arena, STR("volcano")));
    json_set(c, "name", json_str(&o->arena, STR("c")));
    json_set(c, "image", json_str(&o->arena, STR("image")));
    json_set(json_need_object(&o->arena, c, "resources"), "requests", requests);
    json_set(json_need_object(&o->arena, o->root, "status"), "phase", json_str(&o->arena, STR("Pending")));
}

static struct str group_namespace(struct h *h, const char *group)
{
    VEC_FOREACH(at, &h->list)
        if (!(*at)->is_gone && str_is((*at)->kind, "PodGroup") && str_is((*at)->name, group))
            return (*at)->namespace;
    return STR("default");
}

static int first_free(struct h *h, struct str namespace, const char *group, const char *role)
{
    char key[256];

    for (int i = 0;; i++) {
        int n = snprintf(key, sizeof(key), "Pod/%.*s/%s-%s-%d", STR_ARG(namespace), group, *role ? role : "pod", i);

        if (!map_get(&h->objects, (struct str){ key, (size_t)n }))
            return i;
    }
}

void h_pods_more(struct h *h, const char *group, const char *role, int n, const char *amounts, const char *more)
{
    struct str namespace = group_namespace(h, group);
    int first = first_free(h, namespace, group, role);

    for (int i = first; i < first + n; i++) {
        char name[200];
        struct h_object *o;

        snprintf(name, sizeof(name), "%s-%s-%d", group, *role ? role : "pod", i);
        o = object_new("v1", "Pod", name, arena_cstr(&h->arena, namespace));
        pod_meta(o, group, role, i);
        pod_spec(o, amounts_of(&o->arena, amounts));
        merge(o, more);
        object_add(h, o);
    }
}

void h_singles(struct h *h, const char *prefix, int first, int n, const char *queue, const char *amounts)
{
    for (int i = first; i < first + n; i++) {
        char name[32];

        snprintf(name, sizeof(name), "%s%d", prefix, i);
        h_group(h, name, .min = 1, .queue = queue);
        h_pods(h, name, "w", 1, amounts);
    }
}

void h_pods(struct h *h, const char *group, const char *role, int n, const char *amounts)
{
    h_pods_more(h, group, role, n, amounts, NULL);
}

struct h_object *h_stranger(struct h *h, const char *namespace, const char *name, const char *node, const char *amounts)
{
    struct h_object *o = object_new("v1", "Pod", name, namespace);
    struct json *spec;

    pod_spec(o, amounts_of(&o->arena, amounts));
    spec = json_get(o->root, "spec");
    json_set(spec, "nodeName", json_str(&o->arena, arena_str(&o->arena, str_of(node))));
    json_set(json_get(o->root, "status"), "phase", json_str(&o->arena, STR("Running")));
    return object_add(h, o);
}

/* ---- jobs ---- */

static struct json *job_tasks(struct h_object *o, const struct h_job *j)
{
    struct json *list = json_array(&o->arena), *task = json_push(list, json_object(&o->arena)), *spec, *c;
    struct json *template = json_need_object(&o->arena, task, "template");

    json_set(task, "name", json_str(&o->arena, STR("w")));
    json_set(task, "replicas", json_int(&o->arena, j->replicas));
    spec = j->spec_more ? parse_members(&o->arena, j->spec_more) : json_object(&o->arena);
    json_set(template, "spec", spec);
    c = json_push(json_need_array(&o->arena, spec, "containers"), json_object(&o->arena));
    json_set(c, "name", json_str(&o->arena, STR("c")));
    json_set(c, "image", json_str(&o->arena, STR("image")));
    json_set(json_need_object(&o->arena, c, "resources"), "requests", amounts_of(&o->arena, j->pod));
    return list;
}

/* minResources as the job controller writes it: the pod's amounts times the minimum. */
static void job_asks(struct h_object *o, struct json *spec, const struct h_job *j)
{
    struct resources one, all = { 0 };

    resources_from_json(&o->arena, amounts_of(&o->arena, j->pod), &one);
    resources_add_times(&o->arena, &all, &one, j->min);
    json_set(spec, "minResources", resources_to_json(&o->arena, &all));
}

const char *h_job_new(struct h *h, const char *name, const struct h_job *j)
{
    struct h_object *o = object_new("batch.volcano.sh/v1alpha1", "Job", name, "default"), *g;
    struct json *spec = json_need_object(&o->arena, o->root, "spec"), *owner;
    struct str uid, group;

    json_set(spec, "minAvailable", json_int(&o->arena, j->min));
    json_set(spec, "queue", json_str(&o->arena, str_of(j->queue ? j->queue : "default")));
    json_set(spec, "schedulerName", json_str(&o->arena, STR("volcano")));
    if (j->priority)
        json_set(spec, "priorityClassName", json_str(&o->arena, str_of(j->priority)));
    json_set(spec, "tasks", job_tasks(o, j));
    merge(o, j->more);
    object_add(h, o);

    uid = json_member_text(json_get(o->root, "metadata"), "uid");
    group = arena_fmt(&h->arena, "%s-%.*s", name, STR_ARG(uid));
    g = object_new("scheduling.volcano.sh/v1beta1", "PodGroup", group.p, "default");
    owner = json_push(json_need_array(&g->arena, json_get(g->root, "metadata"), "ownerReferences"),
                      parse_members(&g->arena, "apiVersion: batch.volcano.sh/v1alpha1, kind: Job, controller: true"));
    json_set(owner, "name", json_str(&g->arena, o->name));
    json_set(owner, "uid", json_str(&g->arena, uid));
    spec = json_need_object(&g->arena, g->root, "spec");
    json_set(spec, "minMember", json_int(&g->arena, j->min));
    json_set(spec, "queue", json_str(&g->arena, str_of(j->queue ? j->queue : "default")));
    if (j->priority)
        json_set(spec, "priorityClassName", json_str(&g->arena, str_of(j->priority)));
    job_asks(g, spec, j);
    merge(g, j->group_more);
    object_add(h, g);
    return group.p;
}

void h_job_pods(struct h *h, const char *group, int n)
{
    struct h_object *g = h_get(h, "PodGroup", group), *job;
    struct json *owner = json_at(json_find(g->root, "metadata", "ownerReferences", NULL), 0), *template;
    struct str job_name = json_member_text(owner, "name");
    int first;

    job = h_get(h, "Job", arena_cstr(&h->arena, job_name));
    template = json_find(json_at(json_find(job->root, "spec", "tasks", NULL), 0), "template", "spec", NULL);
    first = first_free(h, STR("default"), job_name.p, "w");
    for (int i = first; i < first + n; i++) {
        struct str name = arena_fmt(&h->arena, "%.*s-w-%d", STR_ARG(job_name), i);
        struct h_object *o = object_new("v1", "Pod", name.p, "default");
        struct json *spec;

        pod_meta(o, group, "w", i);
        json_push(json_need_array(&o->arena, json_get(o->root, "metadata"), "ownerReferences"),
                  json_copy(&o->arena, owner));
        spec = json_set(o->root, "spec", json_copy(&o->arena, template));
        json_set(spec, "schedulerName", json_str(&o->arena, STR("volcano")));
        json_set(json_need_object(&o->arena, o->root, "status"), "phase", json_str(&o->arena, STR("Pending")));
        object_add(h, o);
    }
}

/* ---- changing ---- */

struct h_object *h_get(struct h *h, const char *kind, const char *name)
{
    char key[512];
    int n = snprintf(key, sizeof(key), "%s/%s/%s", kind, is_cluster_wide(str_of(kind)) ? "" : "default", name);
    struct h_object *o = map_get(&h->objects, (struct str){ key, (size_t)n });

    if (o || is_cluster_wide(str_of(kind)))
        return o;
    VEC_FOREACH(at, &h->list) /* another namespace: names are unique in tests */
        if (!(*at)->is_gone && str_is((*at)->kind, kind) && str_is((*at)->name, name))
            return *at;
    return NULL;
}

void h_change(struct h *h, struct h_object *o, const char *more)
{
    merge(o, more);
    o->kind = json_member_text(o->root, "kind");
    o->name = json_member_text(json_get(o->root, "metadata"), "name");
    h_tell(h, o);
}

void h_gone(struct h *h, struct h_object *o)
{
    struct str uid = json_member_text(json_get(o->root, "metadata"), "uid");

    assert_false(o->is_gone);
    o->is_gone = true;
    map_remove(&h->objects, o->key);
    sched_gone(h->s, o->kind, o->namespace, o->name, uid);
    if (h->on_change)
        h->on_change(h, o, true);
}

void h_delete(struct h *h, const char *kind, const char *name)
{
    struct h_object *o = h_get(h, kind, name);

    if (!o)
        fail_msg("no %s %s", kind, name);
    h_gone(h, o);
}

void h_phase(struct h *h, const char *pod, const char *phase)
{
    struct h_object *o = h_get(h, "Pod", pod);
    struct json *status;

    if (!o)
        fail_msg("no pod %s", pod);
    status = json_need_object(&o->arena, o->root, "status");
    json_set(status, "phase", json_str(&o->arena, arena_str(&o->arena, str_of(phase))));
    if (strcmp(phase, "Running") == 0)
        json_set(status, "startTime", time_json(&o->arena, h->now_ms));
    h_tell(h, o);
}

void h_bind(struct h *h, const char *pod, const char *node)
{
    struct h_object *o = h_get(h, "Pod", pod);

    json_set(json_get(o->root, "spec"), "nodeName", json_str(&o->arena, arena_str(&o->arena, str_of(node))));
    h_tell(h, o);
}

void h_mark_deleted(struct h *h, const char *pod)
{
    struct h_object *o = h_get(h, "Pod", pod);

    json_set(json_get(o->root, "metadata"), "deletionTimestamp", time_json(&o->arena, h->now_ms));
    h_tell(h, o);
}
