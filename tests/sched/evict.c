/* evict.c - making room: items 22, 26-33, 45 of the checklist; D7, D12, D36, D40-D47 */
#include "harness.h"

#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

/* A cluster of one node, full with a low-priority group that has run for two minutes. */
static struct h *full(int cpus, int min, const char *pod_more)
{
    struct h *h = h_new(NULL);
    char amounts[32];

    snprintf(amounts, sizeof(amounts), "cpu: %d", cpus);
    h_priority(h, "high", 100, NULL);
    h_priority(h, "low", 10, NULL);
    h_node(h, "n1", amounts);
    h_group(h, "low", .min = min, .priority = "low");
    h_pods_more(h, "low", "w", cpus, "cpu: 1", pod_more);
    h_work(h, 2000, 1000);
    assert_int_equal(h_bound(h, "low"), cpus);
    h_pass(h, 120000);
    h_settle(h);
    return h;
}

static void high(struct h *h, int n)
{
    h_group(h, "high", .min = n, .priority = "high");
    h_pods(h, "high", "w", n, "cpu: 1");
    h_work(h, 10000, 1000);
}

static void item_22_reclaim_to_deserved(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "qa", "weight: 1, deserved: {cpu: 4}");
    h_queue(h, "qb", "weight: 1, deserved: {cpu: 4}");
    h_singles(h, "b", 0, 8, "qb", "cpu: 1");
    h_work(h, 120000, 10000);
    assert_int_equal(h_bound_all(h, "b", 8), 8); /* borrowed */
    h_singles(h, "a", 0, 8, "qa", "cpu: 1");
    h_work(h, 10000, 1000);
    assert_int_equal(h_bound_all(h, "a", 8), 4);
    assert_int_equal(h_bound_all(h, "b", 8), 4);
    h_free(h);
}

/* Two gangs of a queue that is below its share come together: only what keeps the queue within it is reclaimed. */
static void item_22_two_gangs_at_once(void **state)
{
    static const char *const nodes[] = { "n1", "n2", "n3", "n4" }, *const dev[] = { "d0", "d1", "d2" },
                             *const names[] = { "p0", "p1", "p2" };

    for (int together = 0; together < 2; together++) {
        struct h *h = h_new(NULL);
        const char *prod[3];

        (void)state;
        for (int i = 0; i < 4; i++)
            h_node(h, nodes[i], "cpu: 32");
        h_queue(h, "prod", "weight: 4");
        h_queue(h, "dev", "weight: 2");
        for (int i = 0; i < 3; i++) {
            const char *g = h_job(h, dev[i], .min = 4, .replicas = 4, .pod = "cpu: 8", .queue = "dev");

            h_job_pods(h, g, 4);
        }
        prod[0] = h_job(h, names[0], .min = 4, .replicas = 4, .pod = "cpu: 8", .queue = "prod");
        h_job_pods(h, prod[0], 4);
        h_work(h, 120000, 10000);
        assert_int_equal(h_bound(h, NULL), 16);
        for (int i = 1; i < 3; i++) {
            prod[i] = h_job(h, names[i], .min = 4, .replicas = 4, .pod = "cpu: 8", .queue = "prod");
            if (!together)
                h_work(h, 5000, 1000);
        }
        h_work(h, 20000, 1000);
        for (int i = 1; i < 3; i++)
            h_job_pods(h, prod[i], 4);
        h_work(h, 20000, 1000);
        /* 128 cpu, 4 to 2: the share of prod is 85, so one more gang of 32 and not two. */
        assert_int_equal(h_bound(h, prod[0]) + h_bound(h, prod[1]) + h_bound(h, prod[2]), 8);
        assert_int_equal(h->all.n[DECIDE_EVICT], 4);
        h_free(h);
    }
}

