/* jwt.c - signed tokens, ES256 only */
#include "pki/jwt.h"

#include "pki/certificate.h"
#include "base/util.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

enum { HALF = 32, SIGNATURE = 2 * HALF };

struct jwt_key {
    EVP_PKEY *key;
    struct buf id;
};

/* ---- base64url ---- */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void base64url_print(struct buf *out, struct str bytes)
{
    uint32_t bits = 0;
    unsigned n = 0;

    for (size_t i = 0; i < bytes.n; i++) {
        bits = bits << 8 | (unsigned char)bytes.p[i];
        for (n += 8; n >= 6; n -= 6)
            buf_char(out, alphabet[bits >> (n - 6) & 63]);
    }
    if (n)
        buf_char(out, alphabet[bits << (6 - n) & 63]);
}

int base64url_parse(struct str text, struct buf *out)
{
    uint32_t bits = 0;
    unsigned n = 0;

    for (size_t i = 0; i < text.n; i++) {
        const char *at = text.p[i] ? memchr(alphabet, text.p[i], sizeof(alphabet) - 1) : NULL;

        if (!at)
            return -1;
        bits = bits << 6 | (uint32_t)(at - alphabet);
        n += 6;
        if (n >= 8) {
            n -= 8;
            buf_char(out, (char)(bits >> n & 255));
        }
    }
    /* A whole character too much, or bits that mean nothing: two texts for one value. */
    return n >= 6 || (bits & ((1U << n) - 1)) ? -1 : 0;
}

/* ---- keys ---- */

static int jwt_fail(struct err *e, const char *what)
{
    ERR_clear_error();
    return err_set(e, ERR_INVALID, "%s", what);
}

static bool is_p256(const EVP_PKEY *key)
{
    char name[32];
    size_t n;

    return EVP_PKEY_get_group_name(key, name, sizeof(name), &n) == 1 &&
           (strcmp(name, "prime256v1") == 0 || strcmp(name, "P-256") == 0);
}

static struct jwt_key *jwt_wrap(EVP_PKEY *take_key)
{
    struct jwt_key *k = xcalloc(1, sizeof(*k));
    unsigned char *der = NULL, hash[SHA256_DIGEST_LENGTH];
    int n = i2d_PUBKEY(take_key, &der);

    SHA256(der, (size_t)MAX_OF(n, 0), hash);
    OPENSSL_free(der);
    k->key = take_key;
    base64url_print(&k->id, (struct str){ (char *)hash, sizeof(hash) });
    return k;
}

struct jwt_key *jwt_key_new(struct err *e)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");

    if (!key)
        (void)jwt_fail(e, "OpenSSL failed to create a key");
    return key ? jwt_wrap(key) : NULL;
}

int jwt_key_read(struct str pem, struct jwt_key **ret, struct err *e)
{
    BIO *bio = BIO_new_mem_buf(pem.p ? pem.p : "", (int)pem.n);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, "") : NULL;

    BIO_free(bio);
    if (!key || !is_p256(key)) {
        EVP_PKEY_free(key);
        return jwt_fail(e, "not a private key on curve P-256");
    }
    *ret = jwt_wrap(key);
    return 0;
}

int jwt_key_print(const struct jwt_key *k, struct buf *out, struct err *e)
{
    BIO *bio = BIO_new(BIO_s_secmem());
    char *p;
    long n;

    if (!bio || PEM_write_bio_PrivateKey(bio, k->key, NULL, NULL, 0, NULL, NULL) != 1) {
        BIO_free(bio);
        return jwt_fail(e, "OpenSSL failed to encode a key");
    }
    n = BIO_get_mem_data(bio, &p);
    buf_append(out, p, (size_t)n);
    BIO_free(bio);
    return 0;
}

void jwt_key_free(struct jwt_key *k)
{
    if (!k)
        return;
    EVP_PKEY_free(k->key);
    buf_done(&k->id);
    free(k);
}

struct str jwt_key_id(const struct jwt_key *k)
{
    return buf_view(&k->id);
}

static struct json *coordinate(struct arena *a, const struct jwt_key *k, const char *name)
{
    unsigned char bytes[HALF] = { 0 };
    BIGNUM *n = NULL;
    autobuf text = { 0 };

    if (EVP_PKEY_get_bn_param(k->key, name, &n) == 1)
        (void)BN_bn2binpad(n, bytes, sizeof(bytes)); /* a coordinate of the curve always fits */
    BN_free(n);
    base64url_print(&text, (struct str){ (char *)bytes, sizeof(bytes) });
    return json_str(a, arena_str(a, buf_view(&text)));
}

struct json *jwt_key_public(struct arena *a, const struct jwt_key *k)
{
    struct json *j = json_object(a);

    json_set(j, "use", json_str(a, STR("sig")));
    json_set(j, "kty", json_str(a, STR("EC")));
    json_set(j, "kid", json_str(a, arena_str(a, jwt_key_id(k))));
    json_set(j, "crv", json_str(a, STR("P-256")));
    json_set(j, "alg", json_str(a, STR("ES256")));
    json_set(j, "x", coordinate(a, k, OSSL_PKEY_PARAM_EC_PUB_X));
    json_set(j, "y", coordinate(a, k, OSSL_PKEY_PARAM_EC_PUB_Y));
    return j;
}

/* ---- signatures ---- two numbers of 32 bytes; OpenSSL has them in DER ---- */

