/* agent_adopt.c - a run that outlived its program: found, entered, its pods taken over
 *
 *     agent_found_look()   the spawners of the run, and what they keep: namespaces, the network, the lock
 *     agent_found_enter()  into its mount namespace, where its files are
 *     agent_open()         a keeper and a spawner of our own; every shim tells of its containers
 *     agent_pod_put()      the cluster reports the pod of a shim: agent_pod_adopt()
 *     agent_kept_end()     the cluster has reported all pods: the other shims are stopped
 *
 * Waiting is for answers of our own processes alone, and before there is anything else to do.
 */
#include "node/agent/agent_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "node/userns/user.h"
#include "os/dir.h"
#include "os/tree.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>

enum { KEPT_LOCK, KEPT_NET, GONE_MS = 8000 }; /* the first descriptors that a spawner keeps; see agent_keep() */

static const char group_head[] = "pod-", socket_head[] = "spawner.";

/* ---- finding ---- */

struct agent_found {
    struct arena arena;
    char id[8];
    VEC(struct spawner *) spawners; /* not empty */
};

/* Stop a spawner that cannot be adopted: its pods would run beside those that replace them. */
static void add_spawner(struct agent_found *f, int dir, const char *name)
{
    struct spawner *s = NULL;
    struct err e = { 0 };

    if (spawner_find(dir, name, &s, &e) == 0 && spawner_kept(s)->n_fds > KEPT_NET) {
        *vec_push(&f->arena, &f->spawners) = s;
        return;
    }
    if (s)
        log_warn("Failed to adopt pods of the previous agent; deleting them", LOG_TEXT("run", f->id),
                 LOG_TEXT("error", e.code ? e.text : "it was killed before its first pod started"));
    spawner_stop(s);
    (void)unlinkat(dir, name, 0); /* its listener has exited */
}

static void look_into(struct agent_found *f, int run_fd)
{
    autodir *d = dir_open(run_fd, ".");

    for (struct dirent *entry; (entry = dir_next(d));)
        if (str_starts(str_of(entry->d_name), str_of(socket_head)))
            add_spawner(f, run_fd, entry->d_name);
}

void agent_found_free(struct agent_found *f)
{
    if (!f)
        return;
    VEC_FOREACH(s, &f->spawners)
        spawner_leave(*s);
    arena_done(&f->arena);
    free(f);
}

struct agent_found *agent_found_look(const char *state_dir, const char *node_name)
{
    autodir *d = opendir(state_dir);
    struct agent_found *f = xcalloc(1, sizeof(*f));

