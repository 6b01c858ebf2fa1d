/* sched_full.c - what an end costs when the cluster is full and many gangs wait
 *
 * Every node is full of running gangs. One gang after another ends; whoever can start then is placed and told back as
 * running. The figure is the CPU time of all rounds between one end and the next, for 1,000 and for 10,000 gangs that
 * wait. Work that follows the event costs the same for both: the ratio is what matters.
 */
#include "sched_full.h"

#include "base/util.h"
#include "sched/sched.h"

#include <time.h>

enum { NODE_CPU = 64, GANG_PODS = 4, ENDS = 200, WARM_ENDS = 20 };

struct full_case {
    const char *name;
    int shapes;      /* sizes of pods among those that wait; 1: all alike */
    int queues;      /* they are in, of different weight */
    int priorities;  /* they have, all below that of what runs */
    int big_every;   /* one in so many asks for 20 nodes at once, and is there first; 0: none */
    bool is_near;    /* all pods of a gang below one switch */
    bool says_when;  /* every gang says how long it runs */
    bool is_on_time; /* nobody has waited for a minute: nothing is reserved yet */
};

static const struct full_case cases[] = {
    { "all alike", 1, 1, 1, 0, false, false, true },
    { "200 shapes", 200, 1, 1, 0, false, false, true },
    { "8 queues, 25 shapes", 25, 8, 1, 0, false, false, true },
    { "20 priorities, 10 shapes", 10, 1, 20, 0, false, false, true },
    { "4 queues, big gangs, reservations", 10, 4, 1, 100, false, false, false },
    { "… that say how long they run", 10, 4, 1, 100, false, true, false },
    { "one switch for each gang, 10 shapes", 10, 1, 1, 0, true, false, true },
};

struct gang {
    char name[16];
    char nodes[GANG_PODS][16]; /* where its pods run */
    int n_pods, cpu_milli, queue, priority, runtime_s;
    bool runs;
    struct gang *next; /* in the order of starting */
};

struct full {
    const struct full_case *c;
    struct sched *s;
    struct arena arena;
    struct gang *gangs;
    struct gang *first, *last; /* that run */
    int n_running, n_waiting;
    uint64_t rev;
    int64_t now_ms;
    double round_s;
    uint64_t writes; /* of statuses */
};

static double cpu_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void put(struct full *f, struct arena *a, struct str text)
{
    struct json *tree;
    struct err e;

    if (json_parse(a, text, NULL, &tree, &e) < 0) {
        fprintf(stderr, "bench_sched: %s\n", e.text);
        exit(1);
    }
    sched_put(f->s, tree);
}

/* ---- objects ---- */

static void put_nodes(struct full *f, int n)
{
    autoarena a = { 0 };

    for (int i = 0; i < n; i++)
        put(f, &a,
            arena_fmt(&a,
                      "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n%05d\",\"uid\":\"node-%d\","
                      "\"resourceVersion\":\"%llu\",\"labels\":{\"kubernetes.io/hostname\":\"n%05d\"}},\"status\":"
                      "{\"allocatable\":{\"cpu\":\"%d\",\"memory\":\"256Gi\",\"pods\":\"512\"}}}",
                      i, i, (unsigned long long)++f->rev, i, NODE_CPU));
    for (int i = 0; f->c->is_near && i < n; i += 20) /* switches of 20 nodes */
        put(f, &a,
            arena_fmt(&a,
                      "{\"apiVersion\":\"topology.volcano.sh/v1alpha1\",\"kind\":\"HyperNode\",\"metadata\":{\"name\":"
                      "\"s%03d\"},\"spec\":{\"tier\":1,\"members\":[{\"type\":\"Node\",\"selector\":{\"regexMatch\":"
                      "{\"pattern\":\"^n%03d[%c%c]\"}}}]}}",
                      i / 20, i / 100, '0' + i / 10 % 10, '1' + i / 10 % 10));
}

static void put_queue(struct full *f, const char *name, int weight)
{
    autoarena a = { 0 };

    put(f, &a,
        arena_fmt(&a,
                  "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"%s\","
                  "\"uid\":\"queue-%s\"},\"spec\":{\"weight\":%d},\"status\":{\"state\":\"Open\"}}",
                  name, name, weight));
}

