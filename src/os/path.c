/* path.c - paths that others wrote, opened and made below a directory of ours */
#include "os/path.h"

#include "base/util.h"
#include "os/io.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* ---- opening ---- */

static int open_how(int root, const char *path, int flags, uint64_t resolve)
{
    struct open_how how = { .flags = (uint64_t)flags | O_CLOEXEC, .resolve = resolve | RESOLVE_NO_MAGICLINKS };
    int fd;

    /* EAGAIN: something was renamed while the kernel walked a ".." of a link and it cannot be sure. A container that
     * renames all day must not keep us here. */
    for (int tries = 0; tries < 128; tries++) {
        fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
            return fd;
    }
    return -1;
}

int path_open_below(int root, const char *path, int flags, uint64_t resolve)
{
    return open_how(root, path, flags, resolve | RESOLVE_BENEATH);
}

int path_open_in(int root, struct str path, int flags)
{
    char text[PATH_MAX];

    if (path.n >= sizeof(text)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(text, path.n ? path.p : ".", MAX_OF(path.n, 1));
    text[MAX_OF(path.n, 1)] = '\0';
    return open_how(root, text, flags, RESOLVE_IN_ROOT);
}

/* ---- making ---- */

int make_dirs(const char *path, mode_t mode, struct err *e)
{
    char part[PATH_MAX];
    size_t n = strlen(path);

    if (n >= sizeof(part))
        return err_set(e, ERR_INVALID, "create %.100s...: path too long", path);
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, i == n ? mode : 0755) < 0 && errno != EEXIST)
            return err_errno(e, "make %s", part);
    }
    return 0;
}

/* mkdirat() obeys the umask, which belongs to the process: only we can enter before the directory has its mode.
 * 1: it was there. */
static int path_make_one(int parent, const char *name, mode_t mode)
{
    autoclose int fd = -1;

    if (mkdirat(parent, name, 0700) < 0)
        return errno == EEXIST ? 1 : -1;
    fd = path_open_below(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
    return fd < 0 || fchmod(fd, mode) < 0 ? -1 : 0;
}

int make_dir_at(int parent, const char *name, mode_t mode, int *ret_fd, struct err *e)
{
    int fd;

    if (path_make_one(parent, name, mode) < 0)
        return io_errno(e, "create directory \"%s\"", name);
    fd = path_open_below(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
    if (fd < 0)
        return io_errno(e, "open directory \"%s\"", name);
    *ret_fd = fd;
    return 0;
}

static int path_complain(const char *path, struct err *e)
{
    int no = errno;

    (void)(no == EXDEV ? err_set(e, ERR_FORBIDDEN, "\"%s\" points outside its directory", path)
                       : io_errno(e, "create \"%s\"", path));
    errno = no;
    return -1;
}

/* One more part: 'path' so far ends with the part 'name', and 'parent' is all before it. */
static int os_path_step(const struct make_below *how, int parent, const char *path, const char *name, struct err *e)
{
    uint64_t resolve = how->resolve;
    int fd = open_how(how->root, path, O_PATH | O_DIRECTORY, resolve), rc;

    if (fd >= 0)
        return fd;
    rc = errno == ENOENT ? path_make_one(parent, name, how->mode) : -1;
    if (rc < 0)
        return path_complain(path, e);
    if (rc == 0 && how->made && how->made(how->ctx, parent, name, path, e) < 0)
        return -1;
    /* Another process was faster, or it is a link to nowhere: this open tells which. */
    fd = open_how(how->root, path, O_PATH | O_DIRECTORY, resolve);
    return fd < 0 ? path_complain(path, e) : fd;
}

int make_dirs_below(const struct make_below *how, struct str path, int *ret_fd, struct err *e)
{
    char text[PATH_MAX];
    int fd;

    if (path.n >= sizeof(text))
        return err_set(e, ERR_IO, "create \"%.100s...\": %s", path.p, strerror(errno = ENAMETOOLONG));
    fd = fcntl(how->root, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        return io_errno(e, "duplicate a directory descriptor");
    for (size_t at = 0, end; at < path.n && fd >= 0; at = end + 1) {
        ptrdiff_t slash = str_find_char(str_from(path, at), '/');
        int parent = fd;

        end = slash < 0 ? path.n : at + (size_t)slash;
        (void)snprintf(text, sizeof(text), "%.*s", (int)end, path.p);
        fd = os_path_step(how, parent, text, text + at, e);
        close(parent);
    }
    if (fd < 0)
        return -1;
    *ret_fd = fd;
    return 0;
}

/* ---- text ---- */

bool path_is_below(struct str path, struct str dir)
{
    if (str_is(dir, "/"))
        return path.n > 1 && path.p[0] == '/';
    return path.n > dir.n && path.p[dir.n] == '/' && str_starts(path, dir);
}
