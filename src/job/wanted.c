/* wanted.c - the objects of a job, pods aside */
#include "job/wanted.h"

#include "job/native.h"
#include "job/volume.h"

int job_wanted(struct job *job, const struct plugin_set *set, struct plugin_objects *out, struct err *e)
{
    job_volumes_name(out->arena, job);
    if (plugin_set_objects(set, out, e) < 0)
        return -1;
    job_volumes_claims(job, out);
    return 0;
}

void job_wanted_group(const struct job *job, const struct priority_source *priorities, bool is_native,
                      struct plugin_objects *out)
{
    int64_t size = is_native ? native_gang_size(job) : 0;

    if (is_native)
        *vec_push(out->arena, &out->list) = native_workload_new(out->arena, job, size);
    *vec_push(out->arena, &out->list) = is_native ? native_group_new(out->arena, job, size)
                                                  : job_podgroup_new(out->arena, job, priorities);
}

struct json *job_markers(struct arena *a, const struct job *job, const struct plugin_set *set)
{
    struct json *markers = plugin_set_markers(set, a);

    job_volumes_markers(a, job, markers);
    return markers;
}
