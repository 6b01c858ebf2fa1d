/* oci.h - containers through an OCI runtime (runc, crun) instead of box.h
 *
 * The same box_spec, the same report. oci_run() is called where box_run() is (but not in a new pid or mount namespace): it writes a
 * bundle, joins the pod's namespaces by path, and runs "RUNTIME run"; the runtime's process takes signals and gives the status.
 */
#ifndef NODE_OCI_H
#define NODE_OCI_H

#include "node/box.h"

struct oci_place {
    const char *runtime; /* path of the program */
    const char *id;      /* of the container: unique on this machine */
    const char *bundle;  /* directory of its own, made and left to the caller to delete */
    const char *group;   /* cgroupsPath; NULL: stay in the caller's group */
};

/* config.json of the runtime specification for this container; pure. Mounts are bound from 'mount_paths' ("/proc/self/fd/N"). */
void oci_config(struct buf *out, const struct box_spec *s, const struct oci_place *p, const char *rootfs,
                const char *const *mount_paths);

_Noreturn void oci_run(const struct box_spec *s, const struct oci_place *p, int report);
_Noreturn void oci_exec(const struct box_spec *s, const struct oci_place *p); /* as box_exec */

/* "runc", "crun" or a path: the full path. ERR_NOT_FOUND with what to install; ERR_INVALID: it does not work here (it is asked for its
 * version). */
int oci_find(struct arena *a, const char *name, const char **ret, struct err *e);

#endif
