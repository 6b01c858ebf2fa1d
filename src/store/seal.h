/* seal.h - encryption of records on disk: AES-256-GCM
 *
 * A key is a file of mode 0600 with 64 hexadecimal digits (openssl rand -hex 32). It is known by its id, the first 16
 * digits of its SHA-256, which is stored with each record it sealed. The first of several keys seals and all open: to
 * change keys, put the new one first, and remove the old one when no record is sealed with it.
 *
 * A sealed record is 12 random bytes, the text encrypted, and a tag of 16 bytes. The tag covers the name and the revision
 * too, so a record cannot be moved to another name or revision.
 */
#ifndef STORE_SEAL_H
#define STORE_SEAL_H

#include "base/buf.h"
#include "base/err.h"

struct seal_keys;

/* 'files' ends with NULL; NULL, or none: no keys, '*ret' is NULL. */
int seal_keys_load(const char *const *files, struct seal_keys **ret, struct err *e);
void seal_keys_free(struct seal_keys *k); /* NULL is fine */

const char *seal_key_id(const struct seal_keys *k); /* of the first; NULL: there is no key */

struct sealed {
    struct str key_id;
    struct str belongs; /* where it is stored: else it cannot be opened */
    struct str text;
};

/* Append to 'out'. seal(): with the first key. unseal(): ERR_FORBIDDEN if there is no key of that id, ERR_IO if the
 * record was changed or belongs elsewhere. */
void seal(const struct seal_keys *k, struct str belongs, struct str text, struct buf *out);
int unseal(const struct seal_keys *k, const struct sealed *sealed, struct buf *out, struct err *e);

#endif
