/* loop.c - one thread, one loop: the Lease, controllers and scheduler, settings, HTTP requests, signals
 * and time
 *
 *     WAITS ──Lease──▶ LEADS ──SIGTERM──▶ STOPS ──all answered──▶ RELEASES ──▶ OVER
 *       └───SIGTERM──────────────────────────────────────────────────────────▶
 *     the Lease is lost: OVER, at once and without another write
 *
 * The Lease has its turn first and after each turn of the others; what is written asks it once more at the moment it
 * leaves. And should the program be stopped after it has asked, the kernel ends it before it goes on (os/fence.h):
 * halfway between the end of our right and the moment another may begin, so that a process that can still log
 * its end does so.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "program/controller/controller.h"
#include "driver/cache.h"
#include "http/server.h"
#include "os/fence.h"
#include "os/memory.h"
#include "os/signals.h"

#include <poll.h>
#include <signal.h>
#include <time.h>

enum {
    STOP_MS = 5000,       /* for writes that are on their way */
    RELEASE_MS = 2000,    /* for the Lease to be given back */
    TROUBLE_MS = 1500,    /* what is over by then was none */
    SLEEP_MAX_MS = 60000, /* clocks are set */
    SETTLE_MS = 1000,     /* without work: memory is given back */
    THROTTLED_MS = 60000, /* after the last 429: it is over */
    COALESCE_US = 1000,   /* after a turn that had work: what comes meanwhile is one turn, and one plan */
};

const char *const controller_stage_names[STAGE_MAX] = {
    [STAGE_WAITS] = "standby",     [STAGE_LEADS] = "leading", [STAGE_STOPS] = "stopping",
    [STAGE_RELEASES] = "stopping", [STAGE_OVER] = "stopped",
};

static int64_t loop_mono(void)
{
    return clock_mono_ms(&clock_real);
}

static void loop_enter(struct controller *c, enum controller_stage stage, int64_t patience_ms)
{
    c->stage = stage;
    c->stage_ms = patience_ms == INT64_MAX ? INT64_MAX : loop_mono() + patience_ms;
}

static void loop_end(struct controller *c, int status)
{
    c->exit_status = status;
    loop_enter(c, STAGE_OVER, INT64_MAX);
}

/* ---- leading ---- */

static bool loop_may_write(void *ctx)
{
    const struct controller *c = ctx;

    return lease_is_valid(c->lease);
}

static int open_door(struct controller *c, struct err *e)
{
    struct cluster_kube_options opt = { .config = &c->config,
                                        .views = c->views,
                                        .n_views = c->n_views,
                                        .may_write = c->lease ? loop_may_write : NULL,
                                        .ctx = c };
    struct cluster_kube_options others = { .config = &c->config, .views = &c->others, .n_views = 1 };
    struct driver_options drive = { .scheduler_name = c->sched.scheduler_name,
                                    .schedules = c->o->scheduler,
                                    .native_groups = c->o->native_groups,
                                    .sched_config = &c->sched };

    if (cluster_kube_new(&opt, &c->door, e) < 0 ||
        (!c->o->scheduler && cluster_kube_new(&others, &c->others_door, e) < 0))
        return -1;
    drive.others = c->others_door;
    c->driver = driver_new(c->door, &drive);
    return 0;
}

static void lead(struct controller *c)
{
    struct err e;

    if (c->lease)
        log_info("Became leader", LOG_STR("identity", lease_identity(c->lease)),
                 LOG_INT("transitions", lease_transitions(c->lease)));
    loop_enter(c, STAGE_LEADS, INT64_MAX);
    if (open_door(c, &e) == 0)
        return;
    log_error("Failed to start the controllers", LOG_TEXT("error", e.text));
    loop_end(c, EXIT_FAILED);
}

/* ---- the Lease ---- */

