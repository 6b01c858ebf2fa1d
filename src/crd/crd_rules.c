/* crd_rules.c - the rules of our kinds in a CRD, beyond types and ranges
 *
 * The same rules as in admit_job.c and its neighbours, as far as CEL can say them at a price the API server pays: it
 * counts the worst case of each rule beforehand, which is why lists that a rule walks have a largest size. The
 * controller checks the others (cycles of dependsOn, unknown plugins, closed queues), and reports them on the job.
 *
 * 'has' guards every optional field. Rules about old and new stand on the whole Job only: a template may be edited.
 */
#include "crd/crd.h"

#include "api/job.h"
#include "base/util.h"

/* clang-format off */

#define OBJECT(schema, rule, message) { schema, NULL, CRD_RULE, rule, message, NULL, NULL }
#define BLAME(schema, at, rule, message) { schema, NULL, CRD_RULE, rule, message, at, NULL }
#define LIST(schema, field, rule, message) { schema, field, CRD_RULE, rule, message, NULL, NULL }
#define DEFAULT(schema, field, json) { schema, field, CRD_DEFAULT, json, NULL, NULL, NULL }
#define REQUIRED(schema, field) { schema, field, CRD_REQUIRED, NULL, NULL, NULL, NULL }
#define MOST(schema, field, n) { schema, field, CRD_MAX_ITEMS, n, NULL, NULL, NULL }
#define TEXT(schema, field, n) { schema, field, CRD_MAX_TEXT, n, NULL, NULL, NULL }
#define KEYS(schema, field, key) { schema, field, CRD_MAP_KEYS, key, NULL, NULL, NULL }

/* Numbers and texts that may be missing. */
#define INT(o, f)  "(has(" o "." f ") ? " o "." f " : 0)"
#define STRING(o, f) "(has(" o "." f ") ? " o "." f " : '')"
/* Does policy 'p' name the event 'e'? */
#define NAMES(p, e) "(has(" p ".event) && " p ".event == " e " || has(" p ".events) && " e " in " p ".events)"

/* Each list stands alone: the job's, and that of each task. */
#define POLICIES(schema, most)                                                                                         \
    MOST(schema, "policies", most),                                                                                    \
    LIST(schema, "policies", "['*', 'PodFailed', 'PodEvicted', 'PodPending', 'Unknown', 'TaskCompleted', "             \
         "'TaskFailed', 'JobUpdated'].all(e, self.filter(p, " NAMES("p", "e") ").size() <= 1)",                        \
         "duplicate event: the same event stands in two policies"),                                                                     \
    LIST(schema, "policies", "!self.exists(p, " NAMES("p", "'*'") ") || self.all(p, has(p.exitCode) || "              \
         NAMES("p", "'*'") " && (!has(p.events) || p.events.all(e, e == '*')) && (!has(p.event) || p.event == '*'))",  \
         "if there's * here, no other policy should be here: only exitCode policies may stand beside it")

#define IMMUTABLE                                                                                                      \
    "job updates may not change fields other than `minAvailable`, `tasks[*].replicas under spec` and "                 \
    "`PriorityClassName`"

