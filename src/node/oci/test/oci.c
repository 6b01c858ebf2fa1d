/* oci.c - tests: containers by the real runc and crun, where they are installed */
#include "os/test/testing.h"

#include "json/json.h"
#include "node/oci/oci.h"
#include "node/userns/user.h"

#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>

struct fixture {
    struct arena a;
    char top[64];
    struct box_spec spec;
    struct oci_place place;
    struct err e;
    pid_t pid; /* of oci_run() */
    int report, output;
};

static const char *const runtimes[] = { "runc", "crun" };
static unsigned n_places;

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));

    f->report = f->output = -1;
    (void)snprintf(f->top, sizeof(f->top), "/tmp/pumice-oci.XXXXXX");
    if (!mkdtemp(f->top))
        return -1;
    *state = f;
    return 0;
}

static void close_all(struct fixture *f)
{
    if (f->pid > 0) { /* a test stopped in the middle */
        (void)kill(f->pid, SIGKILL);
        (void)waitpid(f->pid, NULL, 0);
        oci_clean(&f->place);
    }
    if (f->report >= 0)
        close(f->report);
    if (f->output >= 0)
        close(f->output);
    f->pid = 0;
    f->report = f->output = -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    close_all(f);
    arena_done(&f->a);
    remove_tree(f->top);
    free(f);
    return 0;
}

/* A container of the host's files that runs "sh -c script". */
static void prepare(struct fixture *f, const char *runtime, const char *script)
{
    close_all(f);
    f->spec = (struct box_spec){ .name = STR("main"), .uid = -1, .gid = -1 };
    if (script) {
        *vec_push(&f->a, &f->spec.argv) = STR("sh");
        *vec_push(&f->a, &f->spec.argv) = STR("-c");
        *vec_push(&f->a, &f->spec.argv) = str_of(script);
    }
    *vec_push(&f->a, &f->spec.env) = STR("PATH=/usr/bin:/bin");
    *vec_push(&f->a, &f->spec.hidden) = str_of(f->top);
    f->place = (struct oci_place){
        .runtime = runtime,
        .id = arena_fmt(&f->a, "pumice/test %d-%u", (int)getpid(), n_places).p,
        .bundle = arena_fmt(&f->a, "%s/state/bundle%u", f->top, n_places).p,
    };
    f->spec.upper = arena_fmt(&f->a, "%s/upper%u", f->top, n_places);
    n_places++;
}

static void run(struct fixture *f)
{
    int report[2], output[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report), 0);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    f->pid = fork();
    if (f->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(open("/dev/null", O_RDONLY), 0);
        (void)dup2(output[1], 1);
        (void)dup2(output[1], 2);
        close(output[0]);
        close(output[1]);
        close(report[0]);
        oci_run(&f->spec, &f->place, report[1]);
    }
    close(report[1]);
    close(output[1]);
    f->report = report[0];
    f->output = output[0];
}

static struct box_report next(struct fixture *f)
{
    struct pollfd p = { .fd = f->report, .events = POLLIN };
    struct box_report r = { .kind = BOX_REPORT_KIND_MAX };

    if (poll(&p, 1, 20000) != 1 || recv(f->report, &r, sizeof(r), 0) != sizeof(r))
        fail_msg("no report");
    r.reason[sizeof(r.reason) - 1] = r.text[sizeof(r.text) - 1] = '\0';
    return r;
}

static const char *output(struct fixture *f)
{
    struct buf out = { 0 };
    const char *text;
    ssize_t n;

    while ((n = read(f->output, buf_reserve(&out, 4096), 4096)) > 0)
        out.n += (size_t)n;
    text = arena_str(&f->a, buf_view(&out)).p;
    buf_done(&out);
    return text;
}

static void expect_started(struct fixture *f)
{
    struct box_report r = next(f);

    if (r.kind != BOX_STARTED)
        fail_msg("%s: %d %s: %s", f->place.runtime, r.kind, r.reason, r.text);
}

static int expect_end(struct fixture *f)
{
    struct box_report r = next(f);

    assert_int_equal(r.kind, BOX_ENDED);
    assert_int_equal(waitpid(f->pid, NULL, 0), f->pid);
    f->pid = 0;
    assert_int_equal(access(f->place.bundle, F_OK), -1);
    return r.status;
}

/* Run it to its end; what it wrote. */
static const char *run_all(struct fixture *f, int *ret_status)
{
    const char *text;

    run(f);
    expect_started(f);
    text = output(f);
    *ret_status = expect_end(f);
    return text;
}

