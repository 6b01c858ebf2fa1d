/* client.c - the server, requests and their ends
 *
 * A request is an easy handle of libcurl. Those are kept and used again: making one costs more than the request.
 *
 * The body is given to libcurl through a function that can say no: libcurl repeats a request by itself when a kept
 * connection turns out to be closed, which is fine as long as nothing was sent; but a body that went out may have
 * been acted on, and sending it again would hide that. Then the request ends as an error of unknown outcome.
 */
#include "http/client_internal.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/util.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

enum { BUFFER_BYTES = 64 << 10, UPLOAD_BYTES = 16 << 10 };
enum { CA_FRESH_S = 600 };                                           /* files of authorities are replaced, seldom */
enum { KEEPALIVE_S = 15, KEEPALIVE_STEP_S = 5, UNHEARD_MS = 20000 }; /* until the kernel gives a dead peer up */

/* ---- limits in time ---- */

static int64_t limit_of(const struct http_exchange *x, enum exchange_limit limit)
{
    const struct http_request *r = &x->request;

    switch (limit) {
    case LIMIT_HEAD:
        return x->has_begun ? INT64_MAX : x->heard_ms + r->head_ms;
    case LIMIT_IDLE:
        return x->has_begun ? x->heard_ms + r->idle_ms : INT64_MAX;
    default:
        return r->total_ms ? x->sent_us / 1000 + r->total_ms : INT64_MAX;
    }
}

/* Which limit comes first. */
static enum exchange_limit limit_first(const struct http_exchange *x)
{
    enum exchange_limit first = x->has_begun ? LIMIT_IDLE : LIMIT_HEAD;

    return limit_of(x, LIMIT_TOTAL) < limit_of(x, first) ? LIMIT_TOTAL : first;
}

static void heard(struct http_exchange *x)
{
    x->heard_ms = http_mono_ms();
    if (x->pool)
        x->pool->heard_ms = x->heard_ms;
}

/* ---- life of an exchange ---- */

static CURL *easy_take(struct http_client *c)
{
    CURL *easy = c->n_spare ? c->spare[--c->n_spare] : curl.easy_init();

    assert(easy); /* memory */
    return easy;
}

static void easy_give(struct http_client *c, CURL *easy)
{
    if (c->n_spare == SPARE_EASIES) {
        curl.easy_cleanup(easy);
        return;
    }
    curl.easy_reset(easy);
    c->spare[c->n_spare++] = easy;
}

static void exchange_free(struct http_exchange *x)
{
    struct http_client *c = x->client;

    pool_remove(x);
    heap_remove(&c->timers, &x->node);
    list_remove(&x->link);
    if (x->easy)
        easy_give(c, x->easy);
    curl.slist_free_all(x->headers);
    buf_done(&x->url);
    buf_done(&x->body);
    buf_done(&x->collected);
    free(x);
}

