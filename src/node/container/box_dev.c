/* box_dev.c - /dev: default devices, granted devices, terminals, shared memory
 *
 * Devices are bind mounts of the host's, read-only, over empty files of a tmpfs mounted nodev. A container can read
 * and write them, but not change their mode or owner, and a device node it creates beside them cannot be opened. This
 * works the same for root and for ordinary users. /dev/shm is a directory of that tmpfs, whose size is that of shared
 * memory.
 */
#include "node/container/box_internal.h"

#include <errno.h>
#include <inttypes.h>

enum { QUIET = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC };

static const char *const default_devices[] = { "/dev/null",   "/dev/zero",    "/dev/full",
                                               "/dev/random", "/dev/urandom", "/dev/tty" };

static const struct {
    const char *name, *target;
} links[] = {
    { "fd", "/proc/self/fd" },       { "stdin", "/proc/self/fd/0" }, { "stdout", "/proc/self/fd/1" },
    { "stderr", "/proc/self/fd/2" }, { "ptmx", "pts/ptmx" },
};

static int clone_device(const char *host)
{
    int mount = box_mount_clone(AT_FDCWD, host, false);

    if (mount >= 0 && box_mount_set(mount, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, false) < 0) {
        close(mount);
        return -1;
    }
    return mount;
}

/* No other process uses this directory yet, so a name is as safe as a descriptor. */
static int add_default_device(int dev, const char *host, struct err *e)
{
    const char *name = host + sizeof("/dev/") - 1;
    autoclose int mount = clone_device(host);

    if (mount < 0 && errno == ENOENT) /* a host without it, such as a minimal container; programs may not need it */
        return 0;
    if (mount < 0 || mknodat(dev, name, S_IFREG | 0666, 0) < 0 || box_mount_attach_at(mount, dev, name) < 0)
        return err_errno(e, "device %s", host);
    return 0;
}

static int add_granted_device(struct box *b, const struct box_device *d, struct err *e)
{
    const char *host = arena_cstr(&b->arena, d->host);
    struct stat st;
    int mount;

    if (stat(host, &st) < 0 || !(S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)))
        return err_set(e, ERR_NOT_FOUND, "device \"%s\": no such device on this machine", host);
    mount = clone_device(host);
    if (mount < 0)
        return err_errno(e, "device \"%s\"", host);
    (void)box_ids_map(b, mount); /* maps the group that may use it */
    if (box_put(b, mount, d->path.n ? d->path : d->host, BOX_FILE, e) < 0)
        return err_wrap(e, "device \"%s\"", host);
    return 0;
}

/* ---- file systems below /dev ---- */

static const char pts[] = "pts", shm[] = "shm";

/* The mount point of devpts, which hides it later. */
int box_dev_empty(struct box *b)
{
    return mkdirat(b->dev, pts, 0755) < 0 && errno != EEXIST ? -1 : box_mount_clone(b->dev, pts, false);
}

static int put_below(int dev, const char *name, int take_mount)
{
    autoclose int mount = take_mount;

    (void)mkdirat(dev, name, 0755); /* exists in the host's /dev, which is read-only */
    return box_mount_attach_at(mount, dev, name);
}

static int add_pts(const struct box *b, int dev, struct err *e)
{
    /* 5 is the group "tty"; a user namespace with one id does not have it. All containers of a machine share some
     * 3000 terminals (kernel.pty.max), so each gets at most 256. */
    char tty[16];
    const struct box_option opt[] = { { "newinstance", NULL }, { "ptmxmode", "0666" }, { "mode", "0620" },
                                      { "max", "256" },        { "gid", tty },         { 0 } };
    static const struct box_option inner[] = {
        { "newinstance", NULL }, { "ptmxmode", "0666" }, { "mode", "0620" }, { "max", "256" }, { 0 }
    };
    int mount;

    (void)snprintf(tty, sizeof(tty), "%u", box_ids_outer(b, 5));
    mount = box_mount_new("devpts", opt, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, e);

    if (mount < 0 && b->is_inner)
        mount = box_mount_new("devpts", inner, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, e);
    if (mount < 0)
        return err_wrap(e, "/dev/pts");
    return put_below(dev, pts, mount) < 0 ? err_errno(e, "mount /dev/pts") : 0;
}

