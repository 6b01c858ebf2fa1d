/* wait.c - tests of the wait plugin and of the script it shares with pytorch, mpi and ray */
#include "plugin/test/shell.h"

#include "plugin/plugin_internal.h"
#include "plugin/waitscript.h"

#define WAIT(args) "svc: [--inject-hosts-env=false, --publish-not-ready-addresses], wait: [" args "]"
#define THREE      TASK("a", "2") TASK("b-c", "1") TASK("d", "0")
#define INIT       "spec.initContainers[0]"
#define SCRIPT     INIT ".command[2]"

static const struct plugin_case wait_cases[] = {
    { "name", WAIT(""), THREE, "a/0", INIT ".name", "wait-for-peers" },
    { "after the user's", WAIT(""),
      "- {name: a, replicas: 1, " POD_OF("initContainers: [{name: i}], containers: [{name: c}]") "}\n" TASK("b", "1"),
      "a/0", "spec.initContainers[1].name", "wait-for-peers" },
    { "all other tasks that have pods", WAIT(""), THREE, "a/0", SCRIPT, "~files='b_c.host'\n" },
    { "seen from the other side", WAIT(""), THREE, "b-c/0", SCRIPT, "~files='a.host'\n" },
    { "listed tasks, its own too", WAIT("'--tasks=a,b-c'"), THREE, "a/1", SCRIPT, "~files='a.host b_c.host'\n" },
    { "but not for itself", WAIT("'--tasks=a,b-c'"), THREE, "a/1", SCRIPT, "~skip='j-a-1.j'\n" },
    { "nobody to wait for", WAIT(""), TASK("a", "2"), "a/0", "spec.initContainers", NULL },
    { "dns is the default", WAIT(""), THREE, "a/0", SCRIPT, "~probe=dns port=0 limit=300 min=0\n" },
    { "full name for nslookup", WAIT(""), THREE, "a/0", SCRIPT, "~suffix='ns.svc.cluster.local'\n" },
    { "tcp", WAIT("--for=tcp, --port=22, --tasks=a, --timeout=5, --min=1"), THREE, "b-c/0", SCRIPT,
      "~probe=tcp port=22 limit=5 min=1\n" },
    { "tcp: listed tasks do not wait", WAIT("--for=tcp, --port=22, '--tasks=a,b-c'"), THREE, "a/0",
      "spec.initContainers", NULL },
    { "files are mounted", WAIT(""), THREE, "a/0", INIT ".volumeMounts",
      "[{\"name\":\"j-svc\",\"mountPath\":\"/etc/volcano\"}]" },
    { "image of the pod", WAIT(""), THREE, "a/0", INIT ".image", "i" },
    { "image given", WAIT("--image=x"), THREE, "a/0", INIT ".image", "x" },
    { "resources and securityContext of the pod", WAIT(""),
      "- {name: a, replicas: 1, " POD_OF("containers: [{name: c, image: i, resources: {limits: {cpu: 1}}, "
                                         "securityContext: {runAsUser: 7}}]") "}\n" TASK("b", "1"),
      "a/0", INIT, "~\"resources\":{\"limits\":{\"cpu\":1}},\"securityContext\":{\"runAsUser\":7}" },
    { "forces svc", "wait: []", THREE, "a/0", "spec.subdomain", "j" },
    { "names of waiting pods", "wait: []", THREE, "warning", "", "~--publish-not-ready-addresses" },
    { "no warning when published", WAIT(""), THREE, "warning", "", NULL },
    { "tcp without port", WAIT("--for=tcp, --tasks=a"), THREE, "error", "", "~argument port: needed" },
    { "tcp without tasks", WAIT("--for=tcp, --port=22"), THREE, "error", "", "~argument tasks: needed" },
    { "unknown task", WAIT("--tasks=z"), THREE, "error", "", "~task \"z\" does not exist" },
    { "bad kind", WAIT("--for=udp"), THREE, "error", "", "~udp" },
    { "bad timeout", WAIT("--timeout=-1"), THREE, "error", "", "~argument timeout" },
    { "bad min", WAIT("--min=-1"), THREE, "error", "", "~argument min" },
};

