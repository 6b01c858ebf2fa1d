/* fields.c - objects with n items in one field, for every list, map and text of the tables */
#include "cost.h"

#include "api/fields.h"
#include "api/meta.h"
#include "api/schema/schemas.h"
#include "base/util.h"

#include <assert.h>
#include <string.h>

const char *const variant_names[VARIANT_MAX] = { "distinct", "alike", "wrong" };

/* ---- the smallest objects ---- */

#define CONTAINERS "\"containers\":[{\"name\":\"x0\",\"image\":\"x0\"}]"
#define TASKS                                                                                                          \
    "\"tasks\":[{\"name\":\"x0\",\"replicas\":1,\"template\":{\"spec\":{\"restartPolicy\":\"Never\"," CONTAINERS "}}}" \
    "]"

static const struct {
    const char *group, *kind, *rest; /* what else it needs than its name */
} smallest[] = {
    { "batch.volcano.sh", "Job", "{\"spec\":{" TASKS "}}" },
    { "batch.volcano.sh", "CronJob", "{\"spec\":{\"schedule\":\"0 0 1 1 *\",\"jobTemplate\":{\"spec\":{" TASKS "}}}}" },
    { "bus.volcano.sh", "Command",
      "{\"action\":\"AbortJob\",\"target\":{\"apiVersion\":\"batch.volcano.sh/v1alpha1\","
      "\"kind\":\"Job\",\"name\":\"none\",\"uid\":\"none\"}}" },
    { "scheduling.volcano.sh", "PodGroup", "{\"spec\":{\"minMember\":1}}" },
    { "scheduling.volcano.sh", "Queue", "{\"spec\":{\"weight\":1}}" },
    { "flow.volcano.sh", "JobFlow", "{\"spec\":{\"flows\":[{\"name\":\"x0\"}],\"jobRetainPolicy\":\"retain\"}}" },
    { "flow.volcano.sh", "JobTemplate", "{\"spec\":{" TASKS "}}" },
    { "topology.volcano.sh", "HyperNode",
      "{\"spec\":{\"tier\":1,\"members\":[{\"type\":\"Node\",\"selector\":"
      "{\"exactMatch\":{\"name\":\"x0\"}}}]}}" },
    { "", "Pod", "{\"spec\":{" CONTAINERS "}}" },
    { "", "Service", "{\"spec\":{\"ports\":[{\"port\":80}]}}" },
    { "", "Endpoints", "{\"subsets\":[{\"addresses\":[{\"ip\":\"10.0.0.1\"}],\"ports\":[{\"port\":80}]}]}" },
    { "", "Event",
      "{\"involvedObject\":{\"kind\":\"Pod\",\"name\":\"x0\",\"namespace\":\"default\"},\"reason\":\"X\"}" },
    { "events.k8s.io", "Event",
      "{\"regarding\":{\"kind\":\"Pod\",\"name\":\"x0\",\"namespace\":\"default\"},\"reason\":\"X\",\"action\":\"X\","
      "\"eventTime\":\"2024-01-01T00:00:00.000000Z\",\"reportingController\":\"x\",\"reportingInstance\":\"x\","
      "\"type\":\"Normal\"}" },
    { "", "Node", "{\"status\":{\"allocatable\":{\"cpu\":\"0\",\"memory\":\"0\",\"pods\":\"0\"}}}" },
    { "", "PersistentVolumeClaim",
      "{\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}" },
    { "", "PersistentVolume",
      "{\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"capacity\":{\"storage\":\"1Gi\"},\"hostPath\":{\"path\":\"/"
      "x0\"}}}" },
    { "", "LimitRange", "{\"spec\":{\"limits\":[{\"type\":\"Container\",\"max\":{\"cpu\":\"4\"}}]}}" },
    { "", "ResourceQuota", "{\"spec\":{\"hard\":{\"pods\":\"4000\"}}}" },
    { "networking.k8s.io", "NetworkPolicy", "{\"spec\":{\"podSelector\":{}}}" },
    { "scheduling.k8s.io", "PriorityClass", "{\"value\":5}" },
    { "policy", "PodDisruptionBudget", "{\"spec\":{\"minAvailable\":1,\"selector\":{\"matchLabels\":{\"a\":\"b\"}}}}" },
    { "discovery.k8s.io", "EndpointSlice",
      "{\"addressType\":\"IPv4\",\"endpoints\":[{\"addresses\":[\"10.0.0.1\"]}],\"ports\":[{\"port\":80}]}" },
    { "storage.k8s.io", "StorageClass", "{\"provisioner\":\"x.y/z\"}" },
    { "storage.k8s.io", "CSINode", "{\"spec\":{\"drivers\":[{\"name\":\"x0\",\"nodeID\":\"x0\"}]}}" },
    { "rbac.authorization.k8s.io", "RoleBinding",
      "{\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"view\"}}" },
    { "rbac.authorization.k8s.io", "ClusterRoleBinding",
      "{\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"view\"}}" },
    { "authorization.k8s.io", "SubjectAccessReview",
      "{\"spec\":{\"user\":\"u\",\"resourceAttributes\":{\"verb\":\"get\",\"resource\":\"pods\"}}}" },
    { "authorization.k8s.io", "LocalSubjectAccessReview",
      "{\"spec\":{\"user\":\"u\",\"resourceAttributes\":{\"namespace\":\"default\",\"verb\":\"get\",\"resource\":"
      "\"pods\"}}}" },
    { "authorization.k8s.io", "SelfSubjectAccessReview",
      "{\"spec\":{\"resourceAttributes\":{\"verb\":\"get\",\"resource\":\"pods\"}}}" },
    { "authorization.k8s.io", "SelfSubjectRulesReview", "{\"spec\":{\"namespace\":\"default\"}}" },
    { "authentication.k8s.io", "TokenReview", "{\"spec\":{\"token\":\"x\"}}" },
    { "", "Binding", "{\"target\":{\"kind\":\"Node\",\"name\":\"x0\"}}" },
};

