/* session.c - one run from beginning to end: what it takes over, what it tells, what it gives back */
#include "program/run/session.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/rand.h"
#include "base/util.h"
#include "cli/hint.h"
#include "program/run/control.h"
#include "program/run/documents.h"
#include "program/run/machine.h"
#include "program/run/recorder.h"
#include "program/run/remote.h"
#include "program/run/report.h"
#include "program/run/run.h"
#include "os/signals.h"
#include "base/term.h"
#include "store/store.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

struct session { /* what one `pumice run` holds */
    struct run run;
    struct load *load;
    const struct run_place *place;
    struct run_remote *remote; /* NULL: all is on this machine */
    struct run_machine machine;
    struct cluster *agent_door;
    struct run_reports reports;
    struct hints hints;
    int64_t from_ms; /* when the history begins: before anything is made ready */
    int log_pipe[2];
};

/* ---- signals, output, log ---- */

/* While there is a block on the screen, lines of our own log must not go right through it. */
static void take_over_log(struct session *s)
{
    struct log_config c = { .fd = STDERR_FILENO,
                            .level = s->run.o->verbose ? LOG_LEVEL_DEBUG
                                     : s->remote       ? LOG_LEVEL_ERROR
                                                       : /* a server that is away is said */
                                         LOG_LEVEL_WARN };

    if (s->run.progress.is_live && pipe2(s->log_pipe, O_CLOEXEC | O_NONBLOCK) == 0) {
        c.fd = s->log_pipe[1];
        s->run.log_fd = s->log_pipe[0];
    }
    (void)log_setup(c); /* the old one is the default */
}

static void give_back_log(struct session *s)
{
    (void)log_setup((struct log_config){ .fd = STDERR_FILENO, .level = LOG_LEVEL_WARN });
    for (int i = 0; i < 2; i++)
        if (s->log_pipe[i] >= 0)
            close(s->log_pipe[i]);
    s->run.log_fd = -1;
}

static void set_up_output(struct session *s, const struct run_options *o)
{
    struct run *r = &s->run;

    r->is_json = o->output && strcmp(o->output, "json") == 0;
    run_out_init(&r->out, STDOUT_FILENO);
    r->events.out = &r->out;
    r->logs.out = &r->out;
    r->logs.events = r->is_json ? &r->events : NULL;
    r->has_keyboard = isatty(STDIN_FILENO);
    r->logs.is_terminal = isatty(STDOUT_FILENO);
    r->logs.has_colour = term_has_colour(stdout);
}

/* ---- beginning and end ---- */

static void session_on_say(void *ctx, struct str sentence)
{
    run_say(ctx, sentence);
}

static void session_on_notice(void *ctx, struct str sentence)
{
    run_notice(ctx, sentence);
}

/* A name for its record. A run on a server has no agent that would have chosen one. */
static const char *record_id(struct session *s)
{
    return s->remote ? arena_fmt(s->run.arena, "%06x", (unsigned)(rand_os_u64() & 0xffffff)).p
                     : agent_id(s->machine.agent);
}

static int session_start(struct session *s, struct err *e)
{
    struct run *r = &s->run;
    struct run_listener say = { r, session_on_say }, notice = { r, session_on_notice };

    if (!s->remote)
        agent_attach(s->machine.agent, s->agent_door);
    if (s->machine.machine.root.why[0])
        run_notice(r, arena_fmt(r->arena, "containers can only run as root: %s", s->machine.machine.root.why));
    run_record_begin(r, record_id(s), s->load);
    if (r->is_json)
        run_event_start(&r->events,
                        s->remote ? arena_cstr(r->arena, s->remote->config.server) : agent_id(s->machine.agent),
                        s->load, r->begin_ms);
    if (s->place->notice.n)
        run_notice(r, s->place->notice);
    if (r->o->fit)
        run_fit(s->load, agent_capacity(s->machine.agent, r->arena), &notice);
    run_tell_dangers(s->load, &notice);
    run_tell_ignored(s->load, &notice);
    r->load = s->load;
    run_attach_look(r, s->load);
    VEC_FOREACH(text, &r->o->machine.image.list) {
        autobuf said = { 0 };

        hint_image(&said, &s->hints, str_of(*text));
        if (said.n)
            run_notice(r, buf_view(&said));
    }
    if (run_create(&r->sink, s->load, &say, e) < 0)
        return -1;
    if (r->timeout_ms != INT64_MAX)
        r->progress.until_ms = r->timeout_ms += r->begin_ms;
    return 0;
}

