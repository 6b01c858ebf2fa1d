/* world.h - a random cluster in plain numbers, beside the objects: what the property tests count with
 *
 * Nothing here asks the scheduler. random.c makes the world and lets things happen in it, recount.c says after each
 * round whether what was decided is right, property.c is the program.
 */
#ifndef TESTS_SCHED_WORLD_H
#define TESTS_SCHED_WORLD_H

#include "base/rand.h"
#include "harness.h"

#include <limits.h>

enum { CPU, MEM, GPU, RES }; /* milli, Mi, whole */

enum { W_NODES = 32, W_QUEUES = 8, W_GROUPS = 64, W_PODS = 1024, W_ROLES = 2 };

struct w_node {
    char name[16];
    int64_t has[RES];
    int zone; /* label; 0 … 2 */
    bool is_tainted, exists;
};

struct w_queue {
    char name[16];
    int parent; /* -1: below root */
    bool has_children, is_reclaimable, is_fifo;
    int64_t cap[RES];       /* -1: none */
    int64_t guarantee[RES]; /* 0: none */
};

struct w_group {
    char name[16], key[32];
    int queue, priority, min;
    int n_roles, role_min[W_ROLES];
    int pods[W_ROLES]; /* made with it */
    int64_t ask[RES];  /* each pod asks for the same */
    int zone;          /* nodeSelector; -1: any */
    bool tolerates, has_anti;
    bool is_safe;   /* pods are not preemptable, or under a budget of none, or critical */
    bool was_whole; /* its minimum stood once */
    int pods_made;
    int ready_before; /* at the beginning of the round */
    bool whole_before;
    int bound_now, evicted_now; /* in this round */
    char evicted_for[96], reason[16];
    int kept_idle; /* rounds in a row after which places were kept for it that it could have used */
};

enum w_state { W_WAITS, W_BOUND, W_RUNS, W_DONE, W_FAILED, W_GOING, W_GONE };

struct w_pod {
    char name[24];
    int group, role, node; /* node -1: none */
    enum w_state state;
    int64_t started_ms;
    int nominated;   /* node, 1 + its number; 0: none */
    bool went_early; /* it was going before this round */
};

struct world {
    struct h *h;
    struct rand r;
    uint64_t seed;
    struct w_node nodes[W_NODES];
    struct w_queue queues[W_QUEUES];
    struct w_group groups[W_GROUPS];
    struct w_pod pods[W_PODS];
    int n_nodes, n_queues, n_groups, n_pods;
    bool has_evictions; /* some are on their way */
    int cleared;        /* 1 + the pod whose nomination the last decision cleared; 0: none */
    bool has_holds;     /* at the beginning of the round something was kept for somebody */
    bool is_crowded;    /* many groups are alike; only the first of them are asked, but a fresh scheduler asks all */
    const char *wrong;  /* the first rule that was broken */
    char detail[256];
    /* the second scheduler, told the same in another order */
    struct sched *twin;
    struct h_object *news[4096];
    int n_news;
    struct buf twin_story;
};

/* random.c */
void world_make(struct world *w, uint64_t seed);
void world_done(struct world *w);
void world_happens(struct world *w);   /* something happens */
void world_run_bound(struct world *w); /* kubelets start what is bound */
void world_finish(struct world *w, int pod, bool is_good);
int world_finish_deletes(struct world *w, int most);
void world_replace_pods(struct world *w, int group); /* as a controller would, up to the minimum */
int world_add_group(struct world *w, int priority);

/* truth.c */
void world_check_reasons(struct world *w);
void world_note(struct world *w);            /* before a round: what is going, and whether something is kept */
void world_check_evictions(struct world *w); /* after it: was it needed? */
void world_check_holds(struct world *w);     /* … is what is kept for somebody used by him? */
int64_t world_free(const struct world *w, int node, int res);

/* tree.c */
bool one_tree(uint64_t seed, bool is_trace); /* shares come true at every level of a tree of queues */

/* recount.c */
void world_round(struct world *w);                      /* one round, checked */
void world_usable(const struct world *w, int64_t *ret); /* what the nodes have that some group may use */
void story_sort(struct buf *story);
bool group_stands(const struct world *w, int group);
int group_ready_pods(const struct world *w, int group);
int group_placed_pods(const struct world *w, int group);  /* bound or running */
bool group_is_feasible(const struct world *w, int group); /* alone on the empty cluster it would run, for sure */
void world_wrong(struct world *w, const char *rule, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
