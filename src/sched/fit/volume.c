/* volume.c - PersistentVolumes and claims: where a volume can be reached from */
#include "sched/fit/volume_internal.h"

#include "api/meta.h"
#include "api/quantity.h"
#include "api/selector.h"
#include "base/util.h"
#include "sched/fit/fit.h"
#include "sched/fit/nodematch.h"
#include "sched/sched.h"

static const char *const zone_keys[] = {
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
};

static void class_free(struct storage_class *c)
{
    if (!c)
        return;
    arena_done(&c->arena);
    free(c);
}

/* ---- claims ---- */

struct volume_claim *volume_claim_need(struct sched_model *m, struct str key)
{
    struct volume_claim *c = map_get(&m->claims, key);

    if (c)
        return c;
    c = xcalloc(1, sizeof(*c) + key.n);
    memcpy(c + 1, key.p, key.n);
    c->key = (struct str){ (char *)(c + 1), key.n };
    list_init(&c->named_by);
    map_put(&m->claims, c->key, c);
    return c;
}

static void claim_free(struct volume_claim *c)
{
    arena_done(&c->arena);
    free(c);
}

void volume_claim_release(struct sched_model *m, struct volume_claim *c)
{
    if (c->exists || c->uses || !list_is_empty(&c->named_by))
        return;
    map_remove(&m->claims, c->key);
    claim_free(c);
}

static struct json *clone_object(struct arena *a, const struct json *j)
{
    return json_is(j, JSON_OBJECT) ? json_clone(a, j) : NULL;
}

static uint32_t modes_of(const struct json *list)
{
    static const char *const names[] = { "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod" };
    uint32_t modes = 0;

    JSON_FOREACH(mode, list)
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
            modes |= str_is(json_text(mode, STR("")), names[i]) ? 1U << i : 0;
    return modes;
}

/* What a claim and a volume say in the same words; 'size' is where each has it. */
static struct volume_want want_of(struct arena *a, const struct json *object, const struct json *size)
{
    const struct json *spec = json_get(object, "spec");
    struct str class = object_annotation(object, "volume.beta.kubernetes.io/storage-class");
    struct quantity q = { 0 };

    (void)quantity_parse(json_text(size, STR("0")), &q, NULL); /* the API server has seen to it */
    return (struct volume_want){
        .bytes_nano = q.nano,
        .modes = modes_of(json_get(spec, "accessModes")),
        .is_block = str_is(json_member_text(spec, "volumeMode"), "Block"),
        .class = arena_str(a, class.n ? class : json_member_text(spec, "storageClassName")),
        .attributes = arena_str(a, json_member_text(spec, "volumeAttributesClassName")),
    };
}

static void claim_read(struct volume_claim *c, const struct json *object)
{
    struct arena *a = &c->arena;
    const struct json *spec = json_get(object, "spec");
    struct selector *selector = NULL;

    c->exists = true;
    c->uid = arena_str(a, object_uid(object));
    c->volume = arena_str(a, json_member_text(spec, "volumeName"));
    c->node = arena_str(a, object_annotation(object, SELECTED_NODE_KEY));
    c->want = want_of(a, object, json_find(spec, "resources", "requests", "storage", NULL));
    c->matches_nothing = selector_from_json(a, clone_object(a, json_get(spec, "selector")), &selector, NULL) < 0;
    c->selector = selector;
}

static void claim_forget(struct volume_claim *c)
{
    arena_reset(&c->arena);
    c->exists = c->matches_nothing = false;
    c->uid = c->volume = c->node = STR_NULL;
    c->want = (struct volume_want){ 0 };
    c->selector = NULL;
}

/* It may be the claim that a volume is kept for, or another of its name. */
static void claim_settle(struct sched_model *m, struct volume_claim *c)
{
    if (!volume_waiting_class(m, c))
        volume_untake(m, c);
    else if (c->taken)
        volume_taken_check(m, c->taken);
    LIST_FOREACH(struct fit_volume, v, &c->named_by, in_order)
        volume_taken_check(m, v);
}

