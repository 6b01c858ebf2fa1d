/* user.c - an ordinary user becomes root of a user namespace, and the run gets its own mount namespace */
#include "node/userns/user_internal.h"

#include "base/util.h"
#include "os/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/stat.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static const uint32_t all_ids = UINT32_MAX;

/* Receive mounts and unmounts of the host (so that no disk stays busy), but do not propagate ours. */
static int keep_mounts_in(struct err *e)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return errno == EPERM || errno == EACCES ? user_refused(errno, e) : err_errno(e, "make mounts slaves");
    return 0;
}

/* ---- root ---- */

/* Make the detached 'tree' the root of this mount namespace and detach the old root. */
static int pivot_to_tree(int tree)
{
    struct mount_attr slave = { .propagation = MS_SLAVE }; /* pivot_root() refuses shared mounts */

    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ||
        mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &slave, sizeof(slave)) < 0 ||
        move_mount(tree, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return -1;
    return fchdir(tree) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 ? -1 : 0;
}

/* In a chroot, the root of our mount namespace is the machine's, not ours. A process that enters the namespace of a
 * container later (a probe, a hook, a runtime's "exec") would end up there: pivot_root() changes the root of its
 * caller only. Our root may not even be a mount. So make our root the root of the namespace, which is private to this
 * run. Entering the namespace again shows what its root is. */
static int make_root_ours(struct err *e)
{
    autoclose int tree = open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    autoclose int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC),
                  self = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    struct statx ours, all;
    char path[PATH_MAX];
    bool is_known = getcwd(path, sizeof(path)) && path[0] == '/';

    if (tree < 0 || statx(AT_FDCWD, "/", 0, STATX_INO | STATX_MNT_ID, &ours) < 0 || setns(self, CLONE_NEWNS) < 0)
        return 0; /* if this is forbidden, entering a container is impossible too */
    if (statx(AT_FDCWD, "/", 0, STATX_INO | STATX_MNT_ID, &all) < 0)
        return err_errno(e, "stat the root directory");
    if (ours.stx_mnt_id == all.stx_mnt_id && ours.stx_ino == all.stx_ino)
        return fchdir(here) < 0 ? err_errno(e, "return to %s", path) : 0;
    if (pivot_to_tree(tree) < 0)
        return err_errno(e, "make the chroot the root of the mount namespace");
    if (is_known && chdir(path) < 0)
        return err_errno(e, "return to %s", path);
    return 0;
}

/* Lines of /proc/self/uid_map: "inside outside count". */
static void read_map(struct user_root *ret)
{
    autofile FILE *f = fopen("/proc/self/uid_map", "re");
    unsigned inside, outside, n;

    while (f && fscanf(f, "%u %u %u", &inside, &outside, &n) == 3)
        if (inside == 0)
            ret->outer_uid = outside;
    ret->n_ids = user_ids();
}

static void read_own_ids(struct user_root *ret)
{
    read_map(ret);
    ret->is_real = ret->n_ids == all_ids && ret->outer_uid == 0;
    if (ret->n_ids <= 1)
        (void)snprintf(ret->why, sizeof(ret->why),
                       "this user namespace has only one user id; start pumice outside of it");
}

/* ---- an ordinary user ---- */

/* Map only our own id. The kernel requires setgroups to be denied then: a process could drop a group that denies
 * access. */
static int map_self(uid_t uid, gid_t gid, bool has_uids, struct err *e)
{
    char line[48];

    (void)snprintf(line, sizeof(line), "0 %u 1", uid);
    if (!has_uids && control_write(AT_FDCWD, "/proc/self/uid_map", str_of(line)) < 0)
        return user_refused(errno, e);
    (void)snprintf(line, sizeof(line), "0 %u 1", gid);
    if (control_write(AT_FDCWD, "/proc/self/setgroups", STR("deny")) < 0 ||
        control_write(AT_FDCWD, "/proc/self/gid_map", str_of(line)) < 0)
        return user_refused(errno, e);
    return 0;
}

static bool map_is_set(const char *path)
{
    autofile FILE *f = fopen(path, "re");

    return f && fgetc(f) != EOF;
}

/* newuidmap may have succeeded and newgidmap failed; each map can be written once. */
static int map_ids(struct user_helper *h, uid_t uid, gid_t gid, struct user_root *ret, struct err *e)
{
    if (h->pid && user_helper_finish(h) == 0) {
        ret->n_ids = h->n_ids;
        return 0;
    }
    (void)snprintf(ret->why, sizeof(ret->why), "%s", h->why);
    ret->n_ids = 1;
    return map_self(uid, gid, map_is_set("/proc/self/uid_map"), e);
}

static int enter_user_namespace(struct user_root *ret, struct err *e)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    struct user_helper h;

    user_helper_start(&h);
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) {
        int error = errno;

        user_helper_cancel(&h);
        return user_refused(error, e);
    }
    ret->outer_uid = uid;
    user_note_ordinary();
    return map_ids(&h, uid, gid, ret, e);
}

int user_enter_alone(struct err *e)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();

    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return user_refused(errno, e);
    return map_self(uid, gid, false, e) < 0 ? -1 : keep_mounts_in(e);
}

int user_enter(struct user_root *ret, struct err *e)
{
    struct user_root root = { .is_real = false };

    if (geteuid() == 0 && unshare(CLONE_NEWNS) == 0) {
        if (make_root_ours(e) < 0)
            return -1;
        read_own_ids(&root);
    } else if (enter_user_namespace(&root, e) < 0) /* also for root without capabilities, as in most containers */
        return -1;
    if (keep_mounts_in(e) < 0)
        return -1;
    *ret = root;
    return 0;
}

/* ---- joining a running run ---- */

static bool is_same_file(int fd, const char *path)
{
    struct stat a, b;

    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int user_join(int user_fd, int mnt_fd, struct user_root *ret, struct err *e)
{
    struct user_root root = { .is_real = false };
    char path[PATH_MAX];
    bool is_known = getcwd(path, sizeof(path)) && path[0] == '/';

    if (!is_same_file(user_fd, "/proc/self/ns/user")) {
        if (setns(user_fd, CLONE_NEWUSER) < 0)
            return err_errno(e, "enter the user namespace of the run");
        user_note_ordinary();
    }
    if (setns(mnt_fd, CLONE_NEWNS) < 0)
        return err_errno(e, "enter the mount namespace of the run");
    if (is_known && chdir(path) < 0)
        return err_errno(e, "return to %s", path);
    read_own_ids(&root);
    *ret = root;
    return 0;
}
