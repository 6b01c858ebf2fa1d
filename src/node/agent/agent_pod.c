/* agent_pod.c - a pod: from its binding to the last trace of it
 *
 * life.h decides, this file does. Nothing here waits: it asks for a sandbox, and the shim reports the result.
 */
#include "node/agent/agent_internal.h"

#include "api/pod/container.h"
#include "api/meta.h"
#include "base/log.h"
#include "os/io.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/stat.h>

enum {
    MESSAGE_MAX = 4096,
    TAIL_BYTES = 2048,
    TAIL_LINES = 40,
};

int64_t agent_pod_now(const struct agent_pod *p)
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
    struct plan plan = { .arena = &a, .now_ms = cluster_now_ms(g->cluster) };
    struct op *op = plan_event(&plan, about, is_warning ? "Warning" : "Normal", reason, message);

    plan_event_from(&plan, op, STR("kubelet"), g->node_name);
    op->is_best_effort = true;
    op->count = COUNT_EACH;
    if (recorder_take(&g->recorder, &a, op, plan.now_ms))
        cluster_write(g->cluster, op);
}

void agent_events_due(struct agent *g, int64_t now_ms)
{
    autoarena a = { 0 };
    struct op op;

    while (recorder_next(&g->recorder, &a, now_ms, &op))
        cluster_write(g->cluster, &op);
}

/* ---- containers ---- */

static void start_failed(struct agent_pod *p, const struct life_action *action, struct str reason, const struct err *e)
{
    life_start_failed(p->life, action->name, &(struct life_failure){ 128, reason, str_of(e->text) }, agent_pod_now(p));
}

/* A dead shim reports itself (SHIM_GONE); an order that is too large has no other report. */
static void not_sent(struct agent_pod *p, const struct life_action *action, const struct err *e)
{
    log_warn("Failed to start a container", LOG_STR("pod", p->object->name), LOG_STR("container", action->name),
             LOG_TEXT("error", e->text));
    if (e->code != ERR_TOO_BIG)
        return;
    agent_log_forget(p, action->name, action->attempt);
    start_failed(p, action, STR("CreateContainerError"), e);
}

/* The pod was looked at when it came; this container came later. */
static bool may_be_added(struct agent_pod *p, struct arena *a, const struct life_action *action, struct err *e)
{
    const struct agent_hooks *hooks = &p->agent->opt.hooks;
    struct json *pod = json_copy(a, p->object->root), *alone = json_array(a);

    json_push(alone, json_copy(a, action->container));
    json_set(json_get(pod, "spec"), "ephemeralContainers", alone);
    return !hooks->admit || hooks->admit(hooks->ctx, pod, e) == 0;
}

static void agent_pod_start(struct agent_pod *p, const struct life_action *action, bool has_waited)
{
    autoarena a = { 0 };
    struct box_build build = { .reason = "CreateContainerConfigError" };
    const char *reason;
    enum agent_image_state image;
    struct err e;

    if (action->is_ephemeral && !may_be_added(p, &a, action, &e)) {
        start_failed(p, action, STR("ContainerCannotRun"), &e);
        return;
    }
    image = agent_image_need(p, action, has_waited, &reason, &e);
    if (image == AGENT_IMAGE_LATER)
        return;
    if (image == AGENT_IMAGE_FAILED) {
        start_failed(p, action, str_of(reason), &e);
        return;
    }
    if ((!p->volumes && agent_pod_volumes(p, &e) < 0) || agent_box_build(p, &a, action, &build, &e) < 0) {
        start_failed(p, action, str_of(build.reason), &e);
        return;
    }
    agent_log_follow(p, action->name, action->attempt);
    if (p->agent->opt.remote || p->agent->opt.forgets_logs)
        agent_log_prune(p, action->name, action->attempt);
    if (shim_start(p->shim, &build.spec, &build.limits, action->attempt, &e) < 0)
        not_sent(p, action, &e);
    else
        p->is_starting = true;
    agent_box_done(&build);
}

