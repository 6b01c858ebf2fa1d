/* box.c - containers that really run: what they see, may do and say. As root, and again in a user namespace */
#include "node/container/test/boxes.h"

#include <sys/capability.h>
#include <sys/resource.h>

/* ---- scripts: one container each ---- */

static void add_env(struct fixture *f)
{
    *vec_push(&f->a, &f->spec.env) = STR("GREETING=good day");
}
static void set_cwd(struct fixture *f)
{
    f->spec.cwd = STR("/made/deep");
}
static void set_uid(struct fixture *f)
{
    f->spec.uid = 4321;
}
static void set_uid_gid(struct fixture *f)
{
    f->spec.uid = 4321;
    f->spec.gid = 4322;
    f->spec.user = STR("daemon:mail"); /* does not matter then */
}
static void set_gid(struct fixture *f)
{
    f->spec.user = STR("daemon");
    f->spec.gid = 99;
}
static void set_user_name(struct fixture *f)
{
    f->spec.user = STR("daemon");
    f->spec.must_not_be_root = true;
}
static void set_user_group(struct fixture *f)
{
    f->spec.user = STR("daemon:mail");
}
static void set_user_numbers(struct fixture *f)
{
    f->spec.user = STR("1234:567");
}
static void set_groups_of(struct fixture *f)
{
    *vec_push(&f->a, &f->spec.groups) = 4242;
    *vec_push(&f->a, &f->spec.groups) = 4243;
}
static void drop_all(struct fixture *f)
{
    *vec_push(&f->a, &f->spec.drop_caps) = STR("ALL");
}
static void drop_all_add_one(struct fixture *f)
{
    drop_all(f);
    *vec_push(&f->a, &f->spec.add_caps) = STR("CAP_SYS_NICE");
    *vec_push(&f->a, &f->spec.add_caps) = STR("chown");
}
static void no_filter(struct fixture *f)
{
    f->spec.has_no_seccomp = true;
}
static void no_new(struct fixture *f)
{
    f->spec.has_new_privileges_off = true;
}
static void read_only_root(struct fixture *f)
{
    f->spec.is_root_read_only = true;
    f->spec.cwd = STR("/made");
}
static void hide_some(struct fixture *f)
{
    *vec_push(&f->a, &f->spec.hidden) = STR("/srv/secret");
    *vec_push(&f->a, &f->spec.hidden) = STR("/var/cache");
    *vec_push(&f->a, &f->spec.hidden) = STR("/not/there");
}
static void small_shm(struct fixture *f)
{
    f->spec.shm_bytes = 8 << 20;
}
static void add_device(struct fixture *f)
{
    *vec_push(&f->a, &f->spec.devices) = (struct box_device){ STR("/dev/zero"), STR("/dev/more/zeros") };
}
static void set_limit(struct fixture *f)
{
    *vec_push(&f->a, &f->spec.limits) = (struct box_limit){ RLIMIT_NOFILE, 77, 88 };
}
static void privileged(struct fixture *f)
{
    f->spec.is_privileged = true;
}

