/* life.c - the pod as a whole: creation, events of pod and sandbox, the next action */
#include "node/lifecycle/life_internal.h"

#include "api/pod/container.h"
#include "api/pod/qos.h"
#include "base/clock.h"

/* ---- small things ---- */

void life_set_text(struct buf *b, struct str text)
{
    size_t n = MIN_OF(text.n, LIFE_MESSAGE_MAX);

    while (n < text.n && n > 0 && (text.p[n] & 0xC0) == 0x80) /* not within a UTF-8 character */
        n--;
    buf_reset(b);
    if (n)
        buf_append(b, text.p, n);
}

int64_t life_seconds(const struct json *parent, const char *key, int64_t fallback_s)
{
    int64_t s = json_i64(json_get(parent, key), fallback_s);

    return MIN_OF(MAX_OF(s, 0), INT64_MAX / 1000) * 1000;
}

int64_t life_spec_grace(const struct life *l)
{
    const struct json *spec = json_get(l->pod->root, "spec");

    if (json_i64(json_get(spec, "terminationGracePeriodSeconds"), 0) <
        0) /* the API server treats negative values as 1 s */
        return 1000;
    return life_seconds(spec, "terminationGracePeriodSeconds", LIFE_GRACE_S);
}

struct str life_pod_text(const struct life *l, struct arena *a)
{
    return arena_fmt(a, "%.*s_%.*s(%.*s)", STR_ARG(l->pod->name), STR_ARG(l->pod->namespace), STR_ARG(l->pod->uid));
}

int64_t life_generation(const struct object *pod)
{
    return json_i64(json_find(pod->root, "metadata", "generation", NULL), 0);
}

static bool life_is_deleted(const struct life *l)
{
    return json_member_text(json_get(l->pod->root, "metadata"), "deletionTimestamp").n > 0;
}

/* ---- a new life ---- */

/* May move the array of containers. */
static void life_add_container(struct life *l, const struct object *pod, const struct json *spec, const char *list)
{
    l->cons.v = xrealloc(l->cons.v, (l->cons.n + 1) * sizeof(*l->cons.v));
    memset(&l->cons.v[l->cons.n], 0, sizeof(*l->cons.v));
    life_con_init(&l->cons.v[l->cons.n++], pod, spec, list);
    l->inits.v = l->cons.v;
    l->mains.v = l->cons.v + l->inits.n;
}

static void make_containers(struct life *l)
{
    const struct json *spec = json_get(l->first->root, "spec");

    l->cons.v = l->inits.v = l->mains.v = xcalloc(1, sizeof(*l->cons.v)); /* never NULL */
    l->inits.n = json_count(json_get(spec, container_lists[0]));
    l->mains.n = json_count(json_get(spec, container_lists[1]));
    for (size_t i = 0; i < CONTAINER_LISTS; i++)
        JSON_FOREACH(c, json_get(spec, container_lists[i]))
            life_add_container(l, l->first, c, container_lists[i]);
}

/* Conditions in the status keep their lastTransitionTime. */
static void take_conditions(struct life *l)
{
    JSON_FOREACH(old, json_find(l->pod->root, "status", "conditions", NULL)) {
        for (size_t i = 0; i < LIFE_COND_MAX; i++) {
            struct life_condition *c = &l->conditions[i];

            if (!str_is(json_member_text(old, "type"), life_condition_names[i]))
                continue;
            c->is_true = str_is(json_member_text(old, "status"), "True");
            c->is_known = clock_parse(json_member_text(old, "lastTransitionTime"), &c->since_ms, NULL) == 0;
        }
    }
}

static bool phase_has_ended(const struct object *pod, enum life_phase *ret)
{
    struct str text = json_member_text(json_get(pod->root, "status"), "phase");

    *ret = str_is(text, life_phase_names[LIFE_SUCCEEDED]) ? LIFE_SUCCEEDED : LIFE_FAILED;
    return str_is(text, life_phase_names[*ret]);
}

static void take_deletion(struct life *l, int64_t now_ms)
{
    const struct json *meta = json_get(l->pod->root, "metadata");

    if (life_is_deleted(l))
        life_begin_stop(l, life_seconds(meta, "deletionGracePeriodSeconds", life_spec_grace(l) / 1000), now_ms);
}

static bool was_anything_started(const struct life *l)
{
    VEC_FOREACH(c, &l->cons)
        if (c->n_attempts && !c->is_ephemeral)
            return true;
    return false;
}

