/* box_host.c - the host's files as the root of a container
 *
 * As root of the machine: one overlay over "/", and one over each other file system that is mounted below it.
 *
 * As root of a user namespace the kernel refuses an overlay over a directory with mounts of the host below it,
 * because the overlay would reveal what they cover. Then the root is a new directory with one overlay for each
 * directory of "/"; directories with mounts below them are composed in the same way, level by level. A directory that
 * this user may not open (/root) is shown empty.
 *
 * Root of the machine sees the files through a veil (box_veil.c), except in the homes it was given.
 */
#include "node/container/box_internal.h"
#include "node/container/host_layer.h"

#include <errno.h>
#include <linux/stat.h>

struct host {
    struct box *box;
    int nothing;                       /* box_spec.veil; -1: none */
    VEC(struct box_host_mount) mounts; /* without /proc, /sys …, which the container has of its own */
    VEC(struct str)
    whole; /* directories that 'over' replaces completely (host_layer.h), with all mounts below */
};

static bool is_hidden_path(const struct host *h, struct str path)
{
    VEC_FOREACH(dir, &h->box->spec->hidden)
        if (dir->n > 1 && box_is_below(path, *dir))
            return true;
    return false;
}

static bool is_in_home(const struct host *h, struct str path)
{
    VEC_FOREACH(home, &h->box->spec->homes)
        if (box_is_below(path, *home))
            return true;
    return false;
}

/* Is this path behind a directory that the veil closes? Then no mount point can be created there. */
static bool is_veiled(const struct host *h, struct str path)
{
    struct stat st;

    if (h->nothing < 0 || is_in_home(h, path))
        return false;
    for (size_t i = 1; i < path.n; i++)
        if (path.p[i] == '/' &&
            (stat(arena_cstr(&h->box->arena, str_sub(path, 0, i)), &st) < 0 || !(st.st_mode & S_IXOTH)))
            return true;
    return false;
}

/* Add a home as if it were a mount of its own, before the mounts inside it. */
static void box_host_add_home(struct host *h, struct str home)
{
    struct box_host_mount own = {
        .path = home, .attr = MOUNT_ATTR_NODEV, .is_below = true, .is_shown = true, .is_home = true
    };
    size_t at = h->mounts.n;

    for (size_t i = h->mounts.n; i-- > 0;)
        if (h->mounts.v[i].path.n > home.n && box_is_below(h->mounts.v[i].path, home))
            at = i;
    for (size_t i = 0; i < at; i++)
        if (str_eq(h->mounts.v[i].path, home))
            return; /* the home is a mount itself */
        else if (box_is_below(home, h->mounts.v[i].path))
            own.attr = h->mounts.v[i].attr;
    (void)vec_push(&h->box->arena, &h->mounts);
    memmove(h->mounts.v + at + 1, h->mounts.v + at, (h->mounts.n - 1 - at) * sizeof(own));
    h->mounts.v[at] = own;
}

static int find_mounts(struct host *h, struct err *e)
{
    const struct box_mounts *list;

    if (box_mounts_find(&h->box->arena, &list, e) < 0)
        return -1;
    VEC_FOREACH(m, &list->all) {
        bool is_skipped = m->is_dull || is_hidden_path(h, m->path) || (m->is_shown && is_veiled(h, m->path));

        if (!m->is_below || (is_skipped && m->is_ours)) /* our own mounts: the kernel allows an overlay over them */
            continue;
        *vec_push(&h->box->arena, &h->mounts) = *m;
        h->mounts.v[h->mounts.n - 1].is_shown &= !is_skipped;
        h->mounts.v[h->mounts.n - 1].is_home = is_in_home(h, m->path);
    }
    VEC_FOREACH(home, &h->box->spec->homes)
        box_host_add_home(h, *home);
    return 0;
}

/* ---- one directory of the host ---- */

/* An overlay over 'lower' or, where that is not possible, the same files read-only. */
static int bare_layer(struct host *h, const struct box_layer *l, bool is_dir)
{
    int mount = is_dir && !(l->attr & MOUNT_ATTR_RDONLY) ? box_overlay(h->box, l, NULL) : -1;

    if (mount >= 0) {
        int part = fcntl(mount, F_DUPFD_CLOEXEC, 3);

        if (part >= 0)
            box_part(h->box, part);
        return mount;
    }
    h->box->has_bare |= is_dir && l->has_over && S_ISDIR(box_over_type(h->box, l->path));
    mount = box_mount_clone(l->lower, "", false);
    if (mount < 0 && errno == EINVAL)
        mount = box_mount_clone(l->lower, "", true);
    if (mount >= 0 && box_mount_set(mount, l->attr | MOUNT_ATTR_RDONLY, true) < 0) {
        close(mount);
        mount = -1;
    }
    return mount;
}

