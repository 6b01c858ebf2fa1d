/* image_unpack.c - unpacks the entries of an archive below one directory, and nowhere else
 *
 * Safe by construction: an entry's parent is opened by the kernel inside the root (RESOLVE_IN_ROOT: a link to "/etc" is
 * the root's own /etc, as it will be in the container), and the last part of the name is only ever made anew or
 * replaced, never followed. A ".." part is refused. Device nodes and sockets are left out: a container gets its devices
 * from us.
 *
 * As root owners, setuid bits and file capabilities are kept (the store is closed to other users of the host).
 * Otherwise everything belongs to us, and a program of ours must not become one that runs as us for others.
 */
#include "image/image_internal.h"
#include "os/dir.h"
#include "os/io.h"
#include "os/path.h"
#include "os/tree.h"

#include "base/map.h"

#include <errno.h>
#include <limits.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

struct late_dir { /* its time is set last: each entry made in it changes it */
    const char *path;
    struct timespec mtime;
};

struct unpack {
    struct arena arena;
    struct image_tar *tar; /* borrowed */
    int root;
    bool is_root, is_layer;
    struct map made; /* layers: every path of this layer and the directories above it */
    VEC(struct late_dir) late;
    int parent; /* of the last entry: most have the same */
    struct str parent_path;
};

/* ---- errors ---- */

static int unpack_errno(struct unpack *u, struct err *e, const char *what, struct str path)
{
    int why = errno;
    struct statvfs fs;

    if (why == ENOSPC || why == EDQUOT) {
        bool is_known = fstatvfs(u->root, &fs) == 0;

        return err_set(e, ERR_IO, "%s %.*s: the disk is full (%llu MiB and %llu files are left)", what, STR_ARG(path),
                       is_known ? (unsigned long long)fs.f_bavail * fs.f_frsize >> 20 : 0,
                       is_known ? (unsigned long long)fs.f_favail : 0);
    }
    errno = why;
    return io_errno(e, "%s %.*s", what, STR_ARG(path));
}

/* A file that cannot fit is refused before the disk is filled with it. */
static int check_room(struct unpack *u, const struct image_tar_entry *entry, struct err *e)
{
    struct statvfs fs;

    if (entry->size < 1 << 20 || fstatvfs(u->root, &fs) < 0)
        return 0;
    if ((uint64_t)entry->size / MAX_OF(fs.f_frsize, 1) < fs.f_bavail)
        return 0;
    return err_set(e, ERR_IO, "%.*s: the disk is full: needs %lld MiB, has %llu MiB", STR_ARG(entry->path),
                   (long long)entry->size >> 20, (unsigned long long)fs.f_bavail * fs.f_frsize >> 20);
}

/* ---- names ---- */

/* Relative, without empty and "." parts; empty: the root itself. A leading "/" is the root's, as everywhere in an
 * image. */
static int clean_path(struct unpack *u, struct str path, struct str *ret, struct err *e)
{
    char *out = arena_alloc(&u->arena, path.n + 1);
    size_t n = 0;

    if (path.n >= PATH_MAX || memchr(path.p, '\0', path.n))
        return err_set(e, ERR_INVALID, "the name of an entry is too long or has a NUL");
    for (struct str rest = path, part; str_split(&rest, '/', &part);) {
        if (part.n == 0 || str_is(part, "."))
            continue;
        if (str_is(part, ".."))
            return err_set(e, ERR_INVALID, "the entry \"%.*s\" leads out of the image", STR_ARG(path));
        if (n)
            out[n++] = '/';
        memcpy(out + n, part.p, part.n);
        n += part.n;
    }
    out[n] = '\0';
    *ret = (struct str){ out, n };
    return 0;
}

/* "a/b/c" is "a/b" and "c". 'base' ends with a NUL where 'path' does. */
static struct str split_path(struct str path, const char **ret_base)
{
    ptrdiff_t slash = str_rfind_char(path, '/');

    *ret_base = path.p + (slash < 0 ? 0 : slash + 1);
    return str_sub(path, 0, slash < 0 ? 0 : (size_t)slash);
}

