/* zone.c - TZif files and the rule at their end
 *
 * A file has the same table twice: with times of 32 bits for old readers, then with 64. Behind the second stands one
 * line in the form of the TZ variable ("CET-1CEST,M3.5.0,M10.5.0/3"), for all that comes after the table.
 */
#include "flow/zone.h"

#include "base/civil.h"
#include "base/util.h"

#include <ctype.h>

enum { HEADER = 44, TYPES_MAX = 256, HOUR_S = 3600 };

enum rule_form { RULE_MONTH, RULE_JULIAN, RULE_DAY };

struct zone_rule { /* the day of a year, and the local second of it, at which the clock is set */
    enum rule_form form;
    int month, week, weekday; /* RULE_MONTH; week 5: the last */
    int day;                  /* RULE_JULIAN: 1 to 365, 29 February does not count; RULE_DAY: 0 to 365, it does */
    int32_t second;
};

struct posix { /* the line at the end */
    bool is_set, has_summer;
    int32_t winter_s, summer_s;  /* ahead of UTC */
    struct zone_rule begin, end; /* of summer */
};

struct zone {
    size_t n_times, n_types;
    int64_t *times;
    uint8_t *kinds;   /* of each time */
    int32_t *offsets; /* of each kind */
    struct posix rest;
};

/* ---- the line at the end ---- */

static bool zone_take(struct str *s, char c)
{
    if (!s->n || s->p[0] != c)
        return false;
    *s = str_from(*s, 1);
    return true;
}

static bool take_int(struct str *s, int max, int *ret)
{
    size_t n = 0;
    int v = 0;

    for (; n < s->n && n < 4 && isdigit((unsigned char)s->p[n]); n++)
        v = v * 10 + (s->p[n] - '0');
    *s = str_from(*s, n);
    *ret = v;
    return n > 0 && v <= max;
}

/* "<+03>" or "CET": at least three characters. */
static bool zone_take_name(struct str *s)
{
    size_t n = 0;

    if (zone_take(s, '<')) {
        ptrdiff_t end = str_find_char(*s, '>');

        if (end < 1)
            return false;
        *s = str_from(*s, (size_t)end + 1);
        return true;
    }
    while (n < s->n && isalpha((unsigned char)s->p[n]))
        n++;
    *s = str_from(*s, n);
    return n >= 3;
}

/* "[+-]hh[:mm[:ss]]" */
static bool take_time(struct str *s, int32_t *ret)
{
    int sign = zone_take(s, '-') ? -1 : 1, part[3] = { 0 };

    if (sign > 0)
        (void)zone_take(s, '+');
    if (!take_int(s, 167, &part[0]))
        return false;
    for (int i = 1; i < 3 && zone_take(s, ':'); i++)
        if (!take_int(s, 59, &part[i]))
            return false;
    *ret = sign * (part[0] * HOUR_S + part[1] * 60 + part[2]);
    return true;
}

static bool take_rule(struct str *s, struct zone_rule *ret)
{
    bool is_fine;

    *ret = (struct zone_rule){ .second = 2 * HOUR_S };
    if (zone_take(s, 'M')) {
        is_fine = take_int(s, 12, &ret->month) && ret->month && zone_take(s, '.') && take_int(s, 5, &ret->week) &&
                  ret->week && zone_take(s, '.') && take_int(s, 6, &ret->weekday);
    } else if (zone_take(s, 'J')) {
        ret->form = RULE_JULIAN;
        is_fine = take_int(s, 365, &ret->day) && ret->day;
    } else {
        ret->form = RULE_DAY;
        is_fine = take_int(s, 365, &ret->day);
    }
    return is_fine && (!zone_take(s, '/') || take_time(s, &ret->second));
}

static bool posix_parse(struct str s, struct posix *ret)
{
    int32_t west;

    *ret = (struct posix){ 0 };
    if (!zone_take_name(&s) || !take_time(&s, &west))
        return false;
    ret->winter_s = -west;
    ret->is_set = true;
    if (!s.n)
        return true;
    if (!zone_take_name(&s))
        return false;
    ret->summer_s = ret->winter_s + HOUR_S;
    if (s.n && s.p[0] != ',') {
        if (!take_time(&s, &west))
            return false;
        ret->summer_s = -west;
    }
    ret->has_summer = true;
    return zone_take(&s, ',') && take_rule(&s, &ret->begin) && zone_take(&s, ',') && take_rule(&s, &ret->end) && !s.n;
}

