/* pack.c - gangs of two roles whose pods differ in size: what fits in any way is not impossible */
#include "harness.h"

#include "base/rand.h"
#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

enum { NODES = 3, ROLES = 2 };

struct shape {
    int nodes[NODES]; /* CPUs; 0: there is none */
    int n[ROLES], cpus[ROLES];
};

/* In plain numbers: some of each role on the first node, and so on. */
static bool can_fit(const struct shape *s, int node, int a, int b)
{
    if (a + b == 0)
        return true;
    if (node == NODES)
        return false;
    for (int i = 0; i <= a; i++)
        for (int k = 0; k <= b; k++)
            if (i * s->cpus[0] + k * s->cpus[1] <= s->nodes[node] && can_fit(s, node + 1, a - i, b - k))
                return true;
    return false;
}

static void try_shape(const struct shape *s, const char *name)
{
    static const char *const roles[ROLES] = { "a", "b" };
    struct h *h = h_new(NULL);
    bool can = can_fit(s, 0, s->n[0], s->n[1]);
    struct str reason;

    for (int i = 0; i < NODES; i++) {
        char node[16], amounts[16];

        snprintf(node, sizeof(node), "n%d", i);
        snprintf(amounts, sizeof(amounts), "cpu: %d", s->nodes[i]);
        if (s->nodes[i])
            h_node(h, node, amounts);
    }
    h_group(h, "g", .min = s->n[0] + s->n[1]);
    for (int r = 0; r < ROLES; r++) {
        char amounts[16];

        snprintf(amounts, sizeof(amounts), "cpu: %d", s->cpus[r]);
        h_pods(h, "g", roles[r], s->n[r], amounts);
    }
    h_settle(h);
    reason = json_member_text(h_condition(h, "PodGroup", "g", "Unschedulable"), "reason");
    if ((h_bound(h, "g") > 0) != can || str_is(reason, "NeverFits") == can)
        fail_msg("%s: nodes %d %d %d, %d of %d and %d of %d: %d bound, reason '%.*s'", name, s->nodes[0], s->nodes[1],
                 s->nodes[2], s->n[0], s->cpus[0], s->n[1], s->cpus[1], h_bound(h, "g"), STR_ARG(reason));
    h_free(h);
}

static void small_before_large(void **state)
{
    (void)state;
    try_shape(&(struct shape){ { 4, 4 }, { 2, 2 }, { 1, 3 } }, "small before large");
    try_shape(&(struct shape){ { 7, 8 }, { 3, 3 }, { 3, 2 } }, "no order by size does it");
    try_shape(&(struct shape){ { 7, 7 }, { 3, 3 }, { 3, 2 } }, "too much in sum");
    try_shape(&(struct shape){ { 5, 5, 5 }, { 3, 3 }, { 3, 2 } }, "pairs");
    try_shape(&(struct shape){ { 5, 5, 4 }, { 3, 3 }, { 3, 2 } }, "one CPU short");
}

static void random_shapes(void **state)
{
    struct rand r;

    (void)state;
    rand_seed(&r, 1);
    for (int i = 0; i < 400; i++) {
        struct shape s = { { 0 } };

        for (int k = 0; k < NODES; k++)
            s.nodes[k] = (int)rand_between(&r, k ? 0 : 3, 9);
        for (int k = 0; k < ROLES; k++) {
            s.n[k] = (int)rand_between(&r, 1, 4);
            s.cpus[k] = (int)rand_between(&r, 1, 5);
        }
        try_shape(&s, "random");
    }
}

/* It stands on room that others leave, in the only way there is. */
static void a_tight_gang_waits_and_runs(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 7");
    h_node(h, "n2", "cpu: 8");
    h_group(h, "busy", .min = 1);
    h_pods(h, "busy", "w", 1, "cpu: 1");
    h_settle(h);
    h_run(h);
    h_group(h, "g", .min = 6);
    h_pods(h, "g", "a", 3, "cpu: 3");
    h_pods(h, "g", "b", 3, "cpu: 2");
    h_work(h, h->config.reserve_after_ms + 5000, 5000);
    assert_int_equal(h_bound(h, "g"), 0);
    h_group(h, "late", .min = 1);
    h_pods(h, "late", "w", 1, "cpu: 1");
    h_work(h, 2000, 1000);
    assert_int_equal(h_bound(h, "late"), 0); /* all of it is kept */
    h_phase_all(h, "busy", "Succeeded");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 6);
    h_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_before_large),
        cmocka_unit_test(random_shapes),
        cmocka_unit_test(a_tight_gang_waits_and_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
