/* fs_user.h - look at files as somebody else, for a few calls
 *
 *     if (fs_user_begin(&as, uid, gid, e) < 0)
 *         return -1;
 *     fd = open(path, …);          // what that user may open, links and all; what is made is his
 *     fs_user_end(&as);
 *
 * For paths that somebody else has chosen: a name says where, and a link or a closed directory on the way says whether
 * he could have gone there himself. Of this thread only; everything but files stays as it was. No other begin before
 * the end.
 */
#ifndef OS_FS_USER_H
#define OS_FS_USER_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

enum { FS_USER_GROUPS = 1024 };

struct fs_user { /* private: what it was */
    bool is_other;
    int n_groups;
    gid_t groups[FS_USER_GROUPS];
};

/* Without supplementary groups. ERR_FORBIDDEN: only root can be anybody. */
int fs_user_begin(struct fs_user *as, uid_t uid, gid_t gid, struct err *e);
void fs_user_end(struct fs_user *as); /* errno stays */

#endif
