/* failure.c - error messages of the client: the server, the failure and a hint */
#include "http/client_internal.h"

#include "base/util.h"

static const struct {
    const char *what; /* NULL: as the detail says */
    const char *todo; /* may be NULL */
} failures[FAILURE_MAX] = {
    [FAILURE_RESOLVE] = { "cannot resolve this name", "check the name and this machine's DNS" },
    [FAILURE_RESOLVE_PROXY] = { "cannot resolve the name of the proxy",
                                "check proxy-url, HTTPS_PROXY and this machine's DNS" },
    [FAILURE_CONNECT] = { NULL, "check that the server is up, and check address and port" },
    [FAILURE_LATE] = { "connection timed out", "check the address, and that no firewall is in between" },
    [FAILURE_PROXY] = { NULL, "check the proxy" },
    [FAILURE_AUTHORITY] = { "cannot read the certificate authority", "it must be a PEM certificate" },
    [FAILURE_CERTIFICATE] = { "cannot use the client certificate", "check that certificate and key are PEM and match" },
    [FAILURE_VERIFY] = { NULL, "give the certificate authority that signed the server's certificate, or the name it is "
                               "for (tls-server-name)" },
    [FAILURE_SHAKE] = { NULL, "check that it is a TLS port and accepts our certificate" },
    [FAILURE_IO] = { NULL, NULL },
    [FAILURE_NO_ANSWER] = { "the connection was closed without an answer", NULL },
    [FAILURE_CLOSED] = { "the connection was closed after the request was sent", NULL },
    [FAILURE_CUT_OFF] = { "the answer was cut off", NULL },
    [FAILURE_NO_HTTP] = { "not an HTTP server", "for a TLS port the URL must begin with https://" },
    [FAILURE_ZIP] = { "the compressed answer is damaged", NULL },
};

static const enum http_reached reached[FAILURE_MAX] = {
    [FAILURE_RESOLVE] = HTTP_UNREACHED,     [FAILURE_RESOLVE_PROXY] = HTTP_UNREACHED,
    [FAILURE_CONNECT] = HTTP_UNREACHED,     [FAILURE_LATE] = HTTP_UNREACHED,
    [FAILURE_PROXY] = HTTP_UNREACHED,       [FAILURE_AUTHORITY] = HTTP_UNTRUSTED,
    [FAILURE_CERTIFICATE] = HTTP_UNTRUSTED, [FAILURE_VERIFY] = HTTP_UNTRUSTED,
    [FAILURE_SHAKE] = HTTP_NO_TLS,
};

/* Was all of it handed over, so that the server may act on it? */
static bool is_sent(const struct http_exchange *x)
{
    return x->has_begun || x->out_at == x->out.n;
}

void failure_tell(struct http_exchange *x)
{
    const char *what = failures[x->failure].what ? failures[x->failure].what : x->trouble;
    const char *todo = failures[x->failure].todo;

    x->answer.is_unknown = is_sent(x);
    x->answer.reached = reached[x->failure];
    if (x->failure == FAILURE_TOO_BIG) {
        (void)err_set(&x->answer.err, ERR_TOO_BIG, "%s: the answer has more than %zu bytes", x->client->shown,
                      x->request.max_bytes);
        return;
    }
    if (x->failure == FAILURE_SHAKE && strstr(what, "closed")) /* which says nothing about what is wrong */
        todo = NULL;
    (void)err_set(&x->answer.err, ERR_IO, "%s: %s%s%s", x->client->shown, what, todo ? "; " : "", todo ? todo : "");
}

void failure_tell_late(struct http_exchange *x, enum exchange_limit limit)
{
    const struct http_request *r = &x->request;

    x->answer.is_unknown = is_sent(x);
    x->answer.reached = x->has_begun ? HTTP_REACHED : HTTP_UNREACHED;
    if (limit == LIMIT_TOTAL)
        (void)err_set(&x->answer.err, ERR_IO, "%s: answer incomplete after %lld ms", x->client->shown,
                      (long long)r->total_ms);
    else if (limit == LIMIT_IDLE)
        (void)err_set(&x->answer.err, ERR_IO, "%s: no data for %lld ms", x->client->shown, (long long)r->idle_ms);
    else
        (void)err_set(&x->answer.err, ERR_IO, "%s: no answer within %lld ms", x->client->shown, (long long)r->head_ms);
}
