/* durable.c - what a store in a directory promises besides: when it tells, what survives, what it says when it cannot */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "store/backup.h"
#include "store/store.h"
#include "store/test/power_disk.h"

#include "api/meta.h"
#include "base/log.h"
#include "base/util.h"
#include "os/io.h"
#include "os/tree.h"

#include <errno.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <zlib.h>

static char dir[40], file[60], key_paths[2][60];
static const char *key_files[3]; /* those that a store is opened with */
static struct clock_manual manual;
static struct store *store;
static struct power_disk *disk; /* NULL: the real one */
static struct err err;
static const struct resource_type *maps;

#define START_MS INT64_C(1767225600250)

static int open_with(size_t history)
{
    struct store_options opt = { .clock = &manual.clock, .seed = 1, .history = history };

    if (disk)
        opt.vfs = power_disk_vfs(disk);
    opt.secret_keys = key_files;
    err = (struct err){ 0 };
    return store_open(dir, &opt, &store, &err);
}

static void must_open(size_t history)
{
    if (open_with(history) < 0)
        fail_msg("open: %s", err.text);
}

static void shut(void)
{
    store_free(store);
    store = NULL;
}

static int set_up(void **state)
{
    (void)snprintf(dir, sizeof(dir), "%s/pumice-durable-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(file, sizeof(file), "%s/store.db", dir);
    clock_manual_init(&manual, START_MS);
    maps = type_by_kind(STR("v1"), STR("ConfigMap"));
    memset(key_files, 0, sizeof(key_files));
    return 0;
}

static void remove_dir(const char *path)
{
    autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_int_equal(tree_empty(fd, &err), 0);
    assert_int_equal(rmdir(path), 0);
}

static int tear_down(void **state)
{
    shut();
    if (disk)
        power_disk_free(disk);
    disk = NULL;
    remove_dir(dir);
    return 0;
}

static int put(const char *name, size_t fill, char with)
{
    autoarena a = { 0 };
    struct json *body = json_object(&a), *meta;
    char *text = arena_alloc(&a, fill);

    memset(text, with, fill);
    json_add(body, STR("apiVersion"), json_str(&a, STR("v1")));
    json_add(body, STR("kind"), json_str(&a, STR("ConfigMap")));
    meta = json_add(body, STR("metadata"), json_object(&a));
    json_add(meta, STR("namespace"), json_str(&a, STR("a")));
    json_add(meta, STR("name"), json_str(&a, str_of(name)));
    json_add(body, STR("text"), json_str(&a, (struct str){ text, fill }));
    err = (struct err){ 0 };
    return store_get(store, maps, STR("a"), str_of(name)) ? store_update(store, body, STORE_MAIN, NULL, &err)
                                                          : store_create(store, body, NULL, &err);
}

static void must_put(const char *name, char with)
{
    if (put(name, 20, with) < 0 || store_flush(store, &err) < 0)
        fail_msg("put %s: %s", name, err.text);
}

/* What the object says; '-': it is not there. */
static char said(const char *name)
{
    const struct object *o = store_get(store, maps, STR("a"), str_of(name));

    return o ? json_member_text(o->root, "text").p[0] : '-';
}

static void drop(const char *name)
{
    struct store_delete_options opt = { .grace_s = 0 };

    assert_int_equal(store_delete(store, &(struct object_key){ maps, STR("a"), str_of(name) }, &opt, NULL, &err), 0);
}

static void assert_says(const char *part)
{
    if (!strstr(err.text, part))
        fail_msg("\"%s\" does not say \"%s\"", err.text, part);
}

/* ---- when it tells ---- */

static void nothing_is_told_early(void **state)
{
    struct watch_event ev;
    struct watch *w;

    must_open(0);
    must_put("x", '1');
    assert_int_equal(watch_open(store, maps, STR_NULL, 1, &w, &err), 0);
    assert_int_equal(put("x", 20, '2'), 0);
    assert_int_equal(put("y", 20, '1'), 0);
    assert_int_equal(said("x"), '2'); /* whoever writes next sees it */
    assert_int_equal(store_revision(store), 3);
    assert_int_equal(store_flushed(store), 1);
    assert_int_equal(store_outcome(store, 1), 1);
    assert_int_equal(store_outcome(store, 2), 0);
    watch_want_bookmark(w);
    assert_int_equal(watch_next(w, &ev, &err), 1);
    assert_int_equal(ev.kind, WATCH_BOOKMARK);
    assert_int_equal(ev.rev, 1);
    assert_int_equal(watch_next(w, &ev, &err), 0);
    assert_int_equal(store_flush(store, &err), 0);
    assert_int_equal(store_flushed(store), 3);
    assert_int_equal(watch_next(w, &ev, &err), 1);
    assert_int_equal(ev.rev, 2);
    assert_int_equal(watch_next(w, &ev, &err), 1);
    assert_int_equal(ev.rev, 3);
    watch_close(w);
}

static void a_restart_is_not_seen(void **state)
{
    struct watch_event ev;
    struct watch *w;
    char name[8];

    must_open(20);
    for (int i = 0; i < 60; i++) {
        (void)snprintf(name, sizeof(name), "n%d", i % 7);
        must_put(name, (char)('a' + i % 26));
    }
    drop("n3");
    assert_int_equal(store_flush(store, &err), 0);
    assert_int_equal(put("late", 20, 'x'), 0); /* never flushed */
    shut();

    must_open(20);
    assert_int_equal(store_revision(store), 61);
    assert_int_equal(store_count(store, maps), 6);
    assert_int_equal(said("n4"), 'a' + 53 % 26);
    assert_int_equal(said("n3"), '-');
    assert_int_equal(said("late"), '-');
    assert_int_equal(watch_open(store, maps, STR_NULL, 30, &w, &err), -1);
    assert_int_equal(err.code, ERR_GONE);
    assert_int_equal(watch_open(store, maps, STR_NULL, 45, &w, &err), 0);
    for (uint64_t rev = 46; rev <= 61; rev++) {
        assert_int_equal(watch_next(w, &ev, &err), 1);
        assert_int_equal(ev.rev, rev);
        assert_int_equal(ev.kind, rev == 61 ? WATCH_DELETED : WATCH_MODIFIED);
        assert_int_equal(json_member_text(ev.object->root, "text").p[0],
                         rev == 61 ? 'a' + 59 % 26 : 'a' + ((int)rev - 1) % 26);
    }
    assert_int_equal(watch_next(w, &ev, &err), 0);
    watch_close(w);
    must_put("n3", 'z');
    assert_int_equal(store_revision(store), 62);
}

/* ---- trees ---- */

static void count_cold(void *ctx, const struct object *o)
{
    *(size_t *)ctx += !o->root;
    assert_true(o->text.n > 0);
}

static void trees_are_dropped_and_made_again(void **state)
{
    const struct object *held;
    size_t cold = 0;
    char name[12];

    must_open(0);
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof(name), "n%d", i);
        assert_int_equal(put(name, 20, 'q'), 0);
    }
    held = object_ref(store_get(store, maps, STR("a"), STR("n500")));
    assert_int_equal(store_flush(store, &err), 0);
    store_walk(store, maps, STR_NULL, count_cold, &cold);
    assert_int_equal(cold, 0); /* whoever watches looks at them now */
    assert_int_equal(store_flush(store, &err), 0);
    store_walk(store, maps, STR_NULL, count_cold, &cold);
    assert_int_equal(cold, 999);
    assert_int_equal(json_member_text(held->root, "text").p[0], 'q');
    object_unref(held);
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof(name), "n%d", i);
        assert_int_equal(said(name), 'q');
    }
}