/* What it wrote into its termination message, or the last lines of its log. */
void agent_last_words(struct agent_pod *p, const struct shim_event *ev, struct buf *out)
{
    autoarena a = { 0 };
    const struct json *c = container_named(json_get(p->object->root, "spec"), ev->container);
    /* The policy of its message; pods of `pumice run` have none. */
    bool quotes_log = !str_is(json_member_text(c, "terminationMessagePolicy"), "File");

    (void)file_read(AT_FDCWD, agent_termination_path(p, &a, ev->container, ev->attempt).p, O_NOFOLLOW, MESSAGE_MAX,
                    out);
    if (out->n || ev->status == 0 || !quotes_log)
        return;
    buf_str(out, ev->text); /* where the log could not be written */
    if (out->n == 0)
        conlog_tail(agent_log_path(p, &a, ev->container, ev->attempt).p, TAIL_BYTES, TAIL_LINES, out);
}

static void agent_pod_ended(struct agent_pod *p, const struct shim_event *ev)
{
    autobuf words = { 0 };
    struct life_end end = { .status = ev->status, .is_oom = ev->is_oom, .by_itself = ev->by_itself };

    agent_log_forget(p, ev->container, ev->attempt);
    agent_box_ended(p, ev->container);
    if (ev->text.n)
        agent_log_unwritten(p, ev);
    agent_last_words(p, ev, &words);
    end.message = buf_view(&words);
    if (p->agent->opt.hooks.usage)
        p->agent->opt.hooks.usage(p->agent->opt.hooks.ctx, p->object->uid, &ev->stats, agent_pod_now(p));
    life_ended(p->life, ev->container, &end, agent_pod_now(p));
}

struct str agent_container_id(struct arena *a, const struct agent_pod *p, struct str container, int attempt)
{
    return arena_fmt(a, "pumice://%.*s/%.*s/%d", STR_ARG(p->object->uid), STR_ARG(container), attempt);
}

static void agent_pod_started(struct agent_pod *p, const struct shim_event *ev)
{
    autoarena a = { 0 };

    life_started(p->life, ev->container, agent_container_id(&a, p, ev->container, ev->attempt), agent_pod_now(p));
}

static void agent_pod_failed(struct agent_pod *p, const struct shim_event *ev)
{
    agent_log_forget(p, ev->container, ev->attempt);
    life_start_failed(p->life, ev->container,
                      &(struct life_failure){ ev->report.status, str_of(ev->report.reason), str_of(ev->report.text) },
                      agent_pod_now(p));
}

/* ---- one step after the other ---- */

static void confirm_gone(struct agent_pod *p)
{
    struct op op = { .kind = OP_DELETE,
                     .type = agent_type(WANT_POD),
                     .namespace = p->object->namespace,
                     .name = p->object->name,
                     .uid = p->object->uid };

    agent_write(p->agent, &p->end, &op);
}

/* An image may want another signal than SIGTERM. */
static void send_signal(struct agent_pod *p, const struct life_action *action)
{
    const struct image *image = images_find(p->agent->opt.images, json_member_text(action->container, "image"));
    int signo = action->signo == SIGTERM && image->stop_signal ? image->stop_signal : action->signo;

    if (p->shim)
        shim_signal(p->shim, action->name, signo, NULL);
}

static void forget_needs(struct agent_pod *p)
{
    agent_tokens_drop(p);
    agent_refs_drop(p);
}

static void unmake(struct agent_pod *p)
{
    p->is_unmaking = false;
    agent_pod_unmake(p);
    life_unmade(p->life, agent_pod_now(p));
    if (life_has_ended(p->life))
        forget_needs(p);
}

/* Only its shim knows how a pod has ended that outlives us: stop it when that is written, and the next agent need not
 * ask it. */
static void unmake_when_written(struct agent_pod *p)
{
    if (!p->is_unmaking || p->status.token || p->status.has_failed)
        return;
    unmake(p);
    agent_pod_dirty(p); /* what comes next */
}