static void test_wait(void **state)
{
    RUN_CASES(wait_cases);
}

static void test_wait_odd_jobs(void **state)
{
    fixture_survives(WAIT(""));
    fixture_survives(WAIT("--tasks=worker, --for=tcp, --port=1"));
}

/* The script of a job of 10,000 pods is as long as that of a small one. */
static void test_wait_size(void **state)
{
    static const unsigned sizes[] = { 10, 10000 };
    size_t n[2];

    for (size_t i = 0; i < 2; i++) {
        struct fixture f;
        autoarena a = { 0 };

        fixture_open(&f, WAIT(""), arena_fmt(&a, "%s" TASK("b", "1"), fixture_big_task(&a, "a", sizes[i])).p);
        n[i] = fixture_get(&f, "b/0", SCRIPT).n;
        fixture_done(&f);
    }
    assert_true(n[0] > 1000 && n[0] == n[1]);
}

/* Kubernetes replaces $(NAME) and $$ in a command before the shell sees it. */
static void test_wait_expansion(void **state)
{
    struct fixture f;
    struct str text;

    fixture_open(&f, WAIT(""), THREE);
    text = fixture_get(&f, "a/0", SCRIPT);
    for (size_t i = 0; i + 1 < text.n; i++) {
        struct str rest = str_from(text, i), name = STR_NULL;

        assert_false(str_starts(rest, STR("$$")));
        if (!str_starts(rest, STR("$(")))
            continue;
        rest = str_from(rest, 2);
        (void)str_split(&rest, ')', &name);
        assert_true(str_has_char(name, ' ') || str_has_char(name, '\n')); /* no environment variable */
    }
    fixture_done(&f);
}

/* ---- the script, run for real ---- */

static struct str script_of(struct shell *s, struct wait_script *w)
{
    struct job job = { .meta = { .name = STR("j"), .namespace = STR("ns") } };
    struct plugin_call call = { .arena = &s->arena, .job = &job };

    return shell_moved(s, wait_script_text(&call, w));
}

static int run_script(struct shell *s, const char *sh, struct wait_script *w, struct str *ret_out)
{
    const char *const argv[] = { sh, "-c", arena_cstr(&s->arena, script_of(s, w)), NULL };

    return shell_end(s, shell_start(s, argv), ret_out);
}

static const char *const shells[] = { "/bin/sh", "/bin/bash" };

/* Every tool on its own, against a port that answers and one that refuses. */
static void test_script_tcp(void **state)
{
    static const char *const tools[] = { "bash", "python3", "perl" };
    int open_port, shut_port, open_fd = shell_socket(&open_port), shut_fd = shell_socket(&shut_port);
    struct shell s;

    shell_open(&s);
    assert_int_equal(listen(open_fd, 64), 0);
    for (size_t i = 0; i < ARRAY_LEN(shells) * ARRAY_LEN(tools); i++) {
        const char *sh = shells[i % 2], *tool = tools[i / 2];
        struct wait_script w = { .host = STR("127.0.0.1"), .port = open_port };
        struct str out;

        if (!shell_has(tool))
            continue;
        shell_tool(&s, tool);
        if (run_script(&s, sh, &w, &out) != 0 || !str_has(out, STR("1 of 1 hosts ready")))
            fail_msg("%s with %s, open port: %.*s", sh, tool, STR_ARG(out));
        assert_true(str_has(out, arena_fmt(&s.arena, "by %s", tool)));
        w.port = shut_port;
        if (run_script(&s, sh, &w, &out) != 1 || !str_has(out, STR("missing 127.0.0.1")))
            fail_msg("%s with %s, closed port: %.*s", sh, tool, STR_ARG(out));
        shell_untool(&s, tool);
    }
    close(open_fd);
    close(shut_fd);
    shell_done(&s);
}

