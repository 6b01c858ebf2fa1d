/* cgroup.c - real groups of the host this runs on
 *
 * The same tests run in several views of the host, each in a process of its own with its own mounts: as it is, with v1
 * only, with v2 only, inside a container (a cgroup namespace), as an ordinary user whose group was handed to him, and
 * with nothing that can be used. What a view lacks is skipped with a word. Groups carry our process id; whatever a test
 * leaves behind is removed at the end, and is a failure.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/cgroup/test/cgroup_fixture.h"

static char name[80];
static struct cgroups *cg;
static struct err err;

/* ---- processes ---- */

static pid_t started[8];
static size_t started_n;

/* Start a child in 'path'; it is in the group when this returns. */
static pid_t start_in(const char *path, child_f run, int64_t arg)
{
    int gate[2];
    char c;

    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(gate[0]);
        if (cgroup_enter(cg, path, false, &err) < 0)
            _exit(1);
        (void)!write(gate[1], "x", 1);
        close(gate[1]);
        run(arg);
        _exit(0);
    }
    close(gate[1]);
    started[started_n++ % ARRAY_LEN(started)] = pid;
    ssize_t n = read(gate[0], &c, 1);
    close(gate[0]);
    if (n != 1)
        fail_msg("a child cannot enter %s", path);
    return pid;
}

