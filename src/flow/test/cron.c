/* cron.c - tests: schedules against an oracle that looks at every minute, and what is refused */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/rand.h"
#include "base/util.h"
#include "flow/cron.h"
#include "flow/zone.h"
#include "os/zoneinfo.h"

/* ---- the oracle ---- knows nothing of bits and stretches: text against the C library's local time ---- */

static int number_of(const char *text, int len, int field)
{
    static const char *const words[] = { "janfebmaraprmayjunjulaugsepoctnovdec", "sunmontuewedthufrisat" };

    if (field >= 3 && len == 3 && !(text[0] >= '0' && text[0] <= '9')) {
        char low[4] = { (char)(text[0] | 32), (char)(text[1] | 32), (char)(text[2] | 32), 0 };

        return (int)(strstr(words[field - 3], low) - words[field - 3]) / 3 + (field == 3);
    }
    return (int)strtol(text, NULL, 10);
}

static bool item_has(const char *item, int field, int value)
{
    static const int lows[] = { 0, 0, 1, 1, 0 }, highs[] = { 59, 23, 31, 12, 6 };
    const char *slash = strchr(item, '/'), *dash = strchr(item, '-');
    int step = slash ? (int)strtol(slash + 1, NULL, 10) : 1, lo, hi;

    if (item[0] == '*' || item[0] == '?') {
        lo = lows[field];
        hi = highs[field];
    } else {
        int n = (int)strcspn(item, "-/");

        lo = number_of(item, n, field);
        hi = dash ? number_of(dash + 1, (int)strcspn(dash + 1, "/"), field) : slash ? highs[field] : lo;
    }
    for (int v = lo; v <= hi; v += step)
        if (v == value || (field == 4 && v == 7 && value == 0))
            return true;
    return false;
}

static bool field_has(const char *field_text, int field, int value, bool *is_star)
{
    char copy[128], *rest = copy, *item;
    bool has = false;

    *is_star = false;
    assert_true(snprintf(copy, sizeof(copy), "%s", field_text) < (int)sizeof(copy));
    while ((item = strsep(&rest, ","))) {
        has |= item_has(item, field, value);
        *is_star |= strcmp(item, "*") == 0 || strcmp(item, "?") == 0 || strcmp(item, "*/1") == 0;
    }
    return has;
}

static bool oracle(const char *const fields[5], time_t at)
{
    bool star[5], has[5];
    struct tm tm;
    int values[5];

    assert_non_null(localtime_r(&at, &tm));
    values[0] = tm.tm_min, values[1] = tm.tm_hour, values[2] = tm.tm_mday, values[3] = tm.tm_mon + 1,
    values[4] = tm.tm_wday;
    for (int i = 0; i < 5; i++)
        has[i] = field_has(fields[i], i, values[i], &star[i]);
    return tm.tm_sec == 0 && has[0] && has[1] && has[3] && (star[2] || star[4] ? has[2] && has[4] : has[2] || has[4]);
}

/* ---- random schedules ---- */

static const char *pick(struct rand *r, const char *const *list, size_t n)
{
    return list[rand_below(r, n)];
}

static void random_fields(struct rand *r, const char *fields[5])
{
    static const char *const minutes[] = { "*", "0", "*/15", "5,35", "10-20/5", "59", "*/7", "50/3" };
    static const char *const hours[] = { "*", "0", "1", "2", "3", "1-3", "*/6", "0,12", "22-23", "20/2" };
    static const char *const days[] = { "*", "?", "1", "29", "31", "*/2", "25-31", "1,15", "*/1", "8-14" };
    static const char *const months[] = { "*", "*", "*", "mar", "OCT", "3-4", "*/2", "10,11", "jan-dec/1" };
    static const char *const weekdays[] = { "*", "?", "0", "7", "sun", "mon-fri", "5-7", "*/2", "6,7", "Sat" };

    fields[0] = pick(r, minutes, ARRAY_LEN(minutes));
    fields[1] = pick(r, hours, ARRAY_LEN(hours));
    fields[2] = pick(r, days, ARRAY_LEN(days));
    fields[3] = pick(r, months, ARRAY_LEN(months));
    fields[4] = pick(r, weekdays, ARRAY_LEN(weekdays));
}

