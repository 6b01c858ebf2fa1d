/* run_machine.c - the node of a run: an agent on this machine, with images and devices */
#include "cli/run.h"

#include "api/meta.h"
#include "base/util.h"
#include "node/device/device.h"
#include "node/doctor/host.h"
#include "node/image/image.h"
#include "node/oci/oci.h"
#include "os/nft.h"
#include "os/path.h"
#include "plugin/plugin.h"

#include <limits.h>

/* ---- before anything runs ---- */

static int absolute(struct arena *a, const char *path, struct str *ret, struct err *e)
{
    char here[PATH_MAX];

    if (path[0] == '/') {
        *ret = str_of(path);
        return 0;
    }
    if (!getcwd(here, sizeof(here)))
        return err_errno(e, "the directory we are in");
    *ret = arena_fmt(a, "%s/%s", here, path);
    return 0;
}

static bool makes_policy(struct arena *a, const struct loaded *doc)
{
    struct plugin_objects objects = { .arena = a };

    if (doc->type && strcmp(doc->type->kind, "NetworkPolicy") == 0)
        return true;
    if (!doc->set || plugin_set_objects(doc->set, &objects, NULL) < 0)
        return false;
    VEC_FOREACH(object, &objects.list)
        if (str_is(object_kind(*object), "NetworkPolicy"))
            return true;
    return false;
}

/* A policy that nobody enforces is worse than none: somebody relies on it. */
static int check_policies(const struct run_machine *m, const struct run_options *o, struct err *e)
{
    struct err why;

    VEC_FOREACH(doc, &m->load->docs) {
        if (o->allow_unfiltered || !makes_policy(m->run->arena, *doc))
            continue;
        if (nft_check(&why) == 0)
            return 0;
        return err_set(e, why.code,
                       "%.*s %.*s: there is nothing to enforce %s NetworkPolicy with: %s (or run without the "
                       "protection: --allow-unfiltered)",
                       STR_ARG(object_kind((*doc)->root)), STR_ARG(object_name((*doc)->root)),
                       (*doc)->set ? "its" : "this", why.text);
    }
    return 0;
}

int run_machine_find(struct run_machine *m, const struct run_options *o, struct err *e)
{
    struct arena *a = m->run->arena;
    struct str state = o->state ? str_of(o->state) : host_state_dir(a);

    if (str_empty(state))
        return err_set(e, ERR_INVALID, "no home directory is known: give --state DIR");
    if (absolute(a, arena_cstr(a, state), &m->state, e) < 0)
        return err_wrap(e, "--state");
    return 0;
}

static int find_images(struct run_machine *m, const struct run_options *o, struct err *e)
{
    const char *store = o->image_store ? o->image_store
                                       : arena_cstr(m->run->arena, arena_cat(m->run->arena, m->state, STR("/images")));

    (void)images_sweep(store, NULL); /* what stays is in nobody's way */
    m->images = images_new(store);
    VEC_FOREACH(text, &o->image.list)
        if (images_add(m->images, str_of(*text), e) < 0)
            return err_wrap(e, "--image %s", *text);
    m->devices = devices_new(&(struct device_options){ 0 });
    VEC_FOREACH(text, &o->device.list)
        if (devices_add(m->devices, str_of(*text), e) < 0)
            return err_wrap(e, "--device %s", *text);
    return 0;
}

int run_machine_prepare(struct run_machine *m, const struct run_options *o, struct err *e)
{
    if (host_require(e) < 0 || user_enter(&m->root, e) < 0 || check_policies(m, o, e) < 0)
        return -1;
    if (make_dirs(arena_cstr(m->run->arena, m->state), 0755, e) < 0)
        return err_wrap(e, "--state");
    return find_images(m, o, e);
}

void run_machine_done(struct run_machine *m)
{
    if (m->images)
        images_free(m->images);
    if (m->devices)
        devices_free(m->devices);
}

/* ---- the agent ---- */

static void on_output(void *ctx, const struct agent_output *line)
{
    struct run_machine *m = ctx;

    history_output(m->run->history, line->uid, line->container, line->text, line->is_partial);
    if (m->run->stage != RUN_KILLED || run_out_left(&m->run->out) < RUN_OUT_MAX) /* killed: nobody waits any more */
        run_logs_line(&m->run->logs, line);
}

static size_t on_room(void *ctx)
{
    const struct run *r = ((struct run_machine *)ctx)->run;
    size_t left = run_out_left(&r->out);

    return r->stage == RUN_KILLED ? RUN_OUT_MAX : left < RUN_OUT_MAX ? RUN_OUT_MAX - left : 0;
}

static void on_usage(void *ctx, struct str pod_uid, const struct cgroup_stats *stats, int64_t now_ms)
{
    history_usage(((struct run_machine *)ctx)->run->history, pod_uid, stats->cpu_us, stats->memory_bytes,
                  stats->memory_peak_bytes, now_ms);
}

static void on_notice(void *ctx, struct str sentence)
{
    run_notice(((struct run_machine *)ctx)->run, sentence);
}

static int64_t node_turn(void *ctx, bool *ret_busy)
{
    struct run_machine *m = ctx;
    int64_t due_ms = agent_turn(m->agent, ret_busy);

    if (agent_is_broken(m->agent) && m->run->stage == RUN_GOES) {
        struct str why = STR("a part of this program, its spawner, was killed: no pod can start any more");

        run_say(m->run, why);
        run_stop(m->run, EXIT_FAILED, why);
    }
    return due_ms;
}

static size_t node_pods(void *ctx)
{
    return agent_pods(((struct run_machine *)ctx)->agent);
}

static void node_kill(void *ctx)
{
    agent_kill_all(((struct run_machine *)ctx)->agent);
}

const char *const run_network_names[] = {
    [AGENT_NET_AUTO] = "auto", [AGENT_NET_PRIVATE] = "private", [AGENT_NET_OPEN] = "open", [AGENT_NET_MAX] = NULL
};

static enum agent_network network_of(const char *name)
{
    for (int i = 0; name && i < AGENT_NET_MAX; i++)
        if (strcmp(name, run_network_names[i]) == 0)
            return (enum agent_network)i;
    return AGENT_NET_AUTO;
}

int run_machine_open(struct run_machine *m, const struct run_options *o, struct err *e)
{
    struct agent_options opt = {
        .state_dir = arena_cstr(m->run->arena, m->state),
        .capacity = m->capacity,
        .images = m->images,
        .devices = m->devices,
        .network = network_of(o->network),
        .allows_unfiltered = o->allow_unfiltered,
        .keeps_state = o->keep,
        .clock = m->run->clock,
        .hooks = { m, on_output, on_room, on_usage, on_notice },
    };
    struct str claims = STR_NULL;

    if (o->runtime && oci_find(m->run->arena, o->runtime, &opt.oci_runtime, e) < 0)
        return err_wrap(e, "--runtime %s", o->runtime);
    if (o->claims) {
        if (absolute(m->run->arena, o->claims, &claims, e) < 0 ||
            make_dirs(arena_cstr(m->run->arena, claims), 0755, e) < 0)
            return err_wrap(e, "--claims");
        opt.claims_dir = arena_cstr(m->run->arena, claims);
    }
    if (agent_open(&opt, &m->agent, e) < 0)
        return -1;
    m->run->node = (struct run_node){ m, agent_fd(m->agent), node_turn, node_pods, node_kill };
    return 0;
}
