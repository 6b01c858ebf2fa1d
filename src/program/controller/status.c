/* status.c - metrics (Prometheus text), health, and what is known of a job
 *
 *     /metrics               Volcano's names where it has such a figure, ours ("pumice_…") elsewhere
 *     /healthz /livez        the loop turns: 200
 *     /readyz                200 if it leads and everything was listed, or waits for the Lease; 503 and why not
 *     /debug/jobs/NS/NAME    what is observed of the job, is in flight, and would be done next; from this machine only
 *
 * Labels are bounded: by queue, by verb, never by job or pod.
 */
#include "program/controller/controller.h"

#include "auth/authn.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "driver/cache.h"
#include "http/server.h"
#include "json/json.h"
#include "sched/sched.h"

#include <float.h>
#include <sys/resource.h>

/* ---- one figure ---- */

static void status_head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_fmt(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void status_figure(struct buf *out, const char *name, const char *type, const char *help, double value)
{
    status_head(out, name, type, help);
    buf_fmt(out, "%s %.17g\n", name, value);
}

/* Values of labels come from outside. */
static void put_label(struct buf *out, struct str value)
{
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] == '"' || value.p[i] == '\\')
            buf_fmt(out, "\\%c", value.p[i]);
        else if (value.p[i] == '\n')
            buf_str(out, STR("\\n"));
        else
            buf_char(out, value.p[i]);
}

static void labelled(struct buf *out, const char *name, const char *label, struct str value, double figure_value)
{
    buf_fmt(out, "%s{%s=\"", name, label);
    put_label(out, value);
    buf_fmt(out, "\"} %.17g\n", figure_value);
}

/* ---- queues ---- */

struct per_queue {
    struct buf *out;
    const char *name;
    size_t row;
};

static const struct {
    const char *name, *type, *help;
} queue_rows[] = {
    { "volcano_queue_pod_group_pending_count", "gauge", "PodGroups of the queue that are Pending" },
    { "volcano_queue_pod_group_inqueue_count", "gauge", "PodGroups of the queue that are Inqueue" },
    { "volcano_queue_pod_group_running_count", "gauge", "PodGroups of the queue that are Running" },
    { "volcano_queue_pod_group_unknown_count", "gauge", "PodGroups of the queue that are Unknown" },
    { "volcano_queue_pod_group_completed_count", "gauge", "PodGroups of the queue that are Completed" },
    { "volcano_job_completed_phase_count", "counter", "Jobs of the queue that were Completed by this process" },
    { "volcano_job_failed_phase_count", "counter", "Jobs of the queue that were Failed by this process" },
    { "volcano_job_retry_counts", "counter", "Retries of jobs of the queue by this process" },
};

static void on_queue(void *ctx, const struct driver_queue *q)
{
    const struct per_queue *p = ctx;
    const double values[ARRAY_LEN(queue_rows)] = {
        q->pending,
        q->inqueue,
        q->running,
        q->unknown,
        q->completed,
        (double)q->jobs_completed,
        (double)q->jobs_failed,
        (double)q->job_retries,
    };

    labelled(p->out, p->name, "queue_name", q->name, values[p->row]);
}

static void put_queues(struct buf *out, struct driver *d)
{
    for (size_t i = 0; i < ARRAY_LEN(queue_rows); i++) {
        struct per_queue p = { out, queue_rows[i].name, i };
        autoarena a = { 0 };

        status_head(out, p.name, queue_rows[i].type, queue_rows[i].help);
        driver_queues(d, &a, on_queue, &p);
    }
}

/* What the scheduler makes of them: of cpu in thousandths, of memory in bytes, and of everything else. */
static const struct {
    const char *name, *help;
    size_t offset;
} share_rows[] = {
    { "allocated", "what pods of the queue have", offsetof(struct sched_queue_view, allocated) },
    { "request", "what pods of the queue have and want", offsetof(struct sched_queue_view, demand) },
    { "deserved", "the fair share of the queue", offsetof(struct sched_queue_view, fair) },
    { "capacity", "the capability of the queue", offsetof(struct sched_queue_view, capability) },
    { "real_capacity", "the same, less what is guaranteed to others", offsetof(struct sched_queue_view, limit) },
    { "inqueue", "promised to PodGroups and not allocated yet", offsetof(struct sched_queue_view, admitted) },
};

struct per_share {
    struct buf *out;
    const struct dims *dims;
    const char *name;
    size_t row;
    int from, to; /* dimensions */
};

