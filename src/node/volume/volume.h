/* volume.h - the files of a pod: configMap, secret, emptyDir, hostPath, downwardAPI, projected, claims
 *
 * Volumes are made below one directory of the pod before its containers start; a container then has them bind-mounted.
 * Nothing of ours is resolved by name twice: directories are held open and everything below them is opened with
 * openat2(RESOLVE_BENEATH), so a container that plants a symbolic link cannot make us write elsewhere, and a subPath
 * cannot leave its volume. Where only we write (the directories around the volumes, the files of a configMap) there are
 * no symbolic links to follow at all (RESOLVE_NO_SYMLINKS); inside an emptyDir, a claim or a host path a subPath may go
 * through a link that stays inside, as in Kubernetes.
 *
 *     DIR/config/<volume>/    configMap, secret, downwardAPI, projected: a tmpfs of the pod, never swapped if the
 *                             kernel can do that, and gone with the pod
 *     DIR/data/<volume>/      emptyDir; with medium Memory a tmpfs of its own, never without a size
 *
 * Both are closed to other users of the host (0700): a container reaches its volumes by mounts, not by path.
 *
 * configMap, secret, downwardAPI and projected are replaced as Kubernetes does it: a new directory, then one rename of
 * the "..data" link, so a reader sees the old files or the new ones, never a mixture. The old ones are deleted at
 * once: who was on the way to them meets ENOENT and looks again. subPath mounts do not follow.
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

/* What the pod needs from outside. A zeroed struct is valid: nothing is there, nothing is allowed. */
struct volume_source {
    void *ctx;
    /* ConfigMap, Secret or PersistentVolumeClaim of the pod's namespace; borrowed for the call; NULL: not there. */
    const struct json *(*find)(void *ctx, const char *kind, struct str name);
    /* Append a token of the pod's service account to 'out'; 'audience' may be empty. NULL: there are no tokens here,
     * and a volume that wants one is refused. */
    int (*token)(void *ctx, struct str audience, int64_t expiration_s, struct buf *out, struct err *e);
    const struct json
        *allocatable; /* status.allocatable of the node: limits that a container or a volume does not set; or NULL */
    const char *claims_dir; /* where claims have their directories: <claims_dir>/<namespace>/<claim>; NULL: none */
    bool allows_host_path;
};

struct volume_mount {  /* one volumeMount of a container, ready to be mounted */
    int fd;            /* of the directory or file to bind (O_PATH); owned by the set */
    struct str target; /* in the container: absolute, without ".", ".." and doubled or trailing slashes; never "/" */
    bool is_read_only, is_file;
    bool is_recursive_host; /* hostPath with mountPropagation HostToContainer */
};

struct volume_set;
struct vars; /* expand.h */

/* Make all volumes of the pod, if it has any, below 'dir' (made if need be, 0755; its parent must be there).
 * 'may_mount': tmpfs is used where this page says so; else plain directories. A 'dir' from an earlier life is taken
 * over: emptyDirs keep their files, the others are brought up to date. A first try that fails leaves nothing behind.
 *
 * ERR_NOT_FOUND: something the pod waits for is not there (yet) and not optional: a ConfigMap, Secret or one of its
 * keys, a claim, a host path; the caller tries again later. ERR_FORBIDDEN: a host path, where none is allowed; a
 * claim that an ephemeral volume would share. All errors name the volume:
 * "volume \"cfg\": configmap \"x\" not found". */
int volumes_make(const char *dir, const struct json *pod, const struct volume_source *source, bool may_mount,
                 struct volume_set **ret, struct err *e);

/* NULL is fine. removes: unmount and delete, 'dir' too; claims and host paths stay. Of many files some may stay: they go
 * with the pod's directory, which the caller deletes. What cannot be deleted is logged. */
void volumes_free(struct volume_set *v, bool removes);

/* The same for what a program that died left below 'dir'. Fine if there is nothing. */
int volumes_sweep(const char *dir, struct err *e);

/* The mounts of one container (by name; init containers too), in an order in which parents come first.
 * 'env' is the environment of the container, for subPathExpr.
 * A subPath that is not there is made as a directory; in a configMap and its like it is ERR_NOT_FOUND.
 * The fds are good until the next call for a container of the same name, or volumes_free(). Clone the mounts
 * (open_tree) before entering another mount namespace: the kernel refuses it afterwards. */
int volumes_mounts(struct volume_set *v, struct arena *a, const struct json *container, const struct vars *env,
                   struct volume_mount **ret, size_t *ret_n, struct err *e);

/* A ConfigMap, Secret or the pod itself changed: bring the files up to date. A volume that cannot be made anew keeps
 * its old files; the others are still done, and the first error is returned. */
int volumes_update(struct volume_set *v, const struct json *pod, const struct volume_source *source, struct err *e);

/* fsGroup: emptyDirs and claims become readable and writable for the group, the others readable. Host paths stay as
 * they are. Call it before the containers start. Files made by volumes_update() follow spec.securityContext.fsGroup. */
int volumes_own(struct volume_set *v, gid_t fs_group, struct err *e);

#endif
