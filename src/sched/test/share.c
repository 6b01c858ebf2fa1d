/* share.c - tests of the fair shares: single rules, then thousands of random trees of queues against the laws */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rand.h"
#include "base/util.h"
#include "sched/queue/share.h"

/* ---- a model with nothing in it but queues ---- */

enum { CPU = DIM_CPU, MEM = DIM_MEMORY, QUEUES_MAX = 40 };

struct world {
    struct sched_model m;
    struct sched_queue queues[QUEUES_MAX];
    struct sched_group groups[QUEUES_MAX]; /* one in each queue */
    char names[QUEUES_MAX][8];
    size_t n;
};

static struct sched_queue *add_queue(struct world *w, const char *name, const char *parent)
{
    struct sched_queue *q = &w->queues[w->n];
    struct sched_group *g = &w->groups[w->n++];

    q->name = str_of(name);
    q->parent_name = str_of(parent);
    q->exists = q->is_open = q->is_reclaimable = true;
    q->weight = 1;
    amounts_fill(&q->capability, AMOUNT_UNLIMITED);
    list_init(&q->groups);
    g->queue = q;
    list_push(&q->groups, &g->in_queue);
    map_put(&w->m.queues, q->name, q);
    w->m.queues_changed = true;
    return q;
}

static struct sched_group *group_of(struct world *w, const struct sched_queue *q)
{
    return &w->groups[q - w->queues];
}

static struct world *world_new(int64_t cpu)
{
    struct world *w = xcalloc(1, sizeof(*w));

    dims_init(&w->m.dims);
    map_init(&w->m.queues, 7);
    w->m.root = add_queue(w, "root", "");
    w->m.root->is_reclaimable = false;
    w->m.total.v[CPU] = cpu;
    w->m.shares_changed = true;
    return w;
}

static void world_free(struct world *w)
{
    for (size_t i = 0; i < w->n; i++)
        arena_done(&w->queues[i].arena);
    map_done(&w->m.queues);
    dims_done(&w->m.dims);
    free(w);
}

/* What runs in a queue and what waits. */
static void load(struct world *w, const struct sched_queue *q, int64_t runs, int64_t waits)
{
    group_of(w, q)->counts.allocated.v[CPU] = runs;
    group_of(w, q)->demand.v[CPU] = waits;
    w->m.queues_changed = true; /* counts the groups again */
}

static void update(struct world *w)
{
    w->m.used = (struct amounts){ 0 };
    for (size_t i = 0; i < w->n; i++) {
        amounts_add(&w->m.used, &w->groups[i].counts.allocated, w->m.dims.n);
        amounts_add(&w->m.used, &w->groups[i].counts.going, w->m.dims.n);
    }
    share_update(&w->m);
}

static struct amounts cpu(int64_t v)
{
    return (struct amounts){ .v = { [CPU] = v } };
}

/* ---- single rules ---- */

