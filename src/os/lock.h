/* lock.h - locks that are files, held by whoever has the descriptor
 *
 * A lock belongs to the open file (flock): a process and its forks hold it until the last of them has ended or closed it,
 * also after kill -9. Nothing has to be cleaned up: a file that stays is a lock that is free. Files are seen the same from every network and pid namespace, and from every mount namespace that has their
 * directory.
 *
 * Who can open a lock can hold it for ever. So a lock is of mode 0600, in a directory that only its owner can write,
 * and one that is a link, no plain file or somebody else's is refused, not followed.
 */
#ifndef OS_LOCK_H
#define OS_LOCK_H

#include "base/err.h"

/* Open a directory for locks. ERR_FORBIDDEN: other users can write to it; the error says what helps. */
int lock_dir_open(const char *path, int *ret_dir, struct err *e);

/* Take the lock 'name' in 'dir', made if it is not there; wait at most 'wait_ms' (0: not at all). ERR_CONFLICT:
 * somebody has it. Close the descriptor to let go. */
int lock_take(int dir, const char *name, int wait_ms, int *ret_fd, struct err *e);

#endif
