/* job.c - the Job as the program reads it */
#include "api/job.h"

#include "base/util.h"

void job_decode(struct arena *a, struct json *obj, struct job *ret)
{
    schema_decode(a, &schema_job, obj, ret);
    ret->status.phase = json_member_text(json_get(ret->status.raw, "state"), "phase");
}

const struct job_task *job_task_by_name(const struct job *job, struct str name, size_t *ret_pos)
{
    for (size_t i = 0; i < job->spec.tasks.n; i++) {
        if (!str_eq(job->spec.tasks.v[i].name, name))
            continue;
        if (ret_pos)
            *ret_pos = i;
        return &job->spec.tasks.v[i];
    }
    return NULL;
}

int64_t job_total_replicas(const struct job *job)
{
    int64_t total = 0;

    for (size_t i = 0; i < job->spec.tasks.n; i++)
        total += job->spec.tasks.v[i].replicas;
    return total;
}

int32_t job_task_minimum(const struct job_task *task)
{
    const struct job_partition *p = task->partition;

    if (task->min_available)
        return *task->min_available;
    if (p && p->min_partitions > 0 && p->partition_size > 0) { /* the product of two numbers from outside */
        int64_t product = (int64_t)p->min_partitions * p->partition_size;

        return (int32_t)MIN_OF(product, INT32_MAX);
    }
    return task->replicas;
}

struct str job_pod_name(struct arena *a, const struct job *job, const struct job_task *task, uint32_t index)
{
    return arena_fmt(a, "%.*s-%.*s-%u", STR_ARG(job->meta.name), STR_ARG(task->name), index);
}

struct json *job_task_pod_spec(const struct job_task *task)
{
    struct json *spec = json_get(task->template, "spec");

    return json_is(spec, JSON_OBJECT) ? spec : NULL;
}

struct str job_pod_domain(struct arena *a, const struct job *job, const struct job_task *task, uint32_t index)
{
    const struct json *spec = job_task_pod_spec(task);
    struct str host = json_member_text(spec, "hostname"), subdomain = json_member_text(spec, "subdomain");

    if (!host.n)
        host = job_pod_name(a, job, task, index);
    if (!subdomain.n)
        subdomain = job->meta.name;
    return arena_fmt(a, "%.*s.%.*s", STR_ARG(host), STR_ARG(subdomain));
}
