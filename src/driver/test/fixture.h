/* fixture.h - objects from YAML text, and a driver whose time passes, for the tests of this folder */
#ifndef DRIVER_TEST_FIXTURE_H
#define DRIVER_TEST_FIXTURE_H

#include "base/clock.h"
#include "driver/driver.h"
#include "store/object.h"
#include "yaml/yaml.h"

static inline struct json *tree_of(struct arena *a, const char *text)
{
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };

    if (yaml_parse(a, arena_str(a, str_of(text)), NULL, &docs, &e) < 0 || docs.n != 1)
        fail_msg("the test's own YAML: %s\n%s", e.text, text);
    return docs.v[0];
}

/* An object of a known kind at a revision; the caller's reference. */
static inline struct object *object_of(struct arena *a, uint64_t rev, const char *text)
{
    struct json *tree = tree_of(a, text);
    const struct resource_type *type = type_by_kind(json_member_text(tree, "apiVersion"),
                                                    json_member_text(tree, "kind"));

    if (!type)
        fail_msg("the test's own object has an unknown kind:\n%s", text);
    return object_make(type, tree, rev);
}

struct fixture_time { /* a driver and the clock it goes by */
    struct driver *driver;
    struct clock_manual *clock;
    const struct buf *log;            /* shown when it does not come to rest */
    void (*checks)(struct driver *d); /* called after each turn; may be NULL */
};

/* Turn until nothing happens at this time. Returns when the next turn is due. */
static inline int64_t fixture_settle(const struct fixture_time *t)
{
    int64_t due_ms;
    bool is_busy;
    int turns = 0;

    do {
        due_ms = driver_turn(t->driver, &is_busy);
        if (t->checks)
            t->checks(t->driver);
        if (++turns > 1000)
            fail_msg("the driver does not come to rest:\n%.*s", STR_ARG(buf_view(t->log)));
    } while (is_busy || due_ms <= clock_now_ms(&t->clock->clock));
    return due_ms;
}

/* The same while time passes: from one due time to the next, for at most 'ms'. */
static inline void fixture_run_for(const struct fixture_time *t, int64_t ms)
{
    int64_t end_ms = clock_now_ms(&t->clock->clock) + ms;

    for (;;) {
        int64_t due_ms = fixture_settle(t), now_ms = clock_now_ms(&t->clock->clock);

        if (due_ms > end_ms) {
            clock_manual_advance(t->clock, end_ms - now_ms);
            return;
        }
        clock_manual_advance(t->clock, due_ms - now_ms);
    }
}

#endif
