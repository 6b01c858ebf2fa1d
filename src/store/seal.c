/* seal.c - encryption of records: AES-256-GCM */
#include "store/seal.h"

#include "base/codec.h"
#include "base/rand.h"
#include "base/util.h"
#include "os/io.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <sys/stat.h>

enum { KEY_BYTES = 32, ID_BYTES = 8, NONCE = 12, PROOF = 16 };

struct seal_key {
    unsigned char bytes[KEY_BYTES];
    char id[2 * ID_BYTES + 1];
};

struct seal_keys {
    size_t n;
    struct seal_key v[];
};

/* ---- keys ---- */

static int parse_key(struct str text, struct seal_key *ret)
{
    unsigned char hash[SHA256_DIGEST_LENGTH];

    if (hex_parse(str_trim(text), ret->bytes, KEY_BYTES) < 0)
        return -1;
    (void)SHA256(ret->bytes, KEY_BYTES, hash); /* cannot fail */
    *hex_print(ret->id, hash, ID_BYTES) = '\0';
    return 0;
}

static int load_key(const char *path, struct seal_key *ret, struct err *e)
{
    autoclose int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    autobuf text = { 0 };
    struct stat st;
    int rc;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_errno(e, "open the key %s", path);
    if (st.st_mode & 077)
        return err_set(e, ERR_FORBIDDEN, "%s has mode %04o and is open to other users; run: chmod 600 %s", path,
                       (unsigned)st.st_mode & 07777, path);
    if (file_read_fd(fd, 1024, &text) < 0)
        return err_errno(e, "read the key %s", path);
    rc = parse_key(buf_view(&text), ret);
    OPENSSL_cleanse(text.p, text.n);
    if (rc < 0)
        return err_set(e, ERR_INVALID, "%s: a key is 64 hexadecimal digits; make one with: openssl rand -hex 32", path);
    return 0;
}

int seal_keys_load(const char *const *files, struct seal_keys **ret, struct err *e)
{
    struct seal_keys *k;
    size_t n = 0;

    while (files && files[n])
        n++;
    *ret = NULL;
    if (n == 0)
        return 0;
    k = xcalloc(1, sizeof(*k) + n * sizeof(k->v[0]));
    for (k->n = 0; k->n < n; k->n++)
        if (load_key(files[k->n], &k->v[k->n], e) < 0) {
            seal_keys_free(k);
            return -1;
        }
    *ret = k;
    return 0;
}

void seal_keys_free(struct seal_keys *k)
{
    if (!k)
        return;
    OPENSSL_cleanse(k->v, k->n * sizeof(k->v[0]));
    free(k);
}

const char *seal_key_id(const struct seal_keys *k)
{
    return k ? k->v[0].id : NULL;
}

/* ---- records ---- */

/* Of this size nothing fails but for want of memory, and for that the program stops. */
static void seal_must(int ok)
{
    if (ok != 1)
        abort();
}

static int seal_size_of(struct str s)
{
    assert(s.n <= INT32_MAX);
    return (int)s.n;
}

void seal(const struct seal_keys *k, struct str belongs, struct str text, struct buf *out)
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    unsigned char *to = (unsigned char *)buf_reserve(out, NONCE + text.n + PROOF);
    int n;

    seal_must(c != NULL);
    rand_os_bytes(to, NONCE);
    seal_must(EVP_EncryptInit_ex(c, EVP_aes_256_gcm(), NULL, k->v[0].bytes, to));
    seal_must(EVP_EncryptUpdate(c, NULL, &n, (const unsigned char *)belongs.p, seal_size_of(belongs)));
    seal_must(EVP_EncryptUpdate(c, to + NONCE, &n, (const unsigned char *)text.p, seal_size_of(text)));
    seal_must(EVP_EncryptFinal_ex(c, to + NONCE + text.n, &n));
    seal_must(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, PROOF, to + NONCE + text.n));
    EVP_CIPHER_CTX_free(c);
    out->n += NONCE + text.n + PROOF;
}

static bool open_with(const struct seal_key *key, struct str belongs, struct str sealed, unsigned char *to)
{
    const unsigned char *from = (const unsigned char *)sealed.p;
    size_t n_text = sealed.n - NONCE - PROOF;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    bool is_good;
    int n;

    seal_must(c != NULL);
    seal_must(EVP_DecryptInit_ex(c, EVP_aes_256_gcm(), NULL, key->bytes, from));
    seal_must(EVP_DecryptUpdate(c, NULL, &n, (const unsigned char *)belongs.p, seal_size_of(belongs)));
    seal_must(EVP_DecryptUpdate(c, to, &n, from + NONCE, (int)n_text));
    seal_must(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, PROOF, (void *)(from + NONCE + n_text)));
    is_good = EVP_DecryptFinal_ex(c, to + n_text, &n) == 1;
    EVP_CIPHER_CTX_free(c);
    return is_good;
}

int unseal(const struct seal_keys *k, const struct sealed *sealed, struct buf *out, struct err *e)
{
    struct str text = sealed->text;
    const struct seal_key *key = NULL;

    for (size_t i = 0; k && i < k->n; i++)
        if (str_is(sealed->key_id, k->v[i].id))
            key = &k->v[i];
    if (!key)
        return err_set(e, ERR_FORBIDDEN, "sealed with key %.*s, which was not given; give its file too",
                       STR_ARG(sealed->key_id));
    if (text.n < NONCE + PROOF || text.n > INT32_MAX ||
        !open_with(key, sealed->belongs, text, (unsigned char *)buf_reserve(out, text.n)))
        return err_set(e, ERR_IO, "sealed with key %s, but modified since or copied from another object", key->id);
    out->n += text.n - NONCE - PROOF;
    return 0;
}
