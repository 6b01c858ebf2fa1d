/* certificate.c - a CA of our own and certificates by it */
#include "pki/certificate.h"

#include "base/rand.h"
#include "base/util.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

enum { CA_LIVES = 10, EARLY_MS = 3600 * 1000 };

/* ---- OpenSSL's things ---- */

#define autokey  __attribute__((cleanup(key_done))) EVP_PKEY
#define autox509 __attribute__((cleanup(x509_done))) X509

static void key_done(EVP_PKEY **key)
{
    EVP_PKEY_free(*key);
}

static void x509_done(X509 **x)
{
    X509_free(*x);
}

static int certificate_fail(struct err *e, const char *what)
{
    ERR_clear_error(); /* its words are for its own authors */
    return err_set(e, ERR_INVALID, "%s", what);
}

static X509 *read_cert(const struct buf *pem)
{
    BIO *bio = BIO_new_mem_buf(pem->p ? pem->p : "", (int)pem->n);
    X509 *x = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;

    BIO_free(bio);
    ERR_clear_error();
    return x;
}

static EVP_PKEY *read_key(const struct buf *pem)
{
    BIO *bio = BIO_new_mem_buf(pem->p ? pem->p : "", (int)pem->n);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, "") : NULL;

    BIO_free(bio);
    ERR_clear_error();
    return key;
}

static void certificate_take_text(BIO *bio, struct buf *ret)
{
    char *p;
    long n = BIO_get_mem_data(bio, &p);

    buf_reset(ret);
    buf_append(ret, p, (size_t)n);
    BIO_free(bio); /* it clears what it frees */
}

static int write_cert(X509 *x, struct buf *ret)
{
    BIO *bio = BIO_new(BIO_s_mem());

    if (!bio || PEM_write_bio_X509(bio, x) != 1) {
        BIO_free(bio);
        return -1;
    }
    certificate_take_text(bio, ret);
    return 0;
}

static int write_key(EVP_PKEY *key, struct buf *ret)
{
    BIO *bio = BIO_new(BIO_s_secmem());

    if (!bio || PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1) {
        BIO_free(bio);
        return -1;
    }
    certificate_take_text(bio, ret);
    return 0;
}

/* ---- making ---- */

static int64_t certificate_time_of(const ASN1_TIME *t)
{
    struct tm tm;

    return ASN1_TIME_to_tm(t, &tm) == 1 ? (int64_t)timegm(&tm) * 1000 : 0;
}

static bool certificate_add_name(X509 *x, const char *kind, struct str name)
{
    return X509_NAME_add_entry_by_txt(X509_get_subject_name(x), kind, MBSTRING_UTF8, (const unsigned char *)name.p,
                                      (int)name.n, -1, 0) == 1;
}

static int set_basics(X509 *x, EVP_PKEY *key, struct str name, int64_t now_ms, int64_t life_ms)
{
    uint64_t serial = rand_os_u64() >> 1;

    return X509_set_version(x, X509_VERSION_3) == 1 && ASN1_INTEGER_set_uint64(X509_get_serialNumber(x), serial) == 1 &&
                   ASN1_TIME_set(X509_getm_notBefore(x), (time_t)((now_ms - EARLY_MS) / 1000)) &&
                   ASN1_TIME_set(X509_getm_notAfter(x), (time_t)((now_ms + life_ms) / 1000)) &&
                   certificate_add_name(x, "CN", name) && X509_set_pubkey(x, key) == 1
               ? 0
               : -1;
}

static int add_extension(X509 *x, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *ext;
    int ok;

    X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
    ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    ok = ext && X509_add_ext(x, ext, -1) == 1;
    X509_EXTENSION_free(ext);
    return ok ? 0 : -1;
}