/* Days on which clocks were set, one hour before that: those are where mistakes are. */
static const struct {
    const char *zone;
    int64_t at;
} moments[] = {
    { "Europe/Berlin", 1774742400 },       { "Europe/Berlin", 1792882800 },     { "America/New_York", 1772946000 },
    { "America/New_York", 1793502000 },    { "America/Sao_Paulo", 1541296800 }, { "Australia/Lord_Howe", 1775310000 },
    { "Australia/Lord_Howe", 1791040000 }, { "Pacific/Apia", 1325150000 },      { "Asia/Kolkata", 1772357400 },
    { "America/Santiago", 1788660000 },    { "Africa/Casablanca", 1771120000 }, { "Etc/UTC", 1582930000 },
};

static struct zone *set_zone(struct arena *a, const char *name)
{
    autobuf bytes = { 0 };
    struct zone *z = NULL;
    struct err e;

    if (zoneinfo_read(str_of(name), &bytes) < 0)
        skip();
    assert_int_equal(zone_parse(a, buf_view(&bytes), &z, &e), 0);
    assert_int_equal(setenv("TZ", name, 1), 0);
    tzset();
    return z;
}

enum { LOOK_MINUTES = 3 * 24 * 60 };

static void every_minute_is_as_the_oracle_says(void **state)
{
    struct rand r;

    rand_seed(&r, 11);
    for (int n = 0; n < 240; n++) {
        size_t m = (size_t)n % ARRAY_LEN(moments);
        autoarena a = { 0 };
        struct zone *z = set_zone(&a, moments[m].zone);
        int64_t from = (moments[m].at / 60 - (int64_t)rand_below(&r, 24 * 60)) * 60, got, want = CRON_NEVER;
        const char *fields[5];
        struct cron c;
        struct str text;
        struct err e;

        random_fields(&r, fields);
        text = arena_fmt(&a, "%s %s\t%s  %s %s", fields[0], fields[1], fields[2], fields[3], fields[4]);
        if (cron_parse(text, &c, &e) < 0)
            fail_msg("%s: %s", text.p, e.text);
        got = cron_next(&c, z, from);
        for (int i = 1; i <= LOOK_MINUTES && want == CRON_NEVER; i++)
            if (oracle(fields, (time_t)from + i * 60))
                want = from + i * 60;
        if (want == CRON_NEVER ? got <= from + LOOK_MINUTES * 60 : got != want)
            fail_msg("%s in %s after %lld: want %lld, got %lld", text.p, moments[m].zone, (long long)from,
                     (long long)want, (long long)got);
        if (want != CRON_NEVER && want > from + 60) { /* and the last one is where the next one was */
            unsigned count;

            assert_int_equal(cron_last(&c, z, from, want, &count), want);
            assert_int_equal(count, 1);
            assert_int_equal(cron_last(&c, z, from, want - 1, &count), CRON_NEVER);
        }
    }
    assert_int_equal(unsetenv("TZ"), 0);
}

/* ---- by hand ---- */

static int64_t ms_of(const char *text)
{
    int64_t ms = 0;

    assert_int_equal(clock_parse(str_of(text), &ms, NULL), 0);
    return ms / 1000;
}

