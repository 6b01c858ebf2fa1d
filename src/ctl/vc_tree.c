/* vc_tree.c - the commands of Volcano's tools, and their flags */
#include "ctl/vc.h"

#include <stddef.h>

const char *const vc_kind_names[VC_KIND_MAX] = {
    [VC_STRING] = "string",      [VC_INT] = "int",           [VC_INT32] = "int32", [VC_BOOL] = "", [VC_LEVEL] = "Level",
    [VC_MODULES] = "moduleSpec", [VC_DURATION] = "duration",
};

#define AT(field) offsetof(struct vc_values, field)
#define FLAG(...)                                                                                                      \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
#define END FLAG(.name = NULL)

#define ALL(what) FLAG(0, "all-namespaces", VC_BOOL, AT(all_namespaces), NULL, "list " what " in all namespaces")
#define KUBECONFIG                                                                                                     \
    FLAG('k', "kubeconfig", VC_STRING, AT(kubeconfig), NULL, "(optional) absolute path to the kubeconfig file")
#define MASTER                  FLAG('s', "master", VC_STRING, AT(master), NULL, "the address of apiserver")
#define NAME(letter, what)      FLAG(letter, "name", VC_STRING, AT(name), NULL, "the name of " what)
#define NAMESPACE(letter, what) FLAG(letter, "namespace", VC_STRING, AT(namespace), "default", "the namespace of " what)
#define SELECTOR                FLAG(0, "selector", VC_STRING, AT(selector), NULL, "fuzzy matching jobName")
#define SCHEDULER               FLAG('S', "scheduler", VC_STRING, AT(scheduler), NULL, "list job with specified scheduler name")
#define FILE_OF(what)           FLAG('f', "file", VC_STRING, AT(file), NULL, "the path to the YAML file containing the " what)
#define MIN                     FLAG('m', "min", VC_INT, AT(min), "1", "the minimal available tasks of job")
#define REPLICAS                FLAG('r', "replicas", VC_INT, AT(replicas), "1", "the total tasks of job")
#define AMOUNT                  "cpu=1000m,memory=100Mi"
#define LIMITS                  FLAG('L', "limits", VC_STRING, AT(limits), AMOUNT, "the resource limit of the task")
#define REQUESTS                FLAG('R', "requests", VC_STRING, AT(requests), AMOUNT, "the resource request of the task")

const struct vc_flag vc_global_flags[] = {
    { 0, "log-flush-frequency", VC_DURATION, AT(flush), "5s", "Maximum number of seconds between log flushes" },
    { 'v', "v", VC_LEVEL, AT(verbosity), NULL, "number for the log level verbosity" },
    { 0, "vmodule", VC_MODULES, AT(vmodule), NULL,
      "comma-separated list of pattern=N settings for file-filtered logging (only works for the default text log "
      "format)" },
    END,
};

/* ---- vcctl job ---- */

static const struct vc_flag run_flags[] = {
    { 'f', "filename", VC_STRING, AT(filename), NULL, "the yaml file of job" },
    { 'i', "image", VC_STRING, AT(image), "busybox", "the container image of job" },
    KUBECONFIG,
    LIMITS,
    MASTER,
    MIN,
    NAME('N', "job"),
    NAMESPACE('n', "job"),
    REPLICAS,
    REQUESTS,
    { 'S', "scheduler", VC_STRING, AT(scheduler), "volcano", "the scheduler for this job" },
    END,
};
static const struct vc_flag list_flags[] = {
    ALL("jobs"),
    KUBECONFIG,
    MASTER,
    NAMESPACE('n', "job"),
    { 'q', "queue", VC_STRING, AT(queue), NULL, "list job with specified queue name" },
    SCHEDULER,
    SELECTOR,
    END,
};
static const struct vc_flag one_job_flags[] = { KUBECONFIG, MASTER, NAME('N', "job"), NAMESPACE('n', "job"), END };

static const struct vc_command
    job_run = { .name = "run",
                .summary = "run job by parameters from the command line",
                .flags = run_flags,
                .run = vc_job_run },
    job_list = { .name = "list", .summary = "list job information", .flags = list_flags, .run = vc_job_list },
    job_view = { .name = "view", .summary = "show job information", .flags = one_job_flags, .run = vc_job_view },
    job_suspend = { .name = "suspend", .summary = "abort a job", .flags = one_job_flags, .run = vc_job_suspend },
    job_resume = { .name = "resume", .summary = "resume a job", .flags = one_job_flags, .run = vc_job_resume },
    job_delete = { .name = "delete", .summary = "delete a job", .flags = one_job_flags, .run = vc_job_delete };
