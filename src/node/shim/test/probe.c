/* probe.c - tests: probes against small servers of our own, and the words they fail with */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/util.h"
#include "node/shim/probe_internal.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* ---- servers: each in a process of its own ---- */

typedef void (*serve_f)(int conn, const void *arg);

struct server {
    pid_t pid;
    uint16_t port;
};

static struct server server_start(serve_f serve, const void *arg)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t n = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct server s;

    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 20), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    s.port = ntohs(at.sin_port);
    s.pid = fork();
    if (s.pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)alarm(30);
        for (int conn; (conn = accept(fd, NULL, NULL)) >= 0; close(conn))
            serve(conn, arg);
        _exit(0);
    }
    close(fd);
    return s;
}

static void server_stop(struct server *s)
{
    (void)kill(s->pid, SIGKILL);
    (void)waitpid(s->pid, NULL, 0);
}

static void read_head(int conn, char *ret, size_t size)
{
    size_t n = 0;

    while (n < size - 1) {
        ssize_t got = read(conn, ret + n, size - 1 - n);

        if (got <= 0)
            break;
        n += (size_t)got;
        ret[n] = '\0';
        if (strstr(ret, "\r\n\r\n"))
            break;
    }
    ret[n] = '\0';
}

static void serve_text(int conn, const void *arg)
{
    char head[8192];

    read_head(conn, head, sizeof(head));
    (void)!write(conn, arg, strlen(arg));
}

/* Byte by byte: a head may come in any pieces. */
static void serve_slowly(int conn, const void *arg)
{
    char head[8192];

    read_head(conn, head, sizeof(head));
    for (const char *p = arg; *p; p++) {
        (void)!write(conn, p, 1);
        usleep(200);
    }
}

static void serve_nothing(int conn, const void *arg)
{
    (void)arg;
    sleep(20);
    (void)conn;
}

/* "/N" leads to "/N-1", "/0" is fine; "/lost" to itself. */
static void serve_redirects(int conn, const void *arg)
{
    char head[8192], answer[200];
    int n = -1;

    (void)arg;
    read_head(conn, head, sizeof(head));
    if (sscanf(head, "GET /%d ", &n) == 1 && n > 0)
        (void)snprintf(answer, sizeof(answer), "HTTP/1.1 302 Found\r\nlocation: %d\r\n\r\n", n - 1);
    else if (n == 0)
        (void)snprintf(answer, sizeof(answer), "HTTP/1.1 204 No Content\r\n\r\n");
    else if (strstr(head, "/away"))
        (void)snprintf(answer, sizeof(answer), "HTTP/1.1 301 Moved\r\nLocation: http://192.0.2.1/x\r\n\r\n");
    else
        (void)snprintf(answer, sizeof(answer), "HTTP/1.1 301 Moved\r\nLocation: /lost\r\n\r\n");
    (void)!write(conn, answer, strlen(answer));
}

/* 200 if the head has all of these lines, 400 if not. */
static void serve_if(int conn, const void *arg)
{
    const char *const *wanted = arg;
    const char *answer = "HTTP/1.1 200 OK\r\n\r\n";
    char head[8192];

    read_head(conn, head, sizeof(head));
    for (size_t i = 0; wanted[i]; i++)
        if (wanted[i][0] == '!' ? strstr(head, wanted[i] + 1) != NULL : strstr(head, wanted[i]) == NULL)
            answer = "HTTP/1.1 400 Bad\r\n\r\n";
    (void)!write(conn, answer, strlen(answer));
}

static bool ask(enum probe_kind kind, uint16_t port, const char *path, int64_t timeout_ms, struct buf *out)
{
    struct probe_target t = { .kind = kind, .host = STR("127.0.0.1"), .port = port, .path = str_of(path) };

    return probe_run(&t, timeout_ms, out) == PROBE_FINE;
}

/* ---- HTTP ---- */

#define REDIRECTED "Probe terminated redirects, Response body: "

