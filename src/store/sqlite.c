/* sqlite.c - the log of a durable store: rows of SQLite, written in batches and read in order */
#include "store/sqlite_internal.h"
#include "store/store_internal.h"

#include "base/util.h"

enum {
    CHECKPOINT_PAGES = 1000, /* of the WAL: so many are copied to the file together, with one sync of each */
    VACUUM_EVERY = 64,       /* commits */
    VACUUM_PAGES = 64,       /* given back together */
};

enum statement { INSERT, REPLACE, DELETE, COMPACTED, SCAN, SCAN_SHORT, STATEMENT_MAX };

/* SCAN_SHORT leaves out what follows the name, so that long rows are not read to their ends. */
static const char *const sql_of[STATEMENT_MAX] = {
    [INSERT] = "INSERT INTO log (" ROW_COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [REPLACE] = "REPLACE INTO log (" ROW_COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [DELETE] = "DELETE FROM log WHERE rev = ?1",
    [COMPACTED] = "UPDATE meta SET value = ?1 WHERE name = 'compacted'",
    [SCAN] = "SELECT " ROW_COLUMNS " FROM log WHERE rev > ?1 AND rev <= ?2 ORDER BY rev",
    [SCAN_SHORT] = "SELECT rev, what, kind, namespace, name FROM log WHERE rev > ?1 AND rev <= ?2 ORDER BY rev",
};

struct sqlite_log {
    struct store_log log;
    struct sql_file file;
    sqlite3_stmt *statements[STATEMENT_MAX];
    struct row_codec codec;
    VEC(uint64_t) stale; /* revisions of Secrets to seal with the first key */
    struct arena stale_mem;
    uint64_t compacted; /* as written */
    int wal_pages;
    unsigned commits;
};

static struct sqlite_log *sqlite_of(struct store_log *log)
{
    return (struct sqlite_log *)log;
}

/* ---- writing ---- */

