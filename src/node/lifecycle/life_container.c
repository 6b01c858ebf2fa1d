/* life_container.c - one container: waiting, starting, running, ended, restarted
 *
 * Containers start one at a time, as in the kubelet: the next one when the one before is running and its postStart
 * hook has ended.
 */
#include "node/lifecycle/life_internal.h"

#include "base/clock.h"

#include <signal.h>
#include <sys/wait.h>

static const char *const probe_names[LIFE_PROBE_KIND_MAX] = {
    [LIFE_STARTUP] = "startupProbe",
    [LIFE_LIVENESS] = "livenessProbe",
    [LIFE_READINESS] = "readinessProbe",
};

void life_con_init(struct life_con *c, const struct object *pod, const struct json *spec, const char *list)
{
    const struct json *hooks = json_get(spec, "lifecycle");

    c->spec = spec;
    c->from = object_ref(pod);
    c->name = json_member_text(spec, "name");
    c->resources = json_get(spec, "resources");
    c->is_init = str_is(str_of(list), "initContainers");
    c->is_ephemeral = str_is(str_of(list), "ephemeralContainers");
    c->is_sidecar = c->is_init && str_is(json_member_text(spec, "restartPolicy"), "Always");
    if ((c->is_init && !c->is_sidecar) || c->is_ephemeral) /* runs to completion: no hooks, no probes */
        return;
    c->post.spec = json_get(hooks, "postStart");
    c->pre.spec = json_get(hooks, "preStop");
    for (size_t i = 0; i < LIFE_PROBE_KIND_MAX; i++)
        c->probes[i].spec = json_get(spec, probe_names[i]);
}

static void past_done(struct life_past *p)
{
    buf_done(&p->message);
    buf_done(&p->id);
}

void life_con_done(struct life_con *c)
{
    buf_done(&c->wait_reason);
    buf_done(&c->wait_message);
    buf_done(&c->image_id);
    buf_done(&c->id);
    past_done(&c->last);
    past_done(&c->before);
    object_unref(c->from);
    object_unref(c->sized);
}

static struct life_con *life_container_find(struct life *l, struct str name, bool (*fits)(const struct life_con *))
{
    VEC_FOREACH(c, &l->cons)
        if (str_eq(c->name, name) && fits(c))
            return c;
    return NULL;
}

static bool is_starting(const struct life_con *c)
{
    return c->state == LIFE_CON_STARTING;
}

void life_action_of(struct life_pass *k, enum life_action_kind kind, const struct life_con *c)
{
    *k->ret = (struct life_action){ .kind = kind,
                                    .container = c->spec,
                                    .name = c->name,
                                    .resources = c->resources,
                                    .is_init = c->is_init,
                                    .is_ephemeral = c->is_ephemeral,
                                    .attempt = MAX_OF(c->n_attempts - 1, 0) };
}

/* ---- starting ---- */

static void clear_wait(struct life_con *c)
{
    buf_reset(&c->wait_reason);
    buf_reset(&c->wait_message);
}

/* Count a restart: the next one waits longer. A retried start is not a restart. */
static void grow_backoff(struct life_con *c, int64_t now_ms)
{
    if (!c->last.is_set || c->retry_ms)
        return;
    c->backoff_ms = c->backoff_ms ? MIN_OF(c->backoff_ms * 2, LIFE_BACKOFF_MAX_MS) : LIFE_BACKOFF_MS;
    c->backoff_set_ms = now_ms;
}

static bool try_start(struct life_con *c, struct life_pass *k)
{
    if (life_con_is_active(c) || c->is_over || !life_is_due(k, c->start_ms))
        return false;
    grow_backoff(c, k->now_ms);
    c->state = LIFE_CON_STARTING;
    life_action_of(k, LIFE_START, c);
    k->ret->attempt = c->n_attempts;
    return true;
}

static bool someone_starts(const struct life *l)
{
    VEC_FOREACH(c, &l->cons)
        if (life_con_is_active(c) && !life_con_is_up(c) && !c->is_ephemeral)
            return true;
    return false;
}

/* Ephemeral containers wait for no others: they are for debugging pods that do not start. */
static bool ephemeral_step(struct life *l, struct life_pass *k)
{
    VEC_FOREACH(c, &l->cons)
        if (c->is_ephemeral && try_start(c, k))
            return true;
    return false;
}

