/* advice.c - tests of advice: what stops a job, and what would help, in small states; odd input does no harm */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rand.h"
#include "base/util.h"
#include "whatif/advice.h"
#include "job/admit.h"
#include "yaml/yaml.h"

#define T0_MS (1772366400 * INT64_C(1000)) /* 2026-03-01T12:00:00Z */

struct state {
    struct arena a;
    VEC(const struct json *) list;
};

static void state_done(struct state *s)
{
    arena_done(&s->a);
}

static void state_add(struct state *s, struct json *object)
{
    if (str_is(json_member_text(object, "kind"), "Job"))
        job_default(&s->a, object, &(struct admit_env){ 0 });
    *vec_push(&s->a, &s->list) = object;
}

static void state_read(struct state *s, const char *text)
{
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };

    if (yaml_parse(&s->a, arena_str(&s->a, str_of(text)), NULL, &docs, &e) < 0)
        fail_msg("the test's own YAML: %s\n%s", e.text, text);
    for (size_t i = 0; i < docs.n; i++)
        state_add(s, docs.v[i]);
}

static int ask(struct state *s, const char *name, struct advice *ret, struct err *e)
{
    struct advice_input in = {
        .objects = s->list.v, .n = s->list.n, .namespace = STR("default"), .name = str_of(name), .now_ms = T0_MS
    };

    return advice_make(&s->a, &in, ret, e);
}

/* ---- the parts of states ---- */

#define NODE(name, cpu)                                                                                                \
    "apiVersion: v1\nkind: Node\nmetadata: {name: " name "}\n"                                                         \
    "status: {allocatable: {cpu: '" cpu "', memory: 16Gi, pods: '110'}}\n---\n"
#define TEMPLATE(cpu)                                                                                                  \
    "template: {spec: {containers: [{name: c, image: i, resources: {requests: {cpu: '" cpu "', memory: 1Gi}}}]}}"
#define JOB(name, replicas, cpu, more)                                                                                 \
    "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: " name "}\n"                                   \
    "spec: {" more " tasks: [{name: w, replicas: " replicas ", " TEMPLATE(cpu) "}]}\n---\n"
#define QUEUE(name, spec, state)                                                                                       \
    "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: " name "}\nspec: {" spec "}\n"           \
    "status: {state: " state "}\n---\n"

static const struct situation {
    const char *name, *state;
    enum advice_state want;
    enum why_kind why;
    enum advice_kind kind; /* of the first suggestion; ADVICE_KIND_MAX: none */
    const char *target, *from, *to;
} situations[] = {
    { "fits", NODE("n", "4") JOB("j", "4", "1", ""), ADVICE_STARTS, WHY_NOT, ADVICE_KIND_MAX, "", "", "" },
    { "one too many", NODE("n", "4") JOB("j", "5", "1", ""), ADVICE_WAITS, WHY_NEVER_FITS, ADVISE_MIN_AVAILABLE, "j",
      "5", "4" },
    { "too large", NODE("n", "4") JOB("j", "1", "5", ""), ADVICE_WAITS, WHY_NEVER_FITS, ADVISE_REQUESTS, "w", "5",
      "4" },
    { "closed", NODE("n", "4") QUEUE("q", "weight: 1", "Closed") JOB("j", "1", "1", "queue: q,"), ADVICE_WAITS,
      WHY_QUEUE_CLOSED, ADVISE_QUEUE_OPEN, "q", "Closed", "Open" },
    { "missing", NODE("n", "4") JOB("j", "1", "1", "queue: q,"), ADVICE_WAITS, WHY_NO_QUEUE, ADVISE_QUEUE_CREATE, "q",
      "", "" },
    { "capped", NODE("n", "8") QUEUE("q", "weight: 1, capability: {cpu: 4}", "Open") JOB("j", "6", "1", "queue: q,"),
      ADVICE_WAITS, WHY_CAPABILITY, ADVISE_MIN_AVAILABLE, "j", "6", "4" },
    { "no node", JOB("j", "1", "1", ""), ADVICE_WAITS, WHY_NEVER_FITS, ADVICE_KIND_MAX, "", "", "" },
    { "refused", NODE("n", "4") JOB("j", "-1", "1", ""), ADVICE_BLOCKED, WHY_NOT, ADVICE_KIND_MAX, "", "", "" },
};

static void test_situations(void **ctx)
{
    (void)ctx;
    for (size_t i = 0; i < ARRAY_LEN(situations); i++) {
        const struct situation *t = &situations[i];
        struct state s = { 0 };
        const struct suggestion *first;
        struct advice got;
        struct err e;

        state_read(&s, t->state);
        if (ask(&s, "j", &got, &e) < 0)
            fail_msg("%s: %s", t->name, e.text);
        first = got.suggestions.n ? &got.suggestions.v[0] : NULL;
        if (got.state != t->want || got.why.kind != t->why)
            fail_msg("%s: %s, %s", t->name, advice_state_names[got.state], got.why_text.p);
        if ((first ? first->kind : ADVICE_KIND_MAX) != t->kind)
            fail_msg("%s: first is %s", t->name, first ? first->text.p : "nothing");
        if (first && (!str_is(first->target, t->target) || !str_is(first->from, t->from) || !str_is(first->to, t->to)))
            fail_msg("%s: %.*s", t->name, STR_ARG(first->text));
        state_done(&s);
    }
}

