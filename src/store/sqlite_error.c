/* sqlite_error.c - errors of SQLite, with hints */
#include "store/sqlite_internal.h"

#include "base/util.h"

#include <errno.h>

static const struct sqlite_advice {
    int rc; /* primary */
    enum err_code code;
    const char *what, *helps;
} advices[] = {
    { SQLITE_FULL, ERR_IO, "the disk is full",
      "free some space; writes are retried, and no acknowledged write is lost" },
    { SQLITE_IOERR, ERR_IO, "the disk failed",
      "see the kernel's log; restart when the disk works again, no acknowledged write was dropped" },
    { SQLITE_CORRUPT, ERR_IO, "the file is damaged",
      "inspect it with \"pumice server check\" and restore a backup with \"pumice server restore\"" },
    { SQLITE_NOTADB, ERR_IO, "not a store, or its first page is damaged",
      "give another directory, or restore a backup with \"pumice server restore\"" },
    { SQLITE_BUSY, ERR_CONFLICT, "another process has it open", "stop it or give another directory" },
    { SQLITE_LOCKED, ERR_CONFLICT, "another process has it open", "stop it or give another directory" },
    { SQLITE_READONLY, ERR_IO, "it is read-only",
      "check its file system (mounted read-only?) and the owner of the directory" },
    { SQLITE_CANTOPEN, ERR_IO, "it cannot be opened",
      "check that its directory exists and is ours, and that its file system is writable" },
    { SQLITE_PERM, ERR_FORBIDDEN, "permission denied", "check its owner" },
    { SQLITE_NOMEM, ERR_IO, "out of memory", "free some memory" },
    { SQLITE_TOOBIG, ERR_TOO_BIG, "an object is too large", "make it smaller" },
};

bool sql_is_full(sqlite3 *db, int rc)
{
    int no = db ? sqlite3_system_errno(db) : 0;

    /* A failed write left nothing behind that counts; after a failed sync that is unknown. */
    return (rc & 0xff) == SQLITE_FULL || (rc == SQLITE_IOERR_WRITE && (no == ENOSPC || no == EDQUOT));
}

int sql_err(struct err *e, sqlite3 *db, int rc, const char *path)
{
    int no = db ? sqlite3_system_errno(db) : 0, primary = sql_is_full(db, rc) ? SQLITE_FULL : rc & 0xff;

    for (size_t i = 0; i < ARRAY_LEN(advices); i++)
        if (advices[i].rc == primary)
            return err_set(e, advices[i].code, "%s: %s (%s%s%s): %s", path, advices[i].what, sqlite3_errstr(rc),
                           no ? ", " : "", no ? strerror(no) : "", advices[i].helps);
    return err_set(e, ERR_INTERNAL, "%s: SQLite says %s (%d): %s", path, sqlite3_errstr(rc), rc,
                   db ? sqlite3_errmsg(db) : "no details");
}

int sql_exec(sqlite3 *db, const char *sql)
{
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? rc : sqlite3_extended_errcode(db);
}

int sql_number(sqlite3 *db, const char *sql, int64_t *ret)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

    if (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        *ret = sqlite3_column_int64(st, 0);
        rc = SQLITE_OK;
    } else if (rc == SQLITE_DONE) {
        rc = SQLITE_CORRUPT; /* a row was promised */
    }
    (void)sqlite3_finalize(st); /* it says what step said */
    return rc;
}
