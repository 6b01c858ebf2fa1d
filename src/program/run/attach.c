/* attach.c - a run of one pod that wants input: it has that of the run
 *
 * By the way that everybody goes: a copy of this process is `pumice attach`. A terminal becomes that of the pod: while it
 * lasts nothing else is written to the screen. Of a pipe or a file only the input is the pod's, and its lines are shown as
 * those of any pod.
 */
#include "program/run/attach.h"

#include "base/util.h"
#include "cli/pod_specs.h"
#include "program/run/control.h"
#include "program/run/run.h"
#include "os/proc.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { END_MS = 5000 };

static const struct json *input_of(const struct pod_spec *p)
{
    JSON_FOREACH(c, json_get(p->spec, "containers"))
        if (json_bool(json_get(c, "stdin"), false))
            return c;
    return NULL;
}

/* Can a user type here, and has stdin no other use? */
static bool has_input(const struct run *r, const struct load *l)
{
    struct stat st;

    if (isatty(STDIN_FILENO))
        return !r->is_json && isatty(STDOUT_FILENO);
    VEC_FOREACH(doc, &l->docs)
        if (strcmp((*doc)->file, "-") == 0)
            return false;
    return fstat(STDIN_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode));
}

static void tell_input(struct run *r, const struct json *container)
{
    struct str name = r->attach.container;

    if (!r->attach.is_wanted)
        run_notice(r, arena_fmt(r->arena,
                                "container %.*s reads standard input; send it some with 'pumice attach -i%s POD'",
                                STR_ARG(name), r->attach.has_tty ? "t" : ""));
    else if (!isatty(STDIN_FILENO) && !json_bool(json_get(container, "stdinOnce"), false))
        run_notice(r, arena_fmt(r->arena,
                                "container %.*s reads standard input, which does not end for it (stdinOnce: true)",
                                STR_ARG(name)));
}

void run_attach_look(struct run *r, const struct load *l)
{
    struct pod_specs specs;
    int64_t n = 0;
    const struct json *input = NULL;

    pod_specs_of(r->arena, l, &specs);
    VEC_FOREACH(p, &specs.list) {
        n += p->replicas;
        input = input_of(p) ? input_of(p) : input;
    }
    if (!input)
        return;
    r->attach.is_wanted = n == 1 && r->control && has_input(r, l);
    r->attach.container = json_member_text(input, "name");
    r->attach.has_tty = json_bool(json_get(input, "tty"), false);
    tell_input(r, input);
}

/* With signals as others have them: ours are blocked. */
static _Noreturn void be_attach(const struct run *r, const struct history_pod *p)
{
    const char *argv[] = { "pumice",
                           "attach",
                           r->attach.has_tty && isatty(STDIN_FILENO) ? "-it" : "-i",
                           "--state",
                           run_control_state(r->control, r->arena),
                           "--run",
                           run_control_id(r->control),
                           "-n",
                           arena_cstr(r->arena, p->namespace),
                           "-c",
                           arena_cstr(r->arena, r->attach.container),
                           arena_cstr(r->arena, p->name),
                           NULL };
    sigset_t none;

    if (!isatty(STDIN_FILENO)) /* what the pod writes is shown by the run */
        (void)!freopen("/dev/null", "w", stdout);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    _exit(cli_main(ARRAY_LEN(argv) - 1, (char **)argv));
}

static void attach_begin(struct run *r, const struct history_pod *p)
{
    if (isatty(STDIN_FILENO))
        run_progress_hide(&r->progress);
    (void)run_out_flush(&r->out);
    r->attach.is_wanted = false;
    r->attach.uid = p->uid;
    r->attach.pid = proc_fork_alone(STDIN_FILENO, false);
    if (r->attach.pid == 0)
        be_attach(r, p);
    if (r->attach.pid < 0) {
        r->attach.pid = 0;
        run_say(r, STR("cannot pass standard input to the pod; use 'pumice attach'"));
        return;
    }
    r->attach.was_live = r->progress.is_live;
    r->progress.is_live = r->progress.is_live && !isatty(STDIN_FILENO);
}

static void attach_over(struct run *r)
{
    r->attach.pid = 0;
    r->progress.is_live = r->attach.was_live;
}

void run_attach_turn(struct run *r)
{
    if (r->attach.pid && waitpid(r->attach.pid, NULL, WNOHANG) != 0)
        attach_over(r);
    if (!r->attach.is_wanted)
        return;
    VEC_FOREACH(p, &r->history->pods)
        if ((*p)->state == HISTORY_RUNNING && r->attach.is_wanted)
            attach_begin(r, *p);
}

bool run_attach_shows(const struct run *r, struct str pod_uid)
{
    return r->attach.pid && isatty(STDIN_FILENO) && str_eq(r->attach.uid, pod_uid);
}

/* The attachment restores the terminal itself, also when it is closed. */
void run_attach_end(struct run *r)
{
    if (!r->attach.pid)
        return;
    (void)kill(r->attach.pid, SIGTERM);
    (void)proc_wait_gone(r->attach.pid, END_MS);
    attach_over(r);
}
