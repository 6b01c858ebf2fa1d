/* spawner_main.c - the spawner: forks shims, and cleans up after those that were killed
 *
 * It has little memory, so forking it is cheap. For each shim it keeps the shim's end of the socket: the program sees
 * end-of-file only after the spawner has closed it too, when nothing of the pod is left.
 *
 * A spawner whose pods outlive the program also holds the program's ends, for the next program:
 *
 *     program ──▶ spawner                        the program is killed: the spawner listens
 *     the next ──connect, HELLO──▶ spawner       KEPT (namespaces, network, lock, a note), SHIM … SHIM, END
 *
 * The client that connected last is the program; programs use a lock to ensure that there is only one. After a second
 * program has connected, a spawner forks no more shims and ends with its last one.
 */
#include "node/shim/shim_internal.h"

#include "base/clock.h"
#include "base/util.h"
#include "os/dir.h"
#include "os/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>

enum { LET_GO_MS = 8000, STRAY_MS = 5000 }; /* both longer than a shim itself tries */

struct spawner_main_entry {
    struct list_link link;
    pid_t pid;
    int sock;
    int theirs; /* the program's end; -1: only the program holds it */
    char *group;
};

struct spawning {
    struct spawner_own own;
    int sock, signals; /* sock -1: no program is connected */
    int listener;      /* for the next program; -1: pods do not outlive the program */
    bool is_old;       /* a second program has connected */
    struct buf note;   /* of SPAWNER_KEEP, with the descriptors */
    int kept[SPAWNER_KEEPS];
    size_t n_kept;
    struct list entries;
    struct wire_in in;
};

/* ---- names ---- */

/* The memory of the command line, from /proc/self/stat: fields 48 and 49. */
struct spawner_area spawner_find_area(void)
{
    autobuf text = { 0 };
    struct str rest, part;
    uint64_t from = 0, to = 0;

    (void)file_read(AT_FDCWD, "/proc/self/stat", 0, 2048, &text); /* unreadable: no area */
    rest = buf_view(&text);
    rest = str_from(rest, (size_t)(str_rfind_char(rest, ')') + 2)); /* the name in parentheses may contain anything */
    for (int field = 3; str_split(&rest, ' ', &part); field++)
        if ((field == 48 && str_to_u64(part, &from) < 0) || (field == 49 && str_to_u64(part, &to) < 0))
            break;
    return to > from ? (struct spawner_area){ (char *)(uintptr_t)from, to - from } : (struct spawner_area){ NULL, 0 };
}

void spawner_name(const struct spawner_area *area, const char *name, const char *more)
{
    (void)prctl(PR_SET_NAME, name);
    if (!area->n)
        return;
    memset(area->p, 0, area->n);
    (void)snprintf(area->p, area->n, "%s %s", name, more);
}

/* ---- strays ---- */

/* Direct children, in text. */
static void read_children(struct buf *out)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    buf_reset(out);
    (void)file_read(AT_FDCWD, path, 0, 1 << 20, out); /* later passes find the rest */
}

static size_t kill_children(bool (*keeps)(void *ctx, pid_t pid), void *ctx)
{
    autobuf text = { 0 };
    struct str rest, part;
    size_t strays = 0;
    int64_t pid;

    read_children(&text);
    rest = buf_view(&text);
    while (str_split(&rest, ' ', &part)) {
        if (str_to_i64(part, &pid) < 0 || pid <= 1 || keeps(ctx, (pid_t)pid))
            continue;
        strays++;
        (void)kill((pid_t)pid, SIGKILL);
        (void)waitpid((pid_t)pid, NULL, WNOHANG);
    }
    return strays;
}

