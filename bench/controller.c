/* controller.c - what the job controller costs: per pod event, per pod life, per job, per cached pod
 *
 * A store in this process, the driver, and hollow pods that this program moves from Pending to Running to Succeeded,
 * one at a time, with a turn of the driver after each. Only CPU time inside driver_turn() counts: watch events decoded,
 * caches updated, plans made, writes applied to the store. The virtual clock moves a millisecond for each pod event.
 */
#include "api/meta.h"
#include "base/util.h"
#include "driver/driver.h"
#include "plugin/plugin.h"
#include "store/store.h"

#include <malloc.h>
#include <time.h>

struct bench {
    struct clock_manual clock;
    struct store *store;
    struct cluster *cluster;
    struct driver *driver;
    double cpu_s; /* inside driver_turn */
    uint64_t pod_events;
};

static double cpu_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static _Noreturn void die(const char *what, const struct err *e)
{
    fprintf(stderr, "bench_controller: %s: %s\n", what, e->text);
    exit(1);
}

static int constant_keys(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e)
{
    (void)ctx, (void)a, (void)type, (void)e;
    *ret = (struct ssh_keys){ STR("key\n"), STR("ssh-rsa AAAA\n") };
    return 0;
}

static void turn(struct bench *b)
{
    bool busy = true;
    double start = cpu_now();

    while (busy)
        (void)driver_turn(b->driver, &busy);
    b->cpu_s += cpu_now() - start;
}

static void create(struct bench *b, const char *json)
{
    autoarena a = { 0 };
    struct json *tree;
    struct err e;

    if (json_parse(&a, str_of(json), NULL, &tree, &e) < 0 || store_create(b->store, tree, NULL, &e) < 0)
        die("create", &e);
}

static void create_job(struct bench *b, int number, int pods)
{
    autobuf text = { 0 };

    buf_fmt(&text,
            "{\"apiVersion\":\"batch.volcano.sh/"
            "v1alpha1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j%d\",\"namespace\":\"default\"},"
            "\"spec\":{\"minAvailable\":%d,\"queue\":\"default\",\"schedulerName\":\"volcano\",\"maxRetry\":3,"
            "\"policies\":[{\"event\":\"PodEvicted\",\"action\":\"RestartJob\"}],"
            "\"tasks\":[{\"name\":\"w\",\"replicas\":%d,\"minAvailable\":%d,\"maxRetry\":3,"
            "\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
            "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}]}}",
            number, pods, pods, pods);
    create(b, text.p);
}

struct names {
    struct arena arena;
    VEC(struct str) list;
};

static void collect(void *ctx, const struct object *o)
{
    struct names *n = ctx;

    *vec_push(&n->arena, &n->list) = arena_str(&n->arena, o->name);
}

static void set_status(struct bench *b, const struct resource_type *type, struct str name, const char *status)
{
    autoarena a = { 0 };
    const struct object *o = store_get(b->store, type, STR("default"), name);
    struct json *copy, *tree;
    struct err e;

    if (!o)
        return;
    copy = json_copy(&a, o->root);
    if (json_parse(&a, str_of(status), NULL, &tree, &e) < 0)
        die("status", &e);
    json_set(copy, "status", tree);
    if (store_update(b->store, copy, type->subresources[0] ? STORE_STATUS : STORE_MAIN, NULL, &e) < 0)
        die("status", &e);
}

static void all(struct bench *b, const char *kind, const char *status, bool one_by_one)
{
    const struct resource_type *type = type_by_name(str_of(kind));
    struct names names = { 0 };

    store_list(b->store, type, STR_NULL, collect, &names);
    VEC_FOREACH(name, &names.list) {
        set_status(b, type, *name, status);
        clock_manual_advance(&b->clock, 1);
        if (one_by_one) {
            b->pod_events++;
            turn(b);
        }
    }
    arena_done(&names.arena);
    turn(b);
    clock_manual_advance(&b->clock, 2000); /* counters that waited */
    turn(b);
}

static void run(int jobs, int pods, double *ret_event_us)
{
    struct bench b = { 0 };
    struct driver_options opt = { .make_keys = constant_keys, .seed = 1 };
    struct driver_stats end;
    double event_start;
    size_t held;

    clock_manual_init(&b.clock, 1700000000000);
    b.store = store_new(&(struct store_options){ .clock = &b.clock.clock, .seed = 1 });
    b.cluster = cluster_embedded_new(b.store, &b.clock.clock);
    b.driver = driver_new(b.cluster, &opt);
    create(&b,
           "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"default\"},"
           "\"spec\":{\"weight\":1},\"status\":{\"state\":\"Open\"}}");
    for (int i = 0; i < jobs; i++)
        create_job(&b, i, pods);
    turn(&b);
    all(&b, "podgroups", "{\"phase\":\"Inqueue\"}", false);
    event_start = b.cpu_s;
    all(&b, "pods", "{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"c\",\"ready\":true}]}", true);
    all(&b, "pods", "{\"phase\":\"Succeeded\"}", true);
    driver_stats(b.driver, &end);
    held = mallinfo2().uordblks;
    driver_free(b.driver);
    held -= mallinfo2().uordblks;
    *ret_event_us = (b.cpu_s - event_start) * 1e6 / (double)b.pod_events;
    printf("%6d x %-6d %11.2f %12.2f %11.2f %12.2f %14.0f\n", jobs, pods, *ret_event_us,
           b.cpu_s * 1e6 / ((double)jobs * pods), (double)end.job_plans / (double)MAX_OF(end.job_events, 1),
           (double)end.job_writes / jobs - pods, (double)held / ((double)jobs * pods));
    cluster_free(b.cluster);
    store_free(b.store);
}

int main(int argc, char **argv)
{
    static const int sizes[][2] = { { 1, 1000 }, { 1, 10000 }, { 1000, 10 }, { 10000, 1 }, { 10, 10000 } };
    double first = 0, us;

    (void)argv;
    printf("%15s %11s %12s %11s %12s %14s\n", "jobs x pods", "us/event", "us/pod life", "plans/event", "writes-pods",
           "bytes/pod");
    for (size_t i = 0; i < ARRAY_LEN(sizes) - (argc > 1); i++) {
        run(sizes[i][0], sizes[i][1], &us);
        if (i == 0)
            first = us;
        if (i == 1)
            printf("%15s %10.2fx\n", "10x the pods", us / first);
    }
    return 0;
}
