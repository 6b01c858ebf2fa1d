/* pod.h - the pods of a job
 *
 * A pod is a pure function of the job, its plugins, the task and the index: the same pod whenever it is built.
 */
#ifndef JOB_POD_H
#define JOB_POD_H

#include "plugin/plugin.h"

/* Build pod 'index' of the task at 'task_pos', both set in 'pod', in 'a'; pod->root is the result. Only a plugin can fail
 * it, and its name is in the error. */
int job_pod_new(struct arena *a, const struct job *job, const struct plugin_set *set, struct pod_draft *pod,
                struct err *e);

/* The labels that all pods of the task have. */
struct json *job_task_labels(struct arena *a, const struct job *job, const struct job_task *task);

/* "<job>-<uid>": the PodGroup of the job and the pods' scheduling.k8s.io/group-name. */
struct str job_group_name(struct arena *a, const struct job *job);

#endif
