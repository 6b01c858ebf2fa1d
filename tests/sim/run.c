/* run.c - one seed from beginning to end: steps with faults, then rest */
#include "world.h"

#include <inttypes.h>

/* Mostly short, sometimes long enough for every timer to run out. */
static int64_t random_pause(struct world *w)
{
    int64_t dice = world_between(w, 0, 99);

    if (dice < 20)
        return 0;
    if (dice < 45)
        return world_between(w, 1, 50);
    if (dice < 75)
        return world_between(w, 50, 3 * SECOND_MS);
    if (dice < 95)
        return world_between(w, 3 * SECOND_MS, 60 * SECOND_MS);
    return world_between(w, MINUTE_MS, 10 * MINUTE_MS);
}

static void crash_step(struct world *w)
{
    struct controller *c = &w->controllers[world_between(w, 0, w->profile.controllers - 1)];

    if (world_chance(w, 40)) {
        world_crash(w, c, world_between(w, 0, 10 * SECOND_MS));
        return;
    }
    c->crash_at = c->writes + (uint64_t)world_between(w, 1, 8); /* between two writes of one turn, as likely as not */
    c->crash_after = world_chance(w, 50);
}

static void jump_step(struct world *w)
{
    int64_t by = world_between(w, -5 * MINUTE_MS, 5 * MINUTE_MS);
    bool is_soon = world_ms(w) - w->jumped_ms < ON_WAY_MS; /* what was sent before the last jump may still come */

    world_log(w, "clock", "jumps by %" PRId64 " ms", by);
    w->ahead_ms = MAX_OF((is_soon ? w->ahead_ms : 0) - by, 0);
    clock_manual_set(&w->clock, clock_now_ms(&w->clock.clock) + by);
    w->jumped_ms = world_ms(w);
    clock_manual_advance(&w->clock, 1); /* what is sent after it is not sent before it */
}

static void outage_step(struct world *w)
{
    int64_t ms = world_between(w, SECOND_MS, 5 * MINUTE_MS);

    world_log(w, "fault", "nobody reaches the API server for %" PRId64 " ms", ms);
    w->n_faults++;
    sim_net_outage(w->net, world_ms(w) + ms);
}

static void step(struct world *w)
{
    const struct profile *p = &w->profile;

    w->steps++;
    if (world_chance(w, p->crash))
        crash_step(w);
    else if (world_chance(w, p->outage))
        outage_step(w);
    else if (world_chance(w, p->jump))
        jump_step(w);
    else if (world_chance(w, 30))
        user_step(w);
    else if (world_chance(w, 50))
        node_step(w);
    else if (world_chance(w, 15))
        placer_step(w);
    else if (!p->has_placer && !p->is_exact && world_chance(w, 40))
        fleet_step(w);
    if (!world_is_broken(w))
        world_run(w, world_ms(w) + random_pause(w));
    placing_step(w);
}

int run_seed(struct world *w, uint64_t seed, unsigned steps, const char *profile, bool is_verbose)
{
    struct profile p = profile_pick(seed, profile);

    world_init(w, seed, &p, is_verbose);
    world_log(w, "sim", "seed %" PRIu64 ", profile %s%s", seed, p.has_placer ? "placer/" : "", w->profile.name);
    for (unsigned i = 0; i < steps && !world_is_broken(w); i++)
        step(w);
    if (!world_is_broken(w))
        world_settle(w);
    return world_is_broken(w) ? -1 : 0;
}
