/* volume.c - the volumes of a pod: create, update, hand over, remove */
#include "node/volume/volume_internal.h"

#include "api/name.h"
#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

enum { VOLUMES_MAX = 1000 };

static const char config_name[] = "config", data_name[] = "data"; /* below the pod's directory */

/* ---- tmpfs ---- */

bool volume_is_mount(int fd)
{
    struct statx sx;
    struct statfs fs;

    return statx(fd, "", AT_EMPTY_PATH, 0, &sx) == 0 && (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT) &&
           fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

static int tmpfs_new(mode_t mode, int64_t size_bytes, int *ret_fd, struct err *e)
{
    autoclose int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
    enum { PAGE = 4096, FILES_MIN = 16384 };
    char mode_text[16], size_text[32], files_text[32];

    (void)snprintf(mode_text, sizeof(mode_text), "%04o", (unsigned)mode);
    (void)snprintf(size_text, sizeof(size_text), "%lld", (long long)size_bytes);
    /* Limit the number of files: empty files use memory that the size does not count. */
    (void)snprintf(files_text, sizeof(files_text), "%lld", MAX_OF((long long)size_bytes / PAGE, (long long)FILES_MIN));
    if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "source", "pumice", 0) < 0 ||
        fsconfig(fs, FSCONFIG_SET_STRING, "mode", mode_text, 0) < 0 ||
        (size_bytes > 0 && (fsconfig(fs, FSCONFIG_SET_STRING, "size", size_text, 0) < 0 ||
                            fsconfig(fs, FSCONFIG_SET_STRING, "nr_inodes", files_text, 0) < 0)))
        return io_errno(e, "set up a tmpfs");
    /* Linux 6.4 or later, and only for root of the host; elsewhere it may be swapped. */
    (void)fsconfig(fs, FSCONFIG_SET_FLAG, "noswap", NULL, 0);
    if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return io_errno(e, "create a tmpfs");
    *ret_fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    return *ret_fd < 0 ? io_errno(e, "create a tmpfs") : 0;
}

