/* agent_random.c - whatever happens on the machine and on the way to the cluster: afterwards all is as it should be
 *
 * From a seed: pods of a few names come and go, containers start, write, end and are killed, sandboxes are lost, all
 * that can fail fails for a while, and so does the cluster. Then the faults end and all pods are deleted. Nothing may
 * be left, neither in the cluster nor on the machine; the agent must never spin, and what it asks of the machine must
 * be possible (fake_host.h looks).
 *
 *     test_node_agent_random [SEED [COUNT]]
 */
#include "node/agent/test/agent_world.h"

#include <stdlib.h>

enum { STEPS = 150, NAMES = 5 };
static uint64_t seed = 1, n_seeds = 25;

static const char *const specs[] = {
    "{restartPolicy: Never, containers: [{name: c, image: app, command: [run]}, {name: d, image: app, command: "
    "[run]}]}",
    "{restartPolicy: OnFailure, initContainers: [{name: i, image: app, command: [run]}, {name: s, image: app, command: "
    "[run], restartPolicy: Always}], containers: [{name: c, image: app, command: [run]}]}",
    "{containers: [{name: c, image: app, command: [run], readinessProbe: {tcpSocket: {port: 1}, periodSeconds: 1}, "
    "livenessProbe: {exec: {command: [x]}, periodSeconds: 2, failureThreshold: 1}, "
    "lifecycle: {postStart: {exec: {command: [hi]}}, preStop: {exec: {command: [bye]}}}}]}",
    "{hostNetwork: true, activeDeadlineSeconds: 20, containers: [{name: c, image: app, command: [run]}]}",
    "{volumes: [{name: v, configMap: {name: m}}, {name: e, emptyDir: {}}], containers: [{name: c, image: app, command: "
    "[run], volumeMounts: [{name: v, mountPath: /v}]}]}",
};

static const char *const objects[][3] = {
    { "ConfigMap", "m", "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {k: v}}" },
    { "Service", "s",
      "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {selector: {app: web}, ports: [{port: 80}]}}" },
    { "NetworkPolicy", "n",
      "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: n}, spec: {podSelector: {}}}" },
};

static void change_object(struct world *w, struct rand *r)
{
    const char *const *o = objects[rand_below(r, ARRAY_LEN(objects))];

    if (world_get(w, o[0], o[1]))
        world_delete(w, o[0], o[1], -1);
    else
        world_create(w, o[2]);
}

static void change_pod(struct world *w, struct rand *r)
{
    static const char *const names[NAMES] = { "a", "b", "c", "d", "e" };
    static const int64_t graces[] = { -1, 0, 1, 10 };
    const char *name = names[rand_below(r, NAMES)];

    if (!world_get(w, "Pod", name))
        world_pod_with(w, name, "{labels: {app: web}}", specs[rand_below(r, ARRAY_LEN(specs))]);
    else if (rand_chance(r, 1, 2))
        world_delete(w, "Pod", name, graces[rand_below(r, ARRAY_LEN(graces))]);
}

static void change_machine(struct world *w, struct rand *r)
{
    bool *const holds[] = { &fake.holds_ready, &fake.holds_start, &fake.holds_kill, &fake.holds_nft };
    struct err *const fails[] = { &fake.fails_new, &fake.fails_join, &fake.fails_address, &fake.fails_nft,
                                  &fake.fails_over };
    struct err *fault = fails[rand_below(r, ARRAY_LEN(fails))];
    bool *held = holds[rand_below(r, ARRAY_LEN(holds))];

    if (rand_chance(r, 1, 4))
        fake_release();
    else if (rand_chance(r, 1, 2))
        *held = true;
    else if (fault->code || rand_chance(r, 1, 2))
        *fault = (struct err){ 0 };
    else
        (void)err_set(fault, ERR_IO, "by chance");
    w->room = rand_chance(r, 1, 5) ? 0 : 1 << 20;
}

