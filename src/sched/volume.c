/* volume.c - PersistentVolumes and claims: where a volume can be reached from */
#include "sched/volume.h"

#include "base/util.h"
#include "sched/fit.h"
#include "sched/nodematch.h"

struct volume_claim {
    struct str key; /* "namespace/name" */
    struct str volume;
    struct arena arena;
};

struct zone_label { /* an old volume says where it is by labels; "a__b": in both */
    struct str key, value;
};

struct volume {
    struct str name;
    const struct node_rule *rule; /* NULL: everywhere */
    VEC(struct zone_label) zones;
    struct arena arena;
};

static const char *const zone_keys[] = {
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
};

static struct str claim_key(struct arena *a, struct str namespace, struct str name)
{
    return arena_fmt(a, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(name));
}

static void claim_free(struct volume_claim *c)
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

    c->key = claim_key(&c->arena, json_member_text(meta, "namespace"), json_member_text(meta, "name"));
    c->volume = arena_str(&c->arena, json_member_text(json_get(object, "spec"), "volumeName"));
    old = map_put(&m->claims, c->key, c);
    is_same = old && str_eq(old->volume, c->volume);
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
    volume_read(v, object);
    volume_free(map_put(&m->volumes, v->name, v));
    return true;
}

void volume_put(struct sched_model *m, const struct json *object)
{
    struct str kind = json_member_text(object, "kind");

    if ((str_is(kind, "PersistentVolumeClaim") && claim_put(m, object)) ||
        (str_is(kind, "PersistentVolume") && persistent_put(m, object)))
        fit_volumes_changed(m);
}

void volume_gone(struct sched_model *m, struct str kind, struct str namespace, struct str name)
{
    autoarena a = { 0 };

    if (str_is(kind, "PersistentVolumeClaim")) {
        claim_free(map_remove(&m->claims, claim_key(&a, namespace, name)));
        if (!fit_wants_claim(m, namespace, name))
            return;
    } else if (str_is(kind, "PersistentVolume"))
        volume_free(map_remove(&m->volumes, name));
    else
        return;
    fit_volumes_changed(m);
}

void volume_done(struct sched_model *m)
{
    MAP_FOREACH(struct volume_claim *, c, &m->claims)
        claim_free(c);
    MAP_FOREACH(struct volume *, v, &m->volumes)
        volume_free(v);
    map_done(&m->claims);
    map_done(&m->volumes);
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

bool volume_allows(const struct sched_model *m, const struct pod_class *c, const struct sched_node *n,
                   struct str *ret_why)
{
    autoarena a = { 0 };

    VEC_FOREACH(want, &c->claims) {
        const struct volume_claim *claim = map_get(&m->claims, claim_key(&a, c->namespace, want->name));
        const struct volume *v = claim && !str_empty(claim->volume) ? map_get(&m->volumes, claim->volume) : NULL;
        bool is_there = claim || !m->config.knows_claims;
        bool is_near = !v || node_rule_matches(v->rule, n), is_in_zone = !v || zones_allow(v, n);

        if (is_there && is_near && is_in_zone)
            continue;
        if (ret_why)
            *ret_why = !is_there  ? want->missing
                       : !is_near ? STR("node(s) had volume node affinity conflict")
                                  : STR("node(s) had no available volume zone");
        return false;
    }
    return true;
}
