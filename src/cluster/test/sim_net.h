/* sim_net.h - cluster_sim: a store behind a bad network, on a virtual clock, from a seed
 *
 * All clients of one simulation share a network (struct sim_net): it carries their requests to the store and, by chance
 * from its seed, delays, refuses or loses them. Each client has a watch for each type it wants; within one watch the
 * order of changes is kept, between watches anything goes. With all faults 0 it behaves as cluster_embedded does.
 *
 * Time only moves when the owner moves the manual clock. Everything that is to happen later is due on its mono time:
 * ask sim_net_due_ms() and cluster_sim_due_ms(), move the clock there, call sim_net_run() and take the clients' events.
 *
 * A request that was sent outlives its client: a program that crashed cannot call back what is already on the wire.
 */
#ifndef CLUSTER_TEST_SIM_NET_H
#define CLUSTER_TEST_SIM_NET_H

#include "base/clock.h"
#include "cluster/cluster.h"

struct store;
struct sim_net;

enum { SIM_CHANCE = 10000 }; /* all chances are out of this */

struct sim_faults {
    int64_t latency_ms; /* every request, answer and event takes 0 … this long */
    /* watch events */
    uint32_t late, doubled,
        broken;              /* held back; told twice; the watch breaks here and everything is listed again later */
    int64_t late_ms, gap_ms; /* at most this long */
    /* writes and reads */
    uint32_t slow;                 /* on its way for up to slow_ms */
    uint32_t conflict;             /* another writer comes first (updates) */
    uint32_t refused;              /* an error at once; no effect */
    uint32_t request_lost;         /* no answer; no effect */
    uint32_t answer_lost;          /* no answer; it took effect */
    uint32_t answer_lost_too_soon; /* no answer; it takes effect after the client gave up */
    uint32_t quota;                /* creates of pods: forbidden */
    int64_t slow_ms, timeout_ms;   /* timeout_ms: when a client gives up waiting */
};

/* What a client's write meets: it goes on, or the client crashes right before or right after sending it. */
enum sim_fate { SIM_GO, SIM_CRASH_BEFORE, SIM_CRASH_AFTER };

struct sim_hooks { /* for the owner's eyes; any may be NULL */
    void *ctx;
    enum sim_fate (*on_send)(void *ctx, uint32_t client, const struct op *op, uint64_t token);
    void (*on_read)(void *ctx, uint32_t client, const struct resource_type *type, struct str name, uint64_t token);
    /* The write was tried on the store; 'e' is NULL when it worked. */
    void (*on_effect)(void *ctx, uint32_t client, const struct op *op, const struct err *e);
    void (*on_event)(void *ctx, uint32_t client, const struct cluster_event *ev);        /* about to be handed over */
    void (*on_fault)(void *ctx, uint32_t client, const char *what, const struct op *op); /* op: of a write */
};

struct sim_options {
    struct store *store;
    struct clock_manual *clock;
    uint64_t seed;
    const struct sim_faults *faults; /* looked at whenever it matters, so the owner may change it; NULL: none */
    struct sim_hooks hooks;
};

struct sim_net *sim_net_new(const struct sim_options *opt); /* store, clock and faults must outlive it */
void sim_net_free(struct sim_net *net);                     /* after its clients; NULL is fine */

int64_t sim_net_due_ms(const struct sim_net *net); /* mono time of the next request to arrive; INT64_MAX: none */
void sim_net_run(struct sim_net *net);             /* requests that are due reach the store */

/* From now to 'until_ms' (mono) nobody reaches the API server, and all watches break. */
void sim_net_outage(struct sim_net *net, int64_t until_ms);

/* A client; 'id' is what the hooks get. */
struct cluster *cluster_sim_new(struct sim_net *net, uint32_t id);
int64_t cluster_sim_due_ms(struct cluster *c); /* mono time of its next event; INT64_MAX: none known */
bool cluster_sim_is_dead(struct cluster *c);   /* a hook said crash: it takes no more writes and gives no more events */

#endif