/* Its name says its group and plural, both. */
static struct json *definition_smallest(struct arena *a, struct str name)
{
    struct json *ret = NULL;
    struct str text = arena_fmt(
        a,
        "{\"spec\":{\"group\":\"x.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"%.*s\","
        "\"singular\":\"%.*s\",\"kind\":\"K%.*s\",\"listKind\":\"K%.*sList\"},\"versions\":[{\"name\":\"v1\","
        "\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}",
        STR_ARG(name), STR_ARG(name), STR_ARG(name), STR_ARG(name));

    assert(json_parse(a, text, NULL, &ret, NULL) == 0);
    return ret;
}

static bool is_definition(const struct resource_type *t)
{
    return strcmp(t->kind, "CustomResourceDefinition") == 0;
}

struct json *object_smallest(struct arena *a, const struct resource_type *t, struct str name)
{
    struct json *ret = json_object(a), *meta;

    for (size_t i = 0; i < ARRAY_LEN(smallest); i++)
        if (strcmp(t->group, smallest[i].group) == 0 && strcmp(t->kind, smallest[i].kind) == 0)
            assert(json_parse(a, str_of(smallest[i].rest), NULL, &ret, NULL) == 0);
    if (is_definition(t)) {
        ret = definition_smallest(a, name);
        name = arena_fmt(a, "%.*s.x.io", STR_ARG(name));
    }
    json_set(ret, "apiVersion", json_str(a, type_api_version(a, t)));
    json_set(ret, "kind", json_str(a, str_of(t->kind)));
    meta = json_set(ret, "metadata", json_object(a));
    json_set(meta, "name", json_str(a, name));
    return ret;
}

/* ---- values ---- */

static const struct { /* a text of this form, or by this name; the first row that fits */
    const char *(*check)(struct arena *a, const struct json *value);
    const char *name;
    const char *form; /* "%zu": the number of the item */
} texts[] = {
    { format_quantity, NULL, "1" },
    { format_time, NULL, "2024-01-01T00:00:00Z" },
    { format_duration, NULL, "1s" },
    { format_base64, NULL, "eA==" },
    { format_cidr, NULL, "10.%zu.0.0/16" },
    { format_mount_path, NULL, "/m%zu" },
    { NULL, "path", "/m%zu" },
    { NULL, "hostPath", "/m%zu" },
    { NULL, "nonResourceURLs", "/m%zu" },
    { NULL, "ip", "10.0.0.1" },
    { NULL, "clusterIPs", "10.0.0.1" },
    { NULL, "apiVersion", "v1" },
    { NULL, "kind", "Pod" },
    { NULL, "operator", "Exists" },
    { NULL, "jsonPath", ".spec.x%zu" },
    { NULL, "verbs", "v%zu" },
    { NULL, NULL, "x%zu" },
};

static struct str text_form(struct arena *a, const struct field *f, size_t i)
{
    size_t row = 0;

