/* sqlite.c - the log of a durable store: rows of SQLite, written in batches and read in order */
#include "store/sqlite_internal.h"
#include "store/store_internal.h"

#include "base/util.h"

#include <assert.h>
#include <zlib.h>

enum {
    CHECKPOINT_PAGES = 1000, /* of the WAL: so many are copied to the file together, with one sync of each */
    VACUUM_EVERY = 64,       /* commits */
    VACUUM_PAGES = 256,      /* given back together */
};

enum statement { INSERT, DELETE, COMPACTED, SCAN, SCAN_SHORT, STATEMENT_MAX };

static const char *const sql_of[STATEMENT_MAX] = {
    [INSERT] = "INSERT INTO log (rev, what, kind, namespace, name, uid, sum, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, "
               "?8)",
    [DELETE] = "DELETE FROM log WHERE rev = ?1",
    [COMPACTED] = "UPDATE meta SET value = ?1 WHERE name = 'compacted'",
    [SCAN] = "SELECT rev, what, kind, namespace, name, uid, sum, body FROM log WHERE rev > ?1 AND rev <= ?2 "
             "ORDER BY rev",
    [SCAN_SHORT] = "SELECT rev, what, kind, namespace, name FROM log WHERE rev > ?1 AND rev <= ?2 ORDER BY rev",
};

struct sqlite_log {
    struct store_log log;
    struct sql_file file;
    sqlite3_stmt *statements[STATEMENT_MAX];
    char **kinds; /* the name of each of resource_types[], as rows have it */
    size_t last_kind;
    uint64_t compacted; /* as written */
    int wal_pages;
    unsigned commits;
};

static struct sqlite_log *sqlite_of(struct store_log *log)
{
    return (struct sqlite_log *)log;
}

/* ---- rows ---- */

static char *kind_name(const struct resource_type *t)
{
    char *name;

    if (asprintf(&name, "%s%s%s", t->plural, t->group[0] ? "." : "", t->group) < 0)
        abort();
    return name;
}

static const struct resource_type *type_of(struct sqlite_log *l, struct str kind)
{
    for (size_t i = 0; i < n_resource_types; i++) { /* rows of a kind come in crowds */
        size_t at = (l->last_kind + i) % n_resource_types;

        if (str_is(kind, l->kinds[at])) {
            l->last_kind = at;
            return &resource_types[at];
        }
    }
    return NULL;
}

static uint32_t add_sum(uint32_t sum, struct str s)
{
    unsigned char n[8];

    for (int i = 0; i < 8; i++)
        n[i] = (unsigned char)((uint64_t)s.n >> (8 * i));
    sum = (uint32_t)crc32(sum, n, sizeof(n));
    return s.n ? (uint32_t)crc32_z(sum, (const unsigned char *)s.p, s.n) : sum;
}

static int64_t sum_of(struct str kind, enum watch_kind what, const struct object_record *r)
{
    char head[48];
    int n = snprintf(head, sizeof(head), "%llu %d", (unsigned long long)r->rev, (int)what);
    uint32_t sum = add_sum(0, (struct str){ head, (size_t)n });

    sum = add_sum(add_sum(sum, kind), r->namespace);
    return add_sum(add_sum(add_sum(sum, r->name), r->uid), r->text);
}

/* ---- writing ---- */

