/* node.c - the command `pumice node`: this machine as a node of a Kubernetes cluster */
#include "program/node/node.h"

#include "api/duration.h"
#include "api/meta.h"
#include "api/name.h"
#include "base/log.h"
#include "base/rand.h"
#include "base/util.h"
#include "cli/commands.h"
#include "program/log_options.h"
#include "os/io.h"
#include "os/lock.h"
#include "os/path.h"
#include "os/signals.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

enum { GRACE_MS = 30000, LOCK_MS = 500 }; /* LOCK: a killed process ends at once, unless the disk blocks it */

/* ---- options ---- */

/* "a=b,c=d", as often as it is given. */
static int read_labels(struct node *n, struct err *e)
{
    struct json *labels = json_object(n->arena);

    VEC_FOREACH(text, &n->o->labels.list) {
        struct str rest = str_of(*text), part;

        while (str_split(&rest, ',', &part)) {
            ptrdiff_t eq = str_find_char(part, '=');
            struct str key = eq < 0 ? part : str_sub(part, 0, (size_t)eq);
            struct str value = eq < 0 ? STR("") : str_from(part, (size_t)eq + 1);
            const char *problem = name_check_qualified(n->arena, key);

            if (!problem)
                problem = name_check_label_value(n->arena, value);
            if (problem)
                return err_set(e, ERR_INVALID, "--labels %.*s: %s", STR_ARG(part), problem);
            json_set_key(labels, key, json_str(n->arena, value));
        }
    }
    n->remote.labels = labels;
    return 0;
}

/* "key=value:NoSchedule" or "key:NoExecute". */
static int read_taint(struct node *n, struct json *list, struct str text, struct err *e)
{
    ptrdiff_t colon = str_rfind_char(text, ':'), eq;
    struct str key = colon < 0 ? text : str_sub(text, 0, (size_t)colon), value = STR_NULL;
    struct str effect = str_from(text, (size_t)(colon + 1));
    bool is_effect = str_is(effect, "NoSchedule") || str_is(effect, "PreferNoSchedule") || str_is(effect, "NoExecute");
    struct json *taint = json_object(n->arena);

    if (colon < 0 || !is_effect)
        return err_set(e, ERR_INVALID,
                       "--taints %.*s: write KEY=VALUE:EFFECT or KEY:EFFECT, where EFFECT is NoSchedule, "
                       "PreferNoSchedule or NoExecute",
                       STR_ARG(text));
    eq = str_find_char(key, '=');
    if (eq >= 0) {
        value = str_from(key, (size_t)eq + 1);
        key = str_sub(key, 0, (size_t)eq);
    }
    json_set(taint, "key", json_str(n->arena, key));
    if (value.n)
        json_set(taint, "value", json_str(n->arena, value));
    json_set(taint, "effect", json_str(n->arena, effect));
    json_push(list, taint);
    return 0;
}

static int read_taints(struct node *n, struct err *e)
{
    struct json *list = json_array(n->arena);

    VEC_FOREACH(text, &n->o->taints.list) {
        struct str rest = str_of(*text), part;

        while (str_split(&rest, ',', &part))
            if (read_taint(n, list, part, e) < 0)
                return -1;
    }
    n->remote.taints = json_count(list) ? list : NULL;
    return 0;
}

static int read_ip(struct node *n, struct err *e)
{
    struct in_addr v4;

    if (!n->o->ip)
        return 0;
    if (inet_pton(AF_INET, n->o->ip, &v4) != 1)
        return err_set(e, ERR_INVALID, "--node-ip %s: must be an IPv4 address, such as 10.0.0.7", n->o->ip);
    n->ip = str_of(n->o->ip);
    return 0;
}

static int read_grace(struct node *n, struct err *e)
{
    int64_t ns = (int64_t)GRACE_MS * 1000000;

    if (n->o->shutdown_grace && duration_parse(str_of(n->o->shutdown_grace), &ns, e) < 0)
        return err_wrap(e, "--shutdown-grace-period");
    n->grace_ms = MAX_OF(ns / 1000000, 0);
    return 0;
}

