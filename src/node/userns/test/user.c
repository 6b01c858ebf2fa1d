/* user.c - tests of becoming root of a user namespace; each in a process of its own, as another user */
#include "os/test/testing.h"

#include "node/userns/user.h"

#include "node/userns/user_internal.h"

#include <grp.h>
#include <sys/mount.h>
#include <sys/syscall.h>

enum { ORDINARY = 61234, SKIP = 77 };

static char words[600]; /* shared with the child by a pipe, see with_words() */

static int say(int rc, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int say(int rc, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(words, sizeof(words), fmt, ap);
    va_end(ap);
    return rc;
}

/* Run in a child with mounts of its own; skips when it says so, fails with its words. */
static void with_words(int (*run)(void))
{
    int status, said[2];
    ssize_t n;
    pid_t pid;

    assert_int_equal(pipe2(said, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int rc = run();

        (void)!write(said[1], words, strlen(words) + 1);
        _exit(rc);
    }
    close(said[1]);
    n = read(said[0], words, sizeof(words) - 1);
    words[MAX_OF(n, 0)] = '\0';
    close(said[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIP) {
        print_message("skipped: %s\n", words);
        skip();
    }
    if (status != 0)
        fail_msg("status %x: %s", (unsigned)status, words);
}

/* Other files in place of /etc/subuid and /etc/subgid, and a user of our own, for this process only. */
static int set_ranges(const char *uids, const char *gids)
{
    static const char *const files[][2] = { { "/mnt/p", "/etc/passwd" },
                                            { "/mnt/u", "/etc/subuid" },
                                            { "/mnt/g", "/etc/subgid" } };

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("t", "/mnt", "tmpfs", 0, "mode=755") < 0 || write_text("/mnt/u", uids) < 0 ||
        write_text("/mnt/g", gids) < 0 ||
        write_text("/mnt/p", "root:x:0:0::/root:/bin/sh\npmtest:x:61234:61234::/:/bin/sh\n") < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        if (mount(files[i][0], files[i][1], NULL, MS_BIND, NULL) < 0)
            return -1;
    return 0;
}

static int become_ordinary(void)
{
    if (setgroups(0, NULL) < 0 || setresgid(ORDINARY, ORDINARY, ORDINARY) < 0 ||
        setresuid(ORDINARY, ORDINARY, ORDINARY) < 0)
        return -1;
    return prctl(PR_SET_DUMPABLE, 1); /* as after exec */
}

/* ---- what works inside ---- */

static int try_overlay(void)
{
    static const char *const dirs[] = { "/mnt/low", "/mnt/up", "/mnt/work", "/mnt/all" };

    if (mount("t", "/mnt", "tmpfs", 0, NULL) < 0)
        return say(1, "tmpfs: %s", strerror(errno));
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
        (void)mkdir(dirs[i], 0755); /* seen by the next call */
    if (write_text("/mnt/low/a", "a") < 0)
        return say(1, "write: %s", strerror(errno));
    if (mount("o", "/mnt/all", "overlay", 0, "lowerdir=/mnt/low,upperdir=/mnt/up,workdir=/mnt/work,userxattr") < 0)
        return say(1, "overlay: %s", strerror(errno));
    if (unlink("/mnt/all/a") < 0 || access("/mnt/low/a", F_OK) < 0)
        return say(1, "unlink in the overlay: %s", strerror(errno));
    return 0;
}

static int try_proc(void)
{
    int status = -1;
    pid_t pid;

    if (unshare(CLONE_NEWPID) < 0)
        return say(1, "pid namespace: %s", strerror(errno));
    pid = fork();
    if (pid == 0)
        _exit(mount("p", "/mnt/work", "proc", 0, NULL) < 0 ? errno : access("/mnt/work/1/status", R_OK) < 0);
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
        return say(1, "proc: %s", strerror(WEXITSTATUS(status)));
    return 0;
}

static int try_all(void)
{
    if (geteuid() != 0 || getegid() != 0)
        return say(1, "not root inside: %u %u", geteuid(), getegid());
    if (try_overlay() != 0)
        return 1;
    if (unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0 || sethostname("pod", 3) < 0)
        return say(1, "net, ipc, uts: %s", strerror(errno));
    return try_proc();
}

static int enter(struct user_root *root, struct err *e)
{
    if (user_enter(root, e) == 0)
        return 0;
    return strstr(e->text, "not allowed here") ? say(SKIP, "%s", e->text) : say(2, "%s", e->text);
}

/* ---- cases ---- */

static bool mount_is_seen(pid_t in, const char *path)
{
    char name[40], line[400];
    autofile FILE *f = NULL;

    (void)snprintf(name, sizeof(name), "/proc/%d/mountinfo", in);
    f = fopen(name, "re");
    while (f && fgets(line, sizeof(line), f))
        if (strstr(line, path))
            return true;
    return false;
}

static int root_test(void)
{
    struct user_root root;
    struct err e = { 0 };
    char dir[] = "/tmp/pumice-user-XXXXXX", marked[60];
    int rc;

    if (geteuid() != 0)
        return say(SKIP, "needs root");
    rc = enter(&root, &e);
    if (rc)
        return rc;
    if (root.n_ids < 1 || (root.is_real && (root.n_ids != UINT32_MAX || root.outer_uid != 0 || root.why[0])))
        return say(3, "%u ids, outside %u, %s", root.n_ids, root.outer_uid, root.why);
    if (!mkdtemp(dir) || mount("t", dir, "tmpfs", 0, NULL) < 0)
        return say(4, "tmpfs: %s", strerror(errno));
    (void)snprintf(marked, sizeof(marked), " %s ", dir);
    rc = !mount_is_seen(getpid(), marked) || mount_is_seen(getppid(), marked);
    (void)umount2(dir, MNT_DETACH); /* it goes with us */
    (void)rmdir(dir);
    return rc ? say(5, "the mount got out") : try_all();
}

static void root_gets_its_mounts(void **state)
{
    with_words(root_test);
}

static int alone_test(void)
{
    struct user_root root;
    struct err e = { 0 };
    int rc;

    if (geteuid() != 0 || set_ranges("other:100000:65536\n", "") < 0 || become_ordinary() < 0)
        return say(SKIP, "needs root");
    rc = enter(&root, &e);
    if (rc)
        return rc;
    if (root.is_real || root.n_ids != 1 || root.outer_uid != ORDINARY || !strstr(root.why, "/etc/subuid has no ids") ||
        !strstr(root.why, "run: echo pmtest:"))
        return say(3, "%d, %u ids, outside %u, \"%s\"", root.is_real, root.n_ids, root.outer_uid, root.why);
    if (setresuid(1, 1, 1) == 0)
        return say(4, "there is a second user");
    return try_all();
}

static void one_id_without_ranges(void **state)
{
    with_words(alone_test);
}

static int many_test(void)
{
    struct user_root root;
    struct err e = { 0 };
    struct stat st;
    int rc;

    if (geteuid() != 0 || set_ranges("61234:200000:10\npmtest:300000:65536\n", "61234:300000:65536\n") < 0 ||
        become_ordinary() < 0)
        return say(SKIP, "needs root");
    rc = enter(&root, &e);
    if (rc)
        return rc;
    if (root.n_ids == 1 && strstr(root.why, "apt-get install"))
        return say(SKIP, "%s", root.why);
    if (root.is_real || root.n_ids != 65537 || root.outer_uid != ORDINARY || root.why[0])
        return say(3, "%d, %u ids, outside %u, \"%s\"", root.is_real, root.n_ids, root.outer_uid, root.why);
    if (try_all() != 0)
        return 4;
    if (chown("/mnt/up", 33, 33) < 0 || stat("/mnt/up", &st) < 0 || st.st_uid != 33)
        return say(5, "chown: %s", strerror(errno));
    if (setgroups(1, &(gid_t){ 44 }) < 0 || setresgid(65534, 65534, 65534) < 0 || setresuid(33, 33, 33) < 0)
        return say(6, "change the user: %s", strerror(errno));
    return 0;
}

static void many_ids_with_ranges(void **state)
{
    with_words(many_test);
}

/* newuidmap does its part, newgidmap does not: the range is not root's to give. */
static int half_test(void)
{
    struct user_root root;
    struct err e = { 0 };
    int rc = 1;

    if (geteuid() != 0 || set_ranges("61234:300000:65536\n", "61234:300000:65536\n") < 0)
        return say(SKIP, "needs root");
    if (mount("/bin/false", "/usr/bin/newgidmap", NULL, MS_BIND, NULL) < 0)
        return say(SKIP, "there is no newgidmap");
    if (become_ordinary() < 0 || (rc = enter(&root, &e)) != 0)
        return rc;
    if (root.n_ids != 1 || !strstr(root.why, "set-uid root"))
        return say(3, "%u ids, \"%s\"", root.n_ids, root.why);
    return try_all();
}

static void goes_on_with_one_id(void **state)
{
    with_words(half_test);
}

/* In a user namespace that allows no further ones. */
static int forbidden_test(void)
{
    struct user_root root;
    struct err e = { 0 };

    if (user_enter(&root, &e) < 0)
        return say(SKIP, "%s", e.text);
    if (root.is_real && unshare(CLONE_NEWUSER) < 0) /* root of the host does not lower the host's own limit */
        return say(SKIP, "no user namespace");
    if (write_text("/proc/sys/user/max_user_namespaces", "0") < 0)
        return say(SKIP, "cannot lower the limit: %s", strerror(errno));
    if (prctl(PR_CAPBSET_DROP, 21) < 0 && errno != EPERM)
        return say(2, "capabilities: %s", strerror(errno));
    if (syscall(SYS_capset, &(uint32_t[2]){ 0x20080522, 0 }, &(uint32_t[6]){ 0 }) < 0) /* a root who may do nothing */
        return say(2, "capset: %s", strerror(errno));
    if (user_enter(&root, &e) == 0)
        return say(3, "it was allowed");
    if (e.code != ERR_FORBIDDEN || !strstr(e.text, "sysctl -w user.max_user_namespaces=15000"))
        return say(4, "%s", e.text);
    return 0;
}

static void says_what_forbids_it(void **state)
{
    with_words(forbidden_test);
}

static void finds_ranges(void **state)
{
    static const struct {
        const char *text;
        uint32_t first, n;
    } cases[] = {
        { "ann:100000:65536\n", 100000, 65536 },
        { "bob:1:2\nann:100000:65536", 100000, 65536 },
        { "1000:5:6\n", 5, 6 },
        { "ann:100000:10\nann:200000:65536\n1000:300000:20\n", 200000, 65536 },
        { "", 0, 0 },
        { "ann", 0, 0 },
        { "ann:", 0, 0 },
        { "ann:1", 0, 0 },
        { "ann:0:65536", 0, 0 },
        { "ann:x:65536\nann:10:y\nann:-1:5\nann:4294967290:10\nann:99999999999:1\n", 0, 0 },
        { "anna:100000:65536\n10000:1:1\n", 0, 0 },
        { "ann:10:0\n", 0, 0 },
        { "ann:100000:4000000000\n", 100000, 1048576 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct user_range r = user_range_find(str_of(cases[i].text), "ann", 1000);

        if (r.n != cases[i].n || (r.n && r.first != cases[i].first))
            fail_msg("\"%s\": %u, %u", cases[i].text, r.first, r.n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_ranges),          cmocka_unit_test(root_gets_its_mounts),
        cmocka_unit_test(one_id_without_ranges), cmocka_unit_test(many_ids_with_ranges),
        cmocka_unit_test(goes_on_with_one_id),   cmocka_unit_test(says_what_forbids_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