    while (!(texts[row].check && texts[row].check == f->check) &&
           !(!texts[row].check && (!texts[row].name || strcmp(texts[row].name, f->name) == 0)))
        row++;
    if (f->check == format_cidr)
        return arena_fmt(a, "10.%zu.%zu.0/24", i / 256 % 256, i % 256);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    return arena_fmt(a, texts[row].form, i); /* from the table */
#pragma GCC diagnostic pop
}

static struct str text_of(struct arena *a, const struct field *f, size_t i)
{
    size_t n = 0;

    if (!f->values)
        return text_form(a, f, i);
    while (f->values[n])
        n++;
    return str_of(f->values[i % n]);
}

static struct json *int_of(struct arena *a, const struct field *f, size_t i)
{
    int64_t most = f->max > f->min && f->max < 1000000 ? f->max : 1000000;

    return json_int(a, f->min + (int64_t)i % (most - f->min + 1));
}

static struct json *item_of(struct arena *a, const struct field *f, size_t i, int depth);

/* What an item is known by is filled in, so that items can be told from each other. */
static bool is_needed(const struct field *f)
{
    static const char *const known_by[] = { "name",      "key", "port", "containerPort",
                                            "mountPath", "uid", "type", "topologyKey" };

    if (f->flags & FIELD_REQUIRED)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(known_by); i++)
        if (strcmp(f->name, known_by[i]) == 0)
            return true;
    return false;
}

static struct json *filled(struct arena *a, const struct schema *s, const char *key, size_t i, int depth)
{
    struct json *ret = json_object(a);

    for (const struct field *f = s->fields; f < s->fields + s->n_fields && depth < 4; f++) {
        struct json *list;

        if (!is_needed(f) && !(key && strcmp(f->name, key) == 0))
            continue;
        if (f->shape == SHAPE_ONE) {
            json_add(ret, str_of(f->name), item_of(a, f, i, depth + 1));
            continue;
        }
        list = json_add(ret, str_of(f->name), f->shape == SHAPE_LIST ? json_array(a) : json_object(a));
        if (f->shape == SHAPE_LIST)
            json_push(list, item_of(a, f, i, depth + 1));
    }
    return ret;
}

static struct json *free_object(struct arena *a, size_t i)
{
    struct json *ret = json_object(a);

    json_add(ret, STR("name"), json_fmt(a, "x%zu", i));
    return ret;
}

static struct json *item_of(struct arena *a, const struct field *f, size_t i, int depth)
{
    switch ((enum field_kind)f->kind) {
    case FIELD_BOOL:
        return json_bool_new(a, true);
    case FIELD_INT32:
    case FIELD_INT64:
    case FIELD_NUMBER:
    case FIELD_INT_OR_STR:
        return int_of(a, f, i);
    case FIELD_OBJECT:
        if (f->sub)
            return filled(a, f->sub, f->merge_key, i, depth);
        return free_object(a, i);
    default:
        return json_str(a, text_of(a, f, i));
    }
}

struct json *path_item(struct arena *a, const struct path *p, enum variant v, size_t i)
{
    const struct field *f = p->steps[p->n - 1];

    if (v == VARIANT_WRONG)
        return f->kind == FIELD_OBJECT || f->kind == FIELD_STR ? json_int(a, (int64_t)i) : json_array(a);
    return item_of(a, f, v == VARIANT_ALIKE ? 0 : i, 0);
}

/* ---- paths ---- */

static bool field_is_free(const struct field *f) /* an object nobody describes */
{
    return f->kind == FIELD_OBJECT && !f->sub && f->shape == SHAPE_ONE;
}

static bool field_is_text(const struct field *f)
{
    return f->kind == FIELD_STR && f->shape == SHAPE_ONE && !f->values;
}

bool path_is_text(const struct path *p)
{
    return field_is_text(p->steps[p->n - 1]);
}

struct str path_print(struct arena *a, const struct path *p)
{
    struct str ret = STR_NULL;

    for (size_t i = 0; i < p->n; i++)
        ret = arena_fmt(a, "%.*s%s%s", STR_ARG(ret), i ? "." : "", p->steps[i]->name);
    return ret;
}

struct walked { /* which fields of which schemas were met */
    const struct field *v[4096];
    size_t n;
};

static bool walked_add(struct walked *w, const struct field *f)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->v[i] == f)
            return false;
    if (w->n < ARRAY_LEN(w->v))
        w->v[w->n++] = f;
    return true;
}

struct path_walk {
    struct walked *met; /* NULL: every way down */
    bool is_short;
    void (*each)(void *ctx, const struct path *p);
    void *ctx;
};

