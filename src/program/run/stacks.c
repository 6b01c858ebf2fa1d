/* stacks.c - what every process of the run waits in: by SIGQUIT (Ctrl-\), and with --stacks when it is silent
 *
 * The kernel tells where a thread sleeps, and to root the way that led there. Where the program's own functions are
 * wanted, py-spy (for Python) or gdb tell them, if they are installed.
 */
#include "program/run/silence.h"

#include "base/util.h"
#include "program/run/run.h"
#include "os/io.h"
#include "os/proc.h"
#include "base/term.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

enum {
    THREADS_SHOWN = 16, /* kinds of them, of one process */
    FRAMES_SHOWN = 8,
    DEBUGGED = 8, /* processes; a debugger stops them for a moment */
    DEBUGGER_MS = 10000,
    TEXT_MAX = 16384,
};

#define OURS "pumice-init" /* process 1 of a container: waits for the others */

struct stacks {
    struct run *run;
    struct str last; /* container whose heading was printed */
    size_t n, n_debugged;
    struct buf out;
};

/* ---- threads ---- */

struct thread {
    char state;
    struct str where, stack;
    size_t n; /* that are alike */
};

struct threads {
    VEC(struct thread) list;
};

static struct str file_of(struct arena *a, pid_t pid, struct str tid, const char *name)
{
    struct str path = arena_fmt(a, "/proc/%d/task/%.*s/%s", (int)pid, STR_ARG(tid), name);

    return str_trim(file_text(a, AT_FDCWD, path.p, TEXT_MAX));
}

/* "4711 (a name) S …": the letter after the last bracket. */
static char stacks_state_of(struct str stat)
{
    struct str rest = str_from(stat, (size_t)(str_rfind_char(stat, ')') + 2));

    return rest.n ? rest.p[0] : '?';
}

static void add_thread(struct arena *a, struct threads *all, pid_t pid, struct str tid)
{
    struct thread t = { .state = stacks_state_of(file_of(a, pid, tid, "stat")),
                        .where = file_of(a, pid, tid, "wchan"),
                        .stack = file_of(a, pid, tid, "stack"),
                        .n = 1 };

    VEC_FOREACH(known, &all->list)
        if (known->state == t.state && str_eq(known->where, t.where) && str_eq(known->stack, t.stack)) {
            known->n++;
            return;
        }
    *vec_push(a, &all->list) = t;
}

static void find_threads(struct arena *a, pid_t pid, struct threads *ret)
{
    struct str path = arena_fmt(a, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path.p);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            add_thread(a, ret, pid, str_of(entry->d_name));
    if (dir)
        (void)closedir(dir);
}

static const char *state_words(char state)
{
    static const struct {
        char letter;
        const char *words;
    } known[] = { { 'R', "runs" },       { 'S', "waits" },           { 'D', "waits for a device" },
                  { 'T', "is stopped" }, { 't', "is being traced" }, { 'Z', "has ended" },
                  { 'I', "idles" } };

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (known[i].letter == state)
            return known[i].words;
    return "is in a state of its own";
}

/* "[<0>] futex_wait+0x12/0x90": the function. */
static void print_stack(struct buf *out, struct str stack)
{
    struct str line;
    int n = 0;

    while (str_split(&stack, '\n', &line) && n < FRAMES_SHOWN) {
        ptrdiff_t blank = str_find_char(line, ' '), plus = str_find_char(line, '+');

        if (blank < 0 || plus < blank)
            continue;
        buf_fmt(out, "%s%.*s", n++ ? " < " : ": ", (int)(plus - blank - 1), line.p + blank + 1);
    }
}

static void print_thread(struct buf *out, const struct thread *t, bool is_only)
{
    buf_str(out, STR("        "));
    if (!is_only)
        buf_fmt(out, "%zu thread%s: ", t->n, t->n == 1 ? "" : "s");
    buf_str(out, str_of(state_words(t->state)));
    if (t->state != 'R' && t->where.n && !str_is(t->where, "0"))
        buf_fmt(out, " in %.*s", STR_ARG(t->where));
    print_stack(out, t->stack);
    buf_char(out, '\n');
}

