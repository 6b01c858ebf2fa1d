/* controller.c - the command `pumice controller`: Jobs of a Kubernetes cluster */
#include "program/controller/controller.h"

#include "api/duration.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "cli/commands.h"
#include "program/log_options.h"
#include "driver/cache.h"
#include "http/server.h"
#include "kube/ask.h"
#include "os/fence.h"
#include "os/signals.h"

#include <assert.h>
#include <signal.h>

enum { WEBHOOK_LIFE_MIN_MS = 10000, WEBHOOK_DRAIN_MS = 1000 };

/* ---- options ---- */

static int controller_read_time(const char *flag, const char *text, int64_t *ret_ms, struct err *e)
{
    int64_t ns;

    if (!text)
        return 0;
    if (duration_parse(str_of(text), &ns, e) < 0)
        return err_wrap(e, "--%s", flag);
    *ret_ms = ns / 1000000;
    return 0;
}

static int controller_read_times(struct controller *c, struct err *e)
{
    c->times = (struct election_times){ .duration_ms = 15000, .deadline_ms = 10000, .retry_ms = 2000 };
    if (controller_read_time("leader-elect-lease-duration", c->o->lease_duration, &c->times.duration_ms, e) < 0 ||
        controller_read_time("leader-elect-renew-deadline", c->o->renew_deadline, &c->times.deadline_ms, e) < 0 ||
        controller_read_time("leader-elect-retry-period", c->o->retry_period, &c->times.retry_ms, e) < 0)
        return -1;
    if (election_times_check(&c->times, e) < 0)
        return err_wrap(e, "--leader-elect-…");
    return 0;
}

static int controller_check_options(const struct controller_options *o, struct err *e)
{
    if (o->native_groups && o->scheduler)
        return err_set(e, ERR_INVALID,
                       "--native-podgroups: leave --scheduler out: gangs of scheduling.k8s.io are placed by "
                       "kube-scheduler, and pods have one scheduler");
    return 0;
}

/* ---- what is watched ---- */

static void add_view(struct controller *c, struct kube_view view)
{
    view.namespace = c->o->namespace ? str_of(c->o->namespace) : STR_NULL;
    assert(c->n_views < VIEWS_MAX);
    c->views[c->n_views++] = view;
}

/* Pods by label, unless others are to be scheduled as well. Secrets are never listed: ours are read by name, and the
 * others do not concern us. Of ConfigMaps one that every namespace has is left out. */
static void controller_make_views(struct controller *c)
{
    const struct known_types *k = known_types();
    const struct resource_type *plain[] = { k->job, k->group, k->command, k->service };
    bool schedules = c->o->scheduler;

    add_view(c, (struct kube_view){ .type = k->pod,
                                    .labels = schedules ? STR_NULL : STR(KUBE_PODS_OF_JOBS),
                                    .mask = schedules ? kube_pod_fields_scheduler : kube_pod_fields });
    add_view(c, (struct kube_view){ .type = k->secret, .is_unlisted = true });
    add_view(c, (struct kube_view){ .type = k->config_map, .fields = STR("metadata.name!=kube-root-ca.crt") });
    for (size_t i = 0; c->o->namespace && i < ARRAY_LEN(plain); i++)
        add_view(c, (struct kube_view){ .type = plain[i] });
    if (c->o->namespace)
        add_view(c, (struct kube_view){ .type = k->policy });
    if (c->o->namespace && c->o->native_groups) {
        add_view(c, (struct kube_view){ .type = k->native_workload });
        add_view(c, (struct kube_view){ .type = k->native_group });
    }
    c->others = (struct kube_view){ .type = k->pod,
                                    .namespace = c->views[0].namespace,
                                    .labels = STR(KUBE_PODS_OF_OTHERS),
                                    .fields = arena_cat(c->arena, STR("spec.schedulerName="), c->sched.scheduler_name),
                                    .mask = kube_pod_fields_others };
}

/* ---- starting ---- */