/* Remember a path of this layer and what is above it. */
static void mark_made(struct unpack *u, struct str path)
{
    if (!u->is_layer)
        return;
    while (path.n && !map_get(&u->made, path)) {
        const char *base;

        (void)map_put(&u->made, path, u);
        path = split_path(path, &base);
    }
}

static void forget_parent(struct unpack *u)
{
    if (u->parent >= 0)
        close(u->parent);
    u->parent = -1;
}

/* The directory 'path'; what is missing is made. */
static int make_parents(struct unpack *u, struct str path, struct err *e)
{
    struct make_below how = { .root = u->root, .resolve = RESOLVE_IN_ROOT, .mode = 0755 };
    int fd;

    return make_dirs_below(&how, path, &fd, e) < 0 ? unpack_errno(u, e, "create directory", path) : fd;
}

/* Where an entry goes: '*ret_fd' is lent. */
static int find_parent(struct unpack *u, struct str path, int *ret_fd, struct err *e)
{
    int fd;

    if (u->parent >= 0 && str_eq(path, u->parent_path)) {
        *ret_fd = u->parent;
        return 0;
    }
    forget_parent(u);
    fd = path_open_in(u->root, path, O_PATH | O_DIRECTORY);
    if (fd < 0 && errno == ENOENT)
        fd = make_parents(u, path, e);
    else if (fd < 0)
        (void)unpack_errno(u, e, "open directory", path);
    if (fd < 0)
        return -1;
    u->parent = fd;
    u->parent_path = path;
    *ret_fd = fd;
    return 0;
}

/* ---- what every file has ---- */

/* Owner first: changing it takes setuid bits and capabilities away. A mode that may be kept. */
static mode_t give_owner(struct unpack *u, int dir, const char *name, int flags, const struct image_tar_entry *entry)
{
    bool is_id = entry->uid >= 0 && entry->uid < UINT32_MAX && entry->gid >= 0 && entry->gid < UINT32_MAX;

    if (u->is_root && is_id && fchownat(dir, name, (uid_t)entry->uid, (gid_t)entry->gid, flags) == 0)
        return entry->mode;
    return entry->mode & 01777; /* no root, or an id that this user namespace does not have */
}

/* ---- the kinds of entries ---- */

struct entry_place {
    struct str path, above; /* cleaned: "a/b/c", "a/b" */
    const char *base;       /* "c" */
    int parent;             /* the directory 'above'; lent */
};

typedef int make_f(struct unpack *u, const struct image_tar_entry *entry, const struct entry_place *at, struct err *e);

static int write_data(struct unpack *u, const struct image_tar_entry *entry, int fd, struct err *e)
{
    struct str block;
    int64_t offset, end = 0;
    int rc;

    while ((rc = image_tar_data(u->tar, &block, &offset, e)) > 0) {
        if (pwrite_all(fd, block, (off_t)offset) < 0)
            return unpack_errno(u, e, "write", entry->path);
        end = MAX_OF(end, offset + (int64_t)block.n);
    }
    if (rc < 0)
        return err_wrap(e, "%.*s", STR_ARG(entry->path));
    if (entry->size > end && ftruncate(fd, (off_t)entry->size) < 0) /* it ends with a hole */
        return unpack_errno(u, e, "write", entry->path);
    return 0;
}

static int unpack_make_file(struct unpack *u, const struct image_tar_entry *entry, const struct entry_place *at,
                            struct err *e)
{
    autoclose int fd = -1;
    mode_t mode;

    if (check_room(u, entry, e) < 0)
        return -1;
    fd = openat(at->parent, at->base, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return unpack_errno(u, e, "make", entry->path);
    if (write_data(u, entry, fd, e) < 0)
        return -1;
    mode = give_owner(u, fd, "", AT_EMPTY_PATH, entry);
    if (fchmod(fd, mode) < 0)
        return unpack_errno(u, e, "set the mode of", entry->path);
    if (u->is_root && entry->capability.n) /* not every file system has them; the program then runs without */
        (void)fsetxattr(fd, "security.capability", entry->capability.p, entry->capability.n, 0);
    return 0;
}

static int unpack_make_dir(struct unpack *u, const struct image_tar_entry *entry, const struct entry_place *at,
                           struct err *e)
{
    autoclose int fd = -1;
    mode_t mode;

