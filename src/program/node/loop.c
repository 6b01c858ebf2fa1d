/* loop.c - one thread, one loop: the Lease, the agent, signals and time
 *
 *     ASKS ──the name is free──▶ WORKS ──SIGINT──▶ STOPS ──all has ended and is written──▶ GIVES ──▶ OVER
 *       └───another has it: OVER, status 1 │     └──again: OVER, at once
 *                                          └──SIGTERM (without --drain): OVER, and pods go on
 *     another takes the name while we work: OVER, status 1; what runs is ended
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "program/node/node.h"
#include "os/signals.h"

#include <poll.h>
#include <signal.h>

enum {
    WRITE_MS = 10000,     /* for what became of the pods to be written, beyond their grace */
    GIVE_MS = 2000,       /* for the Lease to be given back */
    TROUBLE_MS = 1500,    /* what is over by then was none */
    SLEEP_MAX_MS = 60000, /* clocks are set */
};

static int64_t node_loop_mono(void)
{
    return clock_mono_ms(&clock_real);
}

static void node_loop_enter(struct node *n, enum node_stage stage, int64_t patience_ms)
{
    n->stage = stage;
    n->stage_ms = patience_ms == INT64_MAX ? INT64_MAX : node_loop_mono() + patience_ms;
}

static void node_loop_end(struct node *n, int status)
{
    n->exit_status = status;
    node_loop_enter(n, NODE_OVER, INT64_MAX);
}

/* ---- the Lease ---- */

static void loop_taken(struct node *n)
{
    log_error("Another machine holds the Lease of this node; exiting", LOG_STR("node", n->name),
              LOG_STR("holder", node_lease_holder(n->lease)),
              LOG_TEXT("advice", "stop the other machine's pumice node, or use another --name"));
    n->ends_pods = true; /* they are the other's to run */
    node_loop_end(n, EXIT_FAILED);
}

static int64_t lease_part(struct node *n)
{
    int64_t wait_ms = node_lease_turn(n->lease);
    enum node_lease_state state = node_lease_state(n->lease);

    if (n->stage == NODE_OVER)
        return 0;
    if (state == LEASE_TAKEN) {
        loop_taken(n);
    } else if (state == LEASE_OURS && n->stage == NODE_ASKS) {
        log_info("Node is running", LOG_STR("node", n->name), LOG_STR("address", n->ip));
        node_loop_enter(n, NODE_WORKS, INT64_MAX);
        agent_attach(n->agent, n->door);
    } else if (state == LEASE_GIVEN) {
        node_loop_end(n, n->exit_status);
    }
    return wait_ms;
}

/* ---- what keeps us from working ---- */

static bool is_troubled(struct node *n, struct err *ret)
{
    const struct err *lease = node_lease_trouble(n->lease);

    if (n->stage == NODE_ASKS && lease && lease->code != ERR_CONFLICT && lease->code != ERR_EXISTS) {
        *ret = *lease;
        return true;
    }
    return cluster_kube_trouble(n->door, ret);
}

static void tell_trouble(struct node *n)
{
    struct err e = { 0 };

    if (!is_troubled(n, &e)) {
        if (n->told.code != ERR_OK) {
            log_info("API server answers again", LOG_STR("server", n->config.server));
            if (n->stage == NODE_WORKS)
                agent_write_now(n->agent);
        }
        n->told.code = ERR_OK;
        n->trouble_ms = 0;
    } else if (!n->trouble_ms) {
        n->trouble_ms = node_loop_mono() + TROUBLE_MS;
    } else if (node_loop_mono() >= n->trouble_ms && (n->told.code == ERR_OK || strcmp(e.text, n->told.text) != 0)) {
        log_warn("API request failed", LOG_TEXT("error", e.text),
                 LOG_TEXT("advice", e.code == ERR_FORBIDDEN
                                        ? "the role it needs: pumice install --dry-run --only node | kubectl apply -f -"
                                        : "pods keep running; retrying"));
        n->told = e;
    }
}

/* ---- the end ---- */

