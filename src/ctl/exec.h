/* exec.h - run a command in a pod, or attach to its container, with or without a terminal
 *
 * Over a WebSocket (v5.channel.k8s.io): each message has the number of its channel in front.
 */
#ifndef CTL_EXEC_H
#define CTL_EXEC_H

#include "kube/ask.h"

struct exec_talk {
    struct kube_ask *ask;
    struct str path; /* of exec or attach, with its query */
    bool has_input;  /* standard input is passed on, to its end */
    bool is_tty;     /* keys and the size of the terminal too, if standard input is one */
    bool detaches;   /* Ctrl-P Ctrl-Q at the terminal leave; what runs goes on */
};

/* The parameters of a request for it; an empty container is left out. */
void exec_query(struct buf *path, struct str container, bool has_input, bool is_tty);

/* Until it is over. '*ret_status': the exit status; 0 for who has detached, 128 and its number after a signal. The
 * terminal is as it was then. */
int exec_talk(const struct exec_talk *how, int *ret_status, struct err *e);

#endif