static void put_pod(struct full *f, const struct gang *g, int index, const char *node, const char *phase)
{
    autoarena a = { 0 };
    struct str place = node ? arena_fmt(&a, "\"nodeName\":\"%s\",", node) : STR("");

    put(f, &a,
        arena_fmt(
            &a,
            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s-w-%d\",\"namespace\":\"default\","
            "\"uid\":\"%s-w-%d\",\"resourceVersion\":\"%llu\",\"creationTimestamp\":\"2023-11-14T22:13:20Z\","
            "\"annotations\":{\"scheduling.k8s.io/group-name\":\"%s\",\"volcano.sh/task-spec\":\"w\","
            "\"volcano.sh/task-index\":\"%d\"}},\"spec\":{%.*s\"schedulerName\":\"volcano\",\"containers\":[{"
            "\"name\":\"c\",\"image\":\"image\",\"resources\":{\"requests\":{\"cpu\":\"%dm\"}}}]},\"status\":{"
            "\"phase\":\"%s\",\"startTime\":\"2023-11-14T22:13:20Z\"}}",
            g->name, index, g->name, index, (unsigned long long)++f->rev, g->name, index, STR_ARG(place), g->cpu_milli,
            phase));
}

static void put_group(struct full *f, const struct gang *g, const char *phase)
{
    autoarena a = { 0 };
    struct str near = f->c->is_near ? STR("\"networkTopology\":{\"mode\":\"hard\",\"highestTierAllowed\":1},")
                                    : STR("");
    struct str runtime = f->c->says_when
                             ? arena_fmt(&a, "\"annotations\":{\"pumice.dev/runtime\":\"%ds\"},", g->runtime_s)
                             : STR("");

    put(f, &a,
        arena_fmt(
            &a,
            "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"%s\","
            "%.*s\"namespace\":\"default\",\"uid\":\"group-%s\",\"resourceVersion\":\"%llu\",\"creationTimestamp\":"
            "\"2023-11-14T22:13:20Z\"},\"spec\":{\"minMember\":%d,\"queue\":\"q%d\",%.*s\"priorityClassName\":"
            "\"p%02d\",\"minResources\":{\"cpu\":\"%dm\"}},\"status\":{\"phase\":\"%s\"}}",
            g->name, STR_ARG(runtime), g->name, (unsigned long long)++f->rev, g->n_pods, g->queue, STR_ARG(near),
            g->priority, g->n_pods * g->cpu_milli, phase));
}

static void put_priority(struct full *f, int value)
{
    autoarena a = { 0 };

    put(f, &a,
        arena_fmt(
            &a,
            "{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":\"p%02d\","
            "\"uid\":\"p%02d\"},\"value\":%d}",
            value, value, value));
}

/* ---- what happens ---- */

static void starts(struct full *f, struct gang *g)
{
    for (int i = 0; i < g->n_pods; i++)
        put_pod(f, g, i, g->nodes[i % GANG_PODS], "Running");
    g->runs = true;
    g->next = NULL;
    if (f->last)
        f->last->next = g;
    else
        f->first = g;
    f->last = g;
    f->n_running++;
}

/* The gang that has run longest ends; only its pods and its phase are told, as its controller would. */
static void one_ends(struct full *f)
{
    struct gang *g = f->first;

    f->first = g->next;
    if (!f->first)
        f->last = NULL;
    g->runs = false;
    f->n_running--;
    for (int i = 0; i < g->n_pods; i++)
        put_pod(f, g, i, g->nodes[i % GANG_PODS], "Succeeded");
}

static void bound(struct full *f, const struct decision *d, struct gang **ret)
{
    int64_t number = 0, index = 0;
    long long dash = (long long)str_rfind_char(d->name, '-');

    (void)str_to_i64(str_sub(d->name, 1, 6), &number);
    (void)str_to_i64(str_from(d->name, (size_t)dash + 1), &index);
    *ret = &f->gangs[number];
    (void)snprintf((*ret)->nodes[index % GANG_PODS], sizeof((*ret)->nodes[0]), "%.*s", STR_ARG(d->node));
}

