/* exec_plugin.c - credential plugins */
#include "kube/exec_plugin.h"

#include "base/clock.h"
#include "base/util.h"

#include <limits.h>

enum { OUTPUT_MAX = 1 << 20, WORDS_MAX = 300 };

extern char **environ;

/* ---- input and output ---- */

void exec_plugin_info(struct buf *out, const struct kube_exec *x, bool is_interactive)
{
    autoarena a = { 0 };
    struct json *j = json_object(&a), *spec;

    json_set(j, "apiVersion", json_str(&a, x->api_version));
    json_set(j, "kind", json_str(&a, STR("ExecCredential")));
    spec = json_set(j, "spec", json_object(&a));
    if (x->cluster)
        json_set(spec, "cluster", json_copy(&a, x->cluster));
    json_set(spec, "interactive", json_bool_new(&a, is_interactive));
    json_print(out, j);
}

static bool is_pem(struct str text)
{
    return str_has(text, STR("-----BEGIN "));
}

static bool exec_plugin_is_token(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] <= ' ' || text.p[i] == 0x7f)
            return false;
    return true;
}

static int exec_plugin_parse_status(const struct json *status, struct exec_credential *ret, struct err *e)
{
    struct str expires = json_member_text(status, "expirationTimestamp");
    struct err why = { 0 };

    ret->token = json_member_text(status, "token");
    ret->cert_pem = json_member_text(status, "clientCertificateData");
    ret->key_pem = json_member_text(status, "clientKeyData");
    if (!ret->token.n && !ret->cert_pem.n && !ret->key_pem.n)
        return err_set(e, ERR_INVALID, "status: has neither token nor clientCertificateData");
    if (!ret->cert_pem.n != !ret->key_pem.n)
        return err_set(e, ERR_INVALID, "status.%s: is missing",
                       ret->cert_pem.n ? "clientKeyData" : "clientCertificateData");
    if (ret->cert_pem.n && !is_pem(ret->cert_pem))
        return err_set(e, ERR_INVALID, "status.clientCertificateData: is not PEM");
    if (ret->key_pem.n && !is_pem(ret->key_pem))
        return err_set(e, ERR_INVALID, "status.clientKeyData: is not PEM");
    if (!exec_plugin_is_token(ret->token))
        return err_set(e, ERR_INVALID, "status.token: has blanks or line breaks");
    if (expires.n && clock_parse(expires, &ret->expires_ms, &why) < 0)
        return err_set(e, ERR_INVALID, "status.expirationTimestamp: %s", why.text);
    return 0;
}

int exec_plugin_parse(struct arena *a, const struct kube_exec *x, struct str text, struct exec_credential *ret,
                      struct err *e)
{
    struct json *j;

    *ret = (struct exec_credential){ 0 };
    if (json_parse(a, arena_str(a, text), NULL, &j, e) < 0)
        return err_wrap(e, "its output is not JSON");
    if (!str_is(json_member_text(j, "kind"), "ExecCredential"))
        return err_set(e, ERR_INVALID, "kind: must be ExecCredential");
    if (!str_eq(json_member_text(j, "apiVersion"), x->api_version))
        return err_set(e, ERR_INVALID, "apiVersion: must be %.*s, as the kubeconfig says", STR_ARG(x->api_version));
    return exec_plugin_parse_status(json_get(j, "status"), ret, e);
}

/* ---- running it ---- */

static int find_command(const struct kube_exec *x, char *out, size_t size, struct err *e)
{
    autoarena a = { 0 };
    const char *name = arena_cstr(&a, x->command);

    if (strchr(name, '/') ? (size_t)snprintf(out, size, "%s", name) < size && access(out, X_OK) == 0
                          : proc_find(name, out, size))
        return 0;
    return err_set(e, ERR_NOT_FOUND, "credential plugin %s not found%s%.*s", name, x->hint.n ? "; " : "",
                   STR_ARG(x->hint));
}

