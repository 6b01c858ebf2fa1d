/* oci.c - run a container by an OCI runtime
 *
 *     oci_run ── runtime create ──▶ the container's process, waiting; our child, since we are a subreaper
 *             ── runtime start  ──▶ its program runs
 *             ── waitpid        ──▶ how it ended, exactly: exit code or signal
 *             ── runtime delete
 *
 * The runtime's own state lies in the bundle, so it goes with it.
 */
#include "node/oci.h"

#include "json/json.h"
#include "node/box_internal.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { CANNOT_START = 128, LOG_MAX_BYTES = 64 << 10 };

struct run {
    const struct box_spec *spec;
    const struct oci_place *place;
    int report;
    struct arena arena;
    const char *id, *rootfs, *state, *log;
};

static const char *in_bundle(struct run *r, const char *name)
{
    return arena_fmt(&r->arena, "%s/%s", r->place->bundle, name).p;
}

/* ---- telling ---- */

static void tell(int report, enum box_report_kind kind, int status, const char *reason, const char *text)
{
    struct box_report r = { .kind = kind, .status = status };

    (void)snprintf(r.reason, sizeof(r.reason), "%s", reason);
    (void)snprintf(r.text, sizeof(r.text), "%s", text);
    (void)send(report, &r, sizeof(r), MSG_NOSIGNAL); /* nobody there: we go anyway */
}

static _Noreturn void fail(struct run *r, const char *reason, const char *text)
{
    tell(r->report, BOX_FAILED, CANNOT_START, reason, text);
    _exit(CANNOT_START);
}

/* ---- the runtime ---- */

/* Our signals are blocked and must not stay so in the runtime, nor in the container. */
static _Noreturn void exec_runtime(char *const *argv, bool is_quiet)
{
    int null = is_quiet ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
    sigset_t none;

    for (int fd = 0; null >= 0 && fd < 3; fd++)
        (void)dup2(null, fd);
    (void)close_range(3, ~0U, 0);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    execv(argv[0], argv);
    _exit(127);
}

/* Run it and wait. Others of our children are left for later. -1: cannot. */
static int call(char *const *argv, bool is_quiet)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        exec_runtime(argv, is_quiet);
    if (pid < 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

static bool is_crun(const struct oci_place *p)
{
    return str_ends(str_of(p->runtime), STR("crun"));
}

/* runtime [--cgroup-manager=disabled] --root … --log … verb …: 'verb' ends with NULL. */
static int call_runtime(struct run *r, const char *const *verb, bool is_quiet)
{
    const char *argv[20];
    size_t n = 0;

    argv[n++] = r->place->runtime;
    if (is_crun(r->place) && !r->place->group)
        argv[n++] = "--cgroup-manager=disabled";
    argv[n++] = "--root";
    argv[n++] = r->state;
    argv[n++] = "--log";
    argv[n++] = r->log;
    argv[n++] = "--log-format";
    argv[n++] = "json";
    while (*verb && n < ARRAY_LEN(argv) - 1)
        argv[n++] = *verb++;
    argv[n] = NULL;
    return call((char *const *)argv, is_quiet);
}

/* ---- why it failed ---- */

static struct str read_file(struct arena *a, const char *path)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = arena_alloc(a, LOG_MAX_BYTES);
    ssize_t n = fd < 0 ? -1 : read(fd, text, LOG_MAX_BYTES);

    return n <= 0 ? STR_NULL : (struct str){ text, (size_t)n };
}