    for (struct dirent *entry; !f->spawners.n && d && (entry = dir_next(d));) {
        autoclose int run = strlen(entry->d_name) == 6
                                ? openat(dirfd(d), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                                : -1;

        if (run < 0 || !agent_run_is_of(run, str_of(node_name)))
            continue;
        (void)snprintf(f->id, sizeof(f->id), "%.6s", entry->d_name);
        look_into(f, run);
    }
    if (f->spawners.n)
        return f;
    agent_found_free(f);
    return NULL;
}

static const struct spawner_kept *kept_of(const struct agent_found *f)
{
    return spawner_kept(f->spawners.v[0]);
}

int agent_found_enter(const struct agent_found *f, struct user_root *ret, struct err *e)
{
    return user_join(kept_of(f)->user_fd, kept_of(f)->mnt_fd, ret, e) < 0 ? err_wrap(e, "run %s", f->id) : 0;
}

int agent_found_run(const struct agent_found *f, struct agent_run *r, struct arena *a, const char *state_dir,
                    struct err *e)
{
    (void)snprintf(r->id, sizeof(r->id), "%s", f->id);
    return agent_run_adopt(r, a, state_dir, kept_of(f)->fds[KEPT_LOCK], e);
}

int agent_found_net(const struct agent_found *f, const struct net_options *opt, struct net **ret, struct err *e)
{
    const struct spawner_kept *k = kept_of(f);

    return net_adopt(opt, &(struct net_kept){ k->note, k->fds + KEPT_NET, k->n_fds - KEPT_NET }, ret, e);
}

int agent_keep(struct agent *g, struct err *e)
{
    int fds[KEPT_NET + NET_FDS] = { [KEPT_LOCK] = g->run.lock_fd };
    size_t n = KEPT_NET + net_fds(g->net, fds + KEPT_NET);
    autobuf note = { 0 };

    net_note(g->net, &note);
    return spawner_keep(g->spawner, buf_view(&note), fds, n, e);
}

/* All of it has ended when its spawners have: then the rest is as of a dead run, whose lock we hold. */
static void end_run(const char *state_dir, struct agent_found *f)
{
    autoclose int lock = fcntl(kept_of(f)->fds[KEPT_LOCK], F_DUPFD_CLOEXEC, 3);

    VEC_FOREACH(s, &f->spawners)
        spawner_stop(*s);
    f->spawners.n = 0;
    agent_run_end(state_dir, f->id);
    (void)lock; /* held until here */
}

size_t agent_cleanup(const char *state_dir, const char *node_name)
{
    struct agent_found *f;
    struct user_root root;
    size_t n = 0;

    for (; (f = agent_found_look(state_dir, node_name)); n++) {
        (void)agent_found_enter(f, &root, NULL); /* where its files can be seen, and are ours to remove */
        end_run(state_dir, f);
        agent_found_free(f);
    }
    agent_run_sweep(state_dir);
    return n;
}

/* ---- shims ---- */

struct agent_kept {
    struct shim *shim;
    struct str uid;
    struct shim_found found; /* lives as long as the agent */
};

static void keep_shim(struct agent *g, struct shim *shim)
{
    struct agent_kept *k = xcalloc(1, sizeof(*k));
    struct err e = { .text = "unexpected group" };

    k->shim = shim;
    if (shim_adopt(shim, &g->arena, &k->found, &e) < 0 || !str_starts(k->found.group, str_of(group_head))) {
        log_warn("Failed to adopt a running pod; deleting it", LOG_TEXT("error", e.text));
        shim_free(shim);
        free(k);
        return;
    }
    k->uid = str_from(k->found.group, sizeof(group_head) - 1);
    map_put(&g->kept, k->uid, k);
}

void agent_adopt_shims(struct agent *g, struct agent_found *f)
{
    VEC_FOREACH(s, &f->spawners) {
        for (struct shim *shim; (shim = spawner_next_shim(*s));)
            keep_shim(g, shim);
        *vec_push(&g->arena, &g->old_spawners) = *s;
    }
    f->spawners.n = 0;
    if (filter_look(g->run.id, net_ns_fd(g->net), &g->filter.is_second)) /* it stays until the next is complete */
        buf_str(&g->filter.applied, STR("of the previous agent"));
    log_info("Found running pods of the previous agent", LOG_TEXT("run", g->run.id),
             LOG_INT("pods", (int64_t)map_count(&g->kept)));
}

struct agent_kept *agent_kept_take(struct agent *g, struct str uid)
{
    return map_remove(&g->kept, uid);
}

/* Wait until nothing of it is left: another of the same name may follow. */
static void agent_adopt_wait_gone(struct shim *s, int64_t until_ms)
{
    struct shim_event ev = { .kind = SHIM_READY };

    while (ev.kind != SHIM_GONE) {
        struct pollfd p = { .fd = shim_fd(s), .events = POLLIN };
        int64_t left_ms = until_ms - clock_mono_ms(&clock_real);

        if (shim_next(s, &ev) == 0 && (left_ms <= 0 || poll(&p, 1, (int)left_ms) == 0)) {
            log_warn("Pod of the previous agent did not stop in time");
            return;
        }
    }
}

static struct life *agent_adopt_refuse(struct agent_pod *p, struct agent_kept *k, const char *why)
{
    log_info("Restarting a pod that cannot be adopted", LOG_STR("pod", p->object->name), LOG_TEXT("why", why));
    shim_stop(k->shim);
    agent_adopt_wait_gone(k->shim, clock_mono_ms(&clock_real) + GONE_MS);
    shim_free(k->shim);
    free(k);
    return NULL;
}

/* ---- a pod ---- */

static int hold_address(struct agent_pod *p, struct str note, struct err *e)
{
    autoarena a = { 0 };

    if (p->is_host_network)
        return 0;
    if (inet_pton(AF_INET, arena_cstr(&a, note), &p->address) != 1) {
        p->address.s_addr = 0;
        return err_set(e, ERR_INVALID, "its address is unknown");
    }
    if (net_hold(p->agent->net, p->address, e) < 0) {
        p->address.s_addr = 0;
        return -1;
    }
    p->is_joined = true;
    return 0;
}

static void hold_devices(struct agent_pod *p, const struct shim_found *f)
{
    autoarena a = { 0 };

    VEC_FOREACH(c, &f->cons)
        if (p->agent->opt.devices && c->devices.n)
            devices_hold(p->agent->opt.devices, agent_device_owner(p, &a, c->name), c->devices.v, c->devices.n);
}

static bool is_shard(const char *name)
{
    return str_starts(str_of(name), STR(AGENT_SHARD));
}

static void find_layers_in(struct agent_pod *p, const char *dir)
{
    autodir *d = dir_open(p->agent->run.dir_fd, dir);

    for (struct dirent *entry; (entry = dir_next(d));)
        if (str_starts(str_of(entry->d_name), p->object->uid))
            vec_push(&p->arena, &p->layers)->dir = arena_fmt(&p->arena, "%s/%s", dir, entry->d_name);
}

/* Directories of its containers, which go with it. */
static void find_layers(struct agent_pod *p)
{
    autodir *d = dir_open(p->agent->run.dir_fd, "layers");
    autoarena a = { 0 };

    find_layers_in(p, "layers"); /* volumes */
    for (struct dirent *entry; (entry = dir_next(d));)
        if (is_shard(entry->d_name))
            find_layers_in(p, arena_fmt(&a, "layers/%s", entry->d_name).p);
}

static void tell_life(struct agent_pod *p, struct arena *a, const struct shim_con *c, struct life_found *ret)
{
    struct shim_event ev = {
        .kind = SHIM_ENDED, .container = c->name, .attempt = c->attempt, .status = c->status, .text = c->text
    };
    struct life_end *end = arena_new(a, struct life_end);
    autobuf words = { 0 };

    *ret = (struct life_found){ .name = c->name,
                                .id = agent_container_id(a, p, c->name, c->attempt),
                                .attempt = c->attempt,
                                .state = (enum life_found_state)c->state,
                                .started_ms = c->started_ms,
                                .ended_ms = c->ended_ms,
                                .end = end,
                                .failure = { c->status, c->reason, c->text } };
    if (c->state != SHIM_CON_ENDED)
        return;
    agent_last_words(p, &ev, &words);
    *end = (struct life_end){
        .status = c->status, .is_oom = c->is_oom, .by_itself = c->by_itself, .message = arena_str(a, buf_view(&words))
    };
}

_Static_assert((int)SHIM_CON_FAILED == (int)LIFE_FOUND_FAILED && (int)SHIM_CON_STARTING == (int)LIFE_FOUND_STARTING &&
                   (int)SHIM_CON_ENDED == (int)LIFE_FOUND_ENDED,
               "the same states in the same order");

static struct life *adopt_life(struct agent_pod *p, const struct shim_found *f)
{
    autoarena a = { 0 };
    struct life_found *cons = arena_array(&a, struct life_found, f->cons.n);
    struct str own = p->is_host_network ? p->agent->host_ip : agent_address(&a, p->address);

