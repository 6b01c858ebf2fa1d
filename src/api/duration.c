/* duration.c - Go's way to write a length of time
 *
 * Every rule of Go's parser is kept, the fraction in floating point included, so that a text means the same to both.
 */
#include "api/duration.h"

#include "base/util.h"

struct unit {
    const char *text;
    uint64_t ns;
};

static const struct unit units[] = {
    { "ns", 1 },
    { "us", 1000 },
    { "\xc2\xb5s", 1000 }, /* U+00B5, the micro sign */
    { "\xce\xbcs", 1000 }, /* U+03BC, the Greek letter */
    { "ms", 1000 * 1000 },
    { "s", 1000 * 1000 * 1000 },
    { "m", (uint64_t)60 * 1000 * 1000 * 1000 },
    { "h", (uint64_t)3600 * 1000 * 1000 * 1000 },
};

static const uint64_t limit = (uint64_t)1 << 63; /* that many nanoseconds only with a minus sign */

static int duration_bad(struct str text, const char *what, struct err *e)
{
    autobuf shown = { 0 };

    buf_quote(&shown, text, 60);
    return err_set(e, ERR_INVALID, "not a duration: %s (got %s, want for example \"1h30m\" or \"1.5s\")", what,
                   shown.p);
}

static bool duration_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits to a number; false beyond 2^63. '*ret_any' tells whether there were any. */
static bool take_whole(struct str *s, uint64_t *ret, bool *ret_any)
{
    uint64_t v = 0;

    *ret_any = s->n && duration_is_digit(s->p[0]);
    for (; s->n && duration_is_digit(s->p[0]); *s = str_from(*s, 1)) {
        if (v > limit / 10)
            return false;
        v = v * 10 + (uint64_t)(s->p[0] - '0');
        if (v > limit)
            return false;
    }
    *ret = v;
    return true;
}

/* Digits behind a point: v / scale. Digits that no longer fit are too fine to matter. */
static void take_fraction(struct str *s, uint64_t *ret, double *ret_scale, bool *ret_any)
{
    bool is_full = false;

    *ret = 0;
    *ret_scale = 1;
    *ret_any = s->n && duration_is_digit(s->p[0]);
    for (; s->n && duration_is_digit(s->p[0]); *s = str_from(*s, 1)) {
        uint64_t v = *ret * 10 + (uint64_t)(s->p[0] - '0');

        is_full = is_full || *ret > (limit - 1) / 10 || v > limit;
        if (is_full)
            continue;
        *ret = v;
        *ret_scale *= 10;
    }
}

static const struct unit *take_unit(struct str *s)
{
    struct str word = { s->p, 0 };

    while (word.n < s->n && s->p[word.n] != '.' && !duration_is_digit(s->p[word.n]))
        word.n++;
    *s = str_from(*s, word.n);
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (str_is(word, units[i].text))
            return &units[i];
    return NULL;
}

/* One number and its unit; NULL, or what is wrong. */
static const char *take_part(struct str *s, uint64_t *ret_ns)
{
    static const char *const too_long = "more than about 292 years";
    uint64_t whole, fraction = 0;
    bool has_whole, has_fraction = false;
    const struct unit *unit;
    double scale = 1;

    if (!take_whole(s, &whole, &has_whole))
        return too_long;
    if (s->n && s->p[0] == '.') {
        *s = str_from(*s, 1);
        take_fraction(s, &fraction, &scale, &has_fraction);
    }
    if (!has_whole && !has_fraction)
        return "a number is missing";
    if (s->n == 0)
        return "a unit is missing after the number: one of ns us ms s m h";
    unit = take_unit(s);
    if (!unit)
        return "after each number must stand one of the units ns us ms s m h";
    if (whole > limit / unit->ns)
        return too_long;
    *ret_ns = whole * unit->ns;
    if (fraction)
        *ret_ns += (uint64_t)((double)fraction * ((double)unit->ns / scale));
    return *ret_ns > limit ? too_long : NULL;
}

int duration_parse(struct str text, int64_t *ret_ns, struct err *e)
{
    bool is_negative = text.n && text.p[0] == '-';
    struct str s = str_from(text, text.n && (text.p[0] == '-' || text.p[0] == '+'));
    uint64_t total = 0;

    if (s.n == 0)
        return duration_bad(text, "a number is missing", e);
    if (str_is(s, "0"))
        s = STR_NULL;
    while (s.n) {
        uint64_t part;
        const char *wrong = take_part(&s, &part);

        if (wrong)
            return duration_bad(text, wrong, e);
        total += part; /* both are 2^63 at most, so it wraps round at most to 0 */
        if (total > limit || total < part)
            return duration_bad(text, "more than about 292 years", e);
    }
    if (total > limit - !is_negative)
        return duration_bad(text, "more than about 292 years", e);
    *ret_ns = is_negative ? (int64_t)(0 - total) : (int64_t)total;
    return 0;
}

/* value / 10^digits, without trailing zeros. */
static void print_fixed(struct buf *out, uint64_t value, unsigned digits)
{
    uint64_t scale = 1;

    while (digits && value % 10 == 0) {
        value /= 10;
        digits--;
    }
    for (unsigned i = 0; i < digits; i++)
        scale *= 10;
    buf_fmt(out, "%llu", (unsigned long long)(value / scale));
    if (digits)
        buf_fmt(out, ".%0*llu", (int)digits, (unsigned long long)(value % scale));
}

void duration_print(struct buf *out, int64_t ns)
{
    const uint64_t second = 1000 * 1000 * 1000;
    uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

    if (ns < 0)
        buf_char(out, '-');
    if (v == 0) {
        buf_str(out, STR("0s"));
    } else if (v < second) { /* the largest unit that leaves a digit before the point */
        unsigned digits = v < 1000 ? 0 : v < 1000 * 1000 ? 3 : 6;

        print_fixed(out, v, digits);
        buf_str(out, digits == 0 ? STR("ns") : digits == 3 ? STR("\xc2\xb5s") : STR("ms"));
    } else {
        uint64_t minutes = v / (60 * second);

        if (minutes >= 60)
            buf_fmt(out, "%lluh", (unsigned long long)(minutes / 60));
        if (minutes)
            buf_fmt(out, "%llum", (unsigned long long)(minutes % 60));
        print_fixed(out, v % (60 * second), 9);
        buf_char(out, 's');
    }
}