static int end_of(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static bool was_killed(int status)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* We are the one orphans come to, see main(). */
static void reap_all(void)
{
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

/* ---- fixture ---- */

static int number;

static int setup(void **state)
{
    (void)state;
    err.text[0] = '\0';
    shared[0] = shared[1] = 0;
    (void)snprintf(name, sizeof(name), "%s%d", prefix, ++number);
    return cgroups_open(name, &cg, NULL, &err);
}

static int teardown(void **state)
{
    (void)state;
    cgroups_close(cg, true);
    cg = NULL;
    for (; started_n > 0; started_n--) /* not yet reaped, so the number is still its own */
        if (started_n <= ARRAY_LEN(started) && waitpid(started[started_n - 1], NULL, WNOHANG) == 0)
            (void)kill(started[started_n - 1], SIGKILL);
    reap_all();
    return 0;
}

static void need(unsigned can, const char *what)
{
    if ((cgroups_can(cg) & can) == can)
        return;
    print_message("skipped: no %s in this view (%s)\n", what, cgroups_kind(cg));
    skip();
}

static void need_groups(void)
{
    if (cg->n)
        return;
    print_message("skipped: no cgroups in this view\n");
    skip();
}

static void must(int r)
{
    if (r < 0)
        fail_msg("%s", err.text);
}

static void make_pod(const struct cgroup_limits *limits)
{
    must(cgroup_make(cg, "pod", NULL, &err));
    must(cgroup_make(cg, "pod/main", limits, &err));
}

static struct cgroup_stats stats_of(const char *path)
{
    struct cgroup_stats s;

    must(cgroup_stats(cg, path, &s, &err));
    return s;
}

static void fails(int r, enum err_code code)
{
    assert_int_equal(r, -1);
    if (err.code != code)
        fail_msg("%s instead of %s: %s", err_code_name(err.code), err_code_name(code), err.text);
}

/* Is 'path' there in every (any) hierarchy? */
static bool is_there(const char *path, bool in_all)
{
    size_t n = 0;

    for (size_t i = 0; i < cg->n; i++)
        n += faccessat(cg->hiers[i].ours, path, F_OK, 0) == 0;
    return in_all ? n == cg->n : n > 0;
}

/* ---- limits ---- */

static void memory_limit_kills(void **state)
{
    struct cgroup_stats s;

    (void)state;
    need(CGROUP_MEMORY, "memory limits");
    make_pod(&(struct cgroup_limits){ .memory_bytes = 16 * MIB, .dies_whole = true });
    assert_true(was_killed(end_of(start_in("pod/main", run_eat, 64 * MIB))));
    assert_int_equal(shared[0], 0);
    s = stats_of("pod/main");
    assert_true(s.oom_kills >= 1); /* where the group dies as a whole some kernels count the first one twice */
    assert_int_equal(stats_of("pod").oom_kills, s.oom_kills); /* the pod counts for its containers */
    assert_true(s.memory_peak_bytes == -1 || (s.memory_peak_bytes > 8 * MIB && s.memory_peak_bytes <= 16 * MIB));
}

static void memory_within_limit_is_given(void **state)
{
    (void)state;
    need(CGROUP_MEMORY, "memory limits");
    make_pod(&(struct cgroup_limits){ .memory_bytes = 32 * MIB });
    (void)start_in("pod/main", run_eat, 8 * MIB);
    for (int i = 0; i < 2000 && !((volatile int64_t *)shared)[0]; i++)
        usleep(1000);
    assert_int_equal(shared[0], 1);
    assert_in_range(stats_of("pod/main").memory_bytes, 8 * MIB, 32 * MIB);
    assert_in_range(stats_of("pod").memory_bytes, 8 * MIB, 32 * MIB);
    assert_int_equal(stats_of("pod/main").oom_kills, 0);
}

static void memory_of_pod_holds_for_containers(void **state)
{
    (void)state;
    need(CGROUP_MEMORY, "memory limits");
    make_pod(NULL);
    must(cgroup_make(cg, "pod", &(struct cgroup_limits){ .memory_bytes = 16 * MIB }, &err));
    assert_true(was_killed(end_of(start_in("pod/main", run_eat, 64 * MIB))));
    assert_int_equal(stats_of("pod").oom_kills, 1);
}

static int64_t memory_max(const char *path)
{
    for (size_t i = 0; i < cg->n; i++)
        if (cg->hiers[i].ctrls & CGROUP_CTRL_MEMORY) {
            autoclose int dir = cgroup_dir_open(cg->hiers[i].ours, path);

            return cgroup_file_number(dir, cg->hiers[i].is_v2 ? "memory.max" : "memory.limit_in_bytes");
        }
    return 0;
}

static void limits_change_both_ways(void **state)
{
    static const int64_t mib[] = { 16, 64, 8, 8, 0, 32, 0 };

    (void)state;
    need(CGROUP_MEMORY, "memory limits");
    make_pod(NULL);
    for (size_t i = 0; i < ARRAY_LEN(mib); i++) {
        must(cgroup_make(cg, "pod/main", &(struct cgroup_limits){ .memory_bytes = mib[i] * MIB }, &err));
        if (mib[i])
            assert_int_equal(memory_max("pod/main"), mib[i] * MIB);
        else
            assert_true(memory_max("pod/main") == -1 || memory_max("pod/main") > (int64_t)1 << 60);
    }
}

static void pids_limit_refuses(void **state)
{
    struct cgroup_stats s;

    (void)state;
    need(CGROUP_PIDS, "process limits");
    make_pod(&(struct cgroup_limits){ .pids = 5 });
    (void)start_in("pod/main", run_fork, 50);
    for (int i = 0; i < 2000 && !((volatile int64_t *)shared)[1]; i++)
        usleep(1000);
    assert_int_equal(shared[0], 4); /* and the parent */
    assert_int_equal(shared[1], EAGAIN);
    s = stats_of("pod/main");
    assert_int_equal(s.pids, 5);
    assert_int_equal(s.pids_refused, 1);
    assert_int_equal(stats_of("pod").pids_refused, 1);
    assert_int_equal(stats_of("pod").pids, 5);
}

static void cpu_quota_throttles(void **state)
{
    struct cgroup_stats s;

    (void)state;
    need(CGROUP_CPU, "cpu limits");
    make_pod(&(struct cgroup_limits){ .cpu_milli = 100 });
    assert_int_equal(end_of(start_in("pod/main", run_spin, 400)), 0);
    s = stats_of("pod/main");
    assert_true(s.throttled_us > 0);
    assert_true(shared[0] < 200); /* a tenth of 400 ms, with room for the first period */
    assert_in_range(s.cpu_us, 1000, 220000);
}

static void cpu_without_quota_is_not_throttled(void **state)
{
    struct cgroup_stats s;

    (void)state;
    need_groups();
    make_pod(&(struct cgroup_limits){ .cpu_shares_milli = 500 });
    assert_int_equal(end_of(start_in("pod/main", run_spin, 50)), 0);
    s = stats_of("pod/main");
    if (cgroups_can(cg) & CGROUP_CPU)
        assert_int_equal(s.throttled_us, 0);
    assert_true(s.cpu_us == -1 || s.cpu_us >= shared[0] * 1000 / 2); /* some kernels count by ticks */
    assert_true(s.cpu_us <= stats_of("pod").cpu_us);
}

/* v1 refuses more time than the group above has. */
static void quota_above_the_pods_is_fine(void **state)
{
    (void)state;
    need(CGROUP_CPU, "cpu limits");
    must(cgroup_make(cg, "pod", &(struct cgroup_limits){ .cpu_milli = 500 }, &err));
    must(cgroup_make(cg, "pod/main", &(struct cgroup_limits){ .cpu_milli = 4000 }, &err));
    must(cgroup_make(cg, "pod/main", &(struct cgroup_limits){ .cpu_milli = 1 }, &err));
    must(cgroup_make(cg, "pod/main", &(struct cgroup_limits){ .cpu_milli = 250 }, &err));
}

static void huge_limits_are_taken(void **state)
{
    (void)state;
    need_groups();
    make_pod(&(struct cgroup_limits){ INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX });
    must(cgroup_make(cg, "pod/main", &(struct cgroup_limits){ 0 }, &err));
}

/* ---- kill ---- */

/* The ways a host may have: cgroup.kill, a freezer, or signals only. */
static void kill_with(bool has_kill, bool freezes)
{
    make_pod(&(struct cgroup_limits){ .pids = 60 });
    cg->has_kill = cg->has_kill && has_kill;
    for (size_t i = 0; i < cg->n; i++)
        cg->hiers[i].freezes = cg->hiers[i].freezes && freezes;
    (void)start_in("pod/main", run_bomb, 0);
    usleep(30000);
    must(cgroup_kill(cg, "pod", 5000, &err));
    for (size_t i = 0; i < cg->n; i++) {
        autoclose int dir = cgroup_dir_open(cg->hiers[i].ours, "pod");

        assert_true(cgroup_tree_is_empty(dir, cg->hiers[i].is_v2));
    }
    reap_all();                                    /* ends: nobody is left who could fork */
    pid_t pid = start_in("pod/main", run_fork, 3); /* and the group works as before */
    for (int i = 0; i < 2000 && ((volatile int64_t *)shared)[0] < 3; i++)
        usleep(1000);
    assert_int_equal(shared[0], 3);
    must(cgroup_kill(cg, "pod/main", 1000, &err));
    assert_true(was_killed(end_of(pid)));
    assert_true(is_there("pod/main", true));
}

static void kill_ends_a_bomb(void **state)
{
    (void)state;
    need(CGROUP_PIDS, "process limits");
    kill_with(true, true);
}

static void kill_without_the_file(void **state)
{
    (void)state;
    need(CGROUP_PIDS | CGROUP_FREEZE, "process limits and freezer");
    kill_with(false, true);
}

static void kill_by_signals_only(void **state)
{
    (void)state;
    need(CGROUP_PIDS, "process limits");
    kill_with(false, false);
}

static void kill_of_nothing_is_fine(void **state)
{
    (void)state;
    need_groups();
    make_pod(NULL);
    must(cgroup_kill(cg, "pod", 0, &err));
    fails(cgroup_kill(cg, "other", 0, &err), ERR_NOT_FOUND);
}

static void remove_takes_all(void **state)
{
    pid_t pid;

    (void)state;
    need_groups();
    make_pod(NULL);
    must(cgroup_make(cg, "pod/side", NULL, &err));
    pid = start_in("pod/main", run_wait, 0);
    for (size_t i = 0; i < cg->n; i++) /* a group the pod made for itself */
        assert_int_equal(mkdirat(cg->hiers[i].ours, "pod/side/own", 0755), 0);
    must(cgroup_remove(cg, "pod/main", &err));
    assert_true(was_killed(end_of(pid)));
    assert_false(is_there("pod/main", false));
    must(cgroup_remove(cg, "pod", &err));
    assert_false(is_there("pod", false));
    must(cgroup_remove(cg, "pod", &err));
    must(cgroup_remove(cg, "pod/main", &err));
}

/* ---- freeze ---- */

static int64_t counted(int us)
{
    int64_t before = *(volatile int64_t *)shared;

    usleep((unsigned)us);
    return *(volatile int64_t *)shared - before;
}

/* As somebody on the host may do. */
static void freeze(const char *path, bool on)
{
    for (size_t i = 0; i < cg->n; i++) {
        autoclose int dir = cgroup_dir_open(cg->hiers[i].ours, path);

        if (cg->hiers[i].freezes)
            assert_int_equal((cg->hiers[i].is_v2 ? cgroup_v2_freeze : cgroup_v1_freeze)(dir, on, 1000), 0);
    }
}

static void frozen_ones_are_killed(void **state)
{
    pid_t pid;

    (void)state;
    need(CGROUP_FREEZE, "freezing");
    make_pod(NULL);
    pid = start_in("pod/main", run_count, 0);
    for (int i = 0; i < 2000 && !counted(1000); i++)
        ;
    freeze("pod", true);
    assert_int_equal(counted(20000), 0);
    freeze("pod", true);
    freeze("pod", false);
    for (int i = 0; i < 2000 && !counted(1000); i++)
        ;
    assert_true(counted(20000) > 0);
    freeze("pod/main", true);
    assert_int_equal(counted(20000), 0);
    must(cgroup_kill(cg, "pod", 2000, &err)); /* also what is frozen, and inside */
    assert_true(was_killed(end_of(pid)));
    (void)start_in("pod/main", run_count, 0); /* and nothing is frozen afterwards */
    for (int i = 0; i < 2000 && !counted(1000); i++)
        ;
    assert_true(counted(20000) > 0);
}

/* ---- rules ---- */

static void names_are_checked(void **state)
{
    static const char *const bad[] = { "",   "/",    "a/",  "/a",  "a/b/c", "..",      "a/..",
                                       ".",  "a//b", "A",   "a b", "a_",    "a/.",     "a\n",
                                       ".x", "*",    "a/B", "ä",   "a\\",   "-/../..", "a/b/.." };
    char longer[300];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        fails(cgroup_make(cg, bad[i], NULL, &err), ERR_INVALID);
        fails(cgroup_remove(cg, bad[i], &err), ERR_INVALID);
        fails(cgroup_enter(cg, bad[i], false, &err), ERR_INVALID);
        fails(cgroup_kill(cg, bad[i], 0, &err), ERR_INVALID);
        fails(cgroup_stats(cg, bad[i], &(struct cgroup_stats){ 0 }, &err), ERR_INVALID);
        assert_int_equal(cgroup_birth_fd(cg, bad[i]), -1);
    }
    memset(longer, 'a', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    fails(cgroup_make(cg, longer, NULL, &err), ERR_INVALID);
    fails(cgroups_open("a/b", &(struct cgroups *){ NULL }, NULL, &err), ERR_INVALID);
    fails(cgroups_open("..", &(struct cgroups *){ NULL }, NULL, &err), ERR_INVALID);
    fails(cgroup_make(cg, "pod", &(struct cgroup_limits){ .pids = -1 }, &err), ERR_INVALID);
    if (!cg->n)
        return;
    fails(cgroup_make(cg, "cgroup.procs", NULL, &err), ERR_INVALID);
    fails(cgroup_make(cg, "pod/main", NULL, &err), ERR_NOT_FOUND);
    must(cgroup_make(cg, "a.b-0", NULL, &err));
    fails(cgroup_enter(cg, "none", false, &err), ERR_NOT_FOUND);
    fails(cgroup_stats(cg, "none", &(struct cgroup_stats){ 0 }, &err), ERR_NOT_FOUND);
}

static void groups_hold_processes_or_groups(void **state)
{
    (void)state;
    need_groups();
    must(cgroup_make(cg, "a", NULL, &err));
    (void)start_in("a", run_wait, 0);
    fails(cgroup_make(cg, "a/main", &(struct cgroup_limits){ 0 }, &err), ERR_INVALID);
    assert_false(is_there("a/main", false));
    must(cgroup_make(cg, "a/guest", NULL, &err));
    (void)start_in("a/guest", run_wait, 0);
}

static void clones_into(void **state)
{
    struct clone_args args = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD };
    pid_t pid;

    (void)state;
    need_groups();
    make_pod(NULL);
    assert_int_equal(cgroup_birth_fd(cg, "pod/other"), -1);
    autoclose int fd = cgroup_birth_fd(cg, "pod/main");
    if (strcmp(cgroups_kind(cg), "v1") == 0) {
        assert_int_equal(fd, -1);
        return;
    }
    assert_true(fd >= 0);
    args.cgroup = (uint64_t)fd;
    pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0)
        run_wait(0);
    assert_true(pid > 0);
    assert_int_equal(cgroup_file_number(fd, "cgroup.procs"), pid);
    must(cgroup_kill(cg, "pod/main", 1000, &err));
    assert_true(was_killed(end_of(pid)));
}

