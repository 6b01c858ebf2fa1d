/* root_copy.c - files and trees from one root to another */
#include "os/root_copy.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/util.h"
#include "os/dir.h"
#include "os/file_copy.h"
#include "os/io.h"
#include "os/path.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 128, LINK_BYTES = 4096 };

/* ---- paths ---- */

static int open_at(int root, struct str path, int flags)
{
    autoarena a = { 0 };

    return root == AT_FDCWD ? open(arena_cstr(&a, path), flags | O_CLOEXEC)
                            : path_open_in(root, path, flags | O_CLOEXEC);
}

/* Without slashes at the end; "/" stays. */
static struct str root_copy_trim(struct str path)
{
    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    return path;
}

static struct str last_name(struct str path)
{
    return str_from(root_copy_trim(path), (size_t)(str_rfind_char(root_copy_trim(path), '/') + 1));
}

static struct str above(struct str path)
{
    ptrdiff_t slash = str_rfind_char(root_copy_trim(path), '/');

    return slash < 0 ? STR(".") : slash == 0 ? STR("/") : str_sub(path, 0, (size_t)slash);
}

static bool root_copy_is_name(struct str name)
{
    return name.n && !str_is(name, ".") && !str_is(name, "..") && !str_is(name, "/");
}

/* ---- one thing ---- */

static void root_copy_leave_out(struct root_copy *c, const struct buf *path, const char *why)
{
    c->n_left_out++;
    if (c->left_out)
        c->left_out(c->ctx, buf_view(path), why);
}

/* Where the owner cannot be changed, the file stays ours. */
static void own(const struct root_copy *c, int fd, mode_t mode)
{
    if (c->owner != (uid_t)-1)
        (void)!fchown(fd, c->owner, c->group);
    (void)fchmod(fd, mode & 0777);
}

/* Files and links make room for what is copied; a device, a pipe or a socket does not. */
static int root_copy_make_room(int parent, const char *name)
{
    struct stat st;

    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -1;
    errno = S_ISDIR(st.st_mode) ? EISDIR : EEXIST;
    return S_ISREG(st.st_mode) || S_ISLNK(st.st_mode) ? unlinkat(parent, name, 0) : -1;
}

