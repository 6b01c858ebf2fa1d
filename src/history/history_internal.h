/* history_internal.h - what the flight recorder remembers
 *
 * record.c takes in jobs, groups and Events; record_pod.c pods, their output and use; record_why.c puts decisions into words;
 * record_read.c puts all in order for people; record_page.c, record_tables.c, record_chart.c, record_use.c and record_trace.c
 * show it.
 *
 * Times are those at which a change was seen; -1: it has not happened. Texts are kept once (record_keep) and die with
 * the record. What could grow without end is limited by the numbers below.
 */
#ifndef HISTORY_HISTORY_INTERNAL_H
#define HISTORY_HISTORY_INTERNAL_H

#include "base/map.h"
#include "base/vec.h"
#include "history/failure.h"
#include "history/history.h"
#include "job/policy.h"

enum {
    RECORD_TAIL = 4096,    /* bytes of output kept of a container */
    RECORD_TEXT = 1024,    /* … of a message */
    RECORD_SAMPLES = 128,  /* of use, of a pod: more would not be seen in a chart */
    RECORD_ATTEMPTS = 64,  /* of a container; older ones are only counted */
    RECORD_READY = 64,     /* times a pod became ready */
    RECORD_WAITS = 32,     /* of a job */
    RECORD_PHASES = 256,   /* of a job */
    RECORD_LISTED = 10000, /* decisions, warnings and notices, each */
};

struct record_span {
    int64_t from_ms, until_ms; /* until_ms -1: still so */
};

struct record_attempt { /* a container's; the first is 0 */
    int64_t number, started_ms, ended_ms;
    int exit_code, signo;
    bool is_failed;
    struct str reason, message;
};

struct record_container {
    struct str name;
    bool is_init;
    bool is_fresh; /* the next line is of another attempt */
    int64_t restarts;
    int64_t failures; /* attempts that failed */
    struct str limit; /* "its memory limit is 64Mi"; empty: none is known */
    VEC(struct record_attempt) attempts;
    struct str waiting, waiting_text; /* reason and message; empty: it does not wait */
    struct buf tail;                  /* the last lines of the newest attempt that wrote any */
};

struct record_sample {
    int64_t at_ms, cpu_us, memory_bytes; /* cpu_us: since the pod began */
};

enum pod_end { END_OPEN, END_OK, END_FAILED, END_STOPPED, POD_END_MAX }; /* stopped: somebody deleted it while it ran */

struct record_pod {
    struct record_job *job; /* NULL: it belongs to none */
    struct str namespace, name, uid, task, node, reason, message;
    int64_t index; /* inside the task; -1: not known */
    int64_t created_ms, scheduled_ms, started_ms, deleting_ms, ended_ms, gone_ms;
    int64_t seen_ms; /* its last change */
    enum pod_end end;
    bool restarts; /* its containers may */
    VEC(struct record_span) ready;
    VEC(struct record_container *) containers; /* init containers first */
    VEC(struct record_sample) samples;
    int64_t memory_peak_bytes;
};

struct record_news { /* something failed just now */
    struct record_pod *pod;
    struct record_container *container; /* NULL: the pod as a whole */
};

struct record_wait {
    int64_t from_ms, until_ms;
    struct str reason, message;
};

struct record_phase {
    int64_t at_ms;
    struct str name; /* "Pending", "Running" … */
};

struct record_job {
    struct str namespace, name, uid, queue, phase, reason, message;
    int64_t submitted_ms, finished_ms, gone_ms;
    const struct object *object; /* as it was last; a reference */
    VEC(struct str) tasks;       /* in the order of the spec */
    VEC(struct record_phase) phases;
    VEC(struct record_span) queued; /* each time it stood in line: from its PodGroup's creation to its admission */
    VEC(struct record_wait) waits;
    struct str group_uid;
    size_t last_decision; /* its number + 1; 0: none */
};

struct record_decision {
    int64_t at_ms;
    struct record_job *job; /* NULL: about a pod without one */
    struct str action;      /* "RestartJob", "Completed", "Evict" … */
    struct str when;        /* "in 5s": it is not carried out at once; else empty */
    struct str because;     /* "PodFailed: train-worker-1 exited with 3" */
    struct str policy;      /* "spec.tasks[0].policies[0]"; empty: no policy asked for it */
    struct str more;        /* "retry 1 of 3" */
    struct str pod;         /* the one it was about; may be empty */
    struct str mark;        /* what the status said: the same again is the same decision */
};

struct record_warning { /* an Event */
    int64_t at_ms, count;
    struct str kind, name, reason, message;
};

struct record_said {
    int64_t at_ms;
    struct str text;
};

/* What record_failed() found, for as long as nothing new comes: it is asked again and again with another number. */
struct record_found {
    struct arena arena;
    struct record_words *words;
    size_t n;
    bool is_valid;
};

struct record {
    struct arena arena;
    struct record_found *found;
    int64_t begin_ms, end_ms;
    bool is_finished;
    VEC(struct record_job *) jobs;
    VEC(struct record_pod *) pods; /* as they came */
    VEC(struct record_decision) decisions;
    VEC(struct record_warning) warnings;
    VEC(struct record_said) notes;
    VEC(struct record_news) news; /* failures that nobody has asked for yet */
    size_t n_news_read;
    size_t n_left_out;    /* that were over RECORD_LISTED */
    struct map jobs_uid;  /* struct record_job */
    struct map pods_uid;  /* struct record_pod */
    struct map pods_name; /* "namespace/name": the newest */
    struct map events;    /* by uid → number + 1 in 'warnings', as a pointer */
    struct map texts;     /* kept: struct str */
    struct buf key;       /* scratch */
};