/* A state that was replaced long ago is read from the log, once for all who watch the change: 10,000 of them would hold
 * 10,000 copies. */
static void what_was_before_is_read_once(void **state)
{
    struct watch_event ev;
    struct watch *w[2];

    must_open(8);
    must_put("n", 'q');
    for (int i = 0; i < 20; i++)
        must_put("other", (char)('a' + i));
    for (int i = 0; i < 2; i++)
        assert_int_equal(watch_open(store, maps, STR_NULL, store_revision(store), &w[i], &err), 0);
    must_put("n", 'z');
    for (int i = 0; i < 2; i++)
        assert_int_equal(watch_next(w[i], &ev, &err), 1);
    assert_non_null(watch_before(w[0]));
    assert_int_equal(json_member_text(watch_before(w[0])->root, "text").p[0], 'q');
    assert_ptr_equal(watch_before(w[0]), watch_before(w[1]));
    for (int i = 0; i < 2; i++)
        watch_close(w[i]);
}

/* ---- how large it grows ---- */

static off_t file_bytes(void)
{
    struct stat st;

    assert_int_equal(stat(file, &st), 0);
    return st.st_size;
}

static int64_t ask(const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *st;
    int64_t n;

    assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
    (void)sqlite3_step(st); /* no row: 0 */
    n = sqlite3_column_int64(st, 0);
    (void)sqlite3_finalize(st); /* it says what step said */
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return n;
}