static void on_share(void *ctx, const struct sched_queue_view *q)
{
    const struct per_share *p = ctx;
    const struct amounts *v = (const struct amounts *)((const char *)q + share_rows[p->row].offset);

    for (int dim = p->from; dim < p->to; dim++) {
        buf_fmt(p->out, "%s{queue_name=\"", p->name);
        put_label(p->out, q->name);
        if (dim > DIM_MEMORY) {
            buf_fmt(p->out, "\",resource=\"");
            put_label(p->out, p->dims->names[dim]);
        }
        /* No limit: as Volcano prints it, the largest number there is. */
        buf_fmt(p->out, "\"} %.17g\n", v->v[dim] >= AMOUNT_UNLIMITED ? DBL_MAX : (double)v->v[dim]);
    }
}

static void put_shares(struct buf *out, struct sched *s)
{
    const struct dims *dims = sched_dims(s);
    const struct {
        const char *name;
        int from, to;
    } units[] = { { "milli_cpu", DIM_CPU, DIM_CPU + 1 },
                  { "memory_bytes", DIM_MEMORY, DIM_MEMORY + 1 },
                  { "scalar_resources", DIM_PODS, dims->n } };

    for (size_t row = 0; row < ARRAY_LEN(share_rows); row++)
        for (size_t i = 0; i < ARRAY_LEN(units); i++) {
            char name[80];
            struct per_share p = { out, dims, name, row, units[i].from, units[i].to };

            (void)snprintf(name, sizeof(name), "volcano_queue_%s_%s", share_rows[row].name, units[i].name);
            status_head(out, name, "gauge", share_rows[row].help);
            sched_queues(s, on_share, &p);
        }
}

/* One figure of each queue. */
static double status_share_of(const struct sched_queue_view *q)
{
    double most = 0;

    for (int dim = 0; dim < AMOUNT_DIMS; dim++)
        if (q->allocated.v[dim] > 0)
            most = MAX_OF(most, q->fair.v[dim] > 0 ? (double)q->allocated.v[dim] / (double)q->fair.v[dim] : 1);
    return most;
}

static double is_overused(const struct sched_queue_view *q)
{
    for (int dim = 0; dim < AMOUNT_DIMS; dim++)
        if (q->allocated.v[dim] > MAX_OF(q->fair.v[dim], 0))
            return 1;
    return 0;
}

static double weight_of(const struct sched_queue_view *q)
{
    return (double)q->weight;
}

static double waiting_pods_of(const struct sched_queue_view *q)
{
    return q->n_waiting_pods;
}

static const struct {
    const char *name, *help;
    double (*value)(const struct sched_queue_view *q);
} view_rows[] = {
    { "volcano_queue_share", "allocated in parts of deserved, of the resource with the largest", status_share_of },
    { "volcano_queue_weight", "the weight of the queue", weight_of },
    { "volcano_queue_overused", "1 when pods of the queue have more than deserved", is_overused },
    { "volcano_unschedule_task_count", "Pods without a node whose PodGroup lacks members", waiting_pods_of },
};

static void on_view(void *ctx, const struct sched_queue_view *q)
{
    const struct per_queue *p = ctx;

    labelled(p->out, p->name, "queue_name", q->name, view_rows[p->row].value(q));
}

static void status_add_waiting(void *ctx, const struct sched_queue_view *q)
{
    *(uint64_t *)ctx += q->n_waiting;
}

static void put_views(struct buf *out, struct sched *s)
{
    uint64_t waiting = 0;

    for (size_t i = 0; i < ARRAY_LEN(view_rows); i++) {
        struct per_queue p = { out, view_rows[i].name, i };

        status_head(out, p.name, "gauge", view_rows[i].help);
        sched_queues(s, on_view, &p);
    }
    sched_queues(s, status_add_waiting, &waiting);
    status_figure(out, "volcano_unschedule_job_count", "gauge", "PodGroups that lack members", (double)waiting);
}

/* ---- the driver ---- */

static void put_latency(struct buf *out, const char *name, const char *help, const struct latency *l)
{
    uint64_t sum = 0;

    status_head(out, name, "histogram", help);
    for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
        sum += l->buckets[i];
        buf_fmt(out, "%s_bucket{le=\"%g\"} %llu\n", name, (double)l->bounds_us[i] / 1e3, (unsigned long long)sum);
    }
    buf_fmt(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.17g\n%s_count %llu\n", name, (unsigned long long)l->n, name,
            (double)l->sum_us / 1e3, name, (unsigned long long)l->n);
}

