/* fence.h - the program ends at a moment, whatever it is doing then
 *
 * For what may be done only until some time, such as writing while a lease is held. To ask for the time first is not
 * enough: a program can be stopped between the question and the deed (SIGSTOP, a frozen cgroup, a machine that sleeps)
 * and goes on where it was, however late it is. Here the kernel asks: a timer has a signal waiting when the time has
 * come, and its handler runs before any other instruction of the program does, also after a stop.
 *
 * What was given to the kernel before (bytes in a socket) leaves. A virtual machine whose clocks stood still with it
 * knows nothing of the time.
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
