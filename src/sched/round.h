/* round.h - what the files of one scheduling round share */
#ifndef SCHED_ROUND_H
#define SCHED_ROUND_H

#include "sched/gang/hold.h"
#include "sched/gang/gang_class.h"
#include "sched/sched.h"

struct skip;
struct skip_run {
    struct sched_queue *queue;
    size_t from, to; /* in its list of parked gangs */
    size_t at;       /* before this one of the list of groups */
};
struct skip_runs { /* parked gangs that would be in a list of groups */
    VEC(struct skip_run) list;
    size_t n_hunted; /* those before this one need not hunt */
};

struct round {
    struct sched_model *m;
    struct sched_round *out;
    struct arena *a;    /* of the round */
    struct arena trial; /* of one attempt: reset for each */
    int64_t now_ms;
    uint64_t yields;           /* model.yields then */
    uint64_t room;             /* model.room_gen when it began to ask: what is made since is for the next round */
    bool is_quiet;             /* no object has changed since the last round, only time has passed */
    struct group_list touched; /* something about them changed: status.c looks at them */
    struct group_list fresh;   /* changed, and have a class now */
    struct group_list stuck;   /* entitled, but the nodes have no room; in order */
    struct group_list over;    /* their queue has had its share; in order */
    struct group_list asked;   /* parked gangs that were not passed over */
    struct skip_runs skipped_stuck, skipped_over; /* … that were (skip.h) */
    size_t others_from, others_to;                /* in 'over': those that were not asked in this round … */
    size_t n_over_runs;                           /* … with so many of skipped_over before them … */
    struct skip_runs skipped_others;              /* … and parked ones of those */
    struct skip *skip;                            /* skip_look.c's own */
    VEC(struct sched_queue *) active;             /* with groups in their heap … */
    struct sched_queue *turn;                     /* … the one that is served … */
    uint32_t turn_bound;                          /* … as of out->n_bound */
    int32_t lowest_seated;       /* priority of all groups that were admitted and wait for their pods */
    int32_t lowest_on_credit;    /* … that were admitted without places */
    int32_t futile_priority;     /* for a group of this priority … */
    struct amounts futile_needs; /* … with these needs it did not help to put out those on credit … */
    uint64_t futile_room;        /* … when model.room_gen was one less; 0: none was asked yet */
};

struct decision *round_decide(struct round *r, enum decision_kind kind, struct str namespace, struct str name,
                              struct str uid);
void round_wake(struct round *r, int64_t ms);
void round_touch(struct round *r, struct sched_group *g);
void round_tried(struct round *r, struct sched_group *g);                /* it found no place, as things are */
void round_retry(struct round *r, struct sched_group *g, int64_t at_ms); /* look at it again then */
void round_drop_hold(struct round *r, struct sched_group *g);            /* and the nominations of its pods */
void round_rank_hold(struct round *r, struct hold *c);           /* a reservation: who comes before it (hold_order.c) */
void round_drop_promise(struct round *r, struct sched_group *g); /* others may be let in instead */
void round_promise(struct round *r, struct sched_group *g);      /* its pods know the seats that others are to leave */
void group_people_name(const struct sched_group *g, char *to, size_t size); /* "namespace/job", as people know it */
bool group_is_broken(const struct sched_group *g);                          /* it stood, and lost members */
bool group_knows_its_pods(const struct sched_group *g); /* pods, or templates of them: enough to look for nodes */

/* Who goes first (D1, D20): priority, a gang that lost members, whose admission never ran out, earlier
 * deadline, gangs before extras, smaller dominant share, older, by name. */
int order_cmp(const struct sched_group *a, const struct sched_group *b);

static inline bool group_is_admitted(const struct sched_group *g)
{
    return g->status.has_phase && g->status.phase != GROUP_PENDING;
}

/* ---- never.c: what nothing that goes on can help; it keeps nothing from others ---- */

/* Sets never_fits: not even on empty nodes. Asked when the nodes or the group changed; while the answer is yes, each
 * time. */