static void loop_lost(struct controller *c)
{
    struct str holder = lease_holder(c->lease);

    if (holder.n && !str_eq(holder, lease_identity(c->lease)))
        log_error("Lost the Lease to another replica; exiting", LOG_STR("holder", holder));
    else
        log_error(
            "Failed to renew the Lease in time; exiting",
            LOG_TEXT("error", lease_trouble(c->lease) ? lease_trouble(c->lease)->text : "the process was stalled"));
    loop_end(c, EXIT_FAILED);
}

/* What follows from the state of the Lease. */
static void follow_lease(struct controller *c)
{
    enum election_state state = c->lease ? lease_state(c->lease) : ELECTION_LEADER;

    if (c->stage == STAGE_OVER)
        return;
    if (c->stage == STAGE_WAITS && state == ELECTION_LEADER)
        lead(c);
    else if (c->stage == STAGE_RELEASES && state >= ELECTION_LOST)
        loop_end(c, EXIT_FINE);
    else if (state == ELECTION_LOST)
        loop_lost(c);
}

static void follow_with_fence(struct controller *c)
{
    int64_t valid_ms = lease_valid_ms(c->lease), at_ms = c->fence_ms;

    if (c->stage == STAGE_RELEASES) /* all writes are done */
        at_ms = INT64_MAX;
    else if (valid_ms != INT64_MIN)
        at_ms = valid_ms + (c->times.duration_ms - c->times.deadline_ms) / 2;
    if (at_ms != c->fence_ms)
        fence_set(at_ms);
    c->fence_ms = at_ms;
}

static int64_t lease_part(struct controller *c)
{
    int64_t wait_ms;

    if (!c->lease) {
        follow_lease(c);
        return INT64_MAX;
    }
    wait_ms = lease_turn(c->lease);
    follow_with_fence(c); /* before anything is written */
    follow_lease(c);
    return wait_ms;
}

/* ---- what keeps us from working ---- */

static void tell_trouble(struct controller *c)
{
    struct err e = { 0 };
    const struct err *lease = c->lease && c->stage == STAGE_WAITS ? lease_trouble(c->lease) : NULL;
    bool is_troubled = lease || (c->door && cluster_kube_trouble(c->door, &e)) ||
                       (c->others_door && cluster_kube_trouble(c->others_door, &e));

    if (lease && lease->code != ERR_CONFLICT && lease->code != ERR_EXISTS) /* those are how it is decided */
        e = *lease;
    if (e.code == ERR_OK && !is_troubled) {
        if (c->told.code != ERR_OK)
            log_info("API server answers again", LOG_STR("server", c->config.server));
        c->told.code = ERR_OK;
        c->trouble_ms = 0;
    } else if (e.code != ERR_OK && !c->trouble_ms) {
        c->trouble_ms = loop_mono() + TROUBLE_MS;
    } else if (e.code != ERR_OK && loop_mono() >= c->trouble_ms &&
               (c->told.code == ERR_OK || strcmp(e.text, c->told.text) != 0)) {
        log_warn(
            "API request failed", LOG_TEXT("error", e.text),
            LOG_TEXT("advice", e.code == ERR_FORBIDDEN
                                   ? "the roles it needs: pumice install --dry-run --only roles | kubectl apply -f -"
                                   : "retrying"));
        c->told = e;
    }
}

static uint64_t count_throttled(const struct controller *c)
{
    struct cluster *const doors[] = { c->door, c->others_door, c->lease_door };
    uint64_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(doors); i++) {
        struct kube_stats s = { 0 };

        if (doors[i])
            cluster_kube_stats(doors[i], &s);
        n += s.busy;
    }
    return n;
}