static int read_serving(struct node *n, struct err *e)
{
    int64_t port = 0;

    if (n->o->port && (str_to_i64(str_of(n->o->port), &port) < 0 || port < 0 || port > UINT16_MAX))
        return err_set(e, ERR_INVALID, "--port %s: must be a number from 0 to 65535", n->o->port);
    if (!n->o->cert != !n->o->key)
        return err_set(e, ERR_INVALID, "--tls-cert-file and --tls-private-key-file: give both or none");
    return 0;
}

static void read_security(struct node *n)
{
    for (int i = 0; n->o->security && i < SECURITY_MAX; i++)
        if (strcmp(n->o->security, node_security_names[i]) == 0)
            n->security = (enum node_security)i;
}

static int node_read_options(struct node *n, struct json **ret_capacity, struct err *e)
{
    read_security(n);
    if (machine_node_name(n->arena, n->o->name, &n->name, e) < 0 || read_labels(n, e) < 0 || read_taints(n, e) < 0 ||
        read_ip(n, e) < 0 || read_grace(n, e) < 0 || read_serving(n, e) < 0)
        return -1;
    if (n->o->capacity && machine_capacity(n->arena, str_of(n->o->capacity), ret_capacity, e) < 0)
        return err_wrap(e, "--capacity %s", n->o->capacity);
    return 0;
}

/* ---- who this machine is ---- */

/* The address that it reaches the API server from: nothing is sent. */
static int find_ip(struct node *n, struct err *e)
{
    struct str host = n->config.server, port = STR("443"), rest;
    ptrdiff_t at;

    if (n->ip.n)
        return 0;
    if (str_starts(host, STR("https://")))
        host = str_from(host, strlen("https://"));
    rest = host;
    (void)str_split(&rest, '/', &host);
    at = str_rfind_char(host, ':');
    if (at > 0) {
        port = str_from(host, (size_t)at + 1);
        host = str_sub(host, 0, (size_t)at);
    }
    if (machine_address(n->arena, host, port, &n->ip, e) < 0)
        return err_wrap(e, "cannot find the address of this machine; use --node-ip");
    return 0;
}

/* A number that stays with this state directory and name: what a Lease tells us from others by. */
static int find_identity(struct node *n, int dir, struct str *ret, struct err *e)
{
    const char *file = arena_fmt(n->arena, "node-%.*s.id", STR_ARG(n->name)).p;
    struct str id = str_trim(file_text(n->arena, dir, file, 64));

    if (!id.n) {
        id = arena_fmt(n->arena, "%016llx", (unsigned long long)rand_os_u64());
        if (file_write(dir, file, O_TRUNC, 0600, id) < 0)
            return err_errno(e, "write %s/%s", arena_cstr(n->arena, n->machine.state), file);
    }
    *ret = arena_fmt(n->arena, "%.*s_%.*s", STR_ARG(n->name), STR_ARG(id));
    return 0;
}

static int lock_name(struct node *n, struct str *ret_identity, struct err *e)
{
    autoclose int dir = -1;

    if (lock_dir_open(arena_cstr(n->arena, n->machine.state), &dir, e) < 0)
        return err_wrap(e, "--state");
    if (lock_take(dir, arena_fmt(n->arena, "node-%.*s.lock", STR_ARG(n->name)).p, LOCK_MS, &n->lock_fd, e) < 0) {
        if (e->code == ERR_CONFLICT)
            return err_set(e, ERR_CONFLICT, "another pumice node runs on this machine as \"%.*s\": use another --name",
                           STR_ARG(n->name));
        return -1;
    }
    return find_identity(n, dir, ret_identity, e);
}

static int find_machine(struct node *n, struct str *ret_identity, struct err *e)
{
    if (machine_find(&n->machine, &n->o->machine, e) < 0)
        return -1;
    if (make_dirs(arena_cstr(n->arena, n->machine.state), 0755, e) < 0)
        return err_wrap(e, "--state");
    return lock_name(n, ret_identity, e);
}

