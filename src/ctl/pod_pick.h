/* pod_pick.h - which pods of a job a command is about */
#ifndef CTL_POD_PICK_H
#define CTL_POD_PICK_H

#include "ctl/pod.h"
#include "ctl/verb.h"

/* The pods of the job 'name' (with --task those of the task), or the pod of that name. An error if there is none. */
int pod_pick(struct ctl_verb *v, struct str name, struct pod_rows *ret, struct err *e);

#endif
