/* cgroup_fixture.h - what the tests of cgroups need: things children do, views of the host, and a broom */
#ifndef NODE_TEST_CGROUP_FIXTURE_H
#define NODE_TEST_CGROUP_FIXTURE_H

#include "base/clock.h"
#include "base/util.h"
#include "node/cgroup/cgroup_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { MIB = 1 << 20, NOBODY = 65534 };

static char prefix[64]; /* of all groups the tests make */

/* ---- what children do ---- */

typedef void (*child_f)(int64_t arg);
static int64_t *shared; /* a page that children write to */

static void run_wait(int64_t arg)
{
    (void)arg;
    for (;;)
        pause();
}

static void run_count(int64_t arg)
{
    (void)arg;
    for (;; usleep(200))
        (*(volatile int64_t *)shared)++;
}

static void run_spin(int64_t ms)
{
    int64_t until_ms = clock_mono_ms(&clock_real) + ms;
    struct timespec t;

    while (clock_mono_ms(&clock_real) < until_ms)
        ;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    shared[0] = t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void run_eat(int64_t bytes)
{
    char *p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        _exit(3);
    for (int64_t i = 0; i < bytes; i += 4096)
        p[i] = 1;
    shared[0] = 1; /* all of it was given */
    pause();
}

static void run_fork(int64_t max)
{
    for (int64_t n = 0; n < max; n++) {
        pid_t pid = fork();

        if (pid == 0)
            run_wait(0);
        if (pid < 0) {
            shared[1] = errno;
            break;
        }
        shared[0]++;
    }
    run_wait(0);
}

/* Everybody forks as fast as possible, ends soon, leaves its session and does not listen. */
static void run_bomb(int64_t arg)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN };

    (void)arg;
    (void)sigaction(SIGTERM, &ignore, NULL);
    (void)sigaction(SIGCHLD, &ignore, NULL);
    for (int n = 0;; n++) {
        if (fork() == 0) {
            (void)setsid();
            n = 0;
        }
        if (n > 20)
            _exit(0);
    }
}

/* ---- views of the host: each in a process of its own ---- */

static void host_now(struct arena *a, struct cgroup_host *ret)
{
    autobuf mounts = { 0 }, self = { 0 };

    if (cgroup_file_read(AT_FDCWD, "/proc/self/mountinfo", &mounts) == 0 &&
        cgroup_file_read(AT_FDCWD, "/proc/self/cgroup", &self) == 0)
        cgroup_host_read(a, buf_view(&mounts), buf_view(&self), ret);
    else
        *ret = (struct cgroup_host){ 0 };
}