/* ---- opening ---- */

static void leftovers_are_taken_or_refused(void **state)
{
    pid_t pid;

    (void)state;
    need_groups();
    make_pod(&(struct cgroup_limits){ .pids = 3 });
    cgroups_close(cg, false);
    cg = NULL;
    must(cgroups_open(name, &cg, NULL, &err)); /* empty: taken over */
    assert_false(is_there("pod", false));

    make_pod(NULL);
    pid = start_in("pod/main", run_wait, 0);
    cgroups_close(cg, false);
    cg = NULL;
    fails(cgroups_open(name, &cg, NULL, &err), ERR_EXISTS);
    assert_int_equal(kill(pid, 0), 0);

    must(cgroups_adopt(name, STR_NULL, &cg, NULL, &err)); /* known to be ours: kept, and can be used */
    assert_true(is_there("pod/main", true));
    assert_int_equal(kill(pid, 0), 0);
    assert_true(stats_of("pod/main").pids == 1 || !(cgroups_can(cg) & CGROUP_PIDS));
    must(cgroup_make(cg, "pod/more", NULL, &err));
    cgroups_close(cg, true);
    cg = NULL;
    assert_true(was_killed(end_of(pid)));
    must(cgroups_open(name, &cg, NULL, &err));
}

static void self_text(struct buf *out)
{
    assert_int_equal(cgroup_file_read(AT_FDCWD, "/proc/self/cgroup", out), 0);
}

