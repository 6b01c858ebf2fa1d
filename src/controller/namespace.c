/* namespace.c - what every cluster and namespace has, and how a namespace ends; Events that are old */
#include "controller/control_plane.h"

#include "api/meta.h"
#include "api/types.h"
#include "base/clock.h"
#include "base/util.h"

enum { EVENT_LIFE_MS = 3600 * 1000 };

/* ---- what is always there ---- */

static struct json *namespace_new(struct arena *a, struct str name)
{
    struct json *j = object_new(a, "v1", "Namespace", STR_NULL, name);

    json_push(json_set(json_set(j, "spec", json_object(a)), "finalizers", json_array(a)),
              json_str(a, STR("kubernetes")));
    object_set_label(a, j, "kubernetes.io/metadata.name", name);
    return j;
}

static struct json *priority_class_new(struct arena *a, const char *name, int64_t value, const char *about)
{
    struct json *j = object_new(a, "scheduling.k8s.io/v1", "PriorityClass", STR_NULL, str_of(name));

    json_set(j, "value", json_int(a, value));
    json_set(j, "preemptionPolicy", json_str(a, STR("PreemptLowerPriority")));
    json_set(j, "description", json_str(a, str_of(about)));
    return j;
}

void cluster_defaults_plan(bool (*has)(void *ctx, const struct resource_type *type, struct str name), void *ctx,
                           struct plan *plan)
{
    static const char *const namespaces[] = { "default", "kube-system", "kube-public", "kube-node-lease" };
    static const struct {
        const char *name;
        int64_t value;
        const char *about;
    } classes[] = {
        { "system-cluster-critical", 2000000000,
          "Used for system critical pods that must run in the cluster, but can be moved to another node." },
        { "system-node-critical", 2000001000,
          "Used for system critical pods that must not be moved from their current node." },
    };
    const struct resource_type *namespace = type_by_kind(STR("v1"), STR("Namespace")),
                               *class = type_by_kind(STR("scheduling.k8s.io/v1"), STR("PriorityClass"));

    for (size_t i = 0; i < ARRAY_LEN(namespaces); i++)
        if (!has(ctx, namespace, str_of(namespaces[i])))
            plan_create(plan, namespace, namespace_new(plan->arena, str_of(namespaces[i])));
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        if (!has(ctx, class, str_of(classes[i].name)))
            plan_create(plan, class,
                        priority_class_new(plan->arena, classes[i].name, classes[i].value, classes[i].about));
}

/* What programs in pods know the server by. */
static void plan_ca_config(const struct namespace_defaults_observed *o, struct plan *plan)
{
    const struct resource_type *type = type_by_kind(STR("v1"), STR("ConfigMap"));
    struct arena *a = plan->arena;
    struct json *data = json_object(a), *body;

    json_set(data, "ca.crt", json_str(a, o->ca));
    if (!o->ca_config) {
        body = object_new(a, "v1", "ConfigMap", o->namespace, STR("kube-root-ca.crt"));
        json_set(body, "data", data);
        plan_create(plan, type, body);
        return;
    }
    if (json_get(o->ca_config, "data") && json_equal(json_get(o->ca_config, "data"), data))
        return;
    body = json_copy(a, o->ca_config);
    json_set(body, "data", data);
    plan_update(plan, type, body);
}

void namespace_defaults_plan(const struct namespace_defaults_observed *o, struct plan *plan)
{
    if (!o->has_account)
        plan_create(plan, type_by_kind(STR("v1"), STR("ServiceAccount")),
                    object_new(plan->arena, "v1", "ServiceAccount", o->namespace, STR("default")));
    plan_ca_config(o, plan);
}

/* ---- the end ---- */

/* How many of a thing there are: of kinds that are left, of finalizers that hold them. */
struct namespace_tally {
    VEC(struct {
        struct str name;
        size_t n;
    })
    rows;
};

static void tally_add(struct arena *a, struct namespace_tally *t, struct str name)
{
    VEC_FOREACH(row, &t->rows)
        if (str_eq(row->name, name)) {
            row->n++;
            return;
        }
    vec_push(a, &t->rows);
    t->rows.v[t->rows.n - 1].name = arena_str(a, name);
    t->rows.v[t->rows.n - 1].n = 1;
}

static struct str tally_print(struct arena *a, const struct namespace_tally *t, const char *head, const char *between)
{
    autobuf out = { 0 };

    VEC_FOREACH(row, &t->rows)
        buf_fmt(&out, "%s%.*s%s%zu resource instances", out.n ? ", " : head, STR_ARG(row->name), between, row->n);
    return arena_str(a, buf_view(&out));
}

/* Kubernetes' conditions of a namespace that ends. The first three are failures that cannot happen here; clients look
 * for them to see that the namespace was looked at. */
enum { ENDING_CONDITIONS_FAILED = 3 };
static const struct {
    const char *type, *true_reason, *false_reason, *message;
} ending_conditions[] = {
    { "NamespaceDeletionDiscoveryFailure", "DiscoveryFailed", "ResourcesDiscovered",
      "All resources successfully discovered" },
    { "NamespaceDeletionGroupVersionParsingFailure", "GroupVersionParsingFailed", "ParsedGroupVersions",
      "All legacy kube types successfully parsed" },
    { "NamespaceDeletionContentFailure", "ContentDeletionFailed", "ContentDeleted",
      "All content successfully deleted, may be waiting on finalization" },
    { "NamespaceContentRemaining", "SomeResourcesRemain", "ContentRemoved", "All content successfully removed" },
    { "NamespaceFinalizersRemaining", "SomeFinalizersRemain", "ContentHasNoFinalizers",
      "All content-preserving finalizers finished" },
};