static int run(sqlite3_stmt *st)
{
    int rc = sqlite3_step(st);

    (void)sqlite3_reset(st); /* it says what step said */
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static void bind_text(sqlite3_stmt *st, int at, struct str s)
{
    (void)sqlite3_bind_text64(st, at, s.p ? s.p : "", s.n, SQLITE_STATIC, SQLITE_UTF8); /* step fails if it did */
}

static int insert(struct sqlite_log *l, const struct log_write *w)
{
    const struct object *o = w->now;
    struct object_record r = { o->type, o->rev, o->namespace, o->name, o->uid, o->text };
    struct str kind = str_of(l->kinds[store_kind_of(o->type)]);
    sqlite3_stmt *st = l->statements[INSERT];

    (void)sqlite3_bind_int64(st, 1, (sqlite3_int64)o->rev);
    (void)sqlite3_bind_int(st, 2, (int)w->what);
    bind_text(st, 3, kind);
    bind_text(st, 4, r.namespace);
    bind_text(st, 5, r.name);
    bind_text(st, 6, r.uid);
    (void)sqlite3_bind_int64(st, 7, sum_of(kind, w->what, &r));
    (void)sqlite3_bind_blob64(st, 8, r.text.p, r.text.n, SQLITE_STATIC);
    return run(st);
}

static int run_with(sqlite3_stmt *st, uint64_t number)
{
    (void)sqlite3_bind_int64(st, 1, (sqlite3_int64)number);
    return run(st);
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

    if (rc == SQLITE_OK && (rc = write_batch(l, b)) == SQLITE_OK && (rc = vacuum(l)) == SQLITE_OK)
        rc = sql_exec(l->file.db, "COMMIT");
    if (rc != SQLITE_OK)
        rc = sqlite3_extended_errcode(l->file.db);
    return rc;
}

/* From the WAL to the file. The WAL is written over only when all of it is there and synced. */
static int checkpoint(struct sqlite_log *l)
{
    int rc;

    if (l->wal_pages < CHECKPOINT_PAGES)
        return SQLITE_OK;
    rc = sqlite3_wal_checkpoint_v2(l->file.db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return rc == SQLITE_BUSY || sql_is_full(l->file.db, rc) ? SQLITE_OK : rc; /* then the WAL grows a little more */
}

static int count_wal(void *ctx, sqlite3 *db, const char *name, int pages)
{
    ((struct sqlite_log *)ctx)->wal_pages = pages;
    return SQLITE_OK;
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
            (void)sql_err(&log->failure, l->file.db, rc, l->file.path);
        if (!sqlite3_get_autocommit(l->file.db))
            (void)sql_exec(l->file.db, "ROLLBACK"); /* nothing of it was synced as a whole */
        return -1;
    }
    l->compacted = b->compacted;
    if ((rc = checkpoint(l)) != SQLITE_OK)
        (void)sql_err(&log->failure, l->file.db, rc, l->file.path);
    return 0;
}

/* ---- reading ---- */

static struct str column(sqlite3_stmt *st, int i)
{
    const void *p = sqlite3_column_blob(st, i);

    return (struct str){ p, (size_t)sqlite3_column_bytes(st, i) };
}

static int bad_row(const struct sqlite_log *l, sqlite3_int64 rev, const char *what, struct err *e)
{
    return err_set(
        e, ERR_IO,
        "%s: the record of revision %lld is damaged (%s): see all with \"pumice server check\" and put a copy "
        "back with \"pumice server restore\"",
        l->file.path, (long long)rev, what);
}

static bool is_name(struct str s)
{
    return s.n <= STORE_NAME_MAX && !str_has_char(s, '/');
}

/* What the store relies on, whatever the checksum says. */
static const char *row_fault(const struct log_row *row)
{
    const struct object_record *r = &row->record;

    if (r->rev == 0 || r->rev > INT64_MAX / 2)
        return "there is no such revision";
    if (row->what >= WATCH_BOOKMARK)
        return "there is no such change";
    if (!r->name.n || !is_name(r->name) || !is_name(r->namespace))
        return "there is no such name";
    if (r->type && (r->type->scope == SCOPE_CLUSTER) != (r->namespace.n == 0))
        return "a namespace too many, or none";
    return NULL;
}

static int read_row(struct sqlite_log *l, sqlite3_stmt *st, bool with_text, struct log_row *ret, struct err *e)
{
    struct str kind = column(st, 2);
    struct log_row row = { .what = (enum watch_kind)sqlite3_column_int(st, 1) };
    const char *fault;

    row.record = (struct object_record){ .type = type_of(l, kind),
                                         .rev = (uint64_t)sqlite3_column_int64(st, 0),
                                         .namespace = column(st, 3),
                                         .name = column(st, 4) };
    if (with_text) {
        row.record.uid = column(st, 5);
        row.record.text = column(st, 7);
    }
    fault = row_fault(&row);
    if (!fault && with_text && sqlite3_column_int64(st, 6) != sum_of(kind, row.what, &row.record))
        fault = "the checksum is wrong";
    if (fault)
        return bad_row(l, sqlite3_column_int64(st, 0), fault, e);
    *ret = row;
    return 0;
}

static int sqlite_scan(struct store_log *log, uint64_t after, uint64_t to, bool with_text, log_row_f *each, void *ctx,
                       struct err *e)
{
    struct sqlite_log *l = sqlite_of(log);
    sqlite3_stmt *st = l->statements[with_text ? SCAN : SCAN_SHORT];
    struct log_row row;
    int rc, ret = 0;

    (void)sqlite3_bind_int64(st, 1, (sqlite3_int64)after);
    (void)sqlite3_bind_int64(st, 2, (sqlite3_int64)MIN_OF(to, (uint64_t)INT64_MAX));
    while (ret == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW)
        if ((ret = read_row(l, st, with_text, &row, e)) == 0)
            each(ctx, &row);
    if (ret == 0 && rc != SQLITE_DONE)
        ret = sql_err(e, l->file.db, rc, l->file.path);
    (void)sqlite3_reset(st); /* it says what step said */
    return ret;
}

/* ---- opening ---- */

static void sqlite_close(struct store_log *log)
{
    struct sqlite_log *l = sqlite_of(log);

    for (int i = 0; i < STATEMENT_MAX; i++)
        (void)sqlite3_finalize(l->statements[i]); /* what it says was said before */
    sql_file_close(&l->file);
    for (size_t i = 0; l->kinds && i < n_resource_types; i++)
        free(l->kinds[i]);
    free(l->kinds);
    free(l);
}

static int prepare(struct sqlite_log *l, struct err *e)
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
    l->kinds = xcalloc(n_resource_types, sizeof(*l->kinds));
    for (size_t i = 0; i < n_resource_types; i++)
        l->kinds[i] = kind_name(&resource_types[i]);
    if (prepare(l, e) < 0) {
        sqlite_close(&l->log);
        return -1;
    }
    *ret = &l->log;
    return 0;
}
