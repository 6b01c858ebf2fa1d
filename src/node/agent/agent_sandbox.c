/* agent_sandbox.c - the sandbox of a pod: volumes, address, shim; made when it starts, removed when it has ended
 *
 * Nothing here waits: it asks for a sandbox, and the shim reports the result.
 */
#include "node/agent/agent_internal.h"

#include "api/pod/container.h"
#include "base/log.h"
#include "os/tree.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/stat.h>

enum { LOG_AHEAD = 8 << 20 }; /* a writer may be this far ahead of us: what we read at a time, and time to be away */

static const struct json *find_object(void *ctx, const char *kind, struct str name)
{
    static const struct {
        const char *kind;
        enum agent_want want;
    } kinds[] = { { "ConfigMap", WANT_CONFIG_MAP },
                  { "Secret", WANT_SECRET },
                  { "PersistentVolumeClaim", WANT_CLAIM } };
    const struct agent_pod *p = ctx;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const struct object *o;

        if (strcmp(kind, kinds[i].kind) != 0)
            continue;
        o = agent_find(p->agent, kinds[i].want, p->object->namespace, name);
        return o ? o->root : NULL;
    }
    return NULL;
}

static int get_token(void *ctx, struct str audience, int64_t seconds, struct buf *out, struct err *e)
{
    return agent_token_get(ctx, audience, seconds, out, e);
}

void agent_source_init(struct agent_pod *p, struct volume_source *ret)
{
    *ret = (struct volume_source){ .ctx = p,
                                   .find = find_object,
                                   .token = p->agent->opt.remote && p->agent->opt.remote->token ? get_token : NULL,
                                   .allocatable = p->agent->allocatable,
                                   .claims_dir = p->agent->opt.claims_dir,
                                   .allows_host_path = true };
}

/* Does it have a volume whose contents belong on disk? The others are files we write: few and small. */
static bool needs_disk(const struct agent_pod *p)
{
    JSON_FOREACH(v, json_find(p->object->root, "spec", "volumes", NULL))
        if (json_get(v, "emptyDir") || json_get(v, "ephemeral"))
            return true;
    return false;
}

int agent_pod_volumes(struct agent_pod *p, struct err *e)
{
    autoarena a = { 0 };
    struct volume_source source;
    struct str dir = needs_disk(p) ? p->disk : p->small;
    const struct json *fs_group = json_find(p->object->root, "spec", "securityContext", "fsGroup", NULL);

    if (needs_disk(p) && mkdir(dir.p, 0700) < 0 && errno != EEXIST) /* the other one is there */
        return err_errno(e, "create %s", dir.p);
    agent_source_init(p, &source);
    source.may_mount = true;
    if (volumes_make(arena_fmt(&a, "%s/volumes", dir.p).p, p->object->root, &source, &p->volumes, e) < 0)
        return -1;
    agent_storage_count_volumes(p);
    return fs_group ? volumes_own(p->volumes, (gid_t)json_i64(fs_group, 0), e) : 0;
}

int agent_pod_watch(struct agent_pod *p, struct err *e)
{
    struct epoll_event ev = { .events = EPOLLIN, .data = { .ptr = p } };

    if (epoll_ctl(p->agent->epoll, EPOLL_CTL_ADD, shim_fd(p->shim), &ev) < 0)
        return err_errno(e, "watch the shim");
    return 0;
}

void agent_pod_unwatch(struct agent_pod *p)
{
    (void)epoll_ctl(p->agent->epoll, EPOLL_CTL_DEL, shim_fd(p->shim), NULL); /* not watched is as good */
}

static int ask_for_shim(struct agent_pod *p, struct err *e)
{
    autoarena a = { 0 };
    const struct json *spec = json_get(p->object->root, "spec");
    struct shim_options opt = {
        .group = arena_fmt(&a, "pod-%.*s", STR_ARG(p->object->uid)).p,
        .hostname = p->hostname,
        .has_host_network = p->is_host_network,
        .has_host_ipc = json_bool(json_get(spec, "hostIPC"), false),
        .has_host_pids = json_bool(json_get(spec, "hostPID"), false),
        .shares_pids = json_bool(json_get(spec, "shareProcessNamespace"), false),
        .log_dir = arena_fmt(&a, "%s/logs/%.*s", p->agent->run.dir.p, STR_ARG(p->object->uid)).p,
        .log_bytes = p->agent->opt.log_bytes,
        .log_ahead = p->agent->opt.hooks.output ? LOG_AHEAD : 0,
    };

    if (p->address.s_addr)
        opt.note = agent_address(&a, p->address);
    if (agent_tenant_ids(p, &opt.id_base, e) < 0)
        return -1;
    agent_pod_limits(p, &opt.limits);
    opt.only = agent_only_container(p);
    JSON_FOREACH(s, json_find(spec, "securityContext", "sysctls", NULL))
        *vec_push(&a, &opt.sysctls) = (struct shim_sysctl){ json_member_text(s, "name"), json_member_text(s, "value") };
    if (!p->agent->spawner)
        return err_set(e, ERR_GONE, "the spawner is not running");
    if (shim_new(p->agent->spawner, &opt, &p->shim, e) < 0)
        return -1;
    return agent_pod_watch(p, e);
}