static int clean_up(struct node *n, struct err *e)
{
    struct str identity;

    if (find_machine(n, &identity, e) < 0)
        return -1;
    if (agent_cleanup(arena_cstr(n->arena, n->machine.state), n->name.p))
        log_info("Removed pods of an earlier node", LOG_STR("node", n->name));
    else
        log_info("No pods of an earlier node", LOG_STR("node", n->name));
    return 0;
}

/* ---- what is watched ---- */

/* Of pods those of this machine; ConfigMaps, Secrets and claims one by one, as pods name them. */
static void node_make_views(struct node *n)
{
    static const char *const by_name[] = { "ConfigMap", "Secret", "PersistentVolumeClaim" };

    n->views[0] = (struct kube_view){ .type = type_by_kind(STR("v1"), STR("Pod")),
                                      .fields = arena_fmt(n->arena, "spec.nodeName=%.*s", STR_ARG(n->name)) };
    for (size_t i = 0; i < ARRAY_LEN(by_name); i++)
        n->views[1 + i] = (struct kube_view){ .type = type_by_kind(STR("v1"), str_of(by_name[i])),
                                              .is_unlisted = true };
}

static uint64_t on_follow(void *ctx, const struct resource_type *type, struct str namespace, struct str name)
{
    const struct node *n = ctx;

    return cluster_kube_follow(n->door, type, namespace, name);
}

static void on_unfollow(void *ctx, const struct resource_type *type, struct str namespace, struct str name)
{
    const struct node *n = ctx;

    cluster_kube_unfollow(n->door, type, namespace, name);
}

struct token_ask {
    struct agent *agent;
    uint64_t id;
};

static void on_token_came(void *ctx, const struct json *answer, const struct err *e)
{
    struct token_ask *ask = ctx;

    agent_token_came(ask->agent, ask->id, answer, e);
    free(ask);
}

static void node_on_token(void *ctx, uint64_t id, struct str namespace, struct str account, const struct json *request)
{
    const struct node *n = ctx;
    struct token_ask *ask = xcalloc(1, sizeof(*ask));
    autobuf path = { 0 };

    *ask = (struct token_ask){ n->agent, id };
    buf_fmt(&path, "/api/v1/namespaces/%.*s/serviceaccounts/%.*s/token", STR_ARG(namespace), STR_ARG(account));
    cluster_kube_ask(n->door, &(struct kube_question){ "POST", buf_view(&path), request, on_token_came, ask });
}

static void node_on_notice(void *ctx, struct str sentence)
{
    (void)ctx;
    log_info("Node notice", LOG_STR("text", sentence));
}

/* ---- starting ---- */

static int load_config(struct node *n, struct err *e)
{
    struct kube_config_options opt = { kube_env_real(), n->o->kubeconfig, n->o->context };

    if (kube_config_load(n->arena, &opt, &n->config, e) < 0)
        return -1;
    kube_config_log_warnings(&n->config);
    return find_ip(n, e);
}

static int open_doors(struct node *n, struct str identity, struct err *e)
{
    struct cluster_kube_options opt = { .config = &n->config }, lease = opt;

    opt.views = n->views;
    opt.n_views = NODE_VIEWS;
    if (cluster_kube_new(&opt, &n->door, e) < 0 || cluster_kube_new(&lease, &n->lease_door, e) < 0)
        return -1;
    n->lease = node_lease_new(n->lease_door, n->name, identity);
    return 0;
}

/* The agent first: it wants a process of one thread. */
static int node_start(struct node *n, struct json *capacity, struct err *e)
{
    struct agent_options opt = { .node_name = n->name.p,
                                 .capacity = capacity,
                                 .cluster_domain = n->o->domain,
                                 .remote = &n->remote,
                                 .outlives = true,
                                 .hooks = { .ctx = n, .notice = node_on_notice, .admit = node_admit } };
    struct str identity;

    if (load_config(n, e) < 0 || find_machine(n, &identity, e) < 0)
        return -1;
    opt.found = agent_found_look(arena_cstr(n->arena, n->machine.state), opt.node_name);
    if (machine_prepare(&n->machine, &n->o->machine, opt.found, e) < 0 ||
        signals_open((int[]){ SIGINT, SIGTERM, 0 }, &n->signal_fd, e) < 0 ||
        machine_agent(&n->machine, &n->o->machine, &opt, e) < 0) {
        agent_found_free(opt.found);
        return -1;
    }
    node_make_views(n);
    n->remote.host_ip = n->ip;
    log_info("Starting pumice node", LOG_TEXT("version", PUMICE_VERSION), LOG_STR("name", n->name),
             LOG_STR("server", n->config.server), LOG_STR("credentials", n->config.origin));
    if (agent_open(&opt, &n->agent, e) < 0)
        return -1;
    if (open_doors(n, identity, e) < 0 || serving_open(n, &n->serving, e) < 0)
        return -1;
    n->remote.port = serving_port(n->serving);
    log_info("Serving the kubelet API", LOG_INT("port", n->remote.port));
    return 0;
}