struct status_count {
    const char *label;
    uint64_t n;
};

struct status_counts { /* one metric, with a value for each label */
    const char *name, *help, *label;
    struct status_count list[3];
    size_t n;
};

static void put_counts(struct buf *out, const struct status_counts *c)
{
    status_head(out, c->name, "counter", c->help);
    for (size_t i = 0; i < c->n; i++)
        labelled(out, c->name, c->label, str_of(c->list[i].label), (double)c->list[i].n);
}

static void put_driver(struct buf *out, struct controller *c)
{
    struct driver_stats s;

    driver_stats(c->driver, &s);
    status_figure(out, "pumice_jobs", "gauge", "Jobs in the cache", (double)s.jobs);
    status_figure(out, "pumice_pods", "gauge", "Pods in the cache: of Jobs; with --scheduler all", (double)s.pods);
    status_figure(out, "pumice_queue_depth", "gauge", "Keys that wait for a plan", (double)s.queued);
    status_figure(out, "pumice_writes_in_flight", "gauge", "Writes without an answer", (double)s.in_flight);
    status_figure(out, "pumice_synced", "gauge", "1 when everything was listed", s.is_synced);
    status_figure(out, "pumice_plans_total", "counter", "Plans made", (double)s.plans);
    status_figure(out, "pumice_plan_seconds_total", "counter", "Time spent on plans", (double)s.plan_us / 1e6);
    put_latency(out, "volcano_controller_job_to_pod_creation_latency_milliseconds",
                "From the creation of a job to that of each of its pods", &s.pod_latency);
    if (!c->o->scheduler)
        return;
    status_figure(out, "pumice_scheduler_rounds_total", "counter", "Rounds of the scheduler", (double)s.rounds);
    status_figure(out, "pumice_scheduler_round_seconds_total", "counter", "Time spent on rounds",
                  (double)s.round_us / 1e6);
    put_latency(out, "volcano_e2e_scheduling_latency_milliseconds",
                "A round of the scheduler and sending what it decided", &s.round_latency);
    put_latency(out, "volcano_e2e_job_scheduling_latency_milliseconds",
                "From the creation of a PodGroup to the decision that its gang is placed", &s.gang_latency);
    put_latency(out, "volcano_task_scheduling_latency_milliseconds",
                "From the creation of a pod to the answer that it is bound", &s.bind_latency);
    put_counts(out, &(struct status_counts){ "volcano_schedule_attempts_total",
                                             "Pods by what came of trying to place them",
                                             "result",
                                             { { "scheduled", s.binds },
                                               { "unschedulable", s.refusals }, /* told so: not at every round */
                                               { "error", s.failed_binds } },
                                             3 });
    status_figure(out, "volcano_pod_preemption_victims", "gauge", "Pods that were evicted", (double)s.evictions);
    status_figure(out, "volcano_total_preemption_attempts", "counter", "PodGroups that pods of others were evicted for",
                  (double)(s.preempts + s.reclaims));
    put_counts(out, &(struct status_counts){ "volcano_eviction_transactions_total",
                                             "The same, by why",
                                             "action",
                                             { { "preempt", s.preempts }, { "reclaim", s.reclaims } },
                                             2 });
    put_views(out, driver_sched(c->driver));
    put_shares(out, driver_sched(c->driver));
}

/* ---- the API server ---- */

static const char *const verb_names[OP_KIND_MAX] = {
    [OP_CREATE] = "create",     [OP_UPDATE] = "update", [OP_UPDATE_STATUS] = "update_status",
    [OP_MERGE_PATCH] = "patch", [OP_DELETE] = "delete", [OP_PATCH_STATUS] = "patch_status",
    [OP_BIND] = "bind",
};

static void put_writes(struct buf *out, const struct kube_stats *s)
{
    status_head(out, "pumice_writes_total", "counter", "Writes by verb and what came of them");
    for (int v = 0; v < OP_KIND_MAX; v++)
        for (int o = 0; o < KUBE_OUTCOME_MAX; o++)
            if (s->outcomes[v][o])
                buf_fmt(out, "pumice_writes_total{verb=\"%s\",result=\"%s\"} %llu\n", verb_names[v],
                        kube_outcome_names[o], (unsigned long long)s->outcomes[v][o]);
}

