/* pod_pick.c - which pods of a job a command is about */
#include "ctl/pod_pick.h"

#include "api/meta.h"
#include "base/util.h"

#define LABEL_TASK "volcano.sh/task-spec"

static int the_pod(struct ctl_verb *v, struct str name, struct pod_rows *ret, struct err *e)
{
    struct json *pod;

    if (ctl_get(&v->ctl, ctl_name("Pod", verb_namespace(v), name), &pod, e) < 0)
        return e->code == ERR_NOT_FOUND ? 0 : -1;
    *vec_push(v->arena, &ret->v) = (struct pod_row){ .object = pod };
    return 0;
}

int pod_pick(struct ctl_verb *v, struct str name, struct pod_rows *ret, struct err *e)
{
    struct pod_query query = { .namespace = verb_namespace(v), .job = name };
    struct json *job;

    if (!query.namespace.n)
        return err_set(e, ERR_SYNTAX, "a job needs one namespace; give -n NAMESPACE instead of -A");
    if (v->o->task)
        query.labels = arena_fmt(v->arena, LABEL_TASK "=%s", v->o->task);
    if (pod_select(&v->ctl, &query, ret, e) < 0)
        return -1;
    if (!ret->v.n && the_pod(v, name, ret, e) < 0)
        return -1;
    if (ret->v.n)
        return 0;
    if (ctl_get(&v->ctl, ctl_name("Job", query.namespace, name), &job, e) < 0)
        return -1;
    v->ctl.said = NULL;
    return err_set(e, ERR_NOT_FOUND, "job %.*s has no pods%s%s%s", STR_ARG(name), v->o->task ? " of task " : "",
                   v->o->task ? v->o->task : "", v->o->task ? "" : " yet; 'pumice job view' shows why");
}
