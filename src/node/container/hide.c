/* hide.c - whiteouts over what of the host's files pods must not see */
#include "node/container/hide.h"

#include "base/util.h"
#include "node/userns/user.h"
#include "os/dir.h"
#include "os/io.h"
#include "os/path.h"
#include "os/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum {
    FIRST_PERSON = 1000,
    NOBODY = 65534,
    LINKS_MAX = 8,
    FILE_MAX = 4 << 20,
    NEVER_WAIT = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT
};

struct hiding {
    struct arena *arena;
    struct hidden *hidden;
    int over;
    bool is_inner; /* root of a user namespace */
    struct err *e;
    /* Of people, not of services; without links. Closed, and yet with programs in them, also below /var. */
    VEC(struct str) homes;
    struct str parent; /* the directory of the tree that was used last */
    int parent_fd;
};

/* ---- the host's side ---- */

static struct str read_file(struct arena *a, const char *path)
{
    return file_text(a, AT_FDCWD, path, FILE_MAX);
}

/* The path of a directory without links; empty: there is none. Does not wake an automounter. */
static struct str real_dir(struct arena *a, const char *path)
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

/* Split at the last slash. */
static struct str parent_of(struct arena *a, struct str path, struct str *ret_base)
{
    size_t at = (size_t)str_rfind_char(path, '/');

    *ret_base = str_from(path, at + 1);
    return at ? arena_str(a, str_sub(path, 0, at)) : STR("/");
}

/* ---- what lies over it ---- */