static void test_in_order_and_few(void **ctx)
{
    struct state s = { 0 };
    struct advice got;

    (void)ctx;
    state_read(&s, situations[5].state);
    assert_int_equal(ask(&s, "j", &got, NULL), 0);
    assert_in_range(got.suggestions.n, 2, 5);
    for (size_t i = 1; i < got.suggestions.n; i++) {
        const struct suggestion *a = &got.suggestions.v[i - 1], *b = &got.suggestions.v[i];

        assert_true(a->is_large < b->is_large || (a->is_large == b->is_large && a->kind < b->kind));
        assert_true(b->edits.n > 0 && b->text.n > 0);
    }
    state_done(&s);
}

static void test_numbers(void **ctx)
{
    struct state s = { 0 };
    struct advice got;

    (void)ctx;
    state_read(&s, NODE("a", "4") NODE("b", "3") JOB("j", "5", "2", ""));
    assert_int_equal(ask(&s, "j", &got, NULL), 0);
    assert_int_equal(got.min, 5);
    assert_int_equal(got.tasks.n, 1);
    assert_int_equal(got.tasks.v[0].missing, 5);
    assert_int_equal(quantity_milli(*resources_get(&got.needs, STR("cpu"))), 10000);
    assert_int_equal(quantity_milli(*resources_get(&got.free, STR("cpu"))), 7000);
    assert_int_equal(got.nodes.n, 2);
    assert_true(str_is(got.nodes.v[0].name, "a"));
    assert_int_equal(got.nodes.v[0].fits, 2);
    assert_int_equal(got.nodes.v[1].fits, 1);
    assert_int_equal(got.why.have, 3);
    state_done(&s);
}

static void test_not_found(void **ctx)
{
    struct state s = { 0 };
    struct advice got;
    struct err e;

    (void)ctx;
    state_read(&s, NODE("n", "4") JOB("j", "1", "1", ""));
    assert_int_equal(ask(&s, "k", &got, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    s.list.n = 0;
    assert_int_equal(ask(&s, "j", &got, &e), -1);
    state_done(&s);
}

static void test_nothing_is_changed(void **ctx)
{
    struct state s = { 0 };
    struct advice got;

    (void)ctx;
    for (size_t i = 0; i < ARRAY_LEN(situations); i++) {
        struct str before[8], after[8];
        size_t n;

        s.list.n = 0;
        state_read(&s, situations[i].state);
        n = MIN_OF(s.list.n, ARRAY_LEN(before));
        for (int turn = 0; turn < 2; turn++) {
            for (size_t k = 0; k < n; k++) {
                autobuf text = { 0 };

                json_print(&text, s.list.v[k]);
                (turn ? after : before)[k] = arena_str(&s.a, buf_view(&text));
            }
            assert_int_equal(ask(&s, "j", &got, NULL), 0);
        }
        for (size_t k = 0; k < n; k++)
            assert_true(str_eq(before[k], after[k]));
    }
    state_done(&s);
}

/* ---- odd input ---- */

static struct json *odd_value(struct arena *a, struct rand *r)
{
    switch (rand_below(r, 7)) {
    case 0:
        return json_null(a);
    case 1:
        return json_bool_new(a, rand_chance(r, 1, 2));
    case 2:
        return json_int(a, (int64_t)rand_u64(r));
    case 3:
        return json_str(a, STR("1e99Gi"));
    case 4:
        return json_array(a);
    case 5:
        return json_object(a);
    default:
        return json_str(a, STR(""));
    }
}

/* Some node of the tree becomes something else. */
static void spoil(struct arena *a, struct rand *r, struct json *at)
{
    struct json *child = json_first(at);

    if (!child)
        return;
    for (uint64_t skip = rand_below(r, json_count(at)); skip > 0; skip--)
        child = child->next;
    if (json_first(child) && rand_chance(r, 5, 6))
        spoil(a, r, child);
    else
        json_replace(at, child, odd_value(a, r));
}

static void test_odd_objects(void **ctx)
{
    struct rand r;

    (void)ctx;
    rand_seed(&r, 4);
    for (int i = 0; i < 150; i++) {
        struct state s = { 0 };
        struct advice got;

        state_read(&s, situations[(size_t)i % ARRAY_LEN(situations)].state);
        for (uint64_t n = 1 + rand_below(&r, 3); n > 0; n--)
            spoil(&s.a, &r, (struct json *)s.list.v[rand_below(&r, s.list.n)]);
        (void)ask(&s, "j", &got, NULL); /* whatever it says, it says it without falling */
        state_done(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_situations),
        cmocka_unit_test(test_in_order_and_few),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_not_found),
        cmocka_unit_test(test_nothing_is_changed),
        cmocka_unit_test(test_odd_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
