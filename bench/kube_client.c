/* kube_client.c - what the door to a Kubernetes API costs: pods created and watched, on the server that KUBECONFIG
 * leads to
 *
 *     bench_kube_client [PODS]
 *
 * Creates that many Pods in a namespace of its own while watching them, deletes them, and says what it took. Nobody
 * places them.
 */
#include "api/meta.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "kube/cluster.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

struct bench {
    struct cluster *cluster;
    struct str namespace;
    unsigned n, sent, answered, failed, put, gone;
    struct err last;
};

static void hear(struct bench *b)
{
    for (struct cluster_event ev; cluster_next(b->cluster, &ev);) {
        b->put += ev.kind == CLUSTER_PUT;
        b->gone += ev.kind == CLUSTER_GONE;
        b->answered += ev.kind == CLUSTER_RESULT;
        if (ev.kind == CLUSTER_RESULT && ev.err.code != ERR_OK) {
            b->failed++;
            b->last = ev.err;
        }
    }
}

static void wait_more(struct bench *b)
{
    struct pollfd fd = { cluster_kube_fd(b->cluster), POLLIN, 0 };

    (void)poll(&fd, 1, 1000);
    hear(b);
}

static void create(struct bench *b, const char *kind, struct str namespace, const char *name)
{
    autoarena a = { 0 };
    struct json *body = object_new(&a, "v1", kind, namespace, str_of(name)), *c;
    struct op op = { .kind = OP_CREATE, .type = type_by_kind(STR("v1"), str_of(kind)), .namespace = namespace };

    if (strcmp(kind, "Pod") == 0) {
        c = json_push(json_need_array(&a, json_need_object(&a, body, "spec"), "containers"), json_object(&a));
        json_set(c, "name", json_str(&a, STR("main")));
        json_set(c, "image", json_str(&a, STR("debian:12")));
        object_set_label(&a, body, "volcano.sh/job-name", STR("bench"));
    }
    op.body = body;
    op.name = str_of(name);
    (void)cluster_write(b->cluster, &op);
    b->sent++;
}

static void delete (struct bench *b, const char *kind, struct str namespace, const char *name)
{
    struct op op = { .kind = OP_DELETE, .type = type_by_kind(STR("v1"), str_of(kind)), .namespace = namespace };

    op.name = str_of(name);
    (void)cluster_write(b->cluster, &op);
    b->sent++;
}

static double cpu_s(void)
{
    struct rusage u;

    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void report(const struct bench *b, const char *what, int64_t begin_ms, double begin_cpu)
{
    double wall = (double)(clock_mono_ms(&clock_real) - begin_ms) / 1000;
    struct kube_stats s;
    struct rusage u;

    (void)getrusage(RUSAGE_SELF, &u);
    cluster_kube_stats(b->cluster, &s);
    printf("%s: %u pods in %.1f s (%.0f/s), %.2f s of CPU, %.1f MiB peak; %llu writes, %llu busy, %u failed, limit %u, "
           "%llu connections, %.1f MB in, %.1f MB out\n",
           what, b->n, wall, b->n / wall, cpu_s() - begin_cpu, (double)u.ru_maxrss / 1024, (unsigned long long)s.writes,
           (unsigned long long)s.busy, b->failed, s.limit, (unsigned long long)s.connections,
           (double)s.received_bytes / 1e6, (double)s.sent_bytes / 1e6);
    if (b->failed)
        printf("  last failure: %s\n", b->last.text);
}

static void all(struct bench *b, const char *what, void (*one)(struct bench *, const char *, struct str, const char *),
                const unsigned *told)
{
    int64_t begin_ms = clock_mono_ms(&clock_real);
    double begin_cpu = cpu_s();
    unsigned from = *told;
    char name[32];

    for (unsigned i = 0; i < b->n; i++) {
        (void)snprintf(name, sizeof(name), "p-%u", i);
        one(b, "Pod", b->namespace, name);
        while (b->sent - b->answered > 500) /* as the driver does */
            wait_more(b);
    }
    while (b->answered < b->sent || *told - from < b->n)
        wait_more(b);
    report(b, what, begin_ms, begin_cpu);
}

int main(int argc, char **argv)
{
    struct kube_config_options where = { .env = kube_env_real() };
    struct kube_view view = { .type = type_by_kind(STR("v1"), STR("Pod")),
                              .labels = STR(KUBE_PODS_OF_JOBS),
                              .mask = kube_pod_fields };
    struct kube_config config;
    struct cluster_kube_options opt = { .config = &config, .views = &view, .n_views = 1 };
    struct bench b = { .n = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000 };
    autoarena a = { 0 };
    struct err e = { 0 };

    (void)signal(SIGPIPE, SIG_IGN);
    if (kube_config_load(&a, &where, &config, &e) < 0 || cluster_kube_new(&opt, &b.cluster, &e) < 0) {
        (void)fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    b.namespace = arena_fmt(&a, "bench-%d", (int)getpid());
    view.namespace = b.namespace;
    create(&b, "Namespace", STR_NULL, b.namespace.p);
    create(&b, "ServiceAccount", b.namespace, "default");
    while (b.answered < 2)
        wait_more(&b);
    cluster_want(b.cluster, view.type);
    all(&b, "create", create, &b.put);
    all(&b, "delete", delete, &b.gone);
    delete (&b, "Namespace", STR_NULL, b.namespace.p);
    while (b.answered < b.sent)
        wait_more(&b);
    cluster_free(b.cluster);
    return b.failed != 0;
}
