/* fit.c - which node for a pod of this class? */
#include "sched/fit/fit.h"

#include "api/pod/taint.h"
#include "base/util.h"
#include "sched/gang/hold.h"
#include "sched/fit/interpod.h"
#include "sched/fit/nodematch.h"
#include "sched/fit/score.h"
#include "sched/fit/volume.h"

#include <assert.h>

void fit_init(struct sched_model *m)
{
    struct fit *f = xcalloc(1, sizeof(*f));

    m->fit = f;
    map_init(&f->classes, m->seed);
    map_init(&f->label_keys, m->seed);
    map_init(&f->images, m->seed);
    memcpy(f->weights, m->config.weights, sizeof(f->weights));
    terms_init(m);
    views_init(m);
}

/* Pods and roles still hold classes; they are freed with the rest, by class_unref() before or here. */
void fit_done(struct sched_model *m)
{
    struct fit *f = m->fit;

    if (!f)
        return;
    class_drop_all(m);
    for (uint32_t i = 0; i < f->n_notes; i++)
        if (f->notes[i])
            node_note_free(m, f->notes[i]);
    free(f->notes);
    views_done(m);
    terms_done(m);
    map_done(&f->classes);
    map_done(&f->label_keys);
    map_done(&f->images);
    arena_done(&f->arena);
    arena_done(&f->scratch);
    arena_done(&f->decode);
    buf_done(&f->text);
    free(f);
    m->fit = NULL;
}

/* ---- being told ---- */

void fit_count(struct sched_model *m, const struct pod_class *c, struct sched_node *n, int by)
{
    struct node_facts *facts = node_facts_of(m, n);

    facts->pods += by;
    tallies_add(&c->work->spots, facts->slot, by, 0, 0);
    terms_count(m, c, facts, by);
}

static bool is_in_order(const struct sched_model *m, const struct sched_node *n)
{
    return !m->is_unordered && n->index < m->n_order && m->order[n->index] == n;
}

void fit_node_changed(struct sched_model *m, struct sched_node *n)
{
    if (is_in_order(m, n))
        views_note(m, n->index, false);
}

void fit_node_told(struct sched_model *m, struct sched_node *n)
{
    struct node_facts *facts = node_facts_of(m, n);

    node_note_read(m, facts, n);
    if (is_in_order(m, n))
        views_note(m, n->index, true);
}

void fit_node_gone(struct sched_model *m, struct sched_node *n)
{
    if (n->facts)
        node_note_free(m, n->facts);
    n->facts = NULL;
}

void fit_reordered(struct sched_model *m)
{
    views_restart(m);
    m->fit->terms.epoch++;
}

void fit_volumes_changed(struct sched_model *m)
{
    m->fit->volumes++;
    m->node_gen++; /* a node may be allowed now that was not, also to those who could not ever run */
    m->room_gen++;
}

void fit_volume_taken(struct sched_model *m)
{
    m->fit->taken++;
}

bool fit_wants_claim(const struct sched_model *m, struct str namespace, struct str name)
{
    MAP_FOREACH(struct pod_class *, c, &m->fit->classes)
        VEC_FOREACH(claim, &c->claims)
            if (str_eq(claim->name, name) && str_eq(c->namespace, namespace))
                return true;
    return false;
}

void fit_namespaces_changed(struct sched_model *m)
{
    terms_namespaces_changed(m);
}

void fit_class_gone(struct sched_model *m, const struct pod_class *c)
{
    views_forget(m, c);
}

/* ---- rules that look at the node alone ---- */

static const struct str no_node = STR_INIT("node(s) were not found"),
                        no_scheduling = STR_INIT("node(s) were unschedulable"),
                        no_affinity = STR_INIT("node(s) didn't match Pod's node affinity/selector"),
                        no_ports = STR_INIT("node(s) didn't have free ports for the requested pod ports"),
                        no_slots = STR_INIT("node(s) exceed max volume count"),
                        no_volume = STR_INIT("node(s) didn't find available persistent volumes to bind"),
                        no_kept = STR_INIT("node(s) had room that is kept for another job"),
                        no_pods_left = STR_INIT("node(s) pod number exceeded"),
                        no_devices = STR_INIT(
                            "node(s) cannot allocate resource claims: spec.resourceClaims is not supported"),
                        no_dimension = STR_INIT("Insufficient room for another resource name");

bool fit_tolerates(const struct pod_class *c, const struct sched_node *n)
{
    return (!n->is_unschedulable || tolerates_unschedulable(c->tolerations)) &&
           !taint_untolerated(n->taints, c->tolerations, TAINT_HARD);
}

int32_t fit_fixed(struct sched_model *m, const struct pod_class *c, struct sched_node *n)
{
    int32_t refusals = 0;

    if (n->is_unschedulable && !tolerates_unschedulable(c->tolerations))
        refusals |= REFUSE_UNSCHEDULABLE;
    if (n->taints && taint_untolerated(n->taints, c->tolerations, TAINT_HARD))
        refusals |= REFUSE_TAINT;
    if (c->must && !node_rule_matches(c->must, n))
        refusals |= REFUSE_AFFINITY;
    if (c->has_device_claims || (c->claims.n && !volume_allows(m, c, n, NULL)))
        refusals |= REFUSE_VOLUME;
    return refusals ? -refusals : (int32_t)score_fixed(m, c, n, NULL);
}

