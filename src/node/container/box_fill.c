/* box_fill.c - mounts in a root: /proc, /sys, /run, /tmp, masks, volumes
 *
 * /proc and /sys are created while the host's are still mounted: in a user namespace the kernel allows a new one only
 * to a process that sees an old one completely.
 */
#include "node/container/box_internal.h"
#include "base/clock.h"
#include "os/proc.h"

#include <errno.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <sys/vfs.h>

enum { QUIET = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC };

/* ---- kernel files that expose the whole machine ---- */

static struct kernel_file {
    bool is_proc; /* in /proc; else in /sys */
    const char *name;
    bool is_masked; /* hide it; else make it read-only */
    bool is_absent; /* as of the last check */
} kernel_files[] = {
    { true, "acpi", true, false },
    { true, "asound", true, false },
    { true, "kcore", true, false },
    { true, "keys", true, false },
    { true, "latency_stats", true, false },
    { true, "scsi", true, false },
    { true, "sched_debug", true, false },
    { true, "timer_list", true, false },
    { true, "timer_stats", true, false },
    { false, "firmware", true, false },
    { false, "devices/virtual/powercap", true, false },
    { true, "bus", false, false },
    { true, "fs", false, false },
    { true, "irq", false, false },
    { true, "sys", false, false },
    { true, "sysrq-trigger", false, false },
};

/* Most kernels lack half of these files, and finding that out in a new /proc takes as long as masking one. All
 * instances of /proc show the same files, so check the host's; a module may add one at any time, so check again. */
enum { LOOK_AGAIN_MS = 500, TRUST_MS = 1000 };
static int64_t looked_ms = INT64_MIN / 2;

/* Trust only the kernel's own /proc and /sys: not a mount over them, nor a /proc that shows processes only. */
static bool is_absent(const struct kernel_file *f)
{
    autoclose int top = open(f->is_proc ? "/proc" : "/sys", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    autoclose int fd = -1;
    struct statfs fs;

    if (top < 0 || fstatfs(top, &fs) < 0 || fs.f_type != (f->is_proc ? PROC_SUPER_MAGIC : SYSFS_MAGIC) ||
        faccessat(top, f->is_proc ? "version" : "kernel", F_OK, 0) < 0)
        return false;
    fd = path_open_below(top, f->name, O_PATH | O_NOFOLLOW, RESOLVE_NO_XDEV);
    return fd < 0 && errno == ENOENT;
}

void box_fill_refresh(void)
{
    int64_t now_ms = clock_mono_ms(&clock_real);

    if (now_ms < looked_ms + LOOK_AGAIN_MS)
        return;
    looked_ms = now_ms;
    for (size_t i = 0; i < ARRAY_LEN(kernel_files); i++)
        kernel_files[i].is_absent = is_absent(&kernel_files[i]);
}

/* ---- masks ---- */

static int new_empty(struct box *b)
{
    static const struct box_option opt[] = { { "mode", "0755" }, { "size", "4k" }, { 0 } };

    if (b->spec->is_privileged) /* its /dev is the host's: no place for an empty directory */
        return box_mount_new("tmpfs", opt, QUIET | MOUNT_ATTR_RDONLY, NULL);
    return box_dev_empty(b);
}

static int make_empty(struct box *b, int dir, const char *name)
{
    int mount = new_empty(b);

    if (mount < 0 || box_mount_set(mount, QUIET | MOUNT_ATTR_RDONLY, false) < 0 ||
        box_mount_attach_at(mount, dir, name) < 0) {
        if (mount >= 0)
            close(mount);
        return -1;
    }
    b->empty = mount; /* a mount can be cloned only after it is attached */
    return 0;
}

static int mask_dir(struct box *b, int dir, const char *name)
{
    autoclose int copy = -1;

    if (b->empty < 0)
        return make_empty(b, dir, name);
    copy = box_mount_clone(b->empty, "", false);
    return copy < 0 ? -1 : box_mount_attach_at(copy, dir, name);
}

static int mask_file(int dir, const char *name)
{
    autoclose int copy = box_mount_clone(AT_FDCWD, "/dev/null", false);

    if (copy < 0 || box_mount_set(copy, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC, false) < 0)
        return -1;
    return box_mount_attach_at(copy, dir, name);
}

/* A missing file needs no mask. */
static bool fill_is_missing(int no)
{
    return no == ENOENT || no == ENOTDIR || no == EACCES;
}

static int mask_at(struct box *b, int dir, const char *name)
{
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH)) < 0)
        return fill_is_missing(errno) ? 0 : -1;
    return S_ISDIR(st.st_mode) ? mask_dir(b, dir, name) : mask_file(dir, name);
}

