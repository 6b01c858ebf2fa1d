/* agent_world.c - an agent, the store it works on, and the clock */
#include "node/agent/test/agent_world.h"

#include "api/meta.h"
#include "image/image.h"
#include "yaml/yaml.h"

#include <stdlib.h>
#include <string.h>

static struct world *the_world; /* of the test that runs */

/* ---- hooks ---- */

static void on_output(void *ctx, const struct agent_output *line)
{
    struct world *w = ctx;

    buf_fmt(&w->output, "%.*s/%.*s: %.*s\n", STR_ARG(line->pod), STR_ARG(line->container), STR_ARG(line->text));
    w->room -= MIN_OF(w->room, line->text.n);
}

static size_t on_room(void *ctx)
{
    return ((struct world *)ctx)->room;
}

static void on_usage(void *ctx, struct str pod_uid, const struct cgroup_stats *s, int64_t now_ms)
{
    ((struct world *)ctx)->n_usage++;
}

static void on_notice(void *ctx, struct str sentence)
{
    buf_fmt(&((struct world *)ctx)->notices, "%.*s\n", STR_ARG(sentence));
}

/* ---- begin and end ---- */

static void open_agent(struct world *w)
{
    struct agent_options opt = w->opt;
    struct err e;

    opt.found = opt.outlives ? agent_found_look(opt.state_dir, opt.node_name) : NULL;
    if (agent_open(&opt, &w->agent, &e) < 0)
        fail_msg("agent_open: %s", e.text);
    agent_attach(w->agent, w->cluster);
    world_turn(w);
}

void world_leave(struct world *w)
{
    agent_leave(w->agent);
    cluster_free(w->cluster);
    w->agent = NULL;
    w->cluster = NULL;
}

void world_return(struct world *w)
{
    w->cluster = cluster_sim_new(w->net, 0);
    open_agent(w);
}

struct world *world_new_with(const struct agent_options *more, const struct sim_faults *faults)
{
    struct world *w = xcalloc(1, sizeof(*w));
    struct agent_options opt = more ? *more : (struct agent_options){ 0 };
    struct store_options store = { .clock = &w->clock.clock, .seed = 1 };
    struct sim_options sim = { .clock = &w->clock, .seed = 1, .faults = &w->faults };

    the_world = w;
    fake_begin();
    clock_manual_init(&w->clock, WORLD_T0_MS);
    w->store = sim.store = store_new(&store);
    w->net = sim_net_new(&sim);
    w->cluster = cluster_sim_new(w->net, 0);
    w->images = images_new(NULL);
    w->room = 1 << 20;
    w->faults = *faults;
    fake.clock = &w->clock.clock;
    opt.state_dir = fake.dir;
    opt.node_name = WORLD_NODE;
    opt.images = w->images;
    opt.clock = &w->clock.clock;
    opt.hooks = (struct agent_hooks){ w, on_output, on_room, on_usage, on_notice };
    if (opt.outlives) /* as of a node: nobody waits for output */
        opt.hooks.output = NULL;
    w->opt = opt;
    open_agent(w);
    return w;
}

struct world *world_new(const struct agent_options *opt)
{
    return world_new_with(opt, &(struct sim_faults){ .timeout_ms = 1000 });
}

static void clear(struct world *w)
{
    the_world = NULL;
    agent_close(w->agent);
    cluster_free(w->cluster);
    sim_net_free(w->net);
    store_free(w->store);
    images_free(w->images);
    buf_done(&w->output);
    buf_done(&w->notices);
    arena_done(&w->arena);
    free(w);
}

void world_free(struct world *w)
{
    clear(w);
    fake_end();
}

int world_teardown(void **state)
{
    if (!the_world)
        return 0;
    clear(the_world);
    fake_clear();
    return 0;
}

/* ---- the cluster ---- */

static struct json *parse(struct arena *a, const char *text)
{
    struct yaml_docs docs = { 0 };
    struct err e;

    if (yaml_parse(a, str_of(text), NULL, &docs, &e) < 0)
        fail_msg("%s: %s", text, e.text);
    assert_int_equal(docs.n, 1);
    return docs.v[0];
}

static void create(struct world *w, struct arena *a, struct json *body)
{
    struct err e;

    json_set(json_need_object(a, body, "metadata"), "namespace", json_str(a, STR("ns")));
    if (store_create(w->store, body, NULL, &e) < 0)
        fail_msg("create: %s", e.text);
    world_turn(w);
}

void world_create(struct world *w, const char *yaml)
{
    autoarena a = { 0 };

    create(w, &a, parse(&a, yaml));
}

void world_pod_with(struct world *w, const char *name, const char *more, const char *spec)
{
    autoarena a = { 0 };
    struct json *pod = object_new(&a, "v1", "Pod", STR("ns"), str_of(name));

    JSON_FOREACH(m, parse(&a, more))
        json_set_key(json_get(pod, "metadata"), json_key(m), json_copy(&a, m));
    json_set(pod, "spec", parse(&a, spec));
    json_set(json_get(pod, "spec"), "nodeName", json_str(&a, STR(WORLD_NODE)));
    create(w, &a, pod);
}

void world_pod(struct world *w, const char *name, const char *spec)
{
    world_pod_with(w, name, "{}", spec);
}

static const struct resource_type *type_of(const char *kind)
{
    const struct resource_type *t = type_by_name(str_of(kind));

    if (!t)
        fail_msg("no kind %s", kind);
    return t;
}

