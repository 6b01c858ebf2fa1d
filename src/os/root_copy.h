/* root_copy.h - files and trees from one root to another
 *
 * One of the two is a container's, so nothing in it is trusted: paths in it are walked by the kernel and never leave it
 * (path.h), links are copied and never followed but at the end of 'from', a file or link that stands in the way of a file is
 * replaced, not written through, and anything else there (a device, a pipe) stays. Only files, directories and links are
 * copied; of modes only the permissions (no set-user-id). Entries that are not copied are reported, and the rest goes on.
 *
 * tree_copy() (tree.h) is for trees that no process writes to, copied into a new directory.
 */
#ifndef OS_ROOT_COPY_H
#define OS_ROOT_COPY_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct root_copy {
    int from_root, to_root; /* descriptors of what is "/" there; AT_FDCWD: the paths are our own */
    bool keeps_links_in;    /* links that lead out of what is copied are left out */
    uid_t owner;            /* of what is made; (uid_t)-1: us */
    gid_t group;
    void *ctx;
    void (*left_out)(void *ctx, struct str path, const char *why); /* below 'from' */
    /* what was done: */
    int64_t n_left_out;
};

/* As `cp -r FROM TO`: where TO is a directory, into it under the name of FROM; where it is a device or a pipe of ours, as
 * /dev/stdout, a file is written to it. -1: nothing could be copied. */
int root_copy(struct root_copy *c, struct str from, struct str to, struct err *e);

#endif
