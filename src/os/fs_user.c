/* fs_user.c - access files as another user */
#include "os/fs_user.h"

#include "base/util.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The C library's would change all threads. */
static int set_groups(int n, const gid_t *groups)
{
    return (int)syscall(SYS_setgroups, n, groups);
}

/* With an invalid id both calls change nothing and return the current one. */
static bool is_fs_user(uid_t uid, gid_t gid)
{
    return (uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid;
}

int fs_user_begin(struct fs_user *as, uid_t uid, gid_t gid, struct err *e)
{
    as->is_other = false;
    if (geteuid() == uid && getegid() == gid)
        return 0;
    if (geteuid() != 0)
        return err_set(e, ERR_FORBIDDEN, "cannot access files as user %u: this program does not run as root",
                       (unsigned)uid);
    as->n_groups = getgroups(FS_USER_GROUPS, as->groups);
    if (as->n_groups < 0 || set_groups(0, NULL) < 0)
        return err_errno(e, "switch to the groups of user %u", (unsigned)uid);
    as->is_other = true;
    (void)setfsgid(gid);
    (void)setfsuid(uid); /* which takes the rights of root over files away */
    if (is_fs_user(uid, gid))
        return 0;
    fs_user_end(as);
    return err_set(e, ERR_INTERNAL, "cannot access files as user %u: the kernel refused", (unsigned)uid);
}

void fs_user_end(struct fs_user *as)
{
    int kept = errno;

    if (!as->is_other)
        return;
    (void)setfsuid(geteuid());
    (void)setfsgid(getegid());
    /* If root cannot become root again, the process must not go on with half of its ids. */
    if (set_groups(as->n_groups, as->groups) < 0 || !is_fs_user(geteuid(), getegid()))
        abort();
    as->is_other = false;
    errno = kept;
}
