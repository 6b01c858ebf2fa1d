/* failure.c - from libcurl's codes to sentences that name the server, what happened and what to do */
#include "http/client_internal.h"

#include "base/util.h"

struct failure {
    CURLcode code;
    const char *what; /* NULL: as libcurl says */
    const char *todo; /* may be NULL */
};

static const struct failure failures[] = {
    { CURLE_COULDNT_RESOLVE_PROXY, "no address is known for the proxy",
      "check proxy-url, HTTPS_PROXY and this machine's DNS" },
    { CURLE_COULDNT_RESOLVE_HOST, "no address is known for this name", "check the name and this machine's DNS" },
    { CURLE_COULDNT_CONNECT, NULL, "is the server up, and are address and port right?" },
    { CURLE_PROXY, NULL, "check the proxy" },
    { CURLE_PEER_FAILED_VERIFICATION, NULL,
      "give the certificate authority that signed the server's certificate, or the name it is for (tls-server-name)" },
    { CURLE_SSL_CACERT_BADFILE, "the certificate authority cannot be read", "it must be a PEM certificate" },
    { CURLE_SSL_CERTPROBLEM, NULL, "check the client certificate and its key: PEM, and belonging together" },
    { CURLE_SSL_CONNECT_ERROR, NULL, "is it a TLS port, and does it accept our certificate?" },
    { CURLE_OPERATION_TIMEDOUT, "no connection in time", "is the address right, and no firewall in between?" },
    { CURLE_UNSUPPORTED_PROTOCOL, "this is no HTTP server", "is it a TLS port? Then the URL begins with https://" },
    { CURLE_WEIRD_SERVER_REPLY, "this is no HTTP server", NULL },
    { CURLE_GOT_NOTHING, "the connection was closed without an answer", NULL },
    { CURLE_PARTIAL_FILE, "the answer was cut off", NULL },
    { CURLE_SEND_FAIL_REWIND, "the connection was closed after the request was sent", NULL },
    { CURLE_BAD_CONTENT_ENCODING, "the compressed answer is damaged", NULL },
};

static const struct failure *failure_find(CURLcode code)
{
    for (size_t i = 0; i < ARRAY_LEN(failures); i++)
        if (failures[i].code == code)
            return &failures[i];
    return NULL;
}

/* Was all of it handed over, so that the server may act on it? Whatever happened then: the connection that failed last
 * may have been a second one. */
static bool is_sent(const struct http_exchange *x)
{
    curl_off_t before_us = 0;

    (void)curl.easy_getinfo(x->easy, CURLINFO_PRETRANSFER_TIME_T, &before_us);
    return x->has_begun || (x->body.n ? x->body_at == x->body.n : before_us > 0);
}

/* A connection that somebody closed says nothing about what is wrong with it. */
static const char *todo_of(const struct failure *f, const char *what)
{
    return !f || strstr(what, "reset by peer") || strstr(what, "unexpected eof") ? NULL : f->todo;
}

void failure_tell(struct http_exchange *x, CURLcode code)
{
    const struct failure *f = failure_find(code);
    const char *what = f && f->what ? f->what : x->trouble[0] ? x->trouble : curl.easy_strerror(code);
    long errnum = 0;
    char reason[64] = "";
    const char *todo;

    x->answer.is_unknown = is_sent(x);
    if (x->is_too_big) {
        (void)err_set(&x->answer.err, ERR_TOO_BIG, "%s: the answer has more than %zu bytes", x->client->shown,
                      x->request.max_bytes);
        return;
    }
    if (code == CURLE_COULDNT_CONNECT && curl.easy_getinfo(x->easy, CURLINFO_OS_ERRNO, &errnum) == CURLE_OK && errnum) {
        (void)snprintf(reason, sizeof(reason), "%s", strerror((int)errnum));
        what = reason;
    }
    todo = todo_of(f, what);
    (void)err_set(&x->answer.err, ERR_IO, "%s: %s%s%s", x->client->shown, what, todo ? "; " : "", todo ? todo : "");
}

void failure_tell_late(struct http_exchange *x, enum exchange_limit limit)
{
    const struct http_request *r = &x->request;

    if (x->answer.err.code != ERR_OK) /* it could not even be started */
        return;
    x->answer.is_unknown = is_sent(x);
    if (limit == LIMIT_TOTAL)
        (void)err_set(&x->answer.err, ERR_IO, "%s: no whole answer in %lld ms", x->client->shown,
                      (long long)r->total_ms);
    else if (limit == LIMIT_IDLE)
        (void)err_set(&x->answer.err, ERR_IO, "%s: nothing more came for %lld ms", x->client->shown,
                      (long long)r->idle_ms);
    else
        (void)err_set(&x->answer.err, ERR_IO, "%s: no answer in %lld ms", x->client->shown, (long long)r->head_ms);
}
