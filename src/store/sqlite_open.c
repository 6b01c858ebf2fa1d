/* sqlite_open.c - opens the file of a store: owner, lock and format */
#include "store/sqlite_internal.h"

#include "base/util.h"
#include "os/lock.h"
#include "os/path.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* ---- whose it is ---- */

/* It has Secrets, so only we may own and access it. */
static int check_private(int fd, const char *path, const char *mode, struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_errno(e, "stat %s", path);
    if (st.st_uid != geteuid())
        return err_set(e, ERR_FORBIDDEN, "%s belongs to user %u, not to us (%u); run: chown %u %s", path,
                       (unsigned)st.st_uid, (unsigned)geteuid(), (unsigned)geteuid(), path);
    if (st.st_mode & 077)
        return err_set(e, ERR_FORBIDDEN, "%s has mode %04o and is open to other users; run: chmod %s %s", path,
                       (unsigned)st.st_mode & 07777, mode, path);
    return 0;
}

/* The directory, made if it is not there, and its name synced: what is promised must be found again. */
static int need_dir(const char *path, int *ret_fd, struct err *e)
{
    autoclose int fd = -1;
    struct stat st;
    bool is_new = stat(path, &st) < 0 && errno == ENOENT;

    if (is_new && make_dirs(path, 0700, e) < 0)
        return -1;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, "open the store's directory %s", path);
    if (check_private(fd, path, "700", e) < 0)
        return -1;
    if (is_new) {
        autoclose int parent = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (parent < 0 || fsync(parent) < 0)
            return err_errno(e, "sync the directory of %s", path);
    }
    *ret_fd = fd;
    fd = -1;
    return 0;
}

