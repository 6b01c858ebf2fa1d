/* admit.c - the whole admission of a job, with the rules that need plugins */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "fixture.h"

#define JOB(plugins)                                                                                                   \
    "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j}\nspec:\n  plugins: " plugins                \
    "\n  tasks:\n  - {name: master, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}\n"             \
    "  - {name: head, replicas: 1, template: {spec: {containers: [{name: head, image: i}]}}}\n"

static void test_forced_plugins(void **state)
{
    static const struct {
        const char *plugins, *want;
    } cases[] = {
        { JOB("{mpi: []}"), "{\"mpi\":[],\"svc\":[],\"ssh\":[]}" },
        { JOB("{tensorflow: []}"), "{\"tensorflow\":[],\"svc\":[]}" },
        { JOB("{pytorch: []}"), "{\"pytorch\":[],\"svc\":[]}" },
        { JOB("{ray: []}"), "{\"ray\":[],\"svc\":[]}" },
        { JOB("{env: []}"), "{\"env\":[]}" },
        { JOB("{mpi: [--port=23], svc: [--disable-network-policy]}"),
          "{\"mpi\":[\"--port=23\"],\"svc\":[\"--disable-network-policy\"],\"ssh\":[]}" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;

        fixture_init(&f, cases[i].plugins);
        assert_json(json_find(f.root, "spec", "plugins", NULL), cases[i].want);
        fixture_done(&f);
    }
}

static struct str refusal(struct arena *a, const char *yaml)
{
    struct admit_env env = { .mark = MARK_DEFAULT };
    struct problems ps = { .arena = a };
    struct yaml_docs docs = { 0 };

    assert_int_equal(yaml_parse(a, str_of(yaml), NULL, &docs, NULL), 0);
    (void)job_admit(a, docs.v[0], &(struct job_admit_env){ .env = &env }, NULL, &ps);
    return problems_join(a, &ps);
}

static void test_plugins_refused(void **state)
{
    static const struct {
        const char *job, *says;
    } cases[] = {
        { JOB("{big_plugin: []}"), "unable to find job plugin: big_plugin" },
        { JOB("{mpi: [--master=captain]}"), "The specified mpi master task was not found" },
        { JOB("{svc: [--publish-not-ready-addresses=perhaps]}"), "bad value \"perhaps\"" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct str got = refusal(&a, cases[i].job);

        if (!str_has(got, str_of(cases[i].says)))
            fail_msg("want \"%s\", got \"%.*s\"", cases[i].says, STR_ARG(got));
    }
}

/* Admitting what was admitted changes nothing, and an update that changes nothing is fine. */
static void test_again(void **state)
{
    struct admit_env env = { .mark = MARK_DEFAULT };
    struct problems ps = { 0 };
    struct json *again;
    struct fixture f;

    (void)state;
    fixture_init(&f, JOB("{mpi: []}"));
    ps.arena = &f.arena;
    again = json_copy(&f.arena, f.root);
    (void)job_admit(&f.arena, again, &(struct job_admit_env){ .old = f.root, .env = &env }, NULL, &ps);
    assert_int_equal(ps.n_errors, 0);
    assert_true(json_equal(again, f.root));
    fixture_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forced_plugins),
        cmocka_unit_test(test_plugins_refused),
        cmocka_unit_test(test_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