bool life_start_step(struct life *l, struct life_pass *k)
{
    if (l->stop.is_on || l->box != LIFE_BOX_MADE || l->is_broken)
        return false;
    if (ephemeral_step(l, k))
        return true;
    if (someone_starts(l))
        return false;
    VEC_FOREACH(c, &l->inits) {
        if (!(c->is_done && !c->is_sidecar) && try_start(c, k))
            return true;
        if (!c->is_done)
            return false;
    }
    VEC_FOREACH(c, &l->mains)
        if (try_start(c, k))
            return true;
    return false;
}

void life_check_init(struct life_con *c)
{
    if (c->is_sidecar && life_con_is_started(c))
        c->is_done = true;
}

static void begin_attempt(struct life_con *c, int64_t now_ms)
{
    c->state = LIFE_CON_RUNNING;
    c->n_attempts++;
    c->started_ms = now_ms;
    c->retry_ms = 0;
    clear_wait(c);
    c->post.state = c->post.spec ? LIFE_HOOK_TODO : LIFE_HOOK_NONE;
    life_probes_begin(c);
}

static bool is_any(const struct life_con *c)
{
    return true;
}

void life_image(struct life *l, struct str container, struct str image_id)
{
    struct life_con *c = life_container_find(l, container, is_any);

    if (c)
        life_set_text(&c->image_id, image_id); /* written with the result of the start */
}

void life_start_given_up(struct life *l, struct str container, int64_t now_ms)
{
    struct life_con *c = life_container_find(l, container, is_starting);

    if (!c)
        return;
    c->state = LIFE_CON_IDLE;
    l->is_changed = true;
    life_settle(l, now_ms);
}

void life_tell(struct life *l, bool is_warning, struct str reason, struct str container, struct str message)
{
    (is_warning ? life_warn : life_say)(l, life_container_find(l, container, is_any), reason, "%.*s", STR_ARG(message));
}

void life_started(struct life *l, struct str container, struct str container_id, int64_t now_ms)
{
    struct life_con *c = life_container_find(l, container, is_starting);

    if (!c)
        return;
    begin_attempt(c, now_ms);
    life_set_text(&c->id, container_id);
    life_say(l, c, STR("Started"), "Started container %.*s", STR_ARG(c->name));
    life_resize_started(l, c);
    if (l->stop.is_on)
        life_con_join_stop(l, c, now_ms);
    life_check_init(c);
    l->is_changed = true;
    life_settle(l, now_ms);
}

bool life_is_up(const struct life *l, struct str container)
{
    VEC_FOREACH(c, &l->cons)
        if (str_eq(c->name, container))
            return c->state == LIFE_CON_RUNNING;
    return false;
}

/* ---- ended ---- */

static bool wants_restart(const struct life *l, const struct life_con *c, int exit_code)
{
    if (l->stop.is_on || c->is_ephemeral)
        return false;
    if (c->is_sidecar)
        return true;
    if (l->policy == LIFE_NEVER)
        return false;
    if (!c->is_init && l->policy == LIFE_ALWAYS)
        return true;
    return exit_code != 0 || c->stop.restarts;
}

/* A duration as Go prints it: 10s, 1m20s, 5m0s. */
static struct str backoff_text(struct arena *a, int64_t ms)
{
    int64_t s = ms / 1000;

    return s < 60 ? arena_fmt(a, "%llds", (long long)s)
                  : arena_fmt(a, "%lldm%llds", (long long)(s / 60), (long long)(s % 60));
}

static void plan_restart(struct life *l, struct life_con *c, int64_t now_ms)
{
    autoarena a = { 0 };
    struct str pod = life_pod_text(l, &a);

    if (now_ms - c->backoff_set_ms > 2 * LIFE_BACKOFF_MAX_MS) /* it ran long enough */
        c->backoff_ms = 0;
    c->start_ms = now_ms + c->backoff_ms;
    if (!c->backoff_ms)
        return;
    life_set_text(&c->wait_reason, STR("CrashLoopBackOff"));
    life_set_text(&c->wait_message,
                  arena_fmt(&a, "back-off %.*s restarting failed container=%.*s pod=%.*s",
                            STR_ARG(backoff_text(&a, c->backoff_ms)), STR_ARG(c->name), STR_ARG(pod)));
    life_warn(l, c, STR("BackOff"), "Back-off restarting failed container %.*s in pod %.*s", STR_ARG(c->name),
              STR_ARG(pod));
}