static int sqlite_run(sqlite3_stmt *st)
{
    int rc = sqlite3_step(st);

    (void)sqlite3_reset(st); /* it says what step said */
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int insert(struct sqlite_log *l, const struct log_write *w)
{
    const struct object *o = w->now;
    struct object_record r = { o->type, o->rev, o->namespace, o->name, o->uid, o->text };

    row_bind(&l->codec, l->statements[INSERT], w->what, &r);
    return sqlite_run(l->statements[INSERT]);
}

static int run_with(sqlite3_stmt *st, uint64_t number)
{
    (void)sqlite3_bind_int64(st, 1, (sqlite3_int64)number);
    return sqlite_run(st);
}

static int write_batch(struct sqlite_log *l, const struct log_batch *b)
{
    int rc = SQLITE_OK;

    for (size_t i = 0; i < b->n_writes && rc == SQLITE_OK; i++)
        rc = insert(l, &b->writes[i]);
    if (rc == SQLITE_OK && b->compacted != l->compacted)
        rc = run_with(l->statements[COMPACTED], b->compacted);
    for (size_t i = 0; i < b->n_dead && rc == SQLITE_OK; i++)
        rc = run_with(l->statements[DELETE], b->dead[i]);
    return rc;
}

static int seal_one(struct sqlite_log *l, uint64_t rev)
{
    sqlite3_stmt *from = l->statements[SCAN], *to = l->statements[REPLACE];
    autobuf text = { 0 };
    struct log_row row;
    int rc;

    (void)sqlite3_bind_int64(from, 1, (sqlite3_int64)rev - 1);
    (void)sqlite3_bind_int64(from, 2, (sqlite3_int64)rev);
    if ((rc = sqlite3_step(from)) == SQLITE_ROW && row_read(&l->codec, from, true, &row, NULL) == 0) {
        buf_str(&text, row.record.text); /* it may lie where the sealed one goes */
        row.record.text = buf_view(&text);
        row_bind(&l->codec, to, row.what, &row.record);
        rc = sqlite_run(to);
    }
    (void)sqlite3_reset(from); /* it says what step said */
    return rc == SQLITE_ROW ? SQLITE_CORRUPT : rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* After this the other keys are not needed. */
static int seal_stale(struct sqlite_log *l)
{
    int rc = SQLITE_OK;

    for (size_t i = 0; i < l->stale.n && rc == SQLITE_OK; i++)
        rc = seal_one(l, l->stale.v[i]);
    return rc;
}

/* Pages that deletes left empty are used again by the next writes; when there are many they go back to the disk. */
static int vacuum(struct sqlite_log *l)
{
    int64_t empty, all;
    char sql[48];
    int rc;

    if (l->commits++ % VACUUM_EVERY != 0)
        return SQLITE_OK;
    if ((rc = sql_number(l->file.db, "PRAGMA freelist_count", &empty)) != SQLITE_OK ||
        (rc = sql_number(l->file.db, "PRAGMA page_count", &all)) != SQLITE_OK)
        return rc;
    if (empty < VACUUM_PAGES || empty < all / 4)
        return SQLITE_OK;
    (void)snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%d)", VACUUM_PAGES);
    return sql_exec(l->file.db, sql);
}

static int transaction(struct sqlite_log *l, const struct log_batch *b)
{
    int rc = sql_exec(l->file.db, "BEGIN IMMEDIATE");

    if (rc == SQLITE_OK && (rc = write_batch(l, b)) == SQLITE_OK && (rc = seal_stale(l)) == SQLITE_OK &&
        (rc = vacuum(l)) == SQLITE_OK)
        rc = sql_exec(l->file.db, "COMMIT");
    if (rc != SQLITE_OK)
        rc = sqlite3_extended_errcode(l->file.db);
    return rc;
}

/* From the WAL to the file. The WAL is written over only when all of it is there and synced. */
static int checkpoint(struct sqlite_log *l)
{
    bool is_sealed_anew = l->stale.n > 0; /* what was there before is not to be found in the WAL either */
    int rc;

    l->stale.n = 0;
    l->log.wants_commit = false;
    if (l->wal_pages < CHECKPOINT_PAGES && !is_sealed_anew)
        return SQLITE_OK;
    rc = sqlite3_wal_checkpoint_v2(l->file.db, NULL,
                                   is_sealed_anew ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return rc == SQLITE_BUSY || sql_is_full(l->file.db, rc) ? SQLITE_OK : rc; /* then the WAL grows a little more */
}

static int count_wal(void *ctx, sqlite3 *db, const char *name, int pages)
{
    ((struct sqlite_log *)ctx)->wal_pages = pages;
    return SQLITE_OK;
}

/* Nothing more is written, not even what SQLite would do at its close: it would take the word of another sync, and
 * delete the WAL. */
static void sqlite_give_up(struct sqlite_log *l, int rc)
{
    (void)sql_err(&l->log.failure, l->file.db, rc, l->file.path);
    (void)sqlite3_db_config(l->file.db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL); /* cannot fail */
}

static int sqlite_commit(struct store_log *log, const struct log_batch *b, struct err *e)
{
    struct sqlite_log *l = sqlite_of(log);
    int rc;

    if (log->failure.code) {
        if (e)
            *e = log->failure;
        return -1;
    }
    rc = transaction(l, b);
    log->is_full = sql_is_full(l->file.db, rc);
    if (rc != SQLITE_OK) {
        (void)sql_err(e, l->file.db, rc, l->file.path);
        if (!log->is_full)
            sqlite_give_up(l, rc);
        if (!sqlite3_get_autocommit(l->file.db))
            (void)sql_exec(l->file.db, "ROLLBACK"); /* nothing of it was synced as a whole */
        return -1;
    }
    l->compacted = b->compacted;
    if ((rc = checkpoint(l)) != SQLITE_OK)
        sqlite_give_up(l, rc);
    return 0;
}

/* ---- reading ---- */

static int sqlite_scan(struct store_log *log, const struct log_scan *scan, struct err *e)
{
    struct sqlite_log *l = sqlite_of(log);
    sqlite3_stmt *st = l->statements[scan->with_text ? SCAN : SCAN_SHORT];
    struct log_row row;
    int rc, ret = 0;

    (void)sqlite3_bind_int64(st, 1, (sqlite3_int64)scan->after);
    (void)sqlite3_bind_int64(st, 2, (sqlite3_int64)MIN_OF(scan->to, (uint64_t)INT64_MAX));
    while (ret == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW)
        if ((ret = row_read(&l->codec, st, scan->with_text, &row, e)) == 0) {
            if (row.is_stale)
                *vec_push(&l->stale_mem, &l->stale) = row.record.rev;
            scan->each(scan->ctx, &row);
        }
    if (ret == 0 && rc != SQLITE_DONE)
        ret = sql_err(e, l->file.db, rc, l->file.path);
    log->wants_commit = l->stale.n > 0;
    (void)sqlite3_reset(st); /* it says what step said */
    return ret;
}

/* ---- opening ---- */

static void sqlite_close(struct store_log *log)
{
    struct sqlite_log *l = sqlite_of(log);

    for (int i = 0; i < STATEMENT_MAX; i++)
        (void)sqlite3_finalize(l->statements[i]); /* what it says was said before */
    row_codec_done(&l->codec);
    arena_done(&l->stale_mem);
    sql_file_close(&l->file);
    free(l);
}

static int sqlite_prepare(struct sqlite_log *l, struct err *e)
{
    int64_t rev = 0, compacted = 0;
    int rc = SQLITE_OK;

    for (int i = 0; i < STATEMENT_MAX && rc == SQLITE_OK; i++)
        rc = sqlite3_prepare_v3(l->file.db, sql_of[i], -1, SQLITE_PREPARE_PERSISTENT, &l->statements[i], NULL);
    if (rc == SQLITE_OK)
        rc = sql_number(l->file.db, "SELECT coalesce(max(rev), 0) FROM log", &rev);
    if (rc == SQLITE_OK)
        rc = sql_number(l->file.db, "SELECT value FROM meta WHERE name = 'compacted'", &compacted);
    if (rc == SQLITE_ERROR ||
        (rc == SQLITE_OK && (rev < 0 || compacted < 0 || rev > INT64_MAX / 2 || compacted > INT64_MAX / 2)))
        rc = SQLITE_CORRUPT; /* the tables are not those that we made */
    if (rc != SQLITE_OK)
        return sql_err(e, l->file.db, rc, l->file.path);
    l->compacted = l->log.compacted = (uint64_t)compacted;
    l->log.rev = (uint64_t)MAX_OF(rev, compacted); /* the last row may have been deleted */
    if (l->codec.keys && (rc = sql_exec(l->file.db, "PRAGMA secure_delete = ON")) != SQLITE_OK)
        return sql_err(e, l->file.db, rc, l->file.path);
    (void)sqlite3_wal_hook(l->file.db, count_wal, l);
    return 0;
}

int log_open_sqlite(const char *dir, const struct store_options *opt, struct store_log **ret, struct err *e)
{
    struct sqlite_log *l = xcalloc(1, sizeof(*l));

    l->log = (struct store_log){ .commit = sqlite_commit, .scan = sqlite_scan, .close = sqlite_close };
    if (sql_file_open(dir, opt->vfs, &l->file, e) < 0) {
        free(l);
        return -1;
    }
    l->log.failure = l->file.cut;
    if (row_codec_init(&l->codec, opt->secret_keys, l->file.path, e) < 0 || sqlite_prepare(l, e) < 0) {
        sqlite_close(&l->log);
        return -1;
    }
    *ret = &l->log;
    return 0;
}
