/* namespace.c - what each namespace has, and how it ends; events that are old
 *
 *     delete ──▶ Terminating ──its pods, then all else is deleted──▶ nothing is left ──▶ its finalizer goes, and so
 *                                                                                     does it
 *
 * Pods go first, as in Kubernetes: a pod that is ending still has its ConfigMaps, and the NetworkPolicies that guard it.
 */
#include "server/server_internal.h"

#include "base/log.h"

enum { EVENT_LIFE_MS = 3600 * 1000 };

static const struct resource_type *namespace_type(void)
{
    return type_by_kind(STR("v1"), STR("Namespace"));
}

static bool is_ending(const struct object *o)
{
    return json_find(o->root, "metadata", "deletionTimestamp", NULL);
}

bool namespace_is_ending(struct server *s, struct str name)
{
    const struct object *o = store_get(s->opt.store, namespace_type(), STR_NULL, name);

    return o && is_ending(o);
}

/* ---- what is always there ---- */

static void create_quietly(struct server *s, const struct json *body)
{
    struct store_stats stats;
    struct err e;

    store_stats(s->opt.store, &stats);
    if (stats.failure) /* the store has said it */
        return;
    if (store_create(s->opt.store, body, NULL, &e) < 0 && e.code != ERR_EXISTS)
        log_warn("server: it could not be made", LOG_STR("kind", object_kind(body)), LOG_STR("name", object_name(body)),
                 LOG_TEXT("error", e.text));
}

/* What programs in pods know this server by. */
static void furnish_ca(struct server *s, struct arena *a, struct str namespace)
{
    struct json *fresh = object_new(a, "v1", "ConfigMap", namespace, STR("kube-root-ca.crt"));
    struct json *data = json_set(fresh, "data", json_object(a));
    const struct object *have = store_get(s->opt.store, type_by_kind(STR("v1"), STR("ConfigMap")), namespace,
                                          STR("kube-root-ca.crt"));
    struct err e;

    json_set(data, "ca.crt", json_str(a, auth_tls(s->opt.auth)->client_ca));
    if (!have) {
        create_quietly(s, fresh);
        return;
    }
    if (json_get(have->root, "data") && json_equal(json_get(have->root, "data"), data))
        return;
    fresh = json_copy(a, have->root);
    json_set(fresh, "data", data);
    if (store_update(s->opt.store, fresh, STORE_MAIN, NULL, &e) < 0)
        log_warn("server: a namespace keeps an old kube-root-ca.crt", LOG_STR("namespace", namespace),
                 LOG_TEXT("error", e.text));
}

static void furnish(struct server *s, struct str namespace)
{
    autoarena a = { 0 };

    create_quietly(s, object_new(&a, "v1", "ServiceAccount", namespace, STR("default")));
    furnish_ca(s, &a, namespace);
}

/* What each namespace has, and gets again when somebody takes it away or changes it. */
static const struct {
    const char *kind, *name;
} furniture[] = { { "ServiceAccount", "default" }, { "ConfigMap", "kube-root-ca.crt" } };

struct namespace_names {
    struct arena arena;
    VEC(struct str) list;
};

static void namespace_take_name(void *ctx, const struct object *o)
{
    struct namespace_names *n = ctx;

    if (!is_ending(o))
        *vec_push(&n->arena, &n->list) = arena_str(&n->arena, o->name);
}

static void furnish_all(struct server *s)
{
    struct namespace_names names = { 0 };

    store_list(s->opt.store, namespace_type(), STR_NULL, namespace_take_name, &names);
    VEC_FOREACH(name, &names.list)
        furnish(s, *name);
    arena_done(&names.arena);
}

void server_keys_changed(struct server *s)
{
    furnish_all(s);
}

static void namespace_need(struct server *s, const char *name)
{
    autoarena a = { 0 };
    struct json *j = object_new(&a, "v1", "Namespace", STR_NULL, str_of(name));

    json_push(json_set(json_set(j, "spec", json_object(&a)), "finalizers", json_array(&a)),
              json_str(&a, STR("kubernetes")));
    object_set_label(&a, j, "kubernetes.io/metadata.name", str_of(name));
    create_quietly(s, j);
}

static void need_class(struct server *s, const char *name, int64_t value, const char *about)
{
    autoarena a = { 0 };
    struct json *j = object_new(&a, "scheduling.k8s.io/v1", "PriorityClass", STR_NULL, str_of(name));

    json_set(j, "value", json_int(&a, value));
    json_set(j, "preemptionPolicy", json_str(&a, STR("PreemptLowerPriority")));
    json_set(j, "description", json_str(&a, str_of(about)));
    create_quietly(s, j);
}

