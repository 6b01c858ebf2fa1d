/* namespace.c - events go after an hour without being seen again */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "server/server_internal.h"
#include "yaml/yaml.h"

enum { MINUTE_MS = 60 * 1000 };

static void add_event(struct store *store, const char *name, const char *more)
{
    autoarena a = { 0 };
    struct yaml_docs docs = { 0 };
    struct str text = arena_fmt(&a,
                                "{apiVersion: v1, kind: Event, metadata: {name: %s, namespace: default}, "
                                "involvedObject: {kind: Pod, name: p}%s}",
                                name, more);
    struct err e;

    if (yaml_parse(&a, text, NULL, &docs, &e) < 0 || store_create(store, docs.v[0], NULL, &e) < 0)
        fail_msg("%s: %s", text.p, e.text);
}

static bool has_event(struct store *store, const char *name)
{
    return store_get(store, type_by_kind(STR("v1"), STR("Event")), STR("default"), str_of(name));
}

static void events_go_after_an_hour(void **state)
{
    static const struct {
        const char *name, *more;
        bool stays;
    } rows[] = {
        { "once", "", false },
        { "often", ", lastTimestamp: \"2023-11-14T23:00:00Z\"", true },
        { "new-kind", ", eventTime: \"2023-11-14T23:00:00.123456Z\"", true },
        { "series", ", series: {count: 9, lastObservedTime: \"2023-11-14T23:00:00.123456Z\"}", true },
        { "before", ", lastTimestamp: \"2022-01-01T00:00:00Z\"", false },
        { "to-come", ", lastTimestamp: \"9999-01-01T00:00:00Z\"", false },
        { "nonsense", ", lastTimestamp: yesterday", false },
    };
    struct clock_manual clock;
    struct store_options opt = { .seed = 1, .clock = &clock.clock };
    struct server s = { .opt = { .clock = &clock.clock } };
    struct store *store;

    (void)state;
    clock_manual_init(&clock, INT64_C(1700000000000)); /* 2023-11-14T22:13:20Z */
    s.opt.store = store = store_new(&opt);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        add_event(store, rows[i].name, rows[i].more);
    clock_manual_advance(&clock, 59 * MINUTE_MS);
    events_expire(&s);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_true(has_event(store, rows[i].name));
    clock_manual_advance(&clock, 2 * MINUTE_MS);
    events_expire(&s);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (has_event(store, rows[i].name) != rows[i].stays)
            fail_msg("%s %s", rows[i].name, rows[i].stays ? "is gone" : "is there");
    clock_manual_advance(&clock, 60 * MINUTE_MS);
    events_expire(&s);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_false(has_event(store, rows[i].name));
    store_free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_go_after_an_hour),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
