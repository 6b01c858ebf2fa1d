/* proc.c - the few programs of the host that we use: find one, run it, wait for it */
#include "os/proc.h"

#include "base/clock.h"
#include "base/util.h"
#include "os/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { WORDS_MAX = 4096 };

extern char **environ;

/* ---- finding ---- */

bool proc_find_in(struct str dirs, const char *name, bool (*skips)(struct str dir), char *out, size_t size)
{
    struct str dir;

    while (str_split(&dirs, ':', &dir)) {
        if (!str_starts(dir, STR("/")) || (skips && skips(dir)))
            continue;
        if ((size_t)snprintf(out, size, "%.*s/%s", STR_ARG(dir), name) < size && access(out, X_OK) == 0)
            return true;
    }
    return false;
}

bool proc_find(const char *name, char *out, size_t size)
{
    static const char usual[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

    return proc_find_in(str_of(getenv("PATH")), name, NULL, out, size) ||
           proc_find_in(str_of(usual), name, NULL, out, size);
}

/* ---- words ---- */

int proc_words_open(void)
{
    return memory_file("words", STR_NULL);
}

void proc_words(int fd, struct buf *out)
{
    ssize_t n = fd < 0
                    ? 0
                    : pread(fd, buf_reserve(out, WORDS_MAX), WORDS_MAX, 0); /* leave the file offset to the writers */

    out->n += n > 0 ? (size_t)n : 0;
    buf_str(out, STR_NULL); /* the NUL at the end */
}

/* ---- running ---- */

struct streams {
    int in, out, err; /* -1: ours stays */
};

/* After fork, perhaps with threads elsewhere: system calls only. */
static _Noreturn void proc_become(const char *path, const char *const argv[], const struct proc_how *how,
                                  struct streams s)
{
    const char *const *env = how->env ? how->env : (const char *const *)environ;
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL); /* cannot fail */
    (void)signal(SIGPIPE, SIG_DFL);              /* nor this */
    if (how->streams != PROC_TERMINAL)
        (void)setpgid(0, 0); /* nor this: we are new */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if ((s.in >= 0 && dup2(s.in, 0) < 0) || (s.out >= 0 && dup2(s.out, 1) < 0) || (s.err >= 0 && dup2(s.err, 2) < 0))
        _exit(PROC_CANNOT_RUN);
    (void)close_range(3, ~0U, 0);
    (void)execve(path, (char *const *)argv, (char *const *)env); /* comes back only if it failed */
    _exit(PROC_CANNOT_RUN);
}

enum proc_stream { STAYS, NOTHING, WORDS, OUTPUT, INPUT };
static const struct {
    enum proc_stream in, out, err;
} stream_table[PROC_STREAMS_MAX] = {
    [PROC_WORDS] = { NOTHING, WORDS, WORDS },   [PROC_SILENT] = { NOTHING, NOTHING, NOTHING },
    [PROC_OURS] = { STAYS, STAYS, STAYS },      [PROC_APART] = { NOTHING, OUTPUT, WORDS },
    [PROC_TERMINAL] = { STAYS, OUTPUT, STAYS },
};

struct files { /* what a stream may be, by enum proc_stream */
    int fd[INPUT + 1];
};

static void close_files(const struct files *f)
{
    for (size_t i = 0; i < ARRAY_LEN(f->fd); i++)
        autoclose_done(&f->fd[i]);
}

static int open_files(const struct proc_how *how, struct files *ret, struct err *e)
{
    struct files f = { { -1, -1, -1, -1, -1 } };
    enum proc_stream out = stream_table[how->streams].out, err = stream_table[how->streams].err;
    bool has_words = out == WORDS || err == WORDS;

    f.fd[NOTHING] = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (has_words)
        f.fd[WORDS] = proc_words_open();
    if (out == OUTPUT)
        f.fd[OUTPUT] = memory_file("output", STR_NULL);
    if (how->input.n)
        f.fd[INPUT] = memory_file("input", how->input);
    if (f.fd[NOTHING] < 0 || (has_words && f.fd[WORDS] < 0) || (out == OUTPUT && f.fd[OUTPUT] < 0) ||
        (how->input.n && f.fd[INPUT] < 0)) {
        (void)err_errno(e, "open its standard streams");
        close_files(&f);
        return -1;
    }
    *ret = f;
    return 0;
}

/* No other process has this pid before we have waited for it. */
static void proc_kill_all(const struct proc *p)
{
    (void)kill(p->is_group ? -p->pid : p->pid, SIGKILL);
}

/* Parent and child both call setpgid(), as either may be first; the child may have ended. */
static int proc_watch(struct proc *p, struct err *e)
{
    if (p->is_group)
        (void)setpgid(p->pid, p->pid);
    p->fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    if (p->fd >= 0)
        return 0;
    (void)err_errno(e, "watch the process");
    proc_kill_all(p);
    (void)proc_wait(p->pid);
    return -1;
}

int proc_begin(const char *path, const char *const argv[], const struct proc_how *how, struct proc *ret, struct err *e)
{
    struct proc p = { .fd = -1, .may_leave = how->may_leave, .is_group = how->streams != PROC_TERMINAL };
    enum proc_stream in = stream_table[how->streams].in;
    struct files f;
    int rc = -1;

    if (open_files(how, &f, e) < 0)
        return err_wrap(e, "start %s", path);
    p.pid = fork();
    if (p.pid == 0)
        proc_become(path, argv, how,
                    (struct streams){ f.fd[in == NOTHING && how->input.n ? INPUT : in],
                                      f.fd[stream_table[how->streams].out], f.fd[stream_table[how->streams].err] });
    if (p.pid < 0)
        (void)err_errno(e, "start %s", path);
    else
        rc = proc_watch(&p, e) < 0 ? err_wrap(e, "start %s", path) : 0;
    p.words = f.fd[WORDS];
    p.output = f.fd[OUTPUT];
    if (rc == 0) {
        f.fd[WORDS] = f.fd[OUTPUT] = -1;
        *ret = p;
    }
    close_files(&f);
    return rc;
}

