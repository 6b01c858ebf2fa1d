/* backup.h - copies of a store, and whether one is whole
 *
 * All of these take the directory of a store or, for reading, a copy of it (a file). They need no server and disturb
 * none: a copy is made, and a store is looked at, while another process has it open.
 */
#ifndef STORE_BACKUP_H
#define STORE_BACKUP_H

#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

struct store_facts {
    uint64_t rev;     /* of the last change */
    uint64_t objects; /* that are there */
    uint64_t records; /* of changes, old ones included */
    int64_t format;
};

/* A copy of all that is durable at one revision, in one file of mode 0600. It replaces an older file of that name, in
 * one step, once it is whole, checked and synced. Sealed records stay sealed. */
int store_backup(const char *dir, const char *file, struct store_facts *ret, struct err *e);

struct store_check_options {
    const char *const *secret_keys; /* as in struct store_options; without them sealed records are not looked into */
    void (*problem)(void *ctx, struct str what); /* called for each; may be NULL */
    void *ctx;
};

/* Look at everything: SQLite's own structure, each record's checksum, whether it parses and says of itself what the
 * log says of it, the order of changes. Returns 0 if all is well; -1 with ERR_IO and a sentence that counts the
 * problems, or with what kept us from looking. '*ret' is set if it could be read. */
int store_check(const char *path, const struct store_check_options *opt, struct store_facts *ret, struct err *e);

/* Replace the store in 'dir', which must not be open, by a copy; one that is there is kept as store.db.old.
 * The copy is checked first. Revisions go on far beyond both, so that no client takes the state of the copy for a
 * newer one that it knows: watches from before answer ERR_GONE, and their clients list again. */
int store_restore_file(const char *file, const char *dir, struct store_facts *ret, struct err *e);

#endif
