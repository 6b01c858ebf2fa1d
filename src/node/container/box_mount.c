/* box_mount.c - the kernel's mount calls, and paths that cannot leave a root
 *
 * A mount is created detached, gets its flags, and is attached by descriptor only then. So it is never visible with
 * too many permissions, and no path is resolved twice.
 */
#include "node/container/box_internal.h"

#include <errno.h>
#include <limits.h>

enum { MAX_LINKS = 40 }; /* as the kernel */

/* ---- mounts ---- */

/* The kernel leaves messages in the context: "e overlay: ...". Report the last one, which is nearest to the cause. */
static int context_error(int fs, const char *type, struct err *e)
{
    int no = errno;
    char text[200], last[200] = "";
    ssize_t n;

    while ((n = read(fs, text, sizeof(text) - 1)) > 0) {
        text[n] = '\0';
        if (n > 2 && text[0] == 'e')
            (void)snprintf(last, sizeof(last), " (%.*s)", (int)strcspn(text + 2, "\n"), text + 2);
    }
    errno = no;
    (void)err_errno(e, "mount %s%s", type, last);
    errno = no;
    return -1;
}

int box_mount_new(const char *type, const struct box_option *opt, unsigned attr, struct err *e)
{
    autoclose int fs = fsopen(type, FSOPEN_CLOEXEC);
    int mount;

    if (fs < 0)
        return err_errno(e, "mount %s", type);
    for (; opt && opt->key; opt++)
        if (fsconfig(fs, opt->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, opt->key, opt->value, 0) < 0)
            return context_error(fs, type, e);
    if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return context_error(fs, type, e);
    mount = fsmount(fs, FSMOUNT_CLOEXEC, attr);
    return mount < 0 ? context_error(fs, type, e) : mount;
}

int box_mount_clone(int dir, const char *path, bool is_recursive)
{
    unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_NO_AUTOMOUNT | (*path ? 0 : AT_EMPTY_PATH);

    return open_tree(dir, path, flags | (is_recursive ? AT_RECURSIVE : 0));
}

int box_mount_set(int mount, uint64_t attr, bool is_recursive)
{
    struct mount_attr set = { .attr_set = attr };

    return mount_setattr(mount, "", AT_EMPTY_PATH | (is_recursive ? AT_RECURSIVE : 0), &set, sizeof(set));
}

int box_mount_attach(int mount, int target)
{
    return box_mount_attach_at(mount, target, "");
}

int box_mount_attach_at(int mount, int dir, const char *name)
{
    return move_mount(mount, "", dir, name, MOVE_MOUNT_F_EMPTY_PATH | (*name ? 0 : MOVE_MOUNT_T_EMPTY_PATH));
}

int box_clone_mount(int fd, const char *path, bool is_read_only, bool is_recursive, struct err *e)
{
    int dir = fd >= 0 ? fd : AT_FDCWD, copy;
    const char *name = fd >= 0 || !path ? "" : path;

    copy = box_mount_clone(dir, name, is_recursive);
    /* An ordinary user may not uncover what the host's mounts hide: then clone them too. */
    if (copy < 0 && errno == EINVAL && !is_recursive)
        copy = box_mount_clone(dir, name, is_recursive = true);
    if (copy < 0)
        return err_errno(e, "clone the mount%s%s", *name ? " of " : "", name);
    if (is_read_only && box_mount_set(copy, MOUNT_ATTR_RDONLY, is_recursive) < 0) {
        (void)err_errno(e, "make %s read-only", *name ? name : "the mount");
        close(copy);
        return -1;
    }
    return copy;
}

/* ---- paths ---- */

bool box_is_below(struct str path, struct str dir)
{
    return dir.n <= 1 || str_eq(path, dir) || path_is_below(path, dir);
}

/* A path being resolved: 'done' has no links, 'rest' is still to be walked. */
struct box_mount_walk {
    struct box *box;
    char done[PATH_MAX], rest[PATH_MAX];
    int links;
};

/* Remove the first part of 'rest'. */
static bool walk_next_part(struct box_mount_walk *w, char part[NAME_MAX + 1])
{
    char *p = w->rest + strspn(w->rest, "/");
    size_t n = strcspn(p, "/");

    if (n == 0 || n > NAME_MAX) {
        errno = n ? ENAMETOOLONG : 0;
        return false;
    }
    memcpy(part, p, n);
    part[n] = '\0';
    memmove(w->rest, p + n, strlen(p + n) + 1);
    return true;
}

static int walk_up(struct box_mount_walk *w)
{
    char *slash = strrchr(w->done, '/');

    if (slash)
        *slash = '\0';
    return 0;
}