/* Flat queues a, b, c on one resource. */
static void test_flat(void **state)
{
    static const struct {
        const char *label;
        int64_t total;
        struct {
            int64_t weight, guarantee, deserved, capability, runs, waits; /* deserved, capability -1: none */
            int64_t fair, limit;
        } q[3];
    } cases[] = {
        { "weights 1 and 3 share 8 (checklist 18)",
          8,
          { { 1, 0, -1, -1, 0, 100, 2, 8 }, { 3, 0, -1, -1, 0, 100, 6, 8 }, { 1, 0, -1, -1, 0, 0, 0, 8 } } },
        { "what one does not ask for the others get",
          12,
          { { 1, 0, -1, -1, 0, 2, 2, 12 }, { 1, 0, -1, -1, 0, 100, 5, 12 }, { 1, 0, -1, -1, 0, 100, 5, 12 } } },
        { "an idle queue lends all (checklist 19)",
          8,
          { { 1, 0, -1, -1, 0, 0, 0, 8 }, { 1, 0, -1, -1, 3, 9, 8, 8 }, { 1, 0, -1, -1, 0, 0, 0, 8 } } },
        { "what runs counts as asked for",
          8,
          { { 1, 0, -1, -1, 8, 0, 4, 8 }, { 1, 0, -1, -1, 0, 8, 4, 8 }, { 1, 0, -1, -1, 0, 0, 0, 8 } } },
        { "crumbs go to the first by name",
          8,
          { { 1, 0, -1, -1, 0, 9, 3, 8 }, { 1, 0, -1, -1, 0, 9, 3, 8 }, { 1, 0, -1, -1, 0, 9, 2, 8 } } },
        { "a guarantee is a floor, part of the share (checklist 20)",
          8,
          { { 1, 4, -1, -1, 0, 9, 4, 8 }, { 1, 0, -1, -1, 0, 9, 2, 4 }, { 1, 0, -1, -1, 0, 9, 2, 4 } } },
        { "a guarantee nobody uses is kept, not lent",
          8,
          { { 1, 4, -1, -1, 0, 0, 0, 8 }, { 1, 0, -1, -1, 0, 9, 4, 4 }, { 1, 0, -1, -1, 0, 0, 0, 4 } } },
        { "a small guarantee changes nothing",
          9,
          { { 1, 1, -1, -1, 0, 9, 3, 9 }, { 1, 0, -1, -1, 0, 9, 3, 8 }, { 1, 0, -1, -1, 0, 9, 3, 8 } } },
        { "guarantees beyond the cluster are cut alike",
          9,
          { { 1, 8, -1, -1, 0, 99, 6, 8 }, { 1, 4, -1, -1, 0, 99, 3, 4 }, { 1, 0, -1, -1, 0, 99, 0, 0 } } },
        { "deserved first, the rest by weight (checklist 22)",
          10,
          { { 1, 0, 6, -1, 0, 99, 7, 10 }, { 1, 0, 2, -1, 0, 99, 3, 10 }, { 1, 0, -1, -1, 0, 0, 0, 10 } } },
        { "who deserves nothing borrows what is left",
          10,
          { { 1, 0, 6, -1, 0, 99, 8, 10 }, { 1, 0, -1, -1, 0, 99, 2, 10 }, { 1, 0, -1, -1, 0, 0, 0, 10 } } },
        { "deserved beyond the cluster is cut in proportion, guarantees stay",
          10,
          { { 1, 0, 8, -1, 0, 99, 4, 6 }, { 1, 0, 4, -1, 0, 99, 2, 6 }, { 1, 4, 4, -1, 0, 99, 4, 10 } } },
        { "capability stops a queue (checklist 21)",
          12,
          { { 9, 0, -1, 3, 0, 99, 3, 3 }, { 1, 0, -1, -1, 0, 99, 5, 12 }, { 1, 0, -1, -1, 0, 99, 4, 12 } } },
        { "capability 0",
          12,
          { { 1, 0, -1, 0, 0, 99, 0, 0 }, { 1, 0, -1, -1, 0, 99, 6, 12 }, { 1, 0, -1, -1, 0, 99, 6, 12 } } },
        { "nothing there",
          0,
          { { 1, 2, -1, -1, 0, 9, 0, 0 }, { 1, 0, 3, -1, 0, 9, 0, 0 }, { 1, 0, -1, -1, 0, 9, 0, 0 } } },
        { "absurd numbers",
          AMOUNT_UNLIMITED,
          { { INT64_MAX, AMOUNT_UNLIMITED, -1, -1, 0, AMOUNT_UNLIMITED, AMOUNT_UNLIMITED, AMOUNT_UNLIMITED },
            { 1, 0, AMOUNT_UNLIMITED, -1, 0, AMOUNT_UNLIMITED, 0, 0 },
            { 1, 0, -1, -1, 0, 1, 0, 0 } } },
    };
    static const char *const names[] = { "a", "b", "c" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct world *w = world_new(cases[i].total);

        for (int k = 0; k < 3; k++) {
            struct sched_queue *q = add_queue(w, names[k], k == 1 ? "" : "root");

            q->weight = cases[i].q[k].weight;
            q->guarantee.v[CPU] = cases[i].q[k].guarantee;
            q->has_deserved = cases[i].q[k].deserved >= 0;
            if (q->has_deserved)
                amounts_fill(&q->deserved, -1);
            q->deserved.v[CPU] = cases[i].q[k].deserved;
            if (cases[i].q[k].capability >= 0)
                q->capability.v[CPU] = cases[i].q[k].capability;
            load(w, q, cases[i].q[k].runs, cases[i].q[k].waits);
        }
        update(w);
        for (int k = 0; k < 3; k++) {
            const struct sched_queue *q = map_get(&w->m.queues, str_of(names[k]));

            if (q->fair.v[CPU] != cases[i].q[k].fair || q->limit.v[CPU] != cases[i].q[k].limit)
                fail_msg("%s: queue %s has fair %ld, limit %ld, want %ld, %ld", cases[i].label, names[k],
                         (long)q->fair.v[CPU], (long)q->limit.v[CPU], (long)cases[i].q[k].fair,
                         (long)cases[i].q[k].limit);
        }
        world_free(w);
    }
}

