/* server.c - the command `pumice server`: a cluster of one machine, with the Kubernetes API */
#include "program/server/server.h"

#include "auth/auth.h"
#include "base/log.h"
#include "base/rand.h"
#include "base/util.h"
#include "cli/commands.h"
#include "program/log_options.h"
#include "program/server/store.h"
#include "cluster/cluster.h"
#include "driver/driver.h"
#include "kubelet/kubelet.h"
#include "os/signals.h"
#include "server/server.h"
#include "store/store.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum { FILES = 32768 };

/* ---- what the server asks of us ---- */

static bool server_is_ready(void *ctx, struct buf *out)
{
    const struct serve *s = ctx;
    struct driver_stats stats;
    struct store_stats store;

    driver_stats(s->driver, &stats);
    store_stats(s->store, &store);
    if (store.failure)
        buf_fmt(out, "read-only: %s", store.failure->text);
    else if (!stats.is_synced)
        buf_str(out, STR("the controllers have not listed all objects yet"));
    return stats.is_synced && !store.failure;
}

static void server_on_head(void *ctx, struct http_call *call)
{
    const struct serve *s = ctx;

    server_head(s->server, call);
}

static void server_on_request(void *ctx, struct http_call *call)
{
    const struct serve *s = ctx;

    server_request(s->server, call);
}

/* Whether it was kept is not known: what cannot be made durable is undone, but may be on the disk all the same. */
static void refuse_undone(void *ctx, struct http_call *call)
{
    const struct err *why = ctx;
    autobuf text = { 0 };

    buf_fmt(&text, "the store could not write the change to disk and has undone it: %s", why->text);
    server_refuse(call, 500, buf_view(&text));
}

/* Once a turn, before anybody is answered: what clients have written in it, and all others since the turn before. */
static void server_commit(void *ctx)
{
    struct serve *s = ctx;
    struct err e;

    if (store_flush(s->store, &e) < 0)
        http_server_take_back(s->http, refuse_undone, &e);
}

/* ---- opening ---- */

/* A descriptor for each client. The pods keep the limit that there was: their parent was made before. */
static void allow_connections(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return;
    files.rlim_cur = files.rlim_max == RLIM_INFINITY ? FILES : MIN_OF(files.rlim_max, (rlim_t)FILES);
    (void)setrlimit(RLIMIT_NOFILE, &files); /* else fewer can come */
}

/* A kind of users: what its objects own is collected too. Those there were before the driver, it knows. */
static void on_type(void *ctx, const struct resource_type *type)
{
    struct serve *s = ctx;

    if (s->driver)
        driver_want(s->driver, type);
}

static int server_open_socket(void *ctx)
{
    return agent_socket(((struct serve *)ctx)->agent, SOCK_STREAM);
}

static int open_cluster(struct serve *s, struct err *e)
{
    struct driver_options driver = { .schedules = true,
                                     .collects_garbage = true,
                                     .sched_config = &s->sched,
                                     .open_socket = server_open_socket,
                                     .socket_ctx = s };
    struct kubelet_options kubelet = { .agent = s->agent, .node_name = s->node_name, .refuse = server_refuse };
    struct server_options server = { .clock = &s->clock.clock,
                                     .auth = s->auth,
                                     .runas = s->policy.runas,
                                     .enters_all = s->policy.enters_all,
                                     .metrics = serve_metrics,
                                     .ready = server_is_ready,
                                     .explain = serve_explain,
                                     .pod_address = agent_gateway(s->agent, s->arena),
                                     .pod_port = SERVE_POD_PORT,
                                     .on_type = on_type,
                                     .ctx = s };

    allow_connections();
    if (serve_explain_open(s, e) < 0 || kubelet_open(&kubelet, &s->kubelet, e) < 0)
        return -1;
    server.store = s->store;
    server.kubelet = s->kubelet;
    s->server = server_new(&server);
    s->driver_door = cluster_embedded_new(s->store, &s->clock.clock);
    cluster_embedded_complete(s->driver_door, server_complete, s->server);
    s->driver = driver_new(s->driver_door, &driver);
    serve_node_attach(s);
    return 0;
}

static int open_store(struct serve *s, struct err *e)
{
    const char *dir = arena_fmt(s->arena, "%.*s/" SERVER_STORE_DIR, STR_ARG(s->data_dir)).p;
    struct store_options opt = { .clock = &s->clock.clock,
                                 .seed = rand_os_u64(),
                                 .secret_keys = server_secret_keys(s->arena, &s->o->secret_keys) };

    if (store_open(dir, &opt, &s->store, e) < 0)
        return -1;
    if (store_is_cut(s->store))
        log_error("Controllers, scheduler and node are paused until the store is restored");
    return 0;
}