static void closing_puts_us_back(void **state)
{
    autobuf before = { 0 }, after = { 0 };

    (void)state;
    cgroups_close(cg, true);
    cg = NULL;
    self_text(&before);
    must(cgroups_open(name, &cg, NULL, &err));
    cgroups_close(cg, true);
    cg = NULL;
    self_text(&after);
    assert_string_equal(before.p, after.p);
    cgroups_close(NULL, true);
}

static void why_goes_with_can(void **state)
{
    enum { EVERY = CGROUP_CPU | CGROUP_MEMORY | CGROUP_PIDS | CGROUP_FREEZE };
    const char *why = "unset";

    (void)state;
    cgroups_close(cg, true);
    cg = NULL;
    must(cgroups_open(name, &cg, &why, &err));
    if ((cgroups_can(cg) & EVERY) == EVERY)
        assert_null(why);
    else
        assert_true(why && str_starts(str_of(why), STR("no ")) && str_has(str_of(why), STR(": ")));
    assert_int_equal(strcmp(cgroups_kind(cg), "none") == 0, cg->n == 0);
}

static const struct CMUnitTest common_tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    T(memory_limit_kills),
    T(memory_within_limit_is_given),
    T(memory_of_pod_holds_for_containers),
    T(limits_change_both_ways),
    T(pids_limit_refuses),
    T(cpu_quota_throttles),
    T(cpu_without_quota_is_not_throttled),
    T(quota_above_the_pods_is_fine),
    T(huge_limits_are_taken),
    T(kill_ends_a_bomb),
    T(kill_without_the_file),
    T(kill_by_signals_only),
    T(kill_of_nothing_is_fine),
    T(remove_takes_all),
    T(frozen_ones_are_killed),
    T(names_are_checked),
    T(groups_hold_processes_or_groups),
    T(clones_into),
    T(leftovers_are_taken_or_refused),
    T(closing_puts_us_back),
    T(why_goes_with_can),
};

