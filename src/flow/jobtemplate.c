/* jobtemplate.c - which jobs were made from a template */
#include "flow/flow_internal.h"

#include "base/util.h"

/* The label is cut where it would be too long; the annotation never is. */
struct str jobtemplate_of(const struct json *job)
{
    struct str whole = object_annotation(job, BY_TEMPLATE_KEY);

    return whole.n ? whole : object_label(job, BY_TEMPLATE_KEY);
}

static int jobtemplate_by_name(const void *x, const void *y)
{
    return str_cmp(object_name(*(const struct json *const *)x), object_name(*(const struct json *const *)y));
}

void jobtemplate_plan(const struct json *template, const struct json *const *jobs, size_t n_jobs, struct plan *plan)
{
    const struct json *old = json_get(template, "status");
    struct arena *a = plan->arena;
    const struct json **sorted = arena_array(a, const struct json *, n_jobs + 1);
    struct json *status = old ? json_copy(a, old) : json_object(a), *list = json_array(a);

    if (is_deleting(template) || (!n_jobs && !json_count(json_get(old, "jobDependsOnList"))))
        return;
    for (size_t i = 0; i < n_jobs; i++)
        sorted[i] = jobs[i];
    qsort(sorted, n_jobs, sizeof(const struct json *), jobtemplate_by_name);
    for (size_t i = 0; i < n_jobs; i++)
        json_push(list, json_str(a, arena_str(a, object_name(sorted[i]))));
    json_set(status, "jobDependsOnList", list);
    if (!flow_same(old, status, "jobDependsOnList"))
        flow_write_status(template, FLOW_API_VERSION, "JobTemplate", status, plan);
}