static int load_config(struct controller *c, struct err *e)
{
    struct kube_config_options opt = { kube_env_real(), c->o->kubeconfig, c->o->context };

    if (kube_config_load(c->arena, &opt, &c->config, e) < 0)
        return -1;
    kube_config_log_warnings(&c->config);
    return 0;
}

/* What the kernel says for us when it ends a leader that stood still for too long. */
static int open_fence(const struct controller *c, struct err *e)
{
#define LATE "Failed to renew the Lease in time; exiting"
#define WHY  "the process was stalled"
    bool is_json = c->o->log_format && strcmp(c->o->log_format, "json") == 0;

    return fence_open(STDERR_FILENO,
                      is_json ? STR("{\"level\":\"error\",\"msg\":\"" LATE "\",\"error\":\"" WHY "\"}\n")
                              : STR("level=error msg=\"" LATE "\" error=\"" WHY "\"\n"),
                      EXIT_FAILED, e);
}

/* The Lease has a client of its own, so that a renewal never queues behind other requests and keeps its own clock also
 * when a busy server asks for a delay. An answer that takes longer than half the deadline is asked for again. */
static int open_lease(struct controller *c, struct err *e)
{
    struct cluster_kube_options opt = { .config = &c->config,
                                        .retry_max_ms = c->times.retry_ms,
                                        .answer_ms = c->times.deadline_ms / 2 };
    struct lease_options lease = { .times = c->times };

    if (open_fence(c, e) < 0 || cluster_kube_new(&opt, &c->lease_door, e) < 0)
        return -1;
    lease.cluster = c->lease_door;
    lease.namespace = c->o->lease_namespace ? str_of(c->o->lease_namespace) : c->config.namespace;
    lease.name = str_of(c->o->lease_name ? c->o->lease_name : "vc-controller-manager");
    c->lease = lease_new(&lease);
    log_info("Waiting for the Lease", LOG_STR("namespace", lease.namespace), LOG_STR("name", lease.name),
             LOG_STR("identity", lease_identity(c->lease)));
    return 0;
}

/* Every replica serves, not only the leader. */
static int open_webhook(struct controller *c, struct err *e)
{
    const struct controller_options *o = c->o;
    struct webhook_options opt = { .config = &c->config,
                                   .address = o->webhook_address ? o->webhook_address : ":8443",
                                   .namespace = c->config.namespace,
                                   .service = str_of(o->webhook_service ? o->webhook_service : "pumice-webhook"),
                                   .scheduler_name = o->scheduler_name ? str_of(o->scheduler_name) : STR_NULL };

    if (controller_read_time("webhook-certificate-lifetime", o->webhook_life, &opt.life_ms, e) < 0)
        return -1;
    if (o->webhook_life && opt.life_ms < WEBHOOK_LIFE_MIN_MS)
        return err_set(e, ERR_INVALID, "--webhook-certificate-lifetime: must be at least 10s (got %s)",
                       o->webhook_life);
    if (webhook_new(&opt, &c->webhook, e) < 0)
        return err_wrap(e, "--webhook-address");
    log_info("Serving admission webhooks", LOG_TEXT("address", opt.address), LOG_INT("port", webhook_port(c->webhook)),
             LOG_STR("namespace", opt.namespace), LOG_STR("service", opt.service));
    return 0;
}

/* Refused at once where it cannot work. A server that does not answer is no reason: it is looked again when it does. */
static int check_native(struct controller *c, struct err *e)
{
    struct kube_ask *ask;
    struct err why;
    int rc;

    if (!c->o->native_groups)
        return 0;
    (void)signal(SIGPIPE, SIG_IGN); /* as http/client.h asks */
    if (kube_ask_open(&c->config, &ask, e) < 0)
        return -1;
    rc = native_find(ask, &why);
    kube_ask_close(ask);
    if (rc == 0 || why.code != ERR_NOT_FOUND)
        return 0;
    return err_set(e, ERR_NOT_FOUND,
                   "--native-podgroups: the cluster at %.*s serves none of " NATIVE_NAMES ": " NATIVE_ADVICE,
                   STR_ARG(c->config.server));
}

