/* parked.c - passing over gangs that the nodes would refuse changes no decision
 *
 * Two schedulers live through the same random days of a full cluster. One asks every gang in every round
 * (sched_config.asks_all); the other passes over those that it has parked (sched/gang/parked.h). Round for round both
 * must bind, evict, nominate and admit the same, in the same order, and ask to be woken at the same time.
 *
 *     test_sched_parked [--seed N] [--count N]
 */
#include "harness.h"

#include "base/rand.h"
#include "base/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS = 40, STEPS = 40, ROUNDS_MAX = 30, CHECKED = 16 };

struct side {
    struct h *h;
    struct buf told; /* what the last round decided */
    const char *groups[JOBS];
};

struct pair {
    struct rand rand;
    struct side asks, parks;
    int n_jobs, n_queues, n_nodes, n_teams; /* teams: queues above those of the jobs */
    bool says_runtime;
};

static void each_job(struct sched_config *c)
{
    c->retell = 2;
    c->retell_ms = 0;
    c->coming_ms = 0;
    c->rewrite_ms = INT64_MAX;
}

static void ask_all(struct sched_config *c)
{
    each_job(c);
    c->asks_all = true;
}

/* Texts may tell of the same refusal at another time of the round: a status of the same phase is not compared. */
static void keep(struct h *h, const struct decision *d)
{
    struct side *s = h->ctx;

    if (d->kind == DECIDE_GROUP) {
        struct str phase = json_member_text(d->status, "phase");

        if (!str_eq(phase, h_group_phase(h, arena_str(&h->arena, d->name).p)))
            buf_fmt(&s->told, "group %.*s %.*s\n", STR_ARG(d->name), STR_ARG(phase));
    } else if (d->kind <= DECIDE_NOMINATE)
        h_story(&s->told, d);
}

static void side_init(struct side *s, void (*configure)(struct sched_config *c))
{
    s->h = h_new(configure);
    s->h->on_decision = keep;
    s->h->ctx = s;
}

static void fail(const struct pair *p, uint64_t seed, int step)
{
    fprintf(stderr, "seed %llu, step %d: all are asked, then some are parked (woken at %lld, %lld):\n%.*s----\n%.*s",
            (unsigned long long)seed, step, (long long)p->asks.h->wake_ms, (long long)p->parks.h->wake_ms,
            STR_ARG(buf_view(&p->asks.told)), STR_ARG(buf_view(&p->parks.told)));
    exit(1);
}

static void round_both(struct pair *p, uint64_t seed, int step)
{
    for (int i = 0; i < ROUNDS_MAX; i++) {
        uint32_t n;

        buf_reset(&p->asks.told);
        buf_reset(&p->parks.told);
        n = h_round(p->asks.h);
        n += h_round(p->parks.h);
        if (!str_eq(buf_view(&p->asks.told), buf_view(&p->parks.told)) || p->asks.h->wake_ms != p->parks.h->wake_ms)
            fail(p, seed, step);
        if (n == 0)
            return;
    }
}

/* ---- events ---- told to both ---- */

static void add_node(struct pair *p)
{
    char name[16], amounts[64];

    (void)snprintf(name, sizeof(name), "n%d", p->n_nodes++);
    (void)snprintf(amounts, sizeof(amounts), "cpu: %d, memory: 64Gi", (int)rand_between(&p->rand, 3, 8));
    (void)h_node(p->asks.h, name, amounts);
    (void)h_node(p->parks.h, name, amounts);
}

static void add_job(struct pair *p)
{
    static const char *const priorities[] = { NULL, "p1", "p2" };
    struct arena *a = &p->parks.h->arena; /* the objects of both borrow the texts, and this side ends last */
    int n = (int)rand_between(&p->rand, 1, 6), at = p->n_jobs;
    bool is_elastic = rand_chance(&p->rand, 1, 6);
    struct h_job j = { .min = is_elastic ? (n + 1) / 2 : n, .replicas = n };
    const char *name;

    if (at == JOBS)
        return;
    p->n_jobs++;
    name = arena_fmt(a, "j%d", at).p;
    j.queue = arena_fmt(a, "q%d", (int)rand_below(&p->rand, (uint64_t)p->n_queues)).p;
    j.pod = arena_fmt(a, "cpu: %d", (int)rand_between(&p->rand, 1, 4)).p;
    j.pod = arena_fmt(a, "%s, memory: %dMi", j.pod, rand_chance(&p->rand, 1, 3) ? 64 : 100 + at).p;
    j.priority = priorities[rand_below(&p->rand, ARRAY_LEN(priorities))];
    if (p->says_runtime && rand_chance(&p->rand, 4, 5))
        j.more =
            arena_fmt(a, "metadata: {annotations: {pumice.dev/runtime: %dm}}", (int)rand_between(&p->rand, 1, 30)).p;
    j.group_more = j.more;
    p->asks.groups[at] = h_job_new(p->asks.h, name, &j);
    p->parks.groups[at] = h_job_new(p->parks.h, name, &j);
}

