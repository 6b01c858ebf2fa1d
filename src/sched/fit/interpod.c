/* interpod.c - inter-pod affinity, topology spread, the queue's node groups, nearness to the group */
#include "sched/fit/interpod.h"

#include "base/util.h"
#include "sched/fit/score.h"
#include "sched/fit/topology.h"

static const struct str no_affinity = STR_INIT("node(s) didn't match pod affinity rules"),
                        no_anti_affinity = STR_INIT("node(s) didn't match pod anti-affinity rules"),
                        no_existing = STR_INIT("node(s) didn't satisfy existing pods anti-affinity rules"),
                        no_spread = STR_INIT("node(s) didn't match pod topology spread constraints"),
                        no_spread_label = STR_INIT("node(s) didn't match pod topology spread constraints "
                                                   "(missing required label)"),
                        no_node_group = STR_INIT("node(s) didn't match the node groups of the queue");

static const struct term *term_of(const struct sched_model *m, uint32_t id)
{
    return term_at(&m->fit->terms, id);
}

static struct interpod_term placed_term(struct sched_model *m, uint32_t id)
{
    const struct term *t = term_of(m, id);

    return (struct interpod_term){ topo_at(m, t->topo), t, &t->by_value };
}

/* ---- affinity ---- */

static void begin_affinity(struct sched_model *m, const struct pod_class *c, struct arena *a, struct interpod *k)
{
    k->is_first = true;
    VEC_FOREACH(id, &c->need) {
        *vec_push(a, &k->need) = placed_term(m, *id);
        if (term_of(m, *id)->total || !class_is_matched(c, *id))
            k->is_first = false;
    }
    VEC_FOREACH(id, &c->avoid)
        if (term_of(m, *id)->total)
            *vec_push(a, &k->avoid) = placed_term(m, *id);
    for (uint32_t i = 0; i < c->work->n_matched; i++)
        if (term_of(m, c->work->matched[i])->used_as[TERM_AVOID])
            *vec_push(a, &k->refused) = placed_term(m, c->work->matched[i]);
}

/* On empty nodes only the pods of the same trial are in each other's way. */
static void begin_empty(struct sched_model *m, const struct pod_class *c, struct arena *a, struct interpod *k)
{
    VEC_FOREACH(id, &c->avoid)
        *vec_push(a, &k->avoid) = placed_term(m, *id);
    for (uint32_t i = 0; i < c->work->n_matched; i++)
        if (term_of(m, c->work->matched[i])->used_as[TERM_AVOID])
            *vec_push(a, &k->refused) = placed_term(m, c->work->matched[i]);
    VEC_FOREACH(t, &k->avoid)
        t->counts = &t->term->by_trial;
    VEC_FOREACH(t, &k->refused)
        t->counts = &t->term->by_trial;
}

static bool affinity_allows(const struct interpod *k, uint32_t i)
{
    bool is_met = true;

    VEC_FOREACH(n, &k->need) {
        if (n->at[i] == NO_VALUE)
            return false;
        is_met = is_met && tally_of(&n->term->by_value, n->at[i]).pods > 0;
    }
    return is_met || k->is_first;
}

static bool anti_affinity_allows(const struct interpod *k, uint32_t i)
{
    VEC_FOREACH(n, &k->avoid)
        if (n->at[i] != NO_VALUE && tally_of(n->counts, n->at[i]).pods > 0)
            return false;
    return true;
}

static bool hold_order_allow(const struct interpod *k, uint32_t i)
{
    VEC_FOREACH(n, &k->refused)
        if (n->at[i] != NO_VALUE && tally_of(n->counts, n->at[i]).owners > 0)
            return false;
    return true;
}

/* ---- spread ---- */

struct spreads {
    struct interpod_spread *v;
    size_t n, cap;
};

/* Does the node have the labels of all rules of this kind? Kubernetes counts only such nodes. */
static bool has_all_keys(const struct spreads *all, uint32_t i)
{
    VEC_FOREACH(s, all)
        if (s->at[i] == NO_VALUE)
            return false;
    return true;
}