/* ---- turns ----
 *
 * Of hundreds of pods that start at once the kernel would hold all the namespaces before the first of them runs, and
 * it looks at all processes for each root that is entered. So only some are under way at a time: from the shim until
 * the container runs, or does not, or waits for its image. One that hangs there keeps its turn, and others go on,
 * slower. */

enum { TURNS_PER_CPU = 32, TURN_MS = 100 };

size_t agent_turns_max(void)
{
    return TURNS_PER_CPU * (size_t)MAX_OF(sysconf(_SC_NPROCESSORS_ONLN), 2);
}

static void sandbox_failed(struct agent_pod *p, const struct err *e)
{
    agent_pod_unmake(p);
    p->stage = STAGE_NEW;
    life_failed(p->life, e->code == ERR_FORBIDDEN || e->code == ERR_INVALID,
                e->code == ERR_NOT_FOUND ? STR("FailedMount") : STR("FailedCreatePodSandBox"), str_of(e->text),
                agent_pod_now(p));
}

static void give_turn(struct agent_pod *p)
{
    struct err e;

    p->is_making = true;
    p->agent->n_making++;
    if (ask_for_shim(p, &e) < 0)
        sandbox_failed(p, &e);
    agent_pod_dirty(p);
}

void agent_pod_turn(struct agent_pod *p)
{
    if (!p->is_making || (p->shim && (p->stage == STAGE_SHIM || p->stage == STAGE_FILTER || p->is_starting)))
        return;
    p->is_making = false;
    p->agent->n_making--;
}

bool agent_pods_turns(struct agent *g)
{
    int64_t now_ms = cluster_now_ms(g->cluster);
    struct list_link *link;
    bool did = false;

    while ((g->n_making < g->turns_max || now_ms >= g->turn_ms) && (link = list_pop_front(&g->waiting))) {
        g->turn_ms = now_ms + TURN_MS;
        give_turn(LIST_ITEM(link, struct agent_pod, waiting));
        did = true;
    }
    if (list_is_empty(&g->waiting))
        g->turn_ms = INT64_MAX;
    else
        g->turn_ms = MIN_OF(g->turn_ms, now_ms + TURN_MS);
    return did;
}

static void remove_files(struct agent_pod *p)
{
    autoarena a = { 0 };

    VEC_FOREACH(layer, &p->layers) /* by name: to list the directory would take three times the calls */
        (void)unlink(agent_termination_path(p, &a, layer->container, layer->attempt).p);
    agent_etc_remove(p);
    agent_remove_tree(p->agent, p->agent->run.small_fd, arena_str(&a, p->object->uid).p);
    if (p->agent->opt.keeps_state) {
        agent_remove_tree(p->agent, p->agent->run.dir_fd,
                          arena_fmt(&a, "pods/%.*s/volumes", STR_ARG(p->object->uid)).p);
        return;
    }
    if (needs_disk(p))
        agent_remove_tree(p->agent, p->agent->run.dir_fd, arena_fmt(&a, "pods/%.*s", STR_ARG(p->object->uid)).p);
    VEC_FOREACH(layer, &p->layers)
        if (!layer->is_kept && !layer->is_gone)
            agent_remove_tree(p->agent, p->agent->run.dir_fd, layer->dir.p);
    p->layers.n = 0;
}

/* Those that were never looked at. */
static void sweep_volumes(struct agent_pod *p)
{
    autoarena a = { 0 };
    struct err e;

    if (volumes_sweep(arena_fmt(&a, "%s/volumes", needs_disk(p) ? p->disk.p : p->small.p).p, &e) < 0)
        log_warn("Failed to remove volumes of a pod", LOG_STR("pod", p->object->name), LOG_TEXT("error", e.text));
}

void agent_pod_leave(struct agent_pod *p)
{
    if (p->shim)
        agent_pod_unwatch(p);
    agent_sessions_lost(p, STR("the agent of this node ends"));
    agent_starts_forget(p);
    list_remove(&p->held);
    list_remove(&p->waiting);
    shim_leave(p->shim);
    p->shim = NULL;
    agent_pod_turn(p);
    volumes_free(p->volumes, false);
    p->volumes = NULL;
    p->stage = STAGE_UNMADE;
}