/* As on the host; root's where the owner is from outside of our user namespace (and shows as nobody). */
static int copy_look(const struct hiding *h, int dir, const char *name, const struct stat *st)
{
    uid_t uid = h->is_inner && st->st_uid == NOBODY ? 0 : st->st_uid;
    gid_t gid = h->is_inner && st->st_gid == NOBODY ? 0 : st->st_gid;

    if ((uid || gid) && fchownat(dir, name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    return fchmodat(dir, name, st->st_mode & 07777, 0);
}

/* A directory that was made over one of the host's looks like it. */
static int copy_look_of_dir(void *ctx, int parent, const char *name, const char *path, struct err *e)
{
    const struct hiding *h = ctx;
    const char *of = arena_fmt(h->arena, "/%s", path).p;
    struct stat st;

    return lstat(of, &st) < 0 || copy_look(h, parent, name, &st) < 0 ? err_errno(e, "copy the mode of %s", of) : 0;
}

/* The directory that stands for 'path' (absolute, without links). -1 and errno; ENOTDIR: it is hidden itself. */
static int open_over(struct hiding *h, struct str path)
{
    struct make_below how = { h->over, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, 0700, copy_look_of_dir, h };
    int fd;

    return make_dirs_below(&how, str_from(path, 1), &fd, h->e) < 0 ? -1 : fd;
}

/* Most come in groups: the last directory is kept. */
static int place(struct hiding *h, struct str path, int *ret_dir, const char **ret_base)
{
    struct str base, parent = parent_of(h->arena, path, &base);

    *ret_base = arena_cstr(h->arena, base);
    if (h->parent_fd < 0 || !str_eq(parent, h->parent)) {
        if (h->parent_fd >= 0)
            close(h->parent_fd);
        h->parent = parent;
        h->parent_fd = open_over(h, parent);
    }
    *ret_dir = h->parent_fd;
    if (*ret_dir < 0 && errno == ENOTDIR)
        return 1;
    return *ret_dir < 0 ? err_errno(h->e, "hide %.*s", STR_ARG(path)) : 0;
}

static int whiteout(struct hiding *h, struct str path)
{
    const char *base;
    struct stat st;
    int dir, r = place(h, path, &dir, &base);

    if (r)
        return r < 0 ? -1 : 0;
    if (fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        if (S_ISCHR(st.st_mode)) /* it is hidden */
            return 0;
        if (tree_remove(dir, base, h->e) < 0) /* a part of it is, or it was copied */
            return -1;
    }
    if (mknodat(dir, base, S_IFCHR, makedev(0, 0)) < 0)
        return err_errno(h->e, "hide %.*s", STR_ARG(path));
    *vec_push(h->arena, h->hidden) = path;
    return 0;
}

/* ---- what is hidden ---- */

/* Also if it is not there yet. */
static int hide_own(struct hiding *h, struct str path)
{
    struct str base, parent = parent_of(h->arena, path, &base), real = real_dir(h->arena, parent.p);

    if (base.n == 0 || real.n == 0)
        return 0;
    return whiteout(h, arena_fmt(h->arena, "%.*s/%.*s", STR_ARG(real.n > 1 ? real : STR_NULL), STR_ARG(base)));
}

static int hide(struct hiding *h, struct str path, int links);

/* Where a link leads is the secret. */
static int hide_target(struct hiding *h, const char *path, int links)
{
    autofree char *real = links < LINKS_MAX ? realpath(path, NULL) : NULL;

    if (!real || strchr(real + 1, '/') == NULL) /* "/", "/usr": nobody can mean that */
        return 0;
    return hide(h, arena_str(h->arena, str_of(real)), links + 1);
}

static int hide(struct hiding *h, struct str path, int links)
{
    struct stat st;

    path = arena_str(h->arena, path);
    if (fstatat(AT_FDCWD, path.p, &st, NEVER_WAIT) < 0)
        return 0; /* not there, or not for us */
    if (S_ISLNK(st.st_mode) && hide_target(h, path.p, links) < 0)
        return -1;
    return hide_own(h, path);
}

/* ---- what modes say ---- */

static enum hide_place place_of(void *ctx, struct str path)
{
    const struct hiding *h = ctx;

    VEC_FOREACH(one, h->hidden)
        if (str_eq(*one, path))
            return PLACE_SETTLED;
    VEC_FOREACH(home, &h->homes)
        if (str_eq(*home, path))
            return PLACE_SETTLED;
        else if (path_is_below(*home, path))
            return PLACE_ABOVE_HOME;
    return PLACE_PLAIN;
}

static int found(void *ctx, struct str path)
{
    struct hiding *h = ctx;

    return whiteout(h, arena_str(h->arena, path));
}

static int look_at_all(struct hiding *h)
{
    static const char *const tops[] = { "/etc", "/var" };
    struct hide_walk how = { h, h->is_inner, place_of, found };

    for (size_t i = 0; i < ARRAY_LEN(tops); i++) {
        struct str real = real_dir(h->arena, tops[i]);

        if (real.n && hide_walk_machine(&how, real.p) < 0)
            return -1;
    }
    VEC_FOREACH(home, &h->homes)
        if (hide_walk_home(&how, home->p) < 0)
            return -1;
    return 0;
}

/* ---- home directories ---- */

static void note_home(struct hiding *h, const char *dir)
{
    struct str real = real_dir(h->arena, dir);

    VEC_FOREACH(seen, &h->homes)
        if (str_eq(*seen, real))
            return;
    if (real.n > 1) /* "/" is no home, whatever /etc/passwd says */
        *vec_push(h->arena, &h->homes) = real;
}

static int hide_home(struct hiding *h, struct str dir, bool is_person)
{
    autoclose int fd = open(dir.p, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    for (const char *const *name = hide_home_list(); fd >= 0 && *name; name++)
        if (fstatat(fd, *name, &st, NEVER_WAIT) == 0 &&
            hide(h, arena_fmt(h->arena, "%.*s/%s", STR_ARG(dir), *name), 0) < 0)
            return -1;
    if (fd >= 0 && is_person)
        note_home(h, dir.p);
    return 0;
}

/* Homes that are their user's: "/usr/sbin" of daemon is not. */
static int hide_homes_of_users(struct hiding *h)
{
    struct str text = read_file(h->arena, "/etc/passwd"), line, f[6];
    struct stat st;
    uint64_t uid;

    while (text.n && str_split(&text, '\n', &line)) {
        size_t n = 0;

        while (n < ARRAY_LEN(f) && str_split(&line, ':', &f[n]))
            n++;
        if (n < ARRAY_LEN(f) || str_to_u64(f[2], &uid) < 0 || f[5].n < 2 || f[5].p[0] != '/')
            continue;
        f[5] = arena_str(h->arena, f[5]);
        if (fstatat(AT_FDCWD, f[5].p, &st, AT_NO_AUTOMOUNT) < 0 || st.st_uid != uid)
            if (uid != 0)
                continue;
        if (hide_home(h, f[5], uid == 0 || (uid >= FIRST_PERSON && uid != NOBODY)) < 0)
            return -1;
    }
    return 0;
}

/* Users that are in no file: of a directory service. */
static int hide_homes_below(struct hiding *h, const char *path)
{
    autodir *d = opendir(path);
    int result = 0;

    for (struct dirent *entry; result == 0 && (entry = dir_next(d));)
        if (entry->d_name[0] != '.' && entry->d_type != DT_REG)
            result = hide_home(h, arena_fmt(h->arena, "%s/%s", path, entry->d_name), true);
    return result;
}

static int hide_all(struct hiding *h, const struct str *more, size_t n_more)
{
    const char *own = getenv("HOME");

    for (const char *const *path = hide_machine_list(); *path; path++)
        if (hide(h, str_of(*path), 0) < 0)
            return -1;
    for (size_t i = 0; i < n_more; i++)
        if (more[i].n && more[i].p[0] == '/' && hide_own(h, more[i]) < 0)
            return -1;
    if (own && own[0] == '/' && hide_home(h, arena_str(h->arena, str_of(own)), true) < 0)
        return -1;
    return hide_homes_of_users(h) < 0 || hide_homes_below(h, "/home") < 0 || look_at_all(h) < 0 ? -1 : 0;
}

/* ---- /etc/shadow ---- */

static int change_shadow(struct hiding *h)
{
    struct str text = read_file(h->arena, "/etc/shadow");
    autoclose int dir = -1;
    autobuf users = { 0 };
    struct stat st;

    if (lstat("/etc/shadow", &st) < 0) /* none here, none there */
        return 0;
    hide_shadow(&users, text.n ? text : read_file(h->arena, "/etc/passwd"));
    dir = open_over(h, STR("/etc"));
    if (dir >= 0 && tree_remove(dir, "shadow", h->e) < 0)
        return -1;
    if (dir < 0 || file_write(dir, "shadow", O_EXCL, 0600, buf_view(&users)) < 0 ||
        copy_look(h, dir, "shadow", &st) < 0)
        return err_errno(h->e, "write what is to be /etc/shadow");
    *vec_push(h->arena, h->hidden) = STR("/etc/shadow");
    return 0;
}

int hide_secrets(struct arena *a, int over, const struct str *own, size_t n, struct hidden *ret, struct err *e)
{
    struct hiding h = {
        .arena = a, .hidden = ret, .over = over, .is_inner = user_ids() != UINT32_MAX, .e = e, .parent_fd = -1
    };
    int rc;

    *ret = (struct hidden){ 0 };
    rc = hide_all(&h, own, n) < 0 || change_shadow(&h) < 0 ? err_wrap(e, "hide secrets of the host") : 0;
    if (h.parent_fd >= 0)
        close(h.parent_fd);
    return rc;
}
