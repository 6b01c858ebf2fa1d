/* recorder.c - tests of the recorder: what is sent of many Events */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/meta.h"
#include "api/recorder.h"
#include "base/util.h"

static struct arena arena;
static struct recorder recorder;

static int begin(void **state)
{
    (void)state;
    recorder_init(&recorder, 7);
    return 0;
}

static int end(void **state)
{
    (void)state;
    recorder_done(&recorder);
    arena_done(&arena);
    return 0;
}

static struct json *object_at(const char *kind, const char *name, const char *version)
{
    struct json *o = object_new(&arena, "v1", kind, STR("ns"), str_of(name));

    bool is_group = strcmp(kind, "PodGroup") == 0; /* created again with each version */

    json_set(json_get(o, "metadata"), "uid",
             is_group ? json_fmt(&arena, "uid-%s-%s", name, version) : json_fmt(&arena, "uid-%s", name));
    json_set(json_get(o, "metadata"), "resourceVersion", json_str(&arena, str_of(version)));
    return o;
}

struct told { /* one Event, and what comes of it */
    int64_t ms;
    enum event_count count;
    const char *version, *message;
    int sent; /* 0: nothing; 1: a create; more: a patch with this count */
};

static struct op take(const struct told *t, const char *name, const struct json *whole)
{
    struct plan p = { .arena = &arena, .now_ms = t->ms };
    struct op op = *plan_event_normal(&p, object_at("Pod", name, t->version), "R", "%s", t->message);

    op.count = t->count;
    op.whole = whole;
    if (!recorder_take(&recorder, &arena, &op, t->ms))
        op.kind = OP_KIND_MAX;
    return op;
}

static int sent_of(const struct op *op)
{
    return op->kind == OP_CREATE ? 1 : op->kind == OP_KIND_MAX ? 0 : (int)json_i64(json_get(op->body, "count"), -1);
}

static void check(const struct told *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct op op = take(&rows[i], "p", NULL);

        if (sent_of(&op) != rows[i].sent)
            fail_msg("row %zu at %lld ms: want %d, got %d", i, (long long)rows[i].ms, rows[i].sent, sent_of(&op));
    }
}

static void repeats_are_counted(void **state)
{
    static const struct told rows[] = {
        { 0, COUNT_STATE, "1", "waits", 1 },           { 5000, COUNT_STATE, "2", "waits", 0 },
        { 599999, COUNT_STATE, "3", "waits", 0 },      { 600000, COUNT_STATE, "3", "waits", 2 },
        { 600000, COUNT_DECISION, "4", "restart", 1 }, { 610000, COUNT_DECISION, "4", "restart", 0 },
        { 610000, COUNT_DECISION, "5", "restart", 2 }, { 630000, COUNT_DECISION, "6", "restart", 3 },
        { 630000, COUNT_EACH, "7", "done", 1 },        { 640000, COUNT_EACH, "7", "done", 2 },
        { 640000, COUNT_EACH, "7", "done", 0 },        { 649999, COUNT_EACH, "7", "done", 0 },
        { 650000, COUNT_EACH, "7", "done", 5 },
    };

    (void)state;
    check(rows, ARRAY_LEN(rows));
    assert_int_equal(recorder_due(&recorder), INT64_MAX);
}

/* What happens many times at once is one create and few patches, and the last one has the whole count. */
static void a_burst_is_few_writes(void **state)
{
    struct told t = { 0, COUNT_EACH, "1", "done", 0 };
    int n = 0, last = 0;
    struct op op;

    (void)state;
    for (; t.ms < 60000; t.ms += 100) {
        op = take(&t, "p", NULL);
        n += op.kind != OP_KIND_MAX;
        for (; recorder_next(&recorder, &arena, t.ms, &op); n++)
            last = sent_of(&op);
    }
    while (recorder_due(&recorder) < INT64_MAX)
        for (; recorder_next(&recorder, &arena, recorder_due(&recorder), &op); n++)
            last = sent_of(&op);
    assert_int_equal(last, 600);
    assert_in_range(n, 4, 6);
    assert_int_equal(op.kind, OP_MERGE_PATCH);
    assert_true(str_is(json_member_text(op.body, "lastTimestamp"), "1970-01-01T00:00:59Z"));
    assert_true(str_is(json_member_text(json_get(op.body, "involvedObject"), "uid"), "uid-p"));
}

