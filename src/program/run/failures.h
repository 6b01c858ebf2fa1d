/* failures.h - failures as they happen: those that are alike are one, with a count */
#ifndef PROGRAM_RUN_FAILURES_H
#define PROGRAM_RUN_FAILURES_H

#include "history/history.h"

struct run_kind {                  /* failures that are alike are reported as one */
    const struct history_job *job; /* NULL: of pods of their own */
    struct str label;              /* of the first pod */
    struct str task, container;    /* container: empty where the pod has no other */
    struct str words, tail;
    struct str hint; /* what to do; may be empty */
    size_t n_pods, told_pods;
    int64_t n_times, told_times;
    int64_t since_ms, told_ms;
    bool is_final;   /* the pod has failed with it: nothing is started again */
    bool is_seen;    /* its last lines stand right above */
    bool is_named;   /* lines of the pods say who has failed, and how */
    struct map pods; /* "namespace/name": a pod that a restart creates again is the same one to the reader */
};

struct run_failures {
    struct arena arena;
    VEC(struct run_kind *) kinds;
    struct map kinds_by_key, counts; /* counts: int64_t by "uid/container" */
};

void run_failures_init(struct run_failures *f);
void run_failures_done(struct run_failures *f);
/* NULL: there are too many kinds. */
struct run_kind *run_failures_add(struct run_failures *f, const struct history_failure *w, const struct history_pod *p,
                                  int64_t now_ms);

int64_t run_kind_due(const struct run_kind *k);                /* when to tell it, or more of it; INT64_MAX: not now */
void run_kind_head(struct buf *out, const struct run_kind *k); /* "2 pods of worker failed 8 times: exit code 3" */
/* The line of a pod has just said who failed, and how: only the last lines are left to tell. */
void run_kind_name(struct run_kind *k);
/* The first time with its last lines and the hint. Nothing: there is no more to tell. */
void run_kind_tell(struct buf *out, struct run_kind *k, int64_t now_ms);

#endif
