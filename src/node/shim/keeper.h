/* keeper.h - a small process that outlives the rest of a run, and finishes what they could not
 *
 * Forked before the run has anything on the host. It does nothing until the program and all that came from it are gone,
 * whoever killed them, and then calls 'finish'. So a kill -9 of everything else leaves nothing behind; somebody who
 * kills the keeper too has the next run clean up.
 *
 *     program ──lifeline──▶ keeper       also held by the spawner and the shims: all that are forked later
 *
 * One that does not go in time after the program's end, a stopped one above all, is killed.
 */
#ifndef NODE_KEEPER_H
#define NODE_KEEPER_H

#include "base/err.h"

struct keeper;

struct keeper_options {
    const char *name;          /* of the run, for people who look at processes */
    void (*finish)(void *ctx); /* in the keeper */
    void *ctx;
    int patience_ms; /* for the others to go, from the program's end on; -1: as long as they like */
};

/* Of the threads of the program the keeper has none, and it uses nothing that one of them might have locked: only memory, and that
 * is safe. */
int keeper_start(const struct keeper_options *opt, struct keeper **ret, struct err *e);
/* The program's end of the lifeline: for those to hold who are not forked with it. It hangs up if the keeper is killed; others
 * who hold it then still end with the program, and whoever starts another keeper gives it a lifeline of its own. NULL: -1. */
int keeper_fd(const struct keeper *k);
void keeper_look(const struct keeper *k); /* now and then: one that was stopped goes on. NULL is fine */
/* The program has done all of it: the keeper goes without a word. Waits for it. NULL is fine. */
void keeper_stop(struct keeper *k);
void keeper_leave(struct keeper *k); /* the program goes, and others stay: it waits for them. NULL is fine */

#endif
