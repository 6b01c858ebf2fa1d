/* run.h - a run: its parts, its state, and the loop that it goes round in
 *
 *     run.c        the command: options, files              progress.h   lines, or a block that is redrawn
 *     session.h    one run from beginning to end            failures.h   what fails, as it fails
 *     machine.h    the node: agent, images, devices         logs.h       what containers write
 *     documents.h  the files as this run wants them         events.h     -o json
 *     create.h     from files into the store                summary.h    the closing table
 *     loop.c       turns, signals, sleep                    report.h     --report, --trace
 *     flows.h      JobFlows                                 crashes.h    what fails again and again
 *     publish.h    ports of this machine                    silence.h    nothing is heard for long
 *     control.h    the control socket                       written.h    what pods wrote, --keep
 *     attach.h     a pod that wants this terminal           recorder.h   the record that it leaves
 *     remote.h     --server: the pods are a server's        out.h        standard output without blocking
 *     news.h       changes, and their reports               say.h        sentences for the user
 *     ending.h     when it is over, time-outs, stopping
 *
 * The history (history/history.h) knows all about the run: news.c feeds it, the others read it.
 */
#ifndef PROGRAM_RUN_RUN_H
#define PROGRAM_RUN_RUN_H

#include "program/run/attach.h"
#include "program/run/crashes.h"
#include "program/run/create.h"
#include "program/run/events.h"
#include "program/run/logs.h"
#include "program/run/options.h"
#include "program/run/out.h"
#include "program/run/progress.h"
#include "program/run/publish.h"
#include "program/run/silence.h"
#include "program/run/summary.h"
#include "program/run/written.h"

struct cluster;
struct driver;
struct hints;
struct run_control;
struct run_recorder;
struct store;

struct run_node { /* the machine: an agent, or in tests something else */
    void *ctx;
    int fd; /* -1: none */
    int64_t (*turn)(void *ctx, bool *ret_busy);
    size_t (*pods)(void *ctx);
    void (*kill_all)(void *ctx);
    void (*processes)(void *ctx, void (*f)(void *arg, const struct agent_process *p), void *arg); /* may be NULL */
    int (*freeze)(void *ctx, bool on); /* all pods; -1: it cannot. May be NULL */
    int (*open_socket)(void *ctx);     /* by which its pods are reached (driver_options.open_socket); may be NULL */
};

enum run_stage { RUN_GOES, RUN_CLOSES, RUN_STOPS, RUN_KILLED };

struct run {
    struct arena *arena;
    const struct run_options *o;
    struct clock *clock;
    struct cluster *eyes; /* what is seen of the jobs, and how objects are deleted */
    struct run_sink sink;
    struct run_node node;
    struct store *store; /* these three: NULL where a server has the objects */
    struct cluster *door;
    struct driver *driver;
    struct map flows; /* struct object by uid */
    struct run_publishes publishes;
    struct run_control *control; /* NULL: there is none */
    int64_t control_due_ms;
    struct run_attach attach;

    struct run_out out;
    struct run_logs logs;
    struct run_events events;
    struct run_progress progress;
    struct history *history;
    const struct hints *hints; /* NULL: there are none */
    int signal_fd, log_fd;     /* -1: none */
    bool is_json;
    bool has_keyboard; /* stdin is a terminal: Ctrl-C is possible */
    bool is_kicked;    /* we wrote something: no sleep before the next turn */
    enum run_stage stage;
    int64_t begin_ms, timeout_ms; /* INT64_MAX: none */
    int64_t max_restarts;         /* of one container; INT64_MAX: any number */
    struct run_crashes crashes;
    struct run_written written;
    struct run_recorder *recorder; /* NULL: none */
    struct run_silence silence;
    int64_t stage_due_ms;       /* when patience ends */
    int64_t stuck_after_ms;     /* nothing can happen for so long: nothing will; 0: 3 s */
    int64_t stuck_ms, asked_ms; /* since when nothing can happen; INT64_MAX: it can */
    uint64_t compacted_rev;
    struct load *load;  /* what is put in later; may be NULL */
    int64_t created_ms; /* since the beginning: up to when it was put in */
    struct run_end end;
};

/* 'r->clock' is there, and 'r->store', for which both doors and the driver are made; without it 'r->eyes' and 'r->sink'
 * are the caller's. The history begins at 'from_ms'. */
void run_begin(struct run *r, int64_t from_ms, size_t n_jobs, bool has_namespaces);
/* Until it is over. Fills 'r->end'. */
void run_loop(struct run *r);
void run_finish(struct run *r); /* what run_begin made */

/* A container wrote a line. */
void run_output(struct run *r, const struct agent_output *line);
size_t run_output_room(const struct run *r); /* bytes of output that there is room for now */

#endif