static int mask_path(struct box *b, struct str path, struct err *e)
{
    autoclose int target = path_open_in(b->root, path, O_PATH);

    if (target < 0)
        return fill_is_missing(errno) ? 0 : err_errno(e, "open \"%.*s\"", STR_ARG(path));
    return mask_at(b, target, "") < 0 ? err_errno(e, "mask \"%.*s\"", STR_ARG(path)) : 0;
}

static int freeze_at(int dir, const char *name)
{
    autoclose int copy = box_mount_clone(dir, name, false);

    if (copy < 0)
        return errno == ENOENT ? 0 : -1;
    return box_mount_set(copy, QUIET | MOUNT_ATTR_RDONLY, false) < 0 ? -1 : box_mount_attach_at(copy, dir, name);
}

/* By name: only the kernel creates these files. */
static int mask_kernel(struct box *b, struct err *e)
{
    bool is_known = clock_mono_ms(&clock_real) < looked_ms + TRUST_MS;

    if (b->spec->is_privileged)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(kernel_files); i++) {
        const struct kernel_file *f = &kernel_files[i];
        int dir = f->is_proc ? b->proc : b->sys;

        if (dir < 0 || (is_known && f->is_absent))
            continue;
        if ((f->is_masked ? mask_at(b, dir, f->name) : freeze_at(dir, f->name)) < 0)
            return err_errno(e, "%s /%s/%s", f->is_masked ? "mask" : "make read-only", f->is_proc ? "proc" : "sys",
                             f->name);
    }
    return 0;
}

/* ---- /proc, /sys ---- */

struct proc_copy {
    const struct box_join *join;
    int mount;
};

/* A mount can be cloned only from within its namespace. */
static int copy_proc(void *arg)
{
    struct proc_copy *c = arg;

    if (setns(c->join->mounts, CLONE_NEWNS) == 0)
        c->mount = c->join->proc >= 0 ? box_mount_clone(c->join->proc, "", false)
                                      : box_mount_clone(AT_FDCWD, "/proc", false);
    return 0;
}

/* A new /proc would show our own pid namespace, and a process that may still mount must not be visible in the other
 * one. So clone the /proc that is mounted there, in a helper process that enters that mount namespace and shares our
 * memory and descriptors. */