static void the_file_does_not_grow_for_ever(void **state)
{
    char name[12];
    off_t big;

    must_open(100);
    for (int i = 0; i < 4000; i++) {
        (void)snprintf(name, sizeof(name), "n%d", i % 10);
        assert_int_equal(put(name, 2000, (char)('a' + i % 26)), 0);
        if (i % 4 == 0)
            assert_int_equal(store_flush(store, &err), 0);
    }
    assert_int_equal(store_flush(store, &err), 0);
    shut();
    assert_true(ask("SELECT count(*) FROM log") < 200);
    assert_true(file_bytes() < 1 << 20); /* 4,000 states are 8 MB */

    must_open(100);
    for (int i = 0; i < 2000; i++) {
        (void)snprintf(name, sizeof(name), "m%d", i);
        assert_int_equal(put(name, 3000, 'x'), 0);
    }
    assert_int_equal(store_flush(store, &err), 0);
    shut();
    big = file_bytes();
    must_open(100);
    for (int i = 0; i < 2000; i++) {
        (void)snprintf(name, sizeof(name), "m%d", i);
        drop(name);
        if (i % 10 == 0)
            assert_int_equal(store_flush(store, &err), 0);
    }
    for (int i = 0; i < 2000; i++)
        must_put("n1", (char)('a' + i % 26));
    shut();
    assert_int_equal(ask("PRAGMA auto_vacuum"), 2);
    assert_true(file_bytes() < big / 2);
    assert_true(ask("SELECT count(*) FROM log") < 200);
}

/* ---- what was there ---- */

static bool add_said(void *ctx, const struct object *o)
{
    autoarena a = { 0 };
    const struct json *root = object_glance(o, &a);

    buf_str(ctx, o->name);
    buf_char(ctx, json_member_text(root, "text").p[0]);
    buf_char(ctx, ' ');
    return true;
}

/* All that was there at 'rev', and what it said. */
static void assert_was(uint64_t rev, const char *want)
{
    autobuf out = { 0 };
    struct store_page page = { .rev = rev, .each = add_said, .ctx = &out };

    if (store_page(store, maps, &page, &err) < 0)
        fail_msg("%s", err.text);
    if (!str_is(buf_view(&out), want))
        fail_msg("revision %llu was \"%.*s\", not \"%s\"", (unsigned long long)rev, (int)out.n, out.p, want);
}

/* Objects from before the history are known as they were until the change that replaced them leaves it too: to pages, to
 * the next program, and to whoever looks whether the file is whole. */
static void what_was_there_is_known(void **state)
{
    struct store_facts facts;
    uint64_t rev;

    must_open(100);
    must_put("old", '1');
    must_put("gone", '1');
    must_put("again", '1');
    for (int i = 0; i < 300; i++)
        must_put("n", (char)('a' + i % 26));
    rev = store_revision(store);
    must_put("old", '2');
    drop("gone");
    drop("again");
    must_put("again", '2');
    must_put("new", '1');
    for (int i = 0; i < 60; i++) /* some rows are deleted by then */
        must_put("n", (char)('a' + i % 26));
    assert_was(rev, "again1 gone1 nn old1 ");
    assert_was(rev + 3, "nn old2 ");
    assert_was(rev + 4, "again2 nn old2 ");
    shut();
    if (store_check(dir, &(struct store_check_options){ 0 }, &facts, &err) < 0)
        fail_msg("%s", err.text);
    must_open(100);
    assert_was(rev, "again1 gone1 nn old1 ");
    assert_was(rev + 4, "again2 nn old2 ");
    for (int i = 0; i < 200; i++)
        must_put("n", (char)('a' + i % 26));
    shut();
    assert_true(ask("SELECT count(*) FROM log") < 200);
}

/* ---- faults ---- */

/* A name that was free, taken and freed again in a turn that is undone, is what it was before. */
static void a_name_of_a_turn_that_is_undone(void **state)
{
    disk = power_disk_new(1);
    must_open(0);
    must_put("freed", '1');
    must_put("taken", '1');
    drop("freed");
    must_put("x", '1'); /* 4 */
    power_disk_fail(disk, POWER_WRITE, 1, SQLITE_FULL);
    assert_int_equal(put("freed", 20, '2'), 0);
    drop("taken");
    assert_int_equal(put("taken", 20, '2'), 0);
    drop("freed");
    assert_int_equal(put("new", 20, '2'), 0);
    assert_int_equal(store_flush(store, &err), -1);
    power_disk_fail(disk, POWER_WRITE, 0, 0);
    clock_manual_advance(&manual, 1000);
    assert_int_equal(store_count(store, maps), 2);
    must_put("y", '1');
    assert_was(store_revision(store), "taken1 x1 y1 ");
    assert_was(4, "taken1 x1 ");
    assert_was(2, "freed1 taken1 ");
}

