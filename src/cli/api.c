/* api.c - the commands `pumice job`, `queue`, `pod`, `jobflow` and `jobtemplate` */
#include "cli/api.h"

#include "base/util.h"
#include "cli/commands.h"

const char *const api_dry_runs[] = { "client", "server", NULL };

int api_run(struct arena *a, const struct command *c, const struct api_options *given,
            const struct text_list *arguments)
{
    struct ctl_options o = given->o;

    o.env = (struct ctl_words){ given->env.list.v, given->env.list.n };
    o.slurm = &given->slurm;
    return ctl_run(a, c->name, &o, (struct ctl_words){ arguments->list.v, arguments->list.n }, c->verb);
}

#define COMMAND(does, words, args, line, more, list, shown)                                                            \
    {                                                                                                                  \
        .name = words, .arguments = args, .summary = line, .about = more, .options = list,                             \
        .n_options = ARRAY_LEN(list), .options_size = sizeof(struct api_options), .examples = shown, .verb = does      \
    }

/* ---- groups ---- */

#define GROUP(word, line, more, shown)                                                                                 \
    {                                                                                                                  \
        .name = word, .arguments = "[COMMAND]", .summary = line, .about = more, .examples = shown, .is_group = true    \
    }

#define ANY_API                                                                                                        \
    "\n\nThe API is that of a Pumice server or of any cluster with Volcano's kinds, found as kubectl finds it:\n"      \
    "--kubeconfig, KUBECONFIG, ~/.kube/config. Exit status: 0 success, 1 failure, 2 wrong use, 3 refused by the\n"     \
    "server, 4 timeout, 5 not found."

static const char *const job_examples[] = {
    "pumice job run -f job.yaml --wait",
    "submit it, wait, and end as it ended",
    "pumice job list -A -o wide",
    "all jobs, and why they wait",
    "pumice job logs -f train",
    "what its pods write, as they write it",
    "pumice job exec -it train -- sh",
    "a shell in its first pod",
    NULL,
};
const struct command command_job = GROUP("job", "list, view, run, suspend, resume, delete, follow and wait for jobs",
                                         "Volcano Jobs by their API." ANY_API, job_examples);
static const char *const queue_examples[] = { "pumice queue list -o wide", "with what each deserves, may have and uses",
                                              "pumice queue operate close night --wait",
                                              "no new jobs; until the last one has ended", NULL };
const struct command command_queue = GROUP("queue", "list, create, open, close and delete queues",
                                           "Volcano's queues by their API." ANY_API, queue_examples);
const struct command command_pod = GROUP("pod", "list the pods of jobs and queues", "Pods that belong to jobs." ANY_API,
                                         NULL);
const struct command command_flow = GROUP("jobflow", "list, create and delete flows of jobs",
                                          "JobFlows: jobs that wait for each other." ANY_API, NULL);
const struct command command_template = GROUP("jobtemplate", "list, create and delete templates of jobs",
                                              "JobTemplates: what JobFlows make jobs of." ANY_API, NULL);

/* ---- job ---- */

static const struct option job_list_options[] = {
    API_NAMESPACE,
    API_ALL_NAMESPACES,
    API_LABELS,
    API_TEXT('q', "queue", queue, "NAME", "of this queue"),
    API_TEXT(0, "phase", phase, "PHASE", "in this phase: Pending, Running, Completed …"),
    API_TEXT('u', "user", user, "NAME", "made by this user"),
    API_FLAG('a', "all", all, "also those that ended more than an hour ago"),
    API_WATCH,
    API_OUTPUT,
    API_HEADERS,
    API_SORT,
    API_WHERE,
};
static const char *const job_list_examples[] = {
    "pumice job list --phase pending -q night",
    "those that wait in one queue",
    "pumice job list -o custom-columns=JOB:.metadata.name,TASKS:.spec.tasks[*].name",
    "columns of one's own",
    NULL,
};
const struct command command_job_list = COMMAND(
    verb_job_list, "job list", "[JOB…]", "list jobs, and why they wait",
    "Jobs of a namespace that wait, run, or ended within the last hour; or those that are named. REASON is one "
    "word about a job that waits: Resources, QueueLimit,\n"
    "QueueClosed, QueueMissing, NeverFits, Priority, Topology …; 'pumice explain JOB' tells the whole story.",
    job_list_options, job_list_examples);

