/* history.h - what happened, and when: the model behind every output of a run or a plan
 *
 * Callers feed facts into a history as they observe them: changes of objects, output of containers, resource use,
 * notices. The history keeps times in milliseconds, where Kubernetes has seconds. It has no clock: each fact comes with
 * its time. The live view, plain lines, -o json, summary, report and trace of `pumice run` are made from it, and so are
 * all outputs of `pumice plan`.
 *
 *     history ── jobs        phases, tasks, time in line, waits, states over time
 *            ├── pods        every pod that ever existed: a restarted task has several under one name
 *            │     └── containers ── attempts   start, end, exit code, signal, reason; the last lines
 *            ├── decisions   what a policy or the scheduler did, and why
 *            ├── warnings    Events of that type
 *            ├── notes       notices of the run itself
 *            └── queues, nodes   how much of them was in use, over time
 *
 * There are two kinds. The history of a *run* covers the jobs of one run on one node. The history of a *cluster*
 * (is_cluster) covers everything: a PodGroup without a Job counts as a job of kind PodGroup; states of jobs, and the
 * use of queues and nodes, are kept as steps (a value holds from its time to the time of the next); and a job waits
 * whenever it has too few pods, with or without a stated reason.
 *
 * A time is when the change was observed; -1: it has not happened. Each text is stored once. Everything read from a
 * history lives as long as the history. The limits below bound what could grow without end in a run.
 */
#ifndef HISTORY_HISTORY_H
#define HISTORY_HISTORY_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "job/phase.h"
#include "sched/model/amount.h"
#include "sched/model/why.h"
#include "store/object.h"

enum {
    HISTORY_TAIL = 4096,    /* bytes of output kept of a container */
    HISTORY_TEXT = 1024,    /* … of a message */
    HISTORY_SAMPLES = 128,  /* of use, of a pod: more would not be seen in a chart */
    HISTORY_ATTEMPTS = 64,  /* of a container; older ones are only counted */
    HISTORY_READY = 64,     /* times a pod became ready */
    HISTORY_WAITS = 32,     /* of a job */
    HISTORY_PHASES = 256,   /* of a job */
    HISTORY_LISTED = 10000, /* decisions, warnings and notices, each */
};

/* ---- the model ---- */

struct history_span {
    int64_t from_ms, until_ms; /* until_ms -1: still so */
};

struct history_attempt { /* a container's; the first is 0 */
    int64_t number, started_ms, ended_ms;
    int exit_code, signo;
    bool is_failed;
    struct str reason, message;
};

struct history_container {
    struct str name;
    bool is_init;
    bool is_fresh; /* the next line is of another attempt */
    int64_t restarts;
    int64_t failures; /* attempts that failed */
    struct str limit; /* "its memory limit is 64Mi"; empty: none is known */
    VEC(struct history_attempt) attempts;
    struct str waiting, waiting_text; /* reason and message; empty: it does not wait */
    struct buf tail;                  /* the last lines of the newest attempt that wrote any */
};

struct history_sample {
    int64_t at_ms, cpu_us, memory_bytes; /* cpu_us: since the pod began */
};

/* Of a pod. */
enum history_state {
    HISTORY_PENDING,
    HISTORY_STARTING, /* it has a node */
    HISTORY_RUNNING,
    HISTORY_SUCCEEDED,
    HISTORY_FAILED,
    HISTORY_STOPPED, /* was deleted before it ended */
    HISTORY_STATE_MAX,
};
extern const char *const history_state_names[HISTORY_STATE_MAX]; /* "pending" … */
static inline bool state_is_over(enum history_state s)
{
    return s >= HISTORY_SUCCEEDED;
}

/* The same when all is over; what succeeded while it was being deleted has succeeded all the same. */
enum pod_end { END_OPEN, END_OK, END_FAILED, END_STOPPED, POD_END_MAX };
extern const char *const pod_end_names[POD_END_MAX]; /* "not over", "succeeded", "failed", "stopped" */

