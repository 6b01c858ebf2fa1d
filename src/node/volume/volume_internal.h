/* volume_internal.h - shared by the volume_*.c files
 *
 *     volume.c          the set: create, update, own, free; the table of kinds
 *     volume_config.c   the files of a configMap, secret, downwardAPI or projected volume          pure
 *     volume_files.c    writing those files to disk, replaced in one step
 *     volume_dir.c      emptyDir and claims
 *     volume_host.c     hostPath
 *     volume_mount.c    the volumeMounts of a container
 *     volume_path.c     checking paths from outside                                                pure
 */
#ifndef NODE_VOLUME_INTERNAL_H
#define NODE_VOLUME_INTERNAL_H

#include "node/volume/volume.h"

#include "base/util.h"
#include "os/dir.h"
#include "os/fs_user.h"
#include "os/io.h"
#include "os/path.h"
#include "os/tree.h"

#include <fcntl.h>

struct volume_kind;

struct volume {
    struct str name;
    const struct volume_kind *kind;
    int fd; /* O_PATH: its root, or the file of a hostPath; -1: not created yet */
    bool is_read_only, is_file;
    bool lacks_optional; /* an optional object or key was missing */
};

struct volume_held { /* descriptors that volumes_mounts() opened for one container */
    struct str container;
    int *fds;
    size_t n;
};

struct volume_set {
    struct arena arena; /* names */
    struct str dir;
    int dir_fd;             /* O_PATH, like all descriptors here */
    int config_fd, data_fd; /* -1: no volume needed it yet */
    VEC(struct volume) volumes;
    VEC(struct volume_held) held;
    bool may_mount, has_fs_group;
    bool made_dir, is_taken_over; /* we created 'dir'; it had volumes already */
    gid_t fs_group;
    struct volume_user { /* HOST_USER_ANNOTATION (api/pod/security.h) */
        bool is_given;
        uid_t uid;
        gid_t gid;
    } host_user;
};

struct volume_call { /* one call of volumes_make() or volumes_update() */
    struct volume_set *set;
    struct arena *arena; /* freed after the call */
    const struct json *pod;
    const struct volume_source *source;
};

struct volume_kind {
    const char *member; /* of the volume: "emptyDir" */
    int (*make)(struct volume_call *c, struct volume *v, const struct json *spec, struct err *e);
    bool is_config; /* consists of files we write; calling make() again updates it */
    bool is_host;
};

/* ---- volume.c ---- */

struct volume *volume_find(const struct volume_set *s, struct str name); /* NULL: no such volume */

/* The parent directories of config and emptyDir volumes, created on first use. */
int volume_config_root(struct volume_set *s, int *ret_fd, struct err *e);
int volume_data_root(struct volume_set *s, int *ret_fd, struct err *e);

/* Mount a new tmpfs over the directory; '*ret_fd' is its root. size_bytes 0: the kernel's default. */
int volume_mount_tmpfs(int dir_fd, mode_t mode, int64_t size_bytes, int *ret_fd, struct err *e);
bool volume_is_mount(int fd); /* is it the root of a tmpfs? */

/* ---- volume_dir.c, volume_host.c ---- */

int volume_make_empty(struct volume_call *c, struct volume *v, const struct json *spec, struct err *e);
int volume_make_claim(struct volume_call *c, struct volume *v, const struct json *spec, struct err *e);
int volume_make_ephemeral(struct volume_call *c, struct volume *v, const struct json *spec, struct err *e);
int volume_make_host(struct volume_call *c, struct volume *v, const struct json *spec, struct err *e);

int volume_host_user(const struct json *pod, struct volume_user *ret, struct err *e);
/* Act as the user of HOST_USER_ANNOTATION, if given, until fs_user_end(). */
int volume_host_begin(const struct volume_set *s, struct fs_user *ret, struct err *e);

/* ---- volume_mount.c ---- */

void volume_held_free(struct volume_set *s);

/* ---- volume_config.c ---- */

struct volume_file {
    struct str path; /* relative, clean */
    struct str data;
    mode_t mode;
};

struct volume_files {
    struct arena *arena;
    VEC(struct volume_file) list;
    size_t n_bytes;
    bool lacks_optional;
};

enum { VOLUME_FILES_MAX_BYTES = 32 << 20 }; /* of one volume; an API object has at most about 1 MiB */

/* The files that a volume of this kind should have: sorted by path, no duplicates (the later file wins), no file that
 * is also the directory of another. */
int volume_files_of(const struct volume_call *c, const char *member, const struct json *spec, struct volume_files *ret,
                    struct err *e);

/* ---- volume_files.c ---- */

struct volume_owner { /* fsGroup */
    bool has_group;
    gid_t group;
};

/* Replace the files of the volume below 'root' (a directory only we write to) in one step. */
int volume_files_write(int root, const struct volume_files *files, struct volume_owner owner, struct err *e);

/* Open the directory that has the current files (O_PATH). */
int volume_files_open(int root, int *ret_fd, struct err *e);

/* ---- volume_path.c ---- */

/* Clean a relative path: remove empty and "." parts. ERR_INVALID: absolute, a ".." part, a NUL, empty, too long. The
 * result ends with a NUL. */
int volume_path_clean(struct arena *a, struct str path, struct str *ret, struct err *e);

/* Clean a mount path: absolute, with ".." removed together with the part before it, like container runtimes. */
int volume_target_clean(struct arena *a, struct str path, struct str *ret, struct err *e);

/* Compare bytewise, with '/' before all other bytes: paths below a directory follow it directly. */
int volume_path_cmp(struct str x, struct str y);

#endif
