/* node.c - hollow nodes: bound pods start, run, restart, end or hang, are evicted, and go when they were asked to */
#include "world.h"

#include "api/meta.h"

#include <inttypes.h>

static struct sim_pod *live_pod(struct world *w, const char *uid)
{
    struct sim_pod *pod = map_get(&w->pods, str_of(uid));

    return pod && !pod->is_gone ? pod : NULL;
}

static bool is_dead(struct world *w, const struct sim_pod *pod)
{
    return !w->is_calm && pod->node >= 0 && w->nodes[pod->node].is_dead && w->nodes[pod->node].back_ms > world_ms(w);
}

/* The pod's status as its node sees it. */
static void report(struct world *w, struct sim_pod *pod, const char *phase, bool is_ready, int exit_code)
{
    autoarena a = { 0 };
    struct str state;

    if (str_is(str_of(phase), "Running"))
        state = STR("\"running\":{\"startedAt\":\"2026-01-01T00:00:00Z\"}");
    else
        state = arena_fmt(&a, "\"terminated\":{\"exitCode\":%d,\"finishedAt\":\"2026-01-01T00:00:00Z\"}", exit_code);
    /* A status is the node's alone, so a patch of its part of the object is what a kubelet does. */
    autobuf text = { 0 };
    struct json *body, *status;
    struct err e = { 0 };
    const struct object *o = world_get(w, KIND_POD, str_of(pod->name));

    buf_fmt(&text,
            "{\"phase\":\"%s\",\"containerStatuses\":[{\"name\":\"main\",\"ready\":%s,\"restartCount\":%" PRId64
            ",\"image\":\"i\",\"imageID\":\"i\",\"state\":{%.*s}}]}",
            phase, is_ready ? "true" : "false", pod->restarts, STR_ARG(state));
    if (!o || json_parse(&a, buf_view(&text), NULL, &status, &e) < 0) {
        world_break(w, "the simulation's own pod status: %s", e.text);
        return;
    }
    body = json_copy(&a, o->root);
    if (json_find(o->root, "status", "conditions", NULL))
        json_set(status, "conditions", json_copy(&a, json_find(o->root, "status", "conditions", NULL)));
    json_set(body, "status", status);
    (void)world_update(w, "node", body, STORE_STATUS); /* reported as broken inside */
}

static struct fate random_fate(struct world *w)
{
    struct fate f = { .after_ms = world_between(w, 1, world_chance(w, 50) ? 5 * SECOND_MS : 2 * MINUTE_MS) };
    int64_t dice = world_between(w, 0, 99);

    if (dice < 45) {
        f.how = FATE_SUCCEED;
    } else if (dice < 70) {
        f.how = FATE_FAIL;
        f.exit_code = world_chance(w, 30) ? 3 : (int)world_between(w, 1, 140);
    } else if (dice < 85) {
        f.how = FATE_RESTART;
    } else {
        f.how = w->is_calm && w->all_ends ? FATE_SUCCEED : FATE_HANG;
    }
    return f;
}

static struct fate pod_fate(struct world *w, const struct sim_pod *pod)
{
    return w->is_scripted ? w->script(w, pod) : random_fate(w);
}

static void start(struct world *w, struct sim_pod *pod)
{
    report(w, pod, "Running", world_chance(w, 90) || w->is_scripted || w->is_calm, 0);
    if (!world_is_broken(w))
        world_timer(w, TIMER_END, str_of(pod->uid), 1 + pod_fate(w, pod).after_ms);
}

static void end(struct world *w, struct sim_pod *pod)
{
    struct fate f = pod_fate(w, pod);

    if (!str_is(str_of(pod->phase), "Running"))
        return;
    switch (f.how) {
    case FATE_SUCCEED:
        report(w, pod, "Succeeded", false, 0);
        break;
    case FATE_FAIL:
        report(w, pod, "Failed", false, f.exit_code);
        break;
    case FATE_RESTART:
        pod->restarts++;
        report(w, pod, "Running", true, 0);
        world_timer(w, TIMER_END, str_of(pod->uid), 1 + f.after_ms);
        break;
    case FATE_HANG:
        break;
    }
}

void node_timer(struct world *w, const struct timer *t)
{
    struct sim_pod *pod = live_pod(w, t->uid);

    if (!pod)
        return;
    if (is_dead(w, pod)) { /* when the node is back it goes on */
        world_timer(w, t->kind, str_of(t->uid), 1 + w->nodes[pod->node].back_ms - world_ms(w));
        return;
    }
    if (t->kind == TIMER_CONFIRM)
        (void)world_delete(w, "node", KIND_POD, str_of(pod->name), 0, PROPAGATE_BACKGROUND); /* gone already is fine */
    else if (pod->is_deleting)
        return;
    else if (t->kind == TIMER_START)
        start(w, pod);
    else
        end(w, pod);
}