void world_patch(struct world *w, const char *kind, const char *name, const char *yaml)
{
    autoarena a = { 0 };
    struct err e;

    if (store_apply(w->store,
                    &(struct op){ .kind = OP_MERGE_PATCH,
                                  .type = type_of(kind),
                                  .namespace = STR("ns"),
                                  .name = str_of(name),
                                  .body = parse(&a, yaml) },
                    NULL, &e) < 0)
        fail_msg("patch %s: %s", name, e.text);
    world_turn(w);
}

void world_delete(struct world *w, const char *kind, const char *name, int64_t grace_s)
{
    struct store_delete_options opt = { .grace_s = grace_s };
    struct err e;

    if (store_delete(w->store, &(struct object_key){ type_of(kind), STR("ns"), str_of(name) }, &opt, NULL, &e) < 0)
        fail_msg("delete %s: %s", name, e.text);
    world_turn(w);
}

const struct object *world_get(struct world *w, const char *kind, const char *name)
{
    return store_get(w->store, type_of(kind), STR("ns"), str_of(name));
}

/* ---- time ---- */

static int64_t turn(struct world *w)
{
    int64_t due_ms = INT64_MAX, now_ms = clock_now_ms(&w->clock.clock), mono_ms = clock_mono_ms(&w->clock.clock);
    bool is_busy = true;

    if (!w->agent)
        return INT64_MAX;
    for (int i = 0; is_busy || sim_net_due_ms(w->net) <= mono_ms || cluster_sim_due_ms(w->cluster) <= mono_ms; i++) {
        if (i == 1000)
            fail_msg("the agent does not come to rest");
        sim_net_run(w->net);
        due_ms = agent_turn(w->agent, &is_busy);
    }
    if (due_ms <= now_ms)
        fail_msg("the agent is due %lld ms ago and does nothing", (long long)(now_ms - due_ms));
    due_ms = due_ms == INT64_MAX ? INT64_MAX : due_ms - now_ms + mono_ms;
    return MIN_OF(due_ms, MIN_OF(sim_net_due_ms(w->net), cluster_sim_due_ms(w->cluster)));
}

void world_turn(struct world *w)
{
    (void)turn(w);
}

void world_pass(struct world *w, int64_t ms)
{
    int64_t until_ms = clock_mono_ms(&w->clock.clock) + ms, now_ms;

    for (;;) {
        int64_t due_ms = turn(w);

        now_ms = clock_mono_ms(&w->clock.clock);
        if (now_ms == until_ms)
            return;
        clock_manual_advance(&w->clock, MIN_OF(due_ms, until_ms) - now_ms);
    }
}

/* ---- looking ---- */

static void print_state(struct buf *out, const struct json *state)
{
    const struct json *waiting = json_get(state, "waiting"), *ended = json_get(state, "terminated");

    if (waiting)
        buf_fmt(out, " waiting %.*s", STR_ARG(json_member_text(waiting, "reason")));
    else if (ended)
        buf_fmt(out, " %.*s %lld", STR_ARG(json_member_text(ended, "reason")),
                (long long)json_i64(json_get(ended, "exitCode"), -1));
    else
        buf_fmt(out, json_get(state, "running") ? " running" : " ?");
}

static void print_container(struct buf *out, const struct json *c)
{
    int64_t restarts = json_i64(json_get(c, "restartCount"), -1);

    buf_fmt(out, "; %.*s", STR_ARG(json_member_text(c, "name")));
    print_state(out, json_get(c, "state"));
    if (json_bool(json_get(c, "ready"), false))
        buf_fmt(out, " ready");
    if (restarts)
        buf_fmt(out, " x%lld", (long long)restarts);
    if (json_count(json_get(c, "lastState"))) {
        buf_fmt(out, " last");
        print_state(out, json_get(c, "lastState"));
    }
}

const char *world_status(struct world *w, const char *pod)
{
    static const char *const lists[] = { "initContainerStatuses", "containerStatuses" };
    const struct object *o = world_get(w, "Pod", pod);
    const struct json *status = o ? json_get(o->root, "status") : NULL;
    autobuf out = { 0 };

    if (!o)
        return "gone";
    buf_str(&out, json_member_text(status, "phase"));
    if (json_member_text(status, "reason").n)
        buf_fmt(&out, " %.*s", STR_ARG(json_member_text(status, "reason")));
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        JSON_FOREACH(c, json_get(status, lists[i]))
            print_container(&out, c);
    return arena_cstr(&w->arena, buf_view(&out));
}

const char *world_at(struct world *w, const char *kind, const char *name, const char *pointer)
{
    const struct object *o = world_get(w, kind, name);
    const struct json *j = o ? json_pointer((struct json *)o->root, str_of(pointer), &(struct err){ 0 }) : NULL;
    autobuf out = { 0 };

    if (json_is(j, JSON_STRING))
        buf_str(&out, json_text(j, STR_NULL));
    else if (j)
        json_print(&out, j);
    return arena_cstr(&w->arena, buf_view(&out));
}

struct event_list {
    struct str name, reason;
    struct buf *out;
};

static void add_event(void *ctx, const struct object *o)
{
    struct event_list *l = ctx;

    if (str_eq(json_member_text(json_get(o->root, "involvedObject"), "name"), l->name) &&
        str_eq(json_member_text(o->root, "reason"), l->reason))
        buf_fmt(l->out, "%.*s\n", STR_ARG(json_member_text(o->root, "message")));
}

const char *world_events(struct world *w, const char *name, const char *reason)
{
    autobuf out = { 0 };
    struct event_list l = { str_of(name), str_of(reason), &out };

    store_list(w->store, type_of("Event"), STR_NULL, add_event, &l);
    return arena_cstr(&w->arena, buf_view(&out));
}
