/* copy.c - files and trees from one root to another */
#include "os/copy.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/util.h"
#include "os/dir.h"
#include "os/path.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 128, PIECE_BYTES = 1 << 20, LINK_BYTES = 4096 };

/* ---- paths ---- */

static int open_at(int root, struct str path, int flags)
{
    autoarena a = { 0 };

    return root == AT_FDCWD ? open(arena_cstr(&a, path), flags | O_CLOEXEC)
                            : path_open_in(root, path, flags | O_CLOEXEC);
}

/* Without slashes at the end; "/" stays. */
static struct str trim(struct str path)
{
    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    return path;
}

static struct str last_name(struct str path)
{
    return str_from(trim(path), (size_t)(str_rfind_char(trim(path), '/') + 1));
}

static struct str above(struct str path)
{
    ptrdiff_t slash = str_rfind_char(trim(path), '/');

    return slash < 0 ? STR(".") : slash == 0 ? STR("/") : str_sub(path, 0, (size_t)slash);
}

static bool is_name(struct str name)
{
    return name.n && !str_is(name, ".") && !str_is(name, "..") && !str_is(name, "/");
}

/* ---- one thing ---- */

static void leave_out(struct copy *c, const struct buf *path, const char *why)
{
    c->n_left_out++;
    if (c->left_out)
        c->left_out(c->ctx, buf_view(path), why);
}

/* What cannot be given away stays ours. */
static void own(const struct copy *c, int fd, mode_t mode)
{
    if (c->owner != (uid_t)-1)
        (void)!fchown(fd, c->owner, c->group);
    (void)fchmod(fd, mode & 0777);
}

/* The kernel carries the bytes where it can; else we do. */
static int copy_bytes(struct copy *c, int from, int to)
{
    char bytes[64 << 10];
    ssize_t n;

    while ((n = sendfile(to, from, NULL, PIECE_BYTES)) > 0)
        c->n_bytes += n;
    if (n == 0 || (errno != EINVAL && errno != ENOSYS))
        return (int)n;
    while ((n = read(from, bytes, sizeof(bytes))) > 0) {
        for (ssize_t at = 0, k; at < n; at += k) {
            k = write(to, bytes + at, (size_t)(n - at));
            if (k < 0)
                return -1;
        }
        c->n_bytes += n;
    }
    return (int)n;
}

/* 'path_fd' was looked at: it is a plain file, whatever has its name by now. */
static int copy_file(struct copy *c, int path_fd, const struct stat *st, int parent, const char *name)
{
    char self[32];
    autoclose int from = -1, to = -1;

    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
    from = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (from < 0)
        return -1;
    if (unlinkat(parent, name, 0) < 0 && errno != ENOENT)
        return -1;
    to = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0 || copy_bytes(c, from, to) < 0)
        return -1;
    own(c, to, st->st_mode);
    (void)futimens(to, (struct timespec[]){ st->st_atim, st->st_mtim });
    c->n_files++;
    return 0;
}

/* A link of a directory 'depth' levels below the top. ".." is looked at in front only: behind a name it may mean anything. */
static bool leads_out(struct str to, int depth)
{
    bool is_front = true;
    struct str part;

    if (str_starts(to, STR("/")))
        return true;
    while (str_split(&to, '/', &part)) {
        bool is_up = str_is(part, "..");

        if (is_up && (!is_front || --depth < 0))
            return true;
        is_front = is_front && (is_up || !part.n || str_is(part, "."));
    }
    return false;
}

static int copy_link(struct copy *c, int path_fd, int parent, const char *name, const struct buf *path, int depth)
{
    char to[LINK_BYTES + 1];
    ssize_t n = readlinkat(path_fd, "", to, LINK_BYTES);

    if (n < 0)
        return -1;
    to[n] = '\0';
    if (c->keeps_links_in && leads_out((struct str){ to, (size_t)n }, depth)) {
        leave_out(c, path, "a link that leads out of what is copied");
        return 0;
    }
    if (unlinkat(parent, name, 0) < 0 && errno != ENOENT)
        return -1;
    if (symlinkat(to, parent, name) < 0)
        return -1;
    if (c->owner != (uid_t)-1)
        (void)!fchownat(parent, name, c->owner, c->group, AT_SYMLINK_NOFOLLOW);
    c->n_files++;
    return 0;
}

