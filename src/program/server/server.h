/* server.h - the parts of `pumice server`
 *
 *     server.c    everything is opened, and closed again; the command
 *     config.c    settings: options, --config, SIGHUP
 *     listen.c    addresses, sockets of systemd, names
 *     dir.c       --data-dir, for all commands that work there
 *     announce.c  tells `pumice run` that a server is up
 *     store.c     the commands that look after the store
 *     node.c      this machine as its node: the agent, pods that outlive the program, tokens for them
 *     keys.c      certificates and users, the administrator's token, the kubeconfig: below --data-dir
 *     explain.c   why a job waits, for the page
 *     policy.c    --access-config: as whom pods run, limits
 *     ports.c         ports of this machine that lead to Services
 *     metrics.c   what /metrics tells of controllers and the store
 *     loop.c      turns: requests, controllers and scheduler, the node, watches; signals and the end
 *
 * The API is server/server.h, on a store below --data-dir (store/store.h): all writes of a turn, of clients, controllers,
 * scheduler and node, are flushed together before the answers of the next are sent. Controllers, scheduler and
 * agent are those of `pumice run`.
 */
#ifndef PROGRAM_SERVER_SERVER_H
#define PROGRAM_SERVER_SERVER_H

#include "auth/throttle.h"
#include "base/clock.h"
#include "cli/config_watch.h"
#include "cli/machine.h"
#include "http/server.h"
#include "os/supervisor.h"
#include "sched/model/config.h"

struct auth;
struct cluster;
struct driver;
struct explanations;
struct kubelet;
struct node_ports;
struct node_lease;
struct server;
struct store;

#define SERVER_LISTEN "127.0.0.1:6443" /* where nothing else is said */

struct server_command_options {
    const char *data_dir, *config, *scheduler_config, *capacity, *name, *shutdown_grace, *log_level, *log_format;
    struct text_list listen, secret_keys;
    const char *access_config, *audit_log, *audit_level, *runs;
    bool drain, cleanup;
    struct machine_options machine;
};

/* Where all of it is, absolute. 'given': --data-dir; NULL: where it is then. */
int server_dir_find(struct arena *a, const char *given, struct str *ret, struct err *e);
/* As struct store_options wants them. */
const char *const *server_secret_keys(struct arena *a, const struct text_list *files);

struct serve_token { /* a TokenRequest of a pod */
    uint64_t id;
    struct arena arena;
    struct str namespace, account;
    struct str request; /* as text: a copy of its tree would borrow memory that is freed by then */
};

struct serve_policy {           /* --access-config */
    struct arena arena;         /* of what follows */
    struct runas_policy *runas; /* NULL: no rules */
    bool enters_all;            /* exec: namespace */
    int64_t token_life_s;       /* the longest of an account's token; 0: the default */
    struct throttle_limits limits;
};

enum serve_stage {
    SERVE_WORKS,
    SERVE_STOPS, /* asked to end: pods end */
    SERVE_OVER,
};

struct serve {
    struct arena *arena;
    const struct server_command_options *given; /* by the command line */
    struct server_command_options options;      /* … and --config */
    const struct server_command_options *o;     /* those */
    struct machine_options machine_options;     /* those given, below --data-dir */
    bool is_root;                               /* before it entered a namespace */
    struct str data_dir;                        /* absolute */
    struct str node_name;
    VEC(struct str) listen; /* those of systemd first */
    struct str url;         /* empty: there are only UNIX sockets */
    struct supervisor supervisor;
    struct sched_config sched;
    struct config_watch sched_watch;
    int64_t grace_ms;
    struct str announce_dir; /* empty: not announced */
    int lock_fd, signal_fd, announce_fd;

    struct clock_follower clock;
    bool is_ahead; /* of the wall clock, and that was logged */
    struct machine machine;
    struct auth *auth;
    struct serve_policy policy;
    struct str kubeconfig; /* kubeconfig: its path; empty: there is none */

    struct agent_remote remote;
    VEC(struct serve_token *) tokens; /* asked for, of pods */
    struct store *store;
    struct cluster *driver_door, *agent_door, *lease_door;
    struct node_lease *lease; /* of the Node */
    struct driver *driver;
    struct agent *agent;
    struct kubelet *kubelet;
    struct server *server;
    struct http_server *http;
    struct explanations *explanations;
    struct node_ports *ports;