bool fit_ports_are_free(const struct pod_class *c, const struct sched_node *n)
{
    VEC_FOREACH(want, &c->ports)
        VEC_FOREACH(has, &n->ports)
            if (has->uses && has->port == want->port && has->protocol == want->protocol &&
                (str_empty(has->ip) || str_empty(want->ip) || str_eq(has->ip, want->ip)))
                return false;
    return true;
}

static struct str taint_text(struct fit *f, const struct json *taint)
{
    buf_reset(&f->text);
    buf_fmt(&f->text, "node(s) had untolerated taint {%.*s: %.*s}", STR_ARG(json_member_text(taint, "key")),
            STR_ARG(json_member_text(taint, "value")));
    return buf_view(&f->text);
}

struct str fit_dim_text(struct sched_model *m, int d)
{
    if (d == DIM_PODS)
        return no_pods_left;
    buf_reset(&m->fit->text);
    buf_fmt(&m->fit->text, "Insufficient %.*s", STR_ARG(m->dims.names[d]));
    return buf_view(&m->fit->text);
}

/* In the order of kube-scheduler, up to the amounts. */
static bool node_allows(struct sched_model *m, const struct pod_class *c, const struct sched_node *n,
                        enum fit_room room, struct str *ret_why)
{
    const struct json *taint;

    *ret_why = no_node;
    if (!n->exists)
        return false;
    *ret_why = no_scheduling;
    if (n->is_unschedulable && !tolerates_unschedulable(c->tolerations))
        return false;
    taint = taint_untolerated(n->taints, c->tolerations, TAINT_HARD);
    if (taint) {
        *ret_why = taint_text(m->fit, taint);
        return false;
    }
    *ret_why = no_affinity;
    if (!node_rule_matches(c->must, n))
        return false;
    *ret_why = no_ports;
    if (room != FIT_EMPTY && !fit_ports_are_free(c, n))
        return false;
    *ret_why = no_slots;
    if (room != FIT_EMPTY && c->claims.n && !volume_has_slots(c, n))
        return false;
    *ret_why = no_dimension;
    return !c->has_lost_name;
}

static uint32_t dims_lacking(const struct pod_class *c, const struct sched_node *n, enum fit_room room)
{
    uint32_t lacking = 0;

    for (uint32_t left = c->ask_dims; left; left &= left - 1) {
        int d = __builtin_ctz(left);

        if (c->ask.v[d] > free_on(n, room, d))
            lacking |= 1U << d;
    }
    return lacking;
}

/* … whatever is kept for others. */
static uint32_t dims_used_up(const struct pod_class *c, const struct sched_node *n, enum fit_room room)
{
    uint32_t lacking = dims_lacking(c, n, room), used_up = 0;

    for (; lacking; lacking &= lacking - 1) {
        int d = __builtin_ctz(lacking);

        if (room == FIT_EMPTY || c->ask.v[d] > free_on(n, room, d) + n->held.v[d])
            used_up |= 1U << d;
    }
    return used_up;
}

/* ---- asking ---- */

/* Weights may have been set to others since the last question. */
static void sync_settings(struct sched_model *m)
{
    struct fit *f = m->fit;

    if (memcmp(f->weights, m->config.weights, sizeof(f->weights)) == 0)
        return;
    memcpy(f->weights, m->config.weights, sizeof(f->weights));
    views_restart(m);
}

/* Every node of the range that could be better than the best so far; nothing else is asked. */
static uint32_t fit_walk(const struct view *v, const struct interpod *k, uint32_t from, uint32_t to)
{
    uint32_t best = UINT32_MAX;
    int64_t score = -1;

    for (uint32_t i = from; i < to; i++) {
        int64_t leaf = v->level[0][i], sum;

        if (leaf == VIEW_NONE || leaf + k->most <= score)
            continue;
        sum = score_cut(leaf + interpod_score(k, i, NULL));
        if (sum > score && interpod_allows(k, i, NULL)) {
            score = sum;
            best = i;
        }
    }
    return best;
}

struct sched_node *fit_best(struct sched_model *m, const struct fit_question *q, struct fit_range range)
{
    struct interpod k = { 0 };
    const struct view *v;
    uint32_t i;

    assert(!m->is_unordered);
    range.to = MIN_OF(range.to, m->n_order);
    if (q->class->has_lost_name || range.from >= range.to)
        return NULL;
    sync_settings(m);
    if (q->class->is_coupled || q->group)
        interpod_begin(m, q, &k);
    v = view_get(m, q->class, q->room);
    i = k.is_on ? fit_walk(v, &k, range.from, range.to) : view_best(v, range.from, range.to);
    return i == UINT32_MAX ? NULL : m->order[i];
}