static void test_script_nc(void **state)
{
    struct wait_script w = { .host = STR("h"), .port = 7 };
    struct shell s;
    struct str out;

    shell_open(&s);
    assert_int_equal(run_script(&s, "/bin/sh", &w, &out), 1);
    assert_true(str_has(out, STR("none of bash, python3, perl, nc")));
    shell_write(&s, "bin/nc", "#!/bin/sh\n[ \"$*\" = '-z -w 2 h 7' ]\n", 0700);
    assert_int_equal(run_script(&s, "/bin/sh", &w, &out), 0);
    /* a bash that was built without /dev/tcp is passed over */
    shell_write(&s, "bin/bash", "#!/bin/sh\necho 'bash: /dev/tcp/127.0.0.1/1: No such file or directory' >&2\nexit 1\n",
                0700);
    assert_int_equal(run_script(&s, "/bin/sh", &w, &out), 0);
    assert_true(str_has(out, STR("by nc")));
    /* and so is a timeout of another syntax */
    shell_untool(&s, "timeout");
    shell_write(&s, "bin/timeout", "#!/bin/sh\nexit 127\n", 0700);
    assert_int_equal(run_script(&s, "/bin/sh", &w, &out), 0);
    shell_done(&s);
}

static void test_script_dns(void **state)
{
    static const char *const tools[] = { "getent", "python3", "nslookup" };
    struct shell s;

    shell_open(&s);
    for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
        struct wait_script w = { .dns_only = true, .host = STR("localhost") };
        struct str out;

        if (i == 2) /* as BusyBox: knows only full names */
            shell_write(&s, "bin/nslookup", "#!/bin/sh\n[ \"$1\" = localhost.ns.svc.cluster.local ]\n", 0700);
        else if (shell_has(tools[i]))
            shell_tool(&s, tools[i]);
        else
            continue;
        if (run_script(&s, "/bin/sh", &w, &out) != 0)
            fail_msg("%s: %.*s", tools[i], STR_ARG(out));
        w.host = STR("no-such-host.invalid");
        assert_int_equal(run_script(&s, "/bin/sh", &w, &out), 1);
        shell_untool(&s, tools[i]);
    }
    shell_done(&s);
}

/* Host files, 'skip' and 'min', by a tool that answers for the hosts in its own list. */
static void test_script_lists(void **state)
{
    static const struct {
        const char *name, *up, *skip;
        int64_t min;
        int want;
        const char *says;
    } cases[] = {
        { "all up", "a b c d", "", 0, 0, "done, 4 of 4 hosts ready" },
        { "one down", "a b d", "", 0, 1, "3 of 4 hosts ready, missing c" },
        { "several down", "a", "", 0, 1, "1 of 4 hosts ready, missing b and others" },
        { "the one down is me", "a b d", "c", 0, 0, "done, 3 of 3 hosts ready" },
        { "enough", "b d", "", 2, 0, "done, 2 of 4 hosts ready" },
        { "not enough", "b d", "", 3, 1, "2 of 4 hosts ready" },
        { "min above all", "a b c d", "", 9, 0, "done, 4 of 4 hosts ready" },
    };
    struct str files[] = { STR("x.host"), STR("y.host") };
    struct shell s;

    shell_open(&s);
    shell_write(&s, "x.host", "a\nb", 0600); /* as svc writes it: no newline at the end */
    shell_write(&s, "y.host", "c\nd\n", 0600);
    shell_write(&s, "bin/getent", "#!/bin/sh\nfor h in $(cat $T/up); do [ $h = $2 ] && exit 0; done\nexit 2\n", 0700);
    for (size_t i = 0; i < ARRAY_LEN(cases) * ARRAY_LEN(shells); i++) {
        size_t c = i / 2;
        struct wait_script w = {
            .dns_only = true, .files = { files, 2 }, .skip = str_of(cases[c].skip), .min = cases[c].min
        };
        struct str out;

        shell_write(&s, "up", cases[c].up, 0600);
        if (run_script(&s, shells[i % 2], &w, &out) != cases[c].want || !str_has(out, str_of(cases[c].says)))
            fail_msg("%s, %s: %.*s", cases[c].name, shells[i % 2], STR_ARG(out));
    }
    shell_done(&s);
}