static bool der_to_raw(const unsigned char *der, size_t n, unsigned char raw[SIGNATURE])
{
    const unsigned char *p = der;
    ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &p, (long)n);
    bool did = sig && BN_bn2binpad(ECDSA_SIG_get0_r(sig), raw, HALF) == HALF &&
               BN_bn2binpad(ECDSA_SIG_get0_s(sig), raw + HALF, HALF) == HALF;

    ECDSA_SIG_free(sig);
    return did;
}

static int raw_to_der(const unsigned char raw[SIGNATURE], unsigned char **ret_der)
{
    ECDSA_SIG *sig = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(raw, HALF, NULL), *s = BN_bin2bn(raw + HALF, HALF, NULL);
    int n = -1;

    if (sig && r && s && ECDSA_SIG_set0(sig, r, s) == 1) {
        r = s = NULL;
        n = i2d_ECDSA_SIG(sig, ret_der);
    }
    BN_free(r);
    BN_free(s);
    ECDSA_SIG_free(sig);
    return n;
}

static bool sign(const struct jwt_key *k, struct str text, unsigned char raw[SIGNATURE])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    unsigned char der[256];
    size_t n = sizeof(der);
    bool did = ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, k->key) == 1 &&
               EVP_DigestSign(ctx, der, &n, (const unsigned char *)text.p, text.n) == 1 && der_to_raw(der, n, raw);

    EVP_MD_CTX_free(ctx);
    return did;
}

static bool is_signed(const struct jwt_key *k, struct str text, struct str signature)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    unsigned char *der = NULL;
    int n = signature.n == SIGNATURE ? raw_to_der((const unsigned char *)signature.p, &der) : -1;
    bool did = ctx && n > 0 && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, k->key) == 1 &&
               EVP_DigestVerify(ctx, der, (size_t)n, (const unsigned char *)text.p, text.n) == 1;

    OPENSSL_free(der);
    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
    return did;
}

/* ---- tokens ---- */

static void print_part(struct buf *out, const struct json *j)
{
    autobuf text = { 0 };

    json_print(&text, j);
    base64url_print(out, buf_view(&text));
}

int jwt_sign(const struct jwt_key *k, const struct json *claims, struct buf *out, struct err *e)
{
    autoarena a = { 0 };
    autosecret token = { 0 };
    struct json *head = json_object(&a);
    unsigned char raw[SIGNATURE];

    json_set(head, "alg", json_str(&a, STR("ES256")));
    json_set(head, "kid", json_str(&a, jwt_key_id(k)));
    print_part(&token, head);
    buf_char(&token, '.');
    print_part(&token, claims);
    if (!sign(k, buf_view(&token), raw))
        return jwt_fail(e, "OpenSSL failed to sign a token");
    buf_char(&token, '.');
    base64url_print(&token, (struct str){ (char *)raw, sizeof(raw) });
    if (token.n > JWT_MAX)
        return err_set(e, ERR_TOO_BIG, "token is too long: %zu bytes, at most %d are allowed", token.n, JWT_MAX);
    buf_str(out, buf_view(&token));
    return 0;
}

static bool jwt_split(struct str token, struct str part[3])
{
    for (size_t i = 0; i < 3; i++)
        if (!token.p || !str_split(&token, '.', &part[i]) || !part[i].n)
            return false;
    return !token.p;
}

bool jwt_looks_like(struct str token)
{
    struct str part[3];

    return token.n <= JWT_MAX && jwt_split(token, part);
}

static struct json *parse_part(struct arena *a, struct str part)
{
    static const struct json_parse_options options = { .limits = { .max_bytes = JWT_MAX, .max_depth = 16 } };
    autobuf text = { 0 };
    struct json *j;

    if (base64url_parse(part, &text) < 0 || json_parse(a, arena_str(a, buf_view(&text)), &options, &j, NULL) < 0 ||
        !json_is(j, JSON_OBJECT))
        return NULL;
    return j;
}

/* Extensions that must be understood ("crit") are not: there are none here. */
static const struct jwt_key *jwt_key_of(const struct json *head, struct jwt_key *const *keys, size_t n_keys)
{
    struct str id = json_member_text(head, "kid");

    if (!str_is(json_member_text(head, "alg"), "ES256") || json_get(head, "crit"))
        return NULL;
    for (size_t i = 0; i < n_keys; i++)
        if (str_eq(id, jwt_key_id(keys[i])))
            return keys[i];
    return NULL;
}

struct json *jwt_verify(struct arena *a, struct str token, struct jwt_key *const *keys, size_t n_keys)
{
    struct str part[3];
    autobuf signature = { 0 };
    const struct jwt_key *key;

    if (token.n > JWT_MAX || !jwt_split(token, part))
        return NULL;
    key = jwt_key_of(parse_part(a, part[0]), keys, n_keys);
    if (!key || base64url_parse(part[2], &signature) < 0 ||
        !is_signed(key, str_sub(token, 0, part[0].n + 1 + part[1].n), buf_view(&signature)))
        return NULL;
    return parse_part(a, part[1]); /* not read before it is known to be ours */
}

struct json *jwt_claims(struct arena *a, struct str token)
{
    struct str part[3];

    return token.n <= JWT_MAX && jwt_split(token, part) ? parse_part(a, part[1]) : NULL;
}
