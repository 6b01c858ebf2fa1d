/* agent_pod.c - a pod: from its binding to the last trace of it
 *
 * life.h decides, this file does. Nothing here waits: a sandbox is asked for, and what comes of it is told by its shim.
 */
#include "node/agent_internal.h"

#include "api/meta.h"
#include "base/log.h"
#include "node/volume_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/stat.h>

enum {
    MESSAGE_MAX = 4096,
    TAIL_BYTES = 2048,
    TAIL_LINES = 40,
    LOG_AHEAD = 8 << 20, /* a writer may be this far ahead of us: what we read at a time, and time to be away */
};

static int64_t now_of(const struct agent_pod *p)
{
    return cluster_now_ms(p->agent->cluster);
}

void agent_pod_dirty(struct agent_pod *p)
{
    if (!list_is_linked(&p->dirty))
        list_push(&p->agent->dirty, &p->dirty);
}

void agent_event(struct agent *g, const struct json *about, bool is_warning, const char *reason, struct str message)
{
    autoarena a = { 0 };
    struct plan plan = { .arena = &a };
    struct op *op = plan_event(&plan, about, is_warning ? "Warning" : "Normal", reason, cluster_now_ms(g->cluster),
                               "%.*s", STR_ARG(message));

    op->is_best_effort = true;
    cluster_write(g->cluster, op);
}

/* ---- making ---- */

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

int agent_source_init(struct agent_pod *p, struct volume_source *ret)
{
    *ret = (struct volume_source){ .ctx = p,
                                   .find = find_object,
                                   .allocatable = p->agent->allocatable,
                                   .claims_dir = p->agent->opt.claims_dir,
                                   .allows_host_path = true };
    return 0;
}

/* Does it have a volume whose contents belong on disk? The others are files we write: few and small. */
static bool needs_disk(const struct agent_pod *p)
{
    JSON_FOREACH(v, json_find(p->object->root, "spec", "volumes", NULL))
        if (json_get(v, "emptyDir") || json_get(v, "ephemeral"))
            return true;
    return false;
}

static int make_volumes(struct agent_pod *p, struct err *e)
{
    autoarena a = { 0 };
    struct volume_source source;
    struct str dir = needs_disk(p) ? p->disk : p->small;
    const struct json *fs_group = json_find(p->object->root, "spec", "securityContext", "fsGroup", NULL);

    if (mkdir(dir.p, 0700) < 0 && errno != EEXIST)
        return err_errno(e, "make %s", dir.p);
    agent_source_init(p, &source);
    if (volumes_make(arena_fmt(&a, "%s/volumes", dir.p).p, p->object->root, &source, true, &p->volumes, e) < 0)
        return -1;
    return fs_group ? volumes_own(p->volumes, (gid_t)json_i64(fs_group, 0), e) : 0;
}

static void read_sysctls(const struct agent_pod *p, struct arena *a, struct shim_options *opt)
{
    JSON_FOREACH(s, json_find(p->object->root, "spec", "securityContext", "sysctls", NULL))
        *vec_push(a, &opt->sysctls) = (struct shim_sysctl){ json_member_text(s, "name"), json_member_text(s, "value") };
}

static int watch(struct agent_pod *p, struct err *e)
{
    struct epoll_event ev = { .events = EPOLLIN, .data = { .ptr = p } };

    if (epoll_ctl(p->agent->epoll, EPOLL_CTL_ADD, shim_fd(p->shim), &ev) < 0)
        return err_errno(e, "watch the shim");
    return 0;
}

static void unwatch(struct agent_pod *p)
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

    agent_pod_limits(p, &opt.limits);
    read_sysctls(p, &a, &opt);
    if (shim_new(p->agent->spawner, &opt, &p->shim, e) < 0)
        return -1;
    return watch(p, e);
}

static void remove_tree(int dir, const char *path)
{
    struct err e;

    if (volume_tree_remove(dir, path, &e) < 0)
        log_warn("files of a pod stay behind", LOG_TEXT("why", e.text));
}

