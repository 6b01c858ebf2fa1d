/* store_fixture.h - a store to test: every implementation is a row, every test is run for each
 *
 * Included by the tests of the suite only, once each, after <cmocka.h>.
 */
#ifndef STORE_TEST_STORE_FIXTURE_H
#define STORE_TEST_STORE_FIXTURE_H

#include "store/store.h"

#include "api/meta.h"
#include "base/util.h"

#include "os/tree.h"

#include <fcntl.h>
#include <stdio.h>

struct backend {
    const char *name;
    struct store *(*open)(const struct store_options *opt);
};
static struct store *open_durable(const struct store_options *opt);
static const struct backend backends[] = { { "memory", store_new }, { "durable", open_durable } };

static const struct backend *backend = &backends[0]; /* of the running suite */
static struct clock_manual manual;
static struct store *store;
static struct arena arena;
static struct err err;

static const struct resource_type *pods, *jobs, *maps, *queues, *groups, *nodes;

#define START_MS INT64_C(1767225600250) /* 2026-01-01T00:00:00.250Z */

/* ---- durable ---- each store has a directory of its own below all_dirs, which goes with the test ---- */

static char all_dirs[64];
static unsigned n_dirs;

static struct store *open_durable(const struct store_options *opt)
{
    struct store *s = NULL;
    char dir[96];

    if (!all_dirs[0]) {
        (void)snprintf(all_dirs, sizeof(all_dirs), "%s/pumice-store-XXXXXX",
                       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        assert_non_null(mkdtemp(all_dirs));
    }
    (void)snprintf(dir, sizeof(dir), "%s/%u", all_dirs, n_dirs++);
    if (store_open(dir, opt, &s, &err) < 0)
        fail_msg("open %s: %s", dir, err.text);
    return s;
}

/* The suite is about what is told, not when: everything is durable when a watch is asked. */
#define watch_next(w, ret, e)  (assert_int_equal(store_flush(store, &err), 0), watch_next(w, ret, e))
#define watch_want_bookmark(w) (assert_int_equal(store_flush(store, &err), 0), watch_want_bookmark(w))

static struct store *open_store(uint64_t seed, size_t history)
{
    return backend->open(&(struct store_options){ .clock = &manual.clock, .seed = seed, .history = history });
}

static int set_up(void **state)
{
    (void)state;
    pods = type_by_kind(STR("v1"), STR("Pod"));
    jobs = type_by_kind(STR("batch.volcano.sh/v1alpha1"), STR("Job"));
    maps = type_by_kind(STR("v1"), STR("ConfigMap"));
    queues = type_by_kind(STR("scheduling.volcano.sh/v1beta1"), STR("Queue"));
    groups = type_by_kind(STR("scheduling.volcano.sh/v1beta1"), STR("PodGroup"));
    nodes = type_by_kind(STR("v1"), STR("Node"));
    clock_manual_init(&manual, START_MS);
    store = open_store(1, 0);
    err = (struct err){ 0 };
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    store_free(store);
    arena_done(&arena);
    if (all_dirs[0]) {
        autoclose int fd = open(all_dirs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_int_equal(tree_empty(fd, &err), 0);
        assert_int_equal(rmdir(all_dirs), 0);
    }
    all_dirs[0] = '\0';
    return 0;
}

/* Run 'tests' for every implementation. */
static int run_suite(const struct CMUnitTest *tests, size_t n)
{
    int failed = 0;

    for (size_t i = 0; i < ARRAY_LEN(backends); i++) {
        backend = &backends[i];
        failed += _cmocka_run_group_tests(backend->name, tests, n, NULL, NULL);
    }
    return failed;
}
#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

/* JSON with ' for ", printf-like. */
__attribute__((format(printf, 1, 2))) static struct json *js(const char *fmt, ...)
{
    struct json *tree = NULL;
    struct str text;
    va_list ap;

    va_start(ap, fmt);
    text = arena_vfmt(&arena, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == '\'')
            ((char *)text.p)[i] = '"';
    if (json_parse(&arena, text, NULL, &tree, &err) < 0)
        fail_msg("%s: %s", text.p, err.text);
    return tree;
}

/* apiVersion, kind, metadata{namespace a, name} and what 'more' adds as a merge: "'spec':{…}". */
__attribute__((unused)) static struct json *body_of(const struct resource_type *type, const char *name,
                                                    const char *more)
{
    struct str api_version = type_api_version(&arena, type);

    return js("{'apiVersion':'%s','kind':'%s','metadata':{'namespace':'a','name':'%s'}%s%s}", api_version.p, type->kind,
              name, more[0] ? "," : "", more);
}

__attribute__((unused)) static const struct object *stored(const struct resource_type *type, const char *name)
{
    return store_get(store, type, STR("a"), str_of(name));
}

/* Text of a member of metadata, "" if there is none. */
__attribute__((unused)) static const char *meta_text(const struct object *o, const char *key)
{
    return arena_cstr(&arena, json_member_text(json_get(o->root, "metadata"), key));
}

__attribute__((unused)) static int64_t meta_int(const struct object *o, const char *key)
{
    return json_i64(json_find(o->root, "metadata", key, NULL), -99);
}

__attribute__((unused)) static const char *printed(const struct json *j)
{
    autobuf out = { 0 };

    if (!j)
        return "";
    json_print(&out, j);
    return arena_cstr(&arena, buf_view(&out));
}

__attribute__((unused)) static void must_create(const struct json *body)
{
    if (store_create(store, body, NULL, &err) < 0)
        fail_msg("create: %s", err.text);
}

/* A fresh tree of a stored object, to change and send back. */
__attribute__((unused)) static struct json *copy_of(const struct resource_type *type, const char *name)
{
    assert_non_null(stored(type, name));
    return js("%s", printed(stored(type, name)->root));
}

__attribute__((unused)) static void must_update(const struct json *body, enum store_part part)
{
    if (store_update(store, body, part, NULL, &err) < 0)
        fail_msg("update: %s", err.text);
}

__attribute__((unused)) static int patch(const struct resource_type *type, const char *name, const char *text)
{
    return store_apply(
        store,
        &(struct op){
            .kind = OP_MERGE_PATCH, .type = type, .namespace = STR("a"), .name = str_of(name), .body = js("%s", text) },
        NULL, &err);
}

__attribute__((unused)) static int del(const struct resource_type *type, const char *name, int64_t grace_s,
                                       enum propagation propagation)
{
    struct store_delete_options opt = { .grace_s = grace_s, .propagation = propagation };

    return store_delete(store, &(struct object_key){ type, STR("a"), str_of(name) }, &opt, NULL, &err);
}

/* It failed with that code, said why, and changed nothing since 'rev'. */
#define assert_refused(call, want_code)                                                                                \
    do {                                                                                                               \
        uint64_t rev_before_ = store_revision(store);                                                                  \
                                                                                                                       \
        err = (struct err){ 0 };                                                                                       \
        assert_int_equal((call), -1);                                                                                  \
        if (err.code != (want_code))                                                                                   \
            fail_msg("%s: %s, want %s", err_code_name(err.code), err.text, err_code_name(want_code));                  \
        assert_true(err.text[0] != '\0');                                                                              \
        assert_int_equal(store_revision(store), rev_before_);                                                          \
    } while (0)

#endif
