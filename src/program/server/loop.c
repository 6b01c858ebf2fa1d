/* loop.c - one thread, one loop: requests, controllers and scheduler, the node, watches; signals and time
 *
 *     WORKS ──SIGINT──▶ STOPS ──pods have ended, or patience has──▶ OVER
 *       │                 └──again: OVER, at once
 *       └──SIGTERM (without --drain): OVER, and pods go on
 */
#include "auth/auth.h"
#include "base/log.h"
#include "base/util.h"
#include "program/server/server.h"
#include "cluster/cluster.h"
#include "driver/driver.h"
#include "kubelet/kubelet.h"
#include "os/memory.h"
#include "os/signals.h"
#include "server/server.h"
#include "store/store.h"

#include <poll.h>
#include <signal.h>

enum {
    WRITE_MS = 2000,        /* beyond the grace of the pods */
    SLEEP_MAX_MS = 60000,   /* clocks are set */
    SETTLE_MS = 1000,       /* without a request or a write: at rest */
    AHEAD_MS = 60000,       /* of a clock that was set back: worth a word */
    KEEP_BYTES = 128 << 20, /* of freed memory, between requests: what the largest of them needs */
};

static int64_t server_loop_mono(const struct serve *s)
{
    return clock_mono_ms((struct clock *)&s->clock.clock);
}

/* ---- the end ---- */

static void server_loop_end(struct serve *s, int status)
{
    s->exit_status = status;
    s->stage = SERVE_OVER;
}

static void server_loop_stop(struct serve *s, bool drains)
{
    if (s->stage != SERVE_WORKS) {
        server_loop_end(s, EXIT_FAILED);
        return;
    }
    supervisor_tell(&s->supervisor, "STOPPING=1");
    server_stop(s->server);
    driver_stop(s->driver);
    if (!drains) {
        server_loop_end(s, EXIT_FINE);
        return;
    }
    s->ends_pods = true;
    agent_shut_down(s->agent, s->grace_ms);
    s->stage = SERVE_STOPS;
    s->stage_ms = server_loop_mono(s) + s->grace_ms + WRITE_MS;
}

static void server_loop_take_signals(struct serve *s)
{
    int number;

    while ((number = signals_next(s->signal_fd)) > 0) {
        bool drains = s->o->drain || number == SIGINT;

        if (number == SIGHUP) {
            serve_config_again(s);
            continue;
        }
        log_info("Stopping", LOG_TEXT("signal", sigabbrev_np(number)), LOG_INT("pods", (int64_t)agent_pods(s->agent)),
                 LOG_TEXT("action", drains ? "end" : "keep"));
        server_loop_stop(s, drains);
    }
}

static void server_loop_advance(struct serve *s)
{
    if (s->stage == SERVE_STOPS && (agent_is_quiet(s->agent) || server_loop_mono(s) >= s->stage_ms))
        s->stage = SERVE_OVER;
    if (agent_is_broken(s->agent) && s->stage == SERVE_WORKS) {
        log_error("Spawner process was killed; exiting");
        s->ends_pods = true; /* those that it started would not outlive us */
        server_loop_end(s, EXIT_FAILED);
    }
}

/* ---- turns ---- */

static int64_t server_loop_until(struct serve *s, int64_t at_ms)
{
    return at_ms == INT64_MAX ? at_ms : MAX_OF(at_ms - clock_now_ms(&s->clock.clock), 0);
}

/* Users come and go beside us; certificates are renewed in time. A new user may send requests at once, so the
 * roles are flushed first: they count when they are durable. */
static int64_t keep_keys(struct serve *s)
{
    uint64_t before = store_revision(s->store);
    bool has_changed;
    int64_t wait_ms = auth_turn(s->auth, &has_changed);
    struct err e;

    if (has_changed &&
        (http_server_set_tls(s->http, auth_tls(s->auth), &e) < 0 || (s->url.n && serve_kubeconfig_write(s, &e) < 0)))
        log_error("Failed to publish rotated keys", LOG_TEXT("error", e.text));
    if (has_changed) {
        server_keys_changed(s->server);
        agent_tokens_ask_again(s->agent);
    }
    if (store_revision(s->store) != before)
        (void)store_flush(s->store, NULL); /* a failed write is undone before any answer; auth tries again */
    return wait_ms;
}