/* Something that happens at a set time, unless something else happens first. */
struct history_timer {
    int64_t at_ms;
    struct str about;   /* the pod's name, "task/<name>", or "": the whole job */
    const char *action; /* "RestartJob", "fails" */
    const char *why;    /* "PodFailed", "activeDeadlineSeconds" */
};

struct history_share { /* of the machine */
    int64_t cpu_milli, memory_bytes;
};

struct history_pod {
    struct str namespace, name, uid, node;
    struct str label;          /* for people: "worker-1", "train/worker-1" where there are several jobs, or its name */
    struct history_job *job;   /* NULL: a pod of its own */
    struct history_task *task; /* NULL too */
    struct str task_name;      /* as the pod says */
    int64_t index;             /* in the task; -1: none */
    enum history_state state;
    enum pod_end end;
    bool is_replaced; /* a newer one has its name */
    bool may_restart; /* its containers */
    int64_t created_ms, scheduled_ms, deleting_ms, ended_ms, gone_ms;
    int64_t started_ms; /* its first main container */
    int64_t running_ms; /* seen running; or ended, if it was never seen running */
    int64_t seen_ms;    /* its last change */
    int64_t taken_ms;   /* accepted by its node (status.startTime) */
    int64_t deadline_s; /* activeDeadlineSeconds, from then on; 0: none */
    int64_t grace_s;
    struct str reason, message;     /* of its status */
    struct str waits, waits_why;    /* a container or volume that cannot be made: reason, message */
    struct {                        /* it failed: */
        int exit_code;              /* of the container that failed first; 0: none */
        struct str container;       /* … its name */
        struct str reason, message; /* failure.h */
        struct str words;           /* … both for people: "exit code 3", "killed by SIGSEGV", "Evicted: …" */
    } failure;
    VEC(struct history_span) ready;
    VEC(struct history_container *) containers; /* init containers first */
    VEC(struct history_sample) samples;
    int64_t memory_peak_bytes;
    struct history_share asks, may; /* of a run: its requests and limits; 0: none */
    /* of a cluster: */
    struct str phase; /* now: "Running", "Succeeded", "Failed"; "" for all others, and when it was deleted */
    const struct amounts *request;
    struct history_place *queue, *place; /* the queue and the node where it counts now; NULL: nowhere */
};

struct history_task {
    struct str name;
    int64_t replicas, min;
    uint32_t n[HISTORY_STATE_MAX]; /* of the newest pod of each name */
    uint32_t n_restarting;         /* of those that run: a container failed and waits for its next start */
    bool has_deadlines;            /* some pod of it had one */
    int64_t pending_ms;            /* a policy acts on pods that are pending for this long; 0: none does */
    const char *pending_action;
    int64_t running, succeeded, failed; /* of a cluster: pods that are there now, by their phase */
};

struct history_wait {
    int64_t from_ms, until_ms;  /* until_ms -1: to the end */
    struct str reason, message; /* "NotEnoughResources", a sentence; in a cluster both may be empty */
};

/* Of a job of a cluster. */
enum job_state {
    STATE_WAITS,    /* not admitted to its queue */
    STATE_ADMITTED, /* it may start; its pods have no places yet */
    STATE_PARTLY,   /* some pods run, fewer than it needs */
    STATE_RUNS,     /* at least minAvailable */
    STATE_DONE,
    STATE_FAILED, /* failed, aborted or terminated */
    JOB_STATE_MAX,
};
extern const char *const job_state_names[JOB_STATE_MAX]; /* "Waiting", "Admitted", … */

struct history_step {
    int64_t at_ms;
    enum job_state state;
    int64_t running; /* pods */
};

struct history_phase {
    int64_t at_ms;
    struct str name; /* "Pending", "Running" … */
};

