/* pod_pick.h - which pods of a job a command is about */
#ifndef CTL_POD_PICK_H
#define CTL_POD_PICK_H

#include "ctl/pod.h"
#include "ctl/verb.h"

/* Of the job 'name', those of --task if it is given; or the pod of that name. At least one, else an error that says
 * what there is. */
int pod_pick(struct ctl_verb *v, struct str name, struct pod_rows *ret, struct err *e);

#endif
