/* property.c - rules that hold for every cluster: random ones, counted afresh after every round
 *
 *     test_sched_property --count 100000            clusters from seed 1 on
 *     test_sched_property --seed 4711 --trace       one of them again, with all that is decided
 *
 * In each: some steps in which things happen and the scheduler decides; evictions are let come true, and those they
 * were for must run; then nothing new comes, pods end, and everything that can run must have run.
 */
#include "world.h"

#include "base/util.h"

#include <signal.h>

static uint64_t running_seed; /* for the last words of a program that stops */
static bool is_trace;

static void last_words(int sig)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "\nseed %llu\n", (unsigned long long)running_seed);

    if (write(2, text, (size_t)n) < 0) {
        /* there is nobody to tell */
    }
    signal(sig, SIG_DFL);
    raise(sig);
}

static void last_words_at_exit(void)
{
    if (running_seed)
        fprintf(stderr, "seed %llu\n", (unsigned long long)running_seed);
}

/* The first line in which the two differ is enough to begin with. */
static void report_difference(struct str mine, struct str other)
{
    struct str a = STR_NULL, b = STR_NULL;
    bool has_a = true, has_b = true;

    while (has_a || has_b) {
        has_a = str_split(&mine, '\n', &a);
        has_b = str_split(&other, '\n', &b);
        if (has_a != has_b || !str_eq(a, b)) {
            printf("    one:   %.*s\n    other: %.*s\n", STR_ARG(has_a ? a : STR("(end)")),
                   STR_ARG(has_b ? b : STR("(end)")));
            return;
        }
    }
}

static void print_world(const struct world *w)
{
    for (int i = 0; i < w->n_nodes; i++)
        printf("    node %s: %lldm %lldMi %lld gpu, zone %d%s%s\n", w->nodes[i].name, (long long)w->nodes[i].has[CPU],
               (long long)w->nodes[i].has[MEM], (long long)w->nodes[i].has[GPU], w->nodes[i].zone,
               w->nodes[i].is_tainted ? ", tainted" : "", w->nodes[i].exists ? "" : ", gone");
    for (int i = 0; i < w->n_queues; i++)
        printf("    queue %s below %s: capability %lldm %lldMi, guarantee %lldm%s\n", w->queues[i].name,
               w->queues[i].parent < 0 ? "root" : w->queues[w->queues[i].parent].name, (long long)w->queues[i].cap[CPU],
               (long long)w->queues[i].cap[MEM], (long long)w->queues[i].guarantee[CPU],
               w->queues[i].is_reclaimable ? "" : ", not reclaimable");
    for (int i = 0; i < w->n_groups; i++) {
        const struct w_group *g = &w->groups[i];

        printf("    group %s in %s, priority %d: min %d (%d, %d) of %lldm %lldMi %lld gpu, zone %d%s%s%s; %d made, %d "
               "ready%s\n",
               g->name, w->queues[g->queue].name, g->priority, g->min, g->role_min[0], g->role_min[1],
               (long long)g->ask[CPU], (long long)g->ask[MEM], (long long)g->ask[GPU], g->zone,
               g->tolerates ? ", tolerates" : "", g->has_anti ? ", anti" : "", g->is_safe ? ", safe" : "", g->pods_made,
               group_ready_pods(w, i), g->was_whole ? ", stood" : "");
    }
}

static void report(const struct world *w, int step)
{
    printf("seed %llu, step %d: %s: %s\n", (unsigned long long)w->seed, step, w->wrong, w->detail);
    if (is_trace)
        print_world(w);
    if (strstr(w->wrong, "order of news") || strstr(w->wrong, "fresh"))
        report_difference(buf_view(&w->h->story), buf_view(&w->twin_story));
}

/* Groups that something was evicted for in this round, by number. */
static int wanted_groups(const struct world *w, bool *ret)
{
    int n = 0;

    memset(ret, 0, W_GROUPS * sizeof(*ret));
    for (int i = 0; i < w->n_groups; i++)
        for (int k = 0; k < w->n_groups && w->groups[i].evicted_now; k++)
            if (strcmp(w->groups[i].evicted_for, w->groups[k].key) == 0 && !ret[k] &&
                strcmp(w->groups[i].reason, "gang") != 0) {
                ret[k] = true;
                n++;
            }
    return n;
}

/* A higher priority of its queue could use the room at last: it goes first, whoever made the room. */
static bool gave_way(struct world *w, int group, const int *before)
{
    const struct w_group *g = &w->groups[group];

    for (int i = 0; i < w->n_groups; i++)
        if (w->groups[i].queue == g->queue && w->groups[i].priority > g->priority && group_ready_pods(w, i) > before[i])
            return true;
    return false;
}

