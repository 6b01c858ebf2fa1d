/* lease.h - leader election over a cluster: an election (election.h) and the Lease it is about
 *
 * Give it a door of its own, so that a renewal never waits behind thousands of writes. lease_turn() takes the answers
 * and sends what is due; call it when the door may have news, and at the time it returns.
 *
 * A leader must ask lease_is_valid() at the moment a write leaves, not earlier: the program may be stopped between any
 * two of its lines, and the machine may sleep.
 */
#ifndef KUBE_LEASE_H
#define KUBE_LEASE_H

#include "cluster/cluster.h"
#include "kube/election.h"

struct clock;

struct lease_options {
    struct cluster *cluster;    /* stays the caller's */
    struct str namespace, name; /* of the Lease; copied, as is: */
    struct str identity;        /* of this process and no other; empty: host name and a random uuid */
    struct election_times times;
    struct clock *clock; /* NULL: the real one, that goes on while the machine sleeps */
    uint64_t seed;       /* 0: from the operating system */
};

struct lease;

struct lease *lease_new(const struct lease_options *opt);
void lease_free(struct lease *l);

/* Milliseconds until the next turn is due even if no news come; INT64_MAX: none is. */
int64_t lease_turn(struct lease *l);

bool lease_is_valid(const struct lease *l);
int64_t lease_valid_ms(const struct lease *l); /* until then, of its clock; INT64_MIN: it may not write */
enum election_state lease_state(struct lease *l);

/* Stop writing and let another have it: turns go on until the state is ELECTION_OVER, or patience ends. */
void lease_release(struct lease *l);

struct str lease_identity(const struct lease *l);
struct str lease_holder(const struct lease *l); /* as seen last; empty: none, or unknown */
int64_t lease_transitions(const struct lease *l);

/* Why the last request failed; NULL: it did not. In the state lost: the request that it waited for. */
const struct err *lease_trouble(const struct lease *l);

#endif
