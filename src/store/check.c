/* check.c - checks the integrity of a store
 *
 * SQLite looks at its pages, then each record is looked at, in the order of revisions, with what is there kept by name:
 * so that a change of something that is not there is seen as well. Of changes that are compacted only the last of each
 * object is left, so order is looked at behind those.
 */
#include "store/backup.h"

#include "store/sqlite_internal.h"

#include "api/meta.h"
#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

struct check_check {
    const struct store_check_options *opt;
    struct sql_file file;
    struct row_codec codec;
    struct map there; /* "kind namespace/name", in the arena */
    struct arena arena, parsing;
    uint64_t compacted;
    struct store_facts facts;
    size_t problems;
};

__attribute__((format(printf, 2, 3))) static void problem(struct check_check *c, const char *fmt, ...)
{
    autobuf text = { 0 };
    va_list ap;

    c->problems++;
    if (!c->opt->problem)
        return;
    va_start(ap, fmt);
    buf_vfmt(&text, fmt, ap);
    va_end(ap);
    c->opt->problem(c->opt->ctx, buf_view(&text));
}

/* ---- pages ---- */

static void check_pages(struct check_check *c)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(c->file.db, "PRAGMA integrity_check(20)", -1, &st, NULL);

    while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(st, 0);

        rc = SQLITE_OK;
        if (text && strcmp(text, "ok") != 0)
            problem(c, "pages: %s", text);
    }
    if (rc != SQLITE_DONE)
        problem(c, "pages: %s", sqlite3_errstr(rc));
    (void)sqlite3_finalize(st); /* it says what step said */
}

/* ---- records ---- */

static void check_text(struct check_check *c, const struct object_record *r)
{
    struct err e = { 0 };
    struct json *tree;
    char rev[24];

    arena_reset(&c->parsing);
    (void)snprintf(rev, sizeof(rev), "%llu", (unsigned long long)r->rev);
    if (json_parse(&c->parsing, r->text, NULL, &tree, &e) < 0)
        problem(c, "revision %s: cannot parse the object: %s", rev, e.text);
    else if (!str_eq(object_name(tree), r->name) || !str_eq(object_namespace(tree), r->namespace) ||
             !str_eq(object_uid(tree), r->uid))
        problem(c, "revision %s: the metadata of the object is not that of \"%.*s/%.*s\"", rev, STR_ARG(r->namespace),
                STR_ARG(r->name));
    else if (!str_is(json_member_text(json_get(tree, "metadata"), "resourceVersion"), rev))
        problem(c, "revision %s: the object has another resourceVersion", rev);
}

/* Did the change happen to something that was there, or was not? */
static void check_order(struct check_check *c, struct str kind, const struct log_row *row)
{
    struct str key = arena_fmt(&c->arena, "%.*s %.*s/%.*s", STR_ARG(kind), STR_ARG(row->record.namespace),
                               STR_ARG(row->record.name));
    bool was_there = map_get(&c->there, key) != NULL;

    if (row->record.rev > c->compacted && was_there != (row->what != WATCH_ADDED))
        problem(c, "revision %llu: \"%.*s\" %s", (unsigned long long)row->record.rev, STR_ARG(key),
                was_there ? "was created twice" : "did not exist");
    if (row->what == WATCH_DELETED)
        (void)map_remove(&c->there, key);
    else
        (void)map_put(&c->there, key, (void *)c); /* any that is not NULL */
}

static void check_row(struct check_check *c, sqlite3_stmt *st)
{
    struct str kind = { (const char *)sqlite3_column_blob(st, ROW_KIND), (size_t)sqlite3_column_bytes(st, ROW_KIND) };
    bool is_sealed = sqlite3_column_type(st, ROW_KEY) != SQLITE_NULL;
    struct log_row row;
    struct err e = { 0 };

    c->facts.records++;
    if (row_read(&c->codec, st, true, &row, &e) < 0) {
        if (!is_sealed || c->codec.keys || e.code != ERR_FORBIDDEN) /* without keys there is nothing more to see */
            problem(c, "%s", e.text);
        if (row_read(&c->codec, st, false, &row, NULL) < 0)
            return;
    } else if (row.record.type) {
        check_text(c, &row.record);
    }
    check_order(c, kind, &row);
    c->facts.rev = MAX_OF(c->facts.rev, row.record.rev);
}

static void check_records(struct check_check *c)
{
    const char *sql = c->facts.format < 2
                          ? "SELECT rev, what, kind, namespace, name, uid, sum, NULL, body FROM log ORDER BY rev"
                          : "SELECT " ROW_COLUMNS " FROM log ORDER BY rev";
    sqlite3_stmt *st = NULL;
    int64_t compacted = 0;
    int rc = sql_number(c->file.db, "SELECT value FROM meta WHERE name = 'compacted'", &compacted);

    c->compacted = c->facts.rev = (uint64_t)MAX_OF(compacted, 0);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(c->file.db, sql, -1, &st, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        rc = SQLITE_OK;
        check_row(c, st);
    }
    if (rc != SQLITE_DONE)
        problem(c, "records: %s", sqlite3_errmsg(c->file.db));
    (void)sqlite3_finalize(st); /* it says what step said */
    c->facts.objects = map_count(&c->there);
}

/* ---- all ---- */

/* In a directory: the WAL before SQLite forgets what is behind a bad frame. Not while another process writes there. */
static int check_wal(const char *dir, const char *path, struct err *e)
{
    autoclose int fd = -1, lock = -1;

    if (sql_dir_take(dir, &fd, &lock, e) < 0)
        return e->code == ERR_CONFLICT ? 0 : -1;
    return sql_wal_check(fd, path, e) == 0 ? 0 : -1;
}

static int check_open(struct check_check *c, const char *path, struct err *e)
{
    autofree char *inside = NULL;
    struct err why = { 0 };
    struct stat st;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        if (asprintf(&inside, "%s/%s", path, STORE_FILE) < 0)
            abort();
        if (access(inside, F_OK) < 0)
            return err_errno(e, "open the store in %s", path);
        if (check_wal(path, inside, &why) < 0) {
            if (e)
                *e = why;
            return -1;
        }
    }
    return sql_file_read(inside ? inside : path, &c->file, &c->facts.format, e);
}

int store_check(const char *path, const struct store_check_options *opt, struct store_facts *ret, struct err *e)
{
    static const struct store_check_options plain;
    struct check_check c = { .opt = opt ? opt : &plain };
    int rc = 0;

    if (check_open(&c, path, e) < 0)
        return -1;
    map_init(&c.there, map_seed_default());
    if (row_codec_init(&c.codec, c.opt->secret_keys, c.file.path, e) < 0) {
        rc = -1;
    } else if (c.facts.format == 0) {
        rc = err_set(e, ERR_INVALID, "%s: is empty", path);
    } else {
        check_pages(&c);
        check_records(&c);
        if (ret)
            *ret = c.facts;
        if (c.problems)
            rc = err_set(e, ERR_IO, "%s: %zu problem%s found; restore a backup with \"pumice server restore\"", path,
                         c.problems, c.problems == 1 ? "" : "s");
    }
    row_codec_done(&c.codec);
    map_done(&c.there);
    arena_done(&c.arena);
    arena_done(&c.parsing);
    sql_file_close(&c.file);
    return rc;
}
