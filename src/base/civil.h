/* civil.h - days as people write them: year, month, day
 *
 * The proleptic Gregorian calendar, without time zones and without the C library's locks.
 */
#ifndef BASE_CIVIL_H
#define BASE_CIVIL_H

#include <stdint.h>

struct civil {
    int year, month, day; /* month and day from 1 */
};

enum { SECONDS_PER_DAY = 86400 };

/* Days since 1970-01-01; a day beyond the end of its month is one of the next. */
int64_t days_of_civil(struct civil c);
struct civil civil_of_days(int64_t days);
int days_in_month(int year, int month);

/* Rounds down, also below zero. */
static inline int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

#endif
