/* box_root.c - the root of a container: an overlay, and the step into it
 *
 * The new root is attached over the container's own state directory, in a mount namespace that no other process uses.
 * The contents of that directory are reached by descriptor from then on, which sees below the mount.
 */
#include "node/container/box_internal.h"
#include "node/container/host_layer.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

/* ---- the directory for changes ---- */

int box_use_tmp_state(struct box *b, struct err *e)
{
    static const struct box_option opt[] = { { "mode", "0700" }, { 0 } };
    int mount = box_mount_new("tmpfs", opt, MOUNT_ATTR_NODEV, e);

    if (mount < 0)
        return err_wrap(e, "mount a tmpfs for the container's changes");
    if (box_mount_attach(mount, b->state) < 0) {
        (void)err_errno(e, "mount over \"%.*s\"", STR_ARG(b->spec->upper));
        close(mount);
        return -1;
    }
    close(b->state);
    b->state = mount;
    b->has_tmp_state = true;
    b->n_state = 0;
    return 0;
}

static int open_state(struct box *b, struct err *e)
{
    const char *dir = arena_cstr(&b->arena, b->spec->upper);

    if (b->spec->upper.n == 0)
        return err_set(e, ERR_INVALID, "no directory for the container's changes");
    b->state = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (b->state < 0 && errno == ENOENT) { /* usually it exists, and mkdir() would wait for the lock of its parent */
        if (mkdir(dir, 0700) < 0 && errno != EEXIST)
            return err_errno(e, "create %s", dir);
        b->state = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    if (b->state < 0)
        return err_errno(e, "open %s", dir);
    return box_can_hold_changes(b->state) ? 0 : box_use_tmp_state(b, e);
}

/* ---- an overlay ---- */

/* Create new "upper<n>" and "work<n>": a container starts without changes of an earlier one, and an overlay refuses a
 * work directory that is in use. "at<n>" has the mount point, unless it is the root. */
static int make_layer_dirs(struct box *b, struct str path, char upper[16], char work[16], struct err *e)
{
    char at[16];

    for (;; b->n_state++) {
        (void)snprintf(upper, 16, "upper%u", b->n_state);
        (void)snprintf(work, 16, "work%u", b->n_state);
        if (mkdirat(b->state, work, 0700) == 0)
            break;
        if (errno != EEXIST)
            return err_errno(e, "create \"%s\" in \"%.*s\"", work, STR_ARG(b->spec->upper));
    }
    (void)snprintf(at, sizeof(at), "at%u", b->n_state++);
    if (mkdirat(b->state, upper, 0755) < 0)
        return err_errno(e, "create \"%s\" in \"%.*s\"", upper, STR_ARG(b->spec->upper));
    if (path.n > 1 && symlinkat(arena_cstr(&b->arena, path), b->state, at) < 0)
        return err_errno(e, "create \"%s\" in \"%.*s\"", at, STR_ARG(b->spec->upper));
    return 0;
}

/* The top directory of an overlay has mode and owner of the upper one. An owner from outside of our user namespace
 * (shown as the overflow user) cannot be set: root is used. */
static int copy_top(struct box *b, int lower, const char *upper, struct err *e)
{
    enum { NOBODY = 65534 };
    struct stat st;

    if (fstat(lower, &st) < 0)
        return err_errno(e, "stat the lower layer");
    if (b->is_inner && st.st_uid == NOBODY)
        st.st_uid = 0;
    if (b->is_inner && st.st_gid == NOBODY)
        st.st_gid = 0;
    if ((st.st_uid || st.st_gid) && fchownat(b->state, upper, st.st_uid, st.st_gid, 0) < 0 && !b->is_inner)
        return err_errno(e, "set the owner of \"%s\"", upper);
    if ((st.st_mode & 07777) != 0755 && fchmodat(b->state, upper, st.st_mode & 07777, 0) < 0)
        return err_errno(e, "set the mode of \"%s\"", upper);
    return 0;
}

mode_t box_over_type(const struct box *b, struct str path)
{
    autoclose int fd = b->over < 0 ? -1 : path_open_in(b->over, path, O_PATH | O_NOFOLLOW);
    struct stat st;

    return fd < 0 || fstat(fd, &st) < 0 ? 0 : st.st_mode & S_IFMT;
}

bool box_over_hides(const struct box *b, struct str path)
{
    autoclose int fd = b->over < 0 ? -1 : path_open_in(b->over, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    char text[2];

    return fd >= 0 && fgetxattr(fd, OVER_OPAQUE, text, sizeof(text)) == 1 && text[0] == 'y';
}

int box_overlay(struct box *b, const struct box_layer *l, struct err *e)
{
    bool takes_over = l->has_over && b->over >= 0 && l->path.n;
    autoclose int over = takes_over ? path_open_in(b->over, l->path, O_PATH | O_DIRECTORY) : -1;
    char upper[16], work[16], lower_path[80], upper_path[64], work_path[64];
    struct box_option opt[10] = {
        { "source", "pumice" },
        { "lowerdir", lower_path }, /* by descriptor: a path may contain ":", or be covered by a mount */
        { "upperdir", upper_path },
        { "workdir", work_path },
        { "volatile", NULL }, /* the changes are deleted later: never sync them */
    };
    size_t n = 5, upper_n = 0;

    if (b->is_inner) {
        opt[n++].key = "userxattr";
    } else { /* keep changed files whole, so that they can be copied from the upper layer; userxattr implies it */
        opt[n++] = (struct box_option){ "metacopy", "off" };
        opt[n++] = (struct box_option){ "redirect_dir", "off" };
    }
    if (over >= 0) /* 'over' is in memory; show one file system all the same */
        opt[n] = (struct box_option){ "xino", "on" };
    if (make_layer_dirs(b, l->path, upper, work, e) < 0 || copy_top(b, l->lower, upper, e) < 0)
        return -1;
    if (over >= 0) /* the first of several is the uppermost */
        upper_n = (size_t)snprintf(lower_path, sizeof(lower_path), "/proc/self/fd/%d:", over);
    (void)snprintf(lower_path + upper_n, sizeof(lower_path) - upper_n, "/proc/self/fd/%d", l->lower);
    (void)snprintf(upper_path, sizeof(upper_path), "/proc/self/fd/%d/%s", b->state, upper);
    (void)snprintf(work_path, sizeof(work_path), "/proc/self/fd/%d/%s", b->state, work);
    return box_mount_new("overlay", opt, l->attr, e);
}

int box_plain_dir(struct box *b, const char *what, mode_t mode, unsigned attr, struct err *e)
{
    char name[16];
    int mount;

    do
        (void)snprintf(name, sizeof(name), "%s%u", what, b->n_state++);
    while (mkdirat(b->state, name, mode) < 0 && errno == EEXIST);
    mount = box_mount_clone(b->state, name, false);
    if (mount < 0 || box_mount_set(mount, attr, false) < 0) {
        (void)err_errno(e, "create \"%s\" in \"%.*s\"", name, STR_ARG(b->spec->upper));
        if (mount >= 0)
            close(mount);
        return -1;
    }
    return mount;
}

void box_part(struct box *b, int take_mount)
{
    *vec_push(&b->arena, &b->parts) = take_mount;
}

static int image_overlay(struct box *b, int lower, struct err *e)
{
    const struct box_layer layer = { .lower = lower, .attr = MOUNT_ATTR_NODEV };
    int mount = box_overlay(b, &layer, e);

    if (mount >= 0 || b->has_tmp_state)
        return mount;
    return box_use_tmp_state(b, e) < 0 ? -1 : box_overlay(b, &layer, e);
}

/* Map the container's ids. An overlay needs an attached lower layer, so attach the mapped clone over the image
 * itself; this mount namespace is ours alone. */
static int map_image(const struct box *b, int lower)
{
    int mount = b->spec->id_base ? box_mount_clone(lower, "", false) : -1;

    if (mount >= 0 && (!box_ids_map(b, mount) || box_mount_attach(mount, lower) < 0)) {
        close(mount);
        return -1;
    }
    return mount;
}

static int root_image(struct box *b, struct err *e)
{
    autoclose int lower = open(arena_cstr(&b->arena, b->spec->root), O_PATH | O_DIRECTORY | O_CLOEXEC), mapped = -1;
    int mount = -1;

    if (lower < 0)
        return err_errno(e, "image directory \"%.*s\"", STR_ARG(b->spec->root));
    mapped = map_image(b, lower);
    if (mapped >= 0)
        mount = image_overlay(b, mapped, e);
    if (mount < 0)
        mount = image_overlay(b, lower, e);
    if (mount < 0)
        return err_wrap(e, "image directory \"%.*s\"", STR_ARG(b->spec->root));
    b->root = mount;
    box_part(b, mount);
    return box_mount_attach(mount, b->state) < 0 ? err_errno(e, "attach the root file system") : 0;
}

int box_root_make(struct box *b, struct err *e)
{
    b->over = -1;
    /* Mounts must not propagate out of this namespace, nor into it. */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return err_errno(e, "make mounts private");
    if (open_state(b, e) < 0)
        return -1;
    return b->spec->root.n ? root_image(b, e) : box_root_host(b, e);
}

/* ---- protect and enter ---- */

int box_root_protect(struct box *b, struct err *e)
{
    if (!b->spec->is_root_read_only)
        return 0;
    VEC_FOREACH(part, &b->parts)
        if (box_mount_set(*part, MOUNT_ATTR_RDONLY, false) < 0)
            return err_errno(e, "make the root read-only");
    return 0;
}

int box_enter(struct box *b, struct err *e)
{
    if (fchdir(b->root) < 0)
        return err_errno(e, "chdir to the root");
    /* The old root ends up mounted over the new one, where it can be unmounted without a directory of its own. */
    if (syscall(SYS_pivot_root, ".", ".") < 0)
        return err_errno(e, "pivot_root");
    if (umount2(".", MNT_DETACH) < 0)
        return err_errno(e, "detach the host's root");
    if (fchdir(b->cwd) < 0)
        return err_errno(e, "chdir to \"%.*s\"", STR_ARG(b->spec->cwd));
    return 0;
}
