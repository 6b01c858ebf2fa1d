/* hide.c - whiteouts over the host's files that pods must not see */
#include "node/container/hide_internal.h"

#include "base/util.h"
#include "node/container/host_layer.h"
#include "node/userns/user.h"
#include "os/io.h"
#include "os/path.h"
#include "os/tree.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

enum { NOBODY = 65534, LINKS_MAX = 8, FILE_MAX = 4 << 20, SMALL_FILE = 64 << 10 };

/* ---- the host's side ---- */

static struct str hide_read_file(struct arena *a, const char *path)
{
    return file_text(a, AT_FDCWD, path, FILE_MAX);
}

/* Does not trigger an automount. */
struct str hide_real_dir(struct arena *a, const char *path)
{
    autoclose int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    char link[40], real[PATH_MAX];
    ssize_t n;

    if (fd < 0)
        return STR_NULL;
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, real, sizeof(real));
    return n > 0 && n < (ssize_t)sizeof(real) ? arena_str(a, (struct str){ real, (size_t)n }) : STR_NULL;
}

bool hide_is_open(struct str path)
{
    char dir[PATH_MAX];
    struct stat st;

    if (path.n >= sizeof(dir))
        return false;
    for (size_t i = 1; i <= path.n; i++)
        if (i == path.n || path.p[i] == '/') {
            (void)snprintf(dir, sizeof(dir), "%.*s", (int)i, path.p);
            if (stat(dir, &st) < 0 || !(st.st_mode & S_IXOTH))
                return false;
        }
    return true;
}

/* Split at the last slash. */
static struct str hide_parent_of(struct arena *a, struct str path, struct str *ret_base)
{
    size_t at = (size_t)str_rfind_char(path, '/');

    *ret_base = str_from(path, at + 1);
    return at ? arena_str(a, str_sub(path, 0, at)) : STR("/");
}

/* ---- the tree ---- */

