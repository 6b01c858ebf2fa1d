/* metrics.c - what /metrics tells besides the API server's own: controllers and scheduler, the store */
#include "auth/auth.h"
#include "base/buf.h"
#include "base/util.h"
#include "program/server/server.h"
#include "driver/driver.h"
#include "store/store.h"

struct metric {
    const char *name, *type, *help;
    double value;
};

static void metrics_print(struct buf *out, const struct metric *m, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_fmt(out, "# HELP %s %s\n# TYPE %s %s\n%s %.17g\n", m[i].name, m[i].help, m[i].name, m[i].type, m[i].name,
                m[i].value);
}

static void put_driver(const struct serve *s, struct buf *out)
{
    struct driver_stats d;

    driver_stats(s->driver, &d);
    metrics_print(out,
                  (struct metric[]){
                      { "pumice_jobs", "gauge", "Jobs that are there", (double)d.jobs },
                      { "pumice_pods", "gauge", "Pods of Jobs that are there", (double)d.pods },
                      { "pumice_writes_total", "counter", "Writes of controllers and scheduler", (double)d.writes },
                      { "pumice_binds_total", "counter", "Pods that were given a node", (double)d.binds },
                      { "pumice_scheduling_rounds_total", "counter", "Rounds of the scheduler", (double)d.rounds },
                      { CONFIG_WARNINGS_METRIC, "gauge", CONFIG_WARNINGS_HELP, (double)s->sched_watch.n_warnings },
                  },
                  6);
}

/* A summary without quantiles: rate(sum) / rate(count) is the mean. */
static void put_summary(struct buf *out, const char *name, const char *help, double sum, uint64_t count)
{
    buf_fmt(out, "# HELP %s %s\n# TYPE %s summary\n%s_sum %.17g\n%s_count %llu\n", name, help, name, name, sum, name,
            (unsigned long long)count);
}

static void put_store(const struct serve *s, struct buf *out)
{
    struct store_stats t;

    store_stats(s->store, &t);
    put_summary(out, "pumice_store_flush_duration_seconds", "Time until the writes of a turn were durable",
                (double)t.flush_us / 1e6, t.flushes);
    put_summary(out, "pumice_store_flush_batch_size", "Changes that became durable together", (double)t.changes,
                t.flushes - t.failures);
    metrics_print(
        out,
        (struct metric[]){
            { "pumice_store_flush_slowest_seconds", "gauge", "The longest of them", (double)t.slowest_us / 1e6 },
            { "pumice_store_flush_failures_total", "counter", "Turns that were undone", (double)t.failures },
            { "pumice_store_read_only", "gauge", "1 while writes are refused", t.failure ? 1 : 0 },
            { "pumice_store_compacted_revision", "gauge", "Watches can begin after it", (double)t.compacted },
            { "pumice_store_deleted_rows_total", "counter", "Old records that were deleted", (double)t.rows_deleted },
        },
        5);
}

static void put_http(const struct serve *s, struct buf *out)
{
    struct http_server_stats h;

    http_server_stats(s->http, &h);
    metrics_print(out,
                  (struct metric[]){
                      { "pumice_http_connections", "gauge", "Connections of clients", (double)h.connections },
                      { "pumice_http_held_bytes", "gauge", "Bytes held for clients: received, or not taken yet",
                        (double)h.held_bytes },
                      { "pumice_http_dropped_slow_total", "counter",
                        "Connections dropped because the client took nothing", (double)h.dropped_slow },
                      { "pumice_http_dropped_room_total", "counter",
                        "Connections dropped because their user held too much", (double)h.dropped_room },
                  },
                  4);
}

void serve_metrics(void *serve, struct buf *out)
{
    const struct serve *s = serve;

    auth_metrics(s->auth, out);
    put_driver(s, out);
    put_store(s, out);
    put_http(s, out);
}