static bool has_any_child(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

bool shim_kill_strays(bool (*keeps)(void *ctx, pid_t pid), void *ctx, int ms)
{
    int64_t until_ms = clock_mono_ms(&clock_real) + ms;

    if (!has_any_child())
        return true;
    for (int us = 100; kill_children(keeps, ctx); us = MIN_OF(us * 2, 10000)) {
        if (clock_mono_ms(&clock_real) > until_ms)
            return false;
        usleep((useconds_t)us);
    }
    return true;
}

static bool is_shim(void *ctx, pid_t pid)
{
    struct spawning *s = ctx;

    LIST_FOREACH(struct spawner_main_entry, entry, &s->entries, link)
        if (entry->pid == pid)
            return true;
    return false;
}

/* ---- shims ---- */

static void say_gone(int sock, const char *why)
{
    struct shim_event ev = { .kind = SHIM_GONE, .text = str_of(why) };
    struct wire_msg m = { .kind = SHIM_GONE };
    autobuf text = { 0 };

    shim_put_event(&text, &ev);
    m.payload = buf_view(&text);
    (void)wire_try(sock, &m, NULL); /* best effort: the program sees the socket close anyway */
}

static void shim_entry_free(struct spawner_main_entry *entry)
{
    list_remove(&entry->link);
    close(entry->sock);
    if (entry->theirs >= 0)
        close(entry->theirs);
    free(entry->group);
    free(entry);
}

static void shim_ended(struct spawning *s, struct spawner_main_entry *entry, int status)
{
    char why[80];

    entry->pid = 0;
    if (status != 0) { /* it did not clean up */
        (void)shim_kill_strays(is_shim, s, STRAY_MS);
        (void)cgroup_remove(s->own.opt->cgroups, entry->group, NULL); /* leftovers are removed with the run */
        if (WIFSIGNALED(status))
            (void)snprintf(why, sizeof(why), "the shim of the pod was killed by signal %d", WTERMSIG(status));
        else
            (void)snprintf(why, sizeof(why), "the shim of the pod exited with status %d", WEXITSTATUS(status));
        say_gone(entry->sock, why);
    }
    shim_entry_free(entry);
}

/* A stopped shim would forward no signals and block logs: resume it. */
static void spawner_main_reap(struct spawning *s)
{
    int status;

    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;)
        if (WIFSTOPPED(status))
            (void)kill(pid, SIGCONT);
        else
            LIST_FOREACH(struct spawner_main_entry, entry, &s->entries, link)
                if (entry->pid == pid) {
                    shim_ended(s, entry, status);
                    break;
                }
}

/* Move above all inherited descriptors, so that a shim can close ours with one call. */
static int move_fd_up(const struct spawning *s, int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, s->own.first_fd);

    if (moved < 0)
        return fd;
    close(fd);
    return moved;
}

/* Without the spawner no process would reap, resume or clean up after a shim: the kernel kills it with the spawner,
 * and its containers with it; see also pod_clone(). The program removes the cgroups. */
static _Noreturn void become_shim(const struct spawner_own *own, const struct shim_options *opt, pid_t spawner,
                                  int sock)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != spawner)
        _exit(1);
    if (sock != own->first_fd && dup3(sock, own->first_fd, O_CLOEXEC) < 0)
        _exit(1);
    (void)close_range((unsigned)own->first_fd + 1, ~0U, 0);
    shim_main(own, opt, own->first_fd);
}

static void fork_shim(struct spawning *s, struct wire_msg *m)
{
    autoarena a = { 0 };
    struct shim_options opt;
    struct spawner_main_entry *entry;
    struct err e;
    int sock, theirs;
    pid_t pid, spawner;

    if (m->n_fds != (s->listener >= 0 ? 2 : 1))
        return;
    sock = move_fd_up(s, m->fds[0]);
    theirs = m->n_fds == 2 ? move_fd_up(s, m->fds[1]) : -1;
    m->n_fds = 0;
    if (shim_get_options(&a, m->payload, &opt, &e) < 0)
        goto fail;
    box_refresh(); /* prepare for its containers */
    spawner = getpid();
    pid = fork();
    if (pid == 0)
        become_shim(&s->own, &opt, spawner, sock);
    if (pid < 0) {
        (void)err_errno(&e, "fork a shim");
        goto fail;
    }
    entry = xcalloc(1, sizeof(*entry));
    *entry = (struct spawner_main_entry){ .pid = pid, .sock = sock, .theirs = theirs, .group = strdup(opt.group) };
    list_push(&s->entries, &entry->link);
    return;
fail:
    say_gone(sock, e.text);
    close(sock);
    if (theirs >= 0)
        close(theirs);
}

/* ---- the end ---- */