/* Everything works, but slower than it could: who wonders why should find it. */
static void tell_throttling(struct controller *c)
{
    uint64_t n = count_throttled(c);

    if (n != c->n_throttled && !c->throttled_ms) {
        log_warn("API server throttles requests (429 Too Many Requests)", LOG_INT("answers", (int64_t)n),
                 LOG_TEXT("advice", "give it its own FlowSchema: docs/controller.md, Throttling"));
        if (c->driver)
            driver_warn(
                c->driver, STR("Throttled"),
                STR("API server throttles requests (429 Too Many Requests): jobs take longer; see docs/controller.md"));
    } else if (n == c->n_throttled && c->throttled_ms && loop_mono() >= c->throttled_ms + THROTTLED_MS) {
        log_info("API server no longer throttles requests", LOG_INT("answers", (int64_t)n));
        c->throttled_ms = 0;
    }
    if (n != c->n_throttled)
        c->throttled_ms = loop_mono();
    c->n_throttled = n;
}

static void tell_lacks(struct controller *c)
{
    const struct known_types *k = known_types();
    const struct resource_type *needed[] = { k->job, k->group, k->queue, k->command };
    bool lacks = false;

    for (size_t i = 0; c->door && i < ARRAY_LEN(needed); i++) {
        if (!cluster_kube_lacks(c->door, needed[i]))
            continue;
        lacks = true;
        if (!c->told_lacks)
            log_error("Cluster does not serve a kind that is needed", LOG_TEXT("kind", needed[i]->kind),
                      LOG_TEXT("group", needed[i]->group),
                      LOG_TEXT("advice", "pumice install --dry-run --only crds | kubectl apply -f -"));
    }
    c->told_lacks = lacks;
}

/* Those of --native-podgroups. A cluster that never had them is refused, as at the start; one that has lost them may get
 * them back, and until then its pods are left as they are. */
static void tell_native(struct controller *c)
{
    const struct known_types *k = known_types();
    struct driver_stats s = { 0 };
    bool lacks;

    if (!c->o->native_groups || c->stage != STAGE_LEADS)
        return;
    driver_stats(c->driver, &s);
    lacks = cluster_kube_lacks(c->door, k->native_workload) || cluster_kube_lacks(c->door, k->native_group);
    if (lacks && !c->lacks_native)
        log_error("Cluster does not serve the PodGroup API; jobs without a PodGroup wait",
                  LOG_STR("api", native_api_version(c->arena)), LOG_TEXT("advice", NATIVE_ADVICE));
    c->lacks_native = lacks;
    if (lacks && !c->had_native)
        loop_end(c, EXIT_FAILED);
    c->had_native |= s.is_synced && !lacks;
}

/* ---- the end ---- */

static void loop_stop(struct controller *c)
{
    if (c->stage == STAGE_WAITS || c->stage >= STAGE_STOPS) {
        loop_end(c, c->stage == STAGE_WAITS ? EXIT_FINE : EXIT_FAILED);
        return;
    }
    driver_stop(c->driver);
    loop_enter(c, STAGE_STOPS, STOP_MS);
}

static void loop_take_signals(struct controller *c)
{
    int number;

    while ((number = signals_next(c->signal_fd)) > 0) {
        log_info("Stopping", LOG_TEXT("signal", sigabbrev_np(number)));
        loop_stop(c);
    }
}

/* The Lease is released only after the last request was answered: the next leader begins at once. */
static void loop_advance(struct controller *c)
{
    struct driver_stats s = { 0 };

    if (c->stage == STAGE_STOPS) {
        driver_stats(c->driver, &s);
        if (s.in_flight && loop_mono() < c->stage_ms)
            return;
        if (!c->lease || s.in_flight) {
            loop_end(c, EXIT_FINE);
            return;
        }
        lease_release(c->lease);
        loop_enter(c, STAGE_RELEASES, RELEASE_MS);
        follow_with_fence(c);
    } else if (c->stage == STAGE_RELEASES && loop_mono() >= c->stage_ms) {
        loop_end(c, EXIT_FINE);
    }
}

/* ---- turns ---- */

enum { WAIT_DOOR, WAIT_OTHERS, WAIT_LEASE, WAIT_SIGNAL, WAIT_STATUS, WAIT_WEBHOOK, WAIT_MAX };