/* Evictions were decided. When the victims are gone those they were for are placed, if nothing else happens. */
static void let_evictions_come_true(struct world *w)
{
    bool wanted[W_GROUPS];
    int before[W_GROUPS];
    bool comes_back = rand_chance(&w->r, 1, 2); /* the victims' pods are made again at once */
    bool one_by_one = rand_chance(&w->r, 1, 2); /* they go one after another, with rounds in between */

    if (!wanted_groups(w, wanted))
        return;
    for (int i = 0; i < w->n_groups; i++)
        before[i] = group_ready_pods(w, i);
    for (int left = 4; left > 0; left--) {
        if (world_finish_deletes(w, one_by_one ? 1 : INT_MAX) && one_by_one)
            left++;
        for (int k = 0; k < w->n_groups && comes_back; k++)
            world_replace_pods(w, k);
        world_round(w);
    }
    for (int i = 0; i < w->n_groups; i++)
        if (wanted[i] && !group_stands(w, i) && !gave_way(w, i, before))
            world_wrong(w, "evicted for nothing", "%s still waits", w->groups[i].name);
}

/* A new scheduler that is told the state places the same pods on the same nodes. Not where places are kept or rounds
 * before left a memory: that is not in the objects. */
static bool has_memory(struct world *w)
{
    struct sched_group_view v;

    for (int i = 0; i < w->n_groups; i++) {
        if (sched_group_view(w->h->s, STR("default"), str_of(w->groups[i].name), &v) && v.has_hold)
            return true;
        /* That it stood once, and that reserving for it was of no use, is not in the objects either. */
        if ((w->groups[i].was_whole || w->groups[i].has_anti) && !group_stands(w, i))
            return true;
    }
    return w->has_evictions;
}

static void binds_only(struct buf *out, struct str story)
{
    struct str line;

    while (str_split(&story, '\n', &line))
        /* How long a gang has been broken is not in the objects. */
        if (str_starts(line, STR("bind ")) || (str_starts(line, STR("evict ")) && !str_has(line, STR(" [gang] ")))) {
            buf_str(out, line);
            buf_char(out, '\n');
        }
}

static void compare_fresh(struct world *w, struct sched *fresh)
{
    struct sched_round round = { 0 };
    autobuf a = { 0 }, b = { 0 };

    buf_reset(&w->twin_story);
    sched_round(fresh, w->h->now_ms, &round);
    VEC_FOREACH(d, &round.list)
        h_story(&w->twin_story, d);
    story_sort(&w->twin_story);
    binds_only(&a, buf_view(&w->h->story));
    binds_only(&b, buf_view(&w->twin_story));
    if (!str_eq(buf_view(&a), buf_view(&b))) { /* it may find out in one round who does not count in the next */
        round.list.n = 0;
        sched_round(fresh, w->h->now_ms, &round);
        VEC_FOREACH(d, &round.list)
            h_story(&w->twin_story, d);
        story_sort(&w->twin_story);
        buf_reset(&b);
        binds_only(&b, buf_view(&w->twin_story));
    }
    if (!str_eq(buf_view(&a), buf_view(&b)))
        world_wrong(w, "a fresh scheduler decides otherwise", "see below");
    arena_done(&round.arena);
    sched_free(fresh);
}

static struct sched *make_fresh(struct world *w)
{
    struct sched *fresh = sched_new(&w->h->config, 99);

    VEC_FOREACH(at, &w->h->list)
        if (!(*at)->is_gone)
            sched_put(fresh, (*at)->root);
    return fresh;
}

/* ---- the end of a world: nothing new comes ---- */

enum { DRAIN_STEPS = 150 };

static bool is_over(const struct world *w)
{
    for (int i = 0; i < w->n_groups; i++)
        if (!w->groups[i].was_whole && group_is_feasible(w, i))
            return false;
    return true;
}

static void drain(struct world *w)
{
    for (int step = 0; step < DRAIN_STEPS && !is_over(w) && !w->wrong; step++) {
        h_pass(w->h, 10000);
        world_finish_deletes(w, INT_MAX);
        world_run_bound(w);
        for (int i = 0; i < w->n_pods; i++)
            if (w->pods[i].state == W_RUNS && w->h->now_ms - w->pods[i].started_ms >= 20000)
                world_finish(w, i, true);
        for (int i = 0; i < w->n_groups; i++)
            if (!w->groups[i].was_whole)
                world_replace_pods(w, i);
        world_round(w);
        let_evictions_come_true(w);
    }
    for (int i = 0; i < w->n_groups; i++)
        if (!w->wrong && !w->groups[i].was_whole && group_is_feasible(w, i))
            world_wrong(w, "it never ran", "%s", w->groups[i].name);
}

static bool one_world(uint64_t seed, int *ret_rounds)
{
    static struct world w;
    int steps, step;
    bool is_good;

    running_seed = seed;
    world_make(&w, seed);
    w.h->has_trace = w.h->has_trace || is_trace;
    steps = (int)rand_between(&w.r, 3, 12);
    for (step = 0; step < steps && !w.wrong; step++) {
        struct sched *fresh = NULL;

        if (rand_chance(&w.r, 1, 4) && !has_memory(&w))
            fresh = make_fresh(&w);
        world_round(&w);
        if (fresh && !has_memory(&w))
            compare_fresh(&w, fresh);
        else
            sched_free(fresh);
        if (!w.wrong && rand_chance(&w.r, 2, 3))
            let_evictions_come_true(&w);
        if (!w.wrong)
            world_happens(&w);
    }
    if (!w.wrong)
        drain(&w);
    *ret_rounds += step;
    is_good = !w.wrong;
    if (!is_good)
        report(&w, step);
    world_done(&w);
    return is_good;
}

