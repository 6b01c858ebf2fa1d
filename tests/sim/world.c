/* world.c - time, timers, controllers and the history of a simulated cluster */
#include "world.h"

#include "plugin/plugin.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>

const struct resource_type *sim_types[KIND_MAX];

static const struct {
    const char *api, *kind;
} kind_names[KIND_MAX] = {
    [KIND_JOB] = { "batch.volcano.sh/v1alpha1", "Job" },
    [KIND_POD] = { "v1", "Pod" },
    [KIND_PODGROUP] = { "scheduling.volcano.sh/v1beta1", "PodGroup" },
    [KIND_COMMAND] = { "bus.volcano.sh/v1alpha1", "Command" },
    [KIND_QUEUE] = { "scheduling.volcano.sh/v1beta1", "Queue" },
    [KIND_CONFIGMAP] = { "v1", "ConfigMap" },
    [KIND_SERVICE] = { "v1", "Service" },
    [KIND_SECRET] = { "v1", "Secret" },
    [KIND_NETPOL] = { "networking.k8s.io/v1", "NetworkPolicy" },
    [KIND_PVC] = { "v1", "PersistentVolumeClaim" },
    [KIND_EVENT] = { "v1", "Event" },
    [KIND_NODE] = { "v1", "Node" },
    [KIND_PRIORITY] = { "scheduling.k8s.io/v1", "PriorityClass" },
    [KIND_TEMPLATE] = { "flow.volcano.sh/v1alpha1", "JobTemplate" },
    [KIND_FLOW] = { "flow.volcano.sh/v1alpha1", "JobFlow" },
    [KIND_CRON] = { "batch.volcano.sh/v1alpha1", "CronJob" },
};

const char *const phase_names[PHASE_MAX] = {
    [PHASE_NONE] = "",
    [PHASE_PENDING] = "Pending",
    [PHASE_RUNNING] = "Running",
    [PHASE_RESTARTING] = "Restarting",
    [PHASE_ABORTING] = "Aborting",
    [PHASE_ABORTED] = "Aborted",
    [PHASE_COMPLETING] = "Completing",
    [PHASE_COMPLETED] = "Completed",
    [PHASE_TERMINATING] = "Terminating",
    [PHASE_TERMINATED] = "Terminated",
    [PHASE_FAILED] = "Failed",
};

void sim_types_init(void)
{
    for (size_t i = 0; i < KIND_MAX; i++) {
        sim_types[i] = type_by_kind(str_of(kind_names[i].api), str_of(kind_names[i].kind));
        assert(sim_types[i]);
    }
}

enum phase phase_of(struct str name)
{
    for (size_t i = 0; i < PHASE_MAX; i++)
        if (str_is(name, phase_names[i]))
            return (enum phase)i;
    return PHASE_MAX;
}

bool phase_is_final(enum phase p)
{
    return p == PHASE_COMPLETED || p == PHASE_FAILED || p == PHASE_TERMINATED;
}

/* ---- history ---- */

void world_log(struct world *w, const char *who, const char *fmt, ...)
{
    char *line = w->lines[w->n_lines++ % HISTORY_LINES];
    int64_t ms = world_ms(w);
    va_list ap;
    int n = snprintf(line, LINE_MAX_, "%7" PRId64 ".%03" PRId64 " %-8s ", ms / 1000, ms % 1000, who);

    va_start(ap, fmt);
    vsnprintf(line + n, (size_t)(LINE_MAX_ - n), fmt, ap);
    va_end(ap);
    w->hash = str_hash(str_of(line), w->hash);
    if (w->is_verbose)
        puts(line);
}

void world_print_history(const struct world *w)
{
    uint64_t from = w->n_lines > HISTORY_LINES ? w->n_lines - HISTORY_LINES : 0;

    if (from)
        printf("    ... %" PRIu64 " lines before ...\n", from);
    for (uint64_t i = from; i < w->n_lines; i++)
        puts(w->lines[i % HISTORY_LINES]);
}

void world_break(struct world *w, const char *fmt, ...)
{
    va_list ap;

    if (world_is_broken(w))
        return;
    va_start(ap, fmt);
    vsnprintf(w->broken, sizeof(w->broken), fmt, ap);
    va_end(ap);
    world_log(w, "BROKEN", "%s", w->broken);
}

