/* filter_run.c - running nft: apply a table, remove it, sweep what others left
 *
 * Text goes in and out through memory files: nothing blocks however long it is, and no signal comes when nft stops early.
 */
#include "node/filter.h"

#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { ID_DIGITS = 6, CANNOT_ENTER = 126, CANNOT_RUN = 127, OUTPUT_MAX = 4 * 1024 * 1024 };

/* Where nft may be when PATH, as ordinary users have it, does not say. */
static const char extra_path[] = "/usr/sbin:/sbin:/usr/local/sbin";

static bool find_in(struct str path, char *out, size_t size)
{
    struct str dir;

    while (str_split(&path, ':', &dir)) {
        if (str_empty(dir) || dir.p[0] != '/') /* not from wherever we happen to be */
            continue;
        if ((size_t)snprintf(out, size, "%.*s/nft", STR_ARG(dir)) < size && access(out, X_OK) == 0)
            return true;
    }
    return false;
}

static int find_nft(char *out, size_t size, struct err *e)
{
    if (find_in(str_of(getenv("PATH")), out, size) || find_in(str_of(extra_path), out, size))
        return 0;
    return err_set(e, ERR_NOT_FOUND, "there is no program nft: install nftables");
}

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
static _Noreturn void be_nft(const char *program, int ns_fd, int in, int out, int wrong)
{
    char *const args[] = { (char *)"nft", (char *)"-f", (char *)"-", NULL };
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL); /* cannot fail */
    if (ns_fd >= 0 && setns(ns_fd, CLONE_NEWNET) < 0)
        _exit(CANNOT_ENTER);
    if (dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(wrong, 2) >= 0)
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
    autobuf said = { 0 };

    if (WIFSIGNALED(status))
        return err_set(e, ERR_IO, "nft was ended by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) == CANNOT_ENTER)
        return err_set(e, ERR_FORBIDDEN, "nft: cannot enter the network namespace");
    if (WEXITSTATUS(status) == CANNOT_RUN)
        return err_set(e, ERR_IO, "nft cannot be run");
    read_back(wrong, &said);
    return err_set(e, ERR_IO, "nft: %.*s", STR_ARG(str_trim(buf_view(&said))));
}

/* 'out' may be NULL. */
static int run_nft(struct str text, int ns_fd, struct buf *out, struct err *e)
{
    autoclose int in = -1, answer = -1, wrong = -1;
    char program[256];
    int status;
    pid_t pid;

    if (find_nft(program, sizeof(program), e) < 0 || text_file(text, &in, e) < 0 ||
        text_file(STR_NULL, &answer, e) < 0 || text_file(STR_NULL, &wrong, e) < 0)
        return -1;
    pid = fork();
    if (pid < 0)
        return err_errno(e, "start nft");
    if (pid == 0)
        be_nft(program, ns_fd, in, answer, wrong);
    if (wait_for(pid, &status, e) < 0)
        return -1;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return complain(status, wrong, e);
    if (out)
        read_back(answer, out);
    return 0;
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