static void forget_attempt(struct life_con *c)
{
    c->state = LIFE_CON_IDLE;
    c->stop = (struct life_end_of_con){ 0 };
    c->post = (struct life_hook){ .spec = c->post.spec };
    c->pre = (struct life_hook){ .spec = c->pre.spec };
    for (size_t i = 0; i < LIFE_PROBE_KIND_MAX; i++)
        c->probes[i] = (struct life_probe){ .spec = c->probes[i].spec };
    c->retry_ms = 0;
    clear_wait(c);
}

/* 'p' has all but the strings. */
static void con_end_attempt(struct life *l, struct life_con *c, const struct life_past *p, struct str message,
                            int64_t now_ms)
{
    bool again = wants_restart(l, c, p->exit_code);

    past_done(&c->before);
    c->before = c->last;
    c->last = *p;
    c->last.is_set = true;
    c->last.finished_ms = now_ms;
    life_set_text(&c->last.message, message);
    life_set_text(&c->last.id, buf_view(&c->id));
    buf_reset(&c->id);
    forget_attempt(c);
    c->is_over = !again;
    if (again)
        plan_restart(l, c, now_ms);
    else if (c->is_init && p->exit_code == 0)
        c->is_done = true;
    l->is_changed = true;
}

static bool is_begun(const struct life_con *c)
{
    return c->state != LIFE_CON_IDLE;
}

void life_ended(struct life *l, struct str container, const struct life_end *end, int64_t now_ms)
{
    struct life_con *c = life_container_find(l, container, is_begun);
    struct life_past p = { 0 };

    if (!c)
        return;
    if (c->state == LIFE_CON_STARTING) /* it ended before it was reported as started */
        begin_attempt(c, now_ms);
    p.signo = WIFSIGNALED(end->status) ? WTERMSIG(end->status) : 0;
    p.exit_code = p.signo ? 128 + p.signo : WEXITSTATUS(end->status);
    p.reason = end->is_oom ? "OOMKilled" : p.exit_code ? "Error" : "Completed";
    p.started_ms = c->started_ms;
    if (end->by_itself &&
        !c->pre.spec) /* probes fail when the container ends by itself: they have not caused the end */
        c->stop.restarts = false;
    con_end_attempt(l, c, &p, end->message, now_ms);
    life_settle(l, now_ms);
}

void life_con_killed(struct life *l, struct life_con *c, struct str message, int64_t now_ms)
{
    struct life_past p = {
        .exit_code = 128 + SIGKILL, .signo = SIGKILL, .reason = "Error", .started_ms = c->started_ms
    };

    if (c->state == LIFE_CON_RUNNING)
        con_end_attempt(l, c, &p, message, now_ms);
    else
        c->state = LIFE_CON_IDLE; /* the start did not happen */
}

/* ---- state from an earlier status ---- */

static int64_t life_container_time_of(const struct json *j, const char *key, int64_t fallback_ms)
{
    int64_t ms;

    return clock_parse(json_member_text(j, key), &ms, NULL) < 0 ? fallback_ms : ms;
}

static const char *life_container_reason_of(struct str text)
{
    static const char *const known[] = { "Completed", "OOMKilled", "StartError", "ContainerCannotRun" };

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_is(text, known[i]))
            return known[i];
    return "Error";
}

static void con_take_ended(struct life *l, struct life_con *c, const struct json *ended, int64_t now_ms)
{
    c->last.is_set = true;
    c->last.exit_code = (int)json_i64(json_get(ended, "exitCode"), 0);
    c->last.signo = (int)json_i64(json_get(ended, "signal"), 0);
    c->last.reason = life_container_reason_of(json_member_text(ended, "reason"));
    c->last.started_ms = life_container_time_of(ended, "startedAt", now_ms);
    c->last.finished_ms = life_container_time_of(ended, "finishedAt", now_ms);
    life_set_text(&c->last.message, json_member_text(ended, "message"));
    life_set_text(&c->last.id, json_member_text(ended, "containerID"));
    c->is_over = !wants_restart(l, c, c->last.exit_code);
    c->is_done = c->is_init && c->is_over && c->last.exit_code == 0;
}

