/* digest.c - SHA-256, by OpenSSL */
#include "image/digest.h"

#include "base/codec.h"
#include "base/util.h"

#include <openssl/evp.h>

struct image_hash { /* there to have a type of its own */
    EVP_MD_CTX *context;
};

static void digest_begin(struct image_hash *h)
{
    if (EVP_DigestInit_ex(h->context, EVP_sha256(), NULL) != 1)
        abort(); /* out of memory, or an OpenSSL without SHA-256 */
}

struct image_hash *image_hash_new(void)
{
    struct image_hash *h = xcalloc(1, sizeof(*h));

    h->context = EVP_MD_CTX_new();
    if (!h->context)
        abort();
    digest_begin(h);
    return h;
}

void image_hash_free(struct image_hash *h)
{
    if (!h)
        return;
    EVP_MD_CTX_free(h->context);
    free(h);
}

void image_hash_add(struct image_hash *h, struct str bytes)
{
    if (bytes.n && EVP_DigestUpdate(h->context, bytes.p, bytes.n) != 1)
        abort();
}

void image_hash_end(struct image_hash *h, struct image_digest *ret)
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned n = 0;

    if (EVP_DigestFinal_ex(h->context, bytes, &n) != 1 || n != 32)
        abort();
    memcpy(ret->text, "sha256:", 7);
    *hex_print(ret->text + 7, bytes, n) = '\0';
    digest_begin(h);
}

void image_digest_of(struct str bytes, struct image_digest *ret)
{
    struct image_hash *h = image_hash_new();

    image_hash_add(h, bytes);
    image_hash_end(h, ret);
    image_hash_free(h);
}

bool image_digest_is_good(struct str text)
{
    return str_starts(text, STR("sha256:")) && hex_is_small(str_from(text, 7), 64);
}