static void slots(void **state)
{
    static const struct {
        const char *schedule, *zone, *after, *want;
    } cases[] = {
        { "@hourly", "Etc/UTC", "2026-03-01T09:30:00Z", "2026-03-01T10:00:00Z" },
        { "@daily", "Etc/UTC", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z" },
        { "@midnight", "Europe/Berlin", "2026-03-01T00:00:00Z", "2026-03-01T23:00:00Z" },
        { "@weekly", "Etc/UTC", "2026-03-01T00:00:00Z", "2026-03-08T00:00:00Z" },
        { "@monthly", "Etc/UTC", "2026-12-31T23:59:59Z", "2027-01-01T00:00:00Z" },
        { "@yearly", "Etc/UTC", "2026-03-01T00:00:00Z", "2027-01-01T00:00:00Z" },
        { "@annually", "Etc/UTC", "2026-03-01T00:00:00Z", "2027-01-01T00:00:00Z" },
        { "@every 1h30m", "Etc/UTC", "2026-03-01T09:30:00Z", "2026-03-01T11:00:00Z" },
        { "0 0 29 2 *", "Etc/UTC", "2026-03-01T00:00:00Z", "2028-02-29T00:00:00Z" },
        { "0 0 29 2 *", "Etc/UTC", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z" },
        { "0 0 13 * fri", "Etc/UTC", "2026-03-01T00:00:00Z", "2026-03-06T00:00:00Z" }, /* the 13th, or a Friday */
        { "0 0 13 * *", "Etc/UTC", "2026-03-01T00:00:00Z", "2026-03-13T00:00:00Z" },
        /* 02:30 is left out on 29 March, and comes twice on 25 October. */
        { "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z" },
        { "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z" },
        { "30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z" },
        { "0 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena a = { 0 };
        struct zone *z = set_zone(&a, cases[i].zone);
        struct cron c;
        struct err e;

        assert_int_equal(cron_parse(str_of(cases[i].schedule), &c, &e), 0);
        if (cron_next(&c, z, ms_of(cases[i].after)) != ms_of(cases[i].want))
            fail_msg("%s after %s: want %s", cases[i].schedule, cases[i].after, cases[i].want);
    }
    assert_int_equal(unsetenv("TZ"), 0);
}

static void what_is_refused(void **state)
{
    static const struct {
        const char *schedule, *says;
    } cases[] = {
        { "", "schedule is required, but got empty" },
        { "* * * *", "has 4 fields and needs five" },
        { "* * * * * *", "has 6 fields" },
        { "60 * * * *", "minute \"60\": must be 0 to 59" },
        { "* 24 * * *", "hour \"24\"" },
        { "* * 0 * *", "day of month \"0\": must be 1 to 31" },
        { "* * * 13 *", "month \"13\": must be 1 to 12, or three letters" },
        { "* * * * 8", "day of week \"8\": must be 0 to 7" },
        { "* * * * mo", "day of week \"mo\"" },
        { "30-10 * * * *", "the range ends before it begins" },
        { "*/0 * * * *", "the step after /" },
        { "*/x * * * *", "the step after /" },
        { "1,,2 * * * *", "minute \"\"" },
        { "-1 * * * *", "minute \"\"" },
        { "1- * * * *", "minute \"\"" },
        { "** * * * *", "minute \"**\"" },
        { "@reboot", "\"@reboot\" is not one of" },
        { "@every 30s", "must be at least 60s" },
        { "@every soon", "@every" },
        { "TZ=UTC * * * * *", "schedule should not contain TZ or CRON_TZ" },
        { "CRON_TZ=UTC * * * * *", "timeZone" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cron c;
        struct err e = { 0 };

        assert_int_equal(cron_parse(str_of(cases[i].schedule), &c, &e), -1);
        if (!strstr(e.text, cases[i].says))
            fail_msg("\"%s\": %s", cases[i].schedule, e.text);
    }
}

static void many_are_counted_up_to_a_hundred(void **state)
{
    struct cron c;
    unsigned n;

    assert_int_equal(cron_parse(STR("* * * * *"), &c, NULL), 0);
    assert_int_equal(cron_last(&c, NULL, 0, 100 * 60, &n), 100 * 60);
    assert_int_equal(n, 100);
    assert_int_equal(cron_last(&c, NULL, 0, INT64_C(10) * 366 * 86400 + 17, &n), INT64_C(10) * 366 * 86400);
    assert_int_equal(n, CRON_MANY + 1);
    assert_int_equal(cron_parse(STR("* * * 1 *"), &c, NULL), 0); /* the last of a January long ago */
    assert_int_equal(cron_last(&c, NULL, 0, ms_of("2026-12-31T00:00:00Z"), &n), ms_of("2026-01-31T23:59:00Z"));
    assert_int_equal(cron_parse(STR("0 0 31 2 *"), &c, NULL), 0);
    assert_int_equal(cron_next(&c, NULL, 0), CRON_NEVER);
    assert_int_equal(cron_last(&c, NULL, 0, INT64_C(1) << 33, &n), CRON_NEVER);
    assert_int_equal(n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_minute_is_as_the_oracle_says),
        cmocka_unit_test(slots),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(many_are_counted_up_to_a_hundred),
    };

    return cmocka_run_group_tests_name("flow/cron", tests, NULL, NULL);
}