static const struct vc_command *const job_subs[] = { &job_delete,  &job_list, &job_resume, &job_run,
                                                     &job_suspend, &job_view, NULL };
static const struct vc_command job = { .name = "job", .summary = "vcctl command line operation job", .subs = job_subs };

/* ---- vcctl queue ---- */

static const struct vc_flag queue_create_flags[] = {
    KUBECONFIG,
    MASTER,
    { 'n', "name", VC_STRING, AT(name), "test", "the name of queue" },
    { 'S', "state", VC_STRING, AT(state), "Open", "the state of queue" },
    { 'w', "weight", VC_INT32, AT(weight), "1", "the weight of the queue" },
    END,
};
static const struct vc_flag queue_operate_flags[] = {
    { 'a', "action", VC_STRING, AT(action), NULL, "operate action to queue, valid actions are open, close, update" },
    KUBECONFIG,
    MASTER,
    NAME('n', "queue"),
    { 'w', "weight", VC_INT32, AT(weight), NULL, "the weight of the queue" },
    END,
};
static const struct vc_flag one_queue_flags[] = { KUBECONFIG, MASTER, NAME('n', "queue"), END };
static const struct vc_flag connection_flags[] = { KUBECONFIG, MASTER, END };

static const struct vc_command
    queue_create = { .name = "create",
                     .summary = "creates queue",
                     .flags = queue_create_flags,
                     .run = vc_queue_create },
    queue_delete = { .name = "delete", .summary = "delete queue", .flags = one_queue_flags, .run = vc_queue_delete },
    queue_operate = { .name = "operate",
                      .summary = "operate queue",
                      .flags = queue_operate_flags,
                      .run = vc_queue_operate },
    queue_list = { .name = "list", .summary = "lists all the queue", .flags = connection_flags, .run = vc_queue_list },
    queue_get = { .name = "get", .summary = "get a queue", .flags = one_queue_flags, .run = vc_queue_get };
static const struct vc_command *const queue_subs[] = { &queue_create, &queue_delete,  &queue_get,
                                                       &queue_list,   &queue_operate, NULL };
static const struct vc_command queue = { .name = "queue", .summary = "Queue Operations", .subs = queue_subs };

/* ---- vcctl jobtemplate, jobflow ---- */

