/* keeper.c - a small process that outlives the rest of a run and cleans up */
#include "node/shim/keeper.h"

#include "base/util.h"
#include "node/shim/shim_internal.h"
#include "os/dir.h"
#include "os/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { KILLED_MS = 5000 }; /* how long killed processes may take to end: slow disk I/O may delay them */

struct keeper {
    pid_t pid;
    int lifeline;
};

/* ---- holders of the lifeline ---- */

static bool has_file(int pid_dir, const char *fd, const struct stat *wanted)
{
    char path[300];
    struct stat st;

    (void)snprintf(path, sizeof(path), "fd/%s", fd);
    return fstatat(pid_dir, path, &st, 0) == 0 && st.st_ino == wanted->st_ino && st.st_dev == wanted->st_dev;
}

static bool keeper_holds(int pid_dir, const struct stat *wanted)
{
    autodir *d = dir_open(pid_dir, "fd");
    bool found = false;

    for (struct dirent *entry; !found && (entry = dir_next(d));)
        found = has_file(pid_dir, entry->d_name, wanted);
    return found;
}

/* Only processes forked with it hold the other end of an unnamed socket. */
static void kill_holders(const struct stat *wanted)
{
    autodir *proc = opendir("/proc");
    int64_t pid;

    for (struct dirent *entry; (entry = dir_next(proc));) {
        if (str_to_i64(str_of(entry->d_name), &pid) < 0 || pid == getpid())
            continue;
        autoclose int dir = openat(dirfd(proc), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (dir >= 0 && keeper_holds(dir, wanted))
            (void)syscall(SYS_pidfd_send_signal, dir, SIGKILL, NULL,
                          0); /* by its /proc directory: never another process with the same pid */
    }
}

/* ---- the keeper ---- */

static void close_others(int a, int b)
{
    unsigned low = (unsigned)MIN_OF(a, b), high = (unsigned)MAX_OF(a, b);

    if (low > STDERR_FILENO + 1)
        (void)close_range(STDERR_FILENO + 1, low - 1, 0);
    if (high > low + 1)
        (void)close_range(low + 1, high - 1, 0);
    (void)close_range(high + 1, ~0U, 0);
}

/* 1: all have ended; 0: not within 'ms'. Exits if the program has cleaned up. */
static int wait_for_holders(int lifeline, int ms)
{
    struct pollfd p = { .fd = lifeline, .events = POLLIN };
    char word;
    int n;

    while ((n = poll(&p, 1, ms)) < 0 && errno == EINTR)
        ;
    if (n <= 0)
        return 0;
    if (recv(lifeline, &word, 1, MSG_DONTWAIT) == 1)
        _exit(0);
    return 1;
}

static _Noreturn void keeper_main(const struct keeper_options *opt, int lifeline, int program, const struct stat *end)
{
    struct pollfd p[2] = { { .fd = lifeline, .events = POLLIN }, { .fd = program, .events = POLLIN } };
    struct spawner_area area;

    spawner_settle();
    if (opt->patience_ms < 0)
        (void)dup2(STDOUT_FILENO, STDERR_FILENO); /* release the program's stderr: we may run for long */
    close_others(lifeline, program);
    area = spawner_find_area();
    spawner_name(&area, "pumice-keeper", opt->name);
    while (poll(p, 2, -1) < 0 && errno == EINTR)
        ;
    if (!wait_for_holders(lifeline, p[0].revents ? 0 : opt->patience_ms)) {
        kill_holders(end);
        (void)wait_for_holders(lifeline, KILLED_MS); /* if they still exist: clean up as far as possible */
    }
    opt->finish(opt->ctx);
    _exit(0);
}

/* ---- the program's side ---- */

int keeper_start(const struct keeper_options *opt, struct keeper **ret, struct err *e)
{
    autoclose int program = (int)syscall(SYS_pidfd_open, getpid(), 0);
    struct stat end;
    int pair[2];
    pid_t pid;

    if (program < 0)
        return err_errno(e, "start the keeper: pidfd_open");
    if (wire_pair(pair, e) < 0)
        return err_wrap(e, "start the keeper");
    pid = fstat(pair[0], &end) < 0 ? -1 : fork();
    if (pid == 0) {
        close(pair[0]);
        keeper_main(opt, pair[1], program, &end);
    }
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return err_errno(e, "start the keeper");
    }
    *ret = xcalloc(1, sizeof(**ret));
    **ret = (struct keeper){ .pid = pid, .lifeline = pair[0] };
    return 0;
}

int keeper_fd(const struct keeper *k)
{
    return k ? k->lifeline : -1;
}

void keeper_resume(const struct keeper *k)
{
    if (k)
        proc_go_on(k->pid);
}

void keeper_leave(struct keeper *k)
{
    if (!k)
        return;
    close(k->lifeline);
    free(k);
}

void keeper_stop(struct keeper *k)
{
    if (!k)
        return;
    (void)send(k->lifeline, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT); /* gone already is fine */
    close(k->lifeline);
    (void)proc_wait_gone(k->pid, KILLED_MS);
    free(k);
}