/* ---- chance and time ---- */

int64_t world_ms(const struct world *w)
{
    return w->clock.mono_us / 1000;
}

bool world_chance(struct world *w, unsigned percent)
{
    return rand_chance(&w->rand, percent, 100);
}

int64_t world_between(struct world *w, int64_t low, int64_t high)
{
    return rand_between(&w->rand, low, high);
}

static int timer_cmp(const struct heap_node *x, const struct heap_node *y)
{
    const struct timer *a = HEAP_ITEM(x, const struct timer, node), *b = HEAP_ITEM(y, const struct timer, node);

    if (a->at_ms != b->at_ms)
        return a->at_ms < b->at_ms ? -1 : 1;
    return a->seq < b->seq ? -1 : 1;
}

void world_timer(struct world *w, enum timer_kind kind, struct str uid, int64_t in_ms)
{
    struct timer *t = xcalloc(1, sizeof(*t));

    t->at_ms = world_ms(w) + in_ms;
    t->seq = ++w->timer_seq;
    t->kind = kind;
    snprintf(t->uid, sizeof(t->uid), "%.*s", STR_ARG(uid));
    heap_push(&w->timers, &t->node);
}

static void timer_fire(struct world *w, struct timer *t)
{
    if (t->kind == TIMER_PLACE || t->kind == TIMER_ADMIT)
        placer_timer(w, t);
    else
        node_timer(w, t);
    free(t);
}

/* ---- writes of everybody but the controllers ---- */

const struct object *world_get(struct world *w, enum kind kind, struct str name)
{
    return store_get(w->store, sim_types[kind], STR(SIM_NS), name);
}

static int wrote(struct world *w, int rc)
{
    check_observe(w);
    w->actor = "?";
    return rc;
}

int world_create(struct world *w, const char *who, const struct json *body)
{
    struct err e = { 0 };

    w->actor = who;
    if (store_create(w->store, body, NULL, &e) < 0 && e.code != ERR_EXISTS)
        world_break(w, "the simulation's own create: %s", e.text);
    return wrote(w, e.code == ERR_OK ? 0 : -1);
}

int world_update(struct world *w, const char *who, const struct json *body, enum store_part part)
{
    struct err e = { 0 };

    w->actor = who;
    if (store_update(w->store, body, part, NULL, &e) < 0)
        world_break(w, "the simulation's own update: %s", e.text);
    return wrote(w, e.code == ERR_OK ? 0 : -1);
}

int world_delete(struct world *w, const char *who, enum kind kind, struct str name, int64_t grace_s,
                 enum propagation propagation)
{
    struct store_delete_options opt = { .grace_s = grace_s, .propagation = propagation };

    w->actor = who;
    return wrote(w,
                 store_delete(w->store, &(struct object_key){ sim_types[kind], STR(SIM_NS), name }, &opt, NULL, NULL));
}

const struct object *world_get_global(struct world *w, enum kind kind, struct str name)
{
    return store_get(w->store, sim_types[kind], STR_NULL, name);
}

int world_delete_global(struct world *w, const char *who, enum kind kind, struct str name)
{
    struct store_delete_options opt = { .grace_s = 0 };

    w->actor = who;
    return wrote(w, store_delete(w->store, &(struct object_key){ sim_types[kind], STR_NULL, name }, &opt, NULL, NULL));
}

int world_patch(struct world *w, const char *who, enum kind kind, struct str name, const char *fmt, ...)
{
    autoarena a = { 0 };
    struct json *patch;
    struct err e = { 0 };
    va_list ap;
    struct str text;

    va_start(ap, fmt);
    text = arena_vfmt(&a, fmt, ap);
    va_end(ap);
    if (json_parse(&a, text, NULL, &patch, &e) < 0)
        world_break(w, "the simulation's own patch: %s", e.text);
    w->actor = who;
    return wrote(w, world_is_broken(w) ? -1
                                       : store_apply(w->store,
                                                     &(struct op){ .kind = OP_MERGE_PATCH,
                                                                   .type = sim_types[kind],
                                                                   .namespace = STR(SIM_NS),
                                                                   .name = name,
                                                                   .body = patch },
                                                     NULL, NULL));
}

