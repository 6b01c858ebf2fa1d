/* power.c - the power is cut at random points, thousands of times: what was acknowledged is there
 *
 * Writers make random changes, some in each turn, on a disk whose power goes in the middle of any write or sync. After
 * each cut the store is opened again and must be exactly what it was after the last flush that returned, or after the
 * one that did not: never anything between. Watchers live through all of it: they resume from the revision they saw
 * last and must end up with what is there, without a change missing or told twice.
 *
 * usage: power [SEED [CUTS]]
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "store/store.h"
#include "store/test/power_disk.h"

#include "base/log.h"
#include "base/map.h"
#include "base/rand.h"
#include "base/util.h"
#include "os/tree.h"

#include <fcntl.h>

enum { CUTS_DEFAULT = 1000, CUTS_PER_DISK = 30, WATCHERS = 3, NAMES = 12, TURN_MAX = 6 };

static uint64_t first_seed = 1;
static unsigned cuts = CUTS_DEFAULT;
static char dir[] = "/tmp/pumice-power-XXXXXX";
static const char *const kinds[] = { "ConfigMap", "Pod" };

struct seen { /* an object as a watcher knows it */
    uint64_t rev;
    char key[40];
};

struct watcher { /* a client: it lives longer than the server */
    struct watch *watch;
    const struct resource_type *type;
    struct str namespace; /* all are in "a" */
    uint64_t rev;
    struct map objects;
    unsigned relists;
};

struct world {
    struct rand rand;
    struct clock_manual clock;
    struct power_disk *disk;
    struct store *store;
    struct watcher watchers[WATCHERS];
    struct buf acked, tried; /* all objects: after the last flush, and after the writes that came then */
    uint64_t acked_rev, tried_rev;
    uint64_t seed;
    unsigned lost, kept; /* turns that were cut */
};

static const struct resource_type *row_at(size_t i)
{
    return type_by_kind(STR("v1"), str_of(kinds[i]));
}

static void add_text(void *ctx, const struct object *o)
{
    buf_str(ctx, o->text);
    buf_char(ctx, '\n');
}

static void dump(const struct store *s, struct buf *out)
{
    buf_reset(out);
    buf_str(out, STR(":"));
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        store_walk(s, row_at(i), STR_NULL, add_text, out);
}

/* ---- writers ---- */

static void write_one(struct world *w)
{
    const struct resource_type *type = row_at(rand_below(&w->rand, ARRAY_LEN(kinds)));
    struct store_delete_options opt = { .grace_s = 0 };
    autoarena a = { 0 };
    struct str name = arena_fmt(&a, "n%llu", (unsigned long long)rand_below(&w->rand, NAMES));
    size_t fill = rand_chance(&w->rand, 1, 10) ? 20000 : (size_t)rand_below(&w->rand, 300);
    struct json *body = json_object(&a), *meta, *data;
    char *text = arena_alloc(&a, fill);

    if (rand_chance(&w->rand, 1, 4)) {
        (void)store_delete(w->store, &(struct object_key){ type, STR("a"), name }, &opt, NULL, NULL); /* there or not */
        return;
    }
    memset(text, 'a' + (int)rand_below(&w->rand, 26), fill);
    json_add(body, STR("apiVersion"), json_str(&a, STR("v1")));
    json_add(body, STR("kind"), json_str(&a, str_of(type->kind)));
    meta = json_add(body, STR("metadata"), json_object(&a));
    json_add(meta, STR("namespace"), json_str(&a, STR("a")));
    json_add(meta, STR("name"), json_str(&a, name));
    data = json_add(body, STR("data"), json_object(&a));
    json_add(data, STR("x"), json_str(&a, (struct str){ text, fill }));
    if (store_create(w->store, body, NULL, NULL) < 0)
        (void)store_update(w->store, body, STORE_MAIN, NULL, NULL); /* may change nothing */
}

/* ---- watchers ---- */

static void forget_all(struct watcher *c)
{
    MAP_FOREACH(struct seen *, seen, &c->objects)
        free(seen);
    map_clear(&c->objects);
}

static void put_seen(struct watcher *c, const struct object *o)
{
    struct seen *seen = xcalloc(1, sizeof(*seen));

    seen->rev = o->rev;
    (void)snprintf(seen->key, sizeof(seen->key), "%.*s", STR_ARG(o->name));
    free(map_put(&c->objects, str_of(seen->key), seen));
}