static const struct script {
    const char *name;
    void (*set)(struct fixture *f);
    const char *script, *out;
    int code;
    bool needs_ids;
} scripts[] = {
    { "output", NULL, "echo hello; echo oops >&2", "hello\noops\n", 0, false },
    { "exit code", NULL, "exit 7", "", 7, false },
    { "env", add_env, "echo $GREETING, $HOME", "good day, /root\n", 0, false },
    { "clean env", NULL, "env | grep -v ^PWD= | grep -v ^_= | grep -v ^SHLVL= | sort",
      "HOME=/root\nPATH=/usr/sbin:/usr/bin:/sbin:/bin\n", 0, false },
    { "cwd", set_cwd, "pwd; umask", "/made/deep\n0022\n", 0, false },
    { "no descriptors", NULL, "ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 ", 0, false }, /* 3 is the directory itself */
    { "signals", NULL, "grep -E '^Sig(Blk|Ign)' /proc/self/status",
      "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n", 0, false },
    { "session", NULL, "[ $(cut -d' ' -f6 /proc/$$/stat) = $$ ]", "", 0, false },

    { "root", NULL, "id -u; id -g", "0\n0\n", 0, false },
    { "uid", set_uid, "id -u; id -g; id -G; echo $HOME", "4321\n0\n0\n/\n", 0, true },
    { "uid and gid", set_uid_gid, "id -u; id -g", "4321\n4322\n", 0, true },
    { "gid", set_gid, "id -u; id -g", "1\n99\n", 0, true },
    { "user name", set_user_name, "id -un; id -g; echo $HOME", "daemon\n1\n/usr/sbin\n", 0, true },
    { "user:group", set_user_group, "id -un; id -gn", "daemon\nmail\n", 0, true },
    { "numbers", set_user_numbers, "id -u; id -g", "1234\n567\n", 0, true },
    { "groups", set_groups_of, "id -G", "0 4242 4243\n", 0, true },

    { "no capabilities", drop_all, "grep -E '^Cap' /proc/self/status | cut -f2 | sort -u", "0000000000000000\n", 0,
      false },
    { "two capabilities", drop_all_add_one, "grep -E '^Cap(Eff|Bnd|Prm)' /proc/self/status | cut -f2 | sort -u",
      "0000000000800001\n", 0, false },
    { "other user, no capabilities", set_uid, "grep -E '^Cap(Eff|Prm|Inh|Amb)' /proc/self/status | cut -f2 | sort -u",
      "0000000000000000\n", 0, true },
    { "filter", NULL, "grep ^Seccomp: /proc/self/status; unshare -U true 2>/dev/null", "Seccomp:\t2\n", 1, false },
    { "no filter", no_filter, "grep ^Seccomp: /proc/self/status; unshare -U true", "Seccomp:\t0\n", 0, false },
    { "cannot mount", NULL, "mount -t tmpfs x /mnt 2>/dev/null || umount /tmp 2>/dev/null", "", 32, false },
    { "new privileges", NULL, "grep ^NoNewPrivs /proc/self/status", "NoNewPrivs:\t0\n", 0, false },
    { "no new privileges", no_new, "grep ^NoNewPrivs /proc/self/status", "NoNewPrivs:\t1\n", 0, false },
    { "limit", set_limit, "ulimit -Sn; ulimit -Hn", "77\n88\n", 0, false },

    { "processes", NULL, "set -- /proc/[0-9]*; echo $#; cat /proc/1/comm", "2\npumice-init\n", 0, false },
    { "process 1 is closed", NULL,
      "for f in exe root cwd; do readlink /proc/1/$f && echo open; done 2>/dev/null; ls /proc/1/root/etc /proc/1/cwd/ "
      "2>/dev/null; readlink /proc/1/fd/* 2>/dev/null; cat /proc/1/environ /proc/1/maps 2>/dev/null; head -c1 "
      "/proc/1/mem 2>/dev/null; kill -9 1; kill -STOP 1; true",
      "", 0, false },
    { "process 1 has what the program has", NULL,
      "for p in 1 self; do grep -E '^(Cap|NoNewPrivs|Seccomp|Uid|Gid|Groups)' /proc/$p/status; done | sort | uniq -c | "
      "grep -v "
      "'^ *2 '; true",
      "", 0, false },
    { "process 1 is the same user", set_uid,
      "for p in 1 self; do grep -E '^(Cap|NoNewPrivs|Seccomp|Uid|Gid|Groups)' /proc/$p/status; done | sort | uniq -c | "
      "grep -v "
      "'^ *2 '; true",
      "", 0, true },
    { "proc", NULL,
      "for f in kcore keys timer_list sched_debug; do cat /proc/$f 2>/dev/null | head -c1; done; for d in /proc/scsi "
      "/sys/firmware; do ls $d 2>/dev/null; done; true",
      "", 0, false },
    { "proc is read-only", NULL,
      "for f in sys/kernel/domainname sysrq-trigger sys/vm/overcommit_memory; do (echo 1 >/proc/$f) 2>/dev/null && "
      "echo $f; done; true",
      "", 0, false },
    { "sys is read-only", NULL,
      "mkdir /sys/x 2>/dev/null || touch /sys/kernel/x 2>/dev/null || grep -c ' /sys sysfs ro' /proc/mounts", "1\n", 0,
      false },
    { "own network", NULL, "ls /sys/class/net", "lo\n", 0, false },
    { "tmp and run", NULL, "ls -A /tmp /run; stat -c %a /tmp /run; mkdir /run/sshd && echo x >/tmp/x",
      "/run:\nlock\n\n/tmp:\n1777\n755\n", 0, false },
    { "hidden", hide_some, "ls -A /srv /srv/secret /var/cache; touch /srv/secret/x 2>/dev/null",
      "/srv:\ndata\nsecret\n\n/srv/secret:\n\n/var/cache:\n", 1, false },
    { "read-only root", read_only_root,
      "for f in /x /etc/x /srv/x /tmp/x /run/x /made/x; do touch $f 2>/dev/null && echo $f; done; touch /dev/shm/x; "
      "pwd",
      "/made\n", 0, false },
    { "nothing of the host is mounted", NULL,
      "cut -d' ' -f2 /proc/self/mounts | grep -c pumice-box; cat /srv/data /srv/secret/key", "0\nof the host\nsecret\n",
      0, false },

    { "devices", NULL,
      "echo x >/dev/null; head -c3 /dev/zero | wc -c; head -c3 /dev/urandom | wc -c; (echo x >/dev/full) 2>/dev/null "
      "|| echo full; ls /dev | tr '\\n' ' '",
      "3\n3\nfull\nfd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero ", 0, false },
    { "devices cannot be changed", NULL,
      "chmod 600 /dev/null 2>/dev/null || rm /dev/null 2>/dev/null || mknod /dev/x c 1 3 2>/dev/null || mknod /tmp/x b "
      "8 0 2>/dev/null || echo no",
      "no\n", 0, false },
    { "granted device", add_device, "head -c4 /dev/more/zeros | wc -c", "4\n", 0, false },
    { "terminal", NULL, "script -qec tty /dev/null | tr -d '\\r'; stat -c %a /dev/pts/ptmx", "/dev/pts/0\n666\n", 0,
      false },
    { "shm", NULL, "df -k --output=size /dev/shm | tail -1 | tr -d ' '; touch /dev/shm/x", "65536\n", 0, false },
    { "small shm", small_shm, "df -k --output=size /dev/shm | tail -1 | tr -d ' '", "8192\n", 0, false },
    { "shm is a mount of its own", NULL,
      "stat -c %a /dev/shm; mountpoint -q /dev/shm && grep ' /dev/shm tmpfs' /proc/mounts | grep -o "
      "'rw,nosuid,nodev,noexec'; umount /dev/shm 2>/dev/null || rmdir /dev/shm 2>/dev/null || echo stays",
      "1777\nrw,nosuid,nodev,noexec\nstays\n", 0, false },
    { "shm is full", small_shm, "head -c 9M /dev/zero 2>/dev/null >/dev/shm/x; stat -c %s /dev/shm/x", "8388608\n", 0,
      false },
    { "no zombies", NULL,
      "for i in 1 2 3; do (sleep 0.02 &) ; done; sleep 0.2; cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z '", "0\n",
      1, false },
    { "python", NULL,
      "test -x /usr/bin/python3 || { echo 42; exit; }; /usr/bin/python3 -c 'import tempfile, os, multiprocessing; "
      "print(len(os.listdir(tempfile.gettempdir())) + 42); multiprocessing.Lock()'",
      "42\n", 0, false },
    { "privileged", privileged,
      "test -c /dev/null && ! grep ' /proc/sys ' /proc/mounts && grep ^Seccomp: /proc/self/status; touch /dev/x "
      "2>/dev/null || touch /dev/shm/x; rm /dev/null 2>/dev/null",
      "Seccomp:\t0\n", 1, false },
};

