/* credential.c - our credentials, kept fresh */
#include "kube/credential.h"

#include "base/clock.h"
#include "base/util.h"
#include "pki/certificate.h"
#include "kube/exec_plugin.h"
#include "kube/kube_internal.h"

#include <sys/wait.h>

enum {
    FILE_FRESH_MS = 60000,
    TOKEN_MAX = 1 << 20,
    PEM_MAX = 1 << 20,
    PAIR_MS = 1000,    /* until one that is being replaced is looked at again */
    EARLY_MS = 10000,  /* a plugin is run so long before what it gave expires, or a tenth of its life if that is less */
    PLUGIN_MS = 60000, /* a plugin without a terminal ends within this time */
    AGAIN_MIN_MS = 1000, /* after a failure, and between two that were refused */
    AGAIN_MAX_MS = 60000,
};

struct credential {
    const struct kube_config *config;
    struct clock *clock;
    uint64_t generation;
    struct buf token, cert, key;
    bool has_it;
    bool is_refused;
    int64_t read_ms; /* mono: when it was got */

    /* a plugin */
    struct proc run;
    int64_t started_ms; /* mono */
    int64_t renew_ms;   /* wall clock; INT64_MAX: never */
    int64_t expires_ms; /* wall clock; INT64_MAX: never */
    int64_t again_ms;   /* mono: not before */
    int64_t delay_ms;
    struct err err; /* of the last try */
};

struct credential *credential_new(const struct kube_config *config, struct clock *clock)
{
    struct credential *c = xcalloc(1, sizeof(*c));

    c->config = config;
    c->clock = clock;
    c->run.fd = -1;
    c->renew_ms = c->expires_ms = INT64_MAX;
    return c;
}

void credential_free(struct credential *c)
{
    autobuf out = { 0 };

    if (!c)
        return;
    if (c->run.fd >= 0)
        (void)exec_plugin_end(c->config->exec, &c->run, &out, NULL); /* its result is not used */
    buf_done(&c->token);
    buf_done(&c->cert);
    buf_done(&c->key);
    free(c);
}

static bool credential_set_text(struct buf *b, struct str text)
{
    if (str_eq(buf_view(b), text))
        return false;
    buf_reset(b);
    buf_str(b, text);
    return true;
}

static void credential_take(struct credential *c, struct str token, struct str cert, struct str key)
{
    bool is_new = credential_set_text(&c->token, token);

    is_new |= credential_set_text(&c->cert, cert);
    is_new |= credential_set_text(&c->key, key);
    c->generation += is_new || !c->has_it;
    c->has_it = true;
    c->is_refused = false;
    c->read_ms = clock_mono_ms(c->clock);
}

static enum credential_state credential_give(const struct credential *c, struct credential_now *ret)
{
    *ret = (struct credential_now){ buf_view(&c->token), buf_view(&c->cert), buf_view(&c->key), c->generation };
    return CREDENTIAL_READY;
}

/* ---- a file ---- */

static int read_token(const char *path, struct buf *out, struct err *e)
{
    struct str token;

    if (kube_file_read(path, TOKEN_MAX, out, e) < 0)
        return err_wrap(e, "%s", path);
    token = str_trim(buf_view(out));
    if (!token.n)
        return err_set(e, ERR_INVALID, "%s: is empty; it must contain a token", path);
    for (size_t i = 0; i < token.n; i++)
        if ((unsigned char)token.p[i] <= ' ')
            return err_set(e, ERR_INVALID, "%s: has more than one line; it must contain a token", path);
    return 0;
}

static enum credential_state from_file(struct credential *c, struct credential_now *ret, struct err *e)
{
    autoarena a = { 0 };
    autobuf text = { 0 };
    bool is_fresh = c->has_it && !c->is_refused && clock_mono_ms(c->clock) < c->read_ms + FILE_FRESH_MS;

    if (is_fresh)
        return credential_give(c, ret);
    if (read_token(arena_cstr(&a, c->config->token_file), &text, e) == 0) {
        credential_take(c, str_trim(buf_view(&text)), STR_NULL, STR_NULL);
        return credential_give(c, ret);
    }
    if (!c->has_it)
        return CREDENTIAL_FAILED;
    c->read_ms = clock_mono_ms(c->clock); /* being replaced at this very moment, perhaps: the old one will do */
    c->is_refused = false;
    return credential_give(c, ret);
}

/* ---- files of a certificate and its key ---- */

static bool has_pair(const struct credential *c)
{
    const struct http_tls *tls = &c->config->tls;

    return tls->cert_file.n && tls->key_file.n && !tls->cert_pem.n && !tls->key_pem.n;
}

/* A connection keeps its credential, even after that expires: new files need new connections. If the files cannot be
 * read, the next connection reports why. */
static enum credential_state from_pair(struct credential *c, struct credential_now *ret)
{
    const struct http_tls *tls = &c->config->tls;
    autoarena a = { 0 };
    autobuf cert = { 0 }, key = { 0 };
    int64_t now_ms = clock_mono_ms(c->clock);