static void remove_files(struct agent_pod *p)
{
    autoarena a = { 0 };

    remove_tree(p->agent->run.small_fd, arena_str(&a, p->object->uid).p);
    if (p->agent->opt.keeps_state)
        return;
    if (needs_disk(p))
        remove_tree(p->agent->run.dir_fd, arena_fmt(&a, "pods/%.*s", STR_ARG(p->object->uid)).p);
    VEC_FOREACH(layer, &p->layers)
        remove_tree(p->agent->run.dir_fd, layer->p);
    p->layers.n = 0;
}

static void unmake(struct agent_pod *p)
{
    struct agent *g = p->agent;
    autoarena a = { 0 };

    if (p->shim)
        unwatch(p);
    list_remove(&p->held);
    p->is_held = false;
    shim_free(p->shim);
    p->shim = NULL;
    if (p->is_joined) {
        net_leave(g->net, p->address, NULL);
        g->services.is_dirty = true;
    }
    if (p->address.s_addr)
        net_give_address(g->net, p->address);
    p->is_joined = p->is_filtered = false;
    p->address.s_addr = 0;
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
        return err_errno(e, "make %s", p->small.p);
    if (make_volumes(p, e) < 0)
        return -1;
    if (!p->is_host_network && net_take_address(p->agent->net, &p->address, e) < 0)
        return -1;
    if (agent_etc_write(p, e) < 0)
        return -1;
    return ask_for_shim(p, e);
}

static void make(struct agent_pod *p)
{
    struct err e;

    if (try_make(p, &e) == 0) {
        p->stage = STAGE_SHIM;
        p->agent->services.is_dirty = true; /* so that the filter knows its address when it has joined */
        return;
    }
    unmake(p);
    p->stage = STAGE_NEW;
    life_failed(p->life, e.code == ERR_FORBIDDEN || e.code == ERR_INVALID,
                e.code == ERR_NOT_FOUND ? STR("FailedMount") : STR("FailedCreatePodSandBox"), str_of(e.text),
                now_of(p));
}

/* The namespaces are there: join them to the network, then wait for the filter. */
static void join(struct agent_pod *p, const struct shim_event *ev)
{
    struct err e;

    if (p->is_host_network) {
        agent_pod_made(p);
        return;
    }
    if (net_join_by(p->agent->net, ev->net_fd, ev->nl_fd, p->address, NULL, &e) < 0) {
        unmake(p);
        p->stage = STAGE_NEW;
        life_failed(p->life, false, STR("FailedCreatePodSandBox"), str_of(e.text), now_of(p));
        return;
    }
    p->is_joined = true;
    p->stage = STAGE_FILTER;
    p->agent->services.is_dirty = true;
    if (p->is_filtered)
        agent_pod_made(p);
}

void agent_pod_made(struct agent_pod *p)
{
    autoarena a = { 0 };
    struct str own = p->is_host_network ? p->agent->host_ip : agent_address(&a, p->address);

    p->stage = STAGE_MADE;
    life_made(p->life, own, p->agent->host_ip, now_of(p));
    agent_pod_dirty(p);
}

/* ---- containers ---- */

static struct agent_log *log_of(struct agent_pod *p, struct str container, int attempt)
{
    LIST_FOREACH(struct agent_log, l, &p->logs, link)
        if (l->attempt == attempt && str_is(container, l->container))
            return l;
    return NULL;
}

static void follow(struct agent_pod *p, struct str container, int attempt)
{
    autoarena a = { 0 };
    struct agent_log *l;

    if (!p->agent->opt.hooks.output || log_of(p, container, attempt))
        return;
    l = xcalloc(1, sizeof(*l) + container.n + 1);
    l->container = (char *)(l + 1);
    memcpy(l->container, container.p, container.n);
    l->attempt = attempt;
    l->reader = conlog_reader_new(agent_log_path(p, &a, container, attempt).p);
    list_push(&p->logs, &l->link);
}

static void give_line(struct agent_pod *p, struct str container, const struct conlog_line *line)
{
    struct agent_hooks *hooks = &p->agent->opt.hooks;
    struct agent_output out = { .namespace = p->object->namespace,
                                .pod = p->object->name,
                                .uid = p->object->uid,
                                .container = container,
                                .root = p->object->root,
                                .stream = line->stream,
                                .is_partial = line->is_partial,
                                .at_ms = line->at_ns / 1000000,
                                .text = line->text };

    p->agent->room -= (int64_t)line->text.n + CONLOG_EXTRA;
    hooks->output(hooks->ctx, &out);
}

