/* usage.c - resource usage of pods and containers, in the format of metrics-server */
#include "kubelet/kubelet_internal.h"

enum usage_row { ROW_CONTAINER_CPU, ROW_CONTAINER_MEMORY, ROW_POD_CPU, ROW_POD_MEMORY, ROW_MAX };

static const struct {
    const char *name, *type, *help;
} rows[ROW_MAX] = {
    { "container_cpu_usage_seconds_total", "counter", "CPU time of the container" },
    { "container_memory_working_set_bytes", "gauge", "Memory of the container" },
    { "pod_cpu_usage_seconds_total", "counter", "CPU time of the pod" },
    { "pod_memory_working_set_bytes", "gauge", "Memory of the pod" },
};

struct usage {
    struct buf rows[ROW_MAX];
};

static void usage_add(struct buf *out, const char *name, const struct agent_place *of, double value)
{
    buf_fmt(out, "%s{", name);
    if (of->container.n)
        buf_fmt(out, "container=\"%.*s\",", STR_ARG(of->container));
    buf_fmt(out, "namespace=\"%.*s\",pod=\"%.*s\"} %.6f\n", STR_ARG(of->namespace), STR_ARG(of->pod), value);
}

static void on_usage(void *ctx, const struct agent_place *of, const struct cgroup_stats *s)
{
    struct usage *u = ctx;
    enum usage_row first = of->container.n ? ROW_CONTAINER_CPU : ROW_POD_CPU;

    if (s->cpu_us >= 0) /* less: the machine does not count it for us */
        usage_add(&u->rows[first], rows[first].name, of, (double)s->cpu_us / 1e6);
    if (s->memory_bytes >= 0)
        usage_add(&u->rows[first + 1], rows[first + 1].name, of, (double)s->memory_bytes);
}

/* Of the machine: all of it, as a kubelet says it of its node. */
static double machine_cpu_s(void)
{
    FILE *f = fopen("/proc/stat", "re");
    double user = 0, nice = 0, system = 0;

    if (f && fscanf(f, "cpu %lf %lf %lf", &user, &nice, &system) != 3)
        user = 0;
    if (f)
        (void)fclose(f);
    return (user + nice + system) / (double)sysconf(_SC_CLK_TCK);
}

static double machine_memory(void)
{
    FILE *f = fopen("/proc/meminfo", "re");
    unsigned long long total = 0, available = 0;
    char line[128];

    while (f && fgets(line, sizeof(line), f)) {
        (void)sscanf(line, "MemTotal: %llu kB", &total);
        (void)sscanf(line, "MemAvailable: %llu kB", &available);
    }
    if (f)
        (void)fclose(f);
    return total > available ? (double)(total - available) * 1024 : 0;
}

static void usage_figure(struct buf *out, const char *name, const char *type, const char *help, double value)
{
    buf_fmt(out, "# HELP %s %s\n# TYPE %s %s\n%s %.6f\n", name, help, name, type, name, value);
}

void serve_usage(const struct target *t)
{
    struct usage u = { 0 };
    autobuf out = { 0 };

    agent_usage(t->kubelet->opt.agent, on_usage, &u);
    for (int i = 0; i < ROW_MAX; i++) {
        if (u.rows[i].n)
            buf_fmt(&out, "# HELP %s %s\n# TYPE %s %s\n%.*s", rows[i].name, rows[i].help, rows[i].name, rows[i].type,
                    STR_ARG(buf_view(&u.rows[i])));
        buf_done(&u.rows[i]);
    }
    usage_figure(&out, "node_cpu_usage_seconds_total", "counter", "CPU time of the machine", machine_cpu_s());
    usage_figure(&out, "node_memory_working_set_bytes", "gauge", "Memory of the machine", machine_memory());
    usage_figure(&out, "resource_scrape_error", "gauge", "1 if there was an error while getting metrics", 0);
    http_answer(t->call, &(struct http_reply){ .status = 200, .type = "text/plain; version=0.0.4; charset=utf-8" },
                buf_view(&out));
}

/* ---- the same for those in this process ---- */

struct teller {
    void (*f)(void *ctx, const struct agent_place *of, const struct kubelet_use *u);
    void *ctx;
};

static void usage_tell(void *ctx, const struct agent_place *of, const struct cgroup_stats *s)
{
    const struct teller *t = ctx;

    if (of->container.n && s->cpu_us >= 0 && s->memory_bytes >= 0)
        t->f(t->ctx, of, &(struct kubelet_use){ (double)s->cpu_us / 1e6, s->memory_bytes });
}

void kubelet_usage(struct kubelet *k, void (*f)(void *ctx, const struct agent_place *of, const struct kubelet_use *u),
                   void *ctx)
{
    struct teller t = { f, ctx };

    agent_usage(k->opt.agent, usage_tell, &t);
    f(ctx, &(struct agent_place){ 0 }, &(struct kubelet_use){ machine_cpu_s(), (int64_t)machine_memory() });
}