/* ---- trees ---- */

static int copy_any(struct copy *c, int path_fd, int parent, const char *name, struct buf *path, int depth);

static void copy_entries(struct copy *c, DIR *d, int to, struct buf *path, int depth)
{
    size_t n = path->n;

    for (struct dirent *entry; (entry = dir_next(d));) {
        autoclose int fd = openat(dirfd(d), entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

        buf_fmt(path, "/%s", entry->d_name);
        if (fd < 0 || copy_any(c, fd, to, entry->d_name, path, depth + 1) < 0)
            leave_out(c, path, strerror(errno));
        path->n = n;
        path->p[n] = '\0';
    }
}

/* Made closed, and opened to others when all is in it. */
static int copy_dir(struct copy *c, int path_fd, const struct stat *st, int parent, const char *name, struct buf *path,
                    int depth)
{
    autodir *d = dir_take(openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    autoclose int to = -1;
    bool is_new;

    if (!d)
        return -1;
    if (depth >= DEPTH_MAX) {
        leave_out(c, path, "directories as deep as this are not copied");
        return 0;
    }
    is_new = mkdirat(parent, name, 0700) == 0;
    if (!is_new && errno != EEXIST)
        return -1;
    to = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (to < 0)
        return -1;
    copy_entries(c, d, to, path, depth);
    if (is_new)
        own(c, to, st->st_mode);
    return 0;
}

static int copy_any(struct copy *c, int path_fd, int parent, const char *name, struct buf *path, int depth)
{
    struct stat st;

    if (fstat(path_fd, &st) < 0)
        return -1;
    if (S_ISREG(st.st_mode))
        return copy_file(c, path_fd, &st, parent, name);
    if (S_ISDIR(st.st_mode))
        return copy_dir(c, path_fd, &st, parent, name, path, depth);
    if (S_ISLNK(st.st_mode))
        return copy_link(c, path_fd, parent, name, path, depth - 1);
    leave_out(c, path, "neither a file nor a directory nor a link");
    return 0;
}

/* Where to, and under which name. */
static int open_place(const struct copy *c, struct str from, struct str to, int *ret_dir, struct str *ret_name,
                      struct err *e)
{
    *ret_dir = open_at(c->to_root, to, O_PATH | O_DIRECTORY);
    *ret_name = last_name(from);
    if (*ret_dir >= 0 && !is_name(*ret_name)) /* "/", ".": what is in it */
        return err_set(e, ERR_INVALID, "%.*s has no name: give one at the other end, which is not there yet",
                       STR_ARG(from));
    if (*ret_dir >= 0)
        return 0;
    if (errno != ENOENT && errno != ENOTDIR)
        return err_errno(e, "%.*s", STR_ARG(to));
    *ret_name = last_name(to);
    *ret_dir = open_at(c->to_root, above(to), O_PATH | O_DIRECTORY);
    if (*ret_dir < 0)
        return err_errno(e, "%.*s", STR_ARG(above(to)));
    return is_name(*ret_name) ? 0 : err_set(e, ERR_INVALID, "%.*s is no name for a file", STR_ARG(to));
}

int copy_tree(struct copy *c, struct str from, struct str to, struct err *e)
{
    autoclose int source = open_at(c->from_root, from, O_PATH), dir = -1;
    autobuf path = { 0 }, name = { 0 };
    struct str own_name;

    if (source < 0)
        return err_errno(e, "%.*s", STR_ARG(from));
    if (open_place(c, from, to, &dir, &own_name, e) < 0)
        return -1;
    buf_str(&name, own_name);
    buf_str(&path, trim(from));
    if (copy_any(c, source, dir, name.p, &path, 0) < 0)
        return err_errno(e, "copy %.*s to %.*s", STR_ARG(from), STR_ARG(to));
    return 0;
}