static void item_22_never_below_guarantee(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "qa", "weight: 100");
    h_queue(h, "qb", "weight: 1, deserved: {cpu: 3}, guarantee: {resource: {cpu: 3}}");
    h_singles(h, "b", 0, 8, "qb", "cpu: 1");
    h_work(h, 120000, 10000);
    h_singles(h, "a", 0, 12, "qa", "cpu: 1");
    h_work(h, 10000, 1000);
    assert_int_equal(h_bound_all(h, "a", 12), 4); /* its share is a little less than 5 */
    assert_int_equal(h_bound_all(h, "b", 8), 4);
    h_free(h);
}

static void item_26_not_reclaimable(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 4");
    h_queue(h, "qa", "weight: 1");
    h_queue(h, "qb", "weight: 1, reclaimable: false");
    h_singles(h, "b", 0, 4, "qb", "cpu: 1");
    h_work(h, 120000, 10000);
    h_singles(h, "a", 0, 2, "qa", "cpu: 1");
    h_work(h, 10000, 1000);
    assert_int_equal(h_bound_all(h, "a", 2), 0);
    assert_int_equal(h->all.n[DECIDE_EVICT], 0);
    h_free(h);
}

static void item_27_no_reclaim_without_benefit(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 4");
    h_queue(h, "qa", "weight: 1");
    h_queue(h, "qb", "weight: 1");
    h_singles(h, "b", 0, 4, "qb", "cpu: 1");
    h_work(h, 120000, 10000);
    h_group(h, "a", .min = 1, .queue = "qa");
    h_pods_more(h, "a", "w", 1, "cpu: 1", "spec: {nodeSelector: {no: where}}");
    h_group(h, "gang", .min = 3, .queue = "qa"); /* more than the share */
    h_pods(h, "gang", "w", 3, "cpu: 1");
    h_work(h, 10000, 1000);
    assert_int_equal(h->all.n[DECIDE_EVICT], 0);
    h_free(h);
}

static void item_28_surplus_first(void **state)
{
    struct h *h = full(4, 2, NULL);

    (void)state;
    high(h, 2);
    assert_int_equal(h_bound(h, "high"), 2);
    assert_int_equal(h_bound(h, "low"), 2);
    h_free(h);
}

static void item_28_D7_whole_gang(void **state)
{
    struct h *h = full(4, 2, NULL);

    (void)state;
    high(h, 3);
    assert_int_equal(h_bound(h, "high"), 3);
    assert_int_equal(h_bound(h, "low"), 0);
    assert_int_equal(h->all.n[DECIDE_EVICT], 4); /* one alone is no gang */
    h_free(h);
}

static void item_28_equal_priority(void **state)
{
    struct h *h = full(4, 1, NULL);

    (void)state;
    h_group(h, "same", .min = 2, .priority = "low");
    h_pods(h, "same", "w", 2, "cpu: 1");
    h_work(h, 10000, 1000);
    assert_int_equal(h_bound(h, "same"), 0);
    assert_int_equal(h->all.n[DECIDE_EVICT], 0);
    h_free(h);
}

/* Two jobs may lose: the fewest pods go, and no gang is broken where a single one is enough. */
static void D7_fewest_gangs(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_priority(h, "high", 100, NULL);
    h_node(h, "n1", "cpu: 3");
    h_node(h, "n2", "cpu: 3");
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "x" : "y";

        h_group(h, name, .min = 3);
        h_pods(h, name, "w", 3, "cpu: 1");
    }
    h_work(h, 120000, 10000);
    high(h, 1);
    assert_int_equal(h_bound(h, "high"), 1);
    assert_int_equal(h->all.n[DECIDE_EVICT], 3);
    assert_true((h_bound(h, "x") == 3 && h_bound(h, "y") == 0) || (h_bound(h, "y") == 3 && h_bound(h, "x") == 0));
    h_free(h);
}

