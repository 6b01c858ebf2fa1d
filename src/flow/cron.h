/* cron.h - schedules: five fields as in crontab(5), or @hourly, @daily, @every 90m …
 *
 *     minute 0-59   hour 0-23   day of month 1-31   month 1-12 or jan-dec   day of week 0-7 or sun-sat (0 and 7: Sunday)
 *
 * Each is a list of *, a, a-b, with /step behind; ? is *. A day counts if it is in both of its fields, or, when both say
 * something else than *, if it is in one of them.
 *
 * A slot is a whole minute of the zone's wall clock. What the clock jumps over in spring is no slot; what it shows twice
 * in autumn is two.
 */
#ifndef FLOW_CRON_H
#define FLOW_CRON_H

#include "base/err.h"
#include "base/str.h"

struct zone;

struct cron {
    uint64_t minutes;
    uint32_t hours, days, months, weekdays; /* bits; days and months from 1 */
    bool any_day, any_weekday;              /* the field is * */
    int64_t every_s;                        /* @every; 0: by the fields */
};

#define CRON_NEVER INT64_MAX
enum { CRON_EVERY_MIN_S = 60, CRON_MANY = 100 };

/* ERR_INVALID says which field, and what may stand there. */
int cron_parse(struct str text, struct cron *ret, struct err *e);

/* The first slot after 'after_s'; @every counts from there. CRON_NEVER: none within the next ten years, such as 31
 * February. */
int64_t cron_next(const struct cron *c, const struct zone *z, int64_t after_s);

/* The last slot in (from_s, to_s], CRON_NEVER if there is none; '*ret_n' of them, CRON_MANY + 1 if there are more. */
int64_t cron_last(const struct cron *c, const struct zone *z, int64_t from_s, int64_t to_s, unsigned *ret_n);

#endif