/* The local second since 1970 at which a rule applies in a year. */
static int64_t rule_in(const struct zone_rule *r, int year)
{
    int64_t day;

    if (r->form == RULE_MONTH) {
        int64_t first = days_of_civil((struct civil){ year, r->month, 1 });
        int weekday = (int)(((first + 4) % 7 + 7) % 7); /* 1970-01-01 was a Thursday */
        int at = (r->weekday - weekday + 7) % 7 + (r->week - 1) * 7;

        while (at >= days_in_month(year, r->month))
            at -= 7;
        day = first + at;
    } else {
        bool skips = r->form == RULE_JULIAN && r->day >= 60 && days_in_month(year, 2) == 29;

        day = days_of_civil((struct civil){ year, 1, 1 }) + r->day - (r->form == RULE_JULIAN) + skips;
    }
    return day * SECONDS_PER_DAY + r->second;
}

static int32_t posix_offset(const struct posix *p, int64_t at_s, int64_t *ret_until_s)
{
    int year = civil_of_days(floor_div(at_s, SECONDS_PER_DAY)).year;
    int64_t last = INT64_MIN;
    int32_t offset = p->winter_s;

    *ret_until_s = INT64_MAX;
    if (!p->has_summer)
        return offset;
    for (int y = year - 1; y <= year + 1; y++) {
        /* Summer's end first: where it ends the moment it begins, it has no end. */
        int64_t change[] = { rule_in(&p->end, y) - p->summer_s, rule_in(&p->begin, y) - p->winter_s };

        for (int i = 0; i < 2; i++)
            if (change[i] <= at_s && change[i] >= last) {
                last = change[i];
                offset = i ? p->summer_s : p->winter_s;
            } else if (change[i] > at_s) {
                *ret_until_s = MIN_OF(*ret_until_s, change[i]);
            }
    }
    return offset;
}

/* ---- the table ---- */

static uint64_t big_endian(const char *p, size_t n)
{
    uint64_t v = 0;

    for (size_t i = 0; i < n; i++)
        v = v << 8 | (uint8_t)p[i];
    return v;
}

struct zone_counts {
    size_t utc, std, leap, time, type, chars;
};

static bool take_header(struct str bytes, struct zone_counts *ret)
{
    size_t *const to[] = { &ret->utc, &ret->std, &ret->leap, &ret->time, &ret->type, &ret->chars };

    if (bytes.n < HEADER || !str_starts(bytes, STR("TZif")))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(to); i++)
        *to[i] = big_endian(bytes.p + 20 + 4 * i, 4);
    for (size_t i = 0; i < ARRAY_LEN(to); i++)
        if (*to[i] > ZONE_FILE_MAX)
            return false;
    return true;
}

static size_t table_size(const struct zone_counts *c, size_t width)
{
    return c->time * (width + 1) + c->type * 6 + c->chars + c->leap * (width + 4) + c->std + c->utc;
}

static bool read_table(struct arena *a, struct zone *z, const struct zone_counts *c, const char *p, size_t width)
{
    const char *kinds = p + c->time * width, *types = kinds + c->time;

    if (!c->type || c->type > TYPES_MAX)
        return false;
    z->n_times = c->time;
    z->n_types = c->type;
    z->times = arena_array(a, int64_t, c->time);
    z->kinds = arena_array(a, uint8_t, c->time);
    z->offsets = arena_array(a, int32_t, c->type);
    for (size_t i = 0; i < c->type; i++)
        z->offsets[i] = (int32_t)(uint32_t)big_endian(types + i * 6, 4);
    for (size_t i = 0; i < c->type; i++)
        if (z->offsets[i] <= -2 * SECONDS_PER_DAY || z->offsets[i] >= 2 * SECONDS_PER_DAY)
            return false;
    for (size_t i = 0; i < c->time; i++) {
        uint64_t raw = big_endian(p + i * width, width);

        z->times[i] = width == 8 ? (int64_t)raw : (int32_t)(uint32_t)raw;
        z->kinds[i] = (uint8_t)kinds[i];
        if (z->kinds[i] >= c->type || (i && z->times[i] <= z->times[i - 1]))
            return false;
    }
    return true;
}