    enum serve_stage stage;
    int64_t stage_ms; /* mono time: when patience ends */
    bool ends_pods;   /* at the end; else they go on, for the next one */
    int exit_status;
    struct {
        uint64_t doings; /* requests, connections and writes so far */
        int64_t at_ms;   /* mono time: at rest then; INT64_MAX: it is */
    } settle;
};

/* ---- config.c ---- */

/* Everything that follows from options: s->o, directories, the name of the node, the scheduler's settings. */
int serve_config_read(struct serve *s, const struct server_command_options *given, struct json **ret_capacity,
                      struct err *e);
void serve_config_again(struct serve *s);   /* SIGHUP */
int64_t serve_config_turn(struct serve *s); /* is the scheduler's file another? Milliseconds until the next look */

/* ---- listen.c ---- */

void serve_listen_find(struct serve *s); /* s->listen */
/* The address of this machine: of --listen, else that of its way out, else 127.0.0.1. */
struct str serve_listen_host(struct serve *s);
const char *const *serve_listen_names(struct serve *s); /* of this server, for its certificate; ended by NULL */
/* s->auth is there. Writes the kubeconfig. 'opt': who hears requests. */
int serve_listen_open(struct serve *s, struct http_server_options opt, struct err *e);

/* ---- announce.c ---- */

/* A file that says where the server of this machine is, below a directory that only its owner can write:
 *
 *     $XDG_RUNTIME_DIR/pumice, or /run/pumice of root, or where the user's state is: server.json
 *
 * The server has a lock on it, which ends with its process however that ends. There is one such server of a user: the
 * one in the usual directory, or another whose settings say what runs are to do (--runs). */
extern const char *const announce_runs[];  /* values of --runs */
void serve_announce_find(struct serve *s); /* s->announce_dir, before the program becomes root of a namespace */
void serve_announce(struct serve *s);      /* it listens; what fails is logged */
void serve_announce_end(struct serve *s);

struct announced {
    struct str server, kubeconfig; /* its URL; of its administrator */
    struct str runs;               /* "submit", "tell" */
};
/* Is there one? Only what root or we ourselves have written counts. */
bool announced_find(struct arena *a, struct announced *ret);

/* ---- node.c ---- */

/* Locks --data-dir, finds the pods of a server before this one, opens the agent. One thread. */
int serve_node_open(struct serve *s, const struct json *capacity, struct err *e);
/* s->store is there: from now on it works. */
void serve_node_attach(struct serve *s);
enum { SERVE_POD_PORT = 443 };                         /* where they find it, at their gateway */
int serve_node_listen(struct serve *s, struct err *e); /* for programs in pods; s->http is there */
int64_t serve_node_turn(struct serve *s); /* before that of the agent; milliseconds until the next is due */
void serve_node_close(struct serve *s);
int serve_node_clean_up(struct serve *s, struct err *e); /* --cleanup */

/* ---- keys.c ---- */

/* Certificates, users and roles; s->store is there. 'names': of this server, ended by NULL. */
int serve_keys_load(struct serve *s, const char *const *names, struct err *e);
/* Of s->url. Sets s->kubeconfig. 0600, in one step. */
int serve_kubeconfig_write(struct serve *s, struct err *e);

/* ---- explain.c ---- */

int serve_explain_open(struct serve *s, struct err *e);
void serve_explain_close(struct serve *s); /* after the HTTP server was freed */
void serve_explain(void *serve, struct http_call *call, struct str namespace, struct str name);
int serve_explain_fd(const struct serve *s);
int64_t serve_explain_turn(struct serve *s); /* milliseconds until it is due again */

/* ---- ports.c ---- nodePorts and hostPorts ---- */

int serve_ports_open(struct serve *s, struct err *e); /* s->listen is known */
int serve_ports_fd(const struct serve *s);
void serve_ports_turn(struct serve *s);
void serve_ports_close(struct serve *s); /* before the agent and the store; NULL is fine */

/* ---- policy.c ---- */

/* As the options say; the caller adds where that stands. */
int serve_policy_read(const struct serve *s, const struct server_command_options *o, struct serve_policy *ret,
                      struct err *e);
void serve_policy_take(struct serve *s, const struct serve_policy *take); /* it counts from now on */

/* ---- metrics.c ---- */

void serve_metrics(void *serve, struct buf *out); /* server_options.metrics */

/* ---- loop.c ---- */

/* Until it is over; the exit status. */
int serve_loop(struct serve *s);

#endif