static void a_full_disk(void **state)
{
    struct watch_event ev;
    struct store_stats stats;
    struct watch *w, *later; /* later: opened when there was something that is undone */

    disk = power_disk_new(1);
    must_open(0);
    must_put("x", '1');
    must_put("gone", '1');
    assert_int_equal(watch_open(store, maps, STR_NULL, 2, &w, &err), 0);
    power_disk_fail(disk, POWER_WRITE, 1, SQLITE_FULL);
    assert_int_equal(put("x", 20, '2'), 0);
    assert_int_equal(put("y", 20, '1'), 0);
    drop("gone");
    assert_int_equal(watch_open(store, maps, STR_NULL, 0, &later, &err), 0);
    assert_int_equal(store_flush(store, &err), -1);
    assert_int_equal(err.code, ERR_IO);
    assert_says("store.db");
    assert_says("the disk is full");
    assert_int_equal(said("x"), '1');
    assert_int_equal(said("y"), '-');
    assert_int_equal(said("gone"), '1');
    assert_int_equal(store_outcome(store, 3), -1);
    assert_int_equal(store_outcome(store, 2), 1);
    assert_int_equal(watch_next(w, &ev, &err), 0);
    assert_int_equal(put("x", 20, '3'), -1); /* read-only for a while */
    assert_says("the disk is full");

    clock_manual_advance(&manual, 1000);
    store_stats(store, &stats);
    assert_true(stats.failure && strstr(stats.failure->text, "the disk is full")); /* whatever is let through */
    assert_int_equal(put("x", 20, '3'), 0); /* let through to see: it is still full */
    assert_int_equal(store_flush(store, &err), -1);
    assert_int_equal(put("x", 20, '3'), -1);
    power_disk_fail(disk, POWER_WRITE, 0, 0);
    clock_manual_advance(&manual, 1000);
    must_put("x", '4');
    must_put("x", '5');
    assert_int_equal(store_revision(store), 8); /* 3 to 6 were used */
    assert_int_equal(watch_next(w, &ev, &err), 1);
    assert_int_equal(ev.rev, 7);
    assert_int_equal(watch_next(later, &ev, &err), 1);
    assert_int_equal(ev.rev, 7);
    store_stats(store, &stats);
    assert_null(stats.failure);
    assert_true(stats.flushes == 6 && stats.failures == 2 && stats.changes == 4);
    watch_close(later);
    watch_close(w);
    shut();
    must_open(0);
    assert_int_equal(said("x"), '5');
    assert_int_equal(store_revision(store), 8);
}

static void a_sync_that_fails_is_the_last(void **state)
{
    disk = power_disk_new(2);
    must_open(0);
    must_put("x", '1');
    power_disk_fail(disk, POWER_SYNC, 1, SQLITE_IOERR_FSYNC);
    assert_int_equal(put("x", 20, '2'), 0);
    assert_int_equal(store_flush(store, &err), -1);
    assert_says("the disk failed");
    power_disk_fail(disk, POWER_SYNC, 0, 0); /* the next would say that all is well */
    clock_manual_advance(&manual, 3600000);
    assert_int_equal(put("x", 20, '3'), -1);
    assert_says("the disk failed");
    assert_int_equal(store_writable(store, &err), -1);
    assert_int_equal(said("x"), '1');
    assert_int_equal(store_flush(store, &err), 0); /* there is nothing to flush */
    shut();
    assert_true(power_disk_size(disk, "-wal") > 0); /* not copied and deleted on the word of a later sync */
    must_open(0);
    assert_true(said("x") == '1' || said("x") == '2');
    must_put("x", '3');
}

/* Every call fails once, at every place: what was acknowledged is there afterwards. */
static void each_call_fails(void **state)
{
    static const int codes[] = { SQLITE_FULL, SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC, SQLITE_IOERR_READ };
    char acked;

    for (unsigned i = 0; i < 4 * 30; i++) {
        int rc = codes[i % 4];

        disk = power_disk_new(i);
        must_open(4);
        must_put("x", acked = '0');
        power_disk_fail(disk, i % 4 == 2 ? POWER_SYNC : i % 4 == 3 ? POWER_READ : POWER_WRITE, i / 4 + 1, rc);
        for (char c = '1'; c < '9'; c++) {
            if (put("x", 9000, c) == 0 && store_flush(store, NULL) == 0)
                acked = c;
            assert_int_equal(said("x"), acked);
        }
        shut();
        power_disk_fail(disk, POWER_SYNC, 0, 0);
        power_disk_fail(disk, POWER_READ, 0, 0);
        power_disk_fail(disk, POWER_WRITE, 0, 0);
        power_disk_boot(disk);
        must_open(4);
        assert_true(said("x") >= acked); /* a write that failed may be there */
        shut();
        power_disk_free(disk);
        disk = NULL;
    }
}

