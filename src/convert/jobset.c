/* jobset.c - a JobSet: several kinds of pods that run together
 *
 * Each of its replicatedJobs is a task, all pods are one gang, and the svc plugin gives them names.
 */
#include "convert/convert_internal.h"

#include "base/util.h"

/* ---- one of its jobs ---- */

static void depend_on(struct conversion *c, struct json *task, struct str name)
{
    struct json *depends = json_need_object(c->arena, task, "dependsOn");

    json_push(json_need_array(c->arena, depends, "name"), json_str(c->arena, name));
    json_set(depends, "iteration", json_str(c->arena, STR("all")));
}

static void take_depends(struct conversion *c, struct json *task, const struct place *list)
{
    size_t i = 0;

    JSON_FOREACH(node, list->node) {
        struct place item = place_item(list, node, i++), status = place_member(&item, "status");

        depend_on(c, task, json_member_text(node, "name"));
        if (str_is(json_text(status.node, STR_NULL), "Complete"))
            problem_warn(c->problems, &status, "a task waits until those before it run, not until they have ended");
    }
}

static const struct row job_rows[] = {
    { "name", NULL, NULL },
    { "replicas", NULL, NULL },
    { "template", NULL, NULL },
    { "dependsOn", NULL, NULL },
    { "groupName", NULL, "tasks have no groups" },
};

static void jobset_take_job(struct conversion *c, const struct place *job)
{
    struct place name = place_member(job, "name"), template = place_member(job, "template"),
                 spec = place_member(&template, "spec"), depends = place_member(job, "dependsOn");
    struct batch_defaults defaults = { json_i64(json_get(job->node, "replicas"), 1), "OnFailure", true };
    struct part part;

    if (!json_text(name.node, STR_NULL).n)
        problem_error(c->problems, &name, "each of the replicatedJobs needs a name");
    convert_rows(c, job, job_rows, ARRAY_LEN(job_rows), c);
    part = convert_batch_spec(c, json_text(name.node, STR_NULL), &spec, &defaults);
    take_depends(c, part.task, &depends);
    if (defaults.times > 1)
        problem_warn(c->problems, &name,
                     "its %lld Jobs are one task of %lld pods; JOB_COMPLETION_INDEX counts through all of them",
                     (long long)defaults.times, (long long)part.replicas);
}

static void take_jobs(void *to, const struct place *list)
{
    size_t i = 0;

    JSON_FOREACH(node, list->node) {
        struct place job = place_item(list, node, i++);

        jobset_take_job(to, &job);
    }
}

/* ---- what holds for all ---- */

static void take_startup(void *to, const struct place *at)
{
    struct conversion *c = to;
    const struct json *last = NULL;

    if (!str_is(json_member_text(at->node, "startupPolicyOrder"), "InOrder"))
        return;
    JSON_FOREACH(task, c->tasks) {
        if (last)
            depend_on(c, task, json_member_text(last, "name"));
        last = task;
    }
}

static void take_success(void *to, const struct place *at)
{
    struct conversion *c = to;
    struct place operator= place_member(at, "operator"), targets = place_member(at, "targetReplicatedJobs");
    bool any = str_is(json_text(operator.node, STR("All")), "Any");
    size_t n = json_count(targets.node);

    if (any)
        problem_warn(c->problems, &operator,
                     "the job ends with the first task that completes, not with the first Job of a task");
    if (n > 1 && !any) {
        problem_warn(c->problems, &targets,
                     "not carried over: a job can complete with one task, not with several; now all tasks have to end");
        return;
    }
    JSON_FOREACH(task, c->tasks) {
        struct part part = { .all = c, .task = task };
        bool is_target = n == 0 && any;

        JSON_FOREACH(target, targets.node)
            is_target |= str_eq(json_text(target, STR_NULL), json_member_text(task, "name"));
        if (is_target)
            part_policy(&part, "TaskCompleted", 0, "CompleteJob");
    }
}

static const struct row failure_rows[] = {
    { "maxRestarts", NULL, NULL },
    { "rules", NULL, "policies of a Volcano Job go by events and exit codes: write them by hand" },
    { "restartStrategy", NULL, "all pods of a job are restarted together" },
};

static void take_failure(void *to, const struct place *at)
{
    struct conversion *c = to;

    convert_rows(c, at, failure_rows, ARRAY_LEN(failure_rows), c);
}

static void take_network(void *to, const struct place *at)
{
    struct conversion *c = to;
    struct place subdomain = place_member(at, "subdomain");

    if (subdomain.node)
        problem_warn(c->problems, &subdomain, "not carried over: the subdomain of a Volcano Job is its name");
}

static const struct row rows[] = {
    { "replicatedJobs", take_jobs, NULL },
    { "startupPolicy", take_startup, NULL },
    { "successPolicy", take_success, NULL },
    { "failurePolicy", take_failure, NULL },
    { "network", take_network, NULL },
    { "ttlSecondsAfterFinished", take_ttl, NULL },
    { "suspend", take_suspend, NULL },
    { "coordinator", NULL, "the svc plugin gives every pod the names of all: VC_<TASK>_HOSTS, /etc/volcano" },
    { "managedBy", NULL, "the controller of Volcano Jobs manages it" },
    { "volumeClaimPolicies", NULL, "spec.volumes of a Volcano Job makes claims" },
};

/* A JobSet restarts as a whole; its Jobs replace a pod before that. Here there is one counter only. */
static void set_retries(struct conversion *c, int64_t restarts)
{
    bool whole = restarts > 0;

    if (whole || c->retries < 0)
        c->retries = whole ? restarts : BACKOFF_LIMIT;
    convert_policy(c, "PodFailed", whole ? "RestartJob" : c->retries ? "RestartPod" : "TerminateJob");
}

void convert_jobset(struct conversion *c, const struct place *root)
{
    struct place spec = place_member(root, "spec"), jobs = place_member(&spec, "replicatedJobs");

    (void)convert_plugin(c, "env");
    (void)convert_plugin(c, "svc");
    convert_rows(c, &spec, rows, ARRAY_LEN(rows), c);
    set_retries(c, json_i64(json_find(spec.node, "failurePolicy", "maxRestarts", NULL), 0));
    if (json_count(jobs.node) == 0)
        problem_of(c->problems, PROBLEM_REQUIRED, &jobs, "must not be empty");
    else
        problem_warn(
            c->problems, &jobs,
            "pods are now named JOB-TASK-INDEX, with the host name JOB-TASK-INDEX.JOB; change commands that name them");
}
