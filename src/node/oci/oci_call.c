/* oci_call.c - the runtime as a program
 *
 * It is somebody else's: it may be missing, fail without a word, or never end. So it is called with a time limit, in a process
 * group of its own that is killed when the time is up, and it dies with us.
 */
#include "node/oci/oci_internal.h"

#include "base/clock.h"
#include "base/util.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { LOG_MAX_BYTES = 64 << 10, VERSION_MS = 10000, VERSION_BYTES = 1024, CANNOT_EXEC = 127 };

void oci_run_init(struct oci_run *r, const struct oci_place *p)
{
    char *id = (char *)arena_cstr(&r->arena, str_of(p->id));

    for (char *c = id; *c; c++) /* what both runtimes allow */
        if (!memchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-", *c, 65))
            *c = '-';
    r->place = p;
    r->id = id[0] == '-' || id[0] == '.' ? arena_fmt(&r->arena, "x%s", id).p : id;
    r->state = arena_fmt(&r->arena, "%s/run", p->bundle).p;
    r->log = arena_fmt(&r->arena, "%s/log", p->bundle).p;
    r->pids = arena_fmt(&r->arena, "%s/pids", p->bundle).p;
    r->dev = arena_fmt(&r->arena, "%s/dev", p->bundle).p;
    r->pid_file = arena_fmt(&r->arena, "%s/pid", p->bundle).p;
}

/* ---- calling ---- */

/* Our signals are blocked and must not stay so in the runtime, nor in the container. */
static _Noreturn void exec_program(const char *const *argv, bool is_quiet, int out)
{
    int null = is_quiet ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
    sigset_t none;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setpgid(0, 0);
    for (int fd = 0; null >= 0 && fd < 3; fd++)
        (void)dup2(null, fd);
    if (out >= 0)
        (void)dup2(out, 1);
    (void)close_range(3, ~0U, 0);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    execv(argv[0], (char *const *)argv);
    _exit(CANNOT_EXEC);
}

/* By descriptor and not by SIGCHLD: that belongs to our callers. False: it was killed, the time was up. */
static bool wait_within(pid_t pid, int ms, int *ret_status)
{
    autoclose int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd p = { .fd = fd, .events = POLLIN };
    int64_t until_ms = clock_mono_ms(&clock_real) + ms, left = ms;
    bool in_time;

    while (fd >= 0 && left > 0 && poll(&p, 1, (int)left) < 0 && errno == EINTR)
        left = until_ms - clock_mono_ms(&clock_real);
    in_time = fd < 0 || p.revents;
    if (!in_time) {
        (void)kill(-pid, SIGKILL);
        (void)kill(pid, SIGKILL); /* it may not have made its group yet */
    }
    while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
        ;
    return in_time;
}

/* 'out': its standard output; -1: ours, or nobody's if it is to be quiet. */
static int call(const char *const *argv, const char *verb, bool is_quiet, int out, int ms, struct err *e)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0)
        exec_program(argv, is_quiet, out);
    if (pid < 0)
        return err_errno(e, "call %s", argv[0]);
    if (!wait_within(pid, ms, &status))
        return err_set(e, ERR_IO, "\"%s %s\" did not end within %d seconds", argv[0], verb, (ms + 999) / 1000);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT_EXEC)
        return err_set(e, ERR_IO, "%s cannot be run", argv[0]);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return err_set(e, ERR_IO, "\"%s %s\" was killed (it runs within the memory limit of the container)", argv[0],
                       verb);
    if (WIFSIGNALED(status))
        return err_set(e, ERR_IO, "\"%s %s\" was ended by signal %d", argv[0], verb, WTERMSIG(status));
    return status ? err_set(e, ERR_IO, "\"%s %s\" ended with status %d", argv[0], verb, WEXITSTATUS(status)) : 0;
}