static bool is_shm_given(const struct box *b)
{
    VEC_FOREACH(m, &b->spec->mounts)
        if (str_is(m->target, "/dev/shm"))
            return true;
    return false;
}

/* Empty files use kernel memory that the size limit does not count: allow one for each page of the size, and a
 * minimum. */
static void file_count(char text[32], int64_t bytes)
{
    enum { PAGE = 4096, FILES_MIN = 1024 };

    (void)snprintf(text, 32, "%" PRId64, MAX_OF(bytes / PAGE, FILES_MIN));
}

static int64_t shm_bytes(const struct box *b)
{
    return b->spec->shm_bytes > 0 ? b->spec->shm_bytes : (int64_t)64 << 20;
}

/* A directory of the tmpfs of /dev, which has the size of shared memory: a second tmpfs would cost more than all
 * devices. It is still a mount point, as programs expect. */
static int share_dev(int dev)
{
    autoclose int mount = -1;

    if (mkdirat(dev, shm, 01777) < 0 || fchmodat(dev, shm, 01777, 0) < 0) /* independent of the umask */
        return -1;
    mount = box_mount_clone(dev, shm, false);
    return mount < 0 ? -1 : box_mount_attach_at(mount, dev, shm);
}

static int add_shm(const struct box *b, int dev, struct err *e)
{
    char size[32], files[32];
    const struct box_option opt[] = { { "mode", "1777" }, { "size", size }, { "nr_inodes", files }, { 0 } };
    int mount;

    if (is_shm_given(b))
        return 0;
    if (!b->spec->is_privileged)
        return share_dev(dev) < 0 ? err_errno(e, "create /dev/shm") : 0;
    (void)snprintf(size, sizeof(size), "%" PRId64, shm_bytes(b));
    file_count(files, shm_bytes(b));
    mount = box_mount_new("tmpfs", opt, QUIET, e);
    if (mount < 0)
        return err_wrap(e, "/dev/shm");
    return put_below(dev, shm, mount) < 0 ? err_errno(e, "mount /dev/shm") : 0;
}

static void add_mqueue(int dev)
{
    int mount = box_mount_new("mqueue", NULL, QUIET, NULL);

    if (mount >= 0)
        (void)put_below(dev, "mqueue", mount); /* optional: some kernels have none */
}

/* ---- /dev itself ---- */

static int fill_dev_entries(struct box *b, int dev, struct err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(default_devices); i++)
        if (add_default_device(dev, default_devices[i], e) < 0)
            return -1;
    for (size_t i = 0; i < ARRAY_LEN(links); i++)
        if (symlinkat(links[i].target, dev, links[i].name) < 0)
            return err_errno(e, "link /dev/%s", links[i].name);
    VEC_FOREACH(d, &b->spec->devices)
        if (add_granted_device(b, d, e) < 0)
            return -1;
    return 0;
}

static int new_dev(const struct box *b, struct err *e)
{
    char size[32], files[32];
    const struct box_option opt[] = { { "mode", "0755" }, { "size", size }, { "nr_inodes", files }, { 0 } };
    int64_t bytes = is_shm_given(b) ? (int64_t)64 << 10 : shm_bytes(b);
    int mount;

    (void)snprintf(size, sizeof(size), "%" PRId64, bytes);
    file_count(files, bytes);
    if (!b->spec->is_privileged)
        return box_mount_new("tmpfs", opt, QUIET, e);
    mount = box_mount_clone(AT_FDCWD, "/dev", b->is_inner); /* privileged: the host's own /dev, with all devices */
    if (mount >= 0 && box_mount_set(mount, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, false) == 0)
        return mount;
    (void)err_errno(e, "copy the host's /dev");
    if (mount >= 0)
        close(mount);
    return -1;
}

int box_dev_make(struct box *b, struct err *e)
{
    b->dev = new_dev(b, e);
    return b->dev < 0 ? -1 : box_attach(b, b->dev, STR("/dev"), BOX_DIR, e);
}

int box_fill_dev(struct box *b, struct err *e)
{
    if (!b->spec->is_privileged && fill_dev_entries(b, b->dev, e) < 0)
        return -1;
    if (add_pts(b, b->dev, e) < 0 || add_shm(b, b->dev, e) < 0)
        return -1;
    add_mqueue(b->dev);
    return 0;
}
