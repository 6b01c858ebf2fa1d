/* agent.c - this machine as a node: open, turn, close
 *
 * One thread, one loop, and nothing in it waits. News come from the cluster (cluster_next), from shims, the filter, the
 * spawner (one epoll) and from time (a heap of pods that are due). They only note what happened and mark their pod
 * dirty; then each dirty pod takes its steps once, however much happened to it (agent_pod.c), and what follows from all
 * of them together, names and rules, is brought up to date once (agent_service.c). A turn repeats this until nothing
 * more comes of it, so that what one part causes in another, our own writes included, is seen in the same turn. Output
 * has a budget for each turn: a container that writes without end does not keep the others waiting.
 */
#include "node/agent/agent_internal.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/log.h"
#include "image/puller.h"
#include "node/shim/keeper.h"
#include "os/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

enum { USAGE_MS = 1000, EVENTS = 64, OUTPUT_TURN = 1 << 20 }; /* then the others have their turn */
enum { RESTARTS = 10, RESTARTS_MS = 10000 };                  /* of helpers: so many within that time */

static int by_due(const struct heap_node *x, const struct heap_node *y)
{
    const struct agent_pod *a = HEAP_ITEM(x, struct agent_pod, timer), *b = HEAP_ITEM(y, struct agent_pod, timer);

    if (a->due_ms != b->due_ms)
        return a->due_ms < b->due_ms ? -1 : 1;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static struct str host_name(struct arena *a)
{
    char name[256] = "localhost";

    gethostname(name, sizeof(name) - 1);
    for (char *p = name; *p; p++)
        *p = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
    return arena_str(a, str_of(name));
}

static void notice(struct agent *g, const char *fmt, const char *why)
{
    autobuf said = { 0 };

    buf_fmt(&said, "%s%s", fmt, why);
    if (g->opt.hooks.notice)
        g->opt.hooks.notice(g->opt.hooks.ctx, buf_view(&said));
}

static void set_defaults(struct agent *g)
{
    struct arena *a = &g->arena;

    g->node_name = g->opt.node_name ? arena_str(a, str_of(g->opt.node_name)) : host_name(a);
    if (!g->opt.cluster_domain)
        g->opt.cluster_domain = "cluster.local";
    if (!g->opt.claims_dir && !g->opt.remote)
        g->opt.claims_dir = arena_fmt(a, "%s/claims", g->run.dir.p).p;
    g->host_resolv = file_text(a, AT_FDCWD, "/etc/resolv.conf", 64 << 10);
    map_init(&g->pods, map_seed_default());
    map_init(&g->objects, map_seed_default());
    map_init(&g->told_image, map_seed_default());
    map_init(&g->refs, map_seed_default());
    map_init(&g->kept, map_seed_default());
    map_u64_init(&g->asked, map_seed_default());
    list_init(&g->sessions);
    map_u64_init(&g->writes, map_seed_default());
    list_init(&g->dirty);
    list_init(&g->held);
    list_init(&g->waiting);
    g->turns_max = agent_turns_max();
    heap_init(&g->timers, by_due);
    agent_images_open(g);
}

/* Without the spawner no pod can start, and no process would clean up after us. */
static int watch_spawner(struct agent *g, struct err *e)
{
    struct epoll_event ev = { .events = EPOLLIN, .data = { .ptr = g } };

    return epoll_ctl(g->epoll, EPOLL_CTL_ADD, spawner_fd(g->spawner), &ev) < 0 ? err_errno(e, "watch the spawner") : 0;
}

/* The keeper reports only its end, and epoll repeats that until the descriptor is removed. */
static int watch_keeper(struct agent *g, struct err *e)
{
    struct epoll_event ev = { .events = EPOLLHUP, .data = { .ptr = &g->run } };

    if (keeper_fd(g->run.keeper) < 0)
        return 0;
    return epoll_ctl(g->epoll, EPOLL_CTL_ADD, keeper_fd(g->run.keeper), &ev) < 0 ? err_errno(e, "watch the keeper") : 0;
}

/* One that dies whenever it is started is not started for ever. */
static bool may_restart(struct agent *g, struct err *e)
{
    int64_t now_ms = clock_mono_ms(&clock_real);

    if (now_ms >= g->restarts_ms + RESTARTS_MS) {
        g->restarts_ms = now_ms;
        g->n_restarts = 0;
    }
    if (++g->n_restarts <= RESTARTS)
        return true;
    (void)err_set(e, ERR_IO, "more than %d helper processes were killed within %d s", RESTARTS, RESTARTS_MS / 1000);
    return false;
}

static void keeper_died(struct agent *g)
{
    struct err e;

    (void)epoll_ctl(g->epoll, EPOLL_CTL_DEL, keeper_fd(g->run.keeper), NULL);
    if (!may_restart(g, &e) || agent_run_keep_again(&g->run, &e) < 0 || watch_keeper(g, &e) < 0)
        log_warn("Failed to restart the keeper", LOG_TEXT("error", e.text));
    else
        log_info("Restarted the keeper after it was killed");
}

static int open_groups(struct agent *g, struct err *e)
{
    char group[32];

    agent_run_group(g->run.id, group);
    if (g->opt.found ? agent_run_groups(g->run.dir_fd, g->run.id, &g->cgroups, &g->cgroups_why, e)
                     : cgroups_open(group, &g->cgroups, &g->cgroups_why, e))
        return err_wrap(e, "cgroups");
    return agent_run_note_groups(&g->run, g->cgroups, e);
}

static int open_spawner(struct agent *g, struct err *e)
{
    const int held[] = { g->run.lock_fd, keeper_fd(g->run.keeper), -1 };
    struct spawner_options opt = { .oci = g->opt.oci_runtime,
                                   .clock = g->opt.clock,
                                   .files = &g->files,
                                   .cgroups = g->cgroups,
                                   .outlives = g->opt.outlives,
                                   .socket_dir = g->run.dir_fd,
                                   .held_fds = held,
                                   .words_fd = g->run.words_fd };

    opt.oci_dir = arena_fmt(&g->arena, "%s/small/oci", g->run.dir.p).p;
    return spawner_start(&opt, &g->spawner, e) < 0 ? err_wrap(e, "start the spawner") : 0;
}

static int open_helpers(struct agent *g, struct err *e)
{
    if (open_spawner(g, e) < 0)
        return -1;
    g->epoll = epoll_create1(EPOLL_CLOEXEC); /* after the spawner: what it has open, containers' parents have open */
    if (g->epoll < 0)
        return err_errno(e, "epoll");
    return watch_spawner(g, e) < 0 || watch_keeper(g, e) < 0 ? -1 : agent_images_watch(g, e);
}

/* Its pods die with it, by the kernel's hand, and each is seen to be lost. A run ends; a node goes on with another. */
static void spawner_died(struct agent *g)
{
    struct err e;

    (void)epoll_ctl(g->epoll, EPOLL_CTL_DEL, spawner_fd(g->spawner), NULL); /* epoll would repeat its end */
    if (!g->opt.outlives) {
        g->is_broken = true;
        return;
    }
    spawner_stop(g->spawner);
    g->spawner = NULL;
    if (!may_restart(g, &e) || open_spawner(g, &e) < 0 || watch_spawner(g, &e) < 0 || agent_keep(g, &e) < 0) {
        log_error("Failed to restart the spawner", LOG_TEXT("error", e.text));
        g->is_broken = true;
    } else {
        log_warn("Restarted the spawner after it was killed; its pods are lost");
    }
}

/* Resume helpers that were stopped (SIGSTOP): else they do nothing, and we would wait for them at the end. */
static void look_at_helpers(struct agent *g)
{
    if (g->spawner)
        spawner_resume(g->spawner);
    keeper_resume(g->run.keeper);
    if (g->opt.puller)
        puller_look(g->opt.puller);
}

static int open_net(struct agent *g, struct err *e)
{
    struct net_options net = { .id = g->run.id,
                               .has_way_out = g->opt.network != AGENT_NET_PRIVATE,
                               .is_open = g->opt.network == AGENT_NET_OPEN,
                               .outlives = g->opt.outlives };
    const char *why = NULL;
    bool has_way_out;

    if (g->opt.found ? agent_found_net(g->opt.found, &net, &g->net, e) : net_open(&net, &g->net, e))
        return -1;
    g->host_ip = agent_address(&g->arena, net_gateway(g->net));
    has_way_out = net_way_out(g->net, &why);
    if (net.has_way_out && why)
        notice(g, has_way_out ? "" : "pods cannot reach other networks: ", why);
    return 0;
}

/* slirp4netns, where it is that. */
static void watch_net(struct agent *g)
{
    struct epoll_event ev = { .events = EPOLLIN, .data = { .ptr = &g->net } };

    if (net_helper_fd(g->net) >= 0)
        (void)epoll_ctl(g->epoll, EPOLL_CTL_ADD, net_helper_fd(g->net), &ev); /* else pods have no way out, one day */
}

static void net_helper_died(struct agent *g)
{
    struct err e;

    (void)epoll_ctl(g->epoll, EPOLL_CTL_DEL, net_helper_fd(g->net), NULL);
    if (net_helper_restart(g->net, &e) < 0 || (g->opt.outlives && agent_keep(g, &e) < 0))
        notice(g, "pods lost their access to other networks: ", e.text);
    else
        log_info("Restarted slirp4netns after it was killed");
    watch_net(g);
}

static int agent_open_parts(struct agent *g, struct err *e)
{
    if (open_groups(g, e) < 0 || open_helpers(g, e) < 0 || open_net(g, e) < 0)
        return -1;
    watch_net(g);
    if (g->cgroups_why)
        notice(g, "", g->cgroups_why);
    if (g->opt.outlives && agent_keep(g, e) < 0)
        return err_wrap(e, "the spawner");
    if (g->opt.found)
        agent_adopt_shims(g, g->opt.found);
    return agent_services_open(g, e);
}

/* Every pod takes a few descriptors here, so as many as there may be. A container gets what we were given, but not
 * less than programs expect to have. */
static void raise_files(struct rlimit *ret_pods)
{
    enum { USUAL = 1024 };
    struct rlimit l;

    *ret_pods = (struct rlimit){ USUAL, USUAL };
    if (getrlimit(RLIMIT_NOFILE, &l) < 0)
        return;
    *ret_pods = (struct rlimit){ MIN_OF(MAX_OF(l.rlim_cur, USUAL), l.rlim_max), l.rlim_max };
    l.rlim_cur = l.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &l); /* then it stays as it is */
}

