/* throttle.c - rate limits per client */
#include "auth/throttle.h"

#include "base/map.h"
#include "base/util.h"

enum { CLIENTS_MAX = 8192, SWEEP_MS = 1000, MILLI = 1000, WAIT_MAX_S = 60 };

struct throttle_client {
    uint64_t key;
    unsigned in_flight, streams;
    int64_t tokens_milli, at_ms; /* of the rate */
    int64_t guesses_milli, guess_ms;
};

struct throttle {
    struct throttle_limits limits;
    uint64_t seed;
    struct map_u64 clients;
    int64_t swept_ms; /* when idle ones were looked for: with none to find each request would look at all */
    unsigned in_flight, streams;
    size_t n_busy; /* clients by name that have requests in flight */
    uint64_t refused;
};

void throttle_set_limits(struct throttle *t, const struct throttle_limits *limits)
{
    struct throttle_limits l = limits ? *limits : (struct throttle_limits){ 0 };

    t->limits = (struct throttle_limits){ .per_client = l.per_client ? l.per_client : 200,
                                          .streams = l.streams ? l.streams : 1000,
                                          .total = l.total ? l.total : 600,
                                          .rate = l.rate ? l.rate : 500,
                                          .burst = l.burst ? l.burst : 1000,
                                          .failures = l.failures ? l.failures : 60 };
}

struct throttle *throttle_new(const struct throttle_limits *limits)
{
    struct throttle *t = xcalloc(1, sizeof(*t));

    throttle_set_limits(t, limits);
    t->swept_ms = -SWEEP_MS;
    t->seed = map_seed_default();
    map_u64_init(&t->clients, t->seed);
    return t;
}

void throttle_free(struct throttle *t)
{
    if (!t)
        return;
    MAP_FOREACH(struct throttle_client *, c, &t->clients.map)
        free(c);
    map_u64_done(&t->clients);
    free(t);
}

/* ---- clients ---- by a seeded hash, so that a client cannot choose a name that collides with another ---- */

static uint64_t throttle_key_of(const struct throttle *t, char kind, struct str name)
{
    return str_hash(name, t->seed + (uint64_t)(unsigned char)kind) | 1;
}

/* All users of this machine share these addresses. */
static bool is_shared(struct str address)
{
    return str_is(address, "unix") || str_is(address, "::1") || str_starts(address, STR("127."));
}

/* Before a request looks for its two: what they found must stay. */
static void throttle_make_room(struct throttle *t, int64_t now_ms)
{
    int64_t full_ms = (int64_t)t->limits.burst * MILLI / t->limits.rate;

    if (t->clients.map.n + 2 <= CLIENTS_MAX || now_ms < t->swept_ms + SWEEP_MS)
        return;
    t->swept_ms = now_ms;
    MAP_FOREACH(struct throttle_client *, c, &t->clients.map) {
        bool is_idle = !c->in_flight && !c->streams && now_ms - c->at_ms > full_ms && now_ms - c->guess_ms > 60 * MILLI;

        if (is_idle) {
            map_u64_remove(&t->clients, c->key);
            free(c);
        }
    }
}

/* NULL: there are too many, and all of them are busy. */
static struct throttle_client *client_of(struct throttle *t, uint64_t key, int64_t now_ms)
{
    struct throttle_client *c = map_u64_get(&t->clients, key);

    if (c)
        return c;
    if (t->clients.map.n >= CLIENTS_MAX)
        return NULL;
    c = xcalloc(1, sizeof(*c));
    *c = (struct throttle_client){ .key = key,
                                   .tokens_milli = (int64_t)t->limits.burst * MILLI,
                                   .at_ms = now_ms,
                                   .guesses_milli = (int64_t)t->limits.failures * MILLI,
                                   .guess_ms = now_ms };
    map_u64_put(&t->clients, key, c);
    return c;
}

/* ---- rates ---- */

static void refill(int64_t *milli, int64_t *at_ms, int64_t now_ms, int64_t milli_per_s, int64_t most)
{
    int64_t gone_ms = MAX_OF(now_ms - *at_ms, (int64_t)0);

    *milli = gone_ms > 3600 * MILLI ? most : MIN_OF(most, *milli + gone_ms * milli_per_s / MILLI);
    *at_ms = now_ms;
}

/* Seconds until there is a whole one. */
static int throttle_wait_for(int64_t milli, int64_t milli_per_s)
{
    int64_t lacking = MILLI - milli, s = (lacking + milli_per_s - 1) / MAX_OF(milli_per_s, (int64_t)1);

    return (int)MIN_OF(MAX_OF(s, (int64_t)1), (int64_t)WAIT_MAX_S);
}

static int check_rate(struct throttle *t, struct throttle_client *c, int64_t now_ms)
{
    refill(&c->tokens_milli, &c->at_ms, now_ms, (int64_t)t->limits.rate * MILLI, (int64_t)t->limits.burst * MILLI);
    return c->tokens_milli >= MILLI ? 0 : throttle_wait_for(c->tokens_milli, (int64_t)t->limits.rate * MILLI);
}