static void count_by_node(struct sched_model *m, const struct spreads *all, struct interpod_spread *s,
                          const int32_t *fixed)
{
    const struct term *t = term_of(m, s->rule->term);
    int32_t excludes = (s->rule->honors_affinity ? REFUSE_AFFINITY : 0) |
                       (s->rule->honors_taints ? REFUSE_TAINT | REFUSE_UNSCHEDULABLE : 0);

    for (uint32_t i = 0; i < m->n_order; i++) {
        int32_t *count;

        if (!has_all_keys(all, i) || (fixed[i] < 0 && (-fixed[i] & excludes)))
            continue;
        count = &s->counts[s->at[i]];
        if (*count < 0)
            *count = 0;
        *count += tally_of(&t->by_node, m->order[i]->facts->slot).pods;
    }
}

/* Where no node is left out the counters of the term are the answer. */
static void count_by_value(struct sched_model *m, struct interpod_spread *s)
{
    const struct term *t = term_of(m, s->rule->term);
    const struct topo *topo = &m->fit->terms.topos[t->topo];

    for (uint32_t id = 0; id < topo->n_ids; id++)
        if (topo->by_id[id])
            s->counts[id] = tally_of(&t->by_value, id).pods;
}

static void count_spread(struct sched_model *m, const struct pod_class *c, const struct spreads *all,
                         struct interpod_spread *s)
{
    const struct topo *topo = &m->fit->terms.topos[term_of(m, s->rule->term)->topo];
    int64_t domains = 0;

    s->n_values = topo->n_ids;
    s->counts = arena_alloc(&m->fit->scratch, (topo->n_ids + 1) * sizeof(*s->counts));
    memset(s->counts, 0xff, topo->n_ids * sizeof(*s->counts));
    if (all->n == 1 && !(s->rule->honors_affinity && c->must) && !s->rule->honors_taints)
        count_by_value(m, s);
    else
        count_by_node(m, all, s, view_fixed(m, c));
    s->least = INT32_MAX;
    for (uint32_t id = 0; id < topo->n_ids; id++)
        if (s->counts[id] >= 0) {
            domains++;
            s->least = MIN_OF(s->least, s->counts[id]);
        }
    if (domains == 0 || (s->rule->is_hard && domains < s->rule->min_domains))
        s->least = 0;
}

static void begin_spreads(struct sched_model *m, const struct pod_class *c, struct arena *a, bool is_hard,
                          struct spreads *ret)
{
    VEC_FOREACH(r, &c->spread)
        if (r->is_hard == is_hard)
            *vec_push(a, ret) = (struct interpod_spread){
                .at = topo_at(m, term_of(m, r->term)->topo),
                .rule = r,
                .self = class_is_matched(c, r->term),
            };
    VEC_FOREACH(s, ret)
        count_spread(m, c, ret, s);
}

/* A value that no counting node has: no pod there counts. */
static int64_t spread_count(const struct interpod_spread *s, uint32_t i)
{
    return MAX_OF(s->counts[s->at[i]], 0);
}

static bool spread_allows(const struct interpod *k, uint32_t i, struct str *ret_why)
{
    VEC_FOREACH(s, &k->hard) {
        *ret_why = no_spread_label;
        if (s->at[i] == NO_VALUE)
            return false;
        *ret_why = no_spread;
        if (spread_count(s, i) + s->self - s->least > s->rule->max_skew)
            return false;
    }
    return true;
}

/* ---- raw scores ---- */

static struct interpod_raw raw_new(const struct sched_model *m, struct arena *a)
{
    return (struct interpod_raw){ arena_array(a, int64_t, m->n_order + 1), INT64_MAX, INT64_MIN };
}

static void raw_set(struct interpod_raw *raw, uint32_t i, int64_t v)
{
    raw->v[i] = v;
    raw->low = MIN_OF(raw->low, v);
    raw->high = MAX_OF(raw->high, v);
}

