/* box_program.c - the program itself: a process takes its identity, drops the rest, and executes
 *
 * A process that can be traced gives all it has to the tracer. So every process that the container can see is
 * confined first and executes the program afterwards: process 1 confines itself before it forks, and a process that
 * joins another pid namespace is confined before it is born there.
 *
 * Children are made by vfork(): they borrow our memory until execve(), so nothing is copied, and a child that fails
 * leaves the reason in our struct.
 */
#include "node/container/box_internal.h"
#include "node/userns/user.h"
#include "os/proc.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

const char box_start_error[] = "StartError";
const char box_create_error[] = "CreateContainerError";
const char box_config_error[] = "CreateContainerConfigError";

static const char default_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/* ---- preparation ---- */

static const char *env_value(const struct box_spec *s, struct str name_eq)
{
    const char *found = NULL;

    VEC_FOREACH(v, &s->env)
        if (str_starts(*v, name_eq))
            found = v->p + name_eq.n;
    return found;
}

int box_program_init(struct arena *a, const struct box_spec *s, struct box_program *ret, struct err *e)
{
    *ret = (struct box_program){ .spec = s, .pids = -1 };
    if (s->argv.n == 0 || s->argv.v[0].n == 0)
        return err_set(e, ERR_INVALID, "no command specified");
    ret->argv = arena_array(a, char *, s->argv.n + 1);
    for (size_t i = 0; i < s->argv.n; i++)
        ret->argv[i] = (char *)arena_cstr(a, s->argv.v[i]);
    ret->envp = arena_array(a, char *, s->env.n + 2);
    for (size_t i = 0; i < s->env.n; i++) {
        ret->envp[i] = (char *)arena_cstr(a, s->env.v[i]);
        if (strncmp(ret->envp[i], "PATH=", 5) == 0)
            ret->path = ret->envp[i] + 5;
    }
    if (!ret->path)
        ret->path = default_path;
    return 0;
}

/* Programs expect HOME; its value is known only with the user. */
static void box_program_add_home(struct arena *a, struct box_program *p)
{
    struct str home = p->who->home.n ? p->who->home : STR("/");

    if (!env_value(p->spec, STR("HOME=")))
        p->envp[p->spec->env.n] = (char *)arena_fmt(a, "HOME=%.*s", STR_ARG(home)).p;
}

/* ---- confinement ---- */

static int program_fail(struct box_program *p, const char *reason)
{
    p->failed = true;
    p->reason = reason;
    return -1;
}

static int filter_calls(const struct box_program *p, struct err *e)
{
    if (p->spec->is_privileged || p->spec->has_no_seccomp) {
        /* Leave the session keyring we inherited; with the seccomp filter there are no key calls at all. */
        (void)syscall(SYS_keyctl, 1 /* KEYCTL_JOIN_SESSION_KEYRING */, NULL);
        return 0;
    }
    return box_seccomp_load(p->caps, e);
}

static int box_program_set_limits(const struct box_spec *s, struct err *e)
{
    VEC_FOREACH(l, &s->limits) {
        struct rlimit limit = { l->soft, l->hard };

        if (setrlimit((__rlimit_resource_t)l->resource, &limit) < 0)
            return err_errno(e, "set resource limit %d", l->resource);
    }
    return 0;
}

static int program_set_groups(const struct box_program *p, struct err *e)
{
    /* For an ordinary user, root inside is that user: keep its groups, which may open devices. */
    if (user_is_ordinary() && p->who->uid == 0 && p->spec->groups.n == 0)
        return 0;
    if (setgroups(p->who->groups.n, p->who->groups.v) == 0)
        return 0;
    /* A user namespace with one id: groups cannot be changed. Those of /etc/group are optional; requested ones are
     * not. */
    if (errno == EPERM && p->spec->groups.n == 0)
        return 0;
    if (errno == EPERM || errno == EINVAL)
        return err_set(e, ERR_FORBIDDEN,
                       "supplementary groups: this user has no subordinate ids for them; run: pumice doctor");
    return err_errno(e, "set supplementary groups");
}