int volume_mount_tmpfs(int dir_fd, mode_t mode, int64_t size_bytes, int *ret_fd, struct err *e)
{
    autoclose int fd = -1;

    if (tmpfs_new(mode, size_bytes, &fd, e) < 0)
        return -1;
    if (move_mount(fd, "", dir_fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
        return io_errno(e, "mount a tmpfs");
    *ret_fd = fd;
    fd = -1;
    return 0;
}

/* Unmount the tmpfs at 'name', and one below it if a crash left two. Other mounts are not ours. */
static int unmount_tmpfs(int parent, const char *name, struct err *e)
{
    char path[NAME_MAX + 64];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", parent, name);
    for (int i = 0; i < 16; i++) {
        autoclose int fd = path_open_below(parent, name, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);

        if (fd < 0 || !volume_is_mount(fd))
            return 0;
        if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
            return io_errno(e, "unmount \"%s\"", name);
    }
    return 0;
}

/* ---- the pod's directory ---- */

int volume_config_root(struct volume_set *s, int *ret_fd, struct err *e)
{
    int fd;

    if (s->config_fd < 0 && make_dir_at(s->dir_fd, config_name, 0700, &s->config_fd, e) < 0)
        return -1;
    if (s->may_mount && !volume_is_mount(s->config_fd)) {
        if (volume_mount_tmpfs(s->config_fd, 0700, 0, &fd, e) < 0)
            return -1;
        close(s->config_fd);
        s->config_fd = fd;
    }
    *ret_fd = s->config_fd;
    return 0;
}

int volume_data_root(struct volume_set *s, int *ret_fd, struct err *e)
{
    if (s->data_fd < 0 && make_dir_at(s->dir_fd, data_name, 0700, &s->data_fd, e) < 0)
        return -1;
    *ret_fd = s->data_fd;
    return 0;
}

static bool has_entry(int dir, const char *name)
{
    return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int volume_open_dir(struct volume_set *s, struct err *e)
{
    s->made_dir = mkdir(s->dir.p, 0755) == 0;
    if (!s->made_dir && errno != EEXIST)
        return io_errno(e, "create %s", s->dir.p);
    if (s->made_dir && chmod(s->dir.p, 0755) < 0)
        return io_errno(e, "set the mode of %s", s->dir.p);
    s->dir_fd = open(s->dir.p, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (s->dir_fd < 0)
        return io_errno(e, "open %s", s->dir.p);
    s->is_taken_over = has_entry(s->dir_fd, config_name) || has_entry(s->dir_fd, data_name);
    return 0;
}

enum { VOLUME_REMOVED_MAX = 1000 };

/* Delete secrets first and by name: a mount namespace that still holds the tmpfs then holds an empty one. */
static int remove_config(int dir, struct err *e)
{
    autoclose int fd = path_open_below(dir, config_name, O_PATH | O_DIRECTORY | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);

    if (fd < 0)
        return errno == ENOENT ? 0 : io_errno(e, "open \"%s\"", config_name);
    (void)tree_empty(fd, NULL); /* leftovers go with the mount; without a mount tree_remove() below reports them */
    if (unmount_tmpfs(dir, config_name, e) < 0)
        return -1;
    return tree_remove(dir, config_name, e);
}

static int remove_data(int dir, struct err *e)
{
    autodir *d = dir_open(dir, data_name);
    int rc = 0;

    if (!d)
        return errno == ENOENT ? 0 : io_errno(e, "open \"%s\"", data_name);
    for (struct dirent *entry; rc == 0 && (entry = dir_next(d));)
        rc = unmount_tmpfs(dirfd(d), entry->d_name, e);
    if (rc == 0)
        rc = tree_remove_some(dir, data_name, VOLUME_REMOVED_MAX, e);
    return rc < 0 ? -1 : 0; /* leftovers are deleted with the pod's directory */
}

/* Try both, even if the first fails. */
static int remove_volumes(int dir, struct err *e)
{
    struct err second;
    int rc = remove_config(dir, e);

    return remove_data(dir, rc < 0 ? &second : e) < 0 ? -1 : rc;
}

/* 'path' stays if the caller has files of its own in it. */
static int volumes_remove_all(int dir, const char *path, struct err *e)
{
    if (remove_volumes(dir, e) < 0)
        return -1;
    if (rmdir(path) < 0 && errno != ENOTEMPTY && errno != EEXIST && errno != ENOENT)
        return io_errno(e, "remove the directory");
    return 0;
}

int volumes_sweep(const char *dir, struct err *e)
{
    autoclose int fd = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT ? 0 : io_errno(e, "open %s", dir);
    return volumes_remove_all(fd, dir, e) < 0 ? err_wrap(e, "remove the volumes in %s", dir) : 0;
}

/* ---- kinds ---- */

static int make_config(struct volume_call *c, struct volume *v, const struct json *spec, struct err *e)
{
    struct volume_set *s = c->set;
    struct volume_owner owner = { s->has_fs_group, s->fs_group };
    struct volume_files files;
    int parent;

    if (volume_files_of(c, v->kind->member, spec, &files, e) < 0)
        return -1;
    if (v->fd < 0 && (volume_config_root(s, &parent, e) < 0 || make_dir_at(parent, v->name.p, 0755, &v->fd, e) < 0))
        return -1;
    if (owner.has_group && tree_own_fd(v->fd, owner.group, true, e) < 0)
        return -1;
    v->is_read_only = true;
    if (volume_files_write(v->fd, &files, owner, e) < 0)
        return -1;
    v->lacks_optional = files.lacks_optional;
    return 0;
}

static const struct volume_kind kinds[] = {
    { "emptyDir", volume_make_empty }, /* the first is the default of a volume without a source */
    { "hostPath", volume_make_host, .is_host = true },
    { "configMap", make_config, .is_config = true },
    { "secret", make_config, .is_config = true },
    { "downwardAPI", make_config, .is_config = true },
    { "projected", make_config, .is_config = true },
    { "persistentVolumeClaim", volume_make_claim },
    { "ephemeral", volume_make_ephemeral },
};

static const struct volume_kind *volume_find_kind(struct str member)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_is(member, kinds[i].member))
            return &kinds[i];
    return NULL;
}

static int volume_kind_of(const struct json *volume, const struct volume_kind **ret, struct err *e)
{
    const struct volume_kind *kind = NULL;

    JSON_FOREACH(member, volume) {
        if (member->type == JSON_NULL || str_is(json_key(member), "name"))
            continue;
        if (kind)
            return err_set(e, ERR_INVALID, "may not have more than 1 type: has %s and %.*s", kind->member,
                           STR_ARG(json_key(member)));
        kind = volume_find_kind(json_key(member));
        if (!kind)
            return err_set(e, ERR_INVALID, "%.*s volumes are not supported on this node", STR_ARG(json_key(member)));
        if (member->type != JSON_OBJECT)
            return err_set(e, ERR_INVALID, "%s must be an object, not a %s", kind->member,
                           json_type_name(member->type));
    }
    *ret = kind ? kind : &kinds[0];
    return 0;
}

/* ---- the set ---- */

struct volume *volume_find(const struct volume_set *s, struct str name)
{
    VEC_FOREACH(v, &s->volumes)
        if (str_eq(v->name, name))
            return v;
    return NULL;
}

static int volume_make_one(struct volume_call *c, const struct json *volume, struct err *e)
{
    struct str name = json_member_text(volume, "name");
    const char *problem = name_check_dns_label(c->arena, name);
    const struct volume_kind *kind = NULL;
    struct volume *v;

    if (problem)
        return err_set(e, ERR_INVALID, "name: %s", problem);
    if (volume_find(c->set, name))
        return err_set(e, ERR_INVALID, "duplicate name");
    if (volume_kind_of(volume, &kind, e) < 0)
        return -1;
    v = vec_push(&c->set->arena, &c->set->volumes);
    v->name = arena_str(&c->set->arena, name);
    v->kind = kind;
    v->fd = -1;
    return kind->make(c, v, json_get(volume, kind->member), e);
}

static int volumes_make_all(struct volume_call *c, struct err *e)
{
    const struct json *list = json_find(c->pod, "spec", "volumes", NULL);

    if (json_count(list) > VOLUMES_MAX)
        return err_set(e, ERR_TOO_BIG, "spec.volumes: more than %d volumes", VOLUMES_MAX);
    JSON_FOREACH(volume, list)
        if (volume_make_one(c, volume, e) < 0)
            return err_wrap(e, "volume \"%.*s\"", STR_ARG(json_member_text(volume, "name")));
    return 0;
}

static struct volume_set *set_new(const char *dir, const struct json *pod, bool may_mount)
{
    struct volume_set *s = xcalloc(1, sizeof(*s));
    int64_t group = json_i64(json_find(pod, "spec", "securityContext", "fsGroup", NULL), -1);

    s->dir = arena_str(&s->arena, str_of(dir));
    s->dir_fd = s->config_fd = s->data_fd = -1;
    s->may_mount = may_mount;
    s->has_fs_group = group >= 0 && group < UINT32_MAX; /* UINT32_MAX means "no change" to chown() */
    s->fs_group = s->has_fs_group ? (gid_t)group : 0;
    return s;
}

/* A reused directory may belong to a running pod: it stays. */
static void undo_make(struct volume_set *s)
{
    struct err e;

    if (s->dir_fd >= 0 && !s->is_taken_over && !s->made_dir && remove_volumes(s->dir_fd, &e) < 0)
        log_warn("Failed to remove the volumes of a pod", LOG_STR("dir", s->dir), LOG_TEXT("error", e.text));
    volumes_free(s, s->made_dir);
}

int volumes_make(const char *dir, const struct json *pod, const struct volume_source *source, struct volume_set **ret,
                 struct err *e)
{
    autoarena a = { 0 };
    struct volume_set *s = set_new(dir, pod, source->may_mount);
    struct volume_call c = { .set = s, .arena = &a, .pod = pod, .source = source };
    bool has_any = json_count(json_find(pod, "spec", "volumes", NULL)) > 0;

    if (volume_host_user(pod, &s->host_user, e) < 0 || (has_any && volume_open_dir(s, e) < 0) ||
        volumes_make_all(&c, e) < 0) {
        undo_make(s);
        return -1;
    }
    *ret = s;
    return 0;
}

static void volume_close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

void volumes_free(struct volume_set *s, bool removes)
{
    struct err e;

    if (!s)
        return;
    volume_held_free(s);
    VEC_FOREACH(v, &s->volumes)
        volume_close_fd(v->fd);
    volume_close_fd(s->config_fd);
    volume_close_fd(s->data_fd);
    if (removes && s->dir_fd >= 0 && volumes_remove_all(s->dir_fd, s->dir.p, &e) < 0)
        log_warn("Failed to remove the volumes of a pod", LOG_STR("dir", s->dir), LOG_TEXT("error", e.text));
    volume_close_fd(s->dir_fd);
    arena_done(&s->arena);
    free(s);
}

static int update_one(struct volume_call *c, const struct json *volume, struct err *e)
{
    struct str name = json_member_text(volume, "name");
    struct volume *v = volume_find(c->set, name);
    const struct json *spec = v && v->kind->is_config ? json_get(volume, v->kind->member) : NULL;

    if (!spec) /* unknown volume, or nothing to update */
        return 0;
    return v->kind->make(c, v, spec, e) < 0 ? err_wrap(e, "volume \"%.*s\"", STR_ARG(name)) : 0;
}

int volumes_update(struct volume_set *s, const struct json *pod, const struct volume_source *source, struct err *e)
{
    struct err later;
    int rc = 0;

    JSON_FOREACH(volume, json_find(pod, "spec", "volumes", NULL)) {
        autoarena a = { 0 };
        struct volume_call c = { .set = s, .arena = &a, .pod = pod, .source = source };

        if (update_one(&c, volume, rc < 0 ? &later : e) < 0)
            rc = -1;
    }
    return rc;
}

int volumes_own(struct volume_set *s, gid_t fs_group, struct err *e)
{
    s->has_fs_group = true;
    s->fs_group = fs_group;
    VEC_FOREACH(v, &s->volumes) {
        if (v->kind->is_host || (v->is_read_only && !v->kind->is_config))
            continue;
        if (tree_own(v->fd, fs_group, v->is_read_only, e) < 0)
            return err_wrap(e, "volume \"%.*s\": fsGroup", STR_ARG(v->name));
    }
    return 0;
}