static void list_one(void *ctx, const struct object *o)
{
    put_seen(ctx, o);
}

static void watcher_open(struct world *w, struct watcher *c)
{
    struct err e = { 0 };

    if (c->rev > 0 && watch_open(w->store, c->type, c->namespace, c->rev, &c->watch, &e) == 0)
        return;
    assert_true(c->rev == 0 || e.code == ERR_GONE);
    c->relists++;
    forget_all(c);
    store_walk(w->store, c->type, STR_NULL, list_one, c);
    c->rev = store_revision(w->store);
    assert_int_equal(watch_open(w->store, c->type, c->namespace, c->rev, &c->watch, &e), 0);
}

static void take_event(struct watcher *c, const struct watch_event *ev)
{
    bool is_known = map_get(&c->objects, ev->object->name) != NULL;

    assert_true(ev->rev > c->rev); /* nothing twice */
    c->rev = ev->rev;
    assert_int_equal(is_known, ev->kind != WATCH_ADDED); /* nothing is missing */
    if (ev->kind == WATCH_DELETED)
        free(map_remove(&c->objects, ev->object->name));
    else
        put_seen(c, ev->object);
}

static void read_events(struct world *w, struct watcher *c)
{
    struct watch_event ev;
    struct err e = { 0 };
    int got;

    if (!c->watch)
        return;
    if (rand_chance(&w->rand, 1, 2)) /* it may bring the watch as far as the store, without an event */
        watch_want_bookmark(c->watch);
    while ((got = watch_next(c->watch, &ev, &e)) > 0) {
        assert_true(ev.rev <= store_flushed(w->store)); /* nothing early */
        if (ev.kind == WATCH_BOOKMARK)
            c->rev = MAX_OF(c->rev, ev.rev);
        else
            take_event(c, &ev);
    }
    if (got < 0) {
        watch_close(c->watch);
        c->watch = NULL;
        c->rev = 0; /* it lists again when it may be answered */
    }
}

struct compare {
    struct watcher *watcher;
    size_t n;
};

static void compare_one(void *ctx, const struct object *o)
{
    struct compare *c = ctx;
    const struct seen *seen = map_get(&c->watcher->objects, o->name);

    assert_true(seen && seen->rev == o->rev);
    c->n++;
}

/* Nothing waits to be flushed. */
static void check_watcher(struct world *w, struct watcher *c)
{
    struct compare all = { .watcher = c };

    read_events(w, c);
    if (!c->watch)
        watcher_open(w, c);
    store_walk(w->store, c->type, STR_NULL, compare_one, &all);
    assert_int_equal(all.n, map_count(&c->objects));
}

/* ---- lives of the server ---- */

static int open_store(struct world *w, struct err *e)
{
    struct store_options opt = { .clock = &w->clock.clock,
                                 .seed = rand_u64(&w->rand),
                                 .history = rand_chance(&w->rand, 1, 2) ? 40 : 160,
                                 .vfs = power_disk_vfs(w->disk) };

    return store_open(dir, &opt, &w->store, e);
}

static void close_all(struct world *w)
{
    for (size_t i = 0; i < WATCHERS; i++) {
        watch_close(w->watchers[i].watch);
        w->watchers[i].watch = NULL;
    }
    store_free(w->store);
    w->store = NULL;
}

/* What is there after a cut: all that was acknowledged, and of the turn that was not, all or nothing. */
static void check_reopened(struct world *w)
{
    autobuf now = { 0 };
    uint64_t rev = store_revision(w->store);

    dump(w->store, &now);
    if (rev == w->acked_rev) {
        assert_string_equal(now.p, w->acked.p);
        w->lost += w->tried_rev != w->acked_rev;
        return;
    }
    assert_int_equal(rev, w->tried_rev);
    assert_string_equal(now.p, w->tried.p);
    w->kept++;
}

static void acknowledge(struct world *w)
{
    w->acked_rev = w->tried_rev = store_revision(w->store);
    dump(w->store, &w->acked);
}

