/* starve.c - nobody waits for ever: D22, reservations, deadlock between gangs, backfill that delays nobody */
#include "harness.h"

#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

enum { RUN_MS = 30000, STEP_MS = 1000 };

/* Jobs of one pod that come all the time and run RUN_MS each. When each pod ends is kept by its name. */
struct stream {
    struct h *h;
    int made;
    struct {
        char pod[24];
        int64_t end_ms;
    } running[256];
    int n;
};

static void stream_turn_in(struct stream *s, const char *queue, int fresh)
{
    struct h *h = s->h;

    for (int i = 0; i < s->n; i++)
        if (s->running[i].end_ms && s->running[i].end_ms <= h->now_ms) {
            h_phase(h, s->running[i].pod, "Succeeded");
            h_delete(h, "Pod", s->running[i].pod);
            s->running[i] = s->running[--s->n];
            i--;
        }
    for (int i = 0; i < fresh && s->n < 255; i++) {
        char name[16];

        snprintf(name, sizeof(name), "s%d", s->made++);
        h_group(h, name, .min = 1, .queue = queue);
        h_pods(h, name, "w", 1, "cpu: 1");
        snprintf(s->running[s->n].pod, sizeof(s->running[0].pod), "%s-w-0", name);
        s->running[s->n++].end_ms = 0;
    }
    h_settle(h);
    h_run(h);
    for (int i = 0; i < s->n; i++)
        if (!s->running[i].end_ms && !str_empty(h_node_of(h, s->running[i].pod)))
            s->running[i].end_ms = h->now_ms + RUN_MS;
    h_pass(h, STEP_MS);
}

static void stream_turn(struct stream *s, int fresh)
{
    stream_turn_in(s, NULL, fresh);
}

static void D22_big_gang_under_a_stream(void **state)
{
    struct h *h = h_new(NULL);
    struct stream s = { .h = h };
    int64_t came;

    (void)state;
    for (int i = 0; i < 4; i++)
        h_node(h, (const char *[]){ "n1", "n2", "n3", "n4" }[i], "cpu: 2");
    for (int i = 0; i < 60; i++) /* nearly full, and nobody waits */
        stream_turn(&s, i % 4 == 0);
    came = h->now_ms;
    h_group(h, "big", .min = 8);
    h_pods(h, "big", "w", 8, "cpu: 1");
    while (h_bound(h, "big") == 0 && h->now_ms < came + 10 * 60000)
        stream_turn(&s, (h->now_ms / STEP_MS) % 3 == 0); /* from now on more come than can run */
    assert_int_equal(h_bound(h, "big"), 8);
    if (h->now_ms - came > h->config.reserve_after_ms + RUN_MS + 2 * STEP_MS)
        fail_msg("it waited %lld ms", (long long)(h->now_ms - came));
    h_free(h);
}

/* The same where the nodes have room and only the queue's capability is short. */
static void D22_big_gang_in_a_full_queue(void **state)
{
    struct h *h = h_new(NULL);
    struct stream s = { .h = h };
    int64_t came;

    (void)state;
    h_queue(h, "q", "capability: {cpu: 8}");
    for (int i = 0; i < 4; i++)
        h_node(h, (const char *[]){ "n1", "n2", "n3", "n4" }[i], "cpu: 8");
    for (int i = 0; i < 60; i++)
        stream_turn_in(&s, "q", i % 4 == 0);
    came = h->now_ms;
    h_group(h, "big", .min = 8, .queue = "q");
    h_pods(h, "big", "w", 8, "cpu: 1");
    while (h_bound(h, "big") == 0 && h->now_ms < came + 10 * 60000)
        stream_turn_in(&s, "q", (h->now_ms / STEP_MS) % 3 == 0);
    assert_int_equal(h_bound(h, "big"), 8);
    if (h->now_ms - came > h->config.reserve_after_ms + RUN_MS + 2 * STEP_MS)
        fail_msg("it waited %lld ms", (long long)(h->now_ms - came));
    h_free(h);
}

/* The limit of its queue stops it, and no free place helps: others may have the places it would take. When its queue
 * has room they are kept for it from all. */