/* ---- debuggers ---- */

/* What it says of the program's own functions. */
static void debug(struct stacks *s, pid_t pid, bool is_python)
{
    autoarena a = { 0 };
    autobuf said = { 0 };
    struct str text, line, number = arena_fmt(&a, "%d", (int)pid);
    const char *spy[] = { "py-spy", "dump", "--pid", number.p, NULL };
    const char *gdb[] = { "gdb",
                          "-p",
                          number.p,
                          "-batch",
                          "-nx",
                          "-iex",
                          "set auto-load off",
                          "-iex",
                          "set debuginfod enabled off",
                          "-ex",
                          "thread apply all bt 16",
                          NULL };
    char path[4096];
    struct proc p;
    struct err e;

    if (s->n_debugged >= DEBUGGED)
        return;
    is_python = is_python && proc_find("py-spy", path, sizeof(path));
    if (!is_python && !proc_find("gdb", path, sizeof(path)))
        return;
    s->n_debugged++;
    if (proc_begin(path, is_python ? spy : gdb, &(struct proc_how){ .streams = PROC_APART }, &p, &e) < 0)
        return;
    (void)poll(&(struct pollfd){ .fd = p.fd, .events = POLLIN }, 1, DEBUGGER_MS);
    (void)proc_output(&p, TEXT_MAX, &said);
    (void)proc_end(&p, 0, NULL);
    for (text = buf_view(&said); str_split(&text, '\n', &line);)
        if (is_python ? line.n > 0 : str_starts(line, STR("#")) || str_starts(line, STR("Thread "))) {
            buf_str(&s->out, STR("        "));
            term_text(&s->out, line);
            buf_char(&s->out, '\n');
        }
}

/* ---- processes ---- */

static void print_process(struct stacks *s, pid_t pid)
{
    autoarena a = { 0 };
    struct threads threads = { 0 };
    struct str name = str_trim(file_text(&a, AT_FDCWD, arena_fmt(&a, "/proc/%d/comm", (int)pid).p, 64));
    struct str line = file_text(&a, AT_FDCWD, arena_fmt(&a, "/proc/%d/cmdline", (int)pid).p, 200);
    autobuf words = { 0 };

    if (str_is(name, OURS))
        return;
    find_threads(&a, pid, &threads);
    if (!threads.list.n) /* it has just ended */
        return;
    for (size_t i = 0; i < line.n; i++)
        buf_char(&words, line.p[i] ? line.p[i] : ' ');
    buf_fmt(&s->out, "    %d ", (int)pid);
    term_text(&s->out, words.n ? str_trim(buf_view(&words)) : name);
    buf_char(&s->out, '\n');
    for (size_t i = 0; i < threads.list.n && i < THREADS_SHOWN; i++)
        print_thread(&s->out, &threads.list.v[i], threads.list.n == 1 && threads.list.v[i].n == 1);
    debug(s, pid, str_has(name, STR("python")));
    s->n++;
}

static void on_process(void *ctx, const struct agent_process *p)
{
    struct stacks *s = ctx;
    const struct history_pod *pod = history_pod(s->run->history, p->uid);
    struct str who = arena_fmt(s->run->arena, "%.*s/%.*s", STR_ARG(pod ? pod->label : p->uid), STR_ARG(p->container));

    if (!str_eq(who, s->last))
        buf_fmt(&s->out, "  %.*s\n", STR_ARG(who));
    s->last = who;
    print_process(s, p->pid);
}

void run_stacks(struct run *r)
{
    struct stacks s = { .run = r };

    if (r->node.processes)
        r->node.processes(r->node.ctx, on_process, &s);
    run_tell_text(r, s.n ? STR("what the processes wait in:") : STR("no pod has a running process"), buf_view(&s.out));
    buf_done(&s.out);
}
