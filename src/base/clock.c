/* clock.c - clocks, and RFC 3339 */
#include "base/clock.h"

#include <assert.h>
#include <time.h>

#include "base/civil.h"
#include "base/util.h"

static const int64_t us_per_second = 1000 * 1000;

/* ---- clocks ---- */

static int64_t read_us(clockid_t id)
{
    struct timespec t;
    int rc = clock_gettime(id, &t);

    assert(rc == 0); /* fails only for an unknown clock */
    return (int64_t)t.tv_sec * us_per_second + t.tv_nsec / 1000;
}

static int64_t real_now_us(struct clock *c)
{
    return read_us(CLOCK_REALTIME);
}

static int64_t real_mono_us(struct clock *c)
{
    return read_us(CLOCK_MONOTONIC);
}

struct clock clock_real = { real_now_us, real_mono_us };

int64_t clock_now_us(struct clock *c)
{
    return c->now_us(c);
}

int64_t clock_now_ms(struct clock *c)
{
    return floor_div(c->now_us(c), 1000);
}

int64_t clock_mono_us(struct clock *c)
{
    return c->mono_us(c);
}

int64_t clock_mono_ms(struct clock *c)
{
    return floor_div(c->mono_us(c), 1000);
}

static int64_t steady_mono_us(struct clock *c)
{
    return clock_mono_us(((struct clock_steady *)c)->from); /* 'clock' is the first member */
}

static int64_t steady_now_us(struct clock *c)
{
    return steady_mono_us(c) + ((struct clock_steady *)c)->ahead_us;
}

void clock_steady_init(struct clock_steady *s, struct clock *from)
{
    *s = (struct clock_steady){ { steady_now_us, steady_mono_us }, from, clock_now_us(from) - clock_mono_us(from) };
}

static int64_t follower_mono_us(struct clock *c)
{
    return clock_mono_us(((struct clock_follower *)c)->from); /* 'clock' is the first member */
}

static int64_t follower_now_us(struct clock *c)
{
    struct clock_follower *f = (struct clock_follower *)c;
    int64_t mono_us = clock_mono_us(f->from), gone_us = mono_us - f->mono_us, ahead_us;

    f->mono_us = mono_us;
    f->now_us += gone_us;
    ahead_us = f->now_us - clock_now_us(f->from);
    f->now_us -= MIN_OF(ahead_us, gone_us / 2);
    return f->now_us;
}

void clock_follower_init(struct clock_follower *f, struct clock *from)
{
    *f =
        (struct clock_follower){ { follower_now_us, follower_mono_us }, from, clock_now_us(from), clock_mono_us(from) };
}

static int64_t manual_now_us(struct clock *c)
{
    return ((struct clock_manual *)c)->now_us; /* 'clock' is the first member */
}

static int64_t manual_mono_us(struct clock *c)
{
    return ((struct clock_manual *)c)->mono_us;
}

void clock_manual_init(struct clock_manual *m, int64_t now_ms)
{
    *m = (struct clock_manual){ { manual_now_us, manual_mono_us }, .now_us = now_ms * 1000 };
}

void clock_manual_advance(struct clock_manual *m, int64_t ms)
{
    assert(ms >= 0);
    m->now_us += ms * 1000;
    m->mono_us += ms * 1000;
}

void clock_manual_set(struct clock_manual *m, int64_t now_ms)
{
    m->now_us = now_ms * 1000;
}

/* ---- printing ---- */

static int64_t first_us(void) /* of year 0000 */
{
    return days_of_civil((struct civil){ 0, 1, 1 }) * SECONDS_PER_DAY * us_per_second;
}

static int64_t end_us(void) /* of year 9999, one too many */
{
    return days_of_civil((struct civil){ 10000, 1, 1 }) * SECONDS_PER_DAY * us_per_second;
}

/* 'n' digits and what follows them. */
static void clock_put_number(struct buf *out, int v, size_t n, char after)
{
    char *at = buf_reserve(out, n + 1);

    for (size_t i = n; i > 0; i--, v /= 10)
        at[i - 1] = (char)('0' + v % 10);
    out->n += n;
    buf_char(out, after);
}

static void base_clock_print(struct buf *out, int64_t us, bool has_fraction)
{
    int64_t seconds, days;
    struct civil c;
    int of_day;

    us = MAX_OF(MIN_OF(us, end_us() - 1), first_us());
    seconds = floor_div(us, us_per_second);
    days = floor_div(seconds, SECONDS_PER_DAY);
    of_day = (int)(seconds - days * SECONDS_PER_DAY);
    c = civil_of_days(days);
    clock_put_number(out, c.year, 4, '-');
    clock_put_number(out, c.month, 2, '-');
    clock_put_number(out, c.day, 2, 'T');
    clock_put_number(out, of_day / 3600, 2, ':');
    clock_put_number(out, of_day / 60 % 60, 2, ':');
    clock_put_number(out, of_day % 60, 2, has_fraction ? '.' : 'Z');
    if (has_fraction)
        clock_put_number(out, (int)(us - seconds * us_per_second), 6, 'Z');
}

