/* job.c - the Job as the program reads it */
#include "api/job.h"

#include "api/admit/admit_internal.h"
#include "base/util.h"

enum { FEW_TASKS = 32 };

static const struct name_map *index_tasks(struct arena *a, const struct job_spec *spec)
{
    struct name_map *index;

    if (spec->tasks.n <= FEW_TASKS)
        return NULL;
    index = arena_new(a, struct name_map);
    for (size_t i = 0; i < spec->tasks.n; i++)
        (void)name_map_add(a, index, spec->tasks.v[i].name, i, NULL); /* the first of a name counts */
    return index;
}

void job_decode(struct arena *a, struct json *obj, struct job *ret)
{
    schema_decode(a, &schema_job, obj, ret);
    ret->status.phase = json_member_text(json_get(ret->status.raw, "state"), "phase");
    ret->task_index = index_tasks(a, &ret->spec);
}

const struct job_task *job_task_by_name(const struct job *job, struct str name, size_t *ret_pos)
{
    size_t at;

    /* A copy of the job may have fewer tasks than the one that was decoded, and its own names. */
    if (job->task_index && name_map_find(job->task_index, name, &at) && at < job->spec.tasks.n &&
        str_eq(job->spec.tasks.v[at].name, name)) {
        if (ret_pos)
            *ret_pos = at;
        return &job->spec.tasks.v[at];
    }
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

bool indices_next(struct str *rest, uint32_t *ret_from, uint32_t *ret_to)
{
    for (struct str part; str_split(rest, ',', &part);) {
        ptrdiff_t dash = str_find_char(part, '-');
        uint64_t from, to;

        if (str_to_u64(dash < 0 ? part : str_sub(part, 0, (size_t)dash), &from) < 0)
            continue;
        to = from;
        if (dash >= 0 && str_to_u64(str_from(part, (size_t)dash + 1), &to) < 0)
            continue;
        if (from > to || from >= UINT32_MAX)
            continue;
        *ret_from = (uint32_t)from;
        *ret_to = (uint32_t)MIN_OF(to, UINT32_MAX - 1);
        return true;
    }
    return false;
}

int64_t indices_count(struct str text)
{
    int64_t sum = 0;

    for (uint32_t from, to; indices_next(&text, &from, &to);)
        sum = MIN_OF(sum + to - from + 1, INT32_MAX);
    return sum;
}

struct str job_task_done(const struct json *status, struct str task)
{
    JSON_FOREACH(note, json_get(status, "controlledResources")) {
        struct str key = json_key(note);

        if (str_starts(key, STR(JOB_NOTE_DONE)) && str_eq(str_from(key, STR(JOB_NOTE_DONE).n), task))
            return json_text(note, STR_NULL);
    }
    return STR_NULL;
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