    if (c->has_it && !c->is_refused && now_ms < c->read_ms + FILE_FRESH_MS)
        return credential_give(c, ret);
    if (kube_file_read(arena_cstr(&a, tls->cert_file), PEM_MAX, &cert, NULL) == 0 &&
        kube_file_read(arena_cstr(&a, tls->key_file), PEM_MAX, &key, NULL) == 0 && certificate_fits(&cert, &key)) {
        credential_take(c, c->config->token, buf_view(&cert), buf_view(&key));
    } else if (c->has_it) {
        c->read_ms = now_ms - FILE_FRESH_MS + PAIR_MS;
        c->is_refused = false;
    }
    memset(key.p ? key.p : (char[]){ 0 }, 0, key.n);
    if (c->has_it)
        return credential_give(c, ret);
    *ret = (struct credential_now){ .token = c->config->token };
    return CREDENTIAL_READY;
}

/* ---- a plugin ---- */

static void plugin_failed(struct credential *c, const struct err *e)
{
    c->err = *e;
    c->delay_ms = MIN_OF(MAX_OF(c->delay_ms * 2, AGAIN_MIN_MS), AGAIN_MAX_MS);
    c->again_ms = clock_mono_ms(c->clock) + c->delay_ms;
}

static void plugin_start(struct credential *c)
{
    struct err e = { 0 };

    if (exec_plugin_start(c->config->exec, &c->run, &e) < 0)
        plugin_failed(c, &e);
    else
        c->started_ms = clock_mono_ms(c->clock);
}

static void plugin_done(struct credential *c, const struct exec_credential *got)
{
    int64_t now_ms = clock_now_ms(c->clock);

    credential_take(c, got->token, got->cert_pem, got->key_pem);
    c->err.code = ERR_OK;
    c->delay_ms = 0;
    c->again_ms = c->read_ms + AGAIN_MIN_MS;
    c->expires_ms = got->expires_ms ? got->expires_ms : INT64_MAX;
    c->renew_ms = c->expires_ms;
    if (got->expires_ms)
        c->renew_ms = got->expires_ms - MIN_OF(EARLY_MS, MAX_OF(got->expires_ms - now_ms, 0) / 10);
}

static void plugin_end(struct credential *c)
{
    struct exec_credential got;
    autoarena a = { 0 };
    autobuf out = { 0 };
    struct err e = { 0 };

    if (exec_plugin_end(c->config->exec, &c->run, &out, &e) < 0) {
        plugin_failed(c, &e);
    } else if (exec_plugin_parse(&a, c->config->exec, buf_view(&out), &got, &e) < 0) {
        (void)err_wrap(&e, "credential plugin %.*s", STR_ARG(c->config->exec->command));
        plugin_failed(c, &e);
    } else {
        plugin_done(c, &got);
    }
    memset(out.p ? out.p : (char[]){ 0 }, 0, out.n);
}

static enum credential_state from_plugin(struct credential *c, struct credential_now *ret, struct err *e)
{
    int64_t wall_ms = clock_now_ms(c->clock), mono_ms = clock_mono_ms(c->clock);
    bool is_usable = c->has_it && !c->is_refused && wall_ms < c->expires_ms;
    bool is_wanted = !is_usable || wall_ms >= c->renew_ms;

    if (is_wanted && c->run.fd < 0 && mono_ms >= c->again_ms)
        plugin_start(c);
    if (is_usable)
        return credential_give(c, ret);
    if (c->run.fd >= 0)
        return CREDENTIAL_BUSY;
    if (c->err.code == ERR_OK) /* refused as soon as it was there */
        (void)err_set(&c->err, ERR_FORBIDDEN, "the server rejected the credentials from credential plugin %.*s",
                      STR_ARG(c->config->exec->command));
    if (e)
        *e = c->err;
    return CREDENTIAL_FAILED;
}

/* ---- asking ---- */

enum credential_state credential_get(struct credential *c, struct credential_now *ret, struct err *e)
{
    if (c->config->exec)
        return from_plugin(c, ret, e);
    if (c->config->token_file.n)
        return from_file(c, ret, e);
    if (has_pair(c))
        return from_pair(c, ret);
    *ret = (struct credential_now){ .token = c->config->token };
    return CREDENTIAL_READY;
}

bool credential_refused(struct credential *c, uint64_t generation)
{
    if (!c->config->exec && !c->config->token_file.n && !has_pair(c))
        return false;
    if (generation == c->generation)
        c->is_refused = true;
    return true;
}

int credential_fd(const struct credential *c)
{
    return c->run.fd;
}

int64_t credential_due_ms(const struct credential *c)
{
    bool has_limit = c->run.fd >= 0 && (c->config->exec->mode == EXEC_NEVER || !isatty(0));

    return has_limit ? c->started_ms + PLUGIN_MS : INT64_MAX;
}

void credential_turn(struct credential *c)
{
    siginfo_t info = { 0 };

    if (c->run.fd < 0)
        return;
    if ((waitid(P_PID, (id_t)c->run.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == c->run.pid) ||
        clock_mono_ms(c->clock) >= credential_due_ms(c))
        plugin_end(c);
}
