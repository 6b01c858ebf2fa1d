/* pause.h - an idle process 1: it holds a pid namespace and reaps orphans
 *
 * Programs in the namespace are not process 1 themselves, so a signal they do not handle has its default effect, and
 * all of them end with the namespace. They can see this process, and one that may trace can take it over, so it holds
 * nothing of value: an empty root, no descriptor, no capability and no way to gain one, and the seccomp filter.
 *
 * Below its root is a /proc of the namespace, out of its own reach: for processes that join later and must stay
 * invisible while they may still mount (struct box_join).
 */
#ifndef NODE_PAUSE_H
#define NODE_PAUSE_H

/* Call it in a child made with CLONE_NEWPID | CLONE_NEWNS, with SIGCHLD blocked. Sends a byte to 'ready', a socket,
 * once it holds nothing; no other process may enter the namespace before. The mount of /proc comes with it, if the
 * kernel allows one. Ends only by SIGKILL, or before the byte on an error. */
_Noreturn void pause_run(int ready);

#endif
