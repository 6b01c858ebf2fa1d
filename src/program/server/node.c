/* node.c - this machine as the node of the server: its agent, and pods that outlive the program
 *
 * The agent is that of `pumice node`, with the store of this process for a cluster, and so is the Lease that says that the
 * machine is alive: every ten seconds a small row and a sync of the disk, as node controllers expect it of a
 * kubelet, while the Node itself, which is larger, is written every five minutes. Pods go on when the program ends, and the
 * next one of the same directory and name takes them over. The store reports all objects, so only tokens of
 * service accounts are requested one by one; src/auth makes them.
 */
#include "auth/auth.h"
#include "base/log.h"
#include "base/util.h"
#include "program/node/node.h"
#include "program/server/server.h"
#include "kubelet/kubelet.h"
#include "os/dir.h"
#include "os/lock.h"
#include "os/path.h"
#include "store/store.h"

#include <sys/stat.h>

enum { OLD_POD_PORT = 6443 }; /* pods that run since a version before know it by this */
enum { LOCK_MS = 500 };       /* a killed process ends at once, unless the disk blocks it */

#define LOCK_NAME "server.lock"

/* ---- opening ---- */

/* Empty, or a server's already: no other program needs its files. */
static bool is_data_dir(int dir)
{
    autodir *d = dir_open(dir, ".");
    struct dirent *entry;

    if (faccessat(dir, LOCK_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return true;
    while ((entry = dir_next(d)))
        if (strcmp(entry->d_name, "lost+found") != 0)
            return false;
    return true;
}

/* Keys, tokens and all Secrets are below it. */
static int close_data(int dir, const char *path, struct err *e)
{
    struct stat st;

    if (fstat(dir, &st) < 0)
        return err_errno(e, "open %s", path);
    if (!(st.st_mode & 077))
        return 0;
    if (!is_data_dir(dir))
        return err_set(e, ERR_FORBIDDEN,
                       "%s is open to other users and has files that are not a server's; use an empty directory, or "
                       "run: chmod 0700 %s",
                       path, path);
    if (fchmod(dir, 0700) < 0)
        return err_errno(e, "close %s to other users", path);
    log_warn("Closed the data directory to other users", LOG_STR("directory", str_of(path)),
             LOG_STR("mode", STR("0700")));
    return 0;
}

/* One server for each directory. */
static int lock_data(struct serve *s, struct err *e)
{
    const char *path = arena_cstr(s->arena, s->data_dir);
    autoclose int dir = -1;

    if (make_dirs(path, 0700, e) < 0 || lock_dir_open(path, &dir, e) < 0 || close_data(dir, path, e) < 0)
        return err_wrap(e, "--data-dir");
    if (lock_take(dir, LOCK_NAME, LOCK_MS, &s->lock_fd, e) == 0)
        return 0;
    if (e->code == ERR_CONFLICT)
        return err_set(e, ERR_CONFLICT, "%s is in use by another pumice server: stop it, or use another --data-dir",
                       path);
    return -1;
}

static void server_node_on_notice(void *ctx, struct str sentence)
{
    (void)ctx;
    log_info("Node notice", LOG_STR("text", sentence));
}

static void on_leaves(void *ctx, struct str namespace, struct str pod, struct str uid)
{
    struct serve *s = ctx;

    if (s->kubelet)
        kubelet_pod_leaves(s->kubelet, &(struct agent_place){ namespace, pod, STR_NULL }, uid);
}

static void server_node_on_token(void *ctx, uint64_t id, struct str namespace, struct str account,
                                 const struct json *request)
{
    struct serve *s = ctx;
    struct serve_token *t = xcalloc(1, sizeof(*t));
    autobuf text = { 0 };

    json_print(&text, request); /* a copy shares its text, which goes before we come to it */
    *vec_push(s->arena, &s->tokens) = t;
    t->id = id;
    t->namespace = arena_str(&t->arena, namespace);
    t->account = arena_str(&t->arena, account);
    t->request = arena_str(&t->arena, buf_view(&text));
}

/* One way to run containers for all pods: our own, or the program of --runtime. Its name is the handler. */
static int on_runtime(void *ctx, struct str class, struct err *e)
{
    const struct serve *s = ctx;
    const struct object *o = store_get(s->store, type_by_kind(STR("node.k8s.io/v1"), STR("RuntimeClass")), STR_NULL,
                                       class);
    struct str own = str_of(s->machine_options.runtime ? s->machine_options.runtime : "pumice");
    struct str handler = o ? json_member_text(o->root, "handler") : STR_NULL;

    own = str_from(own, (size_t)(str_rfind_char(own, '/') + 1));
    if (!o)
        return err_set(e, ERR_IO, "RuntimeClass \"%.*s\" not found", STR_ARG(class));
    if (str_eq(handler, own))
        return 0;
    return err_set(e, ERR_IO, "no runtime for \"%.*s\" is configured: the handler of this node is \"%.*s\"",
                   STR_ARG(handler), STR_ARG(own));
}

static int find_machine(struct serve *s, struct err *e)
{
    s->machine.arena = s->arena;
    return machine_find(&s->machine, &s->machine_options, e) < 0 ? -1 : lock_data(s, e);
}

/* The agent first: it wants a process of one thread. */
int serve_node_open(struct serve *s, const struct json *capacity, struct err *e)
{
    struct agent_options opt = {
        .node_name = arena_cstr(s->arena, s->node_name),
        .capacity = capacity,
        .clock = &s->clock.clock,
        .remote = &s->remote,
        .outlives = true,
        .hooks = { .ctx = s, .notice = server_node_on_notice, .leaves = on_leaves, .runtime = on_runtime }
    };

    s->remote = (struct agent_remote){ .ctx = s, .host_ip = serve_listen_host(s), .token = server_node_on_token };
    if (find_machine(s, e) < 0)
        return -1;
    opt.found = agent_found_look(arena_cstr(s->arena, s->machine.state), opt.node_name);
    if (machine_prepare(&s->machine, &s->machine_options, opt.found, e) < 0 ||
        machine_agent(&s->machine, &s->machine_options, &opt, e) < 0) {
        agent_found_free(opt.found);
        return -1;
    }
    return agent_open(&opt, &s->agent, e);
}

/* Programs in pods reach the server at their gateway, at the same port for as long as they live: the network goes on with
 * them. */
int serve_node_listen(struct serve *s, struct err *e)
{
    static const uint16_t ports[] = { OLD_POD_PORT, SERVE_POD_PORT }; /* pods get the last one */
    int fd;

    for (size_t i = 0; i < ARRAY_LEN(ports); i++)
        if (agent_listen(s->agent, ports[i], &fd, e) < 0 || http_server_listen_at(s->http, fd, e) < 0)
            return -1;
    return 0;
}

void serve_node_attach(struct serve *s)
{
    s->agent_door = cluster_embedded_new(s->store, &s->clock.clock);
    agent_attach(s->agent, s->agent_door);
    s->lease_door = cluster_embedded_new(s->store, &s->clock.clock);
    s->lease = node_lease_new(s->lease_door, s->node_name, s->node_name);
}

/* ---- tokens ---- */

static void make_tokens(struct serve *s)
{
    VEC_FOREACH(t, &s->tokens) {
        struct arena *a = &(*t)->arena;
        struct json *request, *answer = NULL;
        struct err e;
        bool is_made = json_parse(a, (*t)->request, NULL, &request, &e) == 0 &&
                       auth_token_request(s->auth, a,
                                          &(struct account_request){
                                              .namespace = (*t)->namespace, .name = (*t)->account, .body = request },
                                          &answer, &e) == 0;

        agent_token_came(s->agent, (*t)->id, answer, is_made ? NULL : &e);
        arena_done(&(*t)->arena);
        free(*t);
    }
    s->tokens.n = 0;
}

int64_t serve_node_turn(struct serve *s)
{
    make_tokens(s);
    return node_lease_turn(s->lease);
}

/* ---- the end ---- */

/* Pods that have ended leave their logs, so a run without any that run goes on too, but not one without any at all.
 * Where the store could not be read, or not all of it, nothing is known of them: they stay. */
void serve_node_close(struct serve *s)
{
    bool is_cut = s->store && store_is_cut(s->store);
    bool has_pods = !s->store || store_count(s->store, type_by_kind(STR("v1"), STR("Pod")));

    if (!is_cut && (s->ends_pods || !has_pods))
        agent_close(s->agent);
    else
        agent_leave(s->agent);
    node_lease_free(s->lease);
    VEC_FOREACH(t, &s->tokens) {
        arena_done(&(*t)->arena);
        free(*t);
    }
}

int serve_node_clean_up(struct serve *s, struct err *e)
{
    if (find_machine(s, e) < 0)
        return -1;
    if (agent_cleanup(arena_cstr(s->arena, s->machine.state), arena_cstr(s->arena, s->node_name)))
        log_info("Removed pods of an earlier server", LOG_STR("node", s->node_name));
    else
        log_info("No pods of an earlier server", LOG_STR("node", s->node_name));
    return 0;
}
