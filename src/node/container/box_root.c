/* box_root.c - the root of a container: an overlay, and the step into it
 *
 * The new root is attached over the container's own state directory: a place in the mount namespace nobody else looks
 * at. What lies in that directory is used by descriptor from then on, which sees below the mount.
 */
#include "node/container/box_internal.h"
#include "node/container/host_layer.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

/* ---- where changes go ---- */

int box_use_tmp_state(struct box *b, struct err *e)
{
    static const struct box_option opt[] = { { "mode", "0700" }, { 0 } };
    int mount = box_mount_new("tmpfs", opt, MOUNT_ATTR_NODEV, e);

    if (mount < 0)
        return err_wrap(e, "directory for changes");
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
        return err_set(e, ERR_INVALID, "there is no directory for the container's changes");
    b->state = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (b->state < 0 && errno == ENOENT) { /* mostly it is there, and to ask by mkdir() is to wait for those who do */
        if (mkdir(dir, 0700) < 0 && errno != EEXIST)
            return err_errno(e, "make %s", dir);
        b->state = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    if (b->state < 0)
        return err_errno(e, "open %s", dir);
    return box_can_hold_changes(b->state) ? 0 : box_use_tmp_state(b, e);
}

/* ---- an overlay ---- */

/* "upper<n>" and "work<n>", both new: a container starts with nothing of an earlier one, and an overlay of ours refuses a
 * second mount of its work directory. "at<n>" says where it lies in the root, unless it is the root. */
static int make_layer_dirs(struct box *b, struct str path, char upper[16], char work[16], struct err *e)
{
    char at[16];

    for (;; b->n_state++) {
        (void)snprintf(upper, 16, "upper%u", b->n_state);
        (void)snprintf(work, 16, "work%u", b->n_state);
        if (mkdirat(b->state, work, 0700) == 0)
            break;
        if (errno != EEXIST)
            return err_errno(e, "make \"%s\" in \"%.*s\"", work, STR_ARG(b->spec->upper));
    }
    (void)snprintf(at, sizeof(at), "at%u", b->n_state++);
    if (mkdirat(b->state, upper, 0755) < 0)
        return err_errno(e, "make \"%s\" in \"%.*s\"", upper, STR_ARG(b->spec->upper));
    if (path.n > 1 && symlinkat(arena_cstr(&b->arena, path), b->state, at) < 0)
        return err_errno(e, "make \"%s\" in \"%.*s\"", at, STR_ARG(b->spec->upper));
    return 0;
}

/* The overlay's top directory has mode and owner of the upper one. An owner from outside our user namespace (it
 * shows as "nobody") cannot be given: root's it is. */
static int copy_top(struct box *b, int lower, const char *upper, struct err *e)
{
    enum { NOBODY = 65534 };
    struct stat st;

    if (fstat(lower, &st) < 0)
        return err_errno(e, "look at the lower layer");
    if (b->is_inner && st.st_uid == NOBODY)
        st.st_uid = 0;
    if (b->is_inner && st.st_gid == NOBODY)
        st.st_gid = 0;
    if ((st.st_uid || st.st_gid) && fchownat(b->state, upper, st.st_uid, st.st_gid, 0) < 0 && !b->is_inner)
        return err_errno(e, "give \"%s\" its owner", upper);
    if ((st.st_mode & 07777) != 0755 && fchmodat(b->state, upper, st.st_mode & 07777, 0) < 0)
        return err_errno(e, "give \"%s\" its mode", upper);
    return 0;
}

/* "/proc/self/fd/5", or "/proc/self/fd/6:/proc/self/fd/5": what comes first lies above. */
static void lower_paths(char *ret, size_t size, int lower, int over)
{
    int n = over < 0 ? 0 : snprintf(ret, size, "/proc/self/fd/%d:", over);

    (void)snprintf(ret + n, size - (size_t)n, "/proc/self/fd/%d", lower);
}

static int open_over(const struct box *b, struct str path)
{
    return b->over < 0 || path.n == 0 ? -1 : path_open_in(b->over, path, O_PATH | O_DIRECTORY);
}

mode_t box_over_look(const struct box *b, struct str path)
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

int box_overlay(struct box *b, int lower, struct str path, bool has_over, unsigned attr, struct err *e)
{
    autoclose int over = has_over ? open_over(b, path) : -1;
    char upper[16], work[16], lower_path[80], upper_path[64], work_path[64];
    struct box_option opt[10] = {
        { "source", "pumice" },
        { "lowerdir", lower_path }, /* by descriptor: a path may hold ":", and may have been mounted over */
        { "upperdir", upper_path },
        { "workdir", work_path },
        { "volatile", NULL }, /* it is thrown away: nothing needs to reach the disk */
    };
    size_t n = 5;

    if (b->is_inner) {
        opt[n++].key = "userxattr";
    } else { /* what was changed is above as a whole, for whoever copies it from there; a user's is so anyway */
        opt[n++] = (struct box_option){ "metacopy", "off" };
        opt[n++] = (struct box_option){ "redirect_dir", "off" };
    }
    if (over >= 0) /* it is in memory, and programs are to see one file system all the same */
        opt[n] = (struct box_option){ "xino", "on" };
    if (make_layer_dirs(b, path, upper, work, e) < 0 || copy_top(b, lower, upper, e) < 0)
        return -1;
    lower_paths(lower_path, sizeof(lower_path), lower, over);
    (void)snprintf(upper_path, sizeof(upper_path), "/proc/self/fd/%d/%s", b->state, upper);
    (void)snprintf(work_path, sizeof(work_path), "/proc/self/fd/%d/%s", b->state, work);
    return box_mount_new("overlay", opt, attr, e);
}

int box_plain_dir(struct box *b, const char *what, mode_t mode, unsigned attr, int *ret_mount, struct err *e)
{
    char name[16];
    int mount;

    do
        (void)snprintf(name, sizeof(name), "%s%u", what, b->n_state++);
    while (mkdirat(b->state, name, mode) < 0 && errno == EEXIST);
    mount = box_mount_clone(b->state, name, false);
    if (mount < 0 || box_mount_set(mount, attr, false) < 0) {
        (void)err_errno(e, "directory \"%s\" in \"%.*s\"", name, STR_ARG(b->spec->upper));
        if (mount >= 0)
            close(mount);
        return -1;
    }
    *ret_mount = mount;
    return 0;
}

void box_part(struct box *b, int take_mount)
{
    *vec_push(&b->arena, &b->parts) = take_mount;
}

static int image_overlay(struct box *b, int lower, struct err *e)
{
    int mount = box_overlay(b, lower, STR_NULL, false, MOUNT_ATTR_NODEV, e);

    if (mount >= 0 || b->has_tmp_state)
        return mount;
    return box_use_tmp_state(b, e) < 0 ? -1 : box_overlay(b, lower, STR_NULL, false, MOUNT_ATTR_NODEV, e);
}

/* With the container's ids. An overlay takes only what is attached somewhere, so it is put over the image itself: in our
 * mount namespace, which nobody else sees. */
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
    return box_mount_attach(mount, b->state) < 0 ? err_errno(e, "attach the root") : 0;
}

int box_root_make(struct box *b, struct err *e)
{
    b->over = -1;
    /* Nothing we mount may show outside, nor may what is mounted there later show here. */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return err_errno(e, "make the mounts private");
    if (open_state(b, e) < 0)
        return -1;
    return b->spec->root.n ? root_image(b, e) : box_root_host(b, e);
}

/* ---- ready: protect and enter ---- */

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
        return err_errno(e, "enter the root");
    /* The old root ends up over the new one, at the same place, where it can be taken off without a directory for
     * it. */
    if (syscall(SYS_pivot_root, ".", ".") < 0)
        return err_errno(e, "change the root (pivot_root)");
    if (umount2(".", MNT_DETACH) < 0)
        return err_errno(e, "detach the host's root");
    if (fchdir(b->cwd) < 0)
        return err_errno(e, "chdir to \"%.*s\"", STR_ARG(b->spec->cwd));
    return 0;
}
