/* tls.c - bytes in and out of a socket, encrypted by OpenSSL or plain
 *
 * No session is ever resumed: a ticket would outlive the CA that its client was checked against.
 */
#include "base/util.h"
#include "http/pem.h"
#include "http/server_internal.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

/* ---- certificates ---- */

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_n, const unsigned char *in,
                           unsigned in_n, void *ctx)
{
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *chosen;

    (void)ssl;
    (void)ctx;
    if (SSL_select_next_proto(&chosen, out_n, ours, sizeof(ours) - 1, in, in_n) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

int tls_context(const struct http_server_tls *pem, SSL_CTX **ret, struct err *e)
{
    SSL_CTX *t = SSL_CTX_new(TLS_server_method());

    if (!t)
        return pem_error(e, "TLS");
    (void)SSL_CTX_set_min_proto_version(t, TLS1_2_VERSION);
    (void)SSL_CTX_set_options(t, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
    (void)SSL_CTX_set_num_tickets(t, 0);
    (void)SSL_CTX_set_session_cache_mode(t, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_mode(t, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(t, 1); /* one read of a record, not one for its head and one for the rest */
    SSL_CTX_set_alpn_select_cb(t, choose_protocol, NULL);
    if (pem->client_ca.n)
        SSL_CTX_set_verify(t, SSL_VERIFY_PEER, NULL);
    if (pem_use_chain(t, pem->cert, e) < 0 || pem_use_key(t, pem->key, e) < 0 ||
        (pem->client_ca.n && pem_use_authorities(t, pem->client_ca, true, e) < 0)) {
        SSL_CTX_free(t);
        return -1;
    }
    *ret = t;
    return 0;
}

/* ---- who the client is ---- */

static struct str name_entry(X509_NAME *name, int at)
{
    ASN1_STRING *value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at));
    unsigned char *utf8 = NULL;
    int n = ASN1_STRING_to_UTF8(&utf8, value);

    if (n < 0)
        return STR_NULL;
    if (memchr(utf8, '\0', (size_t)n)) { /* a C program would read another name */
        OPENSSL_free(utf8);
        return STR_NULL;
    }
    return (struct str){ (char *)utf8, (size_t)n };
}

enum { ORGANIZATIONS_MAX = 64 };

/* As many as are taken; one at least, so that there is memory. */
static size_t tls_count_entries(X509_NAME *name, int what)
{
    size_t n = 0;

    for (int at = -1; (at = X509_NAME_get_index_by_NID(name, what, at)) >= 0;)
        n++;
    return MAX_OF(MIN_OF(n, (size_t)ORGANIZATIONS_MAX), 1u);
}

static void take_subject(struct conn *c)
{
    X509 *cert = SSL_get0_peer_certificate(c->ssl);
    X509_NAME *name = cert ? X509_get_subject_name(cert) : NULL;
    struct tm end = { 0 };
    int at = -1;

    if (!name)
        return;
    c->organizations = xcalloc(tls_count_entries(name, NID_organizationName), sizeof(*c->organizations));
    while ((at = X509_NAME_get_index_by_NID(name, NID_commonName, at)) >= 0) { /* the last one counts, as in Go */
        OPENSSL_free((char *)c->peer.common_name.p);
        c->peer.common_name = name_entry(name, at);
    }
    while ((at = X509_NAME_get_index_by_NID(name, NID_organizationName, at)) >= 0 &&
           c->peer.n_organizations < ORGANIZATIONS_MAX)
        c->organizations[c->peer.n_organizations++] = name_entry(name, at);
    c->peer.organizations = c->organizations;
    if (ASN1_TIME_to_tm(X509_get0_notAfter(cert), &end) == 1)
        c->peer.certificate_end_ms = (int64_t)timegm(&end) * 1000;
}

/* ---- connections ---- */

int tls_begin(struct conn *c, SSL_CTX *context)
{
    c->ssl = SSL_new(context);
    if (!c->ssl || SSL_set_fd(c->ssl, c->source.fd) != 1)
        return -1;
    SSL_set_accept_state(c->ssl);
    c->peer.is_tls = true;
    return 0;
}

void tls_end(struct conn *c)
{
    if (c->ssl && SSL_is_init_finished(c->ssl))
        (void)SSL_shutdown(c->ssl); /* the socket is closed right after, whether it went out or not */
    ERR_clear_error();
}

void tls_free(struct conn *c)
{
    SSL_free(c->ssl);
    c->ssl = NULL;
    OPENSSL_free((char *)c->peer.common_name.p);
    for (size_t i = 0; i < c->peer.n_organizations; i++)
        OPENSSL_free((char *)c->organizations[i].p);
    free(c->organizations);
}

static int result_of(struct conn *c, int rc)
{
    int code = SSL_get_error(c->ssl, rc);

    c->wants_out = code == SSL_ERROR_WANT_WRITE;
    if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE)
        return IO_AGAIN;
    return code == SSL_ERROR_ZERO_RETURN ? 0 : IO_BROKEN;
}

int tls_shake(struct conn *c)
{
    int rc;

    ERR_clear_error();
    rc = SSL_do_handshake(c->ssl);
    if (rc == 1) {
        take_subject(c);
        c->wants_out = false;
        return 0;
    }
    rc = result_of(c, rc);
    if (rc != IO_AGAIN && ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST) {
        SSL_free(c->ssl);
        c->ssl = NULL;
        rc = IO_PLAIN;
    }
    ERR_clear_error();
    return rc == 0 ? IO_BROKEN : rc;
}

static ssize_t plain_result(ssize_t n)
{
    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EINTR ? IO_AGAIN : IO_BROKEN;
}

ssize_t conn_recv(struct conn *c, char *to, size_t n)
{
    size_t got = 0;
    int rc;

    if (!c->ssl)
        return plain_result(recv(c->source.fd, to, n, MSG_DONTWAIT));
    ERR_clear_error();
    rc = SSL_read_ex(c->ssl, to, n, &got);
    if (rc == 1) {
        c->wants_out = false;
        return (ssize_t)got;
    }
    rc = result_of(c, rc);
    ERR_clear_error();
    return rc;
}

ssize_t conn_send(struct conn *c, struct str bytes)
{
    size_t sent = 0;
    int rc;

    if (!c->ssl)
        return plain_result(send(c->source.fd, bytes.p, bytes.n, MSG_NOSIGNAL | MSG_DONTWAIT));
    ERR_clear_error();
    rc = SSL_write_ex(c->ssl, bytes.p, bytes.n, &sent);
    if (rc == 1) {
        c->wants_out = false; /* or the loop would be woken for ever: there is always room to send nothing */
        return (ssize_t)sent;
    }
    rc = result_of(c, rc);
    ERR_clear_error();
    return rc ? rc : IO_BROKEN;
}

bool conn_has_more(const struct conn *c)
{
    return c->ssl && SSL_has_pending(c->ssl);
}
