/* queue.c - tests of the state machine of queues, their parents, commands and counters */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fixture.h"

#include "base/rand.h"

/* ---- a queue by a few words ---- */

struct scene {
    const char *label;
    const char *name;         /* NULL: "q" */
    const char *state;        /* NULL: no status */
    const char *parent;       /* spec.parent; NULL: "root" */
    const char *parent_state; /* NULL: there is no such parent object */
    const char *annotation;   /* closed-by-parent; NULL: none */
    const char *actions[3];   /* commands */
    uint32_t pending, completed;
    const char *want;
};

static struct json *queue_make(struct arena *a, const char *name, const char *parent, const char *state,
                               const char *annotation)
{
    struct json *queue = object_new(a, "scheduling.volcano.sh/v1beta1", "Queue", STR_NULL, str_of(name)), *meta;

    meta = json_get(queue, "metadata");
    json_set(meta, "uid", json_fmt(a, "u-%s", name));
    json_set(meta, "resourceVersion", json_str(a, STR("7")));
    json_set(json_need_object(a, queue, "spec"), "parent", json_str(a, str_of(parent)));
    if (state)
        json_set(json_need_object(a, queue, "status"), "state", json_str(a, str_of(state)));
    if (annotation)
        object_set_annotation(a, queue, "volcano.sh/closed-by-parent", str_of(annotation));
    return queue;
}

static void set_counters(struct arena *a, struct json *queue, const struct queue_observed *o)
{
    struct json *status = json_need_object(a, queue, "status");

    json_set(status, "pending", json_int(a, o->pending));
    json_set(status, "running", json_int(a, o->running));
    json_set(status, "inqueue", json_int(a, o->inqueue));
    json_set(status, "unknown", json_int(a, o->unknown));
    json_set(status, "completed", json_int(a, o->completed));
}

static void check(const struct scene *s)
{
    autoarena a = { 0 };
    struct plan plan = { .arena = &a };
    const char *name = s->name ? s->name : "q", *parent = s->parent ? s->parent : "root";
    struct json *queue = queue_make(&a, name, parent, s->state, s->annotation);
    struct controller_command commands[3];
    struct queue_observed o = {
        .queue = queue, .pending = s->pending, .completed = s->completed, .commands = commands
    };

    for (; o.n_commands < ARRAY_LEN(s->actions) && s->actions[o.n_commands]; o.n_commands++)
        commands[o.n_commands] = (struct controller_command){ STR("default"), arena_fmt(&a, "c%zu", o.n_commands),
                                                              arena_fmt(&a, "uc%zu", o.n_commands),
                                                              str_of(s->actions[o.n_commands]) };
    if (s->parent_state)
        o.parent = queue_make(&a, parent, "root", s->parent_state, NULL);
    if (s->state)
        set_counters(&a, queue, &o);
    plan.now_ms = 1000000;
    queue_plan(&o, &plan);
    assert_plan(s->label, &plan, s->want);
}

#define STATUS_OF(name, state, pending, completed)                                                                     \
    "status Queue " name " {\"state\":\"" state "\",\"pending\":" #pending                                             \
    ",\"running\":0,\"inqueue\":0,\"unknown\":0,\"completed\":" #completed "}\n"
#define STATUS(state, pending) STATUS_OF("q", state, pending, 0)
#define DROP(c)                "delete Command default/c" #c " uid uc" #c " background\n"
#define ANNOTATE(v)                                                                                                    \
    "patch Queue q uid u-q {\"metadata\":{\"annotations\":{\"volcano.sh/closed-by-parent\":\"" v "\"}}}\n"
#define CLOSED_EVENT "event Normal CloseQueue: Close queue succeed\n"

