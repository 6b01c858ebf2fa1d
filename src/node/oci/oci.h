/* oci.h - containers through an OCI runtime (runc, crun) instead of box.h
 *
 * The same box_spec, the same report; the container's changes go to 'upper' too. oci_run() is called where box_run()
 * is, but not in a new pid or mount namespace. It puts the root together with the functions of box.h (overlay, /dev,
 * volumes), writes a bundle, has the runtime create the container in the caller's network, ipc and uts namespaces, and
 * stays as its parent: it passes signals on and reports how the program ended.
 *
 * Process 1 of the container is ours here too (pause.h): the runtime puts the program into the pid namespace that it
 * holds. So SIGTERM ends a program that does not handle it, orphans are reaped, and all that runs ends with oci_run(),
 * however that ends.
 *
 * Groups: the container stays in the caller's, which has the limits. crun can be told so. runc is told to do without
 * groups it may not make, and finds all of them read-only. A runtime we do not know makes its own where it likes, and
 * takes them away when it is told to delete the container; where oci_run() was killed, oci_clean() does that. The
 * runtime itself runs in the caller's group as well, so it needs its share of the limits: runc 8 MiB of memory for a
 * moment.
 */
#ifndef NODE_OCI_H
#define NODE_OCI_H

#include "node/container/box.h"

struct oci_place {
    const char *runtime; /* path of the program */
    const char *id;      /* of the container: unique on this machine; what a runtime does not allow becomes '-' */
    const char *bundle;  /* directory of its own, made here and removed at the end; it has secrets, so not on a disk */
    const char *group;   /* cgroupsPath; NULL: see above */
    int timeout_ms;      /* for the runtime to create or to start the container; 0: two minutes */
};

struct oci_process { /* what box.h finds out in the root */
    uint32_t uid, gid;
    VEC(uint32_t) groups;
    struct str home; /* empty: "/" */
    uint64_t caps;   /* bit n: capability n */
    int oom_score_adj;
    bool has_fixed_groups; /* as box_groups_are_fixed() */
    const char *pids;      /* the pid namespace to join, as a path; NULL: that of the caller */
};

/* config.json of the runtime specification for this container; pure. 'rootfs' has everything mounted but /proc; what
 * is at its /dev is also at "dev" in the bundle. */
void oci_config(struct buf *out, const struct box_spec *s, const struct oci_place *p, const struct oci_process *who,
                const char *rootfs);

_Noreturn void oci_run(const struct box_spec *s, const struct oci_place *p, int report);
_Noreturn void oci_exec(const struct box_spec *s, const struct oci_place *p); /* as box_exec */

/* After oci_run() is gone, however it went: kill and forget what the runtime still knows of, and remove the bundle.
 * Takes some 20 ms, or no time if there is none; some seconds if the runtime hangs. */
void oci_clean(const struct oci_place *p);

/* "runc", "crun" or a path: the full path. ERR_NOT_FOUND with what to install; ERR_INVALID: it does not work here
 * (it is asked for its version). */
int oci_find(struct arena *a, const char *name, const char **ret, struct err *e);

#endif