static void namespace_add_condition(struct arena *a, struct json *list, size_t row, struct str why, struct str now)
{
    struct json *j = json_push(list, json_object(a));

    json_add(j, STR("type"), json_str(a, str_of(ending_conditions[row].type)));
    json_add(j, STR("status"), json_str(a, why.n ? STR("True") : STR("False")));
    json_add(j, STR("lastTransitionTime"), json_str(a, now));
    json_add(j, STR("reason"),
             json_str(a, str_of(why.n ? ending_conditions[row].true_reason : ending_conditions[row].false_reason)));
    json_add(j, STR("message"), json_str(a, why.n ? why : str_of(ending_conditions[row].message)));
}

/* People who wait for the end see what holds it. Written once for each reason: it would be news every time. */
static void plan_remains(const struct json *namespace, const struct observed_objects *left, struct plan *plan)
{
    struct arena *a = plan->arena;
    struct namespace_tally kinds = { 0 }, finalizers = { 0 };
    autobuf now = { 0 };
    struct json *body = json_copy(a, namespace), *status = json_need_object(a, body, "status");
    struct str why[ARRAY_LEN(ending_conditions)] = { 0 };
    const struct json *before = json_get(status, "conditions");
    struct json *list = json_array(a);
    bool is_news = json_count(before) != ARRAY_LEN(why);

    if (!status)
        return;
    for (size_t i = 0; i < left->n; i++) {
        tally_add(a, &kinds, type_resource(a, left->v[i].type));
        JSON_FOREACH(f, json_find(left->v[i].root, "metadata", "finalizers", NULL))
            tally_add(a, &finalizers, json_text(f, STR_NULL));
    }
    why[ENDING_CONDITIONS_FAILED] = tally_print(a, &kinds, "Some resources are remaining: ", " has ");
    why[ENDING_CONDITIONS_FAILED + 1] = tally_print(a, &finalizers,
                                                    "Some content in the namespace has finalizers remaining: ", " in ");
    clock_print(&now, plan->now_ms);
    for (size_t i = 0; i < ARRAY_LEN(why); i++) {
        namespace_add_condition(a, list, i, why[i], arena_str(a, buf_view(&now)));
        is_news = is_news || !str_eq(json_member_text(json_at(before, i), "message"),
                                     json_member_text(json_at(list, i), "message"));
    }
    if (!is_news)
        return;
    json_set(status, "conditions", list);
    plan_update_status(plan, type_by_kind(STR("v1"), STR("Namespace")), body);
}

/* Its own finalizer; the programs that have set others by /finalize remove those. */
static void plan_let_go(const struct json *namespace, struct plan *plan)
{
    struct arena *a = plan->arena;
    struct json *body = json_copy(a, namespace), *kept = json_array(a);
    size_t n = 0;

    JSON_FOREACH(f, json_find(namespace, "spec", "finalizers", NULL)) {
        n++;
        if (!str_is(json_text(f, STR_NULL), "kubernetes"))
            json_push(kept, json_copy(a, f));
    }
    if (json_count(kept) == n && (n || !json_find(namespace, "spec", "finalizers", NULL)))
        return; /* nothing changes */
    json_remove(json_get(body, "spec"), "finalizers");
    if (json_count(kept))
        json_set(json_get(body, "spec"), "finalizers", kept);
    plan_update(plan, type_by_kind(STR("v1"), STR("Namespace")), body);
}

void namespace_end_plan(const struct namespace_end_observed *o, struct plan *plan)
{
    const struct observed_objects *left = o->pods.n ? &o->pods : &o->others;

    for (size_t i = 0; i < left->n; i++) {
        const struct json *root = left->v[i].root;

        if (!json_find(root, "metadata", "deletionTimestamp", NULL))
            plan_delete(plan, object_id_of(left->v[i].type, root));
    }
    if (plan->ops.n)
        return;
    if (left->n)
        plan_remains(o->namespace, left, plan);
    else
        plan_let_go(o->namespace, plan);
}

/* ---- old Events ---- */

/* When it was last seen. Its times are its writer's: one that is yet to come would keep it for ever. */
static int64_t event_seen_ms(const struct json *event, int64_t now_ms)
{
    struct str times[] = { json_member_text(event, "lastTimestamp"), json_member_text(event, "eventTime"),
                           json_member_text(json_get(event, "series"), "lastObservedTime") };
    int64_t at_ms = 0, other_ms;

    (void)clock_parse(json_member_text(json_get(event, "metadata"), "creationTimestamp"), &at_ms, NULL);
    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        if (clock_parse(times[i], &other_ms, NULL) == 0 && other_ms <= now_ms)
            at_ms = MAX_OF(at_ms, other_ms);
    return at_ms;
}

void event_expire_plan(const struct json *event, struct plan *plan)
{
    if (event_seen_ms(event, plan->now_ms) < plan->now_ms - EVENT_LIFE_MS)
        plan_delete(plan, object_id_of(type_by_kind(STR("v1"), STR("Event")), event));
}