/* Copy mode and owner from the host; root where our user namespace does not map the owner (overflow user). */
static int copy_attributes(const struct hiding *h, int dir, const char *name, const struct stat *st)
{
    uid_t uid = h->is_inner && st->st_uid == NOBODY ? 0 : st->st_uid;
    gid_t gid = h->is_inner && st->st_gid == NOBODY ? 0 : st->st_gid;

    if ((uid || gid) && fchownat(dir, name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    return fchmodat(dir, name, st->st_mode & 07777, 0);
}

/* An opaque directory hides the lower ones. */
static int make_opaque(int parent, const char *name)
{
    autoclose int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    return fd < 0 ? -1 : fsetxattr(fd, OVER_OPAQUE, "y", 1, 0);
}

/* Behind the veil, overlayfs cannot search a closed lower directory, so the directory here must be opaque. */
static bool is_behind_veil(const struct hiding *h, struct str path, const struct stat *st)
{
    if (!h->opt->has_veil || st->st_mode & S_IXOTH)
        return false;
    VEC_FOREACH(home, &h->hidden->homes)
        if (str_eq(path, *home) || path_is_below(path, *home))
            return false;
    return true;
}

/* A new directory of the tree gets mode and owner of the host's. */
static int copy_dir_attributes(void *ctx, int parent, const char *name, const char *path, struct err *e)
{
    const struct hiding *h = ctx;
    struct str of = arena_fmt(h->arena, "/%s", path);
    struct stat st;

    if (lstat(of.p, &st) < 0 || copy_attributes(h, parent, name, &st) < 0)
        return err_errno(e, "copy the mode of %s", of.p);
    return is_behind_veil(h, of, &st) && make_opaque(parent, name) < 0 ? err_errno(e, "hide the contents of %s", of.p)
                                                                       : 0;
}

/* Open the directory of the tree for 'path' (absolute, without links), and create it if missing. -1 and errno;
 * ENOTDIR: it is hidden itself. */
static int open_tree_dir(struct hiding *h, struct str path)
{
    struct make_below how = { h->over, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, 0700, copy_dir_attributes, h };
    int fd;

    return make_dirs_below(&how, str_from(path, 1), &fd, h->e) < 0 ? -1 : fd;
}

/* Paths come grouped by directory: keep the last one open. */
static int open_tree_parent(struct hiding *h, struct str path, int *ret_dir, const char **ret_base)
{
    struct str base, parent = hide_parent_of(h->arena, path, &base);

    *ret_base = arena_cstr(h->arena, base);
    if (h->parent_fd < 0 || !str_eq(parent, h->parent)) {
        if (h->parent_fd >= 0)
            close(h->parent_fd);
        h->parent = parent;
        h->parent_fd = open_tree_dir(h, parent);
    }
    *ret_dir = h->parent_fd;
    if (*ret_dir < 0 && errno == ENOTDIR)
        return 1;
    return *ret_dir < 0 ? err_errno(h->e, "hide %.*s", STR_ARG(path)) : 0;
}

int hide_whiteout(struct hiding *h, struct str path)
{
    const char *base;
    struct stat st;
    int dir, r = open_tree_parent(h, path, &dir, &base);

    if (r)
        return r < 0 ? -1 : 0;
    if (fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        if (S_ISCHR(st.st_mode)) /* it is hidden */
            return 0;
        if (tree_remove(dir, base, h->e) < 0) /* part of it is hidden, or it was copied */
            return -1;
        h->parent = STR_NULL; /* the cached directory may have been below it */
    }
    if (mknodat(dir, base, S_IFCHR, makedev(0, 0)) < 0)
        return err_errno(h->e, "hide %.*s", STR_ARG(path));
    *vec_push(h->arena, h->hidden) = path;
    return 0;
}

int hide_empty(struct hiding *h, struct str dir)
{
    autoclose int place = open_tree_dir(h, dir), fd = -1;

    if (place < 0 && errno == ENOTDIR) /* it is hidden */
        return 0;
    if (place >= 0)
        fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsetxattr(fd, OVER_OPAQUE, "y", 1, 0) < 0)
        return err_errno(h->e, "hide %.*s", STR_ARG(dir));
    if (tree_empty(fd, h->e) < 0)
        return -1;
    *vec_push(h->arena, h->hidden) = dir;
    return 0;
}

/* ---- one path ---- */

/* Also if the path does not exist yet. */
static int hide_own(struct hiding *h, struct str path)
{
    struct str base, parent = hide_parent_of(h->arena, path, &base), real = hide_real_dir(h->arena, parent.p);

    if (base.n == 0 || real.n == 0)
        return 0;
    return hide_whiteout(h, arena_fmt(h->arena, "%.*s/%.*s", STR_ARG(real.n > 1 ? real : STR_NULL), STR_ARG(base)));
}

static int hide_with_target(struct hiding *h, struct str path, int links);

/* The secret is the target of the link. */
static int hide_target(struct hiding *h, const char *path, int links)
{
    autofree char *real = links < LINKS_MAX ? realpath(path, NULL) : NULL;

    if (!real || strchr(real + 1, '/') == NULL) /* "/", "/usr": surely not secrets */
        return 0;
    return hide_with_target(h, arena_str(h->arena, str_of(real)), links + 1);
}

static int hide_with_target(struct hiding *h, struct str path, int links)
{
    struct stat st;

    path = arena_str(h->arena, path);
    if (fstatat(AT_FDCWD, path.p, &st, HIDE_NEVER_WAIT) < 0)
        return 0; /* missing, or unreadable to us */
    if (S_ISLNK(st.st_mode) && hide_target(h, path.p, links) < 0)
        return -1;
    return hide_own(h, path);
}

int hide_path(struct hiding *h, struct str path)
{
    return hide_with_target(h, path, 0);
}

/* ---- by mode ---- */

static enum hide_place hide_place_of(void *ctx, struct str path)
{
    const struct hiding *h = ctx;

    VEC_FOREACH(one, h->hidden)
        if (str_eq(*one, path))
            return PLACE_SETTLED;
    VEC_FOREACH(home, &h->homes)
        if (str_eq(home->path, path))
            return PLACE_SETTLED;
        else if (path_is_below(home->path, path))
            return PLACE_ABOVE;
    return PLACE_PLAIN;
}

static int hide_found(void *ctx, struct str path)
{
    struct hiding *h = ctx;

    return hide_whiteout(h, arena_str(h->arena, path));
}

static int hide_below(struct hiding *h, const char *top, int (*walk)(const struct hide_walk *how, const char *top))
{
    struct hide_walk how = { h, h->is_inner, false, hide_place_of, hide_found };
    struct str real = hide_real_dir(h->arena, top);

    return real.n ? walk(&how, real.p) : 0;
}

static int hide_by_mode(struct hiding *h)
{
    if (hide_below(h, "/etc", hide_walk_machine) < 0 || hide_below(h, "/var", hide_walk_machine) < 0)
        return -1;
    if (h->opt->has_veil)
        return 0;
    return hide_below(h, "/usr/local", hide_walk_some) < 0 || hide_below(h, "/", hide_walk_some) < 0 ? -1 : 0;
}

/* ---- whatever the mode ---- */

/* A list of paths, "a:b", like KUBECONFIG. */
static int hide_variable(struct hiding *h, const char *name)
{
    struct str rest = str_of(getenv(name)), path;

    while (rest.n && str_split(&rest, ':', &path))
        if (path.n > 1 && path.p[0] == '/' && hide_with_target(h, path, 0) < 0)
            return -1;
    return 0;
}

static int hide_all(struct hiding *h)
{
    for (const char *const *path = hide_machine_list(); *path; path++)
        if (hide_with_target(h, str_of(*path), 0) < 0)
            return -1;
    for (size_t i = 0; i < h->opt->n_own; i++)
        if (h->opt->own[i].n && h->opt->own[i].p[0] == '/' &&
            (hide_with_target(h, h->opt->own[i], 0) < 0 || hide_own(h, h->opt->own[i]) < 0))
            return -1;
    for (const char *const *name = hide_variable_list(); *name; name++)
        if (hide_variable(h, *name) < 0)
            return -1;
    hide_homes_find(h);
    return hide_by_mode(h) < 0 || hide_homes(h) < 0 ? -1 : 0;
}

/* ---- closed to others, but no secrets ---- */

/* The veil would hide it and break package managers: put a copy into the tree. */
static int copy_needed(struct hiding *h, const char *path)
{
    struct str base, parent = hide_parent_of(h->arena, str_of(path), &base), real = hide_real_dir(h->arena, parent.p);
    autoclose int dir = -1;
    struct stat st;

    if (real.n == 0 || lstat(path, &st) < 0 || st.st_mode & (S_ISDIR(st.st_mode) ? S_IXOTH : S_IROTH))
        return 0;
    dir = open_tree_dir(h, real);
    if (S_ISDIR(st.st_mode) && dir >= 0) {
        if (mkdirat(dir, base.p, 0700) == 0 && copy_attributes(h, dir, base.p, &st) == 0 &&
            make_opaque(dir, base.p) == 0)
            return 0;
    } else if (S_ISREG(st.st_mode) && dir >= 0) {
        if (file_write(dir, base.p, O_EXCL, 0600, file_text(h->arena, AT_FDCWD, path, SMALL_FILE)) == 0 &&
            copy_attributes(h, dir, base.p, &st) == 0)
            return 0;
    }
    return errno == EEXIST ? 0 : err_errno(h->e, "copy %s", path);
}

static int copy_all_needed(struct hiding *h)
{
    for (const char *const *path = hide_needed_list(); h->opt->has_veil && *path; path++)
        if (copy_needed(h, *path) < 0)
            return -1;
    return 0;
}

/* ---- /etc/shadow ---- */

static int change_shadow(struct hiding *h)
{
    struct str text = hide_read_file(h->arena, "/etc/shadow");
    autoclose int dir = -1;
    autobuf users = { 0 };
    struct stat st;

    if (lstat("/etc/shadow", &st) < 0) /* the host has none */
        return 0;
    hide_shadow(&users, text.n ? text : hide_read_file(h->arena, "/etc/passwd"));
    dir = open_tree_dir(h, STR("/etc"));
    if (dir >= 0 && tree_remove(dir, "shadow", h->e) < 0)
        return -1;
    if (dir < 0 || file_write(dir, "shadow", O_EXCL, 0600, buf_view(&users)) < 0 ||
        copy_attributes(h, dir, "shadow", &st) < 0)
        return err_errno(h->e, "write /etc/shadow without passwords");
    *vec_push(h->arena, h->hidden) = STR("/etc/shadow");
    return 0;
}

int hide_secrets(struct arena *a, int over, const struct hide_options *o, struct hidden *ret, struct err *e)
{
    struct hiding h = {
        .arena = a, .opt = o, .hidden = ret, .over = over, .is_inner = user_ids() != UINT32_MAX, .e = e, .parent_fd = -1
    };
    int rc;

    *ret = (struct hidden){ 0 };
    rc = hide_all(&h) < 0 || change_shadow(&h) < 0 || copy_all_needed(&h) < 0 ? err_wrap(e, "hide secrets of the host")
                                                                              : 0;
    if (h.parent_fd >= 0)
        close(h.parent_fd);
    return rc;
}