static void test_scripts(void **state)
{
    size_t n_wrong = 0;

    NEEDS_BOX();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        void *s = NULL;

        if (is_inner && scripts[i].needs_ids)
            continue;
        assert_int_equal(box_setup(&s), 0);
        if (scripts[i].set)
            scripts[i].set(s);
        if (!answers(s, scripts[i].script, scripts[i].out, scripts[i].code)) {
            print_error("in the case \"%s\"\n", scripts[i].name);
            n_wrong++;
        }
        box_teardown(&s);
    }
    assert_int_equal(n_wrong, 0);
}

static void test_default_caps(void **state)
{
    static const cap_value_t caps[] = {
        CAP_AUDIT_WRITE, CAP_CHOWN,  CAP_DAC_OVERRIDE,     CAP_FOWNER,  CAP_FSETID, CAP_KILL,      CAP_NET_RAW,
        CAP_SETFCAP,     CAP_SETGID, CAP_NET_BIND_SERVICE, CAP_SETPCAP, CAP_SETUID, CAP_SYS_CHROOT
    };
    uint64_t want = 0;
    char text[64];

    NEEDS_BOX();
    for (size_t i = 0; i < ARRAY_LEN(caps); i++)
        want |= UINT64_C(1) << caps[i];
    (void)snprintf(text, sizeof(text), "%016lx\n", (unsigned long)want);
    expect(*state, "grep -E '^Cap(Eff|Bnd|Prm)' /proc/self/status | cut -f2 | sort -u", text, 0);
}

