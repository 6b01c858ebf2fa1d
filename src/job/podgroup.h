/* podgroup.h - the PodGroup of a job: what the scheduler must place together */
#ifndef JOB_PODGROUP_H
#define JOB_PODGROUP_H

#include "api/pod/resources.h"
#include "plugin/plugin.h"

/* Value of a PriorityClass by name; 0 when there is none. NULL callback: always 0. */
struct priority_source {
    void *ctx;
    int64_t (*value)(void *ctx, struct str class_name);
};

/* The PodGroup the job wants. */
struct json *job_podgroup_new(struct arena *a, const struct job *job, const struct priority_source *priorities);

/* spec.minResources: the quota usage of the pods that make up the gang, tasks of higher priority first. */
void job_min_resources(struct arena *a, const struct job *job, const struct priority_source *priorities,
                       struct resources *ret);

#endif