/* Its own wishes, and those of pods that are there about pods like it. */
static void begin_like(struct sched_model *m, const struct pod_class *c, struct arena *a, struct interpod *k)
{
    VEC(struct interpod_term) own = { 0 }, theirs = { 0 };

    VEC_FOREACH(p, &c->like)
        *vec_push(a, &own) = placed_term(m, p->term);
    for (uint32_t i = 0; i < c->work->n_matched; i++)
        if (term_of(m, c->work->matched[i])->used_as[TERM_LIKE])
            *vec_push(a, &theirs) = placed_term(m, c->work->matched[i]);
    if (!own.n && !theirs.n)
        return;
    k->like = raw_new(m, a);
    for (uint32_t i = 0; i < m->n_order; i++) {
        int64_t sum = 0;

        for (size_t j = 0; j < own.n; j++)
            if (own.v[j].at[i] != NO_VALUE)
                sum += (int64_t)c->like.v[j].weight * tally_of(&own.v[j].term->by_value, own.v[j].at[i]).pods;
        VEC_FOREACH(t, &theirs)
            if (t->at[i] != NO_VALUE)
                sum += tally_of(&t->term->by_value, t->at[i]).weight;
        raw_set(&k->like, i, sum);
    }
}

static void begin_soft(struct sched_model *m, const struct pod_class *c, struct arena *a, struct interpod *k)
{
    struct spreads soft = { 0 };

    begin_spreads(m, c, a, false, &soft);
    if (!soft.n)
        return;
    k->soft = raw_new(m, a);
    for (uint32_t i = 0; i < m->n_order; i++) {
        int64_t sum = 0;

        if (!has_all_keys(&soft, i)) {
            k->soft.v[i] = INT64_MAX; /* lacks a label: the worst */
            continue;
        }
        VEC_FOREACH(s, &soft)
            sum += spread_count(s, i);
        raw_set(&k->soft, i, sum);
    }
}

static int64_t like_score(const struct interpod_raw *raw, uint32_t i)
{
    return raw->high > raw->low ? 100 * (raw->v[i] - raw->low) / (raw->high - raw->low) : 0;
}

static int64_t soft_score(const struct interpod_raw *raw, uint32_t i)
{
    if (raw->v[i] == INT64_MAX)
        return 0;
    return raw->high > raw->low ? 100 * (raw->high - raw->v[i]) / (raw->high - raw->low) : 100;
}

/* ---- the group ---- */

static void allow_values(const struct topo *t, const struct json *names, bool *ok, bool value)
{
    JSON_FOREACH(name, names) {
        uint32_t id = topo_value_find(t, json_text(name, STR("")));

        if (id != NO_VALUE)
            ok[id] = value;
    }
}

static const struct json *required_of(const struct json *affinity, const char *kind)
{
    const struct json *list = json_find(affinity, kind, "requiredDuringSchedulingIgnoredDuringExecution", NULL);

    return json_is(list, JSON_ARRAY) && json_count(list) ? list : NULL;
}

/* Nodes belong to a group by their label volcano.sh/nodegroup-name. */
static void begin_node_groups(struct sched_model *m, const struct sched_group *g, struct arena *a, struct interpod *k)
{
    const struct json *affinity = g && g->queue ? g->queue->affinity : NULL;
    const struct json *only = required_of(affinity, "nodeGroupAffinity"),
                      *never = required_of(affinity, "nodeGroupAntiAffinity");
    const struct topo *topo;
    uint32_t id;
    bool *ok;

    if (!only && !never)
        return;
    id = topo_need(m, STR("volcano.sh/nodegroup-name"));
    topo = &m->fit->terms.topos[id];
    ok = arena_alloc(a, topo->n_ids + 1);
    memset(ok, !only, topo->n_ids + 1);
    allow_values(topo, only, ok, true);
    allow_values(topo, never, ok, false);
    k->group_at = topo_at(m, id);
    k->group_ok = ok;
    k->none_ok = !only;
}

enum { NEAR_PODS = 256 }; /* a group with more of them placed is everywhere; do not look at all for each pod */

