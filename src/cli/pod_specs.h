/* pod_specs.h - the specs of all pods that the files ask for: templates of tasks, and pods of their own */
#ifndef CLI_POD_SPECS_H
#define CLI_POD_SPECS_H

#include "cli/load.h"

struct pod_spec {
    struct loaded *doc;
    struct str namespace, job, task; /* job and task: empty for a pod of its own */
    size_t task_index;
    struct str name; /* of the document */
    int64_t replicas;
    const struct json *spec;
    struct str path; /* "spec.tasks[worker].template.spec"; "spec" */
};

struct pod_specs {
    VEC(struct pod_spec) list;
};

/* In the order of the files. */
void pod_specs_of(struct arena *a, const struct load *l, struct pod_specs *ret);

#endif
