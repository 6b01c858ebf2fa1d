/* throttle.h - rate limits per client, so that one client cannot starve the others
 *
 * Requests count for their user and for their address: a client is a user at any address, and an address with any user.
 * Loopback and UNIX sockets are shared by all users of this machine and do not count as addresses. Each client has a
 * maximum of concurrent requests, and a rate with a burst. Watches and streams have a maximum of their own, because
 * they last. A rejected request gets 429 with Retry-After.
 *
 * All clients together have a maximum of concurrent requests too. As the server fills up, requests of clients with more
 * than an equal share are rejected; a client that fills the server does not block the first request of another.
 *
 * Administrators (system:masters) are not limited, as in Kubernetes, so that a full server can be inspected.
 * Memory is bounded: idle clients are forgotten.
 */
#ifndef AUTH_THROTTLE_H
#define AUTH_THROTTLE_H

#include "auth/identity.h"

struct throttle;

struct throttle_limits { /* 0: as written here */
    unsigned per_client; /* requests at a time: 200 */
    unsigned streams;    /* watches and streams at a time, of one client: 1000 */
    unsigned total;      /* requests at a time, of all: 600 */
    unsigned rate;       /* requests a second, of one client: 500 */
    unsigned burst;      /* and at once: 1000 */
    unsigned failures;   /* wrong credentials a minute, of one address: 60 */
};

enum throttle_kind { THROTTLE_REQUEST, THROTTLE_STREAM };

struct throttle *throttle_new(const struct throttle_limits *limits); /* NULL: as written above */
/* New limits; requests in progress are not affected. */
void throttle_set_limits(struct throttle *t, const struct throttle_limits *limits);
void throttle_free(struct throttle *t); /* NULL is fine */

/* A request of the ticket's kind begins. 0: go on, and call throttle_end() with the ticket, once; else seconds to wait:
 * 429. */
struct throttle_ticket {
    enum throttle_kind kind;
    uint64_t user, address; /* private */
    bool is_taken;
};
int throttle_begin(struct throttle *t, const struct identity *who, struct str address, int64_t mono_ms,
                   struct throttle_ticket *ticket);
void throttle_end(struct throttle *t, struct throttle_ticket *ticket); /* no effect if it was rejected or has ended */

/* Limits guesses of credentials. 0, or the seconds that this address must wait. Call it before credentials are checked,
 * and report each failure. */
int throttle_guesses(struct throttle *t, struct str address, int64_t mono_ms);
void throttle_failed(struct throttle *t, struct str address, int64_t mono_ms);

struct throttle_stats {
    size_t clients;
    unsigned in_flight, streams;
    uint64_t refused;
};
struct throttle_stats throttle_stats(const struct throttle *t);

#endif
