/* oci_internal.h - what the oci*.c files share
 *
 * oci.c         a container's life
 * oci_call.c    the runtime as a program: finding it, calling it within a time limit, its own words when it fails
 * oci_config.c  config.json
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
    const struct oci_kind *kind; /* by oci_kind() */
    bool has_asked;
    const char *id, *rootfs, *state, *log, *pid_file, *pids, *dev;
};

/* What we know of a runtime by its name. */
struct oci_kind {
    const char *name, *flag; /* the flag makes it leave groups alone, where it can */
    bool hates_hybrid;       /* refuses hosts with both kinds of groups, even with the flag */
    bool tries_groups;       /* makes its own groups, unless it cannot */
};
const struct oci_kind *oci_kind(struct oci_run *r); /* never NULL; a stranger has no name */

void oci_run_init(struct oci_run *r, const struct oci_place *p);
struct str oci_file_read(struct arena *a, const char *path); /* its beginning; empty: not there */

/* runtime <flags> <verb …>: 'verb' ends with NULL. 0, or -1 with what it said. 'is_quiet': without our streams. */
int oci_call(struct oci_run *r, const char *const *verb, bool is_quiet, int ms, struct err *e);

#endif
