/* machine.c - the node of a run: an agent on this machine */
#include "program/run/machine.h"

#include "api/meta.h"
#include "base/util.h"
#include "program/run/ending.h"
#include "program/run/run.h"
#include "os/nft.h"
#include "plugin/plugin.h"

#include <sys/socket.h>

/* ---- before anything runs ---- */

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

/* A NetworkPolicy that is not enforced is worse than none: users rely on it. */
static int check_policies(const struct run_machine *m, const struct run_options *o, struct err *e)
{
    struct err why;

    VEC_FOREACH(doc, &m->load->docs) {
        if (o->machine.allow_unfiltered || !makes_policy(m->run->arena, *doc))
            continue;
        if (nft_check(&why) == 0)
            return 0;
        return err_set(e, why.code,
                       "%.*s %.*s: cannot enforce %s NetworkPolicy: %s (to run without it: --allow-unfiltered)",
                       STR_ARG(object_kind((*doc)->root)), STR_ARG(object_name((*doc)->root)),
                       (*doc)->set ? "its" : "this", why.text);
    }
    return 0;
}

int run_machine_find(struct run_machine *m, const struct run_options *o, struct err *e)
{
    m->machine.arena = m->run->arena;
    return machine_find(&m->machine, &o->machine, e);
}

int run_machine_prepare(struct run_machine *m, const struct run_options *o, struct err *e)
{
    return machine_prepare(&m->machine, &o->machine, NULL, e) < 0 ? -1 : check_policies(m, o, e);
}

/* ---- the agent ---- */

/* A terminal ends lines with a carriage return too, which no program has written. */
static bool ends_as_terminal(const struct agent_output *line)
{
    if (line->is_partial || !str_ends(line->text, STR("\r")))
        return false;
    JSON_FOREACH(c, json_find(line->root, "spec", "containers", NULL))
        if (str_eq(json_member_text(c, "name"), line->container))
            return json_bool(json_get(c, "tty"), false);
    return false;
}

static void on_output(void *ctx, const struct agent_output *line)
{
    struct agent_output plain = *line;

    if (ends_as_terminal(line))
        plain.text.n--;
    run_output(((struct run_machine *)ctx)->run, &plain);
}

static size_t machine_on_room(void *ctx)
{
    return run_output_room(((struct run_machine *)ctx)->run);
}

static void on_usage(void *ctx, struct str pod_uid, const struct cgroup_stats *stats, int64_t now_ms)
{
    struct history_sample now = { .at_ms = now_ms, .cpu_us = stats->cpu_us, .memory_bytes = stats->memory_bytes };

    history_usage(((struct run_machine *)ctx)->run->history, pod_uid, now, stats->memory_peak_bytes);
}

static void machine_on_notice(void *ctx, struct str sentence)
{
    run_notice(((struct run_machine *)ctx)->run, sentence);
}

static bool on_written(void *ctx, const struct agent_written *w)
{
    return run_written_take(((struct run_machine *)ctx)->run, w);
}

static void on_pulling(void *ctx, struct str line)
{
    run_progress_pulling(&((struct run_machine *)ctx)->run->progress, line);
}

static int64_t node_turn(void *ctx, bool *ret_busy)
{
    struct run_machine *m = ctx;
    int64_t due_ms = agent_turn(m->agent, ret_busy);

    if (agent_is_broken(m->agent) && m->run->stage == RUN_GOES) {
        struct str why = STR("the spawner process was killed: no more pods can start");

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

static void node_processes(void *ctx, void (*f)(void *arg, const struct agent_process *p), void *arg)
{
    agent_processes(((struct run_machine *)ctx)->agent, f, arg);
}

static int node_freeze(void *ctx, bool on)
{
    return agent_freeze(((struct run_machine *)ctx)->agent, on);
}

static int node_socket(void *ctx)
{
    return agent_socket(((struct run_machine *)ctx)->agent, SOCK_STREAM);
}

int run_machine_open(struct run_machine *m, const struct run_options *o, struct err *e)
{
    struct agent_options opt = { .capacity = m->capacity,
                                 .keeps_state = o->keep_state,
                                 .clock = m->run->clock,
                                 .hooks = { .ctx = m,
                                            .output = on_output,
                                            .room = machine_on_room,
                                            .usage = on_usage,
                                            .notice = machine_on_notice,
                                            .written = on_written,
                                            .pulling = on_pulling } };

    if (machine_agent(&m->machine, &o->machine, &opt, e) < 0 || agent_open(&opt, &m->agent, e) < 0)
        return -1;
    m->run->node = (struct run_node){ m,         agent_fd(m->agent), node_turn,   node_pods,
                                      node_kill, node_processes,     node_freeze, node_socket };
    return 0;
}