/* The last error of the log, without what the runtime says about itself. */
static struct str last_error(struct run *r)
{
    static const char *const preambles[] = { "runc create failed: ", "unable to start container process: ",
                                             "container create failed: " };
    struct str rest = read_file(&r->arena, r->log), line, found = STR_NULL;
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

/* The words both runtimes have for a program that cannot be executed. */
static bool is_about_program(struct str text)
{
    static const char *const signs[] = { "exec: ", "executable file", "exec user process", "open executable" };

    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (str_has(text, str_of(signs[i])))
            return true;
    return false;
}

static _Noreturn void fail_by_log(struct run *r, const char *verb, int status)
{
    struct str text = last_error(r);
    const char *reason = is_about_program(text) ? box_start_error : box_create_error;

    oci_clean(r->place);
    if (text.n)
        fail(r, reason, arena_str(&r->arena, text).p);
    fail(r, box_create_error,
         WIFEXITED(status) && WEXITSTATUS(status) == 127
             ? arena_fmt(&r->arena, "%s cannot be run", r->place->runtime).p
             : arena_fmt(&r->arena, "%s %s ended with status %d", r->place->runtime, verb, status).p);
}

/* ---- building ---- */

static const struct {
    int (*run)(struct box *b, struct err *e);
    const char *reason;
} steps[] = {
    { box_root_make, box_create_error },  { box_fill, box_create_error },         { box_fill_dev, box_create_error },
    { box_add_mounts, box_create_error }, { box_find_who, box_config_error },     { box_find_caps, box_config_error },
    { box_find_cwd, box_create_error },   { box_root_protect, box_create_error },
};

/* The root, mounted at r->rootfs in a mount namespace of ours. */
static void build(struct run *r, struct box *b)
{
    struct err e;

    if (unshare(CLONE_NEWNS) < 0) {
        (void)err_errno(&e, "make a mount namespace");
        fail(r, box_create_error, e.text);
    }
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        if (steps[i].run(b, &e) < 0)
            fail(r, steps[i].reason, e.text);
}

static void make_dirs(struct run *r, const char *path)
{
    char copy[PATH_MAX];

    if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy))
        fail(r, box_create_error, "the path of the bundle is too long");
    for (char *p = copy + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            (void)mkdir(copy, 0755); /* what matters is whether the last one works */
            *p = '/';
        }
    if (mkdir(copy, 0700) < 0 && errno != EEXIST)
        fail(r, box_create_error, arena_fmt(&r->arena, "make %s: %s", copy, strerror(errno)).p);
}

static void write_config(struct run *r, const struct box *b)
{
    const char *path = in_bundle(r, "config.json");
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct oci_process who = { .uid = b->who.uid, .gid = b->who.gid, .home = b->who.home, .caps = b->caps };
    autobuf text = { 0 };

    for (size_t i = 0; i < b->who.groups.n; i++)
        *vec_push(&r->arena, &who.groups) = b->who.groups.v[i];
    oci_config(&text, r->spec, r->place, &who, r->rootfs);
    if (fd < 0 || write(fd, text.p, text.n) != (ssize_t)text.n)
        fail(r, box_create_error, arena_fmt(&r->arena, "write %s: %s", path, strerror(errno)).p);
}

/* A runtime reads /proc/<pid>: in a pid namespace that is not that of /proc it would see strangers. */
static void fit_proc(void)
{
    char self[32] = "", is[32];
    ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

    (void)snprintf(is, sizeof(is), "%d", (int)getpid());
    if (n > 0 && strcmp(self, is) != 0)
        (void)mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                    NULL); /* else create fails and says why */
}

/* crun refuses hosts with both kinds of groups, even when it is told to leave groups alone. It need not see the newer ones. */
static void hide_hybrid(const struct oci_place *p)
{
    static const char unified[] = "/sys/fs/cgroup/unified";

    if (is_crun(p) && !p->group && access(unified, F_OK) == 0)
        (void)mount("tmpfs", unified, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY,
                    "size=4k"); /* else it says so */
}