static void agent_pod_act(struct agent_pod *p, const struct life_action *action)
{
    switch (action->kind) {
    case LIFE_MAKE:
        agent_pod_make(p);
        break;
    case LIFE_START:
        agent_pod_start(p, action, false);
        break;
    case LIFE_SIGNAL:
        send_signal(p, action);
        break;
    case LIFE_PROBE:
    case LIFE_HOOK:
        agent_pod_probe(p, action);
        break;
    case LIFE_UNMAKE:
        p->is_unmaking = p->agent->opt.outlives && life_has_ended(p->life);
        if (!p->is_unmaking)
            unmake(p);
        break;
    case LIFE_GONE:
        p->is_over = true;
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
    agent_write(p->agent, &p->status, &op);
}

/* A server adds members of its own and leaves out empty ones. */
static bool is_said_by(const struct json *ours, const struct json *theirs)
{
    const struct json *other = json_is(theirs, JSON_ARRAY) ? json_first(theirs) : NULL;

    if (!theirs || theirs->type == JSON_NULL)
        return ours->type == JSON_NULL || json_text(ours, STR("x")).n == 0 ||
               (json_is(ours, JSON_OBJECT) && json_count(ours) == 0);
    if (!json_is(ours, JSON_OBJECT) && !json_is(ours, JSON_ARRAY))
        return json_equal(ours, theirs);
    if (ours->type != theirs->type || (json_is(ours, JSON_ARRAY) && json_count(ours) != json_count(theirs)))
        return false;
    JSON_FOREACH(m, ours) {
        if (!is_said_by(m, json_is(ours, JSON_OBJECT) ? json_get_str(theirs, json_key(m)) : other))
            return false;
        other = other ? other->next : NULL;
    }
    return true;
}

/* A write that was given up may arrive late and put an old status in place of the new one. */
static void compare_status(struct agent_pod *p)
{
    autoarena a = { 0 };

    if (p->status.token || p->status.has_failed || !p->status.rev || p->object->rev <= p->status.rev)
        return;
    p->status.rev = p->object->rev;
    if (!is_said_by(life_status(p->life, &a), json_get(p->object->root, "status")))
        agent_write_later(p->agent, &p->status);
}

static void write_events(struct agent_pod *p)
{
    struct life_event ev;

    while (life_next_event(p->life, &ev))
        agent_event(p->agent, p->object->root, ev.is_warning, ev.reason, ev.message);
}

/* Write how it ended before its deletion is confirmed: after that no client can see it. */
static void end_when_written(struct agent_pod *p)
{
    if (!p->is_over || p->is_confirmed || p->status.token || p->status.has_failed)
        return;
    p->is_confirmed = true;
    confirm_gone(p);
}

static void agent_pod_set_timer(struct agent_pod *p)
{
    heap_remove(&p->agent->timers, &p->timer);
    p->due_ms = MIN_OF(agent_write_due_ms(&p->status), agent_write_due_ms(&p->end));
    p->due_ms = MIN_OF(p->due_ms, life_due_ms(p->life));
    p->due_ms = MIN_OF(p->due_ms, agent_tokens_due(p));
    p->due_ms = MIN_OF(p->due_ms, p->resize_ms);
    p->seq = ++p->agent->seq;
    if (p->due_ms < INT64_MAX)
        heap_push(&p->agent->timers, &p->timer);
}

static void agent_pod_step(struct agent_pod *p)
{
    struct life_action action;
    int64_t now_ms = agent_pod_now(p);
    bool is_changed = life_is_changed(p->life) || agent_write_due_ms(&p->status) <= now_ms;

    if (life_is_stopping(p->life) && (p->stage == STAGE_ASKS || p->stage == STAGE_SHIM || p->stage == STAGE_FILTER))
        agent_pod_made(p); /* as far as it is: the rest is no longer needed */
    agent_tokens_renew(p, now_ms);
    if (p->resize_ms <= now_ms)
        agent_pod_resize(p);
    if (agent_write_due_ms(&p->end) <= now_ms)
        confirm_gone(p);
    if (life_is_stopping(p->life))
        agent_starts_give_up(p);
    while (agent_start_next(p, &action))
        agent_pod_start(p, &action, true);
    while (life_step(p->life, agent_pod_now(p), &action)) {
        is_changed |= life_is_changed(p->life); /* a start looks at the status */
        agent_pod_act(p, &action);
    }
    if (is_changed || life_is_changed(p->life)) {
        write_status(p);
        p->agent->services.is_dirty = true;
    } else {
        compare_status(p);
    }
    unmake_when_written(p);
    end_when_written(p);
    write_events(p);
    agent_pod_set_timer(p);
    agent_pod_turn(p);
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
        agent_pod_step(LIST_ITEM(link, struct agent_pod, dirty));
        did = true;
    }
    return agent_pods_turns(g) || did;
}