static void node_finish(struct node *n)
{
    if (n->ends_pods) /* either lets go of what it follows: before the doors */
        agent_close(n->agent);
    else
        agent_leave(n->agent);
    serving_close(n->serving);
    node_lease_free(n->lease);
    cluster_free(n->door);
    cluster_free(n->lease_door);
    machine_done(&n->machine);
    autoclose_done(&n->signal_fd);
    autoclose_done(&n->lock_fd);
}

static int node_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    struct node n = {
        .arena = a, .o = options, .machine.arena = a, .signal_fd = -1, .lock_fd = -1, .stage_ms = INT64_MAX
    };
    struct json *capacity = NULL;
    struct err e;
    int status;

    (void)arguments;
    n.remote.ctx = &n;
    n.remote.follow = on_follow;
    n.remote.unfollow = on_unfollow;
    n.remote.token = node_on_token;
    if (node_read_options(&n, &capacity, &e) < 0)
        return command_fail("node", &e, EXIT_USAGE);
    log_options_apply(n.o->log_level, n.o->log_format);
    if (n.o->cleanup)
        status = clean_up(&n, &e) < 0 ? command_fail("node", &e, EXIT_FAILED) : EXIT_FINE;
    else
        status = node_start(&n, capacity, &e) < 0 ? command_fail("node", &e, EXIT_FAILED) : node_loop(&n);
    node_finish(&n);
    return status;
}

/* ---- the command ---- */

#define FIELD(name)         offsetof(struct node_options, name)
#define MACHINE_FIELD(name) offsetof(struct node_options, machine.name)

static const struct option node_option_table[] = {
    { 0, "kubeconfig", OPTION_TEXT, FIELD(kubeconfig), "FILE", NULL,
      "where the cluster is (default: KUBECONFIG, ~/.kube/config)" },
    { 0, "context", OPTION_TEXT, FIELD(context), "NAME", NULL, "of the kubeconfig (default: its current one)" },
    { 0, "name", OPTION_TEXT, FIELD(name), "NAME", NULL, "of the Node (default: the host's name)" },
    { 0, "node-ip", OPTION_TEXT, FIELD(ip), "ADDRESS", NULL,
      "of this machine (default: the one it reaches the API server from)" },
    { 0, "labels", OPTION_LIST, FIELD(labels), "KEY=VALUE,…", NULL, "of the Node (may be repeated)" },
    { 0, "taints", OPTION_LIST, FIELD(taints), "KEY=VALUE:EFFECT,…", NULL,
      "of the Node when it is new, so that only pods that tolerate it come (may be repeated)" },
    { 0, "capacity", OPTION_TEXT, FIELD(capacity), "AMOUNTS", NULL,
      "capacity of the node, as cpu=8,memory=16Gi (default: that of the machine)" },
    { 0, "cluster-domain", OPTION_TEXT, FIELD(domain), "DOMAIN", NULL, "of names (default: cluster.local)" },
    { 0, "address", OPTION_TEXT, FIELD(address), "ADDRESS", NULL, "of the kubelet API (default: all of this machine)" },
    { 0, "port", OPTION_TEXT, FIELD(port), "PORT", NULL, "of the kubelet API (default: 10250; 0: one that is free)" },
    { 0, "client-ca-file", OPTION_TEXT, FIELD(client_ca), "FILE", NULL,
      "who asks by a certificate must have one of these CAs (default: what the API server says)" },
    { 0, "tls-cert-file", OPTION_TEXT, FIELD(cert), "FILE", NULL,
      "certificate of the kubelet API (default: one that the cluster is asked to sign)" },
    { 0, "tls-private-key-file", OPTION_TEXT, FIELD(key), "FILE", NULL, "and its key" },
    { 0, "pod-security", OPTION_TEXT, FIELD(security), "LEVEL", node_security_names,
      "refuse pods that open this machine (baseline), that Pod Security \"restricted\" refuses, or none (privileged; "
      "default)" },
    { 0, "drain", OPTION_FLAG, FIELD(drain), NULL, NULL,
      "SIGTERM ends the pods too, as SIGINT does (default: they go on, and the next 'pumice node' takes them over)" },
    { 0, "shutdown-grace-period", OPTION_TEXT, FIELD(shutdown_grace), "TIME", NULL,
      "pods have so long at most when they are ended with this program (default: 30s)" },
    { 0, "cleanup", OPTION_FLAG, FIELD(cleanup), NULL, NULL,
      "end the pods that a node of this --name and --state left, remove all of them, and end" },
    MACHINE_OPTIONS(MACHINE_FIELD),
    { 0, "claims", OPTION_TEXT, MACHINE_FIELD(claims), "DIR", NULL,
      "PersistentVolumeClaims are directories here (default: pods with claims fail)" },
    { 0, "state", OPTION_TEXT, MACHINE_FIELD(state), "DIR", NULL,
      "where it keeps its files (default: /var/lib/pumice; ~/.local/state/pumice)" },
    LOG_OPTIONS(FIELD),
};