/* ---- taking in (record.c, record_pod.c) ---- */

struct str record_keep(struct record *r, struct str s); /* at most RECORD_TEXT bytes, whole characters */
struct str record_name_key(struct record *r, struct str namespace, struct str name);           /* until the next call */
struct record_decision *record_decide(struct record *r, struct record_job *j, int64_t now_ms); /* NULL: too many */
void record_pod_changed(struct record *r, const struct object *o, bool is_gone, int64_t now_ms);
void record_pods_done(struct record *r);

/* ---- words (record_why.c) ---- */

/* The job's status was written: notes decisions it holds that are new. */
void record_job_decided(struct record *r, struct record_job *j, const struct object *o, int64_t now_ms);

/* "exit code 3", "killed by SIGSEGV", "StartError: …"; "exited with 3", "was killed by SIGSEGV" … */
struct failure attempt_failure(const struct record_attempt *a);
void attempt_reason(struct buf *out, const struct record_attempt *a);
void attempt_story(struct buf *out, const struct record_attempt *a);

/* "train-worker-1 exited with 3": what is known of the end of a pod. */
void pod_story(struct buf *out, const struct record_pod *p);

/* "RestartJob because PodFailed: … (policy spec.policies[0]), retry 1 of 3". */
void decision_sentence(struct buf *out, const struct record_decision *d);

/* ---- in order (record_read.c) ---- */

struct record_row { /* all pods of one name, one after the other */
    struct str label;
    int64_t index;
    VEC(const struct record_pod *) pods;
    VEC(struct record_span) queued; /* for each pod: how long its job stood in line for it; from_ms -1: it did not */
};

struct record_task {
    struct str name;
    VEC(struct record_row *) rows;
};

struct record_group { /* a job and its pods; job NULL: pods without one */
    const struct record_job *job;
    VEC(struct record_task *) tasks;
    size_t n_rows;
};

struct record_view {
    VEC(struct record_group *) groups;
    size_t n_rows;
};
void record_view(struct arena *a, const struct record *r, struct record_view *ret);

struct record_cause { /* a container that failed, or a pod that never came that far */
    const struct record_pod *pod;
    const struct record_container *container; /* NULL: the pod as a whole */
    const struct record_attempt *attempt;     /* NULL: none */
    int64_t at_ms;
};
size_t record_causes(struct arena *a, const struct record *r, struct record_cause **ret); /* newest first */
/* 'words' has the text of ret->words. */
void record_cause_words(const struct record_cause *c, struct buf *words, struct record_words *ret);

extern const char *const pod_end_names[POD_END_MAX];         /* "not over", "succeeded", "failed", "stopped" */
const char *decision_class(const struct record_decision *d); /* "good", "warn", "bad": for its colour */

int64_t record_end_ms(const struct record *r);
int64_t pod_until_ms(const struct record *r, const struct record_pod *p); /* its end, or that of the record */
int64_t pod_cpu_us(const struct record_pod *p);
int64_t pod_peak_bytes(const struct record_pod *p);
int64_t pod_restarts(const struct record_pod *p);
double pod_cpu_at(const struct record_pod *p, int64_t at_ms); /* µs until then */
int64_t pod_memory_at(const struct record *r, const struct record_pod *p, int64_t at_ms);

bool job_is_ok(const struct record_job *j);
bool job_is_over(const struct record_job *j);
/* "Completed in 4.2s", "Failed after 4.2s: RetriesExhausted …": of all jobs together, or of one. */
void record_verdict(struct buf *out, const struct record *r, bool *ret_ok, bool *ret_over);
void job_verdict(struct buf *out, const struct record *r, const struct record_job *j);

/* A time since the beginning, as fine as the length of the record asks for: "+1.503s", "+12m30s"; "–" for -1. How long
 * something took: "4.20s", "12m30s". "12Mi". "1.35". */
void record_offset(struct buf *out, const struct record *r, int64_t at_ms);
void took_print(struct buf *out, int64_t ms);
void bytes_print(struct buf *out, int64_t bytes);
void cores_print(struct buf *out, double cores);

/* ---- tables (record_tables.c) ---- those without rows are left out ---- */

void page_more(struct buf *out, size_t n, size_t shown); /* "and 900 more" */
void page_jobs_table(struct buf *out, const struct record *r);
void page_waits_table(struct buf *out, const struct record *r);
void page_pods_table(struct buf *out, const struct record *r);
void page_warnings_table(struct buf *out, const struct record *r);
void page_notices(struct buf *out, const struct record *r);

/* ---- pictures (record_chart.c, record_use.c) ---- */

enum { RECORD_CELLS = 240 }; /* of a chart of use */
void record_gantt(struct buf *out, const struct record *r, const struct record_view *v);
bool record_has_use(const struct record *r);
void record_use_chart(struct buf *out, const struct record *r);
void record_sparks(struct buf *out, const struct record *r, const struct record_pod *p);

#endif
