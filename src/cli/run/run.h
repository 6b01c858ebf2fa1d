/* run.h - the parts of `pumice run`
 *
 *     run.c       options, files                           progress.c   lines, or a block that is redrawn
 *     session.c   one run from beginning to end            failures.c   what fails, as it fails
 *     machine.c   the node: agent, images, devices         logs.c       what containers write
 *     change.c    --set, --replicas, --env                 events.c     -o json
 *     create.c    from files into the store                summary.c    the closing table
 *     loop.c      turns, signals, time-outs, the end       report.c     --report, --trace
 *     files.c     --mount, --here, --workdir               crashes.c    what fails again and again
 *     silence.c   nothing is heard for long                stacks.c     what processes wait in
 *     fit.c       --fit                                    out.c        standard output without blocking
 *     remote.h    --server: the pods are a server's        written.c    what pods wrote, --keep
 *     record.c    the record that it leaves                control.c    the control socket
 *     publish.c   ports of this machine                    attach.c     a pod that wants this terminal
 *
 * What is known of the run is its history (history/history.h): the loop feeds it, the others read it.
 */
#ifndef CLI_RUN_RUN_H
#define CLI_RUN_RUN_H

#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "cli/hint.h"
#include "cli/load.h"
#include "cli/machine.h"
#include "cli/options.h"
#include "history/history.h"
#include "job/phase.h"
#include "node/agent/agent.h"
#include "report/term.h"
#include "sched/why.h"

struct cluster;
struct driver;
struct run_place;
struct store;

struct run_options {
    const char *output, *logs, *log_dir, *namespace, *timeout, *node, *report, *trace;
    const char *workdir, *max_restarts, *silence, *server, *keep;
    struct text_list files, set, replicas, env, env_files, mounts, publish;
    bool keep_state, dry_run, quiet, wait, fail_on_any, restricted, here, fit, stacks, verbose, detach, no_record,
        no_record_logs, publish_all;
    struct machine_options machine;
};

enum { EXIT_TIMED_OUT = 124 };

/* ---- manifests ---- */

/* Change the Jobs among the documents, before they are admitted. Errors name the flag and its value. */
int run_change(struct load *l, const struct run_options *o, struct err *e);

/* Somebody watches: Python tells at once what it prints, as it would on a terminal, unless a container says otherwise. */
void run_unbuffer(struct load *l);

/* Files of this machine in the pods: --mount, --here, --workdir, and hostPaths that are relative. Before they are
 * admitted. */
int run_place_files(struct load *l, const struct run_options *o, struct err *e);

/* Put everything in: namespaces as needed, then what Jobs may refer to, Jobs, pods, Commands. What nothing
 * here acts on is left out and 'say' is told a sentence. */
struct run_say {
    void *ctx;
    void (*say)(void *ctx, struct str sentence);
};
struct run_sink { /* where that is: the store of the run, or a server (remote.c) */
    void *ctx;
    int (*create)(void *ctx, const struct resource_type *type, struct json *object, struct err *e);
    /* Is there such an object? Its uid is empty where it may not be looked at. */
    bool (*find)(void *ctx, const struct resource_type *type, struct str namespace, struct str name,
                 struct str *ret_uid);
    bool is_server; /* whose controllers make groups of pods, and name claims */
};
struct run_sink run_sink_store(struct store *s);
int run_create(const struct run_sink *s, struct load *l, const struct run_say *say, struct err *e);

/* The body of what a controller makes: of the Job of a JobFlow the spec is that of its document, as options have changed
 * it. 'ctx' is the struct run. For cluster_embedded_complete(). */
int run_complete(void *ctx, struct arena *a, const struct resource_type *type, struct json *body, struct err *e);

/* ---- flows ---- */

struct run;
struct run_flows {
    size_t n;
    const struct object *open, *failed; /* one that has not ended, or has failed; NULL: none. Borrowed until more is
                                           seen */
};
struct run_flows run_flows(const struct run *r);
void run_flows_seen(struct run *r, const struct object *flow, bool is_gone);
void run_flows_delete(struct run *r); /* they make no more jobs */
void run_flows_done(struct run *r);

/* Documents with the annotation pumice.dev/submit-after: "5s" are put in later, as if somebody submitted them then:
 * those of the time after 'from_ms' up to 'to_ms' since the beginning. Returns when the next ones are due; INT64_MAX:
 * there are no more. run_create() puts in those up to 0. */
int run_create_later(const struct run_sink *s, struct load *l, int64_t from_ms, int64_t to_ms, struct err *e);
int64_t run_create_due(const struct load *l, int64_t after_ms);

