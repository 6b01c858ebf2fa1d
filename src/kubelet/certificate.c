/* certificate.c - keys, certificates and requests for them, by OpenSSL */
#include "kubelet/certificate.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/util.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <time.h>

enum { YEAR_S = 365 * 24 * 3600, HOUR_S = 3600 };

static int failed(struct err *e, const char *what)
{
    char text[200];

    ERR_error_string_n(ERR_get_error(), text, sizeof(text));
    ERR_clear_error();
    return err_set(e, ERR_IO, "%s: %s", what, text);
}

static X509_NAME *subject(const struct certificate_names *names)
{
    autoarena a = { 0 };
    X509_NAME *name = X509_NAME_new();
    struct str common = arena_fmt(&a, "system:node:%.*s", STR_ARG(names->node));

    if (name &&
        X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8, (const unsigned char *)"system:nodes", -1, -1, 0) == 1 &&
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)common.p, -1, -1, 0) == 1)
        return name;
    X509_NAME_free(name);
    return NULL;
}

static const struct {
    int nid;
    const char *value; /* NULL: the names */
} extension_table[] = {
    { NID_basic_constraints, "critical,CA:FALSE" },
    { NID_key_usage, "critical,digitalSignature" },
    { NID_ext_key_usage, "serverAuth" },
    { NID_subject_alt_name, NULL },
};

static STACK_OF(X509_EXTENSION) * extensions(const struct certificate_names *names, bool only_names)
{
    autoarena a = { 0 };
    struct str alt = arena_fmt(&a, "DNS:%.*s,IP:%.*s", STR_ARG(names->node), STR_ARG(names->ip));
    STACK_OF(X509_EXTENSION) *list = sk_X509_EXTENSION_new_null();

    for (size_t i = 0; list && i < ARRAY_LEN(extension_table); i++) {
        const char *value = extension_table[i].value;
        X509_EXTENSION *one;

        if (only_names && value)
            continue;
        one = X509V3_EXT_conf_nid(NULL, NULL, extension_table[i].nid, value ? value : alt.p);
        if (!one || !sk_X509_EXTENSION_push(list, one)) {
            X509_EXTENSION_free(one);
            sk_X509_EXTENSION_pop_free(list, X509_EXTENSION_free);
            return NULL;
        }
    }
    return list;
}

static bool take_text(BIO *bio, struct buf *out)
{
    char *p;
    long n = BIO_get_mem_data(bio, &p);

    if (n > 0)
        buf_append(out, p, (size_t)n);
    return n > 0;
}

static int print_key(EVP_PKEY *key, struct buf *out, struct err *e)
{
    BIO *bio = BIO_new(BIO_s_mem());
    bool did = bio && PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1 && take_text(bio, out);

    BIO_free(bio);
    return did ? 0 : failed(e, "write a key");
}

static bool fill(X509 *x, EVP_PKEY *key, X509_NAME *name, const STACK_OF(X509_EXTENSION) * list)
{
    unsigned char serial[16];
    BIGNUM *number;
    bool did;

    if (RAND_bytes(serial, sizeof(serial)) != 1)
        return false;
    serial[0] &= 0x7f;
    number = BN_bin2bn(serial, sizeof(serial), NULL);
    did = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x)) && X509_set_version(x, X509_VERSION_3) &&
          X509_gmtime_adj(X509_getm_notBefore(x), -HOUR_S) && X509_gmtime_adj(X509_getm_notAfter(x), YEAR_S) &&
          X509_set_subject_name(x, name) && X509_set_issuer_name(x, name) && X509_set_pubkey(x, key);
    BN_free(number);
    for (int i = 0; did && i < sk_X509_EXTENSION_num(list); i++)
        did = X509_add_ext(x, sk_X509_EXTENSION_value(list, i), -1) == 1;
    return did && X509_sign(x, key, EVP_sha256()) > 0;
}

static bool print_signed(EVP_PKEY *key, X509_NAME *name, const STACK_OF(X509_EXTENSION) * list, struct buf *out)
{
    BIO *bio = BIO_new(BIO_s_mem());
    X509 *x = X509_new();
    bool did = bio && x && fill(x, key, name, list) && PEM_write_bio_X509(bio, x) == 1 && take_text(bio, out);

    X509_free(x);
    BIO_free(bio);
    return did;
}

static bool print_request(EVP_PKEY *key, X509_NAME *name, STACK_OF(X509_EXTENSION) * list, struct buf *out)
{
    BIO *bio = BIO_new(BIO_s_mem());
    X509_REQ *r = X509_REQ_new();
    bool did = bio && r && X509_REQ_set_version(r, X509_REQ_VERSION_1) && X509_REQ_set_subject_name(r, name) &&
               X509_REQ_set_pubkey(r, key) && X509_REQ_add_extensions(r, list) &&
               X509_REQ_sign(r, key, EVP_sha256()) > 0 && PEM_write_bio_X509_REQ(bio, r) == 1 && take_text(bio, out);

    X509_REQ_free(r);
    BIO_free(bio);
    return did;
}

static int make(const struct certificate_names *names, bool is_request, struct buf *out, struct buf *key_out,
                struct err *e)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509_NAME *name = subject(names);
    STACK_OF(X509_EXTENSION) *list = extensions(names, is_request);
    int rc = -1;

    if (!key || !name || !list ||
        !(is_request ? print_request(key, name, list, out) : print_signed(key, name, list, out)))
        (void)failed(e, "make a certificate");
    else
        rc = print_key(key, key_out, e);
    sk_X509_EXTENSION_pop_free(list, X509_EXTENSION_free);
    X509_NAME_free(name);
    EVP_PKEY_free(key);
    return rc;
}

int certificate_make(const struct certificate_names *names, struct buf *cert, struct buf *key, struct err *e)
{
    return make(names, false, cert, key, e);
}

int certificate_ask(const struct certificate_names *names, struct buf *request, struct buf *key, struct err *e)
{
    return make(names, true, request, key, e);
}

int certificate_end(struct str pem, int64_t *ret_ms, struct err *e)
{
    BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
    X509 *x = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    struct tm at = { 0 };
    int rc = x && ASN1_TIME_to_tm(X509_get0_notAfter(x), &at) == 1 ? 0 : failed(e, "read a certificate");

    if (rc == 0)
        *ret_ms = (int64_t)timegm(&at) * 1000;
    X509_free(x);
    BIO_free(bio);
    return rc;
}