static void item_29_never_preempts(void **state)
{
    struct h *h = full(2, 1, NULL);

    (void)state;
    h_group(h, "high", .min = 1, .priority = "high");
    h_pods_more(h, "high", "w", 1, "cpu: 1", "spec: {preemptionPolicy: Never}");
    h_work(h, 10000, 1000);
    assert_int_equal(h_bound(h, "high"), 0);
    assert_int_equal(h->all.n[DECIDE_EVICT], 0);
    h_priority(h, "polite", 200, "preemptionPolicy: Never");
    h_group(h, "polite", .min = 1, .priority = "polite");
    h_pods(h, "polite", "w", 1, "cpu: 1");
    h_work(h, 10000, 1000);
    assert_int_equal(h->all.n[DECIDE_EVICT], 0);
    h_free(h);
}

/* The words for pod and group (DisruptionTarget, Evict) are the driver's: src/driver/test/schedule.c. */
static void check_preempt(struct h *h, const struct decision *d)
{
    if (d->kind != DECIDE_EVICT)
        return;
    assert_text(d->reason, "preempt");
    assert_text(d->other, "default/high");
    h->ctx = h;
}

static void item_30_what_an_eviction_says(void **state)
{
    struct h *h = full(2, 1, NULL);

    (void)state;
    h->on_decision = check_preempt;
    high(h, 1);
    assert_non_null(h->ctx);
    assert_int_equal(h->all.n[DECIDE_EVICT], 1);
    h_free(h);
}

static void check_reclaim(struct h *h, const struct decision *d)
{
    if (d->kind != DECIDE_EVICT)
        return;
    assert_text(d->reason, "reclaim");
    assert_text(d->other, "default/a0");
    h->ctx = h;
}

static void item_30_reclaim_says_so(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h->on_decision = check_reclaim;
    h_node(h, "n1", "cpu: 2");
    h_queue(h, "qa", "weight: 1");
    h_queue(h, "qb", "weight: 1");
    h_singles(h, "b", 0, 2, "qb", "cpu: 1");
    h_work(h, 120000, 10000);
    h_singles(h, "a", 0, 1, "qa", "cpu: 1");
    h_work(h, 10000, 1000);
    assert_non_null(h->ctx);
    assert_int_equal(h->all.n[DECIDE_EVICT], 1);
    h_free(h);
}

static void item_31_D40_delete_fails(void **state)
{
    struct h *h = full(1, 1, NULL);

    (void)state;
    h_fail(h, DECIDE_EVICT, "low-w-0");
    h_group(h, "high", .min = 1, .priority = "high");
    h_pods(h, "high", "w", 1, "cpu: 1");
    for (int i = 0; i < 20; i++) {
        h_round(h);
        h_pass(h, 1000);
    }
    assert_true(h->all.n[DECIDE_EVICT] >= 2);
    h_fail(h, DECIDE_EVICT, NULL);
    for (int i = 0; i < 60; i++) {
        h_round(h);
        h_finish_deletes(h);
        h_pass(h, 1000);
    }
    assert_int_equal(h_bound(h, "high"), 1);
    h_free(h);
}

static void item_32_critical_pods(void **state)
{
    static const char *const classes[] = { "system-node-critical", "system-cluster-critical" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        char more[80];
        struct h *h;

        snprintf(more, sizeof(more), "spec: {priorityClassName: %s}", classes[i]);
        h = full(2, 1, more);
        high(h, 1);
        assert_int_equal(h_bound(h, "high"), 0);
        assert_int_equal(h->all.n[DECIDE_EVICT], 0);
        h_free(h);
    }
}

static void item_32_kube_system(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_priority(h, "high", 100, NULL);
    h_node(h, "n1", "cpu: 1");
    h_group(h, "low", .min = 1, .namespace = "kube-system");
    h_pods(h, "low", "w", 1, "cpu: 1");
    h_work(h, 120000, 10000);
    assert_int_equal(h_bound(h, "low"), 1);
    high(h, 1);
    assert_int_equal(h->all.n[DECIDE_EVICT], 0);
    h_free(h);
}

