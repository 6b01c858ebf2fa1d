/* fs_user.h - access files as another user, for a few calls
 *
 *     if (fs_user_begin(&as, uid, gid, e) < 0)
 *         return -1;
 *     fd = open(path, …);          // with the rights of that user; new files belong to him
 *     fs_user_end(&as);
 *
 * For paths that a user has chosen: links and closed directories on the way have the same effect as for that user. Holds
 * for files and for this thread only. Begins do not nest.
 */
#ifndef OS_FS_USER_H
#define OS_FS_USER_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

enum { FS_USER_GROUPS = 1024 };

struct fs_user { /* private: the previous groups */
    bool is_other;
    int n_groups;
    gid_t groups[FS_USER_GROUPS];
};

/* Without supplementary groups. ERR_FORBIDDEN: only root can be anybody. */
int fs_user_begin(struct fs_user *as, uid_t uid, gid_t gid, struct err *e);
void fs_user_end(struct fs_user *as); /* errno stays */

#endif
