/* file_copy.h - what is in one file, into another */
#ifndef OS_FILE_COPY_H
#define OS_FILE_COPY_H

#include <stdbool.h>
#include <sys/stat.h>

struct copy_stop { /* asked between pieces; true: the copy ends with -1 and ECANCELED */
    bool (*is_stopped)(void *ctx);
    void *ctx;
};

/* All that is in the plain file 'from', into a new file 'name' in 'dir': 0600, with the times of 'st'. Holes stay holes,
 * and where the file system can share blocks nothing is copied. 'stop' may be NULL. Returns its descriptor; -1: there is
 * none, nor half of one. */
int file_copy_new(int from, const struct stat *st, int dir, const char *name, const struct copy_stop *stop);

#endif