static int zone_refuse(struct err *e, const char *why)
{
    return err_set(e, ERR_SYNTAX, "not a time zone file: %s", why);
}

int zone_parse(struct arena *a, struct str bytes, struct zone **ret, struct err *e)
{
    struct zone *z = arena_new(a, struct zone);
    struct zone_counts c;
    size_t width = 4;
    struct str line;

    if (!take_header(bytes, &c) || bytes.n < HEADER + table_size(&c, 4))
        return zone_refuse(e, "invalid header");
    if (bytes.p[4] >= '2') {
        bytes = str_from(bytes, HEADER + table_size(&c, 4));
        width = 8;
        if (!take_header(bytes, &c) || bytes.n < HEADER + table_size(&c, 8))
            return zone_refuse(e, "invalid second header");
    }
    if (c.leap)
        return err_set(e, ERR_INVALID, "it counts leap seconds, which system clocks do not");
    if (!read_table(a, z, &c, bytes.p + HEADER, width))
        return zone_refuse(e, "invalid transition table");
    bytes = str_from(bytes, HEADER + table_size(&c, width));
    if (width == 8 && zone_take(&bytes, '\n') && str_split(&bytes, '\n', &line) && line.n &&
        !posix_parse(line, &z->rest))
        return zone_refuse(e, "invalid rule in the footer");
    *ret = z;
    return 0;
}

int32_t zone_offset(const struct zone *z, int64_t at_s, int64_t *ret_until_s)
{
    int64_t ignored = 0, *until = ret_until_s ? ret_until_s : &ignored;
    size_t lo = 0, hi = z ? z->n_times : 0;

    *until = INT64_MAX;
    if (!z)
        return 0;
    while (lo < hi) { /* the first change after 'at_s' */
        size_t mid = lo + (hi - lo) / 2;

        if (z->times[mid] <= at_s)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == z->n_times && z->rest.is_set)
        return posix_offset(&z->rest, at_s, until);
    if (lo < z->n_times)
        *until = z->times[lo];
    return z->offsets[lo ? z->kinds[lo - 1] : 0];
}

/* ---- text ---- */

void zone_print(struct buf *out, const struct zone *z, int64_t at_s)
{
    int32_t offset = zone_offset(z, at_s, NULL), minutes = offset / 60;
    int64_t local = at_s + (int64_t)minutes * 60; /* RFC 3339 knows no seconds of an offset */
    int64_t days = floor_div(local, SECONDS_PER_DAY);
    int second = (int)(local - days * SECONDS_PER_DAY);
    struct civil c = civil_of_days(days);

    buf_fmt(out, "%04d-%02d-%02dT%02d:%02d:%02d", c.year, c.month, c.day, second / 3600, second / 60 % 60, second % 60);
    if (!minutes)
        buf_char(out, 'Z');
    else
        buf_fmt(out, "%c%02d:%02d", minutes < 0 ? '-' : '+', abs(minutes) / 60, abs(minutes) % 60);
}

/* ---- names ---- */

static bool is_part(struct str part)
{
    if (!part.n || part.n > 14 || part.p[0] == '-' || str_is(part, ".") || str_is(part, ".."))
        return false;
    for (size_t i = 0; i < part.n; i++)
        if (!isalnum((unsigned char)part.p[i]) && !strchr(".-_+", part.p[i]))
            return false;
    return true;
}

const char *zone_check_name(struct str name)
{
    struct str part;

    if (!name.n)
        return "timeZone must be nil or non-empty string, got empty string: leave it out for the controller's own zone";
    if (str_eq_nocase(name, STR("Local")))
        return "timeZone can't be Local, and must be defined in https://www.iana.org/time-zones";
    while (str_split(&name, '/', &part))
        if (!is_part(part))
            return "unknown timeZone: IANA's names look like Europe/Berlin or Etc/UTC";
    return NULL;
}
