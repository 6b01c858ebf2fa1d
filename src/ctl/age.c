/* age.c - how long ago, in few letters */
#include "ctl/ctl.h"

#include "base/clock.h"
#include "base/util.h"

enum { MINUTE = 60, HOUR = 3600, DAY = 86400, YEAR = 365 * 86400 };

static const struct age_rule { /* below 'limit' seconds: so many of the one, and of the other while there are any */
    int64_t limit;
    int unit, part;
    char unit_letter, part_letter; /* 0: no part */
} rules[] = {
    { 2 * MINUTE, 1, 0, 's', 0 },         { 10 * MINUTE, MINUTE, 1, 'm', 's' }, { 3 * HOUR, MINUTE, 0, 'm', 0 },
    { 8 * HOUR, HOUR, MINUTE, 'h', 'm' }, { 48 * HOUR, HOUR, 0, 'h', 0 },       { 8 * DAY, DAY, HOUR, 'd', 'h' },
    { 2LL * YEAR, DAY, 0, 'd', 0 },       { 8LL * YEAR, YEAR, DAY, 'y', 'd' },  { INT64_MAX, YEAR, 0, 'y', 0 },
};

void ctl_age_print(struct buf *out, int64_t age_ms)
{
    const struct age_rule *r = rules;
    int64_t s = age_ms / 1000, part;

    if (s < -1) { /* a clock may be a little behind */
        buf_str(out, STR("<invalid>"));
        return;
    }
    s = MAX_OF(s, 0);
    while (s >= r->limit)
        r++;
    buf_fmt(out, "%lld%c", (long long)(s / r->unit), r->unit_letter);
    part = r->part_letter ? s % r->unit / r->part : 0;
    if (part)
        buf_fmt(out, "%lld%c", (long long)part, r->part_letter);
}

struct str ctl_age(struct arena *a, struct str since, int64_t now_ms)
{
    autobuf text = { 0 };
    int64_t at_ms;

    if (!since.n || clock_parse(since, &at_ms, NULL) < 0)
        return STR("<unknown>");
    ctl_age_print(&text, now_ms - at_ms);
    return arena_str(a, buf_view(&text));
}
