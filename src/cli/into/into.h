/* into.h - into the pods of runs of this user on this machine: ps, top, exec, attach, logs, cp, port-forward
 *
 * Runs are found by their control sockets (run/control.h) below the state directory; one without a listener belongs
 * to a dead run and is passed over. A pod is named as `pumice ps` shows it, or as the output of its run calls it: "train-worker-0",
 * "worker-0", "train/worker-0", "worker-0/sidecar"; also "other/train-worker-0" of a namespace, and "pod/train-worker-0".
 */
#ifndef CLI_INTO_INTO_H
#define CLI_INTO_INTO_H

#include "cli/options.h"
#include "json/json.h"
#include "kube/ask.h"

#include <sys/types.h>

struct into_options { /* of all of them */
    const char *state, *run, *namespace, *container;
    bool stdin_, tty;                                          /* exec, attach */
    bool follow, previous, timestamps, prefix, all_containers; /* logs */
    const char *tail, *since;
    const char *address, *output;
    bool quiet, no_headers;
};

struct into_run {
    struct str id;
    struct kube_config config;
    struct kube_ask *ask;
    const struct json *about, *pods; /* of /run, and the items of its PodList */
    pid_t pid;                       /* 0: not known */
    bool is_stopped;                 /* it does not answer: 'about' and 'pods' are what it left, and may be NULL */
};

struct into {
    struct arena *arena;
    const struct into_options *o;
    VEC(struct into_run *) runs; /* the oldest first */
    size_t n_silent;             /* that are there and do not answer: it was said */
};

struct into_pod {
    struct into_run *run;
    const struct json *pod;
    struct str container; /* -c, the one that the pod names, or the first */
};

/* All that answer or are stopped, or the one of --run. Of those that do not a line on standard error says so. */
int into_open(struct into *x, struct err *e);
void into_close(struct into *x);
#define autointo __attribute__((cleanup(into_close))) struct into

/* The one pod of that name. ERR_NOT_FOUND lists the pods, ERR_CONFLICT the runs, or says that the run is stopped. */
int into_pick(struct into *x, struct str name, struct into_pod *ret, struct err *e);
/* The pod, or all pods of the job of that name; empty: all there are. Those of a run that is stopped are left out, which
 * is said, or is the error where there are no others. */
struct into_pods {
    VEC(struct into_pod) v;
};
int into_pick_all(struct into *x, struct str name, struct into_pods *ret, struct err *e);

void into_tell_stopped(const struct into_run *r); /* a line on standard error */

/* "/api/v1/namespaces/NS/pods/POD/what" */
void into_path(struct buf *out, const struct into_pod *p, const char *what);
/* A question with a short answer: within some seconds, or the run is stopped. */
int into_get(struct into *x, struct into_run *r, struct str path, struct json **ret, struct err *e);

/* Say it on standard error, and the exit status that goes with it: 2 for wrong use, 1 for the rest. */
int into_fail(const char *command, const struct err *e);

/* ---- rows of option tables ---- */

#define INTO_FIELD(name) offsetof(struct into_options, name)
#define INTO_WHERE                                                                                                     \
    OPTION_ROW(0, "run", OPTION_TEXT, INTO_FIELD(run), "ID", NULL, "of this run; 'pumice ps' lists them"),             \
        OPTION_ROW(0, "state", OPTION_TEXT, INTO_FIELD(state), "DIR", NULL,                                            \
                   "where runs keep their files, as `pumice run` has it")
#define INTO_POD                                                                                                       \
    OPTION_ROW('n', "namespace", OPTION_TEXT, INTO_FIELD(namespace), "NAME", NULL, "of the pod (default: any)"),       \
        INTO_WHERE
#define INTO_CONTAINER                                                                                                 \
    OPTION_ROW('c', "container", OPTION_TEXT, INTO_FIELD(container), "NAME", NULL,                                     \
               "which container (default: the first)")

extern const struct foreign_option into_foreign[]; /* --kubeconfig and the like: of other commands */

#endif
