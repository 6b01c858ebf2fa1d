/* job_logs.c - `pumice job logs`: what the pods of a job write */
#include "base/util.h"
#include "ctl/logs.h"
#include "ctl/pod_pick.h"

int verb_job_logs(struct ctl_verb *v, struct err *e)
{
    VEC(struct logs_of) list = { 0 };
    struct pod_rows pods = { 0 };

    if (verb_needs_names(v, "job", e) < 0 || pod_pick(v, str_of(v->args.v[0]), &pods, e) < 0)
        return -1;
    VEC_FOREACH(row, &pods.v)
        *vec_push(v->arena, &list) = (struct logs_of){ row->object, str_of(v->o->container) };
    return logs_print(v, list.v, list.n, e);
}