/* On nodes where something is kept and lifted: how many more than the nodes know of. */
static int64_t count_lifted(const struct view *v, const struct hold_parts *parts, struct fit_range range)
{
    int64_t n = 0;

    for (uint32_t i = 0; i < parts->n; i++) {
        const struct sched_node *node = parts->v[i].node;

        if (node->exists && node->index >= range.from && node->index < range.to)
            n += view_more_places(v, node, &parts->v[i].sum);
    }
    return n;
}

static int64_t lifted_places(struct sched_model *m, struct view *v, struct fit_range range, bool is_unkept)
{
    const struct hold_parts *parts;
    struct view_lifted *known;

    if ((list_is_empty(&m->lifted) && !is_unkept) || v->room == FIT_EMPTY)
        return 0;
    parts = holds_parts(m, is_unkept);
    if (range.from > 0 || range.to < m->n_order)
        return count_lifted(v, parts, range);
    known = &v->lifted[parts->key % VIEW_LIFTED];
    if (known->key != parts->key || known->seen != v->seen)
        *known = (struct view_lifted){ parts->key, v->seen, count_lifted(v, parts, range) };
    return known->places;
}

struct fit_count fit_places(struct sched_model *m, const struct fit_question *q, struct fit_range range, bool is_unkept)
{
    const struct pod_class *c = q->class;
    struct interpod k = { 0 };
    struct view *v;

    assert(!m->is_unordered);
    range.to = MIN_OF(range.to, m->n_order);
    if (c->has_lost_name || range.from >= range.to)
        return (struct fit_count){ 0, true };
    sync_settings(m);
    if (c->is_coupled || q->group)
        interpod_begin(m, q, &k);
    v = view_get(m, c, q->room);
    return (struct fit_count){
        .n = view_places(m, v, range.from, range.to) + lifted_places(m, v, range, is_unkept),
        .is_exact = !k.is_on && c->ports.n == 0 &&
                    !(c->claims.n && (m->has_volume_limits || m->config.waits_for_volumes)),
    };
}

static bool may_go(struct sched_model *m, const struct fit_question *q, const struct sched_node *n,
                   const struct interpod *k, struct str *ret_why)
{
    const struct pod_class *c = q->class;

    if (!node_allows(m, c, n, q->room, ret_why))
        return false;
    if (!has_room(c, n, q->room)) {
        *ret_why = STR_NULL; /* fit_node() finds the words */
        return false;
    }
    if (c->has_device_claims) {
        *ret_why = no_devices;
        return false;
    }
    if (c->claims.n && !volume_allows(m, c, n, ret_why))
        return false;
    *ret_why = no_volume;
    if (c->claims.n && q->room != FIT_EMPTY && !volume_is_free(m, c, n))
        return false;
    return !k->is_on || interpod_allows(k, n->index, ret_why);
}

uint32_t fit_refusal(struct sched_model *m, const struct fit_question *q, const struct sched_node *n,
                     const struct interpod *k, struct str *ret_text)
{
    uint32_t lacking;

    if (may_go(m, q, n, k, ret_text)) {
        *ret_text = STR_NULL;
        return 0;
    }
    if (ret_text->p)
        return 0;
    lacking = dims_used_up(q->class, n, q->room); /* all that is missing, not only the first (D81) */
    if (!lacking)
        *ret_text = no_kept;
    return lacking;
}

/* The rules about other pods know nodes by their place in the order. */
void fit_begin(struct sched_model *m, const struct fit_question *q, struct interpod *k)
{
    *k = (struct interpod){ 0 };
    if (!q->class->is_coupled && !q->group)
        return;
    if (m->is_unordered)
        model_order(m);
    sync_settings(m);
    interpod_begin(m, q, k);
}

bool fit_node(struct sched_model *m, const struct fit_question *q, const struct sched_node *n, struct str *ret_why)
{
    struct interpod k;
    struct str why;
    bool ok;

    fit_begin(m, q, &k);
    ok = may_go(m, q, n, &k, &why);
    if (!ok && ret_why)
        *ret_why = why.p ? why : fit_dim_text(m, __builtin_ctz(dims_lacking(q->class, n, q->room)));
    return ok;
}

int64_t fit_score(struct sched_model *m, const struct pod_class *c, const struct sched_group *group,
                  const struct sched_node *n, int64_t *ret_parts)
{
    struct interpod k;
    int64_t sum;

    if (ret_parts)
        memset(ret_parts, 0, SCORE_KIND_MAX * sizeof(*ret_parts));
    fit_begin(m, &(struct fit_question){ c, group, FIT_NOW }, &k);
    sum = score_fixed(m, c, (struct sched_node *)n, ret_parts) + score_amounts(m->config.weights, c, n, ret_parts);
    sum = score_cut(sum);
    if (k.is_on && is_in_order(m, n))
        sum = score_cut(sum + interpod_score(&k, n->index, ret_parts));
    return sum;
}
