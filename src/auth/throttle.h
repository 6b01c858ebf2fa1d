/* throttle.h - how much one client may ask, so that there is something left for the others
 *
 * Counted by who asks and by where from, both: many names behind one address and many addresses of one name are each
 * one client. Loopback and UNIX sockets are everybody's on this machine, and count for nobody. Each has a number of
 * requests at a time, and a rate with a burst. Watches and streams count as requests in flight of their own kind, since
 * they last. Whoever is refused is told when to come again (429, Retry-After).
 *
 * Everybody together has a number of requests in flight as well. As it fills up, whoever has more than an equal share of
 * it is refused, and whoever has less is not: one client that fills the server does not stop another's first request.
 *
 * Administrators (system:masters) are not limited, as in Kubernetes: a server that is full can still be looked at, and
 * whoever has its keys need not ask it.
 * Memory is bounded: clients that ask for nothing any more are forgotten.
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
/* From now on; what was begun goes on. */
void throttle_set_limits(struct throttle *t, const struct throttle_limits *limits);
void throttle_free(struct throttle *t); /* NULL is fine */

/* A request begins. 0: go on, and call throttle_end() with the ticket, once; else seconds to wait: 429. */
struct throttle_ticket {
    uint64_t user, address; /* private */
    enum throttle_kind kind;
    bool is_taken;
};
int throttle_begin(struct throttle *t, const struct identity *who, struct str address, enum throttle_kind kind,
                   int64_t mono_ms, struct throttle_ticket *ret);
void throttle_end(struct throttle *t, struct throttle_ticket *ticket); /* one that was refused, or ended: nothing */

/* Wrong credentials: guessing is slow. 0, or seconds that this address has to wait before it is listened to. Ask before
 * looking at credentials, and tell of each that were wrong. */
int throttle_guesses(struct throttle *t, struct str address, int64_t mono_ms);
void throttle_failed(struct throttle *t, struct str address, int64_t mono_ms);

struct throttle_stats {
    size_t clients;
    unsigned in_flight, streams;
    uint64_t refused;
};
struct throttle_stats throttle_stats(const struct throttle *t);

#endif