static void item_33_not_preemptable(void **state)
{
    (void)state;
    for (int no = 0; no < 2; no++) {
        struct h *h = full(2, 1, no ? "metadata: {annotations: {volcano.sh/preemptable: 'false'}}" : NULL);

        high(h, 1);
        assert_int_equal(h_bound(h, "high"), !no);
        assert_int_equal(h->all.n[DECIDE_EVICT], !no);
        h_free(h);
    }
}

/* One protected member protects the gang it belongs to: it could only be broken. */
static void item_33_one_member_protects_the_gang(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_priority(h, "high", 100, NULL);
    h_node(h, "n1", "cpu: 2");
    h_group(h, "low", .min = 2);
    h_pods(h, "low", "w", 1, "cpu: 1");
    h_pods_more(h, "low", "safe", 1, "cpu: 1", "metadata: {annotations: {volcano.sh/preemptable: 'false'}}");
    h_work(h, 120000, 10000);
    assert_int_equal(h_bound(h, "low"), 2);
    high(h, 1);
    assert_int_equal(h->all.n[DECIDE_EVICT], 0);
    assert_int_equal(h_bound(h, "low"), 2);
    h_free(h);
}

/* The same on the PodGroup, for all of its pods. */
static void item_33_not_preemptable_group(void **state)
{
    (void)state;
    for (int no = 0; no < 2; no++) {
        struct h *h = full(2, 1, NULL);

        h_change(h, h_get(h, "PodGroup", "low"),
                 no ? "metadata: {annotations: {volcano.sh/preemptable: 'false'}}" : "metadata: {annotations: {a: b}}");
        high(h, 1);
        assert_int_equal(h_bound(h, "high"), !no);
        assert_int_equal(h->all.n[DECIDE_EVICT], !no);
        h_free(h);
    }
}

static void item_45_nomination(void **state)
{
    struct h *h = full(1, 1, NULL);

    (void)state;
    h_group(h, "high", .min = 1, .priority = "high");
    h_pods(h, "high", "w", 1, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_going(h, "low"), 1);
    assert_text(h_nominated(h, "high-w-0"), "n1");
    h_finish_deletes(h);
    h_settle(h);
    assert_text(h_node_of(h, "high-w-0"), "n1");
    assert_text(h_nominated(h, "high-w-0"), "");
    h_free(h);
}

/* Victims may be asked to go before the pods they go for are made: those are promised a node when they come. */
static void item_45_nomination_of_pods_to_come(void **state)
{
    struct h *h = full(4, 1, NULL);
    const char *group;

    (void)state;
    group = h_job(h, "high", .min = 2, .replicas = 2, .pod = "cpu: 1", .priority = "high");
    h_settle(h);
    assert_int_equal(h_going(h, "low"), 2);
    h_job_pods(h, group, 1);
    h_settle(h);
    assert_int_equal(h_bound(h, group), 0);
    h_job_pods(h, group, 1);
    h_settle(h);
    assert_text(h_nominated(h, "high-w-0"), "n1");
    assert_text(h_nominated(h, "high-w-1"), "n1");
    assert_int_equal(h_finish_deletes(h), 2);
    h_settle(h);
    assert_int_equal(h_bound(h, group), 2);
    h_free(h);
}

static void item_45_D12_nomination_is_cleared_by_a_new_plan(void **state)
{
    struct h *h = full(1, 1, NULL);

    (void)state;
    h_group(h, "high", .min = 1, .priority = "high");
    h_pods(h, "high", "w", 1, "cpu: 1");
    h_settle(h);
    assert_text(h_nominated(h, "high-w-0"), "n1");
    h_delete(h, "Node", "n1");
    h_finish_deletes(h);
    h_settle(h);
    assert_text(h_nominated(h, "high-w-0"), "");
    h_node(h, "n2", "cpu: 1");
    h_settle(h);
    assert_text(h_node_of(h, "high-w-0"), "n2");
    h_free(h);
}

