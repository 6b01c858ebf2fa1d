/* place.h - a directory for secrets that goes with the test, and a store with a clock */
#ifndef AUTH_TEST_PLACE_H
#define AUTH_TEST_PLACE_H

#include "pki/secret_file.h"
#include "base/clock.h"
#include "base/util.h"
#include "os/tree.h"
#include "store/store.h"

#include <fcntl.h>

#define DAY_MS (24LL * 3600 * 1000)

static const int64_t now_ms = 1800000000000;

static struct place_of_test {
    char path[64];
    int dir;
    struct clock_manual clock;
    struct store *store;
    struct arena arena;
} here;

static int place_begin(void **state)
{
    (void)state;
    (void)snprintf(here.path, sizeof(here.path), "/tmp/auth-test.XXXXXX");
    clock_manual_init(&here.clock, now_ms);
    here.store = store_new(&(struct store_options){ .clock = &here.clock.clock, .seed = 1 });
    return mkdtemp(here.path) && secret_dir_open(here.path, &here.dir, NULL) == 0 ? 0 : -1;
}

static int place_end(void **state)
{
    autoclose int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)state;
    close(here.dir);
    store_free(here.store);
    arena_done(&here.arena);
    return tree_remove(tmp, here.path + strlen("/tmp/"), NULL);
}

/* JSON with ' for ". */
static __attribute__((unused)) struct json *parse(const char *text)
{
    char *copy = (char *)arena_str(&here.arena, str_of(text)).p;
    struct json *j;
    struct err e;

    for (char *p = copy; *p; p++)
        if (*p == '\'')
            *p = '"';
    if (json_parse(&here.arena, str_of(copy), NULL, &j, &e) < 0)
        fail_msg("%s: %s", text, e.text);
    return j;
}

static __attribute__((unused)) const struct object *put(const char *text)
{
    struct object *o;
    struct err e;

    if (store_create(here.store, parse(text), &o, &e) < 0)
        fail_msg("%s: %s", text, e.text);
    object_unref(o); /* the store has it */
    return o;
}

static __attribute__((unused)) const char *print(const struct json *j)
{
    autobuf b = { 0 };

    json_print(&b, j);
    return arena_cstr(&here.arena, buf_view(&b));
}

#endif
