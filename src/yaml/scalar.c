/* scalar.c - what a plain word means: null, bool, number or text
 *
 * The rules are those of the reader Kubernetes uses (YAML 1.1 without base 60). A word is taken apart once into sign,
 * digits and exponent; nothing goes through floating point, so long numbers stay exact.
 */
#include "yaml/yaml_internal.h"

#include "base/buf.h"
#include "base/util.h"

#include <assert.h>
#include <math.h>

static const struct word {
    const char *forms[6]; /* only these letter cases; "nUll" is text */
    enum yaml_kind kind;
    bool truth;
} words[] = {
    { { "", "~", "null", "Null", "NULL" }, YAML_NULL, false },
    { { "true", "True", "TRUE" }, YAML_BOOL, true },
    { { "false", "False", "FALSE" }, YAML_BOOL, false },
    { { "yes", "Yes", "YES" }, YAML_BOOL, true },
    { { "no", "No", "NO" }, YAML_BOOL, false },
    { { "on", "On", "ON" }, YAML_BOOL, true },
    { { "off", "Off", "OFF" }, YAML_BOOL, false },
    { { ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF" }, YAML_NOT_FINITE, false },
    { { "-.inf", "-.Inf", "-.INF" }, YAML_NOT_FINITE, false },
    { { ".nan", ".NaN", ".NAN" }, YAML_NOT_FINITE, false },
};

/* A number taken apart. Underscores are skipped wherever they stand, as Kubernetes does. */
struct scalar_parts {
    bool is_negative;
    bool is_float;   /* has a point or an exponent */
    bool is_extreme; /* see struct yaml_scalar */
    unsigned base;   /* 2, 8, 10, 16 */
    uint64_t value;  /* without the sign, if the base is not 10 */
    size_t start;    /* digits begin */
    size_t point;    /* digits before the point end */
    size_t end;      /* all digits end */
    int64_t exponent;
    /* Base 10, of the digits that matter: how many zeros to skip, how many there are (0: the number is zero), and the
     * power of ten of the first. */
    size_t skip, n;
    int64_t power;
};

/* Far beyond what any number means, far below what int64 holds. */
enum { EXPONENT_LIMIT = 1000000000 };

/* Step over digits of 'base' and underscores; counts the digits. */
static size_t skip_digits(struct str s, size_t at, unsigned base, size_t *ret_n)
{
    for (*ret_n = 0; at < s.n; at++) {
        if (s.p[at] == '_')
            continue;
        if ((unsigned)hex_digit(s.p[at]) >= base)
            break;
        ++*ret_n;
    }
    return at;
}

static size_t skip_underscores(struct str s, size_t at)
{
    while (at < s.n && s.p[at] == '_')
        at++;
    return at;
}

/* The digits one after the other, underscores and the point left out; -1 at the end. */
struct digits {
    struct str s;
    const struct scalar_parts *parts;
    size_t at;
};

static int digits_next(struct digits *d)
{
    for (; d->at < d->parts->end; d->at++)
        if (d->s.p[d->at] != '_' && d->s.p[d->at] != '.')
            return d->s.p[d->at++];
    return -1;
}

static bool based_value(struct str s, struct scalar_parts *parts)
{
    struct digits d = { s, parts, parts->start };

    parts->value = 0;
    for (int c; (c = digits_next(&d)) >= 0;)
        if (__builtin_mul_overflow(parts->value, parts->base, &parts->value) ||
            __builtin_add_overflow(parts->value, (uint64_t)hex_digit((char)c), &parts->value))
            return false;
    return !parts->is_negative || parts->value <= (uint64_t)INT64_MAX + 1;
}

/* 0x, 0o, 0b and the plain leading zero. 'at' is behind the sign. */
static bool take_based(struct str s, size_t at, struct scalar_parts *ret)
{
    static const struct {
        char letter;
        unsigned base;
    } bases[] = { { 'x', 16 }, { 'o', 8 }, { 'b', 2 } };
    bool has_letter = false;
    size_t n;

    if (at >= s.n || s.p[at] != '0')
        return false;
    at = skip_underscores(s, at + 1);
    ret->base = 8;
    for (size_t i = 0; i < ARRAY_LEN(bases) && at < s.n && !has_letter; i++) {
        if ((s.p[at] | 0x20) == bases[i].letter) {
            ret->base = bases[i].base;
            has_letter = true;
        }
    }
    at += has_letter;
    ret->start = at;
    ret->end = ret->point = skip_digits(s, at, ret->base, &n);
    if (n == 0 || ret->end != s.n)
        return false;
    ret->is_extreme = !based_value(s, ret);
    return has_letter || !ret->is_extreme; /* 0777 with 30 digits: Kubernetes tries it as a decimal next */
}

static bool take_exponent(struct str s, size_t at, struct scalar_parts *ret)
{
    bool is_negative;
    size_t n = 0;
    int64_t v = 0;

    if (at == s.n)
        return true;
    if ((s.p[at] | 0x20) != 'e')
        return false;
    at = skip_underscores(s, at + 1);
    is_negative = at < s.n && s.p[at] == '-';
    if (at < s.n && (s.p[at] == '-' || s.p[at] == '+'))
        at++;
    for (; at < s.n; at++) {
        if (s.p[at] == '_')
            continue;
        if ((unsigned)hex_digit(s.p[at]) > 9)
            return false;
        v = MIN_OF(v * 10 + hex_digit(s.p[at]), EXPONENT_LIMIT);
        n++;
    }
    ret->exponent = is_negative ? -v : v;
    ret->is_float = true;
    return n > 0;
}

static bool take_decimal(struct str s, size_t at, struct scalar_parts *ret)
{
    size_t before, after = 0;

    ret->base = 10;
    ret->start = at;
    ret->is_float = false;
    at = ret->point = ret->end = skip_digits(s, at, 10, &before);
    if (at < s.n && s.p[at] == '.') {
        ret->is_float = true;
        at = ret->end = skip_digits(s, at + 1, 10, &after);
    }
    return (before || after) && take_exponent(s, at, ret);
}

/* Find the digits that matter. */
static void scalar_measure(struct str s, struct scalar_parts *parts)
{
    struct digits d = { s, parts, parts->start };
    size_t seen = 0, before = 0;

    for (int c; (c = digits_next(&d)) >= 0; seen++) {
        before += d.at <= parts->point;
        if (c == '0')
            continue;
        if (parts->n == 0)
            parts->skip = seen;
        parts->n = seen - parts->skip + 1;
    }
    parts->power = (int64_t)before - 1 - (int64_t)parts->skip + parts->exponent;
}

/* Does a float64 hold the magnitude? Only numbers near the upper end need the real conversion. */
static bool is_finite(struct str s, const struct scalar_parts *parts)
{
    struct digits d = { s, parts, parts->start };
    char text[64] = "";
    size_t n = 0;

    if (parts->power != 308)
        return parts->power < 308;
    for (size_t i = 0; i < parts->skip; i++)
        (void)digits_next(&d);
    for (int c; n < 40 && (c = digits_next(&d)) >= 0;) {
        text[n++] = (char)c;
        if (n == 1)
            text[n++] = '.';
    }
    memcpy(text + n, "e308", sizeof("e308"));
    return !isinf(strtod(text, NULL));
}

/* Kubernetes is stricter with .5_0 than with 0.5_0: there each underscore must have a digit on both sides. */
static bool are_underscores_inside(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '_' &&
            (i == 0 || i + 1 == s.n || (unsigned)hex_digit(s.p[i - 1]) > 9 || (unsigned)hex_digit(s.p[i + 1]) > 9))
            return false;
    return true;
}

static bool scalar_take_number(struct str s, struct scalar_parts *ret)
{
    size_t at = 0;

    *ret = (struct scalar_parts){ 0 };
    if (!s.n || s.p[0] == '_')
        return false;
    if (s.p[0] == '.' && !are_underscores_inside(s))
        return false;
    if (s.p[0] == '-' || s.p[0] == '+') {
        ret->is_negative = s.p[0] == '-';
        at = 1;
    }
    at = skip_underscores(s, at);
    if (take_based(s, at, ret))
        return true;
    if (!take_decimal(s, at, ret))
        return false;
    scalar_measure(s, ret);
    ret->is_extreme = ret->n && (!is_finite(s, ret) || ret->exponent == -EXPONENT_LIMIT);
    return true;
}

struct yaml_scalar yaml_resolve(struct str text)
{
    struct scalar_parts parts;

    if (text.n <= 5)
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
            for (size_t k = 0; k < ARRAY_LEN(words[i].forms) && words[i].forms[k]; k++)
                if (str_is(text, words[i].forms[k]))
                    return (struct yaml_scalar){ words[i].kind, words[i].truth, false };
    if (!scalar_take_number(text, &parts))
        return (struct yaml_scalar){ YAML_TEXT };
    return (struct yaml_scalar){ parts.is_float ? YAML_FLOAT : YAML_INT, false, parts.is_extreme };
}

/* ---- as JSON ---- */

/* 'n' digits from the stream, zeros when it has run dry. */
static void put_digits(struct buf *out, struct digits *d, size_t n)
{
    for (int c; n; n--)
        buf_char(out, (c = digits_next(d)) < 0 ? '0' : (char)c);
}

/* As Kubernetes prints a float in JSON: plain from 1e-6 up to 1e21, else with an exponent. Integers stay plain. */
static void put_decimal(struct buf *out, struct str s, const struct scalar_parts *parts)
{
    struct digits d = { s, parts, parts->start };
    size_t before = parts->power >= 0 ? (size_t)parts->power + 1 : 0;

    for (size_t i = 0; i < parts->skip; i++)
        (void)digits_next(&d);
    if (parts->n == 0) {
        buf_char(out, '0');
    } else if (parts->is_float && (parts->power < -6 || parts->power >= 21)) {
        put_digits(out, &d, 1);
        if (parts->n > 1)
            buf_char(out, '.');
        put_digits(out, &d, parts->n - 1);
        buf_fmt(out, "e%+lld", (long long)parts->power);
    } else if (before == 0) {
        buf_str(out, STR("0."));
        buf_repeat(out, '0', (size_t)(-parts->power) - 1);
        put_digits(out, &d, parts->n);
    } else {
        put_digits(out, &d, before);
        if (parts->n > before)
            buf_char(out, '.');
        put_digits(out, &d, parts->n > before ? parts->n - before : 0);
    }
}

struct str yaml_number(struct arena *a, struct str text)
{
    autobuf out = { 0 };
    struct scalar_parts parts;
    bool is_number = scalar_take_number(text, &parts);

    assert(is_number && !parts.is_extreme);
    if (parts.base != 10) {
        buf_fmt(&out, "%s%llu", parts.is_negative && parts.value ? "-" : "", (unsigned long long)parts.value);
    } else {
        if (parts.is_negative && (parts.n || parts.is_float))
            buf_char(&out, '-');
        put_decimal(&out, text, &parts);
    }
    return arena_str(a, buf_view(&out));
}

struct str yaml_float_key(struct arena *a, struct str number)
{
    float value = strtof(arena_cstr(a, number), NULL);
    char text[64];
    const char *e;
    int digits = 1, power;

    if (isinf(value))
        return number;
    do /* the shortest text that gives the same float32; 9 digits always do */
        snprintf(text, sizeof(text), "%.*e", digits - 1, (double)value);
    while (strtof(text, NULL) != value && digits++ < 9);
    e = strchr(text, 'e');
    power = (int)strtol(e + 1, NULL, 10);
    if (power < -4 || power >= 6)
        return arena_str(a, str_of(text));
    return arena_fmt(a, "%.*f", MAX_OF(digits - 1 - power, 0), (double)value);
}

bool yaml_is_json_number(struct str s)
{
    size_t at = s.n && s.p[0] == '-', start = at;
    size_t n;

    if (str_has_char(s, '_'))
        return false;
    at = skip_digits(s, at, 10, &n);
    if (n == 0 || (n > 1 && s.p[start] == '0'))
        return false;
    if (at < s.n && s.p[at] == '.') {
        at = skip_digits(s, at + 1, 10, &n);
        if (n == 0)
            return false;
    }
    return take_exponent(s, at, &(struct scalar_parts){ 0 });
}

/* ---- for the printer ---- */

static size_t skip_range(struct str s, size_t at, const char *chars)
{
    while (at < s.n && s.p[at] && strchr(chars, s.p[at]))
        at++;
    return at;
}

/* 12:30:45 and 1:30.5 are numbers of base 60 for some readers. */
static bool is_base60(struct str s)
{
    size_t at = s.n && (s.p[0] == '-' || s.p[0] == '+');

    return at < s.n && s.p[at] >= '0' && s.p[at] <= '9' && str_has_char(s, ':') &&
           skip_range(s, at, "0123456789_:.") == s.n;
}

/* 2001-01-01 and longer; what follows the date is not looked at. */
static bool is_date(struct str s)
{
    static const char digits[] = "0123456789";
    size_t month, day, end;

    if (skip_range(s, 0, digits) != 4 || s.n == 4 || s.p[4] != '-')
        return false;
    month = skip_range(s, 5, digits);
    if (month == 5 || month == s.n || s.p[month] != '-')
        return false;
    day = month + 1;
    end = skip_range(s, day, digits);
    return end > day && (end == s.n || strchr("Tt \t", s.p[end]));
}

bool yaml_is_ambiguous(struct str text)
{
    autobuf bare = { 0 };

    if (yaml_resolve(text).kind != YAML_TEXT || str_eq(text, STR("=")) || str_eq(text, STR("<<")))
        return true;
    if (is_base60(text) || is_date(text))
        return true;
    /* y and n alone are booleans for Kubernetes' reader and for no other; a task named "n" is meant. We read them as
     * text and always write them in quotes. */
    if (text.n == 1 && text.p[0] && strchr("yYnN", text.p[0]))
        return true;
    if (text.p[0] != '.' || !str_has_char(text, '_'))
        return false;
    for (size_t i = 0; i < text.n; i++) /* .5_0: text for Kubernetes, a number for others */
        if (text.p[i] != '_')
            buf_char(&bare, text.p[i]);
    return yaml_resolve(buf_view(&bare)).kind != YAML_TEXT;
}

size_t yaml_char(struct str s, uint32_t *ret_code)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    unsigned char c = s.n ? (unsigned char)s.p[0] : 0xff;
    size_t n = c < 0x80 ? 1 : c < 0xc0 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf8 ? 4 : 0;
    uint32_t code = n == 1 ? c : c & (0x7fu >> n);

    if (n == 0 || n > s.n)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if (((unsigned char)s.p[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | ((unsigned char)s.p[i] & 0x3f);
    }
    if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    *ret_code = code;
    return n;
}
