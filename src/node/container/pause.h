/* pause.h - a process 1 that does nothing: it holds a pid namespace and reaps orphans
 *
 * Programs in the namespace are then not process 1 themselves, so a signal they do not handle has its usual effect, and
 * all of them end with it. They see this process, so it leads nowhere: it has an empty root, no descriptor and no
 * capability.
 */
#ifndef NODE_PAUSE_H
#define NODE_PAUSE_H

/* Called in a child made with CLONE_NEWPID | CLONE_NEWNS, with SIGCHLD blocked. Writes a byte to 'ready' when it is
 * empty: nobody may see it before that. Ends only by SIGKILL, or before the byte if it cannot be emptied. */
_Noreturn void pause_run(int ready);

#endif