static const struct option job_view_options[] = { API_NAMESPACE, API_OUTPUT, API_WHERE };
const struct command command_job_view = COMMAND(
    verb_job_view, "job view", "[JOB…]", "show a job, its tasks, pods and events",
    "All about a job: phase, why it waits, tasks, pods, and the events of this very job.", job_view_options, NULL);

static const struct option job_run_options[] = {
    API_TEXT('f', "file", file, "FILE", "Jobs to submit ('-': standard input); without it, one of the options below"),
    API_TEXT('N', "name", name, "NAME", "of the job (default: a new one)"),
    API_TEXT('i', "image", image, "IMAGE", "of its containers (default: busybox)"),
    API_TEXT('r', "replicas", replicas, "N", "pods (default: 1)"),
    API_TEXT('m', "min", min, "N", "that must run together (default: all)"),
    API_TEXT('R', "requests", requests, "LIST", "of each pod: cpu=2,memory=1Gi (default: cpu=1,memory=100Mi)"),
    API_TEXT('L', "limits", limits, "LIST", "of each pod (default: none)"),
    API_TEXT('q', "queue", queue, "NAME", "its queue (default: the server's)"),
    API_TEXT(0, "priority-class", priority_class, "NAME", "its PriorityClass"),
    API_TEXT('S', "scheduler", scheduler, "NAME", "its scheduler (default: volcano)"),
    { 'e', "env", OPTION_LIST, offsetof(struct api_options, env), "NAME=VALUE", NULL,
      "a variable of its programs; as often as needed" },
    API_NAMESPACE,
    API_WAIT,
    API_TIMEOUT,
    API_DRY_RUN,
    API_OUTPUT,
    API_WHERE,
};
static const char *const job_run_examples[] = {
    "pumice job run -f job.yaml", "submit what is in a file", "pumice job run -i debian:12 -r 4 --wait -- hostname",
    "four pods that run together; the exit status says whether all went well", NULL
};
const struct command command_job_run = COMMAND(
    verb_job_run, "job run", "[COMMAND…]", "submit a job, from a file or from options",
    "Submits Jobs. With --wait it ends when they have, and its exit status is 0 only if all are Completed.",
    job_run_options, job_run_examples);

static const struct option order_options[] = {
    API_NAMESPACE, API_LABELS, API_FLAG(0, "all", all, "all jobs of the namespace"), API_WAIT, API_TIMEOUT,
    API_DRY_RUN,   API_WHERE,
};
const struct command command_job_suspend = COMMAND(
    verb_job_suspend, "job suspend", "[JOB…]", "abort jobs: their pods end, and they can be resumed",
    "Suspending kills the pods of a job; nothing of what they did is kept but what they wrote. 'pumice job resume' "
    "starts\n"
    "it again.",
    order_options, NULL);
const struct command command_job_resume = COMMAND(verb_job_resume, "job resume", "[JOB…]", "start suspended jobs again",
                                                  "Jobs that are Aborted become Pending again.", order_options, NULL);
const struct command command_job_delete = COMMAND(verb_job_delete, "job delete", "[JOB…]",
                                                  "delete jobs, and their pods with them",
                                                  "Deletes jobs and all they made.", order_options, NULL);

static const struct option job_logs_options[] = {
    API_FLAG('f', "follow", follow, "go on until all have ended"),
    API_TEXT('t', "task", task, "TASK", "only pods of this task"),
    API_TEXT('c', "container", container, "NAME", "which container (default: the only one)"),
    API_TEXT(0, "tail", tail, "N", "only the last lines"),
    API_TEXT(0, "since", since, "TIME", "only what is younger: 10m"),
    API_FLAG(0, "timestamps", timestamps, "each line with its time"),
    API_FLAG('p', "previous", previous, "of the container before it was restarted"),
    API_FLAG(0, "prefix", prefix, "the pod's name in front of each line, also if there is only one"),
    API_NAMESPACE,
    API_WHERE,
};
const struct command command_job_logs = COMMAND(
    verb_job_logs, "job logs", "[JOB]", "print or follow what the pods of a job write",
    "Lines of several pods have the pod's name in front. JOB may also be the name of a pod.", job_logs_options, NULL);