static int read_scheduler(struct controller *c, struct err *e)
{
    if (config_watch_open(&c->watch, c->o->scheduler_config, &c->sched, e) < 0)
        return -1;
    c->sched.scheduler_name = str_of(c->o->scheduler_name ? c->o->scheduler_name : "volcano");
    c->sched.waits_for_volumes = true;
    return 0;
}

static int controller_start(struct controller *c, struct err *e)
{
    if (load_config(c, e) < 0 || read_scheduler(c, e) < 0 || check_native(c, e) < 0 ||
        signals_open((int[]){ SIGINT, SIGTERM, 0 }, &c->signal_fd, e) < 0)
        return -1;
    if (c->o->scheduler_config && !c->o->scheduler)
        log_warn("Ignoring --scheduler-config without --scheduler");
    controller_make_views(c);
    c->begin_ms = clock_now_ms(&clock_real);
    c->stage_ms = INT64_MAX;
    log_info("Starting pumice controller", LOG_TEXT("version", PUMICE_VERSION), LOG_STR("server", c->config.server),
             LOG_STR("credentials", c->config.origin), LOG_BOOL("scheduler", c->o->scheduler));
    if (controller_listen(c, e) < 0 || (c->o->webhook && open_webhook(c, e) < 0))
        return -1;
    return c->o->leader_elect && strcmp(c->o->leader_elect, "false") == 0 ? 0 : open_lease(c, e);
}

static void controller_finish(struct controller *c)
{
    http_server_free(c->status);
    if (c->webhook)
        webhook_drain(c->webhook, WEBHOOK_DRAIN_MS);
    webhook_free(c->webhook);
    driver_free(c->driver);
    cluster_free(c->door); /* which asks the Lease whether its last words may leave */
    cluster_free(c->others_door);
    lease_free(c->lease);
    cluster_free(c->lease_door);
    config_watch_done(&c->watch);
    autoclose_done(&c->signal_fd);
    fence_close();
}

static int controller_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    struct controller c = { .arena = a, .o = options, .signal_fd = -1 };
    struct err e;
    int status;

    (void)arguments;
    if (controller_check_options(c.o, &e) < 0 || controller_read_times(&c, &e) < 0)
        return command_fail("controller", &e, EXIT_USAGE);
    log_options_apply(c.o->log_level, c.o->log_format);
    status = controller_start(&c, &e) < 0 ? command_fail("controller", &e, EXIT_FAILED) : controller_loop(&c);
    controller_finish(&c);
    return status;
}

/* ---- the command ---- */

#define FIELD(name) offsetof(struct controller_options, name)

static const char *const switch_values[] = { "true", "false", NULL };