static const char *const *make_argv(struct arena *a, const struct kube_exec *x, const char *path)
{
    const char **argv = arena_array(a, const char *, x->args.n + 2);

    argv[0] = path;
    for (size_t i = 0; i < x->args.n; i++)
        argv[i + 1] = arena_cstr(a, x->args.v[i]);
    return argv;
}

/* Ours, then the plugin's: of two of a name getenv() sees the first, so theirs replace ours. */
static const char *const *make_env(struct arena *a, const struct kube_exec *x, bool is_interactive)
{
    VEC(const char *) env = { 0 };
    autobuf info = { 0 };

    exec_plugin_info(&info, x, is_interactive);
    *vec_push(a, &env) = arena_fmt(a, "KUBERNETES_EXEC_INFO=%.*s", STR_ARG(buf_view(&info))).p;
    for (size_t i = 0; i < x->env.n; i++)
        *vec_push(a, &env) = arena_fmt(a, "%.*s=%.*s", STR_ARG(x->env.v[i].name), STR_ARG(x->env.v[i].value)).p;
    for (size_t i = 0, n = env.n; environ && environ[i]; i++) {
        bool is_replaced = false;
        const char *end = strchr(environ[i], '=');

        for (size_t k = 0; end && k < n; k++)
            is_replaced |= strncmp(environ[i], env.v[k], (size_t)(end - environ[i]) + 1) == 0;
        if (!is_replaced)
            *vec_push(a, &env) = environ[i];
    }
    *vec_push(a, &env) = NULL;
    return env.v;
}

int exec_plugin_start(const struct kube_exec *x, struct proc *ret, struct err *e)
{
    autoarena a = { 0 };
    bool is_interactive = x->mode != EXEC_NEVER && isatty(0);
    struct proc_how how = { .streams = is_interactive ? PROC_TERMINAL : PROC_APART,
                            .may_leave = true, /* some keep an agent for the next time */
                            .env = make_env(&a, x, is_interactive) };
    char path[PATH_MAX];

    if (x->mode == EXEC_ALWAYS && !is_interactive)
        return err_set(e, ERR_INVALID, "credential plugin %.*s needs a terminal (interactiveMode: Always)",
                       STR_ARG(x->command));
    if (find_command(x, path, sizeof(path), e) < 0)
        return -1;
    return proc_begin(path, make_argv(&a, x, path), &how, ret, e) < 0 ? err_wrap(e, "credential plugin") : 0;
}

/* The last line of what it said, not too long. */
static void last_words(struct str words, struct buf *out)
{
    struct str last = str_last_lines(str_trim(words), 1);

    if (last.n)
        buf_str(out, STR(": "));
    if (last.n)
        buf_quote(out, last, WORDS_MAX);
}

static int read_output(const struct proc *run, struct buf *out, struct err *e)
{
    int rc = proc_output(run, OUTPUT_MAX, out);

    if (rc < 0)
        return err_errno(e, "its output");
    return rc ? err_set(e, ERR_TOO_BIG, "its output has more than %d bytes", OUTPUT_MAX) : 0;
}

int exec_plugin_end(const struct kube_exec *x, struct proc *run, struct buf *out, struct err *e)
{
    autobuf said = { 0 }, words = { 0 };
    int rc = read_output(run, out, e);
    struct proc_end end = proc_end(run, 0, &said);

    run->fd = -1;
    last_words(buf_view(&said), &words);
    if (end.is_late)
        rc = err_set(e, ERR_IO, "timed out%s", words.n ? words.p : "");
    else if (end.signo)
        rc = err_set(e, ERR_IO, "killed by signal %d%s", end.signo, words.n ? words.p : "");
    else if (end.status)
        rc = err_set(e, ERR_IO, "exited with status %d%s", end.status, words.n ? words.p : "");
    return rc < 0 ? err_wrap(e, "credential plugin %.*s", STR_ARG(x->command)) : 0;
}
