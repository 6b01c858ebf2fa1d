/* digest.h - SHA-256 of what images are made of, as "sha256:…" */
#ifndef IMAGE_DIGEST_H
#define IMAGE_DIGEST_H

#include "base/str.h"

struct image_digest {
    char text[72]; /* "sha256:" and 64 small hex digits; empty: not known */
};

bool image_digest_is_good(struct str text); /* one we can check */
void image_digest_of(struct str bytes, struct image_digest *ret);

/* Bit by bit. */
struct image_hash;
struct image_hash *image_hash_new(void);
void image_hash_free(struct image_hash *h); /* NULL is fine */
void image_hash_add(struct image_hash *h, struct str bytes);
void image_hash_end(struct image_hash *h, struct image_digest *ret); /* and begin anew */

#endif