/* Pods without a group only take room away. */
static void test_foreign(void **state)
{
    struct world *w = world_new(8);
    struct sched_queue *q = add_queue(w, "a", "");

    (void)state;
    load(w, q, 2, 9);
    share_link(&w->m);
    w->m.used.v[CPU] = 2 + 3;
    share_update(&w->m);
    assert_int_equal(q->fair.v[CPU], 5);
    assert_int_equal(q->limit.v[CPU], 5);
    world_free(w);
}

/* A resource a deserved list does not name is borrowed only (D36); resources do not mix (D31). */
static void test_missing_name(void **state)
{
    struct world *w = world_new(8);
    struct sched_queue *a = add_queue(w, "a", ""), *b = add_queue(w, "b", "");
    struct amounts ask = cpu(2), both = { .v = { [CPU] = 1, [MEM] = 2 } };
    struct share_lack no;

    (void)state;
    w->m.total.v[MEM] = 8;
    a->has_deserved = b->has_deserved = true;
    amounts_fill(&a->deserved, -1);
    amounts_fill(&b->deserved, -1);
    a->deserved.v[CPU] = 6;
    b->deserved.v[MEM] = 6;
    load(w, a, 5, 9);
    load(w, b, 1, 9);
    group_of(w, a)->counts.allocated.v[MEM] = 1;
    group_of(w, a)->demand.v[MEM] = group_of(w, b)->demand.v[MEM] = 9;
    update(w);
    assert_int_equal(a->fair.v[CPU], 7);
    assert_int_equal(a->fair.v[MEM], 1);
    assert_int_equal(b->fair.v[MEM], 7);
    assert_true(share_allows(&w->m, a, &ask, SHARE_FAIR, NULL));
    assert_false(share_allows(&w->m, a, &both, SHARE_FAIR, &no));
    assert_ptr_equal(no.queue, a);
    assert_int_equal(no.dim, MEM);
    assert_int_equal(no.left, 0);
    world_free(w);
}

/* ---- hierarchy ---- */

static void test_hierarchy(void **state)
{
    struct world *w = world_new(100);
    struct sched_queue *eng = add_queue(w, "eng", "root"), *dev = add_queue(w, "dev", "eng");
    struct sched_queue *ops = add_queue(w, "ops", "eng"), *art = add_queue(w, "art", "");
    struct share_lack no;
    struct amounts ask = cpu(5), more = cpu(6);

    (void)state;
    eng->capability.v[CPU] = 30;
    dev->capability.v[CPU] = 80; /* more than the parent's (checklist 23) */
    ops->guarantee.v[CPU] = 10;
    load(w, dev, 15, 200);
    load(w, ops, 0, 4);
    load(w, art, 0, 200);
    update(w);
    assert_int_equal(eng->limit.v[CPU], 30);
    assert_int_equal(dev->limit.v[CPU], 20); /* the guarantee of ops is kept */
    assert_int_equal(ops->limit.v[CPU], 30);
    assert_int_equal(art->limit.v[CPU], 90); /* and counts for eng too */
    assert_int_equal(eng->fair.v[CPU], 24);
    assert_int_equal(dev->fair.v[CPU], 20);
    assert_int_equal(ops->fair.v[CPU], 4);
    assert_int_equal(art->fair.v[CPU], 76);
    assert_int_equal(eng->allocated.v[CPU], 15); /* counted in the whole path (D26) */
    assert_int_equal(w->m.root->allocated.v[CPU], 15);

    assert_true(share_allows(&w->m, dev, &ask, SHARE_LIMIT, NULL));
    assert_false(share_allows(&w->m, dev, &more, SHARE_LIMIT, &no));
    assert_ptr_equal(no.queue, dev);
    assert_int_equal(no.dim, CPU);
    assert_int_equal(no.left, 5);

    /* The origin of a limit is named: the parent's capability, or the cluster. */
    ops->guarantee.v[CPU] = 0;
    w->m.queues_changed = true;
    update(w);
    more = cpu(16);
    assert_false(share_allows(&w->m, dev, &more, SHARE_LIMIT, &no));
    assert_ptr_equal(no.queue, eng);
    assert_int_equal(no.left, 15);
    art->capability.v[CPU] = 90; /* … before the cluster, even where that has less left */
    load(w, art, 83, 0);
    update(w);
    more = cpu(8);
    assert_false(share_allows(&w->m, art, &more, SHARE_LIMIT, &no));
    assert_ptr_equal(no.queue, art);
    assert_int_equal(no.left, 7);
    art->capability.v[CPU] = AMOUNT_UNLIMITED;
    load(w, art, 0, 200);
    update(w);
    more = cpu(101);
    assert_false(share_allows(&w->m, art, &more, SHARE_LIMIT, &no));
    assert_ptr_equal(no.queue, w->m.root);
    assert_int_equal(no.left, 85);
    world_free(w);
}