static void run_init(struct run *r, const struct oci_place *p)
{
    char *id = (char *)arena_cstr(&r->arena, str_of(p->id));

    for (char *c = id; *c; c++) /* what both runtimes allow */
        if (!memchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-", *c, 65))
            *c = '-';
    r->place = p;
    r->id = id[0] == '-' || id[0] == '.' ? arena_fmt(&r->arena, "x%s", id).p : id;
    r->rootfs = in_bundle(r, "root");
    r->state = in_bundle(r, "run");
    r->log = in_bundle(r, "log");
}

/* ---- the container's life ---- */

static pid_t create(struct run *r)
{
    const char *pid_file = in_bundle(r, "pid");
    const char *const verb[] = { "create", "--bundle", r->place->bundle, "--pid-file", pid_file, r->id, NULL };
    int status = call_runtime(r, verb, false);
    int64_t pid;

    if (status != 0)
        fail_by_log(r, "create", status);
    if (str_to_i64(str_trim(read_file(&r->arena, pid_file)), &pid) < 0 || pid <= 1)
        fail(r, box_create_error, "the runtime did not say which process the container is");
    return (pid_t)pid;
}

static void start(struct run *r)
{
    const char *const verb[] = { "start", r->id, NULL };
    int status = call_runtime(r, verb, true);

    if (status != 0)
        fail_by_log(r, "start", status);
}

static bool reap(pid_t program, int *ret_status)
{
    bool is_over = false;
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
        if (pid == program) {
            is_over = true;
            *ret_status = status;
        }
    return is_over;
}

static int watch_over(pid_t program)
{
    sigset_t all;
    int signo, status = 0;

    sigfillset(&all);
    if (reap(program, &status)) /* it may have ended while we waited for the runtime */
        return status;
    for (;;) {
        signo = sigwaitinfo(&all, NULL);
        if (signo == SIGCHLD && reap(program, &status))
            return status;
        if (signo > 0 && signo != SIGCHLD)
            (void)kill(program, signo);
    }
}

_Noreturn void oci_run(const struct box_spec *s, const struct oci_place *p, int report)
{
    struct run r = { .spec = s, .report = report };
    struct box_spec inner = *s; /* as box.h is to build it */
    struct box b = { .spec = &inner, .state = -1, .root = -1, .empty = -1, .cwd = -1 };
    pid_t pid;
    int status;

    run_init(&r, p);
    box_block_signals();
    umask(022);
    if (s->argv.n == 0 || s->argv.v[0].n == 0)
        fail(&r, box_start_error, "no command specified");
    make_dirs(&r, p->bundle);
    inner.upper = str_of(r.rootfs);
    inner.has_host_pids = true; /* its own /proc is mounted by the runtime, over the one we make */
    b.is_inner = box_in_user_namespace();
    (void)prctl(PR_SET_NAME, "pumice-oci", 0, 0, 0);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    build(&r, &b);
    fit_proc();
    hide_hybrid(p);
    write_config(&r, &b);
    pid = create(&r);
    start(&r);
    (void)close_range(0, 2, 0); /* so that the readers see the end when the program closes its own */
    tell(report, BOX_STARTED, 0, "", "");
    status = watch_over(pid);
    oci_clean(p);
    tell(report, BOX_ENDED, status, "", "");
    _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/* ---- beside the container's life ---- */

_Noreturn void oci_exec(const struct box_spec *s, const struct oci_place *p)
{
    autoarena a = { 0 };
    struct str text = str_trim(read_file(&a, arena_fmt(&a, "%s/pid", p->bundle).p));
    int64_t pid;
    int init = str_to_i64(text, &pid) < 0 || pid <= 1 ? -1 : (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);

    if (init < 0) {
        (void)dprintf(2, "the container has ended\n");
        _exit(126);
    }
    box_exec(s, init); /* whoever made the namespaces, one enters them in the same way */
}

void oci_clean(const struct oci_place *p)
{
    struct run r = { 0 };

    run_init(&r, p);
    if (access(r.state, F_OK) == 0) {
        const char *const verb[] = { "delete", "--force", r.id, NULL };

        (void)call_runtime(&r, verb, true);
    }
    arena_done(&r.arena);
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
    int status;

    if (strchr(name, '/'))
        path = access(name, X_OK) == 0 ? realpath(name, arena_alloc(a, PATH_MAX)) : NULL;
    else if (!find_in(a, str_of(dirs ? dirs : ""), name, &path))
        (void)find_in(a, STR("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"), name, &path);
    if (!path && strchr(name, '/'))
        return err_set(e, ERR_NOT_FOUND, "%s: there is no such program", name);
    if (!path)
        return err_set(e, ERR_NOT_FOUND, "there is no %s here; install it (apt-get install %s) or give its path", name,
                       name);
    status = call((char *const[]){ (char *)path, "--version", NULL }, true);
    if (status != 0)
        return err_set(e, ERR_INVALID, "%s does not work here: \"%s --version\" ended with status %d", path, path,
                       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    *ret = path;
    return 0;
}