static void test_http(void **state)
{
    static const struct {
        const char *answer;
        bool is_ok;
        const char *says;
        serve_f serve;
    } cases[] = {
        { "HTTP/1.1 200 OK\r\n\r\n", true, "", serve_text },
        { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", true, "", serve_slowly },
        { "HTTP/1.0 204 No Content\r\n\r\n", true, "", serve_text },
        { "HTTP/1.1 200\r\n\r\n", true, "", serve_text },
        { "HTTP/1.1 200 OK\n\n", true, "", serve_text },
        { "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", true, "", serve_text },
        { "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 No\r\n\r\n", false, "statuscode: 503", serve_slowly },
        { "HTTP/1.1 399 Odd\r\n\r\n", true, REDIRECTED, serve_text },
        { "HTTP/1.1 304 Not Modified\r\nLocation: /x\r\n\r\n", true, REDIRECTED, serve_text },
        { "HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\n\r\nto the end", true, REDIRECTED "to the end",
          serve_text },
        { "HTTP/1.1 302 Found\r\ncontent-length: 2\r\nLocation: //x/\r\n\r\nokmore", true, REDIRECTED "ok",
          serve_slowly },
        { "HTTP/1.1 302 Found\r\nContent-Length: -1\r\n\r\nok", true, REDIRECTED "ok", serve_text },
        { "HTTP/1.1 302 Found\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true, REDIRECTED,
          serve_text },
        { "HTTP/1.1 400 Bad\r\n\r\n", false, "HTTP probe failed with statuscode: 400", serve_text },
        { "HTTP/1.1 500 Oops\r\n\r\n", false, "HTTP probe failed with statuscode: 500", serve_text },
        { "HTTP/1.1 2000 OK\r\n\r\n", false, "malformed HTTP response", serve_text },
        { "HTTP/1.1 2x0 OK\r\n\r\n", false, "malformed HTTP response", serve_text },
        { "SSH-2.0-OpenSSH_9.2\r\n\r\n", false, "malformed HTTP response \"SSH-2.0", serve_text },
        { "HTTP/1.1 200 OK\r\n", false, "EOF", serve_text },
        { "", false, "EOF", serve_text },
        { "", false, "context deadline exceeded", serve_nothing },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct server s = server_start(cases[i].serve, cases[i].answer);
        autobuf out = { 0 };
        bool is_ok = ask(PROBE_HTTP, s.port, "/health", cases[i].serve == serve_nothing ? 150 : 5000, &out);

        server_stop(&s);
        if (is_ok != cases[i].is_ok || !str_has(buf_view(&out), str_of(cases[i].says)) ||
            (is_ok && !str_is(buf_view(&out), cases[i].says)))
            fail_msg("case %zu %s: %d \"%s\"", i, cases[i].answer, is_ok, out.p ? out.p : "");
    }
}

static void test_http_redirects(void **state)
{
    static const struct {
        const char *path;
        bool is_ok;
    } cases[] = { { "/0", true },   { "/1", true },     { "/9", true },
                  { "/20", false }, { "/lost", false }, { "/away", true } };
    struct server s = server_start(serve_redirects, NULL);

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf out = { 0 };

        if (ask(PROBE_HTTP, s.port, cases[i].path, 5000, &out) != cases[i].is_ok)
            fail_msg("%s: \"%s\"", cases[i].path, out.p ? out.p : "");
        if (!cases[i].is_ok)
            assert_true(str_has(buf_view(&out), STR("stopped after 10 redirects")));
    }
    server_stop(&s);
}

