/* sqlite_internal.h - what the files about SQLite share
 *
 * sqlite_open.c   the file: whose it is, who has it open, which format it has
 * sqlite_wal.c    whether acknowledged writes are lost in it
 * sqlite_error.c  what SQLite says, as a sentence that helps
 * sqlite_row.c    one row
 * sqlite.c        the log: rows written and read
 * backup.c, check.c  copies, and whether they are whole: backup.h
 *
 * Format 2: 'log' has one row for each change: the revision, what happened (enum watch_kind), the kind as
 * "jobs.batch.volcano.sh", namespace, name, uid, the whole object as JSON, and a checksum of all that, because SQLite
 * does not know whether a page has the bytes that it wrote. Where 'key' is not null the object is sealed with the key of
 * that id (seal.h); format 1 had no such column. 'meta' has "compacted", see struct log_batch. The file is
 * in WAL mode and vacuums incrementally.
 */
#ifndef STORE_SQLITE_INTERNAL_H
#define STORE_SQLITE_INTERNAL_H

#include "store/seal.h"
#include "store/store_internal.h"

#include <sqlite3.h>
#include <stdbool.h>

#define STORE_FILE "store.db"
enum {
    STORE_FORMAT = 2,               /* PRAGMA user_version */
    STORE_APPLICATION = 0x50756d69, /* PRAGMA application_id: "Pumi" */
};

/* ---- sqlite_error.c ---- */

/* What went wrong with 'path', and what helps. 'rc' may be extended. Returns -1. */
int sql_err(struct err *e, sqlite3 *db, int rc, const char *path);
bool sql_is_full(sqlite3 *db, int rc); /* no room: trying again may help */

/* One or more statements, or one that gives a number. */
int sql_exec(sqlite3 *db, const char *sql);
int sql_number(sqlite3 *db, const char *sql, int64_t *ret);

/* ---- sqlite_wal.c ---- */

/* 1: the WAL of the store in 'dir' (open) was damaged before its end, 'e' says so; -1: it cannot be read. 'path' is for
 * the sentence. */
int sql_wal_check(int dir, const char *path, struct err *e);

/* ---- sqlite_open.c ---- */

struct sql_file {
    sqlite3 *db;
    char *path;
    int lock;       /* descriptor; -1: none is held */
    struct err cut; /* not 0: it can be read up to a damage behind which are acknowledged writes, and not be written */
};

/* The directory, created if it is missing, and its lock: no other process has the store open. */
int sql_dir_take(const char *dir, int *ret_dir, int *ret_lock, struct err *e);

/* The file below 'dir' to write: created or upgraded to the current format. Locked. 'vfs' as in store_options. */
int sql_file_open(const char *dir, const char *vfs, struct sql_file *ret, struct err *e);
/* A file by its path, to read: of today's format or an older one; '*ret_format'. Others may have it open. */
int sql_file_read(const char *path, struct sql_file *ret, int64_t *ret_format, struct err *e);
void sql_file_close(struct sql_file *f);

/* ---- sqlite_row.c ---- */

#define ROW_COLUMNS "rev, what, kind, namespace, name, uid, sum, key, body"
enum row_column { ROW_REV, ROW_WHAT, ROW_KIND, ROW_NAMESPACE, ROW_NAME, ROW_UID, ROW_SUM, ROW_KEY, ROW_BODY };

struct row_codec {
    const char *path; /* of the file, for sentences; borrowed */
    char **kinds;     /* the name of each of resource_types[], as rows have it */
    size_t last_kind;
    struct seal_keys *keys; /* NULL: none */
    struct buf body;        /* of the row that was read or bound last, if it is sealed */
};

int row_codec_init(struct row_codec *c, const char *const *key_files, const char *path, struct err *e);
void row_codec_done(struct row_codec *c);

/* Bind all columns in the order of ROW_COLUMNS; 'r' and the codec must stay as they are until the statement has run. */
void row_bind(struct row_codec *c, sqlite3_stmt *st, enum watch_kind what, const struct object_record *r);

/* The row that the statement stands at, which has ROW_COLUMNS or, without text, those up to the name. */
int row_read(struct row_codec *c, sqlite3_stmt *st, bool with_text, struct log_row *ret, struct err *e);

#endif
