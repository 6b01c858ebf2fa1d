/* filter_run.c - running nft: apply a table, remove it, sweep what others left
 *
 * Text goes in and out through memory files: nothing blocks however long it is, and no signal comes when nft stops early. It is a
 * group of processes of its own (nft may be somebody's script), and dies with us.
 */
#include "node/filter/filter.h"

#include "base/util.h"
#include "os/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { ID_DIGITS = 6, CANNOT_ENTER = 126, CANNOT_RUN = 127, OUTPUT_MAX = 4 * 1024 * 1024 };

struct filter_run {
    pid_t pid;
    int pid_fd, answer, wrong; /* what it says on its two streams */
};

static int text_file(struct str text, int *ret_fd, struct err *e)
{
    autoclose int fd = memfd_create("nft", MFD_CLOEXEC);

    if (fd < 0)
        return err_errno(e, "make a memory file");
    for (size_t at = 0; at < text.n;) {
        ssize_t n = write(fd, text.p + at, text.n - at);

        if (n < 0)
            return err_errno(e, "write to a memory file");
        at += (size_t)n;
    }
    if (lseek(fd, 0, SEEK_SET) < 0)
        return err_errno(e, "rewind a memory file");
    *ret_fd = fd;
    fd = -1;
    return 0;
}

static void read_back(int fd, struct buf *out)
{
    ssize_t n;

    (void)lseek(fd, 0, SEEK_SET); /* it is a memory file */
    while (out->n < OUTPUT_MAX && (n = read(fd, buf_reserve(out, 4096), 4096)) > 0)
        out->n += (size_t)n;
    buf_str(out, STR_NULL); /* the NUL at the end */
}

/* After fork, perhaps with threads elsewhere: system calls only. */
static _Noreturn void be_nft(const char *program, int ns_fd, int in, const struct filter_run *r)
{
    char *const args[] = { (char *)"nft", (char *)"-f", (char *)"-", NULL };
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL); /* cannot fail */
    (void)setpgid(0, 0);                         /* nor this: we are new */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (ns_fd >= 0 && setns(ns_fd, CLONE_NEWNET) < 0)
        _exit(CANNOT_ENTER);
    if (dup2(in, 0) >= 0 && dup2(r->answer, 1) >= 0 && dup2(r->wrong, 2) >= 0)
        (void)execv(program, args); /* comes back only if it failed */
    _exit(CANNOT_RUN);
}

static int wait_for(pid_t pid, int *ret_status, struct err *e)
{
    while (waitpid(pid, ret_status, 0) < 0)
        if (errno != EINTR)
            return err_errno(e, "wait for nft");
    return 0;
}