/* False: there is more, and no room for it now. */
static bool read_log(struct agent_pod *p, struct agent_log *l)
{
    struct conlog_line line;

    while (l && p->agent->room > 0 && conlog_next(l->reader, &line))
        give_line(p, str_of(l->container), &line);
    return !l || p->agent->room > 0;
}

/* The end of what it wrote did not fit on the disk: show what the shim remembers, and say so. */
static void tell_unwritten(struct agent_pod *p, const struct shim_event *ev)
{
    struct agent_hooks *hooks = &p->agent->opt.hooks;
    struct conlog_line line = { .at_ns = now_of(p) * 1000000 };
    struct str rest = ev->text;
    autobuf said = { 0 };

    if (rest.n && rest.p[rest.n - 1] == '\n')
        rest.n--;
    while (hooks->output && rest.n && str_split(&rest, '\n', &line.text))
        give_line(p, ev->container, &line);
    buf_fmt(&said, "%.*s: its output could not be written below %s (No space left on device?); only its last words were kept",
            STR_ARG(p->object->name), p->agent->run.dir.p);
    if (hooks->notice)
        hooks->notice(hooks->ctx, buf_view(&said));
}

static bool read_logs(struct agent_pod *p)
{
    LIST_FOREACH(struct agent_log, l, &p->logs, link)
        if (!read_log(p, l))
            return false;
    return true;
}

static void forget_log(struct agent_pod *p, struct str container, int attempt)
{
    struct agent_log *l = log_of(p, container, attempt);

    if (!l)
        return;
    list_remove(&l->link);
    conlog_reader_free(l->reader);
    free(l);
}

static void start(struct agent_pod *p, const struct life_action *action)
{
    autoarena a = { 0 };
    struct box_build build;
    const char *reason;
    struct err e;

    if (agent_box_build(p, &a, action, &build, &reason, &e) < 0) {
        life_start_failed(p->life, action->name, 128, str_of(reason), str_of(e.text), now_of(p));
        return;
    }
    follow(p, action->name, action->attempt);
    if (shim_start(p->shim, &build.spec, &build.limits, action->attempt, &e) < 0)
        log_warn("a shim does not answer", LOG_STR("pod", p->object->name), LOG_TEXT("why", e.text));
    agent_box_done(&build);
}