static const struct option job_exec_options[] = {
    API_FLAG('i', "stdin", stdin_, "pass standard input on"),
    API_FLAG('t', "tty", tty, "with a terminal"),
    API_TEXT(0, "task", task, "TASK", "in the first pod of this task"),
    API_TEXT('c', "container", container, "NAME", "which container (default: the first)"),
    API_NAMESPACE,
    API_WHERE,
};
static const char *const job_exec_examples[] = { "pumice job exec -it train -- sh", "a shell in the first pod of a job",
                                                 "pumice job exec train-worker-3 -- nvidia-smi", "in a certain pod",
                                                 NULL };
const struct command command_job_exec = COMMAND(
    verb_job_exec, "job exec", "[JOB COMMAND…]", "run a program in a pod of a job",
    "In the first pod of the job, or in the pod of that name. The exit status is that of the program.",
    job_exec_options, job_exec_examples);

static const struct option job_wait_options[] = {
    API_TEXT(0, "for", condition, "WHAT",
             "phase=PHASE[,PHASE…], delete or over (default: over, and 1 unless it is Completed)"),
    API_TIMEOUT,
    API_NAMESPACE,
    API_WHERE,
};
static const char *const job_wait_examples[] = { "pumice job wait train --for phase=Running --timeout 10m",
                                                 "until it runs, but not longer than ten minutes", NULL };
const struct command command_job_wait = COMMAND(
    verb_job_wait, "job wait", "[JOB…]", "wait until jobs are in a phase, over or gone",
    "Waits by watching. Exit status 4: the time was over; 5: it was deleted during the wait.", job_wait_options,
    job_wait_examples);

static const struct option job_top_options[] = { API_NAMESPACE, API_ALL_NAMESPACES, API_LABELS, API_HEADERS,
                                                 API_WHERE };
const struct command command_job_top = COMMAND(
    verb_job_top, "job top", "[JOB…]", "show what the pods of jobs use",
    "Cores and memory, as metrics.k8s.io has them; a cluster that does not measure says so.", job_top_options, NULL);

/* ---- queue ---- */

static const struct option queue_list_options[] = {
    API_LABELS, API_WATCH, API_OUTPUT, API_HEADERS, API_SORT, API_WHERE
};
const struct command command_queue_list = COMMAND(
    verb_queue_list, "queue list", "[QUEUE…]", "list queues, and how many groups of pods are in them",
    "PENDING, INQUEUE and RUNNING count PodGroups by their phase.", queue_list_options, NULL);
const struct command command_queue_get = COMMAND(verb_queue_get, "queue get", "[QUEUE…]", "show certain queues",
                                                 "As 'queue list', of those that are named.", queue_list_options, NULL);
static const char *const queue_states[] = { "Open", "Closed", NULL };
static const struct option queue_create_options[] = {
    API_TEXT('w', "weight", weight, "N", "its share beside others (default: 1)"),
    API_TEXT(0, "parent", parent, "QUEUE", "the queue it is below (default: root)"),
    { 'S', "state", OPTION_TEXT, API_AT(state), "STATE", queue_states,
      "Open (default) or Closed: closed once it is there" },
    API_WAIT,
    API_TIMEOUT,
    API_DRY_RUN,
    API_WHERE,
};
const struct command command_queue_create = COMMAND(verb_queue_create, "queue create", "[QUEUE…]", "create queues",
                                                    "Creates queues.", queue_create_options, NULL);
static const struct option queue_delete_options[] = { API_WAIT, API_TIMEOUT, API_DRY_RUN, API_WHERE };
const struct command command_queue_delete = COMMAND(verb_queue_delete, "queue delete", "[QUEUE…]", "delete queues",
                                                    "Deletes queues; one with children or 'default' is refused.",
                                                    queue_delete_options, NULL);
