/* volume_internal.h - what the volume_*.c files share
 *
 * volume.c          the set: make, update, own, free; the table of kinds
 * volume_config.c   which files a configMap, secret, downwardAPI or projected volume has       pure
 * volume_files.c    those files on disk, replaced in one step
 * volume_dir.c      emptyDir and claims
 * volume_host.c     hostPath
 * volume_mount.c    the volumeMounts of a container
 * volume_path.c     paths from outside                                                       pure
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
    int fd; /* O_PATH: its root, or the file of a hostPath; -1: not made yet */
    bool is_read_only, is_file;
    bool lacks_optional; /* an optional object or key was not there */
};

struct volume_held { /* what volumes_mounts() opened for one container */
    struct str container;
    int *fds;
    size_t n;
};

struct volume_set {
    struct arena arena; /* names */
    struct str dir;
    int dir_fd;             /* O_PATH, as all fds here */
    int config_fd, data_fd; /* -1: no volume needed it yet */
    VEC(struct volume) volumes;
    VEC(struct volume_held) held;
    bool may_mount, has_fs_group;
    bool made_dir, is_taken_over; /* 'dir' was made by us; it had volumes already */
    gid_t fs_group;
    struct volume_user { /* HOST_USER_ANNOTATION (api/pod/security.h) */
        bool is_given;
        uid_t uid;
        gid_t gid;
    } host_user;
};

struct volume_call { /* one volumes_make() or volumes_update() */
    struct volume_set *set;
    struct arena *arena; /* gone after the call */
    const struct json *pod;
    const struct volume_source *source;
};

struct volume_kind {
    const char *member; /* of the volume: "emptyDir" */
    int (*make)(struct volume_call *c, struct volume *v, const struct json *spec, struct err *e);
    bool is_config; /* made of files we write; make() again brings it up to date */
    bool is_host;
};

/* ---- volume.c ---- */

struct volume *volume_find(const struct volume_set *s, struct str name); /* NULL: no such volume */

/* The parent of config and emptyDir volumes, made when first needed. */
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
/* From here to fs_user_end() as the one whose host paths they are. */
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

enum { VOLUME_FILES_MAX_BYTES = 32 << 20 }; /* of one volume; an object of the API has about 1 MiB at most */

/* What the volume of that kind should hold: sorted by path, no path twice (the later file wins), no file that another
 * one needs as a directory. */
int volume_files_of(const struct volume_call *c, const char *member, const struct json *spec, struct volume_files *ret,
                    struct err *e);

/* ---- volume_files.c ---- */

struct volume_owner { /* fsGroup */
    bool has_group;
    gid_t group;
};

/* Bring the volume below 'root' (a directory only we write to) to these files in one step. */
int volume_files_write(int root, const struct volume_files *files, struct volume_owner owner, struct err *e);

/* The directory that holds the files now (O_PATH). */
int volume_files_open(int root, int *ret_fd, struct err *e);

/* ---- volume_path.c ---- */

/* A relative path from outside without empty and "." parts. ERR_INVALID: absolute, a ".." part, a NUL, nothing left,
 * too long. The result ends with a NUL. */
int volume_path_clean(struct arena *a, struct str path, struct str *ret, struct err *e);

/* Where a mount goes: absolute, ".." taken away with the part before it, as container runtimes read it. */
int volume_target_clean(struct arena *a, struct str path, struct str *ret, struct err *e);

/* By bytes, with '/' before everything else: what is below a path follows it directly. */
int volume_path_cmp(struct str x, struct str y);

#endif