/* ---- in flight ---- */

static bool is_over_share(const struct throttle *t, const struct throttle_client *c)
{
    size_t busy = t->n_busy + (c->in_flight == 0);

    if (t->in_flight < t->limits.total / 2)
        return false;
    if (t->in_flight < t->limits.total)
        return c->in_flight >= MAX_OF((size_t)1, t->limits.total / busy);
    return c->in_flight > 0; /* full: a first request still goes, and there are as many of those as clients */
}

static int check_flight(const struct throttle *t, const struct throttle_client *user,
                        const struct throttle_client *address, enum throttle_kind kind)
{
    if (kind == THROTTLE_STREAM)
        return user->streams >= t->limits.streams || address->streams >= t->limits.streams ? 1 : 0;
    if (user->in_flight >= t->limits.per_client || address->in_flight >= t->limits.per_client)
        return 1;
    return is_over_share(t, user) ? 1 : 0;
}

static void throttle_take(struct throttle *t, struct throttle_client *user, struct throttle_client *address,
                          struct throttle_ticket *ticket)
{
    user->tokens_milli -= MILLI;
    if (address != user)
        address->tokens_milli -= MILLI;
    if (ticket->kind == THROTTLE_STREAM) {
        user->streams++;
        address->streams += address != user;
        t->streams++;
        return;
    }
    t->n_busy += user->in_flight == 0;
    user->in_flight++;
    address->in_flight += address != user;
    t->in_flight++;
}

static int throttle_refuse(struct throttle *t, int seconds)
{
    t->refused++;
    return seconds;
}

int throttle_begin(struct throttle *t, const struct identity *who, struct str address, int64_t mono_ms,
                   struct throttle_ticket *ticket)
{
    struct throttle_client *user, *place;
    int wait;

    *ticket = (struct throttle_ticket){ .kind = ticket->kind };
    if (identity_has_group(who, STR(GROUP_MASTERS)))
        return 0;
    throttle_make_room(t, mono_ms);
    ticket->user = throttle_key_of(t, 'u', who->user);
    ticket->address = is_shared(address) ? ticket->user : throttle_key_of(t, 'a', address);
    user = client_of(t, ticket->user, mono_ms);
    place = user ? client_of(t, ticket->address, mono_ms) : NULL;
    if (!place)
        return throttle_refuse(t, 1);
    wait = check_rate(t, user, mono_ms);
    wait = MAX_OF(wait, check_rate(t, place, mono_ms));
    wait = MAX_OF(wait, check_flight(t, user, place, ticket->kind));
    if (wait)
        return throttle_refuse(t, wait);
    ticket->is_taken = true;
    throttle_take(t, user, place, ticket);
    return 0;
}

void throttle_end(struct throttle *t, struct throttle_ticket *ticket)
{
    struct throttle_client *user = map_u64_get(&t->clients, ticket->user),
                           *place = map_u64_get(&t->clients, ticket->address);

    if (!ticket->is_taken)
        return;
    ticket->is_taken = false;
    if (ticket->kind == THROTTLE_STREAM) {
        user->streams--;
        place->streams -= place != user;
        t->streams--;
        return;
    }
    user->in_flight--;
    place->in_flight -= place != user;
    t->in_flight--;
    t->n_busy -= user->in_flight == 0;
}

/* ---- guessing ---- */

int throttle_guesses(struct throttle *t, struct str address, int64_t mono_ms)
{
    struct throttle_client *c;

    if (is_shared(address))
        return 0;
    c = map_u64_get(&t->clients, throttle_key_of(t, 'a', address));
    if (!c)
        return 0;
    refill(&c->guesses_milli, &c->guess_ms, mono_ms, (int64_t)t->limits.failures * MILLI / 60,
           (int64_t)t->limits.failures * MILLI);
    return c->guesses_milli >= MILLI
               ? 0
               : throttle_refuse(t, throttle_wait_for(c->guesses_milli, (int64_t)t->limits.failures * MILLI / 60));
}

void throttle_failed(struct throttle *t, struct str address, int64_t mono_ms)
{
    struct throttle_client *c;

    throttle_make_room(t, mono_ms);
    c = is_shared(address) ? NULL : client_of(t, throttle_key_of(t, 'a', address), mono_ms);
    if (!c)
        return;
    refill(&c->guesses_milli, &c->guess_ms, mono_ms, (int64_t)t->limits.failures * MILLI / 60,
           (int64_t)t->limits.failures * MILLI);
    c->guesses_milli = MAX_OF(c->guesses_milli - MILLI, (int64_t)0);
}

struct throttle_stats throttle_stats(const struct throttle *t)
{
    return (struct throttle_stats){ t->clients.map.n, t->in_flight, t->streams, t->refused };
}
