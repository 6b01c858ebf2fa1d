/* pods.h - the pods of one job, counted as they change
 *
 * A pod is kept as a small view with what policies and counters need, not as an object. For each task the table knows
 * which indices have a pod. It keeps the counters of the status, and a list of the pods that changed since the last
 * plan, so that an event of one pod of 10,000 does not walk the other 9,999.
 *
 * Every pod is in exactly one class (B41):
 *
 *     LIVE         wanted index, current version, not being deleted: counted by phase
 *     OLD          the same of an earlier version: what a whole-job kill left, or retained
 *     SURPLUS      index beyond replicas, or a task the job does not have
 *     TERMINATING  deletionTimestamp is set
 *
 * Writes that are on their way are part of the observed state: a slot remembers that its pod is being created or
 * deleted, until the pod appears or disappears, or the write is cancelled.
 *
 * A pod of a version newer than the job's is LIVE too: another controller was ahead of the Job we know. Two pods (of
 * different names) that claim one index: the first one known has it, the other is SURPLUS until the first is deleted.
 *
 * The order of all lists follows from the order of the calls, never from a hash.
 */
#ifndef JOB_PODS_H
#define JOB_PODS_H

#include "api/job.h"
#include "base/list.h"
#include "base/map.h"
#include "job/bits.h"

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN, POD_PHASE_MAX };
extern const char *const pod_phase_names[POD_PHASE_MAX];

enum pod_standing { POD_LIVE, POD_OLD, POD_SURPLUS, POD_TERMINATING, POD_CLASS_MAX };

enum { POD_EXIT_CODES = 4 };

/* More replicas than this are not looked at: replicas come from outside, and a table of them must fit into memory. */
enum { PODS_TASK_MAX = 1000000, PODS_JOB_MAX = 16000000 };

struct pod_view { /* decoded from a Pod; copied by value */
    char uid[40];
    uint64_t rev;
    int64_t created_ms;                 /* creationTimestamp */
    int64_t finished_ms;                /* when its last container ended; 0: not known */
    int32_t version;                    /* annotation volcano.sh/job-version; -1: none, counts as the current one */
    int32_t retry;                      /* annotation volcano.sh/job-retry-count: the attempt it belongs to; -1: none */
    int32_t restarts;                   /* of all containers, init ones too */
    int32_t exit_codes[POD_EXIT_CODES]; /* non-zero ones of main, then init containers */
    uint8_t n_exit_codes;
    uint8_t phase;     /* enum pod_phase */
    bool is_deleting;  /* deletionTimestamp */
    bool is_ready;     /* every container status is ready */
    bool is_marked;    /* annotation volcano.sh/controller-out-of-sync: another controller is deleting it */
    bool is_disrupted; /* condition DisruptionTarget: evicted, not failed (B7) */
    bool is_native;    /* spec.schedulingGroup: it is in the PodGroup of its job, of scheduling.k8s.io */
};

enum pod_flight { FLIGHT_NONE, FLIGHT_CREATE, FLIGHT_DELETE };

#define PODS_NO_TASK UINT32_MAX

struct job_pod { /* one pod object of the job */
    struct pod_view view;
    struct str name; /* owned: behind the struct, and behind the name the name of its task */
    uint32_t task;   /* position of its task; PODS_NO_TASK: a task the job does not have */
    uint32_t index;
    uint8_t class;             /* enum pod_standing */
    uint8_t flight;            /* FLIGHT_NONE or FLIGHT_DELETE */
    uint16_t task_name_n;      /* bytes of pod_task_name() */
    int64_t flight_ms;         /* when it took off */
    struct list_link in_class; /* the table's list of its class */
    struct list_link to_look;  /* the table's list of changed pods; in none when it was looked at */
};

/* The name of its task as its annotation has it, also where the job has no such task. */
static inline struct str pod_task_name(const struct job_pod *pod)
{
    return (struct str){ pod->name.p + pod->name.n, pod->task_name_n };
}

struct pod_slot {        /* one index of a task */
    struct job_pod *pod; /* NULL: there is none */
    int64_t flight_ms;   /* a create took off then; 0: none in flight. With a pod it is 0 */
};

/* Sets of indices are bits, so that finding the missing ones among 10,000 takes 157 steps. Each has words for 'n' bits;
 * bits at 'n' and beyond are 0. */

