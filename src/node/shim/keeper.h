/* keeper.h - a small process that outlives the rest of a run and cleans up
 *
 * Forked before the run creates anything on the host. It waits until the program and all processes forked from it
 * have ended, for whatever reason, and then calls 'finish'. So even kill -9 of all other processes leaves nothing
 * behind; if the keeper is killed too, the next run cleans up.
 *
 *     program ──lifeline──▶ keeper       also held by the spawner, the shims and all later forks
 *
 * A process that does not end in time after the program (above all a stopped one) is killed.
 */
#ifndef NODE_KEEPER_H
#define NODE_KEEPER_H

#include "base/err.h"

struct keeper;

struct keeper_options {
    const char *name;          /* of the run, shown in process lists */
    void (*finish)(void *ctx); /* called in the keeper */
    void *ctx;
    int patience_ms; /* how long other processes may take to end after the program; -1: no limit */
};

/* Fork the keeper. It has no threads of the program and calls nothing that one of them might have locked, except
 * malloc(), which is safe after fork(). */
int keeper_start(const struct keeper_options *opt, struct keeper **ret, struct err *e);
/* The program's end of the lifeline, for processes that are not forked from the program to hold. It hangs up if the
 * keeper is killed; they still end with the program, and a new keeper gets a lifeline of its own. NULL: -1. */
int keeper_fd(const struct keeper *k);
void keeper_resume(
    const struct keeper *k); /* call it now and then: resumes a keeper that was stopped by a signal. NULL is fine */
/* The program has cleaned up itself: end the keeper without calling 'finish', and wait for it. NULL is fine. */
void keeper_stop(struct keeper *k);
void keeper_leave(
    struct keeper *k); /* the program ends while other processes stay: the keeper waits for them. NULL is fine */

#endif