static void test_follow(void **state)
{
    static const struct {
        const char *location, *path;
        int port;
        bool is_tls, is_here;
    } cases[] = {
        { "/x", "/x", 8080, false, true },
        { "x?y=1", "/a/x?y=1", 8080, false, true },
        { "http://h/x", "/x", 80, false, true },
        { "https://h/", "/", 443, true, true },
        { "https://h:9/q#f", "/q", 9, true, true },
        { "//H:81", "/", 81, false, true },
        { "http://h?x", "/?x", 80, false, true },
        { "http://other/x", "", 0, false, false },
        { "http://h:99999/", "", 0, false, false },
        { "http://h:x/", "", 0, false, false },
        { "/a b", "", 0, false, false },
        { "http://h@evil/", "", 0, false, false },
    };
    const struct probe_place at = { false, STR("h"), STR("/a/b?c/d"), 8080 };
    autoarena a = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct probe_place got;
        bool is_here = probe_follow(&a, &at, str_of(cases[i].location), &got);

        if (is_here != cases[i].is_here || (is_here && (!str_is(got.path, cases[i].path) || got.port != cases[i].port ||
                                                        got.is_tls != cases[i].is_tls)))
            fail_msg("%s: %d %.*s %d", cases[i].location, is_here, STR_ARG(got.path), got.port);
    }
}

static void test_http_headers(void **state)
{
    static const char *const usual[] = {
        "GET / HTTP/1.1\r\n",  "\r\nHost: 127.0.0.1:",      "\r\nUser-Agent: kube-probe/1.32\r\n",
        "\r\nAccept: */*\r\n", "\r\nConnection: close\r\n", NULL
    };
    static const char *const given[] = {
        "\r\nHost: example.org\r\n", "\r\nX-A: 1\r\n", "!kube-probe", "!Accept:", "!Evil", NULL
    };
    autoarena a = { 0 };
    struct probe_target t = { .kind = PROBE_HTTP, .host = STR("127.0.0.1") };
    autobuf out = { 0 };
    struct server s = server_start(serve_if, usual);

    t.port = s.port;
    assert_int_equal(probe_run(&t, 5000, &out), PROBE_FINE);
    server_stop(&s);
    s = server_start(serve_if, given);
    t.port = s.port;
    *vec_push(&a, &t.headers) = (struct probe_header){ STR("host"), STR("example.org") };
    *vec_push(&a, &t.headers) = (struct probe_header){ STR("X-A"), STR("1") };
    *vec_push(&a, &t.headers) = (struct probe_header){ STR("user-agent"), STR("mine") };
    *vec_push(&a, &t.headers) = (struct probe_header){ STR("Accept"), STR("") };
    *vec_push(&a, &t.headers) = (struct probe_header){ STR("X-B"), STR("1\r\nEvil: 2") };
    *vec_push(&a, &t.headers) = (struct probe_header){ STR("Evil: 3\r\nX"), STR("1") };
    assert_int_equal(probe_run(&t, 5000, &out), PROBE_FINE);
    t.path = STR("/a b");
    assert_int_equal(probe_run(&t, 5000, &out), PROBE_FAILED);
    server_stop(&s);
}

/* ---- TCP ---- */

static void test_tcp(void **state)
{
    struct server s = server_start(serve_nothing, NULL);
    autobuf out = { 0 };
    int64_t began;

    assert_true(ask(PROBE_TCP, s.port, "", 1000, &out));
    assert_int_equal(out.n, 0);
    server_stop(&s);
    assert_false(ask(PROBE_TCP, s.port, "", 1000, &out));
    assert_true(str_starts(buf_view(&out), STR("dial tcp 127.0.0.1:")) &&
                str_ends(buf_view(&out), STR(": connect: connection refused")));
    buf_reset(&out);
    struct probe_target t = { .kind = PROBE_TCP, .host = STR("no.such.name.invalid"), .port = 1 };
    assert_int_equal(probe_run(&t, 1000, &out), PROBE_FAILED);
    assert_true(str_starts(buf_view(&out), STR("dial tcp: lookup no.such.name.invalid: ")));
    t.host = STR("");
    assert_int_equal(probe_run(&t, 1000, &out), PROBE_FAILED);
    began = clock_mono_ms(&clock_real);
    t.host = STR("localhost");
    (void)probe_run(&t, 1000, &out);
    assert_true(clock_mono_ms(&clock_real) - began < 3000);
}

