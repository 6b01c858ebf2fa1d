/* backup.c - copies of a store are whole, are checked, and can be put back */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "store/backup.h"
#include "store/store.h"

#include "base/util.h"
#include "os/io.h"
#include "os/tree.h"

#include <sqlite3.h>
#include <sys/stat.h>

static char top[64], dir[80], other[80], file[100], copy[80];
static struct store *store;
static struct err err;
static const struct resource_type *maps;

static int set_up(void **state)
{
    (void)snprintf(top, sizeof(top), "%s/pumice-backup-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(top))
        return -1;
    (void)snprintf(dir, sizeof(dir), "%s/store", top);
    (void)snprintf(other, sizeof(other), "%s/other", top);
    (void)snprintf(file, sizeof(file), "%s/store.db", dir);
    (void)snprintf(copy, sizeof(copy), "%s/copy", top);
    maps = type_by_kind(STR("v1"), STR("ConfigMap"));
    return 0;
}

static void shut(void)
{
    store_free(store);
    store = NULL;
}

static int tear_down(void **state)
{
    autoclose int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    shut();
    return tree_empty(fd, &err) < 0 ? -1 : rmdir(top);
}

static int open_at(const char *where)
{
    struct store_options opt = { .clock = &clock_real, .seed = 1 };

    err = (struct err){ 0 };
    return store_open(where, &opt, &store, &err);
}

static void put(int from, int to)
{
    for (int i = from; i < to; i++) {
        autoarena a = { 0 };
        struct json *body = json_object(&a), *meta;

        json_add(body, STR("apiVersion"), json_str(&a, STR("v1")));
        json_add(body, STR("kind"), json_str(&a, STR("ConfigMap")));
        meta = json_add(body, STR("metadata"), json_object(&a));
        json_add(meta, STR("namespace"), json_str(&a, STR("a")));
        json_add(meta, STR("name"), json_fmt(&a, "n%d", i));
        json_add(body, STR("text"), json_str(&a, STR("a text to be found again")));
        assert_int_equal(store_create(store, body, NULL, &err), 0);
    }
    assert_int_equal(store_flush(store, &err), 0);
}

static void assert_says(const char *part)
{
    if (!strstr(err.text, part))
        fail_msg("\"%s\" does not say \"%s\"", err.text, part);
}

static void run_sql(const char *path, const char *sql)
{
    char *why = NULL;
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_copy_while_it_is_used(void **state)
{
    struct store_facts facts;
    struct stat st;

    assert_int_equal(open_at(dir), 0);
    put(0, 50);
    if (store_backup(dir, copy, &facts, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(facts.rev, 50);
    assert_int_equal(facts.objects, 50);
    assert_int_equal(stat(copy, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    put(50, 60); /* it goes on */
    assert_int_equal(store_check(dir, NULL, &facts, &err), 0);
    assert_int_equal(facts.objects, 60);
    assert_int_equal(store_backup(dir, copy, &facts, &err), 0); /* over the older one */
    assert_int_equal(facts.objects, 60);
    assert_int_equal(store_backup(other, copy, &facts, &err), -1);
    assert_says(other);
    assert_int_equal(store_backup(dir, "/no/such/dir/copy", &facts, &err), -1);
    assert_says("/no/such/dir");
    assert_int_equal(store_check(copy, NULL, &facts, &err), 0); /* as it was */
}

static void put_back(void **state)
{
    struct store_facts facts;
    struct watch *w;

    assert_int_equal(open_at(dir), 0);
    put(0, 50);
    assert_int_equal(store_backup(dir, copy, NULL, &err), 0);
    put(50, 90); /* clients saw up to 90 */
    assert_int_equal(store_restore_file(copy, dir, &facts, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT); /* it is open */
    shut();
    if (store_restore_file(copy, dir, &facts, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(facts.rev, 1000000090);
    assert_int_equal(open_at(dir), 0);
    assert_int_equal(store_count(store, maps), 50);
    assert_int_equal(store_revision(store), 1000000090);
    assert_int_equal(watch_open(store, maps, STR_NULL, 70, &w, &err), -1); /* or it would wait for 71 and never list */
    assert_int_equal(err.code, ERR_GONE);
    put(60, 61);
    assert_int_equal(store_revision(store), 1000000091);
    shut();
    assert_int_equal(store_check(dir, NULL, &facts, &err), 0);
    (void)strncat(file, ".old", sizeof(file) - strlen(file) - 1);
    assert_int_equal(store_check(file, NULL, &facts, &err), 0);
    assert_int_equal(facts.objects, 90); /* what was there is kept */

    assert_int_equal(store_restore_file(copy, other, &facts, &err), 0); /* a new directory */
    assert_int_equal(open_at(other), 0);
    assert_int_equal(store_count(store, maps), 50);
}

static void half_put_back(void **state)
{
    char old[120];

    assert_int_equal(open_at(dir), 0);
    put(0, 5);
    assert_int_equal(store_backup(dir, copy, NULL, &err), 0);
    shut();
    (void)snprintf(old, sizeof(old), "%s.old", file);
    assert_int_equal(rename(file, old), 0);
    assert_int_equal(open_at(dir), -1); /* not an empty store */
    assert_says("was interrupted");
    assert_int_equal(store_restore_file(copy, dir, NULL, &err), 0);
    assert_int_equal(open_at(dir), 0);
    assert_int_equal(store_count(store, maps), 5);
}

/* ---- problems ---- */

static void add_problem(void *ctx, struct str what)
{
    buf_str(ctx, what);
    buf_char(ctx, '\n');
}

static const struct {
    const char *sql, *says;
} damages[] = {
    { "UPDATE log SET body = replace(body, 'to be found', 'to be lost!') WHERE rev = 3", "revision 3 is damaged" },
    { "UPDATE log SET name = 'n9' WHERE rev = 3", "revision 3 is damaged" },
    { "UPDATE log SET rev = 77 WHERE rev = 3", "revision 77 is damaged" },
    { "DELETE FROM meta", "records:" },
    { "DROP TABLE log", "records:" },
};

static void problems_are_found(void **state)
{
    assert_int_equal(open_at(dir), 0);
    put(0, 10);
    shut();
    for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
        autobuf text = { 0 };
        struct store_check_options opt = { .problem = add_problem, .ctx = &text };

        if (i == 0)
            assert_int_equal(store_backup(dir, copy, NULL, &err), 0);
        else
            assert_int_equal(store_restore_file(copy, dir, NULL, &err), 0);
        run_sql(file, damages[i].sql);
        assert_int_equal(store_check(dir, &opt, NULL, &err), -1);
        assert_int_equal(err.code, ERR_IO);
        assert_says("problem");
        assert_says("restore");
        if (!text.p || !strstr(text.p, damages[i].says))
            fail_msg("\"%s\" does not say \"%s\"", text.p, damages[i].says);
        assert_int_equal(store_backup(dir, copy, NULL, &err), -1); /* and the good copy stays */
        assert_int_equal(store_check(copy, NULL, NULL, &err), 0);
        assert_int_equal(store_restore_file(file, other, NULL, &err), -1);
    }
}

static void what_is_no_store(void **state)
{
    assert_int_equal(store_check(top, NULL, NULL, &err), -1);
    assert_says("open the store in");
    assert_int_equal(file_write(AT_FDCWD, copy, O_EXCL, 0600, STR("Dear Sir or Madam, I write to you because")), 0);
    assert_int_equal(store_check(copy, NULL, NULL, &err), -1);
    assert_says("not a store");
    assert_int_equal(file_write(AT_FDCWD, copy, O_TRUNC, 0600, STR_NULL), 0);
    assert_int_equal(store_restore_file(copy, dir, NULL, &err), -1);
    assert_says("empty");
}

int main(void)
{
#define BACKUP_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        BACKUP_TEST(a_copy_while_it_is_used), BACKUP_TEST(put_back),         BACKUP_TEST(half_put_back),
        BACKUP_TEST(problems_are_found),      BACKUP_TEST(what_is_no_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
