/* logs.h - what containers write: lines on the screen, files of --log-dir, what is kept for the failed */
#ifndef PROGRAM_RUN_LOGS_H
#define PROGRAM_RUN_LOGS_H

#include "cli/load.h"
#include "history/history.h"
#include "node/agent/agent.h"

struct run_events;
struct run_log; /* of one container */
struct run_options;
struct run_out;

enum run_logs_mode { RUN_LOGS_ALL, RUN_LOGS_FAILED, RUN_LOGS_TASKS, RUN_LOGS_NONE };

struct run_bar { /* a line that is written over and not finished */
    struct run_log *log;
    enum conlog_stream stream;
};

struct run_logs {
    struct arena arena;
    enum run_logs_mode mode;
    VEC(struct str) tasks;
    const char *dir; /* NULL: none */
    int dir_fd;      /* -1: none */
    int dir_errno;   /* writing there failed: said once */
    struct run_out *out;
    const struct history *history;
    struct run_events *events; /* not NULL: lines become events */
    bool has_colour, is_terminal, has_namespaces;
    size_t width;
    struct map containers; /* struct run_log by "uid/container" */
    struct map names;      /* of files, to number those of pods that come again */
    VEC(struct run_log *) dirty;
    const struct run_log *last; /* whose line was shown last */
    VEC(struct run_bar) bars;   /* progress bars of programs, on a terminal */
    uint64_t n_moves;           /* counts what they show */
};

/* --logs: all, failed, none, or names of tasks ("worker", "train/worker", with commas between). Usage errors list
 * the tasks. */
int run_logs_init(struct run_logs *g, const struct run_options *o, const struct load *l, struct err *e);
int run_logs_open(struct run_logs *g, struct err *e); /* make the directory */
void run_logs_done(struct run_logs *g);

void run_logs_line(struct run_logs *g, const struct agent_output *line);
void run_logs_pod(struct run_logs *g, const struct history_pod *p); /* it changed: failed ones are printed */
void run_logs_flush(struct run_logs *g);                            /* files, at the end of a turn */
void run_logs_end(struct run_logs *g);                              /* unfinished lines too */

/* The i-th progress bar of a program as it is now, for the block; false: there are no more. */
bool run_logs_bar(const struct run_logs *g, size_t i, struct buf *out);
bool run_logs_is_last(const struct run_logs *g, struct str uid, struct str container); /* it wrote the newest line */

#endif