static void loop_sleep_for(struct controller *c, int64_t ms)
{
    struct pollfd p[WAIT_MAX] = {
        [WAIT_DOOR] = { .fd = c->door ? cluster_kube_fd(c->door) : -1, .events = POLLIN },
        [WAIT_OTHERS] = { .fd = c->others_door ? cluster_kube_fd(c->others_door) : -1, .events = POLLIN },
        [WAIT_LEASE] = { .fd = c->lease ? cluster_kube_fd(c->lease_door) : -1, .events = POLLIN },
        [WAIT_SIGNAL] = { .fd = c->signal_fd, .events = POLLIN },
        [WAIT_STATUS] = { .fd = c->status ? http_server_fd(c->status) : -1, .events = POLLIN },
        [WAIT_WEBHOOK] = { .fd = c->webhook ? webhook_fd(c->webhook) : -1, .events = POLLIN },
    };

    (void)poll(p, WAIT_MAX, (int)MAX_OF(MIN_OF(ms, (int64_t)SLEEP_MAX_MS), 0));
    if (p[WAIT_STATUS].revents)
        http_server_turn(c->status);
    if (p[WAIT_SIGNAL].revents)
        loop_take_signals(c);
}

/* The name is an option's, whatever the file says. */
static bool has_new_settings(struct controller *c)
{
    struct str name = c->sched.scheduler_name;

    if (!config_watch_turn(&c->watch, &c->sched))
        return false;
    c->sched.scheduler_name = name;
    c->sched.waits_for_volumes = true;
    return true;
}

static int64_t driver_part(struct controller *c)
{
    bool is_fresh = has_new_settings(c), is_busy = false;
    int64_t due_ms;

    if (!c->driver || c->stage == STAGE_OVER)
        return INT64_MAX;
    if (is_fresh && c->o->scheduler)
        driver_configure(c->driver, &c->sched);
    if (c->o->scheduler)
        config_watch_tell(&c->watch, c->driver);
    due_ms = driver_turn(c->driver, &is_busy);
    if (is_busy) {
        c->settle_ms = loop_mono() + SETTLE_MS;
        /* Events of many pods come one at a time, and waking up costs as much as handling one. So events that come while
         * there is work gather for a moment; the first event after a rest is handled at once. */
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ 0, COALESCE_US * 1000 }, NULL);
        return 0;
    }
    return due_ms == INT64_MAX ? due_ms : MAX_OF(due_ms - cluster_now_ms(c->door), 0);
}

static int64_t loop_until(int64_t at_ms)
{
    return at_ms == INT64_MAX ? at_ms : MAX_OF(at_ms - loop_mono(), 0);
}

/* At rest. Returns how long until then. */
static int64_t settle_part(struct controller *c)
{
    if (loop_mono() >= c->settle_ms) {
        memory_settle();
        c->settle_ms = INT64_MAX;
    }
    return loop_until(c->settle_ms);
}

int controller_loop(struct controller *c)
{
    while (c->stage != STAGE_OVER) {
        enum controller_stage before = c->stage;
        int64_t wait_ms = lease_part(c);

        wait_ms = MIN_OF(wait_ms, driver_part(c));
        if (c->webhook)
            wait_ms = MIN_OF(wait_ms, webhook_turn(c->webhook));
        wait_ms = MIN_OF(wait_ms, settle_part(c));
        tell_trouble(c);
        tell_throttling(c);
        tell_lacks(c);
        tell_native(c);
        loop_advance(c);
        follow_lease(c); /* planning may have taken its time */
        wait_ms = MIN_OF(wait_ms, loop_until(c->stage_ms));
        wait_ms = MIN_OF(wait_ms, loop_until(config_watch_due_ms(&c->watch)));
        if (c->stage != STAGE_OVER)
            loop_sleep_for(c, c->stage == before ? wait_ms : 0);
    }
    return c->exit_status;
}
