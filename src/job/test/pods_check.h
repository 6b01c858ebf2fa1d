/* pods_check.h - a table of pods, looked into by tests */
#ifndef JOB_TEST_PODS_CHECK_H
#define JOB_TEST_PODS_CHECK_H

#include "job/pods.h"

static inline struct job_pod *pods_at(const struct job_pods *p, size_t task, uint32_t index) /* NULL if there is none */
{
    return task < p->n_tasks && index < p->tasks[task].n ? p->tasks[task].slots[index].pod : NULL;
}

/* Live pods in a phase, or live and old ones. */
static inline uint32_t pods_count(const struct job_pods *p, enum pod_phase phase, bool with_old)
{
    return p->live[phase] + (with_old ? p->old[phase] : 0);
}

/* All memory the table holds, itself excluded. */
size_t pods_bytes(const struct job_pods *p);

/* Counters and lists agree with the pods. Aborts with a message if not. */
void pods_check(const struct job_pods *p);

#endif
