/* host.c - the table of checks, the child process that goes through it, and the quick version
 *
 * The child changes itself as a run would (user.h) and writes a line for each check: number, verdict, words and fix,
 * with tabs between.
 */
#include "base/buf.h"
#include "base/util.h"
#include "node/doctor/host_internal.h"
#include "os/io.h"
#include "os/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <pwd.h>
#include <sched.h>

enum { PARTS = 4, CHECK_MAX = 32, SAID_MAX = 1 << 20 };

static const char *const verdict_names[HOST_VERDICT_MAX] = {
    [HOST_FINE] = "fine",
    [HOST_LIMITED] = "limited",
    [HOST_IMPOSSIBLE] = "impossible",
};

const char *host_verdict_name(enum host_verdict v)
{
    return verdict_names[v];
}

static void look_root(struct exam *x, struct host_check *c);

static const struct {
    const char *name;
    host_look_f *look;
    bool needs_root; /* cannot be tried without */
    const char *means;
} checks[] = {
    { "kernel", host_look_kernel, false, "no pod can run" },
    { "root", look_root, false, "no pod can run" },
    { "user ids", host_try_ids, true,
      "containers run as root only: runAsUser, fsGroup and programs that switch to another "
      "user fail (sshd of the plugins ssh and mpi works)" },
    { "overlay", host_try_overlay, true, "containers cannot have a root file system" },
    { "proc", host_try_proc, true, "containers cannot have a /proc of their own" },
    { "cgroups", host_try_cgroups, true, "pods run without these limits" },
    { "network", host_try_network, true, "pods cannot reach each other" },
    { "nftables", host_try_nftables, true,
      "jobs with a NetworkPolicy (plugin svc creates one) need --allow-unfiltered; Services get no address" },
    { "way out", host_try_out, true, "pods reach each other but nothing outside" },
    { "name servers", host_look_names, false, "pods resolve names of each other, but no outside names" },
    { "seccomp", host_look_seccomp, false, "containers may use every system call" },
    { "size", host_look_size, false, "" },
    { "processes", host_look_processes, false, "fewer than 500 pods run at once" },
    { "open files", host_look_files, false, "fewer than 500 pods run at once" },
    { "GPUs", host_look_gpus, false, "jobs that request nvidia.com/gpu wait, or fail when they use it" },
    { "sshd", host_look_sshd, false,
      "jobs with the plugins ssh or mpi fail on the host's files; an image may bring its own sshd" },
    { "mpiexec", host_look_mpi, false, "MPI jobs fail on the host's files; an image may bring its own mpiexec" },
};
_Static_assert(ARRAY_LEN(checks) <= CHECK_MAX, "more room for checks");

/* ---- saying ---- */

void host_say(struct exam *x, struct host_check *c, enum host_verdict v, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    c->verdict = v;
    c->says = arena_vfmt(x->arena, fmt, ap);
    va_end(ap);
}

/* Before "run: " stands "; ", ": " or ", ", and perhaps "as root" before that. */
void host_say_why(struct exam *x, struct host_check *c, enum host_verdict v, const char *why)
{
    const char *mark = strstr(why, "run: ");
    struct str words = { why, mark ? (size_t)(mark - why) : strlen(why) };
    bool as_root;

    while (words.n && strchr(" ,;:", words.p[words.n - 1]))
        words.n--;
    as_root = mark && str_ends(words, STR("as root"));
    if (as_root)
        words.n -= strlen("as root");
    while (words.n && strchr(" ,;:", words.p[words.n - 1]))
        words.n--;
    host_say(x, c, v, "%.*s", STR_ARG(words));
    if (mark)
        c->fix = arena_fmt(x->arena, "%s%s", as_root ? "as root: " : "", mark + strlen("run: "));
}

/* ---- the child ---- */

static void look_root(struct exam *x, struct host_check *c)
{
    struct err e = { 0 };

    if (user_enter(&x->root, &e) < 0) {
        host_say_why(x, c, HOST_IMPOSSIBLE, e.text);
        return;
    }
    x->is_inside = true;
    if (x->root.is_real)
        host_say(x, c, HOST_FINE, "yes");
    else
        host_say(x, c, HOST_FINE, "user %u, root of a user namespace", x->root.outer_uid);
}

/* Words of others may hold anything; a line may not. */
static void host_put_part(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        buf_char(out, text.p[i] == '\n' || text.p[i] == '\t' ? ' ' : text.p[i]);
}

static void host_put_line(struct buf *out, size_t i, const struct host_check *c)
{
    buf_fmt(out, "%zu\t%d\t", i, c->verdict);
    host_put_part(out, c->says);
    buf_char(out, '\t');
    host_put_part(out, c->fix);
    buf_char(out, '\n');
}

static _Noreturn void be_examiner(const char *state_dir, int out)
{
    struct arena a = { 0 };
    struct exam x = { .arena = &a, .state_dir = state_dir };

    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        struct host_check c = { .name = checks[i].name };
        autobuf line = { 0 };

        if (checks[i].needs_root && !x.is_inside)
            continue;
        checks[i].look(&x, &c);
        host_put_line(&line, i, &c);
        (void)write_all(out, buf_view(&line)); /* one by one: should a check kill us, what was seen before stays */
    }
    net_close(x.net);
    _exit(0);
}

/* ---- the parent ---- */

static void take_line(struct arena *a, struct str line, struct host_checks *ret)
{
    struct str part[PARTS];
    int64_t i, verdict;

    for (size_t k = 0; k < PARTS; k++)
        if (!str_split(&line, '\t', &part[k]))
            return;
    if (str_to_i64(part[0], &i) < 0 || i < 0 || i >= (int64_t)ARRAY_LEN(checks) || str_to_i64(part[1], &verdict) < 0 ||
        verdict < 0 || verdict >= HOST_VERDICT_MAX)
        return;
    *vec_push(a, &ret->list) = (struct host_check){ .name = checks[i].name,
                                                    .verdict = (enum host_verdict)verdict,
                                                    .says = arena_str(a, part[2]),
                                                    .means = verdict == HOST_FINE ? "" : checks[i].means,
                                                    .fix = arena_str(a, part[3]) };
}

