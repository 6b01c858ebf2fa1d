/* sshkey.c - key pairs for the ssh plugin, by OpenSSL
 *
 * OpenSSL makes the keys and writes PKCS#1 and SEC1. The OpenSSH container ("openssh-key-v1", the only form in which
 * ssh reads a private ed25519 key) and the public line are written here: both are lists of length-prefixed strings.
 */
#include "plugin/sshkey.h"

#include "base/util.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>

enum {
    RSA_BITS = 2048,
    PEM_LINE = 70, /* as ssh-keygen breaks the OpenSSH form */
    ED25519_BYTES = 32,
    POINT_MAX = 1 + 2 * 66, /* P-521, uncompressed */
    PEM_BYTES_MAX = 1024 * 1024,
};

static const char openssh_begin[] = "-----BEGIN OPENSSH PRIVATE KEY-----";
static const char openssh_end[] = "-----END OPENSSH PRIVATE KEY-----";
static const char openssh_magic[] = "openssh-key-v1"; /* its NUL belongs to it */

#define autopkey   __attribute__((cleanup(pkey_done))) EVP_PKEY
#define autobio    __attribute__((cleanup(bio_done))) BIO
#define autosecret __attribute__((cleanup(secret_done))) struct buf

static void pkey_done(EVP_PKEY **key)
{
    EVP_PKEY_free(*key);
}

static void bio_done(BIO **bio)
{
    BIO_free(*bio); /* memory BIOs clear what they free */
}

static void secret_done(struct buf *b)
{
    if (b->p)
        OPENSSL_cleanse(b->p, b->cap);
    buf_done(b);
}

/* OpenSSL's words ("DECODER routines::unsupported") are for its own authors; its queue is emptied. */
static int err_openssl(struct err *e, enum err_code code, const char *what)
{
    ERR_clear_error();
    return err_set(e, code, "%s", what);
}

/* ---- the wire form of RFC 4251: 32-bit lengths, big-endian ---- */

static void wire_u32(struct buf *b, uint32_t v)
{
    unsigned char p[4] = { (unsigned char)(v >> 24), (unsigned char)(v >> 16), (unsigned char)(v >> 8),
                           (unsigned char)v };

    buf_append(b, p, sizeof(p));
}

static void wire_string(struct buf *b, struct str s)
{
    wire_u32(b, (uint32_t)s.n);
    buf_str(b, s);
}

/* A number that is not negative: no leading zeros, but one when the top bit is set. */
static void wire_mpint(struct buf *b, const BIGNUM *n)
{
    size_t bytes = (size_t)BN_num_bytes(n), pad = bytes && BN_is_bit_set(n, (int)bytes * 8 - 1);

    wire_u32(b, (uint32_t)(bytes + pad));
    buf_repeat(b, '\0', pad);
    BN_bn2bin(n, (unsigned char *)buf_reserve(b, bytes));
    b->n += bytes;
}

static int take_u32(struct str *in, uint32_t *ret)
{
    const unsigned char *p = (const unsigned char *)in->p;

    if (in->n < 4)
        return -1;
    *ret = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    *in = str_from(*in, 4);
    return 0;
}

static int take_string(struct str *in, struct str *ret)
{
    uint32_t n;

    if (take_u32(in, &n) < 0 || n > in->n)
        return -1;
    *ret = str_sub(*in, 0, n);
    *in = str_from(*in, n);
    return 0;
}

/* ---- public keys ---- */

static int blob_rsa(EVP_PKEY *key, struct buf *out)
{
    BIGNUM *e = NULL, *n = NULL;
    int rc = -1;

    if (EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &e) == 1 &&
        EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_N, &n) == 1) {
        wire_string(out, STR("ssh-rsa"));
        wire_mpint(out, e);
        wire_mpint(out, n);
        rc = 0;
    }
    BN_free(e);
    BN_free(n);
    return rc;
}

static int blob_ed25519(EVP_PKEY *key, struct buf *out)
{
    unsigned char raw[ED25519_BYTES];
    size_t n = sizeof(raw);

    if (EVP_PKEY_get_raw_public_key(key, raw, &n) != 1)
        return -1;
    wire_string(out, STR("ssh-ed25519"));
    wire_string(out, (struct str){ (const char *)raw, n });
    return 0;
}

static const struct curve {
    const char *openssl, *ssh, *type;
    int field_bytes;
} curves[] = {
    { "prime256v1", "nistp256", "ecdsa-sha2-nistp256", 32 },
    { "secp384r1", "nistp384", "ecdsa-sha2-nistp384", 48 },
    { "secp521r1", "nistp521", "ecdsa-sha2-nistp521", 66 },
};

static const struct curve *curve_of(EVP_PKEY *key)
{
    char group[80];

    if (EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof(group), NULL) != 1)
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(curves); i++)
        if (strcmp(group, curves[i].openssl) == 0)
            return &curves[i];
    return NULL;
}

