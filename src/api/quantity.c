/* quantity.c - parsing, printing and exact arithmetic of quantities
 *
 * A quantity in range has less than 2^63 units, which is less than 2^93 nano-units: sums never leave 128 bits, products
 * are checked.
 */
#include "api/quantity.h"

#include "base/util.h"
#include "json/json.h"

#include <assert.h>

static const int64_t nano_per_unit = 1000 * 1000 * 1000;

static __int128 nano_max(void)
{
    return (__int128)INT64_MAX * nano_per_unit;
}

struct suffix {
    const char *text;
    enum quantity_format format;
    int exponent; /* of ten, or of two for the binary ones */
};

static const struct suffix suffixes[] = {
    { "n", QUANTITY_DECIMAL_SI, -9 }, { "u", QUANTITY_DECIMAL_SI, -6 }, { "m", QUANTITY_DECIMAL_SI, -3 },
    { "", QUANTITY_DECIMAL_SI, 0 },   { "k", QUANTITY_DECIMAL_SI, 3 },  { "M", QUANTITY_DECIMAL_SI, 6 },
    { "G", QUANTITY_DECIMAL_SI, 9 },  { "T", QUANTITY_DECIMAL_SI, 12 }, { "P", QUANTITY_DECIMAL_SI, 15 },
    { "E", QUANTITY_DECIMAL_SI, 18 }, { "Ki", QUANTITY_BINARY_SI, 10 }, { "Mi", QUANTITY_BINARY_SI, 20 },
    { "Gi", QUANTITY_BINARY_SI, 30 }, { "Ti", QUANTITY_BINARY_SI, 40 }, { "Pi", QUANTITY_BINARY_SI, 50 },
    { "Ei", QUANTITY_BINARY_SI, 60 },
};

static const char *suffix_text(enum quantity_format format, int exponent)
{
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
        if (suffixes[i].format == format && suffixes[i].exponent == exponent)
            return suffixes[i].text;
    assert(!"an exponent that has a suffix"); /* the range ends below 1000E and 8Ei */
    return "";
}

static __int128 quantity_cut(__int128 nano)
{
    return MAX_OF(MIN_OF(nano, nano_max()), -nano_max());
}

/* ---- parsing ---- */

/* What is written: the value is 0.digits × 10^point × 2^binary. The digits stand in two runs around the point. */
struct written {
    bool is_negative;
    struct str whole, fraction;
    int64_t point;
    unsigned binary;
    enum quantity_format format;
};

static int quantity_bad(struct str text, const char *what, struct err *e)
{
    autobuf shown = { 0 };

    buf_quote(&shown, text, 60);
    return err_set(e, ERR_INVALID, "not a quantity: %s (got %s)", what, shown.p);
}

static struct str take_digits(struct str *s)
{
    struct str digits = { s->p, 0 };

    while (digits.n < s->n && s->p[digits.n] >= '0' && s->p[digits.n] <= '9')
        digits.n++;
    *s = str_from(*s, digits.n);
    return digits;
}

static bool read_suffix(struct str s, struct written *w)
{
    int64_t exponent;

    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
        if (str_is(s, suffixes[i].text)) {
            w->format = suffixes[i].format;
            w->binary = w->format == QUANTITY_BINARY_SI ? (unsigned)suffixes[i].exponent : 0;
            w->point = (int64_t)w->whole.n + (w->binary ? 0 : suffixes[i].exponent);
            return true;
        }
    if ((s.p[0] != 'e' && s.p[0] != 'E') || str_to_i64(str_from(s, 1), &exponent) < 0)
        return false;
    w->format = QUANTITY_DECIMAL_EXPONENT;
    if (__builtin_add_overflow((int64_t)w->whole.n, exponent, &w->point))
        w->point = INT64_MAX; /* as good as infinite */
    return true;
}

static int quantity_read_text(struct str text, struct written *w, struct err *e)
{
    struct str s = text;

    w->is_negative = s.n && s.p[0] == '-';
    if (s.n && (s.p[0] == '-' || s.p[0] == '+'))
        s = str_from(s, 1);
    w->whole = take_digits(&s);
    if (s.n && s.p[0] == '.') {
        s = str_from(s, 1);
        w->fraction = take_digits(&s);
    }
    if (w->whole.n + w->fraction.n == 0)
        return quantity_bad(text, "it must begin with a number", e);
    if (!read_suffix(s, w))
        return quantity_bad(
            text, "after the number may stand one of n u m k M G T P E, Ki Mi Gi Ti Pi Ei or an exponent such as e3",
            e);
    return 0;
}

static int digit_at(const struct written *w, size_t i)
{
    return (i < w->whole.n ? w->whole.p[i] : w->fraction.p[i - w->whole.n]) - '0';
}

/* Units from the digits before the point, shifted by 'binary'; anything beyond the range counts as 2^63. */
static __uint128_t whole_units(const struct written *w)
{
    const __uint128_t too_many = (__uint128_t)1 << 63;
    size_t n = w->whole.n + w->fraction.n;
    __uint128_t v = 0;

    for (int64_t i = 0; i < w->point && v < too_many; i++) {
        if ((size_t)i >= n && v == 0)
            break; /* 0e999999999 */
        v = v * 10 + (unsigned)((size_t)i < n ? digit_at(w, (size_t)i) : 0);
    }
    return MIN_OF(MIN_OF(v, too_many) << w->binary, too_many);
}

