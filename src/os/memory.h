/* memory.h - giving back what is not needed while nothing happens */
#ifndef OS_MEMORY_H
#define OS_MEMORY_H

#include <stddef.h>

/* To be called at the start of a program that serves requests. Up to 'bytes' of freed memory stay with the process until
 * memory_settle(). Without it the C library gives large blocks back at once, and a server that parses one large request
 * after another spends half of its time on pages that the kernel takes, clears and hands out again. */
void memory_keep(size_t bytes);

/* To be called when there is nothing to do. What was freed goes back to the kernel, also from between what is in use;
 * and the pages of code and constants, of which a start needs many and a rest few, are let go: they are those of files,
 * unchanged, and come back when they are touched, from the page cache and sixteen at a time. Takes about as long as a
 * hundred page faults, then and later. */
void memory_settle(void);

#endif
