/* reexec.h - the program leaves its own file before it makes pods
 *
 * The processes that make a container are forks of this program, and until such a process executes what the pod asks
 * for, /proc/self/exe in it is this program. A pod may ask for just that: as its command, as the interpreter of a
 * script, as a probe or a hook. So what that link leads to is in a pod's hands, and must not be the file that others
 * will execute later: one chmod() in a pod would change the installed program.
 *
 * Therefore the program executes itself once more, from one of
 *
 *   a sealed memfd     a copy in memory: its bytes are sealed, and so are its modes, which allow nobody to execute it
 *                      ever again. Owner and attributes can still be changed, and mean nothing then. Linux 6.3.
 *   a detached mount   the same file by a mount of its own, read-only, nosuid and attached nowhere: nobody can make it
 *                      writable again. Where memfds cannot be executed (sysctl vm.memfd_noexec=2) or modes not sealed.
 *
 * Which of them a process runs from is asked of the file itself. Command line, descriptors, signals and process id
 * stay, and so does the environment, with LD_BIND_NOW added; nothing in this program may execute /proc/self/exe
 * later.
 */
#ifndef NODE_REEXEC_H
#define NODE_REEXEC_H

#include "base/err.h"

/* Returns 0 in a process that runs from such a file. In any other it does not return: the program begins anew with
 * the same arguments, so call it before standard input is read and anything is made; there must be one thread only.
 * Needs /proc. ERR_IO and others: neither is possible here, and no pod may be made. */
int reexec_sealed(struct err *e);

#endif