struct history_job {
    struct str kind; /* "Job", "PodGroup" */
    struct str namespace, name, uid, queue, priority_class;
    struct str label;                  /* for people: "train", "other/train" where there are several namespaces */
    struct str phase, reason, message; /* of its status; phase: empty while it is new */
    int64_t retries, min, n_pods;      /* n_pods: of all tasks together */
    int64_t submitted_ms, finished_ms, gone_ms; /* finished: Completed, Failed, Aborted or Terminated */
    uint64_t over_seq;                          /* 1: it was the first to be over; 0: it is not */
    bool is_stopped;                            /* by us */
    VEC(struct history_task *) tasks;           /* in the order of the spec */
    VEC(struct history_phase) phases;
    VEC(struct history_timer) timers; /* of policies that have decided and wait */
    int64_t ttl_s;                    /* ttlSecondsAfterFinished; -1: none */
    VEC(struct history_span) queued;  /* each time it stood in line: from its PodGroup's creation to its admission */
    VEC(struct history_wait) waits;
    struct str group, group_uid, group_phase; /* its PodGroup; empty: none yet */
    enum why_kind why;                        /* what the scheduler says now … */
    struct str why_text;                      /* … in words; empty: it does not wait */
    int64_t why_ms;                           /* since when it waits */
    struct str told;                  /* the decision that was printed last: the phase that follows repeats it */
    const struct history_pod *failed; /* the first pod whose container failed, in any retry */
    size_t last_decision;             /* its number + 1; 0: none */
    const struct object *object;      /* as it was last; a reference, for what is fed next */
    /* of a cluster: */
    int64_t priority; /* when all is over */
    int64_t admitted_ms, started_ms;
    int64_t running, succeeded, stopped; /* pods; stopped: deleted on a node before they ended */
    size_t stops;       /* times it ran and then had no longer enough pods, because they were stopped */
    int64_t stopped_ms; /* the last time */
    VEC(struct history_step) steps;
    struct str told_reason, told_message; /* why it waits, as last said */
    bool is_open;                         /* it may still end */
    bool was_over;                        /* it had ended before the history began */
};

struct history_decision {
    int64_t at_ms;
    struct history_job *job; /* NULL: about a pod without one */
    struct str action;       /* "RestartJob", "Completed", "Evict" … */
    struct str when;         /* "in 5s": it is not carried out at once; else empty */
    struct str because;      /* "PodFailed: train-worker-1 exited with 3" */
    struct str policy;       /* "spec.tasks[0].policies[0]"; empty: no policy asked for it */
    struct str more;         /* "retry 1 of 3" */
    struct str pod;          /* the one it was about; may be empty */
    struct str mark;         /* what the status said: the same again is the same decision */
};

struct history_warning { /* an Event */
    int64_t at_ms, count;
    struct str kind, name, reason, message;
};

struct history_note {
    int64_t at_ms;
    struct str text;
};

struct history_use {
    int64_t at_ms;
    struct amounts used;
};

struct history_place { /* a queue or a node */
    struct str name;
    struct amounts total; /* node: allocatable; queue: capability, 0 where there is none */
    bool is_gone;
    VEC(struct history_use) steps;
};

struct history_hooks { /* called as it is fed; each may be NULL */
    void *ctx;
    void (*job)(void *ctx, const struct history_job *j); /* a new phase */
    void (*pod)(void *ctx, const struct history_pod *p); /* a new state, or another reason for waiting */
    void (*decision)(void *ctx, const struct history_job *j, struct str reason, struct str message);
    void (*timer)(void *ctx, const struct history_decision *d); /* decided, to be done later: see 'when' */
};

struct sched;

struct history_options {
    int64_t begin_ms;
    size_t n_jobs;       /* that will come: from 2 on labels of pods say which */
    bool has_namespaces; /* more than one: labels say which */
    struct history_hooks hooks;
    bool is_shared; /* others run there too: what waits for room may get it */
    bool is_cluster;
    struct sched *sched; /* of a cluster: gives the reasons why jobs wait; NULL: only conditions of PodGroups do */
};

