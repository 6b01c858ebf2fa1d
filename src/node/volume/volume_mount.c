/* volume_mount.c - the volumeMounts of a container */
#include "node/volume/volume_internal.h"

#include "node/env/vars.h"

#include <errno.h>
#include <sys/stat.h>

/* ---- descriptors of a container ---- */

static struct volume_held *held_of(struct volume_set *s, struct str container)
{
    struct volume_held *held;

    VEC_FOREACH(h, &s->held)
        if (str_eq(h->container, container))
            return h;
    held = vec_push(&s->arena, &s->held);
    held->container = arena_str(&s->arena, container);
    return held;
}

static void volume_mount_held_done(struct volume_held *h)
{
    for (size_t i = 0; i < h->n; i++)
        close(h->fds[i]);
    free(h->fds);
    h->fds = NULL;
    h->n = 0;
}

/* ---- subPath ---- */

/* The value of subPath, or of subPathExpr after expansion; empty: the whole volume. */
static int sub_path_text(const struct json *mount, const struct vars *env, struct str *ret, struct err *e)
{
    struct str plain = json_member_text(mount, "subPath"), expr = json_member_text(mount, "subPathExpr"), missing;

    if (plain.n && expr.n)
        return err_set(e, ERR_INVALID, "subPath and subPathExpr cannot both be set");
    *ret = plain;
    if (expr.n == 0)
        return 0;
    if (vars_expand(env, expr, ret, &missing, e) < 0)
        return err_wrap(e, "subPathExpr");
    if (missing.p)
        return err_set(e, ERR_INVALID, "subPathExpr \"%.*s\": the container has no variable \"%.*s\"", STR_ARG(expr),
                       STR_ARG(missing));
    if (ret->n == 0)
        return err_set(e, ERR_INVALID, "subPathExpr \"%.*s\" expands to an empty path", STR_ARG(expr));
    return 0;
}

/* Create the missing directories; follows links that stay in the volume. */
static int make_missing(int volume, struct str path, mode_t mode, int *ret_fd, struct err *e)
{
    struct make_below how = { .root = volume, .resolve = RESOLVE_BENEATH, .mode = mode };

    if (make_dirs_below(&how, path, ret_fd, e) == 0)
        return 0;
    return errno == EXDEV ? err_set(e, ERR_FORBIDDEN, "\"%.*s\" leads out of the volume", STR_ARG(path)) : -1;
}