/* A port whose queue is full does not answer. */
static void test_tcp_timeout(void **state)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t n = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0), fill[8];
    autobuf out = { 0 };
    int64_t began = clock_mono_ms(&clock_real);

    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 0), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    for (size_t i = 0; i < ARRAY_LEN(fill); i++) {
        fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(fill[i], (struct sockaddr *)&at, sizeof(at));
    }
    assert_false(ask(PROBE_TCP, ntohs(at.sin_port), "", 200, &out));
    assert_true(str_ends(buf_view(&out), STR(": i/o timeout")));
    assert_in_range(clock_mono_ms(&clock_real) - began, 150, 2000);
    for (size_t i = 0; i < ARRAY_LEN(fill); i++)
        close(fill[i]);
    close(fd);
}

/* ---- HTTPS ---- */

static SSL_CTX *server_tls(void)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();

    (void)ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    (void)X509_gmtime_adj(X509_getm_notBefore(cert), -7200);
    (void)X509_gmtime_adj(X509_getm_notAfter(cert), -3600); /* run out: nobody looks */
    (void)X509_set_pubkey(cert, key);
    (void)X509_sign(cert, key, EVP_sha256());
    assert_int_equal(SSL_CTX_use_certificate(ctx, cert), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(ctx, key), 1);
    X509_free(cert);
    EVP_PKEY_free(key);
    return ctx;
}

struct tls_answer {
    SSL_CTX *ctx;
    const char *text;
};

static void serve_tls(int conn, const void *arg)
{
    const struct tls_answer *answer = arg;
    SSL *ssl = SSL_new(answer->ctx);
    char head[4096];

    (void)SSL_set_fd(ssl, conn);
    if (SSL_accept(ssl) == 1 && SSL_read(ssl, head, sizeof(head)) > 0) {
        (void)SSL_write(ssl, answer->text, (int)strlen(answer->text));
        (void)SSL_shutdown(ssl);
    }
    SSL_free(ssl);
}

static void test_https(void **state)
{
    static const struct {
        const char *text;
        bool is_ok;
        const char *says;
    } cases[] = {
        { "HTTP/1.1 200 OK\r\n\r\n", true, "" },
        { "HTTP/1.1 500 Oops\r\n\r\n", false, "statuscode: 500" },
        { "HTTP/1.1 200 OK\r\n", false, "EOF" },
    };
    struct tls_answer answer = { .ctx = server_tls() };
    autobuf out = { 0 };
    struct server s;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        answer.text = cases[i].text;
        s = server_start(serve_tls, &answer);
        buf_reset(&out);
        bool is_ok = ask(PROBE_HTTPS, s.port, "/", 5000, &out);
        server_stop(&s);
        if (is_ok != cases[i].is_ok || !str_has(buf_view(&out), str_of(cases[i].says)))
            fail_msg("%s: %d \"%s\"", cases[i].text, is_ok, out.p ? out.p : "");
    }
    SSL_CTX_free(answer.ctx);
    s = server_start(serve_text, "HTTP/1.1 400 this is not TLS\r\n\r\n");
    assert_false(ask(PROBE_HTTPS, s.port, "/", 1000, &out));
    server_stop(&s);
    s = server_start(serve_nothing, NULL);
    buf_reset(&out);
    assert_false(ask(PROBE_HTTPS, s.port, "/", 150, &out));
    assert_true(str_has(buf_view(&out), STR("TLS handshake timeout")));
    server_stop(&s);
}

/* ---- gRPC ---- */

#define SETTINGS_FRAME "\0\0\0\4\0\0\0\0\0"
#define PING_FRAME     "\0\0\x08\6\0\0\0\0\0abcdefgh"
#define HEADERS_FRAME  "\0\0\1\1\4\0\0\0\1\x88"
#define TRAILERS_FRAME "\0\0\1\1\5\0\0\0\1\x88"
#define MESSAGE(s)     "\0\0\7\0\0\0\0\0\1\0\0\0\0\2\x08" s
#define PADDED(s)      "\0\0\x0a\0\x08\0\0\0\1\2\0\0\0\0\2\x08" s "zz"