struct history {
    int64_t begin_ms, end_ms;
    bool is_cluster, is_shared, is_finished;
    size_t n_jobs;                  /* that will come */
    bool has_namespaces;            /* more than one */
    VEC(struct history_job *) jobs; /* as they came; so are the pods */
    VEC(struct history_pod *) pods;
    VEC(struct history_decision) decisions;
    VEC(struct history_warning) warnings;
    VEC(struct history_note) notes;
    size_t n_left_out;    /* that were over HISTORY_LISTED */
    uint64_t changes;     /* counts what a progress display shows */
    struct map jobs_uid;  /* struct history_job */
    struct map jobs_name; /* "namespace/name": the newest */
    struct map pods_uid;  /* struct history_pod */
    struct map pods_name; /* "namespace/name": the newest */
    /* of a cluster: */
    struct dims dims;
    VEC(struct history_place *) queues, nodes;
    struct amounts total; /* of all nodes, now */
    int64_t changed_ms;   /* when a job last changed its state */
    size_t n_open;        /* jobs that may still end */
    /* owns all of the above; and what only feeding needs */
    struct arena arena;
    struct history_feed *feed;
};

/* ---- feeding ---- */

struct history *history_new(const struct history_options *o);
void history_free(struct history *h); /* NULL is fine */

/* An object was created or changed; is_gone: it was deleted. Kinds without use here are ignored, and so are deletions
 * of objects that the history never saw. */
void history_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms);

/* A line of a container, or the beginning of one; what a pod has used so far and uses now (less than 0: not known). */
void history_output(struct history *h, struct str pod_uid, struct str container, struct str text, bool is_partial);
void history_usage(struct history *h, struct str pod_uid, struct history_sample now, int64_t peak_bytes);

void history_note(struct history *h, struct str sentence, int64_t now_ms); /* notices, Ctrl-C, time-outs */

/* What the scheduler says of a job (WHY_NOT: it does not wait). True: it is news. */
bool history_why(struct history *h, struct history_job *j, enum why_kind why, struct str text, int64_t now_ms);
void history_stopped(struct history_job *j); /* we end it */

/* Nothing more will come. Of a cluster the end is as given, jobs come into the order in which they started (those that
 * did not, last), queues and nodes into that of their names. */
void history_finish(struct history *h, int64_t end_ms);

/* ---- what failed ---- */

/* The last words of what failed, for the summary: the i-th, newest first; false when there are no more. A container
 * that was killed because its pod was deleted has not failed. Where no container ran (a missing ConfigMap, a pod that
 * was evicted) 'container' may be empty and exit_code is -1. Borrowed until the next change. */
struct history_failure {
    struct str namespace, job, pod, uid, task, container, node;
    struct str reason, message; /* failure.h */
    struct str words; /* for people: "exit code 3", "OOMKilled: its memory limit is 64Mi", "killed by SIGSEGV" … */
    int exit_code;
    int64_t at_ms, failures; /* failures: how often this container has failed */
    bool is_only;            /* the pod has no other container */
    bool is_over;            /* the pod has failed: nothing of it is started again */
    struct str tail;         /* its last lines, as written (control characters too); its message where it wrote none */
};
bool history_failed(const struct history *h, size_t i, struct history_failure *ret);

/* The next failure since the last call, oldest first, also of restarted containers; false: no more. Borrowed as above. */
bool history_next_failure(struct history *h, struct history_failure *ret);

/* Two failures with the same key are shown as one, with a count: same job, task, container, reason and last line,
 * whatever numbers are in them (addresses, ranks, times). */
void history_alike_key(struct buf *out, const struct history_failure *f);

/* Failures that are alike, in the order of history_failed(). */
struct history_alike {
    struct history_failure first;
    VEC(struct str) others; /* names of the other pods, each once */
    int64_t failures;       /* of all of them, in all their attempts */
};
struct history_alikes {
    VEC(struct history_alike *) list;
};
void history_alikes(struct arena *a, const struct history *h, struct history_alikes *ret);

/* ---- reading ---- */