const struct crd_row crd_rows[] = {
    /* ---- Job ---- */
    OBJECT("Job", "self.metadata.name.size() <= 63", "the name of a job has at most 63 characters"),
    OBJECT("Job", "self.spec.tasks.all(t, self.metadata.name.size() + " STRING("t", "name") ".size() + 2 + "
           "string(" INT("t", "replicas") " > 1 ? t.replicas - 1 : 0).size() <= 63)",
           "the names of the pods, JOB-TASK-INDEX, have at most 63 characters: shorten the name of the job or of a "
           "task"),
    OBJECT("Job", "self.spec.tasks.size() == oldSelf.spec.tasks.size()",
           "job updates may not add or remove tasks: delete the job and create it again"),
    OBJECT("Job", STRING("oldSelf.spec", "queue") " in ['', " STRING("self.spec", "queue") "]",
           "spec.queue is immutable: " IMMUTABLE "; delete the job and create it again"),
    OBJECT("Job", STRING("oldSelf.spec", "schedulerName") " in ['', " STRING("self.spec", "schedulerName") "]",
           "spec.schedulerName is immutable: " IMMUTABLE "; delete the job and create it again"),

    /* A list that is missing is an empty one, so that one rule, in Volcano's words, speaks of both. */
    DEFAULT("JobSpec", "tasks", "[]"),
    BLAME("JobSpec", ".tasks", "self.tasks.size() > 0", "No task specified in job spec: add at least one"),
    MOST("JobSpec", "tasks", "500"),
    DEFAULT("JobSpec", "queue", "\"default\""),
    DEFAULT("JobSpec", "maxRetry", "3"),
    BLAME("JobSpec", ".queue", STRING("self", "queue") " != 'root'",
          "can not submit job to root queue: name a queue below it"),
    BLAME("JobSpec", ".minAvailable",
          INT("self", "minAvailable") " <= self.tasks.map(t, " INT("t", "replicas") ").sum()",
          "job 'minAvailable' should not be greater than total replicas in tasks: lower it or raise the replicas of a task"),
    /* The server stops a rule that works for a tenth of a second: longer lists are left to the controller. */
    LIST("JobSpec", "tasks", "self.size() > 250 || [self.map(t, " STRING("t", "name") ")].all(names, "
         "names.all(n, n == '' || names.indexOf(n) == names.lastIndexOf(n)))",
         "duplicated task name"),
    MOST("JobSpec", "volumes", "500"),
    LIST("JobSpec", "volumes", "self.size() > 250 || [self.map(v, v.mountPath)].all(paths, "
         "paths.all(p, paths.indexOf(p) == paths.lastIndexOf(p)))",
         "duplicated mountPath: two volumes have the same"),
    POLICIES("JobSpec", "256"),
    LIST("JobSpec", "policies", "self.all(p, !has(p.exitCode) || self.exists_one(q, has(q.exitCode) && "
         "q.exitCode == p.exitCode))",
         "duplicate exitCode: the same exitCode stands in two policies"),
    BLAME("JobSpec", ".policies", "!has(self.policies) || self.tasks.exists(t, has(t.partitionPolicy)) || "
          "!self.policies.exists(p, has(p.action) && p.action == 'RestartPartition')",
          "RestartPartition needs a partitionPolicy, and no task of the job has one"),

    REQUIRED("TaskSpec", "template"),
    DEFAULT("TaskSpec", "maxRetry", "3"),
    BLAME("TaskSpec", ".minAvailable", INT("self", "minAvailable") " <= " INT("self", "replicas"),
          "'minAvailable' is greater than 'replicas' in task"),
    BLAME("TaskSpec", ".replicas", "!has(self.partitionPolicy) || " INT("self", "replicas")
          " == self.partitionPolicy.totalPartitions * self.partitionPolicy.partitionSize",
          "'Replicas' are not equal to TotalPartitions*PartitionSize in task"),
    BLAME("TaskSpec", ".minAvailable", "!has(self.partitionPolicy) || !has(self.minAvailable) || "
          INT("self.partitionPolicy", "minPartitions") " == 0 || "
          "self.minAvailable == self.partitionPolicy.minPartitions * self.partitionPolicy.partitionSize",
          "'MinAvailable' is not equal to MinPartitions*PartitionSize in task"),
    POLICIES("TaskSpec", "32"),
    BLAME("TaskSpec", ".policies", "!has(self.policies) || has(self.partitionPolicy) || "
          "!self.policies.exists(p, has(p.action) && p.action == 'RestartPartition')",
          "RestartPartition needs a partitionPolicy, and this task has none"),
    REQUIRED("PodTemplateSpec", "spec"),

    REQUIRED("LifecyclePolicy", "action"),
    BLAME("LifecyclePolicy", ".action", "self.action in ['AbortJob', 'RestartJob', 'RestartTask', 'RestartPod', "
          "'RestartPartition', 'TerminateJob', 'CompleteJob', 'ResumeJob']", "invalid policy action"),
    MOST("LifecyclePolicy", "events", "16"),
    TEXT("LifecyclePolicy", "event", "63"),
    TEXT("LifecyclePolicy", "events", "63"),
    OBJECT("LifecyclePolicy", "!has(self.exitCode) || !(has(self.event) || has(self.events) && self.events.size() > 0)",
           "must not specify event and exitCode simultaneously: make two policies of it"),
    OBJECT("LifecyclePolicy", "has(self.exitCode) || has(self.event) || has(self.events) && self.events.size() > 0",
           "either event and exitCode should be specified: add one of them"),
    BLAME("LifecyclePolicy", ".exitCode", "!has(self.exitCode) || self.exitCode != 0",
          "0 is not a valid error code: use the event TaskCompleted to act on success"),
    BLAME("LifecyclePolicy", ".action", "!" NAMES("self", "'Unknown'") " || !(self.action in ['RestartTask', "
          "'RestartPod', 'RestartPartition'])",
          "the event Unknown concerns the whole job: use an action on the job such as RestartJob"),
    BLAME("LifecyclePolicy", ".timeout", "!has(self.timeout) || !self.timeout.startsWith('-')", "must not be negative"),

    DEFAULT("NetworkTopologySpec", "mode", "\"hard\""),
    OBJECT("NetworkTopologySpec", "!has(self.highestTierAllowed) || " STRING("self", "highestTierName") " == ''",
           "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously. Remove one of "
           "them"),
    DEFAULT("PartitionPolicySpec", "minPartitions", "0"),
    { "DependsOn", "iteration", CRD_ENUM, NULL, NULL, NULL, (const char *const[]){ "any", "all", "", NULL } },
    /* … but for JOB-pvc-HASH, which the controller adds to the claim before it makes it. */
    OBJECT("VolumeSpec", "!has(self.volumeClaim) || " STRING("self", "volumeClaimName") " == '' || "
           STRING("self", "volumeClaimName") ".contains('-pvc-')",
           "conflict: If you want to use an existing PVC, just specify VolumeClaimName.If you want to create a new PVC, you "
           "do not need to specify VolumeClaimName"),
    OBJECT("VolumeSpec", "has(self.volumeClaim) || " STRING("self", "volumeClaimName") " != ''",
           "either VolumeClaim or VolumeClaimName must be specified"),

    /* ---- pods: lists that Kubernetes wants unique too ---- */
    /* A template has none; they are a fifth of the size. */
    { "PodSpec", "ephemeralContainers", CRD_LEFT_OUT, NULL, NULL, NULL, NULL },
    KEYS("PodSpec", "volumes", "name"),
    KEYS("PodSpec", "initContainers", "name"),
    KEYS("PodSpec", "containers", "name"),
    KEYS("Container", "volumeMounts", "mountPath"),
    KEYS("Container", "volumeDevices", "devicePath"),

    /* ---- PodGroup and Queue ---- */
    DEFAULT("PodGroupSpec", "queue", "\"default\""),
    DEFAULT("SubGroupPolicySpec", "subGroupSize", "1"),
    DEFAULT("SubGroupPolicySpec", "minSubGroups", "0"),
    DEFAULT("QueueSpec", "weight", "1"),
    DEFAULT("QueueSpec", "reclaimable", "true"),
    DEFAULT("QueueSpec", "dequeueStrategy", "\"traverse\""),

    /* ---- HyperNode ---- */
    DEFAULT("HyperNodeSpec", "members", "[]"),
    BLAME("HyperNodeSpec", ".members", "self.members.size() > 0", "member must have at least one member"),
    OBJECT("MemberSelector", "has(self.exactMatch) || has(self.regexMatch) || has(self.labelMatch)",
           "Either ExactMatch or RegexMatch or LabelMatch must be specified"),
    OBJECT("MemberSelector", "(has(self.exactMatch) ? 1 : 0) + (has(self.regexMatch) ? 1 : 0) + "
           "(has(self.labelMatch) ? 1 : 0) <= 1",
           "Only one of ExactMatch, RegexMatch, or LabelMatch can be specified"),
    BLAME("MemberSpec", ".selector", "self.type == 'Node' || !has(self.selector.labelMatch)",
          "labelMatch is for members of type Node"),
    KEYS("HyperNodeStatus", "conditions", "type"),

    /* ---- what makes Jobs ---- */
    TEXT("Flow", "name", "253"),
    MOST("JobFlowSpec", "flows", "1000"),
    MOST("FlowDependsOn", "targets", "1000"),
    TEXT("FlowDependsOn", "targets", "253"),
    BLAME("Flow", ".dependsOn", "!has(self.dependsOn) || !has(self.dependsOn.targets) || "
          "!(self.name in self.dependsOn.targets)",
          "jobflow Flow is not DAG: a flow can not wait for itself"),
    OBJECT("CronJob", "self.metadata.name.size() <= 52", "cronJob name must be no more than 52 characters to "
           "accommodate job name suffix (max 63 total)"),
    DEFAULT("CronJobSpec", "concurrencyPolicy", "\"Allow\""),
    DEFAULT("CronJobSpec", "suspend", "false"),
    DEFAULT("CronJobSpec", "successfulJobsHistoryLimit", "3"),
    DEFAULT("CronJobSpec", "failedJobsHistoryLimit", "1"),
    TEXT("CronJobSpec", "schedule", "1024"),
    TEXT("CronJobSpec", "timeZone", "64"),
    BLAME("CronJobSpec", ".schedule", "!self.schedule.contains('TZ')", "schedule should not contain TZ or CRON_TZ, TZ should "
          "only be set in the timeZone field"),
    BLAME("CronJobSpec", ".schedule", "self.schedule != ''", "schedule is required, but got empty"),
    BLAME("CronJobSpec", ".timeZone", "!has(self.timeZone) || self.timeZone != ''",
          "timeZone must be nil or non-empty string, got empty string"),
    BLAME("CronJobSpec", ".timeZone", "!has(self.timeZone) || self.timeZone.lowerAscii() != 'local'",
          "timeZone can't be Local, and must be defined in https://www.iana.org/time-zones"),
};
const size_t n_crd_rows = ARRAY_LEN(crd_rows);