static void wait_for_shims(struct spawning *s, int ms)
{
    int64_t until_ms = clock_mono_ms(&clock_real) + ms;

    for (int64_t left = ms; !list_is_empty(&s->entries) && left > 0; left = until_ms - clock_mono_ms(&clock_real)) {
        struct pollfd p = { .fd = s->signals, .events = POLLIN };
        struct signalfd_siginfo info;

        if (poll(&p, 1, (int)left) > 0)
            (void)!read(s->signals, &info, sizeof(info));
        spawner_main_reap(s);
    }
}

static _Noreturn void spawner_main_finish(struct spawning *s)
{
    spawner_main_reap(s);
    LIST_FOREACH(struct spawner_main_entry, entry, &s->entries, link)
        (void)shutdown(entry->sock, SHUT_RD); /* a shim sees this as the end of the program */
    wait_for_shims(s, LET_GO_MS);
    LIST_FOREACH(struct spawner_main_entry, entry, &s->entries, link)
        (void)kill(entry->pid, SIGKILL);
    wait_for_shims(s, STRAY_MS);
    (void)shim_kill_strays(is_shim, s, STRAY_MS);
    _exit(0);
}

/* ---- the next program ---- */

static const char *socket_path(const struct spawning *s, struct sockaddr_un *at)
{
    at->sun_family = AF_UNIX;
    (void)snprintf(at->sun_path, sizeof(at->sun_path), "/proc/self/fd/%d/spawner.%d", s->own.opt->socket_dir,
                   (int)getpid());
    return at->sun_path;
}

static void begin_listening(struct spawning *s)
{
    struct sockaddr_un at = { 0 };

    s->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)unlink(socket_path(s, &at)); /* of a dead spawner with our pid */
    if (s->listener < 0 || bind(s->listener, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(s->listener, 4) < 0)
        _exit(1); /* the program sees the socket close */
    s->listener = move_fd_up(s, s->listener);
}

static void stop_listening(struct spawning *s)
{
    struct sockaddr_un at = { 0 };

    if (s->listener >= 0)
        (void)unlink(socket_path(s, &at));
}

/* The socket's directory is closed to others; check anyway. */
static bool spawner_main_is_ours(int fd)
{
    struct ucred peer = { 0 };
    socklen_t size = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

static void accept_program(struct spawning *s)
{
    struct timeval patience = { .tv_sec = SPAWNER_ANSWER_MS / 1000 };
    int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0)
        return;
    if (!spawner_main_is_ours(fd)) {
        close(fd);
        return;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience,
                     sizeof(patience)); /* the program may be stopped by a signal */
    if (s->sock >= 0)
        close(s->sock);
    s->sock = move_fd_up(s, fd);
}

static int say_kept(struct spawning *s)
{
    autoclose int mnt = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC),
                  user = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
    struct wire_msg m = { .kind = SPAWNER_WORD_KEPT, .fds = { mnt, user }, .n_fds = 2 + s->n_kept };
    autobuf text = { 0 };

    wire_put_i64(&text, SHIM_WIRE);
    wire_put_str(&text, buf_view(&s->note));
    m.payload = buf_view(&text);
    memcpy(m.fds + 2, s->kept, s->n_kept * sizeof(int));
    return mnt < 0 || user < 0 ? -1 : wire_send(s->sock, &m, NULL);
}

static int say_shims(struct spawning *s)
{
    LIST_FOREACH(struct spawner_main_entry, entry, &s->entries, link) {
        struct wire_msg m = { .kind = SPAWNER_WORD_SHIM, .fds = { entry->theirs }, .n_fds = 1 };

        if (entry->theirs >= 0 && wire_send(s->sock, &m, NULL) < 0)
            return -1;
    }
    return wire_send(s->sock, &(struct wire_msg){ .kind = SPAWNER_WORD_END }, NULL);
}

static void spawner_main_let_go(struct spawning *s)
{
    close(s->sock);
    s->sock = -1;
}

/* A program of another version gets our version, and can only stop us. */
static void spawner_main_greet(struct spawning *s, const struct wire_msg *m)
{
    struct wire_read r = { .rest = m->payload };
    bool is_same = wire_get_i64(&r) == SHIM_WIRE && wire_is_read(&r);

    if (s->listener < 0)
        return;
    s->is_old |= is_same;
    if (say_kept(s) < 0 || say_shims(s) < 0)
        spawner_main_let_go(s); /* it may connect again, or another program */
}