/* ---- how it ends ---- */

static void test_killed(void **state)
{
    struct result res;

    NEEDS_BOX();
    set_script(*state, "kill -9 $$");
    run_box(*state, &res);
    assert_int_equal(res.first.kind, BOX_STARTED);
    assert_int_equal(res.last.kind, BOX_ENDED);
    assert_true(WIFSIGNALED(res.last.status) && WTERMSIG(res.last.status) == SIGKILL);
    assert_int_equal(WEXITSTATUS(res.wait), 128 + SIGKILL);
}

/* What the program leaves running ends with it. */
static void test_rest_is_killed(void **state)
{
    NEEDS_BOX();
    expect(*state, "sleep 100 & setsid sleep 100 & exit 3", "", 3);
}

static int64_t now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static const struct {
    const char *name, *script, *ready, *out;
    bool is_signaled;
    int status;
} term_cases[] = {
    { "not handled", "exec sleep 100", NULL, "", true, SIGTERM },
    { "shell", "sleep 100; true", NULL, "", true, SIGTERM },
    { "handled", "trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.01; done", "up\n", "up\nbye\n", false, 5 },
    { "ignored", "trap '' TERM; echo up; sleep 0.2; echo alive", "up\n", "up\nalive\n", false, 0 },
};

static void test_term(void **state)
{
    struct fixture *f = *state;

    NEEDS_BOX();
    for (size_t i = 0; i < ARRAY_LEN(term_cases); i++) {
        struct result res = { 0 };
        struct running r;
        int64_t begin;

        set_script(f, term_cases[i].script);
        r = start(f);
        wait_started(&r);
        if (term_cases[i].ready)
            assert_true(read_until(r.out, &res, term_cases[i].ready));
        begin = now_ms();
        assert_int_equal(kill(r.pid, SIGTERM), 0);
        finish(&r, &res);
        if (strcmp(res.out, term_cases[i].out) != 0 || WIFSIGNALED(res.last.status) != term_cases[i].is_signaled ||
            (term_cases[i].is_signaled ? WTERMSIG(res.last.status) : WEXITSTATUS(res.last.status)) !=
                term_cases[i].status)
            fail_msg("%s: said \"%s\", ended with %#x", term_cases[i].name, res.out, (unsigned)res.last.status);
        assert_true(now_ms() - begin < 5000);
    }
}