static void a_full_queue_keeps_no_places_from_others(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 6");
    h_queue(h, "q", "capability: {cpu: 3}");
    h_group(h, "busy", .min = 2, .queue = "q");
    h_pods(h, "busy", "w", 2, "cpu: 1");
    h_settle(h);
    h_group(h, "gang", .min = 3, .queue = "q");
    h_pods(h, "gang", "w", 3, "cpu: 1");
    h_work(h, h->config.reserve_after_ms + 5000, 5000);
    h_singles(h, "other", 0, 4, "default", "cpu: 1");
    h_singles(h, "same", 0, 1, "q", "cpu: 1");
    h_work(h, 10000, 5000);
    assert_int_equal(h_bound_all(h, "other", 4), 4);
    assert_int_equal(h_bound_all(h, "same", 1), 0); /* of its queue nothing is used up before it */
    h_phase_all(h, "busy", "Succeeded");
    h_work(h, 10000, 5000);
    h_singles(h, "late", 0, 1, "default", "cpu: 1");
    h_work(h, 10000, 5000);
    assert_int_equal(h_bound_all(h, "late", 1), 0);
    h_phase_all(h, "other0", "Succeeded");
    h_work(h, 10000, 5000);
    assert_int_equal(h_bound(h, "gang"), 3);
    h_free(h);
}

/* Two gangs of three on four CPUs, whose pods come one by one: neither takes places it cannot use. */
static void no_deadlock_between_gangs(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 4");
    h_group(h, "a", .min = 3);
    h_group(h, "b", .min = 3);
    for (int i = 0; i < 3; i++) {
        h_pods(h, "a", "w", 1, "cpu: 1");
        h_settle(h);
        h_pods(h, "b", "w", 1, "cpu: 1");
        h_settle(h);
        if (i < 2)
            assert_int_equal(h_bound(h, NULL), 0);
    }
    assert_int_equal(h_bound(h, NULL), 3);
    h_phase_all(h, h_bound(h, "a") ? "a" : "b", "Succeeded");
    h_settle(h);
    assert_int_equal(h_bound(h, "a") + h_bound(h, "b"), 3);
    h_free(h);
}

/* Two jobs, each of which fits alone. One is admitted with places, the other on credit, and gets a reservation: that
 * must not take the first one's places away, or both wait for each other. */
static void no_deadlock_of_admission_and_reservation(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        struct h *h = h_new(NULL);
        const char *a, *b, *first;

        for (int i = 0; i < 3; i++)
            h_node(h, (const char *[]){ "n1", "n2", "n3" }[i], "cpu: 8");
        a = h_job(h, "a", .min = 3, .replicas = 3, .pod = "cpu: 2");
        b = h_job(h, "b", .min = 5, .replicas = 5, .pod = "cpu: 4");
        h_settle(h);
        h_job_pods(h, order ? b : a, order ? 5 : 3);
        h_settle(h);
        h_job_pods(h, order ? a : b, order ? 3 : 5);
        h_settle(h);
        assert_true((h_bound(h, a) == 3) != (h_bound(h, b) == 5));
        first = h_bound(h, a) ? a : b;
        h_run(h);
        h_phase_all(h, first, "Succeeded");
        h_settle(h);
        assert_int_equal(h_bound(h, first == a ? b : a), first == a ? 5 : 3);
        h_free(h);
    }
}

/* A gang in a queue of five CPUs has lost a pod and succeeded with the other, and a job that needs all five has waited
 * long: what was promised to the one keeps the other from being let in, and what is kept for that from placing the lost
 * pod. */
static struct h *promise_and_reservation(const char **ret_big)
{
    struct h *h = h_new(NULL);

    h_queue(h, "q", "capability: {cpu: 5}");
    h_node(h, "n1", "cpu: 10");
    h_group(h, "lost", .min = 2, .asks = "cpu: 2", .queue = "q");
    h_pods(h, "lost", "w", 2, "cpu: 1");
    h_settle(h);
    h_run(h);
    *ret_big = h_job(h, "big", .min = 1, .replicas = 1, .pod = "cpu: 5", .queue = "q");
    h_work(h, h->config.reserve_after_ms + 5000, 1000);
    h_phase(h, "lost-w-0", "Succeeded");
    h_delete(h, "Pod", "lost-w-1");
    h_settle(h);
    assert_text(h_group_phase(h, *ret_big), "Pending");
    return h;
}