static void node_loop_stop(struct node *n, bool drains)
{
    if (n->stage != NODE_WORKS || !drains) {
        node_loop_end(n, n->stage <= NODE_WORKS ? EXIT_FINE : EXIT_FAILED);
        return;
    }
    n->ends_pods = true;
    agent_shut_down(n->agent, n->grace_ms);
    node_loop_enter(n, NODE_STOPS, n->grace_ms + WRITE_MS);
}

static void node_loop_take_signals(struct node *n)
{
    int number;

    while ((number = signals_next(n->signal_fd)) > 0) {
        bool drains = n->o->drain || number == SIGINT;

        log_info("Stopping", LOG_TEXT("signal", sigabbrev_np(number)), LOG_INT("pods", (int64_t)agent_pods(n->agent)),
                 LOG_TEXT("action", drains ? "end" : "keep"));
        node_loop_stop(n, drains);
    }
}

static void node_loop_advance(struct node *n)
{
    if (n->stage == NODE_STOPS && (agent_is_quiet(n->agent) || node_loop_mono() >= n->stage_ms)) {
        if (!agent_is_quiet(n->agent))
            log_warn("Failed to write the status of some pods before exit");
        node_lease_give(n->lease);
        node_loop_enter(n, NODE_GIVES, GIVE_MS);
    } else if (n->stage == NODE_GIVES && node_loop_mono() >= n->stage_ms) {
        node_loop_end(n, n->exit_status);
    }
}

/* ---- turns ---- */

static int64_t agent_part(struct node *n)
{
    bool is_busy = false;
    int64_t due_ms;

    if (n->stage == NODE_ASKS || n->stage == NODE_OVER)
        return INT64_MAX;
    due_ms = agent_turn(n->agent, &is_busy);
    if (agent_is_broken(n->agent)) {
        log_error("Spawner process was killed; exiting");
        n->ends_pods = true; /* those that it started would not outlive us */
        node_loop_end(n, EXIT_FAILED);
    }
    if (is_busy)
        return 0;
    return due_ms == INT64_MAX ? due_ms : MAX_OF(due_ms - cluster_now_ms(n->door), 0);
}

enum { WAIT_DOOR, WAIT_LEASE, WAIT_AGENT, WAIT_SIGNAL, WAIT_SERVING, WAIT_MAX };

static void node_loop_sleep_for(struct node *n, int64_t ms)
{
    struct pollfd p[WAIT_MAX] = {
        [WAIT_DOOR] = { .fd = n->stage == NODE_ASKS ? -1 : cluster_kube_fd(n->door), .events = POLLIN },
        [WAIT_LEASE] = { .fd = cluster_kube_fd(n->lease_door), .events = POLLIN },
        [WAIT_AGENT] = { .fd = agent_fd(n->agent), .events = POLLIN },
        [WAIT_SIGNAL] = { .fd = n->signal_fd, .events = POLLIN },
        [WAIT_SERVING] = { .fd = n->stage == NODE_ASKS ? -1 : serving_fd(n->serving), .events = POLLIN },
    };

    (void)poll(p, WAIT_MAX, (int)MAX_OF(MIN_OF(ms, (int64_t)SLEEP_MAX_MS), 0));
}

static int64_t node_loop_until(int64_t at_ms)
{
    return at_ms == INT64_MAX ? at_ms : MAX_OF(at_ms - node_loop_mono(), 0);
}

int node_loop(struct node *n)
{
    while (n->stage != NODE_OVER) {
        enum node_stage before = n->stage;
        int64_t wait_ms = lease_part(n);

        wait_ms = MIN_OF(wait_ms, agent_part(n));
        if (n->stage > NODE_ASKS && n->stage < NODE_OVER)
            wait_ms = MIN_OF(wait_ms, serving_turn(n->serving));
        tell_trouble(n);
        if (n->trouble_ms && n->told.code == ERR_OK)
            wait_ms = MIN_OF(wait_ms, node_loop_until(n->trouble_ms));
        node_loop_advance(n);
        wait_ms = MIN_OF(wait_ms, node_loop_until(n->stage_ms));
        if (n->stage != NODE_OVER)
            node_loop_sleep_for(n, n->stage == before ? wait_ms : 0);
        node_loop_take_signals(n);
    }
    return n->exit_status;
}
