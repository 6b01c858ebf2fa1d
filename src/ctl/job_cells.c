/* job_cells.c - what columns show of a job */
#include "ctl/job_cells.h"

#include "api/admit/admit.h"
#include "api/meta.h"
#include "base/util.h"
#include "ctl/slurm.h"

static struct str cells_number(struct ctl_verb *v, const struct json *j)
{
    int64_t n = 0;

    (void)json_to_i64(j, &n); /* none is 0 */
    return arena_fmt(v->arena, "%lld", (long long)n);
}

int64_t job_replicas(const struct json *job)
{
    int64_t sum = 0, n;

    JSON_FOREACH(task, json_find(job, "spec", "tasks", NULL))
        sum += json_to_i64(json_get(task, "replicas"), &n) == 0 ? n : 1;
    return sum;
}

struct str job_phase_word(const struct json *job)
{
    return json_text(json_find(job, "status", "state", "phase", NULL), STR("Pending"));
}

const char *const job_end_phases[] = { "Completed", "Failed", "Terminated", "Aborted", NULL };

bool job_has_ended(struct str phase)
{
    for (const char *const *p = job_end_phases; *p; p++)
        if (str_is(phase, *p))
            return true;
    return false;
}

struct str cell_job_phase(struct ctl_verb *v, const struct json *job, const void *ctx)
{
    return job_phase_word(job);
}

struct str cell_job_pods(struct ctl_verb *v, const struct json *job, const void *ctx)
{
    int64_t running = 0;

    (void)json_to_i64(json_find(job, "status", "running", NULL), &running); /* none is 0 */
    return arena_fmt(v->arena, "%lld/%lld", (long long)running, (long long)job_replicas(job));
}

struct str cell_job_queue(struct ctl_verb *v, const struct json *job, const void *ctx)
{
    return json_text(json_find(job, "spec", "queue", NULL), STR("default"));
}

struct str cell_job_reason(struct ctl_verb *v, const struct json *job, const void *ctx)
{
    return reason_of(ctx, job);
}

struct str cell_job_min(struct ctl_verb *v, const struct json *job, const void *ctx)
{
    return cells_number(v, json_find(job, "spec", "minAvailable", NULL));
}

struct str cell_job_succeeded(struct ctl_verb *v, const struct json *job, const void *ctx)
{
    return cells_number(v, json_find(job, "status", "succeeded", NULL));
}

struct str cell_job_failed(struct ctl_verb *v, const struct json *job, const void *ctx)
{
    return cells_number(v, json_find(job, "status", "failed", NULL));
}

struct str cell_job_retries(struct ctl_verb *v, const struct json *job, const void *ctx)
{
    return cells_number(v, json_find(job, "status", "retryCount", NULL));
}

struct str cell_job_priority(struct ctl_verb *v, const struct json *job, const void *ctx)
{
    return json_text(json_find(job, "spec", "priorityClassName", NULL), STR_NULL);
}

struct str cell_job_type(struct ctl_verb *v, const struct json *job, const void *ctx)
{
    struct str type = object_label(job, "volcano.sh/job-type");

    return type.n ? type : STR("Batch");
}

/* Who made it, as the server knows him; else who says so. */
struct str cell_job_user(struct ctl_verb *v, const struct json *job, const void *ctx)
{
    struct str creator = object_annotation(job, JOB_CREATOR_ANNOTATION);

    return creator.n ? creator : object_annotation(job, SLURM_ANNOTATION_USER);
}