static void no_deadlock_of_promise_and_reservation(void **state)
{
    const char *big;
    struct h *h = promise_and_reservation(&big);

    (void)state;
    h_pods(h, "lost", "w", 1, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "lost"), 1);
    h_run(h);
    h_phase_all(h, "lost", "Succeeded");
    h_settle(h);
    assert_text(h_group_phase(h, big), "Inqueue");
    h_free(h);
}

/* The same, and the pod that was lost does not come back. */
static void no_promise_for_ever(void **state)
{
    const char *big;
    struct h *h = promise_and_reservation(&big);

    (void)state;
    for (int64_t end_ms = h->now_ms + h->config.admission_ms; h->wake_ms && h->wake_ms <= end_ms + 1000; h_settle(h))
        h_pass(h, h->wake_ms - h->now_ms); /* nothing happens but what it asked to be woken for */
    assert_text(h_group_phase(h, big), "Inqueue");
    h_job_pods(h, big, 1);
    h_settle(h);
    assert_int_equal(h_bound(h, big), 1);
    h_free(h);
}

/* A gang waits for room longer than anybody waits for pods; then one of its pods is lost, and made again a moment
 * later. */
static struct h *waits_long_and_loses_a_pod(void)
{
    struct h *h = h_new(NULL);

    h_node(h, "n1", "cpu: 4");
    h_group(h, "runs", .min = 1);
    h_pods(h, "runs", "w", 4, "cpu: 1");
    h_settle(h);
    h_run(h);
    h_group(h, "big", .min = 3);
    h_pods(h, "big", "w", 3, "cpu: 1");
    h_work(h, 2 * h->config.admission_ms, 10000);
    h_delete(h, "Pod", "big-w-0");
    h_settle(h);
    h_group(h, "small", .min = 1);
    h_pods(h, "small", "w", 1, "cpu: 1");
    h_phase(h, "runs-w-0", "Succeeded");
    h_phase(h, "runs-w-1", "Succeeded");
    h_settle(h);
    assert_int_equal(h_bound(h, "small"), 0); /* it would delay the gang */
    return h;
}

static void places_outlive_a_lost_pod(void **state)
{
    struct h *h = waits_long_and_loses_a_pod();

    (void)state;
    assert_text(h_group_phase(h, "big"), "Inqueue");
    h_pods(h, "big", "w", 1, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "small"), 0);
    h_phase(h, "runs-w-2", "Succeeded");
    h_settle(h);
    assert_int_equal(h_bound(h, "big"), 3);
    h_free(h);
}

static void places_do_not_wait_for_a_lost_pod_for_ever(void **state)
{
    struct h *h = waits_long_and_loses_a_pod();

    (void)state;
    h_work(h, h->config.admission_ms + 10000, 10000);
    assert_int_equal(h_bound(h, "small"), 1);
    h_free(h);
}

/* The same with a gang that stood: what it is to have again is promised to it, and kept from the next of its queue. */
static struct h *stood_and_loses_another_pod(void)
{
    struct h *h = h_new(NULL);

    h_node_more(h, "n1", "cpu: 3", "metadata: {labels: {pool: a}}");
    h_node(h, "n2", "cpu: 8");
    h_queue(h, "q", "capability: {cpu: 4}");
    h_queue(h, "stays", "reclaimable: false");
    h_group(h, "lost", .min = 3, .asks = "cpu: 3", .queue = "q");
    h_pods_more(h, "lost", "w", 3, "cpu: 1", "spec: {nodeSelector: {pool: a}}");
    h_settle(h);
    h_run(h);
    h_delete(h, "Pod", "lost-w-0");
    h_group(h, "faster", .min = 1, .queue = "stays");
    h_pods(h, "faster", "w", 1, "cpu: 1");
    h_bind(h, "faster-w-0", "n1");
    h_pods_more(h, "lost", "w", 1, "cpu: 1", "spec: {nodeSelector: {pool: a}}");
    h_work(h, 2 * h->config.admission_ms, 10000);
    h_group(h, "next", .min = 1, .asks = "cpu: 2", .queue = "q");
    h_settle(h);
    assert_text(h_group_phase(h, "next"), "Pending");
    h_delete(h, "Pod", "lost-w-0");
    h_settle(h);
    assert_text(h_group_phase(h, "next"), "Pending");
    return h;
}