static int run_child(const char *state_dir, struct buf *out)
{
    int pipes[2];
    pid_t pid;

    if (pipe2(pipes, O_CLOEXEC) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        close(pipes[0]);
        be_examiner(state_dir, pipes[1]);
    }
    close(pipes[1]);
    (void)read_all(pipes[0], SAID_MAX, out); /* what is missing shows in its status */
    close(pipes[0]);
    return proc_wait(pid);
}

static void sum_up(struct arena *a, struct host_checks *r)
{
    autobuf limits = { 0 };
    struct str who = STR("root");

    VEC_FOREACH(c, &r->list) {
        if (c->verdict == HOST_IMPOSSIBLE) {
            r->summary = arena_fmt(a, "pods cannot run here: %.*s", STR_ARG(c->says));
            return;
        }
        if (c->verdict == HOST_LIMITED)
            buf_fmt(&limits, "%s%s", limits.n ? ", " : "", c->name);
        if (strcmp(c->name, "user ids") == 0 && !str_is(c->says, "all"))
            who = arena_fmt(a, "an ordinary user with %s", c->verdict == HOST_FINE ? c->says.p : "one user id");
    }
    r->can_run = true;
    r->summary = arena_fmt(a, "pods run here as %.*s%s%.*s", STR_ARG(who), limits.n ? "; with limits: " : "",
                           STR_ARG(buf_view(&limits)));
}

void host_examine(struct arena *a, const char *state_dir, struct host_checks *ret)
{
    autobuf text = { 0 };
    struct str rest, line;
    int status;

    *ret = (struct host_checks){ .can_run = false };
    status = run_child(state_dir, &text);
    rest = buf_view(&text);
    while (str_split(&rest, '\n', &line))
        take_line(a, line, ret);
    if (status != 0)
        *vec_push(
            a, &ret->list) = (struct host_check){ .name = "examination",
                                                  .verdict = HOST_IMPOSSIBLE,
                                                  .means = "this host could not be checked",
                                                  .says = arena_fmt(a, "the check process died (status %x)", status) };
    sum_up(a, ret);
}

struct str host_state_dir(struct arena *a)
{
    const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    const struct passwd *pw;

    if (geteuid() == 0)
        return STR("/var/lib/pumice");
    if (xdg && xdg[0] == '/')
        return arena_fmt(a, "%s/pumice", xdg);
    if ((!home || home[0] != '/') && (pw = getpwuid(geteuid())))
        home = pw->pw_dir;
    return home && home[0] == '/' ? arena_fmt(a, "%s/.local/state/pumice", home) : STR_NULL;
}

/* ---- only what must be ---- */

static int try_as_user(struct err *e)
{
    int error;

    if (user_enter_alone(e) < 0)
        return -1;
    if (unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0)
        return err_errno(e, "pods cannot run here: create namespaces; run: pumice doctor");
    error = host_try_mount_proc();
    errno = error;
    return error ? err_errno(e, "pods cannot run here: mount /proc; run: pumice doctor") : 0;
}

/* A run of one pod needs some 40 descriptors, and those that follow a few each. Root may have more than it was given. */
static int require_files(struct err *e)
{
    enum { FILES_MIN = 256, FILES_USUAL = 1024 };
    struct rlimit files, more = { FILES_USUAL, FILES_USUAL };

    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max >= FILES_MIN)
        return 0;
    if (setrlimit(RLIMIT_NOFILE, &more) == 0)
        return 0;
    return err_set(e, ERR_INVALID,
                   "the limit of %llu open files is too low: at least %d are needed; raise it with ulimit -Hn",
                   (unsigned long long)files.rlim_max, FILES_MIN);
}

static int require_size(struct err *e)
{
    enum { SIZE_MIN = 64 << 10 };
    struct rlimit size;

    if (getrlimit(RLIMIT_FSIZE, &size) < 0 || size.rlim_cur >= SIZE_MIN)
        return 0;
    return err_set(e, ERR_INVALID,
                   "the file size limit of %llu bytes is too low: at least %d are needed; raise it with ulimit -f",
                   (unsigned long long)size.rlim_cur, SIZE_MIN);
}

/* In a child: this process must stay as it is. */
int host_require(struct err *e)
{
    int said[2], status;
    struct err got = { 0 };
    sigset_t old;
    pid_t pid;

    if (require_files(e) < 0 || require_size(e) < 0 || host_kernel(e) < 0)
        return -1;
    if (geteuid() == 0 && access("/proc/self/uid_map", R_OK) == 0)
        return 0; /* root makes all of it, or user_enter() says why not */
    if (pipe2(said, O_CLOEXEC) < 0)
        return err_errno(e, "create a pipe");
    pid = proc_fork_bound(&old);
    if (pid == 0) {
        int rc = try_as_user(&got);

        (void)write_all(said[1], (struct str){ (const char *)&got, sizeof(got) });
        _exit(rc < 0);
    }
    close(said[1]);
    status = pid < 0 ? -1 : proc_wait_bound(pid, &old); /* a pipe has room for what it says */
    (void)!read(said[0], &got, sizeof(got));            /* nothing: it was killed, or all is well */
    close(said[0]);
    got.text[sizeof(got.text) - 1] = '\0';
    if (status == 0)
        return 0;
    return err_set(e, ERR_FORBIDDEN, "%s", got.text[0] ? got.text : "cannot check whether pods can run here");
}