/* A nomination that somebody wrote long ago does not keep the pod from a free node. */
static void D12_stale_nomination(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 1");
    h_node(h, "n2", "cpu: 2");
    h_stranger(h, "default", "stranger", "n1", "cpu: 1");
    h_group(h, "g", .min = 2);
    h_pods_more(h, "g", "w", 2, "cpu: 1", "status: {nominatedNodeName: n1}");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 2);
    assert_text(h_nominated(h, "g-w-0"), "");
    h_free(h);
}

/* Without 'deserved' a queue that stays within its fair share loses nothing. */
static void D36_no_immediate_victims(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 4, memory: 4Gi");
    h_queue(h, "qa", "weight: 1, deserved: {cpu: 2}");
    h_queue(h, "qb", "weight: 1");
    h_singles(h, "b", 0, 2, "qb", "cpu: 1");
    h_work(h, 120000, 10000);
    h_group(h, "a", .min = 1, .queue = "qa");
    h_pods(h, "a", "w", 4, "cpu: 1");
    h_work(h, 10000, 1000);
    assert_int_equal(h_bound_all(h, "b", 2), 2);
    assert_int_equal(h_bound(h, "a"), 2);
    assert_int_equal(h->all.n[DECIDE_EVICT], 0);
    h_free(h);
}

static void D41_D43_D44_budget_is_a_veto(void **state)
{
    (void)state;
    for (int allowed = 0; allowed <= 1; allowed++) {
        struct h *h = full(2, 1, "metadata: {labels: {app: web}}");

        h_budget(h, "b", "app: web", allowed);
        high(h, 1);
        assert_int_equal(h_bound(h, "high"), allowed);
        assert_int_equal(h->all.n[DECIDE_EVICT], allowed);
        h_free(h);
    }
}

/* A budget for one disruption is used once, also within one plan. */
static void D41_budget_is_counted(void **state)
{
    struct h *h = full(4, 1, "metadata: {labels: {app: web}}");

    (void)state;
    h_budget(h, "b", "app: web", 1);
    high(h, 2);
    assert_int_equal(h_bound(h, "high"), 0);
    assert_int_equal(h->all.n[DECIDE_EVICT], 0); /* one would not be enough for the gang */
    h_free(h);
}

static void D42_unlabelled_pods_are_eligible(void **state)
{
    struct h *h = full(2, 1, "metadata: {labels: null}");

    (void)state;
    h_budget(h, "b", "app: web", 0);
    high(h, 1);
    assert_int_equal(h_bound(h, "high"), 1);
    h_free(h);
}

static void D45_cheapest_victims(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_priority(h, "high", 100, NULL);
    h_priority(h, "middle", 50, NULL);
    h_priority(h, "low", 10, NULL);
    h_node(h, "n1", "cpu: 1");
    h_node(h, "n2", "cpu: 2");
    h_group(h, "middle", .min = 1, .priority = "middle");
    h_pods_more(h, "middle", "w", 1, "cpu: 1", "spec: {nodeSelector: {kubernetes.io/hostname: n1}}");
    h_group(h, "low", .min = 1, .priority = "low");
    h_pods_more(h, "low", "w", 1, "cpu: 2", "spec: {nodeSelector: {kubernetes.io/hostname: n2}}");
    h_work(h, 120000, 10000);
    assert_int_equal(h_bound(h, "low") + h_bound(h, "middle"), 2);
    high(h, 1);
    assert_int_equal(h_bound(h, "high"), 1);
    assert_int_equal(h_bound(h, "middle"), 1);
    assert_int_equal(h_bound(h, "low"), 0);
    h_free(h);
}

