/* tree.c - whole trees: delete, hand to a group */
#include "os/tree.h"

#include "base/arena.h"
#include "base/util.h"
#include "base/vec.h"
#include "os/dir.h"
#include "os/io.h"
#include "os/path.h"

#include <errno.h>
#include <limits.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

static DIR *dir_read(int parent, const char *path, uint64_t resolve)
{
    return dir_take(path_open_below(parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, RESOLVE_NO_SYMLINKS | resolve));
}

/* ---- delete ---- */

enum {
    /* Levels (and fds) at once. A directory further down is moved up to the top of the tree and has its turn there. */
    REMOVE_LEVELS = 32,
    /* A process with a descriptor of a directory can go on writing there: give up at some point. */
    REMOVE_PASSES = 64,
    REMOVE_MOVES = 1 << 24,
};

struct removal {
    int top; /* where deep directories are moved to */
    unsigned n_moved;
    unsigned n_left; /* entries that may still be removed in this call */
    size_t n_removed;
    bool is_cut; /* there was more */
    struct err *e;
};

static int remove_entry(struct removal *r, int parent, const char *name, bool is_dir, unsigned level);

/* Immutable and append-only, which a container with CAP_LINUX_IMMUTABLE can set: nothing in such a directory can be
 * removed, nor such a file. True: it was so, and is no more. */
static bool clear_flags(int fd)
{
    enum { FIXED = FS_IMMUTABLE_FL | FS_APPEND_FL };
    int flags = 0;

    if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 || !(flags & FIXED))
        return false;
    flags &= ~FIXED;
    return ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
}

