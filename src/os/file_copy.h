/* file_copy.h - what is in one file, into another */
#ifndef OS_FILE_COPY_H
#define OS_FILE_COPY_H

#include <stdbool.h>
#include <sys/stat.h>

/* All that is in the plain file 'from', to the empty plain file 'to': holes stay holes, and where the file system can share
 * blocks nothing is copied. 'is_stopped' (may be NULL) is asked between pieces; true: -1 with ECANCELED. */
int file_copy(int from, int to, bool (*is_stopped)(void *ctx), void *ctx);

/* The same into a new file, which nothing may have the name of: 0600, with the times of 'st'. Its descriptor; -1: there is
 * none, nor half of one. */
int file_copy_new(int from, const struct stat *st, int dir, const char *name, bool (*is_stopped)(void *ctx), void *ctx);

#endif