#define TWINS(id, what, noun, list_all, do_create, do_delete, do_describe, do_get, do_list)                            \
    static const struct vc_flag id##_create_flags[] = { FILE_OF(noun), KUBECONFIG, MASTER, END };                      \
    static const struct vc_flag id##_delete_flags[] = { FILE_OF(noun),   KUBECONFIG,           MASTER,                 \
                                                        NAME('N', noun), NAMESPACE('n', noun), END };                  \
    static const struct vc_flag id##_get_flags[] = { KUBECONFIG, MASTER, NAME('N', noun), NAMESPACE('n', noun), END }; \
    static const struct vc_flag id##_list_flags[] = { list_all KUBECONFIG, MASTER, NAMESPACE('n', noun), END };        \
    static const struct vc_flag id##_describe_flags[] = {                                                              \
        { 'o', "format", VC_STRING, AT(format), "yaml", "the format of output" },                                      \
        KUBECONFIG,                                                                                                    \
        MASTER,                                                                                                        \
        NAME('N', noun),                                                                                               \
        NAMESPACE('n', noun),                                                                                          \
        END,                                                                                                           \
    };                                                                                                                 \
    static const struct vc_command                                                                                     \
        id##_create = { .name = "create", .summary = "create a " what, .flags = id##_create_flags, .run = do_create }, \
        id##_delete = { .name = "delete", .summary = "delete a " what, .flags = id##_delete_flags, .run = do_delete }, \
        id##_describe = { .name = "describe",                                                                          \
                          .summary = "describe a " what,                                                               \
                          .flags = id##_describe_flags,                                                                \
                          .run = do_describe },                                                                        \
        id##_get = { .name = "get", .summary = "get a " what, .flags = id##_get_flags, .run = do_get },                \
        id##_list = { .name = "list", .summary = "list " what "s", .flags = id##_list_flags, .run = do_list };         \
    static const struct vc_command *const id##_subs[] = { &id##_create, &id##_delete, &id##_describe,                  \
                                                          &id##_get,    &id##_list,   NULL };                          \
    static const struct vc_command id = { .name = what,                                                                \
                                          .summary = "vcctl command line operation " what,                             \
                                          .subs = id##_subs };

#define NO_ALL
#define ALL_FLOWS ALL("jobflows"),
TWINS(template, "jobtemplate", "job template", NO_ALL, vc_template_create, vc_template_delete, vc_template_describe,
      vc_template_get, vc_template_list)
TWINS(flow, "jobflow", "jobflow", ALL_FLOWS, vc_flow_create, vc_flow_delete, vc_flow_describe, vc_flow_get,
      vc_flow_list)

/* ---- vcctl pod, version ---- */

static const struct vc_flag pod_list_flags[] = {
    ALL("pods"),
    { 'j', "job", VC_STRING, AT(job), NULL, "list pod with specified job name" },
    KUBECONFIG,
    MASTER,
    NAMESPACE('n', "pod"),
    { 'q', "queue", VC_STRING, AT(queue), NULL, "list pod with specified queue name" },
    END,
};
static const struct vc_flag no_flags[] = { END };

static const struct vc_command pod_list = { .name = "list",
                                            .summary = "list pod information created by vcjob",
                                            .flags = pod_list_flags,
                                            .run = vc_pod_list },
                               version = { .name = "version",
                                           .summary = "Print the version information",
                                           .example = "vcctl version",
                                           .flags = no_flags,
                                           .run = vc_version };
static const struct vc_command *const pod_subs[] = { &pod_list, NULL };
static const struct vc_command pod = { .name = "pod", .summary = "vcctl command line operation pod", .subs = pod_subs };

static const struct vc_command *const vcctl_subs[] = { &job, &queue, &template, &flow, &pod, &version, NULL };
static const struct vc_command vcctl = { .name = "vcctl", .subs = vcctl_subs };

/* ---- the short tools: -n is the name there, -N the namespace ---- */

static const struct vc_flag vsub_flags[] = {
    { 'c', "command", VC_STRING, AT(command), NULL, "the command of job" },
    { 'i', "image", VC_STRING, AT(image), NULL,
      "the container image of job, overwrite the value of 'VOLCANO_DEFAULT_IMAGE' (default \"busybox\")" },
    KUBECONFIG,
    LIMITS,
    MASTER,
    MIN,
    NAME('n', "job"),
    { 'N', "namespace", VC_STRING, AT(namespace), NULL,
      "the namespace of job, overwrite the value of 'VOLCANO_DEFAULT_JOB_NAMESPACE' (default \"default\")" },
    REPLICAS,
    REQUESTS,
    { 'S', "scheduler", VC_STRING, AT(scheduler), NULL,
      "the scheduler for this job, overwrite the value of 'VOLCANO_SCHEDULER_NAME' (default \"volcano\")" },
    END,
};
static const struct vc_flag vjobs_flags[] = {
    ALL("jobs"), KUBECONFIG, MASTER, NAME('n', "job"), NAMESPACE('N', "job"), SCHEDULER, SELECTOR, END,
};
static const struct vc_flag short_job_flags[] = { KUBECONFIG, MASTER, NAME('n', "job"), NAMESPACE('N', "job"), END };

static const struct vc_command
    vsub = { .name = "vsub",
             .about = "submit a job with specified name and arguments. yaml/json file is not accepted, you may refer "
                      "to kubectl.",
             .flags = vsub_flags,
             .run = vc_submit },
    vjobs = { .name = "vjobs",
              .about = "view information of a job with specified name or jobs from the same namespace",
              .flags = vjobs_flags,
              .run = vc_jobs },
    vqueues = { .name = "vqueues",
                .about = "view information of a queue with specified name or queues from the same namespace",
                .flags = one_queue_flags,
                .run = vc_queues },
    vcancel = { .name = "vcancel",
                .about =
                    "cancel a running, pending, or aborted job with specified name in default or specified namespace",
                .flags = short_job_flags,
                .run = vc_cancel },
    vsuspend = { .name = "vsuspend",
                 .about = "suspend a running or pending job with specified name in default or specified namespace",
                 .flags = short_job_flags,
                 .run = vc_job_suspend },
    vresume = { .name = "vresume",
                .about = "resume an aborted job with specified name in default or specified namespace",
                .flags = short_job_flags,
                .run = vc_job_resume };

const struct vc_command *const vc_tools[] = { &vcctl, &vsub, &vjobs, &vqueues, &vcancel, &vsuspend, &vresume, NULL };
