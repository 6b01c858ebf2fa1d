/* embedded_durable.c - a cluster on a durable store: nothing is told before it is flushed, nor what was undone
 *
 * The disk is a file that may not grow: RLIMIT_FSIZE makes writes fail as a broken disk does.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "cluster/cluster.h"
#include "store/store.h"

#include "base/log.h"
#include "base/util.h"
#include "os/tree.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

static char dir[] = "/tmp/pumice-embedded-XXXXXX";
static struct store *store;
static struct cluster *cluster;
static const struct resource_type *maps;

static int open_all(void)
{
    struct store_options opt = { .clock = &clock_real, .seed = 1 };

    if (store_open(dir, &opt, &store, NULL) < 0)
        return -1;
    cluster = cluster_embedded_new(store, &clock_real);
    cluster_want(cluster, maps);
    return 0;
}

static void close_all(void)
{
    cluster_free(cluster);
    store_free(store);
}

static int set_up(void **state)
{
    maps = type_by_kind(STR("v1"), STR("ConfigMap"));
    return mkdtemp(dir) ? open_all() : -1;
}

static int tear_down(void **state)
{
    autoclose int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    close_all();
    return tree_empty(fd, NULL) < 0 ? -1 : rmdir(dir);
}

static uint64_t create(const char *name)
{
    autoarena a = { 0 };
    struct json *body = json_object(&a), *meta;
    struct op op = { .kind = OP_CREATE, .type = maps, .body = body };

    json_add(body, STR("apiVersion"), json_str(&a, STR("v1")));
    json_add(body, STR("kind"), json_str(&a, STR("ConfigMap")));
    meta = json_add(body, STR("metadata"), json_object(&a));
    json_add(meta, STR("namespace"), json_str(&a, STR("a")));
    json_add(meta, STR("name"), json_str(&a, str_of(name)));
    return cluster_write(cluster, &op);
}

static void expect(enum cluster_event_kind kind, const char *name)
{
    struct cluster_event ev;

    assert_true(cluster_next(cluster, &ev));
    assert_int_equal(ev.kind, kind);
    if (!name)
        return;
    assert_non_null(ev.object);
    assert_true(str_is(ev.object->name, name));
}

static void expect_nothing(void)
{
    struct cluster_event ev;

    assert_false(cluster_next(cluster, &ev));
}

static void told_when_flushed(void **state)
{
    struct cluster_event ev;
    struct rlimit small = { 0, RLIM_INFINITY }, all;

    expect_nothing();
    create("x");
    expect_nothing();
    assert_int_equal(store_flush(store, NULL), 0);
    expect(CLUSTER_RESULT, "x");
    expect(CLUSTER_PUT, "x");
    expect_nothing();

    create("y");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(store_flush(store, NULL), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    assert_true(cluster_next(cluster, &ev)); /* an answer, not a promise */
    assert_int_equal(ev.kind, CLUSTER_RESULT);
    assert_null(ev.object);
    assert_int_equal(ev.err.code, ERR_IO);
    expect_nothing();
    assert_int_equal(store_count(store, maps), 1001);
}

static void count_warm(void *ctx, const struct object *o)
{
    *(size_t *)ctx += o->root != NULL;
}

/* Whoever begins with 100,000 objects does not need memory for all of their trees. */
static void told_one_after_another(void **state)
{
    struct cluster_event ev;
    size_t n_told = 0, n_warm = 0;
    char name[16];

    for (int i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof(name), "m%d", i);
        (void)create(name);
    }
    assert_int_equal(store_flush(store, NULL), 0);
    close_all();
    assert_int_equal(open_all(), 0);
    while (cluster_next(cluster, &ev))
        if (ev.kind == CLUSTER_PUT) {
            assert_non_null(ev.object->root);
            n_told++;
        }
    store_walk(store, maps, STR_NULL, count_warm, &n_warm);
    assert_int_equal(n_told, 1000);
    assert_in_range(n_warm, 1, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(told_one_after_another), cmocka_unit_test(told_when_flushed) };

    (void)signal(SIGXFSZ, SIG_IGN);
    (void)log_setup((struct log_config){ -1, LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, NULL });
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