int proc_output(const struct proc *p, size_t max, struct buf *out)
{
    return lseek(p->output, 0, SEEK_SET) < 0 ? -1 : read_all(p->output, max, out);
}

/* By descriptor and not by SIGCHLD: that belongs to our callers. */
static bool ends_within(const struct proc *p, int ms)
{
    struct pollfd poller = { .fd = p->fd, .events = POLLIN };
    int64_t until_ms = clock_mono_ms(&clock_real) + ms;
    int left = ms;

    while (poll(&poller, 1, left) < 0 && errno == EINTR)
        if (ms > 0)
            left = (int)MAX_OF(until_ms - clock_mono_ms(&clock_real), 0);
    return poller.revents != 0;
}

struct proc_end proc_end(struct proc *p, int wait_ms, struct buf *said)
{
    struct proc_end end = { .is_late = !ends_within(p, wait_ms) };
    int status;

    if (end.is_late || !p->may_leave)
        proc_kill_all(p);
    status = proc_wait(p->pid);
    if (said)
        proc_words(p->words, said);
    close(p->fd);
    autoclose_done(&p->words);
    autoclose_done(&p->output);
    end.signo = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end.status = WEXITSTATUS(status);
    return end;
}

int proc_run(const char *path, const char *const argv[], struct buf *said, struct err *e)
{
    struct proc_end end;
    struct proc p;

    if (proc_begin(path, argv, &(struct proc_how){ 0 }, &p, e) < 0)
        return -1;
    end = proc_end(&p, -1, said);
    if (end.signo)
        return err_set(e, ERR_IO, "%s was killed by signal %d", path, end.signo);
    return end.status;
}

/* ---- waiting ---- */

/* Everything but 0, 1, 2 and 'keep'; 'news' last, since that is what the parent waits for. */
static int proc_let_go(int keep, int news)
{
    enum { NEWS = PROC_KEPT + 1 };
    int high_keep = fcntl(keep, F_DUPFD, NEWS + 1), high_news = fcntl(news, F_DUPFD, NEWS + 1); /* out of the way */

    if (high_keep < 0 || high_news < 0 || dup2(high_keep, PROC_KEPT) < 0 || dup2(high_news, NEWS) < 0 ||
        close_range(NEWS + 1, ~0U, 0) < 0)
        return -1;
    return close(NEWS);
}

/* It may be stopped before it has done anything: it goes on. */
static void wait_for_news(int fd, pid_t pid)
{
    enum { LOOK_MS = 100 };
    struct pollfd p = { .fd = fd, .events = POLLIN };

    while (poll(&p, 1, LOOK_MS) <= 0)
        proc_go_on(pid);
}

void proc_hold_signals(sigset_t *ret_old)
{
    static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_LEN(ending); i++)
        (void)sigaddset(&set, ending[i]);
    (void)sigprocmask(SIG_BLOCK, &set, ret_old);
}

/* In the child. */
static void die_with(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(PROC_CANNOT_RUN);
}

pid_t proc_fork_bound(sigset_t *ret_old)
{
    pid_t us = getpid(), pid;

    proc_hold_signals(ret_old);
    pid = fork();
    if (pid == 0)
        die_with(us);
    if (pid <= 0)
        (void)sigprocmask(SIG_SETMASK, ret_old, NULL);
    return pid;
}

int proc_wait_bound(pid_t pid, const sigset_t *old)
{
    int status = proc_wait(pid);

    (void)sigprocmask(SIG_SETMASK, old, NULL);
    return status;
}

pid_t proc_fork_alone(int keep, bool dies_with_us)
{
    pid_t us = getpid(), pid;
    sigset_t old;
    int news[2];

    if (pipe2(news, O_CLOEXEC) < 0)
        return -1;
    proc_hold_signals(&old);
    pid = fork();
    if (pid == 0) {
        if (dies_with_us)
            die_with(us);
        if (proc_let_go(keep, news[1]) < 0)
            _exit(PROC_CANNOT_RUN);
        (void)sigprocmask(SIG_SETMASK, &old, NULL);
        return 0;
    }
    (void)close(news[1]);
    if (pid > 0)
        wait_for_news(news[0], pid);
    (void)close(news[0]);
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    return pid;
}

int proc_wait(pid_t pid)
{
    int status = -1;
    pid_t got;

    while (pid > 0 && ((got = waitpid(pid, &status, WUNTRACED)) < 0 ? errno == EINTR : WIFSTOPPED(status)))
        if (got > 0) {
            (void)usleep(1000); /* one that stops again, for want of a terminal, does not have us spin */
            (void)kill(pid, SIGCONT);
        }
    return status;
}

void proc_go_on(pid_t pid)
{
    siginfo_t info = { 0 };

    if (pid > 0 && waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid == pid)
        (void)kill(pid, SIGCONT);
}

int proc_wait_gone(pid_t pid, int ms)
{
    autoclose int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    const struct proc p = { .pid = pid, .fd = fd };

    if (pid > 0)
        (void)kill(pid, SIGCONT);
    if (fd >= 0 && !ends_within(&p, ms))
        (void)kill(pid, SIGKILL);
    return proc_wait(pid);
}