static int complain(int status, int wrong, struct err *e)
{
    struct str rest, line = STR_NULL, quote = STR_NULL;
    autobuf said = { 0 };

    if (WIFSIGNALED(status))
        return err_set(e, ERR_IO, "nft was ended by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) == CANNOT_ENTER)
        return err_set(e, ERR_FORBIDDEN, "nft: cannot enter the network namespace");
    if (WEXITSTATUS(status) == CANNOT_RUN)
        return err_set(e, ERR_IO, "nft cannot be run");
    read_back(wrong, &said);
    rest = str_trim(buf_view(&said));
    (void)str_split(&rest, '\n', &line);  /* where and what */
    (void)str_split(&rest, '\n', &quote); /* and the line it is about; what follows are marks below it */
    return err_set(e, ERR_IO, "nft: %.*s%s%.*s", STR_ARG(line.n ? line : STR("it failed without a word")),
                   quote.n ? ": " : "", STR_ARG(str_trim(quote)));
}

static void run_free(struct filter_run *r)
{
    int *const fds[] = { &r->pid_fd, &r->answer, &r->wrong };

    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        if (*fds[i] >= 0)
            close(*fds[i]);
    free(r);
}

static int start(struct filter_run *r, const char *program, int in, int ns_fd, struct err *e)
{
    r->pid = fork();
    if (r->pid < 0)
        return err_errno(e, "start nft");
    if (r->pid == 0)
        be_nft(program, ns_fd, in, r);
    (void)setpgid(r->pid, r->pid); /* whoever is first; it may have ended */
    r->pid_fd = (int)syscall(SYS_pidfd_open, r->pid, 0);
    if (r->pid_fd >= 0)
        return 0;
    err_errno(e, "watch nft");
    (void)kill(-r->pid, SIGKILL);
    (void)waitpid(r->pid, NULL, 0);
    return -1;
}

int filter_begin(struct str text, int ns_fd, struct filter_run **ret, struct err *e)
{
    struct filter_run *r = xcalloc(1, sizeof(*r));
    autoclose int in = -1;
    char program[256];

    r->pid_fd = r->answer = r->wrong = -1;
    if (!program_find("nft", program, sizeof(program))) {
        run_free(r);
        return err_set(e, ERR_NOT_FOUND, "there is no program nft; install nftables (apt-get install nftables)");
    }
    if (text_file(text, &in, e) < 0 || text_file(STR_NULL, &r->answer, e) < 0 ||
        text_file(STR_NULL, &r->wrong, e) < 0 || start(r, program, in, ns_fd, e) < 0) {
        run_free(r);
        return -1;
    }
    *ret = r;
    return 0;
}

int filter_fd(const struct filter_run *r)
{
    return r->pid_fd;
}

/* 'out' may be NULL. */
static int end_with(struct filter_run *r, struct buf *out, struct err *e)
{
    struct pollfd p = { .fd = r->pid_fd, .events = POLLIN };
    bool is_late = poll(&p, 1, 0) == 0;
    int status, rc;

    (void)kill(-r->pid,
               SIGKILL); /* also what it left behind; nobody else has this number before we have waited for it */
    if (wait_for(r->pid, &status, e) < 0)
        rc = -1;
    else if (is_late)
        rc = err_set(e, ERR_IO, "nft did not end within %d s", FILTER_PATIENCE_MS / 1000);
    else
        rc = WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : complain(status, r->wrong, e);
    if (rc == 0 && out)
        read_back(r->answer, out);
    run_free(r);
    return rc;
}

int filter_end(struct filter_run *r, struct err *e)
{
    return end_with(r, NULL, e);
}

static int run_nft(struct str text, int ns_fd, struct buf *out, struct err *e)
{
    struct pollfd p = { .fd = -1, .events = POLLIN };
    struct filter_run *r;

    if (filter_begin(text, ns_fd, &r, e) < 0)
        return -1;
    p.fd = r->pid_fd;
    while (poll(&p, 1, FILTER_PATIENCE_MS) < 0 && errno == EINTR)
        ;
    return end_with(r, out, e);
}

int filter_apply(struct str text, int ns_fd, struct err *e)
{
    return run_nft(text, ns_fd, NULL, e);
}

int filter_remove(const char *id, int ns_fd, struct err *e)
{
    autobuf text = { 0 };

    buf_fmt(&text, "add table inet pumice_%s\ndelete table inet pumice_%s\n", id,
            id); /* "add": no error if it is not there */
    return run_nft(buf_view(&text), ns_fd, NULL, e);
}

int filter_sweep(bool (*is_alive)(void *ctx, const char *id), void *ctx)
{
    static const char prefix[] = "table inet pumice_";
    autobuf list = { 0 };
    struct str rest, line;
    int removed = 0;

    if (run_nft(STR("list tables inet\n"), -1, &list, NULL) < 0)
        return 0;
    rest = buf_view(&list);
    while (str_split(&rest, '\n', &line)) {
        struct str tail = str_trim(str_from(line, strlen(prefix)));
        char id[ID_DIGITS + 1] = "";

        if (!str_starts(line, str_of(prefix)) || tail.n != ID_DIGITS)
            continue;
        memcpy(id, tail.p, ID_DIGITS);
        if (strspn(id, "0123456789abcdef") == ID_DIGITS && !is_alive(ctx, id) && filter_remove(id, -1, NULL) == 0)
            removed++;
    }
    return removed;
}