/* ---- hosts that can do nothing ---- */

static void nothing_is_not_an_error(void **state)
{
    struct cgroup_stats s;
    pid_t pid;

    (void)state;
    assert_string_equal(cgroups_kind(cg), "none");
    assert_int_equal(cgroups_can(cg), 0);
    make_pod(&(struct cgroup_limits){ 1, 1, 1, 1 });
    pid = start_in("pod/main", run_wait, 0);
    s = stats_of("pod/main");
    assert_true(s.cpu_us == -1 && s.memory_bytes == -1 && s.memory_peak_bytes == -1 && s.pids == -1 &&
                s.oom_kills == -1 && s.pids_refused == -1 && s.throttled_us == -1);
    assert_int_equal(cgroup_birth_fd(cg, "pod"), -1);
    fails(cgroup_kill(cg, "pod", 10, &err), ERR_IO);
    must(cgroup_remove(cg, "pod", &err));
    assert_int_equal(kill(pid, SIGKILL), 0);
}

static const struct CMUnitTest nothing_tests[] = { T(nothing_is_not_an_error), T(names_are_checked),
                                                   T(closing_puts_us_back), T(why_goes_with_can) };

static void pids_is_missing(void **state)
{
    (void)state;
    assert_false(cgroups_can(cg) & CGROUP_PIDS);
    assert_true(cgroups_can(cg) & CGROUP_MEMORY);
    assert_non_null(cg->why);
    assert_true(str_starts(str_of(cg->why), STR("no process limits: ")));
    assert_true(str_has(str_of(cg->why), STR("is read-only")));
    make_pod(&(struct cgroup_limits){ .pids = 3, .memory_bytes = 16 * MIB });
    assert_int_equal(stats_of("pod/main").pids, -1);
}