static const struct option controller_option_table[] = {
    { 0, "kubeconfig", OPTION_TEXT, FIELD(kubeconfig), "FILE", NULL,
      "where the cluster is (default: KUBECONFIG, ~/.kube/config, or the pod's account)" },
    { 0, "context", OPTION_TEXT, FIELD(context), "NAME", NULL, "of the kubeconfig (default: its current one)" },
    { 'n', "namespace", OPTION_TEXT, FIELD(namespace), "NAME", NULL, "only Jobs of this namespace (default: of all)" },
    { 0, "scheduler", OPTION_FLAG, FIELD(scheduler), NULL, NULL, "schedule pods too" },
    { 0, "native-podgroups", OPTION_FLAG, FIELD(native_groups), NULL, NULL,
      "gangs as PodGroups of scheduling.k8s.io, for kube-scheduler, instead of Volcano's" },
    { 0, "scheduler-name", OPTION_TEXT, FIELD(scheduler_name), "NAME", NULL,
      "spec.schedulerName of the pods that are ours (default: volcano)" },
    { 0, "scheduler-config", OPTION_TEXT, FIELD(scheduler_config), "FILE", NULL,
      "volcano-scheduler.conf; read again when it changes" },
    { 0, "leader-elect", OPTION_SWITCH, FIELD(leader_elect), "BOOL", switch_values,
      "one of several replicas leads (default: true); false: this is the only one" },
    { 0, "leader-elect-resource-name", OPTION_TEXT, FIELD(lease_name), "NAME", NULL,
      "of the Lease (default: vc-controller-manager, as Volcano's, so that never both lead)" },
    { 0, "leader-elect-resource-namespace", OPTION_TEXT, FIELD(lease_namespace), "NAME", NULL,
      "of the Lease (default: that of the pod or the context)" },
    { 0, "leader-elect-lease-duration", OPTION_TEXT, FIELD(lease_duration), "TIME", NULL,
      "after this long without a sign of the leader another takes over (default: 15s)" },
    { 0, "leader-elect-renew-deadline", OPTION_TEXT, FIELD(renew_deadline), "TIME", NULL,
      "a leader that could not renew for so long stops (default: 10s)" },
    { 0, "leader-elect-retry-period", OPTION_TEXT, FIELD(retry_period), "TIME", NULL,
      "between two tries (default: 2s)" },
    { 0, "listen-address", OPTION_TEXT, FIELD(listen), "ADDRESS", NULL,
      "of metrics, health and /debug/jobs, as :8081 (default: 127.0.0.1:8081; \"\": none)" },
    { 0, "webhook", OPTION_FLAG, FIELD(webhook), NULL, NULL,
      "serve admission too: Jobs, Queues, PodGroups and Pods are defaulted and refused as they are written" },
    { 0, "webhook-address", OPTION_TEXT, FIELD(webhook_address), "ADDRESS", NULL,
      "where the API server finds it (default: :8443)" },
    { 0, "webhook-service", OPTION_TEXT, FIELD(webhook_service), "NAME", NULL,
      "of the Service before it, and of the Secret with its certificate (default: pumice-webhook)" },
    { 0, "webhook-certificate-lifetime", OPTION_TEXT, FIELD(webhook_life), "TIME", NULL,
      "a new one is made when two thirds of it are over (default: 8760h)" },
    LOG_OPTIONS(FIELD),
};

#define REQUESTS "as many requests are sent as the server takes"
#define THREADS  "one thread does all the work"
#define KLOG     "see --log-level"
#define LOG_FILE "the log goes to standard error; see --log-level"
#define SHARDS   "nodes are not dealt out among schedulers: one has them all"

