/* job_exec.c - `pumice job exec`: a program in a pod of a job */
#include "api/meta.h"
#include "base/util.h"
#include "ctl/exec.h"
#include "ctl/pod_pick.h"
#include "kube/path.h"

int verb_job_exec(struct ctl_verb *v, struct err *e)
{
    struct pod_rows pods = { 0 };
    autobuf path = { 0 };

    if (v->args.n < 2)
        return err_set(e, ERR_SYNTAX, "missing job or command; use: pumice job exec NAME -- COMMAND…");
    if (v->o->tty && !isatty(STDIN_FILENO))
        fprintf(stderr, "pumice job exec: standard input is not a terminal; its size and keys are not passed on\n");
    if (pod_pick(v, str_of(v->args.v[0]), &pods, e) < 0)
        return -1;
    path_object(&path, ctl_type("Pod"), object_namespace(pods.v.v[0].object), object_name(pods.v.v[0].object), "exec");
    exec_query(&path, str_of(v->o->container), v->o->stdin_, v->o->tty);
    for (size_t i = 1; i < v->args.n; i++)
        path_query(&path, "command", str_of(v->args.v[i]));
    return exec_talk(&(struct exec_talk){ v->ctl.ask, buf_view(&path), v->o->stdin_, v->o->tty, false }, &v->status, e);
}