/* All processes are lost: start over, with what the status remembers. */
static void life_start_over(struct life *l, int64_t now_ms)
{
    if (l->policy == LIFE_NEVER && was_anything_started(l))
        life_begin_stop(l, 0, now_ms);
    else if (!l->stop.is_on)
        VEC_FOREACH(c, &l->cons)
            life_con_again(c, now_ms);
}

static const struct json *life_status_of(const struct life *l, const struct life_con *c)
{
    const char *list = c->is_ephemeral ? "ephemeralContainerStatuses"
                       : c->is_init    ? "initContainerStatuses"
                                       : "containerStatuses";

    JSON_FOREACH(old, json_find(l->pod->root, "status", list, NULL))
        if (str_eq(json_member_text(old, "name"), c->name))
            return old;
    return NULL;
}

static void take_containers(struct life *l, int64_t now_ms)
{
    VEC_FOREACH(c, &l->cons)
        life_con_take(l, c, life_status_of(l, c), now_ms);
    if (was_anything_started(l))
        life_start_over(l, now_ms);
}

static void take_amounts(struct life *l)
{
    VEC_FOREACH(c, &l->cons)
        life_resize_take(l, c, life_status_of(l, c));
}

/* Set up everything but the state of its containers; for a pod that has ended this is all. */
static struct life *life_begin(const struct object *pod, int64_t now_ms)
{
    struct life *l = xcalloc(1, sizeof(*l));
    const struct json *spec = json_get(pod->root, "spec");
    struct str policy = json_member_text(spec, "restartPolicy");
    enum life_phase phase;

    l->first = object_ref(pod);
    l->pod = object_ref(pod);
    list_init(&l->events);
    l->policy = str_is(policy, "Never") ? LIFE_NEVER : str_is(policy, "OnFailure") ? LIFE_ON_FAILURE : LIFE_ALWAYS;
    if (clock_parse(json_member_text(json_get(pod->root, "status"), "startTime"), &l->start_ms, NULL) < 0)
        l->start_ms = now_ms;
    l->qos = pod_qos(spec);
    l->make_ms = l->due_ms = now_ms;
    make_containers(l);
    if (phase_has_ended(pod, &phase)) {
        l->is_past = l->has_ended = l->stop.is_on = true;
        l->phase = phase;
        return l;
    }
    take_conditions(l);
    l->is_changed = true;
    return l;
}

struct life *life_new(const struct object *pod, int64_t now_ms)
{
    struct life *l = life_begin(pod, now_ms);

    if (l->is_past)
        return l;
    take_amounts(l);
    take_containers(l, now_ms);
    take_deletion(l, now_ms);
    life_settle(l, now_ms);
    return l;
}

/* ---- adoption ---- */

static const struct life_found *found_of(const struct life_con *c, const struct life_found *cons, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(cons[i].name, c->name))
            return &cons[i];
    return NULL;
}

/* First take all as running, so that no decision is based on half of them; then report those that have ended. */
static void find_containers(struct life *l, const struct life_found *cons, size_t n, int64_t now_ms)
{
    VEC_FOREACH(c, &l->cons) {
        const struct life_found *f = found_of(c, cons, n);

        if (f) {
            life_con_found(l, c, life_status_of(l, c), f);
            continue;
        }
        life_con_take(l, c, life_status_of(l, c), now_ms);
        life_con_again(c, now_ms);
    }
    for (size_t i = 0; i < n; i++)
        if (cons[i].state == LIFE_FOUND_ENDED)
            life_ended(l, cons[i].name, cons[i].end, cons[i].ended_ms);
        else if (cons[i].state == LIFE_FOUND_FAILED)
            life_start_failed(l, cons[i].name, &cons[i].failure, cons[i].ended_ms);
}

struct life *life_adopt(const struct object *pod, const struct life_sandbox *sandbox, int64_t now_ms)
{
    struct life *l = life_begin(pod, now_ms);

    l->box = LIFE_BOX_MADE;
    life_set_text(&l->pod_ip, sandbox->pod_ip);
    life_set_text(&l->host_ip, sandbox->host_ip);
    if (l->is_past)
        return l; /* life_step() returns UNMAKE */
    take_amounts(l);
    find_containers(l, sandbox->cons, sandbox->n, now_ms);
    take_deletion(l, now_ms);
    life_settle(l, now_ms);
    return l;
}