static const struct CMUnitTest partly_tests[] = { T(pids_is_missing), T(memory_limit_kills), T(remove_takes_all) };

/* Somebody else is in our group, and we may not make groups above. */
static void crowd_is_named(void **state)
{
    (void)state;
    if (strcmp(cgroups_kind(cg), "v2") != 0) {
        print_message("skipped: not a rule of %s\n", cgroups_kind(cg));
        skip();
    }
    assert_int_equal(cgroups_can(cg) & (CGROUP_CPU | CGROUP_MEMORY | CGROUP_PIDS), 0);
    assert_true(str_has(str_of(cg->why), STR(" contains other processes")));
    assert_true(str_has(str_of(cg->why), STR("systemd-run --user --scope -p Delegate=yes")));
}

static const struct CMUnitTest crowd_tests[] = { T(crowd_is_named),    T(kill_of_nothing_is_fine),
                                                 T(remove_takes_all),  T(frozen_ones_are_killed),
                                                 T(clones_into),       T(leftovers_are_taken_or_refused),
                                                 T(why_goes_with_can), T(closing_puts_us_back) };

/* ---- views ---- */

static const struct {
    const char *name;
    bool (*enter)(void);
    const struct CMUnitTest *tests;
    size_t n;
} views[] = {
    { "as it is", view_as_is, common_tests, ARRAY_LEN(common_tests) },
    { "v1 only", view_v1, common_tests, ARRAY_LEN(common_tests) },
    { "v2 only", view_v2, common_tests, ARRAY_LEN(common_tests) },
    { "container", view_container, common_tests, ARRAY_LEN(common_tests) },
    { "user with a group", view_user, common_tests, ARRAY_LEN(common_tests) },
    { "user in a crowd", view_crowded, crowd_tests, ARRAY_LEN(crowd_tests) },
    { "user without one", view_stranger, nothing_tests, ARRAY_LEN(nothing_tests) },
    { "unmounted", view_unmounted, nothing_tests, ARRAY_LEN(nothing_tests) },
    { "read-only", view_readonly, nothing_tests, ARRAY_LEN(nothing_tests) },
    { "partly read-only", view_partly, partly_tests, ARRAY_LEN(partly_tests) },
};

static int run_view(size_t i)
{
    if (!views[i].enter()) {
        print_message("skipped: the view \"%s\" cannot be had on this host\n", views[i].name);
        return 0;
    }
    return _cmocka_run_group_tests(views[i].name, views[i].tests, views[i].n, NULL, NULL);
}

/* Told to stop, we still clean up: the view dies, and the loop below goes on to the broom. */
static volatile pid_t view;
static volatile sig_atomic_t stops;

static void on_stop(int sig)
{
    stops = sig;
    if (view > 0)
        (void)kill(view, SIGKILL);
}

static int in_child(size_t i)
{
    int status = -1;

    view = fork();
    if (view == 0) {
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
        (void)signal(SIGTERM, SIG_DFL);
        (void)signal(SIGINT, SIG_DFL);
        (void)alarm(25); /* nothing here may wait for ever */
        exit(run_view(i));
    }
    while (view > 0 && waitpid(view, &status, 0) < 0 && errno == EINTR)
        ;
    view = 0;
    return status;
}

int main(void)
{
    size_t n = geteuid() == 0 ? ARRAY_LEN(views) : 1;
    int failed = 0;

    (void)snprintf(prefix, sizeof(prefix), "pumice-test-%d-", (int)getpid());
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    (void)signal(SIGTERM, on_stop);
    (void)signal(SIGINT, on_stop);
    if (n == 1)
        print_message("skipped: making groups needs root, or a group that was handed to this user\n");
    for (size_t i = 0; i < n && !stops; i++) {
        if (in_child(i) != 0) {
            print_message("failed: view \"%s\"\n", views[i].name);
            failed++;
        }
        sweep();
    }
    return failed || left || stops;
}