/* A checkpoint whose sync fails: the WAL has everything, nothing more is written. */
static void a_checkpoint_fails(void **state)
{
    char c = '1';

    disk = power_disk_new(3);
    must_open(4);
    must_put("x", c);
    while (power_disk_size(disk, "-wal") < 900 * 16400) {
        assert_int_equal(put("big", 90000, c = c == '1' ? '2' : '1'), 0);
        assert_int_equal(store_flush(store, &err), 0);
    }
    for (c = 'a'; store_writable(store, NULL) == 0; c = c == 'z' ? 'a' : (char)(c + 1)) {
        power_disk_fail(disk, POWER_SYNC, 2, SQLITE_IOERR_FSYNC); /* the first is the commit's */
        must_put("x", c);
    }
    assert_int_equal(put("x", 20, '2'), -1);
    assert_says("the disk failed");
    c = said("x");
    assert_true(c >= 'a');
    shut();
    power_disk_fail(disk, POWER_SYNC, 0, 0);
    power_disk_boot(disk);
    must_open(4);
    assert_int_equal(said("x"), c);
}

/* ---- damage ---- */

static void flip(const char *path, off_t at)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    char c = 0;

    assert_true(fd >= 0 && pread(fd, &c, 1, at) == 1);
    c ^= 0x10;
    assert_int_equal(pwrite(fd, &c, 1, at), 1);
    close(fd);
}

/* Where the text of an object is in the file. */
static off_t find_text(const char *path, struct str text)
{
    autobuf all = { 0 };
    const char *at;

    assert_int_equal(file_read(AT_FDCWD, path, 0, SIZE_MAX, &all), 0);
    at = memmem(all.p, all.n, text.p, text.n);
    assert_non_null(at);
    return at - all.p;
}

static void a_damaged_record(void **state)
{
    must_open(0);
    must_put("x", '1');
    must_put("y", 'Z');
    shut();
    flip(file, find_text(file, STR("ZZZZZZZZ")));
    assert_int_equal(open_with(0), -1);
    assert_int_equal(err.code, ERR_IO);
    assert_says(file);
    assert_says("revision 2");
    assert_says("restore");
    flip(file, find_text(file, STR("JZZZZ"))); /* 'Z' with that bit turned */
    must_open(0);
    assert_int_equal(said("y"), 'Z');
}

static void a_damaged_page(void **state)
{
    char name[12];

    must_open(0);
    for (int i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof(name), "n%d", i);
        assert_int_equal(put(name, 900, 'x'), 0);
    }
    assert_int_equal(store_flush(store, &err), 0);
    shut();
    for (off_t at = 3 * 16384; at < 3 * 16384 + 64; at++)
        flip(file, at);
    assert_int_equal(open_with(0), -1);
    assert_int_equal(err.code, ERR_IO);
    assert_says("damaged");
    assert_says(file);
}

/* Copies a store as a power cut would leave it: the WAL is there. */
static void copy_live(char to[48])
{
    static const char *const names[] = { "store.db", "store.db-wal" };
    char path[80];

    (void)snprintf(to, 48, "%s-2", dir);
    assert_int_equal(mkdir(to, 0700), 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        autobuf bytes = { 0 };

        (void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        assert_int_equal(file_read(AT_FDCWD, path, 0, SIZE_MAX, &bytes), 0);
        (void)snprintf(path, sizeof(path), "%s/%s", to, names[i]);
        assert_int_equal(file_write(AT_FDCWD, path, O_EXCL, 0600, buf_view(&bytes)), 0);
    }
}

/* What must not change when a store is only looked at. */
static void read_files(struct buf *ret)
{
    static const char *const names[] = { "store.db", "store.db-wal" };
    char path[80];

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        assert_int_equal(file_read(AT_FDCWD, path, 0, SIZE_MAX, ret), 0);
    }
}

static void assert_only_read(void)
{
    struct store_stats stats;

    store_stats(store, &stats);
    assert_true(store_is_cut(store) && stats.failure);
    assert_int_equal(put("x", 20, 'z'), -1);
    assert_says("store.db-wal: the file is damaged");
}

