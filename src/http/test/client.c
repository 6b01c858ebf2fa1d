/* client.c - tests of the client against a real server: what arrives, what is shared, and every way it can go wrong */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/util.h"
#include "http/client_internal.h"
#include "http/test/peer.h"

#include <poll.h>
#include <signal.h>

static char top[64];
static struct peer *plain, *secure, *strict; /* strict asks for a certificate */

/* ---- one request and its end ---- */

struct end {
    int status, n_ends, n_heads, n_pieces;
    struct err err;
    bool is_unknown;
    char body[4096], retry_after[32];
    size_t body_n;
    struct http_client *client;
    struct http_exchange *exchange;
    int cancel_at; /* the piece in which it is cancelled; 0: not at all */
    const char *then;
    struct end *next;
};

static void on_head(void *ctx, const struct http_answer *a)
{
    struct end *end = ctx;

    end->n_heads++;
    end->status = a->status;
}

static void keep(struct end *end, struct str data)
{
    size_t n = MIN_OF(data.n, sizeof(end->body) - 1 - MIN_OF(end->body_n, sizeof(end->body) - 1));

    if (n)
        memcpy(end->body + end->body_n, data.p, n);
    end->body_n += data.n;
}

static struct http_exchange *get(struct http_client *c, const char *path, struct end *end);

static void on_data(void *ctx, struct str data)
{
    struct end *end = ctx;

    keep(end, data);
    end->n_pieces++;
    if (end->then)
        end->next->exchange = get(end->client, end->then, end->next);
    end->then = NULL;
    if (end->cancel_at == end->n_pieces)
        http_cancel(end->exchange);
}

static void on_end(void *ctx, const struct http_answer *a)
{
    struct end *end = ctx;
    struct str retry = http_header(a, "retry-after");

    end->n_ends++;
    end->status = a->status;
    end->err = a->err;
    end->is_unknown = a->is_unknown;
    (void)snprintf(end->retry_after, sizeof(end->retry_after), "%.*s", STR_ARG(retry));
    keep(end, a->body);
    if (end->then)
        end->next->exchange = get(end->client, end->then, end->next);
    http_cancel(end->exchange); /* of no use, and harmless */
}

static struct http_exchange *get(struct http_client *c, const char *path, struct end *end)
{
    struct http_request r = { .method = "GET", .path = str_of(path), .ctx = end, .on_head = on_head, .on_end = on_end };

    r.total_ms = 60000;
    end->client = c;
    return end->exchange = http_send(c, &r);
}

static void turn(struct http_client *c)
{
    struct pollfd fd = { http_fd(c), POLLIN, 0 };

    if (poll(&fd, 1, 30000) != 1)
        fail_msg("nothing happens"); /* limits are shorter than that: one was forgotten */
    http_turn(c);
}

static void finish(struct http_client *c, const struct end *end)
{
    while (!end->n_ends)
        turn(c);
}

static struct http_client *client(const struct peer *p, const char *scheme, struct http_tls how)
{
    struct http_options opt = { .tls = how, .user_agent = STR("tester/1") };
    struct http_client *c = NULL;
    struct err e = { 0 };
    char url[64];

    (void)snprintf(url, sizeof(url), "%s://127.0.0.1:%d", scheme, peer_port(p));
    opt.url = str_of(url);
    if (http_client_new(&opt, &c, &e) < 0)
        fail_msg("%s", e.text);
    return c;
}

static void ask(struct http_client *c, const char *path, struct end *end)
{
    *end = (struct end){ 0 };
    get(c, path, end);
    finish(c, end);
}

/* ---- cases ---- */

static void answers_whole(void **state)
{
    struct http_client *c = client(plain, "http", (struct http_tls){ 0 });
    struct end end;

    (void)state;
    ask(c, "/hello", &end);
    assert_int_equal(end.err.code, ERR_OK);
    assert_int_equal(end.status, 200);
    assert_int_equal(end.n_heads, 1);
    assert_string_equal(end.body, "hello");
    ask(c, "/status/429", &end);
    assert_int_equal(end.err.code, ERR_OK); /* an answer */
    assert_int_equal(end.status, 429);
    assert_string_equal(end.retry_after, "7");
    assert_string_equal(end.body, "no");
    ask(c, "/early", &end);
    assert_int_equal(end.status, 200);
    assert_int_equal(end.n_heads, 1);
    ask(c, "/untilclose", &end);
    assert_string_equal(end.body, "hello");
    ask(c, "/redirect", &end);
    assert_int_equal(end.status, 302);
    ask(c, "/big/300000", &end);
    assert_int_equal(end.body_n, 300000);
    http_client_free(c);
}

