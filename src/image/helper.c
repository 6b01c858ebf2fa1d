/* helper.c - credential helpers: docker-credential-NAME get, which returns the login for a server
 *
 *     {"ServerURL": "…", "Username": "me", "Secret": "…"}     a user named "<token>": the secret is a refresh token
 */
#include "image/registry_internal.h"

#include "base/util.h"
#include "json/json.h"
#include "os/proc.h"

#include <limits.h>
#include <poll.h>

enum { HELPER_MS = 30000, OUTPUT_BYTES = 1 << 20, WORDS_BYTES = 160 };

/* Part of the name of a program in PATH, never of a path. */
static bool helper_is_name(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("._-", c))))
            return false;
    }
    return name.n > 0;
}

static int take_output(struct arena *a, struct str text, struct login *l, struct err *e)
{
    struct json *j;
    struct str user, secret;

    if (json_parse(a, arena_str(a, text), NULL, &j, e) < 0)
        return err_wrap(e, "its output is not JSON");
    user = json_member_text(j, "Username");
    secret = json_member_text(j, "Secret");
    if (str_is(user, "<token>"))
        l->identity = secret;
    else
        l->user = user;
    l->password = str_is(user, "<token>") ? STR_NULL : secret;
    return l->user.n || l->identity.n ? 0 : err_set(e, ERR_INVALID, "its output has no Username");
}

/* How it ended; its last words, on either stream. */
static int check_end(struct proc_end end, struct str output, struct str said, struct err *e)
{
    struct str last = str_last_lines(str_trim(said.n ? said : output), 1);
    autobuf words = { 0 };

    if (last.n)
        buf_str(&words, STR(": "));
    if (last.n)
        buf_quote(&words, last, WORDS_BYTES);
    if (end.is_late)
        return err_set(e, ERR_IO, "timed out after %d s%.*s", HELPER_MS / 1000, STR_ARG(buf_view(&words)));
    if (end.signo)
        return err_set(e, ERR_IO, "killed by signal %d%.*s", end.signo, STR_ARG(buf_view(&words)));
    if (end.status)
        return err_set(e, ERR_NOT_FOUND, "exited with status %d%.*s", end.status, STR_ARG(buf_view(&words)));
    return 0;
}

static int run_helper(struct arena *a, const char *path, struct str server, struct login *l, struct err *e)
{
    const char *const argv[] = { path, "get", NULL };
    struct proc_how how = { .streams = PROC_APART, .may_leave = true, .input = server };
    autobuf output = { 0 }, said = { 0 };
    struct proc_end end;
    struct proc p;
    int rc;

    if (proc_begin(path, argv, &how, &p, e) < 0)
        return -1;
    (void)poll(&(struct pollfd){ .fd = p.fd, .events = POLLIN }, 1, HELPER_MS); /* proc_end() says what came of it */
    rc = proc_output(&p, OUTPUT_BYTES, &output);
    end = proc_end(&p, 0, &said);
    if (check_end(end, buf_view(&output), buf_view(&said), e) < 0)
        return -1;
    return rc ? err_set(e, ERR_TOO_BIG, "its output has more than %d bytes", OUTPUT_BYTES)
              : take_output(a, buf_view(&output), l, e);
}

int helper_ask(struct arena *a, struct str known, struct login *l, struct err *e)
{
    struct str program = arena_fmt(a, "docker-credential-%.*s", STR_ARG(l->helper));
    struct str hub = STR("https://index.docker.io/v1/"); /* the name under which `docker login` stores Docker Hub */
    struct str server = str_is(known, "docker.io") ? hub : known;
    char path[PATH_MAX];
    int rc;

    if (!helper_is_name(l->helper) || !proc_find(program.p, path, sizeof(path)))
        rc = err_set(e, ERR_NOT_FOUND, "no such program");
    else
        rc = run_helper(a, path, server, l, e);
    if (rc == 0)
        l->from = program;
    return rc < 0 ? err_wrap(e, "%s", program.p) : 0;
}
