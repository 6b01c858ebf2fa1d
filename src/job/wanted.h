/* wanted.h - all objects of a job other than its pods, in order of creation
 *
 * The job controller compares them with the existing objects; `pumice render` prints them. Order: objects of plugins,
 * claims, the PodGroup (with 'is_native': the Workload and PodGroup of native.h), and then the pods by task and index
 * (job_pod_new()), which are not in this list because there may be very many.
 */
#ifndef JOB_WANTED_H
#define JOB_WANTED_H

#include "job/podgroup.h"
#include "plugin/plugin.h"

/* Append the objects of plugins and the claims to 'out'. Names the job's claims first (see job_volumes_name). */
int job_wanted(struct job *job, const struct plugin_set *set, struct plugin_objects *out, struct err *e);

/* Then append its PodGroup. */
void job_wanted_group(const struct job *job, const struct priority_source *priorities, bool is_native,
                      struct plugin_objects *out);

/* status.controlledResources once all of it exists. */
struct json *job_markers(struct arena *a, const struct job *job, const struct plugin_set *set);

#endif
