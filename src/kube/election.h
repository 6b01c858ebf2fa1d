/* election.h - leader election: what to do with a Lease, and when
 *
 * Works as in the components of Kubernetes, and with them on the same Lease: the object names its holder, who renews it
 * every 'retry_ms'. A candidate that has seen no change for 'duration_ms' of the Lease may take it.
 *
 *     candidate   reads it periodically. Creates it if it is absent. Takes it if it has no holder, or if the holder has
 *                 not renewed it for its duration. Of two that try at once, one gets a conflict
 *     leader      renews. Its right to write ends 'deadline_ms' after it SENT the last renewal that worked, which is
 *                 earlier than 'duration_ms' after the server took it: so it ends before another may begin
 *     lost        the right has ended, or another holds the Lease. This state is final: start a new election
 *
 * Clocks of different machines are not compared: a change is timed from when it was seen here, and the times in the
 * Lease are for people. All times are of one clock that only goes forward, also while the machine sleeps.
 *
 * Pure: what is sent, and what came of it, is the caller's business (lease.h).
 *
 *     while ((step = election_step(&e, now)) != ELECTION_WAITS) { send it; election_saw / _wrote / _failed }
 *     election_due_ms(&e)                                     when to ask again
 */
#ifndef KUBE_ELECTION_H
#define KUBE_ELECTION_H

#include "base/buf.h"
#include "base/err.h"
#include "base/rand.h"

struct election_times {
    int64_t duration_ms, deadline_ms, retry_ms; /* 15 s, 10 s, 2 s */
};

/* ERR_INVALID: they contradict each other; 'e' says which. */
int election_times_check(const struct election_times *t, struct err *e);

struct lease_record { /* what stands in a Lease; text is borrowed */
    struct str holder;
    int64_t duration_ms; /* as the holder says */
    struct str acquired; /* when, as text: kept as long as the holder is the same */
    int64_t transitions;
    struct str renewed;
    uint64_t rev;
};

enum election_step {
    ELECTION_WAITS, /* for an answer, or for time */
    ELECTION_READS,
    ELECTION_CREATES, /* the Lease, held by us */
    ELECTION_UPDATES, /* the Lease of 'rev': held by us */
    ELECTION_RELEASES /* the same: without a holder */
};

enum election_state {
    ELECTION_CANDIDATE,
    ELECTION_LEADER,
    ELECTION_LOST,
    ELECTION_OVER, /* released */
};

struct election {
    struct election_times times;
    struct str identity; /* borrowed; unique forever */
    enum election_state state;
    enum election_step flight; /* what has been asked for and not answered */
    int64_t sent_ms, due_ms;
    int64_t valid_ms; /* LEADER: may write before this */
    bool must_read;   /* what stands there is not known */
    bool is_second;   /* the last write failed and is tried again at once; not a third time */
    bool is_absent, releases;

    struct buf holder, acquired, renewed; /* as seen last */
    int64_t duration_ms, transitions;
    uint64_t rev;
    int64_t seen_ms; /* since when it has been like this; -1: never seen */
    struct rand rand;
};

void election_init(struct election *e, struct str identity, const struct election_times *times, uint64_t seed);
void election_done(struct election *e);

/* The next request. The step counts as sent at 'now_ms'. */
enum election_step election_step(struct election *e, int64_t now_ms);

/* What a write is to say; 'now' is the wall clock as text, for people. */
struct lease_record election_record(const struct election *e, struct str now);

/* The answer to a read; NULL: there is no Lease. */
void election_saw(struct election *e, const struct lease_record *r, int64_t now_ms);
/* A write worked: the Lease after it. */
void election_wrote(struct election *e, const struct lease_record *r, int64_t now_ms);
/* A read or write failed, or its outcome is unknown. */
void election_failed(struct election *e, int64_t now_ms);

/* Time has passed: a leader whose right has ended becomes LOST. */
enum election_state election_state(struct election *e, int64_t now_ms);

/* May it write at this moment? */
static inline bool election_is_valid(const struct election *e, int64_t now_ms)
{
    return e->state == ELECTION_LEADER && !e->releases && now_ms < e->valid_ms;
}

/* Release the Lease, so that another candidate need not wait. No earlier write may be in flight. */
void election_release(struct election *e);

/* When to ask again if nothing happens; INT64_MAX: never. */
int64_t election_due_ms(const struct election *e);

#endif
