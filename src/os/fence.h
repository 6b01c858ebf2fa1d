/* fence.h - end the program at a given moment, whatever it is doing
 *
 * For work that is allowed only until a deadline, such as writing while a lease is held. Checking the time first is not
 * enough: the program can be stopped between the check and the write (SIGSTOP, a frozen cgroup, a sleeping machine) and
 * continue later. Here the kernel checks: at the deadline a timer queues a signal, and its handler runs before any other
 * instruction of the program, also after a stop.
 *
 * Bytes that were given to the kernel before (in a socket) are still sent. A virtual machine that was paused together
 * with its clocks does not notice the time.
 *
 * There is one for a process, in the thread that opened it. It uses SIGALRM.
 */
#ifndef OS_FENCE_H
#define OS_FENCE_H

#include "base/err.h"
#include "base/str.h"

/* 'last_words' are written to 'fd' before the end, which has this exit status. The text is copied. */
int fence_open(int fd, struct str last_words, int status, struct err *e);

/* The moment, on CLOCK_BOOTTIME, which goes on while the machine sleeps; INT64_MAX: none. One that has passed: now. */
void fence_set(int64_t boot_ms);

void fence_close(void); /* also if it was never opened */

#endif
