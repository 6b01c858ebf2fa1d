/* host.c - tests of the host's examination: words and fixes, and what `pumice run` asks first */
#include "os/test/testing.h"

#include "node/doctor/host.h"

#include "node/doctor/host_internal.h"

static void words_and_fix(void **state)
{
    static const struct {
        const char *why, *says, *fix;
    } cases[] = {
        { "sshd is not installed; run: apt-get install x", "sshd is not installed", "apt-get install x" },
        { "no limits: it is off; as root run: sysctl -w a=1", "no limits: it is off", "as root: sysctl -w a=1" },
        { "not mounted; as root, run: mount x", "not mounted", "as root: mount x" },
        { "not allowed: as root run: a; b", "not allowed", "as root: a; b" },
        { "nothing helps", "nothing helps", "" },
        { "run: x", "", "x" },
        { "", "", "" },
    };
    autoarena a = { 0 };
    struct exam x = { .arena = &a };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct host_check c = { 0 };

        host_say_why(&x, &c, HOST_LIMITED, cases[i].why);
        if (!str_is(c.says, cases[i].says) || !str_is(c.fix, cases[i].fix) || c.verdict != HOST_LIMITED)
            fail_msg("\"%s\": \"%.*s\" and \"%.*s\"", cases[i].why, STR_ARG(c.says), STR_ARG(c.fix));
    }
}

static void knows_where_state_is(void **state)
{
    autoarena a = { 0 };
    struct str dir = host_state_dir(&a);

    assert_true(dir.n && dir.p[0] == '/' && str_ends(dir, STR("/pumice")));
}

static int user_test(void)
{
    struct user_root root;
    struct err e = { 0 };

    if (setgid(61236) < 0 || setuid(61236) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0)
        return 77;
    if (host_require(&e) < 0) /* then it says what to do, and entering fails too */
        return strstr(e.text, "run: ") && user_enter(&root, NULL) < 0 ? 77 : 2;
    return geteuid() == 61236 && user_enter(&root, &e) == 0 ? 0 : 3; /* it changed nothing here */
}

static int forbidden_test(void)
{
    struct user_root root;
    struct err e = { 0 };
    int fd;

    if (setgid(61236) < 0 || setuid(61236) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0 || user_enter(&root, NULL) < 0)
        return 77;
    fd = open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "0", 1) != 1)
        return 77;
    close(fd);
    if (unshare(CLONE_NEWUSER) == 0)
        return 77;
    return host_require(&e) == 0 ? 0 : 4; /* root of this namespace needs no other */
}

static void an_ordinary_user(void **state)
{
    int rc = in_child(user_test);

    if (rc == 77) {
        print_message("skipped: needs root, and user namespaces for others\n");
        skip();
    }
    assert_int_equal(rc, 0);
}

static void root_of_a_namespace(void **state)
{
    int rc = in_child(forbidden_test);

    if (rc == 77) {
        print_message("skipped: needs root, and user namespaces for others\n");
        skip();
    }
    assert_int_equal(rc, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_fix),
        cmocka_unit_test(knows_where_state_is),
        cmocka_unit_test(an_ordinary_user),
        cmocka_unit_test(root_of_a_namespace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