static int server_server_start(struct serve *s, struct json *capacity, struct err *e)
{
    struct http_server_options http = {
        .ctx = s, .on_head = server_on_head, .on_request = server_on_request, .on_heard = server_commit
    };

    serve_listen_find(s);
    if (signals_open((int[]){ SIGINT, SIGTERM, SIGHUP, 0 }, &s->signal_fd, e) < 0 ||
        serve_node_open(s, capacity, e) < 0 || open_store(s, e) < 0 ||
        serve_keys_load(s, serve_listen_names(s), e) < 0 || open_cluster(s, e) < 0)
        return -1;
    return serve_listen_open(s, http, e) < 0 || serve_node_listen(s, e) < 0 ? -1 : serve_ports_open(s, e);
}

/* What it is, and how to use it. */
static void say_hello(const struct serve *s)
{
    autobuf words = { 0 };

    printf("pumice " PUMICE_VERSION ": a cluster of this machine");
    VEC_FOREACH(address, &s->listen)
        printf("%s %.*s", address == s->listen.v ? " at" : " and", STR_ARG(*address));
    if (s->url.n)
        printf(" (%.*s)", STR_ARG(s->url));
    printf("\nObjects are in %.*s/" SERVER_STORE_DIR "; pods go on when this program is stopped or killed (Ctrl-C ends "
           "them).\n\n",
           STR_ARG(s->data_dir));
    if (s->kubeconfig.n)
        printf("  export KUBECONFIG=%.*s\n  kubectl create -f job.yaml\n  kubectl get vcjob -w\n\n",
               STR_ARG(s->kubeconfig));
    else
        printf("  curl --unix-socket %.*s http://pumice/api/v1/namespaces\n\n",
               STR_ARG(str_from(s->listen.v[0], strlen("unix:"))));
    (void)fflush(stdout); /* a broken stdout cannot be reported */
    buf_fmt(&words, "READY=1\nSTATUS=A cluster of this machine at %.*s", STR_ARG(s->listen.v[0]));
    supervisor_tell(&s->supervisor, words.p);
}

static void server_finish(struct serve *s)
{
    serve_node_close(s);
    kubelet_close(s->kubelet);
    server_free(s->server);
    serve_ports_close(s);
    http_server_free(s->http);
    serve_explain_close(s);
    driver_free(s->driver);
    cluster_free(s->driver_door);
    cluster_free(s->agent_door);
    cluster_free(s->lease_door);
    auth_free(s->auth);
    arena_done(&s->policy.arena);
    store_free(s->store);
    config_watch_done(&s->sched_watch);
    machine_done(&s->machine);
    serve_announce_end(s);
    autoclose_done(&s->signal_fd);
    autoclose_done(&s->lock_fd);
}

static int server_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    struct serve s = { .arena = a, .lock_fd = -1, .signal_fd = -1, .announce_fd = -1 };
    struct json *capacity = NULL;
    struct err e;
    int status;

    (void)arguments;
    clock_follower_init(&s.clock, &clock_real);
    if (serve_config_read(&s, options, &capacity, &e) < 0) {
        arena_done(&s.policy.arena);
        return command_fail("server", &e, EXIT_USAGE);
    }
    supervisor_init(&s.supervisor);
    log_options_apply(s.o->log_level, s.o->log_format);
    if (s.o->cleanup) {
        status = serve_node_clean_up(&s, &e) < 0 ? command_fail("server", &e, EXIT_FAILED) : EXIT_FINE;
    } else if (server_server_start(&s, capacity, &e) < 0) {
        status = command_fail("server", &e, EXIT_FAILED);
    } else {
        serve_announce(&s);
        say_hello(&s);
        status = serve_loop(&s);
    }
    server_finish(&s);
    return status;
}

/* ---- the command ---- */

#define FIELD(name)         offsetof(struct server_command_options, name)
#define MACHINE_FIELD(name) offsetof(struct server_command_options, machine.name)

static const char *const audit_levels[] = { "Metadata", "Request", NULL };

