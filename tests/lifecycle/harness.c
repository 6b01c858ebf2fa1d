/* harness.c - the small cluster behind the checklist: controllers, time, the fake scheduler and kubelet */
#include "harness_internal.h"

#include "plugin/plugin.h"

/* ---- controllers ---- */

/* Not real keys, but each another one, so that a test sees when they are made anew. */
int h_fake_keys(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e)
{
    struct h *h = ctx;

    (void)e;
    h->n_keys++;
    ret->private_pem = arena_fmt(a, "-----BEGIN TEST KEY-----\n%s %u\n-----END TEST KEY-----\n", type, h->n_keys);
    ret->public_line = arena_fmt(a, "ssh-%s KEY%u\n", type, h->n_keys);
    return 0;
}

void h_start(struct h *h, size_t i)
{
    struct driver_options opt = { .seed = 7, .make_keys = h_fake_keys, .keys_ctx = h };
    struct h_controller *c = &h->controllers[i];

    assert_null(c->driver);
    opt.collects_garbage = !h->has_no_gc;
    c->door = h_door_new(h);
    c->driver = driver_new(&c->door->cluster, &opt);
}

void h_stop(struct h *h, size_t i)
{
    struct h_controller *c = &h->controllers[i];

    driver_free(c->driver);
    if (c->door)
        cluster_free(&c->door->cluster);
    *c = (struct h_controller){ 0 };
}

void h_restart_controller(struct h *h)
{
    h_stop(h, 0);
    h_start(h, 0);
    h_run(h);
}

static struct h *cluster_new(bool has_no_gc)
{
    static const char *const queues[] = { "root", "default" };
    struct h *h = xcalloc(1, sizeof(*h));

    clock_manual_init(&h->clock, INT64_C(1772357400000)); /* 2026-03-01T09:30:00Z */
    h->base = getenv("LIFECYCLE_KUBE") ? &h_base_kube : &h_base_store;
    h->base->open(h);
    h->has_no_gc = has_no_gc;
    for (size_t i = 0; i < ARRAY_LEN(queues); i++) {
        struct str text = arena_fmt(&h->arena,
                                    "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: %s}, "
                                    "spec: {weight: 1}}",
                                    queues[i]);

        if (!h_exists(h, arena_fmt(&h->arena, "queue/%s", queues[i]).p)) /* a real cluster has had them before */
            h_create(h, text.p);
        h_set_status(h, arena_fmt(&h->arena, "queue/%s", queues[i]).p, "{state: Open}");
    }
    h_start(h, 0);
    h_run(h);
    return h;
}

struct h *h_new(void)
{
    return cluster_new(false);
}

struct h *h_new_without_gc(void)
{
    return cluster_new(true);
}

void h_free(struct h *h)
{
    if (!h)
        return;
    for (size_t i = 0; i < H_CONTROLLERS; i++)
        h_stop(h, i);
    h->base->close(h);
    arena_done(&h->arena);
    free(h);
}

static void add_fault(struct h *h, struct h_fault fault)
{
    assert_true(h->n_faults < H_FAULTS);
    h->faults[h->n_faults++] = fault;
}

void h_fail_next_writes(struct h *h, enum op_kind kind, const char *type, enum err_code code, unsigned n,
                        const char *text)
{
    add_fault(h, (struct h_fault){ .kind = kind, .type = h_type(type), .code = code, .text = text, .n = n });
}

void h_lose_next_answers(struct h *h, enum op_kind kind, const char *type, unsigned n)
{
    struct h_fault fault = { .kind = kind, .type = h_type(type), .code = ERR_IO, .text = "no answer", .n = n };

    fault.takes_effect = true;
    add_fault(h, fault);
}

void h_no_more_failures(struct h *h)
{
    h->n_faults = 0;
}

/* ---- the fakes ---- */

static void phase_each(void *ctx, const struct object *o)
{
    struct h_list *l = ctx;
    struct str phase = json_text(json_find(o->root, "status", "phase", NULL), STR_NULL);

    if ((str_empty(phase) || str_is(phase, "Pending")) && !h_is_deleting(o->root))
        *vec_push(&l->h->arena, &l->names) = h_keep(l->h, o->name);
}

static void deleting_each(void *ctx, const struct object *o)
{
    struct h_list *l = ctx;

    if (h_is_deleting(o->root))
        *vec_push(&l->h->arena, &l->names) = h_keep(l->h, o->name);
}

