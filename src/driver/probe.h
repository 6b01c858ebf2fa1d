/* probe.h - do pods answer? TCP and HTTP, for JobFlows that wait for it
 *
 * Asked again and again by the plan that wants to know, which is woken for it; a pod that has answered once counts from
 * then on. Nothing here waits: a connection is looked at when the plan comes by. The address of a pod is read from the
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

/* Does every pod of the task answer? Those that have succeeded did. '*again_ms' becomes the time until it is worth to
 * ask again, if that is sooner. 'key' waits for what has to be read. */
bool probe_task(struct driver *d, struct str key, const struct cache_job *job, const struct flow_question *q,
                int64_t *again_ms);

/* A Pod as an answer shows it. */
void probe_seen(struct driver *d, const struct object *pod);

/* The key asks no more. */
void probes_forget(struct driver *d, struct str key);

#endif