static struct op take_about(const struct json *object, int64_t ms)
{
    struct plan p = { .arena = &arena, .now_ms = ms };
    struct op op = *plan_event_normal(&p, object, "Started", "started");

    op.count = COUNT_EACH;
    if (!recorder_take(&recorder, &arena, &op, ms))
        op.kind = OP_KIND_MAX;
    return op;
}

/* A PodGroup that is created again is the same one. A pod is another, and has Events of its own. */
static void created_again(void **state)
{
    struct json *pod = object_at("Pod", "p", "1");
    struct op op = take_about(object_at("PodGroup", "g", "1"), 0);

    (void)state;
    assert_int_equal(sent_of(&op), 1);
    op = take_about(object_at("PodGroup", "g", "2"), 9000);
    assert_int_equal(sent_of(&op), 2);
    assert_true(str_is(json_member_text(json_get(op.body, "involvedObject"), "uid"), "uid-g-2"));
    op = take_about(pod, 9000);
    assert_int_equal(sent_of(&op), 1);
    json_set(json_get(pod, "metadata"), "uid", json_str(&arena, STR("another")));
    op = take_about(pod, 9001);
    assert_int_equal(sent_of(&op), 1);
}

/* A gang of 100 pods tells of nine of them, and of the rest once. */
static void a_gang_is_combined(void **state)
{
    struct json *gang = plan_event_ref(&arena, object_at("PodGroup", "g", "1"));
    struct told t = { 1000, COUNT_EACH, "1", "", 0 };
    int n = 0, n_gang = 0;
    struct op op;

    (void)state;
    for (int i = 0; i < 100; i++) {
        struct str name = arena_fmt(&arena, "p%d", i);

        t.message = arena_cstr(&arena, arena_fmt(&arena, "assigned p%d", i));
        op = take(&t, arena_cstr(&arena, name), gang);
        n += op.kind == OP_CREATE;
        if (op.kind != OP_CREATE || !str_is(json_member_text(json_get(op.body, "involvedObject"), "name"), "g"))
            continue;
        n_gang++;
        assert_true(str_starts(op.name, STR("g.")));
        assert_true(str_eq(op.name, object_name(op.body)));
        assert_true(str_is(json_member_text(op.body, "message"), "(combined from similar events): assigned p9"));
    }
    assert_int_equal(n, 10);
    assert_int_equal(n_gang, 1);
    assert_true(recorder_next(&recorder, &arena, recorder_due(&recorder), &op));
    assert_int_equal(sent_of(&op), 91);
    assert_true(str_is(json_member_text(op.body, "message"), "(combined from similar events): assigned p99"));
}

/* Ten minutes later the next ones are told one by one again. */
static void a_series_ends(void **state)
{
    static const char *const messages[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j" };
    struct told t = { 0, COUNT_EACH, "1", "", 0 };
    struct op op;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
        t.message = messages[i];
        op = take(&t, "p", NULL);
        assert_int_equal(str_starts(json_member_text(op.body, "message"), STR("(combined")), i == 9);
    }
    t = (struct told){ 600001, COUNT_EACH, "1", "k", 0 };
    op = take(&t, "p", NULL);
    assert_int_equal(op.kind, OP_CREATE);
    assert_true(str_is(json_member_text(op.body, "message"), "k"));
}

static void what_is_gone_is_created_again(void **state)
{
    struct told t = { 0, COUNT_EACH, "1", "done", 0 };
    struct op op = take(&t, "p", NULL);

    (void)state;
    recorder_forget(&recorder, STR("ns"), op.name);
    t.ms = 3600000;
    op = take(&t, "p", NULL);
    assert_int_equal(op.kind, OP_CREATE);
}

static void old_ones_are_forgotten(void **state)
{
    struct told t = { 0, COUNT_EACH, "1", "done", 0 };

    (void)state;
    for (int i = 0; i < RECORDER_MAX + 10; i++) {
        (void)take(&t, arena_cstr(&arena, arena_fmt(&arena, "p%d", i)), NULL);
        arena_reset(&arena);
    }
    assert_int_equal(recorder.by_id.map.n, RECORDER_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(repeats_are_counted),    TEST(a_burst_is_few_writes), TEST(created_again),
        TEST(a_gang_is_combined),     TEST(a_series_ends),         TEST(what_is_gone_is_created_again),
        TEST(old_ones_are_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