/* As the job controller does: pods for those that were let in. */
static void make_pods(const struct pair *p, const struct side *s)
{
    for (int i = 0; i < p->n_jobs; i++) {
        struct h_object *g = h_get(s->h, "PodGroup", s->groups[i]);
        struct json *job = g ? h_get(s->h, "Job", arena_fmt(&s->h->arena, "j%d", i).p)->root : NULL;
        int64_t want = job ? json_i64(json_find(json_at(json_find(job, "spec", "tasks", NULL), 0), "replicas", NULL), 0)
                           : 0;
        int has = g ? h_bound(s->h, s->groups[i]) + h_waiting(s->h, s->groups[i]) + h_going(s->h, s->groups[i]) : 0;

        if (g && !str_is(h_group_phase(s->h, s->groups[i]), "Pending") &&
            !str_empty(h_group_phase(s->h, s->groups[i])) && has < want)
            h_job_pods(s->h, s->groups[i], (int)want - has);
    }
}

static void end_job(const struct side *s, int i)
{
    if (h_get(s->h, "PodGroup", s->groups[i]) && h_bound(s->h, s->groups[i]))
        h_phase_all(s->h, s->groups[i], "Succeeded");
}

static void change(struct pair *p)
{
    int i = p->n_jobs ? (int)rand_below(&p->rand, (uint64_t)p->n_jobs) : -1;

    switch (rand_below(&p->rand, 8)) {
    case 0:
    case 1:
        add_job(p);
        return;
    case 2:
        if (rand_chance(&p->rand, 1, 6))
            add_node(p);
        return;
    default:
        if (i < 0)
            return;
        end_job(&p->asks, i);
        end_job(&p->parks, i);
        return;
    }
}

static void add_queue(struct pair *p, const char *name, const char *spec)
{
    (void)h_queue(p->asks.h, name, spec);
    (void)h_queue(p->parks.h, name, spec);
}

/* Up to six queues, below root or below one of up to three others. */
static void add_queues(struct pair *p)
{
    static const char *const specs[] = { "weight: 1",
                                         "weight: 2",
                                         "weight: 1, reclaimable: false",
                                         "weight: 1, capability: {cpu: 9}",
                                         "weight: 1, guarantee: {resource: {cpu: 2}}",
                                         "weight: 3, deserved: {cpu: 4}",
                                         "weight: 1, deserved: {cpu: 6, memory: 8Gi}, capability: {memory: 64Gi}",
                                         "weight: 1, guarantee: {resource: {cpu: 3}}, deserved: {cpu: 5}",
                                         "weight: 2, priority: 5" };
    struct arena *a = &p->parks.h->arena;

    p->n_teams = rand_chance(&p->rand, 1, 2) ? (int)rand_between(&p->rand, 1, 3) : 0;
    p->n_queues = (int)rand_between(&p->rand, 1, p->n_teams ? 6 : 3);
    for (int i = 0; i < p->n_teams; i++)
        add_queue(p, arena_fmt(a, "t%d", i).p, specs[rand_below(&p->rand, ARRAY_LEN(specs))]);
    for (int i = 0; i < p->n_queues; i++) {
        const char *spec = specs[rand_below(&p->rand, i ? ARRAY_LEN(specs) : 2)];

        if (p->n_teams && rand_chance(&p->rand, 5, 6))
            spec = arena_fmt(a, "%s, parent: t%d", spec, (int)rand_below(&p->rand, (uint64_t)p->n_teams)).p;
        add_queue(p, arena_fmt(a, "q%d", i).p, spec);
    }
}

static void begin(struct pair *p)
{
    p->says_runtime = rand_chance(&p->rand, 2, 3);
    h_priority(p->asks.h, "p1", 100, NULL);
    h_priority(p->parks.h, "p1", 100, NULL);
    h_priority(p->asks.h, "p2", 200, NULL);
    h_priority(p->parks.h, "p2", 200, NULL);
    add_queues(p);
    for (int64_t n = rand_between(&p->rand, 2, 5); n > 0; n--)
        add_node(p);
    for (int64_t n = rand_between(&p->rand, 15, 30); n > 0; n--)
        add_job(p);
}

static void live(uint64_t seed)
{
    struct pair p = { 0 };

    rand_seed(&p.rand, seed);
    side_init(&p.asks, ask_all);
    side_init(&p.parks, each_job);
    p.asks.h->is_quick = p.parks.h->is_quick = seed % CHECKED != 0;
    begin(&p);
    for (int step = 0; step < STEPS; step++) {
        int64_t ms = rand_between(&p.rand, 1, 60) * 1000;

        round_both(&p, seed, step);
        for (int again = 0; again < 2; again++) {
            make_pods(&p, &p.asks);
            make_pods(&p, &p.parks);
            round_both(&p, seed, step);
        }
        h_run(p.asks.h);
        h_run(p.parks.h);
        (void)h_finish_deletes(p.asks.h);
        (void)h_finish_deletes(p.parks.h);
        h_pass(p.asks.h, ms);
        h_pass(p.parks.h, ms);
        for (int64_t n = rand_between(&p.rand, 0, 2); n > 0; n--)
            change(&p);
    }
    h_free(p.asks.h);
    h_free(p.parks.h);
    buf_done(&p.asks.told);
    buf_done(&p.parks.told);
}

int main(int argc, char **argv)
{
    int64_t seed = 1, count = 200;

    for (int i = 1; i + 1 < argc; i += 2) {
        int64_t v = 0;

        if (str_to_i64(str_of(argv[i + 1]), &v) < 0)
            return 2;
        if (strcmp(argv[i], "--seed") == 0)
            seed = v;
        else
            count = v;
    }
    for (int64_t i = seed; i < seed + count; i++)
        live((uint64_t)i);
    printf("%lld worlds alike\n", (long long)count);
    return 0;
}