/* A signal that comes while the container is being built is not lost. */
static void test_early_term(void **state)
{
    struct fixture *f = *state;
    struct result res = { 0 };
    sigset_t set, old;
    struct running r;

    NEEDS_BOX();
    set_argv(f, (const char *const[]){ "sleep", "100", NULL });
    sigfillset(&set);
    (void)sigprocmask(SIG_BLOCK, &set, &old);
    r = start(f);
    (void)kill(r.pid, SIGTERM);
    finish(&r, &res);
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    assert_true(WIFSIGNALED(res.last.status) && WTERMSIG(res.last.status) == SIGTERM);
}

/* Without a pid namespace of its own (hostPID, shared processes). */
static void test_host_pids(void **state)
{
    struct fixture *f = *state;
    char out[64];

    NEEDS_BOX();
    f->spec.has_host_pids = true;
    (void)snprintf(out, sizeof(out), "%d\n", (int)getpid());
    expect(f,
           "ls -d /proc/$PPID >/dev/null && cut -d' ' -f4 /proc/$PPID/stat; ls /proc/scsi /sys/firmware 2>/dev/null | "
           "grep -v :; cat /proc/kcore 2>/dev/null | head -c1; true",
           out, 0);
}

/* The container goes when its parent does. */
static void test_parent_gone(void **state)
{
    struct fixture *f = *state;
    int life[2];
    char byte;
    pid_t parent;

    NEEDS_BOX();
    set_argv(f, (const char *const[]){ "sleep", "100", NULL });
    assert_int_equal(pipe(life), 0);
    parent = fork();
    if (parent == 0) {
        struct running r;

        (void)dup2(life[1], 1); /* start() hands its own pipe on; this one is kept open by the test's copy below */
        (void)fcntl(life[1], F_SETFD, 0);
        r = start(f);
        wait_started(&r);
        (void)write(life[1], "x", 1);
        _exit(0);
    }
    close(life[1]);
    assert_int_equal(read(life[0], &byte, 1), 1);
    assert_int_equal(read(life[0], &byte, 1), 0);
    (void)waitpid(parent, NULL, 0);
    close(life[0]);
}

/* ---- what cannot be run ---- */

static void test_bad_commands(void **state)
{
    static const struct {
        const char *name, *argv0, *text;
    } cases[] = {
        { "missing", "nope-not-here", "exec: \"nope-not-here\": executable file not found in $PATH" },
        { "missing path", "/not/there", "exec: \"/not/there\": stat /not/there: no such file or directory" },
        { "not executable", "/etc/passwd", "exec: \"/etc/passwd\": permission denied" },
        { "directory", "/etc", "exec: \"/etc\": is a directory" },
        { "directory in the PATH", "sysctl.d", "executable file not found in $PATH" },
        { "empty", "", "no command" },
        { "through a file", "/etc/passwd/x", "exec: \"/etc/passwd/x\"" },
    };
    struct fixture *f = *state;

    NEEDS_BOX();
    *vec_push(&f->a, &f->spec.env) = STR("PATH=/usr/bin:/etc");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        set_argv(f, (const char *const[]){ cases[i].argv0, NULL });
        expect_failure(f, cases[i].name, "StartError", cases[i].text);
    }
}

