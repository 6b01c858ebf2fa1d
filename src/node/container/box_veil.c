/* box_veil.c - the veil: the host's files as an unknown user of the machine sees them
 *
 * Without a user namespace, root of a container is root of the machine to file permissions: it could read files that
 * are closed to others. An overlay checks its lower files with the credentials of the process that mounted it. So
 * between the host's files and the container's overlay there is another overlay, which changes nothing and was
 * mounted by an unknown user. The container's root cannot read or enter what others may not, and the kernel checks
 * each file when it is opened: also files that are created or closed later, wherever they are and however they are
 * reached.
 *
 * The kernel stacks at most two overlays: where "/" is one already, there is no veil (hide.h lists what is hidden
 * then). A user namespace needs none: its root is an ordinary user of the machine, to whom permissions apply.
 */
#include "node/container/box_internal.h"
#include "node/userns/user.h"

#include <errno.h>
#include <grp.h>
#include <linux/magic.h>
#include <sys/fsuid.h>
#include <sys/statfs.h>

enum { STRANGER = 0x7ffffffe }; /* no file has this owner or group */

bool box_veil_is_possible(void)
{
    struct statfs fs;

    return user_ids() == UINT32_MAX && statfs("/", &fs) == 0 && fs.f_type != OVERLAYFS_SUPER_MAGIC;
}

/* Without DAC_OVERRIDE and similar capabilities: the kernel drops them when the file system user id changes. */
static int mount_as_stranger(const struct box_option *opt, struct err *e)
{
    int mount = -1;

    if (setgroups(0, NULL) < 0) /* the groups of the program are set later */
        return err_errno(e, "drop supplementary groups");
    (void)setfsgid(STRANGER);
    (void)setfsuid(STRANGER);
    if (setfsuid((uid_t)-1) == STRANGER && setfsgid((gid_t)-1) == STRANGER)
        mount = box_mount_new("overlay", opt, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV, e);
    else
        (void)err_set(e, ERR_IO, "cannot change the user id for file access");
    (void)setfsuid(0);
    (void)setfsgid(0);
    return mount;
}

int box_veil(int lower, int nothing, struct err *e)
{
    char dirs[80];
    const struct box_option opt[] = {
        { "source", "pumice" },         { "lowerdir", dirs },  { "xino", "off" }, /* keep inode numbers */
        { "redirect_dir", "nofollow" }, { "metacopy", "off" }, { 0 }, /* do not follow redirects between files */
    };
    int mount;

    /* The kernel requires at least two lower directories. */
    (void)snprintf(dirs, sizeof(dirs), "/proc/self/fd/%d:/proc/self/fd/%d", lower, nothing);
    mount = mount_as_stranger(opt, e);
    if (mount < 0)
        return err_wrap(e, "mount the veil over the host's files");
    /* Most kernels require the lower layer of another overlay to be attached. It is detached with the host's root. */
    if (box_mount_attach(mount, nothing) == 0)
        return mount;
    (void)err_errno(e, "attach the veil");
    close(mount);
    return -1;
}
