/* box_veil.c - the host's files as a stranger sees them: a user of the machine who owns nothing and is in no group
 *
 * Root of a container without a user namespace is root of the machine to the modes of files: it would read what they
 * close to others. The kernel itself can judge by modes, for each file when it is opened, in every place and however
 * many there are: an overlay looks at the files below it with the rights of whoever mounted it. So between the host's
 * files and the container's overlay lies one that changes nothing and was mounted by a stranger. What others may not read
 * or enter, the container's root may not either, also if it comes later or is closed later. Where a file lies, how deep,
 * and by what link it is reached is all the same.
 *
 * The kernel stacks two overlays and no third: where "/" is one, there is no veil (hide.h has what is hidden then). A
 * user namespace has none either: its root is an ordinary user of the machine, to whom the modes apply.
 */
#include "node/container/box_internal.h"
#include "node/userns/user.h"

#include <errno.h>
#include <grp.h>
#include <linux/magic.h>
#include <sys/fsuid.h>
#include <sys/statfs.h>

enum { STRANGER = 0x7ffffffe }; /* no file has this owner, and no group of this number */

bool box_veil_is_possible(void)
{
    struct statfs fs;

    return user_ids() == UINT32_MAX && statfs("/", &fs) == 0 && fs.f_type != OVERLAYFS_SUPER_MAGIC;
}

/* Without DAC_OVERRIDE and its like: the kernel takes these away with the user id that files are asked with. */
static int mount_as_stranger(const struct box_option *opt, struct err *e)
{
    int mount = -1;

    if (setgroups(0, NULL) < 0) /* those of the container's program are set later */
        return err_errno(e, "leave all groups");
    (void)setfsgid(STRANGER);
    (void)setfsuid(STRANGER);
    if (setfsuid((uid_t)-1) == STRANGER && setfsgid((gid_t)-1) == STRANGER)
        mount = box_mount_new("overlay", opt, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV, e);
    else
        (void)err_set(e, ERR_IO, "cannot ask for files as another user");
    (void)setfsuid(0);
    (void)setfsgid(0);
    return mount;
}

int box_veil(int lower, int nothing, struct err *e)
{
    char dirs[80];
    const struct box_option opt[] = {
        { "source", "pumice" },         { "lowerdir", dirs },  { "xino", "off" }, /* files keep their numbers */
        { "redirect_dir", "nofollow" }, { "metacopy", "off" }, { 0 }, /* nothing leads from one file to another */
    };
    int mount;

    /* The kernel wants two directories at least. */
    (void)snprintf(dirs, sizeof(dirs), "/proc/self/fd/%d:/proc/self/fd/%d", lower, nothing);
    mount = mount_as_stranger(opt, e);
    if (mount < 0)
        return err_wrap(e, "show what others may read");
    /* Most kernels take only what is attached for the lower layer of another. It goes with the host's root. */
    if (box_mount_attach(mount, nothing) == 0)
        return mount;
    (void)err_errno(e, "attach what others may read");
    close(mount);
    return -1;
}