void node_pod_changed(struct world *w, struct sim_pod *pod)
{
    if (pod->is_gone)
        return;
    if (pod->is_bound && !pod->is_started && !pod->is_deleting) {
        pod->is_started = true;
        if (w->profile.has_placer)
            pod->node = (int)world_between(w, 0, w->n_nodes - 1);
        if (pod->node < 0 || (!w->profile.has_placer && !w->nodes[pod->node].exists)) { /* nobody runs it */
            world_timer(w, TIMER_CONFIRM, str_of(pod->uid), 40 * SECOND_MS);
            return;
        }
        world_timer(w, TIMER_START, str_of(pod->uid), w->is_scripted ? 500 : world_between(w, 1, 5 * SECOND_MS));
    }
    if (pod->is_deleting && !pod->is_ending) {
        pod->is_ending = true;
        world_timer(w, TIMER_CONFIRM, str_of(pod->uid),
                    w->is_scripted ? 700 : world_between(w, 1, world_chance(w, 70) ? 2 * SECOND_MS : 40 * SECOND_MS));
    }
}

/* ---- what befalls pods and nodes ---- */

static int by_name(const void *x, const void *y)
{
    return strcmp((*(struct sim_pod *const *)x)->name, (*(struct sim_pod *const *)y)->name);
}

static struct sim_pod *random_pod(struct world *w, const char *phase)
{
    struct sim_pod *found = NULL;
    int64_t n = 0;

    MAP_FOREACH(struct sim_pod *, pod, &w->pods)
        if (!pod->is_gone && !pod->is_deleting && (!phase || str_is(str_of(pod->phase), phase)) &&
            world_between(w, 0, n++) == 0)
            found = pod;
    return found;
}

/* As an eviction does it: the condition first, then a graceful delete; some pods fail while they go (B7). */
static void evict(struct world *w)
{
    struct sim_pod *pod = random_pod(w, world_chance(w, 70) ? "Running" : NULL);
    autoarena a = { 0 };
    const struct object *o = pod ? world_get(w, KIND_POD, str_of(pod->name)) : NULL;
    struct json *body, *c;

    if (!o)
        return;
    if (world_chance(w, 60)) {
        body = json_copy(&a, o->root);
        c = json_push(json_need_array(&a, json_need_object(&a, body, "status"), "conditions"), json_object(&a));
        json_set(c, "type", json_str(&a, STR("DisruptionTarget")));
        json_set(c, "status", json_str(&a, STR("True")));
        (void)world_update(w, "evictor", body, STORE_STATUS); /* reported as broken inside */
    }
    (void)world_delete(w, "evictor", KIND_POD, str_of(pod->name), world_chance(w, 20) ? 0 : -1,
                       PROPAGATE_BACKGROUND); /* may be gone */
    if (!pod->is_gone && pod->is_deleting && str_is(str_of(pod->phase), "Running") && world_chance(w, 40))
        report(w, pod, "Failed", false, 143);
}

static void delete_succeeded(struct world *w)
{
    struct sim_pod *pod = random_pod(w, "Succeeded");

    if (pod)
        (void)world_delete(w, "user", KIND_POD, str_of(pod->name), -1, PROPAGATE_BACKGROUND); /* may be gone */
}

static void kill_node(struct world *w)
{
    int i = (int)world_between(w, 0, w->n_nodes - 1);

    w->nodes[i].is_dead = true;
    w->nodes[i].back_ms = world_ms(w) + world_between(w, SECOND_MS, 20 * MINUTE_MS);
    world_log(w, "node", "node %d dies", i);
}

static void revive_nodes(struct world *w)
{
    for (int i = 0; i < w->n_nodes; i++)
        if (w->nodes[i].is_dead && w->nodes[i].back_ms <= world_ms(w)) {
            w->nodes[i].is_dead = false;
            world_log(w, "node", "node %d is back", i);
        }
}

static void pod_now(struct world *w)
{
    struct sim_pod *pod = random_pod(w, "Running");

    if (pod && !is_dead(w, pod))
        end(w, pod);
}

/* Pods that hang end after all, so that whatever waits for their room gets it. */
void node_calm(struct world *w)
{
    autofree struct sim_pod **v = xcalloc(map_count(&w->pods) + 1, sizeof(*v));
    size_t n = 0;

    MAP_FOREACH(struct sim_pod *, pod, &w->pods)
        if (w->all_ends && !pod->is_gone && str_is(str_of(pod->phase), "Running"))
            v[n++] = pod;
    if (n)
        qsort(v, n, sizeof(*v), by_name);
    for (size_t i = 0; i < n; i++)
        world_timer(w, TIMER_END, str_of(v[i]->uid), world_between(w, 1, MINUTE_MS));
}

void node_step(struct world *w)
{
    revive_nodes(w);
    if (world_chance(w, w->profile.node_death))
        kill_node(w);
    else if (world_chance(w, w->profile.evict))
        evict(w);
    else if (world_chance(w, 20))
        delete_succeeded(w);
    else
        pod_now(w);
}
