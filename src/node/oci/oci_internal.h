/* oci_internal.h - shared by the oci*.c files
 *
 *     oci.c         the life of a container
 *     oci_call.c    calling the runtime: finding it, time limits, its error messages
 *     oci_config.c  config.json
 */
#ifndef NODE_OCI_INTERNAL_H
#define NODE_OCI_INTERNAL_H

#include "node/oci/oci.h"

#include <sys/types.h>

struct oci_kind;
struct oci_run { /* one container; paths in its bundle */
    const struct box_spec *spec;
    const struct oci_place *place;
    int report;
    struct arena arena;
    const struct oci_kind *kind; /* set by oci_kind() */
    bool has_asked;
    const char *id, *rootfs, *state, *log, *pid_file, *pids, *dev;
};

/* Properties of a known runtime. */
struct oci_kind {
    const char *name, *flag; /* 'flag' makes it leave cgroups alone, where it can */
    bool hates_hybrid;       /* refuses hosts with hybrid cgroups, even with the flag */
    bool tries_groups;       /* creates its own cgroups unless it fails to */
};
const struct oci_kind *oci_kind(struct oci_run *r); /* never NULL; an unknown runtime has no name */

void oci_run_init(struct oci_run *r, const struct oci_place *p);
struct str oci_file_read(struct arena *a, const char *path); /* the start of a file; empty: missing */

/* Run "runtime <flags> <verb …>"; 'verb' ends with NULL. 0, or -1 with its error message. 'is_quiet': without our
 * standard streams. */
int oci_call(struct oci_run *r, const char *const *verb, bool is_quiet, int ms, struct err *e);

#endif
