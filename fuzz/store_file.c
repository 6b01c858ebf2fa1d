/* store_file.c - fuzz: any file is opened as a store, or refused; what was opened can be read, watched, changed, closed
 *
 * Two bytes say where the input goes: over a part of a good store, its WAL included, or in place of the file. With
 * checksums in each record most damage ends there; SQLite's own reading of pages is what the rest is about.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/util.h"
#include "os/io.h"
#include "store/backup.h"
#include "store/store.h"

#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILE_MAX = 1 << 20 };

static char dir[64], file[80], wal[100];
static struct buf good, good_wal;

static void remove_all(void)
{
    static const char *const parts[] = { "", "-wal", "-shm", "-journal", ".lock" };
    char path[120];

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", file, parts[i]);
        (void)unlink(path); /* there or not */
    }
}

static void leave(void)
{
    remove_all();
    (void)rmdir(dir); /* it is empty */
}

static int open_store(struct store **ret)
{
    struct store_options opt = { .clock = &clock_real, .seed = 1, .history = 20 };

    return store_open(dir, &opt, ret, NULL);
}

static void create(struct store *s, const char *name)
{
    autoarena a = { 0 };
    struct json *body = json_object(&a), *meta;

    json_add(body, STR("apiVersion"), json_str(&a, STR("v1")));
    json_add(body, STR("kind"), json_str(&a, STR("ConfigMap")));
    meta = json_add(body, STR("metadata"), json_object(&a));
    json_add(meta, STR("namespace"), json_str(&a, STR("a")));
    json_add(meta, STR("name"), json_str(&a, str_of(name)));
    (void)store_create(s, body, NULL, NULL); /* it may be there, or the store read-only */
}

/* A store with some pages, and a WAL as a crash leaves it. */
static void make_good(void)
{
    struct store *s;
    char name[16];

    assert(open_store(&s) == 0);
    for (int i = 0; i < 60; i++) {
        (void)snprintf(name, sizeof(name), "n%d", i);
        create(s, name);
        if (i == 40) {
            store_free(s);
            assert(open_store(&s) == 0);
        }
        assert(store_flush(s, NULL) == 0);
    }
    assert(file_read(AT_FDCWD, file, 0, FILE_MAX, &good) == 0 && file_read(AT_FDCWD, wal, 0, FILE_MAX, &good_wal) == 0);
    store_free(s);
}

static void begin(void)
{
    if (!dir[0]) {
        const char *where = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

        (void)log_setup((struct log_config){ -1, LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, NULL });
        (void)snprintf(dir, sizeof(dir), "%s/pumice-fuzz-store-%d", where, (int)getpid());
        (void)snprintf(file, sizeof(file), "%s/store.db", dir);
        (void)snprintf(wal, sizeof(wal), "%s-wal", file);
        (void)mkdir(dir, 0700);
        (void)atexit(leave);
        make_good();
    }
    remove_all();
}

static void write_file(const char *path, struct str bytes)
{
    assert(file_write(AT_FDCWD, path, O_EXCL, 0600, bytes) == 0);
}

static void see(void *ctx, const struct object *o)
{
    *(size_t *)ctx += o->root && o->name.n;
}

/* Everything a server does. */
static void use(struct store *s)
{
    struct watch_event ev;
    size_t seen = 0;

    for (size_t i = 0; i < n_resource_types; i++) {
        struct watch *w;

        store_list(s, &resource_types[i], STR_NULL, see, &seen);
        if (watch_open(s, &resource_types[i], STR("a"), 1, &w, NULL) < 0 &&
            watch_open(s, &resource_types[i], STR("a"), 0, &w, NULL) < 0)
            continue;
        while (watch_next(w, &ev, NULL) > 0)
            assert(ev.object->root);
        watch_close(w);
    }
    create(s, "new");
    (void)store_flush(s, NULL); /* works or not */
    store_free(s);
}

/* Over the good bytes, from a place of the input's choice. */
static void lay_over(struct buf *over, struct str input, uint8_t place)
{
    size_t at = over->n / 256 * place;

    if (input.n)
        memcpy(over->p + at, input.p, MIN_OF(input.n, over->n - at));
}

static void put_files(uint8_t how, uint8_t place, struct str input)
{
    autobuf db = { 0 }, log = { 0 };

    buf_str(&db, buf_view(&good));
    buf_str(&log, buf_view(&good_wal));
    if (how % 3 == 0) {
        write_file(file, input);
        return;
    }
    lay_over(how % 3 == 1 ? &db : &log, input, place);
    write_file(file, buf_view(&db));
    write_file(wal, buf_view(&log));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = { (const char *)data + 2, size - 2 };
    struct store *s;

    if (size < 2)
        return 0;
    begin();
    put_files(data[0], data[1], input);
    (void)store_check(dir, NULL, NULL, NULL); /* finds something or not; it may repair nothing */
    if (open_store(&s) == 0)
        use(s);
    return 0;
}