static void take_image(struct life_con *c, const struct json *old)
{
    life_set_text(&c->image_id, json_member_text(old, "imageID"));
}

void life_con_take(struct life *l, struct life_con *c, const struct json *old, int64_t now_ms)
{
    const struct json *state = json_get(old, "state"), *running = json_get(state, "running"),
                      *ended = json_get(state, "terminated"), *last = json_find(old, "lastState", "terminated", NULL);
    int64_t restarts = json_i64(json_get(old, "restartCount"), 0);

    if (!running && !ended && !last && restarts <= 0)
        return;
    take_image(c, old);
    c->n_attempts = (int)MIN_OF(MAX_OF(restarts, 0), INT32_MAX - 1) + 1;
    if (ended || last)
        con_take_ended(l, c, ended ? ended : last, now_ms);
    if (ended)
        return;
    c->is_over = c->is_done = false; /* it was waiting for a restart, or running */
    if (!running)
        return;
    c->state = LIFE_CON_RUNNING;
    c->started_ms = life_container_time_of(running, "startedAt", now_ms);
    life_set_text(&c->id, json_member_text(old, "containerID"));
    life_con_killed(l, c, STR("the container ended with the agent of this node"), now_ms);
}

/* Restore hook and probes from a status of the same attempt. */
static void take_running(struct life_con *c, const struct json *old)
{
    struct life_probe *startup = &c->probes[LIFE_STARTUP], *readiness = &c->probes[LIFE_READINESS];

    c->started_ms = life_container_time_of(json_find(old, "state", "running", NULL), "startedAt", c->started_ms);
    c->post.state = c->post.spec ? LIFE_HOOK_DONE : LIFE_HOOK_NONE;
    if (startup->spec && json_bool(json_get(old, "started"), false))
        startup->is_ok = startup->is_over = true;
    if (readiness->spec && json_bool(json_get(old, "ready"), false))
        readiness->is_ok = true;
}

void life_con_found(struct life *l, struct life_con *c, const struct json *old, const struct life_found *f)
{
    const struct json *state = json_get(old, "state"), *ended = json_get(state, "terminated"),
                      *last = json_find(old, "lastState", "terminated", NULL);
    bool is_same = old && json_i64(json_get(old, "restartCount"), 0) == f->attempt &&
                   (json_get(state, "running") || ended);

    take_image(c, old);
    if (is_same ? last : ended ? ended : last)
        con_take_ended(l, c, is_same ? last : ended ? ended : last, f->started_ms);
    c->is_over = c->is_done = false;
    for (int i = 0; i < f->attempt && c->backoff_ms < LIFE_BACKOFF_MAX_MS; i++) /* as if we had seen all restarts */
        c->backoff_ms = c->backoff_ms ? MIN_OF(c->backoff_ms * 2, LIFE_BACKOFF_MAX_MS) : LIFE_BACKOFF_MS;
    c->backoff_set_ms = f->started_ms;
    c->n_attempts = f->attempt;
    c->state = LIFE_CON_STARTING;
    if (f->state == LIFE_FOUND_STARTING || f->state == LIFE_FOUND_FAILED)
        return;
    begin_attempt(c, f->started_ms);
    life_set_text(&c->id, f->id);
    if (is_same && !ended)
        take_running(c, old);
    life_check_init(c);
}

void life_con_again(struct life_con *c, int64_t now_ms)
{
    if (!c->is_init)
        return;
    if (c->is_done && !c->is_sidecar)
        c->start_ms = now_ms;
    c->is_done = c->is_over = false;
}

/* ---- failed to start ---- */

/* Reasons that count as ended attempts; others are retried. */
static const char *const final_reasons[] = { "StartError", "ContainerCannotRun" };

static const char *final_reason(struct str reason)
{
    for (size_t i = 0; i < ARRAY_LEN(final_reasons); i++)
        if (str_is(reason, final_reasons[i]))
            return final_reasons[i];
    return NULL;
}

