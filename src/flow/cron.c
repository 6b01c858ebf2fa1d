/* cron.c - schedules: reading them, and the next slot
 *
 * The next slot is looked for in stretches of time in which the zone has one offset: there local time is a plain
 * calendar, and no hour is missing or twice.
 */
#include "flow/cron.h"

#include "api/duration.h"
#include "base/civil.h"
#include "base/util.h"
#include "flow/zone.h"

enum { YEARS_AHEAD_S = 10 * 366 * SECONDS_PER_DAY }; /* 29 February may be eight years away */

/* ---- reading ---- */

static const char *const month_names[] = { "jan", "feb", "mar", "apr", "may", "jun",
                                           "jul", "aug", "sep", "oct", "nov", "dec" };
static const char *const weekday_names[] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat" };

static const struct cron_part {
    const char *name;
    int min, max; /* max: what * and an open range end with */
    int last;     /* what may be written */
    const char *const *words;
    int n_words;
} parts[] = {
    { "minute", 0, 59, 59, NULL, 0 },
    { "hour", 0, 23, 23, NULL, 0 },
    { "day of month", 1, 31, 31, NULL, 0 },
    { "month", 1, 12, 12, month_names, ARRAY_LEN(month_names) },
    { "day of week", 0, 6, 7, weekday_names, ARRAY_LEN(weekday_names) },
};
enum { PARTS = ARRAY_LEN(parts) };

static int cron_wrong(struct err *e, const struct cron_part *p, struct str text, const char *why)
{
    return err_set(e, ERR_INVALID, "%s \"%.*s\": %s", p->name, (int)MIN_OF(text.n, (size_t)40), text.n ? text.p : "",
                   why);
}

static int read_value(const struct cron_part *p, struct str text, int *ret, struct err *e)
{
    uint64_t v;

    for (int i = 0; i < p->n_words; i++)
        if (str_eq_nocase(text, str_of(p->words[i]))) {
            *ret = p->min + i;
            return 0;
        }
    if (str_to_u64(text, &v) < 0 || v < (uint64_t)p->min || v > (uint64_t)p->last)
        return err_set(e, ERR_INVALID, "%s \"%.*s\": must be %d to %d%s", p->name, (int)MIN_OF(text.n, (size_t)40),
                       text.n ? text.p : "", p->min, p->last,
                       p->n_words ? ", or three letters of its name" : ", a range a-b, a list a,b or a step */n");
    *ret = (int)v;
    return 0;
}

static int read_range(const struct cron_part *p, struct str text, int *ret_from, int *ret_to, struct err *e)
{
    ptrdiff_t dash = str_find_char(text, '-');

    if (dash < 0) {
        if (read_value(p, text, ret_from, e) < 0)
            return -1;
        *ret_to = *ret_from;
        return 0;
    }
    if (read_value(p, str_sub(text, 0, (size_t)dash), ret_from, e) < 0 ||
        read_value(p, str_from(text, (size_t)dash + 1), ret_to, e) < 0)
        return -1;
    return *ret_from <= *ret_to ? 0 : cron_wrong(e, p, text, "the range ends before it begins");
}

/* One item of a list: "*", "1-5", "*" "/2", "7/10" (from 7 on). */
static int read_item(const struct cron_part *p, struct str text, uint64_t *bits, bool *is_any, struct err *e)
{
    ptrdiff_t slash = str_find_char(text, '/');
    struct str range = slash < 0 ? text : str_sub(text, 0, (size_t)slash);
    bool is_star = str_is(range, "*") || str_is(range, "?");
    int from = p->min, to = p->max;
    uint64_t step = 1;

    if (!is_star && read_range(p, range, &from, &to, e) < 0)
        return -1;
    if (slash >= 0 && (str_to_u64(str_from(text, (size_t)slash + 1), &step) < 0 || !step || step > 1000))
        return cron_wrong(e, p, text, "the step after / must be a number greater than 0");
    if (slash >= 0 && !is_star && str_find_char(range, '-') < 0)
        to = MAX_OF(p->max, from);
    for (int v = from; v <= to; v += (int)step)
        *bits |= UINT64_C(1) << (v > p->max ? p->min : v);
    *is_any |= is_star && step == 1;
    return 0;
}