static int begin_run(struct agent *g, struct err *e)
{
    const struct agent_options *opt = &g->opt;

    g->run.lock_fd = g->run.dir_fd = g->run.small_fd = g->run.words_fd = -1;
    g->run.node = opt->outlives ? arena_str(&g->arena, str_of(opt->node_name)) : STR_NULL;
    (void)snprintf(g->over_name, sizeof(g->over_name), "over");
    if (!opt->found)
        return agent_run_begin(&g->run, &g->arena, opt->state_dir, e);
    g->is_adopted = true;
    if (agent_found_run(opt->found, &g->run, &g->arena, opt->state_dir, e) < 0)
        return -1;
    for (unsigned i = 1; faccessat(g->run.small_fd, g->over_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0; i++)
        (void)snprintf(g->over_name, sizeof(g->over_name), "over.%u", i);
    return 0;
}

int agent_open(const struct agent_options *opt, struct agent **ret, struct err *e)
{
    struct agent *g = xcalloc(1, sizeof(*g));
    int rc;

    g->opt = *opt;
    g->epoll = -1;
    g->filter.due_ms = g->rewrite_ms = g->beat_ms = g->turn_ms = INT64_MAX;
    recorder_init(&g->recorder, map_seed_default()); /* agent_close() empties both, however far it came */
    list_init(&g->removals);
    raise_files(&g->files);
    rc = begin_run(g, e);
    if (rc == 0) {
        set_defaults(g);
        if (g->opt.keeps_state) /* at once: the state of a program that is killed is wanted even more */
            close(openat(g->run.dir_fd, "keep", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        rc = agent_open_parts(g, e);
    }
    agent_found_free(g->opt.found);
    g->opt.found = NULL;
    if (rc == 0) {
        *ret = g;
        return 0;
    }
    g->opt.keeps_state = false; /* there is nothing to look at */
    agent_leave(g);
    return -1;
}

bool agent_is_synced(const struct agent *g)
{
    for (int w = 0; w < WANT_MAX; w++)
        if (!g->is_known[w])
            return false;
    return true;
}

void agent_attach(struct agent *g, struct cluster *c)
{
    g->cluster = c;
    if (g->opt.remote && g->opt.remote->host_ip.n)
        g->host_ip = g->opt.remote->host_ip;
    g->since_ms = cluster_now_ms(c);
    for (int w = 0; w < WANT_MAX; w++)
        if (!agent_wants(g, w))
            g->is_known[w] = true;
        else
            cluster_want(c, agent_type(w));
    g->allocatable = agent_capacity(g, &g->arena);
    if (g->opt.remote && !g->opt.remote->follow)
        cluster_want(c, agent_node_type());
    else if (g->opt.remote)
        (void)g->opt.remote->follow(g->opt.remote->ctx, agent_node_type(), STR_NULL, g->node_name);
}

int agent_fd(const struct agent *g)
{
    return g->epoll;
}

/* ---- a turn ---- */

static void agent_take(struct agent *g, enum agent_want w, const struct cluster_event *ev)
{
    bool is_gone = ev->kind == CLUSTER_GONE;

    if (w == WANT_POD) {
        if (is_gone)
            agent_pod_gone(g, ev->object);
        else
            agent_pod_put(g, ev->object);
        return;
    }
    if ((w == WANT_ENDPOINTS || w == WANT_SLICE) && agent_endpoints_are_made(ev->object)) {
        is_gone = true;
        if (!agent_find(g, w, ev->object->namespace, ev->object->name))
            return;
    }
    if (is_gone)
        agent_cache_remove(g, w, ev->object);
    else
        agent_cache_put(g, w, ev->object);
    if (w == WANT_SERVICE && is_gone)
        agent_service_gone(g, ev->object);
    else if (w == WANT_SERVICE)
        agent_service_changed(g, ev->object);
    else if (w == WANT_POLICY || w == WANT_NAMESPACE || w == WANT_ENDPOINTS || w == WANT_SLICE)
        g->services.is_dirty = true;
    else if (!is_gone) /* what is deleted stays in pods as it was: its end is mostly that of the job */
        agent_pods_refresh(g, ev->object);
}

/* A list is complete: objects that it did not name were deleted. */
static void take_synced(struct agent *g, enum agent_want w)
{
    VEC(struct object *) lost = { 0 };
    autoarena a = { 0 };

    if (w == WANT_POD) {
        MAP_FOREACH(const struct agent_pod *, p, &g->pods)
            if (!relist_has(&g->told[w], p->object->uid))
                *vec_push(&a, &lost) = object_ref(p->object);
    } else {
        MAP_FOREACH(const struct agent_object *, o, &g->objects)
            if (o->want == w && !relist_has(&g->told[w], o->object->uid))
                *vec_push(&a, &lost) = object_ref(o->object);
    }
    VEC_FOREACH(o, &lost) {
        agent_take(g, w, &(struct cluster_event){ .kind = CLUSTER_GONE, .type = (*o)->type, .object = *o });
        object_unref(*o);
    }
    relist_end(&g->told[w]);
    g->is_listing[w] = false;
    if (w == WANT_POD && !g->is_known[w] && g->is_adopted)
        agent_kept_end(g);
    if (g->is_known[w])
        return;
    g->is_known[w] = true;
    if (g->opt.remote && agent_is_synced(g)) { /* from now on it is Ready */
        g->since_ms = cluster_now_ms(g->cluster);
        agent_node_changed(g);
    }
}

static void agent_take_one(struct agent *g, enum agent_want w, const struct cluster_event *ev)
{
    if (ev->kind == CLUSTER_RELIST) {
        relist_begin(&g->told[w], map_seed_default());
        g->is_listing[w] = true;
    } else if (ev->kind == CLUSTER_SYNCED) {
        take_synced(g, w);
    } else if (ev->kind != CLUSTER_RESULT) {
        if (g->is_listing[w] && ev->kind == CLUSTER_PUT)
            relist_add(&g->told[w], ev->object->uid);
        agent_take(g, w, ev);
    }
}

static bool take_news(struct agent *g)
{
    struct cluster_event ev;
    bool did = false;

    while (cluster_next(g->cluster, &ev)) {
        did = true;
        if (ev.kind == CLUSTER_RESULT && !agent_refs_answered(g, &ev))
            agent_write_answered(g, &ev);
        for (int w = 0; w < WANT_MAX; w++)
            if (ev.type == agent_type(w))
                agent_take_one(g, w, &ev);
        if (ev.kind == CLUSTER_GONE && ev.type == agent_node_type() && str_eq(ev.object->name, g->node_name))
            agent_node_gone(g);
    }
    return did;
}

static bool take_shims(struct agent *g)
{
    struct epoll_event ev[EVENTS];
    int n = epoll_wait(g->epoll, ev, EVENTS, 0);

    for (int i = 0; i < n; i++)
        if (ev[i].data.ptr == g)
            spawner_died(g);
        else if (ev[i].data.ptr == &g->run)
            keeper_died(g);
        else if (ev[i].data.ptr == &g->net)
            net_helper_died(g);
        else if (ev[i].data.ptr == &g->filter)
            agent_filter_ended(g);
        else if (ev[i].data.ptr == &g->images)
            agent_images_news(g);
        else
            agent_pod_events(ev[i].data.ptr);
    if (n <= 0 && g->opt.puller && puller_has_lost(g->opt.puller)) {
        agent_images_news(g);
        return true;
    }
    return n > 0;
}

static int64_t next_due(struct agent *g)
{
    const struct heap_node *first = heap_first(&g->timers);
    int64_t due = first ? HEAP_ITEM(first, struct agent_pod, timer)->due_ms : INT64_MAX;

    due = MIN_OF(due, agent_services_due(g));
    due = MIN_OF(due, g->rewrite_ms);
    due = MIN_OF(due, g->beat_ms);
    due = MIN_OF(due, g->turn_ms);
    due = MIN_OF(due, recorder_due(&g->recorder));
    if (map_count(&g->pods))
        due = MIN_OF(due, g->usage_ms);
    return due;
}

int64_t agent_turn(struct agent *g, bool *ret_busy)
{
    int64_t now_ms = cluster_now_ms(g->cluster);
    bool did = false, again, has_room;

    g->room = g->opt.hooks.room ? (int64_t)MIN_OF(g->opt.hooks.room(g->opt.hooks.ctx), OUTPUT_TURN) : OUTPUT_TURN;
    has_room = g->room > 0;
    if (!g->has_node) {
        g->has_node = did = true;
        agent_node_write(g);
    }
    if (now_ms >= g->beat_ms)
        agent_node_write(g);
    agent_events_due(g, now_ms);
    if (now_ms >= g->usage_ms) {
        g->usage_ms = now_ms + USAGE_MS;
        look_at_helpers(g);
        if (g->opt.hooks.usage)
            agent_pods_usage(g);
        agent_evict_check(g);
        agent_storage_check(g);
    }
    do {
        again = take_news(g);
        again |= agent_pods_unhold(g);
        again |= take_shims(g);
        again |= agent_is_synced(g) && agent_pods_step(g);
        again |= (agent_is_synced(g) || !g->is_adopted) &&
                 agent_services_refresh(g, now_ms); /* what is in force holds */
        again |= agent_writes_again(g, now_ms);
        did |= again;
    } while (again);
    did |= agent_removals_turn(g);
    if (ret_busy)
        *ret_busy = did || (has_room && !list_is_empty(&g->held));
    return next_due(g);
}

/* ---- the end ---- */

size_t agent_pods(const struct agent *g)
{
    size_t n = 0;

    MAP_FOREACH(const struct agent_pod *, p, &g->pods)
        n += p->stage > STAGE_ASKS && p->stage != STAGE_UNMADE;
    return n;
}

void agent_kill_all(struct agent *g)
{
    MAP_FOREACH(struct agent_pod *, p, &g->pods) {
        life_stop(p->life, 0, STR("Killed"), STR("the run was stopped at once"), cluster_now_ms(g->cluster));
        agent_pod_dirty(p);
    }
}

/* In the kubelet's words, so that tools that search for them find them. */
void agent_shut_down(struct agent *g, int64_t grace_ms)
{
    static const char words[] = "Pod was terminated in response to imminent node shutdown.";

    if (!g->is_closing) {
        g->is_closing = true;
        g->since_ms = cluster_now_ms(g->cluster);
        agent_node_write(g);
    }
    MAP_FOREACH(struct agent_pod *, p, &g->pods) {
        int64_t own_ms = json_i64(json_find(p->object->root, "spec", "terminationGracePeriodSeconds", NULL), 30) * 1000;

        life_stop(p->life, MIN_OF(MAX_OF(own_ms, 0), grace_ms), STR("Terminated"), str_of(words),
                  cluster_now_ms(g->cluster));
        agent_pod_dirty(p);
    }
}

static bool is_written(const struct agent_write *w)
{
    return !w->token && !w->has_failed;
}

bool agent_is_quiet(const struct agent *g)
{
    MAP_FOREACH(const struct agent_pod *, p, &g->pods)
        if (!life_has_ended(p->life) || life_is_changed(p->life) || !is_written(&p->status) || !is_written(&p->end))
            return false;
    return is_written(&g->node) && list_is_empty(&g->dirty);
}

void agent_write_now(struct agent *g)
{
    int64_t now_ms = cluster_now_ms(g->cluster);

    if (g->node.has_failed)
        g->node.due_ms = g->rewrite_ms = now_ms;
    MAP_FOREACH(struct agent_pod *, p, &g->pods) {
        p->status.due_ms = p->end.due_ms = now_ms; /* of those that have failed */
        agent_pod_dirty(p);
    }
}

bool agent_is_broken(const struct agent *g)
{
    return g->is_broken;
}

const char *agent_id(const struct agent *g)
{
    return g->run.id;
}

const char *agent_dir(const struct agent *g)
{
    return g->run.dir.p;
}

/* The process that removes the rest meanwhile; 0: none. */
static pid_t close_net(struct agent *g)
{
    if (!g->leaves)
        return net_close_begin(g->net);
    net_let_go(g->net);
    return 0;
}

/* Spawners are the last to go: they end what is left, and nothing of ours runs after them. */
static void close_spawners(struct agent *g)
{
    void (*const let_go)(struct spawner *) = g->leaves ? spawner_leave : spawner_stop;

    let_go(g->spawner);
    VEC_FOREACH(s, &g->old_spawners)
        let_go(*s);
}

void agent_close(struct agent *g)
{
    pid_t remover;

    if (!g)
        return;
    agent_pods_done(g);
    agent_kept_done(g);
    agent_filter_close(g);
    if (g->services.server || g->services.zone)
        agent_services_close(g);
    remover = close_net(g);
    close_spawners(g);
    if (g->leaves)
        cgroups_close(g->cgroups, false);
    else if (g->run.dir_fd >= 0)
        agent_run_remove(&g->run, g->cgroups, g->opt.keeps_state);
    agent_run_done(&g->run, g->leaves);
    net_close_end(remover);
    for (int w = 0; w < WANT_MAX; w++)
        relist_end(&g->told[w]);
    agent_cache_done(g);
    map_done(&g->refs); /* those of the last pods went with them */
    map_u64_done(&g->asked);
    map_u64_done(&g->writes);
    recorder_done(&g->recorder);
    map_done(&g->told_image);
    agent_images_done(g);
    agent_removals_done(g);
    list_init(&g->dirty);
    heap_done(&g->timers);
    if (g->epoll >= 0)
        close(g->epoll);
    arena_done(&g->arena);
    free(g);
}

void agent_leave(struct agent *g)
{
    if (g)
        g->leaves = g->opt.outlives && (g->is_adopted || g->cluster);
    agent_close(g);
}