static const struct option server_option_table[] = {
    { 0, "data-dir", OPTION_TEXT, FIELD(data_dir), "DIR", NULL,
      "keys, the kubeconfig and the files of pods are below it (default: server/ below what `pumice run` uses)" },
    { 0, "listen", OPTION_LIST, FIELD(listen), "ADDRESS", NULL,
      "where clients come: HOST:PORT, or unix:PATH (default: " SERVER_LISTEN
      "; port 0: one that is free; may be repeated)" },
    { 0, "config", OPTION_TEXT, FIELD(config), "FILE", NULL,
      "settings: these options by name, in YAML; the command line wins. SIGHUP: read again" },
    { 0, "scheduler-config", OPTION_TEXT, FIELD(scheduler_config), "FILE", NULL,
      "volcano-scheduler.conf; read again when it changes" },
    { 0, "name", OPTION_TEXT, FIELD(name), "NAME", NULL, "of the Node (default: the host's name)" },
    { 0, "capacity", OPTION_TEXT, FIELD(capacity), "AMOUNTS", NULL,
      "capacity of the node, as cpu=8,memory=16Gi (default: that of the machine)" },
    { 0, "drain", OPTION_FLAG, FIELD(drain), NULL, NULL,
      "SIGTERM ends the pods too, as SIGINT does (default: they go on, and the next 'pumice server' takes them over)" },
    { 0, "shutdown-grace-period", OPTION_TEXT, FIELD(shutdown_grace), "TIME", NULL,
      "pods have so long at most when they are ended with this program (default: 30s)" },
    { 0, "cleanup", OPTION_FLAG, FIELD(cleanup), NULL, NULL,
      "end the pods that a server of this --name and --data-dir left, remove all of them, and end" },
    { 0, "secret-key", OPTION_LIST, FIELD(secret_keys), "FILE", NULL,
      "Secrets are sealed on the disk with the first, and opened with any (may be repeated; `openssl rand -hex 32`)" },
    MACHINE_OPTIONS(MACHINE_FIELD),
    { 0, "claims", OPTION_TEXT, MACHINE_FIELD(claims), "DIR", NULL,
      "PersistentVolumeClaims are directories here (default: claims/ below --data-dir)" },
    { 0, "access-config", OPTION_TEXT, FIELD(access_config), "FILE", NULL,
      "as whom pods of people run, and how much a client may ask; in --config also the rules themselves", true },
    { 0, "audit-log", OPTION_TEXT, FIELD(audit_log), "FILE", NULL,
      "what was asked, by whom, and what came of it: a line for each request; begun anew on SIGHUP" },
    { 0, "audit-level", OPTION_TEXT, FIELD(audit_level), "LEVEL", audit_levels,
      "Metadata, or Request: what was sent, too, but for Secrets, ConfigMaps and tokens (default: Metadata)" },
    { 0, "runs", OPTION_TEXT, FIELD(runs), "WHAT", announce_runs,
      "what `pumice run` of this machine does while the server is up: submit to it; tell: run beside it and say so; "
      "beside: nothing (default: tell, of the server in the default --data-dir)" },
    LOG_OPTIONS(FIELD),
};

static const char *const server_examples[] = {
    "pumice server --data-dir /var/lib/pumice",
    "then: KUBECONFIG=/var/lib/pumice/admin.kubeconfig kubectl create -f job.yaml",
    "pumice server --listen 127.0.0.1:0 --capacity cpu=8,memory=16Gi",
    "at a port that is free, with a part of this machine",
    NULL,
};

const struct command command_server = {
    .name = "server",
    .arguments = "",
    .summary = "run a cluster on this machine, for kubectl",
    .about =
        "Runs the Kubernetes API with Volcano's kinds, the controllers, the gang scheduler and a node in one process.\n"
        "kubectl and client libraries work as with any cluster; pods run on this machine as those of `pumice run` do.\n"
        "Clients need DIR/admin.kubeconfig, which the server writes at the start, readable by its owner only.\n\n"
        "Objects are in DIR/store; an answered write is on the disk. If the disk is full or broken, the server "
        "refuses\n"
        "writes with the reason and still answers reads.\n\n"
        "Pods outlive this program: after SIGTERM, kill -9 or an upgrade the next 'pumice server' of the same --name "
        "and\n"
        "--data-dir adopts them. SIGINT (Ctrl-C), and SIGTERM with --drain, end the pods with their grace period; they "
        "fail\n"
        "with the reason Terminated. A second signal ends them at once.",
    .options = server_option_table,
    .n_options = ARRAY_LEN(server_option_table),
    .options_size = sizeof(struct server_command_options),
    .examples = server_examples,
    .run = server_run,
};
