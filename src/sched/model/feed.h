/* feed.h - from objects to the model
 *
 * Any object at any time, in any order, again and again; what cannot be read counts as not set. An object that says
 * nothing new changes nothing: heartbeats of nodes and echoes of our own writes cost a comparison. News older than what
 * is known (metadata.resourceVersion) are ignored.
 *
 * What a pod is in the model follows from the news, with two exceptions: a pod we bound (POD_BINDING) and a pod we are
 * evicting (is_victim) stay so until the news show it, or sched_failed() takes it back.
 */
#ifndef SCHED_MODEL_FEED_H
#define SCHED_MODEL_FEED_H

#include "sched/model/model.h"

bool feed_wants(struct str api_version, struct str kind);

/* The tree is only read. Kinds that are not wanted are ignored. */
void feed_put(struct sched_model *m, const struct json *root);

/* 'uid' may be empty: whatever has that name. With another uid than the one known nothing happens. */
void feed_gone(struct sched_model *m, struct str kind, struct str namespace, struct str name, struct str uid);

#endif