/* Of a kubelet. */
static const struct foreign_option node_foreign[] = {
    { "hostname-override", true, true, "use --name" },
    { "node-labels", true, true, "use --labels" },
    { "register-with-taints", true, true, "use --taints" },
    { "root-dir", true, true, "use --state" },
    { "config", true, true, "write its settings as options" },
    { "bootstrap-kubeconfig", true, true, "give --kubeconfig with credentials that last" },
    { "container-runtime-endpoint", true, true, "containers are made here; see --runtime" },
    { "anonymous-auth", false, false, "anonymous requests are always rejected" },
    { "authentication-token-webhook", false, false, "tokens are always reviewed" },
    { "authorization-mode", true, false, "the API server is always asked" },
    { "register-node", false, false, "the Node is always registered" },
    { "cluster-dns", true, false, "names are answered here" },
    { "rotate-certificates", false, false, "a certificate of the cluster is always renewed" },
    { "rotate-server-certificates", false, false, "a certificate of the cluster is always renewed" },
    { "v", true, false, "see --log-level" },
    { NULL, false, false, NULL },
};

static const char *const node_examples[] = {
    "pumice node",
    "this machine as a node of the cluster that kubectl uses",
    "pumice node --name desk --labels gpu=yes --taints lent=yes:NoSchedule",
    "only for pods that tolerate it",
    NULL,
};

const struct command command_node = {
    .name = "node",
    .arguments = "",
    .summary = "make this machine a node of a Kubernetes cluster",
    .about = "Does the work of a kubelet with the agent of 'pumice run': registers the Node, renews its Lease, runs "
             "the pods\n"
             "that are bound to it and writes their status.\n\n"
             "Pods of this machine reach each other by address and by the names of their Services. A network between "
             "machines\n"
             "needs a CNI plugin, which Pumice has not: keep the pods of a job on one machine.\n\n"
             "Pods outlive this program: after SIGTERM, kill -9 or an upgrade the next 'pumice node' of the same "
             "--name and\n"
             "--state adopts them. SIGINT (Ctrl-C), and SIGTERM with --drain, end the pods with their grace period; "
             "they fail\n"
             "with the reason Terminated, and the Node becomes not ready. A second signal ends them at once. Exit "
             "status 1 if\n"
             "another machine holds the Lease of this node.",
    .options = node_option_table,
    .n_options = ARRAY_LEN(node_option_table),
    .options_size = sizeof(struct node_options),
    .foreign = node_foreign,
    .examples = node_examples,
    .run = node_run,
};