static int ask_version(const char *path, char words[VERSION_BYTES], struct err *e)
{
    const char *const argv[] = { path, "--version", NULL };
    int pipes[2], rc;
    ssize_t n;

    if (pipe2(pipes, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_errno(e, "make a pipe");
    rc = call(argv, argv[1], true, pipes[1], VERSION_MS, e);
    n = read(pipes[0], words, VERSION_BYTES - 1);
    words[MAX_OF(n, 0)] = '\0';
    close(pipes[0]);
    close(pipes[1]);
    return rc;
}

/* ---- kinds ---- */

static const struct oci_kind kinds[] = {
    { "crun", "--cgroup-manager=disabled", true, false },
    { "runc", "--rootless=true", false, true }, /* of groups only: those it may not make it does without */
    { 0 },
};

static const struct oci_kind *kind_in(struct str words)
{
    size_t i = 0;

    while (kinds[i].name && !str_has(words, str_of(kinds[i].name)))
        i++;
    return &kinds[i];
}

/* A stranger by its file's name may be one of them by its own words: the runtimes of device makers are runc with more. */
const struct oci_kind *oci_kind(struct oci_run *r)
{
    struct str path = str_of(r->place->runtime);
    char words[VERSION_BYTES];

    if (!r->kind)
        r->kind = kind_in(str_from(path, (size_t)(str_rfind_char(path, '/') + 1)));
    if (!r->kind->name && !r->has_asked) {
        r->has_asked = true;
        if (ask_version(r->place->runtime, words, NULL) == 0)
            r->kind = kind_in(str_of(words));
    }
    return r->kind;
}

/* ---- why it failed ---- */

struct str oci_file_read(struct arena *a, const char *path)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *text = arena_alloc(a, LOG_MAX_BYTES);
    ssize_t n = fd < 0 ? -1 : read(fd, text, LOG_MAX_BYTES);

    return n <= 0 ? STR_NULL : (struct str){ text, (size_t)n };
}

/* The last error of the log, without what the runtime says about itself. Empty: there is none. */
static struct str last_error(struct oci_run *r)
{
    static const char *const preambles[] = { "runc create failed: ", "unable to start container process: ",
                                             "container create failed: " };
    struct str rest = oci_file_read(&r->arena, r->log), line, found = STR_NULL;
    struct json *entry;

    while (str_split(&rest, '\n', &line))
        if (line.n && json_parse(&r->arena, line, NULL, &entry, NULL) == 0 &&
            !str_is(json_member_text(entry, "level"), "warning"))
            found = json_member_text(entry, "msg");
    for (size_t i = 0; i < ARRAY_LEN(preambles); i++)
        if (str_starts(found, str_of(preambles[i])))
            found = str_from(found, strlen(preambles[i]));
    return found;
}

int oci_call(struct oci_run *r, const char *const *verb, bool is_quiet, int ms, struct err *e)
{
    const char *argv[20], *flag = r->place->group ? NULL : oci_kind(r)->flag, *name = verb[0];
    struct str why;
    size_t n = 0;

    argv[n++] = r->place->runtime;
    if (flag)
        argv[n++] = flag;
    argv[n++] = "--root";
    argv[n++] = r->state;
    argv[n++] = "--log";
    argv[n++] = r->log;
    argv[n++] = "--log-format";
    argv[n++] = "json";
    while (*verb && n < ARRAY_LEN(argv) - 1)
        argv[n++] = *verb++;
    argv[n] = NULL;
    if (call(argv, name, is_quiet, -1, ms, e) == 0)
        return 0;
    why = last_error(r);
    return why.n ? err_set(e, ERR_IO, "%.*s", STR_ARG(why)) : -1;
}

/* ---- finding one ---- */

static bool find_in(struct arena *a, struct str dirs, const char *name, const char **ret)
{
    for (struct str dir; str_split(&dirs, ':', &dir);) {
        const char *path = arena_fmt(a, "%.*s/%s", STR_ARG(dir), name).p;

        if (dir.n && path[0] == '/' && access(path, X_OK) == 0) {
            *ret = path;
            return true;
        }
    }
    return false;
}

int oci_find(struct arena *a, const char *name, const char **ret, struct err *e)
{
    const char *path = NULL, *dirs = getenv("PATH");
    char words[VERSION_BYTES];

    if (strchr(name, '/'))
        path = access(name, X_OK) == 0 ? realpath(name, arena_alloc(a, PATH_MAX)) : NULL;
    else if (!find_in(a, str_of(dirs ? dirs : ""), name, &path))
        (void)find_in(a, STR("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"), name, &path);
    if (!path && strchr(name, '/'))
        return err_set(e, ERR_NOT_FOUND, "%s: there is no such program", name);
    if (!path)
        return err_set(e, ERR_NOT_FOUND, "there is no %s here; install it (apt-get install %s) or give its path", name,
                       name);
    if (ask_version(path, words, e) < 0) {
        if (e)
            e->code = ERR_INVALID;
        return err_wrap(e, "%s does not work here", path);
    }
    *ret = path;
    return 0;
}
