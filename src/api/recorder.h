/* recorder.h - which Events are sent, as client-go's recorder decides it: repeats are counted, many alike become one
 *
 *     if (recorder_take(&r, a, op, now_ms))         op is a create, or a patch of the count
 *         cluster_write(c, op);
 *     while (recorder_next(&r, a, now_ms, &op))     counts that have waited
 *         cluster_write(c, &op);
 *
 * An Event that was sent before (same source, object, type, reason and message) is not sent again: its count and its
 * last time are patched. A PodGroup that was deleted and created again under its name, as a Job that restarts does, is the
 * same object; then what the Event says of it is patched too. The first repeat within 5 s waits until they have passed;
 * the wait doubles up to 5 min, and what happens meanwhile goes into one patch.
 *
 * The tenth and all further Events of one object with the same type and reason, but other messages, become a single
 * one: "(combined from similar events): " and the newest message. 'op->whole' names the gang that the object is a
 * member of: then its members are counted together, and the combined Event is about the gang.
 *
 * Pure: no clock, no I/O. It remembers RECORDER_MAX Events and forgets the one that was used least recently.
 */
#ifndef API_RECORDER_H
#define API_RECORDER_H

#include "api/plan.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"

enum { RECORDER_MAX = 16384 };

struct recorder {
    struct map_u64 by_id; /* struct recorded */
    struct list used;     /* the same; the one used last comes last */
    struct heap waiting;  /* struct recorded.waits: counts that are not sent yet, the first due first */
};

void recorder_init(struct recorder *r, uint64_t seed);
void recorder_done(struct recorder *r);

/* 'op' creates an Event (plan_event). Turn it into the write to send now; false: none. */
bool recorder_take(struct recorder *r, struct arena *a, struct op *op, int64_t now_ms);

/* The next count that is due, as a patch; false: none is. */
bool recorder_next(struct recorder *r, struct arena *a, int64_t now_ms, struct op *ret);
int64_t recorder_due(const struct recorder *r); /* when to call it next; INT64_MAX: never */

/* The Event is no longer in the cluster: when it happens again, it is created again. */
void recorder_forget(struct recorder *r, struct str namespace, struct str name);

#endif