/* Counted, told, released. */
static void exchange_end(struct http_exchange *x)
{
    curl_off_t sent = 0, received = 0;
    struct http_client *c = x->client;

    (void)curl.easy_getinfo(x->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    (void)curl.easy_getinfo(x->easy, CURLINFO_SIZE_DOWNLOAD_T, &received);
    c->stats.sent_bytes += (uint64_t)sent;
    c->stats.received_bytes += (uint64_t)received;
    c->stats.in_flight--;
    x->answer.took_us = clock_mono_us(&clock_real) - x->sent_us;
    x->answer.body = buf_view(&x->collected);
    x->is_cancelled = true; /* whoever cancels it from its own end does nothing */
    if (x->request.on_end)
        x->request.on_end(x->request.ctx, &x->answer);
    exchange_free(x);
}

void exchange_finish(struct http_exchange *x, CURLcode code)
{
    if (x->is_cancelled)
        return;
    if (code != CURLE_OK)
        failure_tell(x, code);
    else if (!x->has_begun)
        failure_tell(x, CURLE_GOT_NOTHING);
    exchange_end(x);
}

void exchange_expire(struct http_exchange *x, int64_t now_ms)
{
    enum exchange_limit limit = limit_first(x);
    int64_t due_ms = limit_of(x, limit);

    heap_remove(&x->client->timers, &x->node);
    if (due_ms > now_ms) { /* something was heard meanwhile */
        x->due_ms = due_ms;
        heap_push(&x->client->timers, &x->node);
        return;
    }
    failure_tell_late(x, limit);
    /* Not a word on any of its connections since it was sent: they may be dead without saying so. */
    if (!x->has_begun && x->pool && x->pool == pool_newest(x->client) && x->pool->heard_ms <= x->heard_ms)
        pools_retire(x->client);
    exchange_end(x);
}

void http_set_idle(struct http_exchange *x, int64_t idle_ms)
{
    x->request.idle_ms = idle_ms;
    if (x->is_cancelled)
        return;
    x->due_ms = limit_of(x, limit_first(x));
    heap_moved(&x->client->timers, &x->node);
    if (!x->client->is_turning)
        pools_arm(x->client);
}

void http_cancel(struct http_exchange *x)
{
    struct http_client *c = x->client;

    if (x->is_cancelled)
        return;
    x->is_cancelled = true;
    c->stats.in_flight--;
    heap_remove(&c->timers, &x->node);
    list_remove(&x->link);
    list_push(&c->dead, &x->link);
    if (!c->is_inside && !c->is_turning)
        exchange_free(x);
}

/* ---- what libcurl calls ---- */

/* Called for each line of each head; an empty line ends one, and the last one counts (not "100 Continue", nor what a
 * proxy said about the tunnel). */
static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
    struct http_exchange *x = ctx;
    long status = 0;

    heard(x);
    if (x->is_cancelled)
        return 0;
    if (n * size > 2 || x->has_begun)
        return n * size;
    (void)p;
    (void)curl.easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200)
        return n * size;
    x->has_begun = true;
    x->due_ms = limit_of(x, limit_first(x)); /* another limit now, which may be sooner */
    heap_moved(&x->client->timers, &x->node);
    x->answer.status = (int)status;
    if (x->request.on_head)
        x->request.on_head(x->request.ctx, &x->answer);
    return x->is_cancelled ? 0 : n * size;
}

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    struct http_exchange *x = ctx;
    struct str data = { p, n * size };

    heard(x);
    if (x->is_cancelled)
        return 0;
    if (x->request.on_data && x->answer.status < 300) {
        x->request.on_data(x->request.ctx, data);
        return x->is_cancelled ? 0 : data.n;
    }
    if (data.n > x->request.max_bytes - x->collected.n) {
        x->is_too_big = true;
        return 0;
    }
    buf_str(&x->collected, data);
    return data.n;
}

static size_t on_upload(char *p, size_t size, size_t n, void *ctx)
{
    struct http_exchange *x = ctx;
    size_t part = MIN_OF(n * size, x->body.n - x->body_at);

    if (part)
        memcpy(p, x->body.p + x->body_at, part);
    x->body_at += part;
    heard(x);
    return part;
}

/* libcurl wants to send the body again: only if none of it has left. */
static int on_rewind(void *ctx, curl_off_t offset, int origin)
{
    struct http_exchange *x = ctx;

    return offset != 0 || origin != SEEK_SET || x->body_at ? CURL_SEEKFUNC_FAIL : CURL_SEEKFUNC_OK;
}

static int on_open(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
    struct http_client *c = ctx;
    unsigned unheard_ms = UNHEARD_MS;

    (void)purpose;
    c->stats.connections++;
    /* Data that nobody confirms ends the connection after this time, not after the kernel's fifteen minutes. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unheard_ms, sizeof(unheard_ms)); /* better than not */
    return CURL_SOCKOPT_OK;
}

/* ---- sending ---- */

/* Copied: the certificate may be replaced while requests wait for a connection. */
static void set_blob(CURL *easy, CURLoption option, const struct buf *b)
{
    struct curl_blob blob = { b->p, b->n, CURL_BLOB_COPY };

    curl.easy_setopt(easy, option, &blob);
}

static void set_tls(const struct http_client *c, CURL *easy)
{
    curl.easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl.easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, c->is_insecure ? 0L : 1L);
    curl.easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, c->is_insecure ? 0L : 2L);
    curl.easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, (long)CA_FRESH_S);
    if (c->ca_pem.n || c->ca_file) {
        curl.easy_setopt(easy, CURLOPT_CAPATH, NULL); /* only this one */
        curl.easy_setopt(easy, CURLOPT_CAINFO, c->ca_pem.n ? NULL : c->ca_file);
    }
    if (c->ca_pem.n)
        set_blob(easy, CURLOPT_CAINFO_BLOB, &c->ca_pem);
    if (c->cert_pem.n)
        set_blob(easy, CURLOPT_SSLCERT_BLOB, &c->cert_pem);
    else if (c->cert_file)
        curl.easy_setopt(easy, CURLOPT_SSLCERT, c->cert_file);
    if (c->key_pem.n)
        set_blob(easy, CURLOPT_SSLKEY_BLOB, &c->key_pem);
    else if (c->key_file)
        curl.easy_setopt(easy, CURLOPT_SSLKEY, c->key_file);
}

