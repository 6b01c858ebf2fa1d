/* election.h - who of several may write: what to do about a Lease, and when
 *
 * Leader election as Kubernetes' own components do it (and together with them, on the same Lease): one object names the
 * holder, who renews it every 'retry_ms'; whoever sees it unchanged for as long as it says ('duration_ms') may take it.
 *
 *     candidate   reads it every now and then. It is absent: creates it. Nobody holds it, or the holder has not renewed
 *                 it for its duration: writes itself into it. Two who try at once: one of them gets a conflict
 *     leader      renews. Its right to write ends 'deadline_ms' after it SENT the last renewal that worked, which is
 *                 earlier than 'duration_ms' after the server took it: so it ends before another may begin
 *     lost        the right has ended, or somebody else holds the Lease. There is no way back: begin anew
 *
 * Nobody's clock is compared with another's: a change is timed from when it was seen here, and the times in the Lease
 * are for people. All times are of one clock that only goes forward, also while the machine sleeps.
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

/* ERR_INVALID: they make no sense together; 'e' says which. */
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
    ELECTION_RELEASES /* the same: held by nobody */
};

enum election_state {
    ELECTION_CANDIDATE,
    ELECTION_LEADER,
    ELECTION_LOST,
    ELECTION_OVER, /* released */
};

struct election {
    struct election_times times;
    struct str identity; /* borrowed; of nobody else, ever */
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

/* What to send now. The step counts as sent at 'now_ms'. */
enum election_step election_step(struct election *e, int64_t now_ms);

/* What a write is to say; 'now' is the wall clock as text, for people. */
struct lease_record election_record(const struct election *e, struct str now);

/* The answer to a read; NULL: there is no Lease. */
void election_saw(struct election *e, const struct lease_record *r, int64_t now_ms);
/* A write worked: the Lease after it. */
void election_wrote(struct election *e, const struct lease_record *r, int64_t now_ms);
/* A read or write did not, or nobody knows. */
void election_failed(struct election *e, int64_t now_ms);

/* Time has passed: a leader whose right has ended becomes LOST. */
enum election_state election_state(struct election *e, int64_t now_ms);

/* May it write at this moment? */
static inline bool election_is_valid(const struct election *e, int64_t now_ms)
{
    return e->state == ELECTION_LEADER && !e->releases && now_ms < e->valid_ms;
}

/* Give it up: it does not write any more, and says so, so that another need not wait. Nothing that was written before
 * may be on its way still. */
void election_release(struct election *e);

/* When to ask again if nothing happens; INT64_MAX: never. */
int64_t election_due_ms(const struct election *e);

#endif