/* Only plain files and directories are opened: to open a device is to use it. */
static int open_plain(int parent, const char *name)
{
    autoclose int fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    char path[40];
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
        return -1;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* After EPERM: is there reason to try again? Keeps errno. */
static bool is_thawed(int parent, const char *name)
{
    autoclose int fd = open_plain(parent, name);
    bool did = clear_flags(parent);

    did |= clear_flags(fd);
    errno = EPERM;
    return did;
}

static int remove_name(int parent, const char *name, int flags)
{
    int rc = unlinkat(parent, name, flags);

    return rc < 0 && errno == EPERM && is_thawed(parent, name) ? unlinkat(parent, name, flags) : rc;
}

static int move_up(struct removal *r, int parent, const char *name)
{
    char moved[32];
    int rc;

    if (r->n_moved >= REMOVE_MOVES)
        return err_set(r->e, ERR_IO, "\"%s\" is nested too deep", name);
    do {
        (void)snprintf(moved, sizeof(moved), "..deep%u", r->n_moved++);
        rc = renameat2(parent, name, r->top, moved, RENAME_NOREPLACE);
        if (rc < 0 && errno == EPERM) {
            (void)clear_flags(r->top);
            (void)is_thawed(parent, name); /* else it fails again */
            rc = renameat2(parent, name, r->top, moved, RENAME_NOREPLACE);
        }
    } while (rc < 0 && errno == EEXIST && r->n_moved < REMOVE_MOVES);
    return rc < 0 && errno != ENOENT ? io_errno(r->e, "move \"%s\"", name) : 0;
}

/* Reading while deleting may skip entries, and move_up() adds some: pass after pass until nothing is left, or
 * nothing more can be removed. One entry that cannot be removed must not keep the others. With a 'name' the
 * directory itself goes too, if it is empty after a pass: that saves looking again. 1: it has. */
static int empty_dir(struct removal *r, DIR *d, int parent, const char *name, unsigned level)
{
    struct dirent *entry;
    size_t n_removed, n_failed;
    unsigned n_passes = 0, n_moved;

    do {
        n_removed = n_failed = 0;
        n_moved = r->n_moved;
        while (!r->is_cut && (entry = dir_next(d))) {
            if (remove_entry(r, dirfd(d), entry->d_name, entry->d_type == DT_DIR, level) < 0)
                n_failed++;
            else
                n_removed++;
        }
        r->n_removed += n_removed;
        if (r->is_cut)
            return -1;
        if (n_removed && !n_failed && name && remove_name(parent, name, AT_REMOVEDIR) == 0)
            return 1;
        n_passes = r->n_moved == n_moved ? n_passes + 1 : 0;
        rewinddir(d);
    } while (n_removed && n_passes < REMOVE_PASSES);
    if (n_removed && !n_failed)
        return err_set(r->e, ERR_IO, "another process keeps writing to it");
    return n_failed ? -1 : 0;
}

static int remove_dir(struct removal *r, int parent, const char *name, unsigned level)
{
    autodir *d = NULL;
    int rc;

    if (level >= REMOVE_LEVELS)
        return move_up(r, parent, name);
    d = dir_read(parent, name, RESOLVE_NO_XDEV);
    if (!d && errno == ENOENT)
        return 0;
    if (!d)
        return errno == EXDEV ? err_set(r->e, ERR_IO, "a file system is mounted at \"%s\"", name)
                              : io_errno(r->e, "open \"%s\"", name);
    if (level == 0)
        r->top = dirfd(d);
    rc = empty_dir(r, d, parent, name, level + 1);
    if (rc < 0)
        return level < 4 && !r->is_cut ? err_wrap(r->e, "%s", name) : -1; /* a few names say where */
    if (rc == 0 && remove_name(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return io_errno(r->e, "remove \"%s\"", name);
    return 0;
}

/* 'is_dir': it is thought to be one, and the other way is not tried first. It may have become something else. */
static int remove_entry(struct removal *r, int parent, const char *name, bool is_dir, unsigned level)
{
    r->is_cut = r->n_left == 0;
    if (r->is_cut)
        return -1;
    r->n_left--;
    if (is_dir && remove_name(parent, name, AT_REMOVEDIR) == 0) /* many are empty */
        return 0;
    if (is_dir && errno == ENOTEMPTY)
        return remove_dir(r, parent, name, level);
    if (remove_name(parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno == EISDIR || errno == EPERM) /* EPERM: what POSIX says for a directory */
        return remove_name(parent, name, AT_REMOVEDIR) == 0 ? 0 : remove_dir(r, parent, name, level);
    return io_errno(r->e, "remove \"%s\"", name);
}

int tree_remove_some(int parent, const char *name, unsigned n, struct err *e)
{
    struct removal r = { .top = parent, .n_left = n, .e = e };
    int rc = remove_entry(&r, parent, name, true, 0);

    return r.is_cut && r.n_removed ? 1 : rc; /* where nothing can be removed, calling again would never end */
}

int tree_remove(int parent, const char *name, struct err *e)
{
    int rc;

    do
        rc = tree_remove_some(parent, name, UINT_MAX, e);
    while (rc > 0);
    return rc;
}

int tree_empty(int fd, struct err *e)
{
    autodir *d = dir_read(fd, ".", 0);
    struct removal r = { .n_left = UINT_MAX, .e = e };

    if (!d)
        return io_errno(e, "read the directory");
    r.top = dirfd(d);
    return empty_dir(&r, d, -1, NULL, 1) < 0 ? -1 : 0;
}

/* ---- hand to a group ---- */

/* chmod of an O_PATH fd; fchmod() refuses those. */
static int set_mode(int fd, mode_t mode)
{
    char path[40];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return chmod(path, mode);
}

int tree_group_errno(struct err *e, gid_t group)
{
    if (errno == EINVAL)
        return err_set(
            e, ERR_FORBIDDEN,
            "group %u is not available: this user has no subordinate ids for it (pumice doctor says how to get "
            "them)",
            (unsigned)group);
    return io_errno(e, "change the group to %u", (unsigned)group);
}

int tree_own_fd(int fd, gid_t group, bool is_read_only, struct err *e)
{
    mode_t more = is_read_only ? 0440 : 0660, mode;
    struct stat st;

    if (fstat(fd, &st) < 0)
        return io_errno(e, "stat a file");
    if (S_ISDIR(st.st_mode))
        more |= 0110 | S_ISGID; /* what is made later has the group too */
    mode = (st.st_mode & 07777) | more;
    if (st.st_gid != group) {
        if (fchownat(fd, "", (uid_t)-1, group, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0)
            return tree_group_errno(e, group);
        if (!S_ISDIR(st.st_mode)) /* a program that ran as its owner or group must not run as the new one */
            mode &= 01777;
    } else if (mode == (st.st_mode & 07777)) {
        return 0;
    }
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        return 0;
    return set_mode(fd, mode) < 0 ? io_errno(e, "set the mode") : 0;
}

struct owning {
    struct arena *arena;
    VEC(const char *) todo; /* directories, relative to the root: one fd is enough for any depth */
    gid_t group;
    bool is_read_only;
};

static int own_entry(struct owning *o, int dir, struct str above, const char *name, struct err *e)
{
    autoclose int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0) /* gone in the meantime */
        return errno == ENOENT ? 0 : io_errno(e, "open");
    if (tree_own_fd(fd, o->group, o->is_read_only, e) < 0)
        return -1;
    if (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode))
        return 0;
    if (above.n + strlen(name) + 2 > PATH_MAX)
        return err_set(e, ERR_TOO_BIG, "directories are nested too deep");
    *vec_push(o->arena, &o->todo) = arena_fmt(o->arena, "%.*s/%s", STR_ARG(above), name).p;
    return 0;
}

static int own_dir(struct owning *o, int root, const char *path, struct err *e)
{
    autodir *d = dir_read(root, path, RESOLVE_NO_XDEV);
    struct dirent *entry;

    if (!d) /* removed, replaced by a link, or a mount of others: not ours to change */
        return errno == ENOENT || errno == ELOOP || errno == ENOTDIR || errno == EXDEV ? 0 : io_errno(e, "open");
    while ((entry = dir_next(d)))
        if (own_entry(o, dirfd(d), str_of(path), entry->d_name, e) < 0)
            return err_wrap(e, "%s/%s", path, entry->d_name);
    return 0;
}

int tree_own(int root, gid_t group, bool is_read_only, struct err *e)
{
    autoarena a = { 0 };
    struct owning o = { .arena = &a, .group = group, .is_read_only = is_read_only };

    if (tree_own_fd(root, group, is_read_only, e) < 0)
        return -1;
    *vec_push(&a, &o.todo) = ".";
    while (o.todo.n)
        if (own_dir(&o, root, o.todo.v[--o.todo.n], e) < 0)
            return -1;
    return 0;
}