/* What it wrote into its termination message; a failed one that wrote nothing is quoted by the last lines of its log. */
static void last_words(struct agent_pod *p, const struct shim_event *ev, struct buf *out)
{
    autoarena a = { 0 };
    autoclose int fd = open(agent_termination_path(p, &a, ev->container, ev->attempt).p,
                            O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = fd < 0 ? 0 : read(fd, buf_reserve(out, MESSAGE_MAX), MESSAGE_MAX);

    out->n += n > 0 ? (size_t)n : 0;
    if (out->n || ev->status == 0)
        return;
    buf_str(out, ev->text); /* where the log could not be written */
    if (out->n == 0)
        conlog_tail(agent_log_path(p, &a, ev->container, ev->attempt).p, TAIL_BYTES, TAIL_LINES, out);
}

static void ended(struct agent_pod *p, const struct shim_event *ev)
{
    autobuf words = { 0 };
    struct life_end end = { .status = ev->status, .is_oom = ev->is_oom };

    forget_log(p, ev->container, ev->attempt);
    if (ev->text.n)
        tell_unwritten(p, ev);
    last_words(p, ev, &words);
    end.message = buf_view(&words);
    if (p->agent->opt.hooks.usage)
        p->agent->opt.hooks.usage(p->agent->opt.hooks.ctx, p->object->uid, &ev->stats, now_of(p));
    life_ended(p->life, ev->container, &end, now_of(p));
}

static void started(struct agent_pod *p, const struct shim_event *ev)
{
    autoarena a = { 0 };
    struct str id = arena_fmt(&a, "pumice://%.*s/%.*s/%d", STR_ARG(p->object->uid), STR_ARG(ev->container),
                              ev->attempt);

    life_started(p->life, ev->container, id, now_of(p));
}

static void failed(struct agent_pod *p, const struct shim_event *ev)
{
    forget_log(p, ev->container, ev->attempt);
    life_start_failed(p->life, ev->container, ev->report.status, str_of(ev->report.reason), str_of(ev->report.text),
                      now_of(p));
}

/* ---- probes and hooks ---- */

static uint16_t port_number(const struct json *container, const struct json *port)
{
    struct str name = json_text(port, STR_NULL);
    int64_t number = json_i64(port, 0);

    if (name.n && str_to_i64(name, &number) < 0)
        JSON_FOREACH(one, json_get(container, "ports"))
            if (str_eq(json_member_text(one, "name"), name))
                number = json_i64(json_get(one, "containerPort"), 0);
    return number > 0 && number < 65536 ? (uint16_t)number : 0;
}

static void read_target(struct agent_pod *p, struct arena *a, const struct life_action *action,
                        struct probe_target *ret)
{
    const struct json *http = json_get(action->spec, "httpGet"), *tcp = json_get(action->spec, "tcpSocket"),
                      *grpc = json_get(action->spec, "grpc"),
                      *from = http  ? http
                              : tcp ? tcp
                                    : grpc;

    ret->kind = grpc && from == grpc ? PROBE_GRPC : from == tcp ? PROBE_TCP : PROBE_HTTP;
    if (http && str_is(json_member_text(http, "scheme"), "HTTPS"))
        ret->kind = PROBE_HTTPS;
    ret->host = json_member_text(from, "host");
    if (ret->host.n == 0)
        ret->host = p->is_host_network ? STR("127.0.0.1") : agent_address(a, p->address);
    ret->port = port_number(action->container, json_get(from, "port"));
    ret->path = json_member_text(http, "path");
    ret->service = json_member_text(grpc, "service");
    JSON_FOREACH(h, json_get(http, "httpHeaders"))
        *vec_push(a, &ret->headers) = (struct probe_header){ json_member_text(h, "name"),
                                                             json_member_text(h, "value") };
}

static void ask(struct agent_pod *p, const struct life_action *action)
{
    autoarena a = { 0 };
    const struct json *exec = json_get(action->spec, "exec");
    struct probe_target target = { 0 };
    VEC(struct str) argv = { 0 };
    struct err e;
    int rc;

    if (exec) {
        JSON_FOREACH(word, json_get(exec, "command"))
            *vec_push(&a, &argv) = json_text(word, STR_NULL);
        rc = shim_exec(p->shim, action->id, action->name, argv.v, argv.n, action->timeout_ms, &e);
    } else {
        read_target(p, &a, action, &target);
        rc = shim_probe(p->shim, action->id, &target, action->timeout_ms, &e);
    }
    if (rc < 0)
        life_result(p->life, action->id, false, str_of(e.text), now_of(p));
}

/* ---- one step after the other ---- */

static void confirm_gone(struct agent_pod *p)
{
    struct op op = { .kind = OP_DELETE,
                     .type = agent_type(WANT_POD),
                     .namespace = p->object->namespace,
                     .name = p->object->name,
                     .uid = p->object->uid };

    cluster_write(p->agent->cluster, &op);
}

/* An image may want another signal than SIGTERM. */
static void send_signal(struct agent_pod *p, const struct life_action *action)
{
    const struct image *image = images_find(p->agent->opt.images, json_member_text(action->container, "image"));
    int signo = action->signo == SIGTERM && image->stop_signal ? image->stop_signal : action->signo;

    if (p->shim)
        shim_signal(p->shim, action->name, signo, NULL);
}

static void act(struct agent_pod *p, const struct life_action *action)
{
    switch (action->kind) {
    case LIFE_MAKE:
        make(p);
        break;
    case LIFE_START:
        start(p, action);
        break;
    case LIFE_SIGNAL:
        send_signal(p, action);
        break;
    case LIFE_PROBE:
    case LIFE_HOOK:
        ask(p, action);
        break;
    case LIFE_UNMAKE:
        unmake(p);
        life_unmade(p->life, now_of(p));
        break;
    case LIFE_GONE:
        confirm_gone(p);
        break;
    default:
        break;
    }
}

static void write_status(struct agent_pod *p)
{
    autoarena a = { 0 };
    struct json *body = object_new(&a, "v1", "Pod", p->object->namespace, p->object->name);
    struct op op = { .kind = OP_UPDATE_STATUS,
                     .type = agent_type(WANT_POD),
                     .namespace = p->object->namespace,
                     .name = p->object->name,
                     .uid = p->object->uid,
                     .body = body };

    json_set(json_get(body, "metadata"), "uid", json_str(&a, p->object->uid));
    json_set(body, "status", life_status(p->life, &a));
    cluster_write(p->agent->cluster, &op);
}

static void write_events(struct agent_pod *p)
{
    struct life_event ev;

    while (life_next_event(p->life, &ev))
        agent_event(p->agent, p->object->root, ev.is_warning, ev.reason, ev.message);
}

static void set_timer(struct agent_pod *p)
{
    heap_remove(&p->agent->timers, &p->timer);
    p->due_ms = life_due_ms(p->life);
    p->seq = ++p->agent->seq;
    if (p->due_ms < INT64_MAX)
        heap_push(&p->agent->timers, &p->timer);
}

static void step(struct agent_pod *p)
{
    struct life_action action;
    bool is_changed = life_is_changed(p->life);

    while (life_step(p->life, now_of(p), &action)) {
        is_changed |= life_is_changed(p->life); /* a start looks at the status */
        act(p, &action);
    }
    if (is_changed || life_is_changed(p->life)) {
        write_status(p);
        p->agent->services.is_dirty = true;
    }
    write_events(p);
    set_timer(p);
}

bool agent_pods_step(struct agent *g)
{
    int64_t now_ms = cluster_now_ms(g->cluster);
    struct list_link *link;
    struct heap_node *node;
    bool did = false;

    while ((node = heap_first(&g->timers)) && HEAP_ITEM(node, struct agent_pod, timer)->due_ms <= now_ms) {
        struct agent_pod *p = HEAP_ITEM(heap_pop(&g->timers), struct agent_pod, timer);

        agent_pod_dirty(p);
    }
    while ((link = list_pop_front(&g->dirty))) {
        step(LIST_ITEM(link, struct agent_pod, dirty));
        did = true;
    }
    return did;
}

/* ---- news ---- */

static void lost(struct agent_pod *p, struct str text)
{
    autobuf why = { 0 };

    if (p->stage == STAGE_MADE) {
        unwatch(p);
        life_lost(p->life, text, now_of(p));
        return;
    }
    buf_str(&why, text);
    unmake(p);
    p->stage = STAGE_NEW;
    life_failed(p->life, false, STR("FailedCreatePodSandBox"), buf_view(&why), now_of(p));
}

static void take_event(struct agent_pod *p, const struct shim_event *ev)
{
    switch (ev->kind) {
    case SHIM_READY:
        join(p, ev);
        close(ev->net_fd);
        break;
    case SHIM_STARTED:
        started(p, ev);
        break;
    case SHIM_FAILED:
        failed(p, ev);
        break;
    case SHIM_ENDED:
        ended(p, ev);
        break;
    case SHIM_LOG:
        (void)shim_log_read(p->shim, ev->container, ev->attempt, ev->log_bytes, NULL); /* gone: SHIM_GONE follows */
        break;
    case SHIM_RESULT:
        life_result(p->life, ev->id, ev->is_ok, ev->text, now_of(p));
        break;
    case SHIM_GONE:
        lost(p, ev->text);
        break;
    default:
        break;
    }
}

/* What a container said comes before what became of it. */
static bool read_before(struct agent_pod *p, const struct shim_event *ev)
{
    if (ev->kind == SHIM_LOG || ev->kind == SHIM_ENDED)
        return read_log(p, log_of(p, ev->container, ev->attempt));
    return ev->kind != SHIM_GONE || read_logs(p);
}

/* Its text stays as it is: nothing more is taken from the shim meanwhile. */
static void hold(struct agent_pod *p)
{
    p->is_held = true;
    list_push(&p->agent->held, &p->held);
    unwatch(p);
}

void agent_pod_events(struct agent_pod *p)
{
    while (p->shim && (p->is_held || shim_next(p->shim, &p->event) > 0)) {
        p->is_held = false;
        if (!read_before(p, &p->event)) {
            hold(p);
            break;
        }
        take_event(p, &p->event);
    }
    agent_pod_dirty(p);
}

bool agent_pods_unhold(struct agent *g)
{
    struct list_link *link;
    bool did = false;

    while (g->room > 0 && (link = list_pop_front(&g->held))) {
        struct agent_pod *p = LIST_ITEM(link, struct agent_pod, held);

        if (watch(p, NULL) < 0)
            log_warn("a shim is not watched any more", LOG_STR("pod", p->object->name));
        agent_pod_events(p);
        did = true;
    }
    return did;
}

static struct str pod_hostname(struct arena *a, const struct object *o)
{
    struct str name = json_member_text(json_get(o->root, "spec"), "hostname");

    if (name.n == 0)
        name = str_sub(o->name, 0, 63);
    while (name.n && (name.p[name.n - 1] == '-' || name.p[name.n - 1] == '.'))
        name.n--;
    return arena_str(a, name);
}

static struct agent_pod *pod_new(struct agent *g, const struct object *o)
{
    struct agent_pod *p = xcalloc(1, sizeof(*p));

    p->agent = g;
    p->object = object_ref(o);
    list_init(&p->logs);
    p->small = arena_fmt(&p->arena, "%s/small/%.*s", g->run.dir.p, STR_ARG(o->uid));
    p->disk = arena_fmt(&p->arena, "%s/pods/%.*s", g->run.dir.p, STR_ARG(o->uid));
    p->hostname = pod_hostname(&p->arena, o);
    p->is_host_network = json_bool(json_find(o->root, "spec", "hostNetwork", NULL), false);
    p->life = life_new(o, cluster_now_ms(g->cluster));
    map_put(&g->pods, p->object->uid, p);
    return p;
}

void agent_pod_put(struct agent *g, const struct object *o)
{
    struct agent_pod *p = map_get(&g->pods, o->uid);
    struct object *old;

    if (!str_eq(json_member_text(json_get(o->root, "spec"), "nodeName"), g->node_name))
        return;
    if (!p) {
        p = pod_new(g, o);
    } else {
        old = p->object;
        p->object = object_ref(o);
        map_put(&g->pods, p->object->uid, p); /* the key is a part of the object */
        if (!json_equal(json_find(old->root, "metadata", "labels", NULL),
                        json_find(o->root, "metadata", "labels", NULL)))
            g->services.is_dirty = true;
        object_unref(old);
        life_update(p->life, o, cluster_now_ms(g->cluster));
    }
    agent_pod_dirty(p);
}

static void pod_free(struct agent_pod *p)
{
    heap_remove(&p->agent->timers, &p->timer);
    list_remove(&p->dirty);
    if (p->stage != STAGE_UNMADE)
        unmake(p);
    LIST_FOREACH(struct agent_log, l, &p->logs, link) {
        conlog_reader_free(l->reader);
        free(l);
    }
    life_free(p->life);
    object_unref(p->object);
    arena_done(&p->arena);
    free(p);
}

/* It was removed from the cluster: by us, when nothing was left of it, or by force. */
void agent_pod_gone(struct agent *g, const struct object *o)
{
    struct agent_pod *p = map_remove(&g->pods, o->uid);

    if (!p)
        return;
    g->services.is_dirty = true;
    pod_free(p);
}

void agent_pods_done(struct agent *g)
{
    MAP_FOREACH(struct agent_pod *, p, &g->pods)
        pod_free(p);
    map_done(&g->pods);
}

void agent_pods_refresh(struct agent *g, const struct object *changed)
{
    MAP_FOREACH(struct agent_pod *, p, &g->pods) {
        struct volume_source source;
        struct err e;

        if (!p->volumes || !str_eq(p->object->namespace, changed->namespace))
            continue;
        agent_source_init(p, &source);
        if (volumes_update(p->volumes, p->object->root, &source, &e) < 0)
            agent_event(g, p->object->root, true, "FailedMount", str_of(e.text));
    }
}

void agent_pods_usage(struct agent *g)
{
    MAP_FOREACH(struct agent_pod *, p, &g->pods) {
        autoarena a = { 0 };
        struct cgroup_stats stats;

        if (p->stage != STAGE_MADE || life_has_ended(p->life))
            continue;
        if (cgroup_stats(g->cgroups, arena_fmt(&a, "pod-%.*s", STR_ARG(p->object->uid)).p, &stats, NULL) == 0)
            g->opt.hooks.usage(g->opt.hooks.ctx, p->object->uid, &stats, cluster_now_ms(g->cluster));
    }
}
