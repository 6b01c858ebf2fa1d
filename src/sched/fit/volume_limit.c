/* volume_limit.c - how many volumes of a driver a node takes: what its CSINode says */
#include "sched/fit/volume_internal.h"

#include "base/util.h"

struct volume_limit {
    struct str driver;
    int64_t count;
};

struct held_claim {
    struct str key; /* allocated */
    uint32_t uses;
};

struct node_volumes {
    const struct sched_model *m;
    VEC(struct volume_limit) limits;
    struct arena limit_arena;
    VEC(struct held_claim) claims; /* of the pods on the node */
    struct arena claim_arena;      /* of the list */
};

static struct node_volumes *volumes_need(struct sched_model *m, struct sched_node *n)
{
    if (!n->volumes) {
        n->volumes = xcalloc(1, sizeof(*n->volumes));
        n->volumes->m = m;
    }
    return n->volumes;
}

bool volume_limits_put(struct sched_model *m, struct str node, const struct json *drivers)
{
    struct sched_node *n = drivers ? model_need_node(m, node) : map_get(&m->nodes, node);
    struct node_volumes *v;

    if (!n)
        return false;
    v = volumes_need(m, n);
    arena_reset(&v->limit_arena);
    v->limits.v = NULL;
    v->limits.n = v->limits.cap = 0;
    JSON_FOREACH(d, drivers) {
        const struct json *count = json_find(d, "allocatable", "count", NULL);

        if (!json_is(count, JSON_NUMBER))
            continue; /* it takes any number */
        m->has_volume_limits = true;
        *vec_push(&v->limit_arena, &v->limits) =
            (struct volume_limit){ arena_str(&v->limit_arena, json_member_text(d, "name")), json_i64(count, 0) };
    }
    return true;
}

static struct held_claim *held_find(struct node_volumes *v, struct str key)
{
    VEC_FOREACH(h, &v->claims)
        if (str_eq(h->key, key))
            return h;
    return NULL;
}

void volume_take(struct sched_model *m, struct sched_node *n, const struct pod_class *c)
{
    struct node_volumes *v = volumes_need(m, n);
    autoarena a = { 0 };

    volume_match_take(m, n, c);
    VEC_FOREACH(want, &c->claims) {
        struct str key = volume_claim_key(&a, c->namespace, want->name);
        struct held_claim *h = held_find(v, key);

        if (!h) {
            char *text = xmalloc(key.n + 1);

            memcpy(text, key.p, key.n);
            h = vec_push(&v->claim_arena, &v->claims);
            *h = (struct held_claim){ { text, key.n }, 0 };
        }
        h->uses++;
    }
}

void volume_give(struct sched_model *m, struct sched_node *n, const struct pod_class *c)
{
    struct node_volumes *v = volumes_need(m, n);
    autoarena a = { 0 };

    volume_match_give(m, c);
    VEC_FOREACH(want, &c->claims) {
        struct held_claim *h = held_find(v, volume_claim_key(&a, c->namespace, want->name));

        if (!h || --h->uses)
            continue;
        free((char *)h->key.p);
        *h = v->claims.v[--v->claims.n];
    }
}

void volume_node_done(struct sched_node *n)
{
    if (!n->volumes)
        return;
    VEC_FOREACH(h, &n->volumes->claims)
        free((char *)h->key.p);
    arena_done(&n->volumes->limit_arena);
    arena_done(&n->volumes->claim_arena);
    free(n->volumes);
    n->volumes = NULL;
}

/* Of the volume it has, or will have. */
static struct str driver_of(const struct sched_model *m, struct str key)
{
    const struct volume_claim *claim = map_get(&m->claims, key);
    const struct fit_volume *v = claim && claim->volume.n ? map_get(&m->volumes, claim->volume) : NULL;
    const struct storage_class *class = claim && !claim->volume.n ? map_get(&m->storage_classes, claim->want.class)
                                                                  : NULL;

    return v ? v->driver : class ? class->provisioner : STR_NULL;
}

bool volume_has_slots(const struct pod_class *c, const struct sched_node *n)
{
    struct node_volumes *v = n->volumes;
    autoarena a = { 0 };

    if (!v || !v->limits.n)
        return true;
    VEC_FOREACH(limit, &v->limits) {
        int64_t more = 0, used = 0;

        VEC_FOREACH(want, &c->claims) {
            struct str key = volume_claim_key(&a, c->namespace, want->name);

            more += str_eq(driver_of(v->m, key), limit->driver) && !held_find(v, key);
        }
        if (!more)
            continue;
        VEC_FOREACH(h, &v->claims)
            used += str_eq(driver_of(v->m, h->key), limit->driver);
        if (used + more > limit->count)
            return false;
    }
    return true;
}
