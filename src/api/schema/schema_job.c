/* schema_job.c - Job of batch.volcano.sh/v1alpha1 and the kinds around it */
#include "api/job.h"

#include "api/fields.h"
#include "api/schema/schemas.h"

const char *const job_events[] = { "*",          "PodFailed",  "PodEvicted",    "PodPending",
                                   "PodRunning", "Unknown",    "TaskCompleted", "TaskFailed",
                                   "OutOfSync",  "JobUpdated", "CommandIssued", NULL };

const char *const job_policy_events[] = { "*",          "PodFailed",  "PodEvicted",
                                          "PodPending", "Unknown",    "TaskCompleted",
                                          "TaskFailed", "JobUpdated", NULL };

const char *const job_actions[] = { "AbortJob",     "RestartJob",  "RestartTask", "RestartPod", "RestartPartition",
                                    "TerminateJob", "CompleteJob", "ResumeJob",   NULL };

const char *const job_phases[] = { "Pending",   "Running",     "Restarting", "Aborting", "Aborted", "Completing",
                                   "Completed", "Terminating", "Terminated", "Failed",   NULL };

/* clang-format off */

/* ---- spec ---- */

SCHEMA_DECODED(, schema_network_topology, "NetworkTopologySpec", struct network_topology,
               offsetof(struct network_topology, raw),
    D_STR("mode", struct network_topology, mode, NOT_EMPTY, ONE_OF("hard", "soft"),
          DOC("hard: never place pods further apart than the tier; soft: rather not")),
    D_INT("highestTierAllowed", struct network_topology, highest_tier_allowed, POINTER, AT_LEAST(0),
          DOC("the highest tier the pods may span, by number")),
    D_STR("highestTierName", struct network_topology, highest_tier_name, .max = 253,
          DOC("the highest tier the pods may span, by name; not together with highestTierAllowed")));

SCHEMA_DECODED(, schema_job_policy, "LifecyclePolicy", struct job_policy, FIELD_NO_OFFSET,
    D_STR("action", struct job_policy, action,
          DOC("what to do: AbortJob, RestartJob, RestartTask, RestartPod, RestartPartition, TerminateJob, CompleteJob, "
              "ResumeJob")),
    D_STR("event", struct job_policy, event, NOT_EMPTY, .values = job_policy_events,
          DOC("when: * (any), PodFailed, PodEvicted, PodPending (needs timeout), Unknown, TaskCompleted, TaskFailed")),
    D_STRS("events", struct job_policy, events, .values = job_policy_events, DOC("several events for one action")),
    D_INT("exitCode", struct job_policy, exit_code, POINTER,
          DOC("when a container ends with this code; not 0, not together with events")),
    D_STR("timeout", struct job_policy, timeout, .check = format_duration,
          DOC("wait this long before acting, as \"10m\"; a pod that comes back in time cancels it")));

SCHEMA_DECODED(static, job_depends, "DependsOn", struct job_depends, FIELD_NO_OFFSET,
    D_STRS("name", struct job_depends, name, DOC("tasks that must be up first")),
    D_STR("iteration", struct job_depends, iteration, DOC("any: one of them is enough; all (default): every one")));

SCHEMA_DECODED(static, job_partition, "PartitionPolicySpec", struct job_partition, FIELD_NO_OFFSET,
    D_INT("totalPartitions", struct job_partition, total_partitions, REQUIRED, AT_LEAST(1),
          DOC("number of partitions; times partitionSize it must give replicas")),
    D_INT("partitionSize", struct job_partition, partition_size, REQUIRED, AT_LEAST(1), DOC("pods in a partition")),
    D_INT("minPartitions", struct job_partition, min_partitions, AT_LEAST(0),
          DOC("partitions that must be placeable together; default 0")),
    D_OBJ("networkTopology", struct job_partition, network_topology, &schema_network_topology, POINTER,
          DOC("how near the pods of one partition must be")));

SCHEMA_DECODED(, schema_job_task, "TaskSpec", struct job_task, offsetof(struct job_task, raw),
    D_STR("name", struct job_task, name, .max = 63, .check = format_label,
          DOC("name of the task, part of its pods' names; default \"default<index>\"")),
    D_INT("replicas", struct job_task, replicas, AT_LEAST(0), DOC("number of pods")),
    D_INT("minAvailable", struct job_task, min_available, POINTER, AT_LEAST(0),
          DOC("pods of this task that must be placeable together; default: replicas")),
    D_OBJ("template", struct job_task, template, &schema_pod_template, DOC("the pod: metadata and spec")),
    D_OBJS("policies", struct job_task, policies, &schema_job_policy, DOC("policies that go before the job's")),
    D_STR("topologyPolicy", struct job_task, topology_policy, /* "" is none */
          ONE_OF("none", "best-effort", "restricted", "single-numa-node"), DOC("NUMA placement of the pods")),
    D_INT("maxRetry", struct job_task, max_retry, AT_LEAST(-1), /* B15 */
          DOC("container restarts in all pods of the task before event TaskFailed; default 3, -1: no limit")),
    D_OBJ("dependsOn", struct job_task, depends_on, &job_depends, POINTER, DOC("tasks to wait for before starting")),
    D_OBJ("partitionPolicy", struct job_task, partition, &job_partition, POINTER,
          DOC("split the pods into partitions of equal size")));

