/* sched.c - what the gang scheduler costs: pods a second, time of a decision, and what running pods add to it
 *
 * Objects are made before the clock starts and told as JSON trees. "all": CPU time of telling everything and of every
 * round until all is placed, with decisions told back as a driver would. "rounds": inside sched_round() only. "plain
 * scan" is the yardstick of the same run: for each pod a walk over all nodes for the fullest with room, no other rules,
 * no gang, no queue; the ratio is its time to that of "rounds": above 1 it is the slower one.
 *
 * One by one: the same groups arrive each in a round of its own, as they would on a cluster at rest; the time of such a
 * round is the time of a decision. Then the same decision with 0, 50,000 and 100,000 pods already running. Last: pods
 * whose place depends on other pods, for which the nodes are walked.
 */
#include "base/util.h"
#include "sched/sched.h"
#include "sched_full.h"

#include <time.h>

enum { POD_CPU_MILLI = 100, NODE_CPU = 64, NODE_PODS = 512 };

struct bench {
    struct sched *s;
    struct arena arena; /* of the objects */
    VEC(struct json *) nodes;
    VEC(struct json *) groups;
    VEC(struct json *) pods; /* in the order of groups */
    uint64_t rev;
    int64_t now_ms;
    double round_s, feed_s;
    uint32_t bound;
    VEC(double) times; /* of each round */
    bool is_spread;    /* pods of a group keep to an even spread over zones */
};

static double cpu_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- objects ---- */

static struct json *parse(struct arena *a, struct str text)
{
    struct json *tree;
    struct err e;

    if (json_parse(a, text, NULL, &tree, &e) < 0) {
        fprintf(stderr, "bench_sched: %s\n", e.text);
        exit(1);
    }
    return tree;
}

static void make_nodes(struct bench *b, int n)
{
    for (int i = 0; i < n; i++)
        *vec_push(&b->arena, &b->nodes) = parse(
            &b->arena,
            arena_fmt(
                &b->arena,
                "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n%05d\",\"uid\":\"node-%d\","
                "\"resourceVersion\":\"%llu\",\"labels\":{\"kubernetes.io/hostname\":\"n%05d\",\"zone\":\"z%d\"}},"
                "\"status\":{\"allocatable\":{\"cpu\":\"%d\",\"memory\":\"256Gi\",\"pods\":\"%d\"}}}",
                i, i, (unsigned long long)++b->rev, i, i % 3, NODE_CPU, NODE_PODS));
}

static void make_queue(struct bench *b, const char *name)
{
    sched_put(b->s,
              parse(&b->arena, arena_fmt(&b->arena,
                                         "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"Queue\","
                                         "\"metadata\":{\"name\":\"%s\",\"uid\":\"queue-%s\"},\"spec\":{\"weight\":1},"
                                         "\"status\":{\"state\":\"Open\"}}",
                                         name, name)));
}

static struct json *make_pod(struct bench *b, const char *group, int index, const char *node)
{
    struct str place = node ? arena_fmt(&b->arena, "\"nodeName\":\"%s\",", node) : STR("");
    struct str spread = STR("");

    if (b->is_spread)
        spread = arena_fmt(&b->arena,
                           "\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"zone\","
                           "\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":{\"app\":"
                           "\"%s\"}}}],",
                           group);

    return parse(
        &b->arena,
        arena_fmt(&b->arena,
                  "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s-w-%d\",\"namespace\":"
                  "\"default\",\"uid\":\"%s-w-%d\",\"resourceVersion\":\"%llu\",\"creationTimestamp\":"
                  "\"2023-11-14T22:13:20Z\",\"labels\":{\"volcano.sh/task-spec\":\"w\",\"app\":\"%s\"},"
                  "\"annotations\":{\"scheduling.k8s.io/group-name\":\"%s\",\"volcano.sh/task-spec\":\"w\","
                  "\"volcano.sh/task-index\":\"%d\"}},\"spec\":{%.*s%.*s\"schedulerName\":\"volcano\","
                  "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"image\",\"resources\":"
                  "{\"requests\":{\"cpu\":\"%dm\",\"memory\":\"128Mi\"}}}]},\"status\":{\"phase\":\"%s\"}}",
                  group, index, group, index, (unsigned long long)++b->rev, group, group, index, STR_ARG(place),
                  STR_ARG(spread), POD_CPU_MILLI, node ? "Running" : "Pending"));
}

static struct json *make_group(struct bench *b, const char *name, int min, const char *phase)
{
    return parse(
        &b->arena,
        arena_fmt(&b->arena,
                  "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":"
                  "\"%s\",\"namespace\":\"default\",\"uid\":\"group-%s\",\"resourceVersion\":\"%llu\","
                  "\"creationTimestamp\":\"2023-11-14T22:13:20Z\"},\"spec\":{\"minMember\":%d,\"minTaskMember\":"
                  "{\"w\":%d},\"queue\":\"default\",\"minResources\":{\"cpu\":\"%dm\",\"memory\":\"%dMi\"}},"
                  "\"status\":{\"phase\":\"%s\"}}",
                  name, name, (unsigned long long)++b->rev, min, min, min * POD_CPU_MILLI, min * 128, phase));
}

static void make_groups(struct bench *b, int groups, int pods)
{
    for (int i = 0; i < groups; i++) {
        const char *name = arena_fmt(&b->arena, "g%05d", i).p;

        *vec_push(&b->arena, &b->groups) = make_group(b, name, pods, "Pending");
        for (int k = 0; k < pods; k++)
            *vec_push(&b->arena, &b->pods) = make_pod(b, name, k, NULL);
    }
}

/* ---- rounds ---- */

static void bench_init(struct bench *b)
{
    memset(b, 0, sizeof(*b));
    b->now_ms = 1700000000000;
    b->s = sched_new(NULL, 1);
    make_queue(b, "root");
    make_queue(b, "default");
}

static void bench_done(struct bench *b)
{
    sched_free(b->s);
    arena_done(&b->arena);
}

/* The news a bound pod makes: its object with a node. Made outside the clock, told inside. */
static struct json *bound_pod(struct bench *b, struct arena *a, const struct json *pod, struct str node)
{
    struct json *copy = json_copy(a, pod);