void round_find_never(struct round *r, struct sched_group *g);
/* Would it, with what it lacks ('needs'), have more than its queue or one above may ever have? Then why. */
bool round_is_beyond_limits(const struct sched_model *m, const struct sched_group *g, struct amounts needs,
                            struct why *ret);
/* After it was refused: it does not fit on empty nodes, is beyond the limits of its queue, or found no place although
 * all that was kept for it was free. */
bool round_is_hopeless(const struct round *r, const struct sched_group *g);
/* Its fifo queue goes on without it; said on the group, or people would take it for the one all wait for. */
void round_pass(struct sched_group *g);

/* ---- place.c: one group ---- */
void round_attempt(struct round *r, struct sched_group *g, enum gang_limit limit);
/* Why a group waits that was passed over since it was asked (skip.h), with the numbers of now. */
void round_say_again(struct round *r, struct sched_group *g);
/* Would its minimum fit, whatever its queue may have? */
bool round_would_fit(struct round *r, struct sched_group *g, enum fit_room room, struct why *ret_why);
/* The most that may be promised of a resource. */
int64_t round_credit(const struct sched_model *m, int dim);
/* Groups stop holding back for it, and are asked again. */
void round_unstick(struct round *r, struct sched_group *g);
/* Another group may be served now that this one was. */
void round_push(struct round *r, struct sched_group *g);

/* ---- gate.c ---- */
/* Open the queue gates of the minimum it lacks, or else of pods beyond it, as far as capabilities allow. False: one
 * keeps the minimum closed, as '*ret' says. */
bool round_open_gates(struct round *r, struct sched_group *g, struct why *ret);

/* ---- hold_order.c: places that are kept for others ---- */
struct lifted {
    VEC(struct hold *) list;
};

/* Let go of the places that are no obstacle to this group: of lower priorities in its queue, of those beyond their
 * share if it is not, of those that came later. hold_order_put_back() keeps them again. */
void hold_order_lift(struct round *r, struct sched_group *g, bool is_over, struct lifted *ret);
void hold_order_put_back(struct round *r, struct lifted *l);
/* The same, though it may fit without: what is lifted for every gang of that queue and priority that has nothing yet.
 */
void hold_order_lift_one(struct round *r, struct hold *c, struct lifted *ret);
void hold_order_lift_all(struct round *r, const struct sched_group *g, bool is_over, struct lifted *ret);

/* Those that cannot be used before 'end_ms' anyway. False: there are none. */
bool hold_order_lift_until(struct round *r, int64_t end_ms, struct lifted *ret);

/* The first of the class was refused for want of room, but a group that ends sooner may use more of what is kept for
 * others: the first that can. NULL: none. */
struct sched_group *hold_order_beside(struct round *r, const struct gang_class *c, enum gang_limit limit);

/* Would it fit but for what is kept for others? Then the hold that is in its way; NULL: it would not. */
const struct hold *hold_order_in_the_way(struct round *r, struct sched_group *g);

/* A group that was let in and whose seats this one took before it had pods is out again (D23). */
void hold_order_withdraw(struct round *r, const struct sched_group *g);

/* ---- reserve.c: room that is not there yet ---- */
enum { EXPIRES_MOST = 2 }; /* times an admission is withdrawn; after that it is worth nothing */
void round_evict(struct round *r);
void round_reserve(struct round *r);
void round_reserve_for(struct round *r, struct sched_group *g); /* at once */
void round_recover(struct round *r); /* as the last scheduler had them, before this one places anything */
void round_expire(struct round *r);
bool round_has_given_up(const struct round *r, const struct sched_group *g); /* its pods do not come */
void round_unbind(struct round *r);

/* ---- status.c ---- */
void round_write_statuses(struct round *r);
/* Its reason was written lately, and is not written again for the sake of other numbers. */
bool round_is_told(const struct round *r, const struct sched_group *g);
void group_forget_seats(struct sched_group *g); /* of the last trial */

/* ---- round.c ---- */
void sched_round_run(struct sched_model *m, int64_t now_ms, struct sched_round *ret);

#endif
