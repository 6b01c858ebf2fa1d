/* life_status.c - the status of the pod, as the kubelet writes it */
#include "node/lifecycle/life_internal.h"

#include "base/clock.h"

static void life_status_add_text(struct arena *a, struct json *j, const char *key, struct str text)
{
    json_add(j, str_of(key), json_str(a, arena_str(a, text)));
}

static void add_nonempty(struct arena *a, struct json *j, const char *key, struct str text)
{
    if (text.n)
        life_status_add_text(a, j, key, text);
}

static void life_status_add_time(struct arena *a, struct json *j, const char *key, int64_t ms)
{
    autobuf text = { 0 };

    clock_print(&text, ms);
    life_status_add_text(a, j, key, buf_view(&text));
}

static struct json *life_status_add_object(struct arena *a, struct json *j, const char *key)
{
    return json_add(j, str_of(key), json_object(a));
}

/* The generation of the pod object; pods of an older server have none. */
static void add_generation(const struct life *l, struct arena *a, struct json *j)
{
    int64_t generation = life_generation(l->pod);

    if (generation > 0)
        json_add(j, STR("observedGeneration"), json_int(a, generation));
}

/* ---- container states ---- */

static void life_status_add_waiting(const struct life *l, struct arena *a, const struct life_con *c, struct json *state)
{
    struct json *j = life_status_add_object(a, state, "waiting");
    struct str plain = l->inits.n ? STR("PodInitializing") : STR("ContainerCreating");
    const struct buf *reason = c->wait_reason.n ? &c->wait_reason : &l->make_reason;

    life_status_add_text(a, j, "reason", reason->n ? buf_view(reason) : plain);
    add_nonempty(a, j, "message", c->wait_reason.n ? buf_view(&c->wait_message) : buf_view(&l->make_message));
}

static void add_ended(struct arena *a, const struct life_past *p, struct json *state)
{
    struct json *j = life_status_add_object(a, state, "terminated");

    json_add(j, STR("exitCode"), json_int(a, p->exit_code));
    if (p->signo)
        json_add(j, STR("signal"), json_int(a, p->signo));
    life_status_add_text(a, j, "reason", str_of(p->reason));
    add_nonempty(a, j, "message", buf_view(&p->message));
    life_status_add_time(a, j, "startedAt", p->started_ms);
    life_status_add_time(a, j, "finishedAt", p->finished_ms);
    add_nonempty(a, j, "containerID", buf_view(&p->id));
}

static void add_unknown(struct arena *a, struct json *state)
{
    struct json *j = life_status_add_object(a, state, "terminated");

    json_add(j, STR("exitCode"), json_int(a, 137));
    life_status_add_text(a, j, "reason", STR("ContainerStatusUnknown"));
    life_status_add_text(a, j, "message", STR("The container could not be located when the pod was terminated"));
}

static void add_state(const struct life *l, struct arena *a, const struct life_con *c, struct json *one)
{
    struct json *state = life_status_add_object(a, one, "state"), *last;
    enum life_shown shown = life_shown(l, c);

    if (shown == LIFE_SHOWS_RUNNING)
        life_status_add_time(a, life_status_add_object(a, state, "running"), "startedAt", c->started_ms);
    else if (shown == LIFE_SHOWS_WAITING)
        life_status_add_waiting(l, a, c, state);
    else if (c->is_unknown)
        add_unknown(a, state);
    else
        add_ended(a, &c->last, state);
    last = life_status_add_object(a, one, "lastState");
    if (life_shows_last(l, c) ? c->last.is_set : c->before.is_set)
        add_ended(a, life_shows_last(l, c) ? &c->last : &c->before, last);
}

/* The amounts in force. */
static void life_status_add_amounts(struct arena *a, const struct life_con *c, struct json *one)
{
    const struct json *requests = json_get(c->resources, "requests"), *limits = json_get(c->resources, "limits");
    struct json *resources;

    if (!json_count(requests) && !json_count(limits))
        return;
    if (json_count(requests))
        json_add(one, STR("allocatedResources"), json_copy(a, requests));
    resources = life_status_add_object(a, one, "resources");
    if (json_count(limits))
        json_add(resources, STR("limits"), json_copy(a, limits));
    if (json_count(requests))
        json_add(resources, STR("requests"), json_copy(a, requests));
}

static void life_status_add_container(const struct life *l, struct arena *a, const struct life_con *c, struct json *one)
{
    life_status_add_text(a, one, "name", c->name);
    add_state(l, a, c, one);
    json_add(one, STR("ready"), json_bool_new(a, life_shows_ready(l, c)));
    json_add(one, STR("restartCount"), json_int(a, MAX_OF(c->n_attempts - 1, 0)));
    life_status_add_text(a, one, "image", json_member_text(c->spec, "image"));
    life_status_add_text(a, one, "imageID", buf_view(&c->image_id));
    add_nonempty(a, one, "containerID", life_con_is_up(c) ? buf_view(&c->id) : buf_view(&c->last.id));
    life_status_add_amounts(a, c, one);
    if (!c->is_ephemeral)
        json_add(one, STR("started"), json_bool_new(a, life_con_is_started(c)));
}

