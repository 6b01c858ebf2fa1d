/* str.c - looking at text */
#include "base/str.h"

#include "base/util.h"

bool str_is_text(struct str a, const char *z)
{
    size_t i = 0;

    if (!z)
        return a.n == 0;
    while (i < a.n && z[i] && a.p[i] == z[i])
        i++;
    return i == a.n && !z[i];
}

int str_cmp(struct str a, struct str b)
{
    size_t n = MIN_OF(a.n, b.n);
    int c = n ? memcmp(a.p, b.p, n) : 0;

    return c ? c : (a.n > b.n) - (a.n < b.n);
}

static char str_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

bool str_eq_nocase(struct str a, struct str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (str_lower(a.p[i]) != str_lower(b.p[i]))
            return false;
    return true;
}

bool str_starts(struct str s, struct str prefix)
{
    return s.n >= prefix.n && str_eq(str_sub(s, 0, prefix.n), prefix);
}

bool str_ends(struct str s, struct str suffix)
{
    return s.n >= suffix.n && str_eq(str_from(s, s.n - suffix.n), suffix);
}

bool str_has(struct str s, struct str part)
{
    return part.n == 0 || (s.n >= part.n && memmem(s.p, s.n, part.p, part.n));
}

bool str_has_char(struct str s, char c)
{
    return str_find_char(s, c) >= 0;
}

ptrdiff_t str_find_char(struct str s, char c)
{
    const char *at = s.n ? memchr(s.p, c, s.n) : NULL;

    return at ? at - s.p : -1;
}

ptrdiff_t str_rfind_char(struct str s, char c)
{
    const char *at = s.n ? memrchr(s.p, c, s.n) : NULL;

    return at ? at - s.p : -1;
}

struct str str_from(struct str s, size_t at)
{
    at = MIN_OF(at, s.n);
    return (struct str){ s.p ? s.p + at : NULL, s.n - at };
}

struct str str_sub(struct str s, size_t at, size_t n)
{
    s = str_from(s, at);
    s.n = MIN_OF(s.n, n);
    return s;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str str_trim(struct str s)
{
    while (s.n && is_space(s.p[s.n - 1]))
        s.n--;
    while (s.n && is_space(s.p[0]))
        s = str_from(s, 1);
    return s;
}

/* Once the last part is out, '*rest' points to NULL: that tells "a," (one more, empty) from "a" (no more). */
struct str str_last_lines(struct str s, size_t n)
{
    size_t at;

    if (n == 0)
        return str_from(s, s.n);
    if (str_ends(s, STR("\n")))
        s.n--;
    for (at = s.n; at; at--)
        if (s.p[at - 1] == '\n' && --n == 0)
            break;
    return str_from(s, at);
}

bool str_split(struct str *rest, char sep, struct str *ret_part)
{
    ptrdiff_t at = str_find_char(*rest, sep);

    if (!rest->p)
        return false;
    if (at < 0) {
        *ret_part = *rest;
        *rest = STR_NULL;
        return true;
    }
    *ret_part = str_sub(*rest, 0, (size_t)at);
    *rest = str_from(*rest, (size_t)at + 1);
    return true;
}

int str_to_u64(struct str s, uint64_t *ret)
{
    uint64_t v = 0;

    if (s.n == 0)
        return -1;
    for (size_t i = 0; i < s.n; i++) {
        unsigned digit = (unsigned char)s.p[i] - '0';

        if (digit > 9 || __builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v))
            return -1;
    }
    *ret = v;
    return 0;
}

int str_to_i64(struct str s, int64_t *ret)
{
    bool negative = s.n && s.p[0] == '-';
    uint64_t v;

    if (s.n && (s.p[0] == '-' || s.p[0] == '+'))
        s = str_from(s, 1);
    if (str_to_u64(s, &v) < 0 || v > (uint64_t)INT64_MAX + negative)
        return -1;
    *ret = negative ? (int64_t)(0 - v) : (int64_t)v;
    return 0;
}

struct str str_i64(int64_t v, char room[STR_I64_ROOM])
{
    size_t i = STR_I64_ROOM;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

    do
        room[--i] = (char)('0' + u % 10);
    while (u /= 10);
    if (v < 0)
        room[--i] = '-';
    return (struct str){ room + i, STR_I64_ROOM - i };
}

/* Optimal string alignment over three rows; words longer than 63 bytes are never anyone's typing error. */
size_t str_distance(struct str a, struct str b, size_t limit)
{
    size_t rows[3][64];

    if (a.n > 63 || b.n > 63 || a.n > b.n + limit || b.n > a.n + limit)
        return limit + 1;
    for (size_t j = 0; j <= b.n; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t *row = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t best = up[j - 1] + (a.p[i - 1] != b.p[j - 1]);

            best = MIN_OF(best, up[j] + 1);
            best = MIN_OF(best, row[j - 1] + 1);
            if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1])
                best = MIN_OF(best, up2[j - 2] + 1);
            row[j] = best;
        }
    }
    return MIN_OF(rows[a.n % 3][b.n], limit + 1);
}

bool str_is_utf8(struct str s)
{
    const unsigned char *p = (const unsigned char *)(s.p ? s.p : ""), *end = p + s.n;

    while (p < end) {
        unsigned c = *p, need, min;

        if (c < 0x80) {
            p++;
            continue;
        }
        if (c >= 0xc2 && c <= 0xdf)
            need = 1, min = 0x80, c &= 0x1f;
        else if (c >= 0xe0 && c <= 0xef)
            need = 2, min = 0x800, c &= 0x0f;
        else if (c >= 0xf0 && c <= 0xf4)
            need = 3, min = 0x10000, c &= 0x07;
        else
            return false;
        if ((size_t)(end - p) <= need)
            return false;
        for (unsigned i = 1; i <= need; i++) {
            if ((p[i] & 0xc0) != 0x80)
                return false;
            c = c << 6 | (p[i] & 0x3f);
        }
        if (c < min || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
            return false;
        p += need + 1;
    }
    return true;
}

size_t str_utf8_front(struct str s)
{
    for (size_t n = 1; n <= MIN_OF(s.n, 4); n++)
        if (str_is_utf8(str_sub(s, 0, n)))
            return n;
    return 0;
}

struct str str_cut(struct str s, size_t max)
{
    size_t n = MIN_OF(s.n, max);

    while (n < s.n && n && ((unsigned char)s.p[n] & 0xc0) == 0x80)
        n--;
    return str_sub(s, 0, n);
}

/* wyhash-like mixing: 8 bytes a step, seeded so that outside keys cannot be chosen to collide. */
static uint64_t str_mix(uint64_t a, uint64_t b)
{
    __uint128_t m = (__uint128_t)a * b;

    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

uint64_t str_hash(struct str s, uint64_t seed)
{
    uint64_t h = seed ^ 0x9e3779b97f4a7c15u, word;
    size_t i = 0;

    for (; i + 8 <= s.n; i += 8) {
        memcpy(&word, s.p + i, 8);
        h = str_mix(h ^ word, 0xa0761d6478bd642fu);
    }
    word = 0;
    if (i < s.n)
        memcpy(&word, s.p + i, s.n - i);
    h = str_mix(h ^ word, 0xe7037ed1a0b428dbu);
    return str_mix(h ^ s.n, seed | 1);
}