/* The point as 0x04, x, y, whatever form the key was stored in. */
static int blob_ecdsa(EVP_PKEY *key, struct buf *out)
{
    const struct curve *curve = curve_of(key);
    unsigned char point[POINT_MAX] = { 0x04 };
    BIGNUM *x = NULL, *y = NULL;
    int rc = -1;

    if (curve && EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_EC_PUB_X, &x) == 1 &&
        EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_EC_PUB_Y, &y) == 1 &&
        BN_bn2binpad(x, point + 1, curve->field_bytes) > 0 &&
        BN_bn2binpad(y, point + 1 + curve->field_bytes, curve->field_bytes) > 0) {
        wire_string(out, str_of(curve->type));
        wire_string(out, str_of(curve->ssh));
        wire_string(out, (struct str){ (const char *)point, 1 + 2 * (size_t)curve->field_bytes });
        rc = 0;
    }
    BN_free(x);
    BN_free(y);
    return rc;
}

static int public_blob(EVP_PKEY *key, struct buf *out)
{
    switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_RSA:
        return blob_rsa(key, out);
    case EVP_PKEY_ED25519:
        return blob_ed25519(key, out);
    case EVP_PKEY_EC:
        return blob_ecdsa(key, out);
    default:
        return -1;
    }
}

/* "ssh-rsa AAAA…\n": the type is the first string of the blob. */
static int public_line(struct arena *a, struct str blob, struct str *ret)
{
    autobuf line = { 0 };
    struct str rest = blob, type;

    if (take_string(&rest, &type) < 0 || str_empty(type) || type.n > 64)
        return -1;
    for (size_t i = 0; i < type.n; i++)
        if (type.p[i] <= ' ' || type.p[i] > '~')
            return -1;
    buf_str(&line, type);
    buf_char(&line, ' ');
    buf_base64(&line, blob);
    buf_char(&line, '\n');
    *ret = arena_str(a, buf_view(&line));
    return 0;
}

static int public_line_of(struct arena *a, EVP_PKEY *key, struct str *ret, struct err *e)
{
    autobuf blob = { 0 };

    if (public_blob(key, &blob) < 0 || public_line(a, buf_view(&blob), ret) < 0)
        return err_openssl(e, ERR_INVALID, "ssh has no public key of this kind: use an RSA, ECDSA or Ed25519 key");
    return 0;
}

/* ---- private keys ---- */

/* PKCS#1 for RSA, SEC1 for EC: what OpenSSL calls traditional. */
static int write_traditional(struct arena *a, EVP_PKEY *key, struct str *ret)
{
    autobio *bio = BIO_new(BIO_s_mem());
    char *text;
    long n;

    if (!bio || PEM_write_bio_PrivateKey_traditional(bio, key, NULL, NULL, 0, NULL, NULL) != 1)
        return -1;
    n = BIO_get_mem_data(bio, &text);
    *ret = arena_str(a, (struct str){ text, (size_t)n });
    return 0;
}

/* The part that would be encrypted: check number twice, type, public, seed + public, comment, padding 1, 2, 3 … */
static int openssh_secret(EVP_PKEY *key, struct str blob, struct buf *out)
{
    unsigned char seed[2 * ED25519_BYTES];
    size_t n = ED25519_BYTES, start = out->n;
    uint32_t check;

    if (RAND_bytes((unsigned char *)&check, sizeof(check)) != 1 || EVP_PKEY_get_raw_private_key(key, seed, &n) != 1)
        return -1;
    memcpy(seed + ED25519_BYTES, blob.p + blob.n - ED25519_BYTES, ED25519_BYTES);
    wire_u32(out, check);
    wire_u32(out, check);
    buf_str(out, blob);
    wire_string(out, (struct str){ (const char *)seed, sizeof(seed) });
    wire_string(out, STR_NULL);
    for (char pad = 1; (out->n - start) % 8; pad++)
        buf_char(out, pad);
    OPENSSL_cleanse(seed, sizeof(seed));
    return 0;
}

static int write_openssh(struct arena *a, EVP_PKEY *key, struct str *ret)
{
    autosecret secret = { 0 }, whole = { 0 }, base64 = { 0 }, pem = { 0 };
    autobuf blob = { 0 };

    /* Growing would leave copies behind that are never cleared. */
    buf_reserve(&secret, 1024);
    buf_reserve(&whole, 2048);
    buf_reserve(&base64, 4096);
    buf_reserve(&pem, 8192);
    if (public_blob(key, &blob) < 0 || openssh_secret(key, buf_view(&blob), &secret) < 0)
        return -1;
    buf_append(&whole, openssh_magic, sizeof(openssh_magic));
    wire_string(&whole, STR("none")); /* cipher */
    wire_string(&whole, STR("none")); /* key derivation */
    wire_string(&whole, STR_NULL);    /* and its options */
    wire_u32(&whole, 1);              /* number of keys */
    wire_string(&whole, buf_view(&blob));
    wire_string(&whole, buf_view(&secret));
    buf_base64(&base64, buf_view(&whole));

    buf_fmt(&pem, "%s\n", openssh_begin);
    for (size_t at = 0; at < base64.n; at += PEM_LINE)
        buf_fmt(&pem, "%.*s\n", STR_ARG(str_sub(buf_view(&base64), at, PEM_LINE)));
    buf_fmt(&pem, "%s\n", openssh_end);
    *ret = arena_str(a, buf_view(&pem));
    return 0;
}