static bool claim_put(struct sched_model *m, const struct json *object)
{
    autoarena a = { 0 };
    struct volume_claim *c = volume_claim_need(m, volume_claim_key(&a, object_namespace(object), object_name(object)));
    struct str uid = arena_str(&a, c->uid), volume = arena_str(&a, c->volume), class = arena_str(&a, c->want.class),
               node = arena_str(&a, c->node);
    bool was_there = c->exists;

    claim_forget(c);
    claim_read(c, object);
    if (!str_eq(uid, c->uid))
        volume_untake(m, c);
    claim_settle(m, c);
    return !(was_there && str_eq(uid, c->uid) && str_eq(volume, c->volume) && str_eq(class, c->want.class) &&
             str_eq(node, c->node)) &&
           fit_wants_claim(m, object_namespace(object), object_name(object));
}

static void claim_gone(struct sched_model *m, struct str key)
{
    struct volume_claim *c = map_get(&m->claims, key);

    if (!c)
        return;
    volume_untake(m, c);
    claim_forget(c);
    volume_claim_release(m, c);
}

/* ---- volumes ---- */

/* The only host that a node selector has; empty: it may have others. */
static struct str only_host(const struct json *required)
{
    const struct json *terms = json_get(required, "nodeSelectorTerms");

    if (json_count(terms) != 1)
        return STR_NULL;
    JSON_FOREACH(e, json_get(json_at(terms, 0), "matchExpressions"))
        if (str_is(json_member_text(e, "key"), VOLUME_HOST_KEY) && str_is(json_member_text(e, "operator"), "In") &&
            json_count(json_get(e, "values")) == 1)
            return json_text(json_at(json_get(e, "values"), 0), STR_NULL);
    return STR_NULL;
}

static void volume_read(struct fit_volume *v, const struct json *object)
{
    struct arena *a = &v->arena;
    const struct json *spec = json_get(object, "spec");
    const struct json *required = clone_object(a, json_find(spec, "nodeAffinity", "required", NULL));
    struct str phase = json_member_text(json_get(object, "status"), "phase");

    v->driver = arena_str(a, json_member_text(json_get(spec, "csi"), "driver"));
    v->has = want_of(a, object, json_find(spec, "capacity", "storage", NULL));
    v->labels = clone_object(a, json_find(object, "metadata", "labels", NULL));
    v->rule = required ? node_rule_new(a, NULL, required) : NULL;
    v->host = only_host(required);
    v->zones.v = NULL;
    v->zones.n = v->zones.cap = 0;
    v->is_going = json_find(object, "metadata", "deletionTimestamp", NULL);
    v->is_available = str_is(phase, "Available") && !v->is_going;
    for (size_t i = 0; i < ARRAY_LEN(zone_keys); i++) {
        struct str value = json_member_text(v->labels, zone_keys[i]);

        if (!str_empty(value))
            *vec_push(a, &v->zones) = (struct zone_label){ str_of(zone_keys[i]), value };
    }
}

static struct fit_volume *volume_need(struct sched_model *m, struct str name)
{
    struct fit_volume *v = map_get(&m->volumes, name);

    if (v)
        return v;
    v = xcalloc(1, sizeof(*v) + name.n);
    memcpy(v + 1, name.p, name.n);
    v->name = (struct str){ (char *)(v + 1), name.n };
    map_put(&m->volumes, v->name, v);
    return v;
}

static bool persistent_put(struct sched_model *m, const struct json *object)
{
    const struct json *ref = json_find(object, "spec", "claimRef", NULL);
    struct fit_volume *v = volume_need(m, object_name(object));
    autoarena a = { 0 };

    volume_unshelve(m, v);
    arena_reset(&v->arena);
    volume_read(v, object);
    v->claim_uid = arena_str(&v->arena, json_member_text(ref, "uid"));
    if (json_is(ref, JSON_OBJECT))
        v->claim = volume_claim_need(
            m, volume_claim_key(&a, json_member_text(ref, "namespace"), json_member_text(ref, "name")));
    volume_shelve(m, v);
    volume_taken_check(m, v);
    return true;
}

