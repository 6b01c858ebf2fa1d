/* csr.c - a request for a certificate, by OpenSSL */
#include "kubelet/csr.h"

#include "base/arena.h"
#include "base/util.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

static bool set_subject(X509_REQ *r, struct str node)
{
    autoarena a = { 0 };
    X509_NAME *name = X509_REQ_get_subject_name(r);
    struct str common = arena_fmt(&a, "system:node:%.*s", STR_ARG(node));

    return X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8, (const unsigned char *)"system:nodes", -1, -1, 0) ==
               1 &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)common.p, -1, -1, 0) == 1;
}

static bool set_names(X509_REQ *r, struct str node, struct str ip)
{
    autoarena a = { 0 };
    struct str names = arena_fmt(&a, "DNS:%.*s,IP:%.*s", STR_ARG(node), STR_ARG(ip));
    STACK_OF(X509_EXTENSION) *list = sk_X509_EXTENSION_new_null();
    X509_EXTENSION *one = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names.p);
    bool did = list && one && sk_X509_EXTENSION_push(list, one) > 0;

    if (!did)
        X509_EXTENSION_free(one);
    did = did && X509_REQ_add_extensions(r, list) == 1;
    sk_X509_EXTENSION_pop_free(list, X509_EXTENSION_free);
    return did;
}

static void csr_take_text(BIO *bio, struct buf *out)
{
    char *p;
    long n = BIO_get_mem_data(bio, &p);

    buf_append(out, p, (size_t)MAX_OF(n, 0L));
}

static bool print_all(X509_REQ *r, EVP_PKEY *key, struct buf *request, struct buf *key_out)
{
    BIO *open = BIO_new(BIO_s_mem()), *closed = BIO_new(BIO_s_secmem());
    bool did = open && closed && PEM_write_bio_X509_REQ(open, r) == 1 &&
               PEM_write_bio_PrivateKey(closed, key, NULL, NULL, 0, NULL, NULL) == 1;

    if (did) {
        csr_take_text(open, request);
        csr_take_text(closed, key_out);
    }
    BIO_free(open);
    BIO_free(closed);
    return did;
}

int csr_make(struct str node, struct str ip, struct buf *request, struct buf *key, struct err *e)
{
    EVP_PKEY *own = EVP_EC_gen("P-256");
    X509_REQ *r = X509_REQ_new();
    bool did = own && r && X509_REQ_set_version(r, X509_REQ_VERSION_1) == 1 && set_subject(r, node) &&
               set_names(r, node, ip) && X509_REQ_set_pubkey(r, own) == 1 && X509_REQ_sign(r, own, EVP_sha256()) > 0 &&
               print_all(r, own, request, key);

    X509_REQ_free(r);
    EVP_PKEY_free(own);
    if (did)
        return 0;
    ERR_clear_error(); /* its words are for its own authors */
    return err_set(e, ERR_INVALID, "OpenSSL failed to create a certificate signing request");
}