static void sends_what_it_is_told(void **state)
{
    struct http_client *c = client(plain, "http", (struct http_tls){ 0 });
    struct http_request r = { .method = "PATCH", .path = STR("/echo"), .total_ms = 60000, .on_end = on_end };
    static const char *const lines[] = { "PATCH /echo HTTP/1.1\r\n",   "Authorization: Bearer secret\r\n",
                                         "Accept: text/x\r\n",         "Content-Type: application/merge-patch+json\r\n",
                                         "Impersonate-User: jane\r\n", "User-Agent: tester/1\r\n",
                                         "Content-Length: 9\r\n",      "\r\n\r\n{\"a\": 1}\n" };
    struct end end = { 0 };
    char body[] = "{\"a\": 1}\n", token[] = "secret";

    (void)state;
    r.body = str_of(body);
    r.body_type = "application/merge-patch+json";
    r.accept = "text/x";
    r.headers = (const char *const[]){ "Impersonate-User: jane", NULL };
    r.token = str_of(token);
    r.ctx = &end;
    end.exchange = http_send(c, &r);
    memset(body, 'x', sizeof(body) - 1); /* it was copied */
    memset(token, 'x', sizeof(token) - 1);
    finish(c, &end);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        if (!strstr(end.body, lines[i]))
            fail_msg("no \"%s\" in\n%s", lines[i], end.body);
    assert_null(strcasestr(end.body, "expect:"));
    assert_null(strcasestr(end.body, "accept-encoding"));
    http_client_free(c);
}

static void streams_pieces(void **state)
{
    struct http_client *c = client(plain, "http", (struct http_tls){ 0 });
    struct http_request r = { .method = "GET", .path = STR("/drip/5/10"), .on_data = on_data, .on_end = on_end };
    struct end end = { 0 }, bad = { 0 };

    (void)state;
    r.ctx = &end;
    end.exchange = http_send(c, &r);
    finish(c, &end);
    assert_int_equal(end.err.code, ERR_OK);
    assert_true(end.n_pieces >= 2);
    assert_string_equal(end.body, "line 0\nline 1\nline 2\nline 3\nline 4\n");
    r.path = STR("/status/410"); /* a message is collected, not streamed */
    r.ctx = &bad;
    bad.exchange = http_send(c, &r);
    finish(c, &bad);
    assert_int_equal(bad.status, 410);
    assert_int_equal(bad.n_pieces, 0);
    assert_string_equal(bad.body, "no");
    http_client_free(c);
}

/* While it is paused nothing is heard, however much there is; afterwards nothing is missing. */
static void pauses(void **state)
{
    enum { BYTES = 8000000 };
    struct http_client *clients[] = { client(plain, "http", (struct http_tls){ 0 }),
                                      client(secure, "https", (struct http_tls){ .is_insecure = true }) };
    struct http_request r = {
        .method = "GET", .path = STR("/big/8000000"), .idle_ms = 200, .on_data = on_data, .on_end = on_end
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        struct pollfd fd = { http_fd(clients[i]), POLLIN, 0 };
        struct end end = { 0 };
        size_t heard;

        r.ctx = &end;
        end.exchange = http_send(clients[i], &r);
        while (!end.n_pieces)
            turn(clients[i]);
        http_pause(end.exchange, true);
        heard = end.body_n;
        for (int k = 0; k < 5; k++) /* longer than 'idle_ms' */
            if (poll(&fd, 1, 100) == 1)
                http_turn(clients[i]);
        assert_int_equal(end.body_n, heard);
        http_pause(end.exchange, false);
        finish(clients[i], &end);
        assert_int_equal(end.err.code, ERR_OK);
        assert_int_equal(end.body_n, BYTES);
        http_client_free(clients[i]);
    }
}

