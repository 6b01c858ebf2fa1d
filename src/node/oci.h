/* oci.h - containers through an OCI runtime (runc, crun) instead of box.h
 *
 * The same box_spec, the same report. oci_run() is called where box_run() is, but not in a new pid or mount namespace. It puts the root
 * together with the functions of box.h (overlay, /dev, volumes), writes a bundle, has the runtime create the container in the
 * caller's network, ipc and uts namespaces, and stays as its parent: it passes signals on and reports how the program ended.
 *
 * What differs from box.h: the program itself is process 1. SIGTERM does nothing to one that does not handle it (until
 * SIGKILL after the grace period), and orphans are its to reap, as in other container runtimes.
 *
 * Groups: crun leaves the container in the caller's. runc cannot; it makes a group of its own below the caller's, in every
 * hierarchy, and takes it away at the end. Where oci_run() was killed, oci_clean() does that.
 */
#ifndef NODE_OCI_H
#define NODE_OCI_H

#include "node/box.h"

struct oci_place {
    const char *runtime; /* path of the program */
    const char *id;      /* of the container: unique on this machine; what a runtime does not allow becomes '-' */
    const char
        *bundle; /* directory of its own, made and left to the caller to delete; also holds the container's changes */
    const char *group; /* cgroupsPath; NULL: see above */
};

struct oci_process { /* what box.h finds out in the root */
    uint32_t uid, gid;
    VEC(uint32_t) groups;
    struct str home; /* empty: "/" */
    uint64_t caps;   /* bit n: capability n */
};

/* config.json of the runtime specification for this container; pure. 'rootfs' has everything mounted but /proc. */
void oci_config(struct buf *out, const struct box_spec *s, const struct oci_place *p, const struct oci_process *who,
                const char *rootfs);

_Noreturn void oci_run(const struct box_spec *s, const struct oci_place *p, int report);
_Noreturn void oci_exec(const struct box_spec *s, const struct oci_place *p); /* as box_exec */

/* After oci_run() is gone, however it went: kill and forget what the runtime still knows of. Takes some 20 ms. */
void oci_clean(const struct oci_place *p);

/* "runc", "crun" or a path: the full path. ERR_NOT_FOUND with what to install; ERR_INVALID: it does not work here (it is asked for its
 * version). */
int oci_find(struct arena *a, const char *name, const char **ret, struct err *e);

#endif