static void set_group_phase(struct h *h, const char *what, const char *phase)
{
    struct json *tree = h_copy(h, h_must_find(h, what));

    json_set(json_need_object(&h->arena, tree, "status"), "phase", json_str(&h->arena, str_of(phase)));
    h_update(h, what, tree, OP_UPDATE);
}

static struct json *containers_of(struct h *h, const struct json *pod, const char *phase, int exit_code)
{
    struct arena *a = &h->arena;
    struct json *list = json_array(a);

    JSON_FOREACH(c, json_find(pod, "spec", "containers", NULL)) {
        struct json *item = json_push(list, json_object(a)), *state = json_object(a);

        json_add(item, STR("name"), json_str(a, arena_str(a, json_member_text(c, "name"))));
        json_add(item, STR("ready"), json_bool_new(a, strcmp(phase, "Running") == 0));
        json_add(item, STR("restartCount"), json_int(a, 0));
        json_add(item, STR("state"), state);
        if (strcmp(phase, "Running") == 0)
            json_add(state, STR("running"), json_object(a));
        else if (strcmp(phase, "Pending") == 0)
            json_add(state, STR("waiting"), json_object(a));
        else
            json_add(json_add(state, STR("terminated"), json_object(a)), STR("exitCode"), json_int(a, exit_code));
    }
    return list;
}

/* A pod that runs has a node; without one a delete takes it away at once. */
static void bind_pod(struct h *h, const char *what)
{
    struct plan plan = { .arena = &h->arena };
    const struct object *o = h_must_find(h, what);

    if (json_member_text(json_get(o->root, "spec"), "nodeName").n)
        return;
    h_apply(h, what,
            plan_bind(&plan, str_of(h_keep(h, o->namespace)), str_of(h_keep(h, o->name)), STR_NULL, STR("n1")));
}

static void pod_phase(struct h *h, const char *pod, const char *phase, int exit_code)
{
    const char *what = arena_fmt(&h->arena, "pod/%s", pod).p;
    struct json *status = json_object(&h->arena);

    if (strcmp(phase, "Pending") != 0)
        bind_pod(h, what);
    json_add(status, STR("phase"), json_str(&h->arena, str_of(phase)));
    json_add(status, STR("containerStatuses"), containers_of(h, h_must_find(h, what)->root, phase, exit_code));
    h_put_status(h, what, status);
}

/* As a kubelet does when the last container has ended. A real server may have removed it by itself. */
static void end_pod(struct h *h, const char *name)
{
    struct op op = { .kind = OP_DELETE, .type = h_type("pods"), .namespace = h->namespace, .name = str_of(name) };
    struct err e = { 0 };

    if (h->base->apply(h, &op, NULL, &e) < 0 && e.code != ERR_NOT_FOUND)
        fail_msg("the end of pod %s: %s", name, e.text);
}

static bool fakes_step(struct h *h)
{
    struct h_list l = { .h = h };
    bool is_busy = false;

    if (h->admits_all) {
        h->base->list(h, h_type("podgroups"), phase_each, &l);
        for (size_t i = 0; i < l.names.n; i++)
            set_group_phase(h, arena_fmt(&h->arena, "pg/%s", l.names.v[i]).p, "Inqueue");
        is_busy |= l.names.n > 0;
        l.names.n = 0;
    }
    if (h->runs_all) {
        h->base->list(h, h_type("pods"), phase_each, &l);
        for (size_t i = 0; i < l.names.n; i++)
            pod_phase(h, l.names.v[i], "Running", 0);
        is_busy |= l.names.n > 0;
        l.names.n = 0;
    }
    if (!h->holds_pods) {
        h->base->list(h, h_type("pods"), deleting_each, &l);
        for (size_t i = 0; i < l.names.n; i++)
            end_pod(h, l.names.v[i]);
        is_busy |= l.names.n > 0;
    }
    return is_busy;
}

static bool drivers_turn(struct h *h, int64_t *ret_due)
{
    bool is_busy = false;

    *ret_due = INT64_MAX;
    for (size_t i = 0; i < H_CONTROLLERS; i++) {
        bool this_busy = false;
        int64_t due;

        if (!h->controllers[i].driver)
            continue;
        due = driver_turn(h->controllers[i].driver, &this_busy);
        *ret_due = MIN_OF(*ret_due, due);
        is_busy |= this_busy;
    }
    return is_busy;
}