/* Rounds until nothing more is placed; each with what came of the one before. */
static void settle(struct full *f)
{
    uint32_t n;

    do {
        struct sched_round round = { 0 };
        struct gang *g = NULL, *before = NULL;
        double start = cpu_now();

        sched_round(f->s, f->now_ms, &round);
        f->round_s += cpu_now() - start;
        n = round.n_bound;
        VEC_FOREACH(d, &round.list) {
            f->writes += d->kind == DECIDE_GROUP || d->kind == DECIDE_POD_STATUS;
            if (d->kind != DECIDE_BIND)
                continue;
            bound(f, d, &g);
            if (before && before != g)
                starts(f, before);
            before = g;
        }
        if (before)
            starts(f, before);
        arena_done(&round.arena);
        f->now_ms += 10;
    } while (n || !sched_is_idle(f->s));
}

static void make_gangs(struct full *f, int running, int waiting)
{
    f->gangs = arena_array(&f->arena, struct gang, (size_t)(running + waiting));
    for (int i = 0; i < running + waiting; i++) {
        struct gang *g = &f->gangs[i];
        int k = i - running;
        bool is_big = k >= 0 && f->c->big_every && k % f->c->big_every < f->c->queues;

        (void)snprintf(g->name, sizeof(g->name), "g%06d", i);
        g->queue = i % f->c->queues;
        g->n_pods = is_big ? 20 * GANG_PODS : GANG_PODS;
        g->priority = k < 0 ? 50 : k / f->c->queues % f->c->priorities;
        g->cpu_milli = NODE_CPU * 1000 / GANG_PODS - (k < 0 || is_big ? 0 : k % f->c->shapes * 5);
        g->runtime_s = 600 + i % 600;
        put_group(f, g, k < 0 ? "Running" : "Inqueue");
        for (int p = 0; p < g->n_pods; p++)
            if (k < 0)
                (void)snprintf(g->nodes[p], sizeof(g->nodes[p]), "n%05d", i);
            else
                put_pod(f, g, p, NULL, "Pending");
        if (k < 0)
            starts(f, g);
    }
}

static double full_case(const struct full_case *c, int nodes, int waiting, double *ret_writes)
{
    struct full f = { .c = c, .now_ms = 1700000000000 + (c->is_on_time ? 0 : 120000) };
    double us;

    f.s = sched_new(NULL, 1);
    put_queue(&f, "root", 1);
    for (int i = 0; i < c->queues; i++)
        put_queue(&f, arena_fmt(&f.arena, "q%d", i).p, i + 1);
    for (int i = 0; i <= 50; i++)
        put_priority(&f, i);
    put_nodes(&f, nodes);
    make_gangs(&f, nodes, waiting);
    settle(&f);
    for (int i = 0; i < WARM_ENDS + ENDS && f.first; i++) {
        if (i == WARM_ENDS) {
            f.round_s = 0;
            f.writes = 0;
        }
        one_ends(&f);
        settle(&f);
    }
    us = f.round_s * 1e6 / ENDS;
    *ret_writes = (double)f.writes / ENDS;
    sched_free(f.s);
    arena_done(&f.arena);
    return us;
}

void bench_full(bool is_short, const char *only)
{
    int nodes = is_short ? 200 : 1000;

    printf(
        "\na gang ends on a full cluster of %d nodes: CPU of all rounds until the next\n%-38s %10s %8s %10s %8s %7s\n",
        nodes, "those that wait", "1,000: us", "writes", "10,000: us", "writes", "growth");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        double few_writes, many_writes, few, many;

        if (only && !strstr(cases[i].name, only))
            continue;
        few = full_case(&cases[i], nodes, 1000, &few_writes);
        printf("%-38s %10.0f %8.1f", cases[i].name, few, few_writes);
        fflush(stdout);
        many = full_case(&cases[i], nodes, 10000, &many_writes);
        printf(" %10.0f %8.1f %6.2fx\n", many, many_writes, many / few);
    }
}