static int join_proc(const struct box_join *join, struct err *e)
{
    static char stack[64 << 10] __attribute__((aligned(16)));
    struct proc_copy c = { join, -1 };
    pid_t pid = clone(copy_proc, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, &c);
    struct statfs fs;

    (void)proc_wait(pid);
    if (c.mount < 0)
        return err_set(e, ERR_IO, "the processes to join have ended");
    if (fstatfs(c.mount, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC)
        return c.mount;
    close(c.mount);
    return err_set(e, ERR_FORBIDDEN, "a container has mounted another file system over it");
}

static int fill_proc(struct box *b, struct err *e)
{
    const struct box_join *join = b->spec->join;
    int mount = join ? join_proc(join, e) : box_mount_new("proc", NULL, QUIET, e);

    /* In another pid namespace the kernel may refuse a new /proc; a copy of the host's shows the same. */
    if (mount < 0 && (b->spec->has_host_pids || (join && join->proc < 0)) && b->is_inner)
        mount = box_mount_clone(AT_FDCWD, "/proc", true);
    if (mount < 0 && b->is_inner)
        return err_wrap(e, "mount /proc: the kernel refuses it where parts of the current /proc are masked, as in "
                           "an unprivileged container");
    if (mount < 0)
        return err_wrap(e, "mount /proc");
    return box_attach(b, b->proc = mount, STR("/proc"), BOX_DIR, e);
}

static int attach_below(struct box *b, int mount, const char *path)
{
    autoclose int target = path_open_in(b->root, str_of(path), O_PATH | O_DIRECTORY);

    return target < 0 ? -1 : box_mount_attach(mount, target);
}

/* cgroup v1: the controllers programs read their limits from, alone or mounted together as on the host. */
static void fill_controllers(struct box *b)
{
    static const struct {
        const char *path;
        struct box_option options[2][3];
    } controllers[] = {
        { "/sys/fs/cgroup/memory", { { { "memory", NULL } }, { { NULL, NULL } } } },
        { "/sys/fs/cgroup/cpu", { { { "cpu", NULL } }, { { "cpu", NULL }, { "cpuacct", NULL } } } },
    };
    static const struct box_option small[] = { { "mode", "755" }, { "size", "64k" }, { NULL, NULL } };
    autoclose int top = box_mount_new("tmpfs", small, QUIET, NULL);

    if (top < 0 || mkdirat(top, "memory", 0755) < 0 || mkdirat(top, "cpu", 0755) < 0 ||
        attach_below(b, top, "/sys/fs/cgroup") < 0)
        return;
    for (size_t i = 0; i < ARRAY_LEN(controllers); i++) {
        autoclose int mount = box_mount_new("cgroup", controllers[i].options[0], QUIET | MOUNT_ATTR_RDONLY, NULL);

        if (mount < 0 && controllers[i].options[1][0].key)
            mount = box_mount_new("cgroup", controllers[i].options[1], QUIET | MOUNT_ATTR_RDONLY, NULL);
        if (mount >= 0)
            (void)attach_below(b, mount, controllers[i].path);
    }
    (void)box_mount_set(top, MOUNT_ATTR_RDONLY, false);
}

/* Programs read their limits there; optional. */
static void fill_cgroup(struct box *b)
{
    struct statfs fs;
    autoclose int mount = -1;

    if (statfs("/sys/fs/cgroup", &fs) < 0)
        return;
    if (fs.f_type == TMPFS_MAGIC) { /* v1 */
        fill_controllers(b);
        return;
    }
    if (fs.f_type != CGROUP2_SUPER_MAGIC)
        return;
    mount = box_mount_new("cgroup2", NULL, QUIET | (b->spec->is_privileged ? 0 : MOUNT_ATTR_RDONLY), NULL);
    if (mount >= 0)
        (void)attach_below(b, mount, "/sys/fs/cgroup");
}

static int fill_sys(struct box *b, struct err *e)
{
    unsigned attr = QUIET | (b->spec->is_privileged ? 0 : MOUNT_ATTR_RDONLY);
    int mount = box_mount_new("sysfs", NULL, attr, e), dir;

    if (mount < 0 && b->is_inner) { /* not the owner of the network namespace, or part of the host's /sys is hidden */
        mount = box_mount_clone(AT_FDCWD, "/sys", true);
        if (mount >= 0 && box_mount_set(mount, QUIET | MOUNT_ATTR_RDONLY, true) < 0) {
            close(mount);
            mount = -1;
        }
        if (mount < 0) { /* an empty directory instead */
            if (box_make(b, STR("/sys"), BOX_DIR, &dir, e) < 0)
                return -1;
            return close(dir);
        }
    }
    if (mount < 0)
        return err_wrap(e, "mount /sys");
    if (box_attach(b, b->sys = mount, STR("/sys"), BOX_DIR, e) < 0)
        return -1;
    fill_cgroup(b);
    return 0;
}

/* ---- /run, /tmp: with the host's files only; images have their own ---- */

static int fill_put_part(struct box *b, int take_mount, struct str path, struct err *e)
{
    int part = fcntl(take_mount, F_DUPFD_CLOEXEC, 3);

    if (part >= 0)
        box_part(b, part); /* made read-only with the root */
    return box_put(b, take_mount, path, BOX_DIR, e);
}

/* On disk, with the container's other changes: programs may store more there than fits in memory. If the layer over
 * the host's files has an opaque /tmp, the root's overlay serves. */
static int fill_tmp(struct box *b, struct err *e)
{
    int mount;

    if (b->is_overlay && box_over_hides(b, STR("/tmp")))
        return 0;
    mount = box_plain_dir(b, "tmp", 01777, MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID, e);
    return mount < 0 ? -1 : fill_put_part(b, mount, STR("/tmp"), e);
}

static bool has_mounts_in_run(const struct box *b)
{
    VEC_FOREACH(m, &b->spec->mounts)
        if (path_is_below(m->target, STR("/run")) || path_is_below(m->target, STR("/var/run")))
            return true;
    return false;
}

/* Like /tmp; but if volumes are mounted in it (the token of an account), a tmpfs, where directories are created
 * faster. */
static int fill_run(struct box *b, struct err *e)
{
    static const struct box_option opt[] = { { "mode", "0755" }, { "nr_inodes", "65536" }, { 0 } };
    int mount;

    if (b->is_overlay && !has_mounts_in_run(b) && box_over_hides(b, STR("/run")))
        return 0;
    mount = box_mount_new("tmpfs", opt, MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID, e);
    if (mount < 0)
        return err_wrap(e, "mount /run");
    (void)mkdirat(mount, "lock", 0755); /* cannot exist: the tmpfs is new */
    return fill_put_part(b, mount, STR("/run"), e);
}

/* Mount the file of 'over' over the host's where no overlay does. */
static int fill_replace_file(struct box *b, struct str path, struct err *e)
{
    autoclose int target = path_open_in(b->root, path, O_PATH);
    autoclose int other = path_open_in(b->over, path, O_PATH | O_NOFOLLOW);
    autoclose int copy = -1;
    struct statfs fs;

    if (target < 0 || (fstatfs(target, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC))
        return 0;
    copy = other < 0 ? -1 : box_mount_clone(other, "", false);
    if (copy < 0 || box_mount_set(copy, QUIET | MOUNT_ATTR_RDONLY, false) < 0 || box_mount_attach(copy, target) < 0)
        return err_errno(e, "hide \"%.*s\"", STR_ARG(path));
    return 0;
}

static int fill_hide(struct box *b, struct err *e)
{
    if (b->over >= 0 && !b->has_bare) /* the overlay hides them */
        return 0;
    VEC_FOREACH(path, &b->spec->hidden)
        if ((S_ISREG(box_over_type(b, *path)) ? fill_replace_file(b, *path, e) : mask_path(b, *path, e)) < 0)
            return -1;
    return 0;
}

int box_fill(struct box *b, struct err *e)
{
    b->proc = b->sys = -1;
    if (fill_proc(b, e) < 0 || fill_sys(b, e) < 0 || box_dev_make(b, e) < 0 || mask_kernel(b, e) < 0)
        return -1;
    if (b->spec->root.n)
        return 0;
    return fill_run(b, e) < 0 || fill_tmp(b, e) < 0 || fill_hide(b, e) < 0 ? -1 : 0;
}

/* ---- volumes ---- */

/* A mount over a file of /proc could deceive programs, ours included, that read it. */
static int check_mount_target(const struct stat *root, int target, struct err *e)
{
    struct statfs fs;
    struct stat st;

    if (fstat(target, &st) < 0)
        return err_errno(e, "stat the mount point");
    if (st.st_dev == root->st_dev && st.st_ino == root->st_ino)
        return err_set(e, ERR_INVALID, "cannot mount over the root directory");
    if (st.st_dev == root->st_dev) /* on the root's file system: not /proc */
        return 0;
    if (fstatfs(target, &fs) < 0)
        return err_errno(e, "stat the mount point");
    return fs.f_type == PROC_SUPER_MAGIC ? err_set(e, ERR_INVALID, "cannot mount below /proc") : 0;
}

static int fill_add_mount(struct box *b, const struct stat *root, const struct box_mount *m, struct err *e)
{
    autoclose int target = -1;
    struct stat st;

    if (fstat(m->fd, &st) < 0)
        return err_errno(e, "stat the source");
    if (box_make(b, m->target, S_ISDIR(st.st_mode) ? BOX_DIR : BOX_FILE, &target, e) < 0)
        return -1;
    (void)box_ids_map(b, m->fd);
    if (check_mount_target(root, target, e) < 0)
        return -1;
    if (!b->spec->is_privileged && !S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode) &&
        box_mount_set(m->fd, MOUNT_ATTR_NODEV, true) < 0)
        return err_errno(e, "set nodev");
    return box_mount_attach(m->fd, target) < 0 ? err_errno(e, "attach the mount") : 0;
}

int box_add_mounts(struct box *b, struct err *e)
{
    struct stat root;

    if (fstat(b->root, &root) < 0)
        return err_errno(e, "stat the root directory");
    VEC_FOREACH(m, &b->spec->mounts)
        if (fill_add_mount(b, &root, m, e) < 0)
            return err_wrap(e, "mount \"%.*s\"", STR_ARG(m->target));
    return 0;
}

int box_find_cwd(struct box *b, struct err *e)
{
    struct str cwd = b->spec->cwd.n ? b->spec->cwd : STR("/");

    return box_make(b, cwd, BOX_DIR, &b->cwd, e) < 0 ? err_wrap(e, "workingDir") : 0;
}