/* What is behind a bad frame was acknowledged if two commits are there; SQLite alone would forget them. */
static void a_damaged_wal(void **state)
{
    static const struct {
        const char *text; /* a bit of this is turned */
        char want;        /* what is said then */
        bool is_cut;
    } cases[] = {
        { NULL, 'd', false }, { "bbbbbbbb", 'a', true }, { "cccccccc", 'b', true }, { "dddddddd", 'c', false }
    };
    struct store *live;
    char copy[48], wal[80], first[40];

    must_open(0);
    for (char c = 'a'; c <= 'd'; c++)
        must_put("x", c);
    live = store;
    memcpy(first, dir, sizeof(first));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf before = { 0 }, after = { 0 };

        memcpy(dir, first, sizeof(first));
        copy_live(copy);
        (void)snprintf(wal, sizeof(wal), "%s/store.db-wal", copy);
        if (cases[i].text)
            flip(wal, find_text(wal, str_of(cases[i].text)));
        memcpy(dir, copy, sizeof(dir));
        read_files(&before);
        must_open(0);
        assert_int_equal(said("x"), cases[i].want);
        if (cases[i].is_cut)
            assert_only_read();
        else
            must_put("x", 'z');
        shut();
        if (cases[i].is_cut) {
            read_files(&after);
            assert_true(str_eq(buf_view(&before), buf_view(&after)));
        }
        remove_dir(copy);
    }
    memcpy(dir, first, sizeof(first));
    store = live;
}

/* ---- whose it is ---- */

static void others_are_kept_out(void **state)
{
    char path[80];

    assert_int_equal(chmod(dir, 0755), 0);
    assert_int_equal(open_with(0), -1);
    assert_int_equal(err.code, ERR_FORBIDDEN);
    assert_says("chmod 700");
    assert_int_equal(chmod(dir, 0700), 0);
    must_open(0);
    must_put("x", '1');
    static const char *const names[] = { "store.db", "store.db-wal", "store.db-shm", "store.db.lock" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct stat st;

        (void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
    }
    shut();
    assert_int_equal(chmod(file, 0640), 0);
    assert_int_equal(open_with(0), -1);
    assert_int_equal(err.code, ERR_FORBIDDEN);
    assert_says("chmod 600");
    assert_says(file);
    assert_int_equal(chmod(file, 0600), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(file, 1234, (gid_t)-1), 0);
        assert_int_equal(open_with(0), -1);
        assert_int_equal(err.code, ERR_FORBIDDEN);
        assert_says("belongs to user 1234");
        assert_int_equal(chown(file, 0, (gid_t)-1), 0);
    }
    must_open(0);
}