static int64_t run(struct h *h)
{
    unsigned n = 0;
    int64_t due;

    while (drivers_turn(h, &due) || fakes_step(h) || h->base->wait(h))
        if (++n > 20000)
            fail_msg("the controllers do not come to rest in %u turns", n);
    return due;
}

void h_run(struct h *h)
{
    (void)run(h); /* what is due later waits for h_advance() */
}

void h_turns(struct h *h, size_t i, unsigned n)
{
    for (bool is_busy = true; n; n--) {
        (void)driver_turn(h->controllers[i].driver, &is_busy);
        if (!is_busy && !h->base->wait(h))
            return;
    }
}

void h_needs_store(void)
{
    if (getenv("LIFECYCLE_KUBE"))
        skip();
}

struct cluster *h_watch(struct h *h, const char *type)
{
    struct cluster *watch = h->base->door(h);
    struct cluster_event ev;

    cluster_want(watch, h_type(type));
    while (h_watch_next(h, watch, &ev))
        ;
    return watch;
}

bool h_watch_next(struct h *h, struct cluster *watch, struct cluster_event *ret)
{
    do
        if (cluster_next(watch, ret))
            return true;
    while (h->base->wait_for(h, watch));
    return false;
}

void h_watch_end(struct h *h, struct cluster *watch)
{
    h->base->shut(h, watch);
}

void h_advance(struct h *h, int64_t ms)
{
    int64_t end = clock_now_ms(&h->clock.clock) + ms;

    for (;;) {
        int64_t due = run(h), now = clock_now_ms(&h->clock.clock);

        if (now >= end)
            return;
        due = MIN_OF(MAX_OF(due, now + 1), end);
        clock_manual_advance(&h->clock, due - now);
    }
}

void h_group_phase(struct h *h, const char *job, const char *phase)
{
    set_group_phase(h, arena_fmt(&h->arena, "pg/%s", job).p, phase);
    h_run(h);
}

void h_admit(struct h *h, const char *job)
{
    h_group_phase(h, job, "Inqueue");
}

void h_pod_phase(struct h *h, const char *pod, const char *phase)
{
    pod_phase(h, pod, phase, strcmp(phase, "Failed") == 0);
    h_run(h);
}

void h_pod_fail(struct h *h, const char *pod, int exit_code)
{
    pod_phase(h, pod, "Failed", exit_code);
    h_run(h);
}

void h_pod_status(struct h *h, const char *pod, const char *yaml)
{
    const char *what = arena_fmt(&h->arena, "pod/%s", pod).p;

    bind_pod(h, what);
    h_set_status(h, what, yaml);
    h_run(h);
}

void h_pods_phase(struct h *h, const char *job, const char *phase)
{
    struct h_list l = h_list_pods(h, job, NULL, NULL, false);

    for (size_t i = 0; i < l.names.n; i++)
        pod_phase(h, l.names.v[i], phase, strcmp(phase, "Failed") == 0);
    h_run(h);
}

void h_evict(struct h *h, const char *pod, int64_t grace_s, int exit_code)
{
    const char *what = arena_fmt(&h->arena, "pod/%s", pod).p;
    bool was_held = h->holds_pods;

    if (grace_s > 0) {
        h->holds_pods = true;
        h_delete(h, what, grace_s);
        h_run(h);
        if (h_exists(h, what)) /* else it had no node */
            pod_phase(h, pod, exit_code ? "Failed" : "Succeeded", exit_code);
        h_run(h);
        h->holds_pods = was_held;
    }
    if (h_exists(h, what) && (grace_s == 0 || *h_get(h, what, "metadata.deletionTimestamp")))
        h_delete(h, what, 0);
    h_run(h);
}

void h_release(struct h *h)
{
    h->holds_pods = false;
    h_run(h);
}

void h_go(struct h *h, const char *job)
{
    h_admit(h, job);
    /* Twice: what depends on running pods comes later. */
    for (int i = 0; i < 2; i++) {
        struct h_list l = h_list_pods(h, job, NULL, "Pending", false);

        for (size_t k = 0; k < l.names.n; k++)
            pod_phase(h, l.names.v[k], "Running", 0);
        h_run(h);
    }
}