/* ---- news ---- */

static void note_first(struct agent_pod *p, struct str container, pid_t pid)
{
    VEC_FOREACH(f, &p->first)
        if (str_eq(f->container, container)) {
            f->pid = pid;
            return;
        }
    *vec_push(&p->arena, &p->first) = (struct agent_process){ p->object->uid, arena_str(&p->arena, container), pid };
}

/* A spawner says what became of a shim, and has cleaned up after it. Without a word it was killed itself. */
static struct str clean_up_alone(struct agent_pod *p)
{
    autoarena a = { 0 };

    (void)cgroup_remove(p->agent->cgroups, arena_fmt(&a, "pod-%.*s", STR_ARG(p->object->uid)).p,
                        NULL); /* or with the run */
    return STR("the spawner of the pod was killed");
}

static void agent_pod_lost(struct agent_pod *p, struct str text)
{
    autobuf why = { 0 };

    if (!text.n)
        text = clean_up_alone(p);
    agent_sessions_lost(p, STR("the pod has ended"));
    agent_logs_forget(p); /* of containers whose end the shim will not report */
    if (p->stage == STAGE_MADE) {
        agent_pod_unwatch(p);
        life_lost(p->life, text, agent_pod_now(p));
        return;
    }
    buf_str(&why, text);
    agent_pod_unmake(p);
    p->stage = STAGE_NEW;
    life_failed(p->life, false, STR("FailedCreatePodSandBox"), buf_view(&why), agent_pod_now(p));
}

static void agent_pod_take_event(struct agent_pod *p, const struct shim_event *ev)
{
    p->is_starting &= ev->kind != SHIM_STARTED && ev->kind != SHIM_FAILED && ev->kind != SHIM_ENDED;
    switch (ev->kind) {
    case SHIM_READY:
        agent_pod_join(p, ev);
        close(ev->net_fd);
        break;
    case SHIM_STARTED:
        note_first(p, ev->container, ev->pid);
        agent_pod_started(p, ev);
        break;
    case SHIM_FAILED:
        agent_pod_failed(p, ev);
        break;
    case SHIM_ENDED:
        note_first(p, ev->container, 0);
        agent_pod_ended(p, ev);
        break;
    case SHIM_LOG:
        (void)shim_log_read(p->shim, ev->container, ev->attempt, ev->log_bytes, NULL); /* gone: SHIM_GONE follows */
        break;
    case SHIM_RESULT:
        if (!agent_session_ended(p, ev))
            life_result(p->life, ev->id, ev->is_ok, ev->text, agent_pod_now(p));
        break;
    case SHIM_GONE:
        agent_pod_lost(p, ev->text);
        break;
    default:
        break;
    }
}

/* What a container said comes before what became of it. */
static bool read_before(struct agent_pod *p, const struct shim_event *ev)
{
    if (ev->kind == SHIM_LOG || ev->kind == SHIM_ENDED)
        return agent_log_read(p, agent_log_of(p, ev->container, ev->attempt));
    return ev->kind != SHIM_GONE || agent_logs_read(p);
}