static void add_header(struct http_exchange *x, const char *name, struct str value)
{
    autobuf line = { 0 };

    buf_fmt(&line, "%s: %.*s", name, STR_ARG(value));
    x->headers = curl.slist_append(x->headers, line.p);
}

static void set_server(struct http_client *c, struct http_exchange *x)
{
    CURL *easy = x->easy;

    curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl.easy_setopt(easy, CURLOPT_USERAGENT, c->user_agent);
    curl.easy_setopt(easy, CURLOPT_HTTP_VERSION,
                     c->is_http1 ? (long)CURL_HTTP_VERSION_1_1 : (long)CURL_HTTP_VERSION_2TLS);
    /* Whether a connection can be shared is known after the TLS handshake. Without one, libcurl would learn it from the
     * end of the first answer, and a watch has none. */
    curl.easy_setopt(easy, CURLOPT_PIPEWAIT, (long)(str_starts(str_of(c->base), STR("https:")) && !c->is_http1));
    curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)c->connect_ms);
    curl.easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl.easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_S);
    curl.easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_STEP_S);
    curl.easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_open);
    curl.easy_setopt(easy, CURLOPT_SOCKOPTDATA, c);
    curl.easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    if (c->connect) {
        curl.easy_setopt(easy, CURLOPT_CONNECT_TO, c->connect);
        add_header(x, "Host", str_of(c->host));
    }
    if (c->proxy)
        curl.easy_setopt(easy, CURLOPT_PROXY, c->proxy);
    else if (c->is_local)
        curl.easy_setopt(easy, CURLOPT_NOPROXY, "*");
    set_tls(c, easy);
}

static void set_request(struct http_exchange *x, const struct http_request *r)
{
    autoarena scratch = { 0 };
    CURL *easy = x->easy;

    buf_str(&x->url, str_of(x->client->base));
    buf_str(&x->url, r->path);
    curl.easy_setopt(easy, CURLOPT_URL, x->url.p);
    curl.easy_setopt(easy, CURLOPT_CUSTOMREQUEST, r->method);
    add_header(x, "Accept", str_of(r->accept ? r->accept : "application/json"));
    if (r->token.n)
        add_header(x, "Authorization", arena_cat(&scratch, STR("Bearer "), r->token));
    for (const char *const *line = r->headers; line && *line; line++)
        x->headers = curl.slist_append(x->headers, *line);
    if (r->is_alone)
        curl.easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    if (r->is_zipped)
        curl.easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
    if (r->body.n) {
        buf_str(&x->body, r->body);
        add_header(x, "Content-Type", str_of(r->body_type));
        x->headers = curl.slist_append(x->headers, "Expect:"); /* do not ask first */
        curl.easy_setopt(easy, CURLOPT_POST, 1L);
        curl.easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.n);
        curl.easy_setopt(easy, CURLOPT_READFUNCTION, on_upload);
        curl.easy_setopt(easy, CURLOPT_READDATA, x);
        curl.easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_rewind);
        curl.easy_setopt(easy, CURLOPT_SEEKDATA, x);
        curl.easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_BYTES);
    }
}

static void set_answer(struct http_exchange *x)
{
    CURL *easy = x->easy;

    curl.easy_setopt(easy, CURLOPT_BUFFERSIZE, x->request.total_ms ? (long)UPLOAD_BYTES : (long)BUFFER_BYTES);
    curl.easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl.easy_setopt(easy, CURLOPT_HEADERDATA, x);
    curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl.easy_setopt(easy, CURLOPT_WRITEDATA, x);
    curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, x->trouble);
    curl.easy_setopt(easy, CURLOPT_PRIVATE, x);
}

static void exchange_start(struct http_exchange *x)
{
    struct err e;

    if (pool_add(pool_newest(x->client), x, &e) == 0)
        return;
    x->answer.err = e;
    x->request.head_ms = x->request.total_ms = 0; /* told in the next turn */
    x->due_ms = 0;
    heap_moved(&x->client->timers, &x->node);
}

struct http_exchange *http_send(struct http_client *c, const struct http_request *r)
{
    struct http_exchange *x = xcalloc(1, sizeof(*x));

    x->client = c;
    x->easy = easy_take(c);
    x->request = *r;
    x->request.head_ms = r->head_ms ? r->head_ms : HTTP_HEAD_MS;
    x->request.idle_ms = r->idle_ms ? r->idle_ms : x->request.head_ms;
    x->request.max_bytes = r->max_bytes ? r->max_bytes : HTTP_MAX_BYTES;
    x->answer.inner = x;
    x->sent_us = clock_mono_us(&clock_real);
    heard(x);
    set_server(c, x);
    set_request(x, r);
    set_answer(x);
    curl.easy_setopt(x->easy, CURLOPT_HTTPHEADER, x->headers);
    x->request.path = x->request.body = x->request.token = STR_NULL;
    x->request.headers = NULL;
    x->due_ms = limit_of(x, limit_first(x));
    heap_push(&c->timers, &x->node);
    c->stats.requests++;
    c->stats.in_flight++;
    list_push(c->is_inside ? &c->starting : &c->exchanges, &x->link);
    if (!c->is_inside)
        exchange_start(x);
    if (!c->is_turning)
        pools_arm(c);
    return x;
}

