/* logs.h - print the logs of pods: one pod after the other, or with --follow all at once
 *
 * --follow, --previous, --timestamps, --tail, --since and --prefix are those of the verb. Lines of several have the
 * name of the pod in front.
 */
#ifndef CTL_LOGS_H
#define CTL_LOGS_H

#include "ctl/verb.h"

struct logs_of {
    const struct json *pod;
    struct str container; /* empty: the one that the server chooses */
};

/* Goes on with the others when one fails; the last failure is the error. */
int logs_print(struct ctl_verb *v, const struct logs_of *list, size_t n, struct err *e);

#endif
