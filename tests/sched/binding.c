/* binding.c - bindings and evictions that had to wait before they were sent: news came meanwhile, and not all still
 * stand */
#include "harness.h"

#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static void cordon(struct h *h)
{
    h_change(h, h_get(h, "Node", "n1"), "spec: {unschedulable: true}");
}

static void taint(struct h *h)
{
    h_change(h, h_get(h, "Node", "n1"), "spec: {taints: [{key: a, effect: NoSchedule}]}");
}

static void take_node_away(struct h *h)
{
    h_delete(h, "Node", "n1");
}

static void shrink_node(struct h *h)
{
    h_change(h, h_get(h, "Node", "n1"), "status: {allocatable: {cpu: 2}}");
}

static void fill_node(struct h *h)
{
    h_stranger(h, "ns", "stranger", "n1", "cpu: 6");
}

static void put_stranger_beside(struct h *h)
{
    h_stranger(h, "ns", "stranger", "n1", "cpu: 5");
}

/* Another scheduler had the same thought. */
static void fill_queue(struct h *h)
{
    h_bind(h, "large-w-0", "n2");
}

static void fill_queue_beside(struct h *h)
{
    h_bind(h, "sibling-w-0", "n2");
}

static void fill_queue_with_something_else(struct h *h)
{
    h_bind(h, "memory-w-0", "n2");
}

static void lower_capability(struct h *h)
{
    h_change(h, h_get(h, "Queue", "q"), "spec: {capability: {cpu: 2}}");
}

static void lower_capability_above(struct h *h)
{
    h_change(h, h_get(h, "Queue", "parent"), "spec: {capability: {cpu: 2}}");
}

static void guarantee_to_others(struct h *h)
{
    h_change(h, h_get(h, "Queue", "r"), "spec: {guarantee: {resource: {cpu: 4}}}");
}

static void move_to_small_queue(struct h *h)
{
    h_change(h, h_get(h, "PodGroup", "g"), "spec: {queue: small}");
}

static void break_gang(struct h *h)
{
    h_delete(h, "Pod", "g-w-0");
}

static void lose_surplus(struct h *h)
{
    h_delete(h, "Pod", "g-w-1");
    h_change(h, h_get(h, "PodGroup", "g"), "spec: {minMember: 2}");
}

static void take_group_away(struct h *h)
{
    h_delete(h, "PodGroup", "g");
}

static void bind_elsewhere(struct h *h)
{
    h_bind(h, "g-w-2", "n2");
}

static const struct {
    const char *what;
    void (*happens)(struct h *h);
    bool stands;
} meanwhile[] = {
    { "nothing", NULL, true },
    { "its node is cordoned", cordon, false },
    { "its node is tainted", taint, false },
    { "its node is gone", take_node_away, false },
    { "its node shrinks", shrink_node, false },
    { "its node is full", fill_node, false },
    { "its node is just full", put_stranger_beside, true },
    { "its queue is full", fill_queue, false },
    { "the queue above is full", fill_queue_beside, false },
    { "its queue is full of what it does not ask for", fill_queue_with_something_else, true },
    { "its queue may have less", lower_capability, false },
    { "the queue above may have less", lower_capability_above, false },
    { "others are guaranteed more", guarantee_to_others, false },
    { "its group is in another queue", move_to_small_queue, false },
    { "its gang is broken", break_gang, false },
    { "its gang has fewer, and needs fewer", lose_surplus, true },
    { "its group is gone", take_group_away, false },
    { "it is bound elsewhere", bind_elsewhere, false },
};

static void keep_binding(struct h *h, const struct decision *d)
{
    struct decision *copy = h->ctx;

    if (d->kind != DECIDE_BIND || !str_is(d->name, "g-w-2"))
        return;
    *copy = (struct decision){ DECIDE_BIND, arena_str(&h->arena, d->namespace), arena_str(&h->arena, d->name),
                               arena_str(&h->arena, d->uid), .node = arena_str(&h->arena, d->node) };
}

/* A gang of three of one CPU goes to n1; its queue may have 4 of the 6 of the queue above. The others wait for labels
 * that no node has: only another scheduler would bind them. */