/* For those who pass an answer on: no status is special, and HEAD has no body. */
static void passes_everything(void **state)
{
    struct http_client *c = client(plain, "http", (struct http_tls){ 0 });
    struct http_request r = {
        .method = "GET", .path = STR("/status/410"), .takes_any = true, .on_data = on_data, .on_end = on_end
    };
    struct end end = { 0 }, head = { 0 };

    (void)state;
    r.ctx = &end;
    end.exchange = http_send(c, &r);
    finish(c, &end);
    assert_int_equal(end.n_pieces, 1);
    assert_string_equal(end.body, "no");
    r = (struct http_request){
        .method = "HEAD", .path = STR("/hello"), .total_ms = 10000, .ctx = &head, .on_end = on_end
    };
    head.exchange = http_send(c, &r);
    finish(c, &head);
    assert_int_equal(head.err.code, ERR_OK);
    assert_int_equal(head.status, 200);
    assert_int_equal(head.body_n, 0);
    http_client_free(c);
}

static void uses_connections_again(void **state)
{
    struct http_client *c = client(plain, "http", (struct http_tls){ 0 });
    struct http_stats stats;
    struct end first, second, pair[2] = { 0 };

    (void)state;
    ask(c, "/conn", &first);
    ask(c, "/conn", &second);
    assert_true(strcmp(first.body, second.body) != 0 &&
                strtoul(first.body, NULL, 10) == strtoul(second.body, NULL, 10));
    get(c, "/slow/100", &pair[0]);
    get(c, "/slow/100", &pair[1]);
    finish(c, &pair[0]);
    finish(c, &pair[1]);
    http_client_stats(c, &stats);
    assert_int_equal(stats.requests, 4);
    assert_int_equal(stats.connections, 2); /* two at a time need two */
    assert_int_equal(stats.in_flight, 0);
    http_client_free(c);
}

static void reads_gzip(void **state)
{
    struct http_client *c = client(plain, "http", (struct http_tls){ 0 });
    struct http_request r = { .method = "GET", .path = STR("/gzip"), .total_ms = 60000, .on_end = on_end };
    struct end end = { 0 }, bad = { 0 };

    (void)state;
    r.is_zipped = true;
    r.ctx = &end;
    end.exchange = http_send(c, &r);
    finish(c, &end);
    assert_string_equal(end.body, "hello");
    r.path = STR("/badgzip");
    r.ctx = &bad;
    bad.exchange = http_send(c, &r);
    finish(c, &bad);
    assert_int_equal(bad.err.code, ERR_IO);
    ask(c, "/gzip", &end);
    assert_string_equal(end.body, "plain");
    http_client_free(c);
}

