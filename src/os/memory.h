/* memory.h - giving back what is not needed while nothing happens */
#ifndef OS_MEMORY_H
#define OS_MEMORY_H

#include <stddef.h>

/* To be called at the start of a program that serves requests. Up to 'bytes' of freed memory stay with the process until
 * memory_settle(). Without it the C library gives large blocks back at once, and a server that parses one large request
 * after another spends half of its time on pages that the kernel takes, clears and hands out again. */
void memory_keep(size_t bytes);

/* To be called when there is nothing to do. Returns freed memory to the kernel, also from between blocks in use. Drops the
 * pages of code and constants, of which a start needs many and an idle program few: they come back from the page cache
 * when they are touched, sixteen at a time. Costs about a hundred page faults, now and later. */
void memory_settle(void);

#endif