/* Each runtime that is there; skips where it makes no sense. */
static const char *runtime_at(struct fixture *f, size_t i)
{
    const char *path = NULL;

    return oci_find(&f->a, runtimes[i], &path, NULL) == 0 ? path : NULL;
}

static bool is_entered;

/* As the program does: a runtime cannot make its root in a chroot that is no mount point. */
static int enter(void **state)
{
    struct user_root root;

    is_entered = geteuid() == 0 && user_enter(&root, NULL) == 0;
    return 0;
}

static bool can_run(struct fixture *f)
{
    bool is_any = false;

    for (size_t i = 0; i < ARRAY_LEN(runtimes); i++)
        is_any |= runtime_at(f, i) != NULL;
    return is_any && is_entered;
}

/* A user namespace may have one id only. */
static bool has_ids(void)
{
    FILE *file = fopen("/proc/self/uid_map", "re");
    unsigned inside = 0, outside = 0, n = 0;
    bool is_read = file && fscanf(file, "%u %u %u", &inside, &outside, &n) == 3;

    if (file)
        (void)fclose(file);
    return is_read && n > 10000;
}

#define NEEDS_IDS()                                                                                                    \
    if (!has_ids()) {                                                                                                  \
        print_message("skipped: needs other users than root\n");                                                       \
        skip();                                                                                                        \
    }
#define FOREACH_RUNTIME(f, path)                                                                                       \
    if (!can_run(f)) {                                                                                                 \
        print_message("skipped: needs root and runc or crun\n");                                                       \
        skip();                                                                                                        \
    }                                                                                                                  \
    for (size_t i_ = 0; i_ < ARRAY_LEN(runtimes); i_++)                                                                \
        for (const char *path = runtime_at(f, i_); path; path = NULL)

static void expect_text(struct fixture *f, const char *script, const char *want)
{
    int status;
    const char *text = run_all(f, &status);

    if (strcmp(text, want) != 0 || status != 0)
        fail_msg("%s: %s: status %x, \"%s\"", f->place.runtime, script, status, text);
}

static void test_output_and_status(void **state)
{
    struct fixture *f = *state;

    FOREACH_RUNTIME(f, path)
    {
        int status;

        prepare(f, path, "echo out; echo err >&2; exit 7");
        assert_string_equal(run_all(f, &status), "out\nerr\n");
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
}

static void read_text(const char *path, char *ret, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, ret, size - 1);

    assert_true(n > 0);
    ret[n] = '\0';
    close(fd);
}

static pid_t program_of(struct fixture *f)
{
    char text[16];
    int64_t pid = 0;

    read_text(arena_fmt(&f->a, "%s/pid", f->place.bundle).p, text, sizeof(text));
    assert_int_equal(str_to_i64(str_trim(str_of(text)), &pid), 0);
    return (pid_t)pid;
}