/* ---- controllers ---- */

static int make_keys(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e)
{
    (void)ctx, (void)a, (void)type, (void)e;
    *ret = (struct ssh_keys){ STR("-----BEGIN PRIVATE KEY-----\nc2lt\n-----END PRIVATE KEY-----\n"),
                              STR("ssh-rsa c2lt\n") };
    return 0;
}

static void controller_up(struct world *w, struct controller *c)
{
    struct driver_options opt = { .collects_garbage = true,
                                  .schedules = !w->profile.has_placer,
                                  .max_in_flight = w->profile.is_large ? 20000 : 0,
                                  .seed = w->seed + c->id + 1,
                                  .make_keys = make_keys };

    c->cluster = cluster_sim_new(w->net, c->id);
    c->driver = driver_new(c->cluster, &opt);
    c->due_ms = INT64_MIN;
}

static void controller_down(struct controller *c)
{
    driver_free(c->driver);
    cluster_free(c->cluster);
    c->driver = NULL;
    c->cluster = NULL;
    check_forget_told(c);
}

void world_crash(struct world *w, struct controller *c, int64_t down_ms)
{
    if (!c->cluster)
        return;
    world_log(w, c->id ? "ctl1" : "ctl0", "crashes, back in %" PRId64 " ms", down_ms);
    controller_down(c);
    c->crash_at = 0;
    c->back_ms = world_ms(w) + down_ms;
    w->crashes++;
}

/* Mono time at which the controller has something to do. */
static int64_t controller_due_ms(struct world *w, struct controller *c)
{
    int64_t due, now = clock_now_ms(&w->clock.clock);

    if (!c->cluster)
        return c->back_ms;
    if (c->due_ms <= now)
        return world_ms(w);
    due = cluster_sim_due_ms(c->cluster);
    return c->due_ms == INT64_MAX ? due : MIN_OF(due, world_ms(w) + (c->due_ms - now));
}

static void controller_turn(struct world *w, struct controller *c)
{
    bool busy;

    if (!c->cluster) {
        world_log(w, c->id ? "ctl1" : "ctl0", "starts");
        controller_up(w, c);
    }
    c->due_ms = driver_turn(c->driver, &busy);
    w->turns++;
    if (!cluster_sim_is_dead(c->cluster))
        placing_turn_over(w, c);
    else
        world_crash(w, c,
                    w->is_scripted ? 0 : world_between(w, 0, world_chance(w, 20) ? 5 * MINUTE_MS : 5 * SECOND_MS));
}

/* ---- the loop ---- */

static int64_t world_due_ms(struct world *w)
{
    struct heap_node *node = heap_first(&w->timers);
    int64_t due = MIN_OF(sim_net_due_ms(w->net), node ? HEAP_ITEM(node, struct timer, node)->at_ms : INT64_MAX);

    for (int i = 0; i < w->profile.controllers; i++) {
        int64_t at = controller_due_ms(w, &w->controllers[i]);

        due = MIN_OF(due, at);
    }
    return due;
}

static void world_fire(struct world *w)
{
    struct heap_node *node;

    while (!world_is_broken(w) && (node = heap_first(&w->timers)) &&
           HEAP_ITEM(node, struct timer, node)->at_ms <= world_ms(w))
        timer_fire(w, HEAP_ITEM(heap_pop(&w->timers), struct timer, node));
    sim_net_run(w->net);
    for (int i = 0; i < w->profile.controllers && !world_is_broken(w); i++)
        if (controller_due_ms(w, &w->controllers[i]) <= world_ms(w))
            controller_turn(w, &w->controllers[i]);
}

/* More turns than this at one moment: it turns in circles. */
enum { MAX_TURNS_AT_ONCE = 2000 };

void world_run(struct world *w, int64_t until_ms)
{
    int at_once = 0;

    while (!world_is_broken(w)) {
        int64_t due = world_due_ms(w);

        if (due > until_ms) {
            clock_manual_advance(&w->clock, until_ms - world_ms(w));
            return;
        }
        if (due > world_ms(w)) {
            clock_manual_advance(&w->clock, due - world_ms(w));
            at_once = 0;
        } else if (++at_once > MAX_TURNS_AT_ONCE) {
            world_break(w, "a controller turns in circles: %d turns and no time passed", MAX_TURNS_AT_ONCE);
        }
        world_fire(w);
    }
}