void life_free(struct life *l)
{
    if (!l)
        return;
    VEC_FOREACH(c, &l->cons)
        life_con_done(c);
    free(l->cons.v);
    for (size_t i = 0; i < LIFE_COND_MAX; i++)
        buf_done(&l->conditions[i].message);
    buf_done(&l->make_reason);
    buf_done(&l->make_message);
    buf_done(&l->pod_ip);
    buf_done(&l->host_ip);
    buf_done(&l->resize.why);
    buf_done(&l->stop.reason);
    buf_done(&l->stop.message);
    life_events_done(l);
    object_unref(l->first);
    object_unref(l->pod);
    free(l);
}

/* ---- events of the pod object ---- */

static void set_end(struct life *l, enum life_phase phase, struct str reason, struct str message)
{
    l->stop.has_phase = true;
    l->stop.phase = phase;
    life_set_text(&l->stop.reason, reason);
    life_set_text(&l->stop.message, message);
}

/* Another writer set a final phase, as controllers do with pods of lost nodes: accept it. */
static void take_phase(struct life *l, int64_t now_ms)
{
    const struct json *status = json_get(l->pod->root, "status");
    enum life_phase phase;

    if (l->stop.is_on || !phase_has_ended(l->pod, &phase))
        return;
    set_end(l, phase, json_member_text(status, "reason"), json_member_text(status, "message"));
    life_begin_stop(l, life_spec_grace(l), now_ms);
}

static bool life_has_container(const struct life *l, struct str name)
{
    VEC_FOREACH(c, &l->cons)
        if (str_eq(c->name, name))
            return true;
    return false;
}

/* Ephemeral containers can only be added. */
static void take_ephemeral(struct life *l)
{
    const char *list = container_lists[2];

    if (l->is_past)
        return;
    JSON_FOREACH(c, json_find(l->pod->root, "spec", list, NULL)) {
        if (life_has_container(l, json_member_text(c, "name")))
            continue;
        life_add_container(l, l->pod, c, list);
        l->is_changed = true;
    }
}

void life_update(struct life *l, const struct object *pod, int64_t now_ms)
{
    struct object *old = l->pod;

    l->pod = object_ref(pod);
    l->is_changed |= life_generation(old) != life_generation(pod);
    object_unref(old);
    take_ephemeral(l);
    life_resize_update(l);
    take_phase(l, now_ms);
    take_deletion(l, now_ms);
    life_settle(l, now_ms);
}

void life_stop(struct life *l, int64_t grace_ms, struct str reason, struct str message, int64_t now_ms)
{
    if (l->has_ended)
        return;
    if (reason.n && !l->stop.has_phase && !life_is_finished(l))
        set_end(l, LIFE_FAILED, reason, message);
    life_begin_stop(l, grace_ms < 0 ? life_spec_grace(l) : grace_ms, now_ms);
    life_settle(l, now_ms);
}

/* ---- events of the sandbox ---- */

void life_made(struct life *l, struct str pod_ip, struct str host_ip, int64_t now_ms)
{
    if (l->box != LIFE_BOX_MAKING)
        return;
    l->box = LIFE_BOX_MADE;
    l->make_retry_ms = 0;
    if (!l->stop.keeps_waiting) {
        buf_reset(&l->make_reason);
        buf_reset(&l->make_message);
    }
    life_set_text(&l->pod_ip, pod_ip);
    life_set_text(&l->host_ip, host_ip);
    l->is_changed = true;
    life_settle(l, now_ms);
}

void life_delayed(struct life *l, struct str reason, struct str message)
{
    if (l->box != LIFE_BOX_MAKING || l->stop.is_on ||
        (str_eq(buf_view(&l->make_reason), reason) && str_eq(buf_view(&l->make_message), message)))
        return;
    life_warn(l, NULL, reason, "%.*s", STR_ARG(message));
    life_set_text(&l->make_reason, reason);
    life_set_text(&l->make_message, message);
    l->is_changed = true;
}

