/* skip.h - gangs that a round passes over because the nodes, or the shares of their queues, would refuse them (parked.h)
 *
 * Each queue's parked gangs are walked in the order of service, between the gangs that are asked. One is passed over if
 * it is certain who would refuse it (skip_look.c); else it is asked as any other. Its queue would admit it, and:
 *
 *     the nodes     have fewer places than its queue takes of its pods, even with what holds of others leave that need
 *                   not be respected, and admission would not let it in on credit; or
 *     its queue     takes fewer of its pods than there are places, by a fair share or by what it keeps for others
 *
 * Those that their share refuses are walked a second time, when groups are served beyond the share. A gang that was
 * passed over looks for victims in vain while all pods are too young for it: skip_hunt() finds that out from numbers,
 * too. Where more follows from a refusal, victims or a reservation, skip_tell_all() puts those that were passed over
 * where they would have been.
 */
#ifndef SCHED_SKIP_H
#define SCHED_SKIP_H

#include "sched/round.h"

/* Before the first queue is served: those that were refused at another room are to be walked. */
void skip_begin(struct round *r);

/* Would it be refused, and by whom? What follows from that for the group is noted by skip_next(). */
struct parked;
enum skip_answer { SKIP_ASK /* not certain */, SKIP_NODES, SKIP_QUEUE };
enum skip_answer skip_ask(struct round *r, struct parked *p, enum gang_limit limit);

/* The next of the queue's parked gangs that comes before 'g' (NULL: any) and must be asked; NULL: none, all others up to
 * there were passed over. */
struct sched_group *skip_next(struct round *r, struct sched_queue *q, const struct sched_group *g,
                              enum gang_limit limit);
/* One of skip_next() was asked. */
void skip_asked(struct round *r, struct sched_group *g);
bool skip_has_more(const struct round *r, const struct sched_queue *q);

/* Those that the shares of their queues refused, and of the same queues those that were not asked again: which are
 * served beyond the share? The others stay refused. */
typedef bool skip_wanted_f(const void *ctx, const struct sched_queue *q, uint32_t dims);
void skip_serve_over(struct round *r, const struct skip_run *run, skip_wanted_f *is_wanted, const void *ctx);
void skip_serve_others(struct round *r, skip_wanted_f *is_wanted, const void *ctx); /* where sched_queue.is_over */

/* Would those that come before 'at' in the list find victims? If one may, all join round.stuck and round.over. Returns
 * where to go on. */
size_t skip_hunt(struct round *r, struct group_list *all, size_t at, bool is_over);
void skip_tell_few(struct round *r); /* when so few wait that the reason of each is reported: all join those lists */
void skip_tell_all(struct round *r); /* they do now */
bool skip_has_passed(const struct round *r);

/* The first of each run that was passed over; then all of them join the lists if a queue among those has no hold yet. */
typedef bool skip_concerned_f(const struct sched_model *m, const struct sched_queue *q);
void skip_add_first(struct round *r, struct group_list *ret);
void skip_note(const struct sched_model *m, const struct sched_group *g); /* what rounds found out about it */
bool skip_tell_refused(struct round *r, skip_concerned_f *is_concerned);

/* For each queue with parked gangs whose share allows what they need: for which resource they wait. */
void skip_each_wanted(const struct round *r,
                      void (*each)(void *ctx, const struct sched_queue *q, int dim, const struct amounts *needs),
                      void *ctx);

/* At the end: who was refused in this round is parked, or no longer. */
void skip_end(struct round *r);

#endif