static const struct grpc_case {
    struct str answer;
    bool is_ok;
    const char *says;
} grpc_cases[] = {
    { STR_INIT(SETTINGS_FRAME HEADERS_FRAME MESSAGE("\1") TRAILERS_FRAME), true, "" },
    { STR_INIT(SETTINGS_FRAME PING_FRAME HEADERS_FRAME PADDED("\1") TRAILERS_FRAME), true, "" },
    { STR_INIT(SETTINGS_FRAME HEADERS_FRAME MESSAGE("\2") TRAILERS_FRAME), false, "(responded with \"NOT_SERVING\")" },
    { STR_INIT(SETTINGS_FRAME HEADERS_FRAME MESSAGE("\3") TRAILERS_FRAME), false,
      "(responded with \"SERVICE_UNKNOWN\")" },
    { STR_INIT(SETTINGS_FRAME HEADERS_FRAME "\0\0\5\0\0\0\0\0\1\0\0\0\0\0" TRAILERS_FRAME), false, "\"UNKNOWN\"" },
    { STR_INIT(SETTINGS_FRAME HEADERS_FRAME MESSAGE("\x77") TRAILERS_FRAME), false, "no health status" },
    { STR_INIT(SETTINGS_FRAME TRAILERS_FRAME), false, "no health status for service \"db\"" },
    { STR_INIT(SETTINGS_FRAME "\0\0\x08\7\0\0\0\0\0\0\0\0\0\0\0\0\1"), false, "no health status" },
    { STR_INIT(SETTINGS_FRAME "\0\0\4\3\0\0\0\0\1\0\0\0\2"), false, "no health status" },
    { STR_INIT("HTTP/1.1 400 Bad Request\r\n\r\n"), false, "not gRPC" },
    { STR_INIT(""), false, "no health status" },
};

/* What we send must be HTTP/2 with the request in it: looked at before the answer. */
static void serve_grpc(int conn, const void *arg)
{
    static const char call[] = "\0\0\x09\0\1\0\0\0\1\0\0\0\0\4\x0a\2db"; /* the DATA frame */
    const struct grpc_case *c = arg;
    char in[4096];
    size_t n = 0;

    while (n < sizeof(in)) {
        ssize_t got = read(conn, in + n, sizeof(in) - n);

        if (got <= 0)
            return;
        n += (size_t)got;
        if (memmem(in, n, call, sizeof(call) - 1))
            break;
    }
    if (memcmp(in, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24) == 0 && memmem(in, n, "/grpc.health.v1.Health/Check", 28) &&
        memmem(in, n, "application/grpc", 16))
        (void)!write(conn, c->answer.p, c->answer.n);
    (void)shutdown(conn, SHUT_WR);
    while (read(conn, in, sizeof(in)) > 0)
        ;
}

static void test_grpc(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(grpc_cases); i++) {
        struct server s = server_start(serve_grpc, &grpc_cases[i]);
        struct probe_target t = { .kind = PROBE_GRPC, .host = STR("127.0.0.1"), .port = s.port, .service = STR("db") };
        autobuf out = { 0 };
        bool is_ok = probe_run(&t, 3000, &out) == PROBE_FINE;

        server_stop(&s);
        if (is_ok != grpc_cases[i].is_ok || !str_has(buf_view(&out), str_of(grpc_cases[i].says)) || (is_ok && out.n))
            fail_msg("case %zu: %d \"%s\"", i, is_ok, out.p ? out.p : "");
    }
    autobuf out = { 0 };
    assert_false(ask(PROBE_GRPC, 1, "", 500, &out));
    assert_true(str_has(buf_view(&out), STR("failed to connect service \"127.0.0.1:1\"")));
    buf_reset(&out);
    struct server s = server_start(serve_nothing, NULL);
    assert_false(ask(PROBE_GRPC, s.port, "", 150, &out));
    assert_true(str_has(buf_view(&out), STR("timeout: health rpc did not complete")));
    server_stop(&s);
}