static int cron_read_part(const struct cron_part *p, struct str text, uint64_t *ret_bits, bool *ret_is_any,
                          struct err *e)
{
    struct str item;

    *ret_bits = 0;
    *ret_is_any = false;
    while (str_split(&text, ',', &item))
        if (read_item(p, item, ret_bits, ret_is_any, e) < 0)
            return -1;
    return 0;
}

static bool cron_next_word(struct str *rest, struct str *ret)
{
    size_t n = 0;

    *rest = str_trim(*rest);
    while (n < rest->n && !strchr(" \t\n\v\f\r", rest->p[n]))
        n++;
    *ret = str_sub(*rest, 0, n);
    *rest = str_from(*rest, n);
    return n > 0;
}

static int read_fields(struct str text, struct cron *ret, struct err *e)
{
    uint64_t bits[PARTS];
    bool is_any[PARTS];
    struct str rest = text, word;
    size_t n = 0;

    while (cron_next_word(&rest, &word))
        n++;
    if (n != PARTS)
        return err_set(e, ERR_INVALID,
                       "has %zu field%s and needs five (minute, hour, day of month, month, day of week), or one of "
                       "@hourly, @daily, @weekly, @monthly, @yearly, @every 1h",
                       n, n == 1 ? "" : "s");
    for (size_t i = 0; i < PARTS; i++) {
        (void)cron_next_word(&text, &word); /* counted above */
        if (cron_read_part(&parts[i], word, &bits[i], &is_any[i], e) < 0)
            return -1;
    }
    *ret = (struct cron){ bits[0],           (uint32_t)bits[1], (uint32_t)bits[2], (uint32_t)bits[3],
                          (uint32_t)bits[4], is_any[2],         is_any[4],         0 };
    return 0;
}

static int read_every(struct str text, struct cron *ret, struct err *e)
{
    int64_t ns;

    if (duration_parse(str_trim(text), &ns, e) < 0)
        return err_wrap(e, "@every");
    if (ns < CRON_EVERY_MIN_S * INT64_C(1000000000))
        return err_set(e, ERR_INVALID, "@every %.*s: must be at least %ds, for jobs are named by the minute",
                       STR_ARG(str_cut(str_trim(text), 40)), CRON_EVERY_MIN_S);
    *ret = (struct cron){ .every_s = ns / 1000000000 };
    return 0;
}

static const struct {
    const char *name, *fields;
} descriptors[] = {
    { "@yearly", "0 0 1 1 *" }, { "@annually", "0 0 1 1 *" }, { "@monthly", "0 0 1 * *" }, { "@weekly", "0 0 * * 0" },
    { "@daily", "0 0 * * *" },  { "@midnight", "0 0 * * *" }, { "@hourly", "0 * * * *" },
};

static int read_schedule(struct str text, struct cron *ret, struct err *e)
{
    if (str_starts(text, STR("@every ")))
        return read_every(str_from(text, strlen("@every ")), ret, e);
    for (size_t i = 0; i < ARRAY_LEN(descriptors); i++)
        if (str_is(text, descriptors[i].name))
            return read_fields(str_of(descriptors[i].fields), ret, e);
    if (text.p[0] == '@')
        return err_set(e, ERR_INVALID,
                       "\"%.*s\" is not one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, "
                       "@every 1h",
                       STR_ARG(str_cut(text, 40)));
    return read_fields(text, ret, e);
}