static int set_ids(const struct box_program *p, struct err *e)
{
    const struct box_who *w = p->who;

    if (program_set_groups(p, e) < 0)
        return -1;
    if (setresgid(w->gid, w->gid, w->gid) < 0)
        return errno != EINVAL
                   ? err_errno(e, "set group %u", w->gid)
                   : err_set(e, ERR_FORBIDDEN, "group %u: this user has no subordinate ids for it; run: pumice doctor",
                             w->gid);
    if (setresuid(w->uid, w->uid, w->uid) < 0)
        return errno != EINVAL
                   ? err_errno(e, "set user %u", w->uid)
                   : err_set(e, ERR_FORBIDDEN, "user %u: this user has no subordinate ids for it; run: pumice doctor",
                             w->uid);
    return 0;
}

/* A change to another user than root drops all capabilities; as in other runtimes, none are kept as ambient. */
static int set_identity(const struct box_program *p, struct err *e)
{
    if (box_caps_bound(p->caps, e) < 0)
        return -1;
    if (p->spec->has_new_privileges_off && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_errno(e, "set no_new_privs");
    if (set_ids(p, e) < 0)
        return -1;
    return p->who->uid == 0 ? box_caps_set(p->caps, e) : 0;
}

int box_program_confine(struct box_program *p)
{
    if (box_ids_enter(p->spec, &p->err) < 0 || filter_calls(p, &p->err) < 0)
        return program_fail(p, box_create_error);
    if (box_program_set_limits(p->spec, &p->err) < 0 || set_identity(p, &p->err) < 0)
        return program_fail(p, box_config_error);
    return 0;
}

/* ---- in the child ---- */

/* The spawner resets ignored signals to their defaults, and so do its children with the ones they ignore. */
static void unblock_signals(void)
{
    sigset_t none;

    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* ---- finding the program ---- */

static bool is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Same texts as other runtimes, which people search for. */
static void say_exec_error(struct box_program *p, const char *path, int no)
{
    struct stat st;

    p->not_found = no == ENOENT;
    if (no == ENOENT && lstat(path, &st) == 0)
        (void)err_set(&p->err, ERR_NOT_FOUND,
                      "exec: \"%s\": no such file or directory (the file exists, but its interpreter "
                      "or library loader does not)",
                      path);
    else if (no == ENOENT)
        (void)err_set(&p->err, ERR_NOT_FOUND, "exec: \"%s\": stat %s: no such file or directory", path, path);
    else if (no == EACCES && is_dir(path))
        (void)err_set(&p->err, ERR_INVALID, "exec: \"%s\": is a directory", path);
    else if (no == EACCES)
        (void)err_set(&p->err, ERR_FORBIDDEN, "exec: \"%s\": permission denied", path);
    else if (no == ENOEXEC)
        (void)err_set(&p->err, ERR_INVALID, "exec: \"%s\": exec format error", path);
    else
        (void)err_set(&p->err, ERR_IO, "exec: \"%s\": %s", path, strerror(no));
}

static bool is_search_error(int no)
{
    return no == ENOENT || no == ENOTDIR || no == EACCES || no == ELOOP || no == ENAMETOOLONG || no == ESTALE;
}

/* Returns only if no entry of PATH can be executed. */
static void exec_in_path(struct box_program *p)
{
    struct str rest = str_of(p->path), dir, name = str_of(p->argv[0]);
    char path[PATH_MAX], denied[PATH_MAX] = "";
    struct stat st;

    while (str_split(&rest, ':', &dir)) {
        if (dir.n + name.n + 2 > sizeof(path))
            continue;
        (void)snprintf(path, sizeof(path), "%.*s/%s", STR_ARG(dir.n ? dir : STR(".")), name.p);
        execve(path, p->argv, p->envp);
        if (!is_search_error(errno) || (errno == ENOENT && lstat(path, &st) == 0)) {
            say_exec_error(p, path, errno);
            return;
        }
        if (errno == EACCES && !denied[0] && !is_dir(path))
            memcpy(denied, path, sizeof(denied));
    }
    if (denied[0]) {
        say_exec_error(p, denied, EACCES);
        return;
    }
    p->not_found = true;
    (void)err_set(&p->err, ERR_NOT_FOUND, "exec: \"%s\": executable file not found in $PATH", name.p);
}

/* Returns only on failure. */
static void box_program_become(struct box_program *p)
{
    (void)setsid(); /* fails only if we are a session leader already */
    if (p->spec->has_tty && ioctl(0, TIOCSCTTY, 0) < 0) {
        (void)err_errno(&p->err, "set the controlling terminal");
        (void)program_fail(p, box_start_error);
        return;
    }
    if (p->dies_with_parent)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    umask(022);
    unblock_signals();
    if (strchr(p->argv[0], '/')) {
        execve(p->argv[0], p->argv, p->envp);
        say_exec_error(p, p->argv[0], errno);
    } else {
        exec_in_path(p);
    }
    (void)program_fail(p, box_start_error);
}

/* ---- starting ---- */

static pid_t program_started(struct box_program *p, pid_t pid)
{
    if (pid < 0 && !p->failed) {
        (void)err_errno(&p->err, "fork");
        (void)program_fail(p, box_start_error);
    }
    if (!p->failed)
        return pid;
    if (pid > 0)
        (void)proc_wait(pid);
    return -1;
}

pid_t box_program_start(struct arena *a, struct box_program *p)
{
    pid_t pid;

    box_program_add_home(a, p);
    pid = vfork();
    if (pid == 0) {
        box_program_become(p);
        _exit(127);
    }
    return program_started(p, pid);
}

/* ---- starting in another pid namespace ---- */

enum { STACK_BYTES = 256 << 10 };

static int program_main(void *arg)
{
    box_program_become(arg);
    return 127;
}

/* In an intermediate process that the pid namespace cannot see. The program becomes our caller's child
 * (CLONE_PARENT). */
static void clone_confined(struct box_program *p, char *stack)
{
    if (p->pids >= 0 && setns(p->pids, CLONE_NEWPID) < 0) {
        (void)err_errno(&p->err, "join the pid namespace");
        (void)program_fail(p, box_create_error);
        return;
    }
    if (p->pids >= 0)
        close(p->pids); /* vfork() shares memory, not descriptors: the caller's stays open */
    if (box_program_confine(p) < 0)
        return;
    p->pid = clone(program_main, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | CLONE_PARENT | SIGCHLD, p);
    if (p->pid < 0 && !p->failed) {
        (void)err_errno(&p->err, "fork");
        (void)program_fail(p, box_start_error);
    }
}

pid_t box_program_join(struct arena *a, struct box_program *p)
{
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    pid_t between;

    box_program_add_home(a, p);
    p->pid = -1;
    between = stack == MAP_FAILED ? -1 : vfork();
    if (between == 0) {
        clone_confined(p, stack);
        _exit(0);
    }
    if (between < 0)
        return program_started(p, -1);
    (void)proc_wait(between);
    (void)munmap(stack, STACK_BYTES);
    return program_started(p, p->pid);
}

/* ---- shared by run and exec ---- */

static enum { NOT_ASKED, FIRST_NAMESPACE, OTHER_NAMESPACE } user_namespace; /* of this process and its forks */

static bool is_other_user_namespace(void)
{
    struct stat st;

    /* The first user namespace has a fixed number. */
    return stat("/proc/self/ns/user", &st) < 0 || st.st_ino != 0xEFFFFFFDU;
}

void box_program_prepare(void)
{
    user_namespace = is_other_user_namespace() ? OTHER_NAMESPACE : FIRST_NAMESPACE;
}

bool box_in_user_namespace(void)
{
    return user_namespace == NOT_ASKED ? is_other_user_namespace() : user_namespace == OTHER_NAMESPACE;
}

bool box_groups_are_fixed(void)
{
    autobuf text = { 0 };

    return file_read(AT_FDCWD, "/proc/self/setgroups", 0, 8, &text) >= 0 && str_starts(buf_view(&text), STR("deny"));
}

/* Signals stay pending until sigwait(). An ignored SIGCHLD would discard exit statuses. */
void box_block_signals(void)
{
    struct sigaction plain = { .sa_handler = SIG_DFL };
    sigset_t all;

    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)sigaction(SIGCHLD, &plain, NULL);
}

/* Best effort: lowering it needs a capability, and the container runs without. */
void box_set_oom_score(int adj)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%d", adj);
    (void)control_write(AT_FDCWD, "/proc/self/oom_score_adj", str_of(text));
}

static int box_program_by_number(const void *x, const void *y)
{
    return *(const int *)x - *(const int *)y;
}

void box_keep_only(int *keep, size_t n)
{
    unsigned next = 3;

    qsort(keep, n, sizeof(*keep), box_program_by_number);
    for (size_t i = 0; i < n; i++) {
        if (keep[i] < (int)next)
            continue;
        if (keep[i] > (int)next)
            (void)close_range(next, (unsigned)keep[i] - 1, 0);
        (void)fcntl(keep[i], F_SETFD, FD_CLOEXEC);
        next = (unsigned)keep[i] + 1;
    }
    (void)close_range(next, ~0U, 0);
}
