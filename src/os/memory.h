/* memory.h - giving back what is not needed while nothing happens */
#ifndef OS_MEMORY_H
#define OS_MEMORY_H

/* To be called when there is nothing to do. What was freed goes back to the kernel, also from between what is in use;
 * and the pages of code and constants, of which a start needs many and a rest few, are let go: they are those of files,
 * unchanged, and come back when they are touched, from the page cache and sixteen at a time. Takes about as long as a
 * hundred page faults, then and later. */
void memory_settle(void);

#endif
