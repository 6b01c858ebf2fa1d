/* host.h - what this host can do for pods, what is missing, and the command that fixes it
 *
 * `pumice doctor` prints the list; `pumice run` stops with the first line that makes it impossible. Checks really try: they make a
 * namespace, mount an overlay, create a group, and undo it, in a child process of their own.
 */
#ifndef NODE_HOST_H
#define NODE_HOST_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>

enum host_verdict { HOST_FINE, HOST_LIMITED, HOST_IMPOSSIBLE, HOST_VERDICT_MAX };

struct host_check {
    const char *
        name; /* "user namespaces", "overlay", "cgroups", "network", "way out", "nft", "uid range", "ssh server", "GPUs" … */
    enum host_verdict verdict;
    struct str says; /* "v2: cpu, memory, pids" · "no memory limits: …" */
    struct str fix;  /* "apt-get install uidmap"; empty: nothing to do or nothing can be done */
};

struct host_checks {
    VEC(struct host_check) list;
};

/* All checks, in the order in which a pod needs them; as the present user. Some 100 ms. */
void host_examine(struct arena *a, struct host_checks *ret);

/* Only what makes pods impossible, quickly (a few ms); -1 with one clear sentence that ends with what to do. */
int host_require(struct err *e);

#endif
