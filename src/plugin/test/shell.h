/* shell.h - runs the commands and scripts that plugins write, for real
 *
 * A scratch folder holds what the script may use: tools are links in <dir>/bin, which is the whole PATH, so that a test
 * says which tools the "image" has.
 */
#ifndef PLUGIN_TEST_SHELL_H
#define PLUGIN_TEST_SHELL_H

#include "plugin/test/fixture.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct shell {
    struct arena arena;
    char dir[32];
};

FIXTURE_UNUSED static const char *shell_path(struct shell *s, const char *name)
{
    return arena_fmt(&s->arena, "%s/%s", s->dir, name).p;
}

FIXTURE_UNUSED static bool shell_has(const char *tool)
{
    autoarena a = { 0 };

    return access(arena_fmt(&a, "/usr/bin/%s", tool).p, X_OK) == 0;
}

FIXTURE_UNUSED static void shell_tool(struct shell *s, const char *tool)
{
    struct str from = arena_fmt(&s->arena, "/usr/bin/%s", tool);

    if (symlink(from.p, arena_fmt(&s->arena, "%s/bin/%s", s->dir, tool).p) < 0)
        fail_msg("link %s: %m", tool);
}

FIXTURE_UNUSED static void shell_untool(struct shell *s, const char *tool)
{
    (void)unlink(arena_fmt(&s->arena, "%s/bin/%s", s->dir, tool).p);
}

FIXTURE_UNUSED static void shell_write(struct shell *s, const char *name, const char *text, mode_t mode)
{
    int fd = open(shell_path(s, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(close(fd), 0);
}

FIXTURE_UNUSED static void shell_open(struct shell *s)
{
    static const char *const always[] = { "sh", "date", "sleep", "cat", "env", "timeout", "true" };

    *s = (struct shell){ .dir = P_tmpdir "/pumice-shell-XXXXXX" };
    assert_non_null(mkdtemp(s->dir));
    assert_int_equal(mkdir(shell_path(s, "bin"), 0700), 0);
    for (size_t i = 0; i < ARRAY_LEN(always); i++)
        shell_tool(s, always[i]);
}

FIXTURE_UNUSED static void shell_done(struct shell *s)
{
    assert_int_equal(system(arena_fmt(&s->arena, "rm -r %s", s->dir).p), 0);
    arena_done(&s->arena);
}

/* 'text' with "/etc/volcano" replaced by the scratch folder. */
FIXTURE_UNUSED static struct str shell_moved(struct shell *s, struct str text)
{
    struct str from = STR("/etc/volcano");
    autobuf out = { 0 };

    for (size_t i = 0; i < text.n;) {
        if (str_starts(str_from(text, i), from)) {
            buf_str(&out, str_of(s->dir));
            i += from.n;
        } else {
            buf_char(&out, text.p[i++]);
        }
    }
    return arena_str(&s->arena, buf_view(&out));
}

/* Start argv[0] (a path, or looked up in <dir>/bin); its output goes to <dir>/out. */
FIXTURE_UNUSED static pid_t shell_start(struct shell *s, const char *const *argv)
{
    const char *path_env = arena_fmt(&s->arena, "PATH=%s/bin", s->dir).p;
    const char *dir_env = arena_fmt(&s->arena, "T=%s", s->dir).p;
    const char *exe = strchr(argv[0], '/') ? argv[0] : arena_fmt(&s->arena, "%s/bin/%s", s->dir, argv[0]).p;
    const char *env[] = { path_env, dir_env, "RAY_ADDRESS=head:1", NULL };
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = open(shell_path(s, "out"), O_WRONLY | O_CREAT | O_TRUNC, 0600);

        if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
            _exit(126);
        execve(exe, (char *const *)argv, (char *const *)env);
        _exit(127);
    }
    return pid;
}

/* Wait for it; its exit status, and its output in '*ret_out'. */
FIXTURE_UNUSED static int shell_end(struct shell *s, pid_t pid, struct str *ret_out)
{
    char text[4096];
    int status, fd;
    ssize_t n;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    fd = open(shell_path(s, "out"), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    n = read(fd, text, sizeof(text));
    assert_true(n >= 0);
    close(fd);
    *ret_out = arena_str(&s->arena, (struct str){ text, (size_t)n });
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A socket on 127.0.0.1 that is bound but does not listen yet: connecting is refused. */
FIXTURE_UNUSED static int shell_socket(int *ret_port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

#endif
