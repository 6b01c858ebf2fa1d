/* clock.h - what time it is, and times as text
 *
 * Code that needs the time gets a clock from its caller; pure code gets the time itself. Tests and simulations use a
 * manual clock that moves only when told to.
 *
 * Two times, never mixed: 'now' is the wall clock (UTC since 1970), which jumps when it is set; 'mono' only goes
 * forward from an unknown start, for measuring and for time-outs.
 *
 * Times as text are RFC 3339 in UTC, from year 0000 to 9999; Kubernetes' Time has whole seconds, its MicroTime always
 * six digits after the point.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include "base/buf.h"
#include "base/err.h"

struct clock {
    int64_t (*now_us)(struct clock *c);
    int64_t (*mono_us)(struct clock *c);
};

/* The operating system's. */
extern struct clock clock_real;

int64_t clock_now_us(struct clock *c);
int64_t clock_now_ms(struct clock *c);
int64_t clock_mono_us(struct clock *c);
int64_t clock_mono_ms(struct clock *c);

/* ---- a clock that is never set ---- pass '&s.clock' where a clock is wanted ---- */

/* For a program that keeps times it compares later: 'now' is the wall clock at the beginning and what 'mono' has gone
 * since. A clock that is set, or a machine that sleeps, ends no time-out early and delays none. */
struct clock_steady {
    struct clock clock, *from;
    int64_t ahead_us; /* of 'mono' */
};

void clock_steady_init(struct clock_steady *s, struct clock *from); /* 'from' outlives it */

/* For a program that runs for months: 'now' goes as 'mono' does, and after the wall clock when that is set. Ahead, or when
 * the machine has slept, at once; back, by going half as fast until the wall clock has caught up. So it never goes back,
 * and nothing that waits stands still. */
struct clock_follower {
    struct clock clock, *from;
    int64_t now_us, mono_us; /* when it was asked last */
};

void clock_follower_init(struct clock_follower *f, struct clock *from); /* 'from' outlives it */

/* ---- a clock that stands still ---- pass '&m.clock' where a clock is wanted ---- */

struct clock_manual {
    struct clock clock;
    int64_t now_us, mono_us;
};

void clock_manual_init(struct clock_manual *m, int64_t now_ms);
void clock_manual_advance(struct clock_manual *m, int64_t ms); /* both times; ms >= 0 */
void clock_manual_set(struct clock_manual *m, int64_t now_ms); /* the wall clock only, as when it is set */

/* ---- text ---- */

/* "2026-03-01T09:30:00Z": parts of a second are dropped, not rounded. Times outside the years 0000 to 9999 are printed
 * as the nearest that is inside. */
void clock_print(struct buf *out, int64_t ms);

/* "2026-03-01T09:30:00.000250Z" */
void clock_print_us(struct buf *out, int64_t us);

/* Both forms, any number of digits after the point (what is finer than 'ret' is dropped), 'Z' or an offset "+01:00".
 * ERR_INVALID says what is wrong; '*ret' is untouched then. */
int clock_parse(struct str text, int64_t *ret_ms, struct err *e);
int clock_parse_us(struct str text, int64_t *ret_us, struct err *e);

#endif
