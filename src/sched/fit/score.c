/* score.c - scores that follow from one node and the class */
#include "sched/fit/score.h"

#include "api/pod/taint.h"
#include "base/util.h"
#include "sched/fit/nodematch.h"

#define MIB ((int64_t)1024 * 1024)

/* ---- what does not depend on amounts ---- */

/* The part of its wishes that the node meets, by weight. Kubernetes compares with the best node instead; that would
 * make the score of a node depend on all others. */
static int64_t affinity_score(const struct pod_class *c, const struct sched_node *n)
{
    int64_t met = 0, all = 0;

    VEC_FOREACH(p, &c->prefers) {
        all += p->weight;
        met += node_rule_matches(p->rule, n) ? p->weight : 0;
    }
    return all ? 100 * met / all : 0;
}

static int64_t taint_score(const struct pod_class *c, const struct sched_node *n)
{
    return n->taints ? 100 / (1 + taint_count(n->taints, c->tolerations, TAINT_SOFT)) : 100;
}

/* Nothing for less than 23 MiB, all for 1000 MiB per image, as Kubernetes has it. */
static int64_t image_score(struct sched_model *m, const struct pod_class *c, struct sched_node *n)
{
    int64_t least = 23 * MIB, most = 1000 * MIB * (int64_t)c->image_list.n, there = 0;

    VEC_FOREACH(i, &c->image_list)
        if ((*i)->nodes)
            there += node_facts_image_bytes(node_facts_of(m, n), *i);
    if (there <= least)
        return 0;
    return there >= most ? 100 : 100 * (there - least) / (most - least);
}

static int64_t weighted(int weight, int64_t score, int64_t *ret_part)
{
    int64_t part = weight > 0 ? weight * score : 0;

    if (ret_part)
        *ret_part = part;
    return part;
}

int64_t score_fixed(struct sched_model *m, const struct pod_class *c, struct sched_node *n, int64_t *parts)
{
    const int *w = m->config.weights;
    int64_t sum = 0;

    if (w[SCORE_NODE_AFFINITY] > 0 && c->prefers.n)
        sum += weighted(w[SCORE_NODE_AFFINITY], affinity_score(c, n), parts ? &parts[SCORE_NODE_AFFINITY] : NULL);
    if (w[SCORE_TAINTS] > 0)
        sum += weighted(w[SCORE_TAINTS], taint_score(c, n), parts ? &parts[SCORE_TAINTS] : NULL);
    if (w[SCORE_IMAGES] > 0)
        sum += weighted(w[SCORE_IMAGES], image_score(m, c, n), parts ? &parts[SCORE_IMAGES] : NULL);
    return score_cut(sum);
}

/* ---- amounts ---- */

enum { FULL = 1000, OVER = 1001 };

/* part/whole in 1/1000, or OVER. 21 bits of each are enough for that, and a division of 32 bits is three times as fast. */
static inline uint32_t permille(int64_t part, int64_t whole)
{
    int shift;

    if (part > whole)
        return OVER;
    if (whole <= 0 || part < 0)
        return whole > 0 ? 0 : OVER;
    shift = 43 - __builtin_clzll((unsigned long long)whole); /* so that it is below 2^21 */
    if (shift > 0) {
        part >>= shift;
        whole >>= shift;
    }
    return (uint32_t)part * FULL / (uint32_t)whole;
}

/* How full the node would be with the pod on it. */
static inline uint32_t waterfill_of(const struct pod_class *c, const struct sched_node *n, int d)
{
    return permille(n->used.v[d] + n->held.v[d] + c->ask.v[d], n->total.v[d]);
}

static int64_t binpack_score(const struct pod_class *c, const struct sched_node *n, uint32_t cpu, uint32_t memory)
{
    uint32_t sum = 0, count = 0;

    for (uint32_t left = c->ask_dims & ~(1U << DIM_PODS); left; left &= left - 1) {
        int d = __builtin_ctz(left);
        uint32_t fill = d == DIM_CPU ? cpu : d == DIM_MEMORY ? memory : waterfill_of(c, n, d);

        if (fill == OVER)
            return 0;
        sum += fill;
        count++;
    }
    return count ? sum / (10 * count) : 0;
}

int64_t score_amounts(const int *weights, const struct pod_class *c, const struct sched_node *n, int64_t *parts)
{
    uint32_t cpu = waterfill_of(c, n, DIM_CPU), memory = waterfill_of(c, n, DIM_MEMORY);
    uint32_t cpu_cut = MIN_OF(cpu, FULL), memory_cut = MIN_OF(memory, FULL);
    uint32_t apart = cpu_cut > memory_cut ? cpu_cut - memory_cut : memory_cut - cpu_cut;
    int64_t most = ((cpu == OVER ? 0 : cpu) + (memory == OVER ? 0 : memory)) / 20, sum = 0;

    if (weights[SCORE_BINPACK] > 0)
        sum += weighted(weights[SCORE_BINPACK], binpack_score(c, n, cpu, memory), parts ? &parts[SCORE_BINPACK] : NULL);
    if (weights[SCORE_LEAST_REQUESTED] > 0)
        sum += weighted(weights[SCORE_LEAST_REQUESTED], (2 * FULL - cpu_cut - memory_cut) / 20,
                        parts ? &parts[SCORE_LEAST_REQUESTED] : NULL);
    if (weights[SCORE_MOST_REQUESTED] > 0)
        sum += weighted(weights[SCORE_MOST_REQUESTED], most, parts ? &parts[SCORE_MOST_REQUESTED] : NULL);
    if (weights[SCORE_BALANCED] > 0)
        sum += weighted(weights[SCORE_BALANCED], 100 - apart / 20, parts ? &parts[SCORE_BALANCED] : NULL);
    return score_cut(sum);
}
