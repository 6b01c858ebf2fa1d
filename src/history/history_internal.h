/* history_internal.h - shared by the files of a history
 *
 * Input:  history.c (Events, notices), job.c (jobs, PodGroups), decision.c (decisions in the status of a job), pod.c,
 *         container.c (containers, their output and use).
 * Output: read.c, failure_list.c (what failed), outcome.c (whether it has ended or can end, the exit status),
 *         timeline_read.c (of a cluster).
 */
#ifndef HISTORY_HISTORY_INTERNAL_H
#define HISTORY_HISTORY_INTERNAL_H

#include "history/failure.h"
#include "history/history.h"
#include "job/policy.h"

struct history_news { /* something failed just now */
    struct history_pod *pod;
    struct history_container *container; /* NULL: the pod as a whole */
};

struct history_event { /* an Event that was seen */
    size_t warning;    /* its number + 1 in 'warnings'; 0: it is not there */
};

/* What history_failed() found, for as long as nothing new comes: it is asked again and again with another number. */
struct history_found {
    struct arena arena;
    struct history_failure *failures;
    size_t n;
    bool is_valid;
};

struct history_feed {
    struct history_hooks hooks;
    struct buf key;                /* scratch */
    struct map texts;              /* kept: struct str */
    struct map events;             /* seen: struct history_event by uid */
    uint64_t over_seq;             /* jobs that were over so far */
    VEC(struct history_news) news; /* failures that were not read yet */
    size_t n_news_read;
    struct history_found found;
    /* of a cluster: */
    struct sched *sched;
    struct map groups; /* "namespace/name" of a PodGroup → struct history_job */
    struct map queue_names, node_names;
    struct map priorities; /* int64_t by PriorityClass */
    int64_t default_priority;
};

/* ---- taking in ---- */

struct str history_keep(struct history *h, struct str s); /* at most HISTORY_TEXT bytes, whole characters */
struct str history_text(struct history *h, struct str s); /* all of it */
bool history_set(struct history *h, struct str *field, struct str text); /* all of it; true: it was another */
struct str history_label(struct history *h, struct str namespace, struct str name);
struct str history_name_key(struct history *h, struct str namespace, struct str name); /* until the next call */
struct history_decision *history_decide(struct history *h, struct history_job *j, int64_t now_ms); /* NULL: too many */
void history_pod_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms);
void history_job_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms);
void history_group_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms);
void history_job_phase(struct history *h, struct history_job *j, struct str phase, int64_t now_ms); /* it has it now */
struct history_task *history_task(struct history *h, struct history_job *j, struct str name); /* made if need be */

/* The statuses of a pod's containers as they are now. */
void history_containers_changed(struct history *h, struct history_pod *p, const struct json *root, int64_t now_ms);
void history_containers_end(struct history_pod *p, int64_t now_ms);
void history_containers_done(struct history *h);

/* The job's status was written: notes decisions it holds that are new. */
void history_job_decided(struct history *h, struct history_job *j, const struct object *o, int64_t now_ms);

void history_task_pending(struct history_job *j, const struct object *o); /* policies for pods that do not start */

/* ---- a cluster ---- states of jobs (step.c), queues and nodes (place.c) ---- */

/* Something about the job changed: a step where its state or the number of its pods is new. */
void history_step(struct history *h, struct history_job *j, int64_t now_ms);
void history_group_step(struct history *h, struct history_job *j, const struct object *o, bool is_gone, int64_t now_ms);
void history_pod_step(struct history *h, struct history_pod *p, const struct object *o, bool is_gone, int64_t now_ms);
void history_steps_end(struct history *h, int64_t end_ms);
enum job_state history_state_now(const struct history_job *j);

/* From now on the pod counts where it is; 'is_away': nowhere. */
void history_place_pod(struct history *h, struct history_pod *p, const struct json *root, bool is_away, int64_t now_ms);
void history_node_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms);
void history_queue_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms);
void history_class_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms);
void history_places_end(struct history *h);

/* When it was submitted, as its object says. */
int64_t history_made_ms(const struct object *o, int64_t now_ms);

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