/* Write everything that is still in the queue, unless the user presses Ctrl-C again. */
static void session_drain(struct run *r)
{
    while (!run_out_flush(&r->out)) {
        struct pollfd p[] = { { .fd = r->out.fd, .events = POLLOUT }, { .fd = r->signal_fd, .events = POLLIN } };
        int number;

        (void)poll(p, ARRAY_LEN(p), -1);
        number = signals_next(r->signal_fd);
        if (number == SIGTSTP)
            (void)kill(getpid(), SIGSTOP);
        else if (number && number != SIGWINCH)
            return;
    }
}

static int tell_end(struct session *s)
{
    struct run *r = &s->run;
    autobuf text = { 0 };
    int status = r->end.status;

    run_logs_end(&r->logs);
    run_progress_hide(&r->progress);
    if (!s->remote) /* else what pods wrote is on the server, and goes with them */
        run_written_end(r, agent_dir(s->machine.agent));
    if (r->is_json && r->o->keep_state)
        run_event_notice(&r->events,
                         arena_fmt(r->arena, "the files of the run are kept in %s", agent_dir(s->machine.agent)),
                         r->end.end_ms);
    if (r->is_json) {
        run_event_written(&r->events, &r->written, r->end.end_ms);
        run_event_end(&r->events, r->history, &r->end);
    }
    session_drain(r);
    if (!r->is_json)
        run_summary(&text, r->history, &r->end,
                    &(struct run_summary_options){ r->hints, r->progress.has_colour, r->o->quiet });
    (void)term_write(stderr, &text); /* a broken stderr cannot be reported */
    run_written_tell(r);
    if (r->logs.dir_errno)
        fprintf(stderr, "pumice run: cannot write below %s: %s\n", r->logs.dir, strerror(r->logs.dir_errno));
    if (r->out.failed_errno)
        fprintf(stderr, "pumice run: cannot write the output: %s\n", strerror(r->out.failed_errno));
    if (run_reports_write(&s->reports, r->history) < 0 || r->logs.dir_errno || r->out.failed_errno)
        status = status == EXIT_FINE ? EXIT_FAILED : status;
    run_record_end(r, status);
    return status;
}

/* Where the pods are: this machine, or a server that is followed from now on. */
static int open_place(struct session *s, struct err *e)
{
    return s->remote ? run_remote_follow(s->remote, s->load, e) : run_machine_open(&s->machine, s->run.o, e);
}

static void close_place(struct session *s)
{
    if (s->remote)
        run_remote_clear(s->remote);
    else
        agent_close(s->machine.agent);
}

/* A run works without its control socket, but not without the ports that the user asked for. */
static int open_ways_in(struct session *s, struct err *e)
{
    struct run *r = &s->run;
    struct agent *agent = s->machine.agent;
    struct err why;

    if (s->remote) /* the server has its own */
        return 0;
    if (run_publishes_init(&r->publishes, r, agent, e) < 0 || run_publishes_open(&r->publishes, r->o, s->load, e) < 0)
        return -1;
    if (run_control_open(r, agent, &r->publishes, &r->control, &why) < 0)
        run_notice(r, arena_fmt(r->arena, "'pumice exec' and similar commands cannot reach this run: %s", why.text));
    return 0;
}

