/* signals.h - signals as news for a loop, beside the rest that it waits for
 *
 *     int fd;
 *
 *     signals_open((int[]){ SIGINT, SIGTERM, 0 }, &fd, &e);
 *     ... poll fd ...
 *     while ((number = signals_next(fd)) > 0)
 *         ...
 *
 * They are blocked for the whole process from then on, so open this before threads and children are made: threads
 * inherit it, and a child that runs another program must set its own signals. SIGPIPE is ignored: a reader who left
 * is an error of write().
 */
#ifndef OS_SIGNALS_H
#define OS_SIGNALS_H

#include "base/err.h"

int signals_open(const int *numbers, int *ret_fd, struct err *e); /* ended by 0 */

/* The next one that came; 0: none now. A negative 'fd' has none. */
int signals_next(int fd);

#endif