void life_start_failed(struct life *l, struct str container, const struct life_failure *f, int64_t now_ms)
{
    struct life_con *c = life_container_find(l, container, is_starting);
    struct life_past p = { .exit_code = f->exit_code ? f->exit_code : 128,
                           .reason = final_reason(f->reason),
                           .started_ms = now_ms };
    bool is_of_image = str_is(f->reason, "ErrImagePull") || str_is(f->reason, "ErrImageNeverPull") ||
                       str_is(f->reason, "ImagePullBackOff") || str_is(f->reason, "InvalidImageName");

    if (!c)
        return;
    /* The image puller has recorded an Event with the message. */
    life_warn(l, c, STR("Failed"), "Error: %.*s", STR_ARG(is_of_image ? f->reason : f->message));
    if (p.reason) {
        c->n_attempts++;
        con_end_attempt(l, c, &p, f->message, now_ms);
    } else {
        c->state = LIFE_CON_IDLE;
        c->retry_ms = c->retry_ms ? MIN_OF(c->retry_ms * 2, LIFE_RETRY_MAX_MS) : LIFE_RETRY_MS;
        c->start_ms = now_ms + c->retry_ms;
        life_set_text(&c->wait_reason, f->reason);
        life_set_text(&c->wait_message, f->message);
        l->is_changed = true;
    }
    life_settle(l, now_ms);
}

/* ---- hooks ---- */

bool life_hook_step(struct life *l, struct life_con *c, struct life_hook *h, int64_t timeout_ms, struct life_pass *k)
{
    const struct json *sleep = json_get(h->spec, "sleep");

    if (h->state == LIFE_HOOK_TODO) {
        h->state = LIFE_HOOK_RUNS;
        h->until_ms = sleep ? life_add(k->now_ms, life_seconds(sleep, "seconds", 0)) : INT64_MAX;
        if (!sleep) {
            h->id = ++l->last_id;
            life_action_of(k, LIFE_HOOK, c);
            k->ret->id = h->id;
            k->ret->spec = h->spec;
            k->ret->timeout_ms = timeout_ms;
            return true;
        }
    }
    if (h->state == LIFE_HOOK_RUNS && h->until_ms < INT64_MAX && life_is_due(k, h->until_ms))
        h->state = LIFE_HOOK_DONE;
    return false;
}

static void post_over(struct life *l, struct life_con *c, bool is_ok, int64_t now_ms)
{
    c->post.state = LIFE_HOOK_DONE;
    c->post.id = 0;
    if (!is_ok) {
        life_warn(l, c, STR("FailedPostStartHook"), "PostStartHook failed");
        life_con_stop(l, c, life_spec_grace(l), now_ms, STR("FailedPostStartHook"));
    }
    life_check_init(c);
    l->is_changed = true;
}

bool life_post_step(struct life *l, struct life_con *c, struct life_pass *k)
{
    if (c->state != LIFE_CON_RUNNING || life_con_is_up(c))
        return false;
    if (life_hook_step(l, c, &c->post, LIFE_HOOK_MS, k))
        return true;
    if (c->post.state == LIFE_HOOK_DONE) {
        post_over(l, c, true, k->now_ms);
        life_settle(l, k->now_ms);
    }
    return false;
}

static void pre_over(struct life *l, struct life_con *c, bool is_ok)
{
    c->pre.state = LIFE_HOOK_DONE;
    c->pre.id = 0;
    if (!is_ok)
        life_warn(l, c, STR("FailedPreStopHook"), "PreStopHook failed");
}

static bool con_result(struct life *l, struct life_con *c, const struct life_result *r, int64_t now_ms)
{
    if (c->post.id == r->id)
        post_over(l, c, r->is_ok, now_ms);
    else if (c->pre.id == r->id)
        pre_over(l, c, r->is_ok);
    else
        return life_probe_result(l, c, r, now_ms);
    return true;
}

void life_result(struct life *l, uint64_t id, bool is_ok, struct str message, int64_t now_ms)
{
    const struct life_result result = { id, is_ok, message };

    if (!id)
        return;
    VEC_FOREACH(c, &l->cons)
        if (con_result(l, c, &result, now_ms))
            break; /* an unknown id belongs to an ended attempt */
    life_settle(l, now_ms);
}
