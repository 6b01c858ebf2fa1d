/* backup.c - backup and restore of a store */
#include "store/backup.h"

#include "store/sqlite_internal.h"

#include "base/util.h"
#include "os/io.h"

#include <errno.h>
#include <libgen.h>
#include <sys/stat.h>

#define OLD_FILE STORE_FILE ".old"
#define NEW_FILE STORE_FILE ".new"

/* How far revisions jump: more than any store changes between a copy and its loss. */
enum { RESTORE_JUMP = 1000000000 };

/* ---- files ---- */

static char *path_in(const char *dir, const char *name)
{
    char *path;

    if (asprintf(&path, "%s/%s", dir, name) < 0)
        abort();
    return path;
}

/* The directory that a path is in, to rename and sync there. */
static int open_parent(const char *path, struct err *e)
{
    autofree char *copy = strdup(path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        (void)err_errno(e, "open the directory of %s", path);
    return fd;
}

static int sync_file(const char *path, struct err *e)
{
    autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 || fsync(fd) < 0)
        return io_errno(e, "sync %s", path);
    return 0;
}

/* An empty file that only we can read. */
static int make_private(const char *path, struct err *e)
{
    if (unlink(path) < 0 && errno != ENOENT)
        return io_errno(e, "remove %s", path);
    if (file_write(AT_FDCWD, path, O_EXCL, 0600, STR_NULL) < 0)
        return io_errno(e, "make %s", path);
    return 0;
}

/* ---- copies ---- */

/* One transaction of reading: a copy of what is committed at its begin, without empty pages. */
static int copy_into(const char *from, const char *to, struct err *e)
{
    struct sql_file f;
    int64_t format;
    char *sql;
    int rc;

    if (sql_file_read(from, &f, &format, e) < 0)
        return -1;
    if (!(sql = sqlite3_mprintf("VACUUM INTO %Q", to)))
        abort();
    rc = sql_exec(f.db, sql);
    sqlite3_free(sql);
    if (rc != SQLITE_OK)
        (void)sql_err(e, f.db, rc, from);
    sql_file_close(&f);
    return rc == SQLITE_OK ? 0 : err_wrap(e, "copy to %s", to);
}

int store_backup(const char *dir, const char *file, struct store_facts *ret, struct err *e)
{
    autofree char *from = path_in(dir, STORE_FILE), *part = NULL;
    autoclose int parent = open_parent(file, e);

    if (parent < 0)
        return -1;
    if (asprintf(&part, "%s.part", file) < 0)
        abort();
    if (make_private(part, e) < 0)
        return -1;
    if (copy_into(from, part, e) < 0 || store_check(part, NULL, ret, e) < 0 || sync_file(part, e) < 0) {
        (void)unlink(part); /* the error is set already */
        return -1;
    }
    if (rename(part, file) < 0)
        return io_errno(e, "rename %s to %s", part, file);
    if (fsync(parent) < 0)
        return io_errno(e, "sync the directory of %s", file);
    return 0;
}

/* ---- putting back ---- */

/* The revision to go on from, which no client has seen. */
static int jump(const char *path, uint64_t beyond, uint64_t *ret, struct err *e)
{
    struct sql_file f;
    int64_t format;
    char *sql;
    int rc;

    *ret = beyond + RESTORE_JUMP;
    if (*ret > INT64_MAX / 4)
        return err_set(e, ERR_INVALID, "%s: no revisions are left", path);
    if (sql_file_read(path, &f, &format, e) < 0)
        return -1;
    if (!(sql = sqlite3_mprintf("UPDATE meta SET value = %lld WHERE name = 'compacted'", (long long)*ret)))
        abort();
    rc = sql_exec(f.db, sql);
    sqlite3_free(sql);
    if (rc != SQLITE_OK)
        (void)sql_err(e, f.db, rc, path);
    sql_file_close(&f);
    return rc == SQLITE_OK ? 0 : -1;
}

/* Of the store that is replaced, as far as it can be read; damaged is why it is replaced, perhaps. */
static uint64_t old_revision(const char *path)
{
    struct sql_file f;
    int64_t format, rev = 0, compacted = 0;

    if (sql_file_read(path, &f, &format, NULL) < 0)
        return 0;
    (void)sql_number(f.db, "SELECT coalesce(max(rev), 0) FROM log", &rev); /* 0 is as good as nothing */
    (void)sql_number(f.db, "SELECT value FROM meta WHERE name = 'compacted'", &compacted);
    sql_file_close(&f);
    return (uint64_t)MAX_OF(MAX_OF(rev, compacted), 0);
}

/* The old file goes first and its WAL after it: a store without file but with an old one is not opened, see
 * sqlite_open.c. A WAL that stayed would be taken for the new file's. */
static int backup_exchange(int dir, const char *path, struct err *e)
{
    static const char *const parts[] = { "", "-wal", "-shm" };
    char from[40], to[40];

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        (void)snprintf(to, sizeof(to), "%s%s", OLD_FILE, parts[i]);
        if (unlinkat(dir, to, 0) < 0 && errno != ENOENT)
            return io_errno(e, "remove %s.old%s", path, parts[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        (void)snprintf(from, sizeof(from), "%s%s", STORE_FILE, parts[i]);
        (void)snprintf(to, sizeof(to), "%s%s", OLD_FILE, parts[i]);
        if (renameat(dir, from, dir, to) < 0 && errno != ENOENT)
            return io_errno(e, "rename %s%s", path, parts[i]);
    }
    if (fsync(dir) < 0 || renameat(dir, NEW_FILE, dir, STORE_FILE) < 0 || fsync(dir) < 0)
        return io_errno(e, "rename %s.new", path);
    return 0;
}

int store_restore_file(const char *file, const char *dir, struct store_facts *ret, struct err *e)
{
    autofree char *path = path_in(dir, STORE_FILE), *new = path_in(dir, NEW_FILE);
    autoclose int fd = -1, lock = -1;
    struct store_facts facts = { 0 };
    uint64_t rev;

    if (store_check(file, NULL, &facts, e) < 0)
        return -1;
    if (sql_dir_take(dir, &fd, &lock, e) < 0 || make_private(new, e) < 0 || copy_into(file, new, e) < 0 ||
        jump(new, MAX_OF(facts.rev, old_revision(path)), &rev, e) < 0 || sync_file(new, e) < 0)
        return -1;
    if (backup_exchange(fd, path, e) < 0)
        return -1;
    facts.rev = rev;
    if (ret)
        *ret = facts;
    return 0;
}