/* An inner queue asks for what its children can use, so nothing is set aside for a child that may not take it. */
static void test_limited_child(void **state)
{
    struct world *w = world_new(10);
    struct sched_queue *up = add_queue(w, "up", ""), *low = add_queue(w, "low", "up"), *b = add_queue(w, "b", "");

    (void)state;
    low->capability.v[CPU] = 2;
    load(w, low, 0, 100);
    load(w, b, 0, 100);
    update(w);
    assert_int_equal(up->fair.v[CPU], 2);
    assert_int_equal(b->fair.v[CPU], 8);
    world_free(w);
}

/* Deserved amounts and guarantees of children are their parent's where it has none. */
static void test_inherited(void **state)
{
    struct world *w = world_new(12);
    struct sched_queue *up = add_queue(w, "up", ""), *x = add_queue(w, "x", "up"), *y = add_queue(w, "y", "up");
    struct sched_queue *b = add_queue(w, "b", "");

    (void)state;
    x->has_deserved = y->has_deserved = true;
    x->deserved = cpu(5);
    y->deserved = cpu(3);
    load(w, x, 0, 100);
    load(w, y, 0, 100);
    load(w, b, 0, 100);
    update(w);
    assert_int_equal(up->fair.v[CPU], 10);
    assert_int_equal(b->fair.v[CPU], 2);
    assert_int_equal(x->fair.v[CPU], 6);
    assert_int_equal(y->fair.v[CPU], 4);
    world_free(w);
}

static void test_links(void **state)
{
    struct world *w = world_new(8);
    struct sched_queue *a = add_queue(w, "a", "b"), *b = add_queue(w, "b", "a"), *c = add_queue(w, "c", "a");
    struct sched_queue *d = add_queue(w, "d", "d"), *e = add_queue(w, "e", "nowhere"), *f = add_queue(w, "f", "ghost");
    struct sched_queue *ghost = add_queue(w, "ghost", "");
    struct sched_queue *root = w->m.root;

    (void)state;
    ghost->exists = false; /* known only because a group names it */
    load(w, c, 3, 4);
    update(w);
    assert_ptr_equal(a->parent, root);
    assert_ptr_equal(b->parent, root);
    assert_ptr_equal(c->parent, a);
    assert_ptr_equal(d->parent, root);
    assert_ptr_equal(e->parent, root);
    assert_ptr_equal(f->parent, root);
    assert_true(a->has_cycle && b->has_cycle && d->has_cycle && e->has_cycle && f->has_cycle);
    assert_false(c->has_cycle || root->has_cycle || ghost->has_cycle);
    assert_null(root->parent);
    assert_int_equal(root->children.n, 6);
    for (size_t i = 1; i < root->children.n; i++)
        assert_true(str_cmp(root->children.v[i - 1]->name, root->children.v[i]->name) < 0);
    assert_int_equal(a->allocated.v[CPU], 3);
    assert_int_equal(b->allocated.v[CPU], 0);

    /* The circle is broken, the ghost comes: what is allocated moves along. */
    a->parent_name = STR("root");
    ghost->exists = true;
    c->parent_name = STR("b");
    w->m.queues_changed = true;
    update(w);
    assert_ptr_equal(b->parent, a);
    assert_ptr_equal(c->parent, b);
    assert_ptr_equal(f->parent, ghost);
    assert_false(a->has_cycle || b->has_cycle || f->has_cycle);
    assert_int_equal(b->allocated.v[CPU], 3);
    assert_int_equal(a->demand.v[CPU], 4);
    assert_int_equal(root->allocated.v[CPU], 3);

    /* A queue nobody announced is found too. */
    w->m.queues_changed = w->m.shares_changed = false;
    c = add_queue(w, "new", "ghost");
    w->m.queues_changed = false;
    w->m.shares_changed = true;
    update(w);
    assert_ptr_equal(c->parent, ghost);
    world_free(w);
}