/* 'path_fd' was looked at: it is a plain file, whatever has its name by now. */
static int root_copy_open_file(int path_fd)
{
    char self[32];

    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
    return open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

struct copy_place { /* where one thing goes */
    int parent;
    const char *name;
    struct buf *path; /* of the source, for messages */
    int depth;
};

static int root_copy_file(struct root_copy *c, int path_fd, const struct stat *st, const struct copy_place *at)
{
    autoclose int from = root_copy_open_file(path_fd), to = -1;

    if (from < 0 || root_copy_make_room(at->parent, at->name) < 0)
        return -1;
    to = file_copy_new(from, st, at->parent, at->name, NULL);
    if (to < 0)
        return -1;
    own(c, to, st->st_mode);
    return 0;
}

/* A link in a directory 'depth' levels below the top. ".." is looked at in front only: behind a name it may mean anything. */
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

static int root_copy_link(struct root_copy *c, int path_fd, const struct copy_place *at)
{
    char to[LINK_BYTES + 1];
    ssize_t n = readlinkat(path_fd, "", to, LINK_BYTES);

    if (n < 0)
        return -1;
    to[n] = '\0';
    if (c->keeps_links_in && leads_out((struct str){ to, (size_t)n }, at->depth - 1)) {
        root_copy_leave_out(c, at->path, "link points outside the copied tree");
        return 0;
    }
    if (root_copy_make_room(at->parent, at->name) < 0 || symlinkat(to, at->parent, at->name) < 0)
        return -1;
    if (c->owner != (uid_t)-1)
        (void)!fchownat(at->parent, at->name, c->owner, c->group, AT_SYMLINK_NOFOLLOW);
    return 0;
}

/* ---- trees ---- */

static int copy_any(struct root_copy *c, int path_fd, const struct copy_place *at);

static void copy_entries(struct root_copy *c, DIR *d, int to, struct buf *path, int depth)
{
    size_t n = path->n;

    for (struct dirent *entry; (entry = dir_next(d));) {
        autoclose int fd = openat(dirfd(d), entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

        buf_fmt(path, "/%s", entry->d_name);
        if (fd < 0 || copy_any(c, fd, &(struct copy_place){ to, entry->d_name, path, depth + 1 }) < 0)
            root_copy_leave_out(c, path, strerror(errno));
        path->n = n;
        path->p[n] = '\0';
    }
}

/* Made closed, and opened to others when all is in it. */
static int copy_dir(struct root_copy *c, int path_fd, const struct stat *st, const struct copy_place *at)
{
    autodir *d = dir_take(openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    autoclose int to = -1;
    bool is_new;

    if (!d)
        return -1;
    if (at->depth >= DEPTH_MAX) {
        root_copy_leave_out(c, at->path, "directory is nested too deep");
        return 0;
    }
    is_new = mkdirat(at->parent, at->name, 0700) == 0;
    if (!is_new && errno != EEXIST)
        return -1;
    to = openat(at->parent, at->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (to < 0)
        return -1;
    copy_entries(c, d, to, at->path, at->depth);
    if (is_new)
        own(c, to, st->st_mode);
    return 0;
}

static int copy_any(struct root_copy *c, int path_fd, const struct copy_place *at)
{
    struct stat st;

    if (fstat(path_fd, &st) < 0)
        return -1;
    if (S_ISREG(st.st_mode))
        return root_copy_file(c, path_fd, &st, at);
    if (S_ISDIR(st.st_mode))
        return copy_dir(c, path_fd, &st, at);
    if (S_ISLNK(st.st_mode))
        return root_copy_link(c, path_fd, at);
    root_copy_leave_out(c, at->path, "not a file, directory or link");
    return 0;
}

struct copy_job {
    int source;
    struct stat st; /* of it */
    struct str from, to;
};

/* Where to, and under which name. "x/" is a directory: there already, or made of one. */
static int open_place(const struct root_copy *c, const struct copy_job *job, int *ret_dir, struct str *ret_name,
                      struct err *e)
{
    struct str from = job->from, to = job->to;

    *ret_dir = open_at(c->to_root, to, O_PATH | O_DIRECTORY);
    *ret_name = last_name(from);
    if (*ret_dir >= 0 && !root_copy_is_name(*ret_name)) /* "/", ".": what is in it */
        return err_set(e, ERR_INVALID,
                       "%.*s has no name of its own; destination needs a file name, for example POD:/tmp/x",
                       STR_ARG(from));
    if (*ret_dir >= 0)
        return 0;
    if (errno != ENOENT && errno != ENOTDIR)
        return err_errno(e, "%.*s", STR_ARG(to));
    if (!S_ISDIR(job->st.st_mode) && root_copy_trim(to).n < to.n)
        return err_set(e, ERR_NOT_FOUND, "%.*s: no such directory", STR_ARG(to));
    *ret_name = last_name(to);
    *ret_dir = open_at(c->to_root, above(to), O_PATH | O_DIRECTORY);
    if (*ret_dir < 0)
        return err_errno(e, "%.*s", STR_ARG(above(to)));
    return root_copy_is_name(*ret_name) ? 0 : err_set(e, ERR_INVALID, "%.*s is not a file name", STR_ARG(to));
}

/* ---- what cannot be replaced ---- */

/* A device or a pipe of ours; and whatever has a name in /dev or /proc, which may be a link to a file that is open. */
static bool is_stream(const struct root_copy *c, const char *to)
{
    struct stat st;

    if (c->to_root != AT_FDCWD || stat(to, &st) < 0 || S_ISDIR(st.st_mode))
        return false;
    return !S_ISREG(st.st_mode) || strncmp(to, "/dev/", 5) == 0 || strncmp(to, "/proc/", 6) == 0;
}

static int write_stream(int path_fd, const char *to)
{
    static char bytes[64 << 10];
    autoclose int from = root_copy_open_file(path_fd), out = from < 0 ? -1 : open(to, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    ssize_t n = -1;

    while (out >= 0 && (n = read(from, bytes, sizeof(bytes))) > 0)
        if (write_all(out, (struct str){ bytes, (size_t)n }) < 0)
            return -1;
    return (int)n;
}

static int copy_to(struct root_copy *c, const struct copy_job *job, struct err *e)
{
    autobuf path = { 0 }, name = { 0 };
    autoclose int dir = -1;
    struct str own_name;

    if (open_place(c, job, &dir, &own_name, e) < 0)
        return -1;
    buf_str(&name, own_name);
    buf_str(&path, root_copy_trim(job->from));
    if (copy_any(c, job->source, &(struct copy_place){ dir, name.p, &path, 0 }) < 0)
        return err_errno(e, "copy %.*s to %.*s", STR_ARG(job->from), STR_ARG(job->to));
    return 0;
}

int root_copy(struct root_copy *c, struct str from, struct str to, struct err *e)
{
    autoarena a = { 0 };
    autoclose int source = open_at(c->from_root, from, O_PATH);
    struct stat st;

    if (source < 0 || fstat(source, &st) < 0)
        return err_errno(e, "%.*s", STR_ARG(from));
    if (!is_stream(c, arena_cstr(&a, to)))
        return copy_to(c, &(struct copy_job){ source, st, from, to }, e);
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_INVALID, "%.*s is not a plain file; only a plain file can be written to %.*s",
                       STR_ARG(from), STR_ARG(to));
    return write_stream(source, arena_cstr(&a, to)) < 0 ? err_errno(e, "write to %.*s", STR_ARG(to)) : 0;
}
