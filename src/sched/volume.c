/* volume.c - PersistentVolumes and claims: where a volume can be reached from */
#include "sched/volume_internal.h"

#include "base/util.h"
#include "sched/fit.h"
#include "sched/nodematch.h"
#include "sched/sched.h"

static const char *const zone_keys[] = {
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
};

static void claim_free(struct volume_claim *c)
{
    if (!c)
        return;
    arena_done(&c->arena);
    free(c);
}

static void class_free(struct storage_class *c)
{
    if (!c)
        return;
    arena_done(&c->arena);
    free(c);
}

static void volume_free(struct volume *v)
{
    if (!v)
        return;
    arena_done(&v->arena);
    free(v);
}

static bool claim_put(struct sched_model *m, const struct json *object)
{
    const struct json *meta = json_get(object, "metadata");
    struct volume_claim *c = xcalloc(1, sizeof(*c)), *old;
    bool is_same;

    c->key = volume_claim_key(&c->arena, json_member_text(meta, "namespace"), json_member_text(meta, "name"));
    c->volume = arena_str(&c->arena, json_member_text(json_get(object, "spec"), "volumeName"));
    c->class = arena_str(&c->arena, json_member_text(json_get(object, "spec"), "storageClassName"));
    c->node = arena_str(&c->arena, json_member_text(json_get(meta, "annotations"), SELECTED_NODE_KEY));
    old = map_put(&m->claims, c->key, c);
    is_same = old && str_eq(old->volume, c->volume) && str_eq(old->class, c->class) && str_eq(old->node, c->node);
    claim_free(old);
    return !is_same && fit_wants_claim(m, json_member_text(meta, "namespace"), json_member_text(meta, "name"));
}

static void volume_read(struct volume *v, const struct json *object)
{
    autobuf text = { 0 };
    const struct json *labels = json_find(object, "metadata", "labels", NULL);
    const struct json *required = json_find(object, "spec", "nodeAffinity", "required", NULL);
    struct json_parse_options opt = { .limits = { .max_depth = 4096 } };
    struct json *own = NULL;

    if (json_is(required, JSON_OBJECT)) { /* a copy with its text */
        json_print(&text, required);
        if (json_parse(&v->arena, arena_str(&v->arena, buf_view(&text)), &opt, &own, NULL) == 0)
            v->rule = node_rule_new(&v->arena, NULL, own);
    }
    for (size_t i = 0; i < ARRAY_LEN(zone_keys); i++) {
        struct str value = json_member_text(labels, zone_keys[i]);

        if (!str_empty(value))
            *vec_push(&v->arena, &v->zones) = (struct zone_label){ str_of(zone_keys[i]), arena_str(&v->arena, value) };
    }
}

static bool persistent_put(struct sched_model *m, const struct json *object)
{
    struct volume *v = xcalloc(1, sizeof(*v));

    v->name = arena_str(&v->arena, json_member_text(json_get(object, "metadata"), "name"));
    v->driver = arena_str(&v->arena, json_text(json_find(object, "spec", "csi", "driver", NULL), STR_NULL));
    volume_read(v, object);
    volume_free(map_put(&m->volumes, v->name, v));
    return true;
}

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
        claim_free(map_remove(&m->claims, volume_claim_key(&a, namespace, name)));
        if (!fit_wants_claim(m, namespace, name))
            return;
    } else if (str_is(kind, "PersistentVolume")) {
        volume_free(map_remove(&m->volumes, name));
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
    MAP_FOREACH(struct volume *, v, &m->volumes)
        volume_free(v);
    MAP_FOREACH(struct storage_class *, c, &m->storage_classes)
        class_free(c);
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
static bool zones_allow(const struct volume *v, const struct sched_node *n)
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

static const struct str far_from_volume = STR_INIT("node(s) had volume node affinity conflict"),
                        no_zone = STR_INIT("node(s) had no available volume zone"),
                        no_volume = STR_INIT("node(s) didn't find available persistent volumes to bind"),
                        unbound = STR_INIT("pod has unbound immediate PersistentVolumeClaims"),
                        unmade = STR_INIT(
                            "node(s) didn't find available persistent volumes to bind: volumes of a class "
                            "without provisioner are bound by nobody here");

/* What keeps a pod with this claim from the node; NULL: nothing. */
static const struct str *claim_refuses(const struct sched_model *m, const struct volume_claim *claim,
                                       const struct sched_node *n)
{
    const struct volume *v = claim->volume.n ? map_get(&m->volumes, claim->volume) : NULL;
    const struct storage_class *class = claim->volume.n ? NULL : map_get(&m->storage_classes, claim->class);

    if (v && !node_rule_matches(v->rule, n))
        return &far_from_volume;
    if (v && !zones_allow(v, n))
        return &no_zone;
    if (!class)
        return NULL;
    if (!class->waits)
        return m->config.waits_for_volumes ? &unbound : NULL;
    if (m->config.waits_for_volumes && str_is(class->provisioner, "kubernetes.io/no-provisioner"))
        return &unmade;
    return (claim->node.n && !str_eq(claim->node, n->name)) || !node_rule_matches(class->rule, n) ? &no_volume : NULL;
}

bool volume_allows(const struct sched_model *m, const struct pod_class *c, const struct sched_node *n,
                   struct str *ret_why)
{
    autoarena a = { 0 };

    VEC_FOREACH(want, &c->claims) {
        const struct volume_claim *claim = map_get(&m->claims, volume_claim_key(&a, c->namespace, want->name));
        const struct str *why = claim ? claim_refuses(m, claim, n) : m->config.knows_claims ? &want->missing : NULL;

        if (!why)
            continue;
        if (ret_why)
            *ret_why = *why;
        return false;
    }
    return true;
}

bool volume_waits_for_node(const struct sched_model *m, const struct pod_class *c, const struct class_claim *want)
{
    autoarena a = { 0 };
    const struct volume_claim *claim = map_get(&m->claims, volume_claim_key(&a, c->namespace, want->name));
    const struct storage_class *class;

    if (!m->config.waits_for_volumes || !claim || claim->volume.n)
        return false;
    class = map_get(&m->storage_classes, claim->class);
    return class && class->waits;
}