/* ---- who may take, who gives, who is first ---- */

static void test_admits(void **state)
{
    struct world *w = world_new(8);
    struct sched_queue *a = add_queue(w, "a", "");
    struct amounts ask = cpu(2);
    struct share_lack no;

    (void)state;
    load(w, a, 3, 4);
    group_of(w, a)->admitted = cpu(3);
    update(w);
    assert_true(share_allows(&w->m, a, &ask, SHARE_ADMISSION, NULL));
    ask = cpu(3);
    assert_false(share_allows(&w->m, a, &ask, SHARE_ADMISSION, &no));
    assert_int_equal(no.left, 2);
    assert_true(share_allows(&w->m, a, &ask, SHARE_LIMIT, NULL)); /* a promise is no allocation */
    group_of(w, a)->counts.going = cpu(1);
    w->m.queues_changed = true;
    update(w);
    ask = cpu(2);
    assert_false(share_allows(&w->m, a, &ask, SHARE_ADMISSION, &no));
    world_free(w);
}

/* May CPUs be taken from the queue when it has lost some already? */
static bool spares_after(struct world *w, struct sched_queue *q, int lost, struct sched_queue *taker, int lose)
{
    struct amounts ask = cpu(lose), need = cpu(2), gone = cpu(lost);
    bool ok;

    for (struct sched_queue *at = q; at; at = at->parent)
        at->allocated.v[CPU] -= gone.v[CPU];
    ok = share_spares(&w->m, q, taker, &ask, &need);
    for (struct sched_queue *at = q; at; at = at->parent)
        at->allocated.v[CPU] += gone.v[CPU];
    return ok;
}

static void test_spares(void **state)
{
    struct world *w = world_new(12);
    struct sched_queue *up = add_queue(w, "up", ""), *x = add_queue(w, "x", "up"), *y = add_queue(w, "y", "up");
    struct sched_queue *b = add_queue(w, "b", "");
    struct amounts two = cpu(2), memory = { .v = { [MEM] = 1 } };
    struct share_lack no;

    (void)state;
    load(w, x, 12, 0); /* everything */
    load(w, y, 0, 12);
    load(w, b, 0, 12);
    x->guarantee = cpu(2);
    update(w);
    assert_int_equal(up->fair.v[CPU], 6);
    assert_int_equal(x->fair.v[CPU], 3);
    assert_true(spares_after(w, x, 0, y, 2));
    assert_true(spares_after(w, x, 0, b, 2));
    assert_true(spares_after(w, x, 5, b, 2));
    assert_false(spares_after(w, x, 6, b, 2)); /* up is down to 6 */
    assert_true(spares_after(w, x, 8, y, 2));
    assert_false(spares_after(w, x, 8, y, 4));              /* guarantee */
    assert_false(share_spares(&w->m, x, y, &two, &memory)); /* would not help */
    assert_false(spares_after(w, x, 0, x, 2));              /* itself */
    assert_false(spares_after(w, y, 0, b, 2));              /* has nothing */
    up->is_reclaimable = false; /* protects what is below it against others, not among themselves */
    assert_false(spares_after(w, x, 0, b, 2));
    assert_true(spares_after(w, x, 0, y, 2));
    x->is_reclaimable = false; /* checklist 26 */
    assert_false(spares_after(w, x, 0, y, 2));

    /* The taker is refused by the queue above both. */
    assert_false(share_allows(&w->m, y, &two, SHARE_FAIR, &no));
    assert_ptr_equal(no.queue, up);
    world_free(w);
}