static void watch_furniture(struct server *s)
{
    struct err e;

    for (size_t i = 0; i < ARRAY_LEN(furniture); i++) {
        watch_close(s->furniture_watches[i]);
        (void)watch_open(s->opt.store, type_by_kind(STR("v1"), str_of(furniture[i].kind)), STR_NULL, 0,
                         &s->furniture_watches[i], &e); /* of now: always */
    }
}

static void furnish_again(struct server *s, const struct object *lost)
{
    const struct object *namespace = store_get(s->opt.store, namespace_type(), STR_NULL, lost->namespace);

    if (namespace && !is_ending(namespace))
        furnish(s, lost->namespace);
}

static void look_at_furniture(struct server *s)
{
    struct watch_event ev;
    struct err e;
    int rc = 0;

    for (size_t i = 0; i < ARRAY_LEN(furniture) && rc >= 0; i++)
        while ((rc = watch_next(s->furniture_watches[i], &ev, &e)) > 0)
            if ((ev.kind == WATCH_DELETED || ev.kind == WATCH_MODIFIED) && str_is(ev.object->name, furniture[i].name))
                furnish_again(s, ev.object);
    if (rc >= 0)
        return;
    watch_furniture(s); /* it fell behind: nobody knows what it missed */
    furnish_all(s);
}

void namespaces_begin(struct server *s)
{
    static const char *const names[] = { "default", "kube-system", "kube-public", "kube-node-lease" };
    struct err e;

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        namespace_need(s, names[i]);
    need_class(s, "system-cluster-critical", 2000000000,
               "Used for system critical pods that must run in the cluster, but can be moved to another node.");
    need_class(s, "system-node-critical", 2000001000,
               "Used for system critical pods that must not be moved from their current node.");
    furnish_all(s);
    (void)watch_open(s->opt.store, namespace_type(), STR_NULL, 0, &s->namespace_watch, &e); /* of now: always */
    watch_furniture(s);
    s->has_ending = true; /* those that a server before this one left */
}