static bool certificate_is_address(const char *name)
{
    unsigned char bytes[16];

    return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

static int sign_ca(const struct certificate_ca *spec, EVP_PKEY *key, struct buf *ret)
{
    autox509 *x = X509_new();
    autobuf name = { 0 };

    buf_fmt(&name, "%s CA", spec->title);
    return x && set_basics(x, key, buf_view(&name), spec->now_ms, spec->life_ms) == 0 &&
                   X509_set_issuer_name(x, X509_get_subject_name(x)) == 1 &&
                   add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") == 0 &&
                   add_extension(x, x, NID_key_usage, "critical,keyCertSign,cRLSign") == 0 &&
                   add_extension(x, x, NID_subject_key_identifier, "hash") == 0 && X509_sign(x, key, EVP_sha256()) &&
                   write_cert(x, ret) == 0
               ? 0
               : -1;
}

int certificate_make_ca(const struct certificate_ca *spec, struct buf *ret_ca, struct buf *ca_key, struct err *e)
{
    autokey *key = ca_key->n ? read_key(ca_key) : EVP_EC_gen("P-256");

    if (!key)
        return certificate_fail(e, "not a private key");
    return sign_ca(spec, key, ret_ca) == 0 && write_key(key, ca_key) == 0
               ? 0
               : certificate_fail(e, "OpenSSL failed to create a CA");
}

/* In front of what is trusted. */
static int new_ca(struct certificate_set *set, int64_t now_ms, int64_t life_ms, struct err *e)
{
    struct certificate_ca spec = { set->title, now_ms, life_ms };
    autobuf text = { 0 };

    buf_reset(&set->ca_key);
    if (certificate_make_ca(&spec, &text, &set->ca_key, e) < 0)
        return -1;
    if (set->ca.n) { /* of the old ones the newest: who was given it still trusts what it signed */
        autox509 *old = read_cert(&set->ca);
        autobuf old_text = { 0 };

        if (old && write_cert(old, &old_text) == 0)
            buf_str(&text, buf_view(&old_text));
    }
    buf_reset(&set->ca);
    buf_str(&set->ca, buf_view(&text));
    return 0;
}

static bool ca_is_fit(const struct certificate_set *set, int64_t until_ms)
{
    autox509 *ca = read_cert(&set->ca);
    autokey *key = read_key(&set->ca_key);

    return ca && key && X509_check_private_key(ca, key) == 1 && certificate_time_of(X509_get0_notAfter(ca)) >= until_ms;
}

static bool set_usage(X509 *x, X509 *ca, const char *const *names)
{
    autobuf alt = { 0 };

    for (size_t i = 0; names && names[i]; i++)
        buf_fmt(&alt, "%s%s:%s", i ? "," : "", certificate_is_address(names[i]) ? "IP" : "DNS", names[i]);
    return add_extension(x, ca, NID_basic_constraints, "critical,CA:FALSE") == 0 &&
           add_extension(x, ca, NID_key_usage, "critical,digitalSignature") == 0 &&
           add_extension(x, ca, NID_ext_key_usage, names ? "serverAuth" : "clientAuth") == 0 &&
           (!names || add_extension(x, ca, NID_subject_alt_name, alt.p) == 0) &&
           add_extension(x, ca, NID_authority_key_identifier, "keyid") == 0;
}

int certificate_sign(const struct certificate_set *set, const struct certificate_spec *spec, struct buf *ret_cert,
                     struct buf *ret_key, struct err *e)
{
    autox509 *ca = read_cert(&set->ca), *x = X509_new();
    autokey *ca_key = read_key(&set->ca_key), *key = EVP_EC_gen("P-256");
    int64_t life_ms = ca ? MIN_OF(spec->life_ms, certificate_time_of(X509_get0_notAfter(ca)) - spec->now_ms) : 0;
    bool did = ca && x && ca_key && key;

    if (did && life_ms <= 0)
        return certificate_fail(e, "the CA has expired");
    for (size_t i = 0; did && i < spec->n_organizations; i++)
        did = certificate_add_name(x, "O", spec->organizations[i]);
    did = did && set_basics(x, key, spec->common_name, spec->now_ms, life_ms) == 0 &&
          X509_set_issuer_name(x, X509_get_subject_name(ca)) == 1 && set_usage(x, ca, spec->names) &&
          X509_sign(x, ca_key, EVP_sha256()) && write_cert(x, ret_cert) == 0 && write_key(key, ret_key) == 0;
    return did ? 0 : certificate_fail(e, "OpenSSL failed to create a certificate");
}

int certificate_make(struct certificate_set *set, const char *const *names, int64_t now_ms, int64_t life_ms,
                     struct err *e)
{
    struct certificate_spec spec = {
        .common_name = str_of(set->title), .names = names, .now_ms = now_ms, .life_ms = life_ms
    };

    if (!ca_is_fit(set, now_ms + life_ms) && new_ca(set, now_ms, life_ms * CA_LIVES, e) < 0)
        return -1;
    return certificate_sign(set, &spec, &set->cert, &set->key, e);
}

/* ---- looking ---- */

int certificate_check(const struct certificate_set *set, const char *const *names, int64_t *ret_begin_ms,
                      int64_t *ret_end_ms, struct err *e)
{
    autox509 *ca = read_cert(&set->ca), *x = read_cert(&set->cert);
    autokey *key = read_key(&set->key), *ca_key = ca ? X509_get_pubkey(ca) : NULL;

    if (!ca || !x || !key || !ca_key)
        return certificate_fail(e, "certificate or key is missing");
    if (X509_check_private_key(x, key) != 1)
        return certificate_fail(e, "the key does not match the certificate");
    if (X509_verify(x, ca_key) != 1)
        return certificate_fail(e, "the CA did not sign the certificate");
    for (; *names; names++)
        if (certificate_is_address(*names) ? X509_check_ip_asc(x, *names, 0) != 1
                                           : X509_check_host(x, *names, 0, 0, NULL) != 1)
            return err_set(e, ERR_INVALID, "the certificate is not for %s", *names);
    *ret_begin_ms = certificate_time_of(X509_get0_notBefore(x)) + EARLY_MS;
    *ret_end_ms = certificate_time_of(X509_get0_notAfter(x));
    return 0;
}

int certificate_end(struct str cert, int64_t *ret_ms, struct err *e)
{
    autox509 *x = read_cert(&(struct buf){ (char *)cert.p, cert.n, cert.n });

    if (!x)
        return certificate_fail(e, "not a certificate");
    *ret_ms = certificate_time_of(X509_get0_notAfter(x));
    return 0;
}

void secret_wipe(struct buf *b)
{
    if (b->p)
        OPENSSL_cleanse(b->p, b->cap);
    buf_done(b);
}

void certificate_set_done(struct certificate_set *s)
{
    buf_done(&s->ca);
    secret_wipe(&s->ca_key);
    buf_done(&s->cert);
    secret_wipe(&s->key);
}

bool certificate_fits(const struct buf *cert, const struct buf *key)
{
    autox509 *x = read_cert(cert);
    autokey *k = read_key(key);

    return x && k && X509_check_private_key(x, k) == 1;
}
