/* schema_flow.c - what makes Jobs: JobTemplate and JobFlow of flow.volcano.sh, CronJob of batch.volcano.sh */
#include "api/schema/schemas.h"

#include "api/fields.h"
#include "api/meta.h"

/* clang-format off */

/* ---- JobTemplate ---- */

SCHEMA(static, template_status, "JobTemplateStatus",
    F_STRS("jobDependsOnList", DOC("jobs made from the template")));

SCHEMA(, schema_jobtemplate, "JobTemplate",
    F_TYPE,
    F_OBJ("metadata", &schema_meta),
    F_OBJ("spec", &schema_job_spec, DOC("the spec of a Job")),
    F_OBJ("status", &template_status));

/* ---- JobFlow ---- */

SCHEMA(static, flow_header, "HTTPHeader",
    F_STR("name", REQUIRED),
    F_STR("value", REQUIRED));

SCHEMA(static, flow_http, "HttpGet",
    F_STR("taskName", .max = 253),
    F_STR("path"),
    F_INT("port", RANGE(0, 65535)),
    F_OBJ("httpHeader", &flow_header));

SCHEMA(static, flow_tcp, "TcpSocket",
    F_STR("taskName", .max = 253),
    F_INT("port", REQUIRED, RANGE(0, 65535)));

SCHEMA(static, flow_task, "TaskStatus",
    F_STR("taskName", .max = 253),
    F_STR("phase", .max = 63));

SCHEMA(static, flow_probe, "FlowProbe",
    F_OBJS("httpGetList", &flow_http),
    F_OBJS("tcpSocketList", &flow_tcp),
    F_OBJS("taskStatusList", &flow_task));

SCHEMA(static, flow_depends, "FlowDependsOn",
    F_STRS("targets", DOC("flows whose jobs must be Completed first")),
    F_OBJ("probe", &flow_probe, DOC("start when these pass, not when the targets have completed")));

/* Part of a job's spec: nothing in it is required. */
SCHEMA(static, flow_patch, "FlowPatch",
    F_OBJ("jobSpec", NULL, DOC("parts of the spec of a Job; tasks by name")));

SCHEMA(static, flow, "Flow",
    F_STR("name", NEEDED, DOC("of the flow, and of the JobTemplate it is made from")),
    F_OBJ("dependsOn", &flow_depends, DOC("what must be done before it starts")),
    F_OBJ("patch", &flow_patch, DOC("what is other than in the template")));

SCHEMA(static, flow_spec, "JobFlowSpec",
    F_OBJS("flows", &flow, DOC("jobs, and which comes after which")),
    F_STR("jobRetainPolicy", ONE_OF("retain", "delete"),
        DOC("what becomes of the jobs when the flow has succeeded; default retain")));

SCHEMA(static, flow_history, "JobRunningHistory",
    F_TIME("startTimestamp"),
    F_TIME("endTimestamp"),
    F_STR("state"));

SCHEMA(static, flow_job, "JobFlowJobStatus",
    F_STR("name"),
    F_STR("state"),
    F_TIME("startTimestamp"),
    F_TIME("endTimestamp"),
    F_INT("restartCount", AT_LEAST(0)),
    F_OBJS("runningHistories", &flow_history));

SCHEMA(static, flow_task_count, "TaskState",
    F_INT_MAP("phase"));

SCHEMA(static, flow_condition, "JobFlowCondition",
    F_STR("phase"),
    F_TIME("createTime"),
    F_DURATION("runningDuration"),
    F_OBJ_MAP("taskStatusCount", &flow_task_count));

SCHEMA(static, flow_state, "JobFlowState",
    F_STR("phase", ONE_OF("Succeed", "Terminating", "Failed", "Running", "Pending")));

SCHEMA(static, flow_status, "JobFlowStatus",
    F_STRS("pendingJobs"),
    F_STRS("runningJobs"),
    F_STRS("failedJobs"),
    F_STRS("completedJobs"),
    F_STRS("terminatedJobs"),
    F_STRS("unKnowJobs"), /* sic */
    F_OBJS("jobStatusList", &flow_job),
    F_OBJ_MAP("conditions", &flow_condition),
    F_OBJ("state", &flow_state));

SCHEMA(, schema_jobflow, "JobFlow",
    F_TYPE,
    F_OBJ("metadata", &schema_meta),
    F_OBJ("spec", &flow_spec),
    F_OBJ("status", &flow_status));

/* ---- CronJob ---- */

SCHEMA(static, cron_template, "JobTemplateSpec",
    F_OBJ("metadata", &schema_template_meta),
    F_OBJ("spec", &schema_job_spec));

SCHEMA(static, cron_spec, "CronJobSpec",
    F_STR("schedule", REQUIRED, DOC("five fields as for cron, or @hourly, @every 1h …")),
    F_STR("timeZone", DOC("an IANA name; default: the controller's")),
    F_LONG("startingDeadlineSeconds", AT_LEAST(0), DOC("how late a missed start may still happen")),
    F_STR("concurrencyPolicy", ONE_OF("Allow", "Forbid", "Replace"),
        DOC("when the last job still runs; default Allow")),
    F_BOOL("suspend", DOC("start no more jobs")),
    F_OBJ("jobTemplate", &cron_template, REQUIRED, DOC("labels, annotations and spec of the jobs")),
    F_INT("successfulJobsHistoryLimit", AT_LEAST(0), DOC("Completed jobs to keep; default 3")),
    F_INT("failedJobsHistoryLimit", AT_LEAST(0), DOC("Failed jobs to keep; default 1")));

SCHEMA(static, cron_status, "CronJobStatus",
    F_OBJS("active", &schema_object_ref, DOC("jobs that have not ended")),
    F_TIME("lastScheduleTime"),
    F_TIME("lastSuccessfulTime"));

SCHEMA(, schema_cronjob, "CronJob",
    F_TYPE,
    F_OBJ("metadata", &schema_meta),
    F_OBJ("spec", &cron_spec, REQUIRED),
    F_OBJ("status", &cron_status));
