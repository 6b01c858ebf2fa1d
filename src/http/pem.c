/* pem.c - certificates and keys as text, for a TLS context */
#include "http/pem.h"

#include "base/util.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

int pem_error(struct err *e, const char *what)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = ERR_reason_error_string(code);

    ERR_clear_error();
    return err_set(e, ERR_INVALID, "%s: %s", what, reason ? reason : "is not PEM of the expected kind");
}

static BIO *bio_of(struct str text)
{
    BIO *bio = BIO_new_mem_buf(text.p ? text.p : "", (int)text.n);

    if (!bio)
        abort();
    return bio;
}

int pem_use_chain(SSL_CTX *t, struct str pem, struct err *e)
{
    BIO *bio = bio_of(pem);
    X509 *cert = PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL);
    int ok = cert && SSL_CTX_use_certificate(t, cert) == 1;

    X509_free(cert);
    while (ok && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)))
        if (SSL_CTX_add0_chain_cert(t, cert) != 1) {
            X509_free(cert);
            ok = 0;
        }
    BIO_free(bio);
    if (!ok)
        return pem_error(e, "certificate");
    ERR_clear_error(); /* the end of the text */
    return 0;
}

int pem_use_key(SSL_CTX *t, struct str pem, struct err *e)
{
    BIO *bio = bio_of(pem);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, "");
    int ok = key && SSL_CTX_use_PrivateKey(t, key) == 1;

    EVP_PKEY_free(key);
    BIO_free(bio);
    if (!ok)
        return pem_error(e, "key");
    return SSL_CTX_check_private_key(t) == 1 ? 0 : pem_error(e, "certificate and key");
}

int pem_use_authorities(SSL_CTX *t, struct str pem, bool of_clients, struct err *e)
{
    BIO *bio = bio_of(pem);
    size_t n = 0;
    X509 *cert;

    for (; (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)); n++) {
        (void)X509_STORE_add_cert(SSL_CTX_get_cert_store(t), cert); /* one that is there twice is fine */
        if (of_clients)
            (void)SSL_CTX_add_client_CA(t, cert);
        X509_free(cert);
    }
    BIO_free(bio);
    if (!n)
        return pem_error(e, of_clients ? "client CA" : "certificate authority");
    ERR_clear_error();
    return 0;
}