static const char *const first_objects[] = {
    "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"" SIM_NS "\"}}",
    "{\"apiVersion\":\"scheduling.volcano.sh/"
    "v1beta1\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"root\"},\"spec\":{\"weight\":1}}",
    "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"default\"},"
    "\"spec\":{\"weight\":1,\"parent\":\"root\"}}",
};

static void world_furnish(struct world *w)
{
    autoarena a = { 0 };
    struct json *j;
    struct err e = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(first_objects); i++)
        if (json_parse(&a, str_of(first_objects[i]), NULL, &j, &e) < 0 || store_create(w->store, j, NULL, &e) < 0)
            world_break(w, "the simulation's own objects: %s", e.text);
}

void world_init(struct world *w, uint64_t seed, const struct profile *profile, bool is_verbose)
{
    struct store_options store = { .clock = &w->clock.clock, .seed = seed };
    struct sim_options sim = { .clock = &w->clock, .seed = seed ^ 0x5eed, .faults = &w->faults };

    *w = (struct world){
        .seed = seed, .profile = *profile, .faults = profile->faults, .is_verbose = is_verbose, .actor = "?"
    };
    w->is_scripted = profile->is_scripted;
    w->lines = xcalloc(HISTORY_LINES, LINE_MAX_);
    rand_seed(&w->rand, seed);
    clock_manual_init(&w->clock, 1767225600000); /* 2026-01-01 */
    w->clock.mono_us = 0;
    w->store = store_new(&store);
    heap_init(&w->timers, timer_cmp);
    map_init(&w->jobs, seed);
    map_init(&w->pods, seed);
    map_init(&w->wrote, seed);
    map_init(&w->groups, seed);
    making_init(w);
    sim.store = w->store;
    check_hooks(w, &sim.hooks);
    w->net = sim_net_new(&sim);
    for (size_t i = 0; i < KIND_MAX; i++)
        if (watch_open(w->store, sim_types[i], STR_NULL, 0, &w->watches[i], NULL) < 0)
            assert(!"a watch of a new store");
    world_furnish(w);
    check_observe(w);
    fleet_init(w);
    for (int i = 0; i < profile->controllers; i++) {
        w->controllers[i].id = (uint32_t)i;
        map_init(&w->controllers[i].jobs, seed);
        map_init(&w->controllers[i].pods, seed);
        map_u64_init(&w->controllers[i].flights, seed);
        for (size_t k = 0; k < KNOWN_MAX; k++)
            map_init(&w->controllers[i].known[k], seed);
        controller_up(w, &w->controllers[i]);
    }
}

void world_done(struct world *w)
{
    struct heap_node *node;

    for (int i = 0; i < w->profile.controllers; i++) {
        if (w->controllers[i].cluster)
            controller_down(&w->controllers[i]);
        map_done(&w->controllers[i].jobs);
        map_done(&w->controllers[i].pods);
        map_u64_done(&w->controllers[i].flights);
        for (size_t k = 0; k < KNOWN_MAX; k++)
            map_done(&w->controllers[i].known[k]);
    }
    sim_net_free(w->net);
    for (size_t i = 0; i < KIND_MAX; i++)
        watch_close(w->watches[i]);
    store_free(w->store);
    while ((node = heap_pop(&w->timers)))
        free(HEAP_ITEM(node, struct timer, node));
    heap_done(&w->timers);
    MAP_FOREACH(struct sim_job *, job, &w->jobs)
        free(job);
    MAP_FOREACH(struct sim_pod *, pod, &w->pods)
        free(pod);
    MAP_FOREACH(struct sim_group *, group, &w->groups)
        free(group);
    map_done(&w->jobs);
    map_done(&w->pods);
    MAP_FOREACH(struct wrote *, wrote, &w->wrote)
        free(wrote);
    map_done(&w->wrote);
    map_done(&w->groups);
    making_done(w);
    free(w->nodes);
    free(w->lines);
}