static void life_status_add_containers(const struct life *l, struct arena *a, struct json *status)
{
    static const char *const lists[] = { "initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses" };
    struct json *list = NULL;

    VEC_FOREACH(c, &l->cons) { /* in this order */
        const char *name = lists[c->is_init ? 0 : c->is_ephemeral ? 2 : 1];

        if (!list || !str_is(json_key(list), name))
            list = json_add(status, str_of(name), json_array(a));
        life_status_add_container(l, a, c, json_push(list, json_object(a)));
    }
}

/* ---- conditions ---- */

static bool life_status_is_ours(struct str type)
{
    for (size_t i = 0; i < LIFE_COND_MAX; i++)
        if (str_is(type, life_condition_names[i]))
            return true;
    return str_is(type, LIFE_RESIZE_PENDING) || str_is(type, LIFE_RESIZE_IN_PROGRESS);
}

static void add_resize(const struct life *l, struct arena *a, struct json *list)
{
    const char *reason, *type = life_resize_condition(l, &reason);
    struct json *one = type ? json_push(list, json_object(a)) : NULL;

    if (!type)
        return;
    life_status_add_text(a, one, "type", str_of(type));
    add_generation(l, a, one);
    life_status_add_text(a, one, "status", STR("True"));
    life_status_add_time(a, one, "lastTransitionTime", l->resize.since_ms);
    add_nonempty(a, one, "reason", str_of(reason));
    if (reason)
        add_nonempty(a, one, "message", buf_view(&l->resize.why));
}

static void life_status_add_condition(const struct life *l, struct arena *a, struct json *list,
                                      enum life_condition_type type)
{
    const struct life_condition *c = &l->conditions[type];
    struct json *one = json_push(list, json_object(a));

    life_status_add_text(a, one, "type", str_of(life_condition_names[type]));
    add_generation(l, a, one);
    life_status_add_text(a, one, "status", c->is_true ? STR("True") : STR("False"));
    life_status_add_time(a, one, "lastTransitionTime", c->since_ms);
    add_nonempty(a, one, "reason", str_of(c->reason));
    add_nonempty(a, one, "message", buf_view(&c->message));
}

static void life_status_add_conditions(const struct life *l, struct arena *a, struct json *status)
{
    struct json *list = json_add(status, STR("conditions"), json_array(a));

    JSON_FOREACH(c, json_find(l->pod->root, "status", "conditions", NULL))
        if (!life_status_is_ours(json_member_text(c, "type")))
            json_push(list, json_copy(a, c));
    for (enum life_condition_type i = 0; i < LIFE_COND_MAX; i++)
        life_status_add_condition(l, a, list, i);
    add_resize(l, a, list);
}

/* ---- the whole ---- */

static void life_status_add_address(struct arena *a, struct json *status, const char *one, const char *many,
                                    struct str ip)
{
    if (!ip.n)
        return;
    life_status_add_text(a, status, one, ip);
    life_status_add_text(a, json_push(json_add(status, str_of(many), json_array(a)), json_object(a)), "ip", ip);
}

/* Members that the node does not write belong to other writers. A nomination is obsolete once the pod has a node. */
static void keep_others(const struct life *l, struct arena *a, struct json *status)
{
    static const char *const ours[] = { "observedGeneration",
                                        "phase",
                                        "conditions",
                                        "message",
                                        "reason",
                                        "hostIP",
                                        "hostIPs",
                                        "podIP",
                                        "podIPs",
                                        "startTime",
                                        "qosClass",
                                        "containerStatuses",
                                        "initContainerStatuses",
                                        "ephemeralContainerStatuses",
                                        "nominatedNodeName" };

    JSON_FOREACH(m, json_get(l->pod->root, "status")) {
        bool is_kept = true;

        for (size_t i = 0; i < ARRAY_LEN(ours); i++)
            is_kept &= !str_is(json_key(m), ours[i]);
        if (is_kept)
            json_add(status, json_key(m), json_copy(a, m));
    }
}

struct json *life_status(struct life *l, struct arena *a)
{
    const struct json *old = json_get(l->pod->root, "status");
    struct json *status;

    l->is_changed = false;
    if (l->is_past)
        return json_is(old, JSON_OBJECT) ? json_copy(a, old) : json_object(a);
    status = json_object(a);
    add_generation(l, a, status);
    life_status_add_text(a, status, "phase", str_of(life_phase_names[l->phase]));
    life_status_add_conditions(l, a, status);
    if (l->has_ended) {
        add_nonempty(a, status, "message", buf_view(&l->stop.message));
        add_nonempty(a, status, "reason", buf_view(&l->stop.reason));
    }
    life_status_add_address(a, status, "hostIP", "hostIPs", buf_view(&l->host_ip));
    life_status_add_address(a, status, "podIP", "podIPs", buf_view(&l->pod_ip));
    life_status_add_time(a, status, "startTime", l->start_ms);
    life_status_add_containers(l, a, status);
    life_status_add_text(a, status, "qosClass", str_of(l->qos));
    keep_others(l, a, status);
    return status;
}

bool life_is_changed(struct life *l)
{
    return l->is_changed;
}

void life_touch(struct life *l)
{
    l->is_changed = true;
}

bool life_has_ended(const struct life *l)
{
    return l->has_ended;
}

bool life_is_ready(const struct life *l)
{
    return l->conditions[LIFE_COND_READY].is_true;
}