/* --restricted: what Pod Security "restricted" refuses in the pods of the files becomes an error of its document. */
void run_restrict(struct load *l);

/* --fit: requests of Jobs that are larger than the machine become as small as it is; 'say' is told what was done. */
void run_fit(struct load *l, const struct json *capacity, const struct run_say *say);

/* What opens this machine to pods (privileged, hostPath, …): 'say' is told one sentence for each kind. */
void run_tell_dangers(const struct load *l, const struct run_say *say);
/* A notice for each field that has no effect on this machine, however many pods have it. */
void run_tell_ignored(const struct load *l, const struct run_say *say);

/* ---- standard output ---- */

/* Bytes wait in a queue while the reader is slow, so that the run does not. A reader that is gone takes nothing more.
 * */
struct run_out {
    int fd;
    struct buf queue;
    size_t at; /* written so far */
    bool is_file, is_gone;
    int failed_errno; /* not EPIPE */
};
enum { RUN_OUT_MAX = 16 << 20 }; /* beyond this containers wait for the reader of the run */

void run_out_init(struct run_out *o, int fd);
void run_out_done(struct run_out *o);
/* Write what can be written now; true: nothing is left. */
bool run_out_flush(struct run_out *o);
static inline size_t run_out_left(const struct run_out *o)
{
    return o->queue.n - o->at;
}

/* ---- what containers write ---- */

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
    bool has_colour, is_terminal, has_containers, has_namespaces;
    size_t width;
    struct map containers; /* struct run_log by "uid/container" */
    struct map names;      /* of files, to number those of pods that come again */
    VEC(struct run_log *) dirty;
    const struct run_log *last; /* whose line was shown last */
    VEC(struct run_bar) bars;   /* progress bars of programs, on a terminal */
    uint64_t n_moves;           /* counts what they show */
};

/* 'mode': all, failed, none, or names of tasks ("worker", "train/worker", with commas between). Usage errors name what
 * there is. */
int run_logs_init(struct run_logs *g, const struct run_options *o, const struct load *l, struct err *e);
int run_logs_open(struct run_logs *g, struct err *e); /* make the directory */
void run_logs_done(struct run_logs *g);
void run_logs_line(struct run_logs *g, const struct agent_output *line);
void run_logs_pod(struct run_logs *g, const struct history_pod *p); /* it changed: failed ones are printed */
/* The i-th progress bar of a program as it is now, for the block; false: there are no more. */
bool run_logs_bar(const struct run_logs *g, size_t i, struct buf *out);
bool run_logs_is_last(const struct run_logs *g, struct str uid, struct str container); /* it wrote the newest line */
void run_logs_flush(struct run_logs *g);                                               /* files, at the end of a turn */
void run_logs_end(struct run_logs *g);                                                 /* unfinished lines too */

/* ---- -o json ---- */

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
struct run_written;
void run_event_written(struct run_events *ev, const struct run_written *w, int64_t now_ms);

struct run_end {
    int status;
    struct str reason; /* empty: by itself */
    struct str hint;   /* what to do about it; may be empty */
    int64_t begin_ms, end_ms;
};
void run_event_end(struct run_events *ev, const struct history *h, const struct run_end *end);

/* ---- failures, as they happen ---- */

struct run_kind {                  /* failures that are alike are told as one */
    const struct history_job *job; /* NULL: of pods of their own */
    struct str label;              /* of the first pod */
    struct str task, container;    /* container: empty where the pod has no other */
    struct str words, tail;
    struct str hint; /* what to do; may be empty */
    size_t n_pods, told_pods;
    int64_t n_times, told_times;
    int64_t since_ms, told_ms;
    bool is_final;   /* the pod has failed with it: nothing is started again */
    bool is_seen;    /* its last lines stand right above */
    struct map pods; /* by uid */
};

struct run_failures {
    struct arena arena;
    VEC(struct run_kind *) kinds;
    struct map kinds_by_key, counts; /* counts: int64_t by "uid/container" */
};

void run_failures_init(struct run_failures *f);
void run_failures_done(struct run_failures *f);
/* NULL: there are too many kinds. */
struct run_kind *run_failures_add(struct run_failures *f, const struct history_failure *w, const struct history_pod *p,
                                  int64_t now_ms);
int64_t run_kind_due(const struct run_kind *k);                /* when to tell it, or more of it; INT64_MAX: not now */
void run_kind_head(struct buf *out, const struct run_kind *k); /* "2 pods of worker failed 8 times: exit code 3" */
void run_kind_tell(struct buf *out, struct run_kind *k,
                   int64_t now_ms); /* the first time with its last lines and the hint */

