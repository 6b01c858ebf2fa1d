/* proc.c - the few programs of the host that we use: find one, run it, wait for it */
#include "os/proc.h"

#include "base/clock.h"
#include "base/util.h"
#include "os/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { WORDS_MAX = 4096 };

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
                    : pread(fd, buf_reserve(out, WORDS_MAX), WORDS_MAX, 0); /* whoever writes goes on where it stood */

    out->n += n > 0 ? (size_t)n : 0;
    buf_str(out, STR_NULL); /* the NUL at the end */
}

/* ---- running ---- */

struct streams {
    int in, out; /* -1: ours stays */
};

/* After fork, perhaps with threads elsewhere: system calls only. */
static _Noreturn void become(const char *path, const char *const argv[], const struct proc_how *how, struct streams s)
{
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL); /* cannot fail */
    (void)setpgid(0, 0);                         /* nor this: we are new */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (how->has_netns && setns(how->netns, CLONE_NEWNET) < 0)
        _exit(PROC_CANNOT_ENTER);
    if (s.out >= 0 && (dup2(s.in, 0) < 0 || dup2(s.out, 1) < 0 || dup2(s.out, 2) < 0))
        _exit(PROC_CANNOT_RUN);
    (void)close_range(3, ~0U, 0);
    (void)execv(path, (char *const *)argv); /* comes back only if it failed */
    _exit(PROC_CANNOT_RUN);
}

static int open_streams(const struct proc_how *how, struct streams *ret, struct err *e)
{
    struct streams s = { -1, -1 };

    if (how->streams == PROC_OURS) {
        *ret = s;
        return 0;
    }
    s.in = how->input.n ? memory_file("input", how->input) : open("/dev/null", O_RDWR | O_CLOEXEC);
    s.out = s.in < 0 ? -1 : how->streams == PROC_WORDS ? proc_words_open() : open("/dev/null", O_RDWR | O_CLOEXEC);
    if (s.out < 0) {
        (void)err_errno(e, "what it is to read and where it is to write");
        if (s.in >= 0)
            close(s.in);
        return -1;
    }
    *ret = s;
    return 0;
}

/* Whoever is first; it may have ended. */
static int watch(struct proc *p, struct err *e)
{
    (void)setpgid(p->pid, p->pid);
    p->fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    if (p->fd >= 0)
        return 0;
    (void)err_errno(e, "watch it");
    (void)kill(-p->pid, SIGKILL);
    (void)proc_wait(p->pid);
    return -1;
}

int proc_begin(const char *path, const char *const argv[], const struct proc_how *how, struct proc *ret, struct err *e)
{
    struct proc p = { .fd = -1, .words = -1 };
    struct streams s;
    int rc = -1;

    if (open_streams(how, &s, e) < 0)
        return err_wrap(e, "start %s", path);
    p.pid = fork();
    if (p.pid == 0)
        become(path, argv, how, s);
    if (p.pid < 0)
        (void)err_errno(e, "start %s", path);
    else
        rc = watch(&p, e) < 0 ? err_wrap(e, "start %s", path) : 0;
    if (s.in >= 0)
        close(s.in);
    if (rc == 0 && how->streams == PROC_WORDS)
        p.words = s.out;
    else if (s.out >= 0)
        close(s.out);
    if (rc == 0)
        *ret = p;
    return rc;
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
        (void)kill(-p->pid, SIGKILL); /* nobody else has this number before we have waited for it */
    status = proc_wait(p->pid);
    if (said)
        proc_words(p->words, said);
    close(p->fd);
    if (p->words >= 0)
        close(p->words);
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
        return err_set(e, ERR_IO, "%s was ended by signal %d", path, end.signo);
    return end.status;
}

/* ---- waiting ---- */

int proc_wait(pid_t pid)
{
    int status = -1;

    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}
