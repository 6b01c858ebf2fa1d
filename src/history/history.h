/* history.h - what happened in a run, and when: one model that everybody who tells of a run reads
 *
 * A history is fed with facts as they are seen (changes of objects, lines that containers wrote, what pods used, notices)
 * and keeps times finer than Kubernetes' seconds. It does nothing by itself and has no clock: whoever feeds it says when.
 *
 *     history ── jobs        phases, time in line, waits
 *            ├── pods        every one that ever was: a restarted task has several under one name
 *            │     └── containers ── attempts   start, end, exit code, signal, reason; the last lines
 *            ├── decisions   what a policy or the scheduler did, and why
 *            ├── warnings    Events of that type
 *            └── notes       notices of the run itself
 *
 * Times are those at which a change was seen; -1: it has not happened. Texts are kept once and die with the history, as does all that
 * is read from it. What could grow without end is limited by the numbers below: HISTORY_LISTED and its like say how many are kept.
 */
#ifndef HISTORY_HISTORY_H
#define HISTORY_HISTORY_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "node/agent/agent.h"
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

enum pod_end { END_OPEN, END_OK, END_FAILED, END_STOPPED, POD_END_MAX }; /* stopped: somebody deleted it while it ran */
extern const char *const pod_end_names[POD_END_MAX]; /* "not over", "succeeded", "failed", "stopped" */

struct history_pod {
    struct history_job *job; /* NULL: it belongs to none */
    struct str namespace, name, uid, task, node, reason, message;
    int64_t index; /* inside the task; -1: not known */
    int64_t created_ms, scheduled_ms, started_ms, deleting_ms, ended_ms, gone_ms;
    int64_t seen_ms; /* its last change */
    enum pod_end end;
    bool restarts; /* its containers may */
    VEC(struct history_span) ready;
    VEC(struct history_container *) containers; /* init containers first */
    VEC(struct history_sample) samples;
    int64_t memory_peak_bytes;
};

struct history_wait {
    int64_t from_ms, until_ms;
    struct str reason, message;
};

struct history_phase {
    int64_t at_ms;
    struct str name; /* "Pending", "Running" … */
};

struct history_job {
    struct str namespace, name, uid, queue, phase, reason, message;
    int64_t submitted_ms, finished_ms, gone_ms;
    const struct object *object; /* as it was last; a reference */
    VEC(struct str) tasks;       /* in the order of the spec */
    VEC(struct history_phase) phases;
    VEC(struct history_span) queued; /* each time it stood in line: from its PodGroup's creation to its admission */
    VEC(struct history_wait) waits;
    struct str group_uid;
    size_t last_decision; /* its number + 1; 0: none */
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

struct history_news { /* something failed just now */
    struct history_pod *pod;
    struct history_container *container; /* NULL: the pod as a whole */
};

struct history_found;

struct history {
    int64_t begin_ms, end_ms;
    bool is_finished;
    VEC(struct history_job *) jobs; /* as they came; so are the pods */
    VEC(struct history_pod *) pods;
    VEC(struct history_decision) decisions;
    VEC(struct history_warning) warnings;
    VEC(struct history_note) notes;
    size_t n_left_out;    /* that were over HISTORY_LISTED */
    struct map jobs_uid;  /* struct history_job */
    struct map pods_uid;  /* struct history_pod */
    struct map pods_name; /* "namespace/name": the newest */
    /* for those who feed it */
    struct arena arena;
    struct map events;             /* by uid → number + 1 in 'warnings', as a pointer */
    struct map texts;              /* kept: struct str */
    struct buf key;                /* scratch */
    VEC(struct history_news) news; /* failures that nobody has asked for yet */
    size_t n_news_read;
    struct history_found *found;
};

/* ---- feeding ---- */

struct history *history_new(int64_t begin_ms);
void history_free(struct history *h); /* NULL is fine */

/* An object is there, or is as given now; is_gone: it was removed. Kinds that tell nothing are ignored. */
void history_changed(struct history *h, const struct object *o, bool is_gone, int64_t now_ms);
void history_output(struct history *h, const struct agent_output *line);
void history_usage(struct history *h, struct str pod_uid, const struct cgroup_stats *s, int64_t now_ms);
void history_note(struct history *h, struct str sentence, int64_t now_ms); /* notices, Ctrl-C, time-outs */
void history_finish(struct history *h, int64_t end_ms);                    /* nothing more will come */

/* ---- what failed ---- */

/* The last words of what failed, for the summary: the i-th, newest first; false when there are no more. A container that was
 * killed because its pod was deleted has not failed. Where no container ran (a missing ConfigMap, a pod that was evicted)
 * 'container' may be empty and exit_code is -1. Borrowed until something new is told. */
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

/* What has failed since the last call, oldest first, containers that are started again too; false: no more. Borrowed as above. */
bool history_next_failure(struct history *h, struct history_failure *ret);

/* Two failures with the same key are told as one, with a count: same job, task, container, reason and last line, whatever numbers
 * are in them (addresses, ranks, times). */
void history_alike_key(struct buf *out, const struct history_failure *f);

/* Failures that are alike, in the order of history_failed(). */
struct history_alike {
    struct history_failure first;
    VEC(struct str) others; /* names of the other pods */
    int64_t failures;       /* of all of them */
};
struct history_alikes {
    VEC(struct history_alike *) list;
};
void history_alikes(struct arena *a, const struct history *h, struct history_alikes *ret);

/* ---- reading ---- */

int64_t history_end_ms(const struct history *h);                            /* after its beginning, always */
int64_t pod_until_ms(const struct history *h, const struct history_pod *p); /* its end, or that of the history */
int64_t pod_restarts(const struct history_pod *p);

/* What a pod used: in all, at its peak, until or at a time. */
int64_t pod_cpu_us(const struct history_pod *p);
int64_t pod_peak_bytes(const struct history_pod *p);
double pod_cpu_at(const struct history_pod *p, int64_t at_ms); /* µs until then */
int64_t pod_memory_at(const struct history *h, const struct history_pod *p, int64_t at_ms);

bool job_is_ok(const struct history_job *j);
bool job_is_over(const struct history_job *j);

/* ---- in words ---- */

/* "Completed in 4.2s", "Failed after 4.2s: RetriesExhausted …": of all jobs together, or of one. */
void history_verdict(struct buf *out, const struct history *h, bool *ret_ok, bool *ret_over);
void job_verdict(struct buf *out, const struct history *h, const struct history_job *j);

/* "exit code 3", "killed by SIGSEGV", "StartError: …"; as part of a sentence: "exited with 3", "was killed by SIGSEGV" … */
void attempt_reason(struct buf *out, const struct history_attempt *a);
void attempt_story(struct buf *out, const struct history_attempt *a);

/* "train-worker-1 exited with 3": what is known of the end of a pod. */
void pod_story(struct buf *out, const struct history_pod *p);

/* "RestartJob because PodFailed: … (policy spec.policies[0]), retry 1 of 3". */
void decision_sentence(struct buf *out, const struct history_decision *d);

/* Lines a terminal would show: without its control sequences, of "50%\r100%" only the last. */
void plain_lines(struct buf *out, struct str text);

/* A time since the beginning, as fine as the length of the history asks for: "+1.503s", "+12m30s"; "–" for -1. How long
 * something took: "4.20s", "12m30s". "12Mi". "1.35". */
void history_offset(struct buf *out, const struct history *h, int64_t at_ms);
void took_print(struct buf *out, int64_t ms);
void bytes_print(struct buf *out, int64_t bytes);
void cores_print(struct buf *out, double cores);

#endif