static void paths_below(const struct path_walk *w, const struct schema *s, struct path *p);

static void path_visit(const struct path_walk *w, const struct field *f, struct path *p)
{
    if (w->met && !walked_add(w->met, f))
        return;
    p->steps[p->n++] = f;
    if (f->shape != SHAPE_ONE || field_is_free(f) || field_is_text(f))
        w->each(w->ctx, p);
    if (f->kind == FIELD_OBJECT && f->sub && !(w->is_short && f->sub == &schema_pod_template))
        paths_below(w, f->sub, p);
    p->n--;
}

/* Containers before those of other kinds, which have the same fields: what is met first is the one that is tried. */
static void paths_below(const struct path_walk *w, const struct schema *s, struct path *p)
{
    const struct field *main = schema_field(s, STR("containers"));

    if (p->n == PATH_MAX_STEPS)
        return;
    if (main && w->met)
        path_visit(w, main, p);
    for (const struct field *f = s->fields; f < s->fields + s->n_fields; f++)
        path_visit(w, f, p);
}

void paths_walk(const struct resource_type *t, bool all, void (*each)(void *ctx, const struct path *p), void *ctx)
{
    struct path_walk w = { .is_short = !all && strcmp(t->kind, "Job") != 0, .each = each, .ctx = ctx };
    struct path p = { .n = 0 };

    w.met = all ? NULL : xcalloc(1, sizeof(*w.met));
    if (t->schema)
        paths_below(&w, t->schema, &p);
    free(w.met);
}

/* ---- planting ---- */

/* One step down: the object below the field, made if it is missing. */
static struct json *object_below(struct arena *a, struct json *at, const struct field *f)
{
    struct json *m = json_get(at, f->name);

    if (!m)
        m = json_set(at, f->name,
                     f->shape == SHAPE_LIST  ? json_array(a)
                     : f->shape == SHAPE_MAP ? json_object(a)
                                             : item_of(a, f, 0, 0));
    if (f->shape == SHAPE_ONE)
        return m;
    if (!json_count(m) && f->shape == SHAPE_LIST)
        json_push(m, item_of(a, f, 0, 0));
    else if (!json_count(m))
        json_add(m, STR("x0"), item_of(a, f, 0, 0));
    return json_first(m);
}

/* Names of a map's members: resources have a domain, which all others may have too. */
static struct str member_key(struct arena *a, const struct field *f, size_t i)
{
    return f->check == format_quantity ? arena_fmt(a, "x.io/x%zu", i) : arena_fmt(a, "x%zu", i);
}

static struct json *text_long(struct arena *a, enum variant v, size_t n)
{
    static const char *const forms[VARIANT_MAX] = { "a", "a.", "*/(" };
    size_t each = strlen(forms[v]);
    char *text = arena_alloc(a, n + 1);

    for (size_t i = 0; i < n; i++)
        text[i] = forms[v][i % each];
    return json_str(a, (struct str){ text, n });
}

void object_plant(struct arena *a, struct json *object, const struct path *p, enum variant v, size_t from, size_t n)
{
    const struct field *last = p->steps[p->n - 1];
    struct json *all;

    for (size_t i = 0; i + 1 < p->n; i++)
        object = object_below(a, object, p->steps[i]);
    if (path_is_text(p)) {
        json_set(object, last->name, text_long(a, v, n));
        return;
    }
    all = json_set(object, last->name, last->shape == SHAPE_LIST ? json_array(a) : json_object(a));
    for (size_t i = from; i < from + n; i++)
        if (last->shape == SHAPE_LIST)
            json_push(all, path_item(a, p, v, i));
        else
            json_add(all, member_key(a, last, i), field_is_free(last) ? json_str(a, STR("x")) : path_item(a, p, v, i));
}

struct str path_pointer(struct arena *a, const struct json *root, const struct path *p)
{
    struct str ret = STR_NULL;

    for (size_t i = 0; i < p->n; i++) {
        root = json_get(root, p->steps[i]->name);
        ret = arena_fmt(a, "%.*s/%s", STR_ARG(ret), p->steps[i]->name);
        if (i + 1 == p->n || p->steps[i]->shape == SHAPE_ONE)
            continue;
        root = json_first(root);
        ret = p->steps[i]->shape == SHAPE_LIST ? arena_fmt(a, "%.*s/0", STR_ARG(ret))
                                               : arena_fmt(a, "%.*s/%.*s", STR_ARG(ret), STR_ARG(json_key(root)));
    }
    return ret;
}