static void change_cluster(struct world *w, struct rand *r)
{
    static const struct sim_faults bad = { .latency_ms = 50,
                                           .late = 500,
                                           .doubled = 500,
                                           .broken = 100,
                                           .late_ms = 500,
                                           .gap_ms = 1000,
                                           .slow = 500,
                                           .slow_ms = 2000,
                                           .conflict = 500,
                                           .refused = 1000,
                                           .request_lost = 500,
                                           .answer_lost = 500,
                                           .answer_lost_too_soon = 200,
                                           .timeout_ms = 1000 };

    w->faults = rand_chance(r, 1, 2) ? bad : (struct sim_faults){ .timeout_ms = 1000 };
    if (rand_chance(r, 1, 10))
        sim_net_outage(w->net, clock_mono_ms(&w->clock.clock) + rand_between(r, 0, 20000));
}

static void count(void *ctx, const struct object *o)
{
    ++*(int *)ctx;
}

/* What the cluster was told is what is so. */
static void compare(struct world *w, const char *pod)
{
    static const char *const lists[] = { "initContainerStatuses", "containerStatuses" };
    const struct object *o = world_get(w, "Pod", pod);

    for (size_t i = 0; o && i < ARRAY_LEN(lists); i++)
        JSON_FOREACH(c, json_find(o->root, "status", lists[i], NULL)) {
            const char *name = arena_cstr(&w->arena, json_member_text(c, "name"));

            if ((json_find(c, "state", "running", NULL) != NULL) != fake_runs(pod, name))
                fail_msg("%s: %s, but %s %s", pod, world_status(w, pod), name,
                         fake_runs(pod, name) ? "runs" : "does not run");
        }
}

/* The faults are over: all comes to its end. */
static void settle(struct world *w)
{
    struct err *const fails[] = { &fake.fails_new, &fake.fails_join, &fake.fails_address, &fake.fails_nft,
                                  &fake.fails_over };
    static const char *const names[NAMES] = { "a", "b", "c", "d", "e" };
    int n_pods = 0;

    for (size_t i = 0; i < ARRAY_LEN(fails); i++)
        *fails[i] = (struct err){ 0 };
    w->faults = (struct sim_faults){ .timeout_ms = 1000 };
    w->room = 1 << 20;
    for (int i = 0; i < 15;
         i++) { /* time for what waits; at the end none, so that no hook of a new start is under way */
        fake_release();
        world_pass(w, i < 12 ? 5000 : 0);
    }
    for (size_t i = 0; i < NAMES; i++)
        compare(w, names[i]);
    for (size_t i = 0; i < NAMES; i++)
        if (world_get(w, "Pod", names[i]))
            world_delete(w, "Pod", names[i], 5);
    world_pass(w, 120000);
    store_list(w->store, type_by_name(STR("Pod")), STR_NULL, count, &n_pods);
    if (n_pods || agent_pods(w->agent) || !list_is_empty(&fake.shims))
        fail_msg("%d pods in the cluster, %zu on the machine: %s, %s, %s, %s, %s", n_pods, agent_pods(w->agent),
                 world_status(w, "a"), world_status(w, "b"), world_status(w, "c"), world_status(w, "d"),
                 world_status(w, "e"));
}

static void all_is_as_it_should_be(void **state)
{
    for (uint64_t i = 0; i < n_seeds; i++) {
        struct rand r;
        struct world *w = world_new(NULL);

        rand_seed(&r, seed + i);
        print_message("seed %llu\n", (unsigned long long)(seed + i));
        for (int step = 0; step < STEPS; step++) {
            if (rand_chance(&r, 1, 2))
                change_pod(w, &r);
            if (rand_chance(&r, 1, 10))
                change_object(w, &r);
            if (rand_chance(&r, 1, 5))
                change_machine(w, &r);
            if (rand_chance(&r, 1, 20))
                change_cluster(w, &r);
            fake_random(&r);
            world_pass(w, rand_between(&r, 0, rand_chance(&r, 1, 10) ? 20000 : 1000));
        }
        settle(w);
        world_free(w);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        world_test(all_is_as_it_should_be),
    };

    if (argc > 1)
        seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        n_seeds = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
