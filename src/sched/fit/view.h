/* view.h - all nodes as one class of pods sees them: the best one at the top of a tree
 *
 * A view belongs to a class and a kind of room. Its leaves are the nodes in model.order: the score, or -1 where the pod
 * may not go. Above them each cell is the largest of 16 below, so the best of any range and the lowest index among
 * equals are a few cells away, and one node changes a few cells.
 *
 * Changed nodes are written to one log; a view reads on where it stopped when it is asked next. If it is too far behind
 * it is made again. Rules about other pods (interpod.h) are not in a view.
 */
#ifndef SCHED_FIT_VIEW_H
#define SCHED_FIT_VIEW_H

#include "base/list.h"
#include "sched/fit/census.h"
#include "sched/fit/fit.h"

enum { VIEW_FAN = 16, VIEW_LEVELS = 8, VIEW_NONE = -1, VIEW_LIFTED = 4 };

struct view_lifted { /* fit.c: how many more pods find room … */
    uint64_t key;    /* … with these holds lifted: hold_parts.key … */
    uint64_t seen;   /* … at this place in the log */
    int64_t places;
};

struct view {
    const struct pod_class *class;
    enum fit_room room;
    struct list_link by_use; /* views.all, the last used last */
    uint32_t n;              /* nodes */
    int n_levels;
    int32_t *level[VIEW_LEVELS]; /* 0: leaves; each level is padded to a multiple of VIEW_FAN */
    uint64_t epoch, seen;        /* of the order; place in the log */
    uint64_t taken;              /* fit.taken, for a class with claims */
    size_t bytes;
    struct census *census; /* census.h; NULL: not asked for yet */
    uint32_t *places;      /* by node: how many pods find room there; NULL: not asked for yet … */
    int64_t n_places;      /* … on all */
    struct view_lifted lifted[VIEW_LIFTED];
};

enum { LOG_SIZE = 1 << 15 };

struct views {
    struct list all;
    uint32_t n;
    size_t bytes;
    uint32_t *log;   /* LOG_SIZE indices, a ring */
    uint64_t head;   /* entries ever written */
    uint32_t *told;  /* the same for nodes whose labels … changed */
    uint64_t n_told; /* entries ever written */
    uint64_t epoch;  /* goes up when all indices or weights are others */
    uint32_t *stamp; /* by index: seen in this reading of the log */
    uint32_t n_stamps, turn;
};

void views_init(struct sched_model *m);
void views_done(struct sched_model *m);
void views_forget(struct sched_model *m, const struct pod_class *c); /* the class goes */
void views_note(struct sched_model *m, uint32_t index, bool is_told);
void views_restart(struct sched_model *m); /* everything is made again when it is asked for */

/* Up to date. Valid until the next call. */
struct view *view_get(struct sched_model *m, const struct pod_class *c, enum fit_room room);

/* Index of the best in [from, to), UINT32_MAX if no node will do. */
uint32_t view_best(const struct view *v, uint32_t from, uint32_t to);

/* How many pods find room in [from, to), by what they ask for. The view was just got. */
int64_t view_places(struct sched_model *m, struct view *v, uint32_t from, uint32_t to);

/* How many more there would be on this node if so much more were free. view_places() was asked. */
int64_t view_more_places(const struct view *v, const struct sched_node *n, const struct amounts *more);

/* Up to date, as the view is that was just got. */
const struct census *view_census(struct sched_model *m, struct view *v);

/* class_work.fixed, up to date. */
const int32_t *view_fixed(struct sched_model *m, const struct pod_class *c);

#endif
