/* amount.c - tests of resource amounts */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rand.h"
#include "base/util.h"
#include "json/test/quoted.h"
#include "sched/model/amount.h"

static struct arena arena;

static int done(void **state)
{
    arena_done(&arena);
    return 0;
}

static void test_names(void **state)
{
    struct dims d;

    dims_init(&d);
    assert_int_equal(dim_find(&d, STR("cpu")), DIM_CPU);
    assert_int_equal(dim_find(&d, STR("memory")), DIM_MEMORY);
    assert_int_equal(dim_of(&d, STR("pods")), DIM_PODS);
    assert_int_equal(dim_find(&d, STR("nvidia.com/gpu")), -1);
    assert_int_equal(dim_of(&d, STR("nvidia.com/gpu")), DIM_OTHERS);
    assert_int_equal(dim_of(&d, STR("nvidia.com/gpu")), DIM_OTHERS);
    for (int i = DIM_OTHERS + 1; i < AMOUNT_DIMS; i++)
        assert_int_equal(dim_of(&d, arena_fmt(&arena, "x.com/%d", i)), i);
    assert_int_equal(dim_of(&d, STR("x.com/one-more")), -1);
    assert_int_equal(dim_find(&d, STR("x.com/31")), 31);
    dims_done(&d);
}

static void test_resource_names(void **state)
{
    static const struct {
        const char *name;
        bool is;
    } cases[] = {
        { "cpu", true },
        { "memory", true },
        { "pods", true },
        { "ephemeral-storage", true },
        { "hugepages-2Mi", true },
        { "attachable-volumes-csi-x", true },
        { "nvidia.com/gpu", true },
        { "count/pods", false },
        { "requests.cpu", false },
        { "requests.nvidia.com/gpu", false },
        { "limits.memory", false },
        { "services", false },
        { "", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (is_resource_name(str_of(cases[i].name)) != cases[i].is)
            fail_msg("%s", cases[i].name);
}

static void test_read_and_print(void **state)
{
    static const struct {
        const char *in, *json;
    } cases[] = {
        { "{'cpu':'1500m','memory':'2Gi','nvidia.com/gpu':1}",
          "{\"cpu\":\"1500m\",\"memory\":\"2Gi\",\"nvidia.com/gpu\":\"1\"}" },
        { "{'pods':'3','zz.com/z':2,'aa.com/a':1,'cpu':2}",
          "{\"cpu\":\"2\",\"aa.com/a\":\"1\",\"zz.com/z\":\"2\",\"pods\":\"3\"}" },
        { "{}", "{}" },
        { "[]", "{}" },
        { "{'cpu':'a lot','memory':null,'pods':{}}", "{}" },
        { "{'cpu':'-3'}", "{}" },
        { "{'memory':'1500m'}", "{\"memory\":\"2\"}" },
        { "{'cpu':'100u'}", "{\"cpu\":\"1m\"}" },
        { "{'requests.cpu':'3','count/pods':'5','secrets':'4'}", "{}" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf json = { 0 };
        struct amounts v = { 0 };
        struct dims d;

        dims_init(&d);
        (void)dim_of(&d, STR("zz.com/z")); /* numbers follow the order of asking; what is shown does not */
        amounts_from_json(&d, tree(&arena, cases[i].in), &v, NULL);
        json_print(&json, amounts_to_json(&arena, &d, &v));
        if (!str_is(buf_view(&json), cases[i].json))
            fail_msg("%s: %s", cases[i].in, json.p);
        dims_done(&d);
    }
}

static void test_bounds(void **state)
{
    struct amounts v, w = { 0 };
    struct resources r = { 0 };
    struct quantity q;
    struct dims d;
    bool is_lost;

    dims_init(&d);
    amounts_fill(&v, 7);
    amounts_from_json(&d, tree(&arena, "{'memory':'1e30','cpu':'9E'}"), &v, &is_lost);
    assert_false(is_lost);
    assert_int_equal(v.v[DIM_MEMORY], AMOUNT_UNLIMITED);
    assert_int_equal(v.v[DIM_CPU], AMOUNT_UNLIMITED);
    assert_int_equal(v.v[DIM_PODS], 7); /* not named: as it was */
    assert_int_equal(v.v[AMOUNT_DIMS - 1], 7);

    assert_int_equal(quantity_parse(STR("4Ei"), &q, NULL), 0);
    resources_set(&arena, &r, STR("memory"), q);
    amounts_from_resources(&d, &r, &w, &is_lost);
    assert_int_equal(w.v[DIM_MEMORY], AMOUNT_POD_MAX);
    assert_int_equal(amount_of_node(&d, DIM_MEMORY, tree(&arena, "{'memory':'4Ei'}")), AMOUNT_POD_MAX - 1);
    assert_int_equal(amount_of_node(&d, DIM_MEMORY, tree(&arena, "{'cpu':'1'}")), 0);
    assert_int_equal(amount_of_node(&d, DIM_MEMORY, NULL), 0);
    assert_int_equal(amount_of_node(&d, DIM_CPU, tree(&arena, "{'cpu':1.5}")), 1500);
    dims_done(&d);
}

static void test_too_many_names(void **state)
{
    struct amounts v = { 0 };
    struct dims d;
    bool is_lost;

    dims_init(&d);
    while (d.n < AMOUNT_DIMS)
        (void)dim_of(&d, arena_fmt(&arena, "x.com/%d", d.n));
    amounts_from_json(&d, tree(&arena, "{'cpu':1,'y.com/y':0}"), &v, &is_lost);
    assert_false(is_lost); /* nothing of it is asked for */
    amounts_from_json(&d, tree(&arena, "{'cpu':1,'y.com/y':2}"), &v, &is_lost);
    assert_true(is_lost);
    assert_int_equal(v.v[DIM_CPU], 1000);
    amounts_from_json(&d, tree(&arena, "{'y.com/y':2}"), &v, NULL);
    dims_done(&d);
}

static void test_sums(void **state)
{
    struct amounts a = { { 5, 10, 3 } }, b = { { 2, 20, 3 } };

    amounts_add(&a, &b, 2);
    assert_int_equal(a.v[0], 7);
    assert_int_equal(a.v[1], 30);
    assert_int_equal(a.v[2], 3); /* beyond n */
    assert_true(amounts_sub(&a, &b, 3));
    assert_int_equal(a.v[0], 5);
    assert_int_equal(a.v[2], 0);
    amounts_add_times(&a, &b, 3, 3);
    assert_int_equal(a.v[1], 70);
    amounts_add_times(&a, &b, INT64_MAX, 3);
    assert_int_equal(a.v[1], AMOUNT_UNLIMITED);
    assert_false(amounts_sub(&a, &b, 3));
    amounts_add_times(&a, &b, INT64_MIN, 3);
    assert_true(a.v[1] < 0 && a.v[1] >= -AMOUNT_UNLIMITED);

    a = b;
    assert_true(amounts_equal(&a, &b, 3));
    a.v[2]++;
    assert_true(amounts_equal(&a, &b, 2));
    assert_false(amounts_equal(&a, &b, 3));
    assert_false(amounts_is_zero(&a, 3));
    assert_true(amounts_is_zero(&(struct amounts){ 0 }, AMOUNT_DIMS));
}

static void test_lacking(void **state)
{
    static const struct {
        int64_t have[3], ask[3];
        int lacking;
    } cases[] = {
        { { 5, 5, 5 }, { 5, 5, 5 }, -1 }, { { 5, 5, 5 }, { 5, 6, 6 }, 1 },  { { -5, 0, 0 }, { 0, 0, 0 }, -1 },
        { { -5, 0, 0 }, { 1, 0, 0 }, 0 }, { { 0, 0, 0 }, { -1, 0, 1 }, 2 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct amounts have = { 0 }, ask = { 0 };

        memcpy(have.v, cases[i].have, sizeof(cases[i].have));
        memcpy(ask.v, cases[i].ask, sizeof(cases[i].ask));
        if (amounts_lacking(&have, &ask, 3) != cases[i].lacking)
            fail_msg("case %zu", i);
    }
}

static void test_share(void **state)
{
    struct amounts part = { { 1, 0, 3 } }, whole = { { 4, 0, 4 } }, none = { 0 };

    assert_int_equal(amounts_share(&part, &whole, 3), (3 << 20) / 4);
    assert_int_equal(amounts_share(&part, &whole, 1), (1 << 20) / 4);
    assert_int_equal(amounts_share(&none, &none, 3), 0);
    assert_true(amounts_share(&part, &none, 3) > (INT64_C(1000) << 20));
    part.v[0] = AMOUNT_UNLIMITED;
    assert_true(amounts_share(&part, &whole, 3) > (INT64_C(1000) << 20));
}

/* What was printed reads as the same amount. */
static void test_round_trip(void **state)
{
    struct rand r;
    struct dims d;

    rand_seed(&r, 11);
    dims_init(&d);
    (void)dim_of(&d, STR("nvidia.com/gpu"));
    for (int i = 0; i < 20000; i++) {
        struct amounts v = { 0 }, back = { 0 };

        for (int k = 0; k < d.n; k++)
            v.v[k] = (int64_t)(rand_u64(&r) >> rand_between(&r, 3, 63)) % AMOUNT_UNLIMITED;
        amounts_from_json(&d, amounts_to_json(&arena, &d, &v), &back, NULL);
        if (!amounts_equal(&v, &back, AMOUNT_DIMS))
            fail_msg("turn %d", i);
        arena_reset(&arena);
    }
    dims_done(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),   cmocka_unit_test(test_resource_names), cmocka_unit_test(test_read_and_print),
        cmocka_unit_test(test_bounds),  cmocka_unit_test(test_too_many_names), cmocka_unit_test(test_sums),
        cmocka_unit_test(test_lacking), cmocka_unit_test(test_share),          cmocka_unit_test(test_round_trip),
    };

    return cmocka_run_group_tests_name("sched/amount", tests, NULL, done);
}
