/* election.c - from the state of a Lease and the time to the next step */
#include "kube/election.h"

#include "base/util.h"

int election_times_check(const struct election_times *t, struct err *e)
{
    if (t->retry_ms < 1)
        return err_set(e, ERR_INVALID, "the retry period must be greater than 0");
    if (t->duration_ms < 1000)
        return err_set(e, ERR_INVALID, "the lease duration must be at least 1 s");
    if (t->deadline_ms >= t->duration_ms)
        return err_set(
            e, ERR_INVALID,
            "the renew deadline (%lld ms) must be shorter than the lease duration (%lld ms), or two would lead",
            (long long)t->deadline_ms, (long long)t->duration_ms);
    if (t->deadline_ms * 10 <= t->retry_ms * 12) /* the longest wait between two tries */
        return err_set(e, ERR_INVALID,
                       "the renew deadline (%lld ms) must be longer than 1.2 retry periods (%lld ms each)",
                       (long long)t->deadline_ms, (long long)t->retry_ms);
    return 0;
}

void election_init(struct election *e, struct str identity, const struct election_times *times, uint64_t seed)
{
    *e = (struct election){ .times = *times, .identity = identity, .seen_ms = -1, .must_read = true };
    e->due_ms = INT64_MIN;
    rand_seed(&e->rand, seed);
}

void election_done(struct election *e)
{
    buf_done(&e->holder);
    buf_done(&e->acquired);
    buf_done(&e->renewed);
}

/* ---- what is there ---- */

static bool election_is_same(const struct election *e, const struct lease_record *r)
{
    return e->seen_ms >= 0 && !e->is_absent && str_eq(buf_view(&e->holder), r->holder) &&
           str_eq(buf_view(&e->acquired), r->acquired) && str_eq(buf_view(&e->renewed), r->renewed) &&
           e->duration_ms == r->duration_ms && e->transitions == r->transitions;
}

static void election_put(struct buf *to, struct str text)
{
    buf_reset(to);
    buf_str(to, text);
}

/* Only a change of what it says starts the time anew: a new label is no sign of life. */
static void election_note(struct election *e, const struct lease_record *r, int64_t now_ms)
{
    e->rev = r->rev;
    if (election_is_same(e, r))
        return;
    election_put(&e->holder, r->holder);
    election_put(&e->acquired, r->acquired);
    election_put(&e->renewed, r->renewed);
    e->duration_ms = r->duration_ms;
    e->transitions = r->transitions;
    e->is_absent = false;
    e->seen_ms = now_ms;
}

static bool election_is_ours(const struct election *e)
{
    return e->seen_ms >= 0 && !e->is_absent && str_eq(buf_view(&e->holder), e->identity);
}

/* ---- steps ---- */

/* From one to 2.2 periods for candidates, so that they do not all come at once. The leader comes on time. */
static void election_rest(struct election *e, int64_t from_ms)
{
    int64_t ms = e->times.retry_ms;

    if (e->state == ELECTION_CANDIDATE)
        ms += rand_between(&e->rand, 0, ms * 12 / 10);
    e->due_ms = from_ms + ms;
}

static enum election_step write_of(const struct election *e)
{
    if (e->releases)
        return e->is_absent ? ELECTION_WAITS : ELECTION_RELEASES;
    return e->is_absent ? ELECTION_CREATES : ELECTION_UPDATES;
}

enum election_step election_step(struct election *e, int64_t now_ms)
{
    if (e->flight != ELECTION_WAITS || now_ms < e->due_ms || election_state(e, now_ms) >= ELECTION_LOST)
        return ELECTION_WAITS;
    e->flight = e->must_read ? ELECTION_READS : write_of(e);
    e->sent_ms = now_ms;
    return e->flight;
}

struct lease_record election_record(const struct election *e, struct str now)
{
    struct lease_record r = { .holder = e->identity,
                              .duration_ms = e->times.duration_ms,
                              .acquired = now,
                              .renewed = now,
                              .rev = e->rev,
                              .transitions = e->transitions };

    if (e->flight == ELECTION_RELEASES) {
        r.holder = STR("");
        r.duration_ms = 1000;
    } else if (e->flight == ELECTION_CREATES) {
        r.transitions = e->state == ELECTION_LEADER ? e->transitions : 0;
        r.rev = 0;
    } else if (election_is_ours(e)) {
        r.acquired = buf_view(&e->acquired);
    } else {
        r.transitions++;
    }
    return r;
}

/* ---- answers ---- */

void election_saw(struct election *e, const struct lease_record *r, int64_t now_ms)
{
    e->flight = ELECTION_WAITS;
    e->must_read = false;
    e->due_ms = INT64_MIN; /* the next step follows at once, unless … */
    if (!r) {
        e->is_absent = true;
        if (e->releases)
            e->state = ELECTION_OVER;
        return;
    }
    election_note(e, r, now_ms);
    if (e->state == ELECTION_LEADER && !election_is_ours(e)) {
        e->state = ELECTION_LOST;
    } else if (!election_is_ours(e) && e->holder.n &&
               now_ms < e->seen_ms + e->duration_ms) { /* ours: a write of ours whose answer was lost */
        e->must_read = true;
        election_rest(e, now_ms);
    }
}

void election_wrote(struct election *e, const struct lease_record *r, int64_t now_ms)
{
    bool was_release = e->flight == ELECTION_RELEASES;

    e->flight = ELECTION_WAITS;
    e->is_second = false;
    e->due_ms = INT64_MIN;
    election_note(e, r, now_ms);
    if (was_release)
        e->state = ELECTION_OVER;
    if (election_state(e, now_ms) >= ELECTION_LOST) /* an answer that came too late changes nothing */
        return;
    e->valid_ms = e->sent_ms + e->times.deadline_ms;
    if (now_ms >= e->valid_ms) /* a candidate's: it is ours, but must be renewed first */
        return;
    e->state = ELECTION_LEADER;
    if (!e->releases)
        election_rest(e, e->sent_ms);
}

void election_failed(struct election *e, int64_t now_ms)
{
    bool looks = e->flight != ELECTION_READS && e->state == ELECTION_LEADER && !e->is_second;

    e->flight = ELECTION_WAITS;
    e->must_read = true;
    e->is_second = looks;
    if (looks) /* most likely an answer of ours was lost: look, and try once more */
        e->due_ms = INT64_MIN;
    else
        election_rest(e, now_ms);
}

/* ---- asking ---- */

enum election_state election_state(struct election *e, int64_t now_ms)
{
    if (e->state == ELECTION_LEADER && now_ms >= e->valid_ms)
        e->state = ELECTION_LOST;
    return e->state;
}

void election_release(struct election *e)
{
    if (e->state == ELECTION_CANDIDATE)
        e->state = ELECTION_OVER;
    if (e->state != ELECTION_LEADER || e->releases)
        return;
    e->releases = true;
    if (e->flight == ELECTION_WAITS)
        e->due_ms = INT64_MIN;
}

int64_t election_due_ms(const struct election *e)
{
    int64_t due_ms = e->flight == ELECTION_WAITS ? e->due_ms : INT64_MAX;

    if (e->state >= ELECTION_LOST)
        return INT64_MAX;
    return e->state == ELECTION_LEADER ? MIN_OF(due_ms, e->valid_ms) : due_ms;
}
