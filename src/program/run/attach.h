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

/* Attach if there is one pod only, it has a container with stdin: true, and stdin is a terminal. Call before 'start'. */
void run_attach_look(struct run *r, const struct load *l);
/* Begin when the pod runs, and take the terminal back when the pod has ended or the user has detached. */
void run_attach_turn(struct run *r);
bool run_attach_shows(const struct run *r, struct str pod_uid); /* what it writes is on the screen already */
void run_attach_end(struct run *r);                             /* the terminal is ours again */

#endif