static void test_order(void **state)
{
    struct world *w = world_new(20);
    struct sched_queue *up = add_queue(w, "up", ""), *x = add_queue(w, "x", "up"), *y = add_queue(w, "y", "up");
    struct sched_queue *b = add_queue(w, "b", "");

    (void)state;
    load(w, x, 4, 8);
    load(w, y, 2, 8);
    load(w, b, 5, 8);
    update(w);
    assert_true(share_cmp(&w->m, y, x) < 0); /* 2 of 5 before 4 of 5 */
    assert_true(share_cmp(&w->m, b, y) < 0); /* up has 6 of 10, b 5 of 10: compared below root */
    assert_true(share_cmp(&w->m, b, x) < 0);
    assert_int_equal(share_of(&w->m, b), 1 << 19);
    assert_int_equal(share_cmp(&w->m, x, x), 0);
    assert_true(share_cmp(&w->m, up, x) < 0 && share_cmp(&w->m, x, up) > 0);
    x->priority = 10; /* checklist 25 */
    assert_true(share_cmp(&w->m, x, y) < 0);
    assert_true(share_cmp(&w->m, b, x) < 0); /* up has none */
    up->priority = 1;
    assert_true(share_cmp(&w->m, x, b) < 0);
    up->priority = 0;
    load(w, x, 3, 8);
    update(w);
    b->created_ms = 2;
    up->created_ms = 1;
    assert_true(share_cmp(&w->m, x, b) < 0 && share_cmp(&w->m, b, x) > 0);
    b->created_ms = 1;
    assert_true(share_cmp(&w->m, b, x) < 0); /* "b" < "up" */
    assert_ptr_equal(share_common(x, y), up);
    assert_ptr_equal(share_common(x, b), w->m.root);
    assert_ptr_equal(share_common(x, up), up);
    world_free(w);
}

/* Room goes up when somebody who lacks gets more, and only then: a new group does not wake all others. */
static void test_room(void **state)
{
    struct world *w = world_new(10);
    struct sched_queue *a = add_queue(w, "a", ""), *b = add_queue(w, "b", "");
    uint64_t room;

    (void)state;
    load(w, a, 4, 0);
    update(w);
    room = w->m.room_gen;
    update(w); /* nothing changed */
    load(w, b, 0, 3);
    update(w); /* new demand that is met */
    load(w, b, 0, 30);
    update(w); /* … that is not */
    load(w, b, 3, 27);
    update(w); /* placed */
    assert_int_equal(w->m.room_gen, room);
    assert_int_equal(b->lacking, 1 << CPU);
    load(w, a, 2, 0);
    update(w); /* a gives up what b lacks */
    assert_int_equal(w->m.room_gen, room + 1);
    b->capability.v[CPU] = 5;
    w->m.shares_changed = true;
    update(w);
    assert_int_equal(w->m.room_gen, room + 1);
    b->capability.v[CPU] = 6;
    w->m.shares_changed = true;
    update(w);
    assert_int_equal(w->m.room_gen, room + 2);
    world_free(w);
}

/* ---- laws ---- */

/* Asked for and usable, counted again the slow way: each queue for itself, recursively. */
static int64_t promised(const struct sched_queue *q, int dim);
static int64_t usable(const struct sched_queue *q, int dim)
{
    int64_t sum = q->allocated.v[dim] + q->going.v[dim] + q->demand.v[dim], idle = 0;

    VEC_FOREACH(child, &q->children) {
        const struct sched_queue *c = *child;

        sum += usable(c, dim) - (c->allocated.v[dim] + c->going.v[dim] + c->demand.v[dim]);
        idle += MAX_OF(promised(c, dim) - usable(c, dim), 0); /* guarantees are not lent */
    }
    return MIN_OF(sum, MAX_OF(q->limit.v[dim] - idle, 0));
}

static int64_t own_request(const struct sched_queue *q, int dim)
{
    int64_t own = q->allocated.v[dim] + q->going.v[dim] + q->demand.v[dim];

    VEC_FOREACH(child, &q->children)
        own -= (*child)->allocated.v[dim] + (*child)->going.v[dim] + (*child)->demand.v[dim];
    return own;
}

static int64_t promised(const struct sched_queue *q, int dim)
{
    int64_t sum = 0;

    VEC_FOREACH(child, &q->children)
        sum += promised(*child, dim);
    sum = MAX_OF(sum, q->guarantee.v[dim]);
    return MIN_OF(sum, q->capability.v[dim]);
}

