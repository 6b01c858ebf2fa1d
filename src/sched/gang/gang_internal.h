/* gang_internal.h - what gang.c, pack.c and subgroup.c share, and the key of gang_class.c */
#ifndef SCHED_GANG_GANG_INTERNAL_H
#define SCHED_GANG_GANG_INTERNAL_H

#include "sched/gang/gang.h"

struct task_topology;
struct subgroup;
struct sched_queue;

struct slot { /* a pod, or one to come, that wants a seat */
    struct sched_pod *pod;
    struct sched_role *role;
    const struct pod_class *class;
    int32_t priority;
    uint32_t index;
    int64_t created_ms;
    bool is_seated;
    struct subgroup *sub; /* subgroup.c; NULL: none */
    int order;            /* of its task (task_topology.h); 0 without */
};

struct slots {
    VEC(struct slot) list;
};

struct gang_work { /* one attempt in one range of nodes */
    struct trial *t;
    const struct gang_options *opt;
    struct slots *slots;
    struct fit_range range;
    struct task_topology *near;             /* NULL: no wishes about its tasks */
    struct subgroups *subs;                 /* NULL: it has none */
    bool has_room_for_all;                  /* sub-groups: domains that have room for all their pods come first */
    int64_t lacks;                          /* seats still missing for the minimum */
    VEC(const struct pod_class *) hopeless; /* found no node */
    const struct slot *stuck;               /* the first slot that found none … */
    bool is_limit;                          /* … because of its queue */
};

/* A seat for this slot, if its queue and a node allow it. */
bool gang_take(struct gang_work *w, struct slot *s, bool is_extra);

/* The same on this node, for the minimum. */
bool gang_take_at(struct gang_work *w, struct slot *s, struct sched_node *n);

/* ---- pack.c ---- */

/* Do its pods differ, and was it not its queue that refused? Then another order may help. */
bool pack_is_worth(const struct gang_work *w);
/* Seats for the minimum, largest first, and in every way if the group is tight. False: none are taken. */
bool pack_try(struct gang_work *w);

/* Give back the seats from number 'n' on; their slots stand again. */
void gang_undo_to(struct gang_work *w, size_t n);

/* ---- subgroup.c ---- */

/* Find the sub-group of every slot, and how many pods each has already. NULL: the group has no policies. */
struct subgroups;
struct subgroups *subgroups_find(struct gang_work *w);

/* Seats for as many whole sub-groups as each policy's minSubGroups asks for; false: they do not fit. */
bool subgroups_minima(struct gang_work *w);

/* Seats for further whole sub-groups, until 'want' pods of 'role' (NULL: of any) have got one; how many have. */
int64_t subgroups_more(struct gang_work *w, const struct sched_role *role, int64_t want, bool is_extra);

/* The same for single pods beyond the size of sub-groups that stand: near to the rest, within the tier their policy
 * allows. */
int64_t subgroups_surplus(struct gang_work *w, const struct sched_role *role, int64_t want, bool is_extra);

/* ---- gang_class.c ---- */

/* All that tells a group from others, as text. False: there is none like it. */
bool gang_class_key(struct sched_model *m, const struct sched_group *g, struct buf *out);

#endif