void life_failed(struct life *l, bool is_final, struct str reason, struct str message, int64_t now_ms)
{
    if (l->box != LIFE_BOX_MAKING)
        return;
    l->box = LIFE_BOX_NONE;
    l->make_retry_ms = l->make_retry_ms ? MIN_OF(l->make_retry_ms * 2, LIFE_RETRY_MAX_MS) : LIFE_RETRY_MS;
    l->make_ms = now_ms + l->make_retry_ms;
    life_warn(l, NULL, reason, "%.*s", STR_ARG(message));
    if (!l->stop.is_on) {
        life_set_text(&l->make_reason, reason);
        life_set_text(&l->make_message, message);
        l->is_changed = true;
        if (is_final) {
            set_end(l, LIFE_FAILED, reason, message);
            l->stop.keeps_waiting = true;
            life_begin_stop(l, 0, now_ms);
        }
    }
    life_settle(l, now_ms);
}

void life_retry(struct life *l, int64_t now_ms)
{
    if (l->box == LIFE_BOX_NONE && l->make_reason.n)
        l->make_ms = MIN_OF(l->make_ms, now_ms);
    VEC_FOREACH(c, &l->cons)
        if (c->retry_ms)
            c->start_ms = MIN_OF(c->start_ms, now_ms);
    l->due_ms = MIN_OF(l->due_ms, now_ms);
}

void life_unmade(struct life *l, int64_t now_ms)
{
    if (l->box != LIFE_BOX_UNMAKING)
        return;
    l->box = LIFE_BOX_NONE;
    l->is_broken = false;
    l->make_ms = now_ms + LIFE_RETRY_MS; /* if another one is needed */
    life_settle(l, now_ms);
}

void life_lost(struct life *l, struct str message, int64_t now_ms)
{
    if (l->box == LIFE_BOX_MAKING)
        life_failed(l, false, STR("FailedCreatePodSandBox"), message, now_ms);
    if (l->box != LIFE_BOX_MADE || l->is_broken)
        return;
    l->is_broken = true;
    VEC_FOREACH(c, &l->cons)
        if (life_con_is_active(c))
            life_con_killed(l, c, message, now_ms);
    life_start_over(l, now_ms);
    l->is_changed = true;
    life_settle(l, now_ms);
}

/* ---- the next action ---- */

static void check_deadline(struct life *l, struct life_pass *k)
{
    static const char *const words = "Pod was active on the node longer than the specified deadline";
    int64_t limit_ms = life_seconds(json_get(l->pod->root, "spec"), "activeDeadlineSeconds", 0);

    if (l->stop.is_on || limit_ms == 0 || !life_is_due(k, life_add(l->start_ms, limit_ms)))
        return;
    life_say(l, NULL, STR("DeadlineExceeded"), "%s", words);
    life_stop(l, -1, STR("DeadlineExceeded"), str_of(words), k->now_ms);
}

static bool life_act(struct life_pass *k, enum life_action_kind kind)
{
    *k->ret = (struct life_action){ .kind = kind };
    return true;
}

static bool box_step(struct life *l, struct life_pass *k)
{
    if (l->box == LIFE_BOX_NONE && !l->stop.is_on && life_is_due(k, l->make_ms)) {
        l->box = LIFE_BOX_MAKING;
        return life_act(k, LIFE_MAKE);
    }
    if (l->box == LIFE_BOX_MADE && (l->has_ended || l->is_broken)) {
        l->box = LIFE_BOX_UNMAKING;
        return life_act(k, LIFE_UNMAKE);
    }
    if (l->box == LIFE_BOX_NONE && l->has_ended && life_is_deleted(l) && !l->said_gone) {
        l->said_gone = true;
        return life_act(k, LIFE_GONE);
    }
    return false;
}

static bool life_walk(struct life *l, struct life_pass *k)
{
    check_deadline(l, k);
    if (box_step(l, k))
        return true;
    VEC_FOREACH(c, &l->cons)
        if (life_post_step(l, c, k) || life_stop_step(l, c, k))
            return true;
    if (life_start_step(l, k))
        return true;
    VEC_FOREACH(c, &l->cons)
        if (life_probe_step(l, c, k))
            return true;
    return false;
}

bool life_step(struct life *l, int64_t now_ms, struct life_action *ret)
{
    struct life_pass k = { .now_ms = now_ms, .due_ms = INT64_MAX, .ret = ret };
    bool did;

    *ret = (struct life_action){ .kind = LIFE_NOTHING };
    did = life_walk(l, &k);
    l->due_ms = did ? now_ms : k.due_ms;
    return did;
}

bool life_is_stopping(const struct life *l)
{
    return l->stop.is_on;
}

int64_t life_due_ms(const struct life *l)
{
    return l->due_ms;
}