static struct h *decide_and_wait(struct decision *ret)
{
    static const char no_node[] = "spec: {nodeSelector: {here: nowhere}}";
    struct h *h = h_new(NULL);

    h_node(h, "n1", "cpu: 8, memory: 1Gi");
    h_queue(h, "parent", "capability: {cpu: 6}");
    h_queue(h, "q", "parent: parent, capability: {cpu: 4, memory: 1Gi}");
    h_queue(h, "r", "parent: parent");
    h_queue(h, "small", "capability: {cpu: 2}");
    h_group(h, "g", .min = 3, .queue = "q");
    h_pods(h, "g", "w", 3, "cpu: 1");
    h_group(h, "large", .min = 1, .queue = "q");
    h_pods_more(h, "large", "w", 1, "cpu: 2", no_node);
    h_group(h, "memory", .min = 1, .queue = "q");
    h_pods_more(h, "memory", "w", 1, "memory: 2Gi", no_node);
    h_group(h, "sibling", .min = 1, .queue = "r");
    h_pods_more(h, "sibling", "w", 1, "cpu: 4", no_node);
    h->is_silent = true;
    h->on_decision = keep_binding;
    h->ctx = ret;
    h_round(h);
    assert_text(ret->node, "n1");
    h_node(h, "n2", "cpu: 8, memory: 8Gi");
    return h;
}

static void news_before_it_is_sent(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(meanwhile); i++) {
        struct decision bind = { 0 };
        struct h *h = decide_and_wait(&bind);

        if (meanwhile[i].happens)
            meanwhile[i].happens(h);
        if (sched_stands(h->s, &bind) != meanwhile[i].stands)
            fail_msg("%s: the binding %s", meanwhile[i].what,
                     meanwhile[i].stands ? "should stand" : "should not stand");
        sched_check(h->s);
        h_free(h);
    }
}

/* ---- evictions ---- */

static void withdraw_taker(struct h *h)
{
    h_delete(h, "PodGroup", "high");
}

static void make_room_elsewhere(struct h *h)
{
    h_node(h, "n2", "cpu: 1");
    h_round(h);
}

static const struct {
    const char *what;
    void (*happens)(struct h *h);
    bool stands;
} before_it_goes[] = {
    { "nothing", NULL, true },
    { "nobody needs its place", withdraw_taker, false },
    { "there is room elsewhere", make_room_elsewhere, false },
};

static void keep_eviction(struct h *h, const struct decision *d)
{
    struct decision *copy = h->ctx;

    if (d->kind == DECIDE_EVICT)
        *copy = (struct decision){ DECIDE_EVICT,
                                   arena_str(&h->arena, d->namespace),
                                   arena_str(&h->arena, d->name),
                                   arena_str(&h->arena, d->uid),
                                   .reason = arena_str(&h->arena, d->reason),
                                   .other = arena_str(&h->arena, d->other) };
}

static void news_before_it_is_evicted(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(before_it_goes); i++) {
        struct decision evict = { 0 };
        struct h *h = h_new(NULL);

        h_priority(h, "high", 100, NULL);
        h_node(h, "n1", "cpu: 1");
        h_group(h, "low", .min = 1);
        h_pods(h, "low", "w", 1, "cpu: 1");
        h_work(h, 120000, 10000);
        h->is_silent = true;
        h->on_decision = keep_eviction;
        h->ctx = &evict;
        h_group(h, "high", .min = 1, .priority = "high");
        h_pods(h, "high", "w", 1, "cpu: 1");
        h_round(h);
        assert_text(evict.name, "low-w-0");
        if (before_it_goes[i].happens)
            before_it_goes[i].happens(h);
        if (sched_stands(h->s, &evict) != before_it_goes[i].stands)
            fail_msg("%s: the eviction %s", before_it_goes[i].what,
                     before_it_goes[i].stands ? "should stand" : "should not stand");
        sched_check(h->s);
        h_free(h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(news_before_it_is_sent),
        cmocka_unit_test(news_before_it_is_evicted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
