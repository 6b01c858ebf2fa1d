/* tree.h - whole trees: delete, hand to a group
 *
 * Containers wrote them, so nothing about them can be trusted: not the depth (a shell loop makes a directory 100,000
 * levels deep), not that names stay what they were a moment ago. Links are never followed, everything goes by
 * descriptor, and no more than some 30 are open at once. Errors are ERR_IO, or what is said below; never ERR_NOT_FOUND.
 */
#ifndef OS_TREE_H
#define OS_TREE_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* Delete 'name' in 'parent', whatever it is. Never leaves the file system it began in. Fine if it is not there. */
int tree_remove(int parent, const char *name, struct err *e);

/* Delete all that is in the directory 'fd', which may be a mount, but not what is mounted further down. */
int tree_empty(int fd, struct err *e);

/* Give everything below 'root' to a group and let it read (and write). Links are changed, never followed; mounts of
 * others are left out. ERR_FORBIDDEN: our user namespace does not have the group. ERR_TOO_BIG: paths longer than the
 * kernel takes. */
int tree_own(int root, gid_t group, bool is_read_only, struct err *e);
int tree_own_fd(int fd, gid_t group, bool is_read_only, struct err *e); /* one file or directory held open */
int tree_group_errno(struct err *e, gid_t group); /* why a file could not be given to a group: errno */

#endif