static void spawner_main_keep(struct spawning *s, struct wire_msg *m)
{
    if (m->n_fds > SPAWNER_KEEPS)
        return;
    for (size_t i = 0; i < s->n_kept; i++)
        close(s->kept[i]);
    buf_reset(&s->note);
    buf_str(&s->note, m->payload);
    for (s->n_kept = 0; s->n_kept < m->n_fds; s->n_kept++)
        s->kept[s->n_kept] = move_fd_up(s, m->fds[s->n_kept]);
    m->n_fds = 0;
}

/* ---- the loop ---- */

static void take_program_order(struct spawning *s)
{
    struct wire_msg m = { 0 };
    struct err e;
    int r = wire_recv(s->sock, false, &s->in, &m, &e);

    if (r < 0 && e.code != ERR_INVALID) {
        if (s->listener < 0)
            spawner_main_finish(s);
        spawner_main_let_go(s);
        return;
    }
    if (r != 1)
        return;
    if (m.kind == SPAWNER_STOP) {
        stop_listening(s);
        spawner_main_finish(s);
    }
    if (m.kind == SPAWNER_SHIM)
        fork_shim(s, &m);
    else if (m.kind == SPAWNER_HELLO)
        spawner_main_greet(s, &m);
    else if (m.kind == SPAWNER_KEEP)
        spawner_main_keep(s, &m);
    wire_close_fds(&m);
}

static void leave_streams(void)
{
    autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0)
        return;
    (void)dup2(null, 0);
    (void)dup2(null, 1); /* do not keep the program's output pipes open; 2 stays, for errors */
}

/* A session of its own: Ctrl-C reaches only the program, which then gives us orders. */
void spawner_settle(void)
{
    static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM };

    (void)setsid();
    for (int signo = 1; signo < NSIG; signo++)
        (void)signal(signo, SIG_DFL); /* fails for SIGKILL, SIGSTOP and libc's internal signals */
    for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
        (void)signal(ignored[i], SIG_IGN);
    leave_streams();
}

static int highest_fd(void)
{
    autodir *dir = opendir("/proc/self/fd");
    int64_t fd, most = 2;

    for (struct dirent *d; (d = dir_next(dir));)
        if (str_to_i64(str_of(d->d_name), &fd) == 0 && fd > most && fd != dirfd(dir))
            most = fd;
    return (int)most;
}

static void spawner_main_turn(struct spawning *s)
{
    struct pollfd p[] = { { .fd = s->sock, .events = POLLIN },
                          { .fd = s->signals, .events = POLLIN },
                          { .fd = s->listener, .events = POLLIN } };
    struct signalfd_siginfo info;

    if (poll(p, ARRAY_LEN(p), -1) < 0 && errno != EINTR)
        _exit(1);
    if (p[1].revents && read(s->signals, &info, sizeof(info)) >= 0)
        spawner_main_reap(s);
    if (p[0].revents)
        take_program_order(s);
    if (p[2].revents)
        accept_program(s);
    if (s->is_old && list_is_empty(&s->entries)) {
        stop_listening(s);
        _exit(0);
    }
}

_Noreturn void spawner_main(const struct spawner_options *opt, int sock)
{
    struct spawning s = { .own.opt = opt, .sock = sock, .listener = -1 };
    sigset_t set;

    spawner_settle();
    s.own.area = spawner_find_area();
    spawner_name(&s.own.area, "pumice-spawner", "");
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (opt->files)
        s.own.files = *opt->files;
    else if (getrlimit(RLIMIT_NOFILE, &s.own.files) < 0)
        s.own.files = (struct rlimit){ 1024, 4096 };
    if (!opt->driver && !opt->oci)
        box_prepare(); /* inherited by every container */
    list_init(&s.entries);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_SETMASK, &set, NULL);
    if (opt->outlives && opt->words_fd >= 0)
        (void)dup2(opt->words_fd, STDERR_FILENO);
    s.own.first_fd = highest_fd() + 1; /* our own socket is below it until moved */
    s.sock = move_fd_up(&s, sock);
    s.signals = move_fd_up(&s, signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (opt->outlives)
        begin_listening(&s);
    for (;;)
        spawner_main_turn(&s);
}