static void D47_minimum_run_time(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_priority(h, "high", 100, NULL);
    h_node(h, "n1", "cpu: 1");
    h_group(h, "low", .min = 1);
    h_pods(h, "low", "w", 1, "cpu: 1");
    h_settle(h);
    h_run(h);
    h_settle(h);
    h_pass(h, 10000);
    h_group(h, "high", .min = 1, .priority = "high");
    h_pods(h, "high", "w", 1, "cpu: 1");
    h_settle(h);
    assert_int_equal(h->all.n[DECIDE_EVICT], 0);
    assert_true(h->wake_ms > h->now_ms && h->wake_ms <= h->now_ms + 60000);
    h_pass(h, h->config.min_run_ms);
    h_settle(h);
    assert_int_equal(h->all.n[DECIDE_EVICT], 1);
    h_free(h);
}

/* A pod may ask for a longer time. */
static void D47_cooldown(void **state)
{
    struct h *h = full(1, 1, "metadata: {annotations: {volcano.sh/cooldown-time: 10m}}");

    (void)state;
    high(h, 1);
    assert_int_equal(h->all.n[DECIDE_EVICT], 0);
    h_work(h, 10 * 60000, 10000);
    assert_int_equal(h_bound(h, "high"), 1);
    h_free(h);
}

static void only_preempt(struct sched_config *c)
{
    c->admits = c->places = c->reclaims = false;
}

static void only_reclaim(struct sched_config *c)
{
    c->admits = c->places = c->preempts = false;
}

