/* attach.h - this terminal is that of the only pod of the run */
#ifndef PROGRAM_RUN_ATTACH_H
#define PROGRAM_RUN_ATTACH_H

#include "cli/load.h"

#include <sys/types.h>

struct run;

struct run_attach {
    bool is_wanted;            /* … as soon as it runs */
    pid_t pid;                 /* of the program that has the terminal; 0: none */
    struct str uid, container; /* of the pod */
    bool has_tty;
    bool was_live;
};

/* Is there one pod only, with a container that has stdin: true, and somebody at a terminal? Told before 'start'. */
void run_attach_look(struct run *r, const struct load *l);
/* Begin when the pod runs, and take the terminal back when it has ended or somebody has left it. */
void run_attach_turn(struct run *r);
bool run_attach_shows(const struct run *r, struct str pod_uid); /* what it writes is on the screen already */
void run_attach_end(struct run *r);                             /* the terminal is ours again */

#endif
