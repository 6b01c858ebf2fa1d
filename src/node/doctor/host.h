/* host.h - checks whether this host can run pods; what is missing, and the command that fixes it
 *
 * `pumice doctor` prints the list; `pumice run` stops at the first check that makes pods impossible. The checks do what a
 * pod needs (create a namespace, mount an overlay, create a cgroup) and undo it, in a child process.
 */
#ifndef NODE_HOST_H
#define NODE_HOST_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>

enum host_verdict { HOST_FINE, HOST_LIMITED, HOST_IMPOSSIBLE, HOST_VERDICT_MAX };

const char *host_verdict_name(enum host_verdict v); /* "fine", "limited", "impossible" */

struct host_check {
    const char *name; /* "kernel", "overlay", "cgroups", "network", "way out", "nftables", "GPUs" … */
    enum host_verdict verdict;
    struct str says;   /* "v2: cpu, memory, pids" · "no memory limits: …" */
    const char *means; /* for jobs, when it is not fine; "" otherwise */
    struct str fix;    /* "apt-get install uidmap"; empty: nothing to do or nothing can be done */
};

struct host_checks {
    VEC(struct host_check) list;
    bool can_run;       /* nothing is impossible */
    struct str summary; /* "pods run here as root" · "pods cannot run here: …" */
};

/* Where runs keep their files unless told otherwise: /var/lib/pumice for root, else below the user's home. Empty: it
 * has none. */
struct str host_state_dir(struct arena *a);

/* All checks, in the order in which a pod needs them; as the present user. Some 100 ms. The file system of
 * 'state_dir' is tried; it need not exist. */
void host_examine(struct arena *a, const char *state_dir, struct host_checks *ret);

/* Only the checks that can make pods impossible: less than a millisecond for root, a few for others. The error ends with
 * what to do. */
int host_require(struct err *e);

#endif