/* The same behind the veil, if the container has one. */
static int veiled_layer(struct host *h, const struct box_layer *l, bool is_dir)
{
    struct box_layer behind = *l;
    autoclose int veil = -1;
    struct stat st;

    if (h->nothing < 0)
        return bare_layer(h, l, is_dir);
    if (!is_dir)
        return fstat(l->lower, &st) < 0 || !(st.st_mode & S_IROTH) ? -1 : bare_layer(h, l, is_dir);
    behind.lower = veil = box_veil(l->lower, h->nothing, NULL);
    return veil < 0 ? -1 : bare_layer(h, &behind, is_dir);
}

/* Show one of the host's file systems below "/". If that fails, an empty directory stays in its place. */
static int place_mount(struct host *h, const struct box_host_mount *m, struct err *e)
{
    autoclose int from = -1;
    struct box_layer layer;
    struct statx st;
    bool is_dir;
    int mount;

    if (!m->is_shown)
        return 0;
    VEC_FOREACH(dir, &h->whole)
        if (box_is_below(m->path, *dir))
            return 0;
    from = open(arena_cstr(&h->box->arena, m->path), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (from < 0 || statx(from, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) < 0 ||
        (!m->is_home &&
         !(st.stx_attributes & STATX_ATTR_MOUNT_ROOT))) /* no mount here: a parent directory was renamed */
        return 0;
    is_dir = S_ISDIR(st.stx_mode);
    layer = (struct box_layer){ .lower = from, .path = m->path, .has_over = true, .attr = m->attr };
    mount = (m->is_home ? bare_layer : veiled_layer)(h, &layer, is_dir);
    if (mount < 0)
        return 0;
    return box_put(h->box, mount, m->path, is_dir ? BOX_DIR : BOX_FILE, e);
}

static int place_mounts(struct host *h, struct err *e)
{
    VEC_FOREACH(m, &h->mounts) /* parents come before what is mounted in them */
        if (place_mount(h, m, e) < 0)
            return err_wrap(e, "file system \"%.*s\"", STR_ARG(m->path));
    return 0;
}

/* ---- piece by piece, in a user namespace ---- */

enum {
    MAX_FILES = 16,
    MAX_DEPTH = 8
}; /* most files bound one by one: "/" has a few; a directory with more is bound as a whole */

static bool is_mount_point(const struct host *h, struct str path)
{
    VEC_FOREACH(m, &h->mounts)
        if (str_eq(m->path, path))
            return true;
    return false;
}

static bool has_mounts_below(const struct host *h, struct str path)
{
    VEC_FOREACH(m, &h->mounts)
        if (m->path.n > path.n && box_is_below(m->path, path))
            return true;
    return false;
}

/* Count the entries of a directory, and the files among them. */
static size_t box_host_count_entries(int dir, size_t *ret_files)
{
    autodir *d = dir_open(dir, ".");
    size_t n = 0;

    *ret_files = 0;
    for (struct dirent *entry; *ret_files <= MAX_FILES && (entry = dir_next(d)); n++)
        *ret_files += entry->d_type != DT_DIR && entry->d_type != DT_LNK;
    return n;
}

/* A directory that is composed of the host's entries. */
struct composed {
    int from, to;    /* the directory of the host, and the new one */
    struct str path; /* "" for "/" */
    int depth;
};

static int compose_entries(struct host *h, const struct composed *dir, struct err *e);

/* 'path' is empty for a file. */
static int attach_layer(struct host *h, int from, int to, const char *name, struct str path)
{
    const struct box_layer layer = { .lower = from, .path = path, .has_over = path.n, .attr = MOUNT_ATTR_NODEV };
    autoclose int target = openat(to, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    autoclose int mount = target < 0 ? -1 : veiled_layer(h, &layer, path.n);

    /* A directory that cannot be shown stays empty. */
    return mount < 0 ? 0 : box_mount_attach(mount, target);
}

/* Use the copy in 'over' where the kernel refuses an overlay over the host's directory. */
static int attach_whole(struct host *h, int to, const char *name, struct str path)
{
    autoclose int from = path_open_in(h->box->over, path, O_PATH | O_DIRECTORY);
    autoclose int target = openat(to, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    const struct box_layer layer = { .lower = from, .path = path, .attr = MOUNT_ATTR_NODEV };
    autoclose int mount = from < 0 || target < 0 ? -1 : veiled_layer(h, &layer, true);

    *vec_push(&h->box->arena, &h->whole) = path;
    return mount < 0 ? -1 : box_mount_attach(mount, target);
}

static int compose_dir(struct host *h, const struct composed *dir, const char *name, struct str path, struct err *e)
{
    autoclose int fd = openat(dir->from, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    autoclose int made = -1;
    struct str whole;
    size_t n_files;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return 0;
    if (mkdirat(dir->to, name, st.st_mode & 07777) < 0)
        return err_errno(e, "create \"%.*s\"", STR_ARG(path));
    if (box_has_own(path) || is_mount_point(h, path) || faccessat(fd, "", R_OK | X_OK, AT_EACCESS | AT_EMPTY_PATH) < 0)
        return 0;
    if (box_host_count_entries(fd, &n_files) ==
        0) /* empty (/media, /opt …): a directory serves as well as an overlay, and is cheaper */
        return 0;
    whole = arena_fmt(&h->box->arena, "%.*s/" OVER_WHOLE, STR_ARG(path));
    if (has_mounts_below(h, path) && S_ISCHR(box_over_type(h->box, whole)))
        return attach_whole(h, dir->to, name, path) < 0 ? err_errno(e, "mount \"%.*s\"", STR_ARG(path)) : 0;
    if (!has_mounts_below(h, path) || dir->depth >= MAX_DEPTH || n_files > MAX_FILES)
        return attach_layer(h, fd, dir->to, name, path) < 0 ? err_errno(e, "mount \"%.*s\"", STR_ARG(path)) : 0;
    made = openat(dir->to, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (made < 0)
        return err_errno(e, "open \"%.*s\"", STR_ARG(path));
    return compose_entries(h, &(struct composed){ fd, made, path, dir->depth + 1 }, e);
}

static int compose_link(int from, int to, const char *name)
{
    char target[4096];
    ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

    if (n < 0)
        return 0;
    target[n] = '\0';
    return symlinkat(target, to, name);
}

static int compose_file(struct host *h, const struct composed *dir, const char *name, struct str path)
{
    bool is_changed = S_ISREG(box_over_type(h->box, path));
    autoclose int fd = is_changed ? path_open_in(h->box->over, path, O_PATH | O_NOFOLLOW)
                                  : openat(dir->from, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    autoclose int made = fd < 0 ? -1 : openat(dir->to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);

    return made < 0 ? 0 : attach_layer(h, fd, dir->to, name, STR_NULL);
}

static int compose_entry(struct host *h, const struct composed *dir, const char *name, struct err *e)
{
    struct str path;
    struct stat st;

    if (fstatat(dir->from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    path = arena_fmt(&h->box->arena, "%.*s/%s", STR_ARG(dir->path), name);
    if (S_ISCHR(box_over_type(h->box, path)))
        return 0;
    if (S_ISDIR(st.st_mode))
        return compose_dir(h, dir, name, path, e);
    if (S_ISLNK(st.st_mode) ? compose_link(dir->from, dir->to, name) < 0
                            : S_ISREG(st.st_mode) && compose_file(h, dir, name, path) < 0)
        return err_errno(e, "copy \"%.*s\"", STR_ARG(path));
    return 0;
}

/* Make the new directory show what the host's has. */
static int compose_entries(struct host *h, const struct composed *dir, struct err *e)
{
    autodir *d = dir_open(dir->from, ".");
    int result = 0;

    if (!d)
        return err_errno(e, "list \"%.*s\"", STR_ARG(dir->path));
    for (struct dirent *entry; result == 0 && (entry = dir_next(d));)
        result = compose_entry(h, dir, entry->d_name, e);
    return result;
}

static int compose_root(struct host *h, int from, struct err *e)
{
    struct box *b = h->box;

    b->root = box_plain_dir(b, "root", 0755, MOUNT_ATTR_NODEV, e);
    if (b->root < 0)
        return -1;
    box_part(b, b->root);
    if (box_mount_attach(b->root, b->state) < 0)
        return err_errno(e, "attach the root file system");
    return compose_entries(h, &(struct composed){ .from = from, .to = b->root }, e);
}

/* ---- all of it ---- */

static int overlay_root(struct box *b, int lower, struct err *e)
{
    const struct box_layer layer = { lower, STR("/"), true, MOUNT_ATTR_NODEV };

    b->root = box_overlay(b, &layer, e);
    if (b->root < 0)
        return -1;
    box_part(b, b->root);
    b->is_overlay = true;
    return box_mount_attach(b->root, b->state) < 0 ? err_errno(e, "attach the root file system") : 0;
}

static int show_host(struct host *h, int lower, struct err *e)
{
    struct box *b = h->box;
    autoclose int veil = h->nothing < 0 ? -1 : box_veil(lower, h->nothing, e);
    int shown = h->nothing < 0 ? lower : veil;

    if (shown < 0 || find_mounts(h, e) < 0)
        return -1;
    if (b->is_inner || overlay_root(b, shown, e) < 0) {
        /* The overlay failed as root of the machine: the state directory cannot hold an upper layer, or "/" cannot be
         * a lower one. */
        if (!b->is_inner && !b->has_tmp_state && box_use_tmp_state(b, e) == 0 && overlay_root(b, shown, e) == 0)
            return place_mounts(h, e);
        if (compose_root(h, lower, e) < 0)
            return err_wrap(e, "compose the root from the host's files");
    }
    return place_mounts(h, e);
}

int box_root_host(struct box *b, struct err *e)
{
    autoclose int lower = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), nothing = -1;

    if (lower < 0)
        return err_errno(e, "open /");
    if (b->spec->over.n && (b->over = open(arena_cstr(&b->arena, b->spec->over), O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
        return err_errno(e, "open %.*s", STR_ARG(b->spec->over));
    if (b->spec->veil.n && (nothing = open(arena_cstr(&b->arena, b->spec->veil), O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
        return err_errno(e, "open %.*s", STR_ARG(b->spec->veil));
    return show_host(&(struct host){ .box = b, .nothing = nothing }, lower, e);
}