void agent_pod_events(struct agent_pod *p)
{
    while (p->shim && (p->is_held || shim_next(p->shim, &p->event) > 0)) {
        p->is_held = false;
        if (!read_before(p, &p->event)) {
            p->is_held = true; /* take nothing more from the shim until the log is read */
            list_push(&p->agent->held, &p->held);
            agent_pod_unwatch(p);
            break;
        }
        agent_pod_take_event(p, &p->event);
    }
    agent_pod_dirty(p);
}

bool agent_pods_unhold(struct agent *g)
{
    struct list_link *link;
    bool did = false;

    while (g->room > 0 && (link = list_pop_front(&g->held))) {
        struct agent_pod *p = LIST_ITEM(link, struct agent_pod, held);

        if (agent_pod_watch(p, NULL) < 0)
            log_warn("Failed to watch the shim of a pod", LOG_STR("pod", p->object->name));
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

/* What this node cannot run, in the words of a kubelet. */
static void reject_unfit(struct agent_pod *p)
{
    const struct json *spec = json_get(p->object->root, "spec");
    struct str os = json_member_text(json_get(spec, "os"), "name");
    struct shim_options opt = { .has_host_network = p->is_host_network,
                                .has_host_ipc = json_bool(json_get(spec, "hostIPC"), false) };
    autobuf path = { 0 }, why = { 0 };

    if (os.n && !str_is(os, "linux"))
        life_stop(p->life, 0, STR("PodOSNotSupported"),
                  STR("Failed to admit pod as the OS field doesn't match node OS"), agent_pod_now(p));
    JSON_FOREACH(s, json_find(spec, "securityContext", "sysctls", NULL)) {
        struct str name = json_member_text(s, "name");

        if (sysctl_check(&opt, name, json_member_text(s, "value"), &path, NULL) == 0)
            continue;
        buf_fmt(&why, "forbidden sysctl: \"%.*s\" not allowlisted", STR_ARG(name));
        life_stop(p->life, 0, STR("SysctlForbidden"), buf_view(&why), agent_pod_now(p));
        return;
    }
}

static void agent_pod_admit(struct agent_pod *p)
{
    struct agent_hooks *hooks = &p->agent->opt.hooks;
    struct err e;

    if (hooks->admit && !life_has_ended(p->life) && hooks->admit(hooks->ctx, p->object->root, &e) < 0)
        life_stop(p->life, 0, STR("PodSecurity"), str_of(e.text), agent_pod_now(p));
    if (!life_has_ended(p->life))
        reject_unfit(p);
}

static struct life *begin_life(struct agent_pod *p)
{
    struct agent_kept *kept = agent_kept_take(p->agent, p->object->uid);
    struct life *life = kept ? agent_pod_adopt(p, kept) : NULL;

    return life ? life : life_new(p->object, agent_pod_now(p));
}

static struct agent_pod *agent_pod_new(struct agent *g, const struct object *o)
{
    struct agent_pod *p = xcalloc(1, sizeof(*p));

    p->agent = g;
    p->object = object_ref(o);
    p->status.pod = p->end.pod = p;
    list_init(&p->logs);
    p->small = arena_fmt(&p->arena, "%s/small/%.*s", g->run.dir.p, STR_ARG(o->uid));
    p->disk = arena_fmt(&p->arena, "%s/pods/%.*s", g->run.dir.p, STR_ARG(o->uid));
    p->hostname = pod_hostname(&p->arena, o);
    p->is_host_network = json_bool(json_find(o->root, "spec", "hostNetwork", NULL), false);
    p->life = begin_life(p);
    map_put(&g->pods, p->object->uid, p);
    agent_pod_resize(p);
    agent_pod_admit(p);
    if (!life_has_ended(p->life)) {
        agent_refs_take(p);
        agent_tokens_take(p);
        agent_pod_asked(p); /* one that was there may have all it asks for */
    }
    return p;
}

/* Fields that downwardAPI volumes of a running pod show have changed. */
static bool shows_other(const struct json *old, const struct json *new)
{
    static const char *const members[] = { "labels", "annotations" };

    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const struct json *a = json_find(old, "metadata", members[i], NULL),
                          *b = json_find(new, "metadata", members[i], NULL);

        if (a != b && !(a && b && json_equal(a, b)))
            return true;
    }
    return false;
}

void agent_pod_put(struct agent *g, const struct object *o)
{
    struct agent_pod *p = map_get(&g->pods, o->uid);
    struct object *old;

    if (!str_eq(json_member_text(json_get(o->root, "spec"), "nodeName"), g->node_name))
        return;
    if (!p && g->is_closing)
        return; /* it stays bound: for the next agent here, or until the Node is deleted */
    if (!p) {
        p = agent_pod_new(g, o);
    } else {
        old = p->object;
        p->object = object_ref(o);
        map_put(&g->pods, p->object->uid, p); /* the key is a part of the object */
        if (!json_equal(json_find(old->root, "metadata", "labels", NULL),
                        json_find(o->root, "metadata", "labels", NULL)))
            g->services.is_dirty = true;
        if (json_count(json_find(o->root, "spec", "ephemeralContainers", NULL)) !=
            json_count(json_find(old->root, "spec", "ephemeralContainers", NULL)))
            agent_refs_take(p);
        if (shows_other(old->root, o->root))
            agent_pod_refresh(p);
        object_unref(old);
        life_update(p->life, o, cluster_now_ms(g->cluster));
        agent_pod_resize(p);
    }
    agent_pod_dirty(p);
}

static void pod_free(struct agent_pod *p)
{
    heap_remove(&p->agent->timers, &p->timer);
    list_remove(&p->dirty);
    agent_write_forget(p->agent, &p->status);
    agent_write_forget(p->agent, &p->end);
    if (p->agent->leaves)
        agent_pod_leave(p);
    else if (p->stage != STAGE_UNMADE)
        agent_pod_unmake(p);
    agent_logs_forget(p);
    forget_needs(p);
    life_free(p->life);
    object_unref(p->object);
    arena_done(&p->arena);
    free(p);
}

/* It was removed from the cluster: by us, when nothing was left of it, or by force. */
void agent_pod_gone(struct agent *g, const struct object *o)
{
    struct agent_pod *p = map_get(&g->pods, o->uid);

    if (!p)
        return;
    if (g->opt.hooks.leaves)
        g->opt.hooks.leaves(g->opt.hooks.ctx, o->namespace, o->name, o->uid);
    map_remove(&g->pods, o->uid);
    g->services.is_dirty = true;
    if (g->opt.remote || g->opt.forgets_logs)
        agent_logs_remove(p);
    pod_free(p);
}

void agent_pods_done(struct agent *g)
{
    MAP_FOREACH(struct agent_pod *, p, &g->pods)
        pod_free(p);
    map_done(&g->pods);
}

void agent_pod_refresh(struct agent_pod *p)
{
    struct volume_source source;
    struct err e;

    if (!p->volumes || life_has_ended(p->life) || json_find(p->object->root, "metadata", "deletionTimestamp", NULL))
        return;
    agent_source_init(p, &source);
    if (volumes_update(p->volumes, p->object->root, &source, &e) < 0)
        agent_event(p->agent, p->object->root, true, "FailedMount", str_of(e.text));
}

void agent_pods_refresh(struct agent *g, const struct object *changed)
{
    MAP_FOREACH(struct agent_pod *, p, &g->pods) {
        if (!str_eq(p->object->namespace, changed->namespace))
            continue;
        agent_pod_refresh(p);
        life_retry(p->life, cluster_now_ms(g->cluster));
        agent_pod_dirty(p);
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
