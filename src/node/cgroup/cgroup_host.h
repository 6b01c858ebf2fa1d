/* cgroup_host.h - what the texts of /proc say about cgroups: pure functions
 *
 * A host has at most one v2 hierarchy and any number of v1 hierarchies, each with one or more controllers. A container
 * often sees only a part of a hierarchy (the "root" of the mount), and its own group may be named from the top of the
 * host. cgroup_host_read() brings mounts and own groups together: where in the file system the group of this process
 * is, for each hierarchy.
 */
#ifndef NODE_CGROUP_HOST_H
#define NODE_CGROUP_HOST_H

#include "base/arena.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum cgroup_ctrl {
    CGROUP_CTRL_CPU = 1,
    CGROUP_CTRL_CPUACCT = 2, /* v1 only; v2 counts always */
    CGROUP_CTRL_MEMORY = 4,
    CGROUP_CTRL_PIDS = 8,
    CGROUP_CTRL_FREEZER = 16, /* v1 only; v2 freezes always */
    CGROUP_CTRL_CPUSET = 32,
};

/* "cpu memory pids" or "cpu,cpuacct" into bits; words we do not use are passed over. */
unsigned cgroup_ctrl_read(struct str words, char sep);
const char *cgroup_ctrl_name(enum cgroup_ctrl ctrl); /* of one bit */

/* One hierarchy as this process sees it. */
struct cgroup_place {
    bool is_v2;
    bool is_readonly;  /* by its mount options; the file system has the last word */
    bool is_reachable; /* our own group is inside what is mounted */
    unsigned ctrls;    /* v1: its controllers. v2: 0, ask cgroup.controllers */
    struct str mount;  /* mount point, NUL at the end */
    struct str own;    /* of our own group below the mount point: "" or "/a/b"; NUL at the end */
};

struct cgroup_host {
    VEC(struct cgroup_place) places; /* v2 first, then v1 in the order of the mounts; one per hierarchy */
};

/* From the texts of /proc/self/mountinfo and /proc/self/cgroup. Lines that make no sense are passed over. Hierarchies
 * without a controller we use (name=systemd, net_cls) are left out. The same hierarchy mounted more than once: a place
 * that can be reached and written to wins, then the first. */
void cgroup_host_read(struct arena *a, struct str mountinfo, struct str self, struct cgroup_host *ret);

/* Where 'own' (as in /proc/self/cgroup) is below a mount that shows 'root' of the hierarchy. False if it is not. */
bool cgroup_host_below(struct str root, struct str own, struct str *ret_rest);

/* The number after 'key' in a file of "key number" lines (cpu.stat, memory.events …); -1 if it is not there. */
int64_t cgroup_host_count(struct str text, const char *key);

#endif