/* Killed by a signal is told apart from any exit code. */
static void test_killed(void **state)
{
    struct fixture *f = *state;

    FOREACH_RUNTIME(f, path)
    {
        int status;

        prepare(f, path, "exec sleep 1000");
        run(f);
        expect_started(f);
        assert_int_equal(kill(program_of(f), SIGKILL), 0);
        status = expect_end(f);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
}

static void test_signal(void **state)
{
    struct fixture *f = *state;

    FOREACH_RUNTIME(f, path)
    {
        char ready;
        int status;

        prepare(f, path, "trap 'echo bye; exit 3' TERM; echo; while :; do sleep 0.05; done");
        run(f);
        expect_started(f);
        assert_int_equal(read(f->output, &ready, 1), 1);
        assert_int_equal(kill(f->pid, SIGTERM), 0);
        assert_string_equal(output(f), "bye\n");
        status = expect_end(f);
        assert_int_equal(WEXITSTATUS(status), 3);
    }
}

/* The program is not process 1: what it does not handle has its usual effect. And what it left behind ends with it. */
static void test_plain_signal(void **state)
{
    struct fixture *f = *state;

    FOREACH_RUNTIME(f, path)
    {
        char ready;
        int status;

        prepare(f, path, "sleep 1000 & echo; exec sleep 1000");
        run(f);
        expect_started(f);
        assert_int_equal(read(f->output, &ready, 1), 1);
        assert_int_equal(kill(f->pid, SIGTERM), 0);
        assert_string_equal(output(f), ""); /* ends when nobody holds the pipe any more */
        status = expect_end(f);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    }
}

static const char *wrapper_of(struct fixture *f, const char *path)
{
    const char *wrapper = arena_fmt(&f->a, "%s/wrapper", f->top).p;
    int fd = open(wrapper, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

    assert_true(dprintf(fd, "#!/bin/sh\nexec %s \"$@\"\n", path) > 0);
    close(fd);
    return wrapper;
}

static void check_groups(struct fixture *f, const char *path, struct str own)
{
    char ready, text[8192] = "";
    int status;

    prepare(f, path, "echo; exec sleep 1000");
    run(f);
    expect_started(f);
    assert_int_equal(read(f->output, &ready, 1), 1);
    read_text(arena_fmt(&f->a, "/proc/%d/cgroup", (int)program_of(f)).p, text, sizeof(text));
    if (!str_is(own, text))
        fail_msg("%s: in groups %s", path, text);
    assert_int_equal(kill(f->pid, SIGTERM), 0);
    status = expect_end(f);
    assert_true(WIFSIGNALED(status));
}

/* Groups are the caller's; none are made. */
static void test_groups(void **state)
{
    struct fixture *f = *state;
    autobuf own = { 0 };
    FILE *file = fopen("/proc/self/cgroup", "re");

    buf_reserve(&own, 8192);
    own.n = fread(own.p, 1, 8192, file);
    (void)fclose(file);
    FOREACH_RUNTIME(f, path)
    {
        check_groups(f, path, buf_view(&own));
        check_groups(f, wrapper_of(f, path), buf_view(&own)); /* it is known by its own words */
    }
}

static void test_environment(void **state)
{
    struct fixture *f = *state;

    NEEDS_IDS();
    FOREACH_RUNTIME(f, path)
    {
        prepare(f, path, "echo $A $HOME; pwd; id -u; id -g; id -G; [ $$ != 1 ] && echo ours; umask");
        *vec_push(&f->a, &f->spec.env) = STR("A=b c");
        f->spec.cwd = STR("/srv/made/here");
        f->spec.uid = 1234;
        f->spec.gid = 5678;
        *vec_push(&f->a, &f->spec.groups) = 99;
        expect_text(f, "environment", "b c /\n/srv/made/here\n1234\n5678\n5678 99\nours\n0022\n");
    }
}

static void test_capabilities(void **state)
{
    struct fixture *f = *state;

    FOREACH_RUNTIME(f, path)
    {
        prepare(f, path, "grep -E 'CapEff|NoNewPrivs|^Seccomp:' /proc/self/status | tr -d '\\t\\n'");
        *vec_push(&f->a, &f->spec.drop_caps) = STR("ALL");
        *vec_push(&f->a, &f->spec.add_caps) = STR("KILL");
        f->spec.has_new_privileges_off = true;
        expect_text(f, "capabilities", "CapEff:0000000000000020NoNewPrivs:1Seccomp:2");
        prepare(f, path,
                "unshare -m true 2>/dev/null || echo refused; mount -t tmpfs x /mnt 2>/dev/null || echo refused");
        expect_text(f, "filter", "refused\nrefused\n");
    }
}

/* The host's files, but not the host. */
static void test_isolation(void **state)
{
    struct fixture *f = *state;

    FOREACH_RUNTIME(f, path)
    {
        const char *marker = arena_fmt(&f->a, "/etc/pumice-oci-test-%d", (int)getpid()).p;

        prepare(
            f, path,
            arena_fmt(
                &f->a,
                "echo x > %s && cat %s; ls %s 2>/dev/null | wc -l; head -1 /proc/1/status; ls /proc/1/root "
                "2>/dev/null; ls -A /tmp; head -c 3 /dev/zero "
                "| wc -c;"
                "(echo x > /proc/sys/kernel/hostname) 2>/dev/null || echo ro; cat /proc/keys; ls /dev | tr '\\n' ' '",
                marker, marker, f->top)
                .p);
        expect_text(f, "isolation",
                    "x\n0\nName:\tpumice-init\n3\nro\nfd full mqueue null ptmx pts random shm stderr stdin stdout tty "
                    "urandom zero ");
        assert_int_equal(access(marker, F_OK), -1);
    }
}

static void test_mounts(void **state)
{
    struct fixture *f = *state;

    FOREACH_RUNTIME(f, path)
    {
        const char *dir = arena_fmt(&f->a, "%s/volume", f->top).p, *file = arena_fmt(&f->a, "%s/volume/file", f->top).p;
        int fd, write_fd = -1, read_fd = -1;

        (void)mkdir(dir, 0755);
        fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        assert_int_equal(write(fd, "hello\n", 6), 6);
        close(fd);
        prepare(
            f, path,
            "cat /data/file /etc/one; echo more > /data/new; (echo x > /ro/new) 2>/dev/null || echo ro; ls /dev/shm");
        assert_true((write_fd = box_clone_mount(-1, dir, false, false, &f->e)) >= 0);
        *vec_push(&f->a, &f->spec.mounts) = (struct box_mount){ write_fd, STR("/data") };
        assert_true((read_fd = box_clone_mount(-1, dir, true, false, &f->e)) >= 0);
        *vec_push(&f->a, &f->spec.mounts) = (struct box_mount){ read_fd, STR("/ro") };
        assert_true((fd = box_clone_mount(-1, file, true, false, &f->e)) >= 0);
        *vec_push(&f->a, &f->spec.mounts) = (struct box_mount){ fd, STR("/etc/one") };
        expect_text(f, "mounts", "hello\nhello\nro\n");
        assert_int_equal(access(arena_fmt(&f->a, "%s/new", dir).p, F_OK), 0);
        assert_int_equal(unlink(arena_fmt(&f->a, "%s/new", dir).p), 0);
        close(write_fd);
        close(read_fd);
        close(fd);
    }
}

static void test_read_only_root(void **state)
{
    struct fixture *f = *state;

    FOREACH_RUNTIME(f, path)
    {
        prepare(f, path, "(echo x > /etc/x) 2>/dev/null || echo ro; echo x > /dev/shm/x && echo shm");
        f->spec.is_root_read_only = true;
        expect_text(f, "read-only", "ro\nshm\n");
    }
}

static void test_cannot_start(void **state)
{
    static const struct {
        const char *program, *reason, *text;
    } cases[] = {
        { "nope-nope", "StartError", "nope-nope" },
        { "/nope/nope", "StartError", "/nope/nope" },
        { NULL, "StartError", "no command" },
    };
    struct fixture *f = *state;

    FOREACH_RUNTIME(f, path)
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct box_report r;

        prepare(f, path, NULL);
        if (cases[i].program)
            *vec_push(&f->a, &f->spec.argv) = str_of(cases[i].program);
        run(f);
        r = next(f);
        if (r.kind != BOX_FAILED || r.status != 128 || strcmp(r.reason, cases[i].reason) != 0 ||
            !strstr(r.text, cases[i].text))
            fail_msg("%s: %zu: %d %d %s: %s", path, i, r.kind, r.status, r.reason, r.text);
        assert_int_equal(waitpid(f->pid, NULL, 0), f->pid);
        f->pid = 0;
    }
}

static void test_bad_user(void **state)
{
    struct fixture *f = *state;

    FOREACH_RUNTIME(f, path)
    {
        struct box_report r;

        prepare(f, path, "true");
        f->spec.must_not_be_root = true;
        run(f);
        r = next(f);
        assert_int_equal(r.kind, BOX_FAILED);
        assert_string_equal(r.reason, "CreateContainerConfigError");
        assert_int_equal(waitpid(f->pid, NULL, 0), f->pid);
        f->pid = 0;
    }
}

/* A command in the running container: its files, its processes. */
static void test_exec(void **state)
{
    struct fixture *f = *state;

    FOREACH_RUNTIME(f, path)
    {
        char ready, text[64] = "";
        int status, out[2];
        pid_t pid;

        prepare(f, path, "echo inside > /tmp/file; trap 'exit 0' TERM; echo; while :; do sleep 0.05; done");
        run(f);
        expect_started(f);
        assert_int_equal(read(f->output, &ready, 1), 1);
        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
        pid = fork();
        if (pid == 0) {
            struct box_spec s = { .name = STR("exec"), .uid = -1, .gid = -1 };
            struct str argv[] = { STR("sh"), STR("-c"), STR("cat /tmp/file; exit 5") };

            s.argv.v = argv;
            s.argv.n = 3;
            (void)dup2(out[1], 1);
            oci_exec(&s, &f->place);
        }
        close(out[1]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(WEXITSTATUS(status), 5);
        assert_true(read(out[0], text, sizeof(text) - 1) > 0);
        assert_string_equal(text, "inside\n");
        close(out[0]);
        assert_int_equal(kill(f->pid, SIGTERM), 0);
        (void)output(f);
        assert_int_equal(expect_end(f), 0);
    }
}

static const char *state_of(struct fixture *f)
{
    char *path = (char *)arena_fmt(&f->a, "%s/run/%s", f->place.bundle, f->place.id).p;

    for (char *p = path + strlen(f->place.bundle) + 5; *p; p++)
        *p = *p == '/' || *p == ' ' ? '-' : *p;
    return path;
}

/* kill -9 of the parent: the container ends, and oci_clean() takes away what the runtime knows. */
static void test_clean(void **state)
{
    struct fixture *f = *state;

    FOREACH_RUNTIME(f, path)
    {
        char ready;

        prepare(f, path, "echo; exec sleep 1000");
        run(f);
        expect_started(f);
        assert_int_equal(read(f->output, &ready, 1), 1);
        assert_int_equal(kill(f->pid, SIGKILL), 0);
        assert_int_equal(waitpid(f->pid, NULL, 0), f->pid);
        f->pid = 0;
        assert_string_equal(output(f), ""); /* process 1 went with it, and the program with that */
        assert_int_equal(access(state_of(f), F_OK), 0);
        oci_clean(&f->place);
        assert_int_equal(access(f->place.bundle, F_OK), -1);
        oci_clean(&f->place); /* nothing to do */
    }
}

/* An image's directory as root, with its own users. */
static void test_image_root(void **state)
{
    struct fixture *f = *state;

    NEEDS_IDS();
    FOREACH_RUNTIME(f, path)
    {
        const char *root = arena_fmt(&f->a, "%s/image", f->top).p;
        const char *const dirs[] = { "", "/usr", "/etc", "/proc" };
        int fd, usr = -1;

        for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
            (void)mkdir(arena_fmt(&f->a, "%s%s", root, dirs[i]).p, 0755);
        (void)symlink("usr/bin", arena_fmt(&f->a, "%s/bin", root).p);
        (void)symlink("usr/lib", arena_fmt(&f->a, "%s/lib", root).p);
        (void)symlink("usr/lib64", arena_fmt(&f->a, "%s/lib64", root).p);
        fd = open(arena_fmt(&f->a, "%s/etc/passwd", root).p, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        assert_true(dprintf(fd, "app:x:4321:77::/home/app:/bin/sh\n") > 0);
        close(fd);
        prepare(f, path, "id -u; id -g; echo $HOME; ls /");
        f->spec.root = str_of(root);
        f->spec.user = STR("app");
        assert_true((usr = box_clone_mount(-1, "/usr", true, true, &f->e)) >= 0);
        *vec_push(&f->a, &f->spec.mounts) = (struct box_mount){ usr, STR("/usr") };
        expect_text(f, "image", "4321\n77\n/home/app\nbin\ndev\netc\nlib\nlib64\nproc\nsys\nusr\n");
        close(usr);
    }
}

/* A runtime that does not work says so in the report, and nobody waits for it. */
static void test_broken(void **state)
{
    static const struct {
        const char *script, *text;
    } cases[] = {
        { "exit 3", "exited with status 3" },
        { "kill -9 $$", "was killed" },
        { "kill -USR1 $$", "was killed by signal 10" },
        { "echo garbage; echo more >&2", "did not report the process id" },
        { "sleep 1000 & sleep 1000", "timed out after 1 s" },
        { "while [ \"$1\" != --pid-file ]; do shift; done; echo 1x > $2", "did not report the process id" },
        { "while [ \"$1\" != --pid-file ]; do shift; done; echo $PPID > $2", "which is not our child" },
        { "while [ \"$1\" != --log ]; do shift; done; echo '{\"level\":\"error\",\"msg\":\"no luck\"}' > $2; exit 1",
          "no luck" },
    };
    struct fixture *f = *state;
    const char *path = arena_fmt(&f->a, "%s/runtime", f->top).p;

    if (geteuid() != 0) {
        print_message("skipped: needs root\n");
        skip();
    }
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
        struct box_report r;

        assert_true(dprintf(fd, "#!/bin/sh\n%s\n", cases[i].script) > 0);
        close(fd);
        prepare(f, path, "true");
        f->place.timeout_ms = 1000;
        run(f);
        r = next(f);
        if (r.kind != BOX_FAILED || strcmp(r.reason, "CreateContainerError") != 0 || !strstr(r.text, cases[i].text))
            fail_msg("%s: %d %s: %s", cases[i].script, r.kind, r.reason, r.text);
        (void)output(f);
        assert_int_equal(waitpid(f->pid, NULL, 0), f->pid);
        f->pid = 0;
    }
}

static void test_config(void **state)
{
    struct fixture *f = *state;
    struct oci_process who = { .uid = 1, .gid = 2, .caps = 1 };
    struct buf out = { 0 };
    struct json *j;

    prepare(f, "/usr/sbin/runc", "a\"b\n");
    f->spec.oom_score_adj = 100;
    *vec_push(&f->a, &f->spec.limits) = (struct box_limit){ RLIMIT_NOFILE, 10, RLIM_INFINITY };
    *vec_push(&f->a, &f->spec.limits) = (struct box_limit){ 9999, 1, 1 };
    oci_config(&out, &f->spec, &f->place, &who, "/b/root");
    assert_int_equal(json_parse(&f->a, buf_view(&out), NULL, &j, &f->e), 0);
    assert_true(str_is(json_text(json_at(json_find(j, "process", "args", NULL), 2), STR_NULL), "a\"b\n"));
    assert_true(str_is(json_text(json_at(json_find(j, "process", "capabilities", "bounding", NULL), 0), STR_NULL),
                       "CAP_CHOWN"));
    assert_int_equal(json_count(json_find(j, "process", "capabilities", "effective", NULL)), 0); /* not root */
    assert_int_equal(json_count(json_find(j, "process", "rlimits", NULL)), 1);
    assert_true(json_count(json_find(j, "linux", "seccomp", "syscalls", NULL)) > 5);
    for (size_t i = 0; i < json_count(json_get(j, "mounts")); i++) /* the root is the image's: it may hold links */
        assert_false(str_starts(json_member_text(json_at(json_get(j, "mounts"), i), "source"), STR("/b/root")));
    assert_null(json_find(j, "linux", "cgroupsPath", NULL));
    assert_int_equal(json_count(json_find(j, "linux", "namespaces", NULL)), 2);
    buf_reset(&out);
    f->spec.is_privileged = true;
    f->place.group = "/x";
    who.pids = "/b/pids";
    oci_config(&out, &f->spec, &f->place, &who, "/b/root");
    assert_int_equal(json_parse(&f->a, buf_view(&out), NULL, &j, &f->e), 0);
    assert_null(json_find(j, "linux", "seccomp", NULL));
    assert_true(str_is(json_member_text(json_get(j, "linux"), "cgroupsPath"), "/x"));
    j = json_at(json_find(j, "linux", "namespaces", NULL), 2);
    assert_true(str_is(json_member_text(j, "type"), "pid") && str_is(json_member_text(j, "path"), "/b/pids"));
    buf_done(&out);
}

static void test_find(void **state)
{
    struct fixture *f = *state;
    const char *path = NULL;

    assert_int_equal(oci_find(&f->a, "no-such-runtime", &path, &f->e), -1);
    assert_int_equal(f->e.code, ERR_NOT_FOUND);
    assert_non_null(strstr(f->e.text, "install"));
    assert_int_equal(oci_find(&f->a, "/no/such/runtime", &path, &f->e), -1);
    assert_int_equal(f->e.code, ERR_NOT_FOUND);
    assert_int_equal(oci_find(&f->a, "false", &path, &f->e), -1);
    assert_int_equal(f->e.code, ERR_INVALID);
    assert_int_equal(oci_find(&f->a, "true", &path, &f->e), 0);
    assert_int_equal(path[0], '/');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_output_and_status, setup, teardown),
        cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_signal, setup, teardown),
        cmocka_unit_test_setup_teardown(test_plain_signal, setup, teardown),
        cmocka_unit_test_setup_teardown(test_groups, setup, teardown),
        cmocka_unit_test_setup_teardown(test_broken, setup, teardown),
        cmocka_unit_test_setup_teardown(test_environment, setup, teardown),
        cmocka_unit_test_setup_teardown(test_capabilities, setup, teardown),
        cmocka_unit_test_setup_teardown(test_isolation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_mounts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_read_only_root, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cannot_start, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_user, setup, teardown),
        cmocka_unit_test_setup_teardown(test_exec, setup, teardown),
        cmocka_unit_test_setup_teardown(test_clean, setup, teardown),
        cmocka_unit_test_setup_teardown(test_image_root, setup, teardown),
        cmocka_unit_test_setup_teardown(test_config, setup, teardown),
        cmocka_unit_test_setup_teardown(test_find, setup, teardown),
    };

    return cmocka_run_group_tests(tests, enter, NULL);
}
