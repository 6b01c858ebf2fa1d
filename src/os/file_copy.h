/* file_copy.h - what is in one file, into another */
#ifndef OS_FILE_COPY_H
#define OS_FILE_COPY_H

#include <stdbool.h>

/* All that is in the plain file 'from', to the empty plain file 'to': holes stay holes, and where the file system can share
 * blocks nothing is copied. 'is_stopped' (may be NULL) is asked between pieces; true: -1 with ECANCELED. */
int file_copy(int from, int to, bool (*is_stopped)(void *ctx), void *ctx);

#endif