SCHEMA_DECODED(static, job_volume, "VolumeSpec", struct job_volume, FIELD_NO_OFFSET,
    D_STR("mountPath", struct job_volume, mount_path, NEEDED, .check = format_mount_path,
          DOC("where every container sees the volume")),
    D_STR("volumeClaimName", struct job_volume, claim_name, .max = 253, .check = format_subdomain,
          DOC("name of a PersistentVolumeClaim that exists")),
    D_OBJ("volumeClaim", struct job_volume, claim, &schema_pvc_spec,
          DOC("spec of a PersistentVolumeClaim to make for the job; not together with volumeClaimName")));

SCHEMA_DECODED(, schema_job_spec, "JobSpec", struct job_spec, FIELD_NO_OFFSET,
    D_STR("schedulerName", struct job_spec, scheduler_name, .max = 63,
          DOC("scheduler for pods whose template names none; default volcano")),
    D_INT("minAvailable", struct job_spec, min_available, AT_LEAST(0),
          DOC("pods that must be placeable together before any starts; default: the sum over the tasks")),
    D_OBJS("volumes", struct job_spec, volumes, &job_volume, DOC("volumes for every container of every pod")),
    D_OBJS("tasks", struct job_spec, tasks, &schema_job_task, DOC("the groups of pods the job is made of")),
    D_OBJS("policies", struct job_spec, policies, &schema_job_policy, DOC("what to do when something happens")),
    D_ANY_MAP("plugins", struct job_spec, plugins, .check = format_arguments,
          DOC("job plugins and their arguments: env, svc, ssh, tensorflow, mpi, pytorch, ray, hcclrank …")),
    D_STR("runningEstimate", struct job_spec, running_estimate, .check = format_duration,
          DOC("how long the job will run, as the user thinks; for information")),
    D_STR("queue", struct job_spec, queue, .max = 253, .check = format_subdomain,
          DOC("queue to run in; default default")),
    D_INT("maxRetry", struct job_spec, max_retry, AT_LEAST(0), DOC("attempts before the job is Failed; default 3")),
    D_INT("ttlSecondsAfterFinished", struct job_spec, ttl_seconds, POINTER, AT_LEAST(0),
          DOC("delete the job this long after its end; not set: keep it")),
    D_STR("priorityClassName", struct job_spec, priority_class_name, .max = 253, .check = format_subdomain,
          DOC("priority of the job, and of pods whose template names none")),
    D_INT("minSuccess", struct job_spec, min_success, POINTER, AT_LEAST(1),
          DOC("the job is Completed as soon as this many pods succeeded")),
    D_OBJ("networkTopology", struct job_spec, network_topology, &schema_network_topology, POINTER,
          DOC("how near the pods must be to each other")));

/* ---- status ---- */

SCHEMA(static, job_state, "JobState",
    F_STR("phase", .values = job_phases, DOC("where the job is in its life")),
    F_STR("reason", DOC("one word why")),
    F_STR("message", DOC("a sentence why")),
    F_TIME("lastTransitionTime", DOC("when it came into this phase")));

SCHEMA(static, job_condition, "JobCondition",
    F_STR("status", .values = job_phases),
    F_TIME("lastTransitionTime"));

SCHEMA(static, task_state, "TaskState",
    F_INT_MAP("phase", DOC("number of pods in each pod phase")));

SCHEMA_DECODED(static, job_status, "JobStatus", struct job_status, offsetof(struct job_status, raw),
    F_OBJ("state", &job_state, DOC("phase, and why")),
    F_INT("minAvailable", AT_LEAST(0), DOC("spec.minAvailable as last seen")),
    F_OBJ_MAP("taskStatusCount", &task_state, DOC("pods of each task by phase")),
    F_INT("pending", AT_LEAST(0), DOC("pods that wait")),
    F_INT("running", AT_LEAST(0), DOC("pods that run")),
    F_INT("succeeded", AT_LEAST(0), DOC("pods that ended well")),
    F_INT("failed", AT_LEAST(0), DOC("pods that failed")),
    F_INT("terminating", AT_LEAST(0), DOC("pods being deleted")),
    F_INT("unknown", AT_LEAST(0), DOC("pods in phase Unknown")),
    D_INT("version", struct job_status, version, DOC("counts whole-job restarts and stops; pods carry it")),
    D_INT("retryCount", struct job_status, retry_count, DOC("attempts used up")),
    F_DURATION("runningDuration", DOC("from creation to the end")),
    F_STR_MAP("controlledResources", DOC("what plugins and volumes made for the job")),
    F_OBJS("conditions", &job_condition, DOC("when the job came into each phase, newest last")));

SCHEMA_DECODED(, schema_job, "Job", struct job, offsetof(struct job, raw),
    F_TYPE,
    D_OBJ("metadata", struct job, meta, &schema_meta),
    D_OBJ("spec", struct job, spec, &schema_job_spec, REQUIRED),
    D_OBJ("status", struct job, status, &job_status));

/* ---- Command ---- */

SCHEMA(, schema_command, "Command",
    F_TYPE,
    F_OBJ("metadata", &schema_meta),
    F_STR("action"),
    F_OBJ("target", &schema_owner_ref),
    F_STR("reason"),
    F_STR("message"));
