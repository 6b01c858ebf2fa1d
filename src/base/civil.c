/* civil.c - days counted and days named
 *
 * Dates are computed here because the C library's functions depend on the time zone and on locks. Days are counted in
 * years that begin on 1 March: then the leap day is the last of its year and the months follow one formula.
 */
#include "base/civil.h"

#include <stdbool.h>

enum {
    DAYS_PER_ERA = 146097,         /* 400 years */
    DAYS_0000_03_TO_1970 = 719468, /* from 0000-03-01 to 1970-01-01 */
};

int64_t days_of_civil(struct civil c)
{
    int year = c.year - (c.month <= 2); /* January and February end the year before */
    int month = (c.month + 9) % 12;     /* March is 0 */
    int64_t era = floor_div(year, 400);
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * month + 2) / 5 + c.day - 1; /* 153 days in every five months from March */
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * DAYS_PER_ERA + day_of_era - DAYS_0000_03_TO_1970;
}

struct civil civil_of_days(int64_t days)
{
    int64_t d = days + DAYS_0000_03_TO_1970;
    int64_t era = floor_div(d, DAYS_PER_ERA);
    int64_t day_of_era = d - era * DAYS_PER_ERA;
    /* Take the leap days before this day out, then every year has 365: 1460 days are 4 years less their leap day. */
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (year_of_era * 365 + year_of_era / 4 - year_of_era / 100);
    int month = (int)((5 * day_of_year + 2) / 153);
    int day = (int)(day_of_year - (153 * month + 2) / 5 + 1);

    month = month < 10 ? month + 3 : month - 9;
    return (struct civil){ (int)(year_of_era + era * 400) + (month <= 2), month, day };
}

int days_in_month(int year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return days[month - 1] + (month == 2 && is_leap);
}