/* ---- crash loops ---- */

struct run_crashes {
    struct arena arena;
    struct map counts; /* by "namespace/pod/container" */
};
struct run;
void run_crashes_done(struct run_crashes *c);
void run_crashes_add(struct run *r, const struct history_failure *f);

/* ---- progress ---- on standard error ---- */

struct run_progress {
    const struct history *history;
    const struct hints *hints; /* what to do about failures is made from these; NULL: nothing is said */
    struct run_out *out;       /* on a terminal both share the screen */
    bool is_live, is_plain, is_quiet, has_colour, shares_screen;
    int64_t begin_ms, drawn_ms, told_ms;
    int64_t until_ms;            /* the run times out then; 0: it does not */
    size_t n_lines;              /* of the block on the screen; 0: none */
    uint64_t changes;            /* of the history, when it was drawn or told */
    uint64_t moves;              /* … of progress bars of programs */
    const struct run_logs *logs; /* which have those; may be NULL */
    bool is_stopping, is_ending; /* ending: nothing is told any more that the summary tells */
    struct buf block;
    bool moved;         /* … of this line: */
    struct buf pulling; /* images that are on their way, in a line */
    struct map waits;   /* jobs whose wait was told: uid → text */
    struct run_failures failures;
    struct arena arena;
};
/* ---- rows.c ---- */

extern const enum style run_state_styles[HISTORY_STATE_MAX];

/* Are all pods of the job there, and few enough for a row each? */
bool run_rows_fit(const struct history_job *j, size_t most);
/* "  worker-0  running    1 restart  cpu 0.98 of 2  memory 118Mi of 256Mi  fails in 42s (activeDeadlineSeconds)";
 * 'width': of the labels. */
void run_row(struct buf *out, const struct history_pod *p, size_t width, bool has_colour, int64_t now_ms);

void run_progress_init(struct run_progress *p, const struct history *h, struct run_out *out, bool is_quiet,
                       bool is_json, int64_t now_ms);
void run_progress_done(struct run_progress *p);
void run_progress_hide(struct run_progress *p); /* before anything else is written */
/* Draw or tell what is new. Returns when to call again at the latest. */
int64_t run_progress_turn(struct run_progress *p, int64_t now_ms);
void run_progress_job(struct run_progress *p, const struct history_job *j, int64_t now_ms);
void run_progress_pod(struct run_progress *p, const struct history_pod *pod, int64_t now_ms);
/* Something failed; 'is_seen': its last lines stand right above. */
void run_progress_failure(struct run_progress *p, const struct history_failure *w, bool is_seen, int64_t now_ms);
void run_progress_decision(struct run_progress *p, const struct history_job *j, struct str message, int64_t now_ms);
void run_progress_pulling(struct run_progress *p, struct str line); /* a line of the block; empty: none */
/* A line for people, above the block. */
void run_progress_say(struct run_progress *p, struct str sentence);
void run_progress_lines(struct run_progress *p, struct str lines); /* as they are */
/* The block itself, for tests: 'rows' lines of 'columns' at most. */
size_t run_progress_block(const struct run_progress *p, struct buf *out, size_t columns, size_t rows, int64_t now_ms);

/* ---- the end ---- */

void run_summary(struct buf *out, const struct history *h, const struct hints *hints, const struct run_end *end,
                 bool has_colour, bool is_quiet);

/* ---- what pods wrote ---- */

struct run_written { /* that goes with them; as much of it as was looked at */
    struct arena arena;
    int64_t files, bytes, n_pods;
    bool is_more;     /* than these */
    size_t n_looked;  /* entries, of all pods: counting must not cost much */
    struct map pods;  /* by uid */
    struct map dirs;  /* struct run_written_dir by path */
    const char *keep; /* --keep; NULL: not */
    int keep_fd;      /* -1: none */
    bool is_over;     /* nothing more is taken */
    VEC(struct run_kept *) kept;
    struct map places;  /* made below 'keep': by pod, container and start */
    size_t n_renamed;   /* whose name was taken */
    struct str renamed; /* the first of them: "worker-0.2" */
    struct tree_copy_sum {
        int64_t files, bytes, left_out, not_copied;
        int first_errno;
        struct str first; /* "worker-0:/root/out" */
        bool is_ended;
    } copied;
};
int run_written_open(struct run_written *w, const struct run_options *o, struct err *e); /* --keep: the directory */
void run_written_done(struct run_written *w);
struct run;
/* For agent_hooks.written; 'r' is the struct run. */
bool run_written_take(struct run *r, const struct agent_written *w);
/* Claims that go with the run, in the directory of the run; then all that is kept is copied. */
void run_written_end(struct run *r, const char *run_dir);
/* A sentence, or nothing; -o json: an event. */
void run_written_tell(struct run *r);

