/* hosts.c - host lists and ranks */
#include "jobtest.h"

#include <time.h>

static void test_lists(void **state)
{
    autojobtest t = { 0 };
    const struct task_hosts *h;

    (void)state;
    jobtest_job(&t, "{svc: []}",
                "[{name: w, replicas: 3}, {name: own, replicas: 4, template: {spec: {hostname: h, subdomain: s}}},"
                " {name: none, replicas: 0}, {name: sub, replicas: 1, template: {spec: {subdomain: s2}}}]");
    h = plugin_set_hosts(t.set, 0);
    assert_int_equal(h->n, 3);
    assert_true(str_is(h->comma, "job-w-0.job,job-w-1.job,job-w-2.job"));
    assert_true(str_is(h->lines, "job-w-0.job\njob-w-1.job\njob-w-2.job"));
    assert_true(str_is(h->host[2], "job-w-2.job"));
    assert_true(str_is(h->short_name[2], "job-w-2"));
    assert_false(h->has_own_hostname);
    h = plugin_set_hosts(t.set, 1);
    assert_int_equal(h->n, 1);
    assert_true(str_is(h->comma, "h.s") && str_is(h->lines, "h.s") && str_is(h->short_name[0], "h"));
    assert_true(h->has_own_hostname);
    h = plugin_set_hosts(t.set, 2);
    assert_true(h->n == 0 && str_empty(h->comma) && str_empty(h->lines) && str_is(h->subdomain, "job"));
    assert_true(str_is(plugin_set_hosts(t.set, 3)->host[0], "job-sub-0.s2"));
    assert_int_equal(plugin_set_hosts(t.set, 99)->n, 0);
}

/* The one list agrees with the one name. */
static void test_agrees_with_domain(void **state)
{
    autojobtest t = { 0 };

    (void)state;
    jobtest_job(&t, "{svc: []}",
                "[{name: w, replicas: 120}, {name: v-x, replicas: 2, template: {spec: {subdomain: q}}}]");
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < plugin_set_hosts(t.set, k)->n; i++)
            assert_true(str_eq(plugin_set_hosts(t.set, k)->host[i],
                               job_pod_domain(&t.a, &t.job, &t.job.spec.tasks.v[k], (uint32_t)i)));
}

static void test_subdomains(void **state)
{
    autojobtest t = { 0 };
    struct str_list list;

    (void)state;
    jobtest_job(&t, "{svc: []}",
                "[{name: a, replicas: 1, template: {spec: {subdomain: z}}}, {name: b, replicas: 1},"
                " {name: c, replicas: 1, template: {spec: {subdomain: z}}},"
                " {name: d, replicas: 1, template: {spec: {subdomain: a}}}]");
    list = plugin_set_subdomains(t.set, &t.a);
    assert_int_equal(list.n, 3);
    assert_true(str_is(list.v[0], "z") && str_is(list.v[1], "job") && str_is(list.v[2], "a"));
}

static void test_odd_jobs(void **state)
{
    static const char *const tasks[] = {
        "[]",
        "null",
        "[{}]",
        "[{name: w, replicas: -5}]",
        "[{name: w, replicas: 1, template: 7}]",
        "[{name: w, replicas: 1, template: {spec: []}}]",
        "[{name: w, replicas: 1, template: {spec: {hostname: 3}}}]",
        "[{name: w, replicas: 1, template: {spec: {containers: 3, volumes: {}, initContainers: [1, null]}}}]",
        "[{name: w, replicas: 1, template: {spec: {containers: [{env: 3, volumeMounts: x, ports: {}}]}}}]",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tasks); i++) {
        autojobtest t = { 0 };
        struct err e;

        jobtest_job(&t, "{env: ['--extended'], svc: [], ssh: ['--ssh-key-type=ed25519', '--ssh-copy']}", tasks[i]);
        if (t.ps.n_errors)
            continue;
        assert_int_equal(plugin_set_objects(t.set, &t.objects, &e), 0);
        for (size_t k = 0; k < t.job.spec.tasks.n; k++)
            jobtest_pod(&t, k, 0);
    }
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void test_too_many(void **state)
{
    autojobtest t = { 0 };

    (void)state;
    jobtest_job(&t, "{svc: []}", "[{name: w, replicas: 2000000000}, {name: v, replicas: 2000000000}]");
    assert_contains(jobtest_problems(&t), "E spec.tasks: 4000000000 pods in one job are too many");
    assert_true(t.a.used < 1000 * 1000);
}

static void test_large(void **state)
{
    autojobtest t = { 0 };
    double start = seconds();

    (void)state;
    jobtest_job(&t, "{env: []}", "[{name: w, replicas: 1000000}]");
    assert_int_equal(t.ps.n_errors, 0);
    assert_true(str_is(plugin_set_hosts(t.set, 0)->host[999999], "job-w-999999.job"));
    assert_true(t.a.used < 200u * 1000 * 1000);
    assert_true(seconds() - start < 20); /* well under a second without sanitizers */
}

static void test_rank_order(void **state)
{
    static const struct {
        const char *tasks, *want; /* "pos:first …=size", or the error */
    } cases[] = {
        { "", "0:0 1:2 2:2 =5" },
        { "c,a", "2:0 0:3 =5" },
        { " b , c ", "1:0 2:0 =3" },
        { "a,x", "task \"x\" does not exist" },
        { "a,a", "task \"a\" is listed twice" },
        { ",", "task \"\" does not exist" },
    };
    autojobtest t = { 0 };

    (void)state;
    jobtest_job(&t, "{env: []}", "[{name: a, replicas: 2}, {name: b, replicas: 0}, {name: c, replicas: 3}]");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rank_order order;
        autobuf got = { 0 };
        struct err e;

        if (rank_order_init(&t.a, &t.job, str_of(cases[i].tasks), &order, &e) < 0) {
            assert_string_equal(e.text, cases[i].want);
            continue;
        }
        for (size_t k = 0; k < order.n; k++)
            buf_fmt(&got, "%zu:%u ", order.task_pos[k], order.first_rank[k]);
        buf_fmt(&got, "=%u", order.size);
        assert_string_equal(got.p, cases[i].want);
        assert_int_equal(rank_order_of(&order, 2, 1), i == 0 ? 3 : 1);
    }
}

static void test_rank_of_unlisted(void **state)
{
    autojobtest t = { 0 };
    struct rank_order order;

    (void)state;
    jobtest_job(&t, "{env: []}", "[{name: a, replicas: 2}, {name: b, replicas: 1}]");
    assert_int_equal(rank_order_init(&t.a, &t.job, STR("b"), &order, NULL), 0);
    assert_int_equal(rank_order_of(&order, 0, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),      cmocka_unit_test(test_agrees_with_domain), cmocka_unit_test(test_subdomains),
        cmocka_unit_test(test_odd_jobs),   cmocka_unit_test(test_too_many),           cmocka_unit_test(test_large),
        cmocka_unit_test(test_rank_order), cmocka_unit_test(test_rank_of_unlisted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
