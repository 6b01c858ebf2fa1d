/* history.h - the flight recorder: what happened in a run, and when, as a page or a trace
 *
 * Fed with every change of every object, with what pods wrote and used; it keeps times finer than Kubernetes' seconds. For each pod (each
 * one that ever was: a restarted task has several under one name): created → scheduled → started → ready → ended, each
 * container's attempts, its last lines, exit code, signal, OOM; for each job: queued, admitted, phases, every decision of a policy and
 * why (from Job status conditions, reasons and Events).
 */
#ifndef HISTORY_HISTORY_H
#define HISTORY_HISTORY_H

#include "base/buf.h"
#include "base/vec.h"
#include "node/agent/agent.h"
#include "store/object.h"

struct record;

struct record *record_new(int64_t begin_ms);
void record_free(struct record *r); /* NULL is fine */

void record_changed(struct record *r, const struct object *o, bool is_gone, int64_t now_ms);
void record_output(struct record *r, const struct agent_output *line);
void record_usage(struct record *r, struct str pod_uid, const struct cgroup_stats *s, int64_t now_ms);
void record_note(struct record *r, struct str sentence, int64_t now_ms); /* notices, Ctrl-C, time-outs */
void record_finish(struct record *r, int64_t end_ms);

/* A page complete in one file (no script needed to read it, nothing loaded): a Gantt chart of all pods, decisions with reasons, failed pods
 * with their last lines, resource use. */
void record_html(struct buf *out, const struct record *r, struct str title);

/* The Trace Event Format of Chrome and Perfetto: a process per job, a thread per pod, spans, instants for decisions, counters for use. */
void record_trace(struct buf *out, const struct record *r);

/* The last words of what failed, for the summary: the i-th, newest first; false when there are no more. A container that was
 * killed because its pod was deleted has not failed. Where no container ran (a missing ConfigMap, a pod that was evicted)
 * 'container' may be empty and exit_code is -1. Borrowed until something new is recorded. */
struct record_words {
    struct str namespace, job, pod, uid, task, container, node;
    struct str reason, message; /* failure.h */
    struct str words; /* for people: "exit code 3", "OOMKilled: its memory limit is 64Mi", "killed by SIGSEGV" … */
    int exit_code;
    int64_t at_ms, failures; /* failures: how often this container has failed */
    bool is_only;            /* the pod has no other container */
    bool is_over;            /* the pod has failed: nothing of it is started again */
    struct str tail;         /* its last lines, as written (control characters too); its message where it wrote none */
};
bool record_failed(const struct record *r, size_t i, struct record_words *ret);

/* What has failed since the last call, oldest first, containers that are started again too; false: no more. Borrowed as above. */
bool record_next_failure(struct record *r, struct record_words *ret);

/* Two failures with the same key are told as one, with a count: same job, task, container, reason and last line, whatever numbers
 * are in them (addresses, ranks, times). */
void record_alike_key(struct buf *out, const struct record_words *w);

/* Lines a terminal would show: without its control sequences, of "50%\r100%" only the last. */
void plain_lines(struct buf *out, struct str text);

/* Failures that are alike, in the order of record_failed(). */
struct record_alike {
    struct record_words first;
    VEC(struct str) others; /* names of the other pods */
    int64_t failures;       /* of all of them */
};
struct record_alikes {
    VEC(struct record_alike *) list;
};
void record_alikes(struct arena *a, const struct record *r, struct record_alikes *ret);

#endif
