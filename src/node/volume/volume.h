/* volume.h - the volumes of a pod: configMap, secret, emptyDir, hostPath, downwardAPI, projected, claims
 *
 * Volumes are created below one directory of the pod before its containers start; containers get them as bind mounts.
 * Nothing of ours is resolved by path twice: directories are held open, and everything below them is opened with
 * openat2(RESOLVE_BENEATH). So a symbolic link planted by a container cannot redirect our writes, and a subPath
 * cannot leave its volume. Where only we write (the directories around the volumes, the files of a configMap) no
 * symbolic links are followed at all (RESOLVE_NO_SYMLINKS); inside an emptyDir, a claim or a host path a subPath may
 * follow links that stay inside, as in Kubernetes.
 *
 *     DIR/config/<volume>/    configMap, secret, downwardAPI, projected: a tmpfs of the pod, never swapped if the
 *                             kernel supports that, and removed with the pod
 *     DIR/data/<volume>/      emptyDir; with medium Memory a tmpfs of its own, always with a size limit
 *
 * Both are closed to other users of the host (0700): containers reach their volumes by mounts, not by path.
 *
 * configMap, secret, downwardAPI and projected are updated as in Kubernetes: a new directory, then one rename of the
 * "..data" link, so a reader sees the old files or the new ones, never a mixture. The old files are deleted at once:
 * a reader that was about to open them gets ENOENT and tries again. subPath mounts are not updated.
 */
#ifndef NODE_VOLUME_H
#define NODE_VOLUME_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "json/json.h"

#include <stdbool.h>
#include <sys/types.h>

/* What the pod needs from outside. A zeroed struct is valid: nothing exists, nothing is allowed. */
struct volume_source {
    void *ctx;
    /* Find a ConfigMap, Secret or PersistentVolumeClaim in the pod's namespace; borrowed for the call; NULL: not
     * found. */
    const struct json *(*find)(void *ctx, const char *kind, struct str name);
    /* Append a token of the pod's service account to 'out'; 'audience' may be empty. NULL: no tokens here; a volume
     * that needs one is refused. */
    int (*token)(void *ctx, struct str audience, int64_t expiration_s, struct buf *out, struct err *e);
    const struct json *allocatable; /* status.allocatable of the node, for unset limits; or NULL */
    const char *claims_dir;         /* directory for claims: <claims_dir>/<namespace>/<claim>; NULL: none */
    bool allows_host_path;
    bool may_mount; /* use tmpfs where this page says so; else plain directories. For volumes_make() */
};

struct volume_mount {  /* one volumeMount of a container, ready to mount */
    int fd;            /* the directory or file to bind (O_PATH); owned by the set */
    struct str target; /* in the container: absolute, without ".", ".." and doubled or trailing slashes; never "/" */
    bool is_read_only, is_file;
    bool is_recursive_host; /* hostPath with mountPropagation HostToContainer */
};

struct volume_set;
struct vars; /* node/env/vars.h */

/* Create all volumes of the pod, if it has any, below 'dir' (created if missing, 0755; its parent must exist). A
 * 'dir' of an earlier run is reused: emptyDirs keep their files, the others are updated. A failed first attempt
 * leaves nothing behind.
 *
 * ERR_NOT_FOUND: a required object does not exist (yet): a ConfigMap, Secret or one of its keys, a claim, a host
 * path; the caller retries later. ERR_FORBIDDEN: a host path, where none is allowed; a claim that an ephemeral volume
 * would share. All errors name the volume: "volume \"cfg\": configmap \"x\" not found". */
int volumes_make(const char *dir, const struct json *pod, const struct volume_source *source, struct volume_set **ret,
                 struct err *e);

/* NULL is fine. 'removes': unmount and delete, including 'dir'; claims and host paths stay. If there are many files,
 * some may stay: they are deleted with the pod's directory by the caller. Failures are logged. */
void volumes_free(struct volume_set *v, bool removes);

/* Remove what a program that died left below 'dir'; no error if there is nothing. */
int volumes_sweep(const char *dir, struct err *e);

/* The mounts of one container (by name; init containers too), parents first. 'env' is the environment of the
 * container, for subPathExpr. A missing subPath is created as a directory; in a configMap and similar volumes it is
 * ERR_NOT_FOUND. The descriptors are valid until the next call for a container of the same name, or volumes_free().
 * Clone the mounts (open_tree) before entering another mount namespace: the kernel refuses it afterwards. */
struct volume_mounts {
    struct volume_mount *v; /* in the arena of 'env' */
    size_t n;
};
int volumes_mounts(struct volume_set *s, const struct json *container, const struct vars *env,
                   struct volume_mounts *ret, struct err *e);

/* A ConfigMap, Secret or the pod itself changed: update the files. A volume that fails keeps its old files; the
 * others are updated, and the first error is returned. */
int volumes_update(struct volume_set *v, const struct json *pod, const struct volume_source *source, struct err *e);

/* fsGroup: make emptyDirs and claims readable and writable for the group, other volumes readable. Host paths are
 * unchanged. Call it before containers start. Files of volumes_update() follow spec.securityContext.fsGroup. */
int volumes_own(struct volume_set *v, gid_t fs_group, struct err *e);

#endif