static void put_server(struct buf *out, struct cluster *door)
{
    struct kube_stats s;

    cluster_kube_stats(door, &s);
    put_writes(out, &s);
    status_figure(out, "pumice_reads_total", "counter", "Single objects read", (double)s.reads);
    status_figure(out, "pumice_lists_total", "counter", "Lists asked for", (double)s.lists);
    status_figure(out, "pumice_watches_total", "counter", "Watches begun", (double)s.watches);
    status_figure(out, "pumice_relists_total", "counter", "Lists because the server had forgotten our version",
                  (double)s.relists);
    status_figure(out, "pumice_watch_events_total", "counter", "Changes told by watches", (double)s.events);
    status_figure(out, "pumice_watch_lag_seconds", "gauge",
                  "From the answer to a write to its change in the watch, the last one", (double)s.last_lag_us / 1e6);
    status_figure(out, "pumice_watch_lag_seconds_total", "counter", "The same, added up", (double)s.lag_us / 1e6);
    status_figure(out, "pumice_watch_lags_total", "counter", "The same, counted", (double)s.n_lags);
    status_figure(out, "pumice_requests_limit", "gauge", "Requests the server takes at a time", s.limit);
    status_figure(out, "pumice_throttled_total", "counter", "Requests the server answered with 429", (double)s.busy);
    status_figure(out, "pumice_requests_in_flight", "gauge", "Reads and writes sent", s.in_flight);
    status_figure(out, "pumice_requests_waiting", "gauge", "Reads and writes that wait for room", s.waiting);
    status_figure(out, "pumice_received_bytes_total", "counter", "Bodies received", (double)s.received_bytes);
    status_figure(out, "pumice_sent_bytes_total", "counter", "Bodies sent", (double)s.sent_bytes);
}

/* ---- the process ---- */

