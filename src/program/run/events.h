/* events.h - -o json: one JSON object on each line; docs/run.md describes them */
#ifndef PROGRAM_RUN_EVENTS_H
#define PROGRAM_RUN_EVENTS_H

#include "cli/load.h"
#include "history/history.h"

struct agent_output;
struct hints;
struct run_end;
struct run_out;
struct run_written;

struct run_events {
    struct run_out *out;
    const struct hints *hints; /* NULL: there are none */
    int64_t time_ms;           /* of the text below */
    char time[40];
    size_t time_n;
};

void run_event_start(struct run_events *ev, const char *id, const struct load *l, int64_t now_ms);
void run_event_job(struct run_events *ev, const struct history_job *j, int64_t now_ms);
void run_event_pod(struct run_events *ev, const struct history_pod *p, int64_t now_ms);
/* 'names' come from run_event_names(), made once for each container: lines are many. */
void run_event_log(struct run_events *ev, const struct agent_output *line, struct str names, struct str text);
void run_event_names(struct buf *out, const struct history_pod *p, const struct agent_output *line);
/* A container or pod failed: at once, and for each time. */
void run_event_failure(struct run_events *ev, const struct history *h, const struct history_failure *f, int64_t now_ms);
void run_event_decision(struct run_events *ev, const struct history_job *j, struct str reason, struct str message,
                        int64_t now_ms);
void run_event_timer(struct run_events *ev, const struct history_decision *d, int64_t now_ms);
void run_event_wait(struct run_events *ev, const struct history_job *j, int64_t now_ms);
void run_event_notice(struct run_events *ev, struct str sentence, int64_t now_ms);
void run_event_written(struct run_events *ev, const struct run_written *w, int64_t now_ms);
void run_event_end(struct run_events *ev, const struct history *h, const struct run_end *end);

#endif