static void a_promise_outlives_a_lost_pod(void **state)
{
    struct h *h = stood_and_loses_another_pod();

    (void)state;
    h_work(h, h->config.admission_ms - 10000, 10000);
    h_pods_more(h, "lost", "w", 1, "cpu: 1", "spec: {nodeSelector: {pool: a}}");
    h_work(h, 2 * h->config.admission_ms, 10000); /* it has its pods, and waits for room again */
    assert_text(h_group_phase(h, "next"), "Pending");
    h_free(h);
}

static void a_promise_does_not_wait_for_a_lost_pod_for_ever(void **state)
{
    struct h *h = stood_and_loses_another_pod();

    (void)state;
    h_work(h, h->config.admission_ms + 10000, 10000);
    assert_text(h_group_phase(h, "next"), "Inqueue");
    h_free(h);
}

/* The two large pods of an elastic job do not fit together; one large and the small one would, and the small one is
 * made late. Places for it are all free and of no use yet. When the pod is there it is a gang like any other: places
 * are kept for it. */
static void places_for_pods_that_come_late(void **state)
{
    struct h *h = h_new(NULL);
    const char *g;

    (void)state;
    h_node(h, "n1", "cpu: 3");
    h_node(h, "n2", "cpu: 1");
    g = h_job(h, "j", .min = 2, .replicas = 2, .pod = "cpu: 3");
    h_change(h, h_get(h, "Job", "j"),
             "metadata: {generation: 2}, spec: {tasks: ["
             "{name: w, replicas: 2, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 3}}}]}}},"
             "{name: s, replicas: 1, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}]}");
    h_job_pods(h, g, 2);
    h_work(h, 2 * h->config.reserve_after_ms, 5000);
    assert_int_equal(h_bound(h, g), 0);
    h_group(h, "first", .min = 1);
    h_pods(h, "first", "w", 1, "cpu: 1");
    h_bind(h, "first-w-0", "n2");
    h_pods(h, g, "s", 1, "cpu: 1");
    h_work(h, 2 * h->config.reserve_after_ms, 5000);
    h_group(h, "second", .min = 1);
    h_pods(h, "second", "w", 1, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "second"), 0); /* it would take the place of the large one */
    h_phase(h, "first-w-0", "Succeeded");
    h_settle(h);
    assert_int_equal(h_bound(h, g), 2);
    h_free(h);
}

/* Nodes are kept for the gang that waits longest; a best-effort pod needs none of that and runs. */
static void backfill_beside_a_reservation(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 2");
    h_group(h, "runs", .min = 1);
    h_pods(h, "runs", "w", 1, "cpu: 1");
    h_settle(h);
    h_run(h);
    h_group(h, "big", .min = 2);
    h_pods(h, "big", "w", 2, "cpu: 1");
    h_work(h, h->config.reserve_after_ms + 5000, 1000);
    h_group(h, "small", .min = 1);
    h_pods(h, "small", "w", 1, "cpu: 1");
    h_group(h, "be", .min = 1);
    h_pods(h, "be", "w", 1, "");
    h_work(h, 5000, 1000);
    assert_int_equal(h_bound(h, "small"), 0); /* it would delay the gang */
    assert_int_equal(h_bound(h, "be"), 1);    /* it does not */
    assert_has(h_said(h, "PodGroup", "small", "Unschedulable"), "big");
    h_phase_all(h, "runs", "Succeeded");
    h_settle(h);
    assert_int_equal(h_bound(h, "big"), 2);
    h_free(h);
}