    if (mkdirat(at->parent, at->base, 0700) < 0 && errno != EEXIST)
        return unpack_errno(u, e, "create directory", entry->path);
    fd = openat(at->parent, at->base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return unpack_errno(u, e, "open directory", entry->path);
    mode = give_owner(u, fd, "", AT_EMPTY_PATH, entry);
    if (fchmod(fd, mode | (u->is_root ? 0 : 0700)) < 0) /* else we could not write into it, nor delete it */
        return unpack_errno(u, e, "set the mode of", entry->path);
    return 0;
}

static int make_symlink(struct unpack *u, const struct image_tar_entry *entry, const struct entry_place *at,
                        struct err *e)
{
    if (symlinkat(arena_cstr(&u->arena, entry->link), at->parent, at->base) < 0)
        return unpack_errno(u, e, "create link", entry->path);
    (void)give_owner(u, at->parent, at->base, AT_SYMLINK_NOFOLLOW, entry);
    return 0;
}

static int make_hardlink(struct unpack *u, const struct image_tar_entry *entry, const struct entry_place *at,
                         struct err *e)
{
    struct str target, above;
    const char *target_base;
    autoclose int dir = -1;

    if (clean_path(u, entry->link, &target, e) < 0)
        return -1;
    above = split_path(target, &target_base);
    dir = path_open_in(u->root, above, O_PATH | O_DIRECTORY);
    if (dir < 0 || linkat(dir, target_base, at->parent, at->base, 0) < 0) /* 0: a link is linked, not followed */
        return unpack_errno(u, e, "create hard link", entry->path);
    return 0;
}

static int make_fifo(struct unpack *u, const struct image_tar_entry *entry, const struct entry_place *at, struct err *e)
{
    mode_t mode;

    if (mkfifoat(at->parent, at->base, 0600) < 0)
        return unpack_errno(u, e, "make", entry->path);
    mode = give_owner(u, at->parent, at->base, AT_SYMLINK_NOFOLLOW, entry);
    if (fchmodat(at->parent, at->base, mode & 01777, 0) < 0)
        return unpack_errno(u, e, "set the mode of", entry->path);
    return 0;
}

static make_f *const makers[IMAGE_TAR_KIND_MAX] = {
    [TAR_FILE] = unpack_make_file,  [TAR_DIR] = unpack_make_dir, [TAR_SYMLINK] = make_symlink,
    [TAR_HARDLINK] = make_hardlink, [TAR_FIFO] = make_fifo,      [TAR_OTHER] = NULL, /* left out */
};

/* ---- what was there before ---- */

static int remove_entry(int parent, const char *base, struct str path, struct err *e)
{
    if (unlinkat(parent, base, 0) == 0 || errno == ENOENT)
        return 0;
    return tree_remove(parent, base, e) < 0 ? err_wrap(e, "replace %.*s", STR_ARG(path)) : 0;
}

/* Make room for an entry. A directory over a directory stays; everything else is replaced. */
static int clear_way(struct unpack *u, const struct image_tar_entry *entry, const struct entry_place *at, struct err *e)
{
    struct str target;
    struct stat st;

    if (fstatat(at->parent, at->base, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : unpack_errno(u, e, "stat", at->path);
    if (S_ISDIR(st.st_mode) && entry->kind == TAR_DIR)
        return 0;
    if (entry->kind == TAR_HARDLINK && clean_path(u, entry->link, &target, NULL) == 0 && str_eq(target, at->path))
        return err_set(e, ERR_INVALID, "%.*s is a hard link to itself", STR_ARG(at->path));
    return remove_entry(at->parent, at->base, at->path, e);
}

/* Remove all in the directory 'path' that is not of this layer. */
static int empty_older(struct unpack *u, struct str path, struct err *e)
{
    autodir *d = dir_take(path_open_in(u->root, path, O_RDONLY | O_DIRECTORY));
    int rc = 0;

    if (!d)
        return unpack_errno(u, e, "open directory", path);
    for (struct dirent *entry; rc == 0 && (entry = dir_next(d));) {
        struct str child = arena_fmt(&u->arena, "%.*s%s%s", STR_ARG(path), path.n ? "/" : "", entry->d_name);

        if (!map_get(&u->made, child))
            rc = remove_entry(dirfd(d), entry->d_name, child, e);
        else if (entry->d_type == DT_DIR)
            rc = empty_older(u, child, e);
    }
    return rc;
}

/* ".wh.name" removes the "name" of an older layer, ".wh..wh..opq" all that older layers have in this directory. Other
 * names with ".wh..wh." are a file system's own. 1: it was one of those. */
static int unpack_whiteout(struct unpack *u, const struct entry_place *at, struct err *e)
{
    struct str name = str_of(at->base);

    if (!u->is_layer || !str_starts(name, STR(".wh.")))
        return 0;
    name = str_from(name, 4);
    if (str_is(name, ".wh..opq"))
        return empty_older(u, at->above, e) < 0 ? -1 : 1;
    if (str_starts(name, STR(".wh.")))
        return 1;
    if (name.n == 0 || str_is(name, ".") || str_is(name, ".."))
        return err_set(e, ERR_INVALID, "the entry \"%.*s/%s\" is a whiteout without a name", STR_ARG(at->above),
                       at->base);
    return remove_entry(at->parent, name.p, name, e) < 0 ? -1 : 1;
}

/* ---- all entries ---- */

static int unpack_root(struct unpack *u, const struct image_tar_entry *entry, struct err *e)
{
    if (entry->kind != TAR_DIR)
        return err_set(e, ERR_INVALID, "the root of the image is not a directory");
    *vec_push(&u->arena, &u->late) = (struct late_dir){ "", entry->mtime };
    return fchmod(u->root, give_owner(u, u->root, "", AT_EMPTY_PATH, entry) | 0700) < 0
               ? unpack_errno(u, e, "set the mode of", STR("the root"))
               : 0;
}

static int unpack_entry(struct unpack *u, const struct image_tar_entry *entry, struct err *e)
{
    struct entry_place at;
    int rc;

    if (clean_path(u, entry->path, &at.path, e) < 0)
        return -1;
    if (at.path.n == 0)
        return unpack_root(u, entry, e);
    at.above = split_path(at.path, &at.base);
    if (find_parent(u, at.above, &at.parent, e) < 0)
        return -1;
    rc = unpack_whiteout(u, &at, e);
    if (rc)
        return rc < 0 ? -1 : 0;
    if (!makers[entry->kind])
        return 0;
    if (clear_way(u, entry, &at, e) < 0 || makers[entry->kind](u, entry, &at, e) < 0)
        return -1;
    mark_made(u, at.path);
    if (entry->kind == TAR_DIR)
        *vec_push(&u->arena, &u->late) = (struct late_dir){ at.path.p, entry->mtime };
    else /* a time that the disk cannot hold is no reason to stop */
        (void)utimensat(at.parent, at.base, (struct timespec[2]){ entry->mtime, entry->mtime }, AT_SYMLINK_NOFOLLOW);
    return 0;
}

static void set_late_times(struct unpack *u)
{
    for (size_t i = u->late.n; i-- > 0;) {
        autoclose int fd = path_open_in(u->root, str_of(u->late.v[i].path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

        if (fd >= 0) /* not: a later entry replaced it */
            (void)futimens(fd, (struct timespec[2]){ u->late.v[i].mtime, u->late.v[i].mtime });
    }
}

int image_unpack(int root, struct image_tar *t, bool is_layer, struct err *e)
{
    struct unpack u = { .tar = t, .root = root, .is_root = geteuid() == 0, .is_layer = is_layer, .parent = -1 };
    struct image_tar_entry entry;
    int rc;

    map_init(&u.made, map_seed_default());
    while ((rc = image_tar_next(t, &entry, e)) > 0)
        if (unpack_entry(&u, &entry, e) < 0) {
            rc = -1;
            break;
        }
    if (rc == 0)
        set_late_times(&u);
    forget_parent(&u);
    map_done(&u.made);
    arena_done(&u.arena);
    return rc;
}
