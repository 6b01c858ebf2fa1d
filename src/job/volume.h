/* volume.h - the job's own volumes: a claim mounted into every container of every pod
 *
 * Names of claims are derived from the job, not random, so a crash between two writes neither leaks a claim nor renames
 * a volume (B47, B48).
 */
#ifndef JOB_VOLUME_H
#define JOB_VOLUME_H

#include "plugin/plugin.h"

/* Fill in volumeClaimName of volumes that bring a claim spec: "<job>-pvc-<12 characters>". Changes the Job's tree and
 * its view. Must be stored before the claims are created. True if anything was filled in. */
bool job_volumes_name(struct arena *a, struct job *job);

/* The PersistentVolumeClaims that the job owns. */
void job_volumes_claims(const struct job *job, struct plugin_objects *out);

/* Add the volumes to a pod spec and mount them in its containers, init containers too; two mounts of one claim share
 * a volume. A mount path the user already uses in a container is left alone there. */
void job_volumes_mount(struct arena *a, const struct job *job, struct json *pod_spec);

/* Add "volume-pvc-<claim>": "<claim>" for each volume to status.controlledResources. */
void job_volumes_markers(struct arena *a, const struct job *job, struct json *controlled);

#endif