static const struct option queue_operate_options[] = {
    API_TEXT('w', "weight", weight, "N", "with update: the new weight"), API_WAIT, API_TIMEOUT, API_DRY_RUN, API_WHERE,
};
const struct command command_queue_operate = COMMAND(
    verb_queue_operate, "queue operate", "[ACTION QUEUE…]", "open, close or update queues",
    "ACTION is open, close or update. A closed queue takes no new jobs; it is Closing while there are some in it.",
    queue_operate_options, NULL);

/* ---- pod ---- */

static const struct option pod_list_options[] = {
    API_TEXT('j', "job", job, "NAME", "of this job"),
    API_TEXT('q', "queue", queue, "NAME", "of this queue"),
    API_NAMESPACE,
    API_ALL_NAMESPACES,
    API_LABELS,
    API_WATCH,
    API_OUTPUT,
    API_HEADERS,
    API_SORT,
    API_WHERE,
};
const struct command command_pod_list = COMMAND(verb_pod_list, "pod list", "", "list the pods of jobs",
                                                "As kubectl shows them; those of jobs, or of one job or queue.",
                                                pod_list_options, NULL);

/* ---- jobflow, jobtemplate ---- */

static const struct option flow_list_options[] = { API_NAMESPACE, API_ALL_NAMESPACES, API_LABELS, API_WATCH,
                                                   API_OUTPUT,    API_HEADERS,        API_SORT,   API_WHERE };
static const struct option flow_file_options[] = {
    API_TEXT('f', "file", file, "FILE", "what to send ('-': standard input); documents are parted by lines of ---"),
    API_NAMESPACE,
    API_WAIT,
    API_TIMEOUT,
    API_DRY_RUN,
    API_WHERE,
};
const struct command command_flow_list = COMMAND(verb_flow_list, "jobflow list", "[FLOW…]", "list flows",
                                                 "JobFlows; with -o yaml or json as they are.", flow_list_options,
                                                 NULL);
const struct command command_flow_create = COMMAND(
    verb_flow_create, "jobflow create", "", "create flows from a file",
    "One that is refused does not keep the others; the exit status tells. With --wait, until they have ended: 1 "
    "unless\n"
    "all have succeeded.",
    flow_file_options, NULL);
const struct command command_flow_delete = COMMAND(verb_flow_delete, "jobflow delete", "[FLOW…]",
                                                   "delete flows, by name or by file",
                                                   "Deletes flows and the jobs they made.", flow_file_options, NULL);
const struct command command_template_list = COMMAND(
    verb_template_list, "jobtemplate list", "[TEMPLATE…]", "list templates",
    "JobTemplates; with -o yaml or json as they are.", flow_list_options, NULL);
const struct command command_template_create = COMMAND(
    verb_template_create, "jobtemplate create", "", "create templates from a file",
    "One that is refused does not keep the others; the exit status tells.", flow_file_options, NULL);
const struct command command_template_delete = COMMAND(verb_template_delete, "jobtemplate delete", "[TEMPLATE…]",
                                                       "delete templates, by name or by file", "Deletes templates.",
                                                       flow_file_options, NULL);
const struct command command_flow_get = COMMAND(verb_flow_list, "jobflow get", "[FLOW…]", "show certain flows",
                                                "As 'jobflow list', of those that are named.", flow_list_options, NULL);
const struct command command_flow_describe = COMMAND(
    verb_flow_describe, "jobflow describe", "[FLOW…]", "print flows as YAML",
    "As they are, so that they can be applied again; several as one List.", flow_list_options, NULL);
const struct command command_template_get = COMMAND(
    verb_template_list, "jobtemplate get", "[TEMPLATE…]", "show certain templates",
    "As 'jobtemplate list', of those that are named.", flow_list_options, NULL);
const struct command command_template_describe = COMMAND(
    verb_template_describe, "jobtemplate describe", "[TEMPLATE…]", "print templates as YAML",
    "As they are, so that they can be applied again; several as one List.", flow_list_options, NULL);
