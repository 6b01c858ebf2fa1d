/* admission.h - what is done to an object before it is stored: one table by kind and operation
 *
 * For everybody who takes objects: the server, the webhook, and the command line (`run`, `validate`, `render`). The rules
 * themselves are in api/admit/admit.h, job/admit.h and flow/admit.h; who takes the object says what it knows of the cluster.
 * The table has Volcano's kinds, and what Volcano adds to Pods. Rules of Kubernetes' own kinds are for an API server: ours
 * has them in src/server.
 */
#ifndef ADMISSION_ADMISSION_H
#define ADMISSION_ADMISSION_H

#include "api/admit/admit.h"
#include "job/admit.h"

enum admission_operation {
    ADMISSION_DEFAULT, /* defaults of a new object: what is wrong with it is not told */
    ADMISSION_WRITE,   /* a create or an update: defaults, then rules */
    ADMISSION_DELETE,  /* may 'old' be deleted? */
    ADMISSION_OPERATION_MAX,
};

struct admission_call {
    struct arena *arena;
    struct json *object;    /* defaulted in place. NULL: a delete */
    const struct json *old; /* NULL: a create */
    const struct admit_env *env;
    struct problems *problems;

    /* Jobs: what job_admit() takes and returns. All may be NULL. */
    const struct plugin_world *world;
    struct job *ret_job;
    struct plugin_set **ret_set;
};

/* False: nothing is done for this operation on this kind. */
bool admission_admit(enum admission_operation operation, const char *group, const char *kind,
                     const struct admission_call *call);

#endif