int64_t history_end_ms(const struct history *h);                            /* after its beginning, always */
int64_t pod_until_ms(const struct history *h, const struct history_pod *p); /* its end, or that of the history */
int64_t pod_restarts(const struct history_pod *p);                          /* of all its containers */
int64_t pod_main_restarts(const struct history_pod *p);                     /* … without the init containers */
bool pod_is_restarting(const struct history_pod *p); /* a container of it failed and waits for its next start */
const struct history_pod *history_pod(const struct history *h, struct str uid);
const struct history_job *history_job(const struct history *h, struct str namespace, struct str name); /* the newest */
const struct history_pod *history_pod_named(const struct history *h, struct str namespace,
                                            struct str name); /* so too */

/* What a pod used: in all, at its peak, until or at a time. */
int64_t pod_cpu_us(const struct history_pod *p);
int64_t pod_peak_bytes(const struct history_pod *p);
double pod_cpu_at(const struct history_pod *p, int64_t at_ms); /* µs until then */
int64_t pod_memory_at(const struct history *h, const struct history_pod *p, int64_t at_ms);

enum job_phase job_phase_now(const struct history_job *j); /* Pending for a new one */
const char *job_phase_shown(const struct history_job *j);  /* … "Stopped" for one that we ended */
bool job_is_ok(const struct history_job *j);               /* Completed */
bool job_is_final(const struct history_job *j);            /* by its phase */
bool job_is_over(const struct history_job *j);             /* … or because it was deleted */
bool job_is_waiting(const struct history_job *j);          /* and not only for the next step of the controllers */
int64_t job_over_ms(const struct history_job *j);

/* The first thing that time will do to it; of a task also to the first of its pods, of a job only to the whole. False:
 * there is none. */
bool pod_timer(const struct history_pod *p, struct history_timer *ret);
bool task_timer(const struct history *h, const struct history_job *j, const struct history_task *t,
                struct history_timer *ret);
bool job_timer(const struct history_job *j, struct history_timer *ret);

/* Pods of the job that failed, and of how many; a pod that was made again counts once. */
size_t job_failed_pods(const struct history *h, const struct history_job *j, size_t *ret_all);

bool history_is_over(const struct history *h); /* all jobs; without jobs all pods */

/* What the scheduler has written of it, in the words of why_print(). WHY_NOT: it does not wait. */
enum why_kind job_why_written(const struct history_job *j, struct str *ret_text);

/* True if nothing runs and nothing that waits can ever start; the reason is a sentence. */
bool history_is_stuck(const struct history *h, struct buf *ret_why);

/* The exit status of a run that came to its end by itself. 'fail_on_any': also a Job that completed fails with any of
 * its pods. */
int history_status(const struct history *h, bool fail_on_any);

/* ---- in words ---- */

/* "Completed in 4.2s", "Failed after 4.2s: RetriesExhausted …": of all jobs together, or of one. */
void history_verdict(struct buf *out, const struct history *h, bool *ret_ok, bool *ret_over);
void job_verdict(struct buf *out, const struct history *h, const struct history_job *j);

/* "exit code 3", "killed by SIGSEGV", "StartError: …"; as part of a sentence: "exited with 3", "was killed by SIGSEGV"
 * … */
void attempt_reason(struct buf *out, const struct history_attempt *a);
void attempt_story(struct buf *out, const struct history_attempt *a);

/* "train-worker-1 exited with 3": what is known of the end of a pod. */
void pod_story(struct buf *out, const struct history_pod *p);

/* "RestartJob because PodFailed: … (policy spec.policies[0]), retry 1 of 3". */
void decision_sentence(struct buf *out, const struct history_decision *d);

/* "RestartJob in 42s (PodFailed)". */
void timer_words(struct buf *out, const struct history_timer *t, int64_t now_ms);

/* Lines a terminal would show: without its control sequences, of "50%\r100%" only the last. */
void plain_lines(struct buf *out, struct str text);

/* A time since the beginning, as fine as the length of the history asks for: "+1.503s", "+12m30s"; "–" for -1. "12Mi".
 * "1.35". */
void history_offset(struct buf *out, const struct history *h, int64_t at_ms);
void bytes_print(struct buf *out, int64_t bytes);
void cores_print(struct buf *out, double cores);

#endif