static double resident_bytes(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    unsigned long size, resident = 0;

    if (!f)
        return 0;
    if (fscanf(f, "%lu %lu", &size, &resident) != 2)
        resident = 0;
    (void)fclose(f);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static void put_process(struct buf *out, const struct controller *c)
{
    struct rusage use = { 0 };

    (void)getrusage(RUSAGE_SELF, &use); /* zeros, then */
    status_figure(out, "process_cpu_seconds_total", "counter", "User and system time",
                  (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                      (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6);
    status_figure(out, "process_resident_memory_bytes", "gauge", "Memory", resident_bytes());
    status_figure(out, "process_start_time_seconds", "gauge", "Since 1970", (double)c->begin_ms / 1e3);
    status_figure(out, "pumice_leader", "gauge", "1 when this process leads", c->stage == STAGE_LEADS);
    status_head(out, "pumice_build_info", "gauge", "Always 1");
    labelled(out, "pumice_build_info", "version", STR(PUMICE_VERSION), 1);
}

static void put_webhook(struct buf *out, const struct webhook *w)
{
    struct webhook_stats s;

    webhook_stats(w, &s);
    status_head(out, "pumice_admissions_total", "counter", "Reviews by what came of them");
    labelled(out, "pumice_admissions_total", "result", STR("allowed"), (double)s.allowed);
    labelled(out, "pumice_admissions_total", "result", STR("denied"), (double)s.denied);
    labelled(out, "pumice_admissions_total", "result", STR("failed"), (double)s.failed);
    status_figure(out, "pumice_admissions_looked_twice_total", "counter",
                  "Reviews that were answered after a fresh look", (double)s.looked_twice);
}

static void put_metrics(struct controller *c, struct buf *out)
{
    put_process(out, c);
    if (c->webhook)
        put_webhook(out, c->webhook);
    if (c->door)
        put_server(out, c->door);
    status_figure(out, CONFIG_WARNINGS_METRIC, "gauge", CONFIG_WARNINGS_HELP, (double)c->watch.n_warnings);
    if (c->driver) {
        put_driver(out, c);
        put_queues(out, c->driver);
    }
}

/* ---- health ---- */

static bool status_is_ready(struct controller *c, struct buf *why)
{
    struct driver_stats s;

    if (c->stage > STAGE_LEADS) {
        buf_fmt(why, "it is stopping");
    } else if (c->told.code != ERR_OK) {
        buf_fmt(why, "%s", c->told.text);
    } else if (c->told_lacks) {
        buf_fmt(why, "the cluster lacks kinds: pumice install --dry-run --only crds | kubectl apply -f -");
    } else if (c->lacks_native) {
        buf_fmt(why, "the cluster no longer serves %s/%s: " NATIVE_ADVICE, NATIVE_GROUP,
                type_native("PodGroup")->version);
    } else if (c->driver) {
        driver_stats(c->driver, &s);
        if (!s.is_synced)
            buf_fmt(why, "not everything is listed yet");
    }
    if (!why->n && c->webhook)
        (void)webhook_is_ready(c->webhook, why); /* it says why not */
    return !why->n;
}

static void answer_ready(struct controller *c, struct http_reply *a, struct buf *body)
{
    autobuf why = { 0 };

    if (status_is_ready(c, &why)) {
        a->status = 200;
        buf_fmt(body, "ok (%s)\n", controller_stage_names[c->stage]);
        if (c->throttled_ms)
            buf_fmt(body, "API server throttles requests: %llu were answered with 429\n",
                    (unsigned long long)c->n_throttled);
    } else {
        a->status = 503;
        buf_fmt(body, "%s\n", why.p);
    }
}

/* ---- jobs ---- */

static void answer_job(struct controller *c, struct str path, struct http_reply *a, struct buf *body)
{
    autoarena arena = { 0 };
    struct str namespace, name = path;
    struct json *job = NULL;

    (void)str_split(&name, '/', &namespace);
    if (c->driver && name.n)
        job = driver_describe_job(c->driver, &arena, namespace, name);
    if (!job) {
        buf_fmt(body,
                c->driver ? "no such job is known: /debug/jobs/NAMESPACE/NAME\n" : "this replica does not lead\n");
        return;
    }
    a->status = 200;
    a->type = "application/json";
    json_print_pretty(body, job, 2);
    buf_char(body, '\n');
}

/* A job shows the environment of its pods, with secrets in it. This is plain HTTP without authentication, so only clients
 * of this machine or pod may read it (port-forward included), and no web page whose host name resolves to us. */
static bool is_local(const struct http_call *call)
{
    static const char *const names[] = { "localhost", NULL };
    struct str address = str_of(call->peer->address), mapped = STR("::ffff:");

    if (str_starts(address, mapped))
        address = str_from(address, mapped.n);
    return (str_starts(address, STR("127.")) || str_is(address, "::1") || str_is(address, "unix")) &&
           authn_host_is_ours(http_call_header(call, "Host"), names);
}

/* ---- all of it ---- */

static void status_answer(struct controller *c, const struct http_call *call, struct http_reply *a, struct buf *body)
{
    struct str path = call->path;

    if (str_is(path, "/metrics")) {
        a->status = 200;
        a->type = "text/plain; version=0.0.4; charset=utf-8";
        put_metrics(c, body);
    } else if (str_is(path, "/healthz") || str_is(path, "/livez")) {
        a->status = 200;
        buf_fmt(body, "ok\n");
    } else if (str_is(path, "/readyz")) {
        answer_ready(c, a, body);
    } else if (str_starts(path, STR("/debug/")) && !is_local(call)) {
        a->status = 403;
        buf_fmt(body, "/debug is answered at 127.0.0.1 only; use kubectl port-forward\n");
    } else if (str_starts(path, STR("/debug/jobs/"))) {
        answer_job(c, str_from(path, strlen("/debug/jobs/")), a, body);
    } else {
        buf_fmt(body, "/metrics /healthz /livez /readyz /debug/jobs/NAMESPACE/NAME\n");
    }
}

static void status_on_request(void *ctx, struct http_call *call)
{
    struct http_reply a = { .status = 404 };
    autobuf body = { 0 };

    if (!str_is(call->method, "GET") && !str_is(call->method, "HEAD"))
        a.status = 405;
    else
        status_answer(ctx, call, &a, &body);
    http_answer(call, &a, buf_view(&body));
}

/* It must never be in the way of what it tells about. */
static const struct http_server_limits status_limits = { .connections = 64,
                                                         .per_address = 64,
                                                         .head_bytes = 8 << 10,
                                                         .body_bytes = 1 << 10,
                                                         .idle_ms = 30000,
                                                         .send_ms = 10000 };

int controller_listen(struct controller *c, struct err *e)
{
    const char *address = c->o->listen ? c->o->listen : "127.0.0.1:8081";
    struct http_server_options opt = {
        .address = address, .limits = status_limits, .ctx = c, .on_request = status_on_request
    };

    if (!address[0])
        return 0;
    if (http_server_new(&opt, &c->status, e) == 0) {
        log_info("Serving metrics and health", LOG_TEXT("address", address),
                 LOG_INT("port", http_server_port(c->status)));
        return 0;
    }
    if (c->o->listen)
        return err_wrap(e, "--listen-address");
    log_warn("Metrics and health endpoints are disabled", LOG_TEXT("error", e->text));
    return 0;
}