/* The same in any pieces. */
static void test_frames(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(grpc_cases); i++)
        for (size_t piece = 1; piece < 40; piece++) {
            struct probe_frames f = { 0 };

            for (size_t at = 0; at < grpc_cases[i].answer.n && !f.is_bad; at += piece)
                probe_frames_feed(&f, str_sub(grpc_cases[i].answer, at, piece));
            if ((probe_grpc_status(buf_view(&f.answer)) == 1) != grpc_cases[i].is_ok)
                fail_msg("case %zu in pieces of %zu", i, piece);
            probe_frames_done(&f);
        }
}

/* ---- the wire ---- */

static void test_wire(void **state)
{
    struct probe_target t = {
        .kind = PROBE_HTTPS, .host = STR("10.0.0.1"), .port = 65535, .path = STR("/x"), .service = STR("s")
    };
    autoarena a = { 0 };
    autobuf out = { 0 };
    struct probe_target got;

    *vec_push(&a, &t.headers) = (struct probe_header){ STR("A"), STR("1") };
    *vec_push(&a, &t.headers) = (struct probe_header){ STR("B"), STR("") };
    probe_encode(&out, &t);
    assert_int_equal(probe_decode(&a, buf_view(&out), &got, NULL), 0);
    assert_true(got.kind == t.kind && got.port == t.port && str_eq(got.host, t.host) && str_eq(got.path, t.path) &&
                str_eq(got.service, t.service) && got.headers.n == 2 && str_is(got.headers.v[1].name, "B"));
    for (size_t cut = 0; cut < out.n; cut++)
        assert_int_equal(probe_decode(&a, str_sub(buf_view(&out), 0, cut), &got, NULL), -1);
    out.p[0] = PROBE_KIND_MAX;
    assert_int_equal(probe_decode(&a, buf_view(&out), &got, NULL), -1);
    out.p[0] = -1;
    assert_int_equal(probe_decode(&a, buf_view(&out), &got, NULL), -1);
}

/* ---- without libraries ---- */

/* "The same, by TLS". */
static void serve_to_tls(int conn, const void *arg)
{
    struct sockaddr_in at;
    socklen_t n = sizeof(at);
    char head[8192];

    (void)arg;
    read_head(conn, head, sizeof(head));
    assert_int_equal(getsockname(conn, (struct sockaddr *)&at, &n), 0);
    (void)dprintf(conn, "HTTP/1.1 302 there\r\nLocation: https://127.0.0.1:%u/\r\n\r\n", ntohs(at.sin_port));
}

static void test_misses_libs(void **state)
{
    struct server s = server_start(serve_to_tls, NULL);
    struct probe_target cases[] = { { .kind = PROBE_HTTPS, .host = STR("127.0.0.1"), .port = s.port },
                                    { .kind = PROBE_TCP, .host = STR("localhost"), .port = s.port },
                                    { .kind = PROBE_HTTP, .host = STR("127.0.0.1"), .port = s.port } };
    const struct probe_libs *libs = probe_libs;

    probe_libs = NULL;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf out = { 0 };

        assert_int_equal(probe_run(&cases[i], 2000, &out), PROBE_MISSES_LIBS);
    }
    probe_libs = libs;
    server_stop(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http),        cmocka_unit_test(test_http_redirects),
        cmocka_unit_test(test_follow),      cmocka_unit_test(test_http_headers),
        cmocka_unit_test(test_tcp),         cmocka_unit_test(test_tcp_timeout),
        cmocka_unit_test(test_https),       cmocka_unit_test(test_grpc),
        cmocka_unit_test(test_frames),      cmocka_unit_test(test_wire),
        cmocka_unit_test(test_misses_libs),
    };

    (void)signal(SIGPIPE, SIG_IGN);
    probe_use_libs();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