/* ---- the record ---- records.h ---- */

struct run_record;
struct run_record *run_record_find(const struct run_options *o); /* before user_enter(); NULL: none is wanted */
void run_record_free(struct run_record *c);                      /* NULL is fine */
/* All of these do nothing where there is none. Times are those that the history was told, to the millisecond. */
void run_record_begin(struct run *r, const char *id, const struct load *l);
void run_record_object(struct run *r, const struct object *o, bool is_gone, int64_t now_ms);
void run_record_note(struct run *r, struct str sentence, int64_t now_ms);
void run_record_why(struct run *r, const struct history_job *j, int64_t now_ms);
void run_record_stopped(struct run *r, const struct history_job *j);
void run_record_pod(struct run *r, const struct history_pod *p); /* it may be over */
void run_record_line(struct run *r, const struct agent_output *line);
void run_record_flush(struct run *r);
void run_record_end(struct run *r, int status);

/* ---- the loop ---- */

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

struct run_publishes { /* ports of this machine that lead to pods: control.h */
    struct run *run;   /* NULL: there are none */
    struct agent *agent;
    int epoll;
    struct list list; /* struct run_publish */
};

struct run_control; /* the same */

struct run_attach {            /* this terminal is that of the only pod: attach.c */
    bool is_wanted;            /* … as soon as it runs */
    pid_t pid;                 /* of the program that has the terminal; 0: none */
    struct str uid, container; /* of the pod */
    bool has_tty;
    bool was_live;
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
    bool has_keyboard; /* somebody can press Ctrl-C */
    bool is_kicked;    /* we wrote something: no sleep before the next turn */
    enum run_stage stage;
    int64_t begin_ms, timeout_ms; /* INT64_MAX: none */
    int64_t max_restarts;         /* of one container; INT64_MAX: any number */
    struct run_crashes crashes;
    struct run_written written;
    struct run_record *record; /* NULL: none */
    struct {
        int64_t limit_ms; /* 0: it is never told */
        int64_t since_ms;
        int n_told;
    } silence;
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

void run_delete(struct run *r, const struct resource_type *type, struct str namespace, struct str name, struct str uid);

/* Say a sentence to whoever watches: a line or an event, and the history. */
void run_say(struct run *r, struct str sentence);
/* The same for what is good to know: -q leaves it to the history. */
void run_notice(struct run *r, struct str sentence);
/* Several lines under a head, as they are. */
void run_tell_text(struct run *r, struct str head, struct str lines);
/* End it: 'status' is the exit status. Once: gracefully; again: at once. */
void run_stop(struct run *r, int status, struct str reason);

/* ---- silence ---- */

void run_heard(struct run *r); /* a container has written something, or something happened to a pod */
int64_t run_silence_due(const struct run *r);
void run_silence_turn(struct run *r);
void run_stacks(struct run *r); /* tell what all processes wait in */

/* ---- the machine ---- */

struct run_machine {
    struct run *run;
    const struct load *load;
    struct json *capacity; /* NULL: what the machine has */
    struct machine machine;
    struct agent *agent;
};

int run_machine_find(struct run_machine *m, const struct run_options *o, struct err *e); /* can it do what is asked? */
int run_machine_prepare(struct run_machine *m, const struct run_options *o, struct err *e); /* users, images, devices */
int run_machine_open(struct run_machine *m, const struct run_options *o, struct err *e);    /* the agent: r->node */

/* ---- --report and --trace ---- */

struct run_report {
    const char *flag, *path;
    int fd;
    void (*print)(struct buf *out, const struct history *h, struct str title);
};

struct run_reports {
    struct run_report list[2];
    size_t n;
};
int run_reports_open(struct run_reports *rs, const struct run_options *o, struct err *e);
int run_reports_write(const struct run_reports *rs, const struct history *h); /* says itself what went wrong */
void run_reports_close(struct run_reports *rs);

/* ---- all of it ---- */

struct run_request {
    const struct run_options *o;
    struct load *load;
    struct json *capacity; /* of --node; NULL: none is given */
    int64_t timeout_ms;    /* INT64_MAX: none */
    int64_t max_restarts;  /* the same */
    int64_t silence_ms;    /* 0: none is told */
    const struct run_place *place;
};
int run_session(struct arena *a, const struct run_request *q); /* returns the exit status */

#endif