void agent_pod_unmake(struct agent_pod *p)
{
    struct agent *g = p->agent;
    autoarena a = { 0 };

    if (p->shim)
        agent_pod_unwatch(p);
    agent_sessions_lost(p, STR("the pod has ended"));
    agent_starts_forget(p);
    list_remove(&p->held);
    list_remove(&p->waiting);
    p->is_held = p->is_starting = false;
    shim_free(p->shim);
    p->shim = NULL;
    agent_pod_turn(p);
    if (p->is_joined) {
        net_leave(g->net, p->address, NULL);
        g->services.is_dirty = true;
    }
    if (p->address.s_addr)
        net_give_address(g->net, p->address);
    p->is_joined = false;
    p->filter_round = 0;
    p->address.s_addr = 0;
    if (p->is_adopted && !p->volumes)
        sweep_volumes(p);
    agent_layers_drop_empty(p);
    agent_pod_written(p);
    volumes_free(p->volumes, true);
    p->volumes = NULL;
    if (g->opt.devices)
        devices_give(g->opt.devices, arena_fmt(&a, "%.*s/", STR_ARG(p->object->uid)));
    remove_files(p);
    p->stage = STAGE_UNMADE;
}

static int try_make(struct agent_pod *p, struct err *e)
{
    if (mkdir(p->small.p, 0700) < 0 && errno != EEXIST)
        return err_errno(e, "create %s", p->small.p);
    if (agent_pod_volumes(p, e) < 0)
        return -1;
    if (!p->is_host_network && net_take_address(p->agent->net, agent_tenant_is_fenced(p), &p->address, e) < 0)
        return -1;
    return agent_etc_write(p, e);
}

/* Of a pod that was there: brought up to date, and what waited for it goes on. */
static void look_at_volumes(struct agent_pod *p)
{
    struct err e;

    if (agent_pod_volumes(p, &e) < 0)
        agent_event(p->agent, p->object->root, true, "FailedMount", str_of(e.text)); /* its old files stay */
    life_retry(p->life, agent_pod_now(p));
}

void agent_pod_asked(struct agent_pod *p)
{
    bool is_unseen = p->is_adopted && p->stage == STAGE_MADE && !p->volumes;

    if ((p->stage != STAGE_ASKS && !is_unseen) || !agent_refs_are_known(p) || !agent_tokens_are_known(p))
        return;
    if (is_unseen)
        look_at_volumes(p);
    else
        agent_pod_make(p);
    agent_pod_dirty(p);
}

static int check_runtime(const struct agent_pod *p, struct err *e)
{
    const struct agent_hooks *hooks = &p->agent->opt.hooks;
    struct str class = json_member_text(json_get(p->object->root, "spec"), "runtimeClassName");

    return class.n && hooks->runtime ? hooks->runtime(hooks->ctx, class, e) : 0;
}

void agent_pod_make(struct agent_pod *p)
{
    struct err e;

    p->stage = STAGE_ASKS;
    if (!agent_refs_are_known(p) || !agent_tokens_are_known(p))
        return; /* agent_pod_asked() follows */
    if (check_runtime(p, &e) == 0 && try_make(p, &e) == 0) {
        p->stage = STAGE_SHIM;
        list_push(&p->agent->waiting, &p->waiting);
        p->agent->services.is_dirty = true; /* so that the filter knows its address when it has joined */
        agent_box_prepare(p);
        return;
    }
    sandbox_failed(p, &e);
}

/* The namespaces are there: join them to the network, then wait for the filter. */
void agent_pod_join(struct agent_pod *p, const struct shim_event *ev)
{
    struct err e;

    if (p->is_host_network) {
        agent_pod_made(p);
        return;
    }
    if (net_join_by(p->agent->net, ev->net_fd, ev->nl_fd, p->address, &e) < 0) {
        agent_pod_unmake(p);
        p->stage = STAGE_NEW;
        life_failed(p->life, false, STR("FailedCreatePodSandBox"), str_of(e.text), agent_pod_now(p));
        return;
    }
    p->is_joined = true;
    p->stage = STAGE_FILTER;
    p->agent->services.is_dirty = true;
    agent_filter_pod(p);
}

void agent_pod_made(struct agent_pod *p)
{
    autoarena a = { 0 };
    struct str own = p->is_host_network ? p->agent->host_ip : STR_NULL;

    if (p->address.s_addr)
        own = agent_address(&a, p->address);
    p->stage = STAGE_MADE;
    life_made(p->life, own, p->agent->host_ip, agent_pod_now(p));
    agent_pod_dirty(p);
}
