/* probe.h - TCP and HTTP probes of pods, for JobFlows that depend on them
 *
 * Probes do not block: each plan that depends on a probe checks the connections that are open, opens new ones, and asks
 * to be planned again. A pod that has passed once counts as passed from then on. The address of a pod is read from the
 * cluster once.
 */
#ifndef DRIVER_PROBE_H
#define DRIVER_PROBE_H

#include "base/map.h"
#include "store/object.h"

struct cache_job;
struct driver;
struct flow_question;

struct probes {
    struct map by_key;    /* struct probe */
    struct map addresses; /* struct pod_address by uid of the pod */
};

void probes_init(struct driver *d);
void probes_done(struct driver *d);

/* Has every pod of the task passed? Pods that Succeeded count as passed. '*again_ms' is lowered to the time after which
 * a new check makes sense. If an address has to be read first, 'key' is planned again with the answer. */
bool probe_task(struct driver *d, struct str key, const struct cache_job *job, const struct flow_question *q,
                int64_t *again_ms);

/* A Pod from the answer to a read. */
void probe_seen(struct driver *d, const struct object *pod);

/* Drop the probes of this key. */
void probes_forget(struct driver *d, struct str key);

#endif