/* Open a file of a configMap or similar volume. Only we write there, so there are no links. */
static int open_config(const struct volume *v, struct str path, int *ret_fd, struct err *e)
{
    autoclose int dir = -1;
    int fd;

    if (volume_files_open(v->fd, &dir, e) < 0)
        return -1;
    fd = path_open_below(dir, path.p, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
    if (fd < 0 && errno == ENOENT && v->lacks_optional) /* optional: an empty directory instead, as in Kubernetes */
        return make_missing(dir, path, 0755, ret_fd, e);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return err_set(e, ERR_NOT_FOUND, "the volume has no file \"%.*s\"", STR_ARG(path));
    if (fd < 0)
        return io_errno(e, "open \"%.*s\"", STR_ARG(path));
    *ret_fd = fd;
    return 0;
}

/* Open a path in a volume that containers write to. If missing it is created as a directory with the mode of the
 * volume. */
static int open_in_volume(const struct volume *v, struct str path, int *ret_fd, struct err *e)
{
    int fd = path_open_below(v->fd, path.p, O_PATH, 0);
    struct stat st;

    if (fd < 0 && errno == ENOENT && !v->is_read_only) {
        if (fstat(v->fd, &st) < 0)
            return io_errno(e, "stat the volume");
        return make_missing(v->fd, path, st.st_mode & 07777, ret_fd, e);
    }
    if (fd < 0 && errno == EXDEV)
        return err_set(e, ERR_FORBIDDEN, "\"%.*s\" leads out of the volume", STR_ARG(path));
    if (fd < 0 && errno == ENOENT)
        return err_set(e, ERR_NOT_FOUND, "\"%.*s\" does not exist and the volume is read-only", STR_ARG(path));
    if (fd < 0)
        return io_errno(e, "open \"%.*s\"", STR_ARG(path));
    *ret_fd = fd;
    return 0;
}

static int open_in_host(const struct volume_set *s, const struct volume *v, struct str path, int *ret_fd, struct err *e)
{
    struct fs_user as;
    int rc;

    if (volume_host_begin(s, &as, e) < 0)
        return -1;
    rc = open_in_volume(v, path, ret_fd, e);
    fs_user_end(&as);
    return rc;
}

/* For whom mounts are read: a container. */
struct mount_reader {
    struct volume_set *set;
    const struct vars *env;
    struct volume_held *held;
};

static int open_sub_path(const struct mount_reader *r, const struct volume *v, struct str text, int *ret_fd,
                         struct err *e)
{
    struct str path;
    int rc;

    if (volume_path_clean(r->env->arena, text, &path, e) < 0)
        return err_wrap(e, "subPath");
    if (v->kind->is_host)
        rc = open_in_host(r->set, v, path, ret_fd, e);
    else
        rc = (v->kind->is_config ? open_config : open_in_volume)(v, path, ret_fd, e);
    return rc < 0 ? err_wrap(e, "subPath") : 0;
}

/* ---- mounts ---- */

static int read_mount(const struct mount_reader *r, const struct volume *v, const struct json *mount,
                      struct volume_mount *ret, struct err *e)
{
    struct str propagation = json_member_text(mount, "mountPropagation"), sub;
    struct stat st;

    if (volume_target_clean(r->env->arena, json_member_text(mount, "mountPath"), &ret->target, e) < 0)
        return -1;
    if (str_is(propagation, "Bidirectional"))
        return err_set(e, ERR_INVALID, "mountPropagation Bidirectional is not supported on this node");
    if (sub_path_text(mount, r->env, &sub, e) < 0)
        return -1;
    ret->fd = v->fd;
    ret->is_file = v->is_file;
    ret->is_read_only = v->is_read_only || json_bool(json_get(mount, "readOnly"), false);
    ret->is_recursive_host = v->kind->is_host && str_is(propagation, "HostToContainer");
    if (sub.n == 0)
        return 0;
    if (open_sub_path(r, v, sub, &ret->fd, e) < 0)
        return -1;
    r->held->fds = xrealloc(r->held->fds, (r->held->n + 1) * sizeof(*r->held->fds));
    r->held->fds[r->held->n++] = ret->fd;
    if (fstat(ret->fd, &st) < 0)
        return io_errno(e, "stat subPath");
    ret->is_file = !S_ISDIR(st.st_mode);
    return 0;
}

static int target_cmp(const void *x, const void *y)
{
    return volume_path_cmp(((const struct volume_mount *)x)->target, ((const struct volume_mount *)y)->target);
}

static int sort_mounts(struct volume_mount *mounts, size_t n, struct err *e)
{
    if (n)
        qsort(mounts, n, sizeof(*mounts), target_cmp);
    for (size_t i = 1; i < n; i++)
        if (str_eq(mounts[i - 1].target, mounts[i].target))
            return err_set(e, ERR_INVALID, "two volumes are mounted at \"%.*s\"", STR_ARG(mounts[i].target));
    return 0;
}

static int read_mounts(const struct mount_reader *r, const struct json *list, struct volume_mount *mounts,
                       struct err *e)
{
    size_t i = 0;

    JSON_FOREACH(mount, list) {
        struct str name = json_member_text(mount, "name");
        const struct volume *v = volume_find(r->set, name);

        if (!v)
            return err_set(e, ERR_INVALID, "volumeMounts[%zu]: the pod has no volume \"%.*s\"", i, STR_ARG(name));
        if (read_mount(r, v, mount, &mounts[i], e) < 0)
            return err_wrap(e, "volume \"%.*s\"", STR_ARG(name));
        i++;
    }
    return sort_mounts(mounts, i, e);
}

int volumes_mounts(struct volume_set *s, const struct json *container, const struct vars *env,
                   struct volume_mounts *ret, struct err *e)
{
    const struct json *list = json_get(container, "volumeMounts");
    struct str name = json_member_text(container, "name");
    struct volume_mount *mounts = arena_array(env->arena, struct volume_mount, json_count(list));
    struct volume_held *held = held_of(s, name);

    volume_mount_held_done(held);
    if (json_count(json_get(container, "volumeDevices")))
        return err_set(e, ERR_INVALID, "container \"%.*s\": volumeDevices are not supported on this node",
                       STR_ARG(name));
    if (read_mounts(&(struct mount_reader){ s, env, held }, list, mounts, e) < 0) {
        volume_mount_held_done(held);
        return err_wrap(e, "container \"%.*s\"", STR_ARG(name));
    }
    *ret = (struct volume_mounts){ mounts, json_count(list) };
    return 0;
}

void volume_held_free(struct volume_set *s)
{
    VEC_FOREACH(h, &s->held)
        volume_mount_held_done(h);
}
