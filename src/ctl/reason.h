/* reason.h - why a job waits, in one word of Slurm's or Volcano's users
 *
 *     Resources, QueueLimit, QueueClosed, QueueMissing, Dependency, NeverFits, Held, Topology, Priority, ImageOrVolume
 *     …
 */
#ifndef CTL_REASON_H
#define CTL_REASON_H

#include "ctl/ctl.h"

struct reasons { /* what they are read from: the PodGroups of the jobs' namespaces, and all queues */
    struct ctl_objects groups, queues;
};

/* Objects that cannot be read are treated as missing: the reason is a help, not part of the answer. */
void reasons_read(struct ctl *c, struct str namespace, struct reasons *ret);

/* Empty: it does not wait, or the reason is unknown. */
struct str reason_of(const struct reasons *r, const struct json *job);

/* The scheduler's own sentence; empty: it said none. */
struct str reason_message(const struct reasons *r, const struct json *job);

#endif
