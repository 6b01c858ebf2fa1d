/* probe_libs.c - probe functions that need libraries: TLS and host names */
#include "node/shim/probe_internal.h"

#include "base/util.h"
#include "os/io.h"

#include <errno.h>
#include <netdb.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

/* ---- names ---- */

static const char *resolve_host(const char *name, uint16_t port, struct addrinfo **ret)
{
    struct addrinfo want = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
    char service[8];
    int r;

    (void)snprintf(service, sizeof(service), "%u", port);
    r = *name ? getaddrinfo(name, service, &want, ret) : EAI_NONAME;
    return r ? gai_strerror(r) : NULL;
}

/* ---- TLS ---- */

/* 0: try again. -1: errno. */
static int tls_wait(struct probe_conn *c, int r)
{
    switch (SSL_get_error(c->tls, r)) {
    case SSL_ERROR_WANT_READ:
        return probe_wait(c, POLLIN);
    case SSL_ERROR_WANT_WRITE:
        return probe_wait(c, POLLOUT);
    case SSL_ERROR_SYSCALL:
        errno = errno ? errno : ECONNRESET;
        return -1;
    default:
        errno = EPROTO;
        return -1;
    }
}

static int tls_start(struct probe_conn *c, struct str host, struct buf *out)
{
    autobuf name = { 0 };
    bool is_address;

    c->tls_ctx = SSL_CTX_new(TLS_client_method());
    c->tls = c->tls_ctx ? SSL_new(c->tls_ctx) : NULL;
    if (!c->tls) {
        SSL_CTX_free(c->tls_ctx);
        buf_fmt(out, "failed to create a TLS session");
        return -1;
    }
    SSL_set_verify(c->tls, SSL_VERIFY_NONE, NULL);
    buf_str(&name, host);
    is_address = strspn(name.p, "0123456789.") == name.n || str_has_char(host, ':');
    if (name.n && !is_address)
        (void)SSL_set_tlsext_host_name(c->tls, name.p);
    (void)SSL_set_fd(c->tls, c->fd);
    for (int r; (r = SSL_connect(c->tls)) != 1;) {
        if (tls_wait(c, r) == 0)
            continue;
        buf_fmt(out, "%s",
                errno == ETIMEDOUT
                    ? "net/http: TLS handshake timeout"
                    : "tls: first record does not look like a TLS handshake, or no common protocol version");
        return -1;
    }
    return 0;
}

static int tls_write(struct probe_conn *c, struct str s)
{
    while (s.n) {
        int n;

        errno = 0;
        n = SSL_write(c->tls, s.p, (int)MIN_OF(s.n, 1U << 14));
        if (n > 0)
            s = str_from(s, (size_t)n);
        else if (tls_wait(c, n) < 0)
            return -1;
    }
    return 0;
}

static ssize_t tls_read(struct probe_conn *c, void *p, size_t n)
{
    for (;;) {
        int r;

        errno = 0;
        r = SSL_read(c->tls, p, (int)MIN_OF(n, 1U << 14));
        if (r > 0 || SSL_get_error(c->tls, r) == SSL_ERROR_ZERO_RETURN)
            return r > 0 ? r : 0;
        if (tls_wait(c, r) < 0)
            return -1;
    }
}

static void libs_tls_end(struct probe_conn *c)
{
    SSL_free(c->tls);
    SSL_CTX_free(c->tls_ctx);
}

void probe_use_libs(void)
{
    static const struct probe_libs all = { resolve_host, freeaddrinfo, tls_start, tls_write, tls_read, libs_tls_end };

    probe_libs = &all;
}

/* ---- the program that a shim executes ---- */

int probe_main(int argc, char **argv)
{
    struct probe_target target;
    autoarena a = { 0 };
    autobuf text = { 0 }, out = { 0 };
    int64_t timeout_ms;

    if (argc != 2 || strcmp(argv[0], "pumice-probe") != 0)
        return -1;
    if (str_to_i64(str_of(argv[1]), &timeout_ms) < 0 || read_all(STDIN_FILENO, 1 << 20, &text) < 0 ||
        probe_decode(&a, buf_view(&text), &target, NULL) < 0)
        return 1;
    (void)signal(SIGPIPE, SIG_IGN);
    probe_use_libs();
    probe_answer(STDOUT_FILENO, probe_run(&target, timeout_ms, &out), buf_view(&out));
    return 0;
}
