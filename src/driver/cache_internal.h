/* cache_internal.h - what the files of the cache share among themselves */
#ifndef DRIVER_CACHE_INTERNAL_H
#define DRIVER_CACHE_INTERNAL_H

#include "driver/cache.h"

/* The entry of that uid, made if it is new; NULL if the uid is empty or buried. */
struct cache_job *cache_job_need(struct cache *c, struct str uid);

/* Free an entry that is empty. */
void cache_job_let_go(struct cache_job *j);
void cache_job_free(struct cache_job *j);

void cache_put_job(struct cache *c, const struct object *o);
void cache_put_pod(struct cache *c, const struct object *o);
void cache_gone_job(struct cache *c, struct str uid);
void cache_gone_pod(struct cache *c, struct str name, struct str uid, struct str job_uid);

/* Remove what a list did not mention. 'rev' is that of the list; what is newer is asked for. */
void cache_sweep_jobs(struct cache *c, const struct relist *told, uint64_t rev);
void cache_sweep_pods(struct cache *c, const struct relist *told, uint64_t rev);

struct cache_queue *cache_queue_need(struct cache *c, struct str name);
void cache_queue_let_go(struct cache *c, struct cache_queue *q); /* if nothing refers to it */

void cache_touch_job(struct cache_job *j);

/* 'last' was deleted: a job that took the name of its owner may have waited for that. */
void cache_touch_heir(struct cache *c, const struct object *last);

/* An object that belongs to no job changed or was deleted: tell the jobs that want one of its name. Each derived name
 * begins with the job's ("j", "j-svc", "j-head-svc"). */
void cache_touch_namesakes(struct cache *c, const struct object *o);

#endif