/* ---- starvation bound ---- */

/* A gang of 'big' pods among single jobs that come all the time and run for 'run_s' seconds. */
static bool one_stream(uint64_t seed)
{
    enum { JOBS = 4000 };
    static struct {
        char pod[24];
        int64_t end_ms;
        bool is_over;
    } jobs[JOBS];
    struct rand r;
    struct h *h = h_new(NULL);
    int n = 0, nodes, cpus, run_s, every_s, first = 0;
    int64_t came = 0, big;
    bool is_good;

    running_seed = seed;
    rand_seed(&r, seed);
    nodes = (int)rand_between(&r, 1, 4);
    cpus = (int)rand_between(&r, nodes == 1 ? 2 : 1, 4);
    run_s = (int)rand_between(&r, 5, 60);
    big = rand_between(&r, MAX_OF(2, nodes * cpus / 2), MAX_OF(2, nodes * cpus));
    every_s = MAX_OF(1, run_s / (nodes * cpus));
    h->has_trace = h->has_trace || is_trace;
    for (int i = 0; i < nodes; i++) {
        char name[16], amounts[16];

        snprintf(name, sizeof(name), "n%d", i);
        snprintf(amounts, sizeof(amounts), "cpu: %d", cpus);
        h_node(h, name, amounts);
    }
    for (int s = 0; s < 400 && n < JOBS - 2; s++) {
        bool is_early = s < 60;

        if (s == 60) {
            h_group(h, "big", .min = (int)big);
            h_pods(h, "big", "w", (int)big, "cpu: 1");
            came = h->now_ms;
        }
        for (int i = first; i < n; i++)
            if (jobs[i].end_ms && !jobs[i].is_over && jobs[i].end_ms <= h->now_ms) {
                h_phase(h, jobs[i].pod, "Succeeded");
                jobs[i].is_over = true;
            }
        if (s % (is_early ? every_s + 1 : every_s) == 0) {
            char name[16];

            snprintf(name, sizeof(name), "s%d", n);
            h_group(h, name, .min = 1);
            h_pods(h, name, "w", 1, "cpu: 1");
            snprintf(jobs[n].pod, sizeof(jobs[n].pod), "%s-w-0", name);
            jobs[n].end_ms = 0;
            jobs[n++].is_over = false;
        }
        h_settle(h);
        h_run(h);
        for (int i = first; i < n; i++)
            if (!jobs[i].end_ms && !str_empty(h_node_of(h, jobs[i].pod)))
                jobs[i].end_ms = h->now_ms + 1000 * run_s;
        while (first < n && jobs[first].is_over)
            first++;
        if (came && h_bound(h, "big"))
            break;
        h_pass(h, 1000);
    }
    is_good = h_bound(h, "big") && h->now_ms - came <= h->config.reserve_after_ms + 1000 * run_s + 2000;
    if (!is_good)
        printf("seed %llu: a gang of %lld on %d x %d CPUs waited %lld s behind jobs of %d s\n",
               (unsigned long long)seed, (long long)big, nodes, cpus, (long long)(h->now_ms - came) / 1000, run_s);
    h_free(h);
    return is_good;
}

int main(int argc, char **argv)
{
    uint64_t seed = 1;
    int64_t count = 1000, most_bad = 5;
    int bad = 0, rounds = 0;

    for (int i = 1; i < argc; i++) {
        int64_t v = 0;

        if (strcmp(argv[i], "--trace") == 0) {
            is_trace = true;
            continue;
        }
        if (i + 1 == argc || str_to_i64(str_of(argv[i + 1]), &v) < 0) {
            fprintf(stderr, "usage: %s [--seed N] [--count N] [--bad N] [--trace]\n", argv[0]);
            return 2;
        }
        if (strcmp(argv[i], "--seed") == 0) {
            seed = (uint64_t)v;
            count = 1;
        } else if (strcmp(argv[i], "--count") == 0) {
            count = v;
        } else if (strcmp(argv[i], "--bad") == 0) {
            most_bad = v;
        }
        i++;
    }
    atexit(last_words_at_exit); /* the harness ends the program when a decision makes no sense */
    signal(SIGABRT, last_words);
    signal(SIGSEGV, last_words);
    for (uint64_t s = seed; s < seed + (uint64_t)count && bad < most_bad; s++) {
        bad += !one_world(s, &rounds);
        if (s % 100 == 0)
            bad += !one_stream(s);
        if (s % 20 == 0)
            bad += !one_tree(s, is_trace);
    }
    running_seed = 0;
    printf("%lld clusters from seed %llu, %d steps, %d bad\n", (long long)count, (unsigned long long)seed, rounds, bad);
    return bad ? 1 : 0;
}