/* Boot and open, with the power failing again now and then while the log is read. */
static void boot(struct world *w)
{
    struct err e = { 0 };

    for (unsigned tries = 0;; tries++) {
        power_disk_boot(w->disk);
        if (tries < 3 && rand_chance(&w->rand, 1, 4))
            power_disk_cut_after(w->disk, 1 + rand_below(&w->rand, 12));
        if (open_store(w, &e) == 0)
            break;
        if (!power_disk_is_cut(w->disk))
            fail_msg("seed %llu: %s", (unsigned long long)w->seed, e.text);
    }
    check_reopened(w);
    acknowledge(w);
    for (size_t i = 0; i < WATCHERS; i++) {
        watcher_open(w, &w->watchers[i]);
        check_watcher(w, &w->watchers[i]);
    }
}

/* False: the power went. */
static bool turn(struct world *w)
{
    struct err e = { 0 };
    uint64_t before = store_revision(w->store);

    for (uint64_t n = rand_below(&w->rand, TURN_MAX) + 1; n > 0; n--)
        write_one(w);
    assert_true(store_revision(w->store) >= before);
    w->tried_rev = store_revision(w->store);
    dump(w->store, &w->tried);
    for (size_t i = 0; i < WATCHERS; i++)
        if (rand_chance(&w->rand, 1, 2))
            read_events(w, &w->watchers[i]); /* must not see this turn: checked there */
    if (store_flush(w->store, &e) < 0) {
        autobuf now = { 0 };

        assert_true(power_disk_is_cut(w->disk));
        dump(w->store, &now);
        assert_string_equal(now.p, w->acked.p); /* undone here, whatever the disk has */
        return false;
    }
    acknowledge(w);
    if (rand_chance(&w->rand, 1, 40))
        store_compact(w->store, store_revision(w->store) - rand_below(&w->rand, 2));
    for (size_t i = 0; i < WATCHERS; i++)
        if (rand_chance(&w->rand, 1, 2))
            check_watcher(w, &w->watchers[i]);
    return true;
}

static void live(struct world *w)
{
    boot(w);
    power_disk_cut_after(w->disk, 1 + rand_below(&w->rand, rand_chance(&w->rand, 1, 2) ? 30 : 300));
    while (turn(w)) {
        if (rand_chance(&w->rand, 1, 100)) { /* a clean end once in a while */
            close_all(w);
            w->tried_rev = w->acked_rev;
            return;
        }
    }
    close_all(w);
}

static void world_run(uint64_t seed, unsigned lives, struct world *total)
{
    struct world w = { .seed = seed };

    rand_seed(&w.rand, seed);
    clock_manual_init(&w.clock, INT64_C(1767225600250));
    w.disk = power_disk_new(seed);
    buf_str(&w.acked, STR(":"));
    for (size_t i = 0; i < WATCHERS; i++) {
        w.watchers[i].type = row_at(i % ARRAY_LEN(kinds));
        w.watchers[i].namespace = i == 0 ? STR("a") : STR_NULL;
        map_init(&w.watchers[i].objects, 7);
    }
    for (unsigned i = 0; i < lives; i++)
        live(&w);
    for (size_t i = 0; i < WATCHERS; i++) {
        total->watchers[0].relists += w.watchers[i].relists;
        forget_all(&w.watchers[i]);
        map_done(&w.watchers[i].objects);
    }
    total->lost += w.lost;
    total->kept += w.kept;
    power_disk_free(w.disk);
    buf_done(&w.acked);
    buf_done(&w.tried);
}

static void power_is_cut(void **state)
{
    struct world total = { 0 };

    for (unsigned done = 0; done < cuts; done += CUTS_PER_DISK)
        world_run(first_seed + done, MIN_OF(CUTS_PER_DISK, cuts - done), &total);
    /* Both ways of a cut turn happened, and watchers resumed more often than they had to list again. */
    assert_true(total.lost > cuts / 20 && total.kept > 0);
    assert_true(total.watchers[0].relists < cuts * WATCHERS / 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(power_is_cut) };
    uint64_t n;
    int failed, fd;

    if (argc > 1 && str_to_u64(str_of(argv[1]), &first_seed) < 0)
        return 2;
    if (argc > 2) {
        if (str_to_u64(str_of(argv[2]), &n) < 0)
            return 2;
        cuts = (unsigned)n;
    }
    if (!mkdtemp(dir))
        return 1;
    (void)log_setup((struct log_config){ -1, LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, NULL }); /* it would say much */
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    if ((fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 || tree_empty(fd, NULL) < 0 || rmdir(dir) < 0)
        return 1;
    close(fd);
    return failed;
}
