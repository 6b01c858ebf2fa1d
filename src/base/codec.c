/* codec.c - bytes as hexadecimal digits, percent escapes, octal escapes and UUIDs */
#include "base/codec.h"

/* ---- hexadecimal ---- */

char *hex_print(char *at, const void *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *b = bytes;

    for (size_t i = 0; i < n; i++) {
        *at++ = digits[b[i] >> 4];
        *at++ = digits[b[i] & 15];
    }
    return at;
}

void buf_hex(struct buf *out, const void *bytes, size_t n)
{
    (void)hex_print(buf_reserve(out, 2 * n), bytes, n);
    out->n += 2 * n;
    buf_str(out, STR_NULL); /* the NUL */
}

int hex_parse(struct str text, void *ret, size_t n)
{
    unsigned char *out = ret;

    if (text.n != 2 * n)
        return -1;
    for (size_t i = 0; i < n; i++) {
        int high = hex_digit(text.p[2 * i]), low = hex_digit(text.p[2 * i + 1]);

        if (high < 0 || low < 0)
            return -1;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return 0;
}

bool hex_is_small(struct str text, size_t n)
{
    for (size_t i = 0; i < text.n; i++)
        if (hex_digit(text.p[i]) < 0 || (text.p[i] >= 'A' && text.p[i] <= 'F'))
            return false;
    return text.n == n;
}

/* ---- percent escapes ---- */

static bool percent_keeps(char c, const char *kept)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && (strchr("-._~", c) || strchr(kept, c)));
}

void percent_print_char(struct buf *out, char c)
{
    buf_fmt(out, "%%%02X", (unsigned char)c);
}

void percent_print(struct buf *out, struct str text, const char *kept)
{
    for (size_t i = 0; i < text.n; i++)
        if (percent_keeps(text.p[i], kept))
            buf_char(out, text.p[i]);
        else
            percent_print_char(out, text.p[i]);
}

int percent_parse(struct str text, bool is_query, struct buf *ret)
{
    buf_reset(ret);
    for (size_t i = 0; i < text.n; i++) {
        char c = is_query && text.p[i] == '+' ? ' ' : text.p[i];

        if (c == '%') {
            if (hex_parse(str_sub(text, i + 1, 2), &c, 1) < 0 || !c)
                return -1;
            i += 2;
        }
        buf_char(ret, c);
    }
    buf_str(ret, STR_NULL); /* the NUL */
    return 0;
}

/* ---- octal escapes ---- */

static bool octal_is_byte(struct str s)
{
    return s.n == 3 && s.p[0] >= '0' && s.p[0] <= '3' && s.p[1] >= '0' && s.p[1] <= '7' && s.p[2] >= '0' &&
           s.p[2] <= '7';
}

struct str octal_unescape(struct arena *a, struct str text)
{
    char *out = arena_alloc(a, text.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        struct str digits = str_sub(text, i + 1, 3);

        out[n++] = text.p[i];
        if (text.p[i] != '\\' || !octal_is_byte(digits))
            continue;
        out[n - 1] = (char)((digits.p[0] - '0') << 6 | (digits.p[1] - '0') << 3 | (digits.p[2] - '0'));
        i += 3;
    }
    out[n] = '\0';
    return (struct str){ out, n };
}

/* ---- UUIDs ---- */

struct str uuid_print(const unsigned char bytes[UUID_BYTES], char room[UUID_CHARS])
{
    static const size_t parts[] = { 4, 2, 2, 2, 6 };
    char *at = room;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (i)
            *at++ = '-';
        at = hex_print(at, bytes, parts[i]);
        bytes += parts[i];
    }
    return (struct str){ room, UUID_CHARS };
}