/* ---- generating ---- */

static EVP_PKEY *make_rsa(void)
{
    return EVP_RSA_gen(RSA_BITS); /* its public exponent is 65537 */
}

static EVP_PKEY *make_ed25519(void)
{
    return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
}

static EVP_PKEY *make_ecdsa(void)
{
    return EVP_EC_gen("P-256");
}

static const struct key_type {
    const char *name;
    EVP_PKEY *(*make)(void);
    int (*write)(struct arena *a, EVP_PKEY *key, struct str *ret);
} key_types[] = {
    { "rsa", make_rsa, write_traditional },
    { "ed25519", make_ed25519, write_openssh },
    { "ecdsa", make_ecdsa, write_traditional },
};

int ssh_keys_generate(struct arena *a, const char *type, struct ssh_keys *ret, struct err *e)
{
    struct ssh_keys keys;

    for (size_t i = 0; i < ARRAY_LEN(key_types); i++) {
        const struct key_type *t = &key_types[i];
        autopkey *key = strcmp(t->name, type) == 0 ? t->make() : NULL;

        if (strcmp(t->name, type) != 0)
            continue;
        if (!key || t->write(a, key, &keys.private_pem) < 0)
            return err_openssl(e, ERR_INTERNAL, "OpenSSL failed to generate an ssh key");
        if (public_line_of(a, key, &keys.public_line, e) < 0)
            return -1;
        *ret = keys;
        return 0;
    }
    return err_set(e, ERR_INVALID, "unknown key type \"%s\" (rsa, ed25519 or ecdsa)", type);
}

/* ---- reading ---- */

/* The base64 between the two lines of the OpenSSH form, decoded. */
static int openssh_body(struct str pem, struct buf *out)
{
    autosecret base64 = { 0 };
    bool is_inside = false, is_closed = false;
    struct str line;

    buf_reserve(&base64, pem.n);
    buf_reserve(out, pem.n);
    while (!is_closed && str_split(&pem, '\n', &line)) {
        line = str_trim(line);
        if (str_is(line, openssh_begin))
            is_inside = true;
        else if (str_is(line, openssh_end))
            is_closed = is_inside;
        else if (is_inside)
            buf_str(&base64, line);
    }
    return is_closed ? buf_unbase64(out, buf_view(&base64)) : -1;
}

static int read_openssh(struct arena *a, struct str pem, struct str *ret_line, struct err *e)
{
    autosecret body = { 0 };
    struct str in, cipher, kdf, options, blob, secret;
    uint32_t n_keys, check[2];

    if (openssh_body(pem, &body) < 0 || body.n < sizeof(openssh_magic) ||
        memcmp(body.p, openssh_magic, sizeof(openssh_magic)) != 0)
        return err_set(e, ERR_INVALID, "damaged OpenSSH private key");
    in = str_from(buf_view(&body), sizeof(openssh_magic));
    if (take_string(&in, &cipher) < 0 || take_string(&in, &kdf) < 0 || take_string(&in, &options) < 0 ||
        take_u32(&in, &n_keys) < 0 || n_keys != 1 || take_string(&in, &blob) < 0 || take_string(&in, &secret) < 0)
        return err_set(e, ERR_INVALID, "damaged OpenSSH private key");
    if (!str_is(cipher, "none"))
        return err_set(e, ERR_INVALID, "the private key is encrypted");
    if (take_u32(&secret, &check[0]) < 0 || take_u32(&secret, &check[1]) < 0 || check[0] != check[1] ||
        public_line(a, blob, ret_line) < 0)
        return err_set(e, ERR_INVALID, "damaged OpenSSH private key");
    return 0;
}

/* Called for an encrypted key. Without it OpenSSL would ask at the terminal. */
static int no_passphrase(char *to, int size, int is_writing, void *ctx)
{
    (void)to, (void)size, (void)is_writing, (void)ctx;
    return -1;
}

int ssh_public_from_private(struct arena *a, struct str pem, struct str *ret_line, struct err *e)
{
    autobio *bio = NULL;
    autopkey *key = NULL;

    if (str_empty(pem) || pem.n > PEM_BYTES_MAX)
        return err_set(e, ERR_INVALID, "no private key");
    if (str_has(pem, str_of(openssh_begin)))
        return read_openssh(a, pem, ret_line, e);
    bio = BIO_new_mem_buf(pem.p, (int)pem.n);
    key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL) : NULL;
    if (!key)
        return err_openssl(e, ERR_INVALID,
                           "the private key cannot be read: it must be a whole PEM text, without a passphrase");
    return public_line_of(a, key, ret_line, e);
}
