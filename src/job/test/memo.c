/* memo.c - notes survive being written and read */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rand.h"
#include "job/memo.h"

static struct str word(struct arena *a, struct rand *r)
{
    static const char *const words[] = { "a", "w-x", "task-1", "j-a-0", "0", "x-pod-7" };

    return arena_str(a, str_of(words[rand_below(r, sizeof(words) / sizeof(words[0]))]));
}

static void fill(struct arena *a, struct rand *r, struct memo *m)
{
    size_t n = rand_below(r, 4);

    *m = (struct memo){ .scope = (enum restart_scope)rand_below(r, 4) };
    if (m->scope != RESTART_NONE)
        m->task = word(a, r);
    if (m->scope > RESTART_TASK)
        m->number = (uint32_t)rand_u64(r);
    for (size_t i = 0; i < n; i++)
        *vec_push(a, &m->timers) = (struct memo_timer){ arena_fmt(a, "%.*s%zu", STR_ARG(word(a, r)), i),
                                                        (enum job_event)rand_below(r, JOB_EVENT_MAX),
                                                        (enum job_action)rand_between(r, 1, JOB_ACTION_MAX - 1),
                                                        rand_between(r, 0, INT64_MAX), word(a, r) };
    for (size_t i = 0; i < n; i++)
        *vec_push(a, &m->commands) = (struct memo_command){ arena_fmt(a, "uid-%zu", i), (int64_t)i };
}

static void assert_same(const struct memo *x, const struct memo *y)
{
    assert_int_equal(x->scope, y->scope);
    assert_true(str_eq(x->task, y->task) && x->number == y->number);
    assert_int_equal(x->timers.n, y->timers.n);
    for (size_t i = 0; i < x->timers.n; i++) {
        const struct memo_timer *s = &x->timers.v[i], *t = memo_timer_find(y, s->about);

        assert_non_null(t);
        assert_true(s->event == t->event && s->action == t->action && s->deadline_ms == t->deadline_ms &&
                    str_eq(s->uid, t->uid));
    }
    assert_int_equal(x->commands.n, y->commands.n);
    for (size_t i = 0; i < x->commands.n; i++)
        assert_true(memo_has_command(y, x->commands.v[i].uid));
}

static void test_round_trip(void **state)
{
    struct rand r;

    (void)state;
    rand_seed(&r, 7);
    for (int i = 0; i < 2000; i++) {
        autoarena a = { 0 };
        struct json *notes = json_object(&a);
        struct memo m, back, none = { 0 };

        json_set(notes, "plugin-svc", json_str(&a, STR("svc")));
        fill(&a, &r, &m);
        memo_write(&a, &m, notes);
        memo_read(&a, notes, &back);
        assert_same(&m, &back);
        memo_write(&a, &none, notes); /* forgetting leaves what is not ours */
        assert_int_equal(json_count(notes), 1);
    }
}

static void test_nonsense_is_left_out(void **state)
{
    static const char *const notes[][2] = {
        { "pumice-restart", "pod a" },
        { "pumice-restart", "pod a x" },
        { "pumice-restart", "moon a 1" },
        { "pumice-timer-x", "" },
        { "pumice-timer-x", "PodFailed Dance 1 u" },
        { "pumice-timer-x", "Nope AbortJob 1 u" },
        { "pumice-timer-x", "PodFailed AbortJob soon u" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
        autoarena a = { 0 };
        struct json *map = json_object(&a);
        struct memo m;

        json_set(map, notes[i][0], json_str(&a, str_of(notes[i][1])));
        memo_read(&a, map, &m);
        if (m.scope != RESTART_NONE || m.timers.n)
            fail_msg("%s: \"%s\" was taken for a note", notes[i][0], notes[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_nonsense_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
