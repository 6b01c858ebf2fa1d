/* attach.c - a run of one pod that wants input, started at a terminal: the terminal becomes that of the pod
 *
 * By the way that everybody goes: a copy of this process is `pumice attach`. While it runs nothing else is written to the
 * screen.
 */
#include "cli/run/control.h"

#include "base/util.h"
#include "cli/pod_specs.h"

#include "os/proc.h"

#include <signal.h>
#include <sys/wait.h>

static const struct json *input_of(const struct pod_spec *p)
{
    JSON_FOREACH(c, json_get(p->spec, "containers"))
        if (json_bool(json_get(c, "stdin"), false))
            return c;
    return NULL;
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
    r->attach.is_wanted = n == 1 && !r->is_json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && r->control;
    r->attach.container = json_member_text(input, "name");
    r->attach.has_tty = json_bool(json_get(input, "tty"), false);
    if (!r->attach.is_wanted)
        run_notice(r, arena_fmt(r->arena, "container %.*s reads its input: 'pumice attach -i%s POD' gives it some",
                                STR_ARG(r->attach.container), r->attach.has_tty ? "t" : ""));
}

/* With signals as others have them: ours are blocked. */
static _Noreturn void be_attach(const struct run *r, const struct history_pod *p)
{
    const char *argv[] = { "pumice",
                           "attach",
                           r->attach.has_tty ? "-it" : "-i",
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

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    _exit(cli_main(ARRAY_LEN(argv) - 1, (char **)argv));
}

static void begin(struct run *r, const struct history_pod *p)
{
    run_progress_hide(&r->progress);
    (void)run_out_flush(&r->out);
    r->attach.is_wanted = false;
    r->attach.uid = p->uid;
    r->attach.pid = proc_fork_alone(STDIN_FILENO);
    if (r->attach.pid == 0)
        be_attach(r, p);
    if (r->attach.pid < 0) {
        r->attach.pid = 0;
        run_say(r, STR("the terminal could not be given to the pod: use 'pumice attach'"));
        return;
    }
    r->attach.was_live = r->progress.is_live;
    r->progress.is_live = false;
}

static void over(struct run *r)
{
    r->attach.pid = 0;
    r->progress.is_live = r->attach.was_live;
}

void run_attach_turn(struct run *r)
{
    if (r->attach.pid && waitpid(r->attach.pid, NULL, WNOHANG) != 0)
        over(r);
    if (!r->attach.is_wanted)
        return;
    VEC_FOREACH(p, &r->history->pods)
        if ((*p)->state == HISTORY_RUNNING && r->attach.is_wanted)
            begin(r, *p);
}

bool run_attach_shows(const struct run *r, struct str pod_uid)
{
    return r->attach.pid && str_eq(r->attach.uid, pod_uid);
}

/* It gives the terminal back itself, also when it is told to go. */
void run_attach_end(struct run *r)
{
    if (!r->attach.pid)
        return;
    (void)kill(r->attach.pid, SIGTERM);
    (void)waitpid(r->attach.pid, NULL, 0);
    over(r);
}