void clock_print(struct buf *out, int64_t ms)
{
    int64_t us;

    if (__builtin_mul_overflow(ms, 1000, &us))
        us = ms < 0 ? INT64_MIN : INT64_MAX;
    base_clock_print(out, us, false);
}

void clock_print_us(struct buf *out, int64_t us)
{
    base_clock_print(out, us, true);
}

/* ---- parsing ---- */

static bool take_char(struct str *s, char c)
{
    if (!s->n || s->p[0] != c)
        return false;
    *s = str_from(*s, 1);
    return true;
}

/* Exactly 'n' digits; false if they are not there or not in low … high. */
static bool clock_take_number(struct str *s, size_t n, int low, int high, int *ret)
{
    int v = 0;

    if (s->n < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s->p[i] < '0' || s->p[i] > '9')
            return false;
        v = v * 10 + (s->p[i] - '0');
    }
    *s = str_from(*s, n);
    *ret = v;
    return v >= low && v <= high;
}

static bool take_date(struct str *s, struct civil *ret)
{
    return clock_take_number(s, 4, 0, 9999, &ret->year) && take_char(s, '-') &&
           clock_take_number(s, 2, 1, 12, &ret->month) && take_char(s, '-') &&
           clock_take_number(s, 2, 1, days_in_month(ret->year, ret->month), &ret->day);
}

static bool take_time(struct str *s, int *ret_seconds)
{
    int h, m, sec; /* no second 60: a leap second has no place in the count of seconds */

    if (!(clock_take_number(s, 2, 0, 23, &h) && take_char(s, ':') && clock_take_number(s, 2, 0, 59, &m) &&
          take_char(s, ':') && clock_take_number(s, 2, 0, 59, &sec)))
        return false;
    *ret_seconds = h * 3600 + m * 60 + sec;
    return true;
}

static bool take_fraction(struct str *s, int *ret_us)
{
    int unit = 100 * 1000, digit;

    *ret_us = 0;
    if (!take_char(s, '.'))
        return true;
    if (!clock_take_number(s, 1, 0, 9, &digit))
        return false;
    do {
        *ret_us += digit * unit;
        unit /= 10; /* 0 in the end: finer digits count nothing */
    } while (clock_take_number(s, 1, 0, 9, &digit));
    return true;
}

static bool take_offset(struct str *s, int *ret_seconds)
{
    int sign = s->n && s->p[0] == '-' ? -1 : 1, h, m;

    *ret_seconds = 0;
    if (take_char(s, 'Z'))
        return true;
    if (!take_char(s, '+') && !take_char(s, '-'))
        return false;
    if (!(clock_take_number(s, 2, 0, 23, &h) && take_char(s, ':') && clock_take_number(s, 2, 0, 59, &m)))
        return false;
    *ret_seconds = sign * (h * 3600 + m * 60);
    return true;
}

static int bad_time(struct str text, const char *what, struct err *e)
{
    autobuf shown = { 0 };

    buf_quote(&shown, text, 60);
    return err_set(e, ERR_INVALID, "not a time: %s (got %s, want for example \"2026-03-01T09:30:00Z\")", what, shown.p);
}

int clock_parse_us(struct str text, int64_t *ret_us, struct err *e)
{
    struct civil c;
    int of_day, fraction, offset;
    struct str s = text;
    int64_t us;

    if (!take_date(&s, &c))
        return bad_time(text, "no valid date at the beginning", e);
    if (!take_char(&s, 'T'))
        return bad_time(text, "no 'T' after the date", e);
    if (!take_time(&s, &of_day))
        return bad_time(text, "no valid time of day after the 'T'", e);
    if (!take_fraction(&s, &fraction))
        return bad_time(text, "no digits after the point", e);
    if (!take_offset(&s, &offset))
        return bad_time(text, "no 'Z' or offset like +01:00 after the time", e);
    if (s.n)
        return bad_time(text, "more text after the time", e);
    us = (days_of_civil(c) * SECONDS_PER_DAY + of_day - offset) * us_per_second + fraction;
    if (us < first_us() || us >= end_us()) /* only by its offset; it could not be printed again */
        return bad_time(text, "outside the years 0000 to 9999 in UTC", e);
    *ret_us = us;
    return 0;
}

int clock_parse(struct str text, int64_t *ret_ms, struct err *e)
{
    int64_t us;

    if (clock_parse_us(text, &us, e) < 0)
        return -1;
    *ret_ms = floor_div(us, 1000);
    return 0;
}