static void unknown_user(struct fixture *f)
{
    f->spec.user = STR("no-such-user");
}
static void unknown_group(struct fixture *f)
{
    f->spec.user = STR("0:no-such-group");
}
static void root_is_refused(struct fixture *f)
{
    f->spec.must_not_be_root = true;
}
static void root_is_asked_for(struct fixture *f)
{
    f->spec.must_not_be_root = true;
    f->spec.uid = 0;
}
static void unknown_cap(struct fixture *f)
{
    *vec_push(&f->a, &f->spec.add_caps) = STR("FLY");
}
static void cwd_is_file(struct fixture *f)
{
    f->spec.cwd = STR("/etc/passwd");
}
static void no_such_image(struct fixture *f)
{
    f->spec.root = STR("/no/such/image");
}
static void no_such_device(struct fixture *f)
{
    *vec_push(&f->a, &f->spec.devices) = (struct box_device){ STR("/dev/no-such"), STR_NULL };
}

static void test_bad_specs(void **state)
{
    static const char create[] = "CreateContainerError", config[] = "CreateContainerConfigError";
    static const struct {
        const char *name;
        void (*set)(struct fixture *f);
        const char *reason, *text;
    } cases[] = {
        { "unknown user", unknown_user, config, "unable to find user no-such-user" },
        { "unknown group", unknown_group, config, "unable to find group no-such-group" },
        { "root refused", root_is_refused, config, "runAsNonRoot and image will run as root" },
        { "root asked for", root_is_asked_for, config, "breaks non-root policy" },
        { "unknown capability", unknown_cap, config, "\"FLY\"" },
        { "cwd is a file", cwd_is_file, create, "is not a directory" },
        { "no such image", no_such_image, create, "/no/such/image" },
        { "no such device", no_such_device, create, "/dev/no-such" },
    };

    NEEDS_BOX();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        void *s = NULL;

        assert_int_equal(box_setup(&s), 0);
        set_argv(s, (const char *const[]){ "true", NULL });
        cases[i].set(s);
        expect_failure(s, cases[i].name, cases[i].reason, cases[i].text);
        box_teardown(&s);
    }
}

static void test_ids_that_are_not_mapped(void **state)
{
    struct fixture *f = *state;

    NEEDS_BOX();
    if (!is_inner)
        skip();
    set_argv(f, (const char *const[]){ "true", NULL });
    f->spec.uid = 4321;
    expect_failure(f, "uid", "CreateContainerConfigError", "user 4321");
    f->spec.uid = -1;
    *vec_push(&f->a, &f->spec.groups) = 5;
    expect_failure(f, "group", "CreateContainerConfigError", "supplementary groups");
}

/* ---- the host stays as it is ---- */

static void test_cannot_change_host(void **state)
{
    struct fixture *f = *state;
    char script[400], name[64], path[100];
    struct stat st;

    NEEDS_BOX();
    (void)snprintf(name, sizeof(name), "pumice-box-%d", (int)getpid());
    (void)snprintf(
        script, sizeof(script),
        "echo mine >/srv/data; echo x >/%s && echo x >/srv/%s && echo x >/etc/%s; rm -r /srv/secret; cat /srv/data",
        name, name, name);
    expect(f, script, "mine\n", 0);
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", ((const char *[]){ "", "/srv", "/etc" })[i], name);
        assert_int_equal(stat(path, &st), -1);
    }
    expect(f, "cat /srv/data /srv/secret/key", "of the host\nsecret\n", 0); /* a new start begins anew */
}

/* Directory of changes on a file system that cannot be the top of an overlay: an overlay. */
static void test_state_on_overlay(void **state)
{
    struct fixture *f = *state;
    char opt[400], dir[120];

    NEEDS_BOX();
    for (size_t i = 0; i < 4; i++) {
        (void)snprintf(dir, sizeof(dir), "%s/%s", f->dir, ((const char *[]){ "low", "up", "work", "all" })[i]);
        assert_int_equal(mkdir(dir, 0755), 0);
    }
    (void)snprintf(opt, sizeof(opt), "lowerdir=%s/low,upperdir=%s/up,workdir=%s/work%s", f->dir, f->dir, f->dir,
                   is_inner ? ",userxattr" : "");
    assert_int_equal(mount("o", dir, "overlay", 0, opt), 0);
    f->spec.upper = arena_fmt(&f->a, "%s/state", dir);
    expect(f, "echo x >/etc/x && rm /srv/data && echo y >/tmp/y && ls /etc/x /tmp/y /srv",
           "/etc/x\n/tmp/y\n\n/srv:\nsecret\n", 0);
    assert_int_equal(umount2(dir, MNT_DETACH), 0);
}

