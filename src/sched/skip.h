/* skip.h - gangs that a round passes over because the nodes would refuse them as before (parked.h)
 *
 * Each queue's parked gangs are walked in the order of service, between the gangs that are asked. One is passed over if
 * all of this is certain; else it is asked as any other:
 *
 *     its queue     admits it as before, and would not be the one that refuses it
 *     the nodes     have too few places for it, even with what holds of others leave that need not be respected
 *     admission     would not let it in on credit
 *
 * Then it would have been refused for want of room, as it was. What follows from a refusal later in the round, victims
 * or a reservation, is made up for: skip_tell_refused() puts those that were passed over where they would have been.
 */
#ifndef SCHED_SKIP_H
#define SCHED_SKIP_H

#include "sched/round.h"

/* Before the first queue is served: those that were refused at another room are to be walked. */
void skip_begin(struct round *r);

/* Would it be refused for want of room? */
struct parked;
bool skip_is_refused_again(struct round *r, struct parked *p);

/* The next of the queue's parked gangs that comes before 'g' (NULL: any) and must be asked; NULL: none, all others up to
 * there were passed over. */
struct sched_group *skip_next(struct round *r, struct sched_queue *q, const struct sched_group *g);
/* One of skip_next() was asked. */
void skip_asked(struct round *r, struct sched_group *g);
bool skip_has_more(const struct round *r, const struct sched_queue *q);

/* Could one of those that were passed over have victims? Then all of them join round.stuck. */
void skip_find_hunters(struct round *r);
/* The first of each queue that was passed over; then all of them if a queue among those has no hold yet. */
void skip_add_first(struct round *r, struct group_list *ret);
bool skip_tell_refused(struct round *r, bool (*is_concerned)(const struct sched_model *m, const struct sched_queue *q));

/* For each queue with parked gangs whose share allows what they need: for which resource they wait. */
void skip_each_wanted(const struct round *r,
                      void (*each)(void *ctx, const struct sched_queue *q, int dim, const struct amounts *needs),
                      void *ctx);

/* At the end: who was refused in this round is parked, or no longer. */
void skip_end(struct round *r);

#endif