static void test_state_machine(void **state)
{
    static const struct scene cases[] = {
        { .label = "new", .want = STATUS("Open", 0) },
        { .label = "empty", .state = "", .want = STATUS("Open", 0) },
        { .label = "open", .state = "Open", .want = "" },
        { .label = "open with groups", .state = "Open", .pending = 3, .want = "" },
        { .label = "closed", .state = "Closed", .want = "" },
        { .label = "closed with groups (Q5)", .state = "Closed", .pending = 1, .want = STATUS("Closing", 1) },
        { .label = "closing with groups", .state = "Closing", .pending = 1, .want = "" },
        { .label = "closing, none left", .state = "Closing", .want = STATUS("Closed", 0) },
        { .label = "closing, only finished left (Q3)",
          .state = "Closing",
          .completed = 2,
          .want = STATUS_OF("q", "Closed", 0, 2) },
        { .label = "unknown", .state = "Unknown", .want = "" },
        { .label = "no state at all", .state = "Ajar", .want = STATUS("Unknown", 0) },

        { .label = "open: new", .actions = { "OpenQueue" }, .want = STATUS("Open", 0) },
        { .label = "open: open", .state = "Open", .actions = { "OpenQueue" }, .want = DROP(0) },
        { .label = "open: closed", .state = "Closed", .actions = { "OpenQueue" }, .want = STATUS("Open", 0) },
        { .label = "open: closing", .state = "Closing", .actions = { "OpenQueue" }, .want = STATUS("Open", 0) },
        { .label = "open: unknown", .state = "Unknown", .actions = { "OpenQueue" }, .want = STATUS("Open", 0) },
        { .label = "open: no state", .state = "Ajar", .actions = { "OpenQueue" }, .want = STATUS("Open", 0) },

        { .label = "close: new", .actions = { "CloseQueue" }, .want = STATUS("Closed", 0) },
        { .label = "close: open", .state = "Open", .actions = { "CloseQueue" }, .want = STATUS("Closed", 0) },
        { .label = "close: open with groups",
          .state = "Open",
          .pending = 2,
          .actions = { "CloseQueue" },
          .want = STATUS("Closing", 2) },
        { .label = "close: closed", .state = "Closed", .actions = { "CloseQueue" }, .want = CLOSED_EVENT DROP(0) },
        { .label = "close: closing",
          .state = "Closing",
          .pending = 2,
          .actions = { "CloseQueue" },
          .want = CLOSED_EVENT DROP(0) },
        { .label = "close: unknown", .state = "Unknown", .actions = { "CloseQueue" }, .want = STATUS("Closed", 0) },

        { .label = "sync", .state = "Open", .actions = { "SyncQueue" }, .want = DROP(0) },
        { .label = "another action", .state = "Closed", .actions = { "AbortJob" }, .want = DROP(0) },
        { .label = "the last one counts",
          .state = "Open",
          .actions = { "OpenQueue", "CloseQueue" },
          .want = STATUS("Closed", 0) },
        { .label = "the last one stays until it is alone",
          .state = "Open",
          .actions = { "CloseQueue", "SyncQueue", "OpenQueue" },
          .want = DROP(0) DROP(1) },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check(&cases[i]);
}

static void test_parents(void **state)
{
    static const struct scene cases[] = {
        { .label = "no parent named",
          .state = "Open",
          .parent = "",
          .want = "patch Queue q uid u-q {\"spec\":{\"parent\":\"root\"}}\n" },
        { .label = "parent open", .state = "Open", .parent = "p", .parent_state = "Open", .want = "" },
        { .label = "parent missing (Q8)", .state = "Open", .parent = "p", .want = "" },
        { .label = "parent closed: note it first",
          .state = "Open",
          .parent = "p",
          .parent_state = "Closed",
          .want = ANNOTATE("true") },
        { .label = "parent closing: note it first",
          .state = "Open",
          .parent = "p",
          .parent_state = "Closing",
          .annotation = "false",
          .want = ANNOTATE("true") },
        { .label = "parent closed, noted",
          .state = "Open",
          .parent = "p",
          .parent_state = "Closed",
          .annotation = "true",
          .want = STATUS("Closed", 0) },
        { .label = "parent closed, noted, groups left",
          .state = "Open",
          .parent = "p",
          .parent_state = "Closed",
          .annotation = "true",
          .pending = 4,
          .want = STATUS("Closing", 4) },
        { .label = "both closed",
          .state = "Closed",
          .parent = "p",
          .parent_state = "Closed",
          .annotation = "true",
          .want = "" },
        { .label = "closed by hand, parent closed",
          .state = "Closed",
          .parent = "p",
          .parent_state = "Closed",
          .want = "" },
        { .label = "parent opened again",
          .state = "Closed",
          .parent = "p",
          .parent_state = "Open",
          .annotation = "true",
          .want = STATUS("Open", 0) },
        { .label = "opened with its parent: forget the note",
          .state = "Open",
          .parent = "p",
          .parent_state = "Open",
          .annotation = "true",
          .want = ANNOTATE("false") },
        { .label = "closed by hand, parent open",
          .state = "Closed",
          .parent = "p",
          .parent_state = "Open",
          .want = "" },
        { .label = "closed by parent, then the parent went away",
          .state = "Closed",
          .parent = "p",
          .annotation = "true",
          .want = STATUS("Open", 0) },
        { .label = "open by hand, parent closed",
          .state = "Closed",
          .parent = "p",
          .parent_state = "Closed",
          .annotation = "true",
          .actions = { "OpenQueue" },
          .want = "event Warning OpenQueue: OpenQueue refused: the parent queue is closed; open that one first\n" DROP(
              0) },
        { .label = "close by hand what the parent closed: by hand from now on",
          .state = "Closed",
          .parent = "p",
          .parent_state = "Closed",
          .annotation = "true",
          .actions = { "CloseQueue" },
          .want = ANNOTATE("false") },
        { .label = "close by hand under a closed parent",
          .state = "Open",
          .parent = "p",
          .parent_state = "Closed",
          .actions = { "CloseQueue" },
          .want = STATUS("Closed", 0) },
        { .label = "open by hand, parent open",
          .state = "Closed",
          .parent = "p",
          .parent_state = "Open",
          .actions = { "OpenQueue" },
          .want = STATUS("Open", 0) },
        { .label = "root counts as open", .state = "Open", .parent = "root", .parent_state = "Closed", .want = "" },
        { .label = "root, new", .name = "root", .parent = "", .want = STATUS_OF("root", "Open", 0, 0) },
        { .label = "root has no parent", .name = "root", .parent = "", .state = "Open", .want = "" },
        { .label = "root does not stay closed",
          .name = "root",
          .parent = "",
          .state = "Closed",
          .want = STATUS_OF("root", "Open", 0, 0) },
        { .label = "close root",
          .name = "root",
          .parent = "",
          .state = "Open",
          .actions = { "CloseQueue" },
          .want = "event Warning CloseQueue: CloseQueue refused: the root queue cannot be closed\n" DROP(0) },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check(&cases[i]);
}

static void test_counters(void **state)
{
    static const struct {
        const char *label, *status; /* of a queue with 1 pending, 2 running, 3 inqueue, 4 unknown, 5 completed */
        int64_t status_ms;
        const char *want;
    } cases[] = {
#define ALL "\"pending\":1,\"running\":2,\"inqueue\":3,\"unknown\":4,\"completed\":5"
#define NEW "statuspatch Queue q uid u-q {" ALL "}\n"
        { "the same", "{\"state\":\"Open\"," ALL "}", 0, "" },
        { "none", "{\"state\":\"Open\"}", 0, NEW },
        { "one differs", "{\"state\":\"Open\",\"pending\":1,\"running\":2,\"inqueue\":3,\"unknown\":0,\"completed\":5}",
          0, NEW },
        { "others' fields stay", "{\"state\":\"Open\",\"allocated\":{\"cpu\":\"1\"}}", 0, NEW },
        { "others' fields stay with a new state", "{\"state\":\"\",\"allocated\":{\"cpu\":\"1\"}}", 0,
          "status Queue q {\"state\":\"Open\",\"allocated\":{\"cpu\":\"1\"}," ALL "}\n" },
        { "written a moment ago", "{\"state\":\"Open\"}", 1000000 - 400, "wake 1000600\n" },
        { "written a second ago", "{\"state\":\"Open\"}", 1000000 - 1000, NEW },
        { "written in the future: the clock was set back", "{\"state\":\"Open\"}", 1000000 + 90000, NEW },
        { "a state does not wait", "{\"state\":\"\"}", 1000000 - 1, "status Queue q {\"state\":\"Open\"," ALL "}\n" },
        { "not numbers",
          "{\"state\":\"Open\",\"pending\":\"1\",\"running\":null,\"inqueue\":[],\"unknown\":4,\"completed\":5}", 0,
          NEW },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct plan plan = { .arena = &a };
        struct json *queue = queue_make(&a, "q", "root", NULL, NULL);
        struct queue_observed o = {
            .queue = queue,
            .pending = 1,
            .running = 2,
            .inqueue = 3,
            .unknown = 4,
            .completed = 5,
            .status_ms = cases[i].status_ms,
        };

        json_set(queue, "status", parse(&a, cases[i].status));
        plan.now_ms = 1000000;
        queue_plan(&o, &plan);
        assert_plan(cases[i].label, &plan, cases[i].want);
        if (plan.ops.n && plan.ops.v[0].kind == OP_UPDATE_STATUS) /* the precondition */
            assert_true(str_is(json_member_text(json_get(plan.ops.v[0].body, "metadata"), "resourceVersion"), "7"));
    }
}

/* With many PodGroups there is always something to count. */
static void test_counters_of_many_wait_longer(void **state)
{
    static const struct {
        uint32_t running;
        int64_t waits_ms;
    } cases[] = { { 1, 1000 }, { 20, 1000 }, { 100, 5000 }, { 200, 10000 }, { UINT32_MAX, 10000 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (int is_due = 0; is_due < 2; is_due++) {
            autoarena a = { 0 };
            struct plan plan = { .arena = &a };
            struct queue_observed o = { .queue = queue_make(&a, "q", "root", "Open", NULL),
                                        .running = cases[i].running,
                                        .status_ms = 1000000 - cases[i].waits_ms + !is_due };

            plan.now_ms = 1000000;
            queue_plan(&o, &plan);
            assert_int_equal(plan.ops.n, is_due);
            assert_int_equal(plan.wake_ms, is_due ? 0 : 1000001);
        }
}

static void test_unfinished_ones_hold_a_queue(void **state)
{
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        autoarena a = { 0 };
        struct plan plan = { .arena = &a };
        struct queue_observed o = { .queue = queue_make(&a, "q", "root", "Closing", NULL) };
        uint32_t *const counters[] = { &o.pending, &o.inqueue, &o.running, &o.unknown, &o.completed };
        struct str want = i < 4 ? STR("Closing") : STR("Closed"), got;

        *counters[i] = UINT32_MAX;
        plan.now_ms = 1;
        queue_plan(&o, &plan);
        assert_int_equal(plan.ops.n, 1);
        got = plan.ops.v[0].kind == OP_PATCH_STATUS ? STR("Closing") /* counters only: the state stays */
                                                    : json_member_text(json_get(plan.ops.v[0].body, "status"), "state");
        if (!str_eq(got, want))
            fail_msg("counter %zu: want %.*s", i, STR_ARG(want));
    }
}

static void test_deleting(void **state)
{
    struct controller_command command = { STR("n"), STR("c"), STR("uc"), STR("CloseQueue") };
    autoarena a = { 0 };
    struct plan plan = { .arena = &a };
    struct json *queue = queue_make(&a, "q", "", NULL, NULL);
    struct queue_observed o = { .queue = queue, .pending = 1, .commands = &command, .n_commands = 1 };
    (void)state;

    json_set(json_get(queue, "metadata"), "deletionTimestamp", json_str(&a, STR("2026-03-01T09:30:00Z")));
    plan.now_ms = 1;
    queue_plan(&o, &plan);
    assert_plan("deleting", &plan, "");
}

static void test_ensure(void **state)
{
#define QUEUE(name, spec)                                                                                              \
    "create Queue " name " {\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"Queue\",\"metadata\":{"        \
    "\"name\":\"" name "\"},\"spec\":{\"weight\":1,\"reclaimable\":" spec "}}\n"
#define ROOT    QUEUE("root", "false")
#define DEFAULT QUEUE("default", "true,\"parent\":\"root\"")
    static const struct {
        bool has_root, has_default;
        const char *want;
    } cases[] = { { false, false, ROOT DEFAULT }, { true, false, DEFAULT }, { false, true, ROOT }, { true, true, "" } };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct plan plan = { .arena = &a };

        queue_ensure(cases[i].has_root, cases[i].has_default, &plan);
        assert_plan("ensure", &plan, cases[i].want);
    }
}

/* ---- it settles: from any state, plans applied one write at a time (the others fail) come to an end ---- */

struct world {
    struct json *queue, *parent;
    struct controller_command commands[3];
    size_t n_commands;
    uint32_t pending;
};

static void apply(struct arena *a, struct world *w, const struct op *op)
{
    struct json *part = op->kind == OP_MERGE_PATCH ? json_first(op->body) : NULL;

    if (op->kind == OP_UPDATE_STATUS)
        json_set(w->queue, "status", json_copy(a, json_get(op->body, "status")));
    if (op->kind == OP_PATCH_STATUS)
        JSON_FOREACH(counter, json_get(op->body, "status"))
            json_set_key(json_get(w->queue, "status"), json_key(counter), json_copy(a, counter));
    if (part && str_is(json_key(part), "spec"))
        json_set(json_get(w->queue, "spec"), "parent", json_str(a, STR("root")));
    if (part && str_is(json_key(part), "metadata"))
        object_set_annotation(a, w->queue, "volcano.sh/closed-by-parent",
                              json_text(json_first(json_get(part, "annotations")), STR_NULL));
    for (size_t i = 0; op->kind == OP_DELETE && i < w->n_commands; i++)
        if (str_eq(w->commands[i].name, op->name)) {
            memmove(&w->commands[i], &w->commands[i + 1], (w->n_commands - i - 1) * sizeof(w->commands[0]));
            w->n_commands--;
        }
}

static void test_settles(void **state)
{
    static const char *const states[] = { NULL, "", "Open", "Closing", "Closed", "Unknown", "Ajar" };
    static const char *const actions[] = { "OpenQueue", "CloseQueue", "SyncQueue" };
    static const char *const notes[] = { NULL, "true", "false" };
    struct rand r;
    (void)state;

    rand_seed(&r, 3);
    for (int turn = 0; turn < 3000; turn++) {
        autoarena a = { 0 };
        struct world w = { .pending = (uint32_t)rand_below(&r, 2) };
        const char *last = NULL;
        bool is_shut, parent_shut;
        int steps = 0, quiet = 0;
        struct str end;

        w.queue = queue_make(&a, "q", rand_chance(&r, 1, 4) ? "" : "p", states[rand_below(&r, ARRAY_LEN(states))],
                             notes[rand_below(&r, ARRAY_LEN(notes))]);
        if (json_member_text(json_get(w.queue, "spec"), "parent").n && rand_chance(&r, 3, 4))
            w.parent = queue_make(&a, "p", "root", states[rand_below(&r, ARRAY_LEN(states))], NULL);
        for (size_t n = rand_below(&r, 4); w.n_commands < n; w.n_commands++) {
            last = actions[rand_below(&r, ARRAY_LEN(actions))];
            w.commands[w.n_commands] = (struct controller_command){ STR("n"), arena_fmt(&a, "c%zu", w.n_commands),
                                                                    STR("u"), str_of(last) };
        }
        while (quiet < 8) { /* ops are applied at random, so one may be left out several times */
            struct plan plan = { .arena = &a };
            struct queue_observed o = { .queue = w.queue,
                                        .pending = w.pending,
                                        .commands = w.commands,
                                        .n_commands = w.n_commands,
                                        .parent = w.parent };

            plan.now_ms = steps;
            queue_plan(&o, &plan);
            quiet = plan.ops.n ? 0 : quiet + 1;
            if (plan.ops.n && rand_chance(&r, 3, 4))
                apply(&a, &w, &plan.ops.v[rand_below(&r, plan.ops.n)]);
            if (++steps > 500)
                fail_msg("turn %d: no end", turn);
        }
        end = json_member_text(json_get(w.queue, "status"), "state");
        is_shut = str_is(end, "Closing") || str_is(end, "Closed");
        parent_shut = w.parent && (str_is(json_member_text(json_get(w.parent, "status"), "state"), "Closing") ||
                                   str_is(json_member_text(json_get(w.parent, "status"), "state"), "Closed"));
        if (w.n_commands)
            fail_msg("turn %d: a command was left", turn);
        if (parent_shut && !is_shut)
            fail_msg("turn %d: open under a closed parent", turn);
        if (is_shut && !str_is(end, w.pending ? "Closing" : "Closed"))
            fail_msg("turn %d: %.*s with %u groups", turn, STR_ARG(end), w.pending);
        if (last && str_is(str_of(last), "CloseQueue") && !is_shut)
            fail_msg("turn %d: not closed", turn);
        if (last && str_is(str_of(last), "OpenQueue") && !parent_shut && !str_is(end, "Open"))
            fail_msg("turn %d: not opened", turn);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_state_machine),
        cmocka_unit_test(test_parents),
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_counters_of_many_wait_longer),
        cmocka_unit_test(test_unfinished_ones_hold_a_queue),
        cmocka_unit_test(test_deleting),
        cmocka_unit_test(test_ensure),
        cmocka_unit_test(test_settles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