/* The sentences are Volcano's; what is wrong with the expression follows. */
int cron_parse(struct str text, struct cron *ret, struct err *e)
{
    text = str_trim(text);
    if (!text.n)
        return err_set(e, ERR_INVALID, "schedule is required, but got empty");
    if (str_has(text, STR("TZ")))
        return err_set(e, ERR_INVALID,
                       "schedule should not contain TZ or CRON_TZ, TZ should only be set in the timeZone field");
    if (read_schedule(text, ret, e) < 0)
        return err_wrap(e, "schedule is not a valid cron expression");
    return 0;
}

/* ---- slots ---- */

static bool has_day(const struct cron *c, int64_t days)
{
    struct civil d = civil_of_days(days);
    int weekday = (int)(((days + 4) % 7 + 7) % 7); /* 1970-01-01 was a Thursday */
    bool in_month = c->days >> d.day & 1, in_week = c->weekdays >> weekday & 1;

    if (!(c->months >> d.month & 1))
        return false;
    return c->any_day || c->any_weekday ? in_month && in_week : in_month || in_week;
}

/* The first slot of a day from its minute 'from' on; -1: none. */
static int slot_of_day(const struct cron *c, int from)
{
    for (int hour = from / 60; hour < 24; hour++) {
        uint64_t left = c->minutes >> (hour == from / 60 ? from % 60 : 0) << (hour == from / 60 ? from % 60 : 0);

        if ((c->hours >> hour & 1) && left)
            return hour * 60 + __builtin_ctzll(left);
    }
    return -1;
}

/* On a plain calendar: the first slot in [from_s, end_s). */
static int64_t local_next(const struct cron *c, int64_t from_s, int64_t end_s)
{
    int64_t minute = -floor_div(-from_s, 60), day = floor_div(minute, 24 * 60);
    int from = (int)(minute - day * 24 * 60);

    for (; day * SECONDS_PER_DAY < end_s; day++, from = 0) {
        int at = has_day(c, day) ? slot_of_day(c, from) : -1;
        int64_t slot = day * SECONDS_PER_DAY + (int64_t)at * 60;

        if (at >= 0)
            return slot < end_s ? slot : CRON_NEVER;
    }
    return CRON_NEVER;
}

int64_t cron_next(const struct cron *c, const struct zone *z, int64_t after_s)
{
    int64_t at = after_s + 1, end = after_s + YEARS_AHEAD_S, until, slot;

    if (c->every_s)
        return after_s + c->every_s;
    for (; at < end; at = until) {
        int32_t offset = zone_offset(z, at, &until);

        until = MIN_OF(until, end);
        slot = local_next(c, at + offset, until + offset);
        if (slot != CRON_NEVER)
            return slot - offset;
    }
    return CRON_NEVER;
}

/* More slots than anybody counts: look back from the end, further each time, until there is one. */
static int64_t last_of_many(const struct cron *c, const struct zone *z, int64_t from_s, int64_t to_s)
{
    int64_t last = CRON_NEVER;

    for (int64_t back = 60; last == CRON_NEVER; back *= 2) {
        int64_t slot = cron_next(c, z, MAX_OF(to_s - back, from_s));

        for (; slot <= to_s; slot = cron_next(c, z, slot))
            last = slot;
    }
    return last;
}

int64_t cron_last(const struct cron *c, const struct zone *z, int64_t from_s, int64_t to_s, unsigned *ret_n)
{
    int64_t last = CRON_NEVER, slot;

    *ret_n = 0;
    if (c->every_s) {
        int64_t n = to_s > from_s ? (to_s - from_s) / c->every_s : 0;

        *ret_n = (unsigned)MIN_OF(n, (int64_t)CRON_MANY + 1);
        return n ? from_s + n * c->every_s : CRON_NEVER;
    }
    for (slot = cron_next(c, z, from_s); slot <= to_s && *ret_n <= CRON_MANY; slot = cron_next(c, z, slot)) {
        last = slot;
        ++*ret_n;
    }
    return *ret_n > CRON_MANY ? last_of_many(c, z, from_s, to_s) : last;
}