/* From here on there is something to clean up. */
static int run_all(struct session *s)
{
    struct run *r = &s->run;
    struct err e;
    int status;

    if (!s->remote)
        r->store = store_new(&(struct store_options){ .clock = r->clock, .seed = rand_os_u64() });
    run_begin(r, s->from_ms, load_count_jobs(s->load), r->logs.has_namespaces);
    r->logs.history = r->history;
    s->hints = (struct hints){ s->load, s->machine.machine.images };
    r->hints = r->events.hints = s->remote ? NULL : &s->hints; /* they speak of this command's own machine */
    if (!s->remote)
        s->agent_door = cluster_embedded_new(r->store, r->clock);
    run_progress_init(&r->progress, r->history, &r->out,
                      r->is_json    ? RUN_PROGRESS_NONE
                      : r->o->quiet ? RUN_PROGRESS_QUIET
                                    : RUN_PROGRESS_ALL,
                      r->begin_ms);
    r->progress.logs = &r->logs;
    r->progress.hints = r->hints;
    /* Before anything is made that would have to be removed again. */
    if (signals_open((int[]){ SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, 0 }, &s->run.signal_fd, &e) < 0 ||
        open_place(s, &e) < 0) {
        status = command_fail("run", &e, EXIT_FAILED);
        goto done;
    }
    take_over_log(s);
    if (open_ways_in(s, &e) == 0 && session_start(s, &e) == 0) {
        run_loop(r);
        run_control_end(r->control);
        history_finish(r->history, r->end.end_ms);
        status = tell_end(s);
    } else {
        status = command_fail("run", &e, EXIT_FAILED);
    }
    if (r->o->keep_state && !r->is_json)
        fprintf(stderr, "pumice: the files of the run are kept in %s\n", agent_dir(s->machine.agent));
    give_back_log(s);
    close_place(s);
    run_control_free(r->control);
    run_publishes_done(&r->publishes);
done:
    run_progress_done(&r->progress);
    cluster_free(s->agent_door);
    run_finish(r);
    store_free(r->store);
    if (r->signal_fd >= 0)
        close(r->signal_fd);
    return status;
}

static bool has_namespaces(const struct load *l)
{
    struct str first = STR_NULL;

    for (size_t i = 0; i < l->docs.n; i++) {
        struct str own = object_namespace(l->docs.v[i]->root);

        if (!l->docs.v[i]->set)
            continue;
        if (str_empty(first))
            first = own;
        else if (!str_eq(first, own))
            return true;
    }
    return false;
}

/* All that can go wrong before anything runs. */
static int session_prepare(struct session *s, const struct run_options *o, struct err *e)
{
    if (s->place->is_server ? run_remote_open(&s->run, s->place->kubeconfig, &s->remote, e) < 0
                            : run_machine_find(&s->machine, o, e) < 0)
        return -1;
    if (run_reports_open(&s->reports, o, e) < 0 || run_logs_open(&s->run.logs, e) < 0 ||
        run_written_open(&s->run.written, o, e) < 0)
        return -1;
    s->run.recorder = run_recorder_find(o);
    return s->remote ? 0 : run_machine_prepare(&s->machine, o, e);
}

int run_session(struct arena *a, const struct run_request *q)
{
    struct clock_steady clock;
    struct session s = { .run = { .arena = a,
                                  .o = q->o,
                                  .clock = &clock.clock,
                                  .timeout_ms = q->timeout_ms,
                                  .max_restarts = q->max_restarts,
                                  .silence.limit_ms = q->silence_ms,
                                  .signal_fd = -1,
                                  .log_fd = -1 },
                         .load = q->load,
                         .place = q->place,
                         .machine = { .run = &s.run, .load = q->load, .capacity = q->capacity },
                         .log_pipe = { -1, -1 } };
    struct err e;
    int status;

    clock_steady_init(&clock, &clock_real);
    s.run.logs.has_namespaces = has_namespaces(q->load);
    if (run_logs_init(&s.run.logs, q->o, q->load, &e) < 0) {
        status = command_fail("run", &e, EXIT_USAGE);
    } else {
        set_up_output(&s, q->o);
        s.from_ms = clock_now_ms(s.run.clock);
        status = session_prepare(&s, q->o, &e) < 0 ? command_fail("run", &e, EXIT_FAILED) : run_all(&s);
        run_out_done(&s.run.out);
    }
    run_logs_done(&s.run.logs);
    run_written_done(&s.run.written);
    run_recorder_free(s.run.recorder);
    run_reports_close(&s.reports);
    run_remote_close(s.remote);
    machine_done(&s.machine.machine);
    return status;
}