/* Every way an answer can be missing; the server heard the request each time. */
static void tells_how_it_failed(void **state)
{
    static const struct {
        const char *path, *says;
        int64_t head_ms, idle_ms, total_ms;
    } rows[] = {
        { "/cut", "without an answer", 60000, 0, 0 },
        { "/cuthead", "", 60000, 0, 0 },
        { "/short", "cut off", 60000, 0, 0 },
        { "/chunkcut", "", 60000, 0, 0 },
        { "/garbage", "not an HTTP server", 60000, 0, 0 },
        { "/silent", "no answer within 60 ms", 60, 0, 0 },
        { "/silent", "answer incomplete after 60 ms", 60000, 0, 60 },
        { "/stall", "no data for 60 ms", 60000, 60, 0 },
        { "/drip/1000/10", "answer incomplete after 100 ms", 60000, 60000, 100 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_client *c = client(plain, "http", (struct http_tls){ 0 });
        struct end end = { 0 };
        struct http_request r = { .method = "POST", .path = str_of(rows[i].path), .body = STR("{}"), .on_end = on_end };

        r.body_type = "application/json";
        r.head_ms = rows[i].head_ms;
        r.idle_ms = rows[i].idle_ms;
        r.total_ms = rows[i].total_ms;
        r.ctx = &end;
        end.exchange = http_send(c, &r);
        finish(c, &end);
        if (end.err.code != ERR_IO || !end.is_unknown || !strstr(end.err.text, rows[i].says) ||
            !strstr(end.err.text, "http://127.0.0.1:"))
            fail_msg("%s: code %d, unknown %d, \"%s\"", rows[i].path, end.err.code, end.is_unknown, end.err.text);
        http_client_free(c);
    }
}

static void pauses_may_become_shorter(void **state)
{
    struct http_client *c = client(plain, "http", (struct http_tls){ 0 });
    struct http_request r = { .method = "GET", .path = STR("/stall"), .on_data = on_data, .on_end = on_end };
    struct end end = { 0 };

    (void)state;
    r.ctx = &end;
    end.exchange = http_send(c, &r);
    while (!end.n_pieces)
        turn(c);
    http_set_idle(end.exchange, 50);
    finish(c, &end);
    assert_non_null(strstr(end.err.text, "no data for 50 ms"));
    http_client_free(c);
}

static void too_much_is_refused(void **state)
{
    struct http_client *c = client(plain, "http", (struct http_tls){ 0 });
    struct http_request r = { .method = "GET", .path = STR("/big/2000"), .total_ms = 60000, .on_end = on_end };
    struct end end = { 0 };

    (void)state;
    r.max_bytes = 1000;
    r.ctx = &end;
    end.exchange = http_send(c, &r);
    finish(c, &end);
    assert_int_equal(end.err.code, ERR_TOO_BIG);
    ask(c, "/hello", &end); /* and the next one is fine */
    assert_string_equal(end.body, "hello");
    http_client_free(c);
}

/* Not even on a kept connection, which the server may have closed before it came. */
static void never_sends_a_body_twice(void **state)
{
    struct http_client *c = client(plain, "http", (struct http_tls){ 0 });
    struct http_request r = { .method = "POST", .path = STR("/cut"), .body = STR("{}"), .total_ms = 60000 };
    unsigned before = peer_requests(plain, "/cut");
    struct end end;

    (void)state;
    ask(c, "/hello", &end);
    end = (struct end){ 0 };
    r.body_type = "application/json";
    r.on_end = on_end;
    r.ctx = &end;
    end.exchange = http_send(c, &r);
    finish(c, &end);
    assert_int_equal(end.err.code, ERR_IO);
    assert_true(end.is_unknown);
    assert_int_equal(peer_requests(plain, "/cut") - before, 1);
    http_client_free(c);
}

/* What the server did before it went is not known. */
static void a_second_try_that_finds_nobody(void **state)
{
    struct peer *gone = peer_start(&(struct peer_options){ 0 });
    struct http_client *c = client(gone, "http", (struct http_tls){ 0 });
    struct http_request r = { .method = "POST", .path = STR("/last"), .body = STR("{}"), .total_ms = 60000 };
    struct end end;

    (void)state;
    ask(c, "/hello", &end);
    end = (struct end){ 0 };
    r.body_type = "application/json";
    r.on_end = on_end;
    r.ctx = &end;
    end.exchange = http_send(c, &r);
    finish(c, &end);
    assert_int_equal(end.err.code, ERR_IO);
    assert_true(end.is_unknown);
    http_client_free(c);
    peer_stop(gone);
}

static void nobody_there(void **state)
{
    struct peer *gone = peer_start(&(struct peer_options){ 0 });
    struct http_client *c = client(gone, "http", (struct http_tls){ 0 }), *named = NULL;
    struct http_options opt = { .url = STR("https://no-such-name.invalid:6443") };
    struct http_request r = { .method = "POST", .path = STR("/hello"), .body = STR("{}"), .on_end = on_end };
    struct end end = { 0 }, unnamed = { 0 };

    (void)state;
    peer_stop(gone);
    r.body_type = "application/json";
    r.ctx = &end;
    end.exchange = http_send(c, &r);
    finish(c, &end);
    assert_non_null(strstr(end.err.text, "Connection refused; check that the server is up"));
    assert_false(end.is_unknown); /* it never left */
    assert_int_equal(http_client_new(&opt, &named, NULL), 0);
    get(named, "/", &unnamed);
    finish(named, &unnamed);
    assert_non_null(strstr(unnamed.err.text, "https://no-such-name.invalid:6443: cannot resolve this name"));
    assert_false(unnamed.is_unknown);
    http_client_free(named);
    http_client_free(c);
}

/* A connection that says nothing is not used for what comes next, and one that speaks is. */
static void leaves_silent_connections(void **state)
{
    struct http_client *c = client(plain, "http", (struct http_tls){ 0 });
    struct http_request r = { .method = "GET", .path = STR("/silent"), .head_ms = 50, .on_end = on_end };
    struct end first, second, silent = { 0 };

    (void)state;
    ask(c, "/conn", &first);
    r.ctx = &silent;
    silent.exchange = http_send(c, &r);
    finish(c, &silent);
    assert_int_equal(silent.err.code, ERR_IO);
    ask(c, "/conn", &second);
    assert_int_equal(second.err.code, ERR_OK);
    assert_true(strtoul(first.body, NULL, 10) != strtoul(second.body, NULL, 10));
    http_client_free(c);
}

static void callbacks_may_send_and_cancel(void **state)
{
    struct http_client *c = client(plain, "http", (struct http_tls){ 0 });
    struct http_request r = { .method = "GET", .path = STR("/drip/50/10"), .on_data = on_data, .on_end = on_end };
    struct end stream = { 0 }, inner = { 0 }, outer = { 0 }, last = { 0 };
    struct http_stats stats;

    (void)state;
    stream.client = c;
    stream.then = "/hello"; /* sent from within a piece of the body */
    stream.next = &inner;
    stream.cancel_at = 3;
    r.ctx = &stream;
    stream.exchange = http_send(c, &r);
    finish(c, &inner);
    assert_string_equal(inner.body, "hello");
    while (stream.n_pieces < 3)
        turn(c);
    outer.then = "/hello"; /* sent from the end of another */
    outer.next = &last;
    get(c, "/hello", &outer);
    finish(c, &last);
    assert_string_equal(last.body, "hello");
    assert_int_equal(stream.n_ends, 0);
    assert_int_equal(stream.n_pieces, 3);
    http_client_stats(c, &stats);
    assert_int_equal(stats.in_flight, 0);
    http_cancel(get(c, "/slow/50", &last)); /* and at once */
    get(c, "/stall", &last);                /* still on its way when the client goes */
    http_client_free(c);
}

/* ---- TLS ---- */

static struct str in_top(char *out, const char *name)
{
    (void)snprintf(out, 128, "%s/%s", top, name);
    return str_of(out);
}

static struct str slurp(const char *name, char *out, size_t size)
{
    char path[128];
    autofile FILE *f = fopen(in_top(path, name).p, "r");

    return (struct str){ out, f ? fread(out, 1, size, f) : 0 };
}

static void trusts_whom_it_should(void **state)
{
    char ca[128], other[128], pem[4096];
    const struct {
        const char *what;
        struct http_tls tls;
        const char *says; /* NULL: it works */
    } rows[] = {
        { "the system's authorities", { .server_name = STR("api.test") }, "certificate authority" },
        { "the right authority, the wrong name", { .ca_file = in_top(ca, "ca.crt") }, "tls-server-name" },
        { "the right name", { .ca_file = in_top(ca, "ca.crt"), .server_name = STR("api.test") }, NULL },
        { "as text", { .ca_pem = slurp("ca.crt", pem, sizeof(pem)), .server_name = STR("api.test") }, NULL },
        { "another authority",
          { .ca_file = in_top(other, "client.crt"), .server_name = STR("api.test") },
          "certificate authority" },
        { "a broken authority", { .ca_pem = STR("nonsense"), .server_name = STR("api.test") }, "PEM" },
        { "a missing authority", { .ca_file = STR("/nowhere/ca.crt"), .server_name = STR("api.test") }, "PEM" },
        { "nobody", { .is_insecure = true }, NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_client *c = client(secure, "https", rows[i].tls);
        struct end end;

        ask(c, "/echo", &end);
        if (rows[i].says ? !strstr(end.err.text, rows[i].says) || end.is_unknown : end.err.code != ERR_OK)
            fail_msg("%s: \"%s\"", rows[i].what, end.err.text);
        if (!rows[i].says && !strstr(end.body, "Host: 127.0.0.1"))
            fail_msg("%s: %s", rows[i].what, end.body);
        http_client_free(c);
    }
}

static void shows_its_certificate(void **state)
{
    char ca[128], cert[128], key[128], cert_pem[4096], key_pem[4096];
    struct http_tls by_file = { .ca_file = in_top(ca, "ca.crt"), .server_name = STR("api.test") }, none = by_file,
                    by_text = by_file, mixed = by_file;
    struct http_client *c;
    struct end end;

    (void)state;
    c = client(strict, "https", none);
    ask(c, "/hello", &end);
    assert_int_equal(end.err.code, ERR_IO);
    /* … until it gets one. */
    http_client_set_certificate(c, slurp("client.crt", cert_pem, sizeof(cert_pem)),
                                slurp("client.key", key_pem, sizeof(key_pem)));
    ask(c, "/hello", &end);
    assert_string_equal(end.body, "hello");
    http_client_free(c);
    by_file.cert_file = in_top(cert, "client.crt");
    by_file.key_file = in_top(key, "client.key");
    by_text.cert_pem = slurp("client.crt", cert_pem, sizeof(cert_pem));
    by_text.key_pem = slurp("client.key", key_pem, sizeof(key_pem));
    mixed.cert_file = by_file.cert_file;
    mixed.key_pem = slurp("server.key", key_pem + 2048, 2048);
    for (int i = 0; i < 3; i++) {
        c = client(strict, "https", i == 0 ? by_file : i == 1 ? by_text : mixed);
        ask(c, "/hello", &end);
        if (i < 2)
            assert_string_equal(end.body, "hello");
        else
            assert_non_null(strstr(end.err.text, "PEM and match"));
        http_client_free(c);
    }
}

static void speaks_tls_to_tls_only(void **state)
{
    struct http_client *c = client(secure, "http", (struct http_tls){ 0 });
    struct end end;

    (void)state;
    ask(c, "/hello", &end);
    assert_int_equal(end.err.code, ERR_IO);
    http_client_free(c);
    c = client(plain, "https", (struct http_tls){ .is_insecure = true });
    ask(c, "/hello", &end);
    assert_non_null(strstr(end.err.text, "a TLS port"));
    http_client_free(c);
}

static void goes_through_a_proxy(void **state)
{
    char ca[128], proxy[64], url[64];
    struct http_options opt = { .tls = { .ca_file = in_top(ca, "ca.crt"), .server_name = STR("api.test") } };
    struct http_client *c = NULL;
    unsigned before = peer_requests(plain, "127.0.0.1:");
    struct end end;

    (void)state;
    (void)snprintf(url, sizeof(url), "https://127.0.0.1:%d/", peer_port(secure));
    (void)snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%d", peer_port(plain));
    opt.url = str_of(url);
    opt.proxy = str_of(proxy);
    assert_int_equal(http_client_new(&opt, &c, NULL), 0);
    ask(c, "/hello", &end);
    assert_string_equal(end.err.text, "");
    assert_string_equal(end.body, "hello");
    assert_int_equal(end.n_heads, 1); /* not what the proxy said */
    assert_int_equal(peer_requests(plain, "127.0.0.1:") - before, 1);
    http_client_free(c);
    /* A proxy of the environment is not for this machine. */
    assert_int_equal(setenv("HTTPS_PROXY", "http://127.0.0.1:1", 1), 0);
    opt.proxy = STR_NULL;
    assert_int_equal(http_client_new(&opt, &c, NULL), 0);
    ask(c, "/hello", &end);
    assert_string_equal(end.body, "hello");
    http_client_free(c);
    assert_int_equal(unsetenv("HTTPS_PROXY"), 0);
}

/* To a server with TLS, and without. */
static void goes_through_every_proxy(void **state)
{
    static const struct {
        const char *proxy; /* %d: its port */
        bool is_secure_proxy, is_dead;
        const char *passes; /* what the proxy is asked for */
        const char *says;   /* NULL: it works */
    } rows[] = {
        { "http://me:secret@127.0.0.1:%d", false, false, "127.0.0.1:", NULL },
        { "https://127.0.0.1:%d", true, false, "127.0.0.1:", NULL },
        { "socks5://127.0.0.1:%d", false, false, "socks", NULL },
        { "socks5://me:secret@127.0.0.1:%d", false, false, "socks", NULL },
        { "socks5://bad:secret@127.0.0.1:%d", false, false, "?", "the proxy rejected the user; check the proxy" },
        { "socks5://127.0.0.1:%d", false, true, "socks", "the proxy cannot reach the server (5)" },
        { "http://127.0.0.1:%d", false, true, "127.0.0.1:", "the proxy answered 502; check the proxy" },
    };
    struct peer *gone = peer_start(&(struct peer_options){ 0 });
    int dead_port = peer_port(gone);
    char proxy[64], url[64];
    struct end end;

    (void)state;
    peer_stop(gone);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct peer *by = rows[i].is_secure_proxy ? secure : plain;
        unsigned before = peer_requests(by, rows[i].passes);
        struct http_options opt = { .tls.is_insecure = true };
        struct http_client *c = NULL;

        (void)snprintf(url, sizeof(url), "https://127.0.0.1:%d/", rows[i].is_dead ? dead_port : peer_port(secure));
        (void)snprintf(proxy, sizeof(proxy), rows[i].proxy, peer_port(by)); /* NOLINT: a constant of ours */
        opt.url = str_of(url);
        opt.proxy = str_of(proxy);
        assert_int_equal(http_client_new(&opt, &c, NULL), 0);
        ask(c, "/big/100000", &end);
        if (rows[i].says ? !strstr(end.err.text, rows[i].says) || end.is_unknown : end.body_n != 100000)
            fail_msg("%s: %s", rows[i].proxy, end.err.text);
        assert_int_equal(peer_requests(by, rows[i].passes) - before, !rows[i].says || rows[i].is_dead);
        http_client_free(c);
    }
}

/* A proxy of plain requests reads them: it is told where they go. */
static void tells_a_proxy_where_to(void **state)
{
    struct http_options opt = { .url = STR("http://api.invalid:8080/behind") };
    struct http_client *c = NULL;
    char proxy[64];
    struct end end;

    (void)state;
    (void)snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%d", peer_port(plain));
    opt.proxy = str_of(proxy);
    assert_int_equal(http_client_new(&opt, &c, NULL), 0);
    ask(c, "/x", &end);
    assert_int_equal(end.status, 404);
    assert_int_equal(peer_requests(plain, "http://api.invalid:8080/behind/x"), 1);
    http_client_free(c);
}

static void knows_the_environment(void **state)
{
    static const struct {
        const char *url, *except, *proxy;
    } rows[] = {
        { "https://api.example.org", NULL, "http://p:1" },
        { "https://api.example.org", "example.org", NULL },
        { "https://api.example.org", "a.org, .example.org", NULL },
        { "https://badexample.org", "example.org", "http://p:1" },
        { "https://10.1.2.3:6443", "10.0.0.0/8", NULL },
        { "https://11.1.2.3:6443", "10.0.0.0/8", "http://p:1" },
        { "https://[fd00::1]:6443", "fd00::/16", NULL },
        { "https://api.example.org", "*", NULL },
        { "https://localhost:6443", NULL, NULL },
        { "https://[::1]:6443", NULL, NULL },
        { "http://api.example.org", NULL, NULL },
    };

    (void)state;
    assert_int_equal(setenv("HTTPS_PROXY", "http://p:1", 1), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct url u = { 0 };
        const char *proxy;

        if (rows[i].except)
            assert_int_equal(setenv("NO_PROXY", rows[i].except, 1), 0);
        assert_int_equal(url_parse(str_of(rows[i].url), &u, NULL), 0);
        proxy = url_proxy_of_environment(&u);
        if (rows[i].proxy ? !proxy || strcmp(proxy, rows[i].proxy) != 0 : proxy != NULL)
            fail_msg("%s, NO_PROXY=%s: %s", rows[i].url, rows[i].except, proxy);
        url_done(&u);
        assert_int_equal(unsetenv("NO_PROXY"), 0);
    }
    assert_int_equal(unsetenv("HTTPS_PROXY"), 0);
}

static void refuses_bad_options(void **state)
{
    static const struct {
        struct http_options opt;
        const char *says;
    } rows[] = {
        { { .url = STR_INIT("") }, "is not a URL" },
        { { .url = STR_INIT("host:6443") }, "host:6443" },
        { { .url = STR_INIT("ftp://host") }, "must begin with https://" },
        { { .url = STR_INIT("https://user:pw@host") }, "no user" },
        { { .url = STR_INIT("https://[::1") }, "is not a URL" },
        { { .url = STR_INIT("https://host:65536") }, "is not a URL" },
        { { .url = STR_INIT("https://host:6443x") }, "is not a URL" },
        { { .url = STR_INIT("https://ho st") }, "is not a URL" },
        { { .url = STR_INIT("https://host"), .proxy = STR_INIT("ftp://p") }, "must begin with http://" },
        { { .url = STR_INIT("https://host"), .proxy = STR_INIT("p") }, "the proxy" },
        { { .url = STR_INIT("https://host?x=1") }, "no query" },
        { { .url = STR_INIT("https://host"), .tls = { .cert_file = STR_INIT("c") } }, "needs its key" },
        { { .url = STR_INIT("https://host"), .tls = { .key_pem = STR_INIT("k") } }, "needs its certificate" },
        { { .url = STR_INIT("https://host"), .tls = { .server_name = STR_INIT("a/b") } }, "server name" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_client *c = NULL;
        struct err e = { 0 };

        if (http_client_new(&rows[i].opt, &c, &e) == 0 || e.code != ERR_INVALID || !strstr(e.text, rows[i].says))
            fail_msg("%.*s: %s", STR_ARG(rows[i].opt.url), e.text);
        assert_null(c);
    }
}

/* ---- the world ---- */

static const char make_certificates[] =
    "cd %s && exec 2>/dev/null && "
    "key='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2' && "
    "openssl req -x509 $key -keyout ca.key -out ca.crt -subj /CN=ca && "
    "openssl req -x509 $key -keyout server.key -out server.crt -subj /CN=server -addext subjectAltName=DNS:api.test "
    "-addext basicConstraints=CA:FALSE -CA ca.crt -CAkey ca.key && "
    "openssl req -x509 $key -keyout client.key -out client.crt -subj /CN=client -addext basicConstraints=CA:FALSE "
    "-CA ca.crt -CAkey ca.key";

static int set_up(void **state)
{
    char command[1024], cert[128], key[128], ca[128];
    struct peer_options opt = { 0 };

    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)snprintf(top, sizeof(top), "/tmp/pumice-http.XXXXXX");
    if (!mkdtemp(top))
        return -1;
    (void)snprintf(command, sizeof(command), make_certificates, top);
    if (system(command) != 0) /* NOLINT: a constant and a path of ours */
        return -1;
    plain = peer_start(&opt);
    opt.cert = in_top(cert, "server.crt").p;
    opt.key = in_top(key, "server.key").p;
    secure = peer_start(&opt);
    opt.client_ca = in_top(ca, "ca.crt").p;
    strict = peer_start(&opt);
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = { "ca.crt", "ca.key", "server.crt", "server.key", "client.crt", "client.key" };
    char path[128];

    (void)state;
    peer_stop(plain);
    peer_stop(secure);
    peer_stop(strict);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        (void)unlink(in_top(path, names[i]).p);
    return rmdir(top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_whole),
        cmocka_unit_test(sends_what_it_is_told),
        cmocka_unit_test(streams_pieces),
        cmocka_unit_test(pauses),
        cmocka_unit_test(passes_everything),
        cmocka_unit_test(uses_connections_again),
        cmocka_unit_test(reads_gzip),
        cmocka_unit_test(tells_how_it_failed),
        cmocka_unit_test(pauses_may_become_shorter),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(never_sends_a_body_twice),
        cmocka_unit_test(a_second_try_that_finds_nobody),
        cmocka_unit_test(nobody_there),
        cmocka_unit_test(leaves_silent_connections),
        cmocka_unit_test(callbacks_may_send_and_cancel),
        cmocka_unit_test(trusts_whom_it_should),
        cmocka_unit_test(shows_its_certificate),
        cmocka_unit_test(speaks_tls_to_tls_only),
        cmocka_unit_test(goes_through_a_proxy),
        cmocka_unit_test(goes_through_every_proxy),
        cmocka_unit_test(tells_a_proxy_where_to),
        cmocka_unit_test(knows_the_environment),
        cmocka_unit_test(refuses_bad_options),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