/* ---- what was known before ---- */

static void mount_at(const char *path, const char *file, const char *text)
{
    assert_int_equal(mount("t", path, "tmpfs", 0, "mode=755"), 0);
    write_text(file, text);
}

/* A container sees the mounts of the host as they are when it starts, whether they were listed before or after. */
static void test_mounts_change(void **state)
{
    struct fixture *f = *state;
    const char *script = "cat /srv/late/file /srv/late/in/file 2>/dev/null; cat /srv/data";

    NEEDS_BOX();
    assert_int_equal(mkdir("/srv/late", 0755), 0);
    for (int listed = 0; listed < 2; listed++) {
        static void (*const lists[])(void) = { box_recheck, box_refresh };

        box_refresh();
        mount_at("/srv/late", "/srv/late/file", "late\n");
        assert_int_equal(mkdir("/srv/late/in", 0755), 0);
        mount_at("/srv/late/in", "/srv/late/in/file", "in\n");
        lists[listed]();
        expect(f, script, "late\nin\nof the host\n", 0);
        box_refresh();
        mount_at("/srv/late", "/srv/late/file", "over\n");
        lists[listed]();
        expect(f, script, "over\nof the host\n", 0);
        assert_int_equal(mkdir("/srv/late/in", 0755), 0);
        mount_at("/srv/late/in", "/srv/late/in/file", "in over\n");
        lists[listed]();
        expect(f, script, "over\nin over\nof the host\n", 0);
        box_refresh();
        assert_int_equal(mount(NULL, "/srv/late", NULL, MS_REMOUNT | MS_BIND | MS_NOEXEC, NULL), 0);
        lists[listed]();
        expect(f, "cut -d' ' -f2,4 /proc/mounts | grep '^/srv/late .*noexec' | wc -l", "1\n", 0);
        for (int i = 0; i < 2; i++)
            assert_int_equal(umount2("/srv/late", MNT_DETACH), 0);
        lists[listed]();
        expect(f, script, "of the host\n", 0);
        assert_int_equal(mkdir("/srv/late/in", 0755), 0);
        mount_at("/srv/late/in", "/srv/late/in/file", "in\n");
        box_refresh();
        assert_int_equal(rename("/srv/late", "/srv/away"), 0); /* of this the kernel does not tell */
        assert_int_equal(mkdir("/srv/late", 0755) + mkdir("/srv/late/in", 0755), 0);
        lists[listed]();
        expect(f, "grep -c ' /srv/late' /proc/mounts; cat /srv/data", "0\nof the host\n", 0);
        assert_int_equal(umount2("/srv/away/in", MNT_DETACH) + rmdir("/srv/away/in") + rmdir("/srv/away"), 0);
        assert_int_equal(rmdir("/srv/late/in"), 0);
    }
    assert_int_equal(rmdir("/srv/late"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOX_TEST(test_scripts),
        BOX_TEST(test_default_caps),
        BOX_TEST(test_killed),
        BOX_TEST(test_rest_is_killed),
        BOX_TEST(test_term),
        BOX_TEST(test_early_term),
        BOX_TEST(test_host_pids),
        BOX_TEST(test_parent_gone),
        BOX_TEST(test_bad_commands),
        BOX_TEST(test_bad_specs),
        BOX_TEST(test_ids_that_are_not_mapped),
        BOX_TEST(test_cannot_change_host),
        BOX_TEST(test_state_on_overlay),
        BOX_TEST(test_mounts_change),
    };

    return boxes_main("box", tests, ARRAY_LEN(tests));
}