static void one_process_at_a_time(void **state)
{
    struct store *first;

    must_open(0);
    first = store;
    store = NULL;
    assert_int_equal(open_with(0), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_says("another process");
    assert_says(file);
    store = first;
    must_put("x", '1');
}

static void a_directory_that_cannot_be(void **state)
{
    struct store_options opt = { .clock = &manual.clock };

    assert_int_equal(store_open("/proc/self/no/such", &opt, &store, &err), -1);
    assert_says("/proc/self/no");
    assert_int_equal(store_open("/dev/null", &opt, &store, &err), -1);
    assert_says("/dev/null");
}

/* ---- formats ---- */

static void run_sql(const char *sql)
{
    char *why = NULL;
    sqlite3 *db;

    assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void newer_and_foreign_files(void **state)
{
    must_open(0);
    must_put("x", '1');
    shut();
    run_sql("PRAGMA user_version = 77");
    assert_int_equal(open_with(0), -1);
    assert_int_equal(err.code, ERR_INVALID);
    assert_says("has format 77 of a newer pumice");
    assert_int_equal(ask("PRAGMA user_version"), 77); /* untouched */
    run_sql("PRAGMA user_version = 1; PRAGMA application_id = 5");
    assert_int_equal(open_with(0), -1);
    assert_says("another program");
    assert_int_equal(truncate(file, 0), 0);
    assert_int_equal(file_write(AT_FDCWD, file, O_TRUNC, 0600, STR("This is not a database, it is a letter to you.")),
                     0);
    assert_int_equal(open_with(0), -1);
    assert_says("not a store");
}

static uint32_t add_sum(uint32_t sum, const char *text)
{
    uint64_t n = strlen(text); /* little-endian here as everywhere that we test */

    sum = (uint32_t)crc32(sum, (const unsigned char *)&n, 8);
    return n ? (uint32_t)crc32(sum, (const unsigned char *)text, (unsigned)n) : sum;
}

/* Rows of a kind that only a newer program has survive this one. */
static void unknown_kinds_are_kept(void **state)
{
    static const char *const parts[] = { "2 0", "sprockets.example.com", "a", "x", "an uid", "{}" };
    autoarena a = { 0 };
    uint32_t sum = 0;

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        sum = add_sum(sum, parts[i]);
    must_open(4);
    must_put("x", '1');
    shut();
    run_sql(arena_fmt(&a,
                      "INSERT INTO log (rev, what, kind, namespace, name, uid, sum, body) VALUES (2, 0, "
                      "'sprockets.example.com', 'a', 'x', 'an uid', %u, '{}')",
                      sum)
                .p);
    must_open(4);
    for (int i = 0; i < 50; i++)
        must_put("x", (char)('a' + i % 26));
    assert_int_equal(store_revision(store), 52);
    assert_int_equal(store_count(store, maps), 1);
    shut();
    assert_int_equal(ask("SELECT count(*) FROM log WHERE kind = 'sprockets.example.com'"), 1);
}

/* A file as the first version made it. */
static void an_older_format(void **state)
{
    static const char *const parts[] = { "5 0", "configmaps",
                                         "a",   "x",
                                         "u",   "{\"metadata\":{\"name\":\"x\",\"namespace\":\"a\"},\"text\":\"o\"}" };
    autoarena a = { 0 };
    uint32_t sum = 0;

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        sum = add_sum(sum, parts[i]);
    run_sql(arena_fmt(&a,
                      "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA application_id = 0x50756d69;"
                      "CREATE TABLE log (rev INTEGER PRIMARY KEY, what INTEGER NOT NULL, kind TEXT NOT NULL, namespace "
                      "TEXT NOT NULL, name TEXT NOT NULL, uid TEXT NOT NULL, sum INTEGER NOT NULL, body BLOB NOT NULL);"
                      "CREATE TABLE meta (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;"
                      "INSERT INTO meta VALUES ('compacted', 4); PRAGMA user_version = 1;"
                      "INSERT INTO log VALUES (5, 0, '%s', '%s', '%s', '%s', %u, '%s')",
                      parts[1], parts[2], parts[3], parts[4], sum, parts[5])
                .p);
    assert_int_equal(chmod(file, 0600), 0);
    must_open(0);
    assert_int_equal(store_revision(store), 5);
    assert_int_equal(said("x"), 'o');
    must_put("x", 'n');
    shut();
    assert_int_equal(ask("PRAGMA user_version"), 2);
    must_open(0);
    assert_int_equal(said("x"), 'n');
}

/* ---- secrets ---- */

static void make_key(int i, mode_t mode, const char *text)
{
    (void)snprintf(key_paths[i], sizeof(key_paths[i]), "%s/key%d", dir, i);
    assert_int_equal(file_write(AT_FDCWD, key_paths[i], O_TRUNC, 0600, str_of(text)), 0);
    assert_int_equal(chmod(key_paths[i], mode), 0);
}

static void put_secret(const char *name)
{
    autoarena a = { 0 };
    struct json *body = json_object(&a), *meta;

    json_add(body, STR("apiVersion"), json_str(&a, STR("v1")));
    json_add(body, STR("kind"), json_str(&a, STR("Secret")));
    meta = json_add(body, STR("metadata"), json_object(&a));
    json_add(meta, STR("namespace"), json_str(&a, STR("a")));
    json_add(meta, STR("name"), json_str(&a, str_of(name)));
    json_add(body, STR("password"), json_str(&a, STR("correct horse")));
    assert_int_equal(store_create(store, body, NULL, &err), 0);
    assert_int_equal(store_flush(store, &err), 0);
}

static void check_secret(const char *name)
{
    const struct object *o = store_get(store, type_by_kind(STR("v1"), STR("Secret")), STR("a"), str_of(name));

    assert_non_null(o);
    assert_true(str_is(json_member_text(o->root, "password"), "correct horse"));
}

static bool is_on_disk(const char *text)
{
    static const char *const names[] = { "store.db", "store.db-wal" };
    char path[80];

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        autobuf all = { 0 };

        (void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        if (file_read(AT_FDCWD, path, 0, SIZE_MAX, &all) == 0 && memmem(all.p, all.n, text, strlen(text)))
            return true;
    }
    return false;
}

#define KEY_A "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF\n"
#define KEY_B "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static void secrets_are_sealed(void **state)
{
    make_key(0, 0600, KEY_A);
    make_key(1, 0600, KEY_B);
    must_open(0);
    put_secret("plain");
    assert_true(is_on_disk("correct horse"));
    shut();

    key_files[0] = key_paths[0]; /* from now on */
    must_open(0);
    check_secret("plain");
    assert_false(is_on_disk("correct horse")); /* what was there is sealed as well */
    put_secret("sealed");
    must_put("map", 'm');
    assert_false(is_on_disk("correct horse"));
    assert_true(is_on_disk("mmmmmmmm"));
    shut();
    must_open(0);
    check_secret("sealed");
    shut();

    key_files[0] = NULL; /* no key, the wrong key */
    assert_int_equal(open_with(0), -1);
    assert_int_equal(err.code, ERR_FORBIDDEN);
    assert_says("a/plain");
    assert_says("sealed with key");
    key_files[0] = key_paths[1];
    assert_int_equal(open_with(0), -1);
    assert_int_equal(err.code, ERR_FORBIDDEN);
    key_files[1] = key_paths[0]; /* a new one in front, the old one opens */
    must_open(0);
    check_secret("plain");
    shut();
    key_files[1] = NULL; /* which is not needed any more */
    must_open(0);
    check_secret("sealed");
}

static const struct {
    mode_t mode;
    const char *text, *says;
} bad_keys[] = {
    { 0640, KEY_A, "chmod 600" },
    { 0600, "", "64 hexadecimal digits" },
    { 0600, "00112233445566778899aabbccddeeff", "64 hexadecimal digits" },
    { 0600, "0g112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", "64 hexadecimal digits" },
};

static void bad_keys_are_refused(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(bad_keys); i++) {
        make_key(0, bad_keys[i].mode, bad_keys[i].text);
        key_files[0] = key_paths[0];
        assert_int_equal(open_with(0), -1);
        assert_says(key_paths[0]);
        assert_says(bad_keys[i].says);
    }
    key_files[0] = "/no/such/key";
    assert_int_equal(open_with(0), -1);
    assert_says("/no/such/key");
}

/* Kinds of users are known again from their rows alone: the definition is an object like others. */
static void knows_kinds_of_users(void **state)
{
    const struct resource_type like = {
        .group = "example.com", .version = "v1", .kind = "Widget", .plural = "widgets"
    };
    const struct resource_type *type = type_define(&like);
    autoarena a = { 0 };
    struct json *body = object_new(&a, "example.com/v1", "Widget", STR("default"), STR("w"));
    const struct object *o;

    (void)state;
    must_open(0);
    assert_int_equal(store_create(store, body, NULL, &err), 0);
    assert_int_equal(store_flush(store, &err), 0);
    shut();
    type_retire(type);
    assert_null(type_by_kind(STR("example.com/v1"), STR("Widget")));
    must_open(0);
    assert_ptr_equal(type_by_kind(STR("example.com/v1"), STR("Widget")), type);
    o = store_get(store, type, STR("default"), STR("w"));
    assert_non_null(o);
    assert_true(o->type == type && type->scope == SCOPE_NAMESPACED);
    type_retire(type);
}

int main(void)
{
#define DURABLE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        DURABLE_TEST(knows_kinds_of_users),
        DURABLE_TEST(nothing_is_told_early),
        DURABLE_TEST(a_restart_is_not_seen),
        DURABLE_TEST(trees_are_dropped_and_made_again),
        DURABLE_TEST(what_was_before_is_read_once),
        DURABLE_TEST(the_file_does_not_grow_for_ever),
        DURABLE_TEST(what_was_there_is_known),
        DURABLE_TEST(a_name_of_a_turn_that_is_undone),
        DURABLE_TEST(a_full_disk),
        DURABLE_TEST(a_sync_that_fails_is_the_last),
        DURABLE_TEST(each_call_fails),
        DURABLE_TEST(a_checkpoint_fails),
        DURABLE_TEST(a_damaged_record),
        DURABLE_TEST(a_damaged_page),
        DURABLE_TEST(a_damaged_wal),
        DURABLE_TEST(others_are_kept_out),
        DURABLE_TEST(one_process_at_a_time),
        DURABLE_TEST(a_directory_that_cannot_be),
        DURABLE_TEST(newer_and_foreign_files),
        DURABLE_TEST(unknown_kinds_are_kept),
        DURABLE_TEST(an_older_format),
        DURABLE_TEST(secrets_are_sealed),
        DURABLE_TEST(bad_keys_are_refused),
    };

    (void)log_setup((struct log_config){ -1, LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, NULL });
    return cmocka_run_group_tests(tests, NULL, NULL);
}
