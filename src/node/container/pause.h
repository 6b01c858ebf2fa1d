/* pause.h - a process 1 that does nothing: it holds a pid namespace and reaps orphans
 *
 * Programs in the namespace are then not process 1 themselves, so a signal they do not handle has its usual effect, and
 * all of them end with it. They see this process, and one that may trace can become it, so it leads nowhere: it has an
 * empty root, no descriptor, no capability and no way to get one, and the filter of system calls.
 *
 * Below its root lies a /proc of the namespace, out of its own reach too: for those who come there later and must not be
 * seen while they may still mount (struct box_join).
 */
#ifndef NODE_PAUSE_H
#define NODE_PAUSE_H

/* Called in a child made with CLONE_NEWPID | CLONE_NEWNS, with SIGCHLD blocked. Sends a byte to 'ready', a socket, when
 * it is empty: nobody may see it before that. With it comes the mount of /proc, if there can be one. Ends only by SIGKILL,
 * or before the byte if it cannot be emptied. */
_Noreturn void pause_run(int ready);

#endif