/* Pods do not notice a restart, and after it the time is right at once. */
static void tell_of_clock(struct serve *s)
{
    int64_t ahead_ms = clock_now_ms(&s->clock.clock) - clock_now_ms(&clock_real);

    if (ahead_ms > AHEAD_MS && !s->is_ahead)
        log_warn("Clock was set back; server time runs slower until it agrees", LOG_INT("ahead_s", ahead_ms / 1000));
    s->is_ahead = ahead_ms > AHEAD_MS;
}

/* At rest what is not needed goes back to the machine, which has jobs to run. Returns how long until then. */
static int64_t loop_settle(struct serve *s)
{
    struct http_server_stats http;
    uint64_t doings;

    http_server_stats(s->http, &http);
    doings = store_revision(s->store) + http.requests + http.accepted + http.connections;
    if (doings != s->settle.doings) {
        s->settle.doings = doings;
        s->settle.at_ms = server_loop_mono(s) + SETTLE_MS;
    } else if (server_loop_mono(s) >= s->settle.at_ms) {
        memory_settle();
        s->settle.at_ms = INT64_MAX;
    }
    return s->settle.at_ms == INT64_MAX ? INT64_MAX : MAX_OF(s->settle.at_ms - server_loop_mono(s), 0);
}

/* Milliseconds until the next turn is due even if nothing happens. What one of them writes the others read when it is
 * durable: in the next turn, which follows at once. */
static int64_t server_loop_turn(struct serve *s)
{
    bool is_driver_busy = false, is_node_busy = false;
    int64_t wait_ms;

    tell_of_clock(s);
    wait_ms = keep_keys(s);
    auth_hear(s->auth);
    http_server_turn(s->http);
    auth_heard(s->auth);
    if (!store_is_cut(s->store)) { /* they would take for deleted what is not in the store */
        wait_ms = MIN_OF(wait_ms, server_loop_until(s, driver_turn(s->driver, &is_driver_busy)));
        wait_ms = MIN_OF(wait_ms, serve_node_turn(s));
        wait_ms = MIN_OF(wait_ms, server_loop_until(s, agent_turn(s->agent, &is_node_busy)));
    }
    wait_ms = MIN_OF(wait_ms, kubelet_turn(s->kubelet));
    wait_ms = MIN_OF(wait_ms, serve_explain_turn(s));
    serve_ports_turn(s);
    wait_ms = MIN_OF(wait_ms, server_turn(s->server));
    wait_ms = MIN_OF(wait_ms, serve_config_turn(s));
    wait_ms = MIN_OF(wait_ms, supervisor_turn(&s->supervisor, server_loop_mono(s)));
    wait_ms = MIN_OF(wait_ms, loop_settle(s));
    if (is_driver_busy || is_node_busy || store_flushed(s->store) != store_revision(s->store))
        wait_ms = 0; /* what was written is flushed in the next turn, which tells the others */
    return wait_ms;
}

static void server_loop_sleep_for(struct serve *s, int64_t ms)
{
    struct pollfd p[] = {
        { .fd = http_server_fd(s->http), .events = POLLIN },
        { .fd = store_is_cut(s->store) ? -1 : agent_fd(s->agent), .events = POLLIN },
        { .fd = kubelet_fd(s->kubelet), .events = POLLIN },
        { .fd = serve_explain_fd(s), .events = POLLIN },
        { .fd = serve_ports_fd(s), .events = POLLIN },
        { .fd = s->signal_fd, .events = POLLIN },
    };

    (void)poll(p, ARRAY_LEN(p), (int)MAX_OF(MIN_OF(ms, (int64_t)SLEEP_MAX_MS), 0));
}

int serve_loop(struct serve *s)
{
    memory_keep(KEEP_BYTES);
    while (s->stage != SERVE_OVER) {
        int64_t wait_ms = server_loop_turn(s);

        server_loop_advance(s);
        if (s->stage == SERVE_STOPS)
            wait_ms = MIN_OF(wait_ms, MAX_OF(s->stage_ms - server_loop_mono(s), 0));
        if (s->stage != SERVE_OVER)
            server_loop_sleep_for(s, wait_ms);
        server_loop_take_signals(s);
    }
    http_server_stop(s->http);
    http_server_turn(s->http); /* what was said last */
    return s->exit_status;
}
