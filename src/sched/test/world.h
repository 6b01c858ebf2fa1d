/* world.h - a small cluster for tests of the node choice, told in YAML */
#ifndef SCHED_TEST_WORLD_H
#define SCHED_TEST_WORLD_H

#include "base/rand.h"
#include "base/util.h"
#include "sched/fit/class.h"
#include "sched/model/feed.h"
#include "sched/fit/fit.h"
#include "sched/test/check.h"
#include "yaml/yaml.h"

#include <assert.h>

struct world {
    struct sched_model m;
    struct rand rand;
    struct arena arena;
};

static void world_init(struct world *w, uint64_t seed)
{
    static const int weights[SCORE_KIND_MAX] = {
        [SCORE_BINPACK] = 1, [SCORE_BALANCED] = 1, [SCORE_NODE_AFFINITY] = 2, [SCORE_POD_AFFINITY] = 2,
        [SCORE_TAINTS] = 3,  [SCORE_IMAGES] = 1,   [SCORE_SPREAD] = 2,        [SCORE_NETWORK] = 1,
    };
    struct sched_config config = { .scheduler_name = STR_INIT("volcano"), .places = true, .max_depth = 5 };

    memcpy(config.weights, weights, sizeof(weights));
    *w = (struct world){ 0 };
    rand_seed(&w->rand, seed);
    model_init(&w->m, &config, seed);
}

static void world_done(struct world *w)
{
    model_done(&w->m);
    arena_done(&w->arena);
}

static struct json *yaml_of(struct arena *a, struct str text)
{
    struct yaml_docs docs = { 0 };
    struct err e;

    if (yaml_parse(a, text, NULL, &docs, &e) < 0 || docs.n != 1) {
        (void)fprintf(stderr, "bad YAML in a test: %.*s\n", STR_ARG(text));
        abort();
    }
    return docs.v[0];
}

/* Tell an object in YAML. */
__attribute__((format(printf, 2, 3), unused)) static struct json *tell(struct world *w, const char *fmt, ...)
{
    struct json *j;
    va_list ap;

    va_start(ap, fmt);
    j = yaml_of(&w->arena, arena_vfmt(&w->arena, fmt, ap));
    va_end(ap);
    feed_put(&w->m, j);
    model_order(&w->m);
    return j;
}

/* The class of {metadata: {labels: …}, spec: …}; the caller unrefs it. */
__attribute__((format(printf, 2, 3), unused)) static const struct pod_class *class_of(struct world *w, const char *fmt,
                                                                                      ...)
{
    const struct pod_class *c;
    struct json *j;
    va_list ap;

    va_start(ap, fmt);
    j = yaml_of(&w->arena, arena_vfmt(&w->arena, fmt, ap));
    va_end(ap);
    c = class_ref(&w->m, STR("ns"), j);
    model_sync_dims(&w->m);
    class_relabel(&w->m);
    return c;
}

/* Every node of the range, with fit_node() and fit_score(), in order. */
__attribute__((unused)) static struct sched_node *best_by_hand(struct world *w, const struct pod_class *c,
                                                               const struct sched_group *g, enum fit_room room,
                                                               struct fit_range range)
{
    struct sched_node *best = NULL;
    int64_t score = -1;

    for (uint32_t i = range.from; i < range.to; i++) {
        struct sched_node *n = w->m.order[i];
        int64_t its = fit_node(&w->m, &(struct fit_question){ c, g, room }, n, NULL) ? fit_score(&w->m, c, g, n, NULL)
                                                                                     : -1;

        if (its > score) {
            best = n;
            score = its;
        }
    }
    return best;
}

#endif
