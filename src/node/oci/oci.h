/* oci.h - containers through an OCI runtime (runc, crun) instead of box.h
 *
 * Same box_spec, same reports; the container's changes go to 'upper' too. oci_run() is called where box_run() would
 * be, but not in a new pid or mount namespace. It builds the root with the functions of box.h (overlay, /dev,
 * volumes), writes a bundle, has the runtime create the container in the caller's network, ipc and uts namespaces,
 * and stays as its parent: it forwards signals and reports how the program ended.
 *
 * Process 1 of the container is ours here too (pause.h): the runtime puts the program into the pid namespace that it
 * holds. So SIGTERM ends a program that does not handle it, orphans are reaped, and everything ends with oci_run(),
 * however that ends.
 *
 * Cgroups: the container stays in the caller's cgroup, which has the limits. crun has a flag for this. runc gets
 * read-only cgroups and a flag to ignore those it cannot create. An unknown runtime creates cgroups of its own and
 * removes them when it deletes the container; if oci_run() was killed, oci_clean() calls it. The runtime itself also
 * runs in the caller's cgroup, so it needs its share of the limits: runc 8 MiB of memory for a moment.
 */
#ifndef NODE_OCI_H
#define NODE_OCI_H

#include "node/container/box.h"

struct oci_place {
    const char *runtime; /* path of the runtime's program */
    const char *id;      /* container id, unique on this machine; invalid characters become '-' */
    const char
        *bundle; /* a directory for this container, created and removed here; it contains secrets: not on a disk */
    const char *group; /* cgroupsPath; NULL: the caller's cgroup, see above */
    int timeout_ms;    /* limit for the runtime to create or start the container; 0: two minutes */
};

struct oci_process { /* what box.h has looked up in the root */
    uint32_t uid, gid;
    VEC(uint32_t) groups;
    struct str home; /* empty: "/" */
    uint64_t caps;   /* bit n: capability n */
    int oom_score_adj;
    bool has_fixed_groups; /* see box_groups_are_fixed() */
    const char *pids;      /* path of the pid namespace to join; NULL: that of the caller */
};

/* Write config.json of the OCI runtime specification; pure. 'rootfs' has all mounts but /proc; its /dev is also at
 * "dev" in the bundle. */
void oci_config(struct buf *out, const struct box_spec *s, const struct oci_place *p, const struct oci_process *who,
                const char *rootfs);

_Noreturn void oci_run(const struct box_spec *s, const struct oci_place *p, int report);
_Noreturn void oci_exec(const struct box_spec *s, const struct oci_place *p); /* like box_exec() */

/* After oci_run() has ended in any way: have the runtime delete the container if it still knows it, and remove the
 * bundle. Takes some 20 ms if it does; seconds if the runtime hangs. */
void oci_clean(const struct oci_place *p);

/* Find "runc", "crun" or a path: returns the full path. ERR_NOT_FOUND with the package to install; ERR_INVALID:
 * calling it for its version failed. */
int oci_find(struct arena *a, const char *name, const char **ret, struct err *e);

#endif