static void volume_free(struct fit_volume *v)
{
    if (!v)
        return;
    arena_done(&v->arena);
    free(v);
}

static void persistent_gone(struct sched_model *m, struct str name)
{
    struct fit_volume *v = map_remove(&m->volumes, name);

    if (!v)
        return;
    if (v->taken_by)
        volume_untake(m, v->taken_by);
    volume_unshelve(m, v);
    volume_free(v);
}

/* ---- storage classes ---- */

/* [{matchLabelExpressions: [{key, values}]}] in the words of a node selector; the text is a copy. */
static const struct node_rule *topologies_rule(struct arena *a, const struct json *topologies)
{
    struct json *selector = json_object(a), *terms = json_add(selector, STR("nodeSelectorTerms"), json_array(a));

    if (!json_count(topologies))
        return NULL;
    JSON_FOREACH(topology, topologies) {
        struct json *term = json_push(terms, json_object(a)),
                    *list = json_add(term, STR("matchExpressions"), json_array(a));

        JSON_FOREACH(e, json_get(topology, "matchLabelExpressions")) {
            struct json *one = json_push(list, json_object(a)), *values;

            json_add(one, STR("key"), json_str(a, arena_str(a, json_member_text(e, "key"))));
            json_add(one, STR("operator"), json_str(a, STR("In")));
            values = json_add(one, STR("values"), json_array(a));
            JSON_FOREACH(v, json_get(e, "values"))
                json_push(values, json_str(a, arena_str(a, json_text(v, STR("")))));
        }
    }
    return node_rule_new(a, NULL, selector);
}

static bool class_put(struct sched_model *m, const struct json *object)
{
    struct storage_class *c = xcalloc(1, sizeof(*c));

    c->name = arena_str(&c->arena, json_member_text(json_get(object, "metadata"), "name"));
    c->waits = str_is(json_member_text(object, "volumeBindingMode"), "WaitForFirstConsumer");
    c->provisioner = arena_str(&c->arena, json_member_text(object, "provisioner"));
    c->rule = topologies_rule(&c->arena, json_get(object, "allowedTopologies"));
    class_free(map_put(&m->storage_classes, c->name, c));
    return true;
}

/* ---- news ---- */

void volume_put(struct sched_model *m, const struct json *object)
{
    struct str kind = json_member_text(object, "kind");

    if ((str_is(kind, "PersistentVolumeClaim") && claim_put(m, object)) ||
        (str_is(kind, "StorageClass") && class_put(m, object)) ||
        (str_is(kind, "CSINode") && volume_limits_put(m, json_member_text(json_get(object, "metadata"), "name"),
                                                      json_find(object, "spec", "drivers", NULL))) ||
        (str_is(kind, "PersistentVolume") && persistent_put(m, object)))
        fit_volumes_changed(m);
}

void volume_gone(struct sched_model *m, struct str kind, struct str namespace, struct str name)
{
    autoarena a = { 0 };

    if (str_is(kind, "PersistentVolumeClaim")) {
        claim_gone(m, volume_claim_key(&a, namespace, name));
        if (!fit_wants_claim(m, namespace, name))
            return;
    } else if (str_is(kind, "PersistentVolume")) {
        persistent_gone(m, name);
    } else if (str_is(kind, "StorageClass")) {
        class_free(map_remove(&m->storage_classes, name));
    } else if (str_is(kind, "CSINode")) {
        if (!volume_limits_put(m, name, NULL))
            return;
        model_release_node(m, map_get(&m->nodes, name)); /* unless it is there, or pods are on it */
    } else {
        return;
    }
    fit_volumes_changed(m);
}

void volume_done(struct sched_model *m)
{
    MAP_FOREACH(struct volume_claim *, c, &m->claims)
        claim_free(c);
    MAP_FOREACH(struct fit_volume *, v, &m->volumes)
        volume_free(v);
    MAP_FOREACH(struct storage_class *, c, &m->storage_classes)
        class_free(c);
    volume_shelves_done(m);
    map_done(&m->claims);
    map_done(&m->volumes);
    map_done(&m->storage_classes);
}