static void test_script_missing_file(void **state)
{
    struct str file = STR("gone.host"), out;
    struct wait_script w = { .dns_only = true, .files = { &file, 1 } };
    struct shell s;

    shell_open(&s);
    shell_tool(&s, "getent");
    assert_int_equal(run_script(&s, "/bin/sh", &w, &out), 1);
    assert_true(str_has(out, STR("gone.host cannot be read")));
    shell_done(&s);
}

/* A port that opens while the script waits; and one that never does. */
static void test_script_time(void **state)
{
    int port, fd = shell_socket(&port);
    struct wait_script w = { .host = STR("127.0.0.1"), .port = port, .timeout_s = 30 };
    const char *argv[] = { "/bin/sh", "-c", NULL, NULL };
    struct shell s;
    struct str out;
    pid_t pid;

    shell_open(&s);
    shell_tool(&s, "bash");
    argv[2] = arena_cstr(&s.arena, script_of(&s, &w));
    pid = shell_start(&s, argv);
    usleep(500 * 1000);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* still waiting */
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(shell_end(&s, pid, &out), 0);
    close(fd);
    w.timeout_s = 1;
    assert_int_equal(run_script(&s, "/bin/sh", &w, &out), 1);
    assert_true(str_has(out, STR("s: 0 of 1 hosts ready, missing 127.0.0.1\n")));
    shell_done(&s);
}

/* In front of a command it leaves "$@" and variables alone, and its failure ends the whole. */
static void test_script_prefix(void **state)
{
    struct job job = { .meta = { .name = STR("j"), .namespace = STR("ns") } };
    struct shell s;

    shell_open(&s);
    for (int ok = 0; ok < 2; ok++) {
        struct wait_script w = { .dns_only = true, .host = STR("a") };
        struct plugin_call call = { .arena = &s.arena, .job = &job };
        struct str text = arena_fmt(&s.arena, "%.*secho \"$tool,$#,$1\"", STR_ARG(wait_script_prefix(&call, &w)));
        const char *const argv[] = { "sh", "-c", arena_cstr(&s.arena, text), "sh", "x y", "z", NULL };
        struct str out;

        shell_write(&s, "bin/getent", ok ? "#!/bin/sh\nexit 0\n" : "#!/bin/sh\nexit 1\n", 0700);
        assert_int_equal(shell_end(&s, shell_start(&s, argv), &out), ok ? 0 : 1);
        assert_true(str_has(out, STR(",2,x y\n")) == (ok == 1));
    }
    shell_done(&s);
}

static void test_shell_word(void **state)
{
    static const char *const words[] = { "", "plain", "two words", "it's", "'", "''", "$HOME `x` \\ \" *", "a\nb" };
    struct shell s;

    shell_open(&s);
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        struct str word = shell_word(&s.arena, str_of(words[i]));
        const char *const argv[] = { "sh", "-c", arena_fmt(&s.arena, "printf %%s %.*s", STR_ARG(word)).p, NULL };
        struct str out;

        assert_int_equal(shell_end(&s, shell_start(&s, argv), &out), 0);
        assert_true(str_is(out, words[i]));
    }
    shell_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wait),
        cmocka_unit_test(test_wait_odd_jobs),
        cmocka_unit_test(test_wait_size),
        cmocka_unit_test(test_wait_expansion),
        cmocka_unit_test(test_script_tcp),
        cmocka_unit_test(test_script_nc),
        cmocka_unit_test(test_script_dns),
        cmocka_unit_test(test_script_lists),
        cmocka_unit_test(test_script_missing_file),
        cmocka_unit_test(test_script_time),
        cmocka_unit_test(test_script_prefix),
        cmocka_unit_test(test_shell_word),
    };

    return cmocka_run_group_tests_name("plugin/wait", tests, NULL, NULL);
}
