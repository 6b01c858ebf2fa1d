/* cgroup.h - limits and counts of pods: cgroup v2, v1, hybrid, or none
 *
 * Groups form a small tree below one group of ours: <ours>/<pod>/<container>. A controller that the host lacks is not an
 * error: cgroups_can() leaves it out, and the node reports it in its conditions. Removing a group kills what runs in it.
 * Nothing of ours is left after cgroups_close(…, true).
 *
 * A group holds either processes or groups with limits, on every host: put what belongs to the whole pod into a group of
 * its own ("pod/sandbox"). This is the rule of v2; breaking it is ERR_INVALID on v1 as well. A pod with one container
 * does without a second level.
 *
 * Opening may move this process, and its children in the same group, into "<name>-self" beside our group (v2, when the
 * own group was handed to us, as by systemd's Delegate=yes). Not for use by several threads at a time.
 */
#ifndef NODE_CGROUP_H
#define NODE_CGROUP_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroups;

/* CPUSET: the host has it; nothing here sets it yet. */
enum cgroup_can { CGROUP_CPU = 1, CGROUP_MEMORY = 2, CGROUP_PIDS = 4, CGROUP_FREEZE = 8, CGROUP_CPUSET = 16 };

/* Find what the host has (mount points, controllers, where we are allowed to make groups) and make our group 'name'.
 * An older group of that name that contains processes is in use: ERR_EXISTS; an empty one is taken over. A host
 * without cgroups gives an object that can do nothing, not an error. '*ret_why' (may be NULL): what is missing, why,
 * and what would help, as "no cpu limits: …; run: …"; NULL when nothing is. It lives as long as the object. 'name':
 * as a part of a path below. */
int cgroups_open(const char *name, struct cgroups **ret, const char **ret_why, struct err *e);

/* The same for a group known to be ours (an earlier run's, by our state directory): what runs in it stays, its
 * groups can be used again. 'place': cgroups_place() of the one who made it, for we may be elsewhere; empty: as we are.
 * To sweep: adopt, then cgroups_close(c, true). */
int cgroups_adopt(const char *name, struct str place, struct cgroups **ret, const char **ret_why, struct err *e);
struct str cgroups_place(const struct cgroups *c); /* borrowed, as is the name it was opened by */
const char *cgroups_name(const struct cgroups *c);

void cgroups_close(struct cgroups *c, bool removes); /* NULL is fine. removes: kill and remove all below our group */
unsigned cgroups_can(const struct cgroups *c);       /* enum cgroup_can */
const char *cgroups_kind(const struct cgroups *c);   /* "v2", "v1", "hybrid", "none": for people */

struct cgroup_limits {        /* 0: no limit */
    int64_t cpu_milli;        /* limit: quota */
    int64_t cpu_shares_milli; /* request: weight; 0: the smallest, it gets what others leave */
    int64_t memory_bytes;
    int64_t pids;
    bool dies_whole; /* passing memory_bytes: all of it, on v2; on v1 it is process by process always */
};

/* Make a group 'path' ("pod" or "pod/container": [a-z0-9-.]+ without a dot in front, at most two parts, the first
 * one made before), or set the limits of one; NULL: leave them. Limits the host cannot set are left out. Memory is
 * without swap. */
int cgroup_make(struct cgroups *c, const char *path, const struct cgroup_limits *limits, struct err *e);
/* With all below it; what runs is killed, gone is fine. */
int cgroup_remove(struct cgroups *c, const char *path, struct err *e);

/* The way in, for a child to come: it is born in the v2 half (clone3 with CLONE_INTO_CGROUP and this descriptor, the
 * caller closes it; -1: there is none) and then, while it has one thread, goes into the rest by itself. */
int cgroup_birth_fd(struct cgroups *c, const char *path);
int cgroup_enter(struct cgroups *c, const char *path, bool is_born, struct err *e);

/* SIGKILL to everything in the group and below, again until it is empty (at most 'ms'). A frozen group is thawed by
 * it. Fails on a host that cannot (kind "none"). */
int cgroup_kill(struct cgroups *c, const char *path, int ms, struct err *e);

/* Freeze or thaw everything in groups of ours. -1: the host cannot, or a process did not stop in time. */
int cgroup_freeze_all(const struct cgroups *c, bool on);

struct cgroup_stats { /* -1: the host does not tell */
    int64_t cpu_us, memory_bytes, memory_peak_bytes, pids, oom_kills, pids_refused, throttled_us;
};
int cgroup_stats(struct cgroups *c, const char *path, struct cgroup_stats *ret, struct err *e);
/* The same of CPU and memory alone, the rest is -1: half the files, and each is made when it is opened. */
int cgroup_use(struct cgroups *c, const char *path, struct cgroup_stats *ret, struct err *e);

/* The processes in the group, as the host numbers them; on a host of kind "none" there are none. */
void cgroup_pids(struct cgroups *c, const char *path, void (*each)(void *ctx, pid_t pid), void *ctx);

#endif
