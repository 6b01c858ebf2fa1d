/* volume_path.c - paths from outside; opening and making below a directory */
#include "node/volume/volume_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>

int volume_errno(struct err *e, const char *fmt, ...)
{
    int no = errno;
    char what[300];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    return err_set(e, ERR_IO, "%s: %s", what, strerror(no));
}

/* ---- text ---- */

static int check_part(struct str part, struct err *e)
{
    return part.n > NAME_MAX ? err_set(e, ERR_INVALID, "a part of the path is longer than %d bytes", NAME_MAX) : 0;
}

static int check_path(struct str path, struct err *e)
{
    if (str_has_char(path, '\0'))
        return err_set(e, ERR_INVALID, "a path must not hold a NUL character");
    if (path.n >= PATH_MAX)
        return err_set(e, ERR_INVALID, "the path is longer than %d bytes", PATH_MAX - 1);
    return 0;
}

int volume_path_clean(struct arena *a, struct str path, struct str *ret, struct err *e)
{
    autobuf out = { 0 };
    struct str part, rest = path;

    if (check_path(path, e) < 0)
        return -1;
    if (str_starts(path, STR("/")))
        return err_set(e, ERR_INVALID, "path \"%.*s\" must be relative", STR_ARG(path));
    while (rest.n && str_split(&rest, '/', &part)) {
        if (part.n == 0 || str_is(part, "."))
            continue;
        if (str_is(part, ".."))
            return err_set(e, ERR_INVALID, "path \"%.*s\" must not contain \"..\"", STR_ARG(path));
        if (check_part(part, e) < 0)
            return -1;
        if (out.n)
            buf_char(&out, '/');
        buf_str(&out, part);
    }
    if (out.n == 0)
        return err_set(e, ERR_INVALID, "path \"%.*s\" names no file", STR_ARG(path));
    *ret = arena_str(a, buf_view(&out));
    return 0;
}

int volume_target_clean(struct arena *a, struct str path, struct str *ret, struct err *e)
{
    autobuf out = { 0 };
    struct str part, rest = path;

    if (path.n == 0)
        return err_set(e, ERR_INVALID, "mountPath: must not be empty");
    if (check_path(path, e) < 0)
        return err_wrap(e, "mountPath");
    while (rest.n && str_split(&rest, '/', &part)) {
        if (part.n == 0 || str_is(part, "."))
            continue;
        if (check_part(part, e) < 0)
            return err_wrap(e, "mountPath");
        if (!str_is(part, "..")) {
            buf_char(&out, '/');
            buf_str(&out, part);
        } else if (out.n) {
            out.n = (size_t)str_rfind_char(buf_view(&out), '/');
        }
    }
    if (out.n == 0)
        return err_set(e, ERR_INVALID, "mountPath \"%.*s\": the root of the container cannot be a volume",
                       STR_ARG(path));
    *ret = arena_str(a, buf_view(&out));
    return 0;
}

int volume_path_cmp(struct str x, struct str y)
{
    for (size_t i = 0; i < x.n && i < y.n; i++)
        if (x.p[i] != y.p[i])
            return x.p[i] == '/' ? -1 : y.p[i] == '/' ? 1 : (unsigned char)x.p[i] < (unsigned char)y.p[i] ? -1 : 1;
    return x.n < y.n ? -1 : x.n > y.n;
}

bool volume_path_is_below(struct str path, struct str above)
{
    return path.n > above.n && path.p[above.n] == '/' && str_starts(path, above);
}

/* ---- opening ---- */

int volume_open(int root, const char *path, int flags, uint64_t resolve)
{
    struct open_how how = {
        .flags = (uint64_t)flags | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve,
    };
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

/* ---- making ---- */

/* mkdirat() obeys the umask, which belongs to the process. */
static int set_mode(int parent, const char *name, mode_t mode)
{
    autoclose int fd = volume_open(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);

    return fd < 0 ? -1 : fchmod(fd, mode);
}

int volume_make_dir(int parent, const char *name, mode_t mode, int *ret_fd, struct err *e)
{
    bool is_new = mkdirat(parent, name, 0700) == 0;
    int fd;

    if (!is_new && errno != EEXIST)
        return volume_errno(e, "make directory \"%s\"", name);
    if (is_new && set_mode(parent, name, mode) < 0)
        return volume_errno(e, "set the mode of directory \"%s\"", name);
    fd = volume_open(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
    if (fd < 0)
        return volume_errno(e, "open directory \"%s\"", name);
    *ret_fd = fd;
    return 0;
}

/* One more part of a path: 'prefix' (as a C string) ends with the part 'name' and 'parent' is all before it. */
static int step(int root, int parent, const char *prefix, const char *name, mode_t mode)
{
    int fd = volume_open(root, prefix, O_PATH | O_DIRECTORY, 0);

    if (fd >= 0 || errno != ENOENT)
        return fd;
    if (mkdirat(parent, name, 0700) == 0) {
        if (set_mode(parent, name, mode) < 0)
            return -1;
    } else if (errno != EEXIST) { /* somebody was faster, or it is a link to nowhere: the open below tells */
        return -1;
    }
    return volume_open(root, prefix, O_PATH | O_DIRECTORY, 0);
}

int volume_make_path(int root, struct str path, mode_t mode, int *ret_fd, struct err *e)
{
    int fd = -1, parent = root;
    size_t at = 0;

    while (at < path.n) {
        char prefix[PATH_MAX];
        ptrdiff_t slash = str_find_char(str_from(path, at), '/');
        size_t end = slash < 0 ? path.n : at + (size_t)slash;

        (void)snprintf(prefix, sizeof(prefix), "%.*s", (int)end, path.p); /* volume_path_clean: shorter than PATH_MAX */
        fd = step(root, parent, prefix, prefix + at, mode);
        if (fd < 0 && errno == EXDEV)
            (void)err_set(e, ERR_FORBIDDEN, "\"%s\" leads out of the volume", prefix);
        else if (fd < 0)
            (void)volume_errno(e, "make \"%s\"", prefix);
        if (parent != root)
            close(parent);
        if (fd < 0)
            return -1;
        parent = fd;
        at = end + 1;
    }
    *ret_fd = fd;
    return 0;
}