/* Nano-units from the digits behind the point, rounded up. From the last digit to the first: what is behind a digit is
 * a fraction of it, so dividing by ten at each step and remembering whether anything was lost is exact. */
static __uint128_t fraction_nano(const struct written *w)
{
    const __uint128_t one = (__uint128_t)nano_per_unit << w->binary;
    size_t n = w->whole.n + w->fraction.n, first = w->point > 0 ? (size_t)w->point : 0;
    __uint128_t v = 0;
    bool has_rest = false;

    for (size_t i = n; i > first; i--) {
        v += (unsigned)digit_at(w, i - 1) * one;
        has_rest = has_rest || v % 10;
        v /= 10;
    }
    for (int64_t zeros = w->point; zeros < 0 && v; zeros++) { /* zeros between the point and the first digit */
        has_rest = has_rest || v % 10;
        v /= 10;
    }
    return v + has_rest;
}

int quantity_parse(struct str text, struct quantity *ret, struct err *e)
{
    struct written w = { 0 };
    __int128 nano;

    if (quantity_read_text(text, &w, e) < 0)
        return -1;
    nano = quantity_cut((__int128)(whole_units(&w) * (__uint128_t)nano_per_unit + fraction_nano(&w)));
    if (w.format == QUANTITY_BINARY_SI && nano > 0 && nano < nano_per_unit)
        w.format = QUANTITY_DECIMAL_SI; /* less than a byte: Kubernetes shows it in nano, not as 0 */
    *ret = (struct quantity){ w.is_negative ? -nano : nano, w.format };
    return 0;
}

bool quantity_from_json(const struct json *j, struct quantity *ret)
{
    if (!json_is(j, JSON_STRING) && !json_is(j, JSON_NUMBER))
        return false;
    return quantity_parse((struct str){ j->text, j->n }, ret, NULL) == 0;
}

/* ---- printing ---- */

static void print_number(struct buf *out, __int128 v)
{
    __uint128_t u = v < 0 ? -(__uint128_t)v : (__uint128_t)v;
    char digits[40];
    size_t i = sizeof(digits);

    do
        digits[--i] = (char)('0' + (int)(u % 10));
    while (u /= 10);
    if (v < 0)
        digits[--i] = '-';
    buf_append(out, digits + i, sizeof(digits) - i);
}

static void print_decimal(struct buf *out, struct quantity q)
{
    int exponent = -9;

    while (q.nano % 1000 == 0) {
        q.nano /= 1000;
        exponent += 3;
    }
    print_number(out, q.nano);
    if (q.format != QUANTITY_DECIMAL_EXPONENT)
        buf_str(out, str_of(suffix_text(QUANTITY_DECIMAL_SI, exponent)));
    else if (exponent)
        buf_fmt(out, "e%d", exponent);
}

static void print_binary(struct buf *out, int64_t units)
{
    int exponent = 0;

    while (units % 1024 == 0) {
        units /= 1024;
        exponent += 10;
    }
    buf_i64(out, units);
    if (exponent)
        buf_str(out, str_of(suffix_text(QUANTITY_BINARY_SI, exponent)));
}

void quantity_print(struct buf *out, struct quantity q)
{
    __int128 size = q.nano < 0 ? -q.nano : q.nano;

    /* A binary suffix cannot say a fraction, and below 1024 there is no suffix to keep. */
    if (q.nano == 0)
        buf_char(out, '0');
    else if (q.format == QUANTITY_BINARY_SI && quantity_is_whole(q) && size >= (__int128)1024 * nano_per_unit)
        print_binary(out, quantity_units(q));
    else
        print_decimal(out, q);
}

/* ---- arithmetic ---- */

struct quantity quantity_of_i64(int64_t units, enum quantity_format format)
{
    return (struct quantity){ quantity_cut((__int128)units * nano_per_unit), format };
}

int quantity_cmp(struct quantity a, struct quantity b)
{
    return (a.nano > b.nano) - (a.nano < b.nano);
}

struct quantity quantity_add(struct quantity a, struct quantity b)
{
    return (struct quantity){ quantity_cut(quantity_cut(a.nano) + quantity_cut(b.nano)), a.nano ? a.format : b.format };
}

struct quantity quantity_mul(struct quantity a, int64_t n)
{
    __int128 nano;

    if (__builtin_mul_overflow(a.nano, (__int128)n, &nano))
        nano = (a.nano < 0) == (n < 0) ? nano_max() : -nano_max();
    return (struct quantity){ quantity_cut(nano), a.format };
}

/* Away from zero, as Kubernetes does: who asks for a part gets a whole. */
static int64_t divide_up(__int128 nano, int64_t by)
{
    __int128 v = nano / by + (nano % by > 0) - (nano % by < 0);

    return (int64_t)MAX_OF(MIN_OF(v, INT64_MAX), INT64_MIN);
}

int64_t quantity_milli(struct quantity q)
{
    return divide_up(q.nano, nano_per_unit / 1000);
}

int64_t quantity_units(struct quantity q)
{
    return divide_up(q.nano, nano_per_unit);
}

bool quantity_is_whole(struct quantity q)
{
    return q.nano % nano_per_unit == 0;
}