/* Can all guarantees on the way down to this queue be kept? Groups in inner queues eat from them. */
static bool is_feasible(const struct sched_queue *q, int dim)
{
    for (const struct sched_queue *up = q->parent; up; up = up->parent) {
        int64_t sum = 0;

        VEC_FOREACH(child, &up->children)
            sum += promised(*child, dim);
        if (sum > up->limit.v[dim] || own_request(up, dim) > 0)
            return false;
    }
    return true;
}

static bool is_plain(const struct sched_queue *q, int dim)
{
    return promised(q, dim) == 0 && !q->has_deserved && q->children.n == 0;
}

#define LAW(holds)                                                                                                     \
    do {                                                                                                               \
        if (!(holds))                                                                                                  \
            fail_msg("seed %lu, queue %.*s, dimension %d: not %s", (unsigned long)seed, STR_ARG(q->name), dim,         \
                     #holds);                                                                                          \
    } while (0)

/* One level for all: who lacks something has no less for its weight than any sibling. */
static void check_envy(uint64_t seed, const struct sched_queue *q, int dim)
{
    VEC_FOREACH(sibling, &q->parent->children) {
        const struct sched_queue *s = *sibling;
        __int128 mine = (__int128)q->fair.v[dim] * s->weight, theirs = (__int128)s->fair.v[dim] * q->weight;

        if (s != q && is_plain(s, dim))
            LAW(theirs <= mine + s->weight + q->weight);
    }
}

static void check_queue(uint64_t seed, const struct sched_queue *q, int dim)
{
    int64_t fair = q->fair.v[dim], limit = q->limit.v[dim], ask = usable(q, dim), below = 0, others = 0;
    int64_t request = q->allocated.v[dim] + q->going.v[dim] + q->demand.v[dim];
    int64_t kept = MIN_OF(ask, q->guarantee.v[dim]);

    LAW(limit >= 0 && limit <= q->capability.v[dim]);
    LAW(fair >= 0 && fair <= limit && fair <= request);
    LAW(((q->lacking >> dim) & 1) == (fair < ask));
    VEC_FOREACH(child, &q->children)
        below += (*child)->fair.v[dim];
    LAW(below <= fair);
    VEC_FOREACH(child, &q->children) /* work conserving: somebody lacks, so nothing is left */
        LAW((*child)->fair.v[dim] == usable(*child, dim) || below == MAX_OF(fair - own_request(q, dim), 0));
    if (!q->parent)
        return;
    VEC_FOREACH(sibling, &q->parent->children)
        others += *sibling == q ? 0 : promised(*sibling, dim);
    LAW(limit <= q->parent->limit.v[dim]);
    if (!is_feasible(q, dim))
        return;
    LAW(limit <= q->parent->limit.v[dim] - others);
    LAW(fair >= kept);
    if (fair < ask && is_plain(q, dim))
        check_envy(seed, q, dim);
}

struct draw { /* what a queue is made of, to make it twice */
    char name[24], parent[24];
    int64_t weight, guarantee[2], deserved[2], capability[2], runs[2], going[2], waits[2];
    bool has_deserved;
};

static int64_t amount(struct rand *r, int64_t most, uint64_t one_in)
{
    return rand_chance(r, 1, one_in) ? rand_between(r, 0, most) : 0;
}

static void draw_queue(struct rand *r, struct draw *d, size_t i, int64_t most)
{
    (void)snprintf(d->name, sizeof(d->name), "q%02zu", i);
    if (rand_chance(r, 2, 3)) /* also later ones, itself, and some that do not exist */
        (void)snprintf(d->parent, sizeof(d->parent), "q%02d",
                       (int)rand_below(r, rand_chance(r, 9, 10) ? i + 1 : QUEUES_MAX));
    d->weight = rand_between(r, 1, rand_chance(r, 1, 5) ? 65535 : 5);
    d->has_deserved = rand_chance(r, 1, 3);
    for (int k = 0; k < 2; k++) {
        d->guarantee[k] = amount(r, most / 4, 4);
        d->deserved[k] = rand_chance(r, 1, 5) ? -1 : rand_between(r, 0, most);
        d->capability[k] = rand_chance(r, 1, 3) ? rand_between(r, 0, 2 * most) : AMOUNT_UNLIMITED;
        d->runs[k] = amount(r, most, 2);
        d->going[k] = amount(r, most, 8);
        d->waits[k] = amount(r, 3 * most, 2);
    }
}

static void make_queue(struct world *w, const struct draw *d)
{
    struct sched_queue *q = add_queue(w, d->name, d->parent);
    struct sched_group *g = group_of(w, q);

    q->weight = d->weight;
    q->has_deserved = d->has_deserved;
    if (q->has_deserved)
        amounts_fill(&q->deserved, -1);
    for (int k = 0; k < 2; k++) {
        q->guarantee.v[k] = d->guarantee[k];
        q->capability.v[k] = d->capability[k];
        if (q->has_deserved)
            q->deserved.v[k] = d->deserved[k];
        g->counts.allocated.v[k] = d->runs[k];
        g->counts.going.v[k] = d->going[k];
        g->demand.v[k] = d->waits[k];
    }
}

/* Groups in queues that have others below them are rare but not impossible (D25). */
static void empty_inner(struct rand *r, struct world *w)
{
    share_link(&w->m);
    for (size_t i = 0; i < w->n; i++)
        if (w->queues[i].children.n && !rand_chance(r, 1, 20)) {
            struct sched_group *g = group_of(w, &w->queues[i]);

            g->counts.allocated = g->counts.going = g->demand = (struct amounts){ 0 };
        }
    share_link(&w->m);
}

static void test_laws(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6000; seed++) {
        struct draw draws[QUEUES_MAX - 1] = { 0 };
        struct world *w, *other;
        struct rand r;
        int64_t most;
        size_t n;

        rand_seed(&r, seed);
        n = 1 + rand_below(&r, rand_chance(&r, 1, 4) ? QUEUES_MAX - 1 : 8);
        most = rand_chance(&r, 1, 3) ? (int64_t)1 << 50 : rand_between(&r, 1, 30);
        w = world_new(rand_between(&r, 0, 3 * most));
        other = world_new(w->m.total.v[CPU]);
        w->m.total.v[MEM] = other->m.total.v[MEM] = rand_between(&r, 0, 3 * most);
        for (size_t i = 0; i < n; i++) {
            draw_queue(&r, &draws[i], i, most);
            make_queue(w, &draws[i]);
        }
        map_done(&other->m.queues); /* another hash, told in another order, in several steps: the same shares */
        map_init(&other->m.queues, seed);
        map_put(&other->m.queues, STR("root"), other->m.root);
        for (size_t i = n; i-- > 0;) {
            make_queue(other, &draws[i]);
            if (rand_chance(&r, 1, 4))
                update(other);
        }
        empty_inner(&r, w);
        update(w);
        for (size_t i = 0; i < w->n; i++)
            for (int dim = 0; dim < 2; dim++)
                check_queue(seed, &w->queues[i], dim);
        for (size_t i = 0; i < n; i++) { /* the same groups as in 'w' */
            struct sched_queue *a = map_get(&w->m.queues, str_of(draws[i].name));
            struct sched_queue *b = map_get(&other->m.queues, a->name);

            group_of(other, b)->counts.allocated = group_of(w, a)->counts.allocated;
            group_of(other, b)->counts.going = group_of(w, a)->counts.going;
            group_of(other, b)->demand = group_of(w, a)->demand;
        }
        share_link(&other->m);
        update(other);
        for (size_t i = 0; i < n; i++) {
            struct sched_queue *a = map_get(&w->m.queues, str_of(draws[i].name));
            struct sched_queue *b = map_get(&other->m.queues, a->name);

            if (!amounts_equal(&a->fair, &b->fair, 2) || !amounts_equal(&a->limit, &b->limit, 2))
                fail_msg("seed %lu: queue %s depends on the order of telling", (unsigned long)seed, draws[i].name);
        }
        world_free(w);
        world_free(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flat),      cmocka_unit_test(test_foreign),       cmocka_unit_test(test_missing_name),
        cmocka_unit_test(test_hierarchy), cmocka_unit_test(test_limited_child), cmocka_unit_test(test_inherited),
        cmocka_unit_test(test_links),     cmocka_unit_test(test_admits),        cmocka_unit_test(test_spares),
        cmocka_unit_test(test_order),     cmocka_unit_test(test_room),          cmocka_unit_test(test_laws),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
