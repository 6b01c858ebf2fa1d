/* history_internal.h - what the parts of a history share
 *
 * history.c takes in jobs, groups and Events; pod.c pods, their output and use; decision.c finds decisions in a job's status and puts
 * them into words; failure_list.c says what failed; read.c answers questions.
 */
#ifndef HISTORY_HISTORY_INTERNAL_H
#define HISTORY_HISTORY_INTERNAL_H

#include "history/failure.h"
#include "history/history.h"
#include "job/policy.h"

/* What history_failed() found, for as long as nothing new comes: it is asked again and again with another number. */
struct history_found {
    struct arena arena;
    struct history_failure *failures;
    size_t n;
    bool is_valid;
};

/* ---- taking in ---- */

struct str history_keep(struct history *h, struct str s); /* at most HISTORY_TEXT bytes, whole characters */
struct str history_name_key(struct history *h, struct str namespace, struct str name); /* until the next call */
struct history_decision *history_decide(struct history *h, struct history_job *j, int64_t now_ms); /* NULL: too many */
void history_pod_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms);
void history_pods_done(struct history *h);

/* The job's status was written: notes decisions it holds that are new. */
void history_job_decided(struct history *h, struct history_job *j, const struct object *o, int64_t now_ms);

struct failure attempt_failure(const struct history_attempt *a);

/* ---- what failed ---- */

struct history_cause { /* a container that failed, or a pod that never came that far */
    const struct history_pod *pod;
    const struct history_container *container; /* NULL: the pod as a whole */
    const struct history_attempt *attempt;     /* NULL: none */
    int64_t at_ms;
};
size_t history_causes(struct arena *a, const struct history *h, struct history_cause **ret); /* newest first */

#endif