/* SQLite makes its other files with the mode of this one. */
static int need_file(int dir, const char *path, struct err *e)
{
    autoclose int fd = -1;

    if (faccessat(dir, STORE_FILE, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
        faccessat(dir, STORE_FILE ".old", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return err_set(e, ERR_IO, "%s is missing, but %s.old exists: a restore was interrupted; run it again", path,
                       path);
    fd = openat(dir, STORE_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_errno(e, "open %s (is its file system mounted read-only?)", path);
    return check_private(fd, path, "600", e);
}

static int take_lock(int dir, const char *path, int *ret_fd, struct err *e)
{
    if (lock_take(dir, STORE_FILE ".lock", 0, ret_fd, e) == 0)
        return 0;
    if (e && e->code == ERR_CONFLICT)
        return err_set(e, ERR_CONFLICT, "%s: another process has this store open; stop it or give another directory",
                       path);
    return err_wrap(e, "%s", path);
}

/* ---- formats ---- */

/* Step i brings a file of format i to i + 1; format 0 is an empty one. A step is never changed once it was released. */
static const char *const steps[STORE_FORMAT] = {
    "CREATE TABLE log (rev INTEGER PRIMARY KEY, what INTEGER NOT NULL, kind TEXT NOT NULL, namespace TEXT NOT NULL, "
    "name TEXT NOT NULL, uid TEXT NOT NULL, sum INTEGER NOT NULL, body BLOB NOT NULL);"
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;"
    "INSERT INTO meta VALUES ('compacted', 0);"
    "PRAGMA application_id = 0x50756d69;",
    "ALTER TABLE log ADD COLUMN key TEXT;",
};

static int upgrade_by_one(sqlite3 *db, int64_t from)
{
    char version[64];
    int rc;

    (void)snprintf(version, sizeof(version), "PRAGMA user_version = %lld", (long long)from + 1);
    if ((rc = sql_exec(db, "BEGIN IMMEDIATE")) != SQLITE_OK)
        return rc;
    if ((rc = sql_exec(db, steps[from])) != SQLITE_OK || (rc = sql_exec(db, version)) != SQLITE_OK ||
        (rc = sql_exec(db, "COMMIT")) != SQLITE_OK) {
        (void)sql_exec(db, "ROLLBACK"); /* the first failure is the one to tell */
        return rc;
    }
    return SQLITE_OK;
}

static int check_format(sqlite3 *db, const char *path, int64_t *ret, struct err *e)
{
    int64_t format, application, pages;
    int rc;

    if ((rc = sql_number(db, "PRAGMA user_version", &format)) != SQLITE_OK ||
        (rc = sql_number(db, "PRAGMA application_id", &application)) != SQLITE_OK ||
        (rc = sql_number(db, "PRAGMA page_count", &pages)) != SQLITE_OK)
        return sql_err(e, db, rc, path);
    if (application != STORE_APPLICATION && (application != 0 || format != 0))
        return err_set(e, ERR_INVALID, "%s: this is a database of another program; give another directory", path);
    if (format > STORE_FORMAT)
        return err_set(e, ERR_INVALID,
                       "%s: has format %lld of a newer pumice, this one supports up to %d; use the newer one, or "
                       "another directory",
                       path, (long long)format, STORE_FORMAT);
    if (format < 0)
        return err_set(e, ERR_INVALID, "%s: unknown format %lld", path, (long long)format);
    *ret = format;
    return 0;
}

static int sqlite_open_upgrade(sqlite3 *db, const char *path, struct err *e)
{
    int64_t format = 0;
    int rc;

    if (check_format(db, path, &format, e) < 0)
        return -1;
    for (; format < STORE_FORMAT; format++)
        if ((rc = upgrade_by_one(db, format)) != SQLITE_OK)
            return sql_err(e, db, rc, path);
    return 0;
}

/* ---- opening ---- */

/* We checkpoint ourselves: SQLite would try again after a sync that failed, and take the kernel's word that all is
 * well. */
static const char settings[] = "PRAGMA journal_mode = WAL;"
                               "PRAGMA synchronous = FULL;"
                               "PRAGMA wal_autocheckpoint = 0;"
                               "PRAGMA journal_size_limit = 33554432;"
                               "PRAGMA secure_delete = OFF;"
                               "PRAGMA trusted_schema = OFF;"
                               "PRAGMA cell_size_check = ON;"
                               "PRAGMA temp_store = MEMORY;";

/* A pod has about 4 KB: of pages of 8 KB half would be empty. */
static const char new_settings[] = "PRAGMA page_size = 16384;"
                                   "PRAGMA auto_vacuum = INCREMENTAL;";

enum { BUSY_MS = 5000 }; /* a backup holds the lock for a moment only */

static int open_db(const char *path, int flags, const char *vfs, sqlite3 **ret, struct err *e)
{
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs);

    if (rc == SQLITE_OK) {
        (void)sqlite3_busy_timeout(db, BUSY_MS);
        (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        *ret = db;
        return 0;
    }
    (void)sql_err(e, db, rc, path);
    (void)sqlite3_close_v2(db); /* it is there even so */
    return -1;
}

static int set_up(sqlite3 *db, const char *path, struct err *e)
{
    int64_t pages = 0;
    int rc = sql_number(db, "PRAGMA page_count", &pages);

    if (rc == SQLITE_OK && pages == 0)
        rc = sql_exec(db, new_settings);
    if (rc == SQLITE_OK)
        rc = sql_exec(db, settings);
    if (rc != SQLITE_OK)
        return sql_err(e, db, rc, path);
    if (sqlite_open_upgrade(db, path, e) < 0)
        return -1;
    /* A new log: what a crash left behind the last commit is out of the way. */
    rc = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return rc == SQLITE_OK ? 0 : sql_err(e, db, rc, path);
}

int sql_dir_take(const char *dir, int *ret_dir, int *ret_lock, struct err *e)
{
    int fd;

    if (need_dir(dir, &fd, e) < 0)
        return -1;
    if (take_lock(fd, dir, ret_lock, e) < 0) {
        close(fd);
        return -1;
    }
    *ret_dir = fd;
    return 0;
}

/* Nothing is changed, neither in the file nor in the WAL: what is behind the damage may be wanted yet. */
static int set_up_cut(sqlite3 *db, const char *path, const struct err *cut, struct err *e)
{
    int64_t format = 0;

    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL); /* cannot fail */
    if (check_format(db, path, &format, e) < 0)
        return -1;
    if (format == STORE_FORMAT)
        return 0;
    if (e)
        *e = *cut; /* it would have to be brought to today's format */
    return -1;
}

static int sqlite_open_file(const char *vfs, struct sql_file *f, struct err *e)
{
    int flags = f->cut.code ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;

    if (open_db(f->path, flags | SQLITE_OPEN_NOFOLLOW, vfs, &f->db, e) < 0)
        return -1;
    return f->cut.code ? set_up_cut(f->db, f->path, &f->cut, e) : set_up(f->db, f->path, e);
}

int sql_file_open(const char *dir, const char *vfs, struct sql_file *ret, struct err *e)
{
    struct sql_file f = { .lock = -1 };
    autoclose int fd = -1;

    if (need_dir(dir, &fd, e) < 0)
        return -1;
    if (asprintf(&f.path, "%s/%s", dir, STORE_FILE) < 0)
        abort();
    if (need_file(fd, f.path, e) < 0 || take_lock(fd, f.path, &f.lock, e) < 0)
        goto fail;
    if (sql_wal_check(fd, f.path, &f.cut) < 0) {
        if (e)
            *e = f.cut;
        goto fail;
    }
    if (sqlite_open_file(vfs, &f, e) < 0)
        goto fail;
    *ret = f;
    return 0;
fail:
    sql_file_close(&f);
    return -1;
}

int sql_file_read(const char *path, struct sql_file *ret, int64_t *ret_format, struct err *e)
{
    struct sql_file f = { .lock = -1 };

    if (access(path, R_OK) < 0)
        return err_errno(e, "open %s", path);
    if (!(f.path = strdup(path)))
        abort();
    if (open_db(path, SQLITE_OPEN_READWRITE, NULL, &f.db, e) < 0 || check_format(f.db, path, ret_format, e) < 0) {
        sql_file_close(&f);
        return -1;
    }
    *ret = f;
    return 0;
}

void sql_file_close(struct sql_file *f)
{
    (void)sqlite3_close_v2(f->db); /* NULL is fine; what is committed is safe whatever it says */
    if (f->lock >= 0)
        close(f->lock);
    free(f->path);
}