/* One action alone does its part: victims go, and the pods they go for are promised their place. Nothing is bound. */
static void one_action_alone(void **state)
{
    static const struct {
        const char *name, *queue; /* of the taker */
        void (*configure)(struct sched_config *c);
        unsigned evicted;
    } cases[] = {
        { "preempt, same queue", "qa", only_preempt, 1 },
        { "preempt, another queue", "qb", only_preempt, 0 },
        { "reclaim, same queue", "qa", only_reclaim, 0 },
        { "reclaim, another queue", "qb", only_reclaim, 1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct h *h = h_new(cases[i].configure);
        bool is_promised;

        h_priority(h, "high", 100, NULL);
        h_node(h, "n1", "cpu: 2");
        h_queue(h, "qa", "weight: 1");
        h_queue(h, "qb", "weight: 1");
        h_singles(h, "low", 0, 2, "qa", "cpu: 1");
        h_settle(h);
        h_bind(h, "low0-w-0", "n1");
        h_bind(h, "low1-w-0", "n1");
        h_work(h, 120000, 10000);
        h_group(h, "high", .min = 1, .priority = "high", .queue = cases[i].queue);
        h_pods(h, "high", "w", 1, "cpu: 1");
        h_work(h, 5000, 1000);
        is_promised = str_is(h_nominated(h, "high-w-0"), "n1");
        if (h->all.n[DECIDE_EVICT] != cases[i].evicted || h->all.n[DECIDE_BIND] || is_promised != cases[i].evicted)
            fail_msg("%s: %u evicted, %u bound, %s", cases[i].name, h->all.n[DECIDE_EVICT], h->all.n[DECIDE_BIND],
                     is_promised ? "nominated" : "not nominated");
        h_free(h);
    }
}

/* Nothing is evicted when waiting for pods that are already going is enough. */
static void no_eviction_while_others_go(void **state)
{
    struct h *h = full(2, 1, NULL);

    (void)state;
    h_mark_deleted(h, "low-w-0");
    h_group(h, "high", .min = 1, .priority = "high");
    h_pods(h, "high", "w", 1, "cpu: 1");
    h_settle(h);
    assert_int_equal(h->all.n[DECIDE_EVICT], 0);
    h_finish_deletes(h);
    h_settle(h);
    assert_int_equal(h_bound(h, "high"), 1);
    h_free(h);
}

/* The room that evictions make goes to the one they were made for. */
static void freed_room_is_not_stolen(void **state)
{
    struct h *h = full(2, 2, NULL);

    (void)state;
    h_group(h, "high", .min = 2, .priority = "high");
    h_pods(h, "high", "w", 2, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_going(h, "low"), 2);
    h_group(h, "thief", .min = 1, .priority = "low");
    h_pods(h, "thief", "w", 1, "cpu: 1");
    h_gone(h, h_get(h, "Pod", "low-w-0")); /* one is gone, the other takes its time */
    h_settle(h);
    assert_int_equal(h_bound(h, "thief"), 0);
    assert_int_equal(h_bound(h, "high"), 0);
    h_finish_deletes(h);
    h_settle(h);
    assert_int_equal(h_bound(h, "high"), 2);
    h_free(h);
}

/* More groups look for victims than have a turn in one round, and none finds any: each has its turn, then there is
 * rest. */
static void hunts_come_to_an_end(void **state)
{
    enum { HUNTERS = 40 };
    struct h *h = h_new(NULL);
    int rounds = 0;

    h_node(h, "n1", "cpu: 1000");
    h_queue(h, "q", "capability: {cpu: 100}");
    h_group(h, "old", .min = 1, .queue = "q");
    h_pods(h, "old", "w", 1, "cpu: 99");
    h_settle(h);
    h_run(h);
    for (int i = 0; i < HUNTERS; i++) { /* all of different size */
        char name[16], amounts[16];

        snprintf(name, sizeof(name), "g%d", i);
        snprintf(amounts, sizeof(amounts), "cpu: %d", i + 2);
        h_group(h, name, .min = 1, .queue = "q");
        h_pods(h, name, "w", 1, amounts);
    }
    do {
        h_settle(h);
        h_pass(h, 1);
        rounds++;
    } while (h->wake_ms && h->wake_ms <= h->now_ms && rounds < HUNTERS);
    assert_true(rounds < 8);
    h_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(item_22_reclaim_to_deserved),
        cmocka_unit_test(item_22_two_gangs_at_once),
        cmocka_unit_test(item_22_never_below_guarantee),
        cmocka_unit_test(item_26_not_reclaimable),
        cmocka_unit_test(item_27_no_reclaim_without_benefit),
        cmocka_unit_test(item_28_surplus_first),
        cmocka_unit_test(item_28_D7_whole_gang),
        cmocka_unit_test(item_28_equal_priority),
        cmocka_unit_test(D7_fewest_gangs),
        cmocka_unit_test(item_29_never_preempts),
        cmocka_unit_test(item_30_what_an_eviction_says),
        cmocka_unit_test(item_30_reclaim_says_so),
        cmocka_unit_test(item_31_D40_delete_fails),
        cmocka_unit_test(item_32_critical_pods),
        cmocka_unit_test(item_32_kube_system),
        cmocka_unit_test(item_33_not_preemptable),
        cmocka_unit_test(item_33_one_member_protects_the_gang),
        cmocka_unit_test(item_33_not_preemptable_group),
        cmocka_unit_test(item_45_nomination),
        cmocka_unit_test(item_45_nomination_of_pods_to_come),
        cmocka_unit_test(item_45_D12_nomination_is_cleared_by_a_new_plan),
        cmocka_unit_test(D12_stale_nomination),
        cmocka_unit_test(D36_no_immediate_victims),
        cmocka_unit_test(D41_D43_D44_budget_is_a_veto),
        cmocka_unit_test(D41_budget_is_counted),
        cmocka_unit_test(D42_unlabelled_pods_are_eligible),
        cmocka_unit_test(D45_cheapest_victims),
        cmocka_unit_test(D47_minimum_run_time),
        cmocka_unit_test(D47_cooldown),
        cmocka_unit_test(one_action_alone),
        cmocka_unit_test(no_eviction_while_others_go),
        cmocka_unit_test(freed_room_is_not_stolen),
        cmocka_unit_test(hunts_come_to_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
