/* context.c - TLS contexts: trusted CAs and our certificate */
#include "http/client_internal.h"

#include "base/util.h"
#include "http/pem.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

enum { FRESH_MS = 60000 }; /* files of authorities and certificates are replaced, seldom */

static int trust(const struct http_client *c, SSL_CTX *t)
{
    if (c->is_insecure)
        return 0;
    SSL_CTX_set_verify(t, SSL_VERIFY_PEER, NULL);
    if (c->ca_pem.n)
        return pem_use_authorities(t, buf_view(&c->ca_pem), false, NULL);
    if (c->ca_file)
        return SSL_CTX_load_verify_file(t, c->ca_file) == 1 ? 0 : -1;
    (void)SSL_CTX_set_default_verify_paths(t); /* on failure no server is trusted, which is an error later */
    return 0;
}

static int context_identify(const struct http_client *c, SSL_CTX *t)
{
    if (c->cert_pem.n ? pem_use_chain(t, buf_view(&c->cert_pem), NULL) < 0
                      : c->cert_file && SSL_CTX_use_certificate_chain_file(t, c->cert_file) != 1)
        return -1;
    if (c->key_pem.n)
        return pem_use_key(t, buf_view(&c->key_pem), NULL);
    if (!c->key_file)
        return 0;
    return SSL_CTX_use_PrivateKey_file(t, c->key_file, SSL_FILETYPE_PEM) == 1 && SSL_CTX_check_private_key(t) == 1 ? 0
                                                                                                                   : -1;
}

/* A key with a password is an error: we cannot ask for it. */
static int no_password(char *out, int size, int is_writing, void *ctx)
{
    (void)out, (void)size, (void)is_writing, (void)ctx;
    return -1;
}

static SSL_CTX *context_new(const struct http_client *c, enum http_failure *ret_why)
{
    static const unsigned char protocol[] = "\x08http/1.1";
    SSL_CTX *t = SSL_CTX_new(TLS_client_method());

    if (!t)
        abort(); /* memory */
    (void)SSL_CTX_set_min_proto_version(t, TLS1_2_VERSION);
    (void)SSL_CTX_set_options(t, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    (void)SSL_CTX_set_session_cache_mode(t, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_mode(t, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(t, 1); /* one call of the kernel for a record, not two */
    SSL_CTX_set_default_passwd_cb(t, no_password);
    (void)SSL_CTX_set_alpn_protos(t, protocol, sizeof(protocol) - 1); /* fails for lack of memory: not offered */
    *ret_why = trust(c, t) < 0 ? FAILURE_AUTHORITY : context_identify(c, t) < 0 ? FAILURE_CERTIFICATE : FAILURE_NONE;
    ERR_clear_error();
    if (*ret_why == FAILURE_NONE)
        return t;
    SSL_CTX_free(t);
    return NULL;
}

SSL_CTX *context_get(struct http_client *c, enum http_failure *ret_why)
{
    int64_t now_ms = http_mono_ms();

    if (c->context && now_ms < c->context_ms + FRESH_MS)
        return c->context;
    context_done(c);
    c->context = context_new(c, ret_why);
    c->context_ms = now_ms;
    return c->context;
}

void context_done(struct http_client *c)
{
    SSL_CTX_free(c->context); /* connections keep theirs */
    c->context = NULL;
}

static void expect(SSL *ssl, const char *host)
{
    X509_VERIFY_PARAM *p = SSL_get0_param(ssl);

    if (X509_VERIFY_PARAM_set1_ip_asc(p, host) == 1)
        return;
    (void)X509_VERIFY_PARAM_set1_host(p, host, 0);
    (void)SSL_set_tlsext_host_name(ssl, host);
}

SSL *context_begin(SSL_CTX *context, const char *host, int fd, SSL *under)
{
    SSL *ssl = SSL_new(context);
    BIO *bio = under ? BIO_new(BIO_f_ssl()) : BIO_new_socket(fd, BIO_NOCLOSE);

    if (!ssl || !bio)
        abort(); /* memory */
    if (under)
        (void)BIO_set_ssl(bio, under, BIO_NOCLOSE);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_connect_state(ssl);
    expect(ssl, host);
    ERR_clear_error();
    return ssl;
}

enum http_failure context_trouble(struct link *l, const SSL *ssl)
{
    long verified = SSL_get_verify_result(ssl);
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    enum http_failure why = verified == X509_V_OK || l->client->is_insecure ? FAILURE_SHAKE : FAILURE_VERIFY;

    if (why == FAILURE_VERIFY)
        reason = X509_verify_cert_error_string(verified);
    (void)snprintf(l->trouble, sizeof(l->trouble), "%s",
                   reason ? reason : "the connection was closed during the TLS handshake");
    ERR_clear_error();
    return why;
}