static bool own_mounts(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static bool view_as_is(void)
{
    return true;
}

static bool hide(bool v1, bool v2)
{
    autoarena a = { 0 };
    struct cgroup_host host;

    if (!own_mounts())
        return false;
    host_now(&a, &host);
    VEC_FOREACH(p, &host.places)
        if (p->is_v2 ? v2 : v1)
            while (umount2(p->mount.p, MNT_DETACH) == 0)
                ;
    host_now(&a, &host);
    VEC_FOREACH(p, &host.places)
        if (p->is_v2 ? v2 : v1)
            return false;
    return host.places.n > 0 || (v1 && v2);
}

static bool view_v1(void)
{
    return hide(false, true);
}

static bool view_v2(void)
{
    return hide(true, false);
}

static bool view_unmounted(void)
{
    return hide(true, true);
}

/* All trees (~0U), or those of just these controllers. */
static bool make_readonly(unsigned ctrls)
{
    autoarena a = { 0 };
    struct cgroup_host host;
    size_t n = 0;

    if (!own_mounts())
        return false;
    host_now(&a, &host);
    VEC_FOREACH(p, &host.places) {
        if (ctrls != ~0U && p->ctrls != ctrls)
            continue;
        if (mount(NULL, p->mount.p, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0)
            return false;
        n++;
    }
    return n > 0;
}

static bool view_readonly(void)
{
    return make_readonly(~0U);
}

static bool view_partly(void)
{
    return make_readonly(CGROUP_CTRL_PIDS);
}

/* Go into a group of our own in every hierarchy. */
static bool enter_groups(uid_t uid)
{
    static const char *const files[] = { "cgroup.procs", "cgroup.threads", "cgroup.subtree_control", "tasks" };
    autoarena a = { 0 };
    struct cgroup_host host;

    host_now(&a, &host);
    VEC_FOREACH(p, &host.places) {
        const char *path = arena_fmt(&a, "%s%s/%sview", p->mount.p, p->own.p, prefix).p;

        if (mkdir(path, 0755) < 0 && errno != EEXIST) /* cpu and cpuacct may be links to one */
            return false;
        autoclose int dir = cgroup_dir_open(AT_FDCWD, path);
        if (p->ctrls & CGROUP_CTRL_CPUSET) {
            (void)rmdir(path); /* takes no process without further settings */
            continue;
        }
        if (cgroup_file_write(dir, "cgroup.procs", "0") < 0)
            return false;
        (void)!fchownat(dir, ".", uid, uid, 0);
        for (size_t i = 0; i < ARRAY_LEN(files); i++)
            (void)!fchownat(dir, files[i], uid, uid, 0);
    }
    return host.places.n > 0;
}

static const char *const ctrl_words[] = { "cpu", "cpuacct", "memory", "pids", "freezer", "cpuset" };

/* On a host with all in v2 the parent must hand its controllers on for the child to have any. */
static void pass_controllers(void)
{
    autoarena a = { 0 };
    struct cgroup_host host;

    host_now(&a, &host);
    VEC_FOREACH(p, &host.places) {
        autoclose int dir = p->is_v2 ? cgroup_dir_open(AT_FDCWD, arena_fmt(&a, "%s%s", p->mount.p, p->own.p).p) : -1;

        if (dir >= 0)
            (void)cgroup_v2_pass(dir, CGROUP_CTRL_CPU | CGROUP_CTRL_MEMORY | CGROUP_CTRL_PIDS, '+');
    }
}

static bool view_user(void)
{
    pass_controllers();
    return enter_groups(NOBODY) && setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0 &&
           prctl(PR_SET_DUMPABLE, 1) == 0;
}

/* The parent of the one that tests is in the group as well. */
static bool view_crowded(void)
{
    int status;
    pid_t pid;

    if (!view_user() || (pid = fork()) < 0)
        return false;
    if (pid == 0)
        return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
    _exit(waitpid(pid, &status, 0) != pid || status != 0);
}

/* An ordinary user who was given nothing. */
static bool view_stranger(void)
{
    return setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

static bool mount_again(const struct cgroup_place *p)
{
    autobuf options = { 0 };

    if (p->ctrls & CGROUP_CTRL_CPUSET)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(ctrl_words); i++)
        if (p->ctrls & cgroup_ctrl_read(str_of(ctrl_words[i]), ' '))
            buf_fmt(&options, "%s%s", options.n ? "," : "", ctrl_words[i]);
    while (umount2(p->mount.p, MNT_DETACH) == 0)
        ; /* the same file system is not mounted over itself */
    return mount("cgroup", p->mount.p, p->is_v2 ? "cgroup2" : "cgroup", 0, options.n ? options.p : NULL) == 0;
}

/* As a container manager does it: our groups are the top of all we see. */
static bool view_container(void)
{
    autoarena a = { 0 };
    struct cgroup_host host;

    pass_controllers();
    host_now(&a, &host);
    if (!enter_groups(0) || !own_mounts() || unshare(CLONE_NEWCGROUP) < 0)
        return false;
    VEC_FOREACH(p, &host.places)
        if (!mount_again(p))
            return false;
    return true;
}

/* ---- what is left ---- */

static int left;

static void thaw(int dir, void *arg)
{
    (void)arg;
    (void)cgroup_file_write(dir, "freezer.state", "THAWED");
    (void)cgroup_file_write(dir, "cgroup.freeze", "0");
}

static bool is_ours(const char *path, int type, const struct FTW *ftw)
{
    return (type == FTW_DP || type == FTW_DNR) && str_starts(str_of(path + ftw->base), str_of(prefix));
}

static int sweep_kill(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    if (!is_ours(path, type, ftw))
        return 0;
    autoclose int dir = cgroup_dir_open(AT_FDCWD, path);
    cgroup_tree_signal(dir, SIGKILL);
    cgroup_tree_walk(dir, thaw, NULL);
    return 0;
}

static int sweep_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    if (!is_ours(path, type, ftw))
        return 0;
    autoclose int dir = cgroup_dir_open(AT_FDCWD, path);
    if (!str_ends(str_of(path), STR("-view"))) {
        print_message("left behind: %s\n", path);
        left++;
    }
    for (int turn = 0; turn < 100 && !cgroup_tree_is_empty(dir, false); turn++) {
        cgroup_tree_signal(dir, SIGKILL);
        usleep(2000);
    }
    (void)cgroup_tree_remove(AT_FDCWD, path);
    return 0;
}

/* From the top: our group may be above the one we run in. What is frozen in one tree does not die in another, so all
 * are let go first. */
static void sweep(void)
{
    autoarena a = { 0 };
    struct cgroup_host host;

    host_now(&a, &host);
    VEC_FOREACH(p, &host.places)
        (void)nftw(p->mount.p, sweep_kill, 16, FTW_PHYS | FTW_MOUNT | FTW_DEPTH);
    VEC_FOREACH(p, &host.places)
        (void)nftw(p->mount.p, sweep_remove, 16, FTW_PHYS | FTW_MOUNT | FTW_DEPTH);
}

#endif