void namespaces_done(struct server *s)
{
    watch_close(s->namespace_watch);
    for (size_t i = 0; i < ARRAY_LEN(furniture); i++)
        watch_close(s->furniture_watches[i]);
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
static void tell_remains(struct server *s, const struct object *o, const struct namespace_tally *kinds,
                         const struct namespace_tally *finalizers)
{
    autoarena a = { 0 };
    autobuf now = { 0 };
    struct json *body = json_copy(&a, o->root), *status = json_need_object(&a, body, "status");
    struct str why[ARRAY_LEN(ending_conditions)] = { 0 };
    const struct json *before = json_get(status, "conditions");
    struct json *list = json_array(&a);
    bool is_news = json_count(before) != ARRAY_LEN(why);

    if (!status)
        return;
    why[ENDING_CONDITIONS_FAILED] = tally_print(&a, kinds, "Some resources are remaining: ", " has ");
    why[ENDING_CONDITIONS_FAILED + 1] = tally_print(&a, finalizers,
                                                    "Some content in the namespace has finalizers remaining: ", " in ");
    clock_print(&now, server_now_ms(s));
    for (size_t i = 0; i < ARRAY_LEN(why); i++) {
        namespace_add_condition(&a, list, i, why[i], buf_view(&now));
        is_news = is_news || !str_eq(json_member_text(json_at(before, i), "message"),
                                     json_member_text(json_at(list, i), "message"));
    }
    if (!is_news)
        return;
    json_set(status, "conditions", list);
    (void)store_update(s->opt.store, body, STORE_STATUS, NULL, NULL); /* else when something changes */
}

static bool is_left(const struct server *s, const struct object *o)
{
    const struct object *now = store_get(s->opt.store, o->type, o->namespace, o->name);

    return now && str_eq(now->uid, o->uid);
}

static bool is_pods(const struct resource_type *t)
{
    return !t->group[0] && strcmp(t->kind, "Pod") == 0;
}

/* Delete all that is in it, pods or all else; what is left is counted. */
static void empty_of(struct server *s, struct arena *a, struct str namespace, bool pods,
                     struct namespace_tally counts[2])
{
    autoheld all = { .arena = a };
    struct store_delete_options opt = { .grace_s = -1, .propagation = PROPAGATE_BACKGROUND };

    for (size_t i = 0; i < n_type_rows; i++)
        if (type_at(i) && type_at(i)->scope == SCOPE_NAMESPACED && type_at(i)->use == TYPE_STORED &&
            is_pods(type_at(i)) == pods)
            held_add(&all, s, type_at(i), namespace);
    VEC_FOREACH(o, &all.objects) {
        if (!is_ending(*o))
            (void)store_delete(s->opt.store, (*o)->type, (*o)->namespace, (*o)->name, &opt, NULL, NULL);
        if (is_left(s, *o)) {
            tally_add(a, &counts[0], type_resource(a, (*o)->type));
            JSON_FOREACH(f, json_find((*o)->root, "metadata", "finalizers", NULL))
                tally_add(a, &counts[1], json_text(f, STR_NULL));
        }
    }
}

/* True: nothing is left. */
static bool empty_namespace(struct server *s, const struct object *namespace)
{
    autoarena a = { 0 };
    struct namespace_tally counts[2] = { 0 }; /* kinds, finalizers */

    empty_of(s, &a, namespace->name, true, counts);
    if (!counts[0].rows.n)
        empty_of(s, &a, namespace->name, false, counts);
    if (counts[0].rows.n)
        tell_remains(s, namespace, &counts[0], &counts[1]);
    return !counts[0].rows.n;
}

/* Its own finalizer; those that somebody else has set by /finalize are theirs to remove. */
static void end_namespace(struct server *s, const struct object *o)
{
    autoarena a = { 0 };
    struct json *body, *kept = json_array(&a);

    if (!empty_namespace(s, o))
        return;
    body = json_copy(&a, o->root);
    JSON_FOREACH(f, json_find(o->root, "spec", "finalizers", NULL))
        if (!str_is(json_text(f, STR_NULL), "kubernetes"))
            json_push(kept, json_copy(&a, f));
    json_remove(json_get(body, "spec"), "finalizers");
    if (kept->n)
        json_set(json_get(body, "spec"), "finalizers", kept);
    (void)store_update(s->opt.store, body, STORE_MAIN, NULL, NULL); /* else again when something changes */
}

static void look_at_ending(struct server *s)
{
    autoarena a = { 0 };
    autoheld all = { .arena = &a };

    held_add(&all, s, namespace_type(), STR_NULL);
    s->has_ending = false;
    VEC_FOREACH(o, &all.objects)
        if (is_ending(*o)) {
            s->has_ending = true;
            end_namespace(s, *o);
        }
}

void namespaces_turn(struct server *s)
{
    struct watch_event ev;
    struct err e;
    uint64_t rev;

    while (watch_next(s->namespace_watch, &ev, &e) > 0) {
        if (ev.kind == WATCH_ADDED && !is_ending(ev.object))
            furnish(s, ev.object->name);
        s->has_ending |= ev.kind != WATCH_DELETED && is_ending(ev.object);
    }
    look_at_furniture(s);
    rev = store_revision(s->opt.store);
    if (!s->has_ending || rev == s->namespaces_rev)
        return;
    look_at_ending(s);
    s->namespaces_rev = store_revision(s->opt.store);
}

/* ---- old events ---- */

struct expiry {
    struct held *old;
    int64_t now_ms;
};

/* When it was last seen. Its times are its writer's: one that is yet to come would keep it for ever. */
static void keep_old(void *ctx, const struct object *o)
{
    struct str times[] = { json_member_text(o->root, "lastTimestamp"), json_member_text(o->root, "eventTime"),
                           json_member_text(json_get(o->root, "series"), "lastObservedTime") };
    struct expiry *x = ctx;
    int64_t at_ms = 0, other_ms;

    (void)clock_parse(json_member_text(json_get(o->root, "metadata"), "creationTimestamp"), &at_ms, NULL);
    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        if (clock_parse(times[i], &other_ms, NULL) == 0 && other_ms <= x->now_ms)
            at_ms = MAX_OF(at_ms, other_ms);
    if (at_ms < x->now_ms - EVENT_LIFE_MS)
        held_one(x->old, o);
}

void events_expire(struct server *s)
{
    autoarena a = { 0 };
    autoheld old = { .arena = &a };
    struct expiry x = { .old = &old, .now_ms = server_now_ms(s) };
    struct store_delete_options opt = { .propagation = PROPAGATE_BACKGROUND };

    store_list(s->opt.store, type_by_kind(STR("v1"), STR("Event")), STR_NULL, keep_old, &x);
    VEC_FOREACH(o, &old.objects)
        (void)store_delete(s->opt.store, (*o)->type, (*o)->namespace, (*o)->name, &opt, NULL, NULL);
}