void exchanges_sweep(struct http_client *c)
{
    LIST_FOREACH(struct http_exchange, x, &c->dead, link)
        exchange_free(x);
    for (struct list_link *link; (link = list_pop_front(&c->starting));) {
        list_push(&c->exchanges, link);
        exchange_start(LIST_ITEM(link, struct http_exchange, link));
    }
}

struct str http_header(const struct http_answer *a, const char *name)
{
    struct curl_header *h;

    if (!a->inner || curl.easy_header(a->inner->easy, name, 0, CURLH_HEADER, -1, &h) != CURLHE_OK)
        return STR_NULL;
    return str_of(h->value);
}

/* ---- the client ---- */

static int sooner(const struct heap_node *a, const struct heap_node *b)
{
    const struct http_exchange *x = HEAP_ITEM(a, const struct http_exchange, node);
    const struct http_exchange *y = HEAP_ITEM(b, const struct http_exchange, node);

    return (x->due_ms > y->due_ms) - (x->due_ms < y->due_ms);
}

static int client_set_tls(struct http_client *c, const struct http_tls *tls, struct err *e)
{
    bool has_cert = tls->cert_file.n || tls->cert_pem.n, has_key = tls->key_file.n || tls->key_pem.n;

    if (has_cert && !has_key)
        return err_set(e, ERR_INVALID, "a client certificate needs its key");
    if (has_key && !has_cert)
        return err_set(e, ERR_INVALID, "a client key needs its certificate");
    c->ca_file = url_own(tls->ca_file);
    c->cert_file = url_own(tls->cert_file);
    c->key_file = url_own(tls->key_file);
    buf_str(&c->ca_pem, tls->ca_pem);
    buf_str(&c->cert_pem, tls->cert_pem);
    buf_str(&c->key_pem, tls->key_pem);
    c->is_insecure = tls->is_insecure;
    return 0;
}

int http_client_new(const struct http_options *opt, struct http_client **ret, struct err *e)
{
    struct http_client *c;

    if (curl_load(e) < 0)
        return -1;
    c = xcalloc(1, sizeof(*c));
    c->epoll = c->timer = c->event = -1;
    list_init(&c->pools);
    list_init(&c->exchanges);
    list_init(&c->dead);
    list_init(&c->starting);
    heap_init(&c->timers, sooner);
    c->proxy = url_own(opt->proxy);
    c->user_agent = url_own(opt->user_agent.n ? opt->user_agent : STR("pumice"));
    c->is_http1 = opt->is_http1;
    c->connect_ms = opt->connect_ms ? opt->connect_ms : HTTP_CONNECT_MS;
    if (url_take(c, opt->url, opt->tls.server_name, e) < 0 || client_set_tls(c, &opt->tls, e) < 0 ||
        pools_init(c, e) < 0) {
        http_client_free(c);
        return -1;
    }
    *ret = c;
    return 0;
}

void http_client_free(struct http_client *c)
{
    if (!c)
        return;
    assert(!c->is_inside && !c->is_turning);
    list_append(&c->exchanges, &c->starting);
    list_append(&c->exchanges, &c->dead);
    LIST_FOREACH(struct http_exchange, x, &c->exchanges, link)
        exchange_free(x);
    pools_done(c);
    curl.slist_free_all(c->connect);
    while (c->n_spare)
        curl.easy_cleanup(c->spare[--c->n_spare]);
    heap_done(&c->timers);
    free(c->base);
    free(c->shown);
    free(c->host);
    free(c->proxy);
    free(c->user_agent);
    free(c->ca_file);
    free(c->cert_file);
    free(c->key_file);
    buf_done(&c->ca_pem);
    buf_done(&c->cert_pem);
    buf_done(&c->key_pem);
    free(c);
}

void http_client_set_certificate(struct http_client *c, struct str cert_pem, struct str key_pem)
{
    pools_retire(c);
    buf_reset(&c->cert_pem);
    buf_str(&c->cert_pem, cert_pem);
    buf_reset(&c->key_pem);
    buf_str(&c->key_pem, key_pem);
}

void http_client_stats(const struct http_client *c, struct http_stats *ret)
{
    *ret = c->stats;
}