/* The domain its pods are in; NULL: none is placed, or no topology. */
static const struct domain *task_topology_of(const struct sched_model *m, const struct sched_group *g)
{
    if (!topology_root(m)->children.n ||
        g->counts.n[POD_BINDING] + g->counts.n[POD_BOUND] + g->counts.n[POD_RUNNING] > NEAR_PODS)
        return NULL;
    return topology_of_group(m, g);
}

static void begin_rings(const struct sched_model *m, const struct sched_group *g, struct arena *a, struct interpod *k)
{
    const struct domain *near = g ? task_topology_of(m, g) : NULL, *root = near;
    int span;

    while (root && root->parent)
        root = root->parent;
    if (!near || near == root)
        return;
    span = root->tier - near->tier;
    for (const struct domain *d = near; d->parent && span > 0; d = d->parent)
        *vec_push(a, &k->rings) = (struct interpod_ring){ d->range, 100 * MAX_OF(root->tier - d->tier, 0) / span };
}

static int64_t ring_score(const struct interpod *k, uint32_t i)
{
    VEC_FOREACH(r, &k->rings)
        if (i >= r->range.from && i < r->range.to)
            return r->score;
    return 0;
}

/* ---- asking ---- */

void interpod_begin(struct sched_model *m, const struct fit_question *q, struct interpod *k)
{
    const struct pod_class *c = q->class;
    struct arena *a = &m->fit->scratch;
    const int *w = m->config.weights;

    *k = (struct interpod){ .weights = { MAX_OF(w[SCORE_POD_AFFINITY], 0), MAX_OF(w[SCORE_SPREAD], 0),
                                         MAX_OF(w[SCORE_NETWORK], 0) } };
    arena_reset(a);
    begin_node_groups(m, q->group, a, k);
    if (k->weights[2])
        begin_rings(m, q->group, a, k);
    if (c->is_coupled && q->room == FIT_EMPTY) {
        begin_empty(m, c, a, k);
    } else if (c->is_coupled) {
        struct spreads hard = { 0 };

        begin_affinity(m, c, a, k);
        begin_spreads(m, c, a, true, &hard);
        k->hard.v = hard.v;
        k->hard.n = hard.n;
    }
    if (c->is_coupled && k->weights[0])
        begin_like(m, c, a, k);
    if (c->is_coupled && k->weights[1])
        begin_soft(m, c, a, k);
    k->is_on = k->need.n || k->avoid.n || k->refused.n || k->hard.n || k->like.v || k->soft.v || k->rings.n ||
               k->group_at;
    k->most = 100 * ((int64_t)(k->like.v ? k->weights[0] : 0) + (k->soft.v ? k->weights[1] : 0) +
                     (k->rings.n ? k->weights[2] : 0));
}

bool interpod_allows(const struct interpod *k, uint32_t i, struct str *ret_why)
{
    struct str why = no_node_group;
    bool ok = !k->group_at || (k->group_at[i] == NO_VALUE ? k->none_ok : k->group_ok[k->group_at[i]]);

    if (ok)
        ok = spread_allows(k, i, &why);
    if (ok && !affinity_allows(k, i)) {
        ok = false;
        why = no_affinity;
    }
    if (ok && !anti_affinity_allows(k, i)) {
        ok = false;
        why = no_anti_affinity;
    }
    if (ok && !hold_order_allow(k, i)) {
        ok = false;
        why = no_existing;
    }
    if (!ok && ret_why)
        *ret_why = why;
    return ok;
}

int64_t interpod_score(const struct interpod *k, uint32_t i, int64_t *parts)
{
    int64_t like = k->like.v ? k->weights[0] * like_score(&k->like, i) : 0,
            soft = k->soft.v ? k->weights[1] * soft_score(&k->soft, i) : 0,
            near = k->rings.n ? k->weights[2] * ring_score(k, i) : 0;

    if (parts) {
        parts[SCORE_POD_AFFINITY] = like;
        parts[SCORE_SPREAD] = soft;
        parts[SCORE_NETWORK] = near;
    }
    return like + soft + near;
}