struct task_pods {
    struct pod_slot *slots; /* 'n' of them: replicas */
    uint32_t n;
    uint64_t *present;  /* an index has a pod of any class (but SURPLUS, which has no index here) */
    uint64_t *creating; /* a create is in flight and there is no pod */
    uint64_t *seen;     /* had a pod of the current version */
    uint64_t *done;     /* has Succeeded in the current version, whether its pod is still there or not */
    uint64_t *gone;     /* its pod is known to be deleted: by an event, or a fresh read found none */
    uint32_t n_present, n_creating, n_done;
    uint32_t live[POD_PHASE_MAX], old[POD_PHASE_MAX];
    uint32_t terminating, surplus; /* with any index */
    uint32_t ready;                /* live pods that dependsOn counts: Succeeded, or Running and ready */
    int64_t restarts;              /* of live Pending and Running pods */
};

struct job_pods {
    struct task_pods *tasks;
    size_t n_tasks;
    struct str *task_names;             /* owned copies, to find the task of a pod */
    int32_t version;                    /* what LIVE means */
    struct list classes[POD_CLASS_MAX]; /* struct job_pod.in_class */
    uint32_t n_class[POD_CLASS_MAX];
    struct list to_look;                              /* struct job_pod.to_look: changed since pods_looked() */
    struct map by_name;                               /* struct job_pod by pod name */
    struct map by_task;                               /* element of task_names by itself */
    uint32_t live[POD_PHASE_MAX], old[POD_PHASE_MAX]; /* of all tasks */
    uint32_t n_deleting;                              /* pods with a delete in flight */
    uint32_t n_doubles;                               /* pods whose index belongs to another pod */
};

/* The table must not move once it is set up: its pods point at its lists. */
void pods_init(struct job_pods *p);
void pods_done(struct job_pods *p);

/* The job changed: other replicas, another version, another set of tasks. Sorts all pods anew when one of them did.
 * 'seen' and 'done' are cleared when the version grew. */
void pods_set_job(struct job_pods *p, const struct job *job);

/* A pod was added or changed. 'task_name' and 'index' from its annotations and name. Older than what is known: ignored.
 * Another uid under a known name: the pod of the other uid was deleted. A pod is listed as changed when its view
 * (without 'rev') or its class is another one. */
void pods_put(struct job_pods *p, struct str name, struct str task_name, uint32_t index, const struct pod_view *view);

/* A pod was deleted. Ignored if the one known has another uid. */
void pods_remove(struct job_pods *p, struct str name, struct str uid);

struct job_pod *pods_get(const struct job_pods *p, struct str name);

/* Flights. A create ends when a pod of its index shows up, a delete when deletionTimestamp does. Asking for an index
 * that has a pod, or that the task does not have, changes nothing; calling off what is not in flight neither. */
void pods_flight_create(struct job_pods *p, size_t task, uint32_t index, int64_t now_ms);
void pods_flight_delete(struct job_pods *p, struct job_pod *pod, int64_t now_ms);
void pods_flight_off(struct job_pods *p, size_t task, uint32_t index); /* the create was refused or is given up */
void pods_flight_delete_off(struct job_pods *p, struct job_pod *pod);

/* The lowest index from 'from' on that has neither pod, nor create in flight, nor 'done' bit: what sync has to create.
 * UINT32_MAX if there is none. */
uint32_t pods_next_missing(const struct task_pods *t, uint32_t from);

/* The lowest index from 'from' on that was seen, is not done, and whose pod was deleted: its pod was evicted. */
uint32_t pods_next_evicted(const struct task_pods *t, uint32_t from);

/* The same for a pod that only the status remembers and that the cache never had. It may be deleted, or its event is
 * late; only reading it again can tell. */
uint32_t pods_next_doubtful(const struct task_pods *t, uint32_t from);
void pods_confirm_gone(struct job_pods *p, size_t task, uint32_t index); /* the read found nothing */

/* Clear the list of changed pods: all of them were handled. */
void pods_looked(struct job_pods *p);

/* Take what the status remembers (memo.h): 'seen' becomes the indices in the text and those with a live pod, 'done'
 * those in the text and those with a live Succeeded pod. The status has the last word: a restart of a task forgets what
 * it saw. */
void pods_recall(struct job_pods *p, size_t task, struct str seen, struct str done);

#endif