static const struct foreign_option controller_foreign[] = {
    { "kube-api-qps", true, false, REQUESTS },
    { "kube-api-burst", true, false, REQUESTS },
    { "worker-threads", true, false, THREADS },
    { "worker-threads-for-podgroup", true, false, THREADS },
    { "worker-threads-for-queue", true, false, THREADS },
    { "worker-threads-for-gc", true, false, THREADS },
    { "worker-threads-for-cronjob", true, false, THREADS },
    { "node-worker-threads", true, false, THREADS },
    { "max-requeue-num", true, false, "what fails is tried again without end, at growing intervals" },
    { "inherit-owner-annotations", false, false, "they are inherited" },
    { "enable-healthz", false, false, "health is served at --listen-address" },
    { "enable-metrics", false, false, "metrics are served at --listen-address" },
    { "healthz-address", true, false, "health is served at --listen-address" },
    { "schedule-period", true, false, "every change is looked at when it comes" },
    { "resync-period", true, false, "nothing is forgotten that would have to be listed again" },
    { "default-queue", true, false, "it is the queue \"default\"" },
    { "priority-class", false, false, "priorities are always looked at" },
    { "minimum-feasible-nodes", true, false, "all nodes are looked at" },
    { "minimum-percentage-nodes-to-find", true, false, "all nodes are looked at" },
    { "percentage-nodes-to-find", true, false, "all nodes are looked at" },
    { "csi-storage", false, false, "volumes are always looked at" },
    { "ignored-provisioners", true, false, "volumes are not provisioned here" },
    { "cache-dumper", false, false, "see /debug/jobs at --listen-address" },
    { "cache-dump-dir", true, false, "see /debug/jobs at --listen-address" },
    { "enable-pprof", false, false, "it is no Go program: see /metrics at --listen-address" },
    { "disable-default-scheduler-config", false, false, "a file that makes no sense is never replaced by another" },
    { "gate-removal-worker-num", true, false, THREADS },
    { "resource-sync-timeout", true, false, "nothing is placed before everything is listed" },
    { "scheduler-sharding-mode", true, true, "leave it out: " SHARDS },
    { "scheduler-sharding-name", true, false, SHARDS },
    { "scheduler-configs", true, false, SHARDS },
    { "shard-sync-period", true, false, SHARDS },
    { "sharding-configmap", true, false, SHARDS },
    { "sharding-configmap-namespace", true, false, SHARDS },
    { "enable-node-event-trigger", false, false, SHARDS },
    { "lock-object-namespace", true, false, NULL, "leader-elect-resource-namespace" },
    { "leader-elect-resource-lock", true, false, "it is a Lease" },
    { "scheduler-conf", true, false, NULL, "scheduler-config" },
    { "master", true, true, "use --kubeconfig, whose cluster.server is the address" },
    { "controllers", true, true, "they cannot be chosen: Jobs, queues, PodGroups and time to live belong together" },
    { "node-selector", true, true, "give the pods a nodeSelector instead" },
    { "plugins-dir", true, true, "plugins of Go programs cannot be loaded" },
    { "feature-gates", true, false, "there are none" },
    { "ca-cert-file", true, false, "certificates of --webhook are made here" },
    { "tls-cert-file", true, false, "certificates of --webhook are made here" },
    { "tls-private-key-file", true, false, "certificates of --webhook are made here" },
    { "v", true, false, KLOG },
    { "vmodule", true, false, KLOG },
    { "logtostderr", false, false, KLOG },
    { "alsologtostderr", false, false, KLOG },
    { "stderrthreshold", true, false, KLOG },
    { "alsologtostderrthreshold", true, false, KLOG },
    { "legacy-stderr-threshold-behavior", false, false, KLOG },
    { "log-backtrace-at", true, false, KLOG },
    { "log-dir", true, false, LOG_FILE },
    { "log-file", true, false, LOG_FILE },
    { "log-file-max-size", true, false, LOG_FILE },
    { "log-flush-frequency", true, false, LOG_FILE },
    { "one-output", false, false, LOG_FILE },
    { "add-dir-header", false, false, KLOG },
    { "skip-headers", false, false, KLOG },
    { "skip-log-headers", false, false, KLOG },
    { NULL, false, false, NULL },
};

static const char *const controller_examples[] = {
    "pumice controller",
    "run the Jobs of the cluster that kubectl uses",
    "pumice controller --scheduler --leader-elect=false",
    "alone, and place their pods too",
    "pumice install --dry-run | kubectl apply -f -",
    "in the cluster itself, with all it needs",
    NULL,
};

const struct command command_controller = {
    .name = "controller",
    .arguments = "",
    .summary = "run the Jobs of a Kubernetes cluster",
    .about = "Does the work of Volcano's controller-manager, and with --scheduler that of its scheduler: the same "
             "kinds, objects\n"
             "and labels. Runs in the cluster or anywhere that reaches its API. One of several replicas leads. A "
             "leader that\n"
             "loses the Lease stops writing before another can begin, and exits with status 1 to be restarted.\n\n"
             "SIGTERM: waits up to 5 seconds for requests in flight, releases the Lease, and exits with status 0.",
    .options = controller_option_table,
    .n_options = ARRAY_LEN(controller_option_table),
    .options_size = sizeof(struct controller_options),
    .foreign = controller_foreign,
    .examples = controller_examples,
    .run = controller_run,
};