static int walk_down(struct box_mount_walk *w, const char *part)
{
    size_t n = strlen(w->done);

    if (n + 1 + strlen(part) >= sizeof(w->done)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    (void)snprintf(w->done + n, sizeof(w->done) - n, "/%s", part);
    return 0;
}

/* Put the target of a link before the rest. An absolute one starts at the root again. */
static int box_mount_follow(struct box_mount_walk *w, int dir, const char *part)
{
    char target[PATH_MAX], rest[PATH_MAX];
    ssize_t n = readlinkat(dir, part, target, sizeof(target) - 1);

    if (n < 0)
        return -1;
    target[n] = '\0';
    if (++w->links > MAX_LINKS) {
        errno = ELOOP;
        return -1;
    }
    memcpy(rest, w->rest, sizeof(rest));
    if ((size_t)snprintf(w->rest, sizeof(w->rest), "%s/%s", target, rest) >= sizeof(w->rest)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (target[0] == '/')
        w->done[0] = '\0';
    return 0;
}

static int box_mount_make_one(int dir, const char *part, bool is_file)
{
    int fd;

    if (!is_file)
        return mkdirat(dir, part, 0755);
    fd = openat(dir, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    return fd < 0 ? -1 : close(fd);
}

/* In a user namespace most directories of the host belong to the overflow user, and nothing can be created in them.
 * The top directory of an overlay always belongs to us: mount one over such a directory. */
static int overlay_to_own(struct box_mount_walk *w, int *dir)
{
    const struct box_layer layer = { .lower = *dir, .path = str_of(w->done), .attr = MOUNT_ATTR_NODEV };
    int mount = w->box->is_inner ? box_overlay(w->box, &layer, NULL) : -1;

    if (mount < 0 || box_mount_attach(mount, *dir) < 0) {
        if (mount >= 0)
            close(mount);
        errno = EACCES;
        return -1;
    }
    box_part(w->box, mount);
    close(*dir);
    *dir = fcntl(mount, F_DUPFD_CLOEXEC, 3);
    return *dir < 0 ? -1 : 0;
}

static int walk_part(struct box_mount_walk *w, const char *part, enum box_made kind)
{
    bool is_file = kind == BOX_FILE && w->rest[strspn(w->rest, "/")] == '\0';
    autoclose int dir = -1;
    struct stat st;

    if (strcmp(part, ".") == 0)
        return 0;
    if (strcmp(part, "..") == 0)
        return walk_up(w);
    dir = path_open_in(w->box->root, str_of(w->done), O_PATH | O_DIRECTORY);
    if (dir < 0)
        return -1;
    if (fstatat(dir, part, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return S_ISLNK(st.st_mode) ? box_mount_follow(w, dir, part) : walk_down(w, part);
    if (errno != ENOENT)
        return -1;
    if (box_mount_make_one(dir, part, is_file) == 0)
        return walk_down(w, part);
    if (errno != EACCES || overlay_to_own(w, &dir) < 0 || box_mount_make_one(dir, part, is_file) < 0)
        return -1;
    return walk_down(w, part);
}

static int make_path(struct box *b, struct str path, enum box_made kind)
{
    struct box_mount_walk w = { .box = b };
    char part[NAME_MAX + 1];

    if (path.n >= sizeof(w.rest)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    (void)snprintf(w.rest, sizeof(w.rest), "%.*s", STR_ARG(path));
    while (walk_next_part(&w, part))
        if (walk_part(&w, part, kind) < 0)
            return -1;
    return errno ? -1 : path_open_in(b->root, str_of(w.done), O_PATH);
}

/* The usual case: only the last part is missing, and its parent is no link. -1: another case. */
static int make_last(struct box *b, struct str path, enum box_made kind)
{
    ptrdiff_t slash = str_rfind_char(path, '/');
    const char *name = arena_cstr(&b->arena, str_from(path, (size_t)(slash + 1)));
    autoclose int dir = slash < 0 || !*name
                            ? -1
                            : path_open_in(b->root, str_sub(path, 0, (size_t)slash + 1), O_PATH | O_DIRECTORY);

    if (dir < 0)
        return -1;
    if (kind == BOX_FILE)
        return openat(dir, name, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    return mkdirat(dir, name, 0755) < 0 ? -1 : openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int box_make(struct box *b, struct str path, enum box_made kind, int *ret_fd, struct err *e)
{
    static const char *const names[] = { [BOX_DIR] = "directory", [BOX_FILE] = "file" };
    int fd = path_open_in(b->root, path, O_PATH);
    struct stat st;

    if (fd < 0 && errno == ENOENT) {
        box_ids_begin(b);
        if ((fd = make_last(b, path, kind)) < 0)
            fd = make_path(b, path, kind);
        box_ids_end(b);
    }
    if (fd < 0 && errno == ELOOP) /* links of /proc lead to our own open files: never followed */
        return err_set(e, ERR_INVALID,
                       "\"%.*s\" has a link loop or goes through a link of /proc; use a path without links",
                       STR_ARG(path));
    if (fd < 0)
        return err_errno(e, "create %s \"%.*s\"", names[kind], STR_ARG(path));
    if (fstat(fd, &st) < 0 || S_ISDIR(st.st_mode) != (kind == BOX_DIR)) {
        close(fd);
        return err_set(e, ERR_INVALID, "\"%.*s\" exists and is not a %s", STR_ARG(path), names[kind]);
    }
    *ret_fd = fd;
    return 0;
}

int box_attach(struct box *b, int mount, struct str path, enum box_made kind, struct err *e)
{
    autoclose int target = -1;

    if (box_make(b, path, kind, &target, e) < 0)
        return -1;
    return box_mount_attach(mount, target) < 0 ? err_errno(e, "mount at \"%.*s\"", STR_ARG(path)) : 0;
}

int box_put(struct box *b, int take_mount, struct str path, enum box_made kind, struct err *e)
{
    autoclose int mount = take_mount;

    return box_attach(b, mount, path, kind, e);
}