    for (size_t i = 0; i < f->cons.n; i++)
        tell_life(p, &a, &f->cons.v[i], &cons[i]);
    return life_adopt(p->object, &(struct life_sandbox){ own, p->agent->host_ip, cons, f->cons.n }, agent_pod_now(p));
}

struct life *agent_pod_adopt(struct agent_pod *p, struct agent_kept *take_k)
{
    struct agent_kept *k = take_k;
    struct life *life;
    struct err e;

    if (!k->found.cons.n)
        return agent_adopt_refuse(p, k, "none of its containers was started");
    if (hold_address(p, k->found.note, &e) < 0)
        return agent_adopt_refuse(p, k, e.text);
    p->shim = k->shim;
    p->is_adopted = true;
    p->stage = STAGE_MADE;
    p->agent->services.is_dirty = true;
    find_layers(p);
    hold_devices(p, &k->found);
    if (agent_pod_watch(p, &e) < 0)
        log_warn("Failed to watch the shim of an adopted pod", LOG_STR("pod", p->object->name),
                 LOG_TEXT("error", e.text));
    life = adopt_life(p, &k->found);
    free(k);
    return life;
}

/* ---- pods and directories without an object ---- */

static bool is_of_a_pod(const struct agent *g, const char *name)
{
    struct str rest = str_of(name), uid = STR_NULL;

    (void)str_split(&rest, '.', &uid); /* "<uid>.<container>.<attempt>", or the uid alone */
    return map_get(&g->pods, uid) != NULL;
}

static void sweep_dir(struct agent *g, const char *dir)
{
    autodir *d = dir_open(g->run.dir_fd, dir);
    struct err e;

    for (struct dirent *entry; (entry = dir_next(d));) {
        autobuf volumes = { 0 };

        if (entry->d_name[0] == '.' || str_starts(str_of(entry->d_name), STR("over")) ||
            strcmp(entry->d_name, "oci") == 0 || is_of_a_pod(g, entry->d_name) || is_shard(entry->d_name))
            continue;
        buf_fmt(&volumes, "%s/%s/%s/volumes", g->run.dir.p, dir, entry->d_name);
        if (volumes_sweep(volumes.p, &e) < 0)
            log_warn("Failed to remove volumes of a deleted pod", LOG_TEXT("error", e.text));
        buf_reset(&volumes);
        buf_fmt(&volumes, "%s/%s", dir, entry->d_name);
        agent_remove_tree(g, g->run.dir_fd, volumes.p);
    }
}

static void sweep_shards(struct agent *g)
{
    autodir *d = dir_open(g->run.dir_fd, "layers");
    autoarena a = { 0 };

    for (struct dirent *entry; (entry = dir_next(d));)
        if (is_shard(entry->d_name))
            sweep_dir(g, arena_fmt(&a, "layers/%s", entry->d_name).p);
}

void agent_kept_end(struct agent *g)
{
    static const char *const dirs[] = { "small", "pods", "layers", "logs" };
    int64_t until_ms = clock_mono_ms(&clock_real) + GONE_MS;

    if (map_count(&g->kept))
        log_info("Deleting running pods whose objects were deleted", LOG_INT("pods", (int64_t)map_count(&g->kept)));
    MAP_FOREACH(struct agent_kept *, k, &g->kept)
        shim_stop(k->shim);
    MAP_FOREACH(struct agent_kept *, k, &g->kept)
        agent_adopt_wait_gone(k->shim, until_ms);
    agent_kept_done(g);
    map_init(&g->kept, map_seed_default());
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
        sweep_dir(g, dirs[i]);
    sweep_shards(g);
}

void agent_kept_done(struct agent *g)
{
    MAP_FOREACH(struct agent_kept *, k, &g->kept) {
        if (g->leaves)
            shim_leave(k->shim);
        else
            shim_free(k->shim);
        free(k);
    }
    map_done(&g->kept);
}