static bool has_zone(struct str zones, struct str name)
{
    for (;;) {
        size_t n = 0;

        while (n < zones.n && !str_starts(str_from(zones, n), STR("__")))
            n++;
        if (str_eq(str_sub(zones, 0, n), name))
            return true;
        if (n >= zones.n)
            return false;
        zones = str_from(zones, n + 2);
    }
}

/* A node that says nothing about zones is taken as being everywhere, as in Kubernetes. */
static bool zones_allow(const struct fit_volume *v, const struct sched_node *n)
{
    bool says = false;

    for (size_t i = 0; v->zones.n && i < ARRAY_LEN(zone_keys); i++)
        says = says || json_get(n->labels, zone_keys[i]);
    if (!says)
        return true;
    VEC_FOREACH(z, &v->zones) {
        const struct json *label = json_get_str(n->labels, z->key);

        if (!json_is(label, JSON_STRING) || !has_zone(z->value, json_text(label, STR(""))))
            return false;
    }
    return true;
}

bool volume_reaches(const struct fit_volume *v, const struct sched_node *n)
{
    return node_rule_matches(v->rule, n) && zones_allow(v, n);
}

const struct storage_class *volume_waiting_class(const struct sched_model *m, const struct volume_claim *c)
{
    const struct storage_class *class = c->exists && !c->volume.n ? map_get(&m->storage_classes, c->want.class) : NULL;

    return class && class->waits ? class : NULL;
}

static const struct str far_from_volume = STR_INIT("node(s) had volume node affinity conflict"),
                        no_zone = STR_INIT("node(s) had no available volume zone"),
                        no_volume = STR_INIT("node(s) didn't find available persistent volumes to bind"),
                        lost_volume = STR_INIT("node(s) unavailable due to one or more pvc(s) bound to "
                                               "non-existent pv(s)"),
                        unbound = STR_INIT("pod has unbound immediate PersistentVolumeClaims");

/* … of a claim that has its volume. */
static const struct str *bound_refuses(const struct sched_model *m, const struct volume_claim *claim,
                                       const struct sched_node *n)
{
    const struct fit_volume *v = map_get(&m->volumes, claim->volume);

    if (!v)
        return m->config.waits_for_volumes ? &lost_volume : NULL;
    return !node_rule_matches(v->rule, n) ? &far_from_volume : !zones_allow(v, n) ? &no_zone : NULL;
}

/* Why a pod with this claim cannot use the node, even without other pods; NULL: it can. */
static const struct str *claim_refuses(const struct sched_model *m, const struct volume_claim *claim,
                                       const struct sched_node *n)
{
    const struct storage_class *class = volume_waiting_class(m, claim);

    if (claim->volume.n)
        return bound_refuses(m, claim, n);
    if (!class)
        return m->config.waits_for_volumes ? &unbound : NULL;
    if (claim->node.n && !str_eq(claim->node, n->name))
        return &no_volume;
    if (m->config.waits_for_volumes && !claim->node.n) {
        if (volume_is_near(m, claim, n))
            return NULL;
        if (!class_has_provisioner(class))
            return &no_volume;
    }
    return node_rule_matches(class->rule, n) ? NULL : &no_volume;
}

bool volume_allows(const struct sched_model *m, const struct pod_class *c, const struct sched_node *n,
                   struct str *ret_why)
{
    autoarena a = { 0 };

    VEC_FOREACH(want, &c->claims) {
        const struct volume_claim *claim = map_get(&m->claims, volume_claim_key(&a, c->namespace, want->name));
        const struct str *why = claim && claim->exists   ? claim_refuses(m, claim, n)
                                : m->config.knows_claims ? &want->missing
                                                         : NULL;

        if (!why)
            continue;
        if (ret_why)
            *ret_why = *why;
        return false;
    }
    return true;
}