    json_set(json_get(copy, "spec"), "nodeName", json_str(a, node));
    json_set(json_get(copy, "metadata"), "resourceVersion", json_fmt(a, "%llu", (unsigned long long)++b->rev));
    return copy;
}

/* The pod with this name: names say where it is. */
static const struct json *pod_of(const struct bench *b, struct str name, int pods)
{
    int64_t group = 0, index = 0;
    struct str head = str_sub(name, 1, 5);

    (void)str_to_i64(head, &group);
    (void)str_to_i64(str_from(name, (size_t)str_rfind_char(name, '-') + 1), &index);
    return b->pods.v[group * pods + index];
}

static uint32_t one_round(struct bench *b, int pods, bool is_told_back)
{
    struct sched_round round = { 0 };
    autoarena a = { 0 };
    VEC(struct json *) news = { 0 };
    double start = cpu_now(), took;
    uint32_t n;

    sched_round(b->s, b->now_ms, &round);
    took = cpu_now() - start;
    b->round_s += took;
    *vec_push(&b->arena, &b->times) = took;
    n = round.n_bound;
    b->bound += n;
    VEC_FOREACH(d, &round.list)
        if (d->kind == DECIDE_BIND && is_told_back)
            *vec_push(&a, &news) = bound_pod(b, &a, pod_of(b, d->name, pods), d->node);
    start = cpu_now();
    VEC_FOREACH(at, &news)
        sched_put(b->s, *at);
    b->feed_s += cpu_now() - start;
    arena_done(&round.arena);
    b->now_ms += 10;
    return n;
}

static int by_time(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

static double at_part(struct bench *b, double part)
{
    size_t i = (size_t)((double)b->times.n * part);

    qsort(b->times.v, b->times.n, sizeof(double), by_time);
    return b->times.n ? b->times.v[MIN_OF(i, b->times.n - 1)] : 0;
}

/* ---- the yardstick ---- */

static double plain_scan(int nodes, int pods)
{
    autoarena a = { 0 };
    int64_t *cpu = arena_array(&a, int64_t, (size_t)nodes), *room = arena_array(&a, int64_t, (size_t)nodes);
    int64_t sum = 0; /* so that nothing is left out as useless */
    double start;

    for (int i = 0; i < nodes; i++) {
        cpu[i] = NODE_CPU * 1000;
        room[i] = NODE_PODS;
    }
    start = cpu_now();
    for (int p = 0; p < pods; p++) {
        int best = -1;

        for (int i = 0; i < nodes; i++) /* the fullest with room, as packing wants it */
            if (cpu[i] >= POD_CPU_MILLI && room[i] > 0 && (best < 0 || cpu[i] < cpu[best]))
                best = i;
        cpu[best] -= POD_CPU_MILLI;
        room[best]--;
        sum += best;
    }
    return sum < 0 ? 0 : cpu_now() - start;
}

/* ---- the questions ---- */

static void throughput(int nodes, int groups, int pods, bool is_spread)
{
    struct bench b;
    double start, plain;

    bench_init(&b);
    b.is_spread = is_spread;
    make_nodes(&b, nodes);
    make_groups(&b, groups, pods);
    VEC_FOREACH(at, &b.nodes)
        sched_put(b.s, *at);
    start = cpu_now();
    VEC_FOREACH(at, &b.groups)
        sched_put(b.s, *at);
    VEC_FOREACH(at, &b.pods)
        sched_put(b.s, *at);
    b.feed_s = cpu_now() - start;
    for (int i = 0; i < 100 && b.bound < (uint32_t)(groups * pods); i++)
        one_round(&b, pods, true);
    plain = plain_scan(nodes, groups * pods);
    printf("%6d %6d x %-6d %11.0f %11.0f %10.1f %10.2fx%s\n", nodes, groups, pods, b.bound / (b.feed_s + b.round_s),
           b.bound / b.round_s, at_part(&b, 1) * 1e3, plain / b.round_s,
           b.bound == (uint32_t)(groups * pods) ? "" : "  NOT ALL PLACED");
    bench_done(&b);
}

static void one_by_one(int nodes, int groups, int pods)
{
    struct bench b;
    size_t at = 0;

    bench_init(&b);
    make_nodes(&b, nodes);
    make_groups(&b, groups, pods);
    VEC_FOREACH(n, &b.nodes)
        sched_put(b.s, *n);
    one_round(&b, pods, true);
    b.times.n = 0;
    b.round_s = 0;
    for (int i = 0; i < groups; i++) {
        sched_put(b.s, b.groups.v[i]);
        for (int k = 0; k < pods; k++)
            sched_put(b.s, b.pods.v[at++]);
        one_round(&b, pods, true);
    }
    printf("%6d %6d x %-6d %11.0f %11.1f %11.1f %11.1f%s\n", nodes, groups, pods, b.bound / b.round_s,
           at_part(&b, 0.5) * 1e6, at_part(&b, 0.99) * 1e6, at_part(&b, 1) * 1e6,
           b.bound == (uint32_t)(groups * pods) ? "" : "  NOT ALL PLACED");
    bench_done(&b);
}

/* Mean time of a round for a group of 10 pods with 'running' pods already there. */
static double with_running(int nodes, int running)
{
    enum { GROUPS = 500, PODS = 10, IN_GROUP = 100 };
    struct bench b;
    size_t at = 0;
    double mean;

    bench_init(&b);
    make_nodes(&b, nodes);
    VEC_FOREACH(n, &b.nodes)
        sched_put(b.s, *n);
    for (int i = 0; i < running / IN_GROUP; i++) {
        const char *name = arena_fmt(&b.arena, "old%05d", i).p;

        sched_put(b.s, make_group(&b, name, IN_GROUP, "Running"));
        for (int k = 0; k < IN_GROUP; k++) {
            autoarena one = { 0 };
            struct bench small = { .arena = one, .rev = b.rev };
            char node[16];

            snprintf(node, sizeof(node), "n%05d", (i * IN_GROUP + k) % nodes);
            sched_put(b.s, make_pod(&small, name, k, node)); /* not kept: 100,000 trees would be most of the memory */
            b.rev = small.rev;
            arena_done(&small.arena);
        }
    }
    make_groups(&b, GROUPS, PODS);
    one_round(&b, PODS, false);
    b.times.n = 0;
    b.round_s = 0;
    for (int i = 0; i < GROUPS; i++) {
        sched_put(b.s, b.groups.v[i]);
        for (int k = 0; k < PODS; k++)
            sched_put(b.s, b.pods.v[at++]);
        one_round(&b, PODS, true);
    }
    mean = b.round_s / GROUPS;
    if (b.bound != GROUPS * PODS)
        printf("only %u of %d placed\n", b.bound, GROUPS * PODS);
    bench_done(&b);
    return mean;
}

int main(int argc, char **argv)
{
    static const int sizes[][2] = { { 10000, 1 }, { 500, 20 }, { 20, 500 }, { 1, 10000 } };
    static const int clusters[] = { 1000, 5000 };
    static const int running[] = { 0, 50000, 100000 };
    size_t n_clusters = ARRAY_LEN(clusters) - (argc > 1); /* any argument: the small cluster only */
    double first = 0;

    if (argc > 1 && strcmp(argv[1], "full") == 0) { /* the last part alone */
        bench_full(false, argc > 2 ? argv[2] : NULL);
        return 0;
    }
    printf("%6s %15s %11s %11s %10s %11s\n", "nodes", "groups x pods", "pods/s all", "rounds", "max ms", "plain scan");
    for (size_t c = 0; c < n_clusters; c++)
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
            throughput(clusters[c], sizes[i][0], sizes[i][1], false);
    printf("\none by one\n%6s %15s %11s %11s %11s %11s\n", "nodes", "groups x pods", "pods/s", "median us", "p99 us",
           "max us");
    for (size_t c = 0; c < n_clusters; c++)
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
            one_by_one(clusters[c], sizes[i][0], sizes[i][1]);
    printf("\na group of 10 pods with others running\n%6s %15s %11s %11s\n", "nodes", "running", "us", "ratio");
    for (size_t i = 0; i < ARRAY_LEN(running); i++) {
        double us = with_running(1000, running[i]) * 1e6;

        if (i == 0)
            first = us;
        printf("%6d %15d %11.1f %10.2fx\n", 1000, running[i], us, us / first);
    }
    printf("\nspread over zones\n%6s %15s %11s %11s %10s %11s\n", "nodes", "groups x pods", "pods/s all", "rounds",
           "max ms", "plain scan");
    for (size_t c = 0; c < n_clusters; c++)
        for (size_t i = 1; i < ARRAY_LEN(sizes); i++)
            throughput(clusters[c], sizes[i][0], sizes[i][1], true);
    bench_full(argc > 1, NULL);
    return 0;
}
