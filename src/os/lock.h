/* lock.h - locks that are files, held by the processes that have the descriptor
 *
 * A lock belongs to the open file (flock): a process and its forks hold it until the last of them has ended or closed it,
 * also after kill -9. Nothing has to be cleaned up: a file that stays is a lock that is free. Files are seen the same from every network and pid namespace, and from every mount namespace that has their
 * directory.
 *
 * A process that can open a lock can hold it for ever. So a lock has mode 0600, in a directory that only its owner can
 * write. A link, anything but a plain file, and a file of another user are refused.
 */
#ifndef OS_LOCK_H
#define OS_LOCK_H

#include "base/err.h"

/* Open a directory for locks. ERR_FORBIDDEN: other users can write to it; the error says what helps. */
int lock_dir_open(const char *path, int *ret_dir, struct err *e);

/* Take the lock 'name' in 'dir', made if it is not there; wait at most 'wait_ms' (0: not at all). ERR_CONFLICT:
 * another process has it. Close the descriptor to release it. */
int lock_take(int dir, const char *name, int wait_ms, int *ret_fd, struct err *e);

#endif