/* A job that says how long it runs may use what is kept for another, if it is over before that one could start. */
static void D22_short_job_beside_a_reservation(void **state)
{
    static const struct {
        const char *runtime;
        int want;
    } cases[] = { { "2m", 1 }, { "20m", 0 }, { NULL, 0 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct h *h = h_new(NULL);
        char more[80];

        snprintf(more, sizeof(more), "metadata: {annotations: {pumice.dev/runtime: %s}}",
                 cases[i].runtime ? cases[i].runtime : "''");
        h_node(h, "n1", "cpu: 2");
        h_group(h, "runs", .min = 1, .more = "metadata: {annotations: {pumice.dev/runtime: 10m}}");
        h_pods(h, "runs", "w", 1, "cpu: 1");
        h_settle(h);
        h_run(h);
        h_group(h, "big", .min = 2);
        h_pods(h, "big", "w", 2, "cpu: 1");
        h_work(h, h->config.reserve_after_ms + 5000, 1000);
        h_group(h, "short", .min = 1, .more = more);
        h_pods(h, "short", "w", 1, "cpu: 1");
        h_work(h, 5000, 1000);
        if (h_bound(h, "short") != cases[i].want)
            fail_msg("runtime %s: %d bound", cases[i].runtime ? cases[i].runtime : "unknown", h_bound(h, "short"));
        h_free(h);
    }
}

/* A gang that can never fit gets no reservation: it would keep nodes from everybody for nothing. */
static void no_reservation_for_the_impossible(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 2");
    h_group(h, "never", .min = 3);
    h_pods(h, "never", "w", 3, "cpu: 1");
    h_work(h, h->config.reserve_after_ms + 5000, 1000);
    h_group(h, "small", .min = 2);
    h_pods(h, "small", "w", 2, "cpu: 1");
    h_work(h, 2000, 1000);
    assert_int_equal(h_bound(h, "small"), 2);
    h_free(h);
}

/* One node, and two pods that must not be on one: nobody can say so from the amounts, but nothing may be kept for them
 * for ever. */
static void no_reservation_against_anti_affinity(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 2");
    h_group(h, "busy", .min = 1);
    h_pods(h, "busy", "w", 2, "cpu: 1");
    h_settle(h);
    h_run(h);
    h_group(h, "never", .min = 2);
    h_pods_more(h, "never", "w", 2, "cpu: 1",
                "metadata: {labels: {app: x}}, spec: {affinity: {podAntiAffinity: "
                "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, "
                "labelSelector: {matchLabels: {app: x}}}]}}}");
    h_work(h, h->config.reserve_after_ms + 5000, 5000);
    h_group(h, "small", .min = 2);
    h_pods(h, "small", "w", 2, "cpu: 1");
    h_phase_all(h, "busy", "Succeeded");
    h_work(h, h->config.admission_ms + 60000, 5000);
    assert_int_equal(h_bound(h, "small"), 2);
    h_free(h);
}

/* A higher priority does not wait for the reservation of a lower one. */
static void reservation_yields_to_priority(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_priority(h, "high", 100, NULL);
    h_node(h, "n1", "cpu: 3");
    h_group(h, "runs", .min = 1);
    h_pods(h, "runs", "w", 1, "cpu: 1");
    h_settle(h);
    h_run(h);
    h_group(h, "big", .min = 3);
    h_pods(h, "big", "w", 3, "cpu: 1");
    h_work(h, h->config.reserve_after_ms + 5000, 1000);
    assert_int_equal(h_bound(h, "big"), 0);
    h_group(h, "high", .min = 2, .priority = "high");
    h_pods(h, "high", "w", 2, "cpu: 1");
    h_work(h, 3000, 1000);
    assert_int_equal(h_bound(h, "high"), 2);
    assert_int_equal(h->all.n[DECIDE_EVICT], 0);
    h_free(h);
}

/* Two queues, a gang in each that needs more than half of the cluster and has waited so long that nodes are kept for
 * it. When the cluster is empty one of them starts; the two never hold each other's places. */
static void two_reservations(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_queue(h, "qa", "weight: 1");
    h_queue(h, "qb", "weight: 1");
    h_node(h, "n1", "cpu: 2");
    h_node(h, "n2", "cpu: 2");
    h_group(h, "busy", .min = 4);
    h_pods(h, "busy", "w", 4, "cpu: 1");
    h_settle(h);
    h_run(h);
    h_group(h, "a", .min = 3, .queue = "qa");
    h_pods(h, "a", "w", 3, "cpu: 1");
    h_group(h, "b", .min = 3, .queue = "qb");
    h_pods(h, "b", "w", 3, "cpu: 1");
    h_work(h, 2 * h->config.reserve_after_ms, 5000);
    h_phase_all(h, "busy", "Succeeded");
    h_settle(h);
    assert_int_equal(h_bound(h, "a") + h_bound(h, "b"), 3);
    h_run(h);
    h_phase_all(h, h_bound(h, "a") ? "a" : "b", "Succeeded");
    h_settle(h);
    assert_int_equal(h_bound(h, "a") + h_bound(h, "b"), 3);
    h_free(h);
}

/* Both need more than the share of their queue, and one gets its reservation in the round in which the other could start: it
 * stood, and lost its pods. */
static void a_reservation_has_its_rank_at_once(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_queue(h, "qa", "weight: 1");
    h_queue(h, "qb", "weight: 1, reclaimable: false");
    h_node(h, "n1", "cpu: 1500m");
    h_group(h, "stood", .min = 3, .queue = "qb");
    h_pods(h, "stood", "w", 3, "cpu: 500m");
    h_settle(h);
    h_run(h);
    h_group(h, "waits", .min = 2, .queue = "qa");
    h_pods(h, "waits", "w", 2, "cpu: 500m");
    h_work(h, h->config.reserve_after_ms + 5000, 5000);
    h_change(h, h_get(h, "Node", "n1"), "status: {allocatable: {cpu: 1}}");
    h_phase(h, "stood-w-0", "Succeeded");
    h_delete(h, "Pod", "stood-w-1");
    h_delete(h, "Pod", "stood-w-2");
    h_pods(h, "stood", "w", 2, "cpu: 500m");
    h_settle(h);
    assert_int_equal(h_bound(h, "waits") + h_bound(h, "stood"), 2);
    h_free(h);
}

/* The same in one queue: an older gang, and one of higher priority that came later. */
static void reservations_of_one_queue(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_priority(h, "high", 100, NULL);
    h_node(h, "n1", "cpu: 2");
    h_node(h, "n2", "cpu: 2");
    h_group(h, "busy", .min = 4, .priority = "high");
    h_pods(h, "busy", "w", 4, "cpu: 1");
    h_settle(h);
    h_run(h);
    h_group(h, "a", .min = 3);
    h_pods(h, "a", "w", 3, "cpu: 1");
    h_work(h, h->config.reserve_after_ms + 5000, 5000);
    h_group(h, "b", .min = 3, .priority = "high");
    h_pods(h, "b", "w", 3, "cpu: 1");
    h_work(h, h->config.reserve_after_ms + 5000, 5000);
    h_phase_all(h, "busy", "Succeeded");
    h_settle(h);
    assert_int_equal(h_bound(h, "b"), 3);
    h_run(h);
    h_phase_all(h, "b", "Succeeded");
    h_settle(h);
    assert_int_equal(h_bound(h, "a"), 3);
    h_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(D22_big_gang_under_a_stream),
        cmocka_unit_test(D22_big_gang_in_a_full_queue),
        cmocka_unit_test(a_full_queue_keeps_no_places_from_others),
        cmocka_unit_test(no_deadlock_between_gangs),
        cmocka_unit_test(no_deadlock_of_admission_and_reservation),
        cmocka_unit_test(no_deadlock_of_promise_and_reservation),
        cmocka_unit_test(no_promise_for_ever),
        cmocka_unit_test(places_for_pods_that_come_late),
        cmocka_unit_test(places_outlive_a_lost_pod),
        cmocka_unit_test(places_do_not_wait_for_a_lost_pod_for_ever),
        cmocka_unit_test(a_promise_outlives_a_lost_pod),
        cmocka_unit_test(a_promise_does_not_wait_for_a_lost_pod_for_ever),
        cmocka_unit_test(backfill_beside_a_reservation),
        cmocka_unit_test(D22_short_job_beside_a_reservation),
        cmocka_unit_test(no_reservation_for_the_impossible),
        cmocka_unit_test(no_reservation_against_anti_affinity),
        cmocka_unit_test(reservation_yields_to_priority),
        cmocka_unit_test(two_reservations),
        cmocka_unit_test(a_reservation_has_its_rank_at_once),
        cmocka_unit_test(reservations_of_one_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
